/*
 * test_hostile.c: source texts that no person writes. Each is taken or refused with a diagnostic that has a
 * place, within a bound of processor time that a build without optimisation keeps too, and of memory.
 */
#include "api_support.h"
#include "check.h"
#include "outcome.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "../../base/text.h"
#include "../../include/akg.h"

#if defined(__SANITIZE_THREAD__)
#define THREADED 1
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__)
#define SLOWER 20
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREADED 1
#elif __has_feature(address_sanitizer)
#define SLOWER 20
#endif
#endif
#ifdef THREADED
#define SLOWER 100
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

/* The sanitizers take several times the time and memory: the largest texts are shorter by as much under them.
 */
enum { SECONDS = 10 * (SLOWER > 10 ? 10 : SLOWER) };

/* How many of something small: no fewer than shows what it should. The sanitizers get a part. */
static int portion(int count, int least)
{
    int part = count / (SLOWER > 1 ? 40 : 1);

    return part > least ? part : least;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* What a text came to: "" when it is taken, else the name of the first error. */
static char outcome[64];

static void judge(const char *what, const akg_diagnostics *diagnostics, akg_status status)
{
    const akg_diagnostic *first = NULL;
    char *shown = NULL;

    for (size_t i = 0; i < akg_diagnostics_count(diagnostics) && !first; i++)
        if (akg_diagnostics_at(diagnostics, i)->severity == AKG_SEVERITY_ERROR)
            first = akg_diagnostics_at(diagnostics, i);
    snprintf(outcome, sizeof outcome, "%s", status == AKG_OK ? "" : first ? first->name : "?");
    if (!CHECK(status == AKG_OK || status == AKG_ERROR_PROGRAM) || !CHECK(status == AKG_OK || first) ||
        !CHECK(!first || (first->line >= 1 && first->column >= 1)))
        fprintf(stderr, "    %s: %s, %s\n", what, akg_status_text(status), outcome);
    CHECK(akg_diagnostics_count(diagnostics) < 2000);
    if (diagnostics && CHECK(akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &shown) == AKG_OK)) {
        CHECK(strlen(shown) < 1 << 20);
        akg_free(shown);
    }
}

static void compile_bytes(const char *what, const char *text, size_t length)
{
    jit_source source = {.name = "hostile.akg", .text = text, .length = length};
    akg_module *module = NULL;
    akg_diagnostics *diagnostics = NULL;
    double start = now();
    akg_status status = jit_compile(&source, NULL, &module, &diagnostics);

    start = now() - start;
    if (!CHECK(start < SECONDS))
        fprintf(stderr, "    %s: %.1f s\n", what, start);
    judge(what, diagnostics, status);
    akg_diagnostics_free(diagnostics);
    akg_module_release(module);
}

/* Takes the text and frees it. `expected`: the first error's name, "" for none, NULL for either. */
static void compile_text(const char *what, struct text *text, const char *expected)
{
    if (CHECK(!text->failed))
        compile_bytes(what, text->data ? text->data : "", text->length);
    if (expected && !CHECK(strcmp(outcome, expected) == 0))
        fprintf(stderr, "    %s: is '%s', should be '%s'\n", what, outcome, expected);
    text_free(text);
}

static void repeat(struct text *text, const char *piece, int count)
{
    while (count-- > 0)
        text_string(text, piece);
}

/* before, then `open` many times, middle, then `close` as often, after. */
static void nested(const char *what, const char *before, const char *open, const char *middle,
                   const char *close, const char *after, int depth, const char *expected)
{
    struct text text;

    text_init(&text);
    text_string(&text, before);
    repeat(&text, open, depth);
    text_string(&text, middle);
    repeat(&text, close, depth);
    text_string(&text, after);
    compile_text(what, &text, expected);
}

static const char head[] = "def f(x: float32[N]):\n    y = output_tensor((N,), float32)\n    y[0] = ";
static const char tail[] = "\n    return y\n";

static void test_nesting(void)
{
    const int deep = portion(10000, 1200);

    nested("parentheses", head, "(", "x[0]", ")", tail, deep, "nesting");
    nested("open parentheses", head, "(", "x[0]", "", tail, deep, NULL);
    nested("closing parentheses", head, "", "x[0]", ")", tail, deep, NULL);
    nested("brackets", head, "x[", "0", "]", tail, deep, "nesting");
    nested("braces", head, "{", "0", "}", tail, deep, NULL);
    nested("mixed brackets", head, "([{", "0", "}])", tail, deep, NULL);
    nested("calls", head, "exp(", "x[0]", ")", tail, deep, "nesting");
    nested("unary minus", head, "-", "x[0]", "", tail, deep, NULL);
    nested("unary tilde", head, "~", "x[0]", "", tail, deep, NULL);
    nested("not", head, "not ", "True", "", tail, deep, NULL);
    nested("sums", head, "x[0] + ", "x[0]", "", tail, deep, NULL);
    nested("powers", head, "x[0] ** ", "x[0]", "", tail, deep, NULL);
    nested("comparisons", head, "0 < ", "1", "", tail, deep, NULL);
    nested("ands", head, "True and ", "True", "", tail, deep, NULL);
    nested("attributes", head, "x", "", ".a", tail, deep, NULL);
    nested("subscripts", head, "", "x", "[0]", tail, deep, NULL);
    nested("empty calls", head, "", "x", "()", tail, deep, NULL);
    nested("conditionals", head, "x[0] if x[0] > 0.0 else ", "x[0]", "", tail, deep, NULL);
    nested("nested conditionals", head, "(x[0] if ", "True", " else x[0])", tail, deep, NULL);
    nested("assignments", head, "y[0] = ", "x[0]", "", tail, deep, NULL);
    nested("commas", head, "x[0], ", "x[0]", "", tail, deep, NULL);
    nested("stars", head, "*", "x", "", tail, deep, NULL);
    nested("strings", head, "\"a\" ", "\"a\"", "", tail, deep, NULL);
    nested("annotations", "def f(x: ", "float32 | ", "float32", "", "): return x\n", deep, NULL);
    nested("decorators", "", "@kernel\n", "", "", "def f(x: float32[N]):\n    return x\n", deep, NULL);
    nested("semicolons", "def f(x):\n    ", "pass; ", "pass", "", tail, deep, NULL);
    nested("backslashes", "def f(x):\n    y = ", "\\\n", "1", "", tail, deep, NULL);
}

/* A block in a block in a block. */
static void nested_blocks(const char *what, const char *header, int depth, int step, const char *expected)
{
    struct text text;

    text_init(&text);
    text_string(&text, "def f(x: float32[N]):\n");
    for (int i = 0; i <= depth; i++) {
        text_repeat(&text, ' ', 1 + i * step);
        if (i < depth)
            text_format(&text, header, i);
        else
            text_string(&text, "x[0] = 1.0\n");
    }
    text_string(&text, " return x\n");
    compile_text(what, &text, expected);
}

static void test_blocks(void)
{
    struct text text;

    nested_blocks("loops", "for i%d in range(2):\n", portion(10000, 300), 1, "nesting");
    nested_blocks("branches", "if x[%d %% 2] > 0.0:\n", portion(10000, 300), 1, "nesting");
    nested_blocks("whiles", "while x[%d %% 2] > 0.0:\n", portion(3000, 300), 1, "nesting");
    nested_blocks("withs", "with attr(\"a\", %d):\n", portion(3000, 300), 1, "nesting");
    nested_blocks("functions", "def g%d():\n", portion(3000, 300), 1, NULL);
    nested_blocks("loops in the language", "for i%d in range(2):\n", 60, 1, NULL);
    text_init(&text);
    text_string(&text, "def f(x: float32[N]):\n    if x[0] > 0.0:\n        x[0] = 1.0\n");
    for (int i = portion(10000, 1200); i > 0; i--)
        text_format(&text, "    elif x[0] > %d.0:\n        x[0] = 1.0\n", i);
    text_string(&text, "    else:\n        x[0] = 2.0\n    return x\n");
    compile_text("elif", &text, "nesting");
    nested("one-line blocks", "def f(x):\n    ", "if x: ", "pass", "", tail, portion(10000, 300), NULL);
    nested("else without if", "def f(x):\n", "    else:\n", "", "", tail, portion(10000, 300), NULL);
    nested("dedents", "def f(x):\n                    pass\n", "   \n  pass\n", "", "", "", 3000, NULL);
}

/* As many as the language takes, in a loop that threads may share. */
static void test_chain(void)
{
    enum { CHOICES = 700, COUNT = 1000 };
    const int64_t count = COUNT;
    struct text text;
    akg_tensor *x = outcome_filled(1, &count);

    text_init(&text);
    text_string(&text, "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
                       "        p = i\n        if i == 900:\n            p = 3\n");
    for (int k = 0; k < CHOICES; k++)
        text_format(&text, "        elif i == %d:\n            p = %d\n", k, k * 7 % COUNT);
    text_string(&text, "        y[i] = x[p]\n    return y\n");
    if (CHECK(!text.failed)) {
        struct outcome_program program = outcome_compile(text.data, false);
        akg_argument argument = api_tensor(NULL, x);
        CHECK(outcome_check(&program, &argument, 1, "a chain of choices"));
        outcome_release(&program);
    }
    text_free(&text);
    akg_tensor_release(x);
}

static void test_size(void)
{
    struct text text;

    text_init(&text);
    text_string(&text, "def f(x: float32[N]):\n");
    repeat(&text, "    x[0] = x[0] + 1.0\n", portion(100000, 0));
    text_string(&text, "    return x\n");
    compile_text("100,000 statements", &text, NULL);
    text_init(&text);
    text_string(&text, "def f(x: float32[N]):\n");
    for (int i = portion(100000, 0); i > 0; i--)
        text_format(&text, "    name_%d = x[0]\n", i);
    text_string(&text, "    return x\n");
    compile_text("100,000 names", &text, NULL);
    text_init(&text);
    for (int i = portion(10000, 0); i > 0; i--)
        text_format(&text, "def f%d(x: float32[N]):\n    return x\n", i);
    compile_text("10,000 functions", &text, NULL);
    text_init(&text);
    text_string(&text, "def f(");
    for (int i = portion(10000, 0); i > 0; i--)
        text_format(&text, "x%d, ", i);
    text_string(&text, "):\n    return x1\n");
    compile_text("10,000 parameters", &text, NULL);
    nested("10,000 undefined names", "def f(x):\n", "    z = nowhere\n", "", "", tail, portion(10000, 0),
           NULL);
    nested("a million errors", "", "$ ", "", "", "", 1000000 / SLOWER, NULL);
    nested("a 10 MB line", head, "x[0]+", "x[0]", "", tail, 2000000 / SLOWER, NULL);
    nested("a 10 MB name", head, "name", "", "", tail, 2500000 / SLOWER, NULL);
    nested("a 10 MB number", head, "1234567890", "", "", tail, 1000000 / SLOWER, NULL);
    nested("a 10 MB string", head, "\"", "long", "", tail, 1, NULL);
    nested("a 10 MB comment", "# ", "comment ", "", "", "\ndef f(x: float32[N]):\n    return x\n",
           1250000 / SLOWER, NULL);
    nested("10 MB of spaces", head, "          ", "x[0]", "", tail, 1000000 / SLOWER, NULL);
    nested("10 MB of newlines", head, "x[0]\n", "\n\n\n\n\n\n\n\n\n\n", "", tail, 1, NULL);
    nested("an open bracket and 1 MB of lines", head, "(", "", "\n    x[0] +", tail, portion(100000, 0),
           NULL);
    nested("an open string and lines", head, "\"\"\"", "", "\nline", tail, portion(100000, 0), NULL);
}

static void test_bytes(void)
{
    static const char right[] = "def f(x: float32[N]):\n    return x\n";
    static const struct {
        const char *what, *text, *expected;
    } rows[] = {
        {"nothing", "", NULL},
        {"a newline", "\n", NULL},
        {"comments", "# a\n# b", NULL},
        {"no final newline", "def f(x: float32[N]):\n    return x", ""},
        {"CR", "def f(x: float32[N]):\r    return x\r", ""},
        {"CRLF", "def f(x: float32[N]):\r\n    return x\r\n", ""},
        {"mixed line ends", "def f(x: float32[N]):\r\n    y = 1\r    z = 2\n    return x\r", ""},
        {"form feed", "\fdef f(x: float32[N]):\n    return x\n", ""},
        {"byte order mark",
         "\xef\xbb\xbf"
         "def f(x: float32[N]):\n    return x\n",
         ""},
        {"UTF-16",
         "\xff\xfe"
         "d",
         NULL},
        {"tabs", "def f(x: float32[N]):\n\treturn x\n", ""},
        {"tabs and spaces", "def f(x: float32[N]):\n \ty = 1\n        return x\n", NULL},
        {"invalid UTF-8", "def f(x: float32[N]):\n    \xc3\x28 = 1\n    return x\n", "bad-utf8"},
        {"cut UTF-8", "def f(x: float32[N]):\n    return x\xe2\x82", "bad-utf8"},
        {"overlong UTF-8", "def f(\xc0\xaf):\n    return x\n", "bad-utf8"},
        {"surrogate", "def f(\xed\xa0\x80):\n    return x\n", NULL},
        {"letters", "def f(\xc3\xa9: float32[N]):\n    return \xc3\xa9\n", NULL},
        {"control characters", "def f(x\x01\x02\x7f):\n    return x\n", "bad-character"},
        {"backslash at the end", "def f(x: float32[N]):\n    return x\\", NULL},
        {"huge exponent", "def f(x: float32[N]):\n    x[0] = 1e999999999\n    return x\n", NULL},
        {"tiny exponent", "def f(x: float32[N]):\n    x[0] = 1e-999999999\n    return x\n", NULL},
        {"huge integer", "def f(x: float32[N]):\n    x[0] = 99999999999999999999\n    return x\n",
         "number-too-large"},
        {"huge index", "def f(x: float32[N]):\n    x[9223372036854775807] = 1.0\n    return x\n", NULL},
        {"least index", "def f(x: float32[N]):\n    x[-9223372036854775807 - 1] = 1.0\n    return x\n", NULL},
        {"overflow of constants",
         "def f(x: float32[N]):\n    x[9223372036854775807 + 1] = 1.0\n    return x\n", NULL},
        {"least over minus one",
         "def f(x: float32[N]):\n    x[(-9223372036854775807 - 1) // -1] = 1.0\n    return x\n", NULL},
        {"constant power", "def f(x: float32[N]):\n    x[9 ** 99999999] = 1.0\n    return x\n", NULL},
        {"constant shift", "def f(x: float32[N]):\n    x[1 << 9999999999] = 1.0\n    return x\n", NULL},
        {"huge range",
         "def f(x: float32[N]):\n    for i in range(0, 9223372036854775807, 9223372036854775807):\n        "
         "x[0] = 1.0\n    return x\n",
         NULL},
        {"huge unrolled range",
         "def f(x: float32[N]):\n    for i in const_range(1000000000000):\n        x[0] = 1.0\n    return "
         "x\n",
         "unroll-limit"},
        {"nested unrolled ranges",
         "def f(x: float32[N]):\n    for i in const_range(1000):\n        for j in const_range(1000):\n      "
         "      for k in const_range(1000):\n                x[0] = 1.0\n    return x\n",
         "unroll-limit"},
        {"unrolled empty ranges",
         "def f(x: float32[N]):\n    for i in const_range(1000):\n        for j in const_range(1000):\n      "
         "      for k in const_range(1000):\n                pass\n    return x\n",
         NULL},
        {"huge shape",
         "def f(x: float32[N]):\n    y = output_tensor((9223372036854775807, 9223372036854775807), "
         "float32)\n    return y\n",
         NULL},
        {"huge tuple", "def f(x: float32[N]):\n    a = (1, 2) * 1000000000\n    return x\n", NULL},
        {"huge rank", "def f(x: float32[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]):\n    return x\n", NULL},
        {"huge step", "def f(x: float32[N]):\n    x[0:N:9223372036854775807] = 1.0\n    return x\n", NULL},
    };
    char noise[4096];
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        compile_bytes(rows[i].what, rows[i].text, strlen(rows[i].text));
        if (rows[i].expected && !CHECK(strcmp(outcome, rows[i].expected) == 0))
            fprintf(stderr, "    %s: is '%s', should be '%s'\n", rows[i].what, outcome, rows[i].expected);
    }
    for (size_t i = 0; i < sizeof right;
         i++) { /* a NUL in every place; the last one stands behind the text */
        char copy[sizeof right];
        memcpy(copy, right, sizeof right);
        copy[i] = 0;
        compile_bytes("NUL", copy, sizeof right);
        CHECK(outcome[0] != 0);
    }
    for (int round = 0; round < portion(200, 0); round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            noise[i] = round % 2 ? (char)(state >> 32)
                                 : "()[]{}:,.=+-*/%<>\n    ifdefornwa01x@#\"'\\"[(state >> 32) % 41];
        }
        compile_bytes("noise", noise, sizeof noise);
    }
}

/* Functions that each call the one before twice: 2^50 copies if nobody counts. */
static void test_inlining(void)
{
    struct text text;

    text_init(&text);
    text_string(&text, "def f0(a):\n    return a + 1.0\n");
    for (int i = 1; i <= 50; i++)
        text_format(&text, "def f%d(a):\n    return f%d(a) + f%d(a * 2.0)\n", i, i - 1, i - 1);
    text_string(&text, "def k(x: float32[N]):\n    x[0] = f50(x[0])\n    return x\n");
    compile_text("calls that double", &text, NULL);
    text_init(&text);
    text_string(&text, "def f0(x):\n    x[0] = x[0] + 1.0\n    return x\n");
    for (int i = 1; i <= 50; i++)
        text_format(&text, "def f%d(x):\n    f%d(x)\n    f%d(x)\n    return x\n", i, i - 1, i - 1);
    compile_text("statements that double", &text, NULL);
    text_init(&text);
    text_string(&text, "def k(x: float32[N]):\n    a0 = x[0]\n");
    for (int i = 1; i <= 2000; i++)
        text_format(&text, "    a%d = a%d + a%d\n", i, i - 1, i - 1);
    text_string(&text, "    x[0] = a2000\n    return x\n");
    compile_text("values that double", &text, NULL);
    text_init(&text);
    text_string(&text, "def k(x: float32[N]):\n    a0 = x.shape[0]\n");
    for (int i = 1; i <= 60; i++)
        text_format(&text, "    a%d = a%d + a%d\n", i, i - 1, i - 1);
    text_string(&text, "    x[a60] = 1.0\n    return x\n");
    compile_text("extents that double", &text, NULL);
    text_init(&text);
    text_string(&text, "def k(x: float32[N]):\n    a0 = x.shape[0]\n");
    for (int i = 1; i <= 60; i++)
        text_format(&text, "    a%d = a%d * a%d + min(a%d, a%d // 2)\n", i, i - 1, i - 1, i - 1, i - 1);
    text_string(&text, "    x[a60] = 1.0\n    return x\n");
    compile_text("extents that grow without end", &text, NULL);
    text_init(&text);
    text_string(&text, "def k(x: float32[N]):\n    t0 = (1, 1)\n");
    for (int i = 1; i <= 60; i++)
        text_format(&text, "    t%d = t%d + t%d\n", i, i - 1, i - 1);
    text_string(&text, "    return x\n");
    compile_text("tuples that double", &text, NULL);
    text_init(&text);
    for (int i = 0; i < 5000; i++)
        text_format(&text, "def f%d(x):\n    return f%d(x)\n", i, (i + 1) % 5000);
    compile_text("a circle of 5,000 functions", &text, NULL);
    text_init(&text);
    for (int i = 0; i < 5000; i++)
        text_format(&text, "c%d = %s%d\n", i, i ? "c" : "", i ? i - 1 : 1);
    text_string(&text, "def k(x: float32[c4999]):\n    return x\n");
    compile_text("a chain of constants", &text, NULL);
}

int main(void)
{
    struct rlimit memory = {(rlim_t)4 << 30, (rlim_t)4 << 30};

    if (SLOWER == 1)
        setrlimit(RLIMIT_AS, &memory);
    test_bytes();
    test_nesting();
    test_blocks();
    test_chain();
    if (SLOWER <=
        10) /* what fills the limits on copies is some gigabytes where each object is allocated alone */
        test_inlining();
    test_size();
    return check_done();
}
