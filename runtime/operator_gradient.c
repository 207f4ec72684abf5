/*
 * operator_gradient.c: gradients of operators that are given from C: registering them, recording calls with
 * them, and calling those that are functions.
 *
 * A recorded call keeps the names of its inputs and outputs, its attributes, and of its tensors those that
 * the gradient reads; a function may read all.
 */
#include "operator_gradient.h"

#include <stdio.h>
#include <string.h>

#include "call.h"
#include "failure.h"
#include "operator_native.h"

/* ---- registering ---------------------------------------------------------------------------------- */

bool gradient_refuse_second(const akg_operator *callee, akg_diagnostics *list)
{
    diagnostic_add(list, MSG_GRADIENT_TWICE, (struct span){0}, callee->name);
    return false;
}

/* Parameters that are no attributes. */
static size_t gradient_input_count(const akg_operator *callee)
{
    akg_parameter parameter;
    size_t count = 0;

    for (size_t i = 0; akg_operator_parameter(callee, i, &parameter); i++)
        count += parameter.kind != AKG_PARAMETER_ATTRIBUTE;
    return count;
}

static bool bprop_arity_fits(const akg_operator *callee, const akg_bprop *bprop, akg_diagnostics *list)
{
    size_t inputs = gradient_input_count(callee);
    char takes[24], needs[64];

    if (bprop->parameter_count != inputs + 2) {
        snprintf(takes, sizeof takes, "%zu", bprop->parameter_count);
        snprintf(needs, sizeof needs, "%zu", inputs + 2);
        diagnostic_note(diagnostic_add(list, MSG_BPROP_ARITY, (struct span){0}, callee->name, takes, needs),
                        "note: the inputs in order, then the outputs, then their gradients");
        return false;
    }
    if (bprop->result_count == inputs)
        return true;
    snprintf(needs, sizeof needs, "%zu gradients, one for each input, not %zu", inputs, bprop->result_count);
    diagnostic_add(list, MSG_BPROP_RESULT, (struct span){0}, callee->name, needs);
    return false;
}

static akg_status gradient_fill(struct registration_batch *batch, struct registration *registration,
                                const void *source)
{
    const struct operator_gradient *from = source;
    struct operator_gradient *gradient;

    if (!from->build && !bprop_arity_fits(registration->target, &from->bprop, registration_list(batch)))
        return AKG_ERROR_USAGE;
    gradient = arena_new(&registration->arena, struct operator_gradient);
    *gradient = *from;
    registration->gain.gradient = gradient;
    return AKG_OK;
}

akg_status akg_operator_set_bprop(akg_registry *registry, const char *name, const akg_bprop *bprop,
                                  akg_diagnostics **diagnostics)
{
    struct operator_gradient gradient = {.build = NULL};

    if (diagnostics)
        *diagnostics = NULL;
    if (!registry || !name || !bprop || !bprop->function)
        return AKG_ERROR_USAGE;
    gradient.bprop = *bprop;
    return registration_add_to(registry, name, REGISTER_GRADIENT, gradient_fill, &gradient, diagnostics);
}

akg_status akg_operator_set_gradient(akg_registry *registry, const char *name,
                                     void (*build)(akg_gradient *gradient), void *data,
                                     akg_diagnostics **diagnostics)
{
    struct operator_gradient gradient = {.build = build, .data = data};

    if (diagnostics)
        *diagnostics = NULL;
    if (!registry || !name || !build)
        return AKG_ERROR_USAGE;
    return registration_add_to(registry, name, REGISTER_GRADIENT, gradient_fill, &gradient, diagnostics);
}

/* ---- the call as it was made -------------------------------------------------------------------------- */

bool gradient_is_needed(const akg_tape *tape, const akg_argument *arguments, size_t count)
{
    for (size_t i = 0; tape && tape->recording && i < count; i++) {
        if (arguments[i].kind == AKG_ARGUMENT_TENSOR && autograd_is_needed(tape, &arguments[i].as.tensor, 1))
            return true;
        if (arguments[i].kind == AKG_ARGUMENT_TENSORS &&
            autograd_is_needed(tape, arguments[i].as.tensors.items, arguments[i].as.tensors.count))
            return true;
    }
    return false;
}

/* The argument of that name or, for parameter number `index`, of that place; or NULL. */
static const akg_argument *argument_of(const akg_argument *arguments, size_t count, size_t index,
                                       const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (arguments[i].name ? strcmp(arguments[i].name, name) == 0 : i == index)
            return &arguments[i];
    return NULL;
}

static size_t argument_tensor_count(const akg_argument *argument)
{
    return !argument                                ? 0
           : argument->kind == AKG_ARGUMENT_TENSORS ? argument->as.tensors.count
                                                    : argument->kind == AKG_ARGUMENT_TENSOR;
}

static void take_attribute(struct gradient_call *call, size_t index, const char *name,
                           const akg_argument *argument)
{
    akg_argument value;

    if (argument)
        value = attribute_copy(&call->arena, argument);
    else if (!call->callee->kind->initial(call->callee, index, &call->arena, &value))
        return;
    value.name = arena_copy(&call->arena, name, strlen(name));
    call->attributes[call->attribute_count++] = value;
}

/* Inputs and attributes; then tensors can be counted. */
static void take_parameters(struct gradient_call *call, const akg_argument *arguments, size_t count)
{
    size_t parameters = akg_operator_parameter_count(call->callee);
    akg_parameter parameter;

    call->inputs = arena_array(&call->arena, struct gradient_operand, parameters + 1);
    call->attributes = arena_array(&call->arena, akg_argument, parameters + 1);
    for (size_t i = 0; akg_operator_parameter(call->callee, i, &parameter); i++) {
        const akg_argument *argument = argument_of(arguments, count, i, parameter.name);
        if (parameter.kind == AKG_PARAMETER_ATTRIBUTE) {
            take_attribute(call, i, parameter.name, argument);
            continue;
        }
        call->inputs[call->input_operands++] =
            (struct gradient_operand){parameter.name, call->input_count, argument_tensor_count(argument)};
        call->input_count += argument_tensor_count(argument);
    }
}

/* How many tensors an output holds in a call that may be wrong yet. */
static size_t output_tensor_count(const akg_operator *callee, size_t index, const akg_argument *arguments,
                                  size_t count)
{
    const akg_argument *argument =
        callee->native ? argument_of(arguments, count, SIZE_MAX, akg_operator_output_name(callee, index))
                       : NULL;

    return argument && native_is_count(argument) ? (size_t)argument->as.integer
                                                 : native_output_least(callee, index);
}

size_t gradient_output_count(const akg_operator *callee, const akg_argument *arguments, size_t count)
{
    size_t total = 0;

    for (size_t i = 0; i < akg_operator_output_count(callee); i++)
        total += output_tensor_count(callee, i, arguments, count);
    return total;
}

static void take_outputs(struct gradient_call *call, const akg_argument *arguments, size_t count)
{
    size_t outputs = akg_operator_output_count(call->callee);

    call->outputs = arena_array(&call->arena, struct gradient_operand, outputs + 1);
    for (size_t i = 0; i < outputs; i++) {
        const char *name = akg_operator_output_name(call->callee, i);
        size_t tensors = output_tensor_count(call->callee, i, arguments, count);
        call->outputs[call->output_operands++] = (struct gradient_operand){name, call->output_count, tensors};
        call->output_count += tensors;
    }
}

static void take_tensors(struct gradient_call *call, const akg_argument *arguments, size_t count,
                         akg_tensor *const *outputs)
{
    akg_tensor **to;
    akg_parameter parameter;

    to = call->tensors = arena_array(&call->arena, akg_tensor *, call->input_count + call->output_count + 1);
    for (size_t i = 0; akg_operator_parameter(call->callee, i, &parameter); i++) {
        const akg_argument *argument = argument_of(arguments, count, i, parameter.name);
        if (parameter.kind == AKG_PARAMETER_ATTRIBUTE || !argument)
            continue;
        if (argument->kind == AKG_ARGUMENT_TENSOR)
            *to++ = argument->as.tensor;
        for (size_t k = 0; argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            *to++ = argument->as.tensors.items[k];
    }
    for (size_t i = 0; i < call->output_count; i++)
        *to++ = outputs[i];
}

/* False when memory ran out. */
static bool take_call(struct gradient_call *call, const akg_argument *arguments, size_t count,
                      akg_tensor *const *outputs)
{
    jmp_buf escape;

    if (setjmp(escape)) {
        call->arena.escape = NULL;
        return false;
    }
    call->arena.escape = &escape;
    take_parameters(call, arguments, count);
    take_outputs(call, arguments, count);
    take_tensors(call, arguments, count, outputs);
    call->slots = arena_array(&call->arena, size_t, call->input_count + call->output_count + 1);
    call->arena.escape = NULL;
    return true;
}

static void call_release(void *state)
{
    struct gradient_call *call = state;
    akg_registry *registry = call->callee->registry;

    arena_free(&call->arena);
    memory_free(call);
    akg_registry_release(registry);
}

static struct gradient_call *call_create(akg_operator *callee)
{
    struct gradient_call *call = memory_zeroed(1, sizeof *call);

    if (!call)
        return NULL;
    arena_init(&call->arena, NULL);
    call->callee = callee;
    akg_registry_retain(callee->registry);
    return call;
}

/* ---- backward -------------------------------------------------------------------------------------------
 */

/* Calls the function with all tensors of the call. */
static akg_status bprop_call(const struct gradient_call *call, const struct autograd_step *step,
                             akg_tensor **tensors, akg_tensor **input_gradients,
                             akg_diagnostics **diagnostics)
{
    const akg_bprop *bprop = &atomic_load(&call->callee->gradient)->bprop;
    akg_bprop_call given = {.tape = step->tape,
                            .callee = call->callee,
                            .inputs = tensors,
                            .outputs = tensors + call->input_count,
                            .output_gradients = step->output_gradients,
                            .input_count = call->input_count,
                            .output_count = call->output_count,
                            .needed = step->needed,
                            .attributes = call->attributes,
                            .attribute_count = call->attribute_count,
                            .data = bprop->data};
    akg_status status = AKG_OK;

    for (size_t i = 0; status == AKG_OK && i < call->input_count + call->output_count; i++)
        if (call->slots[i] != SIZE_MAX)
            status = autograd_saved(step, call->slots[i], &tensors[i], diagnostics);
    return status == AKG_OK ? bprop->function(&given, input_gradients, diagnostics) : status;
}

static akg_status bprop_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                 akg_diagnostics **diagnostics)
{
    const struct gradient_call *call = step->state;
    size_t count = call->input_count + call->output_count;
    akg_tensor **tensors = memory_zeroed(count, sizeof(akg_tensor *));
    akg_status status;

    if (!tensors)
        return AKG_ERROR_MEMORY;
    status = bprop_call(call, step, tensors, input_gradients, diagnostics);
    for (size_t i = 0; i < count; i++)
        akg_tensor_release(tensors[i]);
    memory_free(tensors);
    return status;
}

static akg_status graph_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                 akg_diagnostics **diagnostics)
{
    return gradient_graph_run(step->state, step, input_gradients, diagnostics);
}

static const struct autograd_operation bprop_operation = {bprop_backward, call_release};
static const struct autograd_operation graph_operation = {graph_backward, call_release};

/* ---- recording --------------------------------------------------- */

/* The tensors that are to be saved, in `saved`, and which is which. */
static size_t call_number_saved(struct gradient_call *call, const bool *reads, akg_tensor **saved)
{
    size_t count = 0;

    for (size_t i = 0; i < call->input_count + call->output_count; i++) {
        call->slots[i] = SIZE_MAX;
        if ((reads && !reads[i]) || !call->tensors[i])
            continue;
        saved[count] = call->tensors[i];
        call->slots[i] = count++;
    }
    return count;
}

static akg_status call_record(struct gradient_call *call, akg_tape *tape,
                              const struct operator_gradient *gradient, bool *reads, akg_tensor **saved,
                              akg_diagnostics **diagnostics)
{
    struct autograd_record record = {.operation = gradient->build ? &graph_operation : &bprop_operation,
                                     .name = call->callee->name,
                                     .state = call,
                                     .inputs = call->tensors,
                                     .input_count = call->input_count,
                                     .outputs = call->tensors + call->input_count,
                                     .output_count = call->output_count,
                                     .saved = saved,
                                     .materialise = true,
                                     .backward_on_tape = gradient->build || gradient->bprop.on_tape};
    akg_status status = AKG_OK;

    if (gradient->build)
        status = gradient_graph_build(call, gradient, reads, diagnostics);
    if (status != AKG_OK)
        return status;
    record.saved_count = call_number_saved(call, gradient->build ? reads : NULL, saved);
    return autograd_record(tape, &record);
}

static akg_status gradient_record_call(struct gradient_call *call, akg_tape *tape,
                                       const struct operator_gradient *gradient,
                                       akg_diagnostics **diagnostics)
{
    size_t count = call->input_count + call->output_count;
    akg_tensor **saved;
    bool *reads;
    akg_status status = AKG_ERROR_MEMORY;

    if (!gradient)
        return autograd_record_refusal(
            tape, call->callee->name,
            "help: akg_operator_set_bprop or akg_operator_set_gradient gives it one", call->tensors,
            call->input_count, call->tensors + call->input_count, call->output_count);
    saved = memory_zeroed(count, sizeof(akg_tensor *));
    reads = memory_zeroed(count, sizeof(bool));
    if (saved && reads)
        status = call_record(call, tape, gradient, reads, saved, diagnostics);
    memory_free(saved);
    memory_free(reads);
    return status;
}

akg_status gradient_record(akg_operator *callee, akg_tape *tape, const akg_argument *arguments, size_t count,
                           akg_tensor *const *outputs, akg_diagnostics **diagnostics)
{
    const struct operator_gradient *gradient = atomic_load(&callee->gradient);
    struct gradient_call *call = call_create(callee);
    akg_status status = AKG_ERROR_MEMORY;

    if (call && take_call(call, arguments, count, outputs))
        status = gradient_record_call(call, tape, gradient, diagnostics);
    if (call && (status != AKG_OK || !gradient))
        call_release(call);
    return status;
}
