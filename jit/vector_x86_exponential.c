/*
 * vector_x86_exponential.c: exp and what is made of it: exp2, expm1, sinh, cosh, tanh, in line.
 *
 * All reduce x to n * ln 2 + f with |f| up to ln 2 / 2 (tanh: half of both), and make 2^n by adding n to
 * exponents. With fused steps the first, that takes n times the float nearest to ln 2 away, is exact; float32
 * takes a shorter one.
 */
#include "vector_x86_math.h"

struct parts {
    int n, shifted; /* a whole number, and what has it in its low bits */
    int rest;
};

static struct parts reduced(const struct real *real, int x, double per, double high, double low)
{
    struct parts parts;
    int rounder = real_number(real, real->rounder);
    parts.shifted = real_plus_product(real, rounder, x, real_number(real, per));
    parts.n = real_subtract(real, parts.shifted, rounder);
    parts.rest = real_plus_product(real, x, parts.n, real_number(real, -high));
    if (low != 0)
        parts.rest = real_plus_product(real, parts.rest, parts.n, real_number(real, -low));
    return parts;
}

static const double per_log2 = 0x1.71547652b82fep+0, high_log2 = 0x1.62e42fefa39efp-1,
                    low_log2 = 0x1.abc9e3b39803fp-56;

static struct parts reduced_by_log2(const struct real *real, int x)
{
    return real->wide ? reduced(real, x, per_log2, high_log2, low_log2)
                      : reduced(real, x, per_log2, 0x1.62e400p-1, 0x1.7f7d1cp-20);
}

/* ---- powers of two -------------------------------------------------------------------------- */

/* 2^(n + more) where that is a normal number. */
static int power(const struct real *real, int shifted, int more)
{
    int bias = real_pattern(real, (uint32_t)(127 + more) << 23, (uint64_t)(1023 + more) << 52);
    return real_integer_add(real, real_shift_left(real, shifted, real->digits), bias);
}

/* a * 2^n for whole n down to subnormal results: in one step, or in two of which the first is exact. */
static int scaled(const struct real *real, int a, const struct parts *parts)
{
    if (machine_is_avx512(real->machine))
        return machine_rvm(real->machine, real->wide ? X86_VSCALEFPD : X86_VSCALEFPS, real->bits, a,
                           parts->n);
    int rounder = real_number(real, real->rounder);
    int half = real_plus_product(real, rounder, parts->n, real_number(real, 0.5));
    int rest = real_add(real, real_subtract(real, parts->n, real_subtract(real, half, rounder)), rounder);
    return real_multiply(real, real_multiply(real, a, power(real, half, 0)), power(real, rest, 0));
}

/* a * 2^n where that is a normal number. */
static int scaled_near(const struct real *real, int a, const struct parts *parts)
{
    if (machine_is_avx512(real->machine))
        return scaled(real, a, parts);
    return real_multiply(real, a, power(real, parts->shifted, 0));
}

/* ---- exp, exp2 -------------------------------------------------------------------------------- */

/* e^f for |f| up to ln 2 / 2. */
static int small_exponential(const struct real *real, int f)
{
    if (!real->wide)
        return real_polynomial(
            real, f,
            COEFFICIENTS(0x1.694000p-10, 0x1.125edcp-7, 0x1.555b5ap-5, 0x1.555450p-3, 0x1.fffff6p-2, 1, 1));
    return real_polynomial(real, f,
                           COEFFICIENTS(0x1.adc18f6eba220p-26, 0x1.28ae68638800fp-22, 0x1.71defc8660715p-19,
                                        0x1.a01998e4b54acp-16, 0x1.a01a013b8fd64p-13, 0x1.6c16c184a28acp-10,
                                        0x1.1111111124ebdp-7, 0x1.5555555550629p-5, 0x1.5555555555503p-3,
                                        0x1.000000000000ap-1, 1, 1));
}

int real_exponential(const struct real *real, int x)
{
    x = real->wide ? real_clamped(real, x, -746, 710) : real_clamped(real, x, -104, 89);
    struct parts parts = reduced_by_log2(real, x);
    return scaled(real, small_exponential(real, parts.rest), &parts);
}

/* ln 2 may be off by what the nearest float is: n times 2^n is the error. */
int real_near_exponential(const struct real *real, int x)
{
    struct parts parts = reduced(real, x, per_log2, high_log2, 0);
    return scaled_near(real, small_exponential(real, parts.rest), &parts);
}

/* The factor before the power of two, so that what is subnormal is rounded once. */
int real_bell(const struct real *real, int square, int rest, int factor)
{
    struct parts parts = reduced_by_log2(real, real_subtract(real, real_number(real, 0), square));
    int small = small_exponential(real, real_subtract(real, parts.rest, rest));
    return scaled(real, real_multiply(real, small, factor), &parts);
}

int real_exponential2(const struct real *real, int x, int rest)
{
    struct parts parts;
    int rounder = real_number(real, real->rounder);
    x = real->wide ? real_clamped(real, x, -1076, 1025) : real_clamped(real, x, -151, 129);
    parts.shifted = real_add(real, x, rounder);
    parts.n = real_subtract(real, parts.shifted, rounder);
    int fraction = real_subtract(real, x, parts.n);
    if (rest)
        fraction = real_add(real, fraction, rest);
    parts.rest = real_multiply(real, fraction, real_number(real, high_log2));
    return scaled(real, small_exponential(real, parts.rest), &parts);
}

/* 2^f for |f| up to 1/2 is interpolated at Chebyshev's points; it is off by 2^-34. */
int real_exponential2_single(const struct real *real, int x)
{
    struct parts parts;
    int rounder = real_number(real, real->rounder);
    x = real_clamped(real, x, -200, 200);
    parts.shifted = real_add(real, x, rounder);
    parts.n = real_subtract(real, parts.shifted, rounder);
    int power =
        real_polynomial(real, real_subtract(real, x, parts.n),
                        COEFFICIENTS(0x1.00c0fb54e0f1cp-16, 0x1.446c9e668735ep-13, 0x1.5d87757c238f2p-10,
                                     0x1.3b29d88d75aa5p-7, 0x1.c6b08da71da60p-5, 0x1.ebfbe0aa3a945p-3,
                                     0x1.62e42fef9cc3cp-1, 0x1.ffffffffa6eedp-1));
    return scaled_near(real, power, &parts);
}

/* ---- expm1 -------------------------------------------------------------------------------------- */

/* 2^n * q + (2^n - 1) with q = e^f - 1, halved on the way for what is near the greatest number; where n is 0,
 * q itself. */
int real_exponential_less_one(const struct real *real, int x)
{
    int a = real->wide ? real_clamped(real, x, -40, 710) : real_clamped(real, x, -20, 89);
    struct parts parts = reduced_by_log2(real, a);
    struct coefficients coefficients =
        real->wide
            ? COEFFICIENTS(0x1.1f2b64f9230f9p-29, 0x1.af5ce53241137p-26, 0x1.27e5008a4bbabp-22,
                           0x1.71ddf94da8e8cp-19, 0x1.a01a019b5a9c9p-16, 0x1.a01a01af94e06p-13,
                           0x1.6c16c16c16e9ep-10, 0x1.111111110f714p-7, 0x1.5555555555558p-5,
                           0x1.5555555555559p-3, 0.5)
            : COEFFICIENTS(0x1.39200cp-13, 0x1.6d2d36p-10, 0x1.115678p-7, 0x1.555502p-5, 0x1.55552cp-3, 0.5);
    int f = parts.rest, p = real_polynomial(real, f, coefficients);
    int q = real_plus_product(real, f, real_multiply(real, f, f), p);
    int half = power(real, parts.shifted, -1);
    int result = real_plus_product(real, real_subtract(real, half, real_number(real, 0.5)), half, q);
    result = real_add(real, result, result);
    int is_small = real_compare(real, OP_EQ, parts.n, real_number(real, 0));
    return real_with_sign(real, real_magnitude(real, real_select(real, is_small, q, result)), x);
}

/* ---- sinh, cosh ----------------------------------------------------------------------------------- */

/* Of |x|: with s = 2^n / 4, t = 2^-n / 4 (which is 0 beside s for n above 40), they are
 * (s + t) * 2 sinh(f) + (s - t) * 2 cosh(f) and (s + t) * 2 cosh(f) + (s - t) * 2 sinh(f). */
int real_hyperbolic(const struct real *real, enum operation operation, int x)
{
    int size = real_magnitude(real, x);
    size = real_least(real, real_number(real, real->wide ? 710.5 : 89.5), size);
    struct parts parts = reduced_by_log2(real, size);
    int f = parts.rest, square = real_multiply(real, f, f), twice = real_add(real, f, f);
    struct coefficients of_sine =
        real->wide ? COEFFICIENTS(0x1.82b05aa8754a5p-33, 0x1.ae4cd4babbc4cp-26, 0x1.71de4081d85a1p-19,
                                  0x1.a01a019ea083bp-13, 0x1.1111111111387p-7, 0x1.5555555555555p-3)
                   : COEFFICIENTS(0x1.a2e31ep-13, 0x1.110fbep-7, 0x1.555556p-3);
    struct coefficients of_cosine =
        real->wide ? COEFFICIENTS(0x1.1f8bee43181d9p-29, 0x1.27e4cc098201dp-22, 0x1.a01a01ad80da4p-16,
                                  0x1.6c16c16c14ffap-10, 0x1.5555555555558p-5, 0.5)
                   : COEFFICIENTS(0x1.6d4f10p-10, 0x1.5554e6p-5, 0.5);
    int sine = real_polynomial(real, square, of_sine);
    sine = real_plus_product(real, twice, real_multiply(real, twice, square), sine);
    int above = real_polynomial(real, square, of_cosine); /* 2 cosh(f) - 2 */
    above = real_multiply(real, above, real_add(real, square, square));
    int s = power(real, parts.shifted, -2);
    int few = real_least(real, real_number(real, real->rounder + 40), parts.shifted);
    int t = real_integer_subtract(real, real_pattern(real, (uint32_t)125 << 23, (uint64_t)1021 << 52),
                                  real_shift_left(real, few, real->digits));
    int sum = real_add(real, s, t), difference = real_subtract(real, s, t);
    bool is_cosine = operation == OP_COSH;
    int factor = is_cosine ? sum : difference, other = is_cosine ? difference : sum;
    int rest = real_plus_product(real, real_multiply(real, factor, above), other, sine);
    int result = real_plus_product(real, rest, factor, real_number(real, 2));
    return is_cosine ? result : real_with_sign(real, real_magnitude(real, result), x);
}

/* ---- tanh -------------------------------------------------------------------------------------------- */

/* tanh(|x|), |x| being n * ln 2 / 2 + g: with t = tanh(g), less = 2^n - 1 and more = 2^n + 1 it is
 * (less + more t) / (more + less t). A number near it, n / 4 or at most 1, is taken out first, so that the
 * quotient, whose rounding counts, is small. */
int real_tangent(const struct real *real, int x)
{
    int one = real_number(real, 1);
    int size = real_least(real, real_number(real, real->wide ? 20 : 10), real_magnitude(real, x));
    struct parts parts = reduced(real, size, 2 * per_log2, high_log2 / 2, real->wide ? low_log2 / 2 : 0);
    int g = parts.rest, square = real_multiply(real, g, g);
    struct coefficients coefficients =
        real->wide ? COEFFICIENTS(-0x1.6c0cd68450d1fp-10, 0x1.d66abb6632ecep-9, -0x1.226d933dc3a6bp-7,
                                  0x1.664f47730185ap-6, -0x1.ba1ba1b92dc3cp-5, 0x1.1111111110e24p-3,
                                  -0x1.5555555555555p-2)
                   : COEFFICIENTS(-0x1.afebfap-5, 0x1.1105c2p-3, -0x1.55554ep-2);
    int p = real_polynomial(real, square, coefficients);
    int t = real_plus_product(real, g, real_multiply(real, g, square), p);
    int whole = power(real, parts.shifted, 0);
    int less = real_subtract(real, whole, one), more = real_add(real, whole, one);
    int near = real_least(real, one, real_multiply(real, parts.n, real_number(real, 0.25)));
    int above = real_plus_product(real, real_minus_product(real, less, near, more),
                                  real_minus_product(real, more, near, less), t);
    int below = real_plus_product(real, more, less, t);
    return real_with_sign(real, real_add(real, near, real_divide(real, above, below)), x);
}
