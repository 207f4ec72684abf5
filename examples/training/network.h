/*
 * network.h: what the training examples share: calling operators of the standard library by name on a tape, and
 * a step of AdamW for each parameter.
 *
 * A failed call prints its messages and ends the program: an example may do so, the library never does.
 */
#ifndef EXAMPLES_NETWORK_H
#define EXAMPLES_NETWORK_H

#include <akg.h>

#include <stdio.h>
#include <stdlib.h>

#define MOST_PARAMETERS 16

struct network {
    akg_registry *registry;
    akg_tape *tape;
    struct {
        akg_tensor *weight, *mean, *square; /* the last two are AdamW's */
    } parameters[MOST_PARAMETERS];
    int parameter_count;
    int step;
};

static inline void demand(akg_status status, akg_diagnostics *diagnostics)
{
    char *text;
    if (status == AKG_OK) {
        akg_diagnostics_free(diagnostics);
        return;
    }
    if (akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &text) == AKG_OK)
        fputs(text, stderr);
    exit(1);
}

static inline akg_argument tensor(akg_tensor *value)
{
    return (akg_argument){.kind = AKG_ARGUMENT_TENSOR, .as.tensor = value};
}

static inline akg_argument integers(const char *name, const int64_t *items, size_t count)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_INTS, .as.ints = {.items = items, .count = count}};
}

/* Calls an operator that returns one tensor. */
static inline akg_tensor *call(struct network *network, const char *name, const akg_argument *arguments, size_t count)
{
    akg_diagnostics *diagnostics = NULL;
    akg_operator *found;
    akg_tensor *output = NULL;
    demand(akg_registry_find(network->registry, name, &found, &diagnostics), diagnostics);
    demand(akg_call(network->tape, found, arguments, count, &output, &diagnostics), diagnostics);
    return output;
}

/* The same for one that takes a tensor and nothing else, which it uses up. */
static inline akg_tensor *apply(struct network *network, const char *name, akg_tensor *x)
{
    akg_argument argument = tensor(x);
    akg_tensor *y = call(network, name, &argument, 1);
    akg_tensor_release(x);
    return y;
}

static inline void network_begin(struct network *network)
{
    akg_diagnostics *diagnostics = NULL;
    *network = (struct network){.registry = NULL};
    demand(akg_registry_create(&network->registry), NULL);
    demand(akg_tape_create(network->registry, &network->tape), diagnostics);
}

/* A parameter with normal values of the given spread; 0 for one that begins at zero. */
static inline akg_tensor *parameter(struct network *network, int rank, const int64_t *shape, double spread)
{
    int index = network->parameter_count++;
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *weight, *noise, *scale;
    demand(akg_tensor_create(AKG_FLOAT32, rank, shape, &noise), NULL);
    demand(akg_tensor_create(AKG_FLOAT32, rank, shape, &network->parameters[index].mean), NULL);
    demand(akg_tensor_create(AKG_FLOAT32, rank, shape, &network->parameters[index].square), NULL);
    demand(akg_tensor_create(AKG_FLOAT32, 0, NULL, &scale), NULL);
    akg_tensor_fill_normal(noise, (uint64_t)index + 1);
    akg_tensor_fill(scale, spread);
    weight = call(network, "multiply", (akg_argument[]){tensor(noise), tensor(scale)}, 2);
    demand(akg_tensor_set_requires_grad(weight, true, &diagnostics), diagnostics);
    akg_tensor_release(noise);
    akg_tensor_release(scale);
    return network->parameters[index].weight = weight;
}

/* One step of AdamW for every parameter, from the gradients of the loss. */
static inline void network_step(struct network *network, akg_tensor *loss, double rate)
{
    akg_diagnostics *diagnostics = NULL;
    bool recording;
    demand(akg_backward(network->tape, &loss, NULL, 1, false, &diagnostics), diagnostics);
    recording = akg_tape_set_recording(network->tape, false);
    network->step++;
    for (int i = 0; i < network->parameter_count; i++) {
        akg_tensor *weight = network->parameters[i].weight, *outputs[3] = {NULL, NULL, NULL};
        akg_argument arguments[] = {tensor(weight),
                                    tensor(akg_tensor_grad(weight)),
                                    tensor(network->parameters[i].mean),
                                    tensor(network->parameters[i].square),
                                    {.kind = AKG_ARGUMENT_INT, .as.integer = network->step},
                                    {.kind = AKG_ARGUMENT_FLOAT, .as.real = rate}};
        akg_operator *found;
        demand(akg_registry_find(network->registry, "adamw", &found, &diagnostics), diagnostics);
        demand(akg_call(network->tape, found, arguments, 6, outputs, &diagnostics), diagnostics);
        for (int k = 0; k < 3; k++)
            akg_tensor_release(outputs[k]); /* the tensors themselves, written in place */
        akg_tensor_clear_grad(weight);
    }
    akg_tape_set_recording(network->tape, recording);
}

static inline void network_end(struct network *network)
{
    for (int i = 0; i < network->parameter_count; i++) {
        akg_tensor_release(network->parameters[i].weight);
        akg_tensor_release(network->parameters[i].mean);
        akg_tensor_release(network->parameters[i].square);
    }
    akg_tape_release(network->tape);
    akg_registry_release(network->registry);
}

/* The next of a fixed sequence of numbers in [0, 1), for generated data. */
static inline double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
    return (double)(*state >> 33) / 2147483648.0;
}

#endif
