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

#endif
