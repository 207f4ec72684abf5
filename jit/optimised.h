/*
 * optimised.h: the optimising tier: the code of kernels that are called much is made anew by the system's C
 * compilers, in the background, and put in the place of the first when it is known to be right and faster.
 *
 * An optimiser belongs to a module and has at most one thread, which ends when there is nothing to do.
 * Callers never wait for it; at most one call of an instance copies its inputs. What goes wrong leaves the
 * code as it is.
 */
#ifndef JIT_OPTIMISED_H
#define JIT_OPTIMISED_H

#include "compiler.h"
#include "disk_cache.h"
#include "shared_object.h"
#include "sites.h"
#include "trial.h"
#include "vector_plan.h"

#include <pthread.h>

struct optimised;

struct optimiser {
    jit_tier tier; /* never DEFAULT */
    const struct disk_cache *cache;
    struct jit_notes *notes;
    struct compilers compilers; /* of the tier INSTANT: none */
    pthread_mutex_t lock;       /* of what follows */
    pthread_cond_t idle;
    struct optimised *first, **last; /* waiting */
    pthread_t thread;
    bool has_thread, is_running; /* one is to be joined; it takes from the queue */
    atomic_uint broken;          /* bits of compilers that failed: they are not asked again */
    atomic_bool cancelled;
    long process; /* that the thread is of: a fork has none */
};

/* JIT_TIER_DEFAULT: what AKG_TIER says. */
void optimiser_init(struct optimiser *optimiser, jit_tier tier, const struct disk_cache *cache,
                    struct jit_notes *notes);
/* Ends what is running. Before the instances are freed. */
void optimiser_end(struct optimiser *optimiser);
void optimiser_free(struct optimiser *optimiser);
/* Waits until nothing is left to do. */
void optimiser_finish(struct optimiser *optimiser);

enum optimised_state {
    OPTIMISED_COUNTING, /* how long its calls take together */
    OPTIMISED_WANTED,   /* the next call hands its inputs in */
    OPTIMISED_WORKING,  /* in the queue, or at it */
    OPTIMISED_DONE      /* for better or worse */
};

/* A kernel in C for the system's compilers: as it was written, or as the passes left it, and that wholly or
 * with calls of the vector loops. */
struct optimised_form {
    struct vector_plan plan; /* loops that it calls, and loops that threads share */
    struct text source;
};

/* What a compiler makes of a form; the best of all is taken. */
struct optimised_version {
    const struct optimised_form *form;
    int compiler; /* number among the optimiser's */
    struct text key, bytes;
    struct shared_object object; /* of the bytes */
    jit_entry entry;             /* in it; NULL: nothing has come of it */
};

enum { OPTIMISED_FORMS = 7, OPTIMISED_VERSIONS = OPTIMISED_FORMS * COMPILER_MOST };

/* What is to be made anew, which lives as long and stays as it is. */
struct optimised_input {
    struct ir_kernel *kernel;  /* that the first code is of */
    struct ir_kernel *written; /* the same before the passes, with sites of its own; NULL: there is none */
    struct ir_kernel
        *vouched; /* that with indices tested before the loops; NULL: nothing is to be tested so */
    const struct jit_sites *sites; /* of all */
    bool apart;                    /* no two temporaries share memory */
};

/* Of one instance, made with it. */
struct optimised {
    struct optimiser *optimiser;
    struct optimised_input input;
    struct deferred *deferred; /* of the instance: branches that its code leaves out */
    struct vector_options options;
    _Atomic(jit_entry) entry; /* what is to be called */
    jit_entry known;          /* the first code */
    atomic_int state;
    atomic_ullong calls, nanoseconds;
    atomic_bool is_swapped;
    struct optimised_form forms[OPTIMISED_FORMS];
    struct optimised_version versions[OPTIMISED_VERSIONS];
    int form_count, version_count;
    struct trial *trial;
    struct optimised *next; /* in the queue */
};

/* NULL: the instance stays as it is. What was kept in the cache is in its place at once. */
struct optimised *optimised_make(struct optimiser *optimiser, const struct optimised_input *input,
                                 struct deferred *deferred, const struct vector_options *options,
                                 jit_entry known);
void optimised_free(struct optimised *optimised);

/* Never NULL. */
static inline jit_entry optimised_entry(struct optimised *optimised)
{
    return atomic_load_explicit(&optimised->entry, memory_order_acquire);
}

static inline bool optimised_wants_inputs(struct optimised *optimised)
{
    return atomic_load_explicit(&optimised->state, memory_order_relaxed) == OPTIMISED_WANTED;
}

/* The inputs of a call that is about to run. Copies them and returns. */
void optimised_offer(struct optimised *optimised, const struct trial_view *views, const int64_t *dims,
                     const union jit_scalar *scalars);

/* Whether calls are timed, still. */
static inline bool optimised_counts(struct optimised *optimised)
{
    return atomic_load_explicit(&optimised->state, memory_order_relaxed) == OPTIMISED_COUNTING;
}

/* Whether this call is to be timed, where some are: one in so many is, and stands for all. */
bool optimised_is_timed(struct optimised *optimised);
void optimised_add_time(struct optimised *optimised, unsigned long long nanoseconds);

#endif
