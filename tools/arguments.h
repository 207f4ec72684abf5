/*
 * arguments.h: the NAME=VALUE words of the command line as the arguments of one
 * kernel's call.
 */
#ifndef TOOLS_ARGUMENTS_H
#define TOOLS_ARGUMENTS_H

#include "value.h"

/* Starts zeroed; `items` is what akg_kernel_call takes, in the order of the parameters. */
struct arguments {
    akg_argument *items;
    size_t count;
    struct value *values; /* what owns them, in the order of the words */
    size_t value_count;
    akg_tensor **variadic; /* the tensors of a variadic parameter */
};

/* Whether a word is NAME=VALUE; anything else among the words is no value. */
bool arguments_is_value(const char *word);
/* Reads every NAME=VALUE among the words. A name that the kernel does not have, one given twice, and a
 * parameter without default and value are problems. */
bool arguments_bind(akg_kernel *kernel, char *const *words, int count, uint64_t seed,
                    struct arguments *arguments, struct problem *problem);
/* What is called, where it is more than a kernel: its name, and its parameters, of which messages list the
 * first `listed`. `at` is akg_kernel_parameter for it. */
struct parameters {
    const char *name;
    bool (*at)(const void *callee, size_t index, akg_parameter *parameter);
    const void *callee;
    size_t listed;
};
bool arguments_bind_to(const struct parameters *parameters, char *const *words, int count, uint64_t seed,
                       struct arguments *arguments, struct problem *problem);
/* Puts copies on a device in the place of all tensors. */
bool arguments_move(struct arguments *arguments, akg_device device, struct problem *problem);
/* The same for one tensor, whose reference is taken over. */
bool arguments_move_tensor(akg_tensor **tensor, akg_device device, struct problem *problem);
/* Puts copies in memory of the host in the place of tensors that lie on a device; entries may be NULL. */
bool arguments_fetch(akg_tensor **tensors, size_t count, struct problem *problem);
void arguments_free(struct arguments *arguments);

#endif
