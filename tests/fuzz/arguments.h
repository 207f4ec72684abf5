/*
 * arguments.h: the arguments of a call, from a line of a program (generate.h) or for a kernel that says nothing.
 */
#ifndef TESTS_FUZZ_ARGUMENTS_H
#define TESTS_FUZZ_ARGUMENTS_H

#include "../../include/akg.h"
#include "random.h"

enum { ARGUMENTS_MOST = 16 };

struct arguments {
    akg_argument items[ARGUMENTS_MOST];
    int count;
};

/* Reads DTYPE[...] and the like up to the end of the line. False when it is not that. */
bool arguments_read(struct arguments *arguments, const char *text, uint64_t seed);
/* Something that the kernel may take. */
bool arguments_guess(struct arguments *arguments, const akg_kernel *kernel, uint64_t seed);
/* The same values in memory of their own. */
bool arguments_copy(const struct arguments *from, struct arguments *to);
void arguments_free(struct arguments *arguments);

#endif
