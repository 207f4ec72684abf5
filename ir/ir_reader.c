/*
 * ir_reader.c: what reading every part of IR text needs: the current token, errors, names, small numbers.
 *
 * The first error ends the reading: from there on the current token is the end of the text, which no
 * rule accepts, so every loop of the rules stops by itself and nothing checks after each step.
 */
#include "ir_reader.h"

#include <limits.h>
#include <string.h>

#define DEPTH_LIMIT 1000

/* ---- errors ------------------------------------------------------------- */

static void stop(struct ir_reader *reader)
{
    reader->failed = true;
    reader->token = (struct ir_token){.kind = IR_TOKEN_END, .start = "", .span = reader->token.span};
}

void ir_reader_expected(struct ir_reader *reader, const char *what)
{
    const struct ir_token *token = &reader->token;

    if (reader->failed)
        return;
    const char *found = token->kind == IR_TOKEN_END
                            ? "the end of the text"
                            : arena_format(reader->arena, "'%.*s'",
                                           token->length > 40 ? 40 : (int)token->length, token->start);
    diagnostic_add(reader->diagnostics, MSG_IR_SYNTAX, token->span, what, found);
    stop(reader);
}

void ir_reader_wrong_name(struct ir_reader *reader, const struct ir_token *token, const char *name,
                          const char *what)
{
    if (!reader->failed)
        diagnostic_add(reader->diagnostics, MSG_IR_NAME, token->span, name, what);
    stop(reader);
}

bool ir_reader_enter(struct ir_reader *reader)
{
    if (reader->depth == DEPTH_LIMIT) {
        if (!reader->failed)
            diagnostic_add(reader->diagnostics, MSG_NESTING, reader->token.span, "1000");
        stop(reader);
        return false;
    }
    reader->depth++;
    return true;
}

void ir_reader_leave(struct ir_reader *reader)
{
    reader->depth--;
}

/* ---- tokens ------------------------------------------------------------- */

void ir_reader_next(struct ir_reader *reader)
{
    if (!reader->failed)
        reader->token = ir_lexer_next(&reader->lexer);
}

bool ir_reader_at(const struct ir_reader *reader, const char *text)
{
    const struct ir_token *token = &reader->token;

    return (token->kind == IR_TOKEN_SIGN || token->kind == IR_TOKEN_WORD ||
            (token->kind == IR_TOKEN_NAME && !token->quoted)) &&
           token->length == strlen(text) && memcmp(token->start, text, token->length) == 0;
}

bool ir_reader_accept(struct ir_reader *reader, const char *text)
{
    if (!ir_reader_at(reader, text))
        return false;
    ir_reader_next(reader);
    return true;
}

void ir_reader_expect(struct ir_reader *reader, const char *text)
{
    if (!ir_reader_accept(reader, text))
        ir_reader_expected(reader, arena_format(reader->arena, "'%s'", text));
}

int ir_reader_choice(struct ir_reader *reader, const char *const *words, int count, const char *what)
{
    for (int k = 0; k < count; k++)
        if (ir_reader_accept(reader, words[k]))
            return k;
    ir_reader_expected(reader, what);
    return -1;
}

const char *ir_reader_quoted(struct ir_reader *reader)
{
    const char *string = ir_token_unquote(reader->arena, &reader->token);

    if (!string) {
        ir_reader_expected(reader, "an escape that is known");
        return "";
    }
    ir_reader_next(reader);
    return string;
}

const char *ir_reader_name(struct ir_reader *reader)
{
    const struct ir_token *token = &reader->token;

    if (token->kind != IR_TOKEN_NAME) {
        ir_reader_expected(reader, "a name");
        return "";
    }
    if (token->quoted)
        return ir_reader_quoted(reader);
    const char *name = arena_copy(reader->arena, token->start, token->length);
    ir_reader_next(reader);
    return name;
}

const char *ir_reader_new_name(struct ir_reader *reader)
{
    struct ir_token token = reader->token;
    const char *name = ir_reader_name(reader);

    if (!reader->failed && ir_names_find(reader->kernel->names, name))
        ir_reader_wrong_name(reader, &token, name, "is declared twice");
    return name;
}

struct ir_name *ir_reader_find(struct ir_reader *reader, const struct ir_token *token, const char *name)
{
    struct ir_name *entry = reader->failed ? NULL : ir_names_find(reader->kernel->names, name);

    if (!entry)
        ir_reader_wrong_name(reader, token, name, "is not declared");
    return entry;
}

struct ir_symbol *ir_reader_symbol(struct ir_reader *reader)
{
    struct ir_token token = reader->token;
    struct ir_name *entry = ir_reader_find(reader, &token, ir_reader_name(reader));

    if (entry && !entry->symbol)
        ir_reader_wrong_name(reader, &token, entry->name, "is a buffer");
    return entry ? entry->symbol : NULL;
}

struct ir_buffer *ir_reader_buffer(struct ir_reader *reader)
{
    struct ir_token token = reader->token;
    struct ir_name *entry = ir_reader_find(reader, &token, ir_reader_name(reader));

    if (entry && !entry->buffer)
        ir_reader_wrong_name(reader, &token, entry->name, "is no buffer");
    return entry ? entry->buffer : NULL;
}

bool ir_reader_dtype_at(const struct ir_reader *reader, akg_dtype *dtype)
{
    for (int k = 0; k < AKG_DTYPE_COUNT; k++)
        if (ir_reader_at(reader, dtype_table[k].name)) {
            *dtype = (akg_dtype)k;
            return true;
        }
    return false;
}

akg_dtype ir_reader_dtype(struct ir_reader *reader)
{
    akg_dtype dtype = AKG_BOOL;

    if (ir_reader_dtype_at(reader, &dtype))
        ir_reader_next(reader);
    else
        ir_reader_expected(reader, "a dtype");
    return dtype;
}

/* ---- numbers ------------------------------------------------------------ */

uint64_t ir_reader_digits(struct ir_reader *reader, uint64_t limit)
{
    const struct ir_token *token = &reader->token;
    uint64_t value = 0;

    if (token->kind != IR_TOKEN_INTEGER) {
        ir_reader_expected(reader, "an integer");
        return 0;
    }
    for (size_t k = 0; k < token->length; k++) {
        unsigned digit = (unsigned)(token->start[k] - '0');
        if (value > (limit - digit) / 10) {
            ir_reader_expected(reader, "an integer within range");
            return 0;
        }
        value = value * 10 + digit;
    }
    ir_reader_next(reader);
    return value;
}

int ir_reader_small(struct ir_reader *reader)
{
    return (int)ir_reader_digits(reader, INT_MAX);
}

int64_t ir_reader_signed(struct ir_reader *reader)
{
    bool negative = ir_reader_accept(reader, "-");
    uint64_t value = ir_reader_digits(reader, negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX);

    return (int64_t)(negative ? 0 - value : value);
}

struct span ir_reader_span(struct ir_reader *reader)
{
    struct span span = {0};

    if (!ir_reader_accept(reader, "@"))
        return span;
    span.line = ir_reader_small(reader);
    ir_reader_expect(reader, ":");
    span.column = ir_reader_small(reader);
    if (ir_reader_accept(reader, "-")) {
        span.end_line = span.line;
        span.end_column = ir_reader_small(reader);
        if (ir_reader_accept(reader, ":")) {
            span.end_line = span.end_column;
            span.end_column = ir_reader_small(reader);
        }
    }
    return span;
}
