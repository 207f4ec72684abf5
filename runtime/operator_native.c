/*
 * operator_native.c: a call of an operator written in C: binds, asks the operator what its outputs will be,
 * selects a kernel, makes what the kernel needs, runs it.
 *
 * Nothing is written before everything is known to fit, but for outputs that the caller gave and a kernel
 * that fails half-way.
 */
#include "operator_native.h"

#include <string.h>

#include "gpu.h"
#include "operator_gradient.h"
#include "operator_info.h"
#include "overlap.h"
#include "tensor.h"

/* ---- what the outputs will be --------------------------------------------------------------- */

/* A function of the operator has failed: the reason it gave, or that it gave none. */
static akg_status native_failed(akg_invocation *invocation, akg_status status, const char *function)
{
    if (status == AKG_OK || status == AKG_ERROR_MEMORY || invocation->refused)
        return status;
    diagnostic_add(invocation_list(invocation), MSG_OPERATOR_FAILED, (struct span){0}, function,
                   invocation->callee->name, akg_status_text(status));
    return AKG_ERROR_CALL;
}

static akg_status native_infer(akg_invocation *invocation)
{
    const struct native *native = invocation->native;
    const akg_tensor *like;
    akg_status status = AKG_OK;

    if (native->infer) {
        status = native_failed(invocation, native->infer(invocation), "infer");
        for (size_t i = 0; status == AKG_OK && i < invocation->output_tensor_count; i++)
            if (!invocation->is_described[i]) {
                diagnostic_add(invocation_list(invocation), MSG_OPERATOR_INFER, (struct span){0},
                               invocation->callee->name);
                return AKG_ERROR_CALL;
            }
        return status;
    }
    for (size_t i = 0; i < invocation->output_tensor_count; i++)
        invocation->is_described[i] =
            invocation_describe(invocation, native->like, 0, &invocation->descriptions[i], &like);
    return AKG_OK;
}

/* ---- memory ------------------------------------------------------------------------------------ */

static const char *native_output_name_of(const akg_invocation *invocation, size_t tensor)
{
    int i = 0;

    while (tensor >= invocation->outputs[i].first + invocation->outputs[i].count)
        i++;
    return invocation->native->outputs[i].name;
}

static akg_status native_refuse_output(akg_invocation *invocation, size_t index, const char *why)
{
    diagnostic_add(invocation_list(invocation), MSG_CALL_OUTPUT, (struct span){0},
                   native_output_name_of(invocation, index), why);
    return AKG_ERROR_CALL;
}

/* The caller's own tensor for an output. */
static akg_status native_take_output(akg_invocation *invocation, size_t index, akg_tensor *const *outputs)
{
    const akg_description *needed = &invocation->descriptions[index];
    akg_tensor *given = outputs[index];

    char text[TENSOR_UNLIKE_TEXT];
    const char *unlike =
        tensor_unlike(given, needed->dtype, needed->rank, needed->shape, invocation->gpu, text);

    if (unlike)
        return native_refuse_output(invocation, index, unlike);
    for (size_t i = 0; i < invocation->input_tensor_count; i++)
        if (overlap_between(given, invocation->input_tensors[i]))
            return native_refuse_output(invocation, index, "shares memory with an input");
    for (size_t i = 0; i < index; i++)
        if (outputs[i] && overlap_between(given, outputs[i]))
            return native_refuse_output(invocation, index, "shares memory with another output");
    return AKG_OK;
}

static akg_status native_check_outputs(akg_invocation *invocation, akg_tensor *const *outputs)
{
    akg_status status = AKG_OK;

    for (size_t i = 0; status == AKG_OK && i < invocation->output_tensor_count; i++)
        if (outputs[i])
            status = native_take_output(invocation, i, outputs);
    return status;
}

/* From here on the invocation owns a reference to each of its output tensors. */
static akg_status native_make_outputs(akg_invocation *invocation, akg_tensor *const *outputs)
{
    struct gpu_failure failure = {0};
    akg_status status = AKG_OK;

    for (size_t i = 0; status == AKG_OK && i < invocation->output_tensor_count; i++) {
        const akg_description *needed = &invocation->descriptions[i];
        if (outputs[i])
            invocation->output_tensors[i] = akg_tensor_retain(outputs[i]);
        else
            status = tensor_allocate_on(invocation->gpu, needed->dtype, needed->rank, needed->shape, false,
                                        &invocation->output_tensors[i], &failure);
    }
    if (failure.status != AKG_OK)
        gpu_failure_add(&failure, invocation_list(invocation), (struct span){0});
    return status;
}

static bool native_is_empty(const akg_invocation *invocation)
{
    for (size_t i = 0; i < invocation->output_tensor_count; i++)
        if (invocation->output_tensors[i]->element_count > 0)
            return false;
    return invocation->output_tensor_count > 0;
}

/* ---- running --------------------------------------------------------------------------------------- */

/* With scratch memory on the device. */
static akg_status native_compute_there(akg_invocation *invocation, const akg_kernel_definition *kernel,
                                       size_t size)
{
    struct gpu_failure failure = {0};
    struct gpu_block *block;
    akg_status status = gpu_allocate(invocation->gpu, size, &block, &invocation->scratch, &failure);

    if (status != AKG_OK)
        return gpu_failure_add(&failure, invocation_list(invocation), (struct span){0});
    status = native_failed(invocation, kernel->compute(invocation), kernel->name);
    gpu_free(block);
    invocation->scratch = NULL;
    return status;
}

static akg_status native_compute(akg_invocation *invocation, const akg_kernel_definition *kernel)
{
    akg_registry *registry = invocation->callee->registry;
    size_t size = kernel->scratch_size ? kernel->scratch_size(invocation) : 0;
    akg_status status;

    if (kernel->scratch_size && invocation->gpu)
        return native_compute_there(invocation, kernel, size);
    if (kernel->scratch_size) {
        invocation->scratch = registry_take_scratch(registry, size);
        if (!invocation->scratch)
            return AKG_ERROR_MEMORY;
    }
    status = native_failed(invocation, kernel->compute(invocation), kernel->name);
    registry_give_scratch(registry, invocation->scratch);
    invocation->scratch = NULL;
    return status;
}

/* The kernel on inputs as it takes them: copies stand in for those that are not contiguous while it runs. */
static akg_status native_run(akg_invocation *invocation, const akg_kernel_definition *kernel)
{
    akg_tensor **given = invocation->input_tensors, **taken;
    size_t count = invocation->input_tensor_count;
    akg_status status = AKG_OK;

    if (native_is_empty(invocation) && !kernel->always_compute)
        return AKG_OK;
    for (size_t i = 0; i < invocation->output_tensor_count; i++)
        tensor_mark_written(invocation->output_tensors[i]);
    if (kernel->strided)
        return native_compute(invocation, kernel);
    taken = memory_zeroed(count, sizeof(akg_tensor *));
    if (!taken)
        return AKG_ERROR_MEMORY;
    for (size_t i = 0; status == AKG_OK && i < count; i++)
        status = given[i]->contiguous ? (taken[i] = akg_tensor_retain(given[i]), AKG_OK)
                                      : akg_tensor_copy(given[i], &taken[i]);
    invocation->input_tensors = taken;
    if (status == AKG_OK)
        status = native_compute(invocation, kernel);
    invocation->input_tensors = given;
    for (size_t i = 0; i < count; i++)
        akg_tensor_release(taken[i]);
    memory_free(taken);
    return status;
}

static bool native_describe(const void *context, int operand, size_t index, akg_description *description,
                            const akg_tensor **tensor)
{
    return invocation_describe(context, operand, index, description, tensor);
}

static akg_status native_check_info(akg_invocation *invocation)
{
    struct info_call call = {.callee = invocation->callee,
                             .device = invocation->device.kind,
                             .given = invocation->info,
                             .describe = native_describe,
                             .context = invocation};

    if (info_is_silent(&call))
        return AKG_OK;
    return info_check(&call, invocation_list(invocation));
}

/* All inputs must lie in one place. */
static akg_status native_find_device(akg_invocation *invocation)
{
    akg_tensor *const *inputs = invocation->input_tensors;
    char here[32], there[32];

    for (size_t i = 0; i < invocation->input_tensor_count; i++) {
        if (inputs[i]->device == inputs[0]->device)
            continue;
        diagnostic_add(invocation_list(invocation), MSG_DEVICES_DIFFER, (struct span){0},
                       invocation->callee->name, tensor_device_name(inputs[0], here),
                       tensor_device_name(inputs[i], there));
        return AKG_ERROR_CALL;
    }
    invocation->gpu = invocation->input_tensor_count ? inputs[0]->device : NULL;
    return AKG_OK;
}

/* Everything up to the outputs themselves. */
static akg_status native_prepare(akg_invocation *invocation, const akg_argument *arguments, size_t count,
                                 const struct native_kernel **kernel)
{
    akg_status status = invocation_bind(invocation, arguments, count);

    if (status == AKG_OK)
        status = native_find_device(invocation);
    if (status == AKG_OK && invocation->native->check)
        status = native_failed(invocation, invocation->native->check(invocation), "check");
    if (status == AKG_OK)
        status = native_infer(invocation);
    if (status == AKG_OK)
        status = native_check_info(invocation);
    if (status == AKG_OK && !(*kernel = native_select(invocation)))
        status = AKG_ERROR_CALL;
    return status;
}

static void native_hand_out(akg_invocation *invocation, akg_tensor **outputs)
{
    for (size_t i = 0; i < invocation->output_tensor_count; i++)
        if (!outputs[i]) {
            outputs[i] = invocation->output_tensors[i];
            invocation->output_tensors[i] = NULL;
        }
}

static akg_status native_call(akg_operator *callee, const struct operator_place *place,
                              const akg_argument *arguments, size_t count, akg_tensor **outputs,
                              akg_diagnostics **diagnostics)
{
    akg_invocation invocation = {
        .callee = callee, .native = callee->native, .device = place->device, .info = place->info};
    const struct native_kernel *kernel = NULL;
    akg_status status;

    arena_init(&invocation.arena, NULL);
    status = native_prepare(&invocation, arguments, count, &kernel);
    if (status == AKG_OK)
        status = native_check_outputs(&invocation, outputs);
    if (status == AKG_OK)
        status = native_make_outputs(&invocation, outputs);
    if (status == AKG_OK)
        status = native_run(&invocation, &kernel->about);
    if (status == AKG_OK)
        native_hand_out(&invocation, outputs);
    for (size_t i = 0; invocation.output_tensors && i < invocation.output_tensor_count; i++)
        akg_tensor_release(invocation.output_tensors[i]);
    arena_free(&invocation.arena);
    if (status != AKG_OK)
        invocation_list(&invocation);
    return operator_finish(invocation.list, status, diagnostics);
}

/* ---- questions --------------------------------------------------------------------------------- */

static size_t native_parameter_count(const akg_operator *callee)
{
    return (size_t)callee->native->input_count + (size_t)callee->native->attribute_count;
}

static bool native_parameter(const akg_operator *callee, size_t index, akg_parameter *parameter)
{
    const struct native *native = callee->native;
    size_t inputs = (size_t)native->input_count;

    *parameter = (akg_parameter){.dtype = AKG_DTYPE_COUNT, .rank = -1};
    if (index < inputs) {
        const akg_operand *input = &native->inputs[index];
        parameter->name = input->name;
        parameter->kind =
            input->count == 1 && !input->at_least ? AKG_PARAMETER_TENSOR : AKG_PARAMETER_VARIADIC;
        parameter->optional = input->optional;
        return true;
    }
    if (index - inputs >= (size_t)native->attribute_count)
        return false;
    parameter->name = native->attributes[index - inputs].name;
    parameter->kind = AKG_PARAMETER_ATTRIBUTE;
    parameter->optional = native->attributes[index - inputs].initial != NULL;
    return true;
}

static bool native_initial(const akg_operator *callee, size_t index, struct arena *arena, akg_argument *value)
{
    const akg_argument *initial =
        callee->native->attributes[index - (size_t)callee->native->input_count].initial;

    if (initial)
        *value = attribute_copy(arena, initial);
    return initial != NULL;
}

static size_t native_output_count(const akg_operator *callee)
{
    return (size_t)callee->native->output_count;
}

static const char *native_output_name(const akg_operator *callee, size_t index)
{
    return index < native_output_count(callee) ? callee->native->outputs[index].name : NULL;
}

size_t native_output_least(const akg_operator *callee, size_t index)
{
    const akg_operand *output = callee->native ? &callee->native->outputs[index] : NULL;

    return !output ? 1 : output->optional ? 0 : output->count;
}

bool native_output_is_one(const akg_operator *callee, size_t index)
{
    const akg_operand *output = callee->native ? &callee->native->outputs[index] : NULL;

    return !output || (output->count == 1 && !output->at_least);
}

static void native_release(akg_operator *callee)
{
    (void)callee; /* everything lies in arenas of registrations */
}

const struct operator_kind native_kind = {
    .call = native_call,
    .parameter_count = native_parameter_count,
    .parameter = native_parameter,
    .initial = native_initial,
    .output_count = native_output_count,
    .output_name = native_output_name,
    .release = native_release,
};
