/*
 * convnet.c: a small convolutional network learns to tell images of horizontal, vertical and slanted bars apart.
 *
 * Prints the loss before and after; ends with 1 when it did not fall under 0.05.
 */
#include "network.h"

#include <math.h>

enum { IMAGES = 48, SIDE = 12, KINDS = 3, FILTERS = 6, STEPS = 40 };

/* Bars at random places, on noise. */
static void make_bars(akg_tensor *images, akg_tensor *kinds)
{
    uint64_t state = 7;
    for (int64_t n = 0; n < IMAGES; n++) {
        int64_t kind = n % KINDS, at = (int64_t)(next_random(&state) * SIDE);
        akg_tensor_set(kinds, &n, (double)kind);
        for (int64_t i = 0; i < SIDE; i++)
            for (int64_t j = 0; j < SIDE; j++) {
                bool bar = kind == 0 ? i == at : kind == 1 ? j == at : (i + j) % SIDE == at;
                akg_tensor_set(images, (int64_t[]){n, 0, i, j}, (bar ? 1 : 0) + 0.2 * next_random(&state));
            }
    }
}

struct net {
    akg_tensor *filters, *filter_bias, *weight, *bias;
};

static akg_tensor *loss_of(struct network *network, akg_tensor *images, akg_tensor *kinds, const struct net *net)
{
    const int64_t padding[2] = {1, 1}, flat[2] = {IMAGES, FILTERS * (SIDE / 2) * (SIDE / 2)};
    akg_tensor *h = call(network, "conv2d",
                         (akg_argument[]){tensor(images), tensor(net->filters), tensor(net->filter_bias),
                                          integers("padding", padding, 2)},
                         4);
    akg_tensor *rows, *logits, *loss;
    h = apply(network, "relu", h);
    h = apply(network, "max_pool2d", h);
    rows = call(network, "reshape", (akg_argument[]){tensor(h), integers("shape", flat, 2)}, 2);
    akg_tensor_release(h);
    logits = call(network, "linear", (akg_argument[]){tensor(rows), tensor(net->weight), tensor(net->bias)}, 3);
    akg_tensor_release(rows);
    loss = call(network, "cross_entropy", (akg_argument[]){tensor(logits), tensor(kinds)}, 2);
    akg_tensor_release(logits);
    return loss;
}

int main(void)
{
    const int64_t pooled = FILTERS * (SIDE / 2) * (SIDE / 2);
    struct network network;
    struct net net;
    akg_tensor *images, *kinds;
    double first = 0, last = 0;

    network_begin(&network);
    demand(akg_tensor_create(AKG_FLOAT32, 4, (int64_t[]){IMAGES, 1, SIDE, SIDE}, &images), NULL);
    demand(akg_tensor_create(AKG_INT32, 1, (int64_t[]){IMAGES}, &kinds), NULL);
    make_bars(images, kinds);
    net.filters = parameter(&network, 4, (int64_t[]){FILTERS, 1, 3, 3}, 0.4);
    net.filter_bias = parameter(&network, 1, (int64_t[]){FILTERS}, 0);
    net.weight = parameter(&network, 2, (int64_t[]){KINDS, pooled}, 1 / sqrt((double)pooled));
    net.bias = parameter(&network, 1, (int64_t[]){KINDS}, 0);
    for (int step = 0; step < STEPS; step++) {
        akg_tensor *loss = loss_of(&network, images, kinds, &net);
        last = akg_tensor_get(loss, NULL);
        first = step ? first : last;
        network_step(&network, loss, 0.02);
        akg_tensor_release(loss);
    }
    printf("loss %.4f after 1 step, %.4f after %d\n", first, last, STEPS);
    akg_tensor_release(images);
    akg_tensor_release(kinds);
    network_end(&network);
    return last < 0.05 ? 0 : 1;
}
