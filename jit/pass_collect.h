/*
 * pass_collect.h: a nest that scatters, for pass_collect.c, which finds it, and pass_collect_nest.c, which
 * makes of it nests that collect.
 */
#ifndef JIT_PASS_COLLECT_H
#define JIT_PASS_COLLECT_H

#include "pass.h"

enum { COLLECT_NEST = 8, COLLECT_PAIRS = 3, COLLECT_CONDITIONS = 4, COLLECT_FACTOR = 1 << 20 };
enum { COLLECT_WINDOW = 16 /* iterations at most */ };

enum part { STAYS, MOVES, LONG, WINDOWED };

/* Of one index: `step * longer + window` and what else is in it. */
struct pair {
    int axis, longer, window; /* numbers of loops */
    int64_t step, count;      /* iterations of the window; 0: that is not known */
    /* of the copy that is made: */
    int64_t rest;
    struct ir_symbol *last; /* of a window that is not known: the greatest b */
    struct ir_stmt *over;   /* a */
    struct ir_symbol *back; /* b or, where it goes downwards, what is left of it; NULL: it is 0 */
};

struct scatter {
    struct pass *pass;
    struct ir_stmt *loops[COLLECT_NEST];
    enum part parts[COLLECT_NEST];
    int depth;
    struct pair pairs[COLLECT_PAIRS];
    int pair_count;
    struct ir_expr *conditions[COLLECT_CONDITIONS];
    int condition_count;
    struct ir_stmt *names; /* scalars, and the store at the end */
    struct ir_stmt *store;
    int statements;
    bool is_turned; /* of two loops without a step, the outer one is the window */
};

/* Known outside of the nest, or the variable of one of its loops. */
bool collect_is_plain(const struct ir_symbol *symbol);
/* The nests that do what the nest did, which is gone. */
struct ir_stmt *collect_nests(struct scatter *scatter);

#endif
