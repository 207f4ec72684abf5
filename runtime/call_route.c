/*
 * call_route.c: calls of a form that was met before.
 *
 * A route is what binding, key and lookup came to for arguments of one form: how many there are and by which
 * names, their kinds, the dtypes, ranks and layouts of tensors, and the values that are compiled in. One look
 * at each argument tells whether a call has the form, and puts it in its place. What hangs on extents and
 * addresses is no part of it: call_run.c checks that for every call.
 *
 * Consumes a call that went well; keeps nothing of its arguments. Routes of a kernel are only ever prepended
 * to, so that threads read them without a lock, and are freed with it. An instance that a route leads to
 * stays right for the form when later ones ask for more constants: it needed none of those.
 */
#include "call_run.h"

#include <stdint.h>
#include <string.h>

/* Of one kernel: who calls it in more forms goes the long way with the others. */
enum { ROUTE_MOST = 64 };

struct route_tensor {
    akg_dtype dtype;
    int rank;
    bool contiguous;
    uint64_t few;               /* of the extents, where the route looks at them */
    const unsigned char *order; /* of one that is not contiguous (tensor_order); NULL: it has none */
    int buffer;
    const struct ir_buffer *fixed; /* the buffer, where an extent is compiled in; else NULL */
};

struct route_argument {
    akg_argument_kind kind;
    bool is_constant;
    struct ir_known known;              /* of an integer */
    akg_dtype dtype;                    /* of the scalar */
    int scalar;                         /* its number, or -1 */
    const char *name;                   /* the parameter's; NULL: given by place */
    const struct route_tensor *tensors; /* of TENSOR and TENSORS */
    size_t count;
    const void *constant; /* the bytes of a string, of integers or of a number that are compiled in */
    size_t length;
};

struct route_dim {
    int buffer, axis;
};

struct call_route {
    struct jit_route head;
    const struct jit_instance *instance;
    int few;             /* extents up to it are part of the form; 0: none is */
    bool one_shape;      /* of a @broadcast function: then all tensors have the same extents */
    bool results_differ; /* as of call_run */
    bool ties;           /* annotations tie extents together */
    int tensor_count;
    size_t argument_count;
    struct route_argument *arguments;
    struct route_tensor *tensors;
    struct route_dim *dims;
    union jit_scalar *scalars; /* defaults of what the form leaves out */
};

/* ---- taking a route ------------------------------------------------------------------------------- */

/* Whether the tensor has the extents that are compiled in. */
static bool route_fits_extents(const struct ir_buffer *buffer, const akg_tensor *tensor)
{
    struct ir_expr *const *extents = ir_buffer_extents(buffer);

    for (int k = 0; k < buffer->rank; k++)
        if (extents[k]->kind == IR_INTEGER && extents[k]->integer != tensor_shape(tensor)[k])
            return false;
    return true;
}

/* Whether the tensor, which is not contiguous, lies as the instance takes for granted. */
static bool route_fits_order(const struct route_tensor *row, const akg_tensor *tensor)
{
    unsigned char order[AKG_MAX_RANK];
    bool ordered = tensor_order(tensor, order);

    return ordered == (row->order != NULL) &&
           (!ordered || memcmp(order, row->order, (size_t)tensor->rank) == 0);
}

static inline bool route_take_tensor(const struct call_route *route, const struct route_tensor *row,
                                     akg_tensor *tensor, struct call_run *run)
{
    if (!tensor || tensor->dtype != row->dtype || tensor->rank != row->rank ||
        tensor->contiguous != row->contiguous || tensor->device || tensor->recording ||
        (route->few && call_tensor_few(tensor, route->few) != row->few) ||
        (row->fixed && !route_fits_extents(row->fixed, tensor)) ||
        (!row->contiguous && !route_fits_order(row, tensor)))
        return false;
    run->tensors[row->buffer] = tensor;
    return true;
}

static bool route_take_tensors(const struct call_route *route, const struct route_argument *row,
                               const akg_argument *argument, struct call_run *run)
{
    if (argument->as.tensors.count != row->count || (row->count && !argument->as.tensors.items))
        return false;
    for (size_t i = 0; i < row->count; i++)
        if (!route_take_tensor(route, &row->tensors[i], argument->as.tensors.items[i], run))
            return false;
    return true;
}

static bool route_fits_constant(const struct route_argument *row, const akg_argument *argument)
{
    int64_t value;

    switch (argument->kind) {
    case AKG_ARGUMENT_STRING:
        return argument->as.string && strcmp(argument->as.string, row->constant) == 0;
    case AKG_ARGUMENT_INTS:
        return argument->as.ints.count * sizeof(int64_t) == row->length &&
               (row->length == 0 || (argument->as.ints.items &&
                                     memcmp(argument->as.ints.items, row->constant, row->length) == 0));
    case AKG_ARGUMENT_BOOL:
        value = argument->as.boolean;
        return memcmp(&value, row->constant, sizeof value) == 0;
    default:
        return memcmp(&argument->as.integer, row->constant, sizeof value) == 0;
    }
}

static inline bool route_take_argument(const struct call_route *route, const struct route_argument *row,
                                       const akg_argument *argument, struct call_run *run)
{
    if (argument->kind != row->kind ||
        (argument->name != row->name &&
         (!argument->name || !row->name || strcmp(argument->name, row->name) != 0)))
        return false;
    if (row->kind == AKG_ARGUMENT_TENSOR)
        return route_take_tensor(route, row->tensors, argument->as.tensor, run);
    if (row->kind == AKG_ARGUMENT_TENSORS)
        return route_take_tensors(route, row, argument, run);
    if (row->is_constant && !route_fits_constant(row, argument))
        return false;
    if (row->kind == AKG_ARGUMENT_INT && !ir_known_is_same(ir_known_of(argument->as.integer), row->known))
        return false;
    if (row->scalar >= 0)
        run->scalars[row->scalar] = call_scalar(row->dtype, argument);
    return true;
}

static bool route_has_one_shape(const struct call_route *route, const struct call_run *run)
{
    const akg_tensor *first = route->tensor_count ? run->tensors[route->tensors[0].buffer] : NULL;

    for (int i = 1; i < route->tensor_count; i++)
        if (!tensor_same_shape(first->rank, tensor_shape(first),
                               tensor_shape(run->tensors[route->tensors[i].buffer])))
            return false;
    return true;
}

/* Fills tensors, dims and scalars of the run; false: the call has another form. */
static bool route_take(const struct call_route *route, const akg_argument *arguments, size_t count,
                       struct call_run *run)
{
    const struct ir_kernel *kernel = route->instance->kernel;

    if (count != route->argument_count)
        return false;
    run->instance = route->instance;
    if (!call_run_prepare(run)) /* its arrays are inline: it cannot fail */
        return false;
    if (kernel->attributes.count)
        memcpy(run->scalars, route->scalars, sizeof *run->scalars * (size_t)kernel->attributes.count);
    for (size_t i = 0; i < count; i++)
        if (!route_take_argument(route, &route->arguments[i], &arguments[i], run))
            return false;
    if (route->one_shape && !route_has_one_shape(route, run))
        return false;
    for (int i = 0; i < kernel->dims.count; i++)
        run->dims[i] = tensor_shape(run->tensors[route->dims[i].buffer])[route->dims[i].axis];
    return true;
}

/* The one that served last is mostly the one. */
static const struct call_route *route_find(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                                           struct call_run *run)
{
    struct jit_route *recent = atomic_load_explicit(&kernel->recent_route, memory_order_acquire), *route;

    if (!recent)
        return NULL;
    if (route_take((struct call_route *)recent, arguments, count, run))
        return (struct call_route *)recent;
    for (route = atomic_load_explicit(&kernel->routes, memory_order_acquire); route; route = route->next)
        if (route != recent && route_take((struct call_route *)route, arguments, count, run)) {
            atomic_store_explicit(&kernel->recent_route, route, memory_order_release);
            return (struct call_route *)route;
        }
    return NULL;
}

bool call_routed(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_tensor **outputs,
                 akg_diagnostics **diagnostics, akg_status *status)
{
    struct call_messages messages = {&kernel->module->source, NULL};
    const struct call_route *route;
    struct call_run run;

    if (!arguments && count)
        return false;
    route = route_find(kernel, arguments, count, &run);
    if (!route || (!outputs && route->instance->kernel->results.count > 0))
        return false;
    run.kernel = kernel;
    run.runner = NULL;
    run.device = NULL;
    run.nowhere = false;
    run.repeats = 1;
    run.results_differ = route->results_differ;
    run.messages = &messages;
    *status = AKG_ERROR_CALL;
    if ((!route->ties || call_run_check_shapes(&run)) && call_run_check_preconditions(&run))
        *status = call_run_all(&run, outputs);
    call_run_release(&run);
    if (*status != AKG_OK)
        *status = call_finish(&messages, *status, diagnostics);
    return true;
}

/* ---- making a route ------------------------------------------------------------------------------- */

/* What one allocation has to hold. */
struct route_size {
    size_t arguments, tensors, dims, scalars, bytes;
};

static size_t route_constant_length(const akg_argument *argument)
{
    if (argument->kind == AKG_ARGUMENT_STRING)
        return strlen(argument->as.string) + 1;
    return argument->kind == AKG_ARGUMENT_INTS ? argument->as.ints.count * sizeof(int64_t) : sizeof(int64_t);
}

static bool route_measure(const struct jit_instance *instance, const akg_argument *arguments, size_t count,
                          struct route_size *size)
{
    const struct ir_kernel *kernel = instance->kernel;

    *size = (struct route_size){count, 0, (size_t)kernel->dims.count, (size_t)kernel->attributes.count, 0};
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].kind == AKG_ARGUMENT_TENSOR)
            size->tensors++;
        else if (arguments[i].kind == AKG_ARGUMENT_TENSORS)
            size->tensors += arguments[i].as.tensors.count;
        else
            size->bytes += (route_constant_length(&arguments[i]) + 7) / 8 * 8;
    }
    return kernel->buffers.count <= CALL_INLINE_BUFFERS && kernel->dims.count <= CALL_INLINE_DIMS &&
           kernel->attributes.count <= CALL_INLINE_SCALARS;
}

static struct call_route *route_new(const struct route_size *size, unsigned char **bytes)
{
    size_t arguments = sizeof(struct call_route);
    size_t scalars = arguments + size->arguments * sizeof(struct route_argument);
    size_t constants = scalars + size->scalars * sizeof(union jit_scalar);
    size_t tensors = constants + size->bytes, dims = tensors + size->tensors * sizeof(struct route_tensor);
    char *block = memory_zeroed(1, dims + size->dims * sizeof(struct route_dim));
    struct call_route *route = (struct call_route *)(void *)block;

    if (!block)
        return NULL;
    route->arguments = (struct route_argument *)(void *)(block + arguments);
    route->scalars = (union jit_scalar *)(void *)(block + scalars);
    *bytes = (unsigned char *)block + constants;
    route->tensors = (struct route_tensor *)(void *)(block + tensors);
    route->dims = (struct route_dim *)(void *)(block + dims);
    return route;
}

static void route_add_tensor(struct call_route *route, const akg_tensor *tensor,
                             const struct ir_buffer *buffer)
{
    bool fixed = false;

    for (int k = 0; k < buffer->rank; k++)
        fixed |= ir_buffer_extents(buffer)[k]->kind == IR_INTEGER;
    route->tensors[route->tensor_count++] = (struct route_tensor){.dtype = tensor->dtype,
                                                                  .rank = tensor->rank,
                                                                  .contiguous = tensor->contiguous,
                                                                  .few = call_tensor_few(tensor, route->few),
                                                                  .order = buffer->order,
                                                                  .buffer = buffer->index,
                                                                  .fixed = fixed ? buffer : NULL};
}

static unsigned char *route_keep_constant(struct route_argument *row, const akg_argument *argument,
                                          unsigned char *bytes)
{
    int64_t value = argument->kind == AKG_ARGUMENT_BOOL ? argument->as.boolean : argument->as.integer;
    const void *from = argument->kind == AKG_ARGUMENT_STRING ? (const void *)argument->as.string
                       : argument->kind == AKG_ARGUMENT_INTS ? (const void *)argument->as.ints.items
                                                             : &value;

    row->is_constant = true;
    row->constant = bytes;
    row->length = route_constant_length(argument);
    if (row->length)
        memcpy(bytes, from, row->length);
    return bytes + (row->length + 7) / 8 * 8;
}

/* Where the arguments of parameter `index` begin among the parameters of the instance. */
static int route_first_row(const struct call_binding *binding, int index)
{
    int row = 0;

    for (int i = 0; i < index; i++) {
        const akg_argument *argument = binding->arguments[i];
        if (argument && argument->kind == AKG_ARGUMENT_TENSORS)
            row += (int)argument->as.tensors.count;
        else if (argument || !binding->kernel->function->parameters[i].variadic)
            row++;
    }
    return row;
}

static int route_parameter(const struct call_binding *binding, const akg_argument *argument)
{
    int index = 0;

    while (binding->arguments[index] != argument)
        index++;
    return index;
}

/* False where a tensor stands in a place that is none of a tensor. */
static bool route_add_argument(struct call_route *route, const struct call_binding *binding,
                               const akg_argument *argument, unsigned char **bytes)
{
    const struct ir_kernel *kernel = route->instance->kernel;
    int index = route_parameter(binding, argument);
    const struct ir_parameter *parameter = &kernel->parameters.items[route_first_row(binding, index)];
    struct route_argument *row = &route->arguments[route->argument_count++];
    bool tensors = argument->kind == AKG_ARGUMENT_TENSORS;

    row->kind = argument->kind;
    row->name = argument->name ? binding->kernel->function->parameters[index].name : NULL;
    row->scalar = -1;
    row->tensors = &route->tensors[route->tensor_count];
    row->count = tensors ? argument->as.tensors.count : argument->kind == AKG_ARGUMENT_TENSOR;
    for (size_t i = 0; i < row->count; i++) {
        if (!parameter[i].buffer)
            return false;
        route_add_tensor(route, tensors ? argument->as.tensors.items[i] : argument->as.tensor,
                         parameter[i].buffer);
    }
    if (tensors || argument->kind == AKG_ARGUMENT_TENSOR || argument->kind == AKG_ARGUMENT_NONE)
        return true;
    if (argument->kind == AKG_ARGUMENT_INT)
        row->known = ir_known_of(argument->as.integer);
    if (parameter->attribute) {
        row->scalar = parameter->attribute->index;
        row->dtype = parameter->attribute->dtype;
    }
    /* Whoever asks for constants later has them in other instances; whether it was so here is not known. */
    if (!parameter->attribute || atomic_load(&binding->kernel->needs_constant[index]))
        *bytes = route_keep_constant(row, argument, *bytes);
    return true;
}

static bool route_has_ties(const struct ir_kernel *kernel)
{
    for (int i = 0; i < kernel->buffers.count; i++)
        for (int k = 0; k < kernel->buffers.items[i]->rank; k++)
            if (call_run_is_tied(kernel->buffers.items[i], k))
                return true;
    return false;
}

static bool route_fill(struct call_route *route, const struct call_run *run,
                       const struct call_binding *binding, const akg_argument *arguments, size_t count,
                       unsigned char *bytes)
{
    const struct ir_kernel *kernel = run->instance->kernel;

    route->instance = run->instance;
    route->few = binding->few;
    route->one_shape = binding->kernel->function->is_broadcast;
    route->results_differ = run->results_differ;
    route->ties = route_has_ties(kernel);
    for (int i = 0; i < kernel->dims.count; i++)
        route->dims[i] =
            (struct route_dim){kernel->dims.items[i]->buffer->index, kernel->dims.items[i]->axis};
    for (int i = 0; i < kernel->attributes.count; i++)
        route->scalars[i] = run->scalars[i];
    for (size_t i = 0; i < count; i++)
        if (!route_add_argument(route, binding, &arguments[i], &bytes))
            return false;
    return true;
}

static bool route_is_welcome(const akg_kernel *kernel)
{
    const struct jit_route *route = atomic_load_explicit(&kernel->routes, memory_order_acquire);
    int count = 0;

    for (; route && count < ROUTE_MOST; route = route->next)
        count++;
    return count < ROUTE_MOST;
}

void call_remember_route(const struct call_run *run, const struct call_binding *binding,
                         const akg_argument *arguments, size_t count)
{
    akg_kernel *kernel = binding->kernel;
    struct jit_route *before;
    struct route_size size;
    struct call_route *route;
    unsigned char *bytes;

    if (run->device || !route_is_welcome(kernel) || !route_measure(run->instance, arguments, count, &size))
        return;
    route = route_new(&size, &bytes);
    if (!route)
        return; /* this call is done; the next one goes the long way too */
    if (!route_fill(route, run, binding, arguments, count, bytes)) {
        memory_free(route);
        return;
    }
    before = atomic_load_explicit(&kernel->routes, memory_order_relaxed);
    do
        route->head.next = before;
    while (!atomic_compare_exchange_weak_explicit(&kernel->routes, &before, &route->head,
                                                  memory_order_release, memory_order_relaxed));
    atomic_store_explicit(&kernel->recent_route, &route->head, memory_order_release);
}
