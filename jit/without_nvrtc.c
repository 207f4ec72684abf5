/*
 * without_nvrtc.c: what stands in for nvrtc.c where the library was built without the headers of CUDA.
 */
#include "nvrtc.h"

akg_status nvrtc_compile(const struct nvrtc_request *request, struct nvrtc_code *code,
                         akg_diagnostics *diagnostics)
{
    struct diagnostic_entry *entry = diagnostic_add(diagnostics, MSG_CUDA_ABSENT, (struct span){0},
                                                    "this library", "was built without CUDA headers");

    (void)request;
    diagnostic_note(entry, "help: with cuda.h and nvrtc.h installed, run ./configure and make again");
    *code = (struct nvrtc_code){.is_ptx = false};
    return AKG_ERROR_USAGE;
}

void nvrtc_free(struct nvrtc_code *code)
{
    (void)code;
}

int nvrtc_version(void)
{
    return 0;
}

void nvrtc_identity(struct text *text)
{
    text_string(text, "none");
}
