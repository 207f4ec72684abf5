/*
 * test_autograd.c: what gradients are, and what is refused: leaves, chains, diamonds, broadcasting, in-place
 * writes, several roots and outputs, chosen tensors, second order, values with gradients.
 */
#include "autograd_support.h"
#include "refused.h"

#include <math.h>

static akg_tape *tape;

static void check_near(const akg_tensor *tensor, int64_t index, double expected, int line)
{
    double value = tensor ? api_element(tensor, index) : NAN;
    if (!check_one(fabs(value - expected) <= 1e-6 * (1 + fabs(expected)), __FILE__, line, "element"))
        fprintf(stderr, "    is %.9g, should be %.9g\n", value, expected);
}
#define NEAR(tensor, index, expected) check_near(tensor, index, expected, __LINE__)

static akg_status backward(akg_tensor *root)
{
    return akg_backward(tape, &root, NULL, 1, false, &diagnostics);
}

static void release(akg_tensor *const *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        akg_tensor_release(tensors[i]);
}
#define RELEASE(...)                                                                                         \
    release((akg_tensor *[]){__VA_ARGS__}, sizeof((akg_tensor *[]){__VA_ARGS__}) / sizeof(akg_tensor *))

/* ---- gradients of leaves ------------------------------------------------------------------------------- */

static void test_chain(void)
{
    akg_tensor *x = net_vector(AKG_FLOAT32, 3, 1, 1, true), *k = net_scalar(AKG_FLOAT32, 3, false);
    akg_tensor *square = net_product(tape, x, x), *y = net_product(tape, square, k);

    CHECK(akg_tensor_requires_grad(x) && akg_tensor_is_leaf(x));
    CHECK(akg_tensor_requires_grad(y) && !akg_tensor_is_leaf(y));
    CHECK(!akg_tensor_requires_grad(k) && akg_tensor_is_leaf(k));
    CHECK(akg_tensor_grad(x) == NULL);
    CHECK_INT(backward(y), AKG_OK);
    for (int i = 0; i < 3; i++)
        NEAR(akg_tensor_grad(x), i, 6 * (i + 1));
    CHECK(akg_tensor_grad(k) == NULL && akg_tensor_grad(y) == NULL);
    CHECK(!akg_tensor_requires_grad(akg_tensor_grad(x)));
    RELEASE(square, y);

    /* the next one is added; then cleared */
    y = net_product(tape, x, k);
    CHECK_INT(backward(y), AKG_OK);
    NEAR(akg_tensor_grad(x), 2, 18 + 3);
    akg_tensor_release(y);
    akg_tensor_clear_grad(x);
    CHECK(akg_tensor_grad(x) == NULL);
    RELEASE(x, k);
}

/* x reaches the root by 2^depth ways, each node is run once. */
static void test_diamonds(void)
{
    akg_tensor *x = net_scalar(AKG_FLOAT64, 1.01, true), *y = akg_tensor_retain(x);

    for (int depth = 0; depth < 8; depth++) {
        akg_tensor *square = net_product(tape, y, y);
        akg_tensor_release(y);
        y = square;
    }
    net_backward_count = 0;
    CHECK_INT(backward(y), AKG_OK);
    CHECK_INT(net_backward_count, 8);
    NEAR(akg_tensor_grad(x), 0, 256 * pow(1.01, 255));
    RELEASE(x, y);
}

static void test_kept_gradient_is_not_changed(void)
{
    akg_tensor *x = net_scalar(AKG_FLOAT32, 2, true), *k = net_scalar(AKG_FLOAT32, 5, false);
    akg_tensor *y = net_product(tape, x, k), *kept;

    CHECK_INT(akg_backward(tape, &y, NULL, 1, true, NULL), AKG_OK);
    kept = akg_tensor_retain(akg_tensor_grad(x));
    CHECK_INT(akg_backward(tape, &y, NULL, 1, true, NULL), AKG_OK);
    NEAR(kept, 0, 5);
    NEAR(akg_tensor_grad(x), 0, 10);
    akg_tensor_release(kept);
    kept = akg_tensor_grad(x); /* nobody else has it: it grows */
    CHECK_INT(akg_backward(tape, &y, NULL, 1, false, NULL), AKG_OK);
    CHECK(akg_tensor_grad(x) == kept);
    NEAR(kept, 0, 15);
    RELEASE(x, k, y);
}

/* ---- roots --------------------------------------------------------------------------------------------- */

static void test_roots(void)
{
    akg_tensor *x = net_vector(AKG_FLOAT32, 2, 1, 1, true), *k = net_scalar(AKG_FLOAT32, 3, false);
    akg_tensor *roots[] = {net_product(tape, x, k), net_product(tape, x, x), x};
    akg_tensor *gradients[] = {api_vector(AKG_FLOAT32, 2, 10, 10), NULL, NULL};
    akg_tensor *wrong[] = {api_vector(AKG_FLOAT32, 3, 1, 1), NULL, NULL};

    REFUSED(akg_backward(tape, roots, wrong, 3, false, &diagnostics), AKG_ERROR_USAGE, "gradient-form",
            "the gradient of root 0 is float32[3], but float32[2] is needed");
    CHECK_INT(akg_backward(tape, roots, gradients, 3, false, &diagnostics), AKG_OK);
    NEAR(akg_tensor_grad(x), 0, 30 + 2 + 1);
    NEAR(akg_tensor_grad(x), 1, 60 + 4 + 1);
    /* the same root twice; a leaf alone, with a gradient of the caller's that stays his */
    akg_tensor *twice[] = {x, x}, *ones[] = {gradients[0], NULL};
    akg_tensor_clear_grad(x);
    CHECK_INT(akg_backward(tape, twice, ones, 2, false, NULL), AKG_OK);
    NEAR(akg_tensor_grad(x), 1, 21);
    akg_tensor_clear_grad(x);
    CHECK_INT(akg_backward(tape, &x, gradients, 1, false, NULL), AKG_OK);
    CHECK(akg_tensor_grad(x) != gradients[0] &&
          akg_tensor_data(akg_tensor_grad(x)) != akg_tensor_data(gradients[0]));
    NEAR(gradients[0], 1, 20);
    REFUSED(akg_backward(tape, &k, NULL, 1, false, &diagnostics), AKG_ERROR_USAGE, "gradient-not-needed",
            "root 0");
    CHECK_INT(akg_backward(tape, NULL, NULL, 0, false, NULL), AKG_OK);
    CHECK_INT(akg_backward(NULL, roots, NULL, 1, false, NULL), AKG_ERROR_USAGE);
    RELEASE(x, k, roots[0], roots[1], gradients[0], wrong[0]);
}

static void test_outputs(void)
{
    akg_tensor *x = net_vector(AKG_FLOAT32, 2, 1, 1, true), *parts[2];

    /* one output of two is used: its fellow's gradient is absent, or zeros */
    for (int materialise = 0; materialise < 2; materialise++) {
        akg_tensor_clear_grad(x);
        CHECK_INT(net_split(tape, x, materialise, parts, NULL), AKG_OK);
        CHECK_INT(backward(parts[1]), AKG_OK);
        NEAR(akg_tensor_grad(x), 1, 2);
        RELEASE(parts[0], parts[1]);
    }
    akg_tensor_clear_grad(x);
    CHECK_INT(net_split(tape, x, false, parts, NULL), AKG_OK);
    CHECK_INT(akg_backward(tape, parts, NULL, 2, false, NULL), AKG_OK);
    NEAR(akg_tensor_grad(x), 0, 3);
    RELEASE(x, parts[0], parts[1]);
}

/* ---- shapes and dtypes -----------------------------------------------------------------------------------
 */

static void test_broadcast(void)
{
    static const int64_t wide[] = {2, 3}, column[] = {2, 1};
    akg_tensor *a = api_range(AKG_FLOAT32, 2, wide, 1, 1), *b = api_range(AKG_FLOAT32, 2, column, 2, 1);
    akg_tensor *c = net_vector(AKG_FLOAT64, 3, 1, 1, true), *s = net_scalar(AKG_FLOAT16, 2, true);
    akg_tensor *ab, *abc, *y;

    akg_tensor_set_requires_grad(a, true, NULL);
    akg_tensor_set_requires_grad(b, true, NULL);
    ab = net_product(tape, a, b);
    abc = net_product(tape, ab, c);
    y = net_product(tape, abc, s);
    CHECK_INT(backward(y), AKG_OK);
    CHECK_INT(akg_tensor_rank(akg_tensor_grad(b)), 2);
    CHECK_INT(akg_tensor_shape(akg_tensor_grad(b))[1], 1);
    NEAR(akg_tensor_grad(b), 0, 2 * (1 + 4 + 9));
    NEAR(akg_tensor_grad(b), 1, 2 * (4 + 10 + 18));
    CHECK_INT(akg_tensor_dtype(akg_tensor_grad(c)), AKG_FLOAT64);
    NEAR(akg_tensor_grad(c), 2, 2 * (3 * 2 + 6 * 3));
    CHECK_INT(akg_tensor_dtype(akg_tensor_grad(s)), AKG_FLOAT16);
    CHECK_INT(akg_tensor_rank(akg_tensor_grad(s)), 0);
    NEAR(akg_tensor_grad(s), 0, 2 * (1 + 4 + 9) + 3 * (4 + 10 + 18));
    RELEASE(a, b, c, s, ab, abc, y);
}

static void test_empty(void)
{
    static const int64_t shape[] = {0, 3};
    akg_tensor *empty = api_range(AKG_FLOAT32, 2, shape, 0, 0), *row = net_vector(AKG_FLOAT32, 3, 1, 1, true);
    akg_tensor *y;

    akg_tensor_set_requires_grad(empty, true, NULL);
    y = net_product(tape, empty, row);
    CHECK_INT(backward(y), AKG_OK);
    CHECK_INT(akg_tensor_shape(akg_tensor_grad(empty))[0], 0);
    NEAR(akg_tensor_grad(row), 1, 0);
    RELEASE(empty, row, y);
}

/* ---- who records ----------------------------------------------------------------------------------------
 */

static void test_recording(void)
{
    akg_tensor *x = net_scalar(AKG_FLOAT32, 3, true), *n = api_vector(AKG_INT32, 2, 0, 1), *y, *z, *plain;
    bool outer, inner;

    outer = akg_tape_set_recording(tape, false);
    inner = akg_tape_set_recording(tape, false);
    y = net_product(tape, x, x);
    CHECK(!akg_tensor_requires_grad(y));
    akg_tape_set_recording(tape, inner);
    CHECK(!akg_tape_is_recording(tape));
    akg_tape_set_recording(tape, outer);
    CHECK(akg_tape_is_recording(tape));
    REFUSED(akg_tensor_set_requires_grad(n, true, &diagnostics), AKG_ERROR_USAGE, "gradient-dtype", "int32");
    z = net_product(tape, x, x);
    REFUSED(akg_tensor_set_requires_grad(z, false, &diagnostics), AKG_ERROR_USAGE, "gradient-not-leaf",
            "'multiply'");
    CHECK_INT(akg_tensor_detach(z, &plain), AKG_OK);
    CHECK(!akg_tensor_requires_grad(plain) && akg_tensor_data(plain) == akg_tensor_data(z));
    CHECK_INT(akg_tensor_set_requires_grad(x, false, NULL), AKG_OK);
    CHECK(!akg_tensor_requires_grad(x));
    RELEASE(x, n, y, z, plain);
}

static void test_refusals(void)
{
    akg_tensor *x = net_scalar(AKG_FLOAT32, 3, true), *y, *z;

    CHECK_INT(akg_tensor_copy(x, &y), AKG_OK);
    CHECK_INT(autograd_record_refusal(tape, "nothing", NULL, &x, 1, &y, 1), AKG_OK);
    z = net_product(tape, y, y);
    REFUSED(backward(z), AKG_ERROR_CALL, "gradient-none", "'nothing' has no gradient");
    CHECK(akg_tensor_grad(x) == NULL);
    RELEASE(y, z);

    y = net_product(tape, x, x);
    z = net_product(tape, y, x);
    CHECK_INT(backward(z), AKG_OK);
    REFUSED(backward(z), AKG_ERROR_CALL, "gradient-used-up", "earlier backward pass");
    REFUSED(backward(y), AKG_ERROR_CALL, "gradient-used-up", "earlier backward pass");
    NEAR(akg_tensor_grad(x), 0, 27);
    RELEASE(x, y, z);
}

/* ---- writing in place -------------------------------------------------------------------------------------
 */

static void test_versions(void)
{
    akg_tensor *x = net_vector(AKG_FLOAT32, 2, 1, 1, true), *y, *z, *view;
    uint64_t version = akg_tensor_version(x);

    y = net_product(tape, x, x);
    akg_tensor_fill(x, 7);
    CHECK_INT(akg_tensor_version(x), version + 1);
    REFUSED(backward(y), AKG_ERROR_CALL, "gradient-changed", "input 0 of 'multiply'");
    akg_tensor_release(y);
    /* by way of a view, and an output that was saved */
    CHECK_INT(net_exp(tape, x, &y, NULL), AKG_OK);
    CHECK_INT(akg_tensor_detach(y, &view), AKG_OK);
    akg_tensor_set(view, (int64_t[]){0}, 0);
    CHECK_INT(akg_tensor_version(view), akg_tensor_version(y));
    REFUSED(backward(y), AKG_ERROR_CALL, "gradient-changed", "output 0 of 'exp'");
    CHECK(akg_tensor_grad(x) == NULL);
    RELEASE(y, view);
    /* what was not saved may be written */
    z = net_scalar(AKG_FLOAT32, 2, false);
    y = net_product(tape, x, z);
    akg_tensor_fill(y, 0);
    akg_tensor_mark_written(x);
    CHECK_INT(backward(y), AKG_OK);
    NEAR(akg_tensor_grad(x), 0, 2);
    RELEASE(x, y, z);
}

static void test_in_place(void)
{
    akg_tensor *x = net_vector(AKG_FLOAT64, 2, 1, 1, true), *y, *z;

    REFUSED(net_scale(tape, x, 2, &diagnostics), AKG_ERROR_CALL, "gradient-leaf-written", "'scale'");
    NEAR(x, 0, 1);
    akg_tape_set_recording(tape, false);
    CHECK_INT(net_scale(tape, x, 2, NULL), AKG_OK);
    akg_tape_set_recording(tape, true);
    NEAR(x, 1, 4);
    CHECK(akg_tensor_is_leaf(x));
    /* history goes on through the write: z = (3 x^2)^2 */
    y = net_product(tape, x, x);
    CHECK_INT(net_scale(tape, y, 3, NULL), AKG_OK);
    z = net_product(tape, y, y);
    CHECK_INT(backward(z), AKG_OK);
    NEAR(akg_tensor_grad(x), 0, 9 * 4 * 8);
    RELEASE(y, z);
    /* what was saved before the write is not what is there: refused */
    CHECK_INT(net_exp(tape, x, &y, NULL), AKG_OK);
    z = net_product(tape, y, y);
    CHECK_INT(net_scale(tape, y, 3, NULL), AKG_OK);
    REFUSED(backward(z), AKG_ERROR_CALL, "gradient-changed", "'multiply'");
    RELEASE(y, z);
    /* a tensor without gradient gets one by what is written into it */
    y = net_vector(AKG_FLOAT64, 2, 1, 1, false);
    CHECK_INT(net_scale(tape, y, 3, NULL), AKG_OK);
    CHECK(!akg_tensor_requires_grad(y));
    RELEASE(x, y);
}

/* ---- chosen tensors, second order
 * --------------------------------------------------------------------------- */

static void test_gradients(void)
{
    akg_tensor *x = net_scalar(AKG_FLOAT64, 3, true), *w = net_scalar(AKG_FLOAT64, 5, true);
    akg_tensor *k = net_scalar(AKG_FLOAT64, 5, false), *unused = net_scalar(AKG_FLOAT64, 1, true);
    akg_tensor *square = net_product(tape, x, x), *y = net_product(tape, square, w);
    akg_tensor *by[] = {square, w, unused, square}, *got[4];

    net_backward_count = 0;
    CHECK_INT(akg_gradients(tape, &y, NULL, 1, by, 4, NULL, got, &diagnostics), AKG_OK);
    CHECK_INT(net_backward_count, 1); /* not the square: nobody asked for x */
    NEAR(got[0], 0, 5);
    NEAR(got[1], 0, 9);
    CHECK(got[2] == NULL);
    NEAR(got[3], 0, 5);
    CHECK(akg_tensor_grad(x) == NULL && akg_tensor_grad(w) == NULL);
    release(got, 4);
    REFUSED(akg_gradients(tape, &square, NULL, 1, &k, 1, NULL, got, &diagnostics), AKG_ERROR_USAGE,
            "gradient-not-needed", "tensor 0");
    CHECK_INT(akg_gradients(tape, &square, NULL, 1, &square, 1, NULL, got, NULL), AKG_OK);
    NEAR(got[0], 0, 1); /* of itself: nothing is run, nothing used up */
    akg_tensor_release(got[0]);
    CHECK_INT(akg_gradients(tape, &square, NULL, 1, &x, 1, NULL, got, NULL), AKG_OK);
    NEAR(got[0], 0, 6);
    RELEASE(x, w, k, unused, square, y, got[0]);
}

/* y = x^4 at 1.5: 4 x^3, 12 x^2, 24 x. */
static void test_higher_order(void)
{
    static const double expected[] = {4 * 3.375, 12 * 2.25, 24 * 1.5, 24};
    akg_gradient_options create = {.create_graph = true};
    akg_tensor *x = net_scalar(AKG_FLOAT64, 1.5, true), *square = net_product(tape, x, x);
    akg_tensor *y = net_product(tape, square, square);

    for (int order = 0; order < 4; order++) {
        akg_tensor *gradient = NULL;
        CHECK_INT(akg_gradients(tape, &y, NULL, 1, &x, 1, &create, &gradient, &diagnostics), AKG_OK);
        NEAR(gradient, 0, expected[order]);
        akg_tensor_release(y);
        y = gradient;
    }
    CHECK(akg_tensor_grad(x) == NULL);
    RELEASE(x, square, y);
}

/* Second derivatives through sums over axes, through casts and through a saved output: y = sum_j exp(a) b_j.
 */
static void test_second_order_broadcast(void)
{
    akg_gradient_options create = {.create_graph = true};
    akg_tensor *a = net_scalar(AKG_FLOAT32, 0.5, true), *b = net_vector(AKG_FLOAT64, 3, 1, 1, true), *e, *y;
    akg_tensor *first[2], *second[2];

    CHECK_INT(net_exp(tape, a, &e, NULL), AKG_OK);
    y = net_product(tape, b, e);
    CHECK_INT(akg_gradients(tape, &y, NULL, 1, (akg_tensor *[]){a, b}, 2, &create, first, NULL), AKG_OK);
    CHECK_INT(akg_tensor_dtype(first[0]), AKG_FLOAT32);
    NEAR(first[0], 0, exp(0.5) * 6);
    NEAR(first[1], 1, exp(0.5));
    CHECK_INT(akg_gradients(tape, first, NULL, 1, (akg_tensor *[]){a, b}, 2, &create, second, NULL), AKG_OK);
    NEAR(second[0], 0, exp(0.5) * 6);
    NEAR(second[1], 2, exp(0.5));
    CHECK_INT(akg_tensor_element_count(second[1]), 3);
    RELEASE(a, b, e, y, first[0], first[1], second[0], second[1]);
}

/* split's backward does not use the tape. Nothing it reads has a history in y = 3 split(x): differentiated
 * again, that is a constant; in split(x)^2 its output gradient has one. */
static void test_second_order_refused(void)
{
    akg_gradient_options create = {.create_graph = true};
    akg_tensor *x = net_vector(AKG_FLOAT64, 2, 1, 1, true), *parts[2], *y, *first, *second;

    CHECK_INT(net_split(tape, x, false, parts, NULL), AKG_OK);
    y = net_product(tape, parts[1], parts[1]);
    CHECK_INT(akg_gradients(tape, &y, NULL, 1, &x, 1, &create, &first, NULL), AKG_OK);
    NEAR(first, 1, 16);
    REFUSED(akg_gradients(tape, &first, NULL, 1, &x, 1, NULL, &second, &diagnostics), AKG_ERROR_CALL,
            "gradient-second", "'split'");
    CHECK(second == NULL);
    RELEASE(y, first);
    CHECK_INT(akg_gradients(tape, &parts[1], NULL, 1, &x, 1, &create, &first, NULL), AKG_OK);
    CHECK(first && !akg_tensor_requires_grad(first));
    RELEASE(x, parts[0], parts[1], first);
}

/* ---- a pass within a pass
 * ------------------------------------------------------------------------------------ */

static akg_tensor *nested_root;

static akg_status nested_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                  akg_diagnostics **list)
{
    (void)input_gradients;
    return akg_backward(step->tape, &nested_root, NULL, 1, false, list);
}

static void test_nested(void)
{
    static const struct autograd_operation operation = {nested_backward, NULL};
    akg_tensor *x = net_scalar(AKG_FLOAT64, 3, true), *other = net_scalar(AKG_FLOAT64, 4, true), *y;

    for (int own = 0; own < 2; own++) {
        CHECK_INT(akg_tensor_copy(x, &y), AKG_OK);
        struct autograd_record record = {.operation = &operation,
                                         .name = "nested",
                                         .inputs = &x,
                                         .input_count = 1,
                                         .outputs = &y,
                                         .output_count = 1};
        CHECK_INT(autograd_record(tape, &record), AKG_OK);
        nested_root = own ? net_product(tape, other, other) : akg_tensor_retain(y);
        if (own)
            CHECK_INT(backward(y), AKG_OK);
        else
            REFUSED(backward(y), AKG_ERROR_USAGE, "gradient-nested", "'nested'");
        RELEASE(y, nested_root);
    }
    NEAR(akg_tensor_grad(other), 0, 8);
    RELEASE(x, other);
}

/* ---- values with gradients: the net of the seed, z = x * y * p
 * -------------------------------------------------- */

static akg_status seed_net(akg_tape *on, void *user, akg_tensor *const *inputs, size_t input_count,
                           akg_tensor **outputs, akg_diagnostics **list)
{
    akg_tensor *product = NULL;
    akg_status status = net_multiply(on, inputs[0], inputs[1], &product, list);

    (void)input_count;
    if (status == AKG_OK)
        status = net_multiply(on, product, user, &outputs[0], list);
    akg_tensor_release(product);
    return status;
}

static akg_status lazy_net(akg_tape *on, void *user, akg_tensor *const *inputs, size_t input_count,
                           akg_tensor **outputs, akg_diagnostics **list)
{
    (void)on, (void)user, (void)inputs, (void)input_count, (void)list;
    outputs[0] = NULL;
    return AKG_OK;
}

static void test_value_and_grad(void)
{
    akg_tensor *inputs[] = {net_scalar(AKG_FLOAT32, 2, false), net_scalar(AKG_FLOAT32, 3, false),
                            net_vector(AKG_FLOAT32, 2, 1, 1, false)};
    akg_tensor *p = net_scalar(AKG_FLOAT32, 2, true), *value, *by_input[3], *by_parameter;
    akg_value_and_grad_request request = {.net = seed_net,
                                          .user = p,
                                          .inputs = inputs,
                                          .input_count = 3,
                                          .output_count = 1,
                                          .positions = (size_t[]){0, 1, 2},
                                          .position_count = 3,
                                          .parameters = &p,
                                          .parameter_count = 1};

    akg_tape_set_recording(tape, false); /* it records all the same */
    CHECK_INT(akg_value_and_grad(tape, &request, &value, by_input, &by_parameter, &diagnostics), AKG_OK);
    CHECK(!akg_tape_set_recording(tape, true));
    NEAR(value, 0, 12);
    NEAR(by_input[0], 0, 6);
    NEAR(by_input[1], 0, 4);
    CHECK_INT(akg_tensor_element_count(by_input[2]), 2);
    NEAR(by_input[2], 1, 0);
    NEAR(by_parameter, 0, 6);
    CHECK(!akg_tensor_requires_grad(value) && !akg_tensor_requires_grad(inputs[0]));
    CHECK(akg_tensor_grad(p) == NULL);
    RELEASE(value, by_input[0], by_input[1], by_input[2], by_parameter);
    request.net = lazy_net;
    REFUSED(akg_value_and_grad(tape, &request, &value, by_input, &by_parameter, &diagnostics),
            AKG_ERROR_USAGE, "gradient-no-value", "left an output out");
    CHECK(value == NULL && by_input[0] == NULL);
    request.net = seed_net;
    akg_tensor_set_requires_grad(p, false, NULL);
    REFUSED(akg_value_and_grad(tape, &request, &value, by_input, &by_parameter, &diagnostics),
            AKG_ERROR_USAGE, "gradient-not-needed", "parameter 0");
    RELEASE(inputs[0], inputs[1], inputs[2], p);
}

int main(void)
{
    CHECK_INT(akg_tape_create(NULL, &tape), AKG_OK);
    CHECK(akg_tape_registry(tape) == NULL && akg_tape_is_recording(tape));
    test_chain();
    test_diamonds();
    test_kept_gradient_is_not_changed();
    test_roots();
    test_outputs();
    test_broadcast();
    test_empty();
    test_recording();
    test_refusals();
    test_versions();
    test_in_place();
    test_gradients();
    test_higher_order();
    test_second_order_broadcast();
    test_second_order_refused();
    test_nested();
    test_value_and_grad();
    akg_tape_release(tape);
    return check_done();
}
