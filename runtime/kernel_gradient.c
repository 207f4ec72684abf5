/*
 * kernel_gradient.c: calls of .akg functions on a tape, and the gradients of those that have a @bprop.
 *
 * A bprop takes the tensors of the call, what it gave, the gradients of that, and attributes under their own
 * names. Of the tensors only those are kept that the text of the bprop uses; in place of the others it gets
 * descriptions without elements. It runs as a plan (graph.h), so that what only serves gradients nobody needs
 * is left out, and on the tape, so that gradients of gradients come out where its own calls have them. All
 * that calls of one kind have in common is worked out once (gradient_form.h).
 */
#include "kernel_gradient.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gradient_form.h"
#include "recording.h"

struct akg_kernel *kernel_gradient_bprop(const struct akg_kernel *kernel)
{
    struct akg_module *module = kernel->module;

    for (int i = 0; kernel->function->bprop && i < module->kernel_count; i++)
        if (module->kernels[i].function == kernel->function->bprop)
            return &module->kernels[i];
    return NULL;
}

/* ---- backward ------------------------------------------------------------------------------------------ */

struct bprop_call {
    const struct autograd_step *step;
    struct gradient_form *form;
    const struct form_backward *backward;
    akg_argument *arguments;
    size_t count;
    akg_tensor **tensors; /* inputs, outputs: references where used; then output gradients: borrowed */
    struct recorded_source *sources; /* per argument: the parameter of the forward that it was */
    struct arena arena;
};

/* Adds one tensor, or a tuple of them where the forward had several. The arguments are zero before. */
static void bprop_add_tensors(struct bprop_call *call, akg_tensor **tensors, size_t count, bool tuple)
{
    akg_argument *argument = &call->arguments[call->count++];

    argument->kind = tuple ? AKG_ARGUMENT_TENSORS : tensors[0] ? AKG_ARGUMENT_TENSOR : AKG_ARGUMENT_NONE;
    if (tuple) {
        argument->as.tensors.items = tensors;
        argument->as.tensors.count = count;
    } else {
        argument->as.tensor = tensors[0];
    }
}

static akg_status bprop_load_saved(struct bprop_call *call, akg_diagnostics **diagnostics)
{
    const struct gradient_form *form = call->form;

    for (size_t i = 0; i < form->input_count + form->output_count; i++) {
        akg_status status = AKG_OK;
        if (!form->used[i])
            call->tensors[i] = form->described[i];
        else
            status = autograd_saved(call->step, i, &call->tensors[i], diagnostics);
        if (status != AKG_OK)
            return status;
    }
    for (size_t i = 0; i < form->output_count; i++) {
        akg_tensor *gradient = call->step->output_gradients[i]; /* NULL: the call left the output out */
        call->tensors[form->input_count + form->output_count + i] =
            gradient ? gradient : form->described[form->input_count + i];
    }
    return AKG_OK;
}

/* (inputs..., outputs, output gradients, attributes by name) */
static void bprop_arguments(struct bprop_call *call)
{
    const struct gradient_form *form = call->form;
    const struct ast_function *forward = form->kernel->function, *bprop = form->bprop->function;

    for (int i = 0; i < forward->parameter_count; i++) {
        const struct form_parameter *bound = &form->parameters[i];
        if (!bound->is_operand)
            continue;
        call->sources[call->count] = (struct recorded_source){form->recorded, -1, i};
        if (bound->argument.kind != AKG_ARGUMENT_NONE)
            call->arguments[call->count++] = bound->argument;
        else
            bprop_add_tensors(call, call->tensors + bound->first, bound->count,
                              form->kernel->general[i].kind == DSL_TENSORS);
    }
    for (size_t i = 0; i < 2; i++)
        bprop_add_tensors(call, call->tensors + form->input_count + i * form->output_count,
                          form->output_count, forward->tuple > 0);
    for (int i = (int)call->count; i < bprop->parameter_count; i++)
        for (int k = 0; k < forward->parameter_count; k++)
            if (strcmp(forward->parameters[k].name, bprop->parameters[i].name) == 0) {
                call->sources[call->count] = (struct recorded_source){form->recorded, -1, k};
                call->arguments[call->count] = form->parameters[k].argument;
                call->arguments[call->count++].name = bprop->parameters[i].name;
            }
}

/* Which input each item of the result belongs to; tuples belong to variadic parameters. */
static void bprop_match_results(const struct gradient_form *form, struct form_backward *backward)
{
    const struct elaborate_operand *result = &backward->plan->result;
    size_t item = 0;
    int next = 0;

    for (int i = 0; i < form->kernel->function->parameter_count && next < result->count; i++) {
        const struct form_parameter *bound = &form->parameters[i];
        const struct elaborate_operand *operand;
        size_t width;
        if (!bound->is_operand)
            continue;
        operand = &result->items[next++];
        width = operand->kind == DSL_TENSORS ? (size_t)operand->count : 1;
        for (size_t k = 0; k < width; k++, item++)
            backward->input_of[item] =
                k < bound->count && operand->kind != DSL_NONE ? (int)(bound->first + k) : -1;
    }
}

/* The first pass through a node of the form finds the plan; all have tensors of the same dtypes and shapes.
 * Of threads that do so at once the first one's is kept. */
static akg_status bprop_find_backward(struct bprop_call *call, akg_diagnostics **diagnostics)
{
    struct gradient_form *form = call->form;
    struct form_backward *made, *before = NULL;
    struct graph_plan *plan;
    akg_status status;

    call->backward = atomic_load_explicit(&form->backward, memory_order_acquire);
    if (call->backward)
        return AKG_OK;
    status = graph_plan_find(form->registry, form->bprop, call->arguments, call->count, &plan, diagnostics);
    if (status != AKG_OK)
        return status;
    made = memory_zeroed(1, sizeof *made + plan->item_count * sizeof *made->input_of);
    if (!made) {
        graph_plan_release(plan);
        return AKG_ERROR_MEMORY;
    }
    made->plan = plan;
    for (size_t i = 0; i < plan->item_count; i++)
        made->input_of[i] = -1;
    bprop_match_results(form, made);
    if (!atomic_compare_exchange_strong_explicit(&form->backward, &before, made, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        graph_plan_release(plan);
        memory_free(made);
        made = before;
    }
    call->backward = made;
    return AKG_OK;
}

/* graph_run; where the tape has a recording, of which the plan is put down too. */
static akg_status gradient_run_plan(struct graph_plan *plan, akg_tape *tape, const akg_argument *arguments,
                                    size_t count, const struct recorded_source *sources, const bool *wanted,
                                    akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    struct recorded_source before;
    akg_status status;

    if (!tape || !tape->graph)
        return graph_run(plan, tape, arguments, count, wanted, outputs, diagnostics);
    tape->graph->sources = sources;
    before = recording_enter(tape->graph, plan, arguments, count, &status);
    if (status == AKG_OK)
        status = graph_run(plan, tape, arguments, count, wanted, outputs, diagnostics);
    recording_leave(tape->graph, before);
    return status;
}

/* The parameter of the forward that input number `input` belongs to; *operand is its number among those for
 * tensors. */
static int bprop_parameter_of(const struct gradient_form *form, int input, int *operand)
{
    *operand = 0;
    for (int i = 0; i < form->kernel->function->parameter_count; i++) {
        const struct form_parameter *bound = &form->parameters[i];
        if (!bound->is_operand)
            continue;
        if ((size_t)input >= bound->first && (size_t)input < bound->first + bound->count)
            return i;
        ++*operand;
    }
    return -1;
}

/* Refuses a gradient where the bprop returns it. */
static akg_status bprop_refuse_result(const struct gradient_form *form, int input, const akg_tensor *found,
                                      const akg_tensor *needed, akg_diagnostics **diagnostics)
{
    const struct ast_function *bprop = form->bprop->function;
    struct call_messages messages = {&form->bprop->module->source, NULL};
    char found_text[TENSOR_FORM_TEXT], needed_text[TENSOR_FORM_TEXT], name[80];
    int operand, parameter = bprop_parameter_of(form, input, &operand);
    struct span span = bprop->result->kind == AST_TUPLE && operand < bprop->result->count
                           ? bprop->result->items[operand]->span
                           : bprop->result->span;

    tensor_print_form(found_text, found->dtype, found->rank, found->dims);
    tensor_print_form(needed_text, needed->dtype, needed->rank, needed->dims);
    snprintf(name, sizeof name, "'%.60s'", form->kernel->function->parameters[parameter].name);
    if (call_list(&messages))
        diagnostic_note(diagnostic_add(messages.list, MSG_GRADIENT_FORM, span, name, found_text, needed_text),
                        "note: '%s', the bprop of '%s', returns it", bprop->name,
                        form->kernel->function->name);
    return operator_finish(messages.list, AKG_ERROR_CALL, diagnostics);
}

/* A gradient must have the shape of its input, or one to which that can be broadcast: known before anything
 * runs. */
static akg_status bprop_check_results(const struct bprop_call *call, const bool *wanted,
                                      akg_diagnostics **diagnostics)
{
    const struct form_backward *backward = call->backward;
    const struct graph_plan *plan = backward->plan;

    for (size_t i = 0; i < plan->item_count; i++) {
        const akg_tensor *found, *needed;
        if (!wanted[i] || plan->items[i] < 0)
            continue;
        found = plan->described.items[plan->items[i]];
        needed = call->tensors[backward->input_of[i]];
        if (!dtype_is_float(found->dtype) ||
            !autograd_can_sum_to(found->rank, found->dims, needed->rank, needed->dims))
            return bprop_refuse_result(call->form, backward->input_of[i], found, needed, diagnostics);
    }
    return AKG_OK;
}

static akg_status bprop_perform(struct bprop_call *call, akg_tensor **input_gradients,
                                akg_diagnostics **diagnostics)
{
    const struct gradient_form *form = call->form;
    const struct form_backward *backward;
    akg_tensor **results;
    akg_status status;
    bool *wanted;

    call->arguments = arena_array(&call->arena, akg_argument, form->bprop->function->parameter_count + 3);
    call->sources =
        arena_array(&call->arena, struct recorded_source, form->bprop->function->parameter_count + 3);
    status = bprop_load_saved(call, diagnostics);
    if (status != AKG_OK)
        return status;
    bprop_arguments(call);
    status = bprop_find_backward(call, diagnostics);
    if (status != AKG_OK)
        return status;
    backward = call->backward;
    wanted = arena_array(&call->arena, bool, (int)backward->plan->item_count + 1);
    results = arena_array(&call->arena, akg_tensor *, (int)backward->plan->item_count + 1);
    for (size_t i = 0; i < backward->plan->item_count; i++)
        wanted[i] = backward->input_of[i] >= 0 && call->step->needed[backward->input_of[i]];
    status = bprop_check_results(call, wanted, diagnostics);
    if (status == AKG_OK)
        status = gradient_run_plan(backward->plan, call->step->tape, call->arguments, call->count,
                                   call->sources, wanted, results, diagnostics);
    for (size_t i = 0; status == AKG_OK && i < backward->plan->item_count; i++)
        if (results[i])
            input_gradients[backward->input_of[i]] = results[i];
    return status;
}

static akg_status bprop_guarded(struct bprop_call *call, akg_tensor **input_gradients,
                                akg_diagnostics **diagnostics)
{
    jmp_buf escape;
    akg_status status;

    if (setjmp(escape)) {
        call->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    call->arena.escape = &escape;
    status = bprop_perform(call, input_gradients, diagnostics);
    call->arena.escape = NULL;
    return status;
}

static akg_status gradient_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                    akg_diagnostics **diagnostics)
{
    struct gradient_form *form = step->state;
    struct bprop_call call = {.step = step, .form = form};
    size_t references = form->input_count + form->output_count;
    akg_tensor *few[FORM_MOST_TENSORS * 2] = {NULL};
    max_align_t lent[32];
    akg_status status = AKG_ERROR_MEMORY;

    arena_init(&call.arena, NULL);
    arena_lend(&call.arena, lent, sizeof lent);
    call.tensors = references + form->output_count <= FORM_MOST_TENSORS * 2
                       ? few
                       : memory_zeroed(references + form->output_count, sizeof *call.tensors);
    if (call.tensors)
        status = bprop_guarded(&call, input_gradients, diagnostics);
    for (size_t i = 0; call.tensors && i < references; i++)
        if (form->used[i])
            akg_tensor_release(call.tensors[i]);
    if (call.tensors != few)
        memory_free(call.tensors);
    arena_free(&call.arena);
    return status;
}

static const struct autograd_operation gradient_operation = {gradient_backward, gradient_form_release};

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

static akg_status gradient_refuse_results(const struct gradient_call *call, const struct graph_plan *plan)
{
    struct call_messages messages = {&call->kernel->module->source, NULL};
    int tensors = 0;

    for (size_t i = 0; i < plan->item_count; i++)
        tensors += plan->items[i] >= 0;
    call_refuse_results(call_list(&messages), call->kernel, tensors);
    return operator_finish(messages.list, AKG_ERROR_CALL, call->diagnostics);
}

/* Runs the plan of a graph function; its items go to the outputs that they are. */
static akg_status gradient_run_composed(const struct gradient_call *call, struct graph_plan *plan)
{
    akg_tensor *few[FORM_MOST_TENSORS] = {NULL}, **items = few;
    akg_status status = AKG_ERROR_MEMORY;

    if (!plan->has_room)
        return gradient_refuse_results(call, plan);
    if (plan->item_count > FORM_MOST_TENSORS)
        items = memory_zeroed(plan->item_count, sizeof *items);
    for (size_t i = 0; items && i < plan->item_count; i++)
        if (plan->items[i] >= 0)
            items[i] = call->outputs[plan->outputs[i]];
    if (items)
        status = gradient_run_plan(plan, call->tape, call->arguments, call->count, NULL, NULL, items,
                                   call->diagnostics);
    for (size_t i = 0; status == AKG_OK && i < plan->item_count; i++)
        if (items[i])
            call->outputs[plan->outputs[i]] = items[i];
    if (items != few)
        memory_free(items);
    return status;
}

/* A graph function, call by call. */
static akg_status gradient_compose(const struct gradient_call *call)
{
    struct graph_plan *plan;
    akg_status status =
        graph_plan_find(call->registry, call->kernel, call->arguments, call->count, &plan, call->diagnostics);

    if (status == AKG_OK)
        status = gradient_run_composed(call, plan);
    graph_plan_release(plan);
    return status;
}

/* Inputs that the kernel writes must be writable now. */
static akg_status gradient_check_writes(const struct gradient_call *call, const struct gradient_form *form,
                                        akg_tensor *const *inputs)
{
    akg_status status = AKG_OK;

    for (int i = 0; i < form->written.count && status == AKG_OK; i++)
        status = autograd_check_write(call->tape, inputs[form->written.items[i]],
                                      call->kernel->function->name, call->diagnostics);
    return status;
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
static akg_status gradient_refuse(const struct gradient_call *call, const struct gradient_form *form,
                                  akg_tensor *const *inputs)
{
    const struct ast_function *function = call->kernel->function;
    char note[300];

    snprintf(note, sizeof note,
             "note: it is defined on line %d of %.150s, without a function marked @bprop(%.60s)",
             function->span.line, call->kernel->module->source.name, function->name);
    return autograd_record_refusal(call->tape, function->name, note, inputs, form->input_count, call->outputs,
                                   form->output_count);
}

/* Puts the call down in a node; `saved` has room for inputs and outputs. */
static akg_status gradient_record(const struct gradient_call *call, struct gradient_form *form,
                                  akg_tensor *const *inputs, akg_tensor **saved)
{
    struct autograd_record record = {.operation = &gradient_operation,
                                     .name = form->kernel->function->name,
                                     .state = form,
                                     .inputs = inputs,
                                     .input_count = form->input_count,
                                     .outputs = call->outputs,
                                     .output_count = form->output_count,
                                     .non_differentiable = form->passed_by,
                                     .saved = saved,
                                     .saved_count = form->input_count + form->output_count,
                                     .materialise = true,
                                     .backward_on_tape = true};
    akg_status status;

    if (!form->bprop)
        return gradient_refuse(call, form, inputs);
    for (size_t i = 0; i < form->input_count; i++)
        saved[i] = form->used[i] ? inputs[i] : NULL;
    for (size_t i = 0; i < form->output_count; i++)
        saved[form->input_count + i] = form->used[form->input_count + i] ? call->outputs[i] : NULL;
    gradient_form_retain(form);
    status = autograd_record(call->tape, &record);
    if (status != AKG_OK)
        gradient_form_release(form);
    return status;
}

/* Runs the kernel and records it; `room` for inputs and twice the outputs. */
static akg_status gradient_run_form(const struct gradient_call *call, struct gradient_form *form, bool is_new,
                                    akg_tensor *const *inputs, akg_tensor **room)
{
    akg_tensor **saved = room, **before = room + form->input_count + form->output_count;
    akg_status status = gradient_check_writes(call, form, inputs);

    for (size_t i = 0; i < form->output_count; i++)
        before[i] = call->outputs[i];
    if (status == AKG_OK)
        status = gradient_run_kernel(call);
    if (status != AKG_OK)
        return status;
    if (call->tape->graph)
        form->recorded = recording_last(call->tape->graph);
    if (is_new && !gradient_form_complete(form, inputs, call->outputs))
        status = AKG_ERROR_MEMORY;
    if (status == AKG_OK)
        status = gradient_record(call, form, inputs, saved);
    if (status != AKG_OK)
        gradient_drop_outputs(call->outputs, before, form->output_count);
    else if (is_new && !call->tape->graph)
        gradient_form_keep(call->tape, form);
    return status;
}

/* A form that was not met before. */
static akg_status gradient_new_node(const struct gradient_call *call)
{
    struct gradient_form *form = NULL;
    struct call_binding binding;
    akg_tensor **inputs, **room = NULL;
    akg_status status = AKG_ERROR_MEMORY;

    if (call_begin(&binding, call->kernel)) {
        if (!call_bind(&binding, call->arguments, call->count, NULL)) {
            call_end(&binding); /* tells what is wrong */
            return gradient_run_kernel(call);
        }
        form = gradient_form_make(&binding, call->registry, call->arguments, call->count, &inputs);
    }
    call_end(&binding);
    if (form)
        room = memory_zeroed(form->input_count + 2 * form->output_count, sizeof *room);
    if (room)
        status = gradient_run_form(call, form, true, inputs, room);
    memory_free(room);
    gradient_form_release(form);
    return status;
}

static akg_status gradient_node(const struct gradient_call *call)
{
    akg_tensor *inputs[FORM_MOST_TENSORS], *room[FORM_MOST_TENSORS * 2];
    struct gradient_form *form = NULL;

    if (!call->tape->graph) /* of a recording each call has its own */
        form = gradient_form_find(call->tape, call->kernel, call->arguments, call->count, inputs);

    return form ? gradient_run_form(call, form, false, inputs, room) : gradient_new_node(call);
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

/* Whether it computes nothing and returns what it is handed. That is composed of no call; as a kernel it
 * would be one that writes its inputs. */
static bool gradient_passes_on(const struct ast_function *function)
{
    return function->is_pure && !function->is_broadcast;
}

akg_status kernel_gradient_call(struct akg_kernel *kernel, akg_registry *registry, akg_tape *tape,
                                const akg_argument *arguments, size_t count, akg_tensor **outputs,
                                akg_diagnostics **diagnostics)
{
    const struct gradient_call call = {kernel, registry, tape, arguments, count, outputs, diagnostics};

    if (!gradient_is_needed(tape, arguments, count))
        return gradient_run_kernel(&call);
    if (!kernel->function->bprop && (kernel->function->is_graph || gradient_passes_on(kernel->function)))
        return gradient_compose(&call);
    return gradient_node(&call);
}
