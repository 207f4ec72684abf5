/*
 * ir_print.c: the IR as text that ir_read.c takes back.
 *
 * Consumes any kernel that is structurally whole, verified or not. Sites, slots and
 * the spans of expressions are not printed. A line holds one item:
 *
 *   kernel matmul {
 *     attribute alpha: float64                     run-time scalar
 *     attribute radius: int64 from 1 below 16      likewise, 1 at least, less than 2^16 in magnitude
 *     input a: float32[M, K] strided @1:12-13      also inout, output, temporary; strided: strides
 *     input b: float32[K, N] strided by 1, 0       an order of its axes; by 1, 0 as [N, K]: made use of
 *     output c: float32[M, N] clear                come with the call; clear: zeroed first; unused: a
 *                                                  temporary that needs no memory any more
 *     parameters a, b = b_1, bias absent, alpha    in call order, with what they stand for
 *     results c                                    likewise
 *     require bounds (K <= M) when (N > 0) "text" access b axis 0 index (K - 1) extent K @4:12-6:3
 *     body {
 *       for i = 0 to M step 1 parallel { ... }
 *       for i = 0 to M step 1 reduces dot acc, argmax top at where { ... }
 *       while (...) { ... }
 *       if (...) { ... } else { ... }
 *       let x: float32 = ...
 *       var y: float32 = ...
 *       y = ...
 *       c[i?, (j + 1)!] = a[i, j]                  index tested when executed: ?, by preconditions: !
 *       allocate t
 *       assert (...) "text"
 *       break
 *       continue
 *     }
 *   }
 *
 * A new name in a shape is a dim, bound to the first axis of an input that is that name alone. `N = 1` there:
 * it is 1 in all calls that the kernel is for. Infix operations stand in parentheses, others are calls; casts
 * are calls of dtypes. `?` after an operator, or the last operand of a call: its divisor is tested for zero.
 * Constants that are no int64 carry their dtype: 0.5:float32. A name that is a word of the language or no
 * identifier stands in backquotes.
 * @line:column-line:column is a place in the source; an end on the same line is its column alone.
 */
#include "ir_private.h"

#include <inttypes.h>
#include <string.h>

/* Escapes what would end the literal or a line; other bytes stay, UTF-8 included. */
static void print_quoted(struct text *out, const char *string, char quote)
{
    text_char(out, quote);
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '\n')
            text_string(out, "\\n");
        else if (c == '\t')
            text_string(out, "\\t");
        else if (c == '\\' || c == (unsigned char)quote)
            text_format(out, "\\%c", c);
        else if (c < 32 || c == 127)
            text_format(out, "\\x%02x", c);
        else
            text_char(out, *string);
    }
    text_char(out, quote);
}

static void print_name(struct text *out, const char *name)
{
    if (ir_word_is_plain(name))
        text_string(out, name);
    else
        print_quoted(out, name, '`');
}

static void print_span(struct text *out, struct span span)
{
    if (!span.line && !span.column && !span.end_line && !span.end_column)
        return;
    text_format(out, " @%d:%d", span.line, span.column);
    if (span.end_line == span.line && span.end_column)
        text_format(out, "-%d", span.end_column);
    else if (span.end_line || span.end_column)
        text_format(out, "-%d:%d", span.end_line, span.end_column);
}

/* ---- expressions -------------------------------------------------------- */

static void print_list(struct text *out, struct ir_expr *const *exprs, int count)
{
    for (int k = 0; k < count; k++) {
        if (k)
            text_string(out, ", ");
        ir_print_expr(out, exprs[k]);
    }
}

static void print_access(struct text *out, const struct ir_access *access)
{
    print_name(out, access->buffer->name);
    text_char(out, '[');
    for (int k = 0; k < access->buffer->rank; k++) {
        if (k)
            text_string(out, ", ");
        ir_print_expr(out, access->indices[k]);
        if (access->checks[k] == IR_CHECK_ELEMENT)
            text_char(out, '?');
        else if (access->checks[k] == IR_CHECK_PRECONDITION)
            text_char(out, '!');
    }
    text_char(out, ']');
}

static void print_integer(struct text *out, akg_dtype dtype, int64_t value)
{
    if (dtype == AKG_BOOL)
        text_string(out, value ? "true" : "false");
    else if (dtype == AKG_UINT64)
        text_format(out, "%" PRIu64 ":uint64", (uint64_t)value);
    else
        text_format(out, "%" PRId64, value);
    if (dtype != AKG_BOOL && dtype != AKG_UINT64 && dtype != AKG_INT64)
        text_format(out, ":%s", akg_dtype_name(dtype));
}

static void print_operation(struct text *out, const struct ir_expr *expr)
{
    const char *name = operation_table[expr->operation].text;
    const char *mark = expr->checked ? "?" : "";

    if (ir_operation_is_infix(expr->operation)) {
        text_char(out, '(');
        ir_print_expr(out, expr->operands[0]);
        text_format(out, " %s%s ", name, mark);
        ir_print_expr(out, expr->operands[1]);
    } else {
        if (expr->operation == OP_CAST)
            name = akg_dtype_name(expr->dtype);
        text_format(out, "%s(", name);
        print_list(out, expr->operands, expr->count);
        text_string(out, mark);
    }
    text_char(out, ')');
}

void ir_print_expr(struct text *out, const struct ir_expr *expr)
{
    switch (expr->kind) {
    case IR_INTEGER:
        print_integer(out, expr->dtype, expr->integer);
        break;
    case IR_REAL:
        text_double(out, expr->real);
        text_format(out, ":%s", akg_dtype_name(expr->dtype));
        break;
    case IR_SYMBOL:
        print_name(out, expr->symbol->name);
        break;
    case IR_LOAD:
        print_access(out, &expr->access);
        break;
    case IR_OPERATION:
        print_operation(out, expr);
        break;
    }
}

/* ---- statements --------------------------------------------------------- */

static void print_block(struct text *out, const struct ir_stmt *stmt, int depth);

static void print_reduction(struct text *out, const struct ir_reduction *reduction, bool first)
{
    text_format(out, "%s %s ", first ? " reduces" : ",", ir_reduction_table[reduction->kind].text);
    print_name(out, reduction->symbol->name);
    if (reduction->place) {
        text_string(out, " at ");
        print_name(out, reduction->place->name);
    }
}

static void print_for(struct text *out, const struct ir_stmt *stmt)
{
    static const char *const hints[] = {"serial", "vectorize", "parallel", "reduce", "unroll"};

    text_string(out, "for ");
    print_name(out, stmt->symbol->name);
    text_string(out, " = ");
    ir_print_expr(out, stmt->low);
    text_string(out, " to ");
    ir_print_expr(out, stmt->high);
    text_format(out, " step %" PRId64, stmt->step);
    for (unsigned k = 0; k < sizeof hints / sizeof *hints; k++)
        if (stmt->hint & 1u << k)
            text_format(out, " %s", hints[k]);
    if (stmt->independent)
        text_string(out, " independent");
    if (stmt->in_turn)
        text_string(out, " in_turn");
    if (stmt->open)
        text_string(out, " open");
    for (int k = 0; k < stmt->reductions.count; k++)
        print_reduction(out, &stmt->reductions.items[k], k == 0);
}

static void print_declaration(struct text *out, const char *word, const struct ir_stmt *stmt)
{
    text_string(out, word);
    print_name(out, stmt->symbol->name);
    text_format(out, ": %s = ", akg_dtype_name(stmt->symbol->dtype));
    ir_print_expr(out, stmt->value);
}

/* The statement up to its first block. */
static void print_head(struct text *out, const struct ir_stmt *stmt)
{
    switch (stmt->kind) {
    case IR_FOR:
        print_for(out, stmt);
        break;
    case IR_WHILE:
    case IR_IF:
        text_string(out, stmt->kind == IR_IF ? "if " : "while ");
        ir_print_expr(out, stmt->value);
        if (stmt->deferred)
            text_string(out, " deferred");
        break;
    case IR_STORE:
        print_access(out, &stmt->access);
        text_string(out, " = ");
        ir_print_expr(out, stmt->value);
        break;
    case IR_LET:
        print_declaration(out, "let ", stmt);
        break;
    case IR_VARIABLE:
        print_declaration(out, "var ", stmt);
        break;
    case IR_ASSIGN:
        print_name(out, stmt->symbol->name);
        text_string(out, " = ");
        ir_print_expr(out, stmt->value);
        break;
    case IR_ALLOCATE:
        text_string(out, "allocate ");
        print_name(out, stmt->access.buffer->name);
        break;
    case IR_BREAK:
        text_string(out, "break");
        break;
    case IR_CONTINUE:
        text_string(out, "continue");
        break;
    case IR_ASSERT:
        text_string(out, "assert ");
        ir_print_expr(out, stmt->value);
        if (stmt->message) {
            text_char(out, ' ');
            print_quoted(out, stmt->message, '"');
        }
        break;
    }
    print_span(out, stmt->span);
}

/* Without a line end, after the indentation. A lone `if` in an `else` goes on the line of the else, so that
 * chains of them stay flat. */
static void print_stmt(struct text *out, const struct ir_stmt *stmt, int depth)
{
    print_head(out, stmt);
    if (stmt->kind != IR_FOR && stmt->kind != IR_WHILE && stmt->kind != IR_IF)
        return;
    print_block(out, stmt->body, depth);
    while (stmt->kind == IR_IF && stmt->otherwise) {
        text_string(out, " else");
        if (stmt->otherwise->kind != IR_IF || stmt->otherwise->next) {
            print_block(out, stmt->otherwise, depth);
            return;
        }
        stmt = stmt->otherwise;
        text_char(out, ' ');
        print_head(out, stmt);
        print_block(out, stmt->body, depth);
    }
}

static void print_block(struct text *out, const struct ir_stmt *stmt, int depth)
{
    text_string(out, " {\n");
    for (; stmt; stmt = stmt->next) {
        text_repeat(out, ' ', 2 * (depth + 1));
        print_stmt(out, stmt, depth + 1);
        text_char(out, '\n');
    }
    text_repeat(out, ' ', 2 * depth);
    text_char(out, '}');
}

/* ---- kernel ------------------------------------------------------------- */

/* Where a tensor that is not contiguous lies; once that was made use of, the extents that its indices have.
 */
static void print_order(struct text *out, const struct ir_buffer *buffer)
{
    for (int k = 0; k < buffer->rank && buffer->order; k++)
        text_format(out, "%s%d%s", k ? ", " : " by ", buffer->order[k] & ~IR_AXIS_REPEATED,
                    buffer->order[k] & IR_AXIS_REPEATED ? " repeated" : "");
    if (buffer->extents) {
        text_string(out, " as [");
        print_list(out, buffer->shape, buffer->rank);
        text_char(out, ']');
    }
}

/* `N = 3`: a dim that is 3 in all calls, where it belongs. */
static void print_extents(struct text *out, const struct ir_buffer *buffer)
{
    for (int k = 0; k < buffer->rank; k++) {
        const struct ir_expr *extent = ir_buffer_extents(buffer)[k];
        bool is_few = extent->kind == IR_SYMBOL && extent->symbol->few && extent->symbol->buffer == buffer &&
                      extent->symbol->axis == k;
        text_string(out, k ? ", " : "");
        ir_print_expr(out, extent);
        if (is_few)
            text_format(out, " = %d", extent->symbol->few);
    }
}

static void print_buffer(struct text *out, const struct ir_buffer *buffer)
{
    static const char *const roles[] = {
        [IR_INPUT] = "input", [IR_INOUT] = "inout", [IR_OUTPUT] = "output", [IR_TEMPORARY] = "temporary"};

    text_format(out, "  %s ", roles[buffer->role]);
    print_name(out, buffer->name);
    text_format(out, ": %s[", akg_dtype_name(buffer->dtype));
    print_extents(out, buffer);
    text_string(out, buffer->contiguous ? "]" : "] strided");
    print_order(out, buffer);
    if (buffer->clear)
        text_string(out, " clear");
    if (buffer->unused)
        text_string(out, " unused");
    print_span(out, buffer->span);
    text_char(out, '\n');
}

/* `name`, `name = what it stands for` where that is called otherwise, or `name absent`. */
static void print_binding(struct text *out, const char *name, const struct ir_buffer *buffer,
                          const struct ir_symbol *attribute)
{
    const char *bound = buffer ? buffer->name : attribute ? attribute->name : NULL;

    print_name(out, name);
    if (!bound) {
        text_string(out, " absent");
    } else if (strcmp(bound, name) != 0) {
        text_string(out, " = ");
        print_name(out, bound);
    }
}

static void print_interface(struct text *out, const struct ir_kernel *kernel)
{
    for (int k = 0; k < kernel->parameters.count; k++) {
        const struct ir_parameter *parameter = &kernel->parameters.items[k];
        text_string(out, k ? ", " : "  parameters ");
        print_binding(out, parameter->name, parameter->buffer, parameter->attribute);
    }
    if (kernel->parameters.count)
        text_char(out, '\n');
    for (int k = 0; k < kernel->results.count; k++) {
        const struct ir_result *result = &kernel->results.items[k];
        text_string(out, k ? ", " : "  results ");
        print_binding(out, result->name, result->buffer, NULL);
    }
    if (kernel->results.count)
        text_char(out, '\n');
}

static void print_labelled(struct text *out, const char *label, const struct ir_expr *expr)
{
    if (!expr)
        return;
    text_format(out, " %s ", label);
    ir_print_expr(out, expr);
}

static void print_precondition(struct text *out, const struct ir_precondition *precondition)
{
    static const char *const kinds[] = {[IR_PRECONDITION_SHAPE] = "shape",
                                        [IR_PRECONDITION_BOUNDS] = "bounds",
                                        [IR_PRECONDITION_ASSERT] = "assert"};

    text_format(out, "  require %s ", kinds[precondition->kind]);
    ir_print_expr(out, precondition->condition);
    print_labelled(out, "when", precondition->guard);
    if (precondition->message) {
        text_char(out, ' ');
        print_quoted(out, precondition->message, '"');
    }
    if (precondition->buffer) {
        text_string(out, " access ");
        print_name(out, precondition->buffer->name);
        text_format(out, " axis %d", precondition->axis);
    }
    print_labelled(out, "index", precondition->index);
    print_labelled(out, "extent", precondition->extent);
    print_span(out, precondition->span);
    text_char(out, '\n');
}

void ir_print(struct text *out, const struct ir_kernel *kernel)
{
    text_string(out, "kernel ");
    print_name(out, kernel->name);
    text_string(out, " {\n");
    for (int k = 0; k < kernel->attributes.count; k++) {
        const struct ir_symbol *attribute = kernel->attributes.items[k];
        text_string(out, "  attribute ");
        print_name(out, attribute->name);
        text_format(out, ": %s", akg_dtype_name(attribute->dtype));
        if (attribute->known.sign)
            text_format(out, " from %d", attribute->known.sign == IR_POSITIVE);
        if (attribute->known.bits)
            text_format(out, " below %d", attribute->known.bits);
        print_span(out, attribute->span);
        text_char(out, '\n');
    }
    for (int k = 0; k < kernel->buffers.count; k++)
        print_buffer(out, kernel->buffers.items[k]);
    print_interface(out, kernel);
    for (int k = 0; k < kernel->preconditions.count; k++)
        print_precondition(out, &kernel->preconditions.items[k]);
    text_string(out, "  body");
    print_block(out, kernel->body, 1);
    text_string(out, "\n}\n");
}
