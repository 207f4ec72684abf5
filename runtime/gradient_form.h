/*
 * gradient_form.h: what a call of a kernel on a tape comes to, the tensors themselves left out.
 *
 * Calls with arguments of the same kinds, dtypes, extents and values have one form: nodes share it, and the
 * tape remembers those that it met last. A form never changes once its first call was made; the backward
 * part is added when that is first run.
 */
#ifndef RUNTIME_GRADIENT_FORM_H
#define RUNTIME_GRADIENT_FORM_H

#include "autograd.h"
#include "graph.h"

/* One parameter of the forward, as it was called. */
struct form_parameter {
    akg_argument argument; /* attributes, and numbers in place of tensors: copied */
    bool is_operand;       /* a parameter for tensors */
    size_t first, count;   /* its tensors among the inputs; an operand without tensor still has one entry */
};

/* A tensor among the arguments. */
struct form_tensor {
    akg_dtype dtype;
    int rank;
    struct gpu_device *device;
    const int64_t *shape;
    size_t input; /* its number among the inputs */
};

/* How the bprop runs. */
struct form_backward {
    struct graph_plan *plan; /* a reference */
    int input_of[];          /* per item of the result: the input it is the gradient of, or -1 */
};

struct gradient_form {
    atomic_size_t references;
    struct arena arena;
    struct akg_kernel *kernel, *bprop; /* bprop: NULL where there is none */
    akg_module *module;                /* a reference: keeps both */
    akg_registry *registry;
    struct form_parameter *parameters;
    size_t input_count, output_count;
    akg_tensor **described; /* inputs, then outputs: in place of those that the bprop does not use or that are
                               missing; else NULL */
    bool *used;             /* per input and output: it uses them */
    bool *passed_by;        /* per output: no gradient comes from it */
    LIST(size_t) written;   /* inputs that the kernel writes */
    int recorded;           /* the step of a recording that its one call is; -1: none */
    _Atomic(struct form_backward *) backward;
    /* what makes a call one of this form */
    bool can_serve;                /* others may have it */
    size_t place;                  /* in the table */
    const akg_argument *arguments; /* as they were given, copied but for tensors */
    size_t argument_count;
    LIST(struct form_tensor) tensors; /* in their order */
};

enum { FORM_MOST_TENSORS = 16 }; /* inputs and outputs, of what others may have */

/* A form that the tape met before, borrowed until it keeps another; the call's tensors are put into `inputs`,
 * which has room for FORM_MOST_TENSORS. NULL: there is none. */
struct gradient_form *gradient_form_find(akg_tape *tape, const struct akg_kernel *kernel,
                                         const akg_argument *arguments, size_t count, akg_tensor **inputs);
/* A new one. `inputs` receives the call's tensors, in memory of the form. NULL when memory ran out. */
struct gradient_form *gradient_form_make(const struct call_binding *binding, akg_registry *registry,
                                         const akg_argument *arguments, size_t count, akg_tensor ***inputs);
/* What the outputs are is known when the kernel has run; false when memory ran out. */
bool gradient_form_complete(struct gradient_form *form, akg_tensor *const *inputs,
                            akg_tensor *const *outputs);
/* The tape remembers it, if it can. */
void gradient_form_keep(akg_tape *tape, struct gradient_form *form);
struct gradient_form *gradient_form_retain(struct gradient_form *form);
void gradient_form_release(void *form);

/* Frees what a tape remembers. */
void gradient_forms_free(struct gradient_forms *forms);

#endif
