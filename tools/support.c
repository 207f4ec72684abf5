/*
 * support.c: problems, nearest spellings and strings for akgrun.
 *
 * A problem's text has a fixed size: a message is for a person, and an overlong
 * word from the command line is cut rather than followed.
 */
#include "support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool problem_set(struct problem *problem, akg_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    problem->status = status;
    vsnprintf(problem->text, sizeof problem->text, format, list);
    va_end(list);
    problem->help[0] = '\0';
    return false;
}

bool problem_memory(struct problem *problem)
{
    return problem_set(problem, AKG_ERROR_MEMORY, "out of memory");
}

bool problem_library(struct problem *problem, akg_status status, akg_diagnostics *diagnostics)
{
    problem_set(problem, status, "%s", akg_status_text(status));
    akg_diagnostics_free(problem->diagnostics);
    problem->diagnostics = diagnostics;
    return false;
}

bool problem_help(struct problem *problem, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(problem->help, sizeof problem->help, format, list);
    va_end(list);
    return false;
}

void problem_free(struct problem *problem)
{
    akg_diagnostics_free(problem->diagnostics);
    akg_diagnostics_free(problem->warnings);
    free(problem->members);
    memset(problem, 0, sizeof *problem);
}

/* Words longer than this are nobody's misspelling. */
enum { NEAREST_LENGTH = 63 };

/* The number of insertions, deletions, replacements and swaps of neighbours between two words. */
static size_t edit_distance(const char *left, const char *right)
{
    size_t rows[3][NEAREST_LENGTH + 1];
    size_t left_length = strlen(left), right_length = strlen(right);
    for (size_t j = 0; j <= right_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= left_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *swap = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= right_length; j++) {
            size_t best = above[j - 1] + (left[i - 1] != right[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] &&
                swap[j - 2] + 1 < best)
                best = swap[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[left_length % 3][right_length];
}

void nearest_consider(struct nearest *nearest, const char *candidate)
{
    size_t length = strlen(nearest->word);
    if (length > NEAREST_LENGTH || strlen(candidate) > NEAREST_LENGTH)
        return;
    size_t distance = edit_distance(nearest->word, candidate);
    size_t limit = length <= 3 ? 1 : length <= 7 ? 2 : 3;
    /* a word of which nothing is left is not a misspelling: y is not x */
    size_t longest = length > strlen(candidate) ? length : strlen(candidate);
    if (distance <= limit && distance < longest && (!nearest->best || distance < nearest->distance)) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

char *string_format(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *string = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!string)
        return NULL;
    va_start(list, format);
    vsnprintf(string, (size_t)length + 1, format, list);
    va_end(list);
    return string;
}

bool string_ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

void name_list_add(struct name_list *list, const char *name)
{
    static const char more[] = ", ...";
    size_t room = sizeof list->text - list->length;
    if (list->full)
        return;
    if (strlen(name) + 2 + sizeof more > room) {
        list->full = true;
        name = "...";
    }
    list->length += (size_t)snprintf(list->text + list->length, room, "%s%s", list->length ? ", " : "", name);
}
