/*
 * operators.c: every operator of the standard library on the call that its row of
 * tests/stdlib/operators.def gives for timing, in float32 on one thread: the median time of an eager call
 * that makes its results, and of one that is recorded and differentiated; bytes and operations as
 * akg_kernel_cost counts them. Beside them numpy and PyTorch (bench/operators.py), each where it is
 * installed. Memory that was freed stays with the processes: the time in which the system hands out pages is
 * no operator's. Prints; asserts nothing.
 */
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tests/stdlib/trial.h"
#include "../tools/measure.h"

static const double seconds = 0.1; /* for each contestant */

struct row {
    const char *name, *timed;
    bool gradient;
};

enum { NONE, FLAT, GRADIENT, COMPOSED };
static const struct row rows[] = {
#define OPERATOR(name, dtypes, bound, gradient, cases, timed) {#name, timed, gradient >= GRADIENT},
#include "../tests/stdlib/operators.def"
#undef OPERATOR
};

static void expect(akg_status status, const char *what)
{
    if (status == AKG_OK)
        return;
    fprintf(stderr, "operators: %s: %s\n", what, akg_status_text(status));
    exit(1);
}

/* ---- the others: a process that is asked row by row, so that all are measured in turn ---------------- */

struct peers {
    FILE *questions, *answers; /* NULL where there is no python3 */
};

static void peers_start(struct peers *peers)
{
    int to[2], from[2];

    *peers = (struct peers){NULL, NULL};
    if (pipe(to) != 0 || pipe(from) != 0)
        return;
    if (fork() == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
        setenv("OMP_NUM_THREADS", "1", 1);
        setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
        setenv("MALLOC_MMAP_THRESHOLD_", "1073741824", 1);
        setenv("MALLOC_TRIM_THRESHOLD_", "4294967296", 1);
        execlp("python3", "python3", "bench/operators.py", (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    peers->questions = fdopen(to[1], "w");
    peers->answers = fdopen(from[0], "r");
}

/* The first line says what is there and what is not. */
static void peers_introduce(struct peers *peers)
{
    char line[400];

    if (peers->answers && fgets(line, sizeof line, peers->answers))
        fputs(line, stdout);
    else
        printf("skipped: numpy and PyTorch: there is no python3\n");
}

/* Microseconds; 0 where there is nothing to compare with. */
static void peers_ask(struct peers *peers, const struct row *row, double times[2])
{
    char line[400];

    times[0] = times[1] = 0;
    if (!peers->questions || fprintf(peers->questions, "%s\t%s\n", row->name, row->timed) < 0 ||
        fflush(peers->questions) != 0 || !fgets(line, sizeof line, peers->answers))
        return;
    if (sscanf(line, "%lf %lf", &times[0], &times[1]) != 2)
        times[0] = times[1] = 0;
}

static void peers_stop(struct peers *peers)
{
    char line[400];

    if (peers->questions)
        fclose(peers->questions);
    while (peers->answers && fgets(line, sizeof line, peers->answers)) /* what it has to say at the end */
        fputs(line, stdout);
    if (peers->answers)
        fclose(peers->answers);
    wait(NULL);
}

/* ---- one operator ------------------------------------------------------------------------------------- */

struct bench {
    akg_tape *tape;
    akg_operator *callee;
    const struct trial *trial;
};

static void release(akg_tensor **tensors)
{
    for (int i = 0; i < TRIAL_MAX; i++)
        akg_tensor_release(tensors[i]);
}

static bool call(struct bench *bench, akg_tape *tape, akg_tensor **outputs, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_call(tape, bench->callee, bench->trial->arguments.items,
                                 bench->trial->arguments.count, outputs, &diagnostics);
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

static bool run_call(void *context, long repeats, struct problem *problem)
{
    for (long i = 0; i < repeats; i++) {
        akg_tensor *outputs[TRIAL_MAX] = {NULL};
        if (!call(context, NULL, outputs, problem))
            return false;
        release(outputs);
    }
    return true;
}

/* Forward and backward, from the first output. */
static bool run_gradient(void *context, long repeats, struct problem *problem)
{
    struct bench *bench = context;

    for (long i = 0; i < repeats; i++) {
        akg_tensor *outputs[TRIAL_MAX] = {NULL};
        akg_diagnostics *diagnostics = NULL;
        if (!call(bench, bench->tape, outputs, problem))
            return false;
        akg_status status = akg_backward(bench->tape, outputs, NULL, 1, false, &diagnostics);
        release(outputs);
        for (int k = 0; k < bench->trial->input_count; k++)
            akg_tensor_clear_grad(bench->trial->inputs[k].tensor);
        if (status != AKG_OK)
            return problem_library(problem, status, diagnostics);
    }
    return true;
}

static void print_time(double microseconds)
{
    if (microseconds > 0)
        printf(" %11.1f", microseconds);
    else
        printf(" %11s", "-");
}

static void print_row(const struct row *row, const akg_cost *cost, const double times[2],
                      const double others[2])
{
    printf("%-30s", row->name);
    print_time(times[0]);
    printf(" %8.2f %8.2f", (double)(cost->bytes_read + cost->bytes_written) / (times[0] * 1e3),
           (double)cost->flops / (times[0] * 1e3));
    print_time(times[1]);
    print_time(others[0]);
    print_time(others[1]);
    printf("\n");
    fflush(stdout);
}

/* The call as it is, then with a gradient, which changes nothing of the elements. */
static void measure_row(struct bench *bench, const struct row *row, double times[2])
{
    struct contestant contestant = {.run = run_call, .context = bench};
    struct problem problem = {0};
    bool good = measure_all(&contestant, 1, seconds, &problem);

    times[0] = contestant.spread.median * 1e6;
    times[1] = 0;
    for (int i = 0; i < bench->trial->input_count && row->gradient; i++)
        if (bench->trial->inputs[i].differentiable)
            expect(akg_tensor_set_requires_grad(bench->trial->inputs[i].tensor, true, NULL), row->name);
    if (good && row->gradient) {
        contestant.run = run_gradient;
        good = measure_all(&contestant, 1, seconds, &problem);
        times[1] = contestant.spread.median * 1e6;
    }
    if (!good) {
        const akg_diagnostic *first = akg_diagnostics_at(problem.diagnostics, 0);
        fprintf(stderr, "operators: %s: %s\n", row->name, first ? first->message : problem.text);
        times[1] = 0;
    }
    problem_free(&problem);
}

static void bench_row(struct bench *bench, akg_registry *registry, const struct row *row, struct peers *peers)
{
    double times[2], others[2];
    struct trial trial;
    akg_cost cost;

    expect(akg_registry_find(registry, row->name, &bench->callee, NULL), row->name);
    if (!trial_read(&trial, akg_operator_kernel(bench->callee), row->timed, AKG_FLOAT32))
        exit(1);
    bench->trial = &trial;
    expect(akg_kernel_cost(akg_operator_kernel(bench->callee), trial.arguments.items, trial.arguments.count,
                           &cost, NULL),
           row->name);
    measure_row(bench, row, times);
    peers_ask(peers, row, others);
    print_row(row, &cost, times, others);
    trial_drop(&trial);
}

/* Names of operators may be given: those alone. */
static bool is_wanted(const char *name, int count, char **names)
{
    for (int i = 1; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return count <= 1;
}

int main(int argument_count, char **arguments)
{
    struct bench bench = {0};
    struct peers peers;
    akg_registry *registry = NULL;

    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    akg_set_threads(1);
    expect(akg_registry_create(&registry), "registry");
    expect(akg_tape_create(registry, &bench.tape), "tape");
    peers_start(&peers);
    peers_introduce(&peers);
    printf("%-30s %11s %8s %8s %11s %11s %11s\n", "float32, one thread", "call us", "GB/s", "GFLOP/s",
           "+grad us", "numpy us", "PyTorch us");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_wanted(rows[i].name, argument_count, arguments))
            bench_row(&bench, registry, &rows[i], &peers);
    peers_stop(&peers);
    akg_tape_release(bench.tape);
    akg_registry_release(registry);
    return 0;
}
