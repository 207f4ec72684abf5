/*
 * bounds.h: between bounds.c, which decides about accesses, bounds_domain.c, which finds the calls in which
 * one leaves, and bounds_extreme.c, which makes preconditions of these.
 */
#ifndef JIT_BOUNDS_H
#define JIT_BOUNDS_H

#include "context.h"

enum { BOUNDS_EXTREMES = 4, BOUNDS_GUARDS = 8, BOUNDS_CONSTRAINTS = 24 };

struct bounds_request {
    struct ir_access *access;
    int axis;
    struct span span;
    bool upper;         /* form = index - extent + 1; else -index */
    struct linear form; /* the index is inside as long as this is <= 0 */
    const struct linear *extent;
};

/* ---- bounds_domain.c ----------------------------------------------------- */

struct bounds_constraint {
    struct linear form; /* >= 0 */
    bool goal;          /* follows from the index being outside */
    bool own;           /* the range of the loop that is being left */
};

/* Points at which all constraints hold. */
struct bounds_domain {
    bool empty;
    bool has_held; /* some goal came to hold whatever the call; */
    int64_t held;  /* the least value of these */
    bool assumes;  /* a goal is left out that others imply only since preconditions hold */
    int count;
    struct bounds_constraint items[BOUNDS_CONSTRAINTS];
};

/* The union of the domains, as far as the conditions hold. */
struct bounds_projection {
    int count;
    struct bounds_domain domains[BOUNDS_EXTREMES];
    int condition_count;
    struct ir_expr *conditions[BOUNDS_GUARDS]; /* those of the program, over dims and attributes */
};

/* The calls in which the access is executed with goal >= 0; false when it cannot be said exactly. What does
 * not mention loops may still be no parameter. */
bool bounds_project(struct context *context, const struct linear *goal, struct bounds_projection *all);

/* ---- bounds_extreme.c ---------------------------------------------------- */

/* The largest value the form takes in a call, over dims and attributes. It is taken when all guards hold:
 * otherwise the access is not executed at all. */
struct bounds_extreme {
    struct linear form;
    bool is_capped; /* what the loops allow beside it is no more than `cap`, which is >= 1: no matter for */
    int64_t cap;    /* whether an index leaves, but for which one is the farthest */
    bool upper;     /* of bounds_request */
    int guard_count;
    struct linear guards[BOUNDS_GUARDS]; /* >= 0 */
    int condition_count;
    struct ir_expr *conditions[BOUNDS_GUARDS]; /* those of the program, over dims and attributes */
    bool guards_are_all;                       /* what the conditions say is among the guards */
    bool assumes; /* it is the largest value only where the preconditions before it hold */
};

/* False when the access may not be executed, or when it cannot be said exactly. Extremes that are known to be
 * <= 0 are left out; the index is inside exactly when all that are given are <= 0. */
bool bounds_find_extremes(struct context *context, const struct bounds_request *request,
                          struct bounds_extreme *extremes, int *count);

/* Fills guard, condition and index of the precondition. */
void bounds_express(struct context *context, const struct bounds_extreme *extreme,
                    struct ir_precondition *precondition);

#endif
