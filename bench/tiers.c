/*
 * tiers.c: what the cache on disk and the optimising tier gain: first calls of a kernel with and without an
 * entry, whole processes of akgrun, and calls before and after the C compiler's code is in place. Prints a
 * table; asserts nothing.
 *
 * Wants akgrun beside it: build/bench/tiers runs build/akgrun.
 */
#define _GNU_SOURCE
#include "../include/akg.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { REPEATS = 41 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + 1e-3 * (double)time.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "tiers: %s failed\n", what);
    exit(1);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}

/* ---- kernels -------------------------------------------------------------------------------------- */

static const char text[] = "def square(x):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i in range(x.shape[0]):\n"
                           "        y[i] = x[i] * x[i]\n"
                           "    return y\n"
                           "\n"
                           "def collatz(x):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i in range(x.shape[0]):\n"
                           "        n = int64(x[i] * 1000.0) + 1\n"
                           "        count = 0\n"
                           "        while n > 1:\n"
                           "            n = n // 2 if n % 2 == 0 else 3 * n + 1\n"
                           "            count += 1\n"
                           "        y[i] = cast(count, x.dtype)\n"
                           "    return y\n"
                           "\n"
                           "def mandelbrot(x):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i in range(x.shape[0]):\n"
                           "        a = 0.0\n"
                           "        b = 0.0\n"
                           "        n = 0\n"
                           "        while n < 100 and a * a + b * b < 4.0:\n"
                           "            t = a * a - b * b + x[i]\n"
                           "            b = 2.0 * a * b + 0.3\n"
                           "            a = t\n"
                           "            n += 1\n"
                           "        y[i] = a\n"
                           "    return y\n"
                           "\n"
                           "def recurrence(x):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    last = 0.0\n"
                           "    for i in range(x.shape[0]):\n"
                           "        last = max(last * 0.9, x[i]) + 0.1\n"
                           "        y[i] = last\n"
                           "    return y\n"
                           "\n"
                           "def bubble(x):\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i in range(x.shape[0]):\n"
                           "        y[i] = x[i]\n"
                           "    for r in range(20):\n"
                           "        for i in range(x.shape[0] - 1):\n"
                           "            if y[i] > y[i + 1]:\n"
                           "                t = y[i]\n"
                           "                y[i] = y[i + 1]\n"
                           "                y[i + 1] = t\n"
                           "    return y\n";

static const char *const kernels[] = {"square", "collatz", "mandelbrot", "recurrence", "bubble"};

static akg_module *compile(const char *cache, jit_tier tier)
{
    jit_source source = {.name = "tiers.akg", .text = text, .length = strlen(text)};
    jit_options options = {.cache = cache, .tier = tier};
    akg_module *module;
    akg_diagnostics *diagnostics;
    char *rendered = NULL;
    if (jit_compile(&source, &options, &module, &diagnostics) != AKG_OK) {
        akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &rendered);
        fail(rendered ? rendered : "jit_compile");
    }
    akg_diagnostics_free(diagnostics);
    return module;
}

/* Microseconds of one call. */
static double call(akg_module *module, const char *name, akg_tensor *x)
{
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x};
    akg_tensor *y = NULL;
    double start = now();
    if (akg_kernel_call(akg_module_kernel(module, name), &argument, 1, NULL, &y, NULL) != AKG_OK)
        fail("akg_kernel_call");
    start = now() - start;
    akg_tensor_release(y);
    return start;
}

static double typical_call(akg_module *module, const char *name, akg_tensor *x)
{
    double times[REPEATS];
    for (int k = 0; k < REPEATS; k++)
        times[k] = call(module, name, x);
    return median(times, REPEATS);
}

/* ---- what is measured ------------------------------------------------------------------------------- */

static void first_calls(const char *directory, akg_tensor *x)
{
    printf("first call in a process that has called others, median of %d, in microseconds\n", REPEATS);
    printf("  %-12s %10s %10s %10s\n", "", "no cache", "kept", "found");
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        double off[REPEATS], kept[REPEATS], found[REPEATS];
        for (int round = 0; round < REPEATS; round++) {
            akg_cache *cache;
            if (akg_cache_open(directory, &cache, NULL) != AKG_OK)
                fail("akg_cache_open");
            akg_cache_remove(cache, AKG_CACHE_ALL, NULL);
            akg_cache_close(cache);
            akg_module *modules[] = {compile("off", JIT_TIER_INSTANT), compile(directory, JIT_TIER_INSTANT),
                                     compile(directory, JIT_TIER_INSTANT)};
            off[round] = call(modules[0], kernels[k], x);
            kept[round] = call(modules[1], kernels[k], x);
            found[round] = call(modules[2], kernels[k], x);
            for (int i = 0; i < 3; i++)
                akg_module_release(modules[i]);
        }
        printf("  %-12s %10.1f %10.1f %10.1f\n", kernels[k], median(off, REPEATS), median(kept, REPEATS),
               median(found, REPEATS));
    }
}

/* Microseconds until the process has ended. */
static double process(char **words, const char *mode)
{
    posix_spawn_file_actions_t files;
    int status;
    pid_t child;
    setenv("AKG_CACHE", mode, 1);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", 1, 0);
    double start = now();
    if (posix_spawn(&child, words[0], &files, NULL, words, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
        fail(words[0]);
    start = now() - start;
    posix_spawn_file_actions_destroy(&files);
    return start;
}

static void processes(const char *directory, const char *akgrun)
{
    char *plain[] = {(char *)akgrun, (char *)"--version", NULL};
    char *run[] = {(char *)akgrun,   (char *)"run",       (char *)"examples/square.akg",
                   (char *)"square", (char *)"x=[1,4,9]", NULL};
    double nothing[REPEATS], off[REPEATS], found[REPEATS];
    setenv("AKG_CACHE_DIR", directory, 1);
    process(run, "on");
    for (int k = 0; k < REPEATS; k++) { /* in turn: what else the machine does concerns all alike */
        nothing[k] = process(plain, "off");
        off[k] = process(run, "off");
        found[k] = process(run, "on");
    }
    printf("whole processes, median of %d, in microseconds\n", REPEATS);
    printf("  %-40s %10.0f\n", "akgrun --version", median(nothing, REPEATS));
    printf("  %-40s %10.0f\n", "akgrun run examples/square.akg: no cache", median(off, REPEATS));
    printf("  %-40s %10.0f\n", "  found", median(found, REPEATS));
}

static void swaps(akg_tensor *x)
{
    printf("calls on %d elements, median of %d, in microseconds\n", (int)akg_tensor_element_count(x),
           REPEATS);
    printf("  %-12s %10s %10s %10s\n", "", "instant", "optimised", "ratio");
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        akg_module *module = compile("off", JIT_TIER_OPTIMISED);
        akg_module *instant = compile("off", JIT_TIER_INSTANT);
        call(module, kernels[k], x);
        call(instant, kernels[k], x);
        akg_module_finish(module);
        double before = typical_call(instant, kernels[k], x), after = typical_call(module, kernels[k], x);
        printf("  %-12s %10.1f %10.1f %10.2f%s\n", kernels[k], before, after, before / after,
               akg_kernel_is_optimised(akg_module_kernel(module, kernels[k])) ? "" : "  stayed as it was");
        akg_module_release(module);
        akg_module_release(instant);
    }
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/akg-bench-XXXXXX", akgrun[4096], command[100];
    const int64_t shape[] = {10000};
    akg_tensor *x;
    (void)argc;
    const char *slash = strrchr(argv[0], '/');
    snprintf(akgrun, sizeof akgrun, "%.*s../akgrun", slash ? (int)(slash - argv[0]) + 1 : 0, argv[0]);
    if (!mkdtemp(directory) || akg_tensor_create(AKG_FLOAT32, 1, shape, &x) != AKG_OK)
        fail("the beginning");
    akg_tensor_fill_uniform(x, 1);
    first_calls(directory, x);
    swaps(x);
    if (access(akgrun, X_OK) == 0)
        processes(directory, akgrun);
    akg_tensor_release(x);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command) != 0;
}
