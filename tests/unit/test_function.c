/*
 * test_function.c: akg_function: what the context carries from forward to backward, and each rule that a
 * function can break, with its message.
 */
#include "autograd_support.h"
#include "refused.h"

#include <math.h>

static akg_tape *tape;

static void check_near(const akg_tensor *tensor, int64_t index, double expected, int line)
{
    double value = tensor ? api_element(tensor, index) : NAN;
    if (!check_one(fabs(value - expected) <= 1e-6 * (1 + fabs(expected)), __FILE__, line, "element"))
        fprintf(stderr, "    is %.9g, should be %.9g\n", value, expected);
}
#define NEAR(tensor, index, expected) check_near(tensor, index, expected, __LINE__)

static akg_status backward(akg_tensor *root)
{
    return akg_backward(tape, &root, NULL, 1, false, &diagnostics);
}

/* ---- multiply: saves what is needed, numbers and all ------------------------------------------------------
 */

/* product(x, y, scale) = scale * x * y; saves y for x and x for y */
static akg_status product_forward(akg_context *context, const akg_argument *arguments, size_t count,
                                  akg_tensor **outputs, akg_diagnostics **list)
{
    akg_tensor *x = arguments[0].as.tensor, *y = arguments[1].as.tensor, *scaled = NULL;
    akg_tensor *scale = net_scalar(AKG_FLOAT64, arguments[2].as.real, false);
    akg_tensor *saved[] = {akg_context_needs_grad(context, x) ? y : NULL,
                           akg_context_needs_grad(context, y) ? x : NULL};
    akg_status status = net_multiply(akg_context_tape(context), x, y, &scaled, list);

    CHECK_INT(count, 4);
    CHECK(!akg_tape_is_recording(tape));
    CHECK(akg_context_needs_input_grad(context, 0) == akg_context_needs_grad(context, x));
    CHECK(!akg_context_needs_input_grad(context, 2));
    if (status == AKG_OK)
        status = net_multiply(NULL, scaled, scale, &outputs[0], list);
    if (status == AKG_OK)
        status = akg_context_save_for_backward(context, saved, 2);
    if (status == AKG_OK)
        status = akg_context_set_attribute(context, "scale", &arguments[2]);
    if (status == AKG_OK)
        status = akg_context_set_attribute(context, "mode", &arguments[3]);
    akg_tensor_release(scaled);
    akg_tensor_release(scale);
    return status;
}

static akg_status product_backward(akg_context *context, akg_tensor *const *output_gradients,
                                   akg_tensor **input_gradients, akg_diagnostics **list)
{
    akg_tensor *const *saved, *part;
    akg_tensor *scale = net_scalar(AKG_FLOAT64, akg_context_attribute(context, "scale")->as.real, false);
    size_t count;
    akg_status status = akg_context_saved_tensors(context, &saved, &count);

    net_backward_count++;
    CHECK_STRING(akg_context_attribute(context, "mode")->as.string, "plain");
    CHECK(akg_context_attribute(context, "nothing") == NULL);
    for (size_t i = 0; status == AKG_OK && i < count; i++) {
        CHECK((saved[i] != NULL) == akg_context_needs_input_grad(context, i));
        if (!akg_context_needs_input_grad(context, i))
            continue;
        part = NULL;
        status = net_multiply(akg_context_tape(context), output_gradients[0], saved[i], &part, list);
        if (status == AKG_OK)
            status = net_multiply(akg_context_tape(context), part, scale, &input_gradients[i], list);
        akg_tensor_release(part);
    }
    akg_tensor_release(scale);
    return status;
}

static const akg_function product = {.name = "product",
                                     .forward = product_forward,
                                     .backward = product_backward,
                                     .output_count = 1,
                                     .gradient_count = 2,
                                     .backward_on_tape = true};

static akg_tensor *apply_product(akg_tensor *x, akg_tensor *y, double scale)
{
    char mode[] = "plain";
    akg_tensor *result;
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, y), api_real(NULL, scale),
                                api_string(NULL, mode)};

    CHECK_INT(akg_function_apply(tape, &product, arguments, 4, &result, &diagnostics), AKG_OK);
    mode[0] = '?'; /* the context has its own */
    return result;
}

static void test_product(void)
{
    akg_tensor *x = net_vector(AKG_FLOAT32, 3, 1, 1, true), *y = net_scalar(AKG_FLOAT32, 5, true);
    akg_tensor *k = net_scalar(AKG_FLOAT32, 7, false), *z = apply_product(x, y, 2),
               *w = apply_product(z, k, 1);

    NEAR(w, 1, 140);
    net_backward_count = 0;
    CHECK_INT(backward(w), AKG_OK);
    CHECK_INT(net_backward_count, 2);
    NEAR(akg_tensor_grad(x), 1, 70);
    NEAR(akg_tensor_grad(y), 0, 14 * 6); /* summed over what was broadcast */
    CHECK_INT(akg_tensor_rank(akg_tensor_grad(y)), 0);
    akg_tensor_release(z);
    akg_tensor_release(w);
    /* if no input requires a gradient, backward never runs */
    z = apply_product(k, k, 1);
    CHECK(!akg_tensor_requires_grad(z));
    akg_tensor_release(z);
    akg_tape_set_recording(tape, false);
    z = apply_product(x, k, 1);
    CHECK(!akg_tensor_requires_grad(z));
    akg_tape_set_recording(tape, true);
    akg_tensor_release(z);
    akg_tensor_release(x);
    akg_tensor_release(y);
    akg_tensor_release(k);
}

/* Its backward is made of recorded calls: x * x, then 2 x, then 2. */
static void test_second_order(void)
{
    akg_gradient_options create = {.create_graph = true};
    akg_tensor *x = net_scalar(AKG_FLOAT64, 3, true), *y = apply_product(x, x, 1), *first, *second;

    CHECK_INT(akg_gradients(tape, &y, NULL, 1, &x, 1, &create, &first, &diagnostics), AKG_OK);
    NEAR(first, 0, 6);
    CHECK_INT(akg_gradients(tape, &first, NULL, 1, &x, 1, NULL, &second, &diagnostics), AKG_OK);
    NEAR(second, 0, 2);
    akg_tensor_release(x);
    akg_tensor_release(y);
    akg_tensor_release(first);
    akg_tensor_release(second);
}

static void test_changed(void)
{
    akg_tensor *x = net_scalar(AKG_FLOAT64, 3, true), *y = net_scalar(AKG_FLOAT64, 3, true);
    akg_tensor *z = apply_product(x, y, 1);

    akg_tensor_fill(y, 4);
    REFUSED(backward(z), AKG_ERROR_CALL, "gradient-changed",
            "input 1 of 'product' was written after it was saved for the gradient: version 1 was saved, 2 is "
            "there");
    akg_tensor_release(x);
    akg_tensor_release(y);
    akg_tensor_release(z);
}

/* ---- one function whose every step is told by a script
 * ------------------------------------------------------ */

struct script {
    bool none_returned, second_left_out, saves_twice, saves_late, reads_early, marks_late, marks_stranger,
        dirty_stranger;
    bool dirty, keeps_dirty, plain, returns_input, drops_absent, tensor_attribute;
    bool no_gradient, gradient_anyway, swallows;
    int gradients_seen, gradients_absent, data_released;
};

static void count_release(void *data)
{
    ++*(int *)data;
}

static akg_status script_forward(akg_context *context, const akg_argument *arguments, size_t count,
                                 akg_tensor **outputs, akg_diagnostics **list)
{
    struct script *script = akg_context_function(context)->user;
    akg_tensor *x = arguments[0].as.tensor, *stranger = net_scalar(AKG_FLOAT32, 0, false);
    akg_tensor *const *saved;
    akg_status status = AKG_OK;

    (void)count, (void)list;
    CHECK_INT(akg_context_set_data(context, &script->data_released, count_release), AKG_OK);
    CHECK(akg_context_data(context) == &script->data_released);
    if (!script->none_returned) {
        CHECK_INT(akg_tensor_copy(x, &outputs[0]), AKG_OK);
        if (!script->second_left_out)
            CHECK_INT(akg_tensor_copy(x, &outputs[1]), AKG_OK);
    }
    if (script->returns_input || (script->dirty && !script->keeps_dirty)) {
        akg_tensor_release(outputs[0]);
        outputs[0] = akg_tensor_retain(x);
    }
    if (script->dirty)
        status = akg_context_mark_dirty(context, x);
    if (script->dirty_stranger)
        status = akg_context_mark_dirty(context, stranger);
    if (script->plain)
        status = akg_context_mark_non_differentiable(context, outputs[1]);
    if (script->marks_stranger)
        status = akg_context_mark_non_differentiable(context, stranger);
    if (script->drops_absent)
        status = akg_context_set_materialize_grads(context, false);
    if (script->tensor_attribute)
        status = akg_context_set_attribute(context, "x", &arguments[0]);
    if (script->saves_twice && akg_context_save_for_backward(context, &x, 1) == AKG_OK)
        status = akg_context_save_for_backward(context, &x, 1);
    if (script->reads_early)
        status = akg_context_saved_tensors(context, &saved, NULL);
    akg_tensor_release(stranger);
    return script->swallows ? AKG_OK : status;
}

static akg_status script_backward(akg_context *context, akg_tensor *const *output_gradients,
                                  akg_tensor **input_gradients, akg_diagnostics **list)
{
    struct script *script = akg_context_function(context)->user;
    akg_tensor *some = output_gradients[0] ? output_gradients[0] : output_gradients[1];

    (void)list;
    script->gradients_seen++;
    script->gradients_absent += !output_gradients[0] + !output_gradients[1];
    if (script->saves_late && !script->swallows)
        return akg_context_save_for_backward(context, &some, 1);
    if (script->saves_late)
        akg_context_save_for_backward(context, &some, 1);
    if (script->marks_late)
        return akg_context_mark_dirty(context, some);
    for (size_t i = 0; i < 2; i++)
        if (script->gradient_anyway || (akg_context_needs_input_grad(context, i) && !script->no_gradient))
            CHECK_INT(akg_tensor_copy(some, &input_gradients[i]), AKG_OK);
    return AKG_OK;
}

/* Applies it to x, which requires a gradient, and to y, which does not. */
static akg_status apply_script(struct script *script, akg_function *function, akg_tensor *x, akg_tensor *y,
                               akg_tensor **outputs)
{
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, y)};

    *function = (akg_function){.name = "script",
                               .forward = script_forward,
                               .backward = script_backward,
                               .output_count = 2,
                               .gradient_count = 2,
                               .user = script};
    return akg_function_apply(tape, function, arguments, 2, outputs, &diagnostics);
}

static void refused_forward(struct script script, akg_status status, const char *name, const char *piece)
{
    akg_tensor *x = net_vector(AKG_FLOAT32, 2, 1, 1, true), *y = net_scalar(AKG_FLOAT32, 1, false);
    akg_tensor *outputs[2];
    akg_function function;

    /* whether forward gives the status back or passes over it */
    for (int swallows = 0; swallows < 2; swallows++) {
        script.swallows = swallows;
        REFUSED(apply_script(&script, &function, x, y, outputs), status, name, piece);
        CHECK(!outputs[0] && !outputs[1]);
        CHECK_INT(script.data_released, swallows + 1);
    }
    akg_tensor_release(x);
    akg_tensor_release(y);
}

static void refused_backward(struct script script, akg_status status, const char *name, const char *piece)
{
    akg_tensor *x = net_vector(AKG_FLOAT32, 2, 1, 1, true), *y = net_scalar(AKG_FLOAT32, 1, false);
    akg_tensor *outputs[2];
    akg_function function;

    CHECK_INT(apply_script(&script, &function, x, y, outputs), AKG_OK);
    REFUSED(backward(outputs[0]), status, name, piece);
    CHECK(akg_tensor_grad(x) == NULL);
    CHECK_INT(script.data_released, 1);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    akg_tensor_release(x);
    akg_tensor_release(y);
}

static void test_rules(void)
{
    refused_forward((struct script){.none_returned = true}, AKG_ERROR_USAGE, "function-no-output",
                    "'script' returns no tensor");
    refused_forward((struct script){.saves_twice = true}, AKG_ERROR_USAGE, "function-saved-twice",
                    "'script' calls akg_context_save_for_backward a second time");
    refused_forward((struct script){.reads_early = true}, AKG_ERROR_USAGE, "function-phase",
                    "'script' calls akg_context_saved_tensors outside its backward");
    refused_forward((struct script){.marks_stranger = true}, AKG_ERROR_USAGE, "function-mark",
                    "'script' marks a tensor as non-differentiable that is not returned");
    refused_forward((struct script){.dirty_stranger = true}, AKG_ERROR_USAGE, "function-mark",
                    "'script' marks a tensor as dirty that is no input");
    refused_forward((struct script){.dirty = true}, AKG_ERROR_CALL, "gradient-leaf-written", "'script'");
    refused_forward((struct script){.tensor_attribute = true}, AKG_ERROR_USAGE, "function-attribute",
                    "attribute 'x' of 'script'");
    refused_backward((struct script){.saves_late = true}, AKG_ERROR_USAGE, "function-phase",
                     "'script' calls akg_context_save_for_backward outside its forward");
    refused_backward((struct script){.saves_late = true, .swallows = true}, AKG_ERROR_USAGE, "function-phase",
                     "'script' calls akg_context_save_for_backward outside its forward");
    refused_backward((struct script){.marks_late = true}, AKG_ERROR_USAGE, "function-phase",
                     "'script' calls akg_context_mark_dirty outside its forward");
    refused_backward((struct script){.no_gradient = true}, AKG_ERROR_CALL, "function-gradient-missing",
                     "the backward of 'script' returned no gradient for tensor 0, which requires one");
    refused_backward((struct script){.gradient_anyway = true}, AKG_ERROR_CALL, "function-gradient-extra",
                     "the backward of 'script' returned a gradient for tensor 1, which requires none");
}

static void test_application(void)
{
    akg_tensor *x = net_scalar(AKG_FLOAT32, 1, true), *outputs[2];
    akg_function function = product;
    akg_argument arguments[] = {api_int(NULL, 1), api_tensor(NULL, x),
                                api_tensors(NULL, (akg_tensor *[]){x, x}, 2)};

    REFUSED(akg_function_apply(tape, &function, arguments, 1, outputs, &diagnostics), AKG_ERROR_USAGE,
            "function-no-input", "'product' is applied to no tensor");
    REFUSED(akg_function_apply(tape, &function, arguments, 2, outputs, &diagnostics), AKG_ERROR_USAGE,
            "function-gradient-count",
            "the backward of 'product' returns 2 gradients, but it is applied to 1 tensor");
    REFUSED(akg_function_apply(tape, &function, arguments, 3, outputs, &diagnostics), AKG_ERROR_USAGE,
            "function-gradient-count", "applied to 3 tensors");
    function.output_count = 0;
    REFUSED(akg_function_apply(tape, &function, arguments + 2, 1, NULL, &diagnostics), AKG_ERROR_USAGE,
            "function-no-output", "'product' returns no tensor");
    CHECK_INT(akg_function_apply(NULL, &product, arguments, 2, outputs, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_function_apply(tape, NULL, arguments, 2, outputs, NULL), AKG_ERROR_USAGE);
    function.backward = NULL;
    CHECK_INT(akg_function_apply(tape, &function, arguments, 2, outputs, NULL), AKG_ERROR_USAGE);
    akg_tensor_release(x);
}

/* ---- marks, and gradients that are absent
 * --------------------------------------------------------------------- */

static void run_script(struct script *script, akg_tensor *x, int root, akg_tensor **outputs)
{
    akg_tensor *y = net_scalar(AKG_FLOAT32, 1, false);
    akg_function function;

    CHECK_INT(apply_script(script, &function, x, y, outputs), AKG_OK);
    if (root >= 0)
        CHECK_INT(backward(outputs[root]), AKG_OK);
    akg_tensor_release(y);
}

static void test_marks(void)
{
    akg_tensor *x = net_vector(AKG_FLOAT32, 2, 1, 1, true), *copy, *outputs[2];
    struct script script = {.plain = true};

    run_script(&script, x, 0, outputs);
    CHECK(akg_tensor_requires_grad(outputs[0]) && !akg_tensor_requires_grad(outputs[1]));
    NEAR(akg_tensor_grad(x), 1, 1);
    CHECK_INT(script.gradients_absent, 0); /* zeros */
    CHECK_INT(script.data_released, 1);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);

    script = (struct script){.drops_absent = true};
    run_script(&script, x, 1, outputs);
    CHECK_INT(script.gradients_absent, 1);
    NEAR(akg_tensor_grad(x), 1, 2);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);

    /* an output that was left out has no gradient, not even zeros */
    script = (struct script){.second_left_out = true};
    run_script(&script, x, 0, outputs);
    CHECK(outputs[1] == NULL);
    CHECK_INT(script.gradients_absent, 1);
    akg_tensor_release(outputs[0]);
    akg_tensor_clear_grad(x);
    NEAR(x, 0, 1);

    /* zero because nothing came in: NULL is no omission */
    script = (struct script){.drops_absent = true, .no_gradient = true};
    run_script(&script, x, 1, outputs);
    CHECK(akg_tensor_grad(x) == NULL);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);

    /* an input that is returned unmarked comes back as a view with a history of its own */
    script = (struct script){.returns_input = true};
    run_script(&script, x, 0, outputs);
    CHECK(outputs[0] != x && akg_tensor_data(outputs[0]) == akg_tensor_data(x));
    CHECK(akg_tensor_is_leaf(x) && !akg_tensor_is_leaf(outputs[0]));
    NEAR(akg_tensor_grad(x), 1, 1);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);

    /* dirty: the same tensor, with its history going on */
    akg_tensor_clear_grad(x);
    copy = net_product(tape, x, x);
    uint64_t version = akg_tensor_version(copy);
    script = (struct script){.dirty = true};
    run_script(&script, copy, 0, outputs);
    CHECK(outputs[0] == copy);
    CHECK_INT(akg_tensor_version(copy), version + 1);
    NEAR(akg_tensor_grad(x), 1, 4);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    akg_tensor_release(copy);

    /* dirty, but not returned */
    copy = net_product(tape, x, x);
    akg_function function;
    script = (struct script){.dirty = true, .keeps_dirty = true};
    REFUSED(apply_script(&script, &function, copy, copy, outputs), AKG_ERROR_USAGE, "function-mark",
            "'script' marks a tensor as dirty that is not returned");
    akg_tensor_release(copy);
    akg_tensor_release(x);
}

/* ---- host operators --------------------------------------------------------------------------------------
 */

static struct {
    size_t count;
    bool there[8];
    double first[8];
} seen;

static akg_status host_forward(void *user, akg_tensor *const *inputs, akg_tensor **outputs,
                               akg_diagnostics **list)
{
    (void)user, (void)list;
    CHECK_INT(akg_tensor_copy(inputs[0], &outputs[0]), AKG_OK);
    CHECK_INT(akg_tensor_copy(inputs[1], &outputs[1]), AKG_OK);
    akg_tensor_fill(outputs[0], 30);
    akg_tensor_fill(outputs[1], 40);
    return AKG_OK;
}

static akg_status host_backward(void *user, akg_tensor *const *arguments, size_t count,
                                akg_tensor **input_gradients, akg_diagnostics **list)
{
    (void)user, (void)list;
    seen.count = count;
    for (size_t i = 0; i < count && i < 8; i++) {
        seen.there[i] = arguments[i];
        seen.first[i] = arguments[i] ? api_element(arguments[i], 0) : 0;
    }
    return akg_tensor_copy(arguments[count - 2], &input_gradients[0]);
}

static void test_host_order(void)
{
    static const double all[] = {10, 20, 30, 40, 5};
    static const struct {
        size_t skip[3], skip_count, left[6];
    } cases[] = {
        {{0}, 0, {0, 1, 2, 3, 4}}, {{0}, 1, {1, 2, 3, 4}}, {{3, 0}, 2, {1, 2, 4}}, {{1, 2, 1}, 3, {0, 3, 4}}};
    akg_host_operator host = {.name = "host",
                              .input_count = 2,
                              .output_count = 2,
                              .forward = host_forward,
                              .backward = host_backward};
    akg_tensor *inputs[] = {net_scalar(AKG_FLOAT32, 10, true), net_scalar(AKG_FLOAT32, 20, false)},
               *outputs[2];
    akg_tensor *five = net_scalar(AKG_FLOAT32, 5, false);

    for (size_t i = 0; i < API_COUNT(cases); i++) {
        size_t distinct = i == 3 ? 2 : cases[i].skip_count, count = 6 - distinct;
        host.skip = cases[i].skip;
        host.skip_count = cases[i].skip_count;
        akg_tensor_clear_grad(inputs[0]);
        CHECK_INT(akg_host_operator_call(tape, &host, inputs, outputs, &diagnostics), AKG_OK);
        CHECK_INT(akg_backward(tape, outputs, &five, 1, false, &diagnostics), AKG_OK);
        CHECK_INT(seen.count, count);
        for (size_t k = 0; k + 1 < count; k++)
            CHECK(seen.there[k] && seen.first[k] == all[cases[i].left[k]]);
        CHECK(!seen.there[count - 1]); /* nothing depends on the second output */
        NEAR(akg_tensor_grad(inputs[0]), 0, 5);
        akg_tensor_release(outputs[0]);
        akg_tensor_release(outputs[1]);
    }
    host.skip = (size_t[]){4};
    host.skip_count = 1;
    REFUSED(akg_host_operator_call(tape, &host, inputs, outputs, &diagnostics), AKG_ERROR_USAGE, "host-skip",
            "'host' cannot skip position 4: it has 2 inputs and 2 outputs");
    akg_tensor_release(inputs[0]);
    akg_tensor_release(inputs[1]);
    akg_tensor_release(five);
}

static akg_status look_forward(void *user, akg_tensor *const *inputs, akg_tensor **outputs,
                               akg_diagnostics **list)
{
    (void)outputs, (void)list;
    *(double *)user = api_element(inputs[0], 0);
    return AKG_OK;
}

static void test_host_edges(void)
{
    akg_host_operator host = {.name = "host", .input_count = 2, .output_count = 2, .forward = host_forward};
    double looked = 0;
    akg_host_operator look = {.name = "look", .input_count = 1, .forward = look_forward, .user = &looked};
    akg_tensor *inputs[] = {net_scalar(AKG_FLOAT32, 10, true), net_scalar(AKG_FLOAT32, 20, true)},
               *outputs[2];

    /* no backward function: no gradient flows through */
    CHECK_INT(akg_host_operator_call(tape, &host, inputs, outputs, NULL), AKG_OK);
    CHECK(!akg_tensor_requires_grad(outputs[0]) && !akg_tensor_requires_grad(outputs[1]));
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    /* no outputs at all: to look at a tensor that passes by */
    CHECK_INT(akg_host_operator_call(tape, &look, inputs, NULL, NULL), AKG_OK);
    CHECK(looked == 10);
    /* an input that has a gradient of NULL gets none; what was saved is guarded; second order is refused */
    host.backward = host_backward;
    CHECK_INT(akg_host_operator_call(tape, &host, inputs, outputs, NULL), AKG_OK);
    CHECK_INT(akg_backward(tape, outputs, NULL, 2, true, &diagnostics), AKG_OK);
    CHECK(akg_tensor_grad(inputs[0]) && !akg_tensor_grad(inputs[1]));
    akg_tensor *first, *second;
    CHECK_INT(akg_gradients(tape, outputs, NULL, 1, inputs, 1, &(akg_gradient_options){.create_graph = true},
                            &first, &diagnostics),
              AKG_OK);
    REFUSED(akg_gradients(tape, &first, NULL, 1, inputs, 1, NULL, &second, &diagnostics), AKG_ERROR_CALL,
            "gradient-second", "the gradient of 'host' cannot be differentiated again");
    akg_tensor_release(first);
    akg_tensor_fill(outputs[1], 0);
    REFUSED(backward(outputs[0]), AKG_ERROR_CALL, "gradient-changed", "output 1 of 'host'");
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    akg_tensor_release(inputs[0]);
    akg_tensor_release(inputs[1]);
}

int main(void)
{
    CHECK_INT(akg_tape_create(NULL, &tape), AKG_OK);
    test_product();
    test_second_order();
    test_changed();
    test_rules();
    test_application();
    test_marks();
    test_host_order();
    test_host_edges();
    akg_tape_release(tape);
    return check_done();
}
