/*
 * stub_nvrtc.c: a libnvrtc.so without a compiler, for tests: it hands the text through as machine code, for
 * the stub of libcuda to run. AKG_STUB_NVRTC=refuse: it refuses every text, with a log of two lines;
 * AKG_STUB_NVRTC=unopened: the process ends with status 99 when the library is opened.
 * AKG_STUB_NVRTC_OPTIONS: a file for the options of the last compile, a line each.
 */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

static const char log_text[] = "kernel.cu(1): error: the stub refuses this\n1 error detected\n";

__attribute__((constructor)) static void open_library(void)
{
    const char *wanted = getenv("AKG_STUB_NVRTC");

    if (wanted && strcmp(wanted, "unopened") == 0)
        _exit(99);
}

API nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = 99; /* of no compiler: what is kept on disk is never taken for its code */
    *minor = 0;
    return NVRTC_SUCCESS;
}

API const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OTHER";
}

API nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    *count = 3;
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetSupportedArchs(int *architectures)
{
    memcpy(architectures, (int[]){75, 80, 90}, 3 * sizeof(int));
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int count,
                                   const char *const *headers, const char *const *names)
{
    (void)name, (void)count, (void)headers, (void)names;
    *program = (nvrtcProgram)(void *)strdup(text);
    return *program ? NVRTC_SUCCESS : NVRTC_ERROR_OUT_OF_MEMORY;
}

API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    const char *wanted = getenv("AKG_STUB_NVRTC");

    const char *path = getenv("AKG_STUB_NVRTC_OPTIONS");
    FILE *file = path ? fopen(path, "w") : NULL;

    (void)program;
    for (int k = 0; file && k < count; k++)
        fprintf(file, "%s\n", options[k]);
    if (file)
        fclose(file);
    return wanted && strcmp(wanted, "refuse") == 0 ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = sizeof log_text;
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    (void)program;
    memcpy(log, log_text, sizeof log_text);
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
    *size = strlen((const char *)program);
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *image)
{
    memcpy(image, program, strlen((const char *)program));
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
    *size = strlen((const char *)program) + 1;
    return NVRTC_SUCCESS;
}

API nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *image)
{
    strcpy(image, (const char *)program);
    return NVRTC_SUCCESS;
}
