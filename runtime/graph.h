/*
 * graph.h: graph functions, call by call.
 *
 * A plan is what a graph function does for arguments of given dtypes and shapes: the calls of kernels it
 * comes to, in order, and what it returns. It is made without running anything, so that calls whose results
 * nobody wants can be left out: of a bprop, those that only serve gradients which are not needed.
 */
#ifndef RUNTIME_GRAPH_H
#define RUNTIME_GRAPH_H

#include "call.h"
#include "operator.h"

/* One call. */
struct graph_call {
    struct akg_kernel *kernel;
    const struct elaborate_operand *operands; /* per parameter; tensors by number */
    struct span span;                         /* in the text of the function that was planned */
    int first_result, result_count;           /* numbers of its tensors */
    bool in_place;                            /* it writes a tensor that it was handed */
};

/* What the results that are wanted hang on. */
struct graph_need {
    const bool *calls;   /* per call: it is needed */
    const int *last_use; /* per tensor: the last call that reads it; what is returned outlives all */
};

struct graph_plan {
    atomic_size_t references;
    struct graph_plan *next; /* graph_cache.c: in its bucket */
    const unsigned char *key;
    size_t key_length;
    struct arena arena;
    struct akg_kernel *kernel; /* of the function */
    akg_registry *registry;    /* borrowed: finds the kernels of the standard library */
    LIST(struct graph_call) calls;
    LIST(akg_tensor *) described; /* per tensor: dtype and shape, no elements. Arguments come first */
    int argument_count;           /* tensors among the arguments */
    struct elaborate_operand result;
    int *items; /* what the result consists of, tuples taken apart: the number of a tensor, or -1 for None */
    size_t item_count;
    int *outputs;           /* per item: which output of the kernel it is; -1 for None */
    bool has_room;          /* among these, for all of them; a bprop needs none, which goes by items */
    struct graph_need need; /* where all are wanted */
};

/*
 * Plans a call with these arguments, of whose tensors only the descriptions are read, and kept. A kernel that
 * is no graph function is one call. AKG_ERROR_CALL with messages when the call is wrong. The plan never
 * changes once made.
 */
akg_status graph_plan_make(akg_registry *registry, struct akg_kernel *kernel, const akg_argument *arguments,
                           size_t count, struct graph_plan **plan, akg_diagnostics **diagnostics);
struct graph_plan *graph_plan_retain(struct graph_plan *plan);
void graph_plan_release(struct graph_plan *plan);

/* Whether both make the same calls, each with the results of the same others, and return the same of them:
 * numbers and shapes aside. */
bool graph_plan_is_alike(const struct graph_plan *a, const struct graph_plan *b);

/* `wanted`: as of graph_run. The arrays lie in the arena. */
struct graph_need graph_find_need(const struct graph_plan *plan, struct arena *arena, const bool *wanted);

/* The same, but a plan that was made before for such arguments serves again (graph_cache.c). */
akg_status graph_plan_find(akg_registry *registry, struct akg_kernel *kernel, const akg_argument *arguments,
                           size_t count, struct graph_plan **plan, akg_diagnostics **diagnostics);

/* Plans by what they were made for; belongs to a registry, whose kernels they call. Threads may share it. */
struct graph_cache *graph_cache_create(void);
void graph_cache_free(struct graph_cache *cache);

/*
 * Runs what is needed for the results that are wanted (`wanted`, one for each item of the plan;
 * NULL: all), with the same arguments as it was planned for. `outputs`, one for each item, receives new
 * references; it stays NULL for what is not wanted or None. An entry that is not NULL is a tensor of the
 * caller that the result is computed into, which the plan must have room for. `tape` may be NULL; with one
 * each call is recorded as akg_call does.
 */
akg_status graph_run(const struct graph_plan *plan, akg_tape *tape, const akg_argument *arguments,
                     size_t count, const bool *wanted, akg_tensor **outputs, akg_diagnostics **diagnostics);

/* An operand as the argument of a call; `tensors` by number. What it points to lies in `arena`, or is the
 * plan's. */
void graph_argument(struct arena *arena, const struct elaborate_operand *operand, akg_tensor *const *tensors,
                    akg_argument *argument);

#endif
