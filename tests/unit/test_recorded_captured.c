/*
 * test_recorded_captured.c: recorded graphs with tensors of the program in them, which were there before:
 * gradients of parameters that nothing depends on, that are broadcast, of second order or large; operands
 * that are used again and again, and scalars without axes that are chosen against. What a run gives is what
 * the calls one by one give, to the bit.
 */
#include "check.h"
#include "recorded_support.h"

struct captured {
    akg_registry *registry;
    akg_tape *tape;
    akg_tensor *bias, *row, *large;
};

NET(net_log)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};

    (void)user;
    (void)input_count;
    akg_tensor *y = calls_one(&calls, "log", inputs[0]);
    return calls_end(&calls, y, &outputs[0]);
}

/* The net's output, and its gradients by tensors that are no inputs. */
static akg_status by_parameters(akg_tape *tape, akg_value_and_grad_request request,
                                akg_tensor *const *parameters, size_t count, akg_tensor **outputs,
                                akg_diagnostics **diagnostics)
{
    request.output_count = 1;
    request.parameters = parameters;
    request.parameter_count = count;
    return akg_value_and_grad(tape, &request, outputs, NULL, outputs + 1, diagnostics);
}

NET(net_unused)
{
    const struct captured *captured = user;
    akg_value_and_grad_request request = {.net = net_log, .inputs = inputs, .input_count = input_count};

    return by_parameters(tape, request, &captured->bias, 1, outputs, diagnostics);
}

/* Its gradient is zeros, anew in each run. */
static void test_unused(struct captured *captured)
{
    const char *input = "float32[N]";
    akg_tensor *x = api_vector(AKG_FLOAT32, 9, 1, 0.25), *zeros = NULL, *outputs[2] = {NULL};
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(captured->tape, net_unused, captured, &input, 1, 2, &graph, NULL) == AKG_OK);
    CHECK(akg_tensor_create(AKG_FLOAT32, akg_tensor_rank(captured->bias), akg_tensor_shape(captured->bias),
                            &zeros) == AKG_OK);
    akg_tensor_fill(zeros, 0);
    for (int run = 0; run < 2; run++) {
        CHECK(akg_graph_run(graph, &x, outputs, NULL) == AKG_OK);
        CHECK(api_same(outputs[1], zeros));
        akg_tensor_fill(outputs[1], 7);
        tensors_release(outputs, 2);
    }
    tensors_release((akg_tensor *[]){x, zeros}, 2);
    akg_graph_release(graph);
}

NET(net_shifted)
{
    struct captured *captured = user;
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};

    (void)input_count;
    return calls_end(&calls, calls_two(&calls, "add", inputs[0], captured->bias), &outputs[0]);
}

NET(net_broadcast)
{
    const struct captured *captured = user;
    akg_value_and_grad_request request = {
        .net = net_shifted, .user = user, .inputs = inputs, .input_count = input_count};

    return by_parameters(tape, request, &captured->bias, 1, outputs, diagnostics);
}

/* The gradient of a parameter that was broadcast is the sum over the rows, as many as a run has. */
static void test_broadcast(struct captured *captured)
{
    const char *input = "float32[N, 6]";
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(captured->tape, net_broadcast, captured, &input, 1, 2, &graph, NULL) == AKG_OK);
    for (int64_t rows = 2; rows < 5; rows++) {
        akg_tensor *x = tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){rows, 6}, 1), *outputs[2] = {NULL};
        akg_tensor *expected = api_vector(AKG_FLOAT32, 6, (double)rows, 0);
        CHECK(akg_graph_run(graph, &x, outputs, NULL) == AKG_OK);
        CHECK(api_same(outputs[1], expected));
        tensors_release(outputs, 2);
        tensors_release((akg_tensor *[]){x, expected}, 2);
    }
    akg_graph_release(graph);
}

NET(net_outer)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *outer = calls_two(&calls, "add", inputs[0], user);

    (void)input_count;
    return calls_end(&calls, calls_one(&calls, "sum", calls_one(&calls, "neg", outer)), &outputs[0]);
}

/* Both operands are used again and again, which is packed where there is memory for that: a step has none. */
static void test_outer(struct captured *captured)
{
    const char *input = "float32[N, 6]";
    akg_tensor *p = tensor_of_normal(AKG_FLOAT32, 3, (int64_t[]){4, 1, 6}, 2);
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(captured->tape, net_outer, p, &input, 1, 1, &graph, NULL) == AKG_OK);
    for (int64_t rows = 2; rows < 30; rows += 9) {
        akg_tensor *x = tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){rows, 6}, 1), *y = NULL,
                   *expected = NULL;
        CHECK(net_outer(captured->tape, p, &x, 1, &expected, NULL) == AKG_OK);
        CHECK(akg_graph_run(graph, &x, &y, NULL) == AKG_OK);
        CHECK(api_same(y, expected));
        tensors_release((akg_tensor *[]){x, y, expected}, 3);
    }
    akg_tensor_release(p);
    akg_graph_release(graph);
}

/* What a scalar without axes is chosen against, behind a product: to the bit what calls one by one give. */
NET(net_cosine)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *least = calls_two(&calls, "minimum", inputs[0], inputs[0]);

    (void)user, (void)input_count;
    akg_tensor *y = calls_two(&calls, "multiply", calls_one(&calls, "cos", least), inputs[1]);
    return calls_end(&calls, y, &outputs[0]);
}

NET(net_chosen)
{
    size_t position = 0;
    akg_value_and_grad_request request = {.net = net_cosine,
                                          .inputs = inputs,
                                          .input_count = input_count,
                                          .output_count = 1,
                                          .positions = &position,
                                          .position_count = 1};

    (void)user;
    return akg_value_and_grad(tape, &request, outputs, outputs + 1, NULL, diagnostics);
}

static void test_chosen(struct captured *captured)
{
    const char *const forms[] = {"float32[N]", "float32[N]"};
    akg_tensor *inputs[] = {tensor_of_normal(AKG_FLOAT32, 1, (int64_t[]){50}, 3),
                            tensor_of_normal(AKG_FLOAT32, 1, (int64_t[]){50}, 4)};
    akg_tensor *eager[2] = {NULL}, *run[2] = {NULL};
    akg_graph *graph = NULL;

    CHECK(net_chosen(captured->tape, NULL, inputs, 2, eager, NULL) == AKG_OK);
    CHECK(akg_graph_record(captured->tape, net_chosen, NULL, forms, 2, 2, &graph, NULL) == AKG_OK);
    CHECK(akg_graph_run(graph, inputs, run, NULL) == AKG_OK);
    CHECK(api_same(run[0], eager[0]) && api_same(run[1], eager[1]));
    tensors_release(eager, 2);
    tensors_release(run, 2);
    tensors_release(inputs, 2);
    akg_graph_release(graph);
}

/* (the gradient by the captured tensor) squared: of second order, with sums that are expanded again. */
NET(net_squared)
{
    struct captured *captured = user;
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *y = NULL, *gradient = NULL;
    akg_gradient_options options = {.retain_graph = true, .create_graph = true};

    (void)input_count;
    calls.status = calls_end(&calls, calls_two(&calls, "multiply", captured->row, inputs[0]), &y);
    if (calls.status == AKG_OK)
        calls.status = akg_gradients(tape, &y, NULL, 1, &captured->row, 1, &options, &gradient, diagnostics);
    calls = (struct calls){.tape = tape, .diagnostics = diagnostics, .status = calls.status};
    akg_status status = calls_end(
        &calls, calls_one(&calls, "sum", calls_two(&calls, "multiply", gradient, gradient)), &outputs[0]);
    tensors_release((akg_tensor *[]){y, gradient}, 2);
    return status;
}

NET(net_second)
{
    size_t position = 0;
    akg_value_and_grad_request request = {.net = net_squared,
                                          .user = user,
                                          .inputs = inputs,
                                          .input_count = input_count,
                                          .output_count = 1,
                                          .positions = &position,
                                          .position_count = 1};

    return akg_value_and_grad(tape, &request, outputs, outputs + 1, NULL, diagnostics);
}

/* Of one row a sum that is expanded has the extents it had: what reads it comes behind what makes it. */
static void test_second(struct captured *captured)
{
    const char *form = "float32[N, 6]";
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(captured->tape, net_second, captured, &form, 1, 2, &graph, NULL) == AKG_OK);
    for (int64_t rows = 1; rows < 4; rows++) {
        akg_tensor *x = tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){rows, 6}, 3);
        akg_tensor *eager[2] = {NULL}, *run[2] = {NULL};
        CHECK(net_second(captured->tape, captured, &x, 1, eager, NULL) == AKG_OK);
        CHECK(akg_graph_run(graph, &x, run, NULL) == AKG_OK);
        CHECK(api_same(run[0], eager[0]) && api_same(run[1], eager[1]));
        tensors_release(eager, 2);
        tensors_release(run, 2);
        akg_tensor_release(x);
    }
    akg_graph_release(graph);
}

/* sum(weight + row): what the gradient of a sum of large parameters asks for is their shape. */
NET(net_parameters)
{
    struct captured *captured = user;
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *parameters =
        calls_one(&calls, "sum", calls_two(&calls, "add", captured->large, captured->row));

    (void)input_count;
    akg_tensor *y = calls_two(&calls, "multiply", parameters, calls_one(&calls, "sum", inputs[0]));
    return calls_end(&calls, y, &outputs[0]);
}

NET(net_described)
{
    const struct captured *captured = user;
    akg_tensor *parameters[] = {captured->large, captured->row};
    akg_value_and_grad_request request = {
        .net = net_parameters, .user = user, .inputs = inputs, .input_count = input_count};

    return by_parameters(tape, request, parameters, 2, outputs, diagnostics);
}

static void test_described(struct captured *captured)
{
    const char *form = "float32[N]";
    akg_tensor *x = api_vector(AKG_FLOAT32, 9, 1, 0.25), *eager[3] = {NULL}, *run[3] = {NULL};
    akg_graph *graph = NULL;

    CHECK(net_described(captured->tape, captured, &x, 1, eager, NULL) == AKG_OK);
    CHECK(akg_graph_record(captured->tape, net_described, captured, &form, 1, 3, &graph, NULL) == AKG_OK);
    CHECK(akg_graph_run(graph, &x, run, NULL) == AKG_OK);
    for (int k = 0; k < 3; k++)
        CHECK(api_same(run[k], eager[k]));
    tensors_release(eager, 3);
    tensors_release(run, 3);
    akg_tensor_release(x);
    akg_graph_release(graph);
}

int main(void)
{
    struct captured captured = {.bias = tensor_of_normal(AKG_FLOAT32, 1, (int64_t[]){6}, 2),
                                .row = tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){1, 6}, 1),
                                .large = tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){500, 6}, 5)};

    if (!CHECK(akg_registry_create(&captured.registry) == AKG_OK &&
               akg_tape_create(captured.registry, &captured.tape) == AKG_OK &&
               akg_tensor_set_requires_grad(captured.bias, true, NULL) == AKG_OK &&
               akg_tensor_set_requires_grad(captured.row, true, NULL) == AKG_OK &&
               akg_tensor_set_requires_grad(captured.large, true, NULL) == AKG_OK))
        return check_done();
    test_unused(&captured);
    test_broadcast(&captured);
    test_outer(&captured);
    test_chosen(&captured);
    test_second(&captured);
    test_described(&captured);
    tensors_release((akg_tensor *[]){captured.bias, captured.row, captured.large}, 3);
    akg_tape_release(captured.tape);
    akg_registry_release(captured.registry);
    return check_done();
}
