/*
 * gpu_driver.c: libcuda, opened at run time: one binary runs with and without.
 *
 * Consumes AKG_CUDA_LIBRARY, the path of another library to open; what is found at the first use holds for
 * the life of the process.
 */
#include "gpu_private.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_once_t once;
    struct gpu_driver functions;
    bool good;
    char why[256], help[160];
} opened = {.once = PTHREAD_ONCE_INIT};

static bool refuse(const char *why, const char *detail, const char *help)
{
    snprintf(opened.why, sizeof opened.why, "%s%s", why, detail);
    snprintf(opened.help, sizeof opened.help, "%s", help);
    return false;
}

/* Data and function pointers are one on every system that CUDA knows. */
static bool find(void *library, const char *name, bool needed, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof found);
    return found || !needed || refuse("the driver has no function ", name, "help: install a newer driver");
}

#define NAME_OF(name) #name
#define FIND(name, needed) find(library, NAME_OF(name), needed, &opened.functions.name)

static bool start(void)
{
    CUresult result = opened.functions.cuInit(0);
    const char *text = NULL;

    if (result == CUDA_SUCCESS)
        return true;
    if (result == CUDA_ERROR_NO_DEVICE)
        return refuse("the driver found no device", "", "");
    opened.functions.cuGetErrorString(result, &text);
    return refuse("the driver does not start: ", text ? text : "unknown error", "");
}

static void open_driver(void)
{
    const char *path = getenv("AKG_CUDA_LIBRARY");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        const char *why = dlerror();
        refuse("there is no NVIDIA driver: ", why ? why : "libcuda.so.1 cannot be opened",
               "help: the driver comes with libcuda.so.1; AKG_CUDA_LIBRARY names another file");
        return;
    }
    opened.good = true;
#define X(name, needed) opened.good = opened.good && FIND(name, needed);
    GPU_SYMBOLS(X)
#undef X
    opened.good = opened.good && start();
}

const struct gpu_driver *gpu_driver(struct gpu_failure *failure)
{
    pthread_once(&opened.once, open_driver);
    if (opened.good)
        return &opened.functions;
    *failure = (struct gpu_failure){.status = AKG_ERROR_USAGE, .message = MSG_CUDA_ABSENT};
    snprintf(failure->device, sizeof failure->device, "CUDA");
    snprintf(failure->first, sizeof failure->first, "cannot be used: %s", opened.why);
    snprintf(failure->note, sizeof failure->note, "%s", opened.help);
    return NULL;
}
