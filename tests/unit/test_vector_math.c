/*
 * test_vector_math.c: functions of vectors against libm in double or long double, in units in the last place.
 *
 * Float32: a sweep over all bit patterns, one in 16411, for each function with one argument; float64: random
 * arguments. The results of AVX2 and AVX-512 must be the same bits, where nothing else is said. Prints the
 * worst error of each.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { STRIDE = 16411, COUNT = 1 << 18 };

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

static long double reciprocal_rootl(long double x)
{
    return 1 / sqrtl(x);
}

static const struct row {
    const char *name;
    double (*function)(double x);
    long double (*long_function)(long double x);
    double bound32, bound64, range; /* of arguments of float64 */
} rows[] = {
    {"exp", exp, expl, 2, 2, 700},      {"exp2", exp2, exp2l, 2, 2, 1000},
    {"tanh", tanh, tanhl, 2, 2, 5},     {"expm1", expm1, expm1l, 2, 2, 5},
    {"sinh", sinh, sinhl, 2, 2, 5},     {"cosh", cosh, coshl, 2.1, 2.1, 5},
    {"sin", sin, sinl, 2.4, 2.4, 1000}, {"cos", cos, cosl, 2.4, 2.4, 1000},
    {"tan", tan, tanl, 2, 2, 1000},     {"asin", asin, asinl, 2.1, 2.1, 1},
    {"acos", acos, acosl, 2, 2, 1},     {"atan", atan, atanl, 2, 2, 100},
    {"erfc", erfc, erfcl, 3.5, 3.8, 3},
};

/* What AVX2 computes in another way: it takes no exponents out of floats, and picks no floats from tables. */
static const struct row apart[] = {{"sqrt", sqrt, sqrtl, 0.9, 0.51, 1e6},
                                   {"rsqrt", reciprocal_root, reciprocal_rootl, 1.5, 1.5, 1000},
                                   {"1 / sqrt", reciprocal_root, reciprocal_rootl, 2, 1.5, 1000},
                                   {"log", log, logl, 1.1, 1.1, 1e6},
                                   {"log2", log2, log2l, 2.1, 2.6, 2},
                                   {"log10", log10, log10l, 3, 3, 2},
                                   {"erf", erf, erfl, 1, 1.6, 3},
                                   {"log1p", log1p, log1pl, 2, 2, 100}};

/* The kernel on x for a target. */
static akg_tensor *apply(const char *name, akg_tensor *x, enum x86_target target)
{
    char program[200];
    jit_options options = {.target = x86_target_name(target)};
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x};
    akg_tensor *output = NULL;
    akg_module *module = NULL;
    snprintf(program, sizeof program,
             "def k(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
             "        y[i] = %s(x[i])\n    return y\n",
             name);
    jit_source source = {.name = "math.akg", .text = program, .length = strlen(program)};
    CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK &&
          akg_kernel_call(akg_module_kernel_at(module, 0), &argument, 1, NULL, &output, NULL) == AKG_OK);
    akg_module_release(module);
    return output;
}

static double error32(const struct row *row, float x, float y)
{
    double exact = row->function(x);
    float rounded = (float)exact;
    if (isnan(rounded) || isnan(y))
        return isnan(rounded) && isnan(y) ? 0 : INFINITY;
    if (isinf(rounded) || isinf(y)) /* the last number below infinity may become it */
        return rounded == y || fabsf(isinf(y) ? rounded : y) >= 0x1.fffffcp127f ? 0 : INFINITY;
    int exponent;
    frexp(exact, &exponent);
    return fabs((double)y - exact) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static double error64(const struct row *row, double x, double y)
{
    long double exact = row->long_function(x);
    int exponent;
    if (isnan((double)exact) || isinf((double)exact))
        return isnan((double)exact) == isnan(y) ? 0 : INFINITY;
    frexpl(exact, &exponent);
    return (double)(fabsl((long double)y - exact) / ldexpl(1, (exponent < -1021 ? -1021 : exponent) - 53));
}

static void fill(akg_tensor *x, const struct row *row)
{
    static const double special[] = {0,
                                     -0.0,
                                     INFINITY,
                                     -INFINITY,
                                     NAN,
                                     1e308,
                                     -1e308,
                                     5e-324,
                                     -5e-324,
                                     1e-310,
                                     709.78,
                                     -745.13,
                                     710.4,
                                     -709.9,
                                     1023.9,
                                     -1074.9,
                                     1,
                                     -1,
                                     0.5,
                                     1e-300,
                                     0.7499018626084791,
                                     1.3333740723963687,
                                     0.7292346419167511};
    uint64_t state = 12345;
    for (uint32_t k = 0; k < COUNT; k++) {
        uint32_t bits = k * STRIDE;
        if (akg_tensor_dtype(x) == AKG_FLOAT32) {
            memcpy((float *)akg_tensor_data(x) + k, &bits, sizeof bits);
        } else {
            state = state * 6364136223846793005u + 1442695040888963407u;
            ((double *)akg_tensor_data(x))[k] = k < sizeof special / sizeof *special
                                                    ? special[k]
                                                    : ((double)(state >> 11) * 0x1p-52 - 1) * row->range;
        }
    }
}

static double worst_of(const struct row *row, const akg_tensor *x, const akg_tensor *y)
{
    double worst = 0;
    bool narrow = akg_tensor_dtype(x) == AKG_FLOAT32;
    for (int k = 0; k < COUNT; k++) {
        double error =
            narrow ? error32(row, ((float *)akg_tensor_data(x))[k], ((float *)akg_tensor_data(y))[k])
                   : error64(row, ((double *)akg_tensor_data(x))[k], ((double *)akg_tensor_data(y))[k]);
        worst = error > worst ? error : worst;
    }
    return worst;
}

/* nan has many patterns, of which none is the language's. */
static bool same_results(const akg_tensor *a, const akg_tensor *b)
{
    int64_t index;
    for (index = 0; index < COUNT; index++) {
        double x = akg_tensor_get(a, &index), y = akg_tensor_get(b, &index);
        if (!(isnan(x) && isnan(y)) && (x != y || signbit(x) != signbit(y)))
            return false;
    }
    return true;
}

static void check_row(const struct row *row, akg_dtype dtype, bool same)
{
    const int64_t shape[] = {COUNT};
    akg_tensor *x = NULL, *outputs[2] = {NULL, NULL};
    enum x86_target best = x86_cpu_target();
    double worst, bound = dtype == AKG_FLOAT32 ? row->bound32 : row->bound64;
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &x) == AKG_OK))
        return;
    fill(x, row);
    outputs[0] = apply(row->name, x, best);
    if (outputs[0]) {
        worst = worst_of(row, x, outputs[0]);
        printf("%s %s: %.3f units\n", row->name, akg_dtype_name(dtype), worst);
        CHECK(worst <= bound + 0.01);
    }
    if (best == X86_TARGET_AVX512) {
        outputs[1] = apply(row->name, x, X86_TARGET_AVX2);
        if (CHECK(outputs[0] && outputs[1]))
            CHECK(same ? same_results(outputs[0], outputs[1]) : worst_of(row, x, outputs[1]) <= bound + 0.01);
    }
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    akg_tensor_release(x);
}

/* What programs rely on to the bit, whatever the bounds are: factors of transforms begin with them. */
static void check_exact(const char *name, double at, double value, akg_dtype dtype)
{
    const int64_t shape[] = {64};
    akg_tensor *x = NULL;
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &x) == AKG_OK))
        return;
    for (int64_t k = 0; k < shape[0]; k++)
        akg_tensor_set(x, &k, at);
    for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++) {
        akg_tensor *y = apply(name, x, (enum x86_target)target);
        for (int64_t k = 0; y && k < shape[0]; k++)
            CHECK(akg_tensor_get(y, &k) == value && !signbit(akg_tensor_get(y, &k)) == !signbit(value));
        akg_tensor_release(y);
    }
    akg_tensor_release(x);
}

static void check_exactly(akg_dtype dtype)
{
    check_exact("cos", 0, 1, dtype);
    check_exact("cosh", 0, 1, dtype);
    check_exact("exp", 0, 1, dtype);
    check_exact("exp2", 3, 8, dtype);
    check_exact("log", 1, 0, dtype);
    check_exact("log2", 8, 3, dtype);
    check_exact("sin", 0, 0, dtype);
    check_exact("tanh", 0, 0, dtype);
    check_exact("erf", 0, 0, dtype);
    check_exact("log1p", -0.0, -0.0, dtype);
    check_exact("expm1", -0.0, -0.0, dtype);
    check_exact("sinh", -0.0, -0.0, dtype);
    check_exact("sqrt", 4, 2, dtype);
}

int main(void)
{
    if (x86_cpu_target() == X86_TARGET_NONE) {
        puts("skipped: this processor has no vector target");
        return check_done();
    }
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        check_row(&rows[k], AKG_FLOAT32, true);
        check_row(&rows[k], AKG_FLOAT64, true);
    }
    for (size_t k = 0; k < sizeof apart / sizeof *apart; k++) {
        check_row(&apart[k], AKG_FLOAT32, false);
        check_row(&apart[k], AKG_FLOAT64, false);
    }
    check_exactly(AKG_FLOAT32);
    check_exactly(AKG_FLOAT64);
    return check_done();
}
