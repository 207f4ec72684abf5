/*
 * emit_c.c: a kernel as C text: its statements, and the function around them.
 *
 * Consumes a verified kernel whose sites and slots are numbered (sites.h), and writes nothing into it;
 * produces one C translation unit without #include, in the subset that libtcc compiles, free of gcc's
 * warnings. The body is emitted first, so that the local variables above it are just those it uses.
 * Expressions are in emit_c_expression.c, loops that threads share in
 * emit_c_split.c, vector loops in emit_c_vector.c, what stands above the function in emit_c_prelude.c.
 */
#include "deferred.h"
#include "exact.h"
#include "emit_c_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- lines -------------------------------------------------------------------- */

static void begin_line(struct emitter *emitter)
{
    enum { DEEPEST_INDENT = 40 };
    if (emitter->options->compact)
        return;
    text_repeat(emitter->out, ' ', 4 * (emitter->indent < DEEPEST_INDENT ? emitter->indent : DEEPEST_INDENT));
}

void emit_line(struct emitter *emitter, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *line = arena_format_list(&emitter->arena, format, list);
    va_end(list);
    begin_line(emitter);
    text_string(emitter->out, line);
    text_char(emitter->out, '\n');
}

void emit_statement_line(struct emitter *emitter, const struct ir_stmt *stmt, const char *line)
{
    if (stmt->span.line == 0 || stmt->span.line == emitter->line || emitter->options->compact) {
        emit_line(emitter, "%s", line);
        return;
    }
    emitter->line = stmt->span.line;
    emit_line(emitter, "%s /* line %d */", line, stmt->span.line);
}

_Noreturn void emit_too_deep(struct emitter *emitter)
{
    longjmp(emitter->escape, EMIT_ESCAPE_NESTING);
}

void emit_trap(struct emitter *emitter, const char *call)
{
    const struct emit_dialect *dialect = emitter->dialect;
    if (emitter->leave) {
        emit_line(emitter, "    goto %s;", emitter->leave);
        emit_line(emitter, "}");
        emitter->left = true;
        return;
    }
    emitter->indent++;
    if (dialect->trap_begin)
        emit_line(emitter, "%s", dialect->trap_begin);
    for (int k = 0; k < emitter->loop_count && k < JIT_TRAP_LOOPS; k++) {
        int slot = emitter->loops[k]->slot;
        emit_line(emitter, "%sloops[%d] = %s;", dialect->trap_members, k, emitter->symbols[slot].name);
        if (dialect->trap_nests)
            emit_line(emitter, "%s%s[%d] = %d;", dialect->trap_members, dialect->trap_nests, k, slot + 1);
    }
    unsigned around = emitter->loop_count < JIT_TRAP_LOOPS ? (1u << emitter->loop_count) - 1 : 0xffff;
    if (dialect->trap_down && (emitter->loops_down & around))
        emit_line(emitter, "%s%s = %u;", dialect->trap_members, dialect->trap_down,
                  emitter->loops_down & around);
    emit_line(emitter, "%s%s%s", dialect->trap_call, call, dialect->trap_call_end);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- captures ------------------------------------------------------------------- */

void emit_capture_begin(struct emitter *emitter)
{
    struct emit_capture *capture = emitter->captures->above;
    if (!capture) {
        capture = arena_new(&emitter->arena, struct emit_capture);
        text_init(&capture->text);
        capture->below = emitter->captures;
        emitter->captures->above = capture;
    }
    capture->outer = emitter->out;
    emitter->out = &capture->text;
    emitter->captures = capture;
    emitter->indent++;
}

const char *emit_capture_end(struct emitter *emitter)
{
    struct emit_capture *capture = emitter->captures;
    emitter->out = capture->outer;
    emitter->captures = capture->below;
    emitter->indent--;
    if (capture->text.failed)
        longjmp(emitter->escape, EMIT_ESCAPE_MEMORY);
    if (capture->text.length == 0)
        return NULL;
    const char *copy = arena_copy(&emitter->arena, capture->text.data, capture->text.length);
    capture->text.length = 0;
    return copy;
}

struct emit_value emit_aside(struct emitter *emitter, const struct ir_expr *expr, const char **before)
{
    emit_capture_begin(emitter);
    struct emit_value value = emit_shallow(emitter, expr);
    *before = emit_capture_end(emitter);
    return value;
}

static void captures_free(struct emit_capture *bottom)
{
    for (struct emit_capture *capture = bottom; capture; capture = capture->above)
        text_free(&capture->text);
}

/* ---- statements -------------------------------------------------------------------- */

void emit_inner_block(struct emitter *emitter, const struct ir_stmt *first)
{
    emitter->indent++;
    emit_block(emitter, first);
    emitter->indent--;
}

static struct emit_symbol *entry_of(struct emitter *emitter, const struct ir_symbol *symbol)
{
    return &emitter->symbols[symbol->slot];
}

/* The bound of a loop as a text that keeps its value while the loop runs. */
static struct emit_value fixed_bound(struct emitter *emitter, const struct ir_stmt *stmt)
{
    struct emit_value high = emit_index(emitter, stmt->high);
    bool changes = stmt->high->kind == IR_SYMBOL && stmt->high->symbol->kind == IR_SYMBOL_VARIABLE;
    if (high.simple && !changes)
        return high;
    struct emit_value name =
        emit_name(arena_format(&emitter->arena, "%s_end_", entry_of(emitter, stmt->symbol)->name));
    emit_line(emitter, "const long long %s = %s;", name.text, high.text);
    name.bits = high.bits;
    name.nonnegative = high.nonnegative;
    return name;
}

static int bits_of_step(uint64_t step)
{
    int bits = 0;
    for (; step; step >>= 1)
        bits++;
    return bits;
}

/* The third part of a for: the next value, or the bound where that would leave int64. */
static const char *loop_advance(struct emitter *emitter, const struct ir_stmt *stmt, const char *name,
                                struct emit_value high)
{
    struct arena *arena = &emitter->arena;
    bool up = stmt->step > 0;
    uint64_t step = up ? (uint64_t)stmt->step : 0 - (uint64_t)stmt->step;
    if (step == 1)
        return arena_format(arena, "%s%s", name, up ? "++" : "--");
    /* a step of 2^62 and more is one too many for a long long constant in the text */
    if (high.bits <= 61 && bits_of_step(step) <= 61)
        return arena_format(arena, "%s %s %llu", name, up ? "+=" : "-=", (unsigned long long)step);
    if (up)
        return arena_format(
            arena,
            "%s = (unsigned long long)%s - (unsigned long long)%s > %lluull ? (long long)((unsigned "
            "long long)%s + %lluull) : %s",
            name, high.text, name, (unsigned long long)step, name, (unsigned long long)step, high.text);
    return arena_format(
        arena,
        "%s = (unsigned long long)%s - (unsigned long long)%s > %lluull ? (long long)((unsigned long "
        "long)%s - %lluull) : %s",
        name, name, high.text, (unsigned long long)step, name, (unsigned long long)step, high.text);
}

void emit_enter_loop(struct emitter *emitter, const struct ir_stmt *stmt)
{
    unsigned bit = emitter->loop_count < JIT_TRAP_LOOPS ? 1u << emitter->loop_count : 0;
    if (bit)
        emitter->loops[emitter->loop_count] = stmt->symbol;
    emitter->loops_down = stmt->step < 0 ? emitter->loops_down | bit : emitter->loops_down & ~bit;
    emitter->loop_count++;
}

void emit_leave_loop(struct emitter *emitter)
{
    emitter->loop_count--;
}

void emit_for_line(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                   struct emit_value high)
{
    const char *name = entry_of(emitter, stmt->symbol)->name;
    emit_statement_line(emitter, stmt,
                        arena_format(&emitter->arena, "for (long long %s = %s; %s %s %s; %s) {", name,
                                     low.text, name, stmt->step > 0 ? "<" : ">", high.text,
                                     loop_advance(emitter, stmt, name, high)));
}

static void emit_c_loop(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                        struct emit_value high)
{
    const struct ir_stmt *around = emitter->around;
    emitter->is_reordered = emitter->options->reorders && emit_hosted_reductions(emitter, stmt);
    emitter->around = stmt;
    emit_for_line(emitter, stmt, low, high);
    emit_enter_loop(emitter, stmt);
    emit_inner_block(emitter, stmt->body);
    emit_leave_loop(emitter);
    emitter->around = around;
    emitter->is_reordered = false;
    emit_line(emitter, "}");
}

void emit_bounds(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value *low,
                 struct emit_value *high)
{
    enum { LOOP_BITS = 50 }; /* see emit_c_integer.c */
    *low = emit_index(emitter, stmt->low);
    *high = fixed_bound(emitter, stmt);
    struct emit_symbol *entry = entry_of(emitter, stmt->symbol);
    bool up = stmt->step > 0, small_step = bits_of_step((uint64_t)llabs(stmt->step / 2)) < 16;
    entry->bits = low->bits > LOOP_BITS || !small_step ? 63 : LOOP_BITS;
    /* downwards the last value is above high: it is not negative if high is -1 or more */
    entry->nonnegative =
        up ? low->nonnegative : high->nonnegative || (high->constant && high->number.i == -1);
}

struct emit_value emit_first(struct emitter *emitter, const struct ir_stmt *stmt)
{
    struct emit_value low = emit_index(emitter, stmt->low);
    struct emit_symbol *entry = entry_of(emitter, stmt->symbol);
    entry->bits = 63;
    entry->nonnegative = low.nonnegative;
    return low;
}

/* As vector code, and in C what that leaves. */
static void emit_vectors(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                         struct emit_value high)
{
    const char *done = NULL;
    enum emit_vector vector = emit_vector_loop(emitter, stmt, low, high, &done);
    if (vector == EMIT_VECTOR_ALWAYS)
        return;
    if (vector == EMIT_VECTOR_SOMETIMES)
        emit_line(emitter, "if (!%s)", done);
    if (vector == EMIT_VECTOR_PARTLY)
        low = emit_name(done);
    emit_c_loop(emitter, stmt, low, high);
}

/* The loop with branches, if there is one. True: it is always the one to run; else, where *other, `}` is to
 * follow behind the other code. */
static bool emit_flow(struct emitter *emitter, const struct ir_stmt *stmt, const char *low, const char *high,
                      bool *other)
{
    const char *test = emit_flow_test(emitter, stmt);
    *other = test != NULL;
    if (!test)
        return emit_flow_loop(emitter, stmt, low, high);
    emit_line(emitter, "if (%s)", test);
    emit_flow_loop(emitter, stmt, low, high);
    emit_line(emitter, "else {");
    emitter->indent++;
    return false;
}

static void emit_flow_end(struct emitter *emitter, bool other)
{
    if (!other)
        return;
    emitter->indent--;
    emit_line(emitter, "}");
}

void emit_loop(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
               struct emit_value high)
{
    bool other;
    const char *copied;
    if (emit_copy(emitter, stmt, low, high, &copied))
        return;
    if (copied) {
        emit_line(emitter, "if (!%s) {", copied);
        emitter->indent++;
    }
    if (!emit_flow(emitter, stmt, low.text, high.text, &other)) {
        emit_vectors(emitter, stmt, low, high);
        emit_flow_end(emitter, other);
    }
    emit_flow_end(emitter, copied != NULL);
}

static void emit_for(struct emitter *emitter, const struct ir_stmt *stmt)
{
    struct emit_value low, high;
    emit_bounds(emitter, stmt, &low, &high);
    if (emit_has_some_rows(emitter, stmt))
        emit_loop(emitter, stmt, emit_name("rows_from_"), emit_name("rows_to_"));
    else if (!emit_split(emitter, stmt, low, high))
        emit_loop(emitter, stmt, low, high);
}

static void emit_c_while(struct emitter *emitter, const struct ir_stmt *stmt)
{
    const char *before;
    struct emit_value condition = emit_aside(emitter, stmt->value, &before);
    if (!before) {
        emit_statement_line(emitter, stmt, arena_format(&emitter->arena, "while (%s) {", condition.text));
    } else {
        emit_statement_line(emitter, stmt, "for (;;) {");
        text_string(emitter->out, before);
        emitter->indent++;
        emit_line(emitter, "if (!%s)", emit_operand(emitter, condition, EMIT_UNARY));
        emit_line(emitter, "    break;");
        emitter->indent--;
    }
    emit_inner_block(emitter, stmt->body);
    emit_line(emitter, "}");
}

static void emit_while(struct emitter *emitter, const struct ir_stmt *stmt)
{
    bool other;
    if (emit_flow(emitter, stmt, NULL, NULL, &other))
        return;
    emit_c_while(emitter, stmt);
    emit_flow_end(emitter, other);
}

/* A branch whose code is made when it is first reached; without it, the other side does the same. */
static void emit_deferred(struct emitter *emitter, const struct ir_stmt *stmt, int number)
{
    struct emit_value condition = emit_shallow(emitter, stmt->value);
    emit_line(emitter, "{");
    emitter->indent++;
    emit_line(emitter, "int reached_ = -1;");
    emit_statement_line(emitter, stmt,
                        arena_format(&emitter->arena, "if (frame->reach && (%s))", condition.text));
    emit_line(emitter, "    reached_ = frame->reach(frame, %d);", number);
    emit_line(emitter, "if (reached_ > 0)");
    emit_line(emitter, "    return 1;");
    emit_line(emitter, "if (reached_ < 0) {");
    emit_inner_block(emitter, stmt->otherwise);
    emit_line(emitter, "}");
    emitter->indent--;
    emit_line(emitter, "}");
}

/* An otherwise that is one IF alone goes on in the same chain, where its condition needs no statements
 * before. */
static void emit_if(struct emitter *emitter, const struct ir_stmt *stmt)
{
    int number = emitter->options->defers ? deferred_number(emitter->kernel, stmt) : -1;
    if (number >= 0) {
        emit_deferred(emitter, stmt, emitter->options->first_branch + number);
        return;
    }
    struct emit_value condition = emit_shallow(emitter, stmt->value);
    emit_statement_line(emitter, stmt, arena_format(&emitter->arena, "if (%s) {", condition.text));
    emit_inner_block(emitter, stmt->body);
    const struct ir_stmt *rest = stmt->otherwise;
    for (; rest && rest->kind == IR_IF && !rest->next; rest = rest->otherwise) {
        const char *before;
        condition = emit_aside(emitter, rest->value, &before);
        if (before) {
            emit_line(emitter, "} else {");
            text_string(emitter->out, before);
            emitter->indent++;
            emit_line(emitter, "if (%s) {", condition.text);
            emit_inner_block(emitter, rest->body);
            if (rest->otherwise) {
                emit_line(emitter, "} else {");
                emit_inner_block(emitter, rest->otherwise);
            }
            emit_line(emitter, "}");
            emitter->indent--;
            rest = NULL;
            break;
        }
        emit_statement_line(emitter, rest, arena_format(&emitter->arena, "} else if (%s) {", condition.text));
        emit_inner_block(emitter, rest->body);
    }
    if (rest) {
        emit_line(emitter, "} else {");
        emit_inner_block(emitter, rest);
    }
    emit_line(emitter, "}");
}

static void emit_store(struct emitter *emitter, const struct ir_stmt *stmt)
{
    akg_dtype dtype = stmt->access.buffer->dtype;
    const char *target = emit_access(emitter, &stmt->access).text;
    struct emit_value value = emit_shallow(emitter, stmt->value);
    emit_statement_line(
        emitter, stmt, arena_format(&emitter->arena, "%s = %s;", target, emit_stored(emitter, dtype, value)));
}

/* LET and VARIABLE. */
static void emit_declaration(struct emitter *emitter, const struct ir_stmt *stmt)
{
    struct emit_symbol *entry = entry_of(emitter, stmt->symbol);
    struct emit_value value = emit_shallow(emitter, stmt->value);
    bool fixed = stmt->kind == IR_LET;
    akg_dtype dtype = stmt->symbol->dtype;
    entry->bits = fixed ? value.bits : dtype_is_float(dtype) ? 0 : emit_dtype_bits(dtype);
    entry->nonnegative = fixed ? value.nonnegative : !dtype_is_signed(dtype);
    emit_statement_line(emitter, stmt,
                        arena_format(&emitter->arena, "%s%s %s = %s;", fixed ? "const " : "",
                                     emit_type(dtype), entry->name, value.text));
    emit_line(emitter, "%c%d", EMIT_PENDING, stmt->symbol->slot);
}

static void emit_assert(struct emitter *emitter, const struct ir_stmt *stmt)
{
    struct emit_value condition = emit_shallow(emitter, stmt->value);
    emit_statement_line(
        emitter, stmt,
        arena_format(&emitter->arena, "if (!%s) {", emit_operand(emitter, condition, EMIT_UNARY)));
    emit_trap(emitter, arena_format(&emitter->arena, "%s(%s, %d)", emit_snippet(EMIT_TRAP),
                                    emitter->dialect->trap, stmt->site));
}

/* ---- zeroing --------------------------------------------------------------------------- */

/* The extent of an axis as it may stand in a product. */
static const char *factor(struct emitter *emitter, const struct ir_buffer *buffer, int axis)
{
    return emit_operand(emitter, emit_extent(emitter, buffer, axis), EMIT_UNARY);
}

const char *emit_element_count(struct emitter *emitter, const struct ir_buffer *buffer)
{
    struct arena *arena = &emitter->arena;
    const char *count = NULL;
    for (int axis = 0; axis < buffer->rank; axis++)
        count = count ? arena_format(arena, "%s * %s", count, factor(emitter, buffer, axis))
                      : factor(emitter, buffer, axis);
    return count ? count : "1";
}

static void clear_contiguous(struct emitter *emitter, const struct ir_buffer *buffer)
{
    struct arena *arena = &emitter->arena;
    const char *size = arena_format(arena, "sizeof(%s)", dtype_table[buffer->dtype].c_storage);
    if (buffer->rank)
        size = arena_format(arena, "%s * %s", emit_element_count(emitter, buffer), size);
    emit_line(emitter, "%s(%s, 0, %s);", emit_snippet(EMIT_MEMSET), emitter->buffers[buffer->index], size);
}

static void clear_strided(struct emitter *emitter, const struct ir_buffer *buffer)
{
    struct arena *arena = &emitter->arena;
    const char *name = emitter->buffers[buffer->index], *offset = "0";
    for (int axis = 0; axis < buffer->rank; axis++) {
        const char *term = arena_format(arena, "z%d_ * %s_stride%d_", axis, name, axis);
        offset = axis ? arena_format(arena, "%s + %s", offset, term) : term;
        emit_line(emitter, "for (long long z%d_ = 0; z%d_ < %s; z%d_++)", axis, axis,
                  factor(emitter, buffer, axis), axis);
        emitter->indent++;
    }
    emit_line(emitter, "%s[%s] = 0;", name, offset);
    emitter->indent -= buffer->rank;
}

static void emit_clear(struct emitter *emitter, const struct ir_buffer *buffer)
{
    if (buffer->contiguous)
        clear_contiguous(emitter, buffer);
    else
        clear_strided(emitter, buffer);
}

/* ---- blocks ----------------------------------------------------------------------------- */

void emit_statement(struct emitter *emitter, const struct ir_stmt *stmt)
{
    if (emitter->dialect->statement && emitter->dialect->statement(emitter, stmt))
        return;
    switch (stmt->kind) {
    case IR_FOR:
        emit_for(emitter, stmt);
        break;
    case IR_WHILE:
        emit_while(emitter, stmt);
        break;
    case IR_IF:
        emit_if(emitter, stmt);
        break;
    case IR_STORE:
        emit_store(emitter, stmt);
        break;
    case IR_LET:
    case IR_VARIABLE:
        emit_declaration(emitter, stmt);
        break;
    case IR_ASSIGN: {
        if (emitter->is_reordered && emit_hosted_accumulation(emitter, stmt))
            break;
        const char *value = emit_shallow(emitter, stmt->value).text;
        struct emit_symbol *entry = entry_of(emitter, stmt->symbol);
        entry->assignments++;
        emit_statement_line(emitter, stmt, arena_format(&emitter->arena, "%s = %s;", entry->name, value));
        break;
    }
    case IR_ALLOCATE:
        if (stmt->access.buffer->clear)
            emit_clear(emitter, stmt->access.buffer);
        break;
    case IR_BREAK:
        emit_statement_line(emitter, stmt, "break;");
        break;
    case IR_CONTINUE:
        emit_statement_line(emitter, stmt, "continue;");
        break;
    case IR_ASSERT:
        emit_assert(emitter, stmt);
        break;
    }
}

void emit_block(struct emitter *emitter, const struct ir_stmt *first)
{
    if (emitter->indent > EMIT_DEEPEST_BLOCK)
        emit_too_deep(emitter);
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next)
        emit_statement(emitter, stmt);
}

/* ---- the local variables above the body ------------------------------------------------------ */

/* "x_dim0_" or "x_stride0_", where the text so far has that word; else NULL. */
static const char *axis_local(struct emitter *emitter, int buffer, const char *kind, int axis)
{
    const char *name = arena_format(&emitter->arena, "%s_%s%d_", emitter->buffers[buffer], kind, axis);
    return emit_count_word(emitter, name) ? name : NULL;
}

static void declare_extents(struct emitter *emitter)
{
    const struct ir_kernel *kernel = emitter->kernel;
    emitter->in_shape = true;
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        for (int axis = 0; axis < buffer->rank; axis++) {
            const char *name = axis_local(emitter, k, "dim", axis);
            if (name)
                emit_line(emitter, "const long long %s = %s;", name,
                          emit_index(emitter, buffer->shape[axis]).text);
        }
    }
    emitter->in_shape = false;
}

static void declare_symbols(struct emitter *emitter)
{
    const struct ir_kernel *kernel = emitter->kernel;
    for (int k = 0; k < kernel->dims.count; k++) {
        const struct emit_symbol *entry = entry_of(emitter, kernel->dims.items[k]);
        if (emit_count_word(emitter, entry->name))
            emit_line(emitter, "const long long %s = frame->dims[%d];", entry->name,
                      kernel->dims.items[k]->number);
    }
    for (int k = 0; k < kernel->attributes.count; k++) {
        const struct ir_symbol *symbol = kernel->attributes.items[k];
        const struct emit_symbol *entry = entry_of(emitter, symbol);
        if (!emit_count_word(emitter, entry->name))
            continue;
        struct emit_value value = emit_name(arena_format(&emitter->arena, "frame->scalars[%d].%s", k,
                                                         dtype_is_float(symbol->dtype) ? "d" : "i"));
        value =
            emit_cast(emitter, symbol->dtype, dtype_is_float(symbol->dtype) ? AKG_FLOAT64 : AKG_INT64, value);
        emit_line(emitter, "const %s %s = %s;", emit_type(symbol->dtype), entry->name, value.text);
    }
}

static void declare_buffers(struct emitter *emitter, struct emit_function *function)
{
    const struct ir_kernel *kernel = emitter->kernel;
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        bool used = emit_count_word(emitter, emitter->buffers[k]) > 0;
        if (used && emitter->options->apart)
            emit_hosted_buffer(emitter, function, k);
        else if (used)
            emitter->dialect->buffer(emitter, k);
        for (int axis = 0; axis < buffer->rank; axis++) {
            const char *name = axis_local(emitter, k, "stride", axis);
            if (name)
                emit_line(emitter, "const long long %s = %s;", name,
                          emitter->dialect->stride(emitter, k, axis));
        }
    }
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Names what the body declares. */
static void name_block(struct emitter *emitter, const struct ir_stmt *first, int depth)
{
    if (depth > EMIT_DEEPEST_BLOCK)
        emit_too_deep(emitter);
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE)
            entry_of(emitter, stmt->symbol)->name = emit_identifier(emitter, stmt->symbol->name);
        name_block(emitter, stmt->body, depth + 1);
        name_block(emitter, stmt->otherwise, depth + 1);
    }
}

static void name_all(struct emitter *emitter)
{
    enum { DIM_BITS = 48 }; /* see emit_c_integer.c */
    const struct ir_kernel *kernel = emitter->kernel;
    emitter->buffers = arena_array(&emitter->arena, const char *, kernel->buffers.count);
    emitter->symbols = arena_array(&emitter->arena, struct emit_symbol, kernel->slot_count);
    for (int k = 0; k < kernel->buffers.count; k++)
        emitter->buffers[k] = emit_identifier(emitter, kernel->buffers.items[k]->name);
    for (int k = 0; k < kernel->dims.count; k++)
        *entry_of(emitter, kernel->dims.items[k]) =
            (struct emit_symbol){.name = emit_identifier(emitter, kernel->dims.items[k]->name),
                                 .bits = DIM_BITS,
                                 .nonnegative = true};
    for (int k = 0; k < kernel->attributes.count; k++) {
        const struct ir_symbol *symbol = kernel->attributes.items[k];
        bool real = dtype_is_float(symbol->dtype);
        *entry_of(emitter, symbol) = (struct emit_symbol){
            .name = emit_identifier(emitter, symbol->name),
            .bits = real                 ? 0
                    : symbol->known.bits ? symbol->known.bits
                                         : emit_dtype_bits(symbol->dtype),
            .nonnegative = !real && (!dtype_is_signed(symbol->dtype) || symbol->known.sign != IR_ANY_SIGN)};
    }
    name_block(emitter, kernel->body, 0);
}

/* ---- scalars that nobody reads ------------------------------------------------------------------ */

/* Decides the pending lines: a scalar that is read stands in the text more often than where it is declared
 * and assigned. Constant operands may have taken the reads of the source with them, so only the text tells.
 */
static const char *settle_pending(struct emitter *emitter, const char *body)
{
    emit_capture_begin(emitter);
    for (const char *line = body; line && *line;) {
        const char *end = strchr(line, '\n') + 1;
        const char *mark = line + strspn(line, " ");
        if (*mark != EMIT_PENDING) {
            text_append(emitter->out, line, (size_t)(end - line));
        } else {
            const struct emit_symbol *entry = &emitter->symbols[atoi(mark + 1)];
            if (emit_count_word(emitter, entry->name) == 1 + entry->assignments)
                text_format(emitter->out, "%.*s(void)%s;\n", (int)(mark - line), line, entry->name);
        }
        line = end;
    }
    return emit_capture_end(emitter);
}

/* ---- all ------------------------------------------------------------------------------------------ */

struct emit_function emit_function(struct emitter *emitter, const char *body)
{
    struct emit_function function = {.parameters = "", .arguments = ""};
    emit_note_words(emitter, body);
    function.body = settle_pending(emitter, body);

    emit_capture_begin(emitter);
    declare_extents(emitter);
    const char *extents = emit_capture_end(emitter);
    emit_note_words(emitter, extents);

    emit_capture_begin(emitter);
    declare_symbols(emitter);
    if (extents)
        text_string(emitter->out, extents);
    declare_buffers(emitter, &function);
    function.locals = emit_capture_end(emitter);
    emit_note_words(emitter, function.locals);
    return function;
}

const char *emit_definition(struct emitter *emitter, bool is_static, const char *name, const char *parameters,
                            const char *arguments, const struct emit_function *inside, const char *first)
{
    struct arena *arena = &emitter->arena;
    const char *locals = inside->locals ? inside->locals : "", *linkage = is_static ? "static " : "";
    const char *body =
        arena_format(arena, "%s%s%s%s    return 0;\n}\n", locals, first,
                     (*locals || *first) && inside->body ? "\n" : "", inside->body ? inside->body : "");
    if (!*inside->parameters)
        return arena_format(arena, "%sint %s(%s)\n{\n%s", linkage, name, parameters, body);
    return arena_format(arena,
                        "static __attribute__((noinline)) int inside_%s_(%s%s)\n{\n%s\n"
                        "%sint %s(%s)\n{\n    return inside_%s_(%s%s);\n}\n",
                        name, parameters, inside->parameters, body, linkage, name, parameters, name,
                        arguments, inside->arguments);
}

/* Calls with other extents go to the code for all. */
static void emit_shape(struct emitter *emitter, const struct exact_shape *shape)
{
    const char *others = "";
    for (int k = 0; k < shape->count; k++)
        if (shape->is_asked[k])
            others = arena_format(&emitter->arena, "%s%sframe->dims[%d] != %lldll", others,
                                  *others ? " || " : "", k, (long long)shape->extents[k]);
    emit_line(emitter, "if (%s)", others);
    emit_line(emitter, "    return frame->reach(frame, %d) != 0;", shape->otherwise);
}

static void emit_all(struct emitter *emitter, struct text *out)
{
    const struct ir_kernel *kernel = emitter->kernel;

    emit_capture_begin(emitter);
    if (emitter->options->shape)
        emit_shape(emitter, emitter->options->shape);
    for (int k = 0; k < kernel->buffers.count; k++)
        if (kernel->buffers.items[k]->role == IR_OUTPUT && kernel->buffers.items[k]->clear)
            emit_clear(emitter, kernel->buffers.items[k]);
    emit_block(emitter, kernel->body);
    struct emit_function inside = emit_function(emitter, emit_capture_end(emitter));

    for (int k = 0; k < emitter->parts.count; k++)
        emit_add_words(emitter, &emitter->parts.items[k].words);
    emit_prelude(emitter, out);
    for (int k = 0; k < emitter->parts.count; k++)
        text_string(out, emitter->parts.items[k].text);
    text_string(out, emit_definition(emitter, false, emitter->options->entry, "const struct akg_frame *frame",
                                     "frame", &inside, ""));
}

bool emit_run(struct emitter *emitter, struct text *out,
              void (*step)(struct emitter *emitter, struct text *out), struct text *complaint)
{
    struct emit_capture bottom;

    memset(&bottom, 0, sizeof bottom);
    emitter->out = out;
    emitter->captures = &bottom;
    arena_init(&emitter->arena, &emitter->escape);
    int escaped = setjmp(emitter->escape);
    if (escaped == 0) {
        name_all(emitter);
        step(emitter, out);
    } else if (escaped == EMIT_ESCAPE_MEMORY) {
        out->failed = true;
    } else {
        text_format(complaint, "the kernel is nested too deeply (more than %d operations or %d blocks)",
                    EMIT_DEEPEST_EXPRESSION, EMIT_DEEPEST_BLOCK);
    }
    captures_free(&bottom);
    arena_free(&emitter->arena);
    return escaped != EMIT_ESCAPE_NESTING;
}

/* ---- the dialect of libtcc ------------------------------------------------------------------------- */

static void c_buffer(struct emitter *emitter, int number)
{
    const struct ir_buffer *buffer = emitter->kernel->buffers.items[number];
    emit_line(emitter, "%s%s *%s = frame->data[%d];", buffer->role == IR_INPUT ? "const " : "",
              dtype_table[buffer->dtype].c_storage, emitter->buffers[number], number);
}

static const char *c_stride(struct emitter *emitter, int buffer, int axis)
{
    return arena_format(&emitter->arena, "frame->strides[%d][%d]", buffer, axis);
}

static const struct emit_dialect c_dialect = {.function = "",
                                              .trap = "frame->trap",
                                              .trap_members = "frame->trap->",
                                              .trap_call = "return ",
                                              .trap_call_end = ";",
                                              .buffer = c_buffer,
                                              .stride = c_stride,
                                              .function_of = emit_hosted_quotient};

bool emit_c(struct text *out, const struct ir_kernel *kernel, const struct emit_c_options *options,
            struct text *complaint)
{
    struct emitter emitter = {.dialect = &c_dialect, .kernel = kernel, .options = options};
    return emit_run(&emitter, out, emit_all, complaint);
}
