/*
 * broadcast.h: tensors of different shapes brought to one, without a copy.
 */
#ifndef RUNTIME_BROADCAST_H
#define RUNTIME_BROADCAST_H

#include "call.h"

/* The operands of one call of a @broadcast function, as views of one shape. */
struct broadcast {
    akg_argument *arguments; /* per parameter; NULL: nothing had to be changed */
    size_t count;
    const char *number; /* a parameter that was given one where a tensor belongs, or NULL */
};

/*
 * Puts views in place of the bound tensors whose shapes differ from the common one, and tensors of rank 0 in
 * place of numbers. AKG_ERROR_CALL with a message when the shapes do not fit. broadcast_end is due in any
 * case.
 */
akg_status broadcast_begin(struct broadcast *broadcast, struct call_binding *binding,
                           akg_diagnostics *diagnostics);
void broadcast_end(struct broadcast *broadcast);

/* The common shape of two (numpy's rules); false where there is none. `shape` may be `first`. */
bool broadcast_shapes(int *rank, int64_t *shape, int second_rank, const int64_t *second);

/* A view of `tensor` in a shape that it can be broadcast to: what is repeated has stride 0. */
akg_status broadcast_view(akg_tensor *tensor, int rank, const int64_t *shape, akg_tensor **view);

#endif
