/*
 * diagnostic_sarif.c: lists of messages as one SARIF 2.1.0 document with one run,
 * for the tools that collect the findings of many others.
 *
 * Consumes the lists and the source text they keep. The rules are the rows of
 * the message table that the messages are of, in the order of the table; none has an address,
 * its help is its page. Columns are counted in characters, as SARIF wants, not in bytes.
 */
#include "diagnostic_list.h"

#include <string.h>

#include "version.h"

static const char *level_text(akg_severity severity)
{
    return severity == AKG_SEVERITY_ERROR ? "error" : severity == AKG_SEVERITY_WARNING ? "warning" : "note";
}

/* ---- strings ------------------------------------------------------------- */

/* The text so far, now the caller's, as a JSON string. */
static void sarif_string(struct text *out, struct text *text)
{
    out->failed |= text->failed;
    text_json(out, text->data ? text->data : "");
    text_free(text);
}

/* Braces stand for particulars in SARIF's messages; real ones are doubled. */
static void sarif_escape(struct text *message, const char *string)
{
    for (; *string; string++) {
        text_char(message, *string);
        if (*string == '{' || *string == '}')
            text_char(message, *string);
    }
}

/* The message and, on lines of their own, its notes. */
static void sarif_message(struct text *out, const akg_diagnostic *shown)
{
    struct text message;
    text_init(&message);
    sarif_escape(&message, shown->message);
    for (size_t i = 0; i < shown->note_count; i++) {
        text_char(&message, '\n');
        sarif_escape(&message, shown->notes[i]);
    }
    text_string(out, "{\"text\":");
    sarif_string(out, &message);
    text_char(out, '}');
}

/* The row's text, with dots for its particulars. */
static void sarif_description(struct text *out, const char *format)
{
    struct text description;
    text_init(&description);
    for (const char *hole; (hole = strstr(format, "%s")); format = hole + 2) {
        text_append(&description, format, (size_t)(hole - format));
        text_string(&description, "...");
    }
    text_string(&description, format);
    sarif_string(out, &description);
}

/* A page, as it is: in Markdown, which is plain enough where no one renders it. */
static void sarif_help(struct text *out, const char *page)
{
    struct text plain;
    text_init(&plain);
    sarif_escape(&plain, page);
    text_string(out, "},\"help\":{\"text\":");
    text_json(out, plain.data ? plain.data : "");
    text_string(out, ",\"markdown\":");
    sarif_string(out, &plain);
}

/* A file's name as a reference: what has a meaning there, and every byte that is no ASCII, as %XX. */
static void sarif_uri(struct text *out, const char *file)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    text_format(out, "{\"uri\":\"%s", file[0] == '/' ? "file://" : "");
    for (; *file; file++) {
        if (strchr(plain, *file))
            text_char(out, *file);
        else
            text_format(out, "%%%02X", (unsigned)(unsigned char)*file);
    }
    text_string(out, "\"}");
}

/* ---- places -------------------------------------------------------------- */

/* Which character of its line a byte belongs to, both counted from 1. */
static int sarif_column(const akg_diagnostics *list, int number, int column)
{
    struct line line;
    int characters = 0;
    size_t at = 0;
    if (!diagnostics_find_line(list, number, &line))
        return column > 0 ? column : 1;
    while (at < line.length && at + 1 < (size_t)(column > 0 ? column : 1)) {
        uint32_t code;
        int length = text_utf8(line.bytes + at, line.length - at, &code);
        at += length ? (size_t)length : 1;
        characters++;
    }
    return characters + 1;
}

static void sarif_region(struct text *out, const akg_diagnostics *list, const akg_diagnostic *shown)
{
    text_format(out, "{\"startLine\":%d,\"startColumn\":%d,\"endLine\":%d,\"endColumn\":%d}", shown->line,
                sarif_column(list, shown->line, shown->column), shown->end_line,
                sarif_column(list, shown->end_line, shown->end_column));
}

static void sarif_location(struct text *out, const akg_diagnostics *list, const akg_diagnostic *shown)
{
    text_string(out, ",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":");
    sarif_uri(out, shown->file);
    if (shown->line > 0) {
        text_string(out, ",\"region\":");
        sarif_region(out, list, shown);
    }
    text_string(out, "}}]");
}

static void sarif_fix(struct text *out, const akg_diagnostics *list, const akg_diagnostic *shown)
{
    bool inserts = shown->end_line == shown->line && shown->end_column <= shown->column;
    text_format(out,
                ",\"fixes\":[{\"description\":{\"text\":\"%s\"},\"artifactChanges\":[{\"artifactLocation\":",
                !*shown->fix ? "remove this"
                : inserts    ? "insert this"
                             : "replace this");
    sarif_uri(out, shown->file);
    text_string(out, ",\"replacements\":[{\"deletedRegion\":");
    sarif_region(out, list, shown);
    text_string(out, ",\"insertedContent\":{\"text\":");
    text_json(out, shown->fix);
    text_string(out, "}}]}]}]");
}

/* ---- the document -------------------------------------------------------- */

/* Per row of the table: the number of its rule, or -1 where no message is of it. */
static void sarif_number_rules(const akg_diagnostics *const *lists, size_t count, int rules[MESSAGE_COUNT])
{
    int next = 0;
    memset(rules, -1, MESSAGE_COUNT * sizeof *rules);
    for (int row = 0; row < MESSAGE_COUNT; row++)
        for (size_t k = 0; k < count && rules[row] < 0; k++)
            for (size_t i = 0; i < akg_diagnostics_count(lists[k]) && rules[row] < 0; i++)
                if (strcmp(akg_diagnostics_at(lists[k], i)->code, message_table[row].code) == 0)
                    rules[row] = next++;
}

static void sarif_rule(struct text *out, const struct message_row *row)
{
    const char *page = akg_explain(row->code);
    text_format(out, "{\"id\":\"%s\",\"name\":\"%s\",\"shortDescription\":{\"text\":", row->code, row->name);
    sarif_description(out, row->format);
    if (page)
        sarif_help(out, page);
    text_format(out, "},\"defaultConfiguration\":{\"level\":\"%s\"}}", level_text(row->severity));
}

static void sarif_result(struct text *out, const akg_diagnostics *list, const akg_diagnostic *shown, int rule)
{
    text_format(out, "{\"ruleId\":\"%s\",\"ruleIndex\":%d,\"level\":\"%s\",\"message\":", shown->code, rule,
                level_text(shown->severity));
    sarif_message(out, shown);
    if (*shown->file)
        sarif_location(out, list, shown);
    if (*shown->file && shown->line > 0 && shown->fix)
        sarif_fix(out, list, shown);
    text_char(out, '}');
}

static int sarif_rule_of(const int rules[MESSAGE_COUNT], const akg_diagnostic *shown)
{
    int row = 0;
    while (strcmp(message_table[row].code, shown->code) != 0)
        row++;
    return rules[row];
}

void diagnostics_render_sarif(struct text *out, const akg_diagnostics *const *lists, size_t count)
{
    int rules[MESSAGE_COUNT];
    bool comma = false;
    sarif_number_rules(lists, count, rules);
    text_string(out, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\","
                     "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"akgrun\",\"version\":\"" VERSION
                     "\",\"rules\":[");
    for (int row = 0; row < MESSAGE_COUNT; row++)
        if (rules[row] >= 0) {
            text_string(out, rules[row] ? "," : "");
            sarif_rule(out, &message_table[row]);
        }
    text_string(out, "]}},\"columnKind\":\"unicodeCodePoints\",\"results\":[");
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < akg_diagnostics_count(lists[k]); i++) {
            const akg_diagnostic *shown = akg_diagnostics_at(lists[k], i);
            text_string(out, comma ? "," : "");
            sarif_result(out, lists[k], shown, sarif_rule_of(rules, shown));
            comma = true;
        }
    text_string(out, "]}]}\n");
}
