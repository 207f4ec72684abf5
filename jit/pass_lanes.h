/*
 * pass_lanes.h: what the two files of pass lanes share: elements that lie apart, by iteration of the loop
 * that becomes lanes (pass_lanes.c), and by iteration of the loop inside, too (pass_lanes_along.c).
 */
#ifndef JIT_PASS_LANES_H
#define JIT_PASS_LANES_H

#include "pass.h"
#include "vector.h"

enum {
    LANES_MOVED = 24,
    LANES_ALONG = 64,  /* lanes of rows that are columns for a while, which take more room; */
    LANES_PADDING = 16 /* elements between these, so that they do not all lie at one place of pages */
};

/* An element of each iteration, and where it lies beside those of the others. */
struct lanes_moved {
    struct ir_access access;
    struct ir_buffer *buffer;
    struct ir_symbol *symbol; /* of what is loaded, but along the loop inside */
    bool is_stored;
    bool is_first; /* stored in front of the loop inside */
    bool is_along; /* in each iteration of the loop inside: the buffer has a row for each of these */
    int64_t span;  /* and for so many behind the last one */
};

struct lanes {
    struct pass *pass;
    struct ir_stmt *columns; /* as it is */
    struct ir_stmt *made;    /* what takes its place */
    struct ir_stmt *loop;    /* inside of that */
    struct ir_symbol *first; /* of the block */
    int64_t block;           /* iterations: their temporaries stay in the nearest cache */
    struct lanes_moved moved[LANES_MOVED];
    int count, replaced;
    struct ir_stmt *brought[2]; /* loops that bring rows, to their temporaries, and back */
    bool goes_along;            /* elements may be moved along the loop inside */
    bool too_many;              /* or not to be moved */
};

/* ---- pass_lanes.c ---- */

/* Along the loop by a step that is not one element. */
bool lanes_lie_apart(const struct lanes *lanes, const struct ir_access *access);
/* What the expression loads whatever its conditions are. */
typedef void lanes_note(struct lanes *lanes, const struct ir_access *access);
void lanes_note_loads(struct lanes *lanes, const struct ir_expr *expr, lanes_note *note);
/* With a temporary for it. NULL: there are too many, or it may not be moved. */
struct lanes_moved *lanes_add(struct lanes *lanes, const struct lanes_moved *wanted);
/* Of an index: it has nothing in it that the body declares. */
bool lanes_is_from_outside(struct ir_expr *expr, void *lanes);
/* Whether the index is inside for every iteration, whatever is tested before the element is accessed. */
bool lanes_is_inside(const struct lanes *lanes, const struct ir_expr *index, const struct ir_expr *extent);
/* A place in a temporary for the iteration; along the loop inside, so far behind. */
struct ir_access lanes_beside(struct lanes *lanes, const struct lanes_moved *moved, int64_t distance);
/* An element to its temporary, or back. */
struct ir_stmt *lanes_bring(struct lanes *lanes, const struct lanes_moved *moved);

/* ---- pass_lanes_along.c ---- */

/* Whether the access is of a row for each lane, along which the loop inside goes. */
bool lanes_is_along(const struct lanes *lanes, const struct ir_access *access);
/* Whether iterations of the loop inside wait for one another, so that lanes are all that there is to win. */
bool lanes_wait(struct lanes *lanes);
/* On the copy: such accesses become those of temporaries, or there are too many. */
void lanes_move_along(struct lanes *lanes);
/* Of the loop inside, the least value of its variable, and how many iterations there are. */
struct ir_expr *lanes_least(struct lanes *lanes);
struct ir_expr *lanes_length(struct lanes *lanes);
/* A loop downwards counts upwards, when all is moved: nests do. */
void lanes_turn_upwards(struct lanes *lanes);
/* The loops that bring elements to their temporaries, or back; NULL: there are none. */
struct ir_stmt *lanes_bring_along(struct lanes *lanes, bool is_stored);

#endif
