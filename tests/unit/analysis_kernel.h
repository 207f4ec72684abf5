/*
 * analysis_kernel.h: random kernels made of what the analyses look at: indices and bounds of every kind,
 * conditions on them, loops that bound each other, a counter, a loop that is hinted to be parallel.
 */
#ifndef TESTS_UNIT_ANALYSIS_KERNEL_H
#define TESTS_UNIT_ANALYSIS_KERNEL_H

#include "../../base/text.h"

/* IR text of a kernel k(p, a, s) over int64 tensors with the extents N, M, K; s is an attribute. */
void analysis_kernel(struct text *out, uint64_t seed);

#endif
