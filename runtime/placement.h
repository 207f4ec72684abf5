/*
 * placement.h: places in one block of memory for things that live for a while, each of which may lie where
 * another one lay that is no longer there.
 */
#ifndef RUNTIME_PLACEMENT_H
#define RUNTIME_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

/* The size of a block that no heap has: it stands for more than can be counted, and places are worth nothing
 * then. */
#define PLACEMENT_MOST ((size_t)PTRDIFF_MAX)

struct placed {
    int first, last; /* the steps that it is there for */
    size_t bytes;
    size_t offset; /* what is found */
};

/* Starts with room for as many pointers as there will be things, and zeros. */
struct placement {
    struct placed **alive; /* by offset */
    int count;
    size_t total; /* the size of the block so far */
};

/* Places one more, which is not there before the others were: they come in the order of `first`. Sizes are
 * rounded up to 64 bytes. */
void placement_add(struct placement *placement, struct placed *item);

#endif
