/*
 * overlap.h: which tensors share memory.
 */
#ifndef RUNTIME_OVERLAP_H
#define RUNTIME_OVERLAP_H

#include "tensor.h"

/* Addresses of the first byte and of the last, of a tensor with elements. */
void overlap_find_ends(const akg_tensor *tensor, uintptr_t *first, uintptr_t *last);

/* Whether an element of one shares a byte with an element of the other. Exact, but for views so contrived
 * that finding out would take long: those are said to overlap. */
bool overlap_between(const akg_tensor *a, const akg_tensor *b);

/* False, at once, where a tensor in one piece lies apart from the bytes from first to last, as most do. */
static inline bool overlap_is_possible(uintptr_t first, uintptr_t last, const akg_tensor *tensor)
{
    uintptr_t data = (uintptr_t)tensor->data;
    uintptr_t size = (uintptr_t)tensor->element_count * (uintptr_t)dtype_table[tensor->dtype].size;

    return !tensor->contiguous || (data <= last && data + size > first);
}

/* The same for two elements of one tensor: a stride of 0, windows that slide. */
bool overlap_within(const akg_tensor *tensor);

#endif
