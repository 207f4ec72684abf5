/*
 * test_passes_random.c: random kernels made of what the optimising passes look for (neighbouring loops over
 * temporaries, accumulations, shifted and flattened indices, things that stop), interpreted as they are and
 * after the passes, in their usual order and in random ones. Results must be the same bits; a stop the same
 * stop, in the same iteration.
 *
 * Arguments: first seed and number of kernels (default 1 and 1000).
 */
#include "check.h"

#include "../../jit/interpreter.h"
#include "../../jit/passes.h"
#include "../../jit/scalar.h"
#include "../../jit/sites.h"
#include "../fuzz/random.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ELEMENTS = 64, ORDERS = 3, LONGEST = 10 };

/* ---- kernels ---------------------------------------------------------------------------------------- */

struct generator {
    struct text *out;
    struct random random;
    int names;     /* made up so far */
    int lets;      /* the last that is visible here, or 0 */
    const char *i; /* loop over M, or NULL */
    const char *j; /* loop over N, or NULL */
    bool inner;    /* j runs over 1 to N - 1 only */
    int depth;
};

static const char *const rows[] = {"z", "y", "q", "t", "u", "v"}; /* [N] */
static const char *const planes[] = {"x", "w", "p", "r"};         /* [M, N] */

static bool chance(struct generator *g, int percent)
{
    return random_chance(&g->random, percent);
}

static int below(struct generator *g, int count)
{
    return random_below(&g->random, count);
}

static void put(struct generator *g, const char *string)
{
    text_string(g->out, string);
}

/* An index of the axis of N elements. */
static void column(struct generator *g)
{
    int shift = below(g, 3) - 1;

    if (!g->j || chance(g, 3))
        text_format(g->out, "%d?", below(g, 3));
    else if (chance(g, 65) || (!g->inner && chance(g, 94)))
        put(g, g->j);
    else if (chance(g, 15))
        text_format(g->out, "((N - 1) - %s)", g->j);
    else
        text_format(g->out, "(%s %s 1)%s", g->j, shift < 0 ? "-" : "+", g->inner ? "" : "?");
}

static void row(struct generator *g)
{
    if (!g->i || chance(g, 2))
        text_format(g->out, "%d?", below(g, 2));
    else
        put(g, g->i);
}

static void access(struct generator *g, bool store)
{
    int kind = below(g, 10);

    if (kind < 4) {
        text_format(g->out, "%s[", rows[store ? 1 + below(g, 5) : below(g, 6)]);
        column(g);
    } else if (kind < 5 && g->i && g->j) {
        text_format(g->out, "f[((%s * N) + %s)", g->i, g->j);
    } else if (kind < 6 && g->i) {
        text_format(g->out, "m[%s", g->i);
    } else if (kind < 7) {
        put(g, "s[");
    } else {
        text_format(g->out, "%s[", planes[store ? 1 + below(g, 3) : below(g, 4)]);
        row(g);
        put(g, ", ");
        column(g);
    }
    put(g, "]");
}

static void expression(struct generator *g, int depth)
{
    static const char *const operations[] = {"+", "-", "*"};
    int kind = below(g, 8);

    if (depth == 0 || kind < 3) {
        if (kind == 0)
            text_format(g->out, "%d.5:float32", below(g, 4));
        else if (kind == 1 && g->lets)
            text_format(g->out, "l%d", 1 + below(g, g->lets));
        else if (kind == 2)
            text_format(g->out, "c%d", below(g, 2));
        else
            access(g, false);
    } else if (kind == 3) {
        put(g, "max(");
        expression(g, depth - 1);
        put(g, ", float32(alpha))");
    } else {
        put(g, "(");
        expression(g, depth - 1);
        text_format(g->out, " %s ", operations[below(g, 3)]);
        expression(g, depth - 1);
        put(g, ")");
    }
}

static void statement(struct generator *g);

static void statements(struct generator *g, int count)
{
    int lets = g->lets;

    g->depth++;
    for (int k = 0; k < count; k++)
        statement(g);
    g->depth--;
    g->lets = lets;
}

static void loop(struct generator *g, bool over_rows)
{
    const char **slot = over_rows ? &g->i : &g->j, *before = *slot;
    bool inner = g->inner;
    char name[16];

    snprintf(name, sizeof name, "k%d", g->names++);
    if (over_rows) {
        text_format(g->out, "for %s = 0 to M step 1 {\n", name);
    } else {
        g->inner = chance(g, 35);
        if (g->inner)
            text_format(g->out, "for %s = 1 to (N - 1) step 1 {\n", name);
        else if (chance(g, 8))
            text_format(g->out, "for %s = (N - 1) to -1 step -1 {\n", name);
        else
            text_format(g->out, "for %s = 0 to %s step 1 {\n", name, chance(g, 20) ? "N2" : "N");
    }
    *slot = name;
    if (g->depth < 2 && chance(g, 55) && !(g->i && g->j))
        loop(g, !over_rows);
    else
        statements(g, 1 + below(g, 3));
    *slot = before;
    g->inner = inner;
    put(g, "}\n");
}

static void accumulate(struct generator *g)
{
    int which = below(g, 2);

    if (chance(g, 50)) {
        text_format(g->out, "c%d = (c%d + ", which, which);
        expression(g, 1);
        put(g, ")\n");
        return;
    }
    struct text target;
    struct text *out = g->out;
    text_init(&target);
    g->out = &target;
    access(g, true);
    g->out = out;
    text_format(g->out, "%s = (%s + ", target.data, target.data);
    expression(g, 1);
    put(g, ")\n");
    text_free(&target);
}

static void statement(struct generator *g)
{
    int kind = below(g, 20);

    if (kind < 8) {
        access(g, true);
        put(g, " = ");
        expression(g, 2);
        put(g, "\n");
    } else if (kind < 13) {
        accumulate(g);
    } else if (kind < 15 && g->depth < 3) {
        put(g, "if (");
        expression(g, 1);
        put(g, " > 1.0:float32) {\n");
        if ((g->i || g->j) && chance(g, 15))
            put(g, chance(g, 50) ? "break\n" : "continue\n");
        else
            statements(g, 1);
        put(g, "}\n");
    } else if (kind < 19 && g->depth < 3 && !(g->i && g->j)) {
        loop(g, g->j ? true : g->i ? false : chance(g, 50));
    } else {
        text_format(g->out, "c%d = ", below(g, 2));
        expression(g, 1);
        put(g, "\n");
    }
}

/* LETs are numbered by how many are visible, so they live at the top only, where nothing ends them. */
static void let(struct generator *g)
{
    text_format(g->out, "let l%d: float32 = ", g->lets + 1);
    expression(g, 2);
    put(g, "\n");
    g->lets++;
}

static void generate(struct text *out, uint64_t seed)
{
    struct generator g = {.out = out, .random = random_seeded(seed, 17)};
    int count = 3 + below(&g, 6);

    put(&g, "kernel k {\n  attribute alpha: float64\n  input x: float32[M, N]\n  input z: float32[N2]\n"
            "  inout q: float32[N]\n  output y: float32[N] clear\n  output w: float32[M, N] clear\n"
            "  output m: float32[M] clear\n  output s: float32[] clear\n  temporary t: float32[N] clear\n"
            "  temporary u: float32[N] clear\n  temporary v: float32[N] clear\n"
            "  temporary p: float32[M, N] clear\n  temporary r: float32[M, N] clear\n"
            "  temporary f: float32[(M * N)] clear\n"
            "  require assert (N == N2) \"same\"\n  body {\n"
            "allocate t\nallocate u\nallocate v\nallocate p\nallocate r\nallocate f\n"
            "var c0: float32 = 0.0:float32\nvar c1: float32 = 1.5:float32\n");
    for (int k = 0; k < count; k++)
        if (chance(&g, 75))
            loop(&g, chance(&g, 45));
        else if (chance(&g, 50))
            let(&g);
        else
            statement(&g);
    put(&g, "s[] = (c0 + (c1 + s[]))\n}\n}\n");
}

/* ---- running ------------------------------------------------------------------------------------------ */

struct side {
    struct arena arena;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    struct jit_trap trap;
    bool stopped;
    float data[16][ELEMENTS];
};

/* The kernel of the text, after the passes; false when there is none, or one that is broken. */
static bool side_make(struct side *side, jmp_buf *escape, const struct text *text,
                      const struct passes_options *options)
{
    akg_diagnostics *diagnostics = diagnostics_create("random.ir", text->data, text->length);
    struct text complaint;
    char *why = NULL;
    bool good;

    memset(&side->sites, 0, sizeof side->sites);
    arena_init(&side->arena, escape);
    side->kernel = ir_read(&side->arena, text->data, text->length, diagnostics);
    if (!side->kernel && akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &why) == AKG_OK)
        fputs(why, stderr);
    akg_free(why);
    akg_diagnostics_free(diagnostics);
    text_init(&complaint);
    good = side->kernel &&
           (options ? passes_run(side->kernel, options, &complaint) : ir_verify(side->kernel, &complaint));
    if (side->kernel && !good)
        fprintf(stderr, "%s\n", complaint.data);
    text_free(&complaint);
    if (good)
        sites_number(side->kernel, &side->sites);
    return good;
}

/* Values whose sums show in which order they were made. */
static float some_value(int at)
{
    static const float values[] = {1.0f, 1e7f, -3.25f, 0.1f, -1e7f, 2.5f, 0.0f, 7e-3f, -0.0f, 1e30f, 3.0f};
    return values[at % 11];
}

static void side_run(struct side *side, int64_t m, int64_t n)
{
    void *data[16];
    const int64_t *strides[16];
    int64_t dims[] = {m, n, n}, own[16][2];
    union jit_scalar scalars[] = {{.d = 0.75}};

    for (int k = 0; k < side->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = side->kernel->buffers.items[k];
        own[k][0] = buffer->rank == 2 ? n : 1;
        own[k][1] = 1;
        strides[k] = own[k];
        data[k] = side->data[k];
        for (int at = 0; at < ELEMENTS; at++)
            side->data[k][at] = buffer->role <= IR_INOUT ? some_value(at + 3 * k) : -99.0f;
    }
    struct jit_frame frame = {data, dims, strides, scalars, &side->trap};
    memset(&side->trap, 0, sizeof side->trap);
    side->stopped = interpreter_run(side->kernel, &frame) != 0;
}

static bool same_stop(const struct side *a, const struct side *b)
{
    const struct jit_site *x, *y;

    if (!a->stopped || !b->stopped || a->trap.site < 1 || b->trap.site < 1)
        return a->stopped == b->stopped;
    x = &a->sites.rows.items[a->trap.site - 1];
    y = &b->sites.rows.items[b->trap.site - 1];
    if (x->kind != y->kind || x->loop_count != y->loop_count || a->trap.axis != b->trap.axis ||
        a->trap.index != b->trap.index || strcmp(x->buffer->name, y->buffer->name) != 0)
        return false;
    for (int k = 0; k < x->loop_count; k++)
        if (strcmp(x->loops[k]->name, y->loops[k]->name) != 0)
            return false;
    return memcmp(a->trap.loops, b->trap.loops, (size_t)x->loop_count * sizeof *a->trap.loops) == 0;
}

static bool same_results(const struct side *a, const struct side *b)
{
    for (int k = 0; k < a->kernel->buffers.count; k++)
        for (int at = 0; at < ELEMENTS && a->kernel->buffers.items[k]->role != IR_TEMPORARY; at++) {
            float x = a->data[k][at], y = b->data[k][at];
            if (memcmp(&x, &y, sizeof x) != 0 && (x == x || y == y)) {
                fprintf(stderr, "%s[%d]: %.9g and %.9g\n", a->kernel->buffers.items[k]->name, at, (double)x,
                        (double)y);
                return false;
            }
        }
    return true;
}

/* ---- the test --------------------------------------------------------------------------------------------
 */

struct counts {
    int ran, stopped;
};

static bool same_for_all_shapes(struct side *plain, struct side *other, struct counts *counts)
{
    static const int64_t shapes[][2] = {{0, 0}, {1, 1}, {2, 3}, {3, 2}, {4, 5}, {1, 7}, {0, 4}, {5, 1}};

    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        side_run(plain, shapes[k][0], shapes[k][1]);
        side_run(other, shapes[k][0], shapes[k][1]);
        counts->stopped += plain->stopped;
        counts->ran += !plain->stopped;
        if (!same_stop(plain, other) || (!plain->stopped && !same_results(plain, other))) {
            fprintf(stderr, "M = %" PRId64 ", N = %" PRId64 "\n", shapes[k][0], shapes[k][1]);
            return false;
        }
    }
    return true;
}

static void show(const char *title, const struct ir_kernel *kernel)
{
    struct text text;

    text_init(&text);
    ir_print(&text, kernel);
    fprintf(stderr, "%s\n%s", title, text.data);
    text_free(&text);
}

/* One kernel with one order of passes (NULL: the usual one). */
static bool test_order(const struct text *text, const enum pass_id *order, int count, struct counts *counts)
{
    static struct side plain, other;
    struct passes_options options = {.verify = true, .order = order, .order_count = count};
    jmp_buf escape;
    volatile bool good = false;

    if (setjmp(escape))
        return false;
    if (side_make(&plain, &escape, text, NULL) && side_make(&other, &escape, text, &options)) {
        good = same_for_all_shapes(&plain, &other, counts);
        if (!good)
            show("after the passes:", other.kernel);
        arena_free(&other.arena);
    }
    arena_free(&plain.arena);
    return good;
}

static void test_seed(uint64_t seed, struct counts *counts)
{
    struct random random = random_seeded(seed, 18);
    struct text text;
    bool good;

    text_init(&text);
    generate(&text, seed);
    good = CHECK(test_order(&text, NULL, 0, counts));
    for (int k = 0; k < ORDERS && good; k++) {
        enum pass_id order[LONGEST];
        int count = 1 + random_below(&random, LONGEST);
        for (int n = 0; n < count; n++)
            order[n] = (enum pass_id)random_below(&random, PASS_COUNT);
        good = CHECK(test_order(&text, order, count, counts));
        for (int n = 0; n < count && !good; n++)
            fprintf(stderr, " %s", passes_name((int)order[n]));
    }
    if (!good)
        fprintf(stderr, "\nseed %" PRIu64 "\n%s", seed, text.data);
    text_free(&text);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : 1000;
    struct counts counts = {0};

    for (int k = 0; k < count && check_failed == 0; k++)
        test_seed(first + (uint64_t)k, &counts);
    CHECK(counts.ran > counts.stopped / 4); /* the kernels are worth running */
    printf("%d runs, %d stopped\n", counts.ran, counts.stopped);
    return check_done();
}
