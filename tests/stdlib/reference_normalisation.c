/*
 * reference_normalisation.c: references of stdlib/normalisation.akg.
 */
#include "reference.h"

#include <math.h>
#include <string.h>

struct moments {
    double mean, variance; /* of n elements, `step` apart */
};

static struct moments moments_of(const double *items, int64_t n)
{
    struct moments m = {0, 0};

    for (int64_t k = 0; k < n; k++)
        m.mean += items[k] / (double)n;
    for (int64_t k = 0; k < n; k++)
        m.variance += (items[k] - m.mean) * (items[k] - m.mean) / (double)n;
    return m;
}

void reference_layer_norm(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *weight = trial_input(t, "weight"),
                       *bias = trial_input(t, "bias");
    struct array *y = trial_result_like(t, x);
    int64_t n = x->shape[x->rank - 1];

    for (int64_t i = 0; i < x->count; i++) {
        struct moments m = moments_of(x->data + i / n * n, n);
        y->data[i] = (x->data[i] - m.mean) / sqrt(m.variance + trial_real(t, "eps", 1e-5));
        y->data[i] = y->data[i] * (weight ? weight->data[i % n] : 1) + (bias ? bias->data[i % n] : 0);
    }
}

void reference_rms_norm(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *weight = trial_input(t, "weight");
    struct array *y = trial_result_like(t, x);
    int64_t n = x->shape[x->rank - 1];

    for (int64_t i = 0; i < x->count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += x->data[i / n * n + k] * x->data[i / n * n + k];
        y->data[i] = x->data[i] / sqrt(sum / (double)n + trial_real(t, "eps", 1e-6));
        y->data[i] *= weight ? weight->data[i % n] : 1;
    }
}

/* The mean of f over the elements of a channel: of x, or of its squared distance from a middle. */
static double channel_mean(const struct array *x, int64_t channel, double middle, bool squared)
{
    int64_t inner = 1, count = 0;
    double sum = 0;

    for (int k = 2; k < x->rank; k++)
        inner *= x->shape[k];
    for (int64_t i = 0; i < x->count; i++)
        if (i / inner % x->shape[1] == channel) {
            sum += squared ? (x->data[i] - middle) * (x->data[i] - middle) : x->data[i];
            count++;
        }
    return sum / (double)count;
}

void reference_batch_norm(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *weight = trial_input(t, "weight"),
                       *bias = trial_input(t, "bias");
    const struct array *old_mean = trial_input(t, "running_mean"), *old_var = trial_input(t, "running_var");
    struct array *y = trial_result_like(t, x), *mean = trial_result_like(t, old_mean);
    struct array *var = trial_result_like(t, old_var);
    double momentum = trial_real(t, "momentum", 0.1);
    int64_t inner = 1;

    for (int k = 2; k < x->rank; k++)
        inner *= x->shape[k];
    for (int64_t c = 0; c < x->shape[1]; c++) {
        double middle = old_mean->data[c], spread = old_var->data[c];
        double n = (double)(x->shape[0] * inner);
        mean->data[c] = middle;
        var->data[c] = spread;
        if (trial_int(t, "training", 1)) {
            middle = channel_mean(x, c, 0, false);
            spread = channel_mean(x, c, middle, true);
            mean->data[c] = (1 - momentum) * mean->data[c] + momentum * middle;
            var->data[c] = (1 - momentum) * var->data[c] + momentum * spread * n / (n - 1);
        }
        for (int64_t i = 0; i < x->count; i++)
            if (i / inner % x->shape[1] == c)
                y->data[i] =
                    (x->data[i] - middle) / sqrt(spread + trial_real(t, "eps", 1e-5)) * weight->data[c] +
                    bias->data[c];
    }
}
