/*
 * split.h: which loops of a kernel may be shared among threads.
 */
#ifndef JIT_SPLIT_H
#define JIT_SPLIT_H

#include "dependence.h"

/* The iterations share no temporary and keep nothing that is used behind the loop, so that threads may run
 * them with variables of their own, provided that they depend on each other in nothing. */
bool split_is_closed(const struct ir_stmt *loop);
/* They depend on each other in nothing. */
bool split_is_possible(const struct dependences *dependences, const struct ir_stmt *loop);

/* Operations, about: fewer are not worth waking threads. */
enum { SPLIT_LEAST_WORK = 400000 };

/* Iterations that stay together, so that a loop that is split computes just what it does in one piece. */
int split_grain(const struct ir_stmt *loop);

#endif
