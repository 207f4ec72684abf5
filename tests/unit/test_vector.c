/*
 * test_vector.c: random loops as vector code, against the interpreter, to the bit (strict).
 *
 * Each loop mixes a few dtypes, loads with offsets and steps, conditions, choices, casts and accumulations;
 * some stand in a loop over rows, some change elements whose indices are computed, some load and store
 * elements two by two, some hand scalars and elements on from one iteration to the next, and some stand with
 * others and statements between them in a loop around (a band). Trip counts go from 0 to 70. Each kernel runs
 * for every target of this processor. Most loops must have become vector code, and many of those of one lane,
 * or the test would prove nothing.
 *
 * Arguments: first seed and number of kernels (default 1 and 300).
 */
#include "check.h"
#include "jit_pair.h"

#include <stdlib.h>

enum { LOOPS = 3, LONGEST = 70, MARGIN = 4, CARRIED = 2 };

struct generator {
    struct text text;
    uint64_t state;
    akg_dtype dtypes[3]; /* of the loop, besides bool */
    int dtype_count, loop, names, lets[AKG_DTYPE_COUNT];
    int row; /* the loop around, or 0 */
    int let_names[AKG_DTYPE_COUNT][8];
    bool calls;
    int around;  /* the loop around it; 0: there is none */
    bool tested; /* indices are, so they may be wrong */
    int carried; /* scalars handed on; 0: of none */
    akg_dtype carried_dtypes[CARRIED];
    int carried_names[CARRIED];
};

static unsigned draw(struct generator *g, unsigned count)
{
    return pair_draw(&g->state, count);
}

static void put(struct generator *g, const char *string)
{
    text_string(&g->text, string);
}

static akg_dtype some_dtype(struct generator *g)
{
    return g->dtypes[draw(g, (unsigned)g->dtype_count)];
}

static int64_t interesting(struct generator *g, akg_dtype dtype)
{
    return pair_interesting(&g->state, dtype);
}

static void constant(struct generator *g, akg_dtype dtype)
{
    static const double reals[] = {0.0, -0.0, 1.0, -1.5, 2.5, 0.1, 100.0, 1e10, -3.7};
    if (dtype == AKG_BOOL) {
        put(g, draw(g, 2) ? "true" : "false");
    } else if (dtype_is_float(dtype)) {
        unsigned kind = draw(g, 12);
        double number = kind == 9    ? __builtin_inf()
                        : kind == 10 ? -__builtin_inf()
                        : kind == 11 ? __builtin_nan("")
                                     : reals[kind];
        text_double(&g->text, dtype_to_double(dtype, dtype_from_double(dtype, number)));
        text_format(&g->text, ":%s", akg_dtype_name(dtype));
    } else if (dtype == AKG_UINT64) {
        text_format(&g->text, "%llu:uint64", (unsigned long long)interesting(g, dtype));
    } else {
        text_format(&g->text, "%lld:%s", (long long)interesting(g, dtype), akg_dtype_name(dtype));
    }
}

static void expression(struct generator *g, akg_dtype dtype, int depth);

/* An index that is computed and stays below `count`: at a border it stays there, or begins anew. */
static void bordered_index(struct generator *g, unsigned count)
{
    unsigned kind = draw(g, 3);
    if (kind == 0)
        text_format(&g->text, "min(max((i%d - %u), 0), %u)", g->loop, draw(g, 2 * count), count - 1);
    else if (kind == 1)
        text_format(&g->text, "min(max(int64(floor((float32(i%d) * 0.7:float32))), 0), %u)", g->loop,
                    count - 1);
    else
        text_format(&g->text, "((i%d + %u) %% %u)", g->loop, draw(g, count), count);
}

/* The access that begins there and ends with a column, and one of a column beside it. */
static void with_neighbour(struct generator *g, size_t from)
{
    char first[1000];
    size_t size = g->text.length - from;
    if (size >= sizeof first)
        return;
    memcpy(first, g->text.data + from, size);
    first[size] = 0;
    g->text.length = from;
    text_format(&g->text, "max(%s, %.*s%u])", first, (int)size - 2, first, draw(g, 3));
}

/* An element at an index that is computed: inside, or, seldom, perhaps not. */
static void gathered_load(struct generator *g, akg_dtype dtype)
{
    size_t from = g->text.length;
    bool has_neighbour = false;
    static const akg_dtype dtypes[] = {AKG_INT32, AKG_INT64, AKG_UINT8, AKG_UINT32, AKG_INT16};
    akg_dtype index = dtypes[draw(g, 5)];
    const char *name = akg_dtype_name(dtype);
    bool two = draw(g, 3) == 0;
    text_format(&g->text, "%s_%s[", two ? "table" : draw(g, 2) ? "in" : "st", name);
    if (g->tested && draw(g, 6) == 0) {
        text_format(&g->text, "int64(in_uint8[%u])?", draw(g, 8));
    } else if (g->tested && draw(g, 4) == 0) { /* from where data says on, in few bits */
        name = akg_dtype_name(index);
        text_format(&g->text, "int64(((in_%s[%u] & %u:%s) %c %s(i%d)))?", name, draw(g, 8),
                    draw(g, 2) ? 7 : 255, name, draw(g, 4) ? '+' : '-', name, g->loop);
    } else if (draw(g, 2)) {
        bordered_index(g, 80);
    } else if (g->tested && draw(g, 4) == 0) {
        text_format(&g->text, "int64(in_%s[i%d])?", akg_dtype_name(index), g->loop);
    } else {
        put(g, "int64((");
        expression(g, index, 1);
        text_format(&g->text, " & 63:%s))?", akg_dtype_name(index));
    }
    if (two && draw(g, 2)) {
        put(g, ", ");
        bordered_index(g, 3);
    } else if (two) {
        text_format(&g->text, ", %u", draw(g, 3));
        has_neighbour = dtype != AKG_BOOL && draw(g, 2);
    }
    put(g, "]");
    if (has_neighbour)
        with_neighbour(g, from);
}

static void load(struct generator *g, akg_dtype dtype)
{
    const char *name = akg_dtype_name(dtype);
    unsigned kind = draw(g, 16);
    if (draw(g, 12) == 0) {
        gathered_load(g, dtype);
        return;
    }
    if (g->row && draw(g, 3) == 0)
        text_format(&g->text, draw(g, 2) ? "table_%s[i%d, i%d]" : "in_%s[(i%d + (16 * i%d))]", name, g->loop,
                    g->row);
    else if (g->row && draw(g, 20) == 0)
        text_format(&g->text, "in_%s[i%d]", name, g->row);
    else if (kind == 0)
        text_format(&g->text, "in_%s[%u]", name, draw(g, 8));
    else if (kind == 1 && draw(g, 2))
        text_format(&g->text, "in_%s[(i%d * 2)]", name, g->loop);
    else if (kind == 1)
        text_format(&g->text, "in_%s[((i%d * 2) %c %u)]", name, g->loop, draw(g, 2) ? '+' : '-',
                    1 + draw(g, 4));
    else if (kind == 2 && g->tested && draw(g, 2))
        text_format(&g->text, draw(g, 2) ? "in_%s[(i%d + %u)?]" : "in_%s[(i%d - %u)?]", name, g->loop,
                    draw(g, 16) ? draw(g, 4) : 5 + 20 * draw(g, 6));
    else if (kind == 2)
        text_format(&g->text, "in_%s[((N + 9) - i%d)%s]", name, g->loop, g->tested && draw(g, 2) ? "?" : "");
    else if (kind == 3 && draw(g, 2))
        text_format(&g->text, "st_%s[(i%d + %u)]", name, g->loop, 1 + draw(g, 2));
    else if (kind == 3)
        text_format(&g->text, "st_%s[i%d]", name, g->loop);
    else if (kind == 4)
        text_format(&g->text, "table_%s[i%d, %u]", name, g->loop, draw(g, 3));
    else if (kind == 5 && !g->row && draw(g, 4) == 0) /* of what later iterations store, in most loops */
        text_format(&g->text, "out_%s[(i%d + %u)]", name, g->loop, 1 + draw(g, MARGIN));
    else if (kind < 8 && g->carried)
        text_format(&g->text, "out_%s[(i%d - %u)]", name, g->loop, draw(g, MARGIN));
    else if (kind < 9)
        text_format(&g->text, "in_%s[(i%d %c %u)]", name, g->loop, draw(g, 2) ? '+' : '-',
                    draw(g, MARGIN) + 1);
    else if (kind < 12 && g->around)
        text_format(&g->text, kind < 11 ? "in_%s[(i%d + i%d)]" : "in_%s[((0 * i%d) + i%d)]", name, g->loop,
                    g->around);
    else
        text_format(&g->text, "in_%s[i%d]", name, g->loop);
}

static void leaf(struct generator *g, akg_dtype dtype)
{
    unsigned kind = draw(g, 8);
    int carried = g->carried ? (int)draw(g, (unsigned)g->carried) : 0;
    if (g->carried && kind < 6 && g->carried_dtypes[carried] == dtype)
        text_format(&g->text, "acc%d", g->carried_names[carried]);
    else if (dtype == AKG_INT64 && kind == 0)
        text_format(&g->text, draw(g, 2) ? "i%d" : "n", g->around && draw(g, 2) ? g->around : g->loop);
    else if (kind < 2)
        constant(g, dtype);
    else if (kind < 4 && g->lets[dtype])
        text_format(&g->text, "s%d", g->let_names[dtype][draw(g, (unsigned)g->lets[dtype])]);
    else
        load(g, dtype);
}

static void apply(struct generator *g, const char *name, int count, akg_dtype dtype, int depth)
{
    text_format(&g->text, "%s(", name);
    for (int k = 0; k < count; k++) {
        put(g, k ? ", " : "");
        expression(g, dtype, depth - 1);
    }
    put(g, ")");
}

static void infix(struct generator *g, const char *name, akg_dtype dtype, int depth)
{
    put(g, "(");
    expression(g, dtype, depth - 1);
    text_format(&g->text, " %s ", name);
    expression(g, dtype, depth - 1);
    put(g, ")");
}

static void truth(struct generator *g, int depth)
{
    static const char *const words[] = {"<",  "<=", ">", ">=", "==", "!=", "and",
                                        "or", "&",  "|", "^",  "==", "!="};
    static const char *const classes[] = {"isnan", "isinf", "isfinite"};
    unsigned kind = draw(g, 16);
    akg_dtype dtype = some_dtype(g);
    if (kind < 13)
        infix(g, words[kind], kind < 6 ? dtype : AKG_BOOL, depth);
    else if (kind == 13 && dtype_is_float(dtype))
        apply(g, classes[draw(g, 3)], 1, dtype, depth);
    else
        apply(g, kind == 14 ? "~" : "not", 1, AKG_BOOL, depth);
}

static void real(struct generator *g, akg_dtype dtype, int depth)
{
    static const char *const infixes[] = {"+", "-", "*", "/"};
    static const char *const words[] = {"neg",  "abs",   "sign",  "sqrt", "rsqrt", "floor",
                                        "ceil", "trunc", "round", "min",  "max",   "fma"};
    static const char *const calls[] = {"exp", "log", "tanh", "sigmoid", "erf", "atan2"};
    unsigned kind = draw(g, 12);
    if (g->calls && draw(g, 6) == 0) {
        unsigned call = draw(g, 6);
        apply(g, calls[call], call == 5 ? 2 : 1, dtype, depth);
    } else if (draw(g, 2)) {
        infix(g, infixes[draw(g, 4)], dtype, depth);
    } else {
        apply(g, words[kind], kind < 9 ? 1 : kind < 11 ? 2 : 3, dtype, depth);
    }
}

static void whole(struct generator *g, akg_dtype dtype, int depth)
{
    static const char *const infixes[] = {"+", "-", "*", "&", "|", "^", "<<", ">>"};
    static const char *const words[] = {"neg", "abs", "sign", "~", "popcount", "min", "max"};
    unsigned kind = draw(g, 7);
    if (draw(g, 20) == 0) {
        int64_t divisor = interesting(g, dtype);
        put(g, "(");
        expression(g, dtype, depth - 1);
        text_format(&g->text, " %s ", draw(g, 2) ? "//" : "%");
        if (draw(g, 2))
            text_format(&g->text, "(in_%s[%u] | 1:%s))", akg_dtype_name(dtype), draw(g, 8),
                        akg_dtype_name(dtype));
        else if (draw(g, 2))
            text_format(&g->text, "(in_%s[i%d] | 1:%s))", akg_dtype_name(dtype), g->loop,
                        akg_dtype_name(dtype));
        else
            text_format(&g->text, "%lld:%s)", divisor > 0 ? (long long)divisor : -7 & 127,
                        akg_dtype_name(dtype));
    } else if (draw(g, 10) == 0) {
        bool divides = draw(g, 4);
        put(g, "(");
        expression(g, dtype, depth - 1);
        text_format(&g->text, " %s %d:%s)", divides ? draw(g, 2) ? "//" : "%" : "**",
                    divides ? 1 << draw(g, 6) : (int)draw(g, 30), akg_dtype_name(dtype));
    } else if (draw(g, 3)) {
        infix(g, infixes[draw(g, 8)], dtype, depth);
    } else {
        apply(g, words[kind], kind < 5 ? 1 : 2, dtype, depth);
    }
}

static void expression(struct generator *g, akg_dtype dtype, int depth)
{
    unsigned kind = draw(g, 10);
    if (depth <= 0 || kind == 0) {
        leaf(g, dtype);
    } else if (kind == 1) {
        put(g, "select(");
        expression(g, AKG_BOOL, depth - 1);
        put(g, ", ");
        expression(g, dtype, depth - 1);
        put(g, ", ");
        expression(g, dtype, depth - 1);
        put(g, ")");
    } else if (kind < 4) {
        akg_dtype from = draw(g, 5) ? some_dtype(g) : AKG_BOOL;
        if (from == dtype)
            leaf(g, dtype);
        else
            apply(g, akg_dtype_name(dtype), 1, from, depth);
    } else if (dtype == AKG_BOOL) {
        truth(g, depth);
    } else if (dtype_is_float(dtype)) {
        real(g, dtype, depth);
    } else {
        whole(g, dtype, depth);
    }
}

static void statement(struct generator *g, int depth)
{
    akg_dtype dtype = draw(g, 6) ? some_dtype(g) : AKG_BOOL;
    unsigned kind = draw(g, 8);
    if (kind == 0 && depth > 0) {
        put(g, "if ");
        expression(g, AKG_BOOL, 2);
        put(g, " {\n");
        statement(g, depth - 1);
        put(g, "}");
        if (draw(g, 2)) {
            put(g, " else {\n");
            statement(g, depth - 1);
            put(g, "}");
        }
        put(g, "\n");
    } else if (kind < 4 && g->carried) {
        int carried = (int)draw(g, (unsigned)g->carried);
        text_format(&g->text, "acc%d = ", g->carried_names[carried]);
        expression(g, g->carried_dtypes[carried], 2);
        put(g, "\n");
    } else if (kind < 3 && g->lets[dtype] < 8 && depth == 2) {
        text_format(&g->text, "let s%d: %s = ", ++g->names, akg_dtype_name(dtype));
        expression(g, dtype, 3);
        put(g, "\n");
        g->let_names[dtype][g->lets[dtype]++] = g->names;
    } else {
        text_format(&g->text, g->row ? "out_%s[(i%d + i%d)] = " : "out_%s[i%d] = ", akg_dtype_name(dtype),
                    g->loop, g->row);
        expression(g, dtype, 1 + (int)draw(g, 3));
        text_format(&g->text, " @%d:1\n", ++g->names);
    }
}

/* What may be reordered without a change: integers, and the least and greatest of floats. */
static void accumulation(struct generator *g, akg_dtype dtype, int number)
{
    static const char *const words[] = {"+", "*", "&", "|", "^"};
    const char *name = akg_dtype_name(dtype);
    if (draw(g, 4) == 0 && !dtype_is_float(dtype)) {
        put(g, "if ");
        expression(g, AKG_BOOL, 2);
        text_format(&g->text, " {\nacc%d = (acc%d + ", number, number);
        text_format(&g->text, "1:%s)\n}", name);
        if (draw(g, 2)) { /* in the other case something else, in the same way most times */
            text_format(&g->text, " else {\nacc%d = (acc%d %s ", number, number, draw(g, 4) ? "+" : "^");
            expression(g, dtype, 2);
            put(g, ")\n}");
        }
        put(g, "\n");
    } else if (dtype_is_float(dtype) || draw(g, 3) == 0) {
        text_format(&g->text, "acc%d = %s(acc%d, ", number, draw(g, 2) ? "min" : "max", number);
        expression(g, dtype, 2);
        put(g, ")\n");
    } else {
        text_format(&g->text, "acc%d = (acc%d %s ", number, number, words[draw(g, 5)]);
        expression(g, dtype, 2);
        put(g, ")\n");
    }
}

static void declare(struct generator *g, int number, akg_dtype dtype)
{
    const char *name = akg_dtype_name(dtype);
    text_format(&g->text, "var acc%d: %s = 3%s:%s\n", number, name, dtype_is_float(dtype) ? ".0" : "", name);
}

static void declare_carried(struct generator *g)
{
    g->carried = draw(g, 3) == 0 ? 1 + (int)draw(g, CARRIED) : 0;
    for (int k = 0; k < g->carried; k++) {
        g->carried_names[k] = ++g->names;
        g->carried_dtypes[k] = some_dtype(g);
        declare(g, g->carried_names[k], g->carried_dtypes[k]);
    }
}

/* Whose bounds hang on the loop around, where there is one. */
static void loop_head(struct generator *g)
{
    unsigned kind = draw(g, 6);
    if (g->around && kind < 3)
        text_format(&g->text,
                    kind == 0   ? "for i%d = i%d to (N + 4) step 1 {\n"
                    : kind == 1 ? "for i%d = 4 to i%d step 1 {\n"
                                : "for i%d = (i%d + N) to 4 step -1 {\n",
                    g->loop, g->around);
    else if (kind == 4)
        text_format(&g->text, "for i%d = (N + 3) to 3 step -1 {\n", g->loop);
    else if (kind == 5)
        text_format(&g->text, "for i%d = 4 to (N + 4) step 3 {\n", g->loop);
    else
        text_format(&g->text, "for i%d = 4 to (N + 4) step 1 {\n", g->loop);
}

/* An index that is computed: inside the 80 elements, or, seldom, perhaps not. */
static void scattered_index(struct generator *g)
{
    static const akg_dtype dtypes[] = {AKG_INT32, AKG_INT64, AKG_UINT8, AKG_UINT32, AKG_INT16};
    akg_dtype dtype = dtypes[draw(g, 5)];
    put(g, "int64(");
    if (g->tested && draw(g, 20) == 0) {
        load(g, dtype);
    } else {
        put(g, "(");
        expression(g, dtype, 2);
        text_format(&g->text, " & %d:%s)", draw(g, 2) ? 63 : 3, akg_dtype_name(dtype));
    }
    put(g, ")?");
}

static bool has_plane(int dtype)
{
    return dtype_table[dtype].size >= 4;
}

/* One of 4, or, seldom, perhaps not. */
static void scattered_column(struct generator *g)
{
    bool outside = g->tested && draw(g, 10) == 0;
    if (draw(g, 2))
        text_format(&g->text, ", (i%d %% %d)%s]", g->loop, outside ? 5 : 4, outside ? "?" : "");
    else
        text_format(&g->text, ", int64((in_uint8[i%d] & 3:uint8))%s]", g->loop, draw(g, 2) ? "?" : "");
}

/* out[index] = out[index] op expression, or just an expression, perhaps under a condition. */
static void scatter(struct generator *g, akg_dtype dtype, const char *word, bool plane)
{
    const char *name = akg_dtype_name(dtype);
    bool choice = draw(g, 4) == 0, extreme = !word;
    size_t start, end;
    if (choice) {
        put(g, "if ");
        expression(g, AKG_BOOL, 2);
        put(g, " {\n");
    }
    start = g->text.length;
    text_format(&g->text, "%s_%s[", plane ? "plane" : "out", name);
    scattered_index(g);
    if (plane)
        scattered_column(g);
    else
        put(g, "]");
    end = g->text.length;
    if (word && !*word) {
        put(g, " = ");
        expression(g, dtype, 2);
        text_format(&g->text, " @%d:1\n%s", ++g->names, choice ? "}\n" : "");
        return;
    }
    text_format(&g->text, extreme ? " = max(%.*s, " : " = (%.*s %s ", (int)(end - start),
                g->text.data + start, word);
    if (draw(g, 3))
        expression(g, dtype, 2);
    else
        constant(g, dtype);
    text_format(&g->text, ") @%d:1\n%s", ++g->names, choice ? "}\n" : "");
}

/* Into one tensor, perhaps by several statements, mostly by one operation. */
static void scatter_loop(struct generator *g)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32};
    static const akg_dtype elements[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32,
                                         AKG_INT64,   AKG_UINT32,  AKG_UINT64};
    static const char *const words[] = {"+", "+", "-", "*", NULL, "", "&", "^"};
    akg_dtype dtype = elements[draw(g, 6)];
    unsigned kinds = dtype_is_float(dtype) ? 6 : 8;
    const char *word = words[draw(g, kinds)];
    bool plane = draw(g, 3) == 0;
    g->loop = ++g->names;
    g->row = g->around = g->carried = 0;
    g->calls = false;
    g->dtype_count = 3;
    memset(g->lets, 0, sizeof g->lets);
    memcpy(g->dtypes, dtypes, sizeof g->dtypes);
    text_format(&g->text, "for i%d = 4 to (N + 4) step %d {\n", g->loop, 1 + 2 * (draw(g, 4) == 0));
    for (unsigned count = draw(g, 2) ? 1 : 2 + draw(g, 2); count; count--)
        scatter(g, dtype, draw(g, 10) ? word : words[draw(g, kinds)], plane);
    put(g, "}\n");
}

static void choose_dtypes(struct generator *g)
{
    static const akg_dtype families[][3] = {
        {AKG_FLOAT32, AKG_INT32, AKG_FLOAT32},  {AKG_FLOAT64, AKG_INT64, AKG_FLOAT64},
        {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32},  {AKG_INT8, AKG_INT16, AKG_INT32},
        {AKG_UINT8, AKG_UINT16, AKG_FLOAT32},   {AKG_FLOAT16, AKG_FLOAT32, AKG_INT8},
        {AKG_BFLOAT16, AKG_FLOAT32, AKG_INT16}, {AKG_UINT32, AKG_INT32, AKG_FLOAT32},
        {AKG_UINT64, AKG_INT64, AKG_UINT32}};
    g->loop = ++g->names;
    g->around = g->row = 0;
    g->calls = draw(g, 4) == 0;
    g->dtype_count = 3;
    memset(g->lets, 0, sizeof g->lets);
    memcpy(g->dtypes, families[draw(g, 9)], sizeof g->dtypes);
    if (draw(g, 8) == 0)
        for (int k = 0; k < 3; k++)
            g->dtypes[k] = (akg_dtype)(1 + draw(g, AKG_DTYPE_COUNT - 1));
}

static void store_carried(struct generator *g)
{
    for (int k = 0; k < g->carried; k++)
        text_format(&g->text, "out_%s[%d] = acc%d\n", akg_dtype_name(g->carried_dtypes[k]), k + 1,
                    g->carried_names[k]);
}

/* A loop that accumulates, perhaps, and stores what it has. */
static void one_loop(struct generator *g)
{
    bool accumulates = draw(g, 3) == 0;
    int number = ++g->names;
    akg_dtype dtype = some_dtype(g);
    if (accumulates)
        declare(g, number, dtype);
    g->row = !accumulates && !g->around && draw(g, 3) == 0 ? ++g->names : 0;
    if (g->row)
        text_format(&g->text, "for i%d = 0 to %d step 1 {\n", g->row, 1 + (int)draw(g, 3));
    loop_head(g);
    for (unsigned k = draw(g, 3) + 1; k; k--)
        statement(g, 2);
    if (accumulates)
        accumulation(g, dtype, number);
    put(g, g->row ? "}\n}\n" : "}\n");
    if (accumulates)
        text_format(&g->text, "out_%s[0] = acc%d\n", akg_dtype_name(dtype), number);
}

static void loop(struct generator *g)
{
    choose_dtypes(g);
    declare_carried(g);
    one_loop(g);
    store_carried(g);
}

/* Perhaps of what one of the two was before, or has become. */
static void half_of_pair(struct generator *g, akg_dtype dtype, bool second)
{
    const char *name = akg_dtype_name(dtype);
    bool changes = dtype != AKG_BOOL && draw(g, 3) == 0;
    text_format(&g->text, "out_%s[((i%d * 2) + %d)] = ", name, g->loop, second);
    if (changes)
        text_format(&g->text, "(out_%s[((i%d * 2) + %u)] + ", name, g->loop, draw(g, 2));
    expression(g, dtype, 2);
    put(g, changes ? ")\n" : "\n");
}

/* Elements that lie two by two for each iteration, loaded and stored. */
static void pair_loop(struct generator *g)
{
    choose_dtypes(g);
    g->carried = 0;
    akg_dtype from = some_dtype(g), dtype = draw(g, 8) ? some_dtype(g) : AKG_BOOL;
    bool choice = draw(g, 4) == 0, turned = draw(g, 2);
    loop_head(g);
    for (int k = 0; k < 2; k++) {
        int number = g->let_names[from][g->lets[from]++] = ++g->names;
        text_format(&g->text, "let s%d: %s = in_%s[((i%d * 2) + %d)]\n", number, akg_dtype_name(from),
                    akg_dtype_name(from), g->loop, k);
    }
    if (choice) {
        put(g, "if ");
        expression(g, AKG_BOOL, 2);
        put(g, " {\n");
    }
    half_of_pair(g, dtype, turned);
    half_of_pair(g, dtype, !turned);
    put(g, choice ? "}\n}\n" : "}\n");
}

/* Statements and loops by turns. */
static void band(struct generator *g)
{
    static const char *const heads[] = {"for i%d = 4 to 9 step 1 {\n", "for i%d = 8 to 3 step -1 {\n",
                                        "for i%d = 4 to 9 step 2 {\n"};
    choose_dtypes(g);
    g->calls &= draw(g, 2);
    declare_carried(g);
    int around = g->loop;
    text_format(&g->text, heads[draw(g, 3)], around);
    for (unsigned parts = 1 + draw(g, 3); parts; parts--) {
        int lets[AKG_DTYPE_COUNT];
        for (unsigned k = draw(g, 3); k; k--)
            statement(g, 2);
        memcpy(lets, g->lets, sizeof lets);
        g->loop = ++g->names;
        g->around = around;
        one_loop(g);
        g->loop = around;
        g->around = 0;
        memcpy(g->lets, lets, sizeof lets);
    }
    statement(g, 2);
    put(g, "}\n");
    store_carried(g);
}

static void kernel_text(struct generator *g)
{
    put(g, "kernel k {\n attribute n: int64\n input shape: bool[N]\n");
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        const char *name = akg_dtype_name((akg_dtype)dtype);
        if (dtype % 3 != (int)(g->state % 3))
            text_format(&g->text, " input st_%s: %s[160] strided\n", name, name);
        else
            text_format(&g->text, " input st_%s: %s[160]\n", name, name);
    }
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        const char *name = akg_dtype_name((akg_dtype)dtype);
        text_format(&g->text,
                    " input in_%s: %s[176]\n input table_%s: %s[80, 3]\n output out_%s: %s[160] clear\n",
                    name, name, name, name, name, name);
        if (has_plane(dtype))
            text_format(&g->text, " output plane_%s: %s[80, 4] clear\n", name, name);
    }
    text_format(&g->text, " parameters n, shape");
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
        text_format(&g->text, ", st_%s, in_%s, table_%s", akg_dtype_name((akg_dtype)dtype),
                    akg_dtype_name((akg_dtype)dtype), akg_dtype_name((akg_dtype)dtype));
    put(g, "\n results ");
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
        text_format(&g->text, "%sout_%s", dtype ? ", " : "", akg_dtype_name((akg_dtype)dtype));
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
        if (has_plane(dtype))
            text_format(&g->text, ", plane_%s", akg_dtype_name((akg_dtype)dtype));
    put(g, "\n body {\n");
    for (int k = 0; k < LOOPS; k++)
        if (draw(g, 6) == 0)
            scatter_loop(g);
        else if (draw(g, 8) == 0)
            pair_loop(g);
        else if (draw(g, 3))
            loop(g);
        else
            band(g);
    put(g, " }\n}\n");
}

/* Tensors that come with strides have, every other time, the ones that vector code counts on. */
static void straighten(struct jit_pair *pair)
{
    for (int k = 0; k < pair->kernel->buffers.count; k++)
        if (!pair->kernel->buffers.items[k]->contiguous) {
            pair->strides[k][0] = 1;
            pair->firsts[k] = 0;
        }
}

struct counts {
    int loops, serial, bands, gathering, waiting;
};

static bool agrees(uint64_t seed, enum x86_target target, struct counts *counts)
{
    struct generator g = {.state = seed * 77777, .tested = seed % 2};
    struct jit_pair pair;
    int status;
    text_init(&g.text);
    for (int k = 0; k < 5; k++)
        draw(&g, 2);
    kernel_text(&g);
    pair_init(&pair);
    pair.vectors.target = target;
    pair.vectors.splits = seed / 2 % 2;
    bool good = pair_read(&pair, g.text.data) && pair_compile(&pair, !g.tested);
    counts->loops += pair.vector_loops;
    counts->serial += pair.serial_loops;
    counts->bands += pair.bands;
    counts->gathering += pair.gathering_loops;
    counts->waiting += pair.waiting_loops;
    for (int round = 0; good && round < 4; round++) {
        pair.dims[0] = round ? draw(&g, LONGEST + 1) : 64 + draw(&g, 5);
        pair.scalars[0].i = (int64_t)draw(&g, 100) - 50;
        good = pair_allocate(&pair);
        if (round % 2)
            straighten(&pair);
        pair_fill(&pair, &g.state, true);
        good = good && pair_run(&pair, &status);
    }
    if (!good)
        fprintf(stderr, "%s\n%s\nseed %llu, target %s\n", g.text.data, pair.text.data ? pair.text.data : "",
                (unsigned long long)seed, x86_target_name(target));
    pair_free(&pair);
    text_free(&g.text);
    return good;
}

/* Two elements side by side under a mask whose address comes out of a slot, for a function was called: the
 * masks are made before the address is loaded. */
static void test_masked_pair(enum x86_target target)
{
    static const char text[] =
        "kernel k {\n input shape: bool[N]\n input x: float64[176]\n input t: float64[80, 3]\n"
        " input u: int64[352]\n output y: float64[160] clear\n parameters shape, x, t, u\n results y\n"
        " body {\nfor i = 4 to (N + 4) step 1 {\n let a: int64 = u[((i * 2) + 0)]\n"
        " let b: int64 = u[((i * 2) + 1)]\n if (10000000000.0:float64 != (-inf:float64 / x[i])) {\n"
        "y[((i * 2) + 0)] = tanh(sqrt(x[i]))\n"
        "y[((i * 2) + 1)] = ((t[i, 1] + t[min(max((i - 56), 0), 79), 0]) - nan:float64)\n}\n}\n }\n}\n";
    struct generator g = {.state = 1};
    struct jit_pair pair;
    int status = 0;
    pair_init(&pair);
    pair.vectors.target = target;
    bool good = pair_read(&pair, text) && pair_compile(&pair, true);
    CHECK(good && pair.vector_loops == 1);
    pair.dims[0] = 64;
    good = good && pair_allocate(&pair);
    if (good)
        pair_fill(&pair, &g.state, true);
    CHECK(good && pair_run(&pair, &status));
    pair_free(&pair);
}

#ifdef AKG_SANITIZED
enum { USUAL = 120 /* sanitizers take their time */ };
#else
enum { USUAL = 300 };
#endif

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : USUAL;
    for (int target = X86_TARGET_AVX2; target <= X86_TARGET_AVX512; target++) {
        struct counts counts = {0, 0, 0, 0, 0};
        if (target > (int)x86_cpu_target()) {
            printf("skipped: this processor has no %s\n", x86_target_name((enum x86_target)target));
            continue;
        }
        for (int k = 0; k < count; k++)
            if (!CHECK(agrees(first + (uint64_t)k, (enum x86_target)target, &counts)))
                break;
        test_masked_pair((enum x86_target)target);
        int loops = count * LOOPS;
        printf("%s: %d of %d loops are vector code, %d of one lane; %d are bands, %d gather, %d wait\n",
               x86_target_name((enum x86_target)target), counts.loops, loops, counts.serial, counts.bands,
               counts.gathering, counts.waiting);
        CHECK(counts.gathering * 40 >= loops && counts.loops * 2 >= loops && counts.bands * 16 >= loops);
        CHECK(counts.serial * 18 >= loops && counts.waiting * 100 >= loops);
    }
    return check_done();
}
