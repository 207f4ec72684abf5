/*
 * reference_indexing.c: references of stdlib/indexing.akg.
 */
#include "reference.h"

#include <string.h>

void reference_embedding(struct trial *t)
{
    const struct array *weight = trial_input(t, "weight"), *index = trial_input(t, "index");
    int64_t shape[AKG_MAX_RANK], width = weight->shape[1];
    struct array *y;

    memcpy(shape, index->shape, sizeof shape);
    shape[index->rank] = width;
    y = trial_result(t, index->rank + 1, shape);
    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = weight->data[(int64_t)index->data[i / width] * width + i % width];
}

/* Where in x the element `place` of the index points to. */
static int64_t pointed(const struct trial *t, const struct array *x, const struct array *index, int64_t place)
{
    int64_t at[AKG_MAX_RANK], axis = trial_int(t, "axis", 0);

    array_index(index, place, at);
    at[axis < 0 ? axis + x->rank : axis] = (int64_t)index->data[place];
    return array_place(x, at);
}

void reference_gather(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *index = trial_input(t, "index");
    struct array *y = trial_result_like(t, index);

    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = x->data[pointed(t, x, index, i)];
}

void reference_scatter_add(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *index = trial_input(t, "index"),
                       *source = trial_input(t, "source");
    struct array *y = trial_result_like(t, x);

    memcpy(y->data, x->data, sizeof *x->data * (size_t)x->count);
    for (int64_t i = 0; i < index->count; i++)
        y->data[pointed(t, x, index, i)] += source->data[i];
}

void reference_one_hot(struct trial *t)
{
    const struct array *index = trial_input(t, "index");
    int64_t shape[AKG_MAX_RANK], depth = trial_int(t, "depth", 0);
    struct array *y;

    memcpy(shape, index->shape, sizeof shape);
    shape[index->rank] = depth;
    y = trial_result(t, index->rank + 1, shape);
    y->dtype = akg_dtype_from_name(trial_string(t, "dtype", "float32"));
    for (int64_t i = 0; i < index->count; i++)
        y->data[i * depth + (int64_t)index->data[i]] = 1;
}
