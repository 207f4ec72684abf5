/*
 * vector_divide.c: quotients and remainders of integers in lanes, for which there is no instruction.
 *
 * Consumes a division; produces values that divide as float64, behind a test for 0 where the divisor may be
 * that. With inv = 1 / b, a product a * inv errs by less than 2^-50 of itself, so that
 *
 *   q = round(a * inv),  rest = a - q * b  (which wraps as integers do)
 *
 * leaves a rest of at most |b| / 2 where a has 32 bits, and of at most |b| / 2 + 2^13 where it has 64; of the
 * second, the rest divided once more is at most |b| / 2 too. What is left takes the sign of the divisor, as
 * the language floors. Integers of 8 and 16 bits, and what is made of such and stays below 2^16, go the same
 * way by float32. Where a lane's divisor is 0, for its iteration does not divide, the lane is worth nothing,
 * but stops nothing either. A divisor that is known makes one value, OP_FLOORDIV, of it
 * (vector_x86_divide.c).
 */
#include "../base/number.h"
#include "vector_build.h"

#include <stdlib.h>

/* What a division is made of. */
struct division {
    akg_dtype dtype; /* of the lanes: as many bits as the operands have, 32 at least */
    akg_dtype real;
    int divisor, inverse;
};

static int apply(struct vector_builder *builder, enum operation operation, akg_dtype dtype, int a, int b)
{
    return vector_operation(builder, operation, dtype, dtype, a, b, -1);
}

static int cast(struct vector_builder *builder, akg_dtype to, akg_dtype from, int a)
{
    return to == from ? a : vector_operation(builder, OP_CAST, to, from, a, -1, -1);
}

/* 1 / b: where b stays the same, C computes it before the loop. */
static int inverse_of(struct vector_builder *builder, const struct ir_expr *divisor,
                      const struct division *division)
{
    akg_dtype real = division->real;
    if (vector_is_invariant(builder, divisor)) {
        struct ir_expr *one = arena_new(builder->arena, struct ir_expr);
        *one = (struct ir_expr){.kind = IR_REAL, .dtype = real, .real = 1};
        return vector_expression(builder,
                                 vector_expr(builder, OP_TRUEDIV, real, one,
                                             vector_expr(builder, OP_CAST, real, divisor, NULL, NULL), NULL));
    }
    int one = vector_constant(builder, real, dtype_from_double(real, 1));
    return apply(builder, OP_TRUEDIV, real, one, cast(builder, real, division->dtype, division->divisor));
}

/* Of a whole number that so many bits hold; more than there are wrap. */
static int cast_whole(struct vector_builder *builder, akg_dtype to, akg_dtype from, int a, uint64_t bits)
{
    struct vector_value value = vector_blank(VECTOR_OPERATION, to);
    value.operation = OP_CAST;
    value.from = from;
    value.operands[0] = a;
    value.bits = bits;
    return vector_add(builder, value);
}

/* a / b to the nearest, or one beside it where both are as near as that; `bits` hold it. The least int32 over
 * -1 is none: a cast would saturate it, but its low bits are what it wraps to. */
static int quotient_of(struct vector_builder *builder, const struct division *division, int a, uint64_t bits)
{
    akg_dtype dtype = division->dtype, real = division->real;
    int product = apply(builder, OP_MUL, real, cast(builder, real, dtype, a), division->inverse);
    int quotient = apply(builder, OP_ROUND, real, product, -1);
    if (dtype != AKG_INT32 || real == AKG_FLOAT32 || builder->options->target == X86_TARGET_AVX2)
        return cast_whole(builder, dtype, real, quotient, bits);
    return cast(builder, dtype, AKG_INT64, cast(builder, AKG_INT64, real, quotient));
}

static int rest_of(struct vector_builder *builder, const struct division *division, int a, int quotient)
{
    akg_dtype dtype = division->dtype;
    return apply(builder, OP_SUB, dtype, a, apply(builder, OP_MUL, dtype, quotient, division->divisor));
}

/* Whether the rest, which is less than the divisor whatever the signs, has the other sign. */
static int is_turned(struct vector_builder *builder, const struct division *division, int rest)
{
    bool natural = division->dtype == AKG_UINT32;
    akg_dtype dtype = natural ? AKG_INT32 : division->dtype;
    int zero = vector_constant(builder, dtype, (union dtype_value){.i = 0});
    int sign = natural ? rest : apply(builder, OP_BITXOR, dtype, rest, division->divisor);
    int negative = vector_operation(builder, OP_LT, AKG_BOOL, dtype, sign, zero, -1);
    int some = vector_operation(builder, OP_NE, AKG_BOOL, dtype, rest, zero, -1);
    return apply(builder, OP_AND, AKG_BOOL, negative, some);
}

/* Less 1, only 0 is the largest number without a sign. */
static void test_divisor(struct vector_builder *builder, const struct division *division)
{
    akg_dtype dtype = division->dtype;
    int one = vector_constant(builder, dtype, (union dtype_value){.i = 1});
    int largest = vector_constant(builder, dtype, (union dtype_value){.i = -1});
    vector_test(builder, apply(builder, OP_SUB, dtype, division->divisor, one), largest);
}

/* By a number above 1 that is known: the machine code has a product for it. */
static bool is_known(const struct vector_builder *builder, akg_dtype dtype, int divisor)
{
    const struct vector_value *value = &builder->loop->values.items[divisor];
    return value->kind == VECTOR_CONSTANT && dtype_table[dtype].size <= 4 &&
           (dtype == AKG_UINT32 ? value->bits > 1 : (int32_t)(uint32_t)value->bits > 1);
}

static int divide_by_known(struct vector_builder *builder, const struct ir_expr *expr, int a, int b)
{
    akg_dtype dtype = expr->dtype, lane = dtype == AKG_UINT32 ? AKG_UINT32 : AKG_INT32;
    int quotient = apply(builder, OP_FLOORDIV, dtype, a, b);
    if (expr->operation == OP_FLOORDIV)
        return quotient;
    const struct division division = {.dtype = lane, .divisor = cast(builder, lane, dtype, b)};
    return cast(
        builder, dtype, lane,
        rest_of(builder, &division, cast(builder, lane, dtype, a), cast(builder, lane, dtype, quotient)));
}

/* ---- how large what is divided is --------------------------------------------------------------------- */

enum { ANY_BITS = 32, DEEPEST = 12 };

static int bits_of(const struct vector_builder *builder, int number, int depth);

/* Of an operation in 32 bits. */
static int bits_of_operation(const struct vector_builder *builder, const struct vector_value *value,
                             int depth)
{
    int bits[3];
    for (int k = 0; k < 3; k++)
        bits[k] = value->operands[k] < 0 ? 0 : bits_of(builder, value->operands[k], depth + 1);
    switch (value->operation) {
    case OP_CAST:
        return dtype_is_integer(value->from) && dtype_is_signed(value->dtype) >= dtype_is_signed(value->from)
                   ? bits[0]
                   : ANY_BITS;
    case OP_ADD:
        return number_larger(bits[0], bits[1]) + 1;
    case OP_SUB:
        return dtype_is_signed(value->dtype) ? number_larger(bits[0], bits[1]) + 1 : ANY_BITS;
    case OP_MUL:
        return bits[0] + bits[1];
    case OP_ABS:
        return bits[0];
    case OP_NEG:
        return dtype_is_signed(value->dtype) ? bits[0] : ANY_BITS;
    case OP_MIN:
    case OP_MAX:
        return number_larger(bits[0], bits[1]);
    case OP_SELECT:
        return number_larger(bits[1], bits[2]);
    default:
        return ANY_BITS;
    }
}

/* How many bits the magnitude has at most. */
static int bits_of(const struct vector_builder *builder, int number, int depth)
{
    const struct vector_value *value = &builder->loop->values.items[number];
    int size = dtype_table[value->dtype].size, bits = ANY_BITS;
    if (!dtype_is_integer(value->dtype) || size > 4 || depth > DEEPEST)
        return ANY_BITS;
    if (size < 4)
        return size * 8;
    if (value->kind == VECTOR_CONSTANT) {
        int64_t known = dtype_is_signed(value->dtype) ? (int32_t)value->bits : (int64_t)(uint32_t)value->bits;
        return known ? 64 - __builtin_clzll((uint64_t)llabs(known)) : 0;
    }
    if (value->kind == VECTOR_OPERATION)
        bits = bits_of_operation(builder, value, depth);
    return bits > ANY_BITS ? ANY_BITS : bits;
}

/* Whether float32 divides them, as it does integers of 16 bits. */
static bool is_short_division(const struct vector_builder *builder, akg_dtype dtype, int a, int b)
{
    return dtype_table[dtype].size <= 2 ||
           (dtype_table[dtype].size == 4 && bits_of(builder, a, 0) <= 16 && bits_of(builder, b, 0) <= 16);
}

int vector_divide(struct vector_builder *builder, const struct ir_expr *expr, int a, int b)
{
    akg_dtype dtype = expr->dtype;
    bool small = is_short_division(builder, dtype, a, b);
    struct division division = {.dtype = small ? AKG_INT32 : dtype,
                                .real = small ? AKG_FLOAT32 : AKG_FLOAT64};
    if (builder->nest || builder->is_serial || dtype == AKG_UINT64 || dtype == AKG_BOOL)
        return vector_refuse(builder);
    if (is_known(builder, dtype, b))
        return divide_by_known(builder, expr, a, b);
    a = cast(builder, division.dtype, dtype, a);
    division.divisor = cast(builder, division.dtype, dtype, b);
    if (expr->checked)
        test_divisor(builder, &division);
    division.inverse = inverse_of(builder, expr->operands[1], &division);
    bool wide = dtype == AKG_INT64;
    int quotient = quotient_of(builder, &division, a, wide ? 65 : 33);
    int rest = rest_of(builder, &division, a, quotient);
    if (wide) {
        int more = quotient_of(builder, &division, rest, 33);
        quotient = apply(builder, OP_ADD, dtype, quotient, more);
        rest = rest_of(builder, &division, rest, more);
    }
    int turned = is_turned(builder, &division, rest), result;
    if (expr->operation == OP_MOD)
        result = apply(builder, OP_ADD, division.dtype, rest, division.divisor);
    else
        result = apply(builder, OP_SUB, division.dtype, quotient,
                       vector_constant(builder, division.dtype, (union dtype_value){.i = 1}));
    result = vector_operation(builder, OP_SELECT, division.dtype, division.dtype, turned, result,
                              expr->operation == OP_MOD ? rest : quotient);
    return cast(builder, dtype, division.dtype, result);
}
