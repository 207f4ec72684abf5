/*
 * measure.c: warm-up, samples in turn, and when there are enough of them.
 *
 * In turn, because a machine's speed drifts: what disturbs one contestant disturbs the others too. Short
 * runs are repeated within a sample, so that the clock's own time does not count. Where it hangs on the data
 * how long a run takes, what they change in place is put back before each, and the time that this takes alone
 * is taken off.
 */
#include "measure.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* What is changed in place is put back before a sample, and not between its runs where these take the same
 * whatever they find there: what processors foresee of the call would be measured along. So many runs are few
 * enough for its numbers to stay numbers. */
enum { LEAST_SAMPLES = 11, MOST_REPEATS = 1 << 20, MOST_IN_PLACE = 128 };
static const double sample_seconds = 200e-6, narrow = 0.02;

/* Of each contestant, however narrow what was measured is: what a system, or a machine that is itself one of
 * several on another, moves elsewhere, it moves after some milliseconds. Two threads that began on halves of
 * one core took as long as one for 6 ms, and half of that later. */
static const double warm_seconds = 0.02, least_seconds = 0.04;

static double now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;
}

/* What is put back is in the cache, and not on the way there. */
static void put_back(struct contestant *contestant)
{
    contestant->reset(contestant->context);
    atomic_thread_fence(memory_order_seq_cst);
}

/* As many runs as a sample has, each on what was there before the first: what that takes is taken off, or,
 * where it is so long that it would hide the runs, these are timed one by one. */
static bool run_reset(struct contestant *contestant, double *seconds, struct problem *problem)
{
    const double long_reset = 5e-6;
    bool good = true;
    double start = now(), runs = 0;
    for (long k = 0; k < contestant->repeats; k++)
        put_back(contestant);
    double resets = now() - start;
    bool is_each_timed = resets >= long_reset * (double)contestant->repeats;
    start = now();
    for (long k = 0; k < contestant->repeats && good; k++) {
        put_back(contestant);
        double begin = is_each_timed ? now() : 0;
        good = contestant->run(contestant->context, 1, problem);
        runs += is_each_timed ? now() - begin : 0;
    }
    if (!is_each_timed)
        runs = now() - start - resets;
    *seconds = fmax(runs, 1e-9) / (double)contestant->repeats;
    return good;
}

/* A few runs begin with one that is not counted: it would be that of the caches that others have filled. */
static bool sample(struct contestant *contestant, double *seconds, struct problem *problem)
{
    enum { FEW = 16 };
    if (contestant->repeats < FEW && !contestant->run(contestant->context, 1, problem))
        return false;
    if (contestant->reset && contestant->resets_each && contestant->repeats > 1)
        return run_reset(contestant, seconds, problem);
    if (contestant->reset)
        put_back(contestant);
    double start = now();
    bool good = contestant->run(contestant->context, contestant->repeats, problem);
    *seconds = (now() - start) / (double)contestant->repeats;
    return good;
}

/* Runs it more and more often until one sample is long enough, and for a while. */
static bool warm_up(struct contestant *contestant, double while_seconds, struct problem *problem)
{
    double seconds, end = now() + while_seconds;
    contestant->repeats = 1;
    if (!sample(contestant, &seconds, problem)) /* pages are touched, code is fetched */
        return false;
    long most = contestant->reset && !contestant->resets_each ? MOST_IN_PLACE : MOST_REPEATS;
    for (;;) {
        if (!sample(contestant, &seconds, problem))
            return false;
        bool is_long = seconds * (double)contestant->repeats >= sample_seconds || contestant->repeats >= most;
        if (is_long && now() >= end)
            return true;
        contestant->repeats *= is_long ? 1 : 2;
    }
}

static void show_progress(const struct contestant *contestants, int count)
{
    static double shown;
    if (now() < shown + 0.1)
        return;
    shown = now();
    fprintf(stderr, "\rmeasuring:");
    for (int k = 0; k < count; k++)
        fprintf(stderr, " %d samples +-%.1f%%", contestants[k].count,
                50 * (contestants[k].spread.high - contestants[k].spread.low) / contestants[k].spread.median);
    fprintf(stderr, "   ");
}

static bool is_done(const struct contestant *contestants, int count)
{
    for (int k = 0; k < count; k++)
        if (!statistics_is_narrow(&contestants[k].spread, narrow))
            return false;
    return true;
}

/* What contestants leave in place is that of one run, so that it can be compared. */
static bool leave_results(struct contestant *contestants, int count, struct problem *problem)
{
    double seconds;
    for (int k = 0; k < count; k++) {
        contestants[k].repeats = 1;
        if (contestants[k].reset && !sample(&contestants[k], &seconds, problem))
            return false;
    }
    return true;
}

/* Where all are short, runs go on with what the one before left: then it is the call that takes longer behind
 * anything else, and by as much as the run itself. */
static bool choose_resets(struct contestant *contestants, int count, struct problem *problem)
{
    enum { RUNS = 8 }; /* one alone would be that of the caches that putting back has filled */
    const double short_one = 2e-6;
    double seconds, longest = 0;
    for (int k = 0; k < count; k++) {
        contestants[k].repeats = 1;
        if (!sample(&contestants[k], &seconds, problem))
            return false;
        double start = now(), first = HUGE_VAL;
        if (!contestants[k].run(contestants[k].context, RUNS, problem))
            return false;
        longest = fmax(longest, (now() - start) / RUNS);
        for (int run = 0; contestants[k].reset && run < RUNS; run++) { /* what is sorted is sorted fast */
            put_back(&contestants[k]);
            start = now();
            if (!contestants[k].run(contestants[k].context, 1, problem))
                return false;
            first = fmin(first, now() - start);
        }
        longest = fmax(longest, contestants[k].reset ? first : 0);
    }
    for (int k = 0; k < count; k++)
        contestants[k].resets_each &= longest >= short_one;
    return true;
}

bool measure_all(struct contestant *contestants, int count, double seconds, struct problem *problem)
{
    bool on_terminal = isatty(STDERR_FILENO), good = true, done = false;
    if (!choose_resets(contestants, count, problem))
        return false;
    for (int k = 0; k < count; k++) {
        contestants[k].count = 0;
        if (!warm_up(&contestants[k], fmin(warm_seconds, seconds), problem))
            return false;
    }
    double end = now() + seconds * count, least = now() + fmin(least_seconds, seconds) * count;
    for (int round = 0; round < STATISTICS_MOST && !done && good; round++) {
        for (int i = 0; i < count && good; i++) {
            struct contestant *contestant = &contestants[(i + round) % count];
            good = sample(contestant, &contestant->samples[contestant->count], problem);
            contestant->count += good;
        }
        if (!good || round + 1 < LEAST_SAMPLES)
            continue;
        bool late = now() >= end;
        /* sorting takes time too: not after every round */
        if (late || (round + 1) % 8 == 0 || round + 1 == STATISTICS_MOST)
            for (int k = 0; k < count; k++)
                contestants[k].spread = statistics_spread(contestants[k].samples, contestants[k].count);
        if (on_terminal && contestants[0].spread.median > 0)
            show_progress(contestants, count);
        done = late || ((round + 1) % 8 == 0 && now() >= least && is_done(contestants, count));
    }
    if (on_terminal)
        fprintf(stderr, "\r%70s\r", "");
    return good && leave_results(contestants, count, problem);
}
