/*
 * test_graph.c: graph functions on a tape: what is run and what is left out, gradients of gradients, tuples,
 * missing tensors, attributes, writes in place, messages; and every allocation of a journey failing in turn.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/memory.h"
#include "api_support.h"
#include "check.h"

#ifndef AKG_FAULT_INJECTION
#define memory_fail_after(count) ((void)(count))
#define memory_fail_remaining() (0L)
#endif

static const char program[] = "def product(a, b):\n"
                              "    y = output_tensor(a.shape, a.dtype)\n"
                              "    for i in range(a.shape[0]):\n"
                              "        y[i] = a[i] * b[i]\n"
                              "    return y\n"
                              "\n"
                              "@bprop(product)\n"
                              "def product_bprop(a, b, out, dout):\n"
                              "    return (product(dout, b), refused(product(dout, a)))\n"
                              "\n"
                              "def refused(x):\n" /* stops when it is run */
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        assert x[i] > 1000, 'this must not run'\n"
                              "        y[i] = x[i]\n"
                              "    return y\n"
                              "\n"
                              "def cube(x):\n"
                              "    return x * x * x\n"
                              "\n"
                              "def scaled(x, factor=2.0):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        y[i] = x[i] * factor\n"
                              "    return y\n"
                              "\n"
                              "@bprop(scaled)\n"
                              "def scaled_bprop(x, out, dout, factor):\n"
                              "    return (scaled(dout, factor),)\n"
                              "\n"
                              "def biased(x, bias=None):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        y[i] = 3 * x[i]\n"
                              "        if bias is not None:\n"
                              "            y[i] += bias[i]\n"
                              "    return y\n"
                              "\n"
                              "@bprop(biased)\n"
                              "def biased_bprop(x, bias, out, dout):\n"
                              "    return (3.0 * dout, dout if bias is not None else None)\n"
                              "\n"
                              "def both(x):\n"
                              "    s = output_tensor(x.shape, x.dtype)\n"
                              "    d = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        s[i] = x[i] + 1\n"
                              "        d[i] = 5 * x[i]\n"
                              "    return s, d\n"
                              "\n"
                              "@bprop(both)\n"
                              "def both_bprop(x, out, dout):\n"
                              "    return (dout[0] + 5.0 * dout[1],)\n"
                              "\n"
                              "def uses_both(x):\n"
                              "    s, d = both(x)\n"
                              "    return s * d\n"
                              "\n"
                              "def doubled(x):\n"
                              "    d = scaled(x)\n"
                              "    return d, d * d\n"
                              "\n"
                              "def grow(x):\n"
                              "    for i in range(x.shape[0]):\n"
                              "        x[i] = 2 * x[i]\n"
                              "    return x\n"
                              "\n"
                              "def plain(x):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        y[i] = x[i] + 1\n"
                              "    return y\n"
                              "\n"
                              "def through_plain(x):\n"
                              "    return plain(x) * 2.0\n"
                              "\n"
                              "def many(x):\n"
                              "    y = x\n"
                              "    for k in const_range(5):\n"
                              "        y = y * 1.5\n"
                              "    return y\n";

struct bench {
    akg_module *module;
    akg_registry *registry;
    akg_tape *tape;
};

static bool bench_begin(struct bench *bench)
{
    bench->module = api_compile(program);
    return bench->module && akg_registry_create(&bench->registry) == AKG_OK &&
           akg_registry_add_module(bench->registry, bench->module, NULL) == AKG_OK &&
           akg_tape_create(bench->registry, &bench->tape) == AKG_OK;
}

static void bench_end(struct bench *bench)
{
    akg_tape_release(bench->tape);
    akg_registry_release(bench->registry);
    akg_module_release(bench->module);
}

static akg_tensor *leaf(int64_t length, double first, double step)
{
    akg_tensor *tensor = api_vector(AKG_FLOAT64, length, first, step);
    akg_tensor_set_requires_grad(tensor, true, NULL);
    return tensor;
}

static akg_status call(struct bench *bench, const char *name, const akg_argument *arguments, size_t count,
                       akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_operator *found;
    akg_status status = akg_registry_find(bench->registry, name, &found, diagnostics);
    return status == AKG_OK ? akg_call(bench->tape, found, arguments, count, outputs, diagnostics) : status;
}

/* The gradient of the sum of the one output of a call. */
static akg_tensor *gradient_of(struct bench *bench, const char *name, const akg_argument *arguments,
                               size_t count, akg_tensor *with_respect_to)
{
    akg_tensor *y = NULL, *gradient = NULL;
    akg_diagnostics *diagnostics = NULL;
    bool good =
        call(bench, name, arguments, count, &y, &diagnostics) == AKG_OK &&
        akg_gradients(bench->tape, &y, NULL, 1, &with_respect_to, 1, NULL, &gradient, &diagnostics) == AKG_OK;

    if (!CHECK(good))
        fprintf(stderr, "    %s: %s\n", name, api_error(diagnostics));
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(y);
    return gradient;
}

/* Every element of the gradient, by `expected` of the element's place. */
static void check_gradient(struct bench *bench, const char *name, const akg_argument *arguments, size_t count,
                           akg_tensor *with_respect_to, double (*expected)(double place))
{
    akg_tensor *gradient = gradient_of(bench, name, arguments, count, with_respect_to);

    CHECK(gradient && akg_tensor_element_count(gradient) == akg_tensor_element_count(with_respect_to));
    for (int64_t i = 0; gradient && i < akg_tensor_element_count(gradient); i++)
        CHECK(fabs(api_element(gradient, i) - expected((double)i)) < 1e-12);
    akg_tensor_release(gradient);
}

static double of_cube(double i)
{
    return 3 * (1 + i) * (1 + i);
}
static double of_scaled(double i)
{
    (void)i;
    return 0.25;
}
static double three(double i)
{
    (void)i;
    return 3;
}
static double one(double i)
{
    (void)i;
    return 1;
}
static double of_both(double i)
{
    return 5 * (1 + i) + 5 * (2 + i); /* d/dx (x + 1) * 5 x */
}
static double of_many(double i)
{
    (void)i;
    return 1.5 * 1.5 * 1.5 * 1.5 * 1.5;
}

static void test_gradients(struct bench *bench)
{
    akg_tensor *x = leaf(4, 1, 1), *bias = leaf(4, 0, 1);
    akg_argument cube[] = {api_tensor("x", x)}, scaled[] = {api_tensor("x", x), api_real("factor", 0.25)};
    akg_argument biased[] = {api_tensor("x", x), api_tensor("bias", bias)};

    check_gradient(bench, "cube", cube, 1, x, of_cube);
    check_gradient(bench, "scaled", scaled, 2, x, of_scaled);
    check_gradient(bench, "biased", biased, 2, x, three);
    check_gradient(bench, "biased", biased, 2, bias, one);
    check_gradient(bench, "biased", biased, 1, x, three);
    check_gradient(bench, "uses_both", cube, 1, x, of_both);
    check_gradient(bench, "many", cube, 1, x, of_many);
    akg_tensor_release(x);
    akg_tensor_release(bias);
}

/* The gradient that nobody asked for would stop the pass. */
static void test_pruning(struct bench *bench)
{
    akg_tensor *a = leaf(3, 1, 1), *b = leaf(3, 2, 1), *y = NULL, *gradient = NULL;
    akg_argument arguments[] = {api_tensor("a", a), api_tensor("b", b)};
    akg_diagnostics *diagnostics = NULL;
    const akg_gradient_options keep = {.retain_graph = true};

    CHECK(call(bench, "product", arguments, 2, &y, NULL) == AKG_OK);
    CHECK(akg_gradients(bench->tape, &y, NULL, 1, &a, 1, &keep, &gradient, NULL) == AKG_OK);
    CHECK(gradient && api_element(gradient, 2) == 4);
    akg_tensor_release(gradient);
    gradient = NULL;
    CHECK(akg_gradients(bench->tape, &y, NULL, 1, &b, 1, NULL, &gradient, &diagnostics) == AKG_ERROR_CALL);
    CHECK(!gradient && strcmp(api_error(diagnostics), "call-assert") == 0);
    CHECK(api_says(diagnostics, "in the call of 'refused'"));
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(y);
    akg_tensor_release(a);
    akg_tensor_release(b);
}

/* x ** 3: 3 x ** 2, 6 x, 6. */
static void test_higher_orders(struct bench *bench)
{
    akg_tensor *x = leaf(2, 2, 1), *value = NULL;
    akg_argument argument = api_tensor("x", x);
    const akg_gradient_options create = {.create_graph = true};
    static const double expected[3][2] = {{12, 27}, {12, 18}, {6, 6}};

    CHECK(call(bench, "cube", &argument, 1, &value, NULL) == AKG_OK);
    for (int order = 0; order < 3; order++) {
        akg_tensor *gradient = NULL;
        akg_diagnostics *diagnostics = NULL;
        akg_status status =
            akg_gradients(bench->tape, &value, NULL, 1, &x, 1, &create, &gradient, &diagnostics);
        if (!CHECK(status == AKG_OK && gradient))
            fprintf(stderr, "    order %d: %s\n", order + 1, api_error(diagnostics));
        for (int i = 0; gradient && i < 2; i++)
            CHECK(api_element(gradient, i) == expected[order][i]);
        akg_diagnostics_free(diagnostics);
        akg_tensor_release(value);
        value = gradient;
    }
    akg_tensor_release(value);
    akg_tensor_release(x);
}

static void expect_error(struct bench *bench, const char *name, akg_argument argument, akg_status expected,
                         const char *error)
{
    akg_tensor *y = NULL, *gradient = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = call(bench, name, &argument, 1, &y, &diagnostics);

    if (status == AKG_OK)
        status =
            akg_gradients(bench->tape, &y, NULL, 1, &argument.as.tensor, 1, NULL, &gradient, &diagnostics);
    if (!CHECK(status == expected && strcmp(api_error(diagnostics), error) == 0))
        fprintf(stderr, "    %s: %d %s\n", name, (int)status, api_error(diagnostics));
    CHECK(!gradient);
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(y);
}

static void test_errors(struct bench *bench)
{
    akg_tensor *x = leaf(3, 1, 1), *matrix = api_range(AKG_FLOAT64, 2, (int64_t[]){2, 2}, 0, 1);

    akg_tensor_set_requires_grad(matrix, true, NULL);
    expect_error(bench, "plain", api_tensor("x", x), AKG_ERROR_CALL, "gradient-none");
    expect_error(bench, "through_plain", api_tensor("x", x), AKG_ERROR_CALL, "gradient-none");
    expect_error(bench, "grow", api_tensor("x", x), AKG_ERROR_CALL, "gradient-leaf-written");
    expect_error(bench, "through_plain", api_tensor("x", matrix), AKG_ERROR_CALL, "rank-mismatch");
    expect_error(bench, "cube", api_tensor("z", x), AKG_ERROR_CALL, "call-unknown");
    CHECK(api_element(x, 2) == 3);
    akg_tensor_release(x);
    akg_tensor_release(matrix);
}

/* Why tensors that are given for the outputs of `doubled` are refused; nothing was computed then. */
static void refuses_given(struct bench *bench, akg_tensor *x, akg_tensor *first, akg_tensor *second,
                          const char *why)
{
    const akg_argument argument = api_tensor(NULL, x);
    akg_tensor *outputs[2] = {first, second};
    akg_diagnostics *diagnostics = NULL;

    CHECK_INT(call(bench, "doubled", &argument, 1, outputs, &diagnostics), AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "call-output");
    CHECK(api_says(diagnostics, why));
    CHECK(outputs[0] == first && outputs[1] == second &&
          (!first || api_element(first, 0) == 7 || first == x));
    akg_diagnostics_free(diagnostics);
}

/* Tensors of the caller for the results of a graph function: the first is made by a call in the middle. */
static void test_given(struct bench *bench)
{
    akg_tensor *x = leaf(3, 1, 1), *first = api_vector(AKG_FLOAT64, 3, 7, 0);
    akg_tensor *second = api_vector(AKG_FLOAT64, 3, 7, 0), *other = api_vector(AKG_FLOAT32, 3, 7, 0);
    akg_tensor *longer = api_vector(AKG_FLOAT64, 4, 7, 0), *outputs[2] = {first, second};
    const akg_argument argument = api_tensor(NULL, x);

    refuses_given(bench, x, first, longer, "has another shape: ");
    refuses_given(bench, x, first, other, "has another dtype");
    refuses_given(bench, x, first, first, "shares memory with that for another output");
    refuses_given(bench, x, x, NULL, "shares memory with an argument");
    CHECK_INT(call(bench, "doubled", &argument, 1, outputs, NULL), AKG_OK);
    CHECK(outputs[0] == first && outputs[1] == second && akg_tensor_requires_grad(second));
    CHECK(api_element(first, 2) == 6 && api_element(second, 2) == 36);
    CHECK_INT(akg_backward(bench->tape, outputs + 1, NULL, 1, false, NULL), AKG_OK);
    CHECK(api_element(akg_tensor_grad(x), 2) == 8 * 3);
    akg_tensor_release(x);
    akg_tensor_release(first);
    akg_tensor_release(second);
    akg_tensor_release(other);
    akg_tensor_release(longer);
}

/* Steps of training with running statistics, which are written in place and have no part in the gradient. */
static void test_running(struct bench *bench)
{
    akg_tensor *x = api_range(AKG_FLOAT64, 2, (const int64_t[]){4, 2}, 0, 1);
    akg_tensor *weight = leaf(2, 1, 0), *bias = leaf(2, 0, 0), *mean = api_vector(AKG_FLOAT64, 2, 0, 0);
    akg_tensor *variance = api_vector(AKG_FLOAT64, 2, 1, 0);
    akg_operator *found = NULL;

    CHECK_INT(akg_registry_find(bench->registry, "batch_norm", &found, NULL), AKG_OK);
    for (int step = 0; step < 3; step++) {
        akg_argument arguments[] = {api_tensor(NULL, x),
                                    api_tensor(NULL, weight),
                                    api_tensor(NULL, bias),
                                    api_tensor("running_mean", mean),
                                    api_tensor("running_var", variance),
                                    api_real("momentum", 0.5)};
        akg_tensor *outputs[3] = {NULL};
        akg_diagnostics *diagnostics = NULL;
        CHECK_INT(akg_call(bench->tape, found, arguments, 6, outputs, NULL), AKG_OK);
        CHECK(outputs[1] == mean && akg_tensor_requires_grad(outputs[0]) && !akg_tensor_requires_grad(mean));
        if (!CHECK(akg_backward(bench->tape, outputs, NULL, 1, false, &diagnostics) == AKG_OK))
            fprintf(stderr, "    %s\n", api_error(diagnostics));
        akg_diagnostics_free(diagnostics);
        for (int i = 0; i < 3; i++)
            akg_tensor_release(outputs[i]);
    }
    CHECK(api_element(mean, 0) == 3 * 0.875 && api_element(akg_tensor_grad(bias), 1) == 12);
    akg_tensor_release(x);
    akg_tensor_release(weight);
    akg_tensor_release(bias);
    akg_tensor_release(mean);
    akg_tensor_release(variance);
}

/* Shapes that keep changing, more of them than plans are kept. */
static void test_many_shapes(struct bench *bench)
{
    for (int64_t length = 1; length <= 2500; length++) {
        akg_tensor *x = leaf(length, 1, 0), *gradient;
        akg_argument argument = api_tensor("x", x);
        gradient = gradient_of(bench, "cube", &argument, 1, x);
        CHECK(gradient && api_element(gradient, length - 1) == 3);
        akg_tensor_release(gradient);
        akg_tensor_release(x);
    }
}

/* ---- failures ---------------------------------------------------------------------------------- */

static bool struck;

/* False when the step failed, as it may only for want of memory. Frees the messages. */
static bool step(akg_status status, akg_diagnostics **diagnostics)
{
    if (status != AKG_OK && !CHECK(status == AKG_ERROR_MEMORY && memory_fail_remaining() < 0))
        fprintf(stderr, "    status %d, %s\n", (int)status, api_error(*diagnostics));
    akg_diagnostics_free(*diagnostics);
    *diagnostics = NULL;
    return status == AKG_OK;
}

static void journey(struct bench *bench, long allowed)
{
    akg_tensor *x = leaf(3, 1, 1), *y = NULL, *gradient = NULL;
    akg_tape *tape = NULL;
    akg_operator *found = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_argument argument = api_tensor("x", x);

    memory_fail_after(allowed);
    if (step(akg_tape_create(bench->registry, &tape), &diagnostics) &&
        step(akg_registry_find(bench->registry, "uses_both", &found, &diagnostics), &diagnostics) &&
        step(akg_call(tape, found, &argument, 1, &y, &diagnostics), &diagnostics) &&
        step(akg_gradients(tape, &y, NULL, 1, &x, 1, NULL, &gradient, &diagnostics), &diagnostics))
        CHECK(api_element(gradient, 1) == 25);
    struck = memory_fail_remaining() < 0;
    memory_fail_after(-1);
    akg_tensor_release(gradient);
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_tape_release(tape);
}

static void test_failures(void)
{
    struct bench bench = {NULL, NULL, NULL};

    CHECK(bench_begin(&bench));
    journey(&bench, -1); /* kernels are compiled and the library is read */
    for (long allowed = 0; allowed < 100000; allowed++) {
        journey(&bench, allowed);
        if (!struck)
            break;
    }
    bench_end(&bench);
}

/* The gradient of an operator by its first argument, differentiated by the gradient of its output, which it
 * is linear in: what comes out is the directional derivative along ones. */
static void check_second(struct bench *bench, const char *name, const akg_argument *arguments, size_t count)
{
    akg_tensor *x = arguments[0].as.tensor, *y = NULL, *v = NULL, *first = NULL, *second = NULL;
    const akg_gradient_options create = {.create_graph = true};
    akg_diagnostics *diagnostics = NULL;
    double along = 0, sum = 0;
    bool good = call(bench, name, arguments, count, &y, &diagnostics) == AKG_OK &&
                akg_tensor_create(AKG_FLOAT64, akg_tensor_rank(y), akg_tensor_shape(y), &v) == AKG_OK;

    if (good) {
        akg_tensor_fill(v, 1);
        akg_tensor_set_requires_grad(v, true, NULL);
        good = akg_gradients(bench->tape, &y, &v, 1, &x, 1, &create, &first, &diagnostics) == AKG_OK &&
               akg_gradients(bench->tape, &first, NULL, 1, &v, 1, NULL, &second, &diagnostics) == AKG_OK;
    }
    if (!CHECK(good && second))
        fprintf(stderr, "    %s: %s\n", name, api_error(diagnostics));
    for (int64_t i = 0; good && i < akg_tensor_element_count(first); i++)
        along += api_element(first, i);
    for (int64_t i = 0; good && second && i < akg_tensor_element_count(second); i++)
        sum += api_element(second, i);
    CHECK(fabs(along) > 0.1 && fabs(along - sum) < 1e-12 * fabs(along));
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(y);
    akg_tensor_release(v);
    akg_tensor_release(first);
    akg_tensor_release(second);
}

static void test_second_order(struct bench *bench)
{
    akg_tensor *image = api_range(AKG_FLOAT64, 4, (int64_t[]){1, 1, 4, 4}, -1, 0.3);
    akg_tensor *filter = api_range(AKG_FLOAT64, 4, (int64_t[]){2, 1, 2, 2}, 0.1, 0.2);
    akg_tensor *rows = api_range(AKG_FLOAT64, 2, (int64_t[]){3, 2}, 1, 1);
    akg_tensor *index = api_range(AKG_INT64, 1, (int64_t[]){2}, 0, 2);

    akg_tensor_set_requires_grad(image, true, NULL);
    akg_tensor_set_requires_grad(rows, true, NULL);
    check_second(bench, "conv2d", (akg_argument[]){api_tensor(NULL, image), api_tensor(NULL, filter)}, 2);
    check_second(bench, "max_pool2d", (akg_argument[]){api_tensor(NULL, image)}, 1);
    check_second(bench, "avg_pool2d", (akg_argument[]){api_tensor(NULL, image)}, 1);
    check_second(bench, "gelu", (akg_argument[]){api_tensor(NULL, image)}, 1);
    check_second(bench, "embedding", (akg_argument[]){api_tensor(NULL, rows), api_tensor(NULL, index)}, 2);
    akg_tensor_release(image);
    akg_tensor_release(filter);
    akg_tensor_release(rows);
    akg_tensor_release(index);
}

int main(void)
{
    struct bench bench = {NULL, NULL, NULL};

    if (CHECK(bench_begin(&bench))) {
        test_gradients(&bench);
        test_given(&bench);
        test_pruning(&bench);
        test_higher_orders(&bench);
        test_second_order(&bench);
        test_errors(&bench);
        test_running(&bench);
        test_many_shapes(&bench);
    }
    bench_end(&bench);
    test_failures();
    return check_done();
}
