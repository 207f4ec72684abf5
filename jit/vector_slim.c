/*
 * vector_slim.c: loops over integers of 8 and 16 bits whose lanes need no more bits than these.
 *
 * Consumes the values of a vector loop, which are kept in lanes of 32 bits; produces the size of lanes that
 * is enough, and the range of each value. A lane holds the low bits of its value. Sums, products and bits of
 * low bits are low bits; comparisons, quotients, shifts to the right need the number itself, which is there
 * where its range fits, with or without a sign: of uint8(int32(a[i]) * 3 >> 2) all fits into 16 bits. Of the
 * target it asks whether what masks leave out is not touched in memory.
 */
#include "vector_slim.h"
#include "../base/number.h"

enum { WHOLE = 4 /* bytes of a lane that is not slim */ };

/* ---- ranges ------------------------------------------------------------------------------------------- */

static struct slim_range range_of_dtype(akg_dtype dtype)
{
    int bits = dtype_table[dtype].size * 8;
    if (bits == 64) /* of which all that is asked is what fits */
        return (struct slim_range){INT64_MIN, INT64_MAX, false};
    int64_t half = (int64_t)1 << (bits - 1);
    return dtype_is_signed(dtype) ? (struct slim_range){-half, half - 1, false}
                                  : (struct slim_range){0, 2 * half - 1, false};
}

bool slim_fits(const struct slim_range *range, int size, bool is_signed)
{
    int64_t half = (int64_t)1 << (8 * size - 1);
    return is_signed ? range->low >= -half && range->high < half : range->low >= 0 && range->high < 2 * half;
}

int64_t slim_constant(const struct vector_value *value)
{
    if (dtype_table[value->dtype].size > WHOLE)
        return (int64_t)value->bits;
    return dtype_is_signed(value->dtype) ? (int32_t)(uint32_t)value->bits : (int64_t)(uint32_t)value->bits;
}

/* What is left of numbers between the two when the dtype has cut them. */
static struct slim_range cut(akg_dtype dtype, int64_t low, int64_t high)
{
    struct slim_range all = range_of_dtype(dtype);
    if (low >= all.low && high <= all.high)
        return (struct slim_range){low, high, false};
    all.wraps = true;
    return all;
}

static struct slim_range product(akg_dtype dtype, const struct slim_range *a, const struct slim_range *b)
{
    int64_t low = INT64_MAX, high = INT64_MIN, ends[4];
    bool overflows = __builtin_mul_overflow(a->low, b->low, &ends[0]) ||
                     __builtin_mul_overflow(a->low, b->high, &ends[1]) ||
                     __builtin_mul_overflow(a->high, b->low, &ends[2]) ||
                     __builtin_mul_overflow(a->high, b->high, &ends[3]);
    for (int k = 0; k < 4 && !overflows; k++) {
        low = number_smaller(low, ends[k]);
        high = number_larger(high, ends[k]);
    }
    return overflows ? cut(dtype, INT64_MIN, INT64_MAX) : cut(dtype, low, high);
}

/* The bits of both taken together in whatever way. */
static struct slim_range bitwise(enum operation operation, const struct slim_range *a,
                                 const struct slim_range *b)
{
    int64_t size = 1;
    if (operation == OP_BITAND && (a->low >= 0 || b->low >= 0))
        return (struct slim_range){0,
                                   a->low < 0   ? b->high
                                   : b->low < 0 ? a->high
                                                : number_smaller(a->high, b->high),
                                   false};
    while (number_smaller(a->low, b->low) < -size || number_larger(a->high, b->high) >= size)
        size *= 2;
    return (struct slim_range){number_smaller(a->low, b->low) < 0 ? -size : 0, size - 1, false};
}

static struct slim_range magnitude(akg_dtype dtype, const struct slim_range *a)
{
    return a->low >= 0 ? *a : cut(dtype, number_larger(0, -a->high), number_larger(-a->low, a->high));
}

int slim_shift(const struct vector_loop *loop, const struct vector_value *value)
{
    return (int)(loop->values.items[value->operands[1]].bits &
                 (uint64_t)(8 * dtype_table[value->dtype].size - 1));
}

static struct slim_range range_of_operation(const struct vector_loop *loop, const struct vector_slim *slim,
                                            const struct vector_value *value)
{
    static const struct slim_range none = {0, 0, false};
    const struct slim_range *a = &slim->ranges[value->operands[0]],
                            *b = value->operands[1] >= 0 ? &slim->ranges[value->operands[1]] : &none;
    akg_dtype dtype = value->dtype;

    struct slim_range blend;
    switch (value->operation) {
    case OP_ADD:
        return slim_blend_range(loop, slim, value, &blend) ? cut(dtype, blend.low, blend.high)
                                                           : cut(dtype, a->low + b->low, a->high + b->high);
    case OP_SUB:
        return cut(dtype, a->low - b->high, a->high - b->low);
    case OP_MUL:
        return product(dtype, a, b);
    case OP_NEG:
        return cut(dtype, -a->high, -a->low);
    case OP_BITNOT:
        return cut(dtype, -1 - a->high, -1 - a->low);
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
        return bitwise(value->operation, a, b);
    case OP_SHL: {
        struct slim_range power = {(int64_t)1 << slim_shift(loop, value),
                                   (int64_t)1 << slim_shift(loop, value), false};
        return product(dtype, a, &power);
    }
    case OP_SHR:
        return (struct slim_range){a->low >> slim_shift(loop, value), a->high >> slim_shift(loop, value),
                                   false};
    case OP_MIN:
        return (struct slim_range){number_smaller(a->low, b->low), number_smaller(a->high, b->high), false};
    case OP_MAX:
        return (struct slim_range){number_larger(a->low, b->low), number_larger(a->high, b->high), false};
    case OP_ABS:
        return magnitude(dtype, a);
    case OP_SIGN:
        return (struct slim_range){a->low < 0 ? -1 : 0, 1, false};
    case OP_FLOORDIV:
        if (b->low < 1)
            return range_of_dtype(dtype);
        return (struct slim_range){number_floor_divide(a->low, b->low), number_floor_divide(a->high, b->low),
                                   false};
    case OP_SELECT: {
        const struct slim_range *c = &slim->ranges[value->operands[2]];
        return (struct slim_range){number_smaller(b->low, c->low), number_larger(b->high, c->high), false};
    }
    default: /* OP_CAST */
        return value->from == AKG_BOOL ? (struct slim_range){0, 1, false} : cut(dtype, a->low, a->high);
    }
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* Integers of at most 32 bits, and truth values. */
static bool is_narrow(akg_dtype dtype)
{
    return dtype == AKG_BOOL || (dtype_is_integer(dtype) && dtype_table[dtype].size <= WHOLE);
}

/* Whether lanes hold the number itself. */
static bool holds(const struct vector_slim *slim, int number)
{
    const struct slim_range *range = &slim->ranges[number];
    return slim_fits(range, slim->size, true) || slim_fits(range, slim->size, false);
}

/* Both alike. */
static bool holds_both(const struct vector_slim *slim, int a, int b)
{
    for (int is_signed = 0; is_signed < 2; is_signed++)
        if (slim_fits(&slim->ranges[a], slim->size, is_signed) &&
            slim_fits(&slim->ranges[b], slim->size, is_signed))
            return true;
    return false;
}

static bool is_constant(const struct vector_loop *loop, int number)
{
    return loop->values.items[number].kind == VECTOR_CONSTANT;
}

/* Whether the element is loaded in each iteration whatever the mask is, so that a whole vector of it may be
 * loaded, and stored again. */
static bool is_there(const struct vector_loop *loop, const struct vector_value *value)
{
    if (value->mask < 0)
        return true;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *other = &loop->values.items[k];
        if (other->kind == VECTOR_LOAD && other->mask < 0 && other->stream == value->stream &&
            other->offset == value->offset)
            return true;
    }
    return false;
}

/* Whether the other one of each two elements is loaded too, so that both may be loaded together. */
static bool is_half_of_pair(const struct vector_loop *loop, const struct vector_value *value)
{
    int other = slim_pair(loop, value) == value->offset ? value->offset + 1 : value->offset - 1;
    for (int k = 0; k < loop->values.count && value->kind == VECTOR_LOAD && value->mask < 0; k++) {
        const struct vector_value *row = &loop->values.items[k];
        if (row->kind == VECTOR_LOAD && row->mask < 0 && row->stream == value->stream && row->offset == other)
            return true;
    }
    return false;
}

int slim_pair(const struct vector_loop *loop, const struct vector_value *value)
{
    return value->offset - (value->offset - loop->streams.items[value->stream].low) % 2;
}

const struct vector_value *slim_last_of_group(const struct vector_loop *loop,
                                              const struct vector_value *store)
{
    const struct vector_stream *stream = &loop->streams.items[store->stream];
    const struct vector_value *last = NULL;
    unsigned seen = 0;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool is_one = value->kind == VECTOR_STORE && value->stream == store->stream;
        if (!is_one && seen + 1 != 1u << stream->step && seen && value->stream >= 0 &&
            loop->streams.items[value->stream].access->buffer == stream->access->buffer)
            return NULL;
        if (!is_one)
            continue;
        unsigned bit = 1u << (value->offset - stream->low);
        if (value->mask >= 0 || seen & bit)
            return NULL;
        seen |= bit;
        last = value;
    }
    return seen + 1 == 1u << stream->step && stream->high - stream->low + 1 == stream->step ? last : NULL;
}

/* Every second to fourth element, forwards or backwards. */
static bool can_permute(const struct vector_loop *loop, const struct vector_slim *slim,
                        const struct vector_value *value)
{
    enum { MOST = 4 };
    int64_t step = loop->streams.items[value->stream].step;
    if (!slim->permutes || value->mask >= 0 || step < -MOST || step > MOST || step == 0 || step == 1)
        return false;
    return value->kind == VECTOR_LOAD || (step > 1 && slim_last_of_group(loop, value));
}

static bool is_slim_access(const struct vector_loop *loop, const struct vector_slim *slim,
                           const struct vector_value *value)
{
    const struct vector_stream *stream = &loop->streams.items[value->stream];
    if (stream->is_gathered || dtype_table[value->dtype].size > slim->size)
        return false;
    if (stream->step_kind == VECTOR_CONSTANT_STEP)
        return can_permute(loop, slim, value) ||
               (stream->step == -1 ? value->kind == VECTOR_LOAD && value->mask < 0
                                   : stream->step == 2 && is_half_of_pair(loop, value));
    return stream->step_kind == VECTOR_UNIT && (slim->has_masks || is_there(loop, value));
}

/* Sums of numbers that lanes hold; what leaves the result as it is when it is done once more. */
static bool is_slim_accumulation(const struct vector_loop *loop, const struct vector_slim *slim,
                                 const struct vector_value *value)
{
    int size = dtype_table[value->dtype].size;
    bool is_extreme = value->operation == OP_MIN || value->operation == OP_MAX;
    if (loop->accumulators.items[value->slot].role != VECTOR_REDUCED || !dtype_is_integer(value->dtype))
        return false;
    if (value->operation == OP_ADD)
        return size >= WHOLE && holds(slim, value->operands[0]);
    return size <= slim->size &&
           (is_extreme || value->operation == OP_BITAND || value->operation == OP_BITOR);
}

/* Whether it is only added up: of 64 bits then those of the lane are enough. */
static bool is_term(const struct vector_loop *loop, int number)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *user = &loop->values.items[k];
        bool is_sum = user->kind == VECTOR_ACCUMULATE && user->operation == OP_ADD;
        for (int operand = 0; operand < 3; operand++)
            if (user->operands[operand] == number && !is_sum)
                return false;
    }
    return true;
}

/* A number of 64 bits that says what one of fewer does. */
static bool is_wide_term(const struct vector_loop *loop, int number)
{
    const struct vector_value *value = &loop->values.items[number];
    bool is_cast = value->kind == VECTOR_OPERATION && value->operation == OP_CAST && is_narrow(value->from);
    return dtype_is_integer(value->dtype) && (is_cast || value->kind == VECTOR_CONSTANT) &&
           is_term(loop, number);
}

static bool is_slim_operation(const struct vector_loop *loop, const struct vector_slim *slim,
                              const struct vector_value *value)
{
    int a = value->operands[0], b = value->operands[1];
    if (!is_narrow(value->from))
        return false;
    switch (value->operation) {
    case OP_AND:
    case OP_OR:
    case OP_NOT:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
    case OP_BITNOT:
    case OP_SELECT:
        return true;
    case OP_SHL:
        return is_constant(loop, b);
    case OP_SHR:
        return is_constant(loop, b) && holds(slim, a);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
        return value->from == AKG_BOOL || holds_both(slim, a, b);
    case OP_MIN:
    case OP_MAX:
        return holds_both(slim, a, b);
    case OP_ABS:
        return slim->ranges[a].low >= 0 || slim_fits(&slim->ranges[a], slim->size, true);
    case OP_SIGN:
        return holds(slim, a);
    case OP_FLOORDIV: /* by a constant: vector_divide.c */
        return slim->size == 2 && slim->ranges[b].low > 1 && holds(slim, a);
    case OP_CAST:
        return value->from == AKG_BOOL || value->dtype != AKG_BOOL || holds(slim, a);
    default:
        return false;
    }
}

/* False: it has none. */
static bool set_range(const struct vector_loop *loop, struct vector_slim *slim, int number)
{
    const struct vector_value *value = &loop->values.items[number];
    bool is_sum = value->kind == VECTOR_ACCUMULATE && value->operation == OP_ADD;
    if (!is_narrow(value->dtype) && !is_sum && !is_wide_term(loop, number))
        return false;
    if (value->kind == VECTOR_OPERATION && !is_narrow(value->from))
        return false;
    struct slim_range *range = &slim->ranges[number];
    if (value->kind == VECTOR_CONSTANT)
        *range = (struct slim_range){slim_constant(value), slim_constant(value), false};
    else if (value->kind == VECTOR_OPERATION && value->type != VECTOR_MASK)
        *range = range_of_operation(loop, slim, value);
    else if (value->kind == VECTOR_SCALAR || value->kind == VECTOR_LOAD || value->kind == VECTOR_GATHER)
        *range = range_of_dtype(value->dtype);
    return true;
}

/* False: lanes of that size are too small for the value. */
static bool is_slim_value(const struct vector_loop *loop, const struct vector_slim *slim, int number)
{
    const struct vector_value *value = &loop->values.items[number];
    switch (value->kind) {
    case VECTOR_CONSTANT:
    case VECTOR_SCALAR:
        return true;
    case VECTOR_LOAD:
    case VECTOR_STORE:
        return is_slim_access(loop, slim, value);
    case VECTOR_GATHER:
        return value->bits > VECTOR_ROW && slim->permutes;
    case VECTOR_ACCUMULATE:
        return is_slim_accumulation(loop, slim, value);
    case VECTOR_OPERATION:
        return slim->forms[number].idiom != SLIM_PLAIN || is_slim_operation(loop, slim, value);
    default:
        return false;
    }
}

static int *uses_of(struct arena *arena, const struct vector_loop *loop)
{
    int *uses = arena_array(arena, int, loop->values.count);
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        for (int operand = 0; operand < 3; operand++)
            if (value->operands[operand] >= 0)
                uses[value->operands[operand]]++;
    }
    return uses;
}

bool vector_is_slim(struct arena *arena, const struct vector_loop *loop, const struct vector_options *options,
                    struct vector_slim *slim)
{
    slim->has_masks = options->target == X86_TARGET_AVX512;
    slim->permutes = slim->has_masks && options->permutes;
    if (!loop->streams.count || loop->calls || loop->stops || loop->is_serial || loop->is_rest ||
        loop->choices.count || loop->late.count)
        return false;
    slim->ranges = arena_array(arena, struct slim_range, loop->values.count);
    slim->forms = arena_array(arena, struct slim_form, loop->values.count);
    for (int k = 0; k < loop->values.count; k++)
        if (!set_range(loop, slim, k))
            return false;
    int *uses = uses_of(arena, loop);
    for (slim->size = 1; slim->size < WHOLE; slim->size *= 2) {
        int fits = 0;
        slim_find_forms(slim, loop, uses);
        while (fits < loop->values.count && is_slim_value(loop, slim, fits))
            fits++;
        if (fits == loop->values.count)
            return true;
    }
    return false;
}
