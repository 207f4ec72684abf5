/*
 * test_stdlib.c: every operator of the standard library, by the table tests/stdlib/operators.def.
 *
 * Each case is tried with every dtype of its row: by libtcc's code, with strided arguments, and by the
 * interpreter; the first is compared with the reference, the others with the first, bit by bit. Gradients are
 * compared with central differences in float64.
 */
#include "../../dsl/standard.h"
#include "../stdlib/reference.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SET(dtype) (1u << (dtype))
#define FLOATS (SET(AKG_FLOAT16) | SET(AKG_BFLOAT16) | SET(AKG_FLOAT32) | SET(AKG_FLOAT64))
#define SIGNED (FLOATS | SET(AKG_INT8) | SET(AKG_INT16) | SET(AKG_INT32) | SET(AKG_INT64))
#define NUMBERS (SIGNED | SET(AKG_UINT8) | SET(AKG_UINT16) | SET(AKG_UINT32) | SET(AKG_UINT64))
#define ALL (NUMBERS | SET(AKG_BOOL))

enum gradient { NONE, GRADIENT, COMPOSED };

struct row {
    const char *name;
    unsigned dtypes;
    double bound;
    enum gradient gradient;
    const char *cases;
    void (*reference)(struct trial *trial);
};

static const struct row rows[] = {
#define OPERATOR(name, dtypes, bound, gradient, cases)                                                       \
    {#name, dtypes, bound, gradient, cases, reference_##name},
#include "../stdlib/operators.def"
#undef OPERATOR
};

/* ---- the library's files ------------------------------------------------------------------- */

static struct {
    const struct standard_file *file;
    akg_module *module;
} modules[32];
static size_t module_count;

static akg_module *module_of(const struct standard_file *file)
{
    jit_source source = {.name = file->name, .text = file->text, .length = file->length};
    jit_options options = {.strict = true}; /* so that results can be compared to the bit */
    akg_diagnostics *diagnostics;
    char *text = NULL;

    for (size_t i = 0; i < module_count; i++)
        if (modules[i].file == file)
            return modules[i].module;
    modules[module_count].file = file;
    if (jit_compile(&source, &options, &modules[module_count].module, &diagnostics) != AKG_OK ||
        diagnostics) {
        akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &text);
        fprintf(stderr, "%s", text ? text : "no message\n");
        akg_free(text);
    }
    CHECK(!diagnostics); /* no warning either */
    akg_diagnostics_free(diagnostics);
    return modules[module_count++].module;
}

/* ---- calls ------------------------------------------------------------------------------------ */

enum layout { PLAIN, STRIDED };

/* A copy whose elements lie two apart on every axis, backwards on every second one. */
static akg_tensor *strided_copy(const struct array *array)
{
    int64_t shape[AKG_MAX_RANK], strides[AKG_MAX_RANK], index[AKG_MAX_RANK], step = 1, offset = 0;
    akg_tensor *base, *view = NULL;

    for (int k = 0; k < array->rank; k++)
        shape[k] = 2 * array->shape[k] + 1;
    for (int k = array->rank - 1; k >= 0; k--) {
        strides[k] = k % 2 ? -2 * step : 2 * step;
        offset += (k % 2 ? shape[k] - 2 : 1) * step;
        step *= shape[k];
    }
    if (akg_tensor_create(array->dtype, array->rank, shape, &base) != AKG_OK)
        abort();
    if (array->rank == 0 || array->count == 0)
        view = akg_tensor_retain(array->tensor);
    else if (akg_tensor_view(base, array->rank, array->shape, strides, offset, &view) != AKG_OK)
        abort();
    akg_tensor_release(base);
    for (int64_t i = 0; view != array->tensor && i < array->count; i++) {
        array_index(array, i, index);
        akg_tensor_set(view, index, akg_tensor_get(array->tensor, index));
    }
    return view;
}

/* Calls with copies of the trial's tensors, so that what is written in place harms nothing. */
static akg_status call(akg_kernel *kernel, const struct trial *trial, enum layout layout, jit_backend backend,
                       akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_argument arguments[TRIAL_MAX * 2];
    akg_tensor *copies[TRIAL_MAX], *variadic[TRIAL_MAX];
    akg_call_options options = {.backend = backend};
    size_t variadics = 0;
    akg_status status;

    memcpy(arguments, trial->arguments.items, trial->arguments.count * sizeof *arguments);
    for (int i = 0; i < trial->input_count; i++) {
        const struct array *input = &trial->inputs[i];
        if (layout == STRIDED)
            copies[i] = strided_copy(input);
        else if (akg_tensor_copy(input->tensor, &copies[i]) != AKG_OK)
            abort();
        for (size_t k = 0; k < trial->arguments.count; k++) {
            if (arguments[k].kind == AKG_ARGUMENT_TENSOR && arguments[k].as.tensor == input->tensor)
                arguments[k].as.tensor = copies[i];
            if (arguments[k].kind == AKG_ARGUMENT_TENSORS && strcmp(arguments[k].name, input->name) == 0) {
                variadic[variadics++] = copies[i];
                arguments[k].as.tensors.items = variadic;
            }
        }
    }
    memset(outputs, 0, sizeof *outputs * TRIAL_MAX);
    status = akg_kernel_call(kernel, arguments, trial->arguments.count, &options, outputs, diagnostics);
    for (int i = 0; i < trial->input_count; i++)
        akg_tensor_release(copies[i]);
    return status;
}

static void release(akg_tensor **tensors)
{
    for (int i = 0; i < TRIAL_MAX; i++)
        akg_tensor_release(tensors[i]);
}

static void say(const struct row *row, const char *text, akg_dtype dtype, const akg_diagnostics *diagnostics)
{
    char *rendered = NULL;

    fprintf(stderr, "    %s %s (%s)\n", row->name, text, akg_dtype_name(dtype));
    if (diagnostics && akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &rendered) == AKG_OK)
        fprintf(stderr, "%s", rendered);
    akg_free(rendered);
}

/* ---- check ------------------------------------------------------------------------------------- */

static double epsilon_of(akg_dtype dtype)
{
    return dtype == AKG_FLOAT16    ? 0x1p-10
           : dtype == AKG_BFLOAT16 ? 0x1p-7
           : dtype == AKG_FLOAT32  ? 0x1p-23
           : dtype == AKG_FLOAT64  ? 0x1p-52
                                   : 0;
}

static bool is_near(double actual, double expected, double tolerance)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(actual) : actual == expected;
    return fabs(actual - expected) <= tolerance * fmax(1, fabs(expected));
}

static bool is_expected(const akg_tensor *output, const struct array *expected, double bound)
{
    int64_t index[AKG_MAX_RANK];

    if (akg_tensor_dtype(output) != expected->dtype || akg_tensor_rank(output) != expected->rank ||
        memcmp(akg_tensor_shape(output), expected->shape, sizeof(int64_t) * (size_t)expected->rank) != 0) {
        fprintf(stderr, "    dtype or shape is not the expected one\n");
        return false;
    }
    for (int64_t i = 0; i < expected->count; i++) {
        double actual;
        array_index(expected, i, index);
        actual = akg_tensor_get(output, index);
        if (!is_near(actual, expected->data[i], bound * epsilon_of(expected->dtype))) {
            fprintf(stderr, "    element %lld is %.17g, should be %.17g\n", (long long)i, actual,
                    expected->data[i]);
            return false;
        }
    }
    return true;
}

static bool agrees(akg_kernel *kernel, const struct trial *trial, enum layout layout, jit_backend backend,
                   akg_tensor *const *first)
{
    akg_tensor *outputs[TRIAL_MAX];
    bool same = call(kernel, trial, layout, backend, outputs, NULL) == AKG_OK;

    for (int i = 0; same && i < trial->result_count; i++)
        same = api_same(first[i], outputs[i]);
    release(outputs);
    return same;
}

static void check_case(const struct row *row, akg_kernel *kernel, const char *text, akg_dtype dtype)
{
    akg_tensor *outputs[TRIAL_MAX];
    akg_diagnostics *diagnostics;
    struct trial trial;
    bool right;

    if (!CHECK(trial_read(&trial, kernel, text, dtype)))
        return;
    row->reference(&trial);
    right = CHECK(call(kernel, &trial, PLAIN, JIT_BACKEND_TCC, outputs, &diagnostics) == AKG_OK);
    if (right) {
        CHECK_INT(akg_kernel_output_count(kernel), trial.result_count);
        for (int i = 0; i < trial.result_count; i++)
            right &= CHECK(is_expected(outputs[i], &trial.results[i], row->bound));
        right &= CHECK(agrees(kernel, &trial, STRIDED, JIT_BACKEND_TCC, outputs));
        right &= CHECK(agrees(kernel, &trial, PLAIN, JIT_BACKEND_INTERPRETER, outputs));
    }
    if (!right)
        say(row, text, dtype, diagnostics);
    akg_diagnostics_free(diagnostics);
    release(outputs);
    trial_free(&trial);
}

/* ---- gradients ---------------------------------------------------------------------------------- */

#define STEP 1e-5
#define GRADIENT_BOUND 1e-6

/* What is differentiated: the sum of all elements of the results, weighted by the output gradients. */
static double loss(akg_kernel *kernel, const struct trial *trial, akg_tensor *const *weights)
{
    akg_tensor *outputs[TRIAL_MAX];
    int64_t index[AKG_MAX_RANK];
    double sum = 0;

    if (call(kernel, trial, PLAIN, JIT_BACKEND_TCC, outputs, NULL) != AKG_OK)
        return NAN;
    for (int i = 0; i < trial->result_count; i++)
        for (int64_t k = 0; k < trial->results[i].count; k++) {
            array_index(&trial->results[i], k, index);
            sum += akg_tensor_get(outputs[i], index) * akg_tensor_get(weights[i], index);
        }
    release(outputs);
    return sum;
}

static double difference(akg_kernel *kernel, const struct trial *trial, const struct array *input,
                         int64_t place, akg_tensor *const *weights)
{
    int64_t index[AKG_MAX_RANK];
    double value = input->data[place], high, low;

    array_index(input, place, index);
    akg_tensor_set(input->tensor, index, value + STEP);
    high = loss(kernel, trial, weights);
    akg_tensor_set(input->tensor, index, value - STEP);
    low = loss(kernel, trial, weights);
    akg_tensor_set(input->tensor, index, value);
    return (high - low) / (2 * STEP);
}

/* The gradient summed to the operand's shape, as the tape does with what was broadcast. */
static double *reduced(const akg_tensor *gradient, const struct array *input)
{
    double *sums = calloc((size_t)input->count + 1, sizeof *sums);
    int rank = akg_tensor_rank(gradient);
    const int64_t *shape = akg_tensor_shape(gradient);
    struct array full = {.rank = rank};
    int64_t index[AKG_MAX_RANK], own[AKG_MAX_RANK];

    if (!sums || rank < input->rank)
        abort();
    if (rank)
        memcpy(full.shape, shape, sizeof *shape * (size_t)rank);
    for (int64_t i = 0; i < akg_tensor_element_count(gradient); i++) {
        array_index(&full, i, index);
        for (int k = 0; k < input->rank; k++)
            own[k] = input->shape[k] == 1 ? 0 : index[k + rank - input->rank];
        sums[array_place(input, own)] += akg_tensor_get(gradient, index);
    }
    return sums;
}

static bool check_gradient(akg_kernel *kernel, const struct trial *trial, const struct array *input,
                           const akg_tensor *gradient, akg_tensor *const *weights)
{
    double *actual = reduced(gradient, input), largest = 0, worst = 0;

    for (int64_t i = 0; i < input->count; i++) {
        double numeric = difference(kernel, trial, input, i, weights);
        double error = fabs(numeric - actual[i]);
        largest = fmax(largest, fmax(fabs(numeric), fabs(actual[i])));
        worst = isnan(error) ? INFINITY : fmax(worst, error);
    }
    free(actual);
    if (worst <= GRADIENT_BOUND * fmax(largest, 1e-12))
        return true;
    fprintf(stderr, "    the gradient of %s is off by %g of %g\n", input->name, worst, largest);
    return false;
}

/* The arguments of the bprop: inputs, outputs, output gradients, and the attributes it names. */
static size_t bprop_arguments(akg_kernel *bprop, const struct trial *trial, akg_tensor **outputs,
                              akg_tensor **weights, akg_argument *arguments)
{
    akg_parameter parameter;
    size_t count = 0;

    for (size_t i = 0; akg_kernel_parameter(bprop, i, &parameter); i++) {
        bool given = false;
        for (size_t k = 0; k < trial->arguments.count && !given; k++)
            if (trial->arguments.items[k].name &&
                strcmp(trial->arguments.items[k].name, parameter.name) == 0) {
                arguments[count++] = trial->arguments.items[k];
                given = true;
            }
        for (int side = 0; side < 2 && !given; side++)
            if (strcmp(parameter.name, side ? "dout" : "out") == 0) {
                akg_tensor **tensors = side ? weights : outputs;
                arguments[count++] = trial->result_count == 1
                                         ? api_tensor(parameter.name, tensors[0])
                                         : api_tensors(parameter.name, tensors, (size_t)trial->result_count);
            }
    }
    return count;
}

static void check_gradients(const struct row *row, akg_kernel *kernel, akg_kernel *bprop, const char *text)
{
    akg_tensor *outputs[TRIAL_MAX], *weights[TRIAL_MAX] = {NULL}, *gradients[TRIAL_MAX] = {NULL};
    akg_argument arguments[TRIAL_MAX * 2];
    akg_diagnostics *diagnostics = NULL;
    struct trial trial;
    int wanted = 0, number = 0;
    size_t count;
    bool right;

    if (!CHECK(trial_read(&trial, kernel, text, AKG_FLOAT64)))
        return;
    row->reference(&trial);
    for (int i = 0; i < trial.input_count; i++)
        wanted += trial.inputs[i].differentiable;
    right = CHECK(call(kernel, &trial, PLAIN, JIT_BACKEND_TCC, outputs, NULL) == AKG_OK);
    for (int i = 0; right && i < trial.result_count; i++) {
        akg_tensor_create(AKG_FLOAT64, trial.results[i].rank, trial.results[i].shape, &weights[i]);
        if (!trial_input(&trial,
                         akg_kernel_output_name(kernel, (size_t)i))) /* what is in place is no result */
            akg_tensor_fill_normal(weights[i], 1000 + (uint64_t)i);
    }
    if (right && wanted) {
        count = bprop_arguments(bprop, &trial, outputs, weights, arguments);
        right = CHECK(akg_kernel_call(bprop, arguments, count, NULL, gradients, &diagnostics) == AKG_OK);
    }
    for (int i = 0; right && i < trial.input_count; i++)
        if (trial.inputs[i].differentiable) {
            akg_tensor *gradient = gradients[number++];
            right = CHECK(gradient && check_gradient(kernel, &trial, &trial.inputs[i], gradient, weights));
        }
    if (!right)
        say(row, text, AKG_FLOAT64, diagnostics);
    akg_diagnostics_free(diagnostics);
    release(outputs);
    release(weights);
    release(gradients);
    trial_free(&trial);
}

/* ---- rows ------------------------------------------------------------------------------------------ */

static void check_row(const struct row *row)
{
    const struct standard_file *file = standard_find(row->name);
    akg_module *module = file ? module_of(file) : NULL;
    akg_kernel *kernel = akg_module_kernel(module, row->name), *bprop;
    char bprop_name[64], cases[2048], *rest = cases, *text;

    snprintf(bprop_name, sizeof bprop_name, "%s_bprop", row->name);
    snprintf(cases, sizeof cases, "%s", row->cases);
    if (!CHECK(kernel != NULL)) {
        fprintf(stderr, "    %s is not there\n", row->name);
        return;
    }
    bprop = akg_module_kernel(module, bprop_name);
    CHECK_INT(bprop != NULL, row->gradient == GRADIENT);
    CHECK(akg_kernel_documentation(kernel)[0] != '\0');
    while ((text = strsep(&rest, ";")) != NULL) {
        for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
            if (row->dtypes & SET(dtype))
                check_case(row, kernel, text, (akg_dtype)dtype);
        if (bprop)
            check_gradients(row, kernel, bprop, text);
    }
}

/* Functions of the library that are operators: neither gradients nor helpers. */
static bool is_operator(const struct standard_operator *row)
{
    return row->is_public && akg_module_kernel(module_of(row->file), row->name);
}

static void test_every_operator_has_a_row(void)
{
    struct standard_operator operator;

    for (size_t i = 0; standard_at(i, &operator); i++) {
        bool found = !is_operator(&operator);
        for (size_t k = 0; k < API_COUNT(rows) && !found; k++)
            found = strcmp(rows[k].name, operator.name) == 0;
        if (!CHECK(found))
            fprintf(stderr, "    %s has no row\n", operator.name);
    }
}

/* The known answers that come with the generator's authors' own implementation, Random123. */
static void test_reference_of_dropout(void)
{
    CHECK_INT(reference_philox(0, 0, 0), 0x6627e8d5);
    CHECK_INT(reference_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX), 0x408f276d);
    CHECK_INT(reference_philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822), 0xd16cfe09);
}

/* test_stdlib [NAME...]: these operators only */
int main(int argc, char **argv)
{
    for (size_t i = 0; i < API_COUNT(rows); i++) {
        bool chosen = argc == 1;
        for (int k = 1; k < argc; k++)
            chosen |= strcmp(argv[k], rows[i].name) == 0;
        if (chosen)
            check_row(&rows[i]);
    }
    if (argc == 1) {
        test_reference_of_dropout();
        test_every_operator_has_a_row();
    }
    for (size_t i = 0; i < module_count; i++)
        akg_module_release(modules[i].module);
    return check_done();
}
