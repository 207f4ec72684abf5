/*
 * autograd.c: tapes, nodes, and the state of tensors that take part in gradients.
 *
 * A node is one allocation: its edges, outputs, saved tensors and the extents of its outputs lie behind it.
 * So recording takes one trip to the heap, and fails before anything was changed or not at all.
 */
#include "autograd.h"

#include "../base/memory.h"
#include "gradient_form.h"

#include <stdio.h>
#include <string.h>

/* ---- tapes ----------------------------------------------------------------------------------------- */

akg_status akg_tape_create(akg_registry *registry, akg_tape **tape)
{
    if (!tape)
        return AKG_ERROR_USAGE;
    *tape = memory_allocate(sizeof **tape);
    if (!*tape)
        return AKG_ERROR_MEMORY;
    **tape = (akg_tape){.registry = akg_registry_retain(registry), .recording = true};
    return AKG_OK;
}

void akg_tape_release(akg_tape *tape)
{
    if (!tape)
        return;
    gradient_forms_free(tape->forms);
    akg_registry_release(tape->registry);
    memory_free(tape);
}

akg_registry *akg_tape_registry(const akg_tape *tape)
{
    return tape ? tape->registry : NULL;
}

bool akg_tape_set_recording(akg_tape *tape, bool recording)
{
    bool before = tape && tape->recording;
    if (tape)
        tape->recording = recording;
    return before;
}

bool akg_tape_is_recording(const akg_tape *tape)
{
    return tape && tape->recording;
}

/* ---- making nodes ------------------------------------------------------------------------------------ */

struct node_size {
    size_t edges, outputs, saved, dims;
};

static struct autograd_node *node_create(const struct node_size *size)
{
    size_t edges = sizeof(struct autograd_node), outputs = edges + size->edges * sizeof(struct autograd_edge);
    size_t saved = outputs + size->outputs * sizeof(struct autograd_output);
    size_t dims = saved + size->saved * sizeof(struct autograd_saved);
    char *block = memory_allocate(dims + size->dims * sizeof(int64_t));

    if (!block)
        return NULL;
    struct autograd_node *node = (struct autograd_node *)(void *)block;
    atomic_init(&node->references, 0);
    node->edges = (struct autograd_edge *)(void *)(block + edges);
    node->outputs = (struct autograd_output *)(void *)(block + outputs);
    node->saved = (struct autograd_saved *)(void *)(block + saved);
    node->edge_count = (int)size->edges;
    node->output_count = (int)size->outputs;
    node->saved_count = (int)size->saved;
    /* one by one: to clear all of it at once takes longer */
    node->operation = NULL;
    node->name = NULL;
    node->state = NULL;
    node->materialise = false;
    node->backward_on_tape = false;
    node->used_up = false;
    node->pass = NULL;
    node->link = NULL;
    node->next_edge = 0;
    node->needed = false;
    node->grad = NULL;
    return node;
}

/* Extents follow each other behind the saved tensors. */
static int64_t *node_describe(struct autograd_node *node, int index, const akg_tensor *tensor, int64_t *dims)
{
    struct autograd_output *output = &node->outputs[index];

    *output = (struct autograd_output){.dims = tensor ? dims : NULL};
    if (!tensor)
        return dims;
    output->dtype = tensor->dtype;
    output->rank = tensor->rank;
    output->device = tensor->device;
    output->recorded = tensor->recording ? tensor->recorded : -1;
    memcpy(dims, tensor->dims, (size_t)tensor->rank * sizeof *dims);
    return dims + tensor->rank;
}

static int64_t *node_dims(struct autograd_node *node)
{
    return (int64_t *)(void *)(node->saved + node->saved_count);
}

static struct autograd_edge edge_of(const akg_tensor *tensor)
{
    if (!tensor || !tensor->node)
        return (struct autograd_edge){NULL, 0};
    return (struct autograd_edge){autograd_node_retain(tensor->node), tensor->output};
}

/* Takes over a reference to the node. */
static void attach_owned(akg_tensor *tensor, struct autograd_node *node, int output)
{
    struct autograd_node *before = tensor->node;

    tensor->node = node;
    tensor->output = output;
    autograd_node_release(before);
}

void autograd_attach(akg_tensor *tensor, struct autograd_node *node, int output)
{
    attach_owned(tensor, autograd_node_retain(node), output);
}

static akg_tensor *version_owner(akg_tensor *tensor)
{
    return tensor->base ? tensor->base : tensor;
}

static uint64_t version_of(const akg_tensor *tensor)
{
    return atomic_load_explicit(&version_owner((akg_tensor *)tensor)->version, memory_order_relaxed);
}

/* ---- freeing nodes ----------------------------------------------------------------------------------- */

void autograd_node_drop_saved(struct autograd_node *node)
{
    for (int i = 0; i < node->saved_count; i++) {
        struct autograd_saved *saved = &node->saved[i];
        tensor_drop(saved->tensor);
        if (saved->is_own)
            autograd_node_release(saved->edge.node);
    }
    node->saved_count = 0;
}

void autograd_node_use_up(struct autograd_node *node)
{
    autograd_node_drop_saved(node);
    for (int i = 0; i < node->edge_count; i++)
        autograd_node_release(node->edges[i].node);
    node->edge_count = 0;
    if (node->operation->release && node->state)
        node->operation->release(node->state);
    node->state = NULL;
    node->name = "a call that was passed"; /* its own may have gone with the state */
    node->used_up = true;
}

/* Puts an edge's node in the list of those to be freed, if that was its last reference. */
static void release_into(struct autograd_node **list, struct autograd_node *node)
{
    if (!node || !tensor_count_goes(&node->references))
        return;
    node->link = *list;
    *list = node;
}

/* A list instead of recursion: chains of calls are long. */
void autograd_node_release(struct autograd_node *node)
{
    struct autograd_node *list = NULL;

    release_into(&list, node);
    while (list) {
        struct autograd_node *dead = list;
        list = dead->link;
        for (int i = 0; i < dead->saved_count; i++) {
            tensor_drop(dead->saved[i].tensor);
            if (dead->saved[i].is_own)
                release_into(&list, dead->saved[i].edge.node);
        }
        for (int i = 0; i < dead->edge_count; i++)
            release_into(&list, dead->edges[i].node);
        if (dead->operation && dead->operation->release && dead->state)
            dead->operation->release(dead->state);
        akg_tensor_release(dead->grad);
        memory_free(dead);
    }
}

/* ---- recording --------------------------------------------------------------------------------------- */

static bool output_is_differentiable(const struct autograd_record *record, size_t index)
{
    const akg_tensor *tensor = record->outputs[index];
    return tensor && dtype_is_float(tensor->dtype) &&
           !(record->non_differentiable && record->non_differentiable[index]);
}

/* The edge of a saved tensor that is no output: mostly one that the node has. */
static void node_save_edge(struct autograd_node *node, struct autograd_saved *saved)
{
    const akg_tensor *tensor = saved->tensor;

    saved->edge = (struct autograd_edge){tensor->node, tensor->output};
    for (int i = 0; i < node->edge_count; i++)
        if (node->edges[i].node == tensor->node)
            return;
    autograd_node_retain(tensor->node);
    saved->is_own = true;
}

static void node_save(struct autograd_node *node, const struct autograd_record *record)
{
    for (size_t i = 0; i < record->saved_count; i++) {
        struct autograd_saved *saved = &node->saved[i];
        akg_tensor *tensor = record->saved[i];

        *saved = (struct autograd_saved){.tensor = tensor};
        if (!tensor)
            continue;
        tensor_hold(tensor);
        saved->version = version_of(tensor);
        for (size_t k = 0; k < record->output_count && !saved->is_output; k++)
            if (record->outputs[k] == tensor && output_is_differentiable(record, k)) {
                saved->is_output = true;
                saved->edge = (struct autograd_edge){node, (int)k};
            }
        if (!saved->is_output && tensor->node)
            node_save_edge(node, saved);
    }
}

/* What was made in place of something that had a gradient, and has none itself, is not that any more. */
static void record_cut_outputs(const struct autograd_record *record)
{
    for (size_t i = 0; i < record->output_count; i++)
        if (record->outputs[i] && record->outputs[i]->node && !output_is_differentiable(record, i))
            autograd_attach(record->outputs[i], NULL, 0);
}

akg_status autograd_record(akg_tape *tape, const struct autograd_record *record)
{
    struct node_size size = {record->input_count, record->output_count, record->saved_count, 0};
    bool needed = autograd_is_needed(tape, record->inputs, record->input_count);
    size_t attached = 0;

    for (size_t i = 0; i < record->output_count; i++) {
        size.dims += record->outputs[i] ? (size_t)record->outputs[i]->rank : 0;
        attached += output_is_differentiable(record, i);
    }
    if (!attached || !needed) {
        if (needed)
            record_cut_outputs(record);
        if (record->operation->release && record->state)
            record->operation->release(record->state);
        return AKG_OK;
    }
    struct autograd_node *node = node_create(&size);
    if (!node)
        return AKG_ERROR_MEMORY;
    node->operation = record->operation;
    node->name = record->name;
    node->state = record->state;
    node->materialise = record->materialise;
    node->backward_on_tape = record->backward_on_tape;
    for (size_t i = 0; i < record->input_count; i++)
        node->edges[i] = edge_of(record->inputs[i]);
    node_save(node, record);
    int64_t *dims = node_dims(node);
    for (size_t i = 0; i < record->output_count; i++)
        dims = node_describe(node, (int)i, record->outputs[i], dims);
    atomic_init(&node->references, attached); /* nobody else knows it yet */
    for (size_t i = 0; i < record->output_count; i++)
        if (output_is_differentiable(record, i))
            attach_owned(record->outputs[i], node, (int)i);
    record_cut_outputs(record);
    return AKG_OK;
}

static bool output_is_taken(akg_tensor *const *inputs, const bool *dirty, size_t input_count,
                            akg_tensor *const *outputs, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (outputs[i] == outputs[index])
            return true;
    for (size_t i = 0; i < input_count; i++)
        if (inputs[i] == outputs[index])
            return !dirty || !dirty[i];
    return outputs[index]->node;
}

akg_status autograd_separate_outputs(akg_tensor *const *inputs, const bool *dirty, size_t input_count,
                                     akg_tensor **outputs, size_t output_count)
{
    akg_status status = AKG_OK;

    for (size_t i = 0; i < output_count && status == AKG_OK; i++) {
        akg_tensor *alias;
        if (!outputs[i] || !output_is_taken(inputs, dirty, input_count, outputs, i))
            continue;
        status = tensor_alias(outputs[i], &alias);
        if (status != AKG_OK)
            continue;
        akg_tensor_release(outputs[i]);
        outputs[i] = alias;
    }
    return status;
}

akg_status autograd_finish(akg_status status, akg_diagnostics **diagnostics)
{
    if (status == AKG_ERROR_MEMORY && diagnostics && !*diagnostics)
        failure_report(diagnostics, status, MSG_MEMORY, NULL, NULL, NULL, NULL);
    return status;
}

void autograd_release_tensors(akg_tensor **tensors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        akg_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

akg_status autograd_check_write(const akg_tape *tape, const akg_tensor *tensor, const char *name,
                                akg_diagnostics **diagnostics)
{
    if (!tape || !tape->recording || !tensor->node || !autograd_is_leaf(tensor->node))
        return AKG_OK;
    return failure_report(
        diagnostics, AKG_ERROR_CALL, MSG_GRADIENT_LEAF_WRITTEN, name, NULL, NULL,
        "help: differentiate without it (--wrt names the others); or write it while the tape does not record "
        "(akg_tape_set_recording), or write a copy made by a recorded call");
}

/* ---- what was saved ------------------------------------------------------------------------------------ */

size_t autograd_saved_count(const struct autograd_step *step)
{
    return (size_t)step->node->saved_count;
}

static akg_status refuse_changed(const struct autograd_node *node, size_t index, uint64_t now,
                                 akg_diagnostics **diagnostics)
{
    const struct autograd_saved *saved = &node->saved[index];
    char which[48], versions[96];

    snprintf(which, sizeof which, "tensor %zu of those", index);
    for (int i = node->edge_count - 1; i >= 0; i--)
        if (saved->edge.node && node->edges[i].node == saved->edge.node &&
            node->edges[i].output == saved->edge.output)
            snprintf(which, sizeof which, "input %d", i);
    if (saved->is_output)
        snprintf(which, sizeof which, "output %d", saved->edge.output);
    snprintf(versions, sizeof versions, "version %llu was saved, %llu is there",
             (unsigned long long)saved->version, (unsigned long long)now);
    return failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRADIENT_CHANGED, which, node->name, versions,
                          "help: write a copy of it, or write it after the gradient was computed");
}

akg_status autograd_saved(const struct autograd_step *step, size_t index, akg_tensor **tensor,
                          akg_diagnostics **diagnostics)
{
    const struct autograd_saved *saved = &step->node->saved[index];
    akg_tensor *kept = saved->tensor;

    *tensor = NULL;
    if (!kept)
        return AKG_OK;
    uint64_t now = version_of(kept);
    if (now != saved->version)
        return refuse_changed(step->node, index, now, diagnostics);
    /* A new description: the old one is no reference, and may have got another history since. */
    akg_status status = tensor_alias(kept, tensor);
    if (status == AKG_OK && step->tape->recording && saved->edge.node)
        autograd_attach(*tensor, saved->edge.node, saved->edge.output);
    return status;
}

/* ---- nodes that no pass may come through -----------------------------------------------------------------
 */

struct refusal {
    enum message message;
    const char *note; /* behind the name, or NULL */
    char name[];
};

static akg_status refusal_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                   akg_diagnostics **diagnostics)
{
    const struct refusal *refusal = step->state;

    (void)input_gradients;
    return failure_report(diagnostics, AKG_ERROR_CALL, refusal->message, refusal->name, NULL, NULL,
                          refusal->note);
}

static const struct autograd_operation refusal_operation = {refusal_backward, memory_free};

static struct refusal *refusal_create(enum message message, const char *name, const char *note)
{
    size_t length = strlen(name) + 1, note_length = note ? strlen(note) + 1 : 0;
    struct refusal *refusal = memory_allocate(sizeof *refusal + length + note_length);

    if (!refusal)
        return NULL;
    refusal->message = message;
    memcpy(refusal->name, name, length);
    refusal->note = note ? memcpy(refusal->name + length, note, note_length) : NULL;
    return refusal;
}

akg_status autograd_record_refusal(akg_tape *tape, const char *name, const char *note,
                                   akg_tensor *const *inputs, size_t input_count, akg_tensor *const *outputs,
                                   size_t output_count)
{
    struct refusal *refusal = refusal_create(MSG_GRADIENT_NONE, name, note);

    if (!refusal)
        return AKG_ERROR_MEMORY;
    struct autograd_record record = {.operation = &refusal_operation,
                                     .name = refusal->name,
                                     .state = refusal,
                                     .inputs = inputs,
                                     .input_count = input_count,
                                     .outputs = outputs,
                                     .output_count = output_count};
    akg_status status = autograd_record(tape, &record);
    if (status != AKG_OK)
        memory_free(refusal);
    return status;
}

akg_status autograd_refuse_second(const struct autograd_step *step, akg_tensor *gradient, akg_tensor **alias)
{
    struct autograd_node *node = step->node;
    struct node_size size = {(size_t)(node->edge_count + node->output_count), 1, 0, (size_t)gradient->rank};
    akg_status status = tensor_alias(gradient, alias);

    if (status != AKG_OK)
        return status;
    struct refusal *refusal = refusal_create(MSG_GRADIENT_SECOND, node->name, NULL);
    struct autograd_node *barrier = refusal ? node_create(&size) : NULL;
    if (!barrier) {
        memory_free(refusal);
        akg_tensor_release(*alias);
        *alias = NULL;
        return AKG_ERROR_MEMORY;
    }
    barrier->operation = &refusal_operation;
    barrier->name = refusal->name;
    barrier->state = refusal;
    for (int i = 0; i < node->edge_count; i++)
        barrier->edges[i] =
            (struct autograd_edge){autograd_node_retain(node->edges[i].node), node->edges[i].output};
    for (int i = 0; i < node->output_count; i++)
        barrier->edges[node->edge_count + i] = edge_of(step->output_gradients[i]);
    node_describe(barrier, 0, gradient, node_dims(barrier));
    autograd_attach(*alias, barrier, 0);
    return AKG_OK;
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

bool akg_tensor_requires_grad(const akg_tensor *tensor)
{
    return tensor && tensor->node;
}

bool akg_tensor_is_leaf(const akg_tensor *tensor)
{
    return tensor && (!tensor->node || autograd_is_leaf(tensor->node));
}

static akg_status leaf_create(akg_tensor *tensor)
{
    struct autograd_node *leaf = node_create(&(struct node_size){0, 1, 0, (size_t)tensor->rank});

    if (!leaf)
        return AKG_ERROR_MEMORY;
    leaf->name = "a leaf";
    node_describe(leaf, 0, tensor, node_dims(leaf));
    autograd_attach(tensor, leaf, 0);
    return AKG_OK;
}

akg_status akg_tensor_set_requires_grad(akg_tensor *tensor, bool requires_grad, akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!tensor)
        return AKG_ERROR_USAGE;
    if (tensor->node && !autograd_is_leaf(tensor->node))
        return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_NOT_LEAF, tensor->node->name, NULL,
                              NULL, "help: akg_tensor_detach gives a tensor without history");
    if (!requires_grad) {
        autograd_node_release(tensor->node);
        tensor->node = NULL;
        return AKG_OK;
    }
    if (!dtype_is_float(tensor->dtype))
        return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_DTYPE,
                              dtype_table[tensor->dtype].name, NULL, NULL, NULL);
    return tensor->node ? AKG_OK : leaf_create(tensor);
}

akg_tensor *akg_tensor_grad(const akg_tensor *tensor)
{
    return tensor && tensor->node ? tensor->node->grad : NULL;
}

void akg_tensor_clear_grad(akg_tensor *tensor)
{
    if (!tensor || !tensor->node)
        return;
    akg_tensor_release(tensor->node->grad);
    tensor->node->grad = NULL;
}

akg_status akg_tensor_detach(akg_tensor *tensor, akg_tensor **detached)
{
    if (!detached)
        return AKG_ERROR_USAGE;
    *detached = NULL;
    return tensor ? tensor_alias(tensor, detached) : AKG_ERROR_USAGE;
}

uint64_t akg_tensor_version(const akg_tensor *tensor)
{
    return tensor ? version_of(tensor) : 0;
}

void akg_tensor_mark_written(akg_tensor *tensor)
{
    if (tensor)
        tensor_mark_written(tensor);
}
