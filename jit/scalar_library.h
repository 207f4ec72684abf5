/*
 * scalar_library.h: the functions that generated code calls for scalar work.
 *
 * One set of real C functions, so that the interpreter (through scalar.c) and compiled code
 * compute with the very same machine code: nothing can differ in the last bit. The table gives each
 * function's name, address and C prototype; a backend registers the addresses
 * as symbols and an emitter prints the prototypes of those it uses. Functions of the C
 * runtime that a compiler calls on its own (memset, memmove) are not here: they are the backend's.
 *
 * Assumes round-to-nearest and that nothing is compiled with -ffast-math.
 *
 * Conventions that keep the calling convention beyond doubt: narrow integers and half bits are
 * passed and returned as `unsigned int` or `int`, truth as `int` 0 or 1. Bits above the narrow width are
 * ignored in arguments and zero (sign for `int`) in results.
 */
#ifndef JIT_SCALAR_LIBRARY_H
#define JIT_SCALAR_LIBRARY_H

#include <math.h>

#include "../ir/ir.h"

/*
 * What implements the operations of operations.def on floats are the functions that its columns c32 and c64
 * name.
 *
 * Meanings, where libm does not settle them:
 *   floordiv  floor of the exact quotient as numpy.floor_divide: x // 0 is x / 0, inf // x is NaN,
 *             a zero result has the sign of the true quotient
 *   mod       sign of the divisor, as Python: -5 % inf is inf, x % 0 is NaN, a zero result has the divisor's
 * sign min, max  NaN when either side is (the first NaN, if both); -0 counts as less than +0, so that the
 *             order of a reduction cannot show
 *   pow       of 2 is a * a, of 3 a * a * a, of -1 1 / a; else libm's
 *   sign      +0 for either zero, NaN for NaN
 *   rsqrt     1 / sqrt(x), two roundings
 *   sigmoid   never overflows inside: 1 / (1 + exp(-x)) or, for negative x, exp(x) / (1 + exp(x))
 */

/*
 * The rest: X(result, name, (parameters)).
 *
 * Conversions are those of dtype_cast. Float to integer (float32 and halves are widened to double by the
 * caller, which is exact) truncates and saturates, NaN gives 0. To a half from anything wider than float: by
 * way of double, rounded once; 64-bit integers have their own functions because double would round them a
 * first time.
 *
 * Integer arithmetic is on 64 bits, and correct for narrower dtypes when the result is wrapped to
 * the width afterwards; operands are sign- or zero-extended. A zero divisor, or 0 to a negative power, must
 * have been tested for: these functions then return 0. The most negative number divided by -1 wraps. ceildiv
 * the quotient rounded to plus infinity (also for unsigned) pow       wraps; a negative exponent gives the
 * true quotient truncated: 1, -1 or 0 popcount  of all 64 bits: mask a narrower operand to its width first
 *
 * log2_rest is what the true logarithm is above log2(a), to 2^-68 of it; nan where that is no number.
 *
 * ahead     how many bytes ahead of them the rows of a tensor of so many bytes, which lie `apart`, are
 * fetched
 */
/* Bytes of a tensor of which akg_ahead has something fetched, at least. */
enum { AKG_AHEAD_LEAST = 4194304 };

#define SCALAR_LIBRARY_HELPERS(X)                                                                            \
    X(float, akg_half_to_float, (unsigned int bits))                                                         \
    X(unsigned int, akg_float_to_half, (float value))                                                        \
    X(unsigned int, akg_double_to_half, (double value))                                                      \
    X(unsigned int, akg_int64_to_half, (long long value))                                                    \
    X(unsigned int, akg_uint64_to_half, (unsigned long long value))                                          \
    X(float, akg_bfloat_to_float, (unsigned int bits))                                                       \
    X(unsigned int, akg_float_to_bfloat, (float value))                                                      \
    X(unsigned int, akg_double_to_bfloat, (double value))                                                    \
    X(unsigned int, akg_int64_to_bfloat, (long long value))                                                  \
    X(unsigned int, akg_uint64_to_bfloat, (unsigned long long value))                                        \
    X(float, akg_int64_to_float, (long long value))                                                          \
    X(double, akg_int64_to_double, (long long value))                                                        \
    X(float, akg_uint64_to_float, (unsigned long long value))                                                \
    X(double, akg_uint64_to_double, (unsigned long long value))                                              \
    X(int, akg_double_to_int8, (double value))                                                               \
    X(int, akg_double_to_int16, (double value))                                                              \
    X(int, akg_double_to_int32, (double value))                                                              \
    X(long long, akg_double_to_int64, (double value))                                                        \
    X(unsigned int, akg_double_to_uint8, (double value))                                                     \
    X(unsigned int, akg_double_to_uint16, (double value))                                                    \
    X(unsigned int, akg_double_to_uint32, (double value))                                                    \
    X(unsigned long long, akg_double_to_uint64, (double value))                                              \
    X(long long, akg_floordiv_int64, (long long a, long long b))                                             \
    X(unsigned long long, akg_floordiv_uint64, (unsigned long long a, unsigned long long b))                 \
    X(long long, akg_mod_int64, (long long a, long long b))                                                  \
    X(unsigned long long, akg_mod_uint64, (unsigned long long a, unsigned long long b))                      \
    X(long long, akg_ceildiv_int64, (long long a, long long b))                                              \
    X(unsigned long long, akg_ceildiv_uint64, (unsigned long long a, unsigned long long b))                  \
    X(long long, akg_pow_int64, (long long base, long long exponent))                                        \
    X(unsigned long long, akg_pow_uint64, (unsigned long long base, unsigned long long exponent))            \
    X(int, akg_popcount, (unsigned long long bits))                                                          \
    X(double, akg_log2_rest, (double a))                                                                     \
    X(long long, akg_ahead, (long long apart, long long bytes))

/* The akg_ ones that operations.def names; the others there are libm's. */
float akg_floordivf(float a, float b);
double akg_floordiv(double a, double b);
float akg_modf(float a, float b);
double akg_mod(double a, double b);
float akg_minf(float a, float b);
double akg_min(double a, double b);
float akg_maxf(float a, float b);
double akg_max(double a, double b);
float akg_powf(float a, float b);
double akg_pow(double a, double b);
float akg_signf(float a);
double akg_sign(double a);
float akg_rsqrtf(float a);
double akg_rsqrt(double a);
float akg_sigmoidf(float a);
double akg_sigmoid(double a);
int akg_isnanf(float a);
int akg_isnan(double a);
int akg_isinff(float a);
int akg_isinf(double a);
int akg_isfinitef(float a);
int akg_isfinite(double a);

#define X(result, name, parameters) result name parameters;
SCALAR_LIBRARY_HELPERS(X)
#undef X

struct scalar_library_row {
    const char *name;
    void *address;
    const char *prototype; /* "float expf(float a);" */
};

/* Ends with a row whose name is NULL. */
extern const struct scalar_library_row scalar_library[];
/* The rows before that one. */
int scalar_library_count(void);

/* C text that defines, as static functions, those that are not libm's, but for conversions to and from
 * float16: the very ones that this library computes with, for a compiler that can put them in line. */
extern const char scalar_library_text[];

/* Functions for an operation on floats: the members that its shape names; NULL where the columns are empty.
 */
union scalar_function32 {
    float (*f1)(float a);
    float (*f2)(float a, float b);
    float (*f3)(float a, float b, float c);
    int (*c1)(float a);
};
union scalar_function64 {
    double (*f1)(double a);
    double (*f2)(double a, double b);
    double (*f3)(double a, double b, double c);
    int (*c1)(double a);
};
extern const union scalar_function32 scalar_functions32[OPERATION_COUNT];
extern const union scalar_function64 scalar_functions64[OPERATION_COUNT];

#endif
