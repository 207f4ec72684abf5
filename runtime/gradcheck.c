/*
 * gradcheck.c: akg_gradient_check: is the gradient of an operator what small changes of its inputs do?
 *
 * Consumes an operator and the arguments of a call. All outputs together are made one number, the sum of
 * their elements weighted by random output gradients. Its gradient by the tape is compared, element by
 * element, with central differences of calls that nothing records. The operator is only ever handed copies of
 * what it may write. Assumes that it computes the same for the same arguments.
 */
#include "gradcheck_private.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_TOLERANCE 1e-6
#define COMPLEX_TOLERANCE 1e-10 /* of the complex step, which has no error of its own but rounding */
#define COMPLEX_STEPS 5000000   /* statements that may be interpreted for it: about a second */
#define DEFAULT_LIMIT 1000

struct akg_gradient_report {
    size_t count;
    akg_gradient_check_row rows[];
};

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
static double check_weighted(const struct gradcheck *check)
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
static akg_status check_slope(struct gradcheck *check, const struct gradcheck_input *input, int64_t place,
                              double above, double below, double *slope)
{
    double value = check_read(input->value, place), from, to;
    akg_status status;

    check_write(input->value, place, value + above);
    to = check_read(input->value, place);
    status = gradcheck_evaluate(check, check->high);
    check_write(input->value, place, value - below);
    from = check_read(input->value, place);
    if (status == AKG_OK)
        status = gradcheck_evaluate(check, check->low);
    check_write(input->value, place, value);
    if (status == AKG_OK)
        *slope = check_weighted(check) / (to - from);
    return status;
}

static double check_step(const struct gradcheck *check, const struct gradcheck_input *input, int64_t place)
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
static akg_status check_difference(struct gradcheck *check, const struct gradcheck_input *input,
                                   int64_t place, double gradient, double *expected)
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
static akg_status check_complex(struct gradcheck *check, size_t index, int64_t place, double *derivative)
{
    const struct call_runner runner = {&check->complex, gradcheck_complex_run};
    akg_tensor **outputs = check->high;
    akg_status status;

    autograd_release_tensors(outputs, check->output_count);
    status = gradcheck_give(check);
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
    gradcheck_drop_given(check);
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
static akg_status check_element(struct gradcheck *check, size_t index, int64_t place, bool by_complex,
                                akg_gradient_check_row *row, int64_t *worst)
{
    const struct gradcheck_input *input = &check->inputs[index];
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

static akg_status check_elements(struct gradcheck *check, size_t index, bool by_complex,
                                 akg_gradient_check_row *row, int64_t *worst)
{
    const struct gradcheck_input *input = &check->inputs[index];
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

static akg_status check_input_of(struct gradcheck *check, size_t index, akg_gradient_check_row *row,
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

/* Whether the slopes on the two sides of an element have nothing to do with each other, or one is none. */
static akg_status check_has_kink(struct gradcheck *check, const struct gradcheck_input *input, int64_t place,
                                 bool *has_kink)
{
    double step = check_step(check, input, place), right = 0, left = 0;
    akg_status status = check_slope(check, input, place, step, 0, &right);

    if (status == AKG_OK)
        status = check_slope(check, input, place, 0, step, &left);
    *has_kink = check_error(right, left) > 100 * step || !isfinite(right) || !isfinite(left);
    return status;
}

static akg_diagnostics *check_list(struct gradcheck *check)
{
    const struct akg_module *module = check->callee->module;

    if (!check->list)
        check->list =
            module ? diagnostics_create(module->source.name, module->source.text, module->source.length)
                   : diagnostics_create("", NULL, 0);
    return check->list;
}

static akg_status check_tell(struct gradcheck *check, const struct gradcheck_input *input,
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
        diagnostic_note(entry,
                        "note: the function has a kink or a step at this element, or no value beside it, and "
                        "so no gradient; try other values");
    return AKG_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------- */

static akg_status check_compare(struct gradcheck *check, akg_gradient_report *report)
{
    akg_status status = AKG_OK;
    bool wrong = false;

    for (size_t i = 0; status == AKG_OK && i < check->input_count; i++) {
        const struct gradcheck_input *input = &check->inputs[i];
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

static akg_status check_begin(struct gradcheck *check, const akg_argument *arguments, size_t count)
{
    size_t tensors = gradcheck_count_tensors(arguments, count) + 1;

    check->output_count = gradcheck_count_outputs(check);
    check->inputs = memory_zeroed(tensors, sizeof *check->inputs);
    check->given = memory_zeroed(tensors, sizeof *check->given);
    check->outputs = memory_zeroed(4 * check->output_count + 1, sizeof *check->outputs);
    if (!check->inputs || !check->given || !check->outputs)
        return AKG_ERROR_MEMORY;
    check->weights = check->outputs + check->output_count;
    check->high = check->weights + check->output_count;
    check->low = check->high + check->output_count;
    akg_status status = gradcheck_take_all(check);
    if (status == AKG_OK && !gradcheck_names_exist(check))
        return AKG_ERROR_USAGE;
    return status;
}

static void check_end(struct gradcheck *check)
{
    for (size_t i = 0; check->inputs && i < check->input_count; i++)
        akg_tensor_release(check->inputs[i].value);
    if (check->given)
        gradcheck_drop_given(check);
    gradcheck_forget_gradients(check);
    memory_free(check->arguments);
    memory_free(check->inputs);
    memory_free(check->given);
    memory_free(check->outputs);
}

static void check_set_limits(struct gradcheck *check)
{
    double given = check->options->tolerance;
    bool coarse = check->epsilon > DBL_EPSILON;

    check->tolerance = given > 0 ? given : coarse ? cbrt(check->epsilon) : DEFAULT_TOLERANCE;
    check->complex_tolerance = given > 0 || coarse ? check->tolerance : COMPLEX_TOLERANCE;
    check->complex.steps = COMPLEX_STEPS;
    check->complex.refused = check->options->differences || !check->callee->kernel;
}

static akg_status check_run(struct gradcheck *check, const akg_argument *arguments, size_t count,
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
        status = gradcheck_find_gradients(check);
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
    struct gradcheck check = {
        .callee = callee, .options = options ? options : &none, .diagnostics = diagnostics};
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
