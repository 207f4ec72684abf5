/*
 * stub_cuda.h: what tests ask of the stub of libcuda (stub_cuda.c), by dlsym.
 */
#ifndef TESTS_CUDA_STUB_CUDA_H
#define TESTS_CUDA_STUB_CUDA_H

#include <stddef.h>

/* After so many more calls of the function it gives that CUresult, once. */
void stub_fail(const char *function, long after, int result);
/* Kernels launched so far. */
long stub_launches(void);
/* Graphs launched so far, and nodes of graphs that were told new parameters. */
long stub_graphs(void);
long stub_updates(void);
/* Modules loaded so far. */
long stub_loads(void);
/* Calls of the driver that gave an error so far. */
long stub_errors(void);
/* Bytes of a device that are allocated; how many there are from now on. */
size_t stub_used(int device);
void stub_set_memory(size_t bytes);

#endif
