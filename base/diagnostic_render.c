/*
 * diagnostic_render.c: lists of messages as text for people, plain or in
 * colour, or as JSON for programs; SARIF is diagnostic_sarif.c.
 *
 * Consumes nothing but the lists, which keep the source text. The source line is
 * shown as a terminal can bear it: tabs as spaces, bytes that print nothing (or
 * that reorder what is printed) as escapes, and of a long line the part around the caret.
 */
#include "diagnostic_list.h"

#include <string.h>

/* REACH: the bytes looked at on either side of the place; far more than a window shows. */
enum { TAB_STOP = 8, WINDOW = 100, BEFORE_CARET = 40, REACH = 4096 };

/* What a format puts around the parts of a message. */
struct style {
    const char *place, *error, *warning, *note, *message, *caret, *fix, *plain;
};

static const struct style plain_style = {"", "", "", "", "", "", "", ""};
static const struct style color_style = {"\033[1m", "\033[1;31m", "\033[1;35m", "\033[1;36m",
                                         "\033[1m", "\033[1;32m", "\033[1;36m", "\033[0m"};

/* ---- characters ---------------------------------------------------------- */

struct range {
    uint32_t first, last;
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* Controls, and what changes the direction or hides: shown as an escape. */
static bool is_unprintable(uint32_t code)
{
    static const struct range ranges[] = {
        {0x0, 0x1f},      {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    return in_ranges(ranges, sizeof ranges / sizeof *ranges, code);
}

/* Columns that a terminal gives to a printable character. */
static int character_width(uint32_t code)
{
    static const struct range none[] = {{0x300, 0x36f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                        {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static const struct range two[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
                                       {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                                       {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    if (code < 0x300)
        return 1;
    if (in_ranges(none, sizeof none / sizeof *none, code))
        return 0;
    return in_ranges(two, sizeof two / sizeof *two, code) ? 2 : 1;
}

/* One character as it is shown. */
struct glyph {
    int consumed; /* bytes of the text */
    int columns;
    int length;
    char bytes[12];
};

static void glyph_escape(struct glyph *glyph, char letter, int digits, uint32_t code)
{
    glyph->bytes[0] = '\\';
    glyph->bytes[1] = letter;
    for (int i = 0; i < digits; i++)
        glyph->bytes[2 + i] = "0123456789abcdef"[code >> (4 * (digits - 1 - i)) & 15];
    glyph->length = glyph->columns = 2 + digits;
}

/* The character at the start of `bytes`, to be shown in `column` (from 0). */
static struct glyph glyph_at(const char *bytes, size_t length, int column)
{
    struct glyph glyph = {.consumed = 1};
    uint32_t code = 0;
    int count = text_utf8(bytes, length, &code);
    if (count == 0) {
        glyph_escape(&glyph, 'x', 2, (unsigned char)bytes[0]);
        return glyph;
    }
    glyph.consumed = count;
    if (code == '\t') {
        glyph.length = glyph.columns = TAB_STOP - column % TAB_STOP;
        memset(glyph.bytes, ' ', (size_t)glyph.length);
    } else if (code == '\n' || code == '\r') {
        glyph_escape(&glyph, code == '\n' ? 'n' : 'r', 0, 0);
    } else if (is_unprintable(code)) {
        if (code < 0x80)
            glyph_escape(&glyph, 'x', 2, code);
        else
            glyph_escape(&glyph, code > 0xffff ? 'U' : 'u', code > 0xffff ? 8 : 4, code);
    } else {
        glyph.length = count;
        glyph.columns = character_width(code);
        memcpy(glyph.bytes, bytes, (size_t)count);
    }
    return glyph;
}

/* Text of a message, which may quote anything. */
static void render_string(struct text *out, const char *bytes, size_t length)
{
    int column = 0;
    for (size_t at = 0; at < length;) {
        struct glyph glyph = glyph_at(bytes + at, length - at, column);
        text_append(out, glyph.bytes, (size_t)glyph.length);
        column += glyph.columns;
        at += (size_t)glyph.consumed;
    }
}

/* Text of several lines: each after the first starts with `indent` spaces. */
static void render_lines(struct text *out, const char *string, int indent)
{
    for (;;) {
        size_t length = strcspn(string, "\n");
        render_string(out, string, length);
        string += length;
        if (!*string++)
            return;
        text_char(out, '\n');
        text_repeat(out, ' ', indent);
    }
}

/* ---- the source line ----------------------------------------------------- */

/* Where the line's end is, a line feed or a carriage return; `end` where the text ends first. */
static const char *find_line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *stop = newline ? newline : end;
    const char *other = memchr(at, '\r', (size_t)(stop - at));
    return other ? other : stop;
}

bool diagnostics_find_line(const akg_diagnostics *list, int number, struct line *line)
{
    if (!list->text || number < 1)
        return false;
    const char *at = list->text, *end = list->text + list->length;
    if (list->length >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3; /* a byte order mark has no column */
    for (int i = 1; i < number; i++) {
        at = find_line_end(at, end);
        if (at == end)
            return false;
        at += end - at > 1 && at[0] == '\r' && at[1] == '\n' ? 2 : 1;
    }
    if (at == end)
        return false; /* nothing to see after the last line's end */
    *line = (struct line){at, (size_t)(find_line_end(at, end) - at)};
    return true;
}

/* Columns on the screen, from 0. */
struct columns {
    int caret, caret_end, end;
};

/* Where the bytes from `first` up to `last` (offsets) of the line are shown. */
static struct columns measure(struct line line, size_t first, size_t last)
{
    struct columns columns = {-1, -1, 0};
    int column = 0;
    for (size_t at = 0; at < line.length;) {
        struct glyph glyph = glyph_at(line.bytes + at, line.length - at, column);
        at += (size_t)glyph.consumed;
        if (columns.caret < 0 && at > first)
            columns.caret = column;
        column += glyph.columns;
        if (columns.caret_end < 0 && at >= last)
            columns.caret_end = column;
    }
    columns.end = column;
    if (columns.caret < 0)
        columns.caret = column; /* just past the end */
    if (columns.caret_end <= columns.caret)
        columns.caret_end = columns.caret + 1;
    return columns;
}

/* The columns from `from` up to `to`; a character that is cut becomes spaces. */
static void render_window(struct text *out, struct line line, int from, int to)
{
    int column = 0;
    for (size_t at = 0; at < line.length && column < to;) {
        struct glyph glyph = glyph_at(line.bytes + at, line.length - at, column);
        int next = column + glyph.columns;
        if (column >= from && next <= to)
            text_append(out, glyph.bytes, (size_t)glyph.length);
        else if (next > from)
            text_repeat(out, ' ', (next < to ? next : to) - (column > from ? column : from));
        column = next;
        at += (size_t)glyph.consumed;
    }
}

static int at_least(int value, int least)
{
    return value < least ? least : value;
}

/* The part of a line that is near the bytes from `*first` up to `*last`, which become offsets in it: many
 * messages on a line of megabytes must not cost its length each. */
static struct line line_near(struct line line, size_t *first, size_t *last)
{
    size_t from = *first > REACH ? *first - REACH : 0;
    size_t to = line.length - *first > REACH ? *first + REACH : line.length;

    while (from > 0 && from < *first && ((unsigned char)line.bytes[from] & 0xc0) == 0x80)
        from++; /* inside a character */
    *first -= from;
    *last = (*last < to ? *last : to) - from;
    return (struct line){line.bytes + from, to - from};
}

/* The source line and the caret line; nothing where there is no source. */
static void render_excerpt(struct text *out, const akg_diagnostics *list, const akg_diagnostic *shown,
                           const struct style *style)
{
    struct line whole;
    if (!diagnostics_find_line(list, shown->line, &whole))
        return;
    size_t first = (size_t)at_least(shown->column - 1, 0);
    if (first > whole.length)
        first = whole.length;
    size_t last = shown->end_line > shown->line ? whole.length : (size_t)at_least(shown->end_column - 1, 0);
    if (last > whole.length)
        last = whole.length;
    if (last <= first)
        last = first + 1;
    struct line line = line_near(whole, &first, &last);
    bool starts_inside = line.bytes > whole.bytes;
    bool ends_inside = line.bytes + line.length < whole.bytes + whole.length;
    struct columns columns = measure(line, first, last);

    int from = 0, to = columns.end;
    bool is_long = columns.end > WINDOW;
    if (is_long) {
        if (columns.caret_end > WINDOW - 3 || starts_inside)
            from = at_least(columns.caret - BEFORE_CARET, 0);
        if (from > columns.end + 1 - WINDOW)
            from = columns.end + 1 - WINDOW; /* one more: the caret may stand past the end */
        to = from + WINDOW;
    }
    bool cut_left = from > 0 || starts_inside, cut_right = (is_long && to < columns.end) || ends_inside;
    int visible_end = cut_right ? to - 3 : to + 1;

    text_format(out, "%5d |", shown->line);
    if (columns.end > 0)
        text_char(out, ' ');
    if (cut_left)
        text_string(out, "...");
    render_window(out, line, cut_left ? from + 3 : from, cut_right ? to - 3 : to);
    text_format(out, "%s\n      | ", cut_right ? "..." : "");
    text_repeat(out, ' ', columns.caret - from);
    text_format(out, "%s^", style->caret);
    text_repeat(out, '~',
                (columns.caret_end < visible_end ? columns.caret_end : visible_end) - columns.caret - 1);
    text_format(out, "%s\n", style->plain);
}

/* ---- text ---------------------------------------------------------------- */

static void render_place(struct text *out, const akg_diagnostic *shown, const struct style *style)
{
    if (!*shown->file && shown->line <= 0)
        return;
    text_string(out, style->place);
    if (*shown->file)
        render_string(out, shown->file, strlen(shown->file));
    else
        text_string(out, "<text>");
    if (shown->line > 0)
        text_format(out, ":%d:%d", shown->line, at_least(shown->column, 1));
    text_format(out, ":%s ", style->plain);
}

static void render_note(struct text *out, const char *note, const struct style *style)
{
    /* the prefix, "note:" or "help:", is what is coloured */
    size_t prefix = strspn(note, "abcdefghijklmnopqrstuvwxyz");
    prefix = note[prefix] == ':' ? prefix + 1 : 0;
    text_format(out, "  %s", style->note);
    render_string(out, note, prefix);
    text_string(out, style->plain);
    render_lines(out, note + prefix, 4);
    text_char(out, '\n');
}

static void render_fix(struct text *out, const akg_diagnostic *shown, const struct style *style)
{
    bool empty_span = shown->end_line == shown->line && shown->end_column <= shown->column;
    text_format(out, "  %sfix:%s ", style->fix, style->plain);
    if (!*shown->fix) {
        text_string(out, "remove this\n");
        return;
    }
    text_string(out, empty_span ? "insert" : "replace by");
    bool several_lines = strchr(shown->fix, '\n') != NULL;
    if (several_lines) {
        text_string(out, "\n    ");
        render_lines(out, shown->fix, 4);
        text_char(out, '\n');
    } else {
        text_string(out, " '");
        render_lines(out, shown->fix, 0);
        text_string(out, "'\n");
    }
}

static void render_message(struct text *out, const akg_diagnostics *list, const akg_diagnostic *shown,
                           const struct style *style)
{
    bool is_error = shown->severity == AKG_SEVERITY_ERROR;
    render_place(out, shown, style);
    text_format(out, "%s%s:%s %s", is_error ? style->error : style->warning, is_error ? "error" : "warning",
                style->plain, style->message);
    render_string(out, shown->message, strlen(shown->message));
    text_format(out, "%s [%s]\n", style->plain, shown->code);
    render_excerpt(out, list, shown, style);
    for (size_t i = 0; i < shown->note_count; i++)
        render_note(out, shown->notes[i], style);
    if (shown->fix)
        render_fix(out, shown, style);
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_string_member(struct text *out, const char *name, const char *value)
{
    text_format(out, ",\"%s\":", name);
    if (value)
        text_json(out, value);
    else
        text_string(out, "null");
}

static void render_json_message(struct text *out, const akg_diagnostic *shown)
{
    text_format(out, "{\"severity\":\"%s\"", shown->severity == AKG_SEVERITY_ERROR ? "error" : "warning");
    json_string_member(out, "code", shown->code);
    json_string_member(out, "name", shown->name);
    json_string_member(out, "file", shown->file);
    text_format(out, ",\"line\":%d,\"column\":%d,\"end_line\":%d,\"end_column\":%d", shown->line,
                shown->column, shown->end_line, shown->end_column);
    json_string_member(out, "message", shown->message);
    text_string(out, ",\"notes\":[");
    for (size_t i = 0; i < shown->note_count; i++) {
        text_string(out, i ? "," : "");
        text_json(out, shown->notes[i]);
    }
    text_char(out, ']');
    json_string_member(out, "fix", shown->fix);
    text_char(out, '}');
}

static void render_json(struct text *out, const akg_diagnostics *const *lists, size_t count)
{
    bool comma = false;
    text_string(out, "{\"diagnostics\":[");
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < akg_diagnostics_count(lists[k]); i++) {
            text_string(out, comma ? "," : "");
            render_json_message(out, akg_diagnostics_at(lists[k], i));
            comma = true;
        }
    text_string(out, "]}\n");
}

/* ---- all of them --------------------------------------------------------- */

static void render_text(struct text *out, const akg_diagnostics *const *lists, size_t count,
                        const struct style *style)
{
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < akg_diagnostics_count(lists[k]); i++)
            render_message(out, lists[k], akg_diagnostics_at(lists[k], i), style);
}

akg_status akg_diagnostics_render_all(const akg_diagnostics *const *lists, size_t count, akg_format format,
                                      char **text)
{
    struct text out;
    if (text)
        *text = NULL;
    if (!text || (count && !lists) || (unsigned)format > AKG_FORMAT_SARIF)
        return AKG_ERROR_USAGE;
    text_init(&out);
    if (format == AKG_FORMAT_SARIF)
        diagnostics_render_sarif(&out, lists, count);
    else if (format == AKG_FORMAT_JSON)
        render_json(&out, lists, count);
    else
        render_text(&out, lists, count, format == AKG_FORMAT_COLOR ? &color_style : &plain_style);
    *text = text_take(&out);
    return *text ? AKG_OK : AKG_ERROR_MEMORY;
}

akg_status akg_diagnostics_render(const akg_diagnostics *diagnostics, akg_format format, char **text)
{
    return akg_diagnostics_render_all(&diagnostics, 1, format, text);
}
