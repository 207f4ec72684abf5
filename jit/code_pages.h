/*
 * code_pages.h: memory for machine code, written first, then read-execute, never both.
 */
#ifndef JIT_CODE_PAGES_H
#define JIT_CODE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

struct debug_image;

struct code_pages {
    void *memory; /* NULL: none */
    size_t size;
    struct debug_image *debug; /* the names of the code for debuggers, or NULL; goes with the pages */
};

/* New pages of at least that size, readable and writable. False when they cannot be had. */
bool code_pages_map(struct code_pages *pages, size_t size);
/* Makes them executable and no longer writable. */
bool code_pages_seal(struct code_pages *pages);
void code_pages_free(struct code_pages *pages);

#endif
