/*
 * reference_softmax.c: references of stdlib/softmax.akg. The magnitudes tried do not overflow, so nothing is
 * subtracted here.
 */
#include "reference.h"

#include <math.h>

/* The sum of exp along the axis through each element. */
static double sum_through(const struct array *x, int axis, const int64_t *index)
{
    int64_t other[AKG_MAX_RANK];
    double sum = 0;

    for (int k = 0; k < x->rank; k++)
        other[k] = index[k];
    for (other[axis] = 0; other[axis] < x->shape[axis]; other[axis]++)
        sum += exp(x->data[array_place(x, other)]);
    return sum;
}

static void softmax_like(struct trial *t, bool logarithm)
{
    const struct array *x = trial_input(t, "x");
    int axis = (int)trial_int(t, "axis", -1);
    struct array *y = trial_result_like(t, x);
    int64_t index[AKG_MAX_RANK];

    axis = axis < 0 ? axis + x->rank : axis;
    for (int64_t i = 0; i < x->count; i++) {
        array_index(x, i, index);
        y->data[i] = logarithm ? x->data[i] - log(sum_through(x, axis, index))
                               : exp(x->data[i]) / sum_through(x, axis, index);
    }
}

void reference_softmax(struct trial *t)
{
    softmax_like(t, false);
}

void reference_log_softmax(struct trial *t)
{
    softmax_like(t, true);
}

void reference_cross_entropy(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *target = trial_input(t, "target");
    struct array *loss = trial_result(t, 0, NULL);

    for (int64_t i = 0; i < x->shape[0]; i++) {
        int64_t index[] = {i, (int64_t)target->data[i]};
        loss->data[0] += log(sum_through(x, 1, index)) - x->data[array_place(x, index)];
    }
    loss->data[0] /= (double)x->shape[0];
}

void reference_mse(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *target = trial_input(t, "target");
    struct array *loss = trial_result(t, 0, NULL);

    for (int64_t i = 0; i < x->count; i++)
        loss->data[0] += (x->data[i] - target->data[i]) * (x->data[i] - target->data[i]);
    loss->data[0] /= (double)x->count;
}
