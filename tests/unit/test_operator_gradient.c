/*
 * test_operator_gradient.c: gradients of operators that are given from C: as functions and as graphs of
 * operators, of operators written in C and of kernels; what of them is built and run; and the error of each.
 */
#include "refused.h"

#include <math.h>

static akg_registry *registry;
static akg_tape *tape;

static akg_operator *find(const char *name)
{
    akg_operator *found = NULL;

    CHECK_INT(akg_registry_find(registry, name, &found, NULL), AKG_OK);
    return found;
}

static akg_status call(const char *name, const akg_argument *arguments, size_t count, akg_tensor **outputs)
{
    return akg_call(tape, find(name), arguments, count, outputs, &diagnostics);
}

/* A vector of float64 that requires a gradient, or none. */
static akg_tensor *vector(int64_t length, double first, double step, bool needs)
{
    akg_tensor *x = api_vector(AKG_FLOAT64, length, first, step);

    CHECK_INT(akg_tensor_set_requires_grad(x, needs, NULL), AKG_OK);
    return x;
}

/* ---- operators: out = a * b, out = a * a, relu; each on float64 ---------------------------------------- */

static int multiplications;

static akg_status multiply(akg_invocation *invocation)
{
    const akg_tensor *a = akg_invocation_input(invocation, "a", 0);
    const double *x = akg_tensor_data(a), *y = akg_tensor_data(akg_invocation_input(invocation, "b", 0));
    double *to = akg_tensor_data(akg_invocation_output(invocation, "out", 0));
    double factor = akg_invocation_real(invocation, "factor");

    multiplications++;
    for (int64_t i = 0; i < akg_tensor_element_count(a); i++)
        to[i] = x[i] * y[i] * factor;
    return AKG_OK;
}

static akg_status square(akg_invocation *invocation)
{
    const akg_tensor *in = akg_invocation_input(invocation, "in", 0);
    const double *x = akg_tensor_data(in);
    double *to = akg_tensor_data(akg_invocation_output(invocation, "out", 0));

    for (int64_t i = 0; i < akg_tensor_element_count(in); i++)
        to[i] = x[i] * x[i];
    return AKG_OK;
}

static akg_status relu(akg_invocation *invocation)
{
    const akg_tensor *in = akg_invocation_input(invocation, "in", 0);
    const double *x = akg_tensor_data(in);
    double *to = akg_tensor_data(akg_invocation_output(invocation, "out", 0));

    for (int64_t i = 0; i < akg_tensor_element_count(in); i++)
        to[i] = x[i] > 0 ? x[i] : 0;
    return AKG_OK;
}

static akg_status relu_grad(akg_invocation *invocation)
{
    const akg_tensor *y = akg_invocation_input(invocation, "y", 0);
    const double *from = akg_tensor_data(y), *dy = akg_tensor_data(akg_invocation_input(invocation, "dy", 0));
    double *to = akg_tensor_data(akg_invocation_output(invocation, "dx", 0));

    for (int64_t i = 0; i < akg_tensor_element_count(y); i++)
        to[i] = from[i] > 0 ? dy[i] : 0;
    return AKG_OK;
}

static akg_status add_all(akg_invocation *invocation)
{
    akg_tensor *out = akg_invocation_output(invocation, "out", 0);
    double *to = akg_tensor_data(out);

    for (int64_t i = 0; i < akg_tensor_element_count(out); i++) {
        to[i] = 0;
        for (size_t k = 0; k < akg_invocation_count(invocation, "in"); k++)
            to[i] += ((const double *)akg_tensor_data(akg_invocation_input(invocation, "in", k)))[i];
    }
    return AKG_OK;
}

static const akg_operand in[] = {{.name = "in"}}, ab[] = {{.name = "a"}, {.name = "b"}},
                         y_dy[] = {{.name = "y"}, {.name = "dy"}}, out[] = {{.name = "out"}},
                         dx[] = {{.name = "dx"}}, many[] = {{.name = "in", .count = 1, .at_least = true}};
static const akg_argument one = {.kind = AKG_ARGUMENT_FLOAT, .as.real = 1};
static const akg_attribute factor[] = {{"factor", AKG_ATTRIBUTE_DOUBLE, &one}};

static void define(const char *name, const akg_operand *inputs, size_t input_count, const akg_operand *output,
                   akg_status (*compute)(akg_invocation *invocation))
{
    akg_kernel_definition kernel = {.name = "any", .compute = compute};
    akg_operator_definition definition = {.name = name,
                                          .inputs = inputs,
                                          .input_count = input_count,
                                          .outputs = output,
                                          .output_count = 1,
                                          .attributes = factor,
                                          .attribute_count = compute == multiply,
                                          .kernels = &kernel,
                                          .kernel_count = 1};

    ACCEPTED(akg_registry_add_operator(registry, &definition, &diagnostics));
}

/* ---- as a function ----------------------------------------------------------------------------------------
 */

static akg_status square_bprop(const akg_bprop_call *given, akg_tensor **gradients, akg_diagnostics **told)
{
    akg_argument arguments[] = {api_tensor("a", given->inputs[0]),
                                api_tensor("b", given->output_gradients[0]), api_real("factor", 2)};
    akg_operator *multiply_operator;

    CHECK_INT(given->input_count, 1);
    CHECK_INT(given->output_count, 1);
    CHECK(given->needed[0] && given->data == in && given->outputs[0]);
    CHECK_STRING(akg_operator_name(given->callee), "cus_square");
    CHECK_INT(akg_registry_find(akg_tape_registry(given->tape), "cus_multiply", &multiply_operator, told),
              AKG_OK);
    return akg_call(given->tape, multiply_operator, arguments, 3, &gradients[0], told);
}

static void test_bprop(void)
{
    akg_bprop bprop = {.parameter_count = 2, .result_count = 1, .function = square_bprop, .data = (void *)in};
    static const double values[] = {1, 4, 9}, expected[] = {2, 8, 18};
    akg_tensor *x = vector(3, 0, 0, false), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);

    REFUSED(akg_operator_set_bprop(registry, "cus_square", &bprop, &diagnostics), AKG_ERROR_USAGE,
            "bprop-arity", "the bprop of 'cus_square' takes 2 parameters, but needs 3");
    bprop.parameter_count = 3;
    bprop.result_count = 3;
    REFUSED(akg_operator_set_bprop(registry, "cus_square", &bprop, &diagnostics), AKG_ERROR_USAGE,
            "bprop-result", "the bprop of 'cus_square' must return a tuple of 1 gradients");
    bprop.result_count = 1;
    CHECK(!akg_operator_has_gradient(find("cus_square")));
    ACCEPTED(akg_operator_set_bprop(registry, "cus_square", &bprop, &diagnostics));
    CHECK(akg_operator_has_gradient(find("cus_square")));
    REFUSED(akg_operator_set_bprop(registry, "cus_square", &bprop, &diagnostics), AKG_ERROR_USAGE,
            "gradient-twice", "'cus_square'");
    for (int64_t i = 0; i < 3; i++)
        akg_tensor_set(x, &i, values[i]);
    CHECK_INT(akg_tensor_set_requires_grad(x, true, NULL), AKG_OK);
    ACCEPTED(call("cus_square", &argument, 1, &y));
    CHECK(akg_tensor_requires_grad(y));
    ACCEPTED(akg_backward(tape, &y, NULL, 1, false, &diagnostics));
    for (int64_t i = 0; i < 3; i++)
        CHECK(api_element(akg_tensor_grad(x), i) == expected[i]);
    akg_tensor_release(y);
    y = NULL;
    /* without recording there is no node */
    akg_tape_set_recording(tape, false);
    ACCEPTED(call("cus_square", &argument, 1, &y));
    CHECK(!akg_tensor_requires_grad(y));
    akg_tape_set_recording(tape, true);
    akg_tensor_release(y);
    akg_tensor_release(x);
}

/* A leaf may not be an output, and an operator without gradient cannot be passed. */
static void test_refusals(void)
{
    akg_tensor *x = vector(3, 1, 1, true), *leaf = vector(3, 1, 1, true), *y = NULL;
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, x)};

    REFUSED(call("cus_square", arguments, 1, &leaf), AKG_ERROR_CALL, "gradient-leaf-written", "cus_square");
    CHECK(api_element(leaf, 2) == 3);
    ACCEPTED(call("cus_multiply", arguments, 2, &y));
    REFUSED(akg_backward(tape, &y, NULL, 1, false, &diagnostics), AKG_ERROR_CALL, "gradient-none",
            "cus_multiply");
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_tensor_release(leaf);
}

/* What is given to be written, by an operator in C and by one of the standard library: no leaf, and what it
 * was made of before is forgotten. */
static void test_given(const char *name)
{
    akg_tensor *x = vector(3, 1, 1, true), *constant = vector(3, 1, 1, false), *y = NULL, *z = NULL, *given;
    akg_argument of_x = api_tensor(NULL, x), of_constant = api_tensor(NULL, constant), of_y;

    given = x;
    REFUSED(call(name, &of_constant, 1, &given), AKG_ERROR_CALL, "gradient-leaf-written", name);
    ACCEPTED(call(name, &of_x, 1, &y));
    CHECK(akg_tensor_requires_grad(y));
    given = y;
    ACCEPTED(call(name, &of_constant, 1, &given));
    CHECK(given == y && !akg_tensor_requires_grad(y));
    of_y = api_tensor(NULL, y);
    ACCEPTED(call(name, &of_y, 1, &z));
    CHECK(!akg_tensor_requires_grad(z));
    akg_tensor_release(z);
    ACCEPTED(call(name, &of_x, 1, &given));
    CHECK(akg_tensor_requires_grad(y));
    akg_tensor_release(x);
    akg_tensor_release(constant);
    akg_tensor_release(y);
}

/* ---- as a graph -------------------------------------------------- */

static int built;

static void relu_node(akg_gradient *gradient, akg_gradient_node *node)
{
    built++;
    akg_gradient_node_operator(node, "myrelu_grad");
    akg_gradient_node_input(node, "y", akg_gradient_output(gradient, "out", 0));
    akg_gradient_node_input(node, "dy", akg_gradient_output_gradient(gradient, "out", 0));
    akg_gradient_node_output(node, "dx", 1);
}

static const akg_gradient_value *relu_value(akg_gradient *gradient, const char *input, size_t index)
{
    CHECK(strcmp(input, "in") == 0 && index == 0);
    CHECK(akg_gradient_get(gradient, "grad", "dx", 0) !=
          NULL); /* built once, however often it is asked for */
    return akg_gradient_get(gradient, "grad", "dx", 0);
}

static void relu_build(akg_gradient *gradient)
{
    akg_description description;

    CHECK(akg_gradient_data(gradient) == out);
    CHECK(akg_gradient_describe(gradient, "in", 0, &description));
    CHECK(description.dtype == AKG_FLOAT64 && description.rank == 1 && description.shape[0] == 5);
    CHECK(akg_gradient_describe(gradient, "out", 0, &description));
    CHECK(!akg_gradient_describe(gradient, "out", 1, &description));
    akg_gradient_define(gradient, "grad", relu_node);
    akg_gradient_bind(gradient, "in", 0, relu_value);
}

static void test_graph(void)
{
    akg_tensor *x = vector(5, -2, 1, true), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);

    ACCEPTED(akg_operator_set_gradient(registry, "myrelu", relu_build, (void *)out, &diagnostics));
    REFUSED(akg_operator_set_gradient(registry, "myrelu", relu_build, NULL, &diagnostics), AKG_ERROR_USAGE,
            "gradient-twice", "'myrelu'");
    built = 0;
    ACCEPTED(call("myrelu", &argument, 1, &y));
    CHECK_INT(built, 1);
    ACCEPTED(akg_backward(tape, &y, NULL, 1, false, &diagnostics));
    for (int64_t i = 0; i < 5; i++)
        CHECK(api_element(akg_tensor_grad(x), i) == (i > 2));
    akg_tensor_release(y);
    y = NULL;
    /* its output is saved, and must stay as it is */
    ACCEPTED(call("myrelu", &argument, 1, &y));
    akg_tensor_fill(y, 7);
    REFUSED(akg_backward(tape, &y, NULL, 1, false, &diagnostics), AKG_ERROR_CALL, "gradient-changed",
            "myrelu");
    akg_tensor_release(y);
    akg_tensor_release(x);
}

/* da = dout * b * factor, db = dout * a * factor, each by a call of the operator itself. */
static void product_node(akg_gradient *gradient, akg_gradient_node *node, const char *other)
{
    akg_gradient_node_operator(node, "product");
    akg_gradient_node_input(node, "a", akg_gradient_output_gradient(gradient, "out", 0));
    akg_gradient_node_input(node, "b", akg_gradient_input(gradient, other, 0));
    akg_gradient_node_attribute(node, akg_gradient_attribute(gradient, "factor"));
}

static void product_a(akg_gradient *gradient, akg_gradient_node *node)
{
    built++;
    product_node(gradient, node, "b");
}

static void product_b(akg_gradient *gradient, akg_gradient_node *node)
{
    built += 10;
    product_node(gradient, node, "a");
}

static const akg_gradient_value *product_value(akg_gradient *gradient, const char *input, size_t index)
{
    return akg_gradient_get(gradient, input, "out", index);
}

static void product_build(akg_gradient *gradient)
{
    akg_gradient_define(gradient, "a", product_a);
    akg_gradient_define(gradient, "b", product_b);
    akg_gradient_bind(gradient, "a", 0, product_value);
    akg_gradient_bind(gradient, "b", 0, product_value);
}

/* Only what is needed is built and run; and gradients of gradients. */
static void test_needs(void)
{
    akg_tensor *a = vector(3, 1, 1, true), *b = vector(3, 4, 1, false), *y = NULL, *da = NULL,
               *both[2] = {NULL};
    akg_argument arguments[] = {api_tensor(NULL, a), api_tensor(NULL, b), api_real(NULL, 3)};
    akg_gradient_options again = {.create_graph = true};

    define("product", ab, 2, out, multiply);
    ACCEPTED(akg_operator_set_gradient(registry, "product", product_build, NULL, &diagnostics));
    built = multiplications = 0;
    ACCEPTED(call("product", arguments, 3, &y));
    CHECK_INT(built, 1);
    ACCEPTED(akg_backward(tape, &y, NULL, 1, false, &diagnostics));
    CHECK_INT(multiplications, 2);
    CHECK(api_element(akg_tensor_grad(a), 2) == 6 * 3);
    CHECK(!akg_tensor_grad(b));
    akg_tensor_release(y);
    y = NULL;

    /* both are built, one is asked for */
    CHECK_INT(akg_tensor_set_requires_grad(b, true, NULL), AKG_OK);
    built = multiplications = 0;
    ACCEPTED(call("product", arguments, 3, &y));
    CHECK_INT(built, 11);
    ACCEPTED(akg_gradients(tape, &y, NULL, 1, &a, 1, &again, &da, &diagnostics));
    CHECK_INT(multiplications, 2);
    CHECK(da && api_element(da, 0) == 4 * 3 && akg_tensor_requires_grad(da));
    akg_tensor *roots[] = {a, b};
    ACCEPTED(akg_gradients(tape, &da, NULL, 1, roots, 2, NULL, both, &diagnostics));
    CHECK(!both[0] || api_element(both[0], 0) == 0);
    CHECK(both[1] && api_element(both[1], 0) == 3);
    akg_tensor_release(both[0]);
    akg_tensor_release(both[1]);
    akg_tensor_release(da);
    akg_tensor_release(y);
    akg_tensor_release(a);
    akg_tensor_release(b);
}

/* An input of several tensors: each gets the gradient of the output itself, but the second, which stays zero.
 */
static const akg_gradient_value *sum_value(akg_gradient *gradient, const char *input, size_t index)
{
    (void)input;
    return index == 1 ? NULL : akg_gradient_output_gradient(gradient, "out", 0);
}

static void sum_build(akg_gradient *gradient)
{
    for (size_t i = 0; i < 3; i++)
        akg_gradient_bind(gradient, "in", i, sum_value);
}

/* A list goes to a list: the gradient of "twice" is the sum of two. */
static void twice_node(akg_gradient *gradient, akg_gradient_node *node)
{
    akg_gradient_node_operator(node, "sum_of");
    for (int i = 0; i < 2; i++)
        akg_gradient_node_input(node, "in", akg_gradient_output_gradient(gradient, "out", 0));
}

static const akg_gradient_value *twice_value(akg_gradient *gradient, const char *input, size_t index)
{
    (void)input;
    return akg_gradient_get(gradient, "sum", "out", index);
}

static void twice_build(akg_gradient *gradient)
{
    akg_gradient_define(gradient, "sum", twice_node);
    akg_gradient_bind(gradient, "in", 0, twice_value);
}

static void test_lists(void)
{
    akg_tensor *x[] = {vector(2, 1, 1, true), vector(2, 2, 1, true), vector(2, 3, 1, true)}, *y = NULL,
               *z = NULL;
    akg_argument argument = api_tensors(NULL, x, 3);

    define("sum_of", many, 1, out, add_all);
    define("twice", in, 1, out, square);
    ACCEPTED(akg_operator_set_gradient(registry, "sum_of", sum_build, NULL, &diagnostics));
    ACCEPTED(akg_operator_set_gradient(registry, "twice", twice_build, NULL, &diagnostics));
    ACCEPTED(call("sum_of", &argument, 1, &y));
    CHECK(api_element(y, 1) == 9);
    argument = api_tensor("in", y);
    ACCEPTED(call("twice", &argument, 1, &z));
    ACCEPTED(akg_backward(tape, &z, NULL, 1, false, &diagnostics));
    CHECK(api_element(akg_tensor_grad(x[0]), 1) == 2 && api_element(akg_tensor_grad(x[2]), 0) == 2);
    CHECK(!akg_tensor_grad(x[1]) || api_element(akg_tensor_grad(x[1]), 0) == 0);
    for (int i = 0; i < 3; i++)
        akg_tensor_release(x[i]);
    akg_tensor_release(y);
    akg_tensor_release(z);
}

/* ---- graphs that are wrong --------------------------------------- */

static const char *wrong_way;

static void self_node(akg_gradient *gradient, akg_gradient_node *node)
{
    akg_gradient_node_operator(node, "myrelu");
    akg_gradient_node_input(node, "in", akg_gradient_get(gradient, "self", "out", 0));
}

static void unknown_node(akg_gradient *gradient, akg_gradient_node *node)
{
    (void)gradient;
    akg_gradient_node_operator(node, "nowhere");
}

static void empty_node(akg_gradient *gradient, akg_gradient_node *node)
{
    (void)gradient;
    (void)node;
}

static void output_node(akg_gradient *gradient, akg_gradient_node *node)
{
    akg_gradient_node_operator(node, "myrelu");
    akg_gradient_node_input(node, "in", akg_gradient_output(gradient, "aut", 0));
}

/* Arguments that are not there: what a call refuses (akg_call), and tensors, which nothing would hold. */
static void argument_node(akg_gradient *gradient, akg_gradient_node *node)
{
    akg_argument missing = api_string("mode", NULL), nameless = api_int(NULL, 1),
                 tensor = api_tensor("in", (akg_tensor *)gradient);

    akg_gradient_node_attribute(node, strcmp(wrong_way, "text") == 0       ? &missing
                                      : strcmp(wrong_way, "nameless") == 0 ? &nameless
                                                                           : &tensor);
}

static void count_node(akg_gradient *gradient, akg_gradient_node *node)
{
    (void)gradient;
    akg_gradient_node_output(node, strcmp(wrong_way, "many") == 0 ? "out" : NULL, SIZE_MAX);
}

static const akg_gradient_value *wrong_value(akg_gradient *gradient, const char *input, size_t index)
{
    (void)input;
    return akg_gradient_get(gradient, wrong_way, strcmp(wrong_way, "good") == 0 ? "dz" : "out", index);
}

static void wrong_build(akg_gradient *gradient)
{
    akg_gradient_define(gradient, "self", self_node);
    akg_gradient_define(gradient, "unknown", unknown_node);
    akg_gradient_define(gradient, "empty", empty_node);
    akg_gradient_define(gradient, "output", output_node);
    akg_gradient_define(gradient, "good", relu_node);
    akg_gradient_define(gradient, "text", argument_node);
    akg_gradient_define(gradient, "nameless", argument_node);
    akg_gradient_define(gradient, "tensor", argument_node);
    akg_gradient_define(gradient, "many", count_node);
    akg_gradient_define(gradient, "no name", count_node);
    if (strcmp(wrong_way, "twice") == 0)
        akg_gradient_define(gradient, "good", relu_node);
    if (strcmp(wrong_way, "bind") == 0)
        akg_gradient_bind(gradient, "an", 0, wrong_value);
    akg_gradient_bind(gradient, "in", 0, wrong_value);
}

static void test_wrong_graphs(void)
{
    static const struct {
        const char *way, *says;
    } rows[] = {
        {"nothing", "'nothing' is not defined"},
        {"self", "'self' needs its own result"},
        {"unknown", "there is no operator 'nowhere'"},
        {"empty", "'empty' names no operator"},
        {"output", "the call has no such output 'aut'"},
        {"good", "there is no such output 'dz'"},
        {"twice", "'good' is defined twice"},
        {"bind", "'an' is no input of the call, or bound twice"},
        {"text", "attribute 'mode' of a call gets no value"},
        {"nameless", "attribute '' of a call gets no value"},
        {"tensor", "attribute 'in' of a call gets no value, or a tensor"},
        {"many", "output 'out' of a call has no name, or too many tensors"},
        {"no name", "output '' of a call has no name, or too many tensors"},
    };
    akg_tensor *x = vector(3, 1, 1, true), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);

    define("wrong", in, 1, out, relu);
    ACCEPTED(akg_operator_set_gradient(registry, "wrong", wrong_build, NULL, &diagnostics));
    for (size_t i = 0; i < API_COUNT(rows); i++) {
        wrong_way = rows[i].way;
        REFUSED(call("wrong", &argument, 1, &y), AKG_ERROR_CALL, "gradient-graph", rows[i].says);
        CHECK(!y);
    }
    akg_tensor_release(x);
}

/* How many tensors an output holds, said as if it were an attribute: the call refuses it when it runs, and
 * until then the output has as many as it must. */
static const akg_argument *counts;

static void counts_node(akg_gradient *gradient, akg_gradient_node *node)
{
    akg_gradient_node_operator(node, "myrelu_grad");
    akg_gradient_node_input(node, "y", akg_gradient_output(gradient, "out", 0));
    akg_gradient_node_input(node, "dy", akg_gradient_output_gradient(gradient, "out", 0));
    akg_gradient_node_attribute(node, counts);
}

static void counts_build(akg_gradient *gradient)
{
    akg_gradient_define(gradient, "grad", counts_node);
    akg_gradient_bind(gradient, "in", 0, relu_value);
}

static void test_wrong_counts(void)
{
    static const akg_argument rows[] = {
        {.name = "dx", .kind = AKG_ARGUMENT_INT, .as.integer = -1},
        {.name = "dx", .kind = AKG_ARGUMENT_INT, .as.integer = INT64_MAX},
        {.name = "dx", .kind = AKG_ARGUMENT_FLOAT, .as.real = 1},
    };

    define("counts", in, 1, out, relu);
    ACCEPTED(akg_operator_set_gradient(registry, "counts", counts_build, NULL, &diagnostics));
    for (size_t i = 0; i < API_COUNT(rows); i++) {
        akg_tensor *x = vector(3, 1, 1, true), *y = NULL;
        akg_argument argument = api_tensor(NULL, x);
        counts = &rows[i];
        ACCEPTED(call("counts", &argument, 1, &y));
        REFUSED(akg_backward(tape, &y, NULL, 1, false, &diagnostics), AKG_ERROR_CALL, "call-kind",
                "'dx' takes the number of its tensors");
        akg_tensor_release(y);
        akg_tensor_release(x);
    }
}

/* ---- kernels ----------------------------------------------------- */

static akg_status scale_bprop(const akg_bprop_call *given, akg_tensor **gradients, akg_diagnostics **told)
{
    akg_argument arguments[2] = {api_tensor(NULL, given->output_gradients[0]), given->attributes[0]};

    CHECK_INT(given->attribute_count, 1);
    CHECK_STRING(given->attributes[0].name, "factor");
    return akg_call(given->tape, given->callee, arguments, 2, &gradients[0], told);
}

static void test_kernel(void)
{
    static const char text[] = "def scale(x, factor=2.5):\n    y = output_tensor(x.shape, x.dtype)\n"
                               "    for i in grid(x.shape):\n        y[i] = x[i] * factor\n    return y\n";
    akg_bprop bprop = {.parameter_count = 3, .result_count = 1, .function = scale_bprop, .on_tape = true};
    akg_module *module = api_compile(text);
    akg_tensor *x = vector(3, 1, 1, true), *y = NULL;
    akg_argument arguments[] = {api_tensor(NULL, x), api_real("factor", 4)};

    ACCEPTED(akg_registry_add_module(registry, module, &diagnostics));
    akg_module_release(module);
    ACCEPTED(akg_operator_set_bprop(registry, "scale", &bprop, &diagnostics));
    ACCEPTED(call("scale", arguments, 1, &y));
    ACCEPTED(akg_backward(tape, &y, NULL, 1, false, &diagnostics));
    CHECK(api_element(akg_tensor_grad(x), 1) == 2.5);
    akg_tensor_release(y);
    y = NULL;
    ACCEPTED(call("scale", arguments, 2, &y));
    ACCEPTED(akg_backward(tape, &y, NULL, 1, false, &diagnostics));
    CHECK(api_element(akg_tensor_grad(x), 1) == 6.5);
    akg_tensor_release(y);
    akg_tensor_release(x);
}

/* d2/dadb of a ** b is a ** (b - 1) * (1 + b * log(a)): where b is 0, at which the slope by a is 0, it is 1 /
 * a.
 */
static void test_second_order_of_power(void)
{
    akg_gradient_options create = {.create_graph = true};
    akg_tensor *a = vector(3, 2, 2, true), *b = vector(3, 0, 1, true), *y = NULL, *slope = NULL,
               *mixed = NULL;
    akg_argument arguments[] = {api_tensor(NULL, a), api_tensor(NULL, b)};

    ACCEPTED(call("power", arguments, 2, &y));
    ACCEPTED(akg_gradients(tape, &y, NULL, 1, &a, 1, &create, &slope, &diagnostics));
    ACCEPTED(akg_gradients(tape, &slope, NULL, 1, &b, 1, NULL, &mixed, &diagnostics));
    for (int64_t i = 0; i < 3; i++) {
        double base = 2 + 2 * (double)i, expected = pow(base, (double)i - 1) * (1 + (double)i * log(base));
        CHECK(fabs(api_element(mixed, i) - expected) <= 1e-12 * expected);
    }
    akg_tensor *all[] = {a, b, y, slope, mixed};
    for (size_t i = 0; i < API_COUNT(all); i++)
        akg_tensor_release(all[i]);
}

int main(void)
{
    akg_tensor *x, *y = NULL;
    akg_argument argument;

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_tape_create(registry, &tape), AKG_OK);
    define("cus_multiply", ab, 2, out, multiply);
    define("cus_square", in, 1, out, square);
    define("myrelu", in, 1, out, relu);
    define("myrelu_grad", y_dy, 2, dx, relu_grad);
    test_bprop();
    test_given("cus_square");
    test_given("exp");
    test_refusals();
    test_graph();
    test_needs();
    test_lists();
    test_wrong_graphs();
    test_wrong_counts();
    test_kernel();
    test_second_order_of_power();
    /* what was recorded keeps the registry */
    x = vector(5, -2, 1, true);
    argument = api_tensor(NULL, x);
    ACCEPTED(call("myrelu", &argument, 1, &y));
    akg_tape_release(tape);
    akg_registry_release(registry);
    CHECK_INT(akg_tape_create(NULL, &tape), AKG_OK);
    ACCEPTED(akg_backward(tape, &y, NULL, 1, false, &diagnostics));
    CHECK(api_element(akg_tensor_grad(x), 4) == 1);
    akg_tape_release(tape);
    akg_tensor_release(x);
    akg_tensor_release(y);
    return check_done();
}
