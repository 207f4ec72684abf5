/*
 * test_plain_c.c: akg_kernel_plain_c: the text compiles without a warning and computes what the interpreter
 * does, within rounding; what it refuses. Without gcc it only sees that there is a text.
 */
#include "../../base/memory.h"
#include "api_support.h"
#include "check.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

struct tensor_row {
    akg_dtype dtype;
    int rank;
    int64_t shape[3];
};

struct row {
    const char *name, *program;
    int count;
    struct tensor_row tensors[3];
    const char *piece; /* stands in the text */
    double scale;      /* an attribute of that name, where it is not 0 */
};

static const struct row rows[] = {
    {"softmax",
     "def f(x: T[M, N]):\n    y = output_tensor((M, N), x.dtype)\n    for i in range(M):\n        top = "
     "x[i, 0]\n"
     "        for j in range(N):\n            top = max(top, x[i, j])\n        total = 0.0\n"
     "        for j in range(N):\n            y[i, j] = exp(x[i, j] - top)\n            total += y[i, j]\n"
     "        for j in range(N):\n            y[i, j] /= total\n    return y\n",
     1,
     {{AKG_FLOAT32, 2, {5, 7}}},
     "y[i * N + j_2] /= total;",
     0},
    {"in place, a triangle",
     "def f(a: T[N, N]):\n    for k in range(N):\n        for i in range(k + 1, N):\n            a[i, k] /= "
     "a[k, k] + 9.0\n"
     "            for j in range(k + 1, N):\n                a[i, j] -= a[i, k] * a[k, j]\n    return a\n",
     1,
     {{AKG_FLOAT64, 2, {6, 6}}},
     "double *restrict a",
     0},
    {"quotients that round down, names that C has, a temporary",
     "def f(double, register):\n    n = double.shape[0]\n    exp = allocate((n,), double.dtype)\n"
     "    long = output_tensor((n,), double.dtype)\n    for int in range(n):\n"
     "        exp[int] = double[int] // register[int] + double[int] % register[int]\n"
     "    for i in range(n - 1, -1, -2):\n        long[i] = exp[i] * 2 + (i - 3) // 2 + abs(exp[i]) ** 2\n"
     "    return long\n",
     2,
     {{AKG_INT32, 1, {40}}, {AKG_INT32, 1, {40}}},
     "floor_div(double_[int_], register_[int_])",
     0},
    {"halves, comparisons, conditions",
     "def f(x: float16, z: bfloat16, mask: bool):\n    y = output_tensor(x.shape, float32)\n"
     "    w = output_tensor(z.shape, bfloat16)\n    for i in range(x.shape[0]):\n"
     "        if x[i] > 0 and not mask[i]:\n            y[i] = float32(x[i]) * 0.5\n"
     "        elif mask[i] or x[i] < -1:\n            y[i] = 2\n        else:\n            y[i] = -1\n"
     "        w[i] = z[i] * z[i] + (1.0 if i % 3 == 1 else 0.0)\n    return y, w\n",
     3,
     {{AKG_FLOAT16, 1, {50}}, {AKG_BFLOAT16, 1, {50}}, {AKG_BOOL, 1, {50}}},
     "to_bfloat16",
     0},
    {"a while loop, a break, attributes",
     "def f(x, scale=0.5, rounds=3):\n    y = output_tensor(x.shape, x.dtype)\n    for i in "
     "range(x.shape[0]):\n"
     "        v = x[i]\n        k = 0\n        while k < rounds and abs(v) < 100.0:\n"
     "            v = v * v * scale + sigmoid(v) - rsqrt(v * v + 1.0) + sign(v)\n            k += 1\n"
     "        for j in range(4):\n            if v > 3.0:\n                break\n            v += 1.0\n"
     "        y[i] = max(v, min(x[i], -0.5))\n    return y\n",
     1,
     {{AKG_FLOAT64, 1, {30}}},
     "akg_scalar_0 = 0.25",
     0.25},
    {"a helper, an output that is not filled, bits",
     "def twist(a, b):\n    return (a ^ (b << 3)) & ~(a >> 2) | popcount(b)\n\n"
     "def f(x: uint32):\n    y = output_tensor((x.shape[0] + 2,), x.dtype)\n    for i in range(x.shape[0]):\n"
     "        y[i + 1] = twist(x[i], x[i] + 7)\n    return y\n",
     1,
     {{AKG_UINT32, 1, {20}}},
     "memset(y, 0",
     0},
    {"truth values turned round, bits of narrow numbers below 0",
     "def f(a: bool, b: int8, c: int32):\n    y = output_tensor(a.shape, bool)\n    n = "
     "output_tensor(a.shape, int32)\n"
     "    for i in range(a.shape[0]):\n        y[i] = ~a[i]\n"
     "        n[i] = int32(popcount(b[i])) * 100 + int32(popcount(c[i] - 1000))\n    return y, n\n",
     3,
     {{AKG_BOOL, 1, {40}}, {AKG_INT8, 1, {40}}, {AKG_INT32, 1, {40}}},
     "!a[i]",
     0},
    {"a number that is shifted has 64 bits",
     "def f(x: uint8):\n    y = output_tensor(x.shape, int64)\n    for i in range(x.shape[0]):\n"
     "        y[i] = (1 << (i + 30)) - (5 >> (i + 40)) + int64(x[i])\n"
     "        y[i] += ((1 if x[i] > 3 else 5) << (i + 30)) + ((1 | 4) << (i + 40)) - (((~1) & 6) << (i + "
     "40))\n"
     "        y[i] -= (1 if x[i] > 3 else 5) * 1000000000 + (max(3, 1 if x[i] > 3 else 7) + 2147483647)\n"
     "    return y\n",
     1,
     {{AKG_UINT8, 1, {20}}},
     "(long)1 <<",
     0},
    {"broadcast: what is repeated is there once",
     "@broadcast\ndef f(x, y, z):\n    t = output_tensor(x.shape, x.dtype)\n    for p in grid(x.shape):\n"
     "        t[p] = x[p] * y[p] - z[p]\n    return t\n",
     3,
     {{AKG_FLOAT32, 2, {5, 1}}, {AKG_FLOAT32, 3, {3, 1, 4}}, {AKG_FLOAT32, 0, {0}}},
     "x[p_1] * y[p_0 * N + p_2] - z[0]",
     0},
};

typedef int (*plain_run)(void *const *tensors, long repeats);

static char folder[] = "/tmp/akg-plain-c-XXXXXX";

/* The text, compiled; NULL where that went wrong. */
static plain_run build(const char *text, size_t number)
{
    char path[100], command[400];
    plain_run run = NULL;
    snprintf(path, sizeof path, "%s/%zu.c", folder, number);
    FILE *file = fopen(path, "w");
    if (!file)
        return NULL;
    fputs(text, file);
    fclose(file);
    snprintf(command, sizeof command,
             "cd %s && gcc -std=gnu11 -O1 -Wall -Wextra -Werror -shared -fPIC %zu.c -o %zu.so -lm", folder,
             number, number);
    if (system(command) != 0)
        return NULL;
    snprintf(path, sizeof path, "%s/%zu.so", folder, number);
    void *library = dlopen(path, RTLD_NOW); /* stays open */
    void *symbol = library ? dlsym(library, "akg_plain_run") : NULL;
    memcpy(&run, &symbol, sizeof run);
    return run;
}

static bool is_near(const akg_tensor *a, const akg_tensor *b)
{
    double bound = akg_tensor_dtype(a) == AKG_FLOAT64    ? 1e-12
                   : akg_tensor_dtype(a) == AKG_BFLOAT16 ? 1e-2
                                                         : 1e-5;
    for (int64_t k = 0; k < akg_tensor_element_count(a); k++) {
        double x = api_element(a, k), y = api_element(b, k);
        if (fabs(x - y) > bound * (1 + fabs(y)) && !(isnan(x) && isnan(y)))
            return false;
    }
    return true;
}

/* Runs the compiled text and the interpreter on the same values. */
static void compare(akg_kernel *kernel, akg_argument *arguments, size_t argument_count, const struct row *row,
                    plain_run run)
{
    const akg_call_options options = {.backend = JIT_BACKEND_INTERPRETER};
    size_t outputs = akg_kernel_output_count(kernel);
    akg_tensor *expected[2] = {NULL, NULL}, *actual[2] = {NULL, NULL};
    void *tensors[5];
    size_t count = 0;
    for (int k = 0; k < row->count; k++)
        tensors[count++] = akg_tensor_data(arguments[k].as.tensor);
    bool in_place = strcmp(akg_kernel_output_name(kernel, 0), "a") == 0;
    for (size_t k = 0; k < outputs && in_place; k++) /* the interpreter gets the values before they change */
        CHECK_INT(akg_tensor_copy(arguments[0].as.tensor, &actual[k]), AKG_OK);
    if (in_place)
        tensors[0] = akg_tensor_data(actual[0]);
    CHECK_INT(akg_kernel_call(kernel, arguments, argument_count, &options, expected, NULL), AKG_OK);
    for (size_t k = 0; k < outputs && !in_place; k++) {
        CHECK_INT(akg_tensor_create(akg_tensor_dtype(expected[k]), akg_tensor_rank(expected[k]),
                                    akg_tensor_shape(expected[k]), &actual[k]),
                  AKG_OK);
        akg_tensor_fill(actual[k], 77);
        tensors[count++] = akg_tensor_data(actual[k]);
    }
    CHECK_INT(run(tensors, in_place ? 1 : 2), 0);
    for (size_t k = 0; k < outputs; k++) {
        if (!CHECK(is_near(actual[k], expected[k])))
            fprintf(stderr, "    output %zu of \"%s\"\n", k, row->name);
        akg_tensor_release(expected[k]);
        akg_tensor_release(actual[k]);
    }
}

/* Where memory runs out there is no text, and nothing is lost; with memory again it is the same. Tensors are
 * broadcast once more, `again`, where that fails the first time. */
static void try_failures(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                         const char *expected, bool again)
{
#ifdef AKG_FAULT_INJECTION
    for (long failure = 0, last = 0; !last; failure++) {
        char *text = NULL;
        memory_fail_after(failure);
        akg_status status = akg_kernel_plain_c(kernel, arguments, count, &text, NULL);
        last = memory_fail_remaining() >= 0;
        memory_fail_after(-1);
        if (last || !again)
            CHECK_INT(status, last ? AKG_OK : AKG_ERROR_MEMORY);
        CHECK(status == AKG_OK ? strcmp(text, expected) == 0 : status == AKG_ERROR_MEMORY && !text);
        akg_free(text);
    }
#else
    (void)kernel, (void)arguments, (void)count, (void)expected, (void)again;
#endif
}

static void test_row(const struct row *row, bool has_compiler)
{
    akg_argument arguments[4];
    size_t count = (size_t)row->count;
    akg_module *module = api_compile(row->program);
    akg_kernel *kernel = akg_module_kernel(module, "f");
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;
    if (!CHECK(kernel != NULL))
        return;
    for (int k = 0; k < row->count; k++) {
        akg_tensor *tensor = NULL;
        CHECK_INT(
            akg_tensor_create(row->tensors[k].dtype, row->tensors[k].rank, row->tensors[k].shape, &tensor),
            AKG_OK);
        akg_tensor_fill_normal(tensor, (uint64_t)k + 1);
        for (int64_t i = 0; k == 1 && row->tensors[k].dtype == AKG_INT32 && i < row->tensors[k].shape[0]; i++)
            akg_tensor_set(tensor, &i, (double)(i % 2 ? i + 1 : -i - 1)); /* divisors */
        arguments[k] = api_tensor(NULL, tensor);
    }
    if (row->scale != 0)
        arguments[count++] = api_real("scale", row->scale);
    CHECK_INT(akg_kernel_plain_c(kernel, arguments, count, &text, &diagnostics), AKG_OK);
    if (CHECK(text && strstr(text, row->piece)) && has_compiler) {
        plain_run run = build(text, (size_t)(row - rows));
        if (CHECK(run != NULL))
            compare(kernel, arguments, count, row, run);
    } else if (!has_compiler) {
        fprintf(stderr, "no gcc: \"%s\" was not compiled\n", row->name);
    } else {
        fprintf(stderr, "of \"%s\":\n%s\n", row->name, text ? text : "(null)");
    }
    try_failures(kernel, arguments, count, text, strstr(row->program, "@broadcast") != NULL);
    akg_free(text);
    for (int k = 0; k < row->count; k++)
        akg_tensor_release(arguments[k].as.tensor);
    akg_module_release(module);
}

static void test_refusals(void)
{
    akg_module *module = api_compile("def f(x):\n    y = output_tensor(x.shape, x.dtype)\n"
                                     "    for i in range(x.shape[0]):\n        y[i] = x[i]\n    return y\n");
    akg_kernel *kernel = akg_module_kernel(module, "f");
    const int64_t shape[] = {3}, strides[] = {2};
    akg_tensor *base = api_vector(AKG_FLOAT32, 6, 0, 1), *view = NULL;
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;
    CHECK_INT(akg_tensor_view(base, 1, shape, strides, 0, &view), AKG_OK);
    akg_argument argument = api_tensor(NULL, view);
    CHECK_INT(akg_kernel_plain_c(kernel, &argument, 1, &text, &diagnostics), AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "plain-c");
    CHECK(api_says(diagnostics, "'x' is not contiguous"));
    CHECK(text == NULL);
    akg_diagnostics_free(diagnostics);
    CHECK_INT(akg_kernel_plain_c(kernel, &argument, 0, &text, &diagnostics), AKG_ERROR_CALL);
    akg_diagnostics_free(diagnostics);
    CHECK_INT(akg_kernel_plain_c(kernel, &argument, 1, NULL, NULL), AKG_ERROR_USAGE);
    akg_tensor_release(view);
    akg_tensor_release(base);
    akg_module_release(module);
}

/* Of a @broadcast function: a number is no tensor that the C could take; a transpose is not repeated. */
static void test_broadcast_refusals(void)
{
    akg_module *module =
        api_compile("@broadcast\ndef f(a, b):\n    y = output_tensor(a.shape, a.dtype)\n"
                    "    for p in grid(a.shape):\n        y[p] = a[p] + b[p]\n    return y\n");
    akg_kernel *kernel = akg_module_kernel(module, "f");
    const int64_t shape[] = {3, 2}, strides[] = {1, 3};
    akg_tensor *base = api_vector(AKG_FLOAT32, 6, 0, 1), *view = NULL;
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;
    akg_argument number[] = {api_tensor(NULL, base), api_real(NULL, 2.5)};
    CHECK_INT(akg_kernel_plain_c(kernel, number, 2, &text, &diagnostics), AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "plain-c");
    CHECK(api_says(diagnostics, "'b' is a number, not a tensor"));
    akg_diagnostics_free(diagnostics);
    akg_tensor *row = api_vector(AKG_FLOAT32, 2, 0, 1);
    CHECK_INT(akg_tensor_view(base, 2, shape, strides, 0, &view), AKG_OK);
    akg_argument turned[] = {api_tensor(NULL, row), api_tensor(NULL, view)};
    CHECK_INT(akg_kernel_plain_c(kernel, turned, 2, &text, &diagnostics), AKG_ERROR_CALL);
    CHECK(api_says(diagnostics, "'b' is not contiguous"));
    CHECK(text == NULL);
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(view);
    akg_tensor_release(row);
    akg_tensor_release(base);
    akg_module_release(module);
}

int main(void)
{
    bool has_compiler = system("gcc --version >/dev/null 2>&1") == 0;
    char command[100];
    CHECK(mkdtemp(folder) != NULL);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        test_row(&rows[k], has_compiler);
    test_refusals();
    test_broadcast_refusals();
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
    return check_done();
}
