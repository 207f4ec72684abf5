/*
 * notes.h: what a user may want to know although nothing failed: a damaged entry of the cache, a C compiler
 * that does not work. Threads of the library add to them at any time; akg_module_notes hands them out.
 */
#ifndef JIT_NOTES_H
#define JIT_NOTES_H

#include "../base/diagnostic.h"

#include <pthread.h>

struct jit_notes {
    pthread_mutex_t lock;
    akg_diagnostics *list; /* NULL: nothing to tell */
};

void notes_init(struct jit_notes *notes);
void notes_free(struct jit_notes *notes);
/* A warning with up to three strings. Where there is no memory for it, or notes is
 * NULL, it is lost. */
void notes_add(struct jit_notes *notes, enum message message, const char *first, const char *second,
               const char *third, const char *help);
/* What was added since the last time, or NULL. */
akg_diagnostics *notes_take(struct jit_notes *notes);

#endif
