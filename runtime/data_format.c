/*
 * data_format.c: data formats. A format names an order of the axes, outermost first, and a tensor has it when
 * its elements lie in memory without gaps in that order.
 */
#include "data_format.h"

#include <stddef.h>
#include <string.h>

#include "tensor.h"

/* From the most to the least telling. Rank -1: of any; an order without axes: of any strides. */
static const struct {
    const char *name;
    int rank;
    int order[5];
} format_table[] = {
    {"NCHW", 4, {0, 1, 2, 3}},     {"NHWC", 4, {0, 2, 3, 1}}, {"NCDHW", 5, {0, 1, 2, 3, 4}},
    {"NDHWC", 5, {0, 2, 3, 4, 1}}, {"contiguous", -1, {0}},   {"default", -1, {0}},
};

enum { FORMATS = sizeof format_table / sizeof *format_table };

static int format_find(const char *format)
{
    for (int i = 0; format && i < FORMATS; i++)
        if (strcmp(format_table[i].name, format) == 0)
            return i;
    return format ? -1 : FORMATS - 1;
}

bool format_is_known(const char *format)
{
    return format_find(format) >= 0;
}

/* Whether element after element lies there, the axis order[rank - 1] varying fastest. */
static bool format_is_dense(const int *order, int rank, const int64_t *shape, const int64_t *strides)
{
    int64_t step = 1;

    for (int k = rank - 1; k >= 0; k--) {
        int axis = order ? order[k] : k;
        if (shape[axis] == 0)
            return true;
        if (shape[axis] != 1 && strides[axis] != step)
            return false;
        step *= shape[axis];
    }
    return true;
}

static bool format_row_fits(int row, int rank, const int64_t *shape, const int64_t *strides)
{
    if (row == FORMATS - 1)
        return true;
    if (format_table[row].rank < 0)
        return format_is_dense(NULL, rank, shape, strides);
    return rank == format_table[row].rank && format_is_dense(format_table[row].order, rank, shape, strides);
}

bool format_fits(const char *format, int rank, const int64_t *shape, const int64_t *strides)
{
    int row = format_find(format);

    return row >= 0 && format_row_fits(row, rank, shape, strides);
}

const char *format_name(int rank, const int64_t *shape, const int64_t *strides)
{
    int row = 0;

    while (!format_row_fits(row, rank, shape, strides))
        row++;
    return row == FORMATS - 1 ? "strided" : format_table[row].name;
}

void description_strides(const akg_description *description, const akg_tensor *tensor, int64_t *strides)
{
    int64_t step = 1;

    if (tensor) {
        memcpy(strides, tensor_strides(tensor), (size_t)tensor->rank * sizeof *strides);
        return;
    }
    for (int axis = description->rank - 1; axis >= 0; axis--) {
        strides[axis] = step;
        step *= description->shape[axis] ? description->shape[axis] : 1;
    }
}
