/*
 * call.c: akg_kernel_call and what else is asked of a call: binds arguments, finds or makes the machine code,
 * and has it run (call_run.c).
 */
#include "call_run.h"

#include <stdint.h>
#include <string.h>

#include "../jit/cost.h"
#include "../jit/emit_plain.h"
#include "failure.h"

/* ---- the slow side: messages, compiling ------------------------------------------------------------ */

/* Description and compile of one signature, with an arena of its own. */
struct call_making {
    struct call_binding *binding;
    struct jit_request request;
    struct arena arena;
};

static bool call_describe_guarded(struct call_making *making)
{
    jmp_buf escape;
    struct dsl_argument *described;

    if (setjmp(escape)) {
        making->arena.escape = NULL;
        return false;
    }
    making->arena.escape = &escape;
    described = arena_array(&making->arena, struct dsl_argument,
                            making->binding->kernel->function->parameter_count + 1);
    call_describe(making->binding, &making->arena, described);
    making->request.arguments = described;
    making->arena.escape = NULL;
    return true;
}

akg_status call_instance(struct call_binding *binding, jit_backend backend, bool trust_indices,
                         const struct jit_instance **instance, akg_diagnostics *diagnostics)
{
    akg_status status = AKG_OK;

    *instance = NULL;
    for (int round = 0; !*instance && status == AKG_OK; round++) {
        struct call_making making = {.binding = binding};
        if (round > binding->kernel->function->parameter_count + 1)
            return AKG_ERROR_INTERNAL;
        making.request = (struct jit_request){.backend = backend, .trust_indices = trust_indices};
        arena_init(&making.arena, NULL);
        status = AKG_ERROR_MEMORY;
        if (call_describe_guarded(&making) &&
            call_make_key(binding, backend, trust_indices, making.request.arguments)) {
            making.request.hash = binding->hash;
            making.request.key = binding->key;
            making.request.key_length = binding->key_length;
            status = jit_make_instance(binding->kernel, &making.request, instance, diagnostics);
        }
        arena_free(&making.arena);
    }
    return status;
}

akg_status call_elaborated_instance(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                                    const struct jit_instance **instance, akg_diagnostics *diagnostics)
{
    struct broadcast broadcast = {.count = 0};
    struct call_binding binding;
    akg_status status = AKG_ERROR_MEMORY;

    if (call_begin(&binding, kernel))
        status = call_bind(&binding, arguments, count, diagnostics) ? AKG_OK : AKG_ERROR_CALL;
    if (status == AKG_OK && kernel->function->is_broadcast)
        status = broadcast_begin(&broadcast, &binding, diagnostics);
    if (status == AKG_OK)
        status = call_instance(&binding, JIT_BACKEND_INTERPRETER, false, instance, diagnostics);
    broadcast_end(&broadcast);
    call_end(&binding);
    return status;
}

/* A call that needs names looked up, a specialisation made, or a message. */
static akg_status call_slow(struct call *call, const akg_argument *arguments, size_t count)
{
    akg_diagnostics *list = call_list(&call->messages);
    akg_status status = AKG_OK;

    if (!list)
        return AKG_ERROR_MEMORY;
    if (!call_bind(&call->binding, arguments, count, list))
        return AKG_ERROR_CALL;
    broadcast_end(&call->broadcast); /* of the fast way */
    if (call->binding.kernel->function->is_broadcast)
        status = broadcast_begin(&call->broadcast, &call->binding, list);
    return status == AKG_OK
               ? call_instance(&call->binding, call->backend, call->trust_indices, &call->instance, list)
               : status;
}

/* A call of a signature that was met before: finds the instance, or leaves it to the slow way to tell why
 * not. */
static void call_fast(struct call *call, const akg_argument *arguments, size_t count)
{
    struct call_binding *binding = &call->binding;

    if (binding->kernel->function->is_broadcast) {
        if (!call_bind(binding, arguments, count, NULL) ||
            broadcast_begin(&call->broadcast, binding, NULL) != AKG_OK)
            return;
    } else if (!call_bind_fast(binding, arguments, count)) {
        return;
    }
    if (call_make_key(binding, call->backend, call->trust_indices, NULL))
        call->instance = jit_find_instance(binding->kernel, binding->hash, binding->key, binding->key_length);
}

/* ---- asking only ---------------------------------------------------------------------------------- */

akg_status call_describe_only(akg_dtype dtype, int rank, const int64_t *shape, struct gpu_device *device,
                              akg_tensor **tensor)
{
    static _Alignas(64) char nothing[64];
    akg_status status = akg_tensor_from_memory(nothing, dtype, rank, shape, NULL, NULL, NULL, tensor);

    if (status == AKG_OK)
        (*tensor)->device = device;
    return status;
}

/* Outputs as descriptions. */
static akg_status run_describe(struct call_run *run, akg_tensor **outputs)
{
    const struct ir_kernel *kernel = run->instance->kernel;

    for (int i = 0; i < kernel->results.count; i++) {
        const struct ir_buffer *buffer = kernel->results.items[i].buffer;
        akg_tensor **output = &outputs[call_run_output_of(run, i)];
        int64_t shape[AKG_MAX_RANK];
        akg_status status = AKG_OK;
        if (buffer->role == IR_INOUT)
            *output = akg_tensor_retain(run->tensors[buffer->index]);
        else if (!call_run_shape(run, buffer, shape))
            status = AKG_ERROR_CALL;
        else
            status = call_describe_only(buffer->dtype, buffer->rank, shape, run->device, output);
        if (status == AKG_OK && buffer->role != IR_INOUT)
            (*output)->nowhere = run->nowhere;
        if (status == AKG_ERROR_USAGE) {
            call_refuse_size(call_list(run->messages), buffer, shape);
            status = AKG_ERROR_CALL;
        }
        if (status != AKG_OK)
            return status;
    }
    return AKG_OK;
}

static akg_status run_count(const struct call_run *run, struct cost *cost)
{
    return cost_count(run->instance->kernel, run->dims, run->scalars, cost) ? AKG_OK : AKG_ERROR_MEMORY;
}

/* `number`: a parameter of a @broadcast function that was given one, which is none of the tensors that the C
 * takes; or NULL. */
static akg_status run_print(struct call_run *run, const char *number, struct text *text)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    struct text complaint;
    akg_status status = AKG_OK;

    text_init(&complaint);
    for (int k = 0; k < kernel->buffers.count; k++)
        run->strides[k] = run->tensors[k] ? tensor_strides(run->tensors[k]) : NULL;
    if (number)
        text_format(&complaint, "'%s' is a number, not a tensor", number);
    if (number || !emit_plain(text, kernel, run->dims, run->scalars, run->strides, &complaint)) {
        diagnostic_add(call_list(run->messages), MSG_PLAIN_C, run->kernel->function->span,
                       run->kernel->function->name, complaint.data ? complaint.data : "");
        status = AKG_ERROR_CALL;
    }
    text_free(&complaint);
    return text->failed ? AKG_ERROR_MEMORY : status;
}

static akg_status call_execute(struct call *call, const akg_argument *arguments, size_t count,
                               akg_tensor **outputs)
{
    struct call_run run;
    akg_status status = AKG_ERROR_CALL;

    run.kernel = call->binding.kernel;
    run.instance = call->instance;
    run.messages = &call->messages;
    run.device = call->device;
    run.graph = NULL;
    run.nowhere = call->nowhere;
    run.runner = call->runner;
    run.repeats = call->repeats;
    if (!call_run_prepare(&run))
        return AKG_ERROR_MEMORY;
    call_run_take_arguments(&run, &call->binding);
    if (call_run_check_results(&run) && call_run_check_shapes(&run) && call_run_check_preconditions(&run))
        status = call->cost    ? run_count(&run, call->cost)
                 : call->text  ? run_print(&run, call->broadcast.number, call->text)
                 : call->infer ? run_describe(&run, outputs)
                               : call_run_all(&run, outputs);
    if (status == AKG_OK && call->routed && !call->broadcast.arguments)
        call_remember_route(&run, &call->binding, arguments, count);
    call_run_release(&run);
    return status;
}

akg_status call_finish(struct call_messages *messages, akg_status status, akg_diagnostics **diagnostics)
{
    if (status == AKG_OK) {
        akg_diagnostics_free(messages->list); /* warnings were told by jit_compile */
        return AKG_OK;
    }
    if (!messages->list || diagnostics_lost_some(messages->list))
        status = AKG_ERROR_MEMORY; /* the call may be wrong as well, but there was no room to say how */
    if (status == AKG_ERROR_MEMORY && akg_diagnostics_error_count(messages->list) == 0)
        diagnostic_add(call_list(messages), MSG_MEMORY, (struct span){0});
    if (messages->list)
        diagnostics_hand_over(messages->list, diagnostics);
    return status;
}

static bool call_is_usable(const struct akg_kernel *kernel, const akg_argument *arguments,
                           size_t argument_count, const akg_call_options *options, akg_tensor **outputs)
{
    return kernel && (outputs || akg_kernel_output_count(kernel) == 0) &&
           (!options || (jit_backend_is_valid(options->backend) && options->repeats >= 0)) &&
           call_arguments_are_there(arguments, argument_count);
}

/* What is asked of a call, when it is not just run. */
struct call_wish {
    bool routed;
    bool infer;
    struct cost *cost;
    struct text *text;
    const struct call_runner *runner;
};

akg_status call_start(struct call *call, akg_kernel *kernel, const akg_argument *arguments, size_t count,
                      const akg_call_options *options, bool runs)
{
    akg_status status = call_begin(&call->binding, kernel) ? AKG_OK : AKG_ERROR_MEMORY;

    call->messages = (struct call_messages){&kernel->module->source, NULL};
    call->broadcast = (struct broadcast){.count = 0};
    call->instance = NULL;
    call->backend = options && options->backend ? options->backend : kernel->module->backend;
    call->trust_indices = options && options->trust_indices;
    call->repeats = options && options->repeats ? options->repeats : 1;
    call->device = NULL;
    if (status == AKG_OK &&
        !call_find_device(kernel, arguments, count, &call->messages, &call->device, &call->nowhere))
        status = AKG_ERROR_CALL;
    if (call->device && runs)
        call->backend = JIT_BACKEND_CUDA;
    if (status == AKG_OK)
        call_fast(call, arguments, count);
    if (status == AKG_OK && !call->instance)
        status = call_slow(call, arguments, count);
    return status;
}

static akg_status call_perform(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                               const akg_call_options *options, struct call_wish wish, akg_tensor **outputs,
                               akg_diagnostics **diagnostics)
{
    struct call call; /* large */
    bool runs = !wish.cost && !wish.text;
    akg_status status = call_start(&call, kernel, arguments, count, options, runs);

    call.routed = wish.routed;
    call.infer = wish.infer;
    call.cost = wish.cost;
    call.text = wish.text;
    call.runner = wish.runner;
    if (status == AKG_OK)
        status = call_execute(&call, arguments, count, outputs);
    broadcast_end(&call.broadcast);
    call_end(&call.binding);
    return call_finish(&call.messages, status, diagnostics);
}

/* Whether a tensor is among the arguments that only stands for one. */
static bool call_is_of_recording(const akg_argument *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const akg_argument *argument = &arguments[i];
        if (argument->kind == AKG_ARGUMENT_TENSOR && argument->as.tensor->recording)
            return true;
        for (size_t k = 0; argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            if (argument->as.tensors.items[k]->recording)
                return true;
    }
    return false;
}

akg_status akg_kernel_call(akg_kernel *kernel, const akg_argument *arguments, size_t argument_count,
                           const akg_call_options *options, akg_tensor **outputs,
                           akg_diagnostics **diagnostics)
{
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    if (kernel && !options && call_routed(kernel, arguments, argument_count, outputs, diagnostics, &status))
        return status;
    if (!call_is_usable(kernel, arguments, argument_count, options, outputs))
        return AKG_ERROR_USAGE;
    if (call_is_of_recording(arguments, argument_count))
        return failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_STAND_IN, kernel->function->name, NULL,
                              NULL, "help: call it with akg_call, on the tape of the recording");
    return call_perform(kernel, arguments, argument_count, options, (struct call_wish){.routed = !options},
                        outputs, diagnostics);
}

akg_status call_infer(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_tensor **outputs,
                      akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    return call_perform(kernel, arguments, count, NULL, (struct call_wish){.infer = true}, outputs,
                        diagnostics);
}

akg_status call_run_by(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                       const struct call_runner *runner, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    const akg_call_options options = {.backend = JIT_BACKEND_INTERPRETER};

    if (diagnostics)
        *diagnostics = NULL;
    return call_perform(kernel, arguments, count, &options, (struct call_wish){.runner = runner}, outputs,
                        diagnostics);
}

akg_status akg_kernel_cost(akg_kernel *kernel, const akg_argument *arguments, size_t argument_count,
                           akg_cost *cost, akg_diagnostics **diagnostics)
{
    const akg_call_options options = {.backend = JIT_BACKEND_INTERPRETER};
    struct cost counted = {0};
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    if (!kernel || !cost || !call_arguments_are_there(arguments, argument_count))
        return AKG_ERROR_USAGE;
    status = call_perform(kernel, arguments, argument_count, &options, (struct call_wish){.cost = &counted},
                          NULL, diagnostics);
    *cost = (akg_cost){counted.bytes_read, counted.bytes_written, counted.flops, counted.exact};
    return status;
}

akg_status akg_kernel_plain_c(akg_kernel *kernel, const akg_argument *arguments, size_t argument_count,
                              char **text, akg_diagnostics **diagnostics)
{
    const akg_call_options options = {.backend = JIT_BACKEND_INTERPRETER};
    struct text out;
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    if (text)
        *text = NULL;
    if (!kernel || !text || !call_arguments_are_there(arguments, argument_count))
        return AKG_ERROR_USAGE;
    text_init(&out);
    status = call_perform(kernel, arguments, argument_count, &options, (struct call_wish){.text = &out}, NULL,
                          diagnostics);
    if (status == AKG_OK && !(*text = text_take(&out)))
        status = AKG_ERROR_MEMORY;
    text_free(&out);
    return status;
}
