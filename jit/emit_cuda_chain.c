/*
 * emit_cuda_chain.c: a chain of loops as one loop over all their iterations.
 *
 * Consumes a chain (cuda_plan.h); produces a loop whose counter is taken apart into the variables of the
 * chain, the fastest one from its remainder, so that neighbouring threads have neighbouring elements.
 */
#include "cuda_access.h"
#include "emit_cuda_private.h"

/* ---- how many iterations ------------------------------------------------------------ */

static const char *trips_text(struct cuda_emitter *cuda, const struct ir_stmt *loop, struct emit_value low,
                              struct emit_value high)
{
    struct arena *arena = &cuda->emitter.arena;
    bool up = loop->step > 0;
    const char *from = emit_operand(&cuda->emitter, up ? low : high, EMIT_MULTIPLY);
    const char *to = emit_operand(&cuda->emitter, up ? high : low, EMIT_ADD);
    unsigned long long step = up ? (unsigned long long)loop->step : 0 - (unsigned long long)loop->step;
    if (step == 1 && low.constant && low.number.i == 0 && up && high.nonnegative)
        return to;
    if (step == 1)
        return arena_format(arena, "akg_trips(%s, %s, 1)", from, to);
    return arena_format(arena, "akg_trips(%s, %s, %lluull)", from, to, step);
}

void emit_cuda_trips(struct cuda_emitter *cuda, const struct cuda_chain *chain, struct cuda_loop_texts *texts)
{
    struct emitter *emitter = &cuda->emitter;
    for (int k = 0; k < chain->count; k++) {
        const struct ir_stmt *loop = chain->loops[k];
        struct emit_value high;
        const char *name = emitter->symbols[loop->symbol->slot].name;
        emit_bounds(emitter, loop, &texts[k].low, &high);
        if (!texts[k].low.simple)
            texts[k].low = emit_hoist(emitter, AKG_INT64, texts[k].low);
        texts[k].trips = arena_format(&emitter->arena, "%s_trips_", name);
        emit_line(emitter, "const long long %s = %s;", texts[k].trips,
                  trips_text(cuda, loop, texts[k].low, high));
    }
}

/* ---- the loop --------------------------------------------------------------------------- */

/* "low + number * step" */
static const char *value_text(struct cuda_emitter *cuda, const struct ir_stmt *loop, struct emit_value low,
                              const char *number)
{
    struct arena *arena = &cuda->emitter.arena;
    const char *product = loop->step == 1 ? number
                          : loop->step == -1
                              ? arena_format(arena, "-%s", number)
                              : arena_format(arena, "%s * %lldll", number, (long long)loop->step);
    if (low.constant && low.number.i == 0)
        return product;
    return arena_format(arena, "%s + %s", emit_operand(&cuda->emitter, low, EMIT_ADD), product);
}

void emit_cuda_apart(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     const struct cuda_loop_texts *texts, const char *number)
{
    struct emitter *emitter = &cuda->emitter;
    const char *rest = number;
    for (int taken = 0; taken < chain->count; taken++) {
        /* the fastest, then the others from the innermost on */
        int at = taken == 0 ? chain->fastest : chain->count - taken;
        if (taken > 0 && at <= chain->fastest)
            at--;
        const struct ir_stmt *loop = chain->loops[at];
        const char *name = emitter->symbols[loop->symbol->slot].name, *digit = rest;
        if (taken < chain->count - 1) {
            const char *quotient = arena_format(&emitter->arena, "%s_rest_", name);
            digit = arena_format(&emitter->arena, "(%s - %s * %s)", rest, quotient, texts[at].trips);
            emit_line(emitter, "const long long %s = akg_quotient(%s, %s);", quotient, rest, texts[at].trips);
            rest = quotient;
        }
        emit_line(emitter, "const long long %s = %s;", name, value_text(cuda, loop, texts[at].low, digit));
        emit_line(emitter, "%c%d", EMIT_PENDING, loop->symbol->slot);
    }
}

const char *emit_cuda_product(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                              const struct cuda_loop_texts *texts)
{
    const char *total = texts[0].trips;
    for (int k = 1; k < chain->count; k++)
        total = arena_format(&cuda->emitter.arena, "%s * %s", total, texts[k].trips);
    return total;
}

const char *emit_cuda_total(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct cuda_loop_texts texts[CUDA_CHAIN];
    emit_cuda_trips(cuda, chain, texts);
    return emit_cuda_product(cuda, chain, texts);
}

void emit_cuda_iteration(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                         const struct cuda_loop_texts *texts, const char *number,
                         void (*body)(struct cuda_emitter *cuda, const struct ir_stmt *block))
{
    struct emitter *emitter = &cuda->emitter;
    emit_cuda_apart(cuda, chain, texts, number);
    for (int k = 0; k < chain->count; k++) {
        emit_enter_loop(emitter, chain->loops[k]);
        if (k < chain->count - 1)
            for (const struct ir_stmt *stmt = chain->loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next)
                emit_statement(emitter, stmt);
    }
    body(cuda, cuda_chain_body(chain));
    for (int k = 0; k < chain->count; k++)
        emit_leave_loop(emitter);
}

void emit_cuda_unroll(struct cuda_emitter *cuda, int times)
{
    if (cuda->unrolled / times > 1)
        emit_line(&cuda->emitter, "#pragma unroll %d", cuda->unrolled / times);
}

int emit_cuda_under_way(const struct cuda_emitter *cuda, const struct ir_stmt *body)
{
    int loads = ir_block_count_loads(body);
    int most = cuda->together.is_squad ? CUDA_UNROLLED / 2 : CUDA_UNROLLED;
    return !cuda_body_is_plain(body) ? 0 : loads < 2 ? most : loads < 4 ? most / loads : 0;
}

static void emit_loop_of(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                         const struct cuda_loop_texts *texts, const char *first, const char *step,
                         void (*body)(struct cuda_emitter *cuda, const struct ir_stmt *block))
{
    struct emitter *emitter = &cuda->emitter;
    const char *number =
        arena_format(&emitter->arena, "%s_at_", emitter->symbols[chain->loops[0]->symbol->slot].name);
    const char *total = emit_cuda_product(cuda, chain, texts);
    emit_cuda_unroll(cuda, 1);
    emit_statement_line(emitter, chain->loops[0],
                        arena_format(&emitter->arena, "for (long long %s = %s; %s < %s; %s += %s) {", number,
                                     first, number, total, number, step));
    emitter->indent++;
    emit_cuda_iteration(cuda, chain, texts, number, body);
    emitter->indent--;
    emit_line(emitter, "}");
}

void emit_cuda_chain(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *first,
                     const char *step, void (*body)(struct cuda_emitter *cuda, const struct ir_stmt *block))
{
    struct cuda_loop_texts texts[CUDA_CHAIN];
    emit_cuda_trips(cuda, chain, texts);
    emit_loop_of(cuda, chain, texts, first, step, body);
}

static void emit_plain_body(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    emit_block(&cuda->emitter, block);
}

/* By single threads, which have several iterations under way. */
static void emit_ones(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                      const struct cuda_loop_texts *texts, const char *first, const char *step)
{
    if (emit_cuda_turns(cuda, chain, texts, first, step))
        return;
    if (cuda_body_is_plain(cuda_chain_body(chain))) {
        emit_line(&cuda->emitter, "#pragma unroll %d", CUDA_TURNS);
        cuda->in_turns = CUDA_TURNS;
    }
    emit_loop_of(cuda, chain, texts, first, step, emit_plain_body);
}

void emit_cuda_each_from(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                         const struct cuda_loop_texts *texts, const char *done, const char *pieces,
                         const char *first, const char *step)
{
    struct arena *arena = &cuda->emitter.arena;
    const char *by_pieces =
        emit_cuda_quads(cuda, chain, texts, arena_format(arena, "%s + %s", pieces, first), step);
    if (by_pieces)
        done = arena_format(arena, "(%s > %s ? %s : %s)", by_pieces, done, by_pieces, done);
    emit_ones(cuda, chain, texts, arena_format(arena, "%s + %s", done, first), step);
}

void emit_cuda_each(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *first,
                    const char *step)
{
    struct cuda_loop_texts texts[CUDA_CHAIN];
    emit_cuda_trips(cuda, chain, texts);
    const char *done = emit_cuda_quads(cuda, chain, texts, first, step);
    if (done)
        first = arena_format(&cuda->emitter.arena, "%s + %s", done, first);
    emit_ones(cuda, chain, texts, first, step);
}
