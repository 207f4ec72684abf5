/*
 * test_rows_random.c: random loops over rows that hold products, temporaries of a row's own, masks and what
 * is accumulated besides, as vector code after the passes, against the interpreter, to the bit (strict).
 *
 * Each kernel has one such loop, perhaps inside another one: sums in scalars or in place, with their loops in
 * any order, of what was loaded or of what the row made before. Temporaries are allocated inside the loop or
 * outside, where some are used so that they must stay there. Blocks have few rows, so that there are many. A
 * third of the loops must have been parted into blocks, or the test would prove nothing.
 *
 * Arguments: first seed and number of kernels (default 1 and 200).
 */
#include "check.h"
#include "jit_pair.h"

#include "../../jit/passes.h"
#include "../fuzz/random.h"

#include <stdlib.h>
#include <string.h>

struct generator {
    struct text text;
    struct random random;
    akg_dtype dtype;
    const char *name; /* of the dtype */
    int named;        /* pieces */
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

static void number(struct generator *g, int value)
{
    text_format(&g->text, dtype_is_float(g->dtype) ? "%d.0:%s" : "%d:%s", value, g->name);
}

/* ---- pieces of a row --------------------------------------------------------------------------------- */

/* Names of loops and scalars end in ~ until the loops of a piece are written. */
static void name_apart(struct generator *g)
{
    struct text named;
    text_init(&named);
    for (size_t k = 0; k < g->text.length; k++)
        if (g->text.data[k] == '~')
            text_format(&named, "_%d", g->named);
        else
            text_char(&named, g->text.data[k]);
    g->named++;
    text_free(&g->text);
    g->text = named;
}

/* An element of what all rows share; they hang on j and d. */
static const char *shared(struct generator *g)
{
    return ONE_OF(g, "k[j~, d~]", "k[j~, d~]", "v[d~, j~]", "v[(d~ + 1), j~]");
}

static void mask(struct generator *g)
{
    text_format(&g->text, "if %s {\n",
                ONE_OF(g, "(j~ > i)", "(j~ == i)", "((i + j~) > 7)", "(x[i] > z[j~])"));
}

/* What is done with a sum in `acc`, for each j. */
static void finish_sum(struct generator *g)
{
    static const char *const besides[] = {"top = max(top, acc~)\n", "total = (total + acc~)\n",
                                          "total = (total + s[j~])\n", "top = max(top, s[j~])\n"};
    int kind = below(g, 6);
    if (kind < 2) {
        mask(g);
        text_string(&g->text, "acc~ = z[j~]\n}\n");
    }
    if (kind == 2)
        text_format(&g->text, "let scaled~: %s = (acc~ * x[i])\ns[j~] = scaled~\n", g->name);
    else if (kind == 3)
        text_string(&g->text, "s[j~] = (acc~ + z[j~])\n");
    else
        text_string(&g->text, "s[j~] = acc~\n");
    if (kind == 4) {
        mask(g);
        text_string(&g->text, "s[j~] = z[j~]\n}\n");
    }
    for (int count = below(g, 3); count; count--)
        text_string(&g->text, kind == 2 && below(g, 2) ? "total = (total + scaled~)\n"
                              : kind == 1              ? "c[i, j~] = (c[i, j~] + acc~)\n"
                                                       : besides[below(g, 4)]);
}

/* s[j] from the row and what is shared. */
static void product(struct generator *g)
{
    if (below(g, 3)) {
        text_format(&g->text, "for j~ = 0 to N step 1 {\nvar acc~: %s = ", g->name);
        text_string(&g->text, ONE_OF(g, "z[j~]", "x[i]", "z[0]"));
        text_format(&g->text, "\nfor d~ = 0 to K step 1 {\nacc~ = (acc~ + (q[i, d~] * %s))\n}\n", shared(g));
        finish_sum(g);
        text_string(&g->text, "}\n");
        return;
    }
    bool inner = below(g, 2);
    text_format(&g->text, "for j~ = 0 to N step 1 {\ns[j~] = %s\n}\n", ONE_OF(g, "z[j~]", "x[i]"));
    name_apart(g);
    text_string(&g->text, inner ? "for j~ = 0 to N step 1 {\nfor d~ = 0 to K step 1 {\n"
                                : "for d~ = 0 to K step 1 {\nfor j~ = 0 to N step 1 {\n");
    text_format(&g->text, "s[j~] = (s[j~] + (q[i, d~] * %s))\n}\n}\n", shared(g));
}

/* y[i, d] from s and what is shared. */
static void second_product(struct generator *g)
{
    if (below(g, 2)) {
        text_format(&g->text, "for d~ = 0 to K step 1 {\nvar acc~: %s = x[i]\nfor j~ = 0 to N step 1 {\n",
                    g->name);
        text_format(&g->text, "acc~ = (acc~ + (s[j~] * %s))\n}\ny[i, d~] = %s\n}\n", shared(g),
                    ONE_OF(g, "acc~", "(acc~ * top)", "(acc~ - total)"));
        return;
    }
    bool inner = below(g, 2);
    text_string(&g->text, "for d~ = 0 to K step 1 {\ny[i, d~] = x[i]\n}\n");
    name_apart(g);
    text_string(&g->text, inner ? "for d~ = 0 to K step 1 {\nfor j~ = 0 to N step 1 {\n"
                                : "for j~ = 0 to N step 1 {\nfor d~ = 0 to K step 1 {\n");
    text_format(&g->text, "y[i, d~] = (y[i, d~] + (s[j~] * %s))\n}\n}\n", shared(g));
}

static void each_element(struct generator *g)
{
    text_format(&g->text, "for j~ = 0 to N step 1 {\nlet t~: %s = ", g->name);
    text_string(&g->text, ONE_OF(g, "abs((s[j~] - top))", "(s[j~] + z[j~])", "max(s[j~], total)"));
    text_string(&g->text, "\ns[j~] = t~\n");
    text_string(&g->text, ONE_OF(g, "total = (total + t~)\n", "top = max(top, t~)\n", ""));
    text_string(&g->text, "}\n");
}

static void piece(struct generator *g)
{
    switch (below(g, 6)) {
    case 0:
    case 1:
        product(g);
        break;
    case 2:
    case 3:
        second_product(g);
        break;
    case 4:
        each_element(g);
        break;
    default:
        text_string(&g->text, ONE_OF(g, "e[i] = (total + top)\n", "total = (total * x[i])\n",
                                     "if (top > x[i]) {\ntop = x[i]\n}\n"));
    }
    name_apart(g);
}

/* ---- kernels ----------------------------------------------------------------------------------------- */

static void row(struct generator *g, bool is_first_lost)
{
    text_format(&g->text, "var top: %s = ", g->name);
    number(g, -3);
    text_format(&g->text, "\nvar total: %s = ", g->name);
    number(g, 0);
    text_string(&g->text, "\n");
    if (!is_first_lost)
        product(g);
    name_apart(g);
    for (int count = 1 + below(g, 4); count; count--)
        piece(g);
    if (below(g, 2))
        text_string(&g->text, "e[i] = (total + top)\n");
}

static void kernel_text(struct generator *g)
{
    bool inside = below(g, 2), nested = below(g, 4) == 0;
    /* a row uses what the one before it has left, or something behind the loop does */
    bool is_carried = !inside && below(g, 6) == 0, is_used = !inside && below(g, 6) == 0;
    bool clears = inside && below(g, 3) == 0;
    text_string(&g->text, "kernel k {\n input shape: bool[M, N, K]\n");
    text_format(&g->text,
                " input q: %s[50, 50]\n input k: %s[50, 50]\n input v: %s[60, 50]\n input x: %s[50]\n"
                " input z: %s[50]\n inout c: %s[50, 50]\n output y: %s[50, 50] clear\n"
                " output e: %s[50] clear\n temporary s: %s[N]%s\n",
                g->name, g->name, g->name, g->name, g->name, g->name, g->name, g->name, g->name,
                clears ? " clear" : "");
    text_string(&g->text, " parameters shape, q, k, v, x, z, c\n results c, y, e\n body {\n");
    if (!inside)
        text_string(&g->text, "allocate s\n");
    if (is_carried || is_used)
        text_string(&g->text, "for n = 0 to N step 1 {\ns[n] = z[n]\n}\n");
    if (nested)
        text_string(&g->text, "for b = 0 to 2 step 1 {\n");
    text_format(&g->text, "for i = 0 to %s step 1 {\n", below(g, 4) ? "M" : "(M - 1)");
    if (inside)
        text_string(&g->text, "allocate s\n");
    row(g, is_carried || clears);
    text_string(&g->text, nested ? "}\n}\n" : "}\n");
    if (is_used)
        text_string(&g->text, "for m = 0 to N step 1 {\ne[m] = (e[m] + s[m])\n}\n");
    text_string(&g->text, "}\n}\n");
}

static void fill(struct generator *g, struct jit_pair *pair)
{
    for (int k = 0; k < pair->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = pair->kernel->buffers.items[k];
        int64_t count = (int64_t)pair->sizes[k] / dtype_table[buffer->dtype].size;
        if (buffer->dtype == AKG_BOOL || buffer->role == IR_OUTPUT || buffer->role == IR_TEMPORARY)
            continue;
        for (int64_t at = 0; at < count; at++) {
            int drawn = below(g, 2000) - 1000;
            union dtype_value value = {.i = dtype_wrap(buffer->dtype, drawn)};
            if (dtype_is_float(buffer->dtype))
                value = dtype_from_double(buffer->dtype, below(g, 400) ? drawn / 256.0 : __builtin_inf());
            pair_set(pair, k, at, value);
        }
    }
}

struct counts {
    int parted, blocks;
};

static bool optimise(struct generator *g, struct jit_pair *pair, struct counts *counts)
{
    struct pass_tiles tiles = {.rows = 1 + below(g, 9),
                               .columns = 1 + below(g, 20),
                               .depths = 1 + below(g, 9),
                               .large = 8, /* so that k is never empty there */
                               .few = 1 + below(g, 6),
                               .block = 1 + below(g, 9)};
    struct passes_options options = {.verify = true, .tiles = &tiles};
    struct text complaint, after;
    text_init(&complaint);
    text_init(&after);
    bool good = passes_run(pair->kernel, &options, &complaint);
    ir_print(&after, pair->kernel);
    if (!good)
        fprintf(stderr, "%s\n", complaint.data);
    counts->parted += after.data && (strstr(after.data, "if (M >= 4) deferred") ||
                                     strstr(after.data, "if ((M - 1) >= 4) deferred"));
    counts->blocks += after.data && strstr(after.data, "let blocks");
    text_free(&after);
    text_free(&complaint);
    return good;
}

/* All that a caller sees: the same bits, NaNs aside. */
static bool same_results(const struct jit_pair *a, int side, const struct jit_pair *b)
{
    for (int k = 0; k < b->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = b->kernel->buffers.items[k];
        size_t size = (size_t)dtype_table[buffer->dtype].size;
        const char *x = a->bytes[side][k] + PAIR_GUARD, *y = b->bytes[1][k] + PAIR_GUARD;
        for (size_t at = 0; at < b->sizes[k] && buffer->role != IR_TEMPORARY; at += size) {
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

/* The kernel as machine code and as it is interpreted, against the plain one interpreted. */
static bool run_once(struct generator *g, struct jit_pair *pair, struct jit_pair *plain)
{
    struct jit_pair *both[] = {pair, plain};
    struct random random = g->random;
    for (int k = 0; k < 2; k++) {
        g->random = random;
        for (int dim = 0; dim < 3; dim++)
            both[k]->dims[dim] = below(g, 4) ? below(g, 49) : below(g, 6);
        if (!pair_allocate(both[k]))
            return false;
        fill(g, both[k]);
    }
    bool compiled =
        pair_run_side(plain, 1) == 0 && pair_run_side(pair, 0) == 0 && same_results(pair, 0, plain);
    bool good = compiled && pair_run_side(pair, 1) == 0 && same_results(pair, 1, plain);
    if (!good)
        fprintf(stderr, "M = %d, N = %d, K = %d, %s\n", (int)pair->dims[0], (int)pair->dims[1],
                (int)pair->dims[2], compiled ? "interpreted" : "compiled");
    return good;
}

static void show(const struct generator *g, const struct jit_pair *pair, uint64_t seed)
{
    struct text after;
    text_init(&after);
    if (pair->kernel)
        ir_print(&after, pair->kernel);
    fprintf(stderr, "%s\n%s\nseed %llu\n", g->text.data, after.data ? after.data : "",
            (unsigned long long)seed);
    text_free(&after);
}

static bool agrees(uint64_t seed, struct counts *counts)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_FLOAT16};
    struct generator g = {.random = random_seeded(seed, 29)};
    struct jit_pair pair, plain;
    text_init(&g.text);
    g.dtype = dtypes[below(&g, (int)(sizeof dtypes / sizeof *dtypes))];
    g.name = akg_dtype_name(g.dtype);
    kernel_text(&g);
    pair_init(&pair);
    pair_init(&plain);
    bool good = pair_read(&pair, g.text.data) && pair_read(&plain, g.text.data) &&
                optimise(&g, &pair, counts) && pair_compile(&pair, true);
    if (good)
        sites_number(plain.kernel, &plain.sites);
    for (int round = 0; good && round < 3; round++)
        good = run_once(&g, &pair, &plain);
    if (!good)
        show(&g, &pair, seed);
    pair_free(&plain);
    pair_free(&pair);
    text_free(&g.text);
    return good;
}

#ifdef AKG_SANITIZED
enum { USUAL = 30 /* sanitizers take their time */ };
#else
enum { USUAL = 200 };
#endif

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : USUAL;
    struct counts counts = {0, 0};
    for (int k = 0; k < count; k++)
        if (!CHECK(agrees(first + (uint64_t)k, &counts)))
            break;
    printf("%d of %d kernels are parted, %d into blocks\n", counts.parted, count, counts.blocks);
    CHECK(counts.parted * 3 > count && counts.blocks * 3 > count);
    return check_done();
}
