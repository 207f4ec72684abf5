/*
 * support.h: what every part of akgrun needs: a problem as a value, the nearest
 * spelling, and strings on the heap.
 *
 * akgrun sees nothing of the library but include/akg.h; what it shares within
 * itself is here.
 */
#ifndef TOOLS_SUPPORT_H
#define TOOLS_SUPPORT_H

#include "../include/akg.h"

/* Why a step did not succeed: either the library's diagnostics, or one line of our own and perhaps a line
 * of help; and what else the report has to tell, good or bad. Starts zeroed; report_problem prints it,
 * problem_free empties it. */
struct problem {
    akg_status status;
    char text[1024], help[1024];
    akg_diagnostics *diagnostics;
    akg_diagnostics *warnings; /* of what went well */
    char *members; /* for a report in JSON: what was done before, each member with its comma; or NULL */
};

/* These fill *problem and yield false, so that a step can `return problem_set(...)`. */
bool problem_set(struct problem *problem, akg_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool problem_memory(struct problem *problem);
/* Takes the list over; it may be NULL. */
bool problem_library(struct problem *problem, akg_status status, akg_diagnostics *diagnostics);
/* Adds the line of help; yields false too. */
bool problem_help(struct problem *problem, const char *format, ...) __attribute__((format(printf, 2, 3)));
void problem_free(struct problem *problem);

/* The best of the candidates considered so far; `best` is NULL while none is near enough to propose. */
struct nearest {
    const char *word, *best;
    size_t distance;
};
void nearest_consider(struct nearest *nearest, const char *candidate);

/* printf into a new string for free(), or NULL when out of memory. */
char *string_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool string_ends_with(const char *text, const char *ending);

/* A list of names in a fixed buffer, "a, b, c"; too long a list ends in "...". */
struct name_list {
    char text[400];
    size_t length;
    bool full;
};
void name_list_add(struct name_list *list, const char *name);

#endif
