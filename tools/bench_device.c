/*
 * bench_device.c: what `akgrun bench --device` measures a kernel against: a copy of as many bytes on the same
 * device, in turn with it. So a share says the same on every device.
 */
#include "bench.h"

#include <stdio.h>

bool bench_device_begin(struct bench_copy *copy, akg_device device, const akg_cost *cost,
                        struct problem *problem)
{
    const int64_t bytes = (cost->bytes_read + cost->bytes_written) / 2, shape[] = {bytes > 0 ? bytes : 1};
    akg_diagnostics *diagnostics = NULL;
    *copy = (struct bench_copy){.device = device, .bytes = (double)shape[0]};
    akg_status status = akg_tensor_create_on(device, AKG_UINT8, 1, shape, &copy->source, &diagnostics);
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

bool bench_device_wait(akg_device device, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_device_wait(device, &diagnostics);
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

bool bench_device_copy(void *context, long repeats, struct problem *problem)
{
    const struct bench_copy *copy = context;
    for (long k = 0; k < repeats; k++) {
        akg_tensor *made = NULL;
        if (akg_tensor_copy(copy->source, &made) != AKG_OK)
            return problem_memory(problem);
        akg_tensor_release(made);
    }
    return bench_device_wait(copy->device, problem);
}

bool bench_device_know(const struct bench_copy *copy, const struct spread *seconds, struct machine *machine,
                       struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_device_info info;
    akg_status status = akg_device_describe(copy->device, &info, &diagnostics);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    *machine = (struct machine){.threads = 1};
    snprintf(machine->cpu, sizeof machine->cpu, "cuda:%d %.80s", copy->device.index, info.name);
    machine->read = machine->triad = 2 * copy->bytes / seconds->median;
    return true;
}

void bench_device_end(struct bench_copy *copy)
{
    akg_tensor_release(copy->source);
    copy->source = NULL;
}
