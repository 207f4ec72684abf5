/*
 * analysis.h: what is proved of a kernel before it runs.
 *
 * Consumes a verified kernel as the front end made it; writes what it found into the
 * kernel's own fields, so that emitters and reports read one truth.
 */
#ifndef JIT_ANALYSIS_H
#define JIT_ANALYSIS_H

#include "../ir/ir.h"

/* Bounds: sets access.checks of every access, appends BOUNDS preconditions, clears
 * `checked` of divisions whose divisor is proved non-zero. */
void analysis_bounds(struct ir_kernel *kernel);

/* Initialisation: sets buffer.clear of outputs and temporaries that are not proved written in full before
 * they are read, and warns of a read that comes before any write. */
void analysis_initialisation(struct ir_kernel *kernel, akg_diagnostics *diagnostics);

/* A box of elements: low[k] <= index k <= high[k], over dims and attributes. */
struct analysis_box {
    struct ir_expr **low, **high;
};

/* What stands behind buffer.clear: which loads, and which part of an output, were not proved. */
struct analysis_gaps {
    LIST(struct ir_expr *) loads; /* of outputs and temporaries, that are not proved to come after a write */
    struct analysis_gap {
        bool complete;                     /* OUTPUT: every element is written */
        LIST(struct analysis_box) written; /* OUTPUT: some boxes that are */
    } * buffers;                           /* by buffer->index */
};

/* Goes on where analysis_initialisation has seen enough. In the kernel's arena. */
struct analysis_gaps *analysis_initialisation_gaps(struct ir_kernel *kernel);

/* Hints: warns, with two concrete iterations and the element they share, of a parallel or vectorize loop
 * whose iterations depend on each other. */
void analysis_hints(struct ir_kernel *kernel, akg_diagnostics *diagnostics);

#endif
