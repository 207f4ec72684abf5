/*
 * test_operator.c: registries: operators from modules and from the standard library, their names, what is
 * said when something is registered twice or is not there; operator information of kernels.
 */
#include "refused.h"

#include <pthread.h>

static akg_registry *registry;

static const char square_text[] = "def square(x):\n"
                                  "    \"\"\"Each element times itself.\"\"\"\n"
                                  "    y = output_tensor(x.shape, x.dtype)\n"
                                  "    for i in grid(x.shape):\n"
                                  "        y[i] = x[i] * x[i]\n"
                                  "    return y\n"
                                  "\n"
                                  "def square_grad(x, dout):\n"
                                  "    dx = output_tensor(x.shape, x.dtype)\n"
                                  "    for i in grid(x.shape):\n"
                                  "        dx[i] = 2.0 * x[i] * dout[i]\n"
                                  "    return dx\n"
                                  "\n"
                                  "@bprop(square)\n"
                                  "def square_bprop(x, out, dout):\n"
                                  "    return (square_grad(x, dout),)\n"
                                  "\n"
                                  "def scale(x, factor=2.0):\n"
                                  "    y = output_tensor(x.shape, x.dtype)\n"
                                  "    for i in grid(x.shape):\n"
                                  "        y[i] = x[i] * factor\n"
                                  "    return y\n";

static akg_operator *find(const char *name)
{
    akg_operator *found = NULL;

    CHECK_INT(akg_registry_find(registry, name, &found, NULL), AKG_OK);
    return found;
}

static void begin(void)
{
    akg_module *module = api_compile(square_text);

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_add_module(registry, module, &diagnostics), AKG_OK);
    CHECK(!diagnostics);
    akg_module_release(module); /* the registry has it */
}

static void test_module(void)
{
    akg_operator *square, *scale;
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *y = NULL;
    akg_parameter parameter;

    begin();
    CHECK_INT(akg_registry_operator_count(registry), 4);
    CHECK_STRING(akg_operator_name(akg_registry_operator_at(registry, 1)), "square_grad");
    CHECK(!akg_registry_operator_at(registry, 4));
    square = find("square");
    CHECK_STRING(akg_operator_name(square), "square");
    CHECK_STRING(akg_operator_documentation(square), "Each element times itself.");
    CHECK_STRING(akg_operator_origin(square), "test.akg:1");
    CHECK(akg_operator_has_gradient(square));
    CHECK(!akg_operator_has_gradient(find("square_grad")));
    CHECK(akg_operator_kernel(square) != NULL);
    CHECK_INT(akg_operator_output_count(square), 1);
    CHECK_STRING(akg_operator_output_name(square, 0), "y");
    scale = find("scale");
    CHECK_INT(akg_operator_parameter_count(scale), 2);
    CHECK(akg_operator_parameter(scale, 1, &parameter));
    CHECK_INT(parameter.kind, AKG_PARAMETER_ATTRIBUTE);

    akg_argument arguments[] = {api_tensor(NULL, x), api_real("factor", 3)};
    CHECK_INT(akg_call(NULL, square, arguments, 1, &y, &diagnostics), AKG_OK);
    CHECK_INT(api_element(y, 2), 9);
    akg_tensor_release(y);
    y = NULL;
    CHECK_INT(akg_call(NULL, scale, arguments, 2, &y, &diagnostics), AKG_OK);
    CHECK_INT(api_element(y, 2), 9);
    REFUSED(akg_call(NULL, scale, arguments + 1, 1, &y, &diagnostics), AKG_ERROR_CALL, "call-missing", "'x'");
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_registry_release(registry);
}

static void test_names(void)
{
    akg_module *module;
    akg_operator *found;

    begin();
    REFUSED(akg_registry_find(registry, "sqare", &found, &diagnostics), AKG_ERROR_USAGE, "operator-unknown",
            "did you mean 'square'?");
    CHECK(!found);
    REFUSED(akg_registry_find(registry, "std:square_grad", &found, &diagnostics), AKG_ERROR_USAGE,
            "operator-unknown", "std:square_grad");

    /* all or nothing: cube is new, scale is not */
    module =
        api_compile("def cube(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in grid(x.shape):\n"
                    "        y[i] = x[i] * x[i] * x[i]\n    return y\n"
                    "def scale(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in grid(x.shape):\n"
                    "        y[i] = x[i]\n    return y\n");
    REFUSED(akg_registry_add_module(registry, module, &diagnostics), AKG_ERROR_USAGE, "operator-twice",
            "the first comes from test.akg:18, the second from test.akg:6");
    CHECK_INT(akg_registry_operator_count(registry), 4);
    CHECK_INT(akg_registry_find(registry, "cube", &found, NULL), AKG_ERROR_USAGE);
    akg_module_release(module);
    akg_registry_release(registry);
}

static void test_standard(void)
{
    akg_module *module;
    akg_operator *standard, *own;
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *y = NULL;
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, x)};

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_operator_count(registry), 0);
    standard = find("multiply");
    CHECK(find("std:multiply") == standard);
    CHECK(akg_operator_has_gradient(standard));
    CHECK_INT(akg_call(NULL, standard, arguments, 2, &y, &diagnostics), AKG_OK);
    CHECK_INT(api_element(y, 2), 9);
    akg_tensor_release(y);

    /* the user's own comes first, and does not disturb the other */
    module = api_compile("def multiply(a, b):\n    y = output_tensor(a.shape, a.dtype)\n"
                         "    for i in grid(a.shape):\n        y[i] = 7.0\n    return y\n");
    CHECK_INT(akg_registry_add_module(registry, module, &diagnostics), AKG_OK);
    own = find("multiply");
    CHECK(own != standard);
    CHECK(find("std:multiply") == standard);
    akg_module_release(module);
    akg_registry_release(registry);

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_add_standard(registry, &diagnostics), AKG_OK);
    CHECK_STRING(api_error(diagnostics), "");
    akg_diagnostics_free(diagnostics);
    diagnostics = NULL;
    CHECK(akg_registry_operator_count(registry) > 3);
    for (size_t i = 0; i < akg_registry_operator_count(registry); i++)
        CHECK(akg_operator_name(akg_registry_operator_at(registry, i))[0] != '_');
    akg_registry_release(registry);
    akg_tensor_release(x);
}

static void test_info(void)
{
    static const char *const inputs[] = {"x"}, *const outputs[] = {"y"}, *const attributes[] = {"factor"};
    static const akg_dtype_format half[] = {{AKG_FLOAT16, NULL}, {AKG_FLOAT16, NULL}};
    akg_operator_info info = {.target = "CPU",
                              .inputs = inputs,
                              .outputs = outputs,
                              .input_count = 1,
                              .output_count = 1,
                              .combinations = half,
                              .combination_count = 1};
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *y = NULL;
    akg_argument arguments[] = {api_tensor(NULL, x)};

    begin();
    /* scale has an attribute: it must be registered, and by its name */
    REFUSED(akg_registry_add_info(registry, "scale", &info, &diagnostics), AKG_ERROR_USAGE, "info-mismatch",
            "it has 0 attributes, the operator has 1");
    info.attributes = inputs;
    info.attribute_count = 1;
    REFUSED(akg_registry_add_info(registry, "scale", &info, &diagnostics), AKG_ERROR_USAGE, "info-mismatch",
            "number 1 of its attributes is 'x', that of the operator is 'factor'");
    info.attributes = attributes;
    CHECK_INT(akg_registry_add_info(registry, "scale", &info, &diagnostics), AKG_OK);
    REFUSED(akg_registry_add_info(registry, "scale", &info, &diagnostics), AKG_ERROR_USAGE, "info-twice",
            "'scale' has operator information for CPU already");
    info.target = "GPU";
    CHECK_INT(akg_registry_add_info(registry, "scale", &info, &diagnostics), AKG_OK);
    info.target = "TPU";
    REFUSED(akg_registry_add_info(registry, "scale", &info, &diagnostics), AKG_ERROR_USAGE, "info-mismatch",
            "CPU, GPU and Ascend");
    REFUSED(akg_call(NULL, find("scale"), arguments, 1, &y, &diagnostics), AKG_ERROR_CALL, "info-no-match",
            "(x float16 default, y float16 default) does not fit: 'x' is float32, not float16");
    CHECK(!y);
    akg_tensor_release(x);
    akg_registry_release(registry);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *look_up(void *context)
{
    akg_operator *found = NULL;
    akg_module *module = api_compile(square_text);
    bool *won = context;

    *won = akg_registry_add_module(registry, module, NULL) == AKG_OK;
    akg_module_release(module);
    if (akg_registry_find(registry, "add", &found, NULL) != AKG_OK || !found)
        return NULL;
    return akg_registry_find(registry, "square", &found, NULL) == AKG_OK ? found : NULL;
}

static void test_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    bool won[THREADS] = {false};
    void *found, *first = NULL;
    int winners = 0;

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, look_up, &won[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &found);
        CHECK(found && (!first || found == first));
        first = found;
        winners += won[i];
    }
    CHECK_INT(winners, 1);
    akg_registry_release(registry);
}

static void test_usage(void)
{
    akg_operator *found;
    akg_tensor *y = NULL;

    CHECK_INT(akg_registry_create(NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_add_module(registry, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_registry_find(registry, NULL, &found, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_registry_find(NULL, "f", &found, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_registry_find(registry, "f", NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_call(NULL, NULL, NULL, 0, &y, NULL), AKG_ERROR_USAGE);
    CHECK(!akg_operator_name(NULL) && !akg_operator_kernel(NULL) && !akg_operator_has_gradient(NULL));
    CHECK_INT(akg_registry_operator_count(NULL), 0);
    akg_registry_release(registry);
    akg_registry_release(NULL);
}

int main(void)
{
    test_threads();
    if (check_is_of_threads())
        return check_done();
    test_module();
    test_names();
    test_standard();
    test_info();
    test_usage();
    return check_done();
}
