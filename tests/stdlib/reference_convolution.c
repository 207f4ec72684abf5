/*
 * reference_convolution.c: references of stdlib/convolution.akg: x is looked up through a function that knows
 * what lies outside.
 */
#include "reference.h"

#include <math.h>

struct window {
    int64_t size[2], stride[2], padding[2], dilation[2];
};

static void pair_of(const struct trial *t, const char *name, int64_t *pair, int64_t first, int64_t second)
{
    int64_t given[AKG_MAX_RANK];

    pair[0] = first;
    pair[1] = second;
    if (trial_ints(t, name, given) > 0) {
        pair[0] = given[0];
        pair[1] = given[1];
    }
}

static struct array *windows(struct trial *t, const struct array *x, int64_t filters, const struct window *w)
{
    int64_t shape[4] = {x->shape[0], filters};

    for (int k = 0; k < 2; k++) {
        int64_t reach = w->dilation[k] * (w->size[k] - 1), places = 0;
        for (int64_t at = -w->padding[k]; at + reach < x->shape[2 + k] + w->padding[k]; at += w->stride[k])
            places++;
        shape[2 + k] = places;
    }
    return trial_result(t, 4, shape);
}

/* The element of x under place (p, q) of the window at index; `outside` beyond the edges. */
static double under(const struct array *x, const struct window *w, const int64_t *index, int64_t channel,
                    int64_t p, int64_t q, double outside)
{
    int64_t at[4] = {index[0], channel, index[2] * w->stride[0] + p * w->dilation[0] - w->padding[0],
                     index[3] * w->stride[1] + q * w->dilation[1] - w->padding[1]};
    bool inside = at[2] >= 0 && at[2] < x->shape[2] && at[3] >= 0 && at[3] < x->shape[3];

    return inside ? x->data[array_place(x, at)] : outside;
}

void reference_conv2d(struct trial *t)
{
    const struct array *x = trial_input(t, "x"), *weight = trial_input(t, "weight"),
                       *bias = trial_input(t, "bias");
    int64_t index[AKG_MAX_RANK], depth = weight->shape[1],
                                 part = weight->shape[0] / trial_int(t, "groups", 1);
    struct window w = {.size = {weight->shape[2], weight->shape[3]}};
    struct array *y;

    pair_of(t, "stride", w.stride, 1, 1);
    pair_of(t, "padding", w.padding, 0, 0);
    pair_of(t, "dilation", w.dilation, 1, 1);
    y = windows(t, x, weight->shape[0], &w);
    for (int64_t i = 0; i < y->count; i++) {
        array_index(y, i, index);
        y->data[i] = bias ? bias->data[index[1]] : 0;
        for (int64_t k = 0; k < depth * w.size[0] * w.size[1]; k++) {
            int64_t from[4] = {index[1], k / (w.size[0] * w.size[1]), k / w.size[1] % w.size[0],
                               k % w.size[1]};
            y->data[i] += weight->data[array_place(weight, from)] *
                          under(x, &w, index, index[1] / part * depth + from[1], from[2], from[3], 0);
        }
    }
}

static void pool(struct trial *t, bool maximum)
{
    const struct array *x = trial_input(t, "x");
    struct window w = {.dilation = {1, 1}};
    int64_t index[AKG_MAX_RANK];
    struct array *y;

    pair_of(t, "size", w.size, 2, 2);
    pair_of(t, "stride", w.stride, w.size[0], w.size[1]);
    pair_of(t, "padding", w.padding, 0, 0);
    y = windows(t, x, x->shape[1], &w);
    for (int64_t i = 0; i < y->count; i++) {
        array_index(y, i, index);
        y->data[i] = maximum ? -INFINITY : 0;
        for (int64_t k = 0; k < w.size[0] * w.size[1]; k++) {
            double v = under(x, &w, index, index[1], k / w.size[1], k % w.size[1], maximum ? -INFINITY : 0);
            y->data[i] = maximum ? fmax(y->data[i], v) : y->data[i] + v / (double)(w.size[0] * w.size[1]);
        }
    }
}

void reference_max_pool2d(struct trial *t)
{
    pool(t, true);
}

void reference_avg_pool2d(struct trial *t)
{
    pool(t, false);
}
