/*
 * test_vector_steps.c: elements that lie a few apart, of a tensor that ends with the last of them, or begins
 * with the first: vectors of each width against the interpreter, with nothing to be read before and behind.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_STEP = 14, LONGEST = 75 };

static akg_tensor *element_of_each(akg_tensor *x, int step, int offset, int count, const jit_options *options)
{
    char program[300];
    akg_tensor *inputs[] = {x}, *output = NULL;
    snprintf(program, sizeof program,
             "def k(x: T[L]):\n    y = output_tensor((%d,), x.dtype)\n    for i in range(%d):\n"
             "        y[i] = x[%d * i + %d]\n    return y\n",
             count, count, step, offset);
    CHECK(api_run(program, options, inputs, 1, NULL, &output));
    return output;
}

static void check_step(akg_dtype dtype, size_t size, int step, int count, bool at_end)
{
    int offset = at_end ? step / 2 : 0;
    const int64_t shape[] = {(int64_t)(count - 1) * step + offset + 1 + (at_end ? 0 : step)};
    jit_options interpreter = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    size_t bytes = (size_t)shape[0] * size, mapped;
    char *pages;
    void *data = api_guarded(bytes, at_end, &pages, &mapped);
    akg_tensor *x = NULL;
    CHECK(data && akg_tensor_from_memory(data, dtype, 1, shape, NULL, NULL, NULL, &x) == AKG_OK);
    for (int64_t k = 0; x && k < shape[0]; k++)
        akg_tensor_set(x, &k, (double)(k * 7 % 125));
    akg_tensor *expected = element_of_each(x, step, offset, count, &interpreter);
    for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
        jit_options options = {.target = x86_target_name((enum x86_target)target), .cache = "off"};
        akg_tensor *output = element_of_each(x, step, offset, count, &options);
        if (!CHECK(output && expected && api_same(output, expected)))
            fprintf(stderr, "%s: %d elements of %s, %d apart\n", options.target, count, akg_dtype_name(dtype),
                    step);
        akg_tensor_release(output);
    }
    akg_tensor_release(expected);
    akg_tensor_release(x);
    munmap(pages, mapped);
}

int main(void)
{
    static const struct {
        akg_dtype dtype;
        size_t size;
    } dtypes[] = {{AKG_FLOAT16, 2}, {AKG_BFLOAT16, 2}, {AKG_INT16, 2},   {AKG_UINT16, 2},
                  {AKG_UINT8, 1},   {AKG_FLOAT32, 4},  {AKG_FLOAT64, 8}, {AKG_INT32, 4}};
    for (size_t d = 0; d < API_COUNT(dtypes); d++)
        for (int step = 2; step <= MOST_STEP; step++)
            for (int count = 1; count <= LONGEST; count += step % 3 + 5)
                for (int at_end = 0; at_end < 2; at_end++)
                    if (check_takes(d + (size_t)(step + count)))
                        check_step(dtypes[d].dtype, dtypes[d].size, step, count, at_end);
    return check_done();
}
