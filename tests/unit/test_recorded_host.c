/*
 * test_recorded_host.c: host operators in recorded graphs: the same bits as eager calls, forward and
 * backward, for extents that change; skipped tensors, absent gradients, functions that only look; what they
 * give wrongly; every allocation failing.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/memory.h"
#include "check.h"
#include "recorded_support.h"

#ifndef AKG_FAULT_INJECTION
#define memory_fail_after(count) ((void)(count))
#define memory_fail_remaining() (0L)
#endif

static akg_registry *registry;
static akg_tape *tape;

/* ---- host functions ------------------------------------------------------------------------------ */

static struct {
    int looks, backwards;
    int64_t length; /* what was seen last */
    bool absent;    /* backward was handed a gradient that is NULL */
    enum { RIGHT, SHORT, OTHER_DTYPE, NOTHING, FAILS } way;
} seen;

/* twice and cube of x * w, the latter without a gradient to w where it is told so */
static akg_status forward(void *user, akg_tensor *const *inputs, akg_tensor **outputs, akg_diagnostics **list)
{
    int64_t count = akg_tensor_element_count(inputs[0]), other = seen.way == SHORT ? count - 1 : count;
    const float *x = akg_tensor_data(inputs[0]), *w = akg_tensor_data(inputs[1]);

    (void)user, (void)list;
    if (seen.way == FAILS)
        return AKG_ERROR_IO;
    if (akg_tensor_create(AKG_FLOAT32, 1, &count, &outputs[0]) != AKG_OK)
        return AKG_ERROR_MEMORY;
    if (seen.way != NOTHING && akg_tensor_create(seen.way == OTHER_DTYPE ? AKG_FLOAT64 : AKG_FLOAT32, 1,
                                                 &other, &outputs[1]) != AKG_OK)
        return AKG_ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        float product = x[i] * w[0], *cube = seen.way == RIGHT ? akg_tensor_data(outputs[1]) : NULL;
        ((float *)akg_tensor_data(outputs[0]))[i] = 2 * product;
        if (cube)
            cube[i] = product * product * product;
    }
    return AKG_OK;
}

/* dx = (2 d0 + 3 (x w)^2 d1) w; that of w is left out, which is zero. x, w, d0, d1: the outputs are skipped.
 */
static akg_status backward(void *user, akg_tensor *const *arguments, size_t count, akg_tensor **gradients,
                           akg_diagnostics **list)
{
    int64_t length = akg_tensor_element_count(arguments[0]);
    const float *x = akg_tensor_data(arguments[0]), *w = akg_tensor_data(arguments[1]);

    (void)user, (void)list;
    CHECK_INT(count, 4);
    seen.backwards++;
    seen.absent |= !arguments[3];
    if (akg_tensor_create(AKG_FLOAT32, 1, &length, &gradients[0]) != AKG_OK)
        return AKG_ERROR_MEMORY;
    for (int64_t i = 0; i < length; i++) {
        float product = x[i] * w[0], sum = 0;
        if (arguments[2])
            sum += 2 * (float)api_element(arguments[2], i);
        if (arguments[3])
            sum += 3 * product * product * (float)api_element(arguments[3], i);
        ((float *)akg_tensor_data(gradients[0]))[i] = sum * w[0];
    }
    return AKG_OK;
}

static akg_status infer(void *user, const akg_description *inputs, akg_description *outputs)
{
    (void)user;
    outputs[0] = outputs[1] = inputs[0];
    return AKG_OK;
}

static const akg_host_operator host = {.name = "host",
                                       .input_count = 2,
                                       .output_count = 2,
                                       .forward = forward,
                                       .backward = backward,
                                       .skip = (const size_t[]){2, 3},
                                       .skip_count = 2,
                                       .infer = infer};

static akg_status look(void *user, akg_tensor *const *inputs, akg_tensor **outputs, akg_diagnostics **list)
{
    (void)user, (void)outputs, (void)list;
    seen.looks++;
    seen.length = akg_tensor_element_count(inputs[0]);
    return AKG_OK;
}

static const akg_host_operator looker = {.name = "look", .input_count = 1, .forward = look};

/* ---- the net ------------------------------------------------------------------------------------- */

static akg_status call(const char *name, akg_tensor *a, akg_tensor *b, akg_tensor **result,
                       akg_diagnostics **list)
{
    akg_argument arguments[] = {api_tensor(NULL, a), api_tensor(NULL, b)};
    akg_operator *found;
    akg_status status = akg_registry_find(registry, name, &found, list);

    return status ? status : akg_call(tape, found, arguments, b ? 2 : 1, result, list);
}

/* tanh of the input, through the host, and back: (twice * cube) where both are wanted, else twice alone. */
static akg_status net(akg_tape *given, void *user, akg_tensor *const *inputs, size_t count,
                      akg_tensor **outputs, akg_diagnostics **list)
{
    const bool *both = user;
    akg_tensor *h = NULL, *made[2] = {NULL};
    akg_status status = call("tanh", inputs[0], NULL, &h, list);

    (void)count;
    if (status == AKG_OK)
        status = akg_host_operator_call(given, &looker, &h, NULL, list);
    if (status == AKG_OK)
        status = akg_host_operator_call(given, &host, (akg_tensor *[]){h, inputs[1]}, made, list);
    if (status == AKG_OK)
        status = call("multiply", made[0], *both ? made[1] : inputs[1], outputs, list);
    akg_tensor_release(h);
    akg_tensor_release(made[0]);
    akg_tensor_release(made[1]);
    return status;
}

/* The value and the gradients by both inputs. */
static akg_status gradients(akg_tape *given, void *user, akg_tensor *const *inputs, size_t count,
                            akg_tensor **outputs, akg_diagnostics **list)
{
    static const size_t positions[] = {0, 1};
    akg_value_and_grad_request request = {.net = net,
                                          .user = user,
                                          .inputs = inputs,
                                          .input_count = count,
                                          .output_count = 1,
                                          .positions = positions,
                                          .position_count = 2};

    return akg_value_and_grad(given, &request, &outputs[0], &outputs[1], NULL, list);
}

static const char *const forms[] = {"float32[N]", "float32[1]"};

static void make_inputs(int64_t length, akg_tensor **inputs)
{
    inputs[0] = api_vector(AKG_FLOAT32, length, -0.7, 0.11);
    inputs[1] = api_vector(AKG_FLOAT32, 1, 1.25, 0);
}

static void test_bits(bool both)
{
    static const int64_t lengths[] = {5, 1, 33, 5};
    akg_graph *graph = NULL;

    seen.absent = false;
    if (!CHECK(akg_graph_record(tape, gradients, &both, forms, 2, 3, &graph, NULL) == AKG_OK))
        return;
    CHECK_INT(seen.looks, 0); /* recording runs nothing */
    for (size_t k = 0; k < API_COUNT(lengths); k++) {
        akg_tensor *inputs[2], *eager[3] = {NULL}, *replayed[3] = {NULL};
        make_inputs(lengths[k], inputs);
        CHECK_INT(gradients(tape, &both, inputs, 2, eager, NULL), AKG_OK);
        seen.looks = seen.backwards = 0;
        CHECK_INT(akg_graph_run(graph, inputs, replayed, NULL), AKG_OK);
        CHECK(seen.looks == 1 && seen.backwards == 1 && seen.length == lengths[k]);
        for (int i = 0; i < 3; i++)
            CHECK(api_same(eager[i], replayed[i]));
        tensors_release(inputs, 2);
        tensors_release(eager, 3);
        tensors_release(replayed, 3);
        seen.looks = 0;
    }
    CHECK(seen.absent == !both);
    akg_graph_release(graph);
}

static void test_wrong(void)
{
    static const struct {
        int way;
        const char *name, *says;
    } rows[] = {{SHORT, "graph-host", "host operator 'host' gave float32[4], but the graph needs float32[5]"},
                {OTHER_DTYPE, "graph-host", "gave float64[5]"},
                {NOTHING, "graph-host", "gave no tensor"},
                {FAILS, "", NULL}};
    bool both = true;
    akg_graph *graph = NULL;
    akg_tensor *inputs[2], *output = NULL;

    CHECK_INT(akg_graph_record(tape, net, &both, forms, 2, 1, &graph, NULL), AKG_OK);
    make_inputs(5, inputs);
    for (size_t i = 0; i < API_COUNT(rows); i++) {
        akg_diagnostics *diagnostics = NULL;
        seen.way = rows[i].way;
        akg_status status = akg_graph_run(graph, inputs, &output, &diagnostics);
        CHECK(status == (seen.way == FAILS ? AKG_ERROR_IO : AKG_ERROR_CALL) && !output);
        CHECK_STRING(api_error(diagnostics), rows[i].name);
        CHECK(!rows[i].says || api_says(diagnostics, rows[i].says));
        akg_diagnostics_free(diagnostics);
    }
    seen.way = RIGHT;
    CHECK_INT(akg_graph_run(graph, inputs, &output, NULL), AKG_OK);
    akg_tensor_release(output);
    tensors_release(inputs, 2);
    akg_graph_release(graph);
}

/* ---- memory that runs out ------------------------------------------------------------------------- */

static bool journey(long allowed)
{
    bool both = true, struck;
    akg_tensor *inputs[2], *outputs[3] = {NULL};
    akg_graph *graph = NULL;
    akg_diagnostics *diagnostics = NULL;

    make_inputs(4, inputs);
    memory_fail_after(allowed);
    akg_status status = akg_graph_record(tape, gradients, &both, forms, 2, 3, &graph, &diagnostics);
    if (status == AKG_OK)
        status = akg_graph_run(graph, inputs, outputs, &diagnostics);
    struck = allowed >= 0 && memory_fail_remaining() < 0;
    memory_fail_after(-1);
    CHECK(status == AKG_OK || (struck && status == AKG_ERROR_MEMORY));
    akg_diagnostics_free(diagnostics);
    akg_graph_release(graph);
    tensors_release(inputs, 2);
    tensors_release(outputs, 3);
    return struck;
}

int main(void)
{
    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_tape_create(registry, &tape), AKG_OK);
    test_bits(true);
    test_bits(false);
    test_wrong();
    for (long at = 0; journey(at); at += 1 + at / 50)
        ;
    akg_tape_release(tape);
    akg_registry_release(registry);
    return check_done();
}
