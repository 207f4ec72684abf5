/*
 * cuda_scan.h: loops whose iterations hang on each other only by what they accumulate, as prefix sums do.
 *
 * Consumes a loop that a team goes through (cuda_plan.h), and the dependence analysis. Each iteration changes
 * a scalar in a way that hangs on no other iteration: it combines it with a value, or makes it factor *
 * scalar + term, perhaps under conditions; and may use the scalar before and behind that. What several
 * iterations do one behind the other is of the same kind. So the threads of a block can take iterations side
 * by side, when each knows what those before it come to.
 */
#ifndef JIT_CUDA_SCAN_H
#define JIT_CUDA_SCAN_H

#include "cuda_plan.h"

enum { CUDA_SCANS = 4 }; /* scalars that one loop accumulates so */

struct cuda_scanned {
    const struct ir_symbol *symbol;
    enum operation operation; /* by which all its assignments combine it */
    bool scales;              /* instead: symbol = factor * symbol + term */
    int assignments;
};

struct cuda_scan {
    const struct ir_stmt *loop;
    struct cuda_scanned items[CUDA_SCANS];
    int count;
};

/* What one assignment does to the scalar. */
struct cuda_change {
    const struct ir_expr *value;   /* symbol operation value */
    bool negative;                 /* symbol - value; the operation is ADD */
    struct ir_expr *factor, *term; /* where it scales; NULL: 0, and 0 */
};

/* Whether the loop is one. Expressions are made in the kernel's arena. */
bool cuda_scan_of(const struct cuda_plan *plan, const struct ir_stmt *loop, struct cuda_scan *scan);
/* The scalar that the statement assigns, or NULL; and what it does to it. */
const struct cuda_scanned *cuda_scan_change(const struct cuda_plan *plan, const struct cuda_scan *scan,
                                            const struct ir_stmt *stmt, struct cuda_change *change);
/* Whether there are such assignments in the block. */
bool cuda_scan_changes(const struct cuda_scan *scan, const struct ir_stmt *block);
/* Whether what they do, or whether they do it, hangs on a LET of the loop. */
bool cuda_scan_needs(const struct cuda_plan *plan, const struct cuda_scan *scan, const struct ir_symbol *let);

#endif
