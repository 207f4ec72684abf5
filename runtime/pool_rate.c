/*
 * pool_rate.c: see pool_rate.h.
 *
 * Operations are counted before a loop runs (jit/emit_c_work.c), and take a 500th of a nanosecond each, or a
 * tenth, as 400 kernels have them: bytes in registers, or elements gathered from all over memory. So the
 * first runs of each loop are timed, and later ones now and then.
 *
 * Whether threads help is measured as well: where processors share a core, or lines of a cache take long from
 * one to the other (those of virtual machines do, for minutes at a time: a product of 6 us took 17), a short
 * loop is faster alone. Each loop runs both ways at first and every so often, some times in a row shared, so
 * that the threads are awake, and in between the better way, shared unless that is clearly slower: a virtual
 * machine may have put two processors on halves of one core, and moves them apart when both are at work. What
 * is long enough is always shared.
 *
 * What a run costs may come behind it: where the caller goes on with what other threads have written, line by
 * line (a Gram-Schmidt process of 64 columns took 1.0 ms alone, and 3.0 with loops each of which was faster
 * shared). So what passes from the beginning of a timed run to that of the next one is compared as well.
 *
 * What is kept is small and forgets: loops that share a place in the table, and code that comes to lie where
 * other code was, start over. Only who computes what hangs on it, never a result.
 */
#include "pool_rate.h"

#include <math.h>
#include <stdatomic.h>

enum {
    PLACES = 256,
    /* runs: of so many, the first ones are shared, then some are not, and all up to here are timed, and later
     * one of so many */
    CYCLE = 256,
    FIRST_CYCLE = 32, /* what was measured first may be of memory that was used for the first time */
    SHARED = 8,
    ALONE = 2,
    TIMED = 16,
    NOW_AND_THEN = 32,
    /* femtoseconds of an operation: the median of 400 kernels (Zen 5), and bounds, for what else may have run
     * at the same time */
    USUAL = 18000,
    LEAST = USUAL / 10,
    MOST = USUAL * 100
};

/* Nanoseconds: what takes one thread longer is always shared, and so it is where it is known of several only,
 * which may be the slower way. */
static const double LONG = 100000, LONG_SHARED = 5000000;

/* How much longer it may take shared. */
static const double SLOWER = 1.15;

/* Rates are femtoseconds of an operation, by the clock; 0: not known. */
struct place {
    _Atomic(jit_part *) part;
    atomic_uint runs, alone, shared;
    atomic_uint alone_turn, shared_turn; /* up to the next run */
    /* the run at hand, where it is timed: when it began; 0: it is not */
    atomic_llong began;
    _Atomic(double) operations;
    atomic_bool is_shared;
};

static struct place places[PLACES];

static struct place *place_of(jit_part *part)
{
    uintptr_t address = (uintptr_t)part;

    return &places[(address >> 4 ^ address >> 12 ^ address >> 20) % PLACES];
}

static unsigned get(const atomic_uint *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void set(atomic_uint *number, unsigned value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

/* Of how many runs the last one so far is, of one cycle: the first ones are shorter, each but the first as
 * long as all before. */
static unsigned phase_of(unsigned runs)
{
    unsigned first = FIRST_CYCLE;

    if (runs < FIRST_CYCLE || runs >= CYCLE)
        return runs % CYCLE;
    while (runs >= 2 * first)
        first *= 2;
    return runs - first;
}

double pool_rate_expect(jit_part *part, double operations)
{
    const struct place *place = place_of(part);
    bool is_known = atomic_load_explicit(&place->part, memory_order_relaxed) == part;
    unsigned alone = get(&place->alone), shared = get(&place->shared);

    return operations * (is_known && alone ? alone : is_known && shared ? 2.0 * shared : USUAL) * 1e-6;
}

/* The lower the sooner: whatever else ran only made it longer. */
static double alone_rate(double rate, double before)
{
    return rate < before ? (3 * rate + before) / 4 : before + (fmin(rate, 4 * before) - before) / 8;
}

/* The run before ends where this one begins. */
static void end_turn(struct place *place, int64_t moment)
{
    int64_t began = atomic_exchange_explicit(&place->began, 0, memory_order_relaxed);
    if (!began)
        return;
    bool is_shared = atomic_load_explicit(&place->is_shared, memory_order_relaxed);
    atomic_uint *number = is_shared ? &place->shared_turn : &place->alone_turn;
    double operations = atomic_load_explicit(&place->operations, memory_order_relaxed);
    double rate = (double)(moment - began) / operations * 1e6;
    rate = rate < 1 ? 1 : rate > MOST ? MOST : rate;
    set(number, (unsigned)(get(number) ? alone_rate(rate, get(number)) : rate));
}

void pool_rate_begin(jit_part *part, bool is_shared, double operations, int64_t moment)
{
    struct place *place = place_of(part);

    atomic_store_explicit(&place->is_shared, is_shared, memory_order_relaxed);
    atomic_store_explicit(&place->operations, operations, memory_order_relaxed);
    atomic_store_explicit(&place->began, moment, memory_order_relaxed);
}

static bool is_not_slower(unsigned alone, unsigned shared)
{
    return !alone || !shared || (double)shared < SLOWER * alone;
}

struct pool_rate_run pool_rate_next(jit_part *part, double nanoseconds, int64_t (*clock)(void))
{
    struct place *place = place_of(part);

    if (atomic_load_explicit(&place->part, memory_order_relaxed) != part) {
        set(&place->alone, 0);
        set(&place->shared, 0);
        set(&place->runs, 0);
        set(&place->alone_turn, 0);
        set(&place->shared_turn, 0);
        atomic_store_explicit(&place->began, 0, memory_order_relaxed);
        atomic_store_explicit(&place->part, part, memory_order_relaxed);
    }
    if (atomic_load_explicit(&place->began, memory_order_relaxed))
        end_turn(place, clock());
    /* two threads may count one: no run waits for that */
    unsigned runs = get(&place->runs), phase = phase_of(runs);
    set(&place->runs, runs + 1);
    unsigned alone = get(&place->alone), shared = get(&place->shared);
    bool is_good =
        is_not_slower(alone, shared) && is_not_slower(get(&place->alone_turn), get(&place->shared_turn));
    return (struct pool_rate_run){.is_shared = nanoseconds >= (alone ? LONG : LONG_SHARED) ||
                                               phase < SHARED || (phase >= SHARED + ALONE && is_good),
                                  .is_timed = phase < TIMED || runs % NOW_AND_THEN == 0};
}

/* That of several is what it mostly is: at times the others come too late to do harm. */
static double shared_rate(double rate, double before)
{
    return rate < before ? (rate + before) / 2 : before + (fmin(rate, 4 * before) - before) / 4;
}

void pool_rate_learn(jit_part *part, bool is_shared, double operations, double nanoseconds)
{
    struct place *place = place_of(part);
    atomic_uint *number = is_shared ? &place->shared : &place->alone;
    double rate = nanoseconds / operations * 1e6, least = is_shared ? LEAST / 256.0 : LEAST;
    unsigned before = get(number);

    rate = rate < least ? least : rate > MOST ? MOST : rate;
    if (before)
        rate = is_shared ? shared_rate(rate, before) : alone_rate(rate, before);
    if (atomic_load_explicit(&place->part, memory_order_relaxed) == part)
        set(number, (unsigned)rate);
}
