/*
 * operation.c: a call of an operator put together piece by piece, by names.
 *
 * Keeps copies of what it is given in an arena, references to tensors, and a pointer to operator information,
 * which stays the caller's; a piece that is given again takes the place of the first.
 */
#include "operator_native.h"

#include <stdio.h>
#include <string.h>

#include "call.h"
#include "failure.h"
#include "operator_info.h"

struct akg_operation {
    akg_registry *registry;
    akg_operator *callee;
    struct arena arena;
    LIST(akg_argument) arguments;  /* all by name */
    const akg_operator_info *info; /* the caller's, or NULL */
    char *device;                  /* as given, or NULL */
    bool is_broken;                /* memory ran out for a piece */
    akg_tensor **outputs;
    size_t output_count;
};

akg_status akg_operation_create(akg_registry *registry, const char *name, akg_operation **operation,
                                akg_diagnostics **diagnostics)
{
    akg_operator *callee;
    akg_operation *made;
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    if (!operation)
        return AKG_ERROR_USAGE;
    *operation = NULL;
    status = akg_registry_find(registry, name, &callee, diagnostics);
    if (status != AKG_OK)
        return status;
    made = memory_zeroed(1, sizeof *made);
    if (!made)
        return AKG_ERROR_MEMORY;
    arena_init(&made->arena, NULL);
    made->registry = akg_registry_retain(registry);
    made->callee = callee;
    *operation = made;
    return AKG_OK;
}

static void operation_drop_outputs(akg_operation *operation)
{
    for (size_t i = 0; i < operation->output_count; i++)
        akg_tensor_release(operation->outputs[i]);
    memory_free(operation->outputs);
    operation->outputs = NULL;
    operation->output_count = 0;
}

static void operation_drop_tensors(const akg_argument *argument)
{
    if (argument->kind == AKG_ARGUMENT_TENSORS)
        for (size_t i = 0; i < argument->as.tensors.count; i++)
            akg_tensor_release(argument->as.tensors.items[i]);
    if (argument->kind == AKG_ARGUMENT_TENSOR)
        akg_tensor_release(argument->as.tensor);
}

void akg_operation_release(akg_operation *operation)
{
    if (!operation)
        return;
    operation_drop_outputs(operation);
    for (int i = 0; i < operation->arguments.count; i++)
        operation_drop_tensors(&operation->arguments.items[i]);
    arena_free(&operation->arena);
    akg_registry_release(operation->registry);
    memory_free(operation->device);
    memory_free(operation);
}

/* ---- pieces -------------------------------------------------------------------------------------- */

static akg_argument operation_copy(struct arena *arena, const akg_argument *value)
{
    akg_argument copy = attribute_copy(arena, value);
    akg_tensor **tensors;

    if (value->kind == AKG_ARGUMENT_TENSORS) {
        tensors = arena_array(arena, akg_tensor *, value->as.tensors.count + 1);
        for (size_t i = 0; i < value->as.tensors.count; i++)
            tensors[i] = value->as.tensors.items[i];
        copy.as.tensors.items = tensors;
    }
    return copy;
}

/* References are taken once nothing can fail any more. */
static void operation_keep(akg_operation *operation, const akg_argument *value)
{
    akg_argument copy = operation_copy(&operation->arena, value), *old = NULL;

    for (int i = 0; i < operation->arguments.count; i++)
        if (strcmp(operation->arguments.items[i].name, copy.name) == 0)
            old = &operation->arguments.items[i];
    if (!old)
        list_push(&operation->arena, &operation->arguments, copy);
    if (copy.kind == AKG_ARGUMENT_TENSOR)
        akg_tensor_retain(copy.as.tensor);
    for (size_t i = 0; copy.kind == AKG_ARGUMENT_TENSORS && i < copy.as.tensors.count; i++)
        akg_tensor_retain(copy.as.tensors.items[i]);
    if (old) {
        operation_drop_tensors(old);
        *old = copy;
    }
}

static akg_status operation_add(akg_operation *operation, const akg_argument *value)
{
    jmp_buf escape;

    if (!operation || !value || !value->name || !call_arguments_are_there(value, 1))
        return AKG_ERROR_USAGE;
    if (setjmp(escape)) {
        operation->arena.escape = NULL;
        operation->is_broken = true;
        return AKG_ERROR_MEMORY;
    }
    operation->arena.escape = &escape;
    operation_keep(operation, value);
    operation->arena.escape = NULL;
    return AKG_OK;
}

/* Whether a kernel would take one tensor there, not a list of one. */
static bool operation_takes_one(const akg_operator *callee, const char *name)
{
    akg_parameter parameter;

    for (size_t i = 0; akg_operator_parameter(callee, i, &parameter); i++)
        if (strcmp(parameter.name, name) == 0)
            return parameter.kind == AKG_PARAMETER_TENSOR;
    return false;
}

akg_status akg_operation_input(akg_operation *operation, const char *name, akg_tensor *const *tensors,
                               size_t count)
{
    akg_argument value = {.name = name, .kind = AKG_ARGUMENT_TENSORS, .as.tensors = {tensors, count}};

    if (operation && name && tensors && count == 1 && operation_takes_one(operation->callee, name)) {
        value.kind = AKG_ARGUMENT_TENSOR;
        value.as.tensor = tensors[0];
    }
    if (operation && name && count == 0 && operation_takes_one(operation->callee, name))
        value.kind = AKG_ARGUMENT_NONE;
    return operation_add(operation, &value);
}

akg_status akg_operation_output(akg_operation *operation, const char *name, size_t count)
{
    akg_argument value = {.name = name, .kind = AKG_ARGUMENT_INT, .as.integer = (int64_t)count};

    if (!operation || !name || count > CALL_MAX_ITEMS)
        return AKG_ERROR_USAGE;
    return operation_add(operation, &value);
}

akg_status akg_operation_attribute(akg_operation *operation, const akg_argument *value)
{
    return operation_add(operation, value);
}

akg_status akg_operation_info(akg_operation *operation, const akg_operator_info *info)
{
    if (!operation || (info && !operator_info_is_there(info)))
        return AKG_ERROR_USAGE;
    operation->info = info;
    return AKG_OK;
}

akg_status akg_operation_device(akg_operation *operation, const char *device)
{
    char *copy;

    if (!operation || !device)
        return AKG_ERROR_USAGE;
    copy = memory_copy_string(device);
    operation->is_broken |= !copy;
    memory_free(operation->device);
    operation->device = copy;
    return copy ? AKG_OK : AKG_ERROR_MEMORY;
}

/* ---- running ---------------------------------------------------------------------------------------- */

/* Whether the argument says how many tensors an output holds. One that a kernel writes in place has the name
 * of its input: there the argument is the input. */
static bool operation_is_count(const akg_operator *callee, const akg_argument *argument)
{
    akg_parameter parameter;

    for (size_t i = 0; akg_operator_parameter(callee, i, &parameter); i++)
        if (strcmp(parameter.name, argument->name) == 0)
            return false;
    for (size_t i = 0; argument->kind == AKG_ARGUMENT_INT && i < akg_operator_output_count(callee); i++)
        if (strcmp(akg_operator_output_name(callee, i), argument->name) == 0)
            return true;
    return false;
}

/* How many tensors an output holds: what was said of it, else what it holds at least. */
static size_t operation_count_output(const akg_operation *operation, size_t index)
{
    const char *name = akg_operator_output_name(operation->callee, index);

    for (int k = 0; k < operation->arguments.count; k++) {
        const akg_argument *argument = &operation->arguments.items[k];
        if (strcmp(argument->name, name) == 0 && operation_is_count(operation->callee, argument) &&
            native_is_count(argument))
            return (size_t)argument->as.integer;
    }
    return native_output_least(operation->callee, index);
}

static size_t operation_count_outputs(const akg_operation *operation)
{
    size_t total = 0;

    for (size_t i = 0; i < akg_operator_output_count(operation->callee); i++)
        total += operation_count_output(operation, i);
    return total;
}

static akg_status operation_place(const akg_operation *operation, struct operator_place *place,
                                  akg_diagnostics **diagnostics)
{
    if (!operation->device || device_parse(operation->device, &place->device))
        return AKG_OK;
    return failure_report(
        diagnostics, AKG_ERROR_USAGE, MSG_DEVICE_NAME, operation->device, NULL, NULL,
        "help: devices are 'cpu' and 'cuda', with a number behind a colon where there are several");
}

/* A kernel's outputs are fixed in number, and it has no arguments of their names: those that only say so are
 * left out. False when one says otherwise. */
static bool operation_collect(const akg_operation *operation, akg_argument *arguments, size_t *count)
{
    bool fixed = akg_operator_kernel(operation->callee) != NULL;

    *count = 0;
    for (int i = 0; i < operation->arguments.count; i++) {
        const akg_argument *argument = &operation->arguments.items[i];
        if (!fixed || !operation_is_count(operation->callee, argument))
            arguments[(*count)++] = *argument;
        else if (argument->as.integer != 1)
            return false;
    }
    return true;
}

static akg_status operation_call(akg_operation *operation, struct operator_place *place,
                                 akg_diagnostics **diagnostics)
{
    akg_argument *arguments = memory_zeroed((size_t)operation->arguments.count, sizeof *arguments);
    size_t outputs = operation_count_outputs(operation), count;
    akg_status status = AKG_ERROR_MEMORY;

    operation->outputs = memory_zeroed(outputs, sizeof(akg_tensor *));
    if (arguments && operation->outputs) {
        operation->output_count = outputs;
        if (!operation_collect(operation, arguments, &count))
            status = failure_report(diagnostics, AKG_ERROR_CALL, MSG_OPERAND_COUNT, operation->callee->name,
                                    "1 tensor for each output", "another number", NULL);
        else
            status =
                operator_call(operation->callee, place, arguments, count, operation->outputs, diagnostics);
    }
    memory_free(arguments);
    return status;
}

akg_status akg_operation_run(akg_operation *operation, akg_tape *tape, akg_diagnostics **diagnostics)
{
    struct operator_place place = {.tape = tape, .device_is_open = !operation || !operation->device};
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    if (!operation)
        return AKG_ERROR_USAGE;
    if (operation->is_broken)
        return AKG_ERROR_MEMORY;
    place.info = operation->info;
    operation_drop_outputs(operation);
    status = operation_place(operation, &place, diagnostics);
    if (status == AKG_OK)
        status = operation_call(operation, &place, diagnostics);
    if (status != AKG_OK)
        operation_drop_outputs(operation);
    return status;
}

size_t akg_operation_output_count(const akg_operation *operation)
{
    return operation ? operation->output_count : 0;
}

akg_tensor *akg_operation_output_at(const akg_operation *operation, size_t index)
{
    return index < akg_operation_output_count(operation) ? operation->outputs[index] : NULL;
}

const char *akg_operation_output_name(const akg_operation *operation, size_t index, int64_t *item)
{
    size_t outputs = operation ? akg_operator_output_count(operation->callee) : 0, first = 0;

    for (size_t i = 0; index < akg_operation_output_count(operation) && i < outputs; i++) {
        size_t count = operation_count_output(operation, i);
        if (index < first + count) {
            bool alone = native_output_is_one(operation->callee, i);
            if (item)
                *item = alone ? -1 : (int64_t)(index - first);
            return akg_operator_output_name(operation->callee, i);
        }
        first += count;
    }
    return NULL;
}

akg_status akg_operation_sole_output(const akg_operation *operation, akg_tensor **output,
                                     akg_diagnostics **diagnostics)
{
    char count[24];

    if (diagnostics)
        *diagnostics = NULL;
    if (!output)
        return AKG_ERROR_USAGE;
    *output = NULL;
    if (!operation)
        return AKG_ERROR_USAGE;
    if (operation->output_count == 1) {
        *output = operation->outputs[0];
        return AKG_OK;
    }
    snprintf(count, sizeof count, "%zu", operation->output_count);
    return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_SOLE_OUTPUT, operation->callee->name, count, NULL,
                          "help: akg_operation_output_at gives each of them");
}
