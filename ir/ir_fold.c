/*
 * ir_fold.c: folding while building, for int64 and bool.
 *
 * Consumes the operands of an operation that is about to be built. Produces an equal and simpler
 * expression so that shapes and indices stay readable and comparable: (n - 1) + 1
 * is n. A result that int64 does not hold and a division by zero are left
 * for run time, where they have defined meanings; so is any operand that could stop the kernel.
 */
#include "../base/number.h"
#include "ir_private.h"

static bool constant_of(const struct ir_expr *expr, akg_dtype dtype, int64_t *value)
{
    if (!expr || expr->kind != IR_INTEGER || expr->dtype != dtype)
        return false;
    *value = expr->integer;
    return true;
}

static bool is_constant(const struct ir_expr *expr, akg_dtype dtype, int64_t value)
{
    int64_t found;
    return constant_of(expr, dtype, &found) && found == value;
}

static bool cannot_stop(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD && !(expr->kind == IR_OPERATION && expr->checked);
}

/* Whether leaving the expression out changes nothing that can be observed. */
static bool may_drop(struct ir_expr *expr)
{
    return ir_expr_walk(expr, cannot_stop, NULL);
}

static struct span span_of(struct ir_expr *const *operands)
{
    const struct ir_expr *last = operands[1] ? operands[1] : operands[0];

    if (!operands[0]->span.line || !last->span.line)
        return operands[0]->span;
    return span_join(operands[0]->span, last->span);
}

static struct ir_expr *constant(struct ir_kernel *kernel, akg_dtype dtype, int64_t value,
                                struct ir_expr *const *operands)
{
    struct ir_expr *expr = ir_integer(kernel, dtype, value);

    expr->span = span_of(operands);
    return expr;
}

/* ---- two constants ------------------------------------------------------ */

static bool divide_constants(enum operation operation, int64_t a, int64_t b, int64_t *result)
{
    if (b == 0 || (a == INT64_MIN && (b == -1 || operation == OP_CEIL_DIV)))
        return false;
    if (operation == OP_FLOORDIV)
        *result = number_floor_divide(a, b);
    else if (operation == OP_MOD)
        *result = number_floor_remainder(a, b);
    else if (number_floor_divide(-a, b) != INT64_MIN)
        *result = -number_floor_divide(-a, b);
    else
        return false;
    return true;
}

bool ir_compute_integer(enum operation operation, int64_t a, int64_t b, int64_t *result)
{
    int shift = (int)(b & 63); /* as the language has it */

    switch (operation) {
    case OP_ADD:
        return !__builtin_add_overflow(a, b, result);
    case OP_SUB:
        return !__builtin_sub_overflow(a, b, result);
    case OP_SHL:
        return shift < 63 && !__builtin_mul_overflow(a, (int64_t)1 << shift, result);
    case OP_SHR:
        *result = a >> shift;
        return true;
    case OP_BITAND:
        *result = a & b;
        return true;
    case OP_BITOR:
        *result = a | b;
        return true;
    case OP_BITXOR:
        *result = a ^ b;
        return true;
    case OP_MUL:
        return !__builtin_mul_overflow(a, b, result);
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return divide_constants(operation, a, b, result);
    case OP_MIN:
        *result = a < b ? a : b;
        return true;
    case OP_MAX:
        *result = a > b ? a : b;
        return true;
    default:
        return false;
    }
}

static bool compute_comparison(enum operation operation, int64_t a, int64_t b, bool *result)
{
    switch (operation) {
    case OP_LT:
        *result = a < b;
        return true;
    case OP_LE:
        *result = a <= b;
        return true;
    case OP_GT:
        *result = a > b;
        return true;
    case OP_GE:
        *result = a >= b;
        return true;
    case OP_EQ:
        *result = a == b;
        return true;
    case OP_NE:
        *result = a != b;
        return true;
    default:
        return false;
    }
}

static struct ir_expr *fold_constants(struct ir_kernel *kernel, enum operation operation,
                                      struct ir_expr *const *operands)
{
    int64_t a, b, result;
    bool truth;

    if (constant_of(operands[0], AKG_INT64, &a) && constant_of(operands[1], AKG_INT64, &b)) {
        if (ir_compute_integer(operation, a, b, &result))
            return constant(kernel, AKG_INT64, result, operands);
        if (compute_comparison(operation, a, b, &truth))
            return constant(kernel, AKG_BOOL, truth, operands);
    }
    if ((operation == OP_EQ || operation == OP_NE) && constant_of(operands[0], AKG_BOOL, &a) &&
        constant_of(operands[1], AKG_BOOL, &b))
        return constant(kernel, AKG_BOOL, (a == b) == (operation == OP_EQ), operands);
    return NULL;
}

/* ---- sums --------------------------------------------------------------- */

/* base + constant or constant - base; just the constant when base is NULL. */
struct sum {
    struct ir_expr *base;
    bool negative;
    int64_t constant;
};

static struct sum sum_of(struct ir_expr *expr)
{
    struct sum sum = {expr, false, 0};
    int64_t value;

    if (constant_of(expr, AKG_INT64, &value))
        return (struct sum){NULL, false, value};
    if (expr->kind != IR_OPERATION)
        return sum;
    if (expr->operation == OP_ADD && constant_of(expr->operands[1], AKG_INT64, &value))
        return (struct sum){expr->operands[0], false, value};
    if (expr->operation == OP_ADD && constant_of(expr->operands[0], AKG_INT64, &value))
        return (struct sum){expr->operands[1], false, value};
    if (expr->operation == OP_SUB && constant_of(expr->operands[0], AKG_INT64, &value))
        return (struct sum){expr->operands[1], true, value};
    if (expr->operation == OP_SUB && constant_of(expr->operands[1], AKG_INT64, &value) && value != INT64_MIN)
        return (struct sum){expr->operands[0], false, -value};
    return sum;
}

static struct ir_expr *sum_build(struct ir_kernel *kernel, struct sum sum, struct ir_expr *const *operands)
{
    enum operation operation =
        sum.negative || (sum.constant < 0 && sum.constant != INT64_MIN) ? OP_SUB : OP_ADD;

    if (!sum.base)
        return constant(kernel, AKG_INT64, sum.constant, operands);
    if (!sum.negative && sum.constant == 0)
        return sum.base;

    int64_t value = operation == OP_SUB && !sum.negative ? -sum.constant : sum.constant;
    struct ir_expr *number = ir_integer(kernel, AKG_INT64, value);
    struct ir_expr *pair[2] = {sum.base, number};
    if (sum.negative) {
        pair[0] = number;
        pair[1] = sum.base;
    }
    struct ir_expr *expr = ir_operation_node(kernel, operation, AKG_INT64, pair);
    expr->span = span_of(operands);
    return expr;
}

/* Adding is associative for wrapping int64, so constants may be gathered wherever they stand. */
static struct ir_expr *fold_sum(struct ir_kernel *kernel, enum operation operation,
                                struct ir_expr *const *operands)
{
    struct sum a = sum_of(operands[0]), b = sum_of(operands[1]), sum = a;

    if (operation == OP_SUB ? __builtin_sub_overflow(a.constant, b.constant, &sum.constant)
                            : __builtin_add_overflow(a.constant, b.constant, &sum.constant))
        return NULL;
    if (operation == OP_SUB && b.base)
        b.negative = !b.negative;
    if (a.base && b.base) {
        /* x - x, and slices: (i + 4) - i */
        if (a.negative == b.negative || !ir_expr_equal(a.base, b.base) || !may_drop(a.base))
            return NULL;
        sum.base = NULL;
        sum.negative = false;
    } else if (b.base) {
        sum.base = b.base;
        sum.negative = b.negative;
    }
    return sum_build(kernel, sum, operands);
}

/* ---- multiples of extents ------------------------------------------------- */

enum { FACTOR = 1 << 14 /* of an extent: such multiples, and what is added to them, are far from 2^63 */ };

/* Whether it is so many times an extent, or a loop's variable. */
static bool is_multiple(const struct ir_expr *expr, int64_t *factor, struct ir_expr **of)
{
    const struct ir_expr *symbol;

    if (!expr || expr->kind != IR_OPERATION || expr->operation != OP_MUL)
        return false;
    bool first = constant_of(expr->operands[0], AKG_INT64, factor);
    if (!first && !constant_of(expr->operands[1], AKG_INT64, factor))
        return false;
    *of = expr->operands[first];
    symbol = *of;
    return *factor > 0 && *factor <= FACTOR && symbol->kind == IR_SYMBOL &&
           (symbol->symbol->kind == IR_SYMBOL_DIM || symbol->symbol->kind == IR_SYMBOL_LOOP);
}

/* (2 * n + 1) // 2 is n, and what is left 1: half of a slice has as many elements as what goes there. */
static struct ir_expr *fold_multiple(struct ir_kernel *kernel, enum operation operation,
                                     struct ir_expr *const *operands)
{
    struct sum sum = sum_of(operands[0]);
    struct ir_expr *of;
    int64_t factor, divisor;

    if (!constant_of(operands[1], AKG_INT64, &divisor) || divisor < 2 || sum.negative ||
        !is_multiple(sum.base, &factor, &of) || factor % divisor != 0 || sum.constant > FACTOR ||
        sum.constant < -FACTOR)
        return NULL;
    if (operation == OP_MOD)
        return constant(kernel, AKG_INT64, number_floor_remainder(sum.constant, divisor), operands);
    struct ir_expr *pair[2] = {of, ir_integer(kernel, AKG_INT64, factor / divisor)};
    sum.base = factor == divisor ? of : ir_operation_node(kernel, OP_MUL, AKG_INT64, pair);
    sum.base->span = span_of(operands);
    sum.constant = number_floor_divide(sum.constant, divisor);
    return sum_build(kernel, sum, operands);
}

/* ---- the rest ----------------------------------------------------------- */

/* x * 1, x * 0, x // 1, x % 1 of int64; an extent compared with a negative number or itself. */
static struct ir_expr *fold_identity(struct ir_kernel *kernel, enum operation operation,
                                     struct ir_expr *const *operands)
{
    struct ir_expr *a = operands[0], *b = operands[1];
    int64_t value;
    bool holds;

    switch (operation) {
    case OP_MUL:
        if (is_constant(a, AKG_INT64, 1))
            return b;
        if (is_constant(b, AKG_INT64, 1))
            return a;
        if ((is_constant(a, AKG_INT64, 0) && may_drop(b)) || (is_constant(b, AKG_INT64, 0) && may_drop(a)))
            return constant(kernel, AKG_INT64, 0, operands);
        return NULL;
    case OP_FLOORDIV:
        return is_constant(b, AKG_INT64, 1) ? a : fold_multiple(kernel, operation, operands);
    case OP_CEIL_DIV:
        return is_constant(b, AKG_INT64, 1) ? a : NULL;
    case OP_MOD:
        return is_constant(b, AKG_INT64, 1) && may_drop(a) ? constant(kernel, AKG_INT64, 0, operands)
                                                           : fold_multiple(kernel, operation, operands);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
        if (a->kind == IR_SYMBOL && b->kind == IR_SYMBOL && a->symbol == b->symbol &&
            a->symbol->kind == IR_SYMBOL_DIM && compute_comparison(operation, 0, 0, &holds))
            return constant(kernel, AKG_BOOL, holds, operands);
        /* an extent is 0 or more */
        if (a->kind != IR_SYMBOL || a->symbol->kind != IR_SYMBOL_DIM || !constant_of(b, AKG_INT64, &value) ||
            value >= 0 || !compute_comparison(operation, 0, value, &holds))
            return NULL;
        return constant(kernel, AKG_BOOL, holds, operands);
    default:
        return NULL;
    }
}

/* `and` is decided by false, `or` by true; the right side is not evaluated when the left decides. */
static struct ir_expr *fold_logical(enum operation operation, struct ir_expr *a, struct ir_expr *b)
{
    int64_t value, decides = operation == OP_OR;

    if (constant_of(a, AKG_BOOL, &value))
        return value == decides ? a : b;
    if (constant_of(b, AKG_BOOL, &value)) {
        if (value != decides)
            return a;
        if (may_drop(a))
            return b;
    }
    return NULL;
}

static struct ir_expr *fold_unary(struct ir_kernel *kernel, enum operation operation,
                                  struct ir_expr *const *operands)
{
    struct ir_expr *a = operands[0];
    int64_t value;

    if (operation == OP_NOT && constant_of(a, AKG_BOOL, &value))
        return constant(kernel, AKG_BOOL, !value, operands);
    if (operation == OP_NOT && a->kind == IR_OPERATION && a->operation == OP_NOT)
        return a->operands[0];
    if ((operation == OP_NEG || operation == OP_ABS) && constant_of(a, AKG_INT64, &value) &&
        value != INT64_MIN)
        return constant(kernel, AKG_INT64, operation == OP_ABS && value > 0 ? value : -value, operands);
    return NULL;
}

struct ir_expr *ir_fold(struct ir_kernel *kernel, enum operation operation, struct ir_expr *const *operands)
{
    struct ir_expr *a = operands[0], *b = operands[1];
    struct ir_expr *expr;
    int64_t condition;

    switch (operation) {
    case OP_ADD:
    case OP_SUB:
        return a->dtype == AKG_INT64 && b->dtype == AKG_INT64 ? fold_sum(kernel, operation, operands) : NULL;
    case OP_NOT:
    case OP_NEG:
    case OP_ABS:
        return fold_unary(kernel, operation, operands);
    case OP_AND:
    case OP_OR:
        return fold_logical(operation, a, b);
    case OP_SELECT:
        return constant_of(a, AKG_BOOL, &condition) ? operands[condition ? 1 : 2] : NULL;
    default:
        expr = fold_constants(kernel, operation, operands);
        return expr ? expr : fold_identity(kernel, operation, operands);
    }
}
