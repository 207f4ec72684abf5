/*
 * copy_nest.h: loops around short rows of elements that are copied from one tensor to another.
 */
#ifndef JIT_COPY_NEST_H
#define JIT_COPY_NEST_H

#include <stdint.h>

/* Loops of a nest, the innermost of which goes along rows. */
enum { COPY_LEVELS = 6 };

/* The slots of a call: how often each loop iterates (once at least), outermost first; where the first element
 * goes and where it is; for each loop but the innermost how many bytes it is to the next iteration, there and
 * here. The innermost has elements of `size` bytes one behind the other in both. Rows are copied in the order
 * of the program, and do not overlap what they are copied from. */
void copy_nest(const int64_t *slots, int levels, int size);

#endif
