/*
 * diagnostic.h: messages as values.
 *
 * Every message has one row in messages.def: its number, its name, its severity
 * and its text. A stage reports with diagnostic_add and may attach notes and
 * one fix; the list renders as text or JSON (diagnostic_render.c) or SARIF
 * (diagnostic_sarif.c). Arguments of a message's text are strings only.
 *
 * A list belongs to one compile or call. When memory runs out while a message is
 * added, the list escapes through its arena like every stage (memory.h).
 */
#ifndef BASE_DIAGNOSTIC_H
#define BASE_DIAGNOSTIC_H

#include "../include/akg.h"
#include "memory.h"
#include "text.h"

/* A place in the source text. Lines and columns from 1, columns in bytes; end_column is one past. */
struct span {
    int line, column, end_line, end_column;
};

static inline struct span span_join(struct span first, struct span last)
{
    return (struct span){first.line, first.column, last.end_line, last.end_column};
}

#define SEVERITY_error AKG_SEVERITY_ERROR
#define SEVERITY_warning AKG_SEVERITY_WARNING

enum message {
#define X(id, number, severity, name, format) MSG_##id,
#include "messages.def"
#undef X
    MESSAGE_COUNT
};

struct message_row {
    const char *code, *name, *format;
    akg_severity severity;
};
extern const struct message_row message_table[MESSAGE_COUNT];

/* The list itself: created empty; grows; handed to the user as akg_diagnostics. */
struct akg_diagnostics;

/* NULL when out of memory. `file` and `text` are copied; text (of `length` bytes) may be NULL when there is
 * no source to show. */
akg_diagnostics *diagnostics_create(const char *file, const char *text, size_t length);
/* Where to jump when a message cannot be stored (see memory.h); returns where it was so far. The list may be
 * NULL. */
jmp_buf *diagnostics_set_escape(akg_diagnostics *list, jmp_buf *escape);
void diagnostics_set_warnings_are_errors(akg_diagnostics *list, bool are_errors);
/* What becomes of the warnings of that name from now on; false where no warning has it. */
bool diagnostics_set_warning(akg_diagnostics *list, const char *name, jit_warning_use use);
/* No warning is kept from now on. */
void diagnostics_silence_warnings(akg_diagnostics *list);

/* Adds a message: the row's format takes only %s. The result is for the two functions below, which accept
 * NULL; it stays valid as long as the list. A message with the same row and span as an earlier one is dropped
 * (without a place: with the same text): the earlier one is returned, but takes no more notes. After 100
 * errors no more errors are kept (NULL), after 100 warnings no more warnings, and no silent one at all. When
 * memory runs out, or for MSG_MEMORY itself, the list ends with one "out of memory", for which nothing is
 * allocated. */
struct diagnostic_entry;
struct diagnostic_entry *diagnostic_add(akg_diagnostics *list, enum message message, struct span span, ...);
/* A line under the message: "note: ..." or "help: ..." (the text carries its own prefix). */
void diagnostic_note(struct diagnostic_entry *entry, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Text that would repair the program if it replaced the span. */
void diagnostic_fix(struct diagnostic_entry *entry, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Likewise, of text to stand before and behind what the span holds, which stays as it was written. None where
 * the source is not at hand. */
void diagnostic_fix_around(struct diagnostic_entry *entry, const char *before, const char *behind);

/* From now on every message is placed there, with that note under it, whatever span it has of its own: what
 * it speaks of is not in the source that the list shows. NULL ends it. The note, which begins with
 * DIAGNOSTIC_PLACE, must live as long. */
#define DIAGNOSTIC_PLACE "note: in '"
void diagnostics_set_place(akg_diagnostics *list, const struct span *place, const char *note);

/* Copies the messages of another list, which speaks of another source, to one place of this one; each gets a
 * note that says where it comes from: the function `callee`, where that is not NULL. */
void diagnostics_adopt(akg_diagnostics *list, const akg_diagnostics *other, struct span place,
                       const char *callee);

/* True when an error was added for a place on one of these lines. */
bool diagnostics_has_error_between(const akg_diagnostics *list, int first_line, int last_line);

/* How many messages there are; and back to so many, those behind them forgotten: for work that is begun anew.
 */
int diagnostics_mark(const akg_diagnostics *list);
void diagnostics_rewind(akg_diagnostics *list, int mark);

/* True when memory ran out for a message. */
bool diagnostics_lost_some(const akg_diagnostics *list);

/* True when one of the messages says that the library is at fault. */
bool diagnostics_tell_of_bug(const akg_diagnostics *list);

/* Sorts by place; then moves what is in *list to *out when out is not NULL and there is something to tell;
 * else frees it. */
void diagnostics_hand_over(akg_diagnostics *list, akg_diagnostics **out);

/* The candidate nearest to `name` by edit distance, or NULL when none is near enough to propose. */
const char *spelling_nearest(const char *name, const char *const *candidates, int count);

#endif
