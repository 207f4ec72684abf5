/*
 * operator_module.c: the kernels of a module as operators.
 *
 * Such an operator is a kernel and, where a function of the file is marked @bprop(kernel), that function.
 */
#include "operator.h"

#include <string.h>

#include "../jit/module.h"
#include "kernel_gradient.h"
#include "operator_info.h"
#include "tensor.h"

/* The arguments of a call, for operator information. */
struct module_arguments {
    const akg_kernel *kernel;
    const akg_argument *items;
    size_t count;
};

/* The argument that parameter `index` would get, or NULL. */
static const akg_argument *module_argument(const struct module_arguments *arguments, size_t index,
                                           const char *name)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (arguments->items[i].name ? strcmp(arguments->items[i].name, name) == 0 : i == index)
            return &arguments->items[i];
    return NULL;
}

/* Outputs are not known before the kernel runs, and follow from the inputs. */
static bool module_describe(const void *context, int operand, size_t index, akg_description *description,
                            const akg_tensor **tensor)
{
    const struct module_arguments *arguments = context;
    const akg_argument *argument = NULL;
    akg_parameter parameter;

    for (size_t i = 0; operand >= 0 && akg_kernel_parameter(arguments->kernel, i, &parameter); i++)
        if (parameter.kind != AKG_PARAMETER_ATTRIBUTE && operand-- == 0)
            argument = module_argument(arguments, i, parameter.name);
    if (argument && argument->kind == AKG_ARGUMENT_TENSOR && index == 0)
        *tensor = argument->as.tensor;
    else if (argument && argument->kind == AKG_ARGUMENT_TENSORS && index < argument->as.tensors.count)
        *tensor = argument->as.tensors.items[index];
    else
        return false;
    description->dtype = (*tensor)->dtype;
    description->rank = (*tensor)->rank;
    memcpy(description->shape, tensor_shape(*tensor), (size_t)(*tensor)->rank * sizeof *description->shape);
    return true;
}

static akg_status module_check_info(const akg_operator *callee, const struct operator_place *place,
                                    const struct module_arguments *arguments, akg_diagnostics **diagnostics)
{
    struct info_call call = {.callee = callee,
                             .device = place->device.kind,
                             .given = place->info,
                             .describe = module_describe,
                             .context = arguments};
    akg_diagnostics *list;

    if (info_is_silent(&call))
        return AKG_OK;
    list = diagnostics_create("", NULL, 0);
    return operator_finish(list, list ? info_check(&call, list) : AKG_ERROR_MEMORY, diagnostics);
}

static akg_status module_call(akg_operator *callee, const struct operator_place *place,
                              const akg_argument *arguments, size_t count, akg_tensor **outputs,
                              akg_diagnostics **diagnostics)
{
    struct module_arguments given = {callee->kernel, arguments, count};
    akg_status status = module_check_info(callee, place, &given, diagnostics);

    if (status != AKG_OK)
        return status;
    return kernel_gradient_call(callee->kernel, callee->registry, place->tape, arguments, count, outputs,
                                diagnostics);
}

static size_t module_parameter_count(const akg_operator *callee)
{
    return akg_kernel_parameter_count(callee->kernel);
}

static bool module_parameter(const akg_operator *callee, size_t index, akg_parameter *parameter)
{
    return akg_kernel_parameter(callee->kernel, index, parameter);
}

static bool module_initial(const akg_operator *callee, size_t index, struct arena *arena, akg_argument *value)
{
    const struct ast_expr *initial = callee->kernel->function->parameters[index].initial;
    struct dsl_argument constant;

    if (!initial || !elaborate_constant(arena, initial, &constant))
        return false;
    *value = (akg_argument){.kind = AKG_ARGUMENT_NONE};
    switch (constant.kind) {
    case DSL_INT:
        value->kind = AKG_ARGUMENT_INT;
        value->as.integer = constant.integer;
        break;
    case DSL_BOOL:
        value->kind = AKG_ARGUMENT_BOOL;
        value->as.boolean = constant.integer != 0;
        break;
    case DSL_FLOAT:
        value->kind = AKG_ARGUMENT_FLOAT;
        value->as.real = constant.real;
        break;
    case DSL_STRING:
        value->kind = AKG_ARGUMENT_STRING;
        value->as.string = constant.string;
        break;
    case DSL_INTS:
        value->kind = AKG_ARGUMENT_INTS;
        value->as.ints.items = constant.ints;
        value->as.ints.count = (size_t)constant.count;
        break;
    case DSL_NONE:
    case DSL_TENSOR:
    case DSL_TENSORS:
        return false;
    }
    return true;
}

static size_t module_output_count(const akg_operator *callee)
{
    return akg_kernel_output_count(callee->kernel);
}

static const char *module_output_name(const akg_operator *callee, size_t index)
{
    return akg_kernel_output_name(callee->kernel, index);
}

static void module_release(akg_operator *callee)
{
    akg_module_release(callee->module);
}

static const struct operator_kind module_kind = {
    .call = module_call,
    .parameter_count = module_parameter_count,
    .parameter = module_parameter,
    .initial = module_initial,
    .output_count = module_output_count,
    .output_name = module_output_name,
    .release = module_release,
};

/* The kernel's function that is marked @bprop(function), or NULL. */
static akg_kernel *module_bprop(akg_module *module, const struct ast_function *function)
{
    for (int i = 0; i < module->kernel_count; i++)
        if (module->kernels[i].function->bprop_of == function)
            return &module->kernels[i];
    return NULL;
}

static akg_status module_fill(struct registration_batch *batch, struct registration *registration,
                              const void *source)
{
    akg_kernel *kernel = (akg_kernel *)source;
    akg_operator *callee = &registration->callee;

    (void)batch;
    callee->kind = &module_kind;
    callee->module = akg_module_retain(kernel->module);
    callee->kernel = kernel;
    callee->bprop = module_bprop(kernel->module, kernel->function);
    callee->name = kernel->function->name;
    callee->documentation = kernel->function->documentation;
    callee->origin =
        arena_format(&registration->arena, "%s:%d", kernel->module->source.name, kernel->function->span.line);
    return AKG_OK;
}

akg_status operator_of_module(struct registration_batch *batch, akg_module *module, bool is_standard)
{
    for (int i = 0; i < module->kernel_count; i++) {
        struct registration *registration;
        akg_status status;
        if (is_standard && module->kernels[i].function->name[0] == '_')
            continue; /* serves its own file */
        registration = registration_new(batch, REGISTER_OPERATOR);
        if (!registration)
            return AKG_ERROR_MEMORY;
        registration->callee.is_standard = is_standard;
        status = registration_fill(batch, registration, module_fill, &module->kernels[i]);
        if (status != AKG_OK)
            return status;
    }
    return AKG_OK;
}
