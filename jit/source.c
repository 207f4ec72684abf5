/*
 * source.c: the text of a program file, read whole.
 */
#include "source.h"

#include <stdio.h>

static void source_error(akg_diagnostics *diagnostics, const char *name, const char *what)
{
    diagnostic_add(diagnostics, MSG_SOURCE_FILE, (struct span){0}, name, what);
}

bool source_read(struct arena *arena, const char *name, struct dsl_source *source,
                             akg_diagnostics *diagnostics)
{
    FILE *file = memory_fail_here() ? NULL : fopen(name, "rb");
    char *bytes = NULL;
    size_t length = 0, capacity = 0;
    bool good;

    if (!file) {
        source_error(diagnostics, name, "cannot be opened");
        return false;
    }
    for (;;) {
        if (length == capacity) {
            char *more = capacity > DSL_MAX_SOURCE ? NULL : memory_resize(bytes, capacity = capacity * 2 + 4096);
            if (!more)
                break;
            bytes = more;
        }
        size_t got = fread(bytes + length, 1, capacity - length, file);
        length += got;
        if (got == 0)
            break;
    }
    good = feof(file) && !ferror(file) && !memory_fail_here();
    fclose(file);
    if (good) {
        jmp_buf *escape = arena->escape, here;
        if (setjmp(here)) {
            memory_free(bytes);
            longjmp(*escape, 1);
        }
        arena->escape = &here;
        source->text = arena_copy(arena, bytes ? bytes : "", length);
        source->length = length;
        arena->escape = escape;
    } else {
        source_error(diagnostics, name, length > DSL_MAX_SOURCE ? "is too long" : "cannot be read");
    }
    memory_free(bytes);
    return good;
}
