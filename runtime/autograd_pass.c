/*
 * autograd_pass.c: a backward pass: akg_backward and akg_gradients.
 *
 * Going down from the roots, depth first and without recursion, every node is put in front of a list after
 * those it leads to: the list is an order in which each node comes before its inputs, the same on every run.
 * On the way back up it is known whether a node leads to a wanted tensor. Then the list is walked: a needed
 * node runs when all gradients of its outputs have been summed, is freed, and hands its gradients down.
 *
 * The list, the way down and the sums lie in the nodes themselves, so this takes no memory but for gradients.
 * A node takes part in one pass at a time. Gradients of leaves change when all else has succeeded.
 */
#include "autograd.h"

#include "../base/memory.h"
#include "gpu.h"

#include <stdio.h>
#include <string.h>

struct autograd_pass {
    akg_tape *tape;
    akg_diagnostics **diagnostics;
    bool all_leaves; /* wanted: every leaf, else the outputs marked so */
    bool retain, create;
    struct autograd_node *order; /* what is still to be passed; each is held by a reference */
    struct autograd_node *kept;  /* what was passed and has a wanted gradient */
    int most_edges, most_outputs;
    void *scratch;
    akg_tensor **output_gradients, **input_gradients;
    bool *needed;
};

/* ---- finding the nodes ------------------------------------------------------------------------------ */

static bool is_wanted(const struct autograd_pass *pass, const struct autograd_edge *edge)
{
    return edge->node->outputs[edge->output].wanted || (pass->all_leaves && autograd_is_leaf(edge->node));
}

static bool leads_on(const struct autograd_pass *pass, const struct autograd_edge *edge)
{
    return edge->node && (edge->node->needed || is_wanted(pass, edge));
}

static akg_status refuse_nested(struct autograd_pass *pass, const struct autograd_node *node)
{
    return failure_report(pass->diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_NESTED, node->name, NULL, NULL,
                          NULL);
}

/* Refuses what cannot be passed; else the node is part of the pass. */
static akg_status enter(struct autograd_pass *pass, struct autograd_node *node)
{
    if (node->pass)
        return refuse_nested(pass, node);
    if (node->used_up)
        return failure_report(pass->diagnostics, AKG_ERROR_CALL, MSG_GRADIENT_USED_UP, NULL, NULL, NULL,
                              "help: hand in retain_graph to the first pass, or all roots to one pass");
    autograd_node_retain(node);
    node->pass = pass;
    node->next_edge = 0;
    node->needed = false;
    if (node->edge_count > pass->most_edges)
        pass->most_edges = node->edge_count;
    if (node->output_count > pass->most_outputs)
        pass->most_outputs = node->output_count;
    return AKG_OK;
}

/* The next input to go down to, or NULL. */
static struct autograd_node *next_below(struct autograd_pass *pass, struct autograd_node *node)
{
    while (node->next_edge < node->edge_count) {
        struct autograd_node *below = node->edges[node->next_edge++].node;
        if (below && below->pass != pass)
            return below;
    }
    return NULL;
}

static void finish(struct autograd_pass *pass, struct autograd_node *node)
{
    for (int i = 0; i < node->edge_count && !node->needed; i++)
        node->needed = leads_on(pass, &node->edges[i]);
    node->link = pass->order;
    pass->order = node;
}

/* `link` of a node on the way down is the node above it. When it fails, the way is put in order as well: what
 * is in the list is given back. */
static akg_status descend(struct autograd_pass *pass, struct autograd_node *root)
{
    struct autograd_node *at = root;

    if (root->pass == pass)
        return AKG_OK;
    akg_status status = enter(pass, root);
    if (status != AKG_OK)
        return status;
    root->link = NULL;
    while (at) {
        struct autograd_node *below = status == AKG_OK ? next_below(pass, at) : NULL;
        if (below && (status = enter(pass, below)) == AKG_OK) {
            below->link = at;
            at = below;
        } else {
            struct autograd_node *above = at->link;
            finish(pass, at);
            at = above;
        }
    }
    return status;
}

/* ---- gradients on their way --------------------------------------------------------------------------- */

static bool has_form(const akg_tensor *tensor, const struct autograd_output *output)
{
    return tensor->dtype == output->dtype && tensor->rank == output->rank &&
           tensor_same_shape(output->rank, tensor->dims, output->dims);
}

static akg_status refuse_form(struct autograd_pass *pass, akg_status status, const char *place,
                              const akg_tensor *tensor, const struct autograd_output *output)
{
    char found[TENSOR_FORM_TEXT], needed[TENSOR_FORM_TEXT];

    tensor_print_form(found, tensor->dtype, tensor->rank, tensor->dims);
    tensor_print_form(needed, output->dtype, output->rank, output->dims);
    return failure_report(pass->diagnostics, status, MSG_GRADIENT_FORM, place, found, needed, NULL);
}

/* The gradient summed over what was broadcast and cast to the dtype. Takes over the reference. */
static akg_status bring_to_form(struct autograd_pass *pass, const struct autograd_step *step, size_t index,
                                const struct autograd_output *output, akg_tensor **gradient)
{
    akg_tensor *given = *gradient;
    akg_status status;

    if (has_form(given, output))
        return AKG_OK;
    if (!dtype_is_float(given->dtype) ||
        !autograd_can_sum_to(given->rank, given->dims, output->rank, output->dims)) {
        char place[96];
        snprintf(place, sizeof place, "input %zu of '%.60s'", index, step->node->name);
        status = refuse_form(pass, AKG_ERROR_CALL, place, given, output);
    } else if (given->rank == output->rank && tensor_same_shape(output->rank, given->dims, output->dims)) {
        status = autograd_cast(pass->tape, given, output->dtype, gradient, pass->diagnostics);
    } else {
        status = autograd_sum_to(pass->tape, given, output, gradient, pass->diagnostics);
    }
    if (status != AKG_OK)
        *gradient = NULL;
    akg_tensor_release(given);
    return status;
}

/* Whether adding in place changes nothing for anybody else, and cannot fail. */
static bool grad_may_grow(const akg_tensor *sum)
{
    return tensor_is_exclusive(sum) && !sum->device;
}

/* Adds to the sum of an output. Takes over the reference. */
static akg_status accumulate(struct autograd_pass *pass, struct autograd_output *output, akg_tensor *gradient)
{
    akg_tensor *sum = output->gradient;
    akg_status status = AKG_OK;

    if (!sum) {
        output->gradient = gradient;
        return AKG_OK;
    }
    if (!pass->create && !pass->tape->graph && grad_may_grow(sum) && gradient->contiguous) {
        autograd_add_into(sum, gradient);
    } else {
        status = autograd_add(pass->tape, sum, gradient, &output->gradient, pass->diagnostics);
        if (status == AKG_OK)
            akg_tensor_release(sum);
        else
            output->gradient = sum;
    }
    akg_tensor_release(gradient);
    return status;
}

/* ---- running the nodes --------------------------------------------------------------------------------- */

static bool make_scratch(struct autograd_pass *pass)
{
    size_t edges = (size_t)pass->most_edges, outputs = (size_t)pass->most_outputs;

    pass->scratch = memory_allocate((edges + outputs) * sizeof(akg_tensor *) + edges + 1);
    if (!pass->scratch)
        return false;
    pass->output_gradients = pass->scratch;
    pass->input_gradients = pass->output_gradients + outputs;
    pass->needed = (bool *)(void *)(pass->input_gradients + edges);
    return true;
}

/* Takes the sums out of the node, but leaves the wanted ones there too. */
static akg_status take_output_gradients(struct autograd_pass *pass, struct autograd_node *node, bool *any)
{
    akg_status status = AKG_OK;

    *any = false;
    for (int i = 0; i < node->output_count; i++) {
        struct autograd_output *output = &node->outputs[i];
        pass->output_gradients[i] = output->gradient;
        *any = *any || output->gradient;
        if (output->wanted)
            akg_tensor_retain(output->gradient);
        else
            output->gradient = NULL;
    }
    for (int i = 0; i < node->output_count && node->materialise && *any && status == AKG_OK; i++) {
        const struct autograd_output *output = &node->outputs[i];
        if (!pass->output_gradients[i] && output->dims)
            status = autograd_filled(pass->tape, output, 0, &pass->output_gradients[i], pass->diagnostics);
    }
    return status;
}

static bool step_has_history(const struct autograd_step *step)
{
    const struct autograd_node *node = step->node;

    for (int i = 0; i < node->output_count; i++)
        if (step->output_gradients[i] && step->output_gradients[i]->node)
            return true;
    for (int i = 0; i < node->saved_count; i++)
        if (node->saved[i].edge.node)
            return true;
    return false;
}

/* The tape did not see how this gradient was computed. If what it was computed from has a history, it cannot
 * be differentiated again: whoever tries is told so, rather than given a wrong result. */
static akg_status mark_unseen(const struct autograd_step *step, akg_tensor **gradient)
{
    akg_tensor *given = *gradient;

    if (!step_has_history(step))
        return AKG_OK;
    akg_status status = autograd_refuse_second(step, given, gradient);
    if (status == AKG_OK)
        akg_tensor_release(given);
    else
        *gradient = given;
    return status;
}

static akg_status hand_down(struct autograd_pass *pass, const struct autograd_step *step)
{
    struct autograd_node *node = step->node;
    akg_status status = AKG_OK;

    for (int i = 0; i < node->edge_count && status == AKG_OK; i++) {
        akg_tensor **gradient = &pass->input_gradients[i];
        const struct autograd_edge *edge = &node->edges[i];
        if (!*gradient || !pass->needed[i])
            continue;
        struct autograd_output *output = &edge->node->outputs[edge->output];
        if (pass->create && !node->backward_on_tape)
            status = mark_unseen(step, gradient);
        if (status == AKG_OK)
            status = bring_to_form(pass, step, (size_t)i, output, gradient);
        if (status == AKG_OK) {
            akg_tensor *taken = *gradient;
            *gradient = NULL;
            status = accumulate(pass, output, taken);
        }
    }
    return status;
}

static akg_status run_node(struct autograd_pass *pass, struct autograd_node *node)
{
    struct autograd_step step = {.tape = pass->tape,
                                 .node = node,
                                 .state = node->state,
                                 .output_gradients = pass->output_gradients,
                                 .needed = pass->needed};
    int edge_count = node->edge_count;
    bool any;
    akg_status status = take_output_gradients(pass, node, &any);

    memset(pass->input_gradients, 0, (size_t)edge_count * sizeof *pass->input_gradients);
    if (status == AKG_OK && any && node->needed) {
        for (int i = 0; i < edge_count; i++)
            pass->needed[i] = leads_on(pass, &node->edges[i]);
        pass->tape->recording = pass->create && node->backward_on_tape;
        status = node->operation->backward(&step, pass->input_gradients, pass->diagnostics);
        pass->tape->recording = pass->create;
        if (status == AKG_OK && pass->diagnostics) {
            akg_diagnostics_free(*pass->diagnostics); /* of a failure that backward got over */
            *pass->diagnostics = NULL;
        }
        if (!pass->retain)
            autograd_node_drop_saved(node);
        if (status == AKG_OK)
            status = hand_down(pass, &step);
    }
    autograd_release_tensors(pass->output_gradients, (size_t)node->output_count);
    autograd_release_tensors(pass->input_gradients, (size_t)edge_count);
    if (!pass->retain && node->needed)
        autograd_node_use_up(node);
    return status;
}

/* The node takes no more part in the pass. */
static void leave(struct autograd_node *node)
{
    for (int i = 0; i < node->output_count; i++) {
        akg_tensor_release(node->outputs[i].gradient);
        node->outputs[i].gradient = NULL;
        node->outputs[i].wanted = false;
    }
    node->pass = NULL;
    autograd_node_release(node);
}

static bool has_wanted(const struct autograd_pass *pass, const struct autograd_node *node)
{
    for (int i = 0; i < node->output_count; i++)
        if (is_wanted(pass, &(struct autograd_edge){(struct autograd_node *)node, i}))
            return true;
    return false;
}

static akg_status run_nodes(struct autograd_pass *pass)
{
    akg_status status = AKG_OK;

    while (pass->order && status == AKG_OK) {
        struct autograd_node *node = pass->order;
        pass->order = node->link;
        if (!autograd_is_leaf(node))
            status = run_node(pass, node);
        if (has_wanted(pass, node)) {
            node->link = pass->kept;
            pass->kept = node;
        } else {
            leave(node);
        }
    }
    return status;
}

/* ---- a whole pass -------------------------------------------------------------------------------------- */

static akg_status check_root(struct autograd_pass *pass, const akg_tensor *root, const akg_tensor *gradient,
                             size_t index)
{
    char place[32];

    if (!root)
        return AKG_ERROR_USAGE;
    snprintf(place, sizeof place, "root %zu", index);
    if (!root->node)
        return failure_report(pass->diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_NOT_NEEDED, place, NULL, NULL,
                              "note: no input of what made it required a gradient, or the tape did not "
                              "record, or it was made by a call that has no gradient");
    const struct autograd_output *output = &root->node->outputs[root->output];
    return !gradient || has_form(gradient, output)
               ? AKG_OK
               : refuse_form(pass, AKG_ERROR_USAGE, place, gradient, output);
}

static akg_status start_root(struct autograd_pass *pass, const akg_tensor *root, akg_tensor *gradient)
{
    struct autograd_output *output = &root->node->outputs[root->output];
    akg_tensor *first = akg_tensor_retain(gradient);
    akg_status status = first ? AKG_OK : autograd_filled(pass->tape, output, 1, &first, pass->diagnostics);

    return status == AKG_OK ? accumulate(pass, output, first) : status;
}

static akg_status pass_through(struct autograd_pass *pass, akg_tensor *const *roots,
                               akg_tensor *const *root_gradients, size_t root_count)
{
    akg_status status = AKG_OK;
    bool recording = pass->tape->recording;

    for (size_t i = 0; i < root_count && status == AKG_OK; i++)
        status = descend(pass, roots[i]->node);
    if (status == AKG_OK && !make_scratch(pass))
        status = AKG_ERROR_MEMORY;
    pass->tape->recording = pass->create;
    for (size_t i = 0; i < root_count && status == AKG_OK; i++)
        status = start_root(pass, roots[i], root_gradients ? root_gradients[i] : NULL);
    if (status == AKG_OK)
        status = run_nodes(pass);
    pass->tape->recording = recording;
    return status;
}

static void pass_end(struct autograd_pass *pass)
{
    struct autograd_node **lists[] = {&pass->order, &pass->kept};

    for (int i = 0; i < 2; i++)
        while (*lists[i]) {
            struct autograd_node *node = *lists[i];
            *lists[i] = node->link;
            leave(node);
        }
    memory_free(pass->scratch);
}

static bool pass_is_usable(const akg_tape *tape, akg_tensor *const *roots, size_t root_count)
{
    return tape && (roots || !root_count);
}

/* A gradient nobody else has: what the caller gave, or anybody may still write, is copied. */
static akg_status make_own(akg_tensor **gradient, akg_diagnostics **diagnostics)
{
    akg_tensor *given = *gradient;
    struct gpu_failure failure = {0};

    if (tensor_is_exclusive(given) && given->contiguous && !given->node)
        return AKG_OK;
    akg_status status = tensor_copy_to(given, given->device, gradient, &failure);
    if (status == AKG_OK)
        akg_tensor_release(given);
    else
        *gradient = given;
    return failure.status != AKG_OK ? gpu_failure_report(&failure, diagnostics) : status;
}

/* ---- akg_backward -------------------------------------------------------------------------------------- */

/* Makes ready what commit_leaf needs, so that it cannot fail. */
static akg_status prepare_leaf(struct autograd_node *leaf, akg_diagnostics **diagnostics)
{
    struct autograd_output *output = &leaf->outputs[0];
    akg_tensor *sum;

    if (!output->gradient)
        return AKG_OK;
    akg_status status = make_own(&output->gradient, diagnostics);
    if (status != AKG_OK || !leaf->grad || grad_may_grow(leaf->grad))
        return status;
    status = autograd_add(NULL, leaf->grad, output->gradient, &sum, diagnostics);
    if (status != AKG_OK)
        return status;
    akg_tensor_release(output->gradient);
    output->gradient = sum;
    return AKG_OK;
}

static void commit_leaf(struct autograd_node *leaf)
{
    struct autograd_output *output = &leaf->outputs[0];

    if (!output->gradient)
        return;
    if (leaf->grad && grad_may_grow(leaf->grad)) {
        autograd_add_into(leaf->grad, output->gradient);
        return;
    }
    akg_tensor_release(leaf->grad);
    leaf->grad = output->gradient;
    output->gradient = NULL;
}

akg_status akg_backward(akg_tape *tape, akg_tensor *const *roots, akg_tensor *const *root_gradients,
                        size_t root_count, bool retain_graph, akg_diagnostics **diagnostics)
{
    struct autograd_pass pass = {
        .tape = tape, .diagnostics = diagnostics, .all_leaves = true, .retain = retain_graph};
    akg_status status = AKG_OK;

    if (diagnostics)
        *diagnostics = NULL;
    if (!pass_is_usable(tape, roots, root_count))
        return AKG_ERROR_USAGE;
    if (tape->graph)
        return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_GRAPH_NO_STEP, "akg_backward",
                              "what it adds to belongs to the program", NULL,
                              "help: akg_gradients and akg_value_and_grad hand gradients out");
    for (size_t i = 0; i < root_count && status == AKG_OK; i++)
        status = check_root(&pass, roots[i], root_gradients ? root_gradients[i] : NULL, i);
    if (status == AKG_OK)
        status = pass_through(&pass, roots, root_gradients, root_count);
    for (struct autograd_node *leaf = pass.kept; leaf && status == AKG_OK; leaf = leaf->link)
        status = prepare_leaf(leaf, pass.diagnostics);
    for (struct autograd_node *leaf = pass.kept; leaf && status == AKG_OK; leaf = leaf->link)
        commit_leaf(leaf);
    pass_end(&pass);
    return autograd_finish(status, diagnostics);
}

/* ---- akg_gradients ------------------------------------------------------------------------------------- */

static akg_status check_wanted(struct autograd_pass *pass, akg_tensor *const *tensors, size_t count)
{
    char place[32];

    for (size_t i = 0; i < count; i++) {
        if (!tensors[i])
            return AKG_ERROR_USAGE;
        if (tensors[i]->node && tensors[i]->node->pass)
            return refuse_nested(pass, tensors[i]->node);
        if (tensors[i]->node)
            continue;
        snprintf(place, sizeof place, "tensor %zu", i);
        return failure_report(pass->diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_NOT_NEEDED, place, NULL, NULL,
                              "help: akg_tensor_set_requires_grad, before it is used");
    }
    return AKG_OK;
}

static void mark_wanted(akg_tensor *const *tensors, size_t count, bool wanted)
{
    for (size_t i = 0; i < count; i++)
        tensors[i]->node->outputs[tensors[i]->output].wanted = wanted;
}

static akg_status take_wanted(const struct autograd_pass *pass, akg_tensor *const *tensors, size_t count,
                              akg_tensor **gradients)
{
    akg_status status = AKG_OK;

    for (size_t i = 0; i < count && status == AKG_OK; i++) {
        struct autograd_node *node = tensors[i]->node;
        akg_tensor *gradient = node->pass == pass ? node->outputs[tensors[i]->output].gradient : NULL;
        if (!gradient)
            continue;
        gradients[i] = akg_tensor_retain(gradient);
        if (!pass->create && !pass->tape->graph)
            status = make_own(&gradients[i], pass->diagnostics);
    }
    return status;
}

akg_status akg_gradients(akg_tape *tape, akg_tensor *const *roots, akg_tensor *const *root_gradients,
                         size_t root_count, akg_tensor *const *with_respect_to, size_t count,
                         const akg_gradient_options *options, akg_tensor **gradients,
                         akg_diagnostics **diagnostics)
{
    bool create = options && options->create_graph;
    struct autograd_pass pass = {.tape = tape,
                                 .diagnostics = diagnostics,
                                 .retain = create || (options && options->retain_graph),
                                 .create = create};
    akg_status status = AKG_OK;

    if (diagnostics)
        *diagnostics = NULL;
    if (!pass_is_usable(tape, roots, root_count) || (count && (!gradients || !with_respect_to)))
        return AKG_ERROR_USAGE;
    for (size_t i = 0; i < count; i++)
        gradients[i] = NULL;
    for (size_t i = 0; i < root_count && status == AKG_OK; i++)
        status = check_root(&pass, roots[i], root_gradients ? root_gradients[i] : NULL, i);
    if (status == AKG_OK)
        status = check_wanted(&pass, with_respect_to, count);
    if (status != AKG_OK)
        return autograd_finish(status, diagnostics);
    mark_wanted(with_respect_to, count, true);
    status = pass_through(&pass, roots, root_gradients, root_count);
    if (status == AKG_OK)
        status = take_wanted(&pass, with_respect_to, count, gradients);
    pass_end(&pass);
    mark_wanted(with_respect_to, count, false);
    if (status != AKG_OK)
        autograd_release_tensors(gradients, count);
    return autograd_finish(status, diagnostics);
}
