/*
 * pass_echo.c: a loop that looks back by so many iterations at least becomes pieces of so many, in which none
 * waits for another one:
 *
 *     for n = a to b: y[n] = x[n] + g * y[n - 100]         becomes
 *     for piece = 0 to (b - a) // 100: for k = 0 to 100: n = a + piece * 100 + k, y[n] = ...
 *     for n = a + (b - a) // 100 * 100 to b: y[n] = ...
 *
 * Consumes innermost loops upwards that hand on no scalars, and of whose dependences each has the same
 * distance in all iterations; produces loops of independent iterations. Where the distance, by which the only
 * store and the loads of its tensor differ, is known before the loop alone (an attribute, the weight that a
 * loop around has loaded), it is asked, and the loop stays beside them. That loops around keep their order is
 * noted before: of what they hold then the analysis would have much more to decide.
 * Short distances stay: what a piece costs besides, they do not win. (y[n] = x[n] + y[n - d] of 10,000
 * numbers on Ice Lake: float32 with d = 7 6.3 us, in pieces 12; with d = 8 6.0 and 4.2, with 16 5.5 and 2.6,
 * with 24 5.1 and 1.9; int8 with d = 8 5.9 and 11, with 12 12 and 7.4, with 20 12 and 4.5.) So do loops of a
 * few iterations, which is asked before the nest: 200 rows of 12 with d = 8 1.4 us, in pieces 3.2.
 */
#include "pass.h"

enum {
    LEAST = 8,
    LEAST_NARROW = 12,
    LEAST_SEVERAL = 16 /* where distances differ, vectors straddle what was stored */,
    LEAST_ASKED = 12,
    LARGEST = 1 << 20,
    STATEMENTS = 40,
    FEW = 64 /* iterations, for which pieces do not pay */
};

static int64_t least_of(akg_dtype dtype)
{
    return dtype_table[dtype].size < 4 ? LEAST_NARROW : LEAST;
}

/* The least distance of what the loop carries; 0: it carries something else, or nothing. */
static int64_t least_distance(const struct dependences *dependences, const struct dependence_loop *verdict)
{
    int loop = (int)(verdict - dependences->loops.items), at = verdict->depth;
    int64_t least = 0, most = 0;

    for (int k = 0; k < dependences->items.count; k++) {
        const struct dependence *item = &dependences->items.items[k];
        if (dependences->accesses.items[item->source].loop != loop ||
            dependences->accesses.items[item->sink].loop != loop || item->level != at)
            continue;
        akg_dtype dtype = dependences->accesses.items[item->source].access->buffer->dtype;
        if (at >= DEPENDENCE_LOOPS || !item->has_distance[at] || item->distance[at] < least_of(dtype))
            return 0;
        least = least && least < item->distance[at] ? least : item->distance[at];
        most = most > item->distance[at] ? most : item->distance[at];
    }
    if (least < most && least < LEAST_SEVERAL)
        return 0;
    return least <= LARGEST ? least : 0;
}

static bool is_not_loaded(struct ir_stmt *stmt, void *body)
{
    return stmt->kind != IR_STORE || !ir_block_loads_from(body, stmt->access.buffer);
}

static bool may_be_cut(struct ir_stmt *loop)
{
    int left = STATEMENTS;

    return loop->step == 1 && !loop->hint && !loop->independent && !pass_has_for(loop->body) &&
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

/* ---- what is known before the loop ---------------------------------------------------------------- */

struct echo {
    struct pass *pass;
    struct ir_stmt *loop, *store; /* the only one */
    struct ir_expr *distance;     /* from what is loaded to what is stored; NULL: none yet */
    bool is_narrow;               /* it is right where the variable is below 2^31, and not below 0 */
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

static bool stays_there(struct ir_expr *expr, void *context)
{
    const struct echo *echo = context;
    return expr->kind == IR_LOAD ? expr->access.buffer != echo->store->access.buffer
           : expr->kind == IR_SYMBOL
               ? expr->symbol != echo->loop->symbol && !ir_block_declares(echo->loop->body, expr->symbol)
               : true;
}

/* Whether it is the same all through the loop. */
static bool stays(struct echo *echo, struct ir_expr *expr)
{
    return !pass_expr_may_stop(expr) && ir_expr_walk(expr, stays_there, echo);
}

static struct ir_expr *without_cast(struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && expr->operation == OP_CAST ? expr->operands[0] : expr;
}

/* `from` is `to` less something, perhaps in integers of 32 bits; NULL: it is not. */
static struct ir_expr *taken_off(struct echo *echo, const struct ir_expr *to, struct ir_expr *from)
{
    struct ir_expr *inner = without_cast(from);
    bool is_narrow = inner != from;
    if (inner->kind != IR_OPERATION || inner->operation != OP_SUB ||
        (is_narrow && inner->dtype != AKG_INT32) ||
        !ir_expr_equal(is_narrow ? without_cast(inner->operands[0]) : inner->operands[0], to) ||
        !stays(echo, inner->operands[1]))
        return NULL;
    echo->is_narrow |= is_narrow;
    struct ir_expr *distance = pass_copy(echo->pass, inner->operands[1]);
    return is_narrow ? ir_cast(echo->pass->kernel, AKG_INT64, distance) : distance;
}

/* Whether it grows by 1 with each iteration: all else in it stays the same. */
static bool moves_by_one(struct echo *echo, const struct pass_affine *place)
{
    for (int k = 0; k < place->count; k++)
        if (place->terms[k].symbol != echo->loop->symbol &&
            ir_block_declares(echo->loop->body, place->terms[k].symbol))
            return false;
    return pass_affine_coefficient(place, echo->loop->symbol) == 1;
}

/* How far behind `to`, which moves with the loop, `from` is; NULL: it is not always as far. */
static struct ir_expr *difference_of(struct echo *echo, const struct ir_expr *to, struct ir_expr *from)
{
    struct pass_affine difference, other;
    if (!pass_affine_of(to, &difference) || !moves_by_one(echo, &difference))
        return NULL;
    if (pass_affine_of(from, &other) && pass_affine_add(&difference, -1, &other)) {
        struct ir_expr *sum = pass_sum(echo->pass, &difference);
        if (stays(echo, sum))
            return sum;
    }
    return taken_off(echo, to, from);
}

/* How far behind the store the load is along the axis of the loop; along the others they are the same. */
static struct ir_expr *find_distance(struct echo *echo, const struct ir_access *load)
{
    const struct ir_access *store = &echo->store->access;
    struct ir_expr *distance = NULL;

    for (int axis = 0; axis < store->buffer->rank; axis++) {
        struct ir_expr *to = store->indices[axis], *from = load->indices[axis];
        if (ir_expr_equal(to, from) && !pass_mentions(to, echo->loop->symbol))
            continue;
        struct ir_expr *difference = distance ? NULL : difference_of(echo, to, from);
        if (!difference)
            return NULL;
        distance = difference;
    }
    return distance;
}

static bool note_load(struct ir_expr *expr, void *context)
{
    struct echo *echo = context;

    if (expr->kind != IR_LOAD || expr->access.buffer != echo->store->access.buffer ||
        pass_compare(&expr->access, &echo->store->access) == PASS_SAME)
        return true;
    struct ir_expr *distance = find_distance(echo, &expr->access);
    echo->refused |= !distance || distance->kind == IR_INTEGER ||
                     (echo->distance && !ir_expr_equal(distance, echo->distance));
    echo->distance = distance;
    return !echo->refused;
}

/* Whether an iteration computes all of what it stores, whatever it is that it does. */
static bool stores_always(const struct echo *echo)
{
    const struct ir_stmt *stmt = echo->loop->body;
    while (stmt && stmt != echo->store)
        stmt = stmt->next;
    return stmt && !ir_expr_chooses(echo->store->value);
}

/* Finds the distance, which may be of any sign, as an expression; false: there is none. What it loads is
 * there if there is an iteration; where a condition says so, that is not known before the loop. */
static bool find_echo(struct echo *echo)
{
    struct ir_stmt *body = echo->loop->body;
    return ir_block_walk(body, note_store, echo) && echo->store &&
           ir_block_expressions(body, note_load, echo) && echo->distance &&
           (!ir_expr_loads(echo->distance) || stores_always(echo));
}

/* ---- pieces ------------------------------------------------------------------------------------------ */

/* Where piece number `piece` begins. */
static struct ir_expr *begin_of(struct pass *pass, const struct ir_stmt *loop, struct ir_expr *piece,
                                const struct ir_expr *distance)
{
    return pass_apply(pass, OP_ADD, pass_copy(pass, loop->low),
                      pass_apply(pass, OP_MUL, piece, pass_copy(pass, distance)));
}

static struct ir_expr *iterations_of(struct pass *pass, const struct ir_stmt *loop)
{
    return pass_apply(pass, OP_SUB, pass_copy(pass, loop->high), pass_copy(pass, loop->low));
}

/* The pieces, and behind them what is left, which stays the loop; there is an iteration. */
static struct ir_stmt *make_pieces(struct pass *pass, struct ir_stmt *loop, const struct ir_expr *distance)
{
    struct ir_expr *count =
        pass_apply(pass, OP_FLOORDIV, iterations_of(pass, loop), pass_copy(pass, distance));
    count->checked = false; /* it is asked before, and not 0 */
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, "pieces", count, loop->span);
    struct ir_stmt *pieces = pass_count_to(pass, loop, ir_symbol_use(pass->kernel, let->symbol));
    struct ir_stmt *inner = pass_count_to(pass, loop, pass_copy(pass, distance));

    loop->symbol->note =
        pass_apply(pass, OP_ADD, begin_of(pass, loop, ir_symbol_use(pass->kernel, pieces->symbol), distance),
                   ir_symbol_use(pass->kernel, inner->symbol));
    inner->body = pass_copy_block(pass, loop->body);
    loop->symbol->note = NULL;
    inner->independent = loop->independent = true;
    pieces->in_turn = true; /* what a piece looks back at is the one before it */
    pieces->body = inner;
    loop->low = begin_of(pass, loop, ir_symbol_use(pass->kernel, let->symbol), distance);
    let->next = pieces;
    pieces->next = loop;
    return let;
}

/* The distance, which is 0 where there is no iteration: what it loads need not be there then. */
static struct ir_stmt *name_distance(struct echo *echo)
{
    struct pass *pass = echo->pass;
    struct ir_stmt *loop = echo->loop;
    struct ir_expr *distance = echo->distance;
    if (ir_expr_loads(distance)) {
        struct ir_expr *runs =
            pass_apply(pass, OP_LT, pass_copy(pass, loop->low), pass_copy(pass, loop->high));
        distance = ir_operation(pass->kernel, OP_SELECT, runs, distance, pass_number(pass, 0));
    }
    return pass_declare(pass, IR_SYMBOL_LET, "distance", distance, loop->span);
}

/* Also where the bounds are so far from each other that their difference is no number. */
static struct ir_expr *is_long(struct pass *pass, const struct ir_stmt *loop)
{
    struct ir_expr *runs = pass_apply(pass, OP_LT, pass_copy(pass, loop->low), pass_copy(pass, loop->high));
    return pass_apply(pass, OP_AND, runs,
                      pass_apply(pass, OP_GE, iterations_of(pass, loop), pass_number(pass, FEW)));
}

static struct ir_stmt *new_choice(struct pass *pass, struct ir_expr *condition, struct ir_stmt *yes,
                                  struct ir_stmt *no)
{
    struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, no->span);
    pass_set_value(choice, condition);
    choice->body = yes;
    choice->otherwise = no;
    return choice;
}

/* Where it is long enough, which is asked beside the loop, or around the nest that it is in. */
static struct ir_stmt *make_pieces_if_long(struct pass *pass, struct ir_stmt *loop, struct ir_expr *distance,
                                           struct ir_expr **around)
{
    struct pass_affine count;
    if (pass_affine_of(iterations_of(pass, loop), &count) && !count.count)
        return count.constant >= FEW ? make_pieces(pass, loop, distance) : NULL;
    if (around && pass_is_of_call(loop->low) && pass_is_of_call(loop->high)) {
        struct ir_expr *condition = is_long(pass, loop);
        *around = *around ? pass_apply(pass, OP_AND, *around, condition) : condition;
        return make_pieces(pass, loop, distance);
    }
    struct ir_stmt *cut = pass_new_loop(pass, loop, pass_copy_block(pass, loop->body));
    return new_choice(pass, is_long(pass, loop), make_pieces(pass, cut, distance), loop);
}

/* A load that is so far behind the store is told so, in integers of 64 bits. */
static bool tell_distance(struct ir_expr *expr, void *context)
{
    struct echo *echo = context;
    struct ir_kernel *kernel = echo->pass->kernel;
    const struct ir_access *store = &echo->store->access;

    if (expr->kind != IR_LOAD || expr->access.buffer != store->buffer ||
        pass_compare(&expr->access, store) == PASS_SAME)
        return true;
    for (int axis = 0; axis < store->buffer->rank; axis++)
        if (!ir_expr_equal(store->indices[axis], expr->access.indices[axis]))
            expr->access.indices[axis] =
                ir_operation(kernel, OP_SUB, pass_copy(echo->pass, store->indices[axis]),
                             pass_copy(echo->pass, echo->distance), NULL);
    return true;
}

/* Beside the loop, where the distance turns out to be worth it. */
static struct ir_stmt *make_choice(struct echo *echo)
{
    struct pass *pass = echo->pass;
    struct ir_stmt *loop = echo->loop, *let = name_distance(echo);
    struct ir_stmt *cut = pass_new_loop(pass, loop, pass_copy_block(pass, loop->body));
    struct ir_expr *distance = ir_symbol_use(pass->kernel, let->symbol);
    struct echo copied = {.pass = pass, .loop = cut, .distance = distance};
    ir_block_walk(cut->body, note_store, &copied);
    ir_block_expressions(cut->body, tell_distance, &copied);
    struct ir_expr *is_worth =
        pass_apply(pass, OP_AND, pass_apply(pass, OP_GE, distance, pass_number(pass, LEAST_ASKED)),
                   pass_apply(pass, OP_LE, pass_copy(pass, distance), pass_number(pass, LARGEST)));
    is_worth = pass_apply(pass, OP_AND, is_long(pass, loop), is_worth);
    if (echo->is_narrow)
        is_worth = pass_apply(
            pass, OP_AND, is_worth,
            pass_apply(pass, OP_AND,
                       pass_apply(pass, OP_GE, pass_copy(pass, loop->low), pass_number(pass, 0)),
                       pass_apply(pass, OP_LE, pass_copy(pass, loop->high), pass_number(pass, INT32_MAX))));
    let->next = new_choice(pass, is_worth, make_pieces(pass, cut, distance), loop);
    return let;
}

/* What takes the loop's place; NULL: nothing. */
static struct ir_stmt *cut_loop(struct pass *pass, struct ir_stmt *loop, struct ir_expr **around,
                                const struct pass_around *outer)
{
    struct ir_stmt *next = loop->next, *made = NULL, *end;
    const struct dependences *dependences = may_be_cut(loop) ? pass_directions(pass, loop) : NULL;
    struct echo echo = {.pass = pass, .loop = loop};
    int64_t distance = dependences ? distance_of(dependences, loop) : 0;
    bool is_echo = distance || (dependences && find_echo(&echo));

    if (is_echo)
        pass_note_order(pass, outer, false);
    loop->next = NULL;
    if (distance)
        made = make_pieces_if_long(pass, loop, pass_number(pass, distance), around);
    else if (is_echo)
        made = make_choice(&echo);
    loop->next = made ? NULL : next;
    for (end = made; end && end->next;)
        end = end->next;
    if (end)
        end->next = next;
    return made;
}

/* `around`: what is to be asked around the nest that the block is in; NULL: it is in none. */
static bool visit_block(struct pass *pass, struct ir_stmt **block, struct ir_expr **around,
                        const struct pass_around *outer, int depth);

/* What of a nest is asked before it, so that its rows ask nothing. */
static bool visit_nest(struct pass *pass, struct ir_stmt **place, const struct pass_around *outer)
{
    struct ir_stmt *nest = *place, *next = nest->next, *original;
    struct ir_expr *condition = NULL;

    nest->next = NULL;
    original = pass_copy_block(pass, nest);
    bool changed = visit_block(pass, &nest->body, &condition, &(struct pass_around){outer, nest, NULL}, 1);
    if (condition)
        *place = new_choice(pass, condition, nest, original);
    (*place)->next = next;
    return changed;
}

static bool is_never_cut(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR || !may_be_cut(stmt);
}

static bool may_be_two(struct ir_stmt *stmt)
{
    int left = STATEMENTS;
    return stmt->kind == IR_FOR && ir_block_walk(stmt->body, pass_can_be_copied, &left) &&
           !ir_block_walk(stmt->body, is_never_cut, NULL);
}

static bool visit_block(struct pass *pass, struct ir_stmt **block, struct ir_expr **around,
                        const struct pass_around *outer, int depth)
{
    enum { DEEPEST = 100 };
    bool changed = false;

    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        struct ir_stmt *stmt = *place, *next = stmt->next;
        struct ir_stmt *made = stmt->kind == IR_FOR ? cut_loop(pass, stmt, around, outer) : NULL;
        struct pass_around here = {outer, stmt, NULL};
        if (made) {
            *place = made;
            changed = true;
            while ((*place)->next != next)
                place = &(*place)->next;
        } else if (!around && may_be_two(stmt)) {
            changed |= visit_nest(pass, place, outer);
        } else {
            changed |=
                visit_block(pass, &stmt->body, around, stmt->kind == IR_FOR ? &here : outer, depth + 1);
            changed |= visit_block(pass, &stmt->otherwise, around, outer, depth + 1);
        }
    }
    return changed;
}

bool pass_echo(struct pass *pass)
{
    return visit_block(pass, &pass->kernel->body, NULL, NULL, 0);
}
