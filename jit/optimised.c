/*
 * optimised.c: see optimised.h.
 *
 * An instance counts its calls, until it has taken about as long as a compile would; or it is wanted at once.
 * Then the next call hands its inputs in, and the thread compiles, loads, and tries all versions on them.
 * The address of the best one is stored in one atomic word, which calls read; it and the first code stay
 * loaded as long as the instance, so nobody cares which one a call is just in.
 */
#include "optimised.h"

#include "cache_key.h"
#include "emit_c.h"
#include "scalar_library.h"
#include "vector_plan.h"

#include <math.h>
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

static jit_tier tier_of_environment(struct jit_notes *notes)
{
    const char *name = getenv("AKG_TIER");
    if (!name || !*name || strcmp(name, "instant") == 0)
        return JIT_TIER_INSTANT;
    if (strcmp(name, "auto") == 0)
        return JIT_TIER_AUTO;
    if (strcmp(name, "optimised") == 0)
        return JIT_TIER_OPTIMISED;
    notes_add(notes, MSG_SETTING, "AKG_TIER", name, "instant, auto or optimised",
              "without it the tier is instant, as it is now");
    return JIT_TIER_INSTANT;
}

void optimiser_init(struct optimiser *optimiser, jit_tier tier, const struct disk_cache *cache,
                    struct jit_notes *notes)
{
    *optimiser = (struct optimiser){.tier = tier ? tier : tier_of_environment(notes),
                                    .cache = cache,
                                    .notes = notes,
                                    .last = &optimiser->first,
                                    .process = (long)getpid()};
    atomic_init(&optimiser->cancelled, false);
    atomic_init(&optimiser->broken, 0);
    if (optimiser->tier != JIT_TIER_INSTANT)
        compilers_choose(&optimiser->compilers, notes);
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
    compilers_free(&optimiser->compilers);
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

/* Of a compiler. */
static void complain(struct optimised *optimised, int compiler, enum message message, const char *what)
{
    notes_add(optimised->optimiser->notes, message, optimised->input.kernel->name,
              optimised->optimiser->compilers.items[compiler].command, what,
              "the code that is there goes on working; AKG_TIER=instant asks for no other");
}

/* ---- candidates ------------------------------------------------------------------------------------ */

/* What the object calls, in the order that it expects; memory_free. */
static const void **make_table(const struct vector_plan *plan)
{
    int count = scalar_library_count();
    const void **table = memory_allocate((size_t)(count + plan->loops.count + 1) * sizeof *table);
    for (int k = 0; table && k < count; k++)
        table[k] = scalar_library[k].address;
    for (int k = 0; table && k < plan->loops.count; k++)
        table[count + k] = plan->loops.items[k]->code;
    return table;
}

static bool load(struct optimised_version *version, const void *bytes, size_t size)
{
    void (*bind)(const void *const *table);
    if (!shared_object_load(&version->object, bytes, size))
        return false;
    void *found = shared_object_symbol(&version->object, EMIT_C_BIND);
    void *entry = shared_object_symbol(&version->object, OPTIMISED_ENTRY);
    const void **table = found && entry ? make_table(&version->form->plan) : NULL;
    if (!table) {
        shared_object_free(&version->object);
        return false;
    }
    memcpy(&bind, &found, sizeof found);
    memcpy(&version->entry, &entry, sizeof entry);
    bind(table);
    memory_free(table);
    return true;
}

static void swap(struct optimised *optimised, const struct optimised_version *version)
{
    atomic_store_explicit(&optimised->entry, version->entry, memory_order_release);
    atomic_store(&optimised->is_swapped, true);
}

/* Compiles and loads; whether something came of it, else that is told. */
static bool compile(struct optimised *optimised, struct optimised_version *version)
{
    struct optimiser *optimiser = optimised->optimiser;
    unsigned bit = 1u << version->compiler;
    if (atomic_load(&optimiser->cancelled) || (atomic_load(&optimiser->broken) & bit))
        return false;
    const struct compiler_run run = {.source = version->form->source.data,
                                     .strict = optimised->options.strict,
                                     .limit = optimiser->compilers.limit,
                                     .cancelled = &optimiser->cancelled};
    const char *problem = compiler_run(&optimiser->compilers.items[version->compiler], &run, &version->bytes);
    if (!problem && !load(version, version->bytes.data, version->bytes.length))
        problem = "made nothing that can be loaded";
    if (!problem || atomic_load(&optimiser->cancelled))
        return !problem;
    complain(optimised, version->compiler, MSG_COMPILER_FAILED, problem);
    atomic_fetch_or(&optimiser->broken, bit);
    return false;
}

/* Which version is right and the fastest, or NULL; *stopped: nothing can be said with these inputs. A
 * compiler that made one of them wrong is not trusted with the others, of which these inputs may not show it.
 */
static const struct optimised_version *judge(struct optimised *optimised, bool *stopped)
{
    double ratios[OPTIMISED_VERSIONS];
    unsigned wrong = 0; /* bits of compilers */
    int best = -1;
    *stopped = false;
    for (int k = 0; k < optimised->version_count && !*stopped; k++) {
        const struct optimised_version *version = &optimised->versions[k];
        ratios[k] = INFINITY;
        if (!version->entry || (wrong & 1u << version->compiler) ||
            atomic_load(&optimised->optimiser->cancelled))
            continue;
        enum trial_verdict verdict = trial_run(optimised->trial, optimised->known, version->entry,
                                               optimised->options.strict, &ratios[k]);
        *stopped = verdict == TRIAL_STOPPED;
        if (verdict != TRIAL_FASTER)
            ratios[k] = INFINITY;
        if (verdict != TRIAL_DIFFERENT)
            continue;
        complain(optimised, version->compiler, MSG_COMPILER_WRONG, NULL);
        wrong |= 1u << version->compiler;
    }
    for (int k = 0; k < optimised->version_count && !*stopped; k++)
        if (!(wrong & 1u << optimised->versions[k].compiler) && ratios[k] < (best < 0 ? 1 : ratios[best]))
            best = k;
    return best < 0 ? NULL : &optimised->versions[best];
}

/* What came of it is kept: the object, or nothing for a version that is not the best. One that could not be
 * made says nothing of the next time. */
static void keep(const struct optimised *optimised, const struct optimised_version *best)
{
    for (int k = 0; k < optimised->version_count; k++) {
        const struct optimised_version *version = &optimised->versions[k];
        if (version->entry)
            disk_cache_publish(optimised->optimiser->cache, &version->key,
                               version == best ? version->bytes.data : "",
                               version == best ? version->bytes.length : 0);
    }
}

/* With all versions compiled: puts the best in place. */
static enum optimised_state settle(struct optimised *optimised)
{
    bool stopped;
    const struct optimised_version *best = judge(optimised, &stopped);
    if (stopped)
        return OPTIMISED_WANTED; /* with other inputs, then */
    if (atomic_load(&optimised->optimiser->cancelled))
        return OPTIMISED_DONE; /* not all have been tried */
    if (best)
        swap(optimised, best);
    keep(optimised, best);
    return OPTIMISED_DONE;
}

/* Versions that nobody will call go, and the files of all. */
static void drop_versions(struct optimised *optimised)
{
    for (int k = 0; k < optimised->version_count; k++) {
        struct optimised_version *version = &optimised->versions[k];
        text_free(&version->bytes);
        if (version->entry && version->entry != atomic_load(&optimised->entry)) {
            shared_object_free(&version->object);
            version->entry = NULL;
        }
    }
}

static void work(struct optimised *optimised)
{
    enum optimised_state state = OPTIMISED_DONE;
    bool any = false;
    for (int k = 0; k < optimised->version_count; k++)
        any |= compile(optimised, &optimised->versions[k]);
    if (any)
        state = settle(optimised);
    drop_versions(optimised);
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

static bool is_known_form(const struct optimised *optimised, const struct optimised_form *form)
{
    for (int k = 0; k < optimised->form_count; k++)
        if (strcmp(optimised->forms[k].source.data, form->source.data) == 0)
            return true;
    return false;
}

enum form_kind {
    FORM_ORDERED,   /* C, sums in the order of the program */
    FORM_REORDERED, /* C, sums of loops in any order; of what is strict none is but the first */
    FORM_SHARED,    /* the same, and buffers may share memory for all that C is told */
    FORM_VECTORS    /* the same with calls of vector loops */
};

/* Adds a form of a kernel. True where that is no other one, too. */
static bool emit_form(struct optimised *optimised, struct ir_kernel *kernel, enum form_kind kind)
{
    struct vector_options vectors = optimised->options;
    struct optimised_form *form = &optimised->forms[optimised->form_count];
    if (kind != FORM_VECTORS)
        vectors.target = X86_TARGET_NONE;
    if (!vector_plan_make(&form->plan, kernel, &vectors, false))
        return false;
    if (kind == FORM_VECTORS && !form->plan.loops.count)
        return true;
    const struct emit_c_options options = {.entry = OPTIMISED_ENTRY,
                                           .trust_indices = optimised->options.trust_indices,
                                           .compact = true,
                                           .hosted = true,
                                           .apart = optimised->input.apart && kind < FORM_SHARED,
                                           .reorders = kind != FORM_ORDERED && !optimised->options.strict,
                                           .plan = &form->plan};
    struct text complaint;
    text_init(&complaint);
    bool good = emit_c(&form->source, kernel, &options, &complaint) && !form->source.failed;
    text_free(&complaint);
    if (good && is_known_form(optimised, form)) {
        text_free(&form->source);
        vector_plan_free(&form->plan);
        *form = (struct optimised_form){.source = form->source};
        return true;
    }
    optimised->form_count += good;
    return good;
}

/* Whether a call has all the memory that another kernel than that of the first code works in: calls know the
 * temporaries of that one, and when they live. */
static bool has_memory(const struct optimised_input *input, const struct ir_kernel *other)
{
    if (!other || !input->apart)
        return false;
    for (int k = 0; k < other->buffers.count; k++)
        if (!other->buffers.items[k]->unused && input->kernel->buffers.items[k]->unused)
            return false;
    return true;
}

/* As it was written, or with indices tested before, it comes in both orders: of short sums what compilers
 * make is often slower in any. And what they make of loops that the passes left is sometimes slower where
 * buffers are apart: they then move more. */
static bool emit_forms(struct optimised *optimised)
{
    const struct optimised_input *input = &optimised->input;
    if (has_memory(input, input->written) && !(emit_form(optimised, input->written, FORM_ORDERED) &&
                                               emit_form(optimised, input->written, FORM_REORDERED)))
        return false;
    if (has_memory(input, input->vouched) && !(emit_form(optimised, input->vouched, FORM_ORDERED) &&
                                               emit_form(optimised, input->vouched, FORM_REORDERED)))
        return false;
    return emit_form(optimised, input->kernel, FORM_REORDERED) &&
           emit_form(optimised, input->kernel, FORM_SHARED) &&
           emit_form(optimised, input->kernel, FORM_VECTORS);
}

/* What each compiler is, "" for one that is not there; false where none is. */
static bool identify_compilers(struct optimised *optimised, struct text *identities)
{
    const struct optimiser *optimiser = optimised->optimiser;
    bool any = false;
    for (int k = 0; k < optimiser->compilers.count; k++) {
        bool known = compiler_identify(&optimiser->compilers.items[k], &identities[k]);
        if (!known && optimiser->tier == JIT_TIER_OPTIMISED)
            complain(optimised, k, MSG_COMPILER_FAILED, "is not there");
        if (!known)
            text_free(&identities[k]);
        any |= known;
    }
    return any;
}

/* What one makes of a form, where the best of what all make is taken: the others are part of the key. */
static bool add_version(struct optimised *optimised, const struct optimised_form *form, int compiler,
                        const struct text *identities)
{
    struct optimised_version *version = &optimised->versions[optimised->version_count++];
    struct text all;
    text_init(&all);
    text_string(&all, identities[compiler].data);
    for (int k = 0; k < optimised->optimiser->compilers.count; k++)
        if (k != compiler && identities[k].length)
            text_format(&all, " beside %s", identities[k].data);
    version->form = form;
    version->compiler = compiler;
    bool good = !all.failed && !identities[compiler].failed;
    if (good) {
        cache_key_begin(&version->key, "optimised", optimised->input.kernel, &optimised->options, all.data);
        cache_key_program(&version->key, form->source.data);
    }
    text_free(&all);
    return good && !version->key.failed;
}

static bool plan_versions(struct optimised *optimised)
{
    struct text identities[COMPILER_MOST];
    for (int k = 0; k < COMPILER_MOST; k++)
        text_init(&identities[k]);
    bool good = identify_compilers(optimised, identities) && emit_forms(optimised);
    for (int k = 0; good && k < optimised->form_count; k++)
        for (int compiler = 0; good && compiler < COMPILER_MOST; compiler++)
            if (identities[compiler].length)
                good = add_version(optimised, &optimised->forms[k], compiler, identities);
    for (int k = 0; k < COMPILER_MOST; k++)
        text_free(&identities[k]);
    return good;
}

/* Whether it was kept what came of all versions: the best one's object, or that the first code is to stay. */
static bool find_kept(struct optimised *optimised)
{
    bool all = true;
    for (int k = 0; k < optimised->version_count && !atomic_load(&optimised->is_swapped); k++) {
        struct optimised_version *version = &optimised->versions[k];
        struct disk_entry entry;
        if (!disk_cache_find(optimised->optimiser->cache, &version->key, &entry)) {
            all = false;
            continue;
        }
        if (entry.payload_size && load(version, entry.payload, entry.payload_size))
            swap(optimised, version);
        else
            all &= entry.payload_size == 0;
        disk_entry_free(&entry);
    }
    return all || atomic_load(&optimised->is_swapped);
}

struct optimised *optimised_make(struct optimiser *optimiser, const struct optimised_input *input,
                                 struct deferred *deferred, const struct vector_options *options,
                                 jit_entry known)
{
    if (optimiser->tier == JIT_TIER_INSTANT)
        return NULL;
    struct optimised *optimised = memory_zeroed(1, sizeof *optimised);
    if (!optimised)
        return NULL;
    optimised->optimiser = optimiser;
    optimised->input = *input;
    optimised->deferred = deferred;
    optimised->options = *options;
    optimised->known = known;
    atomic_init(&optimised->entry, known);
    for (int k = 0; k < OPTIMISED_FORMS; k++)
        text_init(&optimised->forms[k].source);
    for (int k = 0; k < OPTIMISED_VERSIONS; k++) {
        text_init(&optimised->versions[k].key);
        text_init(&optimised->versions[k].bytes);
        optimised->versions[k].object.descriptor = -1;
    }
    if (!plan_versions(optimised)) {
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
    for (int k = 0; k < OPTIMISED_VERSIONS; k++) {
        shared_object_free(&optimised->versions[k].object);
        text_free(&optimised->versions[k].key);
        text_free(&optimised->versions[k].bytes);
    }
    for (int k = 0; k < OPTIMISED_FORMS; k++) {
        text_free(&optimised->forms[k].source);
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
    optimised->trial = trial_make(optimised->input.kernel, optimised->input.sites, optimised->deferred, views,
                                  dims, scalars);
    if (optimised->trial)
        enqueue(optimised);
    else
        atomic_store(&optimised->state, OPTIMISED_DONE);
}

bool optimised_is_timed(struct optimised *optimised)
{
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
