/*
 * source.h: reads the text of a program.
 */
#ifndef JIT_SOURCE_H
#define JIT_SOURCE_H

#include "../dsl/token.h"

/* The bytes of the file `name` into the arena; false after a message. */
bool source_read(struct arena *arena, const char *name, struct dsl_source *source,
                 akg_diagnostics *diagnostics);

#endif
