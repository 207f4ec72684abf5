/*
 * test_vector_await.c: sums over what iterations before have stored, and loops in branches, of known lengths.
 *
 * A perceptron, whose weights each sample may change, and rows each of which is taken from those behind it:
 * all numbers are whole and small, so that sums are exact in any order, and results those of the interpreter,
 * to the bit. Rows of 1 to 70 elements: whole vectors of either width, halves of them, and with a rest; code
 * for the shape and for all shapes, float32 and float64, on every target.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

enum { SAMPLES = 23, LONGEST = 70 };

static const char perceptron[] = "def k(x, y):\n"
                                 "    w = output_tensor((x.shape[1],), x.dtype)\n"
                                 "    for j in range(x.shape[1]):\n"
                                 "        w[j] = j % 3 - 1\n"
                                 "    for i in range(x.shape[0]):\n"
                                 "        s = 0.0\n"
                                 "        for j in range(x.shape[1]):\n"
                                 "            s += w[j] * x[i, j]\n"
                                 "        if s * y[i] <= 0:\n"
                                 "            for j in range(x.shape[1]):\n"
                                 "                w[j] += y[i] * x[i, j]\n"
                                 "        else:\n"
                                 "            for j in range(1, x.shape[1]):\n"
                                 "                w[j] = w[j] - y[i]\n"
                                 "    return w\n";

static const char elimination[] = "def k(x, y):\n"
                                  "    w = output_tensor(x.shape, x.dtype)\n"
                                  "    for i, j in grid(x.shape):\n"
                                  "        w[i, j] = x[i, j]\n"
                                  "    for i in range(x.shape[0]):\n"
                                  "        top = 0.0\n"
                                  "        for j in range(x.shape[1]):\n"
                                  "            top = max(top, w[i, j])\n"
                                  "        for r in range(i + 1, x.shape[0]):\n"
                                  "            if y[r] > 0:\n"
                                  "                for j in range(x.shape[1]):\n"
                                  "                    w[r, j] -= w[i, j] if top > 1 else y[i]\n"
                                  "    return w\n";

static akg_tensor *whole_numbers(akg_dtype dtype, int rank, const int64_t *shape, int range, int from)
{
    akg_tensor *tensor = NULL;
    uint32_t state = 7;
    if (!CHECK(akg_tensor_create(dtype, rank, shape, &tensor) == AKG_OK))
        return NULL;
    int64_t count = akg_tensor_element_count(tensor), place[2];
    for (int64_t k = 0; k < count; k++) {
        place[0] = rank > 1 ? k / shape[1] : k;
        place[1] = rank > 1 ? k % shape[1] : 0;
        state = state * 1664525u + 1013904223u;
        akg_tensor_set(tensor, place, (int)((state >> 16) % (uint32_t)range) + from);
    }
    return tensor;
}

static void check_program(const char *program, akg_dtype dtype, int64_t length)
{
    const int64_t shape[] = {SAMPLES, length}, samples[] = {SAMPLES};
    akg_tensor *inputs[] = {whole_numbers(dtype, 2, shape, 5, -2), whole_numbers(dtype, 1, samples, 3, -1)};
    akg_tensor *expected = NULL;
    const jit_options plain = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    if (inputs[0] && inputs[1] && CHECK(api_run(program, &plain, inputs, 2, NULL, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
            for (int any = 0; any < 2; any++) {
                const jit_options fast = {
                    .target = x86_target_name((enum x86_target)target), .cache = "off", .any_shape = any};
                akg_tensor *output = NULL;
                if (!CHECK(api_run(program, &fast, inputs, 2, NULL, &output) &&
                           api_same_numbers(output, expected)))
                    fprintf(stderr, "%s, rows of %d:\n%s", fast.target, (int)length, program);
                akg_tensor_release(output);
            }
    akg_tensor_release(expected);
    for (int k = 0; k < 2; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64};
    for (int64_t length = 1; length <= LONGEST; length++)
        for (size_t k = 0; k < API_COUNT(dtypes); k++) {
            check_program(perceptron, dtypes[k], length);
            check_program(elimination, dtypes[k], length);
        }
    return check_done();
}
