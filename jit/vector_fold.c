/*
 * vector_fold.c: nests of a few columns, some rows of which lie side by side in one vector.
 *
 * Consumes a nest whose extents are known, as values; says how many rows fill a vector together (of a product
 * of 4 x 4 all four), if it stores them one behind the other, and what it loads for them lies within the
 * bytes of two, so that this is loaded once and permuted into lanes (vector_x86_nest_fold.c).
 */
#include "vector.h"

enum { VECTOR_BYTES = 64, MOST_COLUMNS = 4 };

bool vector_may_fold(const struct vector_nest *nest, const struct vector_options *options)
{
    if (options->target != X86_TARGET_AVX512 || nest->first != VECTOR_ROWS || nest->is_while ||
        nest->merged || nest->inside)
        return false;
    for (int level = 0; level < nest->depth; level++)
        if (!vector_foreseen_extent(nest->loops[level]))
            return false;
    int columns = vector_foreseen_extent(nest->loops[VECTOR_COLUMNS]);
    return columns == MOST_COLUMNS || columns == MOST_COLUMNS / 2;
}

static bool suits(const struct vector_loop *loop, const struct vector_value *value)
{
    size_t size = loop->wide ? 8 : 4;
    switch (value->kind) {
    case VECTOR_LOAD:
    case VECTOR_STORE:
        return value->mask < 0 && (size_t)dtype_table[value->dtype].size == size;
    case VECTOR_INDEX:
    case VECTOR_GATHER:
    case VECTOR_TEST:
    case VECTOR_SCATTER:
    case VECTOR_REPEAT:
        return false;
    default:
        return true;
    }
}

/* In elements; -1: it is not known before the call, or goes back. */
static int64_t distance(const struct vector_stride *stride, int size)
{
    if (stride->kind == VECTOR_STAYS)
        return 0;
    return stride->kind == VECTOR_STRIDE && stride->bytes >= 0 ? stride->bytes / size : -1;
}

static bool lies_near(const struct vector_stream *stream, int columns, int fold)
{
    int size = dtype_table[stream->dtype].size;
    int64_t row = distance(&stream->strides[VECTOR_ROWS], size),
            column = distance(&stream->strides[VECTOR_COLUMNS], size);
    if (stream->is_stored && (row != columns || column != 1))
        return false;
    return row >= 0 && column >= 0 && row < VECTOR_BYTES && column < VECTOR_BYTES &&
           ((fold - 1) * row + (columns - 1) * column + 1) * size <= 2 * VECTOR_BYTES;
}

int vector_find_fold(const struct vector_nest *nest, const struct vector_loop *loop)
{
    int columns = vector_foreseen_extent(nest->loops[VECTOR_COLUMNS]),
        fold = VECTOR_BYTES / (loop->wide ? 8 : 4) / columns;
    if (vector_foreseen_extent(nest->loops[VECTOR_ROWS]) % fold)
        return 0;
    for (int k = 0; k < loop->values.count; k++)
        if (!suits(loop, &loop->values.items[k]))
            return 0;
    for (int k = 0; k < loop->streams.count; k++)
        if (!lies_near(&loop->streams.items[k], columns, fold))
            return 0;
    return fold;
}
