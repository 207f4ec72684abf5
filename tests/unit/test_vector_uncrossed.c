/*
 * test_vector_uncrossed.c: loops over pairs of elements, which with AVX2 keep lanes in their half of a
 * vector, with vectors of each width against the interpreter, to the bit.
 *
 * Programs load both elements of pairs, elements one behind the other, and one for all; store pairs, elements
 * one behind the other, or the greatest or the sum of all. Among the numbers are nan, infinities and both
 * zeros. Of pooling and complex products the code is counted, too.
 */
#include "../../base/dtype.h"
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <string.h>

enum { INPUTS = 3, ROUNDS = 60, LONGEST = 140 };

static uint64_t state = 29;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static akg_tensor *random_tensor(akg_dtype dtype, int64_t count, bool is_rare)
{
    static const double rare[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0};
    akg_tensor *tensor = NULL;
    CHECK(akg_tensor_create(dtype, 1, &count, &tensor) == AKG_OK);
    for (int64_t k = 0; tensor && k < count; k++)
        akg_tensor_set(tensor, &k,
                       is_rare && random_below(4) == 0 ? rare[random_below(5)] : random_below(19) - 9);
    return tensor;
}

/* ---- what is computed ------------------------------------------------------------------------------ */

static void write_operand(char *text, size_t size)
{
    static const char *const operands[] = {"x[2 * i]", "x[2 * i + 1]", "x[2 * i]", "x[2 * i + 1]",
                                           "w[i]",     "w[0]",         "3"};
    snprintf(text, size, "%s", operands[random_below((int)(sizeof operands / sizeof *operands))]);
}

static void write_value(char *text, size_t size)
{
    char a[20], b[20], c[20];
    write_operand(a, sizeof a);
    write_operand(b, sizeof b);
    write_operand(c, sizeof c);
    switch (random_below(5)) {
    case 0:
        snprintf(text, size, "%s * %s + %s", a, b, c);
        break;
    case 1:
        snprintf(text, size, "max(%s, max(%s, %s))", a, b, c);
        break;
    case 2:
        snprintf(text, size, "max(max(max(%s, %s), x[2 * i]), %s)", a, b, c);
        break;
    case 3:
        snprintf(text, size, "min(%s, %s) - %s", a, b, c);
        break;
    default:
        snprintf(text, size, "%s if %s > 1 else %s", a, b, c);
        break;
    }
}

static void write_program(char *program, size_t size, const char *dtype)
{
    char values[3][100];
    for (int k = 0; k < 3; k++)
        write_value(values[k], sizeof values[k]);
    snprintf(program, size,
             "def k(x: %s[P], w: %s[Q], like: float32[N]):\n"
             "    y = output_tensor((P,), x.dtype)\n    z = output_tensor((N,), x.dtype)\n"
             "    for i in range(N):\n        y[2 * i] = %s\n        y[2 * i + 1] = %s\n%s"
             "    return y, z\n",
             dtype, dtype, values[0], values[1],
             random_below(3)   ? "        z[i] = x[2 * i + 1]\n"
             : random_below(2) ? "        z[0] = max(z[0], x[2 * i])\n"
                               : "");
}

static void check_program(const char *dtype_name, akg_dtype dtype, int64_t length)
{
    char program[1200];
    bool is_float = dtype_is_float(dtype);
    akg_tensor *inputs[INPUTS] = {random_tensor(dtype, 2 * length + 2, is_float),
                                  random_tensor(dtype, length + 1, is_float),
                                  random_tensor(AKG_FLOAT32, length, false)};
    akg_tensor *expected[2] = {NULL};
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    write_program(program, sizeof program, dtype_name);
    if (CHECK(api_run(program, &options, inputs, INPUTS, NULL, expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {
                .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = true};
            akg_tensor *outputs[2] = {NULL};
            bool same = CHECK(api_run(program, &fast, inputs, INPUTS, NULL, outputs)) &&
                        CHECK(api_same_numbers(outputs[0], expected[0])) &&
                        CHECK(api_same_numbers(outputs[1], expected[1]));
            if (!same)
                fprintf(stderr, "%s, %d iterations:\n%s", fast.target, (int)length, program);
            for (int k = 0; k < 2; k++)
                akg_tensor_release(outputs[k]);
        }
    else
        fprintf(stderr, "%s", program);
    for (int k = 0; k < 2; k++)
        akg_tensor_release(expected[k]);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

/* ---- what changes halves ----------------------------------------------------------------------------- */

static int count_of(const char *text, const char *piece)
{
    int count = 0;
    for (const char *at = strstr(text, piece); at; at = strstr(at + 1, piece))
        count++;
    return count;
}

/* Each vector of the main loop picks elements four times; at most once that is followed by a change of
 * halves. (The last lanes, which stand there once, change more.) */
static void check_code(const char *program)
{
    jit_source source = {.name = "pairs.akg", .text = program, .length = strlen(program)};
    jit_options options = {.target = "avx2"};
    char *text = NULL;
    if (x86_cpu_target() < X86_TARGET_AVX2)
        return;
    if (!CHECK(jit_emit_with(&source, &options, AKG_STAGE_ASM, "k", NULL, 0, &text, NULL) == AKG_OK))
        return;
    CHECK(count_of(text, "vshufps") > 16);
    CHECK(2 * count_of(text, "vpermpd") < count_of(text, "vshufps"));
    akg_free(text);
}

int main(void)
{
    static const struct {
        akg_dtype dtype;
        const char *name;
    } rows[] = {
        {AKG_FLOAT32, "float32"}, {AKG_INT32, "int32"}, {AKG_UINT32, "uint32"}, {AKG_FLOAT64, "float64"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int round = 0; round < ROUNDS; round++)
            check_program(rows[k].name, rows[k].dtype, 1 + random_below(LONGEST));
    check_code("def k(x: float32[H, W]):\n    y = output_tensor((H // 2, W // 2), x.dtype)\n"
               "    for i, j in grid(y.shape):\n"
               "        y[i, j] = max(max(x[2 * i, 2 * j], x[2 * i, 2 * j + 1]),\n"
               "                      max(x[2 * i + 1, 2 * j], x[2 * i + 1, 2 * j + 1]))\n    return y\n");
    check_code("def k(x: float32[N, 2], y: float32[N, 2]):\n    z = output_tensor((N, 2), x.dtype)\n"
               "    for i in range(N):\n        z[i, 0] = x[i, 0] * y[i, 0] - x[i, 1] * y[i, 1]\n"
               "        z[i, 1] = x[i, 0] * y[i, 1] + x[i, 1] * y[i, 0]\n    return z\n");
    return check_done();
}
