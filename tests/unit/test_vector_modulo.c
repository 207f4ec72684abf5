/*
 * test_vector_modulo.c: a % b and a // b of floats in lanes, to the bit the interpreter's, zeros' signs too.
 *
 * Every pair of special numbers, multiples of b and their neighbours on both sides, quotients around the
 * bound from which on a function computes them; b in a tensor, in a scalar, and known, a power of two or not;
 * float32, float64 and float16, on every target, strict and not. Then dividends that are off by one known b
 * at most, above or to either side, for which there are loops of their own, and such with one number that is
 * not, wherever it stands.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>

enum { RANDOM = 6000, INPUTS = 2 };

static const double special[] = {0,           -0.0,
                                 1,           -1,
                                 0.5,         -0.5,
                                 3,           -3,
                                 INFINITY,    NAN,
                                 6,           -INFINITY,
                                 0x1p-140,    -7,
                                 0x1p-1070,   1e-10,
                                 -0x1.8p-133, 0x1.fffffep127,
                                 1e300,       -1e10,
                                 16777217,    0.1,
                                 -1e-10,      0x1p22,
                                 -0x1p51,     0x1.000002p22,
                                 5.9999995};
enum { SPECIAL = sizeof special / sizeof *special, COUNT = SPECIAL * SPECIAL + RANDOM };

static const char *const operations[] = {"a[i] % b[i]",
                                         "a[i] // b[i]",
                                         "a[i] % g",
                                         "a[i] // g",
                                         "a[i] % 6.0",
                                         "a[i] % 7.3",
                                         "a[i] % 49.0",
                                         "(a[i] % 6.0) * 2 + a[i] % 7.3",
                                         "a[i] % 0.25",
                                         "a[i] // 0.1",
                                         "a[i] % -3.0",
                                         "a[i] % 1.0",
                                         "a[i] // 0.25",
                                         "a[i] // 1.0",
                                         "a[i] % 4.0",
                                         "a[i] // 4.0",
                                         "a[i] % 1e-6",
                                         "a[i] % 9.5367431640625e-07",
                                         "a[i] // 9.5367431640625e-07"};

static double uniform(void)
{
    static uint64_t state = 31;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

/* Near a multiple of b, by up to two units. */
static double near_multiple(akg_dtype dtype, double b)
{
    double most = dtype == AKG_FLOAT64 ? 0x1p52 : 0x1p23;
    double multiple = rint(exp2(uniform() * log2(most))) * b * (uniform() < 0.5 ? -1 : 1);
    if (dtype != AKG_FLOAT64)
        return (double)nextafterf((float)multiple, uniform() < 0.4   ? INFINITY
                                                   : uniform() < 0.5 ? -INFINITY
                                                                     : (float)multiple);
    return nextafter(multiple, uniform() < 0.4 ? INFINITY : uniform() < 0.5 ? -INFINITY : multiple);
}

static void fill(akg_dtype dtype, akg_tensor *a, akg_tensor *b)
{
    static const double known[] = {6, 7.3, 49};
    for (int64_t k = 0; k < COUNT; k++) {
        double divisor = dtype == AKG_FLOAT64 ? uniform() * 10 : (double)(float)(uniform() * 10);
        double dividend =
            k % 4 ? near_multiple(dtype, k % 3 ? divisor : known[k / 3 % 3]) : (uniform() - 0.5) * 100;
        if (k < SPECIAL * SPECIAL) {
            dividend = special[k % SPECIAL];
            divisor = special[k / SPECIAL];
        }
        akg_tensor_set(a, &k, dividend);
        akg_tensor_set(b, &k, k % 5 ? divisor : -divisor);
    }
}

/* The outputs of all targets, strict and not, are those of the interpreter. */
static void check_program(const char *program, akg_tensor **inputs, int count, const akg_argument *last)
{
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_tensor *expected = NULL;
    if (!CHECK(api_run(program, &options, inputs, count, last, &expected)))
        return;
    for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
        for (int strict = 0; strict < 2; strict++) {
            jit_options fast = {
                .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = strict};
            akg_tensor *output = NULL;
            if (!CHECK(api_run(program, &fast, inputs, count, last, &output) &&
                       api_same_numbers(output, expected)))
                fprintf(stderr, "%s:\n%s", fast.target, program);
            akg_tensor_release(output);
        }
    akg_tensor_release(expected);
}

static void check_operation(const char *operation, akg_dtype dtype)
{
    char program[300];
    const int64_t shape[] = {COUNT};
    akg_tensor *inputs[INPUTS] = {NULL, NULL};
    const akg_argument last = {.kind = AKG_ARGUMENT_FLOAT, .as.real = -2.75};
    snprintf(program, sizeof program,
             "def k(a, b, g=1.5):\n    y = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n"
             "        y[i] = %s\n    return y\n",
             operation);
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &inputs[0]) == AKG_OK &&
               akg_tensor_create(dtype, 1, shape, &inputs[1]) == AKG_OK))
        return;
    fill(dtype, inputs[0], inputs[1]);
    check_program(program, inputs, INPUTS, &last);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

/* ---- one period ------------------------------------------------------------------------------- */

enum { LONG = 3000, WRAPPED = 6 };

static const double periods[WRAPPED] = {6, 7.3, 49, 4, 6.283185307179586, 0.3};

static double rounded(akg_dtype dtype, double number)
{
    return dtype == AKG_FLOAT64 ? number : (double)(float)number;
}

static double beside(akg_dtype dtype, double number, double toward)
{
    return dtype == AKG_FLOAT64 ? nextafter(number, toward)
                                : (double)nextafterf((float)number, (float)toward);
}

/* From `low` periods to one below `low` + 2, the ends and what lies beside multiples among them. */
static double within(akg_dtype dtype, double period, int low)
{
    double b = rounded(dtype, period), end = (low + 2) * b;
    double places[] = {low * b,
                       beside(dtype, end, 0),
                       0,
                       b,
                       beside(dtype, b, 0),
                       beside(dtype, b, 2 * b),
                       beside(dtype, 0, low < 0 ? -1 : 1),
                       beside(dtype, low * b, end)};
    enum { PLACES = sizeof places / sizeof *places };
    double number = rounded(dtype, (low + 2 * uniform()) * b);
    if (low == 0 && places[1] == end)
        places[1] = b;
    if (uniform() < 0.3)
        number = places[(int)(uniform() * PLACES)];
    return number < low * b || number >= end ? b / 2 : number;
}

static void check_period(akg_dtype dtype, double period)
{
    static const double strange[] = {NAN, INFINITY, -INFINITY, 2, -1.25, 1e6, -0.0};
    enum { STRANGE = sizeof strange / sizeof *strange };
    const int64_t shape[] = {LONG};
    for (int low = -1; low <= 0; low++)
        for (int outlier = -1; outlier < STRANGE; outlier++) {
            char program[400];
            akg_tensor *input = NULL;
            snprintf(program, sizeof program,
                     "def k(a, g=1.5):\n    y = output_tensor(a.shape, a.dtype)\n"
                     "    for i in range(a.shape[0]):\n        y[i] = a[i] %% %.17g%s\n    return y\n",
                     period, outlier % 2 ? "" : " + a[i] % 50.0");
            if (!CHECK(akg_tensor_create(dtype, 1, shape, &input) == AKG_OK))
                return;
            for (int64_t k = 0; k < LONG; k++)
                akg_tensor_set(input, &k, within(dtype, period, low));
            int64_t place = (int64_t)(uniform() * LONG);
            if (outlier >= 0)
                akg_tensor_set(input, &place,
                               strange[outlier] == 0 ? -0.0 : rounded(dtype, strange[outlier] * period));
            check_program(program, &input, 1, NULL);
            akg_tensor_release(input);
        }
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_FLOAT16};
    for (size_t k = 0; k < API_COUNT(operations); k++)
        for (size_t type = 0; type < API_COUNT(dtypes); type++)
            check_operation(operations[k], dtypes[type]);
    for (size_t k = 0; k < WRAPPED; k++)
        for (size_t type = 0; type < API_COUNT(dtypes); type++)
            check_period(dtypes[type], periods[k]);
    return check_done();
}
