/*
 * emit_cuda_best.c: loops that look for the best of their iterations, by threads together.
 *
 * Consumes a chain that cuda_best.h found. Each thread goes through its iterations in their order and keeps
 * the best so far, with the number of the iteration; -1 where what was there before is as good. Two such
 * candidates meet by the condition of the loop itself, asked both ways; so do those of lanes, of warps, and
 * of blocks. What the loop assigns besides is computed from the number that is left.
 */
#include "emit_cuda_private.h"

#include <string.h>

enum { RESIDENT = 5 /* blocks that are to have registers on a processor: most wait for one another */ };

struct seek {
    struct cuda_emitter *cuda;
    struct cuda_chain chain;
    struct cuda_best found;
    struct cuda_loop_texts texts[CUDA_CHAIN];
    const char *best, *place, *type;
};

static struct seek seek_of(struct cuda_emitter *cuda, const struct ir_stmt *loop)
{
    struct emitter *emitter = &cuda->emitter;
    struct seek seek = {.cuda = cuda};
    cuda_best_of(loop, &seek.found);
    cuda_chain_of(&cuda->plan, loop, CUDA_SHARE_BEST, &seek.chain);
    seek.best = emitter->symbols[seek.found.symbol->slot].name;
    seek.place = arena_format(&emitter->arena, "%s_place_", seek.best);
    seek.type = emit_type(seek.found.symbol->dtype);
    emitter->symbols[seek.found.symbol->slot].assignments++;
    return seek;
}

/* ---- each thread ----------------------------------------------------------------------------- */

/* Of the iteration, by the variables of the loops. */
static const char *number_text(struct seek *seek)
{
    struct emitter *emitter = &seek->cuda->emitter;
    const char *all = "";
    for (int k = 0; k < seek->chain.count; k++) {
        const struct emit_value low = seek->texts[k].low;
        const char *name = emitter->symbols[seek->chain.loops[k]->symbol->slot].name;
        const char *digit =
            low.constant && low.number.i == 0
                ? name
                : arena_format(&emitter->arena, "%s - %s", name, emit_operand(emitter, low, EMIT_UNARY));
        all = *all ? arena_format(&emitter->arena, "(%s) * %s + (%s)", all, seek->texts[k].trips, digit)
                   : digit;
    }
    return all;
}

bool emit_cuda_best_statement(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct emitter *emitter = &cuda->emitter;
    struct seek *seek = cuda->seek;
    for (int k = 0; seek && k < seek->found.counter_count; k++)
        if (seek->found.counters[k].stmt == stmt)
            return true;
    if (!seek || stmt != seek->found.choice)
        return false;
    struct emit_value condition = emit_shallow(emitter, stmt->value);
    emit_statement_line(emitter, stmt, arena_format(&emitter->arena, "if (%s) {", condition.text));
    emitter->indent++;
    emit_line(emitter, "%s = %s;", seek->best, emit_shallow(emitter, seek->found.value).text);
    emit_line(emitter, "%s = %s;", seek->place, number_text(seek));
    emitter->indent--;
    emit_line(emitter, "}");
    return true;
}

static void emit_own(struct seek *seek, const char *first, const char *step)
{
    struct cuda_emitter *cuda = seek->cuda;
    emit_cuda_trips(cuda, &seek->chain, seek->texts);
    emit_line(&cuda->emitter, "long long %s = -1;", seek->place);
    cuda->seek = seek;
    cuda->unrolled = CUDA_QUAD;
    emit_cuda_each_from(cuda, &seek->chain, seek->texts, "0", "0", first, step);
    cuda->unrolled = 0;
    cuda->seek = NULL;
}

/* ---- two candidates -------------------------------------------------------------------------- */

/* The condition of one thing as the best so far, and the other as the value. */
static const char *asked(struct seek *seek, const char *best, const char *value)
{
    struct cuda_emitter *cuda = seek->cuda;
    struct emitter *emitter = &cuda->emitter;
    struct ir_expr *symbol = arena_new(&emitter->arena, struct ir_expr);
    int count = cuda->substitute_count;
    *symbol = (struct ir_expr){.kind = IR_SYMBOL,
                               .dtype = seek->found.symbol->dtype,
                               .symbol = (struct ir_symbol *)seek->found.symbol};
    cuda->substitutes[cuda->substitute_count++] = (struct cuda_substitute){symbol, emit_name(best)};
    cuda->substitutes[cuda->substitute_count++] =
        (struct cuda_substitute){seek->found.value, emit_name(value)};
    const char *text = emit_shallow(emitter, seek->found.choice->value).text;
    cuda->substitute_count = count;
    return text;
}

/* `other_`, of iteration `other_at_`, if the loop would have kept that. */
static void emit_meet(struct seek *seek)
{
    struct emitter *emitter = &seek->cuda->emitter;
    emit_line(emitter, "const int later_ = %s;", asked(seek, seek->best, "other_"));
    emit_line(emitter, "const int earlier_ = %s;", asked(seek, "other_", seek->best));
    emit_line(emitter, "const int take_ = (other_at_ >= 0) & ((%s < 0) |", seek->place);
    emit_line(emitter, "    (later_ != earlier_ ? later_ : later_ ? other_at_ > %s : other_at_ < %s));",
              seek->place, seek->place);
    emit_line(emitter, "%s = take_ ? other_ : %s;", seek->best, seek->best);
    emit_line(emitter, "%s = take_ ? other_at_ : %s;", seek->place, seek->place);
}

static void emit_meet_of(struct seek *seek, const char *other, const char *other_at)
{
    struct emitter *emitter = &seek->cuda->emitter;
    emitter->indent++;
    emit_line(emitter, "const %s other_ = (%s)%s;", seek->type, seek->type, other);
    emit_line(emitter, "const long long other_at_ = %s;", other_at);
    emit_meet(seek);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- all threads ------------------------------------------------------------------------------- */

static const char *exchanged(struct seek *seek, const char *type, const char *value)
{
    bool squad = seek->cuda->together.is_squad;
    return arena_format(&seek->cuda->emitter.arena, "akg_exchange_%s%s(%s, lane_%s)", squad ? "among_" : "",
                        type, value, squad ? ", akg_mates" : "");
}

/* Every thread has the same then. */
static void emit_together(struct seek *seek)
{
    struct emitter *emitter = &seek->cuda->emitter;
    bool squad = seek->cuda->together.is_squad;
    int warps = cuda_step_threads(seek->cuda->step) / 32;
    const char *name = strchr(emit_cuda_combiner(seek->cuda, OP_MAX, seek->found.symbol->dtype), '_') + 1;
    emit_line(emitter, "for (int lane_ = %s / 2; lane_ > 0; lane_ /= 2) {", squad ? "akg_lanes" : "32");
    emit_meet_of(seek, exchanged(seek, name, seek->best), exchanged(seek, "int64", seek->place));
    if (squad)
        return;
    emit_line(emitter, "__shared__ %s %s_parts_[%d];", seek->type, seek->best, warps);
    emit_line(emitter, "__shared__ long long %sparts_[%d];", seek->place, warps);
    emit_line(emitter, "__syncthreads();");
    emit_line(emitter, "if (threadIdx.x %% 32 == 0) {");
    emit_line(emitter, "    %s_parts_[threadIdx.x / 32] = %s;", seek->best, seek->best);
    emit_line(emitter, "    %sparts_[threadIdx.x / 32] = %s;", seek->place, seek->place);
    emit_line(emitter, "}");
    emit_line(emitter, "__syncthreads();");
    emit_line(emitter, "%s = %s_parts_[threadIdx.x %% %d];", seek->best, seek->best, warps);
    emit_line(emitter, "%s = %sparts_[threadIdx.x %% %d];", seek->place, seek->place, warps);
    emit_line(emitter, "for (int lane_ = %d; lane_ > 0; lane_ /= 2) {", warps / 2);
    emit_meet_of(seek, exchanged(seek, name, seek->best), exchanged(seek, "int64", seek->place));
}

/* The same for each of `lanes_` neighbours. */
static void emit_lanes(struct seek *seek)
{
    struct emitter *emitter = &seek->cuda->emitter;
    struct arena *arena = &emitter->arena;
    const char *name = strchr(emit_cuda_combiner(seek->cuda, OP_MAX, seek->found.symbol->dtype), '_') + 1;
    emit_line(emitter, "for (int lane_ = 16; lane_ >= lanes_; lane_ /= 2) {");
    emit_meet_of(seek, exchanged(seek, name, seek->best), exchanged(seek, "int64", seek->place));
    emit_line(emitter, "__shared__ %s %s_parts_[%d];", seek->type, seek->best, CUDA_THREADS);
    emit_line(emitter, "__shared__ long long %sparts_[%d];", seek->place, CUDA_THREADS);
    emit_line(emitter, "__syncthreads();");
    emit_line(emitter, "%s_parts_[threadIdx.x] = %s;", seek->best, seek->best);
    emit_line(emitter, "%sparts_[threadIdx.x] = %s;", seek->place, seek->place);
    emit_line(emitter, "__syncthreads();");
    emit_line(emitter, "for (int part_ = (int)threadIdx.x %% lanes_; part_ < %d; part_ += 32) {",
              CUDA_THREADS);
    emit_meet_of(seek, arena_format(arena, "%s_parts_[part_]", seek->best),
                 arena_format(arena, "%sparts_[part_]", seek->place));
}

/* ---- what the loop leaves ------------------------------------------------------------------------ */

static void emit_rest(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    struct emitter *emitter = &cuda->emitter;
    struct seek seek = seek_of(cuda, cuda->settled);
    int count = cuda->substitute_count;
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET)
            emit_statement(emitter, stmt);
    for (int k = 0; k < seek.found.counter_count; k++) {
        const struct cuda_counter *counter = &seek.found.counters[k];
        const struct ir_symbol *symbol = counter->stmt->symbol;
        const char *value = arena_format(
            &emitter->arena, "(%s)((unsigned long long)%s + (unsigned long long)(%s%s) * %lluull)",
            emit_type(symbol->dtype), emitter->symbols[symbol->slot].name, seek.place,
            counter->early ? " + 1" : "", (unsigned long long)counter->amount);
        cuda->substitutes[cuda->substitute_count++] =
            (struct cuda_substitute){counter->stmt->value->operands[0], emit_name(value)};
    }
    for (const struct ir_stmt *stmt = seek.found.choice->body; stmt; stmt = stmt->next)
        if (stmt->symbol != seek.found.symbol)
            emit_statement(emitter, stmt);
    cuda->substitute_count = count;
}

static void emit_settled(struct seek *seek)
{
    struct cuda_emitter *cuda = seek->cuda;
    struct emitter *emitter = &cuda->emitter;
    cuda->settled = seek->chain.loops[0];
    emit_line(emitter, "if (%s >= 0) {", seek->place);
    emitter->indent++;
    emit_cuda_iteration(cuda, &seek->chain, seek->texts, seek->place, emit_rest);
    emitter->indent--;
    emit_line(emitter, "}");
    for (int k = 0; k < seek->found.counter_count; k++) {
        const struct cuda_counter *counter = &seek->found.counters[k];
        const struct ir_symbol *symbol = counter->stmt->symbol;
        const char *name = emitter->symbols[symbol->slot].name;
        emit_line(emitter, "%s = (%s)((unsigned long long)%s + (unsigned long long)(%s) * %lluull);", name,
                  emit_type(symbol->dtype), name, emit_cuda_product(cuda, &seek->chain, seek->texts),
                  (unsigned long long)counter->amount);
        emitter->symbols[symbol->slot].assignments++;
    }
}

void emit_cuda_best(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct seek seek = seek_of(cuda, chain->loops[0]);
    emit_own(&seek, cuda->together.thread, cuda->together.threads);
    emit_together(&seek);
    emit_settled(&seek);
    if (!cuda->together.is_squad)
        cuda->resident = RESIDENT;
}

/* ---- in phases ----------------------------------------------------------------------------------- */

void emit_cuda_best_lanes(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *value,
                          const char *number)
{
    struct emitter *emitter = &cuda->emitter;
    struct seek seek = seek_of(cuda, chain->loops[0]);
    emit_own(&seek, "begin_", "step_");
    emit_lanes(&seek);
    emit_line(emitter, "if (lane_ < outer_ && deep_ == 0) {");
    emit_line(emitter, "    %s = %s;", value, seek.best);
    emit_line(emitter, "    %s = %s;", number, seek.place);
    emit_line(emitter, "}");
}

void emit_cuda_best_gather(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *value,
                           const char *number)
{
    struct emitter *emitter = &cuda->emitter;
    struct seek seek = seek_of(cuda, chain->loops[0]);
    emit_line(emitter, "%s %s = 0;", seek.type, seek.best);
    emit_line(emitter, "long long %s = -1;", seek.place);
    emit_line(emitter, "for (long long split_ = deep_; split_ < splits_; split_ += depths_) {");
    emit_meet_of(&seek, value, number);
    emit_lanes(&seek);
    emit_line(emitter, "const %s %s_found_ = %s;", seek.type, seek.best, seek.best);
}

void emit_cuda_best_settle(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct seek seek = seek_of(cuda, chain->loops[0]);
    emit_cuda_trips(cuda, &seek.chain, seek.texts);
    emit_line(emitter, "%s = %s >= 0 ? %s_found_ : %s;", seek.best, seek.place, seek.best, seek.best);
    emit_settled(&seek);
}

/* ---- by the grid ---------------------------------------------------------------------------------- */

static const char *part_text(struct seek *seek, const char *at)
{
    return arena_format(&seek->cuda->emitter.arena, "akg_parts[1 + %s * 2].%s", at,
                        dtype_is_float(seek->found.symbol->dtype) ? "d" : "i");
}

void emit_cuda_best_parts(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *first,
                          const char *step)
{
    struct emitter *emitter = &cuda->emitter;
    struct seek seek = seek_of(cuda, chain->loops[0]);
    emit_own(&seek, first, step);
    emit_together(&seek);
    emit_line(emitter, "if (threadIdx.x == 0) {");
    emit_line(emitter, "    if (blockIdx.x == 0)");
    emit_line(emitter, "        akg_parts[0].i = gridDim.x;");
    emit_line(emitter, "    %s = %s;", part_text(&seek, "blockIdx.x"), seek.best);
    emit_line(emitter, "    akg_parts[2 + blockIdx.x * 2].i = %s;", seek.place);
    emit_line(emitter, "}");
}

void emit_cuda_best_collect(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct seek seek = seek_of(cuda, chain->loops[0]);
    emit_line(emitter, "{");
    emitter->indent++;
    emit_cuda_trips(cuda, &seek.chain, seek.texts);
    emit_line(emitter, "const long long parts_ = %s > 0 ? akg_parts[0].i : 0;",
              emit_cuda_product(cuda, &seek.chain, seek.texts));
    emit_line(emitter, "long long %s = -1;", seek.place);
    emit_line(emitter, "for (long long part_ = threadIdx.x; part_ < parts_; part_ += blockDim.x) {");
    emit_meet_of(&seek, part_text(&seek, "part_"), "akg_parts[2 + part_ * 2].i");
    emit_together(&seek);
    emit_settled(&seek);
    emitter->indent--;
    emit_line(emitter, "}");
}
