/*
 * broadcast.c: the tensors of a call of a @broadcast function, brought to one shape as views.
 *
 * The kernel then sees tensors of one shape only; an axis that is repeated has stride 0. What the front end
 * does when such a function is inlined is in dsl/elaborate_broadcast.c.
 */
#include "broadcast.h"

#include "gpu.h"

#include <string.h>

bool broadcast_shapes(int *rank, int64_t *shape, int second_rank, const int64_t *second)
{
    int64_t joined[AKG_MAX_RANK];
    int most = *rank > second_rank ? *rank : second_rank;

    for (int k = 1; k <= most; k++) {
        int64_t a = k <= *rank ? shape[*rank - k] : 1, b = k <= second_rank ? second[second_rank - k] : 1;
        if (a != b && a != 1 && b != 1)
            return false;
        joined[most - k] = a == 1 ? b : a;
    }
    memcpy(shape, joined, sizeof *shape * (size_t)most);
    *rank = most;
    return true;
}

akg_status broadcast_view(akg_tensor *tensor, int rank, const int64_t *shape, akg_tensor **view)
{
    int64_t strides[AKG_MAX_RANK] = {0};
    int first = rank - tensor->rank;

    for (int k = first; k < rank; k++)
        strides[k] = tensor_shape(tensor)[k - first] == 1 ? 0 : tensor_strides(tensor)[k - first];
    return akg_tensor_view(tensor, rank, shape, strides, 0, view);
}

/* The number as a tensor of rank 0. */
static akg_status broadcast_number(const akg_argument *argument, akg_dtype dtype, struct gpu_device *device,
                                   akg_tensor **tensor)
{
    akg_status status = tensor_allocate_on(device, dtype, 0, NULL, true, tensor, &(struct gpu_failure){0});

    if (status == AKG_OK)
        akg_tensor_set(*tensor, NULL,
                       argument->kind == AKG_ARGUMENT_FLOAT  ? argument->as.real
                       : argument->kind == AKG_ARGUMENT_BOOL ? argument->as.boolean
                                                             : (double)argument->as.integer);
    return status;
}

static bool broadcast_is_number(const akg_argument *argument)
{
    return argument->kind == AKG_ARGUMENT_INT || argument->kind == AKG_ARGUMENT_FLOAT ||
           argument->kind == AKG_ARGUMENT_BOOL;
}

/* The operand of a parameter: a tensor or a number where a tensor belongs; NULL: an attribute, or nothing. */
static const akg_argument *broadcast_operand(const struct call_binding *binding, int index)
{
    const akg_argument *argument = binding->arguments[index];

    if (!argument || binding->kernel->general[index].kind != DSL_TENSOR)
        return NULL;
    return argument->kind == AKG_ARGUMENT_TENSOR || broadcast_is_number(argument) ? argument : NULL;
}

struct broadcast_common {
    int rank;
    int64_t shape[AKG_MAX_RANK];
    akg_dtype dtype; /* of the last tensor: a condition comes before what it chooses between */
    struct gpu_device *device;
    bool differ;
};

static bool broadcast_find_common(const struct call_binding *binding, struct broadcast_common *common,
                                  akg_diagnostics *diagnostics)
{
    const akg_tensor *first = NULL;

    *common = (struct broadcast_common){.dtype = AKG_FLOAT32};
    for (int i = 0; i < binding->kernel->function->parameter_count; i++) {
        const akg_argument *operand = broadcast_operand(binding, i);
        const akg_tensor *tensor =
            operand && operand->kind == AKG_ARGUMENT_TENSOR ? operand->as.tensor : NULL;
        common->differ |= operand && !tensor;
        if (!tensor)
            continue;
        if (first)
            common->differ |=
                tensor->rank != first->rank || memcmp(tensor_shape(tensor), tensor_shape(first),
                                                      sizeof(int64_t) * (size_t)tensor->rank) != 0;
        else
            first = tensor;
        common->dtype = tensor->dtype;
        common->device = tensor->device;
        if (!broadcast_shapes(&common->rank, common->shape, tensor->rank, tensor_shape(tensor))) {
            call_refuse_broadcast(binding, i, common->rank, common->shape, tensor, diagnostics);
            return false;
        }
    }
    return true;
}

/* One operand in the common shape, owned by `broadcast`. */
static akg_status broadcast_take(struct broadcast *broadcast, struct call_binding *binding, int index,
                                 const struct broadcast_common *common)
{
    const akg_argument *operand = broadcast_operand(binding, index);
    akg_argument *changed = &broadcast->arguments[index];
    akg_tensor *tensor;
    akg_status status;

    if (!operand)
        return AKG_OK;
    if (operand->kind == AKG_ARGUMENT_TENSOR)
        tensor = akg_tensor_retain(operand->as.tensor);
    else if ((status = broadcast_number(operand, common->dtype, common->device, &tensor)) != AKG_OK)
        return status;
    else
        broadcast->number = binding->kernel->function->parameters[index].name;
    status = broadcast_view(tensor, common->rank, common->shape, &changed->as.tensor);
    akg_tensor_release(tensor);
    if (status == AKG_OK) {
        changed->kind = AKG_ARGUMENT_TENSOR;
        binding->arguments[index] = changed;
    }
    return status;
}

akg_status broadcast_begin(struct broadcast *broadcast, struct call_binding *binding,
                           akg_diagnostics *diagnostics)
{
    struct broadcast_common common;
    akg_status status = AKG_OK;

    *broadcast = (struct broadcast){.count = (size_t)binding->kernel->function->parameter_count};
    if (!broadcast_find_common(binding, &common, diagnostics))
        return AKG_ERROR_CALL;
    if (!common.differ)
        return AKG_OK;
    broadcast->arguments = memory_zeroed(broadcast->count, sizeof *broadcast->arguments);
    if (!broadcast->arguments)
        return AKG_ERROR_MEMORY;
    for (int i = 0; i < binding->kernel->function->parameter_count && status == AKG_OK; i++)
        status = broadcast_take(broadcast, binding, i, &common);
    return status;
}

void broadcast_end(struct broadcast *broadcast)
{
    for (size_t i = 0; broadcast->arguments && i < broadcast->count; i++)
        if (broadcast->arguments[i].kind == AKG_ARGUMENT_TENSOR)
            akg_tensor_release(broadcast->arguments[i].as.tensor);
    memory_free(broadcast->arguments);
    broadcast->arguments = NULL;
}
