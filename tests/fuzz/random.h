/*
 * random.h: numbers that look random and are the same for the same seed on every machine (splitmix64).
 */
#ifndef TESTS_FUZZ_RANDOM_H
#define TESTS_FUZZ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t x = random->state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Neighbouring seeds give unrelated sequences. */
static inline struct random random_seeded(uint64_t seed, uint64_t stream)
{
    struct random random = {seed * 0xd1342543de82ef95u + stream};

    random.state = random_next(&random);
    return random;
}

/* 0 .. count - 1 */
static inline int random_below(struct random *random, int count)
{
    return (int)(random_next(random) % (uint64_t)count);
}

static inline bool random_chance(struct random *random, int percent)
{
    return random_below(random, 100) < percent;
}

#endif
