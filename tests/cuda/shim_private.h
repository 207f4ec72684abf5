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
extern const struct shim_symbol shim_symbols[]; /* ends with a row without a name */

bool shim_run(jit_entry entry, struct shim_call *call, unsigned grid, unsigned block, char *reason,
              size_t size);

#endif
