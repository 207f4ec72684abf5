/*
 * dependence.h: which accesses of a kernel depend on each other, and which loops may run in any order.
 *
 * Consumes a verified kernel, best after analysis_bounds. Takes all pairs of accesses to one buffer, at least
 * one of them a store, that share loops: a dependence says that the sink may use, after the source, an
 * element that the source used. It is of memory, not of values: a store in between kills nothing. Buffers do
 * not overlap; a temporary is another one each time it is allocated.
 *
 * A dependence is a box of direction vectors over the common loops, outermost first: every
 * vector that takes one direction of each loop's set is possible, and all vectors of a pair lie in the boxes
 * of that pair. Directions and distances go the way the loop goes: LESS, or a positive distance, says that
 * the sink is further on, also in a loop that counts down. They are of the loop variable in loops that go by
 * one, of the number of the iteration in others (which is not the same where the start varies in a loop
 * around).
 *
 * Answers are sound: what is not listed does not happen. `exact` says that it does happen, for some dims and
 * attributes that pass the preconditions, unless an access or a division that is tested when executed stops
 * the call before.
 */
#ifndef JIT_DEPENDENCE_H
#define JIT_DEPENDENCE_H

#include "../ir/ir.h"

enum { DEPENDENCE_LOOPS = 6 }; /* common loops that vectors speak of: the outermost ones */

enum dependence_kind {
    DEPENDENCE_FLOW,  /* store, then load */
    DEPENDENCE_ANTI,  /* load, then store */
    DEPENDENCE_OUTPUT /* store, then store */
};

enum dependence_direction {
    DEPENDENCE_LESS = 1,
    DEPENDENCE_EQUAL = 2,
    DEPENDENCE_GREATER = 4,
    DEPENDENCE_ANY = 7
};

struct dependence_access {
    struct ir_access *access;
    struct ir_expr *load; /* NULL: the store of `stmt` */
    struct ir_stmt *stmt;
    struct span span;
    int loop;                 /* the innermost one around it */
    enum operation reduction; /* of `x = x + y`, both uses of x: ADD; else OPERATION_COUNT */
};

struct dependence {
    int source, sink; /* accesses */
    enum dependence_kind kind;
    int depth;                                  /* common loops that the vector is of */
    int level;                                  /* the loop that carries it; `depth`: none of them does */
    unsigned char directions[DEPENDENCE_LOOPS]; /* sets of enum dependence_direction */
    bool has_distance[DEPENDENCE_LOOPS];        /* it is the same for all pairs of iterations */
    int64_t distance[DEPENDENCE_LOOPS];
    bool exact;
    bool reduction; /* between uses of one element that only accumulate: free to be reordered */
    /* Dims, and attributes, by symbol->index, of a call in which it is worth looking for; NULL: not known. */
    const int64_t *dims, *attributes;
};

enum dependence_scalar_use {
    DEPENDENCE_PRIVATE,   /* each iteration sets it before it uses it */
    DEPENDENCE_REDUCTION, /* it is only accumulated */
    DEPENDENCE_FINAL,     /* as PRIVATE, but the value of the last iteration is used behind the loop */
    DEPENDENCE_CARRIED
};

/* An IR variable that a loop assigns. LETs are always private. */
struct dependence_scalar {
    struct ir_symbol *symbol;
    int loop;
    enum dependence_scalar_use use;
    enum operation reduction;
    struct span span; /* of the first assignment in the loop */
};

enum dependence_verdict {
    DEPENDENCE_PARALLEL,    /* iterations may run in any order, given private scalars their own copies */
    DEPENDENCE_ACCUMULATES, /* so they may when partial results of reductions are combined */
    DEPENDENCE_SERIAL,      /* an iteration depends on another one */
    DEPENDENCE_UNDECIDED    /* it could not be excluded */
};

struct dependence_loop {
    struct ir_stmt *stmt;
    int parent; /* -1: none */
    int depth;  /* loops around it */
    enum dependence_verdict verdict;
    /* Why. Of several carried dependences the first exact one. */
    int dependence;   /* that it carries and that is no reduction; -1: none */
    int reduction;    /* that it carries and that is one; -1: none */
    int scalar;       /* that is carried; -1: none */
    bool accumulates; /* it has reductions, of elements or scalars */
    bool leaves;      /* a while, or a break of its own: an iteration decides whether there is a next one */
    bool incomplete;  /* too large to be analysed in full */
};

struct dependences {
    struct ir_kernel *kernel;
    LIST(struct dependence_access) accesses; /* in loops; in the order of the text */
    LIST(struct dependence_loop) loops;      /* in the order of the text */
    LIST(struct dependence_scalar) scalars;
    LIST(struct dependence) items;
};

/* The loops around what is analysed, outermost first, where that is a part of a kernel. */
struct dependence_around {
    const struct ir_stmt *const *loops;
    int count;
};

/* Lives as long as the kernel, and is good until the body is changed. `around`: NULL where nothing is. */
const struct dependences *dependence_analyse(struct ir_kernel *kernel,
                                             const struct dependence_around *around);

/* As much of it as it takes to say which loops may run in any order, and why not: in the loops inside of the
 * one that carries a dependence its directions may be more than happen, and it has no distances. */
const struct dependences *dependence_judge(struct ir_kernel *kernel, const struct dependence_around *around);

/* The row of a loop of the kernel, with the verdict and the reasons. */
const struct dependence_loop *dependence_loop_is_parallel(const struct dependences *dependences,
                                                          const struct ir_stmt *loop);

/* A line for each dependence, loop and scalar. */
void dependence_print(struct text *out, const struct dependences *dependences);

#endif
