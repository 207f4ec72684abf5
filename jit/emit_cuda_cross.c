/*
 * emit_cuda_cross.c: a nest that loads along one loop and stores along another, square by square.
 *
 * Consumes a crossing (cuda_cross.h); produces a function whose warps bring what is loaded crosswise into
 * shared memory, a row of it each, and then go through the iterations with the lanes along the stores. A row
 * is one bank longer than the square, or one element: so a column lies in banks of its own, too. Of squares
 * that are whole nothing is tested, and places are computed once: a quarter of the instructions.
 *
 * Where tensors lie well, threads move four elements at a time instead. A thread brings four pieces of four,
 * one under another, and puts them into shared memory turned, so that rows there run along the stores; then
 * it takes pieces of those rows, and does four iterations with each. Behind four such rows one piece is left
 * free: so the pieces that neighbours put there at once, which are four rows apart, lie in banks of their
 * own, and those of a row lie side by side. Pieces of squares that are cut are whole all the same, or there
 * are none: what lies outside is loaded from the last piece inside instead, and not stored.
 */
#include "cuda_cross.h"
#include "emit_cuda_private.h"

enum {
    BANK = 4,       /* bytes */
    RESIDENT = 4,   /* blocks that are to have registers on a processor at once */
    TURNS = 16,     /* elements of a square that a thread has under way */
    CUT_TURNS = 4,  /* fewer, where that makes less text of what is seldom done */
    PIECE_TURNS = 4 /* pieces of iterations likewise */
};

struct cross {
    struct cuda_emitter *cuda;
    const struct cuda_step *step;
    const struct cuda_crossing *crossing;
    struct cuda_loop_texts outer[CUDA_CHAIN], down[CUDA_CHAIN], along[CUDA_CHAIN];
    int edge, down_edge; /* of a square (cuda_cross.h) */
    int parts, turns;    /* how often threads go on to the next of it: so many in each part */
    bool whole;          /* the square at hand has all its iterations: nothing is tested */
    bool pieces;         /* there is a way by pieces */
    struct cuda_cross_side brought, left;
};

static void emit_open(struct emitter *emitter, const char *line)
{
    emit_line(emitter, "%s", line);
    emitter->indent++;
}

static void emit_close(struct emitter *emitter)
{
    emitter->indent--;
    emit_line(emitter, "}");
}

/* How the turns of a thread fall into parts, if it is to have so many under way at most. */
static void share_turns(struct cross *cross, int turns, int most)
{
    cross->turns = turns < most ? turns : most;
    cross->parts = turns / cross->turns;
}

static void emit_parts(struct cross *cross, void (*body)(struct cross *cross))
{
    struct emitter *emitter = &cross->cuda->emitter;
    if (cross->parts > 1) {
        emit_line(emitter, "#pragma unroll 1");
        emit_open(emitter,
                  arena_format(&emitter->arena, "for (int part_ = 0; part_ < %d; part_++) {", cross->parts));
    }
    body(cross);
    if (cross->parts > 1)
        emit_close(emitter);
}

static void emit_turns(const struct cross *cross, int turns)
{
    struct emitter *emitter = &cross->cuda->emitter;
    emit_line(emitter, "#pragma unroll");
    emit_open(emitter, arena_format(&emitter->arena, "for (int turn_ = 0; turn_ < %d; turn_++) {", turns));
}

/* Which of all turns that one is. */
static const char *turn_text(const struct cross *cross)
{
    return cross->parts > 1 ? arena_format(&cross->cuda->emitter.arena, "(part_ * %d + turn_)", cross->turns)
                            : "turn_";
}

/* For each of a thread's iterations of the square, or of the part. */
static void emit_turn(const struct cross *cross, bool loads)
{
    struct emitter *emitter = &cross->cuda->emitter;
    emit_turns(cross, cross->turns);
    int lanes = loads ? cross->down_edge : cross->edge;
    emit_line(emitter, "const int row_ = (int)threadIdx.x / %d + %s * %d, lane_ = (int)threadIdx.x %% %d;",
              lanes, turn_text(cross), CUDA_THREADS / lanes, lanes);
}

/* For those that there are: the loops' variables, and LETs between the loops. */
static void emit_each(struct cross *cross, bool loads)
{
    struct emitter *emitter = &cross->cuda->emitter;
    const struct cuda_chain *chain = &cross->step->chain;
    emit_turn(cross, loads);
    emit_line(emitter, "const long long down_ = down_first_ + %s, along_ = along_first_ + %s;",
              loads ? "lane_" : "row_", loads ? "row_" : "lane_");
    emit_open(emitter, cross->whole ? "{"
                                    : arena_format(&emitter->arena, "if (down_ < %s && along_ < %s) {",
                                                   cross->down[0].trips, cross->along[0].trips));
    emit_cuda_apart(cross->cuda, &cross->crossing->down, cross->down, "down_");
    emit_cuda_apart(cross->cuda, &cross->crossing->along, cross->along, "along_");
    for (int k = 0; k < chain->count - 1; k++)
        for (const struct ir_stmt *stmt = chain->loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next)
            emit_statement(emitter, stmt);
}

static const char *storage_of(const struct cross *cross, int load)
{
    return dtype_table[cross->crossing->loads[load]->access.buffer->dtype].c_storage;
}

static int size_of(const struct cross *cross, int load)
{
    return dtype_table[cross->crossing->loads[load]->access.buffer->dtype].size;
}

/* Elements from one row to the next. */
static int pitch_of(const struct cross *cross, int load)
{
    int size = size_of(cross, load);
    return cross->down_edge + (size < BANK ? BANK / size : 1);
}

/* All loads are under way before the first of them is waited for. */
static void emit_bring(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    for (int k = 0; k < cross->crossing->count; k++)
        emit_line(emitter, "%s brought%d_[%d];", storage_of(cross, k), k, cross->turns);
    emit_each(cross, true);
    for (int k = 0; k < cross->crossing->count; k++)
        emit_line(emitter, "brought%d_[turn_] = %s;", k,
                  emit_access(emitter, &cross->crossing->loads[k]->access).text);
    emit_close(emitter);
    emit_close(emitter);
    emit_turn(cross, true);
    for (int k = 0; k < cross->crossing->count; k++)
        emit_line(emitter, "square%d_[row_ * %d + lane_] = brought%d_[turn_];", k, pitch_of(cross, k), k);
    emit_close(emitter);
}

static void emit_iterations(struct cross *cross)
{
    struct cuda_emitter *cuda = cross->cuda;
    struct emitter *emitter = &cuda->emitter;
    emit_each(cross, false);
    for (int k = 0; k < cross->crossing->count; k++)
        cuda->substitutes[cuda->substitute_count++] = (struct cuda_substitute){
            cross->crossing->loads[k],
            emit_loaded(emitter, cross->crossing->loads[k]->dtype,
                        emit_name(arena_format(&emitter->arena, "square%d_[lane_ * %d + row_]", k,
                                               pitch_of(cross, k))))};
    emit_block(emitter, cuda_chain_body(&cross->step->chain));
    cuda->substitute_count = 0;
    emit_close(emitter);
    emit_close(emitter);
}

/* By one element at a time. */
static void emit_square(struct cross *cross, int most)
{
    share_turns(cross, cross->edge * cross->down_edge / CUDA_THREADS, most);
    emit_parts(cross, emit_bring);
    emit_line(&cross->cuda->emitter, "__syncthreads();");
    emit_parts(cross, emit_iterations);
}

/* ---- in pieces ------------------------------------------------------------------------------------ */

/* Pieces of a row of the turned square; and elements from the first of four rows to the next four. */
static int row_pieces(const struct cross *cross)
{
    return cross->edge / CUDA_QUAD;
}

static int four_rows(const struct cross *cross)
{
    return CUDA_QUAD * cross->edge + CUDA_QUAD;
}

static const char *count_word(int size)
{
    return size == 1 ? "one" : size == 2 ? "two" : "four";
}

/* The variables of the loops, and what is the same for all of a piece that runs along the side's loop; gives
 * the variable of that one at the beginning. */
static const char *emit_piece_variables(struct cross *cross, const struct cuda_cross_side *side)
{
    struct emitter *emitter = &cross->cuda->emitter;
    bool brings = side == &cross->brought;
    emit_cuda_apart(cross->cuda, brings ? &cross->crossing->along : &cross->crossing->down,
                    brings ? cross->along : cross->down, brings ? "along_" : "down_");
    for (const struct ir_stmt *stmt = side->outside; stmt; stmt = stmt->next)
        emit_statement(emitter, stmt);
    if (side->found.low)
        emit_line(emitter, "const long long first_ = %s + %lld;", brings ? "down_" : "along_",
                  (long long)side->found.low);
    return side->found.low ? "first_" : brings ? "down_" : "along_";
}

/* Where the piece at hand has its first element: of a piece outside, the last one inside has. */
static void emit_inside(const struct cross *cross, const char *loop, const char *at, const char *more)
{
    emit_line(&cross->cuda->emitter, "const long long %s_ = %s_first_ + akg_least(%s, %s_left_ - %d)%s;",
              loop, loop, at, loop, CUDA_QUAD, more);
}

/* Four pieces of a thread, one under another. */
static void emit_take(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    struct emit_symbol *entry = &emitter->symbols[cross->brought.loop.symbol->slot];
    const char *name = entry->name;
    emit_inside(cross, "down", "tile_down_", "");
    emit_line(emitter, "#pragma unroll");
    emit_open(emitter, arena_format(&emitter->arena, "for (int one_ = 0; one_ < %d; one_++) {", CUDA_QUAD));
    emit_inside(cross, "along", "tile_along_", " + one_");
    entry->name = emit_piece_variables(cross, &cross->brought);
    for (int k = 0; k < cross->crossing->count; k++)
        emit_line(emitter, "akg_take_%s(brought%d_[turn_][one_], &%s);", count_word(size_of(cross, k)), k,
                  emit_access(emitter, &cross->crossing->loads[k]->access).text);
    entry->name = name;
    emit_close(emitter);
}

static void emit_put(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    for (int k = 0; k < cross->crossing->count; k++) {
        int size = size_of(cross, k);
        emit_line(emitter, "akg_turn_%d(brought%d_[turn_][0]);", 8 * size, k);
        emit_line(emitter, "#pragma unroll");
        emit_line(emitter, "for (int one_ = 0; one_ < %d; one_++)", CUDA_QUAD);
        emit_line(emitter,
                  "    akg_put_%s(&square%d_[(tile_down_ >> 2) * %d + one_ * %d + tile_along_], "
                  "brought%d_[turn_][one_]);",
                  count_word(size), k, four_rows(cross), cross->edge, k);
    }
}

static void emit_bring_pieces(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    int pieces = cross->down_edge / CUDA_QUAD; /* of a row that is brought */
    int turns = pieces * row_pieces(cross) / CUDA_THREADS;
    for (int k = 0; k < cross->crossing->count; k++)
        emit_line(emitter, "unsigned int brought%d_[%d][%d][%d];", k, turns, CUDA_QUAD, size_of(cross, k));
    for (int done = 0; done < 2; done++) {
        emit_turns(cross, turns);
        emit_line(emitter,
                  "const int tile_down_ = (int)(threadIdx.x %% %d) * %d, "
                  "tile_along_ = ((int)(threadIdx.x / %d) + turn_ * %d) * %d;",
                  pieces, CUDA_QUAD, pieces, CUDA_THREADS / pieces, CUDA_QUAD);
        if (done)
            emit_put(cross);
        else
            emit_take(cross);
        emit_close(emitter);
    }
}

/* Four elements of a square. */
static void emit_piece_of(struct cross *cross, int load)
{
    struct emitter *emitter = &cross->cuda->emitter;
    const struct cuda_move move =
        emit_cuda_move(cross->crossing->loads[load]->access.buffer->dtype, CUDA_QUAD);
    emit_line(emitter, "%s piece%d_[%d];", storage_of(cross, load), load, CUDA_QUAD);
    emit_line(emitter,
              "akg_take_%s((%s *)piece%d_, (%s *)&square%d_[(row_ >> 2) * %d + (row_ & 3) * %d + lane_]);",
              move.name, move.type, load, move.type, load, four_rows(cross), cross->edge);
}

static void emit_piece_turn(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    emit_turns(cross, cross->turns);
    emit_line(
        emitter, "const int row_ = (int)(threadIdx.x / %d) + %s * %d, lane_ = (int)(threadIdx.x %% %d) * %d;",
        row_pieces(cross), turn_text(cross), CUDA_THREADS / row_pieces(cross), row_pieces(cross), CUDA_QUAD);
}

/* The first iteration of the turn. The number of the turn is added last: so the compiler sees that places are
 * as far apart as turns are. */
static void emit_piece_place(const struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    int rows = CUDA_THREADS / row_pieces(cross);
    const char *part = "";
    if (cross->parts > 1)
        part = arena_format(&emitter->arena, " + part_ * %d", cross->turns * rows);
    emit_line(emitter, "const long long down_ = down_first_ + (long long)(threadIdx.x / %d)%s + turn_ * %d;",
              row_pieces(cross), part, rows);
    emit_line(emitter, "const long long along_ = along_first_ + lane_;");
}

/* What runs along the stores is loaded for all turns before the first of them. */
static void emit_load_pieces(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    if (!cross->left.found.window_count)
        return;
    emit_cuda_pieces_declare(cross->cuda, &cross->left.found, cross->turns);
    emit_piece_turn(cross);
    if (cross->whole) {
        emit_piece_place(cross);
    } else {
        emit_line(emitter, "const long long down_ = down_first_ + akg_least(row_, down_left_ - 1);");
        emit_inside(cross, "along", "lane_", "");
    }
    emit_cuda_pieces_take(cross->cuda, &cross->left.found, emit_piece_variables(cross, &cross->left),
                          "[turn_]");
    emit_close(emitter);
}

static void emit_do_pieces(struct cross *cross)
{
    struct cuda_emitter *cuda = cross->cuda;
    struct emitter *emitter = &cuda->emitter;
    emit_load_pieces(cross);
    emit_piece_turn(cross);
    for (int k = 0; k < cross->crossing->count; k++) {
        emit_piece_of(cross, k);
        cuda->substitutes[cuda->substitute_count++] = (struct cuda_substitute){
            cross->crossing->loads[k],
            emit_loaded(emitter, cross->crossing->loads[k]->dtype,
                        emit_name(arena_format(&emitter->arena, "piece%d_[one_]", k)))};
    }
    emit_open(emitter, cross->whole ? "{" : "if (row_ < down_left_ && lane_ < along_left_) {");
    emit_piece_place(cross);
    emit_cuda_pieces_done(cuda, &cross->left.found, emit_piece_variables(cross, &cross->left), "[turn_]");
    cuda->substitute_count = 0;
    emit_close(emitter);
    emit_close(emitter);
}

static void emit_pieces(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    const char *loops[] = {"down", "along"}, *trips[] = {cross->down[0].trips, cross->along[0].trips};
    const int edges[] = {cross->down_edge, cross->edge};
    int turns = cross->down_edge * row_pieces(cross) / CUDA_THREADS;
    for (int k = 0; k < 2; k++)
        emit_line(emitter, "const int %s_left_ = %s - %s_first_ < %d ? (int)(%s - %s_first_) : %d;", loops[k],
                  trips[k], loops[k], edges[k], trips[k], loops[k], edges[k]);
    emit_bring_pieces(cross);
    emit_line(emitter, "__syncthreads();");
    emit_open(emitter, arena_format(&emitter->arena, "if (down_left_ == %d && along_left_ == %d) {",
                                    cross->down_edge, cross->edge));
    cross->whole = true;
    share_turns(cross, turns, PIECE_TURNS);
    emit_parts(cross, emit_do_pieces);
    emitter->indent--;
    emit_open(emitter, "} else {");
    cross->whole = false;
    share_turns(cross, turns, 1);
    emit_parts(cross, emit_do_pieces);
    emit_close(emitter);
}

/* Whether tensors lie well for all of them. */
static void emit_well(struct cross *cross)
{
    emit_line(&cross->cuda->emitter, "const int well_ = %s %% %d == 0 && %s %% %d == 0 && %s && %s;",
              cross->down[0].trips, CUDA_QUAD, cross->along[0].trips, CUDA_QUAD,
              emit_cuda_pieces_well(cross->cuda, &cross->brought.found),
              emit_cuda_pieces_well(cross->cuda, &cross->left.found));
}

/* ---- all ---------------------------------------------------------------------------------------------- */

/* Elements of shared memory: in whichever way. */
static int square_length(const struct cross *cross, int load)
{
    int plain = cross->edge * pitch_of(cross, load);
    int turned = cross->down_edge / CUDA_QUAD * four_rows(cross);
    return cross->pieces && turned > plain ? turned : plain;
}

static void emit_constants(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    const struct cuda_crossing *crossing = cross->crossing;
    for (int k = 0; k < crossing->count; k++)
        emit_line(emitter, "__shared__ __align__(16) %s square%d_[%d];", storage_of(cross, k), k,
                  square_length(cross, k));
    if (crossing->outer.count)
        emit_cuda_trips(cross->cuda, &crossing->outer, cross->outer);
    emit_cuda_trips(cross->cuda, &crossing->down, cross->down);
    emit_cuda_trips(cross->cuda, &crossing->along, cross->along);
    emit_line(emitter, "const long long squares_down_ = (%s + %d) / %d, squares_along_ = (%s + %d) / %d;",
              cross->down[0].trips, cross->down_edge - 1, cross->down_edge, cross->along[0].trips,
              cross->edge - 1, cross->edge);
    if (cross->pieces)
        emit_well(cross);
}

/* One square, by one element at a time or by four. */
static void emit_ways(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    if (cross->pieces) {
        emit_open(emitter, "if (well_) {");
        emit_pieces(cross);
        emitter->indent--;
    }
    emit_open(emitter,
              arena_format(&emitter->arena, "%sif (down_first_ + %d <= %s && along_first_ + %d <= %s) {",
                           cross->pieces ? "} else " : "", cross->down_edge, cross->down[0].trips,
                           cross->edge, cross->along[0].trips));
    cross->whole = true;
    emit_square(cross, TURNS);
    emitter->indent--;
    emit_open(emitter, "} else {");
    cross->whole = false;
    emit_square(cross, cross->pieces ? CUT_TURNS : TURNS);
    emit_close(emitter);
}

void emit_cuda_cross(struct cuda_emitter *cuda, const struct cuda_step *step)
{
    struct emitter *emitter = &cuda->emitter;
    struct cross cross = {.cuda = cuda,
                          .step = step,
                          .crossing = step->crossing,
                          .edge = step->crossing->edge,
                          .down_edge = cuda_crossing_down_edge(step->crossing)};
    cross.pieces = cuda_crossing_sides(&cuda->plan, step, &cross.brought, &cross.left);
    const struct cuda_chain *outer = &step->crossing->outer;
    cuda->resident = step->crossing->count == 1 ? RESIDENT : 0; /* more elements have more registers */
    emit_constants(&cross);
    emit_statement_line(
        emitter, step->first,
        arena_format(&emitter->arena,
                     "for (long long square_ = blockIdx.x; square_ < %s * squares_down_ * squares_along_; "
                     "square_ += gridDim.x) {",
                     outer->count ? emit_cuda_product(cuda, outer, cross.outer) : "1"));
    emitter->indent++;
    emit_line(emitter, "const long long band_ = akg_quotient(square_, squares_along_);");
    emit_line(emitter, "const long long along_first_ = (square_ - band_ * squares_along_) * %d;", cross.edge);
    emit_line(emitter, "const long long outer_ = akg_quotient(band_, squares_down_);");
    emit_line(emitter, "const long long down_first_ = (band_ - outer_ * squares_down_) * %d;",
              cross.down_edge);
    if (outer->count)
        emit_cuda_apart(cuda, outer, cross.outer, "outer_");
    emit_ways(&cross);
    emit_line(emitter, "__syncthreads();");
    emit_close(emitter);
}
