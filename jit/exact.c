/*
 * exact.c: see exact.h.
 */
#include "exact.h"

enum {
    MOST_ROW = 1 << 24, /* bytes: those of more have no constant that instructions take for their distance
                           (vector_stream.c) */
    MOST_ASKED = 32     /* dims: to ask for more takes longer than is gained */
};

/* ---- the call's extents ------------------------------------------------------------------------------- */

static const struct dsl_argument *next_tensor(const struct dsl_argument *arguments, int count, int row)
{
    for (int k = 0; k < count; k++) {
        int items = arguments[k].kind == DSL_TENSORS ? arguments[k].count : 1;
        if (row < items)
            return arguments[k].kind == DSL_TENSORS ? &arguments[k].items[row] : &arguments[k];
        row -= items;
    }
    return NULL;
}

static const int64_t *extents_of(const struct ir_kernel *kernel, const struct dsl_argument *arguments,
                                 int count, const struct ir_buffer *buffer)
{
    for (int row = 0; row < kernel->parameters.count; row++) {
        if (kernel->parameters.items[row].buffer != buffer)
            continue;
        const struct dsl_argument *tensor = next_tensor(arguments, count, row);
        return tensor && tensor->kind == DSL_TENSOR ? tensor->extents : NULL;
    }
    return NULL;
}

int64_t *exact_extents(const struct ir_kernel *kernel, const struct dsl_argument *arguments, int count)
{
    int64_t *extents = arena_array(kernel->arena, int64_t, kernel->dims.count + 1);

    for (int k = 0; k < kernel->dims.count; k++) {
        const struct ir_symbol *dim = kernel->dims.items[k];
        const int64_t *of_tensor = extents_of(kernel, arguments, count, dim->buffer);
        if (!of_tensor)
            return NULL;
        extents[k] = of_tensor[dim->axis];
    }
    return extents;
}

/* ---- what the code hangs on --------------------------------------------------------------------------- */

static bool ask_expr(struct ir_expr *expr, void *context);

static void ask_buffer(const struct ir_buffer *buffer, bool *is_asked)
{
    for (int axis = 0; axis < buffer->rank; axis++)
        ir_expr_walk(buffer->shape[axis], ask_expr, is_asked);
}

static bool ask_expr(struct ir_expr *expr, void *is_asked)
{
    if (ir_is_dim(expr))
        ((bool *)is_asked)[expr->symbol->index] = true;
    if (expr->kind == IR_LOAD)
        ask_buffer(expr->access.buffer, is_asked);
    return true;
}

static bool ask_stmt(struct ir_stmt *stmt, void *is_asked)
{
    if (stmt->kind == IR_STORE || stmt->kind == IR_ALLOCATE)
        ask_buffer(stmt->access.buffer, is_asked);
    return true;
}

/* By number of the dim. */
static bool *asked_of(const struct ir_kernel *kernel)
{
    bool *is_asked = arena_array(kernel->arena, bool, kernel->dims.count + 1);

    ir_block_walk(kernel->body, ask_stmt, is_asked);
    ir_block_expressions(kernel->body, ask_expr, is_asked);
    for (int k = 0; k < kernel->buffers.count; k++)
        if (kernel->buffers.items[k]->clear)
            ask_buffer(kernel->buffers.items[k], is_asked);
    return is_asked;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static bool has_long_rows(const struct ir_kernel *exact)
{
    for (int k = 0; k < exact->buffers.count; k++) {
        const struct ir_buffer *buffer = exact->buffers.items[k];
        int64_t bytes = (int64_t)dtype_table[buffer->dtype].size;
        for (int axis = 1; axis < buffer->rank; axis++)
            if (buffer->shape[axis]->kind == IR_INTEGER && buffer->shape[axis]->integer > 0 &&
                !ir_compute_integer(OP_MUL, bytes, buffer->shape[axis]->integer, &bytes))
                return true;
        if (bytes > MOST_ROW)
            return true;
    }
    return false;
}

/* Of axes with one element loops would be none, and what is in them code of another kind, without vectors:
 * but calls are to give the same to the bit whether they are recorded and become one
 * (runtime/recorded_fuse.c) or not. Whether anything is left, and not too much. */
static bool leave_ones(const struct ir_kernel *kernel, const int64_t *extents, bool *is_asked)
{
    int left = 0;

    for (int k = 0; k < kernel->dims.count; k++) {
        is_asked[k] &= extents[k] > 1;
        left += is_asked[k];
    }
    return left > 0 && left <= MOST_ASKED;
}

struct ir_kernel *exact_make(struct ir_kernel *kernel, const int64_t *extents, struct exact_shape *shape)
{
    bool *is_asked = extents ? asked_of(kernel) : NULL;
    struct ir_kernel *exact =
        is_asked && leave_ones(kernel, extents, is_asked) ? ir_kernel_at(kernel, extents, is_asked) : NULL;

    if (!exact || has_long_rows(exact))
        return NULL;
    exact_settle(exact);
    *shape = (struct exact_shape){.extents = extents, .is_asked = is_asked, .count = kernel->dims.count};
    return exact;
}
