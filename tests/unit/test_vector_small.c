/*
 * test_vector_small.c: elements of 8 and 16 bits with a constant step, with vectors of each width against the
 * interpreter.
 *
 * Programs load and store every second to twelfth element, forwards and backwards, all of them or those that
 * a condition leaves, of each dtype of one or two bytes; the tensor ends with the last element, or begins
 * with it. Lengths go through those of several vectors. Tables of bytes are read at a byte that casts of
 * several widths have gone over: only where each keeps the byte is it the place. Results must be the same
 * bits.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdlib.h>

enum { ROUNDS = 6, INPUTS = 2, OUTPUTS = 4, LONGEST = 90 };

static const struct row {
    akg_dtype dtype;
    const char *name, *as, *back; /* what is computed in, and how it becomes the dtype again */
} rows[] = {
    {AKG_UINT8, "uint8", "int32", "uint8"},
    {AKG_INT8, "int8", "int32", "int8"},
    {AKG_UINT16, "uint16", "int32", "uint16"},
    {AKG_INT16, "int16", "int32", "int16"},
    {AKG_UINT8, "uint8", "float32", "uint8"},
    {AKG_INT16, "int16", "float32", "int16"},
    {AKG_INT8, "int8", "int64", "int8"},
    {AKG_FLOAT16, "float16", "float32", "float16"},
    {AKG_BFLOAT16, "bfloat16", "float32", "bfloat16"},
};

static uint64_t state = 71;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static akg_tensor *tensor_of(akg_dtype dtype, int64_t count, int least, int most)
{
    akg_tensor *tensor = NULL;
    CHECK(akg_tensor_create(dtype, 1, &count, &tensor) == AKG_OK);
    for (int64_t k = 0; tensor && k < count; k++)
        akg_tensor_set(tensor, &k, least + random_below(most - least + 1));
    return tensor;
}

/* The element of iteration i. */
static void write_index(char *text, size_t size, int step, int64_t length, int pad)
{
    if (step > 0)
        snprintf(text, size, "%d * i + %d", step, pad);
    else
        snprintf(text, size, "%d - %d * i", (int)((length - 1) * -step) + pad, -step);
}

static void check_steps(const struct row *row, int step, int64_t length)
{
    char program[1500], at[60];
    int pad = random_below(4);
    int64_t count = (length - 1) * abs(step) + 1 + pad;
    bool is_signed = row->dtype != AKG_UINT8 && row->dtype != AKG_UINT16;
    const akg_argument last = api_int(NULL, 0);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_tensor *inputs[INPUTS] = {tensor_of(row->dtype, count, is_signed ? -50 : 0, 60),
                                  tensor_of(AKG_INT32, length, 0, 3)};
    akg_tensor *expected[OUTPUTS] = {NULL};
    write_index(at, sizeof at, step, length, pad);
    snprintf(program, sizeof program,
             "def k(x: %s[P], m: int32[N], n=0):\n"
             "    y = output_tensor((N,), %s)\n    w = output_tensor((N,), %s)\n"
             "    z = output_tensor((P,), %s)\n    v = output_tensor((P,), %s)\n"
             "    for i in range(%d):\n        y[i] = %s(x[%s]) * 2\n"
             "    for i in range(%d):\n        if m[i] > 1:\n            w[i] = %s(x[%s]) + 1\n"
             "    for i in range(%d):\n        z[%s] = %s(%s(m[i]) + %s(x[i]))\n"
             "    for i in range(%d):\n        if m[i] > 1:\n            v[%s] = %s(%s(m[i]) * 3)\n"
             "    return y, w, z, v\n",
             row->name, row->as, row->as, row->name, row->name, (int)length, row->as, at, (int)length,
             row->as, at, (int)length, at, row->back, row->as, row->as, (int)length, at, row->back, row->as);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
            akg_tensor *outputs[OUTPUTS] = {NULL};
            bool same = CHECK(api_run(program, &fast, inputs, INPUTS, &last, outputs));
            for (int k = 0; same && k < OUTPUTS; k++)
                same = CHECK(api_same(outputs[k], expected[k]));
            if (!same)
                fprintf(stderr, "%s:\n%s", fast.target, program);
            for (int k = 0; k < OUTPUTS; k++)
                akg_tensor_release(outputs[k]);
        }
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(expected[k]);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

/* y[i] = t[at], where `at` is of the byte u[i], with vectors of each width. */
static void check_table(const char *at, int64_t length)
{
    char program[300];
    const akg_argument last = api_int(NULL, 0);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_tensor *inputs[] = {tensor_of(AKG_UINT8, 65536, 0, 255), tensor_of(AKG_UINT8, length, 0, 255)};
    akg_tensor *expected = NULL;
    snprintf(program, sizeof program,
             "def k(t: uint8[65536], u: uint8[N], n=0):\n"
             "    y = output_tensor((N,), uint8)\n    for i in range(N):\n        y[i] = t[%s]\n"
             "    return y\n",
             at);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
            akg_tensor *output = NULL;
            if (!CHECK(api_run(program, &fast, inputs, INPUTS, &last, &output) && api_same(output, expected)))
                fprintf(stderr, "%s:\n%s", fast.target, program);
            akg_tensor_release(output);
        }
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const char *const places[] = {
        "u[i]",
        "int16(u[i])",
        "int64(uint16(u[i]))",
        "uint16(int32(u[i]))",
        "uint16(int8(u[i]))",
        "uint16(int16(int8(u[i])))",
        "uint8(int8(u[i]))",
        "uint16(uint8(int8(u[i])))",
        "uint16(bool(u[i]))",
    };
    static const int steps[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, -1, -2, -3};
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < API_COUNT(rows); k++)
            for (size_t step = 0; step < API_COUNT(steps); step++)
                if (check_takes((size_t)round + k + step))
                    check_steps(&rows[k], steps[step], 1 + random_below(LONGEST));
    for (size_t k = 0; k < API_COUNT(places); k++)
        check_table(places[k], 300 + random_below(LONGEST));
    return check_done();
}
