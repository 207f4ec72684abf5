/*
 * vector_whole_power.c: whole powers of floats that are known, in lanes, as products.
 *
 * Consumes the value of a base of float32 or float64 and an exponent of up to VECTOR_MOST_WHOLE; produces
 * values of the same dtype. Up to the power of MOST_PLAIN each product is rounded, by which the result is
 * within 0.8 units for each factor, and within 1.5 where the exponent is negative. Of that the reciprocal
 * comes first: what its powers come to is 0 or infinite only where the result is. What it was rounded by, as
 * often as it is a factor, is put to one of them where these are many.
 *
 * Of higher powers, what the first square is rounded by would be in the result many times. So squares are two
 * numbers: the nearest one, and what it lacks. The result is a product of two that are rounded once each (or
 * of one and the base): each is joined of squares, of which what they lack is not left out. That is an error
 * of at most two units, for where a unit is most of the result the factors are twice theirs. What a
 * reciprocal lacks is put to what the first square lacks.
 *
 * Of two infinite numbers what one lacks is no number. So squares are cut off where the result is infinite.
 * Then what the first lacks is large or infinite, and above 0, and so is what is computed of it.
 */
#include "vector_build.h"

#include <math.h>

static int number(struct vector_builder *builder, akg_dtype real, double value)
{
    return vector_constant(builder, real, dtype_from_double(real, value));
}

static int apply(struct vector_builder *builder, enum operation operation, akg_dtype real, int a, int b)
{
    return vector_operation(builder, operation, real, real, a, b, -1);
}

/* The lesser (OP_LT) or greater (OP_GT) one: `a if a < b else b`, which is b where one of them is nan. */
static int extreme(struct vector_builder *builder, enum operation order, akg_dtype real, int a, int b)
{
    int is_first = vector_operation(builder, order, AKG_BOOL, real, a, b, -1);
    return vector_operation(builder, OP_SELECT, real, real, is_first, a, b);
}

/* ---- each product rounded -------------------------------------------------------------------------- */

/* 1 / x, and what it is too small by, as a share of it. */
static int reciprocal(struct vector_builder *builder, akg_dtype real, int x, int *lacks)
{
    int one = number(builder, real, 1), result = apply(builder, OP_TRUEDIV, real, one, x);
    *lacks = vector_fused(builder, OP_NEG, real, result, x, one);
    return result;
}

/* 1 / x with `times` what it was rounded by. What 0 and infinity lack is no number that is moderate; beside
 * these any that is above 0 leaves them what they are. */
static int corrected(struct vector_builder *builder, akg_dtype real, int inverse, int lacks, int times)
{
    int is_moderate =
        vector_operation(builder, OP_GT, AKG_BOOL, real, lacks, number(builder, real, -0.5), -1);
    int share = apply(builder, OP_MUL, real, lacks, number(builder, real, times));
    share =
        vector_operation(builder, OP_SELECT, real, real, is_moderate, share, number(builder, real, 0x1p-20));
    return vector_fused(builder, OP_ADD, real, inverse, share, inverse);
}

/* The power of an odd number, or of two, of which the base is the last factor, squared as often as that
 * takes. */
static int plain(struct vector_builder *builder, akg_dtype real, int x, int exponent)
{
    enum { MOST_UNCORRECTED = 6 };
    int left = exponent < 0 ? -exponent : exponent, squarings = 0, base = x, result = x, lacks;
    for (; left > 2 && left % 2 == 0; left /= 2)
        squarings++;
    if (exponent < 0) {
        base = reciprocal(builder, real, x, &lacks);
        result = -exponent > MOST_UNCORRECTED ? corrected(builder, real, base, lacks, left) : base;
    }
    if (left == 2)
        result = apply(builder, OP_MUL, real, base, result);
    for (left = left == 2 ? 0 : left / 2; left > 0; left /= 2) {
        base = apply(builder, OP_MUL, real, base, base);
        if (left % 2)
            result = apply(builder, OP_MUL, real, base, result);
    }
    for (; squarings > 0; squarings--)
        result = apply(builder, OP_MUL, real, result, result);
    return result;
}

/* ---- with what squares lack ------------------------------------------------------------------------ */

/* The nearest number, as a value, and what it lacks; -1: nothing. */
struct parts {
    int high, low;
};

struct power {
    struct vector_builder *builder;
    akg_dtype real;
    int exponent;    /* above 0 */
    int base, lacks; /* what the base is too small by, as a share of it; -1: nothing */
    int factors;     /* first squares that the result is a product of */
    struct parts squares[8];
    int count; /* of the squares that there are: that of number k is the base to the power 2^k */
};

static int product(const struct power *power, int a, int b)
{
    return apply(power->builder, OP_MUL, power->real, a, b);
}

static int sum_of_product(const struct power *power, int a, int b, int c)
{
    return vector_fused(power->builder, OP_ADD, power->real, a, b, c);
}

static struct parts first_square(const struct power *power)
{
    struct vector_builder *builder = power->builder;
    double largest = power->real == AKG_FLOAT64 ? 1024 : 128, beyond = 1 + 0x1p-20;
    int most = number(builder, power->real, exp2(2 * largest / power->exponent) * beyond);
    struct parts square;
    square.high = extreme(builder, OP_LT, power->real, most, product(power, power->base, power->base));
    square.low = vector_fused(builder, OP_SUB, power->real, power->base, power->base, square.high);
    if (power->lacks >= 0) {
        double times = (double)power->exponent / power->factors;
        int lacks = product(power, power->lacks, number(builder, power->real, times));
        square.low = sum_of_product(power, square.high, lacks, square.low);
    }
    return square;
}

static struct parts product_of_parts(const struct power *power, struct parts a, struct parts b)
{
    int high = product(power, a.high, b.high);
    int low = vector_fused(power->builder, OP_SUB, power->real, a.high, b.high, high);
    if (a.high == b.high)
        return (struct parts){
            high,
            sum_of_product(power, apply(power->builder, OP_ADD, power->real, a.low, a.low), a.high, low)};
    low = sum_of_product(power, a.low, b.high, low);
    return (struct parts){high, sum_of_product(power, a.high, b.low, low)};
}

/* Rounded once; b may be the base. */
static int joined(const struct power *power, struct parts a, struct parts b)
{
    int low;
    if (a.high == b.high) {
        low = product(power, apply(power->builder, OP_ADD, power->real, a.low, a.low), a.high);
    } else {
        low = product(power, a.low, b.high);
        low = b.low < 0 ? low : sum_of_product(power, a.high, b.low, low);
    }
    return sum_of_product(power, a.high, b.high, low);
}

static struct parts square_of_number(struct power *power, int k)
{
    for (; power->count <= k; power->count++) {
        struct parts last = power->squares[power->count - 1];
        power->squares[power->count] =
            power->count == 1 ? first_square(power) : product_of_parts(power, last, last);
    }
    return power->squares[k];
}

/* The numbers of the bits of an exponent, the highest first. */
static int bits_of(int exponent, int *bits)
{
    int count = 0;
    for (int k = 30; k >= 0; k--)
        if (exponent >> k & 1)
            bits[count++] = k;
    return count;
}

/* The power of one or two bits, rounded once. */
static int of_bits(struct power *power, const int *bits, int count)
{
    if (count == 1) {
        struct parts root = square_of_number(power, bits[0] - 1);
        return joined(power, root, root);
    }
    struct parts greater = square_of_number(power, bits[0]);
    return joined(power, greater, square_of_number(power, bits[1]));
}

/* Of five bits and more, the higher ones: all but the last three. */
static int of_many_bits(struct power *power, const int *bits, int count)
{
    struct parts result = square_of_number(power, bits[0]);
    for (int k = 1; k < count - 3; k++)
        result = product_of_parts(power, result, square_of_number(power, bits[k]));
    return joined(power, result, square_of_number(power, bits[count - 3]));
}

static int result_of(struct power *power)
{
    enum { EXACT = 2 /* bits that are rounded once */ };
    int bits[32], count = bits_of(power->exponent, bits), half = power->exponent / 2;
    bool is_square = power->exponent % 2 == 0 && count <= EXACT;
    power->factors = is_square ? half / 2 * 2 : half;
    if (is_square) {
        for (int k = 0; k < count; k++)
            bits[k]--;
        int root = of_bits(power, bits, count);
        return product(power, root, root);
    }
    int lower = count < 3 ? 1 : 2, higher = count - lower;
    int first = higher <= EXACT ? of_bits(power, bits, higher) : of_many_bits(power, bits, count);
    return product(power, first, lower == 1 ? power->base : of_bits(power, bits + higher, lower));
}

int vector_whole_power(struct vector_builder *builder, akg_dtype real, int x, int exponent)
{
    enum { MOST_PLAIN = 16 };
    struct power power = {.builder = builder,
                          .real = real,
                          .exponent = exponent < 0 ? -exponent : exponent,
                          .base = x,
                          .lacks = -1,
                          .count = 1};
    if (power.exponent <= MOST_PLAIN)
        return plain(builder, real, x, exponent);
    if (exponent < 0) { /* what 0 and infinity lack, as a share of them, is nothing: any small number does */
        power.base = reciprocal(builder, real, x, &power.lacks);
        power.lacks = extreme(builder, OP_GT, real, power.lacks, number(builder, real, -0x1p-20));
    }
    power.squares[0] = (struct parts){power.base, -1};
    return result_of(&power);
}
