/*
 * diagnostic_list.h: what a list of messages is made of. For diagnostic.c, which
 * fills it, and diagnostic_render.c, which shows the source text it keeps; for nobody else.
 */
#ifndef BASE_DIAGNOSTIC_LIST_H
#define BASE_DIAGNOSTIC_LIST_H

#include "diagnostic.h"

struct akg_diagnostics {
    struct arena arena; /* its escape is set only while something is added */
    jmp_buf *escape;
    const char *file;
    const char *text; /* NULL: no source to show */
    size_t length;
    LIST(struct diagnostic_entry *) entries;
    int error_count; /* of entries */
    bool warnings_are_errors;
    bool lost; /* a message could not be stored: `memory` then follows the entries */
    akg_diagnostic memory;
};

#endif
