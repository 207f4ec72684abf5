/*
 * recorded.h: inside a recorded graph: what was put down (recording.h), and what became of it for one choice
 * of extents.
 *
 * The first run with new extents, or on another device, binds the graph: graph functions are planned for the
 * shapes of that run, kernels are found, and every tensor between the calls gets its place in one block of
 * memory (recorded_bind.c, recorded_memory.c). Later runs with these extents go from kernel to kernel.
 */
#ifndef RUNTIME_RECORDED_H
#define RUNTIME_RECORDED_H

#include <pthread.h>

#include "recording.h"

/* An extent: a number, or a symbol of the graph. */
struct graph_extent {
    int symbol; /* -1: fixed */
    int64_t extent;
};

/* "float32[N, 4]", taken apart. */
struct graph_form {
    const char *text;
    akg_dtype dtype;
    int rank;
    struct graph_extent extents[AKG_MAX_RANK];
};

/* Adds the symbols that are new. Messages for text that is no form. `symbols` has names in `arena`. */
typedef LIST(const char *) graph_symbols;
akg_status graph_form_read(struct arena *arena, const char *text, graph_symbols *symbols,
                           struct graph_form *form, akg_diagnostics **diagnostics);

enum { BOUND_MOST = 32 }; /* choices of extents that are kept for one graph; one more drops them all */

struct akg_graph {
    atomic_size_t references;
    struct arena arena;
    pthread_mutex_t lock; /* held while the graph runs */
    akg_registry *registry;
    struct recording *recording;
    struct graph_form *inputs;
    size_t input_count;
    int *outputs; /* values */
    size_t output_count;
    graph_symbols symbols;
    struct bound_graph *bound; /* newest first */
    int bound_count;
    struct jit_instance *fused;    /* kernels of several steps (recorded_fuse.c) */
    struct fuse_verdict *verdicts; /* which kernels go element by element */
};

/* A step that runs. */
struct bound_step {
    const struct recorded_step *recorded; /* the first of the members */
    const struct recorded_step **members; /* the recorded steps that it is, in order */
    int member_count;
    struct call_prepared *prepared; /* CALL, alone */
    struct fused_run *fused;        /* several of them */
    struct gpu_graph *launches;     /* on a device: what it goes into, with steps beside it; or NULL */
};

/* Where the tensor that a value is lies. */
enum bound_place {
    BOUND_ABSENT,   /* no step that runs needs it */
    BOUND_OUTSIDE,  /* an input or output: known when the graph runs */
    BOUND_CAPTURED, /* the program's */
    BOUND_INSIDE,   /* in the workspace */
    BOUND_VIEW      /* of another value's elements */
};

struct bound_value {
    akg_tensor *tensor; /* a description until the memory is known */
    enum bound_place place;
    int owner;       /* VIEW: whose elements these are; else itself */
    int first, last; /* INSIDE: the steps that make it and use it last */
    size_t offset, bytes;
    bool written; /* OUTSIDE: in place, by some step */
};

struct bound_graph {
    struct bound_graph *next;
    struct akg_graph *graph;
    struct arena arena;
    struct gpu_device *device; /* where its inputs lie, and it runs; NULL: the host */
    int64_t *extents;          /* of the symbols */
    struct bound_value *values;
    struct graph_plan **plans; /* per recorded step; NULL where it is no plan */
    bool *needed;              /* per recorded step */
    struct bound_step *steps;  /* and an empty one behind them */
    int step_count;
    LIST(struct call_prepared *) prepared; /* all of them; NULL where one was given up */
    void *workspace;
    struct gpu_block *block;                /* which holds it; NULL on the host */
    size_t workspace_bytes, separate_bytes; /* and what it would be with nothing shared */
};

/* Binds to extents, which are copied, and a device. */
akg_status bound_make(struct akg_graph *graph, const int64_t *extents, struct gpu_device *device,
                      struct bound_graph **bound, akg_diagnostics **diagnostics);
void bound_free(struct bound_graph *bound);

/* Gives each value that is INSIDE its offset (recorded_memory.c). */
void bound_place_values(struct bound_graph *bound);

/* Makes one step of neighbouring ones that go element by element (recorded_fuse.c). Values that are then
 * stored nowhere become ABSENT. Where memory runs out steps stay as they are, or it escapes. */
void bound_fuse(struct bound_graph *bound);
akg_status fused_step_run(struct bound_graph *bound, const struct bound_step *step,
                          akg_diagnostics **diagnostics);
const struct jit_instance *fused_step_instance(const struct fused_run *run);
void fused_drop_all(struct akg_graph *graph);

/* The low bytes of what the elements of a fill are. */
uint64_t bound_fill_pattern(const struct recorded_step *step);

/* A step of a host function (recorded_host.c): what its outputs are; and a run. */
akg_status bound_infer_host(struct bound_graph *bound, const struct recorded_step *step,
                            akg_diagnostics **diagnostics);
akg_status bound_run_host(struct bound_graph *bound, const struct recorded_step *step,
                          akg_diagnostics **diagnostics);

/* call_prepare of a step with the tensors as they are now; *place is its place in bound->prepared. */
akg_status bound_prepare(struct bound_graph *bound, const struct recorded_step *step, int *place,
                         akg_diagnostics **diagnostics);
/* The arguments of a step. */
akg_argument *bound_arguments(struct bound_graph *bound, const struct recorded_step *step);
/* Argument of a step, for these extents; tensors are those of the values. */
akg_argument bound_argument(struct bound_graph *bound, const struct recorded_argument *recorded);

#endif
