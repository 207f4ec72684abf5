/*
 * recorded_run.c: running a recorded graph: akg_graph_run.
 *
 * Consumes a graph that is bound to the extents of the call (recorded_bind.c), which is made here where it is
 * not there. A run lays the inputs and outputs under the tensors that stand for them and goes from step to
 * step.
 */
#include <stdio.h>
#include <string.h>

#include "autograd.h"
#include "device_kernels.h"
#include "failure.h"
#include "gpu.h"
#include "overlap.h"
#include "recorded.h"

struct graph_run_call {
    struct akg_graph *graph;
    struct bound_graph *bound;
    struct gpu_device *device; /* of the inputs; NULL: the host */
    akg_tensor **inputs;       /* contiguous; references */
    akg_tensor **made;         /* per output: what it is stored in; references */
    akg_tensor **outputs;
    int64_t *extents;
    akg_diagnostics **diagnostics;
};

/* ---- inputs ---------------------------------------------------------------------------------------- */

static akg_status refuse_input(const struct graph_run_call *call, size_t index, const akg_tensor *tensor)
{
    char place[24], found[TENSOR_FORM_TEXT];

    tensor_print_form(found, tensor->dtype, tensor->rank, tensor->dims);
    snprintf(place, sizeof place, "%zu", index);
    return failure_report(
        call->diagnostics, AKG_ERROR_CALL, MSG_GRAPH_INPUT, place, found, call->graph->inputs[index].text,
        tensor->device != call->device ? "note: it lies on another device than the first one"
                                       : "note: a symbol is the same extent wherever it stands");
}

/* Finds the extents of the symbols, where none is known it is -1; false: a tensor is no such input. */
static bool input_fits(const struct graph_run_call *call, const struct graph_form *form,
                       const akg_tensor *tensor)
{
    if (tensor->dtype != form->dtype || tensor->rank != form->rank)
        return false;
    for (int k = 0; k < form->rank; k++) {
        int symbol = form->extents[k].symbol;
        if (symbol >= 0 && call->extents[symbol] < 0)
            call->extents[symbol] = tensor->dims[k];
        if (tensor->dims[k] != (symbol < 0 ? form->extents[k].extent : call->extents[symbol]))
            return false;
    }
    return true;
}

/* Where a graph without inputs runs: with its first tensor of the program. */
static struct gpu_device *device_of(const struct akg_graph *graph, akg_tensor *const *inputs)
{
    const struct recording *recording = graph->recording;

    if (graph->input_count > 0)
        return inputs[0]->device;
    for (int i = 0; i < recording->values.count; i++)
        if (recording->values.items[i].captured)
            return recording->values.items[i].captured->device;
    return NULL;
}

static akg_status take_inputs(struct graph_run_call *call, akg_tensor *const *inputs)
{
    akg_status status = AKG_OK;

    call->device = device_of(call->graph, inputs);
    for (int i = 0; i < call->graph->symbols.count; i++)
        call->extents[i] = -1;
    for (size_t i = 0; i < call->graph->input_count && status == AKG_OK; i++) {
        if (inputs[i]->recording)
            status = failure_report(call->diagnostics, AKG_ERROR_CALL, MSG_GRAPH_STAND_IN, "a graph", NULL,
                                    NULL, NULL);
        else if (inputs[i]->device != call->device || !input_fits(call, &call->graph->inputs[i], inputs[i]))
            status = refuse_input(call, i, inputs[i]);
        else if (inputs[i]->contiguous)
            call->inputs[i] = akg_tensor_retain(inputs[i]);
        else
            status = akg_tensor_copy(inputs[i], &call->inputs[i]);
    }
    return status;
}

/* ---- the graph for these extents ---------------------------------------------------------------------- */

static void drop_bound(struct akg_graph *graph)
{
    while (graph->bound) {
        struct bound_graph *next = graph->bound->next;
        bound_free(graph->bound);
        graph->bound = next;
    }
    graph->bound_count = 0;
}

static akg_status find_bound(struct graph_run_call *call)
{
    struct akg_graph *graph = call->graph;
    size_t size = sizeof *call->extents * (size_t)graph->symbols.count;
    akg_status status;

    for (call->bound = graph->bound; call->bound; call->bound = call->bound->next)
        if (call->bound->device == call->device && memcmp(call->bound->extents, call->extents, size) == 0)
            return AKG_OK;
    status = bound_make(graph, call->extents, call->device, &call->bound, call->diagnostics);
    if (status != AKG_OK)
        return status;
    if (graph->bound_count == BOUND_MOST)
        drop_bound(graph);
    call->bound->next = graph->bound;
    graph->bound = call->bound;
    graph->bound_count++;
    return AKG_OK;
}

/* ---- outputs --------------------------------------------------------------------------------------------
 */

static akg_status refuse_output(const struct graph_run_call *call, size_t index, const char *why)
{
    char place[24];

    snprintf(place, sizeof place, "%zu", index);
    return failure_report(call->diagnostics, AKG_ERROR_CALL, MSG_GRAPH_OUTPUT, place, why, NULL, NULL);
}

static bool has_shape_of(const akg_tensor *tensor, const akg_tensor *other)
{
    return tensor->dtype == other->dtype && tensor->rank == other->rank &&
           memcmp(tensor->dims, other->dims, sizeof *tensor->dims * (size_t)tensor->rank) == 0;
}

static akg_status make_output(const struct graph_run_call *call, const akg_tensor *form, akg_tensor **made)
{
    struct gpu_failure failure = {0};
    akg_status status =
        tensor_allocate_on(call->device, form->dtype, form->rank, tensor_shape(form), false, made, &failure);

    return failure.status != AKG_OK ? gpu_failure_report(&failure, call->diagnostics) : status;
}

static akg_status take_outputs(struct graph_run_call *call)
{
    for (size_t i = 0; i < call->graph->output_count; i++) {
        const akg_tensor *form = call->bound->values[call->graph->outputs[i]].tensor;
        akg_tensor *given = call->outputs[i];
        akg_status status = AKG_OK;
        if (!given)
            status = make_output(call, form, &call->made[i]);
        else if (given->device != call->device)
            return refuse_output(call, i, "the tensor for it lies on another device than the inputs");
        else if (given->recording || !has_shape_of(given, form) || !given->contiguous)
            return refuse_output(call, i, "the tensor for it has another dtype or shape, or lies with gaps");
        else
            call->made[i] = akg_tensor_retain(given);
        if (status != AKG_OK)
            return status;
    }
    return AKG_OK;
}

/* The first tensor for outputs, but for one, that shares memory with `tensor`; their number: none does. */
static size_t written_beside(const struct graph_run_call *call, const akg_tensor *tensor, size_t skip)
{
    size_t i = 0;

    while (i < call->graph->output_count &&
           (i == skip || !call->outputs[i] || !overlap_between(call->outputs[i], tensor)))
        i++;
    return i;
}

static akg_status check_overlap(const struct graph_run_call *call)
{
    const struct recording *recording = call->graph->recording;
    size_t count = call->graph->output_count;

    for (size_t i = 0; i < count; i++)
        if (call->outputs[i] && written_beside(call, call->outputs[i], i) < count)
            return refuse_output(call, i, "the tensor for it shares memory with that of another");
    for (int i = 0; i < recording->values.count; i++) {
        int input = recording->values.items[i].input;
        const akg_tensor *read = input >= 0 ? call->inputs[input] : recording->values.items[i].captured;
        size_t output = read ? written_beside(call, read, SIZE_MAX) : count;
        if (output < count)
            return refuse_output(call, output, "the tensor for it shares memory with one that is read");
    }
    return AKG_OK;
}

/* Inputs that the graph writes in place: each of its own, and not copied. */
static akg_status check_written_inputs(const struct graph_run_call *call, akg_tensor *const *given)
{
    const struct recording *recording = call->graph->recording;

    for (int i = 0; i < recording->values.count; i++) {
        int input = recording->values.items[i].input;
        if (input < 0 || !call->bound->values[i].written)
            continue;
        if (given[input] != call->inputs[input])
            return failure_report(call->diagnostics, AKG_ERROR_CALL, MSG_GRAPH_OUTPUT,
                                  "(an input written in place)", "it lies with gaps", NULL, NULL);
        for (int k = 0; k < recording->values.count; k++) {
            int other = recording->values.items[k].input;
            const akg_tensor *beside = other >= 0 ? call->inputs[other] : recording->values.items[k].captured;
            if (k != i && beside && overlap_between(beside, call->inputs[input]))
                return failure_report(call->diagnostics, AKG_ERROR_CALL, MSG_GRAPH_OUTPUT,
                                      "(an input written in place)", "it shares memory with another tensor",
                                      NULL, NULL);
        }
    }
    return AKG_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------
 */

/* Puts the elements of the caller's tensors under those that stand for them. */
static void lay_under(struct graph_run_call *call)
{
    const struct recording *recording = call->graph->recording;

    for (int i = 0; i < recording->values.count; i++) {
        int input = recording->values.items[i].input;
        if (input < 0)
            continue;
        call->bound->values[i].tensor->data = call->inputs[input]->data;
        if (call->bound->values[i].written)
            tensor_mark_written(call->inputs[input]);
    }
    for (size_t i = call->graph->output_count; i > 0; i--) { /* the first of two has it */
        struct bound_value *value = &call->bound->values[call->graph->outputs[i - 1]];
        if (value->place != BOUND_OUTSIDE || recording->values.items[call->graph->outputs[i - 1]].input >= 0)
            continue;
        value->tensor->data = call->made[i - 1]->data;
        tensor_mark_written(call->made[i - 1]);
    }
}

static akg_status run_fill(const struct bound_step *step, akg_tensor *made, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};

    if (step->launches)
        gpu_graph_fill(step->launches, made->data, bound_fill_pattern(step->recorded),
                       dtype_table[made->dtype].size, made->element_count, &failure);
    else
        akg_tensor_fill(made, step->recorded->fill);
    return gpu_failure_report(&failure, diagnostics);
}

static akg_status run_step(struct bound_graph *bound, const struct bound_step *step,
                           akg_diagnostics **diagnostics)
{
    akg_tensor *made, *source;

    if (step->fused)
        return fused_step_run(bound, step, diagnostics);
    if (step->prepared)
        return call_prepared_run(step->prepared, step->launches, diagnostics);
    if (step->recorded->kind == RECORDED_HOST)
        return bound_run_host(bound, step->recorded, diagnostics);
    made = bound->values[step->recorded->outputs[0]].tensor;
    if (step->recorded->kind == RECORDED_FILL)
        return run_fill(step, made, diagnostics);
    source = bound->values[step->recorded->source].tensor;
    if (bound->values[step->recorded->source].place == BOUND_VIEW) /* of something outside, perhaps */
        source->data = source->base->data;
    return bound->device ? device_sum_into(source, made, diagnostics) : autograd_sum_into(source, made);
}

/* Behind the last step of those that are launched as one. */
static akg_status launch(struct gpu_graph *launches, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};

    gpu_graph_launch(launches, &failure);
    return gpu_failure_report(&failure, diagnostics);
}

/* Outputs that no step makes where the caller gets them. */
static akg_status copy_outputs(struct graph_run_call *call)
{
    akg_status status = AKG_OK;

    for (size_t i = 0; i < call->graph->output_count && status == AKG_OK; i++) {
        akg_tensor *source = call->bound->values[call->graph->outputs[i]].tensor;
        if (call->bound->values[call->graph->outputs[i]].place == BOUND_VIEW &&
            source->data != source->base->data)
            source->data = source->base->data;
        if (source->data == call->made[i]->data)
            continue;
        if (source->device != call->device)
            status = refuse_output(call, i, "it is a tensor that lies on another device than the inputs");
        else if (call->device)
            status = device_sum_into(source, call->made[i], call->diagnostics);
        else
            tensor_cast_into(source, call->made[i]);
    }
    return status;
}

static akg_status run_bound(struct graph_run_call *call, akg_tensor *const *inputs)
{
    akg_status status = take_outputs(call);

    if (status == AKG_OK)
        status = check_overlap(call);
    if (status == AKG_OK)
        status = check_written_inputs(call, inputs);
    if (status != AKG_OK)
        return status;
    lay_under(call);
    for (int i = 0; i < call->bound->step_count && status == AKG_OK; i++) {
        const struct bound_step *step = &call->bound->steps[i];
        status = run_step(call->bound, step, call->diagnostics);
        if (status != AKG_OK && step->launches)
            gpu_graph_empty(step->launches);
        else if (step->launches && step[1].launches != step->launches)
            status = launch(step->launches, call->diagnostics);
    }
    if (status == AKG_OK)
        status = copy_outputs(call);
    return status;
}

static akg_status run_locked(struct graph_run_call *call, akg_tensor *const *inputs)
{
    akg_status status;

    pthread_mutex_lock(&call->graph->lock);
    status = find_bound(call);
    if (status == AKG_OK)
        status = run_bound(call, inputs);
    pthread_mutex_unlock(&call->graph->lock);
    return status;
}

static akg_status run_with(struct graph_run_call *call, akg_tensor *const *inputs)
{
    struct akg_graph *graph = call->graph;
    akg_status status = take_inputs(call, inputs);

    if (status == AKG_OK)
        status = run_locked(call, inputs);
    for (size_t i = 0; i < graph->output_count; i++) {
        if (status == AKG_OK && !call->outputs[i])
            call->outputs[i] = call->made[i];
        else
            akg_tensor_release(call->made[i]);
    }
    autograd_release_tensors(call->inputs, graph->input_count);
    return autograd_finish(status, call->diagnostics);
}

akg_status akg_graph_run(akg_graph *graph, akg_tensor *const *inputs, akg_tensor **outputs,
                         akg_diagnostics **diagnostics)
{
    struct graph_run_call call = {.graph = graph, .outputs = outputs, .diagnostics = diagnostics};
    akg_tensor *few[16] = {NULL};
    int64_t extents[16];
    bool small;
    akg_status status = AKG_ERROR_MEMORY;

    if (diagnostics)
        *diagnostics = NULL;
    if (!graph || (!inputs && graph->input_count) || (!outputs && graph->output_count))
        return AKG_ERROR_USAGE;
    for (size_t i = 0; i < graph->input_count; i++)
        if (!inputs[i])
            return AKG_ERROR_USAGE;
    small = graph->input_count + graph->output_count <= 16 && graph->symbols.count <= 16;
    call.inputs =
        small ? few : memory_zeroed(graph->input_count + graph->output_count + 1, sizeof *call.inputs);
    call.extents = small ? extents : memory_zeroed((size_t)graph->symbols.count + 1, sizeof *call.extents);
    if (call.inputs && call.extents) {
        call.made = call.inputs + graph->input_count;
        status = run_with(&call, inputs);
    } else {
        status = autograd_finish(status, diagnostics);
    }
    if (!small) {
        memory_free(call.inputs);
        memory_free(call.extents);
    }
    return status;
}
