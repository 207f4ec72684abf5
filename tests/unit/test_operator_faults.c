/*
 * test_operator_faults.c: each allocation of a journey through registries, operators written in C, operations
 * and gradients fails once, in turn: the function that it fails in says so, and nothing leaks. The sanitizer
 * looks for leaks; without AKG_FAULT_INJECTION the journey is made once.
 */
#include "../../base/memory.h"
#include "api_support.h"
#include "check.h"

#ifndef AKG_FAULT_INJECTION
#define memory_fail_after(count) ((void)(count))
#define memory_fail_remaining() (0L)
#endif

static const char text[] = "def half(x, by=0.5):\n    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i in grid(x.shape):\n        y[i] = x[i] * by\n    return y\n";

static akg_status compute(akg_invocation *invocation)
{
    double *scratch = akg_invocation_scratch(invocation);

    scratch[0] = 3;
    akg_tensor_fill(akg_invocation_output(invocation, "out", 0), scratch[0]);
    return AKG_OK;
}

static size_t scratch_size(const akg_invocation *invocation)
{
    (void)invocation;
    return sizeof(double);
}

static void node_build(akg_gradient *gradient, akg_gradient_node *node)
{
    akg_gradient_node_operator(node, "three");
    akg_gradient_node_input(node, "in", akg_gradient_output_gradient(gradient, "out", 0));
    akg_gradient_node_attribute(node, akg_gradient_attribute(gradient, "list"));
}

static const akg_gradient_value *value(akg_gradient *gradient, const char *input, size_t index)
{
    (void)input;
    return akg_gradient_get(gradient, "node", "out", index);
}

static void build(akg_gradient *gradient)
{
    akg_gradient_define(gradient, "node", node_build);
    akg_gradient_bind(gradient, "in", 0, value);
}

static akg_status half_bprop(const akg_bprop_call *call, akg_tensor **gradients,
                             akg_diagnostics **diagnostics)
{
    akg_argument arguments[] = {api_tensor(NULL, call->output_gradients[0]), call->attributes[0]};

    return akg_call(call->tape, call->callee, arguments, 2, gradients, diagnostics);
}

static const int64_t items[] = {1, 2};
static const akg_argument list = {.kind = AKG_ARGUMENT_INTS, .as.ints = {items, 2}};
static const akg_operand in[] = {{.name = "in"}}, out[] = {{.name = "out"}};
static const akg_attribute attributes[] = {{"list", AKG_ATTRIBUTE_FLOATS, &list}};
static const akg_kernel_definition kernels[] = {
    {.name = "double",
     .condition = "dtype(out) == float64 and rank(in) in (1, 2)",
     .compute = compute,
     .scratch_size = scratch_size},
};
static const akg_operator_definition three = {.name = "three",
                                              .documentation = "All threes.",
                                              .inputs = in,
                                              .input_count = 1,
                                              .outputs = out,
                                              .output_count = 1,
                                              .attributes = attributes,
                                              .attribute_count = 1,
                                              .kernels = kernels,
                                              .kernel_count = 1};
static const char *const in_names[] = {"in"}, *const out_names[] = {"out"}, *const list_names[] = {"list"};
static const akg_dtype_format combinations[] = {{AKG_FLOAT64, "contiguous"}, {AKG_FLOAT64, NULL}};
static const akg_operator_info info = {"CPU", in_names, out_names, list_names, 1, 1, 1, combinations, 1};
static const akg_bprop bprop = {
    .parameter_count = 3, .result_count = 1, .function = half_bprop, .on_tape = true};

static akg_module *module; /* compiled before: compiling has its own test */
static bool struck;        /* by a failure, on the last journey */

/* One journey. A step that failed ends it. */
struct journey {
    akg_registry *registry;
    akg_tape *tape;
    akg_tensor *x, *integers, *y, *z;
    akg_operation *operation;
    akg_diagnostics *diagnostics;
};

static bool step(struct journey *journey, akg_status status, akg_status expected)
{
    const akg_diagnostic *first = akg_diagnostics_at(journey->diagnostics, 0);

    if (status != expected && !CHECK(status == AKG_ERROR_MEMORY && memory_fail_remaining() < 0))
        fprintf(stderr, "    status %d, %s\n", (int)status, first ? first->message : "");
    akg_diagnostics_free(journey->diagnostics);
    journey->diagnostics = NULL;
    return status == expected;
}

static bool register_all(struct journey *j)
{
    return step(j, akg_registry_create(&j->registry), AKG_OK) &&
           step(j, akg_registry_add_module(j->registry, module, &j->diagnostics), AKG_OK) &&
           step(j, akg_registry_add_operator(j->registry, &three, &j->diagnostics), AKG_OK) &&
           step(j, akg_registry_add_operator(j->registry, &three, &j->diagnostics), AKG_ERROR_USAGE) &&
           step(j, akg_registry_add_info(j->registry, "three", &info, &j->diagnostics), AKG_OK) &&
           step(j, akg_operator_set_gradient(j->registry, "three", build, NULL, &j->diagnostics), AKG_OK) &&
           step(j, akg_operator_set_bprop(j->registry, "half", &bprop, &j->diagnostics), AKG_OK) &&
           step(j, akg_tape_create(j->registry, &j->tape), AKG_OK);
}

static bool call_all(struct journey *j)
{
    const int64_t shape[] = {4};
    akg_operator *half = NULL, *threes = NULL;
    akg_argument argument;
    bool waits;

    if (!step(j, akg_tensor_create(AKG_FLOAT64, 1, shape, &j->x), AKG_OK) ||
        !step(j, akg_tensor_create(AKG_INT32, 1, shape, &j->integers), AKG_OK) ||
        !step(j, akg_tensor_set_requires_grad(j->x, true, &j->diagnostics), AKG_OK) ||
        !step(j, akg_registry_find(j->registry, "half", &half, &j->diagnostics), AKG_OK) ||
        !step(j, akg_registry_find(j->registry, "three", &threes, &j->diagnostics), AKG_OK) ||
        !step(j, akg_registry_find(j->registry, "thre", &threes, &j->diagnostics), AKG_ERROR_USAGE))
        return false;
    waits = memory_fail_remaining() >= 0;
    if (!step(j, akg_load_library(j->registry, "no-library.so", &j->diagnostics), AKG_ERROR_IO) ||
        !CHECK(!waits || memory_fail_remaining() >= 0)) /* it struck: not the file was missing then */
        return false;
    akg_registry_find(j->registry, "three", &threes, NULL);
    argument = api_tensor(NULL, j->integers);
    if (!step(j, akg_call(j->tape, threes, &argument, 1, &j->y, &j->diagnostics), AKG_ERROR_CALL))
        return false;
    CHECK(!j->y);
    argument = api_tensor("x", j->x);
    if (!step(j, akg_call(j->tape, half, &argument, 1, &j->y, &j->diagnostics), AKG_OK)) {
        CHECK(!j->y);
        return false;
    }
    return step(j, akg_operation_create(j->registry, "three", &j->operation, &j->diagnostics), AKG_OK) &&
           step(j, akg_operation_input(j->operation, "in", &j->y, 1), AKG_OK) &&
           step(j, akg_operation_device(j->operation, "cpu"), AKG_OK) &&
           step(j, akg_operation_run(j->operation, j->tape, &j->diagnostics), AKG_OK) &&
           step(j, akg_operation_sole_output(j->operation, &j->z, &j->diagnostics), AKG_OK) &&
           step(j, akg_backward(j->tape, &j->z, NULL, 1, false, &j->diagnostics), AKG_OK) &&
           CHECK(api_element(akg_tensor_grad(j->x), 3) == 1.5);
}

static bool travel(void)
{
    struct journey journey = {0};
    bool arrived = register_all(&journey) && call_all(&journey);

    struck = memory_fail_remaining() < 0;
    memory_fail_after(-1);
    akg_operation_release(journey.operation);
    akg_tensor_release(journey.x);
    akg_tensor_release(journey.integers);
    akg_tensor_release(journey.y);
    akg_tape_release(journey.tape);
    akg_registry_release(journey.registry);
    return arrived;
}

int main(void)
{
    module = api_compile(text);
    CHECK(travel());
#ifdef AKG_FAULT_INJECTION
    long failures = -1;
    do {
        memory_fail_after(++failures);
        travel();
    } while (struck);
    CHECK(failures > 50);
#endif
    akg_module_release(module);
    return check_done();
}
