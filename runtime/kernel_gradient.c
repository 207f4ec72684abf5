/*
 * kernel_gradient.c: calls of .akg functions on a tape, and the gradients of those that have a @bprop.
 *
 * A bprop takes the tensors of the call, what it gave, the gradients of that, and attributes under their own
 * names. Of the tensors only those are kept that the text of the bprop uses; in place of the others it gets
 * descriptions without elements. It runs as a plan (graph.h), so that what only serves gradients nobody needs
 * is left out, and on the tape, so that gradients of gradients come out where its own calls have them.
 */
#include "kernel_gradient.h"

#include <stdio.h>
#include <string.h>

#include "autograd.h"
#include "recording.h"

/* One parameter of the forward, as it was called. */
struct bound_parameter {
    akg_argument argument; /* attributes, and numbers in place of tensors: copied */
    bool is_operand;       /* a parameter for tensors */
    size_t first, count;   /* its tensors among the inputs; an operand without tensor still has one entry */
};

/* What backward needs besides the saved tensors. One allocation from an arena. */
struct gradient_state {
    struct arena arena;
    struct akg_kernel *kernel, *bprop;
    akg_module *module; /* a reference: keeps both */
    akg_registry *registry;
    struct bound_parameter *parameters;
    akg_tensor **inputs;    /* while the call is recorded: borrowed */
    akg_tensor **described; /* inputs, then outputs: descriptions of what is not saved; else NULL */
    size_t input_count, output_count;
    int recorded; /* the step of a recording that the call is; -1: none */
};

struct akg_kernel *kernel_gradient_bprop(const struct akg_kernel *kernel)
{
    struct akg_module *module = kernel->module;

    for (int i = 0; kernel->function->bprop && i < module->kernel_count; i++)
        if (module->kernels[i].function == kernel->function->bprop)
            return &module->kernels[i];
    return NULL;
}

/* ---- the call as it was made ------------------------------------------------------------------------ */

static bool bound_is_operand(const struct akg_kernel *kernel, int index)
{
    enum dsl_argument_kind kind = kernel->general[index].kind;
    return kind == DSL_TENSOR || kind == DSL_TENSORS;
}

/* A copy of an attribute that outlives the call, its default where it was not given. */
static akg_argument bound_attribute(struct arena *arena, const struct ast_parameter *parameter,
                                    const akg_argument *given)
{
    akg_argument argument = {.kind = AKG_ARGUMENT_NONE};
    struct dsl_argument initial = {.kind = DSL_NONE};

    if (given) {
        argument = *given;
        argument.name = NULL;
        if (given->kind == AKG_ARGUMENT_STRING)
            argument.as.string = arena_copy(arena, given->as.string, strlen(given->as.string));
        if (given->kind == AKG_ARGUMENT_INTS) {
            int64_t *items = arena_array(arena, int64_t, (int)given->as.ints.count + 1);
            for (size_t i = 0; i < given->as.ints.count; i++)
                items[i] = given->as.ints.items[i];
            argument.as.ints.items = items;
        }
        return argument;
    }
    if (!parameter->initial || !elaborate_constant(arena, parameter->initial, &initial))
        return argument;
    switch (initial.kind) {
    case DSL_INT:
        return (akg_argument){.kind = AKG_ARGUMENT_INT, .as.integer = initial.integer};
    case DSL_BOOL:
        return (akg_argument){.kind = AKG_ARGUMENT_BOOL, .as.boolean = initial.integer != 0};
    case DSL_FLOAT:
        return (akg_argument){.kind = AKG_ARGUMENT_FLOAT, .as.real = initial.real};
    case DSL_STRING:
        return (akg_argument){.kind = AKG_ARGUMENT_STRING, .as.string = initial.string};
    case DSL_INTS:
        return (akg_argument){.kind = AKG_ARGUMENT_INTS,
                              .as.ints = {.items = initial.ints, .count = (size_t)initial.count}};
    default:
        return argument;
    }
}

static size_t bound_tensor_count(const akg_argument *argument)
{
    return argument && argument->kind == AKG_ARGUMENT_TENSORS ? argument->as.tensors.count : 1;
}

/* Fills parameters and inputs from the bound arguments. */
static void bound_take(struct gradient_state *state, const struct call_binding *binding)
{
    const struct ast_function *function = state->kernel->function;
    size_t total = 1;

    state->parameters = arena_array(&state->arena, struct bound_parameter, function->parameter_count + 1);
    for (int i = 0; i < function->parameter_count; i++)
        total += bound_tensor_count(binding->arguments[i]);
    state->inputs = arena_array(&state->arena, akg_tensor *, (int)total);
    for (int i = 0; i < function->parameter_count; i++) {
        struct bound_parameter *bound = &state->parameters[i];
        const akg_argument *argument = binding->arguments[i];
        bool tensors = argument && argument->kind == AKG_ARGUMENT_TENSORS;
        bound->is_operand = bound_is_operand(state->kernel, i);
        bound->first = state->input_count;
        if (!bound->is_operand || (argument && !tensors && argument->kind != AKG_ARGUMENT_TENSOR))
            bound->argument = bound_attribute(&state->arena, &function->parameters[i], argument);
        if (!bound->is_operand)
            continue;
        bound->count =
            state->kernel->general[i].kind == DSL_TENSORS && !argument ? 0 : bound_tensor_count(argument);
        for (size_t k = 0; k < bound->count; k++)
            state->inputs[state->input_count++] = tensors ? argument->as.tensors.items[k]
                                                  : argument && argument->kind == AKG_ARGUMENT_TENSOR
                                                      ? argument->as.tensor
                                                      : NULL;
    }
}

/* ---- backward ------------------------------------------------------------------------------------------ */

/* Whether the text of the bprop uses its parameter number `index`. */
static bool bprop_uses(const struct akg_kernel *bprop, int index)
{
    return index < bprop->function->parameter_count && bprop->function->parameters[index].binding->uses > 0;
}

struct bprop_call {
    const struct autograd_step *step;
    struct gradient_state *state;
    akg_argument *arguments;
    size_t count;
    akg_tensor **tensors; /* inputs, outputs: references; then output gradients: borrowed */
    bool *wanted;         /* per item of the result */
    akg_tensor **results;
    int *input_of;                   /* per item of the result: the input it is the gradient of, or -1 */
    struct recorded_source *sources; /* per argument: the parameter of the forward that it was */
    struct graph_plan *plan;
};

/* One tensor, or a tuple of them where the forward had several. */
static akg_argument bprop_tensors(akg_tensor **tensors, size_t count, bool tuple)
{
    if (tuple)
        return (akg_argument){.kind = AKG_ARGUMENT_TENSORS, .as.tensors = {.items = tensors, .count = count}};
    if (!tensors[0])
        return (akg_argument){.kind = AKG_ARGUMENT_NONE};
    return (akg_argument){.kind = AKG_ARGUMENT_TENSOR, .as.tensor = tensors[0]};
}

static akg_status bprop_load_saved(struct bprop_call *call, akg_diagnostics **diagnostics)
{
    const struct gradient_state *state = call->state;

    for (size_t i = 0; i < state->input_count + state->output_count; i++) {
        akg_status status = AKG_OK;
        if (state->described[i])
            call->tensors[i] = akg_tensor_retain(state->described[i]);
        else
            status = autograd_saved(call->step, i, &call->tensors[i], diagnostics);
        if (status != AKG_OK)
            return status;
    }
    for (size_t i = 0; i < state->output_count; i++)
        call->tensors[state->input_count + state->output_count + i] = call->step->output_gradients[i];
    return AKG_OK;
}

/* (inputs..., outputs, output gradients, attributes by name) */
static void bprop_arguments(struct bprop_call *call)
{
    const struct gradient_state *state = call->state;
    const struct ast_function *forward = state->kernel->function, *bprop = state->bprop->function;
    bool tuple = forward->result && forward->result->kind == AST_TUPLE;

    for (int i = 0; i < forward->parameter_count; i++) {
        const struct bound_parameter *bound = &state->parameters[i];
        if (!bound->is_operand)
            continue;
        call->sources[call->count] = (struct recorded_source){state->recorded, -1, i};
        if (bound->argument.kind != AKG_ARGUMENT_NONE)
            call->arguments[call->count++] = bound->argument;
        else
            call->arguments[call->count++] = bprop_tensors(call->tensors + bound->first, bound->count,
                                                           state->kernel->general[i].kind == DSL_TENSORS);
    }
    for (size_t i = 1; i <= 2; i++)
        call->arguments[call->count++] = bprop_tensors(
            call->tensors + state->input_count + (i - 1) * state->output_count, state->output_count, tuple);
    for (int i = (int)call->count; i < bprop->parameter_count; i++)
        for (int k = 0; k < forward->parameter_count; k++)
            if (strcmp(forward->parameters[k].name, bprop->parameters[i].name) == 0) {
                call->sources[call->count] = (struct recorded_source){state->recorded, -1, k};
                call->arguments[call->count] = state->parameters[k].argument;
                call->arguments[call->count++].name = bprop->parameters[i].name;
            }
}

/* Which input each item of the result belongs to; tuples belong to variadic parameters. */
static void bprop_match_results(struct bprop_call *call, struct arena *arena)
{
    const struct gradient_state *state = call->state;
    const struct elaborate_operand *result = &call->plan->result;
    size_t total = graph_result_count(call->plan), item = 0;
    int next = 0;

    call->wanted = arena_array(arena, bool, (int)total + 1);
    call->results = arena_array(arena, akg_tensor *, (int)total + 1);
    call->input_of = arena_array(arena, int, (int)total + 1);
    for (int i = 0; i < state->kernel->function->parameter_count && next < result->count; i++) {
        const struct bound_parameter *bound = &state->parameters[i];
        const struct elaborate_operand *operand;
        size_t width;
        if (!bound->is_operand)
            continue;
        operand = &result->items[next++];
        width = operand->kind == DSL_TENSORS ? (size_t)operand->count : 1;
        for (size_t k = 0; k < width; k++, item++) {
            bool exists = k < bound->count && (operand->kind != DSL_NONE);
            call->input_of[item] = exists ? (int)(bound->first + k) : -1;
            call->wanted[item] = exists && call->step->needed[bound->first + k];
        }
    }
}

/* graph_run; where the tape has a recording, of which the plan is put down too. */
static akg_status gradient_run_plan(const struct graph_plan *plan, akg_tape *tape,
                                    const akg_argument *arguments, size_t count,
                                    const struct recorded_source *sources, const bool *wanted,
                                    akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    struct recorded_source before;
    akg_status status;

    if (!tape || !tape->graph)
        return graph_run(plan, tape, arguments, count, wanted, outputs, diagnostics);
    tape->graph->sources = sources;
    before = recording_enter(tape->graph, plan->kernel, arguments, count, &status);
    if (status == AKG_OK)
        status = graph_run(plan, tape, arguments, count, wanted, outputs, diagnostics);
    recording_leave(tape->graph, before);
    return status;
}

/* The parameter of the forward that input number `input` belongs to; *operand is its number among those for
 * tensors. */
static int bprop_parameter_of(const struct gradient_state *state, int input, int *operand)
{
    *operand = 0;
    for (int i = 0; i < state->kernel->function->parameter_count; i++) {
        const struct bound_parameter *bound = &state->parameters[i];
        if (!bound->is_operand)
            continue;
        if ((size_t)input >= bound->first && (size_t)input < bound->first + bound->count)
            return i;
        ++*operand;
    }
    return -1;
}

/* Refuses a gradient where the bprop returns it. */
static akg_status bprop_refuse_result(const struct gradient_state *state, int input, const akg_tensor *found,
                                      const akg_tensor *needed, akg_diagnostics **diagnostics)
{
    const struct ast_function *bprop = state->bprop->function;
    struct call_messages messages = {&state->bprop->module->source, NULL};
    char found_text[TENSOR_FORM_TEXT], needed_text[TENSOR_FORM_TEXT], name[80];
    int operand, parameter = bprop_parameter_of(state, input, &operand);
    struct span span = bprop->result->kind == AST_TUPLE && operand < bprop->result->count
                           ? bprop->result->items[operand]->span
                           : bprop->result->span;

    tensor_print_form(found_text, found->dtype, found->rank, found->dims);
    tensor_print_form(needed_text, needed->dtype, needed->rank, needed->dims);
    snprintf(name, sizeof name, "'%.60s'", state->kernel->function->parameters[parameter].name);
    if (call_list(&messages))
        diagnostic_note(diagnostic_add(messages.list, MSG_GRADIENT_FORM, span, name, found_text, needed_text),
                        "note: '%s', the bprop of '%s', returns it", bprop->name,
                        state->kernel->function->name);
    return operator_finish(messages.list, AKG_ERROR_CALL, diagnostics);
}

/* A gradient must have the shape of its input, or one to which that can be broadcast: known before anything
 * runs. */
static akg_status bprop_check_results(const struct bprop_call *call, struct arena *arena,
                                      akg_diagnostics **diagnostics)
{
    const struct gradient_state *state = call->state;
    size_t count = graph_result_count(call->plan);
    int *items = arena_array(arena, int, (int)count + 1);

    graph_result_items(call->plan, items, count, &count);
    for (size_t i = 0; i < count; i++) {
        const akg_tensor *found, *needed;
        if (!call->wanted[i] || items[i] < 0)
            continue;
        found = call->plan->described.items[items[i]];
        needed = call->tensors[call->input_of[i]];
        if (!dtype_is_float(found->dtype) ||
            !autograd_can_sum_to(found->rank, found->dims, needed->rank, needed->dims))
            return bprop_refuse_result(state, call->input_of[i], found, needed, diagnostics);
    }
    return AKG_OK;
}

static akg_status bprop_perform(struct bprop_call *call, struct arena *arena, akg_tensor **input_gradients,
                                akg_diagnostics **diagnostics)
{
    struct gradient_state *state = call->state;
    akg_status status;

    call->arguments = arena_array(arena, akg_argument, state->bprop->function->parameter_count + 3);
    call->sources = arena_array(arena, struct recorded_source, state->bprop->function->parameter_count + 3);
    status = bprop_load_saved(call, diagnostics);
    if (status != AKG_OK)
        return status;
    bprop_arguments(call);
    status = graph_plan_find(state->registry, state->bprop, call->arguments, call->count, &call->plan,
                             diagnostics);
    if (status != AKG_OK)
        return status;
    bprop_match_results(call, arena);
    status = bprop_check_results(call, arena, diagnostics);
    if (status == AKG_OK)
        status = gradient_run_plan(call->plan, call->step->tape, call->arguments, call->count, call->sources,
                                   call->wanted, call->results, diagnostics);
    for (size_t i = 0; status == AKG_OK && i < graph_result_count(call->plan); i++)
        if (call->results[i])
            input_gradients[call->input_of[i]] = call->results[i];
    return status;
}

static akg_status bprop_guarded(struct bprop_call *call, struct arena *arena, akg_tensor **input_gradients,
                                akg_diagnostics **diagnostics)
{
    jmp_buf escape;
    akg_status status;

    if (setjmp(escape)) {
        arena->escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    arena->escape = &escape;
    status = bprop_perform(call, arena, input_gradients, diagnostics);
    arena->escape = NULL;
    return status;
}

static akg_status gradient_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                    akg_diagnostics **diagnostics)
{
    struct gradient_state *state = step->state;
    struct bprop_call call = {.step = step, .state = state};
    size_t references = state->input_count + state->output_count;
    struct arena arena;
    akg_status status = AKG_ERROR_MEMORY;

    arena_init(&arena, NULL);
    call.tensors = memory_zeroed(references + state->output_count + 1, sizeof *call.tensors);
    if (call.tensors)
        status = bprop_guarded(&call, &arena, input_gradients, diagnostics);
    for (size_t i = 0; call.tensors && i < references; i++)
        akg_tensor_release(call.tensors[i]);
    memory_free(call.tensors);
    graph_plan_release(call.plan);
    arena_free(&arena);
    return status;
}

/* ---- recording --------------------------------------------------------------------------------------------
 */

static void gradient_release(void *context)
{
    struct gradient_state *state = context;

    for (size_t i = 0; state->described && i < state->input_count + state->output_count; i++)
        akg_tensor_release(state->described[i]);
    memory_free(state->described);
    akg_module_release(state->module);
    arena_free(&state->arena);
    memory_free(state);
}

static const struct autograd_operation gradient_operation = {gradient_backward, gradient_release};

static akg_status gradient_describe_one(const akg_tensor *tensor, akg_tensor **described)
{
    akg_status status;

    if (!tensor)
        return AKG_OK;
    status = call_describe_only(tensor->dtype, tensor->rank, tensor_shape(tensor), tensor->device, described);
    if (status == AKG_OK)
        tensor_stand_for(*described, tensor);
    return status;
}

/* Which tensors the bprop reads: the others are described. */
static akg_status gradient_describe(struct gradient_state *state, akg_tensor *const *outputs,
                                    akg_tensor **saved)
{
    const struct ast_function *forward = state->kernel->function;
    int parameter = 0;

    for (int i = 0; i < forward->parameter_count; i++) {
        const struct bound_parameter *bound = &state->parameters[i];
        bool used = bound->is_operand && bprop_uses(state->bprop, parameter);
        parameter += bound->is_operand;
        for (size_t k = bound->first; k < bound->first + bound->count; k++) {
            akg_tensor *tensor = state->inputs[k];
            if (used)
                saved[k] = tensor;
            else if (gradient_describe_one(tensor, &state->described[k]) != AKG_OK)
                return AKG_ERROR_MEMORY;
        }
    }
    for (size_t i = 0; i < state->output_count; i++) {
        if (bprop_uses(state->bprop, parameter))
            saved[state->input_count + i] = outputs[i];
        else if (gradient_describe_one(outputs[i], &state->described[state->input_count + i]) != AKG_OK)
            return AKG_ERROR_MEMORY;
    }
    return AKG_OK;
}

static akg_status gradient_record(struct gradient_state *state, akg_tape *tape, akg_tensor *const *outputs)
{
    size_t total = state->input_count + state->output_count;
    struct autograd_record record = {.operation = &gradient_operation,
                                     .name = state->kernel->function->name,
                                     .state = state,
                                     .inputs = state->inputs,
                                     .input_count = state->input_count,
                                     .outputs = outputs,
                                     .output_count = state->output_count,
                                     .saved_count = total,
                                     .materialise = true,
                                     .backward_on_tape = true};
    akg_tensor **saved = memory_zeroed(total + 1, sizeof *saved);
    akg_status status = AKG_ERROR_MEMORY;

    state->described = memory_zeroed(total + 1, sizeof *state->described);
    record.saved = saved;
    if (saved && state->described)
        status = gradient_describe(state, outputs, saved);
    if (status == AKG_OK)
        status = autograd_record(tape, &record);
    memory_free(saved);
    return status;
}

/* ---- the call
 * ------------------------------------------------------------------------------------------------ */

struct gradient_call {
    struct akg_kernel *kernel;
    akg_registry *registry;
    akg_tape *tape;
    const akg_argument *arguments;
    size_t count;
    akg_tensor **outputs;
    akg_diagnostics **diagnostics;
};

/* A graph function, call by call. */
static akg_status gradient_compose(const struct gradient_call *call)
{
    struct graph_plan *plan;
    akg_status status =
        graph_plan_find(call->registry, call->kernel, call->arguments, call->count, &plan, call->diagnostics);

    if (status == AKG_OK)
        status = gradient_run_plan(plan, call->tape, call->arguments, call->count, NULL, NULL, call->outputs,
                                   call->diagnostics);
    graph_plan_release(plan);
    return status;
}

/* Inputs that the kernel writes must be writable now. */
static akg_status gradient_check_writes(const struct gradient_call *call, const struct call_binding *binding)
{
    const struct ir_kernel *general = call->kernel->general_kernel;

    for (int i = 0; general && i < general->results.count; i++) {
        const struct ir_buffer *buffer = general->results.items[i].buffer;
        int parameter = buffer->role == IR_INOUT ? jit_parameter_index(call->kernel, buffer->name) : -1;
        const akg_argument *argument = parameter >= 0 ? binding->arguments[parameter] : NULL;
        akg_status status = AKG_OK;
        if (argument && argument->kind == AKG_ARGUMENT_TENSOR)
            status = autograd_check_write(call->tape, argument->as.tensor, call->kernel->function->name,
                                          call->diagnostics);
        if (status != AKG_OK)
            return status;
    }
    return AKG_OK;
}

static void gradient_drop_outputs(akg_tensor **outputs, akg_tensor *const *before, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (outputs[i] != before[i]) {
            akg_tensor_release(outputs[i]);
            outputs[i] = NULL;
        }
}

/* The kernel alone. */
static akg_status gradient_run_kernel(const struct gradient_call *call)
{
    if (call->tape && call->tape->graph)
        return recording_call(call->tape->graph, call->kernel, call->arguments, call->count, call->outputs,
                              call->diagnostics);
    return akg_kernel_call(call->kernel, call->arguments, call->count, NULL, call->outputs,
                           call->diagnostics);
}

/* A node through which no pass comes. */
static akg_status gradient_refuse(const struct gradient_call *call, const struct gradient_state *state)
{
    const struct ast_function *function = call->kernel->function;
    char note[300];

    snprintf(note, sizeof note,
             "note: it is defined on line %d of %.150s, without a function marked @bprop(%.60s)",
             function->span.line, call->kernel->module->source.name, function->name);
    return autograd_record_refusal(call->tape, function->name, note, state->inputs, state->input_count,
                                   call->outputs, state->output_count);
}

/* One node: runs the kernel and records it. Takes the state. */
static akg_status gradient_node(const struct gradient_call *call, struct gradient_state *state,
                                const struct call_binding *binding)
{
    size_t bytes = state->output_count * sizeof(akg_tensor *);
    akg_tensor **before = memory_allocate(bytes + 1);
    akg_status status = before ? gradient_check_writes(call, binding) : AKG_ERROR_MEMORY;

    if (before)
        memcpy(before, call->outputs, bytes);
    if (status == AKG_OK)
        status = gradient_run_kernel(call);
    state->recorded = call->tape->graph ? recording_last(call->tape->graph) : -1;
    if (status == AKG_OK) {
        if (state->bprop)
            status = gradient_record(state, call->tape, call->outputs);
        else
            status = gradient_refuse(call, state);
        if (status == AKG_OK && state->bprop)
            state = NULL;
        if (status != AKG_OK)
            gradient_drop_outputs(call->outputs, before, state->output_count);
    }
    memory_free(before);
    if (state)
        gradient_release(state);
    return status;
}

static bool gradient_take(struct gradient_state *state, const struct call_binding *binding)
{
    jmp_buf escape;

    if (setjmp(escape)) {
        state->arena.escape = NULL;
        return false;
    }
    state->arena.escape = &escape;
    bound_take(state, binding);
    state->arena.escape = NULL;
    return true;
}

static struct gradient_state *gradient_state_new(const struct gradient_call *call,
                                                 const struct call_binding *binding)
{
    struct gradient_state *state = memory_zeroed(1, sizeof *state);

    if (!state)
        return NULL;
    arena_init(&state->arena, NULL);
    state->kernel = call->kernel;
    state->bprop = kernel_gradient_bprop(call->kernel);
    state->module = akg_module_retain(call->kernel->module);
    state->registry = call->registry;
    state->output_count = akg_kernel_output_count(call->kernel);
    if (gradient_take(state, binding))
        return state;
    gradient_release(state);
    return NULL;
}

/* Whether any argument requires a gradient: asked before anything is allocated. */
static bool gradient_is_needed(const akg_tape *tape, const akg_argument *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const akg_argument *argument = &arguments[i];
        if (argument->kind == AKG_ARGUMENT_TENSOR && autograd_is_needed(tape, &argument->as.tensor, 1))
            return true;
        if (argument->kind == AKG_ARGUMENT_TENSORS &&
            autograd_is_needed(tape, argument->as.tensors.items, argument->as.tensors.count))
            return true;
    }
    return false;
}

akg_status kernel_gradient_call(struct akg_kernel *kernel, akg_registry *registry, akg_tape *tape,
                                const akg_argument *arguments, size_t count, akg_tensor **outputs,
                                akg_diagnostics **diagnostics)
{
    const struct gradient_call call = {kernel, registry, tape, arguments, count, outputs, diagnostics};
    struct gradient_state *state;
    struct call_binding binding;
    akg_status status = AKG_ERROR_MEMORY;

    if (!call_arguments_are_there(arguments, count) || !gradient_is_needed(tape, arguments, count))
        return gradient_run_kernel(&call);
    if (kernel->function->is_graph && !kernel->function->bprop)
        return gradient_compose(&call);
    if (call_begin(&binding, kernel)) {
        if (!call_bind(&binding, arguments, count, NULL)) {
            call_end(&binding); /* tells what is wrong */
            return gradient_run_kernel(&call);
        }
        state = gradient_state_new(&call, &binding);
        if (state)
            status = gradient_node(&call, state, &binding);
    }
    call_end(&binding);
    return status;
}
