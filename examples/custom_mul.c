/* example: custom_mul */
#include <akg.h>
#include <stdio.h>

/* The product of two tensors, broadcast, by the standard library's kernel. */
static akg_status multiply(akg_tape *tape, akg_tensor *a, akg_tensor *b, akg_tensor **result,
                           akg_diagnostics **diagnostics)
{
    akg_argument arguments[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = a},
                                {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = b}};
    akg_operator *found;
    akg_status status = akg_registry_find(akg_tape_registry(tape), "std:multiply", &found, diagnostics);

    *result = NULL;
    return status ? status : akg_call(tape, found, arguments, 2, result, diagnostics);
}

static akg_status forward(akg_context *context, const akg_argument *arguments, size_t count,
                          akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_tensor *x = arguments[0].as.tensor, *y = arguments[1].as.tensor;
    akg_tensor *saved[] = {akg_context_needs_grad(context, x) ? y : NULL,
                           akg_context_needs_grad(context, y) ? x : NULL};
    akg_status status = multiply(akg_context_tape(context), x, y, &outputs[0], diagnostics);

    (void)count;
    return status ? status : akg_context_save_for_backward(context, saved, 2);
}

/* What was broadcast is summed back by the tape. */
static akg_status backward(akg_context *context, akg_tensor *const *output_gradients,
                           akg_tensor **input_gradients, akg_diagnostics **diagnostics)
{
    akg_tensor *const *saved;
    akg_status status = akg_context_saved_tensors(context, &saved, NULL);

    for (size_t i = 0; i < 2 && status == AKG_OK; i++)
        if (akg_context_needs_input_grad(context, i))
            status = multiply(akg_context_tape(context), output_gradients[0], saved[i], &input_gradients[i],
                              diagnostics);
    return status;
}

static const akg_function custom_mul = {
    .name = "custom_mul", .forward = forward, .backward = backward, .output_count = 1, .gradient_count = 2};

static akg_status mul(akg_tape *tape, akg_tensor *a, akg_tensor *b, akg_tensor **result,
                      akg_diagnostics **diagnostics)
{
    akg_argument arguments[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = a},
                                {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = b}};
    return akg_function_apply(tape, &custom_mul, arguments, 2, result, diagnostics);
}

/* z = x * y; out = z * p. The parameter p is the net's own. */
static akg_status net(akg_tape *tape, void *p, akg_tensor *const *inputs, size_t count, akg_tensor **outputs,
                      akg_diagnostics **diagnostics)
{
    akg_tensor *z = NULL;
    akg_status status = mul(tape, inputs[0], inputs[1], &z, diagnostics);

    (void)count;
    if (status == AKG_OK)
        status = mul(tape, z, p, &outputs[0], diagnostics);
    akg_tensor_release(z);
    return status;
}

static akg_status scalar(double value, akg_tensor **tensor)
{
    akg_status status = akg_tensor_create(AKG_FLOAT32, 0, NULL, tensor);

    if (status == AKG_OK)
        akg_tensor_fill(*tensor, value);
    return status;
}

int main(void)
{
    const size_t positions[] = {0, 1};
    akg_registry *registry = NULL;
    akg_tape *tape = NULL;
    akg_tensor *inputs[2] = {NULL, NULL}, *p = NULL, *out = NULL, *dinputs[2] = {NULL, NULL}, *dp = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_registry_create(&registry);

    if (status == AKG_OK)
        status = akg_tape_create(registry, &tape);
    if (status == AKG_OK)
        status = scalar(2, &inputs[0]);
    if (status == AKG_OK)
        status = scalar(3, &inputs[1]);
    if (status == AKG_OK)
        status = scalar(2, &p);
    if (status == AKG_OK)
        status = akg_tensor_set_requires_grad(p, true, &diagnostics);
    if (status == AKG_OK) {
        akg_value_and_grad_request request = {.net = net,
                                              .user = p,
                                              .inputs = inputs,
                                              .input_count = 2,
                                              .output_count = 1,
                                              .positions = positions,
                                              .position_count = 2,
                                              .parameters = &p,
                                              .parameter_count = 1};
        status = akg_value_and_grad(tape, &request, &out, dinputs, &dp, &diagnostics);
    }
    if (status == AKG_OK) {
        printf("out: %g\n", akg_tensor_get(out, NULL));
        printf("grads[0]: (%g, %g)\n", akg_tensor_get(dinputs[0], NULL), akg_tensor_get(dinputs[1], NULL));
        printf("grads[1]: (%g,)\n", akg_tensor_get(dp, NULL));
    } else {
        fprintf(stderr, "custom_mul: %s\n", akg_status_text(status));
    }

    akg_diagnostics_free(diagnostics);
    akg_tensor_release(inputs[0]);
    akg_tensor_release(inputs[1]);
    akg_tensor_release(p);
    akg_tensor_release(out);
    akg_tensor_release(dinputs[0]);
    akg_tensor_release(dinputs[1]);
    akg_tensor_release(dp);
    akg_tape_release(tape);
    akg_registry_release(registry);
    return status != AKG_OK;
}
