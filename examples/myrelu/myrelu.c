/*
 * myrelu.c: a library of two operators, myrelu and myrelu_grad, with kernels for float and double. use.c
 * loads it.
 */
#include <akg.h>

AKG_LIBRARY

/* ---- kernels: one text for each dtype ------------------------------------------------------------ */

#define KERNELS(type)                                                                                        \
    static akg_status relu_##type(akg_invocation *call)                                                      \
    {                                                                                                        \
        akg_tensor *in = akg_invocation_input(call, "in", 0), *out = akg_invocation_output(call, "out", 0);  \
        const type *x = akg_tensor_data(in);                                                                 \
        type *y = akg_tensor_data(out);                                                                      \
        for (int64_t i = 0; i < akg_tensor_element_count(in); i++)                                           \
            y[i] = x[i] > 0 ? x[i] : 0;                                                                      \
        return AKG_OK;                                                                                       \
    }                                                                                                        \
    static akg_status relu_grad_##type(akg_invocation *call)                                                 \
    {                                                                                                        \
        akg_tensor *out = akg_invocation_output(call, "dx", 0);                                              \
        const type *y = akg_tensor_data(akg_invocation_input(call, "y", 0));                                 \
        const type *dy = akg_tensor_data(akg_invocation_input(call, "dy", 0));                               \
        type *dx = akg_tensor_data(out);                                                                     \
        for (int64_t i = 0; i < akg_tensor_element_count(out); i++)                                          \
            dx[i] = y[i] > 0 ? dy[i] : 0;                                                                    \
        return AKG_OK;                                                                                       \
    }
KERNELS(float)
KERNELS(double)

static const akg_kernel_definition relu_kernels[] = {
    {.name = "float", .condition = "device == cpu and dtype(out) == float32", .compute = relu_float},
    {.name = "double", .condition = "device == cpu and dtype(out) == float64", .compute = relu_double},
};
static const akg_kernel_definition relu_grad_kernels[] = {
    {.name = "float", .condition = "device == cpu and dtype(dx) == float32", .compute = relu_grad_float},
    {.name = "double", .condition = "device == cpu and dtype(dx) == float64", .compute = relu_grad_double},
};

/* ---- operators: their outputs are as their first inputs ------------------------------------------- */

static const akg_operand in[] = {{.name = "in"}}, out[] = {{.name = "out"}};
static const akg_operand y_dy[] = {{.name = "y"}, {.name = "dy"}}, dx[] = {{.name = "dx"}};

static const akg_operator_definition relu = {
    .name = "myrelu",
    .documentation = "The larger of each element and zero.",
    .inputs = in,
    .input_count = 1,
    .outputs = out,
    .output_count = 1,
    .kernels = relu_kernels,
    .kernel_count = 2,
};
static const akg_operator_definition relu_grad = {
    .name = "myrelu_grad",
    .inputs = y_dy,
    .input_count = 2,
    .outputs = dx,
    .output_count = 1,
    .kernels = relu_grad_kernels,
    .kernel_count = 2,
};

/* ---- the gradient of myrelu: a graph of one call --------------------------------------------------- */

static void build_call(akg_gradient *gradient, akg_gradient_node *node)
{
    akg_gradient_node_operator(node, "myrelu_grad");
    akg_gradient_node_input(node, "y", akg_gradient_output(gradient, "out", 0));
    akg_gradient_node_input(node, "dy", akg_gradient_output_gradient(gradient, "out", 0));
}

static const akg_gradient_value *gradient_of_in(akg_gradient *gradient, const char *input, size_t index)
{
    (void)input;
    return akg_gradient_get(gradient, "grad", "dx", index);
}

static void build_gradient(akg_gradient *gradient)
{
    akg_gradient_define(gradient, "grad", build_call);
    akg_gradient_bind(gradient, "in", 0, gradient_of_in);
}

akg_status akg_library_register(akg_registry *registry, akg_diagnostics **diagnostics)
{
    akg_status status = akg_registry_add_operator(registry, &relu, diagnostics);

    if (status == AKG_OK)
        status = akg_registry_add_operator(registry, &relu_grad, diagnostics);
    if (status == AKG_OK)
        status = akg_operator_set_gradient(registry, "myrelu", build_gradient, NULL, diagnostics);
    return status;
}
