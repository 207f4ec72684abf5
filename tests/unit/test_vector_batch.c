/*
 * test_vector_batch.c: small nests whose extents are known, alone and for each of a batch, against the
 * interpreter.
 *
 * Programs have products, of operands as they are and transposed, with something at the end, in a row, with
 * the column's number, two sums, and steps that differ from one of the batch to the next. Extents are all
 * that fill a tile, go beyond it by one or lack one, and random ones. Numbers are small and whole, so that
 * results are the same to the bit, strict or not.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>

enum { INPUTS = 2, MOST = 40 };

/* R, C, K are replaced by numbers. `a` is N x R x K, or N x K x R; `b` is N x K x C, or N x C x K. */
struct form {
    const char *body;
    bool a_is_turned, b_is_turned;
};

#define LOOPS                                                                                                \
    "    for n in range(a.shape[0]):\n        for i in range(R):\n            for j in range(C):\n"          \
    "                s = zero(a.dtype)\n                for k in range(K):\n"
#define STORE "                y[n, i, j] = "

static const struct form forms[] = {
    {LOOPS "                    s += a[n, i, k] * b[n, k, j]\n" STORE "s\n", false, false},
    {LOOPS "                    s += a[n, k, i] * b[n, k, j]\n" STORE "s\n", true, false},
    {LOOPS "                    s += a[n, i, k] * b[n, j, k]\n" STORE "s\n", false, true},
    {LOOPS "                    s += a[n, i, k] * b[0, j, k]\n" STORE "s\n", false, true},
    {LOOPS "                    s += a[n, i, k] * b[0, k, j]\n" STORE "max(s + b[n, 0, j], 3)\n", false,
     false},
    {LOOPS "                    s = max(s, a[n, i, k] - b[n, k, j])\n" STORE "s + j\n", false, false},
    {LOOPS "                    if a[n, i, k] > 0:\n                        s += b[n, k, j]\n" STORE "s\n",
     false, false},
    {"    t = allocate((R, C), a.dtype)\n" LOOPS
     "                    s += a[n, i, k] * b[n, k, j]\n                t[i, j] = s\n"
     "        for i in range(R):\n            for j in range(C):\n"
     "                s = zero(a.dtype)\n                for k in range(K):\n"
     "                    s += a[n, i, k] * t[i, j]\n" STORE "s\n",
     false, false},
    {"    t = allocate((R, C), a.dtype)\n" LOOPS
     "                    s += a[n, i, k] * b[0, j, k]\n                t[i, j] = s + n\n"
     "        for i in range(R):\n            for j in range(C):\n"
     "                s = zero(a.dtype)\n                for k in range(K):\n"
     "                    s += a[n, i, k] * b[n, j, k] - t[i, j]\n" STORE "s\n",
     false, true},
    {LOOPS "                    s += a[(n * i) % a.shape[0], 0, k] * b[n, k, j]\n" STORE "s\n", false, false},
    {LOOPS "                    s += a[0, n * i, k] * b[n, k, j]\n" STORE "s\n", false, false},
};

static uint64_t state = 71;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static akg_tensor *tensor_of(akg_dtype dtype, int64_t count, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {count, rows, columns};
    akg_tensor *tensor = NULL;
    int64_t at[3];
    if (!CHECK(akg_tensor_create(dtype, 3, shape, &tensor) == AKG_OK))
        return NULL;
    for (at[0] = 0; at[0] < count; at[0]++)
        for (at[1] = 0; at[1] < rows; at[1]++)
            for (at[2] = 0; at[2] < columns; at[2]++)
                akg_tensor_set(tensor, at, random_below(7) - 3);
    return tensor;
}

/* The body with the numbers, in a function. */
static void write_program(char *program, size_t size, const struct form *form, const int extents[3])
{
    size_t used = (size_t)snprintf(program, size,
                                   "def zero(d):\n    return cast(0, d)\n\n"
                                   "def k(a, b, g=1.0):\n"
                                   "    y = output_tensor((a.shape[0], %d, %d), a.dtype)\n",
                                   extents[0], extents[1]);
    for (const char *at = form->body; *at && used + 20 < size; at++) {
        bool alone = at[1] == ',' || at[1] == ')';
        int number = *at == 'R' ? 0 : *at == 'C' ? 1 : *at == 'K' ? 2 : -1;
        if (alone && number >= 0)
            used += (size_t)snprintf(program + used, size - used, "%d", extents[number]);
        else
            program[used++] = *at;
    }
    snprintf(program + used, size - used, "    return y\n");
}

/* Leaves other numbers in memory of the output's size, where another target's results would be. */
static void spoil(const akg_tensor *like)
{
    enum { PIECES = 24 };
    akg_tensor *pieces[PIECES] = {NULL};
    int64_t count = akg_tensor_element_count(like);
    for (int piece = 0; piece < PIECES; piece++) {
        if (!CHECK(akg_tensor_create(akg_tensor_dtype(like), 1, &count, &pieces[piece]) == AKG_OK))
            continue;
        for (int64_t k = 0; k < count; k++)
            akg_tensor_set(pieces[piece], &k, 77);
    }
    for (int piece = 0; piece < PIECES; piece++)
        akg_tensor_release(pieces[piece]);
}

static void check_form(const struct form *form, akg_dtype dtype, int count, const int extents[3])
{
    char program[1500];
    bool is_turned = form->a_is_turned;
    int rows = extents[0], columns = extents[1], depth = extents[2];
    int64_t most = (int64_t)(count ? count : 1) * rows; /* for n * i */
    akg_tensor *inputs[INPUTS] = {
        tensor_of(dtype, count, is_turned ? depth : most, is_turned ? rows : depth),
        tensor_of(dtype, count, form->b_is_turned ? columns : depth, form->b_is_turned ? depth : columns)};
    akg_tensor *expected = NULL;
    const akg_argument last = api_real(NULL, 1);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    write_program(program, sizeof program, form, extents);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
            for (int strict = 0; strict < 2; strict++) {
                jit_options fast = {
                    .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = strict};
                akg_tensor *output = NULL;
                spoil(expected);
                if (!CHECK(api_run(program, &fast, inputs, INPUTS, &last, &output) &&
                           api_same(output, expected)))
                    fprintf(stderr, "%s, %d of a batch:\n%s", fast.target, count, program);
                akg_tensor_release(output);
            }
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const int edges[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 15, 16, 17, 24, 31, 32, 33};
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_FLOAT16};
    enum { EDGES = sizeof edges / sizeof *edges };
    for (size_t k = 0; k < API_COUNT(forms); k++)
        for (int edge = 0; edge < EDGES; edge++) {
            int number = edges[edge];
            if (!check_takes(k + (size_t)edge))
                continue;
            check_form(&forms[k], dtypes[edge % 4], edge % 5, (const int[]){number, number, number % 9 + 1});
            for (size_t type = 0; type < API_COUNT(dtypes); type++) {
                int rows = edges[random_below(EDGES)], depth = 1 + random_below(9);
                check_form(&forms[k], dtypes[type], 2, (const int[]){rows, number, depth});
                check_form(&forms[k], dtypes[type], 2, (const int[]){1, number, depth});
            }
            /* rows that are side by side in one vector */
            for (int folded = 2; folded <= 4; folded += 2)
                check_form(&forms[k], dtypes[edge % 4], 3,
                           (const int[]){4 * (1 + edge), folded, 1 + random_below(12)});
            int rows = 1 + random_below(MOST), columns = 1 + random_below(MOST), depth = 1 + random_below(20);
            check_form(&forms[k], dtypes[random_below(4)], 1 + edge % 4, (const int[]){rows, columns, depth});
        }
    return check_done();
}
