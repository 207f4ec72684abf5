/*
 * operator.c: what can be asked of an operator, and akg_call: the part that every kind of operator shares.
 */
#include "operator.h"

#include <stdio.h>

#include "call.h"
#include "failure.h"
#include "operator_gradient.h"
#include "tensor.h"

const char *akg_operator_name(const akg_operator *callee)
{
    return callee ? callee->name : NULL;
}

const char *akg_operator_documentation(const akg_operator *callee)
{
    return callee ? callee->documentation : NULL;
}

const char *akg_operator_origin(const akg_operator *callee)
{
    return callee ? callee->origin : NULL;
}

bool akg_operator_has_gradient(const akg_operator *callee)
{
    return callee && (callee->bprop || atomic_load(&callee->gradient));
}

akg_kernel *akg_operator_kernel(const akg_operator *callee)
{
    return callee ? callee->kernel : NULL;
}

size_t akg_operator_parameter_count(const akg_operator *callee)
{
    return callee ? callee->kind->parameter_count(callee) : 0;
}

bool akg_operator_parameter(const akg_operator *callee, size_t index, akg_parameter *parameter)
{
    return callee && parameter && callee->kind->parameter(callee, index, parameter);
}

size_t akg_operator_output_count(const akg_operator *callee)
{
    return callee ? callee->kind->output_count(callee) : 0;
}

const char *akg_operator_output_name(const akg_operator *callee, size_t index)
{
    return callee ? callee->kind->output_name(callee, index) : NULL;
}

/* A call whose gradient is not the business of its kind: runs it unrecorded, then records it. */
static akg_status operator_call_recorded(akg_operator *callee, const struct operator_place *place,
                                         const akg_argument *arguments, size_t count, akg_tensor **outputs,
                                         akg_diagnostics **diagnostics)
{
    struct operator_place unrecorded = {.tape = place->tape, .device = place->device, .info = place->info};
    size_t output_count = gradient_output_count(callee, arguments, count);
    akg_tensor **made = memory_zeroed(output_count, sizeof(akg_tensor *));
    akg_status status = made ? AKG_OK : AKG_ERROR_MEMORY;

    for (size_t i = 0; made && i < output_count; i++)
        made[i] = outputs[i];
    akg_tape_set_recording(place->tape, false); /* it is, or this would not be called */
    if (status == AKG_OK)
        status = callee->kind->call(callee, &unrecorded, arguments, count, made, diagnostics);
    akg_tape_set_recording(place->tape, true);
    if (status == AKG_OK)
        status = gradient_record(callee, place->tape, arguments, count, made, diagnostics);
    for (size_t i = 0; made && i < output_count; i++) {
        if (status == AKG_OK)
            outputs[i] = made[i];
        else if (!outputs[i])
            akg_tensor_release(made[i]);
    }
    memory_free(made);
    return status;
}

/* The first tensor among the arguments, or NULL. */
static const akg_tensor *operator_first_tensor(const akg_argument *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].kind == AKG_ARGUMENT_TENSOR)
            return arguments[i].as.tensor;
        if (arguments[i].kind == AKG_ARGUMENT_TENSORS && arguments[i].as.tensors.count)
            return arguments[i].as.tensors.items[0];
    }
    return NULL;
}

/* A call runs where its tensors lie: whoever asks for another device is told so. */
static akg_status operator_find_device(const akg_operator *callee, struct operator_place *place,
                                       const akg_argument *arguments, size_t count,
                                       akg_diagnostics **diagnostics)
{
    const akg_tensor *first = operator_first_tensor(arguments, count);
    akg_device device = akg_tensor_device(first);
    char asked[32], there[32], note[96];

    if (place->device_is_open) {
        place->device = (struct device){(enum device_kind)device.kind, device.index};
        place->device_is_open = false;
    }
    if (place->device.kind == (enum device_kind)device.kind && place->device.index == device.index)
        return AKG_OK;
    snprintf(asked, sizeof asked, "%s:%d", device_name(place->device.kind), place->device.index);
    snprintf(note, sizeof note, "note: its tensors lie on '%s', and that is where it can run",
             first ? tensor_device_name(first, there) : "cpu");
    return failure_report(diagnostics, AKG_ERROR_CALL, MSG_DEVICE_ABSENT, asked, callee->name, NULL, note);
}

static bool operator_takes(const akg_argument *arguments, size_t count, const akg_tensor *tensor)
{
    for (size_t i = 0; i < count; i++)
        if (arguments[i].kind == AKG_ARGUMENT_TENSOR && arguments[i].as.tensor == tensor)
            return true;
    return false;
}

/* What is given to be written is no leaf; of arguments the call says more. */
static akg_status operator_check_given(const akg_operator *callee, const struct operator_place *place,
                                       const akg_argument *arguments, size_t count,
                                       akg_tensor *const *outputs, akg_diagnostics **diagnostics)
{
    size_t output_count = gradient_output_count(callee, arguments, count);
    akg_status status = AKG_OK;

    for (size_t i = 0; status == AKG_OK && i < output_count; i++)
        if (outputs[i] && !operator_takes(arguments, count, outputs[i]))
            status = autograd_check_write(place->tape, outputs[i], callee->name, diagnostics);
    return status;
}

/* A call through which no gradient flows, of a tape that records: what was given to be written has none
 * either, whatever it held before. */
static akg_status operator_call_constant(akg_operator *callee, const struct operator_place *place,
                                         const akg_argument *arguments, size_t count, akg_tensor **outputs,
                                         akg_diagnostics **diagnostics)
{
    size_t output_count = gradient_output_count(callee, arguments, count);
    akg_status status = callee->kind->call(callee, place, arguments, count, outputs, diagnostics);

    for (size_t i = 0; status == AKG_OK && i < output_count; i++)
        if (outputs[i] && outputs[i]->node)
            autograd_attach(outputs[i], NULL, 0);
    return status;
}

akg_status operator_call(akg_operator *callee, struct operator_place *place, const akg_argument *arguments,
                         size_t count, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_status status = operator_find_device(callee, place, arguments, count, diagnostics);

    if (status != AKG_OK)
        return status;
    if (callee->native && place->tape && place->tape->graph)
        return failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_NO_STEP, callee->name,
                              "it is written in C", NULL, NULL);
    if (!place->tape || !place->tape->recording)
        return callee->kind->call(callee, place, arguments, count, outputs, diagnostics);
    status = operator_check_given(callee, place, arguments, count, outputs, diagnostics);
    if (status != AKG_OK)
        return status;
    if (!gradient_is_needed(place->tape, arguments, count))
        return operator_call_constant(callee, place, arguments, count, outputs, diagnostics);
    if (callee->native || atomic_load(&callee->gradient))
        return operator_call_recorded(callee, place, arguments, count, outputs, diagnostics);
    return callee->kind->call(callee, place, arguments, count, outputs, diagnostics);
}

akg_status akg_call(akg_tape *tape, akg_operator *callee, const akg_argument *arguments,
                    size_t argument_count, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    struct operator_place place = {.tape = tape, .device_is_open = true};

    if (diagnostics)
        *diagnostics = NULL;
    if (!callee || (!outputs && akg_operator_output_count(callee) > 0) ||
        !call_arguments_are_there(arguments, argument_count))
        return AKG_ERROR_USAGE;
    return operator_call(callee, &place, arguments, argument_count, outputs, diagnostics);
}

akg_status operator_finish(akg_diagnostics *list, akg_status status, akg_diagnostics **diagnostics)
{
    if (status != AKG_OK && (!list || diagnostics_lost_some(list)))
        status = AKG_ERROR_MEMORY;
    if (status == AKG_ERROR_MEMORY && list && akg_diagnostics_error_count(list) == 0)
        diagnostic_add(list, MSG_MEMORY, (struct span){0});
    if (status == AKG_OK && diagnostics)
        *diagnostics = NULL;
    if (status == AKG_OK)
        akg_diagnostics_free(list);
    else if (list)
        diagnostics_hand_over(list, diagnostics);
    return status;
}
