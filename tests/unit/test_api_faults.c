/*
 * test_api_faults.c: each allocation and each file operation of whole journeys through the public interface
 * fails once, in turn. The function it fails in says so, changes nothing, and works when it is called again.
 * Leaks are the address sanitizer's to find.
 *
 * Without AKG_FAULT_INJECTION each journey is made once. With it, at most `most` failures are tried of a
 * journey, and a twentieth of that of each program of the tests; the first argument is another `most`, 0 for
 * all. With ARENA_EACH, where each piece of an arena is an allocation, that would take an hour: there it is
 * a ninetieth, of one program in five.
 */
#include "../../base/memory.h"
#include "api_support.h"
#include "check.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef ARENA_EACH
enum { EACH_PROGRAM = 90, EVERY = 5 };
#else
enum { EACH_PROGRAM = 20, EVERY = 1 };
#endif

#ifndef AKG_FAULT_INJECTION
#define memory_fail_after(count) ((void)(count))
#define memory_fail_remaining() (0L)
#endif

static akg_diagnostics *diagnostics;

/* What a failed function left in `diagnostics`: nothing, or a list that ends with what happened. */
static bool tells_of_failure(akg_status status)
{
    size_t count = akg_diagnostics_count(diagnostics);
    const akg_diagnostic *last = count ? akg_diagnostics_at(diagnostics, count - 1) : NULL;

    if (status == AKG_ERROR_MEMORY)
        return !last || strcmp(last->name, "out-of-memory") == 0;
    return status == AKG_ERROR_IO && last;
}

/* The status of `expression` is `expected`; or it is a failure, during which an allocation failed: then it is
 * `expected` the next time. */
#define ATTEMPT(expected, expression)                                                                        \
    do {                                                                                                     \
        bool attempt_could = memory_fail_remaining() >= 0;                                                   \
        akg_status attempt_status = (expression);                                                            \
        if (attempt_status != (expected)) {                                                                  \
            CHECK(attempt_could &&memory_fail_remaining() < 0);                                              \
            if (!CHECK(tells_of_failure(attempt_status)))                                                    \
                fprintf(stderr, "%s: %d %s\n", #expression, attempt_status,                                  \
                        akg_diagnostics_count(diagnostics) ? akg_diagnostics_at(diagnostics, 0)->message     \
                                                           : "none");                                        \
            akg_diagnostics_free(diagnostics);                                                               \
            diagnostics = NULL;                                                                              \
            attempt_status = (expression);                                                                   \
        }                                                                                                    \
        CHECK_INT(attempt_status, expected);                                                                 \
        akg_diagnostics_free(diagnostics);                                                                   \
        diagnostics = NULL;                                                                                  \
    } while (0)

/* api_same allocates too, but it is not what is tried. */
static bool same(const akg_tensor *a, const akg_tensor *b)
{
    long remaining = memory_fail_remaining();
    bool are;

    memory_fail_after(-1);
    are = a && b && api_same(a, b);
    memory_fail_after(remaining);
    return are;
}

/* ---- journeys ------------------------------------------------------------------------------- */

static const char good_text[] = "def f(x, n=2, scale=0.5, bias=None):\n"
                                "    y = output_tensor((n,), x.dtype)\n"
                                "    for i in range(n):\n"
                                "        y[i] = x[i] * scale\n"
                                "        if bias is not None:\n"
                                "            y[i] += bias[i]\n"
                                "    return y\n";

static const char long_text[] = "LIMIT = 3\n"
                                "\n"
                                "def half(v):\n"
                                "    return v / 2.0\n"
                                "\n"
                                "@ms_kernel\n"
                                "def softmax(x: float32[M, N], eps=1e-6, mode=\"sum\", pads=(1, 2)):\n"
                                "    \"\"\"Rows that sum to one.\"\"\"\n"
                                "    y = output_tensor(x.shape, x.dtype)\n"
                                "    t = allocate((N,), x.dtype)\n"
                                "    assert N > 0, \"no columns\"\n"
                                "    for i in parallel(M):\n"
                                "        top = x[i, 0]\n"
                                "        for j in range(1, N):\n"
                                "            top = max(top, x[i, j])\n"
                                "        s = 0.0\n"
                                "        for j in range(N):\n"
                                "            t[j] = exp(x[i, j] - top)\n"
                                "            s += t[j]\n"
                                "        k = 0\n"
                                "        while k < LIMIT:\n"
                                "            k += 1\n"
                                "        if mode == \"sum\" and k > pads[0]:\n"
                                "            y[i, 0:N] = t[0:N] / (s + eps)\n"
                                "        else:\n"
                                "            y[i, 0] = half(s)\n"
                                "    return y\n"
                                "\n"
                                "def add_n(*xs):\n"
                                "    y = output_tensor(xs[0].shape, xs[0].dtype)\n"
                                "    for i in grid(y.shape):\n"
                                "        for x in xs:\n"
                                "            y[i] = y[i] + x[i]\n"
                                "    return y\n"
                                "\n"
                                "def gather(x, index):\n"
                                "    y = output_tensor(index.shape, x.dtype)\n"
                                "    for i in range(index.shape[0]):\n"
                                "        y[i] = x[index[i]] // index[i]\n"
                                "    return y\n";

static jit_source source_of(const char *text)
{
    return (jit_source){.name = "test.akg", .text = text, .length = strlen(text)};
}

static void call_both(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_status expected,
                      akg_tensor **outputs)
{
    static const jit_backend backends[] = {JIT_BACKEND_TCC, JIT_BACKEND_INTERPRETER};

    for (int i = 0; i < 2; i++) {
        akg_call_options options = {.backend = backends[i]};
        ATTEMPT(expected, akg_kernel_call(kernel, arguments, count, &options, &outputs[i], &diagnostics));
        CHECK((outputs[i] != NULL) == (expected == AKG_OK));
    }
    if (expected == AKG_OK && outputs[0] && outputs[1])
        CHECK(api_element(outputs[0], 1) == api_element(outputs[1], 1));
}

static void release_both(akg_tensor **outputs)
{
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    outputs[0] = outputs[1] = NULL;
}

static akg_tensor *vector(akg_dtype dtype, double first)
{
    int64_t length = 4;
    akg_tensor *tensor = NULL;

    ATTEMPT(AKG_OK, akg_tensor_create(dtype, 1, &length, &tensor));
    akg_tensor_fill_range(tensor, first, 1);
    return tensor;
}

/* Compile, report, call with and without an option, with a constant that makes another specialisation. */
static void journey_of_calls(void)
{
    jit_source source = source_of(good_text);
    akg_module *module = NULL;
    akg_tensor *x = vector(AKG_FLOAT32, 1), *bias = vector(AKG_FLOAT32, 10), *outputs[2] = {NULL, NULL};
    akg_argument arguments[] = {api_tensor(NULL, x), api_int(NULL, 3), api_real(NULL, 0.25),
                                api_tensor(NULL, bias)};
    akg_kernel *kernel;
    char *text;

    ATTEMPT(AKG_OK, jit_compile(&source, NULL, &module, &diagnostics));
    kernel = akg_module_kernel(module, "f");
    ATTEMPT(AKG_OK, akg_kernel_report(kernel, AKG_FORMAT_TEXT, &text));
    CHECK(text && strncmp(text, "f(x: T[", 7) == 0);
    akg_free(text);
    call_both(kernel, arguments, 1, AKG_OK, outputs);
    CHECK(outputs[0] && api_element(outputs[0], 1) == 1);
    release_both(outputs);
    call_both(kernel, arguments, 4, AKG_OK, outputs);
    CHECK(outputs[0] && api_element(outputs[0], 2) == 12.75);
    release_both(outputs);
    arguments[1].as.integer = 5;
    call_both(kernel, arguments, 4, AKG_ERROR_CALL, outputs);
    arguments[0].name = "nobody";
    call_both(kernel, arguments, 1, AKG_ERROR_CALL, outputs);
    akg_tensor_release(x);
    akg_tensor_release(bias);
    akg_module_release(module);
}

/* All of the language; calls that stop in the middle. */
static void journey_of_languages(void)
{
    static const int64_t shape[2] = {2, 3};
    jit_source source = source_of(long_text);
    akg_module *module = NULL;
    akg_tensor *x = NULL, *items[2] = {vector(AKG_INT32, 1), vector(AKG_INT32, 0)},
               *outputs[2] = {NULL, NULL};
    akg_argument arguments[2], index[] = {api_tensor(NULL, items[0]), api_tensor(NULL, items[1])};
    char *text;

    ATTEMPT(AKG_OK, akg_tensor_create(AKG_FLOAT32, 2, shape, &x));
    ATTEMPT(AKG_OK, jit_compile(&source, NULL, &module, &diagnostics));
    for (size_t i = 0; i < akg_module_kernel_count(module); i++) {
        ATTEMPT(AKG_OK, akg_kernel_report(akg_module_kernel_at(module, i), AKG_FORMAT_JSON, &text));
        CHECK(api_is_json(text));
        akg_free(text);
    }
    arguments[0] = api_tensor(NULL, x);
    call_both(akg_module_kernel(module, "softmax"), arguments, 1, AKG_OK, outputs);
    release_both(outputs);
    arguments[1] = api_string("mode", "other");
    call_both(akg_module_kernel(module, "softmax"), arguments, 2, AKG_OK, outputs);
    CHECK(outputs[0] && api_element(outputs[0], 0) == 1.5);
    release_both(outputs);
    arguments[0] = api_tensors(NULL, items, 2);
    call_both(akg_module_kernel(module, "add_n"), arguments, 1, AKG_OK, outputs);
    CHECK(outputs[0] && api_element(outputs[0], 2) == 5);
    release_both(outputs);
    call_both(akg_module_kernel(module, "gather"), index, 2, AKG_ERROR_CALL, outputs); /* divides by zero */
    akg_tensor_release(items[0]);
    akg_tensor_release(items[1]);
    akg_tensor_release(x);
    akg_module_release(module);
}

static const char *const broken_texts[] = {
    "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n        y[i] = "
    "xx[i]\n"
    "    return y\n",
    "def f(x)\n    return x\n",
    "def f(x):\n  for i in range(3):\n     x[i] = 1\n    return x\n",
    "def f(x):\n    x[0] = \"text\n    return x\n",
    "def f(x, y):\n    for i in range(x.shape[0]):\n        x[i] = float32(1) + int32(y[i])\n    return x\n",
    "def f(x: float32[N]):\n    x[0, 1] = 2 / 3\n    return x\n",
    "def f(x):\n    y = output_tensor((2,), float32)\n    z = output_tensor((2,), float32)\n    y[0] = x[0]\n"
    "    return y\n",
    "def f(x):\n    a = b\n    b = f(x)\n    return g(x, 1, k=2)\n",
    "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(3):\n        y[i] = sqr(x[i], "
    "1.5e)\n"
    "        y[i] = x[i] @ 3\n        i = 3\n    return y\n",
    "def f(x, n=\"a\", m=f):\n    assert 1 > 2, \"never\"\n    return x[0]\n",
    "# nothing\n",
};

static const char *const warned_text =
    "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in parallel(1, x.shape[0]):\n"
    "        y[i] = y[i - 1] * x[i]\n    return y\n";

static void journey_of_errors(void)
{
    jit_options strict = {.warnings_are_errors = true};
    akg_module *module = NULL;
    akg_diagnostics *list = NULL;
    char *text;

    for (size_t i = 0; i < API_COUNT(broken_texts); i++) {
        jit_source source = source_of(broken_texts[i]);
        ATTEMPT(AKG_ERROR_PROGRAM, jit_compile(&source, NULL, &module, &diagnostics));
        CHECK(module == NULL);
        ATTEMPT(AKG_ERROR_PROGRAM, jit_compile(&source, NULL, &module, NULL));
    }
    jit_source warned = source_of(warned_text);
    ATTEMPT(AKG_ERROR_PROGRAM, jit_compile(&warned, &strict, &module, &diagnostics));
    ATTEMPT(AKG_OK, (akg_diagnostics_free(list), akg_module_release(module),
                     jit_compile(&warned, NULL, &module, &list)));
    CHECK(akg_diagnostics_count(list) >= 2);
    ATTEMPT(AKG_OK, akg_diagnostics_render(list, AKG_FORMAT_TEXT, &text));
    CHECK(strstr(text, "test.akg:4:"));
    akg_free(text);
    ATTEMPT(AKG_OK, akg_diagnostics_render(list, AKG_FORMAT_JSON, &text));
    CHECK(api_is_json(text));
    akg_free(text);
    akg_diagnostics_free(list);
    akg_module_release(module);
}

static void emit_each(const jit_source *source, akg_stage stage, const char *kernel,
                      const akg_argument *arguments, size_t count)
{
    char *text = NULL;
    ATTEMPT(AKG_OK, jit_emit(source, stage, kernel, arguments, count, &text, &diagnostics));
    CHECK(text && strlen(text) > 20);
    akg_free(text);
}

static void journey_of_stages(void)
{
    jit_source source = source_of(good_text), file = {.name = "journey.akg"},
               broken = source_of(broken_texts[0]);
    akg_tensor *x = vector(AKG_FLOAT32, 1);
    akg_argument arguments[] = {api_tensor(NULL, x), api_int("n", 3)};
    char *text = NULL;

    for (int stage = AKG_STAGE_TOKENS; stage <= AKG_STAGE_CANONICAL; stage++) {
        emit_each(&source, (akg_stage)stage, NULL, NULL, 0);
        emit_each(&file, (akg_stage)stage, NULL, NULL, 0);
    }
    emit_each(&source, AKG_STAGE_IR, "f", arguments, 2);
    emit_each(&source, AKG_STAGE_C, "f", arguments, 2);
    emit_each(&source, AKG_STAGE_CUDA, "f", arguments, 2);
    ATTEMPT(AKG_ERROR_PROGRAM, jit_emit(&broken, AKG_STAGE_C, NULL, NULL, 0, &text, &diagnostics));
    arguments[1].name = "m";
    ATTEMPT(AKG_ERROR_CALL, jit_emit(&source, AKG_STAGE_C, "f", arguments, 2, &text, &diagnostics));
    file.name = "nowhere.akg";
    ATTEMPT(AKG_ERROR_IO, jit_emit(&file, AKG_STAGE_TOKENS, NULL, NULL, 0, &text, &diagnostics));
    CHECK(text == NULL);
    akg_tensor_release(x);
}

static void journey_of_files(void)
{
    jit_source file = {.name = "journey.akg"}, missing = {.name = "nowhere.akg"}, folder = {.name = "."};
    akg_tensor *x = vector(AKG_FLOAT64, 1), *read = NULL, *view = NULL;
    const char *keys[] = {"a", "b"};
    int64_t reversed = -1, length = 4;
    akg_module *module = NULL;
    char *text;

    ATTEMPT(AKG_OK, jit_compile(&file, NULL, &module, &diagnostics));
    akg_module_release(module);
    ATTEMPT(AKG_ERROR_IO, jit_compile(&missing, NULL, &module, &diagnostics));
    ATTEMPT(AKG_ERROR_IO, jit_compile(&folder, NULL, &module, &diagnostics));
    CHECK(module == NULL);
    ATTEMPT(AKG_OK, akg_tensor_view(x, 1, &length, &reversed, 3, &view));
    ATTEMPT(AKG_OK, akg_npy_write("journey.npy", view, &diagnostics));
    ATTEMPT(AKG_OK, akg_npy_read("journey.npy", &read, &diagnostics));
    CHECK(same(read, view));
    akg_tensor_release(read);
    ATTEMPT(AKG_OK, akg_npz_write("journey.npz", keys, (akg_tensor *[]){x, view}, 2, &diagnostics));
    ATTEMPT(AKG_OK, akg_npz_read("journey.npz", "b", &read, &diagnostics));
    CHECK(same(read, view));
    ATTEMPT(AKG_OK, akg_tensor_format(read, &text));
    CHECK_STRING(text, "[4, 3, 2, 1]");
    akg_free(text);
    akg_tensor_release(read);
    ATTEMPT(AKG_ERROR_USAGE, akg_npz_read("journey.npz", "c", &read, &diagnostics));
    ATTEMPT(AKG_ERROR_IO, akg_npy_read("nowhere.npy", &read, &diagnostics));
    CHECK(read == NULL);
    akg_tensor_release(view);
    akg_tensor_release(x);
    unlink("journey.npy");
    unlink("journey.npz");
}

/* ---- every program of the tests ------------------------------------------------------------------ */

static const char *program_path;
static akg_status program_status;

/* Whatever there is to say of that program is said, or that memory ran out. */
static void journey_of_program(void)
{
    jit_source source = {.name = program_path};
    akg_module *module = NULL;
    char *text = NULL;

    ATTEMPT(program_status, jit_compile(&source, NULL, &module, &diagnostics));
    CHECK((module != NULL) == (program_status == AKG_OK));
    for (size_t i = 0; i < akg_module_kernel_count(module); i++) {
        ATTEMPT(AKG_OK, akg_kernel_report(akg_module_kernel_at(module, i), AKG_FORMAT_TEXT, &text));
        akg_free(text);
    }
    akg_module_release(module);
    ATTEMPT(program_status, jit_emit(&source, AKG_STAGE_C, NULL, NULL, 0, &text, &diagnostics));
    akg_free(text);
}

static void travel(const char *name, void (*journey)(void), long most);

static void travel_folder(const char *folder, long most)
{
    DIR *open = opendir(folder);
    struct dirent *entry;
    char path[512];

    if (!CHECK(open != NULL))
        return;
    while ((entry = readdir(open))) {
        size_t length = strlen(entry->d_name);
        jit_source source = {.name = path};
        akg_module *module;
        if (length < 4 || strcmp(entry->d_name + length - 4, ".akg") != 0 || length % EVERY)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        program_path = path;
        program_status = jit_compile(&source, NULL, &module, NULL);
        akg_module_release(module);
        CHECK(program_status == AKG_OK || program_status == AKG_ERROR_PROGRAM);
        travel(path, journey_of_program, most);
    }
    closedir(open);
}

/* ---- all failures ------------------------------------------------------------------------------ */

static void travel(const char *name, void (*journey)(void), long most)
{
    long count = 0, tried = 0;
    double step = 1;

    memory_fail_after(-1);
    journey(); /* nothing fails */
#ifdef AKG_FAULT_INJECTION
    memory_fail_after(1000000000);
    journey();
    count = 1000000000 - memory_fail_remaining();
    if (most && count > most)
        step = (double)count / (double)most;
    for (double at = 0; at < (double)count; at += step, tried++) {
        memory_fail_after((long)at);
        journey();
        CHECK(memory_fail_remaining() < 0);
        memory_fail_after(-1);
    }
#endif
    (void)step, (void)most;
    printf("ok %s: %ld of %ld failures\n", name, tried, count);
}

static void write_program(void)
{
    FILE *file = fopen("journey.akg", "wb");
    CHECK(file && fputs(good_text, file) >= 0 && fclose(file) == 0);
}

int main(int argc, char **argv)
{
    long most = argc > 1 ? atol(argv[1]) : 150;

    write_program();
    travel("files", journey_of_files, 0);
    travel("calls", journey_of_calls, most);
    travel("errors", journey_of_errors, most);
    travel("stages", journey_of_stages, most);
    travel("language", journey_of_languages, most);
    unlink("journey.akg");
    travel_folder("tests/../examples", most / EACH_PROGRAM);
    travel_folder("tests/kernels", most / EACH_PROGRAM);
    travel_folder("tests/errors", most / EACH_PROGRAM);
    return check_done();
}
