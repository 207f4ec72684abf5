/*
 * test_vector_slim.c: random loops over integers of 8 and 16 bits, against the interpreter, to the bit.
 *
 * Each mixes few dtypes of at most 32 bits, so that most have lanes of 8 or 16 bits, or the test would prove
 * nothing: sums, products, quotients by constants, shifts, sums that are cut off, choices, casts, loads
 * beside the element, backwards, by a step and out of tables, stores under conditions into what was loaded,
 * and into the same element by both branches, what all iterations come to, in as many bits and in more. Trip
 * counts go from 0 to some vectors; behind each tensor lie bytes that nobody may touch. For every target of
 * this processor.
 *
 * Arguments: first seed and number of kernels.
 */
#include "check.h"
#include "jit_pair.h"

#include <stdlib.h>

enum {
    LONGEST = 230,
    MARGIN = 2,
    ELEMENTS = LONGEST + 2 * MARGIN,
    INPUTS = 3,
    OUTPUTS = 2,
    MOST_STEP = 4,
    TABLE = 256
};

struct generator {
    struct text text;
    uint64_t state;
    akg_dtype dtypes[3], inputs[INPUTS], outputs[OUTPUTS];
    int dtype_count;
    const char *place; /* of what is stored */
    char variable;     /* of the loop */
    bool has_tables;   /* of 256 bytes and more */
    int step;          /* every so manieth element is loaded as well; 0: none is */
};

static unsigned draw(struct generator *g, unsigned count)
{
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(g->state >> 33) % count;
}

static akg_dtype some_dtype(struct generator *g)
{
    return g->dtypes[draw(g, (unsigned)g->dtype_count)];
}

static int64_t some_number(struct generator *g, akg_dtype dtype)
{
    static const int64_t special[] = {0,   1,     2,     3,     7,  100, 127,  128,      255,
                                      256, 32767, 32768, 65535, -1, -2,  -128, INT32_MIN};
    int64_t any = (int64_t)draw(g, UINT32_MAX);
    return dtype_wrap(dtype, draw(g, 2) ? special[draw(g, sizeof special / sizeof *special)] : any);
}

static void expression(struct generator *g, akg_dtype dtype, int depth);

static void constant(struct generator *g, int64_t number, akg_dtype dtype)
{
    text_format(&g->text, "%lld:%s", (long long)number, akg_dtype_name(dtype));
}

/* One of the elements that an iteration steps over, from the front or from behind. */
static void step(struct generator *g, int input)
{
    if (draw(g, 4))
        text_format(&g->text, "w%d[((%d * %c) + %u)]", input, g->step, g->variable,
                    draw(g, (unsigned)g->step));
    else
        text_format(&g->text, "w%d[((%d * ((N + 3) - %c)) + %u)]", input, g->step, g->variable,
                    draw(g, (unsigned)g->step));
}

static void leaf(struct generator *g, akg_dtype dtype)
{
    int input = (int)draw(g, INPUTS);
    bool is_cast = g->inputs[input] != dtype;
    unsigned kind = draw(g, 8);
    if (kind == 0 && dtype != AKG_BOOL) {
        constant(g, some_number(g, dtype), dtype);
        return;
    }
    if (kind == 7 && g->has_tables && dtype != AKG_BOOL) {
        text_format(&g->text, "%s(t%u[int64(uint8(x%d[%c]))])", akg_dtype_name(dtype), draw(g, 2), input,
                    g->variable);
        return;
    }
    if (is_cast)
        text_format(&g->text, "%s(", akg_dtype_name(dtype));
    if (g->step && kind > 4)
        step(g, input);
    else if (kind == 1)
        text_format(&g->text, "x%d[1]", input);
    else if (kind == 3 && draw(g, 2))
        text_format(&g->text, "x%d[((N + 3) - %c)]", input, g->variable);
    else if (kind == 2)
        text_format(&g->text, "x%d[(%c %c %u)]", input, g->variable, draw(g, 2) ? '+' : '-',
                    1 + draw(g, MARGIN));
    else
        text_format(&g->text, "x%d[%c]", input, g->variable);
    text_string(&g->text, is_cast ? ")" : "");
}

static void apply(struct generator *g, const char *name, int count, akg_dtype dtype, int depth)
{
    text_format(&g->text, "%s(", name);
    for (int k = 0; k < count; k++) {
        text_string(&g->text, k ? ", " : "");
        expression(g, dtype, depth - 1);
    }
    text_string(&g->text, ")");
}

static void infix(struct generator *g, const char *name, akg_dtype dtype, int depth)
{
    text_string(&g->text, "(");
    expression(g, dtype, depth - 1);
    text_format(&g->text, " %s ", name);
    expression(g, dtype, depth - 1);
    text_string(&g->text, ")");
}

static void with_number(struct generator *g, const char *name, akg_dtype dtype, int64_t number, int depth)
{
    text_string(&g->text, "(");
    expression(g, dtype, depth - 1);
    text_format(&g->text, " %s ", name);
    constant(g, number, dtype);
    text_string(&g->text, ")");
}

static void truth(struct generator *g, int depth)
{
    static const char *const words[] = {"<", "<=", ">", ">=", "==", "!=", "and", "or", "&", "^", "=="};
    unsigned kind = draw(g, 13);
    if (kind < 11)
        infix(g, words[kind], kind < 6 ? some_dtype(g) : AKG_BOOL, depth);
    else
        apply(g, draw(g, 2) ? "not" : "~", 1, AKG_BOOL, depth);
}

static void either(struct generator *g, akg_dtype dtype, int depth)
{
    if (draw(g, 4))
        leaf(g, dtype);
    else
        expression(g, dtype, depth - 1);
}

static void sum(struct generator *g, akg_dtype dtype, const char *sign, int depth)
{
    text_string(&g->text, "(");
    either(g, dtype, depth);
    text_format(&g->text, " %s ", sign);
    either(g, dtype, depth);
    text_string(&g->text, ")");
}

static void limit(struct generator *g, akg_dtype dtype, bool is_least)
{
    static const int64_t numbers[2][5] = {{255, 127, 32767, 65535, 100}, {0, -128, -32768, 0, 1}};
    text_string(&g->text, ", ");
    constant(g, dtype_wrap(dtype, numbers[is_least][draw(g, 5)]), dtype);
    text_string(&g->text, ")");
}

/* What is cut off above or below a limit, or at both; a magnitude; an average; from one to another. */
static void several(struct generator *g, akg_dtype dtype, int depth)
{
    const char *sign = draw(g, 2) ? "+" : "-";
    unsigned kind = draw(g, 7);
    if (kind < 4) {
        static const char *const words[] = {"min(", "max("};
        text_string(&g->text, words[kind & 1]);
        text_string(&g->text, kind < 2 ? words[1 - kind] : "");
        sum(g, dtype, sign, depth);
        if (kind < 2)
            limit(g, dtype, !(kind & 1));
        limit(g, dtype, kind & 1);
    } else if (kind == 4) {
        text_string(&g->text, "abs(");
        sum(g, dtype, "-", depth);
        text_string(&g->text, ")");
    } else if (kind == 5) {
        text_string(&g->text, "((");
        sum(g, dtype, "+", depth);
        text_format(&g->text, " + 1:%s) >> 1:%s)", akg_dtype_name(dtype), akg_dtype_name(dtype));
    } else {
        const char *name = akg_dtype_name(dtype);
        text_format(&g->text, "((%s(x0[%c]) * ", name, g->variable);
        either(g, dtype, depth);
        text_format(&g->text, ") + (");
        either(g, dtype, depth);
        text_string(&g->text, " * (");
        constant(g, dtype_wrap(dtype, 255), dtype);
        text_format(&g->text, " - %s(x0[%c]))))", name, g->variable);
    }
}

static void whole(struct generator *g, akg_dtype dtype, int depth)
{
    static const char *const infixes[] = {"+", "-", "*", "+", "-", "*", "&", "|", "^"};
    static const char *const words[] = {"neg", "abs", "sign", "~", "min", "max"};
    int bits = 8 * dtype_table[dtype].size;
    unsigned kind = draw(g, 15);
    if (kind >= 12) {
        several(g, dtype, depth);
    } else if (kind < 6) {
        infix(g, infixes[draw(g, 9)], dtype, depth);
    } else if (kind < 8) {
        unsigned word = draw(g, 6);
        apply(g, words[word], word < 4 ? 1 : 2, dtype, depth);
    } else if (kind < 10) {
        with_number(g, draw(g, 2) ? "<<" : ">>", dtype, draw(g, (unsigned)bits), depth);
    } else {
        int64_t divisor = 2 + draw(g, draw(g, 2) ? 14u : (1u << (bits > 16 ? 20 : bits - 1)) - 2);
        with_number(g, draw(g, 3) ? "//" : "%", dtype, divisor, depth);
    }
}

static void expression(struct generator *g, akg_dtype dtype, int depth)
{
    unsigned kind = draw(g, 8);
    if (depth <= 0 || kind == 0) {
        leaf(g, dtype);
    } else if (kind == 1) {
        text_string(&g->text, "select(");
        expression(g, AKG_BOOL, depth - 1);
        text_string(&g->text, ", ");
        expression(g, dtype, depth - 1);
        text_string(&g->text, ", ");
        expression(g, dtype, depth - 1);
        text_string(&g->text, ")");
    } else if (kind < 4) {
        akg_dtype from = draw(g, 5) ? some_dtype(g) : AKG_BOOL;
        if (from == dtype)
            leaf(g, dtype);
        else
            apply(g, akg_dtype_name(dtype), 1, from, depth);
    } else if (dtype == AKG_BOOL) {
        truth(g, depth);
    } else {
        whole(g, dtype, depth);
    }
}

/* A store, under a condition perhaps, which the other branch or what was stored before completes. */
static void statement(struct generator *g, int output)
{
    akg_dtype dtype = g->outputs[output];
    unsigned kind = draw(g, 12);
    if (kind == 1) {
        text_format(&g->text, "y%d[%s] = ", output, g->place);
        expression(g, dtype, 2);
        text_string(&g->text, "\n");
    }
    if (kind < 3) {
        text_string(&g->text, "if ");
        expression(g, AKG_BOOL, 2);
        text_string(&g->text, " {\n");
    }
    text_format(&g->text, "y%d[%s] = ", output, g->place);
    expression(g, dtype, 1 + (int)draw(g, 4));
    text_string(&g->text, "\n");
    if (kind == 2) {
        text_format(&g->text, "} else {\ny%d[%s] = ", output, g->place);
        expression(g, dtype, 2);
        text_string(&g->text, "\n");
    }
    text_string(&g->text, kind < 3 ? "}\n" : "");
}

static void choose_dtypes(struct generator *g)
{
    static const akg_dtype choices[][3] = {{AKG_UINT8},
                                           {AKG_INT8},
                                           {AKG_UINT8, AKG_INT8},
                                           {AKG_INT16},
                                           {AKG_UINT16},
                                           {AKG_UINT16, AKG_INT16},
                                           {AKG_UINT8, AKG_UINT16},
                                           {AKG_UINT8, AKG_INT16},
                                           {AKG_INT8, AKG_INT16},
                                           {AKG_UINT8, AKG_INT32},
                                           {AKG_INT16, AKG_INT32},
                                           {AKG_INT8, AKG_UINT32, AKG_UINT16}};
    const akg_dtype *choice = choices[draw(g, sizeof choices / sizeof *choices)];
    for (g->dtype_count = 0; g->dtype_count < 3 && choice[g->dtype_count] != AKG_BOOL; g->dtype_count++)
        g->dtypes[g->dtype_count] = choice[g->dtype_count];
    for (int k = 0; k < INPUTS; k++)
        do
            g->inputs[k] = draw(g, 8) ? some_dtype(g) : AKG_BOOL;
        while (dtype_table[g->inputs[k]].size > 2);
    for (int k = 0; k < OUTPUTS; k++)
        do
            g->outputs[k] = draw(g, 6) ? some_dtype(g) : AKG_BOOL;
        while (dtype_table[g->outputs[k]].size > 2);
}

/* One of the inputs is written as well: it is loaded in each iteration, so that a vector of it may be. */
static void in_place(struct generator *g)
{
    g->variable = 'j';
    text_string(&g->text, "for j = 2 to (N + 2) step 1 {\nif ((x0[j] == x0[j]) and ");
    expression(g, AKG_BOOL, 2);
    text_string(&g->text, ") {\nx0[j] = ");
    expression(g, g->inputs[0], 2);
    text_string(&g->text, "\n}\n}\n");
}

/* What all iterations come to, from a number on. */
static void reduction(struct generator *g)
{
    static const char *const forms[] = {"min(m, ", "max(m, ", "(m & ", "(m | ", "(m + ", "(m ^ "};
    akg_dtype dtype = g->dtypes[0];
    g->variable = 'k';
    text_format(&g->text, "var m: %s = ", akg_dtype_name(dtype));
    constant(g, some_number(g, dtype), dtype);
    text_format(&g->text, "\nfor k = 2 to (N + 2) step 1 {\nm = %s", forms[draw(g, 6)]);
    expression(g, dtype, 2);
    text_string(&g->text, ")\n}\nmost[0] = m\n");
}

/* One more term, of some iterations perhaps. */
static void add_up(struct generator *g, char sum, const char *name)
{
    bool is_masked = draw(g, 2);
    if (is_masked) {
        text_string(&g->text, "if ");
        expression(g, AKG_BOOL, 1);
        text_string(&g->text, " {\n");
    }
    text_format(&g->text, "%c = (%c + ", sum, sum);
    if (draw(g, 4)) {
        text_format(&g->text, "%s(", name);
        expression(g, draw(g, 3) ? some_dtype(g) : AKG_BOOL, 2);
        text_string(&g->text, ")");
    } else {
        text_format(&g->text, "%u:%s", draw(g, 3), name);
    }
    text_format(&g->text, ")\n%s", is_masked ? "}\n" : "");
}

/* One sum or two, in more bits than the lanes have, each in as many as it likes. */
static void total(struct generator *g)
{
    static const akg_dtype sums[] = {AKG_INT32, AKG_UINT32, AKG_INT64, AKG_UINT64};
    const char *first = akg_dtype_name(sums[draw(g, 4)]), *second = akg_dtype_name(sums[draw(g, 4)]);
    bool has_second = draw(g, 3) == 0;
    g->variable = 'l';
    text_format(&g->text, "var t: %s = 5:%s\nvar u: %s = 7:%s\nfor l = 2 to (N + 2) step 1 {\n", first, first,
                second, second);
    add_up(g, 't', first);
    if (has_second)
        add_up(g, 'u', second);
    text_string(&g->text, "}\ntotal[0] = int64(t)\ntotal[1] = int64(u)\n");
}

/* All elements that an iteration steps over. */
static void several_stores(struct generator *g)
{
    g->variable = 'o';
    text_string(&g->text, "for o = 2 to (N + 2) step 1 {\n");
    for (int k = 0; k < g->step; k++) {
        int place = draw(g, 8) ? k : (int)draw(g, (unsigned)g->step);
        text_format(&g->text, "apart[((%d * o) + %d)] = ", g->step, place);
        expression(g, g->outputs[0], 1);
        text_string(&g->text, "\n");
    }
    text_string(&g->text, "}\n");
}

static void kernel_text(struct generator *g)
{
    choose_dtypes(g);
    g->variable = 'i';
    g->step = draw(g, 2) ? 0 : 2 + (int)draw(g, 3);
    g->has_tables = draw(g, 3) == 0;
    g->place = draw(g, 4) ? "i" : "r, i";
    bool rows = g->place[0] == 'r';
    text_string(&g->text, "kernel k {\n input shape: bool[N]\n");
    for (int k = 0; k < INPUTS; k++)
        text_format(&g->text, " %s x%d: %s[%d]\n input w%d: %s[%d]\n", k ? "input" : "inout", k,
                    akg_dtype_name(g->inputs[k]), ELEMENTS, k, akg_dtype_name(g->inputs[k]),
                    MOST_STEP * (LONGEST + MARGIN));
    text_format(&g->text, " input t0: uint8[%d]\n input t1: int8[%d]\n", TABLE, TABLE + 1);
    for (int k = 0; k < OUTPUTS; k++)
        text_format(&g->text, rows ? " output y%d: %s[3, %d] clear\n" : " output y%d: %s[%d] clear\n", k,
                    akg_dtype_name(g->outputs[k]), ELEMENTS);
    text_format(&g->text, " output most: %s[1] clear\n", akg_dtype_name(g->dtypes[0]));
    text_string(&g->text, " output total: int64[2] clear\n");
    text_format(&g->text, " output apart: %s[%d] clear\n", akg_dtype_name(g->outputs[0]),
                MOST_STEP * (LONGEST + MARGIN));
    text_string(&g->text, " parameters shape, x0, w0, x1, w1, x2, w2, t0, t1\n"
                          " results x0, y0, y1, most, total, apart\n body {\n");
    text_string(&g->text, rows ? "for r = 0 to 3 step 1 {\n" : "");
    text_string(&g->text, "for i = 2 to (N + 2) step 1 {\n");
    statement(g, 0);
    if (draw(g, 3) == 0)
        statement(g, 1);
    text_string(&g->text, rows ? "}\n}\n" : "}\n");
    if (draw(g, 4) == 0)
        in_place(g);
    if (draw(g, 3) == 0)
        reduction(g);
    if (draw(g, 2))
        total(g);
    if (g->step)
        several_stores(g);
    text_string(&g->text, " }\n}\n");
}

static void fill(struct generator *g, struct jit_pair *pair)
{
    for (int k = 0; k < 2 * INPUTS; k++) {
        const struct ir_buffer *buffer = pair->kernel->buffers.items[1 + k];
        for (int64_t at = 0; at < (k % 2 ? MOST_STEP * (LONGEST + MARGIN) : ELEMENTS); at++) {
            union dtype_value value = {.i = some_number(g, buffer->dtype)};
            pair_set(pair, 1 + k, at, value);
        }
    }
    for (int k = 0; k < 2; k++)
        for (int64_t at = 0; at < TABLE; at++)
            pair_set(pair, 1 + 2 * INPUTS + k, at,
                     (union dtype_value){.i = some_number(g, k ? AKG_INT8 : AKG_UINT8)});
}

static bool agrees(uint64_t seed, enum x86_target target, int *loops, int *slim)
{
    struct generator g = {.state = seed * 99991};
    struct jit_pair pair;
    int status;
    text_init(&g.text);
    for (int k = 0; k < 5; k++)
        draw(&g, 2);
    kernel_text(&g);
    pair_init(&pair);
    pair.vectors.target = target;
    pair.vectors.permutes &= seed % 3 != 0;
    bool good = pair_read(&pair, g.text.data) && pair_compile(&pair, false);
    *loops += pair.vector_loops;
    *slim += pair.slim_loops;
    for (int round = 0; good && round < 4; round++) {
        pair.dims[0] = draw(&g, round ? LONGEST + 1 : 70);
        good = pair_allocate(&pair);
        if (good)
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

#ifdef AKG_SANITIZED
enum { USUAL = 150 /* sanitizers take their time */ };
#else
enum { USUAL = 400 };
#endif

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : USUAL;
    for (int target = X86_TARGET_AVX2; target <= X86_TARGET_AVX512; target++) {
        int loops = 0, slim = 0;
        if (target > (int)x86_cpu_target()) {
            printf("skipped: this processor has no %s\n", x86_target_name((enum x86_target)target));
            continue;
        }
        for (int k = 0; k < count; k++)
            if (!CHECK(agrees(first + (uint64_t)k, (enum x86_target)target, &loops, &slim)))
                break;
        printf("%s: %d vector loops, of which %d can do with lanes of 8 or 16 bits\n",
               x86_target_name((enum x86_target)target), loops, slim);
        CHECK(loops * 2 >= count && slim * 5 >= loops);
    }
    return check_done();
}
