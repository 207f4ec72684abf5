/*
 * machine_probe.c: loops that do nothing but read memory, run a triad through it, or multiply and add, on
 * several threads at once; the best of some rounds counts.
 *
 * Each is there for AVX-512, for AVX2 with FMA and in plain C; the processor decides.
 */
#include "machine.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    ROUNDS = 16,
    MEMORY_ROUNDS = 6,       /* they are long */
    MEMORY_BYTES = 64 << 20, /* of each array, over all threads */
    PEAK_STEPS = 1 << 19,
    PEAK_CHAINS = 10
};

/* ---- the loops ---------------------------------------------------------------- */

/* The sum of `count` floats, which is a multiple of 128; a triad over them, whose result goes past the
 * caches, as that of long vector loops does: else each line of it would be read first, which nobody counts.
 */
#define MEMORY_LOOPS(name, target, type, lanes, load, store, put, add, fused, set, zero)                     \
    target static float sum_##name(const float *x, size_t count)                                             \
    {                                                                                                        \
        type a = zero(), b = zero(), c = zero(), d = zero();                                                 \
        float lane[lanes];                                                                                   \
        for (size_t i = 0; i < count; i += 4 * lanes) {                                                      \
            a = add(a, load(x + i));                                                                         \
            b = add(b, load(x + i + lanes));                                                                 \
            c = add(c, load(x + i + 2 * lanes));                                                             \
            d = add(d, load(x + i + 3 * lanes));                                                             \
        }                                                                                                    \
        store(lane, add(add(a, b), add(c, d)));                                                              \
        return lane[0];                                                                                      \
    }                                                                                                        \
    target static void triad_##name(float *a, const float *b, const float *c, float s, size_t count)         \
    {                                                                                                        \
        for (size_t i = 0; i < count; i += lanes)                                                            \
            put(a + i, fused(set(s), load(c + i), load(b + i)));                                             \
    }

/* Ten chains of multiplying and adding, so that the latency of one is hidden behind the others. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define CHAIN_START(k) part##k = SET(k + 1);
#define CHAIN_STEP(k) part##k = FUSED(part##k, factor, term);
#define CHAIN_END(k) part0 = FUSED(part##k, factor, part0);
#define PEAK_LOOP(name, target, scalar, type, lanes, store)                                                  \
    target static scalar peak_##name(void)                                                                   \
    {                                                                                                        \
        type part0, part1, part2, part3, part4, part5, part6, part7, part8, part9;                           \
        type factor = SET(0.999999f), term = SET(1e-6f);                                                     \
        scalar lane[lanes];                                                                                  \
        CHAINS(CHAIN_START)                                                                                  \
        for (int i = 0; i < PEAK_STEPS; i++) {                                                               \
            CHAINS(CHAIN_STEP)                                                                               \
        }                                                                                                    \
        CHAINS(CHAIN_END)                                                                                    \
        store(lane, part0);                                                                                  \
        return lane[0];                                                                                      \
    }

#define PLAIN_LOAD(address) (*(address))
#define PLAIN_STORE(address, value) (*(address) = (value))
#define PLAIN_ADD(a, b) ((a) + (b))
#define PLAIN_FUSED(a, b, c) ((a) * (b) + (c))
#define PLAIN_SET(value) (value)
#define PLAIN_ZERO() 0

MEMORY_LOOPS(none, , float, 1, PLAIN_LOAD, PLAIN_STORE, PLAIN_STORE, PLAIN_ADD, PLAIN_FUSED, PLAIN_SET,
             PLAIN_ZERO)
#define SET PLAIN_SET
#define FUSED PLAIN_FUSED
PEAK_LOOP(none_32, , float, float, 1, PLAIN_STORE)
PEAK_LOOP(none_64, , double, double, 1, PLAIN_STORE)
#undef SET
#undef FUSED

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
MEMORY_LOOPS(avx2, AVX2, __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_stream_ps, _mm256_add_ps,
             _mm256_fmadd_ps, _mm256_set1_ps, _mm256_setzero_ps)
MEMORY_LOOPS(avx512, AVX512, __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_stream_ps, _mm512_add_ps,
             _mm512_fmadd_ps, _mm512_set1_ps, _mm512_setzero_ps)
#define SET _mm256_set1_ps
#define FUSED _mm256_fmadd_ps
PEAK_LOOP(avx2_32, AVX2, float, __m256, 8, _mm256_storeu_ps)
#undef SET
#undef FUSED
#define SET _mm256_set1_pd
#define FUSED _mm256_fmadd_pd
PEAK_LOOP(avx2_64, AVX2, double, __m256d, 4, _mm256_storeu_pd)
#undef SET
#undef FUSED
#define SET _mm512_set1_ps
#define FUSED _mm512_fmadd_ps
PEAK_LOOP(avx512_32, AVX512, float, __m512, 16, _mm512_storeu_ps)
#undef SET
#undef FUSED
#define SET _mm512_set1_pd
#define FUSED _mm512_fmadd_pd
PEAK_LOOP(avx512_64, AVX512, double, __m512d, 8, _mm512_storeu_pd)
#undef SET
#undef FUSED
#endif

struct probe_loops {
    const char *name;
    int bytes; /* of a vector */
    float (*sum)(const float *x, size_t count);
    void (*triad)(float *a, const float *b, const float *c, float s, size_t count);
    float (*peak32)(void);
    double (*peak64)(void);
};

static const struct probe_loops *best_loops(void)
{
    static const struct probe_loops rows[] = {
        {"none", 0, sum_none, triad_none, peak_none_32, peak_none_64},
#if defined(__x86_64__)
        {"avx2", 32, sum_avx2, triad_avx2, peak_avx2_32, peak_avx2_64},
        {"avx512", 64, sum_avx512, triad_avx512, peak_avx512_32, peak_avx512_64},
#endif
    };
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return &rows[2];
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &rows[1];
#endif
    return &rows[0];
}

const char *machine_probe_vectors(void)
{
    return best_loops()->name;
}

/* ---- several threads at once ------------------------------------------------------ */

/* Nobody begins before all are there; where one cannot be made, none does. */
struct gate {
    pthread_mutex_t lock; /* held until it is known */
    bool closed;
    pthread_barrier_t barrier;
};

struct worker {
    pthread_t thread;
    struct gate *gate;
    const struct probe_loops *loops;
    void (*once)(struct worker *worker);
    bool needs_memory;
    float *a, *b, *c;
    size_t count; /* floats in each */
    volatile double sink;
    bool failed;
    double seconds[ROUNDS]; /* of a round over all threads */
};

static double now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;
}

static void fill(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(i % 1000) / 1000 + 0.5f;
}

static int rounds_of(const struct worker *worker)
{
    return worker->needs_memory ? MEMORY_ROUNDS : ROUNDS;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    pthread_mutex_lock(&worker->gate->lock);
    bool closed = worker->gate->closed;
    pthread_mutex_unlock(&worker->gate->lock);
    if (closed)
        return NULL;
    if (worker->needs_memory) {
        worker->a = aligned_alloc(64, 3 * worker->count * sizeof(float));
        worker->failed = !worker->a;
#ifdef MADV_HUGEPAGE
        /* as the library's tensors are, or kernels would seem to do more than the machine can */
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)worker->a & ~(page - 1);
        if (worker->a)
            madvise((void *)(start + page), 3 * worker->count * sizeof(float) - page, MADV_HUGEPAGE);
#endif
    }
    if (worker->a) {
        worker->b = worker->a + worker->count;
        worker->c = worker->b + worker->count;
        fill(worker->a, 3 * worker->count);
    }
    for (int round = -1; round < rounds_of(worker); round++) { /* the first warms up */
        pthread_barrier_wait(&worker->gate->barrier);
        double start = now();
        if (!worker->failed)
            worker->once(worker);
        pthread_barrier_wait(&worker->gate->barrier);
        if (round >= 0)
            worker->seconds[round] = now() - start;
    }
    free(worker->a);
    return NULL;
}

static double best_of(const struct worker *worker)
{
    double best = worker->seconds[0];
    for (int k = 1; k < rounds_of(worker); k++)
        if (worker->seconds[k] < best)
            best = worker->seconds[k];
    return best;
}

static void run_all(struct worker *workers, int threads, struct gate *gate)
{
    int made = 1; /* this thread is the first worker: with one there is none to be made */
    pthread_mutex_lock(&gate->lock);
    while (made < threads && pthread_create(&workers[made].thread, NULL, work, &workers[made]) == 0)
        made++;
    gate->closed = made < threads;
    pthread_mutex_unlock(&gate->lock);
    work(&workers[0]);
    for (int k = 1; k < made; k++)
        pthread_join(workers[k].thread, NULL);
}

/* The shortest round of `threads` workers, in seconds; 0 where memory or threads ran out. */
static double probe(int threads, void (*once)(struct worker *worker), bool needs_memory)
{
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER};
    double best = 0;
    if (!workers || pthread_barrier_init(&gate.barrier, NULL, (unsigned)threads) != 0) {
        free(workers);
        return 0;
    }
    for (int k = 0; k < threads; k++) {
        workers[k].gate = &gate;
        workers[k].loops = best_loops();
        workers[k].once = once;
        workers[k].needs_memory = needs_memory;
        workers[k].count = (size_t)MEMORY_BYTES / sizeof(float) / (size_t)threads / 128 * 128;
    }
    run_all(workers, threads, &gate);
    if (!gate.closed)
        best = best_of(&workers[0]);
    for (int k = 0; k < threads; k++)
        if (workers[k].failed)
            best = 0;
    pthread_barrier_destroy(&gate.barrier);
    free(workers);
    return best;
}

static void sum_once(struct worker *worker)
{
    worker->sink = worker->loops->sum(worker->a, 3 * worker->count);
}

static void triad_once(struct worker *worker)
{
    worker->loops->triad(worker->a, worker->b, worker->c, 0.5f, worker->count);
}

static void peak32_once(struct worker *worker)
{
    worker->sink = worker->loops->peak32();
}

static void peak64_once(struct worker *worker)
{
    worker->sink = worker->loops->peak64();
}

static double bytes_of(int threads)
{
    return 3.0 * (double)((size_t)MEMORY_BYTES / sizeof(float) / (size_t)threads / 128 * 128) *
           sizeof(float) * threads;
}

double machine_probe_read(int threads)
{
    double seconds = probe(threads, sum_once, true);
    return seconds > 0 ? bytes_of(threads) / seconds : 0;
}

double machine_probe_triad(int threads)
{
    double seconds = probe(threads, triad_once, true);
    return seconds > 0 ? bytes_of(threads) / seconds : 0;
}

double machine_probe_peak(int threads, bool is_float64)
{
    int width = is_float64 ? 8 : 4, bytes = best_loops()->bytes, lanes = bytes ? bytes / width : 1;
    double seconds = probe(threads, is_float64 ? peak64_once : peak32_once, false);
    return seconds > 0 ? 2.0 * PEAK_STEPS * PEAK_CHAINS * lanes * threads / seconds : 0;
}
