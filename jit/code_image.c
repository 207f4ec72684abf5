/*
 * code_image.c: see code_image.h.
 *
 * An image is a head, a row for each place, and from a multiple of 16 on the code.
 */
#include "code_image.h"
#include "../base/memory.h"

#include <string.h>

struct image_head {
    uint32_t code_size, entry, place_count, reserved;
};

struct image_place {
    uint32_t offset;
    char name[60];
};

_Static_assert(sizeof(struct image_head) % 16 == 0 && sizeof(struct image_place) % 16 == 0,
               "the code behind them is aligned");

bool code_image_make(struct code_image *image, const void *code, size_t size, size_t entry,
                     const struct code_place *places, int count)
{
    size_t rows = sizeof(struct image_head) + (size_t)count * sizeof(struct image_place);
    *image = (struct code_image){NULL, rows + size};
    if (size > UINT32_MAX || !(image->bytes = memory_zeroed(1, image->size)))
        return false;
    struct image_head head = {(uint32_t)size, (uint32_t)entry, (uint32_t)count, 0};
    memcpy(image->bytes, &head, sizeof head);
    memcpy(image->bytes + rows, code, size);
    for (int k = 0; k < count; k++) {
        struct image_place row = {.offset = places[k].offset};
        size_t length = strlen(places[k].name);
        if (length >= sizeof row.name) {
            memory_free(image->bytes);
            image->bytes = NULL;
            return false;
        }
        memcpy(row.name, places[k].name, length);
        memcpy(image->bytes + sizeof head + (size_t)k * sizeof row, &row, sizeof row);
        memset(image->bytes + rows + row.offset, 0, sizeof(uint64_t));
    }
    return true;
}

/* Writes the addresses into the code. */
static bool resolve(const unsigned char *rows, const struct image_head *head, code_image_find find,
                    const void *context, unsigned char *code)
{
    for (uint32_t k = 0; k < head->place_count; k++) {
        struct image_place row;
        memcpy(&row, rows + (size_t)k * sizeof row, sizeof row);
        if (row.name[sizeof row.name - 1] || head->code_size < sizeof(uint64_t) ||
            row.offset > head->code_size - sizeof(uint64_t))
            return false;
        const void *address = find(context, row.name);
        if (!address)
            return false;
        memcpy(code + row.offset, &address, sizeof address);
    }
    return true;
}

bool code_image_load(const void *bytes, size_t size, code_image_find find, const void *context,
                     struct code_pages *pages, jit_entry *entry)
{
    struct image_head head;
    const unsigned char *rows = (const unsigned char *)bytes + sizeof head;
    if (size < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    uint64_t whole = sizeof head + (uint64_t)head.place_count * sizeof(struct image_place) + head.code_size;
    if (whole != size || head.entry >= head.code_size || !code_pages_map(pages, head.code_size))
        return false;
    memcpy(pages->memory, rows + (size_t)head.place_count * sizeof(struct image_place), head.code_size);
    if (!resolve(rows, &head, find, context, pages->memory) || !code_pages_seal(pages)) {
        code_pages_free(pages);
        return false;
    }
    const void *address = (const char *)pages->memory + head.entry;
    memcpy(entry, &address, sizeof address);
    return true;
}
