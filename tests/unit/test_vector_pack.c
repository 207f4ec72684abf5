/*
 * test_vector_pack.c: elements that are put behind each other where a condition holds give what the
 * interpreter gives, results and errors, and touch nothing behind their tensors.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { OUTPUTS = 2, MODULES = 6 };

/* x has N small whole numbers of which some are above the attribute; y and n are given: y of 1s, n of 0s. */
static const char *const bodies[] = {
    "    k = 0\n    for i in range(N):\n        if x[i] > t:\n            y[k] = x[i]\n            k += 1\n  "
    "  n[0] "
    "= k\n",
    "    k = 0\n    for i in range(N - 1, -1, -1):\n        if x[i] > t and x[i] != 4:\n            y[k] = "
    "x[i] + "
    "1\n            k += 1\n    n[1] = int32(k)\n",
    /* where there is no room, or the counter begins outside, the kernel stops where it should */
    "    k = 4\n    for i in range(N):\n        if x[i] <= t:\n            y[k] = x[i] * x[i]\n            k "
    "+= 1\n"
    "    n[0] = k\n",
    "    k = n[0] - 3\n    for i in range(N):\n        if x[i] > t:\n            y[k] = x[i]\n            k "
    "+= 1\n"
    "    n[1] = k\n",
    /* two counters, a sum beside them, a condition in a condition */
    "    k = 0\n    j = 0\n    for i in range(N):\n        if x[i] > t:\n            y[k] = x[i]\n           "
    " k += "
    "1\n        else:\n            n[2 + j] = i\n            j += 1\n    n[0] = k\n    n[1] = int32(j)\n",
    "    k = 0\n    s = 0\n    for i in range(N):\n        if x[i] > t:\n            if x[i] != 3:\n         "
    "       "
    "y[k] = x[i]\n                n[2 + k] = i\n                k += 1\n            s += int32(x[i])\n    "
    "n[0] = "
    "s\n    n[1] = k\n",
    "    k = 0\n    for i in range(N):\n        if i == 0 or x[i] != x[i - 1]:\n            y[k] = x[i]\n    "
    "     "
    "   n[k] = i\n            k += 1\n",
    "    for j in range(3):\n        k = 0\n        for i in range(N):\n            if x[i] > t + j:\n       "
    "      "
    "   y[k] = x[i]\n                k += 1\n        n[j] += k\n",
    /* which are no such loops */
    "    k = 0\n    for i in range(N):\n        if k == 0 or x[i] > y[k - 1]:\n            y[k] = x[i]\n     "
    "     "
    "  k += 1\n    n[0] = k\n",
    "    k = 0\n    for i in range(N):\n        if x[i] > t:\n            y[k] = x[i]\n            k += 1\n  "
    "      "
    "n[i] = k\n",
    "    k = 0\n    for i in range(N):\n        n[i] = i\n        if n[i // 2] > t:\n            y[k] = "
    "x[i]\n      "
    "      k += 1\n",
};

struct given {
    akg_tensor *tensor;
    char *pages;
    size_t size;
};

/* A tensor whose last element ends where a page does that may not be touched. */
static struct given give(akg_dtype dtype, int64_t length, int64_t factor, int64_t modulus, double first)
{
    struct given given = {NULL, NULL, 0};
    void *data = api_guarded((size_t)length * akg_dtype_size(dtype), true, &given.pages, &given.size);
    CHECK(data && akg_tensor_from_memory(data, dtype, 1, &length, NULL, NULL, NULL, &given.tensor) == AKG_OK);
    for (int64_t at = 0; at < length; at++)
        akg_tensor_set(given.tensor, &at, first + (double)(at * factor % modulus));
    return given;
}

static void take_back(struct given *given)
{
    akg_tensor_release(given->tensor);
    munmap(given->pages, given->size);
}

struct result {
    struct given outputs[OUTPUTS];
    akg_status status;
    char *message;
};

/* The outputs are updated in place: they are parameters. */
static struct result result_of(const akg_module *module, akg_tensor *x, int64_t room, double above)
{
    struct result result = {.outputs = {give(akg_tensor_dtype(x), room, 0, 1, 1),
                                        give(AKG_INT32, akg_tensor_shape(x)[0] + 4, 0, 1, 0)}};
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, result.outputs[0].tensor),
                                api_tensor(NULL, result.outputs[1].tensor), api_real("t", above)};
    akg_tensor *returned[OUTPUTS] = {NULL};
    akg_diagnostics *diagnostics = NULL;
    result.status = akg_kernel_call(akg_module_kernel_at(module, 0), arguments, API_COUNT(arguments), NULL,
                                    returned, &diagnostics);
    CHECK(result.status == AKG_OK || result.status == AKG_ERROR_CALL);
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(returned[k]);
    if (result.status != AKG_OK)
        CHECK(akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &result.message) == AKG_OK);
    akg_diagnostics_free(diagnostics);
    return result;
}

static void drop(struct result *result)
{
    for (int k = 0; k < OUTPUTS; k++)
        take_back(&result->outputs[k]);
    akg_free(result->message);
}

static bool same(const struct result *a, const struct result *b)
{
    return a->status == b->status && (!a->message || strcmp(a->message, b->message) == 0) &&
           api_same(a->outputs[0].tensor, b->outputs[0].tensor) &&
           api_same(a->outputs[1].tensor, b->outputs[1].tensor);
}

static void check_calls(akg_module *const *modules, int count, akg_dtype dtype, int64_t length, int64_t room,
                        double above, const char *program)
{
    struct given x = give(dtype, length, 7, 5, 0);
    struct result expected = result_of(modules[0], x.tensor, room, above);
    for (int k = 1; k < count; k++) {
        struct result result = result_of(modules[k], x.tensor, room, above);
        if (!CHECK(same(&result, &expected)))
            fprintf(stderr, "module %d, %d elements, room for %d, above %g:\n%s%s%s", k, (int)length,
                    (int)room, above, program, expected.message ? expected.message : "",
                    result.message ? result.message : "");
        drop(&result);
    }
    drop(&expected);
    take_back(&x);
}

static void check_body(size_t body, akg_dtype dtype)
{
    enum { THAT_PACK = 8 };
    static const int64_t lengths[] = {1, 2, 15, 16, 17, 40, 100};
    akg_module *modules[MODULES] = {NULL};
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    char program[1000];
    int count = 0;
    snprintf(program, sizeof program, "def k(x: T[N], y: T[R], n: int32[M], t=2):\n%s    return y, n\n",
             bodies[body]);
    CHECK((modules[count++] = api_module(program, &options)) != NULL);
    for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
        options = (jit_options){.target = x86_target_name((enum x86_target)target), .cache = "off"};
        CHECK((modules[count++] = api_module(program, &options)) != NULL);
    }
    if (x86_cpu_target() == X86_TARGET_AVX512 && akg_dtype_size(dtype) >= 4)
        if (!CHECK((api_vector_loops(program) > 0) == (body < THAT_PACK)))
            fprintf(stderr, "%s", program);
    for (size_t k = 0; k < API_COUNT(lengths); k++)
        for (int64_t above = -1; above < 5; above++)
            for (int64_t room = 1; room <= lengths[k] + 5; room += lengths[k] / 3 + 1)
                if (check_takes(k + (size_t)(above + 1) + (size_t)room))
                    check_calls(modules, count, dtype, lengths[k], room, (double)above, program);
    for (int k = 0; k < count; k++)
        akg_module_release(modules[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_INT32, AKG_FLOAT64, AKG_UINT32, AKG_INT64, AKG_INT16};
    for (size_t k = 0; k < API_COUNT(bodies); k++)
        for (size_t d = 0; d < API_COUNT(dtypes); d++)
            check_body(k, dtypes[d]);
    return check_done();
}
