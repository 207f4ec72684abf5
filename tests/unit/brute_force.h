/*
 * brute_force.h: kernels executed by an evaluator that knows nothing of the analyses, and holds them to what
 * they promise.
 */
#ifndef TESTS_UNIT_BRUTE_FORCE_H
#define TESTS_UNIT_BRUTE_FORCE_H

#include "../../base/diagnostic.h"
#include "../../ir/ir.h"

/* Runs a kernel of int64 tensors, which was analysed, for the extents that come first in `shape`; its
 * attribute is shape[3]. NULL: all that was promised held, or there is no such call; else what did not.
 * `clash`: set where two iterations of the loop `hinted` (which may be NULL) touch the same element, one of
 * them storing. */
const char *brute_force(struct ir_kernel *kernel, const akg_diagnostics *diagnostics,
                        const struct ir_stmt *hinted, const int64_t *shape, bool *clash);
/* Whether they do so, if the program goes on where it would stop: data that would let it are not looked for.
 */
bool brute_force_clashes(struct ir_kernel *kernel, const struct ir_stmt *hinted, const int64_t *shape);

#endif
