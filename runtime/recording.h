/*
 * recording.h: a computation put down call by call, without running it.
 *
 * While a tape has a recording, calls of kernels on it make tensors that stand for what the calls would give:
 * they have dtype and shape, and a number in the recording. Whoever asks for their elements breaks the
 * recording, which then says so; their memory is there, and zero, so that nothing worse happens.
 *
 * Numbers among the arguments of a call need not be the same for other shapes. A graph function is planned
 * anew for those (graph.h), so a number that a plan gave is put down as its place in that plan.
 */
#ifndef RUNTIME_RECORDING_H
#define RUNTIME_RECORDING_H

#include "graph.h"

enum recorded_kind {
    RECORDED_CALL,   /* of a kernel */
    RECORDED_PLAN,   /* of a graph function: runs nothing, but calls behind it take their numbers from it */
    RECORDED_SUM,    /* of a gradient, to the form of another tensor; a cast where only the dtype differs */
    RECORDED_EXPAND, /* a view of a tensor in the shape of another */
    RECORDED_FILL,   /* a constant in the form of another tensor */
    RECORDED_HOST    /* of a host function, or of its backward */
};

/* Where a number comes from: parameter `parameter` of call `call` of the plan that step `step` makes; with
 * call -1 of step `step` itself. step -1: it is what stands in the argument. */
struct recorded_source {
    int step, call, parameter;
};

struct recorded_argument {
    akg_argument argument; /* its name is the parameter's; of tensors only the kind and the count hold */
    int *values;           /* numbers of its tensors; -1: none there */
    struct recorded_source source;
};

struct recorded_step {
    enum recorded_kind kind;
    akg_kernel *kernel;      /* CALL, PLAN */
    struct graph_plan *plan; /* PLAN: the one whose calls come next, a reference */
    struct recorded_argument *arguments;
    int argument_count;
    int *outputs; /* numbers of values; one that is also an argument is written in place */
    int output_count;
    struct recorded_source place; /* CALL: in which plan, and the number of the call there */
    int source, like;             /* SUM, EXPAND, FILL: values; like may be RECORDED_AS_IT_WAS */
    akg_dtype dtype;              /* SUM, FILL */
    double fill;
    const akg_host_operator *host; /* HOST: its one argument is all its tensors */
    bool backward;                 /* HOST: the backward function */
    int *likes; /* HOST backward: per output the value whose form it has, or -1: it is as it was recorded */
};

/* A tensor. */
struct recorded_value {
    akg_dtype dtype;
    int rank;
    const int64_t *shape; /* as it was when recorded */
    int input;            /* number of the graph's input, or -1 */
    akg_tensor *captured; /* of the program, a reference; or NULL */
};

struct recording {
    atomic_size_t references;
    struct arena arena;
    LIST(struct recorded_step) steps;
    LIST(struct recorded_value) values;
    LIST(akg_module *) modules;            /* references */
    struct recorded_source place;          /* of the calls that come */
    const struct recorded_source *sources; /* of the arguments of the plan that comes; NULL: `place` tells */
    const char *broken;                    /* why it is worth nothing; NULL: it is sound */
    bool open;
};

struct recording *recording_new(void);
struct recording *recording_retain(struct recording *recording);
void recording_release(struct recording *recording);

/* A tensor that stands for input number `input`. */
akg_status recording_input(struct recording *recording, int input, akg_dtype dtype, int rank,
                           const int64_t *shape, akg_tensor **tensor);
/* The number of a tensor of the recording or of the program, which is put down if it is new; -1 for one that
 * cannot be followed (the recording is broken then). May escape. */
int recording_value(struct recording *recording, akg_tensor *tensor);

/* The same, that does not escape: -1 also when memory ran out. */
int recording_find(struct recording *recording, akg_tensor *tensor);

/* akg_kernel_call, put down. */
akg_status recording_call(struct recording *recording, akg_kernel *kernel, const akg_argument *arguments,
                          size_t count, akg_tensor **outputs, akg_diagnostics **diagnostics);
/* The number of the last step; what was made by it can be told by. */
int recording_last(const struct recording *recording);

/* A graph function begins whose calls come next, as planned. recording_leave takes what this gave. */
struct recorded_source recording_enter(struct recording *recording, struct graph_plan *plan,
                                       const akg_argument *arguments, size_t count, akg_status *status);
void recording_leave(struct recording *recording, struct recorded_source before);

/* What the result of an operation of gradients is like, where it is no value of the recording: it has the
 * extents that it was recorded with, as all has that was made before; or it is like the source. */
enum { RECORDED_AS_IT_WAS = -1, RECORDED_LIKE_SOURCE = -2 };

/* The operations of gradients. `like` is the number of a value, or one of those above. */
akg_status recording_sum(struct recording *recording, akg_tensor *source, int like, akg_dtype dtype, int rank,
                         const int64_t *shape, akg_tensor **sum);
akg_status recording_expand(struct recording *recording, akg_tensor *source, int like, int rank,
                            const int64_t *shape, akg_tensor **expanded);
akg_status recording_fill(struct recording *recording, int like, akg_dtype dtype, int rank,
                          const int64_t *shape, double value, akg_tensor **tensor);

/* A host function, or its backward: one of its outputs. */
struct recorded_form {
    bool wanted;
    akg_description form;
    int like; /* the value of that form, or -1 */
};

/* Makes a tensor for each output that is wanted. Entries of `tensors` may be NULL. */
akg_status recording_host(struct recording *recording, const akg_host_operator *host, bool backward,
                          akg_tensor *const *tensors, size_t count, const struct recorded_form *forms,
                          akg_tensor **outputs, size_t output_count);

/* Says why the recording is worth nothing; the first reason counts. Static text. */
void recording_break(struct recording *recording, const char *why);

#endif
