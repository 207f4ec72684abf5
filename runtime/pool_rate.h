/*
 * pool_rate.h: what runs of a shared loop in this process told of it: how long its operations take, and
 * whether it is faster with several threads.
 */
#ifndef RUNTIME_POOL_RATE_H
#define RUNTIME_POOL_RATE_H

#include "../jit/frame.h"

#include <stdbool.h>

/* How a run is to go. */
struct pool_rate_run {
    bool is_shared, is_timed;
};

/* Nanoseconds of one thread for so many operations of the part, about. Thread-safe, as the others are. */
double pool_rate_expect(jit_part *part, double operations);
/* The next run, which is expected to take one thread that long. The clock is asked where a run before was
 * timed. */
struct pool_rate_run pool_rate_next(jit_part *part, double nanoseconds, int64_t (*clock)(void));
/* A run that is timed begins. */
void pool_rate_begin(jit_part *part, bool is_shared, double operations, int64_t moment);
/* By the clock, of one that was timed; `is_shared`: by threads that were awake when it began. */
void pool_rate_learn(jit_part *part, bool is_shared, double operations, double nanoseconds);

#endif
