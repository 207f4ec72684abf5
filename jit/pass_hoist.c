/*
 * pass_hoist.c: what is the same in every iteration of a loop is computed before it: LETs of its body, and
 * parts of expressions, as new LETs. Loads stay, and so do divisions of integers: they may be possible only
 * where they stand. Additions and products of int64 stay too, for they are parts of indices, which later
 * stages know how to compute.
 *
 * But bounds that are loaded, of a loop that each iteration comes to (`for i in range(start[s], start[s +
 * 1])` in a loop over columns), are loaded before it, where there is an iteration at all: then the two are a
 * nest.
 */
#include "pass.h"

enum { REMEMBERED = 16 }; /* of what one loop had moved: equal parts get one LET */

struct hoister {
    struct pass *pass;
    const struct ir_stmt *loop;
    struct ir_stmt *first, **end; /* LETs to be put before the loop */
    struct ir_stmt *made[REMEMBERED];
    int made_count;
    bool changed;
};

/* The note of what a loop declares or assigns is the innermost such loop that is being looked at. */
static bool note_symbol(struct ir_stmt *stmt, void *loop)
{
    if (stmt->symbol)
        stmt->symbol->note = loop;
    return true;
}

static bool is_same_always(struct ir_expr *expr, void *loop)
{
    return expr->kind != IR_SYMBOL || expr->symbol->note != loop;
}

static bool may_go(const struct hoister *hoister, struct ir_expr *expr)
{
    return pass_is_pure(expr) && ir_expr_walk(expr, is_same_always, (void *)hoister->loop);
}

static void put_before(struct hoister *hoister, struct ir_stmt *let)
{
    *hoister->end = let;
    hoister->end = &let->next;
    let->next = NULL;
    let->symbol->note = NULL; /* declared outside now */
    hoister->changed = true;
}

/* ---- parts of expressions -------------------------------------------------------------------------------
 */

static struct ir_expr *move_part(struct hoister *hoister, struct ir_expr *expr)
{
    struct pass *pass = hoister->pass;
    struct ir_expr *use;
    struct ir_stmt *let = NULL;

    for (int k = 0; k < hoister->made_count && !let; k++)
        if (ir_expr_equal(hoister->made[k]->value, expr))
            let = hoister->made[k];
    if (!let) {
        let = pass_declare(pass, IR_SYMBOL_LET, "same", expr, expr->span);
        put_before(hoister, let);
        if (hoister->made_count < REMEMBERED)
            hoister->made[hoister->made_count++] = let;
    }
    use = ir_symbol_use(pass->kernel, let->symbol);
    use->span = expr->span;
    return use;
}

static struct ir_expr *move_parts(struct pass *pass, struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD) {
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = move_parts(pass, expr->access.indices[k], context);
    } else if (expr->kind == IR_OPERATION) {
        if (expr->dtype != AKG_INT64 && expr->dtype != AKG_BOOL && may_go(context, expr))
            return move_part(context, expr);
        for (int k = 0; k < expr->count; k++)
            expr->operands[k] = move_parts(pass, expr->operands[k], context);
    }
    return expr;
}

static bool move_from(struct ir_stmt *stmt, void *context)
{
    struct hoister *hoister = context;
    pass_rewrite(hoister->pass, stmt, move_parts, hoister);
    return true;
}

/* ---- loops
 * ---------------------------------------------------------------------------------------------------- */

static void move_lets(struct hoister *hoister, struct ir_stmt **place)
{
    while (*place) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_LET && may_go(hoister, stmt->value)) {
            *place = stmt->next;
            put_before(hoister, stmt);
        } else {
            place = &stmt->next;
        }
    }
}

/* ---- bounds that are loaded ------------------------------------------------------------------- */

struct bound {
    struct ir_stmt *loop;
    bool loads;
};

static bool is_loaded_before(struct ir_expr *expr, void *context)
{
    struct bound *bound = context;
    bound->loads |= expr->kind == IR_LOAD;
    return is_same_always(expr, bound->loop) &&
           (expr->kind != IR_LOAD || !ir_block_stores_to(bound->loop->body, expr->access.buffer));
}

/* The loop in the body that has such bounds, behind nothing that does anything; NULL: there is none. */
static struct ir_stmt *loop_with_loaded_bounds(struct ir_stmt *loop)
{
    struct ir_stmt *inner = loop->body;
    struct bound bound = {.loop = loop};
    while (inner && (inner->kind == IR_LET || inner->kind == IR_VARIABLE) && !pass_stmt_may_stop(inner))
        inner = inner->next;
    if (!inner || inner->kind != IR_FOR || loop->kind != IR_FOR || loop->hint || !pass_is_pure(loop->low) ||
        !pass_is_pure(loop->high) || pass_expr_may_stop(inner->low) || pass_expr_may_stop(inner->high) ||
        !ir_expr_walk(inner->low, is_loaded_before, &bound) ||
        !ir_expr_walk(inner->high, is_loaded_before, &bound))
        return NULL;
    return bound.loads ? inner : NULL;
}

static struct ir_stmt *load_before(struct pass *pass, const char *name, struct ir_expr **bound)
{
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, name, *bound, (*bound)->span);
    *bound = ir_symbol_use(pass->kernel, let->symbol);
    return let;
}

/* Notes that are out of the way for a while. */
struct kept_note {
    struct ir_symbol *symbol;
    void *note;
};

struct kept {
    struct arena *arena;
    LIST(struct kept_note) items;
};

static bool keep_note(struct ir_expr *expr, void *kept)
{
    struct kept *notes = kept;
    if (expr->kind == IR_SYMBOL && expr->symbol->note) {
        list_push(notes->arena, &notes->items, ((struct kept_note){expr->symbol, expr->symbol->note}));
        expr->symbol->note = NULL;
    }
    return true;
}

/* A copy; symbols have notes of this pass, which stand for nothing. */
static struct ir_expr *copy_as_it_is(struct pass *pass, struct ir_expr *expr)
{
    struct kept notes = {.arena = pass->arena};
    ir_expr_walk(expr, keep_note, &notes);
    struct ir_expr *copy = pass_copy(pass, expr);
    for (int k = 0; k < notes.items.count; k++)
        notes.items.items[k].symbol->note = notes.items.items[k].note;
    return copy;
}

/* In the place of the loop: a test whether it has an iteration, around the bounds and the loop. */
static void load_bounds(struct pass *pass, struct ir_stmt **place, struct ir_stmt *inner)
{
    struct ir_stmt *loop = *place, *guard = ir_stmt_new(pass->kernel, IR_IF, loop->span);
    guard->value = ir_operation(pass->kernel, loop->step > 0 ? OP_LT : OP_GT, copy_as_it_is(pass, loop->low),
                                copy_as_it_is(pass, loop->high), NULL);
    guard->next = loop->next;
    guard->body = load_before(pass, "from", &inner->low);
    guard->body->next = load_before(pass, "to", &inner->high);
    guard->body->next->next = loop;
    loop->next = NULL;
    *place = guard;
}

static void hoist_block(struct pass *pass, struct ir_stmt **block, bool *changed);

/* Gives the place where the loop stands in the end. */
static struct ir_stmt **hoist_loop(struct pass *pass, struct ir_stmt **place, bool *changed)
{
    struct ir_stmt *loop = *place, *next = loop->next;
    struct hoister hoister = {.pass = pass, .loop = loop};

    hoist_block(pass, &loop->body, changed); /* what goes out of those may go on */
    hoister.end = &hoister.first;
    loop->next = NULL;
    ir_block_walk(loop, note_symbol, loop);
    move_lets(&hoister, &loop->body);
    ir_block_walk(loop->body, move_from, &hoister);
    struct ir_stmt *inner = loop_with_loaded_bounds(loop);
    loop->next = next;
    if (hoister.changed) {
        *hoister.end = loop;
        *place = hoister.first;
        place = hoister.end;
        *changed = true;
    }
    if (inner) {
        load_bounds(pass, place, inner);
        *changed = true;
    }
    return place;
}

static void hoist_block(struct pass *pass, struct ir_stmt **block, bool *changed)
{
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_FOR || stmt->kind == IR_WHILE) {
            place = hoist_loop(pass, place, changed);
            continue;
        }
        for (; stmt->kind == IR_IF && stmt->otherwise && stmt->otherwise->kind == IR_IF &&
               !stmt->otherwise->next;
             stmt = stmt->otherwise)
            hoist_block(pass, &stmt->body, changed);
        hoist_block(pass, &stmt->body, changed);
        hoist_block(pass, &stmt->otherwise, changed);
    }
}

static bool forget_symbol(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->symbol)
        stmt->symbol->note = NULL;
    return true;
}

bool pass_hoist(struct pass *pass)
{
    bool changed = false;

    hoist_block(pass, &pass->kernel->body, &changed);
    ir_block_walk(pass->kernel->body, forget_symbol, NULL);
    return changed;
}
