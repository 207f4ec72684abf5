/*
 * scalar_library.c: the functions of scalar_library.h and their table.
 *
 * Consumes base/dtype.c for conversions to halves; everything else stands here, most of it as macros, from
 * which comes the text for compilers that can put functions in line.
 * Assumes no -ffast-math and that neither a*b+c contraction nor excess precision occurs within one function
 * (only akg_log2_rest holds such expressions, and those it would not hurt).
 */
#include "scalar_library.h"
#include "x86_cpu.h"

/* ---- floats --------------------------------------------------------------- */

/* The same text for float and double: what differs is the libm suffix. `linkage` stands before each. */
#define FLOAT_FUNCTIONS(linkage, real, suffix)                                                               \
    linkage real akg_floordiv##suffix(real a, real b)                                                        \
    {                                                                                                        \
        if (b == 0)                                                                                          \
            return a / b;                                                                                    \
        /* a - remainder is a multiple of b but for rounding, so the quotient is a whole number to be        \
         * rounded to (ties down, as Python and numpy), not floored: that would lose one where the           \
         * division came out just below. */                                                                  \
        real remainder = fmod##suffix(a, b);                                                                 \
        real quotient = (a - remainder) / b;                                                                 \
        if (remainder != 0 && (remainder < 0) != (b < 0))                                                    \
            quotient -= 1;                                                                                   \
        if (quotient == 0)                                                                                   \
            return copysign##suffix(0, a / b);                                                               \
        real whole = floor##suffix(quotient);                                                                \
        return quotient - whole > (real)0.5 ? whole + 1 : whole;                                             \
    }                                                                                                        \
    linkage real akg_mod##suffix(real a, real b)                                                             \
    {                                                                                                        \
        real remainder = fmod##suffix(a, b);                                                                 \
        if (remainder == 0)                                                                                  \
            return copysign##suffix(remainder, b);                                                           \
        return (remainder < 0) != (b < 0) ? remainder + b : remainder;                                       \
    }                                                                                                        \
    linkage real akg_min##suffix(real a, real b)                                                             \
    {                                                                                                        \
        if (a != a || b != b)                                                                                \
            return a != a ? a : b;                                                                           \
        if (a == b)                                                                                          \
            return signbit(a) ? a : b;                                                                       \
        return a < b ? a : b;                                                                                \
    }                                                                                                        \
    linkage real akg_max##suffix(real a, real b)                                                             \
    {                                                                                                        \
        if (a != a || b != b)                                                                                \
            return a != a ? a : b;                                                                           \
        if (a == b)                                                                                          \
            return signbit(a) ? b : a;                                                                       \
        return a > b ? a : b;                                                                                \
    }                                                                                                        \
    linkage real akg_pow##suffix(real a, real b)                                                             \
    {                                                                                                        \
        if (b == 2)                                                                                          \
            return a * a;                                                                                    \
        if (b == 3)                                                                                          \
            return a * a * a;                                                                                \
        return b == -1 ? 1 / a : pow##suffix(a, b);                                                          \
    }                                                                                                        \
    linkage real akg_sign##suffix(real a)                                                                    \
    {                                                                                                        \
        if (a != a)                                                                                          \
            return a;                                                                                        \
        return (real)((a > 0) - (a < 0));                                                                    \
    }                                                                                                        \
    linkage real akg_rsqrt##suffix(real a)                                                                   \
    {                                                                                                        \
        return 1 / sqrt##suffix(a);                                                                          \
    }                                                                                                        \
    linkage real akg_sigmoid##suffix(real a)                                                                 \
    {                                                                                                        \
        if (a >= 0)                                                                                          \
            return 1 / (1 + exp##suffix(-a));                                                                \
        real power = exp##suffix(a);                                                                         \
        return power / (1 + power);                                                                          \
    }                                                                                                        \
    linkage int akg_isnan##suffix(real a)                                                                    \
    {                                                                                                        \
        return a != a;                                                                                       \
    }                                                                                                        \
    linkage int akg_isinf##suffix(real a)                                                                    \
    {                                                                                                        \
        return isinf(a) != 0;                                                                                \
    }                                                                                                        \
    linkage int akg_isfinite##suffix(real a)                                                                 \
    {                                                                                                        \
        return isfinite(a) != 0;                                                                             \
    }

FLOAT_FUNCTIONS(, float, f)
FLOAT_FUNCTIONS(, double, )

/* ---- integers, and between numbers ------------------------------------------------ */

/* Division by -1 is a negation that wraps; the machine's own division traps on the most negative number. */
#define INTEGER_FUNCTIONS(linkage)                                                                           \
    linkage long long akg_floordiv_int64(long long a, long long b)                                           \
    {                                                                                                        \
        if (b == 0 || b == -1)                                                                               \
            return b == 0 ? 0 : (long long)(0 - (unsigned long long)a);                                      \
        return a / b - (a % b != 0 && (a < 0) != (b < 0));                                                   \
    }                                                                                                        \
    linkage unsigned long long akg_floordiv_uint64(unsigned long long a, unsigned long long b)               \
    {                                                                                                        \
        return b == 0 ? 0 : a / b;                                                                           \
    }                                                                                                        \
    linkage long long akg_mod_int64(long long a, long long b)                                                \
    {                                                                                                        \
        if (b == 0 || b == -1)                                                                               \
            return 0;                                                                                        \
        long long remainder = a % b;                                                                         \
        return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;                     \
    }                                                                                                        \
    linkage unsigned long long akg_mod_uint64(unsigned long long a, unsigned long long b)                    \
    {                                                                                                        \
        return b == 0 ? 0 : a % b;                                                                           \
    }                                                                                                        \
    linkage long long akg_ceildiv_int64(long long a, long long b)                                            \
    {                                                                                                        \
        if (b == 0 || b == -1)                                                                               \
            return b == 0 ? 0 : (long long)(0 - (unsigned long long)a);                                      \
        return a / b + (a % b != 0 && (a < 0) == (b < 0));                                                   \
    }                                                                                                        \
    linkage unsigned long long akg_ceildiv_uint64(unsigned long long a, unsigned long long b)                \
    {                                                                                                        \
        return b == 0 ? 0 : a / b + (a % b != 0);                                                            \
    }                                                                                                        \
    linkage unsigned long long akg_pow_uint64(unsigned long long base, unsigned long long exponent)          \
    {                                                                                                        \
        unsigned long long product = 1;                                                                      \
        for (; exponent != 0; exponent >>= 1) {                                                              \
            if (exponent & 1)                                                                                \
                product *= base;                                                                             \
            base *= base;                                                                                    \
        }                                                                                                    \
        return product;                                                                                      \
    }                                                                                                        \
    linkage long long akg_pow_int64(long long base, long long exponent)                                      \
    {                                                                                                        \
        if (exponent >= 0)                                                                                   \
            return (long long)akg_pow_uint64((unsigned long long)base, (unsigned long long)exponent);        \
        if (base == 1 || base == -1)                                                                         \
            return exponent & 1 ? base : 1;                                                                  \
        return 0;                                                                                            \
    }                                                                                                        \
    linkage int akg_popcount(unsigned long long bits)                                                        \
    {                                                                                                        \
        return __builtin_popcountll(bits);                                                                   \
    }

INTEGER_FUNCTIONS()

/* As dtype_cast, in a form that vectors can have: without a branch. */
#define SATURATION(linkage, result, name, type, low, high)                                                   \
    linkage result akg_double_to_##name(double value)                                                        \
    {                                                                                                        \
        double kept = value < high ? value : high;                                                           \
        kept = kept > low ? kept : low;                                                                      \
        return value != value ? 0 : (result)(type)kept;                                                      \
    }

/* A bfloat is the upper half of a float; to the nearest one, of two the even one. */
#define CONVERSION_FUNCTIONS(linkage)                                                                        \
    SATURATION(linkage, int, int8, int, -128.0, 127.0)                                                       \
    SATURATION(linkage, int, int16, int, -32768.0, 32767.0)                                                  \
    SATURATION(linkage, int, int32, int, -2147483648.0, 2147483647.0)                                        \
    SATURATION(linkage, unsigned int, uint8, int, 0.0, 255.0)                                                \
    SATURATION(linkage, unsigned int, uint16, int, 0.0, 65535.0)                                             \
    SATURATION(linkage, unsigned int, uint32, long long, 0.0, 4294967295.0)                                  \
    linkage long long akg_double_to_int64(double value)                                                      \
    {                                                                                                        \
        if (value != value || value <= -0x1p63)                                                              \
            return value != value ? 0 : (-9223372036854775807LL - 1);                                        \
        return value >= 0x1p63 ? 9223372036854775807LL : (long long)value;                                   \
    }                                                                                                        \
    linkage unsigned long long akg_double_to_uint64(double value)                                            \
    {                                                                                                        \
        if (!(value > 0))                                                                                    \
            return 0;                                                                                        \
        return value >= 0x1p64 ? 18446744073709551615ULL : (unsigned long long)value;                        \
    }                                                                                                        \
    linkage float akg_int64_to_float(long long value)                                                        \
    {                                                                                                        \
        return (float)value;                                                                                 \
    }                                                                                                        \
    linkage double akg_int64_to_double(long long value)                                                      \
    {                                                                                                        \
        return (double)value;                                                                                \
    }                                                                                                        \
    linkage float akg_uint64_to_float(unsigned long long value)                                              \
    {                                                                                                        \
        return (float)value;                                                                                 \
    }                                                                                                        \
    linkage double akg_uint64_to_double(unsigned long long value)                                            \
    {                                                                                                        \
        return (double)value;                                                                                \
    }                                                                                                        \
    linkage float akg_bfloat_to_float(unsigned int bits)                                                     \
    {                                                                                                        \
        union {                                                                                              \
            unsigned int bits;                                                                               \
            float value;                                                                                     \
        } it = {bits << 16};                                                                                 \
        return it.value;                                                                                     \
    }                                                                                                        \
    linkage unsigned int akg_float_to_bfloat(float value)                                                    \
    {                                                                                                        \
        union {                                                                                              \
            float value;                                                                                     \
            unsigned int bits;                                                                               \
        } it = {value};                                                                                      \
        unsigned int rounded = (it.bits + 32767 + (it.bits >> 16 & 1)) >> 16;                                \
        return value != value ? it.bits >> 16 | 64 : rounded;                                                \
    }

CONVERSION_FUNCTIONS()

/* ---- the same as text ------------------------------------------------------------ */

#define TEXT(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT(__VA_ARGS__)
const char scalar_library_text[] =
    TEXT_OF(INTEGER_FUNCTIONS(static inline)) "\n" TEXT_OF(CONVERSION_FUNCTIONS(static inline)) "\n" TEXT_OF(
        FLOAT_FUNCTIONS(static inline, float, f)) "\n" TEXT_OF(FLOAT_FUNCTIONS(static inline, double, )) "\n";

/* ---- halves ----------------------------------------------------------- */

float akg_half_to_float(unsigned int bits)
{
    return half_to_float((uint16_t)bits);
}

unsigned int akg_float_to_half(float value)
{
    return half_from_float(value);
}

unsigned int akg_double_to_half(double value)
{
    return half_from_double(value);
}

unsigned int akg_double_to_bfloat(double value)
{
    return bfloat_from_double(value);
}

static union dtype_value cast_integer(akg_dtype to, akg_dtype from, unsigned long long bits)
{
    return dtype_cast(to, from, (union dtype_value){.i = (int64_t)bits});
}

/* A cast to a half gives a float that the half holds exactly. */
unsigned int akg_int64_to_half(long long value)
{
    return half_from_float(cast_integer(AKG_FLOAT16, AKG_INT64, (unsigned long long)value).f);
}

unsigned int akg_uint64_to_half(unsigned long long value)
{
    return half_from_float(cast_integer(AKG_FLOAT16, AKG_UINT64, value).f);
}

unsigned int akg_int64_to_bfloat(long long value)
{
    return bfloat_from_float(cast_integer(AKG_BFLOAT16, AKG_INT64, (unsigned long long)value).f);
}

unsigned int akg_uint64_to_bfloat(unsigned long long value)
{
    return bfloat_from_float(cast_integer(AKG_BFLOAT16, AKG_UINT64, value).f);
}

/* ---- logarithms ---------------------------------------------------------------- */

/* With a = 2^k m and s = (m - 1) / (m + 1) the logarithm of m is 2 atanh(s). What log2l gives is not enough:
 * a rounding of its 64 bits, times an exponent of some thousands, is a third of a unit of the power. All
 * terms behind the first come to a hundredth of it, so that 64 bits do for these, and it alone has a rest. */
double akg_log2_rest(double a)
{
    enum { TERMS = 16 }; /* s^2 < 0.0295: to 2^-80 of the sum */
    const double scale = 0x1.71547652b82fep+1, scale_rest = 0x1.777d0ffda0d24p-55; /* 2 / ln 2 */
    int k;
    if (!(a > 0) || isinf(a))
        return NAN;
    double m = frexp(a, &k);
    if (m < 0.70710678118654752) {
        m *= 2;
        k--;
    }
    double under = m + 1, under_rest = m - (under - 1), s = (m - 1) / under;
    double s_rest = (fma(-s, under, m - 1) - s * under_rest) / under;
    long double whole = (long double)s + s_rest, square = whole * whole, sum = 0;
    for (int n = TERMS; n > 0; n--)
        sum = square * (sum + 1.0L / (2 * n + 1));
    double first = s * scale, first_rest = fma(s, scale, -first) + s * scale_rest + s_rest * scale;
    return (double)((((long double)k - log2(a)) + first) +
                    (sum * whole * ((long double)scale + scale_rest) + first_rest));
}

/* ---- memory -------------------------------------------------------------------- */

/* That of the next row but one, or of a later one, where that is not a page away, or of the next, where rows
 * are longer than two pages: what is fetched during a row must be there before it is needed, and not be gone;
 * 0: the tensor is small, or its rows are so large that it would be. Two rows that are fetched, the one at
 * hand and what else is as long as it must have room in the nearest cache: with 32 KiB (Zen 4, 2026-11-30)
 * layer_norm of rows of 8 KiB, 4096 of them, takes 3.1 ms with nothing fetched, 2.6 with two rows ahead, 2.3
 * with one. */
long long akg_ahead(long long apart, long long bytes)
{
    enum { ROWS = 4 };
    long long row = apart < 0 ? -apart : apart;
    if (bytes < AKG_AHEAD_LEAST || row == 0 || row > 131072)
        return 0;
    if (row > 8192 || ROWS * row >= x86_cpu_nearest_bytes())
        return apart;
    do
        apart *= 2;
    while (apart < 4096 && apart > -4096);
    return apart;
}

/* ---- tables ------------------------------------------------------------------ */

#define PROTOTYPE_f1(real, name) #real " " #name "(" #real " a);"
#define PROTOTYPE_f2(real, name) #real " " #name "(" #real " a, " #real " b);"
#define PROTOTYPE_f3(real, name) #real " " #name "(" #real " a, " #real " b, " #real " c);"
#define PROTOTYPE_c1(real, name) "int " #name "(" #real " a);"

/* clang-format off */
const struct scalar_library_row scalar_library[] = {
#define ROW(shape, function32, function64)                                                                   \
    {#function32, (void *)function32, PROTOTYPE_##shape(float, function32)},                                 \
    {#function64, (void *)function64, PROTOTYPE_##shape(double, function64)},
#define ROW_none(function32, function64)
#define ROW_f1(function32, function64) ROW(f1, function32, function64)
#define ROW_f2(function32, function64) ROW(f2, function32, function64)
#define ROW_f3(function32, function64) ROW(f3, function32, function64)
#define ROW_c1(function32, function64) ROW(c1, function32, function64)
#define X(id, text, arity, rule, shape, function32, function64) ROW_##shape(function32, function64)
#include "../ir/operations.def"
#undef X
#define X(result, name, parameters) {#name, (void *)name, #result " " #name #parameters ";"},
    SCALAR_LIBRARY_HELPERS(X)
#undef X
    {NULL, NULL, NULL}};

int scalar_library_count(void)
{
    return (int)(sizeof scalar_library / sizeof *scalar_library) - 1;
}

const union scalar_function32 scalar_functions32[OPERATION_COUNT] = {
#define ENTRY_none(id, function)
#define ENTRY_f1(id, function) [OP_##id] = {.f1 = function},
#define ENTRY_f2(id, function) [OP_##id] = {.f2 = function},
#define ENTRY_f3(id, function) [OP_##id] = {.f3 = function},
#define ENTRY_c1(id, function) [OP_##id] = {.c1 = function},
#define X(id, text, arity, rule, shape, function32, function64) ENTRY_##shape(id, function32)
#include "../ir/operations.def"
#undef X
};

const union scalar_function64 scalar_functions64[OPERATION_COUNT] = {
#define X(id, text, arity, rule, shape, function32, function64) ENTRY_##shape(id, function64)
#include "../ir/operations.def"
#undef X
};
/* clang-format on */
