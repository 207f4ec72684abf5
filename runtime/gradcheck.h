/*
 * gradcheck.h: between the comparison of a gradient with differences (gradcheck.c) and the search for the
 * place in the program that made it (gradcheck_place.c).
 */
#ifndef RUNTIME_GRADCHECK_H
#define RUNTIME_GRADCHECK_H

#include "call.h"
#include "operator.h"

/* Where a gradient comes from. */
struct gradcheck_place {
    struct span span;     /* no line where there is none to show */
    const char *function; /* whose text that is, or NULL */
    bool is_bprop;        /* it is the bprop of what was checked; else that itself */
};

/* The place where the gradient of the operator's parameter number `parameter` is stored. */
void gradcheck_find_place(const akg_operator *callee, int parameter, struct gradcheck_place *place);

/* A call in complex numbers. Starts zeroed but for what is said here; gradcheck_complex_end is due in any
 * case. */
struct gradcheck_complex {
    const void *changed; /* the element: of the argument whose elements lie there, contiguous, */
    int64_t place;       /* this one */
    int64_t steps;       /* how much may be computed, in all calls */
    bool refused; /* the call ended since that was too little, or complex numbers are not allowed in it */
    /* Of the last call, per buffer of its kernel: */
    int count;
    const void **data;
    double **imaginary;
    int64_t *counts;
};

/* For call_runner. */
int gradcheck_complex_run(void *context, const struct ir_kernel *kernel, const struct jit_frame *frame);
/* The derivative of an element of the last call's outputs, which are contiguous, by the changed one. */
double gradcheck_complex_derivative(const struct gradcheck_complex *step, const void *data, int64_t place);
void gradcheck_complex_end(struct gradcheck_complex *step);

#endif
