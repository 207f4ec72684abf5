/*
 * test_partition_random.c: random kernels whose conditions and indices hang on their loop variables, compiled
 * with every pass, against the interpreter, to the bit (strict).
 *
 * Conditions compare a loop variable with constants, dims, their halves, attributes, the other variable, and
 * elements of a tensor; indices are clamped or go round. Extents are of 0 and 1 and upwards, attributes
 * beyond them and far from 0, so that parts of loops are empty, or meet. Most of the kernels must have been
 * cut, or the test would prove nothing.
 *
 * Arguments: first seed and number of kernels (default 1 and 300).
 */
#include "../../base/text.h"
#include "../fuzz/random.h"
#include "api_support.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

struct generator {
    struct text text;
    struct random random;
};

static int below(struct generator *g, int count)
{
    return random_below(&g->random, count);
}

static const char *one_of(struct generator *g, const char *const *words, int count)
{
    return words[below(g, count)];
}
#define ONE_OF(g, ...)                                                                                       \
    one_of(g, (const char *const[]){__VA_ARGS__},                                                            \
           (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))

static void write(struct generator *g, const char *words)
{
    text_string(&g->text, words);
}

/* In a template, V is a loop variable, D its extent, O the other variable, C a small number, < any order. */
static void fill_in(struct generator *g, const char *template, bool rows)
{
    for (const char *at = template; *at; at++)
        switch (*at) {
        case 'V':
            write(g, rows ? "i" : "j");
            break;
        case 'O':
            write(g, rows ? "j" : "i");
            break;
        case 'D':
            write(g, rows ? "N" : "M");
            break;
        case 'C':
            text_format(&g->text, "%d", below(g, 4));
            break;
        case '<':
            write(g, ONE_OF(g, "<", "<=", ">", ">="));
            break;
        default:
            text_char(&g->text, *at);
        }
}

static void condition(struct generator *g)
{
    bool rows = below(g, 3) == 0;
    const char *template = ONE_OF(g, "V < C", "V < D - C", "V < s", "V < O", "V == C", "V != D - 1", "V == O",
                                  "0 < V and V < D - 1", "O - V < C", "V + O < D", "V < n[O]", "V - s < C",
                                  "V < C or V < D - 2", "C < V and V < s", "V < D // 2", "V + O // 2 < D",
                                  "V - (D - 1) // 3 < C", "s < V", "D - V < C", "V < t and t < V");

    fill_in(g, template, rows);
}

static void index_of(struct generator *g, bool rows)
{
    const char *template =
        ONE_OF(g, "V", "V", "min(V + C, D - 1)", "max(V - C, 0)", "(V + C) % D", "(V - C) % D", "(V - s) % D",
               "(C - V) % D", "max(0, min(D - 1, V - C + 1))", "(V + D // 2) % D",
               "min(max(V - D // 2 + C, 0), D - 1)", "(V + O) % D", "(V + t) % D");

    fill_in(g, template, rows);
}

static void load(struct generator *g)
{
    write(g, "x[");
    index_of(g, true);
    write(g, ", ");
    index_of(g, false);
    write(g, "]");
}

static void value(struct generator *g, int depth)
{
    switch (depth ? below(g, 5) : 0) {
    case 1:
        write(g, "(");
        value(g, depth - 1);
        write(g, " if ");
        condition(g);
        write(g, " else ");
        value(g, depth - 1);
        write(g, ")");
        break;
    case 2:
        write(g, "(");
        value(g, depth - 1);
        write(g, ONE_OF(g, " + ", " - ", " * "));
        value(g, depth - 1);
        write(g, ")");
        break;
    case 3:
        write(g, "sqrt(abs(");
        value(g, depth - 1);
        write(g, "))");
        break;
    default:
        load(g);
    }
}

static void statement(struct generator *g, int indent, int depth)
{
    text_repeat(&g->text, ' ', indent);
    if (!depth || below(g, 3) == 0) {
        write(g, ONE_OF(g, "y[i, j] = ", "y[i, j] += "));
        value(g, 2);
        write(g, "\n");
        return;
    }
    write(g, "if ");
    condition(g);
    write(g, ":\n");
    statement(g, indent + 4, depth - 1);
    if (below(g, 2)) {
        text_repeat(&g->text, ' ', indent);
        write(g, "else:\n");
        statement(g, indent + 4, depth - 1);
    }
}

/* A sum over a row, or over a window, in one loop of columns; or statements in it. */
static void kernel_text(struct generator *g)
{
    const char *columns = ONE_OF(g, "M", "M", "M", "M - 1", "1, M", "2, M", "s, M", "M // 2");

    write(g, "def f(x: T[N, M], n: int64[K], s: int, t: int):\n    assert N <= K and M <= K and s >= 0\n"
             "    y = output_tensor((N, M), x.dtype)\n    for i in range(N):\n");
    switch (below(g, 4)) {
    case 0:
        text_format(&g->text, "        a = 0.0\n        for j in range(%s):\n            if ", columns);
        condition(g);
        write(g, ":\n                a += ");
        value(g, 1);
        text_format(&g->text, "\n        for j in range(%s):\n            y[i, j] = a\n", columns);
        break;
    case 1:
        text_format(&g->text,
                    "        for j in range(%s):\n            a = 0.0\n            for p in range(-1, 2):\n",
                    columns);
        text_format(&g->text,
                    "                for q in range(-1, 2):\n                    if %s:\n                    "
                    "    a += x[%s, %s]\n            y[i, j] = a\n",
                    ONE_OF(g, "p != q", "0 <= i + p < N and 0 <= j + q < M", "j + q != 0", "i > 0"),
                    ONE_OF(g, "min(max(i + p, 0), N - 1)", "(i + p) % N", "(i + p + N) % N"),
                    ONE_OF(g, "min(max(j + q, 0), M - 1)", "(j + q) % M", "(j - q + M) % M",
                           "max(min(j + 2 * q, M - 1), 0)"));
        break;
    default:
        text_format(&g->text, "        for j in range(%s):\n", columns);
        statement(g, 12, 2);
    }
    write(g, "    return y\n");
}

/* ---- running ------------------------------------------------------------------------------------------ */

static akg_module *compile(const char *text, jit_backend backend)
{
    jit_source source = {.name = "random.akg", .text = text, .length = strlen(text)};
    jit_options options = {.backend = backend, .strict = true, .tier = JIT_TIER_INSTANT};
    akg_module *module = NULL;
    akg_diagnostics *diagnostics = NULL;

    if (jit_compile(&source, &options, &module, &diagnostics) != AKG_OK) {
        char *why = NULL;
        if (akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &why) == AKG_OK)
            fputs(why, stderr);
        akg_free(why);
    }
    akg_diagnostics_free(diagnostics);
    return module;
}

static akg_tensor *call(akg_module *module, const akg_argument *arguments)
{
    akg_tensor *result = NULL;
    akg_diagnostics *diagnostics = NULL;

    if (akg_kernel_call(akg_module_kernel(module, "f"), arguments, 4, NULL, &result, &diagnostics) !=
        AKG_OK) {
        fprintf(stderr, "%s\n", api_error(diagnostics));
        result = NULL;
    }
    akg_diagnostics_free(diagnostics);
    return result;
}

/* Elements of x are such that no two sums of them are likely to agree. */
static bool run_once(struct generator *g, akg_module *const *modules)
{
    int64_t shape[2] = {below(g, 3) ? below(g, 30) : below(g, 4), below(g, 3) ? below(g, 60) : below(g, 4)};
    int64_t most = shape[0] > shape[1] ? shape[0] : shape[1];
    int64_t far = (int64_t)1 << (10 + below(g, 50));
    akg_tensor *x = api_range(AKG_FLOAT32, 2, shape, -3.0, 0.37);
    akg_tensor *n = api_vector(AKG_INT64, most, -2.0, 1 + below(g, 3));
    akg_argument arguments[] = {api_tensor("x", x), api_tensor("n", n),
                                api_int("s", below(g, 5) ? below(g, 40) : far),
                                api_int("t", below(g, 3) ? below(g, 80) - 40 : -far)};
    akg_tensor *results[2] = {call(modules[0], arguments), call(modules[1], arguments)};
    bool good = results[0] && results[1] && api_same(results[0], results[1]);

    if (!good)
        fprintf(stderr, "N = %d, M = %d, s = %lld, t = %lld\n", (int)shape[0], (int)shape[1],
                (long long)arguments[2].as.integer, (long long)arguments[3].as.integer);
    for (int k = 0; k < 2; k++)
        akg_tensor_release(results[k]);
    akg_tensor_release(x);
    akg_tensor_release(n);
    return good;
}

/* Whether the pass has cut a loop of it. */
static bool is_cut(const char *text)
{
    jit_source source = {.name = "random.akg", .text = text, .length = strlen(text)};
    akg_diagnostics *diagnostics = NULL;
    char *stages = NULL;
    bool cut = jit_emit_passes(&source, "partition", "f", NULL, 0, &stages, &diagnostics) == AKG_OK &&
               stages && strstr(stages, "-- partition");

    akg_free(stages);
    akg_diagnostics_free(diagnostics);
    return cut;
}

static bool agrees(uint64_t seed, int *cut)
{
    struct generator g = {.random = random_seeded(seed, 31)};
    akg_module *modules[2];
    bool good;

    text_init(&g.text);
    kernel_text(&g);
    modules[0] = compile(g.text.data, JIT_BACKEND_TCC);
    modules[1] = compile(g.text.data, JIT_BACKEND_INTERPRETER);
    good = modules[0] && modules[1];
    for (int round = 0; good && round < 4; round++)
        good = run_once(&g, modules);
    if (!good)
        fprintf(stderr, "%s\nseed %llu\n", g.text.data, (unsigned long long)seed);
    *cut += is_cut(g.text.data);
    akg_module_release(modules[0]);
    akg_module_release(modules[1]);
    text_free(&g.text);
    return good;
}

#ifdef AKG_SANITIZED
enum { USUAL = 60 /* sanitizers take their time */ };
#else
enum { USUAL = 300 };
#endif

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : USUAL, cut = 0;

    for (int k = 0; k < count; k++)
        if (!CHECK(agrees(first + (uint64_t)k, &cut)))
            break;
    printf("%d of %d kernels are cut\n", cut, count);
    CHECK(cut * 2 > count);
    return check_done();
}
