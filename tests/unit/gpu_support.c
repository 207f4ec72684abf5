/*
 * gpu_support.c: see gpu_support.h.
 */
#include "gpu_support.h"

#include "api_support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void name_library(const char *variable, const char *file)
{
    char path[1024];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);

    path[length > 0 ? length : 0] = '\0';
    if (!strrchr(path, '/'))
        return;
    strcpy(strrchr(path, '/') + 1, file);
    setenv(variable, path, 1);
}

bool gpu_stub_open(struct gpu_stub *stub)
{
    void *library;

    name_library("AKG_CUDA_LIBRARY", "libcuda_stub.so");
    name_library("AKG_NVRTC_LIBRARY", "libnvrtc_stub.so");
    setenv("AKG_STUB_CUDA", "devices=2 memory=67108864", 0);
    setenv("AKG_CACHE", "off", 1); /* what fails is to be met */
    library = dlopen(getenv("AKG_CUDA_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    *(void **)&stub->fail = dlsym(library, "stub_fail");
    *(void **)&stub->launches = dlsym(library, "stub_launches");
    *(void **)&stub->graphs = dlsym(library, "stub_graphs");
    *(void **)&stub->updates = dlsym(library, "stub_updates");
    *(void **)&stub->loads = dlsym(library, "stub_loads");
    *(void **)&stub->errors = dlsym(library, "stub_errors");
    *(void **)&stub->used = dlsym(library, "stub_used");
    *(void **)&stub->set_memory = dlsym(library, "stub_set_memory");
    return stub->fail && stub->launches && stub->graphs && stub->updates && stub->loads && stub->errors &&
           stub->used && stub->set_memory;
}

bool gpu_in_child(const char *settings, const char *failures, int (*test)(void))
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        setenv("AKG_STUB_CUDA", settings, 1);
        setenv("AKG_STUB_FAIL", failures, 1);
        _exit(test() != 0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

akg_tensor *gpu_range(akg_device device, akg_dtype dtype, int rank, const int64_t *shape, double first,
                      double step)
{
    akg_tensor *host = api_range(dtype, rank, shape, first, step), *made = NULL;

    if (host && akg_tensor_to(host, device, &made, NULL) != AKG_OK)
        made = NULL;
    akg_tensor_release(host);
    return made;
}
