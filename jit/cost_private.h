/*
 * cost_private.h: what the files of the cost counter share and nobody else includes.
 */
#ifndef JIT_COST_PRIVATE_H
#define JIT_COST_PRIVATE_H

#include "cost.h"

/* A symbol of the body, by its slot: what it is worth where the walk stands. */
struct cost_symbol {
    bool known; /* hangs on dims, attributes and loops only */
    union dtype_value value;
    bool marked; /* see loop_varies in cost.c */
};

struct cost_counter {
    const struct ir_kernel *kernel;
    const int64_t *dims;
    const union jit_scalar *scalars;
    struct arena arena;
    struct cost_symbol *symbols;
    signed char
        *varies;  /* per slot of a loop: 1 its body costs more or less by its variable, 0 not, -1 unknown */
    int64_t work; /* iterations walked so far */
    struct cost *cost;
};

/* So many iterations are walked; what is left then is estimated. */
enum { COST_MOST_WORK = 1 << 23 };

/* The value of an expression at this place of the walk; false where it is not known. */
bool cost_value(struct cost_counter *counter, const struct ir_expr *expr, union dtype_value *value);
/* The same of an integer or a truth value. */
bool cost_integer(struct cost_counter *counter, const struct ir_expr *expr, int64_t *value);
/* How often a FOR runs, and from where; false where that is not known. */
bool cost_trips(struct cost_counter *counter, const struct ir_stmt *loop, int64_t *low, int64_t *trips);
void cost_set(struct cost_counter *counter, const struct ir_symbol *symbol, int64_t value);
/* LET: to the value it has here. Any other symbol: no longer known. */
void cost_declare(struct cost_counter *counter, const struct ir_stmt *stmt);
/* Whether an expression names a symbol that is marked. */
bool cost_names_marked(struct cost_counter *counter, const struct ir_expr *expr);

/* Sums and products that stop at the largest int64. */
int64_t cost_add(int64_t a, int64_t b);
int64_t cost_multiply(int64_t a, int64_t b);

/* Adds bytes_read and bytes_written. */
void cost_footprint(struct cost_counter *counter);

#endif
