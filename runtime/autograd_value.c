/*
 * autograd_value.c: akg_value_and_grad: a computation, its values and their gradients in one call.
 *
 * The inputs to differentiate by are handed to the net as aliases that require gradients, so that those of
 * the caller need not and stay as they are.
 */
#include "autograd.h"

#include "../base/memory.h"

#include <stdio.h>

struct value_run {
    const akg_value_and_grad_request *request;
    akg_tensor **inputs;    /* what the net is given: aliases at the positions */
    akg_tensor **outputs;   /* of the net */
    akg_tensor **variables; /* the aliases, then the parameters: borrowed */
    akg_tensor **gradients; /* of the variables */
    akg_diagnostics **diagnostics;
};

static bool request_is_usable(const akg_value_and_grad_request *request)
{
    if (!request || !request->net || (request->input_count && !request->inputs) ||
        (request->position_count && !request->positions) ||
        (request->parameter_count && !request->parameters))
        return false;
    for (size_t i = 0; i < request->input_count; i++)
        if (!request->inputs[i])
            return false;
    for (size_t i = 0; i < request->position_count; i++)
        if (request->positions[i] >= request->input_count)
            return false;
    for (size_t i = 0; i < request->parameter_count; i++)
        if (!request->parameters[i])
            return false;
    return true;
}

static bool run_begin(struct value_run *run)
{
    const akg_value_and_grad_request *request = run->request;
    size_t variables = request->position_count + request->parameter_count;

    run->inputs =
        memory_zeroed(request->input_count + request->output_count + 2 * variables + 1, sizeof(akg_tensor *));
    if (!run->inputs)
        return false;
    run->outputs = run->inputs + request->input_count;
    run->variables = run->outputs + request->output_count;
    run->gradients = run->variables + variables;
    for (size_t i = 0; i < request->input_count; i++)
        run->inputs[i] = akg_tensor_retain(request->inputs[i]);
    return true;
}

static void run_end(struct value_run *run)
{
    const akg_value_and_grad_request *request = run->request;

    if (!run->inputs)
        return;
    autograd_release_tensors(run->inputs, request->input_count);
    autograd_release_tensors(run->outputs, request->output_count);
    autograd_release_tensors(run->gradients, request->position_count + request->parameter_count);
    memory_free(run->inputs);
}

/* A position that is named twice has one alias. */
static akg_status make_variables(struct value_run *run)
{
    const akg_value_and_grad_request *request = run->request;
    akg_status status = AKG_OK;

    for (size_t i = 0; i < request->position_count && status == AKG_OK; i++) {
        akg_tensor **input = &run->inputs[request->positions[i]], *alias = NULL;
        if (*input == request->inputs[request->positions[i]]) {
            status = tensor_alias(*input, &alias);
            if (status == AKG_OK) {
                akg_tensor_release(*input);
                *input = alias;
                status = akg_tensor_set_requires_grad(alias, true, run->diagnostics);
            }
        }
        run->variables[i] = *input;
    }
    for (size_t i = 0; i < request->parameter_count && status == AKG_OK; i++) {
        char place[32];
        snprintf(place, sizeof place, "parameter %zu", i);
        run->variables[request->position_count + i] = request->parameters[i];
        if (!request->parameters[i]->node)
            status = failure_report(run->diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_NOT_NEEDED, place, NULL,
                                    NULL, "help: akg_tensor_set_requires_grad, before it is used");
    }
    return status;
}

static akg_status check_outputs(const struct value_run *run)
{
    for (size_t i = 0; i < run->request->output_count; i++)
        if (!run->outputs[i])
            return failure_report(run->diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_NO_VALUE, NULL, NULL, NULL,
                                  NULL);
    return AKG_OK;
}

/* Outputs that depend on nothing wanted are left out: they are no error here, their gradient is zero. */
static akg_status differentiate(struct value_run *run, akg_tape *tape)
{
    const akg_value_and_grad_request *request = run->request;
    size_t variables = request->position_count + request->parameter_count, count = 0;
    akg_tensor **roots = memory_allocate((request->output_count + 1) * sizeof *roots);

    if (!roots)
        return AKG_ERROR_MEMORY;
    for (size_t i = 0; i < request->output_count; i++)
        if (run->outputs[i]->node)
            roots[count++] = run->outputs[i];
    akg_status status = akg_gradients(tape, roots, NULL, count, run->variables, variables, NULL,
                                      run->gradients, run->diagnostics);
    memory_free(roots);
    for (size_t i = 0; i < variables && status == AKG_OK; i++) {
        const akg_tensor *variable = run->variables[i];
        if (!run->gradients[i])
            status = autograd_filled(tape, &variable->node->outputs[variable->output], 0, &run->gradients[i],
                                     run->diagnostics);
    }
    return status;
}

/* The values without history: it is used up, and the aliases are nobody else's business. */
static akg_status detach_values(struct value_run *run)
{
    akg_status status = AKG_OK;

    for (size_t i = 0; i < run->request->output_count && status == AKG_OK; i++) {
        akg_tensor *plain;
        if (!run->outputs[i]->node)
            continue;
        status = tensor_alias(run->outputs[i], &plain);
        if (status != AKG_OK)
            continue;
        akg_tensor_release(run->outputs[i]);
        run->outputs[i] = plain;
    }
    return status;
}

static void clear(akg_tensor **tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tensors[i] = NULL;
}

static void move(akg_tensor **to, akg_tensor **from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        from[i] = NULL;
    }
}

static akg_status run_all(struct value_run *run, akg_tape *tape)
{
    akg_status status = run_begin(run) ? make_variables(run) : AKG_ERROR_MEMORY;
    bool recording = tape->recording;

    if (status != AKG_OK)
        return status;
    tape->recording = true;
    status = run->request->net(tape, run->request->user, run->inputs, run->request->input_count, run->outputs,
                               run->diagnostics);
    tape->recording = recording;
    if (status == AKG_OK)
        status = check_outputs(run);
    if (status == AKG_OK)
        status = differentiate(run, tape);
    return status == AKG_OK ? detach_values(run) : status;
}

akg_status akg_value_and_grad(akg_tape *tape, const akg_value_and_grad_request *request, akg_tensor **values,
                              akg_tensor **input_gradients, akg_tensor **parameter_gradients,
                              akg_diagnostics **diagnostics)
{
    struct value_run run = {.request = request, .diagnostics = diagnostics};

    if (diagnostics)
        *diagnostics = NULL;
    if (!tape || !request_is_usable(request) || (request->output_count && !values) ||
        (request->position_count && !input_gradients) || (request->parameter_count && !parameter_gradients))
        return AKG_ERROR_USAGE;
    clear(values, request->output_count);
    clear(input_gradients, request->position_count);
    clear(parameter_gradients, request->parameter_count);
    akg_status status = run_all(&run, tape);
    if (status == AKG_OK) {
        move(values, run.outputs, request->output_count);
        move(input_gradients, run.gradients, request->position_count);
        move(parameter_gradients, run.gradients + request->position_count, request->parameter_count);
    }
    run_end(&run);
    return autograd_finish(status, diagnostics);
}
