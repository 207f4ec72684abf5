/*
 * call_temporaries.c: memory for the temporaries of one run, where not all of them live at once
 * (jit/lives.h): one block, which they share.
 */
#include "call_run.h"

#include <string.h>

#include "placement.h"

/* A temporary and its place. */
struct shared {
    struct placed place;
    const struct ir_buffer *buffer;
    int64_t shape[AKG_MAX_RANK];
};

struct sharing {
    struct call_run *run;
    struct shared *items; /* by the statement in which they begin */
    int count;
};

/* Those with elements, and how many bytes they have. The others get what every buffer gets. */
static akg_status sharing_collect(struct sharing *sharing)
{
    const struct jit_instance *instance = sharing->run->instance;

    for (int i = 0; i < instance->kernel->buffers.count; i++) {
        const struct ir_buffer *buffer = instance->kernel->buffers.items[i];
        struct shared *item = &sharing->items[sharing->count];
        int64_t count;
        if (buffer->role != IR_TEMPORARY || buffer->unused ||
            instance->lives[i].first > instance->lives[i].last)
            continue;
        *item = (struct shared){.buffer = buffer};
        if (!call_run_shape(sharing->run, buffer, item->shape))
            return AKG_ERROR_CALL;
        if (!tensor_size_is_valid(buffer->dtype, buffer->rank, item->shape, &count) || count == 0)
            continue;
        item->place.first = instance->lives[i].first;
        item->place.last = instance->lives[i].last;
        item->place.bytes = (size_t)count * (size_t)dtype_table[buffer->dtype].size;
        sharing->count++;
    }
    return AKG_OK;
}

static void sharing_place(struct sharing *sharing, struct placed **alive)
{
    struct placement placement = {.alive = alive};
    int last = -1;

    for (int i = 0; i < sharing->count; i++)
        last = sharing->items[i].place.first > last ? sharing->items[i].place.first : last;
    for (int step = 0; step <= last; step++)
        for (int i = 0; i < sharing->count; i++)
            if (sharing->items[i].place.first == step)
                placement_add(&placement, &sharing->items[i].place);
    sharing->run->temporaries_size = placement.total;
}

static akg_status sharing_lay(const struct sharing *sharing)
{
    struct call_run *run = sharing->run;
    akg_status status = AKG_OK;

    run->temporaries = memory_aligned(run->temporaries_size);
    if (!run->temporaries)
        return AKG_ERROR_MEMORY;
    for (int i = 0; i < sharing->count && status == AKG_OK; i++) {
        const struct shared *item = &sharing->items[i];
        int index = item->buffer->index;
        status =
            akg_tensor_from_memory((char *)run->temporaries + item->place.offset, item->buffer->dtype,
                                   item->buffer->rank, item->shape, NULL, NULL, NULL, &run->tensors[index]);
        run->owned[index] = status == AKG_OK;
    }
    return status;
}

akg_status call_run_share_temporaries(struct call_run *run)
{
    size_t most = (size_t)run->instance->kernel->buffers.count;
    struct sharing sharing = {.run = run};
    struct placed **alive;
    akg_status status = AKG_ERROR_MEMORY;

    sharing.items = memory_allocate(most * (sizeof *sharing.items + sizeof *alive));
    if (!sharing.items)
        return AKG_ERROR_MEMORY;
    alive = (struct placed **)(void *)(sharing.items + most);
    status = sharing_collect(&sharing);
    if (status == AKG_OK && sharing.count > 0) {
        sharing_place(&sharing, alive);
        status = sharing_lay(&sharing);
    }
    memory_free(sharing.items);
    return status;
}
