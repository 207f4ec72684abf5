/*
 * test_api.c: the public interface but for calls: status texts, compiling, modules, kernels, reports, stages
 * of a compile, explanations, and what each function says to a wrong use; and one call, with a tensor that
 * has no address.
 */
#include "api_support.h"
#include "check.h"

#include <dlpack/dlpack.h>
#include <stdlib.h>
#include <unistd.h>

static const char square_text[] = "def square(x):\n"
                                  "    \"\"\"x * x, \"quoted\"\\n\"\"\"\n"
                                  "    y = output_tensor(x.shape, x.dtype)\n"
                                  "    for i in range(x.shape[0]):\n"
                                  "        y[i] = x[i] * x[i]\n"
                                  "    return y\n";

static const char many_text[] =
    "def matmul(a: float32[M, K], b: float32[K, N]):\n"
    "    c = output_tensor((M, N), float32)\n"
    "    for i in range(M):\n"
    "        for j in range(N):\n"
    "            for k in range(K):\n"
    "                c[i, j] += a[i, k] * b[k, j]\n"
    "    return c\n"
    "\n"
    "def shapes(x, count=3, scale=0.5, flip=False, mode=\"max\", pads=(1, 2), bias=None):\n"
    "    y = output_tensor((count,), x.dtype)\n"
    "    for i in range(count):\n"
    "        y[i] = x[i] * scale + pads[0]\n"
    "        if flip:\n"
    "            y[i] = -y[i]\n"
    "        if mode == \"max\":\n"
    "            y[i] = max(y[i], 0.0)\n"
    "        if bias is not None:\n"
    "            y[i] += bias[i]\n"
    "    return y\n"
    "\n"
    "def total(*xs):\n"
    "    y = output_tensor(xs[0].shape, xs[0].dtype)\n"
    "    for i in range(xs[0].shape[0]):\n"
    "        for x in xs:\n"
    "            y[i] += x[i]\n"
    "    return y\n"
    "\n"
    "def bump(x, y):\n"
    "    z = output_tensor(x.shape, x.dtype)\n"
    "    for i in range(x.shape[0]):\n"
    "        z[i] = x[i] + y[i]\n"
    "        x[i] += 1.0\n"
    "    return x, z\n";

static const char broken_text[] = "def f(x):\n"
                                  "    y = output_tensor(x.shape, x.dtype)\n"
                                  "    for i in range(x.shape[0]):\n"
                                  "        y[i] = z[i]\n"
                                  "    return y\n";

static const char warning_text[] = "def f(x):\n"
                                   "    y = output_tensor(x.shape, x.dtype)\n"
                                   "    for i in range(x.shape[0]):\n"
                                   "        y[i] = y[i] * x[i]\n"
                                   "    return y\n";

static jit_source source_of(const char *text)
{
    return (jit_source){.name = "test.akg", .text = text, .length = strlen(text)};
}

/* ---- texts without an object -------------------------------------------------------------- */

static void test_constants(void)
{
    int dots = 0;

    for (int status = AKG_OK; status <= AKG_ERROR_DEVICE; status++) {
        CHECK(strlen(akg_status_text((akg_status)status)) > 3);
        for (int other = AKG_OK; other < status; other++)
            CHECK(strcmp(akg_status_text((akg_status)status), akg_status_text((akg_status)other)) != 0);
    }
    CHECK(akg_status_text((akg_status)99) != NULL);
    CHECK(akg_status_text((akg_status)-1) != NULL);
    for (const char *at = akg_version(); *at; at++)
        dots += *at == '.';
    CHECK_INT(dots, 2);
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        CHECK_INT(akg_dtype_from_name(akg_dtype_name((akg_dtype)dtype)), dtype);
        CHECK(akg_dtype_size((akg_dtype)dtype) >= 1 && akg_dtype_size((akg_dtype)dtype) <= 8);
    }
    CHECK(akg_dtype_name(AKG_DTYPE_COUNT) == NULL);
    CHECK(akg_dtype_name((akg_dtype)-1) == NULL);
    CHECK_INT(akg_dtype_size((akg_dtype)77), 0);
    CHECK_INT(akg_dtype_from_name("float"), AKG_DTYPE_COUNT);
    CHECK_INT(akg_dtype_from_name(NULL), AKG_DTYPE_COUNT);
    akg_free(NULL);
}

static void test_explain(void)
{
    size_t count = 0;

    for (const char *code; (code = akg_explain_code(count)); count++) {
        const char *page = akg_explain(code);
        CHECK(strlen(code) == 7 && strncmp(code, "AKG0", 4) == 0);
        for (size_t other = 0; other < count; other++)
            CHECK(strcmp(akg_explain_code(other), code) != 0);
        /* that each has its page is checked by tests/run; here that what there is is found by code */
        CHECK(!page || strlen(page) > 20);
    }
    CHECK(count > 60);
    CHECK(akg_explain_code(count) == NULL);
    CHECK(akg_explain_code((size_t)-1) == NULL);
    CHECK(akg_explain("AKG9999") == NULL);
    CHECK(akg_explain("") == NULL);
    CHECK(akg_explain(NULL) == NULL);
    CHECK(akg_explain("out-of-memory") == akg_explain("AKG0902"));
}

/* ---- NULL and nonsense ------------------------------------------------------------------------ */

static void test_null_tensors(void)
{
    int64_t shape[1] = {2}, index[1] = {0};
    akg_tensor *tensor = (akg_tensor *)1, *other = api_vector(AKG_FLOAT32, 2, 1, 1);
    struct DLManagedTensor *managed = (struct DLManagedTensor *)1;
    char *text = (char *)1;

    CHECK_INT(akg_tensor_create(AKG_FLOAT32, 1, NULL, &tensor), AKG_ERROR_USAGE);
    CHECK(tensor == NULL);
    CHECK_INT(akg_tensor_create(AKG_FLOAT32, 1, shape, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_from_memory(NULL, AKG_FLOAT32, 1, shape, NULL, NULL, NULL, &tensor),
              AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_from_memory(shape, AKG_FLOAT32, 1, shape, NULL, NULL, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_view(NULL, 1, shape, NULL, 0, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_view(other, 1, shape, NULL, 0, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_copy(NULL, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_copy(other, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_cast(NULL, AKG_INT8, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_cast(other, AKG_DTYPE_COUNT, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_format(NULL, &text), AKG_ERROR_USAGE);
    CHECK(text == NULL);
    CHECK_INT(akg_tensor_format(other, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_from_dlpack(NULL, &tensor, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_to_dlpack(NULL, &managed), AKG_ERROR_USAGE);
    CHECK(managed == NULL);
    CHECK_INT(akg_tensor_to_dlpack(other, NULL), AKG_ERROR_USAGE);
    CHECK(akg_tensor_retain(NULL) == NULL);
    akg_tensor_release(NULL);
    CHECK_INT(akg_tensor_dtype(NULL), AKG_DTYPE_COUNT);
    CHECK_INT(akg_tensor_rank(NULL), 0);
    CHECK(akg_tensor_shape(NULL) == NULL && akg_tensor_strides(NULL) == NULL &&
          akg_tensor_data(NULL) == NULL);
    CHECK_INT(akg_tensor_element_count(NULL), 0);
    CHECK(!akg_tensor_is_contiguous(NULL));
    CHECK(akg_tensor_get(NULL, index) == 0 && akg_tensor_get(other, NULL) == 0);
    akg_tensor_set(NULL, index, 1);
    akg_tensor_set(other, NULL, 7);
    akg_tensor_fill(NULL, 1);
    akg_tensor_fill_range(NULL, 1, 1);
    akg_tensor_fill_normal(NULL, 1);
    akg_tensor_fill_uniform(NULL, 1);
    akg_tensor_fill_integers(NULL, 0, 2, 1);
    CHECK(api_element(other, 0) == 1 && api_element(other, 1) == 2);
    akg_tensor_release(other);
}

static void test_null_files(void)
{
    akg_tensor *tensor = (akg_tensor *)1, *other = api_vector(AKG_FLOAT32, 2, 1, 1), *nothing = NULL;
    const char *key = "k", *no_key = NULL;
    akg_diagnostics *diagnostics = (akg_diagnostics *)1;

    CHECK_INT(akg_npy_read(NULL, &tensor, &diagnostics), AKG_ERROR_USAGE);
    CHECK(tensor == NULL && diagnostics == NULL);
    CHECK_INT(akg_npy_read("x.npy", NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npy_write(NULL, other, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npy_write("x.npy", NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_read(NULL, key, &tensor, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_read("x.npz", NULL, &tensor, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_read("x.npz", key, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_write(NULL, &key, &other, 1, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_write("x.npz", NULL, &other, 1, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_write("x.npz", &key, NULL, 1, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_write("x.npz", &no_key, &other, 1, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_write("x.npz", &key, &nothing, 1, NULL), AKG_ERROR_USAGE);
    CHECK(access("x.npy", F_OK) != 0 && access("x.npz", F_OK) != 0);
    akg_tensor_release(other);
}

static void test_null_modules(void)
{
    akg_parameter parameter;
    char *text = (char *)1;
    akg_module *module = api_compile(square_text);
    akg_kernel *kernel = akg_module_kernel_at(module, 0);

    CHECK(akg_module_retain(NULL) == NULL);
    akg_module_release(NULL);
    CHECK_INT(akg_module_kernel_count(NULL), 0);
    CHECK(akg_module_kernel_at(NULL, 0) == NULL);
    CHECK(akg_module_kernel(NULL, "f") == NULL && akg_module_kernel(module, NULL) == NULL);
    CHECK(akg_kernel_name(NULL) == NULL && akg_kernel_documentation(NULL) == NULL &&
          !akg_kernel_is_graph(NULL));
    CHECK_INT(akg_kernel_parameter_count(NULL), 0);
    CHECK(!akg_kernel_parameter(NULL, 0, &parameter) && !akg_kernel_parameter(kernel, 0, NULL));
    CHECK_INT(akg_kernel_output_count(NULL), 0);
    CHECK(akg_kernel_output_name(NULL, 0) == NULL);
    CHECK_INT(akg_kernel_report(NULL, AKG_FORMAT_TEXT, &text), AKG_ERROR_USAGE);
    CHECK(text == NULL);
    CHECK_INT(akg_kernel_report(kernel, AKG_FORMAT_TEXT, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_kernel_report(kernel, (akg_format)9, &text), AKG_ERROR_USAGE);
    CHECK_INT(akg_diagnostics_count(NULL), 0);
    CHECK_INT(akg_diagnostics_error_count(NULL), 0);
    CHECK(akg_diagnostics_at(NULL, 0) == NULL);
    CHECK_INT(akg_diagnostics_render(NULL, AKG_FORMAT_TEXT, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_diagnostics_render(NULL, (akg_format)7, &text), AKG_ERROR_USAGE);
    CHECK_INT(akg_diagnostics_render(NULL, AKG_FORMAT_TEXT, &text), AKG_OK);
    CHECK_STRING(text, "");
    akg_free(text);
    CHECK_INT(akg_diagnostics_render(NULL, AKG_FORMAT_JSON, &text), AKG_OK);
    CHECK(api_is_json(text));
    akg_free(text);
    akg_diagnostics_free(NULL);
    akg_module_release(module);
}

static void test_null_compiles(void)
{
    jit_source source = source_of(square_text), nothing = {0};
    jit_options options = {.backend = (jit_backend)17};
    akg_module *module = (akg_module *)1;
    akg_diagnostics *diagnostics = (akg_diagnostics *)1;
    akg_argument unnamed = {.kind = AKG_ARGUMENT_TENSOR};
    char *text = (char *)1;

    CHECK_INT(jit_compile(NULL, NULL, &module, &diagnostics), AKG_ERROR_USAGE);
    CHECK(module == NULL && diagnostics == NULL);
    CHECK_INT(jit_compile(&nothing, NULL, &module, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_compile(&source, NULL, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_compile(&source, &options, &module, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_emit(NULL, AKG_STAGE_C, NULL, NULL, 0, &text, &diagnostics), AKG_ERROR_USAGE);
    CHECK(text == NULL);
    CHECK_INT(jit_emit(&nothing, AKG_STAGE_C, NULL, NULL, 0, &text, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_emit(&source, AKG_STAGE_C, NULL, NULL, 0, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_emit(&source, (akg_stage)20, NULL, NULL, 0, &text, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_emit(&source, AKG_STAGE_C, "square", NULL, 1, &text, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_emit(&source, AKG_STAGE_C, "square", &unnamed, 1, &text, NULL), AKG_ERROR_USAGE);
    unnamed = api_int(NULL, 1);
    CHECK_INT(jit_emit(&source, AKG_STAGE_C, NULL, &unnamed, 1, &text, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_emit(&source, AKG_STAGE_C, "nobody", NULL, 0, &text, NULL), AKG_ERROR_USAGE);
    CHECK_INT(jit_emit_with(&source, &options, AKG_STAGE_C, "square", NULL, 0, &text, NULL), AKG_ERROR_USAGE);
    CHECK(text == NULL);
}

/* ---- compiling ------------------------------------------------------------------------------------ */

static void test_compile_text(void)
{
    /* the text is read to its length, not to a NUL, and may go away */
    char *copy = malloc(sizeof square_text + 10);
    jit_source source = {.text = copy, .length = sizeof square_text - 1};
    akg_module *module;
    akg_kernel *kernel;

    memset(copy, 'X', sizeof square_text + 10);
    memcpy(copy, square_text, sizeof square_text - 1);
    CHECK_INT(jit_compile(&source, NULL, &module, NULL), AKG_OK);
    free(copy);
    CHECK_INT(akg_module_kernel_count(module), 1);
    kernel = akg_module_kernel(module, "square");
    CHECK(kernel && kernel == akg_module_kernel_at(module, 0));
    CHECK(akg_module_kernel_at(module, 1) == NULL);
    CHECK(akg_module_kernel(module, "squar") == NULL);
    CHECK_STRING(akg_kernel_name(kernel), "square");
    CHECK(strstr(akg_kernel_documentation(kernel), "x * x") != NULL);
    akg_module_release(module);
}

static void test_compile_errors(void)
{
    jit_source source = source_of(broken_text);
    akg_module *module = (akg_module *)1;
    akg_diagnostics *diagnostics;
    const akg_diagnostic *error;
    char *text;

    CHECK_INT(jit_compile(&source, NULL, &module, &diagnostics), AKG_ERROR_PROGRAM);
    CHECK(module == NULL);
    CHECK(akg_diagnostics_error_count(diagnostics) >= 1);
    error = akg_diagnostics_at(diagnostics, 0);
    CHECK_INT(error->severity, AKG_SEVERITY_ERROR);
    CHECK_STRING(error->file, "test.akg");
    CHECK_INT(error->line, 4);
    CHECK_INT(error->column, 16);
    CHECK_INT(error->end_column, 17);
    CHECK(strchr(error->message, '\n') == NULL);
    CHECK(akg_diagnostics_at(diagnostics, akg_diagnostics_count(diagnostics)) == NULL);
    CHECK_INT(akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &text), AKG_OK);
    CHECK(strstr(text, "test.akg:4:16: error: ") && strstr(text, error->code) && strstr(text, "^"));
    akg_free(text);
    CHECK_INT(akg_diagnostics_render(diagnostics, AKG_FORMAT_JSON, &text), AKG_OK);
    CHECK(api_is_json(text) && strstr(text, error->name));
    akg_free(text);
    akg_diagnostics_free(diagnostics);
    CHECK_INT(jit_compile(&source, NULL, &module, NULL), AKG_ERROR_PROGRAM);
}

static void test_compile_warnings(void)
{
    jit_source source = source_of(warning_text);
    jit_options strict = {.warnings_are_errors = true};
    akg_module *module;
    akg_diagnostics *diagnostics;

    CHECK_INT(jit_compile(&source, NULL, &module, &diagnostics), AKG_OK);
    CHECK_INT(akg_diagnostics_error_count(diagnostics), 0);
    CHECK_INT(akg_diagnostics_count(diagnostics), 1);
    CHECK_INT(akg_diagnostics_at(diagnostics, 0)->severity, AKG_SEVERITY_WARNING);
    akg_diagnostics_free(diagnostics);
    akg_module_release(module);
    CHECK_INT(jit_compile(&source, NULL, &module, NULL), AKG_OK); /* nobody listens */
    akg_module_release(module);
    CHECK_INT(jit_compile(&source, &strict, &module, &diagnostics), AKG_ERROR_PROGRAM);
    CHECK(module == NULL);
    CHECK_STRING(api_error(diagnostics), "read-before-write");
    akg_diagnostics_free(diagnostics);
}

static void test_compile_oddities(void)
{
    static const struct {
        const char *text;
        size_t length;
    } sources[] = {
        {"", 0},         {"\0", 1},          {"def", 3}, {"\n\n\n", 3}, {"def f(x):\n    return x\0\n", 24},
        {"\xff\xfe", 2}, {"# nothing\n", 10}};
    akg_module *module;
    akg_diagnostics *diagnostics;

    for (size_t i = 0; i < API_COUNT(sources); i++) {
        jit_source source = {.text = sources[i].text, .length = sources[i].length};
        CHECK_INT(jit_compile(&source, NULL, &module, &diagnostics), AKG_ERROR_PROGRAM);
        CHECK(module == NULL && akg_diagnostics_error_count(diagnostics) >= 1);
        akg_diagnostics_free(diagnostics);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(text, 1, strlen(text), file) == strlen(text) && fclose(file) == 0);
}

static void test_compile_file(void)
{
    jit_source source = {.name = "square.akg"};
    akg_module *module;
    akg_diagnostics *diagnostics;

    CHECK_INT(jit_compile(&source, NULL, &module, &diagnostics), AKG_ERROR_IO);
    CHECK(module == NULL);
    CHECK_STRING(api_error(diagnostics), "source-file");
    CHECK(api_says(diagnostics, "square.akg"));
    akg_diagnostics_free(diagnostics);
    write_file("square.akg", square_text);
    CHECK_INT(jit_compile(&source, NULL, &module, NULL), AKG_OK);
    CHECK(akg_module_kernel(module, "square") != NULL);
    akg_module_release(module);
    write_file("square.akg", broken_text);
    CHECK_INT(jit_compile(&source, NULL, &module, &diagnostics), AKG_ERROR_PROGRAM);
    CHECK_STRING(akg_diagnostics_at(diagnostics, 0)->file, "square.akg");
    akg_diagnostics_free(diagnostics);
    unlink("square.akg");
    source.name = ".";
    CHECK_INT(jit_compile(&source, NULL, &module, &diagnostics), AKG_ERROR_IO);
    CHECK_STRING(api_error(diagnostics), "source-file");
    akg_diagnostics_free(diagnostics);
}

/* ---- what a module tells ----------------------------------------------------------------------------- */

static void check_parameter(const akg_kernel *kernel, size_t index, const char *name, akg_parameter_kind kind,
                            bool optional, akg_dtype dtype, int rank)
{
    akg_parameter parameter = {0};

    CHECK(akg_kernel_parameter(kernel, index, &parameter));
    CHECK_STRING(parameter.name, name);
    CHECK_INT(parameter.kind, kind);
    CHECK_INT(parameter.optional, optional);
    CHECK_INT(parameter.dtype, dtype);
    CHECK_INT(parameter.rank, rank);
}

static void test_parameters(void)
{
    static const char *const names[] = {"matmul", "shapes", "total", "bump"};
    akg_module *module = api_compile(many_text);
    akg_kernel *matmul = akg_module_kernel(module, "matmul"), *shapes = akg_module_kernel(module, "shapes"),
               *total = akg_module_kernel(module, "total"), *bump = akg_module_kernel(module, "bump");
    akg_parameter parameter;

    CHECK_INT(akg_module_kernel_count(module), 4);
    for (size_t i = 0; i < API_COUNT(names); i++)
        CHECK_STRING(akg_kernel_name(akg_module_kernel_at(module, i)), names[i]);
    CHECK_STRING(akg_kernel_documentation(matmul), "");
    CHECK(!akg_kernel_is_graph(matmul));
    CHECK_INT(akg_kernel_parameter_count(matmul), 2);
    check_parameter(matmul, 0, "a", AKG_PARAMETER_TENSOR, false, AKG_FLOAT32, 2);
    check_parameter(matmul, 1, "b", AKG_PARAMETER_TENSOR, false, AKG_FLOAT32, 2);
    CHECK(!akg_kernel_parameter(matmul, 2, &parameter));
    CHECK_INT(akg_kernel_parameter_count(shapes), 7);
    check_parameter(shapes, 0, "x", AKG_PARAMETER_TENSOR, false, AKG_DTYPE_COUNT, 1);
    check_parameter(shapes, 1, "count", AKG_PARAMETER_ATTRIBUTE, true, AKG_DTYPE_COUNT, -1);
    check_parameter(shapes, 5, "pads", AKG_PARAMETER_ATTRIBUTE, true, AKG_DTYPE_COUNT, -1);
    check_parameter(shapes, 6, "bias", AKG_PARAMETER_TENSOR, true, AKG_DTYPE_COUNT, 1);
    check_parameter(total, 0, "xs", AKG_PARAMETER_VARIADIC, false, AKG_DTYPE_COUNT, -1);
    CHECK_INT(akg_kernel_output_count(bump), 2);
    CHECK_STRING(akg_kernel_output_name(bump, 0), "x");
    CHECK_STRING(akg_kernel_output_name(bump, 1), "z");
    CHECK(akg_kernel_output_name(bump, 2) == NULL);
    akg_module_release(module);
}

static void test_reports(void)
{
    akg_module *module = api_compile(many_text);
    char *text;

    CHECK_INT(akg_kernel_report(akg_module_kernel(module, "matmul"), AKG_FORMAT_TEXT, &text), AKG_OK);
    CHECK_STRING(text, "matmul(a: float32[M, K], b: float32[K, N]) -> c: float32[M, N]\n");
    akg_free(text);
    for (size_t i = 0; i < akg_module_kernel_count(module); i++) {
        akg_kernel *kernel = akg_module_kernel_at(module, i);
        CHECK_INT(akg_kernel_report(kernel, AKG_FORMAT_JSON, &text), AKG_OK);
        CHECK(api_is_json(text) && strstr(text, akg_kernel_name(kernel)));
        akg_free(text);
        CHECK_INT(akg_kernel_report(kernel, AKG_FORMAT_TEXT, &text), AKG_OK);
        CHECK(strncmp(text, akg_kernel_name(kernel), strlen(akg_kernel_name(kernel))) == 0);
        akg_free(text);
    }
    akg_module_release(module);
}

/* Forty tensors of their own dtypes and dims: each keeps its own name in the report. */
static void test_report_of_many(void)
{
    char program[8192], *text;
    size_t length = (size_t)snprintf(program, sizeof program, "def many(");
    akg_module *module;

    for (int i = 0; i < 70; i++)
        length += (size_t)snprintf(program + length, sizeof program - length, "%sx%d", i ? ", " : "", i);
    length += (size_t)snprintf(program + length, sizeof program - length, "):\n");
    for (int i = 0; i < 70; i++)
        length += (size_t)snprintf(program + length, sizeof program - length,
                                   "    for i in range(x%d.shape[0]):\n        x%d[i] = 0\n", i, i);
    length += (size_t)snprintf(program + length, sizeof program - length, "    return x0");
    for (int i = 1; i < 70; i++)
        length += (size_t)snprintf(program + length, sizeof program - length, ", x%d", i);
    snprintf(program + length, sizeof program - length, "\n");
    module = api_compile(program);
    CHECK_INT(akg_kernel_report(akg_module_kernel(module, "many"), AKG_FORMAT_TEXT, &text), AKG_OK);
    CHECK(text && strstr(text, "x1: T1[") && strstr(text, "x40: T40[") && strstr(text, "x69: T69["));
    akg_free(text);
    CHECK_INT(akg_kernel_report(akg_module_kernel(module, "many"), AKG_FORMAT_JSON, &text), AKG_OK);
    CHECK(api_is_json(text));
    akg_free(text);
    akg_module_release(module);
}

static void test_lifetime(void)
{
    akg_module *first = api_compile(square_text), *second = api_compile(many_text), *again;
    akg_kernel *kernel = akg_module_kernel(first, "square");
    akg_tensor *x = api_vector(AKG_FLOAT32, 3, 1, 1), *output = NULL;
    akg_argument argument = api_tensor(NULL, x);

    CHECK_INT(akg_kernel_call(kernel, &argument, 1, NULL, &output, NULL), AKG_OK);
    akg_tensor_release(output);
    output = NULL;
    CHECK(akg_module_retain(first) == first);
    akg_module_release(first); /* one reference is left */
    akg_module_release(second);
    again = api_compile(square_text);
    akg_module_release(again);
    CHECK_INT(akg_kernel_call(kernel, &argument, 1, NULL, &output, NULL), AKG_OK);
    CHECK(output && api_element(output, 2) == 9);
    akg_module_release(first);
    CHECK(api_element(output, 1) == 4); /* outlives the module */
    akg_tensor_release(output);
    akg_tensor_release(x);
}

/* ---- stages ---------------------------------------------------------------------------------------------
 */

static char *emit(const jit_source *source, akg_stage stage, const char *kernel,
                  const akg_argument *arguments, size_t count)
{
    akg_diagnostics *diagnostics;
    char *text;

    CHECK_INT(jit_emit(source, stage, kernel, arguments, count, &text, &diagnostics), AKG_OK);
    CHECK_INT(akg_diagnostics_error_count(diagnostics), 0);
    akg_diagnostics_free(diagnostics);
    return text;
}

static void check_stage(const jit_source *source, akg_stage stage, const char *kernel, const char *piece)
{
    char *text = emit(source, stage, kernel, NULL, 0);
    CHECK(text && strstr(text, piece));
    akg_free(text);
}

static void test_emit(void)
{
    jit_source from_text = source_of(many_text), from_file = {.name = "many.akg"};
    const jit_source *sources[] = {&from_text, &from_file};

    write_file("many.akg", many_text);
    for (size_t i = 0; i < 2; i++) {
        check_stage(sources[i], AKG_STAGE_TOKENS, NULL, "matmul");
        check_stage(sources[i], AKG_STAGE_AST, NULL, "bump");
        check_stage(sources[i], AKG_STAGE_AST, "bump", "bump");
        check_stage(sources[i], AKG_STAGE_IR, NULL, "matmul");
        check_stage(sources[i], AKG_STAGE_IR, "shapes", "shapes");
        check_stage(sources[i], AKG_STAGE_C, NULL, "for (");
        check_stage(sources[i], AKG_STAGE_C, "bump", "int bump(");
        check_stage(sources[i], AKG_STAGE_CANONICAL, NULL, "def total(*xs):");
    }
    unlink("many.akg");
}

static void test_emit_of_a_call(void)
{
    jit_source source = source_of(many_text);
    akg_tensor *a = api_vector(AKG_FLOAT64, 4, 0, 1), *b = api_vector(AKG_FLOAT64, 4, 0, 1);
    akg_argument arguments[] = {api_tensor("y", b), api_tensor("x", a)};
    akg_argument shapes[] = {api_tensor(NULL, a), api_int("count", 2)};
    char *text;
    akg_diagnostics *diagnostics;

    text = emit(&source, AKG_STAGE_IR, "bump", arguments, 2);
    CHECK(text && strstr(text, "float64") && !strstr(text, "float32"));
    akg_free(text);
    text = emit(&source, AKG_STAGE_C, "shapes", shapes, 2);
    CHECK(text && strstr(text, "double"));
    akg_free(text);
    CHECK_INT(jit_emit(&source, AKG_STAGE_C, "bump", arguments, 1, &text, &diagnostics), AKG_ERROR_CALL);
    CHECK(text == NULL);
    CHECK_STRING(api_error(diagnostics), "call-missing");
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(a);
    akg_tensor_release(b);
}

static void test_emit_errors(void)
{
    jit_source broken = source_of(broken_text), missing = {.name = "missing.akg"},
               warned = source_of(warning_text);
    akg_diagnostics *diagnostics;
    char *text = (char *)1;

    for (int stage = AKG_STAGE_TOKENS; stage <= AKG_STAGE_CANONICAL; stage++) {
        CHECK_INT(jit_emit(&missing, (akg_stage)stage, NULL, NULL, 0, &text, &diagnostics), AKG_ERROR_IO);
        CHECK(text == NULL);
        CHECK_STRING(api_error(diagnostics), "source-file");
        akg_diagnostics_free(diagnostics);
        CHECK_INT(jit_emit(&missing, (akg_stage)stage, NULL, NULL, 0, &text, NULL), AKG_ERROR_IO);
    }
    CHECK_INT(jit_emit(&broken, AKG_STAGE_IR, NULL, NULL, 0, &text, &diagnostics), AKG_ERROR_PROGRAM);
    CHECK(text == NULL && akg_diagnostics_error_count(diagnostics) >= 1);
    akg_diagnostics_free(diagnostics);
    CHECK_INT(jit_emit(&warned, AKG_STAGE_C, NULL, NULL, 0, &text, &diagnostics), AKG_OK);
    CHECK_INT(akg_diagnostics_count(diagnostics), 1);
    akg_diagnostics_free(diagnostics);
    akg_free(text);
}

/* Lanes that a condition leaves out touch nothing of a tensor without elements, which may have no address. */
static void test_scatter_into_nothing(void)
{
    const int64_t none = 0;
    akg_module *scatters =
        api_compile("def k(p: int32[M], y: int32[N]):\n    for i in range(M):\n        if 0 <= p[i] < N:\n"
                    "            y[p[i]] += 1\n    return y\n");
    akg_tensor *places = api_vector(AKG_INT32, 100, 0, 1), *empty = NULL, *result = NULL;
    CHECK(akg_tensor_from_memory(NULL, AKG_INT32, 1, &none, NULL, NULL, NULL, &empty) == AKG_OK);
    if (CHECK(scatters && places && empty)) {
        akg_argument arguments[] = {api_tensor("p", places), api_tensor("y", empty)};
        CHECK_INT(akg_kernel_call(akg_module_kernel_at(scatters, 0), arguments, 2, NULL, &result, NULL),
                  AKG_OK);
    }
    akg_tensor_release(result);
    akg_tensor_release(empty);
    akg_tensor_release(places);
    akg_module_release(scatters);
}

int main(void)
{
    test_constants();
    test_explain();
    test_null_tensors();
    test_null_files();
    test_null_modules();
    test_null_compiles();
    test_compile_text();
    test_compile_errors();
    test_compile_warnings();
    test_compile_oddities();
    test_compile_file();
    test_parameters();
    test_reports();
    test_report_of_many();
    test_lifetime();
    test_emit();
    test_emit_of_a_call();
    test_emit_errors();
    test_scatter_into_nothing();
    return check_done();
}
