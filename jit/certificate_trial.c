/*
 * certificate_trial.c: see certificate_trial.h.
 */
#include "certificate_trial.h"

#include "scalar.h"

enum { ELEMENTS = 4096 }; /* of one buffer */

bool certificate_accepts(const struct ir_kernel *kernel, const int64_t *dims, const union jit_scalar *scalars)
{
    union dtype_value value;

    for (int k = 0; k < kernel->preconditions.count; k++) {
        const struct ir_precondition *row = &kernel->preconditions.items[k];
        if (row->guard && scalar_evaluate(row->guard, dims, scalars, &value) && !value.i)
            continue;
        if (!scalar_evaluate(row->condition, dims, scalars, &value) || !value.i)
            return false;
    }
    return true;
}

int64_t certificate_trial_place(const struct certificate_trial *trial, const struct ir_buffer *buffer,
                                const int64_t *index)
{
    int64_t place = 0;

    for (int k = 0; k < buffer->rank; k++)
        place = place * trial->shape[buffer->index][k] + index[k];
    return place;
}

static bool measure(struct certificate_trial *trial, const struct certificate_call *call)
{
    int64_t *extents = trial->extents;

    for (int k = 0; k < trial->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = trial->kernel->buffers.items[k];
        union dtype_value extent;
        trial->shape[k] = extents;
        trial->counts[k] = 1;
        for (int axis = 0; axis < buffer->rank; axis++) {
            if (!scalar_evaluate(buffer->shape[axis], call->dims, call->scalars, &extent) || extent.i < 0 ||
                extent.i > ELEMENTS || trial->counts[k] * extent.i > ELEMENTS)
                return false;
            trial->counts[k] *= extent.i;
            *extents++ = extent.i;
        }
    }
    return true;
}

static void fill(akg_dtype dtype, char *data, int64_t count, enum certificate_fill fill)
{
    for (int64_t k = 0; k < count; k++) {
        int64_t number = fill == CERTIFICATE_SERIES ? k % 3 : fill == CERTIFICATE_ONES;
        union dtype_value value = {.i = dtype == AKG_BOOL ? number != 0 : number};
        if (dtype_is_float(dtype))
            value = dtype_from_double(dtype, (double)number);
        dtype_store(dtype, data + k * dtype_table[dtype].size, value);
    }
}

bool certificate_trial_make(struct certificate_trial *trial, struct arena *arena,
                            const struct ir_kernel *kernel, const struct certificate_call *call)
{
    int buffers = kernel->buffers.count, axes = 0;
    int64_t **strides;
    void **data;

    if (!certificate_accepts(kernel, call->dims, call->scalars))
        return false;
    for (int k = 0; k < buffers; k++)
        axes += kernel->buffers.items[k]->rank;
    *trial = (struct certificate_trial){.kernel = kernel, .arena = arena};
    trial->extents = arena_array(arena, int64_t, axes);
    trial->shape = arena_array(arena, const int64_t *, buffers);
    trial->counts = arena_array(arena, int64_t, buffers);
    if (!measure(trial, call))
        return false;
    data = arena_array(arena, void *, buffers);
    strides = arena_array(arena, int64_t *, buffers);
    for (int k = 0; k < buffers; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        int64_t stride = 1;
        strides[k] = arena_array(arena, int64_t, buffer->rank);
        for (int axis = buffer->rank - 1; axis >= 0; axis--) {
            strides[k][axis] = stride;
            stride *= trial->counts[k] ? trial->shape[k][axis] : 1;
        }
        data[k] = arena_allocate(arena, (size_t)trial->counts[k] * dtype_table[buffer->dtype].size);
        if (ir_buffer_is_input(buffer))
            fill(buffer->dtype, data[k], trial->counts[k], call->fill);
    }
    trial->frame = (struct jit_frame){.data = data,
                                      .dims = call->dims,
                                      .strides = (const int64_t *const *)strides,
                                      .scalars = call->scalars,
                                      .trap = &trial->trap};
    return true;
}
