/*
 * bounds.h: between bounds.c, which decides about accesses, and bounds_extreme.c, which finds preconditions.
 */
#ifndef JIT_BOUNDS_H
#define JIT_BOUNDS_H

#include "context.h"

enum { BOUNDS_EXTREMES = 4, BOUNDS_GUARDS = 8 };

struct bounds_request {
    struct ir_access *access;
    int axis;
    struct span span;
    bool upper;         /* form = index - extent + 1; else -index */
    struct linear form; /* the index is inside as long as this is <= 0 */
};

/* The largest value the form takes in a call, over dims and attributes. It is taken when all guards hold:
 * otherwise the access is not executed at all. */
struct bounds_extreme {
    struct linear form;
    bool upper; /* of bounds_request */
    int guard_count;
    struct linear guards[BOUNDS_GUARDS]; /* >= 0 */
    int condition_count;
    struct ir_expr *conditions[BOUNDS_GUARDS]; /* those of the program, over dims and attributes */
    bool guards_are_all;                       /* what the conditions say is among the guards */
};

/* False when the access may not be executed, or when it cannot be said exactly. Extremes that are known to be
 * <= 0 are left out; the index is inside exactly when all that are given are <= 0. */
bool bounds_find_extremes(struct context *context, const struct bounds_request *request,
                          struct bounds_extreme *extremes, int *count);

/* It holds a division whose divisor is no constant. Where that is zero the form has no value, and what the prover takes
 * for granted of quotients and remainders says nothing. */
bool bounds_has_division(const struct context *context, const struct linear *form);

/* Fills guard, condition and index of the precondition. */
void bounds_express(struct context *context, const struct bounds_extreme *extreme,
                    struct ir_precondition *precondition);

#endif
