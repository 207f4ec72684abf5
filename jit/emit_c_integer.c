/*
 * emit_c_integer.c: integer arithmetic of the IR as C text.
 *
 * Consumes operations on integers and bools whose operands have their text; produces text that computes
 * what scalar.c computes, for each width, without undefined behaviour:
 *   - Signed arithmetic that may leave its type is done unsigned and cast back; `a + b + c` is cast once.
 *   - Where the values cannot leave the type it is plain `a + b`. That is known from the widths of the
 *     operands, counting an extent as 48 bits and a loop variable that starts within 48 bits as 50: no
 *     address space holds more, and no loop counts farther.
 *   - Inside indices and loop bounds, arithmetic on operands so bounded is plain even where a product
 *     could leave int64: an index so large is outside its tensor, which preconditions and checks catch.
 *     (libtcc's code wraps there, as the interpreter does.)
 *   - Division is C's where the operands are known to be non-negative, and by a constant of
 *     a name; else a call that floors and does not trap on the least integer divided by -1.
 */
#include "../base/number.h"
#include "emit_c_private.h"

#include <string.h>

enum { UNBOUNDED = 63 }; /* bits of an int64 of which nothing is known */

int emit_dtype_bits(akg_dtype dtype)
{
    int width = dtype_table[dtype].size * 8;
    if (dtype == AKG_BOOL)
        return 1;
    return dtype_is_signed(dtype) ? width - 1 : width;
}

static bool is_wide(akg_dtype dtype)
{
    return dtype == AKG_INT64 || dtype == AKG_UINT64;
}

/* "(type)operand" */
static const char *cast_text(struct emitter *emitter, const char *type, struct emit_value value)
{
    return arena_format(&emitter->arena, "(%s)%s", type, emit_operand(emitter, value, EMIT_UNARY));
}

/* What an expression of this dtype is when nothing more is known. */
static struct emit_value made(akg_dtype dtype, int depth, const char *text, enum emit_precedence precedence)
{
    struct emit_value value = emit_made(depth, text, precedence);
    value.bits = emit_dtype_bits(dtype);
    value.nonnegative = !dtype_is_signed(dtype);
    return value;
}

static struct emit_value cast_to(struct emitter *emitter, akg_dtype dtype, struct emit_value value)
{
    struct emit_value result =
        made(dtype, value.depth + 1, cast_text(emitter, dtype_table[dtype].c_storage, value), EMIT_UNARY);
    if (value.nonnegative && value.bits <= result.bits) {
        result.bits = value.bits;
        result.nonnegative = true;
    }
    return result;
}

/*
 * From bool or a dtype that C promotes to int, around two faults of libtcc:
 *   - (unsigned short)x of a signed char x keeps the sign, and x may be one, for C's promotions stand in for
 * casts;
 *   - (unsigned int)x does nothing to the upper half of a register, and there a call or a choice may have
 * left the sign, which shows when the value is widened. Loads from memory are well.
 */
static struct emit_value cast_from_small(struct emitter *emitter, akg_dtype dtype, struct emit_value value)
{
    struct emit_value result = cast_to(emitter, dtype, value);
    bool computed = value.precedence < EMIT_PRIMARY || value.text[strlen(value.text) - 1] == ')';
    if (dtype == AKG_UINT16) {
        result.text = arena_format(&emitter->arena, "%s & 65535", emit_operand(emitter, value, EMIT_UNARY));
        result.precedence = EMIT_BITS;
    } else if (dtype == AKG_UINT32 && computed) {
        result.text =
            arena_format(&emitter->arena, "(unsigned int)%s", cast_text(emitter, "long long", value));
    }
    return result;
}

struct emit_value emit_integer_cast(struct emitter *emitter, akg_dtype to, akg_dtype from,
                                    struct emit_value value)
{
    if (to == AKG_BOOL)
        return made(to, value.depth + 1,
                    arena_format(&emitter->arena, "%s != 0", emit_operand(emitter, value, EMIT_LESS)),
                    EMIT_EQUAL);
    struct emit_value result = is_wide(from) || from == AKG_UINT32 ? cast_to(emitter, to, value)
                                                                   : cast_from_small(emitter, to, value);
    /* of these C's own promotions do as much */
    bool small = dtype_table[from].size < 4 && dtype_table[to].size <= 4 && to != AKG_UINT32;
    bool fits = from == AKG_BOOL || (dtype_table[from].size < dtype_table[to].size &&
                                     (!dtype_is_signed(from) || dtype_is_signed(to)));
    if (small && fits) {
        value.raw = NULL;
        value.nonnegative = value.nonnegative || !dtype_is_signed(from);
        return value;
    }
    if (fits && is_wide(to)) {
        result.bits = value.bits;
        result.nonnegative = value.nonnegative || !dtype_is_signed(from);
    }
    return result;
}

/* ---- + - * and negation ----------------------------------------------------- */

static const char *symbol_of(enum operation operation)
{
    return operation == OP_NEG ? "-" : operation_table[operation].text;
}

static enum emit_precedence precedence_of(enum operation operation)
{
    return operation == OP_MUL ? EMIT_MULTIPLY : operation == OP_NEG ? EMIT_UNARY : EMIT_ADD;
}

/* `a + b` from the texts of both sides. */
static const char *infix(struct emitter *emitter, enum operation operation, const char *a, const char *b)
{
    return arena_format(&emitter->arena, "%s %s %s", a, symbol_of(operation), b);
}

static const char *plain_text(struct emitter *emitter, enum operation operation,
                              const struct emit_value *operands)
{
    enum emit_precedence precedence = precedence_of(operation);
    if (operation == OP_NEG)
        return arena_format(&emitter->arena, "-%s", emit_operand(emitter, operands[0], EMIT_PRIMARY));
    return infix(emitter, operation, emit_operand(emitter, operands[0], precedence),
                 emit_operand(emitter, operands[1], precedence + 1));
}

static const char *unsigned_type(akg_dtype dtype)
{
    return is_wide(dtype) ? "unsigned long long" : "unsigned int";
}

/* The operand as unsigned arithmetic: what it was before its cast, else the value, cast if `must` (one side
 * has to be, the other follows by C's conversions). */
static const char *unsigned_operand(struct emitter *emitter, akg_dtype dtype, struct emit_value value,
                                    bool must, enum emit_precedence precedence)
{
    struct emit_value piece = value;
    if (value.raw) {
        piece.text = value.raw;
        piece.precedence = value.raw_precedence;
    } else if (must && value.constant && value.nonnegative) {
        piece.text = arena_format(&emitter->arena, "%llu%s", (unsigned long long)value.number.i,
                                  is_wide(dtype) ? "ull" : "u");
    } else if (must) {
        piece.text = cast_text(emitter, unsigned_type(dtype), value);
        piece.precedence = EMIT_UNARY;
    }
    return emit_operand(emitter, piece, precedence);
}

/* Wrapping arithmetic of int32 and int64. */
static struct emit_value wrapped(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                                 const struct emit_value *operands)
{
    enum emit_precedence precedence = precedence_of(operation);
    int depth = emit_depth(operands, operation == OP_NEG ? 1 : 2);
    const char *raw;
    const char *first =
        unsigned_operand(emitter, dtype, operands[0], true, operation == OP_NEG ? EMIT_UNARY : precedence);
    if (operation == OP_NEG)
        raw = arena_format(&emitter->arena, first[0] == '-' ? "-(%s)" : "-%s", first);
    else
        raw = infix(emitter, operation, first,
                    unsigned_operand(emitter, dtype, operands[1], false, precedence + 1));
    struct emit_value value =
        made(dtype, depth + 2, arena_format(&emitter->arena, "(%s)(%s)", dtype_table[dtype].c_storage, raw),
             EMIT_UNARY);
    value.raw = raw;
    value.raw_precedence = precedence;
    return value;
}

/* Bits of the exact result. */
static int exact_bits(enum operation operation, const struct emit_value *operands)
{
    if (operation == OP_NEG)
        return operands[0].bits + 1;
    if (operation == OP_MUL)
        return operands[0].bits + operands[1].bits + 1;
    return number_larger(operands[0].bits, operands[1].bits) + 1;
}

static struct emit_value arithmetic(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                                    const struct emit_value *operands)
{
    int count = operation == OP_NEG ? 1 : 2, depth = emit_depth(operands, count) + 1;
    int limit = emit_dtype_bits(dtype), bits = exact_bits(operation, operands);
    bool is_signed = dtype_is_signed(dtype), small = dtype_table[dtype].size < 4;
    bool bounded = operands[0].bits < UNBOUNDED && (count == 1 || operands[1].bits < UNBOUNDED);

    if (is_signed && (bits <= limit || (emitter->in_index && dtype == AKG_INT64 && bounded))) {
        struct emit_value value =
            made(dtype, depth, plain_text(emitter, operation, operands), precedence_of(operation));
        value.bits = bits <= limit ? bits : limit - 1;
        value.nonnegative = (operation == OP_ADD || operation == OP_MUL) && operands[0].nonnegative &&
                            operands[1].nonnegative;
        return value;
    }
    if (is_signed && !small)
        return wrapped(emitter, operation, dtype, operands);
    if (dtype == AKG_UINT16 && operation == OP_MUL) { /* as ints the product could overflow */
        struct emit_value parts[2] = {operands[0], operands[1]};
        parts[0] = emit_made(depth, cast_text(emitter, "unsigned int", operands[0]), EMIT_UNARY);
        return cast_to(emitter, dtype,
                       made(AKG_UINT32, depth, plain_text(emitter, operation, parts), EMIT_MULTIPLY));
    }
    struct emit_value value =
        made(dtype, depth, plain_text(emitter, operation, operands), precedence_of(operation));
    if (!small)
        return value;
    value.bits = 31;
    value.nonnegative = false;
    return cast_to(emitter, dtype, value);
}

/* ---- division ----------------------------------------------------------------- */

/* The result of a call of a 64-bit function, in its dtype. */
static struct emit_value call64(struct emitter *emitter, akg_dtype dtype, const char *function, int count,
                                const struct emit_value *operands)
{
    struct emit_value value = emit_call(emitter, function, count, operands);
    if (is_wide(dtype)) {
        value.bits = emit_dtype_bits(dtype);
        value.nonnegative = !dtype_is_signed(dtype);
        return value;
    }
    return cast_to(emitter, dtype, value);
}

static const char *function_for(akg_dtype dtype, enum operation operation)
{
    bool is_signed = dtype_is_signed(dtype);
    switch (operation) {
    case OP_FLOORDIV:
        return is_signed ? "akg_floordiv_int64" : "akg_floordiv_uint64";
    case OP_MOD:
        return is_signed ? "akg_mod_int64" : "akg_mod_uint64";
    case OP_POW:
        return is_signed ? "akg_pow_int64" : "akg_pow_uint64";
    default:
        return is_signed ? "akg_ceildiv_int64" : "akg_ceildiv_uint64";
    }
}

/* Floor division or modulo of a name by a positive constant: ~a is -1 - a, which is not negative where a is.
 */
static const char *by_constant(struct emitter *emitter, enum operation operation, const char *a,
                               struct emit_value divisor)
{
    const char *b = divisor.text;
    if (operation == OP_FLOORDIV)
        return arena_format(&emitter->arena, "%s < 0 ? ~(~%s / %s) : %s / %s", a, a, b, a, b);
    return arena_format(&emitter->arena, "%s < 0 ? %lld - ~%s %% %s : %s %% %s", a,
                        (long long)divisor.number.i - 1, a, b, a, b);
}

static struct emit_value divide(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                                const struct emit_value *operands)
{
    struct emit_value a = operands[0], b = operands[1];
    int depth = emit_depth(operands, 2) + 1;
    bool zero = b.constant && b.number.i == 0; /* never computed: it traps before */
    bool unsigned_values = !dtype_is_signed(dtype) || (a.nonnegative && b.nonnegative);
    bool plain = operation != OP_CEIL_DIV && !zero && unsigned_values;
    bool constant = operation != OP_CEIL_DIV && b.constant && b.number.i > 0 && a.simple && !a.constant;

    struct emit_value value;
    if (plain)
        value = made(dtype, depth,
                     arena_format(&emitter->arena, "%s %s %s", emit_operand(emitter, a, EMIT_MULTIPLY),
                                  operation == OP_MOD ? "%" : "/", emit_operand(emitter, b, EMIT_UNARY)),
                     EMIT_MULTIPLY);
    else if (constant)
        value = made(dtype, depth + 3, by_constant(emitter, operation, a.text, b), EMIT_CHOICE);
    else
        value = call64(emitter, dtype, function_for(dtype, operation), 2, operands);
    if (dtype_is_signed(dtype)) {
        value.nonnegative = plain || (operation == OP_MOD && b.nonnegative);
        if (plain || constant)
            value.bits = operation == OP_MOD ? b.bits : a.bits;
    }
    return value;
}

/* ---- the rest ------------------------------------------------------------------ */

/* Whether the values are ints in C, and stay so: what goes through 64 bits and back takes compilers twice the
 * vectors. libtcc has none. */
static bool is_int(const struct emitter *emitter, akg_dtype dtype)
{
    return emitter->options->hosted && (dtype_table[dtype].size < 4 || dtype == AKG_INT32);
}

static enum emit_snippet snippet_of_extremum(const struct emitter *emitter, bool smallest, akg_dtype dtype)
{
    if (is_int(emitter, dtype))
        return smallest ? EMIT_MIN_INT : EMIT_MAX_INT;
    if (emitter->options->hosted && dtype == AKG_UINT32)
        return smallest ? EMIT_MIN_UINT : EMIT_MAX_UINT;
    if (dtype_is_signed(dtype))
        return smallest ? EMIT_MIN_INT64 : EMIT_MAX_INT64;
    return smallest ? EMIT_MIN_UINT64 : EMIT_MAX_UINT64;
}

static struct emit_value extremum(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                                  const struct emit_value *operands)
{
    const char *a = operands[0].text, *b = operands[1].text;
    bool smallest = operation == OP_MIN, is_signed = dtype_is_signed(dtype);
    struct emit_value value;
    if (strcmp(a, b) == 0) /* gcc warns of comparing a thing with itself */
        return operands[0];
    if (operands[0].simple && operands[1].simple) {
        value = made(dtype, 2,
                     smallest ? arena_format(&emitter->arena, "%s < %s ? %s : %s", b, a, b, a)
                              : arena_format(&emitter->arena, "%s < %s ? %s : %s", a, b, b, a),
                     EMIT_CHOICE);
    } else {
        value =
            call64(emitter, dtype, emit_snippet(snippet_of_extremum(emitter, smallest, dtype)), 2, operands);
    }
    if (is_signed) {
        value.bits = number_larger(operands[0].bits, operands[1].bits);
        value.nonnegative = smallest ? operands[0].nonnegative && operands[1].nonnegative
                                     : operands[0].nonnegative || operands[1].nonnegative;
    }
    return value;
}

static struct emit_value shift(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                               const struct emit_value *operands)
{
    int mask = dtype_table[dtype].size * 8 - 1, depth = emit_depth(operands, 2) + 2;
    const char *count = operands[1].constant
                            ? arena_format(&emitter->arena, "%d", (int)(operands[1].number.i & mask))
                            : arena_format(&emitter->arena, "(%s & %d)",
                                           emit_operand(emitter, operands[1], EMIT_UNARY), mask);
    if (operation == OP_SHR) {
        /* a constant may be a plain int */
        const char *left = operands[0].constant && dtype == AKG_INT64
                               ? cast_text(emitter, "long long", operands[0])
                               : emit_operand(emitter, operands[0], EMIT_MULTIPLY);
        struct emit_value value =
            made(dtype, depth, arena_format(&emitter->arena, "%s >> %s", left, count), EMIT_SHIFT);
        value.nonnegative = operands[0].nonnegative;
        value.bits = operands[0].bits;
        return value;
    }
    bool own_type = dtype == AKG_UINT32 || dtype == AKG_UINT64;
    const char *left = own_type ? emit_operand(emitter, operands[0], EMIT_MULTIPLY)
                                : cast_text(emitter, unsigned_type(dtype), operands[0]);
    struct emit_value value =
        made(dtype, depth, arena_format(&emitter->arena, "%s << %s", left, count), EMIT_SHIFT);
    if (own_type)
        return value;
    value.nonnegative = false;
    value.bits = UNBOUNDED;
    return cast_to(emitter, dtype, value);
}

static struct emit_value bitwise(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                                 const struct emit_value *operands)
{
    const char *text =
        arena_format(&emitter->arena, "%s %s %s", emit_operand(emitter, operands[0], EMIT_UNARY),
                     operation_table[operation].text, emit_operand(emitter, operands[1], EMIT_UNARY));
    struct emit_value value = made(dtype, emit_depth(operands, 2) + 1, text, EMIT_BITS);
    if (dtype_is_signed(dtype)) {
        bool a = operands[0].nonnegative, b = operands[1].nonnegative;
        value.nonnegative = operation == OP_BITAND ? a || b : a && b;
        value.bits = number_larger(operands[0].bits, operands[1].bits);
    }
    return value;
}

static struct emit_value complement(struct emitter *emitter, akg_dtype dtype, struct emit_value operand)
{
    if (dtype != AKG_BOOL && operand.bits <= 1 && operand.nonnegative) /* gcc takes ~ of a truth for a slip */
        operand = emit_hoist(emitter, dtype, operand);
    const char *text = arena_format(&emitter->arena, "%s%s", dtype == AKG_BOOL ? "!" : "~",
                                    emit_operand(emitter, operand, EMIT_UNARY));
    struct emit_value value = made(dtype, operand.depth + 1, text, dtype == AKG_BOOL ? EMIT_NOT : EMIT_UNARY);
    bool small_unsigned = dtype == AKG_UINT8 || dtype == AKG_UINT16;
    if (!small_unsigned)
        return value;
    value.nonnegative = false;
    return cast_to(emitter, dtype, value);
}

static struct emit_value magnitude(struct emitter *emitter, enum operation operation, akg_dtype dtype,
                                   struct emit_value operand)
{
    if (!dtype_is_signed(dtype) && operation == OP_ABS)
        return operand;
    if (!dtype_is_signed(dtype)) {
        struct emit_value positive = emit_integer_cast(emitter, AKG_BOOL, dtype, operand);
        return dtype_table[dtype].size < 4 ? positive : cast_to(emitter, dtype, positive);
    }
    if (operand.nonnegative && operation == OP_ABS)
        return operand;
    enum emit_snippet snippet = operation != OP_ABS      ? EMIT_SIGN_INT64
                                : is_int(emitter, dtype) ? EMIT_ABS_INT
                                                         : EMIT_ABS_INT64;
    struct emit_value call = emit_call(emitter, emit_snippet(snippet), 1, &operand);
    bool own_type = operation == OP_ABS ? dtype == AKG_INT64 : dtype != AKG_INT64;
    struct emit_value value = own_type ? call : cast_to(emitter, dtype, call);
    value.bits = operation == OP_ABS ? emit_dtype_bits(dtype) : 1;
    return value;
}

static struct emit_value popcount(struct emitter *emitter, akg_dtype dtype, struct emit_value operand)
{
    static const akg_dtype same_width[] = {
        [1] = AKG_UINT8, [2] = AKG_UINT16, [4] = AKG_UINT32, [8] = AKG_UINT64};
    if (dtype_is_signed(dtype) && dtype != AKG_INT64)
        operand = cast_from_small(emitter, same_width[dtype_table[dtype].size], operand);
    struct emit_value value = emit_call(emitter, "akg_popcount", 1, &operand);
    value.bits = 7;
    value.nonnegative = true;
    return dtype_table[dtype].size < 4 || dtype == AKG_INT32 ? value : cast_from_small(emitter, dtype, value);
}

struct emit_value emit_integer_operation(struct emitter *emitter, const struct ir_expr *expr,
                                         struct emit_value *operands)
{
    akg_dtype dtype = expr->dtype;
    enum operation operation = expr->operation;
    switch (operation) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
        return arithmetic(emitter, operation, dtype, operands);
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return divide(emitter, operation, dtype, operands);
    case OP_POW:
        return call64(emitter, dtype, function_for(dtype, OP_POW), 2, operands);
    case OP_MIN:
    case OP_MAX:
        return extremum(emitter, operation, dtype, operands);
    case OP_SHL:
    case OP_SHR:
        return shift(emitter, operation, dtype, operands);
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
        return bitwise(emitter, operation, dtype, operands);
    case OP_BITNOT:
        return complement(emitter, dtype, operands[0]);
    case OP_POPCOUNT:
        return popcount(emitter, dtype, operands[0]);
    default:
        return magnitude(emitter, operation, dtype, operands[0]);
    }
}
