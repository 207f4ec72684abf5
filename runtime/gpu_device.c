/*
 * gpu_device.c: devices: what there are, their contexts and streams, and when one is lost.
 *
 * A device uses its primary context, which it shares with whatever else in the process uses CUDA; no thread's
 * current context is another one after a call of ours. The stream waits for work on the default stream and
 * the other way round, so that memory of other libraries needs no events.
 */
#include "gpu_private.h"

#include <stdio.h>

enum { DEVICES_MOST = 64 };

/* Opened devices stay until the process ends: tensors may outlive whoever made them. */
static struct {
    pthread_mutex_t lock;
    struct gpu_device *devices[DEVICES_MOST];
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- results of the driver ------------------------------------------------------------------------------
 */

/* Whether no other call will succeed in this context. */
static bool is_fatal(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_UNKNOWN:
    case CUDA_ERROR_SYSTEM_NOT_READY:
        return true;
    default:
        return false;
    }
}

static void name_device(char *text, size_t size, int index)
{
    snprintf(text, size, "cuda:%d", index);
}

static akg_status fail_lost(const struct gpu_device *device, CUresult result, struct gpu_failure *failure)
{
    const char *text = NULL, *name = NULL;

    device->driver->cuGetErrorName(result, &name);
    device->driver->cuGetErrorString(result, &text);
    *failure = (struct gpu_failure){.status = AKG_ERROR_DEVICE, .message = MSG_DEVICE_LOST};
    name_device(failure->device, sizeof failure->device, device->index);
    snprintf(failure->first, sizeof failure->first, "%s (%s)", text ? text : "unknown error",
             name ? name : "no name");
    snprintf(failure->note, sizeof failure->note,
             "note: its tensors are gone, and this process cannot use it any more");
    return failure->status;
}

akg_status gpu_check(struct gpu_device *device, CUresult result, const char *what,
                     struct gpu_failure *failure)
{
    const char *text = NULL, *name = NULL;

    if (result == CUDA_SUCCESS)
        return AKG_OK;
    if (is_fatal(result)) {
        atomic_store(&device->lost, (int)result);
        return fail_lost(device, result, failure);
    }
    device->driver->cuGetErrorName(result, &name);
    device->driver->cuGetErrorString(result, &text);
    *failure = (struct gpu_failure){.status = AKG_ERROR_DEVICE, .message = MSG_DEVICE_REFUSED};
    name_device(failure->device, sizeof failure->device, device->index);
    snprintf(failure->first, sizeof failure->first, "%s: %s (%s)", what, text ? text : "unknown error",
             name ? name : "no name");
    return failure->status;
}

bool gpu_enter(struct gpu_device *device, struct gpu_failure *failure)
{
    CUresult lost = (CUresult)atomic_load_explicit(&device->lost, memory_order_relaxed);

    if (lost != CUDA_SUCCESS) {
        fail_lost(device, lost, failure);
        return false;
    }
    return gpu_check(device, device->driver->cuCtxPushCurrent(device->context), "use its context", failure) ==
           AKG_OK;
}

void gpu_leave(struct gpu_device *device)
{
    CUcontext context;

    device->driver->cuCtxPopCurrent(&context);
}

/* ---- opening ----------------------------------------------------------------------------------------------
 */

static akg_status set_up_pool(struct gpu_device *device, struct gpu_failure *failure)
{
    const struct gpu_driver *driver = device->driver;
    CUmemoryPool pool;
    cuuint64_t everything = UINT64_MAX;
    int supported = 0;

    if (!driver->cuMemAllocAsync || !driver->cuMemFreeAsync || !driver->cuDeviceGetDefaultMemPool ||
        !driver->cuMemPoolSetAttribute || !driver->cuMemPoolTrimTo)
        return AKG_OK;
    driver->cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device->device);
    if (!supported)
        return AKG_OK;
    device->memory.pooled = true;
    CUresult result = driver->cuDeviceGetDefaultMemPool(&pool, device->device);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything);
    return gpu_check(device, result, "set up its memory pool", failure);
}

static akg_status set_up(struct gpu_device *device, struct gpu_failure *failure)
{
    const struct gpu_driver *driver = device->driver;
    akg_status status;

    CUresult result = driver->cuDeviceGet(&device->device, device->index);
    if (result == CUDA_SUCCESS)
        result = driver->cuDeviceGetAttribute(&device->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                              device->device);
    if (result == CUDA_SUCCESS)
        result = driver->cuDeviceGetAttribute(&device->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                              device->device);
    if (result == CUDA_SUCCESS)
        result = driver->cuDevicePrimaryCtxRetain(&device->context, device->device);
    if (result != CUDA_SUCCESS)
        return gpu_check(device, result, "open it", failure);
    if (!gpu_enter(device, failure))
        return failure->status;
    status = gpu_check(device, driver->cuStreamCreate(&device->stream, CU_STREAM_DEFAULT), "make a stream",
                       failure);
    if (status == AKG_OK)
        status = set_up_pool(device, failure);
    gpu_leave(device);
    return status;
}

static struct gpu_device *open_device(const struct gpu_driver *driver, int index, struct gpu_failure *failure)
{
    struct gpu_device *device = memory_zeroed(1, sizeof *device);

    if (!device) {
        *failure = (struct gpu_failure){.status = AKG_ERROR_MEMORY, .message = MSG_MEMORY};
        return NULL;
    }
    device->driver = driver;
    device->index = index;
    pthread_mutex_init(&device->memory.lock, NULL);
    pthread_mutex_init(&device->staging.lock, NULL);
    pthread_mutex_init(&device->code_lock, NULL);
    if (set_up(device, failure) == AKG_OK)
        return device;
    pthread_mutex_destroy(&device->memory.lock);
    pthread_mutex_destroy(&device->staging.lock);
    pthread_mutex_destroy(&device->code_lock);
    memory_free(device);
    return NULL;
}

int gpu_count(struct gpu_failure *failure)
{
    const struct gpu_driver *driver = gpu_driver(failure);
    int count = 0;

    if (driver && driver->cuDeviceGetCount(&count) != CUDA_SUCCESS)
        count = 0;
    return count;
}

static bool is_there(int index, struct gpu_failure *failure)
{
    int count = gpu_count(failure);

    if (!gpu_driver(failure))
        return false;
    if (index >= 0 && index < count && index < DEVICES_MOST)
        return true;
    *failure = (struct gpu_failure){.status = AKG_ERROR_USAGE, .message = MSG_DEVICE_NUMBER};
    name_device(failure->device, sizeof failure->device, index);
    if (count > 0)
        snprintf(failure->first, sizeof failure->first, "the last one is cuda:%d", count - 1);
    else
        snprintf(failure->first, sizeof failure->first, "the driver shows none");
    return false;
}

struct gpu_device *gpu_open(int index, struct gpu_failure *failure)
{
    struct gpu_device *device;

    if (!is_there(index, failure))
        return NULL;
    pthread_mutex_lock(&opened.lock);
    device = opened.devices[index];
    if (!device)
        device = opened.devices[index] = open_device(gpu_driver(failure), index, failure);
    pthread_mutex_unlock(&opened.lock);
    return device;
}

/* ---- asking
 * ------------------------------------------------------------------------------------------------ */

int gpu_index(const struct gpu_device *device)
{
    return device->index;
}

akg_status gpu_describe(int index, akg_device_info *info, struct gpu_failure *failure)
{
    const struct gpu_driver *driver = gpu_driver(failure);
    size_t memory = 0;
    CUdevice device;

    if (!driver || !is_there(index, failure))
        return failure->status;
    if (driver->cuDeviceGet(&device, index) != CUDA_SUCCESS ||
        driver->cuDeviceGetName(info->name, (int)sizeof info->name, device) != CUDA_SUCCESS ||
        driver->cuDeviceTotalMem(&memory, device) != CUDA_SUCCESS ||
        driver->cuDeviceGetAttribute(&info->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) !=
            CUDA_SUCCESS ||
        driver->cuDeviceGetAttribute(&info->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) !=
            CUDA_SUCCESS ||
        driver->cuDriverGetVersion(&info->driver) != CUDA_SUCCESS) {
        *failure = (struct gpu_failure){.status = AKG_ERROR_DEVICE, .message = MSG_DEVICE_REFUSED};
        name_device(failure->device, sizeof failure->device, index);
        snprintf(failure->first, sizeof failure->first, "tell what it is");
        return failure->status;
    }
    info->memory = memory;
    return AKG_OK;
}

akg_status gpu_wait(struct gpu_device *device, struct gpu_failure *failure)
{
    akg_status status;

    if (!gpu_enter(device, failure))
        return failure->status;
    status =
        gpu_check(device, device->driver->cuStreamSynchronize(device->stream), "finish its work", failure);
    gpu_leave(device);
    return status;
}
