/*
 * measure.h: how long several ways to do the same take, measured in turn.
 */
#ifndef TOOLS_MEASURE_H
#define TOOLS_MEASURE_H

#include "statistics.h"
#include "support.h"

/* One way. `run` does it `repeats` times; `reset`, if not NULL, is called before each sample, and with
 * `resets_each` before each run that is not very short, and puts back what running changes; behind
 * measure_all it has run once since.
 */
struct contestant {
    bool (*run)(void *context, long repeats, struct problem *problem);
    void (*reset)(void *context);
    bool resets_each;
    void *context;
    long repeats; /* for one sample; found by measure_all */
    double samples[STATISTICS_MOST];
    int count;
    struct spread spread; /* of one run, in seconds */
};

/* Warms up, then takes samples of each in turn until the interval of every median is within 2% of it, or for
 * `seconds` for each of them, at least 11 each. */
bool measure_all(struct contestant *contestants, int count, double seconds, struct problem *problem);

#endif
