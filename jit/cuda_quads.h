/*
 * cuda_quads.h: chains of loops whose threads may take four iterations of the innermost one at a time; eight,
 * where all elements are of 16 bits or less.
 *
 * Consumes a chain (cuda_plan.h) whose body holds no loop. What runs along the innermost loop, and is loaded
 * or stored in each iteration, can go in pieces of four elements between memory and registers. Loads of
 * neighbours, as x[i - 1] and x[i + 1], make a window: the piece, and what is left and right of it. Pieces
 * begin where what is stored lies at a multiple of four elements; at the ends of a row they may be cut.
 */
#ifndef JIT_CUDA_QUADS_H
#define JIT_CUDA_QUADS_H

#include "cuda_plan.h"

enum {
    CUDA_QUAD = 4, /* elements that are moved at once */
    CUDA_EIGHT = 8,
    CUDA_QUAD_LOADS = 32,
    CUDA_QUAD_WINDOWS = 12,
    CUDA_QUAD_STORES = 4,
    CUDA_QUAD_WIDEST = 8 /* elements of a window beside the piece */
};

/* Loads of one row of a tensor. The last index is the loop's variable, what hangs on the call only, and a
 * number: the shift. */
struct cuda_window {
    const struct ir_access *access; /* of one of them */
    int64_t shift, low, high;       /* of this one; the least and the largest */
};

struct cuda_quad_load {
    const struct ir_expr *load;
    int window;
    int64_t shift;
};

struct cuda_quads {
    const struct cuda_chain *chain;
    const struct ir_stmt *loop, *body; /* the innermost */
    struct cuda_window windows[CUDA_QUAD_WINDOWS];
    struct cuda_quad_load loads[CUDA_QUAD_LOADS];
    const struct ir_stmt *stores[CUDA_QUAD_STORES];
    int window_count, load_count, store_count;
    int length;    /* of a piece */
    int64_t low;   /* where the loop begins: a number */
    int64_t align; /* pieces begin at values that make a multiple of the length with this, which is less */
    bool flat;     /* the number of an iteration of the chain is that of its elements: rows are no matter */
    bool cut;      /* the first and the last piece of a row may have less than four iterations */
    bool stops;    /* the place of a load may stop the kernel: for all iterations of a piece alike */
};

enum cuda_pieces {
    CUDA_PIECES_ANY,
    CUDA_PIECES_OF_LOOPS, /* the variables of all loops are needed */
    CUDA_PIECES_OF_FOUR,
    CUDA_PIECES_IN_ROW /* (cuda_row.h) of four and whole, and what is loaded is what lies in them */
};

/* What can be done so; false: nothing. */
bool cuda_quads_of(const struct cuda_plan *plan, const struct cuda_step *step, const struct cuda_chain *chain,
                   enum cuda_pieces pieces, struct cuda_quads *quads);

#endif
