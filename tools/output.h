/*
 * output.h: the files of `--out DIR`, all or none of them.
 *
 * output_prepare writes every tensor under a temporary name; output_commit gives
 * them their names; output_discard leaves nothing behind.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include "support.h"

struct output_file {
    char *temporary, *final;
    char *old; /* where the file that had the name is kept while others get theirs, or NULL */
};

/* Starts zeroed. */
struct output_files {
    struct output_file *items;
    size_t count;
    char *created;   /* the directory DIR, or NULL */
    size_t existing; /* the part of `created`, in bytes, that was there before */
};

/* One file for each tensor; a name that comes again gets a number. */
bool output_prepare(const char *directory, const char *const *names, akg_tensor *const *tensors, size_t count,
                    struct output_files *files, struct problem *problem);
bool output_commit(struct output_files *files, struct problem *problem);
/* Removes what was not committed; frees *files in any case. */
void output_discard(struct output_files *files);

#endif
