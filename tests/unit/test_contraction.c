/*
 * test_contraction.c: random nests that accumulate, products of matrices among them, as vector code, against
 * the interpreter, to the bit (strict).
 *
 * Each kernel has one nest: rows and columns around one to three loops that accumulate by some operation,
 * over tensors in any layout, with something before them and something behind; extents go from 0 to some
 * tiles. Each kernel runs for every target of this processor. Most nests must have become code for nests, or
 * the test would prove nothing.
 *
 * Arguments: first seed and number of kernels (default 1 and 150).
 */
#include "check.h"
#include "jit_pair.h"

#include <stdlib.h>

struct generator {
    struct text text;
    uint64_t state;
    akg_dtype dtype;
    int depths;
};

static unsigned draw(struct generator *g, unsigned count)
{
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(g->state >> 33) % count;
}

static const char *one_of(struct generator *g, const char *const *words, unsigned count)
{
    return words[draw(g, count)];
}
#define ONE_OF(g, ...)                                                                                       \
    one_of(g, (const char *const[]){__VA_ARGS__},                                                            \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Elements of the dtype that the loops can take; the last index moves along the columns or not at all. */
static const char *factor(struct generator *g)
{
    if (g->depths == 1)
        return ONE_OF(g, "a[i, k]", "at[k, i]", "b[k, j]", "b[(k + 1), (j + 1)]", "as[i, k]", "bs[k, j]",
                      "x[i]", "y[j]", "s[k]", "z[i, j]", "a[(i + 1), k]");
    return ONE_OF(g, "a4[i, k, l, p]", "b4[k, l, p, j]", "w[k, (j + p)]", "w[(k + l), (j + p)]", "y[j]",
                  "a[i, (k + p)]", "x[i]");
}

static void put_factor(struct generator *g)
{
    text_string(&g->text, factor(g));
}

static void term(struct generator *g)
{
    static const char *const infixes[] = {" * ", " * ", " * ", " - ", " + "};
    bool deep = g->depths > 1;
    switch (draw(g, 6)) {
    case 0:
        text_string(&g->text, "abs((");
        put_factor(g);
        text_string(&g->text, " - ");
        put_factor(g);
        text_string(&g->text, "))");
        break;
    case 1:
        text_string(&g->text, "((");
        put_factor(g);
        text_string(&g->text, " * ");
        put_factor(g);
        text_string(&g->text, ") * ");
        put_factor(g);
        text_string(&g->text, ")");
        break;
    default:
        text_string(&g->text, "(");
        text_string(&g->text, deep ? ONE_OF(g, "a4[i, k, l, p]", "a[i, (k + p)]")
                                   : ONE_OF(g, "a[i, k]", "at[k, i]", "as[i, k]"));
        text_string(&g->text, infixes[draw(g, 5)]);
        text_string(&g->text, deep ? ONE_OF(g, "b4[k, l, p, j]", "w[(k + l), (j + p)]")
                                   : ONE_OF(g, "b[k, j]", "bs[k, j]"));
        text_string(&g->text, ")");
    }
}

static void accumulation(struct generator *g)
{
    switch (draw(g, 8)) {
    case 0:
        text_string(&g->text, "acc = max(acc, ");
        term(g);
        text_string(&g->text, ")\n");
        break;
    case 1:
        text_string(&g->text, "acc = (acc - ");
        term(g);
        text_string(&g->text, ")\n");
        break;
    case 2:
        text_string(&g->text, "if (");
        put_factor(g);
        text_string(&g->text, " < ");
        put_factor(g);
        text_string(&g->text, ") {\nacc = (acc + ");
        term(g);
        text_string(&g->text, ")\n}\n");
        break;
    case 3:
        text_format(&g->text, "let t: %s = ", akg_dtype_name(g->dtype));
        term(g);
        text_string(&g->text, "\nacc = ((acc * y[j]) + t)\n");
        break;
    default:
        text_string(&g->text, "acc = (acc + ");
        term(g);
        text_string(&g->text, ")\n");
    }
}

static void nest(struct generator *g)
{
    const char *name = akg_dtype_name(g->dtype), *low = draw(g, 4) ? "0" : "1";
    bool real = dtype_is_float(g->dtype);
    text_format(&g->text, "for i = %s to M step 1 {\n", low);
    if (draw(g, 4) == 0)
        text_format(&g->text, "let xi: %s = x[i]\n", name);
    else
        text_format(&g->text, "let xi: %s = 3%s:%s\n", name, real ? ".0" : "", name);
    text_format(&g->text, "for j = %s to N step 1 {\n", low);
    text_format(&g->text, "var acc: %s = ", name);
    text_string(&g->text, ONE_OF(g, "y[j]", "z[i, j]", "(x[i] + y[j])", "s[2]", "c[i, j]", "xi"));
    text_string(&g->text, "\n");
    static const char *const variables[] = {"k", "l", "p"}, *const extents[] = {"K", "3", "2"};
    for (int k = 0; k < g->depths; k++)
        text_format(&g->text, "for %s = 0 to %s step 1 {\n", variables[k], extents[k]);
    accumulation(g);
    for (int k = 0; k < g->depths; k++)
        text_string(&g->text, "}\n");
    if (draw(g, 3) == 0)
        text_string(&g->text, "acc = (acc + y[j])\n");
    text_string(&g->text, ONE_OF(g, "c[i, j] = acc @1:1\n", "c[i, j] = max(acc, xi) @1:1\n",
                                 "c[i, j] = ((acc * x[i]) + y[j]) @1:1\n",
                                 "c[i, j] = acc @1:1\nd[i, j] = (acc - z[i, j]) @1:1\n",
                                 "if (acc > y[j]) {\nc[i, j] = acc @1:1\n}\n"));
    text_string(&g->text, "}\n}\n");
}

static void kernel_text(struct generator *g)
{
    const char *name = akg_dtype_name(g->dtype);
    text_string(&g->text, "kernel k {\n input shape: bool[M, N, K]\n");
    text_format(
        &g->text,
        " input a: %s[50, 50]\n input at: %s[50, 50]\n input b: %s[50, 80]\n input as: %s[50, 50] strided\n"
        " input bs: %s[50, 80] strided\n input x: %s[50]\n input y: %s[80]\n input s: %s[50]\n"
        " input z: %s[50, 80]\n input a4: %s[50, 50, 3, 2]\n input b4: %s[50, 3, 2, 80]\n"
        " input w: %s[60, 90]\n inout c: %s[50, 80]\n output d: %s[50, 80] clear\n",
        name, name, name, name, name, name, name, name, name, name, name, name, name, name);
    text_string(&g->text,
                " parameters shape, a, at, b, as, bs, x, y, s, z, a4, b4, w, c\n results c, d\n body {\n");
    nest(g);
    text_string(&g->text, " }\n}\n");
}

static void fill(struct generator *g, struct jit_pair *pair)
{
    for (int k = 0; k < pair->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = pair->kernel->buffers.items[k];
        int64_t count = (int64_t)pair->sizes[k] / dtype_table[buffer->dtype].size;
        if (buffer->dtype == AKG_BOOL || buffer->role == IR_OUTPUT)
            continue;
        for (int64_t at = 0; at < count; at++) {
            union dtype_value value = {.i = dtype_wrap(buffer->dtype, (int64_t)draw(g, 2000) - 1000)};
            if (dtype_is_float(buffer->dtype))
                value = dtype_from_double(buffer->dtype,
                                          draw(g, 400) ? (int)draw(g, 2000) / 64.0 - 15 : __builtin_inf());
            pair_set(pair, k, at, value);
        }
    }
}

/* Tensors that come with strides have, every other time, the ones that vector code counts on. */
static void straighten(struct jit_pair *pair)
{
    for (int k = 0; k < pair->kernel->buffers.count; k++)
        if (!pair->kernel->buffers.items[k]->contiguous) {
            pair->strides[k][0] = pair->kernel->buffers.items[k]->shape[1]->integer;
            pair->strides[k][1] = 1;
            pair->firsts[k] = 0;
        }
}

static bool agrees(uint64_t seed, enum x86_target target, int *nests)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT64, AKG_FLOAT64,
                                       AKG_INT32,   AKG_INT64,   AKG_UINT32,  AKG_FLOAT16, AKG_INT8};
    struct generator g = {.state = seed * 77777};
    struct jit_pair pair;
    int status;
    text_init(&g.text);
    for (int k = 0; k < 5; k++)
        draw(&g, 2);
    g.dtype = dtypes[draw(&g, sizeof dtypes / sizeof *dtypes)];
    g.depths = draw(&g, 3) ? 1 : 3;
    kernel_text(&g);
    pair_init(&pair);
    pair.vectors.target = target;
    bool good = pair_read(&pair, g.text.data) && pair_compile(&pair, true);
    *nests += pair.nests;
    for (int round = 0; good && round < 3; round++) {
        pair.dims[0] = draw(&g, 2) ? draw(&g, 49) : draw(&g, 4);
        pair.dims[1] = draw(&g, 2) ? draw(&g, 79) : draw(&g, 4);
        pair.dims[2] = draw(&g, 3) ? draw(&g, 12) : draw(&g, 3);
        good = pair_allocate(&pair);
        if (round != 1)
            straighten(&pair);
        fill(&g, &pair);
        good = good && pair_run(&pair, &status);
    }
    if (!good)
        fprintf(stderr, "%s\n%s\nseed %llu, target %s\n", g.text.data, pair.text.data ? pair.text.data : "",
                (unsigned long long)seed, x86_target_name(target));
    pair_free(&pair);
    text_free(&g.text);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : 150;
    for (int target = X86_TARGET_AVX2; target <= X86_TARGET_AVX512; target++) {
        int nests = 0;
        if (target > (int)x86_cpu_target()) {
            printf("skipped: this processor has no %s\n", x86_target_name((enum x86_target)target));
            continue;
        }
        for (int k = 0; k < count; k++)
            if (!CHECK(agrees(first + (uint64_t)k, (enum x86_target)target, &nests)))
                break;
        printf("%s: %d of %d kernels have a nest\n", x86_target_name((enum x86_target)target), nests, count);
        CHECK(nests * 2 > count);
    }
    return check_done();
}
