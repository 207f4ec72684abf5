/*
 * flow_plan.h: loops with branches (flow.h) beside vector code of the same loops, of which the call that
 * comes is told by tests which to run.
 */
#ifndef JIT_FLOW_PLAN_H
#define JIT_FLOW_PLAN_H

#include "flow.h"
#include "vector_plan.h"

/* The loop as code of one lane; NULL: it is none. */
struct vector_loop *flow_plan_loop(struct vector_plan *plan, const struct ir_kernel *kernel,
                                   const struct ir_stmt *stmt, const struct vector_options *options);
/* Of a loop around one whose bounds come out of tensors, one of the two in the plan: rows of a few elements
 * each, how many the data says, take less one by one than by vectors. NULL: it is none. */
struct vector_loop *flow_plan_ragged(struct vector_plan *plan, const struct ir_kernel *kernel,
                                     const struct ir_stmt *stmt, const struct vector_options *options);
/* Of a loop that is not of the plan, around such: where all of these have few iterations, which the call
 * says, perhaps by the loops around them, calling them takes longer than what they do. NULL: it is none. */
struct vector_loop *flow_plan_short(struct vector_plan *plan, const struct ir_kernel *kernel,
                                    const struct ir_stmt *stmt, const struct vector_options *options);

/* ---- flow_span.c ---- */

/* Sets where the test begins and ends: expressions over what a call comes with, between which there are no
 * fewer numbers than the loop has iterations, whatever those of the loops given, which are around it. False:
 * that cannot be told. What is made is the kernel's. */
bool flow_span(struct ir_kernel *kernel, const struct ir_stmt *const *loops, int count,
               const struct ir_stmt *loop, struct flow_test *test);

/* ---- flow_written.c ---- */

/* What flow_plan_loop makes code of, a FOR or WHILE: the loop itself, or a copy in the arena. `in_fours`:
 * innermost loops have more than a few iterations. */
const struct ir_stmt *flow_written(struct arena *arena, const struct ir_kernel *kernel,
                                   const struct ir_stmt *stmt, const struct vector_options *options,
                                   bool in_fours);

#endif
