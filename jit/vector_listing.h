/*
 * vector_listing.h: what a loop becomes, between what chooses loops and what makes code of them.
 *
 * From values (vector.h) to instructions with registers of the machine and the constants behind them, which
 * are printed or encoded. What of a loop cannot be had on the target is refused; who asks then goes another
 * way.
 */
#ifndef JIT_VECTOR_LISTING_H
#define JIT_VECTOR_LISTING_H

#include "vector.h"
#include "x86_encode.h"

/* A constant behind the code: of 4 or 8 bytes, or of 64, which are elsewhere. */
struct vector_datum {
    int label, size;
    uint64_t bits;
    const unsigned char *bytes;
};

typedef LIST(struct x86_instruction) machine_code; /* X86_NO_FORM: a label */
typedef LIST(struct vector_datum) machine_data;

struct vector_listing {
    machine_code items;
    machine_data data;
    int lanes;      /* at once, where they are all there */
    int slim_lanes; /* at once in the loop that comes first, of fewer than 32 bits each; 0: there is none */
};

/* The instructions of the loop as a function void(union slot *), or false where the target lacks something.
 */
bool vector_x86(struct arena *arena, const struct vector_loop *loop, const struct vector_options *options,
                struct vector_listing *listing);
bool vector_x86_nest(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing);
bool vector_x86_band(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing);
bool vector_x86_copy(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing);
/* Appends their bytes and, behind them, those of the data. Returns the size of the former. */
size_t vector_x86_encode(struct x86_code *code, const struct vector_listing *listing);

/* Of the tensor; -1: its extents are not all numbers. */
int64_t vector_known_bytes(const struct ir_buffer *buffer);
/* Whether the extents of the tensor are numbers, and say that the loop is over less than goes past the
 * caches. */
bool vector_stays_near(const struct vector_loop *loop, const struct ir_buffer *buffer,
                       const struct vector_options *options);
/* The first stream that a long loop may store to past the caches; -1: it is not one that may. */
int vector_far_target(const struct vector_loop *loop);
/* A stream of a tensor that the loop loads at several places, for which it asks how many elements that has,
 * where stores do not go past the caches; -1: it does not. */
int vector_nearby_target(const struct vector_loop *loop);
/* The stream that a loop over rows which only turns squares stores to: of a small tensor it loads them in
 * another way. -1: it is no such loop. */
int vector_turned_target(const struct vector_loop *loop);

/* ---- vector_plan_print.c ---- */

/* The code of the loop of a plan that has this number. */
void vector_plan_print_loop(struct text *out, int number, const struct vector_loop *loop,
                            const struct vector_listing *listing);

#endif
