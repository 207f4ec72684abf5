/*
 * pass_vouch_wide.c: sums of 32 bits as indices, `x[i, j - shift[i]]`, which wrap.
 *
 * Consumes indices that are an int32 sum with the variable of a loop in it, as int64; produces the sum of
 * int64, which grows by as much with each iteration, so that its ends are tested instead of all of it and
 * rows of elements are what they are. Both are congruent modulo 2^32, however often either wraps: they are
 * equal wherever the sum of int64 is from 0 to 2^31 - 1, which is what is tested of it.
 */
#include "pass_vouch.h"

static bool is_sum(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && expr->dtype == AKG_INT32 &&
           (expr->operation == OP_ADD || expr->operation == OP_SUB);
}

static struct ir_expr *widen(struct pass *pass, const struct ir_expr *expr)
{
    bool is_cast = vouch_is_cast(expr) && dtype_is_integer(expr->operands[0]->dtype);
    if (is_sum(expr))
        return ir_operation(pass->kernel, expr->operation, widen(pass, expr->operands[0]),
                            widen(pass, expr->operands[1]), NULL);
    if (is_cast && expr->operands[0]->dtype == AKG_INT64)
        return pass_copy(pass, expr->operands[0]);
    return ir_cast(pass->kernel, AKG_INT64, pass_copy(pass, expr));
}

static bool is_no_loop_variable(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_LOOP;
}

/* Whether a loop's variable is a term of the sum, and not only in an index of what is loaded for it. */
static bool goes_along(const struct ir_expr *expr)
{
    if (is_sum(expr))
        return goes_along(expr->operands[0]) || goes_along(expr->operands[1]);
    return vouch_is_cast(expr) && expr->operands[0]->kind != IR_LOAD &&
           !ir_expr_walk(expr->operands[0], is_no_loop_variable, NULL);
}

struct ir_expr *vouch_widened(struct pass *pass, const struct ir_expr *index)
{
    return vouch_is_cast(index) && is_sum(index->operands[0]) && goes_along(index->operands[0])
               ? widen(pass, index->operands[0])
               : NULL;
}

static void widen_access(struct pass *pass, struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct ir_expr *wide =
            access->checks[axis] == IR_CHECK_ELEMENT ? vouch_widened(pass, access->indices[axis]) : NULL;
        access->indices[axis] = wide ? wide : access->indices[axis];
    }
}

static bool widen_load(struct ir_expr *expr, void *pass)
{
    if (expr->kind == IR_LOAD)
        widen_access(pass, &expr->access);
    return true;
}

static bool widen_store(struct ir_stmt *stmt, void *pass)
{
    if (stmt->kind == IR_STORE)
        widen_access(pass, &stmt->access);
    return true;
}

void vouch_widen(struct pass *pass, struct ir_stmt *block)
{
    ir_block_expressions(block, widen_load, pass);
    ir_block_walk(block, widen_store, pass);
}
