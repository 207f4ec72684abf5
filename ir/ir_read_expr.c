/*
 * ir_read_expr.c: reads the expressions of IR text (described in ir_print.c).
 *
 * Produces whole trees, NULL after an error; dtypes follow the rules of the operations but are not checked.
 */
#include "ir_reader.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------ */

static struct ir_expr *read_real(struct ir_reader *reader, bool negative)
{
    double value = 0;

    if (reader->token.kind == IR_TOKEN_REAL)
        value = arena_parse_real(reader->arena, reader->token.start, reader->token.length);
    else
        value = ir_reader_at(reader, "inf") ? __builtin_inf() : __builtin_nan("");
    ir_reader_next(reader);
    ir_reader_expect(reader, ":");
    if (!reader->failed) {
        akg_dtype dtype = AKG_FLOAT64;
        if (ir_reader_dtype_at(reader, &dtype) && dtype_is_float(dtype)) {
            ir_reader_next(reader);
            return ir_real(reader->kernel, dtype, negative ? -value : value);
        }
        ir_reader_expected(reader, "a floating dtype");
    }
    return NULL;
}

/* The dtype decides what fits, so the digits are looked at after it. */
static struct ir_expr *read_integer(struct ir_reader *reader, bool negative)
{
    struct ir_token token = reader->token;
    uint64_t value = ir_reader_digits(reader, UINT64_MAX);
    akg_dtype dtype = ir_reader_accept(reader, ":") ? ir_reader_dtype(reader) : AKG_INT64;
    int64_t bits = (int64_t)(negative ? 0 - value : value);

    if (reader->failed)
        return NULL;
    bool fits = dtype_is_integer(dtype) && dtype_wrap(dtype, bits) == bits;
    if (dtype == AKG_UINT64 ? negative && value : value && negative != (bits < 0))
        fits = false;
    if (!fits) {
        reader->token = token;
        ir_reader_expected(reader, "an integer within its dtype");
        return NULL;
    }
    return ir_integer(reader->kernel, dtype, bits);
}

static struct ir_expr *read_number(struct ir_reader *reader)
{
    bool negative = ir_reader_accept(reader, "-");

    if (reader->token.kind == IR_TOKEN_INTEGER)
        return read_integer(reader, negative);
    if (reader->token.kind == IR_TOKEN_REAL || ir_reader_at(reader, "inf") || ir_reader_at(reader, "nan"))
        return read_real(reader, negative);
    ir_reader_expected(reader, "a number");
    return NULL;
}

/* ---- expressions -------------------------------------------------------- */

static struct ir_expr *operation_of(struct ir_reader *reader, enum operation operation, bool checked,
                                    struct ir_expr *const *operands)
{
    akg_dtype dtypes[3] = {AKG_BOOL, AKG_BOOL, AKG_BOOL};

    for (int k = 0; k < operation_table[operation].arity; k++)
        dtypes[k] = operands[k]->dtype;
    struct ir_expr *expr =
        ir_operation_node(reader->kernel, operation, ir_result_dtype(operation, dtypes), operands);
    expr->checked = checked;
    return expr;
}

/* The operation whose text is the token, or OPERATION_COUNT. */
static enum operation operation_at(const struct ir_reader *reader)
{
    for (int k = 0; k < OPERATION_COUNT; k++)
        if (k != OP_CAST && ir_reader_at(reader, operation_table[k].text))
            return (enum operation)k;
    return OPERATION_COUNT;
}

/* (a + b) */
static struct ir_expr *read_infix(struct ir_reader *reader)
{
    struct ir_expr *operands[2];
    enum operation operation;
    bool checked;

    ir_reader_expect(reader, "(");
    operands[0] = ir_read_expr(reader);
    operation = operation_at(reader);
    if (operation == OPERATION_COUNT || !ir_operation_is_infix(operation)) {
        ir_reader_expected(reader, "an infix operation");
        return NULL;
    }
    ir_reader_next(reader);
    checked = ir_reader_accept(reader, "?");
    operands[1] = ir_read_expr(reader);
    ir_reader_expect(reader, ")");
    return reader->failed ? NULL : operation_of(reader, operation, checked, operands);
}

/* max(a, b), ceil_div(a, b?), float32(x), ~(x): whatever stands before a parenthesis */
static struct ir_expr *read_call(struct ir_reader *reader)
{
    akg_dtype dtype = AKG_DTYPE_COUNT;
    enum operation operation = operation_at(reader);
    struct ir_expr *operands[3];
    bool checked;

    if (ir_reader_dtype_at(reader, &dtype))
        operation = OP_CAST;
    if (operation == OPERATION_COUNT) {
        ir_reader_expected(reader, "an operation");
        return NULL;
    }
    ir_reader_next(reader);
    ir_reader_expect(reader, "(");
    for (int k = 0; k < operation_table[operation].arity; k++) {
        if (k)
            ir_reader_expect(reader, ",");
        operands[k] = ir_read_expr(reader);
    }
    checked = operation != OP_CAST && ir_reader_accept(reader, "?");
    ir_reader_expect(reader, ")");
    if (reader->failed)
        return NULL;
    if (operation != OP_CAST)
        return operation_of(reader, operation, checked, operands);
    return ir_operation_node(reader->kernel, OP_CAST, dtype, operands);
}

static enum ir_check read_check(struct ir_reader *reader)
{
    if (ir_reader_accept(reader, "?"))
        return IR_CHECK_ELEMENT;
    return ir_reader_accept(reader, "!") ? IR_CHECK_PRECONDITION : IR_CHECK_PROVED;
}

struct ir_access ir_read_access(struct ir_reader *reader, struct ir_buffer *buffer)
{
    struct ir_access access = {.buffer = buffer};

    access.indices = arena_array(reader->arena, struct ir_expr *, buffer->rank);
    access.checks = arena_array(reader->arena, enum ir_check, buffer->rank);
    ir_reader_expect(reader, "[");
    for (int k = 0; k < buffer->rank && !reader->failed; k++) {
        if (k)
            ir_reader_expect(reader, ",");
        access.indices[k] = ir_read_expr(reader);
        access.checks[k] = read_check(reader);
    }
    ir_reader_expect(reader, "]");
    return access;
}

/* The symbol of that name, or in a shape a new dim, to be bound by an axis later. */
static struct ir_symbol *read_symbol_or_dim(struct ir_reader *reader)
{
    if (!reader->declares_dims)
        return ir_reader_symbol(reader);

    struct ir_token token = reader->token;
    const char *name = ir_reader_name(reader);
    if (reader->failed)
        return NULL;
    struct ir_name *entry = ir_names_find(reader->kernel->names, name);
    if (!entry)
        return ir_symbol_new(reader->kernel, IR_SYMBOL_DIM, name, AKG_INT64);
    if (!entry->symbol)
        ir_reader_wrong_name(reader, &token, name, "is a buffer");
    return entry->symbol;
}

/* The sign after the token; 0 when something else follows. */
static int follower(const struct ir_reader *reader)
{
    struct ir_lexer ahead = reader->lexer;
    struct ir_token token = ir_lexer_next(&ahead);

    return token.kind == IR_TOKEN_SIGN ? *token.start : 0;
}

static struct ir_expr *read_load(struct ir_reader *reader)
{
    struct ir_buffer *buffer = ir_reader_buffer(reader);

    if (!buffer)
        return NULL;
    struct ir_access access = ir_read_access(reader, buffer);
    if (reader->failed)
        return NULL;
    struct ir_expr *load = ir_load(reader->kernel, buffer, access.indices);
    load->access.checks = access.checks;
    return load;
}

/* A name: before ( an operation or dtype, before [ a buffer, else a symbol. */
static struct ir_expr *read_named(struct ir_reader *reader)
{
    int sign = follower(reader);

    if (sign == '(')
        return read_call(reader);
    if (sign == '[')
        return read_load(reader);
    struct ir_symbol *symbol = read_symbol_or_dim(reader);
    return symbol ? ir_symbol_use(reader->kernel, symbol) : NULL;
}

struct ir_expr *ir_read_expr(struct ir_reader *reader)
{
    struct ir_expr *expr = NULL;

    if (!ir_reader_enter(reader))
        return NULL;
    if (ir_reader_at(reader, "("))
        expr = read_infix(reader);
    else if (ir_reader_accept(reader, "true"))
        expr = ir_integer(reader->kernel, AKG_BOOL, 1);
    else if (ir_reader_accept(reader, "false"))
        expr = ir_integer(reader->kernel, AKG_BOOL, 0);
    else if (ir_reader_at(reader, "-") || ir_reader_at(reader, "inf") || ir_reader_at(reader, "nan") ||
             reader->token.kind == IR_TOKEN_INTEGER || reader->token.kind == IR_TOKEN_REAL)
        expr = read_number(reader);
    else if (ir_reader_at(reader, "not") || ir_reader_at(reader, "~"))
        expr = read_call(reader);
    else if (reader->token.kind == IR_TOKEN_NAME)
        expr = read_named(reader);
    else
        ir_reader_expected(reader, "an expression");
    ir_reader_leave(reader);
    return expr;
}
