/*
 * pass_interchange.h: a nest of loops as the files of pass `interchange` see it.
 */
#ifndef JIT_PASS_INTERCHANGE_H
#define JIT_PASS_INTERCHANGE_H

#include "pass.h"

enum {
    NEST = DEPENDENCE_LOOPS,
    LOADS = 16, /* among which neighbours are found */
    CALLED = 8  /* the cost of a function such as cos, where its argument changes with the loop */
};

struct nest {
    struct ir_stmt *loops[NEST]; /* outermost first */
    struct ir_stmt *lets[NEST];  /* LETs between a loop and the next one; NULL: nothing stands there */
    struct ir_stmt *few;         /* the nest as it was, for few iterations; NULL: it is gone */
    int depth;
    int cost[NEST]; /* of all accesses and calls of the body, were that loop the innermost */
    int apart;      /* of all accesses, were none of elements side by side */
    const struct ir_access *loads[LOADS]; /* the first ones */
    int count;
};

/* Whether what stands between the loops from number `outermost` on may be computed elsewhere, so that this
 * loop can become the innermost one. */
bool pass_lets_may_move(const struct nest *nest, int outermost);
/* Takes it out from between them. */
void pass_move_lets(struct pass *pass, struct nest *nest, int outermost);

#endif
