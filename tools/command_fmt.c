/*
 * command_fmt.c: `akgrun fmt [--check] FILE`: the program printed canonically.
 *
 * The file is replaced by a finished one, in one step, and left alone where nothing changes. '-' formats
 * standard input to standard output.
 */
#include "akgrun.h"

#include "program.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_failed(struct problem *problem, const char *path)
{
    return problem_set(problem, AKG_ERROR_IO, "cannot write '%.200s': %s", path, strerror(errno));
}

/* Writes the text beside the file and renames it over it. */
static bool replace_file(const char *path, const char *text, struct problem *problem)
{
    char *beside = string_format("%s.fmt-%ld", path, (long)getpid());
    struct stat before;
    FILE *file;
    bool good;

    if (!beside)
        return problem_memory(problem);
    file = fopen(beside, "wbx");
    if (!file) {
        write_failed(problem, beside);
        free(beside);
        return false;
    }
    good = fputs(text, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    good = good && (stat(path, &before) != 0 || fchmod(fileno(file), before.st_mode & 07777) == 0);
    good = fclose(file) == 0 && good;
    good = good && rename(beside, path) == 0;
    if (!good) {
        write_failed(problem, path);
        unlink(beside);
    }
    free(beside);
    return good;
}

/* The text of the program as it stands; what is not "-" is read again, to see whether anything changes. */
static bool is_canonical(const struct program *program, const char *canonical, bool *same, struct problem *problem)
{
    size_t length = strlen(canonical), got;
    FILE *file;
    char *text;

    if (program->text) {
        *same = program->source.length == length && memcmp(program->text, canonical, length) == 0;
        return true;
    }
    file = fopen(program->source.name, "rb");
    text = malloc(length + 2);
    if (!file || !text) {
        if (file)
            fclose(file);
        free(text);
        return text ? problem_set(problem, AKG_ERROR_IO, "cannot read '%.200s'", program->source.name)
                    : problem_memory(problem);
    }
    got = fread(text, 1, length + 1, file);
    *same = got == length && memcmp(text, canonical, length) == 0;
    fclose(file);
    free(text);
    return true;
}

static bool format_program(const struct options *options, const struct program *program, const char *canonical,
                           struct problem *problem)
{
    bool same = false;

    if (!is_canonical(program, canonical, &same, problem))
        return false;
    if (options->check && !same) {
        problem_set(problem, AKG_ERROR_PROGRAM, "%.200s is not formatted", program->source.name);
        return problem_help(problem, "akgrun fmt %.200s", program->source.name);
    }
    if (options->check)
        return true;
    if (program->text) {
        fputs(canonical, stdout);
        return report_flush(problem);
    }
    return same || replace_file(program->source.name, canonical, problem);
}

bool command_fmt(const struct options *options, struct problem *problem)
{
    struct program program = {0};
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;
    akg_status status;
    bool good = false;

    if (program_open(options, &program, problem)) {
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
    program_free(&program);
    return good;
}
