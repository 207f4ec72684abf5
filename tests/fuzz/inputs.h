/*
 * inputs.h: the arguments of a call, from a line of a program (generate.h) or for a kernel that says
 * nothing.
 */
#ifndef TESTS_FUZZ_INPUTS_H
#define TESTS_FUZZ_INPUTS_H

#include "../../include/akg.h"
#include "random.h"

enum { INPUTS_MOST = 16 };

struct inputs {
    akg_argument items[INPUTS_MOST];
    int count;
    akg_tensor *tensors[INPUTS_MOST]; /* of the variadic one */
    int tensor_count;
    char text[16];       /* of the one that is a string */
    int64_t integers[2]; /* of the one that is a tuple */
};

/* Reads DTYPE[...] and the like up to the end of the line. False when it is not that. */
bool inputs_read(struct inputs *arguments, const char *text, uint64_t seed);
/* Something that the kernel may take. */
bool inputs_guess(struct inputs *arguments, const akg_kernel *kernel, uint64_t seed);
/* The same values in memory of their own. */
bool inputs_copy(const struct inputs *from, struct inputs *to);
void inputs_free(struct inputs *arguments);

#endif
