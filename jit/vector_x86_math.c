/*
 * vector_x86_math.c: functions of float32 in line, where a call would cost more than the function.
 *
 * Consumes a virtual register; appends some 15 instructions with no branch. Arguments are reduced and
 * polynomials evaluated in fused steps that are the same for AVX2 and AVX-512, so the bits are, too. Not so
 * of erf, log, log1p and 1 / sqrt(x): AVX-512 has an instruction that picks one of 16 floats for each lane,
 * by which polynomials have few steps, and an estimate of the root. Each is within 2 units in the last place
 * of the true value (a test sweeps them), handles infinities, nan and subnormals, and is no part of strict
 * results.
 */
#include "vector_x86.h"

static int bits_of(const struct machine *machine)
{
    return machine_bits(machine, VECTOR_F32);
}

static int number(struct machine *machine, double value)
{
    return machine_float(machine, VECTOR_F32, value);
}

static int integer(struct machine *machine, uint32_t value)
{
    return machine_constant(machine, VECTOR_I32, value);
}

static int both(struct machine *machine, enum x86_form form, int a, int b)
{
    return machine_rvm(machine, form, bits_of(machine), a, b);
}

/* r * x + c; the register of r is taken over. */
static int step(struct machine *machine, int r, int x, double c)
{
    int result = machine_copy(machine, bits_of(machine), r);
    machine_into(machine, X86_VFMADD213PS, bits_of(machine), result, x, number(machine, c), 0);
    return result;
}

/* c + a * b; that of c is. */
static int plus_product(struct machine *machine, int c, int a, int b)
{
    return machine_fused(machine, X86_VFMADD231PS, bits_of(machine), a, b, c);
}

static int polynomial(struct machine *machine, int x, const double *coefficients, int count)
{
    int r = step(machine, number(machine, coefficients[0]), x, coefficients[1]);
    for (int k = 2; k < count; k++)
        r = step(machine, r, x, coefficients[k]);
    return r;
}

#define POLYNOMIAL(machine, x, ...)                                                                          \
    polynomial(machine, x, (const double[]){__VA_ARGS__},                                                    \
               (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* ---- exponentials ---------------------------------------------------------------------------- */

/* x between bounds, nan where it is: the second operand is given where they do not compare. */
static int clamped(struct machine *machine, int x, double low, double high)
{
    x = both(machine, X86_VMAXPS, number(machine, low), x);
    return both(machine, X86_VMINPS, number(machine, high), x);
}

/* a * 2^n for whole n down to -151, which are the low bits of `shifted`: in one step, or in two of which the
 * first is exact. */
static int scaled(struct machine *machine, int a, int n, int shifted)
{
    int bits = bits_of(machine);
    if (machine_is_avx512(machine))
        return both(machine, X86_VSCALEFPS, a, n);
    int bias = integer(machine, 127);
    int half = machine_shift(machine, X86_VPSRAD_BY, X86_VPSRAD_BY_WIDE, bits, shifted, 1);
    int rest = both(machine, X86_VPSUBD, shifted, half);
    half = machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits,
                         both(machine, X86_VPADDD, half, bias), 23);
    rest = machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits,
                         both(machine, X86_VPADDD, rest, bias), 23);
    return both(machine, X86_VMULPS, both(machine, X86_VMULPS, a, half), rest);
}

/* e^f for |f| up to ln 2 / 2. */
static int small_exponential(struct machine *machine, int f)
{
    return POLYNOMIAL(machine, f, 0x1.694000p-10, 0x1.125edcp-7, 0x1.555b5ap-5, 0x1.555450p-3, 0x1.fffff6p-2,
                      1, 1);
}

/* Added and taken away again, it rounds to a whole number. */
static const double rounder = 12582912;

/* a * 2^n where that is a normal number. */
static int scaled_near(struct machine *machine, int a, int n, int shifted)
{
    if (machine_is_avx512(machine))
        return scaled(machine, a, n, shifted);
    int bits = bits_of(machine);
    int power = machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits, shifted, 23);
    return both(machine, X86_VMULPS, a, both(machine, X86_VPADDD, power, integer(machine, 0x3f800000)));
}

/* `is_near`: x is between -87 and 0, or nan, and what the result is taken from is above it: then ln 2 may be
 * off by the 2e-9 that the nearest float is, of which n times 2^n is the error. */
static int exponential_of(struct machine *machine, int x, bool is_near)
{
    int shifted = plus_product(machine, number(machine, rounder), x, number(machine, 0x1.715476p+0));
    int n = both(machine, X86_VSUBPS, shifted, number(machine, rounder));
    int f = plus_product(machine, x, n, number(machine, is_near ? -0x1.62e430p-1 : -0x1.62e400p-1));
    if (!is_near)
        f = plus_product(machine, f, n, number(machine, -0x1.7f7d1cp-20));
    int result = small_exponential(machine, f);
    return is_near ? scaled_near(machine, result, n, shifted) : scaled(machine, result, n, shifted);
}

static int exponential(struct machine *machine, int x)
{
    return exponential_of(machine, clamped(machine, x, -104, 89), false);
}

static int exponential2(struct machine *machine, int x)
{
    x = clamped(machine, x, -151, 129);
    int shifted = both(machine, X86_VADDPS, x, number(machine, rounder));
    int n = both(machine, X86_VSUBPS, shifted, number(machine, rounder));
    int f = both(machine, X86_VMULPS, both(machine, X86_VSUBPS, x, n), number(machine, 0x1.62e430p-1));
    return scaled(machine, small_exponential(machine, f), n, shifted);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* What one of 16 floats each lane has, by the low four bits of `places`. */
static int pick(struct machine *machine, const float table[16], int places)
{
    return machine_rvm(machine, X86_VPERMPS_WIDE, 512, places, machine_table(machine, table));
}

/* ---- tanh, erf: polynomials around 0, exponentials farther out --------------------------------- */

static int magnitude(struct machine *machine, int x)
{
    return both(machine, X86_VANDPS, x, integer(machine, 0x7fffffff));
}

/* With the sign of x; a has none. */
static int with_sign(struct machine *machine, int a, int x)
{
    enum { FIRST_OR_BOTH_OTHERS = 0xf8 };
    int sign = integer(machine, 0x80000000), bits = bits_of(machine);
    if (!machine_is_avx512(machine))
        return both(machine, X86_VORPS, a, both(machine, X86_VANDPS, x, sign));
    int result = machine_copy(machine, bits, a);
    machine_add(machine, (struct x86_instruction){.form = X86_VPTERNLOGD,
                                                  .bits = bits,
                                                  .reg = result,
                                                  .vvvv = x,
                                                  .rm = sign,
                                                  .immediate = FIRST_OR_BOTH_OTHERS});
    return result;
}

/* tanh(|x|), |x| being n * ln 2 / 2 + g: with t = tanh(g), less = 2^n - 1 and more = 2^n + 1 it is
 * (less + more t) / (more + less t). A number near it, n / 4 or at most 1, is taken out first, so that the
 * quotient, whose rounding counts, is small. */
static int tangent(struct machine *machine, int x)
{
    enum x86_form subtract_product = X86_VFNMADD231PS;
    int bits = bits_of(machine), one = number(machine, 1);
    int size = both(machine, X86_VMINPS, number(machine, 10), magnitude(machine, x));
    int shifted = plus_product(machine, number(machine, rounder), size, number(machine, 0x1.715476p+1));
    int n = both(machine, X86_VSUBPS, shifted, number(machine, rounder));
    int g = plus_product(machine, size, n, number(machine, -0x1.62e430p-2));
    int square = both(machine, X86_VMULPS, g, g);
    int p = POLYNOMIAL(machine, square, -0x1.afebfap-5, 0x1.1105c2p-3, -0x1.55554ep-2);
    int t = plus_product(machine, g, both(machine, X86_VMULPS, g, square), p);
    int power = machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits, shifted, 23);
    power = both(machine, X86_VPADDD, power, integer(machine, 0x3f800000)); /* the low bits were n */
    int less = both(machine, X86_VSUBPS, power, one), more = both(machine, X86_VADDPS, power, one);
    int near = both(machine, X86_VMINPS, one, both(machine, X86_VMULPS, n, number(machine, 0.25)));
    int above = plus_product(machine, machine_fused(machine, subtract_product, bits, near, more, less),
                             machine_fused(machine, subtract_product, bits, near, less, more), t);
    int below = plus_product(machine, more, less, t);
    int result = both(machine, X86_VADDPS, near, both(machine, X86_VDIVPS, above, below));
    return with_sign(machine, result, x);
}

/* erf(x) / x, of |x| up to 4 and in 16 pieces, is a polynomial of degree 5 of the distance from a float in
 * the piece where the quotient is a float to 36 bits, so that only what is added to that number is rounded.
 * The polynomials are interpolated (least squares with weights that rise where the error does, each
 * coefficient rounded before the next is found) and are off by 2^-28. Within 0.996 units. */
static int error_function_by_pieces(struct machine *machine, int x)
{
    enum { CENTRE, QUOTIENT, FIRST, DEGREE = 5 };
    static const float tables[FIRST + DEGREE][16] = {
        {0x1.094e12p-4, 0x1.09480ap-2, 0x1.095620p-1, 0x1.8ded00p-1, 0x1.094ba2p+0, 0x1.4ba6dap+0,
         0x1.8e1298p+0, 0x1.d06c72p+0, 0x1.095f1ep+1, 0x1.2a9538p+1, 0x1.4ba4ecp+1, 0x1.6cd670p+1,
         0x1.8df31cp+1, 0x1.af35f4p+1, 0x1.d04af8p+1, 0x1.f07dd2p+1},
        {0x1.20762cp+0, 0x1.1a87e4p+0, 0x1.08f64cp+0, 0x1.dfc71ap-1, 0x1.a78662p-1, 0x1.70c1fep-1,
         0x1.4016b6p-1, 0x1.17517ap-1, 0x1.ec4154p-2, 0x1.b68de0p-2, 0x1.8b1ee2p-2, 0x1.673dc0p-2,
         0x1.495d5cp-2, 0x1.2ff650p-2, 0x1.1a4df4p-2, 0x1.07ff18p-2},
        {-0x1.8e2648p-5, -0x1.7f6c92p-3, -0x1.54a2c4p-2, -0x1.a600fap-2, -0x1.b46dacp-2, -0x1.92c8fcp-2,
         -0x1.597c3cp-2, -0x1.1c3b6ap-2, -0x1.cbb858p-3, -0x1.73b74ep-3, -0x1.2fea24p-3, -0x1.f7aa6cp-4,
         -0x1.a7aa28p-4, -0x1.68e508p-4, -0x1.374f3ap-4, -0x1.103e0cp-4},
        {-0x1.7e407ep-2, -0x1.546fdcp-2, -0x1.c409f4p-3, -0x1.62622cp-4, 0x1.a5c336p-6, 0x1.7cd1c6p-4,
         0x1.dce4c6p-4, 0x1.c6b7eap-4, 0x1.7ca9e8p-4, 0x1.2aacf6p-4, 0x1.c9f60ep-5, 0x1.5eaca6p-5,
         0x1.0ff4c8p-5, 0x1.ac4ab2p-6, 0x1.5742e8p-6, 0x1.18bda0p-6},
        {0x1.dc98a6p-6, 0x1.ba071ep-4, 0x1.5a4c94p-3, 0x1.54b312p-3, 0x1.e146a4p-4, 0x1.ca75c8p-5,
         0x1.ff2366p-8, -0x1.28fc4ap-6, -0x1.ab837cp-6, -0x1.8f0814p-6, -0x1.3d9dcep-6, -0x1.d89bb6p-7,
         -0x1.59446cp-7, -0x1.faa9a2p-8, -0x1.7a329ap-8, -0x1.216baap-8},
        {0x1.c6a9aap-4, 0x1.643eccp-4, 0x1.c7e9c2p-6, -0x1.e34782p-6, -0x1.dd2818p-5, -0x1.c6e344p-5,
         -0x1.251cc8p-5, -0x1.f1135cp-7, -0x1.daaa98p-10, 0x1.03d826p-8, 0x1.4d10fep-8, 0x1.1b1394p-8,
         0x1.a2ed6ep-9, 0x1.278110p-9, 0x1.9f7444p-10, 0x1.2a6204p-10},
        {-0x1.530534p-7, -0x1.2c0392p-5, -0x1.96e58ep-5, -0x1.1f7bb6p-5, -0x1.20f040p-7, 0x1.6b9a3cp-7,
         0x1.1bff3cp-6, 0x1.bc0d7ep-7, 0x1.cffc20p-8, 0x1.27060ap-9, -0x1.ccb42cp-14, -0x1.afa00ap-11,
         -0x1.bf7afap-11, -0x1.44a85ap-11, -0x1.bfdfc0p-12, -0x1.4da86cp-12},
    };
    int bits = bits_of(machine), size = both(machine, X86_VMINPS, number(machine, 4), magnitude(machine, x));
    int place = plus_product(machine, number(machine, rounder), size, number(machine, 0x1.ee0000p+1));
    int distance = both(machine, X86_VSUBPS, size, pick(machine, tables[CENTRE], place));
    int r = pick(machine, tables[FIRST + DEGREE - 1], place);
    for (int k = DEGREE - 2; k >= 0; k--) {
        r = machine_copy(machine, bits, r);
        machine_into(machine, X86_VFMADD213PS, bits, r, distance, pick(machine, tables[FIRST + k], place), 0);
    }
    r = both(machine, X86_VMULPS, both(machine, X86_VMULPS, r, distance), size);
    return with_sign(machine, plus_product(machine, r, size, pick(machine, tables[QUOTIENT], place)), x);
}

/* From 4 on it is 1; farther out its exponential would underflow, which takes processors a hundred cycles. */
static int error_function(struct machine *machine, int x)
{
    int size = both(machine, X86_VMINPS, number(machine, 4), magnitude(machine, x));
    int square = both(machine, X86_VMULPS, size, size);
    int high = step(machine, number(machine, -0x1.220000p-16), size, 0x1.91cfb2p-12);
    int low = step(machine, number(machine, -0x1.fd1438p-9), size, 0x1.8d6342p-6);
    int r = plus_product(machine, low, high, square);
    r = step(machine, r, size, -0x1.b55cb8p-4);
    r = step(machine, r, size, -0x1.450aa0p-1);
    r = step(machine, r, size, -0x1.079d0cp-3);
    int result = machine_copy(machine, bits_of(machine), r);
    int opposite = both(machine, X86_VXORPS, size, integer(machine, 0x80000000));
    machine_into(machine, X86_VFMADD213PS, bits_of(machine), result, size, opposite, 0);
    int outer = both(machine, X86_VSUBPS, number(machine, 1), exponential_of(machine, result, true));
    outer = with_sign(machine, outer, x);
    int p = POLYNOMIAL(machine, square, -0x1.38e000p-11, 0x1.471a58p-8, -0x1.b691b2p-6, 0x1.ce1c44p-4,
                       -0x1.812700p-2, 0x1.06eba8p-3);
    int inner = plus_product(machine, x, p, x);
    int is_large = machine_compare(machine, OP_GT, AKG_FLOAT32, size, number(machine, 0.927734375));
    return machine_select(machine, VECTOR_F32, is_large, outer, inner);
}

/* ---- the logarithm ------------------------------------------------------------------------------ */

/* x = 2^n * (1 + f) with 1 + f between 2/3 and 4/3. */
static int reduced(struct machine *machine, int x, int *n)
{
    int tiny = machine_compare(machine, OP_LT, AKG_FLOAT32, x, number(machine, 0x1p-126));
    int lifted = both(machine, X86_VMULPS, x, number(machine, 0x1p23));
    int zero = number(machine, 0);
    x = machine_select(machine, VECTOR_F32, tiny, lifted, x);
    int start = machine_select(machine, VECTOR_F32, tiny, number(machine, -23), zero);
    int exponent = both(machine, X86_VPSUBD, x, integer(machine, 0x3f2aaaab));
    exponent = both(machine, X86_VANDPS, exponent, integer(machine, 0xff800000));
    int mantissa = both(machine, X86_VPSUBD, x, exponent);
    int whole = machine_rm(machine, X86_VCVTDQ2PS, bits_of(machine), exponent);
    *n = plus_product(machine, start, whole, number(machine, 0x1p-23));
    return both(machine, X86_VSUBPS, mantissa, number(machine, 1));
}

/* x = 2^n * m with m between 3/4 and 3/2, log(x) = n ln 2 - log(c) + log(1 + r) with r = m c - 1, where c is
 * one of 16 floats whose logarithm is a float to 38 bits. What instructions make of 0, infinity and what has
 * no logarithm is what comes out. The polynomial is made as those of erf are and off by 2^-28; within 1.01
 * units. */
static int logarithm_by_pieces(struct machine *machine, int x)
{
    enum { FROM_THREE_QUARTERS = 3, NAN_IF_NEGATIVE = 8, ZERO_IS_POSITIVE = 4, PLACES = 19 };
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
    int bits = bits_of(machine), exponent = machine_rm(machine, X86_VGETEXPPS, bits, x);
    int m = machine_rmi(machine, X86_VGETMANTPS, bits, x,
                        FROM_THREE_QUARTERS | NAN_IF_NEGATIVE | ZERO_IS_POSITIVE);
    int place = machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, m, PLACES);
    int n = both(machine, X86_VSUBPS, exponent, machine_rm(machine, X86_VGETEXPPS, bits, m));
    int r = plus_product(machine, number(machine, -1), m, pick(machine, factors, place));
    int p = POLYNOMIAL(machine, r, 0x1.825c76p-3, -0x1.001312p-2, 0x1.555836p-2, -0x1.000000p-1);
    p = plus_product(machine, r, p, both(machine, X86_VMULPS, r, r));
    p = both(machine, X86_VADDPS, p, pick(machine, logarithms, place));
    return plus_product(machine, p, n, number(machine, 0x1.62e430p-1));
}

static int logarithm(struct machine *machine, int x)
{
    if (machine_is_avx512(machine))
        return logarithm_by_pieces(machine, x);
    int n, f = reduced(machine, x, &n), s = both(machine, X86_VMULPS, f, f);
    int r = POLYNOMIAL(machine, s, -0x1.0ae000p-3, -0x1.f198b2p-4, -0x1.55b36cp-3, -0x1.fffe02p-3);
    int t = POLYNOMIAL(machine, s, 0x1.208000p-3, 0x1.1e5740p-3, 0x1.99d8b2p-3);
    r = plus_product(machine, r, t, f);
    r = step(machine, r, f, 0x1.5554fap-2);
    r = step(machine, r, f, -0.5);
    r = plus_product(machine, f, r, s);
    r = plus_product(machine, r, n, number(machine, 0x1.62e430p-1));
    /* what is no positive number */
    int infinity = number(machine, __builtin_inf()), zero = number(machine, 0);
    int is_zero = machine_compare(machine, OP_EQ, AKG_FLOAT32, x, zero);
    int other = machine_select(machine, VECTOR_F32, is_zero, number(machine, -__builtin_inf()),
                               number(machine, __builtin_nan("")));
    int is_infinite = machine_compare(machine, OP_EQ, AKG_FLOAT32, x, infinity);
    other = machine_select(machine, VECTOR_F32, is_infinite, infinity, other);
    int below = machine_compare(machine, OP_LT, AKG_FLOAT32, x, infinity);
    int inside = machine_and(machine, machine_compare(machine, OP_GT, AKG_FLOAT32, x, zero), below);
    return machine_select(machine, VECTOR_F32, inside, r, other);
}

/* log(1 + x), and what was lost of x in the sum, over the sum; nothing is where that is 0 or infinite. */
static int logarithm_of_sum(struct machine *machine, int x)
{
    enum { UNEQUAL_AND_ORDERED = 12 };
    int one = number(machine, 1), zero = number(machine, 0), sum = both(machine, X86_VADDPS, x, one);
    int lost = both(machine, X86_VSUBPS, x, both(machine, X86_VSUBPS, sum, one));
    int is_lost = machine_compare_floats(machine, VECTOR_F32, lost, zero, UNEQUAL_AND_ORDERED);
    lost = machine_select(machine, VECTOR_F32, is_lost, both(machine, X86_VDIVPS, lost, sum), zero);
    return both(machine, X86_VADDPS, logarithm(machine, sum), lost);
}

/* ---- 1 / sqrt(x) ------------------------------------------------------------------------------ */

/* An estimate to 14 bits and a step of Newton, within 1.5 units: y + y / 2 * (1 - x * y * y). Where that is
 * nan, of 0 and infinity too, the estimate is right. A root and a quotient take four times as long. */
int machine_reciprocal_root(struct machine *machine, int x)
{
    int bits = bits_of(machine), y = machine_rm(machine, X86_VRSQRT14PS, bits, x);
    int rest = machine_fused(machine, X86_VFNMADD231PS, bits, both(machine, X86_VMULPS, x, y), y,
                             number(machine, 1));
    int better = plus_product(machine, y, both(machine, X86_VMULPS, y, number(machine, 0.5)), rest);
    int is_number = machine_compare_floats(machine, VECTOR_F32, better, better, 7); /* ordered */
    return machine_select(machine, VECTOR_F32, is_number, better, y);
}

/* ---- all ------------------------------------------------------------------------------------------ */

int machine_inline(struct machine *machine, enum operation operation, int x)
{
    switch (operation) {
    case OP_EXP:
        return exponential(machine, x);
    case OP_EXP2:
        return exponential2(machine, x);
    case OP_TANH:
        return tangent(machine, x);
    case OP_ERF:
        return machine_is_avx512(machine) ? error_function_by_pieces(machine, x) : error_function(machine, x);
    case OP_LOG1P:
        return logarithm_of_sum(machine, x);
    default:
        return logarithm(machine, x);
    }
}
