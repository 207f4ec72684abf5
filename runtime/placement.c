/*
 * placement.c: see placement.h. Each thing takes the smallest gap that it fits.
 */
#include "placement.h"

#include <stdint.h>
#include <string.h>

#define PLACE_ALIGNMENT 64

static void placement_drop_dead(struct placement *placement, int step)
{
    int kept = 0;

    for (int i = 0; i < placement->count; i++)
        if (placement->alive[i]->last >= step)
            placement->alive[kept++] = placement->alive[i];
    placement->count = kept;
}

void placement_add(struct placement *placement, struct placed *item)
{
    struct placed **alive = placement->alive;
    size_t end = 0, best = SIZE_MAX;
    int at;

    item->offset = 0;
    if (placement->total == PLACEMENT_MOST)
        return;
    placement_drop_dead(placement, item->first);
    at = placement->count;
    item->bytes = (item->bytes + PLACE_ALIGNMENT - 1) & ~(size_t)(PLACE_ALIGNMENT - 1);
    for (int i = 0; i < placement->count; i++) {
        size_t gap = alive[i]->offset - end;
        if (gap >= item->bytes && gap < best) {
            best = gap;
            at = i;
            item->offset = end;
        }
        end = alive[i]->offset + alive[i]->bytes;
    }
    if (at == placement->count)
        item->offset = end; /* above all of them */
    memmove(alive + at + 1, alive + at, sizeof(struct placed *) * (size_t)(placement->count - at));
    alive[at] = item;
    placement->count++;
    if (__builtin_add_overflow(item->offset, item->bytes, &end) || end > PLACEMENT_MOST)
        end = PLACEMENT_MOST;
    if (end > placement->total)
        placement->total = end;
}
