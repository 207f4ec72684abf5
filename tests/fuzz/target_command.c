/*
 * target_command.c: a command line, one word a line: options, the kernel's name, NAME=VALUE words for
 * parameters of every kind, and what is told of them.
 *
 * The program named is always the one below, and nothing is read or written but standard output and error,
 * which go nowhere. Words that name files of tensors are left out, and values that would be large.
 */
#include "targets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/arguments.h"
#include "../../tools/program.h"
#include "../../tools/report.h"
#include "small.h"

enum { COMMAND_WORDS = 16 };

static const char command_program[] = "def f(x, k: int32[N], s: float64[()], scale=0.5, n=2, mode=\"add\", "
                                      "pads=(1, 2), flag=True, bias=None):\n"
                                      "    y = output_tensor(x.shape, x.dtype)\n"
                                      "    for at in grid(x.shape):\n"
                                      "        y[at] = x[at] * scale + n\n"
                                      "        if bias is not None:\n"
                                      "            y[at] += bias[at]\n"
                                      "    for i in range(N):\n"
                                      "        k[i] += pads[0]\n"
                                      "    return y, k\n"
                                      "\n"
                                      "\n"
                                      "def g(*xs):\n"
                                      "    y = output_tensor(xs[0].shape, xs[0].dtype)\n"
                                      "    for i in parallel(1, y.shape[0]):\n"
                                      "        y[i] = y[i - 1] + len(xs)\n"
                                      "    return y\n";

/* ---- silence ------------------------------------------------------------------------------------- */

static void command_silence(int saved[2])
{
    int null = open("/dev/null", O_WRONLY);

    fflush(NULL);
    for (int k = 0; k < 2; k++) {
        saved[k] = dup(1 + k);
        dup2(null, 1 + k);
    }
    close(null);
}

static void command_speak(const int saved[2])
{
    fflush(NULL);
    for (int k = 0; k < 2; k++) {
        dup2(saved[k], 1 + k);
        close(saved[k]);
    }
}

/* ---- the command --------------------------------------------------------------------------------- */

static bool command_call(const struct options *options, akg_kernel *kernel, const struct arguments *arguments,
                         struct problem *problem)
{
    akg_call_options settings = {.backend = JIT_BACKEND_INTERPRETER, .trust_indices = false};
    size_t count = akg_kernel_output_count(kernel);
    akg_tensor *outputs[4] = {NULL};
    akg_diagnostics *diagnostics = NULL;
    akg_status status =
        akg_kernel_call(kernel, arguments->items, arguments->count, &settings, outputs, &diagnostics);
    bool good = status == AKG_OK;

    if (!good)
        return problem_library(problem, status, diagnostics);
    for (size_t i = 0; i < count && good; i++) {
        if (options->json)
            report_tensor_json(akg_kernel_output_name(kernel, i), outputs[i]);
        else
            good = report_tensor(akg_kernel_output_name(kernel, i), outputs[i], problem);
    }
    for (size_t i = 0; i < count; i++)
        akg_tensor_release(outputs[i]);
    akg_diagnostics_free(diagnostics);
    return good;
}

/* What command_run does, with the program put in. */
static bool command_perform(const struct options *options, struct problem *problem)
{
    struct program program = {0};
    struct arguments arguments = {0};
    akg_kernel *kernel;
    bool good = program_open(options, &program, problem);

    if (good) {
        program_set_text(&program, strdup(command_program), sizeof command_program - 1);
        good =
            program_compile(options, &program, problem) && program_kernel(&program, &kernel, problem) &&
            arguments_bind(kernel, program.values, program.value_count, options->seed, &arguments, problem) &&
            command_call(options, kernel, &arguments, problem);
    }
    arguments_free(&arguments);
    program_close(&program, problem);
    return good;
}

static void command_line(int count, char **words)
{
    struct options options;
    struct problem problem = {0};
    bool good = options_parse(count, words, &options, &problem);

    for (int command = 0; command < COMMAND_COUNT && good; command++) {
        struct problem other = {0};
        if (!options_check(&options, (enum command_id)command, "it", &other))
            report_problem(&options, &other, words);
        problem_free(&other);
    }
    /* "-" would be standard input */
    if (good && options.word_count && strcmp(options.words[0], "-") != 0)
        good = command_perform(&options, &problem);
    if (good)
        report_done(&options, &problem);
    else
        report_problem(&options, &problem, words);
    problem_free(&problem);
    options_free(&options);
}

int target_command(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *words[COMMAND_WORDS + 2] = {"akgrun"};
    int count = 1, saved[2];

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (!strstr(text, ".np") && small_values(text)) {
        for (char *word = strtok(text, "\n"); word && count <= COMMAND_WORDS; word = strtok(NULL, "\n"))
            words[count++] = word;
        command_silence(saved);
        command_line(count, words);
        command_speak(saved);
    }
    free(text);
    return 0;
}
