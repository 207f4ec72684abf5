/*
 * emit_cuda_cores.c: the stages of a tile for tensor cores: products of halves, summed up in float32.
 *
 * Consumes a tile (emit_cuda_tile.h) whose terms are halves. A stage lies in shared memory in pieces of eight
 * halves, in rows as they lie in memory: a row for each depth, or for each row or column of the tile. The
 * pieces of a row change places with the number of the row, so that a warp finds in banks of their own both
 * what it writes and what it reads. Where tensors lie well, the pieces are copied asynchronously, two stages
 * ahead of the one that is computed with. Depths behind the end are zeros.
 */
#include "emit_cuda_tile.h"

enum { DEPTH = 32, STAGES = 3, STEPS = DEPTH / 16 };

static const char *const indent_names[2] = {"row_", "column_"};

/* ---- shared memory ----------------------------------------------------------------------------- */

/* The sums need their room when the stages are done with. */
static void declare(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    for (int k = 0; k < 2; k++)
        emit_line(emitter, "__shared__ __align__(16) unsigned int term%d_[%d][%d];", k, STAGES,
                  tile->edge[tile->tiling->terms[k].side] * DEPTH / 2);
    emit_line(emitter, "float (*const sums_)[%d] = (float (*)[%d])(void *)term0_;", tile->edge[CUDA_COLUMNS],
              tile->edge[CUDA_COLUMNS]);
    emit_cuda_lie_well(tile);
}

/* Eight rows that are read together have all eight places of 16 bytes that 32 banks have; rows of 64 bytes
 * lie in them two by two. */
static const char *place(struct cuda_tile *tile, int number, const char *row, const char *piece)
{
    const struct cuda_term *term = &tile->tiling->terms[number];
    struct arena *arena = &tile->cuda->emitter.arena;
    const char *turned = cuda_runs_along(term) ? arena_format(arena, "(%s) / 2 %% 4", row)
                                               : arena_format(arena, "(%s) %% 8", row);
    return arena_format(arena, "&term%d_[slot_][((%s) * %d + ((%s) ^ %s)) * 4]", number, row,
                        cuda_row_pieces(tile, term), piece, turned);
}

/* ---- computing ---------------------------------------------------------------------------------- */

/* Four matrices of 8 by 8 at once: of 16 rows and 16 depths, or of 16 columns and 16 depths. Each lane names
 * a row of one. Rows are wanted as (rows, depths), first by rows; columns as (columns, depths), first by
 * depths. */
static void emit_matrices(struct cuda_tile *tile, int number)
{
    const struct cuda_term *term = &tile->tiling->terms[number];
    const struct cuda_way *way = tile->way;
    struct emitter *emitter = &tile->cuda->emitter;
    struct arena *arena = &emitter->arena;
    bool rows = term->side == CUDA_ROWS, along = cuda_runs_along(term);
    const char *name = indent_names[!rows];
    const char *side = rows ? "lane_ / 8 % 2" : "lane_ / 16", *depth = rows ? "lane_ / 16" : "lane_ / 8 % 2";
    const char *first = rows ? arena_format(arena, "warp_ / %d * %d + %s * 16", way->warps_across,
                                            32 / way->lanes_across * tile->each[CUDA_ROWS], name)
                             : arena_format(arena, "warp_ %% %d * %d + %s * 16", way->warps_across,
                                            way->lanes_across * tile->each[CUDA_COLUMNS], name);
    const char *line = along ? arena_format(arena, "%s + %s * 8 + lane_ %% 8", first, side)
                             : arena_format(arena, "step_ * 16 + %s * 8 + lane_ %% 8", depth);
    const char *piece = along ? arena_format(arena, "step_ * 2 + %s", depth)
                              : arena_format(arena, "(%s) / 8 + %s", first, side);
    int count = tile->each[term->side] / (rows ? 2 : 4);
    emit_cuda_unrolled(tile, name, count);
    emit_line(emitter, "akg_matrices%s(%ss_of_[%s], %s);", along ? "" : "_turned", rows ? "row" : "column",
              name, place(tile, number, line, piece));
    emit_cuda_end(tile);
}

/* The stage in `slot_`. */
static void emit_accumulate(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_term *terms = tile->tiling->terms;
    emit_cuda_unrolled(tile, "step_", STEPS);
    emit_line(emitter, "unsigned int rows_of_[%d][4], columns_of_[%d][4];", tile->each[CUDA_ROWS] / 2,
              tile->each[CUDA_COLUMNS] / 4);
    emit_matrices(tile, 0);
    emit_matrices(tile, 1);
    emit_cuda_unrolled(tile, "row_", tile->each[CUDA_ROWS] / 2);
    emit_cuda_unrolled(tile, "column_", tile->each[CUDA_COLUMNS] / 2);
    emit_line(emitter,
              "akg_product_%s(&sum_[row_ * 2][column_ * 2], &sum_[row_ * 2 + 1][column_ * 2], "
              "rows_of_[row_], &columns_of_[column_ / 2][column_ %% 2 * 2]);",
              dtype_table[terms[0].half->dtype].name);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* The barrier before a stage is computed with tells also that all are done with the one before, whose place
 * the next one takes. The first one is for the sums of the tile before. */
static void stages(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "__syncthreads();");
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int slot_ = 0; slot_ < %d; slot_++) {", STAGES - 1);
    emitter->indent++;
    emit_line(emitter, "const int from_ = %s + slot_ * %d;", tile->begin, DEPTH);
    emit_cuda_bring(tile);
    emit_cuda_end(tile);
    emit_line(emitter, "int at_ = 0;");
    emit_line(emitter, "for (int stage_ = %s; stage_ < depths_; stage_ += %d) {", tile->begin, DEPTH);
    emitter->indent++;
    emit_line(emitter, "akg_wait_%d();", STAGES - 2);
    emit_line(emitter, "__syncthreads();");
    emit_line(emitter, "{");
    emitter->indent++;
    emit_line(emitter, "const int from_ = stage_ + %d, slot_ = at_ == 0 ? %d : at_ - 1;",
              (STAGES - 1) * DEPTH, STAGES - 1);
    emit_cuda_bring(tile);
    emit_cuda_end(tile);
    emit_line(emitter, "const int slot_ = at_;");
    emit_accumulate(tile);
    emit_line(emitter, "at_ = at_ == %d ? 0 : at_ + 1;", STAGES - 1);
    emit_cuda_end(tile);
}

const struct cuda_way cuda_cores_way = {.warps_across = 4,
                                        .lanes_across = 4,
                                        .rows = 1,
                                        .columns = 2,
                                        .depth = DEPTH,
                                        .declare = declare,
                                        .stages = stages,
                                        .place = place};
