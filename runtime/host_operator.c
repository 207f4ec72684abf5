/*
 * host_operator.c: host functions as operators: akg_host_operator_call.
 *
 * The node saves just those inputs and outputs that backward is to be given; its state is the caller's
 * struct, which lives as long. While a graph is recorded forward and backward are put down, not run.
 */
#include "autograd.h"
#include "recording.h"

#include "../base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- in a recording ----------------------------------------------------------------------------------- */

static void describe(const akg_tensor *tensor, akg_description *form)
{
    form->dtype = tensor->dtype;
    form->rank = tensor->rank;
    memcpy(form->shape, tensor->dims, sizeof *form->shape * (size_t)tensor->rank);
}

static bool is_form(const akg_description *form)
{
    int64_t count;

    return tensor_size_is_valid(form->dtype, form->rank, form->shape, &count);
}

/* Asks the operator what its outputs will be. `forms` and `inputs` are rooms for that. */
static akg_status host_infer(const akg_host_operator *host, akg_tensor *const *inputs, akg_description *room,
                             struct recorded_form *forms, akg_diagnostics **diagnostics)
{
    akg_description *outputs = room + host->input_count;
    akg_status status;

    for (size_t i = 0; i < host->input_count; i++)
        describe(inputs[i], &room[i]);
    status = host->infer(host->user, room, outputs);
    for (size_t i = 0; i < host->output_count && status == AKG_OK; i++) {
        if (!is_form(&outputs[i]))
            status = failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_NO_STEP, host->name,
                                    "infer describes no tensor", NULL, NULL);
        forms[i] = (struct recorded_form){true, outputs[i], -1};
    }
    return status;
}

static akg_status host_put_down(akg_tape *tape, const akg_host_operator *host, akg_tensor *const *inputs,
                                akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_description *room;
    struct recorded_form *forms;
    akg_status status = AKG_ERROR_MEMORY;

    if (!host->infer && host->output_count)
        return failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_NO_STEP, host->name,
                              "nothing says what its outputs will be", NULL,
                              "help: give the host operator a function `infer`");
    room = memory_zeroed(host->input_count + host->output_count + 1, sizeof *room);
    forms = memory_zeroed(host->output_count + 1, sizeof *forms);
    if (room && forms)
        status = host->output_count ? host_infer(host, inputs, room, forms, diagnostics) : AKG_OK;
    if (status == AKG_OK)
        status = recording_host(tape->graph, host, false, inputs, host->input_count, forms, outputs,
                                host->output_count);
    memory_free(room);
    memory_free(forms);
    return status;
}

/* Gradients have the forms of the inputs. */
static akg_status host_put_down_backward(const struct autograd_step *step, akg_tensor *const *arguments,
                                         size_t count, akg_tensor **input_gradients)
{
    const akg_host_operator *host = step->state;
    struct recorded_form *forms = memory_zeroed(host->input_count + 1, sizeof *forms);
    akg_status status;

    if (!forms)
        return AKG_ERROR_MEMORY;
    for (size_t i = 0; i < host->input_count; i++) {
        const struct autograd_edge *edge = &step->node->edges[i];
        const struct autograd_output *output = edge->node ? &edge->node->outputs[edge->output] : NULL;
        if (!output || !step->needed[i])
            continue;
        forms[i] = (struct recorded_form){true, {output->dtype, output->rank, {0}}, output->recorded};
        memcpy(forms[i].form.shape, output->dims, sizeof(int64_t) * (size_t)output->rank);
    }
    status = recording_host(step->tape->graph, host, true, arguments, count, forms, input_gradients,
                            host->input_count);
    memory_free(forms);
    return status;
}

/* ---- backward ----------------------------------------------------------------------------------------- */

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
    if (status == AKG_OK && step->tape->graph)
        status = host_put_down_backward(step, arguments, count, input_gradients);
    else if (status == AKG_OK)
        status = host->backward(host->user, arguments, count, input_gradients, diagnostics);
    autograd_release_tensors(arguments, count);
    memory_free(arguments);
    return status;
}

static const struct autograd_operation host_operation = {host_backward, NULL};

/* ---- the call ----------------------------------------------------------------------------------------- */

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

static akg_status host_run(akg_tape *tape, const akg_host_operator *host, akg_tensor *const *inputs,
                           akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    bool recording = akg_tape_set_recording(tape, false);
    akg_status status = host->forward(host->user, inputs, outputs, diagnostics);

    akg_tape_set_recording(tape, recording);
    return status == AKG_OK
               ? autograd_separate_outputs(inputs, NULL, host->input_count, outputs, host->output_count)
               : status;
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
    if (status != AKG_OK)
        return status;
    status = tape->graph ? host_put_down(tape, host, inputs, outputs, diagnostics)
                         : host_run(tape, host, inputs, outputs, diagnostics);
    if (status == AKG_OK && host->backward && autograd_is_needed(tape, inputs, host->input_count))
        status = host_record(tape, host, inputs, outputs);
    if (status != AKG_OK)
        autograd_release_tensors(outputs, host->output_count);
    return autograd_finish(status, diagnostics);
}
