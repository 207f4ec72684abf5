/*
 * stub_memory.c: memory of the stub of libcuda: allocations, first fit in one region of addresses that nobody
 * may touch, and copies and fills through a second view of it, each within one allocation.
 */
#include "stub_private.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
    size_t rounded = (bytes + 255) / 256 * 256;

    if (bytes == 0 || stub_current < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (stub.used[stub_current] + bytes > stub.memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (struct stub_piece *piece = stub.pieces; piece; piece = piece->next) {
        if (piece->device >= 0 || piece->bytes < rounded)
            continue;
        if (piece->bytes > rounded) {
            struct stub_piece *rest = malloc(sizeof *rest);
            *rest = (struct stub_piece){piece->at + rounded, piece->bytes - rounded, -1, piece->next};
            piece->next = rest;
            piece->bytes = rounded;
        }
        piece->device = stub_current;
        stub.used[stub_current] += piece->bytes;
        memset(stub.alias + piece->at, 0xA5, piece->bytes);
        *address = (CUdeviceptr)(uintptr_t)(stub.region + piece->at);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult release(CUdeviceptr address)
{
    for (struct stub_piece *piece = stub.pieces; piece; piece = piece->next)
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
    *available = stub.memory - stub.used[stub_current];
    END;
}

API CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    BEGIN;
    return stub_end(allocate(address, bytes));
}

API CUresult cuMemFree(CUdeviceptr address)
{
    BEGIN;
    return stub_end(release(address));
}

API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    return stub_end(stub.pool ? allocate(address, bytes) : CUDA_ERROR_NOT_SUPPORTED);
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    (void)stream;
    BEGIN;
    return stub_end(stub.pool ? release(address) : CUDA_ERROR_NOT_SUPPORTED);
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
    return stub_end(*memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* ---- copies ------------------------------------------------------------------------------------------- */

char *stub_reach(CUdeviceptr address, size_t bytes)
{
    size_t at = (size_t)(address - (CUdeviceptr)(uintptr_t)stub.region);

    for (struct stub_piece *piece = stub.pieces; piece; piece = piece->next)
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
        return stub_end(CUDA_ERROR_INVALID_VALUE);
    *(CUmemorytype *)answers[0] = stub_reach(pointer, 1) ? CU_MEMORYTYPE_DEVICE : (CUmemorytype)0;
    END;
}

API CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    return stub_end(copy(stub_reach(to, bytes), from, bytes));
}

API CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    return stub_end(copy(to, stub_reach(from, bytes), bytes));
}

API CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    return stub_end(copy(stub_reach(to, bytes), stub_reach(from, bytes), bytes));
}

API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source,
                               size_t bytes, CUstream stream)
{
    (void)target, (void)source, (void)stream;
    BEGIN;
    return stub_end(copy(stub_reach(to, bytes), stub_reach(from, bytes), bytes));
}

/* `rows` times `size` bytes of a value, `pitch` bytes apart. */
static CUresult set(CUdeviceptr to, size_t pitch, const void *value, size_t size, size_t rows)
{
    char *reached = rows ? stub_reach(to, (rows - 1) * pitch + size) : NULL;

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
    return stub_end(set(to, sizeof value, &value, sizeof value, count));
}

API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    (void)stream;
    BEGIN;
    return stub_end(set(to, sizeof value, &value, sizeof value, count));
}

API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)stream;
    BEGIN;
    return stub_end(set(to, sizeof value, &value, sizeof value, count));
}

API CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                CUstream stream)
{
    (void)stream;
    BEGIN;
    return stub_end(width == 1 ? set(to, pitch, &value, sizeof value, height) : CUDA_ERROR_NOT_SUPPORTED);
}
