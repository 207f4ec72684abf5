/*
 * pool.c: see pool.h.
 *
 * One job at a time: a loop, of which each thread has a stretch, the same of every loop of that length, so
 * that what it wrote is in its own caches when the next loop reads it. A thread takes pieces off the front of
 * its stretch, which start large and become small; when that is empty, off the end of another's. So all end
 * at about the same time. A worker joins a job only while it is open; the caller closes it and waits for
 * those inside, so the job may live on the caller's stack. Nobody takes a lock but to fall asleep, to wake
 * others, or to tell of a trap: many a loop ends within a microsecond or two.
 *
 * Assumes that a process that forks does not call kernels on both sides of a fork that happened while a job
 * was going on in another thread; otherwise the child starts threads of its own.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "pool.h"
#include "../base/memory.h"
#include "../include/akg.h"
#include "../jit/split.h"
#include "pool_rate.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 256 };

/* Nanoseconds. To wake a thread takes several thousand; one that is awake still is there within some hundred.
 */
static const double WORTH_WAKING = 7000, WORTH_SHARING = 1000, WORTH_A_PIECE = 4000;

/* Of the job, what a thread has not taken: its first grain in the upper half, the one behind its last in the
 * lower. Each has a cache line of its own. All grains but the last of a stretch are whole;
 * that one is shorter where rows are shared, and longer where what is left over of vectors goes to it. */
struct stretch {
    _Alignas(64) atomic_ullong rest;
    int64_t first, low; /* of all of it: the number of its first grain, and of that one's first iteration */
};

struct job {
    const struct jit_frame *frame;
    jit_part *part;
    const union jit_scalar *kept;
    const struct jit_own *own;
    int64_t low, high, step, grain; /* grain: iterations */
    int64_t iterations, grains;
    int64_t least; /* grains of the smallest piece */
    int threads;
    atomic_llong failed;  /* the first grain of the first piece that stopped; `grains`: none did */
    pthread_mutex_t lock; /* of what follows, and of changes of `failed` */
    struct jit_trap trap; /* its own */
};

/* Of a worker, for what iterations make. */
struct room {
    void *memory;
    size_t size;
};

static struct {
    pthread_mutex_t busy;                       /* held by the caller whose job it is */
    struct stretch stretches[MOST_THREADS + 1]; /* the last one is empty */
    struct room rooms[MOST_THREADS];            /* a worker uses its own alone */
    struct job *job;                            /* of the number, while that is odd */
    atomic_uint number;                         /* odd: a job is open, even: none is */
    _Alignas(64) atomic_int inside;             /* workers in it */
    atomic_int awake;                           /* workers that look out for the next one */
    atomic_int asleep;                          /* workers that do not */
    atomic_bool waits;                          /* the caller is asleep until nobody is inside */
    pthread_mutex_t lock;                       /* of what follows, and around sleep */
    pthread_cond_t wake, left;
    pthread_t threads[MOST_THREADS];
    atomic_int processor; /* of the last caller that woke workers */
    int count;            /* threads that were started */
    cpu_set_t allowed;    /* where those that were started last may run; none: it is not known */
    unsigned wakes;       /* how often they were woken */
    bool ends;
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

static atomic_int wanted; /* threads, the caller's among them; 0: one per processor */

/* ---- a job ---------------------------------------------------------------------------------------- */

enum { MOST_GRAINS = 1 << 30 };

static unsigned long long stretch_of(int64_t first, int64_t end)
{
    return (unsigned long long)first << 32 | (unsigned long long)end;
}

/* Where a stretch begins: all are as long, to what stays together (split.h). */
static int64_t stretch_low(const struct job *job, int thread)
{
    int64_t unit = split_unit(job->grain), units = job->iterations / unit;
    int64_t each = units / job->threads, rest = units % job->threads;

    return thread == job->threads ? job->iterations : (each * thread + rest * thread / job->threads) * unit;
}

/* What is left over goes to the last grain where these are units, since short loops of vectors may be
 * computed in another way (quotients, vector_x86_divide.c). */
static void stretches_lay_out(struct job *job)
{
    bool are_units = split_unit(job->grain) == job->grain;
    int64_t grains = 0, low = 0;

    for (int k = 0; k <= job->threads; k++) {
        int64_t next = k < job->threads ? stretch_low(job, k + 1) : low;
        int64_t count = (next - low + (are_units ? 0 : job->grain - 1)) / job->grain;
        pool.stretches[k].first = grains;
        pool.stretches[k].low = low;
        atomic_store_explicit(&pool.stretches[k].rest, stretch_of(grains, grains + count),
                              memory_order_relaxed);
        grains += count;
        low = next;
    }
    job->grains = grains;
}

/* Takes a piece of a stretch, half of what is left if that is not too small: its first ones, or its last. */
static int64_t stretch_take(struct stretch *stretch, int64_t least, bool from_end, int64_t *first)
{
    unsigned long long rest = atomic_load_explicit(&stretch->rest, memory_order_relaxed), left;
    int64_t from, end, count;

    do {
        from = (int64_t)(rest >> 32);
        end = (int64_t)(rest & UINT32_MAX);
        if (from >= end)
            return 0;
        count = (end - from) / 2;
        count = count > least ? count : least;
        count = count < end - from ? count : end - from;
        left = from_end ? stretch_of(from, end - count) : stretch_of(from + count, end);
    } while (!atomic_compare_exchange_weak(&stretch->rest, &rest, left));
    *first = from_end ? end - count : from;
    return count;
}

/* The next piece for a thread, of whichever stretch. */
static int64_t job_take(const struct job *job, int thread, int64_t *first, const struct stretch **stretch)
{
    int64_t count = 0;

    for (int k = 0; count == 0 && k < job->threads; k++) {
        struct stretch *next = &pool.stretches[(thread + k) % job->threads];
        count = stretch_take(next, job->least, k > 0, first);
        *stretch = next;
    }
    return count;
}

/* In unsigned numbers, for low and high may be further apart than the largest signed one. */
static int64_t iteration(const struct job *job, int64_t number)
{
    return (int64_t)((uint64_t)job->low + (uint64_t)number * (uint64_t)job->step);
}

static int job_run(const struct job *job, const struct jit_frame *frame, const struct stretch *stretch,
                   int64_t first, int64_t count)
{
    int64_t from = stretch->low + (first - stretch->first) * job->grain, to = from + count * job->grain;

    if (first + count == stretch[1].first)
        to = stretch[1].low;
    return job->part(frame, iteration(job, from), to < job->iterations ? iteration(job, to) : job->high,
                     job->kept);
}

static void job_fail(struct job *job, int64_t first, const struct jit_trap *trap)
{
    pthread_mutex_lock(&job->lock);
    if (first < atomic_load(&job->failed)) {
        atomic_store(&job->failed, first);
        job->trap = *trap;
    }
    pthread_mutex_unlock(&job->lock);
}

/* ---- temporaries of iterations ------------------------------------------------------------------------ */

enum { MOST_OWN = 64 << 20, KEPT_OWN = 4 << 20 }; /* bytes of a thread; while there is no job */

static size_t whole_lines(int64_t bytes)
{
    return ((size_t)bytes + 63) / 64 * 64;
}

/* What a thread needs for them, and for addresses of all buffers. */
static size_t own_size(const struct jit_own *own)
{
    size_t size = 0;

    for (; own->buffer >= 0; own++)
        size += whole_lines(own->bytes);
    return size + (size_t)own->bytes * sizeof(void *); /* the last one's number of buffers */
}

/* A fork may come at any time: what is in the room is never memory that is gone. */
static void room_empty(struct room *room, size_t kept)
{
    void *memory = room->memory;

    if (room->size <= kept)
        return;
    *room = (struct room){NULL, 0};
    memory_free(memory);
}

/* The addresses of all buffers, with places in the room for those of the list; NULL: there is no memory. */
static void **own_lay_out(struct room *room, const struct jit_own *own, void *const *data)
{
    size_t size = own_size(own);

    if (room->size < size) {
        room_empty(room, 0);
        room->memory = memory_aligned(size);
        room->size = room->memory ? size : 0;
    }
    if (!room->memory)
        return NULL;
    const struct jit_own *end = own;
    char *next = room->memory;
    while (end->buffer >= 0)
        end++;
    void **places = (void **)(next + size) - end->bytes;
    memcpy(places, data, (size_t)end->bytes * sizeof *places);
    for (; own < end; own++) {
        places[own->buffer] = next;
        next += whole_lines(own->bytes);
    }
    return places;
}

/* ---- pieces ------------------------------------------------------------------------------------------ */

static void job_work(struct job *job, int thread)
{
    struct jit_trap trap;
    struct jit_frame frame = *job->frame;
    const struct stretch *stretch;
    int64_t first, count;

    frame.trap = &trap;
    frame.split = NULL;
    if (job->own && thread > 0 &&
        !(frame.data = own_lay_out(&pool.rooms[thread], job->own, job->frame->data)))
        return; /* the others do it all */
    while ((count = job_take(job, thread, &first, &stretch)) > 0) {
        if (first > atomic_load_explicit(&job->failed, memory_order_relaxed))
            continue; /* only what comes before the one that stopped can change what is told */
        if (job_run(job, &frame, stretch, first, count))
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

/* The number of the job that is open, if it is another one; 0: there is none. */
static unsigned new_job(unsigned seen)
{
    unsigned number = atomic_load_explicit(&pool.number, memory_order_relaxed);

    return number % 2 == 1 && number != seen ? number : 0;
}

static bool is_new_job(unsigned seen)
{
    return new_job(seen) != 0;
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

/* Where a thread may run, and where of that the one that asks does not; false: nowhere, or it is not known.
 */
static bool other_processors(int here, cpu_set_t *all, cpu_set_t *others)
{
    if (here < 0 || sched_getaffinity(0, sizeof *all, all) != 0)
        return false;
    *others = *all;
    CPU_CLR((size_t)here, others);
    return CPU_COUNT(others) > 0;
}

/* Joins the job of that number, if it is still open, and says how many threads it has: 0, it is not. The
 * caller closes it first and looks then who is inside; this is the other way round. */
static int worker_join(int thread, unsigned number)
{
    int threads = 0;

    atomic_fetch_add(&pool.inside, 1);
    if (atomic_load(&pool.number) == number) {
        struct job *job = pool.job;
        threads = job->threads;
        if (thread < threads)
            job_work(job, thread);
        room_empty(&pool.rooms[thread], KEPT_OWN);
    }
    atomic_fetch_add(&pool.awake, 1); /* first: the caller asks as soon as nobody is inside */
    if (atomic_fetch_sub(&pool.inside, 1) == 1 && atomic_load(&pool.waits)) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_signal(&pool.left);
        pthread_mutex_unlock(&pool.lock);
    }
    return threads;
}

/* Until there is a job that it has not seen, or somebody wakes it; false: there will be none. */
static bool worker_sleep(unsigned seen, unsigned *wakes)
{
    bool ends;

    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.asleep, 1);
    while (!pool.ends && !is_new_job(seen) && pool.wakes == *wakes)
        pthread_cond_wait(&pool.wake, &pool.lock);
    *wakes = pool.wakes;
    atomic_fetch_sub(&pool.asleep, 1);
    ends = pool.ends;
    pthread_mutex_unlock(&pool.lock);
    return !ends;
}

/* To another processor, if this is the one of the caller: there it would run when the caller's time is over,
 * to find nothing left to do, and be woken there for the next job. A system that sees the caller alone at
 * work, for it mostly is, lets that be for long where processors share no cache. A mask that somebody else
 * sets for the worker in between is lost. */
static void worker_leave_caller(void)
{
    cpu_set_t all, others;
    int here = sched_getcpu();

    if (here == atomic_load(&pool.processor) && other_processors(here, &all, &others) &&
        sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all); /* from now on the system may do as it likes */
}

/* One that was woken for a job that ended before it was there looks out for the next one, too: such jobs come
 * one right behind the other. */
static void *worker(void *number_of_thread)
{
    int thread = (int)(intptr_t)number_of_thread, threads;
    unsigned seen = 0, wakes = 0, number;

    pthread_mutex_lock(&pool.lock);
    cpu_set_t allowed = pool.allowed;
    pthread_mutex_unlock(&pool.lock);
    if (CPU_COUNT(&allowed))
        sched_setaffinity(0, sizeof allowed, &allowed);
    while (worker_sleep(seen, &wakes)) {
        worker_leave_caller();
        atomic_fetch_add(&pool.awake, 1);
        if (thread < (threads = akg_threads()))
            watch(is_new_job, seen, threads);
        atomic_fetch_sub(&pool.awake, 1);
        while ((number = new_job(seen)) != 0) {
            seen = number;
            threads = worker_join(thread, number);
            if (thread < threads)
                watch(is_new_job, seen, threads);
            atomic_fetch_sub(&pool.awake, 1);
        }
    }
    return NULL;
}

/* The child of a fork has none of the threads. */
static void pool_forget(void)
{
    pool.busy = pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.wake = pool.left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.count = 0;
    pool.inside = pool.awake = pool.asleep = 0;
    pool.waits = false;
    pool.number += pool.number % 2;
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
    for (int k = 0; k < MOST_THREADS; k++)
        room_empty(&pool.rooms[k], 0);
}

/* Anywhere, if the processors asked for are no longer there. */
static bool start_worker(const pthread_attr_t *start)
{
    pthread_t *thread = &pool.threads[pool.count];
    void *number = (void *)(intptr_t)(pool.count + 1);

    return pthread_create(thread, start, worker, number) == 0 ||
           pthread_create(thread, NULL, worker, number) == 0;
}

/* Under the lock. Fewer than are wanted will do. They start where the caller is not. */
static void pool_grow(int count)
{
    static bool registered;
    sigset_t all, before;
    pthread_attr_t start;
    cpu_set_t others;

    if (!registered)
        pthread_atfork(NULL, NULL, pool_forget);
    registered = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    pthread_attr_init(&start);
    CPU_ZERO(&pool.allowed);
    if (other_processors(atomic_load(&pool.processor), &pool.allowed, &others))
        pthread_attr_setaffinity_np(&start, sizeof others, &others);
    while (pool.count < count && start_worker(&start))
        pool.count++;
    pthread_attr_destroy(&start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- sharing ------------------------------------------------------------------------------------------ */

static void pool_wake(const struct job *job)
{
    atomic_store(&pool.processor, sched_getcpu());
    pthread_mutex_lock(&pool.lock);
    if (pool.count < job->threads - 1)
        pool_grow(job->threads - 1);
    pool.wakes++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

static void pool_share(struct job *job)
{
    pool.job = job;
    atomic_fetch_add(&pool.number, 1);
    if (pool.count < job->threads - 1 || atomic_load(&pool.asleep))
        pool_wake(job);
    job_work(job, 0);
    atomic_fetch_add(&pool.number, 1);
    watch(is_empty, 0, job->threads);
    if (atomic_load(&pool.inside) == 0)
        return;
    pthread_mutex_lock(&pool.lock);
    atomic_store(&pool.waits, true);
    while (atomic_load(&pool.inside))
        pthread_cond_wait(&pool.left, &pool.lock);
    atomic_store(&pool.waits, false);
    pthread_mutex_unlock(&pool.lock);
}

/* All of it in the caller's thread. */
static int run_alone(const struct jit_frame *frame, jit_part *part, int64_t low, int64_t high,
                     const union jit_scalar *kept, double operations, bool is_timed)
{
    if (!is_timed)
        return part(frame, low, high, kept);
    int64_t start = now();
    pool_rate_begin(part, false, operations, start);
    int stopped = part(frame, low, high, kept);
    pool_rate_learn(part, false, operations, (double)(now() - start));
    return stopped;
}

/* The job is complete but for its lock; the caller has the threads. */
static int run_shared(struct job *job, double operations, bool is_timed)
{
    bool are_awake = atomic_load(&pool.awake) >= job->threads - 1;
    int64_t start = is_timed ? now() : 0;

    if (is_timed)
        pool_rate_begin(job->part, true, operations, start);
    pthread_mutex_init(&job->lock, NULL);
    pool_share(job);
    pthread_mutex_destroy(&job->lock);
    if (is_timed && are_awake)
        pool_rate_learn(job->part, true, operations, (double)(now() - start));
    if (atomic_load(&job->failed) == job->grains)
        return 0;
    *job->frame->trap = job->trap;
    return 1;
}

/* Whether a loop of that length is worth the threads' while: they are awake, it is worth waking them, or they
 * would have been awake for the last ones, one right behind the other. */
static bool is_worth_sharing(double expected)
{
    enum { OFTEN = 20000, ENOUGH = 8 }; /* nanoseconds from one to the next; how many */
    static atomic_llong last;
    static atomic_int count;

    if (expected < WORTH_SHARING)
        return false;
    if (expected >= WORTH_WAKING || atomic_load(&pool.awake))
        return true;
    int64_t moment = now(), before = atomic_exchange_explicit(&last, moment, memory_order_relaxed);
    int times = moment - before < OFTEN ? atomic_load_explicit(&count, memory_order_relaxed) + 1 : 0;
    atomic_store_explicit(&count, times < ENOUGH ? times : 0, memory_order_relaxed);
    return times >= ENOUGH;
}

int pool_split(const struct jit_frame *frame, jit_part *part, int64_t low, int64_t high, int64_t step,
               int grain, double work, const union jit_scalar *kept, const struct jit_own *own)
{
    struct job job;
    uint64_t distance = low < high ? (uint64_t)high - (uint64_t)low : 0, iterations;

    job.threads = akg_threads();
    if (job.threads == 1 || work * (double)distance < SPLIT_LEAST_WORK) /* most are short, every call asks */
        return part(frame, low, high, kept);
    iterations = distance ? (distance - 1) / (uint64_t)step + 1 : 0;
    job = (struct job){.frame = frame,
                       .part = part,
                       .kept = kept,
                       .own = own,
                       .low = low,
                       .high = high,
                       .step = step,
                       .threads = job.threads};
    job.grain = grain;
    while (iterations / (uint64_t)job.grain >= MOST_GRAINS)
        job.grain *= 2;
    job.iterations = (int64_t)iterations;
    uint64_t least = (uint64_t)(job.grain + split_unit(job.grain)); /* for two grains */
    double operations = work * (double)iterations, expected = pool_rate_expect(part, operations);
    struct pool_rate_run run = pool_rate_next(part, expected, now);
    if (iterations < least || iterations > INT64_MAX || !run.is_shared || !is_worth_sharing(expected) ||
        (own && own_size(own) > MOST_OWN) || pthread_mutex_trylock(&pool.busy))
        return run_alone(frame, part, low, high, kept, operations, run.is_timed);
    stretches_lay_out(&job);
    job.least = 1 + (int64_t)(WORTH_A_PIECE / expected * (double)job.grains);
    atomic_init(&job.failed, job.grains);
    int stopped = run_shared(&job, operations, run.is_timed);
    pthread_mutex_unlock(&pool.busy);
    return stopped;
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
