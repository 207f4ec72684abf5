/*
 * cuda_round.h: loops at the top of a kernel that run in order, of which the host goes through the
 * iterations.
 *
 * Consumes a loop whose order counts, such as one over time steps or over the columns of an elimination, with
 * loops inside that the grid could share if each iteration were a kernel of its own. So it is: the launches
 * of the body are made once for each value of the variable, which they are handed. Calls in which an
 * iteration is too small for that run the loop in one block.
 */
#ifndef JIT_CUDA_ROUND_H
#define JIT_CUDA_ROUND_H

#include "cuda_plan.h"

/* Whether the host can go through the loop. What is in it, the plan decides. */
bool cuda_round_allows(const struct cuda_plan *plan, const struct ir_stmt *loop);
/* bool over dims and attributes, in the kernel's arena: whether that pays in a call. */
const struct ir_expr *cuda_round_pays(const struct cuda_plan *plan, const struct ir_stmt *loop);

#endif
