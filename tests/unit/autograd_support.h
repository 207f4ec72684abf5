/*
 * autograd_support.h: a few recorded operators for the tests of gradients, computed element by element in
 * float64: nothing of the compiler takes part.
 */
#ifndef TESTS_UNIT_AUTOGRAD_SUPPORT_H
#define TESTS_UNIT_AUTOGRAD_SUPPORT_H

#include "../../runtime/autograd.h"
#include "api_support.h"

/* How often a backward function of these ran. */
extern _Thread_local int net_backward_count;

/* a * b, broadcast; its gradient is made of recorded calls. */
akg_status net_multiply(akg_tape *tape, akg_tensor *a, akg_tensor *b, akg_tensor **product,
                        akg_diagnostics **diagnostics);
/* exp(x), from its saved output. */
akg_status net_exp(akg_tape *tape, akg_tensor *x, akg_tensor **y, akg_diagnostics **diagnostics);
/* x *= factor, in place. */
akg_status net_scale(akg_tape *tape, akg_tensor *x, double factor, akg_diagnostics **diagnostics);
/* x[i], 2 * x[i]: two outputs, of which the second may be absent. */
akg_status net_split(akg_tape *tape, akg_tensor *x, bool materialise, akg_tensor **outputs,
                     akg_diagnostics **diagnostics);
/* NULL when it fails. */
akg_tensor *net_product(akg_tape *tape, akg_tensor *a, akg_tensor *b);

/* A scalar that requires a gradient, or does not. */
akg_tensor *net_scalar(akg_dtype dtype, double value, bool requires_grad);
akg_tensor *net_vector(akg_dtype dtype, int64_t length, double first, double step, bool requires_grad);

#endif
