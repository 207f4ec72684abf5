/*
 * pass_echo.c: a loop that looks back by so many iterations at least becomes pieces of so many, in which none
 * waits for another one:
 *
 *     for n = a to b: y[n] = x[n] + g * y[n - 100]         becomes
 *     for piece = 0 to (b - a) // 100: for k = 0 to 100: n = a + piece * 100 + k, y[n] = ...
 *     for n = a + (b - a) // 100 * 100 to b: y[n] = ...
 *
 * Consumes innermost loops upwards that hand on no scalars, and of whose dependences each has the same
 * distance in all iterations; produces loops of independent iterations. Where the call tells the distance, by
 * which the only store and the loads of its tensor differ, it is asked, and the loop stays beside them.
 * Distances of less than some vectors stay: what a piece costs besides, they do not win.
 */
#include "pass.h"

enum { LEAST = 32, LARGEST = 1 << 20, STATEMENTS = 40 };

/* The least distance of what the loop carries; 0: it carries something else, or nothing. */
static int64_t least_distance(const struct dependences *dependences, const struct dependence_loop *verdict)
{
    int loop = (int)(verdict - dependences->loops.items), at = verdict->depth;
    int64_t least = 0;

    for (int k = 0; k < dependences->items.count; k++) {
        const struct dependence *item = &dependences->items.items[k];
        if (dependences->accesses.items[item->source].loop != loop ||
            dependences->accesses.items[item->sink].loop != loop || item->level != at)
            continue;
        if (at >= DEPENDENCE_LOOPS || !item->has_distance[at] || item->distance[at] < LEAST)
            return 0;
        least = least && least < item->distance[at] ? least : item->distance[at];
    }
    return least <= LARGEST ? least : 0;
}

static bool is_not_loaded(struct ir_stmt *stmt, void *body)
{
    return stmt->kind != IR_STORE || !ir_block_loads_from(body, stmt->access.buffer);
}

static bool may_be_cut(struct ir_stmt *loop)
{
    int left = STATEMENTS;

    return loop->step == 1 && !loop->hint && !loop->independent && !pass_has_loop(loop->body) &&
           ir_block_walk(loop->body, pass_can_be_copied, &left) && !pass_block_may_stop(loop->body) &&
           !ir_block_walk(loop->body, is_not_loaded, loop->body);
}

static int64_t distance_of(const struct dependences *dependences, const struct ir_stmt *loop)
{
    const struct dependence_loop *verdict =
        dependences ? dependence_loop_is_parallel(dependences, loop) : NULL;
    return verdict && verdict->verdict == DEPENDENCE_SERIAL && verdict->scalar < 0 &&
                   verdict->reduction < 0 && !verdict->leaves && !verdict->incomplete
               ? least_distance(dependences, verdict)
               : 0;
}

/* ---- what the call tells --------------------------------------------------------------------------- */

struct echo {
    const struct ir_stmt *loop;
    struct ir_stmt *store;       /* the only one */
    struct pass_affine distance; /* from what is loaded to what is stored, if it has terms */
    bool refused;
};

static bool note_store(struct ir_stmt *stmt, void *context)
{
    struct echo *echo = context;
    echo->refused |= stmt->kind == IR_ASSIGN || (stmt->kind == IR_STORE && echo->store);
    if (stmt->kind == IR_STORE)
        echo->store = stmt;
    return !echo->refused;
}

static bool is_of_call(const struct pass_affine *affine)
{
    for (int k = 0; k < affine->count; k++)
        if (affine->terms[k].symbol->kind != IR_SYMBOL_DIM &&
            affine->terms[k].symbol->kind != IR_SYMBOL_ATTRIBUTE)
            return false;
    return affine->count > 0;
}

/* How far behind the store the load is along the axis of the loop; along the others they are the same. */
static bool find_distance(const struct echo *echo, const struct ir_access *load, struct pass_affine *distance)
{
    const struct ir_access *store = &echo->store->access;
    int moving = 0;

    for (int axis = 0; axis < store->buffer->rank; axis++) {
        struct pass_affine to, from;
        if (!pass_affine_of(store->indices[axis], &to) || !pass_affine_of(load->indices[axis], &from))
            return false;
        int64_t step = pass_affine_coefficient(&to, echo->loop->symbol);
        if (!pass_affine_add(&to, -1, &from))
            return false;
        moving += step != 0;
        if (step)
            *distance = to;
        if (step < 0 || step > 1 || (!step && (to.count || to.constant)))
            return false;
    }
    return moving == 1 && is_of_call(distance);
}

static bool note_load(struct ir_expr *expr, void *context)
{
    struct echo *echo = context;
    struct pass_affine distance = {.count = 0}, difference;

    if (expr->kind != IR_LOAD || expr->access.buffer != echo->store->access.buffer)
        return true;
    echo->refused |= !find_distance(echo, &expr->access, &distance);
    difference = distance;
    if (!echo->refused && echo->distance.count)
        echo->refused |=
            !pass_affine_add(&difference, -1, &echo->distance) || difference.count || difference.constant;
    echo->distance = distance;
    return !echo->refused;
}

/* The distance as an expression, which may be of any sign; NULL: it is none. */
static struct ir_expr *told_distance(struct pass *pass, const struct ir_stmt *loop)
{
    struct echo echo = {.loop = loop};

    if (!ir_block_walk(loop->body, note_store, &echo) || !echo.store ||
        !ir_block_expressions(loop->body, note_load, &echo) || !echo.distance.count)
        return NULL;
    return pass_sum(pass, &echo.distance);
}

/* ---- pieces ------------------------------------------------------------------------------------------ */

static struct ir_expr *apply(struct pass *pass, enum operation operation, struct ir_expr *a,
                             struct ir_expr *b)
{
    return ir_operation(pass->kernel, operation, a, b, NULL);
}

static struct ir_expr *number(struct pass *pass, int64_t value)
{
    return ir_integer(pass->kernel, AKG_INT64, value);
}

/* Where piece number `piece` begins. */
static struct ir_expr *begin_of(struct pass *pass, const struct ir_stmt *loop, struct ir_expr *piece,
                                const struct ir_expr *distance)
{
    return apply(pass, OP_ADD, pass_copy(pass, loop->low),
                 apply(pass, OP_MUL, piece, pass_copy(pass, distance)));
}

/* The pieces, and behind them what is left, which stays the loop. */
static struct ir_stmt *make_pieces(struct pass *pass, struct ir_stmt *loop, const struct ir_expr *distance)
{
    struct ir_expr *all = apply(pass, OP_SUB, pass_copy(pass, loop->high), pass_copy(pass, loop->low));
    struct ir_expr *whole = apply(pass, OP_FLOORDIV, all, pass_copy(pass, distance));
    whole->checked = false; /* it is asked before, and not 0 */
    struct ir_expr *count = apply(pass, OP_MAX, number(pass, 0), whole);
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, "pieces", count, loop->span);
    struct ir_stmt *pieces = pass_count_to(pass, loop, ir_symbol_use(pass->kernel, let->symbol));
    struct ir_stmt *inner = pass_count_to(pass, loop, pass_copy(pass, distance));

    loop->symbol->note =
        apply(pass, OP_ADD, begin_of(pass, loop, ir_symbol_use(pass->kernel, pieces->symbol), distance),
              ir_symbol_use(pass->kernel, inner->symbol));
    inner->body = pass_copy_block(pass, loop->body);
    loop->symbol->note = NULL;
    inner->independent = loop->independent = true;
    pieces->body = inner;
    loop->low = begin_of(pass, loop, ir_symbol_use(pass->kernel, let->symbol), distance);
    let->next = pieces;
    pieces->next = loop;
    return let;
}

/* Beside the loop, where the call tells a distance that is worth it. */
static struct ir_stmt *make_choice(struct pass *pass, struct ir_stmt *loop, struct ir_expr *distance)
{
    struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, loop->span);
    struct ir_stmt *cut = pass_new_loop(pass, loop, pass_copy_block(pass, loop->body));

    pass_set_value(choice, apply(pass, OP_AND, apply(pass, OP_GE, distance, number(pass, LEAST)),
                                 apply(pass, OP_LE, pass_copy(pass, distance), number(pass, LARGEST))));
    choice->body = make_pieces(pass, cut, distance);
    choice->otherwise = loop;
    return choice;
}

/* What takes the loop's place; NULL: nothing. */
static struct ir_stmt *cut_loop(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_stmt *next = loop->next, *made = NULL, *end;
    const struct dependences *dependences = may_be_cut(loop) ? pass_dependences(pass, loop) : NULL;
    struct ir_expr *told = NULL;
    int64_t distance = dependences ? distance_of(dependences, loop) : 0;

    loop->next = NULL;
    if (distance)
        made = make_pieces(pass, loop, number(pass, distance));
    else if (dependences && (told = told_distance(pass, loop)))
        made = make_choice(pass, loop, told);
    loop->next = made ? NULL : next;
    for (end = made; end && end->next;)
        end = end->next;
    if (end)
        end->next = next;
    return made;
}

static bool visit_block(struct pass *pass, struct ir_stmt **block, int depth)
{
    enum { DEEPEST = 100 };
    bool changed = false;

    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        struct ir_stmt *stmt = *place, *next = stmt->next;
        struct ir_stmt *made = stmt->kind == IR_FOR ? cut_loop(pass, stmt) : NULL;
        if (made) {
            *place = made;
            changed = true;
            while ((*place)->next != next)
                place = &(*place)->next;
            continue;
        }
        changed |= visit_block(pass, &stmt->body, depth + 1);
        changed |= visit_block(pass, &stmt->otherwise, depth + 1);
    }
    return changed;
}

bool pass_echo(struct pass *pass)
{
    return visit_block(pass, &pass->kernel->body, 0);
}
