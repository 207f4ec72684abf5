/*
 * recorded_memory.c: places for the tensors between the calls of a graph, in one block: a tensor may lie
 * where another one lay that nobody reads any more.
 *
 * Consumes the lives of the values, as numbers of steps, and their sizes; produces offsets and the size of
 * the block. Values are placed in the order in which they are made, each in the smallest gap that it fits.
 */
#include "recorded.h"

#include <stdint.h>
#include <string.h>

#define PLACE_ALIGNMENT 64

/* The values that are alive, by offset. */
struct alive {
    struct bound_value **items;
    int count;
};

static void alive_drop_dead(struct alive *alive, int step)
{
    int kept = 0;

    for (int i = 0; i < alive->count; i++)
        if (alive->items[i]->last >= step)
            alive->items[kept++] = alive->items[i];
    alive->count = kept;
}

/* Places one more among them, in the smallest gap; above all where there is none. */
static void alive_place(struct alive *alive, struct bound_value *value)
{
    size_t end = 0, best = SIZE_MAX;
    int at = alive->count;

    for (int i = 0; i < alive->count; i++) {
        const struct bound_value *other = alive->items[i];
        size_t gap = other->offset - end;
        if (gap >= value->bytes && gap < best) {
            best = gap;
            at = i;
            value->offset = end;
        }
        end = other->offset + other->bytes;
    }
    if (at == alive->count)
        value->offset = end;
    memmove(alive->items + at + 1, alive->items + at, sizeof *alive->items * (size_t)(alive->count - at));
    alive->items[at] = value;
    alive->count++;
}

static void place_made_by(struct bound_graph *bound, struct alive *alive,
                          const struct recorded_step *recorded, int step)
{
    for (int i = 0; i < recorded->output_count; i++) {
        struct bound_value *value = recorded->outputs[i] < 0 ? NULL : &bound->values[recorded->outputs[i]];
        if (!value || value->place != BOUND_INSIDE || value->first != step)
            continue;
        value->bytes = (value->bytes + PLACE_ALIGNMENT - 1) & ~(size_t)(PLACE_ALIGNMENT - 1);
        alive_place(alive, value);
        bound->separate_bytes += value->bytes;
        if (value->offset + value->bytes > bound->workspace_bytes)
            bound->workspace_bytes = value->offset + value->bytes;
    }
}

void bound_place_values(struct bound_graph *bound)
{
    int count = bound->graph->recording->values.count;
    struct alive alive = {arena_array(&bound->arena, struct bound_value *, count + 1), 0};

    for (int step = 0; step < bound->step_count; step++) {
        alive_drop_dead(&alive, step);
        for (int m = 0; m < bound->steps[step].member_count; m++)
            place_made_by(bound, &alive, bound->steps[step].members[m], step);
    }
}
