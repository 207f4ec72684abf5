/*
 * unwind.h: how to get from within generated code to its caller: call frame information for debuggers.
 */
#ifndef JIT_UNWIND_H
#define JIT_UNWIND_H

#include "../base/text.h"

/* A function of generated code. */
struct code_function {
    const char *name;
    const void *code;
    size_t size;
};

/* Appends the bytes of an .eh_frame section for the functions: one common entry, one entry for each, and the
 * end. Reads the functions' code, whose beginnings must be those that libtcc and vector_x86.c make. */
void unwind_append(struct text *section, const struct code_function *functions, int count);

#endif
