/*
 * emit_cuda_cross.c: a nest that loads along one loop and stores along another, square by square.
 *
 * Consumes a crossing (cuda_cross.h); produces a function whose warps bring what is loaded crosswise into
 * shared memory, a row of it each, and then go through the iterations with the lanes along the stores. A row
 * is one bank longer than the square, or one element: so a column lies in banks of its own, too. Of squares
 * that are whole nothing is tested, and places are computed once: a quarter of the instructions.
 */
#include "cuda_cross.h"
#include "emit_cuda_private.h"

enum {
    BANK = 4,    /* bytes */
    RESIDENT = 4 /* blocks that are to have registers on a processor at once */
};

struct cross {
    struct cuda_emitter *cuda;
    const struct cuda_step *step;
    const struct cuda_crossing *crossing;
    struct cuda_loop_texts outer[CUDA_CHAIN], down[CUDA_CHAIN], along[CUDA_CHAIN];
    int edge, rows, turns; /* of a square; of it at a time; and how often */
    bool whole;            /* the square at hand has all its iterations: nothing is tested */
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

/* For each of a thread's iterations of the square. */
static void emit_turn(const struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    emit_line(emitter, "#pragma unroll");
    emit_open(emitter,
              arena_format(&emitter->arena, "for (int turn_ = 0; turn_ < %d; turn_++) {", cross->turns));
    emit_line(emitter, "const int row_ = (int)threadIdx.x / %d + turn_ * %d;", cross->edge, cross->rows);
}

/* For those that there are: the loops' variables, and LETs between the loops. */
static void emit_each(struct cross *cross, bool loads)
{
    struct emitter *emitter = &cross->cuda->emitter;
    const struct cuda_chain *chain = &cross->step->chain;
    emit_turn(cross);
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
    emit_turn(cross);
    for (int k = 0; k < cross->crossing->count; k++)
        emit_line(emitter, "square%d_[row_][lane_] = brought%d_[turn_];", k, k);
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
                        emit_name(arena_format(&emitter->arena, "square%d_[lane_][row_]", k)))};
    emit_block(emitter, cuda_chain_body(&cross->step->chain));
    cuda->substitute_count = 0;
    emit_close(emitter);
    emit_close(emitter);
}

static void emit_square(struct cross *cross)
{
    emit_bring(cross);
    emit_line(&cross->cuda->emitter, "__syncthreads();");
    emit_iterations(cross);
}

static void emit_constants(struct cross *cross)
{
    struct emitter *emitter = &cross->cuda->emitter;
    const struct cuda_crossing *crossing = cross->crossing;
    for (int k = 0; k < crossing->count; k++) {
        int size = dtype_table[crossing->loads[k]->access.buffer->dtype].size;
        emit_line(emitter, "__shared__ %s square%d_[%d][%d];", storage_of(cross, k), k, cross->edge,
                  cross->edge + (size < BANK ? BANK / size : 1));
    }
    if (crossing->outer.count)
        emit_cuda_trips(cross->cuda, &crossing->outer, cross->outer);
    emit_cuda_trips(cross->cuda, &crossing->down, cross->down);
    emit_cuda_trips(cross->cuda, &crossing->along, cross->along);
    emit_line(emitter, "const long long squares_down_ = (%s + %d) / %d, squares_along_ = (%s + %d) / %d;",
              cross->down[0].trips, cross->edge - 1, cross->edge, cross->along[0].trips, cross->edge - 1,
              cross->edge);
    emit_line(emitter, "const int lane_ = (int)threadIdx.x %% %d;", cross->edge);
}

void emit_cuda_cross(struct cuda_emitter *cuda, const struct cuda_step *step)
{
    struct emitter *emitter = &cuda->emitter;
    int edge = step->crossing->edge, rows = CUDA_THREADS / edge;
    struct cross cross = {.cuda = cuda,
                          .step = step,
                          .crossing = step->crossing,
                          .edge = edge,
                          .rows = rows,
                          .turns = edge / rows};
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
    emit_line(emitter, "const long long down_first_ = (band_ - outer_ * squares_down_) * %d;", cross.edge);
    if (outer->count)
        emit_cuda_apart(cuda, outer, cross.outer, "outer_");
    emit_open(emitter,
              arena_format(&emitter->arena, "if (down_first_ + %d <= %s && along_first_ + %d <= %s) {", edge,
                           cross.down[0].trips, edge, cross.along[0].trips));
    cross.whole = true;
    emit_square(&cross);
    emitter->indent--;
    emit_open(emitter, "} else {");
    cross.whole = false;
    emit_square(&cross);
    emit_close(emitter);
    emit_line(emitter, "__syncthreads();");
    emit_close(emitter);
}
