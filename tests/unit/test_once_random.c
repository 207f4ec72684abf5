/*
 * test_once_random.c: sums inside of loops, each of which hangs on some of these, against the interpreter
 * (pass_once.c); and one program that these found.
 *
 * Programs are put together at random: two or three loops, the last of which may begin or end where another
 * one is; sums, extremes and counts over one or two loops inside, which begin with a number or an element, go
 * on from one another, are divided behind their loop, or ask for what the loops around change; stores that
 * use them, perhaps a break. All numbers are small and whole, so that the order of a sum does not count. A
 * fifth of the programs must have got a table of sums, or the test would prove nothing.
 *
 * Arguments: first seed and number of programs (default 1 and 160).
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
    int sums;
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

/* What is added, of loops i, j and k; `z` changes, `s0` is the first sum. */
static const char *term(struct generator *g)
{
    static const char *const later[] = {"(a[i, k] - s0)", "(w[k, k] * s0)", "(b[j, k] + s0)"};
    if (g->sums && below(g, 3) == 0)
        return later[below(g, 3)];
    return ONE_OF(g, "a[i, k]", "a[i, k] * a[i, k]", "b[j, k]", "b[j, k]", "a[i, k] * b[j, k]", "w[k, 1]",
                  "w[k, k] * 2", "z[k]", "a[i, k] * j", "b[j, k] * p[i]", "q[j]", "p[i] * w[k, k]");
}

static void declare(struct generator *g, int number)
{
    text_format(&g->text, "            s%d = %s\n", number,
                ONE_OF(g, "0", "0", "1", "p[i]", "q[j]", "w[0, 1]", "z[1]"));
}

/* One statement of the loop inside. */
static void accumulate(struct generator *g, int number, const char *deep)
{
    const char *value = term(g);
    switch (below(g, 6)) {
    case 0:
        text_format(&g->text, "%ss%d = max(s%d, %s)\n", deep, number, number, value);
        break;
    case 1:
        text_format(&g->text, "%sif %s > %d:\n%s    s%d += %s\n", deep, ONE_OF(g, "w[k, 0]", "a[i, k]", "k"),
                    below(g, 4), deep, number, value);
        break;
    case 2:
        text_format(&g->text, "%st%d = %s\n%ss%d += t%d\n", deep, number, value, deep, number, number);
        break;
    default:
        text_format(&g->text, "%ss%d += %s\n", deep, number, value);
    }
}

/* So many sums of one loop, or of two inside one another. */
static void write_sums(struct generator *g, int count)
{
    bool two = below(g, 4) == 0;
    for (int k = 0; k < count; k++)
        declare(g, g->sums + k);
    text_string(&g->text, "            for k in range(w.shape[0]):\n");
    if (two)
        text_string(&g->text, "                for l in range(2):\n");
    for (int k = 0; k < count; k++)
        accumulate(g, g->sums + k, two ? "                    " : "                ");
    g->sums += count;
    if (below(g, 3) == 0)
        text_format(&g->text, "            s%d = s%d * 2 - %s\n", g->sums - 1, g->sums - 1,
                    ONE_OF(g, "1", "p[i]", "q[j]"));
}

static void write_program(struct generator *g)
{
    text_string(&g->text, "def k(a, b, w, p, q):\n    y = output_tensor((p.shape[0], q.shape[0]), a.dtype)\n"
                          "    z = output_tensor((w.shape[0],), a.dtype)\n");
    bool is_other = below(g, 4) == 0; /* which loop is the outer one */
    const char *inner = is_other ? ONE_OF(g, "range(p.shape[0])", "range(1, p.shape[0])")
                                 : ONE_OF(g, "range(q.shape[0])", "range(q.shape[0])", "range(i, q.shape[0])",
                                          "range(1, q.shape[0])", "range(0, q.shape[0], 2)");
    text_format(&g->text, "    for %s in range(%s):\n        for %s in %s:\n", is_other ? "j" : "i",
                is_other ? "q.shape[0]" : "p.shape[0]", is_other ? "i" : "j", inner);
    for (int groups = 1 + below(g, 2); groups; groups--)
        write_sums(g, 1 + below(g, 3));
    text_string(&g->text, "            y[i, j] += s0");
    for (int k = 1; k < g->sums; k++)
        text_format(&g->text, " + s%d * %d", k, k + 1);
    text_char(&g->text, '\n');
    if (below(g, 3) == 0)
        text_string(&g->text, "            z[1] = min(max(s0, -3), 3)\n");
    if (below(g, 6) == 0)
        text_string(&g->text, "            if s0 > 90:\n                break\n");
    text_string(&g->text, "    return y, z\n");
}

static akg_tensor *tensor_of(struct generator *g, akg_dtype dtype, int64_t rows, int64_t columns)
{
    akg_tensor *tensor = NULL;
    int64_t shape[2] = {rows, columns}, index[2];
    if (akg_tensor_create(dtype, columns ? 2 : 1, shape, &tensor) != AKG_OK)
        return NULL;
    for (index[0] = 0; index[0] < rows; index[0]++)
        for (index[1] = 0; index[1] < (columns ? columns : 1); index[1]++)
            akg_tensor_set(tensor, index, below(g, 4) - 1);
    return tensor;
}

static bool has_table(const char *program)
{
    jit_source source = {.name = "test.akg", .text = program, .length = strlen(program)};
    char *text = NULL;
    bool found = jit_emit(&source, AKG_STAGE_OPTIMISED, "k", NULL, 0, &text, NULL) == AKG_OK &&
                 strstr(text, "temporary sums");
    akg_free(text);
    return found;
}

static bool agrees(uint64_t seed, int *tables)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64};
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"}, compiled = {.cache = "off"};
    struct generator g = {.random = random_seeded(seed, 31)};
    text_init(&g.text);
    write_program(&g);
    *tables += has_table(g.text.data);
    akg_dtype dtype = dtypes[below(&g, 5)];
    int64_t rows = below(&g, 3) ? 1 + below(&g, 20) : below(&g, 2),
            columns = below(&g, 3) ? below(&g, 40) : 1, sums = 2 + below(&g, 9);
    akg_tensor *inputs[] = {tensor_of(&g, dtype, rows, sums), tensor_of(&g, dtype, columns, sums),
                            tensor_of(&g, dtype, sums, sums), tensor_of(&g, dtype, rows, 0),
                            tensor_of(&g, dtype, columns, 0)},
               *expected[2] = {NULL}, *outputs[2] = {NULL};
    bool good = api_run(g.text.data, &options, inputs, 5, NULL, expected) &&
                api_run(g.text.data, &compiled, inputs, 5, NULL, outputs) &&
                api_same_numbers(outputs[0], expected[0]) && api_same_numbers(outputs[1], expected[1]);
    if (!good)
        fprintf(stderr, "%s%s, %d, %d, %d, seed %llu\n", g.text.data, akg_dtype_name(dtype), (int)rows,
                (int)columns, (int)sums, (unsigned long long)seed);
    for (int k = 0; k < 2; k++) {
        akg_tensor_release(expected[k]);
        akg_tensor_release(outputs[k]);
    }
    for (int k = 0; k < 5; k++)
        akg_tensor_release(inputs[k]);
    text_free(&g.text);
    return good;
}

/* Four sums and more in one part of a band, in vectors of half the width: with AVX-512 such a loop had no
 * partial result, where its sums may be made in any order. */
static void check_halves(void)
{
    static const char program[] = "def k(b):\n    y = output_tensor((b.shape[0],), b.dtype)\n"
                                  "    z = output_tensor((b.shape[1],), b.dtype)\n"
                                  "    for j in range(b.shape[0]):\n        s3 = 0\n        s4 = 0\n"
                                  "        for k in range(b.shape[1]):\n            s3 += 1\n"
                                  "            s4 = min(s4, b[j, k])\n            z[k] = 0\n"
                                  "        s5 = 0\n        s6 = 0\n        for k in range(b.shape[1]):\n"
                                  "            s5 = min(s5, 1)\n            s6 += b[0, k]\n"
                                  "        y[j] = s3 + s4 + s5 + s6\n    return y, z\n";
    akg_tensor *input = api_range(AKG_INT32, 2, (const int64_t[]){2, 24}, 1, 0);
    akg_tensor *expected = api_vector(AKG_INT32, 2, 48, 0);
    jit_options options = {.cache = "off"};
    for (int k = 0; k < 4; k++) { /* for any shape and for one */
        akg_tensor *outputs[2] = {NULL};
        if (CHECK(api_run(program, &options, &input, 1, NULL, outputs)))
            CHECK(api_same_numbers(outputs[0], expected));
        akg_tensor_release(outputs[0]);
        akg_tensor_release(outputs[1]);
    }
    akg_tensor_release(input);
    akg_tensor_release(expected);
}

#ifdef AKG_SANITIZED
enum { USUAL = 40 /* sanitizers take their time */ };
#else
enum { USUAL = 160 };
#endif

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : USUAL, tables = 0;
    for (int k = 0; k < count; k++)
        if (!CHECK(agrees(first + (uint64_t)k, &tables)))
            break;
    check_halves();
    printf("%d of %d programs have tables\n", tables, count);
    CHECK(tables * 5 > count);
    return check_done();
}
