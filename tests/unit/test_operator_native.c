/*
 * test_operator_native.c: operators written in C: inputs and outputs of every count, attributes of every
 * kind, inference, operator information, operations, reports; and the error of each.
 */
#include "native_operator.h"

/* ---- myrelu: one input, two dtypes ------------------------------------------------------------ */

#define RELU(type)                                                                                           \
    static akg_status relu_##type(akg_invocation *invocation)                                                \
    {                                                                                                        \
        const akg_tensor *in = akg_invocation_input(invocation, "in", 0);                                    \
        const type *from = akg_tensor_data(in);                                                              \
        type *to = akg_tensor_data(akg_invocation_output(invocation, "out", 0));                             \
        for (int64_t i = 0; i < akg_tensor_element_count(in); i++)                                           \
            to[i] = from[i] > 0 ? from[i] : 0;                                                               \
        return AKG_OK;                                                                                       \
    }
RELU(float)
RELU(double)

static const akg_kernel_definition relu_kernels[] = {
    {.name = "float", .condition = "device == cpu and dtype(out) == float32", .compute = relu_float},
    {.name = "double", .condition = "device == cpu and dtype(out) == float64", .compute = relu_double},
};
static const akg_operator_definition relu = {.name = "myrelu",
                                             .documentation = "Zero for what is negative.",
                                             .inputs = one_in,
                                             .outputs = one_out,
                                             .input_count = 1,
                                             .output_count = 1,
                                             .kernels = relu_kernels,
                                             .kernel_count = 2};

static void test_relu(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64};
    akg_parameter parameter;

    ACCEPTED(akg_registry_add_operator(registry, &relu, &diagnostics));
    CHECK_STRING(akg_operator_origin(find("myrelu")), "the program");
    CHECK_STRING(akg_operator_documentation(find("myrelu")), "Zero for what is negative.");
    CHECK(!akg_operator_kernel(find("myrelu")));
    CHECK(akg_operator_parameter(find("myrelu"), 0, &parameter));
    CHECK_INT(parameter.kind, AKG_PARAMETER_TENSOR);
    CHECK(!akg_operator_parameter(find("myrelu"), 1, &parameter));
    for (size_t k = 0; k < API_COUNT(dtypes); k++) {
        akg_tensor *x = api_vector(dtypes[k], 5, -2, 1), *y = NULL, *again;
        akg_argument argument = api_tensor("in", x);
        ACCEPTED(call("myrelu", &argument, 1, &y));
        CHECK_INT(akg_tensor_dtype(y), dtypes[k]);
        for (int64_t i = 0; i < 5; i++)
            CHECK(api_element(y, i) == (i < 3 ? 0 : i - 2));
        again = y;
        ACCEPTED(call("myrelu", &argument, 1, &again)); /* into the one that is there */
        CHECK(again == y);
        akg_tensor_release(x);
        akg_tensor_release(y);
    }
    REFUSED(akg_registry_add_operator(registry, &relu, &diagnostics), AKG_ERROR_USAGE, "operator-twice",
            "the first comes from the program");
}

/* Strided inputs are copied for a kernel that did not ask for them. */
static void test_strided(void)
{
    static const int64_t shape[] = {3}, backwards[] = {-2};
    akg_tensor *base = api_vector(AKG_FLOAT32, 6, -2, 1), *view = NULL, *y = NULL;
    akg_argument argument;

    CHECK_INT(akg_tensor_view(base, 1, shape, backwards, 5, &view), AKG_OK); /* 3, 1, -1 */
    argument = api_tensor(NULL, view);
    ACCEPTED(call("myrelu", &argument, 1, &y));
    CHECK(api_element(y, 0) == 3 && api_element(y, 1) == 1 && api_element(y, 2) == 0);
    REFUSED(call("myrelu", &argument, 1, &view), AKG_ERROR_CALL, "call-output", "is not contiguous");
    akg_tensor_release(y);
    akg_tensor_release(view);
    argument = api_tensor(NULL, base);
    REFUSED(call("myrelu", &argument, 1, &base), AKG_ERROR_CALL, "call-output",
            "shares memory with an input");
    y = api_vector(AKG_FLOAT32, 5, 0, 0);
    REFUSED(call("myrelu", &argument, 1, &y), AKG_ERROR_CALL, "call-output",
            "has another shape: float32[5] instead of float32[6]");
    akg_tensor_release(y);
    y = api_vector(AKG_FLOAT64, 6, 0, 0);
    REFUSED(call("myrelu", &argument, 1, &y), AKG_ERROR_CALL, "call-output",
            "has another dtype: float64[6] instead of float32[6]");
    akg_tensor_release(y);
    akg_tensor_release(base);
}

static void test_no_kernel(void)
{
    akg_tensor *x = api_vector(AKG_INT32, 5, -2, 1), *y = NULL;
    akg_argument argument = api_tensor("in", x);

    CHECK_INT(call("myrelu", &argument, 1, &y), AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "no-kernel");
    CHECK_INT(akg_diagnostics_at(diagnostics, 0)->note_count, 2);
    CHECK_STRING(
        akg_diagnostics_at(diagnostics, 0)->notes[0],
        "note: kernel 'float' (device == cpu and dtype(out) == float32) does not fit: dtype(out) is int32");
    akg_diagnostics_free(diagnostics);
    diagnostics = NULL;
    akg_tensor_release(x);
}

/* ---- counts of inputs and outputs ----------------------------------------------------------------- */

/* out[k] = the number of tensors of input k */
static akg_status count_infer(akg_invocation *invocation)
{
    akg_description all = {AKG_INT64, 1, {6}};

    for (size_t i = 0; i < akg_invocation_count(invocation, "out"); i++)
        if (akg_invocation_set_output(invocation, "out", i, &all) != AKG_OK)
            return AKG_ERROR_USAGE;
    return AKG_OK;
}

static akg_status count_compute(akg_invocation *invocation)
{
    static const char *const names[] = {"one", "two", "least", "maybe", "maybe_two", "maybe_least"};

    for (size_t i = 0; i < akg_invocation_count(invocation, "out"); i++) {
        int64_t *to = akg_tensor_data(akg_invocation_output(invocation, "out", i));
        for (int k = 0; k < 6; k++)
            to[k] = (int64_t)akg_invocation_count(invocation, names[k]);
    }
    return AKG_OK;
}

static void test_counts(void)
{
    static const akg_operand inputs[] = {{"one", 0, false, false},      {"two", 2, false, false},
                                         {"least", 2, true, false},     {"maybe", 1, false, true},
                                         {"maybe_two", 2, false, true}, {"maybe_least", 2, true, true}};
    static const akg_operand outputs[] = {{"out", 1, true, false}};
    static const akg_kernel_definition kernel = {.name = "any", .compute = count_compute};
    static const akg_operator_definition count = {.name = "count",
                                                  .inputs = inputs,
                                                  .outputs = outputs,
                                                  .input_count = 6,
                                                  .output_count = 1,
                                                  .infer = count_infer,
                                                  .kernels = &kernel,
                                                  .kernel_count = 1};
    akg_tensor *x = api_vector(AKG_FLOAT32, 1, 0, 0), *many[] = {x, x, x, x}, *y[3] = {NULL};
    akg_parameter parameter;

    ACCEPTED(akg_registry_add_operator(registry, &count, &diagnostics));
    CHECK(akg_operator_parameter(find("count"), 2, &parameter));
    CHECK(parameter.kind == AKG_PARAMETER_VARIADIC && !parameter.optional);
    CHECK(akg_operator_parameter(find("count"), 3, &parameter));
    CHECK(parameter.kind == AKG_PARAMETER_TENSOR && parameter.optional);
    akg_argument arguments[] = {
        api_tensor(NULL, x), api_tensors(NULL, many, 2),        api_tensors(NULL, many, 4),
        api_none(NULL),      api_tensors("maybe_two", many, 2), api_int("out", 3)};
    ACCEPTED(call("count", arguments, 6, y));
    CHECK(y[2] && api_element(y[2], 0) == 1 && api_element(y[2], 1) == 2 && api_element(y[2], 2) == 4 &&
          api_element(y[2], 3) == 0 && api_element(y[2], 4) == 2 && api_element(y[2], 5) == 0);
    for (int i = 0; i < 3; i++)
        akg_tensor_release(y[i]);
    y[0] = y[1] = y[2] = NULL;
    arguments[5] = api_int("out", 0);
    REFUSED(call("count", arguments, 6, y), AKG_ERROR_CALL, "operand-count",
            "'out' takes at least 1 tensor, but 0 are given");
    arguments[5] = api_tensors("maybe_least", many, 1);
    REFUSED(call("count", arguments, 6, y), AKG_ERROR_CALL, "operand-count",
            "'maybe_least' takes at least 2 tensors, or none, but 1 are given");
    arguments[2] = api_tensors(NULL, many, 1);
    REFUSED(call("count", arguments, 6, y), AKG_ERROR_CALL, "operand-count",
            "'least' takes at least 2 tensors, but 1 are given");
    arguments[1] = api_tensors(NULL, many, 3);
    REFUSED(call("count", arguments, 6, y), AKG_ERROR_CALL, "operand-count",
            "'two' takes 2 tensors, but 3 are given");
    arguments[1] = api_int(NULL, 3);
    REFUSED(call("count", arguments, 6, y), AKG_ERROR_CALL, "call-kind",
            "'two' takes tensors, not an integer");
    REFUSED(call("count", arguments, 1, y), AKG_ERROR_CALL, "call-missing", "'two'");
    arguments[1] = api_tensor("one", x);
    REFUSED(call("count", arguments, 2, y), AKG_ERROR_CALL, "call-twice", "'one'");
    arguments[1] = api_tensor("tow", x);
    REFUSED(call("count", arguments, 2, y), AKG_ERROR_CALL, "call-unknown", "did you mean 'two'?");
    for (int i = 0; i < 6; i++)
        arguments[i] = api_none(NULL);
    arguments[0] = api_tensor(NULL, x);
    arguments[1] = arguments[2] = api_tensors(NULL, many, 2);
    akg_argument eight[8] = {arguments[0], arguments[1], arguments[2], arguments[3],
                             arguments[4], arguments[5], arguments[3]};
    REFUSED(call("count", eight, 7, y), AKG_ERROR_CALL, "call-too-many", "'count' takes 6");
    CHECK(!y[0]);
    akg_tensor_release(x);
}

/* ---- attributes ------------------------------------------------------------------------------------- */

static akg_status attributes_check(akg_invocation *invocation)
{
    const char *mode = akg_invocation_string(invocation, "mode");

    return strcmp(mode, "sum") == 0 || strcmp(mode, "mean") == 0
               ? AKG_OK
               : akg_invocation_refuse(invocation, "'mode' is neither 'sum' nor 'mean'");
}

static akg_status attributes_infer(akg_invocation *invocation)
{
    akg_description out = {akg_invocation_dtype(invocation, "dtype"), 0, {0}};
    size_t rank;
    const int64_t *shape = akg_invocation_integers(invocation, "shape", &rank);

    out.rank = (int)rank;
    for (size_t i = 0; i < rank && i < AKG_MAX_RANK; i++)
        out.shape[i] = shape[i];
    return akg_invocation_set_output(invocation, "out", 0, &out);
}

/* Everything there is, added up. */
static akg_status attributes_compute(akg_invocation *invocation)
{
    double sum = (double)akg_invocation_integer(invocation, "small") +
                 (double)akg_invocation_integer(invocation, "large") +
                 (double)akg_invocation_integer(invocation, "flag") +
                 akg_invocation_real(invocation, "single") + akg_invocation_real(invocation, "real");
    size_t count;
    const int64_t *integers = akg_invocation_integers(invocation, "integers", &count);

    for (size_t i = 0; i < count; i++)
        sum += (double)integers[i];
    const double *reals = akg_invocation_reals(invocation, "reals", &count);
    for (size_t i = 0; i < count; i++)
        sum += reals[i];
    akg_tensor_fill(akg_invocation_output(invocation, "out", 0), sum);
    CHECK(!akg_invocation_string(invocation, "small") && !akg_invocation_integers(invocation, "reals", NULL));
    CHECK(akg_invocation_data(invocation) == one_in);
    return AKG_OK;
}

static void test_attributes(void)
{
    static const akg_kernel_definition kernel = {.name = "any", .compute = attributes_compute};
    static const akg_operator_definition attributes = {.name = "attributes",
                                                       .outputs = one_out,
                                                       .output_count = 1,
                                                       .attributes = all_attributes,
                                                       .attribute_count = API_COUNT(all_attributes),
                                                       .check = attributes_check,
                                                       .infer = attributes_infer,
                                                       .kernels = &kernel,
                                                       .kernel_count = 1,
                                                       .data = (void *)one_in};
    static const int64_t shape[] = {2}, wide[] = {1, (int64_t)1 << 40}, negative[] = {2, -1};
    static const double halves[] = {0.5, 0.25};
    akg_tensor *y = NULL;
    akg_argument arguments[] = {api_ints(NULL, shape, 1),
                                api_int("small", -1),
                                api_real("single", 0.1),
                                {.name = "reals", .kind = AKG_ARGUMENT_FLOATS, .as.floats = {halves, 2}},
                                api_string("dtype", "float32"),
                                api_bool("flag", false)};

    ACCEPTED(akg_registry_add_operator(registry, &attributes, &diagnostics));
    ACCEPTED(call("attributes", arguments, 1, &y));
    CHECK_INT(akg_tensor_dtype(y), AKG_FLOAT64);
    CHECK(api_element(y, 1) == 11 * 4 + 1 + 33 + 33);
    akg_tensor_release(y);
    y = NULL;
    ACCEPTED(call("attributes", arguments, 6, &y));
    CHECK_INT(akg_tensor_dtype(y), AKG_FLOAT32);
    CHECK(api_element(y, 1) == (float)(-1 + 11 + 0 + (double)0.1f + 11 + 33 + 0.75));
    akg_tensor_release(y);
    y = NULL;

    REFUSED(call("attributes", NULL, 0, &y), AKG_ERROR_CALL, "call-missing", "'shape'");
    arguments[1] = api_int("small", (int64_t)1 << 31);
    REFUSED(call("attributes", arguments, 2, &y), AKG_ERROR_CALL, "attribute-range",
            "attribute 'small' takes an int32, and 2147483648 does not fit");
    arguments[1] = api_real("large", 1);
    REFUSED(call("attributes", arguments, 2, &y), AKG_ERROR_CALL, "call-kind",
            "'large' takes an int64, not a number with a fraction");
    arguments[1] = api_int("flag", 1);
    REFUSED(call("attributes", arguments, 2, &y), AKG_ERROR_CALL, "call-kind", "'flag' takes a bool");
    arguments[1] = api_ints("smalls", wide, 2);
    REFUSED(call("attributes", arguments, 2, &y), AKG_ERROR_CALL, "attribute-range",
            "takes a list of int32, and (1, 1099511627776) does not fit");
    arguments[1] = api_string("dtype", "float31");
    REFUSED(call("attributes", arguments, 2, &y), AKG_ERROR_CALL, "attribute-range",
            "takes a dtype, and 'float31' does not fit");
    arguments[1] = api_string("mode", "max");
    REFUSED(call("attributes", arguments, 2, &y), AKG_ERROR_CALL, "operator-refused",
            "'attributes': 'mode' is neither 'sum' nor 'mean'");
    arguments[0] = api_ints("shape", negative, 2);
    REFUSED(call("attributes", arguments, 1, &y), AKG_ERROR_CALL, "attribute-range",
            "takes a shape, and (2, -1) does not fit");
    arguments[0].as.ints.items = (const int64_t[]){(int64_t)1 << 40, (int64_t)1 << 40};
    arguments[0].as.ints.count = 2;
    REFUSED(call("attributes", arguments, 1, &y), AKG_ERROR_CALL, "operator-failed",
            "'infer' of operator 'attributes'");
    CHECK(!y);
}

/* ---- descriptions that are wrong --------------------------------- */

static void test_definitions(void)
{
    akg_operator_definition good = relu, wrong;
    akg_operand operands[] = {{.name = "in"}, {.name = "in"}};
    akg_attribute attribute = {"n", AKG_ATTRIBUTE_INT32, &sum};
    akg_kernel_definition twice[] = {relu_kernels[0], relu_kernels[0]};

    good.name = "good";
    wrong = good;
    wrong.name = "3d";
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "operator-definition",
            "its name must be letters");
    wrong = good;
    wrong.inputs = operands;
    wrong.input_count = 2;
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "operator-definition",
            "two of its inputs, outputs and attributes are called 'in'");
    operands[1].name = "b-c";
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "operator-definition",
            "the name of an input must be letters, digits and '_', not 'b-c'");
    operands[1].name = NULL;
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "operator-definition",
            "not ''");
    wrong.input_count = 1;
    operands[0].optional = true;
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "operator-definition",
            "its outputs are to be like 'in', which may be left out");
    wrong.like = "x";
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "operator-definition",
            "its outputs are to be like 'x', which is no input");
    wrong.like = NULL;
    wrong.input_count = 0;
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "operator-definition",
            "without inputs it needs a function 'infer'");
    wrong = good;
    wrong.attributes = &attribute;
    wrong.attribute_count = 1;
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "call-kind",
            "'n' takes an int32, not a string");
    attribute.kind = 77;
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "operator-definition",
            "of a kind that does not exist");
    wrong = good;
    wrong.kernels = twice;
    REFUSED(akg_registry_add_operator(registry, &wrong, &diagnostics), AKG_ERROR_USAGE, "kernel-twice",
            "'good' has two kernels called 'float'");
    wrong.kernels = NULL;
    CHECK_INT(akg_registry_add_operator(registry, &wrong, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_registry_find(registry, "good", &(akg_operator *){NULL}, NULL), AKG_ERROR_USAGE);
    ACCEPTED(akg_registry_add_operator(registry, &good, &diagnostics));
}

/* ---- operator information ---------------------------------------- */

static void test_info(void)
{
    static const char *const inputs[] = {"in"}, *const outputs[] = {"out"};
    static const akg_dtype_format rows[] = {
        {AKG_FLOAT32, NULL}, {AKG_FLOAT32, NULL}, {AKG_FLOAT64, "contiguous"}, {AKG_FLOAT64, "default"}};
    static const akg_dtype_format odd[] = {{AKG_FLOAT32, "NWHC"}, {AKG_FLOAT32, NULL}};
    static const int64_t shape[] = {2}, two[] = {2};
    akg_operator_info info = {.target = "CPU",
                              .inputs = inputs,
                              .outputs = outputs,
                              .input_count = 1,
                              .output_count = 1,
                              .combinations = rows,
                              .combination_count = 2};
    akg_tensor *base = api_vector(AKG_FLOAT64, 4, -1, 1), *view, *y = NULL;
    akg_argument arguments[] = {api_tensor(NULL, base), {0}};

    CHECK_INT(akg_tensor_view(base, 1, shape, two, 0, &view), AKG_OK);
    arguments[1] = api_tensor(NULL, view);
    ACCEPTED(call("myrelu", arguments + 1, 1, &y));
    akg_tensor_release(y);
    y = NULL;
    info.combinations = odd;
    info.combination_count = 1;
    REFUSED(akg_registry_add_info(registry, "myrelu", &info, &diagnostics), AKG_ERROR_USAGE, "info-mismatch",
            "'NWHC' is no format");
    info.combination_count = 0;
    REFUSED(akg_registry_add_info(registry, "myrelu", &info, &diagnostics), AKG_ERROR_USAGE, "info-mismatch",
            "no combination");
    info.combinations = rows;
    info.combination_count = 2;
    info.inputs = outputs;
    REFUSED(akg_registry_add_info(registry, "myrelu", &info, &diagnostics), AKG_ERROR_USAGE, "info-mismatch",
            "number 1 of its inputs is 'out', that of the operator is 'in'");
    info.inputs = inputs;
    info.output_count = 0;
    REFUSED(akg_registry_add_info(registry, "myrelu", &info, &diagnostics), AKG_ERROR_USAGE, "info-mismatch",
            "it has 0 outputs, the operator has 1");
    info.output_count = 1;
    ACCEPTED(akg_registry_add_info(registry, "myrelu", &info, &diagnostics));
    ACCEPTED(call("myrelu", arguments, 1, &y));
    akg_tensor_release(y);
    y = NULL;
    REFUSED(call("myrelu", arguments + 1, 1, &y), AKG_ERROR_CALL, "info-no-match",
            "(in float64 contiguous, out float64 default) does not fit: 'in' is strided, not contiguous");
    akg_tensor_release(view);
    akg_tensor_release(base);
}

/* ---- operations -------------------------------------------------- */

static void test_operation(void)
{
    static const char *const inputs[] = {"in"}, *const outputs[] = {"out"};
    static const akg_dtype_format only[] = {{AKG_FLOAT64, NULL}, {AKG_FLOAT64, NULL}};
    akg_operator_info info = {.target = "CPU",
                              .inputs = inputs,
                              .outputs = outputs,
                              .input_count = 1,
                              .output_count = 1,
                              .combinations = only,
                              .combination_count = 1};
    akg_tensor *x = api_vector(AKG_FLOAT32, 5, -2, 1), *many[] = {x, x}, *y;
    akg_operation *operation;
    akg_argument shape = api_ints("shape", list, 1), counts = api_int("out", 0);
    int64_t item;

    REFUSED(akg_operation_create(registry, "myrelo", &operation, &diagnostics), AKG_ERROR_USAGE,
            "operator-unknown", "did you mean 'myrelu'?");
    ACCEPTED(akg_operation_create(registry, "myrelu", &operation, &diagnostics));
    REFUSED(akg_operation_run(operation, NULL, &diagnostics), AKG_ERROR_CALL, "call-missing", "'in'");
    ACCEPTED(akg_operation_input(operation, "in", &x, 1));
    ACCEPTED(akg_operation_output(operation, "out", 1));
    for (int i = 0; i < 2; i++) {
        ACCEPTED(akg_operation_run(operation, NULL, &diagnostics));
        ACCEPTED(akg_operation_sole_output(operation, &y, &diagnostics));
        CHECK_INT(api_element(y, 4), 2);
    }
    ACCEPTED(akg_operation_device(operation, "cpu:0"));
    ACCEPTED(akg_operation_run(operation, NULL, &diagnostics));
    ACCEPTED(akg_operation_device(operation, "cuda:1"));
    REFUSED(akg_operation_run(operation, NULL, &diagnostics), AKG_ERROR_CALL, "device-absent",
            "device 'cuda:1' is not there to run 'myrelu'");
    CHECK_INT(akg_operation_output_count(operation), 0);
    ACCEPTED(akg_operation_device(operation, "gpu"));
    REFUSED(akg_operation_run(operation, NULL, &diagnostics), AKG_ERROR_USAGE, "device-name", "'gpu'");
    ACCEPTED(akg_operation_device(operation, "cpu"));
    /* information given with the call wins over what is registered */
    ACCEPTED(akg_operation_info(operation, &info));
    REFUSED(akg_operation_run(operation, NULL, &diagnostics), AKG_ERROR_CALL, "info-no-match",
            "(in float64 default, out float64 default) does not fit: 'in' is float32, not float64");
    info.inputs = outputs;
    REFUSED(akg_operation_run(operation, NULL, &diagnostics), AKG_ERROR_USAGE, "info-mismatch", "inputs");
    /* information that is not all there is not taken */
    CHECK_INT(akg_operation_info(operation, &(akg_operator_info){0}), AKG_ERROR_USAGE);
    info.inputs = NULL;
    CHECK_INT(akg_operation_info(operation, &info), AKG_ERROR_USAGE);
    CHECK_INT(akg_registry_add_info(registry, "myrelu", &info, NULL), AKG_ERROR_USAGE);
    info.inputs = inputs;
    info.combination_count = SIZE_MAX / 2 + 1; /* times the two items of each that is none */
    CHECK_INT(akg_operation_info(operation, &info), AKG_ERROR_USAGE);
    CHECK_INT(akg_registry_add_info(registry, "myrelu", &info, NULL), AKG_ERROR_USAGE);
    ACCEPTED(akg_operation_info(operation, NULL));
    ACCEPTED(akg_operation_run(operation, NULL, &diagnostics));
    akg_operation_release(operation);

    ACCEPTED(akg_operation_create(registry, "count", &operation, &diagnostics));
    ACCEPTED(akg_operation_input(operation, "one", &x, 1));
    ACCEPTED(akg_operation_input(operation, "two", many, 2));
    ACCEPTED(akg_operation_input(operation, "least", many, 2));
    ACCEPTED(akg_operation_output(operation, "out", 1));
    ACCEPTED(akg_operation_output(operation, "out", 2)); /* in place of the first */
    ACCEPTED(akg_operation_run(operation, NULL, &diagnostics));
    CHECK_INT(akg_operation_output_count(operation), 2);
    CHECK(akg_operation_output_at(operation, 1) && !akg_operation_output_at(operation, 2));
    CHECK_STRING(akg_operation_output_name(operation, 1, &item), "out");
    CHECK(item == 1 && !akg_operation_output_name(operation, 2, &item));
    REFUSED(akg_operation_sole_output(operation, &y, &diagnostics), AKG_ERROR_USAGE, "sole-output",
            "'count' has 2 outputs, not one");
    CHECK_INT(akg_operation_output(operation, "out", SIZE_MAX), AKG_ERROR_USAGE);
    counts.as.integer = -1;
    ACCEPTED(akg_operation_attribute(operation, &counts));
    REFUSED(akg_operation_run(operation, NULL, &diagnostics), AKG_ERROR_CALL, "call-kind",
            "the number of its tensors");
    akg_operation_release(operation);

    ACCEPTED(akg_operation_create(registry, "attributes", &operation, &diagnostics));
    ACCEPTED(akg_operation_attribute(operation, &shape));
    ACCEPTED(akg_operation_run(operation, NULL, &diagnostics));
    ACCEPTED(akg_operation_sole_output(operation, &y, &diagnostics));
    CHECK_INT(akg_tensor_element_count(y), 10);
    akg_operation_release(operation);

    ACCEPTED(akg_operation_create(registry, "multiply", &operation, &diagnostics)); /* std's, a kernel */
    ACCEPTED(akg_operation_input(operation, "a", &x, 1));
    ACCEPTED(akg_operation_input(operation, "b", &x, 1));
    ACCEPTED(akg_operation_run(operation, NULL, &diagnostics));
    ACCEPTED(akg_operation_sole_output(operation, &y, &diagnostics));
    CHECK_INT(api_element(y, 0), 4);
    CHECK_STRING(akg_operation_output_name(operation, 0, &item), "y");
    CHECK(item == -1);
    akg_operation_release(operation);

    /* an output that is an input written in place has its name */
    ACCEPTED(akg_operation_create(registry, "sgd", &operation, &diagnostics));
    ACCEPTED(akg_operation_input(operation, "weight", &x, 1));
    ACCEPTED(
        akg_operation_input(operation, "gradient", &(akg_tensor *){y = api_vector(AKG_FLOAT32, 5, 1, 0)}, 1));
    ACCEPTED(akg_operation_attribute(
        operation, &(akg_argument){.name = "rate", .kind = AKG_ARGUMENT_INT, .as.integer = 1}));
    ACCEPTED(akg_operation_run(operation, NULL, &diagnostics));
    akg_tensor_release(y);
    ACCEPTED(akg_operation_sole_output(operation, &y, &diagnostics));
    CHECK(y == x && api_element(x, 0) == -3);
    akg_operation_release(operation);
    akg_operation_release(NULL);
    akg_tensor_release(x);
}

static void expect_report(const char *name, const char *expected)
{
    akg_operator *found;
    char *text;

    ACCEPTED(akg_registry_find(registry, name, &found, &diagnostics));
    CHECK_INT(akg_operator_report(found, &text), AKG_OK);
    CHECK_STRING(text, expected);
    akg_free(text);
}

static void test_report(void)
{
    expect_report("myrelu", "myrelu(in) -> out\n"
                            "    kernel float: device == cpu and dtype(out) == float32\n"
                            "    kernel double: device == cpu and dtype(out) == float64\n");
    expect_report(
        "count",
        "count(one, two[2], least[2 or more], maybe = None, maybe_two[2] = None, maybe_least[2 or more] "
        "= None) -> out[1 or more]\n    kernel any: always\n");
    expect_report(
        "attributes",
        "attributes(shape: shape, small: int32 = 11, large: int64 = 11, flag: bool = True, single: float = "
        "11.0, real: double = 11.0, mode: string = 'sum', dtype: dtype = float64, smalls: list of int32 = "
        "(), integers: list of int64 = (10, 11, 12), reals: list of floats = (10.0, 11.0, 12.0)) -> out\n"
        "    kernel any: always\n");
    expect_report("outer", "outer(a: T[N], b: T[N']) -> y: T[N, N']\n");
    CHECK_INT(akg_operator_report(NULL, &(char *){NULL}), AKG_ERROR_USAGE);
}

int main(void)
{
    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    test_relu();
    test_strided();
    test_no_kernel();
    test_counts();
    test_attributes();
    test_definitions();
    test_operation();
    test_report();
    test_info();
    akg_registry_release(registry);
    return check_done();
}
