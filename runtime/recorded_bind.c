/*
 * recorded_bind.c: a recorded graph for one choice of extents: shapes, numbers, memory, kernels.
 *
 * Shapes come as in a call: from the kernels themselves, step by step (call_infer). Then what no result needs
 * is left out, each tensor between the steps gets its place, and the calls are prepared, so that a run has
 * nothing left to find out.
 */
#include "recorded.h"

#include <string.h>

#include "autograd.h"
#include "broadcast.h"
#include "failure.h"
#include "gpu.h"

/* ---- arguments for these extents ------------------------------------------------------------- */

static const struct recorded_argument *step_argument(const struct recorded_step *step, int parameter)
{
    const char *name = step->kernel->function->parameters[parameter].name;

    for (int i = 0; i < step->argument_count; i++)
        if (strcmp(step->arguments[i].argument.name, name) == 0)
            return &step->arguments[i];
    return NULL;
}

/* What is no tensor: as it was put down, or from where it came. */
static akg_argument bound_number(struct bound_graph *bound, const struct recorded_argument *recorded)
{
    const struct recorded_source *source = &recorded->source;
    akg_argument argument = recorded->argument;

    if (source->step < 0)
        return argument;
    if (source->call >= 0) {
        const struct graph_plan *plan = bound->plans[source->step];
        graph_argument(&bound->arena, &plan->calls.items[source->call].operands[source->parameter], NULL,
                       &argument);
    } else {
        const struct recorded_argument *from =
            step_argument(&bound->graph->recording->steps.items[source->step], source->parameter);
        if (from) /* else it was its default */
            argument = bound_number(bound, from);
    }
    argument.name = recorded->argument.name;
    return argument;
}

akg_argument bound_argument(struct bound_graph *bound, const struct recorded_argument *recorded)
{
    akg_argument argument = recorded->argument;
    akg_tensor **items;

    switch (argument.kind) {
    case AKG_ARGUMENT_TENSOR:
        argument.as.tensor = bound->values[recorded->values[0]].tensor;
        return argument;
    case AKG_ARGUMENT_TENSORS:
        items = arena_array(&bound->arena, akg_tensor *, (int)argument.as.tensors.count + 1);
        for (size_t i = 0; i < argument.as.tensors.count; i++)
            items[i] = recorded->values[i] < 0 ? NULL : bound->values[recorded->values[i]].tensor;
        argument.as.tensors.items = items;
        return argument;
    default:
        return bound_number(bound, recorded);
    }
}

akg_argument *bound_arguments(struct bound_graph *bound, const struct recorded_step *step)
{
    akg_argument *arguments = arena_array(&bound->arena, akg_argument, step->argument_count + 1);

    for (int i = 0; i < step->argument_count; i++)
        arguments[i] = bound_argument(bound, &step->arguments[i]);
    return arguments;
}

/* ---- shapes ----------------------------------------------------------------------------------------- */

static akg_status describe_input(struct bound_graph *bound, const struct graph_form *form,
                                 akg_tensor **described)
{
    int64_t shape[AKG_MAX_RANK];

    for (int k = 0; k < form->rank; k++)
        shape[k] =
            form->extents[k].symbol < 0 ? form->extents[k].extent : bound->extents[form->extents[k].symbol];
    return call_describe_only(form->dtype, form->rank, shape, bound->device, described);
}

static akg_status describe_values(struct bound_graph *bound)
{
    const struct recording *recording = bound->graph->recording;
    akg_status status = AKG_OK;

    for (int i = 0; i < recording->values.count && status == AKG_OK; i++) {
        const struct recorded_value *value = &recording->values.items[i];
        bound->values[i].owner = i;
        if (value->captured) {
            bound->values[i].tensor = akg_tensor_retain(value->captured);
            bound->values[i].place = BOUND_CAPTURED;
        } else if (value->input >= 0) {
            status = describe_input(bound, &bound->graph->inputs[value->input], &bound->values[i].tensor);
            bound->values[i].place = BOUND_OUTSIDE;
        }
    }
    return status;
}

/* A plan for these shapes has to make the calls that were recorded. */
static akg_status infer_plan(struct bound_graph *bound, const struct recorded_step *step,
                             struct graph_plan **plan, akg_diagnostics **diagnostics)
{
    akg_status status = graph_plan_find(bound->graph->registry, step->kernel, bound_arguments(bound, step),
                                        (size_t)step->argument_count, plan, diagnostics);

    if (status == AKG_OK && !graph_plan_is_alike(*plan, step->plan))
        status =
            failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_DIFFERS, step->kernel->function->name,
                           "it makes other calls for these shapes", NULL,
                           "help: its gradient is recorded for the extents it had; record a graph with the "
                           "extents of this run");
    return status;
}

static akg_status infer_call(struct bound_graph *bound, const struct recorded_step *step,
                             akg_diagnostics **diagnostics)
{
    akg_tensor **outputs = arena_array(&bound->arena, akg_tensor *, step->output_count + 1);
    akg_status status;

    status = call_infer(step->kernel, bound_arguments(bound, step), (size_t)step->argument_count, outputs,
                        diagnostics);
    for (int i = 0; i < step->output_count; i++) {
        struct bound_value *value = step->outputs[i] < 0 ? NULL : &bound->values[step->outputs[i]];
        if (status == AKG_OK && value && !value->tensor)
            value->tensor = outputs[i];
        else
            akg_tensor_release(outputs[i]);
    }
    return status;
}

static akg_status infer_elementary(struct bound_graph *bound, const struct recorded_step *step)
{
    const struct recorded_value *form = &bound->graph->recording->values.items[step->outputs[0]];
    const akg_tensor *like = step->like < 0 ? NULL : bound->values[step->like].tensor;
    const int64_t *shape = like ? tensor_shape(like) : form->shape;
    int rank = like ? like->rank : form->rank;
    struct bound_value *made = &bound->values[step->outputs[0]];

    if (step->kind != RECORDED_EXPAND)
        return call_describe_only(step->dtype, rank, shape, bound->device, &made->tensor);
    made->owner = bound->values[step->source].owner;
    return broadcast_view(bound->values[step->source].tensor, rank, shape, &made->tensor);
}

static akg_status infer_steps(struct bound_graph *bound, akg_diagnostics **diagnostics)
{
    const struct recording *recording = bound->graph->recording;
    akg_status status = AKG_OK;

    for (int i = 0; i < recording->steps.count && status == AKG_OK; i++) {
        const struct recorded_step *step = &recording->steps.items[i];
        if (step->kind == RECORDED_PLAN)
            status = infer_plan(bound, step, &bound->plans[i], diagnostics);
        else if (step->kind == RECORDED_CALL)
            status = infer_call(bound, step, diagnostics);
        else if (step->kind == RECORDED_HOST)
            status = bound_infer_host(bound, step, diagnostics);
        else
            status = infer_elementary(bound, step);
    }
    return status;
}

/* ---- what is needed, and for how long -------------------------------------------------------------------
 */

static size_t argument_tensor_count(const struct recorded_argument *argument)
{
    if (argument->argument.kind == AKG_ARGUMENT_TENSORS)
        return argument->argument.as.tensors.count;
    return argument->argument.kind == AKG_ARGUMENT_TENSOR;
}

/* Calls `use` for each value that the step reads. */
static void step_uses(struct bound_graph *bound, const struct recorded_step *step, int number,
                      void (*use)(struct bound_graph *bound, int value, int number))
{
    if (step->kind != RECORDED_CALL && step->kind != RECORDED_HOST) {
        if (step->source >= 0)
            use(bound, step->source, number);
        return;
    }
    for (int i = 0; i < step->argument_count; i++) {
        const struct recorded_argument *argument = &step->arguments[i];
        for (size_t k = 0; k < argument_tensor_count(argument); k++)
            if (argument->values[k] >= 0)
                use(bound, argument->values[k], number);
    }
}

static bool step_reads(const struct recorded_step *step, int value)
{
    for (int i = 0; i < step->argument_count; i++) {
        const struct recorded_argument *argument = &step->arguments[i];
        for (size_t k = 0; k < argument_tensor_count(argument); k++)
            if (argument->values[k] == value)
                return true;
    }
    return false;
}

/* `last` counts as a mark here: 0 where a value is needed. */
static void use_mark(struct bound_graph *bound, int value, int number)
{
    (void)number;
    bound->values[value].last = 0;
    bound->values[bound->values[value].owner].last = 0;
}

/* A call that writes in place is always needed, and so is a host function that gives nothing. */
static bool step_is_needed(const struct bound_graph *bound, const struct recorded_step *step)
{
    if (step->kind == RECORDED_HOST && step->output_count == 0)
        return true;
    for (int i = 0; i < step->output_count; i++)
        if (step->outputs[i] >= 0 &&
            (bound->values[step->outputs[i]].last == 0 || step_reads(step, step->outputs[i])))
            return true;
    return false;
}

static void mark_needed(struct bound_graph *bound)
{
    const struct akg_graph *graph = bound->graph;

    for (int i = 0; i < graph->recording->values.count; i++)
        bound->values[i].last = -1;
    for (size_t i = 0; i < graph->output_count; i++)
        use_mark(bound, graph->outputs[i], 0);
    for (int i = graph->recording->steps.count - 1; i >= 0; i--) {
        const struct recorded_step *step = &graph->recording->steps.items[i];
        bound->needed[i] = step->kind != RECORDED_PLAN && step_is_needed(bound, step);
        if (bound->needed[i])
            step_uses(bound, step, i, use_mark);
    }
}

static void use_prolong(struct bound_graph *bound, int value, int number)
{
    bound->values[bound->values[value].owner].last = number;
}

static struct bound_step step_alone(struct bound_graph *bound, const struct recorded_step *step)
{
    const struct recorded_step **members = arena_array(&bound->arena, const struct recorded_step *, 1);

    members[0] = step;
    return (struct bound_step){.recorded = step, .members = members, .member_count = 1};
}

static void collect_steps(struct bound_graph *bound)
{
    const struct recording *recording = bound->graph->recording;

    bound->steps = arena_array(&bound->arena, struct bound_step, recording->steps.count + 1);
    for (int i = 0; i < recording->steps.count; i++) {
        const struct recorded_step *step = &recording->steps.items[i];
        if (!bound->needed[i])
            continue;
        for (int k = 0; k < step->output_count; k++) {
            struct bound_value *made = step->outputs[k] < 0 ? NULL : &bound->values[step->outputs[k]];
            if (made && made->place == BOUND_ABSENT) {
                made->place = step->kind == RECORDED_EXPAND ? BOUND_VIEW : BOUND_INSIDE;
                made->first = bound->step_count;
                made->last = bound->step_count;
                made->bytes =
                    (size_t)made->tensor->element_count * (size_t)dtype_table[made->tensor->dtype].size;
            } else if (made) {
                bound->values[made->owner].written = true;
            }
        }
        step_uses(bound, step, bound->step_count, use_prolong);
        if (step->kind != RECORDED_EXPAND) /* that is a view, and nothing to run */
            bound->steps[bound->step_count++] = step_alone(bound, step);
    }
    for (size_t i = 0; i < bound->graph->output_count; i++) {
        struct bound_value *value = &bound->values[bound->graph->outputs[i]];
        if (value->place == BOUND_INSIDE)
            value->place = BOUND_OUTSIDE; /* made where the caller gets it */
        else
            bound->values[value->owner].last = bound->step_count;
    }
}

/* ---- memory and kernels
 * ------------------------------------------------------------------------------------
 */

/* In place of its description. */
static akg_status value_lay(struct bound_graph *bound, struct bound_value *value)
{
    const akg_tensor *described = value->tensor;
    char *at = (char *)bound->workspace + value->offset;
    akg_tensor *laid;
    akg_status status = akg_tensor_from_memory(at, described->dtype, described->rank, tensor_shape(described),
                                               NULL, NULL, NULL, &laid);

    if (status != AKG_OK)
        return status;
    laid->device = bound->device;
    akg_tensor_release(value->tensor);
    value->tensor = laid;
    return AKG_OK;
}

static akg_status allocate_workspace(struct bound_graph *bound, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};

    if (bound->device) {
        gpu_allocate(bound->device, bound->workspace_bytes + 64, &bound->block, &bound->workspace, &failure);
        return gpu_failure_report(&failure, diagnostics);
    }
    bound->workspace = memory_aligned(bound->workspace_bytes + 64);
    return bound->workspace ? AKG_OK : AKG_ERROR_MEMORY;
}

static akg_status lay_values(struct bound_graph *bound, akg_diagnostics **diagnostics)
{
    const struct recording *recording = bound->graph->recording;
    akg_status status = allocate_workspace(bound, diagnostics);

    for (int i = 0; i < recording->values.count && status == AKG_OK; i++)
        if (bound->values[i].place == BOUND_INSIDE)
            status = value_lay(bound, &bound->values[i]);
    for (int i = 0; i < recording->steps.count && status == AKG_OK; i++) {
        const struct recorded_step *step = &recording->steps.items[i];
        if (step->kind != RECORDED_EXPAND)
            continue;
        akg_tensor_release(bound->values[step->outputs[0]].tensor);
        bound->values[step->outputs[0]].tensor = NULL;
        status = infer_elementary(bound, step);
    }
    return status;
}

akg_status bound_prepare(struct bound_graph *bound, const struct recorded_step *step, int *place,
                         akg_diagnostics **diagnostics)
{
    akg_argument *arguments = bound_arguments(bound, step);
    akg_tensor **outputs = arena_array(&bound->arena, akg_tensor *, step->output_count + 1);

    for (int k = 0; k < step->output_count; k++)
        outputs[k] = step->outputs[k] < 0 ? NULL : bound->values[step->outputs[k]].tensor;
    *place = bound->prepared.count;
    list_push(&bound->arena, &bound->prepared, NULL);
    return call_prepare(step->kernel, arguments, (size_t)step->argument_count, outputs,
                        &bound->prepared.items[*place], diagnostics);
}

static akg_status prepare_steps(struct bound_graph *bound, akg_diagnostics **diagnostics)
{
    akg_status status = AKG_OK;
    int place;

    for (int i = 0; i < bound->step_count && status == AKG_OK; i++) {
        if (bound->steps[i].recorded->kind != RECORDED_CALL || bound->steps[i].fused)
            continue;
        status = bound_prepare(bound, bound->steps[i].recorded, &place, diagnostics);
        bound->steps[i].prepared = bound->prepared.items[place];
    }
    return status;
}

/* ---- launches -------------------------------------------------------------------------------------------
 */

uint64_t bound_fill_pattern(const struct recorded_step *step)
{
    uint64_t pattern = 0;

    dtype_store(step->dtype, &pattern, dtype_from_double(step->dtype, step->fill));
    return pattern;
}

static bool is_launch(const struct bound_step *step)
{
    if (step->fused)
        return gpu_graph_takes(fused_step_instance(step->fused));
    if (step->prepared)
        return gpu_graph_takes(call_prepared_instance(step->prepared));
    return step->recorded && step->recorded->kind == RECORDED_FILL &&
           gpu_graph_takes_fill(bound_fill_pattern(step->recorded), dtype_table[step->recorded->dtype].size);
}

/* On a device: neighbouring steps for which nobody waits are launched as one. */
static void gather_launches(struct bound_graph *bound)
{
    for (int i = 0, end; bound->device && i < bound->step_count; i = end + 1) {
        for (end = i; is_launch(&bound->steps[end]); end++)
            ;
        struct gpu_graph *launches = end - i > 1 ? gpu_graph_new(bound->device) : NULL;
        for (int k = i; k < end; k++)
            bound->steps[k].launches = launches;
    }
}

static void drop_launches(struct bound_graph *bound)
{
    for (int i = 0; i < bound->step_count; i++)
        if (bound->steps[i].launches != bound->steps[i + 1].launches)
            gpu_graph_free(bound->steps[i].launches);
}

/* ---- the whole --------------------------------------------------------------------------------------------
 */

static akg_status bound_fill(struct bound_graph *bound, const int64_t *extents, akg_diagnostics **diagnostics)
{
    const struct recording *recording = bound->graph->recording;
    akg_status status;

    bound->extents = arena_array(&bound->arena, int64_t, bound->graph->symbols.count + 1);
    memcpy(bound->extents, extents, sizeof *extents * (size_t)bound->graph->symbols.count);
    bound->plans = arena_array(&bound->arena, struct graph_plan *, recording->steps.count + 1);
    bound->needed = arena_array(&bound->arena, bool, recording->steps.count + 1);
    bound->values = arena_array(&bound->arena, struct bound_value, recording->values.count + 1);
    status = describe_values(bound);
    if (status == AKG_OK)
        status = infer_steps(bound, diagnostics);
    if (status != AKG_OK)
        return status;
    mark_needed(bound);
    collect_steps(bound);
    bound_fuse(bound);
    bound_place_values(bound);
    status = lay_values(bound, diagnostics);
    if (status == AKG_OK)
        status = prepare_steps(bound, diagnostics);
    if (status == AKG_OK)
        gather_launches(bound);
    return status;
}

static akg_status bound_guarded(struct bound_graph *bound, const int64_t *extents,
                                akg_diagnostics **diagnostics)
{
    jmp_buf escape;
    akg_status status;

    if (setjmp(escape)) {
        bound->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    bound->arena.escape = &escape;
    status = bound_fill(bound, extents, diagnostics);
    bound->arena.escape = NULL;
    return status;
}

akg_status bound_make(struct akg_graph *graph, const int64_t *extents, struct gpu_device *device,
                      struct bound_graph **made, akg_diagnostics **diagnostics)
{
    struct bound_graph *bound = memory_zeroed(1, sizeof *bound);
    akg_status status;

    *made = NULL;
    if (!bound)
        return AKG_ERROR_MEMORY;
    bound->graph = graph;
    bound->device = device;
    arena_init(&bound->arena, NULL);
    status = bound_guarded(bound, extents, diagnostics);
    if (status == AKG_OK)
        *made = bound;
    else
        bound_free(bound);
    return status;
}

void bound_free(struct bound_graph *bound)
{
    const struct recording *recording = bound->graph->recording;

    drop_launches(bound);
    for (int i = 0; i < bound->prepared.count; i++)
        call_prepared_free(bound->prepared.items[i]);
    for (int i = 0; bound->values && i < recording->values.count; i++)
        akg_tensor_release(bound->values[i].tensor);
    for (int i = 0; bound->values && i < recording->steps.count; i++)
        graph_plan_release(bound->plans[i]);
    if (bound->block)
        gpu_free(bound->block);
    else
        memory_free(bound->workspace);
    arena_free(&bound->arena);
    memory_free(bound);
}
