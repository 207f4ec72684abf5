/*
 * command_run.c: `akgrun run FILE [KERNEL] NAME=VALUE...`: compiles, calls once,
 * prints or writes what came back, and with --time measures.
 *
 * The order of the last steps makes --out all or nothing: files are written under
 * temporary names, the report is printed and flushed, and only then do they get their names.
 */
#include "akgrun.h"

#include "callee.h"
#include "output.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Repeated calls for --time end after so many, or so many seconds; there is always one. */
enum { REPEAT_LIMIT = 1001 };
static const double repeat_seconds = 0.25;

struct timing {
    double compile, first_call, call; /* seconds; `call` is a median */
    int repeats;
    bool is_optimised; /* code of the C compiler ran */
};

/* One run, from program to results. Starts zeroed. */
struct run {
    const struct options *options;
    struct program program;
    struct callee callee;
    struct arguments arguments;
    akg_tensor **outputs;
    size_t output_count;
    akg_diagnostics *call_warnings;
    struct output_files files;
    struct timing timing;
};

static double now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;
}

static void release_tensors(akg_tensor **tensors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        akg_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

static bool call_once(const struct run *run, const akg_argument *arguments, akg_tensor **outputs,
                      double *seconds, akg_diagnostics **warnings, struct problem *problem)
{
    akg_call_options settings = {.backend = run->options->backend,
                                 .trust_indices = run->options->trust_indices};
    akg_diagnostics *diagnostics = NULL;
    double start = now();
    akg_status status = akg_kernel_call(run->callee.kernel, arguments, run->arguments.count, &settings,
                                        outputs, &diagnostics);
    if (status == AKG_OK && run->options->device.kind != AKG_DEVICE_CPU)
        status = akg_device_wait(run->options->device, &diagnostics);
    *seconds = now() - start;
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    if (warnings)
        *warnings = diagnostics;
    else
        akg_diagnostics_free(diagnostics);
    return true;
}

/* ---- measuring ---------------------------------------------------------------- */

/* A kernel may write any argument that it also returns. The repeated calls of --time must all see the same
 * input, so such arguments are kept as they were and each call gets fresh copies. */
static bool is_returned(const struct run *run, const char *name)
{
    for (size_t i = 0; i < run->output_count; i++)
        if (strcmp(callee_output_name(&run->callee, i), name) == 0)
            return true;
    return false;
}

/* Puts a copy in place of each tensor argument that the call may write, remembered in `copies`. */
static bool copy_returned(const struct run *run, akg_argument *arguments, akg_tensor **copies,
                          struct problem *problem)
{
    for (size_t i = 0; i < run->arguments.count; i++) {
        if (arguments[i].kind != AKG_ARGUMENT_TENSOR || !is_returned(run, arguments[i].name))
            continue;
        akg_status status = akg_tensor_copy(arguments[i].as.tensor, &copies[i]);
        if (status != AKG_OK)
            return problem_library(problem, status, NULL);
        arguments[i].as.tensor = copies[i];
    }
    return true;
}

/* What the measuring holds: the arguments as they were, and those of the call at hand. */
struct measurement {
    akg_argument *pristine, *arguments;
    akg_tensor **originals, **copies, **outputs;
    double *seconds;
};

static bool measurement_begin(const struct run *run, struct measurement *measurement, struct problem *problem)
{
    size_t count = run->arguments.count, size = (count + 1) * sizeof(akg_argument);
    measurement->pristine = malloc(size);
    measurement->arguments = malloc(size);
    measurement->originals = calloc(count + 1, sizeof(akg_tensor *));
    measurement->copies = calloc(count + 1, sizeof(akg_tensor *));
    measurement->outputs = calloc(run->output_count + 1, sizeof(akg_tensor *));
    measurement->seconds = malloc(REPEAT_LIMIT * sizeof(double));
    if (!measurement->pristine || !measurement->arguments || !measurement->originals ||
        !measurement->copies || !measurement->outputs || !measurement->seconds)
        return problem_memory(problem);
    memcpy(measurement->pristine, run->arguments.items, count * sizeof(akg_argument));
    return copy_returned(run, measurement->pristine, measurement->originals, problem);
}

static void measurement_end(const struct run *run, struct measurement *measurement)
{
    if (measurement->originals)
        release_tensors(measurement->originals, run->arguments.count);
    free(measurement->pristine);
    free(measurement->arguments);
    free(measurement->originals);
    free(measurement->copies);
    free(measurement->outputs);
    free(measurement->seconds);
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Calls again and again, each time as the first time. */
static bool repeat_calls(struct run *run, struct measurement *measurement, struct problem *problem)
{
    size_t count = run->arguments.count;
    double end = now() + repeat_seconds;
    int repeats = 0;
    bool good = true;
    do {
        memcpy(measurement->arguments, measurement->pristine, count * sizeof(akg_argument));
        good = copy_returned(run, measurement->arguments, measurement->copies, problem) &&
               call_once(run, measurement->arguments, measurement->outputs, &measurement->seconds[repeats],
                         NULL, problem);
        release_tensors(measurement->outputs, run->output_count);
        release_tensors(measurement->copies, count);
    } while (good && ++repeats < REPEAT_LIMIT && now() < end);
    if (!good)
        return false;
    qsort(measurement->seconds, (size_t)repeats, sizeof(double), compare_doubles);
    run->timing.call = measurement->seconds[repeats / 2];
    run->timing.repeats = repeats;
    run->timing.is_optimised = akg_kernel_is_optimised(run->callee.kernel);
    return true;
}

/* A call on copies, whose results nobody sees, so that code of the C compiler is there for the one that
 * counts. */
static bool warm_up(const struct run *run, struct measurement *measurement, struct problem *problem)
{
    size_t count = run->arguments.count;
    double seconds;
    memcpy(measurement->arguments, measurement->pristine, count * sizeof(akg_argument));
    bool good = copy_returned(run, measurement->arguments, measurement->copies, problem) &&
                call_once(run, measurement->arguments, measurement->outputs, &seconds, NULL, problem);
    release_tensors(measurement->outputs, run->output_count);
    release_tensors(measurement->copies, count);
    akg_module_finish(run->program.module);
    return good;
}

/* An operator of a library. */
static bool call_operator(struct run *run, struct problem *problem)
{
    return callee_call(&run->callee, NULL, run->arguments.items, run->arguments.count, &run->outputs,
                       &run->output_count, problem) &&
           arguments_fetch(run->outputs, run->output_count, problem);
}

/* The call whose results count, and with --time the others. */
static bool call_kernel(struct run *run, struct problem *problem)
{
    struct measurement measurement = {0};
    bool timed = run->options->time, warmed = run->options->tier == JIT_TIER_OPTIMISED;
    run->output_count = akg_kernel_output_count(run->callee.kernel);
    run->outputs = calloc(run->output_count + 1, sizeof(akg_tensor *));
    if (!run->outputs)
        return problem_memory(problem);
    bool good = (!(timed || warmed) || measurement_begin(run, &measurement, problem)) &&
                (!warmed || warm_up(run, &measurement, problem)) &&
                call_once(run, run->arguments.items, run->outputs, &run->timing.first_call,
                          &run->call_warnings, problem) &&
                (!timed || repeat_calls(run, &measurement, problem)) &&
                arguments_fetch(run->outputs, run->output_count, problem);
    if (timed || warmed)
        measurement_end(run, &measurement);
    if (!run->call_warnings)
        run->call_warnings = akg_module_notes(run->program.module);
    return good;
}

/* ---- printing ------------------------------------------------------------------ */

static void print_duration(double seconds)
{
    if (seconds < 1e-3)
        printf("%.1f us", seconds * 1e6);
    else if (seconds < 1)
        printf("%.2f ms", seconds * 1e3);
    else
        printf("%.2f s", seconds);
}

static void print_timing(const struct timing *timing)
{
    printf("time: compile ");
    print_duration(timing->compile);
    printf(", first call ");
    print_duration(timing->first_call);
    printf(", call ");
    print_duration(timing->call);
    printf(" (median of %d%s)\n", timing->repeats, timing->is_optimised ? ", optimised tier" : "");
}

static void print_json(const struct run *run)
{
    const akg_diagnostics *lists[] = {run->program.warnings, run->call_warnings};
    const struct timing *timing = &run->timing;
    printf("{\"kernel\": ");
    report_json_string(stdout, callee_name(&run->callee));
    printf(", \"outputs\": [");
    for (size_t i = 0; i < run->output_count; i++) {
        if (i)
            printf(", ");
        report_tensor_json(callee_output_name(&run->callee, i), run->outputs[i]);
    }
    printf("], ");
    if (run->options->time)
        printf("\"time\": {\"compile\": %.9f, \"first_call\": %.9f, \"call\": %.9f, \"repeats\": %d, "
               "\"unit\": \"s\", \"tier\": \"%s\"}, ",
               timing->compile, timing->first_call, timing->call, timing->repeats,
               timing->is_optimised ? "optimised" : "instant");
    report_json_diagnostics(lists, 2);
    printf("}\n");
}

static bool print_report(const struct run *run, struct problem *problem)
{
    if (run->options->json) {
        print_json(run);
        return report_flush(problem);
    }
    for (size_t i = 0; i < run->output_count; i++)
        if (!report_tensor(callee_output_name(&run->callee, i), run->outputs[i], problem))
            return false;
    if (run->options->time)
        print_timing(&run->timing);
    return report_flush(problem);
}

static bool prepare_files(struct run *run, struct problem *problem)
{
    const char **names = calloc(run->output_count + 1, sizeof *names);
    if (!names)
        return problem_memory(problem);
    for (size_t i = 0; i < run->output_count; i++)
        names[i] = callee_output_name(&run->callee, i);
    bool good =
        output_prepare(run->options->out, names, run->outputs, run->output_count, &run->files, problem);
    free(names);
    return good;
}

static bool deliver(struct run *run, struct problem *problem)
{
    const char *directory = run->options->out;
    report_warnings(run->options, run->call_warnings);
    if (directory && !prepare_files(run, problem))
        return false;
    return print_report(run, problem) && output_commit(&run->files, problem);
}

/* ---- the subcommand -------------------------------------------------------------- */

static bool compile(struct run *run, struct problem *problem)
{
    double start = now();
    if (!callee_open(run->options, &run->program, &run->callee, problem))
        return false;
    run->timing.compile = now() - start;
    report_warnings(run->options, run->program.warnings);
    return true;
}

bool command_run(const struct options *options, struct problem *problem)
{
    struct run run = {.options = options};
    bool good = program_open(options, &run.program, problem) && compile(&run, problem) &&
                callee_bind(&run.callee, &run.program, options->seed, &run.arguments, problem) &&
                arguments_move(&run.arguments, options->device, problem) &&
                (run.callee.kernel ? call_kernel(&run, problem) : call_operator(&run, problem)) &&
                deliver(&run, problem);
    output_discard(&run.files);
    if (run.outputs)
        release_tensors(run.outputs, run.output_count);
    free(run.outputs);
    akg_diagnostics_free(run.call_warnings);
    arguments_free(&run.arguments);
    callee_close(&run.callee);
    program_close(&run.program, problem);
    return good;
}
