/*
 * test_recorded_refused.c: what cannot be recorded, and inputs that a recorded graph does not take: each with
 * its message.
 */
#include "check.h"
#include "recorded_support.h"

static akg_tape *tape;

/* ---- what cannot be recorded ----------------------------------------------------------------------------
 */

NET(net_reads)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *y = calls_one(&calls, "exp", inputs[0]);

    (void)user, (void)input_count;
    if (y && akg_tensor_get(y, (int64_t[]){0}) > 1)
        y = calls_one(&calls, "neg", y);
    return calls_end(&calls, y, &outputs[0]);
}

static akg_status host_forward(void *user, akg_tensor *const *inputs, akg_tensor **outputs,
                               akg_diagnostics **diagnostics)
{
    (void)user, (void)diagnostics;
    outputs[0] = akg_tensor_retain(inputs[0]);
    return AKG_OK;
}

NET(net_host)
{
    static const akg_host_operator host = {
        .name = "host", .input_count = 1, .output_count = 1, .forward = host_forward};

    (void)user, (void)input_count;
    return akg_host_operator_call(tape, &host, inputs, outputs, diagnostics);
}

NET(net_counts)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    double rows = (double)akg_tensor_shape(inputs[0])[0];

    (void)user, (void)input_count;
    return calls_end(&calls,
                     calls_make(&calls, "multiply",
                                (akg_argument[]){api_tensor(NULL, inputs[0]), api_real(NULL, 1 / rows)}, 2),
                     &outputs[0]);
}

NET(net_branches)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *y = inputs[0];

    (void)user, (void)input_count;
    for (int64_t i = 0; i < akg_tensor_shape(inputs[0])[0] / 48; i++)
        y = calls_one(&calls, "exp", y);
    return calls_end(&calls, y, &outputs[0]);
}

NET(net_views)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *view = NULL, *y;

    (void)user, (void)input_count;
    akg_tensor_view(inputs[0], 1, (int64_t[]){3}, NULL, 0, &view);
    y = calls_one(&calls, "exp", view);
    akg_tensor_release(view);
    return calls_end(&calls, y, &outputs[0]);
}

NET(net_backward)
{
    (void)user, (void)input_count, (void)outputs;
    return akg_backward(tape, inputs, NULL, 1, false, diagnostics);
}

NET(net_kernel)
{
    akg_argument argument = api_tensor(NULL, inputs[0]);
    akg_operator *found;

    (void)user, (void)input_count;
    akg_registry_find(akg_tape_registry(tape), "exp", &found, NULL);
    return akg_kernel_call(akg_operator_kernel(found), &argument, 1, NULL, outputs, diagnostics);
}

NET(net_nothing)
{
    (void)tape, (void)user, (void)inputs, (void)input_count, (void)outputs, (void)diagnostics;
    return AKG_OK;
}

static void expect_refusal(akg_net net, const char *input, akg_status expected, const char *error,
                           const char *piece)
{
    akg_graph *graph = NULL;
    akg_diagnostics *diagnostics;
    akg_status status = akg_graph_record(tape, net, NULL, &input, 1, 1, &graph, &diagnostics);

    CHECK_INT(status, expected);
    CHECK_STRING(api_error(diagnostics), error);
    if (!CHECK(!piece || api_says(diagnostics, piece)))
        complain(error, diagnostics);
    else
        akg_diagnostics_free(diagnostics);
    CHECK(!graph);
}

static void test_refusals(void)
{
    expect_refusal(net_reads, "float32[N]", AKG_ERROR_CALL, "graph-broken", "were asked for");
    expect_refusal(net_views, "float32[8]", AKG_ERROR_CALL, "graph-broken", "a view");
    expect_refusal(net_host, "float32[N]", AKG_ERROR_CALL, "graph-no-step", "host");
    expect_refusal(net_backward, "float32[N]", AKG_ERROR_USAGE, "graph-no-step", "akg_gradients");
    expect_refusal(net_counts, "float32[N]", AKG_ERROR_CALL, "graph-differs", "multiply");
    expect_refusal(net_branches, "float32[N]", AKG_ERROR_CALL, "graph-differs", "number of calls");
    expect_refusal(net_kernel, "float32[N]", AKG_ERROR_CALL, "graph-stand-in", "exp");
    expect_refusal(net_nothing, "float32[N]", AKG_ERROR_USAGE, "gradient-no-value", NULL);
    expect_refusal(net_reads, "float31[N]", AKG_ERROR_USAGE, "graph-form", "dtype");
    expect_refusal(net_reads, "float32", AKG_ERROR_USAGE, "graph-form", "'['");
    expect_refusal(net_reads, "float32[N", AKG_ERROR_USAGE, "graph-form", "']'");
    expect_refusal(net_reads, "float32[3N]", AKG_ERROR_USAGE, "graph-form", "letter");
    expect_refusal(net_reads, "float32[,]", AKG_ERROR_USAGE, "graph-form", "missing");
    expect_refusal(net_reads, "float32[N]]", AKG_ERROR_USAGE, "graph-form", "behind");
}

/* ---- inputs that are wrong ------------------------------------------------------------------------------
 */

NET(net_exp)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};

    (void)user, (void)input_count;
    return calls_end(&calls, calls_one(&calls, "exp", inputs[0]), &outputs[0]);
}

static void expect_no_run(akg_graph *graph, akg_tensor *input, const char *error, const char *piece)
{
    akg_tensor *output = NULL;
    akg_diagnostics *diagnostics = NULL;

    CHECK(akg_graph_run(graph, &input, &output, &diagnostics) == AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), error);
    CHECK(!output && api_says(diagnostics, piece));
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(input);
}

static void test_wrong_runs(void)
{
    const char *square = "float32[N, N]", *rows_of_8 = "float32[N, 8]";
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(tape, net_exp, NULL, &square, 1, 1, &graph, NULL) == AKG_OK);
    expect_no_run(graph, tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){4, 5}, 1), "graph-input",
                  "float32[4, 5]");
    expect_no_run(graph, tensor_of_normal(AKG_FLOAT64, 2, (int64_t[]){4, 4}, 1), "graph-input",
                  "float32[N, N]");
    akg_graph_release(graph);
    CHECK(akg_graph_record(tape, net_exp, NULL, &rows_of_8, 1, 1, &graph, NULL) == AKG_OK);
    expect_no_run(graph, tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){4, 7}, 1), "graph-input",
                  "float32[4, 7]");
    expect_no_run(graph, tensor_of_normal(AKG_FLOAT32, 1, (int64_t[]){8}, 1), "graph-input", "input 0");
    akg_graph_release(graph);
}

int main(void)
{
    akg_registry *registry;

    if (!CHECK(akg_registry_create(&registry) == AKG_OK) ||
        !CHECK(akg_tape_create(registry, &tape) == AKG_OK))
        return check_done();
    test_refusals();
    test_wrong_runs();
    akg_tape_release(tape);
    akg_registry_release(registry);
    return check_done();
}
