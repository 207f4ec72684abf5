/*
 * nvrtc.h: CUDA C++ to machine code of NVIDIA's GPUs, by NVIDIA's compiler library.
 *
 * libnvrtc is opened at run time. Where the headers of CUDA were not there when this was built,
 * without_nvrtc.c stands in, which refuses.
 */
#ifndef JIT_NVRTC_H
#define JIT_NVRTC_H

#include "../base/diagnostic.h"
#include "../base/text.h"

struct nvrtc_request {
    const char *name; /* of the kernel, for messages */
    const char *text; /* the translation unit */
    int major, minor; /* compute capability of the device; 0: the newest that the compiler knows */
    bool ptx;         /* PTX rather than machine code */
    bool strict;      /* no product and sum are rounded as one */
    bool quick; /* for tests: not to run, but to see whether the text is accepted; optimised as little as
                   can be */
};

struct nvrtc_code {
    struct text image; /* of the compiler's own kind, ended by a 0 that does not count */
    bool is_ptx;       /* asked for, or because the device is newer than the compiler */
};

/*
 * AKG_ERROR_USAGE with a message when there is no compiler; AKG_ERROR_INTERNAL with what it had to say when
 * it refuses the text. The list may have no escape.
 */
akg_status nvrtc_compile(const struct nvrtc_request *request, struct nvrtc_code *code,
                         akg_diagnostics *diagnostics);
void nvrtc_free(struct nvrtc_code *code);

/* 1000 times the major plus 10 times the minor version, as CUDA counts; 0 when there is no compiler. */
int nvrtc_version(void);

/* Appends what tells this compiler from every other, for the keys of what it made: its file, which is not
 * opened for that; where only the loader knows the file, the version. Once the library was opened, because
 * something was compiled say, this is what holds: before, it is of the file that will be tried first. */
void nvrtc_identity(struct text *text);

#endif
