/*
 * emit_cuda_columns.c: a phase of a spread nest whose threads have several outer iterations side by side.
 *
 * Consumes a phase that accumulates and whose accesses run along the outer loop (cuda_spread.h): sums of
 * columns. A thread has a piece of eight narrow ones: it loads 16 bytes of a row at once, some rows one
 * behind the other, and has as many of each sum. Where tensors lie well for that is only known when the code
 * runs; it gives the words that emit_cuda_spread.c hands on, in the same places. Four columns of float32
 * would be no gain, and take registers from those that go one by one where tensors lie otherwise.
 */
#include "emit_cuda_spread.h"

enum { WORDS = 16, TURNS = 4 /* under way in each thread, at most */ };

/* ---- whether it can be ------------------------------------------------------------------------- */

/* What the loop has from the statements before it, but for what it accumulates, phases hand on. */
static bool only_lives_go_in(const struct spread *spread, const struct ir_stmt *body)
{
    const struct ir_stmt *loop = spread->phase->loop;
    for (const struct ir_stmt *stmt = body; stmt != loop; stmt = stmt->next) {
        bool known = stmt->kind != IR_LET && stmt->kind != IR_VARIABLE;
        for (int k = 0; k < spread->sums.count && !known; k++)
            known = spread->sums.items[k]->symbol == stmt->symbol;
        for (int k = 0; k < spread->found->live_count && !known && spread->number > 0; k++)
            known = spread->found->lives[k] == stmt->symbol;
        if (!known && cuda_spread_uses(loop, loop->next, stmt->symbol))
            return false;
    }
    return true;
}

/* Whether it is the same for all columns; `symbol` is the variable of theirs. Scalars are for each. */
static bool is_of_the_row(struct ir_expr *expr, void *symbol)
{
    if (expr->kind != IR_SYMBOL)
        return true;
    if (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return ir_expr_walk(expr->symbol->value, is_of_the_row, symbol);
    return expr->symbol != symbol && expr->symbol->kind != IR_SYMBOL_LET &&
           expr->symbol->kind != IR_SYMBOL_VARIABLE;
}

/* LETs between the loops are computed once for a row. */
static bool only_rows_stand_between(const struct cuda_chain *inner, const struct ir_symbol *column)
{
    for (int k = 0; k < inner->count - 1; k++)
        for (const struct ir_stmt *stmt = inner->loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next)
            if (!ir_expr_walk(stmt->value, is_of_the_row, (void *)column))
                return false;
    return true;
}

bool emit_cuda_columns_of(struct cuda_emitter *cuda, const struct spread *spread, struct columns *columns)
{
    const struct cuda_chain *outer = &cuda->step->chain, *inner = &spread->phase->chain;
    const struct ir_stmt *fastest = outer->loops[outer->count - 1];
    if (!spread->phase->across || !spread->sums.count || outer->fastest != outer->count - 1 ||
        inner->count + outer->count > CUDA_CHAIN || !only_lives_go_in(spread, cuda_chain_body(outer)) ||
        !only_rows_stand_between(inner, fastest->symbol))
        return false;
    columns->innermost = *fastest;
    columns->innermost.body = (struct ir_stmt *)cuda_chain_body(inner);
    columns->chain = (struct cuda_chain){.count = 0};
    for (int k = 0; k < outer->count - 1; k++)
        columns->chain.loops[columns->chain.count++] = outer->loops[k];
    for (int k = 0; k < inner->count; k++)
        columns->chain.loops[columns->chain.count++] = inner->loops[k];
    columns->chain.fastest = columns->chain.count;
    columns->chain.loops[columns->chain.count++] = &columns->innermost;
    const struct cuda_quads *found = &columns->pieces;
    return cuda_quads_of(&cuda->plan, cuda->step, &columns->chain, CUDA_PIECES_OF_LOOPS, &columns->pieces) &&
           found->length > CUDA_QUAD && found->window_count > 0 && found->store_count == 0 &&
           found->low == 0 && found->align == 0;
}

const char *emit_cuda_columns_well(struct cuda_emitter *cuda, const struct columns *columns,
                                   const struct cuda_loop_texts *outer)
{
    return arena_format(&cuda->emitter.arena, "%s %% %d == 0 && %s", outer[cuda->step->chain.count - 1].trips,
                        columns->pieces.length, emit_cuda_pieces_well(cuda, &columns->pieces));
}

/* ---- the columns of a piece ---------------------------------------------------------------------- */

static void begin_columns(struct cuda_emitter *cuda, const struct columns *columns)
{
    emit_line(&cuda->emitter, "#pragma unroll");
    emit_line(&cuda->emitter, "for (int one_ = 0; one_ < %d; one_++) {", columns->pieces.length);
    cuda->emitter.indent++;
}

static void end_blocks(struct cuda_emitter *cuda, int count)
{
    for (int k = 0; k < count; k++) {
        cuda->emitter.indent--;
        emit_line(&cuda->emitter, "}");
    }
}

/* Each column has a scalar of its own: its name, while they are gone through. */
static void declare_each(struct cuda_emitter *cuda, const struct columns *columns,
                         const struct ir_symbol *symbol)
{
    struct emitter *emitter = &cuda->emitter;
    struct emit_symbol *entry = &emitter->symbols[symbol->slot];
    bool is_float = dtype_is_float(symbol->dtype);
    const char *all = arena_format(&emitter->arena, "%s_each_", entry->name);
    entry->bits = is_float ? 0 : emit_dtype_bits(symbol->dtype);
    entry->nonnegative = !is_float && !dtype_is_signed(symbol->dtype);
    emit_line(emitter, "%s %s[%d];", emit_type(symbol->dtype), all, columns->pieces.length);
    entry->name = arena_format(&emitter->arena, "%s[one_]", all);
}

static const char *name_of(struct cuda_emitter *cuda, const struct ir_symbol *symbol)
{
    return cuda->emitter.symbols[symbol->slot].name;
}

struct names {
    const char *sums[CUDA_SUMS], *lives[CUDA_SPREAD_LIVES];
};

/* Those that the loop accumulates begin with what changes nothing; those that it only reads are loaded. */
static void begin_scalars(struct cuda_emitter *cuda, const struct spread *spread,
                          const struct columns *columns, struct names *names)
{
    struct emitter *emitter = &cuda->emitter;
    const struct ir_stmt *loop = spread->phase->loop, *body = cuda_chain_body(&cuda->step->chain);
    *names = (struct names){.sums = {NULL}};
    for (int k = 0; k < spread->sums.count; k++) {
        names->sums[k] = name_of(cuda, spread->sums.items[k]->symbol);
        declare_each(cuda, columns, spread->sums.items[k]->symbol);
    }
    for (int k = 0; k < spread->found->live_count && spread->number > 0; k++) {
        const struct ir_symbol *symbol = spread->found->lives[k];
        bool is_sum = false;
        for (int sum = 0; sum < spread->sums.count; sum++)
            is_sum |= spread->sums.items[sum]->symbol == symbol;
        if (is_sum || !cuda_spread_uses(loop, loop->next, symbol) ||
            !emit_cuda_spread_declares(body, loop, symbol))
            continue;
        names->lives[k] = name_of(cuda, symbol);
        declare_each(cuda, columns, symbol);
    }
    begin_columns(cuda, columns);
    emit_line(emitter, "const long long number_ = piece_ + one_;");
    emit_line(emitter, "(void)number_;");
    for (int k = 0; k < spread->sums.count; k++)
        emit_line(
            emitter, "%s = %s;", name_of(cuda, spread->sums.items[k]->symbol),
            emit_cuda_neutral(cuda, spread->sums.items[k]->reduction, spread->sums.items[k]->symbol->dtype));
    for (int k = 0; k < spread->found->live_count; k++)
        if (names->lives[k])
            emit_line(emitter, "%s = (%s)%s;", name_of(cuda, spread->found->lives[k]),
                      emit_type(spread->found->lives[k]->dtype), emit_cuda_spread_live(cuda, spread, k));
    end_blocks(cuda, 1);
}

static void end_scalars(struct cuda_emitter *cuda, const struct spread *spread, const struct names *names)
{
    for (int k = 0; k < spread->sums.count; k++)
        cuda->emitter.symbols[spread->sums.items[k]->symbol->slot].name = names->sums[k];
    for (int k = 0; k < spread->found->live_count; k++)
        if (names->lives[k])
            cuda->emitter.symbols[spread->found->lives[k]->slot].name = names->lives[k];
}

static void emit_parts(struct cuda_emitter *cuda, const struct spread *spread, const struct columns *columns)
{
    struct emitter *emitter = &cuda->emitter;
    begin_columns(cuda, columns);
    for (int k = 0; k < spread->sums.count; k++) {
        const struct dependence_scalar *sum = spread->sums.items[k];
        const char *name = name_of(cuda, sum->symbol);
        emit_line(emitter, "%s = (%s)akg_lanes_%s(%s, lanes_);", name, emit_type(sum->symbol->dtype),
                  emit_cuda_combiner(cuda, sum->reduction, sum->symbol->dtype), name);
    }
    emit_line(emitter, "if (is_mine_ && deep_ == 0) {");
    emitter->indent++;
    emit_line(emitter, "const long long number_ = piece_ + one_;");
    for (int k = 0; k < spread->sums.count; k++) {
        const struct ir_symbol *symbol = spread->sums.items[k]->symbol;
        emit_line(emitter, "%s = %s;", emit_cuda_spread_part(cuda, k, "split_", symbol->dtype),
                  name_of(cuda, symbol));
    }
    end_blocks(cuda, 2);
}

/* ---- the rows -------------------------------------------------------------------------------------- */

/* Rows that are under way at a time: 64 bytes, whatever is loaded of each. */
static int turns_of(const struct columns *columns)
{
    int words = 0;
    for (int k = 0; k < columns->pieces.window_count; k++) {
        const struct cuda_window *window = &columns->pieces.windows[k];
        int elements = (int)(window->high - window->low) + columns->pieces.length;
        words += (elements * dtype_table[window->access->buffer->dtype].size + 3) / 4;
    }
    int turns = WORDS / words;
    return turns > TURNS ? TURNS : turns > 1 ? turns : 1;
}

/* Of each row that there is its variables, with the LETs between the loops. */
static void begin_rows(struct cuda_emitter *cuda, const struct spread *spread,
                       const struct cuda_loop_texts *texts, const char *total, int turns)
{
    struct emitter *emitter = &cuda->emitter;
    const struct cuda_chain *inner = &spread->phase->chain;
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int turn_ = 0; turn_ < %d; turn_++) {", turns);
    emitter->indent++;
    emit_line(emitter, "const long long row_ = from_ + turn_ * step_;");
    emit_line(emitter, "if (row_ < %s) {", total);
    emitter->indent++;
    emit_cuda_apart(cuda, inner, texts, "row_");
    for (int k = 0; k < inner->count; k++) {
        emit_enter_loop(emitter, inner->loops[k]);
        if (k < inner->count - 1)
            for (const struct ir_stmt *stmt = inner->loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next)
                emit_statement(emitter, stmt);
    }
}

static void end_rows(struct cuda_emitter *cuda, const struct spread *spread)
{
    for (int k = 0; k < spread->phase->chain.count; k++)
        emit_leave_loop(&cuda->emitter);
    end_blocks(cuda, 2);
}

static void emit_rows(struct cuda_emitter *cuda, const struct spread *spread, const struct columns *columns)
{
    struct emitter *emitter = &cuda->emitter;
    const struct cuda_chain *inner = &spread->phase->chain;
    struct cuda_loop_texts texts[CUDA_CHAIN];
    int turns = turns_of(columns);
    emit_cuda_trips(cuda, inner, texts);
    const char *total = emit_cuda_product(cuda, inner, texts);
    emit_line(emitter, "#pragma unroll 1");
    emit_statement_line(emitter, spread->phase->loop,
                        arena_format(&emitter->arena,
                                     "for (long long from_ = begin_; from_ < %s; from_ += %d * step_) {",
                                     total, turns));
    emitter->indent++;
    emit_cuda_pieces_declare(cuda, &columns->pieces, turns);
    begin_rows(cuda, spread, texts, total, turns);
    emit_cuda_pieces_take(cuda, &columns->pieces, "column_", "[turn_]");
    end_rows(cuda, spread);
    begin_rows(cuda, spread, texts, total, turns);
    emit_cuda_pieces_done(cuda, &columns->pieces, "column_", "[turn_]");
    end_rows(cuda, spread);
    end_blocks(cuda, 1);
}

/* The variables of the outer loops at the first column, or at those of the last piece that there is. */
void emit_cuda_columns(struct cuda_emitter *cuda, const struct spread *spread, const struct columns *columns,
                       const struct cuda_loop_texts *outer)
{
    struct emitter *emitter = &cuda->emitter;
    const struct cuda_chain *chain = &cuda->step->chain;
    int length = columns->pieces.length;
    struct names names;
    emit_line(emitter, "const int is_mine_ = lane_ * %d < outer_;", length);
    emit_line(emitter, "const long long piece_ = is_mine_ ? lane_ * %d : outer_ - %d;", length, length);
    emit_cuda_apart(cuda, chain, outer, "piece_");
    emit_line(emitter, "const long long column_ = %s;",
              name_of(cuda, chain->loops[chain->count - 1]->symbol));
    for (int k = 0; k < chain->count; k++) {
        emit_enter_loop(emitter, chain->loops[k]);
        if (k < chain->count - 1)
            for (const struct ir_stmt *stmt = chain->loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next)
                emit_statement(emitter, stmt);
    }
    begin_scalars(cuda, spread, columns, &names);
    emit_line(emitter, "const long long begin_ = is_mine_ ? split_ * depths_ + deep_ : 1ll << 62;");
    emit_line(emitter, "const long long step_ = splits_ * depths_;");
    cuda->summed = &spread->sums;
    emit_rows(cuda, spread, columns);
    cuda->summed = NULL;
    emit_parts(cuda, spread, columns);
    end_scalars(cuda, spread, &names);
    for (int k = 0; k < chain->count; k++)
        emit_leave_loop(emitter);
}
