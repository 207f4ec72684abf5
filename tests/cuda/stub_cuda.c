/*
 * stub_cuda.c: a libcuda.so without a GPU, for tests: memory of a device is memory of the host that can be
 * reached only while the library works on it, so that whoever takes an address of a device for one of the
 * host's is caught. Work is done at once, but failures of kernels are told when somebody waits, as by a real
 * device. Here are settings and failures, devices, contexts and streams; stub_memory.c, stub_launch.c and
 * stub_graph.c have the rest of the driver's functions.
 *
 * What the devices are like stands in AKG_STUB_CUDA, words "name=number" with blanks between:
 *     devices    how many (1)        memory   bytes of each (256 MiB)
 *     pool       0: no stream-ordered pool (1)
 *     major, minor   compute capability (9, 0)
 *     older      1: a driver without cuLaunchKernelEx and graphs (0)
 * Failures come from stub_fail, or from AKG_STUB_FAIL, "FUNCTION:AFTER:RESULT" with blanks between: after so
 * many more calls the function gives that CUresult, once. The name "kernel" stands for the kernel itself:
 * then its launch succeeds, and everything behind it fails. A number below 0 is a signal that the process
 * gets.
 */
#define _GNU_SOURCE
#include "stub_private.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct stub_state stub = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};
_Thread_local int stub_current = -1;
static _Thread_local int below[8], depth;

/* ---- set-up ------------------------------------------------------------------------------------------- */

size_t stub_setting(const char *name, size_t initial)
{
    const char *text = getenv("AKG_STUB_CUDA"), *at = text ? strstr(text, name) : NULL;

    return at && at[strlen(name)] == '=' ? strtoull(at + strlen(name) + 1, NULL, 10) : initial;
}

API void stub_fail(const char *function, long after, int result)
{
    pthread_mutex_lock(&stub.lock);
    for (int k = 0; k < STUB_FAILURES_MOST; k++)
        if (!stub.failures[k].function[0]) {
            snprintf(stub.failures[k].function, sizeof stub.failures[k].function, "%s", function);
            stub.failures[k].after = after;
            stub.failures[k].result = (CUresult)result;
            break;
        }
    pthread_mutex_unlock(&stub.lock);
}

API long stub_launches(void)
{
    return stub.launches;
}

API long stub_graphs(void)
{
    return stub.graphs;
}

API long stub_updates(void)
{
    return stub.updates;
}

API long stub_loads(void)
{
    return stub.loads;
}

API long stub_errors(void)
{
    return stub.errors;
}

API size_t stub_used(int device)
{
    return stub.used[device];
}

API void stub_set_memory(size_t bytes)
{
    stub.memory = bytes;
}

static void read_failures(void)
{
    char function[40];
    const char *text = getenv("AKG_STUB_FAIL");
    long after;
    int result, length;

    for (; text && sscanf(text, " %39[a-zA-Z0-9]:%ld:%d%n", function, &after, &result, &length) == 3;
         text += length)
        stub_fail(function, after, result);
}

static void set_up(void)
{
    int file = memfd_create("stub-cuda", 0);

    stub.devices = (int)stub_setting("devices", 1);
    stub.memory = stub_setting("memory", (size_t)256 << 20);
    stub.major = (int)stub_setting("major", 9);
    stub.minor = (int)stub_setting("minor", 0);
    stub.pool = (int)stub_setting("pool", 1);
    if (file < 0 || ftruncate(file, STUB_REGION_BYTES) != 0)
        abort();
    stub.region = mmap(NULL, STUB_REGION_BYTES, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    stub.alias = mmap(NULL, STUB_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (stub.region == MAP_FAILED || stub.alias == MAP_FAILED)
        abort();
    close(file);
    stub.pieces = calloc(1, sizeof *stub.pieces);
    stub.pieces->bytes = STUB_REGION_BYTES;
    stub.pieces->device = -1;
    read_failures();
}

/* cuda.h gives some functions the name of their second version. */
static bool is_named(const char *function, const char *name)
{
    size_t length = strlen(name);

    return strncmp(function, name, length) == 0 &&
           (!function[length] || strcmp(function + length, "_v2") == 0);
}

CUresult stub_struck(const char *function)
{
    for (int k = 0; k < STUB_FAILURES_MOST; k++) {
        struct stub_failure *failure = &stub.failures[k];
        if (!failure->function[0] || !is_named(function, failure->function) || failure->after-- > 0)
            continue;
        failure->function[0] = '\0';
        if ((int)failure->result < 0)
            raise(-(int)failure->result);
        return failure->result;
    }
    return CUDA_SUCCESS;
}

CUresult stub_begin(const char *function)
{
    CUresult result;

    pthread_once(&stub.once, set_up);
    pthread_mutex_lock(&stub.lock);
    result = stub_struck(function);
    if (result == CUDA_SUCCESS && stub_current >= 0)
        result = stub.sticky[stub_current];
    return result;
}

CUresult stub_end(CUresult result)
{
    stub.errors += result != CUDA_SUCCESS;
    pthread_mutex_unlock(&stub.lock);
    return result;
}

/* ---- the driver, devices, contexts, streams ------------------------------------------------------------ */

API CUresult cuInit(unsigned flags)
{
    (void)flags;
    BEGIN;
    return stub_end(stub.devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

API CUresult cuDriverGetVersion(int *version)
{
    BEGIN;
    *version = CUDA_VERSION;
    END;
}

#define NAMES(X)                                                                                             \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                          \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                             \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                            \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                                \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                         \
    X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")

API CUresult cuGetErrorName(CUresult error, const char **text)
{
    switch ((int)error) {
#define X(name, words)                                                                                       \
    case name:                                                                                               \
        *text = #name;                                                                                       \
        return CUDA_SUCCESS;
        NAMES(X)
#undef X
    }
    *text = "CUDA_ERROR_OTHER";
    return CUDA_SUCCESS;
}

API CUresult cuGetErrorString(CUresult error, const char **text)
{
    switch ((int)error) {
#define X(name, words)                                                                                       \
    case name:                                                                                               \
        *text = words;                                                                                       \
        return CUDA_SUCCESS;
        NAMES(X)
#undef X
    }
    *text = "another error";
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int *count)
{
    BEGIN;
    *count = stub.devices;
    END;
}

API CUresult cuDeviceGet(CUdevice *device, int index)
{
    BEGIN;
    *device = index;
    return stub_end(index < stub.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

API CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    BEGIN;
    snprintf(name, (size_t)size, "Stub %d", device);
    END;
}

API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    BEGIN;
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = stub.major;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = stub.minor;
        break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        *value = stub.pool;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 4;
        break;
    default:
        return stub_end(CUDA_ERROR_INVALID_VALUE);
    }
    END;
}

API CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    BEGIN;
    *bytes = stub.memory;
    END;
}

/* A context is the number of its device, plus one. */
API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    BEGIN;
    *context = (CUcontext)(uintptr_t)(device + 1);
    END;
}

API CUresult cuCtxPushCurrent(CUcontext context)
{
    BEGIN;
    if (depth == (int)(sizeof below / sizeof *below))
        return stub_end(CUDA_ERROR_INVALID_CONTEXT);
    below[depth++] = stub_current;
    stub_current = (int)(uintptr_t)context - 1;
    END;
}

API CUresult cuCtxPopCurrent(CUcontext *context)
{
    pthread_mutex_lock(&stub.lock);
    *context = (CUcontext)(uintptr_t)(stub_current + 1);
    stub_current = depth > 0 ? below[--depth] : -1;
    END;
}

API CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    (void)flags;
    BEGIN;
    *stream = (CUstream)(uintptr_t)(stub_current + 1);
    END;
}

API CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    BEGIN;
    END;
}

API CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    BEGIN;
    *event = (CUevent)(uintptr_t)1;
    END;
}

API CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    BEGIN;
    END;
}

API CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    BEGIN;
    END;
}
