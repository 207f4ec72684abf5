/*
 * test_emit_c.c: the C emitter and the libtcc backend against the interpreter:
 * every operation on every dtype over edge values, casts, traps, laziness, loops, clearing, strides, names,
 * and kernels of great depth and length.
 */
#include "../../jit/passes.h"
#include "../../jit/scalar_library.h"
#include "../../jit/vector_plan.h"
#include "check.h"
#include "jit_pair.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const double edges[] = {0,
                               1,
                               2,
                               3,
                               7,
                               8,
                               31,
                               63,
                               100,
                               -1,
                               -2,
                               -3,
                               -7,
                               -64,
                               127,
                               -128,
                               255,
                               32767,
                               -32768,
                               65535,
                               2147483647.0,
                               -2147483648.0,
                               4294967295.0,
                               9223372036854774784.0,
                               -9223372036854775808.0};
static const double fractions[] = {-0.0,   0.5,   -0.5,   1.5,   2.5,   -2.5,    3.7,      -3.7,      1e-3,
                                   65504,  65520, 1e10,   -1e10, 1e-8,  1e30,    -1e30,    3.4e38,    1e-40,
                                   5e-324, 1e300, 2.9e-8, 1e19,  127.5, 1.25e-7, INFINITY, -INFINITY, NAN};

enum { EDGES = sizeof edges / sizeof *edges, FRACTIONS = sizeof fractions / sizeof *fractions };

/* Edge value number k of a dtype; the last integers are its extremes. */
static int edge_count(akg_dtype dtype)
{
    return dtype_is_float(dtype) ? EDGES + FRACTIONS : dtype == AKG_BOOL ? 2 : EDGES + 4;
}

static union dtype_value edge(akg_dtype dtype, int k)
{
    if (dtype_is_float(dtype))
        return dtype_from_double(dtype, k < EDGES ? edges[k] : fractions[k - EDGES]);
    if (k < EDGES)
        return (union dtype_value){.i = dtype_wrap(dtype, k == EDGES - 1 ? INT64_MIN : (int64_t)edges[k])};
    int width = dtype_table[dtype].size * 8;
    uint64_t top = UINT64_C(1) << (width - 1);
    uint64_t extremes[] = {top, top + 1, top - 1, UINT64_MAX};
    return (union dtype_value){.i = dtype_wrap(dtype, (int64_t)extremes[k - EDGES])};
}

static void fill_edges(struct jit_pair *pair, int buffer)
{
    akg_dtype dtype = pair->kernel->buffers.items[buffer]->dtype;
    for (int k = 0; k < edge_count(dtype); k++)
        pair_set(pair, buffer, k, edge(dtype, k));
}

/* Runs the kernel of that text, inputs all filled with edge values; true when both sides agree on `expected`.
 */
static bool agrees(const char *text, int expected)
{
    struct jit_pair pair;
    int status = -1;
    pair_init(&pair);
    bool good = pair_read(&pair, text) && pair_compile(&pair, false);
    if (good) {
        pair.dims[0] = 5;
        pair.dims[1] = 3;
        good = pair_allocate(&pair);
        for (int k = 0; good && k < pair.kernel->buffers.count; k++)
            if (pair.kernel->buffers.items[k]->role != IR_OUTPUT) {
                int64_t count =
                    (int64_t)pair.sizes[k] / dtype_table[pair.kernel->buffers.items[k]->dtype].size;
                for (int64_t at = 0; at < count; at++)
                    pair_set(&pair, k, at,
                             dtype_from_double(pair.kernel->buffers.items[k]->dtype, (double)at - 2));
            }
        good = good && pair_run(&pair, &status) && status == expected;
    }
    if (!good)
        fprintf(stderr, "status %d for\n%s\n%s\n", status, text, pair.text.data ? pair.text.data : "");
    pair_free(&pair);
    return good;
}

/* ---- operations --------------------------------------------------------------- */

static const char *name_of(akg_dtype dtype)
{
    return akg_dtype_name(dtype);
}

/* `operation` applied, as IR text. */
static void apply_text(struct text *out, enum operation operation, const char *mark, const char *a,
                       const char *b, const char *c)
{
    const struct operation_row *row = &operation_table[operation];
    bool word = (row->text[0] >= 'a' && row->text[0] <= 'z') && operation != OP_AND && operation != OP_OR;
    if (row->arity == 2 && !word)
        text_format(out, "(%s %s%s %s)", a, row->text, mark, b);
    else if (row->arity == 1)
        text_format(out, "%s(%s%s)",
                    operation == OP_NOT      ? "not"
                    : operation == OP_BITNOT ? "~"
                                             : row->text,
                    a, mark);
    else if (row->arity == 2)
        text_format(out, "%s(%s, %s%s)", row->text, a, b, mark);
    else
        text_format(out, "%s(%s, %s, %s)", row->text, a, b, c);
}

static bool takes(enum operation operation, akg_dtype dtype)
{
    switch (operation_table[operation].rule) {
    case RULE_NUMERIC:
        return dtype != AKG_BOOL;
    case RULE_FLOATING:
    case RULE_CLASSIFY:
        return dtype_is_float(dtype);
    case RULE_INTEGRAL:
        return dtype_is_integer(dtype);
    case RULE_BITWISE:
        return !dtype_is_float(dtype);
    case RULE_COMPARE:
        return dtype != AKG_BOOL || operation == OP_EQ || operation == OP_NE;
    case RULE_LOGICAL:
        return dtype == AKG_BOOL;
    default:
        return false;
    }
}

static akg_dtype result_of(enum operation operation, akg_dtype dtype)
{
    enum operation_rule rule = operation_table[operation].rule;
    return rule == RULE_COMPARE || rule == RULE_LOGICAL || rule == RULE_CLASSIFY ? AKG_BOOL : dtype;
}

static bool divides(enum operation operation, akg_dtype dtype)
{
    bool division = operation == OP_FLOORDIV || operation == OP_MOD || operation == OP_CEIL_DIV;
    return (division && dtype_is_integer(dtype)) || (operation == OP_POW && dtype_is_signed(dtype));
}

static void constant_text(struct text *out, akg_dtype dtype, union dtype_value value)
{
    if (dtype == AKG_BOOL)
        text_string(out, value.i ? "true" : "false");
    else if (dtype_is_float(dtype)) {
        text_double(out, dtype_to_double(dtype, value));
        text_format(out, ":%s", name_of(dtype));
    } else if (dtype == AKG_UINT64)
        text_format(out, "%llu:uint64", (unsigned long long)value.i);
    else
        text_format(out, "%lld:%s", (long long)value.i, name_of(dtype));
}

static bool run_edges(struct text *text)
{
    struct jit_pair pair;
    int status = -1;
    pair_init(&pair);
    bool good = pair_read(&pair, text->data) && pair_compile(&pair, false) && pair_allocate(&pair);
    if (good) {
        fill_edges(&pair, 0);
        good = pair_run(&pair, &status) && status == 0;
    }
    if (!good)
        fprintf(stderr, "status %d for\n%s\n%s\n", status, text->data, pair.text.data ? pair.text.data : "");
    pair_free(&pair);
    return good;
}

/* y[i, j] = a[i] op a[j] for all pairs, plain and through scalars; zero divisors are chosen around. */
static bool operation_agrees(enum operation operation, akg_dtype dtype)
{
    struct text text, applied, named;
    int n = edge_count(dtype);
    const char *result = name_of(result_of(operation, dtype)), *mark = divides(operation, dtype) ? "?" : "";
    text_init(&text);
    text_init(&applied);
    text_init(&named);
    apply_text(&applied, operation, mark, "a[i]", "a[j]", "a[((i + j) % 2)]");
    apply_text(&named, operation, mark, "p", "q", "p");
    text_format(&text,
                "kernel k {\n input a: %s[%d]\n output y: %s[%d, %d]\n output z: %s[%d, %d]\n parameters a\n"
                " results y, z\n body {\n for i = 0 to %d step 1 {\n for j = 0 to %d step 1 {\n"
                " let p: %s = a[i]\n let q: %s = a[j]\n",
                name_of(dtype), n, result, n, n, result, n, n, n, n, name_of(dtype), name_of(dtype));
    if (divides(operation, dtype)) {
        text_format(&text, " if ((q == ");
        constant_text(&text, dtype, (union dtype_value){.i = 0});
        text_format(&text, ") or ((p == ");
        constant_text(&text, dtype, (union dtype_value){.i = 0});
        text_format(&text, ") and (q < ");
        constant_text(&text, dtype, (union dtype_value){.i = 0});
        text_format(&text, "))) {\n continue\n }\n");
    }
    text_format(&text, " y[i, j] = %s\n z[i, j] = %s\n}\n}\n}\n}\n", applied.data, named.data);
    bool good = run_edges(&text);
    text_free(&text);
    text_free(&applied);
    text_free(&named);
    return good;
}

/* A store of `operation` on p and a constant, either way round, where that does not stop. */
static void constant_store(struct text *text, enum operation operation, akg_dtype dtype, int k)
{
    union dtype_value value = edge(dtype, k);
    bool can_stop = divides(operation, dtype);
    const char *mark = can_stop && (value.i == 0 || (operation == OP_POW && value.i < 0)) ? "?" : "";
    struct text constant;
    text_init(&constant);
    constant_text(&constant, dtype, value);
    text_format(text, " y[i, %d] = ", k);
    if (*mark)
        text_char(text, 'p');
    else
        apply_text(text, operation, mark, k % 2 ? "p" : "a[i]", constant.data, constant.data);
    text_format(text, "\n z[i, %d] = ", k);
    if (can_stop)
        text_format(text, "select(((p == 0%s%s) or (p < 0%s%s)), p, ", dtype == AKG_INT64 ? "" : ":",
                    dtype == AKG_INT64 ? "" : name_of(dtype), dtype == AKG_INT64 ? "" : ":",
                    dtype == AKG_INT64 ? "" : name_of(dtype));
    apply_text(text, operation, can_stop ? "?" : "", constant.data, "p", constant.data);
    text_string(text, can_stop ? ")\n" : "\n");
    text_free(&constant);
}

/* y[i, k] = a[i] op constant k, and z the other way round. */
static bool constants_agree(enum operation operation, akg_dtype dtype)
{
    struct text text;
    int n = edge_count(dtype);
    const char *result = name_of(result_of(operation, dtype));
    text_init(&text);
    text_format(&text,
                "kernel k {\n input a: %s[%d]\n output y: %s[%d, %d]\n output z: %s[%d, %d]\n"
                " parameters a\n results y, z\n body {\n for i = 0 to %d step 1 {\n let p: %s = a[i]\n",
                name_of(dtype), n, result, n, n, result, n, n, n, name_of(dtype));
    for (int k = 0; k < n; k++)
        constant_store(&text, operation, dtype, k);
    text_string(&text, "}\n}\n}\n");
    bool good = run_edges(&text);
    text_free(&text);
    return good;
}

/* Casts of every edge value to all dtypes, of the element, of a scalar and twice over. */
static bool casts_agree(akg_dtype from, akg_dtype to)
{
    struct text text;
    int n = edge_count(from);
    text_init(&text);
    text_format(&text,
                "kernel k {\n input a: %s[%d]\n output y: %s[%d]\n output z: %s[%d]\n output back: %s[%d]\n"
                " parameters a\n results y, z, back\n body {\n for i = 0 to %d step 1 {\n let p: %s = a[i]\n",
                name_of(from), n, name_of(to), n, name_of(to), n, name_of(from), n, n, name_of(from));
    if (from == to)
        text_string(&text, " y[i] = a[i]\n z[i] = p\n back[i] = p\n}\n}\n}\n");
    else
        text_format(&text, " y[i] = %s(a[i])\n z[i] = %s(p)\n back[i] = %s(%s(p))\n}\n}\n}\n", name_of(to),
                    name_of(to), name_of(from), name_of(to));
    bool good = run_edges(&text);
    text_free(&text);
    return good;
}

static void test_operations(void)
{
    for (int operation = 0; operation < OPERATION_COUNT; operation++)
        for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
            if (takes((enum operation)operation, (akg_dtype)dtype)) {
                CHECK(operation_agrees((enum operation)operation, (akg_dtype)dtype));
                CHECK(constants_agree((enum operation)operation, (akg_dtype)dtype));
            }
    for (int from = 0; from < AKG_DTYPE_COUNT; from++)
        for (int to = 0; to < AKG_DTYPE_COUNT; to++)
            CHECK(casts_agree((akg_dtype)from, (akg_dtype)to));
}

/* ---- statements ------------------------------------------------------------------ */

#define HEAD                                                                                                 \
    "kernel k {\n input a: int32[M]\n input b: float32[M, N] strided\n inout c: int64[M]\n"                  \
    " output y: float32[M]\n output z: int64[M, N] clear\n output w: float32[N, 2] strided clear\n"          \
    " parameters a, b, c\n results y, z, w\n body {\n"
#define TAIL "\n}\n}\n"

/* Kernels over a, c = -2..2 (M = 5, N = 3), with what they return. */
static const struct {
    int status;
    const char *body;
} bodies[] = {
    {0, "for i = 0 to M step 1 { y[i] = float32(a[i]) }"},
    /* traps: site, axis, index and loops are compared too */
    {1, "for i = 0 to M step 1 { for j = 0 to M step 1 { z[i, j?] = (i * 10) } }"},
    {1, "for i = 0 to M step 1 { z[i, 0] = c[int64(a[i])?] }"},
    {1, "for i = 0 to M step 1 { z[i, 0] = (10 //? c[i]) }"},
    {1, "for i = 0 to M step 1 { z[i, 0] = (10 %? c[i]) }"},
    {1, "for i = 0 to M step 1 { z[i, 0] = (c[((M - 1) - i)] **? (c[i] - 1)) }"},
    {1, "for i = 0 to M step 1 { z[i, 0] = ceil_div(c[i], c[i]?) }"},
    {1, "for i = 0 to M step 1 { assert (a[i] < 1:int32) \"small\" }"},
    {1, "z[0, 0] = (5 //? 0)"},
    {1, "for i = 0 to M step 1 { for j = 0 to N step 1 { for k = 0 to 2 step 1 { assert (((i + j) + k) < 5) "
        "} } }"},
    /* the target is tested before the value */
    {1, "for i = 0 to M step 1 { z[(i + 9)?, 0] = (10 //? c[2]) }"},
    {1, "for i = 0 to M step 1 { z[(i + 1)?, (2 //? c[i])?] = 1 }"},
    /* what is not needed is not evaluated */
    {0, "for i = 0 to M step 1 { y[i] = select((i > 0), y[(i - 1)?], 1.0:float32) }"},
    {0, "for i = 0 to M step 1 { z[i, 0] = select((c[i] == 0), 7, (7 //? c[i])) }"},
    {0, "for i = 0 to M step 1 { if ((c[i] != 0) and ((6 //? c[i]) > 2)) { z[i, 1] = 1 } }"},
    {0, "for i = 0 to M step 1 { if ((c[i] == 0) or ((6 //? c[i]) > 2)) { z[i, 1] = 1 } }"},
    {0, "for i = 0 to M step 1 { z[i, 2] = select(((c[i] > 0) and (c[(c[i] + 2)?] >= 1)), (4 %? c[i]), "
        "select((c[i] < 0), (4 %? c[i]), 5)) }"},
    {1, "for i = 0 to M step 1 { z[i, 0] = select((c[i] > 1), (1 //? (c[i] - 2)), 0) }"},
    {0, "var n: int64 = 4\nwhile ((n > 0) and ((12 %? n) != 5)) { n = (n - 1)\nz[n, 0] = n }"},
    {1, "var n: int64 = 4\nwhile ((12 //? n) > 0) { n = (n - 1)\nz[n, 0] = n }"},
    /* an elif whose condition stops, an elif chain, an else */
    {0, "for i = 0 to M step 1 { if (i == 2) { z[i, 0] = 1 } else if ((6 //? c[i]) == 3) { z[i, 0] = 2 } "
        "else if "
        "(i == 0) { z[i, 0] = 3 } else { z[i, 0] = 4 } }"},
    /* loops: steps, ends, break, continue, empty ones, and one of which what it was made of changes */
    {0, "for i = (M - 1) to -1 step -1 { if (i == 3) { continue }\n if (i == 0) { break }\n z[i, 0] = i }"},
    {0, "for i = 0 to M step 2 { z[i, 0] = i }\n for i_1 = (M - 1) to -1 step -3 { z[i_1, 1] = i_1 }"},
    {0, "for i = 4 to 2 step 1 { z[i, 0] = 1 }\n for i_1 = 2 to 2 step -1 { z[i_1, 0] = 1 }"},
    {0, "var n: int64 = 3\nlet end: int64 = n\nfor i = 0 to end step 1 { n = (n - 1)\n z[i, 0] = n }"},
    {0, "var n: int64 = 0\nfor i = 9223372036854775800 to 9223372036854775807 step 3 { z[n, 0] = i\nn = (n + "
        "1) }"},
    {0, "var n: int64 = 0\nlet h: int64 = (c[0] + 9223372036854775807)\n"
        "for i = (h - 9) to (h + 1) step 5 { z[n, 0] = i\nn = (n + 1) }"},
    {0, "var n: int64 = 0\nlet h: int64 = (c[0] - 9223372036854775803)\n"
        "for i = (h + 9) to (h - 2) step -4 { z[n, 0] = i\nn = (n + 1) }"},
    {0, "var n: int64 = 0\nfor i = -9223372036854775800 to -9223372036854775807 step -4611686018427387904 {"
        " z[n, 0] = i\nn = (n + 1) }"},
    {0, "var n: int64 = 0\nfor i = -9223372036854775807 to 9223372036854775807 step 9223372036854775807 {"
        " z[n, 0] = i\nn = (n + 1) }"},
    /* scalars are new in each iteration; unread ones; assignment wraps */
    {0, "for i = 0 to M step 1 { var s: int8 = 100:int8\n let unread: int32 = a[i]\n var set: int8 = s\n"
        " s = (s + int8(a[i]))\n s = (s * s)\n z[i, 0] = int64(s)\n set = s }"},
    /* strides, also of an output */
    {0, "for i = 0 to M step 1 { for j = 0 to N step 1 { y[i] = (y[i] + b[i, j])\n w[j, (i % 2)] = b[i, (i % "
        "3)] } }"},
    {1, "for i = 0 to M step 1 { w[i?, 1] = b[i, 0] }"},
    /* in place */
    {0, "for i = 1 to M step 1 { c[i] = (c[i] + c[(i - 1)]) }"},
    /* int64 that wraps, plain where it cannot */
    {0, "for i = 0 to M step 1 { z[i, 0] = (((c[i] * 6364136223846793005) + 1442695040888963407) * c[i])\n"
        " z[i, 1] = ((((i * 7) + M) - 3) % 5)\n z[i, 2] = (neg((c[i] - 9223372036854775807)) // 10) }"},
    {0,
     "for i = 0 to M step 1 { z[i, 0] = ((i - 2) // 2)\n z[i, 1] = ((i - 2) % 2)\n let d: int64 = (i - 3)\n"
     " z[i, 2] = (((d // 2) * 100) + ((d % 2) + ((d // M) * (d % N)))) }"},
};

static void test_statements(void)
{
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        struct text text;
        text_init(&text);
        text_format(&text, HEAD "%s" TAIL, bodies[k].body);
        /* the reader wants statements on lines of their own */
        for (char *at = text.data; *at; at++)
            if ((at[0] == '{' || at[0] == '}') && at[1] == ' ' && strncmp(at, "} else", 6) != 0)
                at[1] = '\n';
        if (!CHECK(agrees(text.data, bodies[k].status)))
            fprintf(stderr, "    body %zu\n", k);
        text_free(&text);
    }
}

/* Names of C, of the library, of the emitter's own, and what is no name in C at all. */
static void test_names(void)
{
    CHECK(agrees("kernel k {\n input int: float32[powf, i_end]\n input frame: int32[powf] strided\n"
                 " output memset: float32[powf] clear\n output t1_: float32[(powf + 1)] clear\n"
                 " temporary `caf\xc3\xa9`: float32[(powf * 2)] clear\n parameters int, frame\n"
                 " results memset, t1_\n body {\n"
                 " for main = 0 to powf step 1 {\n let __LINE__: float32 = exp(int[main, 0])\n"
                 " allocate `caf\xc3\xa9`\n let _: float32 = (__LINE__ + `caf\xc3\xa9`[main])\n"
                 " let akg_frame: float32 = (_ * _)\n let `a b`: float32 = (_ ** akg_frame)\n"
                 " let `*/`: float32 = (`a b` + _)\n let linux: int64 = powf\n"
                 " let main_: int64 = (((linux + main) - powf) + int64(frame[main]))\n"
                 " memset[((main_ + 9) % powf)] = `*/`\n let frame_stride0: int64 = 3\n let t1: int64 = 4\n"
                 " for i = 0 to (frame_stride0 * 2) step 1 {\n let i_end_: int64 = (i + i_end)\n"
                 " t1_[((i_end_ + t1) % (powf + 1))] = akg_frame\n }\n }\n }\n}\n",
                 0));
}

/* All functions of the library, and nothing that only begins or ends as they do. */
static void test_reserved(void)
{
    static const char *const words[] = {"while", "int", "memset", "akg_anything", "__x", "_X"},
                             *const free_ones[] = {"whil", "expf_", "exp f", "xpf", "x", "_", "_x", "sum"};
    for (int row = 0; row < scalar_library_count(); row++)
        CHECK(emit_c_is_reserved(scalar_library[row].name));
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        CHECK(emit_c_is_reserved(words[k]));
    for (size_t k = 0; k < sizeof free_ones / sizeof *free_ones; k++)
        CHECK(!emit_c_is_reserved(free_ones[k]));
}

/* ---- limits --------------------------------------------------------------------- */

/* An expression of that many additions: nested to the left, to the right, balanced, or as calls. */
static void deep_text(struct text *text, int shape, int count)
{
    static const char *const leaf[] = {"a[(i % 5)]", "p", "1.5:float32"};
    if (count == 0) {
        text_string(text, leaf[text->length % 3]);
        return;
    }
    int left = shape == 0 ? count - 1 : shape == 1 ? 0 : (count - 1) / 2;
    if (shape == 3) {
        text_string(text, "abs((");
        deep_text(text, shape, count - 1);
        text_string(text, " * 0.5:float32))");
        return;
    }
    text_char(text, '(');
    deep_text(text, shape, left);
    text_string(text, count % 3 ? " + " : " - ");
    deep_text(text, shape, count - 1 - left);
    text_char(text, ')');
}

static void test_depth(void)
{
    for (int shape = 0; shape < 4; shape++) {
        struct text text;
        text_init(&text);
        text_string(
            &text,
            "kernel k {\n input a: float32[M]\n output y: float32[M]\n parameters a\n results y\n body {\n"
            " for i = 0 to M step 1 {\n let p: float32 = a[i]\n y[i] = ");
        deep_text(&text, shape, shape == 3 ? 450 : 900);
        text_string(&text, "\n y[i] = select((p > 0.0:float32), ");
        deep_text(&text, shape, 300);
        text_string(&text, ", ");
        deep_text(&text, shape, 200);
        text_string(&text, ")\n }\n }\n}\n");
        CHECK(agrees(text.data, 0));
        text_free(&text);
    }
}

/* Deep in what is lazy, integer, bool, or an index. */
static void test_lazy_depth(void)
{
    static const struct {
        const char *first, *open, *close;
    } chains[] = {
        {"c[i]", "select((i > 1), (7 //? (c[i] + 9)), (1 + ", "))"},
        {"c[i]", "((c[i] - ", ") * 3)"},
        {"c[i]", "min((c[i] + 1), max(", ", c[0]))"},
        {"i", "((1 + ", ") % 5)"},
        {"i", "c[abs((", " % 5))]"},
        {"c[i]", "int64(((c[i] > 0) and ((c[i] < 2) or (", " == 3))))"},
        {"c[i]", "(c[0] << ((", " >> 1) & 3))"},
    };
    for (size_t k = 0; k < sizeof chains / sizeof *chains; k++) {
        struct text text;
        text_init(&text);
        text_string(
            &text, "kernel k {\n input c: int64[M]\n output y: int64[M]\n parameters c\n results y\n body {\n"
                   " for i = 0 to M step 1 {\n y[i] = ");
        for (int depth = 0; depth < 190; depth++)
            text_string(&text, chains[k].open);
        text_string(&text, chains[k].first);
        for (int depth = 0; depth < 190; depth++)
            text_string(&text, chains[k].close);
        text_string(&text, "\n }\n }\n}\n");
        CHECK(agrees(text.data, 0));
        text_free(&text);
    }
}

static void test_length(void)
{
    struct text text;
    text_init(&text);
    text_string(&text, "kernel k {\n input a: float32[M]\n output y: float32[M] clear\n parameters a\n "
                       "results y\n body {\n");
    for (int k = 0; k < 5000; k++)
        text_format(&text, " let s%d: float32 = (a[%d] * %d.25:float32)\n y[%d] = (s%d + y[%d])\n", k, k % 5,
                    k, k % 5, k, (k + 1) % 5);
    text_string(&text, " }\n}\n");
    CHECK(agrees(text.data, 0));
    text.length = 0;
    text_string(&text, "kernel k {\n input a: float32[M]\n output y: float32[M] clear\n parameters a\n "
                       "results y\n body {\n");
    for (int k = 0; k < 200; k++)
        text_format(&text, "%sfor i%d = 0 to %d step 1 {\n", k % 3 ? "" : "if true {\n", k, k % 50 ? 1 : 2);
    text_string(&text, " y[(((i0 + i50) + i100) % M)] = (a[i150] + y[0])\n assert (i100 < 1)\n");
    for (int k = 0; k < 200; k++)
        text_string(&text, k % 3 ? "}\n" : "}\n}\n");
    text_string(&text, " }\n}\n");
    CHECK(agrees(text.data, 1)); /* the trap keeps the first 16 loops */
    text_free(&text);
}

/* Deeper than libtcc is trusted with: refused with a reason. */
static void test_too_deep(void)
{
    struct jit_pair pair;
    struct text text, complaint;
    struct emit_c_options options = {.entry = "akg_kernel"};
    pair_init(&pair);
    text_init(&text);
    text_init(&complaint);
    pair.kernel = ir_kernel_new(&pair.arena, "deep");
    struct ir_symbol *symbol = ir_symbol_new(pair.kernel, IR_SYMBOL_LET, "x", AKG_FLOAT32);
    struct ir_stmt *let = ir_stmt_new(pair.kernel, IR_LET, (struct span){0, 0, 0, 0});
    struct ir_expr *value = ir_real(pair.kernel, AKG_FLOAT32, 1);
    for (int k = 0; k < 4000; k++)
        value = ir_operation(pair.kernel, OP_SIN, value, NULL, NULL);
    let->symbol = symbol;
    let->value = symbol->value = value;
    pair.kernel->body = let;
    sites_number(pair.kernel, &pair.sites);
    CHECK(!emit_c(&text, pair.kernel, &options, &complaint));
    CHECK(complaint.data && strstr(complaint.data, "nested too deeply"));
    struct ir_stmt *outer = let;
    let->value = symbol->value = ir_real(pair.kernel, AKG_FLOAT32, 1);
    for (int k = 0; k < 1400; k++) {
        struct ir_stmt *block = ir_stmt_new(pair.kernel, IR_WHILE, (struct span){0, 0, 0, 0});
        block->value = ir_integer(pair.kernel, AKG_BOOL, 0);
        block->body = outer;
        outer = block;
    }
    pair.kernel->body = outer;
    CHECK(!emit_c(&text, pair.kernel, &options, &complaint));
    text_free(&text);
    text_free(&complaint);
    pair_free(&pair);
}

/* Trusted indices are not tested; divisions and asserts are. */
static void test_trust(void)
{
    static const char source[] = "kernel k {\n input a: int64[M]\n output y: int64[M] clear\n parameters a\n"
                                 " results y\n body {\n for i = 0 to M step 1 {\n y[a[i]?] = (7 //? a[i])\n"
                                 " assert (a[i] > 0)\n }\n }\n}\n";
    for (int trust = 0; trust < 2; trust++) {
        struct jit_pair pair;
        pair_init(&pair);
        pair.vectors.target = X86_TARGET_NONE; /* all of it must be C */
        CHECK(pair_read(&pair, source) && pair_compile(&pair, trust));
        CHECK_INT(strstr(pair.text.data, "akg_trap_index") == NULL, trust);
        CHECK(strstr(pair.text.data, "akg_trap(") != NULL);
        pair_free(&pair);
    }
}

/* For compilers extremes of 32 bits have functions of 32 bits: of 64 they make no vectors, or half as many.
 */
static void test_extremes(void)
{
    struct jit_pair pair;
    struct text text, complaint;
    const struct emit_c_options options = {.entry = "akg_kernel", .hosted = true};
    pair_init(&pair);
    text_init(&text);
    text_init(&complaint);
    CHECK(pair_read(&pair,
                    "kernel k {\n input a: uint32[M]\n output y: uint32[M]\n parameters a\n results y\n"
                    " body {\n var top: uint32 = 0:uint32\n for i = 0 to M step 1 {\n"
                    " top = max(top, a[i])\n y[i] = min(top, (a[i] + 1:uint32))\n }\n }\n}\n"));
    sites_number(pair.kernel, &pair.sites);
    CHECK(emit_c(&text, pair.kernel, &options, &complaint));
    CHECK(text.data && strstr(text.data, "akg_max_uint(") && strstr(text.data, "akg_min_uint("));
    text_free(&text);
    text_free(&complaint);
    pair_free(&pair);
}

/* Compilers are told of sums that may be in any order, clang of the addition alone; not of compensated ones.
 */
static void test_any_order(void)
{
    static const char *const bodies[] = {"s = (s - (a[i] * a[i]))", "t = (a[i] - c)\n u = (s + t)\n"
                                                                    " c = ((u - s) - t)\n s = u"};
    static const enum pass_id order[] = {PASS_reductions};
    const struct passes_options passes = {.order = order, .order_count = 1};
    const struct emit_c_options options = {.entry = "akg_kernel", .hosted = true, .reorders = true};
    for (int compensated = 0; compensated < 2; compensated++) {
        struct jit_pair pair;
        struct text source, text, complaint;
        pair_init(&pair);
        text_init(&source);
        text_init(&text);
        text_init(&complaint);
        text_format(&source,
                    "kernel k {\n input a: float32[M]\n output y: float32[1]\n parameters a\n results y\n"
                    " body {\n var s: float32 = 0.0:float32\n var c: float32 = 0.0:float32\n"
                    " var t: float32 = 0.0:float32\n var u: float32 = 0.0:float32\n for i = 0 to M step 1 {\n"
                    " %s\n }\n y[0] = s\n }\n}\n",
                    bodies[compensated]);
        CHECK(pair_read(&pair, source.data) && passes_run(pair.kernel, &passes, &complaint));
        sites_number(pair.kernel, &pair.sites);
        CHECK(emit_c(&text, pair.kernel, &options, &complaint));
        CHECK_INT(text.data && strstr(text.data, "#pragma omp simd"), !compensated);
        CHECK_INT(text.data && strstr(text.data, "= a[i] * a[i];\n        {\n        akg_any_order\n"
                                                 "        s = s - term_;\n"),
                  !compensated);
        text_free(&source);
        text_free(&text);
        text_free(&complaint);
        pair_free(&pair);
    }
}

/* Between loops, by what these do not change; not within a loop that may become vectors. */
static void test_quotients(void)
{
    struct jit_pair pair;
    struct text text, complaint;
    struct emit_c_options options = {.entry = "akg_kernel", .hosted = true};
    for (int hosted = 0; hosted < 2; hosted++) {
        options.hosted = hosted;
        pair_init(&pair);
        text_init(&text);
        text_init(&complaint);
        CHECK(pair_read(&pair,
                        "kernel k {\n input a: float32[M, N]\n output y: float32[M, N]\n parameters a\n"
                        " results y\n body {\n let n: float32 = float32(N)\n for i = 0 to M step 1 {\n"
                        " let d: float32 = (a[i, 0] + 1.0:float32)\n let e: float32 = (d / n)\n"
                        " let f: float32 = (n / d)\n for j = 0 to N step 1 {\n"
                        " y[i, j] = ((a[i, j] / n) + (e * f))\n }\n }\n }\n}\n"));
        sites_number(pair.kernel, &pair.sites);
        CHECK(emit_c(&text, pair.kernel, &options, &complaint));
        CHECK_INT(text.data && strstr(text.data, "e = akg_overf(d, n);"), hosted);
        CHECK(text.data && strstr(text.data, "f = n / d;") && strstr(text.data, "] / n + "));
        text_free(&text);
        text_free(&complaint);
        pair_free(&pair);
    }
}

/* What threads may share inside of a loop that goes on one by one stands there itself, too: a call in each
 * iteration of that takes longer than a few elements. */
static void test_inner_split(void)
{
    struct jit_pair pair;
    struct text text, complaint;
    struct vector_plan plan;
    const struct vector_options none = {.target = X86_TARGET_NONE};
    const struct emit_c_options options = {.entry = "akg_kernel", .hosted = true, .plan = &plan};
    pair_init(&pair);
    text_init(&text);
    text_init(&complaint);
    CHECK(pair_read(&pair, "kernel k {\n input a: float32[M, N]\n output y: float32[N]\n parameters a\n"
                           " results y\n body {\n for i = 0 to M step 1 {\n for j = 0 to N step 1 {\n"
                           " y[j] = (a[i, j] + (y[j] * 0.5:float32))\n }\n }\n }\n}\n"));
    sites_number(pair.kernel, &pair.sites);
    if (CHECK(vector_plan_make(&plan, pair.kernel, &none, false))) {
        CHECK(emit_c(&text, pair.kernel, &options, &complaint));
        CHECK(text.data && strstr(text.data, "if (frame->split && N - 0 >= ") &&
              strstr(text.data, "} else {\n            for (long long j = 0; j < N; j++) {"));
        vector_plan_free(&plan);
    }
    text_free(&text);
    text_free(&complaint);
    pair_free(&pair);
}

/* A loop over strips is shared by rows where each thread has enough of them, and what is inside it else. One
 * that goes on from elsewhere is none, nor is one of which something is made of the strip as a whole. */
static void test_strips(void)
{
    static const struct {
        const char *end, *more, *step;
    } cases[] = {{"min(M, (top + 8))", "", "1"},
                 {"min((top + 8), M)", "", "1"},
                 {"min(M, (top + 9))", "", "1"},
                 {"min(M, (top + 8))", "", "2"},
                 {"min(M, (top + 8))", " let of_strip: int64 = (top // 8)\n", "1"},
                 {"min(M, (top + 8))", " let of_strip: int64 = (M - top)\n", "1"}};
    const struct vector_options none = {.target = X86_TARGET_NONE};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char source[800];
        struct jit_pair pair;
        struct text text, complaint;
        struct vector_plan plan;
        const struct emit_c_options options = {.entry = "akg_kernel", .plan = &plan};
        pair_init(&pair);
        text_init(&text);
        text_init(&complaint);
        snprintf(source, sizeof source,
                 "kernel k {\n input a: float32[M, N]\n output y: float32[M, N]\n"
                 " temporary t: float32[9, N]\n parameters a\n results y\n body {\n"
                 " for top = 0 to M step 8 independent {\n let end: int64 = %s\n%s allocate t\n"
                 " for i = top to end step 1 independent {\n"
                 " for j = 0 to N step 1 independent {\n t[(i - top), j] = exp(a[i, j])\n }\n }\n"
                 " for p = top to end step %s independent {\n"
                 " for q = 0 to N step 1 independent {\n y[p, q] = (t[(p - top), q] + 1.0:float32)\n"
                 " }\n }\n }\n }\n}\n",
                 cases[k].end, cases[k].more, cases[k].step);
        CHECK(pair_read(&pair, source));
        sites_number(pair.kernel, &pair.sites);
        if (CHECK(vector_plan_make(&plan, pair.kernel, &none, false))) {
            bool are_strips = k < 2;
            CHECK(emit_c(&text, pair.kernel, &options, &complaint));
            CHECK(text.data &&
                  !!strstr(text.data, "const long long end = to_ - top < 8 ? to_ : top + 8;") == are_strips);
            CHECK(text.data &&
                  !!strstr(text.data, "if (frame->split && M - 0 >= 28 * frame->threads) {") == are_strips);
            vector_plan_free(&plan);
        }
        text_free(&text);
        text_free(&complaint);
        pair_free(&pair);
    }
}

int main(void)
{
    test_strips();
    test_operations();
    test_statements();
    test_names();
    test_reserved();
    test_depth();
    test_lazy_depth();
    test_length();
    test_too_deep();
    test_trust();
    test_extremes();
    test_any_order();
    test_quotients();
    test_inner_split();
    return check_done();
}
