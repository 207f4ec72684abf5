/*
 * emit_c_expression.c: expressions of the IR as C text.
 *
 * Consumes an expression; produces one piece of C text, and statements before it where one piece will not do:
 *   - whatever may stop the kernel is tested by a statement, in the order of evaluation; where that
 *     happens in an operand that is evaluated only sometimes (of AND, OR, SELECT), the operation becomes an
 * if;
 *   - what is nested too deeply for libtcc is kept in a temporary, in the same way.
 * Constants are folded here by scalar.c, for libtcc folds floats in long double. Integers are in
 * emit_c_integer.c.
 */
#include "emit_c_private.h"
#include "scalar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- pieces ------------------------------------------------------------------ */

struct emit_value emit_made(int depth, const char *text, enum emit_precedence precedence)
{
    return (struct emit_value){.text = text, .precedence = precedence, .depth = depth, .bits = 63};
}

struct emit_value emit_name(const char *name)
{
    struct emit_value value = emit_made(0, name, EMIT_PRIMARY);
    value.simple = true;
    return value;
}

int emit_depth(const struct emit_value *values, int count)
{
    int depth = 0;
    for (int k = 0; k < count; k++)
        depth = values[k].depth > depth ? values[k].depth : depth;
    return depth;
}

const char *emit_operand(struct emitter *emitter, struct emit_value value, enum emit_precedence precedence)
{
    return value.precedence >= precedence ? value.text : arena_format(&emitter->arena, "(%s)", value.text);
}

struct emit_value emit_call(struct emitter *emitter, const char *function, int count,
                            const struct emit_value *arguments)
{
    const char *text = arguments[0].text;
    for (int k = 1; k < count; k++)
        text = arena_format(&emitter->arena, "%s, %s", text, arguments[k].text);
    return emit_made(emit_depth(arguments, count) + 1,
                     arena_format(&emitter->arena, "%s(%s)", function, text), EMIT_PRIMARY);
}

static const char *temporary_name(struct emitter *emitter)
{
    return arena_format(&emitter->arena, "t%d_", ++emitter->temporaries);
}

struct emit_value emit_hoist(struct emitter *emitter, akg_dtype dtype, struct emit_value value)
{
    struct emit_value name = emit_name(temporary_name(emitter));
    emit_line(emitter, "const %s %s = %s;", emit_type(dtype), name.text, value.text);
    name.bits = value.bits;
    name.nonnegative = value.nonnegative;
    return name;
}

/* An operand of something larger. */
struct emit_value emit_shallow(struct emitter *emitter, const struct ir_expr *expr)
{
    struct emit_value value = emit_expression(emitter, expr);
    return value.depth < EMIT_DEEPEST_OPERAND ? value : emit_hoist(emitter, expr->dtype, value);
}

static struct emit_value truth(int depth, const char *text, enum emit_precedence precedence)
{
    struct emit_value value = emit_made(depth, text, precedence);
    value.bits = 1;
    value.nonnegative = true;
    return value;
}

/* ---- constants ------------------------------------------------------------------ */

static const char *float_text(struct emitter *emitter, double number, bool single)
{
    bool negative = signbit(number) && !isnan(number);
    if (isnan(number) || isinf(number))
        return arena_format(&emitter->arena, "%s%s%s.value", single ? "(float)" : "", negative ? "-" : "",
                            emit_snippet(isnan(number) ? EMIT_NAN : EMIT_INFINITY));
    struct text text;
    text_init(&text);
    if (single)
        text_float(&text, (float)number);
    else
        text_double(&text, number);
    char *digits = text_take(&text);
    if (!digits)
        longjmp(emitter->escape, EMIT_ESCAPE_MEMORY);
    /* copied by hand: arena_format could escape and leave `digits` behind */
    char copy[40];
    snprintf(copy, sizeof copy, "%s%s", digits, single ? "f" : "");
    memory_free(digits);
    return arena_copy(&emitter->arena, copy, strlen(copy));
}

static const char *integer_text(struct emitter *emitter, akg_dtype dtype, int64_t number)
{
    struct arena *arena = &emitter->arena;
    if (dtype == AKG_UINT64)
        return arena_format(arena, "%lluull", (unsigned long long)number);
    if (dtype == AKG_UINT32)
        return arena_format(arena, "%lluu", (unsigned long long)number);
    if (number == INT64_MIN)
        return "(-9223372036854775807ll - 1)";
    if (number == INT32_MIN)
        return "(-2147483647 - 1)";
    bool is_long = number > INT32_MAX || number < INT32_MIN;
    return arena_format(arena, "%lld%s", (long long)number, is_long ? "ll" : "");
}

static int bits_of(int64_t number)
{
    uint64_t magnitude = number < 0 ? ~(uint64_t)number : (uint64_t)number;
    int bits = 0;
    for (; magnitude; magnitude >>= 1)
        bits++;
    return bits;
}

struct emit_value emit_constant(struct emitter *emitter, akg_dtype dtype, union dtype_value number)
{
    struct emit_value value = emit_name(NULL);
    value.constant = true;
    value.number = number;
    if (dtype_is_float(dtype)) {
        double real = dtype == AKG_FLOAT64 ? number.d : (double)number.f;
        value.text = float_text(emitter, real, dtype != AKG_FLOAT64);
        value.precedence = value.text[0] == '-' || value.text[0] == '(' ? EMIT_UNARY : EMIT_PRIMARY;
    } else {
        value.text = integer_text(emitter, dtype, number.i);
        value.precedence = value.text[0] == '-' ? EMIT_UNARY : EMIT_PRIMARY;
        value.bits = number.i < 0 && dtype == AKG_UINT64 ? 64 : bits_of(number.i);
        value.nonnegative = number.i >= 0 || dtype == AKG_UINT64;
    }
    return value;
}

/* ---- symbols and loads ------------------------------------------------------------ */

static struct emit_value symbol_value(struct emitter *emitter, const struct ir_symbol *symbol)
{
    const struct emit_symbol *entry = &emitter->symbols[symbol->slot];
    struct emit_value value = emit_name(entry->name);
    value.bits = entry->bits;
    value.nonnegative = entry->nonnegative;
    if (symbol->dtype == AKG_BFLOAT16 && emitter->dialect->bfloat_bits)
        value.raw = emit_call(emitter, emitter->dialect->bfloat_bits, 1, &value).text;
    return value;
}

struct emit_value emit_index(struct emitter *emitter, const struct ir_expr *expr)
{
    bool outer = emitter->in_index;
    emitter->in_index = true;
    struct emit_value value = emit_shallow(emitter, expr);
    emitter->in_index = outer;
    return value;
}

/* The extent of an axis: a number, the name of a dim, or a local variable for what is more. */
struct emit_value emit_extent(struct emitter *emitter, const struct ir_buffer *buffer, int axis)
{
    const struct ir_expr *extent = buffer->shape[axis];
    if (extent->kind != IR_OPERATION)
        return emit_expression(emitter, extent);
    return emit_name(arena_format(&emitter->arena, "%s_dim%d_", emitter->buffers[buffer->index], axis));
}

static void check_index(struct emitter *emitter, const struct ir_access *access, int axis,
                        struct emit_value index)
{
    const char *extent = emit_extent(emitter, access->buffer, axis).text;
    const char *call = arena_format(&emitter->arena, "%s(%s, %d, %d, %s, %s)", emit_snippet(EMIT_TRAP_INDEX),
                                    emitter->dialect->trap, access->site, axis, index.text, extent);
    if (index.nonnegative)
        emit_line(emitter, "if (%s >= %s) {", index.text, extent);
    else
        emit_line(emitter, "if (%s < 0 || %s >= %s) {", index.text, index.text, extent);
    emit_trap(emitter, call);
}

static bool is_checked(const struct emitter *emitter, const struct ir_access *access, int axis)
{
    return access->checks[axis] == IR_CHECK_ELEMENT && !emitter->options->trust_indices;
}

/* (row * extent + index), starting from nothing. */
static struct emit_value contiguous_offset(struct emitter *emitter, const struct ir_buffer *buffer,
                                           const struct emit_value *indices)
{
    struct emit_value offset = indices[0];
    for (int axis = 1; axis < buffer->rank; axis++) {
        bool zero = indices[axis].constant && indices[axis].number.i == 0;
        if (offset.constant && offset.number.i == 0) {
            offset = indices[axis];
            continue;
        }
        struct emit_value extent = emit_extent(emitter, buffer, axis);
        const char *row =
            arena_format(&emitter->arena, "%s * %s", emit_operand(emitter, offset, EMIT_MULTIPLY),
                         emit_operand(emitter, extent, EMIT_UNARY));
        struct emit_value values[] = {offset, indices[axis]};
        offset = emit_made(emit_depth(values, 2) + 1, row, EMIT_MULTIPLY);
        if (!zero)
            offset = emit_made(offset.depth,
                               arena_format(&emitter->arena, "%s + %s", row,
                                            emit_operand(emitter, indices[axis], EMIT_MULTIPLY)),
                               EMIT_ADD);
    }
    return offset;
}

static struct emit_value strided_offset(struct emitter *emitter, const struct ir_buffer *buffer,
                                        const struct emit_value *indices)
{
    struct emit_value offset = {.text = NULL};
    for (int axis = 0; axis < buffer->rank; axis++) {
        if (indices[axis].constant && indices[axis].number.i == 0)
            continue;
        const char *term = arena_format(&emitter->arena, "%s * %s_stride%d_",
                                        emit_operand(emitter, indices[axis], EMIT_MULTIPLY),
                                        emitter->buffers[buffer->index], axis);
        if (offset.text)
            offset = emit_made(0, arena_format(&emitter->arena, "%s + %s", offset.text, term), EMIT_ADD);
        else
            offset = emit_made(0, term, EMIT_MULTIPLY);
    }
    if (!offset.text)
        return emit_made(0, "0", EMIT_PRIMARY);
    offset.depth = emit_depth(indices, buffer->rank) + 2;
    return offset;
}

struct emit_value emit_access(struct emitter *emitter, const struct ir_access *access)
{
    const struct ir_buffer *buffer = access->buffer;
    struct emit_value indices[AKG_MAX_RANK];
    for (int axis = 0; axis < buffer->rank; axis++) {
        indices[axis] = emit_index(emitter, access->indices[axis]);
        if (is_checked(emitter, access, axis) && !indices[axis].simple)
            indices[axis] = emit_hoist(emitter, AKG_INT64, indices[axis]);
    }
    for (int axis = 0; axis < buffer->rank; axis++)
        if (is_checked(emitter, access, axis))
            check_index(emitter, access, axis, indices[axis]);
    struct emit_value offset = buffer->rank == 0    ? emit_made(0, "0", EMIT_PRIMARY)
                               : buffer->contiguous ? contiguous_offset(emitter, buffer, indices)
                                                    : strided_offset(emitter, buffer, indices);
    return emit_made(offset.depth + 1,
                     arena_format(&emitter->arena, "%s[%s]", emitter->buffers[buffer->index], offset.text),
                     EMIT_PRIMARY);
}

struct emit_value emit_loaded(struct emitter *emitter, akg_dtype dtype, struct emit_value value)
{
    if (dtype == AKG_BOOL) /* any byte that is not zero is true */
        return truth(value.depth, arena_format(&emitter->arena, "%s != 0", value.text), EMIT_EQUAL);
    if (dtype_is_half(dtype)) {
        struct emit_value wide =
            emit_call(emitter, dtype == AKG_FLOAT16 ? "akg_half_to_float" : "akg_bfloat_to_float", 1, &value);
        wide.raw = value.text;
        return wide;
    }
    if (!dtype_is_float(dtype)) {
        value.bits = emit_dtype_bits(dtype);
        value.nonnegative = !dtype_is_signed(dtype);
    }
    return value;
}

/* ---- floats and casts ---------------------------------------------------------------- */

static const char *half_from(akg_dtype half, const char *from)
{
    static const struct {
        const char *from, *half, *bfloat;
    } rows[] = {{"float", "akg_float_to_half", "akg_float_to_bfloat"},
                {"double", "akg_double_to_half", "akg_double_to_bfloat"},
                {"int64", "akg_int64_to_half", "akg_int64_to_bfloat"},
                {"uint64", "akg_uint64_to_half", "akg_uint64_to_bfloat"}};
    int row = 0;
    while (strcmp(rows[row].from, from) != 0)
        row++;
    return half == AKG_FLOAT16 ? rows[row].half : rows[row].bfloat;
}

/* A float result as a half holds it; the bits are kept, for a store needs only them. */
static struct emit_value rounded_to_half(struct emitter *emitter, akg_dtype dtype, const char *from,
                                         struct emit_value value)
{
    const char *rounded = emitter->dialect->bfloat_rounded;
    struct emit_value bits = emit_call(emitter, half_from(dtype, from), 1, &value), wide;
    if (rounded && dtype == AKG_BFLOAT16 && strcmp(from, "float") == 0)
        wide = emit_call(emitter, rounded, 1, &value);
    else
        wide =
            emit_call(emitter, dtype == AKG_FLOAT16 ? "akg_half_to_float" : "akg_bfloat_to_float", 1, &bits);
    wide.raw = bits.text;
    return wide;
}

/* Operations whose result a half holds if it holds the operands. */
static bool stays_half(enum operation operation)
{
    switch (operation) {
    case OP_NEG:
    case OP_ABS:
    case OP_SIGN:
    case OP_MIN:
    case OP_MAX:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC:
    case OP_ROUND:
        return true;
    default:
        return false;
    }
}

/* Squares and cubes, which are products by what akg_pow is; false: it is another power. */
static bool power(struct emitter *emitter, const struct ir_expr *expr, const struct emit_value *operands,
                  struct emit_value *result)
{
    akg_dtype dtype = expr->dtype;
    if (expr->operation != OP_POW || !operands[1].constant)
        return false;
    double exponent = dtype_to_double(dtype, operands[1].number);
    if (exponent != 2 && exponent != 3)
        return false;
    struct emit_value a = operands[0].simple ? operands[0] : emit_hoist(emitter, dtype, operands[0]);
    const char *text = emit_operand(emitter, a, EMIT_MULTIPLY + 1);
    *result = emit_made(a.depth + 2,
                        exponent == 2 ? arena_format(&emitter->arena, "%s * %s", text, text)
                                      : arena_format(&emitter->arena, "%s * %s * %s", text, text, text),
                        EMIT_MULTIPLY);
    return true;
}

static struct emit_value float_operation(struct emitter *emitter, const struct ir_expr *expr,
                                         const struct emit_value *operands)
{
    const struct operation_row *row = &operation_table[expr->operation];
    akg_dtype dtype = expr->operands[0]->dtype;
    const char *other = emitter->dialect->function_of(emitter, expr);
    const char *function = other ? other : dtype == AKG_FLOAT64 ? row->c64 : row->c32;
    struct emit_value value;
    if (power(emitter, expr, operands, &value)) {
        /* as it is */
    } else if (*function) {
        value = emit_call(emitter, function, expr->count, operands);
    } else if (expr->operation == OP_NEG) {
        value =
            emit_made(operands[0].depth + 1,
                      arena_format(&emitter->arena, "-%s", emit_operand(emitter, operands[0], EMIT_PRIMARY)),
                      EMIT_UNARY);
    } else {
        bool sum = expr->operation == OP_ADD || expr->operation == OP_SUB;
        enum emit_precedence precedence = sum ? EMIT_ADD : EMIT_MULTIPLY;
        value = emit_made(emit_depth(operands, 2) + 1,
                          arena_format(&emitter->arena, "%s %s %s",
                                       emit_operand(emitter, operands[0], precedence), row->text,
                                       emit_operand(emitter, operands[1], precedence + 1)),
                          precedence);
    }
    if (dtype_is_half(expr->dtype) && !stays_half(expr->operation) && expr != emitter->unrounded)
        return rounded_to_half(emitter, dtype, "float", value);
    return value;
}

static struct emit_value cast_from_float(struct emitter *emitter, akg_dtype to, akg_dtype from,
                                         struct emit_value value)
{
    if (to == AKG_BOOL)
        return truth(value.depth + 1,
                     arena_format(&emitter->arena, "%s != 0", emit_operand(emitter, value, EMIT_LESS)),
                     EMIT_EQUAL);
    if (dtype_is_half(to))
        return rounded_to_half(emitter, to, from == AKG_FLOAT64 ? "double" : "float", value);
    if (dtype_is_float(to)) {
        if (to == AKG_FLOAT64 || from == AKG_FLOAT64)
            return emit_made(value.depth + 1,
                             arena_format(&emitter->arena, "(%s)%s", emit_type(to),
                                          emit_operand(emitter, value, EMIT_UNARY)),
                             EMIT_UNARY);
        value.raw = NULL; /* a half is a float already */
        return value;
    }
    struct emit_value call = emit_call(
        emitter, arena_format(&emitter->arena, "akg_double_to_%s", dtype_table[to].name), 1, &value);
    if (to == AKG_UINT8 || to == AKG_UINT16) /* the function's type is unsigned int */
        call = emit_made(call.depth,
                         arena_format(&emitter->arena, "(%s)%s", dtype_table[to].c_storage, call.text),
                         EMIT_UNARY);
    call.bits = emit_dtype_bits(to);
    call.nonnegative = !dtype_is_signed(to);
    return call;
}

struct emit_value emit_cast(struct emitter *emitter, akg_dtype to, akg_dtype from, struct emit_value value)
{
    if (to == from)
        return value;
    if (dtype_is_float(from))
        return cast_from_float(emitter, to, from, value);
    if (!dtype_is_float(to))
        return emit_integer_cast(emitter, to, from, value);
    bool wide = from == AKG_INT64 || from == AKG_UINT64;
    if (dtype_is_half(to))
        return rounded_to_half(emitter, to, wide ? dtype_table[from].name : "double", value);
    if (from == AKG_UINT64)
        return emit_call(emitter, to == AKG_FLOAT32 ? "akg_uint64_to_float" : "akg_uint64_to_double", 1,
                         &value);
    return emit_made(
        value.depth + 1,
        arena_format(&emitter->arena, "(%s)%s", emit_type(to), emit_operand(emitter, value, EMIT_UNARY)),
        EMIT_UNARY);
}

/* ---- truth ---------------------------------------------------------------------------- */

static struct emit_value comparison(struct emitter *emitter, const struct ir_expr *expr,
                                    const struct emit_value *operands)
{
    enum operation operation = expr->operation;
    bool equality = operation == OP_EQ || operation == OP_NE;
    if (!dtype_is_float(expr->operands[0]->dtype) && strcmp(operands[0].text, operands[1].text) == 0) {
        /* gcc warns of comparing a thing with itself */
        bool holds = operation == OP_EQ || operation == OP_LE || operation == OP_GE;
        return emit_constant(emitter, AKG_BOOL, (union dtype_value){.i = holds});
    }
    return truth(emit_depth(operands, 2) + 1,
                 arena_format(&emitter->arena, "%s %s %s", emit_operand(emitter, operands[0], EMIT_SHIFT),
                              operation_table[operation].text,
                              emit_operand(emitter, operands[1], EMIT_SHIFT)),
                 equality ? EMIT_EQUAL : EMIT_LESS);
}

static void assign_aside(struct emitter *emitter, const char *before, const char *name, const char *text)
{
    if (before)
        text_string(emitter->out, before);
    emitter->indent++;
    emit_line(emitter, "%s = %s;", name, text);
    emitter->indent--;
}

/* `a && b` or `a || b`. */
static struct emit_value joined(struct emitter *emitter, bool conjunction, struct emit_value a,
                                struct emit_value b)
{
    enum emit_precedence precedence = conjunction ? EMIT_AND : EMIT_OR;
    struct emit_value both[] = {a, b};
    /* each in parentheses in the other, as gcc wants it */
    const char *left = emit_operand(emitter, a, a.precedence == precedence ? precedence : EMIT_NOT);
    return truth(emit_depth(both, 2) + 1,
                 arena_format(&emitter->arena, "%s %s %s", left, conjunction ? "&&" : "||",
                              emit_operand(emitter, b, EMIT_NOT)),
                 precedence);
}

static struct emit_value negated(struct emitter *emitter, struct emit_value value)
{
    return truth(value.depth + 1,
                 arena_format(&emitter->arena, "!%s", emit_operand(emitter, value, EMIT_UNARY)), EMIT_NOT);
}

static struct emit_value logic(struct emitter *emitter, const struct ir_expr *expr)
{
    bool conjunction = expr->operation == OP_AND;
    struct emit_value first = emit_shallow(emitter, expr->operands[0]);
    if (first.constant)
        return (first.number.i != 0) == conjunction ? emit_expression(emitter, expr->operands[1]) : first;
    const char *before;
    struct emit_value second = emit_aside(emitter, expr->operands[1], &before);
    if (!before && second.constant)
        return (second.number.i != 0) == conjunction ? first : second;
    if (!before)
        return joined(emitter, conjunction, first, second);
    struct emit_value name = emit_name(temporary_name(emitter));
    emit_line(emitter, "int %s = %s;", name.text, first.text);
    emit_line(emitter, "if (%s%s) {", conjunction ? "" : "!", name.text);
    assign_aside(emitter, before, name.text, second.text);
    emit_line(emitter, "}");
    return name;
}

/* A choice one side of which is a truth known here. libtcc miscompiles `(a != 0 ? 0 : 0) ? b : c`, so this is
 * more than a nicety. */
static struct emit_value choose_truth(struct emitter *emitter, struct emit_value condition,
                                      struct emit_value a, struct emit_value b)
{
    if (a.constant)
        return a.number.i ? joined(emitter, false, condition, b)
                          : joined(emitter, true, negated(emitter, condition), b);
    return b.number.i ? joined(emitter, false, negated(emitter, condition), a)
                      : joined(emitter, true, condition, a);
}

/* What a choice between two values is known to be. */
static void merge(struct emit_value *result, struct emit_value a, struct emit_value b)
{
    result->bits = a.bits > b.bits ? a.bits : b.bits;
    result->nonnegative = a.nonnegative && b.nonnegative;
}

static struct emit_value selection(struct emitter *emitter, const struct ir_expr *expr)
{
    struct emit_value condition = emit_shallow(emitter, expr->operands[0]);
    if (condition.constant)
        return emit_expression(emitter, expr->operands[condition.number.i ? 1 : 2]);
    const char *before_a, *before_b;
    struct emit_value a = emit_aside(emitter, expr->operands[1], &before_a);
    struct emit_value b = emit_aside(emitter, expr->operands[2], &before_b);
    struct emit_value result;
    bool inside = !before_a && !before_b;
    if (inside && a.constant && b.constant && strcmp(a.text, b.text) == 0)
        return a;
    if (inside && expr->dtype == AKG_BOOL && a.constant && b.constant)
        return a.number.i ? condition : negated(emitter, condition);
    if (inside && expr->dtype == AKG_BOOL && (a.constant || b.constant))
        return choose_truth(emitter, condition, a, b);
    if (inside) {
        /* two constants of int64 may both be int */
        const char *cast = expr->dtype == AKG_INT64 && a.constant && b.constant ? "(long long)" : "";
        struct emit_value all[] = {condition, a, b};
        result = emit_made(emit_depth(all, 3) + 1,
                           arena_format(&emitter->arena, "%s ? %s%s : %s",
                                        emit_operand(emitter, condition, EMIT_OR), cast,
                                        emit_operand(emitter, a, *cast ? EMIT_UNARY : EMIT_OR),
                                        emit_operand(emitter, b, EMIT_OR)),
                           EMIT_CHOICE);
    } else {
        result = emit_name(temporary_name(emitter));
        emit_line(emitter, "%s %s;", emit_type(expr->dtype), result.text);
        emit_line(emitter, "if (%s) {", condition.text);
        assign_aside(emitter, before_a, result.text, a.text);
        emit_line(emitter, "} else {");
        assign_aside(emitter, before_b, result.text, b.text);
        emit_line(emitter, "}");
    }
    merge(&result, a, b);
    return result;
}

/* ---- operations ------------------------------------------------------------------------- */

/* The test of a divisor, or of zero to a negative power; operands that it names are made simple. */
static void check_division(struct emitter *emitter, const struct ir_expr *expr, struct emit_value *operands)
{
    if (!expr->checked || emitter->in_shape)
        return;
    bool power = expr->operation == OP_POW;
    for (int k = power ? 0 : 1; k < 2; k++)
        if (!operands[k].simple)
            operands[k] = emit_hoist(emitter, expr->dtype, operands[k]);
    const char *call = arena_format(&emitter->arena, "%s(%s, %d)", emit_snippet(EMIT_TRAP),
                                    emitter->dialect->trap, expr->site);
    if (power)
        emit_line(emitter, "if (%s == 0 && %s < 0) {", operands[0].text, operands[1].text);
    else
        emit_line(emitter, "if (%s == 0) {", operands[1].text);
    emit_trap(emitter, call);
}

/* The operation on constants, where it has a value. */
static bool fold(struct emitter *emitter, const struct ir_expr *expr, const struct emit_value *operands,
                 struct emit_value *result)
{
    union dtype_value numbers[3], number = {.i = 0};
    for (int k = 0; k < expr->count; k++) {
        if (!operands[k].constant)
            return false;
        numbers[k] = operands[k].number;
    }
    if (!scalar_apply(expr->operation, expr->dtype, expr->operands[0]->dtype, numbers, &number))
        return false;
    *result = emit_constant(emitter, expr->dtype, number);
    return true;
}

static struct emit_value operation_value(struct emitter *emitter, const struct ir_expr *expr)
{
    struct emit_value operands[3], folded;
    if (expr->operation == OP_AND || expr->operation == OP_OR)
        return logic(emitter, expr);
    if (expr->operation == OP_SELECT)
        return selection(emitter, expr);
    for (int k = 0; k < expr->count; k++)
        operands[k] = emit_shallow(emitter, expr->operands[k]);
    if (fold(emitter, expr, operands, &folded))
        return folded;
    check_division(emitter, expr, operands);
    akg_dtype from = expr->operands[0]->dtype;
    if (expr->operation == OP_CAST)
        return emit_cast(emitter, expr->dtype, from, operands[0]);
    if (expr->operation == OP_NOT)
        return negated(emitter, operands[0]);
    if (operation_table[expr->operation].rule == RULE_COMPARE)
        return comparison(emitter, expr, operands);
    if (dtype_is_float(from))
        return float_operation(emitter, expr, operands);
    return emit_integer_operation(emitter, expr, operands);
}

struct emit_value emit_combined(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                                struct emit_value *operands)
{
    struct ir_expr operand = {.dtype = dtype}, *both[] = {&operand, &operand};
    struct ir_expr expr = {
        .kind = IR_OPERATION, .dtype = dtype, .operation = operation, .count = 2, .operands = both};
    return dtype_is_float(dtype) ? float_operation(emitter, &expr, operands)
                                 : emit_integer_operation(emitter, &expr, operands);
}

struct emit_value emit_expression(struct emitter *emitter, const struct ir_expr *expr)
{
    struct emit_value value;
    if (emitter->dialect->expression && emitter->dialect->expression(emitter, expr, &value))
        return value;
    if (++emitter->depth > EMIT_DEEPEST_EXPRESSION)
        emit_too_deep(emitter);
    switch (expr->kind) {
    case IR_INTEGER:
    case IR_REAL:
        value = emit_constant(emitter, expr->dtype, scalar_constant(expr));
        break;
    case IR_SYMBOL:
        value = symbol_value(emitter, expr->symbol);
        break;
    case IR_LOAD:
        value = emit_loaded(emitter, expr->dtype, emit_access(emitter, &expr->access));
        break;
    default:
        value = operation_value(emitter, expr);
        break;
    }
    emitter->depth--;
    return value;
}

const char *emit_stored(struct emitter *emitter, akg_dtype dtype, struct emit_value value)
{
    if (!dtype_is_half(dtype))
        return value.text;
    if (value.raw)
        return value.raw;
    return emit_call(emitter, half_from(dtype, "float"), 1, &value).text;
}
