/*
 * vector_plan_private.h: what vector_plan.c and vector_plan_share.c know of a plan that is being made.
 */
#ifndef JIT_VECTOR_PLAN_PRIVATE_H
#define JIT_VECTOR_PLAN_PRIVATE_H

#include "deferred.h"
#include "vector_listing.h"
#include "vector_plan.h"

struct planning {
    struct vector_plan *plan;
    const struct ir_kernel *kernel;
    const struct vector_options *options;
    bool defers;
    bool is_inside; /* some statement: a loop that is planned is perhaps begun again and again */
    int64_t asked;  /* pairs of accesses that analyses for shared loops went through */
    LIST(const struct dependences *) known; /* analyses of loops, with all that is in them */
    LIST(struct vector_listing) listings;   /* one per loop */
};

/* Of a branch that stays deferred nothing is made. */
static inline bool plan_leaves_out(const struct planning *planning, const struct ir_stmt *stmt)
{
    return planning->defers && deferred_number(planning->kernel, stmt) >= 0;
}

/* ---- vector_plan_share.c ---- */

/* The dependences of the loop and of those inside, as if it were the whole kernel: they are found in a copy
 * of both, for others may read the kernel. */
const struct dependences *plan_dependences_of(struct planning *planning, const struct ir_stmt *loop);
bool plan_is_parallel(struct planning *planning, const struct ir_stmt *stmt);
/* Finds the loops that threads may share. */
void plan_shares(struct planning *planning);

#endif
