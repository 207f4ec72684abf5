/*
 * emit_cuda_quads.c: a chain of loops whose threads take four iterations of the innermost one at a time, or
 * eight where all elements are narrow.
 *
 * Consumes what cuda_quads.h found: windows are loaded before the iterations, pieces are stored behind
 * them. Everything else in the body is done one by one. Whether tensors lie well enough for that is only
 * known when the code runs; what is not done so is left to the chain as it is.
 */
#include "emit_cuda_private.h"
#include "pass.h"

#include <ctype.h>
#include <string.h>

struct quads {
    struct cuda_emitter *cuda;
    struct cuda_quads found;
    const char *turn; /* behind the names of what was loaded, where a thread has several pieces; "" */
};

static const char *quad_name(struct quads *quads, const char *kind, int number)
{
    return arena_format(&quads->cuda->emitter.arena, "%s%d_", kind, number);
}

static const char *loaded_name(struct quads *quads, int window)
{
    return arena_format(&quads->cuda->emitter.arena, "loaded%d_%s", window, quads->turn);
}

static const char *storage_of(const struct ir_access *access)
{
    return dtype_table[access->buffer->dtype].c_storage;
}

/* ---- whether tensors lie well ---------------------------------------------------------------------- */

static const char *joined(struct quads *quads, const char *before, const char *condition)
{
    if (strstr(before, condition))
        return before;
    return arena_format(&quads->cuda->emitter.arena, "%s%s%s", before, *before ? " && " : "", condition);
}

/* What the call adds to the loop's variable, without the number, is a multiple of four. */
static const char *offset_condition(struct quads *quads, const char *before, const struct ir_access *access)
{
    struct cuda_emitter *cuda = quads->cuda;
    struct emitter *emitter = &cuda->emitter;
    struct emit_symbol *entry = &emitter->symbols[quads->found.loop->symbol->slot];
    const char *name = entry->name;
    struct pass_affine affine;
    struct ir_expr *index = access->indices[access->buffer->rank - 1];
    if (!pass_affine_of(index, &affine) || affine.count == 1)
        return before;
    entry->name = "0";
    const char *offset =
        emit_operand(emitter, emit_index(emitter, cuda_resolved(cuda->plan.kernel, index)), EMIT_ADD);
    entry->name = name;
    return joined(quads, before,
                  arena_format(&emitter->arena, "(%s - %lldll) %% %d == 0", offset,
                               (long long)affine.constant, quads->found.length));
}

/* An element of the iteration that the loop's variable, as the text has it, names. */
static const char *element_text(struct quads *quads, const struct ir_access *access)
{
    struct emitter *emitter = &quads->cuda->emitter;
    if (!quads->found.flat)
        return emit_access(emitter, access).text;
    return arena_format(&emitter->arena, "%s[%s]", emitter->buffers[access->buffer->index],
                        emitter->symbols[quads->found.loop->symbol->slot].name);
}

/* Where it lies, and that its rows are whole pieces; behind what was said before. */
static const char *lies_well(struct quads *quads, const char *before, const struct ir_access *access)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const struct ir_buffer *buffer = access->buffer;
    int bytes = quads->found.length * dtype_table[buffer->dtype].size;
    const char *all = joined(quads, before,
                             arena_format(&emitter->arena, "(unsigned long long)%s %% %d == 0",
                                          emitter->buffers[buffer->index], bytes < 16 ? bytes : 16));
    if (buffer->rank > 1 && !quads->found.flat)
        all = joined(
            quads, all,
            arena_format(&emitter->arena, "%s %% %d == 0",
                         emit_operand(emitter, emit_extent(emitter, buffer, buffer->rank - 1), EMIT_UNARY),
                         quads->found.length));
    return offset_condition(quads, all, access);
}

/* Whether a piece is moved at once. */
static bool has_piece(const struct quads *quads, const struct cuda_window *window)
{
    int64_t first =
        window->low + ((quads->found.align - window->low) % quads->found.length + quads->found.length) %
                          quads->found.length;
    return first <= window->high;
}

/* That all tensors lie so. */
static const char *conditions(struct quads *quads, const char *all)
{
    for (int k = 0; k < quads->found.window_count; k++)
        if (has_piece(quads, &quads->found.windows[k]))
            all = lies_well(quads, all, quads->found.windows[k].access);
    for (int k = 0; k < quads->found.store_count; k++)
        all = lies_well(quads, all, &quads->found.stores[k]->access);
    return *all ? all : "1";
}

/* ---- how many pieces --------------------------------------------------------------------------------- */

/* The value of the loop's variable in the first piece, were it not cut. */
static int64_t first_value(const struct quads *quads)
{
    int64_t sum = quads->found.low + quads->found.align;
    return sum - sum % quads->found.length - quads->found.align;
}

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
        emit_line(emitter, "const long long %s = %s ? %s / %d : 0;", name, conditions(quads, all),
                  emit_cuda_product(quads->cuda, chain, texts), quads->found.length);
        return;
    }
    const char *pieces = pieces_text(quads, texts), *outer = "";
    int64_t before = quads->found.low - first_value(quads);
    for (int k = 0; k < chain->count - 1; k++)
        outer = arena_format(&emitter->arena, "%s%s * ", outer, texts[k].trips);
    emit_line(emitter, "const long long %s = %s > 0 ? (%s + %d) / %d : 0;", pieces, trips, trips,
              (int)before + quads->found.length - 1, quads->found.length);
    emit_line(emitter, "const long long %s = %s ? %s%s : 0;", name, conditions(quads, all), outer, pieces);
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
    int64_t value = first_value(quads);
    if (value)
        emit_line(emitter, "const long long %s = %s * %d + %lld;", first, digit, quads->found.length,
                  (long long)value);
    else
        emit_line(emitter, "const long long %s = %s * %d;", first, digit, quads->found.length);
    return first;
}

/* ---- pieces ------------------------------------------------------------------------------------------- */

struct cuda_move emit_cuda_move(akg_dtype dtype, int length)
{
    static const struct cuda_move
        four[] = {[1] = {"8", "unsigned char"},
                  [2] = {"16", "unsigned short"},
                  [4] = {"words", "unsigned int"},
                  [8] = {"longs", "unsigned long long"}},
        eight[] = {[1] = {"8_eight", "unsigned char"}, [2] = {"16_eight", "unsigned short"}},
        single = {"32", "float"}, twice = {"64", "double"};
    int size = dtype_table[dtype].size;
    if (length > CUDA_QUAD)
        return eight[size];
    if (dtype_is_float(dtype) && size >= 4)
        return size == 4 ? single : twice;
    return four[size];
}

/* Between addresses, as texts. */
static void emit_move(struct quads *quads, const char *how, const struct ir_access *access, const char *to,
                      const char *from)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const struct cuda_move move = emit_cuda_move(access->buffer->dtype, quads->found.length);
    if (dtype_is_float(access->buffer->dtype) && quads->found.length == CUDA_QUAD) {
        emit_line(emitter, "akg_%s_%s(%s, %s);", how, move.name, to, from);
        return;
    }
    bool fixed = *how == 'l' || access->buffer->role == IR_INPUT;
    emit_line(emitter, "akg_%s_%s((%s *)%s, (%s%s *)%s);", how, move.name, move.type, to,
              fixed ? "const " : "", move.type, from);
}

/* A piece of its own, or of what is kept. */
static bool is_plain(const struct quads *quads, const struct cuda_window *window)
{
    return window->low == window->high && has_piece(quads, window);
}

static int window_length(const struct cuda_window *window, int length)
{
    return (int)(window->high - window->low) + length;
}

/* The window, in whole pieces and single elements. */
static void emit_window(struct quads *quads, const struct cuda_window *window, const char *name)
{
    struct emitter *emitter = &quads->cuda->emitter;
    struct arena *arena = &emitter->arena;
    const char *at = arena_format(arena, "loaded%d_at_", (int)(window - quads->found.windows));
    emit_line(emitter, "%s%s *const %s = &%s;", window->access->buffer->role == IR_INPUT ? "const " : "",
              storage_of(window->access), at, element_text(quads, window->access));
    for (int64_t k = window->low; k < window->high + quads->found.length;) {
        bool whole = (k - quads->found.align) % quads->found.length == 0 && k <= window->high;
        const char *to = arena_format(arena, "%s[%lld]", name, (long long)(k - window->low));
        const char *from = arena_format(arena, "%s[%lld]", at, (long long)(k - window->shift));
        if (whole)
            emit_move(quads, "take", window->access, arena_format(arena, "&%s", to),
                      arena_format(arena, "&%s", from));
        else if (window->access->buffer->role == IR_INPUT)
            emit_line(emitter, "%s = akg_read(%s);", to, from);
        else
            emit_line(emitter, "%s = %s;", to, from);
        k += whole ? quads->found.length : 1;
    }
}

/* The loads; or those of what is kept, where they begin. */
static void emit_loads(struct quads *quads, bool kept)
{
    struct emitter *emitter = &quads->cuda->emitter;
    for (int k = 0; k < quads->found.window_count; k++) {
        const struct cuda_window *window = &quads->found.windows[k];
        const char *name = loaded_name(quads, k);
        bool packed = false;
        if (!kept && emit_cuda_row_has(quads->cuda, window->access))
            continue;
        if (kept && !emit_cuda_row_begins(quads->cuda, window->access))
            continue;
        if (kept)
            name = emit_cuda_row_piece(quads->cuda, window->access, &packed);
        else if (!*quads->turn)
            emit_line(emitter, "%s %s[%d];", storage_of(window->access), name,
                      window_length(window, quads->found.length));
        if (packed)
            emit_line(emitter, "akg_take_two(%s, &%s);", name, element_text(quads, window->access));
        else if (is_plain(quads, window))
            emit_move(quads, "take", window->access, name,
                      arena_format(&emitter->arena, "&%s", element_text(quads, window->access)));
        else
            emit_window(quads, window, name);
    }
}

/* Where the iteration at hand has what it loads, as a text. */
static const char *place_of(struct quads *quads, const struct cuda_quad_load *load)
{
    struct arena *arena = &quads->cuda->emitter.arena;
    long long place = load->shift - quads->found.windows[load->window].low;
    const char *name = loaded_name(quads, load->window);
    return place ? arena_format(arena, "%s[one_ + %lld]", name, place)
                 : arena_format(arena, "%s[one_]", name);
}

static void substitute_loads(struct quads *quads)
{
    struct cuda_emitter *cuda = quads->cuda;
    for (int k = 0; k < quads->found.load_count; k++) {
        const struct cuda_quad_load *load = &quads->found.loads[k];
        struct emit_value one = emit_name(place_of(quads, load));
        cuda->substitutes[cuda->substitute_count++] =
            (struct cuda_substitute){load->load, emit_loaded(&cuda->emitter, load->load->dtype, one)};
    }
}

static void declare_stored(struct quads *quads)
{
    for (int k = 0; k < quads->found.store_count; k++)
        emit_line(&quads->cuda->emitter, "%s %s[%d];", storage_of(&quads->found.stores[k]->access),
                  quad_name(quads, "stored", k), quads->found.length);
}

static void emit_stores(struct quads *quads)
{
    struct emitter *emitter = &quads->cuda->emitter;
    for (int k = 0; k < quads->found.store_count; k++) {
        const struct ir_access *access = &quads->found.stores[k]->access;
        if (emit_cuda_row_only_keeps(quads->cuda, access))
            continue;
        emit_move(quads, "leave", access, arena_format(&emitter->arena, "&%s", element_text(quads, access)),
                  quad_name(quads, "stored", k));
    }
}

static void emit_statements(struct quads *quads)
{
    struct emitter *emitter = &quads->cuda->emitter;
    for (const struct ir_stmt *stmt = quads->found.body; stmt; stmt = stmt->next) {
        int number = 0;
        while (number < quads->found.store_count && quads->found.stores[number] != stmt)
            number++;
        if (number == quads->found.store_count) {
            emit_statement(emitter, stmt);
            continue;
        }
        struct emit_value value = emit_shallow(emitter, stmt->value);
        const char *stored = emit_stored(emitter, stmt->access.buffer->dtype, value);
        emit_line(emitter, "%s[one_] = %s;", quad_name(quads, "stored", number),
                  emit_cuda_row_keep(quads->cuda, &stmt->access, stored));
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
    const char *name = emitter->symbols[quads->found.loop->symbol->slot].name;
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int one_ = 0; one_ < %d; one_++) {", quads->found.length);
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

/* That the piece has four iterations, and that this is one of them. */
static const char *whole_text(struct quads *quads, const char *first, const char *trips)
{
    return arena_format(&quads->cuda->emitter.arena, "%s >= %lld && %s + %lld <= %s", first,
                        (long long)quads->found.low, first,
                        (long long)(quads->found.length - quads->found.low), trips);
}

static const char *inside_text(struct quads *quads, const char *name, const char *trips)
{
    long long low = quads->found.low;
    return low ? arena_format(&quads->cuda->emitter.arena, "%s >= %lld && %s - %lld < %s", name, low, name,
                              low, trips)
               : arena_format(&quads->cuda->emitter.arena, "%s < %s", name, trips);
}

/* The iterations of a piece that is cut, one by one. */
static void emit_cut(struct quads *quads, const struct cuda_loop_texts *texts, const char *first)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const char *name = emitter->symbols[quads->found.loop->symbol->slot].name;
    emit_line(emitter, "for (int one_ = 0; one_ < %d; one_++) {", quads->found.length);
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s + one_;", name, first);
    emit_line(emitter, "if (%s >= %lld && %s - %lld < %s) {", name, (long long)quads->found.low, name,
              (long long)quads->found.low, texts[quads->found.chain->count - 1].trips);
    emitter->indent++;
    emit_block(emitter, quads->found.body);
    for (int k = 0; k < 2; k++) {
        emitter->indent--;
        emit_line(emitter, "}");
    }
}

static void emit_taken(struct quads *quads, const char *first, bool only)
{
    struct emit_symbol *entry = &quads->cuda->emitter.symbols[quads->found.loop->symbol->slot];
    const char *name = entry->name;
    entry->name = first;
    emit_loads(quads, only);
    entry->name = name;
}

static void emit_done(struct quads *quads, const char *first)
{
    struct cuda_emitter *cuda = quads->cuda;
    struct emit_symbol *entry = &cuda->emitter.symbols[quads->found.loop->symbol->slot];
    int substitutes = cuda->substitute_count;
    const char *name = entry->name;
    substitute_loads(quads);
    declare_stored(quads);
    emit_body(quads, first);
    cuda->substitute_count = substitutes;
    entry->name = first;
    emit_stores(quads);
    entry->name = name;
}

/* The four iterations of a piece, or of what is kept only their loads. */
static void emit_whole(struct quads *quads, const char *first, bool only)
{
    emit_taken(quads, first, only);
    if (!only)
        emit_done(quads, first);
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
        emit_line(emitter, "if (%s) {", whole_text(quads, first, trips));
        emitter->indent++;
    }
    emit_whole(quads, first, only);
    if (quads->found.cut) {
        emitter->indent--;
        emit_line(emitter, "} else {");
        emitter->indent++;
        emit_cut(quads, texts, first);
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

/* Around what is done with each iteration. */
static void begin_each(struct quads *quads, const char *first, const char *trips)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const char *name = emitter->symbols[quads->found.loop->symbol->slot].name;
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int one_ = 0; one_ < %d; one_++) {", quads->found.length);
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s + one_;", name, first);
    emit_line(emitter, "if (%s) {", inside_text(quads, name, trips));
    emitter->indent++;
}

static void end_blocks(struct quads *quads, int count)
{
    for (int k = 0; k < count; k++) {
        quads->cuda->emitter.indent--;
        emit_line(&quads->cuda->emitter, "}");
    }
}

/* Whether pieces that are cut can be loaded whole for all that: they lie in rows of whole pieces, and nothing
 * is stored. */
static bool can_load_cut(const struct quads *quads)
{
    for (int k = 0; k < quads->found.window_count; k++)
        if (!is_plain(quads, &quads->found.windows[k]) || quads->found.windows[k].access->buffer->rank < 2)
            return false;
    return quads->found.window_count > 0 && quads->found.store_count == 0;
}

/* The iterations that there are of a piece that was loaded. */
static void emit_loaded_cut(struct quads *quads, const char *first, const char *trips)
{
    struct cuda_emitter *cuda = quads->cuda;
    int substitutes = cuda->substitute_count;
    begin_each(quads, first, trips);
    substitute_loads(quads);
    emit_statements(quads);
    cuda->substitute_count = substitutes;
    end_blocks(quads, 2);
}

/* What is done with a piece of the only loop, whether it is cut or not. */
static void emit_done_or_cut(struct quads *quads, const struct cuda_loop_texts *texts, const char *first)
{
    struct emitter *emitter = &quads->cuda->emitter;
    emit_line(emitter, "if (%s) {", whole_text(quads, first, texts[0].trips));
    emitter->indent++;
    emit_done(quads, first);
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    emit_enter_loop(emitter, quads->found.loop);
    if (can_load_cut(quads))
        emit_loaded_cut(quads, first, texts[0].trips);
    else
        emit_cut(quads, texts, first);
    emit_leave_loop(emitter);
    end_blocks(quads, 1);
}

/* Several pieces, all of whose loads come before anything else; `number` is that of the first. Of those that
 * are cut there is one loop. With `end`, a text, there may be fewer: those before it. */
static void emit_group(struct quads *quads, const struct cuda_loop_texts *texts, const char *number,
                       const char *step, int count, const char *end)
{
    struct emitter *emitter = &quads->cuda->emitter;
    bool only_whole = quads->found.cut && !can_load_cut(quads);
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
            emit_line(emitter, "if (%s) {", whole_text(quads, first, texts[0].trips));
            emitter->indent++;
        }
        if (!done)
            emit_taken(quads, first, false);
        else if (quads->found.cut)
            emit_done_or_cut(quads, texts, first);
        else
            emit_done(quads, first);
        end_blocks(quads, 1 + (!done && only_whole) + (end != NULL));
    }
    quads->turn = "";
}

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
    end_blocks(quads, 2);
}

/* Where few registers are needed for what is moved, there are to be enough threads for what is under way, or
 * for others to compute while some wait. All blocks of a sum are to be there at once, each thread with so
 * many elements. */
enum { FEW = 32, LOOPS = 3, TOGETHER = 5, MOVED_TOGETHER = 6, SUMMED = 16, SUMMED_TOGETHER = 8 };

static int elements_of(const struct cuda_quads *found)
{
    int count = found->store_count * found->length;
    for (int k = 0; k < found->window_count; k++)
        count += window_length(&found->windows[k], found->length);
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

/* What is looked up has addresses of its own. */
static int resident_of(const struct cuda_emitter *cuda, struct cuda_quads *found)
{
    if (elements_of(found) > SUMMED)
        return TOGETHER;
    if (cuda->step->sums)
        return SUMMED_TOGETHER;
    return ir_block_expressions((struct ir_stmt *)found->body, is_moved, found) ? MOVED_TOGETHER : TOGETHER;
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
    return conditions(&quads, before);
}

void emit_cuda_piece(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     const struct cuda_loop_texts *texts, const char *number, bool only)
{
    struct quads quads;
    if (quads_of(cuda, chain, &quads))
        emit_piece(&quads, texts, number, only);
}

/* ---- several pieces --------------------------------------------------------------------------------- */

bool emit_cuda_pieces_of(struct cuda_emitter *cuda, const struct cuda_chain *chain, struct cuda_quads *found)
{
    return cuda_quads_of(&cuda->plan, cuda->step, chain, CUDA_PIECES_OF_FOUR, found);
}

const char *emit_cuda_pieces_well(struct cuda_emitter *cuda, const struct cuda_quads *found)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = ""};
    return conditions(&quads, "");
}

int64_t emit_cuda_pieces_first(const struct cuda_quads *found)
{
    struct quads quads = {.found = *found};
    return first_value(&quads);
}

void emit_cuda_pieces_declare(struct cuda_emitter *cuda, const struct cuda_quads *found, int turns)
{
    for (int k = 0; k < found->window_count; k++)
        emit_line(&cuda->emitter, "%s loaded%d_[%d][%d];", storage_of(found->windows[k].access), k, turns,
                  window_length(&found->windows[k], found->length));
}

void emit_cuda_pieces_take(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *turn)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = turn};
    emit_taken(&quads, first, false);
}

void emit_cuda_pieces_done(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *turn)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = turn};
    emit_done(&quads, first);
}

/* Moves a piece at once, or what there is of it one by one. */
static void emit_either(struct quads *quads, const char *first, const char *trips,
                        void (*whole)(struct quads *quads), void (*one)(struct quads *quads))
{
    struct emitter *emitter = &quads->cuda->emitter;
    struct emit_symbol *entry = &emitter->symbols[quads->found.loop->symbol->slot];
    const char *name = entry->name;
    emit_line(emitter, "if (%s) {", whole_text(quads, first, trips));
    emitter->indent++;
    entry->name = first;
    whole(quads);
    entry->name = name;
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    begin_each(quads, first, trips);
    one(quads);
    end_blocks(quads, 3);
}

static void load_whole(struct quads *quads)
{
    emit_loads(quads, false);
}

static void load_one(struct quads *quads)
{
    struct emitter *emitter = &quads->cuda->emitter;
    for (int k = 0; k < quads->found.load_count; k++) {
        const struct cuda_quad_load *load = &quads->found.loads[k];
        emit_line(emitter, "%s = %s;", place_of(quads, load), element_text(quads, &load->load->access));
    }
}

static void store_one(struct quads *quads)
{
    struct emitter *emitter = &quads->cuda->emitter;
    for (int k = 0; k < quads->found.store_count; k++)
        emit_line(emitter, "%s = %s[one_];", element_text(quads, &quads->found.stores[k]->access),
                  quad_name(quads, "stored", k));
}

void emit_cuda_pieces_load(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *trips, const char *turn)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = turn};
    if (found->window_count)
        emit_either(&quads, first, trips, load_whole, load_one);
}

void emit_cuda_pieces_each(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *trips, const char *turn,
                           void (*body)(struct cuda_emitter *cuda, void *context), void *context)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = turn};
    int substitutes = cuda->substitute_count;
    begin_each(&quads, first, trips);
    substitute_loads(&quads);
    body(cuda, context);
    cuda->substitute_count = substitutes;
    end_blocks(&quads, 2);
}

static void emit_kept_statements(struct cuda_emitter *cuda, void *context)
{
    (void)cuda;
    emit_statements(context);
}

void emit_cuda_pieces_body(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *trips, const char *turn)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = turn};
    declare_stored(&quads);
    emit_cuda_pieces_each(cuda, found, first, trips, turn, emit_kept_statements, &quads);
    if (found->store_count)
        emit_either(&quads, first, trips, emit_stores, store_one);
}
