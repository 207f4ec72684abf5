/*
 * trial.h: two versions of a kernel's code on the same inputs: copies of those of a real call.
 */
#ifndef JIT_TRIAL_H
#define JIT_TRIAL_H

#include "../ir/ir.h"
#include "deferred.h"
#include "sites.h"

/* A buffer of a call; data NULL: it has no memory. */
struct trial_view {
    void *data;                     /* element 0 */
    const int64_t *shape, *strides; /* in elements */
};

struct trial;

/* Copies of the inputs and room for the rest; one view per buffer of the kernel. NULL when that is too much
 * (1 GiB) or memory runs out. The kernel must live as long, the sites of both versions, and its deferred
 * branches, if there are any. */
struct trial *trial_make(const struct ir_kernel *kernel, const struct jit_sites *sites,
                         struct deferred *deferred, const struct trial_view *views, const int64_t *dims,
                         const union jit_scalar *scalars);
void trial_free(struct trial *trial);

enum trial_verdict {
    TRIAL_FASTER, /* the same results, in less time */
    TRIAL_SLOWER,
    TRIAL_DIFFERENT,
    TRIAL_STOPPED /* both stop at the same place: nothing can be said of the results */
};

/* Runs both. Results are the same when their bits are, NaN aside; where not `strict`, floats may differ by
 * some units in the last place of the largest element. *ratio receives the time of the candidate, as a part
 * of the other's. */
enum trial_verdict trial_run(struct trial *trial, jit_entry known, jit_entry candidate, bool strict,
                             double *ratio);

#endif
