/*
 * gpu.c: what gpu.h declares that needs nothing of CUDA: failures as messages.
 */
#include "gpu.h"

#include <inttypes.h>
#include <stdio.h>

akg_status gpu_failure_add(const struct gpu_failure *failure, akg_diagnostics *list, struct span span)
{
    struct diagnostic_entry *entry;

    if (failure->status == AKG_OK)
        return AKG_OK;
    if (failure->message == MSG_MEMORY) /* of the host: whoever called tells of it */
        return failure->status;
    entry = diagnostic_add(list, failure->message, span, failure->device, failure->first, failure->second);
    if (failure->note[0])
        diagnostic_note(entry, "%s", failure->note);
    return failure->status;
}

akg_status gpu_failure_report(const struct gpu_failure *failure, akg_diagnostics **diagnostics)
{
    akg_diagnostics *list;

    if (failure->status == AKG_OK || !diagnostics)
        return failure->status;
    akg_diagnostics_free(*diagnostics);
    *diagnostics = NULL;
    list = diagnostics_create("", NULL, 0);
    if (!list)
        return AKG_ERROR_MEMORY;
    if (failure->message == MSG_MEMORY)
        diagnostic_add(list, MSG_MEMORY, (struct span){0});
    gpu_failure_add(failure, list, (struct span){0});
    diagnostics_hand_over(list, diagnostics);
    return failure->status;
}

const char *gpu_size_text(char *buffer, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes / 1024;
    int unit = 0;

    if (bytes < 1024) {
        snprintf(buffer, 32, "%" PRIu64 " bytes", bytes);
        return buffer;
    }
    for (; size >= 1024 && unit < 3; unit++)
        size /= 1024;
    snprintf(buffer, 32, "%.4g %s", size, units[unit]);
    return buffer;
}
