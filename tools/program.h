/*
 * program.h: the program that the command line names, and which of its kernels.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include "akgrun.h"

/* Starts zeroed. */
struct program {
    jit_source source;
    char *text;              /* what was read from standard input, or NULL */
    const char *kernel_name; /* KERNEL of the command line, or NULL */
    char *const *values;     /* the words behind FILE; NAME=VALUE where arguments_is_value says so */
    int value_count;
    akg_module *module;
    akg_diagnostics *warnings;
};

/* Takes FILE, KERNEL and the values from the words and reads standard input where FILE is "-". */
bool program_open(const struct options *options, struct program *program, struct problem *problem);
/* Sets module and warnings. */
bool program_compile(const struct options *options, struct program *program, struct problem *problem);
/* The kernel that was named, or the only one. */
bool program_kernel(const struct program *program, akg_kernel **kernel, struct problem *problem);
/* Whether any NAME=VALUE was given. */
bool program_has_values(const struct program *program);
void program_free(struct program *program);

#endif
