/*
 * file_io.h: reading at an offset and all-or-nothing writing, with what goes wrong as diagnostics.
 */
#ifndef RUNTIME_FILE_IO_H
#define RUNTIME_FILE_IO_H

#include "../include/akg.h"

/* An open regular file. `size` is what it was when it was opened. */
struct file_input {
    int descriptor;
    uint64_t size;
    const char *path;
    akg_diagnostics **diagnostics;
};

akg_status file_open(struct file_input *input, const char *path, akg_diagnostics **diagnostics);
/* Exactly `size` bytes, or an error. The caller has compared with the file's size; a file that shrank
 * meanwhile is an error too. */
akg_status file_read(const struct file_input *input, uint64_t offset, void *buffer, size_t size);
void file_close(struct file_input *input);

/* A new file that takes the place of `path` when it is committed. */
struct file_output {
    int descriptor;
    const char *path; /* as the user named it */
    char *target;     /* what it names, symbolic links followed */
    char *temporary;  /* a name beside the target */
    uint64_t size;    /* bytes written so far */
    akg_diagnostics **diagnostics;
};

akg_status file_create(struct file_output *output, const char *path, akg_diagnostics **diagnostics);
akg_status file_write(struct file_output *output, const void *bytes, size_t size);
/* Ends the writing: with AKG_OK the file appears under its name (if that works; the result says), with
 * another status it is removed and the status handed through. Either way `output` holds nothing any more. */
akg_status file_finish(struct file_output *output, akg_status status);

#endif
