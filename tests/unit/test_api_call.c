/*
 * test_api_call.c: akg_kernel_call: how arguments find their parameters, outputs the caller hands in, strided
 * inputs, what is refused, and that what is refused leaves the caller's tensors as they were. Each right call
 * is done by both back ends, which must agree to the bit.
 */
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

static const jit_backend backends[] = {JIT_BACKEND_TCC, JIT_BACKEND_INTERPRETER};

static const char program[] = "def add(x, y):\n"
                              "    z = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        z[i] = x[i] + y[i]\n"
                              "    return z\n"
                              "\n"
                              "def add2(x, y):\n"
                              "    z = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        for j in range(x.shape[1]):\n"
                              "            z[i, j] = x[i, j] * 10 + y[i, j]\n"
                              "    return z\n"
                              "\n"
                              "def affine(x, scale=2.0, shift=1, negate=False):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        v = x[i] * scale + shift\n"
                              "        if negate:\n"
                              "            v = -v\n"
                              "        y[i] = v\n"
                              "    return y\n"
                              "\n"
                              "def pick(x, mode=\"sum\", window=(1, 2)):\n"
                              "    y = output_tensor((1,), x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        if mode == \"sum\":\n"
                              "            y[0] += x[i] * window[0]\n"
                              "        else:\n"
                              "            y[0] = max(y[0], x[i] * window[1])\n"
                              "    return y\n"
                              "\n"
                              "def first(x, n=2):\n"
                              "    y = output_tensor((n,), x.dtype)\n"
                              "    for i in range(n):\n"
                              "        y[i] = x[i] + n\n"
                              "    return y\n"
                              "\n"
                              "def biased(x, bias=None):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        y[i] = x[i]\n"
                              "        if bias is not None:\n"
                              "            y[i] += bias[i]\n"
                              "    return y\n"
                              "\n"
                              "def back(x, bias=None):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        y[i] = x[i]\n"
                              "        if bias is not None:\n"
                              "            bias[i] = 3\n"
                              "    return bias, y\n"
                              "\n"
                              "def total(*xs):\n"
                              "    y = output_tensor(xs[0].shape, xs[0].dtype)\n"
                              "    for i in range(xs[0].shape[0]):\n"
                              "        for x in xs:\n"
                              "            y[i] += x[i]\n"
                              "    return y\n"
                              "\n"
                              "def every(*xs):\n"
                              "    for x in xs:\n"
                              "        for i in range(x.shape[0]):\n"
                              "            x[i] = 1\n"
                              "    return xs\n"
                              "\n"
                              "def bump(x, y):\n"
                              "    z = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        z[i] = x[i] + y[i]\n"
                              "        x[i] += 1\n"
                              "    return x, z\n"
                              "\n"
                              "def two(x):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    z = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        y[i] = x[i]\n"
                              "        z[i] = -x[i]\n"
                              "    return y, z\n"
                              "\n"
                              "def gather(x, index):\n"
                              "    y = output_tensor(index.shape, x.dtype)\n"
                              "    for i in range(index.shape[0]):\n"
                              "        y[i] = x[index[i]]\n"
                              "    return y\n"
                              "\n"
                              "def scatter(x, index):\n"
                              "    for i in range(index.shape[0]):\n"
                              "        x[index[i]] = 7\n"
                              "    return x\n"
                              "\n"
                              "def divide(a, b):\n"
                              "    c = output_tensor(a.shape, a.dtype)\n"
                              "    for i in range(a.shape[0]):\n"
                              "        c[i] = a[i] // b[i]\n"
                              "    return c\n"
                              "\n"
                              "def twice(s):\n"
                              "    y = output_tensor((), s.dtype)\n"
                              "    y[()] = s[()] * 2\n"
                              "    return y\n"
                              "\n"
                              "def positive(x, low=0):\n"
                              "    assert x.shape[0] > low, \"too few elements\"\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        y[i] = x[i]\n"
                              "    return y\n"
                              "\n"
                              "def typed(x: float32[N], y: float32[N]):\n"
                              "    for i in range(N):\n"
                              "        x[i] = x[i] * y[i]\n"
                              "    return x\n";

static akg_module *module;

/* The status of a call; the name of its error is left in `error`, whether it says `piece` in `said`. */
static char error[64];
static bool said;

static akg_status call(const char *kernel, const akg_argument *arguments, size_t count,
                       const akg_call_options *options, akg_tensor **outputs, const char *piece)
{
    akg_diagnostics *diagnostics = (akg_diagnostics *)1;
    akg_status status =
        akg_kernel_call(akg_module_kernel(module, kernel), arguments, count, options, outputs, &diagnostics);

    snprintf(error, sizeof error, "%s", api_error(diagnostics));
    said = piece && api_says(diagnostics, piece);
    CHECK((status == AKG_OK || status == AKG_ERROR_USAGE) == (diagnostics == NULL));
    akg_diagnostics_free(diagnostics);
    return status;
}

/* The one output of a call with both back ends; NULL, after a failed check, where there is none. */
static akg_tensor *compute(const char *kernel, const akg_argument *arguments, size_t count)
{
    akg_tensor *outputs[API_COUNT(backends)] = {NULL};

    for (size_t i = 0; i < API_COUNT(backends); i++) {
        akg_call_options options = {.backend = backends[i]};
        if (!check_one(call(kernel, arguments, count, &options, &outputs[i], NULL) == AKG_OK, kernel, (int)i,
                       error))
            return NULL;
    }
    CHECK(api_same(outputs[0], outputs[1]));
    akg_tensor_release(outputs[1]);
    return outputs[0];
}

/* Element `index` of that output, or NaN. */
static double compute_element(const char *kernel, const akg_argument *arguments, size_t count, int64_t index)
{
    akg_tensor *output = compute(kernel, arguments, count);
    double value = output && index < akg_tensor_element_count(output) ? api_element(output, index) : NAN;

    akg_tensor_release(output);
    return value;
}

static void check_refused(const char *kernel, const akg_argument *arguments, size_t count, akg_status status,
                          const char *name)
{
    for (size_t i = 0; i < API_COUNT(backends); i++) {
        akg_call_options options = {.backend = backends[i]};
        akg_tensor *outputs[3] = {NULL, NULL, NULL};
        CHECK_INT(call(kernel, arguments, count, &options, outputs, NULL), status);
        CHECK_STRING(error, name);
        CHECK(outputs[0] == NULL && outputs[1] == NULL && outputs[2] == NULL);
    }
}

/* ---- arguments and parameters --------------------------------------------------------------- */

static void test_places_and_names(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *y = api_vector(AKG_FLOAT32, 3, 10, 10);
    akg_argument by_place[] = {api_tensor(NULL, x), api_tensor(NULL, y)};
    akg_argument by_name[] = {api_tensor("y", y), api_tensor("x", x)};
    akg_argument mixed[] = {api_tensor(NULL, x), api_tensor("y", y)};
    akg_argument twice[] = {api_tensor(NULL, x), api_tensor("x", y)};
    akg_argument unknown[] = {api_tensor(NULL, x), api_tensor("z", y)};
    akg_argument many[] = {api_tensor(NULL, x), api_tensor(NULL, y), api_tensor(NULL, y)};

    CHECK(compute_element("add", by_place, 2, 2) == 33);
    CHECK(compute_element("add", by_name, 2, 2) == 33);
    CHECK(compute_element("add", mixed, 2, 0) == 11);
    check_refused("add", by_place, 1, AKG_ERROR_CALL, "call-missing");
    check_refused("add", NULL, 0, AKG_ERROR_CALL, "call-missing");
    check_refused("add", twice, 2, AKG_ERROR_CALL, "call-twice");
    check_refused("add", unknown, 2, AKG_ERROR_CALL, "call-unknown");
    check_refused("add", many, 3, AKG_ERROR_CALL, "call-too-many");
    akg_tensor_release(x);
    akg_tensor_release(y);
}

static void test_attributes(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *scalar;
    akg_argument all[] = {api_tensor(NULL, x), api_real(NULL, 0.5), api_int(NULL, 4), api_bool(NULL, true)};
    akg_argument some[] = {api_tensor(NULL, x), api_bool("negate", true)};
    akg_argument whole[] = {api_tensor(NULL, x), api_int("scale", 3), api_int("shift", -1)};
    akg_argument real[] = {api_tensor(NULL, x), api_real("shift", 0.25)};
    akg_argument none[] = {api_tensor(NULL, x), api_none("scale")};
    akg_argument string[] = {api_tensor(NULL, x), api_string("scale", "3")};
    akg_argument missing[] = {api_none("x")};
    akg_argument number[] = {api_int("x", 3)};
    int64_t windows[] = {5, -3, 8};
    akg_argument picks[] = {api_tensor(NULL, x), api_string("mode", "max"), api_ints("window", windows, 2)};
    akg_argument tuple[] = {api_tensor(NULL, x), api_ints("mode", windows, 2)};
    akg_argument empty[] = {api_tensor(NULL, x), api_ints("window", NULL, 0)};

    CHECK(compute_element("affine", all, 1, 2) == 7);
    CHECK(compute_element("affine", all, 2, 2) == 2.5);
    CHECK(compute_element("affine", all, 3, 2) == 5.5);
    CHECK(compute_element("affine", all, 4, 2) == -5.5);
    CHECK(compute_element("affine", some, 2, 1) == -5);
    CHECK(compute_element("affine", whole, 3, 0) == 2);
    CHECK(compute_element("affine", real, 2, 0) == 2.25);
    scalar = api_range(AKG_FLOAT32, 0, NULL, 0.75, 0);
    CHECK(compute_element("affine", (akg_argument[]){api_tensor(NULL, x), api_tensor(NULL, scalar)}, 2, 1) ==
          2.5);
    akg_tensor_release(scalar);
    check_refused("affine", none, 2, AKG_ERROR_CALL, "call-kind");
    check_refused("affine", string, 2, AKG_ERROR_CALL, "call-kind");
    check_refused("affine", missing, 1, AKG_ERROR_CALL, "call-kind");
    check_refused("affine", number, 1, AKG_ERROR_CALL, "call-kind");
    CHECK(compute_element("pick", picks, 1, 0) == 6);
    CHECK(compute_element("pick", picks, 2, 0) == 6);
    picks[2] = api_ints("window", windows + 1, 2);
    CHECK(compute_element("pick", picks, 3, 0) == 24);
    check_refused("pick", tuple, 2, AKG_ERROR_CALL, "call-kind");
    for (int i = 0; i < 2; i++) { /* a tuple too short for the kernel's uses of it */
        akg_tensor *output = NULL;
        akg_call_options options = {.backend = backends[i]};
        CHECK_INT(call("pick", empty, 2, &options, &output, NULL), AKG_ERROR_CALL);
        CHECK(output == NULL && *error);
    }
    akg_tensor_release(x);
}

/* Attributes that shape the code are compiled in: another value, another specialisation. */
static void test_constants(void)
{
    akg_tensor *x = api_vector(AKG_INT32, 200, 0, 1), *scalar = api_range(AKG_INT64, 0, NULL, 3, 0);

    for (int64_t n = 0; n < 100; n++) {
        akg_argument arguments[] = {api_tensor(NULL, x), api_int("n", n * 37 % 100)};
        akg_tensor *output = compute("first", arguments, 2);
        CHECK_INT(akg_tensor_element_count(output), n * 37 % 100);
        if (akg_tensor_element_count(output) > 0)
            CHECK(api_element(output, n * 37 % 100 - 1) == 2 * (double)(n * 37 % 100) - 1);
        akg_tensor_release(output);
    }
    for (int64_t i = 0; i < 3; i++) {
        akg_argument arguments[] = {api_tensor(NULL, x), api_int("n", i ? INT64_MAX : -1)};
        if (i == 2) /* not known when compiling */
            arguments[1] = api_tensor("n", scalar);
        akg_tensor *output = NULL;
        CHECK_INT(call("first", arguments, 2, NULL, &output, NULL), AKG_ERROR_CALL);
        CHECK(output == NULL && *error);
    }
    akg_tensor_release(scalar);
    akg_tensor_release(x);
}

static void test_optional(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT64, 3, 1, 1), *bias = api_vector(AKG_FLOAT64, 3, 100, 100);
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, bias)};
    akg_argument without[] = {api_tensor(NULL, x), api_none("bias")};
    akg_argument nobody[] = {api_none(NULL)};
    akg_tensor *outputs[2] = {NULL, NULL};

    CHECK(compute_element("biased", arguments, 2, 1) == 202);
    CHECK(compute_element("biased", arguments, 1, 1) == 2);
    CHECK(compute_element("biased", without, 2, 1) == 2);
    check_refused("biased", nobody, 1, AKG_ERROR_CALL, "call-kind");
    /* an optional tensor that is returned: its place stays as it was when it is left out */
    for (int i = 0; i < 2; i++) {
        akg_call_options options = {.backend = backends[i]};
        CHECK_INT(call("back", without, 2, &options, outputs, NULL), AKG_OK);
        CHECK(outputs[0] == NULL && outputs[1] && api_element(outputs[1], 2) == 3);
        akg_tensor_release(outputs[1]);
        outputs[1] = NULL;
    }
    CHECK_INT(call("back", arguments, 2, NULL, outputs, NULL), AKG_OK);
    CHECK(outputs[0] == bias && outputs[1] && api_element(bias, 2) == 3);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    akg_tensor_release(x);
    akg_tensor_release(bias);
}

/* As many tensors as need more than the call's own room, for arguments, buffers and key. */
static void test_variadic(void)
{
    enum { MOST = 400 };
    akg_tensor *tensors[MOST], *outputs[3] = {NULL, NULL, (akg_tensor *)1};
    static const size_t counts[] = {1, 2, 17, 40, MOST};
    akg_argument none = api_tensors(NULL, NULL, 0), one = api_tensor(NULL, NULL), three;

    for (int i = 0; i < MOST; i++)
        tensors[i] = api_vector(AKG_INT64, 2, i, 1);
    for (size_t i = 0; i < API_COUNT(counts); i++) {
        int64_t n = (int64_t)counts[i];
        akg_argument argument = api_tensors(i % 2 ? NULL : "xs", tensors, counts[i]);
        CHECK(compute_element("total", &argument, 1, 1) == (double)(n * (n - 1) / 2 + n));
    }
    CHECK_INT(call("total", &none, 1, NULL, outputs, NULL), AKG_ERROR_CALL);
    CHECK_INT(call("total", NULL, 0, NULL, outputs, NULL), AKG_ERROR_CALL);
    one.as.tensor = tensors[0];
    check_refused("total", &one, 1, AKG_ERROR_CALL, "call-kind");
    /* what returns as many tensors as it was given cannot be called with more than its text tells of */
    three = api_tensors(NULL, tensors, 3);
    CHECK_INT(call("every", &three, 1, NULL, outputs, "3 tensors"), AKG_ERROR_CALL);
    CHECK_STRING(error, "call-results");
    CHECK(said && outputs[0] == NULL && outputs[1] == NULL && outputs[2] == (akg_tensor *)1);
    CHECK(api_element(tensors[2], 0) == 2);
    three.as.tensors.count = 2;
    CHECK_INT(call("every", &three, 1, NULL, outputs, NULL), AKG_OK);
    CHECK(outputs[0] == tensors[0] && outputs[1] == tensors[1] && api_element(tensors[0], 1) == 1);
    for (int i = 0; i < MOST; i++)
        akg_tensor_release(tensors[i]);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
}

/* More parameters of each sort than anything has room for inline. */
static void test_many_parameters(void)
{
    enum { TENSORS = 40, ATTRIBUTES = 80, ALL = TENSORS + ATTRIBUTES };
    char text[16384];
    size_t length = (size_t)snprintf(text, sizeof text, "def many(");
    akg_tensor *tensors[TENSORS], *outputs[2] = {NULL, NULL};
    akg_argument arguments[ALL];
    akg_module *large;

    for (int i = 0; i < TENSORS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "x%d, ", i);
    for (int i = 0; i < ATTRIBUTES; i++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "a%d=%d%s", i, i, i < 79 ? ", " : "):\n");
    length +=
        (size_t)snprintf(text + length, sizeof text - length,
                         "    y = output_tensor((a79,), x0.dtype)\n    for i in range(1):\n        y[i] = 0");
    for (int i = 0; i < TENSORS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, " + x%d[%d]", i, i % 3);
    length += (size_t)snprintf(text + length, sizeof text - length, "\n        y[i] = y[i]");
    for (int i = 0; i < ATTRIBUTES; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, " + a%d", i);
    snprintf(text + length, sizeof text - length, "\n    return y\n");
    large = api_compile(text);
    for (int i = 0; i < TENSORS; i++) {
        tensors[i] = api_vector(AKG_INT64, 3, i, 0);
        arguments[i] = api_tensor(NULL, tensors[i]);
    }
    for (int i = 0; i < ATTRIBUTES; i++)
        arguments[TENSORS + i] = api_int(NULL, 1000 * (i + 1));
    for (int i = 0; i < 2 && large; i++) {
        akg_call_options options = {.backend = backends[i]};
        CHECK_INT(
            akg_kernel_call(akg_module_kernel_at(large, 0), arguments, ALL, &options, &outputs[i], NULL),
            AKG_OK);
        CHECK_INT(akg_tensor_element_count(outputs[i]), 80000);
        CHECK(api_element(outputs[i], 0) == 780 + 3240000);
        akg_tensor_release(outputs[i]);
        outputs[i] = NULL;
        CHECK_INT(
            akg_kernel_call(akg_module_kernel_at(large, 0), arguments, TENSORS, &options, &outputs[i], NULL),
            AKG_OK);
        CHECK(api_element(outputs[i], 0) == 780 + 3160);
        akg_tensor_release(outputs[i]);
    }
    for (int i = 0; i < TENSORS; i++)
        akg_tensor_release(tensors[i]);
    akg_module_release(large);
}

/* A string longer than the call's own room for keys. */
static void test_long_string(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1);
    char *mode = malloc(5001);
    akg_argument arguments[] = {api_tensor(NULL, x), api_string(NULL, mode)};

    memset(mode, 'm', 5000);
    mode[5000] = 0;
    CHECK(compute_element("pick", arguments, 2, 0) == 6);
    mode[4999] = 'n';
    CHECK(compute_element("pick", arguments, 2, 0) == 6);
    strcpy(mode, "sum");
    CHECK(compute_element("pick", arguments, 2, 0) == 6);
    free(mode);
    akg_tensor_release(x);
}

static void test_wrong_use(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *output = NULL, *nothing[1] = {NULL};
    akg_kernel *kernel = akg_module_kernel(module, "affine");
    akg_diagnostics *diagnostics = (akg_diagnostics *)1;
    akg_argument good = api_tensor(NULL, x);
    akg_argument wrong[] = {
        api_tensor(NULL, NULL),          api_string(NULL, NULL),
        api_ints(NULL, NULL, 2),         api_tensors(NULL, NULL, 1),
        api_tensors(NULL, nothing, 1),   {.kind = (akg_argument_kind)256},
        {.kind = (akg_argument_kind)-1}, api_ints(NULL, (int64_t[]){1}, SIZE_MAX / 8 + 2)};
    akg_call_options options = {.backend = (jit_backend)5};

    CHECK_INT(akg_kernel_call(NULL, &good, 1, NULL, &output, &diagnostics), AKG_ERROR_USAGE);
    CHECK(diagnostics == NULL && output == NULL);
    CHECK_INT(akg_kernel_call(kernel, NULL, 1, NULL, &output, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_kernel_call(kernel, &good, 1, NULL, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_kernel_call(kernel, &good, 1, &options, &output, NULL), AKG_ERROR_USAGE);
    for (size_t i = 0; i < API_COUNT(wrong); i++) {
        akg_argument arguments[] = {good, wrong[i]};
        CHECK_INT(akg_kernel_call(kernel, &wrong[i], 1, NULL, &output, NULL), AKG_ERROR_USAGE);
        CHECK_INT(akg_kernel_call(kernel, arguments, 2, NULL, &output, NULL), AKG_ERROR_USAGE);
    }
    CHECK(output == NULL);
    CHECK_INT(akg_kernel_call(kernel, NULL, 0, NULL, &output, NULL), AKG_ERROR_CALL); /* nobody listens */
    akg_tensor_release(x);
}

/* ---- inputs of every layout ---------------------------------------------------------------------- */

static void check_layout(const akg_tensor *x, const akg_tensor *y)
{
    akg_argument arguments[] = {api_tensor(NULL, (akg_tensor *)x), api_tensor(NULL, (akg_tensor *)y)};
    akg_tensor *output = compute("add2", arguments, 2);

    CHECK(output && akg_tensor_is_contiguous(output));
    for (int64_t i = 0; output && i < akg_tensor_element_count(output); i++)
        CHECK(api_element(output, i) == api_element(x, i) * 10 + api_element(y, i));
    akg_tensor_release(output);
}

static void test_layouts(void)
{
    static const int64_t shape[2] = {3, 4}, base_shape[1] = {100};
    static const struct {
        int64_t strides[2], offset;
    } layouts[] = {{{4, 1}, 0}, {{1, 3}, 7},  {{-4, 1}, 50}, {{4, -1}, 50}, {{-1, -3}, 90}, {{0, 1}, 3},
                   {{1, 0}, 9}, {{0, 0}, 42}, {{8, 2}, 1},   {{1, 1}, 60},  {{10, -2}, 77}};
    static const akg_dtype dtypes[] = {AKG_INT8, AKG_FLOAT16, AKG_FLOAT32, AKG_FLOAT64, AKG_UINT16};

    for (size_t d = 0; d < API_COUNT(dtypes); d++) {
        akg_tensor *base = api_range(dtypes[d], 1, base_shape, 0, 0.125);
        akg_tensor *plain = api_range(dtypes[d], 2, shape, 1, 1), *view;
        for (int64_t i = 0; i < 100; i++)
            akg_tensor_set(base, &i, (double)(i % 7));
        for (size_t i = 0; i < API_COUNT(layouts); i++) {
            CHECK_INT(akg_tensor_view(base, 2, shape, layouts[i].strides, layouts[i].offset, &view), AKG_OK);
            check_layout(view, plain);
            check_layout(plain, view);
            check_layout(view, view);
            akg_tensor_release(view);
        }
        akg_tensor_release(plain);
        akg_tensor_release(base);
    }
}

static void test_empty_and_scalar(void)
{
    static const int64_t shapes[][2] = {{0, 4}, {3, 0}, {0, 0}};
    akg_tensor *x = api_vector(AKG_FLOAT32, 0, 0, 0), *scalar, *output;
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, x)};
    akg_argument gathered[] = {api_tensor(NULL, x), api_tensor(NULL, x)};

    output = compute("add", arguments, 2);
    CHECK(output && akg_tensor_element_count(output) == 0);
    akg_tensor_release(output);
    for (size_t i = 0; i < API_COUNT(shapes); i++) {
        akg_tensor *empty = api_range(AKG_FLOAT64, 2, shapes[i], 0, 0);
        arguments[0] = arguments[1] = api_tensor(NULL, empty);
        output = compute("add2", arguments, 2);
        CHECK(output && akg_tensor_shape(output)[0] == shapes[i][0] &&
              akg_tensor_shape(output)[1] == shapes[i][1]);
        akg_tensor_release(output);
        akg_tensor_release(empty);
    }
    scalar = api_range(AKG_INT16, 0, NULL, 21, 0);
    arguments[0] = api_tensor(NULL, scalar);
    output = compute("twice", arguments, 1);
    CHECK(output && akg_tensor_rank(output) == 0 && akg_tensor_get(output, NULL) == 42);
    akg_tensor_release(output);
    akg_tensor_release(scalar);
    scalar = api_vector(AKG_INT32, 2, 0, 1);
    gathered[1] = api_tensor(NULL, scalar); /* indices into nothing */
    check_refused("gather", gathered, 2, AKG_ERROR_CALL, "index-out-of-bounds");
    akg_tensor_release(scalar);
    akg_tensor_release(x);
}

/* The most axes there can be. */
static void test_rank(void)
{
    static const char text[] = "def copy(x):\n"
                               "    y = output_tensor(x.shape, x.dtype)\n"
                               "    for i in grid(x.shape):\n"
                               "        y[i] = x[i]\n"
                               "    return y\n";
    int64_t shape[AKG_MAX_RANK];
    akg_module *copies = api_compile(text);

    for (int rank = 0; rank <= AKG_MAX_RANK && copies; rank++) {
        akg_tensor *x, *outputs[2] = {NULL, NULL};
        for (int axis = 0; axis < rank; axis++)
            shape[axis] = axis % 3 == 1 ? 1 : 2;
        x = api_range(AKG_FLOAT32, rank, shape, 1, 1);
        for (int i = 0; i < 2; i++) {
            akg_argument argument = api_tensor(NULL, x);
            akg_call_options options = {.backend = backends[i]};
            CHECK_INT(
                akg_kernel_call(akg_module_kernel_at(copies, 0), &argument, 1, &options, &outputs[i], NULL),
                AKG_OK);
            CHECK(outputs[i] && api_same(x, outputs[i]));
            akg_tensor_release(outputs[i]);
        }
        akg_tensor_release(x);
    }
    akg_module_release(copies);
}

/* ---- outputs that the caller hands in ---------------------------------------------------------------- */

static void refuse_output(akg_tensor *x, akg_tensor *given, const char *name, const char *piece)
{
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, x)};
    akg_tensor *before, *output = given;

    akg_tensor_copy(given, &before);
    CHECK_INT(call("add", arguments, 2, NULL, &output, piece), AKG_ERROR_CALL);
    CHECK_STRING(error, name);
    CHECK(said && output == given && api_same(before, given));
    akg_tensor_release(before);
}

static void test_given_outputs(void)
{
    static const int64_t three[1] = {3}, apart[1] = {2}, matrix[2] = {3, 1};
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *good = api_vector(AKG_FLOAT32, 3, -1, 0),
               *output = good;
    akg_tensor *wide = api_vector(AKG_FLOAT64, 3, 5, 0), *longer = api_vector(AKG_FLOAT32, 4, 5, 0);
    akg_tensor *flat = api_range(AKG_FLOAT32, 2, matrix, 5, 0), *base = api_vector(AKG_FLOAT32, 9, 5, 0),
               *strided;
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, x)};

    for (int i = 0; i < 2; i++) {
        akg_call_options options = {.backend = backends[i]};
        akg_tensor_fill(good, -1);
        CHECK_INT(call("add", arguments, 2, &options, &output, NULL), AKG_OK);
        CHECK(output == good && api_element(good, 2) == 6);
    }
    akg_tensor_view(base, 1, three, apart, 0, &strided);
    refuse_output(x, wide, "call-output", "dtype");
    refuse_output(x, longer, "call-output", "shape");
    refuse_output(x, flat, "call-output", "shape");
    refuse_output(x, strided, "call-output", "contiguous");
    refuse_output(x, x, "call-alias", "share memory");
    akg_tensor_release(strided);
    akg_tensor_release(base);
    akg_tensor_release(flat);
    akg_tensor_release(longer);
    akg_tensor_release(wide);
    akg_tensor_release(good);
    akg_tensor_release(x);
}

static void test_two_outputs(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *given = api_vector(AKG_FLOAT32, 3, 0, 0);
    akg_argument argument = api_tensor(NULL, x);
    akg_tensor *second[2] = {NULL, given}, *same[2] = {given, given}, *none[2] = {NULL, NULL};

    CHECK_INT(call("two", &argument, 1, NULL, second, NULL), AKG_OK);
    CHECK(second[0] && second[1] == given && api_element(second[0], 2) == 3 && api_element(given, 2) == -3);
    akg_tensor_release(second[0]);
    CHECK_INT(call("two", &argument, 1, NULL, same, NULL), AKG_ERROR_CALL);
    CHECK_STRING(error, "call-alias");
    CHECK(api_element(given, 2) == -3);
    CHECK_INT(call("two", &argument, 1, NULL, none, NULL), AKG_OK);
    CHECK(none[0] && none[1] && api_element(none[1], 0) == -1);
    akg_tensor_release(none[0]);
    akg_tensor_release(none[1]);
    akg_tensor_release(given);
    akg_tensor_release(x);
}

/* ---- in place ------------------------------------------------------------------
 */

static void test_in_place(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *y = api_vector(AKG_FLOAT32, 3, 10, 0);
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, y)};
    akg_tensor *outputs[2] = {NULL, NULL};

    CHECK_INT(call("bump", arguments, 2, NULL, outputs, NULL), AKG_OK);
    CHECK(outputs[0] == x && outputs[1] != x);
    CHECK(api_element(x, 0) == 2 && api_element(outputs[1], 0) == 11);
    akg_tensor_release(x);
    akg_tensor_release(outputs[1]);
    CHECK(api_element(x, 2) == 4); /* the call's reference is left */
    outputs[0] = x;
    outputs[1] = NULL;
    CHECK_INT(call("bump", arguments, 2, NULL, outputs, NULL), AKG_OK);
    CHECK(outputs[0] == x && api_element(x, 0) == 3);
    akg_tensor_release(outputs[1]);
    outputs[0] = y;
    outputs[1] = NULL;
    CHECK_INT(call("bump", arguments, 2, NULL, outputs, "in place"), AKG_ERROR_CALL);
    CHECK_STRING(error, "call-output");
    CHECK(said && outputs[0] == y && outputs[1] == NULL && api_element(x, 0) == 3);
    akg_tensor_release(x);
    akg_tensor_release(y);
}

/* ---- what stops a call
 * -------------------------------------------------------------------------------------- */

static void test_preconditions(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 4, 1, 1), *y = api_vector(AKG_FLOAT32, 3, 1, 1), *before;
    akg_tensor *ints = api_vector(AKG_INT32, 4, 1, 1),
               *matrix = api_range(AKG_FLOAT32, 2, (int64_t[]){2, 2}, 0, 0);
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, y)};
    akg_argument mixed[] = {api_tensor(NULL, x), api_tensor(NULL, ints)};
    akg_argument ranks[] = {api_tensor(NULL, x), api_tensor(NULL, matrix)};
    akg_argument few[] = {api_tensor(NULL, x), api_int("low", 4)};
    akg_tensor *outputs[2] = {NULL, NULL};

    akg_tensor_copy(x, &before);
    CHECK_INT(call("bump", arguments, 2, NULL, outputs, "index 3"), AKG_ERROR_CALL);
    CHECK_STRING(error, "call-bounds");
    CHECK(said && outputs[0] == NULL && outputs[1] == NULL && api_same(before, x));
    CHECK_INT(call("typed", arguments, 2, NULL, outputs, "(3,)"), AKG_ERROR_CALL);
    CHECK_STRING(error, "call-shape");
    CHECK(said && api_same(before, x));
    CHECK_INT(call("typed", mixed, 2, NULL, outputs, "int32"), AKG_ERROR_CALL);
    CHECK_STRING(error, "call-dtype");
    CHECK_INT(call("typed", ranks, 2, NULL, outputs, NULL), AKG_ERROR_CALL);
    CHECK_STRING(error, "call-rank");
    CHECK_INT(call("add", mixed, 2, NULL, outputs, NULL), AKG_ERROR_CALL);
    CHECK_STRING(error, "mixed-dtypes");
    CHECK_INT(call("positive", few, 2, NULL, outputs, "too few elements"), AKG_ERROR_CALL);
    CHECK_STRING(error, "call-assert");
    CHECK(said && api_same(before, x) && outputs[0] == NULL);
    few[1] = api_int("low", 3);
    CHECK(compute_element("positive", few, 2, 0) == 1);
    akg_tensor_release(before);
    akg_tensor_release(matrix);
    akg_tensor_release(ints);
    akg_tensor_release(x);
    akg_tensor_release(y);
}

/* The place of the first error, as text: "test.akg:12". */
static void check_place(const char *kernel, const akg_argument *arguments, size_t count, const char *piece,
                        const char *iteration)
{
    for (int i = 0; i < 2; i++) {
        akg_call_options options = {.backend = backends[i]};
        akg_diagnostics *diagnostics = NULL;
        akg_tensor *output = NULL;
        const akg_diagnostic *message;
        char line[200] = "";
        CHECK_INT(akg_kernel_call(akg_module_kernel(module, kernel), arguments, count, &options, &output,
                                  &diagnostics),
                  AKG_ERROR_CALL);
        CHECK(output == NULL);
        message = akg_diagnostics_at(diagnostics, 0);
        CHECK(message && strcmp(message->file, "test.akg") == 0);
        CHECK(api_says(diagnostics, piece));
        CHECK(api_says(diagnostics, iteration));
        /* the line the message points to is the kernel's own */
        for (const char *at = program, *end; message && *at && !*line; at = end + 1) {
            static int number;
            number = at == program ? 1 : number + 1;
            end = strchr(at, '\n');
            if (number == message->line)
                snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
        }
        CHECK(strchr(line, '[') != NULL);
        akg_diagnostics_free(diagnostics);
    }
}

static void test_traps(void)
{
    akg_tensor *x = api_vector(AKG_INT32, 4, 10, 1), *index = api_vector(AKG_INT32, 5, 0, 1);
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, index)};
    akg_argument divided[] = {api_tensor(NULL, x), api_tensor(NULL, x)};
    akg_call_options trusting = {.trust_indices = true},
                     carefully = {.backend = JIT_BACKEND_INTERPRETER, .trust_indices = true};
    akg_tensor *output = NULL;
    int64_t at = 2;

    check_place("gather", arguments, 2, "index 4", "i = 4");
    at = 4;
    akg_tensor_set(index, &at, -1);
    check_place("gather", arguments, 2, "index -1", "i = 4");
    check_place("scatter", arguments, 2, "index -1", "i = 4");
    CHECK(api_element(x, 3) == 7); /* written before the trap: documented */
    akg_tensor_set(index, &at, 0);
    CHECK(compute_element("gather", arguments, 2, 4) == 7);
    CHECK_INT(call("gather", arguments, 2, &trusting, &output, NULL), AKG_OK);
    CHECK(api_element(output, 4) == 7);
    akg_tensor_release(output);
    output = NULL;
    CHECK_INT(call("gather", arguments, 2, &carefully, &output, NULL), AKG_OK);
    akg_tensor_release(output);
    at = 2;
    akg_tensor_set(x, &at, 0);
    check_place("divide", divided, 2, "division by zero", "i = 2");
    akg_tensor_set(x, &at, 1);
    CHECK(compute_element("divide", divided, 2, 0) == 1);
    akg_tensor_release(index);
    akg_tensor_release(x);
}

/* A shape that no memory holds. */
static void test_too_large(void)
{
    static const char text[] = "def huge(x, n=1):\n"
                               "    y = output_tensor((n, n, n), x.dtype)\n"
                               "    for i in range(n):\n"
                               "        y[i, 0, 0] = x[0]\n"
                               "    return y\n";
    static const int64_t sizes[] = {INT64_MAX, INT64_MIN, (int64_t)1 << 62, (int64_t)1 << 31, 3000000, -5};
    akg_module *huge = api_compile(text);
    akg_tensor *x = api_vector(AKG_FLOAT64, 1, 1, 1);

    for (size_t i = 0; i < API_COUNT(sizes) && huge; i++)
        for (int k = 0; k < 2; k++) {
            akg_argument arguments[] = {api_tensor(NULL, x), api_int(NULL, sizes[i])};
            akg_call_options options = {.backend = backends[k]};
            akg_tensor *output = NULL;
            akg_status status =
                akg_kernel_call(akg_module_kernel_at(huge, 0), arguments, 2, &options, &output, NULL);
            CHECK(status == AKG_ERROR_CALL || status == AKG_ERROR_MEMORY);
            CHECK(output == NULL);
        }
    akg_tensor_release(x);
    akg_module_release(huge);
}

/* What is said of a tensor that was given for it holds neither more than memory nor more than its text. */
static void test_too_large_for_given(void)
{
    static const char text[] =
        "def wide(x: float32[M, N]):\n"
        "    n = x.shape[1] * x.shape[1]\n"
        "    y = output_tensor((n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n), x.dtype)\n"
        "    return y\n";
    static const int64_t none[2] = {0, 3000000000},
                         ones[AKG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    akg_module *wide = api_compile(text);
    akg_tensor *x = api_range(AKG_FLOAT32, 2, none, 0, 0), *given = api_range(AKG_FLOAT32, 16, ones, 0, 0);
    akg_argument argument = api_tensor(NULL, x);
    akg_tensor *output = given;
    akg_diagnostics *diagnostics = NULL;

    CHECK_INT(akg_kernel_call(akg_module_kernel_at(wide, 0), &argument, 1, NULL, &output, &diagnostics),
              AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "call-size");
    CHECK(output == given);
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(given);
    akg_tensor_release(x);
    akg_module_release(wide);
}

int main(void)
{
    module = api_compile(program);
    if (!CHECK(module != NULL))
        return check_done();
    test_places_and_names();
    test_attributes();
    test_constants();
    test_optional();
    test_variadic();
    test_many_parameters();
    test_long_string();
    test_wrong_use();
    test_layouts();
    test_empty_and_scalar();
    test_rank();
    test_given_outputs();
    test_two_outputs();
    test_in_place();
    test_preconditions();
    test_traps();
    test_too_large();
    test_too_large_for_given();
    akg_module_release(module);
    return check_done();
}
