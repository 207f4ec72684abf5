/*
 * test_emit_c_random.c: random kernels, run by libtcc's code and by the interpreter, and, some of them,
 * compiled by gcc: without a warning, with optimisation, and with the same results.
 *
 * Arguments: first seed and number of kernels (default 1 and 150), and how often gcc is used, where there is
 * one (every 50th).
 */
#include "check.h"
#include "jit_pair.h"

#include "../../jit/scalar_library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

enum { ELEMENTS = 8, VARIABLES = 3 };

struct generator {
    struct text text;
    uint64_t state;
    int names;
    int lets[AKG_DTYPE_COUNT];      /* visible ones: s<dtype>_0 ... */
    int variables[AKG_DTYPE_COUNT]; /* v<dtype>_0 ... */
    int loops, loop_names[3];       /* those around: i<name> */
    bool has_halves;
};

static unsigned draw(struct generator *g, unsigned count)
{
    return pair_draw(&g->state, count);
}

static int some_loop(struct generator *g)
{
    return g->loop_names[draw(g, (unsigned)g->loops)];
}

static void put(struct generator *g, const char *string)
{
    text_string(&g->text, string);
}

static const char *name_of(akg_dtype dtype)
{
    return akg_dtype_name(dtype);
}

static void expression(struct generator *g, akg_dtype dtype, int depth);

static int64_t interesting(struct generator *g, akg_dtype dtype)
{
    return pair_interesting(&g->state, dtype);
}

static void constant(struct generator *g, akg_dtype dtype, bool positive)
{
    static const char *const reals[] = {"0.0",   "-0.0", "1.0",  "-1.5", "2.5", "0.1",
                                        "100.0", "1e10", "-3.7", "inf",  "nan"};
    if (dtype == AKG_BOOL) {
        put(g, draw(g, 2) ? "true" : "false");
    } else if (dtype_is_float(dtype)) {
        union dtype_value value = dtype_from_double(dtype, strtod(reals[draw(g, 11)], NULL));
        text_double(&g->text, dtype_to_double(dtype, value));
        text_format(&g->text, ":%s", name_of(dtype));
    } else {
        int64_t value = positive ? (int64_t)draw(g, 9) + 1 : interesting(g, dtype);
        if (dtype == AKG_UINT64)
            text_format(&g->text, "%llu:uint64", (unsigned long long)value);
        else
            text_format(&g->text, "%lld:%s", (long long)value, name_of(dtype));
    }
}

/* Half of the kernels have no halves: more of the others. */
static akg_dtype some_dtype(struct generator *g)
{
    akg_dtype dtype;
    do
        dtype = (akg_dtype)draw(g, AKG_DTYPE_COUNT);
    while (dtype_is_half(dtype) && !g->has_halves);
    return dtype;
}

/* An index of an axis of ELEMENTS: mostly one that is surely inside. */
static void place(struct generator *g, int depth)
{
    unsigned kind = draw(g, 30);
    if (kind == 0 && draw(g, 4) == 0 && depth > 0) {
        expression(g, AKG_INT64, 1);
        put(g, "?");
    } else if (kind == 1 && g->loops && draw(g, 3) == 0) {
        text_format(&g->text, "(i%d + %u)?", some_loop(g), draw(g, 3));
    } else if (kind < 8 && depth > 0) {
        put(g, "(");
        expression(g, AKG_INT64, depth - 1);
        put(g, " % 8)");
    } else if (kind < 25 && g->loops) {
        text_format(&g->text, "i%d", some_loop(g));
    } else {
        text_format(&g->text, "%u", draw(g, ELEMENTS));
    }
}

static void leaf(struct generator *g, akg_dtype dtype)
{
    unsigned kind = draw(g, 8);
    if (dtype == AKG_INT64 && kind < 3 && g->loops) {
        text_format(&g->text, "i%d", some_loop(g));
    } else if (dtype == AKG_INT64 && kind == 3) {
        put(g, draw(g, 2) ? "N" : "n");
    } else if (kind < 2) {
        constant(g, dtype, false);
    } else if (kind < 4 && g->lets[dtype]) {
        text_format(&g->text, "s%d_%u", dtype, draw(g, (unsigned)g->lets[dtype]));
    } else if (kind < 6 && g->variables[dtype]) {
        text_format(&g->text, "v%d_%u", dtype, draw(g, (unsigned)g->variables[dtype]));
    } else if (dtype == AKG_FLOAT32 && draw(g, 3) == 0) {
        put(g, "strided[");
        place(g, 1);
        put(g, ", ");
        place(g, 1);
        put(g, "]");
    } else {
        text_format(&g->text, "in_%s[", name_of(dtype));
        place(g, 2);
        put(g, "]");
    }
}

static bool takes(enum operation operation, akg_dtype dtype)
{
    switch (operation_table[operation].rule) {
    case RULE_NUMERIC:
        return dtype != AKG_BOOL;
    case RULE_FLOATING:
        return dtype_is_float(dtype);
    case RULE_INTEGRAL:
        return dtype_is_integer(dtype);
    case RULE_BITWISE:
        return !dtype_is_float(dtype);
    default:
        return false;
    }
}

static void operation_text(struct generator *g, enum operation operation, akg_dtype dtype, int depth)
{
    const struct operation_row *row = &operation_table[operation];
    bool word = row->text[0] >= 'a' && row->text[0] <= 'z';
    bool power = operation == OP_POW,
         divides = operation == OP_FLOORDIV || operation == OP_MOD || operation == OP_CEIL_DIV || power;
    bool checked = divides && dtype_is_integer(dtype) && !(power && !dtype_is_signed(dtype));
    bool tame = checked && draw(g, 12) != 0; /* by a positive constant */
    const char *mark = checked && !tame ? "?" : "";
    if (row->arity == 2 && !word) {
        put(g, "(");
        expression(g, dtype, depth - 1);
        text_format(&g->text, " %s%s ", row->text, mark);
    } else {
        text_format(&g->text, "%s(", row->text);
        for (int k = 0; k < row->arity - (row->arity == 2); k++) {
            put(g, k ? ", " : "");
            expression(g, dtype, depth - 1);
        }
        put(g, row->arity == 2 ? ", " : "");
    }
    if (row->arity == 2 && tame)
        constant(g, dtype, true);
    else if (row->arity == 2)
        expression(g, dtype, depth - 1);
    put(g, word && row->arity > 1 ? mark : "");
    put(g, ")");
}

static void choice(struct generator *g, akg_dtype dtype, int depth)
{
    put(g, "select(");
    expression(g, AKG_BOOL, depth - 1);
    put(g, ", ");
    expression(g, dtype, depth - 1);
    put(g, ", ");
    expression(g, dtype, depth - 1);
    put(g, ")");
}

static void truth(struct generator *g, int depth)
{
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!=", "and", "or", "==", "!="};
    static const char *const classes[] = {"isnan", "isinf", "isfinite"};
    unsigned kind = draw(g, 13);
    if (kind < 10) {
        akg_dtype dtype = kind < 6 ? some_dtype(g) : AKG_BOOL;
        if (dtype == AKG_BOOL && kind < 6)
            dtype = AKG_INT64;
        put(g, "(");
        expression(g, dtype, depth - 1);
        text_format(&g->text, " %s ", comparisons[kind]);
        expression(g, dtype, depth - 1);
        put(g, ")");
    } else if (kind == 10) {
        text_format(&g->text, "%s(", classes[draw(g, 3)]);
        expression(g,
                   g->has_halves ? (akg_dtype)(AKG_FLOAT16 + draw(g, 4))
                   : draw(g, 2)  ? AKG_FLOAT32
                                 : AKG_FLOAT64,
                   depth - 1);
        put(g, ")");
    } else {
        put(g, kind == 11 ? "not(" : "~(");
        expression(g, AKG_BOOL, depth - 1);
        put(g, ")");
    }
}

static void expression(struct generator *g, akg_dtype dtype, int depth)
{
    unsigned kind = draw(g, 10);
    if (depth <= 0 || kind == 0) {
        leaf(g, dtype);
    } else if (kind == 1) {
        choice(g, dtype, depth);
    } else if (kind < 4) {
        akg_dtype from = some_dtype(g);
        if (from == dtype) {
            expression(g, dtype, depth - 1);
            return;
        }
        text_format(&g->text, "%s(", name_of(dtype));
        expression(g, from, depth - 1);
        put(g, ")");
    } else if (dtype == AKG_BOOL && kind < 9) {
        truth(g, depth);
    } else {
        enum operation operation;
        do
            operation = (enum operation)draw(g, draw(g, 3) ? OP_FMA : OPERATION_COUNT);
        while (!takes(operation, dtype));
        operation_text(g, operation, dtype, depth);
    }
}

static void block(struct generator *g, int depth);

static void loop(struct generator *g, int depth)
{
    int name = ++g->names;
    text_format(&g->text, "for i%d = ", name);
    if (draw(g, 3) == 0)
        text_format(&g->text, "%u to -1 step -%u {\n", draw(g, ELEMENTS), draw(g, 3) + 1);
    else
        text_format(&g->text, "%u to %s step %u {\n", draw(g, 2), draw(g, 2) ? "N" : "8", draw(g, 3) + 1);
    g->loop_names[g->loops++] = name;
    block(g, depth - 1);
    g->loops--;
    put(g, "}\n");
}

/* As long as something holds, but not for ever. */
static void loop_while(struct generator *g, int depth)
{
    int name = ++g->names;
    text_format(&g->text, "var w%d: int64 = 0:int64\nwhile ((w%d < %u:int64) and ", name, name,
                draw(g, 6) + 1);
    expression(g, AKG_BOOL, 2);
    text_format(&g->text, ") {\nw%d = (w%d + 1:int64)\n", name, name);
    block(g, depth - 1);
    put(g, "}\n");
}

static void branch(struct generator *g, int depth)
{
    put(g, "if ");
    expression(g, AKG_BOOL, 2);
    put(g, " {\n");
    block(g, depth - 1);
    if (g->loops && draw(g, 8) == 0)
        put(g, draw(g, 2) ? "break\n" : "continue\n");
    put(g, "}");
    while (draw(g, 3) == 0) {
        put(g, " else if ");
        expression(g, AKG_BOOL, 2);
        put(g, " {\n");
        block(g, depth - 1);
        put(g, "}");
    }
    if (draw(g, 2)) {
        put(g, " else {\n");
        block(g, depth - 1);
        put(g, "}");
    }
    put(g, "\n");
}

/* Names are unique in a kernel, so scalars are declared at the top level only. */
static void statement(struct generator *g, int depth)
{
    akg_dtype dtype = some_dtype(g);
    unsigned kind = draw(g, 10);
    if (kind == 0 && depth > 0) {
        branch(g, depth);
    } else if (kind == 1 && depth > 0 && g->loops < 3) {
        loop(g, depth);
    } else if (kind == 2 && depth > 1 && g->loops && draw(g, 2) == 0) {
        loop_while(g, depth);
    } else if (kind < 4 && g->variables[dtype]) {
        text_format(&g->text, "v%d_%u = ", dtype, draw(g, (unsigned)g->variables[dtype]));
        expression(g, dtype, 3);
        put(g, "\n");
    } else {
        text_format(&g->text, "out_%s[", name_of(dtype));
        place(g, 2);
        put(g, "] = ");
        expression(g, dtype, 2 + (int)draw(g, 4));
        text_format(&g->text, " @%d:1\n", ++g->names);
    }
}

static void block(struct generator *g, int depth)
{
    for (unsigned k = draw(g, 4) + 1; k; k--)
        statement(g, depth);
}

static void declarations(struct generator *g)
{
    for (int k = 0; k < VARIABLES * 2; k++) {
        akg_dtype dtype = some_dtype(g);
        bool variable = k % 2;
        int *count = variable ? &g->variables[dtype] : &g->lets[dtype];
        text_format(&g->text, "%s %c%d_%d: %s = ", variable ? "var" : "let", variable ? 'v' : 's', dtype,
                    *count, name_of(dtype));
        expression(g, dtype, 3);
        put(g, "\n");
        ++*count;
    }
}

static void kernel_text(struct generator *g)
{
    put(g, "kernel k {\n attribute n: int64\n input shape: bool[N]\n input strided: float32[8, 8] strided\n");
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
        text_format(&g->text, " input in_%s: %s[8]\n output out_%s: %s[8] clear%s\n",
                    name_of((akg_dtype)dtype), name_of((akg_dtype)dtype), name_of((akg_dtype)dtype),
                    name_of((akg_dtype)dtype), "");
    put(g, " parameters n, shape, strided");
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
        text_format(&g->text, ", in_%s", name_of((akg_dtype)dtype));
    put(g, "\n results ");
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
        text_format(&g->text, "%sout_%s", dtype ? ", " : "", name_of((akg_dtype)dtype));
    put(g, "\n body {\n");
    declarations(g);
    for (int k = 0; k < 4; k++)
        loop(g, 3);
    put(g, " }\n}\n");
}

/* ---- gcc --------------------------------------------------------- */

/* The library's functions are not visible to a shared object: it gets one for each that goes through a table.
 * The arguments of the call are the last words of the parameters. */
static void forward_library(FILE *file)
{
    fputs("void *host_table[300];\n", file);
    for (int row = 0; scalar_library[row].name; row++) {
        const char *prototype = scalar_library[row].prototype, *name = scalar_library[row].name;
        if (strncmp(name, "akg_", 4) != 0)
            continue;
        fprintf(file, "%s\n%.*s\n{\n    return ((__typeof__(&%s))host_table[%d])(", prototype,
                (int)strlen(prototype) - 1, prototype, name, row);
        for (const char *at = strchr(prototype, '('); *at != ';'; at++)
            if (*at == ',' || *at == ')') {
                const char *word = at;
                while (word[-1] != ' ')
                    word--;
                fprintf(file, "%.*s%s", (int)(at - word), word, *at == ',' ? ", " : "");
            }
        fputs(");\n}\n", file);
    }
}

static bool build(const char *text, const char *object)
{
    char source[] = "/tmp/akg_emit_XXXXXX.c", command[400];
    int descriptor = mkstemps(source, 2);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file)
        return false;
    fputs(text, file);
    forward_library(file);
    fclose(file);
    /* random text may well ask whether (x & 0) == 1 or (x < y) > 1, and divide by a scalar that is 0 */
    snprintf(command, sizeof command,
             "gcc -std=gnu11 -O2 -Wall -Werror -Wno-tautological-compare -Wno-bool-compare -Wno-div-by-zero "
             "-ffp-contract=off -fno-builtin -shared -fPIC -x c %s -o %s -lm",
             source, object);
    bool good = system(command) == 0;
    unlink(source);
    return good;
}

/* Compiles the text with all warnings as errors and runs it in libtcc's place. */
static bool agrees_compiled(struct jit_pair *pair)
{
    char object[] = "/tmp/akg_emit_XXXXXX.so";
    int descriptor = mkstemps(object, 3), status;
    if (descriptor < 0)
        return false;
    close(descriptor);
    void *library = build(pair->text.data, object) ? dlopen(object, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(object);
    if (!library)
        return false;
    void **table = dlsym(library, "host_table"), *symbol = dlsym(library, "akg_kernel");
    for (int row = 0; scalar_library[row].name; row++)
        table[row] = scalar_library[row].address;
    jit_entry instant = pair->code.entry;
    memcpy(&pair->code.entry, &symbol, sizeof symbol);
    bool good = pair_run(pair, &status);
    pair->code.entry = instant;
    dlclose(library);
    return good;
}

static bool random_agrees(uint64_t seed, bool compiled, int *stopped, int *flows)
{
    struct generator g = {.state = seed * 77777, .has_halves = seed % 2};
    struct jit_pair pair;
    int status = 0;
    text_init(&g.text);
    for (int k = 0; k < 5; k++)
        draw(&g, 2);
    kernel_text(&g);
    pair_init(&pair);
    pair.dims[0] = ELEMENTS;
    pair.scalars[0].i = -3;
    if (compiled) /* all of it must be C */
        pair.vectors.target = X86_TARGET_NONE;
    bool good = pair_read(&pair, g.text.data) && pair_compile(&pair, false) && pair_allocate(&pair);
    *flows += pair.flows;
    if (good) {
        pair_fill(&pair, &g.state, false);
        good = pair_run(&pair, &status) && (!compiled || agrees_compiled(&pair));
        *stopped += status;
    }
    if (!good)
        fprintf(stderr, "%s\n%s\nseed %llu\n", g.text.data, pair.text.data ? pair.text.data : "",
                (unsigned long long)seed);
    pair_free(&pair);
    text_free(&g.text);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : 150, every = argc > 3 ? atoi(argv[3]) : 50, stopped = 0, flows = 0;
    bool has_compiler = system("gcc --version >/dev/null 2>&1") == 0;
    for (int k = 0; k < count; k++)
        if (!CHECK(random_agrees(first + (uint64_t)k, has_compiler && k % every == 0, &stopped, &flows)))
            break;
    printf("%d of %d stopped, %d loops with branches are machine code\n", stopped, count, flows);
    CHECK(flows > 0 || x86_cpu_target() == X86_TARGET_NONE || count < 20);
    return check_done();
}
