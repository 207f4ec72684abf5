/*
 * fix.c: `check --fix`: replaces spans of the text by what the messages propose.
 *
 * A repair can uncover mistakes that were hidden behind the repaired one, and only 100 messages are kept at a
 * time; so the program is compiled again after each round, and a second run finds nothing more to do. Repairs
 * that touch each other are not made in one round: what the second one is worth shows once the first is made.
 */
#include "fix.h"

#include "program_file.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* Two repairs could undo each other for ever. */
enum { ROUND_LIMIT = 250 };

/* Replaces the bytes from `first` up to `last`. */
struct edit {
    size_t first, last;
    const akg_diagnostic *origin;
};

struct edits {
    struct edit *items; /* by place; none touches another */
    size_t count;
};

/* ---- places ------------------------------------------------------------------- */

/* Behind the line end at `at`; a carriage return alone is one too. */
static size_t next_line(const char *text, size_t length, size_t at)
{
    while (at < length && text[at] != '\n' && text[at] != '\r')
        at++;
    if (at + 1 < length && text[at] == '\r' && text[at + 1] == '\n')
        at++;
    return at < length ? at + 1 : length;
}

/* The offset of a place of a message; false for one that the text does not have. */
static bool find_offset(const jit_source *source, int line, int column, size_t *offset)
{
    size_t at = source->length >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (int i = 1; i < line; i++) {
        if (at == source->length)
            return false;
        at = next_line(source->text, source->length, at);
    }
    *offset = at + (size_t)(column - 1);
    return line >= 1 && column >= 1 && *offset <= source->length;
}

static bool make_edit(const jit_source *source, const akg_diagnostic *origin, struct edit *edit)
{
    edit->origin = origin;
    if (!origin->fix || !find_offset(source, origin->line, origin->column, &edit->first) ||
        !find_offset(source, origin->end_line, origin->end_column, &edit->last) || edit->last < edit->first)
        return false;
    size_t removed = edit->last - edit->first;
    return removed != strlen(origin->fix) || memcmp(source->text + edit->first, origin->fix, removed) != 0;
}

/* The repairs of one round. The messages come sorted by place. */
static bool collect_edits(const jit_source *source, const akg_diagnostics *diagnostics, struct edits *edits,
                          struct problem *problem)
{
    size_t total = akg_diagnostics_count(diagnostics);
    struct edit edit;
    edits->count = 0;
    edits->items = calloc(total + 1, sizeof *edits->items);
    if (!edits->items)
        return problem_memory(problem);
    for (size_t i = 0; i < total; i++) {
        const struct edit *before = edits->count ? &edits->items[edits->count - 1] : NULL;
        if (make_edit(source, akg_diagnostics_at(diagnostics, i), &edit) &&
            (!before || (edit.first > before->first && edit.first >= before->last)))
            edits->items[edits->count++] = edit;
    }
    return true;
}

/* ---- the log ------------------------------------------------------------------ */

/* Text of the program between quotes, on one line. */
static void log_quoted(FILE *log, const char *bytes, size_t length)
{
    fputc('\'', log);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '\n')
            fputs("\\n", log);
        else if (byte < 0x20 || byte == 0x7f)
            fprintf(log, "\\x%02x", byte);
        else
            fputc(byte, log);
    }
    fputc('\'', log);
}

static void log_text(FILE *log, const jit_source *source, const struct edit *edit)
{
    const akg_diagnostic *origin = edit->origin;
    size_t removed = edit->last - edit->first;
    fprintf(log, "%s:%d:%d: fixed: ", source->name, origin->line, origin->column);
    if (removed) {
        fputs(*origin->fix ? "replaced " : "removed ", log);
        log_quoted(log, source->text + edit->first, removed);
        fputs(*origin->fix ? " by " : "", log);
    } else {
        fputs("inserted ", log);
    }
    if (*origin->fix)
        log_quoted(log, origin->fix, strlen(origin->fix));
    fprintf(log, " [%s]\n", origin->code);
}

static void log_json(FILE *log, const jit_source *source, const struct edit *edit, bool comma)
{
    const akg_diagnostic *origin = edit->origin;
    fprintf(log, "%s{\"code\": \"%s\", \"name\": \"%s\", \"line\": %d, \"column\": %d, \"removed\": ",
            comma ? ", " : "", origin->code, origin->name, origin->line, origin->column);
    report_json_bytes(log, source->text + edit->first, edit->last - edit->first);
    fputs(", \"inserted\": ", log);
    report_json_string(log, origin->fix);
    fputc('}', log);
}

static bool log_edits(FILE *log, const struct options *options, const jit_source *source,
                      const struct edits *edits, struct fixes *fixes, struct problem *problem)
{
    for (size_t i = 0; i < edits->count; i++, fixes->count++) {
        if (options->json)
            log_json(log, source, &edits->items[i], fixes->count > 0);
        else
            log_text(log, source, &edits->items[i]);
    }
    return !ferror(log) || problem_memory(problem);
}

/* ---- rounds ------------------------------------------------------------------- */

/* Puts the text with the edits made in the place of the program's. */
static bool apply_edits(struct program *program, const struct edits *edits, struct problem *problem)
{
    size_t length = program->source.length, from = 0, to = 0;
    for (size_t i = 0; i < edits->count; i++)
        length += strlen(edits->items[i].origin->fix); /* what is removed is room to spare */
    char *text = malloc(length + 1);
    if (!text)
        return problem_memory(problem);
    for (size_t i = 0; i <= edits->count; i++) {
        const struct edit *edit = i < edits->count ? &edits->items[i] : NULL;
        size_t until = edit ? edit->first : program->source.length;
        memcpy(text + to, program->text + from, until - from);
        to += until - from;
        if (edit) {
            memcpy(text + to, edit->origin->fix, strlen(edit->origin->fix));
            to += strlen(edit->origin->fix);
            from = edit->last;
        }
    }
    text[to] = '\0';
    program_set_text(program, text, to);
    return true;
}

/* One compile, and what it proposes; *changed says whether that was anything. */
static bool fix_round(const struct options *options, struct program *program, FILE *log, struct fixes *fixes,
                      bool *changed, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_module *module = NULL;
    struct edits edits = {0};
    akg_status status = program_try(options, program, &module, &diagnostics);
    akg_module_release(module);
    *changed = false;
    if (status != AKG_OK && status != AKG_ERROR_PROGRAM)
        return problem_library(problem, status, diagnostics);
    bool good = collect_edits(&program->source, diagnostics, &edits, problem);
    if (good && edits.count) {
        *changed = true;
        good = log_edits(log, options, &program->source, &edits, fixes, problem) &&
               apply_edits(program, &edits, problem);
    }
    free(edits.items);
    akg_diagnostics_free(diagnostics);
    return good;
}

static bool fix_rounds(const struct options *options, struct program *program, struct fixes *fixes,
                       struct problem *problem)
{
    FILE *log = open_memstream(&fixes->log, &fixes->log_length);
    bool good = true, changed = true;
    if (!log)
        return problem_memory(problem);
    for (int round = 0; good && changed && round < ROUND_LIMIT; round++)
        good = fix_round(options, program, log, fixes, &changed, problem);
    if (fclose(log) != 0 && good)
        good = problem_memory(problem);
    return good;
}

bool fix_program(const struct options *options, struct program *program, struct fixes *fixes,
                 struct problem *problem)
{
    return program_load(program, problem) && fix_rounds(options, program, fixes, problem) &&
           (fixes->count == 0 || program->is_standard_input ||
            program_file_replace(program->source.name, program->text, program->source.length, problem));
}
