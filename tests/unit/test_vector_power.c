/*
 * test_vector_power.c: powers in lanes against pow in double: every pair of special numbers, with the signs
 * of zeros, and random ones, for exponents in a tensor, in a scalar and known; float32 and float16, on both
 * targets. Bases in a scalar, and known ones and exponents, of float64 too, against powl; what
 * logarithms of such a base lack.
 */
#include "../../include/akg.h"
#include "../../jit/scalar_library.h"
#include "../../jit/x86_cpu.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

#ifdef AKG_SANITIZED
enum { RANDOM = 1 << 13 };
#else
enum { RANDOM = 1 << 16 };
#endif

static const double special[] = {
    0,        -0.0,      1,      -1,  2,        -2,        0.5,  -0.5,  3,        -3,  2.5,
    INFINITY, -INFINITY, 7,      NAN, 0x1p-140, -0x1p-140, 1e10, -1e10, 16777217, 0.3, -0x1.fffffep127,
    4,        -4,        0x1p-24};
enum { SPECIAL = sizeof special / sizeof *special, COUNT = SPECIAL * SPECIAL + RANDOM };

static double uniform(void)
{
    static uint64_t state = 777;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

/* Bases of all sizes, some negative; exponents some of which are whole. */
static void fill(akg_tensor *x, akg_tensor *y)
{
    for (int64_t k = 0; k < COUNT; k++) {
        double base = exp2(uniform() * 60 - 30), exponent = uniform() * 16 - 8;
        if (k < SPECIAL * SPECIAL) {
            base = special[k % SPECIAL];
            exponent = special[k / SPECIAL];
        } else if (k % 3 == 0) {
            base = -base;
            exponent = rint(exponent);
        }
        akg_tensor_set(x, &k, base);
        akg_tensor_set(y, &k, exponent);
    }
}

/* y[i] = EXPRESSION of x[i], e[i] and g. */
static akg_tensor *apply(const char *expression, akg_tensor *x, akg_tensor *e, double g,
                         enum x86_target target)
{
    char program[200];
    jit_options options = {.target = x86_target_name(target)};
    akg_argument arguments[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x},
                                {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = e},
                                {.kind = AKG_ARGUMENT_FLOAT, .as.real = g}};
    akg_tensor *output = NULL;
    akg_module *module = NULL;
    snprintf(
        program, sizeof program,
        "def k(x, e, g=0.25):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
        "        y[i] = %s\n    return y\n",
        expression);
    jit_source source = {.name = "power.akg", .text = program, .length = strlen(program)};
    CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK &&
          akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 3, NULL, &output, NULL) == AKG_OK);
    akg_module_release(module);
    return output;
}

/* In units in the last place of the dtype. */
static double error_of(akg_dtype dtype, double exact, double got)
{
    bool half = dtype == AKG_FLOAT16;
    double largest = half ? 65519.99 : 0x1.ffffffp127, least = half ? 0x1p-14 : 0x1p-126;
    int exponent;
    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (fabs(exact) >= largest || isinf(got))
        return isinf(got) && signbit(got) == signbit(exact) && fabs(exact) >= largest * (1 - 0x1p-9)
                   ? 0
                   : INFINITY;
    if (got == 0 || exact == 0)
        if (signbit(got) != signbit(exact))
            return INFINITY;
    frexp(fabs(exact) < least ? least : exact, &exponent);
    return fabs(got - exact) / ldexp(1, exponent - (half ? 11 : 24));
}

/* `known`: the exponent; NAN: that of the element. */
static void check_form(akg_dtype dtype, const char *expression, double known, double bound,
                       enum x86_target target)
{
    const int64_t shape[] = {COUNT};
    akg_tensor *x = NULL, *e = NULL;
    double worst = 0;
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &x) == AKG_OK &&
               akg_tensor_create(dtype, 1, shape, &e) == AKG_OK))
        return;
    fill(x, e);
    akg_tensor *y = apply(expression, x, e, isnan(known) ? 0 : known, target);
    for (int64_t k = 0; y && k < COUNT; k++) {
        double exponent = isnan(known) ? akg_tensor_get(e, &k) : known;
        double error = error_of(dtype, pow(akg_tensor_get(x, &k), exponent), akg_tensor_get(y, &k));
        worst = error > worst ? error : worst;
        if (error > bound)
            fprintf(stderr, "    %g ^ %g is no %g\n", akg_tensor_get(x, &k), exponent, akg_tensor_get(y, &k));
    }
    if (!CHECK(worst <= bound))
        fprintf(stderr, "    %s for %s: %g units\n", expression, x86_target_name(target), worst);
    akg_tensor_release(x);
    akg_tensor_release(e);
    akg_tensor_release(y);
}

/* In units in the last place of float32 or float64. */
static double error_of_long(akg_dtype dtype, long double exact, double got)
{
    bool wide = dtype == AKG_FLOAT64;
    long double largest = wide ? 0x1.fffffffffffff8p1023L : 0x1.ffffffp127L;
    int exponent, least = wide ? -1021 : -125;
    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (fabsl(exact) >= largest || isinf(got))
        return isinf(got) && (got < 0) == (exact < 0) && fabsl(exact) >= largest * (1 - 0x1p-20L) ? 0
                                                                                                  : INFINITY;
    if (!signbit(got) != !signbit(exact))
        return INFINITY;
    frexpl(exact, &exponent);
    exponent = exact == 0 || exponent < least ? least : exponent;
    return (double)(fabsl(got - exact) / ldexpl(1, exponent - (wide ? 53 : 24)));
}

/* x[i] ^ exponent, which is known. */
static void check_known(akg_dtype dtype, double exponent, double bound, enum x86_target target)
{
    const int64_t shape[] = {COUNT};
    char expression[60];
    double worst = 0;
    akg_tensor *x = NULL;
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &x) == AKG_OK))
        return;
    snprintf(expression, sizeof expression, "x[i] ** %.17g%s", exponent,
             exponent == floor(exponent) ? ".0" : "");
    for (int64_t k = 0; k < COUNT; k++) {
        double most = (dtype == AKG_FLOAT64 ? 1080 : 152) / fmax(fabs(exponent), 1);
        double base = exp2((uniform() * 2 - 1) * (k % 2 ? most : 2));
        akg_tensor_set(x, &k, k < SPECIAL ? special[k] : k % 5 == 0 ? -base : base);
    }
    akg_tensor *y = apply(expression, x, x, 0, target);
    for (int64_t k = 0; y && k < COUNT; k++) {
        double base = akg_tensor_get(x, &k), got = akg_tensor_get(y, &k);
        double error = error_of_long(dtype, powl(base, exponent), got);
        if (dtype == AKG_FLOAT64 && fabs(got) < 0x1p-1000 && error <= 1.5)
            continue; /* what products were rounded by is no number there */
        if (error > bound && error > worst)
            fprintf(stderr, "    %g ^ %g is no %g\n", base, exponent, got);
        worst = error > worst ? error : worst;
    }
    if (!CHECK(worst <= bound))
        fprintf(stderr, "    %s for %s: %g units\n", expression, x86_target_name(target), worst);
    akg_tensor_release(x);
    akg_tensor_release(y);
}

static void check_knowns(akg_dtype dtype, enum x86_target target)
{
    static const double roots[] = {0.5, -0.5, 0.25, -0.25, 1.5, -1.5, 1.25, 2.5};
    for (size_t k = 0; k < sizeof roots / sizeof *roots; k++)
        check_known(dtype, roots[k], roots[k] == 2.5 || roots[k] == 1.25 ? 2.4 : 2, target);
    check_known(dtype, dtype == AKG_FLOAT64 ? 1.0 / 3 : (double)(float)(1.0 / 3), 1.2, target);
    for (int exponent = -16; exponent <= 16; exponent++)
        check_known(dtype, exponent,
                    abs(exponent) < 2 ? 0.51 : fmax(2, exponent < 0 ? -1.5 * exponent : 0.8 * exponent),
                    target);
    static const int whole[] = {17,  20,  24,  31,  33,  48,  100,  127,  255,  256,
                                -17, -20, -24, -31, -33, -48, -100, -127, -255, -256};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        check_known(dtype, whole[k], 2, target);
    check_known(dtype, 257, dtype == AKG_FLOAT64 ? 1 : 0.51, target);
    check_known(dtype, 0.75, dtype == AKG_FLOAT64 ? 1 : 0.51, target);
    check_known(dtype, -3.5, dtype == AKG_FLOAT64 ? 1 : 0.51, target);
}

/* base ^ e[i], the base a scalar, or, where the expression has it, known. */
static void check_base(akg_dtype dtype, const char *expression, double base, enum x86_target target)
{
    const int64_t shape[] = {COUNT};
    const double bound = 1.1;
    akg_tensor *x = NULL, *e = NULL;
    double worst = 0;
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &x) == AKG_OK &&
               akg_tensor_create(dtype, 1, shape, &e) == AKG_OK))
        return;
    base = dtype == AKG_FLOAT64 ? base : (double)(float)base;
    double logarithm = fabs(log2(fabs(base))), most = dtype == AKG_FLOAT64 ? 1080 : 152;
    for (int64_t k = 0; k < COUNT; k++) {
        double range = isfinite(logarithm) && logarithm > 0 ? most / logarithm : most;
        double y = (uniform() * 2 - 1) * range * (k % 4 == 0 ? 1 : k % 4 == 1 ? 1.0 / 16 : 1e-3);
        akg_tensor_set(e, &k, k < SPECIAL ? special[k] : k % 3 == 0 ? rint(y) : y);
    }
    akg_tensor *y = apply(expression, x, e, base, target);
    for (int64_t k = 0; y && k < COUNT; k++) {
        double exponent = akg_tensor_get(e, &k), got = akg_tensor_get(y, &k);
        double error = error_of_long(dtype, powl(base, exponent), got);
        worst = error > worst ? error : worst;
        if (error > bound && isinf(worst))
            fprintf(stderr, "    %g ^ %g is no %g\n", base, exponent, got);
    }
    if (!CHECK(worst <= bound))
        fprintf(stderr, "    %g: %s for %s: %g units\n", base, expression, x86_target_name(target), worst);
    akg_tensor_release(x);
    akg_tensor_release(e);
    akg_tensor_release(y);
}

static void check_bases(akg_dtype dtype, enum x86_target target)
{
    static const double bases[] = {
        2,   0.97, 10,   1.0000001, 0.3,       1e-30, 3e38,     1, -1,    -2,
        0.0, -0.0, -0.7, INFINITY,  -INFINITY, NAN,   0x1p-140, 7, -1e10, 2.718281828459045};
    for (size_t k = 0; k < sizeof bases / sizeof *bases; k++)
        check_base(dtype, "g ** e[i]", bases[k], target);
    check_base(dtype, "2.0 ** e[i]", 2, target);
    check_base(dtype, "8.0 ** e[i]", 8, target);
    check_base(dtype, "0.03125 ** e[i]", 0.03125, target);
    check_base(dtype, "0.97 ** e[i]", 0.97, target);
    check_base(dtype, "10.0 ** e[i]", 10, target);
    check_base(dtype, "1.0 ** e[i]", 1, target);
    check_base(dtype, "(-2.5) ** e[i]", -2.5, target);
}

static void check_target(enum x86_target target)
{
    static const double scalars[] = {0, 1, 2.5, -0.75, 3, -7, 1e9, INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
        check_form(AKG_FLOAT32, "x[i] ** g", scalars[k], 0.51, target);
    check_form(AKG_FLOAT32, "x[i] ** e[i]", NAN, 0.51, target);
    check_form(AKG_FLOAT32, "x[i] ** 2.5", 2.5, 2.4, target);
    check_form(AKG_FLOAT32, "x[i] ** 0.7", 0.7f, 0.51, target);
    check_form(AKG_FLOAT32, "x[i] ** -0.375", -0.375, 0.51, target);
    check_form(AKG_FLOAT32, "x[i] ** 4", 4, 2, target);
    check_form(AKG_FLOAT32, "x[i] ** 5.0", 5, 4, target);
    check_form(AKG_FLOAT32, "x[i] ** 12.0", 12, 9.6, target);
    check_form(AKG_FLOAT32, "x[i] ** -3.0", -3, 4.5, target);
    check_form(AKG_FLOAT32, "x[i] ** 2000000000.0", 2000000000, 0.51, target);
    check_form(AKG_FLOAT16, "x[i] ** e[i]", NAN, 0.51, target);
    check_form(AKG_FLOAT16, "x[i] ** 2.5", 2.5, 0.51, target);
    check_form(AKG_FLOAT16, "x[i] ** 6", 6, 0.51, target);
    check_form(AKG_FLOAT16, "x[i] ** -7", -7, 0.51, target);
    check_form(AKG_FLOAT16, "x[i] ** 64", 64, 0.51, target);
    check_bases(AKG_FLOAT32, target);
    check_bases(AKG_FLOAT64, target);
    check_knowns(AKG_FLOAT32, target);
    check_knowns(AKG_FLOAT64, target);
}

/* log2 of each is high + rest, by mpmath with 300 bits. */
static void test_log2_rest(void)
{
    static const struct {
        double a, high, rest;
    } rows[] = {
        {0x1.f0a3d70a3d70ap-1, -0x1.67fbe1187ee49p-5, -0x1.3f090820249b0p-61},
        {0x1.0000000000001p+0, 0x1.71547652b82fdp-52, 0x1.7b365759f7d4fp-106},
        {0x1.fffffffffffffp-1, -0x1.71547652b82fep-53, -0x1.cf33ba5220647p-107},
        {0x1.6a09e667f3bcdp+0, 0x1.0000000000001p-1, -0x1.c991a39819edfp-57},
        {0x1.6a09e667f3bccp-1, -0x1.0000000000001p-1, -0x1.37468f53ef442p-56},
        {0x1.8p+1, 0x1.95c01a39fbd68p+0, 0x1.e7e802c48281ap-54},
        {0x1.5bf0a8b145769p+1, 0x1.71547652b82fep+0, -0x1.03f6c00009686p-54},
        {0x1.8p-1040, -0x1.03da8ff971811p+10, 0x1.6879fa00b120ap-44},
        {0x1.fffffffffffffp+1023, 0x1p+10, -0x1.71547652b82fep-53},
        {0x1.4p+3, 0x1.a934f0979a371p+1, 0x1.7f2495fb7fa6dp-53},
        {0x1.00068db8bac71p+0, 0x1.2e8a3a5041f41p-13, -0x1.cd872283a8f7ep-69},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double above = log2(rows[k].a) - rows[k].high; /* where log2 does not round to the nearest */
        CHECK(fabs(akg_log2_rest(rows[k].a) + above - rows[k].rest) <= 0x1p-68 * fabs(rows[k].high));
    }
    for (int exponent = -1074; exponent < 1024; exponent++)
        CHECK(akg_log2_rest(ldexp(1, exponent)) == 0);
    static const double none[] = {0, -0.0, -1, INFINITY, -INFINITY, NAN};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
        CHECK(isnan(akg_log2_rest(none[k])));
}

int main(void)
{
    test_log2_rest();
    enum x86_target best = x86_cpu_target();
    for (int target = X86_TARGET_NONE + 1; target <= (int)best; target++)
        check_target((enum x86_target)target);
    return check_done();
}
