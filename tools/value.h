/*
 * value.h: the VALUE of NAME=VALUE, read for the parameter it is given to.
 *
 *   None              an optional tensor left out
 *   3  0.5  True      a number: an attribute, or a 0-d tensor
 *   [[1,2],[3,4]]     a tensor, or a tuple of ints
 *   file.npy          a file; file.npz:key an array of one
 *   randn(2,3)        rand randn zeros ones full arange
 *   word "word"       a string attribute
 *
 * Literals, numbers, files and generators of tensors take a suffix :dtype.
 */
#ifndef TOOLS_VALUE_H
#define TOOLS_VALUE_H

#include "support.h"

/* An argument and what it owns. Starts zeroed. */
struct value {
    akg_argument argument; /* name is the parameter's */
    akg_tensor *tensor;
    char *string;
    int64_t *integers;
};

/* Reads `text` for `parameter`; one of a variadic parameter's values becomes AKG_ARGUMENT_TENSOR. `stream`
 * seeds rand and randn. */
bool value_parse(const char *text, const akg_parameter *parameter, uint64_t stream, struct value *value,
                 struct problem *problem);
void value_free(struct value *value);

/* The seed of one value's random stream: the --seed, the parameter's position and, for a variadic one,
 * which of its values it is. Streams of different values do not overlap in practice. */
uint64_t value_stream(uint64_t seed, size_t position, size_t occurrence);

#endif
