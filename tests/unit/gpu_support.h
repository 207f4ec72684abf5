/*
 * gpu_support.h: what the tests of GPUs share: the libraries that stand in for NVIDIA's
 * (tests/cuda/stub_*.c), and tensors on their devices. Checks are counted by whoever includes this, through
 * the macros of check.h.
 */
#ifndef TESTS_UNIT_GPU_SUPPORT_H
#define TESTS_UNIT_GPU_SUPPORT_H

#include "../../include/akg.h"

static const akg_device cpu = {AKG_DEVICE_CPU, 0}, gpu = {AKG_DEVICE_CUDA, 0}, second = {AKG_DEVICE_CUDA, 1};

/* Some of CUDA's results. */
enum {
    STUB_INVALID_VALUE = 1,
    STUB_OUT_OF_MEMORY = 2,
    STUB_ILLEGAL_ADDRESS = 700,
    STUB_OUT_OF_RESOURCES = 701
};

/* What the stub of libcuda can be asked for (tests/cuda/stub_cuda.h). */
struct gpu_stub {
    void (*fail)(const char *function, long after, int result);
    long (*launches)(void);
    long (*graphs)(void);
    long (*updates)(void);
    long (*loads)(void);
    long (*errors)(void);
    size_t (*used)(int device);
    void (*set_memory)(size_t bytes);
};

/* Makes the library use the stubs, which lie beside this program, if nothing else was set; false: they are
 * not there. Before any other use of a device. */
bool gpu_stub_open(struct gpu_stub *stub);
/* Runs a test in a process of its own, with these settings of the stubs; whether all of its checks held. */
bool gpu_in_child(const char *settings, const char *failures, int (*test)(void));

/* first, first + step, ... on the device; NULL on failure. */
akg_tensor *gpu_range(akg_device device, akg_dtype dtype, int rank, const int64_t *shape, double first,
                      double step);

#endif
