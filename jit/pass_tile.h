/*
 * pass_tile.h: between pass_tile.c, which makes copies and blocks, and pass_tile_nest.c, which finds what
 * they are made of.
 */
#ifndef JIT_PASS_TILE_H
#define JIT_PASS_TILE_H

#include "pass.h"

enum { TILE_TERMS = 4 };

/* What is copied. */
struct tile_term {
    const struct ir_expr *value;
    bool by_row;        /* hangs on the rows, else on the columns */
    bool is_transposed; /* of rows: those of one k lie side by side */
    bool is_across;     /* and so they do in the copy */
    bool needs_copy;    /* of columns: they do not lie side by side */
    struct ir_buffer *copy;
};

struct tile_nest {
    struct pass *pass;
    struct ir_stmt *rows, *columns, *depths;
    struct tile_term terms[TILE_TERMS];
    int count;
    bool fails;
    int64_t width;                        /* columns of a panel */
    struct ir_symbol *panel, *left, *top; /* of the panel; its first column; the first row of the block */
    struct ir_stmt *sum, *store;          /* where k is split: what is accumulated, and stored in between */
    struct ir_symbol *near, *far;         /* the ends of the stretch; NULL: it is all of k */
};

/* Whether the statement is two loops and one inside, with something to copy on either side. */
bool tile_find_nest(struct pass *pass, struct ir_stmt *stmt, struct tile_nest *nest);

/* Whether the statement is a loop over columns and one inside that sums down them, of what lies side by side
 * along the columns and is used by no other iteration of the loops around. `rows` are the columns, too. */
bool tile_find_columns(struct pass *pass, struct ir_stmt *stmt, const struct pass_around *around,
                       struct tile_nest *nest);

/* Whether the loops over rows and columns are parallel. Makes an analysis of dependences. */
bool tile_is_parallel(const struct tile_nest *nest);

/* ---- pass_tile_turn.c ---- */

/* Turned copies of what lies across, for a nest of known extents; false: it is none of these, or they do not
 * pay. `pays`: even if they are made for it alone. */
bool tile_turn(struct tile_nest *nest, const struct pass_around *around, bool pays);
/* The statements in the place of one that comes behind them now; gives that. */
struct ir_stmt *tile_put_before(struct pass *pass, struct ir_stmt *stmt, struct ir_stmt *before);

/* ---- pass_tile_nest.c ---- */

/* The only loop of a block of simple statements; NULL: there is none, or more. */
struct ir_stmt *tile_only_loop(struct ir_stmt *block);

/* Of a loop with the bounds of a block, `first` and min(..., first + size): what the size is at most, over
 * extents and attributes. NULL: it is no such loop. */
struct ir_expr *tile_block_size(const struct tile_nest *nest, const struct ir_stmt *loop);

#endif
