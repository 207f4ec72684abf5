/*
 * tensor_device.c: tensors on devices: making them, copying them there and back, and their elements on the
 * host for the loops of the other files.
 *
 * What is strided is put in order by a kernel on its device (device_kernels.c). What is little and goes to
 * the host anyway travels as the memory between its first and its last element, and is put in order there; so
 * is all else where the kernel cannot run.
 */
#include "tensor.h"

#include "../base/memory.h"
#include "device.h"
#include "device_kernels.h"
#include "gpu.h"

#include <stdio.h>

/* From so many on a kernel is worth its compiling where one element after the other could be copied as well.
 */
enum { MANY_ELEMENTS = 1 << 16 };

/* ---- devices ---------------------------------------------------------------------------------------- */

bool akg_device_parse(const char *text, akg_device *device)
{
    struct device parsed;

    if (!text || !device || !device_parse(text, &parsed) || parsed.kind > DEVICE_CUDA ||
        (parsed.kind == DEVICE_CPU && parsed.index > 0))
        return false;
    *device = (akg_device){(akg_device_kind)parsed.kind, parsed.index};
    return true;
}

akg_status akg_device_count(int *count, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};

    if (diagnostics)
        *diagnostics = NULL;
    if (!count)
        return AKG_ERROR_USAGE;
    *count = gpu_count(&failure);
    return gpu_failure_report(&failure, diagnostics);
}

akg_status akg_device_describe(akg_device device, akg_device_info *info, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};

    if (diagnostics)
        *diagnostics = NULL;
    if (!info || device.kind != AKG_DEVICE_CUDA)
        return AKG_ERROR_USAGE;
    *info = (akg_device_info){.name = ""};
    gpu_describe(device.index, info, &failure);
    return gpu_failure_report(&failure, diagnostics);
}

/* NULL with AKG_OK is the CPU. */
static akg_status open_device(akg_device device, struct gpu_device **opened, struct gpu_failure *failure)
{
    *opened = NULL;
    if (device.kind == AKG_DEVICE_CPU && device.index == 0)
        return AKG_OK;
    if (device.kind != AKG_DEVICE_CUDA)
        return AKG_ERROR_USAGE;
    *opened = gpu_open(device.index, failure);
    return failure->status;
}

akg_status akg_device_wait(akg_device device, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};
    struct gpu_device *opened;

    if (diagnostics)
        *diagnostics = NULL;
    akg_status status = open_device(device, &opened, &failure);
    if (status == AKG_OK && opened)
        status = gpu_wait(opened, &failure);
    return failure.status != AKG_OK ? gpu_failure_report(&failure, diagnostics) : status;
}

akg_device akg_tensor_device(const akg_tensor *tensor)
{
    if (!tensor || !tensor->device)
        return (akg_device){AKG_DEVICE_CPU, 0};
    return (akg_device){AKG_DEVICE_CUDA, gpu_index(tensor->device)};
}

const char *tensor_device_name(const akg_tensor *tensor, char *buffer)
{
    if (tensor->device)
        snprintf(buffer, 32, "cuda:%d", gpu_index(tensor->device));
    else
        snprintf(buffer, 32, "cpu");
    return buffer;
}

/* ---- making ------------------------------------------------------------------------------------------ */

static akg_status no_memory(struct gpu_failure *failure)
{
    *failure = (struct gpu_failure){.status = AKG_ERROR_MEMORY, .message = MSG_MEMORY};
    return AKG_ERROR_MEMORY;
}

static akg_status allocate_there(struct gpu_device *device, akg_dtype dtype, int rank, const int64_t *shape,
                                 akg_tensor **tensor, struct gpu_failure *failure)
{
    int64_t count;
    struct gpu_block *block;
    void *data;

    if (!tensor_size_is_valid(dtype, rank, shape, &count))
        return AKG_ERROR_USAGE;
    akg_status status =
        gpu_allocate(device, (size_t)count * (size_t)dtype_table[dtype].size, &block, &data, failure);
    if (status != AKG_OK)
        return status;
    if (tensor_describe(dtype, rank, shape, NULL, data, tensor) != AKG_OK) {
        gpu_free(block);
        return no_memory(failure);
    }
    (*tensor)->device = device;
    (*tensor)->owns_memory = true;
    (*tensor)->release = gpu_free;
    (*tensor)->owner = block;
    return AKG_OK;
}

akg_status tensor_allocate_on(struct gpu_device *device, akg_dtype dtype, int rank, const int64_t *shape,
                              bool zeroed, akg_tensor **tensor, struct gpu_failure *failure)
{
    akg_status status;

    *tensor = NULL;
    if (!device) {
        status = tensor_allocate(dtype, rank, shape, zeroed, tensor);
        return status == AKG_ERROR_MEMORY ? no_memory(failure) : status;
    }
    status = allocate_there(device, dtype, rank, shape, tensor, failure);
    if (status == AKG_OK && zeroed)
        status = gpu_fill(device, (*tensor)->data, 0, 1, (*tensor)->element_count * dtype_table[dtype].size,
                          failure);
    if (status != AKG_OK) {
        akg_tensor_release(*tensor);
        *tensor = NULL;
    }
    return status;
}

akg_status akg_tensor_create_on(akg_device device, akg_dtype dtype, int rank, const int64_t *shape,
                                akg_tensor **tensor, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};
    struct gpu_device *opened;

    if (diagnostics)
        *diagnostics = NULL;
    if (!tensor)
        return AKG_ERROR_USAGE;
    *tensor = NULL;
    akg_status status = open_device(device, &opened, &failure);
    if (status == AKG_OK)
        status = tensor_allocate_on(opened, dtype, rank, shape, true, tensor, &failure);
    return failure.status != AKG_OK ? gpu_failure_report(&failure, diagnostics) : status;
}

/* ---- elements on the host --------------------------------------------------------------------------------
 */

/* The bytes between the first and the last element, and how far behind the first element [0, ..., 0] lies. */
static size_t span_of(const akg_tensor *tensor, size_t *before)
{
    int64_t lowest, highest;
    size_t size = (size_t)dtype_table[tensor->dtype].size;

    tensor_extent(tensor->dtype, tensor->rank, tensor_shape(tensor), tensor_strides(tensor), &lowest,
                  &highest);
    *before = (size_t)-lowest * size;
    return (size_t)(highest + 1) * size + *before;
}

akg_status tensor_to_host(const akg_tensor *tensor, akg_tensor **host, struct gpu_failure *failure)
{
    size_t before, bytes;

    *host = NULL;
    if (!tensor->device) {
        *host = akg_tensor_retain((akg_tensor *)tensor); /* only the count of references changes */
        return AKG_OK;
    }
    bytes = span_of(tensor, &before);
    char *memory = memory_aligned(bytes ? bytes : 1);
    if (!memory)
        return no_memory(failure);
    akg_status status = gpu_download(tensor->device, memory, (char *)tensor->data - before, bytes, failure);
    if (status == AKG_OK && tensor_describe(tensor->dtype, tensor->rank, tensor_shape(tensor),
                                            tensor_strides(tensor), memory + before, host) != AKG_OK)
        status = no_memory(failure);
    if (status != AKG_OK) {
        memory_free(memory);
        return status;
    }
    (*host)->release = memory_free;
    (*host)->owner = memory;
    return AKG_OK;
}

akg_status tensor_from_host(const akg_tensor *tensor, const akg_tensor *host, struct gpu_failure *failure)
{
    size_t before, bytes = span_of(tensor, &before);

    return gpu_upload(tensor->device, (char *)tensor->data - before, (char *)host->data - before, bytes,
                      failure);
}

bool tensor_fetch(const akg_tensor *tensor, const void *element, void *bits)
{
    return gpu_download(tensor->device, bits, element, (size_t)dtype_table[tensor->dtype].size,
                        &(struct gpu_failure){0}) == AKG_OK;
}

void tensor_store(const akg_tensor *tensor, void *element, const void *bits)
{
    gpu_upload(tensor->device, element, bits, (size_t)dtype_table[tensor->dtype].size,
               &(struct gpu_failure){0});
}

/* ---- copies
 * ------------------------------------------------------------------------------------------------ */

/* In C order on the host, whatever it was. */
static akg_status bring(const akg_tensor *source, akg_tensor **packed, struct gpu_failure *failure)
{
    akg_tensor *host;
    akg_status status = tensor_to_host(source, &host, failure);

    *packed = NULL;
    if (status != AKG_OK)
        return status;
    if (host->contiguous) {
        *packed = host;
        return AKG_OK;
    }
    status = akg_tensor_copy(host, packed);
    akg_tensor_release(host);
    return status == AKG_ERROR_MEMORY ? no_memory(failure) : status;
}

/* The elements of `source`, which lies in C order on the host or on a device, into a new tensor of a device.
 */
static akg_status send(const akg_tensor *source, struct gpu_device *device, akg_tensor **copy,
                       struct gpu_failure *failure)
{
    size_t bytes = (size_t)source->element_count * (size_t)dtype_table[source->dtype].size;
    akg_status status =
        tensor_allocate_on(device, source->dtype, source->rank, tensor_shape(source), false, copy, failure);

    if (status != AKG_OK)
        return status;
    status = source->device ? gpu_move(device, (*copy)->data, source->device, source->data, bytes, failure)
                            : gpu_upload(device, (*copy)->data, source->data, bytes, failure);
    if (status != AKG_OK) {
        akg_tensor_release(*copy);
        *copy = NULL;
    }
    return status;
}

akg_status tensor_copy_to(const akg_tensor *source, struct gpu_device *device, akg_tensor **copy,
                          struct gpu_failure *failure)
{
    akg_tensor *packed;
    akg_status status;

    *copy = NULL;
    if (source->contiguous && source->device && device)
        return send(source, device, copy, failure);
    if (!source->contiguous && source->device && (device || source->element_count >= MANY_ELEMENTS) &&
        device_convert((akg_tensor *)source, source->dtype, &packed, NULL) == AKG_OK) {
        if (packed->device == device) {
            *copy = packed;
            return AKG_OK;
        }
        status = tensor_copy_to(packed, device, copy, failure);
        akg_tensor_release(packed);
        return status;
    }
    if (!source->device && !device) {
        status = akg_tensor_copy(source, copy);
        return status == AKG_ERROR_MEMORY ? no_memory(failure) : status;
    }
    status = bring(source, &packed, failure);
    if (status != AKG_OK || !device) {
        *copy = packed;
        return status;
    }
    status = send(packed, device, copy, failure);
    akg_tensor_release(packed);
    return status;
}

akg_status akg_tensor_to(const akg_tensor *source, akg_device device, akg_tensor **copy,
                         akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};
    struct gpu_device *opened;

    if (diagnostics)
        *diagnostics = NULL;
    if (!copy)
        return AKG_ERROR_USAGE;
    *copy = NULL;
    if (!source)
        return AKG_ERROR_USAGE;
    akg_status status = open_device(device, &opened, &failure);
    if (status == AKG_OK)
        status = tensor_copy_to(source, opened, copy, &failure);
    return failure.status != AKG_OK ? gpu_failure_report(&failure, diagnostics) : status;
}

akg_status tensor_cast_on(const akg_tensor *source, akg_dtype dtype, akg_tensor **copy,
                          struct gpu_failure *failure)
{
    akg_tensor *host, *cast = NULL;
    akg_status status;

    if (device_convert((akg_tensor *)source, dtype, copy, NULL) == AKG_OK)
        return AKG_OK;
    status = tensor_to_host(source, &host, failure);
    if (status != AKG_OK)
        return status;
    status = akg_tensor_cast(host, dtype, &cast);
    akg_tensor_release(host);
    if (status != AKG_OK)
        return status == AKG_ERROR_MEMORY ? no_memory(failure) : status;
    status = send(cast, source->device, copy, failure);
    akg_tensor_release(cast);
    return status;
}
