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
