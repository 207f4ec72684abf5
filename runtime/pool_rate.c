/*
 * pool_rate.c: see pool_rate.h.
 *
 * Operations are counted before a loop runs (jit/emit_c_work.c), and take a 500th of a nanosecond each, or a
 * tenth, as 400 kernels have them: bytes in registers, or elements gathered from all over memory. So the
 * first runs of each loop are timed, and later ones now and then. What is kept is small and forgets: loops
 * that share a place in the table, and code that comes to lie where other code was, start over. Only who
 * computes what hangs on it, never a result.
 */
#include "pool_rate.h"

#include <stdatomic.h>

enum {
    PLACES = 256,
    FIRST_RUNS = 4, /* that are timed, and then one of so many: */
    NOW_AND_THEN = 32,
    /* femtoseconds of an operation: the median of 400 kernels (Zen 5), and bounds, for what else may have run
     * at the same time */
    USUAL = 18000,
    LEAST = USUAL / 10,
    MOST = USUAL * 10
};

struct place {
    _Atomic(jit_part *) part;
    atomic_uint runs, rate;
};

static struct place places[PLACES];

static struct place *place_of(jit_part *part)
{
    uintptr_t address = (uintptr_t)part;

    return &places[(address >> 4 ^ address >> 12 ^ address >> 20) % PLACES];
}

double pool_rate_expect(jit_part *part, double operations)
{
    struct place *place = place_of(part);
    unsigned rate = atomic_load_explicit(&place->rate, memory_order_relaxed);
    bool is_known = rate && atomic_load_explicit(&place->part, memory_order_relaxed) == part;

    return operations * (is_known ? rate : USUAL) * 1e-6;
}

bool pool_rate_is_due(jit_part *part)
{
    struct place *place = place_of(part);

    if (atomic_load_explicit(&place->part, memory_order_relaxed) != part) {
        atomic_store_explicit(&place->rate, 0, memory_order_relaxed);
        atomic_store_explicit(&place->runs, 0, memory_order_relaxed);
        atomic_store_explicit(&place->part, part, memory_order_relaxed);
    }
    /* two threads may count one: no run waits for that */
    unsigned runs = atomic_load_explicit(&place->runs, memory_order_relaxed);
    atomic_store_explicit(&place->runs, runs + 1, memory_order_relaxed);
    return runs < FIRST_RUNS || runs % NOW_AND_THEN == 0;
}

void pool_rate_learn(jit_part *part, double operations, double nanoseconds)
{
    struct place *place = place_of(part);
    double rate = nanoseconds / operations * 1e6;
    unsigned before = atomic_load_explicit(&place->rate, memory_order_relaxed);

    rate = rate < LEAST ? LEAST : rate > MOST ? MOST : rate;
    if (before) /* the lower the sooner: whatever else ran only made it longer */
        rate = rate < before ? (rate + before) / 2 : before + (rate - before) / 8;
    if (atomic_load_explicit(&place->part, memory_order_relaxed) == part)
        atomic_store_explicit(&place->rate, (unsigned)rate, memory_order_relaxed);
}
