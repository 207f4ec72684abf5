/*
 * literal.h: numbers and nested lists of numbers, as they stand in a VALUE.
 *
 * Reads Python's spellings (1_000, 0xff, 1e-3, True, inf, nan), refuses ragged
 * lists, and makes tensors of any dtype in which every element fits.
 */
#ifndef TOOLS_LITERAL_H
#define TOOLS_LITERAL_H

#include "support.h"

enum element_kind {
    ELEMENT_BOOL,
    ELEMENT_INTEGER,
    ELEMENT_REAL,
    ELEMENT_HUGE /* spelled as an integer, beyond 64 bits */
};

/* One number: `real` always, and the exact magnitude when it is an integer. */
struct element {
    double real;
    uint64_t magnitude;
    enum element_kind kind;
    bool negative;
    bool overflow; /* finite as spelled, but beyond float64 */
};

/* Reads the number that *text starts with and moves *text behind it; false when there is none. */
bool element_scan(const char **text, struct element *element);
/* Whether the dtype can hold the element: whole and in range for integers, not rounded to infinity for
 * floats, 0 or 1 for bool. */
bool element_fits(const struct element *element, akg_dtype dtype);
/* As int64_t; false when it is not whole or does not fit. */
bool element_int64(const struct element *element, int64_t *integer);

/* The elements of a number or nested list, in order. Starts zeroed. */
struct literal {
    struct element *elements;
    size_t count, capacity;
    int rank; /* 0: a number */
    int64_t shape[AKG_MAX_RANK];
};

bool literal_push(struct literal *literal, const struct element *element, struct problem *problem);
/* Reads a number, or a list in brackets or parentheses, and moves *text behind it. As in Python,
 * parentheses round one item without a comma only group. */
bool literal_parse(const char **text, struct literal *literal, struct problem *problem);
/* A new tensor of the literal's shape. */
bool literal_tensor(const struct literal *literal, akg_dtype dtype, akg_tensor **tensor,
                    struct problem *problem);
/* A new tensor with every element `element`. */
bool literal_fill(const struct element *element, akg_dtype dtype, int rank, const int64_t *shape,
                  akg_tensor **tensor, struct problem *problem);
/* akg_tensor_create with its failures said in words. */
bool literal_create(akg_dtype dtype, int rank, const int64_t *shape, akg_tensor **tensor,
                    struct problem *problem);
void literal_free(struct literal *literal);

const char *text_skip_spaces(const char *text);

#endif
