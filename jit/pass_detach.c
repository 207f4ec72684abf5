/*
 * pass_detach.c: stores that jump from row to row leave a loop that accumulates, for a loop of their own
 * behind it, which has what they store from where it is stored along the row.
 *
 *     for b { s = the sum of x[i, a] * x[i, b]; c[a, b] = s; c[b, a] = s }
 *
 * becomes
 *
 *     for b { s = the sum of x[i, a] * x[i, b]; c[a, b] = s }
 *     for b { c[b, a] = c[a, b] }
 *
 * In the first loop the sums of neighbouring iterations lie side by side, whatever the bounds are (a
 * triangle, too). So do they where a sum is put to an element that lies across, another one in each iteration
 * of a loop around (`y[t, s] = z * b[s, o[t]]`): that is left to the loop behind. Consumes loops whose
 * iterations are independent, in which nothing may stop. Nothing is computed in another order.
 */
#include "pass.h"

enum { DEEPEST = 100, STATEMENTS = 40 };

/* A loop that accumulates, and what comes of its stores. */
struct columns {
    struct pass *pass;
    struct ir_stmt *loop, *depths;
    int along, across; /* loads in the depths that lie along the columns, and others that move with them */
};

/* ---- the shape ----------------------------------------------------------------------------------- */

static bool note_load(struct ir_expr *expr, void *context)
{
    struct columns *columns = context;

    if (expr->kind == IR_LOAD && pass_access_mentions(&expr->access, columns->loop->symbol))
        *(pass_is_unit(&expr->access, columns->loop->symbol) ? &columns->along : &columns->across) += 1;
    return true;
}

static bool only_computes(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_STORE && stmt->kind != IR_ALLOCATE && stmt->kind != IR_WHILE;
}

/* One loop among statements that only compute and store, which loads along the columns. */
static bool find_depths(struct columns *columns)
{
    int count = 0;

    for (struct ir_stmt *stmt = columns->loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && !columns->depths)
            columns->depths = stmt;
        else if (stmt->kind != IR_LET && stmt->kind != IR_VARIABLE && stmt->kind != IR_ASSIGN &&
                 stmt->kind != IR_STORE)
            return false;
        if (++count > STATEMENTS || (stmt->kind == IR_STORE && !columns->depths))
            return false;
    }
    if (!columns->depths || !ir_block_walk(columns->depths->body, only_computes, NULL))
        return false;
    ir_block_expressions(columns->depths->body, note_load, columns);
    return columns->along && !columns->across;
}

static bool jumps(const struct columns *columns, const struct ir_stmt *stmt)
{
    return stmt->kind == IR_STORE && pass_access_mentions(&stmt->access, columns->loop->symbol) &&
           !pass_is_unit(&stmt->access, columns->loop->symbol);
}

/* ---- what is stored ------------------------------------------------------------------------------ */

static bool is_of_body(const struct columns *columns, const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = columns->loop->body; stmt; stmt = stmt->next)
        if ((stmt->kind == IR_LET || stmt->kind == IR_VARIABLE) && stmt->symbol == symbol)
            return true;
    return false;
}

/* Where the scalar, as it is when the body ends, is stored along the row in an element that nothing else in
 * an iteration stores to but what jumps; NULL: nowhere. */
static const struct ir_stmt *place_of(const struct columns *columns, const struct ir_symbol *symbol)
{
    const struct ir_stmt *found = NULL;

    for (const struct ir_stmt *stmt = columns->depths->next; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_ASSIGN && stmt->symbol == symbol)
            found = NULL;
        if (stmt->kind != IR_STORE || jumps(columns, stmt))
            continue;
        if (found && found->access.buffer == stmt->access.buffer)
            return NULL;
        if (stmt->value->kind == IR_SYMBOL && stmt->value->symbol == symbol &&
            pass_is_unit(&stmt->access, columns->loop->symbol) &&
            stmt->access.buffer->dtype == symbol->dtype && !dtype_is_half(symbol->dtype))
            found = stmt;
    }
    return found;
}

static bool is_of_outside(struct ir_expr *expr, void *context)
{
    const struct columns *columns = context;

    return expr->kind != IR_LOAD && (expr->kind != IR_SYMBOL || !is_of_body(columns, expr->symbol));
}

/* Whether the store may be made behind all others: they store the same, or elsewhere, and nothing loads it.
 */
static bool may_be_last(const struct columns *columns, const struct ir_stmt *store)
{
    for (const struct ir_stmt *stmt = store->next; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_STORE && stmt->access.buffer == store->access.buffer &&
            (stmt->value->kind != IR_SYMBOL || stmt->value->symbol != store->value->symbol))
            return false;
        if (stmt->kind == IR_ASSIGN && stmt->symbol == store->value->symbol)
            return false;
    }
    return !ir_block_loads_from(columns->loop->body, store->access.buffer);
}

static bool may_detach(const struct columns *columns, const struct ir_stmt *store)
{
    for (int axis = 0; axis < store->access.buffer->rank; axis++)
        if (!ir_expr_walk(store->access.indices[axis], is_of_outside, (void *)columns))
            return false;
    return store->value->kind == IR_SYMBOL && place_of(columns, store->value->symbol) &&
           may_be_last(columns, store);
}

/* ---- the change ---------------------------------------------------------------------------------- */

static bool is_candidate(struct columns *columns)
{
    const struct ir_stmt *loop = columns->loop;
    int found = 0;

    if (loop->kind != IR_FOR || loop->hint || loop->step != 1 || !find_depths(columns) ||
        !pass_is_pure(loop->low) || !pass_is_pure(loop->high))
        return false;
    for (const struct ir_stmt *stmt = columns->depths->next; stmt; stmt = stmt->next) {
        if (!jumps(columns, stmt))
            continue;
        if (!may_detach(columns, stmt))
            return false;
        found++;
    }
    return found && !pass_jumps(loop->body) && !pass_block_may_stop(loop->body) &&
           pass_is_parallel(columns->pass, columns->loop);
}

/* A loop over the stores, each behind a LET of what it stores. */
static struct ir_stmt *detach(struct columns *columns)
{
    struct pass *pass = columns->pass;
    struct ir_stmt *lets = NULL, **let = &lets, *stores = NULL, **store = &stores;

    for (struct ir_stmt **place = &columns->depths->next; *place;) {
        struct ir_stmt *stmt = *place;
        if (!jumps(columns, stmt)) {
            place = &stmt->next;
            continue;
        }
        const struct ir_stmt *kept = place_of(columns, stmt->value->symbol);
        *let = pass_declare(pass, IR_SYMBOL_LET, stmt->value->symbol->name,
                            pass_load(pass, &kept->access, stmt->span), stmt->span);
        stmt->value = ir_symbol_use(pass->kernel, (*let)->symbol);
        let = &(*let)->next;
        *place = stmt->next;
        stmt->next = NULL;
        *store = stmt;
        store = &stmt->next;
    }
    *let = stores;
    return pass_new_loop(pass, columns->loop, lets);
}

/* ---- sums that are put to what lies across ----------------------------------------------------------- */

static bool is_fixed(struct ir_expr *expr, void *loop)
{
    return expr->kind != IR_LOAD &&
           (expr->kind != IR_SYMBOL || expr->symbol == ((const struct ir_stmt *)loop)->symbol ||
            expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE);
}

struct value {
    const struct columns *columns;
    const struct ir_stmt *store;
    struct ir_symbol *sum; /* the only scalar of the body */
    bool lies_across, fails;
};

static bool note_part(struct ir_expr *expr, void *context)
{
    struct value *value = context;
    const struct ir_stmt *loop = value->columns->loop;

    if (expr->kind == IR_SYMBOL && is_of_body(value->columns, expr->symbol)) {
        value->fails |= value->sum && value->sum != expr->symbol;
        value->sum = expr->symbol;
    }
    if (expr->kind != IR_LOAD)
        return true;
    value->fails |= expr->access.buffer == value->store->access.buffer;
    if (!pass_access_mentions(&expr->access, loop->symbol) || pass_is_unit(&expr->access, loop->symbol))
        return true;
    /* what is the same all through the call becomes a table of its own (pass_tabulate.c) */
    for (int axis = 0; axis < expr->access.buffer->rank; axis++)
        value->lies_across |= !ir_expr_walk(expr->access.indices[axis], is_fixed, (void *)loop);
    return true;
}

/* Whether the loop ends with a store of its sum and such an element, in the place of which the sum can be. */
static bool puts_across(struct columns *columns, struct value *value)
{
    const struct ir_stmt *loop = columns->loop;

    if (loop->kind != IR_FOR || loop->hint || loop->step != 1 || !find_depths(columns) ||
        !pass_is_pure(loop->low) || !pass_is_pure(loop->high))
        return false;
    const struct ir_stmt *store = columns->depths->next;
    *value = (struct value){.columns = columns, .store = store};
    if (!store || store->kind != IR_STORE || store->next || !pass_is_unit(&store->access, loop->symbol))
        return false;
    for (int axis = 0; axis < store->access.buffer->rank; axis++)
        if (!ir_expr_walk(store->access.indices[axis], is_of_outside, columns))
            return false;
    ir_expr_walk(store->value, note_part, value);
    return value->lies_across && value->sum && !value->fails &&
           value->sum->dtype == store->access.buffer->dtype && !dtype_is_half(value->sum->dtype) &&
           !pass_jumps(loop->body) && !pass_block_may_stop(loop->body) &&
           pass_is_parallel(columns->pass, columns->loop);
}

/* The loop behind, which has the sum from where it is stored now. */
static struct ir_stmt *put_behind(struct columns *columns, const struct value *value)
{
    struct pass *pass = columns->pass;
    struct ir_stmt *store = columns->depths->next, *copy = pass_copy_block(pass, store);
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, value->sum->name,
                                       pass_load(pass, &store->access, store->span), store->span);

    pass_rename(copy, value->sum, let->symbol);
    pass_set_value(store, ir_symbol_use(pass->kernel, value->sum));
    let->next = copy;
    return pass_new_loop(pass, columns->loop, let);
}

/* ---- all ----------------------------------------------------------------------------------------- */

static bool visit_block(struct pass *pass, struct ir_stmt *block, int depth)
{
    bool changed = false;

    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        struct columns columns = {.pass = pass, .loop = stmt};
        changed |= visit_block(pass, stmt->body, depth + 1);
        changed |= visit_block(pass, stmt->otherwise, depth + 1);
        struct columns other = columns;
        struct value value;
        struct ir_stmt *behind = is_candidate(&columns)        ? detach(&columns)
                                 : puts_across(&other, &value) ? put_behind(&other, &value)
                                                               : NULL;
        if (!behind)
            continue;
        behind->next = stmt->next;
        stmt->next = behind;
        stmt = behind;
        changed = true;
    }
    return changed;
}

bool pass_detach(struct pass *pass)
{
    return visit_block(pass, pass->kernel->body, 0);
}
