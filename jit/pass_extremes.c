/*
 * pass_extremes.c: what keeps the greater of two integers by a condition is their maximum:
 *
 *     if x[j] < x[i] and y[j] > best { best = y[j] }   becomes   if x[j] < x[i] { best = max(best, y[j]) }
 *
 * Consumes any kernel. A loop that accumulates so is a reduction under a mask; as a choice it would keep
 * where the greatest stood, too. Of floats nan says no, and the maximum is nan, so these stay. What stops in
 * one part of a condition does so before the other part, so that nothing that may stop is left out.
 */
#include "pass.h"

static bool is_use_of(const struct ir_expr *expr, const struct ir_symbol *symbol)
{
    return expr->kind == IR_SYMBOL && expr->symbol == symbol;
}

/* OP_MAX or OP_MIN, where the condition is that the value is the greater or the lesser one of it and the
 * symbol; else OP_SELECT. */
static enum operation extreme_of(const struct ir_expr *condition, const struct ir_symbol *symbol,
                                 const struct ir_expr *value)
{
    if (condition->kind != IR_OPERATION || condition->operation < OP_LT || condition->operation > OP_GE)
        return OP_SELECT;
    bool is_greater = condition->operation == OP_GT || condition->operation == OP_GE;
    if (is_use_of(condition->operands[1], symbol) && ir_expr_equal(condition->operands[0], value))
        return is_greater ? OP_MAX : OP_MIN;
    if (is_use_of(condition->operands[0], symbol) && ir_expr_equal(condition->operands[1], value))
        return is_greater ? OP_MIN : OP_MAX;
    return OP_SELECT;
}

/* What is left of the condition, NULL: nothing; *operation as above, of what *compared compares. */
static struct ir_expr *take_comparison(struct ir_expr *condition, const struct ir_stmt *assign,
                                       enum operation *operation, const struct ir_expr **compared)
{
    *compared = condition;
    *operation = extreme_of(condition, assign->symbol, assign->value);
    if (*operation != OP_SELECT)
        return NULL;
    for (int side = 1; side >= 0 && condition->kind == IR_OPERATION && condition->operation == OP_AND;
         side--) {
        *compared = condition->operands[side];
        *operation = extreme_of(*compared, assign->symbol, assign->value);
        if (*operation != OP_SELECT && (side == 1 || !pass_expr_may_stop(condition)))
            return condition->operands[1 - side];
    }
    *operation = OP_SELECT;
    return condition;
}

struct visit {
    struct pass *pass;
    bool changed;
};

static bool visit(struct ir_stmt *stmt, void *context)
{
    struct visit *visit = context;
    struct ir_kernel *kernel = visit->pass->kernel;
    struct ir_stmt *assign = stmt->kind == IR_IF && !stmt->otherwise ? stmt->body : NULL;
    const struct ir_expr *compared;
    enum operation operation;
    if (!assign || assign->next || assign->kind != IR_ASSIGN || !dtype_is_integer(assign->symbol->dtype))
        return true;
    struct ir_expr *rest = take_comparison(stmt->value, assign, &operation, &compared);
    if (operation == OP_SELECT)
        return true;
    /* as the condition has it, which comes first: there it stops, if it does */
    struct ir_expr *value = compared->operands[is_use_of(compared->operands[0], assign->symbol)];
    pass_set_value(assign,
                   ir_operation(kernel, operation, ir_symbol_use(kernel, assign->symbol), value, NULL));
    if (rest) {
        pass_set_value(stmt, rest);
    } else {
        stmt->kind = IR_ASSIGN;
        stmt->symbol = assign->symbol;
        stmt->body = NULL;
        pass_set_value(stmt, assign->value);
    }
    visit->changed = true;
    return true;
}

bool pass_extremes(struct pass *pass)
{
    struct visit state = {pass, false};
    ir_block_walk(pass->kernel->body, visit, &state);
    return state.changed;
}
