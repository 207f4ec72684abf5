/*
 * emit_cuda_spread.c: a nest in phases, whose inner loops several blocks share.
 *
 * Consumes what cuda_spread.h found. A block lies over `lanes_` outer iterations side by side and, for each
 * of them, 256 / lanes_ terms at a time of the inner loop, in turn with the blocks that share the loop. What
 * its threads accumulate it combines, and leaves one part for each outer iteration; in the launch behind as
 * many threads combine the parts, one of which goes through the statements that follow. Where accesses run
 * along the outer iterations and tensors lie well, a thread has several of these (emit_cuda_columns.c).
 */
#include "emit_cuda_spread.h"

/* Of a loop: so many, which several threads load; so few, which one does. */
enum { MANY_PARTS = 64, FEW_PARTS = 16 };

static struct spread spread_of(struct cuda_emitter *cuda)
{
    const struct cuda_step *step = cuda->step;
    struct spread spread = {
        .found = step->spread, .phase = &step->spread->phases[step->phase], .number = step->phase};
    cuda_sums_of(&cuda->plan, &spread.phase->chain, &spread.sums);
    if (spread.phase->best) /* what it counts beside is settled with the best */
        spread.sums.count = 0;
    return spread;
}

static const char *member_of(akg_dtype dtype)
{
    return dtype_is_float(dtype) ? "d" : "i";
}

/* Behind the scalars that phases hand on lie parts of sums: of one sum after the other, of one part after the
 * other, for each outer iteration. */
const char *emit_cuda_spread_part(struct cuda_emitter *cuda, int sum, const char *split, akg_dtype dtype)
{
    struct arena *arena = &cuda->emitter.arena;
    int lives = cuda->step->spread->live_count;
    return arena_format(arena, "akg_spread[1 + (%s%d * splits_ + %s) * outer_ + number_].%s",
                        lives ? arena_format(arena, "%d + ", lives) : "", sum, split, member_of(dtype));
}

/* Of the best: the value, and its iteration. */
static const char *best_text(struct cuda_emitter *cuda, const struct spread *spread)
{
    struct cuda_best best;
    cuda_best_of(spread->phase->loop, &best);
    return emit_cuda_spread_part(cuda, 0, "split_", best.symbol->dtype);
}

/* ---- scalars that phases hand on ------------------------------------------------------------ */

const char *emit_cuda_spread_live(struct cuda_emitter *cuda, const struct spread *spread, int number)
{
    return arena_format(&cuda->emitter.arena, "akg_spread[1 + %d * outer_ + number_].%s", number,
                        member_of(spread->found->lives[number]->dtype));
}

bool emit_cuda_spread_declares(const struct ir_stmt *first, const struct ir_stmt *end,
                               const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = first; stmt != end; stmt = stmt->next)
        if ((stmt->kind == IR_LET || stmt->kind == IR_VARIABLE) && stmt->symbol == symbol)
            return true;
    return false;
}

/* Those that statements use and do not declare. */
static void take_lives(struct cuda_emitter *cuda, const struct spread *spread, const struct ir_stmt *first,
                       const struct ir_stmt *end)
{
    struct emitter *emitter = &cuda->emitter;
    for (int k = 0; k < spread->found->live_count; k++) {
        const struct ir_symbol *symbol = spread->found->lives[k];
        struct emit_symbol *entry = &emitter->symbols[symbol->slot];
        if (!cuda_spread_uses(first, end, symbol) || emit_cuda_spread_declares(first, end, symbol))
            continue;
        entry->bits = dtype_is_float(symbol->dtype) ? 0 : emit_dtype_bits(symbol->dtype);
        entry->nonnegative = !dtype_is_float(symbol->dtype) && !dtype_is_signed(symbol->dtype);
        emit_line(emitter, "%s %s = (%s)%s;", emit_type(symbol->dtype), entry->name, emit_type(symbol->dtype),
                  emit_cuda_spread_live(cuda, spread, k));
        emit_line(emitter, "%c%d", EMIT_PENDING, symbol->slot);
    }
}

/* Those that the launch has: from `first` on they are used or declared. */
static void leave_lives(struct cuda_emitter *cuda, const struct spread *spread, const struct ir_stmt *first,
                        const struct ir_stmt *end)
{
    struct emitter *emitter = &cuda->emitter;
    for (int k = 0; k < spread->found->live_count; k++) {
        const struct ir_symbol *symbol = spread->found->lives[k];
        if (emit_cuda_spread_declares(first, end, symbol) || cuda_spread_uses(first, end, symbol))
            emit_line(emitter, "%s = %s;", emit_cuda_spread_live(cuda, spread, k),
                      emitter->symbols[symbol->slot].name);
    }
}

static void emit_statements(struct cuda_emitter *cuda, const struct ir_stmt *first, const struct ir_stmt *end)
{
    for (const struct ir_stmt *stmt = first; stmt != end; stmt = stmt->next)
        emit_statement(&cuda->emitter, stmt);
}

/* ---- where a thread is ---------------------------------------------------------------------- */

/* The outer iterations, and how a block lies over them: so many threads side by side, with so many each, both
 * texts. */
static void emit_extents(struct cuda_emitter *cuda, const struct cuda_loop_texts *texts, const char *side,
                         const char *each)
{
    struct emitter *emitter = &cuda->emitter;
    const struct cuda_chain *outer = &cuda->step->chain;
    emit_line(emitter, "const long long outer_ = %s;", emit_cuda_product(cuda, outer, texts));
    emit_line(emitter, "const int lanes_ = %s;", side);
    emit_line(emitter, "const long long groups_ = akg_trips(0, outer_, lanes_%s);", each);
    emit_line(emitter, "const int depths_ = %d / lanes_, deep_ = (int)threadIdx.x / lanes_;", CUDA_THREADS);
}

/* The thread's outer iteration; one that there is, in any case. */
static void emit_place(struct emitter *emitter)
{
    emit_line(emitter, "const long long number_ = lane_ < outer_ ? lane_ : outer_ - 1;");
}

/* ---- a phase ----------------------------------------------------------------------------------- */

static void emit_parts(struct cuda_emitter *cuda, const struct spread *spread)
{
    struct emitter *emitter = &cuda->emitter;
    cuda->summed = NULL;
    for (int k = 0; k < spread->sums.count; k++) {
        const struct ir_symbol *symbol = spread->sums.items[k]->symbol;
        const char *name = emitter->symbols[symbol->slot].name;
        emit_line(emitter, "%s = (%s)akg_lanes_%s(%s, lanes_);", name, emit_type(symbol->dtype),
                  emit_cuda_combiner(cuda, spread->sums.items[k]->reduction, symbol->dtype), name);
    }
    emit_line(emitter, "if (lane_ < outer_ && deep_ == 0) {");
    for (int k = 0; k < spread->sums.count; k++) {
        const struct ir_symbol *symbol = spread->sums.items[k]->symbol;
        emit_line(emitter, "    %s = %s;", emit_cuda_spread_part(cuda, k, "split_", symbol->dtype),
                  emitter->symbols[symbol->slot].name);
    }
    emit_line(emitter, "}");
}

static void emit_phase(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    struct emitter *emitter = &cuda->emitter;
    struct spread spread = spread_of(cuda);
    const struct ir_stmt *loop = spread.phase->loop;
    if (spread.number == 0)
        emit_statements(cuda, block, loop);
    else
        take_lives(cuda, &spread, loop, loop->next);
    if (spread.sums.count)
        emit_cuda_begin_parts(cuda, &spread.sums);
    emit_line(emitter, "const long long begin_ = lane_ < outer_ ? split_ * depths_ + deep_ : 1ll << 62;");
    emit_line(emitter, "const long long step_ = splits_ * depths_;");
    if (spread.phase->best) {
        emit_cuda_best_lanes(cuda, &spread.phase->chain, best_text(cuda, &spread),
                             emit_cuda_spread_part(cuda, 1, "split_", AKG_INT64));
        return;
    }
    cuda->unrolled = CUDA_SPREAD_UNROLLED;
    emit_cuda_each(cuda, &spread.phase->chain, "begin_", "step_");
    cuda->unrolled = 0;
    if (spread.sums.count)
        emit_parts(cuda, &spread);
}

/* A thread's outer iteration, or its piece of them. */
static void emit_phases(struct cuda_emitter *cuda, const struct spread *spread, struct columns *columns,
                        const struct cuda_loop_texts *texts)
{
    struct emitter *emitter = &cuda->emitter;
    emit_line(emitter, "const long long lane_ = group_ * lanes_ + (int)threadIdx.x %% lanes_;");
    if (columns) {
        emit_line(emitter, "if (each_ == 1) {");
        emitter->indent++;
    }
    emit_place(emitter);
    emit_cuda_iteration(cuda, &cuda->step->chain, texts, "number_", emit_phase);
    if (columns) {
        emitter->indent--;
        emit_line(emitter, "} else {");
        emitter->indent++;
        emit_cuda_columns(cuda, spread, columns, texts);
        emitter->indent--;
        emit_line(emitter, "}");
    }
}

/* Into how many parts the loop is cut: so that blocks have equally many, and threads some terms of each. */
static void emit_splits(struct cuda_emitter *cuda, const struct spread *spread)
{
    struct emitter *emitter = &cuda->emitter;
    const struct cuda_chain *chain = &spread->phase->chain;
    struct cuda_loop_texts texts[CUDA_CHAIN];
    emit_line(emitter, "long long terms_;");
    emit_line(emitter, "{");
    emitter->indent++;
    emit_cuda_trips(cuda, chain, texts);
    emit_line(emitter, "terms_ = %s;", emit_cuda_product(cuda, chain, texts));
    emitter->indent--;
    emit_line(emitter, "}");
    emit_line(emitter, "const long long splits_ = akg_splits(groups_, blocks_, terms_ / (depths_ * %d), %d);",
              CUDA_SPREAD_TERMS, CUDA_SPREAD_FINER);
}

void emit_cuda_spread(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    struct spread spread = spread_of(cuda);
    struct cuda_loop_texts texts[CUDA_CHAIN];
    struct columns columns;
    bool wide = emit_cuda_columns_of(cuda, &spread, &columns);
    emit_cuda_trips(cuda, &cuda->step->chain, texts);
    if (wide)
        emit_line(emitter, "const int each_ = %s ? %d : 1;", emit_cuda_columns_well(cuda, &columns, texts),
                  columns.pieces.length);
    emit_line(emitter, "const long long blocks_ = gridDim.x < %d ? gridDim.x : %d;", CUDA_SPREAD_BLOCKS,
              CUDA_SPREAD_BLOCKS);
    emit_extents(cuda, texts,
                 !spread.phase->across ? "1"
                 : wide                ? "akg_lane_count(akg_trips(0, outer_, each_))"
                                       : "akg_lane_count(outer_)",
                 wide ? " * each_" : "");
    emit_splits(cuda, &spread);
    if (spread.sums.count || spread.phase->best)
        emit_line(emitter, "if (blockIdx.x == 0 && threadIdx.x == 0)\n        akg_spread[0].i = splits_;");
    emit_statement_line(
        emitter, spread.phase->loop,
        "for (long long part_ = blockIdx.x; part_ < groups_ * splits_; part_ += gridDim.x) {");
    emitter->indent++;
    emit_line(emitter,
              "const long long split_ = akg_quotient(part_, groups_), group_ = part_ - split_ * groups_;");
    emit_phases(cuda, &spread, wide ? &columns : NULL, texts);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- what follows it ------------------------------------------------------------------------------ */

static struct emit_value all_of(struct cuda_emitter *cuda, const struct ir_symbol *symbol)
{
    return emit_name(arena_format(&cuda->emitter.arena, "%s_all_", cuda->emitter.symbols[symbol->slot].name));
}

/* What all parts come to, for every thread of the outer iteration. */
static void emit_together(struct cuda_emitter *cuda, const struct dependence_scalar *sum, int number)
{
    struct emitter *emitter = &cuda->emitter;
    akg_dtype dtype = emit_cuda_part_dtype(cuda, sum->symbol->dtype);
    const char *type = emit_type(dtype);
    struct emit_value operands[2] = {all_of(cuda, sum->symbol), emit_name("one_")};
    const char *all = operands[0].text;
    emit_line(emitter, "%s %s = %s;", type, all, emit_cuda_neutral(cuda, sum->reduction, dtype));
    emit_line(emitter, "#pragma unroll %d", CUDA_SPREAD_UNROLLED);
    emit_line(emitter, "for (long long split_ = deep_; split_ < splits_; split_ += depths_) {");
    emitter->indent++;
    emit_line(emitter, "const %s one_ = (%s)%s;", type, type,
              emit_cuda_spread_part(cuda, number, "split_", dtype));
    emit_line(emitter, "%s = %s;", all, emit_combined(emitter, sum->reduction, dtype, operands).text);
    emitter->indent--;
    emit_line(emitter, "}");
    emit_line(emitter, "if (depths_ > 1)");
    emit_line(emitter, "    %s = (%s)akg_lanes_%s(%s, lanes_);", all, type,
              emit_cuda_combiner(cuda, sum->reduction, dtype), all);
}

static void emit_behind(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    struct emitter *emitter = &cuda->emitter;
    struct spread spread = spread_of(cuda);
    const struct ir_stmt *loop = spread.phase->loop, *end = cuda_spread_end(spread.found, spread.number);
    if (spread.number == 0)
        emit_statements(cuda, block, loop);
    else
        take_lives(cuda, &spread, loop, end);
    for (int k = 0; k < spread.sums.count; k++) {
        const struct ir_symbol *symbol = spread.sums.items[k]->symbol;
        const char *name = emitter->symbols[symbol->slot].name;
        struct emit_value operands[2] = {emit_name(name), all_of(cuda, symbol)};
        emit_line(emitter, "%s = %s;", name,
                  emit_combined(emitter, spread.sums.items[k]->reduction, symbol->dtype, operands).text);
        emitter->symbols[symbol->slot].assignments++;
    }
    if (spread.phase->best)
        emit_cuda_best_settle(cuda, &spread.phase->chain);
    emit_statements(cuda, loop->next, end);
    if (end)
        leave_lives(cuda, &spread, spread.number == 0 ? block : loop, end);
}

/* How many outer iterations a block has side by side: the more parts, the more threads are to load them. */
static const char *gather_side(struct cuda_emitter *cuda, const struct spread *spread)
{
    struct arena *arena = &cuda->emitter.arena;
    const char *side = arena_format(arena, "akg_lane_count(splits_ < %d || outer_ < %d ? outer_ : %d)",
                                    MANY_PARTS, CUDA_SPREAD_GATHERED, CUDA_SPREAD_GATHERED);
    if (spread->phase->best)
        return side;
    return spread->sums.count ? arena_format(arena, "splits_ <= %d ? %d : %s", FEW_PARTS, CUDA_THREADS, side)
                              : arena_format(arena, "%d", CUDA_THREADS);
}

void emit_cuda_gather(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    struct spread spread = spread_of(cuda);
    struct cuda_loop_texts texts[CUDA_CHAIN];
    emit_cuda_trips(cuda, &cuda->step->chain, texts);
    bool combines = spread.sums.count || spread.phase->best;
    if (combines)
        emit_line(emitter, "const long long splits_ = akg_spread[0].i;");
    emit_extents(cuda, texts, gather_side(cuda, &spread), "");
    emit_statement_line(emitter, spread.phase->loop,
                        "for (long long group_ = blockIdx.x; group_ < groups_; group_ += gridDim.x) {");
    emitter->indent++;
    emit_line(emitter, "const long long lane_ = group_ * lanes_ + (int)threadIdx.x %% lanes_;");
    emit_place(emitter);
    for (int k = 0; k < spread.sums.count; k++)
        emit_together(cuda, spread.sums.items[k], k);
    if (spread.phase->best)
        emit_cuda_best_gather(cuda, &spread.phase->chain, best_text(cuda, &spread),
                              emit_cuda_spread_part(cuda, 1, "split_", AKG_INT64));
    emit_line(emitter, "if (lane_ < outer_ && deep_ == 0) {");
    emitter->indent++;
    emit_cuda_iteration(cuda, &cuda->step->chain, texts, "number_", emit_behind);
    for (int k = 0; k < 2; k++) {
        emitter->indent--;
        emit_line(emitter, "}");
    }
}
