/*
 * kernel_gradient.h: calls of .akg functions that a tape records.
 */
#ifndef RUNTIME_KERNEL_GRADIENT_H
#define RUNTIME_KERNEL_GRADIENT_H

#include "../jit/module.h"

/*
 * akg_kernel_call on a tape. Where an input requires a gradient, a function with a @bprop becomes one node, a
 * graph function without one is run call by call, and anything else becomes a node that refuses to be passed.
 * `registry` finds functions of the standard library, and lives as long as the tape; it may be NULL where
 * none is called. `tape` may be NULL. The arguments are there (call_arguments_are_there).
 */
akg_status kernel_gradient_call(struct akg_kernel *kernel, akg_registry *registry, akg_tape *tape,
                                const akg_argument *arguments, size_t count, akg_tensor **outputs,
                                akg_diagnostics **diagnostics);

/* The function of the same file that is marked @bprop(kernel), or NULL. */
struct akg_kernel *kernel_gradient_bprop(const struct akg_kernel *kernel);

#endif
