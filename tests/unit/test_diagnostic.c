/*
 * test_diagnostic.c: the list of messages, how it is rendered, and what it does
 * when memory runs out.
 */
#include "check.h"

#include "../../base/diagnostic.h"

#include <ctype.h>
#include <stdlib.h>

static akg_diagnostics *list_of(const char *source)
{
    akg_diagnostics *list = diagnostics_create("f.akg", source, source ? strlen(source) : 0);
    CHECK(list != NULL);
    return list;
}

/* Renders, compares and frees the list. */
static void check_rendered(akg_diagnostics *list, akg_format format, const char *expected)
{
    char *text = NULL;
    CHECK_INT(akg_diagnostics_render(list, format, &text), AKG_OK);
    CHECK_STRING(text, expected);
    akg_free(text);
    akg_diagnostics_free(list);
}

/* One message that quotes nothing, at a span of the source. */
static void check_excerpt(const char *source, struct span span, const char *expected)
{
    akg_diagnostics *list = list_of(source);
    diagnostic_add(list, MSG_BAD_UTF8, span);
    char *text = NULL;
    CHECK_INT(akg_diagnostics_render(list, AKG_FORMAT_TEXT, &text), AKG_OK);
    const char *excerpt = text ? strchr(text, '\n') : NULL;
    CHECK_STRING(excerpt ? excerpt + 1 : NULL, expected);
    akg_free(text);
    akg_diagnostics_free(list);
}

static struct span on_line(int line, int column, int end_column)
{
    return (struct span){line, column, line, end_column};
}

/* ---- the table ----------------------------------------------------------- */

static void test_table(void)
{
    for (int i = 0; i < MESSAGE_COUNT; i++) {
        const struct message_row *row = &message_table[i];
        int good = strlen(row->code) == 7 && strncmp(row->code, "AKG0", 4) == 0;
        for (const char *at = row->name; *at; at++)
            good &= islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '-';
        for (const char *at = strchr(row->format, '%'); at; at = strchr(at + 2, '%'))
            good &= at[1] == 's';
        good &= strchr(row->format, '\n') == NULL;
        for (int j = 0; j < i; j++)
            good &= strcmp(row->code, message_table[j].code) != 0 &&
                    strcmp(row->name, message_table[j].name) != 0;
        if (!CHECK(good))
            fprintf(stderr, "    row %s %s\n", row->code, row->name);
    }
    CHECK_STRING(message_table[MSG_BAD_UTF8].code, "AKG0103");
    CHECK_STRING(message_table[MSG_MEMORY].format, "out of memory");
}

/* ---- text ---------------------------------------------------------------- */

static void test_whole_message(void)
{
    akg_diagnostics *list = list_of("def f(x):\n    y = 1 $ 2\n");
    struct diagnostic_entry *entry = diagnostic_add(list, MSG_BAD_CHARACTER, on_line(2, 11, 12), "'$'");
    diagnostic_note(entry, "note: seen %d times", 2);
    diagnostic_note(entry, "help: write\n    a\n    b");
    diagnostic_fix(entry, "%c", '+');
    diagnostic_add(list, MSG_READ_BEFORE_WRITE, on_line(2, 5, 6), "y");
    CHECK_INT(akg_diagnostics_count(list), 2);
    CHECK_INT(akg_diagnostics_error_count(list), 1);
    const akg_diagnostic *shown = akg_diagnostics_at(list, 0);
    CHECK_STRING(shown->name, "bad-character");
    CHECK_INT(shown->note_count, 2);
    CHECK_STRING(shown->notes[0], "note: seen 2 times");
    CHECK_STRING(shown->fix, "+");
    CHECK(akg_diagnostics_at(list, 2) == NULL);
    check_rendered(list, AKG_FORMAT_TEXT,
                   "f.akg:2:11: error: unexpected character '$' [AKG0101]\n"
                   "    2 |     y = 1 $ 2\n"
                   "      |           ^\n"
                   "  note: seen 2 times\n"
                   "  help: write\n"
                   "        a\n"
                   "        b\n"
                   "  fix: replace by '+'\n"
                   "f.akg:2:5: warning: 'y' is read here before anything was written to it [AKG0501]\n"
                   "    2 |     y = 1 $ 2\n"
                   "      |     ^\n");
}

static void test_places(void)
{
    struct span none = {0};
    akg_diagnostics *list = diagnostics_create(NULL, NULL, 0);
    diagnostic_add(list, MSG_INTERNAL, none, "a\nb\x1b[2J");
    diagnostic_add(list, MSG_INTERNAL, on_line(3, 4, 5), "x");
    check_rendered(
        list, AKG_FORMAT_TEXT,
        "error: internal error: a\\nb\\x1b[2J [AKG0901]\n<text>:3:4: error: internal error: x [AKG0901]\n");
    list = list_of(NULL);
    diagnostic_add(list, MSG_BAD_UTF8, none);
    check_rendered(list, AKG_FORMAT_TEXT, "f.akg: error: the file is not valid UTF-8 [AKG0103]\n");
}

static void test_fixes(void)
{
    akg_diagnostics *list = list_of(NULL);
    diagnostic_fix(diagnostic_add(list, MSG_SYNTAX, on_line(1, 1, 2), "a"), "%s", "");
    diagnostic_fix(diagnostic_add(list, MSG_SYNTAX, on_line(1, 2, 2), "b"), ":");
    diagnostic_fix(diagnostic_add(list, MSG_SYNTAX, on_line(1, 3, 4), "c"), "for i in n:\n    pass");
    check_rendered(list, AKG_FORMAT_TEXT,
                   "f.akg:1:1: error: unexpected a [AKG0111]\n"
                   "  fix: remove this\n"
                   "f.akg:1:2: error: unexpected b [AKG0111]\n"
                   "  fix: insert ':'\n"
                   "f.akg:1:3: error: unexpected c [AKG0111]\n"
                   "  fix: replace by\n"
                   "    for i in n:\n"
                   "        pass\n");
}

static void test_excerpts(void)
{
    check_excerpt("abc\r\nx = yz", on_line(2, 5, 7), "    2 | x = yz\n      |     ^~\n");
    check_excerpt("abc\r\nx", on_line(1, 1, 4), "    1 | abc\n      | ^~~\n");
    /* past the end of the line, of the text */
    check_excerpt("abc\n", on_line(1, 4, 4), "    1 | abc\n      |    ^\n");
    check_excerpt("abc\n", on_line(1, 90, 99), "    1 | abc\n      |    ^\n");
    check_excerpt("abc\n", on_line(2, 1, 1), "");
    check_excerpt("abc\n", on_line(9, 1, 1), "");
    check_excerpt("", on_line(1, 1, 1), "");
    check_excerpt("a\n\nb", on_line(2, 1, 1), "    2 |\n      | ^\n");
    /* a span of several lines is underlined to the end of the first */
    check_excerpt("  a(\n  b)\n", (struct span){1, 3, 2, 5}, "    1 |   a(\n      |   ^~\n");
    check_excerpt("abc", on_line(1, 3, 1), "    1 | abc\n      |   ^\n");
    /* tabs */
    check_excerpt("\tx\ty", on_line(1, 4, 5), "    1 |         x       y\n      |                 ^\n");
    check_excerpt("ab\tx", on_line(1, 3, 4), "    1 | ab      x\n      |   ^~~~~~\n");
    /* UTF-8: two bytes, wide, combining; what is not printed or not UTF-8 */
    check_excerpt("\xc3\xa9 = x", on_line(1, 6, 7), "    1 | \xc3\xa9 = x\n      |     ^\n");
    check_excerpt("\xe4\xbd\xa0 x", on_line(1, 5, 6), "    1 | \xe4\xbd\xa0 x\n      |    ^\n");
    check_excerpt("\xe4\xbd\xa0 x", on_line(1, 1, 4), "    1 | \xe4\xbd\xa0 x\n      | ^~\n");
    check_excerpt("e\xcc\x81 x", on_line(1, 5, 6), "    1 | e\xcc\x81 x\n      |   ^\n");
    check_excerpt("\x01\xff\xe2\x80\xae$", on_line(1, 6, 7),
                  "    1 | \\x01\\xff\\u202e$\n      |               ^\n");
    check_excerpt("\xff$", on_line(1, 1, 2), "    1 | \\xff$\n      | ^~~~\n");
    check_excerpt("\xf3\xa0\x80\x81$", on_line(1, 5, 6), "    1 | \\U000e0001$\n      |           ^\n");
}

/* A line of `count` bytes that repeats the digits, with an X at `column`. */
static char *long_line(int count, int column)
{
    char *line = malloc((size_t)count + 1);
    for (int i = 0; i < count; i++)
        line[i] = (char)('0' + (i + 1) % 10);
    line[column - 1] = 'X';
    line[count] = 0;
    return line;
}

/* The excerpt of a long line: about WINDOW columns, the caret under the X. */
static void check_window(int count, int column, int cut_left, int cut_right)
{
    char *line = long_line(count, column);
    akg_diagnostics *list = list_of(line);
    diagnostic_add(list, MSG_BAD_UTF8, on_line(1, column, column + 1));
    char *text = NULL;
    CHECK_INT(akg_diagnostics_render(list, AKG_FORMAT_TEXT, &text), AKG_OK);
    char *shown = strchr(text, '\n') + 1, *caret_line = strchr(shown, '\n') + 1;
    size_t shown_length = (size_t)(caret_line - shown) - 1;
    char *caret = strchr(caret_line, '^');
    CHECK(shown_length <= 8 + 100);
    CHECK(shown[caret - caret_line] == 'X');
    CHECK_INT(strncmp(shown + 8, "...", 3) == 0, cut_left);
    CHECK_INT(strncmp(shown + shown_length - 3, "...", 3) == 0, cut_right);
    akg_free(text);
    akg_diagnostics_free(list);
    free(line);
}

static void test_windows(void)
{
    check_window(100, 100, 0, 0);
    check_window(101, 1, 0, 1);
    check_window(101, 97, 0, 1);
    check_window(101, 98, 1, 0);
    check_window(101, 101, 1, 0);
    check_window(5000, 50, 0, 1);
    check_window(5000, 2500, 1, 1);
    check_window(5000, 4940, 1, 1);
    check_window(5000, 4941, 1, 0);
    check_window(5000, 5000, 1, 0);
    check_window(100000, 50, 0, 1);
    check_window(100000, 4100, 1, 1);
    check_window(100000, 50000, 1, 1);
    check_window(100000, 99940, 1, 1);
    check_window(100000, 99941, 1, 0);
    check_window(100000, 100000, 1, 0);

    /* just past the end of a long line: the caret takes one of the columns */
    char *line = long_line(300, 300);
    char expected[400];
    snprintf(expected, sizeof expected, "    1 | ...%s\n      | %*s\n", line + 300 - 96, 100, "^");
    check_excerpt(line, on_line(1, 301, 301), expected);
    free(line);

    /* a span longer than the window, and characters that the window cuts */
    line = long_line(300, 1);
    snprintf(expected, sizeof expected, "    1 | %.97s...\n      | ^", line);
    memset(expected + strlen(expected), '~', 96);
    strcpy(expected + 8 + 100 + 1 + 8 + 97, "\n");
    check_excerpt(line, on_line(1, 1, 301), expected);
    free(line);
    char wide[3 * 60 + 1];
    for (int i = 0; i < 60; i++)
        memcpy(wide + 3 * (size_t)i, "\xe4\xbd\xa0", 4);
    char start[3 * 48 + 1];
    memcpy(start, wide, 3 * 48);
    start[3 * 48] = 0;
    snprintf(expected, sizeof expected, "    1 | %s ...\n      | ^~\n", start);
    check_excerpt(wide, on_line(1, 1, 4), expected);
}

/* Without its escape sequences the coloured text is the plain one. */
static void test_color(void)
{
    akg_diagnostics *list = list_of("x = $\n");
    struct diagnostic_entry *entry = diagnostic_add(list, MSG_BAD_CHARACTER, on_line(1, 5, 6), "'$'");
    diagnostic_note(entry, "note: here");
    diagnostic_fix(entry, "0");
    char *color = NULL, *plain = NULL;
    CHECK_INT(akg_diagnostics_render(list, AKG_FORMAT_COLOR, &color), AKG_OK);
    CHECK_INT(akg_diagnostics_render(list, AKG_FORMAT_TEXT, &plain), AKG_OK);
    CHECK(strstr(color, "\033[1;31merror:\033[0m") != NULL);
    CHECK(strstr(color, "\033[1;32m^\033[0m\n") != NULL);
    size_t to = 0;
    for (size_t at = 0; color[at]; at++)
        if (color[at] == '\033')
            at += strcspn(color + at, "m");
        else
            color[to++] = color[at];
    color[to] = 0;
    CHECK_STRING(color, plain);
    akg_free(color);
    akg_free(plain);
    akg_diagnostics_free(list);
}

static void test_json(void)
{
    akg_diagnostics *list = list_of("x\n");
    struct diagnostic_entry *entry = diagnostic_add(list, MSG_BAD_CHARACTER, on_line(1, 1, 2), "\"\t\"");
    diagnostic_note(entry, "note: a");
    diagnostic_note(entry, "note: b");
    diagnostic_fix(entry, "y");
    diagnostic_add(list, MSG_READ_BEFORE_WRITE, on_line(1, 2, 2), "x");
    check_rendered(
        list, AKG_FORMAT_JSON,
        "{\"diagnostics\":[{\"severity\":\"error\",\"code\":\"AKG0101\",\"name\":\"bad-character\","
        "\"file\":\"f.akg\",\"line\":1,\"column\":1,\"end_line\":1,\"end_column\":2,"
        "\"message\":\"unexpected character \\\"\\t\\\"\",\"notes\":[\"note: a\",\"note: b\"],\"fix\":\"y\"},"
        "{\"severity\":\"warning\",\"code\":\"AKG0501\",\"name\":\"read-before-write\","
        "\"file\":\"f.akg\",\"line\":1,\"column\":2,\"end_line\":1,\"end_column\":2,"
        "\"message\":\"'x' is read here before anything was written to it\",\"notes\":[],\"fix\":null}]}\n");
    check_rendered(list_of(NULL), AKG_FORMAT_JSON, "{\"diagnostics\":[]}\n");
    check_rendered(NULL, AKG_FORMAT_JSON, "{\"diagnostics\":[]}\n");
    check_rendered(NULL, AKG_FORMAT_TEXT, "");
    char *text = (char *)"unset";
    CHECK_INT(akg_diagnostics_render(NULL, (akg_format)9, &text), AKG_ERROR_USAGE);
    CHECK(text == NULL);
    CHECK_INT(akg_diagnostics_render(NULL, AKG_FORMAT_TEXT, NULL), AKG_ERROR_USAGE);
}

/* ---- the list ------------------------------------------------------------ */

static void test_duplicates(void)
{
    struct span none = {0};
    akg_diagnostics *list = list_of("x\n");
    struct diagnostic_entry *first = diagnostic_add(list, MSG_SYNTAX, on_line(1, 1, 2), "a");
    diagnostic_note(first, "note: first");
    struct diagnostic_entry *again = diagnostic_add(list, MSG_SYNTAX, on_line(1, 1, 2), "b");
    CHECK(first != NULL && again == first);
    diagnostic_note(again, "note: again");
    diagnostic_fix(again, "again");
    CHECK_INT(akg_diagnostics_count(list), 1);
    CHECK_STRING(akg_diagnostics_at(list, 0)->message, "unexpected a");
    CHECK_INT(akg_diagnostics_at(list, 0)->note_count, 1);
    CHECK(akg_diagnostics_at(list, 0)->fix == NULL);
    CHECK(diagnostic_add(list, MSG_SYNTAX, on_line(1, 1, 3), "a") != first);
    CHECK(diagnostic_add(list, MSG_BAD_NUMBER, on_line(1, 1, 2), "a") != first);
    CHECK(diagnostic_add(list, MSG_SYNTAX, none, "a") != first);
    diagnostic_add(list, MSG_SYNTAX, none, "a");
    diagnostic_add(list, MSG_SYNTAX, none, "b");
    CHECK_INT(akg_diagnostics_count(list), 5);
    akg_diagnostics_free(list);
}

static void test_limit(void)
{
    akg_diagnostics *list = list_of("x\n");
    for (int i = 1; i <= 100; i++)
        CHECK(diagnostic_add(list, MSG_SYNTAX, on_line(i, 1, 2), "a") != NULL);
    struct diagnostic_entry *more = diagnostic_add(list, MSG_SYNTAX, on_line(101, 1, 2), "a");
    CHECK(more == NULL);
    diagnostic_note(more, "note: %s", "goes nowhere");
    diagnostic_fix(more, "nothing");
    CHECK_INT(akg_diagnostics_error_count(list), 100);
    CHECK(diagnostic_add(list, MSG_READ_BEFORE_WRITE, on_line(1, 1, 2), "a") != NULL);
    CHECK_INT(akg_diagnostics_count(list), 101);
    CHECK_INT(akg_diagnostics_error_count(list), 100);
    akg_diagnostics_free(list);
}

static void test_warnings_as_errors(void)
{
    akg_diagnostics *list = list_of("x\n");
    diagnostics_set_warnings_are_errors(list, true);
    diagnostic_add(list, MSG_READ_BEFORE_WRITE, on_line(1, 1, 2), "x");
    CHECK_INT(akg_diagnostics_error_count(list), 1);
    CHECK_INT(akg_diagnostics_at(list, 0)->severity, AKG_SEVERITY_ERROR);
    akg_diagnostics_free(list);
}

static void test_hand_over(void)
{
    akg_diagnostics *out = (akg_diagnostics *)&out;
    diagnostics_hand_over(list_of("x"), &out);
    CHECK(out == NULL);
    diagnostics_hand_over(NULL, &out);
    CHECK(out == NULL);
    akg_diagnostics *list = list_of("x");
    diagnostic_add(list, MSG_BAD_UTF8, on_line(1, 1, 2));
    diagnostics_hand_over(list, &out);
    CHECK(out == list);
    diagnostics_hand_over(list, NULL); /* frees it */
    CHECK_INT(akg_diagnostics_count(NULL), 0);
    CHECK_INT(akg_diagnostics_error_count(NULL), 0);
    CHECK(akg_diagnostics_at(NULL, 0) == NULL);
    akg_diagnostics_free(NULL);
}

/* The source is the list's own: the caller's may go, and need not end with a NUL. */
static void test_copies(void)
{
    char *source = malloc(4), *file = malloc(6);
    memcpy(source, "a\0bc", 4);
    memcpy(file, "g.akg", 6);
    akg_diagnostics *list = diagnostics_create(file, source, 4);
    free(source);
    free(file);
    diagnostic_add(list, MSG_NUL_BYTE, on_line(1, 2, 3));
    check_rendered(list, AKG_FORMAT_TEXT,
                   "g.akg:1:2: error: the file holds a NUL byte [AKG0102]\n"
                   "    1 | a\\x00bc\n"
                   "      |  ^~~~\n");
}

static void test_out_of_memory_message(void)
{
    akg_diagnostics *list = list_of("x");
    CHECK(diagnostic_add(list, MSG_MEMORY, on_line(1, 1, 2)) == NULL);
    diagnostic_add(list, MSG_MEMORY, on_line(1, 1, 2));
    CHECK_INT(akg_diagnostics_count(list), 1);
    CHECK_INT(akg_diagnostics_error_count(list), 1);
    check_rendered(list, AKG_FORMAT_TEXT, "f.akg: error: out of memory [AKG0902]\n");
}

/* ---- failing memory ------------------------------------------------------ */

#ifdef AKG_FAULT_INJECTION

/* Fills a list and renders it with the allocation after `count` failing; true when it never came to that. */
static int survive_without_escape(long count)
{
    memory_fail_after(count);
    akg_diagnostics *list = diagnostics_create("f.akg", "x = $\n", 6);
    if (!list)
        return 0;
    for (int i = 1; i <= 40; i++) {
        struct diagnostic_entry *entry = diagnostic_add(list, MSG_SYNTAX, on_line(i, 5, 6), "a token");
        for (int j = 0; j < 6; j++)
            diagnostic_note(entry, "note: %500d", j);
        diagnostic_fix(entry, "%1000d", i);
    }
    int struck = memory_fail_remaining() < 0;
    CHECK_INT(akg_diagnostics_count(list) > 0 && akg_diagnostics_error_count(list) > 0, 1);
    if (struck)
        CHECK_STRING(akg_diagnostics_at(list, akg_diagnostics_count(list) - 1)->code, "AKG0902");
    else
        CHECK_INT(akg_diagnostics_count(list), 40);
    char *text;
    akg_status status = akg_diagnostics_render(list, AKG_FORMAT_JSON, &text);
    int done = memory_fail_remaining() >= 0;
    CHECK_INT(status, struck || done ? AKG_OK : AKG_ERROR_MEMORY);
    CHECK((text != NULL) == (status == AKG_OK));
    akg_free(text);
    memory_fail_after(-1);
    akg_diagnostics_free(list);
    return done;
}

static void test_escape(void)
{
    jmp_buf escape;
    akg_diagnostics *volatile list = list_of("x");
    volatile int added = 0, jumps = 0;
    diagnostics_set_escape(list, &escape);
    if (setjmp(escape) == 0) {
        for (int i = 1; i < 100; i++) {
            memory_fail_after(0);
            struct diagnostic_entry *entry = diagnostic_add(list, MSG_SYNTAX, on_line(i, 1, 2), "a token");
            diagnostic_note(entry, "note: %2000d", i);
            added = i;
        }
    } else if (++jumps > 1) {
        CHECK(!"a list that was handed over jumps no more");
        return;
    }
    memory_fail_after(-1);
    CHECK(added < 99);
    CHECK_INT(jumps, 1);
    struct diagnostic_entry *kept = diagnostic_add(list, MSG_SYNTAX, on_line(100, 1, 2), "a token");
    akg_diagnostics *out = NULL;
    diagnostics_hand_over(list, &out);
    CHECK(out != NULL);
    CHECK_STRING(akg_diagnostics_at(out, akg_diagnostics_count(out) - 1)->code, "AKG0902");
    CHECK(akg_diagnostics_error_count(out) >= 1);
    memory_fail_after(0);
    diagnostic_note(kept, "note: %300000d", 1);
    CHECK(memory_fail_remaining() < 0);
    memory_fail_after(-1);
    akg_diagnostics_free(out);
}

static void test_faults(void)
{
    long count = 0;
    while (count < 5000 && !survive_without_escape(count))
        count++;
    CHECK(count > 10 && count < 5000);
    test_escape();
}

#endif

int main(void)
{
    test_table();
    test_whole_message();
    test_places();
    test_fixes();
    test_excerpts();
    test_windows();
    test_color();
    test_json();
    test_duplicates();
    test_limit();
    test_warnings_as_errors();
    test_hand_over();
    test_copies();
    test_out_of_memory_message();
#ifdef AKG_FAULT_INJECTION
    test_faults();
#endif
    return check_done();
}
