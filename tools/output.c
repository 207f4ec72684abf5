/*
 * output.c: writes returned tensors into a directory so that a failure leaves
 * no trace: temporaries first, one rename each at the very end, in which files of
 * these names are kept until all have theirs; and directories that were made for
 * it are removed again.
 */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Makes the directory and those above it; files->existing says where its new part begins. */
static bool make_directory(const char *directory, struct output_files *files, struct problem *problem)
{
    files->created = strdup(directory);
    if (!files->created)
        return problem_memory(problem);
    char *path = files->created;
    size_t length = strlen(path);
    files->existing = length;
    for (size_t at = 1; at <= length; at++) {
        if (path[at] != '/' && path[at] != '\0')
            continue;
        char separator = path[at];
        path[at] = '\0';
        bool made = mkdir(path, 0777) == 0;
        int error = errno;
        bool good = made || is_directory(path);
        if (made && files->existing == length)
            files->existing = at - 1;
        path[at] = separator;
        if (!good)
            return problem_set(problem, AKG_ERROR_IO, "cannot make the directory '%.400s': %s", directory,
                               error == EEXIST ? "there is a file of that name" : strerror(error));
    }
    return true;
}

/* The name of tensor `index`; a second one of that name gets a number. */
static char *file_name(const char *const *names, size_t index)
{
    size_t twins = 0;
    for (size_t i = 0; i < index; i++)
        twins += strcmp(names[i], names[index]) == 0;
    return twins ? string_format("%s-%zu", names[index], twins + 1) : string_format("%s", names[index]);
}

static bool write_temporary(const char *directory, const char *name, const akg_tensor *tensor,
                            struct output_file *file, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    struct stat status;
    file->final = string_format("%s/%s.npy", directory, name);
    char *temporary = string_format("%s/.%s.%ld.tmp.npy", directory, name, (long)getpid());
    if (!file->final || !temporary) {
        free(temporary);
        return problem_memory(problem);
    }
    if (stat(file->final, &status) == 0 && !S_ISREG(status.st_mode)) {
        free(temporary);
        return problem_set(problem, AKG_ERROR_IO, "cannot write '%.400s': it is %s", file->final,
                           S_ISDIR(status.st_mode) ? "a directory" : "no regular file");
    }
    akg_status written = akg_npy_write(temporary, tensor, &diagnostics);
    if (written != AKG_OK) {
        free(temporary);
        return problem_library(problem, written, diagnostics);
    }
    akg_diagnostics_free(diagnostics);
    file->temporary = temporary;
    return true;
}

bool output_prepare(const char *directory, const char *const *names, akg_tensor *const *tensors, size_t count,
                    struct output_files *files, struct problem *problem)
{
    files->items = calloc(count + 1, sizeof *files->items);
    if (!files->items)
        return problem_memory(problem);
    if (!make_directory(directory, files, problem))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!tensors[i])
            continue; /* None */
        char *name = file_name(names, i);
        if (!name)
            return problem_memory(problem);
        struct output_file *file = &files->items[files->count++];
        bool good = write_temporary(directory, name, tensors[i], file, problem);
        free(name);
        if (!good)
            return false;
    }
    return true;
}

/* A second name for the file that is about to be replaced, where there is one; where the file system knows no
 * second names, another name. */
static bool keep_old(struct output_file *file, struct problem *problem)
{
    size_t length = strlen(file->temporary);
    file->old = strdup(file->temporary); /* .NAME.PID.tmp.npy */
    if (!file->old)
        return problem_memory(problem);
    memcpy(file->old + length - strlen("tmp.npy"), "old", strlen("old"));
    if (link(file->final, file->old) == 0 || rename(file->final, file->old) == 0)
        return true;
    bool is_new = errno == ENOENT;
    free(file->old);
    file->old = NULL;
    return is_new ||
           problem_set(problem, AKG_ERROR_IO, "cannot write '%.400s': %s", file->final, strerror(errno));
}

/* Renaming does nothing to two names of one file. */
static void restore_old(const struct output_file *file)
{
    if (rename(file->old, file->final) == 0)
        unlink(file->old);
}

static bool replace(struct output_file *file, struct problem *problem)
{
    if (!keep_old(file, problem))
        return false;
    if (rename(file->temporary, file->final) != 0) {
        problem_set(problem, AKG_ERROR_IO, "cannot write '%.400s': %s", file->final, strerror(errno));
        if (file->old)
            restore_old(file);
        return false;
    }
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

bool output_commit(struct output_files *files, struct problem *problem)
{
    size_t done = 0;
    while (done < files->count && replace(&files->items[done], problem))
        done++;
    bool good = done == files->count;
    for (size_t i = 0; i < done; i++) {
        struct output_file *file = &files->items[i];
        if (good && file->old)
            unlink(file->old);
        else if (!good && file->old)
            restore_old(file);
        else if (!good)
            unlink(file->final);
    }
    if (good) {
        free(files->created);
        files->created = NULL;
    }
    return good;
}

/* Removes the directories that make_directory made, the deepest first; one that is not empty stays. */
static void remove_directories(struct output_files *files)
{
    char *path = files->created;
    for (size_t at = strlen(path); at > files->existing; at--) {
        if (path[at] != '\0' && path[at] != '/')
            continue;
        path[at] = '\0';
        rmdir(path);
    }
}

void output_discard(struct output_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->items[i].temporary)
            unlink(files->items[i].temporary);
        free(files->items[i].temporary);
        free(files->items[i].final);
        free(files->items[i].old);
    }
    if (files->created)
        remove_directories(files);
    free(files->created);
    free(files->items);
    memset(files, 0, sizeof *files);
}
