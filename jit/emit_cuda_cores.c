/*
 * emit_cuda_cores.c: a stage of a tile for tensor cores: products of halves, summed up in float32.
 *
 * Consumes a tile (emit_cuda_tile.h) whose terms are halves. Words of shared memory hold the halves of two
 * depths; for each two depths lie the words of all rows, or columns, of the tile. So both factors look alike,
 * however they lie in memory, and what the instruction wants of a thread are single words, no two of a warp
 * in one bank. Depths behind the end are zeros.
 */
#include "emit_cuda_tile.h"

enum { WORDS = CUDA_TILE_DEPTH, STEP = 8 }; /* words of a stage, and of an instruction, one behind another */

/* ---- from memory to registers ---------------------------------------------------------------- */

static void declare(struct cuda_tile *tile, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "__shared__ __align__(16) unsigned int term%d_[2][%d][%d];", number, WORDS,
              tile->edge + CUDA_CORES_PAD);
    emit_line(emitter, "unsigned int next%d_[%d][%d];", number, tile->step->parts, CUDA_QUAD);
}

/* Where in the tile of the stage a thread's four words begin. */
static void emit_place(struct cuda_tile *tile, const struct cuda_term *term)
{
    bool along = cuda_runs_along(term);
    int across = (along ? WORDS : tile->edge) / CUDA_QUAD;
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "const int place_ = (int)threadIdx.x + %d * turn_;", CUDA_THREADS);
    emit_line(emitter, "const int %s = place_ %% %d * %d, %s = place_ / %d;", along ? "word_in_" : "side_in_",
              across, CUDA_QUAD, along ? "side_in_" : "word_in_", across);
}

/* What follows is done with the loops' variables at a row, or column, and a depth that is not behind the end.
 */
static void emit_where(struct cuda_tile *tile, const struct cuda_term *term, const char *side, int last,
                       const char *depth)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "const int depth_ = from_ + %s;", depth);
    emit_line(emitter, "if (depth_ < depths_) {");
    emitter->indent++;
    emit_line(emitter, "const int side_ = akg_least(%s + %s, %s - %d);", cuda_corner(term), side,
              cuda_axis_names[term->side], last);
    emit_cuda_axis(tile, term->side, "side_");
    emit_cuda_axis(tile, CUDA_DEPTHS, "depth_");
}

/* A load of the tensor as it is; whether its pieces lie well is known as `eights` or `quads`. */
static bool is_whole_load(const struct cuda_term *term)
{
    return term->quads && term->half == term->quads;
}

/* Eight depths, which are four words, at once. */
static void emit_fetch_along(struct cuda_tile *tile, const struct cuda_term *term, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_where(tile, term, "side_in_", 1, "word_in_ * 2");
    emit_line(emitter, "akg_take_words(next%d_[turn_], &%s);", number,
              emit_access(emitter, &term->quads->access).text);
    emit_cuda_end(tile);
}

/* Four rows, or columns, of two depths: the halves of the first in two words, those of the second in two. */
static void emit_fetch_across(struct cuda_tile *tile, const struct cuda_term *term, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_cuda_unrolled(tile, "part_", 2);
    emit_where(tile, term, "side_in_", CUDA_QUAD, "word_in_ * 2 + part_");
    emit_line(emitter, "akg_take_pair(&next%d_[turn_][part_ * 2], &%s);", number,
              emit_access(emitter, &term->quads->access).text);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* The same one by one. */
static void emit_fetch_each(struct cuda_tile *tile, const struct cuda_term *term, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    bool along = cuda_runs_along(term);
    emit_cuda_unrolled(tile, "one_", 2 * CUDA_QUAD);
    emit_where(tile, term, along ? "side_in_" : "side_in_ + one_ % 4", 1,
               along ? "word_in_ * 2 + one_" : "word_in_ * 2 + one_ / 4");
    struct emit_value value = emit_shallow(emitter, term->half);
    emit_line(emitter, "next%d_[turn_][one_ / 2] |= (unsigned int)%s << 16 * (one_ %% 2);", number,
              emit_operand(emitter, emit_made(0, emit_stored(emitter, term->half->dtype, value), EMIT_CHOICE),
                           EMIT_UNARY));
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

static void fetch(struct cuda_tile *tile, int number)
{
    const struct cuda_term *term = &tile->tiling->terms[number];
    struct emitter *emitter = &tile->cuda->emitter;
    bool along = cuda_runs_along(term), whole = is_whole_load(term);
    emit_cuda_unrolled(tile, "turn_", tile->step->parts);
    emit_place(tile, term);
    emit_line(emitter, "for (int one_ = 0; one_ < %d; one_++)", CUDA_QUAD);
    emit_line(emitter, "    next%d_[turn_][one_] = 0;", number);
    if (whole) {
        emit_line(emitter, "if (%s%d_) {", along ? "eights" : "quads", number);
        emitter->indent++;
        (along ? emit_fetch_along : emit_fetch_across)(tile, term, number);
        emitter->indent--;
        emit_line(emitter, "} else {");
        emitter->indent++;
    }
    emit_fetch_each(tile, term, number);
    if (whole)
        emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* ---- from registers to shared memory ----------------------------------------------------------- */

static void put(struct cuda_tile *tile, int number)
{
    const struct cuda_term *term = &tile->tiling->terms[number];
    struct emitter *emitter = &tile->cuda->emitter;
    emit_cuda_unrolled(tile, "turn_", tile->step->parts);
    emit_place(tile, term);
    if (cuda_runs_along(term)) {
        emit_cuda_unrolled(tile, "one_", CUDA_QUAD);
        emit_line(emitter, "term%d_[half_][word_in_ + one_][side_in_] = next%d_[turn_][one_];", number,
                  number);
        emit_cuda_end(tile);
    } else {
        emit_line(emitter, "unsigned int words_[%d];", CUDA_QUAD);
        emit_cuda_unrolled(tile, "one_", 2);
        emit_line(emitter,
                  "const unsigned int first_ = next%d_[turn_][one_], second_ = next%d_[turn_][one_ + 2];",
                  number, number);
        emit_line(emitter, "words_[one_ * 2] = (first_ & 0xffffu) | second_ << 16;");
        emit_line(emitter, "words_[one_ * 2 + 1] = first_ >> 16 | (second_ & 0xffff0000u);");
        emit_cuda_end(tile);
        emit_line(emitter, "akg_put_words(&term%d_[half_][word_in_][side_in_], words_);", number);
    }
    emit_cuda_end(tile);
}

/* ---- computing ---------------------------------------------------------------------------------- */

/* What the instruction wants of a thread, of each 16 rows and each 8 columns of a warp. */
static void emit_fragments(struct cuda_tile *tile, int rows, int columns)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "unsigned int rows_of_[%d][4], columns_of_[%d][2];", tile->each / 2, tile->each / 2);
    emit_cuda_unrolled(tile, "row_", tile->each / 2);
    emit_cuda_unrolled(tile, "word_", 4);
    emit_line(emitter,
              "rows_of_[row_][word_] = term%d_[half_][at_ + lane_ %% 4 + word_ / 2 * 4]"
              "[my_row_ + row_ * 16 + word_ %% 2 * 8];",
              rows);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
    emit_cuda_unrolled(tile, "column_", tile->each / 2);
    emit_cuda_unrolled(tile, "word_", 2);
    emit_line(emitter,
              "columns_of_[column_][word_] = term%d_[half_][at_ + lane_ %% 4 + word_ * 4]"
              "[my_column_ - lane_ %% 4 * 2 + column_ * 8 + lane_ / 4];",
              columns);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

static void accumulate(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_term *terms = tile->tiling->terms;
    int rows = terms[0].side == CUDA_ROWS ? 0 : 1;
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int at_ = 0; at_ < %d; at_ += %d) {", WORDS, STEP);
    emitter->indent++;
    emit_fragments(tile, rows, 1 - rows);
    emit_cuda_unrolled(tile, "row_", tile->each / 2);
    emit_cuda_unrolled(tile, "column_", tile->each / 2);
    emit_line(emitter,
              "akg_product_%s(&sum_[row_ * 2][column_ * 2], &sum_[row_ * 2 + 1][column_ * 2], "
              "rows_of_[row_], columns_of_[column_]);",
              dtype_table[terms[0].half->dtype].name);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

const struct cuda_way cuda_cores_way = {.warps_across = 4,
                                        .lanes_across = 4,
                                        .rows = 1,
                                        .columns = 2,
                                        .depth = 2 * WORDS,
                                        .declare = declare,
                                        .fetch = fetch,
                                        .put = put,
                                        .accumulate = accumulate};
