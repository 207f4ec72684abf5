/*
 * emit_cuda_tile.c: a nest that uses the same elements again and again, tile by tile.
 *
 * Consumes a tiling (cuda_tile.h); produces the function of one size of tiles. A block takes tiles in turn.
 * It goes through the depths in stages; how a stage is brought into shared memory and summed up is in
 * emit_cuda_stage.c and, for tensor cores, emit_cuda_cores.c. Sums of rows and columns behind the end are
 * computed, and nobody looks at them. The sums go through shared memory, so that what follows them is done by
 * neighbouring threads for neighbouring columns.
 */
#include "emit_cuda_tile.h"

#include "cuda_access.h"
#include "pass.h"

enum { WARPS = CUDA_THREADS / 32, SPLIT_UNIT = 32 /* depths: of whole stages */ };

const char *const cuda_axis_names[CUDA_AXES] = {"batches_", "rows_", "columns_", "depths_"};

/* ---- pieces ---------------------------------------------------------------------------------- */

void emit_cuda_unrolled(struct cuda_tile *tile, const char *name, int count)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int %s = 0; %s < %d; %s++) {", name, name, count, name);
    emitter->indent++;
}

void emit_cuda_end(struct cuda_tile *tile)
{
    tile->cuda->emitter.indent--;
    emit_line(&tile->cuda->emitter, "}");
}

void emit_cuda_axis(struct cuda_tile *tile, enum cuda_axis axis, const char *number)
{
    if (tile->tiling->axes[axis].count)
        emit_cuda_apart(tile->cuda, &tile->tiling->axes[axis], tile->loops[axis], number);
}

/* What has no wide instruction goes one by one. */
void emit_cuda_quad(struct cuda_tile *tile, const char *how, akg_dtype dtype, const char *to,
                    const char *from)
{
    struct emitter *emitter = &tile->cuda->emitter;
    if (dtype_is_float(dtype)) {
        emit_line(emitter, "akg_%s_%d(&%s, &%s);", how, dtype == AKG_FLOAT64 ? 64 : 32, to, from);
        return;
    }
    emit_line(emitter, "for (int quad_ = 0; quad_ < %d; quad_++)", CUDA_QUAD);
    emit_line(emitter, "    (&%s)[quad_] = (&%s)[quad_];", to, from);
}

void emit_cuda_terms(struct cuda_tile *tile, void (*emit)(struct cuda_tile *tile, int number))
{
    for (int k = 0; k < tile->tiling->count; k++)
        emit(tile, k);
}

/* ---- what the sums begin with, and what becomes of them ------------------------------ */

static bool is_outer(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD && !(expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LOOP);
}

static void emit_before(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_way *way = tile->way;
    emit_line(emitter, "%s sum_[%d][%d];", emit_type(tile->tiling->dtype), tile->each[CUDA_ROWS],
              tile->each[CUDA_COLUMNS]);
    emit_cuda_unrolled(tile, "row_", tile->each[CUDA_ROWS]);
    emit_cuda_unrolled(tile, "column_", tile->each[CUDA_COLUMNS]);
    if (tile->step->splits) {
        emit_line(emitter, "sum_[row_][column_] = 0;");
        emit_cuda_end(tile);
        emit_cuda_end(tile);
        return;
    }
    if (!ir_expr_walk(tile->tiling->before, is_outer, NULL)) {
        emit_line(emitter,
                  "const int row_at_ = akg_least(top_ + my_row_ + row_ / %d * %d + row_ %% %d, rows_ - 1);",
                  way->rows, cuda_rows_apart(way), way->rows);
        emit_line(emitter,
                  "const int column_at_ = akg_least(left_ + my_column_ + column_ / %d * %d + column_ %% %d, "
                  "columns_ - 1);",
                  way->columns, cuda_columns_apart(way), way->columns);
        emit_cuda_axis(tile, CUDA_ROWS, "row_at_");
        emit_cuda_axis(tile, CUDA_COLUMNS, "column_at_");
    }
    emit_line(emitter, "sum_[row_][column_] = %s;", emit_shallow(emitter, tile->tiling->before).text);
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* Whether four neighbouring columns can be stored at once: in every iteration, the only one into its tensor,
 * along the loop that the columns are. */
static bool is_quad_store(const struct cuda_tile *tile, const struct ir_stmt *stmt)
{
    const struct cuda_chain *chain = &tile->step->chain, *columns = &tile->tiling->axes[CUDA_COLUMNS];
    const struct ir_buffer *buffer = stmt->access.buffer;
    if (stmt->kind != IR_STORE || columns->count != 1 || !buffer->contiguous || buffer->rank == 0 ||
        !dtype_is_float(buffer->dtype))
        return false;
    const struct ir_stmt *loop = columns->loops[0];
    const struct ir_expr *last = stmt->access.indices[buffer->rank - 1];
    if (loop->step != 1 || last->kind != IR_SYMBOL || last->symbol != loop->symbol)
        return false;
    for (int axis = 0; axis < buffer->rank - 1; axis++)
        if (pass_mentions(stmt->access.indices[axis], loop->symbol))
            return false;
    struct cuda_uses uses = cuda_uses_of(cuda_chain_body(chain), buffer);
    return uses.stores == 1 && uses.loads == 0 &&
           cuda_place_is_known_before(cuda_chain_body(chain), &stmt->access);
}

/* The first such store behind the sum; NULL: there is none. */
static const struct ir_stmt *quad_store_of(const struct cuda_tile *tile)
{
    for (const struct ir_stmt *stmt = cuda_chain_body(&tile->step->chain); stmt; stmt = stmt->next)
        if (is_quad_store(tile, stmt))
            return stmt;
    return NULL;
}

/* The last one of four stores them all. */
static void emit_quad_store(struct cuda_tile *tile, const struct ir_stmt *stmt)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct ir_buffer *buffer = stmt->access.buffer;
    emit_line(emitter, "stored_[one_] = %s;",
              emit_stored(emitter, buffer->dtype, emit_shallow(emitter, stmt->value)));
    emit_line(emitter, "if (one_ == %d)", CUDA_QUAD - 1);
    emit_line(emitter, "    akg_leave_%d(&%s - %d, stored_);", 8 * dtype_table[buffer->dtype].size,
              emit_access(emitter, &stmt->access).text, CUDA_QUAD - 1);
}

/* The statements of the nest for one row and column: the sum's declaration gives what was summed up. `quad`
 * is the store of four columns at once, or NULL. */
static void emit_iteration(struct cuda_tile *tile, const char *sum, const struct ir_stmt *quad)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_chain *chain = &tile->step->chain;
    for (int k = 0; k < chain->count; k++)
        for (const struct ir_stmt *stmt = chain->loops[k]->body; stmt; stmt = stmt->next) {
            if (stmt->kind == IR_FOR)
                continue; /* the next one of the chain, or the depths */
            if (stmt == quad) {
                emit_quad_store(tile, stmt);
                continue;
            }
            if (stmt != tile->tiling->declared) {
                emit_statement(emitter, stmt);
                continue;
            }
            const struct ir_symbol *symbol = stmt->symbol;
            struct emit_symbol *entry = &emitter->symbols[symbol->slot];
            entry->bits = dtype_is_float(symbol->dtype) ? 0 : emit_dtype_bits(symbol->dtype);
            entry->nonnegative = !dtype_is_signed(symbol->dtype);
            emit_line(emitter, "%s %s = %s;", emit_type(symbol->dtype), entry->name,
                      emit_cast(emitter, symbol->dtype, tile->tiling->dtype, emit_name(sum)).text);
            emit_line(emitter, "%c%d", EMIT_PENDING, symbol->slot);
        }
}

/* A thread's sums of one row, into the row of shared memory that its lanes have in common. */
static void emit_share_row(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_way *way = tile->way;
    const char *to =
        arena_format(&emitter->arena, "sums_[warp_ / %d * %d + lane_ / %d][my_column_ + part_ * %d]",
                     way->warps_across, 32 / way->lanes_across, way->lanes_across, cuda_columns_apart(way));
    const char *from = arena_format(&emitter->arena, "sum_[row_][part_ * %d]", way->columns);
    emit_cuda_unrolled(tile, "part_", tile->each[CUDA_COLUMNS] / way->columns);
    if (way->columns == CUDA_QUAD)
        emit_cuda_quad(tile, "put", tile->tiling->dtype, to, from);
    else
        emit_line(emitter, "akg_put_pair(&%s, &%s);", to, from);
    emit_cuda_end(tile);
}

/* Where in the tile what lies in row `slot_` of shared memory belongs, and whether there is such a place. */
static void emit_where(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_way *way = tile->way;
    int lanes_down = 32 / way->lanes_across;
    emit_line(emitter,
              "const int row_at_ = top_ + slot_ / %d * %d + row_ / %d * %d + slot_ %% %d * %d + row_ %% %d;",
              lanes_down, lanes_down * tile->each[CUDA_ROWS], way->rows, cuda_rows_apart(way), lanes_down,
              way->rows, way->rows);
    emit_line(emitter, "const int column_at_ = left_ + column_in_;");
    emit_line(emitter, "if (row_at_ < rows_ && column_at_ < columns_) {");
    emitter->indent++;
}

/* A thread takes places in shared memory in turn, so many columns at once; to be ended. */
static void emit_places(struct cuda_tile *tile, int columns)
{
    struct emitter *emitter = &tile->cuda->emitter;
    int across = tile->edge[CUDA_COLUMNS] / columns;
    int slots = WARPS / tile->way->warps_across * (32 / tile->way->lanes_across);
    /* the loop over a thread's rows around it is written out, too */
    emit_line(emitter, "#pragma unroll %d", columns > 1 ? WARPS / tile->each[CUDA_ROWS] : 1);
    emit_line(emitter, "for (int place_ = (int)threadIdx.x; place_ < %d; place_ += %d) {", slots * across,
              CUDA_THREADS);
    emitter->indent++;
    emit_line(emitter, "const int slot_ = place_ / %d, column_in_ = place_ %% %d%s;", across, across,
              columns > 1 ? arena_format(&emitter->arena, " * %d", columns) : "");
    emit_where(tile);
}

/* What follows the sums of one row of each thread, four columns at once. */
static void emit_row_quads(struct cuda_tile *tile, const struct ir_stmt *quad)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_places(tile, CUDA_QUAD);
    emit_cuda_axis(tile, CUDA_ROWS, "row_at_");
    emit_line(emitter, "float quad_[%d];", CUDA_QUAD);
    emit_line(emitter, "%s stored_[%d];", dtype_table[quad->access.buffer->dtype].c_storage, CUDA_QUAD);
    emit_cuda_quad(tile, "take", AKG_FLOAT32, "quad_[0]", "sums_[slot_][column_in_]");
    emit_cuda_unrolled(tile, "one_", CUDA_QUAD);
    emit_cuda_axis(tile, CUDA_COLUMNS, "(column_at_ + one_)");
    emit_iteration(tile, "quad_[one_]", quad);
    for (int k = 0; k < 3; k++)
        emit_cuda_end(tile);
}

static void emit_row(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_places(tile, 1);
    if (tile->step->splits) {
        emit_line(emitter,
                  "akg_split[((split_ * batches_ + batch_) * rows_ + row_at_) * columns_ + column_at_] = "
                  "sums_[slot_][column_in_];");
    } else {
        emit_cuda_axis(tile, CUDA_ROWS, "row_at_");
        emit_cuda_axis(tile, CUDA_COLUMNS, "column_at_");
        emit_iteration(tile, "sums_[slot_][column_in_]", NULL);
    }
    emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* Whether the rows of what is stored are whole fours. */
static const char *stores_well(struct cuda_tile *tile, const struct ir_buffer *buffer)
{
    struct emitter *emitter = &tile->cuda->emitter;
    int bytes = CUDA_QUAD * dtype_table[buffer->dtype].size;
    return arena_format(
        &emitter->arena, "(unsigned long long)%s %% %d == 0 && columns_ %% %d == 0 && %s %% %d == 0",
        emitter->buffers[buffer->index], bytes < 16 ? bytes : 16, CUDA_QUAD,
        emit_operand(emitter, emit_extent(emitter, buffer, buffer->rank - 1), EMIT_UNARY), CUDA_QUAD);
}

/* One row of each thread at a time goes through shared memory. */
static void emit_after(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct ir_stmt *quad = NULL;
    if (!tile->step->splits && tile->tiling->dtype == AKG_FLOAT32)
        quad = quad_store_of(tile);
    emit_cuda_unrolled(tile, "row_", tile->each[CUDA_ROWS]);
    emit_line(emitter, "__syncthreads();");
    emit_share_row(tile);
    emit_line(emitter, "__syncthreads();");
    if (quad) {
        emit_line(emitter, "if (%s) {", stores_well(tile, quad->access.buffer));
        emitter->indent++;
        emit_row_quads(tile, quad);
        emitter->indent--;
        emit_line(emitter, "} else {");
        emitter->indent++;
    }
    emit_row(tile);
    if (quad)
        emit_cuda_end(tile);
    emit_cuda_end(tile);
}

/* ---- all ----------------------------------------------------------------------------- */

void emit_cuda_lies_well(struct cuda_tile *tile, int number, int count)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_term *term = &tile->tiling->terms[number];
    const struct ir_buffer *buffer = term->quads->access.buffer;
    const struct cuda_chain *chain = &tile->tiling->axes[term->runs];
    int bytes = count * dtype_table[buffer->dtype].size;
    emit_line(emitter,
              "const int well%d_ = (unsigned long long)%s %% %d == 0 && %s %% %d == 0 && %s %% %d == 0;",
              number, emitter->buffers[buffer->index], bytes < 16 ? bytes : 16,
              emit_operand(emitter, emit_extent(emitter, buffer, buffer->rank - 1), EMIT_UNARY), count,
              tile->loops[term->runs][chain->fastest].trips, count);
}

void emit_cuda_declare_sums(struct cuda_tile *tile)
{
    emit_line(&tile->cuda->emitter, "__shared__ __align__(16) %s sums_[%d][%d];",
              emit_type(tile->tiling->dtype),
              WARPS / tile->way->warps_across * (32 / tile->way->lanes_across), tile->edge[CUDA_COLUMNS]);
}

static void emit_extents(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    for (enum cuda_axis axis = 0; axis < CUDA_AXES; axis++) {
        const struct cuda_chain *chain = &tile->tiling->axes[axis];
        const char *type = axis == CUDA_BATCHES ? "long long" : "int";
        if (chain->count)
            emit_cuda_trips(tile->cuda, chain, tile->loops[axis]);
        emit_line(emitter, "const %s %s = (%s)(%s);", type, cuda_axis_names[axis], type,
                  chain->count ? emit_cuda_product(tile->cuda, chain, tile->loops[axis]) : "1");
    }
}

/* Shared memory, and what is the same for all tiles. */
static void emit_constants(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    const struct cuda_way *way = tile->way;
    emit_extents(tile);
    way->declare(tile);
    emit_line(emitter, "const long long down_ = (rows_ + %d) / %d, across_ = (columns_ + %d) / %d;",
              tile->edge[CUDA_ROWS] - 1, tile->edge[CUDA_ROWS], tile->edge[CUDA_COLUMNS] - 1,
              tile->edge[CUDA_COLUMNS]);
    emit_line(emitter, "const int lane_ = (int)threadIdx.x %% 32, warp_ = (int)threadIdx.x / 32;");
    emit_line(emitter, "const int my_row_ = warp_ / %d * %d + lane_ / %d * %d;", way->warps_across,
              32 / way->lanes_across * tile->each[CUDA_ROWS], way->lanes_across, way->rows);
    emit_line(emitter, "(void)my_row_;"); /* which not every way needs */
    emit_line(emitter, "const int my_column_ = warp_ %% %d * %d + lane_ %% %d * %d;", way->warps_across,
              way->lanes_across * tile->each[CUDA_COLUMNS], way->lanes_across, way->columns);
}

/* Tiles that run at the same time lie near each other: they go down a band of rows first. */
static void emit_choose_tile(struct cuda_tile *tile)
{
    enum { BAND = 8 };
    struct emitter *emitter = &tile->cuda->emitter;
    emit_line(emitter, "const long long batch_ = tile_ / (down_ * across_);");
    emit_line(emitter, "const long long within_ = tile_ - batch_ * (down_ * across_);");
    emit_line(emitter,
              "const long long band_ = within_ / (%d * across_), rest_ = within_ - band_ * (%d * across_);",
              BAND, BAND);
    emit_line(emitter, "const long long deep_ = down_ - band_ * %d < %d ? down_ - band_ * %d : %d;", BAND,
              BAND, BAND, BAND);
    emit_line(emitter,
              "const int top_ = (int)(band_ * %d + rest_ %% deep_) * %d, left_ = (int)(rest_ / deep_) * %d;",
              BAND, tile->edge[CUDA_ROWS], tile->edge[CUDA_COLUMNS]);
    emit_cuda_axis(tile, CUDA_BATCHES, "batch_");
}

/* Of the tile `tile_`. Where its depths are shared, those of part `split_`. */
static void emit_one_tile(struct cuda_tile *tile)
{
    struct emitter *emitter = &tile->cuda->emitter;
    emit_choose_tile(tile);
    emit_before(tile);
    if (!tile->step->splits) {
        tile->way->stages(tile);
    } else {
        emit_line(emitter, "const int deep_part_ = (depths_ + %d) / %d * %d;", CUDA_SPLITS * SPLIT_UNIT - 1,
                  CUDA_SPLITS * SPLIT_UNIT, SPLIT_UNIT);
        emit_line(emitter,
                  "const int begin_ = split_ * deep_part_, end_ = akg_least(begin_ + deep_part_, depths_);");
        emit_line(emitter, "{");
        emitter->indent++;
        emit_line(emitter, "const int depths_ = end_;");
        tile->way->stages(tile);
        emit_cuda_end(tile);
    }
    emit_after(tile);
}

static struct cuda_tile tile_of(struct cuda_emitter *cuda, const struct cuda_step *step,
                                const struct cuda_way *way)
{
    int parts = step->wide ? CUDA_TILE_PARTS : step->parts;
    struct cuda_tile tile = {.cuda = cuda,
                             .step = step,
                             .tiling = step->tiling,
                             .way = way,
                             .begin = step->splits ? "begin_" : "0"};
    if (!way)
        return tile;
    tile.edge[CUDA_ROWS] = way == &cuda_warpgroup_way ? CUDA_WIDE_ROWS : CUDA_TILE_UNIT * parts;
    tile.edge[CUDA_COLUMNS] = way == &cuda_warpgroup_way ? CUDA_WIDE_COLUMNS : CUDA_TILE_UNIT * parts;
    tile.each[CUDA_ROWS] = tile.edge[CUDA_ROWS] / (WARPS / way->warps_across * (32 / way->lanes_across));
    tile.each[CUDA_COLUMNS] = tile.edge[CUDA_COLUMNS] / (way->warps_across * way->lanes_across);
    return tile;
}

static void emit_way(struct cuda_emitter *cuda, const struct cuda_step *step, const struct cuda_way *way)
{
    struct cuda_tile tile = tile_of(cuda, step, way);
    struct arena *arena = &cuda->emitter.arena;
    const char *name = step->splits ? "part_at_" : "tile_";
    const char *each = step->splits ? arena_format(arena, " * %d", CUDA_SPLITS) : "";
    emit_constants(&tile);
    emit_statement_line(
        &cuda->emitter, step->first,
        arena_format(arena,
                     "for (long long %s = blockIdx.x; %s < batches_ * down_ * across_%s; %s += gridDim.x) {",
                     name, name, each, name));
    cuda->emitter.indent++;
    if (step->splits) {
        emit_line(&cuda->emitter, "const long long tile_ = part_at_ / %d;", CUDA_SPLITS);
        emit_line(&cuda->emitter, "const int split_ = (int)(part_at_ %% %d);", CUDA_SPLITS);
    }
    emit_one_tile(&tile);
    emit_cuda_end(&tile);
}

/* Each sum from its parts, in their order, and what follows it, by a thread. */
void emit_cuda_join(struct cuda_emitter *cuda, const struct cuda_step *step)
{
    struct emitter *emitter = &cuda->emitter;
    struct cuda_tile tile = tile_of(cuda, step, NULL);
    struct emit_value operands[2] = {emit_name("joined_"), emit_name("one_")};
    const char *type = emit_type(step->tiling->dtype);
    emit_extents(&tile);
    emit_line(emitter, "const long long all_ = batches_ * rows_ * columns_;");
    emit_statement_line(emitter, step->first,
                        "for (long long at_ = (long long)blockIdx.x * blockDim.x + threadIdx.x; at_ < all_; "
                        "at_ += (long long)gridDim.x * blockDim.x) {");
    emitter->indent++;
    emit_line(emitter,
              "const long long line_ = akg_quotient(at_, columns_), batch_ = akg_quotient(line_, rows_);");
    emit_line(emitter, "const int row_at_ = (int)(line_ - batch_ * rows_);");
    emit_line(emitter, "const int column_at_ = (int)(at_ - line_ * columns_);");
    emit_cuda_axis(&tile, CUDA_BATCHES, "batch_");
    emit_cuda_axis(&tile, CUDA_ROWS, "row_at_");
    emit_cuda_axis(&tile, CUDA_COLUMNS, "column_at_");
    emit_line(emitter, "%s joined_ = %s;", type, emit_shallow(emitter, step->tiling->before).text);
    emit_cuda_unrolled(&tile, "split_", CUDA_SPLITS);
    emit_line(emitter, "const %s one_ = akg_split[split_ * all_ + at_];", type);
    emit_line(emitter, "joined_ = %s;", emit_combined(emitter, OP_ADD, step->tiling->dtype, operands).text);
    emit_cuda_end(&tile);
    emit_iteration(&tile, "joined_", NULL);
    emit_cuda_end(&tile);
}

void emit_cuda_tiles(struct cuda_emitter *cuda, const struct cuda_step *step)
{
    if (step->wide) {
        /* an old compiler does not know what the devices have that run it */
        emit_line(&cuda->emitter, "#if !defined __CUDACC__ || defined __CUDA_ARCH_FEAT_SM90_ALL");
        emit_way(cuda, step, &cuda_warpgroup_way);
        emit_line(&cuda->emitter, "#elif __CUDA_ARCH__ == %d0", CUDA_WIDE_ARCHITECTURE);
        emit_way(cuda, step, &cuda_cores_way);
        emit_line(&cuda->emitter, "#endif");
        return;
    }
    if (!step->tiling->cores && !step->tiling->tf32) {
        emit_way(cuda, step, &cuda_plain_way);
        return;
    }
    emit_line(&cuda->emitter, "#if !defined __CUDACC__ || __CUDA_ARCH__ >= 800");
    emit_way(cuda, step, step->tiling->cores ? &cuda_cores_way : &cuda_tf32_way);
    emit_line(&cuda->emitter, "#else");
    emit_way(cuda, step, &cuda_plain_way);
    emit_line(&cuda->emitter, "#endif");
}
