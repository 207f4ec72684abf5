/*
 * test_flow_choice.c: branches that become choices give what the interpreter gives, and load nothing that the
 * branch kept from being loaded: tensors lie between pages that may not be touched.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { LONGEST = 24, MOST_OUTPUTS = 2 };

/* x has N whole numbers, n four; what comes before is `a = 0`, `b = 1`. */
static const char *const bodies[] = {
    /* neighbours that are there under a condition alone */
    "    for i in range(N):\n        if i > 0 and x[i - 1] > x[i]:\n            a += 1\n",
    "    for i in range(N):\n        if i + 1 < N and x[i + 1] > 2:\n            a += i\n        else:\n     "
    "       b += 1\n",
    "    for i in range(N):\n        if i > 2:\n            a = x[i - 3]\n        b += a\n",
    "    for i in range(N):\n        if not (i < N - 2 or x[i] > 1):\n            a += 1\n        elif i < N "
    "- 2:\n"
    "            a += x[i + 2]\n",
    "    for i in range(N):\n        if x[i] > 1:\n            if i >= 4:\n                a += x[i - 4]\n"
    "        elif i >= 1 and x[i - 1] > 0:\n            b = a\n",
    "    for i in range(N - 1, -1, -1):\n        if i < N - 1:\n            a = a * 3 + x[i + 1]\n        b "
    "^= a\n",
    "    for i in range(N):\n        k = x[i] * 1000000 - 2000000\n        if k >= 0 and k < N:\n            "
    "a += x[k]\n"
    "        else:\n            b += 1\n",
    "    for i in range(N):\n        k = (x[i] - 3) * 9000000\n        if k >= 0:\n            if k < N:\n"
    "                a += x[k]\n                b ^= a\n",
    "    for i in range(N):\n        k = (x[i] - 3) * 9000000\n        if 0 <= k < N and x[k] > 1:\n         "
    "   a += 1\n",
    "    for i in range(N):\n        for j in range(N):\n            if j <= i:\n                a = a * 3 + "
    "x[i - j]\n"
    "            b = b * 5 + a\n",
    "    s = x[0] % 4\n    for i in range(N):\n        if s >= 0 and i >= s:\n            a = a * 3 + x[i - "
    "s]\n"
    "        b = b * 5 + a\n",
    /* the same index, which is another place by then */
    "    k = int64(0)\n    for i in range(N):\n        if 0 <= k and k < N:\n            if x[k] > 1:\n"
    "                k = k * 1000000 + 1\n                if 0 <= k and k < N:\n                    a += "
    "x[k]\n"
    "            else:\n                k += 1\n        else:\n            k = i\n        b = b * 3 + a\n",
    /* those that are there anyway */
    "    for i in range(1, N):\n        if x[i] < x[i - 1]:\n            a += x[i - 1]\n        else:\n      "
    "      b += 2\n",
    "    for i in range(N):\n        if x[i] == 0:\n            a, b = b, a\n        elif x[i] > 3:\n        "
    "    a += b\n",
    "    while b < 1000:\n        if b & 4 == 0:\n            b = 3 * b + 1\n        else:\n            b += "
    "5\n        a += 1\n",
    /* a store on both sides */
    "    for i in range(N):\n        if x[i] > 2:\n            x[a] = x[i]\n            a += 1\n        "
    "else:\n"
    "            x[i] = 0\n",
    "    for i in range(N):\n        if i > 0:\n            x[i - 1] = 7\n            a += 1\n        else:\n"
    "            x[i] = 7\n",
};

static akg_status run(const akg_module *module, int64_t count, bool at_end, int64_t results[4 + LONGEST])
{
    char *pages;
    size_t size;
    int64_t four = 4;
    void *data = api_guarded((size_t)count * 8, at_end, &pages, &size);
    akg_tensor *x, *n;

    CHECK(data && akg_tensor_from_memory(data, AKG_INT64, 1, &count, NULL, NULL, NULL, &x) == AKG_OK &&
          akg_tensor_create(AKG_INT64, 1, &four, &n) == AKG_OK);
    for (int64_t at = 0; at < count; at++)
        akg_tensor_set(x, &at, (double)(at * 7919 % 13 % 6));
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, n)};
    akg_tensor *outputs[MOST_OUTPUTS] = {NULL};
    akg_status status = akg_kernel_call(akg_module_kernel_at(module, 0), arguments, API_COUNT(arguments),
                                        NULL, outputs, NULL);
    CHECK_INT(status, AKG_OK);
    for (int64_t at = 0; at < four; at++)
        results[at] = (int64_t)api_element(n, at);
    for (int64_t at = 0; at < count; at++)
        results[four + at] = (int64_t)api_element(x, at);
    for (int k = 0; k < MOST_OUTPUTS; k++)
        akg_tensor_release(outputs[k]);
    akg_tensor_release(x);
    akg_tensor_release(n);
    munmap(pages, size);
    return status;
}

static void check_body(const char *body)
{
    char program[1000];
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    snprintf(
        program, sizeof program,
        "def k(x: int64[N], n: int64[M]):\n    a = int64(0)\n    b = int64(1)\n%s    n[0] = a\n    n[1] = b\n"
        "    return %sn\n",
        body, strstr(body, "  x[") ? "x, " : "");
    akg_module *expected = api_module(program, &options);
    for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++) {
        options = (jit_options){.target = x86_target_name((enum x86_target)target), .cache = "off"};
        akg_module *module = api_module(program, &options);
        if (!CHECK(expected && module))
            break;
        for (int64_t count = 1; count <= LONGEST; count++)
            for (int at_end = 0; at_end < 2; at_end++) {
                int64_t wanted[4 + LONGEST] = {0}, found[4 + LONGEST] = {0};
                CHECK_INT(run(module, count, at_end, found), run(expected, count, at_end, wanted));
                for (int k = 0; k < 4 + count; k++)
                    if (!CHECK(found[k] == wanted[k]))
                        fprintf(stderr, "    %d of %d elements:\n%s", k, (int)count, program);
            }
        akg_module_release(module);
    }
    akg_module_release(expected);
}

int main(void)
{
    for (size_t k = 0; k < API_COUNT(bodies); k++)
        check_body(bodies[k]);
    return check_done();
}
