/*
 * random_kernel.h: random kernels made of what passes and back ends look for: neighbouring loops over
 * temporaries, accumulations, shifted and flattened indices, conditions, things that stop.
 */
#ifndef TESTS_UNIT_RANDOM_KERNEL_H
#define TESTS_UNIT_RANDOM_KERNEL_H

#include "../../base/dtype.h"
#include "../../base/text.h"

/* IR text of a kernel k(alpha: float64) with tensors of float32 or int32 over [M, N], [N], [M] and []; a call
 * must bind N2 as N. */
void random_kernel(struct text *out, uint64_t seed, akg_dtype dtype);

#endif
