/*
 * test_vector_leave.c: loops that a condition ends give what the interpreter gives, wherever it ends them,
 * and look at nothing behind their tensors; what stands behind the condition is only done while it does not
 * hold.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <sys/mman.h>

enum { INPUTS = 2, OUTPUTS = 2, LONGEST = 100, MODULES = 6 };

/* x holds small whole numbers below 9, and 9 where the loop is to end; z has M elements of ones. */
static const char *const bodies[] = {
    "    for i in range(N):\n        if x[i] == 9:\n            at[0] = i\n            break\n",
    "    for i in range(N - 1, -1, -1):\n        if x[i] > 8:\n            at[0] = i\n            break\n",
    "    i = 0\n    while i < N and x[i] != 9:\n        i += 1\n    at[0] = i\n",
    "    i = N - 1\n    while i > 0 and x[i] != 9:\n        y[i] = x[i]\n        i -= 1\n    at[0] = "
    "int32(i)\n",
    "    for i in range(N):\n        if x[i] > 8 or x[i] == 77:\n            y[i] = 3\n            break\n"
    "        y[i] = x[i] + 1\n        at[0] += int32(x[i])\n",
    "    for i in range(N):\n        if x[i] < 9:\n            y[i] = x[i] * x[i]\n        else:\n"
    "            at[0] = i\n            break\n",
    /* what is loaded or divided by is there, or no 0, only where the conditions before say so */
    "    for i in range(N):\n        if i >= M:\n            break\n        if x[i] + z[i] == 10:\n          "
    "  break\n"
    "        y[i] = z[i] + x[i]\n        at[0] += 1\n",
    "    for i in range(N):\n        if x[i] == 9:\n            break\n        at[0] += 100 // (9 - "
    "int32(x[i]))\n",
    "    for i in range(N):\n        if i < M and z[i] + x[i] == 10:\n            at[0] = i\n            "
    "break\n",
    "    for i in range(N):\n        if x[i] == 9 or M < 50:\n            break\n        y[i] = x[i] + "
    "z[49]\n",
    "    for i in range(N):\n        if x[i] == 9:\n            break\n        if M < 30:\n            at[0] "
    "= i\n"
    "            break\n        y[i] = x[i] + z[29]\n",
    "    for i in range(0, N, 2):\n        if x[i] == 9:\n            at[0] = i\n            break\n        "
    "y[i] = 1\n",
    "    for i in range(1, N):\n        if x[i] == 9 or x[i - 1] == 9:\n            at[0] = i\n            "
    "break\n",
    "    for i in range(N):\n        if x[int32(x[i]) % N] == 9:\n            at[0] = i\n            break\n",
    "    for j in range(5):\n        for i in range(N):\n            if x[i] == 9 - j:\n                "
    "at[0] += i\n"
    "                break\n            y[i] += x[i]\n",
    "    s = 0\n    best = 0\n    for i in range(N):\n        if x[i] == 9:\n            s -= 1\n            "
    "break\n"
    "        if int32(x[i]) > best:\n            best = int32(x[i])\n        s += 2\n    at[0] = s * 100 + "
    "best\n",
};

static bool call(const akg_module *module, akg_tensor *const *inputs, akg_tensor **outputs)
{
    akg_argument arguments[INPUTS];
    for (int k = 0; k < INPUTS; k++)
        arguments[k] = api_tensor(NULL, inputs[k]);
    return akg_kernel_call(akg_module_kernel_at(module, 0), arguments, INPUTS, NULL, outputs, NULL) == AKG_OK;
}

static void release(akg_tensor **tensors, int count)
{
    for (int k = 0; k < count; k++)
        akg_tensor_release(tensors[k]);
}

/* The first module is the interpreter's. */
static void check_calls(akg_module *const *modules, int count, akg_tensor *const *inputs, const char *what)
{
    akg_tensor *expected[OUTPUTS] = {NULL};
    if (!CHECK(call(modules[0], inputs, expected))) {
        fprintf(stderr, "%s", what);
        return;
    }
    for (int k = 1; k < count; k++) {
        akg_tensor *outputs[OUTPUTS] = {NULL};
        if (!CHECK(call(modules[k], inputs, outputs) && api_same(outputs[0], expected[0]) &&
                   api_same(outputs[1], expected[1])))
            fprintf(stderr, "module %d, %d elements:\n%s", k, (int)akg_tensor_shape(inputs[0])[0], what);
        release(outputs, OUTPUTS);
    }
    release(expected, OUTPUTS);
}

/* The last elements of both tensors end where a page does that may not be touched. */
static void check_lengths(akg_module *const *modules, int count, akg_dtype dtype, int64_t length, int64_t end,
                          const char *what)
{
    const int64_t shapes[INPUTS] = {length, length * 2 / 3 + 1};
    akg_tensor *inputs[INPUTS];
    char *pages[INPUTS];
    size_t sizes[INPUTS];
    for (int k = 0; k < INPUTS; k++) {
        size_t bytes = (size_t)shapes[k] * akg_dtype_size(dtype);
        void *data = api_guarded(bytes, true, &pages[k], &sizes[k]);
        CHECK(data &&
              akg_tensor_from_memory(data, dtype, 1, &shapes[k], NULL, NULL, NULL, &inputs[k]) == AKG_OK);
        for (int64_t at = 0; at < shapes[k]; at++)
            akg_tensor_set(inputs[k], &at, k ? 1 : at == end ? 9 : (double)(at * 7 % 5));
    }
    check_calls(modules, count, inputs, what);
    for (int k = 0; k < INPUTS; k++) {
        akg_tensor_release(inputs[k]);
        munmap(pages[k], sizes[k]);
    }
}

static void check_body(const char *body, akg_dtype dtype)
{
    static const int64_t lengths[] = {1, 2, 7, 16, 17, 33, LONGEST};
    akg_module *modules[MODULES] = {NULL};
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    char program[1000];
    int count = 0;
    snprintf(program, sizeof program,
             "def k(x: T[N], z: T[M]):\n    y = output_tensor((N,), x.dtype)\n"
             "    at = output_tensor((1,), int32)\n%s    return y, at\n",
             body);
    CHECK((modules[count++] = api_module(program, &options)) != NULL);
    for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
        options = (jit_options){.target = x86_target_name((enum x86_target)target), .cache = "off"};
        CHECK((modules[count++] = api_module(program, &options)) != NULL);
    }
    CHECK(count == 2 || api_vector_loops(program) > 0);
    for (size_t k = 0; k < API_COUNT(lengths); k++)
        for (int64_t end = 0; end <= lengths[k]; end += end < 20 ? 1 : 13)
            if (check_takes(k + (size_t)end))
                check_lengths(modules, count, dtype, lengths[k], end, program);
    for (int k = 0; k < count; k++)
        akg_module_release(modules[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_INT32, AKG_FLOAT64, AKG_UINT8, AKG_FLOAT16};
    for (size_t k = 0; k < API_COUNT(bodies); k++)
        for (size_t d = 0; d < API_COUNT(dtypes); d++)
            check_body(bodies[k], dtypes[d]);
    return check_done();
}
