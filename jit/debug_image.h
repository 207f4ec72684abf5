/*
 * debug_image.h: tells a debugger about generated code.
 */
#ifndef JIT_DEBUG_IMAGE_H
#define JIT_DEBUG_IMAGE_H

#include "unwind.h"

struct debug_image;

/* Names for the functions, which lie in one stretch of memory, and the way out of them, where gdb and lldb
 * look for both: they are there until debug_image_remove, which comes before the code is freed. NULL when
 * memory runs out: the code then has no names, which is no failure. Any thread. */
struct debug_image *debug_image_add(const struct code_function *functions, int count);
void debug_image_remove(struct debug_image *image); /* may be NULL */

#endif
