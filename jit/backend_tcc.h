/*
 * backend_tcc.h: C text to machine code in memory, through libtcc.
 *
 * Code pages are written first and then made read-execute, never both at once.
 * One compile runs at a time in the process (libtcc demands it); callers need no lock.
 */
#ifndef JIT_BACKEND_TCC_H
#define JIT_BACKEND_TCC_H

#include "../base/diagnostic.h"
#include "frame.h"

struct backend_code {
    void *memory; /* read-execute pages */
    size_t size;
    jit_entry entry;
};

/* Compiles `source` and looks up `entry`. What libtcc complains of is our bug: AKG_ERROR_INTERNAL with the
 * text in `diagnostics`; AKG_ERROR_MEMORY when pages cannot be had. */
akg_status backend_tcc_compile(const char *source, const char *entry, struct backend_code *code,
                               akg_diagnostics *diagnostics);
void backend_tcc_free(struct backend_code *code);

#endif
