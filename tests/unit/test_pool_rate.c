/*
 * test_pool_rate.c: which runs of a loop are shared among threads, by what runs before them took: told by a
 * clock of this file, so that it hangs on no machine.
 */
#include "../../runtime/pool_rate.h"
#include "check.h"

static int64_t moment = 1; /* of the clock, nanoseconds */

static int64_t clock_here(void)
{
    return moment;
}

/* Nanoseconds of a loop's runs, and of what the caller does behind each. */
struct loop {
    jit_part *part;
    double alone, shared;
    double behind_alone, behind_shared;
};

static const double OPERATIONS = 1000000;

static int part(const struct jit_frame *frame, int64_t from, int64_t to, const union jit_scalar *kept)
{
    (void)frame, (void)from, (void)to, (void)kept;
    return 0;
}

/* Runs the loop so many times, as pool.c does; gives how many were shared. */
static int run(const struct loop *loop, int times)
{
    int shared = 0;

    for (int k = 0; k < times; k++) {
        double expected = pool_rate_expect(loop->part, OPERATIONS);
        struct pool_rate_run next = pool_rate_next(loop->part, expected, clock_here);
        double takes = next.is_shared ? loop->shared : loop->alone;
        if (next.is_timed)
            pool_rate_begin(loop->part, next.is_shared, OPERATIONS, moment);
        moment += (int64_t)takes;
        if (next.is_timed)
            pool_rate_learn(loop->part, next.is_shared, OPERATIONS, takes);
        moment += (int64_t)(next.is_shared ? loop->behind_shared : loop->behind_alone);
        shared += next.is_shared;
    }
    return shared;
}

enum { CYCLE = 256, WARM = 4 * CYCLE };

/* Many runs behind the first ones, of a loop that goes on as one of the same part ended. */
static int settled(struct loop loop)
{
    run(&loop, WARM);
    return run(&loop, CYCLE);
}

/* Nobody calls it: code that comes to lie where pool_rate.c takes it for the other's place, and is not that.
 */
static jit_part *other_part(void)
{
    return (jit_part *)((uintptr_t)part ^ (uintptr_t)1 << 28);
}

/* The first runs of a loop are shared, then some are not: so both ways are known. Another loop starts over.
 */
static void test_both_ways(void)
{
    for (int k = 0; k < 4; k++) {
        const struct loop loop = {k % 2 ? other_part() : part, 20000, k < 2 ? 10000 : 2000000, 0, 0};
        CHECK(run(&loop, 4) == 4);
        int shared = run(&loop, 28);
        CHECK(shared > 0 && shared < 28);
        double expected = pool_rate_expect(loop.part, OPERATIONS);
        CHECK(expected > 19000 && expected < 21000); /* what one thread takes */
        expected = pool_rate_expect(loop.part, OPERATIONS / 4);
        CHECK(expected > 4700 && expected < 5300);
    }
}

/* What is faster shared is shared, what takes a hundred times as long mostly is not, and is tried again: so
 * is what costs the caller more behind it than it gained. A little slower is not clearly so. And a machine
 * that changes is found out. */
static void test_better_way(void)
{
    int shared;

    CHECK(settled((struct loop){part, 20000, 11000, 0, 0}) > CYCLE - 8);
    CHECK((shared = settled((struct loop){part, 20000, 2000000, 0, 0})) > 0 && shared <= 16);
    CHECK(settled((struct loop){part, 20000, 11000, 0, 0}) > CYCLE - 8);
    CHECK((shared = settled((struct loop){part, 20000, 15000, 1000, 60000})) > 0 && shared <= 16);
    CHECK(settled((struct loop){part, 20000, 20500, 1000, 1000}) > CYCLE - 8);
}

/* What takes one thread long is always shared. */
static void test_long(void)
{
    CHECK_INT(settled((struct loop){other_part(), 5e6, 2e7, 0, 0}), CYCLE);
}

int main(void)
{
    test_both_ways();
    test_better_way();
    test_long();
    return check_done();
}
