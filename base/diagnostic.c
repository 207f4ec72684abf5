/*
 * diagnostic.c: the list of messages: storing, dropping duplicates, handing over.
 *
 * Everything a list holds, the copied source text included, lies in its own
 * arena, so that it can be rendered long after the compile is over. Running out
 * of memory is never silent: the message that was lost leaves MSG_MEMORY behind,
 * for which the list has room from the start.
 */
#include "diagnostic.h"
#include "diagnostic_list.h"

#include <limits.h>
#include <string.h>

#define X(id, number, severity, name, format)                                                                \
    _Static_assert(number >= 100 && number <= 999, "a message's number has three digits");
#include "messages.def"
#undef X

const struct message_row message_table[MESSAGE_COUNT] = {
#define X(id, number, severity, name, format) {"AKG0" #number, name, format, SEVERITY_##severity},
#include "messages.def"
#undef X
};

enum { MOST_PER_SEVERITY = 100 };

struct diagnostic_entry {
    akg_diagnostic shown;
    akg_diagnostics *list;
    enum message message;
    bool closed; /* a duplicate was dropped: what it goes on to say belongs to nobody */
    LIST(const char *) notes;
};

/* Does `work`, which may allocate in the list's arena. False when memory ran out in it. */
static bool list_try(akg_diagnostics *list, void (*work)(akg_diagnostics *list, void *context), void *context)
{
    jmp_buf here;
    list->arena.escape = &here;
    bool ran_out = setjmp(here) != 0;
    if (!ran_out)
        work(list, context);
    list->arena.escape = NULL;
    return !ran_out;
}

struct source {
    const char *file, *text;
    size_t length;
};

static void copy_source(akg_diagnostics *list, void *context)
{
    const struct source *source = context;
    list->file = source->file ? arena_copy(&list->arena, source->file, strlen(source->file)) : "";
    if (source->text) {
        list->text = arena_copy(&list->arena, source->text, source->length);
        list->length = source->length;
    }
}

akg_diagnostics *diagnostics_create(const char *file, const char *text, size_t length)
{
    akg_diagnostics *list = memory_zeroed(1, sizeof *list);
    if (!list)
        return NULL;
    if (!list_try(list, copy_source, &(struct source){file, text, length})) {
        akg_diagnostics_free(list);
        return NULL;
    }
    const struct message_row *row = &message_table[MSG_MEMORY];
    list->memory = (akg_diagnostic){.severity = row->severity,
                                    .code = row->code,
                                    .name = row->name,
                                    .file = list->file,
                                    .message = row->format};
    return list;
}

jmp_buf *diagnostics_set_escape(akg_diagnostics *list, jmp_buf *escape)
{
    jmp_buf *before = list ? list->escape : NULL;
    if (list)
        list->escape = escape;
    return before;
}

void diagnostics_set_warnings_are_errors(akg_diagnostics *list, bool are_errors)
{
    list->warnings_are_errors = are_errors;
}

bool diagnostics_set_warning(akg_diagnostics *list, const char *name, jit_warning_use use)
{
    for (int i = 0; i < MESSAGE_COUNT; i++)
        if (message_table[i].severity == AKG_SEVERITY_WARNING && strcmp(message_table[i].name, name) == 0) {
            list->uses[i] = (unsigned char)(use + 1);
            return true;
        }
    return false;
}

void diagnostics_silence_warnings(akg_diagnostics *list)
{
    memset(list->uses, JIT_WARNING_SILENT + 1, sizeof list->uses);
}

static bool is_silent(const akg_diagnostics *list, enum message message)
{
    return message_table[message].severity == AKG_SEVERITY_WARNING &&
           list->uses[message] == JIT_WARNING_SILENT + 1;
}

/* ---- adding -------------------------------------------------------------- */

/* Records that memory ran out; comes back only if nobody asked to be jumped to. */
static void diagnostics_lost(akg_diagnostics *list)
{
    list->lost = true;
    if (list->escape)
        longjmp(*list->escape, 1);
}

/* A message that quotes a name of a million letters is cut. */
static const char *shorten(akg_diagnostics *list, const char *text)
{
    enum { LONGEST = 800 };
    return strlen(text) <= LONGEST ? text : arena_format(&list->arena, "%.*s...", LONGEST, text);
}

/* What is being added. */
struct addition {
    struct diagnostic_entry *entry;
    enum message message;
    struct span span;
    const char *format;
    va_list *arguments;
};

/* A message without a place is the same only if it says the same. */
static bool same_message(const struct diagnostic_entry *entry, enum message message, struct span span,
                         const char *text)
{
    const akg_diagnostic *shown = &entry->shown;
    return entry->message == message && shown->line == span.line && shown->column == span.column &&
           shown->end_line == span.end_line && shown->end_column == span.end_column &&
           (span.line > 0 || strcmp(shown->message, text) == 0);
}

static struct diagnostic_entry *entry_new(akg_diagnostics *list, enum message message, struct span span,
                                          const char *text)
{
    struct diagnostic_entry *entry = arena_new(&list->arena, struct diagnostic_entry);
    entry->list = list;
    entry->message = message;
    entry->shown = (akg_diagnostic){.code = message_table[message].code,
                                    .name = message_table[message].name,
                                    .file = list->file,
                                    .line = span.line,
                                    .column = span.column,
                                    .end_line = span.end_line,
                                    .end_column = span.end_column,
                                    .message = text};
    return entry;
}

/* The earlier entry that says the same, closed; or NULL. */
static struct diagnostic_entry *find_same(const akg_diagnostics *list, enum message message, struct span span,
                                          const char *text)
{
    for (int i = 0; i < list->entries.count; i++)
        if (same_message(list->entries.items[i], message, span, text)) {
            list->entries.items[i]->closed = true;
            return list->entries.items[i];
        }
    return NULL;
}

/* The entry stays NULL where the list is full. */
static void add_entry(akg_diagnostics *list, void *context)
{
    struct addition *addition = context;
    const struct message_row *row = &message_table[addition->message];
    const char *text = shorten(list, arena_format_list(&list->arena, row->format, *addition->arguments));
    addition->entry = find_same(list, addition->message, addition->span, text);
    bool is_error = row->severity == AKG_SEVERITY_ERROR || list->warnings_are_errors ||
                    list->uses[addition->message] == JIT_WARNING_ERROR + 1;
    int alike = is_error ? list->error_count : list->entries.count - list->error_count;
    if (addition->entry || alike >= MOST_PER_SEVERITY)
        return;
    struct diagnostic_entry *entry = entry_new(list, addition->message, addition->span, text);
    entry->shown.severity = is_error ? AKG_SEVERITY_ERROR : row->severity;
    list_push(&list->arena, &list->entries, entry);
    list->error_count += is_error;
    addition->entry = entry;
}

struct diagnostic_entry *diagnostic_add(akg_diagnostics *list, enum message message, struct span span, ...)
{
    if (!list || is_silent(list, message))
        return NULL;
    if (message == MSG_MEMORY) {
        list->lost = true;
        return NULL;
    }
    va_list arguments;
    va_start(arguments, span);
    struct addition addition = {
        .message = message, .span = list->place.line ? list->place : span, .arguments = &arguments};
    bool added = list_try(list, add_entry, &addition);
    va_end(arguments);
    if (!added)
        diagnostics_lost(list);
    if (list->place.line && addition.entry)
        diagnostic_note(addition.entry, "%s", list->place_note);
    return addition.entry;
}

void diagnostics_set_place(akg_diagnostics *list, const struct span *place, const char *note)
{
    if (!list)
        return;
    list->place = place ? *place : (struct span){0};
    list->place_note = note;
}

static void add_note(akg_diagnostics *list, void *context)
{
    struct addition *addition = context;
    struct diagnostic_entry *entry = addition->entry;
    const char *text = shorten(list, arena_format_list(&list->arena, addition->format, *addition->arguments));
    list_push(&list->arena, &entry->notes, text);
    entry->shown.notes = entry->notes.items;
    entry->shown.note_count = (size_t)entry->notes.count;
}

void diagnostic_note(struct diagnostic_entry *entry, const char *format, ...)
{
    if (!entry || entry->closed)
        return;
    va_list arguments;
    va_start(arguments, format);
    struct addition addition = {.entry = entry, .format = format, .arguments = &arguments};
    bool added = list_try(entry->list, add_note, &addition);
    va_end(arguments);
    if (!added)
        diagnostics_lost(entry->list);
}

static void add_fix(akg_diagnostics *list, void *context)
{
    struct addition *addition = context;
    addition->entry->shown.fix = arena_format_list(&list->arena, addition->format, *addition->arguments);
}

void diagnostic_fix(struct diagnostic_entry *entry, const char *format, ...)
{
    if (!entry || entry->closed)
        return;
    va_list arguments;
    va_start(arguments, format);
    struct addition addition = {.entry = entry, .format = format, .arguments = &arguments};
    bool added = list_try(entry->list, add_fix, &addition);
    va_end(arguments);
    if (!added)
        diagnostics_lost(entry->list);
}

void diagnostic_fix_around(struct diagnostic_entry *entry, const char *before, const char *behind)
{
    struct line first, last;
    if (!entry || entry->closed || entry->list->place.line)
        return;
    const akg_diagnostic *shown = &entry->shown;
    if (!diagnostics_find_line(entry->list, shown->line, &first) ||
        !diagnostics_find_line(entry->list, shown->end_line, &last) ||
        (size_t)shown->column > first.length + 1 || (size_t)shown->end_column > last.length + 1)
        return;
    const char *from = first.bytes + shown->column - 1, *to = last.bytes + shown->end_column - 1;
    if (to > from && to - from <= INT_MAX)
        diagnostic_fix(entry, "%s%.*s%s", before, (int)(to - from), from, behind);
}

bool diagnostics_has_error_between(const akg_diagnostics *list, int first_line, int last_line)
{
    for (int i = 0; list && i < list->entries.count; i++) {
        const akg_diagnostic *shown = &list->entries.items[i]->shown;
        if (shown->severity == AKG_SEVERITY_ERROR && shown->line >= first_line && shown->line <= last_line)
            return true;
    }
    return false;
}

/* ---- messages of another source ------------------------------------------ */

struct adoption {
    const akg_diagnostics *other;
    struct span place;
    const char *callee;
};

static const char *copy_text(akg_diagnostics *list, const char *text)
{
    return arena_copy(&list->arena, text, strlen(text));
}

static void adopt_entries(akg_diagnostics *list, void *context)
{
    const struct adoption *adoption = context;

    for (int i = 0; i < adoption->other->entries.count; i++) {
        const struct diagnostic_entry *from = adoption->other->entries.items[i];
        struct diagnostic_entry *entry =
            entry_new(list, from->message, adoption->place, copy_text(list, from->shown.message));
        bool is_error = from->shown.severity == AKG_SEVERITY_ERROR;
        entry->shown.severity = from->shown.severity;
        if ((is_error ? list->error_count : list->entries.count - list->error_count) >= MOST_PER_SEVERITY)
            continue;
        for (size_t k = 0; k < from->shown.note_count; k++)
            list_push(&list->arena, &entry->notes, copy_text(list, from->shown.notes[k]));
        if (adoption->callee)
            list_push(&list->arena, &entry->notes,
                      arena_format(&list->arena, "note: in the call of '%s'", adoption->callee));
        entry->shown.notes = entry->notes.items;
        entry->shown.note_count = (size_t)entry->notes.count;
        list_push(&list->arena, &list->entries, entry);
        list->error_count += is_error;
    }
}

void diagnostics_adopt(akg_diagnostics *list, const akg_diagnostics *other, struct span place,
                       const char *callee)
{
    struct adoption adoption = {other, place, callee};

    if (list && other && (!list_try(list, adopt_entries, &adoption) || other->lost))
        diagnostics_lost(list);
}

/* ---- handing over -------------------------------------------------------- */

/* What has no place comes last. */
static bool stands_before(const struct diagnostic_entry *a, const struct diagnostic_entry *b)
{
    if (a->shown.line != b->shown.line)
        return a->shown.line > 0 && (b->shown.line <= 0 || a->shown.line < b->shown.line);
    return a->shown.column < b->shown.column;
}

/* By insertion: there are few, and they come nearly in order. Those of one place keep theirs. */
static void sort_entries(akg_diagnostics *list)
{
    struct diagnostic_entry **items = list->entries.items;
    for (int i = 1; i < list->entries.count; i++) {
        struct diagnostic_entry *entry = items[i];
        int at = i;
        for (; at > 0 && stands_before(entry, items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = entry;
    }
}

void diagnostics_hand_over(akg_diagnostics *list, akg_diagnostics **out)
{
    bool told = out && akg_diagnostics_count(list) > 0;
    if (told)
        sort_entries(list);
    if (out)
        *out = told ? list : NULL;
    if (told)
        list->escape = NULL; /* what it points to ends with the compile */
    else
        akg_diagnostics_free(list);
}

int diagnostics_mark(const akg_diagnostics *list)
{
    return list ? list->entries.count : 0;
}

void diagnostics_rewind(akg_diagnostics *list, int mark)
{
    while (list && list->entries.count > mark)
        list->error_count -= list->entries.items[--list->entries.count]->shown.severity == AKG_SEVERITY_ERROR;
}

bool diagnostics_lost_some(const akg_diagnostics *list)
{
    return list->lost;
}

bool diagnostics_tell_of_bug(const akg_diagnostics *list)
{
    for (int i = 0; i < list->entries.count; i++)
        if (list->entries.items[i]->message == MSG_INTERNAL)
            return true;
    return false;
}

/* ---- reading ------------------------------------------------------------- */

size_t akg_diagnostics_count(const akg_diagnostics *diagnostics)
{
    return diagnostics ? (size_t)diagnostics->entries.count + diagnostics->lost : 0;
}

size_t akg_diagnostics_error_count(const akg_diagnostics *diagnostics)
{
    return diagnostics ? (size_t)diagnostics->error_count + diagnostics->lost : 0;
}

const akg_diagnostic *akg_diagnostics_at(const akg_diagnostics *diagnostics, size_t index)
{
    if (index >= akg_diagnostics_count(diagnostics))
        return NULL;
    if (index == (size_t)diagnostics->entries.count)
        return &diagnostics->memory;
    return &diagnostics->entries.items[index]->shown;
}

void akg_diagnostics_free(akg_diagnostics *diagnostics)
{
    if (!diagnostics)
        return;
    arena_free(&diagnostics->arena);
    memory_free(diagnostics);
}
