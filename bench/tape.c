/*
 * tape.c: what a recorded call costs over its kernel: a node alone (record, backward and free, with a kernel
 * that does nothing), a function in C, and an eager call of a compiled operator, not recorded and recorded;
 * then a chain of such calls and its gradient, eager and as a recorded graph. Prints medians; asserts
 * nothing. bench/tape.py measures the same of PyTorch; it is run behind this where python3 finds torch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../runtime/autograd.h"

enum { ROUNDS = 200, NODES = 1000 };

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
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

/* A status that is not AKG_OK ends the benchmark: what it would print then is worth nothing. */
static void expect(akg_status status)
{
    if (status == AKG_OK)
        return;
    fprintf(stderr, "tape: %s\n", akg_status_text(status));
    exit(1);
}

struct bench {
    akg_tape *tape;
    akg_tensor *x;          /* requires a gradient */
    akg_operator *multiply; /* of the standard library */
    double forward[ROUNDS], backward[ROUNDS];
};

/* One link of a chain: a new reference. */
typedef akg_tensor *link_function(struct bench *bench, akg_tensor *y);

/* ---- a node and nothing else: no kernel, and a tensor that needs no memory of its own
 * ------------------------- */

static akg_status empty_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                 akg_diagnostics **diagnostics)
{
    (void)diagnostics;
    input_gradients[0] = akg_tensor_retain(step->output_gradients[0]);
    return AKG_OK;
}

static const struct autograd_operation empty_operation = {empty_backward, NULL};

static akg_tensor *link_empty(struct bench *bench, akg_tensor *y)
{
    akg_tensor *next;

    expect(akg_tensor_create(AKG_FLOAT32, 0, NULL, &next));
    struct autograd_record record = {.operation = &empty_operation,
                                     .name = "empty",
                                     .inputs = &y,
                                     .input_count = 1,
                                     .outputs = &next,
                                     .output_count = 1,
                                     .saved = &y,
                                     .saved_count = 1};
    expect(autograd_record(bench->tape, &record));
    return next;
}

/* ---- a function in C --------------------------------------------------------------------------------------
 */

static akg_status function_forward(akg_context *context, const akg_argument *arguments, size_t count,
                                   akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    (void)count, (void)diagnostics;
    akg_context_save_for_backward(context, &arguments[0].as.tensor, 1);
    return akg_tensor_create(AKG_FLOAT32, 0, NULL, &outputs[0]);
}

static akg_status function_backward(akg_context *context, akg_tensor *const *output_gradients,
                                    akg_tensor **input_gradients, akg_diagnostics **diagnostics)
{
    akg_tensor *const *saved;

    (void)diagnostics;
    input_gradients[0] = akg_tensor_retain(output_gradients[0]);
    return akg_context_saved_tensors(context, &saved, NULL);
}

static const akg_function empty_function = {
    .name = "empty", .forward = function_forward, .backward = function_backward, .output_count = 1};

static akg_tensor *link_function_apply(struct bench *bench, akg_tensor *y)
{
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = y};
    akg_tensor *next;

    expect(akg_function_apply(bench->tape, &empty_function, &argument, 1, &next, NULL));
    return next;
}

/* ---- a compiled operator
 * -------------------------------------------------------------------------------------- */

static akg_tensor *link_multiply(struct bench *bench, akg_tensor *y)
{
    akg_argument arguments[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = y},
                                {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = bench->x}};
    akg_tensor *next = NULL;

    expect(akg_call(bench->tape, bench->multiply, arguments, 2, &next, NULL));
    return next;
}

/* ---- measuring
 * --------------------------------------------------------------------------------------------------- */

/* Nanoseconds per link of chains that grow from x and are passed back, in medians. */
static void measure(struct bench *bench, const char *what, link_function *link, bool recording)
{
    akg_tape_set_recording(bench->tape, recording);
    for (int round = 0; round < ROUNDS; round++) {
        akg_tensor *y = akg_tensor_retain(bench->x);
        double start = now_ns();
        for (int i = 0; i < NODES; i++) {
            akg_tensor *next = link(bench, y);
            akg_tensor_release(y);
            y = next;
        }
        bench->forward[round] = (now_ns() - start) / NODES;
        start = now_ns();
        if (akg_tensor_requires_grad(y) && y != bench->x)
            expect(akg_backward(bench->tape, &y, NULL, 1, false, NULL));
        akg_tensor_release(y);
        bench->backward[round] = (now_ns() - start) / NODES;
    }
    akg_tape_set_recording(bench->tape, true);
    double forward = median(bench->forward, ROUNDS), backward = median(bench->backward, ROUNDS);
    printf("%-44s forward %7.0f ns   backward %7.0f ns\n", what, forward, backward);
}

/* ---- recorded graphs
 * ------------------------------------------------------------------------------------------ */

enum { LINKS = 20, RUNS = 500 };

/* x -> tanh(x * x) and so on: LINKS pairs of calls. */
static akg_status net_chain(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t input_count,
                            akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_operator **operators = user;
    akg_tensor *y = akg_tensor_retain(inputs[0]);
    akg_status status = AKG_OK;

    (void)input_count;
    for (int i = 0; i < 2 * LINKS && status == AKG_OK; i++) {
        akg_argument arguments[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = y},
                                    {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = inputs[0]}};
        akg_tensor *next = NULL;
        status = akg_call(tape, operators[i % 2], arguments, i % 2 ? 1 : 2, &next, diagnostics);
        akg_tensor_release(y);
        y = next;
    }
    outputs[0] = y;
    return status;
}

/* The chain and its gradient by x. */
static akg_status net_gradient(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t input_count,
                               akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    const size_t position = 0;
    akg_value_and_grad_request request = {.net = net_chain,
                                          .user = user,
                                          .inputs = inputs,
                                          .input_count = input_count,
                                          .output_count = 1,
                                          .positions = &position,
                                          .position_count = 1};

    return akg_value_and_grad(tape, &request, &outputs[0], &outputs[1], NULL, diagnostics);
}

static double net_run(akg_tape *tape, akg_net net, akg_operator **operators, akg_graph *graph, akg_tensor *x)
{
    akg_tensor *outputs[2] = {NULL, NULL};
    double start = now_ns(), took;

    expect(graph ? akg_graph_run(graph, &x, outputs, NULL) : net(tape, operators, &x, 1, outputs, NULL));
    took = now_ns() - start;
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    return took;
}

static void measure_graph(akg_tape *tape, akg_operator **operators, int64_t length, bool gradient)
{
    static double times[2][RUNS];
    const char *form = "float32[N]";
    akg_net net = gradient ? net_gradient : net_chain;
    akg_graph_measures measures;
    akg_graph *graph;
    akg_tensor *x;

    expect(akg_tensor_create(AKG_FLOAT32, 1, &length, &x));
    akg_tensor_fill_range(
        x, 1.1, 0.5 / (double)akg_tensor_element_count(x)); /* from smaller ones all become denormal */
    expect(akg_graph_record(tape, net, operators, &form, 1, gradient ? 2 : 1, &graph, NULL));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < RUNS; k++)
            times[i][k] = net_run(tape, net, operators, i ? graph : NULL, x);
    akg_graph_measure(graph, &measures);
    printf("%s of %6lld elements: eager %9.0f ns   recorded %9.0f ns   (%zu calls, %zu kernels)\n",
           gradient ? "gradient" : "chain   ", (long long)length, median(times[0], RUNS),
           median(times[1], RUNS), measures.calls, measures.steps);
    akg_graph_release(graph);
    akg_tensor_release(x);
}

static void measure_graphs(akg_registry *registry, akg_tape *tape)
{
    akg_operator *operators[2];

    expect(akg_registry_find(registry, "std:multiply", &operators[0], NULL));
    expect(akg_registry_find(registry, "std:tanh", &operators[1], NULL));
    printf("%d times x = tanh(x * input), float32\n", LINKS);
    for (int64_t length = 16; length <= 65536; length *= 64) {
        measure_graph(tape, operators, length, false);
        measure_graph(tape, operators, length, true);
    }
}

int main(void)
{
    struct bench bench = {0};
    akg_registry *registry = NULL;

    expect(akg_registry_create(&registry));
    expect(akg_tape_create(registry, &bench.tape));
    expect(akg_registry_find(registry, "std:multiply", &bench.multiply, NULL));
    expect(akg_tensor_create(AKG_FLOAT32, 0, NULL, &bench.x));
    akg_tensor_fill(bench.x, 1);
    expect(akg_tensor_set_requires_grad(bench.x, true, NULL));
    printf("one link of a chain of %d, scalars; forward makes the result and its node\n", NODES);
    measure(&bench, "node, empty kernel, not recorded", link_empty, false);
    measure(&bench, "node, empty kernel", link_empty, true);
    measure(&bench, "akg_function, empty", link_function_apply, true);
    measure(&bench, "akg_call of std:multiply, not recorded", link_multiply, false);
    if (akg_operator_has_gradient(bench.multiply))
        measure(&bench, "akg_call of std:multiply", link_multiply, true);
    measure_graphs(registry, bench.tape);
    akg_tensor_release(bench.x);
    akg_tape_release(bench.tape);
    akg_registry_release(registry);
    fflush(stdout);
    return system("python3 bench/tape.py") != 0;
}
