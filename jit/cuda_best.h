/*
 * cuda_best.h: loops that look for the best of their iterations, as an argmax does.
 *
 * Consumes a loop, or loops around it and nothing else, in which the one thing that hangs on other iterations
 * is `if value is better than best: best = value; place = ...`. Produces what is needed to go through the
 * iterations in any order: of two candidates that is kept which the loop would have kept, and of two that are
 * equally good the one that comes first (or last, where the condition takes what is as good), so that the
 * result is that of the loop, to the bit. What else is assigned is computed once, from the iteration that
 * won.
 */
#ifndef JIT_CUDA_BEST_H
#define JIT_CUDA_BEST_H

#include "cuda_plan.h"

enum { CUDA_COUNTERS = 2 };

/* A variable that each iteration adds a constant to. */
struct cuda_counter {
    const struct ir_stmt *stmt;
    int64_t amount;
    bool early; /* before the choice */
};

struct cuda_best {
    const struct ir_stmt *choice;   /* the IF */
    const struct ir_symbol *symbol; /* best */
    const struct ir_expr *value;
    struct cuda_counter counters[CUDA_COUNTERS];
    int counter_count;
};

bool cuda_best_of(const struct ir_stmt *loop, struct cuda_best *best);

#endif
