/*
 * emit_cuda_pieces.c: terms of halves, brought into shared memory in pieces of eight.
 *
 * Consumes a tile (emit_cuda_tile.h) whose terms are halves. In shared memory a stage lies in rows as it does
 * in memory: a row for each depth, or for each row or column of the tile; where a row's pieces lie is the
 * way's to say. Where tensors lie well, pieces are copied asynchronously. Depths behind the end are zeros.
 */
#include "emit_cuda_tile.h"

void emit_cuda_lie_well(struct cuda_tile *tile)
{
    for (int k = 0; k < 2; k++)
        if (tile->tiling->terms[k].quads == tile->tiling->terms[k].half)
            emit_cuda_lies_well(tile, k, CUDA_PIECE);
}

int cuda_row_pieces(const struct cuda_tile *tile, const struct cuda_term *term)
{
    return (cuda_runs_along(term) ? tile->way->depth : tile->edge[term->side]) / CUDA_PIECE;
}

/* The loops' variables at a row, or column, and a depth of the piece; those behind the end are the last ones.
 */
static void emit_variables(struct cuda_tile *tile, const struct cuda_term *term, int along, const char *one)
{
    struct emitter *emitter = &tile->cuda->emitter;
    bool runs = cuda_runs_along(term);
    emit_line(emitter, "const int depth_ = akg_least(from_ + %s%s, depths_ - %d);",
              runs ? "piece_ * 8" : "line_", runs ? one : "", runs ? along : 1);
    emit_line(emitter, "const int side_ = akg_least(%s + %s%s, %s - %d);", cuda_corner(term),
              runs ? "line_" : "piece_ * 8", runs ? "" : one, cuda_axis_names[term->side], runs ? 1 : along);
    emit_cuda_axis(tile, term->side, "side_");
    emit_cuda_axis(tile, CUDA_DEPTHS, "depth_");
}

/* A piece of which each half is computed. */
static void emit_halves(struct cuda_tile *tile, const struct cuda_term *term)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "unsigned int words_[4] = {0, 0, 0, 0};");
    emit_cuda_unrolled(tile, "one_", CUDA_PIECE);
    emit_variables(tile, term, 1, " + one_");
    emit_line(emitter, "if (from_ + %s < depths_) {", cuda_runs_along(term) ? "piece_ * 8 + one_" : "line_");
    emitter->indent++;
    struct emit_value value = emit_shallow(emitter, term->half);
    emit_line(emitter, "words_[one_ / 2] |= (unsigned int)(%s) << 16 * (one_ %% 2);",
              emit_stored(emitter, term->half->dtype, value));
    emit_cuda_end(tile);
    emit_cuda_end(tile);
    emit_line(emitter, "akg_put_words(to_, words_);");
}

/* Which piece a thread has in turn `turn_`, and where it goes. */
static void emit_piece(struct cuda_tile *tile, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    int pieces = cuda_row_pieces(tile, &tile->tiling->terms[number]);
    emit_line(emitter, "const int place_ = (int)threadIdx.x + %d * turn_;", CUDA_THREADS);
    emit_line(emitter, "const int piece_ = place_ %% %d, line_ = place_ / %d;", pieces, pieces);
    emit_line(emitter, "unsigned int *const to_ = %s;", tile->way->place(tile, number, "line_", "piece_"));
}

/* The stage at `from_` into `slot_`. Where a tensor that could lie well does not, small code will do. */
static void bring(struct cuda_tile *tile, int number)
{
    const struct cuda_term *term = &tile->tiling->terms[number];
    struct emitter *emitter = &tile->cuda->emitter;
    bool whole = term->quads == term->half;
    int turns = tile->edge[term->side] * tile->way->depth / CUDA_PIECE / CUDA_THREADS;
    if (whole) {
        emit_line(emitter, "if (well%d_) {", number);
        emitter->indent++;
        emit_cuda_unrolled(tile, "turn_", turns);
        emit_piece(tile, number);
        emit_variables(tile, term, CUDA_PIECE, "");
        emit_line(emitter, "akg_bring(to_, &%s, from_ + %s < depths_ ? 16 : 0);",
                  emit_access(emitter, &term->quads->access).text,
                  cuda_runs_along(term) ? "piece_ * 8" : "line_");
        emit_cuda_end(tile);
        emitter->indent--;
        emit_line(emitter, "} else {");
        emitter->indent++;
        emit_line(emitter, "#pragma unroll 1");
        emit_line(emitter, "for (int turn_ = 0; turn_ < %d; turn_++) {", turns);
        emitter->indent++;
    } else {
        emit_cuda_unrolled(tile, "turn_", turns);
    }
    emit_piece(tile, number);
    emit_halves(tile, term);
    if (whole)
        emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* A stage, if there is one; what is on its way of it is a group of its own. */
void emit_cuda_bring(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "if (from_ < depths_) {");
    emitter->indent++;
    bring(tile, 0);
    bring(tile, 1);
    emit_cuda_end(tile);
    emit_line(emitter, "akg_group();");
}
