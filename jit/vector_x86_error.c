/*
 * vector_x86_error.c: erf and erfc, in line.
 *
 * Around 0 polynomials; farther out e^(-x^2) and a function that takes its place slowly. Float32 with AVX-512
 * has erf by pieces.
 */
#include "vector_x86_math.h"

/* erf(x) / x - 1, of the square of x up to 1. */
static struct coefficients inner_coefficients(const struct real *real)
{
    static const double narrow[] = {-0x1.38e000p-11, 0x1.471a58p-8,  -0x1.b691b2p-6,
                                    0x1.ce1c44p-4,   -0x1.812700p-2, 0x1.06eba8p-3},
                        wide[] = {0x1.3c29b7c216f8dp-33,  -0x1.c5179c75f7c4ap-30, 0x1.132e8478e1c18p-26,
                                  -0x1.63931ab6d65c6p-23, 0x1.ba69537e8ca25p-20,  -0x1.f4dcf5a85380bp-17,
                                  0x1.f9a3b9849b408p-14,  -0x1.c02db93483ff9p-11, 0x1.565bcd2c69218p-8,
                                  -0x1.b82ce31354eacp-6,  0x1.ce2f21a0458dbp-4,   -0x1.812746b037a25p-2,
                                  0x1.06eba8214db69p-3};
    return real->wide ? (struct coefficients){wide, sizeof wide / sizeof *wide}
                      : (struct coefficients){narrow, sizeof narrow / sizeof *narrow};
}

static int inner(const struct real *real, int x, int square)
{
    return real_plus_product(real, x, x, real_polynomial(real, square, inner_coefficients(real)));
}

/* erf(x) / x, of |x| up to 4 and in 16 pieces, is a polynomial of degree 5 of the distance from a float in
 * the piece where the quotient is a float to 36 bits, so that only what is added to that number is rounded.
 * The polynomials are interpolated (least squares with weights that rise where the error does, each
 * coefficient rounded before the next is found) and are off by 2^-28. Within 0.996 units. */
static int by_pieces(const struct real *real, int x)
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
    int size = real_least(real, real_number(real, 4), real_magnitude(real, x));
    int place =
        real_plus_product(real, real_number(real, real->rounder), size, real_number(real, 0x1.ee0000p+1));
    int distance = real_subtract(real, size, real_pick(real, tables[CENTRE], place));
    int r = real_pick(real, tables[FIRST + DEGREE - 1], place);
    for (int k = DEGREE - 2; k >= 0; k--) {
        r = machine_copy(real->machine, real->bits, r);
        machine_into(real->machine, X86_VFMADD213PS, real->bits, r, distance,
                     real_pick(real, tables[FIRST + k], place), 0);
    }
    r = real_multiply(real, real_multiply(real, r, distance), size);
    return real_with_sign(real, real_plus_product(real, r, size, real_pick(real, tables[QUOTIENT], place)),
                          x);
}

/* 1 - e^(-q) where q is a polynomial of |x|. From 4 on it is 1; farther out its exponential would underflow,
 * which takes processors a hundred cycles. */
static int outer_single(const struct real *real, int size, int square)
{
    int high = real_step(real, real_number(real, -0x1.220000p-16), size, 0x1.91cfb2p-12);
    int low = real_step(real, real_number(real, -0x1.fd1438p-9), size, 0x1.8d6342p-6);
    int r = real_plus_product(real, low, high, square);
    r = real_step(real, r, size, -0x1.b55cb8p-4);
    r = real_step(real, r, size, -0x1.450aa0p-1);
    r = real_step(real, r, size, -0x1.079d0cp-3);
    int result = machine_copy(real->machine, real->bits, r);
    int opposite = real_xor(real, size, real_pattern(real, 0x80000000, 0));
    machine_into(real->machine, X86_VFMADD213PS, real->bits, result, size, opposite, 0);
    return real_subtract(real, real_number(real, 1), real_near_exponential(real, result));
}

/* 1 - e^(-x^2) Q(1 / (|x| + 3)), which is 1 from 6 on. The weight of Q, which is e^(x^2) (1 - erf(x)), is
 * e^(-x^2); it is off by 2^-56. */
static int outer_double(const struct real *real, int size, int square)
{
    int near = real_divide(real, real_number(real, 1), real_add(real, size, real_number(real, 3)));
    int q =
        real_polynomial(real, near,
                        COEFFICIENTS(-0x1.5cdd642d3aefep+12, 0x1.01ac58327f05fp+14, -0x1.3458d4d734419p+14,
                                     0x1.7fa197aa8be4cp+13, -0x1.1de2dedabfb1bp+12, 0x1.4a60d48f0ed48p+10,
                                     -0x1.9daf3dd782b17p+7, 0x1.66dcb4ecccae5p+5, 0x1.beaa7c3f6855ep+0,
                                     0x1.e2ceb60ec4b43p+0, 0x1.1d16ae7a492b2p-1, 0x1.0cdc6b0b53a8ep-13));
    int bell = real_near_exponential(real, real_subtract(real, real_number(real, 0), square));
    return real_minus_product(real, real_number(real, 1), bell, q);
}

/* What is around 0 comes first, for then the square need not be kept: vectors that are interleaved share
 * registers. */
static int single_error(const struct real *real, int size, int square)
{
    int within = inner(real, size, square), outer = outer_single(real, size, square);
    int is_large = real_compare(real, OP_GT, size, real_number(real, 0.927734375));
    return real_select(real, is_large, outer, within);
}

static int double_error(const struct real *real, int size, int square)
{
    int outer = outer_double(real, size, square);
    int is_large = real_compare(real, OP_GT, size, real_number(real, 1));
    return real_select(real, is_large, outer, inner(real, size, square));
}

int real_error_function(const struct real *real, int x)
{
    if (!real->wide && machine_is_avx512(real->machine))
        return by_pieces(real, x);
    int size = real_least(real, real_number(real, real->wide ? 6 : 4), real_magnitude(real, x));
    int square = real_multiply(real, size, size);
    return real_with_sign(
        real, real->wide ? double_error(real, size, square) : single_error(real, size, square), x);
}

/* ---- erfc ------------------------------------------------------------------------------------- */

/* e^(x^2) erfc(x) as Q(1 / (x + shift)), from 0.45 on. What the quotient lacks, times the derivative by x,
 * 2 x Q - 2 / sqrt(pi), is put right. */
static int scaled_complement(const struct real *real, int x, double shift, struct coefficients coefficients)
{
    int one = real_number(real, 1), by = real_number(real, shift), sum = real_add(real, x, by);
    int near = real_divide(real, one, sum);
    int q = real_polynomial(real, near, coefficients);
    int lost = real_subtract(real, x, real_subtract(real, sum, by));
    int distance = real_minus_product(real, lost, sum, real_minus_product(real, one, near, sum));
    int slope = real_plus_product(real, real_number(real, -0x1.20dd750429b6dp+0), real_add(real, x, x), q);
    return real_plus_product(real, q, distance, slope);
}

/* From 1/2 on e^(-x^2) times that; the square is held in two parts, for what it is rounded by counts in the
 * exponent. Of -x it is 2 less that of x. */
int real_error_complement(const struct real *real, int x)
{
    struct coefficients coefficients =
        real->wide
            ? COEFFICIENTS(-0x1.97c9edd21aa8fp+33, 0x1.faf35d536986cp+34, -0x1.1b6bf763733fcp+35,
                           0x1.796ce7d99cebbp+34, -0x1.516d4b92e3203p+33, 0x1.b675d3db2bcbdp+31,
                           -0x1.b53aa020645c7p+29, 0x1.53d22763f6238p+27, -0x1.a6869d31fd663p+24,
                           0x1.ba9d2e367a1a3p+21, -0x1.19f84bbac6560p+18, 0x1.d7b291c58c19bp+15,
                           0x1.2fa593044da38p+13, 0x1.06e08cd79d4a6p+12, 0x1.4ad62a82ebff5p+10,
                           0x1.95d1a49a18141p+8, 0x1.d7149e388aa57p+6, 0x1.05c8e074b1580p+5,
                           0x1.17d686b9dcb08p+3, 0x1.20dd751d3501cp+1, 0x1.20dd7503a52d8p-1,
                           0x1.fda2753f51fa5p-44)
            : COEFFICIENTS(-0x1.2e3c36p+5, 0x1.64ef0ep+6, -0x1.364b60p+6, 0x1.9ae9fcp+4, -0x1.ad8c3ap+1,
                           0x1.df7094p+1, 0x1.e19e30p+0, 0x1.2264e4p+0, 0x1.20c0b8p-1, 0x1.d7321ap-19);
    int size = real_least(real, real_number(real, real->wide ? 27.5 : 10.25), real_magnitude(real, x));
    int square = real_multiply(real, size, size), rest = real_rest(real, size, size, square);
    int outer =
        real_bell(real, square, rest, scaled_complement(real, size, real->wide ? 4 : 2, coefficients));
    int is_small = real_compare(real, OP_LT, size, real_number(real, 0.5));
    int around = real_subtract(real, real_number(real, 1), inner(real, size, square));
    int result = real_select(real, is_small, around, outer);
    int opposite = real_subtract(real, real_number(real, 2), result);
    return real_select(real, real_compare(real, OP_LT, x, real_number(real, 0)), opposite, result);
}
