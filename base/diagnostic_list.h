/*
 * diagnostic_list.h: what a list of messages is made of. For diagnostic.c, which
 * fills it, and diagnostic_render.c and diagnostic_sarif.c, which show the source text it keeps; for nobody
 * else.
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
    int error_count;   /* of entries */
    struct span place; /* line not 0: where all messages are placed */
    const char *place_note;
    bool warnings_are_errors;
    unsigned char uses[MESSAGE_COUNT]; /* of the row's warnings: a jit_warning_use + 1, or 0 as usual */
    bool lost;                         /* a message could not be stored: `memory` then follows the entries */
    akg_diagnostic memory;
};

/* A line of the source text, without its end. */
struct line {
    const char *bytes;
    size_t length;
};
/* Line number `number`; false where there is none. */
bool diagnostics_find_line(const akg_diagnostics *list, int number, struct line *line);

void diagnostics_render_sarif(struct text *out, const akg_diagnostics *const *lists, size_t count);

#endif
