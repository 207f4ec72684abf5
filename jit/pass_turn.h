/*
 * pass_turn.h: between pass_turn.c, which finds what is to be turned, and pass_turn_copy.c, which makes
 * copies of it and has the loops use them.
 */
#ifndef JIT_PASS_TURN_H
#define JIT_PASS_TURN_H

#include "pass.h"

enum {
    MOST = 4,             /* copies for one statement, and loops over columns in it */
    MOST_STATEMENTS = 48, /* in what then stands twice */
    DEEPEST = 16
};

struct turned {
    struct ir_buffer *from, *copy;
    int axis;       /* the one that becomes the last */
    bool is_stored; /* the copy is stored to, and then the tensor, */
    bool is_whole;  /* all of it before anything is loaded */
};

struct turning {
    struct pass *pass;
    const struct ir_stmt *around; /* what is to use the copies */
    const struct ir_stmt
        *loops[DEEPEST]; /* around what is looked at, outermost first; with a note: columns */
    int depth;
    bool for_stores; /* that is what is looked for */
    struct turned copies[MOST];
    int count;
    bool needs_loads; /* copies of what is loaded, too */
    bool is_too_much;
    struct ir_expr *pays; /* NULL: nothing was found */
};

/* ---- pass_turn.c ---- */

/* The axis whose index is the column, perhaps with something added, where no other one has to do with it; -1:
 * there is none. */
int turn_axis_of(const struct ir_access *access, const struct ir_symbol *column);
/* Whether a copy can be in its place, and is wanted. */
bool turn_is_across(const struct turning *turning, struct ir_access *access, const struct ir_symbol *column);
/* The copy of the tensor with that axis last; the one that is stored to. NULL: there is none. */
const struct turned *turn_find_copy(const struct turning *turning, const struct ir_buffer *buffer, int axis);
const struct turned *turn_find_stored(const struct turning *turning, const struct ir_buffer *buffer);

/* ---- pass_turn_copy.c ---- */

/* In the place of the statement: the copies, what uses them, and what was there for where they do not pay. */
void turn_loop(struct turning *turning, struct ir_stmt *stmt);

#endif
