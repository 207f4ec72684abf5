/*
 * gpu_copy.c: bytes between the host and a device, and from one device to another.
 *
 * Copies of the host's go through a little memory that the device reaches itself: while one half of it
 * travels, the other is filled or emptied. Small ones are left to the driver, which does the same.
 */
#include "gpu_private.h"

#include <stdio.h>
#include <string.h>

enum { STAGED_LEAST = 64 << 10, HALF = GPU_STAGING_BYTES / 2 };

static CUdeviceptr address_of(const void *data)
{
    return (CUdeviceptr)(uintptr_t)data;
}

static akg_status check_copy(struct gpu_device *device, CUresult result, size_t bytes, const char *where,
                             struct gpu_failure *failure)
{
    char what[96], size[32];

    if (result == CUDA_SUCCESS)
        return AKG_OK;
    snprintf(what, sizeof what, "copy %s %s", gpu_size_text(size, bytes), where);
    return gpu_check(device, result, what, failure);
}

/* Memory that the device reaches, for a copy; to make it takes longer than what it saves for the first few.
 * Where there is none to be had, copies go without. The lock is held. */
static bool staging_is_there(struct gpu_device *device, size_t bytes)
{
    struct gpu_staging *staging = &device->staging;
    const struct gpu_driver *driver = device->driver;
    void *halves = NULL;

    if (staging->halves)
        return true;
    staging->asked += bytes < GPU_STAGING_BYTES ? bytes : GPU_STAGING_BYTES;
    if (staging->asked < GPU_STAGING_BYTES)
        return false;
    for (int k = 0; k < 2; k++)
        if (!staging->events[k] &&
            driver->cuEventCreate(&staging->events[k], CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
            return false;
    if (driver->cuMemHostAlloc(&halves, GPU_STAGING_BYTES, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS)
        staging->halves = halves;
    return staging->halves != NULL;
}

/* Whether the memory is page-locked, or else one that the device reaches: it may be read after the call that
 * asks for a copy of it has returned. */
static bool is_reached(const struct gpu_driver *driver, const void *memory)
{
    CUmemorytype kind = 0;
    CUpointer_attribute asked = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *answer = &kind;

    /* the one for a single attribute calls memory that CUDA knows nothing of an error, of which tools speak
     */
    return driver->cuPointerGetAttributes(1, &asked, &answer, address_of(memory)) == CUDA_SUCCESS &&
           kind != 0;
}

static size_t part_at(size_t bytes, size_t at)
{
    return bytes - at < HALF ? bytes - at : HALF;
}

/* The lock is held. The events of earlier copies tell when a half is free. */
static CUresult upload_staged(struct gpu_device *device, void *to, const void *from, size_t bytes)
{
    struct gpu_staging *staging = &device->staging;
    const struct gpu_driver *driver = device->driver;
    CUresult result = CUDA_SUCCESS;

    for (size_t at = 0, k = 0; at < bytes && result == CUDA_SUCCESS; at += HALF, k ^= 1) {
        char *half = staging->halves + k * HALF;
        size_t part = part_at(bytes, at);
        result = driver->cuEventSynchronize(staging->events[k]);
        memcpy(half, (const char *)from + at, part);
        if (result == CUDA_SUCCESS)
            result = driver->cuMemcpyHtoDAsync(address_of(to) + at, half, part, device->stream);
        if (result == CUDA_SUCCESS)
            result = driver->cuEventRecord(staging->events[k], device->stream);
    }
    return result;
}

akg_status gpu_upload(struct gpu_device *device, void *to, const void *from, size_t bytes,
                      struct gpu_failure *failure)
{
    CUresult result;

    if (bytes == 0)
        return AKG_OK;
    if (!gpu_enter(device, failure))
        return failure->status;
    pthread_mutex_lock(&device->staging.lock);
    if (bytes >= STAGED_LEAST && staging_is_there(device, bytes)) {
        result = upload_staged(device, to, from, bytes);
    } else {
        /* from memory that the device does not reach, the driver has read everything when it returns */
        result = device->driver->cuMemcpyHtoDAsync(address_of(to), from, bytes, device->stream);
        if (result == CUDA_SUCCESS && is_reached(device->driver, from))
            result = device->driver->cuStreamSynchronize(device->stream);
    }
    pthread_mutex_unlock(&device->staging.lock);
    akg_status status = check_copy(device, result, bytes, "to it", failure);
    gpu_leave(device);
    return status;
}

/* One half is emptied while the next part arrives in the other. The lock is held. */
static CUresult download_staged(struct gpu_device *device, void *to, const void *from, size_t bytes)
{
    struct gpu_staging *staging = &device->staging;
    const struct gpu_driver *driver = device->driver;
    CUresult result = CUDA_SUCCESS;

    for (size_t at = 0, k = 0; at < bytes + HALF && result == CUDA_SUCCESS; at += HALF, k ^= 1) {
        if (at < bytes) {
            result = driver->cuMemcpyDtoHAsync(staging->halves + k * HALF, address_of(from) + at,
                                               part_at(bytes, at), device->stream);
            if (result == CUDA_SUCCESS)
                result = driver->cuEventRecord(staging->events[k], device->stream);
        }
        if (at >= HALF && result == CUDA_SUCCESS) {
            result = driver->cuEventSynchronize(staging->events[k ^ 1]);
            memcpy((char *)to + at - HALF, staging->halves + (k ^ 1) * HALF, part_at(bytes, at - HALF));
        }
    }
    return result;
}

akg_status gpu_download(struct gpu_device *device, void *to, const void *from, size_t bytes,
                        struct gpu_failure *failure)
{
    CUresult result;

    if (!gpu_enter(device, failure))
        return failure->status;
    pthread_mutex_lock(&device->staging.lock);
    if (bytes >= STAGED_LEAST && staging_is_there(device, bytes)) {
        result = download_staged(device, to, from, bytes);
    } else {
        result = bytes ? device->driver->cuMemcpyDtoHAsync(to, address_of(from), bytes, device->stream)
                       : CUDA_SUCCESS;
        if (result == CUDA_SUCCESS)
            result = device->driver->cuStreamSynchronize(device->stream);
    }
    pthread_mutex_unlock(&device->staging.lock);
    akg_status status = check_copy(device, result, bytes, "from it", failure);
    gpu_leave(device);
    return status;
}

/* Between two streams: the source's work must be done before, and its memory stay as it is until after. */
static akg_status move_across(struct gpu_device *device, void *to, struct gpu_device *source,
                              const void *from, size_t bytes, struct gpu_failure *failure)
{
    akg_status status = gpu_wait(source, failure);

    if (status != AKG_OK || !gpu_enter(device, failure))
        return failure->status;
    CUresult result = device->driver->cuMemcpyPeerAsync(address_of(to), device->context, address_of(from),
                                                        source->context, bytes, device->stream);
    if (result == CUDA_SUCCESS)
        result = device->driver->cuStreamSynchronize(device->stream);
    status = check_copy(device, result, bytes, "from another device", failure);
    gpu_leave(device);
    return status;
}

akg_status gpu_move(struct gpu_device *device, void *to, struct gpu_device *source, const void *from,
                    size_t bytes, struct gpu_failure *failure)
{
    if (bytes == 0)
        return AKG_OK;
    if (device != source)
        return move_across(device, to, source, from, bytes, failure);
    if (!gpu_enter(device, failure))
        return failure->status;
    akg_status status = check_copy(
        device, device->driver->cuMemcpyDtoDAsync(address_of(to), address_of(from), bytes, device->stream),
        bytes, "within it", failure);
    gpu_leave(device);
    return status;
}

static CUresult fill(struct gpu_device *device, CUdeviceptr to, uint64_t pattern, int size, size_t count)
{
    const struct gpu_driver *driver = device->driver;
    CUresult result;

    switch (size) {
    case 1:
        return driver->cuMemsetD8Async(to, (unsigned char)pattern, count, device->stream);
    case 2:
        return driver->cuMemsetD16Async(to, (unsigned short)pattern, count, device->stream);
    case 4:
        return driver->cuMemsetD32Async(to, (unsigned int)pattern, count, device->stream);
    default:
        if ((unsigned int)pattern == (unsigned int)(pattern >> 32))
            return driver->cuMemsetD32Async(to, (unsigned int)pattern, 2 * count, device->stream);
        /* as rows of one word each, 8 bytes apart: first the low words, then the high ones */
        result = driver->cuMemsetD2D32Async(to, 8, (unsigned int)pattern, 1, count, device->stream);
        return result != CUDA_SUCCESS ? result
                                      : driver->cuMemsetD2D32Async(to + 4, 8, (unsigned int)(pattern >> 32),
                                                                   1, count, device->stream);
    }
}

akg_status gpu_fill(struct gpu_device *device, void *to, uint64_t pattern, int size, int64_t count,
                    struct gpu_failure *failure)
{
    if (count == 0)
        return AKG_OK;
    if (!gpu_enter(device, failure))
        return failure->status;
    akg_status status = check_copy(device, fill(device, address_of(to), pattern, size, (size_t)count),
                                   (size_t)count * (size_t)size, "of one value to it", failure);
    gpu_leave(device);
    return status;
}
