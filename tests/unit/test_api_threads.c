/*
 * test_api_threads.c: threads at once in the public interface: one module called by all with new signatures,
 * modules of their own, reports and stages meanwhile, references. Results are compared with what is known to
 * be right; races are the thread sanitizer's to find.
 */
#include "api_support.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8 };

static const char text[] = "SCALE = 3\n"
                           "\n"
                           "def scaled(v, by):\n"
                           "    return v * by\n"
                           "\n"
                           "def affine(x, n=2, shift=1):\n"
                           "    y = output_tensor((n,), x.dtype)\n"
                           "    for i in range(n):\n"
                           "        y[i] = scaled(x[i], SCALE) + shift + n\n"
                           "    return y\n"
                           "\n"
                           "def copy(x):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i in grid(x.shape):\n"
                           "        y[i] = scaled(x[i], 2)\n"
                           "    return y\n"
                           "\n"
                           "def total(*xs):\n"
                           "    y = output_tensor(xs[0].shape, xs[0].dtype)\n"
                           "    for i in range(xs[0].shape[0]):\n"
                           "        for x in xs:\n"
                           "            y[i] += x[i]\n"
                           "    return y\n"
                           "\n"
                           "def turned(x):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    t = allocate(x.shape, x.dtype)\n"
                           "    n = x.shape[0]\n"
                           "    for i in range(n):\n"
                           "        t[i] = x[n - 1 - i]\n"
                           "    for i in range(n):\n"
                           "        y[i] = t[i] * t[n - 1 - i]\n"
                           "    return y\n"
                           "\n"
                           "def gather(x, index):\n"
                           "    y = output_tensor(index.shape, x.dtype)\n"
                           "    for i in range(index.shape[0]):\n"
                           "        y[i] = x[index[i]]\n"
                           "    return y\n";

static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64, AKG_INT16};
static const jit_backend backends[] = {JIT_BACKEND_TCC, JIT_BACKEND_INTERPRETER};

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    akg_module *module;
    int number, failures;
};

#define EXPECT(worker, condition) ((worker)->failures += !(condition))

/* ---- one call of each kind --------------------------------------------------------------------- */

static akg_tensor *call(struct worker *worker, const char *kernel, const akg_argument *arguments,
                        size_t count, jit_backend backend)
{
    akg_call_options options = {.backend = backend};
    akg_tensor *output = NULL;
    akg_diagnostics *diagnostics;
    akg_status status = akg_kernel_call(akg_module_kernel(worker->module, kernel), arguments, count, &options,
                                        &output, &diagnostics);

    EXPECT(worker, status == AKG_OK && output);
    akg_diagnostics_free(diagnostics);
    return output;
}

/* `n` must be compiled in, which the first call to come finds out. */
static void call_affine(struct worker *worker, akg_dtype dtype, int64_t n, int64_t shift, jit_backend backend)
{
    akg_tensor *x = api_vector(dtype, 40, 1, 1);
    akg_argument arguments[] = {api_tensor(NULL, x), api_int("shift", shift), api_int("n", n)};
    akg_tensor *output = call(worker, "affine", arguments, 3, backend);

    EXPECT(worker, akg_tensor_element_count(output) == n);
    for (int64_t i = 0; output && i < n; i++)
        EXPECT(worker, api_element(output, i) == (double)(3 * (i + 1) + shift + n));
    akg_tensor_release(output);
    akg_tensor_release(x);
}

static void call_copy(struct worker *worker, akg_dtype dtype, int rank, jit_backend backend)
{
    static const int64_t shape[4] = {2, 3, 1, 2};
    akg_tensor *x = api_range(dtype, rank, shape, 1, 1);
    akg_argument argument = api_tensor(NULL, x);
    akg_tensor *output = call(worker, "copy", &argument, 1, backend);

    for (int64_t i = 0; output && i < akg_tensor_element_count(x); i++)
        EXPECT(worker, api_element(output, i) == 2 * api_element(x, i));
    akg_tensor_release(output);
    akg_tensor_release(x);
}

static void call_total(struct worker *worker, size_t count, jit_backend backend)
{
    akg_tensor *x = api_vector(AKG_INT32, 3, 1, 1), *items[8];
    akg_argument argument = api_tensors(NULL, items, count);
    akg_tensor *output;

    for (size_t i = 0; i < count; i++)
        items[i] = x;
    output = call(worker, "total", &argument, 1, backend);
    EXPECT(worker, output && api_element(output, 2) == 3 * (double)count);
    akg_tensor_release(output);
    akg_tensor_release(x);
}

/* With a temporary, which may be that of an earlier call, of this length or another. */
static void call_turned(struct worker *worker, akg_dtype dtype, int64_t n, jit_backend backend)
{
    akg_tensor *x = api_vector(dtype, n, 1, 1);
    akg_argument argument = api_tensor(NULL, x);
    akg_tensor *output = call(worker, "turned", &argument, 1, backend);

    EXPECT(worker, output && akg_tensor_element_count(output) == n);
    for (int64_t i = 0; output && i < n; i++)
        EXPECT(worker, api_element(output, i) == (double)((i + 1) * (n - i)));
    akg_tensor_release(output);
    akg_tensor_release(x);
}

static void call_wrongly(struct worker *worker, jit_backend backend)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *index = api_vector(AKG_INT32, 4, 0, 1), *output = NULL;
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, index)};
    akg_call_options options = {.backend = backend};
    akg_diagnostics *diagnostics;
    akg_status status = akg_kernel_call(akg_module_kernel(worker->module, "gather"), arguments, 2, &options,
                                        &output, &diagnostics);

    EXPECT(worker, status == AKG_ERROR_CALL && !output && api_says(diagnostics, "index 3"));
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(x);
    akg_tensor_release(index);
}

static void tell(struct worker *worker)
{
    jit_source source = {.name = "threads.akg", .text = text, .length = sizeof text - 1};
    akg_format format = worker->number % 2 ? AKG_FORMAT_JSON : AKG_FORMAT_TEXT;
    akg_stage stage = (akg_stage)(worker->number % (AKG_STAGE_CANONICAL + 1));
    char *told;

    for (size_t i = 0; i < akg_module_kernel_count(worker->module); i++) {
        EXPECT(worker, akg_kernel_report(akg_module_kernel_at(worker->module, i), format, &told) == AKG_OK);
        akg_free(told);
    }
    EXPECT(worker, jit_emit(&source, stage, NULL, NULL, 0, &told, NULL) == AKG_OK);
    akg_free(told);
}

/* ---- what a thread does -------------------------------------------------------------------------- */

/* Every thread wants the same specialisations, each in another order. */
static void *share(void *context)
{
    struct worker *worker = context;

    pthread_barrier_wait(worker->start);
    for (int round = 0; round < 12; round++) {
        int turn = (round * 5 + worker->number * 7) % 60;
        jit_backend backend = backends[turn % 2];
        call_affine(worker, dtypes[turn % 5], turn % 7 + 1, turn % 3, backend);
        call_copy(worker, dtypes[turn % 5], turn % 5, backend);
        call_total(worker, (size_t)(turn % 6 + 1), backend);
        for (int64_t n = 1; n < 6; n++)
            call_turned(worker, dtypes[turn % 5], n * n % 5, backend);
        call_wrongly(worker, backend);
        if (round % 4 == 0)
            tell(worker);
    }
    akg_module_release(worker->module);
    return NULL;
}

/* The first calls of a fresh module, which find out that `n` is a constant, with another `n` each. */
static void *discover(void *context)
{
    struct worker *worker = context;

    pthread_barrier_wait(worker->start);
    call_affine(worker, AKG_INT32, worker->number + 1, 1, backends[1]);
    call_affine(worker, AKG_INT32, (worker->number + 3) % THREADS + 1, 5, backends[1]);
    akg_module_release(worker->module);
    return NULL;
}

static void *compile_alone(void *context)
{
    static const char broken[] = "def f(x):\n    return y\n";
    struct worker *worker = context;

    pthread_barrier_wait(worker->start);
    for (int round = 0; round < 4; round++) {
        jit_source source = {.name = "threads.akg", .text = text, .length = sizeof text - 1};
        jit_source wrong = {.name = "broken.akg", .text = broken, .length = sizeof broken - 1};
        akg_diagnostics *diagnostics;
        EXPECT(worker, jit_compile(&source, NULL, &worker->module, NULL) == AKG_OK);
        call_affine(worker, dtypes[(worker->number + round) % 5], 4, 1, backends[0]);
        call_copy(worker, dtypes[round], 2, backends[round % 2]);
        akg_module_release(worker->module);
        EXPECT(worker, jit_compile(&wrong, NULL, &worker->module, &diagnostics) == AKG_ERROR_PROGRAM);
        EXPECT(worker, strcmp(akg_diagnostics_at(diagnostics, 0)->file, "broken.akg") == 0);
        akg_diagnostics_free(diagnostics);
    }
    return NULL;
}

/* Runs the threads; each holds a reference to `module`, and the caller none any more. */
static void run(void *(*work)(void *), akg_module *module)
{
    struct worker workers[THREADS];
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.start = &start, .module = akg_module_retain(module), .number = i};
        if (!CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0))
            exit(1); /* the others would wait for it for ever */
    }
    akg_module_release(module);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_INT(workers[i].failures, 0);
    }
    pthread_barrier_destroy(&start);
}

int main(void)
{
    for (int round = 0; round < 3; round++)
        run(share, api_compile(text));
    for (int round = 0; round < 40; round++)
        run(discover, api_compile(text));
    run(compile_alone, NULL);
    return check_done();
}
