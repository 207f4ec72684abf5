/*
 * twin.h: the plain C of a kernel, compiled by the system's C compiler and loaded, to be measured against.
 */
#ifndef TOOLS_TWIN_H
#define TOOLS_TWIN_H

#include "support.h"

#define TWIN_FLAGS "-O3 -march=native -ffast-math"

/* Starts zeroed. */
struct twin {
    int (*run)(void *const *tensors, long repeats); /* see akg_kernel_plain_c */
    void *library;
    double seconds; /* that compiling and linking took */
    bool refused;   /* the compiler is there, but did not take the text */
};

/* Compiles `text` with `compiler`, a command such as "gcc" or "ccache clang", without a shell; NULL: the
 * first that AKG_CC names, or else the compiler that configure found. One that is not there, fails or takes
 * more than a minute is a problem. */
bool twin_build(const char *compiler, const char *text, struct twin *twin, struct problem *problem);
void twin_free(struct twin *twin);
/* The command that NULL stands for; good until the next call. */
const char *twin_default_compiler(void);

#endif
