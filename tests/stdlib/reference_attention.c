/*
 * reference_attention.c: references of stdlib/attention.akg.
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* exp of a score; 0 where query i does not see key j. */
static double strength(const struct trial *t, const double *query, const double *key, int64_t i, int64_t j,
                       int64_t width)
{
    const struct array *mask = trial_input(t, "mask");
    double scale = trial_real(t, "scale", 0), score = 0;

    if (trial_int(t, "causal", 0) && j > i)
        return 0;
    for (int64_t k = 0; k < width; k++)
        score += query[k] * key[k];
    score *= scale != 0 ? scale : 1 / sqrt((double)width);
    if (mask && mask->dtype == AKG_BOOL)
        return mask->data[i * mask->shape[1] + j] != 0 ? exp(score) : 0;
    return exp(score + (mask ? mask->data[i * mask->shape[1] + j] : 0));
}

/* (..., queries, keys), in row-major order. */
static double *weights_of(const struct trial *t)
{
    const struct array *query = trial_input(t, "query"), *key = trial_input(t, "key");
    int64_t width = query->shape[query->rank - 1], queries = query->shape[query->rank - 2];
    int64_t keys = key->shape[key->rank - 2], rows = query->count / width;
    double *weights = calloc((size_t)(rows * keys) + 1, sizeof *weights);

    for (int64_t row = 0; row < rows; row++) {
        double total = 0;
        for (int64_t j = 0; j < keys; j++) {
            weights[row * keys + j] =
                strength(t, query->data + row * width, key->data + (row / queries * keys + j) * width,
                         row % queries, j, width);
            total += weights[row * keys + j];
        }
        for (int64_t j = 0; j < keys; j++)
            weights[row * keys + j] = total > 0 ? weights[row * keys + j] / total : 0;
    }
    return weights;
}

void reference_attention_weights(struct trial *t)
{
    const struct array *query = trial_input(t, "query"), *key = trial_input(t, "key");
    double *weights = weights_of(t);
    int64_t shape[AKG_MAX_RANK];
    struct array *y;

    memcpy(shape, query->shape, sizeof shape);
    shape[query->rank - 1] = key->shape[key->rank - 2];
    y = trial_result(t, query->rank, shape);
    memcpy(y->data, weights, sizeof *weights * (size_t)y->count);
    free(weights);
}

void reference_scaled_dot_product_attention(struct trial *t)
{
    const struct array *query = trial_input(t, "query"), *value = trial_input(t, "value");
    int64_t shape[AKG_MAX_RANK], columns = value->shape[value->rank - 1],
                                 keys = value->shape[value->rank - 2];
    int64_t queries = query->shape[query->rank - 2];
    double *weights = weights_of(t);
    struct array *y;

    memcpy(shape, query->shape, sizeof shape);
    shape[query->rank - 1] = columns;
    y = trial_result(t, query->rank, shape);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t row = i / columns;
        for (int64_t j = 0; j < keys; j++)
            y->data[i] +=
                weights[row * keys + j] * value->data[(row / queries * keys + j) * columns + i % columns];
    }
    free(weights);
}
