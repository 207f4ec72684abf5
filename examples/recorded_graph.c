/* example: recorded_graph */
#include <akg.h>
#include <stdio.h>

/* The loss of a linear model: what is recorded. `user` is the weight. */
static akg_status loss(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t input_count,
                       akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_operator *linear, *mse;
    akg_tensor *y = NULL;
    akg_argument model[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = inputs[0]},
                            {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = user}};
    akg_argument error[] = {{.kind = AKG_ARGUMENT_TENSOR},
                            {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = inputs[1]}};
    akg_status status = akg_registry_find(akg_tape_registry(tape), "linear", &linear, diagnostics);

    (void)input_count;
    if (status == AKG_OK)
        status = akg_registry_find(akg_tape_registry(tape), "mse", &mse, diagnostics);
    if (status == AKG_OK)
        status = akg_call(tape, linear, model, 2, &y, diagnostics);
    error[0].as.tensor = y;
    if (status == AKG_OK)
        status = akg_call(tape, mse, error, 2, outputs, diagnostics);
    akg_tensor_release(y);
    return status;
}

/* The loss and its gradient by the weight, to be recorded together. */
static akg_status loss_and_gradient(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t input_count,
                                    akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_tensor *weight = user;
    akg_value_and_grad_request request = {.net = loss,
                                          .user = weight,
                                          .inputs = inputs,
                                          .input_count = input_count,
                                          .output_count = 1,
                                          .parameters = &weight,
                                          .parameter_count = 1};

    return akg_value_and_grad(tape, &request, &outputs[0], NULL, &outputs[1], diagnostics);
}

/* Runs the graph on so many rows, and prints what comes out. */
static akg_status run(akg_graph *graph, int64_t rows, akg_diagnostics **diagnostics)
{
    akg_tensor *inputs[2] = {NULL, NULL}, *outputs[2] = {NULL, NULL};
    char *text = NULL;
    akg_status status = akg_tensor_create(AKG_FLOAT32, 2, (int64_t[]){rows, 2}, &inputs[0]);

    if (status == AKG_OK)
        status = akg_tensor_create(AKG_FLOAT32, 2, (int64_t[]){rows, 1}, &inputs[1]);
    if (status == AKG_OK) {
        akg_tensor_fill_range(inputs[0], 0, 1); /* the targets are zeros */
        status = akg_graph_run(graph, inputs, outputs, diagnostics);
    }
    if (status == AKG_OK)
        status = akg_tensor_format(outputs[1], &text);
    if (status == AKG_OK)
        printf("%lld rows: loss %g, gradient %s\n", (long long)rows, akg_tensor_get(outputs[0], NULL), text);
    akg_free(text);
    for (int i = 0; i < 2; i++) {
        akg_tensor_release(inputs[i]);
        akg_tensor_release(outputs[i]);
    }
    return status;
}

int main(void)
{
    const char *const inputs[] = {"float32[N, 2]", "float32[N, 1]"};
    akg_registry *registry = NULL;
    akg_tape *tape = NULL;
    akg_tensor *weight = NULL;
    akg_graph *graph = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_registry_create(&registry);

    if (status == AKG_OK)
        status = akg_tape_create(registry, &tape);
    if (status == AKG_OK)
        status = akg_tensor_create(AKG_FLOAT32, 2, (int64_t[]){1, 2}, &weight);
    if (status == AKG_OK) {
        akg_tensor_fill(weight, 1);
        status = akg_tensor_set_requires_grad(weight, true, &diagnostics);
    }
    if (status == AKG_OK)
        status = akg_graph_record(tape, loss_and_gradient, weight, inputs, 2, 2, &graph, &diagnostics);
    for (int64_t rows = 1; rows <= 4 && status == AKG_OK; rows *= 2)
        status = run(graph, rows, &diagnostics);
    if (status != AKG_OK)
        fprintf(stderr, "recorded_graph: %s\n", akg_status_text(status));

    akg_diagnostics_free(diagnostics);
    akg_graph_release(graph);
    akg_tensor_release(weight);
    akg_tape_release(tape);
    akg_registry_release(registry);
    return status != AKG_OK;
}
