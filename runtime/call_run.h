/*
 * call_run.h: one run of an instance, from bound arguments to outputs: between call.c, which makes one per
 * call, and call_prepared.c, which keeps one. The steps come in the order in which they stand here.
 */
#ifndef RUNTIME_CALL_RUN_H
#define RUNTIME_CALL_RUN_H

#include "broadcast.h"
#include "call.h"

#define CALL_INLINE_BUFFERS 16
#define CALL_INLINE_DIMS 48
#define CALL_INLINE_SCALARS 16

/* One run of an instance. Arrays are inline for ordinary kernels, from the heap (`spill`) for the others. */
struct call_run {
    const struct akg_kernel *kernel;
    const struct call_runner *runner; /* or NULL */
    const struct jit_instance *instance;
    struct gpu_device *device; /* where all of it happens, or NULL */
    struct gpu_graph *graph;   /* of the device, into which the run goes instead of being launched; or NULL */
    bool nowhere;              /* of what is only described (call_find_device) */
    int64_t repeats;           /* how often the code is run */
    bool results_differ;       /* from those in general: see call_run_output_of */
    struct call_messages *messages;
    akg_tensor **tensors; /* per buffer: borrowed inputs, owned outputs and temporaries */
    bool *owned;
    struct kept *kept; /* what the last call left, or NULL */
    bool has_buffers;  /* all of them */
    void **data;
    const int64_t **strides;
    int64_t *dims;
    union jit_scalar *scalars;
    void *spill;
    void *temporaries; /* what temporaries share, or NULL */
    size_t temporaries_size;
    struct {
        akg_tensor *tensors[CALL_INLINE_BUFFERS];
        bool owned[CALL_INLINE_BUFFERS];
        void *data[CALL_INLINE_BUFFERS];
        const int64_t *strides[CALL_INLINE_BUFFERS];
        int64_t dims[CALL_INLINE_DIMS];
        union jit_scalar scalars[CALL_INLINE_SCALARS];
    } small;
};

/* Memory for the arrays; `instance` is set. False: there is none. */
bool call_run_prepare(struct call_run *run);
void call_run_take_arguments(struct call_run *run, const struct call_binding *binding);
/* Each is false with a message. */
bool call_run_check_results(struct call_run *run);
bool call_run_check_shapes(struct call_run *run);
bool call_run_check_preconditions(struct call_run *run);
/* Outputs that were given are taken, others and temporaries are made. `may_overlap`: nobody asks. */
akg_status call_run_make_buffers(struct call_run *run, bool may_overlap, akg_tensor **outputs);
/* The part of it for temporaries, on the host, of an instance with `lives`. */
akg_status call_run_share_temporaries(struct call_run *run);
/* Runs the code; a stop becomes a message. */
akg_status call_run_execute(struct call_run *run);
/* Outputs go to the caller. */
void call_run_hand_out(struct call_run *run, akg_tensor **outputs);
/* The three of them: what is left to do when all checks have passed. */
akg_status call_run_all(struct call_run *run, akg_tensor **outputs);
void call_run_release(struct call_run *run);

/* Whether an extent is one that the tensor must match: an annotation says so. */
bool call_run_is_tied(const struct ir_buffer *buffer, int axis);

/* The extents of a buffer; false with a message where there are none such. */
bool call_run_shape(struct call_run *run, const struct ir_buffer *buffer, int64_t *shape);
/* Which of the kernel's outputs a result of the instance is. */
int call_run_output_of(const struct call_run *run, int index);

/* The value of a scalar parameter of that dtype. */
static inline union jit_scalar call_scalar(akg_dtype dtype, const akg_argument *argument)
{
    if (argument->kind == AKG_ARGUMENT_FLOAT)
        return dtype == AKG_FLOAT64 ? (union jit_scalar){.d = argument->as.real} : (union jit_scalar){.i = 0};
    int64_t integer = argument->kind == AKG_ARGUMENT_BOOL ? argument->as.boolean : argument->as.integer;
    return dtype == AKG_FLOAT64 ? (union jit_scalar){.d = (double)integer} : (union jit_scalar){.i = integer};
}

/* ---- call_route.c ---- */

/* A call of a form that was met before: all of it, and its status. False: it is none. */
bool call_routed(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_tensor **outputs,
                 akg_diagnostics **diagnostics, akg_status *status);
/* Remembers the form of a call that went well and is not given back yet; where there is no memory for it, or
 * no way, nothing happens. */
void call_remember_route(const struct call_run *run, const struct call_binding *binding,
                         const akg_argument *arguments, size_t count);

/* ---- call.c ---- */

/* Everything of one call. */
struct call {
    struct call_binding binding;
    struct broadcast broadcast;
    struct call_messages messages;
    const struct jit_instance *instance;
    struct gpu_device *device; /* of its tensors; NULL: the host */
    bool nowhere;              /* see call_find_device */
    jit_backend backend;
    bool trust_indices;
    int64_t repeats;
    bool routed;       /* the next one of its form may be routed */
    bool infer;        /* only what it would give is asked */
    struct cost *cost; /* or only what it would do; else NULL */
    struct text *text; /* or its plain C; else NULL */
    const struct call_runner *runner;
};

/* Finds the instance; another status than AKG_OK: there is none. What is asked of the call is set by the
 * caller. */
akg_status call_start(struct call *call, akg_kernel *kernel, const akg_argument *arguments, size_t count,
                      const akg_call_options *options, bool runs);
/* Hands the messages over, where it failed; they are gone afterwards. */
akg_status call_finish(struct call_messages *messages, akg_status status, akg_diagnostics **diagnostics);

#endif
