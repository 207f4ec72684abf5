/*
 * hints_witness.h: two iterations of a loop that use the same element, found by trying.
 */
#ifndef JIT_HINTS_WITNESS_H
#define JIT_HINTS_WITNESS_H

#include "../ir/ir.h"

enum { WITNESS_RANK = 8 };

struct witness_use {
    struct ir_buffer *buffer; /* NULL: of the scalar that is looked for */
    int64_t index[WITNESS_RANK];
    int64_t iteration; /* value of the loop's variable */
    bool store;
    struct span span;
};

/* The call in which they were found: dims and attributes that are no floats, by symbol->index. */
struct witness_call {
    const int64_t *dims, *attributes;
};

/* Executes the kernel's integer part for a few small shapes; what depends on data is left out. True when two
 * iterations of one execution of the loop use one element, or the scalar when there is one, and at least one
 * writes it; whether a condition on data lets it write the scalar is left to the data. What `worth` says, if
 * it is not NULL, is tried where these show none. `call` may be NULL. Symbols' notes must be NULL, and are
 * again. */
bool witness_find(struct ir_kernel *kernel, const struct ir_stmt *loop, const struct ir_symbol *scalar,
                  const struct witness_call *worth, struct witness_use uses[2], struct witness_call *call);

#endif
