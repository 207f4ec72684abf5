/*
 * cuda_tile.h: nests that use the same elements again and again, as a product of matrices does, and the tiles
 * that blocks make of them.
 *
 * Consumes a chain of loops that run in any order (cuda_plan.h), whose body accumulates over loops inside:
 *
 *     for i: for j: { var sum = ...; for k: sum = f(sum, A(i, k), B(j, k)); ... }
 *
 * where A and B are any values that hang on k and on only one of i and j. The loops that A hangs on are the
 * rows, those that B hangs on the columns, those that both do (or none) the batches; each of the four may be
 * several loops. Produces a tiling: what lies where. A block takes a square of rows and columns, and goes
 * through the depths in stages: its threads bring A and B of a stage into shared memory, and each thread
 * keeps the sums of a small square in registers. The terms of a sum keep
 * their order; but products of halves are for tensor cores, where a device has them, whose sums have an order
 * of their own.
 */
#ifndef JIT_CUDA_TILE_H
#define JIT_CUDA_TILE_H

#include "cuda_plan.h"

enum {
    CUDA_TERMS = 4,
    CUDA_TILE_UNIT = 64,  /* rows and columns of a tile are this times its parts */
    CUDA_TILE_DEPTH = 16, /* of a stage */
    CUDA_TILE_PARTS = 2,  /* at most */
    CUDA_SPLITS = 8,      /* blocks that share the depths of a tile */
    /* Tiles for tensor cores that work for four warps at once, and the bytes of shared memory of their
     * stages.
     */
    CUDA_WIDE_ROWS = 128,
    CUDA_WIDE_COLUMNS = 256,
    CUDA_WIDE_STAGES = 4,
    CUDA_WIDE_BYTES = CUDA_WIDE_STAGES * (CUDA_WIDE_ROWS + CUDA_WIDE_COLUMNS) * 128 + 1024,
    CUDA_WIDE_ARCHITECTURE = 90
};

enum cuda_axis { CUDA_BATCHES, CUDA_ROWS, CUDA_COLUMNS, CUDA_DEPTHS, CUDA_AXES };

/* What is brought into shared memory. */
struct cuda_term {
    const struct ir_expr *value;
    enum cuda_axis side; /* it hangs on the rows, or on the columns */
    enum cuda_axis runs; /* neighbours in memory are neighbours on that axis: its side, or the depths */
    const struct ir_expr *quads; /* the load in it that can bring four of them at once; NULL: there is none */
    const struct ir_expr
        *half; /* the same value, of float16 or bfloat16, for tensor cores; NULL: it is not */
};

struct cuda_tiling {
    struct cuda_chain axes[CUDA_AXES];
    const struct ir_stmt
        *declared;                /* the VARIABLE that is accumulated; its LETs are taken for their values */
    const struct ir_stmt *depths; /* the outermost loop that accumulates: statements follow it */
    struct ir_expr *before;       /* what the sum begins with */
    const struct ir_expr *combined; /* the new sum, of the sum and the terms */
    akg_dtype dtype;                /* that it is accumulated in: float32 for halves */
    struct cuda_term terms[CUDA_TERMS];
    int count;
    int most_parts; /* what fits into shared memory */
    bool splits;    /* a sum, whose order is free: several blocks may have a part of its depths each */
    bool tf32;      /* the same of float32, whose terms are rounded */
    bool cores;     /* two terms, of the rows and of the columns, whose products tensor cores sum up */
};

/* Elements behind a row in shared memory. */
int cuda_tiling_pad(const struct cuda_tiling *tiling);

/* Whether the chain is such a nest. Expressions are made in the kernel's arena. */
bool cuda_tiling_of(const struct cuda_plan *plan, const struct cuda_chain *chain, struct cuda_tiling *tiling);

/* Which of the ways a call goes, as int64 over dims and attributes: the tiles for `parts` where those are to
 * be used, else 0; for no parts, the iterations of the nest where it runs without tiles, else 0. */
const struct ir_expr *cuda_tiling_work(const struct cuda_plan *plan, const struct cuda_tiling *tiling,
                                       int parts);

/* The wide tiles where those are to be used, else 0. */
const struct ir_expr *cuda_wide_work(const struct cuda_plan *plan, const struct cuda_tiling *tiling);

/* Where blocks share the depths: the tiles' parts, or `sums`, the iterations of the nest; 0 where they do
 * not. */
const struct ir_expr *cuda_split_work(const struct cuda_plan *plan, const struct cuda_tiling *tiling,
                                      bool sums);

#endif
