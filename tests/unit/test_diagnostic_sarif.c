/*
 * test_diagnostic_sarif.c: lists of messages as SARIF, several lists as one text, and
 * which warnings a list and a compile keep.
 */
#include "check.h"

#include "../../base/diagnostic.h"
#include "../../base/version.h"

#include <stdlib.h>

#define START                                                                                                \
    "{\"$schema\":\"https://json.schemastore.org/"                                                           \
    "sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":{"                                         \
    "\"driver\":{\"name\":\"akgrun\",\"version\":\"" VERSION "\",\"rules\":["
#define MIDDLE "]}},\"columnKind\":\"unicodeCodePoints\",\"results\":["

static akg_diagnostics *list_of(const char *file, const char *source)
{
    akg_diagnostics *list = diagnostics_create(file, source, source ? strlen(source) : 0);
    CHECK(list != NULL);
    return list;
}

static struct span on_line(int line, int column, int end_column)
{
    return (struct span){line, column, line, end_column};
}

/* Renders and frees the list; the text is for akg_free. */
static char *rendered(akg_diagnostics *list, akg_format format)
{
    char *text = NULL;
    CHECK_INT(akg_diagnostics_render(list, format, &text), AKG_OK);
    akg_diagnostics_free(list);
    return text;
}

/* The results of a document, behind the rules. */
static void check_results(akg_diagnostics *list, const char *expected)
{
    char *text = rendered(list, AKG_FORMAT_SARIF);
    const char *middle = text ? strstr(text, MIDDLE) : NULL;
    CHECK(text && strncmp(text, START, strlen(START)) == 0);
    CHECK_STRING(middle ? middle + strlen(MIDDLE) : NULL, expected);
    akg_free(text);
}

static void check_contains(const char *text, const char *piece)
{
    if (!CHECK(text && strstr(text, piece)))
        fprintf(stderr, "    \"%s\" is not in %s\n", piece, text ? text : "(null)");
}

/* ---- the document -------------------------------------------------------------- */

static void test_empty(void)
{
    char *text = NULL;
    CHECK_INT(akg_diagnostics_render(NULL, AKG_FORMAT_SARIF, &text), AKG_OK);
    CHECK_STRING(text, START MIDDLE "]}]}\n");
    akg_free(text);
    CHECK_INT(akg_diagnostics_render_all(NULL, 0, AKG_FORMAT_SARIF, &text), AKG_OK);
    CHECK_STRING(text, START MIDDLE "]}]}\n");
    akg_free(text);
}

static void test_result(void)
{
    akg_diagnostics *list = list_of("f.akg", "x = {y}\n");
    struct diagnostic_entry *entry = diagnostic_add(list, MSG_UNMATCHED_BRACKET, on_line(1, 7, 8), "}");
    diagnostic_note(entry, "help: write \"{{\"");
    diagnostic_fix(entry, "%s", "");
    check_results(
        list,
        "{\"ruleId\":\"AKG0117\",\"ruleIndex\":0,\"level\":\"error\",\"message\":{\"text\":\"'}}' closes "
        "nothing\\nhelp: "
        "write "
        "\\\"{{{{\\\"\"},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"f.akg\"},"
        "\"region\":{\"startLine\":1,\"startColumn\":7,\"endLine\":1,\"endColumn\":8}}}],\"fixes\":[{"
        "\"description\":{"
        "\"text\":\"remove "
        "this\"},\"artifactChanges\":[{\"artifactLocation\":{\"uri\":\"f.akg\"},\"replacements\":[{"
        "\"deletedRegion\":{\"startLine\":1,\"startColumn\":7,\"endLine\":1,\"endColumn\":8},"
        "\"insertedContent\":{"
        "\"text\":\"\"}}]}]}]}]}]}\n");
}

static void test_no_place(void)
{
    akg_diagnostics *list = list_of("", NULL);
    diagnostic_add(list, MSG_READ_BEFORE_WRITE, (struct span){0}, "y");
    check_results(
        list,
        "{\"ruleId\":\"AKG0501\",\"ruleIndex\":0,\"level\":\"warning\",\"message\":{\"text\":\"'y' is read "
        "here before anything was written to it\"}}]}]}\n");
    list = list_of("f", NULL);
    diagnostic_fix(diagnostic_add(list, MSG_BAD_UTF8, (struct span){0}), "no place to put it");
    check_results(
        list,
        "{\"ruleId\":\"AKG0103\",\"ruleIndex\":0,\"level\":\"error\",\"message\":{\"text\":\"the file is not "
        "valid UTF-8\"},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"f\"}}}]}]}]}"
        "\n");
}

/* Rules come in the order of the table, each once, with the text of its row. */
static void test_rules(void)
{
    akg_diagnostics *list = list_of("f", "a\nb\nc\n");
    diagnostic_add(list, MSG_UNDEFINED_NAME, on_line(1, 1, 2), "a");
    diagnostic_add(list, MSG_BAD_UTF8, on_line(2, 1, 2));
    diagnostic_add(list, MSG_UNDEFINED_NAME, on_line(3, 1, 2), "c");
    char *text = rendered(list, AKG_FORMAT_SARIF);
    check_contains(
        text,
        START "{\"id\":\"AKG0103\",\"name\":\"bad-utf8\",\"shortDescription\":{\"text\":\"the file is not "
              "valid UTF-8\"}");
    check_contains(
        text, "{\"id\":\"AKG0201\",\"name\":\"undefined-name\",\"shortDescription\":{\"text\":\"'...' is not "
              "defined\"}");
    check_contains(text, "\"defaultConfiguration\":{\"level\":\"error\"}}" MIDDLE);
    check_contains(text, "\"ruleId\":\"AKG0201\",\"ruleIndex\":1,");
    check_contains(text, "\"ruleId\":\"AKG0103\",\"ruleIndex\":0,");
    const char *rule = text ? strstr(text, "\"id\":\"AKG0201\"") : NULL;
    CHECK(rule && !strstr(rule + 1, "\"id\":\"AKG0201\""));
    akg_free(text);
}

/* ---- places -------------------------------------------------------------------- */

static void check_region(const char *source, struct span span, const char *region)
{
    akg_diagnostics *list = list_of("f", source);
    diagnostic_add(list, MSG_BAD_UTF8, span);
    char *text = rendered(list, AKG_FORMAT_SARIF);
    check_contains(text, region);
    akg_free(text);
}

static void test_columns(void)
{
    static const char in_characters[] = "{\"startLine\":1,\"startColumn\":3,\"endLine\":1,\"endColumn\":4}";
    check_region("abc", on_line(1, 3, 4), in_characters);
    check_region("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", on_line(1, 6, 10), in_characters);
    check_region("\xff\xff\xff", on_line(1, 3, 4), in_characters); /* no characters: bytes */
    check_region("\xef\xbb\xbf\xc3\xa4"
                 "bc",
                 on_line(1, 4, 5), in_characters);
    check_region(NULL, on_line(1, 3, 4), in_characters);
    check_region("ab", on_line(1, 3, 4), "\"startColumn\":3,"); /* behind the end */
    check_region("\xc3\xa4\r\xc3\xa4\r\n\xc3\xa4z\n", (struct span){2, 3, 3, 3},
                 "{\"startLine\":2,\"startColumn\":2,\"endLine\":3,\"endColumn\":2}");
}

static void check_uri(const char *file, const char *uri)
{
    akg_diagnostics *list = list_of(file, "x");
    diagnostic_add(list, MSG_BAD_UTF8, on_line(1, 1, 2));
    char *text = rendered(list, AKG_FORMAT_SARIF);
    check_contains(text, uri);
    akg_free(text);
}

static void test_uris(void)
{
    check_uri("a/b-c_d.akg", "{\"uri\":\"a/b-c_d.akg\"}");
    check_uri("/a b/c.akg", "{\"uri\":\"file:///a%20b/c.akg\"}");
    check_uri("<stdin>", "{\"uri\":\"%3Cstdin%3E\"}");
    check_uri("c:d?e#f%\"\xc3\xa4", "{\"uri\":\"c%3Ad%3Fe%23f%25%22%C3%A4\"}");
}

/* ---- several lists --------------------------------------------------------------- */

static void test_all(void)
{
    akg_diagnostics *first = list_of("f", "x\n"), *second = list_of("g", "yy\n");
    const akg_diagnostics *lists[] = {first, NULL, second};
    char *text = NULL;
    diagnostic_add(first, MSG_BAD_UTF8, on_line(1, 1, 2));
    diagnostic_add(second, MSG_BAD_UTF8, on_line(1, 2, 3));
    CHECK_INT(akg_diagnostics_render_all(lists, 3, AKG_FORMAT_TEXT, &text), AKG_OK);
    CHECK_STRING(text, "f:1:1: error: the file is not valid UTF-8 [AKG0103]\n    1 | x\n      | ^\n"
                       "g:1:2: error: the file is not valid UTF-8 [AKG0103]\n    1 | yy\n      |  ^\n");
    akg_free(text);
    CHECK_INT(akg_diagnostics_render_all(lists, 3, AKG_FORMAT_JSON, &text), AKG_OK);
    check_contains(text, "\"fix\":null},{\"severity\"");
    akg_free(text);
    CHECK_INT(akg_diagnostics_render_all(lists, 3, AKG_FORMAT_SARIF, &text), AKG_OK);
    check_contains(text, "{\"uri\":\"f\"}");
    check_contains(text, "{\"uri\":\"g\"}");
    akg_free(text);
    text = "";
    CHECK_INT(akg_diagnostics_render_all(lists, 3, (akg_format)(AKG_FORMAT_SARIF + 1), &text),
              AKG_ERROR_USAGE);
    CHECK(text == NULL);
    CHECK_INT(akg_diagnostics_render_all(NULL, 1, AKG_FORMAT_TEXT, &text), AKG_ERROR_USAGE);
    CHECK_INT(akg_diagnostics_render_all(lists, 3, AKG_FORMAT_TEXT, NULL), AKG_ERROR_USAGE);
    akg_diagnostics_free(first);
    akg_diagnostics_free(second);
}

#ifdef AKG_FAULT_INJECTION
static void test_memory(void)
{
    for (long allowed = 0;; allowed++) {
        akg_diagnostics *list = list_of("f", "x\n");
        char *text = "";
        struct diagnostic_entry *entry = diagnostic_add(list, MSG_BAD_UTF8, on_line(1, 1, 2));
        diagnostic_note(entry, "note: %200s", "long");
        diagnostic_fix(entry, "y");
        memory_fail_after(allowed);
        akg_status status = akg_diagnostics_render(list, AKG_FORMAT_SARIF, &text);
        long left = memory_fail_remaining();
        memory_fail_after(-1);
        CHECK_INT(status, left < 0 ? AKG_ERROR_MEMORY : AKG_OK);
        CHECK((text == NULL) == (status != AKG_OK));
        akg_free(text);
        akg_diagnostics_free(list);
        if (left >= 0)
            return;
    }
}
#endif

/* ---- which warnings are kept ------------------------------------------------------ */

static void test_warnings_by_name(void)
{
    akg_diagnostics *list = list_of("f", "x\n");
    CHECK(diagnostics_set_warning(list, "read-before-write", JIT_WARNING_SILENT));
    CHECK(!diagnostics_set_warning(list, "read-before-wirte", JIT_WARNING_SILENT));
    CHECK(!diagnostics_set_warning(list, "syntax", JIT_WARNING_SILENT));
    struct diagnostic_entry *entry = diagnostic_add(list, MSG_READ_BEFORE_WRITE, on_line(1, 1, 2), "x");
    diagnostic_note(entry, "note: %s", "goes nowhere");
    CHECK(entry == NULL);
    diagnostic_add(list, MSG_HINT_CONFLICT, on_line(1, 1, 2), "parallel");
    CHECK_INT(akg_diagnostics_count(list), 1);
    CHECK_INT(akg_diagnostics_error_count(list), 0);
    CHECK(diagnostics_set_warning(list, "read-before-write", JIT_WARNING_ERROR));
    diagnostic_add(list, MSG_READ_BEFORE_WRITE, on_line(1, 1, 2), "x");
    CHECK_INT(akg_diagnostics_error_count(list), 1);
    CHECK_INT(akg_diagnostics_at(list, 1)->severity, AKG_SEVERITY_ERROR);
    diagnostics_silence_warnings(list);
    CHECK(diagnostic_add(list, MSG_HINT_CONFLICT, on_line(2, 1, 2), "parallel") == NULL);
    CHECK(diagnostic_add(list, MSG_SYNTAX, on_line(2, 1, 2), "x") != NULL);
    akg_diagnostics_free(list);
}

static const char warns[] = "def f(x):\n"
                            "    y = output_tensor(x.shape, x.dtype)\n"
                            "    for i in grid(x.shape):\n"
                            "        y[i] = y[i] + x[i]\n"
                            "    return y\n";

/* Compiles with so many rules; the messages are for the caller. */
static akg_status compile(const jit_warning *rules, size_t count, bool all_errors,
                          akg_diagnostics **diagnostics)
{
    jit_source source = {"f", warns, sizeof warns - 1};
    jit_options options = {.warnings_are_errors = all_errors, .warnings = rules, .warning_count = count};
    akg_module *module = NULL;
    akg_status status = jit_compile(&source, &options, &module, diagnostics);
    CHECK((module != NULL) == (status == AKG_OK));
    akg_module_release(module);
    return status;
}

static void check_compile(const jit_warning *rules, size_t count, bool all_errors, akg_status status,
                          size_t messages)
{
    akg_diagnostics *diagnostics = NULL;
    CHECK_INT(compile(rules, count, all_errors, &diagnostics), status);
    CHECK_INT(akg_diagnostics_count(diagnostics), messages);
    akg_diagnostics_free(diagnostics);
}

static void test_options(void)
{
    static const jit_warning rules[] = {{"read-before-write", JIT_WARNING_SILENT},
                                        {"hint-conflict", JIT_WARNING_ERROR},
                                        {"read-before-write", JIT_WARNING_ERROR}};
    check_compile(NULL, 0, false, AKG_OK, 1);
    check_compile(NULL, 0, true, AKG_ERROR_PROGRAM, 1);
    check_compile(rules, 1, false, AKG_OK, 0);
    check_compile(rules, 2, true, AKG_OK, 0);
    check_compile(rules, 3, false, AKG_ERROR_PROGRAM, 1);
    check_compile(rules + 1, 1, false, AKG_OK, 1);
    check_compile(NULL, 1, false, AKG_ERROR_USAGE, 0);
    check_compile(&(jit_warning){NULL, JIT_WARNING_SILENT}, 1, false, AKG_ERROR_USAGE, 0);
    check_compile(&(jit_warning){"hint-conflict", (jit_warning_use)2}, 1, false, AKG_ERROR_USAGE, 0);
}

static void check_refused(const char *name, const char *note)
{
    akg_diagnostics *diagnostics = NULL;
    CHECK_INT(compile(&(jit_warning){name, JIT_WARNING_SILENT}, 1, false, &diagnostics), AKG_ERROR_USAGE);
    CHECK_INT(akg_diagnostics_count(diagnostics), 1);
    const akg_diagnostic *shown = akg_diagnostics_at(diagnostics, 0);
    CHECK_STRING(shown ? shown->name : NULL, "unknown-warning");
    CHECK_STRING(shown && shown->note_count == 1 ? shown->notes[0] : NULL, note);
    akg_diagnostics_free(diagnostics);
}

static void test_refused_options(void)
{
    check_refused("hint-conflcit", "help: did you mean 'hint-conflict'?");
    check_refused("undefined-name", "note: it is an error, and an error it stays");
    check_refused("", "help: 'akgrun explain' lists the names");
}

static void test_explain_message(void)
{
    akg_message message = {0};
    CHECK(akg_explain_message("AKG0501", &message));
    CHECK_STRING(message.name, "read-before-write");
    CHECK_INT(message.severity, AKG_SEVERITY_WARNING);
    CHECK(akg_explain_message("undefined-name", &message));
    CHECK_STRING(message.code, "AKG0201");
    CHECK_INT(message.severity, AKG_SEVERITY_ERROR);
    CHECK(!akg_explain_message("no-such", &message));
    CHECK_STRING(message.code, "AKG0201");
    CHECK(!akg_explain_message(NULL, &message));
    CHECK(!akg_explain_message("AKG0501", NULL));
}

int main(void)
{
    test_empty();
    test_result();
    test_no_place();
    test_rules();
    test_columns();
    test_uris();
    test_all();
#ifdef AKG_FAULT_INJECTION
    test_memory();
#endif
    test_warnings_by_name();
    test_options();
    test_refused_options();
    test_explain_message();
    return check_done();
}
