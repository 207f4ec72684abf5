/*
 * reference_training.c: references of stdlib/dropout.akg and optimizer.akg.
 */
#include "reference.h"

#include <math.h>

/* One round of Philox4x32, from the paper. */
static void philox_round(uint32_t c[4], const uint32_t k[2])
{
    uint64_t p0 = (uint64_t)0xD2511F53 * c[0], p1 = (uint64_t)0xCD9E8D57 * c[2];
    uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k[0], (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k[1],
                        (uint32_t)p0};

    for (int i = 0; i < 4; i++)
        c[i] = next[i];
}

uint32_t reference_philox(uint64_t low, uint64_t high, uint64_t key)
{
    uint32_t c[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};

    for (int i = 0; i < 10; i++) {
        philox_round(c, k);
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
    return c[0];
}

void reference_dropout(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    struct array *y = trial_result_like(t, x);
    double rate = trial_real(t, "rate", 0.5);

    for (int64_t i = 0; i < x->count; i++) {
        uint32_t word = reference_philox((uint64_t)i, (uint64_t)trial_int(t, "offset", 0),
                                         (uint64_t)trial_int(t, "seed", 0));
        y->data[i] = word >= rate * 0x1p32 ? x->data[i] / (1 - rate) : 0;
    }
}

void reference_sgd(struct trial *t)
{
    const struct array *weight = trial_input(t, "weight"), *gradient = trial_input(t, "gradient");
    struct array *y = trial_result_like(t, weight);

    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = weight->data[i] - trial_real(t, "rate", 0.01) *
                                           (gradient->data[i] + trial_real(t, "decay", 0) * weight->data[i]);
}

void reference_momentum(struct trial *t)
{
    const struct array *weight = trial_input(t, "weight"), *gradient = trial_input(t, "gradient");
    const struct array *velocity = trial_input(t, "velocity");
    struct array *y = trial_result_like(t, weight), *v = trial_result_like(t, velocity);
    double rate = trial_real(t, "rate", 0.01), factor = trial_real(t, "factor", 0.9);

    for (int64_t i = 0; i < y->count; i++) {
        v->data[i] = factor * velocity->data[i] + gradient->data[i];
        y->data[i] = weight->data[i];
        y->data[i] -=
            rate * (trial_int(t, "nesterov", 0) ? gradient->data[i] + factor * v->data[i] : v->data[i]);
    }
}

void reference_adamw(struct trial *t)
{
    const struct array *weight = trial_input(t, "weight"), *gradient = trial_input(t, "gradient");
    const struct array *mean = trial_input(t, "mean"), *square = trial_input(t, "square");
    struct array *y = trial_result_like(t, weight), *m = trial_result_like(t, mean);
    struct array *s = trial_result_like(t, square);
    double rate = trial_real(t, "rate", 1e-3), beta1 = trial_real(t, "beta1", 0.9);
    double beta2 = trial_real(t, "beta2", 0.999), eps = trial_real(t, "eps", 1e-8);
    double step = (double)trial_int(t, "step", 1);

    for (int64_t i = 0; i < y->count; i++) {
        double g = gradient->data[i];
        m->data[i] = beta1 * mean->data[i] + (1 - beta1) * g;
        s->data[i] = beta2 * square->data[i] + (1 - beta2) * g * g;
        y->data[i] = weight->data[i] * (1 - rate * trial_real(t, "decay", 1e-2));
        y->data[i] -=
            rate * m->data[i] / (1 - pow(beta1, step)) / (sqrt(s->data[i] / (1 - pow(beta2, step))) + eps);
    }
}
