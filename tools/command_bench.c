/*
 * command_bench.c: `akgrun bench FILE [KERNEL] NAME=VALUE...`: measures a kernel, and with --vs the plain C
 * of it compiled by the system's C compiler, in turn; or compares two reports. With --tier optimised the code
 * of that tier is a contestant too.
 *
 * With --device the kernel runs there, against a copy.
 *
 * Each contestant has outputs of its own, and copies of its own of what is written in place; other inputs
 * they share.
 */
#include "akgrun.h"

#include "bench.h"
#include "measure.h"
#include "report.h"
#include "twin.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const double default_seconds = 1;

/* The tensors of one contestant. */
struct side {
    struct benchmark *benchmark;
    akg_kernel *kernel;      /* NULL: a twin */
    akg_module *module;      /* of the optimising tier: its own */
    akg_argument *arguments; /* as the benchmark's, with copies of its own */
    akg_tensor **copies;     /* per argument: of what is written in place, or NULL */
    akg_tensor **outputs;
    void **tensors; /* of a twin: the data, for akg_plain_run */
    struct twin twin;
};

/* Starts zeroed. */
struct benchmark {
    const struct options *options;
    struct program program;
    akg_kernel *kernel;
    struct arguments arguments;
    akg_tensor **contiguous; /* copies of tensors that were not, and that stand in their place */
    size_t contiguous_count;
    size_t output_count;
    bool *in_place; /* per argument: it is written */
    char *text;     /* plain C */
    char *compilers;
    char *machine_file; /* or NULL */
    struct side sides[BENCH_MOST_ROWS];
    struct contestant *contestants;
    struct bench_copy copy; /* of a device */
    struct bench bench;
};

static double now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;
}

/* ---- tensors ---------------------------------------------------------------------- */

/* How many tensors a call may have: each argument's, and each value's of a variadic one. */
static size_t tensor_bound(const struct benchmark *benchmark)
{
    return benchmark->arguments.count + benchmark->arguments.value_count + benchmark->output_count + 1;
}

static bool make_contiguous(struct benchmark *benchmark, akg_tensor **tensor, struct problem *problem)
{
    akg_tensor *copy = NULL;
    if (akg_tensor_is_contiguous(*tensor))
        return true;
    if (akg_tensor_copy(*tensor, &copy) != AKG_OK)
        return problem_memory(problem);
    benchmark->contiguous[benchmark->contiguous_count++] = copy;
    *tensor = copy;
    return true;
}

/* The plain C takes contiguous tensors, so that both are given such. */
static bool take_arguments(struct benchmark *benchmark, struct problem *problem)
{
    struct arguments *arguments = &benchmark->arguments;
    benchmark->output_count = akg_kernel_output_count(benchmark->kernel);
    benchmark->contiguous = calloc(tensor_bound(benchmark), sizeof(akg_tensor *));
    benchmark->in_place = calloc(arguments->count + 1, sizeof(bool));
    if (!benchmark->contiguous || !benchmark->in_place)
        return problem_memory(problem);
    for (size_t i = 0; i < arguments->count; i++) {
        akg_argument *argument = &arguments->items[i];
        if (argument->kind == AKG_ARGUMENT_TENSOR &&
            !make_contiguous(benchmark, &argument->as.tensor, problem))
            return false;
        for (size_t k = 0; argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            if (!make_contiguous(benchmark, &arguments->variadic[k], problem))
                return false;
    }
    return true;
}

/* An argument whose name is that of an output may be written. */
static bool may_be_written(const struct benchmark *benchmark, const akg_argument *argument)
{
    for (size_t i = 0; i < benchmark->output_count; i++)
        if (argument->kind == AKG_ARGUMENT_TENSOR &&
            strcmp(akg_kernel_output_name(benchmark->kernel, i), argument->name) == 0)
            return true;
    return false;
}

/* A tensor like that one, which begins at the same place in a page: where loads and stores lie to each other
 * is a matter of the call, not of the code that is compared. */
static bool make_alike(const akg_tensor *like, akg_tensor **output)
{
    enum { PAGE = 4096 };
    int rank = akg_tensor_rank(like);
    int64_t size = (int64_t)akg_dtype_size(akg_tensor_dtype(like)), count = 1, strides[AKG_MAX_RANK];
    const int64_t *shape = akg_tensor_shape(like);
    akg_tensor *room;

    for (int axis = rank - 1; axis >= 0; axis--) {
        strides[axis] = count;
        count *= shape[axis];
    }
    count += PAGE / size;
    if (akg_tensor_create(akg_tensor_dtype(like), 1, &count, &room) != AKG_OK)
        return false;
    uintptr_t apart = ((uintptr_t)akg_tensor_data(like) - (uintptr_t)akg_tensor_data(room)) % PAGE;
    bool good = akg_tensor_view(room, rank, shape, strides, (int64_t)apart / size, output) == AKG_OK;
    akg_tensor_release(room);
    return good;
}

/* A copy of what is written in place, for a side of its own. */
static bool copy_argument(const struct benchmark *benchmark, const akg_tensor *from, akg_tensor **copy)
{
    akg_tensor *anywhere;
    if (benchmark->options->device.kind != AKG_DEVICE_CPU)
        return akg_tensor_copy(from, copy) == AKG_OK;
    if (akg_tensor_copy(from, &anywhere) != AKG_OK)
        return false;
    bool good = make_alike(from, copy);
    if (good)
        memcpy(akg_tensor_data(*copy), akg_tensor_data(anywhere),
               (size_t)akg_tensor_element_count(from) * akg_dtype_size(akg_tensor_dtype(from)));
    akg_tensor_release(anywhere);
    return good;
}

static bool side_begin(struct benchmark *benchmark, struct side *side, struct problem *problem)
{
    const struct arguments *arguments = &benchmark->arguments;
    side->benchmark = benchmark;
    side->arguments = malloc((arguments->count + 1) * sizeof *side->arguments);
    side->copies = calloc(arguments->count + 1, sizeof(akg_tensor *));
    side->outputs = calloc(benchmark->output_count + 1, sizeof(akg_tensor *));
    side->tensors = calloc(tensor_bound(benchmark), sizeof(void *));
    if (!side->arguments || !side->copies || !side->outputs || !side->tensors)
        return problem_memory(problem);
    memcpy(side->arguments, arguments->items, arguments->count * sizeof *side->arguments);
    for (size_t i = 0; i < arguments->count; i++) {
        if (!may_be_written(benchmark, &arguments->items[i]))
            continue;
        if (!copy_argument(benchmark, arguments->items[i].as.tensor, &side->copies[i]))
            return problem_memory(problem);
        side->arguments[i].as.tensor = side->copies[i];
    }
    return true;
}

/* Frees all of it; it may be used again. */
static void side_end(const struct benchmark *benchmark, struct side *side)
{
    for (size_t i = 0; side->outputs && i < benchmark->output_count; i++)
        akg_tensor_release(side->outputs[i]);
    for (size_t i = 0; side->copies && i < benchmark->arguments.count; i++)
        akg_tensor_release(side->copies[i]);
    free(side->arguments);
    free(side->copies);
    free(side->outputs);
    free(side->tensors);
    twin_free(&side->twin);
    akg_module_release(side->module);
    memset(side, 0, sizeof *side);
}

static bool is_on_device(const struct benchmark *benchmark)
{
    return benchmark->options->device.kind != AKG_DEVICE_CPU;
}

/* The same with new copies; where there is no memory for one, the old one goes on. */
static void side_renew(struct side *side)
{
    const struct benchmark *benchmark = side->benchmark;
    struct problem ignored = {.status = AKG_OK};
    for (size_t i = 0; i < benchmark->arguments.count; i++) {
        akg_tensor *before = side->copies[i], *made = NULL;
        if (!benchmark->in_place[i] ||
            akg_tensor_copy(benchmark->arguments.items[i].as.tensor, &made) != AKG_OK)
            continue;
        for (size_t k = 0; k < benchmark->output_count; k++)
            if (side->outputs[k] == before) {
                akg_tensor_release(before);
                side->outputs[k] = akg_tensor_retain(made);
            }
        side->copies[i] = side->arguments[i].as.tensor = made;
        akg_tensor_release(before);
    }
    bench_device_wait(benchmark->options->device, &ignored); /* what is wrong with it, the next run tells */
    problem_free(&ignored);
}

/* Puts back what running has changed. */
static void side_reset(void *context)
{
    struct side *side = context;
    if (is_on_device(side->benchmark)) {
        side_renew(side);
        return;
    }
    for (size_t i = 0; i < side->benchmark->arguments.count; i++) {
        const akg_tensor *from = side->benchmark->arguments.items[i].as.tensor;
        if (side->benchmark->in_place[i])
            memcpy(akg_tensor_data(side->copies[i]), akg_tensor_data(from),
                   (size_t)akg_tensor_element_count(from) * akg_dtype_size(akg_tensor_dtype(from)));
    }
}

static bool is_in_place(const struct benchmark *benchmark, const akg_tensor *output)
{
    for (size_t i = 0; i < benchmark->arguments.count; i++)
        if (benchmark->in_place[i] && benchmark->sides[0].copies[i] == output)
            return true;
    return false;
}

/* ---- akg's side ------------------------------------------------------------------------- */

static bool run_kernel(void *context, long repeats, struct problem *problem)
{
    struct side *side = context;
    const struct benchmark *benchmark = side->benchmark;
    const akg_call_options settings = {.trust_indices = benchmark->options->trust_indices,
                                       .repeats = repeats};
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_kernel_call(side->kernel, side->arguments, benchmark->arguments.count, &settings,
                                        side->outputs, &diagnostics);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    akg_diagnostics_free(diagnostics);
    return !is_on_device(benchmark) || bench_device_wait(benchmark->options->device, problem);
}

static void add_stage(struct benchmark *benchmark, const char *name, double seconds)
{
    struct bench *bench = &benchmark->bench;
    if (bench->stage_count < BENCH_MOST_STAGES)
        bench->stages[bench->stage_count++] = (struct bench_stage){name, seconds};
    bench->rows[0].compile_seconds += seconds;
}

/* The first call, which compiles and tells what is written in place. */
static bool first_call(struct benchmark *benchmark, struct problem *problem)
{
    struct side *side = &benchmark->sides[0];
    akg_compile_stage stage;
    side->kernel = benchmark->kernel;
    if (!side_begin(benchmark, side, problem) || !run_kernel(side, 1, problem))
        return false;
    for (size_t i = 0; i < benchmark->arguments.count; i++)
        for (size_t k = 0; side->copies[i] && k < benchmark->output_count; k++)
            if (side->outputs[k] == side->copies[i])
                benchmark->in_place[i] = true;
    for (size_t k = 0; akg_kernel_compile_stage(benchmark->kernel, k, &stage); k++)
        add_stage(benchmark, stage.name, 1e-9 * (double)stage.nanoseconds);
    return true;
}

/* The same kernel in a module that waits for the C compiler; a row where its code took the place of the
 * first. */
static bool add_optimised(struct benchmark *benchmark, struct problem *problem)
{
    struct bench *bench = &benchmark->bench;
    struct side *side = &benchmark->sides[bench->row_count];
    struct options settings = *benchmark->options;
    akg_diagnostics *diagnostics = NULL;
    double start = now();
    settings.tier = JIT_TIER_OPTIMISED;
    akg_status status = program_try(&settings, &benchmark->program, &side->module, &diagnostics);
    akg_diagnostics_free(diagnostics); /* they were told of the first */
    if (status != AKG_OK)
        return problem_library(problem, status, NULL);
    side->kernel = akg_module_kernel(side->module, bench->kernel);
    if (!side_begin(benchmark, side, problem) || !run_kernel(side, 1, problem))
        return false;
    akg_module_finish(side->module);
    diagnostics = akg_module_notes(side->module);
    report_warnings(benchmark->options, diagnostics);
    akg_diagnostics_free(diagnostics);
    bench->optimised = akg_kernel_is_optimised(side->kernel) ? BENCH_OPTIMISED : BENCH_NOT_BETTER;
    if (bench->optimised == BENCH_OPTIMISED)
        bench->rows[bench->row_count++] =
            (struct bench_row){.tier = "optimised", .compile_seconds = now() - start};
    else
        side_end(benchmark, side);
    return true;
}

static bool count_cost(struct benchmark *benchmark, struct problem *problem)
{
    const struct arguments *arguments = &benchmark->arguments;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_kernel_cost(benchmark->kernel, arguments->items, arguments->count,
                                        &benchmark->bench.cost, &diagnostics);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    for (size_t k = 0; k < benchmark->output_count; k++)
        if (benchmark->sides[0].outputs[k] && akg_tensor_dtype(benchmark->sides[0].outputs[k]) == AKG_FLOAT64)
            benchmark->bench.is_float64 = true;
    return true;
}

/* ---- a twin's side ------------------------------------------------------------------------ */

static bool run_twin(void *context, long repeats, struct problem *problem)
{
    struct side *side = context;
    return side->twin.run(side->tensors, repeats) == 0 || problem_memory(problem);
}

/* What akg_plain_run takes: inputs in order, then outputs that are no inputs. */
static size_t list_tensors(const struct benchmark *benchmark, const struct side *side,
                           struct bench_tensor *list)
{
    size_t count = 0;
    for (size_t i = 0; i < benchmark->arguments.count; i++) {
        const akg_argument *argument = &side->arguments[i];
        if (argument->kind == AKG_ARGUMENT_TENSOR)
            list[count++] = (struct bench_tensor){argument->as.tensor, false, benchmark->in_place[i]};
        for (size_t k = 0; argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            list[count++] = (struct bench_tensor){argument->as.tensors.items[k], false, false};
    }
    for (size_t k = 0; k < benchmark->output_count; k++)
        if (side->outputs[k])
            list[count++] = (struct bench_tensor){side->outputs[k], true, false};
    return count;
}

/* Tensors like those that the first call made, for what it did not make in place. */
static bool make_outputs(const struct benchmark *benchmark, struct side *side, struct problem *problem)
{
    for (size_t k = 0; k < benchmark->output_count; k++) {
        const akg_tensor *like = benchmark->sides[0].outputs[k];
        if (like && !is_in_place(benchmark, like) && !make_alike(like, &side->outputs[k]))
            return problem_memory(problem);
    }
    return true;
}

static bool take_text(struct benchmark *benchmark, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    if (benchmark->text)
        return true;
    akg_status status = akg_kernel_plain_c(benchmark->kernel, benchmark->arguments.items,
                                           benchmark->arguments.count, &benchmark->text, &diagnostics);
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

static bool add_twin(struct benchmark *benchmark, const char *compiler, struct problem *problem)
{
    struct bench *bench = &benchmark->bench;
    struct side *side = &benchmark->sides[bench->row_count];
    struct bench_tensor *list = calloc(tensor_bound(benchmark), sizeof *list);
    bool good = list && side_begin(benchmark, side, problem) && make_outputs(benchmark, side, problem);
    if (!list)
        problem_memory(problem);
    size_t count = good ? list_tensors(benchmark, side, list) : 0;
    for (size_t k = 0; k < count; k++)
        side->tensors[k] = akg_tensor_data(list[k].tensor);
    free(list);
    good =
        good && take_text(benchmark, problem) && twin_build(compiler, benchmark->text, &side->twin, problem);
    if (!good)
        return false;
    bench->rows[bench->row_count++] =
        (struct bench_row){.tier = "cc",
                           .compiler = compiler ? compiler : twin_default_compiler(),
                           .compile_seconds = side->twin.seconds};
    return true;
}

/* What a compiler that does not take the text has said, in the place of its row. */
static void note_refusal(struct benchmark *benchmark, struct problem *problem)
{
    struct bench *bench = &benchmark->bench;
    snprintf(bench->refused[bench->refused_count], sizeof *bench->refused, "%.150s%s%.150s", problem->text,
             problem->help[0] ? ": " : "", problem->help);
    bench->refused_count++;
    problem_free(problem);
    memset(problem, 0, sizeof *problem);
    side_end(benchmark, &benchmark->sides[bench->row_count]);
}

/* --vs: "cc", or compilers with commas between them. One that does not take the text is told, and the others
 * go on; that none of them does is a problem. */
static bool add_twins(struct benchmark *benchmark, struct problem *problem)
{
    const char *list = benchmark->options->vs;
    if (!list)
        return true;
    benchmark->compilers = string_format("%s", list);
    if (!benchmark->compilers)
        return problem_memory(problem);
    char *rest, *name = strtok_r(benchmark->compilers, ",", &rest), *next;
    int before = benchmark->bench.row_count;
    for (; name; name = next) {
        const struct bench *bench = &benchmark->bench;
        next = strtok_r(NULL, ",", &rest);
        if (bench->row_count + bench->refused_count == BENCH_MOST_ROWS)
            return problem_set(problem, AKG_ERROR_USAGE, "--vs takes at most %d compilers",
                               BENCH_MOST_ROWS - 1);
        if (add_twin(benchmark, strcmp(name, "cc") == 0 ? NULL : name, problem))
            continue;
        if (!benchmark->sides[bench->row_count].twin.refused || (!next && bench->row_count == before))
            return false;
        note_refusal(benchmark, problem);
    }
    return true;
}

/* ---- measuring, telling ---------------------------------------------------------------------- */

static double difference_of(const akg_tensor *a, const akg_tensor *b)
{
    double most = 0;
    const float *x = akg_tensor_data(a), *y = akg_tensor_data(b);
    if (akg_tensor_dtype(a) != AKG_FLOAT32)
        return 0;
    for (int64_t k = 0; k < akg_tensor_element_count(a); k++) {
        double difference = fabs((double)x[k] - (double)y[k]) / (1 + fabs((double)y[k]));
        if (difference > most)
            most = difference;
    }
    return most;
}

/* How far the twins' results are off akg's. */
static void compare_results(struct benchmark *benchmark)
{
    struct bench *bench = &benchmark->bench;
    const struct side *first = &benchmark->sides[0];
    bench->difference = bench->row_count > 1 ? 0 : -1;
    for (int side = 1; side < bench->row_count; side++) {
        const struct side *other = &benchmark->sides[side];
        for (size_t k = 0; k < benchmark->output_count; k++)
            if (first->outputs[k] && other->outputs[k])
                bench->difference =
                    fmax(bench->difference, difference_of(first->outputs[k], other->outputs[k]));
        for (size_t i = 0; i < benchmark->arguments.count; i++)
            if (benchmark->in_place[i])
                bench->difference =
                    fmax(bench->difference, difference_of(first->copies[i], other->copies[i]));
    }
}

static bool measure(struct benchmark *benchmark, struct problem *problem)
{
    struct bench *bench = &benchmark->bench;
    double seconds = benchmark->options->seconds > 0 ? benchmark->options->seconds : default_seconds;
    bool resets = false;
    int count = bench->row_count + is_on_device(benchmark);
    benchmark->contestants = calloc((size_t)count, sizeof *benchmark->contestants);
    if (!benchmark->contestants)
        return problem_memory(problem);
    if (is_on_device(benchmark))
        benchmark->contestants[bench->row_count] =
            (struct contestant){.run = bench_device_copy, .context = &benchmark->copy};
    for (size_t i = 0; i < benchmark->arguments.count; i++)
        resets |= benchmark->in_place[i];
    for (int k = 0; k < bench->row_count; k++) {
        benchmark->contestants[k].run = benchmark->sides[k].kernel ? run_kernel : run_twin;
        benchmark->contestants[k].reset = resets ? side_reset : NULL;
        benchmark->contestants[k].resets_each = resets && !bench->cost.exact;
        benchmark->contestants[k].context = &benchmark->sides[k];
    }
    if (!measure_all(benchmark->contestants, count, seconds, problem) ||
        (is_on_device(benchmark) &&
         !bench_device_know(&benchmark->copy, &benchmark->contestants[bench->row_count].spread,
                            &bench->machine, problem)))
        return false;
    for (int k = 0; k < bench->row_count; k++) {
        bench->rows[k].seconds = benchmark->contestants[k].spread;
        bench->rows[k].samples = benchmark->contestants[k].count;
    }
    compare_results(benchmark);
    bench_find_shares(bench);
    return true;
}

/* A link to what is not there yet is neither. */
static bool is_new_or_regular(const char *path)
{
    struct stat status;
    return lstat(path, &status) != 0 || (stat(path, &status) == 0 && S_ISREG(status.st_mode));
}

/* One report into the file of that name, as a whole or not at all; "-" is standard output. */
static bool write_report(const char *path, const struct bench *bench,
                         void (*print)(const struct bench *bench, FILE *stream), struct problem *problem)
{
    if (strcmp(path, "-") == 0) {
        print(bench, stdout);
        return report_flush(problem);
    }
    char *target = realpath(path, NULL); /* a link stays one */
    char *beside = string_format("%s.akgrun-new", target ? target : path);
    if (!beside) {
        free(target);
        return problem_memory(problem);
    }
    bool is_whole = is_new_or_regular(path); /* a device or a pipe takes what it is given */
    FILE *file = fopen(is_whole ? beside : path, "w");
    bool good = file != NULL;
    if (file) {
        print(bench, file);
        good = !ferror(file);
        good = fclose(file) == 0 && good && (!is_whole || rename(beside, target ? target : path) == 0);
    }
    if (!good) {
        problem_set(problem, AKG_ERROR_IO, "cannot write '%.200s': %s", path, strerror(errno));
        if (is_whole)
            remove(beside);
    }
    free(beside);
    free(target);
    return good;
}

static bool deliver(struct benchmark *benchmark, struct problem *problem)
{
    const struct options *options = benchmark->options;
    const struct bench *bench = &benchmark->bench;
    if (options->report && !write_report(options->report, bench, bench_print_page, problem))
        return false;
    if (options->json_file && !write_report(options->json_file, bench, bench_print_json, problem))
        return false;
    if (!options->json_file || strcmp(options->json_file, "-") != 0)
        bench_print_table(bench);
    return report_flush(problem);
}

static bool emit(struct benchmark *benchmark, struct problem *problem)
{
    struct bench_tensor *list = calloc(tensor_bound(benchmark), sizeof *list);
    struct side *side = &benchmark->sides[1];
    if (!list)
        return problem_memory(problem);
    bool good = take_text(benchmark, problem) && side_begin(benchmark, side, problem) &&
                make_outputs(benchmark, side, problem);
    size_t count = good ? list_tensors(benchmark, side, list) : 0;
    good = good &&
           bench_emit(benchmark->options->emit, &benchmark->bench, benchmark->text, list, count, problem);
    free(list);
    if (good)
        printf("%s: run 'make' there\n", benchmark->options->emit);
    return good && report_flush(problem);
}

/* ---- the subcommand ------------------------------------------------------------------------------ */

static bool compile(struct benchmark *benchmark, struct problem *problem)
{
    struct options settings = *benchmark->options;
    double start = now();
    settings.tier = JIT_TIER_INSTANT;
    if (!program_compile(&settings, &benchmark->program, problem))
        return false;
    add_stage(benchmark, "front end", now() - start);
    report_warnings(benchmark->options, benchmark->program.warnings);
    if (!program_kernel(&benchmark->program, &benchmark->kernel, problem))
        return false;
    benchmark->bench.file = benchmark->program.source.name;
    benchmark->bench.kernel = akg_kernel_name(benchmark->kernel);
    benchmark->bench.rows[0].tier = is_on_device(benchmark) ? "device" : "instant";
    benchmark->bench.row_count = 1;
    return arguments_bind(benchmark->kernel, benchmark->program.values, benchmark->program.value_count,
                          benchmark->options->seed, &benchmark->arguments, problem) &&
           arguments_move(&benchmark->arguments, benchmark->options->device, problem) &&
           take_arguments(benchmark, problem);
}

static bool run(struct benchmark *benchmark, struct problem *problem)
{
    const struct options *options = benchmark->options;
    int threads = options->threads ? options->threads : 1;
    benchmark->machine_file = machine_file();
    /* what compiling costs is asked, not what loading does */
    if (setenv("AKG_CACHE", "off", 1) != 0)
        return problem_memory(problem);
    akg_set_threads(threads);
    if (!machine_restrict(threads, problem) || !program_open(options, &benchmark->program, problem) ||
        !compile(benchmark, problem) || !first_call(benchmark, problem))
        return false;
    if (options->emit)
        return emit(benchmark, problem);
    return count_cost(benchmark, problem) &&
           (options->tier != JIT_TIER_OPTIMISED || add_optimised(benchmark, problem)) &&
           add_twins(benchmark, problem) &&
           (is_on_device(benchmark)
                ? bench_device_begin(&benchmark->copy, options->device, &benchmark->bench.cost, problem)
                : machine_know(benchmark->machine_file, threads, &benchmark->bench.machine, problem)) &&
           measure(benchmark, problem) && deliver(benchmark, problem);
}

bool command_bench(const struct options *options, struct problem *problem)
{
    struct benchmark benchmark = {.options = options};
    if (options->compare) {
        if (options->word_count == 2)
            return bench_compare(options->words[0], options->words[1], problem);
        problem_set(problem, AKG_ERROR_USAGE, "--compare takes two reports");
        return problem_help(problem, "write akgrun bench --compare BEFORE.json AFTER.json");
    }
    if (options->device.kind != AKG_DEVICE_CPU &&
        (options->vs || options->report || options->emit || options->tier == JIT_TIER_OPTIMISED)) {
        problem_set(problem, AKG_ERROR_USAGE, "--device goes with none of --vs, --report, --emit and --tier");
        return problem_help(problem, "on a device a kernel is measured against a copy there");
    }
    bool good = run(&benchmark, problem);
    bench_device_end(&benchmark.copy);
    for (int k = 0; k < BENCH_MOST_ROWS; k++)
        side_end(&benchmark, &benchmark.sides[k]);
    for (size_t k = 0; k < benchmark.contiguous_count; k++)
        akg_tensor_release(benchmark.contiguous[k]);
    free(benchmark.contiguous);
    free(benchmark.in_place);
    free(benchmark.compilers);
    free(benchmark.machine_file);
    free(benchmark.contestants);
    akg_free(benchmark.text);
    arguments_free(&benchmark.arguments);
    program_close(&benchmark.program, problem);
    return good;
}
