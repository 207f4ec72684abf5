/*
 * vector_x86_circle.c: sin, cos, tan and their inverses, in line.
 *
 * Angles are reduced by multiples of pi or pi / 2 given as three floats: with fused steps the first
 * difference is exact, and what the second is rounded by is kept. Those that are too large go to the library.
 */
#include "vector_x86_math.h"
#include "vector_x86_operation.h"

/* ---- sin, cos, tan --------------------------------------------------------------------------- */

/* What is left of an angle, as a float and what that lacks. */
struct angle {
    int high, low;
};

static struct angle less_multiple(const struct real *real, int x, int n, double scale)
{
    static const double narrow[] = {0x1.921fb6p+1, -0x1.777a5cp-24, -0x1.ee59dap-49},
                        wide[] = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109};
    const double *pi = real->wide ? wide : narrow;
    int second = real_number(real, scale * pi[1]), third = real_number(real, scale * pi[2]);
    int first = real_minus_product(real, x, n, real_number(real, scale * pi[0]));
    int product = real_multiply(real, n, second), high = real_subtract(real, first, product);
    int rest = real_rest(real, n, second, product);
    int lost = real_subtract(real, real_subtract(real, first, high), product);
    return (struct angle){high, real_minus_product(real, real_subtract(real, lost, rest), n, third)};
}

/* x + c x^3 + x^5 P(x^2), of an angle: c by itself, so that only what is small is rounded before. */
static int odd_polynomial(const struct real *real, const struct angle *angle, double c,
                          struct coefficients coefficients)
{
    int x = angle->high, square = real_multiply(real, x, x), cube = real_multiply(real, x, square);
    int p = real_polynomial(real, square, coefficients);
    int rest = real_plus_product(real, angle->low, real_multiply(real, cube, square), p);
    return real_add(real, x, real_plus_product(real, rest, cube, real_number(real, c)));
}

/* sin(a - n pi), turned where n is odd; cos is sin(a + pi / 2). */
static int sine(const struct real *real, bool is_cosine, int a)
{
    int rounder = real_number(real, real->rounder), per = real_number(real, 0x1.45f306dc9c883p-2), shifted;
    if (is_cosine)
        shifted = real_add(real, real_step(real, a, per, 0.5), rounder);
    else
        shifted = real_plus_product(real, rounder, a, per);
    int n = real_subtract(real, shifted, rounder);
    if (is_cosine)
        n = real_subtract(real, n, real_number(real, 0.5));
    struct angle angle = less_multiple(real, a, n, 1);
    int result = odd_polynomial(real, &angle, real->wide ? -0x1.5555555555555p-3 : -0x1.55554cp-3,
                                real->wide ? COEFFICIENTS(0x1.88328dd12358bp-49, -0x1.ae4383c6cf234p-41,
                                                          0x1.6123cd05b1bd3p-33, -0x1.ae6454d4713d2p-26,
                                                          0x1.71de3a52a0af2p-19, -0x1.a01a01a014d6fp-13,
                                                          0x1.11111111110c8p-7)
                                           : COEFFICIENTS(0x1.5dcb58p-19, -0x1.9f70eep-13, 0x1.110edap-7));
    return real_turned(real, real_clamped(real, result, -1, 1),
                       real_shift_left(real, shifted, real->wide ? 63 : 31));
}

/* tan(a - n pi / 2), or where n is odd its negative inverse. */
static int tangent(const struct real *real, int a)
{
    int rounder = real_number(real, real->rounder);
    int shifted = real_plus_product(real, rounder, a, real_number(real, 0x1.45f306dc9c883p-1));
    struct angle angle = less_multiple(real, a, real_subtract(real, shifted, rounder), 0.5);
    int t = odd_polynomial(
        real, &angle, real->wide ? 0x1.55555555554e6p-2 : 0x1.5554d4p-2,
        real->wide ? COEFFICIENTS(0x1.6100e7c18e25ap-16, -0x1.7eda481a32e43p-15, 0x1.7d550ca791572p-14,
                                  -0x1.d66d19551981ep-16, 0x1.20df506c5aec7p-13, 0x1.d1121c3b55131p-13,
                                  0x1.38198fc5630f3p-11, 0x1.7d57815e4e577p-10, 0x1.d6d988f59d875p-9,
                                  0x1.226e0fde3e311p-7, 0x1.664f49c042146p-6, 0x1.ba1ba1b3e4a66p-5,
                                  0x1.1111111118ed4p-3)
                   : COEFFICIENTS(0x1.362418p-7, 0x1.862c7ep-9, 0x1.91d5a0p-6, 0x1.b54e92p-5, 0x1.112fbcp-3));
    int low_bit = real_and(real, shifted, real_pattern(real, 1, 1));
    int is_odd = machine_compare(real->machine, OP_NE, real->wide ? AKG_INT64 : AKG_INT32, low_bit,
                                 real_pattern(real, 0, 0));
    int inverse = real_divide(real, real_number(real, -1), t);
    return real_select(real, is_odd, inverse, t);
}

/* Of |x|, which turns the sign of sin and tan. */
int real_circular(const struct real *real, enum operation operation, int x)
{
    int a = real_magnitude(real, x), result;
    if (operation == OP_TAN)
        result = tangent(real, a);
    else
        result = sine(real, operation == OP_COS, a);
    if (operation != OP_COS)
        result = real_turned(real, result, x);
    return machine_rare(real->machine, operation, real->type, real->wide ? 0x1p40 : 0x1p16,
                        (struct machine_rarity){.x = x, .y = -1, .size = a, .result = result});
}

/* ---- asin, acos, atan, atan2 -------------------------------------------------------------------- */

/* An angle with 0 or another sum to which the arc of something small is added. */
struct start {
    int high, low;
};

static const double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54,
                    half_pi_single = 0x1.921fb6p+0, half_pi_low_single = -0x1.777a5cp-25;

static double high_part(const struct real *real, double scale)
{
    return scale * (real->wide ? half_pi : half_pi_single);
}

static double low_part(const struct real *real, double scale)
{
    return scale * (real->wide ? half_pi_low : half_pi_low_single);
}

/* scale * pi / 2 where the condition holds, else 0. */
static struct start start_where(const struct real *real, int condition, double scale)
{
    int zero = real_number(real, 0);
    return (struct start){real_select(real, condition, real_number(real, high_part(real, scale)), zero),
                          real_select(real, condition, real_number(real, low_part(real, scale)), zero)};
}

/* start + (t + t * square * P(square)). */
static int arc_from(const struct real *real, const struct start *start, int t, int square, int p)
{
    int correction = real_plus_product(real, start->low, real_multiply(real, t, square), p);
    return real_add(real, real_add(real, start->high, t), correction);
}

static int small_arc_tangent(const struct real *real, const struct start *start, int t)
{
    int square = real_multiply(real, t, t);
    int p = real_polynomial(
        real, square,
        real->wide ? COEFFICIENTS(0x1.c4a286b118b38p-17, -0x1.44a3a2cc5e14ep-13, 0x1.ba3c7d652e69ap-11,
                                  -0x1.7ea6416700ee0p-9, 0x1.dc0457768ba5ep-8, -0x1.ca97877437c6ep-7,
                                  0x1.69d8746c3ce5dp-6, -0x1.eb49278e8724cp-6, 0x1.2c98193170085p-5,
                                  -0x1.59d7f1ccf26a4p-5, 0x1.82eeaf5563ac3p-5, -0x1.ae644d6680b20p-5,
                                  0x1.e1bcf7c7083f7p-5, -0x1.110e6d951a73ep-4, 0x1.3b136a17a84e6p-4,
                                  -0x1.745d11fb36726p-4, 0x1.c71c71842841ep-4, -0x1.24924923923ecp-3,
                                  0x1.9999999995aebp-3, -0x1.555555555552ap-2)
                   : COEFFICIENTS(0x1.85e914p-9, -0x1.0faf70p-6, 0x1.64cfe6p-5, -0x1.36832ap-4, 0x1.b56a9cp-4,
                                  -0x1.231baep-3, 0x1.997ae8p-3, -0x1.5554e6p-2));
    return arc_from(real, start, t, square, p);
}

/* Above 1 it is pi / 2 less that of 1 / x. */
static int arc_tangent(const struct real *real, int x)
{
    int a = real_magnitude(real, x);
    int is_far = real_compare(real, OP_GT, a, real_number(real, 1));
    struct start start = start_where(real, is_far, 1);
    int t = real_select(real, is_far, real_divide(real, real_number(real, -1), a), a);
    return real_with_sign(real, real_magnitude(real, small_arc_tangent(real, &start, t)), x);
}

/* Above 1/2, asin(a) is pi / 2 - 2 asin(s) with s = sqrt((1 - a) / 2). */
static int arc_sine(const struct real *real, bool is_cosine, int x)
{
    int a = real_magnitude(real, x), half = real_number(real, 0.5);
    int is_large = real_compare(real, OP_GT, a, half);
    int square =
        real_select(real, is_large, real_minus_product(real, half, a, half), real_multiply(real, a, a));
    int p = real_polynomial(
        real, square,
        real->wide ? COEFFICIENTS(0x1.0bc18d0f1bbf1p-5, -0x1.598c482b902bcp-6, 0x1.64bad958791b2p-6,
                                  0x1.e2376fc5e10d9p-9, 0x1.617d259fb8358p-7, 0x1.7579c78bae04dp-7,
                                  0x1.ca21056fe4c71p-7, 0x1.1c49e04cb0e5bp-6, 0x1.6e8bdfcb62b52p-6,
                                  0x1.f1c71a8c589c4p-6, 0x1.6db6db722a2b0p-5, 0x1.333333332df1fp-4,
                                  0x1.5555555555578p-3)
                   : COEFFICIENTS(0x1.59cda6p-5, 0x1.8bb462p-6, 0x1.748a36p-5, 0x1.33016ap-4, 0x1.5555cap-3));
    int root = real_multiply(real, real_root(real, square), real_number(real, is_cosine ? 2 : -2));
    int t = real_select(real, is_large, root, a);
    if (!is_cosine) {
        struct start start = start_where(real, is_large, 1);
        return real_with_sign(real, real_magnitude(real, arc_from(real, &start, t, square, p)), x);
    }
    /* pi / 2 - x; 2 asin(s); or, where x is negative, pi - 2 asin(s) */
    int zero = real_number(real, 0), is_below = real_compare(real, OP_LT, x, zero);
    struct start far = start_where(real, is_below, 2);
    struct start start = {real_select(real, is_large, far.high, real_number(real, high_part(real, 1))),
                          real_select(real, is_large, far.low, real_number(real, low_part(real, 1)))};
    int turned = real_turned(real, t, x), opposite = real_subtract(real, zero, turned);
    return arc_from(real, &start, real_select(real, is_large, turned, opposite), square, p);
}

int real_arc(const struct real *real, enum operation operation, int x)
{
    return operation == OP_ATAN ? arc_tangent(real, x) : arc_sine(real, operation == OP_ACOS, x);
}

/* The arc of the smaller over the larger one, from 0, pi / 2 or pi, there or back. */
int real_arc_of_two(const struct real *real, int y, int x)
{
    enum { UNORDERED = 3 };
    int height = real_magnitude(real, y), width = real_magnitude(real, x), zero = real_number(real, 0);
    int is_steep = real_compare(real, OP_GT, height, width);
    int small = real_least(real, height, width), large = real_most(real, height, width);
    int t = real_divide(real, small, large);
    t = real_select(real, real_compare(real, OP_EQ, large, zero), zero, t);
    t = real_select(real, real_compare(real, OP_EQ, small, real_number(real, __builtin_inf())),
                    real_number(real, 1), t);
    int is_left = machine_compare(real->machine, OP_LT, real->wide ? AKG_INT64 : AKG_INT32, x,
                                  real_pattern(real, 0, 0));
    int goes_back = machine_xor(real->machine, is_steep, is_left);
    t = real_select(real, goes_back, real_subtract(real, zero, t), t);
    struct start level = start_where(real, is_left, 2);
    struct start start = {real_select(real, is_steep, real_number(real, high_part(real, 1)), level.high),
                          real_select(real, is_steep, real_number(real, low_part(real, 1)), level.low)};
    int result = real_magnitude(real, small_arc_tangent(real, &start, t));
    int is_nan = machine_compare_floats(real->machine, real->type, x, y, UNORDERED);
    return real_select(real, is_nan, real_add(real, x, y), real_with_sign(real, result, y));
}
