/*
 * gpu_memory.c: the memory of a device: blocks that are kept for the next tensor of their size.
 *
 * All work of a device happens on one stream, so a block may be handed out again while a kernel that was
 * launched before still uses it. Blocks come from the device's stream-ordered pool, or, where there is none,
 * from cuMemAlloc, which waits for the device. When the device has no more, all that is kept goes back and
 * the allocation is tried once more.
 */
#include "gpu_private.h"

#include <stdio.h>

enum { SMALLEST_LOG = 9 };

/* The class of a size, and the bytes of its blocks: at most an eighth more than was asked for. */
static int class_of(size_t bytes, size_t *rounded)
{
    int log = SMALLEST_LOG, eighth = 0;
    size_t step;

    if (bytes > (size_t)1 << SMALLEST_LOG)
        log = 63 - __builtin_clzll((unsigned long long)bytes - 1); /* 2^log < bytes <= 2^(log + 1) */
    step = ((size_t)1 << log) / 8;
    if (bytes > (size_t)1 << log)
        eighth = (int)((bytes - ((size_t)1 << log) + step - 1) / step);
    *rounded = ((size_t)1 << log) + (size_t)eighth * step;
    return (log - SMALLEST_LOG) * 8 + eighth;
}

static CUresult take(struct gpu_device *device, size_t bytes, CUdeviceptr *address)
{
    return device->memory.pooled ? device->driver->cuMemAllocAsync(address, bytes, device->stream)
                                 : device->driver->cuMemAlloc(address, bytes);
}

/* Gives memory that nobody uses back to the driver; inside gpu_enter, with the lock held. */
static void trim(struct gpu_device *device)
{
    struct gpu_memory *memory = &device->memory;
    CUmemoryPool pool;

    for (int k = 0; k < GPU_SIZE_CLASSES; k++)
        while (memory->free[k]) {
            struct gpu_block *block = memory->free[k];
            memory->free[k] = block->next;
            if (memory->pooled)
                device->driver->cuMemFreeAsync(block->address, device->stream);
            else
                device->driver->cuMemFree(block->address);
            memory_free(block);
        }
    if (!memory->pooled)
        return;
    device->driver->cuStreamSynchronize(device->stream);
    if (device->driver->cuDeviceGetDefaultMemPool(&pool, device->device) == CUDA_SUCCESS)
        device->driver->cuMemPoolTrimTo(pool, 0);
}

static akg_status fail_full(struct gpu_device *device, size_t bytes, struct gpu_failure *failure)
{
    size_t available = 0, total = 0;
    char asked[32], left[32], whole[32], ours[32];

    device->driver->cuMemGetInfo(&available, &total);
    *failure = (struct gpu_failure){.status = AKG_ERROR_MEMORY, .message = MSG_DEVICE_MEMORY};
    snprintf(failure->device, sizeof failure->device, "cuda:%d", device->index);
    snprintf(failure->first, sizeof failure->first, "%s were asked for", gpu_size_text(asked, bytes));
    snprintf(failure->second, sizeof failure->second, "%s of %s are free", gpu_size_text(left, available),
             gpu_size_text(whole, total));
    snprintf(failure->note, sizeof failure->note, "note: tensors of this process hold %s",
             gpu_size_text(ours, device->memory.used));
    return failure->status;
}

/* A new block of the device's; the lock is held. */
static akg_status make(struct gpu_device *device, struct gpu_block *block, size_t asked,
                       struct gpu_failure *failure)
{
    akg_status status = AKG_OK;

    if (!gpu_enter(device, failure))
        return failure->status;
    CUresult result = take(device, block->bytes, &block->address);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        trim(device);
        result = take(device, block->bytes, &block->address);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        status = fail_full(device, asked, failure);
    else
        status = gpu_check(device, result, "allocate memory", failure);
    gpu_leave(device);
    return status;
}

static struct gpu_block *find(struct gpu_device *device, size_t bytes, struct gpu_failure *failure)
{
    struct gpu_memory *memory = &device->memory;
    size_t rounded;
    int class = class_of(bytes, &rounded);
    struct gpu_block *block = memory->free[class];

    if (block) {
        memory->free[class] = block->next;
    } else {
        block = memory_zeroed(1, sizeof *block);
        if (!block) {
            *failure = (struct gpu_failure){.status = AKG_ERROR_MEMORY, .message = MSG_MEMORY};
            return NULL;
        }
        block->device = device;
        block->bytes = rounded;
        if (make(device, block, bytes, failure) != AKG_OK) {
            memory_free(block);
            return NULL;
        }
    }
    memory->used += rounded;
    return block;
}

akg_status gpu_allocate(struct gpu_device *device, size_t bytes, struct gpu_block **block, void **data,
                        struct gpu_failure *failure)
{
    if (bytes > (size_t)1 << 47) { /* beyond the address space of every device */
        *block = NULL;
        if (!gpu_enter(device, failure))
            return failure->status;
        fail_full(device, bytes, failure);
        gpu_leave(device);
        return failure->status;
    }
    pthread_mutex_lock(&device->memory.lock);
    *block = find(device, bytes, failure);
    pthread_mutex_unlock(&device->memory.lock);
    if (!*block)
        return failure->status;
    *data = (void *)(uintptr_t)(*block)->address;
    return AKG_OK;
}

void gpu_free(void *given)
{
    struct gpu_block *block = given;
    struct gpu_memory *memory = &block->device->memory;
    size_t rounded;
    int class = class_of(block->bytes, &rounded);

    pthread_mutex_lock(&memory->lock);
    block->next = memory->free[class];
    memory->free[class] = block;
    memory->used -= block->bytes;
    pthread_mutex_unlock(&memory->lock);
}
