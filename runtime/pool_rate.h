/*
 * pool_rate.h: how long the operations of a shared loop take, as measured in this process.
 */
#ifndef RUNTIME_POOL_RATE_H
#define RUNTIME_POOL_RATE_H

#include "../jit/frame.h"

#include <stdbool.h>

/* Nanoseconds of one thread for so many operations of the part, about. Thread-safe, as the others are. */
double pool_rate_expect(jit_part *part, double operations);
/* Whether the run that follows is to be timed. */
bool pool_rate_is_due(jit_part *part);
/* What all threads together took for them. */
void pool_rate_learn(jit_part *part, double operations, double nanoseconds);

#endif
