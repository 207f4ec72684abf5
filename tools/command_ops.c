/*
 * command_ops.c: `akgrun ops [NAME]`: the operators of the standard library, or one of them in full.
 */
#include "akgrun.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is told of one operator. Starts zeroed. */
struct operator_row {
    const char *name, *documentation;
    char *signature; /* "softmax(x: T[M, N], axis: int = -1) -> y: T[M, N]" */
    bool gradient;
    akg_operator *found;
};

static bool read_row(akg_registry *registry, const char *name, struct operator_row *row,
                     struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    char *full = string_format("std:%s", name);
    akg_status status = AKG_ERROR_MEMORY;
    if (full)
        status = akg_registry_find(registry, full, &row->found, &diagnostics);
    free(full);
    if (status == AKG_OK)
        status = akg_kernel_report(akg_operator_kernel(row->found), AKG_FORMAT_TEXT, &row->signature);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    row->name = name;
    row->documentation = akg_operator_documentation(row->found);
    /* a graph function is differentiated call by call */
    row->gradient =
        akg_operator_has_gradient(row->found) || akg_kernel_is_graph(akg_operator_kernel(row->found));
    row->signature[strcspn(row->signature, "\n")] = '\0';
    return true;
}

/* The dtypes that tensors of a parameter may have. */
static void print_dtypes_json(const akg_kernel *kernel, size_t parameter)
{
    bool first = true;
    printf(", \"dtypes\": [");
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        if (!akg_kernel_takes(kernel, parameter, (akg_dtype)dtype))
            continue;
        printf("%s\"%s\"", first ? "" : ", ", akg_dtype_name((akg_dtype)dtype));
        first = false;
    }
    printf("]");
}

static void print_row_json(const struct operator_row *row)
{
    akg_parameter parameter;
    printf("{\"name\": ");
    report_json_string(stdout, row->name);
    printf(", \"signature\": ");
    report_json_string(stdout, row->signature);
    printf(", \"parameters\": [");
    for (size_t i = 0; akg_operator_parameter(row->found, i, &parameter); i++) {
        static const char *const kinds[] = {"tensor", "attribute", "variadic"};
        printf("%s{\"name\": ", i ? ", " : "");
        report_json_string(stdout, parameter.name);
        printf(", \"kind\": \"%s\", \"optional\": %s", kinds[parameter.kind],
               parameter.optional ? "true" : "false");
        if (parameter.kind != AKG_PARAMETER_ATTRIBUTE)
            print_dtypes_json(akg_operator_kernel(row->found), i);
        printf("}");
    }
    printf("], \"gradient\": %s, \"documentation\": ", row->gradient ? "true" : "false");
    report_json_string(stdout, row->documentation);
    printf("}");
}

static void print_row(const struct operator_row *row, bool in_full)
{
    if (in_full)
        printf("%s\n\n%s\n\ngradient: %s\n", row->signature, row->documentation,
               row->gradient ? "yes" : "no");
    else
        printf("%s%s\n", row->signature, row->gradient ? "" : "      no gradient");
}

static bool print_all(const struct options *options, akg_registry *registry, const char *only,
                      struct problem *problem)
{
    const char *name;
    bool first = true;
    if (options->json)
        printf("{\"operators\": [");
    for (size_t i = 0; (name = akg_standard_name(i)) != NULL; i++) {
        struct operator_row row = {0};
        if (only && strcmp(only, name) != 0)
            continue;
        bool good = read_row(registry, name, &row, problem);
        if (good && options->json) {
            printf("%s", first ? "" : ",\n ");
            print_row_json(&row);
        } else if (good) {
            print_row(&row, only != NULL);
        }
        first = false;
        akg_free(row.signature);
        if (!good)
            return false;
    }
    if (options->json)
        printf("]}\n");
    return report_flush(problem);
}

/* The operator that was named: true when there is one, or none was named. */
static bool check_name(const char *name, struct problem *problem)
{
    struct nearest nearest = {.word = name};
    const char *known;
    for (size_t i = 0; name && (known = akg_standard_name(i)) != NULL; i++) {
        if (strcmp(known, name) == 0)
            return true;
        nearest_consider(&nearest, known);
    }
    if (!name)
        return true;
    problem_set(problem, AKG_ERROR_USAGE, "the standard library has no operator '%.100s'", name);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "'akgrun ops' lists them");
}

bool command_ops(const struct options *options, struct problem *problem)
{
    const char *name = options->word_count ? options->words[0] : NULL;
    akg_registry *registry = NULL;
    if (options->word_count > 1)
        return problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.100s'", options->words[1]);
    if (name && strncmp(name, "std:", 4) == 0)
        name += 4;
    if (!check_name(name, problem))
        return false;
    akg_status status = akg_registry_create(&registry);
    bool good = status == AKG_OK ? print_all(options, registry, name, problem)
                                 : problem_library(problem, status, NULL);
    akg_registry_release(registry);
    return good;
}
