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

/* What the object calls, in the order that it expects; memory_free. */
static const void **make_table(const struct vector_plan *plan)
{
    int count = 0;
    while (scalar_library[count].name)
        count++;
    const void **table = memory_allocate((size_t)(count + plan->loops.count + 1) * sizeof *table);
    for (int k = 0; table && k < count; k++)
        table[k] = scalar_library[k].address;
    for (int k = 0; table && k < plan->loops.count; k++)
        table[count + k] = plan->loops.items[k]->code;
    return table;
}

static bool load(struct optimised_form *form, const void *bytes, size_t size)
{
    void (*bind)(const void *const *table);
    if (!shared_object_load(&form->object, bytes, size))
        return false;
    void *found = shared_object_symbol(&form->object, EMIT_C_BIND);
    void *entry = shared_object_symbol(&form->object, OPTIMISED_ENTRY);
    const void **table = found && entry ? make_table(&form->plan) : NULL;
    if (!table) {
        shared_object_free(&form->object);
        return false;
    }
    memcpy(&bind, &found, sizeof found);
    memcpy(&form->entry, &entry, sizeof entry);
    bind(table);
    memory_free(table);
    return true;
}

static void swap(struct optimised *optimised, const struct optimised_form *form)
{
    atomic_store_explicit(&optimised->entry, form->entry, memory_order_release);
    atomic_store(&optimised->is_swapped, true);
}

/* Compiles a form; false when nothing came of it, which is told. */
static bool compile(struct optimised *optimised, struct optimised_form *form, struct text *object)
{
    struct optimiser *optimiser = optimised->optimiser;
    struct compiler compiler;
    if (atomic_load(&optimiser->is_broken))
        return false;
    compiler_choose(&compiler);
    const char *problem = compiler_run(&compiler, form->source.data, &optimiser->cancelled, object);
    compiler_free(&compiler);
    if (!problem && !load(form, object->data, object->length))
        problem = "made nothing that can be loaded";
    if (!problem || atomic_load(&optimiser->cancelled))
        return !problem;
    complain(optimised, MSG_COMPILER_FAILED, problem);
    atomic_store(&optimiser->is_broken, true);
    return false;
}

/* Which form is right and the fastest, or -1; *stopped: nothing can be said with these inputs. */
static int judge(struct optimised *optimised, bool *stopped)
{
    double ratio, least = 1;
    int best = -1;
    *stopped = false;
    for (int k = 0; k < optimised->form_count; k++) {
        enum trial_verdict verdict = trial_run(optimised->trial, optimised->known, optimised->forms[k].entry,
                                               optimised->options.strict, &ratio);
        if (verdict == TRIAL_DIFFERENT)
            complain(optimised, MSG_COMPILER_WRONG, NULL);
        *stopped |= verdict == TRIAL_STOPPED;
        if (verdict == TRIAL_FASTER && ratio < least) {
            least = ratio;
            best = k;
        }
    }
    return best;
}

/* What came of it is kept: the object, or nothing for a form that is not the best. */
static void keep(const struct optimised *optimised, const struct text *objects, int best)
{
    for (int k = 0; k < optimised->form_count; k++)
        disk_cache_publish(optimised->optimiser->cache, &optimised->forms[k].key,
                           k == best ? objects[k].data : "", k == best ? objects[k].length : 0);
}

/* With all forms compiled: puts the best in place. */
static enum optimised_state settle(struct optimised *optimised, const struct text *objects)
{
    bool stopped;
    int best = judge(optimised, &stopped);
    if (!stopped && best >= 0)
        swap(optimised, &optimised->forms[best]);
    if (!stopped)
        keep(optimised, objects, best);
    for (int k = 0; k < optimised->form_count; k++)
        if (stopped || k != best)
            shared_object_free(&optimised->forms[k].object);
    return stopped ? OPTIMISED_WANTED : OPTIMISED_DONE; /* with other inputs, then */
}

static void work(struct optimised *optimised)
{
    struct text objects[2];
    enum optimised_state state = OPTIMISED_DONE;
    bool good = true;
    for (int k = 0; k < 2; k++)
        text_init(&objects[k]);
    for (int k = 0; k < optimised->form_count && good; k++)
        good = compile(optimised, &optimised->forms[k], &objects[k]);
    if (good)
        state = settle(optimised, objects);
    for (int k = 0; k < 2; k++)
        text_free(&objects[k]);
    trial_free(optimised->trial);
    optimised->trial = NULL;
    atomic_store_explicit(&optimised->state, state, memory_order_release);
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

/* Adds a form of the kernel: with its vector loops, or with none. True where that is no other one. */
static bool emit_form(struct optimised *optimised, bool with_vectors, const char *compiler)
{
    struct vector_options vectors = optimised->options;
    struct optimised_form *form = &optimised->forms[optimised->form_count];
    if (!with_vectors)
        vectors.target = X86_TARGET_NONE;
    if (!vector_plan_make(&form->plan, optimised->kernel, &vectors, false))
        return false;
    if (with_vectors && !form->plan.loops.count)
        return true;
    const struct emit_c_options options = {.entry = OPTIMISED_ENTRY,
                                           .trust_indices = optimised->options.trust_indices,
                                           .compact = true,
                                           .hosted = true,
                                           .plan = &form->plan};
    struct text complaint;
    text_init(&complaint);
    bool good = emit_c(&form->source, optimised->kernel, &options, &complaint) && !form->source.failed;
    if (good) {
        cache_key_begin(&form->key, "optimised", optimised->kernel, &optimised->options, compiler);
        cache_key_program(&form->key, form->source.data);
        optimised->form_count++;
    }
    text_free(&complaint);
    return good && !form->key.failed;
}

static bool emit_forms(struct optimised *optimised)
{
    struct compiler compiler;
    struct text identity;
    text_init(&identity);
    compiler_choose(&compiler);
    bool known = compiler_identify(&compiler, &identity);
    compiler_free(&compiler);
    if (!known && optimised->optimiser->tier == JIT_TIER_OPTIMISED)
        complain(optimised, MSG_COMPILER_FAILED, "is not there");
    bool good = known && !identity.failed && emit_form(optimised, false, identity.data) &&
                emit_form(optimised, true, identity.data);
    text_free(&identity);
    return good;
}

/* Whether it was kept what came of all forms: the best one's object, or that the first code is to stay. */
static bool find_kept(struct optimised *optimised)
{
    bool all = true;
    for (int k = 0; k < optimised->form_count && !atomic_load(&optimised->is_swapped); k++) {
        struct optimised_form *form = &optimised->forms[k];
        struct disk_entry entry;
        if (!disk_cache_find(optimised->optimiser->cache, &form->key, &entry)) {
            all = false;
            continue;
        }
        if (entry.payload_size && load(form, entry.payload, entry.payload_size))
            swap(optimised, form);
        else
            all &= entry.payload_size == 0;
        disk_entry_free(&entry);
    }
    return all || atomic_load(&optimised->is_swapped);
}

struct optimised *optimised_make(struct optimiser *optimiser, struct ir_kernel *kernel,
                                 struct deferred *deferred, const struct vector_options *options,
                                 jit_entry known)
{
    if (optimiser->tier == JIT_TIER_INSTANT)
        return NULL;
    struct optimised *optimised = memory_zeroed(1, sizeof *optimised);
    if (!optimised)
        return NULL;
    optimised->optimiser = optimiser;
    optimised->kernel = kernel;
    optimised->deferred = deferred;
    optimised->options = *options;
    optimised->known = known;
    atomic_init(&optimised->entry, known);
    for (int k = 0; k < 2; k++) {
        text_init(&optimised->forms[k].source);
        text_init(&optimised->forms[k].key);
        optimised->forms[k].object.descriptor = -1;
    }
    if (!emit_forms(optimised)) {
        optimised_free(optimised);
        return NULL;
    }
    bool wanted = optimiser->tier == JIT_TIER_OPTIMISED;
    atomic_init(&optimised->state, find_kept(optimised) ? OPTIMISED_DONE
                                   : wanted             ? OPTIMISED_WANTED
                                                        : OPTIMISED_COUNTING);
    return optimised;
}

void optimised_free(struct optimised *optimised)
{
    if (!optimised)
        return;
    for (int k = 0; k < 2; k++) {
        shared_object_free(&optimised->forms[k].object);
        text_free(&optimised->forms[k].source);
        text_free(&optimised->forms[k].key);
        vector_plan_free(&optimised->forms[k].plan);
    }
    trial_free(optimised->trial);
    memory_free(optimised);
}

void optimised_offer(struct optimised *optimised, const struct trial_view *views, const int64_t *dims,
                     const union jit_scalar *scalars)
{
    int wanted = OPTIMISED_WANTED;
    if (!atomic_compare_exchange_strong(&optimised->state, &wanted, OPTIMISED_WORKING))
        return; /* another call was faster */
    optimised->trial = trial_make(optimised->kernel, optimised->deferred, views, dims, scalars);
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
