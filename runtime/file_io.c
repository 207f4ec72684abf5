/*
 * file_io.c: the only place that opens files of tensors.
 *
 * A file is written under a temporary name in the directory of its target, forced to the
 * disk and then renamed: whoever reads the target sees the old content or the
 * new, never a part. Files made get the permissions that the umask leaves.
 */
#include "file_io.h"

#include "failure.h"

#include "../base/memory.h"
#include "../base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "files may be larger than 2 GiB");

/* One read or write system call moves at most about 2 GiB. */
enum { MOST_AT_ONCE = 1 << 30 };

/* Every system call below asks this first, so that injected failures reach it. */
static bool fails_here(void)
{
    if (!memory_fail_here())
        return false;
    errno = EIO;
    return true;
}

static akg_status report_errno(akg_diagnostics **diagnostics, const char *action, const char *path)
{
    return failure_report(diagnostics, AKG_ERROR_IO, MSG_FILE_ACCESS, action, path, strerror(errno), NULL);
}

static const char *kind_name(mode_t mode)
{
    return S_ISDIR(mode)                    ? "a directory"
           : S_ISFIFO(mode)                 ? "a pipe"
           : S_ISSOCK(mode)                 ? "a socket"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : "a special file";
}

static akg_status report_kind(akg_diagnostics **diagnostics, const char *path, mode_t mode)
{
    return failure_report(diagnostics, AKG_ERROR_IO, MSG_FILE_KIND, path, kind_name(mode), NULL, NULL);
}

/* ---- reading --------------------------------------------------------------- */

akg_status file_open(struct file_input *input, const char *path, akg_diagnostics **diagnostics)
{
    *input = (struct file_input){.descriptor = -1, .path = path, .diagnostics = diagnostics};
    /* O_NONBLOCK: opening a pipe must not wait for a writer, only to be refused then */
    int descriptor = fails_here() ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return report_errno(diagnostics, "open", path);
    struct stat information;
    akg_status status = AKG_OK;
    if (fails_here() || fstat(descriptor, &information) != 0)
        status = report_errno(diagnostics, "read", path);
    else if (!S_ISREG(information.st_mode))
        status = report_kind(diagnostics, path, information.st_mode);
    if (status != AKG_OK) {
        close(descriptor);
        return status;
    }
    input->descriptor = descriptor;
    input->size = (uint64_t)information.st_size;
    return AKG_OK;
}

akg_status file_read(const struct file_input *input, uint64_t offset, void *buffer, size_t size)
{
    char *to = buffer;
    while (size > 0) {
        size_t part = size < MOST_AT_ONCE ? size : MOST_AT_ONCE;
        ssize_t count = fails_here() ? -1 : pread(input->descriptor, to, part, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return report_errno(input->diagnostics, "read", input->path);
        if (count == 0) {
            char needed[24], there[24];
            snprintf(needed, sizeof needed, "%llu", (unsigned long long)(offset + size));
            snprintf(there, sizeof there, "%llu", (unsigned long long)offset);
            return failure_report(input->diagnostics, AKG_ERROR_IO, MSG_FILE_SHORT, input->path, needed,
                                  there, NULL);
        }
        to += count;
        offset += (uint64_t)count;
        size -= (size_t)count;
    }
    return AKG_OK;
}

void file_close(struct file_input *input)
{
    if (input->descriptor >= 0)
        close(input->descriptor);
    input->descriptor = -1;
}

/* ---- writing --------------------------------------------------------------- */

/* What `path` names: itself, or, where it is a symbolic link, the file it leads to, so that the link stays.
 * Anything but a regular file is refused: a rename would replace the device by a file. */
static akg_status find_target(struct file_output *output)
{
    struct stat information;
    const char *path = output->path;
    if (lstat(path, &information) != 0) {
        output->target = memory_copy_string(path);
        return output->target ? AKG_OK : AKG_ERROR_MEMORY;
    }
    char *resolved = NULL;
    if (S_ISLNK(information.st_mode)) {
        resolved = fails_here() ? NULL : realpath(path, NULL);
        if (!resolved || stat(resolved, &information) != 0) {
            akg_status status = report_errno(output->diagnostics, "write", path);
            free(resolved);
            return status;
        }
    }
    akg_status status = AKG_OK;
    if (!S_ISREG(information.st_mode))
        status = report_kind(output->diagnostics, path, information.st_mode);
    else if (!(output->target = memory_copy_string(resolved ? resolved : path)))
        status = AKG_ERROR_MEMORY;
    free(resolved);
    return status;
}

/* A name nobody else is likely to use at this moment; O_EXCL decides. */
static char *temporary_name(const char *target, const void *unique, int attempt)
{
    struct timespec now;
    struct text name;
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long long mixed = (unsigned long long)now.tv_nsec * 0x9E3779B97F4A7C15u + (uintptr_t)unique;
    text_init(&name);
    /* a short name of its own beside the target: the target's may already be as long as a name can be */
    const char *slash = strrchr(target, '/');
    text_append(&name, target, slash ? (size_t)(slash - target) + 1 : 0);
    text_format(&name, ".akg-%ld-%08llx-%d.tmp", (long)getpid(), mixed >> 32, attempt);
    return text_take(&name);
}

static akg_status open_temporary(struct file_output *output)
{
    enum { ATTEMPTS = 100 };
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        output->temporary = temporary_name(output->target, output, attempt);
        if (!output->temporary)
            return AKG_ERROR_MEMORY;
        output->descriptor =
            fails_here() ? -1 : open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->descriptor >= 0)
            return AKG_OK;
        int reason = errno;
        memory_free(output->temporary);
        output->temporary = NULL;
        errno = reason;
        if (reason != EEXIST)
            break;
    }
    return report_errno(output->diagnostics, "write", output->path);
}

akg_status file_create(struct file_output *output, const char *path, akg_diagnostics **diagnostics)
{
    *output = (struct file_output){.descriptor = -1, .path = path, .diagnostics = diagnostics};
    akg_status status = find_target(output);
    if (status == AKG_OK)
        status = open_temporary(output);
    return status == AKG_OK ? AKG_OK : file_finish(output, status);
}

akg_status file_write(struct file_output *output, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size > 0) {
        size_t part = size < MOST_AT_ONCE ? size : MOST_AT_ONCE;
        ssize_t count = fails_here() ? -1 : write(output->descriptor, from, part);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return report_errno(output->diagnostics, "write", output->path);
        from += count;
        output->size += (uint64_t)count;
        size -= (size_t)count;
    }
    return AKG_OK;
}

akg_status file_finish(struct file_output *output, akg_status status)
{
    int descriptor = output->descriptor;
    if (status == AKG_OK && (fails_here() || fsync(descriptor) != 0))
        status = report_errno(output->diagnostics, "write", output->path);
    /* a descriptor is gone even when close reports a late write error */
    if (descriptor >= 0 && (close(descriptor) != 0 || fails_here()) && status == AKG_OK)
        status = report_errno(output->diagnostics, "write", output->path);
    if (status == AKG_OK && (fails_here() || rename(output->temporary, output->target) != 0))
        status = report_errno(output->diagnostics, "write", output->path);
    if (status != AKG_OK && output->temporary)
        unlink(output->temporary);
    memory_free(output->temporary);
    memory_free(output->target);
    *output = (struct file_output){.descriptor = -1};
    return status;
}
