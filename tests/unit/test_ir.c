/*
 * test_ir.c: the IR's constructors and folding, and its text form both ways.
 */
#include "ir_fixture.h"

#include <stdlib.h>

/* The kernel, or NULL with the first message in *message. The text is given in memory of just its size, so
 * that the address sanitizer sees a read past it. */
static struct ir_kernel *read_text(const char *text, size_t length, const char **message)
{
    char *exact = malloc(length ? length : 1);
    akg_diagnostics *diagnostics = diagnostics_create("test.ir", NULL, 0);

    memcpy(exact, text, length);
    diagnostics_set_escape(diagnostics, &escape);
    struct ir_kernel *result = ir_read(&arena, exact, length, diagnostics);
    *message = NULL;
    if (akg_diagnostics_error_count(diagnostics)) {
        const char *first = akg_diagnostics_at(diagnostics, 0)->message;
        *message = arena_copy(&arena, first, strlen(first));
    }
    akg_diagnostics_free(diagnostics);
    free(exact);
    return result;
}

/* Print, read, print: the same; and what was read verifies. */
static void check_round_trip(const struct ir_kernel *original)
{
    const char *message, *first = printed(original);

    CHECK_STRING(complaint_of(original), "");
    struct ir_kernel *again = read_text(first, strlen(first), &message);
    CHECK_STRING(message ? message : "", "");
    if (CHECK(again != NULL)) {
        CHECK_STRING(printed(again), first);
        CHECK_STRING(complaint_of(again), "");
        CHECK_INT(again->dims.count, original->dims.count);
        CHECK_INT(again->buffers.count, original->buffers.count);
    }
}

/* ---- building ----------------------------------------------------------- */

static void test_table(void)
{
    CHECK_STRING(operation_table[OP_ADD].text, "+");
    CHECK_STRING(operation_table[OP_ISFINITE].text, "isfinite");
    CHECK_INT(operation_table[OP_SELECT].arity, 3);
    CHECK_INT(operation_table[OP_CAST].rule, RULE_CONVERT);
}

static void test_names(void)
{
    fresh_kernel("names");
    CHECK_STRING(ir_buffer_new(kernel, "x", IR_INPUT, AKG_INT8, 0)->name, "x");
    CHECK_STRING(symbol(IR_SYMBOL_LOOP, "i", AKG_INT64)->name, "i");
    CHECK_STRING(symbol(IR_SYMBOL_LOOP, "i_2", AKG_INT64)->name, "i_2");
    CHECK_STRING(symbol(IR_SYMBOL_LOOP, "i", AKG_INT64)->name, "i_1");
    CHECK_STRING(symbol(IR_SYMBOL_LOOP, "i", AKG_INT64)->name, "i_3");
    CHECK_STRING(symbol(IR_SYMBOL_LET, "x", AKG_INT64)->name, "x_1");
    CHECK_STRING(ir_buffer_new(kernel, "i", IR_OUTPUT, AKG_INT8, 0)->name, "i_4");
    for (int k = 0; k < 500; k++)
        symbol(IR_SYMBOL_LET, "many", AKG_INT64);
    CHECK_STRING(symbol(IR_SYMBOL_LET, "many", AKG_INT64)->name, "many_500");
    CHECK_INT(symbol(IR_SYMBOL_DIM, "n", AKG_INT64)->index, 0);
    CHECK_INT(symbol(IR_SYMBOL_DIM, "m", AKG_INT64)->index, 1);
    CHECK_INT(symbol(IR_SYMBOL_ATTRIBUTE, "a", AKG_BOOL)->index, 0);
    CHECK_INT(kernel->dims.count, 2);
}

#define FOLDS(expr, text) CHECK_STRING(printed_expr(expr), text)

static void test_fold_integers(void)
{
    fresh_kernel("fold");
    struct ir_expr *n = use(symbol(IR_SYMBOL_DIM, "n", AKG_INT64));
    struct ir_expr *m = use(symbol(IR_SYMBOL_DIM, "m", AKG_INT64));

    FOLDS(op(OP_ADD, num(2), num(3)), "5");
    FOLDS(op(OP_ADD, n, num(0)), "n");
    FOLDS(op(OP_ADD, num(0), n), "n");
    FOLDS(op(OP_SUB, n, num(0)), "n");
    FOLDS(op(OP_MUL, n, num(1)), "n");
    FOLDS(op(OP_MUL, num(0), n), "0");
    FOLDS(op(OP_ADD, op(OP_SUB, n, num(1)), num(1)), "n");
    FOLDS(op(OP_SUB, op(OP_SUB, n, num(1)), num(2)), "(n - 3)");
    FOLDS(op(OP_ADD, num(4), op(OP_ADD, n, num(1))), "(n + 5)");
    FOLDS(op(OP_SUB, num(4), op(OP_ADD, n, num(1))), "(3 - n)");
    FOLDS(op(OP_SUB, num(4), op(OP_SUB, num(1), n)), "(n + 3)");
    FOLDS(op(OP_SUB, op(OP_SUB, num(1), n), num(1)), "(0 - n)");
    FOLDS(op(OP_ADD, n, num(-3)), "(n - 3)");
    FOLDS(op(OP_ADD, n, num(INT64_MIN)), "(n + -9223372036854775808)");
    FOLDS(op(OP_SUB, n, num(INT64_MIN)), "(n - -9223372036854775808)");
    FOLDS(op(OP_SUB, op(OP_ADD, n, num(4)), n), "4");
    FOLDS(op(OP_SUB, op(OP_ADD, n, num(4)), m), "((n + 4) - m)");
    FOLDS(op(OP_ADD, op(OP_SUB, num(2), n), n), "2");
    FOLDS(op(OP_SUB, n, n), "0");
    FOLDS(op(OP_ADD, n, n), "(n + n)");
    FOLDS(op(OP_MIN, num(2), num(-3)), "-3");
    FOLDS(op(OP_MAX, num(2), num(-3)), "2");
    FOLDS(op(OP_NEG, num(5), NULL), "-5");
    FOLDS(op(OP_ABS, num(-5), NULL), "5");
    FOLDS(op(OP_LT, num(2), num(3)), "true");
    FOLDS(op(OP_NE, num(2), num(2)), "false");
}

static void test_fold_division(void)
{
    fresh_kernel("fold");
    struct ir_expr *n = use(symbol(IR_SYMBOL_DIM, "n", AKG_INT64));

    FOLDS(op(OP_FLOORDIV, num(-7), num(2)), "-4");
    FOLDS(op(OP_FLOORDIV, num(7), num(-2)), "-4");
    FOLDS(op(OP_FLOORDIV, num(-7), num(-2)), "3");
    FOLDS(op(OP_MOD, num(-7), num(3)), "2");
    FOLDS(op(OP_MOD, num(7), num(-3)), "-2");
    FOLDS(op(OP_CEIL_DIV, num(7), num(2)), "4");
    FOLDS(op(OP_CEIL_DIV, num(-7), num(2)), "-3");
    FOLDS(op(OP_FLOORDIV, n, num(1)), "n");
    FOLDS(op(OP_MOD, n, num(1)), "0");
    FOLDS(op(OP_FLOORDIV, n, num(2)), "(n // 2)");
    FOLDS(op(OP_FLOORDIV, n, n), "(n //? n)");
    FOLDS(op(OP_CEIL_DIV, n, n), "ceil_div(n, n?)");
    FOLDS(op(OP_POW, n, num(2)), "(n ** 2)");
    FOLDS(op(OP_POW, n, n), "(n **? n)");
    FOLDS(op(OP_MUL, op(OP_MOD, n, n), num(0)), "((n %? n) * 0)"); /* may stop the kernel */
}

static void test_fold_refuses(void)
{
    fresh_kernel("fold");
    struct ir_expr *n = use(symbol(IR_SYMBOL_DIM, "n", AKG_INT64));

    FOLDS(op(OP_ADD, num(INT64_MAX), num(1)), "(9223372036854775807 + 1)");
    FOLDS(op(OP_SUB, num(INT64_MIN), num(1)), "(-9223372036854775808 - 1)");
    FOLDS(op(OP_MUL, num(INT64_MAX), num(2)), "(9223372036854775807 * 2)");
    FOLDS(op(OP_ADD, op(OP_ADD, n, num(INT64_MAX)), num(1)), "((n + 9223372036854775807) + 1)");
    FOLDS(op(OP_FLOORDIV, num(1), num(0)), "(1 //? 0)");
    FOLDS(op(OP_MOD, num(1), num(0)), "(1 %? 0)");
    FOLDS(op(OP_FLOORDIV, num(INT64_MIN), num(-1)), "(-9223372036854775808 // -1)");
    FOLDS(op(OP_MOD, num(INT64_MIN), num(-1)), "(-9223372036854775808 % -1)");
    FOLDS(op(OP_CEIL_DIV, num(INT64_MIN), num(2)), "ceil_div(-9223372036854775808, 2)");
    FOLDS(op(OP_NEG, num(INT64_MIN), NULL), "neg(-9223372036854775808)");
    FOLDS(op(OP_ABS, num(INT64_MIN), NULL), "abs(-9223372036854775808)");
    FOLDS(op(OP_ADD, ir_integer(kernel, AKG_INT32, 2), ir_integer(kernel, AKG_INT32, 3)),
          "(2:int32 + 3:int32)");
    FOLDS(op(OP_MUL, ir_real(kernel, AKG_FLOAT32, 2), ir_real(kernel, AKG_FLOAT32, 1)),
          "(2.0:float32 * 1.0:float32)");
}

static void test_fold_bools(void)
{
    fresh_kernel("fold");
    struct ir_buffer *flags = ir_buffer_new(kernel, "f", IR_INPUT, AKG_BOOL, 0);
    struct ir_expr *b = use(symbol(IR_SYMBOL_ATTRIBUTE, "b", AKG_BOOL));
    struct ir_expr *yes = ir_integer(kernel, AKG_BOOL, 7), *no = ir_integer(kernel, AKG_BOOL, 0);
    struct ir_expr *data = load(flags, NULL, NULL);

    FOLDS(yes, "true");
    FOLDS(op(OP_AND, yes, b), "b");
    FOLDS(op(OP_AND, b, no), "false");
    FOLDS(op(OP_AND, data, no), "(f[] and false)"); /* an access may stop the kernel */
    FOLDS(op(OP_AND, no, data), "false");
    FOLDS(op(OP_OR, b, yes), "true");
    FOLDS(op(OP_OR, no, b), "b");
    FOLDS(op(OP_NOT, yes, NULL), "false");
    FOLDS(op(OP_NOT, op(OP_NOT, b, NULL), NULL), "b");
    FOLDS(op(OP_EQ, yes, no), "false");
    FOLDS(ir_operation(kernel, OP_SELECT, yes, num(1), num(2)), "1");
    FOLDS(ir_cast(kernel, AKG_INT64, yes), "1");
    FOLDS(ir_cast(kernel, AKG_BOOL, num(9)), "true");
    FOLDS(ir_cast(kernel, AKG_BOOL, b), "b");
    FOLDS(ir_cast(kernel, AKG_FLOAT16, num(2)), "float16(2)");
}

static bool count_until(struct ir_expr *expr, void *context)
{
    int *left = context;
    (void)expr;
    return --*left != 0;
}

static void test_walk(void)
{
    fresh_kernel("walk");
    struct ir_buffer *a = ir_buffer_new(kernel, "a", IR_INPUT, AKG_INT64, 2);
    struct ir_symbol *i = symbol(IR_SYMBOL_LOOP, "i", AKG_INT64), *j = symbol(IR_SYMBOL_LOOP, "j", AKG_INT64);
    struct ir_expr *expr = op(OP_MUL, load(a, use(i), op(OP_FLOORDIV, use(j), use(i))), use(j));
    int left = -1;

    CHECK(ir_expr_walk(expr, count_until, &left));
    CHECK_INT(-1 - left, 7);
    left = 3;
    CHECK(!ir_expr_walk(expr, count_until, &left));
    CHECK_INT(left, 0);

    struct ir_stmt *stmt = store(load(a, use(i), use(j)), expr, 1, NULL);
    left = -1;
    CHECK(ir_stmt_expressions(stmt, count_until, &left));
    CHECK_INT(-1 - left, 9);

    expr->operands[0]->access.checks[1] = IR_CHECK_PROVED;
    i->note = op(OP_ADD, use(i), use(j));
    struct ir_expr *copy = ir_expr_substitute(kernel, expr);
    i->note = NULL;
    FOLDS(copy, "(a[(i + j)?, (j //? (i + j))] * j)");
    FOLDS(expr, "(a[i?, (j //? i)] * j)");
    CHECK(!ir_expr_equal(expr, copy));
    copy = ir_expr_substitute(kernel, expr);
    CHECK(ir_expr_equal(expr, copy));
    CHECK(copy->operands[1] != expr->operands[1]);
    CHECK(!ir_expr_equal(ir_real(kernel, AKG_FLOAT32, 0.0), ir_real(kernel, AKG_FLOAT32, -0.0)));
    CHECK(!ir_expr_equal(num(1), ir_integer(kernel, AKG_INT32, 1)));
}

/* ---- kernels ------------------------------------------------------------ */

static const char matmul_text[] =
    "kernel matmul {\n"
    "  attribute alpha: float64\n"
    "  input a: float32[M, K] strided @1:12-13\n"
    "  input b: float32[K_1, N] strided\n"
    "  output c: float32[M, N] clear\n"
    "  temporary t: float64[(M + 1)]\n"
    "  parameters a, b, bias absent, scale = alpha\n"
    "  results c, again = c\n"
    "  require bounds (K <= K_1) when (M > 0) access b axis 0 index (K - 1) extent K_1 @4:12-6:3\n"
    "  require assert not((M == 3)) \"say \\\"no\\\"\\n\\\\ \\x01\" @9:1\n"
    "  body {\n"
    "    allocate t @3:5-9\n"
    "    for i = 0 to M step 1 parallel @2:5-9 {\n"
    "      for j = (N - 1) to -1 step -2 serial unroll @2:5-9 {\n"
    "        var acc: float32 = 0.0:float32 @3:5-9\n"
    "        let x: bool = (b[0, j] < 0.10000000149011612:float32) @3:5-9\n"
    "        for k = 0 to K step 1 reduce @2:5-9 {\n"
    "          acc = fma(a[i, k], b[k!, j], acc) @3:5-9\n"
    "          if x @5:5-9 {\n"
    "            break @6:5-9\n"
    "          } else if false @5:5-9 {\n"
    "            continue @6:5-9\n"
    "          } else {\n"
    "            assert isnan(float16(acc)) \"nan\" @7:5-9\n"
    "          }\n"
    "        }\n"
    "        while (x and not(x)) @8:5-9 {\n"
    "        }\n"
    "        c[i, j?] = select(x, acc, float32(alpha)) @9:5-9\n"
    "        t[i?] = -inf:float64 @9:5-9\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

static void test_matmul(void)
{
    struct matmul p;

    build_matmul(&p);
    CHECK_STRING(printed(kernel), matmul_text);
    check_round_trip(kernel);
}

/* ---- everything else a kernel may hold --------------------------------- */

/* Names that are words of the text form or no identifiers, all constants, all operations. */
static void test_names_and_constants(void)
{
    static const char *const names[] = {"if",     "true",     "inf",     "kernel", "input",    "body",
                                        "to",     "step",     "absent",  "xs.0",   "a`b\\c\n", "",
                                        "9lives", "\xc3\xa9", "float32", "max",    "when",     "@"};
    struct ir_stmt *last = NULL;

    fresh_kernel("while");
    struct ir_buffer *in = ir_buffer_new(kernel, "allocate", IR_INOUT, AKG_UINT64, 1);
    dim(in, 0, "let");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct ir_symbol *named = symbol(IR_SYMBOL_VARIABLE, names[k], AKG_INT64);
        struct ir_stmt *assign = scalar(IR_ASSIGN, named, use(named), last);
        last = scalar(IR_VARIABLE, named, num(k % 2 ? INT64_MIN : INT64_MAX), assign);
        last->span = (struct span){0};
    }
    for (int k = 0; k < AKG_DTYPE_COUNT; k++) {
        bool real = dtype_is_float((akg_dtype)k);
        struct ir_symbol *named = symbol(IR_SYMBOL_LET, "c", (akg_dtype)k);
        last = scalar(IR_LET, named,
                      real ? ir_real(kernel, (akg_dtype)k, k == AKG_FLOAT64 ? 5e-324 : 65504.3)
                           : ir_integer(kernel, (akg_dtype)k, -1),
                      last);
    }
    double specials[] = {0.0, -0.0, __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 1e300,
                         0.1, 1e21, 123456789.0};
    for (size_t k = 0; k < sizeof specials / sizeof *specials; k++)
        last = scalar(IR_LET, symbol(IR_SYMBOL_LET, "r", AKG_FLOAT64),
                      ir_real(kernel, AKG_FLOAT64, specials[k]), last);
    kernel->body = last;
    list_push(&arena, &kernel->parameters, ((struct ir_parameter){"absent", in, NULL}));
    list_push(&arena, &kernel->parameters, ((struct ir_parameter){"absent", NULL, NULL}));
    list_push(&arena, &kernel->results, ((struct ir_result){"allocate", in, 2}));
    check_round_trip(kernel);
    CHECK(strstr(printed(kernel), "`let`") != NULL);
    CHECK(strstr(printed(kernel), "18446744073709551615:uint64") != NULL);
    CHECK(strstr(printed(kernel), "\n    input = input") != NULL);
}

/* Of each operation one use per dtype that it takes: they print, read and verify. */
static void test_every_operation(void)
{
    struct ir_stmt *last = NULL;
    int used[OPERATION_COUNT] = {0};

    fresh_kernel("operations");
    struct ir_expr *truth = use(symbol(IR_SYMBOL_ATTRIBUTE, "truth", AKG_BOOL));
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        struct ir_buffer *in = ir_buffer_new(kernel, "x", IR_INPUT, (akg_dtype)dtype, 0);
        for (int k = 0; k < OPERATION_COUNT; k++) {
            enum operation_rule rule = operation_table[k].rule;
            bool is_float = dtype_is_float((akg_dtype)dtype), is_bool = dtype == AKG_BOOL;
            if (rule == RULE_CONVERT || (rule == RULE_NUMERIC && is_bool) ||
                ((rule == RULE_FLOATING || rule == RULE_CLASSIFY) && !is_float) ||
                (rule == RULE_INTEGRAL && (is_float || is_bool)) || (rule == RULE_BITWISE && is_float) ||
                (rule == RULE_COMPARE && is_bool && k != OP_EQ && k != OP_NE) ||
                (rule == RULE_LOGICAL && !is_bool))
                continue;
            struct ir_expr *a = rule == RULE_CHOICE ? truth : load(in, NULL, NULL);
            struct ir_expr *expr =
                ir_operation(kernel, (enum operation)k, a, load(in, NULL, NULL), load(in, NULL, NULL));
            last = scalar(IR_LET, symbol(IR_SYMBOL_LET, "r", expr->dtype), expr, last);
            last->span = (struct span){k + 1, 1, k + 2, 3};
            used[k]++;
        }
        struct ir_expr *cast = ir_cast(kernel, AKG_BFLOAT16, load(in, NULL, NULL));
        last = scalar(IR_LET, symbol(IR_SYMBOL_LET, "cast", AKG_BFLOAT16), cast, last);
        used[OP_CAST]++;
    }
    kernel->body = last;
    for (int k = 0; k < OPERATION_COUNT; k++)
        CHECK(used[k] > 0);
    check_round_trip(kernel);
}

/* An output before the inputs, a dim used before the input that binds it, an attribute as an extent. */
static void test_shapes(void)
{
    const char *message;

    fresh_kernel("shapes");
    struct ir_symbol *width = symbol(IR_SYMBOL_ATTRIBUTE, "width", AKG_INT64);
    struct ir_buffer *out = ir_buffer_new(kernel, "out", IR_OUTPUT, AKG_INT8, 2);
    struct ir_buffer *a = ir_buffer_new(kernel, "a", IR_INPUT, AKG_INT8, 2);
    struct ir_buffer *b = ir_buffer_new(kernel, "b", IR_INPUT, AKG_INT8, 1);
    struct ir_symbol *n = dim(b, 0, "n");
    a->shape[0] = use(width);
    a->shape[1] = op(OP_ADD, use(n), num(1));
    a->contiguous = true;
    out->shape[0] = use(n);
    out->shape[1] = op(OP_CEIL_DIV, use(n), use(width));
    check_round_trip(kernel);
    const char *text = printed(kernel);
    struct ir_kernel *again = read_text(text, strlen(text), &message);
    CHECK_STRING(again->dims.items[0]->buffer->name, "b");
    CHECK(again->buffers.items[1]->contiguous && !again->buffers.items[2]->contiguous);
}

static struct ir_expr *deep_expr(struct ir_expr *leaf, int levels)
{
    struct ir_expr *expr = leaf;
    for (int k = 0; k < levels; k++)
        expr = op(OP_MUL, expr, ir_integer(kernel, AKG_INT32, 3));
    return expr;
}

static void test_depth(void)
{
    const char *message;

    fresh_kernel("deep");
    struct ir_symbol *x = symbol(IR_SYMBOL_VARIABLE, "x", AKG_INT32);
    struct ir_stmt *assign = scalar(IR_ASSIGN, x, deep_expr(use(x), 990), NULL);
    kernel->body = scalar(IR_VARIABLE, x, ir_integer(kernel, AKG_INT32, 1), assign);
    check_round_trip(kernel);
    CHECK(ir_expr_equal(assign->value, ir_expr_substitute(kernel, assign->value)));

    assign->value = deep_expr(use(x), 1000);
    const char *text = printed(kernel);
    CHECK(read_text(text, strlen(text), &message) == NULL);
    CHECK_STRING(message, "nested too deeply (more than 1000 levels)");
    assign->value = deep_expr(use(x), 6000);
    CHECK(strstr(complaint_of(kernel), "nested too deeply") != NULL);
}

/* A long chain of `else if` is flat in the text and does not count as depth when read. */
static void test_chain(void)
{
    struct ir_stmt *chain = NULL;

    fresh_kernel("chain");
    struct ir_symbol *b = symbol(IR_SYMBOL_ATTRIBUTE, "b", AKG_BOOL);
    for (int k = 0; k < 1200; k++) {
        struct ir_stmt *branch = stmt_new(IR_IF, k + 1, NULL);
        branch->value = use(b);
        branch->otherwise = chain;
        chain = branch;
    }
    kernel->body = chain;
    check_round_trip(kernel);
}

/* ---- the reader, given anything ---------------------------------------- */

static void test_truncations(void)
{
    const char *message;
    size_t length = sizeof matmul_text - 1;

    /* all but the final newline is needed */
    for (size_t k = 0; k < length - 1; k++) {
        struct ir_kernel *result = read_text(matmul_text, k, &message);
        if (result || !message) {
            CHECK_INT(k, -1);
            return;
        }
    }
    CHECK(read_text(matmul_text, length - 1, &message) != NULL);
}

/* Whatever one byte is replaced by: an error, or a kernel that prints as it reads. */
static void test_mutations(void)
{
    static const char bytes[] = "\0\xff\n\"`(){}[]?!@:=-+*/,.09aeKi #\\";
    char text[sizeof matmul_text];
    const char *message;
    int kernels = 0, errors = 0;

    for (size_t k = 0; k < sizeof matmul_text - 1; k++) {
        memcpy(text, matmul_text, sizeof text);
        text[k] = bytes[(k * 7) % (sizeof bytes - 1)];
        struct ir_kernel *result = read_text(text, sizeof text - 1, &message);
        errors += result == NULL;
        if (!result ? message == NULL : message != NULL)
            CHECK_INT(k, -1);
        if (!result)
            continue;
        kernels++;
        complaint_of(result);
        const char *first = printed(result);
        result = read_text(first, strlen(first), &message);
        if (!CHECK(result != NULL))
            return;
        CHECK_STRING(printed(result), first);
    }
    CHECK(kernels > 20);
    CHECK(errors > 500);
}

struct wrong_text {
    const char *text, *message;
};

static void test_wrong_texts(void)
{
#define BODY(stmts)                                                                                          \
    "kernel k { input a: float32[n] output c: float32[n] attribute v: int64 body { " stmts " } }"
    static const struct wrong_text rows[] = {
        {"", "expected 'kernel', not the end of the text"},
        {"kernel 3 {", "expected a name, not '3'"},
        {"kernel k { inputs", "expected a declaration or 'body', not 'inputs'"},
        {"kernel k { input a: float33[]", "expected a dtype, not 'float33'"},
        {"kernel k { input a: float32[n] input a: float32[n]", "'a' is declared twice"},
        {"kernel k { input a: float32[a] body {}}", "'a' is a dim in its own shape"},
        {"kernel k { output c: float32[n] body {}}", "'n' is no axis of an input"},
        {"kernel k { input a: int8[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] body {}}", "expected ']', not ','"},
        {"kernel k { parameters q body {}}", "'q' is not declared"},
        {"kernel k { attribute v: int64 results v body {}}", "'v' is no buffer"},
        {"kernel k { require maybe true body {}}", "expected shape, bounds or assert, not 'maybe'"},
        {"kernel k { body {} } }", "expected the end of the text, not '}'"},
        {BODY("c[v] = a[w]"), "'w' is not declared"},
        {BODY("c[v, v] = a[v]"), "expected ']', not ','"},
        {BODY("c[] = a[v]"), "expected an expression, not ']'"},
        {BODY("c = 1"), "'c' is a buffer"},
        {BODY("v[1] = 1"), "expected '=', not '['"},
        {BODY("let x: int64 = c"), "'c' is a buffer"},
        {BODY("let x: int64 = v[1]"), "'v' is no buffer"},
        {BODY("let x: int64 = x"), "'x' is not declared"},
        {BODY("let v: int64 = 1"), "'v' is declared twice"},
        {BODY("for i = 0 to i step 1 { }"), "'i' is not declared"},
        {BODY("for i = 0 to 1 step 1 quickly { }"), "expected a hint, not 'quickly'"},
        {BODY("let x: int64 = 9223372036854775808"), "expected an integer within its dtype"},
        {BODY("let x: int64 = -9223372036854775809"), "expected an integer within its dtype"},
        {BODY("let x: int64 = 18446744073709551616"), "expected an integer within range"},
        {BODY("let x: uint8 = 256:uint8"), "expected an integer within its dtype"},
        {BODY("let x: uint64 = -1:uint64"), "expected an integer within its dtype"},
        {BODY("let x: float32 = 1:float32"), "expected an integer within its dtype"},
        {BODY("let x: int32 = 1.0:int32"), "expected a floating dtype"},
        {BODY("let x: float32 = 1.0"), "expected ':'"},
        {BODY("let x: float32 = 1.5e"), "expected an expression, not '1.5'"},
        {BODY("let x: int64 = 3x"), "expected an expression, not '3'"},
        {BODY("let x: int64 = (v)"), "expected an infix operation, not ')'"},
        {BODY("let x: int64 = (v max v)"), "expected an infix operation, not 'max'"},
        {BODY("let x: int64 = (v select v)"), "expected an infix operation"},
        {BODY("let x: int64 = max(v)"), "expected ',', not ')'"},
        {BODY("let x: int64 = neg(v, v)"), "expected ')', not ','"},
        {BODY("let x: int64 = cast(v)"), "expected an operation, not 'cast'"},
        {BODY("let x: int64 = `max`(v, v)"), "expected an operation"},
        {BODY("let x: int64 = `m\\q`"), "expected an escape that is known"},
        {BODY("assert true \"\\x00\""), "expected an escape that is known"},
        {BODY("assert true \"\\x4\""), "expected an escape that is known"},
        {BODY("assert true \"open"), "not '\"open"},
        {BODY("break @3"), "expected ':', not '}'"},
        {BODY("break @99999999999:1"), "expected an integer within range"},
        {BODY("else { }"), "expected a name, not 'else'"},
        {BODY("let x: bool = (true and $)"), "expected an expression, not '$'"},
    };
    const char *message;

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        CHECK(read_text(rows[k].text, strlen(rows[k].text), &message) == NULL);
        if (!CHECK(message && strstr(message, rows[k].message)))
            fprintf(stderr, "    row %d: \"%s\"\n", (int)k, message ? message : "(null)");
    }
    CHECK(read_text(BODY("let x: int64 = -0 # note\n if true {} else if false { }"),
                    sizeof BODY("let x: int64 = -0 # note\n if true {} else if false { }") - 1,
                    &message) != NULL);
}

static void test_garbage(void)
{
    char text[4096];
    const char *message;
    unsigned state = 1;

    for (int round = 0; round < 300; round++) {
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (char)((state = state * 1664525u + 1013904223u) >> 24);
        CHECK(read_text(text, sizeof text, &message) == NULL);
        CHECK(message != NULL);
    }
    static const char *const floods[] = {"(", "not(", "{", "[", "-", "~(", "if true {", "while true {", "a["};
    for (size_t k = 0; k < sizeof floods / sizeof *floods; k++) {
        struct text flood;
        text_init(&flood);
        text_string(&flood, "kernel k { input a: int64[n] body { let x: bool = ");
        if (floods[k][0] == 'i' || floods[k][0] == 'w')
            text_string(&flood, "true ");
        for (int n = 0; n < 100000; n++)
            text_string(&flood, floods[k]);
        CHECK(read_text(flood.data, flood.length, &message) == NULL);
        CHECK(message != NULL);
        text_free(&flood);
    }
}

/* Of a kernel with all that hangs on dims: its copy for two of these, which are gone; and it stays as it is.
 */
static void test_copy_at(void)
{
    static const char text[] = "kernel k {\n"
                               "  attribute n: int64 from 1 below 16\n"
                               "  input x: float32[I, N]\n"
                               "  input w: float32[3, N]\n"
                               "  temporary t: float32[(N + 1)]\n"
                               "  output y: float32[I, N]\n"
                               "  parameters x, w, n\n"
                               "  results y\n"
                               "  require assert (n < N) \"large\"\n"
                               "  body {\n"
                               "    for i = 0 to I step 1 {\n"
                               "      allocate t\n"
                               "      var s: float32 = 0.0:float32\n"
                               "      var p: int64 = 0\n"
                               "      for j = n to N step 1 reduces argmax s at p {\n"
                               "        if (x[i, j] > s) {\n"
                               "          s = x[i, j]\n"
                               "          p = j\n"
                               "        }\n"
                               "      }\n"
                               "      let last: int64 = (N - 1)\n"
                               "      for k = 0 to 3 step 1 {\n"
                               "        assert (p <= last) \"far\"\n"
                               "        t[last] = w[k, p]\n"
                               "        y[i, p] = (s * t[last])\n"
                               "      }\n"
                               "    }\n"
                               "  }\n"
                               "}\n";
    static const char expected[] = "kernel k {\n"
                                   "  attribute n: int64 from 1 below 16\n"
                                   "  input x: float32[4, 5]\n"
                                   "  input w: float32[3, 5]\n"
                                   "  temporary t: float32[(5 + 1)]\n"
                                   "  output y: float32[4, 5]\n"
                                   "  parameters x, w, n\n"
                                   "  results y\n"
                                   "  require assert (n < 5) \"large\"\n"
                                   "  body {\n"
                                   "    for i = 0 to 4 step 1 open {\n"
                                   "      allocate t\n"
                                   "      var s: float32 = 0.0:float32\n"
                                   "      var p: int64 = 0\n"
                                   "      for j = n to 5 step 1 open reduces argmax s at p {\n"
                                   "        if (x[i, j] > s) {\n"
                                   "          s = x[i, j]\n"
                                   "          p = j\n"
                                   "        }\n"
                                   "      }\n"
                                   "      let last: int64 = (5 - 1)\n"
                                   "      for k = 0 to 3 step 1 {\n"
                                   "        assert (p <= last) \"far\"\n"
                                   "        t[last] = w[k, p]\n"
                                   "        y[i, p] = (s * t[last])\n"
                                   "      }\n"
                                   "    }\n"
                                   "  }\n"
                                   "}\n";
    const char *message;
    struct ir_kernel *original = read_text(text, sizeof text - 1, &message);

    CHECK_STRING(message ? message : "", "");
    if (!CHECK(original != NULL))
        return;
    const char *before = printed(original);
    struct ir_kernel *copy = ir_kernel_at(original, (const int64_t[]){4, 5}, (const bool[]){true, true});
    CHECK_STRING(printed(copy), expected);
    CHECK_STRING(complaint_of(copy), "");
    CHECK_INT(copy->dims.count, 0);
    CHECK_STRING(printed(original), before);
    CHECK_STRING(complaint_of(original), "");
    check_round_trip(copy);
    for (int k = 0; k < copy->buffers.count; k++)
        CHECK(copy->buffers.items[k] != original->buffers.items[k] && copy->buffers.items[k]->index == k);
    CHECK(copy->attributes.items[0] != original->attributes.items[0]);
    CHECK(copy->body->symbol != original->body->symbol && copy->body->symbol->note == NULL);
    CHECK(original->body->symbol->note == NULL && original->dims.items[0]->note == NULL);
    copy = ir_kernel_at(original, (const int64_t[]){4, 5}, (const bool[]){true, false});
    CHECK_STRING(complaint_of(copy), "");
    CHECK_INT(copy->dims.count, 1);
    CHECK(copy->dims.items[0]->index == 0 && copy->dims.items[0]->number == 1 &&
          copy->dims.items[0]->buffer == copy->buffers.items[0] && copy->dims.items[0]->axis == 1);
    CHECK(strstr(printed(copy), "input x: float32[4, N]") != NULL);
}

int main(void)
{
    arena_init(&arena, &escape);
    if (setjmp(escape)) {
        fprintf(stderr, "out of memory\n");
        return 2;
    }
    test_table();
    test_names();
    test_fold_integers();
    test_fold_division();
    test_fold_refuses();
    test_fold_bools();
    test_walk();
    test_matmul();
    test_names_and_constants();
    test_every_operation();
    test_shapes();
    test_depth();
    test_chain();
    test_truncations();
    test_mutations();
    test_wrong_texts();
    test_garbage();
    test_copy_at();
    arena_free(&arena);
    return check_done();
}
