/*
 * test_deferred.c: branches whose code is made when they are first reached: not before, once for all threads,
 * with the results of the kernel, and without memory the other side of the branch takes their place.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../jit/deferred.h"
#include "../../jit/module.h"
#include "../../jit/vector_plan.h"
#include "../../jit/x86_cpu.h"
#include "check.h"

static const char product[] = "def product(a: T[M, K], b: T[K, N]):\n"
                              "    c = output_tensor((M, N), a.dtype)\n"
                              "    for i, j in grid((M, N)):\n"
                              "        total = 0.0\n"
                              "        for k in range(K):\n"
                              "            total += a[i, k] * b[k, j]\n"
                              "        c[i, j] = total\n"
                              "    return c\n"
                              "def twice(a: T[M, K], b: T[K, N], d: T[N, L]):\n"
                              "    c = output_tensor((M, N), a.dtype)\n"
                              "    e = output_tensor((M, L), a.dtype)\n"
                              "    for i, j in grid((M, N)):\n"
                              "        total = 0.0\n"
                              "        for k in range(K):\n"
                              "            total += a[i, k] * b[k, j]\n"
                              "        c[i, j] = total\n"
                              "    for i, j in grid((M, L)):\n"
                              "        total = 0.0\n"
                              "        for k in range(N):\n"
                              "            total += c[i, k] * d[k, j]\n"
                              "        e[i, j] = total\n"
                              "    return c, e\n"
                              "def running(a: T[M, N]):\n"
                              "    c = output_tensor((M, N), a.dtype)\n"
                              "    for i, j in grid((M, N)):\n"
                              "        c[i, j] = a[i, j]\n"
                              "        if i > 0:\n"
                              "            c[i, j] = c[i, j] + c[i - 1, j]\n"
                              "    return c\n";

/* Small numbers, whose products and sums are exact. */
static akg_tensor *matrix(int64_t rows, int64_t columns, int seed)
{
    int64_t shape[2] = {rows, columns};
    akg_tensor *tensor = NULL;

    if (akg_tensor_create(AKG_FLOAT32, 2, shape, &tensor) != AKG_OK)
        abort();
    float *data = akg_tensor_data(tensor);
    for (int64_t k = 0; k < rows * columns; k++)
        data[k] = (float)((k * 7 + seed * 5 + k / columns) % 9 - 4);
    return tensor;
}

static bool is_product(akg_tensor *c, akg_tensor *a, akg_tensor *b, int64_t m, int64_t n, int64_t depth)
{
    const float *x = akg_tensor_data(a), *y = akg_tensor_data(b), *z = akg_tensor_data(c);

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += x[i * depth + k] * y[k * n + j];
            if (sum != z[i * n + j])
                return false;
        }
    return true;
}

static akg_module *compile(void)
{
    jit_source source = {"product.akg", product, sizeof product - 1};
    jit_options options = {.backend = JIT_BACKEND_TCC, .any_shape = true};
    akg_module *module = NULL;

    CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK);
    return module;
}

static akg_argument tensor_argument(akg_tensor *tensor)
{
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR};

    argument.as.tensor = tensor;
    return argument;
}

struct size {
    int64_t m, depth, n;
};

static const struct size small = {5, 7, 6}, large = {65, 500, 310};

static bool multiply(akg_kernel *kernel, struct size size)
{
    akg_tensor *a = matrix(size.m, size.depth, 1), *b = matrix(size.depth, size.n, 2), *c = NULL;
    akg_argument arguments[2] = {tensor_argument(a), tensor_argument(b)};
    bool good = akg_kernel_call(kernel, arguments, 2, NULL, &c, NULL) == AKG_OK &&
                is_product(c, a, b, size.m, size.n, size.depth);

    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(c);
    return good;
}

static struct deferred *deferred_of(akg_kernel *kernel)
{
    return &atomic_load(&kernel->instances)->deferred;
}

static int made(akg_kernel *kernel)
{
    const struct deferred *deferred = deferred_of(kernel);
    int count = 0;

    for (int k = 0; k < deferred->count; k++)
        count += atomic_load(&deferred->branches[k].entry) != NULL;
    return count;
}

static void test_first_reached(void)
{
    akg_module *module = compile();
    akg_kernel *kernel = akg_module_kernel(module, "product");
    akg_compile_stage before, after;

    CHECK(multiply(kernel, small));
    CHECK_INT(deferred_of(kernel)->count, 1);
    CHECK_INT(made(kernel), 0);
    akg_kernel_compile_stage(kernel, JIT_STAGE_GENERATE, &before);
    CHECK(multiply(kernel, large));
    CHECK_INT(made(kernel), 1);
    akg_kernel_compile_stage(kernel, JIT_STAGE_GENERATE, &after);
    CHECK(after.nanoseconds > before.nanoseconds);
    CHECK(multiply(kernel, large));
    CHECK(multiply(kernel, small));
    akg_kernel_compile_stage(kernel, JIT_STAGE_GENERATE, &before);
    CHECK(after.nanoseconds == before.nanoseconds);
    akg_module_release(module);
}

/* Each branch by its own number. */
static void test_two(void)
{
    akg_module *module = compile();
    akg_kernel *kernel = akg_module_kernel(module, "twice");
    akg_tensor *a = matrix(60, 500, 1), *b = matrix(500, 610, 2), *d = matrix(610, 5, 3),
               *e = matrix(610, 500, 4);

    for (int k = 0; k < 2; k++) {
        akg_tensor *outputs[2] = {NULL, NULL}, *last = k ? e : d;
        akg_argument arguments[3] = {tensor_argument(a), tensor_argument(b), tensor_argument(last)};
        CHECK(akg_kernel_call(kernel, arguments, 3, NULL, outputs, NULL) == AKG_OK);
        CHECK_INT(deferred_of(kernel)->count, 2);
        CHECK_INT(made(kernel), 1 + k);
        CHECK(is_product(outputs[0], a, b, 60, 610, 500));
        CHECK(is_product(outputs[1], outputs[0], last, 60, k ? 500 : 5, 610));
        akg_tensor_release(outputs[0]);
        akg_tensor_release(outputs[1]);
    }
    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(d);
    akg_tensor_release(e);
    akg_module_release(module);
}

static void *multiply_on_thread(void *kernel)
{
    return multiply(kernel, large) ? kernel : NULL;
}

static void test_threads(void)
{
    akg_module *module = compile();
    akg_kernel *kernel = akg_module_kernel(module, "product");
    pthread_t threads[4];

    CHECK(multiply(kernel, small));
    for (int k = 0; k < 4; k++)
        CHECK(pthread_create(&threads[k], NULL, multiply_on_thread, kernel) == 0);
    for (int k = 0; k < 4; k++) {
        void *good = NULL;
        pthread_join(threads[k], &good);
        CHECK(good != NULL);
    }
    CHECK_INT(made(kernel), 1);
    akg_module_release(module);
}

/* Whichever allocation fails, the call is right or says that memory ran out; and the next one makes the
 * branch. */
static void test_faults(void)
{
#ifdef AKG_FAULT_INJECTION
    akg_tensor *a = matrix(large.m, large.depth, 1), *b = matrix(large.depth, large.n, 2);
    akg_argument arguments[2] = {tensor_argument(a), tensor_argument(b)};
    int fallen_back = 0, refused = 0;

    for (long count = 0, last = 0; !last; count += 1 + count / 4) {
        akg_module *module = compile();
        akg_kernel *kernel = akg_module_kernel(module, "product");
        akg_tensor *c = NULL;
        CHECK(multiply(kernel, small));
        memory_fail_after(count);
        akg_status status = akg_kernel_call(kernel, arguments, 2, NULL, &c, NULL);
        last = memory_fail_remaining() >= 0;
        memory_fail_after(-1);
        if (status == AKG_OK)
            CHECK(is_product(c, a, b, large.m, large.n, large.depth));
        else
            CHECK(status == AKG_ERROR_MEMORY);
        fallen_back += status == AKG_OK && !made(kernel);
        refused += status != AKG_OK;
        CHECK(multiply(kernel, large));
        CHECK_INT(made(kernel), 1);
        akg_tensor_release(c);
        akg_module_release(module);
    }
    CHECK(fallen_back > 0 && refused > 0);
    akg_tensor_release(a);
    akg_tensor_release(b);
#endif
}

/* An analysis that memory ran out in leaves nothing behind in the symbols of the kernel, which is analysed
 * again: for another tier, for a branch. */
static void test_faults_of_analyses(void)
{
#ifdef AKG_FAULT_INJECTION
    akg_module *module = compile();
    akg_kernel *kernel = akg_module_kernel(module, "running");
    akg_tensor *a = matrix(small.m, small.n, 1), *c = NULL;
    akg_argument argument = tensor_argument(a);
    struct vector_options options = {.target = x86_cpu_target()};
    struct vector_plan plan;

    CHECK(akg_kernel_call(kernel, &argument, 1, NULL, &c, NULL) == AKG_OK);
    const struct ir_kernel *made = atomic_load(&kernel->instances)->kernel;
    for (long count = 0, last = 0; !last; count++) {
        memory_fail_after(count);
        bool good = vector_plan_make(&plan, made, &options, false);
        last = memory_fail_remaining() >= 0;
        memory_fail_after(-1);
        CHECK(good == last);
        vector_plan_free(&plan);
        for (int k = 0; k < made->dims.count; k++)
            CHECK(made->dims.items[k]->note == NULL);
    }
    akg_tensor_release(a);
    akg_tensor_release(c);
    akg_module_release(module);
#endif
}

int main(void)
{
    test_first_reached();
    test_two();
    test_threads();
    test_faults();
    test_faults_of_analyses();
    return check_done();
}
