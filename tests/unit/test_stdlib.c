/*
 * test_stdlib.c: every operator of the standard library, by the table tests/stdlib/operators.def.
 *
 * Each case is tried with every dtype of its row: by compiled code, with contiguous and with strided
 * arguments, and by the interpreter; all three are compared with the reference. Gradients come from a tape,
 * twice, with the same bits, and are compared with central differences in float64: by loops written here, and
 * by akg_gradient_check.
 *
 * --list names the rows; behind the options names choose some of them. With --device the arguments lie there,
 * and what runs there is compared with the same references; the differences that gradients are compared with
 * are those of the CPU.
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
#define BITS ((NUMBERS & ~FLOATS) | SET(AKG_BOOL))
#define ALL (NUMBERS | SET(AKG_BOOL))

enum gradient { NONE, FLAT, GRADIENT, COMPOSED };

struct row {
    const char *name;
    unsigned dtypes;
    double bound;
    enum gradient gradient;
    const char *cases;
    void (*reference)(struct trial *trial);
};

static const struct row rows[] = {
#define OPERATOR(name, dtypes, bound, gradient, cases, timed)                                                \
    {#name, dtypes, bound, gradient, cases, reference_##name},
#include "../stdlib/operators.def"
#undef OPERATOR
};

static akg_registry *registry;
static akg_device device; /* the CPU where none is asked for */
static const akg_device cpu;

/* Puts a copy on another device in the place of the tensor, which may be NULL. */
static bool move(akg_tensor **tensor, akg_device to)
{
    akg_tensor *copy;

    if (!*tensor || akg_tensor_device(*tensor).kind == to.kind)
        return true;
    if (akg_tensor_to(*tensor, to, &copy, NULL) != AKG_OK)
        return false;
    akg_tensor_release(*tensor);
    *tensor = copy;
    return true;
}

/* ---- calls ------------------------------------------------------------------------------------ */

enum layout { PLAIN, STRIDED };

/* A copy whose elements lie two apart on every axis, backwards on every second one. */
static akg_tensor *strided_copy(const struct array *array)
{
    int64_t shape[AKG_MAX_RANK], strides[AKG_MAX_RANK], index[AKG_MAX_RANK], step = 1, offset = 0;
    akg_tensor *base, *view = NULL, *there;

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
    for (int64_t i = 0; view != array->tensor && i < array->count; i++) {
        array_index(array, i, index);
        akg_tensor_set(view, index, akg_tensor_get(array->tensor, index));
    }
    if (device.kind != AKG_DEVICE_CPU && view != array->tensor) {
        if (!move(&base, device) ||
            akg_tensor_view(base, array->rank, array->shape, strides, offset, &there) != AKG_OK)
            abort();
        akg_tensor_release(view);
        view = there;
    }
    akg_tensor_release(base);
    return view;
}

static void release(akg_tensor **tensors)
{
    for (int i = 0; i < TRIAL_MAX; i++)
        akg_tensor_release(tensors[i]);
}

/* The arguments of one call, with copies of the trial's tensors, so that what is written in place harms
 * nothing. */
struct arguments_copy {
    akg_argument items[TRIAL_MAX * 2];
    size_t count;
    akg_tensor *tensors[TRIAL_MAX], *variadic[TRIAL_MAX];
};

static void copy_arguments(struct arguments_copy *copy, const struct trial *trial, enum layout layout,
                           akg_device where)
{
    size_t variadics = 0;

    memset(copy, 0, sizeof *copy);
    copy->count = trial->arguments.count;
    memcpy(copy->items, trial->arguments.items, copy->count * sizeof *copy->items);
    for (int i = 0; i < trial->input_count; i++) {
        const struct array *input = &trial->inputs[i];
        if (layout == STRIDED)
            copy->tensors[i] = strided_copy(input);
        else if (akg_tensor_copy(input->tensor, &copy->tensors[i]) != AKG_OK)
            abort();
        if (where.kind != AKG_DEVICE_CPU && !move(&copy->tensors[i], where))
            abort();
        for (size_t k = 0; k < copy->count; k++) {
            akg_argument *item = &copy->items[k];
            if (item->kind == AKG_ARGUMENT_TENSOR && item->as.tensor == input->tensor)
                item->as.tensor = copy->tensors[i];
            if (item->kind == AKG_ARGUMENT_TENSORS && strcmp(item->name, input->name) == 0) {
                copy->variadic[variadics++] = copy->tensors[i];
                item->as.tensors.items = copy->variadic;
            }
        }
    }
}

static akg_status call(akg_kernel *kernel, const struct trial *trial, enum layout layout, akg_device where,
                       jit_backend backend, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_call_options options = {.backend = backend};
    struct arguments_copy arguments;
    akg_status status;

    copy_arguments(&arguments, trial, layout, where);
    memset(outputs, 0, sizeof *outputs * TRIAL_MAX);
    status = akg_kernel_call(kernel, arguments.items, arguments.count, &options, outputs, diagnostics);
    for (int i = 0; i < TRIAL_MAX && status == AKG_OK; i++)
        if (!move(&outputs[i], cpu))
            status = AKG_ERROR_DEVICE;
    release(arguments.tensors);
    return status;
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

static bool check_call(const struct row *row, akg_kernel *kernel, const struct trial *trial,
                       enum layout layout, jit_backend backend)
{
    akg_diagnostics *diagnostics;
    akg_tensor *outputs[TRIAL_MAX];
    bool right = CHECK(call(kernel, trial, layout, device, backend, outputs, &diagnostics) == AKG_OK);

    for (int i = 0; right && i < trial->result_count; i++)
        right = CHECK(is_expected(outputs[i], &trial->results[i], row->bound));
    if (diagnostics)
        say(row, "", trial->dtype, diagnostics);
    akg_diagnostics_free(diagnostics);
    release(outputs);
    return right;
}

static void check_case(const struct row *row, akg_kernel *kernel, const char *text, akg_dtype dtype)
{
    struct trial trial;
    bool right;

    if (!CHECK(trial_read(&trial, kernel, text, dtype)))
        return;
    row->reference(&trial);
    right =
        CHECK(akg_kernel_output_count(kernel) == (size_t)trial.result_count) &&
        check_call(row, kernel, &trial, PLAIN, JIT_BACKEND_DEFAULT) &&
        check_call(row, kernel, &trial, STRIDED, JIT_BACKEND_DEFAULT) &&
        (device.kind != AKG_DEVICE_CPU || check_call(row, kernel, &trial, PLAIN, JIT_BACKEND_INTERPRETER));
    if (!right)
        say(row, text, dtype, NULL);
    trial_drop(&trial);
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

    if (call(kernel, trial, PLAIN, cpu, JIT_BACKEND_TCC, outputs, NULL) != AKG_OK)
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

static bool check_gradient(akg_kernel *kernel, const struct trial *trial, const struct array *input,
                           const akg_tensor *gradient, akg_tensor *const *weights)
{
    double largest = 0, worst = 0;
    int64_t index[AKG_MAX_RANK];

    for (int64_t i = 0; i < input->count; i++) {
        double numeric = difference(kernel, trial, input, i, weights), actual, error;
        array_index(input, i, index);
        actual = akg_tensor_get(gradient, index);
        error = fabs(numeric - actual);
        largest = fmax(largest, fmax(fabs(numeric), fabs(actual)));
        worst = isnan(error) ? INFINITY : fmax(worst, error);
    }
    if (worst <= GRADIENT_BOUND * fmax(largest, 1e-12))
        return true;
    fprintf(stderr, "    the gradient of %s is off by %g of %g\n", input->name, worst, largest);
    return false;
}

/* Calls on a tape and goes back: a gradient for each input that is to have one. */
static akg_status gradients_of(akg_operator *operator, const struct trial * trial, akg_tensor **weights,
                               akg_tensor **gradients, akg_diagnostics **diagnostics)
{
    akg_tensor *outputs[TRIAL_MAX] = {NULL}, *roots[TRIAL_MAX], *root_gradients[TRIAL_MAX];
    struct arguments_copy arguments;
    size_t root_count = 0;
    akg_tape *tape;
    akg_status status;

    copy_arguments(&arguments, trial, PLAIN, device);
    for (int i = 0; i < trial->input_count; i++)
        if (trial->inputs[i].differentiable)
            akg_tensor_set_requires_grad(arguments.tensors[i], true, NULL);
    if (akg_tape_create(registry, &tape) != AKG_OK)
        abort();
    status = akg_call(tape, operator, arguments.items, arguments.count, outputs, diagnostics);
    for (int i = 0; status == AKG_OK && i < trial->result_count; i++)
        if (!trial_input(trial, akg_operator_output_name(operator,(size_t) i))) { /* not in place */
            roots[root_count] = outputs[i];
            root_gradients[root_count] = akg_tensor_retain(weights[i]);
            if (!move(&root_gradients[root_count++], device))
                status = AKG_ERROR_DEVICE;
        }
    if (status == AKG_OK)
        status = akg_backward(tape, roots, root_gradients, root_count, false, diagnostics);
    memset(gradients, 0, sizeof *gradients * TRIAL_MAX);
    for (int i = 0; i < trial->input_count; i++)
        if (status == AKG_OK && trial->inputs[i].differentiable) {
            gradients[i] = akg_tensor_retain(akg_tensor_grad(arguments.tensors[i]));
            if (!move(&gradients[i], cpu))
                status = AKG_ERROR_DEVICE;
        }
    for (size_t i = 0; i < root_count; i++)
        akg_tensor_release(root_gradients[i]);
    release(outputs);
    release(arguments.tensors);
    akg_tape_release(tape);
    return status;
}

/* What each result counts in the loss; what is in place is no result. */
static void make_weights(akg_operator *operator, const struct trial * trial, akg_tensor **weights)
{
    memset(weights, 0, sizeof *weights * TRIAL_MAX);
    for (int i = 0; i < trial->result_count; i++) {
        akg_tensor_create(AKG_FLOAT64, trial->results[i].rank, trial->results[i].shape, &weights[i]);
        if (!trial_input(trial, akg_operator_output_name(operator,(size_t) i)))
            akg_tensor_fill_normal(weights[i], 1000 + (uint64_t)i);
    }
}

static void check_gradients(const struct row *row, akg_operator *operator, const char * text)
{
    akg_tensor *weights[TRIAL_MAX], *gradients[TRIAL_MAX] = {NULL}, *again[TRIAL_MAX] = {NULL};
    akg_kernel *kernel = akg_operator_kernel(operator);
    akg_diagnostics *diagnostics = NULL;
    struct trial trial;
    int wanted = 0;
    bool right;

    if (!CHECK(trial_read(&trial, kernel, text, AKG_FLOAT64)))
        return;
    row->reference(&trial);
    for (int i = 0; i < trial.input_count; i++)
        wanted += trial.inputs[i].differentiable;
    make_weights(operator, & trial, weights);
    right = !wanted || CHECK(gradients_of(operator, & trial, weights, gradients, &diagnostics) == AKG_OK);
    if (right && wanted)
        right = CHECK(gradients_of(operator, & trial, weights, again, NULL) == AKG_OK);
    for (int i = 0; right && i < trial.input_count; i++)
        if (trial.inputs[i].differentiable)
            right = CHECK(gradients[i] && api_same(gradients[i], again[i])) &&
                    CHECK(check_gradient(kernel, &trial, &trial.inputs[i], gradients[i], weights));
    if (!right)
        say(row, text, AKG_FLOAT64, diagnostics);
    akg_diagnostics_free(diagnostics);
    release(weights);
    release(gradients);
    release(again);
    trial_drop(&trial);
}

/* The same by the library's own check: it agrees, on operators made of others too. */
static void check_by_library(const struct row *row, akg_operator *operator, const char * text)
{
    const char *names[TRIAL_MAX];
    akg_gradient_check_options options = {.seed = 1, .names = names};
    akg_gradient_report *report = NULL;
    akg_diagnostics *diagnostics = NULL;
    struct trial trial;

    if (!CHECK(trial_read(&trial, akg_operator_kernel(operator), text, AKG_FLOAT64)))
        return;
    for (int i = 0; i < trial.input_count; i++)
        if (trial.inputs[i].differentiable)
            names[options.name_count++] = trial.inputs[i].name;
    if (options.name_count &&
        !CHECK(akg_gradient_check(operator, trial.arguments.items, trial.arguments.count, &options, &report,
                                  &diagnostics) == AKG_OK))
        say(row, text, AKG_FLOAT64, diagnostics);
    akg_diagnostics_free(diagnostics);
    akg_gradient_report_release(report);
    trial_drop(&trial);
}

/* A pass comes through, and brings nothing. */
static void check_flat(const struct row *row, akg_operator *operator, const char * text)
{
    akg_tensor *weights[TRIAL_MAX], *gradients[TRIAL_MAX] = {NULL};
    akg_diagnostics *diagnostics = NULL;
    struct trial trial;

    if (!CHECK(trial_read(&trial, akg_operator_kernel(operator), text, AKG_FLOAT64)))
        return;
    row->reference(&trial);
    make_weights(operator, & trial, weights);
    if (!CHECK(gradients_of(operator, & trial, weights, gradients, &diagnostics) == AKG_OK))
        say(row, text, AKG_FLOAT64, diagnostics);
    for (int i = 0; i < trial.input_count; i++)
        CHECK(!gradients[i]);
    akg_diagnostics_free(diagnostics);
    release(weights);
    release(gradients);
    trial_drop(&trial);
}

/* ---- rows ------------------------------------------------------------------------------------------ */

static void check_row(const struct row *row)
{
    static size_t turn; /* of what is called, all operators together */
    char name[64], cases[2048], *rest = cases, *text;
    akg_diagnostics *diagnostics;
    akg_operator *operator;
    akg_kernel *kernel;

    snprintf(name, sizeof name, "std:%s", row->name);
    snprintf(cases, sizeof cases, "%s", row->cases);
    if (!CHECK(akg_registry_find(registry, name, &operator, & diagnostics) == AKG_OK)) {
        say(row, "", AKG_FLOAT64, diagnostics);
        akg_diagnostics_free(diagnostics);
        return;
    }
    kernel = akg_operator_kernel(operator);
    CHECK_INT(akg_operator_has_gradient(operator), row->gradient == GRADIENT || row->gradient == FLAT);
    CHECK(akg_operator_documentation(operator)[0] != '\0');
    while ((text = strsep(&rest, ";")) != NULL) {
        for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
            if ((row->dtypes & SET(dtype)) && check_takes(turn++))
                check_case(row, kernel, text, (akg_dtype)dtype);
        if (row->gradient == FLAT)
            check_flat(row, operator, text);
        if (row->gradient == GRADIENT || row->gradient == COMPOSED) {
            check_gradients(row, operator, text);
            check_by_library(row, operator, text);
        }
    }
}

/* What is registered beside the operators: gradients, and what serves one file only. */
static bool is_private(const char *name)
{
    size_t length = strlen(name);
    return name[0] == '_' || (length > 6 && strcmp(name + length - 6, "_bprop") == 0);
}

static void test_every_operator_has_a_row(void)
{
    akg_diagnostics *diagnostics;
    akg_operator *operator;

    CHECK(akg_registry_add_standard(registry, &diagnostics) == AKG_OK);
    akg_diagnostics_free(diagnostics);
    for (size_t i = 0; (operator= akg_registry_operator_at(registry, i)) != NULL; i++) {
        bool found = is_private(akg_operator_name(operator));
        for (size_t k = 0; k < API_COUNT(rows) && !found; k++)
            found = strcmp(rows[k].name, akg_operator_name(operator)) == 0;
        if (!CHECK(found))
            fprintf(stderr, "    %s has no row\n", akg_operator_name(operator));
    }
}

/* The files compile without a warning. */
static void test_files(void)
{
    const struct standard_file *last = NULL;
    struct standard_operator operator;
    akg_diagnostics *diagnostics;
    akg_module *module;
    char *text = NULL;

    for (size_t i = 0; standard_at(i, &operator); last = operator.file, i++) {
        jit_source source = {.text = operator.file->text, .length = operator.file->length };
        if (operator.file == last)
            continue;
        source.name = operator.file->name;
        CHECK(jit_compile(&source, NULL, &module, &diagnostics) == AKG_OK);
        if (!CHECK(!diagnostics) && akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &text) == AKG_OK)
            fprintf(stderr, "%s", text);
        akg_free(text);
        text = NULL;
        akg_diagnostics_free(diagnostics);
        akg_module_release(module);
    }
}

/* The known answers that come with the generator's authors' own implementation, Random123. */
static void test_reference_of_dropout(void)
{
    CHECK_INT(reference_philox(0, 0, 0), 0x6627e8d5);
    CHECK_INT(reference_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX), 0x408f276d);
    CHECK_INT(reference_philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822), 0xd16cfe09);
}

/* test_stdlib [--device NAME] [NAME...]: these operators only */
/* Of the operators, one in so many; threads are other tests' concern. */
#if defined(__SANITIZE_THREAD__)
enum { EVERY = 4 };
#else
enum { EVERY = 1 };
#endif

int main(int argc, char **argv)
{
    bool on_device = argc > 2 && strcmp(argv[1], "--device") == 0;

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < API_COUNT(rows); i++)
            puts(rows[i].name);
        return 0;
    }
    if (on_device) {
        if (!akg_device_parse(argv[2], &device))
            return 2;
        argc -= 2;
        argv += 2;
    }
    if (!CHECK(akg_registry_create(&registry) == AKG_OK))
        return check_done();
    for (size_t i = 0; i < API_COUNT(rows); i++) {
        bool chosen = argc == 1;
        for (int k = 1; k < argc; k++)
            chosen |= strcmp(argv[k], rows[i].name) == 0;
        if (argc == 1 && i % EVERY)
            continue; /* other builds check it */
        if (chosen)
            check_row(&rows[i]);
    }
    if (argc == 1 && !on_device) {
        test_reference_of_dropout();
        test_files();
        test_every_operator_has_a_row();
    }
    akg_registry_release(registry);
    return check_done();
}
