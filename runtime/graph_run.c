/*
 * graph_run.c: running a planned graph function: what is needed, in order, each tensor for as long as it is.
 */
#include <stddef.h>
#include <string.h>

#include "autograd.h"
#include "kernel_gradient.h"
#include "recording.h"

struct graph_running {
    const struct graph_plan *plan;
    akg_tape *tape;
    bool *calls;          /* per call: it is needed */
    akg_tensor **tensors; /* per number: arguments, borrowed; then a reference, while it is alive */
    int *last_use;        /* per number: the last call that reads it; INT_MAX: it is returned */
    struct arena arena;   /* arguments of calls */
    akg_diagnostics *failed;
    const struct graph_call *failed_call;
};

/* ---- what is needed --------------------------------------------------------------------------- */

static void running_need(const struct elaborate_operand *operand, bool *needed, int *last_use, int call)
{
    if (operand->kind == DSL_TENSOR) {
        needed[operand->tensor] = true;
        if (call > last_use[operand->tensor])
            last_use[operand->tensor] = call;
    }
    for (int i = 0; operand->kind == DSL_TENSORS && i < operand->count; i++)
        running_need(&operand->items[i], needed, last_use, call);
}

/* Marks the calls that what is wanted hangs on. A call that writes in place is always needed. */
static void running_mark(struct graph_running *running, const bool *wanted)
{
    const struct graph_plan *plan = running->plan;
    bool *needed = arena_array(&running->arena, bool, plan->described.count + 1);

    for (size_t i = 0; i < plan->item_count; i++)
        if (plan->items[i] >= 0 && (!wanted || wanted[i])) {
            needed[plan->items[i]] = true;
            running->last_use[plan->items[i]] = plan->calls.count;
        }
    for (int i = plan->calls.count - 1; i >= 0; i--) {
        const struct graph_call *call = &plan->calls.items[i];
        running->calls[i] = call->in_place;
        for (int k = 0; k < call->result_count; k++)
            running->calls[i] |= needed[call->first_result + k];
        for (int k = 0; running->calls[i] && k < call->kernel->function->parameter_count; k++)
            running_need(&call->operands[k], needed, running->last_use, i);
    }
}

/* ---- running ------------------------------------------------------------------------------------- */

static akg_status running_call(struct graph_running *running, const struct graph_call *call)
{
    int parameters = call->kernel->function->parameter_count;
    akg_argument *arguments = arena_array(&running->arena, akg_argument, parameters + 1);
    akg_tensor **outputs = arena_array(&running->arena, akg_tensor *, call->result_count + 1);
    akg_status status;

    for (int i = 0; i < parameters; i++)
        graph_argument(&running->arena, &call->operands[i], running->tensors, &arguments[i]);
    status = kernel_gradient_call(call->kernel, running->plan->registry, running->tape, arguments,
                                  (size_t)parameters, outputs, &running->failed);
    running->failed_call = call;
    for (int i = 0; i < call->result_count; i++)
        running->tensors[call->first_result + i] = outputs[i];
    return status;
}

/* Drops what no later call reads. */
static void running_drop(struct graph_running *running, int call)
{
    for (int i = running->plan->argument_count; i < running->plan->described.count; i++)
        if (running->tensors[i] && running->last_use[i] <= call) {
            akg_tensor_release(running->tensors[i]);
            running->tensors[i] = NULL;
        }
}

static akg_status running_calls(struct graph_running *running, const bool *wanted, akg_tensor **outputs)
{
    const struct graph_plan *plan = running->plan;

    running->calls = arena_array(&running->arena, bool, plan->calls.count + 1);
    running_mark(running, wanted);
    for (int i = 0; i < plan->calls.count; i++) {
        akg_status status = AKG_OK;
        if (running->tape && running->tape->graph)
            running->tape->graph->place.call = i;
        if (running->calls[i])
            status = running_call(running, &plan->calls.items[i]);
        if (status != AKG_OK)
            return status;
        running_drop(running, i);
    }
    for (size_t i = 0; i < plan->item_count; i++)
        if (plan->items[i] >= 0 && (!wanted || wanted[i]))
            outputs[i] = akg_tensor_retain(running->tensors[plan->items[i]]);
    return AKG_OK;
}

/* The arguments' tensors, in the order of the parameters. */
static bool running_take(struct graph_running *running, const akg_argument *arguments, size_t count)
{
    const struct graph_plan *plan = running->plan;
    struct call_binding binding;
    int next = 0;
    bool good = call_begin(&binding, plan->kernel) &&
                (call_bind_fast(&binding, arguments, count) || call_bind(&binding, arguments, count, NULL));

    for (int i = 0; good && i < plan->kernel->function->parameter_count; i++) {
        const akg_argument *argument = binding.arguments[i];
        if (argument && argument->kind == AKG_ARGUMENT_TENSOR)
            running->tensors[next++] = argument->as.tensor;
        for (size_t k = 0;
             argument && argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            running->tensors[next++] = argument->as.tensors.items[k];
    }
    call_end(&binding);
    return good;
}

static akg_status running_guarded(struct graph_running *running, const akg_argument *arguments, size_t count,
                                  const bool *wanted, akg_tensor **outputs)
{
    jmp_buf escape;
    akg_status status = AKG_ERROR_MEMORY;

    if (setjmp(escape)) {
        running->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    running->arena.escape = &escape;
    running->tensors = arena_array(&running->arena, akg_tensor *, running->plan->described.count + 1);
    running->last_use = arena_array(&running->arena, int, running->plan->described.count + 1);
    for (int i = 0; i < running->plan->described.count; i++)
        running->last_use[i] = -1;
    if (running_take(running, arguments, count))
        status = running_calls(running, wanted, outputs);
    running->arena.escape = NULL;
    return status;
}

akg_status graph_run(const struct graph_plan *plan, akg_tape *tape, const akg_argument *arguments,
                     size_t count, const bool *wanted, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    struct graph_running running = {.plan = plan, .tape = tape};
    struct call_messages messages = {&plan->kernel->module->source, NULL};
    max_align_t lent[32];
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    arena_init(&running.arena, NULL);
    arena_lend(&running.arena, lent, sizeof lent);
    status = running_guarded(&running, arguments, count, wanted, outputs);
    for (int i = plan->argument_count; running.tensors && i < plan->described.count; i++)
        akg_tensor_release(running.tensors[i]);
    arena_free(&running.arena);
    if (status == AKG_OK) {
        akg_diagnostics_free(running.failed);
        return AKG_OK;
    }
    if (running.failed && call_list(&messages))
        diagnostics_adopt(messages.list, running.failed, running.failed_call->span,
                          running.failed_call->kernel->function->name);
    akg_diagnostics_free(running.failed);
    return operator_finish(messages.list, status, diagnostics);
}
