/*
 * recorded_memory.c: places for the tensors between the calls of a graph, in one block.
 *
 * Consumes the lives of the values, as numbers of steps, and their sizes; produces offsets and the size of
 * the block. Values are placed in the order in which they are made (placement.h).
 */
#include "placement.h"
#include "recorded.h"

static void place_made_by(struct bound_graph *bound, struct placement *placement,
                          const struct recorded_step *recorded, int step)
{
    for (int i = 0; i < recorded->output_count; i++) {
        struct bound_value *value = recorded->outputs[i] < 0 ? NULL : &bound->values[recorded->outputs[i]];
        struct placed *item;
        if (!value || value->place != BOUND_INSIDE || value->first != step)
            continue;
        item = arena_new(&bound->arena, struct placed);
        *item = (struct placed){.first = step, .last = value->last, .bytes = value->bytes};
        placement_add(placement, item);
        value->offset = item->offset;
        bound->separate_bytes += item->bytes;
    }
}

void bound_place_values(struct bound_graph *bound)
{
    int count = bound->graph->recording->values.count;
    struct placement placement = {.alive = arena_array(&bound->arena, struct placed *, count + 1)};

    for (int step = 0; step < bound->step_count; step++)
        for (int m = 0; m < bound->steps[step].member_count; m++)
            place_made_by(bound, &placement, bound->steps[step].members[m], step);
    bound->workspace_bytes = placement.total;
}
