/*
 * test_vector_first.c: sums in rows of a few rounds, which begin with the first one (vector_x86_first.c), are
 * those of the interpreter.
 *
 * The elements are whole numbers, few enough of them that every order of adding gives the same, so results
 * must be the same to the bit, strict or not; zeros keep their signs. Rows of 0 to 300 elements: sums and
 * sums of products in one loop, that go on from another number, around a mean that is known when they begin,
 * of what is -0.0 throughout; float32, float64 and integers, on every target.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

enum { ROWS = 3, INPUTS = 2, LONGEST = 300 };

static const char *const programs[] = {
    "def several(x, w):\n"
    "    y = output_tensor((x.shape[0],), x.dtype)\n"
    "    for i in range(x.shape[0]):\n"
    "        a = y.dtype(7)\n"
    "        b = y.dtype(0)\n"
    "        for j in range(x.shape[1]):\n"
    "            a += x[i, j]\n"
    "            b += x[i, j] * w[j]\n"
    "        y[i] = b - a\n"
    "    return y\n",

    "def around(x, w):\n"
    "    y = output_tensor((x.shape[0],), x.dtype)\n"
    "    for i in range(x.shape[0]):\n"
    "        first = y.dtype(0)\n"
    "        for j in range(x.shape[1]):\n"
    "            first += w[j]\n"
    "        s = y.dtype(0)\n"
    "        for j in range(x.shape[1]):\n"
    "            s += (x[i, j] - first) * (x[i, j] - first)\n"
    "        y[i] = s\n"
    "    return y\n",

    "def signs(x, w):\n"
    "    y = output_tensor((x.shape[0],), x.dtype)\n"
    "    for i in range(x.shape[0]):\n"
    "        s = -(y.dtype(0))\n"
    "        for j in range(x.shape[1]):\n"
    "            s += -(w[j] * w[j]) * y.dtype(0)\n"
    "        y[i] = s\n"
    "    return y\n",
};

/* From -3 to 3. */
static akg_tensor *whole_numbers(akg_dtype dtype, int rank, const int64_t *shape)
{
    static uint64_t state = 5;
    akg_tensor *tensor = NULL;
    if (!CHECK(akg_tensor_create(dtype, rank, shape, &tensor) == AKG_OK))
        return NULL;
    int64_t rows = rank == 2 ? shape[0] : 1, columns = shape[rank - 1];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++) {
            int64_t index[] = {row, column};
            state = state * 6364136223846793005u + 1442695040888963407u;
            akg_tensor_set(tensor, rank == 2 ? index : index + 1, (double)((state >> 40) % 7) - 3);
        }
    return tensor;
}

static void check_program(const char *program, akg_dtype dtype, int64_t columns)
{
    const int64_t shape[] = {ROWS, columns};
    akg_tensor *inputs[INPUTS] = {whole_numbers(dtype, 2, shape), whole_numbers(dtype, 1, shape + 1)};
    akg_tensor *expected = NULL;
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    if (CHECK(inputs[0] && inputs[1] && api_run(program, &options, inputs, INPUTS, NULL, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
            for (int strict = 0; strict < 2; strict++) {
                jit_options fast = {
                    .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = strict};
                akg_tensor *output = NULL;
                if (!CHECK(api_run(program, &fast, inputs, INPUTS, NULL, &output) &&
                           api_same_numbers(output, expected)))
                    fprintf(stderr, "%s, rows of %d:\n%s", fast.target, (int)columns, program);
                akg_tensor_release(output);
            }
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64};
    for (size_t k = 0; k < API_COUNT(programs); k++)
        for (size_t type = 0; type < API_COUNT(dtypes); type++)
            for (int64_t columns = 0; columns <= LONGEST; columns += columns % 64 == 63 ? 1 : 21)
                check_program(programs[k], dtypes[type], columns);
    return check_done();
}
