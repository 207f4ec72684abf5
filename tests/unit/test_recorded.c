/*
 * test_recorded.c: recorded graphs: the same bits as calls one by one, forward and backward, for extents that
 * change; memory that is shared; weights that are written; threads, and every allocation failing.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../../base/memory.h"
#include "recorded_support.h"
#include "refused.h"

#ifndef AKG_FAULT_INJECTION
#define memory_fail_after(count) ((void)(count))
#define memory_fail_remaining() (0L)
#endif

static const char program[] = "def blend(x, w, b):\n"
                              "    n = x.shape[0]\n"
                              "    y = gelu(linear(layer_norm(x), w, b))\n"
                              "    return mean(y * (1.0 / n), (1,)) + sum(x) / (n * 3.0)\n"
                              "\n"
                              "def decided(x):\n"
                              "    h = tanh(x)\n"
                              "    if x.shape[1] < 5:\n"
                              "        h = h * exp(h)\n"
                              "    return h\n"
                              "\n"
                              "def square(x):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for p in grid(x.shape):\n"
                              "        y[p] = x[p] * x[p]\n"
                              "    return y\n"
                              "\n"
                              "@bprop(square)\n"
                              "def square_bprop(x, out, dout):\n"
                              "    return (2.0 * x * dout,)\n"
                              "\n"
                              "def nested(x: T[A, B, C]):\n"
                              "    y = output_tensor((A, B, C), x.dtype)\n"
                              "    for i in range(A):\n"
                              "        for j in range(B):\n"
                              "            for k in range(C):\n"
                              "                y[i, j, k] = x[i, j, k] * x[i, j, k]\n"
                              "    return y\n";

struct bench {
    akg_module *module;
    akg_registry *registry;
    akg_tape *tape;
    akg_tensor *weight, *bias, *filters;
};

static bool bench_begin(struct bench *bench)
{
    bench->module = api_compile(program);
    bench->weight = tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){6, 8}, 1);
    bench->bias = tensor_of_normal(AKG_FLOAT32, 1, (int64_t[]){6}, 2);
    bench->filters = tensor_of_normal(AKG_FLOAT32, 4, (int64_t[]){3, 2, 3, 3}, 3);
    return bench->module && akg_registry_create(&bench->registry) == AKG_OK &&
           akg_registry_add_module(bench->registry, bench->module, NULL) == AKG_OK &&
           akg_tape_create(bench->registry, &bench->tape) == AKG_OK &&
           akg_tensor_set_requires_grad(bench->weight, true, NULL) == AKG_OK &&
           akg_tensor_set_requires_grad(bench->bias, true, NULL) == AKG_OK &&
           akg_tensor_set_requires_grad(bench->filters, true, NULL) == AKG_OK;
}

static void bench_end(struct bench *bench)
{
    akg_tensor_release(bench->weight);
    akg_tensor_release(bench->bias);
    akg_tensor_release(bench->filters);
    akg_tape_release(bench->tape);
    akg_registry_release(bench->registry);
    akg_module_release(bench->module);
}

/* ---- computations ------------------------------------------------------------------------------- */

/* Layers, activations, a loss over classes. */
NET(net_layers)
{
    const struct bench *bench = user;
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *h = calls_make(&calls, "linear",
                               (akg_argument[]){api_tensor(NULL, inputs[0]), api_tensor(NULL, bench->weight),
                                                api_tensor(NULL, bench->bias)},
                               3);

    (void)input_count;
    h = calls_two(&calls, "multiply", calls_one(&calls, "tanh", h), calls_one(&calls, "sigmoid", h));
    h = calls_two(&calls, "add", calls_one(&calls, "gelu", h), calls_one(&calls, "softmax", h));
    return calls_end(&calls, calls_two(&calls, "cross_entropy", h, inputs[1]), &outputs[0]);
}

/* Elementwise chains with broadcast operands, whose gradients are summed. */
NET(net_chain)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *h = calls_two(&calls, "multiply", inputs[0], inputs[1]);

    (void)user, (void)input_count;
    h = calls_two(&calls, "add", h, inputs[0]);
    h = calls_make(&calls, "multiply", (akg_argument[]){api_tensor(NULL, h), api_real(NULL, 0.5)}, 2);
    h = calls_two(&calls, "subtract", calls_one(&calls, "exp", calls_one(&calls, "neg", h)), h);
    h = calls_two(&calls, "add", h, inputs[1]);
    return calls_end(&calls, calls_one(&calls, "square", h), &outputs[0]);
}

/* Images of any size. */
NET(net_images)
{
    const struct bench *bench = user;
    const int64_t padding[] = {1, 1};
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *h = calls_make(&calls, "conv2d",
                               (akg_argument[]){api_tensor(NULL, inputs[0]), api_tensor(NULL, bench->filters),
                                                api_ints("padding", padding, 2)},
                               3);

    (void)input_count;
    h = calls_one(&calls, "max_pool2d", calls_one(&calls, "relu", h));
    return calls_end(&calls, calls_one(&calls, "mean", h), &outputs[0]);
}

/* A graph function whose numbers hang on an extent. */
NET(net_blend)
{
    const struct bench *bench = user;
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *y = calls_make(&calls, "blend",
                               (akg_argument[]){api_tensor(NULL, inputs[0]), api_tensor(NULL, bench->weight),
                                                api_tensor(NULL, bench->bias)},
                               3);

    (void)input_count;
    return calls_end(&calls, y, &outputs[0]);
}

/* A graph function whose calls hang on an extent. */
NET(net_decided)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};

    (void)user, (void)input_count;
    return calls_end(&calls, calls_one(&calls, "decided", inputs[0]), &outputs[0]);
}

/* A computation, and the gradient of its output by input 0 and the weights it uses. */
struct model {
    const char *what;
    akg_net net;
    const char *inputs[2];
    size_t input_count, parameter_count;
    struct bench *bench;
    akg_tensor *parameters[2];
};

enum { MODEL_OUTPUTS = 4 };

NET(net_gradients)
{
    const struct model *model = user;
    const size_t position = 0;
    const akg_value_and_grad_request request = {.net = model->net,
                                                .user = model->bench,
                                                .inputs = inputs,
                                                .input_count = input_count,
                                                .output_count = 1,
                                                .positions = &position,
                                                .position_count = 1,
                                                .parameters = model->parameters,
                                                .parameter_count = model->parameter_count};

    return akg_value_and_grad(tape, &request, &outputs[0], &outputs[1], &outputs[2], diagnostics);
}

static void compare(const struct model *model, akg_graph *graph, akg_tensor *const *inputs, akg_net net)
{
    akg_tensor *replayed[MODEL_OUTPUTS] = {NULL}, *eager[MODEL_OUTPUTS] = {NULL};
    size_t count = akg_graph_output_count(graph);
    akg_diagnostics *diagnostics;
    akg_status status = net(model->bench->tape, net == net_gradients ? (void *)model : model->bench, inputs,
                            model->input_count, eager, &diagnostics);

    if (!CHECK(status == AKG_OK))
        complain(model->what, diagnostics);
    for (int run = 0; run < 2; run++) {
        if (!CHECK(akg_graph_run(graph, inputs, replayed, &diagnostics) == AKG_OK))
            complain(model->what, diagnostics);
        for (size_t i = 0; i < count; i++)
            if (!CHECK(replayed[i] && api_same(replayed[i], eager[i])))
                fprintf(stderr, "    %s: output %zu\n", model->what, i);
        tensors_release(replayed, count);
    }
    tensors_release(eager, count);
}

/* Extents for the symbols, in order of their names. */
static void run_model(struct model *model, akg_tensor *(*input)(int index, const int64_t *extents))
{
    static const int64_t extents[][2] = {{5, 7}, {1, 4}, {64, 33}, {5, 7}, {130, 130}};
    akg_graph *graphs[2];
    akg_diagnostics *diagnostics;

    for (int i = 0; i < 2; i++)
        if (!CHECK(akg_graph_record(model->bench->tape, i ? net_gradients : model->net,
                                    i ? (void *)model : model->bench, model->inputs, model->input_count,
                                    i ? 2 + model->parameter_count : 1, &graphs[i], &diagnostics) == AKG_OK))
            complain(model->what, diagnostics);
    for (size_t k = 0; k < API_COUNT(extents); k++) {
        akg_tensor *inputs[2] = {input(0, extents[k]), input(1, extents[k])};
        for (int i = 0; i < 2 && graphs[i]; i++)
            compare(model, graphs[i], inputs, i ? net_gradients : model->net);
        tensors_release(inputs, 2);
    }
    for (int i = 0; i < 2; i++)
        akg_graph_release(graphs[i]);
}

static akg_tensor *rows_and_classes(int index, const int64_t *extents)
{
    akg_tensor *classes;

    if (index == 0)
        return tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){extents[0], 8}, 9);
    akg_tensor_create(AKG_INT64, 1, extents, &classes);
    for (int64_t i = 0; i < extents[0]; i++)
        akg_tensor_set(classes, &i, (double)(i % 6));
    return classes;
}

static akg_tensor *rows_and_row(int index, const int64_t *extents)
{
    return index == 0 ? tensor_of_normal(AKG_FLOAT32, 2, extents, 5)
                      : tensor_of_normal(AKG_FLOAT32, 1, extents + 1, 6);
}

static akg_tensor *images(int index, const int64_t *extents)
{
    return index == 0 ? tensor_of_normal(AKG_FLOAT32, 4, (int64_t[]){2, 2, extents[0] + 1, extents[1]}, 8)
                      : NULL;
}

static akg_tensor *rows(int index, const int64_t *extents)
{
    return index == 0 ? tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){extents[0], 8}, 4) : NULL;
}

static void test_models(struct bench *bench)
{
    struct model layers = {.what = "layers",
                           .net = net_layers,
                           .inputs = {"float32[N, 8]", "int64[N]"},
                           .input_count = 2,
                           .parameter_count = 2,
                           .bench = bench,
                           .parameters = {bench->weight, bench->bias}};
    struct model chain = {.what = "chain",
                          .net = net_chain,
                          .inputs = {"float32[M, N]", "float32[ N ]"},
                          .input_count = 2,
                          .bench = bench};
    struct model of_images = {.what = "images",
                              .net = net_images,
                              .inputs = {"float32[2,2,H,W]"},
                              .input_count = 1,
                              .parameter_count = 1,
                              .bench = bench,
                              .parameters = {bench->filters}};
    struct model blend = {.what = "blend",
                          .net = net_blend,
                          .inputs = {"float32[BATCH, 8]"},
                          .input_count = 1,
                          .parameter_count = 2,
                          .bench = bench,
                          .parameters = {bench->weight, bench->bias}};

    run_model(&layers, rows_and_classes);
    run_model(&chain, rows_and_row);
    run_model(&of_images, images);
    run_model(&blend, rows);
}

/* ---- weights that are written, memory ------------------------------------------------------------- */

/* One step of training: the weight is written in place. */
NET(net_step)
{
    const struct bench *bench = user;
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *loss = calls_one(
        &calls, "mean",
        calls_one(&calls, "square",
                  calls_make(&calls, "linear",
                             (akg_argument[]){api_tensor(NULL, inputs[0]), api_tensor(NULL, bench->weight)},
                             2)));
    akg_tensor *gradient = NULL;

    (void)input_count;
    if (calls.status == AKG_OK)
        calls.status = akg_gradients(tape, &loss, NULL, 1, &bench->weight, 1, NULL, &gradient, diagnostics);
    bool before = akg_tape_set_recording(tape, false);
    calls_make(
        &calls, "sgd",
        (akg_argument[]){api_tensor(NULL, bench->weight), api_tensor(NULL, gradient), api_real("rate", 0.1)},
        3);
    akg_tape_set_recording(tape, before);
    akg_tensor_release(gradient);
    return calls_end(&calls, loss, &outputs[0]);
}

static void test_training(struct bench *bench)
{
    const char *input = "float32[N, 8]";
    akg_tensor *x = rows(0, (int64_t[]){20}), *start, *loss = NULL, *replayed = NULL, *after;
    akg_graph *graph = NULL;

    akg_tensor_copy(bench->weight, &start);
    CHECK(akg_graph_record(bench->tape, net_step, bench, &input, 1, 1, &graph, NULL) == AKG_OK);
    CHECK(api_same(bench->weight, start)); /* recording writes nothing */
    for (int i = 0; i < 3; i++) {
        akg_tensor_release(loss);
        loss = NULL;
        CHECK(net_step(bench->tape, bench, &x, 1, &loss, NULL) == AKG_OK);
    }
    akg_tensor_copy(bench->weight, &after);
    CHECK(!api_same(after, start));
    memcpy(akg_tensor_data(bench->weight), akg_tensor_data(start),
           (size_t)akg_tensor_element_count(start) * sizeof(float));
    for (int i = 0; i < 3; i++) {
        akg_tensor_release(replayed);
        replayed = NULL;
        CHECK(akg_graph_run(graph, &x, &replayed, NULL) == AKG_OK);
    }
    CHECK(loss && replayed && api_same(loss, replayed));
    CHECK(api_same(bench->weight, after));
    akg_graph_release(graph);
    tensors_release((akg_tensor *[]){x, start, loss, replayed, after}, 5);
}

static akg_graph_measures measures_of(const struct model *model, akg_tensor *const *inputs, size_t outputs)
{
    akg_tensor *made[MODEL_OUTPUTS] = {NULL};
    akg_graph_measures measures = {0};
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(model->bench->tape, net_gradients, (void *)model, model->inputs,
                           model->input_count, outputs, &graph, NULL) == AKG_OK);
    CHECK(!akg_graph_measure(graph, &measures));
    CHECK(akg_graph_run(graph, inputs, made, NULL) == AKG_OK);
    CHECK(akg_graph_measure(graph, &measures));
    tensors_release(made, outputs);
    akg_graph_release(graph);
    return measures;
}

static void test_memory(struct bench *bench)
{
    const struct model chain = {
        .net = net_chain, .bench = bench, .inputs = {"float32[N]", "float32[N]"}, .input_count = 2};
    const struct model layers = {.net = net_layers,
                                 .bench = bench,
                                 .inputs = {"float32[N, 8]", "int64[N]"},
                                 .input_count = 2,
                                 .parameter_count = 2,
                                 .parameters = {bench->weight, bench->bias}};
    akg_tensor *given[2] = {api_vector(AKG_FLOAT32, 1000, 0, 0.001), api_vector(AKG_FLOAT32, 1000, 1, 0)};
    akg_tensor *labelled[2] = {rows_and_classes(0, (int64_t[]){300}), rows_and_classes(1, (int64_t[]){300})};
    akg_graph_measures measures = measures_of(&chain, given, 2);

    CHECK(measures.calls > 12 && measures.steps <= 4); /* one shape: forward, ones, backward */
    measures = measures_of(&layers, labelled, MODEL_OUTPUTS);
    CHECK(measures.steps < measures.calls);
    CHECK(measures.workspace_bytes * 3 < measures.separate_bytes * 2);
    tensors_release(given, 2);
    tensors_release(labelled, 2);
}

/* ---- calls that become one ----------------------------------------------------------------------- */

/* A net of calls that go element by element, from a seed: `user`. */
NET(net_random)
{
    static const char *const of_one[] = {"exp", "tanh", "neg", "sigmoid", "relu", "gelu", "abs", "cos"};
    static const char *const of_two[] = {"add", "multiply", "subtract", "maximum", "minimum", "divide"};
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    uint64_t state = *(const uint64_t *)user;
    akg_tensor *made[32];
    int count = 0;

    for (size_t i = 0; i < input_count; i++)
        made[count++] = inputs[i];
    for (int i = 0; i < 14; i++) {
        unsigned pick = (unsigned)((state = state * 6364136223846793005u + 1442695040888963407u) >> 33);
        akg_tensor *a = made[pick / 64 % (unsigned)count], *b = made[pick / 4096 % (unsigned)count];
        switch (pick % 8) {
        case 0:
        case 1:
        case 2:
            made[count++] = calls_one(&calls, of_one[pick / 8 % 8], a);
            break;
        case 3:
            made[count++] = calls_make(&calls, of_two[pick / 8 % 4],
                                       (akg_argument[]){api_tensor(NULL, a), api_real(NULL, 0.75)}, 2);
            break;
        case 4:
            made[count++] = calls_make(&calls, "where",
                                       (akg_argument[]){api_tensor(NULL, calls_two(&calls, "greater", a, b)),
                                                        api_tensor(NULL, a), api_tensor(NULL, b)},
                                       3);
            break;
        default:
            made[count++] = calls_two(&calls, of_two[pick / 8 % 6], a, b);
        }
    }
    for (int i = 0; i < 2; i++)
        outputs[i] = akg_tensor_retain(made[count - 2 + i]);
    return calls_end(&calls, made[count - 3], &outputs[2]);
}

static void test_random(struct bench *bench)
{
    static const int64_t extents[][2] = {{3, 5}, {33, 17}, {1, 70}};
    const char *forms[] = {"float32[M, N]", "float32[M, N]", "float32[N]", "float32[M, 1]", "float32[]"};
    size_t fused = 0;

    for (uint64_t seed = 1; seed <= 24; seed++) {
        akg_graph *graph = NULL;
        akg_diagnostics *diagnostics;
        if (!CHECK(akg_graph_record(bench->tape, net_random, &seed, forms, 5, 3, &graph, &diagnostics) ==
                   AKG_OK))
            complain("random", diagnostics);
        for (size_t k = 0; graph && k < API_COUNT(extents); k++) {
            int64_t m = extents[k][0], n = extents[k][1];
            akg_tensor *inputs[5] = {tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){m, n}, seed),
                                     tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){m, n}, seed + 1),
                                     tensor_of_normal(AKG_FLOAT32, 1, &n, seed + 2),
                                     tensor_of_normal(AKG_FLOAT32, 2, (int64_t[]){m, 1}, seed + 3),
                                     tensor_of_normal(AKG_FLOAT32, 0, NULL, seed + 4)};
            akg_tensor *eager[3] = {NULL}, *replayed[3] = {NULL};
            akg_graph_measures measures;
            CHECK(net_random(bench->tape, &seed, inputs, 5, eager, NULL) == AKG_OK);
            CHECK(akg_graph_run(graph, inputs, replayed, NULL) == AKG_OK);
            for (int i = 0; i < 3; i++)
                if (!CHECK(replayed[i] && api_same(eager[i], replayed[i])))
                    fprintf(stderr, "    seed %d, output %d of %d x %d\n", (int)seed, i, (int)m, (int)n);
            akg_graph_measure(graph, &measures);
            fused += measures.steps < measures.calls;
            tensors_release(eager, 3);
            tensors_release(replayed, 3);
            tensors_release(inputs, 5);
        }
        akg_graph_release(graph);
    }
    CHECK(fused > 24);
}

NET(net_nested)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *h = calls_one(&calls, "nested", inputs[0]);

    (void)user, (void)input_count;
    return calls_end(&calls, calls_one(&calls, "nested", calls_one(&calls, "nested", h)), &outputs[0]);
}

/* Nested loops are joined for axes of one element too. (What is recorded is as large as all extents that have
 * a name together, and the thread sanitizer writes all of it.) */
static void test_nested(struct bench *bench)
{
    static const struct {
        const char *form;
        int64_t shape[3];
    } cases[] = {
        {"float32[A, 4, 5]", {2, 4, 5}}, {"float32[A, 4, 5]", {1, 4, 5}}, {"float32[3, B, 7]", {3, 1, 7}}};
    const struct model model = {.what = "nested", .bench = bench, .input_count = 1};

    for (size_t i = 0; i < API_COUNT(cases); i++) {
        akg_tensor *input = tensor_of_normal(AKG_FLOAT32, 3, cases[i].shape, i);
        const char *form = cases[i].form;
        akg_graph_measures measures;
        akg_graph *graph = NULL;
        CHECK(akg_graph_record(bench->tape, net_nested, NULL, &form, 1, 1, &graph, NULL) == AKG_OK);
        if (graph) {
            compare(&model, graph, &input, net_nested);
            CHECK(akg_graph_measure(graph, &measures) && measures.calls == 3 && measures.steps == 1);
        }
        akg_tensor_release(input);
        akg_graph_release(graph);
    }
}

/* Outputs that are inputs, tensors of the program, or given twice; and what nobody needs. */
NET(net_same)
{
    const struct bench *bench = user;
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *y = calls_one(&calls, "exp", inputs[0]);

    (void)input_count;
    calls_one(&calls, "log", inputs[0]);
    outputs[0] = akg_tensor_retain(inputs[0]);
    outputs[1] = akg_tensor_retain(bench->bias);
    if (y)
        outputs[2] = akg_tensor_retain(y);
    return calls_end(&calls, y, &outputs[3]);
}

static void test_outputs(struct bench *bench)
{
    const char *input = "float32[N]";
    akg_tensor *x = api_vector(AKG_FLOAT32, 9, 0, 0.25), *outputs[4] = {NULL}, *expected = NULL, *own;
    akg_tensor *strided = NULL, *wrong = api_vector(AKG_FLOAT32, 8, 0, 1);
    akg_diagnostics *diagnostics;
    akg_graph_measures measures;
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(bench->tape, net_same, bench, &input, 1, 4, &graph, NULL) == AKG_OK);
    outputs[3] = own = api_vector(AKG_FLOAT32, 9, 0, 0);
    CHECK(akg_graph_run(graph, &x, outputs, NULL) == AKG_OK);
    CHECK(outputs[0] != x && api_same(outputs[0], x));
    CHECK(outputs[1] != bench->bias && api_same(outputs[1], bench->bias));
    CHECK(outputs[3] == own && outputs[2] != own && api_same(outputs[2], own));
    CHECK(akg_graph_measure(graph, &measures) && measures.calls == 2 && measures.steps == 1);
    expected = akg_tensor_retain(own);
    tensors_release(outputs, 4);
    akg_tensor_view(x, 1, (int64_t[]){9}, (int64_t[]){1}, 0, &strided);
    outputs[2] = akg_tensor_retain(strided); /* an output over an input */
    CHECK(akg_graph_run(graph, &x, outputs, &diagnostics) == AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "graph-output");
    CHECK(api_says(diagnostics, "output 2 of the graph"));
    akg_diagnostics_free(diagnostics);
    tensors_release(outputs, 4);
    outputs[1] = akg_tensor_retain(wrong);
    CHECK(akg_graph_run(graph, &x, outputs, &diagnostics) == AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "graph-output");
    akg_diagnostics_free(diagnostics);
    CHECK(!outputs[0] && outputs[1] == wrong);
    tensors_release(outputs, 4);
    tensors_release((akg_tensor *[]){x, expected, strided, wrong}, 4);
    akg_graph_release(graph);
}

NET(net_exp)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};

    (void)user, (void)input_count;
    return calls_end(&calls, calls_one(&calls, "exp", inputs[0]), &outputs[0]);
}

/* Extents that stand for symbols make tensors that no machine holds; nobody looks at these. */
static void test_large(struct bench *bench)
{
    const char *input = "float64[N, C, D, H, W]";
    akg_tensor *x = tensor_of_normal(AKG_FLOAT64, 5, (int64_t[]){2, 1, 3, 2, 2}, 3), *outputs[2] = {NULL};
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(bench->tape, net_exp, NULL, &input, 1, 1, &graph, NULL) == AKG_OK);
    CHECK(graph && akg_graph_run(graph, &x, outputs, NULL) == AKG_OK);
    CHECK(net_exp(bench->tape, NULL, &x, 1, &outputs[1], NULL) == AKG_OK);
    CHECK(outputs[0] && outputs[1] && api_same(outputs[0], outputs[1]));
    tensors_release(outputs, 2);
    akg_tensor_release(x);
    akg_graph_release(graph);
}

/* ---- functions that decide by extents --------------------------------------------------------------- */

/* Forward such a function decides anew for each run; a gradient is of the calls that were recorded, and there
 * is none for extents that come to others. */
static void test_decided(struct bench *bench)
{
    static const int64_t shapes[][2] = {{3, 7}, {3, 4}, {2, 5}, {6, 1}};
    struct model model = {
        .what = "decided", .net = net_decided, .inputs = {"float32[M, N]"}, .input_count = 1, .bench = bench};
    akg_graph *forward = NULL, *gradient = NULL;

    CHECK(akg_graph_record(bench->tape, net_decided, bench, model.inputs, 1, 1, &forward, NULL) == AKG_OK);
    CHECK(akg_graph_record(bench->tape, net_gradients, &model, model.inputs, 1, 2, &gradient, NULL) ==
          AKG_OK);
    for (size_t i = 0; i < API_COUNT(shapes) && forward && gradient; i++) {
        akg_tensor *input = tensor_of_normal(AKG_FLOAT32, 2, shapes[i], i), *output = NULL;
        compare(&model, forward, &input, net_decided);
        if (shapes[i][1] < 5) {
            REFUSED(akg_graph_run(gradient, &input, &output, &diagnostics), AKG_ERROR_CALL, "graph-differs",
                    "other calls");
            CHECK(!output);
        } else {
            compare(&model, gradient, &input, net_gradients);
        }
        akg_tensor_release(input);
    }
    akg_graph_release(forward);
    akg_graph_release(gradient);
}

/* ---- memory that runs out ------------------------------------------------------------------------------ */

/* Few calls, of which two become one. */
NET(net_step_of_linear)
{
    const struct bench *bench = user;
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *h = calls_make(&calls, "linear",
                               (akg_argument[]){api_tensor(NULL, inputs[0]), api_tensor(NULL, bench->weight),
                                                api_tensor(NULL, bench->bias)},
                               3);

    (void)input_count;
    return calls_end(&calls, calls_one(&calls, "relu", calls_one(&calls, "neg", h)), &outputs[0]);
}

static bool journey(struct bench *bench, long allowed)
{
    struct model model = {.net = net_step_of_linear,
                          .bench = bench,
                          .parameter_count = 2,
                          .parameters = {bench->weight, bench->bias}};
    const char *form = "float32[N, 8]";
    akg_tensor *input = rows(0, (int64_t[]){4});
    akg_tensor *outputs[MODEL_OUTPUTS] = {NULL};
    akg_graph *graph = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status;
    bool struck;

    memory_fail_after(allowed);
    status =
        akg_graph_record(bench->tape, net_gradients, &model, &form, 1, MODEL_OUTPUTS, &graph, &diagnostics);
    if (status == AKG_OK)
        status = akg_graph_run(graph, &input, outputs, &diagnostics);
    struck = allowed >= 0 && memory_fail_remaining() < 0;
    memory_fail_after(-1);
    CHECK(status == AKG_OK || (struck && status == AKG_ERROR_MEMORY));
    CHECK(status == AKG_OK ? outputs[3] != NULL : !outputs[0] && !outputs[3]);
    akg_diagnostics_free(diagnostics);
    akg_graph_release(graph);
    tensors_release(outputs, MODEL_OUTPUTS);
    akg_tensor_release(input);
    return struck;
}

static void test_failures(struct bench *bench)
{
    journey(bench, -1); /* kernels are compiled and the library is read */
#ifdef AKG_FAULT_INJECTION
    /* compiling makes thousands of allocations: of later ones not each is tried */
    for (long allowed = 0; journey(bench, allowed); allowed += 1 + allowed / 60)
        ;
#endif
}

/* ---- threads ----------------------------------------------------------------------------------------------
 */

struct runner {
    akg_graph *graph;
    int64_t length;
    bool good;
};

/* Runs the graph, whose turns it takes with others, on extents of its own. */
static void *run_often(void *context)
{
    struct runner *runner = context;
    akg_tensor *x = api_vector(AKG_FLOAT32, runner->length, 0, 0.01), *first = NULL, *next = NULL;

    runner->good = akg_graph_run(runner->graph, &x, &first, NULL) == AKG_OK;
    for (int i = 0; i < 50 && runner->good; i++) {
        runner->good = akg_graph_run(runner->graph, &x, &next, NULL) == AKG_OK && api_same(first, next);
        akg_tensor_release(next);
        next = NULL;
    }
    akg_tensor_release(x);
    akg_tensor_release(first);
    return NULL;
}

NET(net_gelu)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};

    (void)user, (void)input_count;
    return calls_end(&calls, calls_one(&calls, "gelu", inputs[0]), &outputs[0]);
}

static void test_threads(struct bench *bench)
{
    const char *form = "float32[N]";
    struct runner runners[3];
    pthread_t threads[3];
    akg_graph *graph = NULL;

    CHECK(akg_graph_record(bench->tape, net_gelu, NULL, &form, 1, 1, &graph, NULL) == AKG_OK);
    for (int i = 0; i < 3; i++) {
        runners[i] = (struct runner){graph, 10 + 7 * i, false};
        CHECK(pthread_create(&threads[i], NULL, run_often, &runners[i]) == 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        CHECK(runners[i].good);
    }
    akg_graph_release(graph);
}

int main(void)
{
    struct bench bench;

    if (!CHECK(bench_begin(&bench)))
        return check_done();
    test_models(&bench);
    test_training(&bench);
    test_memory(&bench);
    test_random(&bench);
    test_nested(&bench);
    test_outputs(&bench);
    test_large(&bench);
    test_decided(&bench);
    test_threads(&bench);
    test_failures(&bench);
    bench_end(&bench);
    return check_done();
}
