/*
 * pass_restride.c: a tensor that is not contiguous, but has no gaps, is taken for the contiguous one that
 * lies there.
 *
 *     input w: float32[K, N] strided by 1, 0            input w: float32[K, N] by 1, 0 as [N, K]
 *     ... w[k, j] ...                            ->     ... w[j, k] ...
 *
 *     input b: float32[M, N] strided by 1 repeated, 0   input b: float32[M, N] by 1 repeated, 0 as [1, M]
 *     ... b[i, j] ...                            ->     ... b[0, i] ...
 *
 * so that whatever is known of contiguous tensors is known of these: transposed views, and what a call or a
 * graph has stretched to a shape.
 *
 * Consumes inputs with an order (ir_buffer). An index that is tested when it is executed keeps its tensor as
 * it is: the message would name another axis. Nothing is stored where elements repeat. The extents that the
 * tensor of a call must have are kept.
 */
#include "pass.h"

/* Buffers that must stay as they are have this for a note. */
static char kept;

static bool is_candidate(const struct ir_buffer *buffer)
{
    return buffer->order && !buffer->contiguous;
}

static void look_at(const struct ir_access *access, bool stored)
{
    struct ir_buffer *buffer = access->buffer;

    for (int k = 0; is_candidate(buffer) && k < buffer->rank; k++) {
        bool repeated = buffer->order[k] & IR_AXIS_REPEATED;
        int axis = buffer->order[k] & ~IR_AXIS_REPEATED;
        if (access->checks[axis] == IR_CHECK_ELEMENT ||
            (repeated && (stored || pass_expr_may_stop(access->indices[axis]))))
            buffer->note = &kept;
    }
}

static bool look_at_expression(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_LOAD)
        look_at(&expr->access, false);
    return true;
}

static bool look_at_store(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->kind == IR_STORE)
        look_at(&stmt->access, true);
    return true;
}

static struct ir_expr *reorder_entry(struct pass *pass, struct ir_expr *const *of, unsigned char place,
                                     int64_t repeated)
{
    return place & IR_AXIS_REPEATED ? ir_integer(pass->kernel, AKG_INT64, repeated) : of[place];
}

static void change(struct pass *pass, struct ir_access *access)
{
    const struct ir_buffer *buffer = access->buffer;
    struct ir_expr **indices;
    enum ir_check *checks;

    if (!is_candidate(buffer) || buffer->note)
        return;
    indices = arena_array(pass->kernel->arena, struct ir_expr *, buffer->rank + 1);
    checks = arena_array(pass->kernel->arena, enum ir_check, buffer->rank + 1);
    for (int k = 0; k < buffer->rank; k++) {
        indices[k] = reorder_entry(pass, access->indices, buffer->order[k], 0);
        checks[k] = buffer->order[k] & IR_AXIS_REPEATED ? IR_CHECK_PROVED : access->checks[buffer->order[k]];
    }
    access->indices = indices;
    access->checks = checks;
}

static bool change_expression(struct ir_expr *expr, void *pass)
{
    if (expr->kind == IR_LOAD)
        change(pass, &expr->access);
    return true;
}

static bool change_store(struct ir_stmt *stmt, void *pass)
{
    if (stmt->kind == IR_STORE)
        change(pass, &stmt->access);
    return true;
}

static void change_buffer(struct pass *pass, struct ir_buffer *buffer)
{
    struct ir_expr **shape = buffer->shape;
    buffer->extents = ir_buffer_extents(buffer);
    buffer->shape = arena_array(pass->kernel->arena, struct ir_expr *, buffer->rank + 1);
    for (int k = 0; k < buffer->rank; k++) {
        struct ir_expr *extent = reorder_entry(pass, shape, buffer->order[k], 1);
        buffer->shape[k] = extent->kind == IR_INTEGER ? extent : pass_copy(pass, extent);
    }
    buffer->contiguous = true;
}

bool pass_restride(struct pass *pass)
{
    struct ir_kernel *kernel = pass->kernel;
    bool any = false, changed = false;

    for (int i = 0; i < kernel->buffers.count; i++)
        any |= is_candidate(kernel->buffers.items[i]);
    if (!any)
        return false;
    ir_block_expressions(kernel->body, look_at_expression, NULL);
    ir_block_walk(kernel->body, look_at_store, NULL);
    ir_block_expressions(kernel->body, change_expression, pass);
    ir_block_walk(kernel->body, change_store, pass);
    for (int i = 0; i < kernel->buffers.count; i++) {
        struct ir_buffer *buffer = kernel->buffers.items[i];
        if (is_candidate(buffer) && !buffer->note) {
            change_buffer(pass, buffer);
            changed = true;
        }
        buffer->note = NULL;
    }
    return changed;
}
