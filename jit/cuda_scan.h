/*
 * cuda_scan.h: loops whose iterations hang on each other only by what they accumulate, as prefix sums do.
 *
 * Consumes a loop that a team goes through (cuda_plan.h), and the dependence analysis. Each iteration
 * combines a scalar once with a value that hangs on no other iteration, and may use the scalar before and
 * behind that. So the threads of a block can take iterations side by side, when each knows what those before
 * it combine to.
 */
#ifndef JIT_CUDA_SCAN_H
#define JIT_CUDA_SCAN_H

#include "cuda_plan.h"

enum { CUDA_SCANS = 4 }; /* scalars that one loop accumulates so */

struct cuda_scanned {
    const struct ir_stmt *stmt; /* symbol = symbol operation value */
    enum operation operation;
    const struct ir_expr *value;
    bool negative; /* symbol = symbol - value; the operation is ADD */
};

struct cuda_scan {
    struct cuda_scanned items[CUDA_SCANS];
    int count;
};

/* Whether the loop is one. */
bool cuda_scan_of(const struct cuda_plan *plan, const struct ir_stmt *loop, struct cuda_scan *scan);
/* Whether the value hangs on a LET of the loop. */
bool cuda_scan_needs(const struct ir_expr *value, const struct ir_symbol *let);

#endif
