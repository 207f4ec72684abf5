/*
 * test_scalar.c: every scalar operation on every dtype against expectations written independently: integers
 * by exact arithmetic in 128 bits, halves by double arithmetic rounded once, the rest by tables.
 */
#include "../../jit/scalar.h"
#include "../../jit/scalar_library.h"
#include "check.h"

#include <setjmp.h>
#include <stdlib.h>

typedef __int128 wide;

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* ---- integers ---------------------------------------------------------------- */

static const akg_dtype integer_dtypes[] = {AKG_INT8,  AKG_INT16,  AKG_INT32,  AKG_INT64,
                                           AKG_UINT8, AKG_UINT16, AKG_UINT32, AKG_UINT64};

static wide wide_floordiv(wide a, wide b)
{
    wide q = a / b;
    while (q * b > a ? b > 0 : q * b < a && b < 0) /* at most one step down */
        q--;
    return q;
}

/* The low bits of base ** exponent, by as many multiplications. */
static wide wide_pow(wide base, wide exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    unsigned __int128 product = 1;
    for (wide k = 0; k < exponent; k++)
        product = product * (unsigned __int128)base;
    return (wide)product;
}

static wide bits_in(wide value, int width)
{
    wide count = 0;
    for (int k = 0; k < width; k++)
        count += value >> k & 1;
    return count;
}

/* The exact result, not yet wrapped; false where the operation must refuse. */
static bool exact(enum operation operation, int width, wide a, wide b, wide *result)
{
    int shift = (int)(b & (width - 1));
    bool divides = operation == OP_FLOORDIV || operation == OP_MOD || operation == OP_CEIL_DIV;
    if ((divides && b == 0) || (operation == OP_POW && a == 0 && b < 0))
        return false;
    /* clang-format off */
    switch (operation) {
    case OP_ADD: *result = a + b; return true;
    case OP_SUB: *result = a - b; return true;
    case OP_MUL: *result = (wide)((unsigned __int128)a * (unsigned __int128)b); return true;
    case OP_FLOORDIV: *result = wide_floordiv(a, b); return true;
    case OP_MOD: *result = a - wide_floordiv(a, b) * b; return true;
    case OP_CEIL_DIV: *result = -wide_floordiv(-a, b); return true;
    case OP_POW: *result = wide_pow(a, b); return true;
    case OP_NEG: *result = -a; return true;
    case OP_ABS: *result = a < 0 ? -a : a; return true;
    case OP_SIGN: *result = a < 0 ? -1 : a == 0 ? 0 : 1; return true;
    case OP_MIN: *result = a < b ? a : b; return true;
    case OP_MAX: *result = a < b ? b : a; return true;
    case OP_LT: *result = a < b; return true;
    case OP_LE: *result = a <= b; return true;
    case OP_GT: *result = a > b; return true;
    case OP_GE: *result = a >= b; return true;
    case OP_EQ: *result = a == b; return true;
    case OP_NE: *result = a != b; return true;
    case OP_BITAND: *result = a & b; return true;
    case OP_BITOR: *result = a | b; return true;
    case OP_BITXOR: *result = a ^ b; return true;
    case OP_BITNOT: *result = -1 - a; return true;
    case OP_SHL: *result = (wide)((unsigned __int128)a << shift); return true;
    case OP_SHR: *result = wide_floordiv(a, (wide)1 << shift); return true;
    case OP_POPCOUNT: *result = bits_in(a, width); return true;
    default: return false;
    }
    /* clang-format on */
}

static const enum operation integer_operations[] = {
    OP_ADD,    OP_SUB,   OP_MUL,    OP_FLOORDIV, OP_MOD, OP_CEIL_DIV, OP_POW,     OP_NEG, OP_ABS,
    OP_SIGN,   OP_MIN,   OP_MAX,    OP_LT,       OP_LE,  OP_GT,       OP_GE,      OP_EQ,  OP_NE,
    OP_BITAND, OP_BITOR, OP_BITXOR, OP_BITNOT,   OP_SHL, OP_SHR,      OP_POPCOUNT};

static wide reduce(wide value, int width, bool is_signed)
{
    value &= ((wide)1 << width) - 1;
    if (is_signed && value >> (width - 1) & 1)
        value -= (wide)1 << width;
    return value;
}

/* A register's content as the number it stands for. */
static wide meaning(akg_dtype dtype, int64_t bits)
{
    return dtype == AKG_UINT64 ? (wide)(uint64_t)bits : (wide)bits;
}

static bool integer_case(enum operation operation, akg_dtype dtype, int64_t a, int64_t b)
{
    int width = dtype_table[dtype].size * 8;
    bool is_signed = dtype_is_signed(dtype), compares = operation_table[operation].rule == RULE_COMPARE;
    akg_dtype to = compares ? AKG_BOOL : dtype;
    union dtype_value operands[3] = {{.i = a}, {.i = b}, {0}}, actual = {.i = -77};
    wide expected;
    bool defined = exact(operation, width, meaning(dtype, a), meaning(dtype, b), &expected);
    if (scalar_apply(operation, to, dtype, operands, &actual) != defined)
        return false;
    if (!defined)
        return true;
    expected = compares ? expected : reduce(expected, width, is_signed);
    return meaning(to, actual.i) == expected;
}

static void check_integer(enum operation operation, akg_dtype dtype, int64_t a, int64_t b)
{
    if (!CHECK(integer_case(operation, dtype, a, b)))
        fprintf(stderr, "    %s %s: %lld, %lld\n", dtype_table[dtype].name, operation_table[operation].text,
                (long long)a, (long long)b);
}

static void test_bytes_exhaustively(akg_dtype dtype)
{
    int low = dtype_is_signed(dtype) ? -128 : 0;
    for (int k = 0; k < COUNT(integer_operations); k++) {
        long wrong = 0;
        for (int a = low; a < low + 256; a++)
            for (int b = low; b < low + 256; b++)
                wrong += !integer_case(integer_operations[k], dtype, a, b);
        CHECK_INT(wrong, 0);
    }
}

static void test_integer_edges(void)
{
    for (int d = 0; d < COUNT(integer_dtypes); d++) {
        akg_dtype dtype = integer_dtypes[d];
        int width = dtype_table[dtype].size * 8;
        uint64_t top = (uint64_t)1 << (width - 1);
        int64_t raw[] = {0,
                         1,
                         2,
                         3,
                         7,
                         10,
                         63,
                         64,
                         65,
                         -1,
                         -2,
                         -3,
                         -7,
                         (int64_t)top,
                         (int64_t)(top + 1),
                         (int64_t)(top - 1),
                         0x5555555555555555};
        for (int k = 0; k < COUNT(integer_operations); k++)
            for (int i = 0; i < COUNT(raw); i++)
                for (int j = 0; j < COUNT(raw); j++) {
                    int64_t a = dtype_wrap(dtype, raw[i]), b = dtype_wrap(dtype, raw[j]);
                    if (integer_operations[k] != OP_POW || meaning(dtype, b) < 100)
                        check_integer(integer_operations[k], dtype, a, b);
                }
    }
}

/* What 128 bits cannot tell: powers that wrap many times. */
static void test_large_powers(void)
{
    union dtype_value operands[2] = {{.i = 3}, {.i = -1}}, result;
    CHECK(scalar_apply(OP_POW, AKG_UINT64, AKG_UINT64, operands, &result)); /* 3 ** (2^64 - 1): its inverse */
    CHECK_INT(result.i, (int64_t)0xAAAAAAAAAAAAAAABull);
    operands[0].i = 0; /* no negative exponent */
    CHECK(scalar_apply(OP_POW, AKG_UINT64, AKG_UINT64, operands, &result));
    CHECK_INT(result.i, 0);
    operands[0].i = 3;
    operands[1].i = INT64_MAX;
    CHECK(scalar_apply(OP_POW, AKG_INT64, AKG_INT64, operands, &result)); /* the order of 3 divides 2^62 */
    CHECK_INT(result.i, (int64_t)0xAAAAAAAAAAAAAAABull);
    operands[0].i = -1;
    CHECK(scalar_apply(OP_POW, AKG_INT64, AKG_INT64, operands, &result));
    CHECK_INT(result.i, -1);
    operands[1].i = INT64_MIN;
    CHECK(scalar_apply(OP_POW, AKG_INT64, AKG_INT64, operands, &result));
    CHECK_INT(result.i, 1);
}

static void test_bools(void)
{
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            static const enum operation operations[] = {OP_BITAND, OP_BITOR, OP_BITXOR, OP_AND,
                                                        OP_OR,     OP_EQ,    OP_NE};
            int expected[] = {a & b, a | b, a ^ b, a & b, a | b, a == b, a != b};
            union dtype_value operands[3] = {{.i = a}, {.i = b}, {.i = 5}}, result;
            for (int k = 0; k < COUNT(operations); k++) {
                CHECK(scalar_apply(operations[k], AKG_BOOL, AKG_BOOL, operands, &result));
                CHECK_INT(result.i, expected[k]);
            }
            CHECK(scalar_apply(OP_BITNOT, AKG_BOOL, AKG_BOOL, operands, &result));
            CHECK_INT(result.i, 1 - a);
            CHECK(scalar_apply(OP_NOT, AKG_BOOL, AKG_BOOL, operands, &result));
            CHECK_INT(result.i, 1 - a);
            CHECK(scalar_apply(OP_SELECT, AKG_INT32, AKG_BOOL, operands, &result));
            CHECK_INT(result.i, a ? b : 5);
        }
}

/* ---- floats -------------------------------------------------------------------- */

/* Same value: NaN equals NaN, the zeros differ. */
static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static union dtype_value real(akg_dtype dtype, double value)
{
    return dtype_from_double(dtype, value);
}

static double apply(enum operation operation, akg_dtype dtype, double a, double b, double c)
{
    union dtype_value operands[3] = {real(dtype, a), real(dtype, b), real(dtype, c)}, result;
    enum operation_rule rule = operation_table[operation].rule;
    bool truth = rule == RULE_COMPARE || rule == RULE_CLASSIFY;
    if (!scalar_apply(operation, truth ? AKG_BOOL : dtype, dtype, operands, &result))
        return 1e300;
    return truth ? (double)result.i : dtype_to_double(dtype, result);
}

struct float_case {
    enum operation operation;
    double a, b, expected;
};

/* Exact in every float dtype. */
static const struct float_case exact_cases[] = {
    {OP_ADD, 1.5, -2, -0.5},
    {OP_SUB, 1.5, -2, 3.5},
    {OP_MUL, -1.5, 2, -3},
    {OP_TRUEDIV, -3, 2, -1.5},
    {OP_TRUEDIV, 1, 0, INFINITY},
    {OP_TRUEDIV, -1, 0, -INFINITY},
    {OP_TRUEDIV, 0, 0, NAN},
    {OP_NEG, 0.0, 0, -0.0},
    {OP_NEG, 2, 0, -2},
    {OP_FLOORDIV, 7, 2, 3},
    {OP_FLOORDIV, -7, 2, -4},
    {OP_FLOORDIV, 7, -2, -4},
    {OP_FLOORDIV, -7, -2, 3},
    {OP_FLOORDIV, 8, 2, 4},
    {OP_FLOORDIV, -8, 2, -4},
    {OP_FLOORDIV, 1, 0, INFINITY},
    {OP_FLOORDIV, -1, 0, -INFINITY},
    {OP_FLOORDIV, 1, -0.0, -INFINITY},
    {OP_FLOORDIV, 0, 0, NAN},
    {OP_FLOORDIV, INFINITY, 1, NAN},
    {OP_FLOORDIV, INFINITY, 0, INFINITY},
    {OP_FLOORDIV, 1, INFINITY, 0},
    {OP_FLOORDIV, -1, INFINITY, -1},
    {OP_FLOORDIV, 1, -INFINITY, -1},
    {OP_FLOORDIV, -1, -INFINITY, 0},
    {OP_FLOORDIV, 0, -3, -0.0},
    {OP_FLOORDIV, -0.0, 3, -0.0},
    {OP_FLOORDIV, 0, 3, 0},
    {OP_FLOORDIV, 1, 4, 0},
    {OP_FLOORDIV, -1, 4, -1},
    {OP_FLOORDIV, NAN, 1, NAN},
    {OP_FLOORDIV, 1, NAN, NAN},
    {OP_MOD, 7, 2, 1},
    {OP_MOD, -7, 2, 1},
    {OP_MOD, 7, -2, -1},
    {OP_MOD, -7, -2, -1},
    {OP_MOD, 5, INFINITY, 5},
    {OP_MOD, -5, INFINITY, INFINITY},
    {OP_MOD, 5, -INFINITY, -INFINITY},
    {OP_MOD, -5, -INFINITY, -5},
    {OP_MOD, 6, -2, -0.0},
    {OP_MOD, -6, 2, 0},
    {OP_MOD, -0.0, 2, 0},
    {OP_MOD, 0, -2, -0.0},
    {OP_MOD, 5, 0, NAN},
    {OP_MOD, INFINITY, 2, NAN},
    {OP_MOD, NAN, 2, NAN},
    {OP_MOD, 2, NAN, NAN},
    {OP_MOD, -1, 0.75, 0.5},
    {OP_POW, 2, 3, 8},
    {OP_POW, -2, 3, -8},
    {OP_POW, 0, 0, 1},
    {OP_POW, NAN, 0, 1},
    {OP_POW, 0, -1, INFINITY},
    {OP_POW, -2, 0.5, NAN},
    {OP_POW, 4, -0.5, 0.5},
    {OP_MIN, 1, 2, 1},
    {OP_MIN, 2, 1, 1},
    {OP_MIN, NAN, 1, NAN},
    {OP_MIN, 1, NAN, NAN},
    {OP_MIN, -0.0, 0.0, -0.0},
    {OP_MIN, 0.0, -0.0, -0.0},
    {OP_MIN, 0.0, 0.0, 0.0},
    {OP_MIN, -INFINITY, 1, -INFINITY},
    {OP_MIN, -3, -3, -3},
    {OP_MAX, 1, 2, 2},
    {OP_MAX, 2, 1, 2},
    {OP_MAX, NAN, 1, NAN},
    {OP_MAX, 1, NAN, NAN},
    {OP_MAX, -0.0, 0.0, 0.0},
    {OP_MAX, 0.0, -0.0, 0.0},
    {OP_MAX, -0.0, -0.0, -0.0},
    {OP_MAX, -INFINITY, 1, 1},
    {OP_MAX, -3, -3, -3},
    {OP_ABS, -2, 0, 2},
    {OP_ABS, -0.0, 0, 0},
    {OP_ABS, -INFINITY, 0, INFINITY},
    {OP_ABS, NAN, 0, NAN},
    {OP_SIGN, -2, 0, -1},
    {OP_SIGN, 0.5, 0, 1},
    {OP_SIGN, 0, 0, 0},
    {OP_SIGN, -0.0, 0, 0},
    {OP_SIGN, NAN, 0, NAN},
    {OP_SIGN, -INFINITY, 0, -1},
    {OP_SQRT, 4, 0, 2},
    {OP_SQRT, -1, 0, NAN},
    {OP_SQRT, -0.0, 0, -0.0},
    {OP_RSQRT, 4, 0, 0.5},
    {OP_RSQRT, 0, 0, INFINITY},
    {OP_RSQRT, INFINITY, 0, 0},
    {OP_RSQRT, -1, 0, NAN},
    {OP_SIGMOID, 0, 0, 0.5},
    {OP_SIGMOID, INFINITY, 0, 1},
    {OP_SIGMOID, -INFINITY, 0, 0},
    {OP_SIGMOID, NAN, 0, NAN},
    {OP_SIGMOID, 1000, 0, 1},
    {OP_SIGMOID, -1000, 0, 0},
    {OP_FLOOR, -1.5, 0, -2},
    {OP_FLOOR, 1.5, 0, 1},
    {OP_CEIL, -1.5, 0, -1},
    {OP_CEIL, -0.5, 0, -0.0},
    {OP_TRUNC, -1.5, 0, -1},
    {OP_TRUNC, 1.5, 0, 1},
    {OP_ROUND, 0.5, 0, 0},
    {OP_ROUND, 1.5, 0, 2},
    {OP_ROUND, 2.5, 0, 2},
    {OP_ROUND, -0.5, 0, -0.0},
    {OP_ROUND, -1.5, 0, -2},
    {OP_ROUND, 2.75, 0, 3},
    {OP_ISNAN, NAN, 0, 1},
    {OP_ISNAN, 1, 0, 0},
    {OP_ISNAN, INFINITY, 0, 0},
    {OP_ISINF, -INFINITY, 0, 1},
    {OP_ISINF, INFINITY, 0, 1},
    {OP_ISINF, NAN, 0, 0},
    {OP_ISINF, 1, 0, 0},
    {OP_ISFINITE, 1, 0, 1},
    {OP_ISFINITE, NAN, 0, 0},
    {OP_ISFINITE, -INFINITY, 0, 0},
    {OP_LT, 1, 2, 1},
    {OP_LT, 2, 2, 0},
    {OP_LT, NAN, 1, 0},
    {OP_LE, 2, 2, 1},
    {OP_LE, NAN, NAN, 0},
    {OP_GT, 2, 1, 1},
    {OP_GT, 1, NAN, 0},
    {OP_GE, 2, 2, 1},
    {OP_GE, 1, 2, 0},
    {OP_GE, NAN, NAN, 0},
    {OP_EQ, NAN, NAN, 0},
    {OP_EQ, 0.0, -0.0, 1},
    {OP_EQ, 1, 2, 0},
    {OP_NE, NAN, NAN, 1},
    {OP_NE, 0.0, -0.0, 0},
    {OP_EXP, 0, 0, 1},
    {OP_EXP, -INFINITY, 0, 0},
    {OP_EXP2, 3, 0, 8},
    {OP_EXPM1, 0, 0, 0},
    {OP_LOG, 1, 0, 0},
    {OP_LOG, 0, 0, -INFINITY},
    {OP_LOG, -1, 0, NAN},
    {OP_LOG1P, -1, 0, -INFINITY},
    {OP_LOG2, 8, 0, 3},
    {OP_LOG10, 1, 0, 0},
    {OP_ATAN2, 0, 1, 0},
    {OP_ATAN2, -0.0, 1, -0.0},
    {OP_TANH, INFINITY, 0, 1},
    {OP_ERF, INFINITY, 0, 1},
    {OP_ERFC, INFINITY, 0, 0},
    {OP_COS, 0, 0, 1},
    {OP_SIN, -0.0, 0, -0.0},
    {OP_COSH, 0, 0, 1},
    {OP_ACOS, 1, 0, 0},
    {OP_ASIN, 2, 0, NAN},
};

/* Only in float64, as Python and numpy compute them; or by the first digits. */
static const struct float_case double_cases[] = {
    {OP_FLOORDIV, 1, 0.1, 9},
    {OP_FLOORDIV, 6, 0.1, 59},
    {OP_FLOORDIV, 1e308, 1e-10, INFINITY},
    {OP_FLOORDIV, 820485911925482.1, 0.785818680289236, 1044116069655516.0},  /* 1044116069655515.9 */
    {OP_FLOORDIV, 975594517817883.5, 0.2283937505424498, 4271546465263535.0}, /* a tie */
    {OP_FLOORDIV, 4503599627370497, 0.5, 9007199254740994},
    {OP_MOD, 1e300, 7, 1},
    {OP_MOD, -1e-20, 3, 3},
    {OP_MOD, 6, 0.1, 0.09999999999999967},
};

/* To the precision of the dtype. */
static const struct float_case near_cases[] = {
    {OP_EXP, 1, 0, 2.718281828459045},
    {OP_EXP2, 0.5, 0, 1.4142135623730951},
    {OP_EXPM1, 0.0009765625, 0, 0.0009770394924165352},
    {OP_LOG, 3, 0, 1.0986122886681098},
    {OP_LOG1P, 0.0009765625, 0, 0.0009760859730554589},
    {OP_LOG2, 3, 0, 1.584962500721156},
    {OP_LOG10, 3, 0, 0.47712125471966244},
    {OP_SIN, 1, 0, 0.8414709848078965},
    {OP_COS, 1, 0, 0.5403023058681398},
    {OP_TAN, 1, 0, 1.5574077246549022},
    {OP_ASIN, 0.5, 0, 0.5235987755982989},
    {OP_ACOS, 0.5, 0, 1.0471975511965979},
    {OP_ATAN, 1, 0, 0.7853981633974483},
    {OP_ATAN2, 1, -1, 2.356194490192345},
    {OP_SINH, 1, 0, 1.1752011936438014},
    {OP_COSH, 1, 0, 1.5430806348152437},
    {OP_TANH, 1, 0, 0.7615941559557649},
    {OP_ERF, 0.5, 0, 0.5204998778130465},
    {OP_ERFC, 0.5, 0, 0.4795001221869535},
    {OP_SIGMOID, 1, 0, 0.7310585786300049},
    {OP_SIGMOID, -1, 0, 0.2689414213699951},
    {OP_SIGMOID, -8, 0, 0.0003353501304664781},
    {OP_POW, 3, 0.5, 1.7320508075688772},
    {OP_SQRT, 2, 0, 1.4142135623730951},
    {OP_RSQRT, 3, 0, 0.5773502691896258},
};

static void report(akg_dtype dtype, const struct float_case *test, double actual)
{
    fprintf(stderr, "    %s %s: %.17g, %.17g gives %.17g, should %.17g\n", dtype_table[dtype].name,
            operation_table[test->operation].text, test->a, test->b, actual, test->expected);
}

static void test_float_tables(void)
{
    static const double precision[] = {
        [AKG_FLOAT16] = 0x1p-11, [AKG_BFLOAT16] = 0x1p-8, [AKG_FLOAT32] = 0x1p-22, [AKG_FLOAT64] = 0x1p-51};
    for (akg_dtype dtype = AKG_FLOAT16; dtype <= AKG_FLOAT64; dtype++) {
        for (int k = 0; k < COUNT(exact_cases); k++) {
            const struct float_case *test = &exact_cases[k];
            double actual = apply(test->operation, dtype, test->a, test->b, 0);
            if (!CHECK(same(actual, test->expected)))
                report(dtype, test, actual);
        }
        for (int k = 0; k < COUNT(near_cases); k++) {
            const struct float_case *test = &near_cases[k];
            double actual = apply(test->operation, dtype, test->a, test->b, 0);
            if (!CHECK(fabs(actual - test->expected) <= precision[dtype] * fabs(test->expected)))
                report(dtype, test, actual);
        }
    }
    for (int k = 0; k < COUNT(double_cases); k++) {
        const struct float_case *test = &double_cases[k];
        double actual = apply(test->operation, AKG_FLOAT64, test->a, test->b, 0);
        if (!CHECK(same(actual, test->expected)))
            report(AKG_FLOAT64, test, actual);
    }
}

static void test_fma(void)
{
    CHECK(apply(OP_FMA, AKG_FLOAT64, 0x1.0000001p0, 0x1.0000001p0, -1) == 0x1.00000008p-27);
    CHECK(apply(OP_FMA, AKG_FLOAT32, 0x1.001p0, 0x1.001p0, -1) == 0x1.0008p-11);
    CHECK(apply(OP_FMA, AKG_FLOAT16, 3, 5, 0.5) == 15.5);
    CHECK(apply(OP_FMA, AKG_BFLOAT16, 1.0078125, 1.0078125, -1.015625) == 0x1p-14);
}

/* Each operation rounds to the half: as double arithmetic rounded once, for 53 >= 2 * 11 + 2. */
static long count_wrong_halves(akg_dtype dtype, enum operation operation, unsigned step)
{
    long wrong = 0;
    for (unsigned x = 0; x < 0x10000; x += step)
        for (unsigned y = 3; y < 0x10000; y += step) {
            uint16_t bits[2] = {(uint16_t)x, (uint16_t)y};
            double a = dtype_to_double(dtype, dtype_load(dtype, &bits[0]));
            double b = dtype_to_double(dtype, dtype_load(dtype, &bits[1]));
            double expected = operation == OP_ADD       ? a + b
                              : operation == OP_SUB     ? a - b
                              : operation == OP_MUL     ? a * b
                              : operation == OP_TRUEDIV ? a / b
                                                        : sqrt(a);
            expected = dtype_to_double(dtype, dtype_from_double(dtype, expected));
            wrong += !same(apply(operation, dtype, a, b, 0), expected);
        }
    return wrong;
}

static void test_half_rounding(void)
{
    static const enum operation operations[] = {OP_ADD, OP_SUB, OP_MUL, OP_TRUEDIV, OP_SQRT};
    for (int k = 0; k < COUNT(operations); k++) {
        CHECK_INT(count_wrong_halves(AKG_FLOAT16, operations[k], 331), 0);
        CHECK_INT(count_wrong_halves(AKG_BFLOAT16, operations[k], 331), 0);
    }
    CHECK(apply(OP_ADD, AKG_FLOAT16, 2048, 1, 0) == 2048);
    CHECK(apply(OP_ADD, AKG_FLOAT16, 2050, 1, 0) == 2052); /* tie to even */
    CHECK(apply(OP_MUL, AKG_FLOAT16, 256, 256, 0) == INFINITY);
    CHECK(apply(OP_MUL, AKG_BFLOAT16, 256, 256, 0) == 65536);
    CHECK(apply(OP_ADD, AKG_BFLOAT16, 256, 1, 0) == 256);
    CHECK(apply(OP_EXP, AKG_FLOAT16, 1, 0, 0) == 2.71875);
}

/* ---- casts ----------------------------------------------------------------------- */

static void test_float_to_integer(void)
{
    static const struct {
        akg_dtype to;
        double value;
        int64_t expected;
    } cases[] = {
        {AKG_INT8, 127.9, 127},
        {AKG_INT8, 128, 127},
        {AKG_INT8, -128.9, -128},
        {AKG_INT8, -1e9, -128},
        {AKG_INT8, NAN, 0},
        {AKG_INT8, -0.9, 0},
        {AKG_UINT8, -0.5, 0},
        {AKG_UINT8, -5, 0},
        {AKG_UINT8, 255.9, 255},
        {AKG_UINT8, 256, 255},
        {AKG_INT16, 40000, 32767},
        {AKG_INT16, -40000, -32768},
        {AKG_UINT16, 70000, 65535},
        {AKG_INT32, 2147483648.0, INT32_MAX},
        {AKG_INT32, -2147483649.0, INT32_MIN},
        {AKG_INT32, 3.99, 3},
        {AKG_INT32, -3.99, -3},
        {AKG_UINT32, 4294967296.0, UINT32_MAX},
        {AKG_UINT32, 4294967295.5, UINT32_MAX},
        {AKG_INT64, 0x1p63, INT64_MAX},
        {AKG_INT64, -0x1p63, INT64_MIN},
        {AKG_INT64, INFINITY, INT64_MAX},
        {AKG_INT64, -INFINITY, INT64_MIN},
        {AKG_INT64, NAN, 0},
        {AKG_UINT64, 0x1p63, INT64_MIN},
        {AKG_UINT64, 0x1p64, -1},
        {AKG_UINT64, -1, 0},
        {AKG_UINT64, NAN, 0},
        {AKG_BOOL, NAN, 1},
        {AKG_BOOL, 0.25, 1},
        {AKG_BOOL, -0.0, 0},
    };
    for (int k = 0; k < COUNT(cases); k++) {
        union dtype_value operand = {.d = cases[k].value}, result;
        CHECK(scalar_apply(OP_CAST, cases[k].to, AKG_FLOAT64, &operand, &result));
        CHECK_INT(result.i, cases[k].expected);
    }
    CHECK_INT(akg_double_to_int8(-200), -128);
    CHECK_INT(akg_double_to_int16(1e6), 32767);
    CHECK_INT(akg_double_to_int32(-1e12), INT32_MIN);
    CHECK_INT(akg_double_to_int64(1e30), INT64_MAX);
    CHECK_INT(akg_double_to_uint8(1000), 255);
    CHECK_INT(akg_double_to_uint16(-1), 0);
    CHECK_INT(akg_double_to_uint32(1e12), UINT32_MAX);
    CHECK(akg_double_to_uint64(1e30) == UINT64_MAX);
}

static void test_other_casts(void)
{
    union dtype_value operand = {.i = 300}, result;
    CHECK(scalar_apply(OP_CAST, AKG_INT8, AKG_INT32, &operand, &result));
    CHECK_INT(result.i, 44);
    operand.i = -1;
    CHECK(scalar_apply(OP_CAST, AKG_UINT16, AKG_INT8, &operand, &result));
    CHECK_INT(result.i, 65535);
    CHECK(scalar_apply(OP_CAST, AKG_FLOAT64, AKG_UINT64, &operand, &result));
    CHECK(result.d == 0x1p64);
    CHECK(scalar_apply(OP_CAST, AKG_BOOL, AKG_INT8, &operand, &result));
    CHECK_INT(result.i, 1);
    operand.d = 1 + 0x1p-11 + 0x1p-40; /* once to float first, it would be a tie and go down */
    CHECK(scalar_apply(OP_CAST, AKG_FLOAT16, AKG_FLOAT64, &operand, &result));
    CHECK(result.f == 1 + 0x1p-10f);
    CHECK_INT(akg_double_to_half(operand.d), 0x3c01);
    CHECK_INT(akg_float_to_half(1.0f + 0x1p-11f), 0x3c00);
    CHECK_INT(akg_float_to_half(1e6f), 0x7c00);
    CHECK(akg_half_to_float(0x0001) == 0x1p-24f);
    CHECK(akg_half_to_float(0xffff3c00u) == 1.0f); /* bits above the width do not count */
    CHECK_INT(akg_float_to_bfloat(-1.0f), 0xbf80);
    CHECK_INT(akg_double_to_bfloat(1 + 0x1p-8 + 0x1p-40), 0x3f81);
    CHECK(akg_bfloat_to_float(0xbf80) == -1.0f);
    CHECK_INT(akg_int64_to_half(-2049), 0xe800);
    CHECK_INT(akg_uint64_to_half(UINT64_MAX), 0x7c00);
    CHECK_INT(akg_int64_to_bfloat((1ll << 62) + (1ll << 54) + 1), 0x5e81); /* just above a tie */
    CHECK_INT(akg_uint64_to_bfloat((1ull << 63) + (1ull << 55)), 0x5f00);  /* a tie */
    CHECK(akg_uint64_to_float(UINT64_MAX) == 0x1p64f);
    CHECK(akg_int64_to_float((1ll << 62) + (1ll << 38) + 1) == 0x1.000002p62f);
    CHECK(akg_int64_to_double(-3) == -3.0);
    CHECK(akg_uint64_to_double(1ull << 63) == 0x1p63);
}

/* ---- the library's table ---------------------------------------------------------- */

static const struct scalar_library_row *find(const char *name)
{
    for (const struct scalar_library_row *row = scalar_library; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* Names in operations.def, the table of names, and the functions that scalar.c calls are the same. */
static void test_library(void)
{
    for (int k = 0; k < OPERATION_COUNT; k++) {
        const struct operation_row *row = &operation_table[k];
        if (!row->c32[0]) {
            CHECK(!scalar_functions32[k].f1 && !scalar_functions64[k].f1);
            continue;
        }
        const struct scalar_library_row *row32 = find(row->c32), *row64 = find(row->c64);
        if (!CHECK(row32 && row64))
            continue;
        CHECK(row32->address == (void *)scalar_functions32[k].f1);
        CHECK(row64->address == (void *)scalar_functions64[k].f1);
    }
    for (const struct scalar_library_row *row = scalar_library; row->name; row++) {
        CHECK(row->address && strstr(row->prototype, row->name));
        CHECK(find(row->name) == row);
    }
    CHECK_STRING(find("fmaf")->prototype, "float fmaf(float a, float b, float c);");
    CHECK_STRING(find("akg_isnan")->prototype, "int akg_isnan(double a);");
    CHECK_STRING(find("akg_pow_int64")->prototype,
                 "long long akg_pow_int64(long long base, long long exponent);");
    CHECK_INT(akg_floordiv_int64(7, 0) + akg_mod_int64(7, 0) + akg_ceildiv_int64(7, 0), 0);
    CHECK_INT(akg_floordiv_uint64(7, 0) + akg_mod_uint64(7, 0) + akg_ceildiv_uint64(7, 0), 0);
    CHECK_INT(akg_popcount(UINT64_MAX), 64);
}

/* ---- expressions over dims and attributes -------------------------------------------- */

static jmp_buf escape;

struct scene {
    struct ir_kernel *kernel;
    struct ir_symbol *n, *alpha;
    int64_t dims[1];
    union jit_scalar scalars[1];
};

static bool value_of(const struct scene *scene, enum operation operation, struct ir_expr *a,
                     struct ir_expr *b, int64_t *value)
{
    union dtype_value result = {0};
    bool done = scalar_evaluate(ir_operation(scene->kernel, operation, a, b, NULL), scene->dims,
                                scene->scalars, &result);
    *value = result.i;
    return done;
}

static void test_overflow(const struct scene *scene)
{
    static const struct {
        enum operation operation;
        int64_t n, other;
        bool fits;
        int64_t value;
    } cases[] = {
        {OP_ADD, INT64_MAX, 1, false, 0},
        {OP_ADD, INT64_MAX, -1, true, INT64_MAX - 1},
        {OP_SUB, INT64_MIN, 1, false, 0},
        {OP_MUL, INT64_MAX / 2, 3, false, 0},
        {OP_MUL, 6, 7, true, 42},
        {OP_FLOORDIV, INT64_MIN, -1, false, 0},
        {OP_FLOORDIV, INT64_MIN, 2, true, INT64_MIN / 2},
        {OP_FLOORDIV, -7, 2, true, -4},
        {OP_FLOORDIV, 7, 0, false, 0},
        {OP_MOD, INT64_MIN, -1, true, 0},
        {OP_MOD, 7, 0, false, 0},
        {OP_CEIL_DIV, 7, 2, true, 4},
        {OP_CEIL_DIV, INT64_MIN, -1, false, 0},
        {OP_CEIL_DIV, 1, 0, false, 0},
        {OP_SHL, 1, 62, true, (int64_t)1 << 62},
        {OP_SHL, 1, 63, false, 0},
        {OP_SHL, -1, 63, true, INT64_MIN},
        {OP_POW, 2, 62, true, (int64_t)1 << 62},
        {OP_POW, 2, 63, false, 0},
        {OP_POW, -2, 63, true, INT64_MIN},
        {OP_POW, -2, 64, false, 0},
        {OP_POW, 0, -1, false, 0},
        {OP_POW, 1, INT64_MAX, true, 1},
        {OP_POW, 2, INT64_MIN, true, 0},
        {OP_MIN, INT64_MIN, 4, true, INT64_MIN},
        {OP_LT, -1, 0, true, 1},
    };
    struct scene moved = *scene;
    for (int k = 0; k < COUNT(cases); k++) {
        int64_t value;
        moved.dims[0] = cases[k].n;
        struct ir_expr *n = ir_symbol_use(scene->kernel, scene->n);
        struct ir_expr *other = ir_integer(scene->kernel, AKG_INT64, cases[k].other);
        bool done = value_of(&moved, cases[k].operation, n, other, &value);
        if (!CHECK(done == cases[k].fits && (!done || value == cases[k].value)))
            fprintf(stderr, "    case %d gives %d, %lld\n", k, done, (long long)value);
    }
    moved.dims[0] = INT64_MIN;
    int64_t value;
    CHECK(!value_of(&moved, OP_NEG, ir_symbol_use(scene->kernel, scene->n), NULL, &value));
    CHECK(!value_of(&moved, OP_ABS, ir_symbol_use(scene->kernel, scene->n), NULL, &value));
}

static void test_evaluate(const struct scene *scene)
{
    struct ir_kernel *kernel = scene->kernel;
    struct ir_expr *n = ir_symbol_use(kernel, scene->n), *zero = ir_integer(kernel, AKG_INT64, 0);
    struct ir_expr *alpha = ir_symbol_use(kernel, scene->alpha);
    union dtype_value result;

    CHECK(scalar_evaluate(alpha, scene->dims, scene->scalars, &result) && result.d == 2.5);
    struct ir_expr *twice = ir_operation(kernel, OP_MUL, alpha, ir_real(kernel, AKG_FLOAT64, 2), NULL);
    CHECK(scalar_evaluate(ir_cast(kernel, AKG_INT64, twice), scene->dims, scene->scalars, &result));
    CHECK_INT(result.i, 5);

    /* the right sides divide by zero, but are not needed */
    struct ir_expr *bad =
        ir_operation(kernel, OP_EQ, ir_operation(kernel, OP_MOD, n, zero, NULL), zero, NULL);
    struct ir_expr *positive = ir_operation(kernel, OP_GT, n, zero, NULL);
    struct ir_expr *negative = ir_operation(kernel, OP_LT, n, zero, NULL);
    CHECK(!scalar_evaluate(bad, scene->dims, scene->scalars, &result));
    CHECK(scalar_evaluate(ir_operation(kernel, OP_AND, negative, bad, NULL), scene->dims, scene->scalars,
                          &result));
    CHECK_INT(result.i, 0);
    CHECK(scalar_evaluate(ir_operation(kernel, OP_OR, positive, bad, NULL), scene->dims, scene->scalars,
                          &result));
    CHECK_INT(result.i, 1);
    CHECK(!scalar_evaluate(ir_operation(kernel, OP_AND, positive, bad, NULL), scene->dims, scene->scalars,
                           &result));
    CHECK(!scalar_evaluate(ir_operation(kernel, OP_OR, negative, bad, NULL), scene->dims, scene->scalars,
                           &result));
    struct ir_expr *choice =
        ir_operation(kernel, OP_SELECT, positive, n, ir_operation(kernel, OP_MOD, n, zero, NULL));
    CHECK(scalar_evaluate(choice, scene->dims, scene->scalars, &result));
    CHECK_INT(result.i, 12);

    struct ir_symbol *loop = ir_symbol_new(kernel, IR_SYMBOL_LOOP, "i", AKG_INT64);
    CHECK(!scalar_evaluate(ir_symbol_use(kernel, loop), scene->dims, scene->scalars, &result));
}

static void test_expressions(void)
{
    struct arena arena;
    arena_init(&arena, &escape);
    if (setjmp(escape) == 0) {
        struct ir_kernel *kernel = ir_kernel_new(&arena, "k");
        struct scene scene = {.kernel = kernel, .dims = {12}, .scalars = {{.d = 2.5}}};
        scene.n = ir_symbol_new(kernel, IR_SYMBOL_DIM, "n", AKG_INT64);
        scene.alpha = ir_symbol_new(kernel, IR_SYMBOL_ATTRIBUTE, "alpha", AKG_FLOAT64);
        test_overflow(&scene);
        test_evaluate(&scene);
    } else {
        CHECK(!"out of memory");
    }
    arena_free(&arena);
}

int main(void)
{
    test_bytes_exhaustively(AKG_INT8);
    test_bytes_exhaustively(AKG_UINT8);
    test_integer_edges();
    test_large_powers();
    test_bools();
    test_float_tables();
    test_fma();
    test_half_rounding();
    test_float_to_integer();
    test_other_casts();
    test_library();
    test_expressions();
    return check_done();
}
