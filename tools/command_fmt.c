/*
 * command_fmt.c: `akgrun fmt [--check] FILE`: the program printed canonically.
 *
 * The file is replaced by a finished one, in one step, and left alone where nothing changes. '-' formats
 * standard input to standard output.
 */
#include "akgrun.h"

#include "program_file.h"
#include "program.h"
#include "report.h"

#include <string.h>

static bool format_program(const struct options *options, const struct program *program,
                           const char *canonical, struct problem *problem)
{
    size_t length = strlen(canonical);
    bool same = program->source.length == length && memcmp(program->text, canonical, length) == 0;

    if (options->check && !same) {
        problem_set(problem, AKG_ERROR_PROGRAM, "%.200s is not formatted", program->source.name);
        return problem_help(problem, "akgrun fmt %.200s", program->source.name);
    }
    if (options->check)
        return true;
    if (program->is_standard_input) {
        fputs(canonical, stdout);
        return report_flush(problem);
    }
    return same || program_file_replace(program->source.name, canonical, length, problem);
}

bool command_fmt(const struct options *options, struct problem *problem)
{
    struct program program = {0};
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;
    akg_status status;
    bool good = false;

    if (program_open(options, &program, problem) && program_load(&program, problem)) {
        if (program.kernel_name || program.value_count) {
            problem_set(problem, AKG_ERROR_USAGE, "fmt takes one file");
        } else {
            status = jit_emit(&program.source, AKG_STAGE_CANONICAL, NULL, NULL, 0, &text, &diagnostics);
            if (status == AKG_OK)
                good = format_program(options, &program, text, problem);
            else
                problem_library(problem, status, diagnostics), diagnostics = NULL;
        }
    }
    akg_diagnostics_free(diagnostics);
    akg_free(text);
    program_close(&program, problem);
    return good;
}
