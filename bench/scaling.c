/*
 * scaling.c: how the time of the front end and of the analyses grows with a program. Kernels of 100 to
 * 100,000 statements in several styles; prints the time of each stage, nanoseconds for each statement, and
 * the exponent: how the whole grew over the last decade, 1 where it is linear. n log n is 1.1 there. Asserts
 * nothing (timings are no tests). Run by `make bench`; scaling STYLE [STATEMENTS] does one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../dsl/build.h"
#include "../dsl/elaborate.h"
#include "../dsl/parse.h"
#include "../jit/analysis.h"
#include "../jit/pipeline.h"

enum stage { SCAN, PARSE, NAMES, ELABORATE, VERIFY, BOUNDS, INITIALISATION, DEPENDENCES, STAGE_COUNT };

static const char *const stage_names[STAGE_COUNT] = {"scan",   "parse",  "names",    "elaborate",
                                                     "verify", "bounds", "initial.", "depend."};

/* ---- programs ----------------------------------------------------------------------------- */

static const char head[] = "def f(x: float32[N, M], y: float32[N, M], v: float32[N]):\n";

static void elements(struct text *out, int count)
{
    text_format(out, "%s", head);
    for (int k = 0; k < count; k++)
        text_format(out, "    v[%d] = x[%d, 1] + 2.0\n", k, k);
    text_format(out, "    return v\n");
}

/* Pieces of an output, each written by a loop of its own and read again. */
static void pieces(struct text *out, int count)
{
    text_format(out, "%s    w = output_tensor((%d,), v.dtype)\n", head, 8 * count);
    for (int k = 0; k < count / 3; k++)
        text_format(out, "    for i in range(%d, %d):\n        w[i] = v[i]\n    v[%d] = w[%d]\n", 8 * k,
                    8 * k + 8, k, 8 * k + 3);
    text_format(out, "    return w, v\n");
}

static void slices(struct text *out, int count)
{
    text_format(out, "%s    w = output_tensor((%d,), v.dtype)\n", head, 2 * count);
    for (int k = 0; k < count; k++)
        text_format(out, "    w[%d:%d] = v[%d:%d]\n", 2 * k, 2 * k + 2, k, k + 2);
    text_format(out, "    return w\n");
}

static void one_loop(struct text *out, int count)
{
    text_format(out, "%s    for i in range(N):\n", head);
    for (int k = 0; k < count; k++)
        text_format(out, "        v[i] = v[i] * x[i, %d] + %d\n", k % 5, k);
    text_format(out, "    return v\n");
}

static void one_parallel_loop(struct text *out, int count)
{
    text_format(out, "%s    for i in parallel(N):\n", head);
    for (int k = 0; k < count; k++)
        text_format(out, "        y[i, %d] = x[i, %d] + y[i, %d]\n", k % 1000, k % 77, (k + 1) % 1000);
    text_format(out, "    return y\n");
}

static void loops(struct text *out, int count)
{
    text_format(out, "%s", head);
    for (int k = 0; k < count / 2; k++)
        text_format(out, "    for i in range(N):\n        v[i] = v[i] + x[i, 0]\n");
    text_format(out, "    return v\n");
}

static void nests(struct text *out, int count)
{
    text_format(out, "%s", head);
    for (int k = 0; k < count / 4; k++)
        text_format(out,
                    "    for i in range(1, N):\n        for j in range(M):\n            if x[i, j] > %d:\n"
                    "                y[i, j] = y[i - 1, j] + x[i, j]\n",
                    k);
    text_format(out, "    return y\n");
}

static void functions(struct text *out, int count)
{
    for (int k = 0; k < count / 4; k++)
        text_format(out,
                    "def f%d(x: float32[N]):\n    y = output_tensor(x.shape, x.dtype)\n"
                    "    for i in range(N):\n        y[i] = x[i] + %d\n    return y\n\n\n",
                    k, k);
}

static void calls(struct text *out, int count)
{
    text_format(out, "def g(a, b):\n    return a * 2.0 + b\n\n\n%s    for i in range(N):\n", head);
    for (int k = 0; k < count; k++)
        text_format(out, "        v[i] = g(x[i, 0], v[i])\n");
    text_format(out, "    return v\n");
}

/* Expressions of 200 operators, half of them nested: a statement counts for each operator. */
static void expressions(struct text *out, int count)
{
    text_format(out, "%s    for i in range(N):\n", head);
    for (int k = 0; k < (count + 199) / 200; k++) {
        text_format(out, "        v[i] = ");
        for (int depth = 0; depth < 100; depth++)
            text_format(out, "x[i, %d] * (", depth % 3);
        text_format(out, "v[i]");
        for (int depth = 0; depth < 100; depth++)
            text_format(out, " + %d)", depth);
        text_format(out, "\n");
    }
    text_format(out, "    return v\n");
}

static void reassigned(struct text *out, int count)
{
    text_format(out, "%s    a = 0.0\n    b = 1.0\n    k = 0\n    for i in range(N):\n", head);
    for (int k = 0; k < count / 4; k++)
        text_format(out,
                    "        a = a * b + x[i, 0]\n        b += a\n        k = k + 1\n        v[i] = b\n");
    text_format(out, "    return v\n");
}

static void scalars(struct text *out, int count)
{
    text_format(out, "%s    for i in range(N):\n        t0 = x[i, 0]\n", head);
    for (int k = 1; k < count; k++)
        text_format(out, "        t%d = t%d * t%d + x[i, 1]\n", k, k - 1, k / 2);
    text_format(out, "        v[i] = t%d\n    return v\n", count - 1);
}

static void temporaries(struct text *out, int count)
{
    text_format(out, "%s", head);
    for (int k = 0; k < count / 5; k++)
        text_format(out,
                    "    t%d = allocate((N,), x.dtype)\n    for i in range(N):\n        t%d[i] = x[i, 0]\n"
                    "    for i in range(N):\n        v[i] = t%d[i]\n",
                    k, k, k);
    text_format(out, "    return v\n");
}

/* Facts of every statement hold for all that follow. */
static void asserts(struct text *out, int count)
{
    text_format(out, "%s", head);
    for (int k = 0; k < count / 2; k++)
        text_format(out, "    assert N > %d\n    v[%d] = x[%d, 0]\n", k, k, k);
    text_format(out, "    return v\n");
}

/* Integers that are computed from each other and used as indices. */
static void indices(struct text *out, int count)
{
    text_format(out, "%s    for i in range(N):\n        t0 = i\n", head);
    for (int k = 1; k < count / 2; k++)
        text_format(out, "        t%d = t%d + 1\n        v[i] += x[t%d - %d, 0]\n", k, k - 1, k, k);
    text_format(out, "    return v\n");
}

/* Sums that are declared first and each have a loop. */
static void sums(struct text *out, int count)
{
    text_format(out, "%s", head);
    for (int k = 0; k < count / 4; k++)
        text_format(out, "    s%d = 0.0\n", k);
    for (int k = 0; k < count / 4; k++)
        text_format(out, "    for i in range(N):\n        s%d += v[i]\n", k);
    for (int k = 0; k < count / 4; k++)
        text_format(out, "    v[%d] = s%d\n", k, k);
    text_format(out, "    return v\n");
}

static void constants(struct text *out, int count)
{
    text_format(out, "C0 = 1\n");
    for (int k = 1; k < count / 2; k++)
        text_format(out, "C%d = C0 + %d\n", k, k);
    text_format(out, "%s    for i in range(N):\n        v[i] = 0.0\n", head);
    for (int k = 1; k < count / 2; k++)
        text_format(out, "        v[i] += x[i, C%d]\n", k);
    text_format(out, "    return v\n");
}

static void one_line(struct text *out, int count)
{
    text_format(out, "%s    v[0] = 1.0", head);
    for (int k = 1; k < count; k++)
        text_format(out, "; v[0] += 1.0");
    text_format(out, "\n    return v\n");
}

static void helpers(struct text *out, int count)
{
    for (int k = 0; k < count / 4; k++)
        text_format(
            out,
            "def g%d(a):\n    return a + %d\n\n\n"
            "def f%d(x: float32[N]):\n    for i in range(N):\n        x[i] = g%d(x[i])\n    return x\n\n\n",
            k, k, k, k);
}

static void branches(struct text *out, int count)
{
    text_format(out, "%s    for i in range(N):\n        s = 0.0\n", head);
    for (int k = 0; k < count / 4; k++)
        text_format(
            out, "        if i > %d:\n            s = s + x[i - %d, 0]\n        else:\n            s = 1.0\n",
            k % 100, k % 100);
    text_format(out, "        v[i] = s\n    return v\n");
}

static const struct style {
    const char *name;
    void (*write)(struct text *out, int count);
} styles[] = {
    {"elements", elements},
    {"one loop", one_loop},
    {"one parallel loop", one_parallel_loop},
    {"loops", loops},
    {"nests", nests},
    {"functions", functions},
    {"calls", calls},
    {"expressions", expressions},
    {"reassigned", reassigned},
    {"pieces", pieces},
    {"slices", slices},
    {"asserts", asserts},
    {"indices", indices},
    {"sums", sums},
    {"constants", constants},
    {"one line", one_line},
    {"helpers", helpers},
    {"scalars", scalars},
    {"temporaries", temporaries},
    {"branches", branches},
};

enum { STYLE_COUNT = sizeof styles / sizeof *styles };

/* ---- times -------------------------------------------------------------------------------- */

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time); /* other processes do not count */
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Adds the time since *at to *total. */
static void lap(double *at, double *total)
{
    double next = now_us();
    *total += next - *at;
    *at = next;
}

static void fail(const char *what, const akg_diagnostics *diagnostics)
{
    const akg_diagnostic *message = diagnostics ? akg_diagnostics_at(diagnostics, 0) : NULL;
    fprintf(stderr, "scaling: %s: %s\n", what, message ? message->message : "failed");
    exit(1);
}

static void time_function(struct arena *arena, const struct ast_module *tree, struct ast_function *function,
                          akg_diagnostics *diagnostics, double *times)
{
    struct elaborate_result result = {0};
    struct text complaint;
    double at = now_us();

    elaborate(arena, tree, function, elaborate_general(arena, function), true, pipeline_evaluate, &result,
              diagnostics);
    lap(&at, &times[ELABORATE]);
    if (!result.kernel)
        fail(function->name, diagnostics);
    text_init(&complaint);
    if (!ir_verify(result.kernel, &complaint))
        fail(complaint.data, NULL);
    lap(&at, &times[VERIFY]);
    analysis_bounds(result.kernel);
    lap(&at, &times[BOUNDS]);
    analysis_initialisation(result.kernel, diagnostics);
    lap(&at, &times[INITIALISATION]);
    analysis_hints(result.kernel, diagnostics);
    lap(&at, &times[DEPENDENCES]);
    text_free(&complaint);
}

static void time_program(const struct text *program, double *times)
{
    struct dsl_source source = {"scaling.akg", program->data, program->length};
    struct token_list tokens = {0};
    struct arena arena;
    jmp_buf escape;
    akg_diagnostics *diagnostics = diagnostics_create("scaling.akg", NULL, 0);

    if (setjmp(escape))
        fail("memory", NULL);
    diagnostics_set_escape(diagnostics, &escape);
    arena_init(&arena, &escape);
    memset(times, 0, STAGE_COUNT * sizeof *times);
    struct parser parser = {
        .arena = &arena, .diagnostics = diagnostics, .source = &source, .tokens = &tokens};
    parser.module = arena_new(&arena, struct ast_module);
    double at = now_us();
    parse_tokens(&arena, &source, &tokens, diagnostics);
    lap(&at, &times[SCAN]);
    parser_run(&parser);
    lap(&at, &times[PARSE]);
    names_resolve(&arena, parser.module, diagnostics);
    lap(&at, &times[NAMES]);
    for (struct ast_function *function = parser.module->functions; function; function = function->next)
        if (!function->is_helper)
            time_function(&arena, parser.module, function, diagnostics, times);
    if (akg_diagnostics_error_count(diagnostics))
        fail("program", diagnostics);
    arena_free(&arena);
    akg_diagnostics_free(diagnostics);
}

/* The quickest of several for each stage: the rest is the machine's doing. Returns the sum. */
static double time_style(const struct style *style, int count)
{
    double best[STAGE_COUNT], times[STAGE_COUNT], sum = 0;
    int rounds = count > 10000 ? 1 : 3;
    struct text program;

    text_init(&program);
    style->write(&program, count);
    for (int round = 0; round < rounds; round++) {
        time_program(&program, times);
        for (int stage = 0; stage < STAGE_COUNT; stage++)
            best[stage] = round && best[stage] < times[stage] ? best[stage] : times[stage];
    }
    text_free(&program);
    printf("  %7d", count);
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        printf(" %9.2f", best[stage] / 1e3);
        sum += best[stage];
    }
    printf(" %10.2f %8.0f", sum / 1e3, sum * 1e3 / count);
    fflush(stdout);
    return sum;
}

static void print_style(const struct style *style, int least, int most)
{
    double before = 0;

    printf("%s\n", style->name);
    for (int count = least; count <= most; count *= 10) {
        double time = time_style(style, count);
        if (before > 0)
            printf(" %8.2f", log10(time / before));
        printf("\n");
        before = time;
    }
}

int main(int argument_count, char **arguments)
{
    int only = argument_count > 2 ? atoi(arguments[2]) : 0;

    printf("milliseconds by stage; nanoseconds for each statement; exponent\n  %7s", "");
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        printf(" %9s", stage_names[stage]);
    printf(" %10s %8s %8s\n", "all", "each", "exponent");
    for (int i = 0; i < STYLE_COUNT; i++)
        if (argument_count < 2 || strcmp(arguments[1], styles[i].name) == 0)
            print_style(&styles[i], only ? only : 100, only ? only : 100000);
    return 0;
}
