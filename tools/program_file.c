/*
 * program_file.c: reads program texts whole, and replaces files in one step.
 *
 * Assumes that a folder in which a file may be replaced is one in which a file may be made.
 */
#include "program_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No program is longer; what is longer is not a program. */
static const size_t text_limit = (size_t)64 << 20;

static bool read_failed(const char *name, const char *why, struct problem *problem)
{
    return problem_set(problem, AKG_ERROR_IO, "cannot read %.200s: %s", name, why);
}

/* Reads until the end, or until there is more than the limit. */
static bool read_all(FILE *stream, const char *name, char **text, size_t *length, struct problem *problem)
{
    size_t capacity = 0;
    for (;;) {
        if (*length + 1 >= capacity) {
            capacity = capacity ? 2 * capacity : 65536;
            char *more = realloc(*text, capacity);
            if (!more)
                return problem_memory(problem);
            *text = more;
        }
        size_t got = fread(*text + *length, 1, capacity - 1 - *length, stream);
        *length += got;
        (*text)[*length] = '\0';
        if (*length > text_limit)
            return problem_set(problem, AKG_ERROR_USAGE, "the program in %.200s is longer than 64 MiB", name);
        if (got == 0)
            return ferror(stream) ? read_failed(name, strerror(errno), problem) : true;
    }
}

bool program_file_read_stream(FILE *stream, const char *name, char **text, size_t *length,
                              struct problem *problem)
{
    *text = NULL;
    *length = 0;
    if (read_all(stream, name, text, length, problem))
        return true;
    free(*text);
    *text = NULL;
    return false;
}

bool program_file_read(const char *path, char **text, size_t *length, struct problem *problem)
{
    struct stat status;
    FILE *file;
    bool good;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return read_failed(path, "it is no regular file", problem);
    file = fopen(path, "rb");
    if (!file)
        return read_failed(path, strerror(errno), problem);
    good = program_file_read_stream(file, path, text, length, problem);
    fclose(file);
    return good;
}

static bool write_failed(const char *path, struct problem *problem)
{
    return problem_set(problem, AKG_ERROR_IO, "cannot write '%.200s': %s", path, strerror(errno));
}

/* Fills the new file; it is as much like the old one as it may be. */
static bool write_all(FILE *file, const char *text, size_t length, const struct stat *before)
{
    bool good = fwrite(text, 1, length, file) == length && fflush(file) == 0 && fsync(fileno(file)) == 0;
    /* only root can give files away, and a file of one's own is better than none */
    if (good && fchown(fileno(file), before->st_uid, before->st_gid) != 0)
        errno = 0;
    return good && fchmod(fileno(file), before->st_mode & 07777) == 0;
}

static bool replace_resolved(const char *path, const char *text, size_t length, struct problem *problem)
{
    char *beside = string_format("%s.akgrun-%ld", path, (long)getpid());
    struct stat before;
    FILE *file;
    bool good;

    if (!beside)
        return problem_memory(problem);
    good = stat(path, &before) == 0 && access(path, W_OK) == 0;
    file = good ? fopen(beside, "wbx") : NULL;
    if (!file) {
        write_failed(path, problem);
        free(beside);
        return false;
    }
    good = write_all(file, text, length, &before);
    good = fclose(file) == 0 && good;
    good = good && rename(beside, path) == 0;
    if (!good) {
        write_failed(path, problem);
        unlink(beside);
    }
    free(beside);
    return good;
}

bool program_file_replace(const char *path, const char *text, size_t length, struct problem *problem)
{
    char *resolved = realpath(path, NULL);
    bool good = resolved ? replace_resolved(resolved, text, length, problem) : write_failed(path, problem);
    free(resolved);
    return good;
}
