/*
 * command_gradcheck.c: `akgrun gradcheck FILE [KERNEL] NAME=VALUE...`: compares the gradients of a function
 * with differences, and prints a line for each input. A gradient that is wrong is a message of the library's.
 */
#include "akgrun.h"

#include "callee.h"
#include "report.h"
#include "wrt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Starts zeroed. */
struct check {
    const struct options *options;
    struct program program;
    struct callee callee;
    struct arguments arguments;
    const char **names; /* of --wrt */
    size_t name_count;
    akg_gradient_report *report;
};

static bool has_float(const akg_argument *argument)
{
    if (argument->kind == AKG_ARGUMENT_TENSOR)
        return wrt_is_float(argument->as.tensor);
    for (size_t i = 0; argument->kind == AKG_ARGUMENT_TENSORS && i < argument->as.tensors.count; i++)
        if (wrt_is_float(argument->as.tensors.items[i]))
            return true;
    return false;
}

static bool choose_names(struct check *check, struct problem *problem)
{
    const char *listed = check->options->wrt;
    bool any = false;
    check->names = calloc(check->arguments.count + 1, sizeof *check->names);
    if (!check->names)
        return problem_memory(problem);
    if (!wrt_check(listed, &check->arguments, problem))
        return false;
    for (size_t i = 0; i < check->arguments.count; i++) {
        const akg_argument *argument = &check->arguments.items[i];
        any |= has_float(argument);
        if (!listed || !wrt_is_listed(listed, argument->name))
            continue;
        if (!has_float(argument)) {
            problem_set(problem, AKG_ERROR_USAGE, "--wrt: '%.100s' has no gradient", argument->name);
            return problem_help(problem, "gradients are of tensors of float dtypes");
        }
        check->names[check->name_count++] = argument->name;
    }
    if (any)
        return true;
    problem_set(problem, AKG_ERROR_USAGE, "there is nothing to differentiate by");
    return problem_help(problem, "gradients are of tensors of float dtypes");
}

/* ---- printing ---------------------------------------------------------------------------------------- */

static void print_row(const akg_gradient_check_row *row)
{
    char item[32] = "";
    if (row->item >= 0)
        snprintf(item, sizeof item, "_%lld", (long long)row->item);
    printf("d%s%s %s: largest error %.2g (relative) over %lld", row->name, item, row->wrong ? "WRONG" : "ok",
           row->error, (long long)row->tried);
    if (row->tried < row->elements)
        printf(" of %lld", (long long)row->elements);
    printf(" element%s, %s\n", row->elements == 1 ? "" : "s", row->method);
}

/* What had no part though nobody said so: its gradients have no row. */
static void print_left_out(const struct check *check)
{
    for (size_t i = 0; !check->name_count && i < check->arguments.count; i++) {
        const akg_argument *argument = &check->arguments.items[i];
        akg_gradient_check_row row;
        bool has_row = !has_float(argument);
        for (size_t k = 0; akg_gradient_report_at(check->report, k, &row); k++)
            has_row |= strcmp(row.name, argument->name) == 0;
        if (!has_row)
            printf("d%s left out: written in place, and its gradient is None\n", argument->name);
    }
}

static void print_number(FILE *stream, const char *name, double value)
{
    if (isfinite(value))
        fprintf(stream, ", \"%s\": %.17g", name, value);
    else
        fprintf(stream, ", \"%s\": \"%s\"", name, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
}

static void print_row_json(FILE *stream, const akg_gradient_check_row *row)
{
    fprintf(stream, "{\"input\": ");
    report_json_string(stream, row->name);
    if (row->item >= 0)
        fprintf(stream, ", \"item\": %lld", (long long)row->item);
    fprintf(stream, ", \"ok\": %s, \"elements\": %lld, \"tried\": %lld, \"wrong\": %lld, \"method\": ",
            row->wrong ? "false" : "true", (long long)row->elements, (long long)row->tried,
            (long long)row->wrong);
    report_json_string(stream, row->method);
    print_number(stream, "error", row->error);
    if (row->tried > 0) {
        fprintf(stream, ", \"worst\": {\"index\": [");
        for (int i = 0; i < row->rank; i++)
            fprintf(stream, "%s%lld", i ? ", " : "", (long long)row->index[i]);
        fprintf(stream, "]");
        print_number(stream, "gradient", row->gradient);
        print_number(stream, "expected", row->expected);
        fprintf(stream, "}");
    }
    fprintf(stream, "}");
}

/* The members of the report that do not depend on whether all is well. */
static bool keep_members(const struct check *check, struct problem *problem)
{
    akg_gradient_check_row row;
    size_t length;
    FILE *stream = open_memstream(&problem->members, &length);
    if (!stream)
        return problem_memory(problem);
    fprintf(stream, "\"kernel\": ");
    report_json_string(stream, callee_name(&check->callee));
    fprintf(stream, ", \"gradients\": [");
    for (size_t i = 0; akg_gradient_report_at(check->report, i, &row); i++) {
        fprintf(stream, "%s", i ? ", " : "");
        print_row_json(stream, &row);
    }
    fprintf(stream, "], ");
    return fclose(stream) == 0 || problem_memory(problem);
}

/* What was found; the messages of what is wrong come with the problem. */
static bool print(const struct check *check, bool good, struct problem *problem)
{
    const akg_diagnostics *lists[] = {check->program.warnings};
    akg_gradient_check_row row;
    if (!check->options->json) {
        for (size_t i = 0; akg_gradient_report_at(check->report, i, &row); i++)
            print_row(&row);
        print_left_out(check);
        return report_flush(problem);
    }
    if (!keep_members(check, problem))
        return false;
    if (good) {
        printf("{%s", problem->members);
        report_json_diagnostics(lists, 1);
        printf("}\n");
    }
    return report_flush(problem);
}

/* ---- the subcommand ----------------------------------------------------------------------------------- */

static bool compare(struct check *check, struct problem *problem)
{
    akg_gradient_check_options options = {.tolerance = check->options->tolerance,
                                          .seed = check->options->seed,
                                          .names = check->options->wrt ? check->names : NULL,
                                          .name_count = check->name_count};
    akg_diagnostics *diagnostics = NULL;
    if (!callee_register(&check->callee, &check->program, problem))
        return false;
    akg_status status = akg_gradient_check(check->callee.operation, check->arguments.items,
                                           check->arguments.count, &options, &check->report, &diagnostics);
    if (check->report && !print(check, status == AKG_OK, problem)) {
        akg_diagnostics_free(diagnostics);
        return false;
    }
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

bool command_gradcheck(const struct options *options, struct problem *problem)
{
    struct check check = {.options = options};
    bool good = program_open(options, &check.program, problem) &&
                callee_open(options, &check.program, &check.callee, problem);
    if (good)
        report_warnings(options, check.program.warnings);
    good = good && callee_bind(&check.callee, &check.program, options->seed, &check.arguments, problem) &&
           arguments_move(&check.arguments, options->device, problem) && choose_names(&check, problem) &&
           compare(&check, problem);
    akg_gradient_report_release(check.report);
    callee_close(&check.callee);
    arguments_free(&check.arguments);
    free(check.names);
    program_close(&check.program, problem);
    return good;
}
