/*
 * call_run.c: see call_run.h. Checks what the analyses left to be checked per call, makes outputs, runs.
 *
 * Consumes an instance of the kernel cache; nothing is written to any tensor before every check of the
 * call has passed.
 */
#include "call_run.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../jit/interpreter.h"
#include "../jit/scalar.h"
#include "overlap.h"
#include "pool.h"

bool call_run_prepare(struct call_run *run)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    size_t buffers = (size_t)kernel->buffers.count, dims = (size_t)kernel->dims.count;
    size_t scalars = (size_t)kernel->attributes.count;
    char *spill;

    run->kept = NULL;
    run->has_buffers = false;
    run->spill = NULL;
    run->temporaries = NULL;
    run->temporaries_size = 0;
    if (buffers <= CALL_INLINE_BUFFERS && dims <= CALL_INLINE_DIMS && scalars <= CALL_INLINE_SCALARS) {
        run->tensors = run->small.tensors;
        run->owned = run->small.owned;
        run->data = run->small.data;
        run->strides = run->small.strides;
        run->dims = run->small.dims;
        run->scalars = run->small.scalars;
        /* all: a known size is faster than a small one */
        memset(run->small.owned, 0, sizeof run->small.owned);
        for (int i = 0; i < run->instance->made.count; i++) /* the others are arguments */
            run->small.tensors[run->instance->made.items[i]] = NULL;
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

/* ---- temporaries between calls ------------------------------------------------------------------- */

/* The temporaries of a call, and what their extents hang on; `values`: its dims, then its scalars. */
struct kept {
    struct jit_kept head;
    void *memory; /* what they share (call_temporaries.c), or NULL */
    size_t memory_size;
    int tensors_count;
    union jit_scalar *values;
    akg_tensor *tensors[];
};

static void kept_empty(struct kept *kept)
{
    for (int i = 0; i < kept->tensors_count; i++) {
        akg_tensor_release(kept->tensors[i]);
        kept->tensors[i] = NULL;
    }
    memory_free(kept->memory);
    kept->memory = NULL;
}

static void kept_release(struct jit_kept *head)
{
    kept_empty((struct kept *)head);
    memory_free(head);
}

static struct kept *kept_new(const struct ir_kernel *kernel)
{
    size_t tensors = (size_t)kernel->buffers.count;
    size_t values = (size_t)(kernel->dims.count + kernel->attributes.count);
    struct kept *kept = memory_zeroed(1, sizeof *kept + (tensors + values) * 8);

    if (kept) {
        kept->head.release = kept_release;
        kept->tensors_count = kernel->buffers.count;
        kept->values = (union jit_scalar *)(void *)(kept->tensors + tensors);
    }
    return kept;
}

/* Takes what the last call left, where it was of the same extents: pages that are there already, and no
 * shapes to be found out. Calls of several threads at once make their own. */
static void run_take_kept(struct call_run *run)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    size_t dims = (size_t)kernel->dims.count, scalars = (size_t)kernel->attributes.count;

    if (!run->instance->has_temporaries || run->device)
        return;
    run->kept = (struct kept *)atomic_exchange_explicit(&((struct jit_instance *)run->instance)->kept, NULL,
                                                        memory_order_acquire);
    if (!run->kept)
        return;
    if (memcmp(run->kept->values, run->dims, dims * 8) != 0 ||
        memcmp(run->kept->values + dims, run->scalars, scalars * 8) != 0)
        kept_empty(run->kept);
    run->temporaries = run->kept->memory;
    run->temporaries_size = run->kept->memory_size;
    run->kept->memory = NULL;
    for (int i = 0; i < run->kept->tensors_count; i++) {
        run->tensors[i] = run->kept->tensors[i] ? run->kept->tensors[i] : run->tensors[i];
        run->owned[i] |= run->kept->tensors[i] != NULL;
        run->kept->tensors[i] = NULL;
    }
}

/* Bytes of a temporary, or of what they share: more is not held on to. */
enum { MOST_KEPT = 8 << 20 };

/* Leaves the temporaries to the next call. */
static void run_keep(struct call_run *run)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    size_t dims = (size_t)kernel->dims.count, scalars = (size_t)kernel->attributes.count;

    if (!run->kept && !(run->kept = kept_new(kernel)))
        return;
    memcpy(run->kept->values, run->dims, dims * 8);
    memcpy(run->kept->values + dims, run->scalars, scalars * 8);
    for (int i = 0; i < kernel->buffers.count; i++) {
        akg_tensor *tensor = run->tensors[i];
        if (!run->owned[i] || kernel->buffers.items[i]->role != IR_TEMPORARY ||
            tensor->element_count > MOST_KEPT / dtype_table[tensor->dtype].size)
            continue;
        run->kept->tensors[i] = tensor;
        run->owned[i] = false;
    }
    run->kept->memory = run->temporaries;
    run->kept->memory_size = run->temporaries_size;
    run->temporaries = NULL;
    struct jit_kept *other = atomic_exchange_explicit(&((struct jit_instance *)run->instance)->kept,
                                                      &run->kept->head, memory_order_acq_rel);
    if (other)
        other->release(other);
}

void call_run_release(struct call_run *run)
{
    if (run->has_buffers && run->instance->has_temporaries && !run->device &&
        (!run->temporaries || run->temporaries_size <= MOST_KEPT))
        run_keep(run);
    else if (run->kept)
        kept_release(&run->kept->head);
    for (int i = 0; i < run->instance->made.count; i++)
        if (run->owned[run->instance->made.items[i]])
            akg_tensor_release(run->tensors[run->instance->made.items[i]]);
    memory_free(run->temporaries);
    memory_free(run->spill);
}

static union jit_scalar run_scalar(const struct ir_symbol *symbol, const struct dsl_argument *initial,
                                   const akg_argument *argument)
{
    if (argument)
        return call_scalar(symbol->dtype, argument);
    if (symbol->dtype != AKG_FLOAT64)
        return (union jit_scalar){.i = initial->integer};
    return (union jit_scalar){.d = initial->kind == DSL_FLOAT ? initial->real : (double)initial->integer};
}

/* Fills tensors and scalars from the arguments, in the order of the kernel's parameters. */
void call_run_take_arguments(struct call_run *run, const struct call_binding *binding)
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

bool call_run_is_tied(const struct ir_buffer *buffer, int axis)
{
    const struct ir_expr *extent = ir_buffer_extents(buffer)[axis];

    return (buffer->role == IR_INPUT || buffer->role == IR_INOUT) &&
           !(extent->kind == IR_SYMBOL && extent->symbol->buffer == buffer && extent->symbol->axis == axis);
}

/* Extents that annotations tie to others. */
bool call_run_check_shapes(struct call_run *run)
{
    const struct ir_kernel *kernel = run->instance->kernel;

    for (int i = 0; i < kernel->buffers.count; i++) {
        const struct ir_buffer *buffer = kernel->buffers.items[i];
        const akg_tensor *tensor = run->tensors[i];
        for (int k = 0; k < buffer->rank; k++) {
            union dtype_value value;
            if (!call_run_is_tied(buffer, k) ||
                (scalar_evaluate(ir_buffer_extents(buffer)[k], run->dims, run->scalars, &value) &&
                 value.i == tensor_shape(tensor)[k]))
                continue;
            call_refuse_shape(call_list(run->messages), buffer, tensor, run->dims, run->scalars);
            return false;
        }
    }
    return true;
}

bool call_run_check_preconditions(struct call_run *run)
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
        call_refuse_precondition(call_list(run->messages), precondition, run->dims, run->scalars);
        return false;
    }
    return true;
}

/* ---- memory: outputs, temporaries, what may not overlap -------------------------------------- */

bool call_run_shape(struct call_run *run, const struct ir_buffer *buffer, int64_t *shape)
{
    for (int k = 0; k < buffer->rank; k++) {
        union dtype_value value;
        if (!scalar_evaluate(buffer->shape[k], run->dims, run->scalars, &value) || value.i < 0) {
            call_refuse_extent(call_list(run->messages), buffer, k, run->dims, run->scalars);
            return false;
        }
        shape[k] = value.i;
    }
    return true;
}

int call_next_output(const struct akg_kernel *kernel, int before, int item)
{
    int count = (int)akg_kernel_output_count(kernel);

    for (int output = before + 1; output < count; output++)
        if (jit_output_item(kernel, (size_t)output) == item)
            return output;
    return -1;
}

static int run_find_output(const struct call_run *run, int index)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    int output = -1;

    for (int i = 0; i <= index && (i == 0 || output >= 0); i++)
        output = call_next_output(run->kernel, output, kernel->results.items[i].item);
    return output;
}

/*
 * Which output the caller knows result number `index` as, or -1. They are the same but where an optional
 * tensor that was left out would have been returned: then the places in the return statement tell.
 */
int call_run_output_of(const struct call_run *run, int index)
{
    return run->results_differ ? run_find_output(run, index) : index;
}

/* The caller has made room for the outputs of the general kernel and for no others. */
bool call_run_check_results(struct call_run *run)
{
    int last = run->instance->kernel->results.count - 1;

    run->results_differ = (size_t)last + 1 != akg_kernel_output_count(run->kernel);
    for (int i = 0; i <= last && last > 0 && !run->results_differ; i++)
        run->results_differ =
            jit_output_item(run->kernel, (size_t)i) != run->instance->kernel->results.items[i].item;
    if (last < 0 || call_run_output_of(run, last) >= 0)
        return true;
    call_refuse_results(call_list(run->messages), run->kernel, last + 1);
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
    int64_t shape[AKG_MAX_RANK], count;
    char text[TENSOR_UNLIKE_TEXT];
    const char *unlike;

    if (buffer->role == IR_INOUT)
        return given == run->tensors[buffer->index]
                   ? AKG_OK
                   : run_refuse_output(run, result, "is not the input that is written in place");
    if (run->tensors[buffer->index])
        return given == run->tensors[buffer->index]
                   ? AKG_OK
                   : run_refuse_output(run, result, "is not the one given before");
    if (!call_run_shape(run, buffer, shape))
        return AKG_ERROR_CALL;
    if (!tensor_size_is_valid(buffer->dtype, buffer->rank, shape, &count)) {
        call_refuse_size(call_list(run->messages), buffer, shape);
        return AKG_ERROR_CALL;
    }
    unlike = tensor_unlike(given, buffer->dtype, buffer->rank, shape, run->device, text);
    if (unlike)
        return run_refuse_output(run, result, unlike);
    run->tensors[buffer->index] = given;
    return AKG_OK;
}

static akg_status run_make_buffer(struct call_run *run, const struct ir_buffer *buffer)
{
    int64_t shape[AKG_MAX_RANK], count;
    akg_status status;

    if (!call_run_shape(run, buffer, shape))
        return AKG_ERROR_CALL;
    /* the program sees to temporaries of a device */
    if (buffer->unused || (buffer->role == IR_TEMPORARY && run->device))
        status = tensor_size_is_valid(buffer->dtype, buffer->rank, shape, &count) ? AKG_OK : AKG_ERROR_USAGE;
    else
        status = call_allocate(run->device, buffer, shape, run->tensors, run->instance->kernel->buffers.count,
                               &run->tensors[buffer->index], run->messages);
    run->owned[buffer->index] = run->tensors[buffer->index] != NULL;
    if (status == AKG_ERROR_USAGE) {
        call_refuse_size(call_list(run->messages), buffer, shape);
        return AKG_ERROR_CALL;
    }
    return status;
}

static bool run_refuse_alias(struct call_run *run, int written, int other)
{
    const struct ir_buffer *const *buffers =
        (const struct ir_buffer *const *)run->instance->kernel->buffers.items;

    char names[500]; /* the end of longer ones is left out */

    if (written == other)
        snprintf(names, sizeof names, "elements of '%s'", buffers[written]->name);
    else
        snprintf(names, sizeof names, "'%s' and '%s'", buffers[written]->name, buffers[other]->name);
    diagnostic_add(call_list(run->messages), MSG_CALL_ALIAS, buffers[written]->span, names);
    return false;
}

/* The analyses take distinct elements for distinct memory, so what is written may overlap nothing else. */
static bool run_check_overlap(struct call_run *run)
{
    int count = run->instance->kernel->buffers.count;

    for (int w = 0; w < run->instance->written.count; w++) {
        int i = run->instance->written.items[w];
        const akg_tensor *written = run->tensors[i];
        uintptr_t first, last;
        if (run->owned[i] || written->element_count == 0)
            continue;
        if (overlap_within(written))
            return run_refuse_alias(run, i, i);
        overlap_find_ends(written, &first, &last);
        for (int k = 0; k < count; k++)
            if (k != i && !run->owned[k] && run->tensors[k] &&
                overlap_is_possible(first, last, run->tensors[k]) &&
                overlap_between(written, run->tensors[k]))
                return run_refuse_alias(run, i, k);
    }
    return true;
}

akg_status call_run_make_buffers(struct call_run *run, bool may_overlap, akg_tensor **outputs)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    akg_status status;

    for (int i = 0; i < kernel->results.count; i++) {
        akg_tensor *given = outputs[call_run_output_of(run, i)];
        if (given && (status = run_take_output(run, &kernel->results.items[i], given)) != AKG_OK)
            return status;
    }
    run_take_kept(run);
    if (run->instance->lives && !run->device && !run->temporaries &&
        (status = call_run_share_temporaries(run)) != AKG_OK)
        return status;
    for (int k = 0; k < run->instance->made.count; k++) {
        int i = run->instance->made.items[k];
        if (!run->tensors[i] && (status = run_make_buffer(run, kernel->buffers.items[i])) != AKG_OK)
            return status;
    }
    run->has_buffers = true;
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
    if (!optimised_counts(optimised) || !optimised_is_timed(optimised))
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
        return call_run_on_device(run->device, run->graph, run->instance, frame, stopped, run->messages);
    if (run->instance->optimised)
        *stopped = run_tiered(run, frame);
    else
        *stopped = run->instance->code.entry ? run->instance->code.entry(frame)
                                             : interpreter_run(run->instance->kernel, frame);
    return AKG_OK;
}

/* Tells the frame where the elements are, and others that they are about to change. */
static void run_address(struct call_run *run)
{
    const struct jit_instance *instance = run->instance;
    akg_tensor *const *tensors = run->tensors;
    const int64_t **strides = run->strides;
    void **data = run->data;
    int count = instance->kernel->buffers.count;

    for (int i = 0; i < count; i++) {
        if (!tensors[i])
            continue; /* it is not used */
        data[i] = tensors[i]->data;
        strides[i] = tensor_strides(tensors[i]);
    }
    for (int i = 0; i < instance->written.count; i++)
        if (!run->owned[instance->written.items[i]])
            tensor_mark_written(tensors[instance->written.items[i]]);
}

akg_status call_run_execute(struct call_run *run)
{
    struct jit_trap trap;
    struct jit_frame frame = {.data = run->data,
                              .dims = run->dims,
                              .strides = run->strides,
                              .scalars = run->scalars,
                              .trap = &trap,
                              .split = pool_split,
                              .reach = run->instance->deferred.count ? deferred_reach : NULL,
                              .deferred = (struct deferred *)&run->instance->deferred,
                              .threads = akg_threads()};
    akg_status status = AKG_OK;
    int stopped = 0;

    run_address(run);
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

akg_status call_run_all(struct call_run *run, akg_tensor **outputs)
{
    akg_status status = call_run_make_buffers(run, false, outputs);

    if (status == AKG_OK)
        status = call_run_execute(run);
    if (status == AKG_OK)
        call_run_hand_out(run, outputs);
    return status;
}

void call_run_hand_out(struct call_run *run, akg_tensor **outputs)
{
    const struct ir_kernel *kernel = run->instance->kernel;

    for (int i = 0; i < kernel->results.count; i++) {
        int index = kernel->results.items[i].buffer->index;
        akg_tensor **output = &outputs[call_run_output_of(run, i)];
        if (*output)
            continue;
        if (run->owned[index])
            run->owned[index] = false;
        else
            akg_tensor_retain(run->tensors[index]);
        *output = run->tensors[index];
    }
}
