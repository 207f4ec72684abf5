/*
 * source.c: the text of a program file, read whole.
 */
#include "source.h"

#include <errno.h>
#include <stdio.h>

static void source_error(akg_diagnostics *diagnostics, const char *name, const char *what)
{
    diagnostic_add(diagnostics, MSG_SOURCE_FILE, (struct span){0}, name, what);
}

/* Moves the bytes into the arena: they are freed in any case. */
static void source_keep(struct arena *arena, char *bytes, size_t length, struct dsl_source *source)
{
    jmp_buf *escape = arena->escape, here;

    if (setjmp(here)) {
        memory_free(bytes);
        longjmp(*escape, 1);
    }
    arena->escape = &here;
    source->text = arena_copy(arena, bytes ? bytes : "", length);
    source->length = length;
    arena->escape = escape;
    memory_free(bytes);
}

bool source_read(struct arena *arena, const char *name, struct dsl_source *source,
                 akg_diagnostics *diagnostics)
{
    errno = 0;
    FILE *file = memory_fail_here() ? NULL : fopen(name, "rb");
    char *bytes = NULL;
    size_t length = 0, capacity = 0;
    bool good, no_memory = false;

    if (!file) {
        source_error(diagnostics, name,
                     errno == ENOENT   ? "does not exist"
                     : errno == EACCES ? "may not be read"
                                       : "cannot be opened");
        return false;
    }
    for (;;) {
        if (length == capacity) {
            char *more;
            if (capacity > DSL_MAX_SOURCE)
                break;
            more = memory_resize(bytes, capacity * 2 + 4096);
            no_memory = !more;
            if (no_memory)
                break;
            bytes = more;
            capacity = capacity * 2 + 4096;
        }
        size_t got = fread(bytes + length, 1, capacity - length, file);
        length += got;
        if (got == 0)
            break;
    }
    good = feof(file) && !ferror(file) && !memory_fail_here();
    fclose(file);
    if (good) {
        source_keep(arena, bytes, length, source);
        return true;
    }
    memory_free(bytes);
    if (no_memory)
        longjmp(*arena->escape, 1);
    source_error(diagnostics, name, length > DSL_MAX_SOURCE ? "is too long" : "cannot be read");
    return false;
}
