/*
 * vector_power.c: powers of floats in lanes.
 *
 * Squares, cubes and reciprocals are what akg_pow makes of them, and fourth powers products too. Other powers
 * of float32 and of halves are computed in float64, whose 53 bits leave the rounding to float32 the only one
 * that counts: whole ones that are known by squaring, others as 2^(y log2 |x|); what is negative or 0 gets
 * its sign, and nan, by whether y is whole and odd. No part of strict results, which, as powers of float64,
 * are computed by a function.
 */
#include "vector_build.h"

#include <math.h>

static int number(struct vector_builder *builder, akg_dtype dtype, double value)
{
    return vector_constant(builder, dtype, dtype_from_double(dtype, value));
}

static int apply(struct vector_builder *builder, enum operation operation, akg_dtype dtype, int a, int b)
{
    return vector_operation(builder, operation, dtype, dtype, a, b, -1);
}

static int cast(struct vector_builder *builder, akg_dtype to, akg_dtype from, int a)
{
    return to == from ? a : vector_operation(builder, OP_CAST, to, from, a, -1, -1);
}

static int compare(struct vector_builder *builder, enum operation operation, akg_dtype dtype, int a, int b)
{
    return vector_operation(builder, operation, AKG_BOOL, dtype, a, b, -1);
}

static int both(struct vector_builder *builder, int a, int b)
{
    return apply(builder, OP_AND, AKG_BOOL, a, b);
}

static int either(struct vector_builder *builder, int a, int b)
{
    return apply(builder, OP_OR, AKG_BOOL, a, b);
}

static int choose(struct vector_builder *builder, int condition, int a, int b)
{
    return vector_operation(builder, OP_SELECT, AKG_FLOAT64, AKG_FLOAT64, condition, a, b);
}

/* What akg_pow computes by products, or what these are within 2 units of; -1: not that power. */
static int by_products(struct vector_builder *builder, akg_dtype real, int a, double exponent)
{
    double most = builder->options->strict ? 3 : 4;
    if (exponent == -1)
        return apply(builder, OP_TRUEDIV, real, number(builder, real, 1), a);
    if (exponent != floor(exponent) || exponent < 2 || exponent > most)
        return -1;
    int square = apply(builder, OP_MUL, real, a, a);
    return exponent == 2 ? square : apply(builder, OP_MUL, real, square, exponent == 3 ? a : square);
}

/* Between numbers whose products with others are beyond what 2^p is 0 or infinite for, and with 0 are 0. */
static int bounded(struct vector_builder *builder, int a)
{
    const double large = 1e300;
    int below = apply(builder, OP_MIN, AKG_FLOAT64, a, number(builder, AKG_FLOAT64, large));
    return apply(builder, OP_MAX, AKG_FLOAT64, below, number(builder, AKG_FLOAT64, -large));
}

/* y is not whole: of what is negative nan, of which infinity is none. */
static int by_fraction(struct vector_builder *builder, int x, double exponent)
{
    int infinity = number(builder, AKG_FLOAT64, INFINITY);
    int is_lowest = compare(builder, OP_EQ, AKG_FLOAT64, x, number(builder, AKG_FLOAT64, -INFINITY));
    int logarithm = apply(builder, OP_LOG2, AKG_FLOAT64, choose(builder, is_lowest, infinity, x), -1);
    int product = apply(builder, OP_MUL, AKG_FLOAT64, logarithm, number(builder, AKG_FLOAT64, exponent));
    return apply(builder, OP_EXP2, AKG_FLOAT64, product, -1);
}

/* y is whole. What overflows or vanishes in float64 does so in float32. */
static int by_squaring(struct vector_builder *builder, int x, double exponent)
{
    int result = -1, one = number(builder, AKG_FLOAT64, 1);
    for (int left = (int)fabs(exponent); left > 0; left /= 2) {
        if (left % 2)
            result = result < 0 ? x : apply(builder, OP_MUL, AKG_FLOAT64, result, x);
        if (left > 1)
            x = apply(builder, OP_MUL, AKG_FLOAT64, x, x);
    }
    if (result < 0)
        return one;
    return exponent > 0 ? result : apply(builder, OP_TRUEDIV, AKG_FLOAT64, one, result);
}

static int is_whole(struct vector_builder *builder, int a)
{
    return compare(builder, OP_EQ, AKG_FLOAT64, apply(builder, OP_FLOOR, AKG_FLOAT64, a, -1), a);
}

/* Any y: nan ^ 0 and 1 ^ nan are 1. */
static int by_any(struct vector_builder *builder, int x, int y)
{
    int zero = number(builder, AKG_FLOAT64, 0), one = number(builder, AKG_FLOAT64, 1);
    int size = apply(builder, OP_ABS, AKG_FLOAT64, x, -1);
    int logarithm = bounded(builder, apply(builder, OP_LOG2, AKG_FLOAT64, size, -1));
    int product = apply(builder, OP_MUL, AKG_FLOAT64, logarithm, bounded(builder, y));
    int power = apply(builder, OP_EXP2, AKG_FLOAT64, product, -1);
    int negative = compare(builder, OP_LT, AKG_FLOAT64, x, zero);
    int reciprocal = apply(builder, OP_TRUEDIV, AKG_FLOAT64, one, x); /* tells -0 */
    int has_sign = either(builder, negative, compare(builder, OP_LT, AKG_FLOAT64, reciprocal, zero));
    int half = apply(builder, OP_MUL, AKG_FLOAT64, y, number(builder, AKG_FLOAT64, 0.5));
    int whole = is_whole(builder, y);
    int odd = both(builder, whole, apply(builder, OP_NOT, AKG_BOOL, is_whole(builder, half), -1));
    int finite = compare(builder, OP_NE, AKG_FLOAT64, x, number(builder, AKG_FLOAT64, -INFINITY));
    int none = both(builder, both(builder, negative, finite), apply(builder, OP_NOT, AKG_BOOL, whole, -1));
    power =
        choose(builder, both(builder, odd, has_sign), apply(builder, OP_NEG, AKG_FLOAT64, power, -1), power);
    power = choose(builder, none, number(builder, AKG_FLOAT64, NAN), power);
    int is_one = either(builder, compare(builder, OP_EQ, AKG_FLOAT64, x, one),
                        compare(builder, OP_EQ, AKG_FLOAT64, y, zero));
    return choose(builder, is_one, one, power);
}

int vector_power(struct vector_builder *builder, akg_dtype dtype, int a, int b)
{
    enum { MOST_SQUARED = 1 << 20 };
    const struct vector_value *exponent = &builder->loop->values.items[b];
    akg_dtype real = dtype_is_half(dtype) ? AKG_FLOAT32 : dtype;
    double known = exponent->kind == VECTOR_CONSTANT ? vector_number(exponent->type, exponent->bits) : NAN;
    if (!dtype_is_float(dtype))
        return -1;
    int result = by_products(builder, real, a, known);
    if (result >= 0)
        return cast(builder, dtype, real, result);
    if (real == AKG_FLOAT64 || builder->options->strict)
        return -1;
    int x = cast(builder, AKG_FLOAT64, dtype, a);
    if (isfinite(known) && known != floor(known))
        result = by_fraction(builder, x, known);
    else if (fabs(known) <= MOST_SQUARED)
        result = by_squaring(builder, x, known);
    else
        result = by_any(builder, x, cast(builder, AKG_FLOAT64, dtype, b));
    return cast(builder, dtype, AKG_FLOAT64, result);
}
