/*
 * test_operator_native.c: operators written in C: inputs and outputs of every count, attributes of every
 * kind, inference, selection of kernels, operator information, scratch memory, empty outputs; and the error
 * of each.
 */
#include "refused.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static akg_registry *registry;

static akg_operator *find(const char *name)
{
    akg_operator *found = NULL;

    CHECK_INT(akg_registry_find(registry, name, &found, NULL), AKG_OK);
    return found;
}

static akg_status call(const char *name, const akg_argument *arguments, size_t count, akg_tensor **outputs)
{
    return akg_call(NULL, find(name), arguments, count, outputs, &diagnostics);
}

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

static const akg_operand one_in[] = {{.name = "in"}}, one_out[] = {{.name = "out"}};
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
    REFUSED(call("myrelu", &argument, 1, &y), AKG_ERROR_CALL, "call-output", "has another shape");
    akg_tensor_release(y);
    y = api_vector(AKG_FLOAT64, 6, 0, 0);
    REFUSED(call("myrelu", &argument, 1, &y), AKG_ERROR_CALL, "call-output", "has another dtype");
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

static const akg_argument eleven = {.kind = AKG_ARGUMENT_INT, .as.integer = 11},
                          yes = {.kind = AKG_ARGUMENT_BOOL, .as.boolean = true},
                          sum = {.kind = AKG_ARGUMENT_STRING, .as.string = "sum"},
                          float64 = {.kind = AKG_ARGUMENT_DTYPE, .as.dtype = AKG_FLOAT64};
static const int64_t list[] = {10, 11, 12};
static const akg_argument ints = {.kind = AKG_ARGUMENT_INTS, .as.ints = {list, 3}},
                          none = {.kind = AKG_ARGUMENT_INTS};
static const akg_attribute all_attributes[] = {
    {"shape", AKG_ATTRIBUTE_SHAPE, NULL},     {"small", AKG_ATTRIBUTE_INT32, &eleven},
    {"large", AKG_ATTRIBUTE_INT64, &eleven},  {"flag", AKG_ATTRIBUTE_BOOL, &yes},
    {"single", AKG_ATTRIBUTE_FLOAT, &eleven}, {"real", AKG_ATTRIBUTE_DOUBLE, &eleven},
    {"mode", AKG_ATTRIBUTE_STRING, &sum},     {"dtype", AKG_ATTRIBUTE_DTYPE, &float64},
    {"smalls", AKG_ATTRIBUTE_INT32S, &none},  {"integers", AKG_ATTRIBUTE_INT64S, &ints},
    {"reals", AKG_ATTRIBUTE_FLOATS, &ints},
};

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

/* ---- conditions ---------------------------------------------------------------------------------------- */

static akg_status nothing(akg_invocation *invocation)
{
    (void)invocation;
    return AKG_OK;
}

/* Whether a call with these arguments satisfies the condition; -1 when it cannot be read. */
static int holds(const char *condition, const akg_argument *arguments, size_t count)
{
    akg_operand inputs[] = {{.name = "a"},
                            {.name = "b", .optional = true},
                            {.name = "many", .count = 2, .at_least = true, .optional = true}};
    akg_kernel_definition kernel = {.name = "only", .condition = condition, .compute = nothing};
    akg_operator_definition definition = {.name = "condition",
                                          .inputs = inputs,
                                          .outputs = one_out,
                                          .input_count = 3,
                                          .output_count = 1,
                                          .attributes = all_attributes + 1,
                                          .attribute_count = API_COUNT(all_attributes) - 1,
                                          .kernels = &kernel,
                                          .kernel_count = 1};
    akg_registry *own;
    akg_operator *found;
    akg_tensor *y = NULL;
    akg_status status;
    int result = -1;

    akg_diagnostics_free(diagnostics);
    CHECK_INT(akg_registry_create(&own), AKG_OK);
    status = akg_registry_add_operator(own, &definition, &diagnostics);
    if (status == AKG_OK && akg_registry_find(own, "condition", &found, NULL) == AKG_OK) {
        status = akg_call(NULL, found, arguments, count, &y, &diagnostics);
        CHECK(status == AKG_OK || strcmp(api_error(diagnostics), "no-kernel") == 0);
        result = status == AKG_OK;
    } else {
        CHECK_STRING(api_error(diagnostics), "kernel-condition");
    }
    akg_tensor_release(y);
    akg_registry_release(own);
    return result;
}

static void test_conditions(void)
{
    static const int64_t shape[] = {2, 3, 4, 5}, channels_last[] = {60, 1, 15, 3};
    akg_tensor *base, *a, *b = api_vector(AKG_INT8, 2, 0, 1);
    static const struct {
        const char *condition;
        int holds;
    } rows[] = {
        {"device == cpu", 1},
        {"device == cuda", 0},
        {"device in (cuda, cpu)", 1},
        {"dtype(a) == float32", 1},
        {"dtype(a) != float32", 0},
        {"dtype(b) in (int8, int16)", 1},
        {"rank(a) == 4 and rank(b) == 1", 1},
        {"rank(a) > 4 or rank(b) > 1", 0},
        {"rank(a) >= 4 and rank(b) <= 1 and rank(a) < 5", 1},
        {"not rank(a) == 4", 0},
        {"not (rank(a) == 3 or small < 11)", 1},
        {"rank(b) == 2 and rank(b) == 3 or flag", 1},
        {"rank(b) == 2 and (rank(b) == 3 or flag)", 0},
        {"not flag", 0},
        {"flag == True", 1},
        {"flag != False and not not flag", 1},
        {"mode == 'sum'", 1},
        {"mode == mean", 0},
        {"single == 11 and real < 11.5 and real > 1.05e1", 1},
        {"large > -9223372036854775808", 1},
        {"large == 9223372036854775807", 0},
        {"dtype == float64", -1}, /* the term, not the attribute of that name */
        {"format(a) == NHWC", 1},
        {"format(a) == NCHW", 0},
        {"format(a) == default", 1},
        {"format(a) == contiguous", 0},
        {"format(b) == contiguous and format(b) != NCHW", 1},
        {"dtype(many) == float32", 0}, /* left out */
        {"not dtype(many, 1) == float32", 1},
        {"dtype(out, 0) == float32", 1},
        {"dtype(out, 1) == float32", 0},
        {"", -1},
        {"rank(a)", -1},
        {"small", -1},
        {"rank(a) == four", -1},
        {"dtype(a) == 4", -1},
        {"dtype(a) == float31", -1},
        {"dtype(a) < float64", -1},
        {"device == tpu", -1},
        {"format(a) == NWHC", -1},
        {"flag == maybe", -1},
        {"dtype(c) == float32", -1},
        {"dtype a == float32", -1},
        {"rank(a, x) == 4", -1},
        {"rank(a == 4", -1},
        {"(rank(a) == 4", -1},
        {"rank(a) == 4)", -1},
        {"rank(a) == 4 rank(b) == 1", -1},
        {"rank(a) ==", -1},
        {"rank(a) in 4", -1},
        {"rank(a) in (3, 4", -1},
        {"rank(a) in ()", -1},
        {"unknown == 3", -1},
        {"integers == 3", -1},
        {"and", -1},
    };

    CHECK_INT(akg_tensor_create(AKG_FLOAT32, 4, shape, &base), AKG_OK);
    CHECK_INT(akg_tensor_view(base, 4, shape, channels_last, 0, &a), AKG_OK);
    akg_argument arguments[] = {api_tensor("a", a), api_tensor("b", b)};
    for (size_t i = 0; i < API_COUNT(rows); i++)
        if (!CHECK(holds(rows[i].condition, arguments, 2) == rows[i].holds))
            fprintf(stderr, "    %s: should be %d; %s\n", rows[i].condition, rows[i].holds,
                    diagnostics ? akg_diagnostics_at(diagnostics, 0)->message : "");
    /* what is blamed: what makes it so, and nothing else */
    CHECK_INT(
        holds("rank(a) == 4 and not (rank(b) == 1 and mode == sum) and dtype(many) == int8", arguments, 2),
        0);
    CHECK(api_says(diagnostics, "does not fit: rank(b) is 1, mode is sum, dtype(many) was left out"));
    CHECK_INT(holds("format(a) == NCHW", arguments, 2), 0);
    CHECK(api_says(diagnostics, "does not fit: format(a) is NHWC"));
    /* deep and long ones */
    char text[6000];
    memset(text, '(', 1000);
    strcpy(text + 1000, "flag");
    CHECK_INT(holds(text, arguments, 2), -1);
    CHECK(api_says(diagnostics, "it is nested too deeply"));
    memset(text, ' ', 5000);
    strcpy(text + 5000, "flag");
    CHECK_INT(holds(text, arguments, 2), -1);
    CHECK(api_says(diagnostics, "it is too long"));
    akg_diagnostics_free(diagnostics);
    diagnostics = NULL;
    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(base);
}

/* ---- choice among kernels ---------------------------------------------------------------------------------
 */

#define MARKS(name, value)                                                                                   \
    static akg_status name(akg_invocation *invocation)                                                       \
    {                                                                                                        \
        akg_tensor_fill(akg_invocation_output(invocation, "out", 0), value);                                 \
        return AKG_OK;                                                                                       \
    }
MARKS(mark_one, 1)
MARKS(mark_two, 2)
MARKS(mark_three, 3)

static void test_selection(void)
{
    static const akg_kernel_definition kernels[] = {
        {.name = "one", .compute = mark_one},
        {.name = "two", .condition = "rank(in) == 2", .priority = 1, .compute = mark_two},
    };
    static const akg_kernel_definition third = {
        .name = "three", .condition = "dtype(in) == float32", .priority = 1, .compute = mark_three};
    static const akg_kernel_definition again = {.name = "one", .compute = mark_three};
    static const akg_kernel_definition broken = {
        .name = "four", .condition = "rank(x) == 1", .compute = mark_one};
    static const akg_kernel_definition empty = {.name = "five"};
    akg_operator_definition choose = {.name = "choose",
                                      .inputs = one_in,
                                      .outputs = one_out,
                                      .input_count = 1,
                                      .output_count = 1,
                                      .kernels = kernels,
                                      .kernel_count = 2};
    static const int64_t shape[] = {1, 1};
    akg_tensor *vector = api_vector(AKG_FLOAT64, 1, 0, 0), *matrix = api_range(AKG_FLOAT32, 2, shape, 0, 0);
    akg_tensor *y = api_vector(AKG_FLOAT64, 1, 0, 0), *z = api_range(AKG_FLOAT32, 2, shape, 0, 0);
    akg_argument arguments[] = {api_tensor(NULL, vector), api_tensor(NULL, matrix)};

    ACCEPTED(akg_registry_add_operator(registry, &choose, &diagnostics));
    ACCEPTED(call("choose", arguments, 1, &y));
    CHECK_INT(api_element(y, 0), 1);
    ACCEPTED(call("choose", arguments + 1, 1, &z));
    CHECK_INT(api_element(z, 0), 2);
    ACCEPTED(akg_registry_add_kernel(registry, "choose", &third, &diagnostics));
    ACCEPTED(call("choose", arguments, 1, &y));
    CHECK_INT(api_element(y, 0), 1);
    REFUSED(call("choose", arguments + 1, 1, &z), AKG_ERROR_CALL, "kernel-tie",
            "kernels 'two' and 'three' of 'choose' both fit this call, with the same priority 1");
    REFUSED(akg_registry_add_kernel(registry, "choose", &again, &diagnostics), AKG_ERROR_USAGE,
            "kernel-twice", "'choose' has two kernels called 'one'");
    REFUSED(akg_registry_add_kernel(registry, "choose", &broken, &diagnostics), AKG_ERROR_USAGE,
            "kernel-condition", "there is no input or output 'x'");
    REFUSED(akg_registry_add_kernel(registry, "choose", &empty, &diagnostics), AKG_ERROR_USAGE,
            "operator-definition", "kernel 'five' has no function 'compute'");
    REFUSED(akg_registry_add_kernel(registry, "chose", &third, &diagnostics), AKG_ERROR_USAGE,
            "operator-unknown", "did you mean 'choose'?");
    choose.name = "chooseless";
    choose.kernel_count = 0;
    ACCEPTED(akg_registry_add_operator(registry, &choose, &diagnostics));
    REFUSED(call("chooseless", arguments, 1, &y), AKG_ERROR_CALL, "no-kernel", "it has no kernels at all");
    akg_tensor_release(vector);
    akg_tensor_release(matrix);
    akg_tensor_release(y);
    akg_tensor_release(z);
}

/* ---- scratch, empty outputs -------------------------------------------------------------------
 */

static int computed;
static void *last_scratch;

static size_t scratch_bytes(const akg_invocation *invocation)
{
    return 8 * (size_t)akg_tensor_element_count(akg_invocation_input(invocation, "in", 0));
}

/* out = in reversed, through the scratch */
static akg_status scratch_compute(akg_invocation *invocation)
{
    const akg_tensor *in = akg_invocation_input(invocation, "in", 0);
    int64_t count = akg_tensor_element_count(in), *scratch = akg_invocation_scratch(invocation);
    const int64_t *from = akg_tensor_data(in);
    int64_t *to = akg_tensor_data(akg_invocation_output(invocation, "out", 0));

    computed++;
    last_scratch = scratch;
    CHECK((uintptr_t)scratch % 64 == 0);
    for (int64_t i = 0; i < count; i++)
        scratch[i] = from[i];
    for (int64_t i = 0; i < count; i++)
        to[i] = scratch[count - 1 - i];
    return AKG_OK;
}

static void test_scratch(void)
{
    akg_kernel_definition kernel = {.name = "any", .compute = scratch_compute, .scratch_size = scratch_bytes};
    akg_operator_definition reverse = {.name = "reversed",
                                       .inputs = one_in,
                                       .outputs = one_out,
                                       .input_count = 1,
                                       .output_count = 1,
                                       .kernels = &kernel,
                                       .kernel_count = 1};
    akg_tensor *x = api_vector(AKG_INT64, 100, 0, 1), *y = NULL, *empty = api_vector(AKG_INT64, 0, 0, 1);
    akg_argument argument = api_tensor(NULL, x);
    void *first;

    ACCEPTED(akg_registry_add_operator(registry, &reverse, &diagnostics));
    computed = 0;
    ACCEPTED(call("reversed", &argument, 1, &y));
    CHECK_INT(api_element(y, 0), 99);
    first = last_scratch;
    ACCEPTED(call("reversed", &argument, 1, &y));
    CHECK(last_scratch == first); /* the registry kept it */
    CHECK_INT(computed, 2);
    akg_tensor_release(y);
    y = NULL;
    /* empty: the kernel is not called, unless it wants to be */
    argument = api_tensor(NULL, empty);
    ACCEPTED(call("reversed", &argument, 1, &y));
    CHECK(y && akg_tensor_element_count(y) == 0);
    CHECK_INT(computed, 2);
    akg_tensor_release(y);
    y = NULL;
    kernel.always_compute = true;
    reverse.name = "reversed_always";
    ACCEPTED(akg_registry_add_operator(registry, &reverse, &diagnostics));
    ACCEPTED(call("reversed_always", &argument, 1, &y));
    CHECK_INT(computed, 3);
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_tensor_release(empty);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static akg_status threaded_compute(akg_invocation *invocation)
{
    int64_t *scratch = akg_invocation_scratch(invocation);
    const int64_t *from = akg_tensor_data(akg_invocation_input(invocation, "in", 0));
    int64_t *to = akg_tensor_data(akg_invocation_output(invocation, "out", 0));

    for (int i = 0; i < 16; i++)
        scratch[i] = from[i] + 1;
    for (int i = 0; i < 16; i++)
        to[i] = scratch[i];
    return AKG_OK;
}

enum { THREADS = 3, CALLS = 100 };

/* Calls the operator while others do, and while kernels are added to it; gives how often it was right. */
static void *call_often(void *context)
{
    akg_operator *callee = context;
    intptr_t right = 0;

    for (int i = 0; i < CALLS; i++) {
        akg_tensor *x = api_vector(AKG_INT64, 16, i, 1), *y = NULL;
        akg_argument argument = api_tensor(NULL, x);
        right += akg_call(NULL, callee, &argument, 1, &y, NULL) == AKG_OK && api_element(y, 15) == i + 16;
        akg_tensor_release(x);
        akg_tensor_release(y);
    }
    return (void *)right;
}

static void test_threads(void)
{
    akg_kernel_definition kernel = {
        .name = "any", .compute = threaded_compute, .scratch_size = scratch_bytes};
    akg_operator_definition threaded = {.name = "threaded",
                                        .inputs = one_in,
                                        .outputs = one_out,
                                        .input_count = 1,
                                        .output_count = 1,
                                        .kernels = &kernel,
                                        .kernel_count = 1};
    pthread_t threads[THREADS];
    char name[16];

    ACCEPTED(akg_registry_add_operator(registry, &threaded, &diagnostics));
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, call_often, find("threaded")), 0);
    kernel.condition = "rank(in) == 7";
    kernel.name = name;
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "more_%d", i);
        ACCEPTED(akg_registry_add_kernel(registry, "threaded", &kernel, &diagnostics));
    }
    for (int i = 0; i < THREADS; i++) {
        void *right = NULL;
        pthread_join(threads[i], &right);
        CHECK_INT((intptr_t)right, CALLS);
    }
}

/* ---- failures -------------------------------------------------------------------------------------------
 */

static akg_status fail_without_reason(akg_invocation *invocation)
{
    (void)invocation;
    return AKG_ERROR_IO;
}

static akg_status fail_with_reason(akg_invocation *invocation)
{
    akg_invocation_refuse(invocation, "the sky is the wrong colour");
    return akg_invocation_refuse(invocation, "this is told no more");
}

static void test_failures(void)
{
    akg_kernel_definition kernel = {.name = "broken", .compute = fail_without_reason};
    akg_operator_definition failing = {.name = "failing",
                                       .inputs = one_in,
                                       .outputs = one_out,
                                       .input_count = 1,
                                       .output_count = 1,
                                       .kernels = &kernel,
                                       .kernel_count = 1};
    akg_tensor *x = api_vector(AKG_INT64, 3, 0, 1), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);

    ACCEPTED(akg_registry_add_operator(registry, &failing, &diagnostics));
    REFUSED(call("failing", &argument, 1, &y), AKG_ERROR_CALL, "operator-failed",
            "'broken' of operator 'failing' failed: ");
    failing.name = "refusing";
    kernel.compute = fail_with_reason;
    ACCEPTED(akg_registry_add_operator(registry, &failing, &diagnostics));
    REFUSED(call("refusing", &argument, 1, &y), AKG_ERROR_CALL, "operator-refused",
            "'refusing': the sky is the wrong colour");
    failing.name = "silent";
    failing.infer = nothing;
    ACCEPTED(akg_registry_add_operator(registry, &failing, &diagnostics));
    REFUSED(call("silent", &argument, 1, &y), AKG_ERROR_CALL, "operator-infer", "'silent'");
    CHECK(!y);
    akg_tensor_release(x);
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
    akg_argument shape = api_ints("shape", list, 1);
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
    test_conditions();
    test_selection();
    test_scratch();
    test_threads();
    test_failures();
    test_definitions();
    test_operation();
    test_report();
    test_info();
    akg_registry_release(registry);
    return check_done();
}
