/*
 * random_kernel.c: see random_kernel.h.
 */
#include "random_kernel.h"

#include "../fuzz/random.h"

#include <stdio.h>

/* ---- kernels ---------------------------------------------------------------------------------------- */

struct generator {
    struct text *out;
    struct random random;
    int names;     /* made up so far */
    int lets;      /* the last that is visible here, or 0 */
    const char *i; /* loop over M, or NULL */
    const char *j; /* loop over N, or NULL */
    const char *k; /* loop over 3, or NULL */
    bool inner;    /* j runs over 1 to N - 1 only */
    const char *dtype;
    bool integers;
    bool small; /* the temporary h lives here */
    bool named; /* and h has been allocated somewhere */
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

    if (g->small && chance(g, 50)) {
        put(g, "h[");
        if (g->k && chance(g, 70))
            put(g, g->k);
        else
            text_format(g->out, "%d", below(g, 3));
    } else if (g->k && g->j && !store && kind < 5) {
        text_format(g->out, "e[%s, %s", g->k, g->j);
    } else if (kind < 4) {
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
            text_format(g->out, g->integers ? "%d:%s" : "%d.5:%s", below(g, 4), g->dtype);
        else if (kind == 1 && g->lets)
            text_format(g->out, "l%d", 1 + below(g, g->lets));
        else if (kind == 2)
            text_format(g->out, "c%d", below(g, 2));
        else
            access(g, false);
    } else if (kind == 3) {
        put(g, "max(");
        expression(g, depth - 1);
        text_format(g->out, ", %s(alpha))", g->dtype);
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
    bool inner = g->inner, small = g->small;
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
    if (!g->named && chance(g, 25)) {
        put(g, "allocate h\n");
        g->named = g->small = true;
    }
    if (g->depth < 2 && chance(g, 55) && !(g->i && g->j))
        loop(g, !over_rows);
    else
        statements(g, 1 + below(g, g->small ? 6 : 3));
    *slot = before;
    g->inner = inner;
    g->small = small;
    put(g, "}\n");
}

/* A loop of a known few iterations. */
static void short_loop(struct generator *g)
{
    char name[16];

    snprintf(name, sizeof name, "k%d", g->names++);
    text_format(g->out, chance(g, 70) ? "for %s = 0 to 3 step 1 {\n" : "for %s = 2 to -1 step -2 {\n", name);
    g->k = name;
    statements(g, 1 + below(g, 2));
    g->k = NULL;
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
    int kind = below(g, 21);

    if ((kind == 20 || (g->small && kind > 15)) && g->j && !g->k) {
        short_loop(g);
    } else if (kind < 8) {
        access(g, true);
        put(g, " = ");
        expression(g, 2);
        put(g, "\n");
    } else if (kind < 13) {
        accumulate(g);
    } else if (kind < 15 && g->depth < 3) {
        put(g, "if (");
        expression(g, 1);
        text_format(g->out, " > %s:%s) {\n", g->integers ? "1" : "1.0", g->dtype);
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
    text_format(g->out, "let l%d: %s = ", g->lets + 1, g->dtype);
    expression(g, 2);
    put(g, "\n");
    g->lets++;
}

/* Buffers besides alpha: name, role, shape. */
static const char *const declarations[][3] = {
    {"input", "x", "[M, N]"},           {"input", "z", "[N2]"},
    {"input", "e", "[3, N]"},           {"inout", "q", "[N]"},
    {"output", "y", "[N] clear"},       {"output", "w", "[M, N] clear"},
    {"output", "m", "[M] clear"},       {"output", "s", "[] clear"},
    {"temporary", "t", "[N] clear"},    {"temporary", "u", "[N] clear"},
    {"temporary", "v", "[N] clear"},    {"temporary", "p", "[M, N] clear"},
    {"temporary", "r", "[M, N] clear"}, {"temporary", "f", "[(M * N)] clear"},
    {"temporary", "h", "[3] clear"}};

static void declare(struct generator *g)
{
    put(g, "kernel k {\n  attribute alpha: float64\n");
    for (size_t k = 0; k < sizeof declarations / sizeof *declarations; k++)
        text_format(g->out, "  %s %s: %s%s\n", declarations[k][0], declarations[k][1], g->dtype,
                    declarations[k][2]);
    put(g, "  require assert (N == N2) \"same\"\n  body {\n"
           "allocate t\nallocate u\nallocate v\nallocate p\nallocate r\nallocate f\n");
    text_format(g->out,
                g->integers ? "var c0: %s = 0:%s\nvar c1: %s = 2:%s\n"
                            : "var c0: %s = 0.0:%s\nvar c1: %s = 1.5:%s\n",
                g->dtype, g->dtype, g->dtype, g->dtype);
}

void random_kernel(struct text *out, uint64_t seed, akg_dtype dtype)
{
    struct generator g = {.out = out,
                          .random = random_seeded(seed, 17),
                          .dtype = akg_dtype_name(dtype),
                          .integers = dtype == AKG_INT32};
    int count = 3 + below(&g, 6);

    declare(&g);
    for (int k = 0; k < count; k++)
        if (chance(&g, 75))
            loop(&g, chance(&g, 45));
        else if (chance(&g, 50))
            let(&g);
        else
            statement(&g);
    if (!g.named)
        put(&g, "allocate h\n");
    put(&g, "s[] = (c0 + (c1 + s[]))\n}\n}\n");
}
