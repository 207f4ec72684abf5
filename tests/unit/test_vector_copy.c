/*
 * test_vector_copy.c: loops around short rows that are copied, against the interpreter, to the bit.
 *
 * Programs take patches, windows and blocks out of a tensor and put them behind each other, in loops of
 * numbers of iterations that are known or not, 0 among them, one inside of another or with steps; rows are of
 * up to some hundred bytes, of elements of 1 to 8 bytes, which may lie apart in the input.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>

enum { LONGEST = 70 };

/* `a` is N x R x C; P stands for a number of columns, K for one of rows, up to C and R. */
static const char *const bodies[] = {
    "    y = output_tensor((N, R // K, C // P, K, P), a.dtype)\n"
    "    for n in range(N):\n        for i in range(R // K):\n            for j in range(C // P):\n"
    "                for u in range(K):\n                    for v in range(P):\n"
    "                        y[n, i, j, u, v] = a[n, i * K + u, j * P + v]\n",
    "    y = output_tensor((R - K + 1, C - P + 1, N * K * P), a.dtype)\n"
    "    for i in range(R - K + 1):\n        for j in range(C - P + 1):\n            for n in range(N):\n"
    "                for u in range(K):\n                    for v in range(P):\n"
    "                        y[i, j, (n * K + u) * P + v] = a[n, i + u, j + v]\n",
    "    y = output_tensor((R, N, P), a.dtype)\n"
    "    for i in range(R):\n        for n in range(N):\n            for v in range(P):\n"
    "                y[i, n, v] = a[N - 1 - n, i, C - P + v]\n",
    "    y = output_tensor((N, R, C), a.dtype)\n"
    "    for i in range(0, R, 2):\n        for n in range(N):\n            for v in range(P):\n"
    "                y[n, i, v] = a[n, R - 1 - i, v]\n",
    "    y = output_tensor((N + R, C + 1), a.dtype)\n" /* rows that are written more than once, in order */
    "    for n in range(N):\n        for i in range(R):\n            for v in range(P):\n"
    "                y[n + i, v + 1] = a[n, i, v]\n",
    "    y = output_tensor((N * K, P), a.dtype)\n"
    "    for n in range(N):\n        for u in range(K):\n            r = n * K + u\n"
    "            for v in range(P):\n                y[r, v] = a[n, u, v]\n",
};

static uint64_t state = 29;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static void write_program(char *program, size_t size, const char *body, const int64_t window[2],
                          bool is_known)
{
    size_t used = (size_t)snprintf(program, size, "def k(a: T[N, R, C], window: float32[K, P]):\n");
    for (const char *at = body; *at && used + 20 < size; at++)
        if (is_known && (*at == 'P' || *at == 'K'))
            used += (size_t)snprintf(program + used, size - used, "%d", (int)window[*at == 'P']);
        else
            program[used++] = *at;
    snprintf(program + used, size - used, "    return y\n");
}

static akg_tensor *tensor_of(akg_dtype dtype, int rank, const int64_t *shape)
{
    akg_tensor *tensor = api_range(dtype, rank, shape, 1, 1);
    CHECK(tensor != NULL);
    return tensor;
}

/* Part of a larger tensor: rows backwards, and perhaps every other column. */
static akg_tensor *strided(akg_dtype dtype, const int64_t shape[3])
{
    int64_t whole[] = {shape[0], shape[1], 2 * shape[2] + 1}, step = 1 + random_below(2);
    int64_t strides[] = {whole[1] * whole[2], -whole[2], step};
    akg_tensor *base = tensor_of(dtype, 3, whole), *view = NULL;
    CHECK(akg_tensor_view(base, 3, shape, strides, (whole[1] - 1) * whole[2], &view) == AKG_OK);
    akg_tensor_release(base);
    return view;
}

static void check_body(const char *body, akg_dtype dtype, const int64_t extents[3], int columns,
                       bool is_known)
{
    char program[1500];
    int64_t window[] = {1 + random_below((int)extents[1]), columns};
    akg_tensor *inputs[] = {random_below(4) ? tensor_of(dtype, 3, extents) : strided(dtype, extents),
                            tensor_of(AKG_FLOAT32, 2, window)},
               *expected = NULL;
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    write_program(program, sizeof program, body, window, is_known);
    if (CHECK(api_run(program, &options, inputs, 2, NULL, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
            akg_tensor *output = NULL;
            if (!CHECK(api_run(program, &fast, inputs, 2, NULL, &output) && api_same(output, expected)))
                fprintf(stderr, "%s, %d x %d x %d, %d rows of %d:\n%s", fast.target, (int)extents[0],
                        (int)extents[1], (int)extents[2], (int)window[0], columns, program);
            akg_tensor_release(output);
        }
    else
        fprintf(stderr, "%s", program);
    akg_tensor_release(expected);
    for (int k = 0; k < 2; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32,  AKG_INT64,
                                       AKG_UINT8,   AKG_INT16,   AKG_FLOAT16};
    for (size_t k = 0; k < API_COUNT(bodies); k++)
        for (int length = 1; length <= LONGEST; length++) {
            if (!check_takes(k + (size_t)length))
                continue;
            int64_t extents[] = {random_below(4), 1 + random_below(6), length + random_below(2 * length)};
            check_body(bodies[k], dtypes[(size_t)length % API_COUNT(dtypes)], extents, length, length % 2);
            check_body(bodies[k], dtypes[(size_t)random_below(API_COUNT(dtypes))], extents, length, true);
        }
    return check_done();
}
