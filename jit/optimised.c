/*
 * optimised.c: see optimised.h.
 *
 * An instance counts its calls, until it has taken about as long as a compile would; or it is wanted at once.
 * Then the next call hands its inputs in, and the thread compiles, loads, and tries both versions on them.
 * The address of the better one is stored in one atomic word, which calls read; both versions stay loaded as
 * long as the instance, so nobody cares which one a call is just in.
 */
#include "optimised.h"

#include "cache_key.h"
#include "emit_c.h"
#include "scalar_library.h"
#include "vector_plan.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIMISED_ENTRY "akg_kernel_entry"

/* A compile takes a twentieth of a second: so long may a kernel run before it is made anew, then what was
 * spent in vain is at most as much as what the best decision would have cost. */
static const unsigned long long worth_it = 50000000; /* nanoseconds */
/* One call in so many is timed. */
enum { TIMED = 16 };

/* ---- the optimiser of a module ------------------------------------------------------------------ */

static jit_tier tier_of_environment(void)
{
    const char *name = getenv("AKG_TIER");
    if (name && strcmp(name, "auto") == 0)
        return JIT_TIER_AUTO;
    return name && strcmp(name, "optimised") == 0 ? JIT_TIER_OPTIMISED : JIT_TIER_INSTANT;
}

void optimiser_init(struct optimiser *optimiser, jit_tier tier, const struct disk_cache *cache,
                    struct jit_notes *notes)
{
    *optimiser = (struct optimiser){.tier = tier ? tier : tier_of_environment(),
                                    .cache = cache,
                                    .notes = notes,
                                    .last = &optimiser->first,
                                    .process = (long)getpid()};
    atomic_init(&optimiser->cancelled, false);
    atomic_init(&optimiser->is_broken, false);
    pthread_mutex_init(&optimiser->lock, NULL);
    pthread_cond_init(&optimiser->idle, NULL);
}

void optimiser_end(struct optimiser *optimiser)
{
    atomic_store(&optimiser->cancelled, true);
    if (optimiser->has_thread && optimiser->process == (long)getpid())
        pthread_join(optimiser->thread, NULL);
    optimiser->has_thread = false;
}

void optimiser_free(struct optimiser *optimiser)
{
    pthread_mutex_destroy(&optimiser->lock);
    pthread_cond_destroy(&optimiser->idle);
}

void optimiser_finish(struct optimiser *optimiser)
{
    if (optimiser->process != (long)getpid())
        return;
    pthread_mutex_lock(&optimiser->lock);
    while (optimiser->is_running)
        pthread_cond_wait(&optimiser->idle, &optimiser->lock);
    pthread_mutex_unlock(&optimiser->lock);
}

static void complain(struct optimised *optimised, enum message message, const char *what)
{
    notes_add(optimised->optimiser->notes, message, optimised->kernel->name, what, NULL,
              "the code that is there goes on working; AKG_TIER=instant asks for no other");
}

/* ---- candidates ------------------------------------------------------------------------------------ */

static bool load(struct optimised *optimised, const void *bytes, size_t size)
{
    struct shared_object *object = &optimised->object;
    if (!shared_object_load(object, bytes, size))
        return false;
    void *bind = shared_object_symbol(object, EMIT_C_BIND);
    void *entry = shared_object_symbol(object, OPTIMISED_ENTRY);
    void (*bind_function)(void *const *table);
    int count = 0;
    while (scalar_library[count].name)
        count++;
    void **table = bind && entry ? memory_allocate((size_t)count * sizeof *table) : NULL;
    if (!table) {
        shared_object_free(object);
        return false;
    }
    for (int k = 0; k < count; k++)
        table[k] = scalar_library[k].address;
    memcpy(&bind_function, &bind, sizeof bind);
    memcpy(&optimised->candidate, &entry, sizeof entry);
    bind_function(table);
    memory_free(table);
    return true;
}

static void swap(struct optimised *optimised)
{
    atomic_store_explicit(&optimised->entry, optimised->candidate, memory_order_release);
    atomic_store(&optimised->is_swapped, true);
}

/* Compiles; false when nothing came of it, which is told. */
static bool compile(struct optimised *optimised, struct text *object)
{
    struct optimiser *optimiser = optimised->optimiser;
    struct compiler compiler;
    compiler_choose(&compiler);
    const char *problem = compiler_run(&compiler, optimised->source.data, &optimiser->cancelled, object);
    compiler_free(&compiler);
    if (!problem && !load(optimised, object->data, object->length))
        problem = "made nothing that can be loaded";
    if (!problem || atomic_load(&optimiser->cancelled))
        return !problem;
    complain(optimised, MSG_COMPILER_FAILED, problem);
    atomic_store(&optimiser->is_broken, true);
    return false;
}

/* What came of it is kept: the object, or nothing where the first code is to stay. */
static void keep(const struct optimised *optimised, const struct text *object)
{
    disk_cache_publish(optimised->optimiser->cache, &optimised->key, object ? object->data : "",
                       object ? object->length : 0);
}

static void judge(struct optimised *optimised, const struct text *object)
{
    enum optimised_state state = OPTIMISED_DONE;
    switch (trial_run(optimised->trial, optimised->known, optimised->candidate, optimised->options.strict)) {
    case TRIAL_FASTER:
        swap(optimised);
        keep(optimised, object);
        break;
    case TRIAL_SLOWER:
        keep(optimised, NULL);
        break;
    case TRIAL_DIFFERENT:
        complain(optimised, MSG_COMPILER_WRONG, NULL);
        keep(optimised, NULL);
        break;
    case TRIAL_STOPPED: /* with other inputs, then */
        state = OPTIMISED_WANTED;
        break;
    }
    trial_free(optimised->trial);
    optimised->trial = NULL;
    if (state == OPTIMISED_WANTED)
        shared_object_free(&optimised->object);
    atomic_store_explicit(&optimised->state, state, memory_order_release);
}

static void work(struct optimised *optimised)
{
    struct text object;
    text_init(&object);
    if (!atomic_load(&optimised->optimiser->is_broken) && compile(optimised, &object))
        judge(optimised, &object);
    else
        atomic_store_explicit(&optimised->state, OPTIMISED_DONE, memory_order_release);
    text_free(&object);
}

/* ---- the thread --------------------------------------------------------------------------------------- */

static void *work_off(void *opaque)
{
    struct optimiser *optimiser = opaque;
    pthread_mutex_lock(&optimiser->lock);
    while (optimiser->first && !atomic_load(&optimiser->cancelled)) {
        struct optimised *optimised = optimiser->first;
        optimiser->first = optimised->next;
        if (!optimiser->first)
            optimiser->last = &optimiser->first;
        pthread_mutex_unlock(&optimiser->lock);
        work(optimised);
        pthread_mutex_lock(&optimiser->lock);
    }
    optimiser->is_running = false;
    pthread_cond_broadcast(&optimiser->idle);
    pthread_mutex_unlock(&optimiser->lock);
    return NULL;
}

/* Signals are for the threads of the program. With the lock held. */
static bool start_thread(struct optimiser *optimiser)
{
    sigset_t all, before;
    if (optimiser->has_thread)
        pthread_join(optimiser->thread, NULL); /* it has nothing left to do */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    optimiser->has_thread =
        !memory_fail_here() && pthread_create(&optimiser->thread, NULL, work_off, optimiser) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return optimiser->has_thread;
}

static void enqueue(struct optimised *optimised)
{
    struct optimiser *optimiser = optimised->optimiser;
    if (optimiser->process != (long)getpid())
        return; /* a fork has no such thread, and the lock may be one that nobody will give back */
    pthread_mutex_lock(&optimiser->lock);
    optimised->next = NULL;
    *optimiser->last = optimised;
    optimiser->last = &optimised->next;
    if (!optimiser->is_running)
        optimiser->is_running = start_thread(optimiser);
    pthread_mutex_unlock(&optimiser->lock);
}

/* ---- instances ------------------------------------------------------------------------------------------
 */

/* The C of the kernel, all of it C, with the loops that threads share. */
static bool emit_text(struct optimised *optimised, struct text *complaint)
{
    struct vector_options all_c = optimised->options;
    struct vector_plan plan;
    all_c.target = X86_TARGET_NONE;
    if (!vector_plan_make(&plan, optimised->kernel, &all_c))
        return false;
    const struct emit_c_options options = {.entry = OPTIMISED_ENTRY,
                                           .trust_indices = optimised->options.trust_indices,
                                           .without_lines = true,
                                           .hosted = true,
                                           .plan = &plan};
    bool good = emit_c(&optimised->source, optimised->kernel, &options, complaint);
    vector_plan_free(&plan);
    return good;
}

static bool emit_source(struct optimised *optimised)
{
    struct text complaint, identity;
    struct compiler compiler;
    text_init(&complaint);
    text_init(&identity);
    compiler_choose(&compiler);
    bool known = compiler_identify(&compiler, &identity);
    compiler_free(&compiler);
    bool good = known && emit_text(optimised, &complaint) && !optimised->source.failed && !identity.failed;
    if (good) {
        cache_key_begin(&optimised->key, "optimised", optimised->kernel, &optimised->options, identity.data);
        cache_key_program(&optimised->key, optimised->source.data);
        good = !optimised->key.failed;
    } else if (!known && optimised->optimiser->tier == JIT_TIER_OPTIMISED) {
        complain(optimised, MSG_COMPILER_FAILED, "is not there");
    }
    text_free(&complaint);
    text_free(&identity);
    return good;
}

/* Whether something was kept of it: the code, or that the first code is to stay. */
static bool find_kept(struct optimised *optimised)
{
    struct disk_entry entry;
    if (!disk_cache_find(optimised->optimiser->cache, &optimised->key, &entry))
        return false;
    bool good = entry.payload_size == 0;
    if (!good && load(optimised, entry.payload, entry.payload_size)) {
        swap(optimised);
        good = true;
    }
    disk_entry_free(&entry);
    return good;
}

struct optimised *optimised_make(struct optimiser *optimiser, struct ir_kernel *kernel,
                                 const struct vector_options *options, jit_entry known)
{
    if (optimiser->tier == JIT_TIER_INSTANT)
        return NULL;
    struct optimised *optimised = memory_zeroed(1, sizeof *optimised);
    if (!optimised)
        return NULL;
    optimised->optimiser = optimiser;
    optimised->kernel = kernel;
    optimised->options = *options;
    optimised->known = known;
    atomic_init(&optimised->entry, known);
    text_init(&optimised->source);
    text_init(&optimised->key);
    optimised->object.descriptor = -1;
    if (!emit_source(optimised)) {
        optimised_free(optimised);
        return NULL;
    }
    bool kept = find_kept(optimised);
    atomic_init(&optimised->state, kept                                    ? OPTIMISED_DONE
                                   : optimiser->tier == JIT_TIER_OPTIMISED ? OPTIMISED_WANTED
                                                                           : OPTIMISED_COUNTING);
    return optimised;
}

void optimised_free(struct optimised *optimised)
{
    if (!optimised)
        return;
    shared_object_free(&optimised->object);
    trial_free(optimised->trial);
    text_free(&optimised->source);
    text_free(&optimised->key);
    memory_free(optimised);
}

void optimised_offer(struct optimised *optimised, const struct trial_view *views, const int64_t *dims,
                     const union jit_scalar *scalars)
{
    int wanted = OPTIMISED_WANTED;
    if (!atomic_compare_exchange_strong(&optimised->state, &wanted, OPTIMISED_WORKING))
        return; /* another call was faster */
    optimised->trial = trial_make(optimised->kernel, views, dims, scalars);
    if (optimised->trial)
        enqueue(optimised);
    else
        atomic_store(&optimised->state, OPTIMISED_DONE);
}

bool optimised_is_timed(struct optimised *optimised)
{
    if (atomic_load_explicit(&optimised->state, memory_order_relaxed) != OPTIMISED_COUNTING)
        return false;
    /* calls of other threads that are lost do no harm */
    unsigned long long calls = atomic_load_explicit(&optimised->calls, memory_order_relaxed);
    atomic_store_explicit(&optimised->calls, calls + 1, memory_order_relaxed);
    return calls % TIMED == 0;
}

void optimised_add_time(struct optimised *optimised, unsigned long long nanoseconds)
{
    unsigned long long before = atomic_load_explicit(&optimised->nanoseconds, memory_order_relaxed);
    unsigned long long total = before + nanoseconds * (before ? TIMED : 1); /* the first call may be slow */
    int counting = OPTIMISED_COUNTING;
    atomic_store_explicit(&optimised->nanoseconds, total, memory_order_relaxed);
    if (total >= worth_it)
        atomic_compare_exchange_strong(&optimised->state, &counting, OPTIMISED_WANTED);
}
