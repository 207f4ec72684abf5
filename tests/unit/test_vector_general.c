/*
 * test_vector_general.c: rows that indices out of tensors pick, whose addresses straight code computes in
 * general registers, against the interpreter.
 *
 * Indices of every integer dtype, scaled, summed, of several axes, and out of a tensor that the row before
 * wrote; rows of 1 to 70 elements, and rows that are skipped under conditions. Numbers are small and whole,
 * or nan, so that results are the same to the bit.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdio.h>

enum { INPUTS = 3, ROWS = 60, PLANES = 5, MOST = 4 /* an index is below */ };

/* Two loops under a condition that hangs on data, with something stored between them. */
#define SKIPPED(condition)                                                                                   \
    "        if " condition ":\n            for k in range(a.shape[2]):\n                s += a[e, 1, k]\n"  \
    "            t[e] = j[e] + 1\n            for k in range(a.shape[2]):\n"                                 \
    "                s += a[i[e], 2, k] * s\n"

/* `a` is ROWS x PLANES x n, `i` and `j` are indices. */
static const char *const bodies[] = {
    "        for k in range(a.shape[2]):\n            s += a[i[e], 0, k] * a[j[e], 1, k]\n",
    "        for k in range(a.shape[2]):\n            s += a[i[e], j[e], k]\n",
    "        for k in range(a.shape[2]):\n            s += a[2 * i[e] + 1, 2, k] * a[3 * j[e] + 2, 0, k]\n",
    "        for k in range(a.shape[2]):\n            s += a[5 * i[e] + 7 * j[e], j[e], k]\n",
    "        for k in range(a.shape[2]):\n            s += a[i[e] * j[e], 1, k] - a[20 - i[e], 0, k]\n",
    "        for k in range(a.shape[2]):\n            s = max(s, a[i[e], j[e], k] + 0.5 * a[j[e], i[e], "
    "k])\n",
    "        t[e + 1] = i[e] + j[e]\n        for k in range(a.shape[2]):\n            s += a[t[e + 1], 1, "
    "k]\n",
    "        for k in range(a.shape[2]):\n            s += a[t[e], 1, k]\n        t[e + 1] = i[e]\n",
    "        t[e + 1] = t[e] + i[e]\n        for k in range(t[e] % 3, a.shape[2]):\n            s += a[i[e], "
    "1, k]\n",
    SKIPPED("i[e] > 1"),
    SKIPPED("i[e] >= 2"),
    SKIPPED("i[e] == 2"),
    SKIPPED("j[e] != 0"),
    SKIPPED("j[e] <= 1"),
    SKIPPED("1 > i[e]"),
    SKIPPED("a[e, 0, 0] > 0.0"),
    SKIPPED("a[e, 0, 0] >= 0.0"),
    SKIPPED("a[e, 2, 0] < 0.0"),
    SKIPPED("a[e, 2, 0] <= a[e, 3, 0]"),
    SKIPPED("a[e, 4, 0] == 1.0"),
    SKIPPED("not a[e, 4, 0] < 1.0"),
    SKIPPED("i[e] > j[e]"),
    SKIPPED("i[e] > 0 and a[e, 1, 0] > 0.0"),
};

static uint64_t state = 97;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static akg_tensor *filled(akg_dtype dtype, int rank, const int64_t *shape, int below, int less)
{
    akg_tensor *tensor = NULL;
    if (!CHECK(akg_tensor_create(dtype, rank, shape, &tensor) == AKG_OK))
        return NULL;
    int64_t count = akg_tensor_element_count(tensor);
    for (int64_t k = 0; k < count; k++) {
        int64_t at[] = {k, 0, 0};
        if (rank == 3) {
            at[0] = k / (shape[1] * shape[2]);
            at[1] = k / shape[2] % shape[1];
            at[2] = k % shape[2];
        }
        akg_tensor_set(tensor, at, rank == 3 && random_below(40) == 0 ? NAN : random_below(below) - less);
    }
    return tensor;
}

static void check_body(const char *body, akg_dtype index, int64_t count, int64_t columns)
{
    const int64_t shape[] = {ROWS, PLANES, columns};
    char program[700];
    akg_tensor *inputs[INPUTS] = {filled(AKG_FLOAT32, 3, shape, 7, 3), filled(index, 1, &count, MOST, 0),
                                  filled(index, 1, &count, MOST, 0)};
    akg_tensor *expected = NULL;
    const akg_argument last = api_real(NULL, 1);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    snprintf(program, sizeof program,
             "def k(a, i, j, g=1.0):\n    y = output_tensor(i.shape, a.dtype)\n"
             "    t = allocate((i.shape[0] + 1,), i.dtype)\n    t[0] = 1\n"
             "    for e in range(i.shape[0]):\n        s = 0.0\n%s        y[e] = s\n    return y\n",
             body);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
            akg_tensor *output = NULL;
            if (!CHECK(api_run(program, &fast, inputs, INPUTS, &last, &output) &&
                       api_same_numbers(output, expected)))
                fprintf(stderr, "%s, %d rows of %d:\n%s", fast.target, (int)count, (int)columns, program);
            akg_tensor_release(output);
        }
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_INT64,  AKG_INT32, AKG_INT16, AKG_INT8,
                                       AKG_UINT32, AKG_UINT8, AKG_UINT16};
    static const int64_t counts[] = {0, 1, 7, 50}, columns[] = {1, 3, 8, 16, 21, 70};
    for (size_t body = 0; body < API_COUNT(bodies); body++)
        for (size_t dtype = 0; dtype < API_COUNT(dtypes); dtype++)
            for (size_t count = 0; count < API_COUNT(counts); count++)
                if (check_takes(body + dtype + count))
                    check_body(bodies[body], dtypes[dtype], counts[count],
                               columns[(body + dtype + count) % API_COUNT(columns)]);
    for (size_t body = 0; body < API_COUNT(bodies); body++)
        for (size_t column = 0; column < API_COUNT(columns); column++)
            check_body(bodies[body], AKG_INT32, 50, columns[column]);
    return check_done();
}
