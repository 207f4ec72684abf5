/*
 * command_devices.c: `akgrun devices`: the GPUs that --device can name.
 *
 * That there is none is no problem but an answer: it says why, and the exit status is 0.
 */
#include "akgrun.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>

static void print_device(int index, const akg_device_info *info)
{
    printf("cuda:%d  %s, compute capability %d.%d, %.1f GiB, driver for CUDA %d.%d\n", index, info->name,
           info->major, info->minor, (double)info->memory / (1 << 30), info->driver / 1000,
           info->driver % 1000 / 10);
}

static void print_device_json(int index, const akg_device_info *info)
{
    printf("%s{\"device\": \"cuda:%d\", \"name\": ", index ? ",\n " : "", index);
    report_json_string(stdout, info->name);
    printf(", \"major\": %d, \"minor\": %d, \"memory\": %llu, \"driver\": %d}", info->major, info->minor,
           (unsigned long long)info->memory, info->driver);
}

/* Starts zeroed. */
struct devices {
    akg_device_info *infos;
    int count;
    akg_diagnostics *why; /* there is none */
};

static bool describe(struct devices *devices, struct problem *problem)
{
    akg_device_count(&devices->count, &devices->why);
    devices->infos = calloc((size_t)devices->count + 1, sizeof *devices->infos);
    if (!devices->infos)
        return problem_memory(problem);
    for (int i = 0; i < devices->count; i++) {
        akg_diagnostics *diagnostics = NULL;
        akg_status status =
            akg_device_describe((akg_device){AKG_DEVICE_CUDA, i}, &devices->infos[i], &diagnostics);
        if (status != AKG_OK)
            return problem_library(problem, status, diagnostics);
    }
    return true;
}

static void print_json(const struct devices *devices)
{
    const akg_diagnostic *reason = akg_diagnostics_at(devices->why, 0);
    printf("{\"devices\": [");
    for (int i = 0; i < devices->count; i++)
        print_device_json(i, &devices->infos[i]);
    printf("], \"reason\": ");
    if (reason)
        report_json_string(stdout, reason->message);
    else
        printf("null");
    printf("}\n");
}

static void print(const struct devices *devices)
{
    const akg_diagnostic *reason = akg_diagnostics_at(devices->why, 0);
    printf("cpu\n");
    for (int i = 0; i < devices->count; i++)
        print_device(i, &devices->infos[i]);
    if (reason)
        printf("no GPU: %s\n", reason->message);
    for (size_t i = 0; reason && i < reason->note_count; i++)
        printf("  %s\n", reason->notes[i]);
}

bool command_devices(const struct options *options, struct problem *problem)
{
    struct devices devices = {0};
    if (options->word_count > 0)
        return problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.100s'", options->words[0]);
    bool good = describe(&devices, problem);
    if (good && options->json)
        print_json(&devices);
    else if (good)
        print(&devices);
    free(devices.infos);
    akg_diagnostics_free(devices.why);
    return good && report_flush(problem);
}
