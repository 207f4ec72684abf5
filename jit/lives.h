/*
 * lives.h: between which statements of a kernel's body its temporaries are used, so that a call can lay one
 * where another one lay that nothing uses any more.
 */
#ifndef JIT_LIVES_H
#define JIT_LIVES_H

#include "../base/memory.h"
#include "../ir/ir.h"

/* Numbers of statements at the top of the body; first > last: it is used nowhere. */
struct life {
    int first, last;
};

/* One life for each buffer, of which those of temporaries hold; in the arena. NULL where all of them live at
 * once, or there are none. Code made of the kernel may not take it for granted that two temporaries are two
 * places (no restrict, no aliasing by type), but within one of these statements. */
const struct life *lives_find(struct arena *arena, const struct ir_kernel *kernel);

#endif
