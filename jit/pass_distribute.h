/*
 * pass_distribute.h: what the files of pass_distribute share.
 */
#ifndef JIT_PASS_DISTRIBUTE_H
#define JIT_PASS_DISTRIBUTE_H

#include "pass.h"

enum { DISTRIBUTE_OWN = 8 };

/* A loop over rows. */
struct rows {
    struct pass *pass;
    struct ir_stmt *loop;
    const struct ir_stmt **around; /* the loops around it, outermost first, with room for it behind them */
    int depth;
    struct {
        struct ir_buffer *items[DISTRIBUTE_OWN];
        int count;
    } own; /* temporaries that each row has for itself */
    struct {
        struct ir_buffer *items[DISTRIBUTE_OWN];
        int count;
    } places;                /* of these, those that were made for sums */
    struct ir_expr *many;    /* whether the rows are worth parting, which a call decides; NULL: they are */
    struct ir_expr *kept;    /* rows for which something is kept from piece to piece */
    struct ir_symbol *first; /* of these; NULL: all are kept, from row 0 on */
    struct ir_stmt *blocks;  /* the loop over blocks of rows; NULL: there is none */
    struct ir_stmt *outside; /* what stands in the place of the loop then: LETs, and that loop */
};

/* ---- pass_distribute_product.c: what a row is multiplied by ---------------------------------------- */

/* Made of extents and attributes: known when memory is made; and whether both bounds are. */
bool distribute_is_of_call(struct ir_expr *expr);
bool distribute_bounds_are_of_call(const struct ir_stmt *loop);

/* Whether the statement, in the body of the loop over rows, is a loop that multiplies the row by what all
 * rows share. */
bool distribute_is_product(const struct rows *rows, struct ir_stmt *stmt);
/* Whether something else is done in that loop. */
bool distribute_has_rest(const struct rows *rows, struct ir_stmt *columns);
/* Makes temporaries of a row for sums that are used and not stored, as whose elements a product's loop can
 * hand them on; and takes them back. */
void distribute_make_places(struct rows *rows);
void distribute_take_places(struct rows *rows);
/* Makes each product a loop that does nothing else, around sums in scalars. */
bool distribute_part_products(struct rows *rows);

struct distribute_mention {
    const struct ir_symbol *symbol;
    bool used, assigned;
};
/* In the statements from the first on, up to the end of their block. */
struct distribute_mention distribute_mentions(struct ir_stmt *first, const struct ir_symbol *symbol);
bool distribute_has_to_do(struct ir_stmt *stmt, const struct ir_symbol *symbol);

/* ---- pass_distribute_down.c: what goes down columns, where the loop is one over columns --------------- */

/* Whether all loops in the body of that loop go from line to line of what lies side by side along the
 * columns, and there are several. */
bool distribute_goes_down_often(const struct rows *columns);
/* Whether there is one. */
bool distribute_goes_down_once(const struct rows *columns);

/* ---- pass_distribute_own.c: temporaries of a row, and blocks of rows -------------------------------- */

/* Notes the temporaries that the body allocates, and those that it might as well. False: some are allocated
 * deeper inside. */
bool distribute_find_own(struct rows *rows);
/* Whether the buffer is one of those. */
bool distribute_is_own(const struct rows *rows, const struct ir_buffer *buffer);
/* Allocates all of them in the body; those that an iteration may read before it has written them stay
 * outside, and are no longer noted. */
void distribute_allocate_own(struct rows *rows);
/* Gives each of them a row for each iteration of a block, and the loop the bounds of a block. */
void distribute_begin_block(struct rows *rows);
/* What stands in the place of the loop: `inside` runs for each block. */
struct ir_stmt *distribute_end_block(struct rows *rows, struct ir_stmt *inside);

/* ---- pass_distribute_total.c: what is added up of all rows ------------------------------------------- */

enum { DISTRIBUTE_TOTALS = 4 };

struct distribute_totals {
    struct ir_stmt *places[DISTRIBUTE_TOTALS], saved[DISTRIBUTE_TOTALS]; /* statements, and as they were */
    int count;
    int buffers;                         /* of the kernel before */
    struct ir_stmt *allocations, *loops; /* what stands before the loop over rows then, and behind it */
};

/* Whether there were any; the body then stores the terms of each row. */
bool distribute_detach_totals(const struct rows *rows, struct distribute_totals *totals);
/* The body as it was; or what adds them up, around what stands from `place` on up to `next`. */
void distribute_attach_totals(const struct rows *rows, const struct distribute_totals *totals);
void distribute_add_totals(struct distribute_totals *totals, struct ir_stmt **place,
                           const struct ir_stmt *next);

/* The number of the loop's row among those that are kept. */
struct ir_expr *distribute_kept_row(const struct rows *rows);
struct ir_stmt *distribute_allocate(const struct rows *rows, struct ir_buffer *buffer);

#endif
