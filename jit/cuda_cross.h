/*
 * cuda_cross.h: nests that load along one loop and store along another, as a transpose does.
 *
 * Consumes a chain of loops that run in any order (cuda_plan.h). Produces which two of its loops cross, and
 * which loads go crosswise: a block takes a square of the two, and brings those loads' elements into shared
 * memory along the one loop before it goes through the iterations along the other.
 */
#ifndef JIT_CUDA_CROSS_H
#define JIT_CUDA_CROSS_H

#include "cuda_plan.h"

enum {
    CUDA_CROSS_EDGE = 32, /* of a square: the threads of a warp, or twice as many */
    CUDA_CROSSED = 3      /* loads */
};

struct cuda_crossing {
    struct cuda_chain outer;       /* the other loops of the chain */
    struct cuda_chain down, along; /* a loop each: that of the loads, and that of the stores */
    const struct ir_expr *loads[CUDA_CROSSED];
    int count;
    int edge;                           /* of a square */
    const struct cuda_crossing *larger; /* the same in larger squares, for calls that have many; NULL: none */
};

/* In squares of CUDA_CROSS_EDGE. */
bool cuda_crossing_of(const struct cuda_chain *chain, struct cuda_crossing *crossing);
/* Whether squares of twice that are worth having: elements are so small that else a row is but a line of the
 * memory's, or less. */
bool cuda_crossing_is_small(const struct cuda_crossing *crossing);
/* As int64 over dims and attributes: how many squares, or (crosses false) how many iterations there are where
 * the loops are too short for squares; else 0. */
const struct ir_expr *cuda_crossing_work(const struct cuda_plan *plan, const struct cuda_chain *chain,
                                         const struct cuda_crossing *crossing, bool crosses);

#endif
