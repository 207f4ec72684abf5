/*
 * elaborate_finish.c: type variables -> dtypes, in the whole kernel; what loops assert of shapes ->
 * preconditions.
 *
 * After this every dtype field holds a dtype: constants get the form of their dtype
 * (an integer that became a float is a real, rounded), casts to the same dtype are gone, and what cannot
 * divide by zero (floats; powers of unsigned integers) is unchecked.
 */
#include "elaborate_private.h"

static void finish_expr(struct elaborator *e, struct ir_expr **place);

static void finish_access(struct elaborator *e, struct ir_access *access)
{
    for (int i = 0; i < access->buffer->rank; i++)
        finish_expr(e, &access->indices[i]);
}

static void finish_constant(struct elaborator *e, struct ir_expr *expr)
{
    if (expr->kind == IR_INTEGER && dtype_is_float(expr->dtype)) {
        expr->kind = IR_REAL;
        expr->real = dtype_to_double(expr->dtype, dtype_from_double(expr->dtype, (double)expr->integer));
    } else if (expr->kind == IR_INTEGER) {
        int64_t wrapped = dtype_wrap(expr->dtype, expr->integer);
        bool fits = wrapped == expr->integer &&
                    (expr->dtype != AKG_UINT64 || expr->integer >= 0 || expr->span.line == 0);
        if (!fits && expr->span.line)
            elaborate_error(e, MSG_NUMBER_RANGE, expr->span, elaborate_number(e, expr->integer),
                            dtype_table[expr->dtype].name);
        expr->integer = wrapped;
    } else {
        expr->real = dtype_to_double(expr->dtype, dtype_from_double(expr->dtype, expr->real));
    }
}

static void finish_expr(struct elaborator *e, struct ir_expr **place)
{
    struct ir_expr *expr = *place;

    if (!expr)
        return;
    expr->dtype = type_decide(&e->types, expr->dtype);
    switch (expr->kind) {
    case IR_INTEGER:
    case IR_REAL:
        finish_constant(e, expr);
        return;
    case IR_SYMBOL:
        expr->dtype = expr->symbol->dtype = type_decide(&e->types, expr->symbol->dtype);
        return;
    case IR_LOAD:
        expr->dtype = expr->access.buffer->dtype;
        finish_access(e, &expr->access);
        return;
    case IR_OPERATION:
        for (int i = 0; i < expr->count; i++)
            finish_expr(e, &expr->operands[i]);
        if (expr->operation == OP_CAST && expr->operands[0]->dtype == expr->dtype)
            *place = expr->operands[0];
        else if (expr->checked)
            expr->checked = ir_can_divide_by_zero(expr->operation, expr->operands[0]->dtype);
        return;
    }
}

static void finish_block(struct elaborator *e, struct ir_stmt *first)
{
    for (struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->symbol)
            stmt->symbol->dtype = type_decide(&e->types, stmt->symbol->dtype);
        finish_expr(e, &stmt->low);
        finish_expr(e, &stmt->high);
        finish_expr(e, &stmt->value);
        if (stmt->kind == IR_LET)
            stmt->symbol->value = stmt->value;
        if (stmt->kind == IR_STORE)
            finish_access(e, &stmt->access);
        finish_block(e, stmt->body);
        finish_block(e, stmt->otherwise);
    }
}

/* ---- asserts on shapes in loops ------------------------------------------------------------ */

/* Whether it has a break or continue of the loop that it is in. */
static bool may_leave(const struct ir_stmt *stmt)
{
    bool leaves = stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE;
    for (const struct ir_stmt *inner = stmt->kind == IR_IF ? stmt->body : NULL; inner; inner = inner->next)
        leaves |= may_leave(inner);
    for (const struct ir_stmt *inner = stmt->kind == IR_IF ? stmt->otherwise : NULL; inner;
         inner = inner->next)
        leaves |= may_leave(inner);
    return leaves;
}

/* `guard` and that the loop has an iteration. */
static struct ir_expr *guard_in(struct elaborator *e, struct ir_expr *guard, const struct ir_stmt *loop)
{
    struct ir_expr *runs = ir_operation(e->kernel, loop->step > 0 ? OP_LT : OP_GT, expr_copy(e, loop->low),
                                        expr_copy(e, loop->high), NULL);
    return guard ? ir_operation(e->kernel, OP_AND, expr_copy(e, guard), runs, NULL) : runs;
}

/* What each iteration asserts of shapes and attributes is asked before the call, where there is an iteration:
 * slices in loops over rows are as long as they are in any row. */
static void lift_asserts(struct elaborator *e, struct ir_stmt **block, struct ir_expr *guard)
{
    while (*block && !may_leave(*block)) {
        struct ir_stmt *stmt = *block;
        if (stmt->kind == IR_FOR && expr_is_invariant(stmt->low) && expr_is_invariant(stmt->high))
            lift_asserts(e, &stmt->body, guard_in(e, guard, stmt));
        bool is_asked = guard && stmt->kind == IR_ASSERT && expr_is_invariant(stmt->value);
        if (is_asked) {
            struct ir_precondition precondition = {.kind = IR_PRECONDITION_ASSERT,
                                                   .guard = expr_copy(e, guard),
                                                   .condition = stmt->value,
                                                   .message = stmt->message,
                                                   .span = stmt->span};
            list_push(e->arena, &e->kernel->preconditions, precondition);
        }
        if (is_asked || (stmt->kind == IR_FOR && !stmt->body))
            *block = stmt->next;
        else
            block = &stmt->next;
    }
}

void elaborate_finish(struct elaborator *e)
{
    struct ir_kernel *kernel = e->kernel;

    for (int i = 0; i < kernel->buffers.count; i++) {
        struct ir_buffer *buffer = kernel->buffers.items[i];
        akg_dtype type = type_find(&e->types, buffer->dtype);
        e->result->type_class[i] = type_is_variable(type) ? type : AKG_DTYPE_COUNT;
        e->result->allowed[i] = type_allowed(&e->types, type);
        buffer->dtype = type_decide(&e->types, buffer->dtype);
        for (int k = 0; k < buffer->rank; k++)
            finish_expr(e, &buffer->shape[k]);
    }
    finish_block(e, kernel->body);
    lift_asserts(e, &kernel->body, NULL);
    for (int i = 0; i < kernel->preconditions.count; i++)
        finish_expr(e, &kernel->preconditions.items[i].condition);
}
