/*
 * without_gpu.c: what stands in for gpu_*.c where the library was built without the headers of CUDA: there is
 * no device, and nothing else is ever called, since nothing else comes without one.
 */
#include "gpu.h"

#include <stdio.h>

static akg_status refuse(struct gpu_failure *failure)
{
    *failure = (struct gpu_failure){.status = AKG_ERROR_USAGE, .message = MSG_CUDA_ABSENT};
    snprintf(failure->device, sizeof failure->device, "this library");
    snprintf(failure->first, sizeof failure->first, "was built without CUDA headers");
    snprintf(failure->note, sizeof failure->note,
             "help: with cuda.h and nvrtc.h installed, run ./configure and make again");
    return failure->status;
}

int gpu_count(struct gpu_failure *failure)
{
    refuse(failure);
    return 0;
}

struct gpu_device *gpu_open(int index, struct gpu_failure *failure)
{
    (void)index;
    refuse(failure);
    return NULL;
}

int gpu_index(const struct gpu_device *device)
{
    (void)device;
    return 0;
}

akg_status gpu_describe(int index, akg_device_info *info, struct gpu_failure *failure)
{
    (void)index, (void)info;
    return refuse(failure);
}

akg_status gpu_wait(struct gpu_device *device, struct gpu_failure *failure)
{
    (void)device;
    return refuse(failure);
}

akg_status gpu_allocate(struct gpu_device *device, size_t bytes, struct gpu_block **block, void **data,
                        struct gpu_failure *failure)
{
    (void)device, (void)bytes, (void)block, (void)data;
    return refuse(failure);
}

void gpu_free(void *block)
{
    (void)block;
}

akg_status gpu_upload(struct gpu_device *device, void *to, const void *from, size_t bytes,
                      struct gpu_failure *failure)
{
    (void)device, (void)to, (void)from, (void)bytes;
    return refuse(failure);
}

akg_status gpu_download(struct gpu_device *device, void *to, const void *from, size_t bytes,
                        struct gpu_failure *failure)
{
    (void)device, (void)to, (void)from, (void)bytes;
    return refuse(failure);
}

akg_status gpu_move(struct gpu_device *device, void *to, struct gpu_device *source, const void *from,
                    size_t bytes, struct gpu_failure *failure)
{
    (void)device, (void)to, (void)source, (void)from, (void)bytes;
    return refuse(failure);
}

akg_status gpu_fill(struct gpu_device *device, void *to, uint64_t pattern, int size, int64_t count,
                    struct gpu_failure *failure)
{
    (void)device, (void)to, (void)pattern, (void)size, (void)count;
    return refuse(failure);
}

struct gpu_code *gpu_find_code(struct gpu_device *device, const struct jit_instance *instance)
{
    (void)device, (void)instance;
    return NULL;
}

akg_status gpu_make_code(struct gpu_device *device, const struct jit_instance *instance,
                         const struct jit_frame *frame, struct gpu_code **code, akg_diagnostics *diagnostics)
{
    struct gpu_failure failure;

    (void)device, (void)instance, (void)frame;
    *code = NULL;
    refuse(&failure);
    return gpu_failure_add(&failure, diagnostics, (struct span){0});
}

akg_status gpu_run(struct gpu_code *code, const struct jit_instance *instance, const struct jit_frame *frame,
                   int *stopped, bool *lacks, struct gpu_failure *failure)
{
    (void)code, (void)instance, (void)frame;
    *stopped = 0;
    *lacks = false;
    return refuse(failure);
}

struct gpu_graph *gpu_graph_new(struct gpu_device *device)
{
    (void)device;
    return NULL;
}

void gpu_graph_free(struct gpu_graph *graph)
{
    (void)graph;
}

void gpu_graph_empty(struct gpu_graph *graph)
{
    (void)graph;
}

bool gpu_graph_takes(const struct jit_instance *instance)
{
    (void)instance;
    return false;
}

bool gpu_graph_takes_fill(uint64_t pattern, int size)
{
    (void)pattern, (void)size;
    return false;
}

akg_status gpu_graph_run(struct gpu_graph *graph, struct gpu_code *code, const struct jit_instance *instance,
                         const struct jit_frame *frame, bool *lacks, struct gpu_failure *failure)
{
    (void)graph, (void)code, (void)instance, (void)frame;
    *lacks = false;
    return refuse(failure);
}

akg_status gpu_graph_fill(struct gpu_graph *graph, void *to, uint64_t pattern, int size, int64_t count,
                          struct gpu_failure *failure)
{
    (void)graph, (void)to, (void)pattern, (void)size, (void)count;
    return refuse(failure);
}

akg_status gpu_graph_launch(struct gpu_graph *graph, struct gpu_failure *failure)
{
    (void)graph;
    return refuse(failure);
}
