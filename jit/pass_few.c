/*
 * pass_few.c: puts numbers for extents that are the same few in all calls that the kernel is for.
 *
 * Consumes any kernel; changes what is computed and the shapes that indices have. What calls are refused for,
 * and the extents that they are asked for, stay as they are, so that they are told of these by name. It is
 * done here and not when names are resolved, for what a program may say does not hang on how large an extent
 * is: of one element `N - 2` is no index that counts from the end.
 */
#include "pass.h"

static struct ir_expr *folded(struct pass *pass, struct ir_expr *expr)
{
    if (expr->kind != IR_OPERATION)
        return expr;
    for (int k = 0; k < expr->count; k++)
        expr->operands[k] = folded(pass, expr->operands[k]);
    struct ir_expr *simpler = ir_fold(pass->kernel, expr->operation, expr->operands);
    return simpler ? simpler : expr;
}

static void put_into_shape(struct pass *pass, struct ir_buffer *buffer)
{
    struct ir_expr **shape = buffer->shape;
    bool changed = false;

    buffer->shape = arena_array(pass->kernel->arena, struct ir_expr *, buffer->rank + 1);
    for (int axis = 0; axis < buffer->rank; axis++) {
        buffer->shape[axis] = folded(pass, ir_expr_substitute(pass->kernel, shape[axis]));
        changed |= !ir_expr_equal(shape[axis], buffer->shape[axis]);
    }
    if (changed && !buffer->extents && ir_buffer_is_input(buffer))
        buffer->extents = shape;
}

bool pass_few(struct pass *pass)
{
    struct ir_kernel *kernel = pass->kernel;
    bool any = false;

    for (int k = 0; k < kernel->dims.count; k++)
        if (kernel->dims.items[k]->few) {
            kernel->dims.items[k]->note = ir_integer(kernel, AKG_INT64, kernel->dims.items[k]->few);
            any = true;
        }
    if (any) {
        pass_substitute(pass, kernel->body);
        for (int k = 0; k < kernel->buffers.count; k++)
            put_into_shape(pass, kernel->buffers.items[k]);
    }
    for (int k = 0; k < kernel->dims.count; k++)
        kernel->dims.items[k]->note = NULL;
    return any;
}
