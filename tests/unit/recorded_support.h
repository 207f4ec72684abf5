/*
 * recorded_support.h: what the tests of recorded graphs share: nets, written as calls of operators in a row.
 * Nothing here counts checks.
 */
#ifndef TESTS_UNIT_RECORDED_SUPPORT_H
#define TESTS_UNIT_RECORDED_SUPPORT_H

#include "api_support.h"

/* A function that is recorded. */
#define NET(name)                                                                                            \
    static akg_status name(akg_tape *tape, void *user, akg_tensor *const *inputs, size_t input_count,        \
                           akg_tensor **outputs, akg_diagnostics **diagnostics)

/* Calls, of which none is made any more once one has failed. */
struct calls {
    akg_tape *tape;
    akg_diagnostics **diagnostics;
    akg_status status;
    akg_tensor *kept[64]; /* released at the end */
    int kept_count;
};

/* The first output of the operator of that name, which lives until calls_end; NULL: it or an input failed. */
akg_tensor *calls_make(struct calls *calls, const char *name, const akg_argument *arguments, size_t count);
akg_tensor *calls_one(struct calls *calls, const char *name, akg_tensor *a);
akg_tensor *calls_two(struct calls *calls, const char *name, akg_tensor *a, akg_tensor *b);
/* What a net returns: the result, as a new reference, becomes its output. */
akg_status calls_end(struct calls *calls, akg_tensor *result, akg_tensor **output);

/* Normal numbers; NULL on failure. */
akg_tensor *tensor_of_normal(akg_dtype dtype, int rank, const int64_t *shape, uint64_t seed);
/* Releases them and forgets them. */
void tensors_release(akg_tensor **tensors, size_t count);
/* Prints the messages and frees them. */
void complain(const char *what, akg_diagnostics *diagnostics);

#endif
