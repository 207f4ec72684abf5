/*
 * emit_cuda_tile.h: what the files share that emit tiles (cuda_tile.h).
 */
#ifndef JIT_EMIT_CUDA_TILE_H
#define JIT_EMIT_CUDA_TILE_H

#include "emit_cuda_private.h"

struct cuda_tile;

/*
 * How a tile is computed. Warps lie side by side over it, and so do lanes over what a warp has; a thread has
 * a few rows and columns next to each other, and the same again where all lanes have theirs.
 */
struct cuda_way {
    int warps_across, lanes_across;
    int rows, columns; /* of a thread, next to each other */
    int depth;         /* of a stage of halves in pieces (emit_cuda_pieces.c) */
    /* Shared memory for the terms and for `sums_`, and which terms lie well. */
    void (*declare)(struct cuda_tile *tile);
    /* Adds up all depths of a tile. */
    void (*stages)(struct cuda_tile *tile);
    /* Where in shared memory a piece of a term lies, in the stage `slot_`: an address. */
    const char *(*place)(struct cuda_tile *tile, int number, const char *row, const char *piece);
};
extern const struct cuda_way cuda_plain_way, cuda_cores_way, cuda_tf32_way, cuda_warpgroup_way;

struct cuda_tile {
    struct cuda_emitter *cuda;
    const struct cuda_step *step;
    const struct cuda_tiling *tiling;
    const struct cuda_way *way;
    struct cuda_loop_texts loops[CUDA_AXES][CUDA_CHAIN];
    const char *begin;                    /* the first depth */
    int edge[CUDA_AXES], each[CUDA_AXES]; /* rows, and columns, of a tile and of a thread */
};

/* From rows, or columns, of a thread that lie next to each other to the next such ones. */
static inline int cuda_rows_apart(const struct cuda_way *way)
{
    return 32 / way->lanes_across * way->rows;
}

static inline int cuda_columns_apart(const struct cuda_way *way)
{
    return way->lanes_across * way->columns;
}

/* "rows_", and so on: how many there are. */
extern const char *const cuda_axis_names[CUDA_AXES];

/* An unrolled loop, to be ended. */
void emit_cuda_unrolled(struct cuda_tile *tile, const char *name, int count);
void emit_cuda_end(struct cuda_tile *tile);
/* The variables of an axis from the number of its iteration. */
void emit_cuda_axis(struct cuda_tile *tile, enum cuda_axis axis, const char *number);
/* Four elements into (put) or out of (take) shared memory. */
void emit_cuda_quad(struct cuda_tile *tile, const char *how, akg_dtype dtype, const char *to,
                    const char *from);

/* Declares `well0_` and so on: whether so many elements of the load in a term can be moved at once. */
void emit_cuda_lies_well(struct cuda_tile *tile, int number, int count);
/* `sums_`: a row of it for all lanes that have one row in common. */
void emit_cuda_declare_sums(struct cuda_tile *tile);
void emit_cuda_terms(struct cuda_tile *tile, void (*emit)(struct cuda_tile *tile, int number));

/* Terms of halves in pieces: which of them lie well; how many pieces are in a row of shared memory; and the
 * stage at `from_` on its way into `slot_`, if there is one, as a group of its own. */
void emit_cuda_lie_well(struct cuda_tile *tile);
int cuda_row_pieces(const struct cuda_tile *tile, const struct cuda_term *term);
void emit_cuda_bring(struct cuda_tile *tile);

/* "top_" or "left_": the first row, or column, of the tile. */
static inline const char *cuda_corner(const struct cuda_term *term)
{
    return term->side == CUDA_ROWS ? "top_" : "left_";
}

/* Halves that are brought together: 16 bytes. */
enum { CUDA_PIECE = 8 };

static inline bool cuda_runs_along(const struct cuda_term *term)
{
    return term->runs == CUDA_DEPTHS;
}

#endif
