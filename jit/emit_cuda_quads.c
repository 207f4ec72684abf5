/*
 * emit_cuda_quads.c: a chain of loops whose threads take four iterations of the innermost one at a time.
 *
 * Consumes a chain (cuda_plan.h) whose body is no loop. What runs along the innermost loop, and is loaded or
 * stored in each iteration, goes in pieces of four elements between memory and registers: loads before the
 * four iterations, stores behind them. Everything else in the body is done one by one. Whether tensors lie
 * well enough for that is only known when the code runs; what is not done so is left to the chain as it is.
 */
#include "cuda_access.h"
#include "emit_cuda_private.h"
#include "pass.h"

#include <ctype.h>
#include <string.h>

enum { STORES = 4 };

struct quads {
    struct cuda_emitter *cuda;
    const struct cuda_chain *chain;
    const struct ir_stmt *loop, *body; /* the innermost */
    const struct ir_expr *loads[CUDA_SUBSTITUTES];
    const struct ir_stmt *stores[STORES];
    int load_count, store_count;
};

/* ---- what can be moved so -------------------------------------------------------------------- */

/* The last index is the loop's variable, and the others are known before the body. */
static bool runs_along(const struct quads *quads, const struct ir_access *access)
{
    const struct ir_buffer *buffer = access->buffer;
    int last = buffer->rank - 1;
    if (last < 0 || !buffer->contiguous || !dtype_is_float(buffer->dtype) ||
        quads->cuda->plan.lives[buffer->index] == CUDA_LIFE_THREAD ||
        access->indices[last]->kind != IR_SYMBOL || access->indices[last]->symbol != quads->loop->symbol)
        return false;
    for (int axis = 0; axis < last; axis++)
        if (pass_mentions(access->indices[axis], quads->loop->symbol))
            return false;
    return cuda_place_is_known_before(quads->body, access);
}

/* In every iteration, the only one into its tensor; and nothing loads that behind it. */
static bool is_quad_store(const struct quads *quads, const struct ir_stmt *stmt)
{
    if (stmt->kind != IR_STORE || quads->store_count == STORES || !runs_along(quads, &stmt->access))
        return false;
    struct cuda_uses uses = cuda_uses_of(quads->body, stmt->access.buffer);
    return uses.stores == 1 && (uses.loads == 0 || !stmt->next);
}

static bool is_stored_otherwise(const struct quads *quads, const struct ir_buffer *buffer)
{
    if (cuda_uses_of(quads->body, buffer).stores == 0)
        return false;
    for (int k = 0; k < quads->store_count; k++)
        if (quads->stores[k]->access.buffer == buffer)
            return false;
    return true;
}

static void note_load(const struct ir_expr *load, void *context)
{
    struct quads *quads = context;
    for (int k = 0; k < quads->load_count; k++)
        if (ir_expr_equal(quads->loads[k], load))
            return;
    if (quads->load_count < CUDA_SUBSTITUTES && runs_along(quads, &load->access) &&
        !is_stored_otherwise(quads, load->access.buffer))
        quads->loads[quads->load_count++] = load;
}

static bool find_quads(struct quads *quads)
{
    const struct cuda_chain *chain = quads->chain;
    const struct ir_stmt *loop = quads->loop;
    struct cuda_sums sums;
    cuda_sums_of(&quads->cuda->plan, chain, &sums);
    if (sums.count && quads->cuda->plan.options->deterministic)
        return false; /* the order of a sum would hang on where tensors lie */
    if (chain->fastest != chain->count - 1 || loop->step != 1 || loop->low->kind != IR_INTEGER ||
        loop->low->integer != 0 || quads->cuda->step->adds || !cuda_body_is_plain(loop->body))
        return false;
    for (const struct ir_stmt *stmt = quads->body; stmt; stmt = stmt->next)
        if (is_quad_store(quads, stmt))
            quads->stores[quads->store_count++] = stmt;
    cuda_visit_loads(quads->body, note_load, quads);
    return quads->load_count + quads->store_count > 0;
}

/* ---- the text ------------------------------------------------------------------------------------------ */

static const char *quad_name(struct quads *quads, const char *kind, int number)
{
    return arena_format(&quads->cuda->emitter.arena, "%s%d_", kind, number);
}

/* Where it lies, and that its rows are whole pieces; behind what was said before. */
static const char *lies_well(struct quads *quads, const char *before, const struct ir_buffer *buffer)
{
    struct emitter *emitter = &quads->cuda->emitter;
    int bytes = CUDA_QUAD * dtype_table[buffer->dtype].size;
    const char *all = arena_format(&emitter->arena, "(unsigned long long)%s %% %d == 0",
                                   emitter->buffers[buffer->index], bytes < 16 ? bytes : 16);
    if (strstr(before, all))
        return before;
    if (buffer->rank > 1)
        all = arena_format(&emitter->arena, "%s && %s %% %d == 0", all,
                           emit_operand(emitter, emit_extent(emitter, buffer, buffer->rank - 1), EMIT_UNARY),
                           CUDA_QUAD);
    return arena_format(&emitter->arena, "%s%s%s", before, *before ? " && " : "", all);
}

/* That all tensors lie so. */
static const char *conditions(struct quads *quads, const char *all)
{
    for (int k = 0; k < quads->load_count; k++)
        all = lies_well(quads, all, quads->loads[k]->access.buffer);
    for (int k = 0; k < quads->store_count; k++)
        all = lies_well(quads, all, quads->stores[k]->access.buffer);
    return all;
}

/* The number of pieces: all iterations, but a few of the last ones where there is one loop; or none. */
static void emit_count(struct quads *quads, const struct cuda_loop_texts *texts, const char *name)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const char *all = "";
    if (quads->chain->count > 1)
        all = arena_format(&emitter->arena, "%s %% %d == 0", texts[quads->chain->fastest].trips, CUDA_QUAD);
    emit_line(emitter, "const long long %s = %s ? %s / %d : 0;", name, conditions(quads, all),
              emit_cuda_product(quads->cuda, quads->chain, texts), CUDA_QUAD);
}

/* The variables of the loops but for the innermost one, of which it gives the first iteration. */
static const char *emit_outer(struct quads *quads, const struct cuda_loop_texts *texts, const char *number)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const char *name = emitter->symbols[quads->loop->symbol->slot].name, *digit = number;
    struct cuda_chain outer = *quads->chain;
    const char *trips = texts[outer.fastest].trips;
    outer.count--;
    outer.fastest = outer.count - 1;
    if (outer.count) {
        const char *rest = arena_format(&emitter->arena, "%s_rest_", name);
        emit_line(emitter, "const long long %s = akg_quotient(%s, %s / %d);", rest, number, trips, CUDA_QUAD);
        emit_cuda_apart(quads->cuda, &outer, texts, rest);
        digit = arena_format(&emitter->arena, "(%s - %s * (%s / %d))", number, rest, trips, CUDA_QUAD);
    }
    for (int k = 0; k < outer.count; k++)
        for (const struct ir_stmt *stmt = outer.loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next)
            emit_statement(emitter, stmt);
    const char *first = arena_format(&emitter->arena, "%s_first_", name);
    emit_line(emitter, "const long long %s = %s * %d;", first, digit, CUDA_QUAD);
    return first;
}

static void emit_move(struct quads *quads, const char *how, const struct ir_access *access, const char *name)
{
    struct emitter *emitter = &quads->cuda->emitter;
    int bits = 8 * dtype_table[access->buffer->dtype].size;
    const char *place = emit_access(emitter, access).text;
    if (*how == 't')
        emit_line(emitter, "akg_take_%d(%s, &%s);", bits, name, place);
    else
        emit_line(emitter, "akg_put_%d(&%s, %s);", bits, place, name);
}

/* The loads; or those of what is kept, where they begin. */
static void emit_loads(struct quads *quads, bool kept)
{
    struct emitter *emitter = &quads->cuda->emitter;
    for (int k = 0; k < quads->load_count; k++) {
        const struct ir_access *access = &quads->loads[k]->access;
        const char *name = quad_name(quads, "loaded", k);
        if (!kept && emit_cuda_row_place(quads->cuda, access))
            continue;
        if (kept && !emit_cuda_row_begins(quads->cuda, access))
            continue;
        if (kept)
            name = arena_format(&emitter->arena, "&%s", emit_cuda_row_place(quads->cuda, access));
        else
            emit_line(emitter, "%s %s[%d];", dtype_table[access->buffer->dtype].c_storage, name, CUDA_QUAD);
        emit_move(quads, "take", access, name);
    }
}

static void substitute_loads(struct quads *quads)
{
    struct cuda_emitter *cuda = quads->cuda;
    struct emitter *emitter = &cuda->emitter;
    for (int k = 0; k < quads->load_count; k++) {
        struct emit_value one =
            emit_name(arena_format(&emitter->arena, "%s[one_]", quad_name(quads, "loaded", k)));
        cuda->substitutes[cuda->substitute_count++] =
            (struct cuda_substitute){quads->loads[k], emit_loaded(emitter, quads->loads[k]->dtype, one)};
    }
    for (int k = 0; k < quads->store_count; k++)
        emit_line(emitter, "%s %s[%d];", dtype_table[quads->stores[k]->access.buffer->dtype].c_storage,
                  quad_name(quads, "stored", k), CUDA_QUAD);
}

static void emit_statements(struct quads *quads)
{
    struct emitter *emitter = &quads->cuda->emitter;
    for (const struct ir_stmt *stmt = quads->body; stmt; stmt = stmt->next) {
        int number = 0;
        while (number < quads->store_count && quads->stores[number] != stmt)
            number++;
        if (number == quads->store_count) {
            emit_statement(emitter, stmt);
            continue;
        }
        struct emit_value value = emit_shallow(emitter, stmt->value);
        const char *kept = emit_cuda_row_place(quads->cuda, &stmt->access);
        emit_line(emitter, "%s%s%s[one_] = %s;", kept ? kept : "", kept ? " = " : "",
                  quad_name(quads, "stored", number),
                  emit_stored(emitter, stmt->access.buffer->dtype, value));
    }
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if (!isalnum((unsigned char)at[length]) && at[length] != '_' &&
            (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')))
            return true;
    return false;
}

/* The four iterations. Most of them have no use for the variable of the loop. */
static void emit_body(struct quads *quads, const char *first)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const char *name = emitter->symbols[quads->loop->symbol->slot].name;
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int one_ = 0; one_ < %d; one_++) {", CUDA_QUAD);
    emit_capture_begin(emitter);
    emit_statements(quads);
    const char *text = emit_capture_end(emitter);
    emitter->indent++;
    if (text && has_word(text, name))
        emit_line(emitter, "const long long %s = %s + one_;", name, first);
    text_string(emitter->out, text ? text : "");
    emitter->indent--;
    emit_line(emitter, "}");
}

/* The four iterations of a piece, or of what is kept only their loads. */
static void emit_piece(struct quads *quads, const struct cuda_loop_texts *texts, const char *number,
                       bool only)
{
    struct cuda_emitter *cuda = quads->cuda;
    struct emit_symbol *entry = &cuda->emitter.symbols[quads->loop->symbol->slot];
    int substitutes = cuda->substitute_count;
    const char *name = entry->name, *start = emit_outer(quads, texts, number);
    entry->name = start;
    emit_loads(quads, only);
    if (!only) {
        entry->name = name;
        substitute_loads(quads);
        emit_body(quads, start);
        cuda->substitute_count = substitutes;
        entry->name = start;
        for (int k = 0; k < quads->store_count; k++)
            emit_move(quads, "put", &quads->stores[k]->access, quad_name(quads, "stored", k));
    }
    entry->name = name;
}

static bool quads_of(struct cuda_emitter *cuda, const struct cuda_chain *chain, struct quads *quads)
{
    const struct ir_stmt *loop = chain->loops[chain->count - 1];
    *quads = (struct quads){.cuda = cuda, .chain = chain, .loop = loop, .body = loop->body};
    return find_quads(quads);
}

const char *emit_cuda_quads(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                            const struct cuda_loop_texts *texts, const char *first, const char *step)
{
    struct emitter *emitter = &cuda->emitter;
    struct arena *arena = &emitter->arena;
    struct quads quads;
    if (!quads_of(cuda, chain, &quads))
        return NULL;
    const char *name = emitter->symbols[quads.loop->symbol->slot].name;
    const char *number = arena_format(arena, "%s_quad_", name);
    const char *count = arena_format(arena, "%s_quads_", name);
    cuda->in_quads = true;
    emit_count(&quads, texts, count);
    emit_cuda_unroll(cuda, CUDA_QUAD / 2);
    emit_statement_line(emitter, chain->loops[0],
                        arena_format(arena, "for (long long %s = %s; %s < %s; %s += %s) {", number, first,
                                     number, count, number, step));
    emitter->indent++;
    emit_piece(&quads, texts, number, false);
    emitter->indent--;
    emit_line(emitter, "}");
    return arena_format(arena, "%s * %d", count, CUDA_QUAD);
}

const char *emit_cuda_quads_well(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                                 const char *before)
{
    struct quads quads;
    if (!quads_of(cuda, chain, &quads))
        return NULL;
    for (int k = 0; k < cuda->row->kept_count; k++) {
        bool begins = cuda->row->kept[k].first != cuda->row_loop || cuda->row->kept[k].stored;
        for (int load = 0; load < quads.load_count && !begins; load++)
            begins = cuda_row_find(cuda->row, cuda->row_loop, &quads.loads[load]->access) == k;
        if (!begins)
            return NULL;
    }
    return conditions(&quads, before);
}

void emit_cuda_piece(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     const struct cuda_loop_texts *texts, const char *number, bool only)
{
    struct quads quads;
    if (quads_of(cuda, chain, &quads))
        emit_piece(&quads, texts, number, only);
}
