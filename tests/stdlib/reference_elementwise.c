/*
 * reference_elementwise.c: references of stdlib/arithmetic.akg, comparison.akg, elementary.akg,
 * activation.akg.
 */
#include "reference.h"

#include <math.h>
#include <string.h>

/* `expression` is over v, and t, the trial. */
#define UNARY(name, expression)                                                                              \
    void reference_##name(struct trial *t)                                                                   \
    {                                                                                                        \
        const struct array *x = trial_input(t, "x");                                                         \
        struct array *y = trial_result_like(t, x);                                                           \
        for (int64_t i = 0; i < x->count; i++) {                                                             \
            double v = x->data[i];                                                                           \
            y->data[i] = (expression);                                                                       \
        }                                                                                                    \
    }

UNARY(neg, -v)
UNARY(exp, exp(v))
UNARY(log, log(v))
UNARY(sqrt, sqrt(v))
UNARY(rsqrt, 1 / sqrt(v))
UNARY(sin, sin(v))
UNARY(cos, cos(v))
UNARY(tanh, tanh(v))
UNARY(erf, erf(v))
UNARY(abs, fabs(v))
UNARY(sign, (v > 0) - (v < 0))
UNARY(relu, v > 0 ? v : 0)
UNARY(leaky_relu, v > 0 ? v : v * trial_real(t, "slope", 0.01))
UNARY(sigmoid, 1 / (1 + exp(-v)))
UNARY(silu, v / (1 + exp(-v)))
UNARY(softplus, v > 30 ? v : log1p(exp(v)))
UNARY(gelu, strcmp(trial_string(t, "approximate", "none"), "tanh") == 0
                ? 0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)))
                : v * 0.5 * erfc(-v / sqrt(2)))

void reference_cast(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    struct array *y = trial_result_like(t, x);

    y->dtype = akg_dtype_from_name(trial_string(t, "dtype", "float32"));
    for (int64_t i = 0; i < x->count; i++)
        y->data[i] = y->dtype == AKG_BOOL     ? x->data[i] != 0
                     : y->dtype < AKG_FLOAT16 ? trunc(x->data[i])
                                              : x->data[i];
}

void reference_logical_not(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    struct array *y = trial_result_like(t, x);

    y->dtype = AKG_BOOL;
    for (int64_t i = 0; i < x->count; i++)
        y->data[i] = x->data[i] == 0;
}

void reference_bitwise_not(struct trial *t)
{
    const struct array *x = trial_input(t, "x");
    struct array *y = trial_result_like(t, x);
    bool is_unsigned = x->dtype >= AKG_UINT8 && x->dtype <= AKG_UINT64;
    double most = x->dtype == AKG_BOOL ? 1 : is_unsigned ? ldexp(1, 8 * (int)akg_dtype_size(x->dtype)) - 1 : -1;

    for (int64_t i = 0; i < x->count; i++)
        y->data[i] = most - x->data[i];
}

/* ---- broadcast operands ------------------------------------------------------------------------ */

/* A result of the common shape of the operands. */
static struct array *broadcast_result(struct trial *t, const struct array *const *operands, int count)
{
    int64_t shape[AKG_MAX_RANK];
    int rank = 0;

    for (int i = 0; i < count; i++)
        rank = operands[i]->rank > rank ? operands[i]->rank : rank;
    for (int k = 0; k < rank; k++)
        shape[k] = 1;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < operands[i]->rank; k++)
            if (operands[i]->shape[k] != 1)
                shape[k + rank - operands[i]->rank] = operands[i]->shape[k];
    return trial_result(t, rank, shape);
}

#define BINARY(name, result_dtype, expression)                                                               \
    void reference_##name(struct trial *t)                                                                   \
    {                                                                                                        \
        const struct array *operands[] = {trial_input(t, "a"), trial_input(t, "b")};                         \
        struct array *y = broadcast_result(t, operands, 2);                                                  \
        int64_t index[AKG_MAX_RANK];                                                                         \
        y->dtype = (result_dtype);                                                                           \
        for (int64_t i = 0; i < y->count; i++) {                                                             \
            array_index(y, i, index);                                                                        \
            double a = array_broadcast(operands[0], y->rank, index);                                         \
            double b = array_broadcast(operands[1], y->rank, index);                                         \
            y->data[i] = (expression);                                                                       \
        }                                                                                                    \
    }

BINARY(add, t->dtype, a + b)
BINARY(subtract, t->dtype, a - b)
BINARY(multiply, t->dtype, a *b)
BINARY(divide, t->dtype, a / b)
BINARY(floor_divide, t->dtype, floor(a / b))
BINARY(remainder, t->dtype, a - b * floor(a / b))
BINARY(power, t->dtype, pow(a, b))
BINARY(maximum, t->dtype, isnan(a) || isnan(b) ? NAN : a > b ? a : b)
BINARY(minimum, t->dtype, isnan(a) || isnan(b) ? NAN : a < b ? a : b)
BINARY(equal, AKG_BOOL, a == b)
BINARY(not_equal, AKG_BOOL, a != b)
BINARY(less, AKG_BOOL, a < b)
BINARY(less_equal, AKG_BOOL, a <= b)
BINARY(greater, AKG_BOOL, a > b)
BINARY(greater_equal, AKG_BOOL, a >= b)
BINARY(logical_and, AKG_BOOL, a != 0 && b != 0)
BINARY(logical_or, AKG_BOOL, a != 0 || b != 0)
BINARY(bitwise_and, t->dtype, (double)((int64_t)a & (int64_t)b))
BINARY(bitwise_or, t->dtype, (double)((int64_t)a | (int64_t)b))
BINARY(bitwise_xor, t->dtype, (double)((int64_t)a ^ (int64_t)b))

void reference_where(struct trial *t)
{
    const struct array *operands[] = {trial_input(t, "condition"), trial_input(t, "a"), trial_input(t, "b")};
    struct array *y = broadcast_result(t, operands, 3);
    int64_t index[AKG_MAX_RANK];

    for (int64_t i = 0; i < y->count; i++) {
        array_index(y, i, index);
        y->data[i] = array_broadcast(operands[array_broadcast(operands[0], y->rank, index) != 0 ? 1 : 2],
                                     y->rank, index);
    }
}
