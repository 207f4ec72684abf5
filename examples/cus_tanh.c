/* example: cus_tanh */
#include <akg.h>
#include <stdio.h>

/* Calls an operator of the standard library by name, on one or two tensors. */
static akg_status call(akg_tape *tape, const char *name, akg_tensor *a, akg_tensor *b, akg_tensor **result,
                       akg_diagnostics **diagnostics)
{
    akg_argument arguments[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = a},
                                {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = b}};
    akg_operator *found;
    akg_status status = akg_registry_find(akg_tape_registry(tape), name, &found, diagnostics);

    *result = NULL;
    return status ? status : akg_call(tape, found, arguments, b ? 2 : 1, result, diagnostics);
}

static akg_status forward(akg_context *context, const akg_argument *arguments, size_t count,
                          akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_status status =
        call(akg_context_tape(context), "tanh", arguments[0].as.tensor, NULL, &outputs[0], diagnostics);

    (void)count;
    return status ? status : akg_context_save_for_backward(context, outputs, 1);
}

/* dx = dy * (1 - y^2) = dy - dy * y * y */
static akg_status backward(akg_context *context, akg_tensor *const *output_gradients,
                           akg_tensor **input_gradients, akg_diagnostics **diagnostics)
{
    akg_tape *tape = akg_context_tape(context);
    akg_tensor *const *saved, *y, *dy = output_gradients[0], *once = NULL, *twice = NULL;
    akg_status status = akg_context_saved_tensors(context, &saved, NULL);

    if (status == AKG_OK) {
        y = saved[0];
        status = call(tape, "multiply", dy, y, &once, diagnostics);
    }
    if (status == AKG_OK)
        status = call(tape, "multiply", once, y, &twice, diagnostics);
    if (status == AKG_OK)
        status = call(tape, "subtract", dy, twice, &input_gradients[0], diagnostics);
    akg_tensor_release(once);
    akg_tensor_release(twice);
    return status;
}

static const akg_function cus_tanh = {
    .name = "cus_tanh", .forward = forward, .backward = backward, .output_count = 1};

static void print(const char *name, const akg_tensor *tensor)
{
    char *text;

    if (akg_tensor_format(tensor, &text) != AKG_OK)
        return;
    printf("%s = %s\n", name, text);
    akg_free(text);
}

int main(void)
{
    const int64_t shape[] = {2, 3};
    akg_registry *registry = NULL;
    akg_tape *tape = NULL;
    akg_tensor *data = NULL, *z = NULL, *mean = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_registry_create(&registry);

    if (status == AKG_OK)
        status = akg_tape_create(registry, &tape);
    if (status == AKG_OK)
        status = akg_tensor_create(AKG_FLOAT32, 2, shape, &data);
    if (status == AKG_OK) {
        akg_tensor_fill_range(data, -1.5, 0.75);
        status = akg_tensor_set_requires_grad(data, true, &diagnostics);
    }
    if (status == AKG_OK) {
        akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = data};
        status = akg_function_apply(tape, &cus_tanh, &argument, 1, &z, &diagnostics);
    }
    if (status == AKG_OK)
        status = call(tape, "mean", z, NULL, &mean, &diagnostics);
    if (status == AKG_OK)
        status = akg_backward(tape, &mean, NULL, 1, false, &diagnostics);
    if (status == AKG_OK) {
        print("z", z);
        print("data.grad", akg_tensor_grad(data));
    } else {
        fprintf(stderr, "cus_tanh: %s\n", akg_status_text(status));
    }

    akg_diagnostics_free(diagnostics);
    akg_tensor_release(data);
    akg_tensor_release(z);
    akg_tensor_release(mean);
    akg_tape_release(tape);
    akg_registry_release(registry);
    return status != AKG_OK;
}
