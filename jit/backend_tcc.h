/*
 * backend_tcc.h: C text to machine code in memory, through libtcc.
 *
 * Code pages are written first and then made read-execute, never both at once.
 * One compile runs at a time in the process (libtcc demands it); callers need no lock.
 */
#ifndef JIT_BACKEND_TCC_H
#define JIT_BACKEND_TCC_H

#include "../base/diagnostic.h"
#include "code_pages.h"
#include "frame.h"

struct backend_code {
    struct code_pages pages;
    struct code_pages vectors; /* of the vector loops that it calls: the caller's to put there, afterwards */
    jit_entry entry;
};

/* A function that the source may call besides those of the library. */
struct backend_symbol {
    const char *name;
    const void *address;
};

/* Compiles `source` and looks up `entry`; `symbols` ends with one without a name, or is NULL. What libtcc
 * complains of is our bug: AKG_ERROR_INTERNAL with the text in `diagnostics`; AKG_ERROR_MEMORY when pages
 * cannot be had. On failure nothing is left of `code`. */
akg_status backend_tcc_compile(const char *source, const char *entry, const struct backend_symbol *symbols,
                               struct backend_code *code, akg_diagnostics *diagnostics);
void backend_tcc_free(struct backend_code *code);

#endif
