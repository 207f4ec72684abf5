/*
 * device_kernels.h: what gradients and copies need of tensors on a device, computed there by kernels of our
 * own language. Each makes a new C-contiguous tensor on the device of its arguments.
 */
#ifndef RUNTIME_DEVICE_KERNELS_H
#define RUNTIME_DEVICE_KERNELS_H

#include "tensor.h"

/* Of one dtype and shape. */
akg_status device_add(akg_tensor *a, akg_tensor *b, akg_tensor **sum, akg_diagnostics **diagnostics);
akg_status device_convert(akg_tensor *source, akg_dtype dtype, akg_tensor **converted,
                          akg_diagnostics **diagnostics);
/* Summed over the axes by which `source` is larger than the shape, in float64, and rounded once. */
akg_status device_sum_to(akg_tensor *source, akg_dtype dtype, int rank, const int64_t *shape,
                         akg_tensor **sum, akg_diagnostics **diagnostics);

/* The same into `sum`, C-contiguous on the same device; where nothing is summed it is a copy. */
akg_status device_sum_into(akg_tensor *source, akg_tensor *sum, akg_diagnostics **diagnostics);

#endif
