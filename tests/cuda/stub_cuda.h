/*
 * stub_cuda.h: what tests ask of the stub of libcuda (stub_cuda.c), by dlsym; and how it runs kernels
 * (stub_module.c).
 */
#ifndef TESTS_CUDA_STUB_CUDA_H
#define TESTS_CUDA_STUB_CUDA_H

#include <stdbool.h>
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

/* ---- modules
 * ------------------------------------------------------------------------------------------------ */

struct stub_module;
struct stub_function;

/* What the stub of libnvrtc made of a text, which is the text. NULL: it cannot be run. */
struct stub_module *stub_module_load(const char *text);
void stub_module_unload(struct stub_module *module);
struct stub_function *stub_module_function(struct stub_module *module, const char *name);
/* False: the kernel failed, as one that leaves its tensors; standard error says why. `parameters` as of
 * cuLaunchKernel. */
bool stub_function_run(struct stub_function *function, unsigned blocks, unsigned threads, void **parameters);
/* Bytes of the one parameter that a kernel has. */
size_t stub_function_parameter(const struct stub_function *function);

#endif
