/*
 * reference_shape.c: references of stdlib/shape.akg.
 */
#include "reference.h"

#include <string.h>

void reference_reshape(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    int64_t shape[AKG_MAX_RANK], known = 1;
    int rank = trial_ints(t, "shape", shape);

    for (int k = 0; k < rank; k++)
        known *= shape[k] < 0 ? 1 : shape[k];
    for (int k = 0; k < rank; k++)
        if (shape[k] < 0)
            shape[k] = known ? x->count / known : 0;
    memcpy(trial_result(t, rank, shape)->data, x->data, sizeof *x->data * (size_t)x->count);
}

void reference_flatten_rows(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    int64_t shape[2] = {1, x->shape[x->rank - 1]};

    for (int k = 0; k < x->rank - 1; k++)
        shape[0] *= x->shape[k];
    memcpy(trial_result(t, 2, shape)->data, x->data, sizeof *x->data * (size_t)x->count);
}

void reference_unflatten_rows(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    int64_t shape[AKG_MAX_RANK];
    int rank = trial_ints(t, "shape", shape);

    memcpy(trial_result(t, rank, shape)->data, x->data, sizeof *x->data * (size_t)x->count);
}

void reference_transpose(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    int64_t axes[AKG_MAX_RANK], shape[AKG_MAX_RANK], from[AKG_MAX_RANK], to[AKG_MAX_RANK];
    int count = trial_ints(t, "axes", axes);
    struct array *y;

    for (int k = 0; k < x->rank; k++) {
        if (count <= 0)
            axes[k] = x->rank - 1 - k;
        axes[k] = axes[k] < 0 ? axes[k] + x->rank : axes[k];
        shape[k] = x->shape[axes[k]];
    }
    y = trial_result(t, x->rank, shape);
    for (int64_t i = 0; i < y->count; i++) {
        array_index(y, i, to);
        for (int k = 0; k < x->rank; k++)
            from[axes[k]] = to[k];
        y->data[i] = x->data[array_place(x, from)];
    }
}

void reference_concat(struct trial *t)
{
    const struct array *first = trial_input(t, "xs"), *x;
    int64_t shape[AKG_MAX_RANK], index[AKG_MAX_RANK], axis = trial_int(t, "axis", 0), start = 0;
    struct array *y;

    memcpy(shape, first->shape, sizeof shape);
    axis = axis < 0 ? axis + first->rank : axis;
    shape[axis] = 0;
    for (int i = 0; (x = trial_item(t, "xs", i)) != NULL; i++)
        shape[axis] += x->shape[axis];
    y = trial_result(t, first->rank, shape);
    for (int i = 0; (x = trial_item(t, "xs", i)) != NULL; i++) {
        for (int64_t k = 0; k < x->count; k++) {
            array_index(x, k, index);
            index[axis] += start;
            y->data[array_place(y, index)] = x->data[k];
        }
        start += x->shape[axis];
    }
}

/* What Python makes of a place in a slice. */
static int64_t within(int64_t place, int64_t extent)
{
    place = place < 0 ? place + extent : place;
    return place < 0 ? 0 : place > extent ? extent : place;
}

void reference_slice(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    int64_t starts[AKG_MAX_RANK], stops[AKG_MAX_RANK], steps[AKG_MAX_RANK], shape[AKG_MAX_RANK];
    int64_t index[AKG_MAX_RANK];
    int given[3] = {trial_ints(t, "starts", starts), trial_ints(t, "stops", stops),
                    trial_ints(t, "steps", steps)};
    struct array *y;

    for (int k = 0; k < x->rank; k++) {
        starts[k] = k < given[0] ? within(starts[k], x->shape[k]) : 0;
        stops[k] = k < given[1] ? within(stops[k], x->shape[k]) : x->shape[k];
        steps[k] = k < given[2] ? steps[k] : 1;
        shape[k] = 0;
        for (int64_t i = starts[k]; i < stops[k]; i += steps[k])
            shape[k]++;
    }
    y = trial_result(t, x->rank, shape);
    for (int64_t i = 0; i < y->count; i++) {
        array_index(y, i, index);
        for (int k = 0; k < x->rank; k++)
            index[k] = starts[k] + index[k] * steps[k];
        y->data[i] = x->data[array_place(x, index)];
    }
}

void reference_pad(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    int64_t before[AKG_MAX_RANK], after[AKG_MAX_RANK], shape[AKG_MAX_RANK], index[AKG_MAX_RANK];
    struct array *y;

    trial_ints(t, "before", before);
    trial_ints(t, "after", after);
    for (int k = 0; k < x->rank; k++)
        shape[k] = before[k] + x->shape[k] + after[k];
    y = trial_result(t, x->rank, shape);
    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = trial_real(t, "value", 0);
    for (int64_t i = 0; i < x->count; i++) {
        array_index(x, i, index);
        for (int k = 0; k < x->rank; k++)
            index[k] += before[k];
        y->data[array_place(y, index)] = x->data[i];
    }
}
