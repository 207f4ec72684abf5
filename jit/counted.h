/*
 * counted.h: whiles that count are fors, before anything is asked of a kernel.
 */
#ifndef JIT_COUNTED_H
#define JIT_COUNTED_H

#include "../ir/ir.h"

/* Each while that counts an integer up or down to what stays the same becomes a for, of which bounds and
 * dependences can be known, and that can have a gradient. Escapes when memory runs out. */
void counted_loops(struct ir_kernel *kernel);

#endif
