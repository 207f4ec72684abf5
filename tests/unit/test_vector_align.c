/*
 * test_vector_align.c: loops that store rows which begin anywhere in a line of memory (vector_x86_align.c)
 * compute what the interpreter does; and square roots that are estimated are the same wherever they stand.
 *
 * Elements are small whole numbers, so results must be the same to the bit, strict or not. Rows of 100 to 420
 * elements with margins of 0 to 17 before and behind: sums of neighbours, rows changed in place, triangles
 * that are gone over again and again, two tensors stored whose lines begin elsewhere; in memory that begins
 * with a line, one element behind that, and three. Float32, float64 and integers, on every target.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, MOST_COLUMNS = 420, MARGINS = 18 };

static const char *const programs[] = {
    "def neighbours(x, before, behind):\n"
    "    for i in range(1, x.shape[0]):\n"
    "        for j in range(before + 1, x.shape[1] - behind - 1):\n"
    "            x[i, j] = x[i - 1, j - 1] - x[i - 1, j + 1]\n"
    "    return x\n",

    "def in_place(x, before, behind):\n"
    "    for i in range(x.shape[0]):\n"
    "        for j in range(before, x.shape[1] - behind):\n"
    "            x[i, j] = x[i, j] * 2 - x[i, 0]\n"
    "    return x\n",

    "def triangle(x, before, behind):\n"
    "    for k in range(min(x.shape[0], x.shape[1])):\n"
    "        for i in range(k + 1, x.shape[0]):\n"
    "            for j in range(k + before + 1, x.shape[1] - behind):\n"
    "                x[i, j] -= x[i, k] * x[k, j]\n"
    "    return x\n",

    "def two(x, before, behind):\n"
    "    n, m = x.shape\n"
    "    for i in range(n // 2):\n"
    "        for j in range(before, m - behind - 3):\n"
    "            x[i, j] = x[i, j] + 1\n"
    "            x[n - 1 - i, j + 3] = x[i, j] * 3\n"
    "    return x\n",
};

/* Memory from so many bytes behind the beginning of a line on; it holds numbers from -3 to 3. */
static akg_tensor *whole_numbers(char *memory, int shift, akg_dtype dtype, const int64_t *shape)
{
    static uint64_t state;
    akg_tensor *tensor = NULL;
    state = 9; /* the same again */
    if (!CHECK(akg_tensor_from_memory(memory + shift, dtype, 2, shape, NULL, NULL, NULL, &tensor) == AKG_OK))
        return NULL;
    for (int64_t row = 0; row < shape[0]; row++)
        for (int64_t column = 0; column < shape[1]; column++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            akg_tensor_set(tensor, (const int64_t[]){row, column}, (double)((state >> 40) % 7) - 3);
        }
    return tensor;
}

/* Changes x in place. */
static bool run(const char *program, const jit_options *options, akg_tensor *x, int before, int behind)
{
    const jit_source source = {.name = "test.akg", .text = program, .length = strlen(program)};
    akg_argument arguments[] = {api_tensor("x", x), api_int("before", before), api_int("behind", behind)};
    akg_tensor *output = NULL;
    akg_module *module = NULL;
    bool good = jit_compile(&source, options, &module, NULL) == AKG_OK &&
                akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 3, NULL, &output, NULL) == AKG_OK;
    akg_tensor_release(output);
    akg_module_release(module);
    return good;
}

static void check_program(const char *program, akg_dtype dtype, int64_t columns, int before, int behind,
                          int shift)
{
    static _Alignas(64) char memory[2][ROWS * MOST_COLUMNS * 8 + 64];
    const int64_t shape[] = {ROWS, columns};
    const jit_options slow = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_tensor *expected = whole_numbers(memory[0], 0, dtype, shape);
    if (!expected || !CHECK(run(program, &slow, expected, before, behind)))
        return;
    for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
        const jit_options fast = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
        akg_tensor *x = whole_numbers(memory[1], shift, dtype, shape);
        if (!x || !CHECK(run(program, &fast, x, before, behind)) || !CHECK(api_same(x, expected)))
            fprintf(stderr, "%s, rows of %d but %d and %d, %d bytes on:\n%s", fast.target, (int)columns,
                    before, behind, shift, program);
        akg_tensor_release(x);
    }
    akg_tensor_release(expected);
}

/* ---- square roots ------------------------------------------------------------------------------------ */

enum { ROOT_ROWS = 388, ROOT_COLUMNS = 515, ROOTS = ROOT_ROWS * ROOT_COLUMNS, SHIFTS = 4 };

static const struct {
    int rank;
    const char *program;
} roots[] = {
    {1, "def root(x: T[N], y: T[N]):\n"
        "    for i in range(1, N):\n"
        "        y[i] = sqrt(x[i])\n"
        "    return y\n"},

    {1, "def power(x: T[N], y: T[N]):\n"
        "    for i in range(1, N):\n"
        "        y[i] = pow(x[i], 0.5)\n"
        "    return y\n"},

    {2, "def rows(x: T[R, N], y: T[R, N]):\n"
        "    for i in range(R):\n"
        "        for j in range(1, N):\n"
        "            y[i, j] = sqrt(x[i, j])\n"
        "    return y\n"},
};

static bool take_roots(akg_module *module, int rank, float *from, float *to)
{
    const int64_t rows[] = {ROOT_ROWS, ROOT_COLUMNS}, all = ROOTS, *shape = rank == 2 ? rows : &all;
    akg_tensor *x = NULL, *y = NULL, *output = NULL;
    bool good = akg_tensor_from_memory(from, AKG_FLOAT32, rank, shape, NULL, NULL, NULL, &x) == AKG_OK &&
                akg_tensor_from_memory(to, AKG_FLOAT32, rank, shape, NULL, NULL, NULL, &y) == AKG_OK;
    akg_argument arguments[] = {api_tensor("x", x), api_tensor("y", y)};
    good =
        good && akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 2, NULL, &output, NULL) == AKG_OK;
    akg_tensor_release(output);
    akg_tensor_release(x);
    akg_tensor_release(y);
    return good;
}

/* Code that is not strict estimates roots: neither where one stands nor whose piece it is changes it. */
static void check_roots(int rank, const char *program, enum x86_target target)
{
    static _Alignas(64) float from[ROOTS + SHIFTS], to[ROOTS + SHIFTS], expected[ROOTS];
    static const int threads[] = {1, 2, 3, 5};
    const jit_source source = {.name = "test.akg", .text = program, .length = strlen(program)};
    const jit_options options = {.target = x86_target_name(target), .cache = "off"};
    akg_module *module = NULL;
    if (!CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK))
        return;
    for (int shift = 0; shift < SHIFTS; shift++) {
        for (int k = 0; k < ROOTS; k++)
            from[shift + k] = 1 + (float)k * 0.37f;
        for (size_t k = 0; k < API_COUNT(threads); k++) {
            memset(to, 0, sizeof to);
            akg_set_threads(threads[k]);
            CHECK(take_roots(module, rank, from + shift, to + shift));
            if (shift == 0 && k == 0)
                memcpy(expected, to, sizeof expected);
            if (!CHECK(memcmp(to + shift, expected, sizeof expected) == 0))
                fprintf(stderr, "%s, %d threads, %d elements on:\n%s", options.target, threads[k], shift,
                        program);
        }
    }
    akg_set_threads(0);
    akg_module_release(module);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64};
    static const int widths[] = {100, 128, 131, 272, 333, MOST_COLUMNS};
    for (size_t k = 0; k < API_COUNT(programs); k++)
        for (size_t type = 0; type < API_COUNT(dtypes); type++)
            for (size_t width = 0; width < API_COUNT(widths); width++)
                for (int before = 0; before < MARGINS; before += 1 + before % 3 * 3) {
                    const int size = (int)akg_dtype_size(dtypes[type]), shifts[] = {0, size, 3 * size};
                    check_program(programs[k], dtypes[type], widths[width], before, before * 5 % 7,
                                  shifts[before % 3]);
                }
    for (size_t k = 0; k < API_COUNT(roots); k++)
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
            check_roots(roots[k].rank, roots[k].program, (enum x86_target)target);
    return check_done();
}
