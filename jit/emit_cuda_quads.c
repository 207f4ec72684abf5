/*
 * emit_cuda_quads.c: a chain of loops whose threads take four iterations of the innermost one at a time, or
 * eight where all elements are narrow: the loops over such pieces, one by one or several under way at once.
 *
 * Consumes what cuda_quads.h found; emit_cuda_quads_piece.c does what is to be done with each. Whether
 * tensors lie well enough for that is only known when the code runs; what is not done so is left to the chain
 * as it is.
 */
#include "emit_cuda_quads.h"

/* ---- how many pieces -------------------------------------------------------------------------------- */

/* The pieces of a row as a text. */
static const char *pieces_text(struct quads *quads, const struct cuda_loop_texts *texts)
{
    struct arena *arena = &quads->cuda->emitter.arena;
    const char *trips = texts[quads->found.chain->count - 1].trips;
    if (!quads->found.cut)
        return arena_format(arena, "%s / %d", trips, quads->found.length);
    return arena_format(arena, "%s_pieces_",
                        quads->cuda->emitter.symbols[quads->found.loop->symbol->slot].name);
}

/* The number of pieces; or none. Of one loop whose pieces are not cut a few iterations are left. */
static void emit_count(struct quads *quads, const struct cuda_loop_texts *texts, const char *name)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const struct cuda_chain *chain = quads->found.chain;
    const char *trips = texts[chain->count - 1].trips, *all = "";
    if (!quads->found.cut) {
        if (chain->count > 1 && !quads->found.flat)
            all = arena_format(&emitter->arena, "%s %% %d == 0", trips, quads->found.length);
        emit_line(emitter, "const long long %s = %s ? %s / %d : 0;", name, emit_quads_conditions(quads, all),
                  emit_cuda_product(quads->cuda, chain, texts), quads->found.length);
        return;
    }
    const char *pieces = pieces_text(quads, texts), *outer = "";
    int64_t before = quads->found.low - emit_quads_first(quads);
    for (int k = 0; k < chain->count - 1; k++)
        outer = arena_format(&emitter->arena, "%s%s * ", outer, texts[k].trips);
    emit_line(emitter, "const long long %s = %s > 0 ? (%s + %d) / %d : 0;", pieces, trips, trips,
              (int)before + quads->found.length - 1, quads->found.length);
    emit_line(emitter, "const long long %s = %s ? %s%s : 0;", name, emit_quads_conditions(quads, all), outer,
              pieces);
}

/* The variables of the loops but for the innermost one, of which it gives the first iteration. */
static const char *emit_outer(struct quads *quads, const struct cuda_loop_texts *texts, const char *number)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const char *name = emitter->symbols[quads->found.loop->symbol->slot].name, *digit = number;
    struct cuda_chain outer = *quads->found.chain;
    const char *pieces = pieces_text(quads, texts);
    outer.count = quads->found.flat ? 0 : outer.count - 1;
    outer.fastest = outer.count - 1;
    if (outer.count) {
        const char *rest = arena_format(&emitter->arena, "%s_rest_", name);
        emit_line(emitter, "const long long %s = akg_quotient(%s, %s);", rest, number, pieces);
        emit_cuda_apart(quads->cuda, &outer, texts, rest);
        digit = arena_format(&emitter->arena, "(%s - %s * (%s))", number, rest, pieces);
    }
    for (int k = 0; k < outer.count; k++)
        for (const struct ir_stmt *stmt = outer.loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next)
            emit_statement(emitter, stmt);
    const char *first = arena_format(&emitter->arena, "%s_first_", name);
    int64_t value = emit_quads_first(quads);
    if (value)
        emit_line(emitter, "const long long %s = %s * %d + %lld;", first, digit, quads->found.length,
                  (long long)value);
    else
        emit_line(emitter, "const long long %s = %s * %d;", first, digit, quads->found.length);
    return first;
}

/* ---- one piece -------------------------------------------------------------------------------------- */

/* The four iterations of a piece, or of what is kept only their loads. */
static void emit_whole(struct quads *quads, const char *first, bool only)
{
    emit_quads_take(quads, first, only);
    if (!only)
        emit_quads_do(quads, first);
}

static void emit_piece(struct quads *quads, const struct cuda_loop_texts *texts, const char *number,
                       bool only)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const struct cuda_chain *chain = quads->found.chain;
    const char *first = emit_outer(quads, texts, number), *trips = texts[chain->count - 1].trips;
    for (int k = 0; k < chain->count; k++)
        emit_enter_loop(emitter, chain->loops[k]);
    if (quads->found.cut) {
        emit_line(emitter, "if (%s) {", emit_quads_whole(quads, first, trips));
        emitter->indent++;
    }
    emit_whole(quads, first, only);
    if (quads->found.cut) {
        emitter->indent--;
        emit_line(emitter, "} else {");
        emitter->indent++;
        emit_quads_cut(quads, texts, first);
        emitter->indent--;
        emit_line(emitter, "}");
    }
    for (int k = 0; k < chain->count; k++)
        emit_leave_loop(emitter);
}

static bool quads_of(struct cuda_emitter *cuda, const struct cuda_chain *chain, struct quads *quads)
{
    quads->cuda = cuda;
    quads->turn = "";
    return cuda_quads_of(&cuda->plan, cuda->step, chain,
                         cuda->row    ? CUDA_PIECES_IN_ROW
                         : cuda->seek ? CUDA_PIECES_OF_LOOPS
                                      : CUDA_PIECES_ANY,
                         &quads->found);
}

/* ---- several at once -------------------------------------------------------------------------------- */

/* What is done with a piece of the only loop, whether it is cut or not. */
static void emit_done_or_cut(struct quads *quads, const struct cuda_loop_texts *texts, const char *first)
{
    struct emitter *emitter = &quads->cuda->emitter;
    emit_line(emitter, "if (%s) {", emit_quads_whole(quads, first, texts[0].trips));
    emitter->indent++;
    emit_quads_do(quads, first);
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    emit_enter_loop(emitter, quads->found.loop);
    if (emit_quads_can_load_cut(quads))
        emit_quads_loaded_cut(quads, first, texts[0].trips);
    else
        emit_quads_cut(quads, texts, first);
    emit_leave_loop(emitter);
    emit_quads_close(quads, 1);
}

/* Several pieces, all of whose loads come before anything else; `number` is that of the first. Of those that
 * are cut there is one loop. With `end`, a text, there may be fewer: those before it. */
static void emit_group(struct quads *quads, const struct cuda_loop_texts *texts, const char *number,
                       const char *step, int count, const char *end)
{
    struct emitter *emitter = &quads->cuda->emitter;
    bool only_whole = quads->found.cut && !emit_quads_can_load_cut(quads);
    emit_cuda_pieces_declare(quads->cuda, &quads->found, count);
    quads->turn = "[turn_]";
    for (int done = 0; done < 2; done++) {
        emit_line(emitter, "#pragma unroll");
        emit_line(emitter, "for (int turn_ = 0; turn_ < %d; turn_++) {", count);
        emitter->indent++;
        emit_line(emitter, "const long long number_ = %s + turn_ * (%s);", number, step);
        if (end) {
            emit_line(emitter, "if (number_ < %s) {", end);
            emitter->indent++;
        }
        const char *first = emit_outer(quads, texts, "number_");
        if (!done && only_whole) {
            emit_line(emitter, "if (%s) {", emit_quads_whole(quads, first, texts[0].trips));
            emitter->indent++;
        }
        if (!done)
            emit_quads_take(quads, first, false);
        else if (quads->found.cut)
            emit_done_or_cut(quads, texts, first);
        else
            emit_quads_do(quads, first);
        emit_quads_close(quads, 1 + (!done && only_whole) + (end != NULL));
    }
    quads->turn = "";
}

/* ---- loops ------------------------------------------------------------------------------------------ */

/* The lines with which a loop begins, for a number from `first` on by `step`, up to before `end`; all are
 * texts. `stmt` is the loop that the first line tells of, or NULL. Backwards it counts upwards all the same,
 * for then the compiler knows how often. */
static void begin_loop(struct quads *quads, const struct ir_stmt *stmt, const char *number, const char *first,
                       const char *end, const char *step)
{
    struct emitter *emitter = &quads->cuda->emitter;
    bool backwards = quads->cuda->backwards;
    const char *counter = backwards ? arena_format(&emitter->arena, "%sback_", number) : number;
    const char *line = arena_format(&emitter->arena, "for (long long %s = %s; %s < %s; %s += %s) {", counter,
                                    first, counter, end, counter, step);
    emit_line(emitter, "#pragma unroll 1");
    if (stmt)
        emit_statement_line(emitter, stmt, line);
    else
        emit_line(emitter, "%s", line);
    emitter->indent++;
    if (backwards)
        emit_line(emitter, "const long long %s = 2 * (%s) + akg_last(%s - (%s), %s) - %s;", number, first,
                  end, first, step, counter);
}

static void emit_in_turn(struct quads *quads, const struct cuda_loop_texts *texts, const char *number,
                         const char *count, const char *first, const char *step)
{
    struct emitter *emitter = &quads->cuda->emitter;
    begin_loop(quads, quads->found.chain->loops[0], number, first, count, step);
    emit_piece(quads, texts, number, false);
    emitter->indent--;
    emit_line(emitter, "}");
}

static void emit_groups(struct quads *quads, const struct cuda_loop_texts *texts, const char *number,
                        const char *count, const char *first, const char *step, int together)
{
    struct emitter *emitter = &quads->cuda->emitter;
    struct arena *arena = &emitter->arena;
    const char *from = arena_format(arena, "%sfrom_", number);
    begin_loop(quads, NULL, from, first, count, arena_format(arena, "%d * (%s)", together, step));
    emit_line(emitter, "if (%s + %d * (%s) < %s) {", from, together - 1, step, count);
    emitter->indent++;
    emit_group(quads, texts, from, step, together, NULL);
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    if (quads->cuda->row) /* what is kept leaves few registers */
        emit_in_turn(quads, texts, number, count, from, step);
    else
        emit_group(quads, texts, from, step, together, count);
    emit_quads_close(quads, 2);
}

/* Where few registers are needed for what is moved, there are to be enough threads for what is under way, or
 * for others to compute while some wait. All blocks of a sum are to be there at once, each thread with so
 * many elements. */
enum { FEW = 32, LOOPS = 3, TOGETHER = 5, MOVED_TOGETHER = 6, SUMMED = 16, SUMMED_TOGETHER = 8 };

static int elements_of(const struct cuda_quads *found)
{
    int count = found->store_count * found->length;
    for (int k = 0; k < found->window_count; k++)
        count += emit_quads_window_length(&found->windows[k], found->length);
    return count;
}

static bool is_moved(struct ir_expr *expr, void *context)
{
    const struct cuda_quads *found = context;
    bool moved = expr->kind != IR_LOAD;
    for (int k = 0; k < found->load_count && !moved; k++)
        moved = ir_expr_equal(found->loads[k].load, expr);
    return moved;
}

static bool looks_up(struct cuda_quads *found)
{
    return !ir_block_expressions((struct ir_stmt *)found->body, is_moved, found);
}

/* What is looked up has addresses of its own. */
static int resident_of(const struct cuda_emitter *cuda, struct cuda_quads *found)
{
    if (elements_of(found) > SUMMED)
        return TOGETHER;
    if (cuda->step->sums)
        return SUMMED_TOGETHER;
    return looks_up(found) ? TOGETHER : MOVED_TOGETHER;
}

const char *emit_cuda_quads(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                            const struct cuda_loop_texts *texts, const char *first, const char *step)
{
    struct arena *arena = &cuda->emitter.arena;
    struct quads quads;
    if (!quads_of(cuda, chain, &quads))
        return NULL;
    const char *name = cuda->emitter.symbols[quads.found.loop->symbol->slot].name;
    const char *number = arena_format(arena, "%s_quad_", name);
    const char *count = arena_format(arena, "%s_quads_", name);
    bool threads = cuda->step->kind == CUDA_STEP_THREADS, once = threads && !cuda->step->sums;
    int elements = elements_of(&quads.found);
    cuda->in_quads = quads.found.length;
    cuda->looks_up |= looks_up(&quads.found);
    if (threads && elements <= FEW && chain->count <= LOOPS)
        cuda->resident = resident_of(cuda, &quads.found);
    emit_count(&quads, texts, count);
    if (once || (quads.found.cut && chain->count > 1) || elements > SUMMED / 2)
        emit_in_turn(&quads, texts, number, count, first, step);
    else
        emit_groups(&quads, texts, number, count, first, step, SUMMED / elements);
    if (quads.found.cut)
        return arena_format(arena, "(%s > 0 ? %s : 0)", count, emit_cuda_product(cuda, chain, texts));
    return arena_format(arena, "%s * %d", count, quads.found.length);
}

const char *emit_cuda_quads_well(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                                 const char *before)
{
    struct quads quads;
    if (!quads_of(cuda, chain, &quads))
        return NULL;
    for (int k = 0; k < cuda->row->kept_count; k++) {
        bool begins = cuda->row->kept[k].first != cuda->row_loop || cuda->row->kept[k].stored;
        for (int load = 0; load < quads.found.window_count && !begins; load++)
            begins = cuda_row_find(cuda->row, cuda->row_loop, quads.found.windows[load].access) == k;
        if (!begins)
            return NULL;
    }
    return emit_quads_conditions(&quads, before);
}

void emit_cuda_piece(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     const struct cuda_loop_texts *texts, const char *number, bool only)
{
    struct quads quads;
    if (quads_of(cuda, chain, &quads))
        emit_piece(&quads, texts, number, only);
}
