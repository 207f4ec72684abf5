/*
 * latency.c: from source text to a callable kernel, stage by stage, and the cost of a call of
 * compiled code. Prints medians; asserts nothing (timings are no tests). Run by `make bench`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../jit/analysis.h"
#include "../jit/emit_c.h"
#include "../jit/pipeline.h"

#define ROUNDS 400
#define CALLS 20000

/* 20 lines, three loop nests: what a hand-written kernel looks like. */
static const char program[] = "def layer(x, w, bias):\n"
                              "    m, k = x.shape\n"
                              "    n = w.shape[1]\n"
                              "    h = allocate((m, n), x.dtype)\n"
                              "    y = output_tensor((m, n), x.dtype)\n"
                              "    for i in range(m):\n"
                              "        for j in range(n):\n"
                              "            acc = 0.0\n"
                              "            for p in range(k):\n"
                              "                acc += x[i, p] * w[p, j]\n"
                              "            h[i, j] = max(acc + bias[j], 0)\n"
                              "    for i in range(m):\n"
                              "        top = h[i, 0]\n"
                              "        for j in range(1, n):\n"
                              "            top = max(top, h[i, j])\n"
                              "        total = 0.0\n"
                              "        for j in range(n):\n"
                              "            total += exp(h[i, j] - top)\n"
                              "        for j in range(n):\n"
                              "            y[i, j] = exp(h[i, j] - top) / total\n"
                              "    return y\n";

static const char small[] = "def scale(a, b, c, d, e, f, g, h, alpha=0.5):\n"
                            "    for i in range(a.shape[0]):\n"
                            "        a[i] = a[i] * alpha\n"
                            "    return a\n";

enum stage {
    STAGE_SCAN,
    STAGE_PARSE,
    STAGE_NAMES,
    STAGE_ELABORATE,
    STAGE_ANALYSES,
    STAGE_PASSES,
    STAGE_EMIT,
    STAGE_TCC,
    STAGE_TOTAL,
    STAGE_PUBLIC,
    STAGE_CACHED,
    STAGE_EIGHT,
    STAGE_ODD,
    STAGE_SIXTY_FOUR,
    STAGE_LARGE,
    STAGE_ANY,
    STAGE_SECOND,
    STAGE_COUNT
};

static const char *const stage_names[STAGE_COUNT] = {"scan and lay out",
                                                     "scan, lay out, parse",
                                                     "names and structure",
                                                     "elaborate",
                                                     "verify and analyses",
                                                     "passes",
                                                     "emit C",
                                                     "libtcc",
                                                     "all stages once",
                                                     "jit_compile and first call",
                                                     "the same, the glue from disk",
                                                     "of 8 x 8 by 8",
                                                     "of 33 x 20 by 47",
                                                     "of 64 x 64 by 64",
                                                     "of 200 x 200 by 200",
                                                     "for any shape",
                                                     "a call with another shape"};

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static void fail(const char *what)
{
    fprintf(stderr, "latency: %s failed\n", what);
    exit(1);
}

/* Once through the stages, each timed. */
static void time_stages(double *times)
{
    struct dsl_source source = {"latency.akg", program, sizeof program - 1};
    struct dsl_argument arguments[3] = {
        {.kind = DSL_TENSOR, .dtype = AKG_FLOAT32, .rank = 2, .contiguous = true},
        {.kind = DSL_TENSOR, .dtype = AKG_FLOAT32, .rank = 2, .contiguous = true},
        {.kind = DSL_TENSOR, .dtype = AKG_FLOAT32, .rank = 1, .contiguous = true}};
    struct elaborate_result result = {0};
    struct token_list tokens = {0};
    struct emit_c_options options = {.entry = "entry"};
    struct passes_options passes = {.verify = false};
    struct backend_code code = {0};
    struct jit_sites sites = {0};
    struct ast_module *tree;
    struct text text, complaint;
    struct arena arena;
    jmp_buf escape;
    akg_diagnostics *diagnostics = diagnostics_create("latency.akg", program, sizeof program - 1);
    double start = now_us(), at = start, next;

    if (setjmp(escape))
        fail("memory");
    arena_init(&arena, &escape);
    parse_tokens(&arena, &source, &tokens, diagnostics);
    times[STAGE_SCAN] = (next = now_us()) - at;
    at = start = next;
    tree = parse_module(&arena, &source, diagnostics);
    times[STAGE_PARSE] = (next = now_us()) - at;
    at = next;
    names_resolve(&arena, tree, diagnostics);
    times[STAGE_NAMES] = (next = now_us()) - at;
    at = next;
    elaborate(&arena, tree, tree->functions, arguments, false, pipeline_evaluate, &result, diagnostics);
    if (!result.kernel)
        fail("elaborate");
    times[STAGE_ELABORATE] = (next = now_us()) - at;
    at = next;
    text_init(&complaint);
    ir_verify(result.kernel, &complaint);
    analysis_bounds(result.kernel);
    analysis_initialisation(result.kernel, diagnostics);
    analysis_hints(result.kernel, diagnostics);
    times[STAGE_ANALYSES] = (next = now_us()) - at;
    at = next;
    passes_run(result.kernel, &passes, &complaint);
    sites_number(result.kernel, &sites);
    times[STAGE_PASSES] = (next = now_us()) - at;
    at = next;
    text_init(&text);
    emit_c(&text, result.kernel, &options, &complaint);
    times[STAGE_EMIT] = (next = now_us()) - at;
    at = next;
    if (backend_tcc_compile(text.data, "entry", NULL, &code, diagnostics) != AKG_OK)
        fail("libtcc");
    times[STAGE_TCC] = (next = now_us()) - at;
    times[STAGE_TOTAL] = next - start;
    backend_tcc_free(&code);
    text_free(&text);
    text_free(&complaint);
    arena_free(&arena);
    akg_diagnostics_free(diagnostics);
}

static void set_tensor(akg_argument *argument, akg_tensor *tensor)
{
    memset(argument, 0, sizeof *argument);
    argument->kind = AKG_ARGUMENT_TENSOR;
    argument->as.tensor = tensor;
}

/* The arguments of a call of `layer`: m x k by k x n. */
struct layer {
    akg_tensor *tensors[3];
    akg_argument arguments[3];
};

static struct layer layer_of(int64_t m, int64_t k, int64_t n)
{
    struct layer layer;

    akg_tensor_create(AKG_FLOAT32, 2, (int64_t[]){m, k}, &layer.tensors[0]);
    akg_tensor_create(AKG_FLOAT32, 2, (int64_t[]){k, n}, &layer.tensors[1]);
    akg_tensor_create(AKG_FLOAT32, 1, &n, &layer.tensors[2]);
    for (int i = 0; i < 3; i++) {
        akg_tensor_fill_normal(layer.tensors[i], (uint64_t)i + 1);
        set_tensor(&layer.arguments[i], layer.tensors[i]);
    }
    return layer;
}

static void layer_free(struct layer *layer)
{
    for (int i = 0; i < 3; i++)
        akg_tensor_release(layer->tensors[i]);
}

static void call_layer(akg_module *module, const struct layer *layer)
{
    akg_tensor *outputs[1] = {NULL};

    if (akg_kernel_call(akg_module_kernel(module, "layer"), layer->arguments, 3, NULL, outputs, NULL) !=
        AKG_OK)
        fail("call");
    akg_tensor_release(outputs[0]);
}

/* What a user sees: text in, first result out; and, where there is a second shape, that of it then. */
static double time_public(const jit_options *options, const struct layer *layer, const struct layer *second)
{
    jit_source source = {"latency.akg", program, sizeof program - 1};
    akg_module *module;
    double start = now_us(), time;

    if (jit_compile(&source, options, &module, NULL) != AKG_OK)
        fail("jit_compile");
    call_layer(module, layer);
    if (second) {
        start = now_us();
        call_layer(module, second);
    }
    time = now_us() - start;
    akg_module_release(module);
    return time;
}

static double time_dispatch(void)
{
    static double samples[31];
    jit_source source = {"small.akg", small, sizeof small - 1};
    akg_argument arguments[9];
    akg_tensor *tensors[8], *outputs[1];
    int64_t shape[1] = {0};
    akg_module *module;
    akg_kernel *kernel;

    if (jit_compile(&source, NULL, &module, NULL) != AKG_OK)
        fail("jit_compile");
    kernel = akg_module_kernel(module, "scale");
    for (int i = 0; i < 8; i++) {
        akg_tensor_create(AKG_FLOAT32, 1, shape, &tensors[i]);
        set_tensor(&arguments[i], tensors[i]);
    }
    memset(&arguments[8], 0, sizeof arguments[8]);
    arguments[8].kind = AKG_ARGUMENT_FLOAT;
    arguments[8].as.real = 0.25;
    for (int sample = 0; sample < 31; sample++) {
        double start = now_us();
        for (int i = 0; i < CALLS; i++) {
            outputs[0] = tensors[0];
            if (akg_kernel_call(kernel, arguments, 9, NULL, outputs, NULL) != AKG_OK)
                fail("call");
        }
        samples[sample] = (now_us() - start) * 1e3 / CALLS;
    }
    for (int i = 0; i < 8; i++)
        akg_tensor_release(tensors[i]);
    akg_module_release(module);
    return median(samples, 31);
}

int main(void)
{
    static double times[STAGE_COUNT][ROUNDS];
    const jit_options uncached = {.cache = "off"}, any = {.cache = "off", .any_shape = true};
    struct layer four = layer_of(4, 4, 4), eight = layer_of(8, 8, 8), odd = layer_of(33, 20, 47),
                 sixty_four = layer_of(64, 64, 64), large = layer_of(200, 200, 200);

    for (int round = 0; round < ROUNDS; round++) {
        double stages[STAGE_COUNT];
        time_stages(stages);
        stages[STAGE_PUBLIC] = time_public(&uncached, &four, NULL);
        stages[STAGE_CACHED] = time_public(NULL, &four, NULL);
        for (int i = 0; i <= STAGE_CACHED; i++)
            times[i][round] = stages[i];
    }
    /* each for itself, as before: what another one leaves in the caches is not what it needs */
    for (int round = 0; round < ROUNDS; round++)
        times[STAGE_EIGHT][round] = time_public(&uncached, &eight, NULL);
    for (int round = 0; round < ROUNDS; round++)
        times[STAGE_ODD][round] = time_public(&uncached, &odd, NULL);
    for (int round = 0; round < ROUNDS; round++)
        times[STAGE_SIXTY_FOUR][round] = time_public(&uncached, &sixty_four, NULL);
    for (int round = 0; round < ROUNDS; round++)
        times[STAGE_LARGE][round] = time_public(&uncached, &large, NULL);
    for (int round = 0; round < ROUNDS; round++)
        times[STAGE_ANY][round] = time_public(&any, &four, NULL);
    for (int round = 0; round < ROUNDS; round++)
        times[STAGE_SECOND][round] = time_public(&uncached, &four, &eight);
    printf("kernel of 20 lines, median of %d, in microseconds\n", ROUNDS);
    for (int i = 0; i < STAGE_COUNT; i++)
        printf("  %-28s %8.1f\n", stage_names[i], median(times[i], ROUNDS));
    printf("dispatch of a compiled kernel, 8 tensors and a scalar: %.0f ns\n", time_dispatch());
    layer_free(&four);
    layer_free(&eight);
    layer_free(&odd);
    layer_free(&sixty_four);
    layer_free(&large);
    return 0;
}
