/*
 * recorded_fuse.c: neighbouring steps of a bound graph that go element by element, made one kernel.
 *
 * Consumes the steps in order, with descriptions of their tensors; composes the kernels of runs of steps over
 * one shape (jit/compose.h) and compiles them. What only they read is then stored nowhere. The kernel hangs
 * on how the steps are connected, not on extents, so that other extents find it again.
 */
#include <string.h>

#include "../jit/compose.h"
#include "../jit/pipeline.h"
#include "call_run.h"
#include "pool.h"
#include "recorded.h"

enum { FUSE_MOST = 12, FUSE_INPUTS = 12 }; /* steps, and inputs, of one kernel: registers are few */

/* A tensor that a fused kernel reads or writes. */
struct fused_buffer {
    int value;               /* the recorded value, or -1 */
    akg_tensor *number;      /* value -1: a number as a tensor, which a prepared call holds */
    const akg_tensor *owner; /* while the group grows: which tensor it is */
};

struct fused_run {
    const struct jit_instance *instance;
    const struct dsl_source *source; /* of the first of the kernels that it was composed of */
    struct fused_buffer *buffers;
    int buffer_count;
    void **data;
    const int64_t **strides;
    union jit_scalar *scalars;
};

/* ---- single steps ----------------------------------------------------------------------------- */

/* What is known of a kernel's instance. */
struct fuse_verdict {
    struct fuse_verdict *next;
    const struct jit_instance *instance;
    bool pointwise;
};

/* A step that may become part of a group. */
struct candidate {
    struct bound_step *step;
    int place; /* of its prepared call in the bound graph */
    const struct call_prepared *prepared;
    const struct jit_instance *instance;
    const akg_tensor *form; /* of its outputs */
};

static bool is_same_shape(const akg_tensor *a, const akg_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank) == 0;
}

/* Whether the instance, elaborated anew, is pointwise. Kept: elaboration takes longer than small kernels. */
static bool fuse_is_pointwise(struct bound_graph *bound, const struct candidate *candidate)
{
    struct akg_graph *graph = bound->graph;
    struct fuse_verdict *verdict = graph->verdicts;
    const struct recorded_step *step = candidate->step->recorded;
    const akg_argument *arguments = bound_arguments(bound, step);
    struct ir_kernel *kernel;
    struct arena arena;

    while (verdict && verdict->instance != candidate->instance)
        verdict = verdict->next;
    if (verdict)
        return verdict->pointwise;
    verdict = memory_zeroed(1, sizeof *verdict);
    if (!verdict)
        return false;
    arena_init(&arena, NULL);
    kernel = call_elaborate(step->kernel, arguments, (size_t)step->argument_count, &arena);
    *verdict =
        (struct fuse_verdict){graph->verdicts, candidate->instance, kernel && compose_is_pointwise(kernel)};
    graph->verdicts = verdict;
    arena_free(&arena);
    return verdict->pointwise;
}

/* Gives up the prepared call of a step that stays alone: its tensors get other places. */
static void candidate_drop(struct bound_graph *bound, const struct candidate *candidate)
{
    call_prepared_free(bound->prepared.items[candidate->place]);
    bound->prepared.items[candidate->place] = NULL;
}

/* False where the step stays alone; it holds nothing then. */
static bool candidate_take(struct bound_graph *bound, struct bound_step *step, struct candidate *candidate)
{
    const struct recorded_step *recorded = step->recorded;

    *candidate = (struct candidate){.step = step};
    if (recorded->kind != RECORDED_CALL || recorded->output_count == 0 ||
        recorded->kernel->module->backend == JIT_BACKEND_INTERPRETER)
        return false;
    for (int i = 0; i < recorded->output_count; i++)
        if (recorded->outputs[i] < 0)
            return false;
    candidate->form = bound->values[recorded->outputs[0]].tensor;
    if (bound_prepare(bound, recorded, &candidate->place, NULL) != AKG_OK)
        return false;
    candidate->prepared = bound->prepared.items[candidate->place];
    candidate->instance = call_prepared_instance(candidate->prepared);
    if (fuse_is_pointwise(bound, candidate))
        return true;
    candidate_drop(bound, candidate);
    return false;
}

/* ---- groups ------------------------------------------------------------------------------------------ */

struct group {
    struct bound_graph *bound;
    struct candidate *candidates;
    int count;
    int last; /* the number of the last step of the group */
    struct compose_input inputs[FUSE_INPUTS];
    struct fused_buffer buffers[FUSE_INPUTS];
    int input_count;
    struct compose_member members[FUSE_MOST];
    bool is_row; /* every input has all elements, in order, or one: extents do not matter */
    bool fits;
};

/* The member and result that a value is, or false. */
static bool group_find_result(const struct group *group, int members, int value,
                              struct compose_source *source)
{
    for (int m = 0; m < members; m++) {
        const struct recorded_step *step = group->candidates[m].step->recorded;
        for (int i = 0; i < step->output_count; i++)
            if (step->outputs[i] == value) {
                *source = (struct compose_source){-1, m, i};
                return true;
            }
    }
    return false;
}

/* How an input lies to the shape; false: not as a kernel of this kind can read it. */
static bool describe_input(struct group *group, const akg_tensor *tensor, struct compose_input *input)
{
    const akg_tensor *form = group->candidates[0].form;
    int first = form->rank - tensor->rank;

    *input = (struct compose_input){.dtype = tensor->dtype, .contiguous = tensor->contiguous};
    if (tensor->element_count == 1 && form->element_count != 1)
        return true; /* of rank 0, wherever it stands */
    if (first < 0)
        return false;
    input->rank = tensor->rank;
    for (int k = 0; k < tensor->rank; k++) {
        if (tensor->dims[k] == form->dims[first + k])
            continue;
        if (tensor->dims[k] != 1)
            return false;
        input->repeated |= 1u << k;
    }
    if (!tensor->contiguous || !is_same_shape(tensor, form))
        group->is_row = false;
    return true;
}

static struct compose_source group_input(struct group *group, int value, akg_tensor *tensor)
{
    struct compose_source source = {-1, -1, -1};

    if (value >= 0) { /* a view of one element is that element */
        const struct bound_value *owner = &group->bound->values[group->bound->values[value].owner];
        if (owner->tensor->element_count == 1)
            value = group->bound->values[value].owner;
        tensor = group->bound->values[value].tensor;
    }
    for (int i = 0; i < group->input_count; i++)
        if (group->buffers[i].owner == tensor)
            source.input = i;
    if (source.input >= 0)
        return source;
    if (group->input_count == FUSE_INPUTS ||
        !describe_input(group, tensor, &group->inputs[group->input_count])) {
        group->fits = false;
        return source;
    }
    group->buffers[group->input_count] = (struct fused_buffer){value, value < 0 ? tensor : NULL, tensor};
    source.input = group->input_count++;
    return source;
}

/* The value that was handed to a parameter, or -1: a number. */
static int parameter_value(const struct recorded_step *step, const char *name)
{
    for (int i = 0; i < step->argument_count; i++)
        if (strcmp(step->arguments[i].argument.name, name) == 0)
            return step->arguments[i].argument.kind == AKG_ARGUMENT_TENSOR ? step->arguments[i].values[0]
                                                                           : -1;
    return -1;
}

/* What a member before the one of this number makes, or an input; a view is its owner, where it has all of
 * its elements. */
static struct compose_source group_value(struct group *group, int number, int value, akg_tensor *tensor)
{
    const struct bound_graph *bound = group->bound;
    int owner = bound->values[value].owner;
    struct compose_source source;

    if (!group_find_result(group, number, owner, &source))
        return group_input(group, value, tensor);
    if (!is_same_shape(tensor, bound->values[owner].tensor))
        group->fits = false; /* it would be read before it is there */
    return source;
}

static void group_sources(struct group *group, int number)
{
    const struct candidate *candidate = &group->candidates[number];
    const struct ir_kernel *kernel = candidate->instance->kernel;
    struct compose_source *sources =
        arena_array(&group->bound->arena, struct compose_source, kernel->parameters.count + 1);

    for (int i = 0; i < kernel->parameters.count && group->fits; i++) {
        const struct ir_parameter *parameter = &kernel->parameters.items[i];
        akg_tensor *tensor;
        int value;
        if (!parameter->buffer)
            continue;
        tensor = call_prepared_tensor(candidate->prepared, parameter->buffer->index);
        if (tensor->rank > 0 && !is_same_shape(tensor, candidate->form))
            group->fits = false; /* the loops do not go over all of it */
        value = parameter_value(candidate->step->recorded, parameter->name);
        if (value < 0 && (!tensor->base || tensor->base->element_count != 1))
            group->fits = false;
        else if (value < 0)
            sources[i] = group_input(group, -1, tensor->base);
        else
            sources[i] = group_value(group, number, value, tensor);
    }
    group->members[number].sources = sources;
}

/* Whether anything outside of the group reads the value. */
static bool is_stored(const struct group *group, int value)
{
    const struct bound_value *made = &group->bound->values[value];

    return made->place != BOUND_INSIDE || made->last > group->last;
}

static void group_describe(struct group *group)
{
    group->fits = true;
    group->is_row = true;
    group->input_count = 0;
    for (int m = 0; m < group->count && group->fits; m++) {
        const struct recorded_step *step = group->candidates[m].step->recorded;
        bool *stored = arena_array(&group->bound->arena, bool, step->output_count + 1);
        group_sources(group, m);
        for (int i = 0; i < step->output_count; i++)
            stored[i] = is_stored(group, step->outputs[i]);
        group->members[m].stored = stored;
    }
}

/* ---- compiling ------------------------------------------------------------------------------------------
 */

static int group_rank(const struct group *group)
{
    int rank = group->candidates[0].form->rank;

    return group->is_row && rank > 1 ? 1 : rank;
}

/* All that the code hangs on. */
static const unsigned char *group_key(struct group *group, size_t *length)
{
    struct arena *arena = &group->bound->arena;
    LIST(unsigned char) key = {NULL, 0, 0};
    int rank = group_rank(group);

#define KEY_ADD(bytes, size)                                                                                 \
    for (size_t k = 0; k < (size); k++)                                                                      \
    list_push(arena, &key, ((const unsigned char *)(bytes))[k])
    KEY_ADD(&rank, sizeof rank);
    for (int i = 0; i < group->input_count; i++) {
        int row[] = {(int)group->inputs[i].dtype, group->inputs[i].rank, group->inputs[i].contiguous,
                     (int)group->inputs[i].repeated};
        KEY_ADD(row, sizeof row);
    }
    for (int m = 0; m < group->count; m++) {
        const struct ir_kernel *kernel = group->candidates[m].instance->kernel;
        KEY_ADD(&group->candidates[m].instance, sizeof(void *));
        KEY_ADD(group->members[m].sources, sizeof(struct compose_source) * (size_t)kernel->parameters.count);
        KEY_ADD(group->members[m].stored, (size_t)kernel->results.count);
    }
#undef KEY_ADD
    *length = (size_t)key.count;
    return key.items;
}

/* The inputs and results of members stay; with a row, what has all elements is one row. */
static struct ir_kernel *group_compose(struct group *group, struct arena *arena)
{
    struct compose_request request = {.rank = group_rank(group),
                                      .inputs = group->inputs,
                                      .input_count = group->input_count,
                                      .members = group->members,
                                      .member_count = group->count};

    for (int m = 0; m < group->count; m++) {
        const struct candidate *candidate = &group->candidates[m];
        const struct recorded_step *step = candidate->step->recorded;
        group->members[m].kernel = call_elaborate(step->kernel, bound_arguments(group->bound, step),
                                                  (size_t)step->argument_count, arena);
        if (!group->members[m].kernel || !compose_is_pointwise(group->members[m].kernel))
            return NULL;
    }
    for (int i = 0; i < group->input_count && group->is_row; i++)
        group->inputs[i].rank = group->inputs[i].rank > 0 ? request.rank : 0;
    return compose(arena, &request);
}

/* Vector code or not, as each of the kernels alone: functions such as exp give the same bits then. */
static bool has_same_code(const struct group *group, const struct jit_instance *fused)
{
    for (int m = 0; m < group->count; m++)
        if (!group->candidates[m].instance->code.vectors.memory != !fused->code.vectors.memory)
            return false;
    return true;
}

/* Machine code of the composed kernel, or a program for devices; nothing where that cannot be had. */
static void fused_generate(struct group *group, struct jit_instance *fused, akg_diagnostics *list)
{
    const struct akg_module *module = group->candidates[0].step->recorded->kernel->module;

    if (fused->backend == JIT_BACKEND_CUDA)
        jit_make_program(fused, list);
    else if (pipeline_generate(fused->kernel, &module->vectors, &module->cache,
                               &(struct pipeline_form){.defers = false}, &fused->code, list) == AKG_OK &&
             !has_same_code(group, fused))
        backend_tcc_free(&fused->code);
}

/* Nobody takes memory for temporaries of a step; the program of a device sees to them itself. */
static bool needs_memory(const struct ir_kernel *kernel)
{
    for (int k = 0; k < kernel->buffers.count; k++)
        if (kernel->buffers.items[k]->role == IR_TEMPORARY && !kernel->buffers.items[k]->unused)
            return true;
    return false;
}

static void fused_compile(struct group *group, struct jit_instance *fused, akg_diagnostics *list)
{
    const struct vector_options *vectors = &group->candidates[0].step->recorded->kernel->module->vectors;
    const struct passes_options passes = {.for_threads = fused->backend == JIT_BACKEND_CUDA,
                                          .target = vectors->target,
                                          .reorders = !vectors->strict};

    diagnostics_set_escape(list, fused->arena.escape);
    fused->kernel = group_compose(group, &fused->arena);
    if (fused->kernel && pipeline_optimise(fused->kernel, &passes, list) &&
        (passes.for_threads || !needs_memory(fused->kernel))) {
        sites_number(fused->kernel, &fused->sites);
        diagnostics_set_escape(list, NULL);
        fused_generate(group, fused, list);
    }
    diagnostics_set_escape(list, NULL);
}

/* An instance of no kernel of a file. One that was refused, without code, stays too, so that nobody tries
 * again. */
static struct jit_instance *fused_make(struct group *group, const unsigned char *key, size_t length)
{
    const struct akg_module *module = group->candidates[0].step->recorded->kernel->module;
    struct jit_instance *fused = memory_zeroed(1, sizeof *fused);
    akg_diagnostics *list = diagnostics_create("", NULL, 0); /* nobody reads it */
    jmp_buf escape, *outer = group->bound->arena.escape;

    if (!fused || !list) {
        memory_free(fused);
        akg_diagnostics_free(list);
        return NULL;
    }
    arena_init(&fused->arena, NULL);
    if (setjmp(escape)) {
        group->bound->arena.escape = outer;
        diagnostics_set_escape(list, NULL);
        akg_diagnostics_free(list);
        fused->arena.escape = NULL;
        jit_free_instance(fused);
        return NULL;
    }
    fused->arena.escape = group->bound->arena.escape = &escape; /* arguments of the calls are made in both */
    fused->key = (const unsigned char *)arena_copy(&fused->arena, (const char *)key, length);
    fused->key_length = length;
    fused->backend = group->candidates[0].instance->backend;
    fused->strict = module->vectors.strict;
    fused->tf32 = module->tf32;
    fused->cache = &module->cache;
    fused_compile(group, fused, list);
    group->bound->arena.escape = outer;
    fused->arena.escape = NULL;
    akg_diagnostics_free(list);
    fused->next = group->bound->graph->fused;
    group->bound->graph->fused = fused;
    return fused;
}

/* NULL: the group stays as it is. */
static const struct jit_instance *group_instance(struct group *group)
{
    size_t length;
    const unsigned char *key;
    struct jit_instance *fused = group->bound->graph->fused;

    for (int m = 1; m < group->count; m++)
        if (!vector_options_same(&group->candidates[m].step->recorded->kernel->module->vectors,
                                 &group->candidates[0].step->recorded->kernel->module->vectors) ||
            group->candidates[m].step->recorded->kernel->module->tf32 !=
                group->candidates[0].step->recorded->kernel->module->tf32)
            return NULL;
    group_describe(group);
    if (!group->fits)
        return NULL;
    key = group_key(group, &length);
    while (fused && (fused->key_length != length || memcmp(fused->key, key, length) != 0))
        fused = fused->next;
    if (!fused)
        fused = fused_make(group, key, length);
    return fused && (fused->code.entry || fused->program) ? fused : NULL;
}

/* ---- a group as a step
 * -------------------------------------------------------------------------------------- */

/* The extents, then what the members have. */
static void fused_scalars(const struct group *group, struct fused_run *run)
{
    const struct akg_tensor *form = group->candidates[0].form;
    int rank = group_rank(group), at = 0;

    run->scalars =
        arena_array(&group->bound->arena, union jit_scalar, run->instance->kernel->attributes.count + 1);
    for (; at < rank; at++)
        run->scalars[at].i = group->is_row ? form->element_count : form->dims[at];
    for (int m = 0; m < group->count; m++)
        for (int i = 0; i < group->candidates[m].instance->kernel->attributes.count; i++)
            run->scalars[at++] = call_prepared_scalar(group->candidates[m].prepared, i);
}

static void fused_buffers(const struct group *group, struct fused_run *run)
{
    struct arena *arena = &group->bound->arena;
    int count = run->instance->kernel->buffers.count, at = group->input_count; /* with temporaries */

    run->buffers = arena_array(arena, struct fused_buffer, count + 1);
    memcpy(run->buffers, group->buffers, sizeof *run->buffers * (size_t)group->input_count);
    for (int m = 0; m < group->count; m++) {
        const struct recorded_step *step = group->candidates[m].step->recorded;
        for (int i = 0; i < step->output_count; i++)
            if (group->members[m].stored[i])
                run->buffers[at++] = (struct fused_buffer){step->outputs[i], NULL, NULL};
            else
                group->bound->values[step->outputs[i]].place = BOUND_ABSENT;
    }
    run->buffer_count = at;
    run->data = arena_array(arena, void *, count + 1);
    run->strides = arena_array(arena, const int64_t *, count + 1);
}

/* Puts the group in the place of its first step. The prepared calls stay, for they hold numbers. */
static void fused_begin(struct group *group, const struct jit_instance *instance, struct bound_step *step)
{
    struct arena *arena = &group->bound->arena;
    struct fused_run *run = arena_new(arena, struct fused_run);

    run->instance = instance;
    run->source = &group->candidates[0].step->recorded->kernel->module->source;
    fused_scalars(group, run);
    fused_buffers(group, run);
    step->members = arena_array(arena, const struct recorded_step *, group->count + 1);
    step->member_count = group->count;
    for (int m = 0; m < group->count; m++)
        step->members[m] = group->candidates[m].step->recorded;
    step->fused = run;
}

const struct jit_instance *fused_step_instance(const struct fused_run *run)
{
    return run->instance;
}

static akg_status run_on_device(struct gpu_device *device, const struct bound_step *step,
                                const struct jit_frame *frame, akg_diagnostics **diagnostics)
{
    struct call_messages messages = {step->fused->source, NULL};
    int stopped;
    akg_status status =
        call_run_on_device(device, step->launches, step->fused->instance, frame, &stopped, &messages);

    return call_finish(&messages, status, diagnostics);
}

akg_status fused_step_run(struct bound_graph *bound, const struct bound_step *step,
                          akg_diagnostics **diagnostics)
{
    const struct fused_run *run = step->fused;
    struct jit_trap trap;
    struct jit_frame frame = {.data = run->data,
                              .strides = run->strides,
                              .scalars = run->scalars,
                              .trap = &trap,
                              .split = pool_split,
                              .threads = akg_threads()};

    for (int i = 0; i < run->buffer_count; i++) {
        const struct fused_buffer *buffer = &run->buffers[i];
        akg_tensor *tensor = buffer->value >= 0 ? bound->values[buffer->value].tensor : buffer->number;
        run->data[i] = tensor->data;
        run->strides[i] = tensor_strides(tensor);
        if (buffer->value >= 0 && bound->values[buffer->value].place == BOUND_VIEW)
            run->data[i] = tensor->base->data; /* it may lie outside */
    }
    if (bound->device)
        return run_on_device(bound->device, step, &frame, diagnostics);
    return run->instance->code.entry(&frame) ? AKG_ERROR_INTERNAL : AKG_OK;
}

/* ---- the steps of a graph
 * -------------------------------------------------------------------------------------- */

/* Fuses candidates, all of them or, where that cannot be had, each half. `steps` receives what they become.
 */
static int fuse_group(struct bound_graph *bound, struct candidate *candidates, int count,
                      struct bound_step *steps)
{
    struct group group = {.bound = bound, .candidates = candidates, .count = count};
    const struct jit_instance *instance;
    struct bound_step fused;
    int made;

    group.last = (int)(candidates[count - 1].step - bound->steps);
    if (count == 1) {
        candidate_drop(bound, &candidates[0]);
        *steps = *candidates[0].step;
        return 1;
    }
    instance = group_instance(&group);
    if (instance) {
        fused = (struct bound_step){.recorded = candidates[0].step->recorded};
        fused_begin(&group, instance, &fused);
        *steps = fused;
        return 1;
    }
    made = fuse_group(bound, candidates, count / 2, steps);
    return made + fuse_group(bound, candidates + count / 2, count - count / 2, steps + made);
}

static bool may_follow(const struct candidate *first, const struct candidate *next)
{
    return is_same_shape(first->form, next->form);
}

void bound_fuse(struct bound_graph *bound)
{
    struct bound_step *steps = arena_array(&bound->arena, struct bound_step, bound->step_count + 1);
    struct candidate candidates[FUSE_MOST + 1];
    int count = 0, made = 0, *places = arena_array(&bound->arena, int, bound->step_count + 1);

    for (int i = 0; i <= bound->step_count; i++) {
        bool taken = i < bound->step_count && candidate_take(bound, &bound->steps[i], &candidates[count]);
        if (taken && count > 0 && count < FUSE_MOST && may_follow(&candidates[0], &candidates[count])) {
            count++;
            continue;
        }
        struct candidate next = candidates[count];
        if (count > 0) {
            int before = made;
            made += fuse_group(bound, candidates, count, steps + made);
            for (int k = before, at = i - count; k < made; k++)
                for (int m = 0; m < steps[k].member_count; m++)
                    places[at++] = k;
        }
        count = 0;
        if (taken) {
            candidates[count++] = next;
        } else if (i < bound->step_count) {
            places[i] = made;
            steps[made++] = bound->steps[i];
        }
    }
    for (int i = 0; i < bound->graph->recording->values.count; i++)
        if (bound->values[i].place == BOUND_INSIDE) {
            struct bound_value *value = &bound->values[i];
            value->first = places[value->first];
            value->last = value->last < bound->step_count ? places[value->last] : made;
        }
    bound->steps = steps;
    bound->step_count = made;
}

void fused_drop_all(struct akg_graph *graph)
{
    while (graph->fused) {
        struct jit_instance *next = graph->fused->next;
        jit_free_instance(graph->fused);
        graph->fused = next;
    }
    while (graph->verdicts) {
        struct fuse_verdict *next = graph->verdicts->next;
        memory_free(graph->verdicts);
        graph->verdicts = next;
    }
}
