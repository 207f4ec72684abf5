/*
 * test_contraction.c: random nests that accumulate, products of matrices among them, as vector code, against
 * the interpreter, to the bit (strict).
 *
 * Each kernel has one nest: rows and columns around one to three loops that accumulate by some operation,
 * over tensors in any layout, forwards, backwards or in steps, with something before them and something
 * behind, stored side by side or a few elements apart (some rows hold more, so that only the columns are a
 * nest; some of these hold a while; others store in their innermost loop), or loops in any order that
 * accumulate in the tensor itself; extents go from 0 to some tiles. Each kernel runs for every target of this
 * processor, as it is and after the passes with blocks of random sizes, and these are interpreted too. Most
 * nests must have become code for nests, and many must have been cut into blocks, or the test would prove
 * nothing.
 *
 * Arguments: first seed and number of kernels (default 1 and 150).
 */
#include "check.h"
#include "jit_pair.h"

#include "../../jit/passes.h"

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

/* Loops in some order around one store. */
static void accumulate_in_place(struct generator *g)
{
    static const char *const loops[] = {"for i = 0 to M step 1 {\n", "for j = 0 to N step 1 {\n",
                                        "for k = 0 to K step 1 {\n"};
    unsigned order = draw(g, 6), first = order / 2, second = (first + 1 + order % 2) % 3;
    text_string(&g->text, loops[first]);
    text_string(&g->text, loops[second]);
    text_string(&g->text, loops[3 - first - second]);
    g->depths = 1;
    text_string(&g->text, "c[i, j] = (c[i, j] + ");
    term(g);
    text_string(&g->text, ") @1:1\n}\n}\n}\n");
}

/* Two variables, of which each iteration makes new ones, as long as some condition holds, but not for ever.
 */
static void while_loop(struct generator *g)
{
    const char *name = akg_dtype_name(g->dtype);
    text_format(&g->text, "var last: %s = y[j]\nvar n: int32 = 0:int32\n", name);
    text_format(&g->text, "while ((n < %u:int32) and (%s < %s)) {\n", draw(g, 20),
                ONE_OF(g, "acc", "last", "(acc - last)"), ONE_OF(g, "z[i, j]", "y[j]", "x[i]", "s[3]"));
    text_format(&g->text, "let t: %s = (last %s %s)\n", name, ONE_OF(g, "+", "-", "*"),
                ONE_OF(g, "b[i, j]", "acc", "x[i]", "z[i, j]"));
    if (draw(g, 2))
        text_string(&g->text, "last = acc\n");
    else
        text_string(&g->text, "if (acc > y[j]) {\nlast = acc\n} else {\nlast = z[i, j]\n}\n");
    text_string(&g->text, draw(g, 3) ? "acc = t\n" : "acc = (acc + y[j])\n");
    text_string(&g->text, "n = (n + 1:int32)\n}\n");
    if (draw(g, 2))
        text_string(&g->text, "d[i, j] = last @1:1\n");
}

/* What each iteration of the innermost loop leaves. */
static void trace(struct generator *g)
{
    switch (draw(g, 4)) {
    case 0:
        text_string(&g->text, "if (acc > y[j]) {\nf[k, j] = acc @1:1\n}\n");
        break;
    case 1:
        text_format(&g->text, "f[k, j] = (f[k, j] - %s) @1:1\n", ONE_OF(g, "acc", "z[i, j]", "f[k, 3]"));
        break;
    case 2:
        text_string(&g->text, "f[k, j] = (acc * y[j]) @1:1\nacc = (acc + f[k, j])\n");
        break;
    default:
        text_string(&g->text, "f[k, j] = acc @1:1\n");
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
    if (draw(g, 3) == 0)
        text_string(&g->text, "e[i] = xi @1:1\n");
    text_format(&g->text, "for j = %s to N step 1 {\n", low);
    text_format(&g->text, "var acc: %s = ", name);
    text_string(&g->text, ONE_OF(g, "y[j]", "z[i, j]", "(x[i] + y[j])", "s[2]", "c[i, j]", "xi"));
    text_string(&g->text, "\n");
    static const char *const variables[] = {"k", "l", "p"};
    const char *const ranges[] = {
        draw(g, 5) ? "0 to K step 1" : ONE_OF(g, "(K - 1) to -1 step -1", "1 to K step 2"),
        ONE_OF(g, "0 to 3 step 1", "2 to -1 step -2"), ONE_OF(g, "0 to 2 step 1", "1 to -1 step -1")};
    bool is_while = draw(g, 3) == 0;
    if (is_while)
        while_loop(g);
    for (int k = 0; k < g->depths && !is_while; k++)
        text_format(&g->text, "for %s = %s {\n", variables[k], ranges[k]);
    if (!is_while)
        accumulation(g);
    if (!is_while && draw(g, 8) == 0)
        trace(g);
    for (int k = 0; k < g->depths && !is_while; k++)
        text_string(&g->text, "}\n");
    if (draw(g, 3) == 0)
        text_string(&g->text, "acc = (acc + y[j])\n");
    text_string(&g->text,
                ONE_OF(g, "c[i, j] = acc @1:1\n", "c[i, j] = max(acc, xi) @1:1\n",
                       "c[i, j] = ((acc * x[i]) + y[j]) @1:1\n",
                       "c[i, j] = acc @1:1\nd[i, j] = (acc - z[i, j]) @1:1\n", "v[i, (2 * j)] = acc @1:1\n",
                       "v[i, (3 * j)] = (acc - v[i, (3 * j)]) @1:1\n", "v[i, ((4 * j) + 3)] = acc @1:1\n",
                       "if (acc > y[j]) {\nv[i, ((3 * j) + 1)] = acc @1:1\n}\nc[i, j] = acc @1:1\n",
                       "v[i, (3 * j)] = acc @1:1\nv[i, ((3 * j) + 2)] = xi @1:1\n",
                       "v[i, ((2 * j) + 1)] = (acc + v[i, (2 * j)]) @1:1\n",
                       "if (acc > y[j]) {\nv[i, (j * 2)] = acc @1:1\n}\n",
                       "v[i, (2 * j)] = acc @1:1\nv[i, ((2 * j) + 1)] = (acc - z[i, j]) @1:1\n",
                       "if (acc > y[j]) {\nc[i, j] = acc @1:1\n}\n"));
    text_string(&g->text, "}\n}\n");
}

/* Sums down columns, or something like it, by themselves. */
static void sums(struct generator *g)
{
    text_format(&g->text, "for j = %s to N step 1 {\nvar acc: %s = %s\nfor k = %s to K step 1 {\n",
                ONE_OF(g, "0", "0", "1"), akg_dtype_name(g->dtype), ONE_OF(g, "y[j]", "s[2]", "c[2, j]"),
                ONE_OF(g, "0", "0", "1"));
    text_format(&g->text, "acc = %s\n}\n",
                ONE_OF(g, "(acc + b[k, j])", "(acc + (x[k] * b[k, j]))", "max(acc, (b[k, j] - bs[k, j]))",
                       "(acc + (f[k, j] * y[j]))", "((acc * x[k]) + (b[k, j] * f[k, j]))"));
    text_format(&g->text, "%s @1:1\n}\n",
                ONE_OF(g, "c[2, j] = acc", "c[2, j] = ((acc * s[1]) + y[j])", "c[2, j] = max(acc, y[j])"));
}

/* Columns that are gone down two or three times. */
static void down(struct generator *g)
{
    const char *name = akg_dtype_name(g->dtype);
    char number[16];
    snprintf(number, sizeof number, "0%s:%s", dtype_is_float(g->dtype) ? ".0" : "", name);
    text_string(&g->text, "for j = 0 to N step 1 {\n");
    if (draw(g, 3) == 0)
        text_format(&g->text, "let t: %s = %s\nfor q = 0 to K step 1 {\nf[q, j] = (f[q, j] - t) @1:1\n}\n",
                    name, ONE_OF(g, "f[3, j]", "y[j]", "(y[j] + s[4])"));
    text_format(&g->text, "var acc: %s = %s\nfor k = %s to K step 1 {\nacc = %s\n}\n", name,
                ONE_OF(g, "y[j]", "s[2]", "c[2, j]"), ONE_OF(g, "0", "1"),
                ONE_OF(g, "(acc + b[k, j])", "(acc + (x[k] * bs[k, j]))", "max(acc, f[k, j])"));
    text_format(&g->text, "let m: %s = %s\n", name,
                ONE_OF(g, "(acc * s[1])", "(acc + y[j])", "max(acc, s[3])"));
    if (draw(g, 3)) {
        text_format(&g->text, "var more: %s = %s\nfor l = %s to K step 1 {\n", name,
                    draw(g, 2) ? "y[j]" : number, ONE_OF(g, "0", "1"));
        if (draw(g, 2))
            text_format(&g->text, "f[l, j] = %s @1:1\n",
                        ONE_OF(g, "(b[l, j] - m)", "(f[l, j] * acc)", "more"));
        text_format(
            &g->text, "more = %s\n}\n",
            ONE_OF(g, "(more + f[l, j])", "(more + ((b[l, j] - m) * x[l]))", "max(more, (m * bs[l, j]))"));
    } else {
        text_format(&g->text, "let more: %s = (acc - m)\n", name);
    }
    if (draw(g, 3))
        text_format(&g->text, "for p = 0 to K step 1 {\n%s @1:1\n}\n",
                    ONE_OF(g, "f[p, j] = (b[p, j] + more)", "f[p, j] = (f[p, j] - m)",
                           "d[p, j] = ((bs[p, j] - m) * more)"));
    text_format(&g->text, "%s}\n", ONE_OF(g, "c[2, j] = more @1:1\n", "c[1, j] = (acc + more) @1:1\n", ""));
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
        " input w: %s[60, 90]\n inout c: %s[50, 80]\n inout f: %s[50, 80]\n inout v: %s[50, 320]\n output d: "
        "%s[50, 80] clear\n"
        " output e: %s[50] clear\n",
        name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name);
    text_string(&g->text, " parameters shape, a, at, b, as, bs, x, y, s, z, a4, b4, w, c, f, v\n results c, "
                          "d, e, f, v\n body {\n");
    unsigned kind = draw(g, 8);
    if (kind > 2)
        nest(g);
    else if (kind == 2)
        down(g);
    else if (kind)
        sums(g);
    else
        accumulate_in_place(g);
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

/* ---- after the passes ----------------------------------------------------------------------------- */

struct counts {
    int nests, columns, whiles, blocks, lines;
};

static bool optimise(struct generator *g, struct jit_pair *pair, struct counts *counts)
{
    struct pass_tiles tiles = {.rows = 1 + draw(g, 20), .columns = 1 + draw(g, 40), .depths = 1 + draw(g, 9)};
    struct passes_options options = {.verify = true, .tiles = &tiles};
    struct text complaint, after;
    int buffers = pair->kernel->buffers.count;
    text_init(&complaint);
    text_init(&after);
    tiles.large = draw(g, 3) ? 1 : 200;
    tiles.apart = draw(g, 2) ? 1 : 100;
    tiles.few = 1 + draw(g, 3);
    tiles.panel = draw(g, 2) ? 8 + draw(g, 100) : 0;
    tiles.turns = draw(g, 2);
    tiles.stretch = draw(g, 2) ? 1 + draw(g, 9) : 0;
    tiles.huge = draw(g, 3) ? 1 : 0;
    tiles.lines = 1 + draw(g, 3);
    tiles.run = 1 + draw(g, 20);
    bool good = passes_run(pair->kernel, &options, &complaint);
    if (!good)
        fprintf(stderr, "%s\n", complaint.data);
    ir_print(&after, pair->kernel);
    bool is_cut = pair->kernel->buffers.count > buffers;
    counts->blocks += is_cut;
    counts->lines += !is_cut && after.data && strstr(after.data, "let far");
    text_free(&after);
    text_free(&complaint);
    return good;
}

/* All that is not a temporary: the same bits, NaNs aside. */
static bool same_results(const struct jit_pair *a, int side, const struct jit_pair *b)
{
    for (int k = 0; k < b->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = b->kernel->buffers.items[k];
        size_t size = (size_t)dtype_table[buffer->dtype].size;
        const char *x = a->bytes[side][k] + PAIR_GUARD, *y = b->bytes[1][k] + PAIR_GUARD;
        for (size_t at = 0; at < b->sizes[k]; at += size) {
            double p = dtype_to_double(buffer->dtype, dtype_load(buffer->dtype, x + at));
            double q = dtype_to_double(buffer->dtype, dtype_load(buffer->dtype, y + at));
            if (memcmp(x + at, y + at, size) != 0 && (p == p || q == q)) {
                fprintf(stderr, "%s, byte %zu: %.17g, should be %.17g\n", buffer->name, at, p, q);
                return false;
            }
        }
    }
    return true;
}

static void draw_extents(struct generator *g, int64_t *dims)
{
    dims[0] = draw(g, 2) ? draw(g, 49) : draw(g, 4);
    dims[1] = draw(g, 2) ? draw(g, 79) : draw(g, 4);
    dims[2] = draw(g, 3) ? draw(g, 12) : draw(g, 3);
}

/* The kernel as machine code and as it is interpreted, against the plain one interpreted. */
static bool run_once(struct generator *g, struct jit_pair *pair, struct jit_pair *plain, bool straight)
{
    struct jit_pair *both[] = {pair, plain};
    uint64_t state = g->state;
    for (int k = 0; k < 2; k++) {
        g->state = state;
        draw_extents(g, both[k]->dims);
        if (!pair_allocate(both[k]))
            return false;
        if (straight)
            straighten(both[k]);
        fill(g, both[k]);
    }
    return pair_run_side(plain, 1) == 0 && pair_run_side(pair, 0) == 0 && same_results(pair, 0, plain) &&
           pair_run_side(pair, 1) == 0 && same_results(pair, 1, plain);
}

static void show(const struct generator *g, const struct jit_pair *pair)
{
    struct text after;
    text_init(&after);
    if (pair->kernel)
        ir_print(&after, pair->kernel);
    fprintf(stderr, "%s\n%s\n%s\n", g->text.data, after.data ? after.data : "",
            pair->text.data ? pair->text.data : "");
    text_free(&after);
}

static bool agrees(uint64_t seed, enum x86_target target, bool optimised, struct counts *counts)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT64, AKG_FLOAT64,
                                       AKG_INT32,   AKG_INT64,   AKG_UINT32,  AKG_FLOAT16, AKG_INT8};
    struct generator g = {.state = seed * 77777};
    struct jit_pair pair, plain;
    text_init(&g.text);
    for (int k = 0; k < 5; k++)
        draw(&g, 2);
    g.dtype = dtypes[draw(&g, sizeof dtypes / sizeof *dtypes)];
    g.depths = draw(&g, 3) ? 1 : 3;
    kernel_text(&g);
    pair_init(&pair);
    pair_init(&plain);
    pair.vectors.target = target;
    bool good = pair_read(&pair, g.text.data) && pair_read(&plain, g.text.data) &&
                (!optimised || optimise(&g, &pair, counts)) && pair_compile(&pair, true);
    if (good)
        sites_number(plain.kernel, &plain.sites);
    counts->nests += pair.nests > 0;
    counts->columns += pair.nests_of_columns > 0;
    counts->whiles += pair.nests_of_while > 0;
    for (int round = 0; good && round < 3; round++)
        good = run_once(&g, &pair, &plain, round != 1);
    if (!good) {
        show(&g, &pair);
        fprintf(stderr, "seed %llu, target %s%s\n", (unsigned long long)seed, x86_target_name(target),
                optimised ? ", after the passes" : "");
    }
    pair_free(&plain);
    pair_free(&pair);
    text_free(&g.text);
    return good;
}

#ifdef AKG_SANITIZED
enum { USUAL = 30 /* sanitizers take their time */ };
#else
enum { USUAL = 100 };
#endif

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : USUAL;
    for (int target = X86_TARGET_AVX2; target <= X86_TARGET_AVX512; target++) {
        struct counts counts = {0};
        if (target > (int)x86_cpu_target()) {
            printf("skipped: this processor has no %s\n", x86_target_name((enum x86_target)target));
            continue;
        }
        for (int k = 0; k < 2 * count; k++)
            if (!CHECK(agrees(first + (uint64_t)k / 2, (enum x86_target)target, k % 2, &counts)))
                break;
        printf("%s: %d of %d kernels have a nest, %d one without rows, %d one around a while, of %d %d are "
               "cut, %d summed line by line\n",
               x86_target_name((enum x86_target)target), counts.nests, 2 * count, counts.columns,
               counts.whiles, count, counts.blocks, counts.lines);
        CHECK(counts.nests * 3 > 2 * count && counts.columns * 10 > count && counts.whiles * 50 > count &&
              counts.blocks * 6 > count && counts.lines * 30 > count);
    }
    return check_done();
}
