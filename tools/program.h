/*
 * program.h: the program that the command line names, and which of its kernels.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include "akgrun.h"

/* Starts zeroed. */
struct program {
    jit_source source;
    char *text; /* what was read here, or NULL: the library reads the file */
    bool is_standard_input;
    const char *kernel_name; /* KERNEL of the command line, or NULL */
    char *const *values;     /* the words behind FILE; NAME=VALUE where arguments_is_value says so */
    int value_count;
    akg_module *module;
    akg_diagnostics *warnings; /* what was said although all went well */
};

/* Takes FILE, KERNEL and the values from the words and reads standard input where FILE is "-". */
bool program_open(const struct options *options, struct program *program, struct problem *problem);
/* Reads FILE too, if that was not done. */
bool program_load(struct program *program, struct problem *problem);
/* Puts another text, from malloc and with a NUL behind it, in the place of the program's. */
void program_set_text(struct program *program, char *text, size_t length);
/* Compiles with the options and keeps nothing. */
akg_status program_try(const struct options *options, const struct program *program, akg_module **module,
                       akg_diagnostics **diagnostics);
/* Sets module and warnings. */
bool program_compile(const struct options *options, struct program *program, struct problem *problem);
/* The kernel that was named, or the only one. */
bool program_kernel(const struct program *program, akg_kernel **kernel, struct problem *problem);
/* Whether any NAME=VALUE was given. */
bool program_has_values(const struct program *program);
/* Frees all but the warnings, which go to *problem: they are told at the end, whether it is one or not. */
void program_close(struct program *program, struct problem *problem);

#endif
