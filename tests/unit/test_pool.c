/*
 * test_pool.c: loops shared among threads: the same bits for any number of them, also where they accumulate,
 * the first trap of the loop whoever meets it, callers at once, after a fork. Sizes are such that loops are
 * really shared, which is tested too.
 */
#include "../../jit/split.h"
#include "../../runtime/pool.h"
#include "api_support.h"
#include "check.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#endif
#endif
#ifndef THREAD_SANITIZED
#define THREAD_SANITIZED 0
#endif

/* ---- the split itself ------------------------------------------------------------------------------ */

enum { ITERATIONS = 1000 };

static atomic_int times[ITERATIONS], pieces, strange;
static int64_t stops[2]; /* iterations that stop; -1: none */

/* Iteration i stands for the value 5 + 3 * i. */
static int note_piece(const struct jit_frame *frame, int64_t from, int64_t to, const union jit_scalar *kept)
{
    atomic_fetch_add(&pieces, 1);
    atomic_fetch_add(&strange, kept[0].i != 42);
    for (int64_t value = from; value < to; value += 3) {
        int64_t i = (value - 5) / 3;
        atomic_fetch_add(&times[i], 1);
        if (i == stops[0] || i == stops[1]) {
            frame->trap->site = 7;
            frame->trap->index = i;
            return 1;
        }
    }
    return 0;
}

static int split_noted(int64_t iterations, double work, struct jit_trap *trap)
{
    union jit_scalar kept[1] = {{.i = 42}};
    struct jit_frame frame = {.trap = trap};

    memset(times, 0, sizeof times);
    pieces = 0;
    return pool_split(&frame, note_piece, 5, 5 + 3 * iterations - 1, 3, 10, work, kept, NULL);
}

static void test_split(void)
{
    struct jit_trap trap;
    const int64_t counts[] = {0, 1, 9, 10, 11, 20, 101, ITERATIONS};

    stops[0] = stops[1] = -1;
    for (int threads = 1; threads <= 5; threads++) {
        akg_set_threads(threads);
        CHECK_INT(akg_threads(), threads);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            int wrong = 0;
            CHECK_INT(split_noted(counts[c], 1e6, &trap), 0);
            for (int i = 0; i < ITERATIONS; i++)
                wrong += times[i] != (i < counts[c]);
            CHECK_INT(wrong, 0);
        }
        CHECK(threads == 1 ? pieces == 1 : pieces >= threads);
        CHECK_INT(strange, 0);
        split_noted(ITERATIONS, 1.0, &trap); /* too little work */
        CHECK_INT(pieces, 1);
    }
}

static atomic_llong shortest;

static int note_shortest(const struct jit_frame *frame, int64_t from, int64_t to,
                         const union jit_scalar *kept)
{
    long long length = to - from, least = atomic_load(&shortest);
    (void)frame, (void)kept;
    while (length < least && !atomic_compare_exchange_weak(&shortest, &least, length))
        ;
    return 0;
}

/* No piece of a loop over vectors is shorter than a grain, whatever its length. */
static void test_shortest(void)
{
    const int64_t lengths[] = {511, 513, 1000, 2047, 2049, 100001};
    struct jit_trap trap;
    struct jit_frame frame = {.trap = &trap};
    akg_set_threads(3);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        atomic_store(&shortest, INT64_MAX);
        CHECK_INT(pool_split(&frame, note_shortest, 0, lengths[k], 1, SPLIT_GRAIN_VECTORS, 1e6, NULL, NULL),
                  0);
        CHECK(atomic_load(&shortest) >= SPLIT_GRAIN_VECTORS);
    }
}

/* A piece that takes so long that other threads come for theirs. */
static int take_long(const struct jit_frame *frame, int64_t from, int64_t to, const union jit_scalar *kept)
{
    const struct timespec while_asleep = {.tv_nsec = 300000};
    (void)frame, (void)from, (void)to, (void)kept;
    nanosleep(&while_asleep, NULL);
    return 0;
}

static void spin(long nanoseconds)
{
    struct timespec start, moment;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &moment);
    while ((moment.tv_sec - start.tv_sec) * 1000000000 + moment.tv_nsec - start.tv_nsec < nanoseconds);
}

static atomic_bool starts[ITERATIONS];

static int note_start(const struct jit_frame *frame, int64_t from, int64_t to, const union jit_scalar *kept)
{
    (void)frame, (void)kept, (void)to;
    atomic_store(&starts[from], true);
    spin(20000); /* what takes no time is not shared */
    return 0;
}

/* Threads get as many rows each, whatever stays together of them, and pieces are whole grains of a share. */
static void test_even(void)
{
    static const struct {
        int64_t iterations;
        int threads, grain;
        int64_t begin; /* of the last share */
    } cases[] = {{128, 2, 14, 64},   {57, 2, 14, 28}, {256, 3, 56, 170}, {512, 2, 256, 256},
                 {900, 2, 256, 256}, {129, 2, 1, 64}, {400, 2, 64, 192}};
    struct jit_trap trap;
    struct jit_frame frame = {.trap = &trap};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t iterations = cases[k].iterations, begin = cases[k].begin;
        akg_set_threads(cases[k].threads);
        for (int i = 0; i < ITERATIONS; i++)
            atomic_store(&starts[i], false);
        CHECK_INT(pool_split(&frame, note_start, 0, iterations, 1, cases[k].grain, 1e6, NULL, NULL), 0);
        CHECK(atomic_load(&starts[begin]));
        int wrong = 0;
        for (int64_t i = begin; i < ITERATIONS; i++)
            wrong += atomic_load(&starts[i]) && (i >= iterations || (i - begin) % cases[k].grain);
        CHECK_INT(wrong, 0);
    }
}

/* By the clock, so that the pool measures what it is told: longer than what threads that are awake may share,
 * and shorter than what they are woken for. */
static int note_awake(const struct jit_frame *frame, int64_t from, int64_t to, const union jit_scalar *kept)
{
    (void)frame, (void)kept;
    atomic_fetch_add(&pieces, 1);
    spin((to - from) * 100);
    return 0;
}

/* Threads that have just ended a job look out for the next one, which is shared though it is not worth waking
 * them for: at least once in many, for they may have been kept from looking. (Where all processors were busy
 * with other programs a thousand rounds have not been enough.) */
static void test_awake(void)
{
    enum { ROUNDS = 20000 };
    struct jit_trap trap;
    struct jit_frame frame = {.trap = &trap};
    bool is_shared = false;

    akg_set_threads(0);
    if (akg_threads() < 2)
        return; /* where there is one processor, nobody looks out */
    akg_set_threads(2);
    for (int round = 0; round < ROUNDS && !is_shared; round++) {
        pool_split(&frame, take_long, 0, 4, 1, 1, 1e6, NULL, NULL);
        pieces = 0;
        pool_split(&frame, note_awake, 0, 40, 1, 1, 5500.0, NULL, NULL);
        is_shared = pieces > 1;
    }
    CHECK(is_shared);
}

/* A piece of the first half takes long. */
static int note_slowly(const struct jit_frame *frame, int64_t from, int64_t to, const union jit_scalar *kept)
{
    const struct timespec moment = {.tv_nsec = 200000};

    if (from < 5 + 3 * ITERATIONS / 2)
        nanosleep(&moment, NULL);
    return note_piece(frame, from, to, kept);
}

/* Threads whose stretches take no time do what is left of the others', each iteration once; and the trap is
 * that of the first iteration that stops, also where a later one stopped long before. */
static void test_uneven(void)
{
    union jit_scalar kept[1] = {{.i = 42}};
    struct jit_trap trap;
    struct jit_frame frame = {.trap = &trap};

    for (int threads = 2; threads <= 4; threads++) {
        int wrong = 0;
        akg_set_threads(threads);
        stops[0] = stops[1] = -1;
        memset(times, 0, sizeof times);
        CHECK_INT(pool_split(&frame, note_slowly, 5, 5 + 3 * ITERATIONS - 1, 3, 1, 1e6, kept, NULL), 0);
        for (int i = 0; i < ITERATIONS; i++)
            wrong += times[i] != 1;
        CHECK_INT(wrong, 0);
        stops[0] = ITERATIONS / 2 - 30;
        stops[1] = ITERATIONS - 1;
        CHECK_INT(pool_split(&frame, note_slowly, 5, 5 + 3 * ITERATIONS - 1, 3, 1, 1e6, kept, NULL), 1);
        CHECK_INT(trap.index, stops[0]);
    }
    CHECK_INT(strange, 0);
}

/* Of two iterations that stop, the trap is that of the first. */
static void test_trap(void)
{
    for (int round = 0; round < 60; round++) {
        struct jit_trap trap = {.site = 0};
        akg_set_threads(1 + round % 4);
        stops[0] = (round * 37) % ITERATIONS;
        stops[1] = stops[0] + 1 + (round * 91) % (ITERATIONS - stops[0]);
        CHECK_INT(split_noted(ITERATIONS, 1e6, &trap), 1);
        CHECK_INT(trap.site, 7);
        CHECK_INT(trap.index, stops[0]);
    }
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static const char text[] = "def rows(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((n,), x.dtype)\n"
                           "    z = output_tensor((n, m), x.dtype)\n"
                           "    for i in range(n):\n"
                           "        acc = 0.0\n"
                           "        for j in range(m):\n"
                           "            acc += exp(x[i, j]) * s\n"
                           "        y[i] = acc\n"
                           "        for j in range(m):\n"
                           "            z[i, j] = x[i, j] / acc\n"
                           "    return y, z\n"
                           "\n"
                           "def flat(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((n * m,), x.dtype)\n"
                           "    for k in range(n * m):\n"
                           "        y[k] = tanh(x[k // m, k % m]) + s\n"
                           "    return y\n"
                           "\n"
                           "def steps(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((n, m), x.dtype)\n"
                           "    for t in range(3):\n"
                           "        f = s * t\n"
                           "        for i in range(n):\n"
                           "            for j in range(m):\n"
                           "                y[i, j] = y[i, j] * f + log(x[i, j] + t + 2.0)\n"
                           "    return y\n"
                           "\n"
                           "def gram(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((n, n), x.dtype)\n"
                           "    for i in range(n):\n"
                           "        for j in range(n):\n"
                           "            for k in range(m):\n"
                           "                y[i, j] += x[i, k] * x[j, k]\n"
                           "    return y\n"
                           "\n"
                           "def folded(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((3,), x.dtype)\n"
                           "    z = output_tensor((2,), \"int32\")\n"
                           "    total = 0.25\n"
                           "    least = 9.0\n"
                           "    product = 1.0\n"
                           "    count = 7\n"
                           "    hash = 1\n"
                           "    for i in range(n):\n"
                           "        for j in range(m):\n"
                           "            total += x[i, j] * s\n"
                           "            least = min(least, x[i, j] + s)\n"
                           "            product *= 1.0 + x[i, j] / 10000.0\n"
                           "            count += int32(x[i, j] * 3.0)\n"
                           "            hash *= int32(x[i, j] * 100.0) * 2 + 1\n"
                           "    y[0] = total\n"
                           "    y[1] = least\n"
                           "    y[2] = product\n"
                           "    z[0] = count\n"
                           "    z[1] = hash\n"
                           "    return y, z\n"
                           "\n"
                           "def long_sum(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((1,), x.dtype)\n"
                           "    for k in range(n * m):\n"
                           "        y[0] += tanh(x[k // m, k % m]) * s\n"
                           "    return y\n"
                           "\n"
                           "def few(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((11, m), x.dtype)\n"
                           "    for i in range(11):\n"
                           "        for j in range(m):\n"
                           "            for k in range(n):\n"
                           "                y[i, j] += x[k, i] * x[k, j]\n"
                           "    return y\n"
                           "\n"
                           "def pairs(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((m,), x.dtype)\n"
                           "    for i in range(m):\n"
                           "        near = 0.0\n"
                           "        for j in range(m):\n"
                           "            d = x[0, j] - x[1, i]\n"
                           "            near += rsqrt(d * d + 0.1) * s\n"
                           "        y[i] = near\n"
                           "    return y\n"
                           "\n"
                           "def turned(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((n, m), x.dtype)\n"
                           "    row = allocate((m + 3,), x.dtype)\n"
                           "    for i in range(n):\n"
                           "        for j in range(m):\n"
                           "            row[j + 3] = exp(x[i, j] * s)\n"
                           "        for j in range(3):\n"
                           "            row[j] = x[i, j]\n"
                           "        for j in range(m):\n"
                           "            y[i, m - 1 - j] = row[j] - row[j + 3] * row[j + 2]\n"
                           "    return y\n"
                           "\n"
                           "def apart(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((n, m), x.dtype)\n"
                           "    z = output_tensor((n,), \"int64\")\n"
                           "    left = allocate((m,), x.dtype)\n"
                           "    right = allocate((m,), \"int64\")\n"
                           "    for i in range(n):\n"
                           "        if x[i, 0] > 0.5:\n"
                           "            for j in range(m):\n"
                           "                left[j] = log(x[i, m - 1 - j] + s)\n"
                           "            for j in range(m):\n"
                           "                y[i, j] = left[m - 1 - j] + left[j]\n"
                           "        else:\n"
                           "            for j in range(m):\n"
                           "                right[j] = int64(x[i, j] * 100.0)\n"
                           "            for j in range(1, m):\n"
                           "                right[j] += right[j - 1]\n"
                           "            z[i] = right[m - 1] - right[m // 2]\n"
                           "    return y, z\n"
                           "\n"
                           "def ragged(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((n,), x.dtype)\n"
                           "    for i in range(n):\n"
                           "        acc = 0.0\n"
                           "        low = 45 * i + int32(x[i, 0] * 2.0)\n"
                           "        high = 45 * i + 45 + int32(x[i, 1] * 2.0)\n"
                           "        for j in range(low, high):\n"
                           "            t = x[j % n, j % m]\n"
                           "            acc += exp(tanh(exp(t) * s) + sin(t)) + tanh(cos(t) + erf(t))\n"
                           "            acc += sin(exp(t + s)) + exp(cos(t * t)) + tanh(exp(sin(t - s)))\n"
                           "            acc += cos(exp(t / s)) + exp(erf(t * s)) + erf(exp(sin(t) + s))\n"
                           "        y[i] = acc\n"
                           "    return y\n"
                           "\n"
                           "def picked(x, s=2.0):\n"
                           "    n, m = x.shape\n"
                           "    y = output_tensor((n, m), x.dtype)\n"
                           "    for i in range(n):\n"
                           "        for j in range(m):\n"
                           "            y[i, j] = exp(x[int32(x[i, j] * 3.0), j]) * s\n"
                           "    return y\n";

static akg_module *compiled;

enum { ROWS = 157, COLUMNS = 331 };

static akg_tensor *make_input(akg_dtype dtype)
{
    akg_tensor *x = NULL;
    uint64_t state = 12345;

    CHECK(akg_tensor_create(dtype, 2, (const int64_t[]){ROWS, COLUMNS}, &x) == AKG_OK);
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value = (double)(state >> 40) / (1 << 24);
        if (dtype == AKG_FLOAT32)
            ((float *)akg_tensor_data(x))[k] = (float)value;
        else
            ((double *)akg_tensor_data(x))[k] = value;
    }
    return x;
}

/* The outputs of a kernel; how it ended. */
static akg_status run(const char *kernel, akg_tensor *x, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x};

    outputs[0] = outputs[1] = NULL;
    return akg_kernel_call(akg_module_kernel(compiled, kernel), &argument, 1, NULL, outputs, diagnostics);
}

static void test_same_bits(void)
{
    static const char *const kernels[] = {"rows",   "flat",   "steps",    "gram",   "few",    "pairs",
                                          "picked", "folded", "long_sum", "ragged", "turned", "apart"};
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64};

    for (int d = 0; d < 2; d++) {
        akg_tensor *x = make_input(dtypes[d]);
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            akg_tensor *one[2], *many[2];
            akg_set_threads(1);
            CHECK(run(kernels[k], x, one, NULL) == AKG_OK);
            for (int threads = 2; threads <= 6; threads++) { /* six have too few rows each for strips */
                akg_set_threads(threads);
                if (!CHECK(run(kernels[k], x, many, NULL) == AKG_OK) || !CHECK(api_same(one[0], many[0])) ||
                    !CHECK(!one[1] || api_same(one[1], many[1])))
                    fprintf(stderr, "    %s with %d threads\n", kernels[k], threads);
                akg_tensor_release(many[0]);
                akg_tensor_release(many[1]);
            }
            akg_tensor_release(one[0]);
            akg_tensor_release(one[1]);
        }
        akg_tensor_release(x);
    }
}

/* Rows that are one loop, in pieces that end anywhere: whether an element is divided, or multiplied by the
 * parts of the reciprocal, must not hang on how many threads there are. The number is one of the few, one in
 * 40 million, of which that is another result. */
static void test_quotients(void)
{
    static const char program[] = "def scaled(x, d):\n"
                                  "    y = output_tensor(x.shape, x.dtype)\n"
                                  "    for i in range(x.shape[0]):\n"
                                  "        for j in range(x.shape[1]):\n"
                                  "            y[i, j] = x[i, j] / d[0]\n"
                                  "    return y\n";
    const float number = 0x1.8a3692p+0f, divisor = 0x1.cba276p+0f, nearest = 1 / divisor;
    const float part = fmaf(-divisor, nearest, 1) < 0 ? nextafterf(nearest, 0) : nearest;
    const float rest = fmaf(-divisor, part, 1) * part;
    akg_tensor *inputs[] = {api_range(AKG_FLOAT32, 2, (const int64_t[]){1501, 331}, number, 0),
                            api_vector(AKG_FLOAT32, 1, divisor, 0)},
               *one = NULL, *many;
    CHECK(fmaf(number, part, number * rest) != number / divisor);
    akg_set_threads(1);
    CHECK(api_run(program, NULL, inputs, 2, NULL, &one));
    for (int threads = 2; threads <= 5; threads++)
        for (int round = 0; round < 20; round++) {
            akg_set_threads(threads);
            many = NULL;
            if (CHECK(api_run(program, NULL, inputs, 2, NULL, &many)))
                CHECK(api_same(one, many));
            akg_tensor_release(many);
        }
    akg_tensor_release(one);
    akg_tensor_release(inputs[0]);
    akg_tensor_release(inputs[1]);
}

/* What is accumulated in stretches against the interpreter, which goes from first to last: integers and the
 * least are the same, and so is everything where code is strict. */
static void test_folded(const jit_source *source, bool strict)
{
    jit_options options = {.strict = strict};
    akg_tensor *x = make_input(AKG_FLOAT64), *fast[2] = {NULL}, *plain[2] = {NULL};
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x};
    akg_module *module;

    CHECK(jit_compile(source, &options, &module, NULL) == AKG_OK);
    for (int side = 0; side < 2; side++) {
        akg_call_options backend = {.backend = side ? JIT_BACKEND_INTERPRETER : JIT_BACKEND_TCC};
        CHECK(akg_kernel_call(akg_module_kernel(module, "folded"), &argument, 1, &backend,
                              side ? plain : fast, NULL) == AKG_OK);
    }
    for (int k = 0; k < 3; k++) {
        double value = api_element(fast[0], k), should = api_element(plain[0], k);
        CHECK(strict || k == 1 ? value == should : fabs(value - should) < 1e-12 * should);
    }
    CHECK(api_same(fast[1], plain[1]));
    for (int k = 0; k < 2; k++) {
        akg_tensor_release(fast[k]);
        akg_tensor_release(plain[k]);
    }
    akg_tensor_release(x);
    akg_module_release(module);
}

/* Threads of this process. */
static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

/* An index that leaves its tensor: the same message, with the same iteration. */
static void test_same_message(void)
{
    akg_tensor *x = make_input(AKG_FLOAT32), *outputs[2];
    char *first = NULL;

    ((float *)akg_tensor_data(x))[100 * COLUMNS + 7] = 60;
    ((float *)akg_tensor_data(x))[101 * COLUMNS] = 70;
    ((float *)akg_tensor_data(x))[150 * COLUMNS] = 80;
    for (int threads = 1; threads <= 4; threads++) {
        akg_diagnostics *diagnostics = NULL;
        char *shown = NULL;
        akg_set_threads(threads);
        CHECK(run("picked", x, outputs, &diagnostics) == AKG_ERROR_CALL);
        CHECK(akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &shown) == AKG_OK);
        CHECK(shown && strstr(shown, "i = 100, j = 7"));
        CHECK(!first || (shown && strcmp(shown, first) == 0));
        if (first)
            akg_free(shown);
        else
            first = shown;
        akg_diagnostics_free(diagnostics);
    }
    akg_free(first);
    akg_tensor_release(x);
}

/* ---- callers at once, and after a fork -------------------------------------------------------------------
 */

struct caller {
    pthread_t thread;
    akg_tensor *x;
    const akg_tensor *expected;
    int wrong;
};

static void *caller_run(void *context)
{
    struct caller *caller = context;
    akg_tensor *outputs[2];

    for (int k = 0; k < 10; k++) {
        caller->wrong +=
            run("rows", caller->x, outputs, NULL) != AKG_OK || !api_same(outputs[1], caller->expected);
        akg_tensor_release(outputs[0]);
        akg_tensor_release(outputs[1]);
    }
    return NULL;
}

/* In the child there are no threads at first. */
static void test_fork(struct caller caller)
{
    int status = -1;

    if (THREAD_SANITIZED) {
        puts("skipped: threads after a fork: the thread sanitizer does not take them");
        return;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        caller_run(&caller);
        _exit(caller.wrong);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_callers(void)
{
    enum { CALLERS = 4 };
    struct caller callers[CALLERS];
    akg_tensor *x = make_input(AKG_FLOAT32), *expected[2];

    akg_set_threads(3);
    CHECK(run("rows", x, expected, NULL) == AKG_OK);
    for (int k = 0; k < CALLERS; k++) {
        callers[k] = (struct caller){.x = x, .expected = expected[1]};
        CHECK(pthread_create(&callers[k].thread, NULL, caller_run, &callers[k]) == 0);
    }
    for (int k = 0; k < CALLERS; k++) {
        pthread_join(callers[k].thread, NULL);
        CHECK_INT(callers[k].wrong, 0);
    }
    test_fork((struct caller){.x = x, .expected = expected[1]});
    akg_tensor_release(expected[0]);
    akg_tensor_release(expected[1]);
    akg_tensor_release(x);
}

int main(void)
{
    jit_source source = {.name = "pool.akg", .text = text, .length = sizeof text - 1};

    CHECK(jit_compile(&source, NULL, &compiled, NULL) == AKG_OK);
    int threads = count_threads(); /* a sanitizer may have one of its own */
    test_same_bits();
    CHECK(count_threads() >= threads + 4); /* so loops were shared */
    test_folded(&source, false);
    test_folded(&source, true);
    test_split();
    test_shortest();
    test_even();
    test_quotients();
    test_awake();
    test_uneven();
    test_trap();
    test_same_message();
    test_callers();
    akg_module_release(compiled);
    akg_set_threads(0);
    CHECK(akg_threads() >= 1);
    return check_done();
}
