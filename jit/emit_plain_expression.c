/*
 * emit_plain_expression.c: expressions of a kernel as plain C.
 *
 * What a person would write: libm's functions, / and % where operands are known not to be negative, one
 * product for each extent of an index. Halves are computed with as floats.
 */
#include "emit_plain_private.h"

#include <math.h>
#include <string.h>

struct infix_row {
    const char *text;
    enum plain_precedence precedence;
};

static const struct infix_row infix_table[OPERATION_COUNT] = {
    [OP_ADD] = {"+", PLAIN_SUM},         [OP_SUB] = {"-", PLAIN_SUM},    [OP_MUL] = {"*", PLAIN_PRODUCT},
    [OP_TRUEDIV] = {"/", PLAIN_PRODUCT}, [OP_LT] = {"<", PLAIN_LESS},    [OP_LE] = {"<=", PLAIN_LESS},
    [OP_GT] = {">", PLAIN_LESS},         [OP_GE] = {">=", PLAIN_LESS},   [OP_EQ] = {"==", PLAIN_EQUAL},
    [OP_NE] = {"!=", PLAIN_EQUAL},       [OP_AND] = {"&&", PLAIN_AND},   [OP_OR] = {"||", PLAIN_OR},
    [OP_BITAND] = {"&", PLAIN_BITS},     [OP_BITOR] = {"|", PLAIN_BITS}, [OP_BITXOR] = {"^", PLAIN_BITS},
    [OP_SHL] = {"<<", PLAIN_SHIFT},      [OP_SHR] = {">>", PLAIN_SHIFT},
};

/* ---- types, constants ---------------------------------------------------------- */

const char *plain_element_type(akg_dtype dtype)
{
    static const char *const types[AKG_DTYPE_COUNT] = {
        [AKG_BOOL] = "bool",        [AKG_INT8] = "int8_t",       [AKG_INT16] = "int16_t",
        [AKG_INT32] = "int32_t",    [AKG_INT64] = "long",        [AKG_UINT8] = "uint8_t",
        [AKG_UINT16] = "uint16_t",  [AKG_UINT32] = "uint32_t",   [AKG_UINT64] = "uint64_t",
        [AKG_FLOAT16] = "_Float16", [AKG_BFLOAT16] = "uint16_t", [AKG_FLOAT32] = "float",
        [AKG_FLOAT64] = "double",
    };
    return types[dtype];
}

const char *plain_type(akg_dtype dtype)
{
    return dtype_is_half(dtype) ? "float" : plain_element_type(dtype);
}

static const char *integer_text(struct plain *plain, const struct ir_expr *expr)
{
    if (expr->dtype == AKG_BOOL)
        return expr->integer ? "true" : "false";
    if (expr->dtype == AKG_UINT64)
        return arena_format(&plain->arena, "%lluu", (unsigned long long)expr->integer);
    if (expr->integer == INT64_MIN)
        return "INT64_MIN";
    return arena_format(&plain->arena, "%lld", (long long)expr->integer);
}

static const char *real_text(struct plain *plain, const struct ir_expr *expr)
{
    struct text text;
    if (isnan(expr->real))
        return "NAN";
    if (isinf(expr->real))
        return expr->real > 0 ? "INFINITY" : "-INFINITY";
    text_init(&text);
    if (expr->dtype == AKG_FLOAT64) {
        text_double(&text, expr->real);
    } else {
        text_float(&text, (float)expr->real);
        text_char(&text, 'f');
    }
    return text_into_arena(&text, &plain->arena);
}

/* ---- signs ----------------------------------------------------------------------- */

bool plain_is_nonnegative(const struct plain *plain, const struct ir_expr *expr)
{
    if (expr->dtype == AKG_BOOL || (dtype_is_integer(expr->dtype) && !dtype_is_signed(expr->dtype)))
        return true;
    if (expr->kind == IR_INTEGER)
        return expr->integer >= 0;
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind == IR_SYMBOL_DIM || plain->nonnegative[expr->symbol->slot];
    if (expr->kind != IR_OPERATION)
        return false;
    struct ir_expr *const *operands = expr->operands;
    switch (expr->operation) {
    case OP_ADD:
    case OP_MUL:
    case OP_FLOORDIV:
    case OP_CEIL_DIV:
    case OP_MIN:
        return plain_is_nonnegative(plain, operands[0]) && plain_is_nonnegative(plain, operands[1]);
    case OP_MAX:
        return plain_is_nonnegative(plain, operands[0]) || plain_is_nonnegative(plain, operands[1]);
    case OP_MOD:
        return plain_is_nonnegative(plain, operands[1]);
    case OP_SELECT:
        return plain_is_nonnegative(plain, operands[1]) && plain_is_nonnegative(plain, operands[2]);
    case OP_CAST:
        return dtype_is_integer(operands[0]->dtype) && plain_is_nonnegative(plain, operands[0]);
    default:
        return false;
    }
}

/* ---- accesses --------------------------------------------------------------------- */

const char *plain_element_count(struct plain *plain, const struct ir_buffer *buffer)
{
    const char *count = NULL;
    for (int k = 0; k < buffer->rank; k++) {
        const char *extent = plain_expr(plain, buffer->shape[k], PLAIN_UNARY);
        count = count ? arena_format(&plain->arena, "%s * %s", count, extent) : extent;
    }
    return count ? count : "1";
}

const char *plain_access(struct plain *plain, const struct ir_access *access)
{
    const struct ir_buffer *buffer = access->buffer;
    plain->used_buffers[buffer->index] = true;
    const char *offset = NULL;
    for (int k = 0; k < buffer->rank; k++) {
        if (plain->repeated[buffer->index][k])
            continue;
        const char *index = plain_expr(plain, access->indices[k], PLAIN_SUM);
        bool sum = offset && strchr(offset, ' '); /* a product of sums needs parentheses */
        offset = !offset ? index
                         : arena_format(&plain->arena, sum ? "(%s) * %s + %s" : "%s * %s + %s", offset,
                                        plain_expr(plain, buffer->shape[k], PLAIN_UNARY), index);
    }
    return arena_format(&plain->arena, "%s[%s]", plain->buffers[buffer->index], offset ? offset : "0");
}

static const char *load_text(struct plain *plain, const struct ir_expr *expr)
{
    const char *element = plain_access(plain, &expr->access);
    if (expr->dtype == AKG_FLOAT16)
        return arena_format(&plain->arena, "(float)%s", element);
    if (expr->dtype != AKG_BFLOAT16)
        return element;
    plain->helpers[PLAIN_FROM_BFLOAT16] = true;
    return arena_format(&plain->arena, "from_bfloat16(%s)", element);
}

const char *plain_stored(struct plain *plain, akg_dtype dtype, const struct ir_expr *value)
{
    if (dtype != AKG_BFLOAT16)
        return plain_expr(plain, value, PLAIN_CHOICE);
    plain->helpers[PLAIN_TO_BFLOAT16] = true;
    return arena_format(&plain->arena, "to_bfloat16(%s)", plain_expr(plain, value, PLAIN_CHOICE));
}

/* ---- operations --------------------------------------------------------------------- */

/* Whether C takes what has 64 bits for an int: it is made of numbers alone. */
static bool is_int_in_c(const struct ir_expr *expr)
{
    if (!dtype_is_integer(expr->dtype) || dtype_table[expr->dtype].size < 8)
        return false;
    if (expr->kind == IR_INTEGER)
        return expr->integer >= INT32_MIN && expr->integer <= INT32_MAX;
    if (expr->kind != IR_OPERATION)
        return false;
    struct ir_expr *const *operands = expr->operands;
    switch (expr->operation) {
    case OP_NEG:
    case OP_ABS:
    case OP_BITNOT:
        return is_int_in_c(operands[0]);
    case OP_SELECT:
        return is_int_in_c(operands[1]) && is_int_in_c(operands[2]);
    case OP_MIN:
    case OP_MAX:
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
        return is_int_in_c(operands[0]) && is_int_in_c(operands[1]);
    default:
        return false;
    }
}

/* Whether the first operand must be told to have 64 bits, or the result would not fit. */
static bool needs_width(const struct ir_expr *expr)
{
    switch (expr->operation) {
    case OP_SHL:
    case OP_SHR:
        return is_int_in_c(expr->operands[0]);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
        return is_int_in_c(expr->operands[0]) && is_int_in_c(expr->operands[1]);
    default:
        return false;
    }
}

static const char *infix(struct plain *plain, const struct ir_expr *expr, const struct infix_row *row,
                         enum plain_precedence *precedence)
{
    bool bits = row->precedence == PLAIN_BITS || row->precedence == PLAIN_SHIFT;
    bool widens = needs_width(expr);
    *precedence = row->precedence;
    return arena_format(
        &plain->arena, widens ? "(%s)%s %s %s" : "%s%s %s %s", widens ? plain_type(expr->dtype) : "",
        plain_expr(plain, expr->operands[0], bits || widens ? PLAIN_UNARY : row->precedence), row->text,
        plain_expr(plain, expr->operands[1],
                   bits ? PLAIN_UNARY : (enum plain_precedence)(row->precedence + 1)));
}

/* Of as many bits as the integer has. */
static const char *unsigned_type(akg_dtype dtype)
{
    switch (dtype_table[dtype].size) {
    case 1:
        return plain_type(AKG_UINT8);
    case 2:
        return plain_type(AKG_UINT16);
    case 4:
        return plain_type(AKG_UINT32);
    default:
        return plain_type(AKG_UINT64);
    }
}

static const char *call(struct plain *plain, const char *function, const struct ir_expr *expr)
{
    const char *list = NULL;
    for (int k = 0; k < expr->count; k++) {
        const char *operand = plain_expr(plain, expr->operands[k], PLAIN_CHOICE);
        list = list ? arena_format(&plain->arena, "%s, %s", list, operand) : operand;
    }
    return arena_format(&plain->arena, "%s(%s)", function, list);
}

static const char *helper(struct plain *plain, enum plain_helper id, const char *name,
                          const struct ir_expr *expr)
{
    plain->helpers[id] = true;
    return call(plain, name, expr);
}

/* // and % of integers. */
static const char *quotient(struct plain *plain, const struct ir_expr *expr,
                            enum plain_precedence *precedence)
{
    bool divides = expr->operation == OP_FLOORDIV;
    if (plain_is_nonnegative(plain, expr->operands[0]) && plain_is_nonnegative(plain, expr->operands[1]))
        return infix(plain, expr, &(struct infix_row){divides ? "/" : "%", PLAIN_PRODUCT}, precedence);
    return divides ? helper(plain, PLAIN_FLOOR_DIV, "floor_div", expr)
                   : helper(plain, PLAIN_FLOOR_MOD, "floor_mod", expr);
}

/* Of integers what is no infix operator, but min and max of operands that may stand twice. */
static const char *integer_operation(struct plain *plain, const struct ir_expr *expr,
                                     enum plain_precedence *precedence)
{
    struct arena *arena = &plain->arena;
    const char *a = plain_expr(plain, expr->operands[0], PLAIN_SHIFT);
    const char *b = expr->count > 1 ? plain_expr(plain, expr->operands[1], PLAIN_SHIFT) : NULL;
    switch (expr->operation) {
    case OP_FLOORDIV:
    case OP_MOD:
        return quotient(plain, expr, precedence);
    case OP_CEIL_DIV:
        return helper(plain, PLAIN_CEIL_DIV, "ceil_div", expr);
    case OP_POW:
        return helper(plain, PLAIN_POWER, "power", expr);
    case OP_POPCOUNT: /* of the bits that the number has, and not of those of its sign */
        return arena_format(arena, "__builtin_popcountll((%s)%s)", unsigned_type(expr->operands[0]->dtype),
                            plain_expr(plain, expr->operands[0], PLAIN_UNARY));
    case OP_ABS:
        *precedence = PLAIN_CHOICE;
        return arena_format(arena, "%s < 0 ? -%s : %s", a, plain_expr(plain, expr->operands[0], PLAIN_UNARY),
                            a);
    case OP_SIGN:
        *precedence = PLAIN_SUM;
        return arena_format(arena, "(%s > 0) - (%s < 0)", a, a);
    default: /* MIN, MAX */
        *precedence = PLAIN_CHOICE;
        return arena_format(arena, "%s %c %s ? %s : %s", a, expr->operation == OP_MIN ? '<' : '>', b, a, b);
    }
}

/* What libm has not, or has under another name. */
static const char *float_operation(struct plain *plain, const struct ir_expr *expr,
                                   enum plain_precedence *precedence)
{
    struct arena *arena = &plain->arena;
    bool single = expr->operands[0]->dtype != AKG_FLOAT64;
    const char *suffix = single ? "f" : "", *one = single ? "1.0f" : "1.0";
    const char *a = plain_expr(plain, expr->operands[0], PLAIN_CHOICE);
    const char *b = expr->count > 1 ? plain_expr(plain, expr->operands[1], PLAIN_CHOICE) : NULL;
    switch (expr->operation) {
    case OP_FLOORDIV:
        return arena_format(arena, "floor%s((%s) / (%s))", suffix, a, b);
    case OP_MOD:
        *precedence = PLAIN_SUM;
        return arena_format(arena, "(%s) - (%s) * floor%s((%s) / (%s))", a, b, suffix, a, b);
    case OP_POW:
        return arena_format(arena, "pow%s(%s, %s)", suffix, a, b);
    case OP_MIN:
    case OP_MAX:
        return arena_format(arena, "f%s%s(%s, %s)", expr->operation == OP_MIN ? "min" : "max", suffix, a, b);
    case OP_SIGN:
        *precedence = PLAIN_CHOICE;
        return arena_format(arena, "(%s) > 0 ? %s : (%s) < 0 ? -%s : 0", a, one, a, one);
    case OP_RSQRT:
        *precedence = PLAIN_PRODUCT;
        return arena_format(arena, "%s / sqrt%s(%s)", one, suffix, a);
    case OP_SIGMOID:
        *precedence = PLAIN_PRODUCT;
        return arena_format(arena, "%s / (%s + exp%s(-(%s)))", one, one, suffix, a);
    case OP_ISNAN:
    case OP_ISINF:
    case OP_ISFINITE:
        return call(plain, operation_table[expr->operation].text, expr);
    default: {
        const struct operation_row *row = &operation_table[expr->operation];
        return call(plain, single ? row->c32 : row->c64, expr);
    }
    }
}

static const char *operation_text(struct plain *plain, const struct ir_expr *expr,
                                  enum plain_precedence *precedence)
{
    struct arena *arena = &plain->arena;
    struct ir_expr *const *operands = expr->operands;
    if (infix_table[expr->operation].text)
        return infix(plain, expr, &infix_table[expr->operation], precedence);
    switch (expr->operation) {
    case OP_NEG:
    case OP_NOT:
    case OP_BITNOT:
        *precedence = PLAIN_UNARY;
        return arena_format(arena, "%c%s",
                            expr->operation == OP_NEG                              ? '-'
                            : expr->operation == OP_NOT || expr->dtype == AKG_BOOL ? '!'
                                                                                   : '~',
                            plain_expr(plain, operands[0], PLAIN_PRIMARY));
    case OP_SELECT:
        *precedence = PLAIN_CHOICE;
        return arena_format(arena, "%s ? %s : %s", plain_expr(plain, operands[0], PLAIN_OR),
                            plain_expr(plain, operands[1], PLAIN_OR),
                            plain_expr(plain, operands[2], PLAIN_OR));
    case OP_CAST:
        *precedence = PLAIN_UNARY;
        return arena_format(arena, "(%s)%s", plain_type(expr->dtype),
                            plain_expr(plain, operands[0], PLAIN_UNARY));
    default:
        return dtype_is_float(operands[0]->dtype) ? float_operation(plain, expr, precedence)
                                                  : integer_operation(plain, expr, precedence);
    }
}

const char *plain_expr(struct plain *plain, const struct ir_expr *expr, enum plain_precedence least)
{
    enum plain_precedence precedence = PLAIN_PRIMARY;
    const char *text;
    switch (expr->kind) {
    case IR_INTEGER:
        text = integer_text(plain, expr);
        break;
    case IR_REAL:
        text = real_text(plain, expr);
        break;
    case IR_SYMBOL:
        text = plain->symbols[expr->symbol->slot];
        plain->used[expr->symbol->slot] = !expr->symbol->few;
        break;
    case IR_LOAD:
        text = load_text(plain, expr);
        break;
    default:
        text = operation_text(plain, expr, &precedence);
    }
    if (text[0] == '-')
        precedence = precedence < PLAIN_UNARY ? precedence : PLAIN_UNARY;
    return precedence < least ? arena_format(&plain->arena, "(%s)", text) : text;
}
