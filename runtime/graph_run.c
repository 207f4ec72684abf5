/*
 * graph_run.c: running a planned graph function: what is needed, in order, each tensor for as long as it is.
 */
#include <stddef.h>
#include <string.h>

#include "autograd.h"
#include "kernel_gradient.h"
#include "overlap.h"
#include "recording.h"

struct graph_running {
    const struct graph_plan *plan;
    akg_tape *tape;
    struct graph_need need;
    akg_tensor **tensors; /* per number: arguments, borrowed; then a reference, while it is alive */
    akg_tensor **given;   /* per number: the caller's tensor for it; or NULL */
    struct arena arena;   /* arguments of calls */
    struct call_messages messages;
    akg_diagnostics *failed;
    const struct graph_call *failed_call;
};

/* ---- tensors that the caller gives for results --------------------------------------------------- */

static bool running_refuse(struct graph_running *running, size_t item, const char *why)
{
    const struct graph_plan *plan = running->plan;

    diagnostic_add(call_list(&running->messages), MSG_CALL_OUTPUT, plan->kernel->function->span,
                   akg_kernel_output_name(plan->kernel, (size_t)plan->outputs[item]), why);
    return false;
}

/* The number under which a tensor first appears: what is written in place has others later. */
static int running_origin(const struct graph_plan *plan, int number)
{
    int origin = 0;

    while (plan->described.items[origin] != plan->described.items[number])
        origin++;
    return origin;
}

static bool running_check_form(struct graph_running *running, size_t item, const akg_tensor *described,
                               const akg_tensor *given)
{
    char text[TENSOR_UNLIKE_TEXT];
    const char *unlike = tensor_unlike(given, described->dtype, described->rank, tensor_shape(described),
                                       described->device, text);

    return !unlike || running_refuse(running, item, unlike);
}

static bool running_check_apart(struct graph_running *running, size_t item, int origin,
                                const akg_tensor *given)
{
    const struct graph_plan *plan = running->plan;

    for (int i = 0; i < plan->argument_count; i++)
        if (overlap_between(given, running->tensors[i]))
            return running_refuse(running, item, "shares memory with an argument");
    for (int i = plan->argument_count; i < plan->described.count; i++)
        if (i != origin && running->given[i] && overlap_between(given, running->given[i]))
            return running_refuse(running, item, "shares memory with that for another output");
    return true;
}

/* Checked before anything runs, for a call in the middle would come too late. */
static bool running_take_given(struct graph_running *running, const bool *wanted, akg_tensor *const *outputs)
{
    const struct graph_plan *plan = running->plan;

    running->given = arena_array(&running->arena, akg_tensor *, plan->described.count + 1);
    for (size_t i = 0; i < plan->item_count; i++) {
        akg_tensor *given = plan->items[i] >= 0 && (!wanted || wanted[i]) ? outputs[i] : NULL;
        int origin = given ? running_origin(plan, plan->items[i]) : 0;
        if (!given)
            continue;
        if (origin < plan->argument_count) {
            if (given != running->tensors[origin])
                return running_refuse(running, i, "is not the input that is returned");
            continue;
        }
        if (running->given[origin] && running->given[origin] != given)
            return running_refuse(running, i, "is not the one given before");
        if (!running_check_form(running, i, plan->described.items[origin], given) ||
            !running_check_apart(running, i, origin, given))
            return false;
        running->given[origin] = given;
    }
    return true;
}

/* ---- running ------------------------------------------------------------------------------------- */

static akg_status running_call(struct graph_running *running, const struct graph_call *call)
{
    int parameters = call->kernel->function->parameter_count;
    akg_argument *arguments = arena_array(&running->arena, akg_argument, parameters + 1);
    akg_tensor **outputs =
        arena_array(&running->arena, akg_tensor *, (int)akg_kernel_output_count(call->kernel) + 1);
    akg_status status;

    for (int i = 0; i < parameters; i++)
        graph_argument(&running->arena, &call->operands[i], running->tensors, &arguments[i]);
    for (int i = 0; i < call->result_count; i++)
        outputs[i] = running->given[call->first_result + i];
    status = kernel_gradient_call(call->kernel, running->plan->registry, running->tape, arguments,
                                  (size_t)parameters, outputs, &running->failed);
    running->failed_call = call;
    for (int i = 0; i < call->result_count; i++) {
        bool given = outputs[i] && outputs[i] == running->given[call->first_result + i];
        running->tensors[call->first_result + i] = given ? akg_tensor_retain(outputs[i]) : outputs[i];
    }
    return status;
}

/* Drops what no later call reads. */
static void running_drop(struct graph_running *running, int call)
{
    for (int i = running->plan->argument_count; i < running->plan->described.count; i++)
        if (running->tensors[i] && running->need.last_use[i] <= call) {
            akg_tensor_release(running->tensors[i]);
            running->tensors[i] = NULL;
        }
}

/* A reference to the tensor that item number `item` is: the one that was held, unless others have it too. */
static akg_tensor *running_hand_out(struct graph_running *running, akg_tensor *const *outputs, size_t item)
{
    const struct graph_plan *plan = running->plan;
    int number = plan->items[item];
    akg_tensor *tensor = running->tensors[number];

    if (number < plan->argument_count)
        return akg_tensor_retain(tensor);
    if (!tensor) /* handed out already */
        for (size_t i = 0; i < item; i++)
            if (plan->items[i] == number)
                return akg_tensor_retain(outputs[i]);
    running->tensors[number] = NULL;
    return tensor;
}

/* Whether the plan knows already what is needed. */
static bool running_wants_all(const struct graph_plan *plan, const bool *wanted)
{
    for (size_t i = 0; wanted && i < plan->item_count; i++)
        if (plan->items[i] >= 0 && !wanted[i])
            return false;
    return true;
}

static akg_status running_calls(struct graph_running *running, const bool *wanted, akg_tensor **outputs)
{
    const struct graph_plan *plan = running->plan;

    running->need =
        running_wants_all(plan, wanted) ? plan->need : graph_find_need(plan, &running->arena, wanted);
    for (int i = 0; i < plan->calls.count; i++) {
        akg_status status = AKG_OK;
        if (running->tape && running->tape->graph)
            running->tape->graph->place.call = i;
        if (running->need.calls[i])
            status = running_call(running, &plan->calls.items[i]);
        if (status != AKG_OK)
            return status;
        running_drop(running, i);
    }
    for (size_t i = 0; i < plan->item_count; i++)
        if (plan->items[i] >= 0 && (!wanted || wanted[i])) {
            akg_tensor *given = outputs[i];
            outputs[i] = running_hand_out(running, outputs, i);
            akg_tensor_release(given); /* the caller's reference is the one that was handed out */
        }
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
    if (running_take(running, arguments, count))
        status = running_take_given(running, wanted, outputs) ? running_calls(running, wanted, outputs)
                                                              : AKG_ERROR_CALL;
    running->arena.escape = NULL;
    return status;
}

akg_status graph_run(const struct graph_plan *plan, akg_tape *tape, const akg_argument *arguments,
                     size_t count, const bool *wanted, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    struct graph_running running = {
        .plan = plan, .tape = tape, .messages = {&plan->kernel->module->source, NULL}};
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
    if (running.failed && call_list(&running.messages))
        diagnostics_adopt(running.messages.list, running.failed, running.failed_call->span,
                          running.failed_call->kernel->function->name);
    akg_diagnostics_free(running.failed);
    return operator_finish(running.messages.list, status, diagnostics);
}
