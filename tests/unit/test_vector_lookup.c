/*
 * test_vector_lookup.c: tables of bytes, wherever in a word of memory they begin.
 *
 * A loop picks elements out of one table in two ways: by bytes, for which the table is in registers, and by
 * integers of 32 bits, for which aligned words are gathered. Results are those of the interpreter, for every
 * target of this processor.
 */
#include <string.h>

#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

static const char program[] = "def both(x: T[256], z: T[256], at: uint8[M], by: int32[M]):\n"
                              "    y = output_tensor((M,), x.dtype)\n"
                              "    for i in range(M):\n"
                              "        y[i] = x[at[i]] + x[by[i]]\n"
                              "    return y\n"
                              "def turned(x: T[256], z: T[256], at: uint8[M], by: int32[M]):\n"
                              "    y = output_tensor((M,), x.dtype)\n"
                              "    for i in range(M):\n"
                              "        y[i] = x[by[i] % 200] - x[at[M - 1 - i]]\n"
                              "    return y\n"
                              "def chosen(x: T[256], z: T[256], at: uint8[M], by: int32[M]):\n"
                              "    y = output_tensor((M,), x.dtype)\n"
                              "    for i in range(M):\n"
                              "        a = z[at[i]] if z[2 * i] > x[i] else x[2 * i]\n"
                              "        y[i] = x[130 - i] if z[i + 1] > max(a, x[by[i]]) else x[at[i]]\n"
                              "    return y\n"
                              "def bytes_alone(x: T[256], z: T[256], at: uint8[M], by: int32[M]):\n"
                              "    y = output_tensor((M,), x.dtype)\n"
                              "    for i in range(M):\n"
                              "        y[i] = x[at[i]] + cast(by[i], x.dtype) + z[at[i]]\n"
                              "    return y\n";

static const char *const names[] = {"both", "turned", "bytes_alone", "chosen"};

enum { TABLE = 256, AROUND = 8, INDICES = 120 };

static akg_module *compile(jit_backend backend, const char *target)
{
    jit_source source = {"lookup.akg", program, sizeof program - 1};
    jit_options options = {.backend = backend, .cache = "off", .target = target};
    akg_module *module = NULL;

    CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK);
    return module;
}

/* The table is a view of a longer one, and begins so many bytes behind its beginning. */
static akg_tensor *call(akg_module *module, const char *name, akg_tensor *longer, int64_t offset,
                        int64_t count)
{
    akg_tensor *table = NULL, *other = api_range(akg_tensor_dtype(longer), 1, (int64_t[]){TABLE}, 9, 11),
               *at = api_range(AKG_UINT8, 1, &count, 3, 7), *by = api_range(AKG_INT32, 1, &count, 0, 1),
               *y = NULL;
    CHECK(akg_tensor_view(longer, 1, (int64_t[]){TABLE}, (int64_t[]){1}, offset, &table) == AKG_OK);
    akg_argument arguments[] = {api_tensor(NULL, table), api_tensor(NULL, other), api_tensor(NULL, at),
                                api_tensor(NULL, by)};

    CHECK(akg_kernel_call(akg_module_kernel(module, name), arguments, 4, NULL, &y, NULL) == AKG_OK);
    akg_tensor_release(table);
    akg_tensor_release(other);
    akg_tensor_release(at);
    akg_tensor_release(by);
    return y;
}

static void test_target(akg_module *interpreted, const char *target)
{
    static const akg_dtype dtypes[] = {AKG_UINT8, AKG_INT8};
    static const int64_t counts[] = {1, 15, 64, INDICES};
    akg_module *module = compile(JIT_BACKEND_TCC, target);

    for (size_t k = 0; k < API_COUNT(names) * API_COUNT(dtypes) * API_COUNT(counts) * AROUND; k++) {
        size_t of = k / AROUND;
        const char *name = names[of % API_COUNT(names)];
        int64_t count = counts[of / API_COUNT(names) % API_COUNT(counts)], around = TABLE + AROUND;
        akg_dtype dtype = dtypes[of / API_COUNT(names) / API_COUNT(counts)];
        akg_tensor *longer = api_range(dtype, 1, &around, 5, 3);
        akg_tensor *found = call(module, name, longer, (int64_t)(k % AROUND), count),
                   *right = call(interpreted, name, longer, (int64_t)(k % AROUND), count);
        if (!CHECK(found && right && api_same(found, right)))
            fprintf(stderr, "    %s of %d, from %d on\n", name, (int)count, (int)(k % AROUND));
        akg_tensor_release(found);
        akg_tensor_release(right);
        akg_tensor_release(longer);
    }
    akg_module_release(module);
}

int main(void)
{
    static const char *const targets[] = {"avx512", "avx2", "none"};
    akg_module *interpreted = compile(JIT_BACKEND_INTERPRETER, NULL);

    for (size_t k = 0; k < API_COUNT(targets); k++) {
        enum x86_target target;
        if (CHECK(x86_target_from_name(targets[k], &target)) && target <= x86_cpu_target())
            test_target(interpreted, targets[k]);
    }
    akg_module_release(interpreted);
    return check_done();
}
