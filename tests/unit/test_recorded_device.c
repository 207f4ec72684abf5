/*
 * test_recorded_device.c: recorded graphs on a GPU, against the libraries that stand in for NVIDIA's: the
 * same bits as calls one by one there, forward, backward and with weights written in place; what is refused;
 * no room, and every allocation failing. With --device it is the machine's own device, and only what needs no
 * help of the stand-ins.
 */
#include "check.h"

#include "api_support.h"
#include "gpu_support.h"
#include "recorded_support.h"

#ifdef HAVE_CUDA

#include "../../base/memory.h"

#include <math.h>
#include <string.h>

static struct gpu_stub stub;
static akg_registry *registry;
static akg_tape *tape;
static akg_tensor *weight; /* float32[3, 4] on the device */
static bool real;          /* --device */

/* ---- computations ----------------------------------------------------------------------------------------
 */

/* Elementwise, with a broadcast operand. */
NET(chain)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *h = calls_two(&calls, "multiply", inputs[0], inputs[1]);

    (void)user, (void)input_count;
    h = calls_two(&calls, "add", calls_one(&calls, "exp", calls_one(&calls, "neg", h)), inputs[1]);
    return calls_end(&calls, calls_one(&calls, "tanh", h), &outputs[0]);
}

/* With the weight of the program. */
NET(layer)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *h = calls_two(&calls, "linear", inputs[0], weight);

    (void)user, (void)input_count;
    h = calls_two(&calls, "multiply", calls_one(&calls, "tanh", h), calls_one(&calls, "sigmoid", h));
    return calls_end(&calls, calls_one(&calls, "mean", calls_one(&calls, "softmax", h)), &outputs[0]);
}

/* The value, and the gradients by the first input and the weight where it is used. */
NET(gradients)
{
    akg_net net = user ? layer : chain;
    const size_t position = 0;
    const akg_value_and_grad_request request = {.net = net,
                                                .user = user,
                                                .inputs = inputs,
                                                .input_count = input_count,
                                                .output_count = 1,
                                                .positions = &position,
                                                .position_count = 1,
                                                .parameters = &weight,
                                                .parameter_count = user ? 1 : 0};

    return akg_value_and_grad(tape, &request, &outputs[0], &outputs[1], &outputs[2], diagnostics);
}

/* A step of training, which writes the weight. */
NET(step)
{
    struct calls calls = {.tape = tape, .diagnostics = diagnostics};
    akg_tensor *loss =
        calls_one(&calls, "mean", calls_one(&calls, "abs", calls_two(&calls, "linear", inputs[0], weight)));
    akg_tensor *gradient = NULL;

    (void)user, (void)input_count;
    if (calls.status == AKG_OK)
        calls.status = akg_gradients(tape, &loss, NULL, 1, &weight, 1, NULL, &gradient, diagnostics);
    bool before = akg_tape_set_recording(tape, false);
    calls_make(&calls, "sgd",
               (akg_argument[]){api_tensor(NULL, weight), api_tensor(NULL, gradient), api_real("rate", 0.1)},
               3);
    akg_tape_set_recording(tape, before);
    akg_tensor_release(gradient);
    return calls_end(&calls, loss, &outputs[0]);
}

/* ---- support
 * ------------------------------------------------------------------------------------------------ */

/* On a device of its own kind the compiler fuses what an operator multiplies last with what the next one adds
 * first, where both are one kernel: that rounds once less. */
static bool is_near(const akg_tensor *a, const akg_tensor *b)
{
    const float *x = akg_tensor_data(a), *y = akg_tensor_data(b);

    if (akg_tensor_dtype(a) != AKG_FLOAT32 || akg_tensor_element_count(a) != akg_tensor_element_count(b))
        return false;
    for (int64_t i = 0; i < akg_tensor_element_count(a); i++)
        if (!(fabsf(x[i] - y[i]) <= 1e-6f * (1 + fabsf(x[i]))))
            return false;
    return true;
}

static bool is_same_there(akg_tensor *a, akg_tensor *b)
{
    akg_tensor *here[2] = {NULL, NULL};
    bool same = a && b && akg_tensor_device(a).kind == akg_tensor_device(b).kind &&
                akg_tensor_to(a, cpu, &here[0], NULL) == AKG_OK &&
                akg_tensor_to(b, cpu, &here[1], NULL) == AKG_OK &&
                (real && akg_tensor_device(a).kind == AKG_DEVICE_CUDA ? is_near(here[0], here[1])
                                                                      : api_same(here[0], here[1]));

    tensors_release(here, 2);
    return same;
}

static void check_refused(akg_status status, akg_diagnostics *diagnostics, const char *name,
                          const char *piece)
{
    const akg_diagnostic *row = akg_diagnostics_at(diagnostics, 0);

    CHECK(status != AKG_OK);
    if (!CHECK(row && strcmp(row->name, name) == 0 && strstr(row->message, piece)))
        fprintf(stderr, "    told: %s: %s\n", row ? row->name : "-", row ? row->message : "-");
    akg_diagnostics_free(diagnostics);
}

static akg_graph *record(akg_net net, void *user, const char *const *inputs, size_t count, size_t outputs)
{
    akg_diagnostics *diagnostics = NULL;
    akg_graph *graph = NULL;

    if (!CHECK(akg_graph_record(tape, net, user, inputs, count, outputs, &graph, &diagnostics) == AKG_OK))
        check_refused(AKG_ERROR_CALL, diagnostics, "", "");
    return graph;
}

static void compare(akg_graph *graph, akg_net net, void *user, akg_tensor *const *inputs, size_t count)
{
    akg_tensor *eager[3] = {NULL}, *replayed[3] = {NULL};

    CHECK_INT(net(tape, user, inputs, count, eager, NULL), AKG_OK);
    for (int run = 0; run < 2; run++) {
        CHECK_INT(akg_graph_run(graph, inputs, replayed, NULL), AKG_OK);
        for (size_t i = 0; i < akg_graph_output_count(graph); i++)
            CHECK(is_same_there(eager[i], replayed[i]));
        tensors_release(replayed, 3);
    }
    tensors_release(eager, 3);
}

/* ---- tests
 * -------------------------------------------------------------------------------------------------- */

static const char *const chain_inputs[] = {"float32[M, N]", "float32[N]"};
static const char *const layer_inputs[] = {"float32[M, 4]"};

static void test_same(void)
{
    static const int64_t extents[][2] = {{5, 7}, {1, 4}, {33, 12}, {5, 7}};
    akg_graph *graphs[] = {
        record(chain, NULL, chain_inputs, 2, 1), record(gradients, NULL, chain_inputs, 2, 2),
        record(layer, NULL, layer_inputs, 1, 1), record(gradients, &weight, layer_inputs, 1, 3)};

    for (size_t k = 0; k < API_COUNT(extents); k++) {
        akg_tensor *inputs[] = {gpu_range(gpu, AKG_FLOAT32, 2, extents[k], -0.5, 0.01),
                                gpu_range(gpu, AKG_FLOAT32, 1, extents[k] + 1, 1, -0.02),
                                gpu_range(gpu, AKG_FLOAT32, 2, (int64_t[]){extents[k][0], 4}, 0.3, 0.05)};
        compare(graphs[0], chain, NULL, inputs, 2);
        compare(graphs[1], gradients, NULL, inputs, 2);
        compare(graphs[2], layer, NULL, inputs + 2, 1);
        compare(graphs[3], gradients, &weight, inputs + 2, 1);
        tensors_release(inputs, 3);
    }
    for (size_t i = 0; i < API_COUNT(graphs); i++)
        akg_graph_release(graphs[i]);
}

/* A graph that has no tensors of the program runs wherever its inputs are; the calls of the chain are one. */
static void test_anywhere(void)
{
    static const akg_device devices[] = {{AKG_DEVICE_CPU, 0}, {AKG_DEVICE_CUDA, 0}, {AKG_DEVICE_CUDA, 1}};
    akg_graph *graph = record(chain, NULL, chain_inputs, 2, 1);
    const int64_t shape[] = {6, 5};
    akg_graph_measures measures;

    for (size_t k = 0; k < API_COUNT(devices); k++) {
        akg_tensor *inputs[] = {gpu_range(devices[k], AKG_FLOAT32, 2, shape, 0, 0.1),
                                gpu_range(devices[k], AKG_FLOAT32, 1, shape + 1, 1, 0.1)};
        akg_tensor *made = NULL;
        compare(graph, chain, NULL, inputs, 2);
        CHECK(akg_graph_measure(graph, &measures));
        CHECK_INT(measures.calls, 5);
        CHECK_INT(measures.steps, 1);
        long before = stub.launches();
        CHECK_INT(akg_graph_run(graph, inputs, &made, NULL), AKG_OK);
        CHECK_INT(akg_tensor_device(made).kind, devices[k].kind);
        CHECK_INT(akg_tensor_device(made).index, devices[k].index);
        CHECK_INT(stub.launches() - before, devices[k].kind == AKG_DEVICE_CUDA);
        akg_tensor_release(made);
        tensors_release(inputs, 2);
    }
    akg_graph_release(graph);
}

/* Calls for which nobody waits go to the device as one; what another run changes is told, and nothing else.
 */
static void test_launches(void)
{
    const int64_t shape[] = {9, 4};
    akg_graph *graph = record(gradients, &weight, layer_inputs, 1, 3);
    akg_tensor *x = gpu_range(gpu, AKG_FLOAT32, 2, shape, 0, 0.1),
               *other = gpu_range(gpu, AKG_FLOAT32, 2, shape, 1, 0.1);
    akg_tensor *made[3] = {NULL};
    akg_graph_measures measures;

    CHECK_INT(akg_graph_run(graph, &x, made, NULL), AKG_OK);
    CHECK(akg_graph_measure(graph, &measures) && measures.steps > 5);
    long graphs = stub.graphs(), launches = stub.launches(), updates = stub.updates();
    CHECK(graphs > 0);
    CHECK_INT(akg_graph_run(graph, &x, made, NULL), AKG_OK); /* into the same tensors */
    CHECK(stub.graphs() - graphs > 0 && stub.graphs() - graphs < (long)measures.steps / 2);
    CHECK(stub.launches() - launches >= (long)measures.steps);
    CHECK_INT(stub.updates() - updates, 0);
    updates = stub.updates();
    CHECK_INT(akg_graph_run(graph, &other, made, NULL), AKG_OK);
    CHECK(stub.updates() > updates && stub.updates() - updates < (long)measures.steps);
    tensors_release(made, 3);
    compare(graph, gradients, &weight, &other, 1);
    akg_graph_release(graph);
    tensors_release((akg_tensor *[]){x, other}, 2);
}

/* A failure of any part of it is told, and the next run makes it anew. */
static void test_launch_fails(void)
{
    static const char *const functions[] = {"cuGraphCreate", "cuGraphAddKernelNode",
                                            "cuGraphInstantiateWithFlags", "cuGraphLaunch",
                                            "cuGraphExecKernelNodeSetParams"};
    const int64_t shape[] = {9, 4};
    akg_tensor *inputs[2] = {gpu_range(gpu, AKG_FLOAT32, 2, shape, 0, 0.1),
                             gpu_range(gpu, AKG_FLOAT32, 2, shape, 2, 0.1)};

    for (size_t k = 0; k < API_COUNT(functions); k++) {
        akg_graph *graph = record(gradients, &weight, layer_inputs, 1, 3);
        akg_tensor *made[3] = {NULL};
        akg_diagnostics *diagnostics = NULL;
        bool late = k == API_COUNT(functions) - 1;
        if (late) {
            CHECK_INT(akg_graph_run(graph, &inputs[1], made, NULL), AKG_OK);
            tensors_release(made, 3);
        }
        stub.fail(functions[k], late ? 1 : 0, STUB_INVALID_VALUE);
        akg_status status = akg_graph_run(graph, &inputs[0], made, &diagnostics);
        CHECK_INT(status, AKG_ERROR_DEVICE);
        check_refused(status, diagnostics, "device-refused", "graph");
        CHECK(!made[0] && !made[1] && !made[2]);
        compare(graph, gradients, &weight, inputs, 1);
        akg_graph_release(graph);
    }
    tensors_release(inputs, 2);
}

static void test_training(void)
{
    akg_tensor *x = gpu_range(gpu, AKG_FLOAT32, 2, (int64_t[]){7, 4}, -1, 0.1), *start, *after, *loss = NULL;
    akg_graph *graph = record(step, NULL, layer_inputs, 1, 1);

    akg_tensor_to(weight, cpu, &start, NULL);
    for (int i = 0; i < 3; i++) {
        akg_tensor_release(loss);
        loss = NULL;
        CHECK_INT(step(tape, NULL, &x, 1, &loss, NULL), AKG_OK);
    }
    akg_tensor_to(weight, cpu, &after, NULL);
    CHECK(!api_same(start, after));
    for (int64_t i = 0; i < 12; i++)
        akg_tensor_set(weight, (int64_t[]){i / 4, i % 4}, akg_tensor_get(start, (int64_t[]){i / 4, i % 4}));
    for (int i = 0; i < 3; i++) {
        akg_tensor *again = NULL;
        CHECK_INT(akg_graph_run(graph, &x, &again, NULL), AKG_OK);
        CHECK(i < 2 || is_same_there(again, loss));
        akg_tensor_release(again);
    }
    tensors_release(&loss, 1);
    akg_tensor_to(weight, cpu, &loss, NULL);
    CHECK(real ? is_near(loss, after) : api_same(loss, after));
    tensors_release((akg_tensor *[]){x, start, after, loss}, 4);
    akg_graph_release(graph);
}

static void test_refused(void)
{
    const int64_t shape[] = {6, 4};
    akg_graph *graph = record(chain, NULL, chain_inputs, 2, 1),
              *weighted = record(layer, NULL, layer_inputs, 1, 1);
    akg_tensor *there = gpu_range(gpu, AKG_FLOAT32, 2, shape, 0, 1),
               *row = gpu_range(gpu, AKG_FLOAT32, 1, shape + 1, 0, 1),
               *here = gpu_range(cpu, AKG_FLOAT32, 2, shape, 0, 1), *made = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_graph_run(graph, (akg_tensor *[]){here, row}, &made, &diagnostics);

    check_refused(status, diagnostics, "graph-input", "input 1 is float32[4]");
    status = akg_graph_run(graph, (akg_tensor *[]){there, row}, &here, &diagnostics);
    check_refused(status, diagnostics, "graph-output", "another device");
    status = akg_graph_run(weighted, &here, &made, &diagnostics);
    check_refused(status, diagnostics, "devices-differ", "cuda:0");
    CHECK(made == NULL);
    tensors_release((akg_tensor *[]){there, row, here}, 3);
    akg_graph_release(graph);
    akg_graph_release(weighted);
}

/* No room, then room: the graph goes on. The block of a graph that is gone serves the next one. */
static void test_full(void)
{
    const int64_t shape[] = {512, 512};
    akg_tensor *inputs[] = {gpu_range(gpu, AKG_FLOAT32, 2, shape, 0, 0.001),
                            gpu_range(gpu, AKG_FLOAT32, 1, shape, 1, 0)};
    size_t used = 0;

    for (int round = 0; round < 4; round++) {
        akg_graph *graph = record(gradients, NULL, chain_inputs, 2, 2);
        akg_tensor *made[2] = {NULL, NULL};
        akg_diagnostics *diagnostics = NULL;
        if (round == 0) {
            stub.set_memory(0);
            akg_status status = akg_graph_run(graph, inputs, made, &diagnostics);
            check_refused(status, diagnostics, "device-memory", "asked for");
            CHECK(!made[0] && !made[1]);
            stub.set_memory(64 << 20);
        }
        CHECK_INT(akg_graph_run(graph, inputs, made, NULL), AKG_OK);
        tensors_release(made, 2);
        akg_graph_release(graph);
        CHECK(round < 2 || stub.used(0) == used);
        used = stub.used(0);
    }
    tensors_release(inputs, 2);
}

#ifdef AKG_FAULT_INJECTION
/* Where memory runs out while steps are made one, they stay as they are: then the result is there. */
static void test_faults(void)
{
    const int64_t shape[] = {3, 5};
    akg_tensor *inputs[] = {gpu_range(gpu, AKG_FLOAT32, 2, shape, 0, 0.1),
                            gpu_range(gpu, AKG_FLOAT32, 1, shape + 1, 1, 0)};
    akg_tensor *expected[3] = {NULL};
    long most = 0, failed = 0;

    CHECK_INT(gradients(tape, NULL, inputs, 2, expected, NULL), AKG_OK);
    for (long count = 0; count < 20000 && most == 0; count += 1 + count / 50) {
        akg_tensor *made[2] = {NULL, NULL};
        akg_graph *graph = NULL;
        memory_fail_after(count);
        akg_status status = akg_graph_record(tape, gradients, NULL, chain_inputs, 2, 2, &graph, NULL);
        if (status == AKG_OK)
            status = akg_graph_run(graph, inputs, made, NULL);
        if (memory_fail_remaining() >= 0)
            most = count;
        memory_fail_after(-1);
        failed += status != AKG_OK;
        CHECK(status == AKG_ERROR_MEMORY || (status == AKG_OK && is_same_there(made[0], expected[0]) &&
                                             is_same_there(made[1], expected[1])));
        tensors_release(made, 2);
        akg_graph_release(graph);
    }
    CHECK(most > 50 && failed > 50);
    tensors_release(expected, 3);
    tensors_release(inputs, 2);
}
#endif

static void begin(void)
{
    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_tape_create(registry, &tape), AKG_OK);
    weight = gpu_range(gpu, AKG_FLOAT32, 2, (int64_t[]){3, 4}, -0.4, 0.1);
    CHECK_INT(akg_tensor_set_requires_grad(weight, true, NULL), AKG_OK);
}

static void end(void)
{
    akg_tensor_release(weight);
    akg_tape_release(tape);
    akg_registry_release(registry);
}

/* A driver without graphs: the calls go to the device one by one. */
static int run_older(void)
{
    check_failed = 0;
    if (!CHECK(gpu_stub_open(&stub)))
        return check_failed;
    begin();
    test_same();
    CHECK(stub.launches() > 0);
    CHECK_INT(stub.graphs(), 0);
    CHECK_INT(stub.errors(), 0);
    end();
    return check_failed;
}

int main(int argc, char **argv)
{
    real = argc > 1 && strcmp(argv[1], "--device") == 0;
    CHECK(real || gpu_in_child("devices=2 memory=67108864 older=1", "", run_older));
    if (!real && !CHECK(gpu_stub_open(&stub)))
        return check_done();
    begin();
    test_same();
    test_training();
    test_refused();
    if (!real) {
        test_anywhere();
        test_launches();
        test_launch_fails();
        test_full();
#ifdef AKG_FAULT_INJECTION
        test_faults();
#endif
    }
    end();
    return check_done();
}

#else

int main(void)
{
    printf("skipped: recorded graphs on a device: built without the headers of CUDA\n");
    return check_done();
}

#endif
