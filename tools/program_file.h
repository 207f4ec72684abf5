/*
 * program_file.h: program texts from and into files.
 */
#ifndef TOOLS_PROGRAM_FILE_H
#define TOOLS_PROGRAM_FILE_H

#include "support.h"

#include <stdio.h>

/* All of the stream, whose name is for messages; *text is for free(), and a NUL stands behind it. What is
 * longer than 64 MiB is refused. */
bool program_file_read_stream(FILE *stream, const char *name, char **text, size_t *length,
                              struct problem *problem);
/* All of a regular file. */
bool program_file_read(const char *path, char **text, size_t *length, struct problem *problem);
/* Writes the text beside the file and renames it over it: whoever reads finds the old text or the new one.
 * The file that a link points to is replaced, not the link; its mode is kept. */
bool program_file_replace(const char *path, const char *text, size_t length, struct problem *problem);

#endif
