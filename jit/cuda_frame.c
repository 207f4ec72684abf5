/*
 * cuda_frame.c: see cuda_frame.h.
 */
#include "cuda_frame.h"

#include "analysis.h"
#include "cuda_plan.h"
#include "pass.h"

/* ---- the box ----------------------------------------------------------------------------------- */

/* Whether all indices of the axis are those of the box. */
static bool is_whole(const struct analysis_box *box, const struct ir_buffer *buffer, int axis)
{
    struct pass_affine low, high, extent;
    return pass_affine_of(box->low[axis], &low) && low.count == 0 && low.constant == 0 &&
           pass_affine_of(box->high[axis], &high) && pass_affine_of(buffer->shape[axis], &extent) &&
           pass_affine_add(&extent, -1, &high) && extent.count == 0 && extent.constant == 1;
}

/* The axes on which the distance of the box from both edges is known, or it goes by the extent at least:
 * the more of them, the less is left outside. */
static int closeness(const struct analysis_box *box, const struct ir_buffer *buffer)
{
    int close = 0;
    for (int axis = 0; axis < buffer->rank; axis++) {
        struct pass_affine low, high, extent;
        if (pass_affine_of(box->low[axis], &low) && pass_affine_of(box->high[axis], &high) &&
            pass_affine_of(buffer->shape[axis], &extent) && pass_affine_add(&high, -1, &low) &&
            pass_affine_add(&extent, -1, &high))
            close += extent.count == 0;
    }
    return close;
}

/* Known before any launch, whatever comes of it: what is divided by a number that may be 0 is not. */
static bool is_known(struct ir_expr *bound)
{
    return cuda_is_of_call(bound) && pass_is_pure(bound);
}

static const struct analysis_box *best_box(const struct analysis_gap *gap, const struct ir_buffer *buffer)
{
    const struct analysis_box *best = NULL;
    int most = -1;
    for (int k = 0; k < gap->written.count; k++) {
        const struct analysis_box *box = &gap->written.items[k];
        int close = closeness(box, buffer);
        bool known = true;
        for (int axis = 0; axis < buffer->rank; axis++)
            known &= is_known(box->low[axis]) && is_known(box->high[axis]);
        if (known && close > most) {
            best = box;
            most = close;
        }
    }
    return best;
}

/* ---- the frame --------------------------------------------------------------------------------- */

static bool is_loaded_early(const struct analysis_gaps *gaps, const struct ir_buffer *buffer)
{
    for (int k = 0; k < gaps->loads.count; k++)
        if (gaps->loads.items[k]->access.buffer == buffer)
            return true;
    return false;
}

/* Between 0 and the extent. */
static struct ir_expr *clamped(struct ir_kernel *kernel, const struct ir_expr *value, struct ir_expr *extent)
{
    struct ir_expr *least =
        ir_operation(kernel, OP_MAX, cuda_resolved(kernel, value), ir_integer(kernel, AKG_INT64, 0), NULL);
    return ir_operation(kernel, OP_MIN, least, extent, NULL);
}

const struct cuda_frame *cuda_frame_of(struct ir_kernel *kernel, const struct ir_buffer *buffer)
{
    const struct analysis_gaps *gaps = analysis_initialisation_gaps(kernel);
    const struct analysis_box *box = best_box(&gaps->buffers[buffer->index], buffer);
    struct cuda_frame *frame;
    if (!box || buffer->rank == 0 || is_loaded_early(gaps, buffer))
        return NULL;
    frame = arena_new(kernel->arena, struct cuda_frame);
    frame->low = arena_array(kernel->arena, struct ir_expr *, buffer->rank);
    frame->inside = arena_array(kernel->arena, struct ir_expr *, buffer->rank);
    frame->open = arena_array(kernel->arena, bool, buffer->rank);
    for (int axis = 0; axis < buffer->rank; axis++) {
        struct ir_expr *extent = cuda_resolved(kernel, buffer->shape[axis]);
        struct ir_expr *end =
            ir_operation(kernel, OP_ADD, box->high[axis], ir_integer(kernel, AKG_INT64, 1), NULL);
        frame->open[axis] = !is_whole(box, buffer, axis);
        frame->low[axis] =
            frame->open[axis] ? clamped(kernel, box->low[axis], extent) : ir_integer(kernel, AKG_INT64, 0);
        frame->inside[axis] = !frame->open[axis]
                                  ? extent
                                  : ir_operation(kernel, OP_MAX,
                                                 ir_operation(kernel, OP_SUB, clamped(kernel, end, extent),
                                                              frame->low[axis], NULL),
                                                 ir_integer(kernel, AKG_INT64, 0), NULL);
    }
    return frame;
}

bool cuda_frame_is_empty(const struct cuda_frame *frame, const struct ir_buffer *buffer)
{
    for (int axis = 0; axis < buffer->rank; axis++)
        if (frame->open[axis])
            return false;
    return true;
}

const struct ir_expr *cuda_frame_work(struct ir_kernel *kernel, const struct cuda_frame *frame,
                                      const struct ir_buffer *buffer)
{
    struct ir_expr *all = ir_integer(kernel, AKG_INT64, 1), *box = ir_integer(kernel, AKG_INT64, 1);
    for (int axis = 0; axis < buffer->rank; axis++) {
        all = ir_operation(kernel, OP_MUL, all, cuda_resolved(kernel, buffer->shape[axis]), NULL);
        box = ir_operation(kernel, OP_MUL, box, frame->inside[axis], NULL);
    }
    return ir_operation(kernel, OP_SUB, all, box, NULL);
}
