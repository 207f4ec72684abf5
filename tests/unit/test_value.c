/*
 * test_value.c: the VALUE of NAME=VALUE: what each spelling becomes for a tensor
 * and for an attribute, and what is refused.
 *
 * The files under test belong to akgrun, not to the library, and are compiled in.
 */
#include "check.h"

#include "../../tools/literal.c"
#include "../../tools/support.c"
#include "../../tools/value.c"

#include <unistd.h>

static const akg_parameter tensor_parameter = {"x", AKG_PARAMETER_TENSOR, false, AKG_DTYPE_COUNT, -1};
static const akg_parameter int32_parameter = {"x", AKG_PARAMETER_TENSOR, false, AKG_INT32, -1};
static const akg_parameter variadic_parameter = {"xs", AKG_PARAMETER_VARIADIC, false, AKG_DTYPE_COUNT, -1};
static const akg_parameter attribute_parameter = {"a", AKG_PARAMETER_ATTRIBUTE, true, AKG_DTYPE_COUNT, -1};

static struct value value;
static struct problem problem;

/* Reads a text; the value or the problem is left in the two variables above. */
static bool parse(const char *text, const akg_parameter *parameter)
{
    value_free(&value);
    problem_free(&problem);
    return value_parse(text, parameter, 1, &value, &problem);
}

/* "float32[2,3] 1 2 3 4 5 6" of a tensor value, for comparison; "refused: ..." otherwise. */
static const char *described(const char *text, const akg_parameter *parameter)
{
    static char line[640];
    size_t length = 0;
    if (!parse(text, parameter)) {
        snprintf(line, sizeof line, "refused: %.500s", problem.text);
        return line;
    }
    if (value.argument.kind != AKG_ARGUMENT_TENSOR)
        return "no tensor";
    const akg_tensor *tensor = value.argument.as.tensor;
    length += (size_t)snprintf(line, sizeof line, "%s[", akg_dtype_name(akg_tensor_dtype(tensor)));
    for (int i = 0; i < akg_tensor_rank(tensor); i++)
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%lld", i ? "," : "",
                                   (long long)akg_tensor_shape(tensor)[i]);
    length += (size_t)snprintf(line + length, sizeof line - length, "]");
    int64_t count = akg_tensor_element_count(tensor);
    akg_tensor *flat = NULL;
    if (akg_tensor_view((akg_tensor *)tensor, 1, &count, NULL, 0, &flat) != AKG_OK)
        return "no view";
    for (int64_t i = 0; i < count && length < sizeof line - 40; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, " %.10g", akg_tensor_get(flat, &i));
    akg_tensor_release(flat);
    return line;
}

static const char *tensor(const char *text)
{
    return described(text, &tensor_parameter);
}

static bool refused(const char *text, const akg_parameter *parameter, const char *piece)
{
    if (parse(text, parameter) || !strstr(problem.text, piece)) {
        fprintf(stderr, "    %s: %s\n", text, problem.text);
        return false;
    }
    return problem.status == AKG_ERROR_USAGE;
}

static void test_numbers(void)
{
    CHECK_STRING(tensor("3"), "float32[] 3");
    CHECK_STRING(tensor("-0.5"), "float32[] -0.5");
    CHECK_STRING(tensor("+1e3"), "float32[] 1000");
    CHECK_STRING(tensor("1_000"), "float32[] 1000");
    CHECK_STRING(tensor("0xff:uint8"), "uint8[] 255");
    CHECK_STRING(tensor("0b101:int8"), "int8[] 5");
    CHECK_STRING(tensor("inf"), "float32[] inf");
    CHECK_STRING(tensor("-Infinity:float16"), "float16[] -inf");
    CHECK_STRING(tensor("True"), "bool[] 1");
    CHECK_STRING(tensor("7 : int64 "), "int64[] 7");
    CHECK_STRING(described("7", &int32_parameter), "int32[] 7");
    CHECK_STRING(described("7:float64", &int32_parameter), "float64[] 7");
    CHECK(parse("nan", &tensor_parameter) && isnan(akg_tensor_get(value.tensor, NULL)));
    CHECK(parse("-0.0", &tensor_parameter) && signbit(akg_tensor_get(value.tensor, NULL)));
    CHECK(parse("-0", &tensor_parameter) && !signbit(akg_tensor_get(value.tensor, NULL)));
}

static void test_lists(void)
{
    CHECK_STRING(tensor("[1,2,3]"), "float32[3] 1 2 3");
    CHECK_STRING(tensor(" [ [1, 2] , [3, 4,], ] "), "float32[2,2] 1 2 3 4");
    CHECK_STRING(tensor("[[1,2],[3,4]]:int32"), "int32[2,2] 1 2 3 4");
    CHECK_STRING(tensor("(1,2)"), "float32[2] 1 2");
    CHECK_STRING(tensor("(1,)"), "float32[1] 1");
    CHECK_STRING(tensor("(1)"), "float32[] 1");
    CHECK_STRING(tensor("[]"), "float32[0]");
    CHECK_STRING(tensor("[[],[]]:int8"), "int8[2,0]");
    CHECK_STRING(tensor("[True,False]"), "bool[2] 1 0");
    CHECK_STRING(tensor("[True,2]"), "float32[2] 1 2");
    CHECK_STRING(tensor("[1,0]:bool"), "bool[2] 1 0");
    CHECK_STRING(tensor("[-128,127]:int8"), "int8[2] -128 127");
    CHECK_STRING(tensor("[1.0,2e0]:int32"), "int32[2] 1 2");
    CHECK_STRING(tensor("[0.1]:float16"), "float16[1] 0.09997558594");
    CHECK_STRING(tensor("[65504,65519]:float16"), "float16[2] 65504 65504");
    CHECK_STRING(described("[[1],[2]]", &int32_parameter), "int32[2,1] 1 2");
    CHECK(parse("[9223372036854775807,-9223372036854775808]:int64", &tensor_parameter));
    CHECK(value.tensor && ((int64_t *)akg_tensor_data(value.tensor))[0] == INT64_MAX);
    CHECK(value.tensor && ((int64_t *)akg_tensor_data(value.tensor))[1] == INT64_MIN);
    CHECK(parse("[18446744073709551615]:uint64", &tensor_parameter));
    CHECK(value.tensor && ((uint64_t *)akg_tensor_data(value.tensor))[0] == UINT64_MAX);
}

static void test_refused_lists(void)
{
    const akg_parameter *x = &tensor_parameter;
    CHECK(refused("[[1,2],[3]]", x, "ragged"));
    CHECK(refused("[[[1]],[]]", x, "ragged"));
    CHECK(refused("[1,[2]]", x, "where a number is expected"));
    CHECK(refused("[[1],2]", x, "where a list is expected"));
    CHECK(refused("[[],1]", x, "where a list is expected"));
    CHECK(refused("[1,2", x, "not closed"));
    CHECK(refused("[1,", x, "not closed"));
    CHECK(refused("[", x, "not closed"));
    CHECK(refused("[1,,2]", x, "expected a number"));
    CHECK(refused("[1 2]", x, "expected ','"));
    CHECK(refused("[1)", x, "expected ','"));
    CHECK(refused("[1,2]]", x, "unexpected ']'"));
    CHECK(refused("[true]", x, "expected a number"));
    CHECK(strstr(problem.help, "True"));
    CHECK(refused("[1,2]:int33", x, "no dtype 'int33'"));
    CHECK(strstr(problem.help, "int32") != NULL);
    CHECK(refused("[1,2]:", x, "no dtype"));
    CHECK(refused("[1,2]:int32:int8", x, "no dtype"));
    CHECK(refused("[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", x, "nested more than 16"));
    CHECK(refused("[128]:int8", x, "128 does not fit in int8"));
    CHECK(refused("[-129]:int8", x, "-129 does not fit in int8"));
    CHECK(refused("[-1]:uint64", x, "does not fit"));
    CHECK(refused("18446744073709551616:uint64", x, "does not fit"));
    CHECK(refused("9223372036854775808:int64", x, "does not fit"));
    CHECK(refused("[1.5]:int32", x, "1.5 does not fit in int32"));
    CHECK(refused("[nan]:int32", x, "does not fit"));
    CHECK(refused("[2]:bool", x, "does not fit in bool"));
    CHECK(refused("65520:float16", x, "does not fit in float16"));
    CHECK(refused("1e39", x, "does not fit in float32"));
    CHECK(refused("1e999:float64", x, "too large for float64"));
    CHECK(refused("3.5.1", x, "expected a number"));
    CHECK(refused("1__0", x, "expected a number"));
    CHECK(refused("0x", x, "expected a number"));
    CHECK(refused("-True", x, "expected a number"));
    CHECK(refused("", x, "empty"));
    CHECK(refused("hello", x, "is no tensor"));
    CHECK(refused("'hello'", x, "is no tensor"));
}

static void test_generators(void)
{
    const akg_parameter *x = &tensor_parameter;
    CHECK_STRING(tensor("zeros(2,3)"), "float32[2,3] 0 0 0 0 0 0");
    CHECK_STRING(tensor("ones( (1, 2) ):int8"), "int8[1,2] 1 1");
    CHECK_STRING(tensor("ones()"), "float32[] 1");
    CHECK_STRING(tensor("full(2,0.5)"), "float32[2] 0.5 0.5");
    CHECK_STRING(tensor("full((1,2),7):uint8"), "uint8[1,2] 7 7");
    CHECK_STRING(tensor("full(7)"), "float32[] 7");
    CHECK_STRING(tensor("randint(7,8,3)"), "int32[3] 7 7 7");
    CHECK_STRING(tensor("randint(-3,-2,(1,2)):float64"), "float64[1,2] -3 -3");
    CHECK_STRING(tensor("randint(9223372036854775806,9223372036854775807,1):int64"),
                 "int64[1] 9.223372037e+18");
    CHECK_STRING(tensor("arange(4)"), "float32[4] 0 1 2 3");
    CHECK_STRING(tensor("arange(1,2,0.25)"), "float32[4] 1 1.25 1.5 1.75");
    CHECK_STRING(tensor("arange(3,0,-1):int64"), "int64[3] 3 2 1");
    CHECK_STRING(tensor("arange(0)"), "float32[0]");
    CHECK_STRING(tensor("arange(-3)"), "float32[0]");
    CHECK_STRING(described("arange(2)", &int32_parameter), "int32[2] 0 1");
    CHECK(parse("full(2,9223372036854775807):int64", x));
    CHECK(value.tensor && ((int64_t *)akg_tensor_data(value.tensor))[1] == INT64_MAX);
    CHECK(refused("randm(3)", x, "no generator 'randm'"));
    CHECK(strstr(problem.help, "rand") != NULL);
    CHECK(refused("np.zeros(3)", x, "no generator 'np.zeros'"));
    CHECK(refused("zeros(2,", x, "expected"));
    CHECK(refused("zeros(2,,3)", x, "expected a number"));
    CHECK(refused("zeros(2.5)", x, "a dim is a whole number"));
    CHECK(refused("zeros(-1)", x, "a dim is a whole number"));
    CHECK(refused("zeros(2)x", x, "unexpected 'x'"));
    CHECK(refused("zeros(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", x, "at most 16 dims"));
    CHECK(refused("zeros(4611686018427387904,4611686018427387904)", x, "cannot be made"));
    CHECK(refused("full()", x, "full needs a value"));
    CHECK(refused("full(2,300):int8", x, "300 does not fit in int8"));
    CHECK(refused("randint(5)", x, "takes the least number"));
    CHECK(refused("randint(0,0.5,3)", x, "from 0 to 0.5"));
    CHECK(refused("randint(3,3,2)", x, "from 3 to below 3 has no numbers"));
    CHECK(refused("randint(0,300,2):uint8", x, "299 of randint does not fit in uint8"));
    CHECK(refused("randint(-1,3,2):uint8", x, "-1 of randint does not fit in uint8"));
    CHECK(refused("randint(0,3,-2)", x, "a dim is"));
    CHECK(refused("arange()", x, "one to three"));
    CHECK(refused("arange(0,1,0)", x, "never ends"));
    CHECK(refused("arange(inf)", x, "never ends"));
    CHECK(refused("arange(300):int8", x, "does not fit in int8"));
    CHECK(refused("arange(0,1,0.5):int32", x, "0.5 of arange does not fit"));
}

static void test_random(void)
{
    char first[640];
    snprintf(first, sizeof first, "%.600s", tensor("randn(4)"));
    CHECK(strncmp(first, "float32[4] ", 11) == 0);
    CHECK_STRING(tensor("randn(4)"), first);
    CHECK(strcmp(tensor("rand(4)"), first) != 0);
    CHECK(strncmp(tensor("rand(2,2):float64"), "float64[2,2] 0.", 15) == 0);
    CHECK(value_stream(0, 0, 0) != value_stream(0, 1, 0));
    CHECK(value_stream(0, 0, 0) != value_stream(1, 0, 0));
    CHECK(value_stream(0, 0, 0) != value_stream(0, 0, 1));
    CHECK(value_stream(0, 0, 1) != value_stream(0, 1, 0));
    CHECK(value_stream(3, 2, 1) == value_stream(3, 2, 1));
}

static void test_attributes(void)
{
    const akg_parameter *a = &attribute_parameter;
    CHECK(parse("3", a) && value.argument.kind == AKG_ARGUMENT_INT && value.argument.as.integer == 3);
    CHECK(parse("-3", a) && value.argument.kind == AKG_ARGUMENT_INT && value.argument.as.integer == -3);
    CHECK(parse("3.0", a) && value.argument.kind == AKG_ARGUMENT_FLOAT && value.argument.as.real == 3);
    CHECK(parse("1e-3", a) && value.argument.kind == AKG_ARGUMENT_FLOAT && value.argument.as.real == 1e-3);
    CHECK(parse("-inf", a) && value.argument.kind == AKG_ARGUMENT_FLOAT && isinf(value.argument.as.real));
    CHECK(parse("True", a) && value.argument.kind == AKG_ARGUMENT_BOOL && value.argument.as.boolean);
    CHECK(parse("False", a) && value.argument.kind == AKG_ARGUMENT_BOOL && !value.argument.as.boolean);
    CHECK(parse("None", a) && value.argument.kind == AKG_ARGUMENT_NONE);
    CHECK(parse("(2,-3)", a) && value.argument.kind == AKG_ARGUMENT_INTS &&
          value.argument.as.ints.count == 2 && value.argument.as.ints.items[1] == -3);
    CHECK(parse("[4]", a) && value.argument.kind == AKG_ARGUMENT_INTS && value.argument.as.ints.count == 1);
    CHECK(parse("()", a) && value.argument.kind == AKG_ARGUMENT_INTS && value.argument.as.ints.count == 0);
    CHECK(parse("(2)", a) && value.argument.kind == AKG_ARGUMENT_INT && value.argument.as.integer == 2);
    CHECK(parse("mean", a) && value.argument.kind == AKG_ARGUMENT_STRING);
    CHECK_STRING(value.argument.as.string, "mean");
    CHECK_STRING(value.argument.name, "a");
    CHECK(parse("'3'", a) && value.argument.kind == AKG_ARGUMENT_STRING);
    CHECK_STRING(value.argument.as.string, "3");
    CHECK(parse("\"a\\\"b\\n\"", a) && value.argument.kind == AKG_ARGUMENT_STRING);
    CHECK_STRING(value.argument.as.string, "a\"b\n");
    CHECK(parse("\"\"", a) && value.argument.kind == AKG_ARGUMENT_STRING);
    CHECK_STRING(value.argument.as.string, "");
    CHECK(parse("float16", a) && value.argument.kind == AKG_ARGUMENT_STRING);
    CHECK(parse("inflate", a) && value.argument.kind == AKG_ARGUMENT_STRING);
    CHECK(parse("-", a) && value.argument.kind == AKG_ARGUMENT_STRING);
    CHECK(parse("9223372036854775807", a) && value.argument.as.integer == INT64_MAX);
    CHECK(refused("9223372036854775808", a, "fit in int64"));
    CHECK(refused("1e999", a, "fit in float64"));
    CHECK(refused("2,2", a, "neither a number nor a tuple"));
    CHECK(refused("3x", a, "neither a number nor a tuple"));
    CHECK(refused("3:int32", a, "no dtype"));
    CHECK(refused("(1.5,2)", a, "holds integers"));
    CHECK(refused("(True,2)", a, "holds integers"));
    CHECK(refused("[[1,2]]", a, "flat tuple"));
    CHECK(refused("(1,2", a, "not closed"));
    CHECK(refused("(1,2)x", a, "unexpected 'x'"));
    CHECK(refused("'open", a, "not closed with '"));
    CHECK(refused("'a' b", a, "unexpected"));
    CHECK(refused("'\\q'", a, "unknown escape"));
    CHECK(refused("'\\", a, "unknown escape"));
    CHECK(refused("randn(3)", a, "takes no tensor"));
    CHECK(refused("x.npy", a, "takes no tensor"));
    CHECK(refused(" ", a, "empty"));
}

static void test_none_and_variadic(void)
{
    CHECK(parse("None", &tensor_parameter) && value.argument.kind == AKG_ARGUMENT_NONE);
    CHECK(refused("None", &variadic_parameter, "takes tensors, not None"));
    CHECK_STRING(described("[1,2]", &variadic_parameter), "float32[2] 1 2");
}

static void test_files(void)
{
    char directory[] = "/tmp/akg-test-value-XXXXXX";
    akg_diagnostics *diagnostics = NULL;
    CHECK(mkdtemp(directory) != NULL);
    char *path = string_format("%s/a:b.npy", directory), *archive = string_format("%s/c.npz", directory);
    char *converted = string_format("%s:int8", path), *wrong = string_format("%s:int9", path);
    char *member = string_format("%s:float32", archive), *cast = string_format("%s:float32:int8", archive);
    char *no_key = string_format("%s:", archive), *no_member = string_format("%s:y", archive);
    CHECK(parse("[1,2]", &tensor_parameter));
    CHECK(akg_npy_write(path, value.tensor, &diagnostics) == AKG_OK);
    const char *key = "float32";
    CHECK(akg_npz_write(archive, &key, &value.tensor, 1, &diagnostics) == AKG_OK);
    CHECK_STRING(tensor(path), "float32[2] 1 2");
    CHECK_STRING(tensor(converted), "int8[2] 1 2");
    CHECK_STRING(tensor(member), "float32[2] 1 2");
    CHECK_STRING(tensor(cast), "int8[2] 1 2");
    CHECK(refused(wrong, &tensor_parameter, "no dtype 'int9'"));
    CHECK(refused(archive, &tensor_parameter, "several arrays"));
    CHECK(refused(no_key, &tensor_parameter, "key"));
    CHECK(!parse(no_member, &tensor_parameter) && problem.status == AKG_ERROR_IO);
    CHECK(!parse("/nonexistent/x.npy", &tensor_parameter) && problem.status == AKG_ERROR_IO);
    CHECK(akg_diagnostics_error_count(problem.diagnostics) == 1);
    unlink(path);
    unlink(archive);
    rmdir(directory);
    char *paths[] = {path, archive, converted, wrong, member, cast, no_key, no_member};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        free(paths[i]);
    akg_diagnostics_free(diagnostics);
}

int main(void)
{
    test_numbers();
    test_lists();
    test_refused_lists();
    test_generators();
    test_random();
    test_attributes();
    test_none_and_variadic();
    test_files();
    value_free(&value);
    problem_free(&problem);
    return check_done();
}
