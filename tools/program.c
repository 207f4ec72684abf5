/*
 * program.c: from the words FILE [KERNEL] NAME=VALUE... to a module and a kernel.
 *
 * Files are read by the library; standard input is read here, and what is to be changed.
 */
#include "program.h"

#include "arguments.h"
#include "program_file.h"

#include <stdlib.h>
#include <string.h>

/* All of standard input. */
static bool read_standard_input(struct program *program, struct problem *problem)
{
    char *text;
    size_t length;
    program->is_standard_input = true;
    program->source.name = "<stdin>";
    if (!program_file_read_stream(stdin, "standard input", &text, &length, problem))
        return false;
    program_set_text(program, text, length);
    return true;
}

/* A word behind FILE that is no NAME=VALUE: the first is KERNEL, if it can be a name at all. */
static bool take_kernel_name(const struct options *options, struct program *program, const char *word,
                             struct problem *problem)
{
    if (!program->kernel_name && word[0] != '\0' && !strpbrk(word, "=[]()+-.,:/ \"'") &&
        !(word[0] >= '0' && word[0] <= '9')) {
        program->kernel_name = word;
        return true;
    }
    problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.100s'", word);
    if (string_ends_with(word, ".akg"))
        return problem_help(problem, "one file at a time; %.100s comes first here", options->words[0]);
    if (program->kernel_name && !strchr(word, '='))
        return problem_help(problem, "one kernel at a time; '%.100s' was named before", program->kernel_name);
    return problem_help(problem, "a value is written NAME=VALUE, such as x=%.60s",
                        word[0] == '[' || (word[0] >= '0' && word[0] <= '9') ? word : "'[1,2,3]'");
}

/* std:NAME: the file of the standard library that defines it, and that function if no other is named. */
static bool open_standard(const char *name, struct program *program, struct problem *problem)
{
    struct nearest nearest = {.word = name};
    const char *known;
    for (size_t i = 0; (known = akg_standard_name(i)) != NULL && strcmp(known, name) != 0; i++)
        nearest_consider(&nearest, known);
    if (known) {
        program->kernel_name = program->kernel_name ? program->kernel_name : name;
        return true;
    }
    problem_set(problem, AKG_ERROR_USAGE, "the standard library has no operator '%.100s'", name);
    if (nearest.best)
        return problem_help(problem, "did you mean 'std:%s'?", nearest.best);
    return problem_help(problem, "'akgrun ops' lists them");
}

bool program_open(const struct options *options, struct program *program, struct problem *problem)
{
    if (options->word_count == 0) {
        problem_set(problem, AKG_ERROR_USAGE, "no program is named");
        return problem_help(problem, "name an .akg file, or '-' for standard input");
    }
    program->values = options->words + 1;
    program->value_count = options->word_count - 1;
    for (int i = 0; i < program->value_count; i++)
        if (!arguments_is_value(program->values[i]) &&
            !take_kernel_name(options, program, program->values[i], problem))
            return false;
    if (strcmp(options->words[0], "-") == 0)
        return read_standard_input(program, problem);
    if (options->words[0][0] == '\0')
        return problem_set(problem, AKG_ERROR_USAGE, "the name of the program is empty");
    program->source = (jit_source){.name = options->words[0]};
    return options->load_count || strncmp(options->words[0], "std:", 4) != 0 ||
           open_standard(options->words[0] + 4, program, problem);
}

void program_set_text(struct program *program, char *text, size_t length)
{
    free(program->text);
    program->text = text;
    program->source.text = text;
    program->source.length = length;
}

bool program_load(struct program *program, struct problem *problem)
{
    char *text;
    size_t length;
    if (program->text)
        return true;
    if (!program_file_read(program->source.name, &text, &length, problem))
        return false;
    program_set_text(program, text, length);
    return true;
}

akg_status program_try(const struct options *options, const struct program *program, akg_module **module,
                       akg_diagnostics **diagnostics)
{
    jit_options settings = {.backend = options->backend,
                            .warnings_are_errors = options->warnings_are_errors,
                            .warnings = options->warnings,
                            .warning_count = options->warning_count,
                            .strict = options->strict,
                            .any_shape = options->any_shape,
                            .tf32 = options->tf32,
                            .target = options->target,
                            .tier = options->tier};
    return jit_compile(&program->source, &settings, module, diagnostics);
}

bool program_compile(const struct options *options, struct program *program, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_status status = program_try(options, program, &program->module, &diagnostics);
    if (status == AKG_ERROR_USAGE && options->target && akg_diagnostics_count(diagnostics) == 0)
        return problem_set(problem, status, "this processor has no %s instructions", options->target);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    program->warnings = diagnostics;
    return true;
}

/* Whether the file has such a function: one of numbers, which others call, is no kernel. */
static bool is_of_numbers(const struct program *program)
{
    char *tree = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status =
        jit_emit(&program->source, AKG_STAGE_AST, program->kernel_name, NULL, 0, &tree, &diagnostics);
    akg_free(tree);
    akg_diagnostics_free(diagnostics);
    return status == AKG_OK;
}

static bool unknown_kernel(const struct program *program, struct problem *problem)
{
    if (is_of_numbers(program)) {
        problem_set(problem, AKG_ERROR_USAGE,
                    "'%.100s' is a function of numbers, as far as its text tells, and no kernel",
                    program->kernel_name);
        return problem_help(problem, "where it takes tensors, say so of one: x: T[N]");
    }
    struct nearest nearest = {.word = program->kernel_name};
    struct name_list list = {0};
    for (size_t i = 0; i < akg_module_kernel_count(program->module); i++) {
        const char *name = akg_kernel_name(akg_module_kernel_at(program->module, i));
        nearest_consider(&nearest, name);
        name_list_add(&list, name);
    }
    problem_set(problem, AKG_ERROR_USAGE, "%.200s has no kernel '%.100s'", program->source.name,
                program->kernel_name);
    if (nearest.best)
        return problem_help(problem, "did you mean '%.100s'?", nearest.best);
    return problem_help(problem, "its kernels: %s", list.length ? list.text : "none");
}

/* A function that a KERNEL left out can mean: no graph function, and no helper, which returns no tensor. */
static bool is_plain_kernel(const akg_kernel *kernel)
{
    return !akg_kernel_is_graph(kernel) && akg_kernel_output_count(kernel) > 0;
}

/* The only function of the module, or the only plain kernel. */
static bool only_kernel(const struct program *program, akg_kernel **kernel, struct problem *problem)
{
    size_t count = akg_module_kernel_count(program->module), plain = 0;
    struct name_list all = {0}, plain_ones = {0};
    for (size_t i = 0; i < count; i++) {
        akg_kernel *candidate = akg_module_kernel_at(program->module, i);
        name_list_add(&all, akg_kernel_name(candidate));
        if (count > 1 && !is_plain_kernel(candidate))
            continue;
        name_list_add(&plain_ones, akg_kernel_name(candidate));
        *kernel = candidate;
        plain++;
    }
    if (plain == 1)
        return true;
    if (count == 0)
        return problem_set(problem, AKG_ERROR_USAGE, "%.200s has no kernel", program->source.name);
    problem_set(problem, AKG_ERROR_USAGE, "%.200s has %zu %s, and none was named", program->source.name,
                plain ? plain : count, plain ? "kernels" : "functions");
    return problem_help(problem, "name one of them behind the file: %s", plain ? plain_ones.text : all.text);
}

bool program_kernel(const struct program *program, akg_kernel **kernel, struct problem *problem)
{
    if (!program->kernel_name)
        return only_kernel(program, kernel, problem);
    *kernel = akg_module_kernel(program->module, program->kernel_name);
    return *kernel || unknown_kernel(program, problem);
}

bool program_has_values(const struct program *program)
{
    for (int i = 0; i < program->value_count; i++)
        if (arguments_is_value(program->values[i]))
            return true;
    return false;
}

void program_close(struct program *program, struct problem *problem)
{
    akg_diagnostics_free(problem->warnings);
    problem->warnings = program->warnings;
    akg_module_release(program->module);
    free(program->text);
    memset(program, 0, sizeof *program);
}
