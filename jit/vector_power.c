/*
 * vector_power.c: powers in lanes: of floats, and known ones of integers, which are products.
 *
 * Squares, cubes and reciprocals are what akg_pow makes of them, and fourth powers and other whole ones that
 * are known products too (vector_whole_power.c); what is whole and a half, or a fourth, takes square roots,
 * and a third has a root of its own (vector_x86_root.c).
 * Other powers of float32 and of halves are computed in float64, whose 53 bits leave the rounding to float32
 * the only one that counts: whole ones that are known by squaring, others as 2^(y log2 |x|); what is negative
 * or 0 gets its sign, and nan, by whether y is whole and odd. A base that is the same in all iterations has
 * one logarithm, which C computes before the loop to more digits than the lanes have: as the sum of two of
 * their numbers, so that lanes of float32 stay what they are, and float64 needs no function. No part of
 * strict results, which, as other powers of float64, are computed by a function.
 */
#include "scalar_library.h"
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

static int choose(struct vector_builder *builder, akg_dtype dtype, int condition, int a, int b)
{
    return vector_operation(builder, OP_SELECT, dtype, dtype, condition, a, b);
}

/* What akg_pow computes by products, or what these are within 2 units of; -1: not that power. */
static int by_products(struct vector_builder *builder, akg_dtype real, int a, double exponent)
{
    double most = builder->options->strict ? 3 : 4;
    if (exponent == -1)
        return apply(builder, OP_TRUEDIV, real, number(builder, real, 1), a);
    if (exponent == -2 && !builder->options->strict) {
        int inverse = apply(builder, OP_TRUEDIV, real, number(builder, real, 1), a);
        return apply(builder, OP_MUL, real, inverse, inverse);
    }
    if (exponent != floor(exponent) || exponent < 2 || exponent > most)
        return -1;
    int square = apply(builder, OP_MUL, real, a, a);
    return exponent == 2 ? square : apply(builder, OP_MUL, real, square, exponent == 3 ? a : square);
}

/* The operation where `bits` says more of it: OP_ABS or OP_SQRT of what is no -0 or -infinity, but without a
 * sign; of float64 OP_LOG2 of a float32, or OP_EXP2 for one. */
static int apply_known(struct vector_builder *builder, enum operation operation, akg_dtype real, int a)
{
    struct vector_value value = vector_blank(VECTOR_OPERATION, real);
    value.operation = operation;
    value.from = real;
    value.operands[0] = a;
    value.bits = 1;
    return vector_add(builder, value);
}

/* Products of square roots and of whole powers, within 2.1 units; -1: not that power. Of -0 and of -infinity
 * powers are those of 0 and of infinity, and roots are not. */
static int by_roots(struct vector_builder *builder, akg_dtype real, int a, double exponent)
{
    double size = fabs(exponent), whole = floor(size), rest = size - whole;
    bool is_half = rest == 0.5 && exponent >= -1.5 && exponent <= 2.5;
    bool is_fourth = rest == 0.25 && exponent >= -0.25 && exponent <= 1.25;
    if (!is_half && !is_fourth)
        return -1;
    if (exponent < 0) { /* a product may be 0 or infinite where this is not */
        int x = apply_known(builder, OP_ABS, real, a);
        int inverse = apply(builder, OP_RSQRT, real, x, -1);
        if (is_fourth)
            inverse = apply(builder, OP_SQRT, real, inverse, -1);
        return whole == 0 ? inverse : apply(builder, OP_TRUEDIV, real, inverse, x);
    }
    int root = apply_known(builder, OP_SQRT, real, a);
    if (is_fourth)
        root = apply(builder, OP_SQRT, real, root, -1);
    if (whole == 0)
        return root;
    int x = whole == 1 ? apply(builder, OP_ABS, real, a, -1) : apply(builder, OP_MUL, real, a, a);
    return apply(builder, OP_MUL, real, x, root); /* of what is below 0 the root is nan, and so is this */
}

/* x ^ (1 / 3), within 1.2 units; -1: it is another power. */
static int by_cube_root(struct vector_builder *builder, akg_dtype real, int a, double exponent)
{
    struct vector_value root = vector_blank(VECTOR_OPERATION, real);
    if (exponent != (real == AKG_FLOAT64 ? 1.0 / 3 : (double)(float)(1.0 / 3)))
        return -1;
    root.operation = OP_POW;
    root.operands[0] = a;
    root.bits = 1;
    return vector_add(builder, root);
}

/* A whole power of a half: float32 has so many more digits that each product may be rounded. */
static int of_half(struct vector_builder *builder, int a, double exponent)
{
    int result = -1;
    if (exponent < 0)
        a = apply(builder, OP_TRUEDIV, AKG_FLOAT32, number(builder, AKG_FLOAT32, 1), a);
    for (int left = (int)fabs(exponent); left > 0; left /= 2) {
        if (left % 2)
            result = result < 0 ? a : apply(builder, OP_MUL, AKG_FLOAT32, result, a);
        if (left > 1)
            a = apply(builder, OP_MUL, AKG_FLOAT32, a, a);
    }
    return result;
}

/* ---- powers of float32, in float64 ------------------------------------------------------------------ */

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
    int logarithm =
        apply_known(builder, OP_LOG2, AKG_FLOAT64, choose(builder, AKG_FLOAT64, is_lowest, infinity, x));
    int product = apply(builder, OP_MUL, AKG_FLOAT64, logarithm, number(builder, AKG_FLOAT64, exponent));
    return apply_known(builder, OP_EXP2, AKG_FLOAT64, product);
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

static int is_whole(struct vector_builder *builder, akg_dtype dtype, int a)
{
    return compare(builder, OP_EQ, dtype, apply(builder, OP_FLOOR, dtype, a, -1), a);
}

/* Any y: nan ^ 0 and 1 ^ nan are 1. */
static int by_any(struct vector_builder *builder, int x, int y)
{
    int zero = number(builder, AKG_FLOAT64, 0), one = number(builder, AKG_FLOAT64, 1);
    int size = apply(builder, OP_ABS, AKG_FLOAT64, x, -1);
    int logarithm = bounded(builder, apply_known(builder, OP_LOG2, AKG_FLOAT64, size));
    int product = apply(builder, OP_MUL, AKG_FLOAT64, logarithm, bounded(builder, y));
    int power = apply_known(builder, OP_EXP2, AKG_FLOAT64, product);
    int negative = compare(builder, OP_LT, AKG_FLOAT64, x, zero);
    int reciprocal = apply(builder, OP_TRUEDIV, AKG_FLOAT64, one, x); /* tells -0 */
    int has_sign = either(builder, negative, compare(builder, OP_LT, AKG_FLOAT64, reciprocal, zero));
    int half = apply(builder, OP_MUL, AKG_FLOAT64, y, number(builder, AKG_FLOAT64, 0.5));
    int whole = is_whole(builder, AKG_FLOAT64, y);
    int odd =
        both(builder, whole, apply(builder, OP_NOT, AKG_BOOL, is_whole(builder, AKG_FLOAT64, half), -1));
    int finite = compare(builder, OP_NE, AKG_FLOAT64, x, number(builder, AKG_FLOAT64, -INFINITY));
    int none = both(builder, both(builder, negative, finite), apply(builder, OP_NOT, AKG_BOOL, whole, -1));
    power = choose(builder, AKG_FLOAT64, both(builder, odd, has_sign),
                   apply(builder, OP_NEG, AKG_FLOAT64, power, -1), power);
    power = choose(builder, AKG_FLOAT64, none, number(builder, AKG_FLOAT64, NAN), power);
    int is_one = either(builder, compare(builder, OP_EQ, AKG_FLOAT64, x, one),
                        compare(builder, OP_EQ, AKG_FLOAT64, y, zero));
    return choose(builder, AKG_FLOAT64, is_one, one, power);
}

/* ---- a base that stays the same ----------------------------------------------------------------- */

/* log2 of a base, as values: the nearest number, and what it lacks; -1: nothing. */
struct base {
    akg_dtype real;
    int high, low;
    bool is_shift; /* the logarithm is a power of two, by which products are exact */
    int size, sign,
        fraction; /* factors of powers that are odd, and not whole; of a positive base size is -1 */
};

/* 2^(y (high + low)), within 1.1 units. Where the product is far beyond what has a power, or infinite, the
 * rest is nothing that could be computed with. */
static int by_logarithm(struct vector_builder *builder, const struct base *base, int y)
{
    const double far = 2048;
    akg_dtype real = base->real;
    int product = apply(builder, OP_MUL, real, base->high, y);
    if (base->is_shift)
        return apply(builder, OP_EXP2, real, product, -1);
    int rest = vector_fused(builder, OP_SUB, real, base->high, y, product);
    if (base->low >= 0)
        rest = vector_fused(builder, OP_ADD, real, base->low, y, rest);
    int size = apply(builder, OP_ABS, real, product, -1);
    int near = compare(builder, OP_LT, real, size, number(builder, real, far));
    rest = choose(builder, real, near, rest, number(builder, real, 0));
    return apply(builder, OP_EXP2, real, product, rest);
}

/* Of a base of any sign: y 0 and a base of size 1 make 1 whatever the other one is, but for the factors. */
static int with_factors(struct vector_builder *builder, const struct base *base, int y, bool is_whole_number,
                        int power)
{
    akg_dtype real = base->real;
    int one = number(builder, real, 1);
    int is_one = either(builder, compare(builder, OP_EQ, real, y, number(builder, real, 0)),
                        compare(builder, OP_EQ, real, base->size, one));
    int half = apply(builder, OP_MUL, real, y, number(builder, real, 0.5));
    int factor = choose(builder, real, is_whole(builder, real, half), one, base->sign);
    if (!is_whole_number)
        factor = choose(builder, real, is_whole(builder, real, y), factor, base->fraction);
    return apply(builder, OP_MUL, real, choose(builder, real, is_one, one, power), factor);
}

static struct base base_of_number(struct vector_builder *builder, akg_dtype real, double x)
{
    double high = real == AKG_FLOAT64 ? log2(x) : (double)(float)log2(x);
    double low = real == AKG_FLOAT64 ? akg_log2_rest(x) : log2(x) - high;
    int exponent;
    return (struct base){.real = real,
                         .high = number(builder, real, high),
                         .low = low == 0 ? -1 : number(builder, real, low),
                         .is_shift = low == 0 && frexp(fabs(high), &exponent) == 0.5};
}

static const struct ir_expr *real_expr(struct vector_builder *builder, akg_dtype dtype, double value)
{
    struct ir_expr *expr = arena_new(builder->arena, struct ir_expr);
    *expr = (struct ir_expr){.kind = IR_REAL, .dtype = dtype, .real = value};
    return expr;
}

static const struct ir_expr *cast_expr(struct vector_builder *builder, akg_dtype dtype,
                                       const struct ir_expr *expr)
{
    return expr->dtype == dtype ? expr : vector_expr(builder, OP_CAST, dtype, expr, NULL, NULL);
}

/* -1 where the base is negative, or -0; nan where it is negative and finite. */
static void find_factors(struct vector_builder *builder, struct base *base, const struct ir_expr *x)
{
    akg_dtype real = base->real;
    const struct ir_expr *zero = real_expr(builder, real, 0), *one = real_expr(builder, real, 1);
    const struct ir_expr *reciprocal = vector_expr(builder, OP_TRUEDIV, real, one, x, NULL);
    const struct ir_expr *least = vector_expr(builder, OP_MIN, real, x, reciprocal, NULL);
    const struct ir_expr *has_sign = vector_expr(builder, OP_LT, AKG_BOOL, least, zero, NULL);
    const struct ir_expr *lowest =
        vector_expr(builder, OP_EQ, AKG_BOOL, x, real_expr(builder, real, -INFINITY), NULL);
    const struct ir_expr *fraction =
        vector_expr(builder, OP_SELECT, real, lowest, one, real_expr(builder, real, NAN));
    const struct ir_expr *is_negative = vector_expr(builder, OP_LT, AKG_BOOL, x, zero, NULL);
    const struct ir_expr *minus = real_expr(builder, real, -1);
    base->sign = vector_expression(builder, vector_expr(builder, OP_SELECT, real, has_sign, minus, one));
    base->fraction =
        vector_expression(builder, vector_expr(builder, OP_SELECT, real, is_negative, fraction, one));
}

static struct base base_of_expression(struct vector_builder *builder, akg_dtype real, const struct ir_expr *x)
{
    struct base base = {.real = real};
    x = cast_expr(builder, real, x);
    const struct ir_expr *size = vector_expr(builder, OP_ABS, real, x, NULL, NULL);
    const struct ir_expr *logarithm =
        vector_expr(builder, OP_LOG2, AKG_FLOAT64, cast_expr(builder, AKG_FLOAT64, size), NULL, NULL);
    const struct ir_expr *high = cast_expr(builder, real, logarithm);
    base.size = vector_expression(builder, size);
    base.high = vector_expression(builder, high);
    find_factors(builder, &base, x);
    if (real == AKG_FLOAT64) {
        base.low = vector_logarithm_rest(builder, size);
    } else {
        const struct ir_expr *low =
            vector_expr(builder, OP_SUB, AKG_FLOAT64, logarithm, cast_expr(builder, AKG_FLOAT64, high), NULL);
        base.low = vector_expression(builder, cast_expr(builder, real, low));
    }
    return base;
}

static bool is_from_integer(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && value->operation == OP_CAST && !dtype_is_float(value->from);
}

/* -1: it does not stay the same, or is a known number that is no usual one. */
static int of_base(struct vector_builder *builder, akg_dtype real, int a, int b)
{
    struct vector_value x = builder->loop->values.items[a], exponent = builder->loop->values.items[b];
    double known = x.kind == VECTOR_CONSTANT ? vector_number(x.type, x.bits) : 0;
    if (known > 0 && isfinite(known) && known != 1) {
        struct base base = base_of_number(builder, real, known);
        return by_logarithm(builder, &base, cast(builder, real, exponent.dtype, b));
    }
    const struct vector_argument *argument =
        x.kind == VECTOR_SCALAR ? &builder->loop->arguments.items[x.slot] : NULL;
    if (!argument || argument->kind != VECTOR_ARGUMENT_VALUE)
        return -1;
    struct base base = base_of_expression(builder, real, argument->value);
    int y = cast(builder, real, exponent.dtype, b);
    return with_factors(builder, &base, y, is_from_integer(&exponent), by_logarithm(builder, &base, y));
}

/* Products that wrap are those of integers that do not, as far as there are bits. */
static int of_integer(struct vector_builder *builder, akg_dtype dtype, int a,
                      const struct vector_value *exponent)
{
    enum { MOST = 64 };
    int64_t left = (int64_t)exponent->bits;
    int result = -1;
    if (exponent->kind != VECTOR_CONSTANT || left < 0 || left > MOST || dtype == AKG_BOOL)
        return -1;
    for (; left > 0; left /= 2) {
        if (left % 2)
            result = result < 0 ? a : apply(builder, OP_MUL, dtype, result, a);
        if (left > 1)
            a = apply(builder, OP_MUL, dtype, a, a);
    }
    return result < 0 ? vector_constant(builder, dtype, (union dtype_value){.i = 1}) : result;
}

/* A whole exponent that is moderate. */
static int by_whole(struct vector_builder *builder, akg_dtype dtype, akg_dtype real, int a, double exponent)
{
    if (exponent == 0 || exponent == 1)
        return exponent == 0 ? number(builder, real, 1) : a;
    return dtype == real ? vector_whole_power(builder, real, a, (int)exponent)
                         : of_half(builder, a, exponent);
}

int vector_power(struct vector_builder *builder, akg_dtype dtype, int a, int b)
{
    enum { MOST_SQUARED = 1 << 20, MOST_OF_HALF = 64 };
    const struct vector_value *exponent = &builder->loop->values.items[b];
    akg_dtype real = dtype_is_half(dtype) ? AKG_FLOAT32 : dtype;
    if (!dtype_is_float(dtype))
        return of_integer(builder, dtype, a, exponent);
    double known = exponent->kind == VECTOR_CONSTANT ? vector_number(exponent->type, exponent->bits) : NAN;
    int result = by_products(builder, real, a, known);
    if (result >= 0)
        return cast(builder, dtype, real, result);
    if (builder->options->strict)
        return -1;
    result = by_roots(builder, real, a, known);
    if (result < 0 && real == dtype)
        result = by_cube_root(builder, real, a, known);
    if (result < 0)
        result = of_base(builder, real, a, b);
    if (result < 0 && known == floor(known) &&
        fabs(known) <= (real == dtype ? VECTOR_MOST_WHOLE : MOST_OF_HALF))
        result = by_whole(builder, dtype, real, a, known);
    if (result >= 0 || real == AKG_FLOAT64)
        return result < 0 ? -1 : cast(builder, dtype, real, result);
    int x = cast(builder, AKG_FLOAT64, dtype, a);
    if (isfinite(known) && known != floor(known))
        result = by_fraction(builder, x, known);
    else if (fabs(known) <= MOST_SQUARED)
        result = by_squaring(builder, x, known);
    else
        result = by_any(builder, x, cast(builder, AKG_FLOAT64, dtype, b));
    return cast(builder, dtype, AKG_FLOAT64, result);
}
