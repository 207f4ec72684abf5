/*
 * pass_extremes.c: what keeps the greater of two integers by a condition is their maximum:
 *
 *     if x[j] < x[i] and y[j] > best { best = y[j] }   becomes   if x[j] < x[i] { best = max(best, y[j]) }
 *
 * Consumes any kernel. A loop that accumulates so is a reduction under a mask; as a choice it would keep
 * where the greatest stood, too. Of floats nan says no, and the maximum is nan, so these stay. What stops in
 * one part of a condition does so before the other part, so that nothing that may stop is left out.
 *
 * What begins with the first element that it is then compared with, of windows that are known to have one,
 * begins with the least that there is instead: one load less, which lies elsewhere than those of the window.
 */
#include <math.h>

#include "pass.h"

/* OP_MAX or OP_MIN, where the condition is that the value is the greater or the lesser one of it and the
 * symbol; else OP_SELECT. */
static enum operation extreme_of(const struct ir_expr *condition, const struct ir_symbol *symbol,
                                 const struct ir_expr *value)
{
    if (condition->kind != IR_OPERATION || condition->operation < OP_LT || condition->operation > OP_GE)
        return OP_SELECT;
    bool is_greater = condition->operation == OP_GT || condition->operation == OP_GE;
    if (ir_is_use_of(condition->operands[1], symbol) && ir_expr_equal(condition->operands[0], value))
        return is_greater ? OP_MAX : OP_MIN;
    if (ir_is_use_of(condition->operands[0], symbol) && ir_expr_equal(condition->operands[1], value))
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

/* ---- where they begin ------------------------------------------------------------------------------ */

/* The only statement of loops, each the only one in the one around it and known to have an iteration, whose
 * variables have the first one's value as notes; NULL. */
static struct ir_stmt *in_all_loops(struct ir_stmt *loop)
{
    while (loop && loop->kind == IR_FOR) {
        bool is_known = loop->step > 0 && loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER &&
                        loop->low->integer < loop->high->integer;
        if (!is_known || !loop->body || loop->body->next)
            return NULL;
        loop->symbol->note = loop->low;
        loop = loop->body;
    }
    return loop;
}

static void forget_loops(struct ir_stmt *loop)
{
    for (; loop && loop->kind == IR_FOR; loop = loop->body)
        loop->symbol->note = NULL;
}

/* What the operation leaves anything as it is with; NULL: there is none to be written. */
static struct ir_expr *identity_of(struct ir_kernel *kernel, enum operation operation, akg_dtype dtype)
{
    int bits = 8 * dtype_table[dtype].size;
    bool is_least = operation == OP_MAX;
    if (dtype_is_float(dtype))
        return ir_real(kernel, dtype, is_least ? -INFINITY : INFINITY);
    if (!dtype_is_integer(dtype) || (bits == 64 && !dtype_is_signed(dtype)))
        return NULL;
    int64_t most = (int64_t)(UINT64_MAX >> (64 - bits + dtype_is_signed(dtype)));
    return ir_integer(kernel, dtype, !is_least ? most : dtype_is_signed(dtype) ? -most - 1 : 0);
}

static struct ir_expr *compared_with(const struct ir_stmt *assign, const struct ir_symbol *symbol)
{
    const struct ir_expr *value = assign->value;
    if (assign->kind != IR_ASSIGN || assign->symbol != symbol || value->kind != IR_OPERATION ||
        (value->operation != OP_MAX && value->operation != OP_MIN))
        return NULL;
    return ir_is_use_of(value->operands[0], symbol)   ? value->operands[1]
           : ir_is_use_of(value->operands[1], symbol) ? value->operands[0]
                                                      : NULL;
}

static bool is_same_element(struct ir_kernel *kernel, const struct ir_access *a, const struct ir_access *b)
{
    struct pass_affine distance, other;
    bool is_same = a->buffer == b->buffer;
    for (int axis = 0; is_same && axis < a->buffer->rank; axis++)
        is_same = pass_affine_of(ir_expr_substitute(kernel, a->indices[axis]), &distance) &&
                  pass_affine_of(b->indices[axis], &other) && pass_affine_add(&distance, -1, &other) &&
                  !distance.count && !distance.constant;
    return is_same;
}

static bool begin_with_least(struct pass *pass, struct ir_stmt *variable)
{
    struct ir_stmt *loop = variable->next;
    if (variable->value->kind != IR_LOAD || !loop || loop->kind != IR_FOR)
        return false;
    const struct ir_stmt *assign = in_all_loops(loop);
    const struct ir_expr *other = assign ? compared_with(assign, variable->symbol) : NULL;
    struct ir_expr *identity = NULL;
    if (other && other->kind == IR_LOAD && !pass_expr_may_stop(variable->value) &&
        is_same_element(pass->kernel, &other->access, &variable->value->access))
        identity = identity_of(pass->kernel, assign->value->operation, variable->symbol->dtype);
    forget_loops(loop);
    if (identity)
        pass_set_value(variable, identity);
    return identity;
}

/* ---- what conditions keep --------------------------------------------------------------------------- */

static bool visit(struct ir_stmt *stmt, void *context)
{
    struct visit *visit = context;
    struct ir_kernel *kernel = visit->pass->kernel;
    struct ir_stmt *assign = stmt->kind == IR_IF && !stmt->otherwise ? stmt->body : NULL;
    const struct ir_expr *compared;
    enum operation operation;
    if (stmt->kind == IR_VARIABLE)
        visit->changed |= begin_with_least(visit->pass, stmt);
    if (!assign || assign->next || assign->kind != IR_ASSIGN || !dtype_is_integer(assign->symbol->dtype))
        return true;
    struct ir_expr *rest = take_comparison(stmt->value, assign, &operation, &compared);
    if (operation == OP_SELECT)
        return true;
    /* as the condition has it, which comes first: there it stops, if it does */
    struct ir_expr *value = compared->operands[ir_is_use_of(compared->operands[0], assign->symbol)];
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
