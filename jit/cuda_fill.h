/*
 * cuda_fill.h: what of a tensor that is to be cleared is stored into before anything else is done to it.
 *
 * Consumes a kernel and one of its tensors of which some elements may never be stored, and which is cleared
 * for them: the edge of a stencil, say. Produces the box that the first nest which mentions the tensor fills
 * whatever happens, so that only what lies around it need be cleared.
 */
#ifndef JIT_CUDA_FILL_H
#define JIT_CUDA_FILL_H

#include "cuda_plan.h"

/* For each axis a loop, whose iterations store at its variable plus an offset. */
struct cuda_fill {
    const struct ir_stmt *loops[CUDA_CHAIN];
    int64_t offsets[CUDA_CHAIN];
    int rank;
};

/* `first` is the first statement that is gone through once the tensor has been cleared. */
bool cuda_fill_of(const struct ir_stmt *first, const struct ir_buffer *buffer, struct cuda_fill *fill);
/* Over dims and attributes: where the box begins on an axis, how long it is, 0 where the loop has no
 * iterations. */
const struct ir_expr *cuda_fill_low(struct ir_kernel *kernel, const struct cuda_fill *fill, int axis);
const struct ir_expr *cuda_fill_length(struct ir_kernel *kernel, const struct cuda_fill *fill, int axis);

#endif
