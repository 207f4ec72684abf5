/*
 * split.h: which loops of a kernel may be shared among threads.
 */
#ifndef JIT_SPLIT_H
#define JIT_SPLIT_H

#include "dependence.h"

/* The iterations keep nothing that is used behind the loop, so that threads may run them with variables, and
 * temporaries, of their own, provided that they depend on each other in nothing. */
bool split_is_closed(const struct ir_stmt *loop);
/* Whether its iterations make temporaries. */
bool split_has_own(const struct ir_stmt *loop);
/* They depend on each other in nothing. */
bool split_is_possible(const struct dependences *dependences, const struct ir_stmt *loop);

/* A loop over strips of another one, `for top in steps of S: end = min(high, top + S); ...`, of which any
 * stretch of rows can be computed alone: the LET of `end`. NULL: it is none, or more is made of strips. */
const struct ir_stmt *split_end_of_strips(const struct ir_stmt *loop);

/* Operations, about: fewer are never worth sharing among threads, however long they take. */
enum { SPLIT_LEAST_WORK = 50000 };

/* The iterations share nothing but variables that they accumulate into, in a way that stretches of them may
 * be computed apart and combined: any of integers, and the least and the largest; sums and products of floats
 * where those may be reordered (`strict`: they may not). */
bool split_only_accumulates(const struct dependences *dependences, const struct ir_stmt *loop, bool strict);

/* Iterations that stay together, so that a loop that is split computes just what it does in one piece. */
enum { SPLIT_GRAIN_VECTORS = 256 }; /* of a loop with none inside */
int split_grain(const struct ir_stmt *loop);

/* Iterations of which threads get whole ones, given those that stay together: rows are each computed in the
 * same way whatever their neighbours, and go on by two, where those are as fast as one. */
int64_t split_unit(int64_t grain);

#endif
