/*
 * cost.h: what one call of a kernel does, counted and not run.
 *
 * Consumes an analysed kernel with slots (sites.h) and the dims and attributes of a call. cost.c counts
 * operations, cost_footprint.c the elements that are touched; cost_private.h is what they share.
 */
#ifndef JIT_COST_H
#define JIT_COST_H

#include "../ir/ir.h"
#include "frame.h"

struct cost {
    int64_t bytes_read;    /* of inputs: elements that some load reads, each once */
    int64_t bytes_written; /* of outputs all of them; of tensors written in place those that are stored to */
    int64_t flops;         /* float64 counts as float32 does; fma as two */
    bool exact;            /* nothing hung on the data of tensors, and the counting was not cut short */
};

/* False when memory ran out. */
bool cost_count(const struct ir_kernel *kernel, const int64_t *dims, const union jit_scalar *scalars,
                struct cost *cost);

#endif
