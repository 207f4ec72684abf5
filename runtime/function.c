/*
 * function.c: akg_function: a forward and a backward function in C, and the context between them.
 *
 * The context is made for one application. Forward fills it; the node that is recorded owns it; without a
 * node it goes when forward is over. A rule that forward or backward breaks is remembered here, so that the
 * call fails even if the function passes over the status it was given.
 */
#include "autograd.h"
#include "call.h"

#include "../base/memory.h"

#include <stdio.h>
#include <string.h>

struct context_attribute {
    struct context_attribute *next;
    akg_argument value; /* its name, text and items lie behind it */
};

struct akg_context {
    const akg_function *function;
    akg_tape *tape;
    bool recording;                   /* when the function was applied */
    bool in_forward;                  /* the rest is forward's */
    const struct autograd_step *step; /* of backward, while it runs */
    akg_tensor **tensors;             /* inputs; borrowed */
    bool *dirty;                      /* of the inputs */
    size_t tensor_count;
    akg_tensor **saved;    /* until they are recorded: references */
    akg_tensor **unpacked; /* what saved_tensors gave */
    akg_tensor **plain;    /* outputs marked as non-differentiable; borrowed */
    size_t saved_count, unpacked_count, plain_count;
    bool has_saved, drops_absent;
    struct context_attribute *attributes;
    void *data;
    void (*release)(void *data);
    akg_status status; /* the first rule that was broken */
    akg_diagnostics *messages;
};

/* ---- rules --------------------------------------------------------------------------------------------- */

/* Remembers the first one. */
static akg_status context_fail(akg_context *context, akg_status status, enum message message,
                               const char *first, const char *second, const char *third)
{
    if (context->status != AKG_OK)
        return status;
    context->status = failure_report(&context->messages, status, message, first, second, third, NULL);
    return context->status;
}

/* The same for a status that came with its messages. */
static akg_status context_note(akg_context *context, akg_status status, akg_diagnostics *messages)
{
    if (status == AKG_OK || context->status != AKG_OK) {
        akg_diagnostics_free(messages);
        return status;
    }
    context->status = status;
    context->messages = messages;
    return status;
}

static akg_status check_forward(akg_context *context, const char *what)
{
    return context->in_forward ? AKG_OK
                               : context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_PHASE,
                                              context->function->name, what, "forward");
}

/* What the function and its rules came to. The function's own messages are replaced by those of a broken
 * rule. */
static akg_status context_result(akg_context *context, akg_status status, akg_diagnostics **diagnostics)
{
    if (context->status == AKG_OK)
        return status;
    status = context->status;
    if (diagnostics) {
        akg_diagnostics_free(*diagnostics);
        *diagnostics = context->messages;
    } else {
        akg_diagnostics_free(context->messages);
    }
    context->status = AKG_OK;
    context->messages = NULL;
    return status;
}

/* ---- making and freeing
 * ------------------------------------------------------------------------------------ */

static size_t count_tensors(const akg_argument *arguments, size_t count)
{
    size_t tensors = 0;

    for (size_t i = 0; i < count; i++) {
        tensors += arguments[i].kind == AKG_ARGUMENT_TENSOR;
        tensors += arguments[i].kind == AKG_ARGUMENT_TENSORS ? arguments[i].as.tensors.count : 0;
    }
    return tensors;
}

static akg_context *context_create(akg_tape *tape, const akg_function *function,
                                   const akg_argument *arguments, size_t count)
{
    size_t tensors = count_tensors(arguments, count), at = 0;
    akg_context *context = memory_zeroed(1, sizeof *context + tensors * (sizeof(akg_tensor *) + 1));

    if (!context)
        return NULL;
    context->function = function;
    context->tape = tape;
    context->recording = tape->recording;
    context->tensors = (akg_tensor **)(void *)(context + 1);
    context->dirty = (bool *)(void *)(context->tensors + tensors);
    context->tensor_count = tensors;
    for (size_t i = 0; i < count; i++) {
        const akg_argument *argument = &arguments[i];
        if (argument->kind == AKG_ARGUMENT_TENSOR)
            context->tensors[at++] = argument->as.tensor;
        for (size_t k = 0; argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            context->tensors[at++] = argument->as.tensors.items[k];
    }
    return context;
}

static void release_list(akg_tensor ***list, size_t count)
{
    if (!*list)
        return;
    autograd_release_tensors(*list, count);
    memory_free(*list);
    *list = NULL;
}

static void context_release(void *state)
{
    akg_context *context = state;

    release_list(&context->saved, context->saved_count);
    memory_free(context->plain);
    while (context->attributes) {
        struct context_attribute *attribute = context->attributes;
        context->attributes = attribute->next;
        memory_free(attribute);
    }
    if (context->release)
        context->release(context->data);
    akg_diagnostics_free(context->messages);
    memory_free(context);
}

/* ---- what forward and backward ask
 * -------------------------------------------------------------------------- */

akg_tape *akg_context_tape(const akg_context *context)
{
    return context ? context->tape : NULL;
}

const akg_function *akg_context_function(const akg_context *context)
{
    return context ? context->function : NULL;
}

bool akg_context_needs_grad(const akg_context *context, const akg_tensor *tensor)
{
    return context && tensor && tensor->node && (context->recording || context->step);
}

bool akg_context_needs_input_grad(const akg_context *context, size_t index)
{
    if (!context || index >= context->tensor_count)
        return false;
    return context->step ? context->step->needed[index]
                         : context->in_forward && akg_context_needs_grad(context, context->tensors[index]);
}

/* ---- what forward leaves to backward ---------------------------------------------------------------------
 */

akg_status akg_context_save_for_backward(akg_context *context, akg_tensor *const *tensors, size_t count)
{
    if (!context || (count && !tensors))
        return AKG_ERROR_USAGE;
    akg_status status = check_forward(context, "akg_context_save_for_backward");
    if (status != AKG_OK)
        return status;
    if (context->has_saved)
        return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_SAVED_TWICE, context->function->name, NULL,
                            NULL);
    context->saved = memory_allocate((count + 1) * sizeof *context->saved);
    if (!context->saved)
        return context_note(context, AKG_ERROR_MEMORY, NULL);
    for (size_t i = 0; i < count; i++)
        context->saved[i] = akg_tensor_retain(tensors[i]);
    context->saved_count = count;
    context->has_saved = true;
    return AKG_OK;
}

static akg_status unpack(akg_context *context)
{
    akg_diagnostics *messages = NULL;
    akg_status status = AKG_OK;

    context->unpacked_count = autograd_saved_count(context->step);
    context->unpacked = memory_zeroed(context->unpacked_count + 1, sizeof *context->unpacked);
    if (!context->unpacked)
        return context_note(context, AKG_ERROR_MEMORY, NULL);
    for (size_t i = 0; i < context->unpacked_count && status == AKG_OK; i++)
        status = autograd_saved(context->step, i, &context->unpacked[i], &messages);
    if (status != AKG_OK)
        release_list(&context->unpacked, context->unpacked_count);
    return context_note(context, status, messages);
}

akg_status akg_context_saved_tensors(akg_context *context, akg_tensor *const **tensors, size_t *count)
{
    if (!context || !tensors)
        return AKG_ERROR_USAGE;
    *tensors = NULL;
    if (!context->step)
        return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_PHASE, context->function->name,
                            "akg_context_saved_tensors", "backward");
    akg_status status = context->unpacked ? AKG_OK : unpack(context);
    if (status != AKG_OK)
        return status;
    *tensors = context->unpacked;
    if (count)
        *count = context->unpacked_count;
    return AKG_OK;
}

akg_status akg_context_mark_dirty(akg_context *context, akg_tensor *input)
{
    akg_diagnostics *messages = NULL;

    if (!context || !input)
        return AKG_ERROR_USAGE;
    akg_status status = check_forward(context, "akg_context_mark_dirty");
    if (status != AKG_OK)
        return status;
    for (size_t i = 0; i < context->tensor_count; i++) {
        if (context->tensors[i] != input)
            continue;
        context->dirty[i] = true;
        bool inside = akg_tape_set_recording(context->tape, context->recording);
        status = autograd_check_write(context->tape, input, context->function->name, &messages);
        akg_tape_set_recording(context->tape, inside);
        return context_note(context, status, messages);
    }
    return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_MARK, context->function->name, "dirty",
                        "no input");
}

akg_status akg_context_mark_non_differentiable(akg_context *context, akg_tensor *output)
{
    if (!context || !output)
        return AKG_ERROR_USAGE;
    akg_status status = check_forward(context, "akg_context_mark_non_differentiable");
    if (status != AKG_OK)
        return status;
    akg_tensor **grown = memory_resize(context->plain, (context->plain_count + 1) * sizeof *context->plain);
    if (!grown)
        return context_note(context, AKG_ERROR_MEMORY, NULL);
    context->plain = grown;
    context->plain[context->plain_count++] = output;
    return AKG_OK;
}

akg_status akg_context_set_materialize_grads(akg_context *context, bool materialize)
{
    if (!context)
        return AKG_ERROR_USAGE;
    akg_status status = check_forward(context, "akg_context_set_materialize_grads");
    if (status == AKG_OK)
        context->drops_absent = !materialize;
    return status;
}

akg_status akg_context_set_data(akg_context *context, void *data, void (*release)(void *data))
{
    if (!context)
        return AKG_ERROR_USAGE;
    akg_status status = check_forward(context, "akg_context_set_data");
    if (status != AKG_OK)
        return status;
    if (context->release)
        context->release(context->data);
    context->data = data;
    context->release = release;
    return AKG_OK;
}

void *akg_context_data(const akg_context *context)
{
    return context ? context->data : NULL;
}

/* ---- attributes ------------------------------------------------------------------------------------------
 */

/* Bytes that the value has outside its struct; false for what cannot be an attribute. */
static bool attribute_size(const akg_argument *value, size_t *size)
{
    switch (value->kind) {
    case AKG_ARGUMENT_INT:
    case AKG_ARGUMENT_FLOAT:
    case AKG_ARGUMENT_BOOL:
        *size = 0;
        return true;
    case AKG_ARGUMENT_STRING:
        *size = strlen(value->as.string) + 1;
        return true;
    case AKG_ARGUMENT_INTS:
        *size = value->as.ints.count * sizeof(int64_t);
        return true;
    default:
        return false;
    }
}

static struct context_attribute *attribute_create(const char *name, const akg_argument *value, size_t size)
{
    size_t name_size = strlen(name) + 1;
    struct context_attribute *attribute = memory_allocate(sizeof *attribute + size + name_size);

    if (!attribute)
        return NULL;
    char *own = (char *)(attribute + 1);
    attribute->value = *value;
    attribute->value.name = memcpy(own + size, name, name_size);
    if (value->kind == AKG_ARGUMENT_STRING)
        attribute->value.as.string = memcpy(own, value->as.string, size);
    if (value->kind == AKG_ARGUMENT_INTS) {
        if (size)
            memcpy(own, value->as.ints.items, size);
        attribute->value.as.ints.items = (const int64_t *)(const void *)own;
    }
    return attribute;
}

akg_status akg_context_set_attribute(akg_context *context, const char *name, const akg_argument *value)
{
    size_t size;

    if (!context || !name || !value || !call_arguments_are_there(value, 1))
        return AKG_ERROR_USAGE;
    akg_status status = check_forward(context, "akg_context_set_attribute");
    if (status != AKG_OK)
        return status;
    if (!attribute_size(value, &size))
        return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_ATTRIBUTE, name, context->function->name,
                            NULL);
    struct context_attribute *attribute = attribute_create(name, value, size);
    if (!attribute)
        return context_note(context, AKG_ERROR_MEMORY, NULL);
    attribute->next = context->attributes; /* found before an earlier one of that name */
    context->attributes = attribute;
    return AKG_OK;
}

const akg_argument *akg_context_attribute(const akg_context *context, const char *name)
{
    if (!context || !name)
        return NULL;
    for (const struct context_attribute *attribute = context->attributes; attribute;
         attribute = attribute->next)
        if (strcmp(attribute->value.name, name) == 0)
            return &attribute->value;
    return NULL;
}

/* ---- backward
 * ---------------------------------------------------------------------------------------------- */

static akg_status check_gradients(akg_context *context, const struct autograd_step *step,
                                  akg_tensor *const *gradients)
{
    bool absent = false;
    char index[24];

    for (int i = 0; i < step->node->output_count; i++)
        absent = absent || !step->output_gradients[i];
    for (size_t i = 0; i < context->tensor_count; i++) {
        snprintf(index, sizeof index, "%zu", i);
        if (gradients[i] && !step->node->edges[i].node)
            return context_fail(context, AKG_ERROR_CALL, MSG_FUNCTION_GRADIENT_EXTRA, context->function->name,
                                index, NULL);
        if (!gradients[i] && step->needed[i] && !absent)
            return context_fail(context, AKG_ERROR_CALL, MSG_FUNCTION_GRADIENT_MISSING,
                                context->function->name, index, NULL);
    }
    return AKG_OK;
}

static akg_status function_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                    akg_diagnostics **diagnostics)
{
    akg_context *context = step->state;

    context->step = step;
    context->tape = step->tape;
    akg_status status =
        context->function->backward(context, step->output_gradients, input_gradients, diagnostics);
    if (status == AKG_OK)
        status = check_gradients(context, step, input_gradients);
    release_list(&context->unpacked, context->unpacked_count);
    context->step = NULL;
    return context_result(context, status, diagnostics);
}

static const struct autograd_operation function_operation = {function_backward, context_release};

/* ---- forward
 * ------------------------------------------------------------------------------------------------ */

static akg_status check_application(akg_context *context)
{
    const akg_function *function = context->function;
    char returns[48], given[48];

    if (context->tensor_count == 0)
        return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_NO_INPUT, function->name, NULL, NULL);
    if (function->output_count == 0)
        return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_NO_OUTPUT, function->name, NULL, NULL);
    if (function->gradient_count == 0 || function->gradient_count == context->tensor_count)
        return AKG_OK;
    snprintf(returns, sizeof returns, "%zu gradient%s", function->gradient_count,
             function->gradient_count == 1 ? "" : "s");
    snprintf(given, sizeof given, "%zu tensor%s", context->tensor_count,
             context->tensor_count == 1 ? "" : "s");
    return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_GRADIENT_COUNT, function->name, returns,
                        given);
}

static bool is_among(akg_tensor *const *tensors, size_t count, const akg_tensor *tensor)
{
    for (size_t i = 0; i < count; i++)
        if (tensors[i] == tensor)
            return true;
    return false;
}

static akg_status check_outputs(akg_context *context, akg_tensor *const *outputs)
{
    const akg_function *function = context->function;
    bool any = false;

    for (size_t i = 0; i < function->output_count; i++)
        any = any || outputs[i];
    if (!any)
        return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_NO_OUTPUT, function->name, NULL, NULL);
    for (size_t i = 0; i < context->tensor_count; i++)
        if (context->dirty[i] && !is_among(outputs, function->output_count, context->tensors[i]))
            return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_MARK, function->name, "dirty",
                                "not returned");
    for (size_t i = 0; i < context->plain_count; i++)
        if (!is_among(outputs, function->output_count, context->plain[i]))
            return context_fail(context, AKG_ERROR_USAGE, MSG_FUNCTION_MARK, function->name,
                                "non-differentiable", "not returned");
    return AKG_OK;
}

/* Runs the function's forward, and holds it to its rules. */
static akg_status run_forward(akg_context *context, const akg_argument *arguments, size_t count,
                              akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_status status = check_application(context);

    if (status == AKG_OK) {
        context->in_forward = true;
        akg_tape_set_recording(context->tape, false);
        status = context->function->forward(context, arguments, count, outputs, diagnostics);
        akg_tape_set_recording(context->tape, context->recording);
        context->in_forward = false;
    }
    if (status == AKG_OK && context->status == AKG_OK)
        status = check_outputs(context, outputs);
    for (size_t i = 0; i < context->tensor_count; i++)
        if (context->dirty[i])
            tensor_mark_written(context->tensors[i]);
    return context_result(context, status, diagnostics);
}

/* Hands the context over to a node, if there is to be one. */
static akg_status function_record(akg_context **context, akg_tensor **outputs)
{
    akg_context *own = *context;
    const akg_function *function = own->function;
    bool *plain = memory_allocate(function->output_count * sizeof *plain);
    akg_tensor **saved = own->saved; /* the node holds them without references */

    if (!plain)
        return AKG_ERROR_MEMORY;
    for (size_t i = 0; i < function->output_count; i++)
        plain[i] = outputs[i] && is_among(own->plain, own->plain_count, outputs[i]);
    size_t saved_count = own->saved_count;
    own->saved = NULL;
    memory_free(own->plain);
    own->plain = NULL;
    akg_status status = autograd_separate_outputs(own->tensors, own->dirty, own->tensor_count, outputs,
                                                  function->output_count);
    struct autograd_record record = {.operation = &function_operation,
                                     .name = function->name,
                                     .state = own,
                                     .inputs = own->tensors,
                                     .input_count = own->tensor_count,
                                     .outputs = outputs,
                                     .output_count = function->output_count,
                                     .non_differentiable = plain,
                                     .saved = saved,
                                     .saved_count = saved_count,
                                     .materialise = !own->drops_absent,
                                     .backward_on_tape = function->backward_on_tape};
    if (status == AKG_OK)
        status = autograd_record(own->tape, &record);
    if (status == AKG_OK)
        *context = NULL;
    release_list(&saved, saved_count);
    memory_free(plain);
    return status;
}

akg_status akg_function_apply(akg_tape *tape, const akg_function *function, const akg_argument *arguments,
                              size_t argument_count, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!tape || !function || !function->name || !function->forward || !function->backward ||
        (!outputs && function->output_count) || !call_arguments_are_there(arguments, argument_count))
        return AKG_ERROR_USAGE;
    for (size_t i = 0; i < function->output_count; i++)
        outputs[i] = NULL;
    akg_context *context = context_create(tape, function, arguments, argument_count);
    akg_status status = AKG_ERROR_MEMORY;
    if (context)
        status = run_forward(context, arguments, argument_count, outputs, diagnostics);
    if (status == AKG_OK)
        status = function_record(&context, outputs);
    if (status != AKG_OK)
        autograd_release_tensors(outputs, function->output_count);
    if (context)
        context_release(context);
    return autograd_finish(status, diagnostics);
}
