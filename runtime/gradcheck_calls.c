/*
 * gradcheck_calls.c: the calls of an operator whose gradient is checked.
 *
 * Consumes the arguments of a call; produces copies of their tensors, the gradients of a call on a tape, and
 * the outputs of calls that nothing records. Floats are float64, unless a parameter asks for another dtype.
 * What the operator writes in place and has no gradient for, as a running mean, is left out.
 */
#include "gradcheck_private.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "operator_native.h"

static double check_epsilon(akg_dtype dtype)
{
    static const double epsilons[AKG_DTYPE_COUNT] = {[AKG_FLOAT16] = 0x1p-10,
                                                     [AKG_BFLOAT16] = 0x1p-7,
                                                     [AKG_FLOAT32] = FLT_EPSILON,
                                                     [AKG_FLOAT64] = DBL_EPSILON};
    return epsilons[dtype];
}

/* ---- the arguments ------------------------------------------------------------------------------- */

/* The parameter that argument number `index` is for, or -1. */
static int check_parameter(const struct gradcheck *check, size_t index, akg_parameter *parameter)
{
    const char *name = check->arguments[index].name;

    for (size_t i = 0; akg_operator_parameter(check->callee, i, parameter); i++)
        if (name ? strcmp(parameter->name, name) == 0 : i == index)
            return (int)i;
    return -1;
}

static bool check_is_named(const struct gradcheck *check, const char *name)
{
    const akg_gradient_check_options *options = check->options;

    for (size_t i = 0; i < options->name_count; i++)
        if (strcmp(options->names[i], name) == 0)
            return true;
    return !options->names;
}

/* A copy on the host, of that dtype. */
static akg_status check_host_cast(const struct gradcheck *check, const akg_tensor *tensor, akg_dtype dtype,
                                  akg_tensor **copy)
{
    struct gpu_failure failure = {0};
    akg_tensor *host;
    akg_status status = tensor_to_host(tensor, &host, &failure);

    if (status != AKG_OK)
        return gpu_failure_report(&failure, check->diagnostics);
    status = akg_tensor_cast(host, dtype, copy);
    akg_tensor_release(host);
    return status;
}

/* A copy where the gradient is computed. */
static akg_status check_send(const struct gradcheck *check, const akg_tensor *tensor, akg_tensor **copy)
{
    struct gpu_failure failure = {0};

    tensor_copy_to(tensor, check->device, copy, &failure);
    return gpu_failure_report(&failure, check->diagnostics);
}

/* Takes one tensor: floats in float64, unless the parameter asks for another dtype. */
static akg_status check_take(struct gradcheck *check, size_t argument, int index,
                             const akg_parameter *parameter, int64_t item, akg_tensor *tensor)
{
    struct gradcheck_input *input = &check->inputs[check->input_count++];
    bool is_open = parameter->dtype == AKG_DTYPE_COUNT;

    *input = (struct gradcheck_input){
        .name = parameter->name, .parameter = index, .item = item, .argument = argument};
    if (tensor->device)
        check->device = tensor->device;
    if (!dtype_is_float(tensor->dtype) || !(is_open || dtype_is_float(parameter->dtype)))
        return check_host_cast(check, tensor, tensor->dtype, &input->value);
    input->wanted = check_is_named(check, parameter->name);
    check->wanted_count += input->wanted;
    return check_host_cast(check, tensor, is_open ? AKG_FLOAT64 : parameter->dtype, &input->value);
}

akg_status gradcheck_take_all(struct gradcheck *check)
{
    akg_status status = AKG_OK;

    for (size_t i = 0; status == AKG_OK && i < check->argument_count; i++) {
        akg_argument *argument = &check->arguments[i];
        akg_parameter parameter;
        int index = check_parameter(check, i, &parameter);
        if (index < 0 || parameter.kind == AKG_PARAMETER_ATTRIBUTE)
            continue; /* the call will tell what is wrong with it, if anything is */
        if (argument->kind == AKG_ARGUMENT_TENSOR)
            status = check_take(check, i, index, &parameter, -1, argument->as.tensor);
        if (argument->kind != AKG_ARGUMENT_TENSORS)
            continue;
        akg_tensor *const *items = argument->as.tensors.items;
        argument->as.tensors.items = &check->given[check->input_count];
        for (size_t k = 0; status == AKG_OK && k < argument->as.tensors.count; k++)
            status = check_take(check, i, index, &parameter, (int64_t)k, items[k]);
    }
    return status;
}

bool gradcheck_names_exist(const struct gradcheck *check)
{
    for (size_t i = 0; i < check->options->name_count; i++) {
        bool found = false;
        for (size_t k = 0; k < check->input_count; k++)
            found |= check->inputs[k].wanted && strcmp(check->inputs[k].name, check->options->names[i]) == 0;
        if (!found)
            return false;
    }
    return true;
}

size_t gradcheck_count_tensors(const akg_argument *arguments, size_t count)
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += arguments[i].kind == AKG_ARGUMENT_TENSORS ? arguments[i].as.tensors.count : 1;
    return total;
}

size_t gradcheck_count_outputs(const struct gradcheck *check)
{
    size_t total = 0;

    for (size_t i = 0; i < akg_operator_output_count(check->callee); i++) {
        size_t count = native_output_least(check->callee, i);
        const char *name = akg_operator_output_name(check->callee, i);
        for (size_t k = 0; check->callee->native && k < check->argument_count; k++) {
            const akg_argument *argument = &check->arguments[k];
            if (argument->name && strcmp(argument->name, name) == 0 && native_is_count(argument))
                count = (size_t)argument->as.integer;
        }
        total += count;
    }
    return total;
}

/* ---- calls ----------------------------------------------------------------------------------------- */

void gradcheck_drop_given(struct gradcheck *check)
{
    autograd_release_tensors(check->given, check->input_count);
}

/* Makes arguments of what is given. */
static void check_put_given(struct gradcheck *check)
{
    for (size_t i = 0; i < check->input_count; i++)
        if (check->inputs[i].item < 0)
            check->arguments[check->inputs[i].argument].as.tensor = check->given[i];
}

/* Calls the operator, on a tape or on none. */
static akg_status check_call(struct gradcheck *check, akg_tape *tape, akg_tensor **outputs)
{
    return akg_call(tape, check->callee, check->arguments, check->argument_count, outputs,
                    check->diagnostics);
}

/* What takes part in the sum: outputs of floats; inputs that are written where they are differentiated by, or
 * where there is nothing else. */
static bool check_counts(const struct gradcheck *check, const akg_tensor *output, bool else_none)
{
    for (size_t i = 0; i < check->input_count; i++)
        if (check->given[i] == output && !check->inputs[i].wanted && !else_none)
            return false;
    return output && dtype_is_float(output->dtype);
}

static akg_status check_weigh_some(struct gradcheck *check, bool else_none, size_t *count)
{
    for (size_t i = 0; i < check->output_count; i++) {
        akg_tensor *output = check->outputs[i];
        akg_status status;
        if (!check_counts(check, output, else_none))
            continue;
        status = akg_tensor_create(output->dtype, output->rank, tensor_shape(output), &check->weights[i]);
        if (status != AKG_OK)
            return status;
        akg_tensor_fill_normal(check->weights[i], check->options->seed + i);
        check->epsilon = fmax(check->epsilon, check_epsilon(output->dtype));
        ++*count;
    }
    return AKG_OK;
}

static akg_status check_weigh(struct gradcheck *check)
{
    size_t count = 0;
    akg_status status = check_weigh_some(check, false, &count);

    if (status == AKG_OK && !count)
        status = check_weigh_some(check, true, &count);
    if (status != AKG_OK || count)
        return status;
    for (size_t i = 0; i < check->output_count; i++)
        if (check->outputs[i])
            return failure_report(check->diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_DTYPE,
                                  dtype_table[check->outputs[i]->dtype].name, NULL, NULL, NULL);
    return AKG_OK;
}

/* A leaf may not be written in place, so the operator gets leaf + 0. */
static akg_status check_make_leaf(struct gradcheck *check, size_t index)
{
    struct gradcheck_input *input = &check->inputs[index];
    akg_tensor *zeros = NULL;
    akg_status status = check_send(check, input->value, &input->leaf);

    if (status == AKG_OK)
        status = akg_tensor_set_requires_grad(input->leaf, true, check->diagnostics);
    if (status == AKG_OK)
        status = autograd_filled(NULL, &input->leaf->node->outputs[0], 0, &zeros, check->diagnostics);
    if (status == AKG_OK)
        status = autograd_add(check->tape, input->leaf, zeros, &check->given[index], check->diagnostics);
    akg_tensor_release(zeros);
    check->epsilon = fmax(check->epsilon, check_epsilon(input->value->dtype));
    return status;
}

static akg_status check_record(struct gradcheck *check)
{
    akg_status status = akg_tape_create(check->callee->registry, &check->tape);

    for (size_t i = 0; status == AKG_OK && i < check->input_count; i++)
        status = check->inputs[i].wanted ? check_make_leaf(check, i)
                                         : check_send(check, check->inputs[i].value, &check->given[i]);
    check_put_given(check);
    for (size_t i = 0; i < check->input_count; i++)
        check->inputs[i].version = akg_tensor_version(check->given[i]);
    if (status == AKG_OK)
        status = check_call(check, check->tape, check->outputs);
    if (status == AKG_OK)
        status = check_weigh(check);
    for (size_t i = 0; status == AKG_OK && i < check->input_count; i++) {
        check->inputs[i].written = akg_tensor_version(check->given[i]) != check->inputs[i].version;
        for (size_t k = 0; k < check->output_count; k++)
            check->inputs[i].is_returned |= check->outputs[k] == check->given[i];
        check->inputs[i].written |= check->inputs[i].is_returned;
    }
    return status;
}

/* The gradients by the tape; zeros where there is none. */
static akg_status check_differentiate(struct gradcheck *check)
{
    size_t roots = 0, leaves = 0;
    akg_tensor **tensors = memory_zeroed(2 * (check->output_count + check->input_count) + 1, sizeof *tensors);
    akg_tensor **gradients = tensors ? tensors + check->output_count : NULL;
    akg_tensor **by = tensors ? gradients + check->output_count : NULL;
    akg_status status = tensors ? AKG_OK : AKG_ERROR_MEMORY;

    for (size_t i = 0; tensors && i < check->output_count; i++)
        if (check->weights[i] && akg_tensor_requires_grad(check->outputs[i])) {
            tensors[roots] = check->outputs[i];
            if (status == AKG_OK)
                status = check_send(check, check->weights[i], &gradients[roots++]);
        }
    for (size_t i = 0; tensors && i < check->input_count; i++)
        if (check->inputs[i].wanted)
            by[leaves++] = check->inputs[i].leaf;
    if (status == AKG_OK && roots)
        status = akg_gradients(check->tape, tensors, gradients, roots, by, leaves, NULL, by + leaves,
                               check->diagnostics);
    for (size_t i = 0, k = 0; tensors && i < check->input_count; i++) {
        struct gradcheck_input *input = &check->inputs[i];
        if (!input->wanted)
            continue;
        akg_tensor *gradient = by[leaves + k++];
        input->has_none = !gradient;
        if (gradient && status == AKG_OK)
            status = check_host_cast(check, gradient, AKG_FLOAT64, &input->gradient);
        else if (status == AKG_OK)
            status = akg_tensor_create(AKG_FLOAT64, input->value->rank, tensor_shape(input->value),
                                       &input->gradient);
        akg_tensor_release(gradient);
    }
    if (tensors)
        autograd_release_tensors(gradients, roots);
    memory_free(tensors);
    return status;
}

/* What the operator writes in place, returns and has no gradient for, as a running mean. */
static bool check_is_apart(const struct gradcheck *check, const struct gradcheck_input *input)
{
    return !check->options->names && input->wanted && input->is_returned && input->has_none;
}

/* Leaves that out, unless it was asked for, or no other input or output is left. Says whether there is such.
 */
static bool check_leave_out(struct gradcheck *check)
{
    size_t apart = 0, counted = 0;

    for (size_t i = 0; i < check->input_count; i++)
        apart += check_is_apart(check, &check->inputs[i]);
    for (size_t i = 0; i < check->output_count; i++)
        counted += check->weights[i] != NULL;
    if (apart == 0 || apart == check->wanted_count || apart == counted)
        return false;
    for (size_t i = 0; i < check->input_count; i++)
        if (check_is_apart(check, &check->inputs[i]))
            check->inputs[i].wanted = false;
    check->wanted_count -= apart;
    return true;
}

void gradcheck_forget_gradients(struct gradcheck *check)
{
    for (size_t i = 0; check->inputs && i < check->input_count; i++) {
        autograd_release_tensors(&check->inputs[i].leaf, 1);
        autograd_release_tensors(&check->inputs[i].gradient, 1);
    }
    if (check->outputs)
        autograd_release_tensors(check->outputs, 4 * check->output_count);
    akg_tape_release(check->tape);
    check->tape = NULL;
}

akg_status gradcheck_find_gradients(struct gradcheck *check)
{
    akg_status status = check_record(check);

    gradcheck_drop_given(check);
    if (status == AKG_OK)
        status = check_differentiate(check);
    if (status != AKG_OK || !check_leave_out(check))
        return status;
    gradcheck_forget_gradients(check);
    status = check_record(check);
    gradcheck_drop_given(check);
    return status == AKG_OK ? check_differentiate(check) : status;
}

akg_status gradcheck_give(struct gradcheck *check)
{
    akg_status status = AKG_OK;

    for (size_t i = 0; status == AKG_OK && i < check->input_count; i++)
        if (check->inputs[i].written)
            status = akg_tensor_copy(check->inputs[i].value, &check->given[i]);
        else
            check->given[i] = akg_tensor_retain(check->inputs[i].value);
    check_put_given(check);
    return status;
}

akg_status gradcheck_evaluate(struct gradcheck *check, akg_tensor **results)
{
    akg_status status;

    autograd_release_tensors(results, check->output_count);
    status = gradcheck_give(check);
    if (status == AKG_OK)
        status = check_call(check, NULL, results);
    for (size_t i = 0; status == AKG_OK && i < check->output_count; i++) {
        akg_tensor *result = results[i];
        results[i] = NULL;
        if (check->weights[i])
            status = akg_tensor_cast(result, AKG_FLOAT64, &results[i]);
        akg_tensor_release(result);
    }
    gradcheck_drop_given(check);
    return status;
}
