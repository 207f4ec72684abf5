/*
 * test_gradcheck.c: akg_gradient_check finds wrong gradients where they are, and confirms right ones: of
 * functions in .akg, written in place, of several outputs, of variadic inputs, and of operators written in C.
 * With AKG_FAULT_INJECTION each allocation fails once, in turn; the sanitizer looks for leaks.
 */
#include "../../base/memory.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

/* y = A x, so dx = A' dout. %s: what the bprop stores. */
static const char product[] = "def product(a, x):\n"
                              "    y = output_tensor((a.shape[0],), x.dtype)\n"
                              "    for i in range(a.shape[0]):\n"
                              "        for k in range(a.shape[1]):\n"
                              "            y[i] += a[i, k] * x[k]\n"
                              "    return y\n"
                              "\n"
                              "def product_grad(a, x, dout):\n"
                              "    da = output_tensor(a.shape, a.dtype)\n"
                              "    dx = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(a.shape[0]):\n"
                              "        for k in range(a.shape[1]):\n"
                              "            da[i, k] = x[k] * dout[i]\n"
                              "            dx[k] += %s\n"
                              "    return da, dx\n"
                              "\n"
                              "@bprop(product)\n"
                              "def product_bprop(a, x, out, dout):\n"
                              "    da, dx = product_grad(a, x, dout)\n"
                              "    return da, dx\n";

static const struct {
    const char *store; /* in product */
    int64_t wrong;     /* elements of dx; -1: whatever number, but some */
} variants[] = {
    {"a[i, k] * dout[i]", 0},
    {"-a[i, k] * dout[i]", 3},                             /* sign */
    {"1.001 * a[i, k] * dout[i]", 3},                      /* factor */
    {"(1.0 + 0.00001) * a[i, k] * dout[i]", -1},           /* a small one */
    {"a[k, i] * dout[i]", -1},                             /* transposed */
    {"a[i, k] * dout[i] if k < 2 else 0.0", 1},            /* at one element */
    {"a[i, k] * dout[i] if i != 1 or k != 1 else 0.0", 1}, /* one term of one element */
    {"a[i, k]", 3},                                        /* without the output gradient */
    {"a[i, k] * dout[i] + 0.001 * x[k]", 3},               /* a term too many */
};

struct checked {
    akg_module *module;
    akg_registry *registry;
    akg_operator *callee;
    akg_gradient_report *report;
    akg_diagnostics *diagnostics;
    akg_status status;
};

static bool open(struct checked *checked, const char *text, const char *name)
{
    *checked = (struct checked){.module = api_compile(text)};
    return CHECK(checked->module != NULL) && CHECK(akg_registry_create(&checked->registry) == AKG_OK) &&
           CHECK(akg_registry_add_module(checked->registry, checked->module, NULL) == AKG_OK) &&
           CHECK(akg_registry_find(checked->registry, name, &checked->callee, NULL) == AKG_OK);
}

static void check(struct checked *checked, const akg_argument *arguments, size_t count,
                  const akg_gradient_check_options *options)
{
    akg_gradient_report_release(checked->report);
    akg_diagnostics_free(checked->diagnostics);
    checked->status = akg_gradient_check(checked->callee, arguments, count, options, &checked->report,
                                         &checked->diagnostics);
}

static void close(struct checked *checked)
{
    akg_gradient_report_release(checked->report);
    akg_diagnostics_free(checked->diagnostics);
    akg_registry_release(checked->registry);
    akg_module_release(checked->module);
}

static akg_gradient_check_row row_of(const struct checked *checked, const char *name, int64_t item)
{
    akg_gradient_check_row row;

    for (size_t i = 0; akg_gradient_report_at(checked->report, i, &row); i++)
        if (strcmp(row.name, name) == 0 && row.item == item)
            return row;
    CHECK(!"there is such a row");
    return (akg_gradient_check_row){.wrong = -2};
}

/* ---- kernels with a bprop --------------------------------------------------------------------- */

static void test_wrong_gradients(bool differences)
{
    const akg_gradient_check_options options = {.differences = differences};
    const int64_t shape[] = {3, 3};

    for (size_t i = 0; i < API_COUNT(variants); i++) {
        akg_tensor *a = api_range(AKG_FLOAT32, 2, shape, 0.5, 0.75), *x = api_vector(AKG_FLOAT64, 3, -1, 0.7);
        const akg_argument arguments[] = {api_tensor("a", a), api_tensor("x", x)};
        struct checked checked;
        char text[2048];
        snprintf(text, sizeof text, product, variants[i].store);
        if (open(&checked, text, "product")) {
            check(&checked, arguments, 2, &options);
            CHECK_INT(checked.status, variants[i].wrong ? AKG_ERROR_PROGRAM : AKG_OK);
            CHECK_INT(akg_diagnostics_count(checked.diagnostics), variants[i].wrong ? 1 : 0);
            CHECK_INT(row_of(&checked, "a", -1).wrong, 0);
            CHECK(row_of(&checked, "a", -1).error < 1e-8);
            akg_gradient_check_row row = row_of(&checked, "x", -1);
            CHECK(variants[i].wrong < 0 ? row.wrong > 0 : row.wrong == variants[i].wrong);
            CHECK_STRING(row.method, differences ? "central differences" : "complex step");
            CHECK_INT(row.tried, 3);
            CHECK_INT(row.rank, 1);
            if (variants[i].wrong) {
                CHECK_STRING(api_error(checked.diagnostics), "gradient-wrong");
                CHECK_INT(akg_diagnostics_at(checked.diagnostics, 0)->line, 14); /* the store */
                CHECK(row.error > 1e-6 && row.gradient != row.expected);
            }
            if (variants[i].wrong == 1)
                CHECK_INT(row.index[0], strstr(variants[i].store, "k < 2") ? 2 : 1);
        }
        close(&checked);
        akg_tensor_release(a);
        akg_tensor_release(x);
    }
}

/* ---- the complex step ----------------------------------------------------------------------------- */

static const char unary[] = "def f(x):\n"
                            "    y = output_tensor(x.shape, x.dtype)\n"
                            "    for i in range(len(x)):\n"
                            "        v = x[i]\n"
                            "        y[i] = %s\n"
                            "    return y\n"
                            "\n"
                            "@bprop(f)\n"
                            "def f_bprop(x, out, dout):\n"
                            "    return (0.0 * x * dout,)\n";

/* What is computed of v, 0.3 and -0.6: all that the interpreter of complex numbers knows. */
static const char *const expressions[] = {
    "v + 2.0 * v - 1.0",
    "v * v * v",
    "1.0 / (v + 3.0)",
    "-v / v ** 2",
    "abs(v)",
    "sqrt(v + 2.0)",
    "rsqrt(v + 2.0)",
    "exp(v)",
    "expm1(v)",
    "exp2(v)",
    "log(v + 2.0)",
    "log1p(v)",
    "log2(v + 2.0)",
    "log10(v + 2.0)",
    "sin(v)",
    "cos(v)",
    "tan(v)",
    "sinh(v)",
    "cosh(v)",
    "tanh(v)",
    "sigmoid(v)",
    "sigmoid(50.0 * v)",
    "v ** 3.0",
    "v ** -2.0",
    "(v + 1.0) ** 2.5",
    "2.0 ** v",
    "min(v, 0.1)",
    "max(v, v * v)",
    "fma(v, v, 3.0 * v)",
    "v % 0.25",
    "v * floor(9.0 * v)",
    "v * sign(v)",
    "v * v if v > 0.0 else -v",
    "v * (v // 0.25)",
    "v * v * 0.0",
};

static void test_complex_step(void)
{
    for (size_t i = 0; i < API_COUNT(expressions); i++)
        for (int negative = 0; negative < 2; negative++) {
            akg_gradient_check_options options = {.seed = 1};
            akg_tensor *x = api_vector(AKG_FLOAT64, 1, negative ? -0.6 : 0.3, 0);
            const akg_argument argument = api_tensor("x", x);
            struct checked checked;
            char text[1024];
            snprintf(text, sizeof text, unary, expressions[i]);
            if (open(&checked, text, "f")) {
                check(&checked, &argument, 1, &options);
                akg_gradient_check_row by_complex = row_of(&checked, "x", -1);
                options.differences = true;
                check(&checked, &argument, 1, &options);
                akg_gradient_check_row by_difference = row_of(&checked, "x", -1);
                CHECK_STRING(by_complex.method, "complex step");
                if (!CHECK(fabs(by_complex.expected - by_difference.expected) <
                           1e-7 * fmax(1, fabs(by_complex.expected))))
                    fprintf(stderr, "    of %s: %.12g, not %.12g\n", expressions[i], by_complex.expected,
                            by_difference.expected);
            }
            close(&checked);
            akg_tensor_release(x);
        }
}

/* Variables, temporaries that begin anew, conditions, and an operation without meaning on complex numbers. */
static const char statements[] =
    "def f(x, n=3):\n"
    "    y = output_tensor(x.shape, x.dtype)\n"
    "    for i in range(len(x)):\n"
    "        work = allocate((2,), x.dtype)\n"
    "        total = 0.0\n"
    "        k = 0\n"
    "        while k < n:\n"
    "            total += x[i] * x[i]\n"
    "            k += 1\n"
    "        if int(x[i]) %% 2 == 0:\n"
    "            work[1] += total\n"
    "        y[i] = work[1] + %s(x[i])\n"
    "    return y\n"
    "\n"
    "@bprop(f)\n"
    "def f_bprop(x, out, dout, n):\n"
    "    return (where(cast(x, int64) %% 2 == 0, 2.0 * n * x, 0.0) * dout + dout * %s,)\n";

static void test_statements(void)
{
    static const char *const ways[][3] = {{"abs", "1.0", "complex step"},
                                          {"erf", "1.1283791670955126 * exp(-x * x)", "central differences"}};
    akg_tensor *x = api_vector(AKG_FLOAT64, 5, 0.5, 1);
    const akg_argument argument = api_tensor("x", x);

    for (size_t i = 0; i < API_COUNT(ways); i++) {
        struct checked checked;
        char text[2048];
        snprintf(text, sizeof text, statements, ways[i][0], ways[i][1]);
        if (open(&checked, text, "f")) {
            check(&checked, &argument, 1, NULL);
            CHECK_INT(checked.status, AKG_OK);
            CHECK_STRING(row_of(&checked, "x", -1).method, ways[i][2]);
        }
        close(&checked);
    }
    akg_tensor_release(x);
}

/* ---- kinds of operators ------------------------------------------------------------------------- */

static const char in_place[] = "def grow(x, state):\n"
                               "    for i in range(len(x)):\n"
                               "        state[i] = state[i] + x[i] * x[i]\n"
                               "        x[i] = x[i] * x[i]\n"
                               "    return x, state\n"
                               "\n"
                               "def grow_grad(out, dout):\n"
                               "    dx = output_tensor(out.shape, out.dtype)\n"
                               "    for i in range(len(out)):\n"
                               "        dx[i] = 2.0 * sqrt(out[i]) * dout[i]\n"
                               "    return dx\n"
                               "\n"
                               "@bprop(grow)\n"
                               "def grow_bprop(x, state, out, dout):\n"
                               "    dx = grow_grad(out[0], dout[0])\n"
                               "    return dx, None\n";

static void test_in_place(void)
{
    static const char *const only_x[] = {"x"}, *const both[] = {"x", "state"};
    akg_tensor *x = api_vector(AKG_FLOAT64, 3, 1, 1), *state = api_vector(AKG_FLOAT32, 3, 1, 1);
    const akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, state)};
    const akg_gradient_check_options options = {.names = only_x, .name_count = 1},
                                     all = {.names = both, .name_count = 2};
    akg_gradient_check_row second;
    struct checked checked;

    if (open(&checked, in_place, "grow")) {
        check(&checked, arguments, 2, &options);
        CHECK_INT(checked.status, AKG_OK); /* the state is no output then */
        CHECK_INT(row_of(&checked, "x", -1).wrong, 0);
        check(&checked, arguments, 2, NULL);
        CHECK_INT(checked.status, AKG_OK); /* nor where nobody asks: it has no gradient */
        CHECK_INT(row_of(&checked, "x", -1).wrong, 0);
        CHECK(!akg_gradient_report_at(checked.report, 1, &second));
        check(&checked, arguments, 2, &all);
        CHECK_INT(checked.status, AKG_ERROR_PROGRAM); /* and now it is */
        CHECK_INT(row_of(&checked, "state", -1).wrong, 3);
        CHECK(api_element(x, 2) == 3 && api_element(state, 2) == 3);
    }
    close(&checked);
    akg_tensor_release(x);
    akg_tensor_release(state);
}

static const char sums[] = "def total(*xs):\n"
                           "    y = output_tensor(xs[0].shape, xs[0].dtype)\n"
                           "    for x in xs:\n"
                           "        for i in range(len(y)):\n"
                           "            y[i] += x[i] * x[i]\n"
                           "    return y\n"
                           "\n"
                           "@bprop(total)\n"
                           "def total_bprop(xs, out, dout):\n"
                           "    return ((2.0 * xs[0] * dout, 3.0 * xs[1] * dout),)\n";

static void test_variadic(void)
{
    akg_tensor *tensors[] = {api_vector(AKG_FLOAT64, 2, 1, 1), api_vector(AKG_FLOAT64, 2, 5, 1)};
    const akg_argument argument = api_tensors("xs", tensors, 2);
    struct checked checked;

    if (open(&checked, sums, "total")) {
        check(&checked, &argument, 1, NULL);
        CHECK_INT(checked.status, AKG_ERROR_PROGRAM);
        CHECK_INT(row_of(&checked, "xs", 0).wrong, 0);
        CHECK_INT(row_of(&checked, "xs", 1).wrong, 2);
        CHECK(api_says(checked.diagnostics, "dxs_1["));
    }
    close(&checked);
    akg_tensor_release(tensors[0]);
    akg_tensor_release(tensors[1]);
}

/* An operator written in C; `data` is what its gradient is multiplied with. */
static akg_status compute(akg_invocation *invocation)
{
    const double *in = akg_tensor_data(akg_invocation_input(invocation, "in", 0));
    double *out = akg_tensor_data(akg_invocation_output(invocation, "out", 0));

    for (int64_t i = 0; i < akg_tensor_element_count(akg_invocation_output(invocation, "out", 0)); i++)
        out[i] = exp(in[i]);
    return AKG_OK;
}

static akg_status exponential_bprop(const akg_bprop_call *call, akg_tensor **gradients,
                                    akg_diagnostics **diagnostics)
{
    const double *out = akg_tensor_data(call->outputs[0]), *dout = akg_tensor_data(call->output_gradients[0]);
    akg_status status = akg_tensor_copy(call->outputs[0], &gradients[0]);

    (void)diagnostics;
    for (int64_t i = 0; status == AKG_OK && i < akg_tensor_element_count(gradients[0]); i++)
        ((double *)akg_tensor_data(gradients[0]))[i] = *(const double *)call->data * out[i] * dout[i];
    return status;
}

static void test_native(void)
{
    static const akg_operand in[] = {{.name = "in"}}, out[] = {{.name = "out"}};
    static const akg_kernel_definition kernels[] = {{.name = "double", .compute = compute}};
    static const akg_operator_definition definition = {.name = "exponential",
                                                       .inputs = in,
                                                       .outputs = out,
                                                       .input_count = 1,
                                                       .output_count = 1,
                                                       .kernels = kernels,
                                                       .kernel_count = 1};
    akg_tensor *x = api_vector(AKG_FLOAT32, 4, -1, 0.5);
    const akg_argument argument = api_tensor("in", x);

    for (int wrong = 0; wrong < 2; wrong++) {
        double factor = 1 + 0.01 * wrong;
        const akg_bprop bprop = {
            .parameter_count = 3, .result_count = 1, .function = exponential_bprop, .data = &factor};
        struct checked checked = {0};
        CHECK_INT(akg_registry_create(&checked.registry), AKG_OK);
        CHECK_INT(akg_registry_add_operator(checked.registry, &definition, NULL), AKG_OK);
        CHECK_INT(akg_operator_set_bprop(checked.registry, "exponential", &bprop, NULL), AKG_OK);
        CHECK_INT(akg_registry_find(checked.registry, "exponential", &checked.callee, NULL), AKG_OK);
        check(&checked, &argument, 1, NULL);
        CHECK_INT(checked.status, wrong ? AKG_ERROR_PROGRAM : AKG_OK);
        CHECK_INT(row_of(&checked, "in", -1).wrong, wrong ? 4 : 0);
        if (wrong)
            CHECK_INT(akg_diagnostics_at(checked.diagnostics, 0)->line, 0);
        close(&checked);
    }
    akg_tensor_release(x);
}

/* ---- options, usage ---------------------------------------------------------------------------------- */

static void test_options(void)
{
    static const char *const missing[] = {"b"};
    const int64_t shape[] = {40, 50};
    akg_tensor *a = api_range(AKG_FLOAT64, 2, shape, 0, 0.01), *x = api_vector(AKG_FLOAT64, 50, 0, 0.1);
    const akg_argument arguments[] = {api_tensor("a", a), api_tensor("x", x)};
    akg_gradient_check_options options = {.limit = 7, .seed = 5};
    struct checked checked;
    char text[2048];

    snprintf(text, sizeof text, product, variants[0].store);
    if (open(&checked, text, "product")) {
        check(&checked, arguments, 2, &options);
        CHECK_INT(checked.status, AKG_OK);
        CHECK_INT(row_of(&checked, "a", -1).elements, 2000);
        CHECK_INT(row_of(&checked, "a", -1).tried, 7);
        CHECK_INT(row_of(&checked, "x", -1).tried, 7);
    }
    close(&checked);
    snprintf(text, sizeof text, product, variants[2].store); /* a thousandth too much */
    if (open(&checked, text, "product")) {
        check(&checked, arguments, 2, &options);
        CHECK_INT(checked.status, AKG_ERROR_PROGRAM);
        options.tolerance = 0.01;
        check(&checked, arguments, 2, &options);
        CHECK_INT(checked.status, AKG_OK);
        options = (akg_gradient_check_options){.names = missing, .name_count = 1};
        check(&checked, arguments, 2, &options);
        CHECK_INT(checked.status, AKG_ERROR_USAGE);
        CHECK(!checked.report && !checked.diagnostics);
        check(&checked, arguments, 1, NULL);
        CHECK_INT(checked.status, AKG_ERROR_CALL); /* x is missing */
        CHECK(!checked.report);
        CHECK_STRING(api_error(checked.diagnostics), "call-missing");
        CHECK_INT(akg_gradient_check(checked.callee, arguments, 2, NULL, NULL, NULL), AKG_ERROR_USAGE);
    }
    close(&checked);
    akg_tensor_release(a);
    akg_tensor_release(x);
}

/* ---- failures ------------------------------------------------------------------------------------------ */

/* What calls remember of each other may be lost: then the verdict is there all the same. */
static void test_failures(void)
{
#ifdef AKG_FAULT_INJECTION
    const int64_t shape[] = {2, 2};
    akg_tensor *a = api_range(AKG_FLOAT32, 2, shape, 0.5, 0.75), *x = api_vector(AKG_FLOAT64, 2, -1, 0.7);
    const akg_argument arguments[] = {api_tensor("a", a), api_tensor("x", x)};
    long failures = -1, told = 0;

    for (size_t wrong = 0; wrong < 2; wrong++, failures = -1, told = 0) {
        struct checked checked;
        char text[2048];
        bool struck = true;
        snprintf(text, sizeof text, product, variants[wrong].store);
        if (!open(&checked, text, "product"))
            break;
        check(&checked, arguments, 2, NULL); /* compiles */
        while (struck) {
            memory_fail_after(++failures);
            check(&checked, arguments, 2, NULL);
            struck = memory_fail_remaining() < 0;
            memory_fail_after(-1);
            bool out_of_memory = struck && checked.status == AKG_ERROR_MEMORY;
            CHECK_INT(checked.status, out_of_memory ? AKG_ERROR_MEMORY : wrong ? AKG_ERROR_PROGRAM : AKG_OK);
            CHECK(out_of_memory == (checked.report == NULL));
            told += out_of_memory;
        }
        CHECK(failures > 100 && told > failures - 10);
        close(&checked);
    }
    akg_tensor_release(a);
    akg_tensor_release(x);
#endif
}

int main(void)
{
    test_wrong_gradients(false);
    test_wrong_gradients(true);
    test_complex_step();
    test_statements();
    test_in_place();
    test_variadic();
    test_native();
    test_options();
    test_failures();
    return check_done();
}
