/*
 * stub_launch.c: modules and launches of the stub of libcuda: a kernel runs at once, on the CPU
 * (stub_module.c), and memory of devices can be touched as long as it does. What it fails with is told from
 * then on.
 */
#include "stub_private.h"

#include <sys/mman.h>

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                void **values)
{
    (void)count, (void)options, (void)values;
    BEGIN;
    stub.loads++;
    *module = (CUmodule)stub_module_load(image);
    return stub_end(*module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE);
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
    return stub_end(*function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    BEGIN;
    END;
}

CUresult stub_run_kernel(const CUDA_KERNEL_NODE_PARAMS *launch)
{
    CUresult failed;

    if (!launch->gridDimX || launch->gridDimY != 1 || launch->gridDimZ != 1 || !launch->blockDimX ||
        launch->blockDimX > 1024 || launch->blockDimY != 1 || launch->blockDimZ != 1)
        return CUDA_ERROR_INVALID_VALUE;
    stub.launches++;
    failed = stub_struck("kernel");
    mprotect(stub.region, STUB_REGION_BYTES, PROT_READ | PROT_WRITE);
    if (failed == CUDA_SUCCESS && !stub_function_run((struct stub_function *)launch->func, launch->gridDimX,
                                                     launch->blockDimX, launch->kernelParams))
        failed = CUDA_ERROR_LAUNCH_FAILED;
    mprotect(stub.region, STUB_REGION_BYTES, PROT_NONE);
    stub.sticky[stub_current] = failed;
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
    return stub_end(stub_run_kernel(&launch));
}

static CUresult launch_with(const CUlaunchConfig *config, CUfunction function, void **parameters,
                            void **extra)
{
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                          config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                          parameters, extra);
}

API_OF_NEWER_DRIVERS(cuLaunchKernelEx, launch_with);
