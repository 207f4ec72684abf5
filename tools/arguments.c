/*
 * arguments.c: finds the parameter of each NAME=VALUE, and for each parameter
 * its value. Only names are judged here; the call judges shapes and dtypes.
 */
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool arguments_is_value(const char *word)
{
    size_t length = strcspn(word, "=");
    if (word[length] != '=' || length == 0 || (word[0] >= '0' && word[0] <= '9'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (strchr(" !\"#$%&'()*+,-./:;<>?@[\\]^`{|}~", word[i]))
            return false;
    return true;
}

static bool kernel_parameter(const void *kernel, size_t index, akg_parameter *parameter)
{
    return akg_kernel_parameter(kernel, index, parameter);
}

static bool parameter_at(const struct parameters *parameters, size_t index, akg_parameter *parameter)
{
    return parameters->at(parameters->callee, index, parameter);
}

static bool name_is(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && word[length] == '=';
}

static bool find_parameter(const struct parameters *parameters, const char *word, size_t *position)
{
    akg_parameter parameter;
    for (size_t i = 0; parameter_at(parameters, i, &parameter); i++) {
        if (!name_is(word, parameter.name))
            continue;
        *position = i;
        return true;
    }
    return false;
}

static void list_parameters(const struct parameters *parameters, struct name_list *list)
{
    akg_parameter parameter;
    for (size_t i = 0; i < parameters->listed && parameter_at(parameters, i, &parameter); i++)
        name_list_add(list, parameter.name);
}

static bool unknown_name(const struct parameters *parameters, const char *word, struct problem *problem)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    struct nearest nearest = {.word = name};
    struct name_list list = {0};
    akg_parameter parameter;
    for (size_t i = 0; parameter_at(parameters, i, &parameter); i++)
        nearest_consider(&nearest, parameter.name);
    list_parameters(parameters, &list);
    problem_set(problem, AKG_ERROR_USAGE, "'%.100s' has no parameter '%s'", parameters->name, name);
    if (nearest.best)
        return problem_help(problem, "did you mean '%.60s'?", nearest.best);
    return problem_help(problem, "its parameters: %s", list.length ? list.text : "none");
}

static bool missing_value(const struct parameters *parameters, const akg_parameter *parameter,
                          struct problem *problem)
{
    struct name_list list = {0};
    list_parameters(parameters, &list);
    problem_set(problem, AKG_ERROR_USAGE, "'%.100s' needs a value for '%.60s'", parameters->name,
                parameter->name);
    return problem_help(problem, "write %.60s=VALUE, such as %.60s=%s (the parameters are %s)",
                        parameter->name, parameter->name,
                        parameter->kind == AKG_PARAMETER_ATTRIBUTE ? "2" : "'randn(2,3)'", list.text);
}

/* A problem with a value is told with the name in front, since several values may stand on the line. */
static bool in_value(const char *name, struct problem *problem)
{
    char text[sizeof problem->text];
    if (problem->diagnostics || problem->status != AKG_ERROR_USAGE)
        return false;
    snprintf(text, sizeof text, "%.60s: %.900s", name, problem->text);
    memcpy(problem->text, text, sizeof text);
    return false;
}

/* Reads the values of parameter `position` among the words into arguments->items. */
static bool bind_parameter(const struct parameters *parameters, size_t position, char *const *words,
                           int count, uint64_t seed, struct arguments *arguments, struct problem *problem)
{
    akg_parameter parameter;
    size_t found = 0;
    parameter_at(parameters, position, &parameter);
    bool variadic = parameter.kind == AKG_PARAMETER_VARIADIC;
    for (int i = 0; i < count; i++) {
        if (!arguments_is_value(words[i]) || !name_is(words[i], parameter.name))
            continue;
        if (found && !variadic)
            return problem_set(problem, AKG_ERROR_USAGE, "'%.60s' is given twice", parameter.name);
        struct value *value = &arguments->values[arguments->value_count++];
        const char *text = words[i] + strlen(parameter.name) + 1;
        if (!value_parse(text, &parameter, value_stream(seed, position, found), value, problem))
            return in_value(parameter.name, problem);
        if (variadic)
            arguments->variadic[found] = value->tensor;
        else
            arguments->items[arguments->count++] = value->argument;
        found++;
    }
    if (!found && !variadic && !parameter.optional)
        return missing_value(parameters, &parameter, problem);
    if (variadic && found)
        arguments->items[arguments->count++] =
            (akg_argument){.name = parameter.name,
                           .kind = AKG_ARGUMENT_TENSORS,
                           .as.tensors = {.items = arguments->variadic, .count = found}};
    return true;
}

bool arguments_bind(akg_kernel *kernel, char *const *words, int count, uint64_t seed,
                    struct arguments *arguments, struct problem *problem)
{
    const struct parameters parameters = {akg_kernel_name(kernel), kernel_parameter, kernel,
                                          akg_kernel_parameter_count(kernel)};
    return arguments_bind_to(&parameters, words, count, seed, arguments, problem);
}

bool arguments_bind_to(const struct parameters *parameters, char *const *words, int count, uint64_t seed,
                       struct arguments *arguments, struct problem *problem)
{
    akg_parameter parameter;
    size_t parameter_count = 0, position;
    while (parameter_at(parameters, parameter_count, &parameter))
        parameter_count++;
    for (int i = 0; i < count; i++)
        if (arguments_is_value(words[i]) && !find_parameter(parameters, words[i], &position))
            return unknown_name(parameters, words[i], problem);
    arguments->items = calloc(parameter_count + 1, sizeof *arguments->items);
    arguments->values = calloc((size_t)count + 1, sizeof *arguments->values);
    arguments->variadic = calloc((size_t)count + 1, sizeof(akg_tensor *));
    if (!arguments->items || !arguments->values || !arguments->variadic)
        return problem_memory(problem);
    for (position = 0; position < parameter_count; position++)
        if (!bind_parameter(parameters, position, words, count, seed, arguments, problem))
            return false;
    return true;
}

bool arguments_move_tensor(akg_tensor **tensor, akg_device device, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *copy = NULL;
    akg_device from = akg_tensor_device(*tensor);
    if (from.kind == device.kind && from.index == device.index)
        return true;
    akg_status status = akg_tensor_to(*tensor, device, &copy, &diagnostics);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    akg_tensor_release(*tensor);
    *tensor = copy;
    return true;
}

bool arguments_move(struct arguments *arguments, akg_device device, struct problem *problem)
{
    for (size_t i = 0; i < arguments->value_count; i++) {
        akg_tensor **tensor = &arguments->values[i].tensor, *before = *tensor;
        if (!before)
            continue;
        if (!arguments_move_tensor(tensor, device, problem))
            return false;
        for (size_t k = 0; k < arguments->count; k++)
            if (arguments->items[k].kind == AKG_ARGUMENT_TENSOR && arguments->items[k].as.tensor == before)
                arguments->items[k].as.tensor = *tensor;
        for (size_t k = 0; k < arguments->value_count; k++)
            if (arguments->variadic[k] == before)
                arguments->variadic[k] = *tensor;
    }
    return true;
}

bool arguments_fetch(akg_tensor **tensors, size_t count, struct problem *problem)
{
    const akg_device cpu = {AKG_DEVICE_CPU, 0};
    for (size_t i = 0; i < count; i++)
        if (tensors[i] && !arguments_move_tensor(&tensors[i], cpu, problem))
            return false;
    return true;
}

void arguments_free(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->value_count; i++)
        value_free(&arguments->values[i]);
    free(arguments->values);
    free(arguments->items);
    free(arguments->variadic);
    memset(arguments, 0, sizeof *arguments);
}
