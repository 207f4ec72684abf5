/*
 * stub_private.h: what the files of the stub of libcuda share: its state, how each of its functions begins
 * and ends, what reaches memory and what runs kernels. stub_cuda.h is what tests see.
 */
#ifndef TESTS_CUDA_STUB_PRIVATE_H
#define TESTS_CUDA_STUB_PRIVATE_H

#include "stub_cuda.h"

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>

#define API __attribute__((visibility("default")))

enum { STUB_DEVICES_MOST = 4, STUB_FAILURES_MOST = 8 };
#define STUB_REGION_BYTES ((size_t)1 << 32)

/* An allocation, or a gap between two: in the order of their addresses. */
struct stub_piece {
    size_t at, bytes;
    int device; /* or -1: free */
    struct stub_piece *next;
};

struct stub_failure {
    char function[40];
    long after;
    CUresult result;
};

struct stub_state {
    pthread_mutex_t lock;
    pthread_once_t once;
    int devices, major, minor, pool;
    size_t memory, used[STUB_DEVICES_MOST];
    char *region; /* what addresses of devices are: not to be touched */
    char *alias;  /* the same memory, for copies */
    struct stub_piece *pieces;
    struct stub_failure failures[STUB_FAILURES_MOST];
    CUresult sticky[STUB_DEVICES_MOST]; /* what everything gives from now on */
    long launches, graphs, updates, loads, errors;
};

extern struct stub_state stub;
/* The device of the thread's current context; -1: there is none. */
extern _Thread_local int stub_current;

/* ---- stub_cuda.c ---- */

/* The number behind a word of AKG_STUB_CUDA. */
size_t stub_setting(const char *name, size_t initial);
/* The result that the function is to give instead of working; CUDA_SUCCESS: it works. The lock is held. */
CUresult stub_struck(const char *function);
/* Every function begins so, and ends so. */
CUresult stub_begin(const char *function);
CUresult stub_end(CUresult result);

#define BEGIN                                                                                                \
    do {                                                                                                     \
        CUresult begun = stub_begin(__func__);                                                               \
        if (begun != CUDA_SUCCESS)                                                                           \
            return stub_end(begun);                                                                          \
    } while (0)
#define END return stub_end(CUDA_SUCCESS)

/* A function of the driver that dlsym does not find where AKG_STUB_CUDA asks for an older one: what the
 * resolver returns is what dlsym does. */
#define API_OF_NEWER_DRIVERS(name, there)                                                                    \
    __attribute__((used)) static __typeof__(&name) resolve_##there(void)                                     \
    {                                                                                                        \
        return stub_setting("older", 0) ? NULL : there;                                                      \
    }                                                                                                        \
    API __typeof__(name) name __attribute__((ifunc("resolve_" #there)))

/* ---- stub_memory.c ---- */

/* What can be reached of an address of a device, if all of it lies in one allocation. */
char *stub_reach(CUdeviceptr address, size_t bytes);

/* ---- stub_launch.c ---- */

/* A kernel on the current device; the lock is held. */
CUresult stub_run_kernel(const CUDA_KERNEL_NODE_PARAMS *launch);

/* ---- stub_module.c: modules ---- */

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
