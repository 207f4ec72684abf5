/*
 * pass_contract.c: in a nest of loops with nothing between them, or but names for what is soon computed, that
 * accumulates into one element of a tensor,
 *
 *     for i: for k: for j: c[i, j] = c[i, j] + a[i, k] * b[k, j]
 *
 * the loops that do not move the element become the innermost ones, and the element lives in a scalar while
 * they run. Each element still sees its terms in the order of the program: the loops that move it are brought
 * outside, those that do not keep their order among themselves. Back ends know such nests as contractions.
 *
 * The element must be moved by two loops at least, or by the innermost one alone from each to the next where
 * it is a sum (else interchange knows better), each index by one of them at most, so that other iterations
 * have other elements. Bounds hang on no loop of the nest, and nothing may stop.
 */
#include "pass.h"

enum { NEST = 8, AROUND = 24, LETS = 8 };

struct nest {
    struct ir_stmt *loops[NEST];
    int depth;
    bool moves[NEST];           /* the element */
    struct ir_stmt *lets[LETS]; /* that stand between the loops */
    int let_count;
    bool divides; /* in one of these */
};

struct contractor {
    struct pass *pass;
    const struct ir_stmt *around[AROUND]; /* the outermost loops around what is looked at */
    int depth;
    bool changed;
};

/* Computed again for some elements it costs next to nothing: `w = a[i, k]` between two loops of a product. */
static bool is_cheap(struct ir_expr *expr, void *context)
{
    struct nest *nest = context;

    if (expr->kind != IR_OPERATION)
        return true;
    nest->divides |= expr->operation == OP_TRUEDIV;
    return !expr->checked &&
           (expr->operation == OP_ADD || expr->operation == OP_SUB || expr->operation == OP_MUL ||
            expr->operation == OP_TRUEDIV || expr->operation == OP_NEG || expr->operation == OP_CAST);
}

/* The first statement that is not one of the nest's LETs. */
static struct ir_stmt *behind_lets(struct nest *nest, struct ir_stmt *stmt)
{
    while (stmt && stmt->kind == IR_LET && nest->let_count < LETS && !pass_expr_may_stop(stmt->value) &&
           ir_expr_walk(stmt->value, is_cheap, nest)) {
        nest->lets[nest->let_count++] = stmt;
        stmt = stmt->next;
    }
    return stmt;
}

static bool find_nest(struct ir_stmt *stmt, struct nest *nest)
{
    struct ir_stmt *body = stmt;

    *nest = (struct nest){.depth = 0};
    for (; body && body->kind == IR_FOR; body = behind_lets(nest, body->body)) {
        if (nest->depth == NEST || body->hint || (body != stmt && body->next))
            return false;
        nest->loops[nest->depth++] = body;
    }
    return body && body->kind == IR_STORE && !body->next && nest->depth > 1;
}

/* ---- legality ----------------------------------------------------------------------------------- */

/* Which loops move the element; false where an index is moved by several, or in a way that is not clear. */
static bool find_moving(struct nest *nest, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct pass_affine affine;
        int moving = 0;
        if (!pass_affine_of(access->indices[axis], &affine))
            return false;
        for (int k = 0; k < affine.count; k++)
            if (affine.terms[k].symbol->kind == IR_SYMBOL_LET ||
                affine.terms[k].symbol->kind == IR_SYMBOL_VARIABLE)
                return false;
        for (int k = 0; k < nest->depth; k++)
            if (pass_affine_coefficient(&affine, nest->loops[k]->symbol)) {
                nest->moves[k] = true;
                moving++;
            }
        if (moving > 1)
            return false;
    }
    return true;
}

struct loads {
    const struct ir_access *element;
    int count;
    bool other; /* of the tensor, but not of the element */
};

static bool count_load(struct ir_expr *expr, void *context)
{
    struct loads *loads = context;

    if (expr->kind != IR_LOAD || expr->access.buffer != loads->element->buffer)
        return true;
    loads->count++;
    loads->other |= pass_compare(&expr->access, loads->element) != PASS_SAME;
    return true;
}

/* The LETs may be computed where the store is: it does not change what they load, and no bound hangs on them.
 */
static bool may_go_inside(const struct nest *nest, const struct ir_stmt *store)
{
    for (int k = 0; k < nest->let_count; k++) {
        if (ir_expr_loads_from(nest->lets[k]->value, store->access.buffer))
            return false;
        for (int loop = 0; loop < nest->depth; loop++)
            if (pass_mentions(nest->loops[loop]->low, nest->lets[k]->symbol) ||
                pass_mentions(nest->loops[loop]->high, nest->lets[k]->symbol))
                return false;
    }
    return true;
}

/* ---- the change ---------------------------------------------------------------------------------- */

/* The value with those of the LETs in their places, which leave the nest. */
static void put_inside(struct pass *pass, struct nest *nest, struct ir_stmt *store)
{
    for (int k = 0; k < nest->let_count; k++) {
        struct ir_stmt *let = nest->lets[k];
        let->symbol->note = let->value;
        for (int later = k + 1; later < nest->let_count; later++)
            pass_set_value(nest->lets[later], ir_expr_substitute(pass->kernel, nest->lets[later]->value));
        pass_set_value(store, ir_expr_substitute(pass->kernel, store->value));
        let->symbol->note = NULL;
    }
    for (int loop = 0; loop + 1 < nest->depth; loop++)
        nest->loops[loop]->body = nest->loops[loop + 1];
    nest->loops[nest->depth - 1]->body = store;
}

/* Loops that move the element go outside those that do not. */
static void reorder(struct nest *nest)
{
    for (int end = nest->depth - 1; end > 0; end--)
        for (int k = 0; k < end; k++)
            if (!nest->moves[k] && nest->moves[k + 1]) {
                pass_exchange_loops(nest->loops[k], nest->loops[k + 1]);
                nest->moves[k] = true;
                nest->moves[k + 1] = false;
            }
}

/* Whether rows are added up, element by element. Line by line the sum of each element waits for its store of
 * the line before: 64 lines of 48 elements take 0.4 of the time. Of the greatest that was no gain. */
static bool sums_columns(const struct nest *nest, const struct ir_stmt *store)
{
    const struct ir_stmt *columns = nest->loops[nest->depth - 1];
    return nest->moves[nest->depth - 1] && pass_is_unit(&store->access, columns->symbol) &&
           store->value->kind == IR_OPERATION && store->value->operation == OP_ADD;
}

static bool contract(struct contractor *contractor, struct nest *nest)
{
    struct ir_stmt *store = nest->loops[nest->depth - 1]->body;
    while (store->kind == IR_LET)
        store = store->next;
    struct loads loads = {.element = &store->access};
    int moving = 0;

    if (!find_moving(nest, &store->access) || !pass_bounds_are_fixed(nest->loops, nest->depth) ||
        pass_block_may_stop(store) || !may_go_inside(nest, store))
        return false;
    for (int k = 0; k < nest->depth; k++)
        moving += nest->moves[k];
    ir_expr_walk(store->value, count_load, &loads);
    if (moving < 1 || moving == nest->depth || !loads.count || loads.other ||
        (moving == 1 ? !sums_columns(nest, store) : nest->divides))
        return false;
    put_inside(contractor->pass, nest, store);
    reorder(nest);
    pass_promote_nest(contractor->pass, contractor->around, contractor->depth, nest->loops[0]);
    return true;
}

static void contract_block(struct contractor *contractor, struct ir_stmt *block)
{
    struct nest nest;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        bool is_loop = stmt->kind == IR_FOR && contractor->depth < AROUND;
        if (stmt->kind == IR_FOR && find_nest(stmt, &nest) && contract(contractor, &nest))
            contractor->changed = true;
        if (is_loop)
            contractor->around[contractor->depth++] = stmt;
        contract_block(contractor, stmt->body);
        contractor->depth -= is_loop;
        struct ir_stmt *otherwise = stmt->otherwise;
        for (; otherwise && otherwise->kind == IR_IF && !otherwise->next; otherwise = otherwise->otherwise)
            contract_block(contractor, otherwise->body);
        contract_block(contractor, otherwise);
    }
}

bool pass_contract(struct pass *pass)
{
    struct contractor contractor = {.pass = pass};

    contract_block(&contractor, pass->kernel->body);
    return contractor.changed;
}
