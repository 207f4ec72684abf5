/*
 * mlp.c: a perceptron with two hidden layers learns to tell two spirals apart.
 *
 * Prints the loss before and after; ends with 1 when it did not fall under 0.05.
 */
#include "network.h"

#include <math.h>

enum { POINTS = 200, HIDDEN = 32, STEPS = 250 };

/* Points of two arms, with their arm's number. */
static void make_spirals(akg_tensor *x, akg_tensor *arm)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < POINTS; i++) {
        double along = (double)(i / 2) / (POINTS / 2), side = (double)(i % 2);
        double angle = 7 * along + side * 3.14159265358979, radius = 0.2 + 1.8 * along;
        akg_tensor_set(x, (int64_t[]){i, 0}, radius * cos(angle) + 0.05 * next_random(&state));
        akg_tensor_set(x, (int64_t[]){i, 1}, radius * sin(angle) + 0.05 * next_random(&state));
        akg_tensor_set(arm, &i, side);
    }
}

struct layer {
    akg_tensor *weight, *bias;
};

static struct layer make_layer(struct network *network, int64_t inputs, int64_t outputs)
{
    return (struct layer){parameter(network, 2, (int64_t[]){outputs, inputs}, 1 / sqrt((double)inputs)),
                          parameter(network, 1, &outputs, 0)};
}

/* Uses x up unless it is data. */
static akg_tensor *linear(struct network *network, akg_tensor *x, const struct layer *layer, bool is_data)
{
    akg_tensor *y = call(network, "linear", (akg_argument[]){tensor(x), tensor(layer->weight), tensor(layer->bias)}, 3);
    if (!is_data)
        akg_tensor_release(x);
    return y;
}

static akg_tensor *loss_of(struct network *network, akg_tensor *x, akg_tensor *arm, const struct layer *layers)
{
    akg_tensor *h = apply(network, "tanh", linear(network, x, &layers[0], true));
    h = apply(network, "tanh", linear(network, h, &layers[1], false));
    h = linear(network, h, &layers[2], false);
    akg_tensor *loss = call(network, "cross_entropy", (akg_argument[]){tensor(h), tensor(arm)}, 2);
    akg_tensor_release(h);
    return loss;
}

int main(void)
{
    struct network network;
    struct layer layers[3];
    akg_tensor *x, *arm;
    double first = 0, last = 0;

    network_begin(&network);
    demand(akg_tensor_create(AKG_FLOAT32, 2, (int64_t[]){POINTS, 2}, &x), NULL);
    demand(akg_tensor_create(AKG_INT32, 1, (int64_t[]){POINTS}, &arm), NULL);
    make_spirals(x, arm);
    layers[0] = make_layer(&network, 2, HIDDEN);
    layers[1] = make_layer(&network, HIDDEN, HIDDEN);
    layers[2] = make_layer(&network, HIDDEN, 2);
    for (int step = 0; step < STEPS; step++) {
        akg_tensor *loss = loss_of(&network, x, arm, layers);
        last = akg_tensor_get(loss, NULL);
        first = step ? first : last;
        network_step(&network, loss, 0.01);
        akg_tensor_release(loss);
    }
    printf("loss %.4f after 1 step, %.4f after %d\n", first, last, STEPS);
    akg_tensor_release(x);
    akg_tensor_release(arm);
    network_end(&network);
    return last < 0.05 ? 0 : 1;
}
