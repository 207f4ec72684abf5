/*
 * perf_map.c: see perf_map.h.
 *
 * Lines are appended by one write each, so that threads need no lock; code that is freed keeps its line, as
 * the format has it. The file is never one that somebody else put there.
 */
#include "perf_map.h"
#include "../base/memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_map(void)
{
    char path[40];
    struct stat information;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int descriptor =
        memory_fail_here()
            ? -1
            : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (descriptor >= 0 && (fstat(descriptor, &information) != 0 || !S_ISREG(information.st_mode) ||
                            information.st_uid != geteuid())) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

void perf_map_add(const struct code_function *function)
{
    const char *wanted = getenv("AKG_PERF_MAP");
    char line[200];
    int descriptor = wanted && *wanted && strcmp(wanted, "0") != 0 ? open_map() : -1;
    if (descriptor < 0)
        return;
    int length = snprintf(line, sizeof line, "%llx %zx %.150s\n",
                          (unsigned long long)(uintptr_t)function->code, function->size, function->name);
    ssize_t written = write(descriptor, line, (size_t)length);
    (void)written; /* a profile that lacks a name is no failure */
    close(descriptor);
}
