/*
 * emit_cuda_warpgroup.c: the stages of a tile for devices whose tensor cores work for four warps at once and
 * take both sides from shared memory (compute capability 9.0).
 *
 * Consumes a tile (emit_cuda_tile.h) of 128 by 256 whose terms are halves. Each group of four warps has 64 of
 * the rows, and all columns. In shared memory a stage lies as the PTX manual's matrix descriptors name it
 * "128-byte swizzle": in blocks of eight lines of 128 bytes, whose pieces of 16 bytes change places with the
 * number of the line. A line has the depths of a row, or column, of the tile where those run along memory;
 * else 64 rows, or columns, at one depth. While the tensor cores work on a stage, the next but one is on its
 * way: the barrier before a stage tells that all are done with the one before the last, whose place it takes.
 */
#include "emit_cuda_tile.h"

enum {
    DEPTH = 64, /* a line, where depths run along memory */
    STAGES = CUDA_WIDE_STAGES,
    STEP = 16,  /* depths of one instruction */
    LINE = 128, /* bytes */
    ALIGNMENT = 8 * LINE,
    COLUMNS_AT = CUDA_WIDE_ROWS * DEPTH * 2, /* the columns of a stage, behind its rows; bytes */
    STAGE = COLUMNS_AT + CUDA_WIDE_COLUMNS * DEPTH * 2,
    BLOCK = DEPTH * LINE, /* of 64 rows or columns at all depths of a stage, where depths do not run along */
    GROUP_ROWS = 64,
    SUMS_PAD = 8 /* two rows of sums that are written together meet no bank twice */
};
_Static_assert(CUDA_WIDE_BYTES == STAGES * STAGE + ALIGNMENT, "what the launch asks for");

/* The sums need their room when the stages are done with. */
static void declare(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    int across = tile->edge[CUDA_COLUMNS] + SUMS_PAD;
    emit_line(emitter, "#ifdef __CUDACC__");
    emit_line(emitter, "extern __shared__ __align__(%d) unsigned char shared_[];", ALIGNMENT);
    emit_line(emitter, "#else");
    emit_line(emitter, "__shared__ unsigned char shared_[%d];", CUDA_WIDE_BYTES);
    emit_line(emitter, "#endif");
    emit_line(emitter,
              "unsigned char *const stages_ = shared_ + (%d - (unsigned long long)shared_ %% %d) %% %d;",
              ALIGNMENT, ALIGNMENT, ALIGNMENT);
    emit_line(emitter, "float (*const sums_)[%d] = (float (*)[%d])(void *)stages_;", across, across);
    emit_cuda_lie_well(tile);
}

static int term_at(const struct cuda_term *term)
{
    return term->side == CUDA_ROWS ? 0 : COLUMNS_AT;
}

static const char *place(struct cuda_tile *tile, int number, const char *row, const char *piece)
{
    const struct cuda_term *term = &tile->tiling->terms[number];
    struct arena *arena = &tile->cuda->emitter.arena;
    const char *in = cuda_runs_along(term)
                         ? arena_format(arena, "%s * %d + (%s ^ %s %% 8) * 16", row, LINE, piece, row)
                         : arena_format(arena, "%s / 8 * %d + %s * %d + (%s %% 8 ^ %s %% 8) * 16", piece,
                                        BLOCK, row, LINE, piece, row);
    return arena_format(arena, "(unsigned int *)(void *)(stages_ + slot_ * %d + %d + %s)", STAGE,
                        term_at(term), in);
}

/* Where the matrix of a step begins: from the row, or column, `first` on. */
static const char *matrix(struct cuda_tile *tile, const struct cuda_term *term, const char *first)
{
    struct arena *arena = &tile->cuda->emitter.arena;
    if (cuda_runs_along(term))
        return arena_format(arena, "stages_ + slot_ * %d + %d + %s * %d + step_ * %d", STAGE, term_at(term),
                            first, LINE, STEP * 2);
    return arena_format(arena, "stages_ + slot_ * %d + %d + %s / %d * %d + step_ * %d", STAGE, term_at(term),
                        first, GROUP_ROWS, BLOCK, STEP * LINE);
}

/* The stage in `slot_`: all its products are on their way then. */
static void emit_products(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_term *terms = tile->tiling->terms;
    int rows = terms[0].side != CUDA_ROWS;
    emit_line(emitter, "akg_group_begin();");
    emit_cuda_unrolled(tile, "step_", DEPTH / STEP);
    emit_line(emitter, "akg_group_%s_%d%d(&sum_[0][0], %s, %s);", dtype_table[terms[0].half->dtype].name,
              !cuda_runs_along(&terms[rows]), !cuda_runs_along(&terms[!rows]),
              matrix(tile, &terms[rows], arena_format(&emitter->arena, "warp_ / 4 * %d", GROUP_ROWS)),
              matrix(tile, &terms[!rows], "0"));
    emit_cuda_end(tile);
    emit_line(emitter, "akg_group_end();");
}

static void emit_begin(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "__syncthreads();"); /* the sums of the tile before lie there */
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int slot_ = 0; slot_ < %d; slot_++) {", STAGES - 2);
    emitter->indent++;
    emit_line(emitter, "const int from_ = %s + slot_ * %d;", tile->begin, DEPTH);
    emit_cuda_bring(tile);
    emit_cuda_end(tile);
    emit_line(emitter, "int at_ = 0;");
}

static void stages(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_begin(tile);
    emit_line(emitter, "for (int stage_ = %s; stage_ < depths_; stage_ += %d) {", tile->begin, DEPTH);
    emitter->indent++;
    emit_line(emitter, "akg_wait_%d();", STAGES - 3);
    emit_line(emitter, "akg_show_cores();");
    emit_line(emitter, "__syncthreads();");
    emit_line(emitter, "{");
    emitter->indent++;
    emit_line(emitter, "const int slot_ = at_;");
    emit_products(tile);
    emit_cuda_end(tile);
    emit_line(emitter, "{");
    emitter->indent++;
    emit_line(emitter, "const int from_ = stage_ + %d, slot_ = (at_ + %d) %% %d;", (STAGES - 2) * DEPTH,
              STAGES - 2, STAGES);
    emit_cuda_bring(tile);
    emit_cuda_end(tile);
    emit_line(emitter, "akg_group_wait_1();");
    emit_line(emitter, "at_ = (at_ + 1) %% %d;", STAGES);
    emit_cuda_end(tile);
    emit_line(emitter, "akg_group_wait_0();");
}

const struct cuda_way cuda_warpgroup_way = {.warps_across = 1,
                                            .lanes_across = 4,
                                            .rows = 1,
                                            .columns = 2,
                                            .depth = DEPTH,
                                            .declare = declare,
                                            .stages = stages,
                                            .place = place};
