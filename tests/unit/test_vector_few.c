/*
 * test_vector_few.c: loops of few iterations, whose number is known or not, and the loops around them, with
 * vectors of each width against the interpreter.
 *
 * Programs sum, multiply, look for extremes with nan among them, scale what they have just summed, store
 * products, hand totals on from row to row, and have rows for each of a batch. Lengths are all up to some
 * vectors. Numbers are small and whole, so that results are the same to the bit, strict or not.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUTS = 2, LONGEST = 70 };

/* `a` and `b` are N x R x C; R and C stand for extents or numbers. */
static const struct form {
    const char *body;
    bool has_nan;
} forms[] = {
    {"    for n in range(N):\n        for i in range(R):\n            s = zero(a.dtype)\n"
     "            for j in range(C):\n                s += a[n, i, j] * b[n, i, j]\n"
     "            y[n, i, 0] = s\n",
     false},
    {"    for n in range(N):\n        for i in range(R):\n            s = zero(a.dtype)\n"
     "            for j in range(C):\n                s += a[n, i, j] * b[n, 0, j]\n"
     "            for j in range(C):\n                y[n, i, j] = a[n, i, j] - s\n",
     false},
    {"    for n in range(N):\n        for i in range(R):\n            for j in range(C):\n"
     "                y[n, i, j] = a[n, i, 0] * b[n, 0, j]\n",
     false},
    {"    for n in range(N):\n        for i in range(R):\n            s = a[n, i, 0]\n            t = s\n"
     "            for j in range(C):\n                s = max(s, a[n, i, j])\n"
     "                t = min(t, b[n, i, j])\n            y[n, i, 0] = s + t\n",
     false},
    {"    for n in range(N):\n        for i in range(R):\n            s = a[n, i, 0]\n"
     "            for j in range(C):\n                s = max(s, a[n, i, j])\n"
     "            y[n, i, 0] = s if s == s else cast(9, a.dtype)\n",
     true},
    {"    for n in range(N):\n        for i in range(R):\n            s = cast(-2, a.dtype)\n"
     "            for j in range(C):\n                s = max(s, a[n, i, j])\n"
     "            y[n, i, 0] = s if s == s else cast(9, a.dtype)\n",
     true},
    {"    t = zero(a.dtype)\n    for n in range(N):\n        for i in range(R):\n"
     "            s = cast(1, a.dtype)\n            for j in range(C):\n"
     "                if a[n, i, j] > 0:\n                    s += b[n, i, j]\n"
     "            t = max(t, s)\n            y[n, i, 0] = t\n",
     false},
    {"    for n in range(N):\n        for i in range(R):\n            s = zero(a.dtype)\n"
     "            for j in range(i + 1):\n                s += a[n, i, min(j, C - 1)]\n"
     "            y[n, i, 0] = s + n\n",
     false},
    {"    for i in range(R):\n        for n in range(N):\n            s = zero(a.dtype)\n"
     "            for j in range(C):\n                s += a[n, i, C - 1 - j]\n"
     "            y[n, i, 0] = s + i + n\n",
     false},
    {"    for n in range(N):\n        for i in range(1, R):\n            for j in range(C):\n"
     "                y[n, i, j] = y[n, i - 1, j] + a[n, i, 0] * b[n, i, j]\n",
     false},
    {"    for n in range(N):\n        for i in range(R):\n            s = zero(a.dtype)\n"
     "            for j in range(C):\n                s += a[n, (i * n) % R, j]\n"
     "            y[n, i, 0] = s\n            for j in range(C):\n                s += b[n * i % N, i, j]\n"
     "            for j in range(1, C):\n                y[n, i, j] = s * j\n",
     false},
};

static uint64_t state = 71;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static akg_tensor *tensor_of(akg_dtype dtype, const int64_t shape[3], bool has_nan)
{
    akg_tensor *tensor = NULL;
    int64_t at[3];
    if (!CHECK(akg_tensor_create(dtype, 3, shape, &tensor) == AKG_OK))
        return NULL;
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
        for (at[1] = 0; at[1] < shape[1]; at[1]++)
            for (at[2] = 0; at[2] < shape[2]; at[2]++)
                akg_tensor_set(tensor, at, has_nan && !random_below(20) ? (double)NAN : random_below(7) - 3);
    return tensor;
}

/* The body, with `extents` as numbers where they are known. */
static void write_program(char *program, size_t size, const char *body, const int64_t extents[3],
                          bool is_known)
{
    size_t used = (size_t)snprintf(program, size,
                                   "def zero(d):\n    return cast(0, d)\n\n"
                                   "def k(a: T[N, R, C], b: T[N, R, C], g=1.0):\n"
                                   "    y = output_tensor((N, R, C), a.dtype)\n");
    for (const char *at = body; *at && used + 20 < size; at++) {
        bool alone = at[1] == ')' || at[1] == ' ' || at[1] == ']';
        int number = *at == 'R' ? 1 : *at == 'C' ? 2 : -1;
        if (is_known && alone && number >= 0)
            used += (size_t)snprintf(program + used, size - used, "%d", (int)extents[number]);
        else
            program[used++] = *at;
    }
    snprintf(program + used, size - used, "    return y\n");
}

static void check_form(const struct form *form, akg_dtype dtype, const int64_t extents[3], bool is_known)
{
    char program[1500];
    akg_tensor *inputs[INPUTS] = {
        tensor_of(dtype, extents, form->has_nan && (dtype == AKG_FLOAT32 || dtype == AKG_FLOAT64)),
        tensor_of(dtype, extents, false)};
    akg_tensor *expected = NULL;
    const akg_argument last = api_real(NULL, 1);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    write_program(program, sizeof program, form->body, extents, is_known);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
            for (int strict = 0; strict < 2; strict++) {
                jit_options fast = {
                    .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = strict};
                akg_tensor *output = NULL;
                if (!CHECK(api_run(program, &fast, inputs, INPUTS, &last, &output) &&
                           api_same(output, expected)))
                    fprintf(stderr, "%s, strict %d, %d x %d x %d:\n%s", fast.target, strict, (int)extents[0],
                            (int)extents[1], (int)extents[2], program);
                akg_tensor_release(output);
            }
    else
        fprintf(stderr, "%s", program);
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32,
                                       AKG_INT64,   AKG_UINT8,   AKG_FLOAT16};
    for (size_t k = 0; k < API_COUNT(forms); k++)
        for (int length = 1; length <= LONGEST; length++) {
            if (!check_takes(k + (size_t)length))
                continue;
            int64_t extents[] = {random_below(4), 1 + random_below(5), length};
            check_form(&forms[k], dtypes[(size_t)length % API_COUNT(dtypes)], extents, length % 2);
            check_form(&forms[k], dtypes[length / 2 % 2], extents, true);
        }
    return check_done();
}
