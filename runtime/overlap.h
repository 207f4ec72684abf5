/*
 * overlap.h: which tensors share memory.
 */
#ifndef RUNTIME_OVERLAP_H
#define RUNTIME_OVERLAP_H

#include "tensor.h"

/* Whether an element of one shares a byte with an element of the other. Exact, but for views so contrived
 * that finding out would take long: those are said to overlap. */
bool overlap_between(const akg_tensor *a, const akg_tensor *b);

/* The same for two elements of one tensor: a stride of 0, windows that slide. */
bool overlap_within(const akg_tensor *tensor);

#endif
