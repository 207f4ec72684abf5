/*
 * scalar.c: the definition of every scalar operation.
 *
 * Consumes operations and values; computes integers in 64 bits, unsigned where they may wrap, and wraps the
 * result to its width; float32 in float, float64 in double, halves in float with a rounding to the half after
 * each operation. What is more than one C operator comes from scalar_library.c, which compiled code calls
 * too.
 */
#include "scalar.h"
#include "scalar_library.h"

/* ---- integers --------------------------------------------------------------- */

static int width_of(akg_dtype dtype)
{
    return dtype_table[dtype].size * 8;
}

static int64_t power(akg_dtype dtype, int64_t base, int64_t exponent)
{
    if (dtype_is_signed(dtype))
        return akg_pow_int64(base, exponent);
    return (int64_t)akg_pow_uint64((uint64_t)base, (uint64_t)exponent);
}

/* False when the divisor is zero; else the quotient or remainder. */
static bool divide(enum operation operation, bool is_signed, int64_t a, int64_t b, int64_t *result)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    if (b == 0)
        return false;
    if (operation == OP_FLOORDIV)
        *result = is_signed ? akg_floordiv_int64(a, b) : (int64_t)akg_floordiv_uint64(ua, ub);
    else if (operation == OP_MOD)
        *result = is_signed ? akg_mod_int64(a, b) : (int64_t)akg_mod_uint64(ua, ub);
    else
        *result = is_signed ? akg_ceildiv_int64(a, b) : (int64_t)akg_ceildiv_uint64(ua, ub);
    return true;
}

static bool less(bool is_signed, int64_t a, int64_t b)
{
    return is_signed ? a < b : (uint64_t)a < (uint64_t)b;
}

/* Integers and bools. The result is not wrapped yet. */
static bool apply_integer(enum operation operation, akg_dtype dtype, int64_t a, int64_t b, int64_t *result)
{
    bool is_signed = dtype_is_signed(dtype);
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    int width = width_of(dtype), shift = (int)(ub & (unsigned)(width - 1));
    switch (operation) {
    case OP_ADD:
        *result = (int64_t)(ua + ub);
        return true;
    case OP_SUB:
        *result = (int64_t)(ua - ub);
        return true;
    case OP_MUL:
        *result = (int64_t)(ua * ub);
        return true;
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return divide(operation, is_signed, a, b, result);
    case OP_POW:
        if (is_signed && b < 0 && a == 0)
            return false;
        *result = power(dtype, a, b);
        return true;
    case OP_NEG:
        *result = (int64_t)(0 - ua);
        return true;
    case OP_ABS:
        *result = is_signed && a < 0 ? (int64_t)(0 - ua) : a;
        return true;
    case OP_SIGN:
        *result = is_signed && a < 0 ? -1 : a != 0;
        return true;
    case OP_MIN:
        *result = less(is_signed, b, a) ? b : a;
        return true;
    case OP_MAX:
        *result = less(is_signed, a, b) ? b : a;
        return true;
    case OP_LT:
        *result = less(is_signed, a, b);
        return true;
    case OP_LE:
        *result = !less(is_signed, b, a);
        return true;
    case OP_GT:
        *result = less(is_signed, b, a);
        return true;
    case OP_GE:
        *result = !less(is_signed, a, b);
        return true;
    case OP_EQ:
        *result = a == b;
        return true;
    case OP_NE:
        *result = a != b;
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
    case OP_BITNOT:
        *result = dtype == AKG_BOOL ? !a : ~a;
        return true;
    case OP_SHL:
        *result = (int64_t)(ua << shift);
        return true;
    case OP_SHR:
        *result = is_signed ? a >> shift : (int64_t)(ua >> shift);
        return true;
    case OP_POPCOUNT:
        *result = akg_popcount(ua & (~(uint64_t)0 >> (64 - width)));
        return true;
    default:
        return false;
    }
}

/* ---- floats ------------------------------------------------------------------- */

/* For an operation that the library's tables hold. */
enum shape { shape_none, shape_f1, shape_f2, shape_f3, shape_c1 };
static const unsigned char shapes[OPERATION_COUNT] = {
#define X(id, text, arity, rule, shape, c32, c64) [OP_##id] = shape_##shape,
#include "../ir/operations.def"
#undef X
};

/* The same text for float and double. */
#define APPLY_FLOAT(real, field, functions)                                                                  \
    static bool apply_##real(enum operation operation, const union dtype_value *operands,                    \
                             union dtype_value *result)                                                      \
    {                                                                                                        \
        real a = operands[0].field;                                                                          \
        switch ((enum shape)shapes[operation]) {                                                             \
        case shape_f1:                                                                                       \
            result->field = functions[operation].f1(a);                                                      \
            return true;                                                                                     \
        case shape_f2:                                                                                       \
            result->field = functions[operation].f2(a, operands[1].field);                                   \
            return true;                                                                                     \
        case shape_f3:                                                                                       \
            result->field = functions[operation].f3(a, operands[1].field, operands[2].field);                \
            return true;                                                                                     \
        case shape_c1:                                                                                       \
            result->i = functions[operation].c1(a);                                                          \
            return true;                                                                                     \
        case shape_none:                                                                                     \
            break;                                                                                           \
        }                                                                                                    \
        if (operation == OP_NEG) {                                                                           \
            result->field = -a;                                                                              \
            return true;                                                                                     \
        }                                                                                                    \
        real b = operands[1].field;                                                                          \
        switch (operation) {                                                                                 \
        case OP_ADD:                                                                                         \
            result->field = a + b;                                                                           \
            return true;                                                                                     \
        case OP_SUB:                                                                                         \
            result->field = a - b;                                                                           \
            return true;                                                                                     \
        case OP_MUL:                                                                                         \
            result->field = a * b;                                                                           \
            return true;                                                                                     \
        case OP_TRUEDIV:                                                                                     \
            result->field = a / b;                                                                           \
            return true;                                                                                     \
        case OP_LT:                                                                                          \
            result->i = a < b;                                                                               \
            return true;                                                                                     \
        case OP_LE:                                                                                          \
            result->i = a <= b;                                                                              \
            return true;                                                                                     \
        case OP_GT:                                                                                          \
            result->i = a > b;                                                                               \
            return true;                                                                                     \
        case OP_GE:                                                                                          \
            result->i = a >= b;                                                                              \
            return true;                                                                                     \
        case OP_EQ:                                                                                          \
            result->i = a == b;                                                                              \
            return true;                                                                                     \
        case OP_NE:                                                                                          \
            result->i = a != b;                                                                              \
            return true;                                                                                     \
        default:                                                                                             \
            return false;                                                                                    \
        }                                                                                                    \
    }

APPLY_FLOAT(float, f, scalar_functions32)
APPLY_FLOAT(double, d, scalar_functions64)

/* ---- all ------------------------------------------------------------------------ */

bool scalar_apply(enum operation operation, akg_dtype to, akg_dtype from, const union dtype_value *operands,
                  union dtype_value *result)
{
    switch (operation) {
    case OP_CAST:
        *result = dtype_cast(to, from, operands[0]);
        return true;
    case OP_SELECT:
        *result = operands[operands[0].i ? 1 : 2];
        return true;
    case OP_AND:
        result->i = operands[0].i && operands[1].i;
        return true;
    case OP_OR:
        result->i = operands[0].i || operands[1].i;
        return true;
    case OP_NOT:
        result->i = !operands[0].i;
        return true;
    default:
        break;
    }
    if (from == AKG_FLOAT64)
        return apply_double(operation, operands, result);
    if (dtype_is_float(from)) {
        if (!apply_float(operation, operands, result))
            return false;
        if (to == AKG_FLOAT16)
            result->f = half_to_float(half_from_float(result->f));
        else if (to == AKG_BFLOAT16)
            result->f = bfloat_to_float(bfloat_from_float(result->f));
        return true;
    }
    int64_t value;
    int64_t b = operation_table[operation].arity > 1 ? operands[1].i : 0;
    if (!apply_integer(operation, from, operands[0].i, b, &value))
        return false;
    result->i = dtype_wrap(to, value);
    return true;
}

/* ---- expressions over dims and attributes ---------------------------------------- */

/* True when an int64 operation leaves 64 bits, where scalar_apply would wrap. */
static bool overflows(enum operation operation, int64_t a, int64_t b)
{
    int64_t result;
    switch (operation) {
    case OP_ADD:
        return __builtin_add_overflow(a, b, &result);
    case OP_SUB:
        return __builtin_sub_overflow(a, b, &result);
    case OP_MUL:
        return __builtin_mul_overflow(a, b, &result);
    case OP_NEG:
    case OP_ABS:
        return a == INT64_MIN;
    case OP_FLOORDIV:
    case OP_CEIL_DIV:
        return a == INT64_MIN && b == -1;
    case OP_SHL:
        return (int64_t)((uint64_t)a << (b & 63)) >> (b & 63) != a;
    case OP_POW:
        result = 1;
        if (a == 0 || a == 1 || a == -1)
            return false;
        for (; b > 0; b--) /* at most 63 rounds: a is at least 2 or at most -2 */
            if (__builtin_mul_overflow(result, a, &result))
                return true;
        return false;
    default:
        return false;
    }
}

static bool evaluate_symbol(const struct ir_symbol *symbol, const int64_t *dims,
                            const union jit_scalar *scalars, union dtype_value *result)
{
    if (symbol->kind == IR_SYMBOL_DIM)
        result->i = dims[symbol->index];
    else if (symbol->kind == IR_SYMBOL_ATTRIBUTE)
        *result = scalar_argument(symbol->dtype, scalars[symbol->index]);
    else
        return false;
    return true;
}

/* Extents and constants at once: shapes and preconditions are made of them, and every call evaluates those.
 */
static inline bool evaluate_operand(const struct ir_expr *expr, const int64_t *dims,
                                    const union jit_scalar *scalars, union dtype_value *result)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_DIM)
        result->i = dims[expr->symbol->index];
    else if (expr->kind == IR_INTEGER)
        result->i = expr->integer;
    else
        return scalar_evaluate(expr, dims, scalars, result);
    return true;
}

/* What shapes and preconditions do with them, without the detour. False: it is something else, or overflows.
 */
static inline bool evaluate_common(enum operation operation, int64_t a, int64_t b, int64_t *result)
{
    switch (operation) {
    case OP_ADD:
        return !__builtin_add_overflow(a, b, result);
    case OP_SUB:
        return !__builtin_sub_overflow(a, b, result);
    case OP_MUL:
        return !__builtin_mul_overflow(a, b, result);
    case OP_FLOORDIV:
        *result = b > 0 ? akg_floordiv_int64(a, b) : 0;
        return b > 0;
    case OP_MIN:
        *result = a < b ? a : b;
        return true;
    case OP_MAX:
        *result = a > b ? a : b;
        return true;
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
    default:
        return false;
    }
}

static bool evaluate_operation(const struct ir_expr *expr, const int64_t *dims,
                               const union jit_scalar *scalars, union dtype_value *result)
{
    union dtype_value values[3] = {{0}};
    akg_dtype from = expr->operands[0]->dtype;
    if (!evaluate_operand(expr->operands[0], dims, scalars, &values[0]))
        return false;
    switch (expr->operation) {
    case OP_AND:
    case OP_OR:
        if ((values[0].i != 0) != (expr->operation == OP_OR))
            return evaluate_operand(expr->operands[1], dims, scalars, result);
        *result = values[0];
        return true;
    case OP_SELECT:
        return evaluate_operand(expr->operands[values[0].i ? 1 : 2], dims, scalars, result);
    default:
        break;
    }
    for (int i = 1; i < expr->count; i++)
        if (!evaluate_operand(expr->operands[i], dims, scalars, &values[i]))
            return false;
    if (from == AKG_INT64 && evaluate_common(expr->operation, values[0].i, values[1].i, &result->i))
        return true;
    if (expr->dtype == AKG_INT64 && from == AKG_INT64 && overflows(expr->operation, values[0].i, values[1].i))
        return false;
    return scalar_apply(expr->operation, expr->dtype, from, values, result);
}

union dtype_value scalar_argument(akg_dtype dtype, union jit_scalar argument)
{
    if (dtype_is_float(dtype))
        return dtype_from_double(dtype, argument.d);
    return (union dtype_value){.i = argument.i};
}

union dtype_value scalar_constant(const struct ir_expr *expr)
{
    if (expr->kind == IR_INTEGER)
        return (union dtype_value){.i = expr->integer};
    if (expr->dtype == AKG_FLOAT64)
        return (union dtype_value){.d = expr->real};
    return (union dtype_value){.f = (float)expr->real}; /* exact: the node holds a value of its dtype */
}

bool scalar_evaluate(const struct ir_expr *expr, const int64_t *dims, const union jit_scalar *scalars,
                     union dtype_value *result)
{
    switch (expr->kind) {
    case IR_INTEGER:
    case IR_REAL:
        *result = scalar_constant(expr);
        return true;
    case IR_SYMBOL:
        return evaluate_symbol(expr->symbol, dims, scalars, result);
    case IR_OPERATION:
        return evaluate_operation(expr, dims, scalars, result);
    case IR_LOAD:
        break;
    }
    return false;
}
