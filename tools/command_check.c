/*
 * command_check.c: `akgrun check [--fix] [--explain-proof] FILE [KERNEL]`: the inferred signature of each
 * kernel, the preconditions of a call, and what is proved of it; warnings on standard error. --fix repairs
 * the file first, and what is told is what was left.
 */
#include "akgrun.h"

#include "fix.h"
#include "program.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* The reports asked for: of the kernel named, or of all. Made before anything is printed, so that a problem
 * leaves no half report. */
struct reports {
    char **texts;
    size_t count;
};

static bool add_report(const struct options *options, akg_kernel *kernel, struct reports *reports,
                       struct problem *problem)
{
    akg_format format = options->json ? AKG_FORMAT_JSON : report_format(stdout);
    akg_detail detail = options->explain_proof ? AKG_DETAIL_PROOF : AKG_DETAIL_SUMMARY;
    char *text = NULL;
    akg_status status = akg_kernel_report_detail(kernel, format, detail, &text);
    if (status != AKG_OK)
        return problem_library(problem, status, NULL);
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    reports->texts[reports->count++] = text;
    return true;
}

static bool make_reports(const struct options *options, const struct program *program,
                         struct reports *reports, struct problem *problem)
{
    akg_kernel *kernel = NULL;
    reports->texts = calloc(akg_module_kernel_count(program->module) + 1, sizeof *reports->texts);
    if (!reports->texts)
        return problem_memory(problem);
    if (program->kernel_name)
        return program_kernel(program, &kernel, problem) && add_report(options, kernel, reports, problem);
    for (size_t i = 0; (kernel = akg_module_kernel_at(program->module, i)); i++)
        if (!add_report(options, kernel, reports, problem))
            return false;
    return true;
}

static void print_json(const struct program *program, const struct reports *reports, const char *members)
{
    const akg_diagnostics *lists[] = {program->warnings};
    printf("{%s\"kernels\": [", members ? members : "");
    for (size_t i = 0; i < reports->count; i++)
        printf("%s%s", i ? ", " : "", reports->texts[i]);
    printf("], ");
    report_json_diagnostics(lists, 1);
    printf("}\n");
}

static bool report(const struct options *options, const struct program *program, struct problem *problem)
{
    struct reports reports = {0};
    report_warnings(options, program->warnings);
    bool good = make_reports(options, program, &reports, problem);
    if (good && options->json)
        print_json(program, &reports, problem->members);
    /* a repaired program on standard output stands alone there */
    bool prints = good && !options->json && !(options->fix && program->is_standard_input);
    for (size_t i = 0; prints && i < reports.count; i++)
        printf("%s\n", reports.texts[i]);
    for (size_t i = 0; i < reports.count; i++)
        akg_free(reports.texts[i]);
    free(reports.texts);
    return good && report_flush(problem);
}

/* The members "text", of a program on standard input, and "fixed". */
static bool keep_members(const struct program *program, const struct fixes *fixes, struct problem *problem)
{
    size_t length;
    FILE *stream = open_memstream(&problem->members, &length);
    if (!stream)
        return problem_memory(problem);
    if (program->is_standard_input) {
        fputs("\"text\": ", stream);
        report_json_bytes(stream, program->text, program->source.length);
        fputs(", ", stream);
    }
    fprintf(stream, "\"fixed\": [%s], ", fixes->log);
    return fclose(stream) == 0 || problem_memory(problem);
}

static bool fix_and_tell(const struct options *options, struct program *program, struct problem *problem)
{
    struct fixes fixes = {0};
    bool good = fix_program(options, program, &fixes, problem);
    if (good && options->json)
        good = keep_members(program, &fixes, problem);
    else if (good && options->diagnostics == AKG_FORMAT_TEXT)
        fputs(fixes.log, stderr);
    if (good && !options->json && program->is_standard_input) {
        fwrite(program->text, 1, program->source.length, stdout);
        good = report_flush(problem);
    }
    free(fixes.log);
    return good;
}

bool command_check(const struct options *options, struct problem *problem)
{
    struct program program = {0};
    bool good = program_open(options, &program, problem);
    if (good && program_has_values(&program)) {
        good = problem_set(problem, AKG_ERROR_USAGE, "check takes no values");
        problem_help(problem, "'akgrun run' calls a kernel with values");
    }
    good = good && (!options->fix || fix_and_tell(options, &program, problem)) &&
           program_compile(options, &program, problem) && report(options, &program, problem);
    program_close(&program, problem);
    return good;
}
