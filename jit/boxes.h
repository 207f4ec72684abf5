/*
 * boxes.h: which elements of buffers have surely been written at the place a walk has reached.
 *
 * A box is a set of elements lows[k] <= index k <= highs[k] (empty where a low passes its high), all of them
 * written. Boxes form a stack of scopes that follow the statements: what a loop's body writes becomes, at its
 * end, what all its iterations have written; what both sides of a branch write, what the branch has written.
 * All is on the safe side: an element that is in no box may have been written all the same.
 */
#ifndef JIT_BOXES_H
#define JIT_BOXES_H

#include "context.h"

enum { BOXES_PER_SCOPE = 48, BOXES_LOOKED_AT = 12 };

struct box {
    struct ir_buffer *buffer;
    struct linear *bounds; /* lows, then highs */
    int capacity;          /* of bounds */
    int below;             /* the next older box of the buffer; -1 */
    bool conditional;      /* a `continue` may have skipped it */
};

struct boxes {
    struct context *context;
    LIST(struct box) stack; /* those behind the newest keep their bounds for the next */
    int made;               /* boxes that there ever were on it */
    int *newest;            /* by buffer->index: number of the newest box, -1 */
};

void boxes_init(struct boxes *boxes, struct context *context);

/* Bounds of a box, `rank` lows and `rank` highs. */
void boxes_push(struct boxes *boxes, struct ir_buffer *buffer, const struct linear *bounds, int scope);
void boxes_pop(struct boxes *boxes, int scope);
/* What was known of the buffer no longer holds. */
void boxes_forget(struct boxes *boxes, struct ir_buffer *buffer);

/* Some box holds all of these elements. */
bool boxes_cover(struct boxes *boxes, struct ir_buffer *buffer, const struct linear *bounds);

/* The one box holds all elements of the other. */
bool boxes_hold(struct boxes *boxes, const struct linear *outer, const struct linear *inner, int rank);

/* The union of the box over atom = from..to, into `bounds`; false when that is not known to be a box. The
 * facts hold for any value of the atom within its loop; `outside` is their number before the loop. */
bool boxes_union(struct boxes *boxes, const struct box *box, const struct context_loop *loop,
                 const struct linear *from, const struct linear *to, struct linear *bounds);

/* Takes the boxes from `scope` on off the stack, into memory of their own. */
struct box *boxes_take(struct boxes *boxes, int scope, int *count);
/* At the end of a loop: what it has written as a whole, given the boxes of one iteration. */
void boxes_leave_loop(struct boxes *boxes, const struct context_loop *loop, const struct box *iteration,
                      int count, int outer_scope);
/* After a branch: what both sides have written. */
void boxes_join(struct boxes *boxes, const struct box *a, int a_count, const struct box *b, int b_count,
                int outer_scope);

#endif
