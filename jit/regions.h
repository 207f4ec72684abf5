/*
 * regions.h: which elements single stores have surely written, each in a whole nest of loops.
 *
 * A region is a conjunction of inequalities over a point (an index for each axis) and what is the same all
 * through the call: where they hold, the store has written the element by the time its outermost loop has
 * ended. Regions say what boxes (boxes.h) cannot: triangles, strides, a conjunction of conditions. They are
 * put together only by a question: whether every point of a box lies in one of them.
 */
#ifndef JIT_REGIONS_H
#define JIT_REGIONS_H

#include "context.h"

enum { REGIONS_RANK = 8, REGIONS_FORMS = 24 };

struct region {
    struct ir_buffer *buffer; /* NULL: it no longer counts */
    bool done;                /* the outermost loop has ended */
    int count;
    struct linear *forms; /* >= 0 */
};

struct regions {
    struct context *context;
    int points[REGIONS_RANK]; /* atoms */
    int questions;            /* that the prover may still be asked */
    LIST(struct region) items;
};

/* Before anything else makes atoms. */
void regions_init(struct regions *regions, struct context *context);

/* The store at hand, to an element of these indices. */
void regions_add(struct regions *regions, struct ir_buffer *buffer, const struct linear *indices);
/* No loop is around what comes next: all stores so far have been executed. */
void regions_settle(struct regions *regions);
/* What was known of the buffer no longer holds. */
void regions_forget(struct regions *regions, const struct ir_buffer *buffer);

/* Every element of the box (`rank` lows and `rank` highs, inclusive) lies in a region that is done. */
bool regions_cover(struct regions *regions, const struct ir_buffer *buffer, const struct linear *bounds);

#endif
