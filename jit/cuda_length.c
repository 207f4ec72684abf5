/*
 * cuda_length.c: how many iterations loops have, as expressions that the host evaluates before a launch.
 *
 * Consumes loops whose ends are made of what a call gives; produces expressions of that alone.
 */
#include "cuda_plan.h"

static bool is_of_call(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE ||
               (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value &&
                ir_expr_walk(expr->symbol->value, is_of_call, NULL));
    return expr->kind != IR_LOAD;
}

bool cuda_is_of_call(const struct ir_expr *expr)
{
    return ir_expr_walk((struct ir_expr *)expr, is_of_call, NULL);
}

struct ir_expr *cuda_resolved(struct ir_kernel *kernel, const struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return cuda_resolved(kernel, expr->symbol->value);
    struct ir_expr *copy = arena_new(kernel->arena, struct ir_expr);
    *copy = *expr;
    if (expr->kind != IR_OPERATION)
        return copy;
    copy->operands = arena_array(kernel->arena, struct ir_expr *, expr->count);
    for (int k = 0; k < expr->count; k++)
        copy->operands[k] = cuda_resolved(kernel, expr->operands[k]);
    return copy;
}

static bool is_no_attribute(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_ATTRIBUTE;
}

/* Not so far that a distance is no int64: a length that the host cannot tell would be each launch's. */
static struct ir_expr *near_enough(struct ir_kernel *kernel, struct ir_expr *end)
{
    const int64_t far = INT64_C(1) << 61;
    if (end->kind == IR_INTEGER) {
        end->integer = end->integer > far ? far : end->integer < -far ? -far : end->integer;
        return end;
    }
    if (ir_expr_walk(end, is_no_attribute, NULL))
        return end;
    end = ir_operation(kernel, OP_MIN, end, ir_integer(kernel, AKG_INT64, far), NULL);
    return ir_operation(kernel, OP_MAX, end, ir_integer(kernel, AKG_INT64, -far), NULL);
}

static struct ir_expr *distance_between(struct ir_kernel *kernel, struct ir_expr *low, struct ir_expr *high)
{
    if (low->kind == IR_INTEGER && low->integer == 0)
        return high;
    return ir_operation(kernel, OP_SUB, near_enough(kernel, high), near_enough(kernel, low), NULL);
}

const struct ir_expr *cuda_chain_work(struct ir_kernel *kernel, const struct cuda_chain *chain)
{
    struct ir_expr *work = NULL;
    for (int k = 0; k < chain->count; k++) {
        const struct ir_stmt *loop = chain->loops[k];
        if (!cuda_is_of_call(loop->low) || !cuda_is_of_call(loop->high))
            return NULL;
        struct ir_expr *low = cuda_resolved(kernel, loop->step > 0 ? loop->low : loop->high);
        struct ir_expr *high = cuda_resolved(kernel, loop->step > 0 ? loop->high : loop->low);
        int64_t step = loop->step > 0 ? loop->step : loop->step == INT64_MIN ? INT64_MAX : -loop->step;
        struct ir_expr *span = distance_between(kernel, low, high);
        if (step != 1)
            span = ir_operation(kernel, OP_CEIL_DIV, span, ir_integer(kernel, AKG_INT64, step), NULL);
        span = ir_operation(kernel, OP_MAX, span, ir_integer(kernel, AKG_INT64, 0), NULL);
        work = work ? ir_operation(kernel, OP_MUL, work, span, NULL) : span;
    }
    return work;
}
