/*
 * vector_slim.h: which loops over integers of 8 and 16 bits can do with lanes of as many.
 */
#ifndef JIT_VECTOR_SLIM_H
#define JIT_VECTOR_SLIM_H

#include "vector.h"

/* What a value may be, as a number; of truth values nothing is said. */
struct slim_range {
    int64_t low, high;
    bool wraps; /* what was computed may be none of its dtype, and is cut */
};

struct vector_slim {
    int size;       /* bytes of a lane: 1 or 2 */
    bool has_masks; /* what a mask leaves out is neither read nor written */
    struct slim_range *ranges;
};

/* Fills `slim`, out of the arena; false: the loop needs lanes of 32 bits, or there is nothing to win. */
bool vector_is_slim(struct arena *arena, const struct vector_loop *loop, enum x86_target target,
                    struct vector_slim *slim);
/* Whether lanes of `size` bytes, with or without a sign, hold it. */
bool slim_fits(const struct slim_range *range, int size, bool is_signed);
/* Of a load of every other element: the offset of the first one of the two that are loaded together. */
int slim_pair(const struct vector_loop *loop, const struct vector_value *value);
/* By how many bits a shift by a constant goes. */
int slim_shift(const struct vector_loop *loop, const struct vector_value *value);
/* The constant as a number. */
int64_t slim_constant(const struct vector_value *value);

#endif
