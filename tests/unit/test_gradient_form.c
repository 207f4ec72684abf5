/*
 * test_gradient_form.c: calls on a tape that met calls like them before (runtime/gradient_form.h) against the
 * same calls on a tape that met none: the same outputs and gradients, first and second, whatever changed from
 * one call to the next. Then who shares what, recordings between calls, threads, and forms that outlive tape
 * and registry.
 */
#include "api_support.h"
#include "check.h"

#include "../../runtime/gradient_form.h"

#include <pthread.h>
#include <stdlib.h>

static akg_registry *registry;

static akg_tape *new_tape(void)
{
    akg_tape *tape = NULL;

    CHECK_INT(akg_tape_create(registry, &tape), AKG_OK);
    return tape;
}

static akg_operator *find(const char *name)
{
    akg_operator *found = NULL;

    CHECK_INT(akg_registry_find(registry, name, &found, NULL), AKG_OK);
    return found;
}

/* ---- calls, made of a seed ----------------------------------------------------------------------------- */

enum { MOST = 4 };

struct call {
    akg_operator *callee;
    akg_tensor *inputs[MOST];
    size_t input_count;
    akg_argument arguments[MOST + 2];
    size_t count;
    uint64_t state;
    int64_t ints[2];
};

static unsigned draw(struct call *call, unsigned most)
{
    call->state = call->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(call->state >> 33) % most;
}

static akg_tensor *draw_input(struct call *call, akg_dtype dtype, int rank, const int64_t *shape)
{
    akg_tensor *made = api_range(dtype, rank, shape, 0.25 * draw(call, 8) - 0.9, 0.25);

    CHECK_INT(akg_tensor_set_requires_grad(made, call->input_count == 0 || draw(call, 3), NULL), AKG_OK);
    return call->inputs[call->input_count++] = made;
}

static void add(struct call *call, akg_argument argument)
{
    call->arguments[call->count++] = argument;
}

/* By place, or by name in either order. */
static void draw_binary(struct call *call, akg_dtype dtype)
{
    int64_t shape[2] = {1 + draw(call, 2), 2}, other[2] = {draw(call, 2) ? shape[0] : 1, 2};
    bool by_name = draw(call, 2), swapped = by_name && draw(call, 2);

    call->callee = find(draw(call, 3) ? "std:divide" : "std:multiply");
    add(call, api_tensor(!by_name ? NULL : swapped ? "b" : "a", draw_input(call, dtype, 2, shape)));
    if (draw(call, 4))
        add(call, api_tensor(!by_name  ? NULL
                             : swapped ? "a"
                                       : "b",
                             draw_input(call, dtype, (int)draw(call, 2) + 1, other)));
    else
        add(call, api_real(!by_name ? NULL : swapped ? "a" : "b", 0.5 + draw(call, 2)));
}

static void draw_attributes(struct call *call, akg_dtype dtype)
{
    int64_t shape[2] = {1 + draw(call, 2), 3};

    add(call, api_tensor(NULL, draw_input(call, dtype, 2, shape)));
    switch (draw(call, 4)) {
    case 0:
        call->callee = find("std:leaky_relu");
        if (draw(call, 3))
            add(call, api_real(draw(call, 2) ? "slope" : NULL, 0.25 * draw(call, 3)));
        break;
    case 1:
        call->callee = find("std:gelu");
        if (draw(call, 3))
            add(call, api_string("approximate", draw(call, 2) ? "tanh" : "none"));
        break;
    case 2:
        call->callee = find("std:sum");
        call->ints[0] = draw(call, 2);
        if (draw(call, 3))
            add(call, api_ints(NULL, call->ints, draw(call, 2)));
        if (draw(call, 2))
            add(call, api_bool("keepdims", draw(call, 2)));
        break;
    case 3:
        call->callee = find("std:softmax");
        if (draw(call, 2))
            add(call, api_int(NULL, (int)draw(call, 2)));
    }
}

static void draw_concat(struct call *call, akg_dtype dtype)
{
    size_t count = 1 + draw(call, 3);

    call->callee = find("std:concat");
    add(call, api_int(NULL, 0));
    for (size_t i = 0; i < count; i++)
        draw_input(call, dtype, 2, (int64_t[]){1 + draw(call, 2), 2});
    add(call, api_tensors(draw(call, 2) ? "xs" : NULL, call->inputs, count));
}

static void draw_linear(struct call *call, akg_dtype dtype)
{
    int64_t m = 1 + draw(call, 2), n = 1 + draw(call, 2);

    call->callee = find("std:linear");
    add(call, api_tensor(NULL, draw_input(call, dtype, 2, (int64_t[]){m, 3})));
    add(call, api_tensor(NULL, draw_input(call, dtype, 2, (int64_t[]){n, 3})));
    switch (draw(call, 3)) {
    case 0:
        add(call, api_tensor(draw(call, 2) ? "bias" : NULL, draw_input(call, dtype, 1, &n)));
        break;
    case 1:
        add(call, api_none("bias"));
    }
}

static void draw_call(struct call *call, uint64_t seed)
{
    static void (*const kinds[])(struct call * call, akg_dtype dtype) = {
        draw_binary, draw_binary, draw_attributes, draw_concat, draw_linear};
    unsigned kind;

    *call = (struct call){.state = seed * 0x9E3779B97F4A7C15u + 1};
    kind = draw(call, API_COUNT(kinds));
    kinds[kind](call, draw(call, 2) ? AKG_FLOAT64 : AKG_FLOAT32);
}

/* ---- with and without what was met before -----------------------------------------------------------------
 */

struct outcome {
    akg_status status;
    akg_tensor *y, *gradients[MOST], *seconds[MOST];
};

/* Gradients by the inputs that require one, and, where that can be had, those of the sum of the first of
 * these. */
static void differentiate(akg_tape *tape, struct call *call, struct outcome *outcome)
{
    const akg_gradient_options create = {.create_graph = true};
    akg_tensor *inputs[MOST];
    size_t count = 0;

    for (size_t i = 0; i < call->input_count; i++)
        if (akg_tensor_requires_grad(call->inputs[i]))
            inputs[count++] = call->inputs[i];
    outcome->status = akg_gradients(tape, &outcome->y, NULL, 1, inputs, count, draw(call, 2) ? &create : NULL,
                                    outcome->gradients, NULL);
    if (outcome->status == AKG_OK && akg_tensor_requires_grad(outcome->gradients[0]))
        outcome->status =
            akg_gradients(tape, outcome->gradients, NULL, 1, inputs, count, NULL, outcome->seconds, NULL);
}

static void perform(akg_tape *tape, uint64_t seed, struct outcome *outcome)
{
    struct call call;

    *outcome = (struct outcome){.status = AKG_OK};
    draw_call(&call, seed);
    outcome->status = akg_call(tape, call.callee, call.arguments, call.count, &outcome->y, NULL);
    if (outcome->status == AKG_OK)
        differentiate(tape, &call, outcome);
    for (size_t i = 0; i < call.input_count; i++)
        akg_tensor_release(call.inputs[i]);
}

static void drop(struct outcome *outcome)
{
    akg_tensor_release(outcome->y);
    for (int i = 0; i < MOST; i++) {
        akg_tensor_release(outcome->gradients[i]);
        akg_tensor_release(outcome->seconds[i]);
    }
}

static bool agree(const akg_tensor *a, const akg_tensor *b)
{
    return (!a && !b) || (a && b && api_same(a, b));
}

static bool compare(akg_tape *tape, uint64_t seed, int *second)
{
    akg_tape *fresh = new_tape();
    struct outcome known, unknown;
    bool same;

    perform(tape, seed, &known);
    perform(fresh, seed, &unknown);
    same = known.status == unknown.status && agree(known.y, unknown.y);
    for (int i = 0; i < MOST; i++)
        same = same && agree(known.gradients[i], unknown.gradients[i]) &&
               agree(known.seconds[i], unknown.seconds[i]);
    *second += known.seconds[0] != NULL;
    if (!same)
        fprintf(stderr, "seed %llu: %s, %s\n", (unsigned long long)seed, akg_status_text(known.status),
                akg_status_text(unknown.status));
    drop(&known);
    drop(&unknown);
    akg_tape_release(fresh);
    return same;
}

static void test_random(void)
{
    enum { CALLS = 400 };
    akg_tape *tape = new_tape();
    int second = 0;

    for (int round = 0; round < 2; round++)
        for (uint64_t k = 0; k < CALLS; k++)
            CHECK(compare(tape, round % 2 ? CALLS - 1 - k : k * 7 % CALLS, &second));
    CHECK(second >= CALLS / 8);
    akg_tape_release(tape);
}

/* ---- who shares what --------------------------------------------------------------------------------------
 */

static akg_tensor *leaf(akg_dtype dtype, int64_t length, double first)
{
    akg_tensor *made = api_vector(dtype, length, first, 1);

    CHECK_INT(akg_tensor_set_requires_grad(made, true, NULL), AKG_OK);
    return made;
}

static akg_tensor *scaled(akg_tape *tape, akg_tensor *x, double slope)
{
    akg_argument arguments[] = {api_tensor(NULL, x), api_real(NULL, slope)};
    akg_tensor *y = NULL;

    CHECK_INT(akg_call(tape, find("std:leaky_relu"), arguments, 2, &y, NULL), AKG_OK);
    return y;
}

static const void *form_of(const akg_tensor *tensor)
{
    return tensor->node->state;
}

static void test_sharing(void)
{
    akg_tape *tape = new_tape(), *other = new_tape();
    akg_tensor *x = leaf(AKG_FLOAT32, 3, -1), *z = leaf(AKG_FLOAT32, 4, -1), *d = leaf(AKG_FLOAT64, 3, -1);
    akg_tensor *ys[] = {scaled(tape, x, 2), scaled(tape, x, 2),  scaled(tape, z, 2),
                        scaled(tape, d, 2), scaled(other, x, 2), scaled(tape, x, 3)};

    CHECK(form_of(ys[0]) == form_of(ys[1]));
    for (size_t i = 2; i < API_COUNT(ys); i++)
        for (size_t k = 0; k < i; k++)
            CHECK(k == 0 || form_of(ys[i]) != form_of(ys[k]));
    for (size_t i = 0; i < API_COUNT(ys); i++)
        akg_tensor_release(ys[i]);
    akg_tensor_release(x);
    akg_tensor_release(z);
    akg_tensor_release(d);
    akg_tape_release(tape);
    akg_tape_release(other);
}

/* More forms than a tape remembers. */
static void test_many(void)
{
    akg_tape *tape = new_tape();

    for (int round = 0; round < 2; round++)
        for (int64_t length = 1; length <= 160; length++) {
            akg_tensor *x = leaf(AKG_FLOAT32, length, -1), *y = scaled(tape, x, 3), *gradient = NULL;
            CHECK_INT(akg_gradients(tape, &y, NULL, 1, &x, 1, NULL, &gradient, NULL), AKG_OK);
            CHECK(gradient && akg_tensor_element_count(gradient) == length && api_element(gradient, 0) == 3);
            CHECK(length < 3 || api_element(gradient, 2) == 1);
            akg_tensor_release(x);
            akg_tensor_release(y);
            akg_tensor_release(gradient);
        }
    akg_tape_release(tape);
}

static akg_status net_scaled(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t input_count,
                             akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    const akg_gradient_options options = {0};
    akg_tensor *y = scaled(tape, user, 3), *z = NULL;
    akg_argument arguments[] = {api_tensor(NULL, inputs[0]), api_tensor(NULL, y)};
    akg_status status = akg_call(tape, find("std:multiply"), arguments, 2, &z, diagnostics);
    akg_tensor *const leaves[] = {user};

    (void)input_count;
    if (status == AKG_OK)
        status = akg_gradients(tape, &z, NULL, 1, leaves, 1, &options, outputs, diagnostics);
    akg_tensor_release(y);
    akg_tensor_release(z);
    return status;
}

/* Calls of a recording look like those that were made before it, and their tensors hold nothing. */
static void test_recording(void)
{
    akg_tape *tape = new_tape();
    akg_tensor *w = leaf(AKG_FLOAT32, 3, -1), *x = api_vector(AKG_FLOAT32, 3, 1, 1), *made[3] = {NULL};
    const char *form = "float32[3]";
    akg_graph *graph = NULL;

    CHECK_INT(net_scaled(tape, w, &x, 1, &made[0], NULL), AKG_OK);
    CHECK_INT(akg_graph_record(tape, net_scaled, w, &form, 1, 1, &graph, NULL), AKG_OK);
    CHECK_INT(net_scaled(tape, w, &x, 1, &made[1], NULL), AKG_OK);
    CHECK_INT(akg_graph_run(graph, &x, &made[2], NULL), AKG_OK);
    CHECK(made[0] && api_element(made[0], 0) == 3 && api_element(made[0], 2) == 3);
    CHECK(api_same(made[0], made[1]) && made[2] && api_same(made[0], made[2]));
    for (int i = 0; i < 3; i++)
        akg_tensor_release(made[i]);
    akg_graph_release(graph);
    akg_tensor_release(w);
    akg_tensor_release(x);
    akg_tape_release(tape);
}

/* ---- threads and lives
 * ------------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    akg_tape *tape;
    akg_tensor *x, *y, *gradient;
    akg_status status;
};

static void *pass_back(void *context)
{
    struct worker *worker = context;

    worker->status =
        akg_gradients(worker->tape, &worker->y, NULL, 1, &worker->x, 1, NULL, &worker->gradient, NULL);
    akg_tensor_release(worker->y);
    return NULL;
}

/* Nodes of one form are passed at once, for the first time. */
static void test_threads(void)
{
    enum { THREADS = 6 };
    struct worker workers[THREADS];
    akg_tape *tape = new_tape();

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.tape = new_tape(), .x = leaf(AKG_FLOAT64, 5 + round, -i)};
            workers[i].y = scaled(tape, workers[i].x, 4);
        }
        for (int i = 0; i < THREADS; i++)
            if (!CHECK(pthread_create(&workers[i].thread, NULL, pass_back, &workers[i]) == 0))
                exit(1);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(workers[i].thread, NULL);
            CHECK_INT(workers[i].status, AKG_OK);
            CHECK(workers[i].gradient && api_element(workers[i].gradient, 0) == 4 && /* at 0 too */
                  api_element(workers[i].gradient, 4 + round) == (i < 4 + round ? 1 : 4));
            akg_tensor_release(workers[i].gradient);
            akg_tensor_release(workers[i].x);
            akg_tape_release(workers[i].tape);
        }
    }
    akg_tape_release(tape);
}

/* What was recorded is passed when the tape that recorded it is gone, and freed when the registry is. */
static void test_lives(void)
{
    akg_tape *tape = new_tape(), *other = new_tape();
    akg_tensor *x = leaf(AKG_FLOAT32, 2, 1), *passed = scaled(tape, x, 2), *kept = scaled(tape, x, 2);
    akg_tensor *gradient = NULL;

    akg_tape_release(tape);
    CHECK_INT(akg_gradients(other, &passed, NULL, 1, &x, 1, NULL, &gradient, NULL), AKG_OK);
    CHECK(gradient && api_element(gradient, 1) == 1);
    akg_tape_release(other);
    akg_registry_release(registry);
    akg_tensor_release(kept);
    akg_tensor_release(passed);
    akg_tensor_release(gradient);
    akg_tensor_release(x);
}

int main(void)
{
    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    test_random();
    test_sharing();
    test_many();
    test_recording();
    test_threads();
    test_lives();
    return check_done();
}
