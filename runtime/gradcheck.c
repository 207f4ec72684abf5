/*
 * gradcheck.c: akg_gradient_check: is the gradient of an operator what small changes of its inputs do?
 *
 * Consumes an operator and the arguments of a call. All outputs together are made one number, the sum of
 * their elements weighted by random output gradients. Its gradient by the tape is compared, element by
 * element, with central differences of calls that nothing records. The operator is only ever handed copies of
 * what it may write. Assumes that it computes the same for the same arguments.
 */
#include "gradcheck.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograd.h"
#include "gpu.h"
#include "operator_native.h"

#define DEFAULT_TOLERANCE 1e-6
#define COMPLEX_TOLERANCE 1e-10 /* of the complex step, which has no error of its own but rounding */
#define COMPLEX_STEPS 5000000   /* statements that may be interpreted for it: about a second */
#define DEFAULT_LIMIT 1000

struct akg_gradient_report {
    size_t count;
    akg_gradient_check_row rows[];
};

/* A tensor among the arguments. */
struct check_input {
    const char *name;
    int parameter;
    int64_t item;      /* of a variadic parameter, else -1 */
    size_t argument;   /* where it is handed in */
    akg_tensor *value; /* C-contiguous, our own */
    akg_tensor *leaf;  /* the same on the tape, where it is differentiated by */
    akg_tensor *gradient;
    bool wanted, written; /* differentiated by; written in place by the operator, returned or not */
    bool is_returned;     /* it is an output, too */
    bool has_none;        /* the operator has no gradient for it */
    uint64_t version;     /* of what was handed to the recorded call, before it */
};

struct check {
    akg_operator *callee;
    const akg_gradient_check_options *options;
    akg_argument *arguments;
    size_t argument_count;
    struct check_input *inputs;
    akg_tensor **given; /* per input: what is handed to the operator, in one call */
    size_t input_count, wanted_count;
    akg_tensor **outputs, **weights; /* of the recorded call; NULL weights: not part of the sum */
    akg_tensor **high, **low;        /* of the calls that are compared, as float64 */
    size_t output_count;
    struct gpu_device *device; /* where the gradient is computed; all else is on the host */
    double epsilon, tolerance, complex_tolerance; /* epsilon: of the coarsest dtype that takes part */
    struct gradcheck_complex complex;
    akg_tape *tape;
    akg_diagnostics **diagnostics; /* of the caller */
    akg_diagnostics *list;         /* what is wrong with the gradients */
};

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
static int check_parameter(const struct check *check, size_t index, akg_parameter *parameter)
{
    const char *name = check->arguments[index].name;

    for (size_t i = 0; akg_operator_parameter(check->callee, i, parameter); i++)
        if (name ? strcmp(parameter->name, name) == 0 : i == index)
            return (int)i;
    return -1;
}

static bool check_is_named(const struct check *check, const char *name)
{
    const akg_gradient_check_options *options = check->options;

    for (size_t i = 0; i < options->name_count; i++)
        if (strcmp(options->names[i], name) == 0)
            return true;
    return !options->names;
}

/* A copy on the host, of that dtype. */
static akg_status check_host_cast(const struct check *check, const akg_tensor *tensor, akg_dtype dtype,
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
static akg_status check_send(const struct check *check, const akg_tensor *tensor, akg_tensor **copy)
{
    struct gpu_failure failure = {0};

    tensor_copy_to(tensor, check->device, copy, &failure);
    return gpu_failure_report(&failure, check->diagnostics);
}

/* Takes one tensor: floats in float64, unless the parameter asks for another dtype. */
static akg_status check_take(struct check *check, size_t argument, int index, const akg_parameter *parameter,
                             int64_t item, akg_tensor *tensor)
{
    struct check_input *input = &check->inputs[check->input_count++];
    bool is_open = parameter->dtype == AKG_DTYPE_COUNT;

    *input =
        (struct check_input){.name = parameter->name, .parameter = index, .item = item, .argument = argument};
    if (tensor->device)
        check->device = tensor->device;
    if (!dtype_is_float(tensor->dtype) || !(is_open || dtype_is_float(parameter->dtype)))
        return check_host_cast(check, tensor, tensor->dtype, &input->value);
    input->wanted = check_is_named(check, parameter->name);
    check->wanted_count += input->wanted;
    return check_host_cast(check, tensor, is_open ? AKG_FLOAT64 : parameter->dtype, &input->value);
}

static akg_status check_take_all(struct check *check)
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

/* Every name is that of an input to differentiate by. */
static bool check_names_exist(const struct check *check)
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

static size_t check_count_tensors(const akg_argument *arguments, size_t count)
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += arguments[i].kind == AKG_ARGUMENT_TENSORS ? arguments[i].as.tensors.count : 1;
    return total;
}

/* Tensors that the outputs hold; an operator written in C may be told how many. */
static size_t check_count_outputs(const struct check *check)
{
    size_t total = 0;

    for (size_t i = 0; i < akg_operator_output_count(check->callee); i++) {
        size_t count = native_output_least(check->callee, i);
        const char *name = akg_operator_output_name(check->callee, i);
        for (size_t k = 0; check->callee->native && k < check->argument_count; k++) {
            const akg_argument *argument = &check->arguments[k];
            if (argument->kind == AKG_ARGUMENT_INT && argument->name && strcmp(argument->name, name) == 0 &&
                argument->as.integer >= 0 && argument->as.integer <= CALL_MAX_ITEMS)
                count = (size_t)argument->as.integer;
        }
        total += count;
    }
    return total;
}

/* ---- calls ----------------------------------------------------------------------------------------- */

static void check_drop_given(struct check *check)
{
    autograd_release_tensors(check->given, check->input_count);
}

/* Makes arguments of what is given. */
static void check_put_given(struct check *check)
{
    for (size_t i = 0; i < check->input_count; i++)
        if (check->inputs[i].item < 0)
            check->arguments[check->inputs[i].argument].as.tensor = check->given[i];
}

/* Calls the operator, on a tape or on none. */
static akg_status check_call(struct check *check, akg_tape *tape, akg_tensor **outputs)
{
    return akg_call(tape, check->callee, check->arguments, check->argument_count, outputs,
                    check->diagnostics);
}

/* What takes part in the sum: outputs of floats, and inputs that are differentiated by and then written. */
static bool check_counts(const struct check *check, const akg_tensor *output)
{
    for (size_t i = 0; i < check->input_count; i++)
        if (check->given[i] == output && !check->inputs[i].wanted)
            return false;
    return output && dtype_is_float(output->dtype);
}

static akg_status check_weigh(struct check *check)
{
    for (size_t i = 0; i < check->output_count; i++) {
        akg_tensor *output = check->outputs[i];
        akg_status status;
        if (!check_counts(check, output))
            continue;
        status = akg_tensor_create(output->dtype, output->rank, tensor_shape(output), &check->weights[i]);
        if (status != AKG_OK)
            return status;
        akg_tensor_fill_normal(check->weights[i], check->options->seed + i);
        check->epsilon = fmax(check->epsilon, check_epsilon(output->dtype));
    }
    return AKG_OK;
}

/* A leaf may not be written in place, so the operator gets leaf + 0. */
static akg_status check_make_leaf(struct check *check, size_t index)
{
    struct check_input *input = &check->inputs[index];
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

static akg_status check_record(struct check *check)
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
static akg_status check_differentiate(struct check *check)
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
        struct check_input *input = &check->inputs[i];
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
static bool check_is_apart(const struct check *check, const struct check_input *input)
{
    return !check->options->names && input->wanted && input->is_returned && input->has_none;
}

/* Leaves that out, unless it was asked for, or no other input or output is left. Says whether there is such.
 */
static bool check_leave_out(struct check *check)
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

static void check_forget_gradients(struct check *check)
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

/* The gradients, of all that has a part in them. */
static akg_status check_find_gradients(struct check *check)
{
    akg_status status = check_record(check);

    check_drop_given(check);
    if (status == AKG_OK)
        status = check_differentiate(check);
    if (status != AKG_OK || !check_leave_out(check))
        return status;
    check_forget_gradients(check);
    status = check_record(check);
    check_drop_given(check);
    return status == AKG_OK ? check_differentiate(check) : status;
}

/* Hands in the values as they are now, where they may be written copies of them. */
static akg_status check_give(struct check *check)
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

/* What the call gives: the outputs that take part, as float64. */
static akg_status check_evaluate(struct check *check, akg_tensor **results)
{
    akg_status status;

    autograd_release_tensors(results, check->output_count);
    status = check_give(check);
    if (status == AKG_OK)
        status = check_call(check, NULL, results);
    for (size_t i = 0; status == AKG_OK && i < check->output_count; i++) {
        akg_tensor *result = results[i];
        results[i] = NULL;
        if (check->weights[i])
            status = akg_tensor_cast(result, AKG_FLOAT64, &results[i]);
        akg_tensor_release(result);
    }
    check_drop_given(check);
    return status;
}

/* ---- differences ------------------------------------------------------------------------------------- */

static char *check_address(const akg_tensor *tensor, int64_t place)
{
    return (char *)tensor->data + place * dtype_table[tensor->dtype].size;
}

static double check_read(const akg_tensor *tensor, int64_t place)
{
    return dtype_to_double(tensor->dtype, dtype_load(tensor->dtype, check_address(tensor, place)));
}

static void check_write(const akg_tensor *tensor, int64_t place, double value)
{
    dtype_store(tensor->dtype, check_address(tensor, place),
                dtype_cast(tensor->dtype, AKG_FLOAT64, (union dtype_value){.d = value}));
}

/* The weighted sum of high - low: differences first, for the sums are larger than they. */
static double check_weighted(const struct check *check)
{
    double sum = 0;

    for (size_t i = 0; i < check->output_count; i++) {
        const double *high, *low;
        if (!check->weights[i])
            continue;
        high = check->high[i]->data;
        low = check->low[i]->data;
        for (int64_t k = 0; k < check->high[i]->element_count; k++)
            if (high[k] != low[k])
                sum += (high[k] - low[k]) * check_read(check->weights[i], k);
    }
    return sum;
}

/* The slope between two values of one element. */
static akg_status check_slope(struct check *check, const struct check_input *input, int64_t place,
                              double above, double below, double *slope)
{
    double value = check_read(input->value, place), from, to;
    akg_status status;

    check_write(input->value, place, value + above);
    to = check_read(input->value, place);
    status = check_evaluate(check, check->high);
    check_write(input->value, place, value - below);
    from = check_read(input->value, place);
    if (status == AKG_OK)
        status = check_evaluate(check, check->low);
    check_write(input->value, place, value);
    if (status == AKG_OK)
        *slope = check_weighted(check) / (to - from);
    return status;
}

static double check_step(const struct check *check, const struct check_input *input, int64_t place)
{
    return cbrt(check->epsilon) * fmax(1, fabs(check_read(input->value, place)));
}

static double check_error(double gradient, double expected)
{
    double error = fabs(gradient - expected) / fmax(1, fmax(fabs(gradient), fabs(expected)));

    if (gradient == expected || (isnan(gradient) && isnan(expected)))
        return 0;
    return isfinite(error) ? error : INFINITY;
}

/*
 * The difference at one element. Where the usual step does not confirm the gradient, a longer one (less
 * rounding), a shorter one (less curvature), and what they tell of the limit for a step of 0 are tried too:
 * the nearest counts. None of them can confirm a gradient that is wrong.
 */
static akg_status check_difference(struct check *check, const struct check_input *input, int64_t place,
                                   double gradient, double *expected)
{
    static const double factors[] = {1, 8, 0.125};
    double step = check_step(check, input, place), slopes[3], candidates[5];
    akg_status status = AKG_OK;

    for (int i = 0; status == AKG_OK && i < 3; i++) {
        status = check_slope(check, input, place, step * factors[i], step * factors[i], &slopes[i]);
        if (status == AKG_OK && i == 0) {
            *expected = slopes[0];
            if (check_error(gradient, slopes[0]) <= check->tolerance)
                return AKG_OK;
        }
    }
    if (status != AKG_OK)
        return status;
    memcpy(candidates, slopes, sizeof slopes);
    candidates[3] = slopes[0] + (slopes[0] - slopes[1]) / 63; /* the error is of the square of the step */
    candidates[4] = slopes[2] + (slopes[2] - slopes[0]) / 63;
    for (int i = 1; i < 5; i++)
        if (check_error(gradient, candidates[i]) < check_error(gradient, *expected))
            *expected = candidates[i];
    return AKG_OK;
}

/*
 * The derivative by one element, by the complex step. Where the kernel does not allow it, there is none, and
 * no further attempt.
 */
static akg_status check_complex(struct check *check, size_t index, int64_t place, double *derivative)
{
    const struct call_runner runner = {&check->complex, gradcheck_complex_run};
    akg_tensor **outputs = check->high;
    akg_status status;

    autograd_release_tensors(outputs, check->output_count);
    status = check_give(check);
    check->complex.changed = check->given[index] ? check->given[index]->data : NULL;
    check->complex.place = place;
    if (status == AKG_OK)
        status = call_run_by(check->callee->kernel, check->arguments, check->argument_count, &runner, outputs,
                             check->diagnostics);
    if (status == AKG_ERROR_MEMORY && check->complex.refused) {
        akg_diagnostics_free(*check->diagnostics);
        *check->diagnostics = NULL;
        status = AKG_OK;
    }
    *derivative = 0;
    for (size_t i = 0; status == AKG_OK && !check->complex.refused && i < check->output_count; i++)
        for (int64_t k = 0; check->weights[i] && k < outputs[i]->element_count; k++)
            *derivative += gradcheck_complex_derivative(&check->complex, outputs[i]->data, k) *
                           check_read(check->weights[i], k);
    gradcheck_complex_end(&check->complex);
    autograd_release_tensors(outputs, check->output_count);
    check_drop_given(check);
    return status;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Element number `number` of `tried`: each is from its own part of the tensor. */
static int64_t check_choose(int64_t elements, int64_t tried, int64_t number, const akg_tensor *random)
{
    long double part = (long double)elements / (long double)tried;

    if (tried == elements)
        return number;
    return (int64_t)(part * ((long double)number + (long double)check_read(random, number)));
}

static void check_unravel(const akg_tensor *tensor, int64_t place, akg_gradient_check_row *row)
{
    row->rank = tensor->rank;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        row->index[axis] = place % tensor_shape(tensor)[axis];
        place /= tensor_shape(tensor)[axis];
    }
}

/* Tries one element. What comes of it counts for nothing where the complex step turns out not to be allowed.
 */
static akg_status check_element(struct check *check, size_t index, int64_t place, bool by_complex,
                                akg_gradient_check_row *row, int64_t *worst)
{
    const struct check_input *input = &check->inputs[index];
    double gradient = check_read(input->gradient, place), expected = 0, error;
    akg_status status = by_complex ? check_complex(check, index, place, &expected)
                                   : check_difference(check, input, place, gradient, &expected);

    if (status != AKG_OK || (by_complex && check->complex.refused))
        return status;
    error = check_error(gradient, expected);
    row->wrong += error > (by_complex ? check->complex_tolerance : check->tolerance);
    if (*worst >= 0 && error <= row->error)
        return AKG_OK;
    row->error = error;
    row->gradient = gradient;
    row->expected = expected;
    *worst = place;
    return AKG_OK;
}

static akg_status check_elements(struct check *check, size_t index, bool by_complex,
                                 akg_gradient_check_row *row, int64_t *worst)
{
    const struct check_input *input = &check->inputs[index];
    int64_t limit = check->options->limit ? check->options->limit : DEFAULT_LIMIT;
    akg_tensor *random = NULL;
    akg_status status;

    *row = (akg_gradient_check_row){.name = input->name,
                                    .item = input->item,
                                    .elements = input->value->element_count,
                                    .method = by_complex ? "complex step" : "central differences"};
    row->tried = row->elements < limit ? row->elements : limit;
    *worst = -1;
    status = akg_tensor_create(AKG_FLOAT64, 1, &row->tried, &random);
    if (status == AKG_OK)
        akg_tensor_fill_uniform(random, check->options->seed);
    for (int64_t i = 0; status == AKG_OK && i < row->tried && !(by_complex && check->complex.refused); i++)
        status = check_element(check, index, check_choose(row->elements, row->tried, i, random), by_complex,
                               row, worst);
    if (*worst >= 0)
        check_unravel(input->value, *worst, row);
    akg_tensor_release(random);
    return status;
}

static akg_status check_input_of(struct check *check, size_t index, akg_gradient_check_row *row,
                                 int64_t *worst)
{
    akg_status status = AKG_OK;
    bool by_complex = !check->complex.refused;

    if (by_complex)
        status = check_elements(check, index, true, row, worst);
    if (status == AKG_OK && (!by_complex || check->complex.refused))
        status = check_elements(check, index, false, row, worst);
    return status;
}

/* ---- messages --------------------------------------------------------------------------------------------
 */

/* "dx[1, 2]", "dxs_0[3]" */
static void check_element_name(const akg_gradient_check_row *row, char *name, size_t size)
{
    int length = snprintf(name, size, "d%.100s", row->name);

    if (row->item >= 0)
        length += snprintf(name + length, size - (size_t)length, "_%lld", (long long)row->item);
    for (int i = 0; i < row->rank; i++)
        length += snprintf(name + length, size - (size_t)length, "%s%lld%s", i ? ", " : "[",
                           (long long)row->index[i], i + 1 == row->rank ? "]" : "");
}

/* Whether the slopes on the two sides of an element have nothing to do with each other. */
static akg_status check_has_kink(struct check *check, const struct check_input *input, int64_t place,
                                 bool *has_kink)
{
    double step = check_step(check, input, place), right = 0, left = 0;
    akg_status status = check_slope(check, input, place, step, 0, &right);

    if (status == AKG_OK)
        status = check_slope(check, input, place, 0, step, &left);
    *has_kink = check_error(right, left) > 100 * step;
    return status;
}

static akg_diagnostics *check_list(struct check *check)
{
    const struct akg_module *module = check->callee->module;

    if (!check->list)
        check->list =
            module ? diagnostics_create(module->source.name, module->source.text, module->source.length)
                   : diagnostics_create("", NULL, 0);
    return check->list;
}

static akg_status check_tell(struct check *check, const struct check_input *input,
                             const akg_gradient_check_row *row, bool has_kink)
{
    struct gradcheck_place place;
    struct diagnostic_entry *entry;
    char gradient[40], expected[40], element[128 + 24 * AKG_MAX_RANK];

    check_element_name(row, element, sizeof element);
    snprintf(gradient, sizeof gradient, "%.10g", row->gradient);
    snprintf(expected, sizeof expected, "%.10g", row->expected);
    gradcheck_find_place(check->callee, input->parameter, &place);
    if (!check_list(check))
        return AKG_ERROR_MEMORY;
    entry = diagnostic_add(check->list, MSG_GRADIENT_WRONG, place.span, check->callee->name, element,
                           gradient, expected, row->method);
    diagnostic_note(entry,
                    "note: output gradients are random; of %lld elements tried %lld are wrong, this one most",
                    (long long)row->tried, (long long)row->wrong);
    if (place.is_bprop)
        diagnostic_note(entry, "note: there '%s', the bprop of '%s', computes it", place.function,
                        check->callee->name);
    else if (place.function)
        diagnostic_note(entry, "help: '%s' is differentiated call by call: check what it calls",
                        place.function);
    if (has_kink)
        diagnostic_note(entry, "note: the function has a kink or a step at this element, and so no gradient; "
                               "try other values");
    return AKG_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------- */

static akg_status check_compare(struct check *check, akg_gradient_report *report)
{
    akg_status status = AKG_OK;
    bool wrong = false;

    for (size_t i = 0; status == AKG_OK && i < check->input_count; i++) {
        const struct check_input *input = &check->inputs[i];
        akg_gradient_check_row *row = &report->rows[report->count];
        bool has_kink = false;
        int64_t worst;
        if (!input->wanted)
            continue;
        status = check_input_of(check, i, row, &worst);
        if (status == AKG_OK && row->wrong)
            status = check_has_kink(check, input, worst, &has_kink);
        if (status != AKG_OK)
            break;
        report->count++;
        wrong |= row->wrong > 0;
        if (row->wrong)
            status = check_tell(check, input, row, has_kink);
    }
    return status == AKG_OK && wrong ? AKG_ERROR_PROGRAM : status;
}

static akg_status check_begin(struct check *check, const akg_argument *arguments, size_t count)
{
    size_t tensors = check_count_tensors(arguments, count) + 1;

    check->output_count = check_count_outputs(check);
    check->inputs = memory_zeroed(tensors, sizeof *check->inputs);
    check->given = memory_zeroed(tensors, sizeof *check->given);
    check->outputs = memory_zeroed(4 * check->output_count + 1, sizeof *check->outputs);
    if (!check->inputs || !check->given || !check->outputs)
        return AKG_ERROR_MEMORY;
    check->weights = check->outputs + check->output_count;
    check->high = check->weights + check->output_count;
    check->low = check->high + check->output_count;
    akg_status status = check_take_all(check);
    if (status == AKG_OK && !check_names_exist(check))
        return AKG_ERROR_USAGE;
    return status;
}

static void check_end(struct check *check)
{
    for (size_t i = 0; check->inputs && i < check->input_count; i++)
        akg_tensor_release(check->inputs[i].value);
    if (check->given)
        check_drop_given(check);
    check_forget_gradients(check);
    memory_free(check->arguments);
    memory_free(check->inputs);
    memory_free(check->given);
    memory_free(check->outputs);
}

static void check_set_limits(struct check *check)
{
    double given = check->options->tolerance;
    bool coarse = check->epsilon > DBL_EPSILON;

    check->tolerance = given > 0 ? given : coarse ? cbrt(check->epsilon) : DEFAULT_TOLERANCE;
    check->complex_tolerance = given > 0 || coarse ? check->tolerance : COMPLEX_TOLERANCE;
    check->complex.steps = COMPLEX_STEPS;
    check->complex.refused = check->options->differences || !check->callee->kernel;
}

static akg_status check_run(struct check *check, const akg_argument *arguments, size_t count,
                            akg_gradient_report **report)
{
    akg_status status;

    check->argument_count = count;
    check->arguments = memory_allocate((count + 1) * sizeof *arguments);
    if (!check->arguments)
        return AKG_ERROR_MEMORY;
    if (count)
        memcpy(check->arguments, arguments, count * sizeof *arguments);
    status = check_begin(check, arguments, count);
    if (status == AKG_OK)
        status = check_find_gradients(check);
    if (status != AKG_OK)
        return status;
    autograd_release_tensors(check->outputs, check->output_count); /* and what was recorded */
    check_set_limits(check);
    *report = memory_zeroed(1, sizeof **report + check->wanted_count * sizeof *(*report)->rows);
    return *report ? check_compare(check, *report) : AKG_ERROR_MEMORY;
}

static bool check_is_usable(const akg_gradient_check_options *options)
{
    for (size_t i = 0; options->names && i < options->name_count; i++)
        if (!options->names[i])
            return false;
    return options->tolerance >= 0 && options->limit >= 0 && (options->names || !options->name_count);
}

akg_status akg_gradient_check(akg_operator *callee, const akg_argument *arguments, size_t count,
                              const akg_gradient_check_options *options, akg_gradient_report **report,
                              akg_diagnostics **diagnostics)
{
    static const akg_gradient_check_options none;
    struct check check = {.callee = callee, .options = options ? options : &none, .diagnostics = diagnostics};
    akg_diagnostics *told = NULL;
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    if (report)
        *report = NULL;
    if (!callee || !report || !check_is_usable(check.options) || !call_arguments_are_there(arguments, count))
        return AKG_ERROR_USAGE;
    check.diagnostics = &told;
    status = check_run(&check, arguments, count, report);
    check_end(&check);
    if (told) { /* by a call */
        akg_diagnostics_free(check.list);
        check.list = told;
    }
    if (status == AKG_ERROR_USAGE && !check.list)
        return status;
    if (status != AKG_OK && !check.list)
        check.list = diagnostics_create("", NULL, 0);
    status = operator_finish(check.list, status, diagnostics);
    if (status != AKG_OK && status != AKG_ERROR_PROGRAM) {
        akg_gradient_report_release(*report);
        *report = NULL;
    }
    return status;
}

bool akg_gradient_report_at(const akg_gradient_report *report, size_t index, akg_gradient_check_row *row)
{
    if (!report || !row || index >= report->count)
        return false;
    *row = report->rows[index];
    return true;
}

void akg_gradient_report_release(akg_gradient_report *report)
{
    memory_free(report);
}
