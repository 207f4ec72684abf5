/*
 * test_exact.c: code for the extents of a kernel's first call, and for all others when they come.
 *
 * Kernels of all forms are called with one shape after the other; results and messages are those of the
 * interpreter, to the bit.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../jit/module.h"
#include "api_support.h"
#include "check.h"

/* ---- calls ------------------------------------------------------------------------------------------- */

static const char program[] = "def rows(x: T[N, M], w: T[M, K]):\n"
                              "    y = output_tensor((N, K), x.dtype)\n"
                              "    t = allocate((N,), x.dtype)\n"
                              "    for i in range(N):\n"
                              "        t[i] = cast(0, x.dtype)\n"
                              "        for j in range(M):\n"
                              "            t[i] += x[i, j]\n"
                              "    for i, k in grid((N, K)):\n"
                              "        s = t[i]\n"
                              "        for j in range(M):\n"
                              "            s += x[i, j] * w[j, k]\n"
                              "        y[i, k] = s\n"
                              "    return y\n"
                              "def pick(x: T[N, M], at: int32[K]):\n"
                              "    y = output_tensor((K, M), x.dtype)\n"
                              "    for k, j in grid((K, M)):\n"
                              "        y[k, j] = x[at[k], j]\n"
                              "    return y\n"
                              "def ratio(x: T[N, M], at: int32[K]):\n"
                              "    y = output_tensor((K,), int32)\n"
                              "    for k in range(K):\n"
                              "        assert at[k] < N, \"too large\"\n"
                              "        y[k] = M // at[k]\n"
                              "    return y\n"
                              "def search(x: T[N, M], at: int32[K]):\n"
                              "    y = output_tensor((K,), int32)\n"
                              "    for k in range(K):\n"
                              "        y[k] = -1\n"
                              "        for i in range(N):\n"
                              "            if x[i, 0] > cast(at[k], x.dtype):\n"
                              "                y[k] = i\n"
                              "                break\n"
                              "        n = at[k]\n"
                              "        while n > M:\n"
                              "            n -= M + 1\n"
                              "            y[k] += N\n"
                              "    return y\n"
                              "def place(x: T[N, M], at: int32[K]):\n"
                              "    for i, j in grid((N, M)):\n"
                              "        x[i, j] = x[i, j] * cast(2, x.dtype) + cast(i, x.dtype)\n"
                              "    for k in range(K):\n"
                              "        x[at[k] % max(N, 1), 0] += cast(1, x.dtype)\n"
                              "    return x\n"
                              "def sums(x: T[N, M], at: int32[K]):\n"
                              "    y = output_tensor((M,), x.dtype)\n"
                              "    z = output_tensor((N + 1,), x.dtype)\n"
                              "    for i, j in grid((N, M)):\n"
                              "        y[j] += x[i, j]\n"
                              "        z[i + 1] = max(z[i + 1], x[i, j])\n"
                              "    return y, z\n";

static const char *const names[] = {"rows", "pick", "ratio", "search", "place", "sums"};

enum { OUTPUTS = 2, KERNELS = API_COUNT(names) };

struct shape {
    int64_t n, m, k;
};

static const struct shape shapes[] = {
    {4, 4, 4},   {7, 3, 5}, {4, 4, 4}, {0, 4, 3},     {33, 20, 17}, {4, 0, 2},   {1, 1, 1},   {64, 64, 64},
    {3, 100, 9}, {4, 4, 0}, {7, 3, 5}, {130, 70, 40}, {16, 16, 1},  {1, 16, 16}, {2, 3, 200}, {50, 8, 31}};

static akg_module *compile(jit_backend backend, bool any_shape)
{
    jit_source source = {"exact.akg", program, sizeof program - 1};
    jit_options options = {.backend = backend, .strict = true, .cache = "off", .any_shape = any_shape};
    akg_module *module = NULL;

    CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK);
    return module;
}

/* Small whole numbers, and of the rows some that are not there. */
static akg_tensor *numbers(akg_dtype dtype, int rank, const int64_t *shape, int64_t below)
{
    akg_tensor *tensor = api_range(dtype, rank, shape, 0, 0);
    int64_t count = akg_tensor_element_count(tensor);

    for (int64_t k = 0; k < count; k++) {
        int64_t value = (k * 7 + k / 5) % 11 - 3;
        if (dtype == AKG_INT32)
            ((int32_t *)akg_tensor_data(tensor))[k] = (int32_t)(below > 0 ? (k * 5 + 1) % below : value);
        else
            ((float *)akg_tensor_data(tensor))[k] = (float)value;
    }
    return tensor;
}

struct outcome {
    akg_status status;
    akg_tensor *outputs[OUTPUTS];
    char *message;
};

static struct outcome call(akg_module *module, int number, struct shape shape, int64_t below)
{
    struct outcome outcome = {.status = AKG_OK};
    bool is_product = number == 0;
    akg_tensor *x = numbers(AKG_FLOAT32, 2, (int64_t[]){shape.n, shape.m}, 0),
               *other = is_product ? numbers(AKG_FLOAT32, 2, (int64_t[]){shape.m, shape.k}, 0)
                                   : numbers(AKG_INT32, 1, &shape.k, below);
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, other)};
    akg_diagnostics *diagnostics = NULL;

    outcome.status = akg_kernel_call(akg_module_kernel(module, names[number]), arguments, 2, NULL,
                                     outcome.outputs, &diagnostics);
    akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &outcome.message);
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(x);
    akg_tensor_release(other);
    return outcome;
}

static void outcome_free(struct outcome *outcome)
{
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(outcome->outputs[k]);
    akg_free(outcome->message);
}

static bool is_same(struct outcome *a, struct outcome *b)
{
    bool same =
        a->status == b->status && strcmp(a->message ? a->message : "", b->message ? b->message : "") == 0;

    for (int k = 0; k < OUTPUTS && same; k++)
        same = !a->outputs[k] == !b->outputs[k] && (!a->outputs[k] || api_same(a->outputs[k], b->outputs[k]));
    outcome_free(a);
    outcome_free(b);
    return same;
}

/* Calls of each kernel that were not refused or stopped, and others. */
static int good_calls[KERNELS], other_calls;

/* Of the shape, and of wrong indices and divisors, by the code and by the interpreter. */
static void check_calls(akg_module *module, akg_module *interpreted, int number, struct shape shape)
{
    int64_t limits[] = {shape.n > 0 ? shape.n : 1, shape.n + 3, 0};

    for (size_t k = 0; k < API_COUNT(limits); k++) {
        struct outcome a = call(module, number, shape, limits[k]),
                       b = call(interpreted, number, shape, limits[k]);
        good_calls[number] += b.status == AKG_OK;
        other_calls += b.status != AKG_OK;
        if (!CHECK(is_same(&a, &b)))
            fprintf(stderr, "    %s of %d, %d, %d, limit %d\n", names[number], (int)shape.n, (int)shape.m,
                    (int)shape.k, (int)limits[k]);
    }
}

/* How many codes the kernel has; -1: more than one instance. */
static int codes(akg_module *module, const char *name)
{
    const struct jit_instance *instance = atomic_load(&akg_module_kernel(module, name)->instances);
    int count = 0;

    if (!instance || instance->next)
        return -1;
    for (int k = 0; k < instance->deferred.count; k++)
        count += atomic_load(&instance->deferred.branches[k].entry) != NULL;
    return 1 + count;
}

static void test_shapes(void)
{
    akg_module *interpreted = compile(JIT_BACKEND_INTERPRETER, false);

    for (int number = 0; number < KERNELS; number++)
        for (size_t first = 0; first < API_COUNT(shapes); first++) {
            akg_module *module = compile(JIT_BACKEND_TCC, false);
            if (!check_takes(first + (size_t)number)) {
                akg_module_release(module);
                continue;
            }
            for (size_t k = 0; k < API_COUNT(shapes); k++)
                check_calls(module, interpreted, number, shapes[(first + k) % API_COUNT(shapes)]);
            akg_module_release(module);
        }
    akg_module_release(interpreted);
}

/* A second code when another shape comes, and no third. */
static void test_codes(void)
{
    akg_module *module = compile(JIT_BACKEND_TCC, false), *any = compile(JIT_BACKEND_TCC, true);
    struct shape sequence[] = {{4, 5, 6}, {4, 5, 6}, {5, 4, 6}, {6, 5, 4}, {4, 5, 6}};
    int expected[] = {1, 1, 2, 2, 2};

    for (size_t k = 0; k < API_COUNT(sequence); k++) {
        struct outcome outcome = call(module, 0, sequence[k], 0), other = call(any, 0, sequence[k], 0);
        CHECK_INT(codes(module, "rows"), expected[k]);
        CHECK_INT(codes(any, "rows"), 1);
        CHECK(is_same(&outcome, &other));
    }
    akg_module_release(module);
    akg_module_release(any);
}

/* What hangs on no extent has one code, and so have rows whose distance no instruction holds. */
static void test_none(void)
{
    static const char text[] = "def scalar(x, y):\n"
                               "    z = output_tensor((), x.dtype)\n"
                               "    z[()] = x[()] + y[()]\n"
                               "    return z\n"
                               "def wide(x):\n"
                               "    y = output_tensor((x.shape[0],), x.dtype)\n"
                               "    for i in range(x.shape[0]):\n"
                               "        y[i] = x[i, 3]\n"
                               "    return y\n";
    enum { WIDE = (1 << 24) + 1 };
    jit_options options = {.cache = "off"};
    jit_source source = {"none.akg", text, sizeof text - 1};
    akg_module *module = NULL;
    akg_tensor *one = api_range(AKG_FLOAT32, 0, NULL, 2, 0), *outputs[2] = {NULL, NULL}, *large = NULL;
    akg_argument two[] = {api_tensor(NULL, one), api_tensor(NULL, one)};

    CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK);
    CHECK(akg_kernel_call(akg_module_kernel(module, "scalar"), two, 2, NULL, &outputs[0], NULL) == AKG_OK);
    CHECK_INT(atomic_load(&akg_module_kernel(module, "scalar")->instances)->deferred.count, 0);
    CHECK(akg_tensor_create(AKG_INT8, 2, (int64_t[]){2, WIDE}, &large) == AKG_OK);
    ((int8_t *)akg_tensor_data(large))[WIDE + 3] = 7;
    two[0] = api_tensor(NULL, large);
    CHECK(akg_kernel_call(akg_module_kernel(module, "wide"), two, 1, NULL, &outputs[1], NULL) == AKG_OK);
    CHECK(api_element(outputs[1], 1) == 7);
    CHECK_INT(atomic_load(&akg_module_kernel(module, "wide")->instances)->deferred.count, 0);
    akg_tensor_release(one);
    akg_tensor_release(large);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    akg_module_release(module);
}

/* Where there can be no code for all extents (it nests too deeply for libtcc, say, but for those of the first
 * call), calls with others are the interpreter's. */
static void test_refused(void)
{
    akg_module *interpreted = compile(JIT_BACKEND_INTERPRETER, false);

    for (int number = 0; number < KERNELS; number++) {
        akg_module *module = compile(JIT_BACKEND_TCC, false);
        struct outcome outcome = call(module, number, shapes[0], 3);
        outcome_free(&outcome);
        atomic_load(&akg_module_kernel(module, names[number])->instances)->deferred.failed = true;
        for (size_t k = 0; k < API_COUNT(shapes); k++)
            check_calls(module, interpreted, number, shapes[k]);
        CHECK_INT(codes(module, names[number]), 1);
        akg_module_release(module);
    }
    akg_module_release(interpreted);
}

/* ---- threads and memory -------------------------------------------------------------------------------- */

struct job {
    akg_module *module;
    struct shape shape;
    struct outcome outcome;
};

static void *run_job(void *context)
{
    struct job *job = context;

    job->outcome = call(job->module, 0, job->shape, 0);
    return NULL;
}

/* Whichever shape comes first. */
static void test_threads(void)
{
    enum { THREADS = 4 };
    akg_module *interpreted = compile(JIT_BACKEND_INTERPRETER, false);

    for (int round = 0; round < 8; round++) {
        akg_module *module = compile(JIT_BACKEND_TCC, false);
        struct job jobs[THREADS];
        pthread_t threads[THREADS];
        for (int k = 0; k < THREADS; k++) {
            jobs[k] = (struct job){.module = module, .shape = shapes[(round + k) % (int)API_COUNT(shapes)]};
            CHECK(pthread_create(&threads[k], NULL, run_job, &jobs[k]) == 0);
        }
        for (int k = 0; k < THREADS; k++) {
            pthread_join(threads[k], NULL);
            struct outcome expected = call(interpreted, 0, jobs[k].shape, 0);
            CHECK(is_same(&jobs[k].outcome, &expected));
        }
        akg_module_release(module);
    }
    akg_module_release(interpreted);
}

/* Whole numbers: exact. Behind the result there is no memory. */
static void check_guarded(akg_kernel *kernel, const akg_argument *arguments, const akg_tensor *expected)
{
    enum { CALLS = 20 };
    char *pages;
    size_t size;
    void *data = api_guarded((size_t)akg_tensor_element_count(expected) * sizeof(float), true, &pages, &size);
    akg_tensor *output = NULL;

    CHECK(data && akg_tensor_from_memory(data, AKG_FLOAT32, akg_tensor_rank(expected),
                                         akg_tensor_shape(expected), NULL, NULL, NULL, &output) == AKG_OK);
    akg_set_threads(3);
    for (int k = 0; k < CALLS; k++)
        CHECK(akg_kernel_call(kernel, arguments, 2, NULL, &output, NULL) == AKG_OK);
    CHECK(api_same(output, expected));
    akg_tensor_release(output);
    munmap(pages, size);
}

/* Products of batches and windows of images, of which threads share the rows of several. */
static void test_shared_rows(void)
{
    static const char text[] = "def batches(x: T[B, N, M], w: T[B, M, K]):\n"
                               "    y = output_tensor((B, N, K), x.dtype)\n"
                               "    for b, i, j in grid((B, N, K)):\n"
                               "        s = cast(0, x.dtype)\n"
                               "        for k in range(M):\n"
                               "            s += x[b, i, k] * w[b, k, j]\n"
                               "        y[b, i, j] = s\n"
                               "    return y\n"
                               "def windows(x: T[B, N, M], w: T[K, R, S]):\n"
                               "    y = output_tensor((B, K, N - R + 1, M - S + 1), x.dtype)\n"
                               "    for b, o, i, j in grid((B, K, N - R + 1, M - S + 1)):\n"
                               "        s = cast(0, x.dtype)\n"
                               "        for r, c in grid((R, S)):\n"
                               "            s += x[b, i + r, j + c] * w[o, r, c]\n"
                               "        y[b, o, i, j] = s\n"
                               "    return y\n";
    static const int64_t sizes[][2][3] = {
        {{8, 36, 15}, {8, 15, 16}}, {{3, 22, 24}, {3, 24, 40}}, {{5, 40, 33}, {5, 33, 17}},
        {{2, 64, 64}, {2, 64, 64}}, {{7, 13, 90}, {7, 90, 30}}, {{3, 22, 24}, {9, 3, 3}},
        {{1, 97, 14}, {28, 1, 3}},  {{4, 40, 60}, {5, 5, 2}},   {{2, 65, 33}, {16, 3, 4}}};
    enum { PRODUCTS = 5 };
    jit_source source = {"shared.akg", text, sizeof text - 1};
    jit_options options[] = {
        {.backend = JIT_BACKEND_INTERPRETER}, {.cache = "off"}, {.cache = "off", .strict = true}};

    for (size_t k = 0; k < API_COUNT(sizes); k++) {
        akg_tensor *x = numbers(AKG_FLOAT32, 3, sizes[k][0], 0), *w = numbers(AKG_FLOAT32, 3, sizes[k][1], 0),
                   *expected = NULL;
        akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, w)};
        for (size_t way = 0; way < API_COUNT(options); way++) {
            akg_module *module = NULL;
            CHECK(jit_compile(&source, &options[way], &module, NULL) == AKG_OK);
            akg_kernel *kernel = akg_module_kernel(module, k < PRODUCTS ? "batches" : "windows");
            if (way == 0)
                CHECK(akg_kernel_call(kernel, arguments, 2, NULL, &expected, NULL) == AKG_OK);
            else
                check_guarded(kernel, arguments, expected);
            akg_module_release(module);
        }
        akg_tensor_release(expected);
        akg_tensor_release(x);
        akg_tensor_release(w);
    }
    akg_set_threads(1);
}

/* Whichever allocation fails when another shape comes, the call is right or says that memory ran out, and the
 * next one is right. */
static void test_faults(void)
{
#ifdef AKG_FAULT_INJECTION
    akg_module *interpreted = compile(JIT_BACKEND_INTERPRETER, false);
    int refused = 0;

    for (long count = 0, last = 0; !last; count += 1 + count / 8) {
        akg_module *module = compile(JIT_BACKEND_TCC, false);
        struct outcome first = call(module, 0, shapes[0], 0), expected = call(interpreted, 0, shapes[1], 0);
        CHECK(first.status == AKG_OK);
        outcome_free(&first);
        akg_tensor *x = numbers(AKG_FLOAT32, 2, (int64_t[]){7, 3}, 0),
                   *w = numbers(AKG_FLOAT32, 2, (int64_t[]){3, 5}, 0);
        akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, w)};
        struct outcome outcome = {.status = AKG_OK};
        memory_fail_after(count);
        outcome.status =
            akg_kernel_call(akg_module_kernel(module, "rows"), arguments, 2, NULL, outcome.outputs, NULL);
        last = memory_fail_remaining() >= 0;
        memory_fail_after(-1);
        refused += outcome.status == AKG_ERROR_MEMORY;
        if (outcome.status != AKG_OK) {
            CHECK(outcome.status == AKG_ERROR_MEMORY && !outcome.outputs[0]);
            outcome.status =
                akg_kernel_call(akg_module_kernel(module, "rows"), arguments, 2, NULL, outcome.outputs, NULL);
        }
        CHECK(outcome.status == AKG_OK && api_same(outcome.outputs[0], expected.outputs[0]));
        CHECK_INT(codes(module, "rows"), 2);
        outcome_free(&outcome);
        outcome_free(&expected);
        akg_tensor_release(x);
        akg_tensor_release(w);
        akg_module_release(module);
    }
    CHECK(refused > 0);
    akg_module_release(interpreted);
#endif
}

int main(void)
{
    test_shapes();
    test_codes();
    test_none();
    test_refused();
    for (int k = 0; k < KERNELS; k++)
        CHECK(good_calls[k] > 10);
    CHECK(other_calls > 10);
    test_threads();
    test_shared_rows();
    test_faults();
    return check_done();
}
