/*
 * vector_plan.h: which loops of a kernel are machine code of our own, and that code; which may be shared
 * among threads.
 */
#ifndef JIT_VECTOR_PLAN_H
#define JIT_VECTOR_PLAN_H

#include "code_pages.h"
#include "vector.h"

struct vector_plan {
    struct arena arena;
    LIST(struct vector_loop *) loops;
    LIST(const char *) names; /* akg_vector_0, ... */
    LIST(const struct ir_stmt *)
    shared;                  /* loops that threads may share (split.h): outermost ones, and what is inside
                                those over panels */
    struct code_pages pages; /* NULL when there is none */
};

/* Makes code for what innermost loops can be had as vectors, none where the options' target is none.
 * `defers`: deferred branches (deferred.h) are left out. Leaves the kernel as it is, but nobody else may
 * analyse it meanwhile. False when memory or pages run out: then there is nothing to free. */
bool vector_plan_make(struct vector_plan *plan, const struct ir_kernel *kernel,
                      const struct vector_options *options, bool defers);
/* The pages are left where they were taken (set to none). */
void vector_plan_free(struct vector_plan *plan);

static inline const char *vector_loop_name(const struct vector_plan *plan, int number)
{
    return plan->names.items[number];
}

/* Whether the loop is among the shared; false where there is no plan. Whether a call may be so much work,
 * too, that it is shared. */
bool vector_plan_splits(const struct vector_plan *plan, const struct ir_stmt *stmt);
bool vector_plan_is_split(const struct vector_plan *plan, const struct ir_stmt *stmt);

/* The number of the loop, or -1; not of one that stands beside it. */
int vector_plan_find(const struct vector_plan *plan, const struct ir_stmt *stmt);
/* That of its code with branches (flow.h), which may be there beside vectors. */
int vector_plan_find_flow(const struct vector_plan *plan, const struct ir_stmt *stmt);
/* That of one which does, to be asked first. */
int vector_plan_find_beside(const struct vector_plan *plan, const struct ir_stmt *stmt);

/* The instructions of all loops as text, each with the line of the source it belongs to. False when memory
 * runs out. */
bool vector_plan_print(struct text *out, const struct ir_kernel *kernel,
                       const struct vector_options *options);

#endif
