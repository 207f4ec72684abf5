/*
 * backend_tcc.h: C text to machine code in memory, through libtcc.
 *
 * Code pages are written first and then made read-execute, never both at once.
 * One compile runs at a time in the process (libtcc demands it); callers need no lock.
 */
#ifndef JIT_BACKEND_TCC_H
#define JIT_BACKEND_TCC_H

#include "../base/diagnostic.h"
#include "code_image.h"

struct backend_code {
    struct code_pages pages;
    struct code_pages vectors; /* of the vector loops that it calls: the caller's to put there, afterwards */
    jit_entry entry;
};

/* A function that the source may call besides those of the library. Lists end with one without a name. */
struct backend_symbol {
    const char *name;
    const void *address;
};

/* Compiles `source` and looks up `entry`; `symbols`, what the source may call besides the library, may be
 * NULL. What libtcc complains of is our bug: AKG_ERROR_INTERNAL with the text in `diagnostics`;
 * AKG_ERROR_MEMORY when pages cannot be had. On failure nothing is left of `code`. */
akg_status backend_tcc_compile(const char *source, const char *entry, const struct backend_symbol *symbols,
                               struct backend_code *code, akg_diagnostics *diagnostics);
/* The same; *image receives the code as one that can be kept, or none where that cannot be had; NULL: nobody
 * asks. `calls`, by row of the library: whether the source calls it, which saves libtcc a hundred symbols;
 * NULL: any. */
akg_status backend_tcc_compile_image(const char *source, const char *entry,
                                     const struct backend_symbol *symbols, const bool *calls,
                                     struct backend_code *code, struct code_image *image,
                                     akg_diagnostics *diagnostics);
/* The code of an image that was made with the same names; false: compile. */
bool backend_tcc_load(const void *bytes, size_t size, const struct backend_symbol *symbols,
                      struct backend_code *code);
void backend_tcc_free(struct backend_code *code);

#endif
