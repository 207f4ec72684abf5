/*
 * vector_x86_turn.h: rows that only turn what is loaded: those of a square (vector_x86_transpose.c), whose
 * rows or columns are put into registers, exchanged there, and stored (vector_x86_turn.c).
 */
#ifndef JIT_VECTOR_X86_TURN_H
#define JIT_VECTOR_X86_TURN_H

#include "vector_x86.h"

/* ---- vector_x86_transpose.c ---- */

/* Rows that only turn what is loaded; false: it is something else. */
bool vector_x86_transpose(struct arena *arena, const struct vector_loop *loop,
                          const struct vector_options *options, struct vector_listing *listing);

/* ---- vector_x86_turn.c ---- */

/* Rows whose columns are loaded by a step, and lie side by side along the rows; stored, it is the other way.
 */
struct turning {
    struct machine *machine;
    const struct vector_value *load, *store;
    const struct vector_stream *from, *into;
    int lanes, size;
    int kept, numbers, block, beyond, left; /* places in the frame */
};

/* The body of the loop, for AVX2. */
void machine_turn(struct turning *turning);

#endif
