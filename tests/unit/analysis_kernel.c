/*
 * analysis_kernel.c: see analysis_kernel.h.
 */
#include "analysis_kernel.h"

#include <stdbool.h>
#include <stdio.h>

static uint64_t state;

static int pick(int count)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)count);
}

#define CHOOSE(...)                                                                                          \
    choose((const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

static const char *choose(const char *const *texts, size_t count)
{
    return texts[pick((int)count)];
}

struct generator {
    struct text out;
    int loops; /* names in scope: i0, i1, ... */
    char names[8][8];
    int made, line, indent;
    bool counter; /* `n` is declared */
    bool hinted;
};

static const char *loop_name(struct generator *g)
{
    return g->loops ? g->names[pick(g->loops)] : CHOOSE("0", "1", "2");
}

static void put_index(struct generator *g, int depth);

/* An index expression. */
static void put_index(struct generator *g, int depth)
{
    const char *a = loop_name(g), *b = loop_name(g);
    switch (pick(depth ? 8 : 26)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        text_string(&g->out, a);
        break;
    case 6:
        text_format(&g->out, "(%s - 1)", a);
        break;
    case 7:
        text_format(&g->out, "(%s + 1)", a);
        break;
    case 8:
        text_format(&g->out, "((N - 1) - %s)", a);
        break;
    case 9:
        text_format(&g->out, "(2 * %s)", a);
        break;
    case 10:
        text_format(&g->out, "(%s + %s)", a, b);
        break;
    case 11:
        text_format(&g->out, "((%s * M) + %s)", a, b);
        break;
    case 12:
        text_format(&g->out, "(%s // %s)", a, CHOOSE("2", "3", "-2"));
        break;
    case 13:
        text_format(&g->out, "(%s //? M)", a);
        break;
    case 14:
        text_format(&g->out, "(%s %%? M)", a);
        break;
    case 15:
        text_format(&g->out, "(%s %% %s)", a, CHOOSE("2", "3", "-3"));
        break;
    case 16:
        text_format(&g->out, "min(%s, (N - 1))", a);
        break;
    case 17:
        text_format(&g->out, "max(min((%s - 1), (M - 1)), 0)", a);
        break;
    case 18:
        text_format(&g->out, "(%s * s)", a);
        break;
    case 19:
        text_format(&g->out, "((%s * s) + %s)", a, b);
        break;
    case 20:
        text_format(&g->out, "(%s + s)", a);
        break;
    case 21:
        text_string(&g->out, g->counter ? "n" : "0");
        break;
    case 22:
        text_format(&g->out, "(%s - %s)", a, b);
        break;
    case 23:
        text_format(&g->out, "select((%s < N), %s, 0)", a, a);
        break;
    case 24:
        text_format(&g->out, "(%s //? s)", a);
        break;
    default:
        text_string(&g->out, "p[");
        put_index(g, 1);
        text_string(&g->out, "?]");
        break;
    }
}

static void put_access(struct generator *g, const char *buffer)
{
    text_format(&g->out, "%s[", buffer);
    put_index(g, 0);
    if (buffer[0] == 'z' || buffer[0] == 'a') {
        text_string(&g->out, "?, ");
        put_index(g, 0);
    }
    text_string(&g->out, "?]");
}

/* ---- kernels whose loops bound each other ---- */

static void put_affine(struct generator *g)
{
    const char *a = loop_name(g), *b = loop_name(g);
    switch (pick(14)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        text_string(&g->out, a);
        break;
    case 5:
    case 6:
        text_format(&g->out, "(%s + 1)", a);
        break;
    case 7:
        text_format(&g->out, "(%s - 1)", a);
        break;
    case 8:
        text_format(&g->out, "(%s + %s)", a, b);
        break;
    case 9:
        text_format(&g->out, "(%s - %s)", a, b);
        break;
    case 10:
        text_format(&g->out, "((N - 1) - %s)", a);
        break;
    case 11:
        text_format(&g->out, "(%s + s)", a);
        break;
    case 12:
        text_format(&g->out, "(%s * %s)", a, CHOOSE("2", "3", "s"));
        break;
    default:
        text_format(&g->out, "(M - %s)", a);
        break;
    }
}

static void put_affine_condition(struct generator *g)
{
    const char *a = loop_name(g), *order = CHOOSE("<", "<", "<=", ">", ">=", "==", "!=");
    switch (pick(6)) {
    case 0:
        text_format(&g->out, "((0 <= (%s + s)) and ((%s + s) < %s))", a, a, CHOOSE("N", "M", "3"));
        break;
    case 1:
        text_format(&g->out, "not((%s %s ", a, order);
        put_affine(g);
        text_string(&g->out, "))");
        break;
    case 2:
        text_format(&g->out, "(%s %s %s)", a, order, CHOOSE("N", "M", "(N - 1)", "(M // 2)", "1"));
        break;
    default:
        text_string(&g->out, "(");
        put_affine(g);
        text_format(&g->out, " %s ", order);
        put_affine(g);
        text_string(&g->out, ")");
        break;
    }
}

static void put_affine_bound(struct generator *g)
{
    if (g->loops && pick(2))
        put_affine(g);
    else if (g->loops && pick(6) == 0)
        text_format(&g->out, "%s((%s + 1), %s)", CHOOSE("min", "max"), loop_name(g), CHOOSE("N", "M"));
    else
        text_string(&g->out, CHOOSE("N", "N", "M", "M", "s", "(N - 1)", "2"));
}

static void put_affine_low(struct generator *g)
{
    if (g->loops && pick(2))
        put_affine(g);
    else
        text_string(&g->out, CHOOSE("0", "0", "1"));
}

static void begin_line(struct generator *g);
static void end_line(struct generator *g);

static void put_affine_access(struct generator *g)
{
    const char *buffer = CHOOSE("y", "p", "z", "a");

    begin_line(g);
    bool loaded = buffer[0] == 'p' || buffer[0] == 'a', two = buffer[0] == 'z' || buffer[0] == 'a';
    text_format(&g->out, "%s%s[", loaded ? "var v: int64 = " : "", buffer);
    put_affine(g);
    if (two) {
        text_string(&g->out, "?, ");
        put_affine(g);
    }
    text_string(&g->out, loaded ? "?]" : "?] = 1");
    end_line(g);
}

/* Loops and conditions, one in another, around one access. */
static void put_nest(struct generator *g, int depth)
{
    char name[16];

    if (depth == 0) {
        put_affine_access(g);
        return;
    }
    bool loop = !g->loops || pick(3), down = loop && pick(5) == 0;
    begin_line(g);
    if (loop) {
        snprintf(name, sizeof name, "i%d", g->made++ % 1000);
        text_format(&g->out, "for %s = ", name);
        if (down)
            put_affine_bound(g);
        else
            put_affine_low(g);
        text_string(&g->out, " to ");
        if (down)
            put_affine_low(g);
        else
            put_affine_bound(g);
        text_format(&g->out, " step %s", down ? CHOOSE("-1", "-1", "-2") : CHOOSE("1", "1", "1", "1", "2"));
        snprintf(g->names[g->loops++], 8, "%.7s", name);
    } else {
        text_string(&g->out, "if ");
        put_affine_condition(g);
    }
    g->line++;
    text_format(&g->out, " @%d:1-9 {\n", g->line);
    g->indent++;
    put_nest(g, depth - 1);
    g->indent--;
    g->loops -= loop;
    begin_line(g);
    text_string(&g->out, "}\n");
}

static void put_condition(struct generator *g)
{
    const char *a = loop_name(g), *b = loop_name(g);
    switch (pick(11)) {
    case 0:
        text_format(&g->out, "(%s < N)", a);
        break;
    case 1:
        text_format(&g->out, "(%s > 0)", a);
        break;
    case 2:
        text_format(&g->out, "(%s != %s)", a, CHOOSE("0", "1", "(N - 1)"));
        break;
    case 3:
        text_string(&g->out, CHOOSE("(s > 0)", "(s == 1)", "(N > 2)", "(s != 0)", "(M >= N)"));
        break;
    case 4:
        text_format(&g->out, "((%s > 0) and (%s < (M - 1)))", a, b);
        break;
    case 5:
        text_format(&g->out, "((%s == 0) or (%s >= M))", a, b);
        break;
    case 6:
        text_format(&g->out, "not((%s <= %s))", a, b);
        break;
    case 7:
        text_format(&g->out, "((%s + s) < N)", a);
        break;
    case 8:
        text_format(&g->out, "(%s < %s)", a, b);
        break;
    case 9:
        text_format(&g->out, "(((%s - s) >= 0) and ((%s - s) < M))", a, a);
        break;
    default:
        text_string(&g->out, "(");
        put_access(g, "p");
        text_format(&g->out, " > %s)", CHOOSE("0", "1"));
        break;
    }
}

static void put_value(struct generator *g)
{
    switch (pick(6)) {
    case 0:
        text_string(&g->out, "1");
        break;
    case 1:
        put_access(g, "p");
        break;
    case 2:
        put_access(g, "a");
        break;
    case 3:
        put_access(g, CHOOSE("y", "z", "t"));
        break;
    case 4:
        text_string(&g->out, "select(");
        put_condition(g);
        text_string(&g->out, ", ");
        put_access(g, CHOOSE("p", "a", "y"));
        text_string(&g->out, ", 0)");
        break;
    default:
        text_string(&g->out, "(");
        put_access(g, CHOOSE("y", "p"));
        text_string(&g->out, " + ");
        put_access(g, CHOOSE("a", "z", "t"));
        text_string(&g->out, ")");
        break;
    }
}

static void begin_line(struct generator *g)
{
    text_repeat(&g->out, ' ', 4 + 2 * g->indent);
}

static void end_line(struct generator *g)
{
    g->line++;
    text_format(&g->out, " @%d:1-9\n", g->line);
}

static void put_block(struct generator *g, int depth, bool in_loop);

static void put_bound(struct generator *g, bool high)
{
    const char *a = loop_name(g);
    if (!high && pick(2)) {
        text_string(&g->out, "0");
        return;
    }
    switch (pick(high ? 14 : 6)) {
    case 0:
        text_string(&g->out, high ? "N" : "1");
        break;
    case 1:
        text_string(&g->out, a);
        break;
    case 2:
        text_format(&g->out, "(%s + 1)", a);
        break;
    case 3:
        text_string(&g->out, "s");
        break;
    case 4:
        text_string(&g->out, "(M - 1)");
        break;
    case 5:
        text_string(&g->out, high ? "(N * M)" : "2");
        break;
    case 6:
        text_format(&g->out, "min((%s + 2), N)", a);
        break;
    case 7:
        text_string(&g->out, "3");
        break;
    case 8:
        text_string(&g->out, "((N + 1) // 2)");
        break;
    case 9:
    case 10:
        text_string(&g->out, "M");
        break;
    case 11:
        text_string(&g->out, "(N + M)");
        break;
    default:
        text_string(&g->out, "N");
        break;
    }
}

static void put_for(struct generator *g, int depth)
{
    char name[16];
    snprintf(name, sizeof name, "i%d", g->made++ % 1000);
    bool down = pick(6) == 0;
    begin_line(g);
    text_format(&g->out, "for %s = ", name);
    put_bound(g, down);
    text_string(&g->out, down ? " - 1" : "");
    g->out.length -= down ? 4 : 0;
    text_string(&g->out, " to ");
    put_bound(g, !down);
    text_format(&g->out, " step %s", down ? CHOOSE("-1", "-1", "-2") : CHOOSE("1", "1", "1", "1", "2", "3"));
    if (g->hinted && pick(2))
        text_string(&g->out, " parallel");
    g->line++;
    text_format(&g->out, " @%d:1-9 {\n", g->line);
    snprintf(g->names[g->loops++], 8, "%.7s", name);
    g->indent++;
    put_block(g, depth + 1, true);
    g->indent--;
    g->loops--;
    begin_line(g);
    text_string(&g->out, "}\n");
}

static void put_if(struct generator *g, int depth, bool in_loop)
{
    begin_line(g);
    text_string(&g->out, "if ");
    put_condition(g);
    g->line++;
    text_format(&g->out, " @%d:1-9 {\n", g->line);
    g->indent++;
    if (in_loop && pick(4) == 0) {
        if (pick(2))
            put_block(g, depth + 1, false);
        begin_line(g);
        text_string(&g->out, CHOOSE("continue", "continue", "break"));
        end_line(g);
    } else {
        put_block(g, depth + 1, in_loop);
    }
    g->indent--;
    begin_line(g);
    if (pick(2)) {
        text_string(&g->out, "} else {\n");
        g->indent++;
        put_block(g, depth + 1, in_loop);
        g->indent--;
        begin_line(g);
    }
    text_string(&g->out, "}\n");
}

static void put_store(struct generator *g)
{
    begin_line(g);
    put_access(g, CHOOSE("y", "y", "z", "t"));
    text_string(&g->out, " = ");
    put_value(g);
    end_line(g);
}

static void put_stmt(struct generator *g, int depth, bool in_loop)
{
    int kind = pick(10);

    if (kind < 4 && depth < 3) {
        put_for(g, depth);
    } else if (kind < 6 && depth < 3) {
        put_if(g, depth, in_loop);
    } else if (kind == 6 && g->counter) {
        begin_line(g);
        text_format(&g->out, "n = (n %s)", CHOOSE("+ 1", "+ 1", "+ 2", "- 1"));
        end_line(g);
    } else {
        put_store(g);
    }
}

static void put_block(struct generator *g, int depth, bool in_loop)
{
    for (int count = 1 + pick(depth ? 2 : 4); count > 0; count--)
        put_stmt(g, depth, in_loop);
}

static void put_kernel(struct generator *g)
{
    text_format(&g->out, "kernel k {\n  attribute s: int64\n  input p: int64[N]\n  input a: int64[M, %s]\n",
                CHOOSE("K", "N_1", "K"));
    text_format(&g->out, "  output y: int64[%s]\n", CHOOSE("N", "N", "(N + M)", "(N * M)", "(N + 1)", "4"));
    text_format(&g->out, "  output z: int64[%s]\n", CHOOSE("N, M", "M, N", "N, N", "2, M"));
    text_format(&g->out, "  temporary t: int64[%s]\n", CHOOSE("N", "M", "(N + 2)"));
    text_string(&g->out, "  parameters p, a, s\n  results y, z\n");
    if (pick(3) == 0)
        text_format(&g->out, "  require assert %s \"text\"\n",
                    CHOOSE("(s > 0)", "(N == M)", "(N >= 2)", "(s < N)"));
    text_string(&g->out, "  body {\n    allocate t\n");
    g->counter = pick(3) == 0;
    g->hinted = pick(3) == 0;
    if (g->counter)
        text_format(&g->out, "    var n: int64 = %s\n", CHOOSE("0", "0", "1", "s"));
    if (pick(3) == 0)
        put_nest(g, 1 + pick(5));
    else
        put_block(g, 0, false);
    text_string(&g->out, "  }\n}\n");
}

void analysis_kernel(struct text *out, uint64_t seed)
{
    struct generator g = {.line = 1};

    state = seed * 7919 + 13;
    for (int k = 0; k < 4; k++)
        pick(2);
    text_init(&g.out);
    put_kernel(&g);
    *out = g.out;
}
