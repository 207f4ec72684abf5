/*
 * decode_expression.c: see decode.h. Expressions of a wanted dtype, indices.
 */
#include "decode.h"

#include <stdint.h>

akg_dtype decode_dtype(struct decoder *d)
{
    static const akg_dtype usual[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64};
    int kind = decode_pick(d, 2 * AKG_DTYPE_COUNT);

    return kind < AKG_DTYPE_COUNT ? (akg_dtype)kind : usual[kind % 4];
}

struct ir_buffer *decode_buffer(struct decoder *d, bool writable)
{
    int made = 0, index, others = d->kernel->buffers.count;

    if (d->temporary_count && decode_pick(d, 4) == 0)
        return d->temporaries[decode_pick(d, d->temporary_count)];
    index = decode_pick(d, others);
    for (;; index = (index + 1) % others, made++) {
        struct ir_buffer *buffer = d->kernel->buffers.items[index];
        if (buffer->role != IR_TEMPORARY && (!writable || buffer->role != IR_INPUT))
            return buffer; /* there always is an output */
    }
}

/* ---- constants --------------------------------------------------------------------------------- */

struct ir_expr *decode_constant(struct decoder *d, akg_dtype dtype)
{
    static const int64_t wholes[] = {0,  1,   2,    3,         -1,        7,         31,
                                     63, 100, -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    static const double reals[] = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.5,
                                   0.1,
                                   3.7,
                                   1e10,
                                   -2.5,
                                   1e-8,
                                   65519,
                                   1e300,
                                   0.5,
                                   __builtin_inf(),
                                   __builtin_nan("")};

    if (dtype_is_float(dtype)) {
        double value = reals[decode_pick(d, 14)];
        return ir_real(d->kernel, dtype, dtype_to_double(dtype, dtype_from_double(dtype, value)));
    }
    if (dtype == AKG_BOOL)
        return ir_integer(d->kernel, dtype, decode_pick(d, 2));
    return ir_integer(d->kernel, dtype, dtype_wrap(dtype, decode_number(d, wholes[decode_pick(d, 14)])));
}

int64_t decode_number(struct decoder *d, int64_t value)
{
    static const int64_t far[] = {
        INT64_MAX,        INT64_MIN,        INT64_MAX - 1,          INT64_MIN + 1,
        INT64_MAX - 7,    INT64_MIN + 9,    INT64_C(1) << 62,       -(INT64_C(1) << 62),
        INT32_MAX,        INT32_MIN,        (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1,
        INT64_C(1) << 56, INT64_C(1) << 40, INT64_C(1) << 32,       -1};
    int kind = d->is_far ? decode_pick(d, 64) : 63;

    return kind < 16 ? far[kind] : value;
}

static struct ir_expr *decode_int64(struct decoder *d, int64_t value)
{
    return ir_integer(d->kernel, AKG_INT64, decode_number(d, value));
}

static struct ir_expr *decode_binary(struct decoder *d, enum operation operation, struct ir_expr *a,
                                     struct ir_expr *b)
{
    return ir_operation(d->kernel, operation, a, b, NULL);
}

/* ---- small integers, indices --------------------------------------------------------------------- */

static struct ir_expr *decode_dim(struct decoder *d)
{
    if (!d->kernel->dims.count)
        return decode_int64(d, 1 + decode_pick(d, 6));
    return ir_symbol_use(d->kernel, d->kernel->dims.items[decode_pick(d, d->kernel->dims.count)]);
}

static struct ir_expr *decode_loop_or_dim(struct decoder *d)
{
    if (d->loop_count && decode_pick(d, 4))
        return ir_symbol_use(d->kernel, d->loops[decode_pick(d, d->loop_count)]);
    return decode_dim(d);
}

/* At most what an extent is, or a loop over one, and some. */
static struct ir_expr *decode_least(struct decoder *d, struct ir_expr *value)
{
    return decode_binary(d, OP_MIN, value, decode_int64(d, 9));
}

struct ir_expr *decode_small(struct decoder *d)
{
    struct ir_expr *a;

    switch (decode_pick(d, 8)) {
    case 0:
    case 1:
    case 2:
        return decode_dim(d);
    case 3:
        return decode_least(d, decode_loop_or_dim(d));
    case 4:
        return decode_least(d, decode_binary(d, OP_ADD, decode_loop_or_dim(d), decode_int64(d, 1)));
    case 5:
        return decode_int64(d, decode_pick(d, 9));
    case 6:
        a = decode_dim(d);
        return decode_binary(d, OP_SUB, a, decode_int64(d, decode_pick(d, 3)));
    default:
        return decode_binary(d, OP_MOD, decode_expression(d, AKG_INT64, 2), decode_int64(d, 5));
    }
}

/* Around what the axis has. */
static struct ir_expr *decode_affine(struct decoder *d, const struct ir_expr *shape)
{
    struct ir_expr *a = decode_loop_or_dim(d), *extent = ir_expr_substitute(d->kernel, shape);

    switch (decode_pick(d, 12)) {
    case 0:
        return decode_binary(d, OP_ADD, a, decode_int64(d, decode_pick(d, 4)));
    case 1:
        return decode_binary(d, OP_SUB, a, decode_int64(d, decode_pick(d, 4)));
    case 2:
        return decode_binary(d, OP_SUB, decode_binary(d, OP_SUB, extent, decode_int64(d, 1)), a);
    case 3:
        return decode_binary(d, OP_MUL, a, decode_int64(d, decode_pick(d, 4)));
    case 4:
        return decode_binary(d, OP_FLOORDIV, a, decode_int64(d, decode_pick(d, 5) - 2));
    case 5:
        return decode_binary(d, OP_MOD, a, decode_int64(d, decode_pick(d, 5) - 2));
    case 6:
        return decode_binary(d, OP_MOD, a, extent);
    case 7:
        return decode_binary(d, OP_MIN, a, decode_binary(d, OP_SUB, extent, decode_int64(d, 1)));
    case 8:
        return decode_binary(d, OP_MAX, decode_binary(d, OP_SUB, a, decode_int64(d, 1)), decode_int64(d, 0));
    case 9:
        return decode_binary(d, OP_ADD, a, decode_loop_or_dim(d));
    case 10:
        a = decode_binary(d, OP_MUL, a, decode_dim(d));
        return decode_binary(d, OP_ADD, a, decode_loop_or_dim(d));
    default:
        return decode_binary(d, OP_SUB, a, decode_loop_or_dim(d));
    }
}

static struct ir_expr *decode_index(struct decoder *d, const struct ir_expr *extent, int depth)
{
    int kind = decode_pick(d, 16);

    if (kind < 8 && d->loop_count)
        return ir_symbol_use(d->kernel, d->loops[decode_pick(d, d->loop_count)]);
    if (kind < 11)
        return decode_affine(d, extent);
    if (kind == 11)
        return decode_int64(d, decode_pick(d, 4));
    if (kind == 12 && depth > 0)
        return decode_expression(d, AKG_INT64, depth - 1);
    if (kind == 13)
        return ir_symbol_use(d->kernel, d->kernel->attributes.items[0]);
    if (depth > 0)
        return decode_binary(d, OP_MOD, decode_expression(d, AKG_INT64, depth - 1),
                             ir_expr_substitute(d->kernel, extent));
    return decode_int64(d, 0);
}

struct ir_expr *decode_load(struct decoder *d, struct ir_buffer *buffer, int depth)
{
    struct ir_expr *indices[AKG_MAX_RANK];

    for (int axis = 0; axis < buffer->rank; axis++)
        indices[axis] = decode_index(d, buffer->shape[axis], depth);
    return ir_load(d->kernel, buffer, indices);
}

/* ---- expressions ----------------------------------------------------------------------------------- */

static struct ir_expr *decode_cast(struct decoder *d, akg_dtype dtype, struct ir_expr *value)
{
    return value->dtype == dtype ? value : ir_cast(d->kernel, dtype, value);
}

/* What has nothing below it: of any dtype, then cast. */
static struct ir_expr *decode_leaf(struct decoder *d, akg_dtype dtype)
{
    int kind = decode_pick(d, 12);

    if (kind < 3 && d->scalar_count)
        return decode_cast(d, dtype, ir_symbol_use(d->kernel, d->scalars[decode_pick(d, d->scalar_count)]));
    if (kind == 3)
        return decode_cast(d, dtype,
                           ir_symbol_use(d->kernel, d->kernel->attributes.items[decode_pick(d, 3)]));
    if (kind == 4)
        return decode_cast(d, dtype, decode_loop_or_dim(d));
    if (kind < 10 && d->nodes > 0)
        return decode_cast(d, dtype, decode_load(d, decode_buffer(d, false), 1));
    return decode_constant(d, dtype);
}

static bool decode_takes(enum operation operation, akg_dtype dtype)
{
    switch (operation_table[operation].rule) {
    case RULE_NUMERIC:
        return dtype != AKG_BOOL;
    case RULE_FLOATING:
        return dtype_is_float(dtype);
    case RULE_INTEGRAL:
        return dtype_is_integer(dtype);
    case RULE_BITWISE:
        return !dtype_is_float(dtype);
    default:
        return false;
    }
}

static struct ir_expr *decode_operation(struct decoder *d, akg_dtype dtype, int depth)
{
    enum operation operation = (enum operation)decode_pick(d, OPERATION_COUNT);
    struct ir_expr *operands[3] = {NULL, NULL, NULL};

    if (!decode_takes(operation, dtype))
        operation = dtype == AKG_BOOL ? OP_BITXOR : decode_pick(d, 2) ? OP_ADD : OP_MUL;
    for (int k = 0; k < operation_table[operation].arity; k++)
        operands[k] = decode_expression(d, dtype, depth - 1);
    return ir_operation(d->kernel, operation, operands[0], operands[1], operands[2]);
}

static struct ir_expr *decode_truth(struct decoder *d, int depth)
{
    static const enum operation comparisons[] = {OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE};
    static const enum operation classes[] = {OP_ISNAN, OP_ISINF, OP_ISFINITE};
    static const akg_dtype floats[] = {AKG_FLOAT16, AKG_BFLOAT16, AKG_FLOAT32, AKG_FLOAT64};
    int kind = decode_pick(d, 8);
    enum operation operation;
    struct ir_expr *left;

    if (kind < 2) {
        operation = comparisons[decode_pick(d, 6)];
        left = decode_loop_or_dim(d);
        return decode_binary(d, operation, left, decode_small(d));
    }
    if (kind < 4) {
        akg_dtype dtype = decode_dtype(d);
        operation = comparisons[dtype == AKG_BOOL ? 4 + decode_pick(d, 2) : decode_pick(d, 6)];
        left = decode_expression(d, dtype, depth - 1);
        return decode_binary(d, operation, left, decode_expression(d, dtype, depth - 1));
    }
    if (kind == 4) {
        operation = classes[decode_pick(d, 3)];
        return decode_binary(d, operation, decode_expression(d, floats[decode_pick(d, 4)], depth - 1), NULL);
    }
    left = decode_expression(d, AKG_BOOL, depth - 1);
    if (kind == 5)
        return decode_binary(d, OP_NOT, left, NULL);
    return decode_binary(d, kind == 6 ? OP_AND : OP_OR, left, decode_expression(d, AKG_BOOL, depth - 1));
}

struct ir_expr *decode_expression(struct decoder *d, akg_dtype dtype, int depth)
{
    int kind = depth > 0 && d->nodes-- > 0 ? decode_pick(d, 8) : 0;
    struct ir_expr *condition, *value;

    if (kind < 3)
        return decode_leaf(d, dtype);
    if (kind == 3) {
        condition = decode_expression(d, AKG_BOOL, depth - 1);
        value = decode_expression(d, dtype, depth - 1);
        return ir_operation(d->kernel, OP_SELECT, condition, value, decode_expression(d, dtype, depth - 1));
    }
    if (kind == 4)
        return decode_cast(d, dtype, decode_expression(d, decode_dtype(d), depth - 1));
    if (dtype == AKG_BOOL && kind < 7)
        return decode_truth(d, depth);
    return decode_operation(d, dtype, depth);
}
