/*
 * test_vector_rare.c: angles too large for code in line, in loops of each kind, against the interpreter.
 *
 * Programs have sine, cosine or tangent in a plain loop, in rows, columns, sums, nests, recurrences, under
 * conditions, and several at once. Of the elements all, few or none are large, at places that change, so that
 * every lane calls the library, or is next to one that does, while other values are in registers. Results
 * must be near enough. Likewise where a large one, of an angle or a quotient, is the only number among nan,
 * signalling or not, in vectors that are looked at together.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 40, INPUTS = 2, ROWS = 5 };

static const char *const programs[] = {
    "    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
    "        for j in range(x.shape[1]):\n            y[i, j] = sin(x[i, j]) + z[i, j] * s\n",
    "    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
    "        for j in range(x.shape[1]):\n"
    "            y[i, j] = sin(x[i, j]) * cos(z[i, j]) + cos(x[i, j]) * sin(z[i, j])\n",
    "    y = output_tensor((x.shape[0],), x.dtype)\n    for i in range(x.shape[0]):\n        a = 0.0\n"
    "        for j in range(x.shape[1]):\n            a += sin(x[i, j]) * z[i, j]\n        y[i] = a\n",
    "    y = output_tensor((x.shape[1],), x.dtype)\n    for j in range(x.shape[1]):\n        y[j] = 0\n"
    "    for i in range(x.shape[0]):\n        for j in range(x.shape[1]):\n"
    "            y[j] += cos(x[i, j])\n",
    "    y = output_tensor((x.shape[0], x.shape[0]), x.dtype)\n    for i in range(x.shape[0]):\n"
    "        for j in range(x.shape[0]):\n            a = 0.0\n            for k in range(x.shape[1]):\n"
    "                a += sin(x[i, k] * z[j, k])\n            y[i, j] = a\n",
    "    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n        a = s\n"
    "        for j in range(x.shape[1]):\n            a = 0.25 * a + sin(x[i, j])\n"
    "            y[i, j] = a\n",
    "    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
    "        for j in range(x.shape[1]):\n            if z[i, j] > 0:\n"
    "                y[i, j] = cos(x[i, j])\n            else:\n                y[i, j] = z[i, j]\n",
    "    y = output_tensor((x.shape[0],), x.dtype)\n    for i in range(x.shape[0]):\n        a = -2.0\n"
    "        for j in range(x.shape[1]):\n            a = max(a, sin(x[i, j]))\n        y[i] = a\n",
    "    y = output_tensor((x.shape[0], x.shape[1]), x.dtype)\n    for i in range(x.shape[0]):\n"
    "        a = 0.0\n        for j in range(x.shape[1]):\n            a += abs(x[i, j])\n"
    "        for j in range(x.shape[1]):\n            y[i, j] = tan(x[i, j]) / (1 + a * s)\n",
};

static uint64_t state = 53;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

/* Small numbers; `large`: of so many elements one is far beyond what code in line is made for; 0: none is.
 * Large ones are powers of two, which no dtype rounds, nor do products of two. */
static akg_tensor *tensor_of(akg_dtype dtype, const int64_t *shape, int large)
{
    akg_tensor *tensor = NULL;
    int64_t at[2];
    if (!CHECK(akg_tensor_create(dtype, 2, shape, &tensor) == AKG_OK))
        return NULL;
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
        for (at[1] = 0; at[1] < shape[1]; at[1]++) {
            double value = (random_below(801) - 400) / 64.0;
            if (large && random_below(large) == 0)
                value = ldexp(random_below(2) ? 1 : -1, 41 + random_below(10));
            akg_tensor_set(tensor, at, value);
        }
    return tensor;
}

/* Sums of a hundred sines, each within some units. */
static bool is_near(const akg_tensor *a, const akg_tensor *b)
{
    double bound = akg_tensor_dtype(a) == AKG_FLOAT64 ? 1e-13 : 1e-4;
    int64_t count = akg_tensor_element_count(a);
    for (int64_t k = 0; k < count; k++) {
        bool wide = akg_tensor_dtype(a) == AKG_FLOAT64;
        double x = wide ? ((double *)akg_tensor_data(a))[k] : (double)((float *)akg_tensor_data(a))[k];
        double y = wide ? ((double *)akg_tensor_data(b))[k] : (double)((float *)akg_tensor_data(b))[k];
        if (!(fabs(x - y) <= bound * (1 + fabs(x))))
            return false;
    }
    return true;
}

static void check_program(const char *body, akg_dtype dtype)
{
    char program[1000];
    const int64_t shape[2] = {ROWS, 1 + random_below(70)};
    int large = (int[]){0, 1, 2, 20, 100}[random_below(5)];
    akg_tensor *inputs[INPUTS] = {tensor_of(dtype, shape, large), tensor_of(dtype, shape, 0)};
    akg_tensor *expected = NULL;
    const akg_argument last = api_real(NULL, 0.5);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    snprintf(program, sizeof program, "def k(x, z, s=0.5):\n%s    return y\n", body);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
            akg_tensor *output = NULL;
            if (!CHECK(api_run(program, &fast, inputs, INPUTS, &last, &output) && is_near(expected, output)))
                fprintf(stderr, "%s, %d columns, one of %d large:\n%s", fast.target, (int)shape[1], large,
                        program);
            akg_tensor_release(output);
        }
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

/* All nan, but the element `at`, which is large. */
static akg_tensor *large_among_nan(akg_dtype dtype, int64_t count, int64_t at, bool signals)
{
    akg_tensor *tensor = NULL;
    if (!CHECK(akg_tensor_create(dtype, 1, &count, &tensor) == AKG_OK))
        return NULL;
    void *data = akg_tensor_data(tensor);
    for (int64_t k = 0; k < count; k++)
        if (dtype == AKG_FLOAT64)
            ((uint64_t *)data)[k] = (signals ? 0x7ff4 : 0x7ff8) * (UINT64_C(1) << 48) + 1;
        else
            ((uint32_t *)data)[k] = (signals ? 0x7fa0 : 0x7fc0) * (UINT32_C(1) << 16) + 1;
    akg_tensor_set(tensor, &at, 0x1p60);
    return tensor;
}

static void check_among_nan(const char *value, akg_dtype dtype, int64_t at, bool signals)
{
    enum { COUNT = 128 };
    char program[200];
    akg_tensor *input = large_among_nan(dtype, COUNT, at, signals), *expected = NULL;
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    snprintf(program, sizeof program,
             "def k(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
             "        y[i] = %s\n    return y\n",
             value);
    if (CHECK(api_run(program, &options, &input, 1, NULL, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
            akg_tensor *output = NULL;
            if (CHECK(api_run(program, &fast, &input, 1, NULL, &output)))
                CHECK(fabs(akg_tensor_get(expected, &at) - akg_tensor_get(output, &at)) <= 1e-6);
            akg_tensor_release(output);
        }
    akg_tensor_release(expected);
    akg_tensor_release(input);
}

int main(void)
{
    static const char *const values[] = {"sin(x[i])", "x[i] % 6.0", "x[i] % -7.0"};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        for (int64_t at = 0; at < 64; at += 5)
            for (int signals = 0; signals < 2; signals++) {
                check_among_nan(values[k], AKG_FLOAT32, at, signals);
                check_among_nan(values[k], AKG_FLOAT64, at, signals);
            }
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
            if (check_takes((size_t)round + k))
                check_program(programs[k], round % 2 ? AKG_FLOAT64 : AKG_FLOAT32);
    return check_done();
}
