/*
 * command_emit.c: `akgrun emit FILE [KERNEL] [NAME=VALUE...] --stage STAGE`: the
 * text of one stage of the compiler; or with --dump-ir PASS what an optimising pass made.
 *
 * tokens and ast are of the whole file, or of one kernel, and need no program
 * that is right; the others are of one kernel, for the given values or in general.
 */
#include "akgrun.h"

#include "arguments.h"
#include "program.h"
#include "report.h"

#include <string.h>

struct stage_row {
    const char *name;
    akg_stage stage;
    bool of_kernel; /* needs a kernel, and may have values */
};

static const struct stage_row stage_table[] = {
    {"tokens", AKG_STAGE_TOKENS, false},      {"ast", AKG_STAGE_AST, false}, {"ir", AKG_STAGE_IR, true},
    {"optimised", AKG_STAGE_OPTIMISED, true}, {"c", AKG_STAGE_C, true},      {"asm", AKG_STAGE_ASM, true},
    {"cuda", AKG_STAGE_CUDA, true},           {"ptx", AKG_STAGE_PTX, true},
};

/* What --dump-ir asks for: the loop IR, more than once. */
static const struct stage_row passes_row = {"passes", AKG_STAGE_IR, true};

static bool find_pass(const char *name, struct problem *problem)
{
    struct nearest nearest = {.word = name};
    if (strcmp(name, "all") == 0)
        return true;
    nearest_consider(&nearest, "all");
    for (size_t i = 0; akg_pass_name(i); i++) {
        if (strcmp(akg_pass_name(i), name) == 0)
            return true;
        nearest_consider(&nearest, akg_pass_name(i));
    }
    problem_set(problem, AKG_ERROR_USAGE, "there is no pass '%.100s'", name);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "--dump-ir=all shows all of them");
}

static const struct stage_row *find_stage(const char *name, struct problem *problem)
{
    struct nearest nearest = {.word = name ? name : ""};
    for (size_t i = 0; name && i < sizeof stage_table / sizeof *stage_table; i++) {
        if (strcmp(stage_table[i].name, name) == 0)
            return &stage_table[i];
        if (stage_table[i].name[1]) /* every single letter would be near to "c" */
            nearest_consider(&nearest, stage_table[i].name);
    }
    if (name)
        problem_set(problem, AKG_ERROR_USAGE, "there is no stage '%.100s'", name);
    else
        problem_set(problem, AKG_ERROR_USAGE, "emit needs --stage");
    if (nearest.best)
        problem_help(problem, "did you mean '%s'?", nearest.best);
    else
        problem_help(problem, "the stages are tokens, ast, ir, optimised, c, asm, cuda and ptx");
    return NULL;
}

struct emission {
    struct program program;
    struct arguments arguments;
    const char *kernel_name; /* NULL: the whole file */
    char *text;
    akg_diagnostics *warnings;
};

/* The kernel must be known before its values can be read: compiles the program for that, whatever the target.
 */
static bool bind_kernel(const struct options *options, struct emission *emission, struct problem *problem)
{
    struct program *program = &emission->program;
    akg_kernel *kernel = NULL;
    struct options any = *options;
    any.target = NULL;
    if (!program_compile(&any, program, problem) || !program_kernel(program, &kernel, problem))
        return false;
    emission->kernel_name = akg_kernel_name(kernel);
    return !program_has_values(program) || arguments_bind(kernel, program->values, program->value_count,
                                                          options->seed, &emission->arguments, problem);
}

static bool emit(const struct options *options, const struct stage_row *stage, struct emission *emission,
                 struct problem *problem)
{
    emission->kernel_name = emission->program.kernel_name;
    if (!stage->of_kernel && program_has_values(&emission->program)) {
        problem_set(problem, AKG_ERROR_USAGE, "the stage '%s' is the same for all values", stage->name);
        return problem_help(problem,
                            "leave the values out, or ask for the stage ir, optimised, c, asm, cuda or ptx");
    }
    if (stage->of_kernel && !bind_kernel(options, emission, problem))
        return false;
    const struct arguments *arguments = &emission->arguments;
    const jit_options settings = {.strict = options->strict,
                                  .any_shape = options->any_shape,
                                  .tf32 = options->tf32,
                                  .target = options->target};
    akg_status status =
        stage == &passes_row
            ? jit_emit_passes(&emission->program.source,
                              strcmp(options->dump_ir, "all") == 0 ? NULL : options->dump_ir,
                              emission->kernel_name, arguments->items, arguments->count, &emission->text,
                              &emission->warnings)
            : jit_emit_with(&emission->program.source, &settings, stage->stage, emission->kernel_name,
                            arguments->items, arguments->count, &emission->text, &emission->warnings);
    if (status == AKG_OK)
        return true;
    akg_diagnostics *diagnostics = emission->warnings;
    emission->warnings = NULL;
    if (status == AKG_ERROR_USAGE && options->target && akg_diagnostics_count(diagnostics) == 0) {
        problem_set(problem, status, "the stage '%s' is not made for %.100s", stage->name, options->target);
        return problem_help(problem,
                            "ptx is for GPUs, such as sm_80, and the others for what this processor has: "
                            "avx512, avx2 or none");
    }
    /* without a compiled module, the library alone can tell that the name is unknown */
    if (status == AKG_ERROR_USAGE && emission->kernel_name && akg_diagnostics_count(diagnostics) == 0)
        return problem_set(problem, status, "%.200s has no function '%.100s'", emission->program.source.name,
                           emission->kernel_name);
    if (status == AKG_ERROR_PROGRAM && emission->kernel_name && akg_diagnostics_count(diagnostics) == 0) {
        problem_set(problem, AKG_ERROR_USAGE, "what '%.100s' calls hangs on its arguments",
                    emission->kernel_name);
        return problem_help(problem, "give them: NAME=VALUE...");
    }
    return problem_library(problem, status, diagnostics);
}

static bool print_emission(const struct options *options, const struct stage_row *stage,
                           const struct emission *emission, struct problem *problem)
{
    const akg_diagnostics *lists[] = {emission->warnings};
    size_t length = strlen(emission->text);
    if (!options->json) {
        report_warnings(options, emission->warnings);
        fputs(emission->text, stdout);
        if (length && emission->text[length - 1] != '\n')
            putchar('\n');
        return report_flush(problem);
    }
    printf("{\"kernel\": ");
    if (emission->kernel_name)
        report_json_string(stdout, emission->kernel_name);
    else
        printf("null");
    printf(", \"stage\": \"%s\", \"text\": ", stage->name);
    report_json_string(stdout, emission->text);
    printf(", ");
    report_json_diagnostics(lists, 1);
    printf("}\n");
    return report_flush(problem);
}

bool command_emit(const struct options *options, struct problem *problem)
{
    struct emission emission = {0};
    const struct stage_row *stage = NULL;
    if (!options->dump_ir || options->stage)
        stage = find_stage(options->stage, problem);
    else if (find_pass(options->dump_ir, problem))
        stage = &passes_row;
    if (stage && stage != &passes_row && options->dump_ir) {
        problem_set(problem, AKG_ERROR_USAGE, "--stage and --dump-ir are two things");
        stage = NULL;
    }
    if (stage == &passes_row && (options->strict || options->any_shape || options->tf32 || options->target)) {
        problem_set(problem, AKG_ERROR_USAGE, "--dump-ir takes no %s",
                    options->strict      ? "--strict"
                    : options->any_shape ? "--any-shape"
                    : options->tf32      ? "--tf32"
                                         : "--target");
        problem_help(problem, "the passes are those for this processor; --stage asm and cuda show the rest");
        stage = NULL;
    }
    bool good = stage && program_open(options, &emission.program, problem) &&
                emit(options, stage, &emission, problem) &&
                print_emission(options, stage, &emission, problem);
    akg_free(emission.text);
    arguments_free(&emission.arguments);
    /* the text was compiled anew for the emission: its warnings are those of the program again */
    akg_diagnostics_free(emission.program.warnings);
    emission.program.warnings = emission.warnings;
    program_close(&emission.program, problem);
    return good;
}
