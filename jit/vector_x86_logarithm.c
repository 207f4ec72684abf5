/*
 * vector_x86_logarithm.c: log, log2, log10 and log1p, in line.
 *
 * x = 2^n * m: AVX-512 has instructions that take a float apart so, whatever it is; AVX2 does it with
 * integers, and looks for what is no positive number afterwards.
 */
#include "vector_x86_math.h"

/* A logarithm is scale * ln m + n * (high + scale * low): high of few bits, for n times it is exact. */
struct base {
    double scale, high, low;
};

static struct base base_of(const struct real *real, enum operation operation)
{
    if (operation == OP_LOG2)
        return (struct base){0x1.71547652b82fep+0, 1, 0};
    if (operation == OP_LOG10)
        return real->wide ? (struct base){0x1.bcb7b1526e50ep-2, 0x1.34413509f6000p-2, 0x1.dedcb33129b26p-41}
                          : (struct base){0x1.bcb7b2p-2, 0x1.344134p-2, 0x1.3234c6p-25};
    return real->wide ? (struct base){1, 0x1.62e42fee00000p-1, 0x1.a39ef35793c76p-33}
                      : (struct base){1, 0x1.62e430p-1, 0};
}

static int scaled(const struct real *real, const struct base *base, int a)
{
    return base->scale == 1 ? a : real_multiply(real, a, real_number(real, base->scale));
}

/* ---- x = 2^n * m -------------------------------------------------------------------------- */

/* m between 3/4 and 3/2. What instructions make of 0, infinity and what has no logarithm is what comes out.
 */
static int taken_apart(const struct real *real, int x, int *n)
{
    enum { FROM_THREE_QUARTERS = 3, NAN_IF_NEGATIVE = 8, ZERO_IS_POSITIVE = 4 };
    enum x86_form exponent_form = real->wide ? X86_VGETEXPPD : X86_VGETEXPPS;
    int exponent = machine_rm(real->machine, exponent_form, real->bits, x);
    int m = machine_rmi(real->machine, real->wide ? X86_VGETMANTPD : X86_VGETMANTPS, real->bits, x,
                        FROM_THREE_QUARTERS | NAN_IF_NEGATIVE | ZERO_IS_POSITIVE);
    *n = real_subtract(real, exponent, machine_rm(real->machine, exponent_form, real->bits, m));
    return m;
}

/* m between 2/3 and 4/3, for positive numbers. */
static int apart_by_integers(const struct real *real, int x, bool is_normal, int *n)
{
    int start = real_number(real, 0);
    if (!is_normal) {
        int tiny = real_compare(real, OP_LT, x, real_number(real, real->wide ? 0x1p-1022 : 0x1p-126));
        int lifted = real_multiply(real, x, real_number(real, real->wide ? 0x1p54 : 0x1p23));
        x = real_select(real, tiny, lifted, x);
        start = real_select(real, tiny, real_number(real, real->wide ? -54 : -23), start);
    }
    int above = real_integer_subtract(real, x, real_pattern(real, 0x3f2aaaab, 0x3fe5555555555555));
    int exponent = real_and(real, above, real_pattern(real, 0xff800000, 0xfff0000000000000));
    if (real->wide) {
        /* 2^52 with the number in its low bits, of which half are below 0 */
        int biased = real_integer_add(real, above, real_pattern(real, 0, (uint64_t)1023 << 52));
        int low = machine_rvm(real->machine, X86_VORPD, real->bits,
                              real_shift_right(real, biased, real->digits), real_number(real, 0x1p52));
        *n = real_subtract(real, low, real_number(real, 0x1p52 + 1023));
        *n = is_normal ? *n : real_add(real, start, *n);
    } else {
        int whole = machine_rm(real->machine, X86_VCVTDQ2PS, real->bits, exponent);
        *n = real_plus_product(real, start, whole, real_number(real, 0x1p-23));
    }
    return real_integer_subtract(real, x, exponent);
}

/* The result where x is a positive number. */
static int only_of_positive(const struct real *real, int x, int result)
{
    int infinity = real_number(real, __builtin_inf()), zero = real_number(real, 0);
    int is_zero = real_compare(real, OP_EQ, x, zero);
    int other =
        real_select(real, is_zero, real_number(real, -__builtin_inf()), real_number(real, __builtin_nan("")));
    int is_infinite = real_compare(real, OP_EQ, x, infinity);
    other = real_select(real, is_infinite, infinity, other);
    int below = real_compare(real, OP_LT, x, infinity);
    int inside = machine_and(real->machine, real_compare(real, OP_GT, x, zero), below);
    return real_select(real, inside, result, other);
}

/* ---- float32 ---------------------------------------------------------------------------------- */

/* log(m) = log(1 + r) - log(c) with r = m c - 1, where c is one of 16 floats whose logarithm is a float to 38
 * bits. The polynomial is off by 2^-28; the sum is within 1.01 units. */
static int by_pieces(const struct real *real, int m)
{
    static const float factors[16] = {0x1.000000p+0, 0x1.d3ebdap-1, 0x1.ba90f0p-1, 0x1.a42db0p-1,
                                      0x1.8f9708p-1, 0x1.7d43b6p-1, 0x1.6c1380p-1, 0x1.5c5efap-1,
                                      0x1.4e77aep+0, 0x1.41525ap+0, 0x1.352496p+0, 0x1.298da6p+0,
                                      0x1.1f81eep+0, 0x1.158e38p+0, 0x1.0c29aep+0, 0x1.000000p+0};
    static const float logarithms[16] = {0,
                                         0x1.70bd8cp-4,
                                         0x1.2a76eep-3,
                                         0x1.94c6f2p-3,
                                         0x1.fbab7ep-3,
                                         0x1.2de840p-2,
                                         0x1.5d2504p-2,
                                         0x1.8a4c48p-2,
                                         -0x1.11c76ap-2,
                                         -0x1.d1707ap-3,
                                         -0x1.824e78p-3,
                                         -0x1.340d4ap-3,
                                         -0x1.db6deep-4,
                                         -0x1.4b22aep-4,
                                         -0x1.7c3f34p-5,
                                         0};
    enum { PLACES = 19 };
    int place = real_shift_right(real, m, PLACES);
    int r = real_plus_product(real, real_number(real, -1), m, real_pick(real, factors, place));
    int p =
        real_polynomial(real, r, COEFFICIENTS(0x1.825c76p-3, -0x1.001312p-2, 0x1.555836p-2, -0x1.000000p-1));
    p = real_plus_product(real, r, p, real_multiply(real, r, r));
    return real_add(real, p, real_pick(real, logarithms, place));
}

static int by_polynomial(const struct real *real, int m)
{
    int f = real_subtract(real, m, real_number(real, 1)), s = real_multiply(real, f, f);
    int r = real_polynomial(real, s,
                            COEFFICIENTS(-0x1.0ae000p-3, -0x1.f198b2p-4, -0x1.55b36cp-3, -0x1.fffe02p-3));
    int t = real_polynomial(real, s, COEFFICIENTS(0x1.208000p-3, 0x1.1e5740p-3, 0x1.99d8b2p-3));
    r = real_plus_product(real, r, t, f);
    r = real_step(real, r, f, 0x1.5554fap-2);
    r = real_step(real, r, f, -0.5);
    return real_plus_product(real, f, r, s);
}

/* ---- float64 ------------------------------------------------------------------------------------- */

/* With f = m - 1, s = f / (2 + f) and R what 2 atanh(s) / s is above 2, the logarithm of m is
 * f - (f^2 / 2 - s (f^2 / 2 + R)) (K. C. Ng's, in FDLIBM); `more` comes to what is taken away last. The
 * weight of the polynomial, R / s^2, is s^2 / 2; it is off by 2^-56. */
static int of_double(const struct real *real, int m, int n, const struct base *base)
{
    int f = real_subtract(real, m, real_number(real, 1));
    int s = real_divide(real, f, real_add(real, f, real_number(real, 2))), square = real_multiply(real, s, s);
    int half = real_multiply(real, real_multiply(real, f, f), real_number(real, 0.5));
    int p = real_polynomial(real, square,
                            COEFFICIENTS(0x1.3ad9440824e99p-3, 0x1.384f5ac46e48dp-3, 0x1.74750f52bc81dp-3,
                                         0x1.c71c004d9daacp-3, 0x1.249249b3d73ebp-2, 0x1.99999998ee52bp-2,
                                         0x1.555555555577fp-1));
    int inner = real_plus_product(real, half, square, p), sum = real_multiply(real, s, inner);
    if (base->low != 0)
        sum = real_plus_product(real, real_multiply(real, n, real_number(real, base->low)), s, inner);
    return real_subtract(real, f, real_subtract(real, half, sum));
}

/* ---- all --------------------------------------------------------------------------------------------- */

int real_logarithm(const struct real *real, enum operation operation, int x)
{
    struct base base = base_of(real, operation);
    bool takes_apart = machine_is_avx512(real->machine);
    int n, m = takes_apart ? taken_apart(real, x, &n) : apart_by_integers(real, x, false, &n);
    int result = real->wide    ? of_double(real, m, n, &base)
                 : takes_apart ? by_pieces(real, m)
                               : by_polynomial(real, m);
    if (!real->wide && base.low != 0)
        result = real_plus_product(real, result, n, real_number(real, base.low));
    result = real_plus_product(real, scaled(real, &base, result), n, real_number(real, base.high));
    return takes_apart ? result : only_of_positive(real, x, result);
}

/* n + s Q(s^2) with s = f / (2 + f), as log2 m is 2 / ln 2 atanh s. Q is interpolated at Chebyshev's points
 * up to the square of 1/5 and is off by 2^-42. */
int real_logarithm2_single(const struct real *real, int x)
{
    bool takes_apart = machine_is_avx512(real->machine);
    int n, m = takes_apart ? taken_apart(real, x, &n) : apart_by_integers(real, x, true, &n);
    int f = real_subtract(real, m, real_number(real, 1));
    int s = real_divide(real, f, real_add(real, m, real_number(real, 1)));
    int q = real_polynomial(real, real_multiply(real, s, s),
                            COEFFICIENTS(0x1.29d3ba5d00ed5p-2, 0x1.46f25e06cc516p-2, 0x1.a61e9fc41e3ffp-2,
                                         0x1.2776bc4e19dffp-1, 0x1.ec709dcb58f51p-1, 0x1.71547652b7e96p+1));
    int result = real_plus_product(real, n, s, q);
    return takes_apart ? result : only_of_positive(real, x, result);
}

/* log(1 + x), and what was lost of x in the sum, over the sum; nothing is where that is 0 or infinite. The
 * sign is that of x, of zeros too. */
int real_logarithm_of_sum(const struct real *real, int x)
{
    enum { UNEQUAL_AND_ORDERED = 12 };
    int one = real_number(real, 1), zero = real_number(real, 0), sum = real_add(real, x, one);
    int lost = real_subtract(real, x, real_subtract(real, sum, one));
    int is_lost = machine_compare_floats(real->machine, real->type, lost, zero, UNEQUAL_AND_ORDERED);
    lost = real_select(real, is_lost, real_divide(real, lost, sum), zero);
    return real_with_sign(real, real_add(real, real_logarithm(real, OP_LOG, sum), lost), x);
}
