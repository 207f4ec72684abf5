/*
 * emit_cuda_quads_piece.c: what a thread does with a piece: four iterations of a loop, or eight where all
 * elements are narrow.
 *
 * Consumes what cuda_quads.h found: windows are loaded before the iterations, pieces are stored behind them.
 * Everything else in the body is done one by one, and so is a piece that is cut. Which pieces there are is
 * others' to say.
 */
#include "emit_cuda_pairs.h"
#include "emit_cuda_quads.h"
#include "pass.h"

#include <string.h>

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

/* ---- whether tensors lie well ----------------------------------------------------------------------- */

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

const char *emit_quads_conditions(struct quads *quads, const char *all)
{
    for (int k = 0; k < quads->found.window_count; k++)
        if (has_piece(quads, &quads->found.windows[k]))
            all = lies_well(quads, all, quads->found.windows[k].access);
    for (int k = 0; k < quads->found.store_count; k++)
        all = lies_well(quads, all, &quads->found.stores[k]->access);
    return *all ? all : "1";
}

/* ---- loads ------------------------------------------------------------------------------------------ */

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

int emit_quads_window_length(const struct cuda_window *window, int length)
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
                      emit_quads_window_length(window, quads->found.length));
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

/* What a row keeps it has substituted. */
static void substitute_loads(struct quads *quads)
{
    struct cuda_emitter *cuda = quads->cuda;
    for (int k = 0; k < quads->found.load_count; k++) {
        const struct cuda_quad_load *load = &quads->found.loads[k];
        if (emit_cuda_row_has(cuda, &load->load->access))
            continue;
        struct emit_value one = emit_name(place_of(quads, load));
        cuda->substitutes[cuda->substitute_count++] =
            (struct cuda_substitute){load->load, emit_loaded(&cuda->emitter, load->load->dtype, one)};
    }
}

void emit_quads_take(struct quads *quads, const char *first, bool only)
{
    struct emit_symbol *entry = &quads->cuda->emitter.symbols[quads->found.loop->symbol->slot];
    const char *name = entry->name;
    entry->name = first;
    emit_loads(quads, only);
    entry->name = name;
}

/* ---- iterations ------------------------------------------------------------------------------------- */

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

/* The statements of an iteration, in a block that is open; most have no use for the variable of the loop. */
static void emit_iteration(struct quads *quads, const char *first)
{
    struct emitter *emitter = &quads->cuda->emitter;
    const char *name = emitter->symbols[quads->found.loop->symbol->slot].name;
    emit_capture_begin(emitter);
    emit_statements(quads);
    const char *text = emit_capture_end(emitter);
    emitter->indent++;
    if (text && emit_cuda_word(text, name))
        emit_line(emitter, "const long long %s = %s + one_;", name, first);
    text_string(emitter->out, text ? text : "");
}

/* The four iterations, or two at a time where some of it is computed for both at once. */
static void emit_body(struct quads *quads, const char *first)
{
    struct emitter *emitter = &quads->cuda->emitter;
    struct cuda_pairs pairs;
    bool paired = emit_cuda_pairs_find(quads->cuda, quads->found.body, quads->found.loop->symbol, &pairs);
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter,
              paired ? "for (int two_ = 0; two_ < %d; two_ += 2) {"
                     : "for (int one_ = 0; one_ < %d; one_++) {",
              quads->found.length);
    if (paired) {
        emitter->indent++;
        emit_cuda_pairs(&pairs);
        emit_line(emitter, "#pragma unroll");
        emit_line(emitter, "for (int half_ = 0; half_ < 2; half_++) {");
        emit_line(emitter, "    const int one_ = two_ + half_;");
    }
    emit_iteration(quads, first);
    emit_quads_close(quads, 1 + paired);
}

void emit_quads_do(struct quads *quads, const char *first)
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

void emit_quads_close(struct quads *quads, int count)
{
    for (int k = 0; k < count; k++) {
        quads->cuda->emitter.indent--;
        emit_line(&quads->cuda->emitter, "}");
    }
}

/* ---- pieces that are cut ---------------------------------------------------------------------------- */

int64_t emit_quads_first(const struct quads *quads)
{
    int64_t sum = quads->found.low + quads->found.align;
    return sum - sum % quads->found.length - quads->found.align;
}

const char *emit_quads_whole(struct quads *quads, const char *first, const char *trips)
{
    return arena_format(&quads->cuda->emitter.arena, "%s >= %lld && %s + %lld <= %s", first,
                        (long long)quads->found.low, first,
                        (long long)(quads->found.length - quads->found.low), trips);
}

/* That this is an iteration that there is. */
static const char *inside_text(struct quads *quads, const char *name, const char *trips)
{
    long long low = quads->found.low;
    return low ? arena_format(&quads->cuda->emitter.arena, "%s >= %lld && %s - %lld < %s", name, low, name,
                              low, trips)
               : arena_format(&quads->cuda->emitter.arena, "%s < %s", name, trips);
}

void emit_quads_cut(struct quads *quads, const struct cuda_loop_texts *texts, const char *first)
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

bool emit_quads_can_load_cut(const struct quads *quads)
{
    for (int k = 0; k < quads->found.window_count; k++)
        if (!is_plain(quads, &quads->found.windows[k]) || quads->found.windows[k].access->buffer->rank < 2)
            return false;
    return quads->found.window_count > 0 && quads->found.store_count == 0;
}

void emit_quads_loaded_cut(struct quads *quads, const char *first, const char *trips)
{
    struct cuda_emitter *cuda = quads->cuda;
    int substitutes = cuda->substitute_count;
    begin_each(quads, first, trips);
    substitute_loads(quads);
    emit_statements(quads);
    cuda->substitute_count = substitutes;
    emit_quads_close(quads, 2);
}

/* ---- for others, of which a thread has several ------------------------------------------------------ */

bool emit_cuda_pieces_of(struct cuda_emitter *cuda, const struct cuda_chain *chain, struct cuda_quads *found)
{
    return cuda_quads_of(&cuda->plan, cuda->step, chain, CUDA_PIECES_OF_FOUR, found);
}

const char *emit_cuda_pieces_well(struct cuda_emitter *cuda, const struct cuda_quads *found)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = ""};
    return emit_quads_conditions(&quads, "");
}

int64_t emit_cuda_pieces_first(const struct cuda_quads *found)
{
    struct quads quads = {.found = *found};
    return emit_quads_first(&quads);
}

void emit_cuda_pieces_declare(struct cuda_emitter *cuda, const struct cuda_quads *found, int turns)
{
    for (int k = 0; k < found->window_count; k++)
        emit_line(&cuda->emitter, "%s loaded%d_[%d][%d];", storage_of(found->windows[k].access), k, turns,
                  emit_quads_window_length(&found->windows[k], found->length));
}

void emit_cuda_pieces_take(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *turn)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = turn};
    emit_quads_take(&quads, first, false);
}

void emit_cuda_pieces_done(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *turn)
{
    struct quads quads = {.cuda = cuda, .found = *found, .turn = turn};
    emit_quads_do(&quads, first);
}

/* Moves a piece at once, or what there is of it one by one. */
static void emit_either(struct quads *quads, const char *first, const char *trips,
                        void (*whole)(struct quads *quads), void (*one)(struct quads *quads))
{
    struct emitter *emitter = &quads->cuda->emitter;
    struct emit_symbol *entry = &emitter->symbols[quads->found.loop->symbol->slot];
    const char *name = entry->name;
    emit_line(emitter, "if (%s) {", emit_quads_whole(quads, first, trips));
    emitter->indent++;
    entry->name = first;
    whole(quads);
    entry->name = name;
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    begin_each(quads, first, trips);
    one(quads);
    emit_quads_close(quads, 3);
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
    emit_quads_close(&quads, 2);
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
