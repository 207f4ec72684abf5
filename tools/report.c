/*
 * report.c: prints results, warnings and problems, for people or as JSON.
 *
 * Consumes tensors and problems; assumes that whoever prints calls
 * report_flush at the end, which is where a full disk shows.
 */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- streams --------------------------------------------------------------- */

akg_format report_format(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool plain =
        (no_color && *no_color) || !terminal || strcmp(terminal, "dumb") == 0 || !isatty(fileno(stream));
    return plain ? AKG_FORMAT_TEXT : AKG_FORMAT_COLOR;
}

bool report_flush(struct problem *problem)
{
    errno = 0;
    int flushed = fflush(stdout);
    if (flushed == 0 && !ferror(stdout))
        return true;
    return problem_set(problem, AKG_ERROR_IO, "cannot write standard output%s%s", errno ? ": " : "",
                       errno ? strerror(errno) : "");
}

/* ---- JSON ------------------------------------------------------------------- */

/* The length of the UTF-8 sequence at `text`, or 0 when it is none. */
static size_t utf8_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool beyond = (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf4 && text[1] >= 0x90);
    return length > 1 && (overlong || beyond) ? 0 : length;
}

void report_json_bytes(FILE *stream, const char *text, size_t count)
{
    fputc('"', stream);
    for (const char *end = text + count; text < end;) {
        size_t length = utf8_length((const unsigned char *)text);
        unsigned char first = (unsigned char)*text;
        if (length == 0 || length > (size_t)(end - text))
            fputs("\\ufffd", stream);
        else if (first == '"' || first == '\\')
            fprintf(stream, "\\%c", first);
        else if (first == '\n')
            fputs("\\n", stream);
        else if (first < 0x20 || first == 0x7f)
            fprintf(stream, "\\u%04x", first);
        else
            fwrite(text, 1, length, stream);
        text += length ? length : 1;
    }
    fputc('"', stream);
}

void report_json_string(FILE *stream, const char *text)
{
    report_json_bytes(stream, text, strlen(text));
}

/* Prints what is between the brackets of rendered lists; whether anything was. */
static bool print_inner(FILE *stream, const akg_diagnostics *const *lists, size_t count)
{
    char *text = NULL;
    if (akg_diagnostics_render_all(lists, count, AKG_FORMAT_JSON, &text) != AKG_OK)
        return false;
    char *open = strchr(text, '['), *close = strrchr(text, ']');
    bool any = open && close && close > open + 1;
    if (any)
        fwrite(open + 1, 1, (size_t)(close - open - 1), stream);
    akg_free(text);
    return any;
}

void report_json_diagnostics(const akg_diagnostics *const *lists, size_t count)
{
    printf("\"diagnostics\": [");
    print_inner(stdout, lists, count);
    putchar(']');
}

/* ---- tensors ----------------------------------------------------------------- */

bool report_tensor(const char *name, const akg_tensor *tensor, struct problem *problem)
{
    char *elements = NULL;
    if (!tensor) {
        printf("%s None\n", name);
        return true;
    }
    akg_status status = akg_tensor_format(tensor, &elements);
    if (status != AKG_OK)
        return problem_library(problem, status, NULL);
    printf("%s %s[", name, akg_dtype_name(akg_tensor_dtype(tensor)));
    for (int axis = 0; axis < akg_tensor_rank(tensor); axis++)
        printf("%s%lld", axis ? ", " : "", (long long)akg_tensor_shape(tensor)[axis]);
    printf("] = %s\n", elements);
    akg_free(elements);
    return true;
}

/* The shortest decimal that reads back as the same number of its type; 9 digits always do for float32 and
 * narrower, 17 for float64. */
static void print_real(double value, bool single)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        printf("\"%s\"", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    fputs(text, stdout);
}

/* The element `offset` elements behind the first. 64-bit integers are read as they are: a double would round
 * them. */
static void print_element(const akg_tensor *tensor, int64_t offset, const int64_t *index)
{
    switch (akg_tensor_dtype(tensor)) {
    case AKG_INT64:
        printf("%lld", (long long)((const int64_t *)akg_tensor_data(tensor))[offset]);
        return;
    case AKG_UINT64:
        printf("%llu", (unsigned long long)((const uint64_t *)akg_tensor_data(tensor))[offset]);
        return;
    case AKG_BOOL:
        fputs(akg_tensor_get(tensor, index) != 0 ? "true" : "false", stdout);
        return;
    default:
        print_real(akg_tensor_get(tensor, index), akg_tensor_dtype(tensor) != AKG_FLOAT64);
    }
}

static void print_nested(const akg_tensor *tensor, int axis, int64_t offset, int64_t *index)
{
    if (axis == akg_tensor_rank(tensor)) {
        print_element(tensor, offset, index);
        return;
    }
    putchar('[');
    for (index[axis] = 0; index[axis] < akg_tensor_shape(tensor)[axis]; index[axis]++) {
        if (index[axis])
            fputs(", ", stdout);
        print_nested(tensor, axis + 1, offset + index[axis] * akg_tensor_strides(tensor)[axis], index);
    }
    putchar(']');
}

void report_tensor_json(const char *name, const akg_tensor *tensor)
{
    int64_t index[AKG_MAX_RANK] = {0};
    printf("{\"name\": ");
    report_json_string(stdout, name);
    if (!tensor) {
        printf(", \"dtype\": null}");
        return;
    }
    printf(", \"dtype\": \"%s\", \"shape\": [", akg_dtype_name(akg_tensor_dtype(tensor)));
    for (int axis = 0; axis < akg_tensor_rank(tensor); axis++)
        printf("%s%lld", axis ? ", " : "", (long long)akg_tensor_shape(tensor)[axis]);
    printf("], \"data\": ");
    print_nested(tensor, 0, 0, index);
    putchar('}');
}

/* ---- problems ------------------------------------------------------------------ */

static int exit_status(akg_status status)
{
    switch (status) {
    case AKG_OK:
        return 0;
    case AKG_ERROR_PROGRAM:
        return 1;
    case AKG_ERROR_USAGE:
    case AKG_ERROR_IO:
        return 2;
    case AKG_ERROR_CALL:
        return 3;
    case AKG_ERROR_INTERNAL:
    case AKG_ERROR_MEMORY:
    case AKG_ERROR_DEVICE:
        break;
    }
    return 4;
}

static void print_rendered(FILE *stream, const akg_diagnostics *const *lists, size_t count, akg_format format)
{
    char *text = NULL;
    if (akg_diagnostics_render_all(lists, count, format, &text) != AKG_OK) {
        fputs("akgrun: error: out of memory while the messages were printed\n", stream);
        return;
    }
    fputs(text, stream);
    if (*text && text[strlen(text) - 1] != '\n')
        fputc('\n', stream);
    akg_free(text);
}

/* The problem and the warnings before it, as the library's JSON; a problem of our own has that form too. */
static void print_problem_json(FILE *stream, const struct problem *problem, const char *members)
{
    static const char *const names[] = {
        [AKG_ERROR_PROGRAM] = "program",   [AKG_ERROR_USAGE] = "command-line",   [AKG_ERROR_CALL] = "call",
        [AKG_ERROR_INTERNAL] = "internal", [AKG_ERROR_MEMORY] = "out-of-memory", [AKG_ERROR_IO] = "file",
        [AKG_ERROR_DEVICE] = "device"};
    const akg_diagnostics *lists[] = {problem->warnings, problem->diagnostics};
    fprintf(stream, "{%s\"diagnostics\":[", members ? members : "");
    bool comma = print_inner(stream, lists, 2);
    if (akg_diagnostics_count(problem->diagnostics) == 0) {
        fprintf(stream,
                "%s{\"severity\":\"error\",\"code\":\"\",\"name\":\"%s\",\"file\":\"\",\"line\":0,"
                "\"column\":0,\"end_line\":0,\"end_column\":0,\"message\":",
                comma ? "," : "", names[problem->status]);
        report_json_string(stream, problem->text);
        fputs(",\"notes\":[", stream);
        if (problem->help[0]) {
            char help[sizeof problem->help + 8];
            snprintf(help, sizeof help, "help: %s", problem->help);
            report_json_string(stream, help);
        }
        fputs("],\"fix\":null}", stream);
    }
    fputs("]}\n", stream);
}

/* Braces stand for particulars in SARIF's messages; real ones are doubled. */
static size_t double_braces(char *doubled, const char *text)
{
    size_t length = 0;
    for (; *text; text++) {
        doubled[length++] = *text;
        if (*text == '{' || *text == '}')
            doubled[length++] = *text;
    }
    doubled[length] = '\0';
    return length;
}

/* The same as SARIF. A problem of our own is none of the program's: the run did not succeed. */
static void print_problem_sarif(FILE *stream, const struct problem *problem)
{
    const akg_diagnostics *lists[] = {problem->warnings, problem->diagnostics};
    char text[2 * sizeof problem->text + 2 * sizeof problem->help + sizeof "\nhelp: "];
    size_t length;
    if (akg_diagnostics_count(problem->diagnostics) > 0) {
        print_rendered(stream, lists, 2, AKG_FORMAT_SARIF);
        return;
    }
    fprintf(stream,
            "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
            "\"tool\":{\"driver\":{\"name\":\"akgrun\",\"version\":\"%s\"}},\"invocations\":[{"
            "\"executionSuccessful\":false,\"toolExecutionNotifications\":[{\"level\":\"error\","
            "\"message\":{\"text\":",
            akg_version());
    length = double_braces(text, problem->text);
    if (problem->help[0]) {
        length += (size_t)sprintf(text + length, "\nhelp: ");
        double_braces(text + length, problem->help);
    }
    report_json_string(stream, text);
    fputs("}}]}],\"results\":[]}]}\n", stream);
}

static void print_problem(const struct problem *problem)
{
    bool color = report_format(stderr) == AKG_FORMAT_COLOR;
    fprintf(stderr, "%sakgrun: %serror:%s %s\n", color ? "\033[1m" : "", color ? "\033[31m" : "",
            color ? "\033[0m" : "", problem->text);
    if (problem->help[0])
        fprintf(stderr, "%shelp:%s %s\n", color ? "\033[1m" : "", color ? "\033[0m" : "", problem->help);
}

static void print_what_to_report(char **argv)
{
    fprintf(stderr,
            "akgrun: this is a bug in akg, not in your program. Please report it with the program, the "
            "message above,\n"
            "akgrun: the version (%s) and the command line:",
            akg_version());
    for (char **word = argv; *word; word++)
        fprintf(stderr, " %.2000s", *word);
    fputc('\n', stderr);
}

int report_problem(const struct options *options, const struct problem *problem, char **argv)
{
    const akg_diagnostics *list = problem->diagnostics;
    bool json = options->json && !ferror(stdout); /* where standard output is gone, words remain */
    if (json)
        print_problem_json(stdout, problem, problem->members);
    if (options->diagnostics == AKG_FORMAT_JSON)
        print_problem_json(stderr, problem, NULL);
    else if (options->diagnostics == AKG_FORMAT_SARIF)
        print_problem_sarif(stderr, problem);
    else if (!json && akg_diagnostics_count(list) > 0)
        print_rendered(stderr, &list, 1, report_format(stderr));
    else if (!json)
        print_problem(problem);
    if (problem->status == AKG_ERROR_INTERNAL && options->diagnostics == AKG_FORMAT_TEXT)
        print_what_to_report(argv);
    return exit_status(problem->status);
}

void report_warnings(const struct options *options, const akg_diagnostics *diagnostics)
{
    if (!options->json && options->diagnostics == AKG_FORMAT_TEXT && akg_diagnostics_count(diagnostics) > 0)
        print_rendered(stderr, &diagnostics, 1, report_format(stderr));
}

void report_done(const struct options *options, const struct problem *problem)
{
    const akg_diagnostics *list = problem->warnings;
    if (options->diagnostics != AKG_FORMAT_TEXT)
        print_rendered(stderr, &list, 1, options->diagnostics);
}
