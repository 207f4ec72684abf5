/*
 * call_device.c: the part of a call that hangs on where its tensors lie: which device that is, memory of it,
 * and running there.
 */
#include "call.h"

#include "gpu.h"

/* Whether the tensor lies where the first one does; *first is NULL before that. */
static bool call_join_device(const struct akg_kernel *kernel, const akg_tensor *tensor,
                             const akg_tensor **first, struct call_messages *messages)
{
    char here[32], there[32];

    if (tensor->nowhere)
        return true;
    if (!*first)
        *first = tensor;
    if ((*first)->device == tensor->device)
        return true;
    diagnostic_add(call_list(messages), MSG_DEVICES_DIFFER, kernel->function->span, kernel->function->name,
                   tensor_device_name(*first, here), tensor_device_name(tensor, there));
    return false;
}

bool call_find_device(const struct akg_kernel *kernel, const akg_argument *arguments, size_t count,
                      struct call_messages *messages, struct gpu_device **device, bool *nowhere)
{
    const akg_tensor *first = NULL;
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        const akg_argument *argument = &arguments[i];
        any |= argument->kind == AKG_ARGUMENT_TENSOR || argument->kind == AKG_ARGUMENT_TENSORS;
        if (argument->kind == AKG_ARGUMENT_TENSOR &&
            !call_join_device(kernel, argument->as.tensor, &first, messages))
            return false;
        for (size_t k = 0; argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            if (!call_join_device(kernel, argument->as.tensors.items[k], &first, messages))
                return false;
    }
    *device = first ? first->device : NULL;
    *nowhere = any && !first;
    return true;
}

static akg_status allocate_apart(const struct ir_buffer *buffer, const int64_t *shape,
                                 akg_tensor *const *others, int count, akg_tensor **tensor)
{
    enum { MOST = 8, LEAST_BYTES = 2048 /* smaller ones are gone through in no time */ };
    const void *data[MOST];
    size_t found = 0;

    for (int k = 0; k < count && found < MOST; k++)
        if (others[k] && others[k]->element_count * dtype_table[others[k]->dtype].size >= LEAST_BYTES)
            data[found++] = others[k]->data;
    return tensor_allocate_apart(buffer->dtype, buffer->rank, shape, data, found, tensor);
}

akg_status call_allocate(struct gpu_device *device, const struct ir_buffer *buffer, const int64_t *shape,
                         akg_tensor *const *others, int count, akg_tensor **tensor,
                         struct call_messages *messages)
{
    struct gpu_failure failure;
    akg_status status;

    if (!device)
        return allocate_apart(buffer, shape, others, count, tensor);
    failure.status = AKG_OK;
    status = tensor_allocate_on(device, buffer->dtype, buffer->rank, shape, false, tensor, &failure);
    if (failure.status != AKG_OK)
        gpu_failure_add(&failure, call_list(messages), buffer->span);
    return status;
}

/* What there is of code for it. */
static akg_status run_on_device(struct gpu_code *code, struct gpu_graph *graph,
                                const struct jit_instance *instance, const struct jit_frame *frame,
                                int *stopped, bool *lacks, struct call_messages *messages)
{
    struct gpu_failure failure;
    akg_status status;

    failure.status = AKG_OK;
    *stopped = 0;
    status = graph ? gpu_graph_run(graph, code, instance, frame, lacks, &failure)
                   : gpu_run(code, instance, frame, stopped, lacks, &failure);
    if (failure.status != AKG_OK)
        gpu_failure_add(&failure, call_list(messages), (struct span){0});
    return status;
}

akg_status call_run_on_device(struct gpu_device *device, struct gpu_graph *graph,
                              const struct jit_instance *instance, const struct jit_frame *frame,
                              int *stopped, struct call_messages *messages)
{
    struct gpu_code *code = gpu_find_code(device, instance);
    bool lacks = !code;
    akg_status status = AKG_OK;

    if (code)
        status = run_on_device(code, graph, instance, frame, stopped, &lacks, messages);
    if (status != AKG_OK || !lacks)
        return status;
    akg_diagnostics *list = call_list(messages);
    status = list ? gpu_make_code(device, instance, frame, &code, list) : AKG_ERROR_MEMORY;
    if (status == AKG_OK)
        status = run_on_device(code, graph, instance, frame, stopped, &lacks, messages);
    return status;
}
