/*
 * vector_x86_root.c: x ^ (1 / 3), in line.
 *
 * The bits of a float, as a number, are about its logarithm: a third of them, taken from a constant, is an
 * estimate r of 1 / cbrt(x) by which 1 - x r^3 is at most 0.103. A step of Householder's leaves the fourth
 * power of that, and another one nothing. y = x r^2 is the root, to which goes what its cube lacks of x. The
 * exponent is a third rounded to the dtype, so that y^(1 + d) is what is asked for: d times the logarithm of
 * y^3, of which the bits tell enough. Within 1.2 units, and within 0.75 where x is no subnormal number.
 */
#include "vector_x86_math.h"

#include <math.h>

/* What is added to a number so that the low half of float64 holds it. */
#define WHOLE 0x1p52

/* The bits of a number that is not negative, about; of float64 the upper half. */
static int bits_as_number(const struct real *real, int x)
{
    if (!real->wide)
        return machine_rm(real->machine, X86_VCVTDQ2PS, real->bits, x);
    int upper = machine_rvm(real->machine, X86_VORPD, real->bits, real_shift_right(real, x, 32),
                            real_number(real, WHOLE));
    return real_subtract(real, upper, real_number(real, WHOLE));
}

static int estimate(const struct real *real, int number)
{
    const double start = real->wide ? 0x1.54fbap+30 : 0x1.5287cp+30;
    int third = real_minus_product(real, real_number(real, start + (real->wide ? WHOLE : 0)), number,
                                   real_number(real, 1.0 / 3));
    return real->wide ? real_shift_left(real, third, 32)
                      : machine_rm(real->machine, X86_VCVTTPS2DQ, real->bits, third);
}

/* Of what is left: 1 / 3, 2 / 9 and 14 / 81 are the first coefficients of (1 - e)^(-1/3). */
static int improved(const struct real *real, int x, int r)
{
    int square = real_multiply(real, r, r), product = real_multiply(real, x, r);
    int left = real_minus_product(real, real_number(real, 1), square, product);
    int share = real_polynomial(real, left, COEFFICIENTS(14.0 / 81, 2.0 / 9, 1.0 / 3));
    return real_plus_product(real, r, real_multiply(real, r, left), share);
}

/* What is subnormal is lifted; `factor` is by how much the root is too large then, and nan where there is
 * none. What is lifted has a logarithm that is that much greater, too. */
static int lifted(const struct real *real, int x, double excess, int *factor)
{
    int digits = real->wide ? 54 : 24, size = real_magnitude(real, x);
    int low = real_compare(real, OP_LT, size, real_number(real, real->wide ? 0x1p-1022 : 0x1p-126));
    int positive = real_compare(real, OP_GE, x, real_number(real, 0));
    double back = exp2(-digits / 3) * (1 - digits * M_LN2 * excess);
    *factor = real_select(real, low, real_number(real, back), real_number(real, 1));
    *factor = real_select(real, positive, *factor, real_number(real, __builtin_nan("")));
    return real_select(real, low, real_multiply(real, size, real_number(real, exp2(digits))), size);
}

int real_cube_root(const struct real *real, int x)
{
    /* what the exponent is above a third */
    const double excess = real->wide ? -0x1.5555555555555p-56 : 0x1.5555555555555p-27;
    int factor, size = lifted(real, x, excess, &factor);
    int number = bits_as_number(real, size), r = estimate(real, number);
    for (int steps = real->wide ? 2 : 1; steps > 0; steps--)
        r = improved(real, size, r);
    int square = real_multiply(real, r, r), y = real_multiply(real, size, square);
    int of_y = real_multiply(real, y, y);
    int lacks = real_minus_product(real, size, of_y, y);
    lacks = real_minus_product(real, lacks, real_rest(real, y, y, of_y), y);
    lacks = real_multiply(real, lacks, real_multiply(real, square, real_number(real, 1.0 / 3)));
    double unit = excess * M_LN2 * (real->wide ? 0x1p-20 : 0x1p-23), bias = real->wide ? 1023 : 127;
    int logarithm =
        real_plus_product(real, real_number(real, -bias * M_LN2 * excess), number, real_number(real, unit));
    lacks = real_plus_product(real, lacks, y, logarithm);
    int root = real_multiply(real, real_add(real, y, lacks), factor);
    int is_finite = real_compare(real, OP_LT, size, real_number(real, __builtin_inf()));
    return real_select(real, is_finite, root, size);
}
