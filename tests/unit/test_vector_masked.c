/*
 * test_vector_masked.c: lanes that a condition leaves out of changes to elements that are computed touch
 * nothing: what lies before and behind the tensor cannot be read, and what other threads store stays.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <sys/mman.h>

enum { ROWS = 8, COLUMNS = 256, INPUTS = 2 };

/* x is ROWS x COLUMNS, at has COLUMNS of its numbers; y, which is given, is like x. */
static const char *const bodies[] = {
    "            y[i, at[j]] += x[i, j]\n            if i + 1 < M:\n                y[i + 1, at[j]] += x[i, "
    "j]\n",
    "            if x[i, j] > 2 and i >= 1:\n                y[i - 1, at[j]] = x[i, j]\n",
    "            if x[i, j] > 0 and i + 1 < M:\n                y[i + 1, (j * 5) % 7] += 1\n",
    "            if i + 1 < M and x[i, j] > 1:\n                y[i + 1, j ^ 3] = max(y[i + 1, j ^ 3], x[i, "
    "j])\n",
    "            if i >= 1 and x[i, j] != 3:\n                y[i - 1, 5 % N] += x[i, j]\n",
};

static akg_tensor *numbers(akg_dtype dtype, int rank, const int64_t *shape, int factor, int modulus)
{
    akg_tensor *tensor = NULL;
    int64_t at[2] = {0};
    CHECK(akg_tensor_create(dtype, rank, shape, &tensor) == AKG_OK);
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
        for (at[1] = 0; at[1] < (rank > 1 ? shape[1] : 1); at[1]++)
            akg_tensor_set(tensor, at, (double)((at[0] * 3 + at[1]) * factor % modulus));
    return tensor;
}

static void check_body(const char *body, akg_dtype dtype)
{
    const int64_t shape[] = {ROWS, COLUMNS};
    akg_tensor *inputs[INPUTS] = {numbers(dtype, 2, shape, 7, 5),
                                  numbers(AKG_INT32, 1, shape + 1, 11, COLUMNS)};
    jit_options interpreter = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_tensor *expected = NULL;
    char program[1000];
    snprintf(program, sizeof program,
             "def k(x: T[M, N], at: int32[N]):\n    y = output_tensor((M, N), x.dtype)\n"
             "    for i in range(M):\n        for j in range(N):\n%s    return y\n",
             body);
    CHECK(api_run(program, &interpreter, inputs, INPUTS, NULL, &expected));
    for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
        for (int way = 0; way < 4; way++) {
            jit_options options = {
                .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = way & 1};
            akg_tensor *output = NULL;
            char *pages;
            size_t size;
            void *data = api_guarded((size_t)(ROWS * COLUMNS) * (dtype == AKG_FLOAT64 ? 8 : 4), way & 2,
                                     &pages, &size);
            CHECK(data && akg_tensor_from_memory(data, dtype, 2, shape, NULL, NULL, NULL, &output) == AKG_OK);
            if (!CHECK(api_run(program, &options, inputs, INPUTS, NULL, &output) &&
                       api_same(output, expected)))
                fprintf(stderr, "%s, way %d:\n%s", options.target, way, program);
            akg_tensor_release(output);
            munmap(pages, size);
        }
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

/* Half of the rows are stored into; those that are not would put back what was there. */
static void check_threads(enum x86_target target)
{
    enum { MANY = 400, LONG = 2000, CALLS = 10 };
    const int64_t shape[] = {MANY, LONG};
    jit_options options = {.target = x86_target_name(target), .cache = "off"};
    akg_tensor *inputs[INPUTS] = {api_range(AKG_INT32, 2, shape, 7, 0),
                                  api_range(AKG_INT32, 1, shape + 1, 0, 1)};
    akg_set_threads(2);
    for (int call = 0; call < CALLS; call++) {
        akg_tensor *output = NULL;
        int64_t wrong = 0;
        CHECK(api_run("def k(x: int32[M, N], at: int32[N]):\n    y = output_tensor((M, N), int32)\n"
                      "    for i in range(M):\n        for j in range(N):\n"
                      "            if i < M // 2 and x[i, j] != 0:\n"
                      "                y[i % (M // 2), at[j]] = x[i, j]\n    return y\n",
                      &options, inputs, INPUTS, NULL, &output));
        const int *data = output ? akg_tensor_data(output) : NULL;
        for (int64_t k = 0; data && k < shape[0] / 2 * shape[1]; k++)
            wrong += data[k] != 7;
        CHECK(data && wrong == 0);
        akg_tensor_release(output);
    }
    akg_set_threads(1);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_INT32, AKG_FLOAT64, AKG_UINT32};
    for (size_t k = 0; k < API_COUNT(bodies); k++)
        for (size_t d = 0; d < API_COUNT(dtypes); d++)
            if (check_takes(k + d))
                check_body(bodies[k], dtypes[d]);
    for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
        check_threads((enum x86_target)target);
    return check_done();
}
