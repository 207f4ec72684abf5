/*
 * command_ops.c: `akgrun ops [NAME]`: the operators of the standard library, or of the libraries that --load
 * names; or one of them in full.
 */
#include "akgrun.h"

#include "callee.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is told of one operator. Starts zeroed. */
struct operator_row {
    const char *name, *documentation;
    char *signature; /* "softmax(x: T[M, N], axis: int = -1) -> y: T[M, N]" */
    char *kernels;   /* within it: the lines behind the first, of an operator written in C; or "" */
    bool gradient;
    akg_operator *found;
};

static bool read_row(akg_operator *found, struct operator_row *row, struct problem *problem)
{
    const akg_kernel *kernel = akg_operator_kernel(found);
    akg_status status = akg_operator_report(found, &row->signature);
    if (status != AKG_OK)
        return problem_library(problem, status, NULL);
    row->found = found;
    row->name = akg_operator_name(found);
    row->documentation = akg_operator_documentation(found);
    /* a graph function is differentiated call by call */
    row->gradient = akg_operator_has_gradient(found) || (kernel && akg_kernel_is_graph(kernel));
    row->kernels = row->signature + strcspn(row->signature, "\n");
    if (*row->kernels)
        *row->kernels++ = '\0';
    if (kernel)
        row->kernels = row->kernels + strlen(row->kernels);
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
        if (parameter.kind != AKG_PARAMETER_ATTRIBUTE && akg_operator_kernel(row->found))
            print_dtypes_json(akg_operator_kernel(row->found), i);
        printf("}");
    }
    printf("], \"gradient\": %s, \"documentation\": ", row->gradient ? "true" : "false");
    report_json_string(stdout, row->documentation);
    printf("}");
}

static void print_row(const struct operator_row *row, bool in_full)
{
    if (!in_full) {
        printf("%s%s\n", row->signature, row->gradient ? "" : "      no gradient");
        return;
    }
    printf("%s\n%s", row->signature, row->kernels);
    if (*row->documentation)
        printf("\n%s\n", row->documentation);
    printf("\ngradient: %s\n", row->gradient ? "yes" : "no");
}

/* One more row. */
static bool print_operator(const struct options *options, akg_operator *found, bool in_full, bool first,
                           struct problem *problem)
{
    struct operator_row row = {0};
    if (!read_row(found, &row, problem))
        return false;
    if (options->json) {
        printf("%s", first ? "" : ",\n ");
        print_row_json(&row);
    } else {
        print_row(&row, in_full);
    }
    akg_free(row.signature);
    return true;
}

/* ---- the standard library ------------------------------------------------------------ */

static bool print_standard(const struct options *options, akg_registry *registry, const char *only,
                           struct problem *problem)
{
    const char *name;
    bool first = true;
    for (size_t i = 0; (name = akg_standard_name(i)) != NULL; i++) {
        if (only && strcmp(only, name) != 0)
            continue;
        akg_diagnostics *diagnostics = NULL;
        akg_operator *found = NULL;
        char *full = string_format("std:%s", name);
        akg_status status = full ? akg_registry_find(registry, full, &found, &diagnostics) : AKG_ERROR_MEMORY;
        free(full);
        if (status != AKG_OK)
            return problem_library(problem, status, diagnostics);
        if (!print_operator(options, found, only != NULL, first, problem))
            return false;
        first = false;
    }
    return true;
}

/* The operator that was named: true when there is one, or none was named. */
static bool check_standard(const char *name, struct problem *problem)
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

/* ---- libraries ----------------------------------------------------------------------- */

static bool print_loaded(const struct options *options, akg_registry *registry, const char *only,
                         struct problem *problem)
{
    bool first = true;
    for (size_t i = 0; i < akg_registry_operator_count(registry); i++) {
        akg_operator *found = akg_registry_operator_at(registry, i);
        if (only && strcmp(only, akg_operator_name(found)) != 0)
            continue;
        if (!print_operator(options, found, only != NULL, first, problem))
            return false;
        first = false;
    }
    return true;
}

static bool check_loaded(akg_registry *registry, const char *name, struct problem *problem)
{
    const struct callee libraries = {.registry = registry};
    for (size_t i = 0; name && i < akg_registry_operator_count(registry); i++)
        if (strcmp(name, akg_operator_name(akg_registry_operator_at(registry, i))) == 0)
            return true;
    return !name || callee_unknown_operator(&libraries, name, problem);
}

/* ---- the subcommand ------------------------------------------------------------------ */

static bool print_list(const struct options *options, akg_registry *registry, const char *only,
                       struct problem *problem)
{
    if (options->json)
        printf("{\"operators\": [");
    if (!(options->load_count ? print_loaded : print_standard)(options, registry, only, problem))
        return false;
    if (options->json)
        printf("]}\n");
    return report_flush(problem);
}

bool command_ops(const struct options *options, struct problem *problem)
{
    const char *name = options->word_count ? options->words[0] : NULL;
    akg_registry *registry = NULL;
    if (options->word_count > 1)
        return problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.100s'", options->words[1]);
    if (!options->load_count && name && strncmp(name, "std:", 4) == 0)
        name += 4;
    if (!options->load_count && !check_standard(name, problem))
        return false;
    bool good = callee_load(options, &registry, problem) &&
                (!options->load_count || check_loaded(registry, name, problem)) &&
                print_list(options, registry, name, problem);
    akg_registry_release(registry);
    return good;
}
