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

/* What is one instruction of its own on lanes that hold the operands, though not what is between. */
enum slim_idiom {
    SLIM_PLAIN,
    SLIM_INNER,    /* part of one */
    SLIM_ADD,      /* what a sum is above or below the lane is cut off */
    SLIM_SUBTRACT, /* likewise of a difference */
    SLIM_DISTANCE, /* the magnitude of a difference */
    SLIM_AVERAGE   /* half of a sum and one */
};

/* Its operands are those of `inner`: the second one, where `negates`, is a constant below 0, and taken away.
 */
struct slim_form {
    enum slim_idiom idiom;
    int inner;
    bool is_signed, negates;
};

struct vector_slim {
    int size;       /* bytes of a lane: 1 or 2 */
    bool permutes;  /* vector_options.permutes, with AVX-512 */
    bool has_masks; /* what a mask leaves out is neither read nor written */
    struct slim_range *ranges;
    struct slim_form *forms;
};

/* Fills `slim`, out of the arena; false: the loop needs lanes of 32 bits, or there is nothing to win. */
bool vector_is_slim(struct arena *arena, const struct vector_loop *loop, const struct vector_options *options,
                    struct vector_slim *slim);
/* Whether lanes of `size` bytes, with or without a sign, hold it. */
bool slim_fits(const struct slim_range *range, int size, bool is_signed);
/* Of a load of every other element: the offset of the first one of the two that are loaded together. */
int slim_pair(const struct vector_loop *loop, const struct vector_value *value);
/* ---- vector_slim_form.c ---- */

/* Fills `forms`, by the ranges and the size. */
void slim_find_forms(struct vector_slim *slim, const struct vector_loop *loop, int *uses);
/* The range of a sum that goes from one number to another one by a weight between 0 and a constant
 * (`a * w + b * (c - w)`), which is between those that it has at the ends; false: it is no such sum. */
bool slim_blend_range(const struct vector_loop *loop, const struct vector_slim *slim,
                      const struct vector_value *sum, struct slim_range *range);

/* ---- vector_slim.c ---- */

/* The last store of those of all elements that one iteration of the stream steps over; NULL: there are not
 * just these, or between them something else is done with the tensor. */
const struct vector_value *slim_last_of_group(const struct vector_loop *loop,
                                              const struct vector_value *store);
/* By how many bits a shift by a constant goes. */
int slim_shift(const struct vector_loop *loop, const struct vector_value *value);
/* The constant as a number. */
int64_t slim_constant(const struct vector_value *value);

#endif
