/*
 * ir_read.c: the text form of the IR (described in ir_print.c) back into a kernel.
 *
 * Takes any bytes. A kernel that comes out is structurally whole (ranks, arities, names resolve) but not
 * verified: dtypes and scopes are ir_verify's.
 */
#include "ir_reader.h"

/* ---- statements --------------------------------------------------------- */

static struct ir_stmt *read_block(struct ir_reader *reader);

static struct ir_stmt *new_stmt(struct ir_reader *reader, enum ir_stmt_kind kind)
{
    return ir_stmt_new(reader->kernel, kind, (struct span){0});
}

/* The symbol of a loop or declaration; it takes the statement's span, which is read already. */
static struct ir_symbol *new_symbol(struct ir_reader *reader, enum ir_symbol_kind kind, const char *name,
                                    akg_dtype dtype, struct span span)
{
    struct ir_symbol *symbol = ir_symbol_new(reader->kernel, kind, name, dtype);

    symbol->span = span;
    return symbol;
}

/* sum x, argmax y at z */
static void read_reductions(struct ir_reader *reader, struct ir_stmt *stmt)
{
    static const char *const kinds[] = {
#define X(id, text, operation) text,
        IR_REDUCTION_TABLE(X)
#undef X
    };

    do {
        int kind = ir_reader_choice(reader, kinds, IR_REDUCTION_COUNT, "what the loop accumulates");
        struct ir_reduction reduction = {.kind = kind < 0 ? 0 : (enum ir_reduction_kind)kind};
        reduction.symbol = ir_reader_symbol(reader);
        if (ir_reader_accept(reader, "at"))
            reduction.place = ir_reader_symbol(reader);
        if (!reader->failed)
            list_push(reader->arena, &stmt->reductions, reduction);
    } while (ir_reader_accept(reader, ","));
}

static struct ir_stmt *read_for(struct ir_reader *reader)
{
    static const char *const hints[] = {"serial", "vectorize", "parallel", "reduce", "unroll"};
    struct ir_stmt *stmt = new_stmt(reader, IR_FOR);
    const char *name = ir_reader_new_name(reader);

    ir_reader_expect(reader, "=");
    stmt->low = ir_read_expr(reader);
    ir_reader_expect(reader, "to");
    stmt->high = ir_read_expr(reader);
    ir_reader_expect(reader, "step");
    stmt->step = ir_reader_signed(reader);
    while (!reader->failed && !ir_reader_at(reader, "@") && !ir_reader_at(reader, "{")) {
        if (ir_reader_accept(reader, "reduces")) {
            read_reductions(reader, stmt);
            break;
        }
        if (ir_reader_accept(reader, "independent")) {
            stmt->independent = true;
            continue;
        }
        if (ir_reader_accept(reader, "in_turn")) {
            stmt->in_turn = true;
            continue;
        }
        if (ir_reader_accept(reader, "open")) {
            stmt->open = true;
            continue;
        }
        int hint = ir_reader_choice(reader, hints, 5, "a hint");
        if (hint >= 0)
            stmt->hint |= 1u << hint;
    }
    stmt->span = ir_reader_span(reader);
    if (!reader->failed)
        stmt->symbol = new_symbol(reader, IR_SYMBOL_LOOP, name, AKG_INT64, stmt->span);
    stmt->body = read_block(reader);
    return stmt;
}

static struct ir_stmt *read_while(struct ir_reader *reader)
{
    struct ir_stmt *stmt = new_stmt(reader, IR_WHILE);

    stmt->value = ir_read_expr(reader);
    stmt->span = ir_reader_span(reader);
    stmt->body = read_block(reader);
    return stmt;
}

/* With its chain of `else if`, which is read flat, as it is printed. */
static struct ir_stmt *read_if(struct ir_reader *reader)
{
    struct ir_stmt *first = NULL, **place = &first;

    for (;;) {
        struct ir_stmt *stmt = *place = new_stmt(reader, IR_IF);
        stmt->value = ir_read_expr(reader);
        stmt->deferred = ir_reader_accept(reader, "deferred");
        stmt->span = ir_reader_span(reader);
        stmt->body = read_block(reader);
        if (!ir_reader_accept(reader, "else"))
            return first;
        place = &stmt->otherwise;
        if (!ir_reader_accept(reader, "if"))
            break;
    }
    *place = read_block(reader);
    return first;
}

static struct ir_stmt *read_declaration(struct ir_reader *reader, bool is_let)
{
    struct ir_stmt *stmt = new_stmt(reader, is_let ? IR_LET : IR_VARIABLE);
    const char *name = ir_reader_new_name(reader);

    ir_reader_expect(reader, ":");
    akg_dtype dtype = ir_reader_dtype(reader);
    ir_reader_expect(reader, "=");
    stmt->value = ir_read_expr(reader);
    stmt->span = ir_reader_span(reader);
    if (!reader->failed)
        stmt->symbol =
            new_symbol(reader, is_let ? IR_SYMBOL_LET : IR_SYMBOL_VARIABLE, name, dtype, stmt->span);
    if (is_let && stmt->symbol)
        stmt->symbol->value = stmt->value;
    return stmt;
}

static struct ir_stmt *read_allocate(struct ir_reader *reader)
{
    struct ir_stmt *stmt = new_stmt(reader, IR_ALLOCATE);

    stmt->access.buffer = ir_reader_buffer(reader);
    stmt->span = ir_reader_span(reader);
    return stmt;
}

static struct ir_stmt *read_assert(struct ir_reader *reader)
{
    struct ir_stmt *stmt = new_stmt(reader, IR_ASSERT);

    stmt->value = ir_read_expr(reader);
    if (reader->token.kind == IR_TOKEN_STRING)
        stmt->message = ir_reader_quoted(reader);
    stmt->span = ir_reader_span(reader);
    return stmt;
}

static struct ir_stmt *read_jump(struct ir_reader *reader, enum ir_stmt_kind kind)
{
    struct ir_stmt *stmt = new_stmt(reader, kind);

    stmt->span = ir_reader_span(reader);
    return stmt;
}

/* name = value or name[indices] = value */
static struct ir_stmt *read_assignment(struct ir_reader *reader)
{
    struct ir_token token = reader->token;
    struct ir_name *entry = ir_reader_find(reader, &token, ir_reader_name(reader));
    struct ir_stmt *stmt;

    if (!entry)
        return NULL;
    if (ir_reader_at(reader, "[") && entry->buffer) {
        stmt = new_stmt(reader, IR_STORE);
        stmt->access = ir_read_access(reader, entry->buffer);
    } else if (entry->symbol) {
        stmt = new_stmt(reader, IR_ASSIGN);
        stmt->symbol = entry->symbol;
    } else {
        ir_reader_wrong_name(reader, &token, entry->name, "is a buffer");
        return NULL;
    }
    ir_reader_expect(reader, "=");
    stmt->value = ir_read_expr(reader);
    stmt->span = ir_reader_span(reader);
    return stmt;
}

static struct ir_stmt *read_stmt(struct ir_reader *reader)
{
    if (ir_reader_accept(reader, "for"))
        return read_for(reader);
    if (ir_reader_accept(reader, "while"))
        return read_while(reader);
    if (ir_reader_accept(reader, "if"))
        return read_if(reader);
    if (ir_reader_accept(reader, "let"))
        return read_declaration(reader, true);
    if (ir_reader_accept(reader, "var"))
        return read_declaration(reader, false);
    if (ir_reader_accept(reader, "allocate"))
        return read_allocate(reader);
    if (ir_reader_accept(reader, "break"))
        return read_jump(reader, IR_BREAK);
    if (ir_reader_accept(reader, "continue"))
        return read_jump(reader, IR_CONTINUE);
    if (ir_reader_accept(reader, "assert"))
        return read_assert(reader);
    return read_assignment(reader);
}

static struct ir_stmt *read_block(struct ir_reader *reader)
{
    struct ir_stmt *first = NULL, **end = &first;

    ir_reader_expect(reader, "{");
    if (!ir_reader_enter(reader))
        return NULL;
    while (!reader->failed && !ir_reader_at(reader, "}")) {
        struct ir_stmt *stmt = read_stmt(reader);
        if (!stmt)
            break;
        *end = stmt;
        end = &stmt->next;
    }
    ir_reader_leave(reader);
    ir_reader_expect(reader, "}");
    return first;
}

/* ---- kernel ------------------------------------------------------------- */

/* A dim belongs to the first axis that is that dim and nothing else. */
static void bind_dim(struct ir_buffer *buffer, int axis)
{
    const struct ir_expr *extent = ir_buffer_extents(buffer)[axis];

    if (buffer->role != IR_INPUT && buffer->role != IR_INOUT)
        return;
    if (extent && extent->kind == IR_SYMBOL && extent->symbol->kind == IR_SYMBOL_DIM &&
        !extent->symbol->buffer) {
        extent->symbol->buffer = buffer;
        extent->symbol->axis = axis;
        extent->symbol->span = buffer->span;
    }
}

/* "= 3" behind a dim: it is that in all calls. */
static void read_few(struct ir_reader *reader, const struct ir_expr *extent)
{
    bool is_dim = extent && extent->kind == IR_SYMBOL && extent->symbol->kind == IR_SYMBOL_DIM;
    if (reader->failed || !ir_reader_accept(reader, "="))
        return;
    int64_t few = ir_reader_small(reader);
    if ((!is_dim || few < 1) && !reader->failed)
        ir_reader_expected(reader, "a dim and its number");
    else if (is_dim)
        extent->symbol->few = (int)few;
}

/* "[M, K = 1]"; returns how many there are. */
static int read_extents(struct ir_reader *reader, struct ir_expr **shape)
{
    int rank = 0;

    ir_reader_expect(reader, "[");
    while (!reader->failed && !ir_reader_at(reader, "]") && rank < AKG_MAX_RANK) {
        if (rank)
            ir_reader_expect(reader, ",");
        shape[rank] = ir_read_expr(reader);
        read_few(reader, shape[rank++]);
    }
    ir_reader_expect(reader, "]");
    return rank;
}

/* "1 repeated, 0": each axis once. */
static void read_order(struct ir_reader *reader, struct ir_buffer *buffer)
{
    unsigned char *order = arena_array(reader->arena, unsigned char, buffer->rank + 1);
    unsigned met = 0;

    for (int k = 0; k < buffer->rank; k++) {
        if (k)
            ir_reader_expect(reader, ",");
        int axis = ir_reader_small(reader);
        if (!reader->failed && (axis >= buffer->rank || met >> axis & 1))
            ir_reader_expected(reader, "an order of the axes");
        if (reader->failed)
            return;
        met |= 1u << axis;
        order[k] = (unsigned char)(axis | (ir_reader_accept(reader, "repeated") ? IR_AXIS_REPEATED : 0));
    }
    buffer->order = order;
}

/* What follows `as`: the extents that indices have, of the rank that there is. */
static void read_shape_of_indices(struct ir_reader *reader, struct ir_buffer *buffer)
{
    struct ir_expr *shape[AKG_MAX_RANK];

    if (read_extents(reader, shape) != buffer->rank && !reader->failed)
        ir_reader_expected(reader, "as many extents");
    if (reader->failed)
        return;
    buffer->extents = buffer->shape;
    buffer->shape = arena_array(reader->arena, struct ir_expr *, buffer->rank + 1);
    for (int k = 0; k < buffer->rank; k++)
        buffer->shape[k] = shape[k];
}

static void read_buffer(struct ir_reader *reader, enum ir_role role)
{
    const char *name = ir_reader_new_name(reader);
    struct ir_expr *shape[AKG_MAX_RANK];
    int rank;

    ir_reader_expect(reader, ":");
    akg_dtype dtype = ir_reader_dtype(reader);
    reader->declares_dims = true;
    rank = read_extents(reader, shape);
    reader->declares_dims = false;
    if (reader->failed)
        return;
    if (ir_names_find(reader->kernel->names, name)) {
        ir_reader_wrong_name(reader, &reader->token, name, "is a dim in its own shape");
        return;
    }
    struct ir_buffer *buffer = ir_buffer_new(reader->kernel, name, role, dtype, rank);
    for (int k = 0; k < rank; k++) {
        buffer->shape[k] = shape[k];
        bind_dim(buffer, k);
    }
    buffer->contiguous = !ir_reader_accept(reader, "strided");
    if (ir_reader_accept(reader, "by"))
        read_order(reader, buffer);
    if (ir_reader_accept(reader, "as"))
        read_shape_of_indices(reader, buffer);
    buffer->clear = ir_reader_accept(reader, "clear");
    buffer->unused = ir_reader_accept(reader, "unused");
    buffer->span = ir_reader_span(reader);
}

static void read_attribute(struct ir_reader *reader)
{
    const char *name = ir_reader_new_name(reader);

    ir_reader_expect(reader, ":");
    akg_dtype dtype = ir_reader_dtype(reader);
    struct ir_known known = {0, IR_ANY_SIGN};
    if (ir_reader_accept(reader, "from"))
        known.sign = ir_reader_digits(reader, 1) ? IR_POSITIVE : IR_NATURAL;
    if (ir_reader_accept(reader, "below"))
        known.bits = (unsigned char)ir_reader_digits(reader, IR_NEAR_BITS);
    struct span span = ir_reader_span(reader);
    if (!reader->failed)
        new_symbol(reader, IR_SYMBOL_ATTRIBUTE, name, dtype, span)->known = known;
}

/* The rest of `name` or `name = other`: what that stands for. */
static struct ir_name *read_bound(struct ir_reader *reader, struct ir_token token, const char *name)
{
    if (ir_reader_accept(reader, "=")) {
        token = reader->token;
        name = ir_reader_name(reader);
    }
    return ir_reader_find(reader, &token, name);
}

static void read_parameters(struct ir_reader *reader)
{
    do {
        struct ir_token token = reader->token;
        struct ir_parameter parameter = {.name = ir_reader_name(reader)};
        if (!ir_reader_accept(reader, "absent")) {
            struct ir_name *entry = read_bound(reader, token, parameter.name);
            if (!entry)
                return;
            parameter.buffer = entry->buffer;
            parameter.attribute = entry->symbol;
        }
        list_push(reader->arena, &reader->kernel->parameters, parameter);
    } while (ir_reader_accept(reader, ","));
}

static void read_results(struct ir_reader *reader)
{
    do {
        struct ir_token token = reader->token;
        struct ir_result result = {.name = ir_reader_name(reader), .item = reader->kernel->results.count};
        struct ir_name *entry = read_bound(reader, token, result.name);
        if (!entry)
            return;
        if (!entry->buffer) {
            ir_reader_wrong_name(reader, &token, entry->name, "is no buffer");
            return;
        }
        result.buffer = entry->buffer;
        list_push(reader->arena, &reader->kernel->results, result);
    } while (ir_reader_accept(reader, ","));
}

static void read_precondition(struct ir_reader *reader)
{
    static const char *const kinds[] = {"shape", "bounds", "assert"};
    struct ir_precondition precondition = {0};
    int kind = ir_reader_choice(reader, kinds, 3, "shape, bounds or assert");

    precondition.kind = kind < 0 ? 0 : (enum ir_precondition_kind)kind;
    precondition.condition = ir_read_expr(reader);
    if (ir_reader_accept(reader, "when"))
        precondition.guard = ir_read_expr(reader);
    if (reader->token.kind == IR_TOKEN_STRING)
        precondition.message = ir_reader_quoted(reader);
    if (ir_reader_accept(reader, "access")) {
        precondition.buffer = ir_reader_buffer(reader);
        ir_reader_expect(reader, "axis");
        precondition.axis = ir_reader_small(reader);
    }
    if (ir_reader_accept(reader, "index"))
        precondition.index = ir_read_expr(reader);
    if (ir_reader_accept(reader, "extent"))
        precondition.extent = ir_read_expr(reader);
    precondition.span = ir_reader_span(reader);
    list_push(reader->arena, &reader->kernel->preconditions, precondition);
}

static void read_header(struct ir_reader *reader)
{
    static const char *const words[] = {"input",      "inout",   "output",  "temporary", "attribute",
                                        "parameters", "results", "require", "body"};

    for (;;) {
        int word = ir_reader_choice(reader, words, 9, "a declaration or 'body'");
        if (word < 0 || word == 8)
            return;
        if (word < 4)
            read_buffer(reader, (enum ir_role)word);
        else if (word == 4)
            read_attribute(reader);
        else if (word == 5)
            read_parameters(reader);
        else if (word == 6)
            read_results(reader);
        else
            read_precondition(reader);
    }
}

struct ir_kernel *ir_read(struct arena *arena, const char *text, size_t length, akg_diagnostics *diagnostics)
{
    struct ir_reader reader = {.arena = arena, .diagnostics = diagnostics};

    ir_lexer_init(&reader.lexer, text, length);
    ir_reader_next(&reader);
    ir_reader_expect(&reader, "kernel");
    reader.kernel = ir_kernel_new(arena, ir_reader_name(&reader));
    ir_reader_expect(&reader, "{");
    read_header(&reader);
    for (int k = 0; k < reader.kernel->dims.count && !reader.failed; k++)
        if (!reader.kernel->dims.items[k]->buffer)
            ir_reader_wrong_name(&reader, &reader.token, reader.kernel->dims.items[k]->name,
                                 "is no axis of an input");
    reader.kernel->body = read_block(&reader);
    ir_reader_expect(&reader, "}");
    if (!reader.failed && reader.token.kind != IR_TOKEN_END)
        ir_reader_expected(&reader, "the end of the text");
    return reader.failed ? NULL : reader.kernel;
}
