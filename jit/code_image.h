/*
 * code_image.h: machine code that can be kept and moved: bytes, and the places in them where the addresses of
 * functions go, by name.
 *
 * An image is one block of bytes, as it stands in the cache on disk. What is in one that comes from there is
 * not trusted to be consistent: every number is compared with what is there first.
 */
#ifndef JIT_CODE_IMAGE_H
#define JIT_CODE_IMAGE_H

#include "code_pages.h"
#include "frame.h"

#include <stdint.h>

/* Eight bytes of the code that hold the address of a symbol. */
struct code_place {
    uint32_t offset;
    const char *name;
};

struct code_image {
    unsigned char *bytes; /* memory_free; NULL: none */
    size_t size;
};

/* The code as an image, its places cleared. False when memory runs out, or when a name is too long for it. */
bool code_image_make(struct code_image *image, const void *code, size_t size, size_t entry,
                     const struct code_place *places, int count);

/* Where a function is, or NULL. */
typedef const void *(*code_image_find)(const void *context, const char *name);

/* The code of an image in new pages. False when it is none, names what cannot be found, or pages cannot be
 * had. */
bool code_image_load(const void *bytes, size_t size, code_image_find find, const void *context,
                     struct code_pages *pages, jit_entry *entry);

#endif
