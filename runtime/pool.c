/*
 * pool.c: see pool.h.
 *
 * One job at a time: a loop, of which threads take pieces until none is left. Pieces start large and become
 * small, so that all end at about the same time. A worker joins a job only while it is open; the caller
 * closes it and waits for those inside, so the job may live on the caller's stack.
 *
 * Assumes that a process that forks does not call kernels on both sides of a fork that happened while a job
 * was going on in another thread; otherwise the child starts threads of its own.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "pool.h"
#include "../include/akg.h"
#include "../jit/split.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { MOST_THREADS = 256 };

/* Operations, as emit_c_split.c counts them. Waking threads takes some ten microseconds, in which one core
 * does about as many as these; those that are awake still are there at once (SPLIT_LEAST_WORK). */
static const double WORTH_WAKING = 400e3, WORTH_A_PIECE = 60e3;

struct job {
    const struct jit_frame *frame;
    jit_part *part;
    const union jit_scalar *kept;
    int64_t low, high, step, grain; /* grain: iterations */
    int64_t grains;                 /* pieces are whole grains, but for the last */
    int64_t least;                  /* grains of the smallest piece */
    int threads;
    pthread_mutex_t lock; /* of what follows */
    int64_t next;         /* the first grain that nobody has taken */
    int64_t failed;       /* the first grain of the first piece that stopped; `grains`: none did */
    struct jit_trap trap; /* its own */
};

static struct {
    pthread_mutex_t busy; /* held by the caller whose job it is */
    pthread_mutex_t lock; /* of what follows; the three that are atomic are only looked at without it */
    pthread_cond_t wake, left;
    pthread_t threads[MOST_THREADS];
    int count;          /* threads that were started */
    struct job *job;    /* NULL: none is open */
    atomic_uint number; /* of the job */
    atomic_int inside;  /* workers in it */
    atomic_int awake;   /* workers that look out for the next one */
    bool ends;
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

static atomic_int wanted; /* threads, the caller's among them; 0: one per processor */

/* ---- a job ---------------------------------------------------------------------------------------- */

/* Takes the next piece: a part of what is left, the smaller the less that is. */
static int64_t job_take(struct job *job, int64_t *first)
{
    int64_t count;

    pthread_mutex_lock(&job->lock);
    *first = job->next;
    count = (job->grains - job->next) / (2 * (int64_t)job->threads);
    count = count > job->least ? count : job->least;
    count = count < job->grains - job->next ? count : job->grains - job->next;
    if (job->failed < job->grains)
        count = 0; /* pieces are taken in order: none of those left comes before the one that stopped */
    job->next += count;
    pthread_mutex_unlock(&job->lock);
    return count;
}

static void job_fail(struct job *job, int64_t first, const struct jit_trap *trap)
{
    pthread_mutex_lock(&job->lock);
    if (first < job->failed) {
        job->failed = first;
        job->trap = *trap;
    }
    pthread_mutex_unlock(&job->lock);
}

static void job_work(struct job *job)
{
    struct jit_trap trap;
    struct jit_frame frame = *job->frame;
    int64_t first, count;

    frame.trap = &trap;
    frame.split = NULL;
    while ((count = job_take(job, &first)) > 0) {
        /* in unsigned numbers, for low and high may be further apart than the largest signed one */
        int64_t from = (int64_t)((uint64_t)job->low + (uint64_t)(first * job->grain) * (uint64_t)job->step);
        int64_t to = job->high;
        if (first + count < job->grains)
            to = (int64_t)((uint64_t)from + (uint64_t)(count * job->grain) * (uint64_t)job->step);
        if (job->part(&frame, from, to, job->kept))
            job_fail(job, first, &trap);
    }
}

/* ---- waiting ----------------------------------------------------------------------------------------- */

static int processors(void)
{
    static atomic_int found; /* once they were counted */
    cpu_set_t set;
    int count = atomic_load(&found);

    if (!count) {
        count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
        count = count < MOST_THREADS ? count : MOST_THREADS;
        atomic_store(&found, count);
    }
    return count;
}

static int64_t now(void)
{
    struct timespec moment;

    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (int64_t)moment.tv_sec * 1000000000 + moment.tv_nsec;
}

static void breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static bool is_new_job(unsigned seen)
{
    return atomic_load_explicit(&pool.number, memory_order_relaxed) != seen;
}

static bool is_empty(unsigned unused)
{
    (void)unused;
    return atomic_load_explicit(&pool.inside, memory_order_relaxed) == 0;
}

/* To fall asleep and be woken takes longer than many a job, and a call often has one job right behind the
 * other. So whoever waits looks on for a while, where each thread has a processor. */
static void watch(bool (*is_over)(unsigned), unsigned seen, int threads)
{
    enum { WHILE = 50000 }; /* nanoseconds */
    int64_t end = threads <= processors() ? now() + WHILE : 0;

    while (!is_over(seen) && end > now())
        for (int k = 0; k < 8 && !is_over(seen); k++)
            breathe();
}

/* ---- workers ---------------------------------------------------------------------------------------- */

static void *worker(void *nothing)
{
    unsigned seen = 0;

    (void)nothing;
    pthread_mutex_lock(&pool.lock);
    while (!pool.ends) {
        struct job *job = pool.job;
        if (!job || pool.number == seen || pool.inside + 1 >= job->threads) {
            pthread_cond_wait(&pool.wake, &pool.lock);
            continue;
        }
        int threads = job->threads;
        seen = pool.number;
        pool.inside++;
        pthread_mutex_unlock(&pool.lock);
        job_work(job);
        pthread_mutex_lock(&pool.lock);
        atomic_fetch_add(&pool.awake, 1); /* first: the caller asks as soon as nobody is inside */
        if (--pool.inside == 0)
            pthread_cond_signal(&pool.left);
        pthread_mutex_unlock(&pool.lock);
        watch(is_new_job, seen, threads);
        atomic_fetch_sub(&pool.awake, 1);
        pthread_mutex_lock(&pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* The child of a fork has none of the threads. */
static void pool_forget(void)
{
    pool.busy = pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.wake = pool.left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.count = 0;
    pool.inside = pool.awake = 0;
    pool.job = NULL;
}

/* Before the code of the threads goes away. */
__attribute__((destructor)) static void pool_end(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.ends = true;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    for (int k = 0; k < pool.count; k++)
        pthread_join(pool.threads[k], NULL);
    pool.count = 0;
}

/* Under the lock. Fewer than are wanted will do. */
static void pool_grow(int count)
{
    static bool registered;
    sigset_t all, before;

    if (!registered)
        pthread_atfork(NULL, NULL, pool_forget);
    registered = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    while (pool.count < count && pthread_create(&pool.threads[pool.count], NULL, worker, NULL) == 0)
        pool.count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- sharing ------------------------------------------------------------------------------------------ */

static void pool_share(struct job *job)
{
    pthread_mutex_lock(&pool.lock);
    pool_grow(job->threads - 1);
    pool.job = job;
    pool.number++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    job_work(job);
    pthread_mutex_lock(&pool.lock);
    pool.job = NULL;
    pthread_mutex_unlock(&pool.lock);
    watch(is_empty, 0, job->threads);
    pthread_mutex_lock(&pool.lock);
    while (pool.inside)
        pthread_cond_wait(&pool.left, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

int pool_split(const struct jit_frame *frame, jit_part *part, int64_t low, int64_t high, int64_t step,
               int grain, double work, const union jit_scalar *kept)
{
    struct job job;
    uint64_t distance = low < high ? (uint64_t)high - (uint64_t)low : 0, iterations;

    if (work * (double)distance < SPLIT_LEAST_WORK) /* most are short, and every call asks */
        return part(frame, low, high, kept);
    iterations = distance ? (distance - 1) / (uint64_t)step + 1 : 0;
    job = (struct job){.frame = frame, .part = part, .kept = kept, .low = low, .high = high, .step = step};
    job.threads = akg_threads();
    job.grain = grain;
    job.grains = (int64_t)((iterations - 1) / (uint64_t)grain + 1);
    if (job.threads == 1 || iterations <= (uint64_t)grain || iterations > INT64_MAX ||
        work * (double)iterations < (atomic_load(&pool.awake) ? SPLIT_LEAST_WORK : WORTH_WAKING) ||
        pthread_mutex_trylock(&pool.busy))
        return part(frame, low, high, kept);
    job.least = 1 + (int64_t)(WORTH_A_PIECE / (work * (double)grain));
    job.failed = job.grains;
    pthread_mutex_init(&job.lock, NULL);
    pool_share(&job);
    pthread_mutex_destroy(&job.lock);
    pthread_mutex_unlock(&pool.busy);
    if (job.failed == job.grains)
        return 0;
    *frame->trap = job.trap;
    return 1;
}

void akg_set_threads(int count)
{
    atomic_store(&wanted, count < 0 ? 0 : count < MOST_THREADS ? count : MOST_THREADS);
}

int akg_threads(void)
{
    int count = atomic_load(&wanted);

    return count ? count : processors();
}
