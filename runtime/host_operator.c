/*
 * host_operator.c: host functions as operators: akg_host_operator_call.
 *
 * The node saves just those inputs and outputs that backward is to be given; its state is the caller's
 * struct, which lives as long.
 */
#include "autograd.h"

#include "../base/memory.h"

#include <stdio.h>

/* Tensors that backward is given, saved ones and gradients, in its order. */
static akg_status gather_arguments(const struct autograd_step *step, akg_tensor **arguments,
                                   akg_diagnostics **diagnostics)
{
    size_t saved = autograd_saved_count(step);
    akg_status status = AKG_OK;

    for (size_t i = 0; i < saved && status == AKG_OK; i++)
        status = autograd_saved(step, i, &arguments[i], diagnostics);
    for (int i = 0; i < step->node->output_count; i++)
        arguments[saved + (size_t)i] = akg_tensor_retain(step->output_gradients[i]);
    return status;
}

static akg_status host_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                akg_diagnostics **diagnostics)
{
    const akg_host_operator *host = step->state;
    size_t count = autograd_saved_count(step) + host->output_count;
    akg_tensor **arguments = memory_zeroed(count, sizeof *arguments);

    if (!arguments)
        return AKG_ERROR_MEMORY;
    akg_status status = gather_arguments(step, arguments, diagnostics);
    if (status == AKG_OK)
        status = host->backward(host->user, arguments, count, input_gradients, diagnostics);
    autograd_release_tensors(arguments, count);
    memory_free(arguments);
    return status;
}

static const struct autograd_operation host_operation = {host_backward, NULL};

static bool is_skipped(const akg_host_operator *host, size_t position)
{
    for (size_t i = 0; i < host->skip_count; i++)
        if (host->skip[i] == position)
            return true;
    return false;
}

static akg_status host_record(akg_tape *tape, const akg_host_operator *host, akg_tensor *const *inputs,
                              akg_tensor *const *outputs)
{
    size_t most = host->input_count + host->output_count, count = 0;
    akg_tensor **saved = memory_allocate((most + 1) * sizeof *saved);

    if (!saved)
        return AKG_ERROR_MEMORY;
    for (size_t i = 0; i < most; i++)
        if (!is_skipped(host, i))
            saved[count++] = i < host->input_count ? inputs[i] : outputs[i - host->input_count];
    struct autograd_record record = {.operation = &host_operation,
                                     .name = host->name,
                                     .state = (void *)host,
                                     .inputs = inputs,
                                     .input_count = host->input_count,
                                     .outputs = outputs,
                                     .output_count = host->output_count,
                                     .saved = saved,
                                     .saved_count = count};
    akg_status status = autograd_record(tape, &record);
    memory_free(saved);
    return status;
}

static bool host_is_usable(const akg_host_operator *host, akg_tensor *const *inputs,
                           akg_tensor *const *outputs)
{
    if (!host || !host->name || !host->forward || (host->input_count && !inputs) ||
        (host->output_count && !outputs) || (host->skip_count && !host->skip))
        return false;
    for (size_t i = 0; i < host->input_count; i++)
        if (!inputs[i])
            return false;
    return true;
}

static akg_status check_skips(const akg_host_operator *host, akg_diagnostics **diagnostics)
{
    char position[24], has[80];

    for (size_t i = 0; i < host->skip_count; i++) {
        if (host->skip[i] < host->input_count + host->output_count)
            continue;
        snprintf(position, sizeof position, "%zu", host->skip[i]);
        snprintf(has, sizeof has, "%zu inputs and %zu outputs", host->input_count, host->output_count);
        return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_HOST_SKIP, host->name, position, has,
                              "note: gradients of outputs cannot be skipped");
    }
    return AKG_OK;
}

akg_status akg_host_operator_call(akg_tape *tape, const akg_host_operator *host_operator,
                                  akg_tensor *const *inputs, akg_tensor **outputs,
                                  akg_diagnostics **diagnostics)
{
    const akg_host_operator *host = host_operator;

    if (diagnostics)
        *diagnostics = NULL;
    if (!tape || !host_is_usable(host, inputs, outputs))
        return AKG_ERROR_USAGE;
    for (size_t i = 0; i < host->output_count; i++)
        outputs[i] = NULL;
    akg_status status = check_skips(host, diagnostics);
    if (status == AKG_OK && tape->graph)
        status = failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_NO_STEP, host->name,
                                "a host function runs only where its inputs are", NULL, NULL);
    if (status != AKG_OK)
        return status;
    bool recording = akg_tape_set_recording(tape, false);
    status = host->forward(host->user, inputs, outputs, diagnostics);
    akg_tape_set_recording(tape, recording);
    if (status == AKG_OK)
        status = autograd_separate_outputs(inputs, NULL, host->input_count, outputs, host->output_count);
    if (status == AKG_OK && host->backward && autograd_is_needed(tape, inputs, host->input_count))
        status = host_record(tape, host, inputs, outputs);
    if (status != AKG_OK)
        autograd_release_tensors(outputs, host->output_count);
    return autograd_finish(status, diagnostics);
}
