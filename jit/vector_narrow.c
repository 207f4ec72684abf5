/*
 * vector_narrow.c: integers of 64 bits in lanes of 32, of which there are twice as many.
 *
 * Consumes expressions of int64 that hang on the loop variable; produces values of int32. Their low bits are
 * all that a cast to 32 bits or fewer asks for: `uint32(j) & 7`. All of them are there where the numbers are
 * small, as in `j == int64(label[i])`, `float32(j)`: what is compared, divided, or becomes a float, are casts
 * of such integers, and sums of two numbers each less than 2^30 away from 0, or, where they are compared with
 * those, anything that is the same in all iterations. Whether the bounds of loops and what is the same in the
 * whole call are that, C finds out before the loop (vector_loop.small); else it stays C.
 */
#include "pass.h"
#include "vector_build.h"

#include <stdlib.h>

/* Of the numbers that C looks at, and of sums. */
static const int64_t largest_small = ((int64_t)1 << 30) - 1, largest_sum = INT32_MAX;

static bool is_own_variable(const struct vector_builder *builder, const struct ir_expr *expr)
{
    return expr->kind == IR_SYMBOL && expr->symbol == vector_lanes(builder)->symbol && !builder->is_serial &&
           !builder->is_once;
}

static int narrow_constant(struct vector_builder *builder, int64_t number)
{
    return vector_constant(builder, AKG_INT32, (union dtype_value){.i = (int32_t)(uint32_t)number});
}

/* The low half of the slot. */
static int narrow_invariant(struct vector_builder *builder, const struct ir_expr *expr)
{
    struct vector_value value = vector_blank(VECTOR_SCALAR, AKG_INT32);
    value.slot = vector_invariant_slot(builder, expr);
    return vector_add(builder, value);
}

static bool is_cast_of_narrow(const struct ir_expr *expr)
{
    akg_dtype from =
        expr->kind == IR_OPERATION && expr->operation == OP_CAST ? expr->operands[0]->dtype : AKG_FLOAT32;
    return dtype_is_integer(from) && dtype_table[from].size <= 4;
}

static int narrow_cast(struct vector_builder *builder, const struct ir_expr *expr)
{
    akg_dtype from = expr->operands[0]->dtype;
    int value = vector_expression(builder, expr->operands[0]);
    return from == AKG_INT32 || builder->refused
               ? value
               : vector_operation(builder, OP_CAST, AKG_INT32, from, value, -1, -1);
}

static bool mentions(const struct vector_builder *builder, const struct ir_expr *expr)
{
    return pass_mentions((struct ir_expr *)expr, vector_lanes(builder)->symbol);
}

/* ---- low bits ------------------------------------------------------------------------------------ */

static bool is_small(struct vector_builder *builder, const struct ir_expr *expr);

/* Quotients have them where both sides are small. */
static bool divides(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && (expr->operation == OP_FLOORDIV || expr->operation == OP_MOD);
}

static bool has_low_bits(struct vector_builder *builder, const struct ir_expr *expr);

/* Both are evaluated under a condition. */
static bool choices_have_low_bits(struct vector_builder *builder, const struct ir_expr *expr)
{
    bool guarded = builder->is_guarded;
    builder->is_guarded = true;
    bool result = has_low_bits(builder, expr->operands[1]) && has_low_bits(builder, expr->operands[2]);
    builder->is_guarded = guarded;
    return result;
}

static bool has_low_bits(struct vector_builder *builder, const struct ir_expr *expr)
{
    if (expr->dtype != AKG_INT64)
        return false;
    if (expr->kind == IR_INTEGER || is_own_variable(builder, expr) || is_cast_of_narrow(expr) ||
        vector_is_invariant(builder, expr))
        return true;
    if (divides(expr) && !builder->nest && !builder->is_serial)
        return is_small(builder, expr->operands[0]) && is_small(builder, expr->operands[1]);
    if (expr->kind != IR_OPERATION || expr->checked)
        return false;
    switch (expr->operation) {
    case OP_SELECT:
        return choices_have_low_bits(builder, expr);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
        return has_low_bits(builder, expr->operands[0]) && has_low_bits(builder, expr->operands[1]);
    case OP_NEG:
        return has_low_bits(builder, expr->operands[0]);
    default:
        return false;
    }
}

static int low_bits(struct vector_builder *builder, const struct ir_expr *expr);

static int low_bits_of_choice(struct vector_builder *builder, const struct ir_expr *expr)
{
    int condition = vector_expression(builder, expr->operands[0]), values[2] = {-1, -1};
    int inverse = vector_operation(builder, OP_NOT, AKG_BOOL, AKG_BOOL, condition, -1, -1);
    for (int k = 0; k < 2 && !builder->refused; k++) {
        int mask = vector_begin_guarded(builder, k ? inverse : condition);
        values[k] = low_bits(builder, expr->operands[k + 1]);
        builder->mask = mask;
    }
    return vector_operation(builder, OP_SELECT, AKG_INT32, AKG_INT32, condition, values[0], values[1]);
}

static int low_bits(struct vector_builder *builder, const struct ir_expr *expr)
{
    int operands[2] = {-1, -1};
    if (builder->refused)
        return -1;
    if (expr->kind == IR_INTEGER)
        return narrow_constant(builder, expr->integer);
    if (is_own_variable(builder, expr))
        return vector_index(builder, AKG_INT32);
    if (vector_is_invariant(builder, expr))
        return narrow_invariant(builder, expr);
    if (is_cast_of_narrow(expr))
        return narrow_cast(builder, expr);
    if (expr->operation == OP_SELECT)
        return low_bits_of_choice(builder, expr);
    for (int k = 0; k < expr->count && k < 2; k++)
        operands[k] = low_bits(builder, expr->operands[k]);
    if (divides(expr)) {
        struct ir_expr *narrow = arena_new(builder->arena, struct ir_expr);
        *narrow = *expr;
        narrow->dtype = AKG_INT32;
        return builder->refused ? -1 : vector_quotient(builder, narrow, operands[0], operands[1]);
    }
    return vector_operation(builder, expr->operation, AKG_INT32, AKG_INT32, operands[0], operands[1], -1);
}

int vector_small_quotient(struct vector_builder *builder, const struct ir_expr *expr)
{
    return divides(expr) ? vector_small(builder, expr) : -1;
}

int vector_low_bits(struct vector_builder *builder, const struct ir_expr *expr)
{
    int count = builder->loop->small.count;
    if (mentions(builder, expr) && has_low_bits(builder, expr))
        return low_bits(builder, expr);
    builder->loop->small.count = count;
    return -1;
}

/* ---- small numbers ------------------------------------------------------------------------------- */

/* Whether C can look at it before all loops. */
static bool is_of_call(const struct ir_expr *expr)
{
    return pass_is_of_call((struct ir_expr *)expr);
}

bool vector_must_be_small(struct vector_builder *builder, const struct ir_expr *expr)
{
    struct vector_loop *loop = builder->loop;
    while (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        expr = expr->symbol->value;
    if (expr->kind == IR_INTEGER)
        return expr->integer >= -largest_small && expr->integer <= largest_small;
    if (!is_of_call(expr))
        return false;
    for (int k = 0; k < loop->small.count; k++)
        if (ir_expr_equal(loop->small.items[k], expr))
            return true;
    list_push(builder->arena, &loop->small, expr);
    return true;
}

const struct ir_stmt *vector_loop_around(const struct vector_builder *builder, const struct ir_symbol *symbol)
{
    const struct dependences *dependences = builder->dependences;
    for (int k = 0; dependences && k < dependences->loops.count; k++)
        if (dependences->loops.items[k].stmt->kind == IR_FOR &&
            dependences->loops.items[k].stmt->symbol == symbol)
            return dependences->loops.items[k].stmt;
    return NULL;
}

/* A loop's variable, this one's or one's around, is between its bounds. */
static bool is_small_variable(struct vector_builder *builder, const struct ir_expr *expr)
{
    const struct ir_stmt *loop = is_own_variable(builder, expr) ? vector_lanes(builder) : NULL;
    if (expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_LOOP)
        return false;
    if (!loop && vector_is_invariant(builder, expr))
        loop = vector_loop_around(builder, expr->symbol);
    return loop && vector_must_be_small(builder, loop->low) && vector_must_be_small(builder, loop->high);
}

/* How far it may be from 0; -1: too far. */
static int64_t magnitude(struct vector_builder *builder, const struct ir_expr *expr)
{
    int64_t a, b;
    if (expr->dtype != AKG_INT64)
        return -1;
    if (is_cast_of_narrow(expr)) {
        akg_dtype from = expr->operands[0]->dtype;
        return from == AKG_UINT32 ? -1 : (int64_t)1 << (dtype_table[from].size * 8 - (from == AKG_INT32));
    }
    if (expr->kind == IR_INTEGER)
        return expr->integer >= -largest_sum && expr->integer <= largest_sum ? llabs(expr->integer) : -1;
    if (is_small_variable(builder, expr) ||
        (vector_is_invariant(builder, expr) && vector_must_be_small(builder, expr)))
        return largest_small;
    if (expr->kind != IR_OPERATION ||
        (expr->operation != OP_ADD && expr->operation != OP_SUB && !divides(expr)))
        return -1;
    a = magnitude(builder, expr->operands[0]);
    b = magnitude(builder, expr->operands[1]);
    if (divides(expr)) /* the least int32 over -1 is none */
        return a < 0 || b < 0 ? -1 : expr->operation == OP_MOD ? b : a > largest_sum ? -1 : a;
    return a < 0 || b < 0 || a + b > largest_sum ? -1 : a + b;
}

/* Of those that have a magnitude the low bits are all. */
static bool is_small(struct vector_builder *builder, const struct ir_expr *expr)
{
    return magnitude(builder, expr) >= 0 && has_low_bits(builder, expr);
}

int vector_small(struct vector_builder *builder, const struct ir_expr *expr)
{
    int count = builder->loop->small.count;
    if (mentions(builder, expr) && is_small(builder, expr))
        return low_bits(builder, expr);
    builder->loop->small.count = count;
    return -1;
}

/* What stays the same in the loop, as the nearest number that fits: one that is nearer to 0 than what does
 * not compares with both alike. */
static int bounded_invariant(struct vector_builder *builder, const struct ir_expr *expr)
{
    static const enum operation operations[] = {OP_MAX, OP_MIN};
    for (int k = 0; k < 2; k++) {
        struct ir_expr *bound = arena_new(builder->arena, struct ir_expr),
                       *next = arena_new(builder->arena, struct ir_expr);
        *bound = (struct ir_expr){.kind = IR_INTEGER, .dtype = AKG_INT64};
        bound->integer = k ? largest_sum : -largest_sum;
        *next = (struct ir_expr){
            .kind = IR_OPERATION, .dtype = AKG_INT64, .operation = operations[k], .count = 2};
        next->operands = arena_array(builder->arena, struct ir_expr *, 2);
        next->operands[0] = (struct ir_expr *)expr;
        next->operands[1] = bound;
        expr = next;
    }
    return narrow_invariant(builder, expr);
}

/* The side of a comparison that does not hang on the loop variable; -1: it may be larger. */
static int other_side(struct vector_builder *builder, const struct ir_expr *expr, int64_t least_bound)
{
    int count = builder->loop->small.count;
    if (is_small(builder, expr))
        return low_bits(builder, expr);
    builder->loop->small.count = count;
    bool bounded = least_bound < largest_sum && expr->dtype == AKG_INT64;
    return bounded && vector_is_invariant(builder, expr) ? bounded_invariant(builder, expr) : -1;
}

int vector_compare_small(struct vector_builder *builder, const struct ir_expr *expr)
{
    int count = builder->loop->small.count, sides[2] = {-1, -1};
    int first = mentions(builder, expr->operands[0]) ? 0 : 1;
    const struct ir_expr *own = expr->operands[first], *other = expr->operands[1 - first];
    bool both = mentions(builder, other);
    if (mentions(builder, own) && is_small(builder, own) && (!both || is_small(builder, other))) {
        int64_t size = magnitude(builder, own);
        sides[1 - first] = both ? low_bits(builder, other) : other_side(builder, other, size);
        if (sides[1 - first] >= 0)
            sides[first] = low_bits(builder, own);
    }
    if (sides[0] < 0 || sides[1] < 0) {
        builder->loop->small.count = count;
        return -1;
    }
    return vector_operation(builder, expr->operation, AKG_BOOL, AKG_INT32, sides[0], sides[1], -1);
}
