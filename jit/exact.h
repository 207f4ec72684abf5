/*
 * exact.h: the kernel for the extents of one call.
 *
 * Most kernels are called with tensors of one shape again and again. Where extents are numbers, tiles that do
 * not fill are known to be there or not, branches for large and small tensors are decided, and addresses are
 * mostly constants: there is less machine code to make, and it is better. So this is what a kernel's first
 * call makes. Calls with other extents are for the code of all of them, which is made when the first one
 * comes (deferred.h).
 */
#ifndef JIT_EXACT_H
#define JIT_EXACT_H

#include "../dsl/elaborate.h"

/* What the code asks of a call before it does anything. */
struct exact_shape {
    const int64_t *extents; /* by number of the dim */
    const bool *is_asked;   /* likewise: the code is for it alone */
    int count;              /* of dims */
    int otherwise;          /* the deferred branch for a call that has others */
};

/* By number of the dim, those of the call that `arguments` tell of, one per parameter of the function; in the
 * kernel's arena, which may escape. NULL: one is not known. */
int64_t *exact_extents(const struct ir_kernel *kernel, const struct dsl_argument *arguments, int count);

/* From an optimised kernel and these: a copy, for such calls alone, which is to be optimised once more
 * (pipeline_prepare); its sites are not numbered. NULL: nothing in the kernel hangs on an extent, or it does
 * on too many, or on some that are too large. *shape keeps the extents. Likewise. */
struct ir_kernel *exact_make(struct ir_kernel *kernel, const int64_t *extents, struct exact_shape *shape);

/* ---- exact_settle.c ---- */

/* Indices of the copy that are tested and now are known to be inside are tested no more. */
void exact_settle(struct ir_kernel *exact);

#endif
