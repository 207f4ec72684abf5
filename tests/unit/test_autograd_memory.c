/*
 * test_autograd_memory.c: what is recorded lives as long as it should and no longer: memory is freed while a
 * pass goes on, long chains need no stack, any order of release is right, each allocation may fail, threads
 * do not meet. Leaks and use after free are the address sanitizer's to find, races the thread sanitizer's.
 */
#include "../../base/memory.h"
#include "autograd_support.h"
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#ifndef AKG_FAULT_INJECTION
#define memory_fail_after(count) ((void)(count))
#define memory_fail_remaining() (0L)
#endif

/* ---- memory is freed as the pass goes ------------------------------------------------------------------ */

enum { CHAIN = 50, BLOCK = 1000 };

static int live_blocks, most_seen, order_faults;

static void block_release(void *owner)
{
    free(owner);
    live_blocks--;
}

/* A tensor whose memory is counted. */
static akg_tensor *block_create(void)
{
    int64_t length = BLOCK;
    akg_tensor *tensor = NULL;
    void *memory = calloc(BLOCK, sizeof(double));

    live_blocks++;
    CHECK_INT(akg_tensor_from_memory(memory, AKG_FLOAT64, 1, &length, NULL, block_release, memory, &tensor),
              AKG_OK);
    return tensor;
}

/* When node number n runs, counted from the leaf, it and the n - 1 below it have their blocks: the n-th
 * state. */
static akg_status block_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                 akg_diagnostics **diagnostics)
{
    const int *number = step->state;
    akg_tensor *saved;

    order_faults += live_blocks != *number;
    most_seen = live_blocks > most_seen ? live_blocks : most_seen;
    CHECK_INT(autograd_saved(step, 0, &saved, diagnostics), AKG_OK);
    akg_tensor_release(saved);
    input_gradients[0] = akg_tensor_retain(step->output_gradients[0]);
    return AKG_OK;
}

static const struct autograd_operation block_operation = {block_backward, NULL};

static akg_tensor *block_chain(akg_tape *tape, akg_tensor *x, int *numbers)
{
    akg_tensor *y = akg_tensor_retain(x);

    for (int i = 0; i < CHAIN; i++) {
        akg_tensor *saved = block_create(), *next;
        numbers[i] = i + 1;
        CHECK_INT(akg_tensor_copy(y, &next), AKG_OK);
        struct autograd_record record = {.operation = &block_operation,
                                         .name = "block",
                                         .state = &numbers[i],
                                         .inputs = &y,
                                         .input_count = 1,
                                         .outputs = &next,
                                         .output_count = 1,
                                         .saved = &saved,
                                         .saved_count = 1};
        CHECK_INT(autograd_record(tape, &record), AKG_OK);
        akg_tensor_release(saved);
        akg_tensor_release(y);
        y = next;
    }
    return y;
}

static void test_freed_in_passing(void)
{
    akg_tape *tape;
    akg_tensor *x = net_scalar(AKG_FLOAT64, 1, true), *y;
    int numbers[CHAIN];

    akg_tape_create(NULL, &tape);
    y = block_chain(tape, x, numbers);
    CHECK_INT(live_blocks, CHAIN);
    CHECK_INT(akg_backward(tape, &y, NULL, 1, false, NULL), AKG_OK);
    CHECK_INT(live_blocks, 0); /* though y is there */
    CHECK_INT(most_seen, CHAIN);
    CHECK_INT(order_faults, 0);
    akg_tensor_release(y);
    /* retained, they stay until the last tensor goes */
    y = block_chain(tape, x, numbers);
    CHECK_INT(akg_backward(tape, &y, NULL, 1, true, NULL), AKG_OK);
    CHECK_INT(live_blocks, CHAIN);
    CHECK(order_faults > 0);
    akg_tape_release(tape); /* the graph does not need it */
    akg_tensor_release(y);
    CHECK_INT(live_blocks, 0);
    akg_tensor_release(x);
}

/* ---- long chains -----------------------------------------------------------------------------------------
 */

static void test_long_chain(void)
{
    enum { LENGTH = 100000 };
    akg_tape *tape;
    akg_tensor *x = net_scalar(AKG_FLOAT64, 1, true), *k = net_scalar(AKG_FLOAT64, 1, false), *y, *gradient;

    akg_tape_create(NULL, &tape);
    for (int use = 0; use < 3; use++) {
        y = akg_tensor_retain(x);
        for (int i = 0; i < LENGTH; i++) {
            akg_tensor *next = net_product(tape, y, k);
            akg_tensor_release(y);
            y = next;
        }
        /* dropped; passed; passed with a graph of the gradients, as long */
        if (use == 1)
            CHECK_INT(akg_backward(tape, &y, NULL, 1, false, NULL), AKG_OK);
        if (use == 2) {
            akg_gradient_options create = {.create_graph = true};
            akg_tensor *one = net_scalar(AKG_FLOAT64, 1, true);
            CHECK_INT(akg_gradients(tape, &y, &one, 1, &x, 1, &create, &gradient, NULL), AKG_OK);
            CHECK(akg_tensor_requires_grad(gradient));
            akg_tensor_release(gradient);
            akg_tensor_release(one);
        }
        akg_tensor_release(y);
    }
    CHECK(api_element(akg_tensor_grad(x), 0) == 1);
    akg_tensor_release(x);
    akg_tensor_release(k);
    akg_tape_release(tape);
}

/* ---- any order of release
 * ----------------------------------------------------------------------------------- */

/* Each of the 120 orders in which five tensors of a graph can go, before a pass and after one. */
static void release_in_order(akg_tape *tape, int order, bool pass)
{
    akg_tensor *tensors[5];
    int left = 5;

    tensors[0] = net_vector(AKG_FLOAT64, 2, 1, 1, true);
    tensors[1] = net_product(tape, tensors[0], tensors[0]);
    CHECK_INT(net_exp(tape, tensors[1], &tensors[2], NULL), AKG_OK);
    tensors[3] = net_product(tape, tensors[2], tensors[0]);
    CHECK_INT(net_scale(tape, tensors[3], 2, NULL), AKG_OK);
    CHECK_INT(akg_tensor_detach(tensors[2], &tensors[4]), AKG_OK);
    if (pass) {
        CHECK_INT(akg_backward(tape, &tensors[3], NULL, 1, order % 2, NULL), AKG_OK);
        CHECK(fabs(api_element(akg_tensor_grad(tensors[0]), 0) - 6 * exp(1)) < 1e-12);
    }
    for (; left > 0; left--) {
        int chosen = order % left;
        order /= left;
        akg_tensor_release(tensors[chosen]);
        tensors[chosen] = tensors[left - 1];
    }
}

/* A tensor that lives on when all before it are gone, by way of which a pass still goes. */
static void test_orders(void)
{
    akg_tape *tape;
    akg_tensor *x = net_scalar(AKG_FLOAT64, 3, true), *y, *z, *saved_input;

    akg_tape_create(NULL, &tape);
    for (int order = 0; order < 120; order++) {
        release_in_order(tape, order, false);
        release_in_order(tape, order, true);
    }
    y = net_product(tape, x, x);
    z = net_product(tape, y, y);
    akg_tensor_release(y);
    CHECK_INT(akg_backward(tape, &z, NULL, 1, false, NULL), AKG_OK);
    CHECK(api_element(akg_tensor_grad(x), 0) == 108);
    akg_tensor_release(z);
    /* in-place writes into what an older node saved: would be a cycle if nodes held tensors by reference */
    saved_input = net_scalar(AKG_FLOAT64, 2, false);
    y = net_product(tape, x, saved_input);
    z = net_product(tape, y, y);
    struct autograd_record record = {.operation = &block_operation,
                                     .name = "write",
                                     .state = NULL,
                                     .inputs = (akg_tensor *[]){saved_input, z},
                                     .input_count = 2,
                                     .outputs = &saved_input,
                                     .output_count = 1};
    CHECK_INT(autograd_record(tape, &record), AKG_OK);
    CHECK(!akg_tensor_is_leaf(saved_input));
    akg_tensor_release(saved_input);
    akg_tensor_release(y);
    akg_tensor_release(z);
    akg_tensor_release(x);
    akg_tape_release(tape);
}

/* ---- the same bits each time
 * ----------------------------------------------------------------------------------- */

static akg_tensor *many_ways(akg_tape *tape, akg_tensor *x)
{
    akg_tensor *parts[20], *root = NULL;

    for (int i = 0; i < 20; i++) {
        akg_tensor *k = net_scalar(AKG_FLOAT32, 0.1 + i * 0.37, false);
        parts[i] = net_product(tape, x, k);
        akg_tensor_release(k);
    }
    CHECK_INT(akg_backward(tape, parts, NULL, 20, false, NULL), AKG_OK);
    root = akg_tensor_retain(akg_tensor_grad(x));
    akg_tensor_clear_grad(x);
    for (int i = 0; i < 20; i++)
        akg_tensor_release(parts[i]);
    return root;
}

static void test_same_bits(void)
{
    akg_tape *tape;
    akg_tensor *x = net_vector(AKG_FLOAT32, 33, 0.1, 0.01, true), *first, *again;

    akg_tape_create(NULL, &tape);
    first = many_ways(tape, x);
    for (int i = 0; i < 5; i++) {
        again = many_ways(tape, x);
        CHECK(api_same(first, again));
        akg_tensor_release(again);
    }
    akg_tensor_release(first);
    akg_tensor_release(x);
    akg_tape_release(tape);
}

/* ---- one allocation after the other fails
 * ------------------------------------------------------------------- */

static akg_status square_forward(akg_context *context, const akg_argument *arguments, size_t count,
                                 akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_tensor *x = arguments[0].as.tensor;
    akg_argument number = api_int(NULL, 2);
    akg_status status = net_multiply(NULL, x, x, &outputs[0], diagnostics);

    (void)count;
    if (status == AKG_OK)
        status = akg_context_save_for_backward(context, &x, 1);
    if (status == AKG_OK)
        status = akg_tensor_copy(x, &outputs[1]);
    if (status == AKG_OK)
        akg_context_mark_non_differentiable(context, outputs[1]);
    if (status == AKG_OK)
        akg_context_set_attribute(context, "factor", &number); /* the status is passed over */
    return status;
}

static akg_status square_backward(akg_context *context, akg_tensor *const *output_gradients,
                                  akg_tensor **input_gradients, akg_diagnostics **diagnostics)
{
    akg_tensor *const *saved, *part = NULL;
    akg_status status = akg_context_saved_tensors(context, &saved, NULL);

    if (status == AKG_OK)
        status = net_multiply(akg_context_tape(context), output_gradients[0], saved[0], &part, diagnostics);
    if (status == AKG_OK)
        status = autograd_add(akg_context_tape(context), part, part, &input_gradients[0], diagnostics);
    akg_tensor_release(part);
    return status;
}

static const akg_function square = {.name = "square",
                                    .forward = square_forward,
                                    .backward = square_backward,
                                    .output_count = 2,
                                    .gradient_count = 1,
                                    .backward_on_tape = true};

static akg_status copy_forward(void *user, akg_tensor *const *inputs, akg_tensor **outputs,
                               akg_diagnostics **diagnostics)
{
    (void)user, (void)diagnostics;
    return akg_tensor_copy(inputs[0], &outputs[0]);
}

static akg_status copy_backward(void *user, akg_tensor *const *arguments, size_t count,
                                akg_tensor **input_gradients, akg_diagnostics **diagnostics)
{
    (void)user, (void)diagnostics;
    return akg_tensor_copy(arguments[count - 1], &input_gradients[0]);
}

static const size_t both[] = {0, 1}; /* nothing is kept, so the result may be written */
static const akg_host_operator copy = {.name = "copy",
                                       .input_count = 1,
                                       .output_count = 1,
                                       .forward = copy_forward,
                                       .backward = copy_backward,
                                       .skip = both,
                                       .skip_count = 2};

/* f(x, w) = copy(square(x) * w) * 3, x of two elements, w a scalar of another dtype. */
static akg_status journey_net(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t count,
                              akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    akg_argument argument = api_tensor(NULL, inputs[0]);
    akg_tensor *parts[2] = {NULL, NULL}, *weighted = NULL;
    akg_status status = akg_function_apply(tape, &square, &argument, 1, parts, diagnostics);

    (void)count;
    if (status == AKG_OK)
        status = net_multiply(tape, parts[0], user, &weighted, diagnostics);
    if (status == AKG_OK)
        status = akg_host_operator_call(tape, &copy, &weighted, outputs, diagnostics);
    if (status == AKG_OK)
        status = net_scale(tape, outputs[0], 3, diagnostics);
    akg_tensor_release(parts[0]);
    akg_tensor_release(parts[1]);
    akg_tensor_release(weighted);
    return status;
}

static akg_status journey_of_passes(akg_tape *tape, akg_tensor *x, akg_tensor *w,
                                    akg_diagnostics **diagnostics)
{
    akg_gradient_options create = {.create_graph = true};
    akg_tensor *y = NULL, *by[] = {x, w}, *first[2] = {NULL, NULL};
    akg_status status = journey_net(tape, w, &x, 1, &y, diagnostics);
    double before = akg_tensor_grad(x) ? api_element(akg_tensor_grad(x), 1) : 0, after;

    if (status == AKG_OK)
        status = akg_backward(tape, &y, NULL, 1, true, diagnostics);
    after = akg_tensor_grad(x) ? api_element(akg_tensor_grad(x), 1) : 0;
    CHECK(after == (status == AKG_OK ? before + 60 : before)); /* all of it or nothing */
    if (status == AKG_OK)
        status = akg_gradients(tape, &y, NULL, 1, by, 2, &create, first, diagnostics);
    if (status == AKG_OK) {
        CHECK(api_element(first[0], 1) == 60 && api_element(first[1], 0) == 15);
        CHECK_INT(akg_tensor_dtype(first[1]), AKG_FLOAT32);
    }
    akg_tensor_release(first[0]);
    akg_tensor_release(first[1]);
    akg_tensor_release(y);
    return status;
}

static akg_status journey_of_values(akg_tape *tape, akg_tensor *x, akg_tensor *w,
                                    akg_diagnostics **diagnostics)
{
    akg_tensor *value, *by_input, *by_parameter, *plain = NULL;
    akg_status status = akg_tensor_detach(x, &plain);
    akg_value_and_grad_request request = {.net = journey_net,
                                          .user = w,
                                          .inputs = &plain,
                                          .input_count = 1,
                                          .output_count = 1,
                                          .positions = (size_t[]){0},
                                          .position_count = 1,
                                          .parameters = &w,
                                          .parameter_count = 1};

    if (status == AKG_OK)
        status = akg_value_and_grad(tape, &request, &value, &by_input, &by_parameter, diagnostics);
    if (status == AKG_OK) {
        CHECK(api_element(value, 1) == 60 && api_element(by_input, 0) == 30 &&
              api_element(by_parameter, 0) == 15);
        akg_tensor_release(value);
        akg_tensor_release(by_input);
        akg_tensor_release(by_parameter);
    }
    akg_tensor_release(plain);
    return status;
}

static akg_status journey(akg_diagnostics **diagnostics)
{
    akg_tape *tape = NULL;
    akg_tensor *x = NULL, *w = NULL;
    int64_t length = 2;
    akg_status status = akg_tape_create(NULL, &tape);

    if (status == AKG_OK)
        status = akg_tensor_create(AKG_FLOAT64, 1, &length, &x);
    if (status == AKG_OK)
        status = akg_tensor_create(AKG_FLOAT32, 0, NULL, &w);
    if (status == AKG_OK)
        status = akg_tensor_set_requires_grad(x, true, diagnostics);
    if (status == AKG_OK)
        status = akg_tensor_set_requires_grad(w, true, diagnostics);
    if (status == AKG_OK) {
        akg_tensor_fill_range(x, 1, 1);
        akg_tensor_fill(w, 5);
        status = journey_of_passes(tape, x, w, diagnostics);
    }
    if (status == AKG_OK)
        status = journey_of_passes(tape, x, w, diagnostics); /* adds to gradients that are there */
    if (status == AKG_OK)
        status = journey_of_values(tape, x, w, diagnostics);
    akg_tensor_release(x);
    akg_tensor_release(w);
    akg_tape_release(tape);
    return status;
}

static void test_faults(void)
{
    long failures = 0;

    for (bool failed = true; failed; failures++) {
        akg_diagnostics *diagnostics = NULL;
        memory_fail_after(failures);
        akg_status status = journey(&diagnostics);
        failed = memory_fail_remaining() < 0;
        memory_fail_after(-1);
        CHECK_INT(status, failed ? AKG_ERROR_MEMORY : AKG_OK);
        if (status == AKG_ERROR_MEMORY && akg_diagnostics_count(diagnostics) > 0)
            CHECK_STRING(api_error(diagnostics), "out-of-memory");
        akg_diagnostics_free(diagnostics);
    }
#ifdef AKG_FAULT_INJECTION
    CHECK(failures > 100);
#endif
}

/* ---- threads
 * ------------------------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    akg_tensor *shared; /* without history: all may read it */
    akg_tensor *result;
    int faults;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    akg_tape *tape = NULL;
    akg_tensor *x = net_vector(AKG_FLOAT64, 2, 1, 1, true), *product, *y = NULL;

    akg_tape_create(NULL, &tape);
    for (int round = 0; round < 50; round++) {
        product = net_product(tape, x, worker->shared);
        worker->faults += journey_net(tape, worker->shared, &product, 1, &y, NULL) != AKG_OK;
        worker->faults += akg_backward(tape, &y, NULL, 1, false, NULL) != AKG_OK;
        akg_tensor_release(product);
        akg_tensor_release(y);
    }
    worker->result = akg_tensor_retain(akg_tensor_grad(x));
    akg_tensor_release(x);
    akg_tape_release(tape);
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 4 };
    struct worker workers[THREADS] = {{0}};
    akg_tensor *shared = net_scalar(AKG_FLOAT64, 1.25, false);

    for (int i = 0; i < THREADS; i++) {
        workers[i].shared = shared;
        CHECK_INT(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_INT(workers[i].faults, 0);
        CHECK(workers[i].result && api_same(workers[i].result, workers[0].result));
    }
    for (int i = 0; i < THREADS; i++)
        akg_tensor_release(workers[i].result);
    akg_tensor_release(shared);
}

int main(void)
{
    test_freed_in_passing();
    test_long_chain();
    test_orders();
    test_same_bits();
    test_faults();
    test_threads();
    return check_done();
}
