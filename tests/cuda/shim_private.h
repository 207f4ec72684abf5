/*
 * shim_private.h: what the files of the shim share.
 */
#ifndef TESTS_CUDA_SHIM_PRIVATE_H
#define TESTS_CUDA_SHIM_PRIVATE_H

#include "shim.h"

#include "../../jit/frame.h"

struct shim_index {
    unsigned x, y, z;
};

/* What compiled text is handed: struct akg_shim_call in it. */
struct shim_call {
    int number;
    void **parameters;
    struct shim_index *indices; /* thread, block, extent of a block, of the grid */
    const char *shared;         /* where shared memory lies, somewhere; compiled text does not know of it */
    size_t shared_bytes;
};

/* What compiled text may call besides the library. */
struct shim_symbol {
    const char *name, *prototype;
    void *address;
};
enum { SHIM_SYMBOLS = 96 };
/* Of threads, and of what they move; either ends with a row without a name. */
extern const struct shim_symbol shim_symbols[], shim_moves[];

/* Functions that run on a fibre's own stack. */
#define ON_FIBRE __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

/* For what compiled text calls: the launch ends, for the thread at hand did what a device would not. */
void shim_leave_after_fault(void);
/* Whether it is shared memory, or on a thread's stack. */
bool shim_is_shared(const void *memory);
bool shim_is_own(const void *memory);

bool shim_run(jit_entry entry, struct shim_call *call, unsigned grid, unsigned block, char *reason,
              size_t size);

#endif
