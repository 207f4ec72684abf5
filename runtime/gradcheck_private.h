/*
 * gradcheck_private.h: between the calls of an operator whose gradient is checked (gradcheck_calls.c) and the
 * comparison of what they give (gradcheck.c).
 */
#ifndef RUNTIME_GRADCHECK_PRIVATE_H
#define RUNTIME_GRADCHECK_PRIVATE_H

#include "autograd.h"
#include "gpu.h"
#include "gradcheck.h"

/* A tensor among the arguments. */
struct gradcheck_input {
    const char *name;
    int parameter;
    int64_t item;      /* of a variadic parameter, else -1 */
    size_t argument;   /* where it is handed in */
    akg_tensor *value; /* C-contiguous, our own */
    akg_tensor *leaf;  /* the same on the tape, where it is differentiated by */
    akg_tensor *gradient;
    bool wanted, written; /* differentiated by; written in place by the operator, returned or not */
    bool is_returned;     /* it is an output, too */
    bool has_none;        /* the operator has no gradient for it */
    uint64_t version;     /* of what was handed to the recorded call, before it */
};

struct gradcheck {
    akg_operator *callee;
    const akg_gradient_check_options *options;
    akg_argument *arguments;
    size_t argument_count;
    struct gradcheck_input *inputs;
    akg_tensor **given; /* per input: what is handed to the operator, in one call */
    size_t input_count, wanted_count;
    akg_tensor **outputs, **weights; /* of the recorded call; NULL weights: not part of the sum */
    akg_tensor **high, **low;        /* of the calls that are compared, as float64 */
    size_t output_count;
    struct gpu_device *device; /* where the gradient is computed; all else is on the host */
    double epsilon, tolerance, complex_tolerance; /* epsilon: of the coarsest dtype that takes part */
    struct gradcheck_complex complex;
    akg_tape *tape;
    akg_diagnostics **diagnostics; /* of the caller */
    akg_diagnostics *list;         /* what is wrong with the gradients */
};

/* Takes the tensors of the arguments, of which there is room for as many. */
akg_status gradcheck_take_all(struct gradcheck *check);
/* Whether every name is that of an input to differentiate by. */
bool gradcheck_names_exist(const struct gradcheck *check);
/* How many tensors the arguments are at most. */
size_t gradcheck_count_tensors(const akg_argument *arguments, size_t count);
/* Tensors that the outputs hold; an operator written in C may be told how many. */
size_t gradcheck_count_outputs(const struct gradcheck *check);
/* Releases what was handed to the last call. */
void gradcheck_drop_given(struct gradcheck *check);
/* Releases the gradients, what was recorded, and all outputs. */
void gradcheck_forget_gradients(struct gradcheck *check);
/* The gradients, of all that has a part in them. */
akg_status gradcheck_find_gradients(struct gradcheck *check);
/* Hands in the values as they are now, where they may be written copies of them. */
akg_status gradcheck_give(struct gradcheck *check);
/* Calls the operator, which nothing records: the outputs that take part, as float64. */
akg_status gradcheck_evaluate(struct gradcheck *check, akg_tensor **results);

#endif
