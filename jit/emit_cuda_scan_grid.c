/*
 * emit_cuda_scan_grid.c: scans by all blocks of a grid, which read what they scan once.
 *
 * Consumes a scan (emit_cuda_scan.h) at the top of a kernel. Blocks take tiles in order, each the next one
 * that no other has, and ask for it while they are busy with the one before, since the answer takes a while.
 * Of the tiles that are not done the first is under way, since its block has only earlier ones in front of
 * it; so to wait for tiles before one's own is safe. A block tells what its tile does as soon as it knows,
 * waits for what the tiles before it in its group do, and for the scalars that the group before leaves,
 * which the last tile of that tells; then it goes through its tile. What is put together in which order hangs
 * on nothing else, so that each run gives the same.
 *
 * What is told lies in words, of which each tile has some: what the tile does, and the scalars behind it.
 * Of 32 bits a word has room for them and for that they are there, which takes one store and no fence; else
 * there is a flag in front of each of the two. The words before the first tile's hold the number of the
 * next tile, and the scalars before the loop. A launch in front clears them. Calls of one tile need none of
 * this.
 */
#include "emit_cuda_scan.h"

_Static_assert((int)CUDA_SCAN_GROUP <= (int)CUDA_THREADS, "a thread waits for each tile of a group");

/* ---- words -------------------------------------------------------------------------------------- */

/* Whether each scalar, and what a tile does to it, is of 32 bits. */
static bool is_packed(const struct scan *scan)
{
    for (int k = 0; k < scan->found.count; k++) {
        akg_dtype dtype = scan->found.items[k].symbol->dtype;
        if (scan->found.items[k].scales || dtype_table[dtype].size > 4 ||
            (dtype_is_float(dtype) && dtype != AKG_FLOAT32))
            return false;
    }
    return true;
}

static int words_of(const struct scan *scan)
{
    return (is_packed(scan) ? 2 : 3) * scan->found.count + (is_packed(scan) ? 0 : 2);
}

/* The first of those for the scalars behind a tile. */
static int first_scalar(const struct scan *scan)
{
    return is_packed(scan) ? scan->found.count : 2 + 2 * scan->found.count;
}

static int64_t group_of(const struct scan *scan)
{
    int64_t group = scan->cuda->plan.options->group;
    return group > 0 && group < CUDA_SCAN_GROUP ? group : CUDA_SCAN_GROUP;
}

static const char *member_of(akg_dtype dtype)
{
    return dtype_is_float(dtype) ? "d" : "i";
}

/* A word of a tile, by its number as a text. */
static const char *word_text(const struct scan *scan, const char *tile, int word)
{
    return arena_format(&scan->cuda->emitter.arena, "akg_scan[(1 + %s) * %d + %d]", tile, words_of(scan),
                        word);
}

static const char *part_word(const struct scan *scan, int number, const char *tile, int word)
{
    return arena_format(&scan->cuda->emitter.arena, "%s.%s", word_text(scan, tile, 1 + 2 * number + word),
                        member_of(emit_scan_symbol(scan, number)->dtype));
}

/* Where the scalars behind a tile lie; those before the loop are behind tile -1. */
static const char *scalar_word(const struct scan *scan, int number, const char *tile)
{
    return arena_format(&scan->cuda->emitter.arena, "%s.%s",
                        word_text(scan, tile, first_scalar(scan) + number),
                        member_of(emit_scan_symbol(scan, number)->dtype));
}

static const char *scalar_flag(const struct scan *scan, const char *tile)
{
    return arena_format(&scan->cuda->emitter.arena, "&%s.i",
                        word_text(scan, tile, 1 + 2 * scan->found.count));
}

/* ---- words that say themselves that they are there ---------------------------------------------------- */

static void say(const struct scan *scan, int number, const char *tile, int word, const char *value)
{
    bool is_float = dtype_is_float(emit_scan_symbol(scan, number)->dtype);
    emit_line(&scan->cuda->emitter, "akg_say(&%s.i, %s(%s));", word_text(scan, tile, word),
              is_float ? "akg_bits_of" : "(unsigned int)", value);
}

static const char *heard_text(const struct scan *scan, int number, const char *tile, int word)
{
    akg_dtype dtype = emit_scan_symbol(scan, number)->dtype;
    const char *as = dtype_is_float(dtype)
                         ? "akg_float_of"
                         : arena_format(&scan->cuda->emitter.arena, "(%s)", emit_type(dtype));
    return arena_format(&scan->cuda->emitter.arena, "%s(akg_hear(&%s.i))", as, word_text(scan, tile, word));
}

/* ---- how many ------------------------------------------------------------------------------------------ */

const struct ir_expr *emit_cuda_scan_work(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct ir_kernel *kernel = cuda->plan.kernel;
    struct cuda_quads pieces;
    struct ir_expr *work = (struct ir_expr *)cuda_chain_work(kernel, chain);
    int64_t early =
        emit_cuda_pieces_of(cuda, chain, &pieces) ? pieces.low - emit_cuda_pieces_first(&pieces) : 0;
    struct ir_expr *more = ir_operation(kernel, OP_ADD, work, ir_integer(kernel, AKG_INT64, early), NULL);
    struct ir_expr *any = ir_operation(kernel, OP_GT, work, ir_integer(kernel, AKG_INT64, 0), NULL);
    return ir_operation(kernel, OP_SELECT, any, more, ir_integer(kernel, AKG_INT64, 0));
}

const struct ir_expr *emit_cuda_scan_words(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct ir_kernel *kernel = cuda->plan.kernel;
    struct scan scan = {.cuda = cuda, .chain = chain};
    cuda_scan_of(&cuda->plan, chain->loops[0], &scan.found);
    struct ir_expr *work = (struct ir_expr *)emit_cuda_scan_work(cuda, chain);
    struct ir_expr *tiles =
        ir_operation(kernel, OP_CEIL_DIV, work, ir_integer(kernel, AKG_INT64, CUDA_SCAN_TILE), NULL);
    tiles = ir_operation(kernel, OP_ADD, tiles, ir_integer(kernel, AKG_INT64, 1), NULL);
    return ir_operation(kernel, OP_MUL, tiles, ir_integer(kernel, AKG_INT64, words_of(&scan)), NULL);
}

/* ---- the launch in front ---------------------------------------------------------------------------- */

void emit_cuda_scan_parts(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct scan scan;
    emit_scan_begin(&scan, cuda, chain);
    emit_line(emitter, "const long long words_ = (1 + %s) * %d;", emit_scan_tiles(&scan), words_of(&scan));
    emit_line(emitter,
              "for (long long word_ = (long long)blockIdx.x * blockDim.x + threadIdx.x; word_ < words_;");
    emit_line(emitter, "     word_ += (long long)gridDim.x * blockDim.x)");
    emit_line(emitter, "    if (word_ < %d || word_ >= %d)", first_scalar(&scan), words_of(&scan));
    emit_line(emitter, "        akg_scan[word_].i = 0;");
    emit_line(emitter, "if (blockIdx.x == 0 && threadIdx.x == 0) {");
    emitter->indent++;
    for (int k = 0; k < scan.found.count; k++) {
        const char *name = emitter->symbols[emit_scan_symbol(&scan, k)->slot].name;
        if (is_packed(&scan))
            say(&scan, k, "-1", first_scalar(&scan) + k, name);
        else
            emit_line(emitter, "%s = %s;", scalar_word(&scan, k, "-1"), name);
    }
    emit_scan_close(&scan);
}

/* ---- a tile among others ------------------------------------------------------------------------------ */

/* And the first thread asks for the next tile. */
static void tell_part(const struct scan *scan, const char *tile)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_line(emitter, "if (threadIdx.x == 0) {");
    emitter->indent++;
    for (int k = 0; k < scan->found.count; k++) {
        const char *part = emit_scan_name(scan, k, "part");
        bool scales = scan->found.items[k].scales;
        if (is_packed(scan)) {
            say(scan, k, tile, k, part);
            continue;
        }
        emit_line(emitter, "%s = %s%s;", part_word(scan, k, tile, 0), part, scales ? ".factor" : "");
        if (scales)
            emit_line(emitter, "%s = %s.term;", part_word(scan, k, tile, 1), part);
    }
    if (!is_packed(scan))
        emit_line(emitter, "akg_tell(&%s.i);", word_text(scan, tile, 0));
    emit_line(emitter, "next_ = akg_ticket(&akg_scan[0].i);");
    emit_scan_close(scan);
}

static const char *part_text(const struct scan *scan, int number, const char *tile)
{
    struct arena *arena = &scan->cuda->emitter.arena;
    if (is_packed(scan))
        return heard_text(scan, number, tile, number);
    const char *first = part_word(scan, number, tile, 0), *second = part_word(scan, number, tile, 1);
    if (!scan->found.items[number].scales)
        return arena_format(arena, "(%s)%s", emit_scan_type(scan, number), first);
    const char *type = emit_cuda_scaled_type(emit_scan_symbol(scan, number)->dtype);
    return arena_format(arena, "akg_made_%s((%s)%s, (%s)%s)", emit_scan_ending(scan, number), type, first,
                        type, second);
}

/* Each thread waits for one of the tiles before this one in the group; they put together what those do. */
static void combine_group(const struct scan *scan, const char *tile)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_line(emitter, "const int place_ = (int)(%s %% %lld);", tile, (long long)group_of(scan));
    emit_scan_declare(scan);
    emit_line(emitter, "if ((int)threadIdx.x < place_) {");
    emitter->indent++;
    emit_line(emitter, "const long long other_ = %s - place_ + threadIdx.x;", tile);
    if (!is_packed(scan))
        emit_line(emitter, "akg_wait_for(&%s.i);", word_text(scan, "other_", 0));
    for (int k = 0; k < scan->found.count; k++)
        emit_line(emitter, "%s = %s;", emit_scan_name(scan, k, "own"), part_text(scan, k, "other_"));
    emit_scan_close(scan);
    emit_scan_exchange(scan);
}

/* The scalars are what the groups before leave them. */
static void take_scalars(const struct scan *scan, const char *tile)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_line(emitter, "const long long behind_ = %s - place_ - 1;", tile);
    if (!is_packed(scan)) {
        emit_line(emitter, "if (threadIdx.x == 0 && behind_ >= 0)");
        emit_line(emitter, "    akg_wait_for(%s);", scalar_flag(scan, "behind_"));
        emit_line(emitter, "__syncthreads();");
    }
    for (int k = 0; k < scan->found.count; k++) {
        struct emit_symbol *entry = &emitter->symbols[emit_scan_symbol(scan, k)->slot];
        if (is_packed(scan))
            emit_line(emitter, "%s = %s;", entry->name,
                      heard_text(scan, k, "behind_", first_scalar(scan) + k));
        else
            emit_line(emitter, "%s = (%s)%s;", entry->name, emit_type(emit_scan_symbol(scan, k)->dtype),
                      scalar_word(scan, k, "behind_"));
        entry->assignments++;
    }
}

/* The last tile of a group tells what the scalars are behind it. */
static void tell_scalars(const struct scan *scan, const char *tile)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_line(emitter, "if (threadIdx.x == 0 && place_ == %lld) {", (long long)group_of(scan) - 1);
    emitter->indent++;
    emit_scan_from(scan);
    for (int k = 0; k < scan->found.count; k++) {
        const char *name = emitter->symbols[emit_scan_symbol(scan, k)->slot].name;
        emit_scan_combination(scan, k, emit_scan_name(scan, k, "part"));
        if (is_packed(scan))
            say(scan, k, tile, first_scalar(scan) + k, name);
        else
            emit_line(emitter, "%s = %s;", scalar_word(scan, k, tile), name);
        emit_line(emitter, "%s = %s;", name, emit_scan_name(scan, k, "from"));
    }
    if (!is_packed(scan))
        emit_line(emitter, "akg_tell(%s);", scalar_flag(scan, tile));
    emit_scan_close(scan);
}

static void meet_others(const struct scan *scan, const char *tile)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_line(emitter, "if (%s > 1) {", emit_scan_loop_name(scan, "tiles"));
    emitter->indent++;
    tell_part(scan, tile);
    combine_group(scan, tile);
    take_scalars(scan, tile);
    emit_scan_from(scan);
    for (int k = 0; k < scan->found.count; k++)
        emit_scan_combination(scan, k, emit_scan_name(scan, k, "all"));
    tell_scalars(scan, tile);
    emit_scan_close(scan);
}

/* Whether a thread has few enough of the scalar's changes for five blocks to be on a processor. */
static bool is_slim(const struct scan *scan)
{
    return scan->by_pieces && scan->found.count == 1 && !scan->found.items[0].scales &&
           dtype_table[emit_scan_symbol(scan, 0)->dtype].size <= 4 && scan->pieces.window_count == 1;
}

/* ---- the tiles ---------------------------------------------------------------------------------------- */

/* One way or the other, by whether tensors lie well. */
static void emit_ways(struct scan *scan, const char *tile, const char *begin,
                      void (*by_pieces)(struct scan *scan, const char *tile),
                      void (*by_ones)(const struct scan *scan, const char *begin))
{
    if (scan->by_pieces) {
        emit_scan_choose(scan);
        by_pieces(scan, tile);
        emit_scan_otherwise(scan);
    }
    by_ones(scan, begin);
    if (scan->by_pieces)
        emit_scan_close(scan);
}

void emit_cuda_scan_stretches(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct scan scan;
    emit_scan_begin(&scan, cuda, chain);
    const char *tile = emit_scan_loop_name(&scan, "tile"), *tiles = emit_scan_loop_name(&scan, "tiles");
    const char *begin = emit_scan_loop_name(&scan, "begin"), *end = emit_scan_loop_name(&scan, "until");
    const char *trips = scan.texts[0].trips;
    emit_line(emitter, "const long long %s = %s;", tiles, emit_scan_tiles(&scan));
    emit_line(emitter, "int last_tile_ = 0;");
    emit_line(emitter, "long long %s = blockIdx.x;", tile);
    emit_line(emitter, "if (%s > 1)", tiles);
    emit_line(emitter, "    %s = akg_tile_for_all(threadIdx.x == 0 ? akg_ticket(&akg_scan[0].i) : 0);", tile);
    emit_line(emitter, "while (%s < %s) {", tile, tiles);
    emitter->indent++;
    emit_line(emitter, "long long next_ = %s;", tiles);
    emit_line(emitter, "const long long %s = %s * %d;", begin, tile, CUDA_SCAN_TILE);
    emit_line(emitter, "const long long %s = %s + %d < %s ? %s + %d : %s;", end, begin, CUDA_SCAN_TILE, trips,
              begin, CUDA_SCAN_TILE, trips);
    emit_line(emitter, "last_tile_ = %s == %s - 1;", tile, tiles);
    scan.end = end;
    cuda->resident = is_slim(&scan) ? 5 : 0;
    emit_scan_declare_part(&scan);
    if (scan.by_pieces)
        emit_scan_declare_pieces(&scan);
    emit_ways(&scan, tile, begin, emit_scan_load, emit_scan_part);
    meet_others(&scan, tile);
    emit_ways(&scan, tile, begin, emit_scan_pieces, emit_scan_stretch);
    emit_line(emitter, "%s = %s > 1 ? akg_tile_for_all(next_) : %s;", tile, tiles, tiles);
    emit_scan_close(&scan);
}
