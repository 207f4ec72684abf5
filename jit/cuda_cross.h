/*
 * cuda_cross.h: nests that load along one loop and store along another, as a transpose does.
 *
 * Consumes a chain of loops that run in any order (cuda_plan.h). Produces which two of its loops cross, and
 * which loads go crosswise: a block takes a square of the two, and brings those loads' elements into shared
 * memory along the one loop before it goes through the iterations along the other. Both ways may go by pieces
 * of four elements (cuda_quads.h), where tensors lie well for them.
 */
#ifndef JIT_CUDA_CROSS_H
#define JIT_CUDA_CROSS_H

#include "cuda_quads.h"

enum {
    CUDA_CROSS_EDGE = 32, /* of a square: the threads of a warp, or two or four times as many */
    CUDA_CROSSED = 3      /* loads */
};

struct cuda_crossing {
    struct cuda_chain outer;       /* the other loops of the chain */
    struct cuda_chain down, along; /* a loop each: that of the loads, and that of the stores */
    const struct ir_expr *loads[CUDA_CROSSED];
    int count;
    int edge;                           /* of a square, in iterations of the stores' loop */
    const struct cuda_crossing *larger; /* the same in larger squares, for calls that have many; NULL: none */
};

/* One of the two loops by itself, around all that its iterations do. */
struct cuda_cross_side {
    struct ir_stmt loop;           /* its body begins with LETs that stand between the loops */
    const struct ir_stmt *outside; /* the other ones: they are the same for all of its iterations */
    struct cuda_chain chain;       /* of that loop */
    struct cuda_quads found;       /* what goes in pieces of four along it */
};

/* In squares of CUDA_CROSS_EDGE. */
bool cuda_crossing_of(const struct cuda_chain *chain, struct cuda_crossing *crossing);
/* The edge of the largest squares worth having: elements may be so small that else a row is but a line of the
 * memory's, or less. */
int cuda_crossing_edge(const struct cuda_crossing *crossing);
/* The other edge, in iterations of the loads' loop: twice as many in the largest ones of single bytes. */
int cuda_crossing_down_edge(const struct cuda_crossing *crossing);
/* Whether squares can be gone through in pieces of four both ways: all that is brought, and what is stored.
 * The sides must stay where they are as long as they are of use. */
bool cuda_crossing_sides(const struct cuda_plan *plan, const struct cuda_step *step,
                         struct cuda_cross_side *brought, struct cuda_cross_side *left);
/* As int64 over dims and attributes: how many squares, or (crosses false) how many iterations there are where
 * the loops are too short for squares; else 0. */
const struct ir_expr *cuda_crossing_work(const struct cuda_plan *plan, const struct cuda_chain *chain,
                                         const struct cuda_crossing *crossing, bool crosses);

#endif
