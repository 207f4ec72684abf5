/*
 * callee.c: functions of programs and operators of libraries, alike for the subcommands that call them.
 */
#include "callee.h"

#include <stdlib.h>
#include <string.h>

/* ---- libraries ------------------------------------------------------------------- */

bool callee_load(const struct options *options, akg_registry **registry, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_registry_create(registry);
    for (size_t i = 0; i < options->load_count && status == AKG_OK; i++)
        status = akg_load_library(*registry, options->loads[i], &diagnostics);
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

bool callee_unknown_operator(const struct callee *callee, const char *name, struct problem *problem)
{
    struct nearest nearest = {.word = name};
    struct name_list list = {0};
    for (size_t i = 0; i < akg_registry_operator_count(callee->registry); i++) {
        const char *known = akg_operator_name(akg_registry_operator_at(callee->registry, i));
        nearest_consider(&nearest, known);
        name_list_add(&list, known);
    }
    problem_set(problem, AKG_ERROR_USAGE, "the libraries of --load have no operator '%.100s'", name);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "their operators: %s", list.length ? list.text : "none");
}

/* Options that are about compiling a program. */
static bool check_options(const struct options *options, struct problem *problem)
{
    const char *option = options->time                             ? "--time"
                         : options->strict                         ? "--strict"
                         : options->any_shape                      ? "--any-shape"
                         : options->tf32                           ? "--tf32"
                         : options->target                         ? "--target"
                         : options->trust_indices                  ? "--trust-indices"
                         : options->backend != JIT_BACKEND_DEFAULT ? "--backend"
                         : options->tier != JIT_TIER_DEFAULT       ? "--tier"
                                                                   : NULL;
    if (!option)
        return true;
    problem_set(problem, AKG_ERROR_USAGE, "%s and --load are two things", option);
    return problem_help(problem, "%s is for programs; operators of a library are called as they are", option);
}

static bool open_operator(const struct options *options, struct program *program, struct callee *callee,
                          struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    const char *name = program->source.name;
    if (program->kernel_name)
        return problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.100s'", program->kernel_name);
    if (!check_options(options, problem) || !callee_load(options, &callee->registry, problem))
        return false;
    akg_status status = akg_registry_find(callee->registry, name, &callee->operation, &diagnostics);
    if (status == AKG_ERROR_USAGE) {
        akg_diagnostics_free(diagnostics);
        return callee_unknown_operator(callee, name, problem);
    }
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

/* ---- opening --------------------------------------------------------------------- */

bool callee_open(const struct options *options, struct program *program, struct callee *callee,
                 struct problem *problem)
{
    if (options->load_count)
        return open_operator(options, program, callee, problem);
    return program_compile(options, program, problem) && program_kernel(program, &callee->kernel, problem);
}

bool callee_register(struct callee *callee, const struct program *program, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_status status = AKG_OK;
    if (callee->operation)
        return true;
    status = akg_registry_create(&callee->registry);
    if (status == AKG_OK)
        status = akg_registry_add_module(callee->registry, program->module, &diagnostics);
    if (status == AKG_OK)
        status = akg_registry_find(callee->registry, akg_kernel_name(callee->kernel), &callee->operation,
                                   &diagnostics);
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

static void drop_names(struct callee *callee)
{
    for (size_t i = 0; i < callee->output_count; i++)
        free(callee->output_names[i]);
    free(callee->output_names);
    callee->output_names = NULL;
    callee->output_count = 0;
}

void callee_close(struct callee *callee)
{
    drop_names(callee);
    akg_operation_release(callee->performed);
    akg_registry_release(callee->registry);
    memset(callee, 0, sizeof *callee);
}

/* ---- asking ---------------------------------------------------------------------- */

const char *callee_name(const struct callee *callee)
{
    return callee->kernel ? akg_kernel_name(callee->kernel) : akg_operator_name(callee->operation);
}

/* The parameters, and behind them the outputs, as attributes that may be left out. */
static bool operator_parameter(const void *operation, size_t index, akg_parameter *parameter)
{
    size_t count = akg_operator_parameter_count(operation);
    if (index < count || akg_operator_kernel(operation))
        return akg_operator_parameter(operation, index, parameter);
    *parameter = (akg_parameter){.name = akg_operator_output_name(operation, index - count),
                                 .kind = AKG_PARAMETER_ATTRIBUTE,
                                 .optional = true,
                                 .dtype = AKG_DTYPE_COUNT,
                                 .rank = -1};
    return parameter->name;
}

bool callee_bind(const struct callee *callee, const struct program *program, uint64_t seed,
                 struct arguments *arguments, struct problem *problem)
{
    const struct parameters parameters = {callee_name(callee), operator_parameter, callee->operation,
                                          akg_operator_parameter_count(callee->operation)};
    if (callee->kernel)
        return arguments_bind(callee->kernel, program->values, program->value_count, seed, arguments,
                              problem);
    return arguments_bind_to(&parameters, program->values, program->value_count, seed, arguments, problem);
}

const char *callee_output_name(const struct callee *callee, size_t index)
{
    if (callee->kernel)
        return akg_kernel_output_name(callee->kernel, index);
    return index < callee->output_count ? callee->output_names[index] : NULL;
}

/* ---- calling --------------------------------------------------------------------- */

/* Hands one argument to the operation. An argument that is None is one left out. */
static akg_status give(akg_operation *operation, const akg_argument *argument)
{
    switch (argument->kind) {
    case AKG_ARGUMENT_NONE:
        return AKG_OK;
    case AKG_ARGUMENT_TENSOR:
        return akg_operation_input(operation, argument->name, &argument->as.tensor, 1);
    case AKG_ARGUMENT_TENSORS:
        return akg_operation_input(operation, argument->name, argument->as.tensors.items,
                                   argument->as.tensors.count);
    default:
        return akg_operation_attribute(operation, argument);
    }
}

/* "out", or "out_1" where an output is a number of tensors. */
static bool name_outputs(struct callee *callee, size_t count, struct problem *problem)
{
    int64_t item = -1;
    drop_names(callee);
    callee->output_names = calloc(count + 1, sizeof *callee->output_names);
    if (!callee->output_names)
        return problem_memory(problem);
    for (size_t i = 0; i < count; i++) {
        const char *name = akg_operation_output_name(callee->performed, i, &item);
        callee->output_names[i] =
            item < 0 ? string_format("%s", name) : string_format("%s_%lld", name, (long long)item);
        callee->output_count++;
        if (!callee->output_names[i])
            return problem_memory(problem);
    }
    return true;
}

static bool perform(struct callee *callee, akg_tape *tape, const akg_argument *arguments, size_t count,
                    struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    const char *name = akg_operator_name(callee->operation);
    akg_operation_release(callee->performed);
    callee->performed = NULL;
    akg_status status = akg_operation_create(callee->registry, name, &callee->performed, &diagnostics);
    for (size_t i = 0; i < count && status == AKG_OK; i++)
        status = give(callee->performed, &arguments[i]);
    if (status == AKG_OK)
        status = akg_operation_run(callee->performed, tape, &diagnostics);
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

bool callee_call(struct callee *callee, akg_tape *tape, const akg_argument *arguments, size_t count,
                 akg_tensor ***outputs, size_t *output_count, struct problem *problem)
{
    if (!perform(callee, tape, arguments, count, problem))
        return false;
    size_t made = akg_operation_output_count(callee->performed);
    akg_tensor **list = calloc(made + 1, sizeof(akg_tensor *));
    if (!list)
        return problem_memory(problem);
    for (size_t i = 0; i < made; i++)
        list[i] = akg_tensor_retain(akg_operation_output_at(callee->performed, i));
    *outputs = list;
    *output_count = made;
    return name_outputs(callee, made, problem);
}
