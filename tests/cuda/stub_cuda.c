/*
 * stub_cuda.c: a libcuda.so without a GPU, for tests: memory of a device is memory of the host that can be
 * reached only while the library works on it, so that whoever takes an address of a device for one of the
 * host's is caught. Work is done at once, but failures of kernels are told when somebody waits, as by a real
 * device.
 *
 * What the devices are like stands in AKG_STUB_CUDA, words "name=number" with blanks between:
 *     devices    how many (1)        memory   bytes of each (256 MiB)
 *     pool       0: no stream-ordered pool (1)
 *     major, minor   compute capability (9, 0)
 * Failures come from stub_fail, or from AKG_STUB_FAIL, "FUNCTION:AFTER:RESULT" with blanks between: after so
 * many more calls the function gives that CUresult, once. The name "kernel" stands for the kernel itself:
 * then its launch succeeds, and everything behind it fails. A number below 0 is a signal that the process
 * gets.
 */
#define _GNU_SOURCE
#include "stub_cuda.h"

#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { DEVICES_MOST = 4, FAILURES_MOST = 8 };
#define REGION_BYTES ((size_t)1 << 32)

/* An allocation, or a gap between two: in the order of their addresses. */
struct piece {
    size_t at, bytes;
    int device; /* or -1: free */
    struct piece *next;
};

struct failure {
    char function[40];
    long after;
    CUresult result;
};

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    int devices, major, minor, pool;
    size_t memory, used[DEVICES_MOST];
    char *region; /* what addresses of devices are: not to be touched */
    char *alias;  /* the same memory, for copies */
    struct piece *pieces;
    struct failure failures[FAILURES_MOST];
    CUresult sticky[DEVICES_MOST]; /* what everything gives from now on */
    long launches, graphs, updates, loads, errors;
} stub = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static _Thread_local int current = -1, below[8], depth;

/* ---- set-up -----------------------------------------------------------------------------------------------
 */

static size_t setting(const char *name, size_t initial)
{
    const char *text = getenv("AKG_STUB_CUDA"), *at = text ? strstr(text, name) : NULL;

    return at && at[strlen(name)] == '=' ? strtoull(at + strlen(name) + 1, NULL, 10) : initial;
}

API void stub_fail(const char *function, long after, int result)
{
    pthread_mutex_lock(&stub.lock);
    for (int k = 0; k < FAILURES_MOST; k++)
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

    stub.devices = (int)setting("devices", 1);
    stub.memory = setting("memory", (size_t)256 << 20);
    stub.major = (int)setting("major", 9);
    stub.minor = (int)setting("minor", 0);
    stub.pool = (int)setting("pool", 1);
    if (file < 0 || ftruncate(file, REGION_BYTES) != 0)
        abort();
    stub.region = mmap(NULL, REGION_BYTES, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    stub.alias = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (stub.region == MAP_FAILED || stub.alias == MAP_FAILED)
        abort();
    close(file);
    stub.pieces = calloc(1, sizeof *stub.pieces);
    stub.pieces->bytes = REGION_BYTES;
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

/* The result that the function is to give instead of working; CUDA_SUCCESS: it works. The lock is held. */
static CUresult struck(const char *function)
{
    for (int k = 0; k < FAILURES_MOST; k++) {
        struct failure *failure = &stub.failures[k];
        if (!failure->function[0] || !is_named(function, failure->function) || failure->after-- > 0)
            continue;
        failure->function[0] = '\0';
        if ((int)failure->result < 0)
            raise(-(int)failure->result);
        return failure->result;
    }
    return CUDA_SUCCESS;
}

/* Every function begins so. */
static CUresult begin(const char *function)
{
    CUresult result;

    pthread_once(&stub.once, set_up);
    pthread_mutex_lock(&stub.lock);
    result = struck(function);
    if (result == CUDA_SUCCESS && current >= 0)
        result = stub.sticky[current];
    return result;
}

static CUresult end(CUresult result)
{
    stub.errors += result != CUDA_SUCCESS;
    pthread_mutex_unlock(&stub.lock);
    return result;
}

#define BEGIN                                                                                                \
    do {                                                                                                     \
        CUresult begun = begin(__func__);                                                                    \
        if (begun != CUDA_SUCCESS)                                                                           \
            return end(begun);                                                                               \
    } while (0)
#define END return end(CUDA_SUCCESS)

/* ---- the driver, devices, contexts
 * ------------------------------------------------------------------------- */

API CUresult cuInit(unsigned flags)
{
    (void)flags;
    BEGIN;
    return end(stub.devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
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
    return end(index < stub.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
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
        return end(CUDA_ERROR_INVALID_VALUE);
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
        return end(CUDA_ERROR_INVALID_CONTEXT);
    below[depth++] = current;
    current = (int)(uintptr_t)context - 1;
    END;
}

API CUresult cuCtxPopCurrent(CUcontext *context)
{
    pthread_mutex_lock(&stub.lock);
    *context = (CUcontext)(uintptr_t)(current + 1);
    current = depth > 0 ? below[--depth] : -1;
    END;
}

API CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    (void)flags;
    BEGIN;
    *stream = (CUstream)(uintptr_t)(current + 1);
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

/* ---- memory
 * ------------------------------------------------------------------------------------------------- */

static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
    size_t rounded = (bytes + 255) / 256 * 256;

    if (bytes == 0 || current < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (stub.used[current] + bytes > stub.memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (struct piece *piece = stub.pieces; piece; piece = piece->next) {
        if (piece->device >= 0 || piece->bytes < rounded)
            continue;
        if (piece->bytes > rounded) {
            struct piece *rest = malloc(sizeof *rest);
            *rest = (struct piece){piece->at + rounded, piece->bytes - rounded, -1, piece->next};
            piece->next = rest;
            piece->bytes = rounded;
        }
        piece->device = current;
        stub.used[current] += piece->bytes;
        memset(stub.alias + piece->at, 0xA5, piece->bytes);
        *address = (CUdeviceptr)(uintptr_t)(stub.region + piece->at);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult release(CUdeviceptr address)
{
    for (struct piece *piece = stub.pieces; piece; piece = piece->next)
        if (piece->device >= 0 && (CUdeviceptr)(uintptr_t)(stub.region + piece->at) == address) {
            stub.used[piece->device] -= piece->bytes;
            piece->device = -1;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemGetInfo(size_t *available, size_t *total)
{
    BEGIN;
    *total = stub.memory;
    *available = stub.memory - stub.used[current];
    END;
}

API CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    BEGIN;
    return end(allocate(address, bytes));
}

API CUresult cuMemFree(CUdeviceptr address)
{
    BEGIN;
    return end(release(address));
}

API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(stub.pool ? allocate(address, bytes) : CUDA_ERROR_NOT_SUPPORTED);
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(stub.pool ? release(address) : CUDA_ERROR_NOT_SUPPORTED);
}

API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    BEGIN;
    *pool = (CUmemoryPool)(uintptr_t)(device + 1);
    END;
}

API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    (void)pool, (void)attribute, (void)value;
    BEGIN;
    END;
}

API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t kept)
{
    (void)pool, (void)kept;
    BEGIN;
    END;
}

API CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    BEGIN;
    *memory = malloc(bytes);
    return end(*memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* ---- copies
 * --------------------------------------------------------------------------------------------------- */

/* What can be reached of an address of a device, if all of it lies in one allocation. */
static char *reach(CUdeviceptr address, size_t bytes)
{
    size_t at = (size_t)(address - (CUdeviceptr)(uintptr_t)stub.region);

    for (struct piece *piece = stub.pieces; piece; piece = piece->next)
        if (piece->device >= 0 && at >= piece->at && at - piece->at <= piece->bytes &&
            bytes <= piece->bytes - (at - piece->at))
            return stub.alias + at;
    return NULL;
}

static CUresult copy(void *to, const void *from, size_t bytes)
{
    if (!to || !from)
        return CUDA_ERROR_INVALID_VALUE;
    memmove(to, from, bytes);
    return CUDA_SUCCESS;
}

/* Memory of the host is not page-locked: nothing is known of it, which is no error. */
API CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **answers,
                                    CUdeviceptr pointer)
{
    BEGIN;
    if (count != 1 || attributes[0] != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        return end(CUDA_ERROR_INVALID_VALUE);
    *(CUmemorytype *)answers[0] = reach(pointer, 1) ? CU_MEMORYTYPE_DEVICE : (CUmemorytype)0;
    END;
}

API CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(copy(reach(to, bytes), from, bytes));
}

API CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(copy(to, reach(from, bytes), bytes));
}

API CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(copy(reach(to, bytes), reach(from, bytes), bytes));
}

API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source,
                               size_t bytes, CUstream stream)
{
    (void)target, (void)source, (void)stream;
    BEGIN;
    return end(copy(reach(to, bytes), reach(from, bytes), bytes));
}

/* `rows` times `size` bytes of a value, `pitch` bytes apart. */
static CUresult set(CUdeviceptr to, size_t pitch, const void *value, size_t size, size_t rows)
{
    char *reached = rows ? reach(to, (rows - 1) * pitch + size) : NULL;

    if (!reached)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < rows; k++)
        memcpy(reached + k * pitch, value, size);
    return CUDA_SUCCESS;
}

API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(set(to, sizeof value, &value, sizeof value, count));
}

API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(set(to, sizeof value, &value, sizeof value, count));
}

API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(set(to, sizeof value, &value, sizeof value, count));
}

API CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                CUstream stream)
{
    (void)stream;
    BEGIN;
    return end(width == 1 ? set(to, pitch, &value, sizeof value, height) : CUDA_ERROR_NOT_SUPPORTED);
}

/* ---- kernels
 * ----------------------------------------------------------------------------------------------------- */

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                void **values)
{
    (void)count, (void)options, (void)values;
    BEGIN;
    stub.loads++;
    *module = (CUmodule)stub_module_load(image);
    return end(*module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE);
}

API CUresult cuModuleUnload(CUmodule module)
{
    BEGIN;
    stub_module_unload((struct stub_module *)module);
    END;
}

API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    BEGIN;
    *function = (CUfunction)stub_module_function((struct stub_module *)module, name);
    return end(*function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    BEGIN;
    END;
}

/* A kernel on the current device; the lock is held. */
static CUresult run_kernel(const CUDA_KERNEL_NODE_PARAMS *launch)
{
    CUresult failed;

    if (!launch->gridDimX || launch->gridDimY != 1 || launch->gridDimZ != 1 || !launch->blockDimX ||
        launch->blockDimX > 1024 || launch->blockDimY != 1 || launch->blockDimZ != 1)
        return CUDA_ERROR_INVALID_VALUE;
    stub.launches++;
    failed = struck("kernel");
    mprotect(stub.region, REGION_BYTES, PROT_READ | PROT_WRITE);
    if (failed == CUDA_SUCCESS && !stub_function_run((struct stub_function *)launch->func, launch->gridDimX,
                                                     launch->blockDimX, launch->kernelParams))
        failed = CUDA_ERROR_LAUNCH_FAILED;
    mprotect(stub.region, REGION_BYTES, PROT_NONE);
    stub.sticky[current] = failed;
    return CUDA_SUCCESS;
}

API CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                            CUstream stream, void **parameters, void **extra)
{
    const CUDA_KERNEL_NODE_PARAMS launch = {.func = function,
                                            .gridDimX = grid_x,
                                            .gridDimY = grid_y,
                                            .gridDimZ = grid_z,
                                            .blockDimX = block_x,
                                            .blockDimY = block_y,
                                            .blockDimZ = block_z,
                                            .sharedMemBytes = shared,
                                            .kernelParams = parameters};

    (void)stream, (void)extra;
    BEGIN;
    return end(run_kernel(&launch));
}

API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                              void **extra)
{
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                          config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                          parameters, extra);
}

/* ---- graphs: what a node does is copied, as by the driver
 * -------------------------------------------------- */

struct CUgraphNode_st {
    bool is_fill;
    CUDA_KERNEL_NODE_PARAMS kernel; /* parameters: `words` */
    CUDA_MEMSET_NODE_PARAMS fill;
    char *words;
    int number;
    struct CUgraphNode_st *before, *next;
};

struct CUgraph_st {
    struct CUgraphNode_st *first, *last;
    int count;
};

/* Copies of the nodes, in order. */
struct CUgraphExec_st {
    struct CUgraphNode_st *nodes;
    int count;
};

static void keep_kernel(struct CUgraphNode_st *node, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    size_t bytes = stub_function_parameter((struct stub_function *)kernel->func);

    free(node->words);
    node->kernel = *kernel;
    node->words = malloc(bytes + 1);
    memcpy(node->words, kernel->kernelParams[0], bytes);
}

/* Nodes have to come in a row, which is how the library makes them. */
static struct CUgraphNode_st *add_node(CUgraph graph, const CUgraphNode *before, size_t count)
{
    struct CUgraphNode_st *node;

    if (count != (graph->last != NULL) || (count && *before != graph->last))
        return NULL;
    node = calloc(1, sizeof *node);
    node->number = graph->count++;
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    return node;
}

API CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
    BEGIN;
    if (flags)
        return end(CUDA_ERROR_INVALID_VALUE);
    *graph = calloc(1, sizeof **graph);
    END;
}

API CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    BEGIN;
    if (!(*node = add_node(graph, before, count)))
        return end(CUDA_ERROR_INVALID_VALUE);
    keep_kernel(*node, kernel);
    END;
}

API CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
{
    (void)context;
    BEGIN;
    if (!(*node = add_node(graph, before, count)))
        return end(CUDA_ERROR_INVALID_VALUE);
    (*node)->is_fill = true;
    (*node)->fill = *fill;
    END;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long flags)
{
    BEGIN;
    if (flags)
        return end(CUDA_ERROR_INVALID_VALUE);
    *made = calloc(1, sizeof **made);
    (*made)->nodes = calloc((size_t)graph->count + 1, sizeof *(*made)->nodes);
    for (struct CUgraphNode_st *node = graph->first; node; node = node->next) {
        struct CUgraphNode_st *copy = &(*made)->nodes[(*made)->count++];
        *copy = *node;
        copy->words = NULL;
        if (!node->is_fill)
            keep_kernel(copy, &(CUDA_KERNEL_NODE_PARAMS){.func = node->kernel.func,
                                                         .gridDimX = node->kernel.gridDimX,
                                                         .gridDimY = node->kernel.gridDimY,
                                                         .gridDimZ = node->kernel.gridDimZ,
                                                         .blockDimX = node->kernel.blockDimX,
                                                         .blockDimY = node->kernel.blockDimY,
                                                         .blockDimZ = node->kernel.blockDimZ,
                                                         .kernelParams = (void *[]){node->words}});
    }
    END;
}

API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec made, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    BEGIN;
    if (!made || node->is_fill || node->kernel.func != kernel->func)
        return end(CUDA_ERROR_INVALID_VALUE);
    stub.updates++;
    keep_kernel(&made->nodes[node->number], kernel);
    END;
}

API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec made, CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
{
    (void)context;
    BEGIN;
    if (!made || !node->is_fill)
        return end(CUDA_ERROR_INVALID_VALUE);
    stub.updates++;
    made->nodes[node->number].fill = *fill;
    END;
}

static CUresult run_fill(const CUDA_MEMSET_NODE_PARAMS *fill)
{
    char *to = reach(fill->dst, fill->width * fill->elementSize);

    if (!to || fill->height != 1)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < fill->width; k++)
        memcpy(to + k * fill->elementSize, &fill->value, fill->elementSize);
    return CUDA_SUCCESS;
}

API CUresult cuGraphLaunch(CUgraphExec made, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    (void)stream;
    BEGIN;
    stub.graphs++;
    for (int k = 0; k < made->count && result == CUDA_SUCCESS; k++) {
        struct CUgraphNode_st *node = &made->nodes[k];
        CUDA_KERNEL_NODE_PARAMS kernel = node->kernel;
        void *words[] = {node->words};
        kernel.kernelParams = words;
        if (node->is_fill)
            result = run_fill(&node->fill);
        else if (stub.sticky[current] == CUDA_SUCCESS)
            result = run_kernel(&kernel);
    }
    return end(result);
}

API CUresult cuGraphExecDestroy(CUgraphExec made)
{
    pthread_mutex_lock(&stub.lock); /* also of a device that is lost */
    for (int k = 0; k < made->count; k++)
        free(made->nodes[k].words);
    free(made->nodes);
    free(made);
    END;
}

API CUresult cuGraphDestroy(CUgraph graph)
{
    pthread_mutex_lock(&stub.lock);
    for (struct CUgraphNode_st *node = graph->first, *next; node; node = next) {
        next = node->next;
        free(node->words);
        free(node);
    }
    free(graph);
    END;
}
