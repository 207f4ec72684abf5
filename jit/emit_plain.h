/*
 * emit_plain.h: a kernel as the C that a person would write for it, to be measured against and to be read.
 */
#ifndef JIT_EMIT_PLAIN_H
#define JIT_EMIT_PLAIN_H

#include "../ir/ir.h"
#include "frame.h"

/*
 * One file: the kernel as a function of its extents, scalars and tensors, and akg_plain_run, which calls it
 * for the extents and scalars of one call:
 *
 *     int akg_plain_run(void *const *tensors, long repeats);
 *
 * `tensors` are the kernel's inputs in the order of its parameters, then the outputs it returns, all
 * contiguous but for axes of an input that repeat what is there once (`strides`, per buffer, are 0 along
 * them); it answers 1 where there was no memory for temporaries. Appends to `out`; when memory runs out, that
 * is marked failed. False, with the reason in `complaint`, for a kernel with strided tensors. `strides` are
 * looked at for buffers that are not contiguous; NULL: all such are refused.
 */
bool emit_plain(struct text *out, const struct ir_kernel *kernel, const int64_t *dims,
                const union jit_scalar *scalars, const int64_t *const *strides, struct text *complaint);

#endif
