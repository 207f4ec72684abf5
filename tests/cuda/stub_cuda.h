/*
 * stub_cuda.h: what tests ask of the stub of libcuda (stub_cuda.c), by dlsym.
 */
#ifndef TESTS_CUDA_STUB_CUDA_H
#define TESTS_CUDA_STUB_CUDA_H

#include <stdbool.h>
#include <stddef.h>

/* After so many more calls of the function it gives that CUresult, once. */
void stub_fail(const char *function, long after, int result);
/* Bytes of a device that are allocated; how many there are from now on. */
size_t stub_used(int device);
void stub_set_memory(size_t bytes);

#endif
