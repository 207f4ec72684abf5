/*
 * vector_expression.c: expressions of a loop as vector values.
 *
 * Consumes expressions of the body; produces values. What is the same in all iterations is handed in as a
 * scalar, computed by C before the loop. Operands that are evaluated only sometimes are evaluated always:
 * nothing in them may stop the kernel, and their loads are masked by the condition.
 */
#include "../base/number.h"
#include "pass.h"
#include "scalar.h"
#include "vector_build.h"

/* ---- what does not change -------------------------------------------------------------------- */

bool vector_is_declared(const struct ir_stmt *stmt, const struct ir_symbol *symbol)
{
    return ir_block_declares(stmt->body, symbol);
}

static bool symbol_is_invariant(const struct vector_builder *builder, const struct ir_symbol *symbol)
{
    switch (symbol->kind) {
    case IR_SYMBOL_DIM:
    case IR_SYMBOL_ATTRIBUTE:
        return true;
    case IR_SYMBOL_LOOP:
        return symbol != builder->stmt->symbol && !vector_memo_declares(builder, symbol);
    case IR_SYMBOL_LET:
        return !vector_memo_declares(builder, symbol);
    case IR_SYMBOL_VARIABLE:
        return !vector_memo_declares(builder, symbol) && !ir_block_assigns(builder->stmt->body, symbol);
    }
    return false;
}

bool vector_may_test_first(const struct vector_builder *builder)
{
    const struct vector_loop *loop = builder->loop;
    return builder->mask < 0 && builder->stores == 0 && !builder->after_test &&
           !(loop && (loop->stops || loop->reaches.count));
}

/* An element that does not move with the loop is none that a parallel loop stores: another iteration would
 * depend on that. Where there is but one iteration, it may be what this one stores after it was loaded. */
static bool may_be_stored(const struct vector_builder *builder, const struct ir_buffer *buffer)
{
    return vector_stores_into(builder, buffer) && !(builder->is_parallel && builder->stores == 0);
}

/* Under a condition, it may be that which keeps the divisor from being 0. */
static bool must_stay(const struct vector_builder *builder, const struct ir_expr *expr)
{
    return (builder->mask >= 0 || builder->is_guarded) &&
           ir_can_divide_by_zero(expr->operation, expr->operands[0]->dtype) &&
           !ir_is_positive(expr->operands[1]) &&
           (expr->operands[1]->kind != IR_INTEGER || expr->operands[1]->integer == 0);
}

/* Whether an earlier part of the iteration loads the element in any case: then it is loaded before the loop.
 */
static bool is_loaded(const struct vector_builder *builder, const struct ir_expr *load)
{
    const struct vector_loop *loop = builder->loop;
    for (int k = 0; loop && k < loop->arguments.count; k++)
        if (loop->arguments.items[k].kind == VECTOR_ARGUMENT_VALUE &&
            ir_expr_equal(loop->arguments.items[k].value, load))
            return true;
    return false;
}

bool vector_is_invariant(const struct vector_builder *builder, const struct ir_expr *expr)
{
    switch (expr->kind) {
    case IR_INTEGER:
    case IR_REAL:
        return true;
    case IR_SYMBOL:
        return symbol_is_invariant(builder, expr->symbol);
    case IR_LOAD:
        if (may_be_stored(builder, expr->access.buffer) ||
            ((builder->mask >= 0 || builder->is_guarded) && expr->access.buffer->rank > 0 && /* it is there */
             !is_loaded(builder, expr)))
            return false;
        for (int axis = 0; axis < expr->access.buffer->rank; axis++) {
            bool tested = expr->access.checks[axis] == IR_CHECK_ELEMENT && !builder->options->trust_indices;
            if ((tested && !vector_may_test_first(builder)) ||
                !vector_is_invariant(builder, expr->access.indices[axis]))
                return false;
        }
        return true;
    case IR_OPERATION:
        if ((expr->checked && !vector_may_test_first(builder)) || must_stay(builder, expr))
            return false;
        for (int k = 0; k < expr->count; k++)
            if (!vector_is_invariant(builder, expr->operands[k]))
                return false;
        return true;
    }
    return false;
}

int vector_invariant_slot(struct vector_builder *builder, const struct ir_expr *expr)
{
    const struct vector_loop *loop = builder->loop;
    for (int k = 0; k < loop->arguments.count; k++)
        if (loop->arguments.items[k].kind == VECTOR_ARGUMENT_VALUE &&
            ir_expr_equal(loop->arguments.items[k].value, expr))
            return k;
    return vector_argument_new(builder,
                               (struct vector_argument){VECTOR_ARGUMENT_VALUE, -1, -1, expr, 0, NULL, NULL});
}

struct ir_expr *vector_expr(struct vector_builder *builder, enum operation operation, akg_dtype dtype,
                            const struct ir_expr *a, const struct ir_expr *b, const struct ir_expr *c)
{
    struct ir_expr *expr = arena_new(builder->arena, struct ir_expr);
    *expr = (struct ir_expr){
        .kind = IR_OPERATION, .dtype = dtype, .operation = operation, .count = 1 + (b != NULL) + (c != NULL)};
    expr->operands = arena_array(builder->arena, struct ir_expr *, 3);
    expr->operands[0] = (struct ir_expr *)a;
    expr->operands[1] = (struct ir_expr *)b;
    expr->operands[2] = (struct ir_expr *)c;
    return expr;
}

static int invariant(struct vector_builder *builder, const struct ir_expr *expr)
{
    if (expr->kind == IR_INTEGER || expr->kind == IR_REAL)
        return vector_constant(builder, expr->dtype, scalar_constant(expr));
    struct vector_value value = vector_blank(VECTOR_SCALAR, expr->dtype);
    value.slot = vector_invariant_slot(builder, expr);
    return vector_add(builder, value);
}

int vector_logarithm_rest(struct vector_builder *builder, const struct ir_expr *expr)
{
    struct vector_value value = vector_blank(VECTOR_SCALAR, AKG_FLOAT64);
    const struct vector_loop *loop = builder->loop;
    for (int k = 0; k < loop->arguments.count; k++)
        if (loop->arguments.items[k].kind == VECTOR_ARGUMENT_LOGARITHM_REST &&
            ir_expr_equal(loop->arguments.items[k].value, expr))
            value.slot = k;
    if (value.slot < 0)
        value.slot = vector_argument_new(
            builder, (struct vector_argument){VECTOR_ARGUMENT_LOGARITHM_REST, -1, -1, expr, 0, NULL, NULL});
    return vector_add(builder, value);
}

/* ---- operations ------------------------------------------------------------------------------ */

static int real_constant(struct vector_builder *builder, akg_dtype dtype, double number)
{
    return vector_constant(builder, dtype, dtype_from_double(dtype, number));
}

static int apply(struct vector_builder *builder, enum operation operation, akg_dtype dtype, int a, int b)
{
    return vector_operation(builder, operation, dtype, dtype, a, b, -1);
}

/* 1 / (1 + exp(-x)) for what is not negative, exp(x) / (1 + exp(x)) else; halves in float. */
static int sigmoid(struct vector_builder *builder, akg_dtype dtype, int x)
{
    akg_dtype real = dtype_is_half(dtype) ? AKG_FLOAT32 : dtype;
    int one = real_constant(builder, real, 1), zero = real_constant(builder, real, 0);
    int size = apply(builder, OP_NEG, real, apply(builder, OP_ABS, real, x, -1), -1);
    int power = apply(builder, OP_EXP, real, size, -1);
    int positive = vector_operation(builder, OP_GE, AKG_BOOL, real, x, zero, -1);
    int above = vector_operation(builder, OP_SELECT, real, real, positive, one, power);
    int result = apply(builder, OP_TRUEDIV, real, above, apply(builder, OP_ADD, real, one, power));
    return real == dtype ? result : vector_operation(builder, OP_CAST, dtype, real, result, -1, -1);
}

static int with_bits(struct vector_builder *builder, enum operation operation, akg_dtype dtype, int a,
                     uint64_t bits)
{
    return apply(builder, operation, dtype, a,
                 vector_constant(builder, dtype, (union dtype_value){.i = (int64_t)bits}));
}

/* The bits that are set: by one instruction, if lanes are not the narrower ones of vector_slim.c, or those of
 * pairs of bits, of four, of bytes, then the sum of the bytes (Warren, Hacker's Delight, section 5-1). */
static int popcount(struct vector_builder *builder, akg_dtype dtype, int a)
{
    static const akg_dtype naturals[] = {
        [1] = AKG_UINT8, [2] = AKG_UINT16, [4] = AKG_UINT32, [8] = AKG_UINT64};
    int size = dtype_table[dtype].size;
    akg_dtype lane = size == 8 ? AKG_UINT64 : AKG_UINT32, narrow = naturals[size];
    uint64_t all = size == 8 ? UINT64_MAX : UINT32_MAX;
    int pairs, fours, sum;
    if (dtype != narrow)
        a = vector_operation(builder, OP_CAST, narrow, dtype, a, -1, -1);
    if (narrow != lane)
        a = vector_operation(builder, OP_CAST, lane, narrow, a, -1, -1);
    if (size >= 4 && builder->options->counts_bits && builder->options->target == X86_TARGET_AVX512) {
        sum = apply(builder, OP_POPCOUNT, lane, a, -1);
        return dtype == lane ? sum : vector_operation(builder, OP_CAST, dtype, lane, sum, -1, -1);
    }
    pairs = with_bits(builder, OP_BITAND, lane, with_bits(builder, OP_SHR, lane, a, 1), all / 3);
    pairs = apply(builder, OP_SUB, lane, a, pairs);
    fours = with_bits(builder, OP_BITAND, lane, with_bits(builder, OP_SHR, lane, pairs, 2), all / 5);
    fours = apply(builder, OP_ADD, lane, with_bits(builder, OP_BITAND, lane, pairs, all / 5), fours);
    sum = apply(builder, OP_ADD, lane, fours, with_bits(builder, OP_SHR, lane, fours, 4));
    sum = with_bits(builder, OP_BITAND, lane, sum, all / 17);
    for (int bits = 8; bits < 8 * size; bits *= 2)
        sum = apply(builder, OP_ADD, lane, sum, with_bits(builder, OP_SHR, lane, sum, (uint64_t)bits));
    sum = with_bits(builder, OP_BITAND, lane, sum, 0x7f);
    return dtype == lane ? sum : vector_operation(builder, OP_CAST, dtype, lane, sum, -1, -1);
}

static bool is_power_of_two(const struct vector_value *value)
{
    return value->kind == VECTOR_CONSTANT && value->bits && !(value->bits & (value->bits - 1)) &&
           value->bits < (uint64_t)1 << (dtype_table[value->dtype].size * 8 - 1);
}

/* Quotients by a power of two are shifts, which floor as the language does. */
int vector_quotient(struct vector_builder *builder, const struct ir_expr *expr, int a, int b)
{
    enum operation operation = expr->operation;
    akg_dtype dtype = expr->dtype;
    if (!is_power_of_two(&builder->loop->values.items[b]))
        return vector_divide(builder, expr, a, b);
    uint64_t divisor = builder->loop->values.items[b].bits;
    union dtype_value number = {.i = (int64_t)divisor - 1};
    if (operation == OP_FLOORDIV)
        number.i = __builtin_ctzll(divisor);
    return apply(builder, operation == OP_FLOORDIV ? OP_SHR : OP_BITAND, dtype, a,
                 vector_constant(builder, dtype, number));
}

/* Which operations there are on lanes of that dtype, besides calls. */
static bool has_lanes(enum operation operation, akg_dtype dtype)
{
    bool real = dtype_is_float(dtype);
    switch (operation) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
    case OP_CAST:
    case OP_MIN:
    case OP_MAX:
    case OP_ABS:
    case OP_SIGN:
        return true;
    case OP_NOT:
        return true;
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
    case OP_BITNOT:
    case OP_SHL:
    case OP_SHR:
        return !real;
    default:
        return real && !vector_is_call(operation);
    }
}

static bool compares(enum operation operation)
{
    return operation == OP_LT || operation == OP_LE || operation == OP_GT || operation == OP_GE ||
           operation == OP_EQ || operation == OP_NE;
}

/* Of an int64, in lanes of 32 bits: -1: it needs more. */
static int narrow_value(struct vector_builder *builder, const struct ir_expr *expr)
{
    akg_dtype dtype = expr->dtype;
    bool is_narrow = dtype_is_integer(dtype) && dtype_table[dtype].size <= 4;
    int value = -1;
    if (compares(expr->operation))
        return vector_compare_small(builder, expr);
    if (dtype == AKG_INT64) {
        value = vector_small_quotient(builder, expr);
        return value < 0 ? value : vector_operation(builder, OP_CAST, dtype, AKG_INT32, value, -1, -1);
    }
    if (expr->operation == OP_CAST && is_narrow)
        value = vector_low_bits(builder, expr->operands[0]);
    else if (expr->operation == OP_CAST && dtype_is_float(dtype))
        value = vector_small(builder, expr->operands[0]);
    return value < 0 || dtype == AKG_INT32
               ? value
               : vector_operation(builder, OP_CAST, dtype, AKG_INT32, value, -1, -1);
}

/* Which value the other one is the root of; -1: none, or there is no 1 / sqrt(x) that is faster. */
static int radicand(const struct vector_builder *builder, int number)
{
    const struct vector_value *value = &builder->loop->values.items[number];
    bool is_root =
        value->kind == VECTOR_OPERATION && value->operation == OP_SQRT && value->dtype == AKG_FLOAT32;
    return is_root && builder->options->target == X86_TARGET_AVX512 && !builder->options->strict
               ? value->operands[0]
               : -1;
}

/* A quotient by a power of two as the product that it is to the bit; -1: it is by something else. */
static int product_for_quotient(struct vector_builder *builder, akg_dtype dtype, int above, int below)
{
    const struct vector_value *value = &builder->loop->values.items[below];
    bool wide = dtype == AKG_FLOAT64, is_known = value->kind == VECTOR_CONSTANT;
    if (!is_known || (!wide && dtype != AKG_FLOAT32))
        return -1;
    uint64_t inverse = number_inverse_bits(value->bits, wide);
    return inverse ? apply(builder, OP_MUL, dtype, above,
                           vector_constant(builder, dtype, (union dtype_value){.i = (int64_t)inverse}))
                   : -1;
}

/* The operation, where its second operand is a constant; NULL. */
static const struct vector_value *by_constant(const struct vector_builder *builder, int number,
                                              enum operation operation, uint64_t *constant)
{
    const struct vector_value *values = builder->loop->values.items, *value = &values[number];
    if (value->kind != VECTOR_OPERATION || value->operation != operation ||
        values[value->operands[1]].kind != VECTOR_CONSTANT)
        return NULL;
    *constant = values[value->operands[1]].bits;
    return value;
}

/* `((x >> a) & mask) << b` of integers without a sign is shifted once, and then masked; -1: it is no such
 * thing. */
static int bits_moved(struct vector_builder *builder, akg_dtype dtype, int bits, int by)
{
    uint64_t mask, down, up = builder->loop->values.items[by].bits;
    const struct vector_value *masked, *shifted;
    if ((dtype != AKG_UINT32 && dtype != AKG_UINT64) ||
        builder->loop->values.items[by].kind != VECTOR_CONSTANT ||
        !(masked = by_constant(builder, bits, OP_BITAND, &mask)) ||
        !(shifted = by_constant(builder, masked->operands[0], OP_SHR, &down)) || shifted->dtype != dtype)
        return -1;
    uint64_t width = 8 * (uint64_t)dtype_table[dtype].size;
    if (up >= width || down >= width)
        return -1;
    int x = shifted->operands[0];
    int moved = up == down  ? x
                : up > down ? with_bits(builder, OP_SHL, dtype, x, up - down)
                            : with_bits(builder, OP_SHR, dtype, x, down - up);
    return with_bits(builder, OP_BITAND, dtype, moved, (mask << up) & (UINT64_MAX >> (64 - width)));
}

static int operation_value(struct vector_builder *builder, const struct ir_expr *expr)
{
    akg_dtype dtype = expr->dtype, from = expr->operands[0]->dtype;
    enum operation operation = expr->operation;
    int operands[3] = {-1, -1, -1}, narrow = from == AKG_INT64 ? narrow_value(builder, expr) : -1;
    if (narrow >= 0)
        return narrow;
    for (int k = 0; k < expr->count; k++)
        operands[k] = vector_expression(builder, expr->operands[k]);
    bool divides = !dtype_is_float(from) && (operation == OP_FLOORDIV || operation == OP_MOD);
    if (builder->refused || (expr->checked && !divides))
        return vector_refuse(builder);
    if (divides)
        return vector_quotient(builder, expr, operands[0], operands[1]);
    int product = operation == OP_POW ? vector_power(builder, dtype, operands[0], operands[1]) : -1;
    if (product >= 0)
        return product;
    product = operation == OP_TRUEDIV ? product_for_quotient(builder, dtype, operands[0], operands[1]) : -1;
    if (product >= 0)
        return product;
    int under_root = operation == OP_TRUEDIV ? radicand(builder, operands[1]) : -1;
    if (under_root >= 0)
        return apply(builder, OP_MUL, dtype, operands[0], apply(builder, OP_RSQRT, dtype, under_root, -1));
    int moved = operation == OP_SHL ? bits_moved(builder, dtype, operands[0], operands[1]) : -1;
    if (moved >= 0)
        return moved;
    if (operation == OP_POPCOUNT)
        return popcount(builder, dtype, operands[0]);
    if (operation == OP_SIGMOID && !builder->options->strict)
        return sigmoid(builder, dtype, operands[0]);
    if (!has_lanes(operation, from) && !(dtype_is_float(from) && vector_is_call(operation)))
        return vector_refuse(builder);
    return operation == OP_CAST
               ? vector_cast(builder, dtype, from, operands[0])
               : vector_operation(builder, operation, dtype, from, operands[0], operands[1], operands[2]);
}

int vector_begin_guarded(struct vector_builder *builder, int condition)
{
    int mask = builder->mask;
    builder->mask = mask < 0 ? condition : apply(builder, OP_AND, AKG_BOOL, mask, condition);
    return mask;
}

/* An operand under one more condition. */
static int guarded(struct vector_builder *builder, const struct ir_expr *expr, int condition)
{
    int mask = vector_begin_guarded(builder, condition);
    int value = vector_expression(builder, expr);
    builder->mask = mask;
    return value;
}

static int lazy_value(struct vector_builder *builder, const struct ir_expr *expr)
{
    int condition = vector_expression(builder, expr->operands[0]);
    int inverse = apply(builder, OP_NOT, AKG_BOOL, condition, -1);
    switch (expr->operation) {
    case OP_AND:
        return apply(builder, OP_AND, AKG_BOOL, condition, guarded(builder, expr->operands[1], condition));
    case OP_OR:
        return apply(builder, OP_OR, AKG_BOOL, condition, guarded(builder, expr->operands[1], inverse));
    default: {
        int a = guarded(builder, expr->operands[1], condition);
        int b = guarded(builder, expr->operands[2], inverse);
        return vector_operation(builder, OP_SELECT, expr->dtype, expr->dtype, condition, a, b);
    }
    }
}

/* Whether it has the same value anywhere in the iteration of a nest. */
static bool is_timeless(const struct vector_builder *builder, const struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE)
        return symbol_is_invariant(builder, expr->symbol);
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return is_timeless(builder, expr->symbol->value);
    if (expr->kind == IR_LOAD) {
        for (int axis = 0; axis < expr->access.buffer->rank; axis++)
            if (!is_timeless(builder, expr->access.indices[axis]))
                return false;
        return !vector_stores_into(builder, expr->access.buffer);
    }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        if (!is_timeless(builder, expr->operands[k]))
            return false;
    return true;
}

const struct ir_stmt *vector_lanes(const struct vector_builder *builder)
{
    return builder->nest ? builder->nest->loops[VECTOR_COLUMNS] : builder->stmt;
}

int vector_index(struct vector_builder *builder, akg_dtype dtype)
{
    struct vector_value value = vector_blank(VECTOR_INDEX, dtype);
    const struct vector_loop *loop = builder->loop;
    value.bits = (uint64_t)vector_lanes(builder)->step;
    for (int k = 0; k < loop->arguments.count; k++)
        if (loop->arguments.items[k].kind == VECTOR_ARGUMENT_FIRST)
            value.slot = k;
    if (value.slot < 0)
        value.slot = vector_argument_new(
            builder, (struct vector_argument){VECTOR_ARGUMENT_FIRST, -1, -1, NULL, 0, NULL, NULL});
    return vector_add(builder, value);
}

static int symbol_value(struct vector_builder *builder, const struct ir_symbol *symbol)
{
    const int *scalar = vector_scalar(builder, symbol);
    if (scalar)
        return *scalar;
    if (builder->nest && symbol->kind == IR_SYMBOL_LET && is_timeless(builder, symbol->value))
        return vector_expression(builder, symbol->value); /* of another section */
    if (builder->nest && vector_is_depth(builder, symbol)) {
        builder->wants_depth = true;
        return builder->number >= 0 ? builder->number : vector_refuse(builder);
    }
    if (symbol != vector_lanes(builder)->symbol)
        return vector_refuse(builder);
    if (builder->is_serial)
        return vector_serial_index(builder);
    return vector_index(builder, AKG_INT64);
}

/* Whether it is a condition that may differ from row to row: the rows of a band hand on numbers, no masks. A
 * comparison of lanes takes less than rows that C goes through. */
static bool is_condition_of_rows(const struct vector_builder *builder, const struct ir_expr *expr)
{
    if (expr->kind != IR_OPERATION || expr->dtype != AKG_BOOL || pass_is_of_call((struct ir_expr *)expr))
        return false;
    akg_dtype from = expr->operands[0]->dtype;
    bool fits = dtype_table[from].size <= 4 || (from == AKG_FLOAT64 && builder->loop->wide);
    return compares(expr->operation) && from != AKG_BOOL && fits;
}

int vector_expression(struct vector_builder *builder, const struct ir_expr *expr)
{
    enum { DEEPEST = 200 };
    int value;
    if (builder->refused || builder->depth > DEEPEST)
        return vector_refuse(builder);
    if (vector_is_invariant(builder, expr) && !is_condition_of_rows(builder, expr))
        return invariant(builder, expr);
    builder->depth++;
    switch (expr->kind) {
    case IR_SYMBOL:
        value = symbol_value(builder, expr->symbol);
        break;
    case IR_LOAD:
        value = vector_load(builder, expr);
        break;
    case IR_OPERATION:
        value = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT
                    ? lazy_value(builder, expr)
                    : operation_value(builder, expr);
        break;
    default:
        value = vector_refuse(builder);
        break;
    }
    builder->depth--;
    return value;
}
