/*
 * tensor_format.c: a tensor as one line of text, "[[1, 2], [3, 4]]".
 *
 * Floats appear as the shortest decimal that reads back as the same element, without a final ".0".
 * Beyond 1000 elements an axis longer than 6 shows its first and last three, as numpy does.
 */
#include "tensor.h"

#include "../base/text.h"
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ABBREVIATE_ABOVE = 1000, EDGE_ITEMS = 3 };

/* The double nearest to `value` rounded to that many digits after the first, and the decimal exponent of
 * that. */
static double round_decimal(double value, int digits, int *exponent)
{
    char buffer[40];
    snprintf(buffer, sizeof buffer, "%.*e", digits, value);
    *exponent = atoi(strchr(buffer, 'e') + 1);
    return strtod(buffer, NULL);
}

/* The double nearest to the shortest decimal that reads back as this half: its own shortest decimal is then
 * the same. */
static double shortest_half(akg_dtype dtype, float value)
{
    enum { MOST_DIGITS = 6 };
    double magnitude = fabs((double)value), candidate = magnitude;
    bool found = !isfinite(value);
    for (int digits = 0; digits < MOST_DIGITS && !found; digits++) {
        int exponent;
        candidate = round_decimal(magnitude, digits, &exponent);
        found = (double)dtype_from_double(dtype, candidate).f == magnitude;
        if (!found) {
            /* Just above a power of two a half reaches further than below it, so that the
             * decimal on the far side may do where the nearest one does not. */
            candidate = round_decimal(candidate + pow(10.0, exponent - digits), digits, &exponent);
            found = (double)dtype_from_double(dtype, candidate).f == magnitude;
        }
    }
    return copysign(candidate, (double)value);
}

static void format_float(struct text *text, akg_dtype dtype, union dtype_value value)
{
    if (dtype == AKG_FLOAT64)
        text_double(text, value.d);
    else if (dtype == AKG_FLOAT32)
        text_float(text, value.f);
    else
        text_double(text, shortest_half(dtype, value.f));
    if (!text->failed && text->length > 2 && text->data[text->length - 1] == '0' &&
        text->data[text->length - 2] == '.') {
        text->length -= 2;
        text->data[text->length] = 0;
    }
}

static void format_element(struct text *text, akg_dtype dtype, const char *address)
{
    union dtype_value value = dtype_load(dtype, address);
    if (dtype_is_float(dtype))
        format_float(text, dtype, value);
    else if (dtype == AKG_BOOL)
        text_string(text, value.i ? "True" : "False");
    else if (dtype == AKG_UINT64)
        text_format(text, "%llu", (unsigned long long)value.i);
    else
        text_format(text, "%lld", (long long)value.i);
}

/* The part of the tensor from `axis` on, at `address`. At most AKG_MAX_RANK levels deep. */
static void format_axis(struct text *text, const akg_tensor *tensor, int axis, const char *address)
{
    if (axis == tensor->rank) {
        format_element(text, tensor->dtype, address);
        return;
    }
    int64_t dim = tensor_shape(tensor)[axis];
    /* the stride of one element is never gone, and may be any number */
    ptrdiff_t step = dim > 1 ? tensor_strides(tensor)[axis] * dtype_table[tensor->dtype].size : 0;
    bool abbreviated = tensor->element_count > ABBREVIATE_ABOVE && dim > 2 * EDGE_ITEMS;
    text_char(text, '[');
    for (int64_t i = 0; i < dim && !text->failed; i++) {
        if (abbreviated && i == EDGE_ITEMS) {
            text_string(text, ", ...");
            i = dim - EDGE_ITEMS;
        }
        if (i > 0)
            text_string(text, ", ");
        format_axis(text, tensor, axis + 1, address + i * step);
    }
    text_char(text, ']');
}

akg_status akg_tensor_format(const akg_tensor *tensor, char **text)
{
    struct text out;
    if (!text)
        return AKG_ERROR_USAGE;
    *text = NULL;
    if (!tensor)
        return AKG_ERROR_USAGE;
    akg_tensor *host;
    tensor_touch(tensor);
    akg_status status = tensor_to_host(tensor, &host, &(struct gpu_failure){0});
    if (status != AKG_OK)
        return status;
    text_init(&out);
    if (host->element_count == 0)
        text_string(&out, "[]");
    else
        format_axis(&out, host, 0, host->data);
    *text = text_take(&out);
    akg_tensor_release(host);
    return *text ? AKG_OK : AKG_ERROR_MEMORY;
}

void tensor_print_form(char *text, akg_dtype dtype, int rank, const int64_t *dims)
{
    int length = snprintf(text, TENSOR_FORM_TEXT, "%s[", dtype_table[dtype].name);

    /* it all fits, but the room that is left must not become less than none, and so a large size */
    for (int axis = 0; axis < rank && length < TENSOR_FORM_TEXT; axis++)
        length += snprintf(text + length, (size_t)(TENSOR_FORM_TEXT - length), axis ? ", %lld" : "%lld",
                           (long long)dims[axis]);
    if (length < TENSOR_FORM_TEXT)
        snprintf(text + length, (size_t)(TENSOR_FORM_TEXT - length), "]");
}

const char *tensor_unlike(const akg_tensor *given, akg_dtype dtype, int rank, const int64_t *dims,
                          const struct gpu_device *device, char *text)
{
    char is[TENSOR_FORM_TEXT], needed[TENSOR_FORM_TEXT];
    bool has_dtype = given->dtype == dtype;

    if (!has_dtype || given->rank != rank || !tensor_same_shape(rank, tensor_shape(given), dims)) {
        tensor_print_form(is, given->dtype, given->rank, tensor_shape(given));
        tensor_print_form(needed, dtype, rank, dims);
        snprintf(text, TENSOR_UNLIKE_TEXT, "has another %s: %s instead of %s", has_dtype ? "shape" : "dtype",
                 is, needed);
        return text;
    }
    if (!given->contiguous)
        return "is not contiguous";
    return given->device == device ? NULL : "is on another device than the arguments";
}
