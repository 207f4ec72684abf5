/*
 * recorded_graph.c: recorded graphs: akg_graph_record, and what can be asked of one.
 *
 * The computation is called with tensors that only stand for its inputs; what it calls is put down
 * (recording.c). Where inputs have symbolic dims it is called once more with other extents: a computation
 * whose calls, or numbers that it hands to them, hang on the extents would be another one for other inputs,
 * and is refused.
 */
#include <stdio.h>
#include <string.h>

#include "autograd.h"
#include "failure.h"
#include "recorded.h"

struct graph_recording {
    akg_tape *tape;
    akg_net net;
    void *user;
    struct akg_graph *graph;
    akg_diagnostics **diagnostics;
};

/* ---- one recording ----------------------------------------------------------------------------- */

/* What extents are multiples of: 48, so that halves and thirds are there. Where an input has many symbols
 * they are small, for tensors of theirs have to have addresses. */
static int64_t trial_unit(const struct akg_graph *graph)
{
    enum { MOST = 5 };
    static const int64_t units[MOST + 1] = {48, 48, 48, 48, 12, 6};
    int most = 0;

    for (size_t i = 0; i < graph->input_count; i++) {
        int symbols = 0;
        for (int k = 0; k < graph->inputs[i].rank; k++)
            symbols += graph->inputs[i].extents[k].symbol >= 0;
        most = symbols > most ? symbols : most;
    }
    return units[most < MOST ? most : MOST];
}

/* Extents for a recording, all different. */
static int64_t trial_extent(const struct graph_extent *extent, int64_t unit, int round)
{
    static const int factors[] = {2, 3, 5, 7, 11, 13, 17, 19};

    return extent->symbol < 0 ? extent->extent
                              : unit * (factors[extent->symbol % 8] + extent->symbol + 12 * round);
}

static akg_status make_inputs(const struct graph_recording *making, struct recording *recording, int round,
                              akg_tensor **inputs)
{
    akg_status status = AKG_OK;
    int64_t unit = trial_unit(making->graph);

    for (size_t i = 0; i < making->graph->input_count && status == AKG_OK; i++) {
        const struct graph_form *form = &making->graph->inputs[i];
        int64_t shape[AKG_MAX_RANK];
        for (int k = 0; k < form->rank; k++)
            shape[k] = trial_extent(&form->extents[k], unit, round);
        status = recording_input(recording, (int)i, form->dtype, form->rank, shape, &inputs[i]);
    }
    return status;
}

static akg_status take_results(const struct graph_recording *making, struct recording *recording,
                               akg_tensor *const *outputs, int *values)
{
    for (size_t i = 0; i < making->graph->output_count; i++) {
        if (!outputs[i])
            return failure_report(making->diagnostics, AKG_ERROR_USAGE, MSG_GRADIENT_NO_VALUE, NULL, NULL,
                                  NULL, NULL);
        values[i] = recording_find(recording, outputs[i]);
        if (values[i] < 0 && !recording->broken)
            return AKG_ERROR_MEMORY;
    }
    if (recording->broken)
        return failure_report(
            making->diagnostics, AKG_ERROR_CALL, MSG_GRAPH_BROKEN, recording->broken, NULL, NULL,
            "help: what is recorded is run later: only calls of operators on the tape count");
    return AKG_OK;
}

/* Calls the net. `values` receives the numbers of its outputs. */
static akg_status record_once(const struct graph_recording *making, struct recording *recording, int round,
                              int *values)
{
    size_t inputs = making->graph->input_count, outputs = making->graph->output_count;
    akg_tensor **tensors = memory_zeroed(inputs + outputs + 1, sizeof *tensors);
    akg_status status = tensors ? make_inputs(making, recording, round, tensors) : AKG_ERROR_MEMORY;

    if (status == AKG_OK) {
        making->tape->graph = recording;
        status =
            making->net(making->tape, making->user, tensors, inputs, tensors + inputs, making->diagnostics);
        making->tape->graph = NULL;
    }
    if (status == AKG_OK)
        status = take_results(making, recording, tensors + inputs, values);
    recording->open = false;
    if (tensors)
        autograd_release_tensors(tensors, inputs + outputs);
    memory_free(tensors);
    return status;
}

/* ---- two recordings -------------------------------------------------------------------------------- */

static bool is_same_number(const akg_argument *a, const akg_argument *b)
{
    switch (a->kind) {
    case AKG_ARGUMENT_INT:
        return a->as.integer == b->as.integer;
    case AKG_ARGUMENT_FLOAT:
        return memcmp(&a->as.real, &b->as.real, sizeof a->as.real) == 0;
    case AKG_ARGUMENT_BOOL:
        return a->as.boolean == b->as.boolean;
    case AKG_ARGUMENT_STRING:
        return strcmp(a->as.string, b->as.string) == 0;
    case AKG_ARGUMENT_INTS:
        return a->as.ints.count == b->as.ints.count &&
               memcmp(a->as.ints.items, b->as.ints.items, a->as.ints.count * sizeof(int64_t)) == 0;
    default:
        return true;
    }
}

static bool is_same_argument(const struct recorded_argument *a, const struct recorded_argument *b)
{
    size_t count = a->argument.kind == AKG_ARGUMENT_TENSORS ? a->argument.as.tensors.count
                                                            : a->argument.kind == AKG_ARGUMENT_TENSOR;

    if (a->argument.kind != b->argument.kind || strcmp(a->argument.name, b->argument.name) != 0 ||
        a->source.step != b->source.step || a->source.call != b->source.call)
        return false;
    if (a->argument.kind == AKG_ARGUMENT_TENSORS && count != b->argument.as.tensors.count)
        return false;
    return memcmp(a->values ? a->values : &(int){0}, b->values ? b->values : &(int){0},
                  count * sizeof(int)) == 0 &&
           (a->source.step >= 0 || is_same_number(&a->argument, &b->argument));
}

/* A tensor that the net made on its own has to hold the same; on a device nobody looks. Tensors that are only
 * described lie in one place, which is not as large as they say. */
static bool is_same_capture(const akg_tensor *a, const akg_tensor *b)
{
    if (a == b)
        return true;
    return a && b && !a->device && !b->device && a->contiguous && b->contiguous && a->dtype == b->dtype &&
           a->rank == b->rank && memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank) == 0 &&
           (a->data == b->data ||
            memcmp(a->data, b->data, (size_t)a->element_count * (size_t)dtype_table[a->dtype].size) == 0);
}

/* NULL, or what differs; `name` is then of what. */
static const char *difference(const struct recording *a, const struct recording *b, const char **name)
{
    *name = "the computation";
    for (int i = 0; i < a->steps.count && i < b->steps.count; i++) {
        const struct recorded_step *one = &a->steps.items[i], *other = &b->steps.items[i];
        *name = one->kernel ? one->kernel->function->name : one->host ? one->host->name : "the gradient";
        if (one->kind != other->kind || one->kernel != other->kernel || one->host != other->host ||
            one->backward != other->backward || one->source != other->source || one->like != other->like ||
            one->argument_count != other->argument_count)
            return "another call stands in its place when extents change";
        for (int k = 0; k < one->argument_count; k++)
            if (!is_same_argument(&one->arguments[k], &other->arguments[k]))
                return "an argument changes with them";
    }
    *name = "the computation";
    if (a->steps.count != b->steps.count || a->values.count != b->values.count)
        return "it makes another number of calls when extents change";
    for (int i = 0; i < a->values.count; i++)
        if (!is_same_capture(a->values.items[i].captured, b->values.items[i].captured))
            return "a tensor that it makes itself changes with them";
    return NULL;
}

static akg_status record_again(const struct graph_recording *making)
{
    struct akg_graph *graph = making->graph;
    struct recording *second = recording_new();
    int *values = memory_allocate((graph->output_count + 1) * sizeof *values);
    const char *wrong, *name;
    akg_status status = AKG_ERROR_MEMORY;

    if (second && values)
        status = record_once(making, second, 1, values);
    if (status == AKG_OK) {
        wrong = difference(graph->recording, second, &name);
        if (!wrong && memcmp(values, graph->outputs, graph->output_count * sizeof *values) != 0)
            wrong = "it returns other tensors when extents change";
        if (wrong)
            status = failure_report(making->diagnostics, AKG_ERROR_CALL, MSG_GRAPH_DIFFERS, name, wrong, NULL,
                                    "help: compute with extents in a graph function of an .akg file; there "
                                    "they are followed");
    }
    memory_free(values);
    recording_release(second);
    return status;
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

static akg_status graph_read_forms(struct akg_graph *graph, const char *const *inputs, size_t input_count,
                                   size_t output_count, akg_diagnostics **diagnostics)
{
    jmp_buf escape;

    if (setjmp(escape)) {
        graph->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    akg_status status = AKG_OK;
    graph->arena.escape = &escape;
    graph->inputs = arena_array(&graph->arena, struct graph_form, (int)input_count + 1);
    graph->outputs = arena_array(&graph->arena, int, (int)output_count + 1);
    graph->input_count = input_count;
    graph->output_count = output_count;
    for (size_t i = 0; i < input_count && status == AKG_OK; i++)
        status = graph_form_read(&graph->arena, inputs[i], &graph->symbols, &graph->inputs[i], diagnostics);
    graph->arena.escape = NULL;
    return status;
}

static struct akg_graph *graph_new(akg_registry *registry)
{
    struct akg_graph *graph = memory_zeroed(1, sizeof *graph);

    if (!graph)
        return NULL;
    atomic_init(&graph->references, 1);
    arena_init(&graph->arena, NULL);
    pthread_mutex_init(&graph->lock, NULL);
    graph->registry = akg_registry_retain(registry);
    graph->recording = recording_new();
    return graph;
}

akg_status akg_graph_record(akg_tape *tape, akg_net net, void *user, const char *const *inputs,
                            size_t input_count, size_t output_count, akg_graph **graph,
                            akg_diagnostics **diagnostics)
{
    struct graph_recording making = {tape, net, user, NULL, diagnostics};
    akg_status status = AKG_ERROR_MEMORY;

    if (diagnostics)
        *diagnostics = NULL;
    if (!graph)
        return AKG_ERROR_USAGE;
    *graph = NULL;
    if (!tape || !tape->registry || tape->graph || !net || (!inputs && input_count))
        return AKG_ERROR_USAGE;
    for (size_t i = 0; i < input_count; i++)
        if (!inputs[i])
            return AKG_ERROR_USAGE;
    making.graph = graph_new(tape->registry);
    if (making.graph && making.graph->recording)
        status = graph_read_forms(making.graph, inputs, input_count, output_count, diagnostics);
    if (status == AKG_OK)
        status = record_once(&making, making.graph->recording, 0, making.graph->outputs);
    if (status == AKG_OK && making.graph->symbols.count > 0)
        status = record_again(&making);
    if (status == AKG_OK)
        *graph = making.graph;
    else
        akg_graph_release(making.graph);
    return autograd_finish(status, diagnostics);
}

akg_graph *akg_graph_retain(akg_graph *graph)
{
    if (graph)
        atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
    return graph;
}

void akg_graph_release(akg_graph *graph)
{
    if (!graph || atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) != 1)
        return;
    while (graph->bound) {
        struct bound_graph *next = graph->bound->next;
        bound_free(graph->bound);
        graph->bound = next;
    }
    fused_drop_all(graph);
    recording_release(graph->recording);
    akg_registry_release(graph->registry);
    pthread_mutex_destroy(&graph->lock);
    arena_free(&graph->arena);
    memory_free(graph);
}

size_t akg_graph_output_count(const akg_graph *graph)
{
    return graph ? graph->output_count : 0;
}

bool akg_graph_measure(akg_graph *graph, akg_graph_measures *measures)
{
    const struct bound_graph *bound;

    if (!graph || !measures)
        return false;
    *measures = (akg_graph_measures){0};
    pthread_mutex_lock(&graph->lock);
    bound = graph->bound;
    for (int i = 0; i < graph->recording->steps.count; i++)
        measures->calls += graph->recording->steps.items[i].kind == RECORDED_CALL;
    measures->steps = bound ? (size_t)bound->step_count : 0;
    measures->workspace_bytes = bound ? bound->workspace_bytes : 0;
    measures->separate_bytes = bound ? bound->separate_bytes : 0;
    pthread_mutex_unlock(&graph->lock);
    return bound;
}
