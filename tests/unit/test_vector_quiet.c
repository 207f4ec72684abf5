/*
 * test_vector_quiet.c: `if x[i, j] > top: top = x[i, j]`, with vectors of each width against the interpreter.
 *
 * Comparisons in either direction, strict or not, in an if or a conditional expression; rows of each length
 * up to several vectors, with nan and infinities among their elements and as what the scalar begins with.
 * There is no zero: which of two it keeps nobody promises. Results must be the same bits.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>

enum { ROUNDS = 40, INPUTS = 2, ROWS = 9, LONGEST = 90 };

static const char *const updates[] = {
    "            if x[i, j] > top:\n                top = x[i, j]\n",
    "            if x[i, j] >= top:\n                top = x[i, j]\n",
    "            if top > x[i, j]:\n                top = x[i, j]\n",
    "            if abs(x[i, j]) <= top:\n                top = abs(x[i, j])\n",
    "            top = x[i, j] if x[i, j] > top else top\n",
    "            top = x[i, j] * 2 if top < x[i, j] * 2 else top\n",
};

static uint64_t state = 97;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static akg_tensor *tensor_of(akg_dtype dtype, int rank, const int64_t *shape)
{
    static const double special[] = {NAN, INFINITY, -INFINITY};
    akg_tensor *tensor = NULL;
    if (!CHECK(akg_tensor_create(dtype, rank, shape, &tensor) == AKG_OK))
        return NULL;
    int64_t columns = rank > 1 ? shape[1] : 1;
    for (int64_t k = 0; k < shape[0] * columns; k++) {
        const int64_t at[2] = {k / columns, k % columns};
        int number = random_below(60);
        akg_tensor_set(tensor, at, number < 3 ? special[number] : number < 30 ? -number : number);
    }
    return tensor;
}

static void check_update(const char *update, akg_dtype dtype)
{
    char program[600];
    const int64_t shape[2] = {ROWS, 1 + random_below(LONGEST)};
    akg_tensor *inputs[INPUTS] = {tensor_of(dtype, 2, shape), tensor_of(dtype, 1, shape)}, *expected = NULL;
    const akg_argument last = api_int(NULL, 0);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    snprintf(program, sizeof program,
             "def k(x, s, n=0):\n    y = output_tensor((x.shape[0],), x.dtype)\n"
             "    for i in range(x.shape[0]):\n        top = s[i]\n        for j in range(x.shape[1]):\n%s"
             "        y[i] = top\n    return y\n",
             update);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
            for (int strict = 0; strict < 2; strict++) {
                jit_options fast = {
                    .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = strict};
                akg_tensor *output = NULL;
                if (!CHECK(api_run(program, &fast, inputs, INPUTS, &last, &output) &&
                           api_same_numbers(output, expected)))
                    fprintf(stderr, "%s, %d columns:\n%s", fast.target, (int)shape[1], program);
                akg_tensor_release(output);
            }
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < API_COUNT(updates); k++)
            check_update(updates[k], round % 2 ? AKG_FLOAT64 : AKG_FLOAT32);
    return check_done();
}
