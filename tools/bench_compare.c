/*
 * bench_compare.c: two reports of benchmarks, row by row; what differs beyond doubt is marked.
 */
#include "bench.h"

#include "json.h"
#include "program_file.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static bool is_report(const struct json *report)
{
    const struct json *rows = json_member(report, "rows");
    if (!rows || rows->kind != JSON_LIST)
        return false;
    for (const struct json *row = rows->first; row; row = row->next) {
        const struct json *ends = json_member(row, "ci_ns");
        if (!json_string(row, "kernel") || !json_string(row, "tier") ||
            json_number(row, "median_ns", 0) <= 0 || !ends || ends->kind != JSON_LIST || !ends->first ||
            ends->first->kind != JSON_NUMBER || !ends->first->next || ends->first->next->kind != JSON_NUMBER)
            return false;
    }
    return true;
}

static struct json *read_report(const char *path, struct problem *problem)
{
    char *text, where[200];
    size_t length;
    if (!program_file_read(path, &text, &length, problem))
        return NULL;
    struct json *report = json_read(text, problem);
    free(text);
    if (!report && problem->status == AKG_ERROR_USAGE) {
        snprintf(where, sizeof where, "%.190s", problem->text);
        problem_set(problem, AKG_ERROR_USAGE, "%.200s:%s", path, where);
    } else if (report && !is_report(report)) {
        json_free(report);
        report = NULL;
        problem_set(problem, AKG_ERROR_USAGE, "%.200s is no report of akgrun bench", path);
        problem_help(problem, "akgrun bench FILE ... --json REPORT writes one");
    }
    return report;
}

static struct spread spread_of(const struct json *row)
{
    const struct json *ends = json_member(row, "ci_ns");
    return (struct spread){json_number(row, "median_ns", 0), ends->first->number, ends->first->next->number};
}

/* Whether both name the same compiler, or none: twins do. */
static bool is_same_compiler(const struct json *a, const struct json *b)
{
    const char *first = json_string(a, "compiler"), *second = json_string(b, "compiler");
    return !first || !second ? first == second : strcmp(first, second) == 0;
}

/* The number-th row of that kernel, tier, compiler and number of threads, or NULL. */
static const struct json *find_row(const struct json *report, const struct json *like, int number)
{
    for (const struct json *row = json_member(report, "rows")->first; row; row = row->next)
        if (strcmp(json_string(row, "kernel"), json_string(like, "kernel")) == 0 &&
            strcmp(json_string(row, "tier"), json_string(like, "tier")) == 0 && is_same_compiler(row, like) &&
            json_number(row, "threads", 1) == json_number(like, "threads", 1) && number-- == 0)
            return row;
    return NULL;
}

/* How many rows like this one stand before it. */
static int number_of(const struct json *report, const struct json *row)
{
    int number = 0;
    while (find_row(report, row, number) != row)
        number++;
    return number;
}

/* The file may be anybody's: what could steer a terminal is not printed. Two are kept at a time. */
static const char *shown(const struct json *row, const char *name)
{
    enum { LONGEST = 40 };
    static char texts[2][LONGEST];
    static int at;
    char *text = texts[at = !at];
    snprintf(text, LONGEST, "%s", json_string(row, name));
    for (char *byte = text; *byte; byte++)
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            *byte = '?';
    return text;
}

static void print_row(const struct json *row)
{
    const char *compiler = json_string(row, "compiler") ? shown(row, "compiler") : "";
    char tier[100];
    snprintf(tier, sizeof tier, "%s%s%s", shown(row, "tier"), *compiler ? " " : "", compiler);
    printf("  %-24s %-8s %2.0f", shown(row, "kernel"), tier, json_number(row, "threads", 1));
}

/* Beyond doubt: the intervals are apart, and so are the medians by more than where its memory happens to lie
 * makes of one program. */
static const char *change_of(const struct spread *before, const struct spread *after)
{
    const double doubt = 0.02;
    double ratio = after->median / before->median;
    if (!statistics_differ(before, after) || (ratio < 1 + doubt && ratio > 1 - doubt))
        return "";
    return ratio < 1 ? "  faster" : "  slower";
}

static void print_change(const struct json *before, const struct json *after)
{
    struct spread a = spread_of(before), b = spread_of(after);
    char from[32], to[32];
    bench_format_seconds(from, sizeof from, a.median * 1e-9);
    bench_format_seconds(to, sizeof to, b.median * 1e-9);
    print_row(after);
    printf(" %11s %11s  %6.3f%s\n", from, to, b.median / a.median, change_of(&a, &b));
}

static void print_only(const struct json *row, const char *path)
{
    print_row(row);
    printf(" only in %s\n", path);
}

/* A machine differs: nothing that is compared then means much. */
static bool is_same_machine(const struct json *a, const struct json *b)
{
    const char *first = json_string(json_member(a, "machine"), "cpu");
    const char *second = json_string(json_member(b, "machine"), "cpu");
    return first && second && strcmp(first, second) == 0;
}

static void print_comparison(const struct json *before, const struct json *after, const char *paths[2])
{
    if (!is_same_machine(before, after))
        printf("  the machines differ\n");
    printf("  %-24s %-8s %2s %11s %11s  %6s\n", "kernel", "tier", "th", "before", "after", "ratio");
    for (const struct json *row = json_member(after, "rows")->first; row; row = row->next) {
        const struct json *old = find_row(before, row, number_of(after, row));
        if (old)
            print_change(old, row);
        else
            print_only(row, paths[1]);
    }
    for (const struct json *row = json_member(before, "rows")->first; row; row = row->next)
        if (!find_row(after, row, number_of(before, row)))
            print_only(row, paths[0]);
}

bool bench_compare(const char *before, const char *after, struct problem *problem)
{
    const char *paths[2] = {before, after};
    struct json *first = read_report(before, problem);
    struct json *second = first ? read_report(after, problem) : NULL;
    if (second)
        print_comparison(first, second, paths);
    json_free(first);
    json_free(second);
    return second && report_flush(problem);
}
