/*
 * call.c: akg_kernel_call: binds arguments, finds or makes the machine code, checks what
 * the analyses left to be checked per call, makes outputs, runs.
 *
 * Consumes an instance of the kernel cache; nothing is written to any tensor before every check of the
 * call has passed.
 */
#include "call.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../jit/cost.h"
#include "../jit/emit_plain.h"
#include "../jit/interpreter.h"
#include "../jit/pipeline.h"
#include "../jit/scalar.h"
#include "broadcast.h"
#include "failure.h"
#include "overlap.h"
#include "pool.h"

#define CALL_INLINE_BUFFERS 16
#define CALL_INLINE_DIMS 48
#define CALL_INLINE_SCALARS 16

/* One run of an instance. Arrays are inline for ordinary kernels, from the heap (`spill`) for the others. */
struct call_run {
    const struct akg_kernel *kernel;
    const struct call_runner *runner; /* or NULL */
    const struct jit_instance *instance;
    struct gpu_device *device; /* where all of it happens, or NULL */
    int64_t repeats;           /* how often the code is run */
    bool results_differ;       /* from those in general: see run_output_of */
    struct call_messages *messages;
    akg_tensor **tensors; /* per buffer: borrowed inputs, owned outputs and temporaries */
    bool *owned;
    void **data;
    const int64_t **strides;
    int64_t *dims;
    union jit_scalar *scalars;
    void *spill;
    struct {
        akg_tensor *tensors[CALL_INLINE_BUFFERS];
        bool owned[CALL_INLINE_BUFFERS];
        void *data[CALL_INLINE_BUFFERS];
        const int64_t *strides[CALL_INLINE_BUFFERS];
        int64_t dims[CALL_INLINE_DIMS];
        union jit_scalar scalars[CALL_INLINE_SCALARS];
    } small;
};

static bool run_prepare(struct call_run *run)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    size_t buffers = (size_t)kernel->buffers.count, dims = (size_t)kernel->dims.count;
    size_t scalars = (size_t)kernel->attributes.count;
    char *spill;

    run->spill = NULL;
    if (buffers <= CALL_INLINE_BUFFERS && dims <= CALL_INLINE_DIMS && scalars <= CALL_INLINE_SCALARS) {
        run->tensors = run->small.tensors;
        run->owned = run->small.owned;
        run->data = run->small.data;
        run->strides = run->small.strides;
        run->dims = run->small.dims;
        run->scalars = run->small.scalars;
        memset(run->owned, 0, buffers * sizeof *run->owned);
        memset(run->tensors, 0, buffers * sizeof *run->tensors);
        return true;
    }
    spill = memory_zeroed(1, (buffers * 3 + dims + scalars) * 8 + buffers + 8);
    if (!spill)
        return false;
    run->spill = spill;
    run->tensors = (akg_tensor **)(void *)spill;
    run->data = (void **)(void *)(spill + buffers * 8);
    run->strides = (const int64_t **)(void *)(spill + buffers * 16);
    run->dims = (int64_t *)(void *)(spill + buffers * 24);
    run->scalars = (union jit_scalar *)(void *)(spill + buffers * 24 + dims * 8);
    run->owned = (bool *)(void *)(spill + buffers * 24 + (dims + scalars) * 8);
    return true;
}

static void run_release(struct call_run *run)
{
    for (int i = 0; i < run->instance->kernel->buffers.count; i++)
        if (run->owned[i])
            akg_tensor_release(run->tensors[i]);
    memory_free(run->spill);
}

static union jit_scalar run_scalar(const struct ir_symbol *symbol, const struct dsl_argument *initial,
                                   const akg_argument *argument)
{
    union jit_scalar scalar = {.i = 0};
    double real = 0;
    int64_t integer = 0;

    if (!argument) {
        real = initial->kind == DSL_FLOAT ? initial->real : (double)initial->integer;
        integer = initial->integer;
    } else if (argument->kind == AKG_ARGUMENT_FLOAT) {
        real = argument->as.real;
    } else {
        integer = argument->kind == AKG_ARGUMENT_BOOL ? argument->as.boolean : argument->as.integer;
        real = (double)integer;
    }
    if (symbol->dtype == AKG_FLOAT64)
        scalar.d = real;
    else
        scalar.i = integer;
    return scalar;
}

/* Fills tensors and scalars from the arguments, in the order of the kernel's parameters. */
static void run_take_arguments(struct call_run *run, const struct call_binding *binding)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    const struct ast_function *function = binding->kernel->function;
    int row = 0;

    for (int i = 0; i < function->parameter_count; i++) {
        const akg_argument *argument = binding->arguments[i];
        if (argument && argument->kind == AKG_ARGUMENT_TENSORS) {
            for (size_t k = 0; k < argument->as.tensors.count; k++)
                run->tensors[kernel->parameters.items[row++].buffer->index] = argument->as.tensors.items[k];
            continue;
        }
        if (!argument && function->parameters[i].variadic)
            continue;
        if (kernel->parameters.items[row].buffer)
            run->tensors[kernel->parameters.items[row].buffer->index] = argument->as.tensor;
        else if (kernel->parameters.items[row].attribute)
            run->scalars[kernel->parameters.items[row].attribute->index] =
                run_scalar(kernel->parameters.items[row].attribute, &binding->kernel->general[i], argument);
        row++;
    }
    for (int i = 0; i < kernel->dims.count; i++) {
        const struct ir_symbol *dim = kernel->dims.items[i];
        run->dims[i] = tensor_shape(run->tensors[dim->buffer->index])[dim->axis];
    }
}

/* Extents that annotations tie to others. */
static bool run_check_shapes(struct call_run *run)
{
    const struct ir_kernel *kernel = run->instance->kernel;

    for (int i = 0; i < kernel->buffers.count; i++) {
        const struct ir_buffer *buffer = kernel->buffers.items[i];
        const akg_tensor *tensor = run->tensors[i];
        if (buffer->role != IR_INPUT && buffer->role != IR_INOUT)
            continue;
        for (int k = 0; k < buffer->rank; k++) {
            const struct ir_expr *extent = buffer->shape[k];
            union dtype_value value;
            bool own =
                extent->kind == IR_SYMBOL && extent->symbol->buffer == buffer && extent->symbol->axis == k;
            if (own || (scalar_evaluate(extent, run->dims, run->scalars, &value) &&
                        value.i == tensor_shape(tensor)[k]))
                continue;
            call_refuse_shape(call_list(run->messages), buffer, tensor, run->dims, run->scalars);
            return false;
        }
    }
    return true;
}

static bool run_check_preconditions(struct call_run *run)
{
    const struct ir_kernel *kernel = run->instance->kernel;

    for (int i = 0; i < kernel->preconditions.count; i++) {
        const struct ir_precondition *precondition = &kernel->preconditions.items[i];
        union dtype_value value;
        if (precondition->guard && scalar_evaluate(precondition->guard, run->dims, run->scalars, &value) &&
            !value.i)
            continue;
        if (scalar_evaluate(precondition->condition, run->dims, run->scalars, &value) && value.i)
            continue;
        call_refuse_precondition(call_list(run->messages), run->instance, precondition, run->dims,
                                 run->scalars);
        return false;
    }
    return true;
}

/* ---- memory: outputs, temporaries, what may not overlap -------------------------------------- */

static bool run_shape(struct call_run *run, const struct ir_buffer *buffer, int64_t *shape)
{
    for (int k = 0; k < buffer->rank; k++) {
        union dtype_value value;
        if (!scalar_evaluate(buffer->shape[k], run->dims, run->scalars, &value) || value.i < 0) {
            struct diagnostic_entry *entry =
                diagnostic_add(call_list(run->messages), MSG_CALL_SIZE, buffer->span, buffer->name);
            diagnostic_note(entry, "note: axis %d would be negative, or too large to count", k);
            return false;
        }
        shape[k] = value.i;
    }
    return true;
}

static int run_find_output(const struct call_run *run, int index)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    int count = (int)akg_kernel_output_count(run->kernel), output = 0;

    for (int i = 0; i <= index; i++, output++)
        while (output < count &&
               jit_output_item(run->kernel, (size_t)output) != kernel->results.items[i].item)
            output++;
    return output <= count ? output - 1 : -1;
}

/*
 * Which output the caller knows result number `index` as, or -1. They are the same but where an optional
 * tensor that was left out would have been returned: then the places in the return statement tell.
 */
static int run_output_of(const struct call_run *run, int index)
{
    return run->results_differ ? run_find_output(run, index) : index;
}

/* The caller has made room for the outputs of the general kernel and for no others. */
static bool run_check_results(struct call_run *run)
{
    int last = run->instance->kernel->results.count - 1;
    char returned[24], expected[24];

    run->results_differ = (size_t)last + 1 != akg_kernel_output_count(run->kernel);
    for (int i = 0; i <= last && last > 0 && !run->results_differ; i++)
        run->results_differ =
            jit_output_item(run->kernel, (size_t)i) != run->instance->kernel->results.items[i].item;
    if (last < 0 || run_output_of(run, last) >= 0)
        return true;
    snprintf(returned, sizeof returned, "%d", last + 1);
    snprintf(expected, sizeof expected, "%zu", akg_kernel_output_count(run->kernel));
    diagnostic_add(call_list(run->messages), MSG_CALL_RESULTS, run->kernel->function->span,
                   run->kernel->function->name, returned, expected);
    return false;
}

static akg_status run_refuse_output(struct call_run *run, const struct ir_result *result, const char *why)
{
    diagnostic_add(call_list(run->messages), MSG_CALL_OUTPUT, result->buffer->span, result->name, why);
    return AKG_ERROR_CALL;
}

/* The caller's own tensor for a result. */
static akg_status run_take_output(struct call_run *run, const struct ir_result *result, akg_tensor *given)
{
    const struct ir_buffer *buffer = result->buffer;
    int64_t shape[AKG_MAX_RANK];

    if (buffer->role == IR_INOUT)
        return given == run->tensors[buffer->index]
                   ? AKG_OK
                   : run_refuse_output(run, result, "is not the input that is written in place");
    if (run->tensors[buffer->index])
        return given == run->tensors[buffer->index]
                   ? AKG_OK
                   : run_refuse_output(run, result, "is not the one given before");
    if (!run_shape(run, buffer, shape))
        return AKG_ERROR_CALL;
    if (given->dtype != buffer->dtype)
        return run_refuse_output(run, result, "has another dtype");
    if (given->rank != buffer->rank ||
        memcmp(shape, tensor_shape(given), sizeof *shape * (size_t)given->rank) != 0)
        return run_refuse_output(run, result, "has another shape");
    if (!given->contiguous)
        return run_refuse_output(run, result, "is not contiguous");
    if (given->device != run->device)
        return run_refuse_output(run, result, "is on another device than the arguments");
    run->tensors[buffer->index] = given;
    return AKG_OK;
}

static bool has_no_elements(int rank, const int64_t *shape)
{
    for (int k = 0; k < rank; k++)
        if (shape[k] == 0)
            return true;
    return false;
}

static akg_status run_make_buffer(struct call_run *run, const struct ir_buffer *buffer)
{
    int64_t shape[AKG_MAX_RANK], count;
    akg_status status;

    if (run->tensors[buffer->index])
        return AKG_OK;
    if (!run_shape(run, buffer, shape))
        return AKG_ERROR_CALL;
    /* the program sees to those of a device; copies that this call does not make (jit/pass_tile.c) are empty
     */
    if (buffer->unused ||
        (buffer->role == IR_TEMPORARY && (run->device || has_no_elements(buffer->rank, shape))))
        status = tensor_size_is_valid(buffer->dtype, buffer->rank, shape, &count) ? AKG_OK : AKG_ERROR_USAGE;
    else
        status = call_allocate(run->device, buffer, shape, &run->tensors[buffer->index], run->messages);
    run->owned[buffer->index] = run->tensors[buffer->index] != NULL;
    if (status == AKG_ERROR_USAGE) {
        diagnostic_add(call_list(run->messages), MSG_CALL_SIZE, buffer->span, buffer->name);
        return AKG_ERROR_CALL;
    }
    return status;
}

/* Whether buffer number `index` is a tensor of the caller's that the kernel writes. */
static bool run_writes(const struct call_run *run, int index)
{
    enum ir_role role = run->instance->kernel->buffers.items[index]->role;
    return role != IR_INPUT && role != IR_TEMPORARY && !run->owned[index];
}

/* The analyses take distinct elements for distinct memory, so what is written may overlap nothing else. */
static bool run_check_overlap(struct call_run *run)
{
    const struct ir_kernel *kernel = run->instance->kernel;

    for (int i = 0; i < kernel->buffers.count; i++) {
        const struct ir_buffer *written = kernel->buffers.items[i];
        if (!run_writes(run, i))
            continue;
        if (overlap_within(run->tensors[i])) {
            diagnostic_add(call_list(run->messages), MSG_CALL_ALIAS, written->span, written->name,
                           written->name);
            return false;
        }
        for (int k = 0; k < kernel->buffers.count; k++) {
            if (k == i || run->owned[k] || !run->tensors[k] ||
                !overlap_between(run->tensors[i], run->tensors[k]))
                continue;
            diagnostic_add(call_list(run->messages), MSG_CALL_ALIAS, written->span, written->name,
                           kernel->buffers.items[k]->name);
            return false;
        }
    }
    return true;
}

static akg_status run_make_buffers(struct call_run *run, bool may_overlap, akg_tensor **outputs)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    akg_status status;

    for (int i = 0; i < kernel->results.count; i++) {
        akg_tensor *given = outputs[run_output_of(run, i)];
        if (given && (status = run_take_output(run, &kernel->results.items[i], given)) != AKG_OK)
            return status;
    }
    for (int i = 0; i < kernel->buffers.count; i++)
        if ((status = run_make_buffer(run, kernel->buffers.items[i])) != AKG_OK)
            return status;
    return may_overlap || run_check_overlap(run) ? AKG_OK : AKG_ERROR_CALL;
}

/* ---- running ----------------------------------------------------------------------------------- */

/* The inputs for a trial of other code. Where there is no memory for it, there is none now. */
static void run_offer(struct call_run *run)
{
    int count = run->instance->kernel->buffers.count;
    struct trial_view *views = memory_zeroed((size_t)count + 1, sizeof *views);

    for (int i = 0; views && i < count; i++)
        if (run->tensors[i])
            views[i] = (struct trial_view){run->data[i], tensor_shape(run->tensors[i]), run->strides[i]};
    if (views)
        optimised_offer(run->instance->optimised, views, run->dims, run->scalars);
    memory_free(views);
}

/* Code that may be replaced while it is used. */
static int run_tiered(struct call_run *run, const struct jit_frame *frame)
{
    struct optimised *optimised = run->instance->optimised;
    struct timespec start, end;
    int stopped;

    if (optimised_wants_inputs(optimised))
        run_offer(run);
    if (!optimised_is_timed(optimised))
        return optimised_entry(optimised)(frame);
    clock_gettime(CLOCK_MONOTONIC, &start);
    stopped = optimised_entry(optimised)(frame);
    clock_gettime(CLOCK_MONOTONIC, &end);
    optimised_add_time(optimised, (unsigned long long)((end.tv_sec - start.tv_sec) * 1000000000 +
                                                       (end.tv_nsec - start.tv_nsec)));
    return stopped;
}

static akg_status run_once(struct call_run *run, const struct jit_frame *frame, int *stopped)
{
    if (run->device)
        return call_run_on_device(run->device, run->instance, frame, stopped, run->messages);
    if (run->instance->optimised)
        *stopped = run_tiered(run, frame);
    else
        *stopped = run->instance->code.entry ? run->instance->code.entry(frame)
                                             : interpreter_run(run->instance->kernel, frame);
    return AKG_OK;
}

static akg_status run_execute(struct call_run *run)
{
    struct jit_trap trap;
    struct jit_frame frame = {.data = run->data,
                              .dims = run->dims,
                              .strides = run->strides,
                              .scalars = run->scalars,
                              .trap = &trap,
                              .split = pool_split};
    akg_status status = AKG_OK;
    int stopped = 0;

    for (int i = 0; i < run->instance->kernel->buffers.count; i++) {
        if (!run->tensors[i])
            continue; /* it is not used */
        run->data[i] = run->tensors[i]->data;
        run->strides[i] = tensor_strides(run->tensors[i]);
        if (run_writes(run, i))
            tensor_mark_written(run->tensors[i]);
    }
    if (run->runner)
        stopped = run->runner->run(run->runner->context, run->instance->kernel, &frame);
    else
        for (int64_t k = 0; k < run->repeats && !stopped && status == AKG_OK; k++)
            status = run_once(run, &frame, &stopped);
    if (status != AKG_OK || !stopped)
        return status;
    if (trap.site == 0)
        return AKG_ERROR_MEMORY;
    call_refuse_trap(call_list(run->messages), run->instance, &trap);
    return AKG_ERROR_CALL;
}

static void run_hand_out(struct call_run *run, akg_tensor **outputs)
{
    const struct ir_kernel *kernel = run->instance->kernel;

    for (int i = 0; i < kernel->results.count; i++) {
        int index = kernel->results.items[i].buffer->index;
        akg_tensor **output = &outputs[run_output_of(run, i)];
        if (*output)
            continue;
        if (run->owned[index])
            run->owned[index] = false;
        else
            akg_tensor_retain(run->tensors[index]);
        *output = run->tensors[index];
    }
}

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

/* Everything of one call. */
struct call {
    struct call_binding binding;
    struct broadcast broadcast;
    struct call_messages messages;
    const struct jit_instance *instance;
    struct gpu_device *device; /* of its tensors; NULL: the host */
    jit_backend backend;
    bool trust_indices;
    int64_t repeats;
    bool infer;        /* only what it would give is asked */
    struct cost *cost; /* or only what it would do; else NULL */
    struct text *text; /* or its plain C; else NULL */
    const struct call_runner *runner;
};

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
        akg_tensor **output = &outputs[run_output_of(run, i)];
        int64_t shape[AKG_MAX_RANK];
        akg_status status = AKG_OK;
        if (buffer->role == IR_INOUT)
            *output = akg_tensor_retain(run->tensors[buffer->index]);
        else if (!run_shape(run, buffer, shape))
            status = AKG_ERROR_CALL;
        else
            status = call_describe_only(buffer->dtype, buffer->rank, shape, run->device, output);
        if (status == AKG_ERROR_USAGE) {
            diagnostic_add(call_list(run->messages), MSG_CALL_SIZE, buffer->span, buffer->name);
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

static akg_status run_print(struct call_run *run, struct text *text)
{
    struct text complaint;
    akg_status status = AKG_OK;

    text_init(&complaint);
    if (!emit_plain(text, run->instance->kernel, run->dims, run->scalars, &complaint)) {
        diagnostic_add(call_list(run->messages), MSG_PLAIN_C, run->kernel->function->span,
                       run->kernel->function->name, complaint.data ? complaint.data : "");
        status = AKG_ERROR_CALL;
    }
    text_free(&complaint);
    return text->failed ? AKG_ERROR_MEMORY : status;
}

static akg_status call_execute(struct call *call, akg_tensor **outputs)
{
    struct call_run run;
    akg_status status = AKG_ERROR_CALL;
    bool runs = !call->infer && !call->cost && !call->text;

    run.kernel = call->binding.kernel;
    run.instance = call->instance;
    run.messages = &call->messages;
    run.device = call->device;
    run.runner = call->runner;
    run.repeats = call->repeats;
    if (!run_prepare(&run))
        return AKG_ERROR_MEMORY;
    run_take_arguments(&run, &call->binding);
    if (run_check_results(&run) && run_check_shapes(&run) && run_check_preconditions(&run))
        status = call->cost    ? run_count(&run, call->cost)
                 : call->text  ? run_print(&run, call->text)
                 : call->infer ? run_describe(&run, outputs)
                               : run_make_buffers(&run, false, outputs);
    if (status == AKG_OK && runs)
        status = run_execute(&run);
    if (status == AKG_OK && runs)
        run_hand_out(&run, outputs);
    run_release(&run);
    return status;
}

static akg_status call_finish(struct call_messages *messages, akg_status status,
                              akg_diagnostics **diagnostics)
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
    bool infer;
    struct cost *cost;
    struct text *text;
    const struct call_runner *runner;
};

/* Finds the instance; false status: there is none. What is in the binding is set when it is needed. */
static akg_status call_start(struct call *call, akg_kernel *kernel, const akg_argument *arguments,
                             size_t count, const akg_call_options *options, bool runs)
{
    akg_status status = call_begin(&call->binding, kernel) ? AKG_OK : AKG_ERROR_MEMORY;

    call->messages = (struct call_messages){&kernel->module->source, NULL};
    call->broadcast = (struct broadcast){NULL, 0};
    call->instance = NULL;
    call->backend = options && options->backend ? options->backend : kernel->module->backend;
    call->trust_indices = options && options->trust_indices;
    call->repeats = options && options->repeats ? options->repeats : 1;
    call->device = NULL;
    if (status == AKG_OK && !call_find_device(kernel, arguments, count, &call->messages, &call->device))
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

    call.infer = wish.infer;
    call.cost = wish.cost;
    call.text = wish.text;
    call.runner = wish.runner;
    if (status == AKG_OK)
        status = call_execute(&call, outputs);
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
    if (diagnostics)
        *diagnostics = NULL;
    if (!call_is_usable(kernel, arguments, argument_count, options, outputs))
        return AKG_ERROR_USAGE;
    if (call_is_of_recording(arguments, argument_count))
        return failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_STAND_IN, kernel->function->name, NULL,
                              NULL, "help: call it with akg_call, on the tape of the recording");
    return call_perform(kernel, arguments, argument_count, options, (struct call_wish){0}, outputs,
                        diagnostics);
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

/* ---- calls that are prepared ----------------------------------------------------------------------- */

struct call_prepared {
    struct call_run run;
    struct broadcast broadcast;
    struct call_messages messages;
    ptrdiff_t *offsets; /* per buffer: where a view lies behind its base */
};

/* Views begin where they began, behind a base whose elements may lie elsewhere now. */
static void prepared_follow(struct call_prepared *prepared, bool learn)
{
    for (int i = 0; i < prepared->run.instance->kernel->buffers.count; i++) {
        akg_tensor *tensor = prepared->run.tensors[i];
        char *base = tensor && tensor->base ? tensor->base->data : NULL;
        if (base && learn)
            prepared->offsets[i] = (char *)tensor->data - base;
        else if (base && tensor->data != base + prepared->offsets[i])
            tensor->data = base + prepared->offsets[i];
    }
}

static akg_status prepared_fill(struct call_prepared *prepared, const struct call *call, akg_tensor **outputs)
{
    struct call_run *run = &prepared->run;
    akg_status status = AKG_ERROR_CALL;

    prepared->messages = call->messages;
    run->kernel = call->binding.kernel;
    run->messages = &prepared->messages;
    run->repeats = 1;
    if (!run_prepare(run))
        return AKG_ERROR_MEMORY;
    run->instance = call->instance;
    run->device = call->device;
    run_take_arguments(run, &call->binding);
    if (run_check_results(run) && run_check_shapes(run) && run_check_preconditions(run))
        status = run_make_buffers(run, true, outputs);
    prepared->offsets = memory_zeroed((size_t)run->instance->kernel->buffers.count + 1, sizeof(ptrdiff_t));
    if (!prepared->offsets)
        status = AKG_ERROR_MEMORY;
    if (status == AKG_OK)
        prepared_follow(prepared, true);
    return status;
}

akg_status call_prepare(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_tensor **outputs,
                        struct call_prepared **made, akg_diagnostics **diagnostics)
{
    struct call_prepared *prepared = memory_zeroed(1, sizeof *prepared);
    struct call call;
    akg_status status;

    *made = NULL;
    if (diagnostics)
        *diagnostics = NULL;
    if (!prepared)
        return AKG_ERROR_MEMORY;
    status = call_start(&call, kernel, arguments, count, NULL, true);
    if (status == AKG_OK) {
        prepared->run.instance = call.instance;
        status = prepared_fill(prepared, &call, outputs);
        call.messages = prepared->messages;
    }
    prepared->broadcast = call.broadcast;
    prepared->messages.list = NULL;
    call_end(&call.binding);
    if (status == AKG_OK)
        *made = prepared;
    else
        call_prepared_free(prepared);
    return call_finish(&call.messages, status, diagnostics);
}

akg_status call_prepared_run(struct call_prepared *prepared, akg_diagnostics **diagnostics)
{
    struct call_messages messages;
    akg_status status;

    prepared_follow(prepared, false);
    status = run_execute(&prepared->run);
    messages = prepared->messages;
    prepared->messages.list = NULL;
    return status == AKG_OK ? AKG_OK : call_finish(&messages, status, diagnostics);
}

void call_prepared_free(struct call_prepared *prepared)
{
    if (!prepared)
        return;
    if (prepared->run.tensors)
        run_release(&prepared->run);
    broadcast_end(&prepared->broadcast);
    memory_free(prepared->offsets);
    memory_free(prepared);
}

const struct jit_instance *call_prepared_instance(const struct call_prepared *prepared)
{
    return prepared->run.instance;
}

akg_tensor *call_prepared_tensor(const struct call_prepared *prepared, int buffer)
{
    return prepared->run.tensors[buffer];
}

union jit_scalar call_prepared_scalar(const struct call_prepared *prepared, int attribute)
{
    return prepared->run.scalars[attribute];
}

/* Escapes when memory runs out. */
static struct ir_kernel *elaborate_bound(struct call_binding *binding, struct arena *arena,
                                         akg_diagnostics *list)
{
    const struct akg_kernel *kernel = binding->kernel;
    struct dsl_argument *described =
        arena_array(arena, struct dsl_argument, kernel->function->parameter_count + 1);
    struct elaborate_result result = {0};

    call_describe(binding, arena, described);
    pipeline_specialise(arena, kernel->module->tree, kernel->function, described, false, &result, list);
    return result.retry ? NULL : result.kernel;
}

struct ir_kernel *call_elaborate(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                                 struct arena *arena)
{
    struct call call;
    struct ir_kernel *volatile made = NULL;
    akg_status status = call_start(&call, kernel, arguments, count, NULL, false);
    akg_diagnostics *list = call_list(&call.messages);
    jmp_buf escape, *before = arena->escape;

    if (status == AKG_OK && list && !setjmp(escape)) {
        arena->escape = &escape;
        diagnostics_set_escape(list, &escape);
        made = elaborate_bound(&call.binding, arena, list);
    }
    arena->escape = before;
    diagnostics_set_escape(list, NULL);
    akg_diagnostics_free(list);
    broadcast_end(&call.broadcast);
    call_end(&call.binding);
    return made;
}
