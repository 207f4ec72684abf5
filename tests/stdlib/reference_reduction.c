/*
 * reference_reduction.c: references of stdlib/reduction.akg: each element of x is added to the list of the
 * result it belongs to, and the lists are then reduced.
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

struct group {
    double *items; /* in row-major order of x */
    int64_t count;
};

static void reduced_axes(const struct trial *t, const struct array *x, bool *is_reduced)
{
    int64_t axes[AKG_MAX_RANK];
    int count = trial_ints(t, "axes", axes);

    for (int k = 0; k < x->rank; k++)
        is_reduced[k] = count <= 0;
    for (int i = 0; i < count; i++)
        is_reduced[axes[i] < 0 ? axes[i] + x->rank : axes[i]] = true;
}

/* The result, and the elements that belong to each of its elements. */
static struct array *grouped(struct trial *t, struct group **groups)
{
    const struct array *x = trial_input(t, "x");
    bool is_reduced[AKG_MAX_RANK], keep = trial_int(t, "keepdims", 0);
    int64_t shape[AKG_MAX_RANK], index[AKG_MAX_RANK], own[AKG_MAX_RANK];
    struct array *y;
    int rank = 0;

    reduced_axes(t, x, is_reduced);
    for (int k = 0; k < x->rank; k++)
        if (!is_reduced[k] || keep)
            shape[rank++] = is_reduced[k] ? 1 : x->shape[k];
    y = trial_result(t, rank, shape);
    *groups = calloc((size_t)y->count + 1, sizeof **groups);
    for (int64_t i = 0; i < x->count; i++) {
        struct group *group;
        array_index(x, i, index);
        rank = 0;
        for (int k = 0; k < x->rank; k++)
            if (!is_reduced[k] || keep)
                own[rank++] = is_reduced[k] ? 0 : index[k];
        group = &(*groups)[array_place(y, own)];
        group->items = realloc(group->items, sizeof(double) * (size_t)(group->count + 1));
        group->items[group->count++] = x->data[i];
    }
    return y;
}

static double sum_of(const struct group *group)
{
    double sum = 0;
    for (int64_t i = 0; i < group->count; i++)
        sum += group->items[i];
    return sum;
}

static double variance_of(const struct group *group, int64_t correction)
{
    double mean = sum_of(group) / (double)group->count, sum = 0;
    for (int64_t i = 0; i < group->count; i++)
        sum += (group->items[i] - mean) * (group->items[i] - mean);
    return sum / (double)(group->count - correction);
}

/* The place of the largest of sign * item: the first one, or the first nan. */
static int64_t place_of_largest(const struct group *group, double sign)
{
    int64_t best = 0;
    for (int64_t i = 0; i < group->count; i++) {
        if (isnan(group->items[i]))
            return i;
        if (sign * group->items[i] > sign * group->items[best])
            best = i;
    }
    return best;
}

#define REDUCTION(name, result_dtype, expression)                                                            \
    void reference_##name(struct trial *t)                                                                   \
    {                                                                                                        \
        struct group *groups;                                                                                \
        struct array *y = grouped(t, &groups);                                                               \
        y->dtype = (result_dtype);                                                                           \
        for (int64_t i = 0; i < y->count; i++) {                                                             \
            const struct group *group = &groups[i];                                                          \
            y->data[i] = (expression);                                                                       \
            free(groups[i].items);                                                                           \
        }                                                                                                    \
        free(groups);                                                                                        \
    }

REDUCTION(sum, t->dtype, sum_of(group))
REDUCTION(mean, t->dtype, sum_of(group) / (double)group->count)
REDUCTION(var, t->dtype, variance_of(group, trial_int(t, "correction", 0)))
REDUCTION(max, t->dtype, group->items[place_of_largest(group, 1)])
REDUCTION(min, t->dtype, group->items[place_of_largest(group, -1)])
REDUCTION(argmax, AKG_INT64, (double)place_of_largest(group, 1))
