/*
 * reference_linear.c: references of stdlib/linear.akg.
 */
#include "reference.h"

#include <string.h>

/* An element of a matrix of a batch; the batch axes of `index` are broadcast. */
static double element(const struct array *x, int rank, const int64_t *index, int64_t i, int64_t j,
                      bool transposed)
{
    int64_t full[AKG_MAX_RANK];

    memcpy(full, index, sizeof(int64_t) * (size_t)rank);
    full[rank - 2] = transposed ? j : i;
    full[rank - 1] = transposed ? i : j;
    for (int k = 0; k < x->rank - 2; k++)
        full[k + rank - x->rank] = x->shape[k] == 1 ? 0 : index[k + rank - x->rank];
    return x->data[array_place(x, full + rank - x->rank)];
}

void reference_matmul(struct trial *t)
{
    const struct array *a = trial_input(t, "a"), *b = trial_input(t, "b");
    bool ta = trial_int(t, "transpose_a", 0), tb = trial_int(t, "transpose_b", 0);
    int64_t shape[AKG_MAX_RANK], index[AKG_MAX_RANK], inner = a->shape[a->rank - (ta ? 2 : 1)];
    int rank = a->rank > b->rank ? a->rank : b->rank;
    struct array *y;

    for (int k = 0; k < rank - 2; k++) {
        int64_t of_a = k + a->rank < rank ? 1 : a->shape[k + a->rank - rank];
        int64_t of_b = k + b->rank < rank ? 1 : b->shape[k + b->rank - rank];
        shape[k] = of_a == 1 ? of_b : of_a;
    }
    shape[rank - 2] = a->shape[a->rank - (ta ? 1 : 2)];
    shape[rank - 1] = b->shape[b->rank - (tb ? 2 : 1)];
    y = trial_result(t, rank, shape);
    for (int64_t i = 0; i < y->count; i++) {
        array_index(y, i, index);
        for (int64_t k = 0; k < inner; k++)
            y->data[i] += element(a, rank, index, index[rank - 2], k, ta) *
                          element(b, rank, index, k, index[rank - 1], tb);
    }
}

void reference_linear(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *weight = trial_input(t, "weight"),
                       *bias = trial_input(t, "bias");
    int64_t shape[AKG_MAX_RANK], inputs = weight->shape[1], outputs = weight->shape[0];
    struct array *y;

    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = outputs;
    y = trial_result(t, x->rank, shape);
    for (int64_t i = 0; i < y->count; i++) {
        y->data[i] = bias ? bias->data[i % outputs] : 0;
        for (int64_t k = 0; k < inputs; k++)
            y->data[i] += x->data[i / outputs * inputs + k] * weight->data[i % outputs * inputs + k];
    }
}

void reference_outer(struct trial *t)
{
    const struct array *a = trial_input(t, "a"), *b = trial_input(t, "b");
    int64_t shape[] = {a->count, b->count};
    struct array *y = trial_result(t, 2, shape);

    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = a->data[i / b->count] * b->data[i % b->count];
}
