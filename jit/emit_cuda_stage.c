/*
 * emit_cuda_stage.c: the stages of a tile, for any terms and any way to combine them.
 *
 * Consumes a tile (emit_cuda_tile.h). The threads bring a stage into registers while they still compute with
 * the one before, and put it into the other half of shared memory. In shared memory lies, for each depth,
 * what a term has for all rows, or columns, of the tile. Depths behind the end are never computed with, since
 * the last stage stops where they do; what stands in their place, and in that of rows and columns behind the
 * end, is what the last ones have.
 */
#include "emit_cuda_tile.h"

/* ---- from memory to registers ---------------------------------------------------------------- */

static void declare_term(struct cuda_tile *tile, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const char *type = emit_type(tile->tiling->terms[number].value->dtype);
    emit_line(emitter, "__shared__ __align__(16) %s term%d_[2][%d][%d];", type, number, CUDA_TILE_DEPTH,
              tile->edge[tile->tiling->terms[number].side] + cuda_tiling_pad(tile->tiling));
    emit_line(emitter, "%s next%d_[%d][%d];", type, number, tile->step->parts, CUDA_QUAD);
}

static void declare(struct cuda_tile *tile)
{
    emit_cuda_declare_sums(tile);
    emit_cuda_terms(tile, declare_term);
    for (int k = 0; k < tile->tiling->count; k++)
        if (tile->tiling->terms[k].quads)
            emit_cuda_lies_well(tile, k, CUDA_QUAD);
}

/* Where in the tile of the stage a thread's quad begins. */
static void emit_place(struct cuda_tile *tile, const struct cuda_term *term)
{
    bool along = cuda_runs_along(term);
    int across = (along ? CUDA_TILE_DEPTH : tile->edge[term->side]) / CUDA_QUAD;
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "const int place_ = (int)threadIdx.x + %d * turn_;", CUDA_THREADS);
    emit_line(emitter, "const int %s = place_ %% %d * %d, %s = place_ / %d;",
              along ? "depth_in_" : "side_in_", across, CUDA_QUAD, along ? "side_in_" : "depth_in_", across);
}

/* The loops' variables for an element of the term, or for the first of a quad. */
static void emit_variables(struct cuda_tile *tile, const struct cuda_term *term, bool quad)
{
    struct emitter *emitter = &tile->cuda->emitter;
    bool along = cuda_runs_along(term);
    const char *step = quad ? "" : " + one_";
    emit_line(emitter, "const int side_ = akg_least(%s + side_in_%s, %s - %d);", cuda_corner(term),
              along ? "" : step, cuda_axis_names[term->side], quad && !along ? CUDA_QUAD : 1);
    emit_line(emitter, "const int depth_ = akg_least(from_ + depth_in_%s, depths_ - %d);", along ? step : "",
              quad && along ? CUDA_QUAD : 1);
    emit_cuda_axis(tile, term->side, "side_");
    emit_cuda_axis(tile, CUDA_DEPTHS, "depth_");
}

static void emit_value_of(struct cuda_tile *tile, const struct cuda_term *term, const char *to)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "%s = %s;", to, emit_shallow(emitter, term->value).text);
}

static void substitute(struct cuda_emitter *cuda, const struct ir_expr *expr, struct emit_value value)
{
    cuda->substitutes[cuda->substitute_count++] = (struct cuda_substitute){expr, value};
}

/* Four elements by one load, where that can be done. */
static void emit_fetch_quad(struct cuda_tile *tile, const struct cuda_term *term, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct ir_access *access = &term->quads->access;
    akg_dtype dtype = access->buffer->dtype;
    emit_line(emitter, "if (well%d_) {", number);
    emitter->indent++;
    emit_variables(tile, term, true);
    emit_line(emitter, "%s quad_[%d];", dtype_table[dtype].c_storage, CUDA_QUAD);
    emit_line(emitter, "akg_take_%d(quad_, &%s);", 8 * dtype_table[dtype].size,
              emit_access(emitter, access).text);
    for (int k = 0; k < CUDA_QUAD; k++) {
        struct emit_value one = emit_name(arena_format(&emitter->arena, "quad_[%d]", k));
        substitute(tile->cuda, term->quads, emit_loaded(emitter, dtype, one));
        emit_value_of(tile, term, arena_format(&emitter->arena, "next%d_[turn_][%d]", number, k));
        tile->cuda->substitute_count = 0;
    }
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
}

static void fetch(struct cuda_tile *tile, int number)
{
    const struct cuda_term *term = &tile->tiling->terms[number];
    struct emitter *emitter = &tile->cuda->emitter;
    emit_cuda_unrolled(tile, "turn_", tile->step->parts);
    emit_place(tile, term);
    if (term->quads)
        emit_fetch_quad(tile, term, number);
    emit_cuda_unrolled(tile, "one_", CUDA_QUAD);
    emit_variables(tile, term, false);
    emit_value_of(tile, term, arena_format(&emitter->arena, "next%d_[turn_][one_]", number));
    emit_cuda_end(tile);
    if (term->quads)
        emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* ---- from registers to shared memory ----------------------------------------------------------- */

/* As tensor cores take it, with zeros behind the last depth. */
static void emit_rounding(struct cuda_tile *tile, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_cuda_unrolled(tile, "one_", CUDA_QUAD);
    emit_line(emitter,
              "next%d_[turn_][one_] = from_ + depth_in_%s < depths_ ? akg_tf32(next%d_[turn_][one_]) : 0;",
              number, cuda_runs_along(&tile->tiling->terms[number]) ? " + one_" : "", number);
    emit_cuda_end(tile);
}

static void put(struct cuda_tile *tile, int number)
{
    const struct cuda_term *term = &tile->tiling->terms[number];
    struct emitter *emitter = &tile->cuda->emitter;
    emit_cuda_unrolled(tile, "turn_", tile->step->parts);
    emit_place(tile, term);
    if (tile->way == &cuda_tf32_way)
        emit_rounding(tile, number);
    if (cuda_runs_along(term)) {
        emit_cuda_unrolled(tile, "one_", CUDA_QUAD);
        emit_line(emitter, "term%d_[half_][depth_in_ + one_][side_in_] = next%d_[turn_][one_];", number,
                  number);
        emit_cuda_end(tile);
    } else {
        emit_cuda_quad(tile, "put", term->value->dtype,
                       arena_format(&emitter->arena, "term%d_[half_][depth_in_][side_in_]", number),
                       arena_format(&emitter->arena, "next%d_[turn_][0]", number));
    }
    emit_cuda_end(tile);
}

/* ---- computing ---------------------------------------------------------------------------------- */

/* What a thread has of one term for one depth. */
static void emit_own(struct cuda_tile *tile, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_term *term = &tile->tiling->terms[number];
    bool rows = term->side == CUDA_ROWS;
    int apart = rows ? cuda_rows_apart(tile->way) : cuda_columns_apart(tile->way);
    emit_line(emitter, "%s own%d_[%d];", emit_type(term->value->dtype), number, tile->each[term->side]);
    emit_cuda_unrolled(tile, "part_", tile->step->parts);
    emit_cuda_quad(tile, "take", term->value->dtype,
                   arena_format(&emitter->arena, "own%d_[part_ * %d]", number, CUDA_QUAD),
                   arena_format(&emitter->arena, "term%d_[half_][at_][%s + part_ * %d]", number,
                                rows ? "my_row_" : "my_column_", apart));
    emit_cuda_end(tile);
}

/* The sums of a thread, with the terms at depth `at_` of the stage. */
static void emit_one_depth(struct cuda_tile *tile)
{
    struct cuda_emitter *cuda = tile->cuda;
    struct emitter *emitter = &cuda->emitter;
    struct emit_symbol *sum = &emitter->symbols[tile->tiling->declared->symbol->slot];
    const char *name = sum->name;
    for (int k = 0; k < tile->tiling->count; k++) {
        const struct cuda_term *term = &tile->tiling->terms[k];
        emit_own(tile, k);
        substitute(cuda, term->value,
                   emit_name(arena_format(&emitter->arena, "own%d_[%s]", k,
                                          term->side == CUDA_ROWS ? "row_" : "column_")));
    }
    emit_cuda_unrolled(tile, "row_", tile->each[CUDA_ROWS]);
    emit_cuda_unrolled(tile, "column_", tile->each[CUDA_COLUMNS]);
    sum->name = "sum_[row_][column_]";
    emit_line(emitter, "%s = %s;", sum->name, emit_shallow(emitter, tile->tiling->combined).text);
    sum->name = name;
    cuda->substitute_count = 0;
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* Of the terms, what a lane hands to tensor cores: a row, or column, of each eight, and a depth of each four.
 */
static void emit_lanes(struct cuda_tile *tile, int number)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_way *way = tile->way;
    bool rows = tile->tiling->terms[number].side == CUDA_ROWS;
    emit_cuda_unrolled(tile, rows ? "row_" : "column_", tile->each[rows ? CUDA_ROWS : CUDA_COLUMNS] / 2);
    emit_cuda_unrolled(tile, "part_", rows ? 4 : 2);
    if (rows)
        emit_line(emitter,
                  "rows_of_[row_][part_] = term%d_[half_][step_ * 8 + lane_ %% 4 + part_ / 2 * 4]"
                  "[warp_ / %d * %d + row_ * 16 + lane_ / 4 + part_ %% 2 * 8];",
                  number, way->warps_across, 32 / way->lanes_across * tile->each[CUDA_ROWS]);
    else
        emit_line(emitter,
                  "columns_of_[column_][part_] = term%d_[half_][step_ * 8 + lane_ %% 4 + part_ * 4]"
                  "[warp_ %% %d * %d + column_ * 8 + lane_ / 4];",
                  number, way->warps_across, way->lanes_across * tile->each[CUDA_COLUMNS]);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

static void accumulate_rounded(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_cuda_unrolled(tile, "step_", CUDA_TILE_DEPTH / 8);
    emit_line(emitter, "float rows_of_[%d][4], columns_of_[%d][2];", tile->each[CUDA_ROWS] / 2,
              tile->each[CUDA_COLUMNS] / 2);
    emit_cuda_terms(tile, emit_lanes);
    emit_cuda_unrolled(tile, "row_", tile->each[CUDA_ROWS] / 2);
    emit_cuda_unrolled(tile, "column_", tile->each[CUDA_COLUMNS] / 2);
    emit_line(emitter, "akg_product_tf32(&sum_[row_ * 2][column_ * 2], &sum_[row_ * 2 + 1][column_ * 2], "
                       "rows_of_[row_], columns_of_[column_]);");
    for (int k = 0; k < 3; k++)
        emit_cuda_end(tile);
}

static void accumulate(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "if (from_ <= depths_) {");
    emitter->indent++;
    emit_cuda_unrolled(tile, "at_", CUDA_TILE_DEPTH);
    emit_one_depth(tile);
    emit_cuda_end(tile);
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    emit_line(emitter, "#pragma unroll 1");
    emit_line(emitter, "for (int at_ = 0; at_ < depths_ - stage_; at_++) {");
    emitter->indent++;
    emit_one_depth(tile);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* ---- all stages ------------------------------------------------------------------------------ */

/* While one is computed with, the next one is on its way. */
static void stages(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "int half_ = 0;");
    emit_line(emitter, "if (depths_ > %s) {", tile->begin);
    emitter->indent++;
    emit_line(emitter, "const int from_ = %s;", tile->begin);
    emit_cuda_terms(tile, fetch);
    emit_cuda_terms(tile, put);
    emit_cuda_end(tile);
    emit_line(emitter, "__syncthreads();");
    emit_line(emitter, "for (int stage_ = %s; stage_ < depths_; stage_ += %d) {", tile->begin,
              CUDA_TILE_DEPTH);
    emitter->indent++;
    emit_line(emitter, "const int from_ = stage_ + %d;", CUDA_TILE_DEPTH);
    emit_line(emitter, "if (from_ < depths_) {");
    emitter->indent++;
    emit_cuda_terms(tile, fetch);
    emit_cuda_end(tile);
    if (tile->way == &cuda_tf32_way)
        accumulate_rounded(tile);
    else
        accumulate(tile);
    emit_line(emitter, "half_ = 1 - half_;");
    emit_line(emitter, "if (from_ < depths_) {");
    emitter->indent++;
    emit_cuda_terms(tile, put);
    emit_cuda_end(tile);
    emit_line(emitter, "__syncthreads();");
    emit_cuda_end(tile);
}

const struct cuda_way cuda_plain_way = {.warps_across = 2,
                                        .lanes_across = 8,
                                        .rows = CUDA_QUAD,
                                        .columns = CUDA_QUAD,
                                        .declare = declare,
                                        .stages = stages};

/* The same, with products by tensor cores of terms that are rounded. */
const struct cuda_way cuda_tf32_way = {
    .warps_across = 4, .lanes_across = 4, .rows = 1, .columns = 2, .declare = declare, .stages = stages};
