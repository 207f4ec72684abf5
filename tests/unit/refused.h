/*
 * refused.h: whether a call of the library was taken, or refused with a certain message. The messages go to
 * `diagnostics`, which stays empty in between.
 */
#ifndef TESTS_UNIT_REFUSED_H
#define TESTS_UNIT_REFUSED_H

#include "api_support.h"
#include "check.h"

static akg_diagnostics *diagnostics;

static inline void refused_forget(void)
{
    akg_diagnostics_free(diagnostics);
    diagnostics = NULL;
}

static inline void refused_show(void)
{
    if (akg_diagnostics_count(diagnostics))
        fprintf(stderr, "    says %s\n", akg_diagnostics_at(diagnostics, 0)->message);
}

/* The expression has this status, and its first error that name and a message or a note with that piece. */
#define REFUSED(expression, status, name, piece)                                                             \
    do {                                                                                                     \
        CHECK_INT(expression, status);                                                                       \
        CHECK_STRING(api_error(diagnostics), name);                                                          \
        if (!CHECK(api_says(diagnostics, piece)))                                                            \
            refused_show();                                                                                  \
        refused_forget();                                                                                    \
    } while (0)

#define ACCEPTED(expression)                                                                                 \
    do {                                                                                                     \
        if (!CHECK((expression) == AKG_OK))                                                                  \
            refused_show();                                                                                  \
        refused_forget();                                                                                    \
    } while (0)

#endif
