/*
 * gpu_private.h: what the files gpu_*.c share: the driver's functions, what a device is, and how a result of
 * the driver becomes a failure. The only header that includes cuda.h.
 */
#ifndef RUNTIME_GPU_PRIVATE_H
#define RUNTIME_GPU_PRIVATE_H

#include "../jit/module.h"
#include "gpu.h"

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>

/*
 * The functions of libcuda that are used, opened at run time. cuda.h renames many of them (cuMemAlloc is
 * cuMemAlloc_v2), in this table as everywhere. One that is not needed is NULL in drivers that do not have it.
 */
#define GPU_SYMBOLS(X)                                                                                       \
    X(cuInit, true)                                                                                          \
    X(cuDriverGetVersion, true)                                                                              \
    X(cuGetErrorName, true)                                                                                  \
    X(cuGetErrorString, true)                                                                                \
    X(cuDeviceGetCount, true)                                                                                \
    X(cuDeviceGet, true)                                                                                     \
    X(cuDeviceGetName, true)                                                                                 \
    X(cuDeviceGetAttribute, true)                                                                            \
    X(cuDeviceTotalMem, true)                                                                                \
    X(cuDevicePrimaryCtxRetain, true)                                                                        \
    X(cuCtxPushCurrent, true)                                                                                \
    X(cuCtxPopCurrent, true)                                                                                 \
    X(cuStreamCreate, true)                                                                                  \
    X(cuStreamSynchronize, true)                                                                             \
    X(cuEventCreate, true)                                                                                   \
    X(cuEventRecord, true)                                                                                   \
    X(cuEventSynchronize, true)                                                                              \
    X(cuMemGetInfo, true)                                                                                    \
    X(cuMemAlloc, true)                                                                                      \
    X(cuMemFree, true)                                                                                       \
    X(cuMemAllocAsync, false)                                                                                \
    X(cuMemFreeAsync, false)                                                                                 \
    X(cuDeviceGetDefaultMemPool, false)                                                                      \
    X(cuMemPoolSetAttribute, false)                                                                          \
    X(cuMemPoolTrimTo, false)                                                                                \
    X(cuMemHostAlloc, true)                                                                                  \
    X(cuPointerGetAttributes, true)                                                                          \
    X(cuMemcpyHtoDAsync, true)                                                                               \
    X(cuMemcpyDtoHAsync, true)                                                                               \
    X(cuMemcpyDtoDAsync, true)                                                                               \
    X(cuMemcpyPeerAsync, true)                                                                               \
    X(cuMemsetD8Async, true)                                                                                 \
    X(cuMemsetD16Async, true)                                                                                \
    X(cuMemsetD32Async, true)                                                                                \
    X(cuMemsetD2D32Async, true)                                                                              \
    X(cuModuleLoadDataEx, true)                                                                              \
    X(cuModuleGetFunction, true)                                                                             \
    X(cuModuleUnload, true)                                                                                  \
    X(cuFuncSetAttribute, true)                                                                              \
    X(cuLaunchKernel, true)                                                                                  \
    X(cuLaunchKernelEx, false)                                                                               \
    X(cuGraphCreate, false)                                                                                  \
    X(cuGraphAddKernelNode, false)                                                                           \
    X(cuGraphAddMemsetNode, false)                                                                           \
    X(cuGraphInstantiateWithFlags, false)                                                                    \
    X(cuGraphExecKernelNodeSetParams, false)                                                                 \
    X(cuGraphExecMemsetNodeSetParams, false)                                                                 \
    X(cuGraphLaunch, false)                                                                                  \
    X(cuGraphExecDestroy, false)                                                                             \
    X(cuGraphDestroy, false)

struct gpu_driver {
#define X(name, needed) __typeof__(&name) name;
    GPU_SYMBOLS(X)
#undef X
};

/* The driver, opened by the first call; NULL with a failure. */
const struct gpu_driver *gpu_driver(struct gpu_failure *failure);

/* ---- memory of a device ------------------------------------------------------------------------------- */

/* Blocks are of sizes that are 8 to an octave, from 512 bytes on. */
enum { GPU_SIZE_CLASSES = 8 * 40 };

struct gpu_block {
    struct gpu_device *device;
    CUdeviceptr address;
    size_t bytes;
    struct gpu_block *next; /* of those that are free */
};

struct gpu_memory {
    pthread_mutex_t lock;
    struct gpu_block *free[GPU_SIZE_CLASSES];
    uint64_t used; /* bytes in blocks that are out */
    bool pooled;   /* from the device's pool, in the order of the stream */
};

/* Memory of the host that the device reaches, in two halves: while the one is copied, the other is filled. */
enum { GPU_STAGING_BYTES = 4 << 20 };

struct gpu_staging {
    pthread_mutex_t lock;
    char *halves; /* NULL until it is worth making */
    size_t asked; /* bytes of copies that would have gone through it */
    CUevent events[2];
};

/* ---- devices --------------------------------------------------------------------------------------------
 */

struct gpu_device {
    const struct gpu_driver *driver;
    int index;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    int major, minor; /* compute capability */
    atomic_int lost;  /* the CUresult after which nothing works any more, or 0 */
    struct gpu_memory memory;
    struct gpu_staging staging;
    pthread_mutex_t code_lock; /* held while an instance is compiled */
};

/* Makes the device the thread's current one until gpu_leave; false, with a failure, for one that is lost. */
bool gpu_enter(struct gpu_device *device, struct gpu_failure *failure);
void gpu_leave(struct gpu_device *device);

/* AKG_OK for CUDA_SUCCESS. Else fills the failure: `what` was not done ("copy 3 MiB"). An error after which
 * the context cannot be used makes the device lost. */
akg_status gpu_check(struct gpu_device *device, CUresult result, const char *what,
                     struct gpu_failure *failure);

struct gpu_module {
    CUmodule module;
    struct gpu_module *next;
};

/* The code of one instance on one device: of those launches that calls have needed so far. */
struct gpu_code {
    struct jit_device_code head;
    struct gpu_device *device;
    struct gpu_module *modules; /* the lock of code is held by who adds one */
    atomic_bool is_older;       /* some of it was compiled for an older device: it may not wait by itself */
    _Atomic(CUfunction) functions[]; /* per launch of the program; NULL until its module is loaded */
};

static inline CUfunction gpu_code_function(const struct gpu_code *code, int launch)
{
    return atomic_load_explicit(&((struct gpu_code *)code)->functions[launch], memory_order_acquire);
}

/* ---- one run of an instance (gpu_call.c) ----------------------------------------------------------------
 */

enum { GPU_INLINE_WORDS = 128, GPU_INLINE_BLOCKS = 16, GPU_INLINE_LAUNCHES = 32 };

struct gpu_running {
    struct gpu_device *device;
    const struct cuda_program *program;
    const struct jit_frame *frame;
    struct gpu_failure *failure;
    struct gpu_block **blocks; /* of the temporaries, then of the trap */
    void **temporaries;        /* their addresses, in the same order */
    uint64_t *words;
    unsigned *grids; /* blocks of threads per launch; 0: there is nothing to do */
    void *spill;
    struct gpu_block *inline_blocks[GPU_INLINE_BLOCKS];
    void *inline_temporaries[GPU_INLINE_BLOCKS];
    uint64_t inline_words[GPU_INLINE_WORDS];
    unsigned inline_grids[GPU_INLINE_LAUNCHES];
};

/* Room for all of it; device, program, frame and failure are set. gpu_running_end gives everything back. */
akg_status gpu_running_begin(struct gpu_running *run);
void gpu_running_end(struct gpu_running *run);
akg_status gpu_running_temporaries(struct gpu_running *run);
/* The words that the kernels get. */
void gpu_running_words(struct gpu_running *run);
/* The grids, which hang on extents and attributes alone; false where something is to be launched whose code
 * is not there yet. */
bool gpu_running_grids(struct gpu_running *run, const struct gpu_code *code);

#endif
