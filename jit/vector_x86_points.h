/*
 * vector_x86_points.h: elements side by side for each iteration, on their way between memory and vectors
 * (vector_x86_points.c); those that lie one behind the other throughout (vector_x86_groups.c), and those that
 * lie where an index says (vector_x86_neighbours.c).
 */
#ifndef JIT_VECTOR_X86_POINTS_H
#define JIT_VECTOR_X86_POINTS_H

#include "vector_x86.h"

struct points {
    struct machine *machine;
    const struct vector_value *value;
    const struct vector_stream *stream;
    int size, bits;
    int low, span;  /* of an iteration: the least element, and how many from there on */
    bool halves;    /* an iteration's elements take half a vector, not a quarter of 512 bits */
    int masks[4];   /* of the parts */
    int vectors[4]; /* before they are turned */
    int frame;      /* where the bytes from iteration to iteration are */
};

/* With AVX-512: the masks of an iteration's elements in each part, and a load under one of them. */
void points_make_masks(struct points *points);
void points_load_row(struct points *points, int row, struct x86_memory memory);
/* An iteration's elements of 4 bytes, and nothing beside them, in 128 bits. */
int points_load_point(const struct points *points, struct x86_memory memory);
void points_store_point(const struct points *points, int point, struct x86_memory memory);
/* The least element of the first iteration. */
struct x86_memory points_first(const struct points *points);
/* Of elements of 4 bytes: vectors whose parts of 128 bits are an iteration's elements, to vectors of one
 * element of all iterations, those that `offsets` names; part p of vector k becomes lane 4 * p + k. */
void points_turn(const struct points *points, unsigned offsets, int *results);
/* And back. */
void points_turn_back(struct points *points, const int *operands);

/* Whether vector_has_groups, and the lanes are such that it is of use. */
bool points_are_groups(const struct machine *machine, const struct vector_value *value);
/* The mask is of the iterations that there are; 0: all. */
void points_load_group(struct points *points, int mask, unsigned offsets, int *results);
void points_store_group(struct points *points, int mask, const int *operands);

#endif
