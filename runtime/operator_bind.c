/*
 * operator_bind.c: the arguments of a call of an operator written in C to its inputs, attributes and counts
 * of outputs.
 *
 * Assumes that call_arguments_are_there has seen the arguments. Everything is allocated in the arena of the
 * invocation, which escapes.
 */
#include "operator_native.h"

#include <stdio.h>
#include <string.h>

#include "call.h"

/* ---- what cannot be bound ------------------------------------------------------------------ */

static bool bind_refuse_name(akg_invocation *invocation, const char *name)
{
    const struct native *native = invocation->native;
    int count = native->input_count + native->attribute_count + native->output_count;
    const char **names = arena_array(&invocation->arena, const char *, count), *nearest;
    struct diagnostic_entry *entry = diagnostic_add(invocation_list(invocation), MSG_CALL_UNKNOWN,
                                                    (struct span){0}, invocation->callee->name, name);

    count = 0;
    for (int i = 0; i < native->input_count; i++)
        names[count++] = native->inputs[i].name;
    for (int i = 0; i < native->attribute_count; i++)
        names[count++] = native->attributes[i].name;
    for (int i = 0; i < native->output_count; i++)
        names[count++] = native->outputs[i].name;
    nearest = spelling_nearest(name, names, count);
    if (nearest)
        diagnostic_note(entry, "help: did you mean '%s'?", nearest);
    return false;
}

static bool bind_refuse_twice(akg_invocation *invocation, const char *name)
{
    diagnostic_add(invocation_list(invocation), MSG_CALL_TWICE, (struct span){0}, name);
    return false;
}

static bool bind_refuse_kind(akg_invocation *invocation, const char *name, const char *takes,
                             const akg_argument *argument)
{
    diagnostic_add(invocation_list(invocation), MSG_CALL_KIND, (struct span){0}, name, takes,
                   call_kind_text(argument->kind));
    return false;
}

static bool bind_refuse_too_many(akg_invocation *invocation, size_t count)
{
    char given[32], takes[32];

    snprintf(given, sizeof given, "%zu", count);
    snprintf(takes, sizeof takes, "%d",
             invocation->native->input_count + invocation->native->attribute_count);
    diagnostic_add(invocation_list(invocation), MSG_CALL_TOO_MANY, (struct span){0}, given,
                   invocation->callee->name, takes);
    return false;
}

/* "5", "at least 5", "5 or none" */
static void bind_print_count(char *text, size_t size, const akg_operand *operand)
{
    snprintf(text, size, "%s%zu tensor%s%s", operand->at_least ? "at least " : "", operand->count,
             operand->count == 1 ? "" : "s", operand->optional ? ", or none" : "");
}

static bool bind_count_fits(akg_invocation *invocation, const akg_operand *operand, size_t count)
{
    char takes[80], given[32];

    if ((count == 0 && operand->optional) ||
        (operand->at_least ? count >= operand->count : count == operand->count))
        return true;
    bind_print_count(takes, sizeof takes, operand);
    snprintf(given, sizeof given, "%zu", count);
    diagnostic_add(invocation_list(invocation), MSG_OPERAND_COUNT, (struct span){0}, operand->name, takes,
                   given);
    return false;
}

/* ---- one argument ----------------------------------------------------------------------------- */

static bool bind_input(akg_invocation *invocation, int index, const akg_argument *argument)
{
    const akg_operand *operand = &invocation->native->inputs[index];
    struct operand_use *use = &invocation->inputs[index];
    bool is_list = argument->kind == AKG_ARGUMENT_TENSORS;

    if (use->is_bound)
        return bind_refuse_twice(invocation, operand->name);
    if (argument->kind != AKG_ARGUMENT_TENSOR && !is_list && argument->kind != AKG_ARGUMENT_NONE)
        return bind_refuse_kind(invocation, operand->name,
                                operand->count == 1 && !operand->at_least ? "a tensor" : "tensors", argument);
    use->is_bound = true;
    use->count = is_list ? argument->as.tensors.count : argument->kind == AKG_ARGUMENT_TENSOR;
    return bind_count_fits(invocation, operand, use->count);
}

static bool bind_attribute(akg_invocation *invocation, int index, const akg_argument *argument)
{
    const akg_attribute *attribute = &invocation->native->attributes[index];
    enum attribute_fit fit;

    if (invocation->attribute_is_bound[index])
        return bind_refuse_twice(invocation, attribute->name);
    fit = attribute_convert(&invocation->arena, attribute->kind, argument, &invocation->attributes[index]);
    if (fit != ATTRIBUTE_FITS)
        attribute_refuse(invocation_list(invocation), attribute, argument, fit);
    invocation->attributes[index].name = attribute->name;
    invocation->attribute_is_bound[index] = true;
    return fit == ATTRIBUTE_FITS;
}

bool native_is_count(const akg_argument *argument)
{
    return argument->kind == AKG_ARGUMENT_INT && argument->as.integer >= 0 &&
           argument->as.integer <= CALL_MAX_ITEMS;
}

/* How many tensors an output is to hold. */
static bool bind_output(akg_invocation *invocation, int index, const akg_argument *argument)
{
    const akg_operand *operand = &invocation->native->outputs[index];
    struct operand_use *use = &invocation->outputs[index];

    if (use->is_bound)
        return bind_refuse_twice(invocation, operand->name);
    if (!native_is_count(argument))
        return bind_refuse_kind(invocation, operand->name, "the number of its tensors", argument);
    use->is_bound = true;
    use->count = (size_t)argument->as.integer;
    return bind_count_fits(invocation, operand, use->count);
}

/* The parameter that an argument is for: inputs, then attributes, then (by name only) outputs. */
static bool bind_one(akg_invocation *invocation, int *parameter, int *position, const akg_argument *argument)
{
    const struct native *native = invocation->native;
    int inputs = native->input_count, attributes = native->attribute_count, index;

    if (!argument->name) {
        index = (*position)++;
    } else if ((index = native_input_index(native, argument->name)) < 0) {
        if ((index = native_attribute_index(native, argument->name)) >= 0)
            index += inputs;
        else if ((index = native_output_index(native, argument->name)) >= 0)
            index += inputs + attributes;
        else
            return bind_refuse_name(invocation, argument->name);
    }
    *parameter = index;
    if (index < inputs)
        return bind_input(invocation, index, argument);
    if (index < inputs + attributes)
        return bind_attribute(invocation, index - inputs, argument);
    return bind_output(invocation, index - inputs - attributes, argument);
}

/* ---- all of them ------------------------------------------------------------------------------- */

/* What no argument was given for. */
static bool bind_rest(akg_invocation *invocation)
{
    const struct native *native = invocation->native;

    for (int i = 0; i < native->input_count; i++)
        if (!invocation->inputs[i].is_bound && !native->inputs[i].optional) {
            diagnostic_add(invocation_list(invocation), MSG_CALL_MISSING, (struct span){0},
                           native->inputs[i].name);
            return false;
        }
    for (int i = 0; i < native->attribute_count; i++) {
        if (invocation->attribute_is_bound[i])
            continue;
        if (!native->attributes[i].initial) {
            diagnostic_add(invocation_list(invocation), MSG_CALL_MISSING, (struct span){0},
                           native->attributes[i].name);
            return false;
        }
        invocation->attributes[i] = *native->attributes[i].initial;
    }
    for (int i = 0; i < native->output_count; i++)
        if (!invocation->outputs[i].is_bound)
            invocation->outputs[i].count = native->outputs[i].optional ? 0 : native->outputs[i].count;
    return true;
}

static size_t bind_number(struct operand_use *uses, int count)
{
    size_t total = 0;

    for (int i = 0; i < count; i++) {
        uses[i].first = total;
        total += uses[i].count;
    }
    return total;
}

static void bind_tensors(akg_invocation *invocation, const akg_argument *const *by_input)
{
    const struct native *native = invocation->native;
    struct arena *arena = &invocation->arena;

    invocation->input_tensor_count = bind_number(invocation->inputs, native->input_count);
    invocation->output_tensor_count = bind_number(invocation->outputs, native->output_count);
    invocation->input_tensors = arena_array(arena, akg_tensor *, invocation->input_tensor_count + 1);
    invocation->output_tensors = arena_array(arena, akg_tensor *, invocation->output_tensor_count + 1);
    invocation->descriptions = arena_array(arena, akg_description, invocation->output_tensor_count + 1);
    invocation->is_described = arena_array(arena, bool, invocation->output_tensor_count + 1);
    for (int i = 0; i < native->input_count; i++) {
        akg_tensor **to = invocation->input_tensors + invocation->inputs[i].first;
        const akg_argument *argument = by_input[i];
        if (!argument || argument->kind == AKG_ARGUMENT_NONE)
            continue;
        if (argument->kind == AKG_ARGUMENT_TENSOR)
            *to = argument->as.tensor;
        else
            for (size_t k = 0; k < argument->as.tensors.count; k++)
                to[k] = argument->as.tensors.items[k];
    }
}

static bool bind_all(akg_invocation *invocation, const akg_argument *arguments, size_t count)
{
    const struct native *native = invocation->native;
    struct arena *arena = &invocation->arena;
    const akg_argument **by_input = arena_array(arena, const akg_argument *, native->input_count + 1);
    int position = 0, positions = native->input_count + native->attribute_count, parameter;

    invocation->inputs = arena_array(arena, struct operand_use, native->input_count + 1);
    invocation->outputs = arena_array(arena, struct operand_use, native->output_count + 1);
    invocation->attributes = arena_array(arena, akg_argument, native->attribute_count + 1);
    invocation->attribute_is_bound = arena_array(arena, bool, native->attribute_count + 1);
    for (size_t i = 0; i < count; i++) {
        if (!arguments[i].name && position == positions)
            return bind_refuse_too_many(invocation, count);
        if (!bind_one(invocation, &parameter, &position, &arguments[i]))
            return false;
        if (parameter < native->input_count)
            by_input[parameter] = &arguments[i];
    }
    if (!bind_rest(invocation))
        return false;
    bind_tensors(invocation, by_input);
    return true;
}

akg_status invocation_bind(akg_invocation *invocation, const akg_argument *arguments, size_t count)
{
    jmp_buf escape;
    bool bound;

    if (setjmp(escape)) {
        invocation->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    invocation->arena.escape = &escape;
    bound = bind_all(invocation, arguments, count);
    invocation->arena.escape = NULL;
    return bound ? AKG_OK : AKG_ERROR_CALL;
}
