/*
 * dlpack.c: tensors of other libraries as ours and ours as theirs, without a copy.
 *
 * What comes in is checked before it is taken over: on failure the managed tensor stays the caller's,
 * untouched. A bool has the type code that DLPack 0.7 gave it (kDLBool); the header of 0.6, which is enough
 * to build this, has no name for it.
 */
#include "failure.h"
#include "gpu.h"
#include "tensor.h"

#include "../base/memory.h"

#include <dlpack/dlpack.h>
#include <stdio.h>

/* kDLCUDA, which was kDLGPU before 0.6. */
#define CUDA_DEVICE ((DLDeviceType)2)

/* ---- import ---------------------------------------------------------------- */

static akg_status refuse(akg_diagnostics **diagnostics, const char *found, const char *right)
{
    return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_DLPACK, found, right, NULL, NULL);
}

static akg_status refuse_number(akg_diagnostics **diagnostics, const char *what, long long number,
                                const char *right)
{
    char found[96];
    snprintf(found, sizeof found, "%s %lld", what, number);
    return refuse(diagnostics, found, right);
}

static akg_dtype dtype_from_dlpack(DLDataType type)
{
    int dtype = 0;
    while (dtype < AKG_DTYPE_COUNT && !(dtype_table[dtype].dlpack_code == type.code &&
                                        dtype_table[dtype].size * 8 == type.bits && type.lanes == 1))
        dtype++;
    return (akg_dtype)dtype;
}

static akg_status check_type(const DLTensor *source, akg_diagnostics **diagnostics)
{
    char found[96];
    DLDataType type = source->dtype;
    if (source->device.device_type != kDLCPU && source->device.device_type != CUDA_DEVICE)
        return refuse_number(diagnostics, "device type", source->device.device_type,
                             "only memory of the CPU (device type 1) or of CUDA (2) can be imported");
    if (type.lanes != 1)
        return refuse_number(diagnostics, "elements with a lane count of", type.lanes,
                             "elements must have one lane");
    if (dtype_from_dlpack(type) == AKG_DTYPE_COUNT) {
        snprintf(found, sizeof found, "elements of type code %d with %d bits", type.code, type.bits);
        return refuse(diagnostics, found,
                      "they must be bool (code 6, 8 bits), int or uint (0 or 1; 8 to 64 bits), float "
                      "(2; 16, 32 or 64) or bfloat16 (4; 16)");
    }
    return AKG_OK;
}

static akg_status check_shape(const DLTensor *source, akg_diagnostics **diagnostics)
{
    char right[64];
    int64_t element_count;
    if (source->ndim < 0 || source->ndim > AKG_MAX_RANK) {
        snprintf(right, sizeof right, "0 to %d can be imported", AKG_MAX_RANK);
        return refuse_number(diagnostics, "a number of axes of", source->ndim, right);
    }
    if (source->ndim > 0 && !source->shape)
        return refuse(diagnostics, "no shape", "one extent per axis is needed");
    for (int axis = 0; axis < source->ndim; axis++)
        if (source->shape[axis] < 0)
            return refuse_number(diagnostics, "an axis of extent", source->shape[axis],
                                 "an extent is 0 or more");
    if (!tensor_size_is_valid(dtype_from_dlpack(source->dtype), source->ndim, source->shape, &element_count))
        return refuse(diagnostics, "a shape larger than the address space", "its bytes must fit in 63 bits");
    if (!source->data && element_count > 0)
        return refuse(diagnostics, "no data", "a tensor with elements needs an address");
    return AKG_OK;
}

static akg_status check_address(const DLTensor *source, uintptr_t *address, akg_diagnostics **diagnostics)
{
    int size = dtype_table[dtype_from_dlpack(source->dtype)].size;
    char found[96], right[96];
    *address = (uintptr_t)source->data;
    if (!source->data)
        return AKG_OK; /* nothing lies there, so the offset leads nowhere either */
    if (__builtin_add_overflow(*address, source->byte_offset, address))
        return refuse(diagnostics, "a byte offset beyond the address space",
                      "data + byte_offset must be an address");
    if (*address % (uintptr_t)size != 0) {
        snprintf(found, sizeof found, "elements at the address %#llx", (unsigned long long)*address);
        snprintf(right, sizeof right, "elements of %d bytes must be aligned to %d", size, size);
        return refuse(diagnostics, found, right);
    }
    return AKG_OK;
}

/* NULL with AKG_OK: the CPU. */
static akg_status open_device(const DLTensor *source, struct gpu_device **device,
                              akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};

    *device = NULL;
    if (source->device.device_type == CUDA_DEVICE)
        *device = gpu_open(source->device.device_id, &failure);
    return gpu_failure_report(&failure, diagnostics);
}

static void release_managed(void *owner)
{
    DLManagedTensor *managed = owner;
    if (managed->deleter)
        managed->deleter(managed);
}

akg_status akg_tensor_from_dlpack(struct DLManagedTensor *managed, akg_tensor **tensor,
                                  akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!tensor)
        return AKG_ERROR_USAGE;
    *tensor = NULL;
    if (!managed)
        return AKG_ERROR_USAGE;
    const DLTensor *source = &managed->dl_tensor;
    uintptr_t address;
    struct gpu_device *device = NULL;
    akg_status status = check_type(source, diagnostics);
    if (status == AKG_OK)
        status = check_shape(source, diagnostics);
    if (status == AKG_OK)
        status = check_address(source, &address, diagnostics);
    if (status == AKG_OK)
        status = open_device(source, &device, diagnostics);
    if (status != AKG_OK)
        return status;
    status = akg_tensor_from_memory((void *)address, dtype_from_dlpack(source->dtype), source->ndim,
                                    source->shape, source->strides, release_managed, managed, tensor);
    if (status == AKG_ERROR_USAGE)
        return refuse(diagnostics, "strides that lead out of the address space",
                      "every element must have an address");
    if (status == AKG_OK)
        (*tensor)->device = device;
    return status;
}

/* ---- export ---------------------------------------------------------------- */

/* What a receiver holds: the tensor as it sees it, with copies of shape and strides, which are not const
 * there. */
struct export
{
    DLManagedTensor managed;
    int64_t dims[];
};

static void delete_export(DLManagedTensor *managed)
{
    akg_tensor_release(managed->manager_ctx);
    memory_free(managed);
}

akg_status akg_tensor_to_dlpack(akg_tensor *tensor, struct DLManagedTensor **managed)
{
    if (!managed)
        return AKG_ERROR_USAGE;
    *managed = NULL;
    if (!tensor)
        return AKG_ERROR_USAGE;
    tensor_touch(tensor);
    int count = 2 * tensor->rank;
    struct export *export = memory_allocate(sizeof *export + (size_t)count * sizeof(int64_t));
    if (!export)
        return AKG_ERROR_MEMORY;
    for (int i = 0; i < count; i++)
        export->dims[i] = tensor->dims[i];
    const struct dtype_info *info = &dtype_table[tensor->dtype];
    DLDevice device = {kDLCPU, 0};
    if (tensor->device)
        device = (DLDevice){CUDA_DEVICE, gpu_index(tensor->device)};
    export->managed =
        (DLManagedTensor){.dl_tensor = {.data = tensor->data,
                                        .device = device,
                                        .ndim = tensor->rank,
                                        .dtype = {(uint8_t)info->dlpack_code, (uint8_t)(info->size * 8), 1},
                                        .shape = export->dims,
                                        .strides = export->dims + tensor->rank},
                          .manager_ctx = akg_tensor_retain(tensor),
                          .deleter = delete_export};
    *managed = &export->managed;
    return AKG_OK;
}
