/*
 * number.h: what C has no operator for, of int64; each is right where int64 has its result. (What number.c
 * makes of text goes by an arena, and memory.h declares it.)
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t number_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t number_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rounded down. */
static inline int64_t number_floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Has the sign of the divisor. No product of it with the quotient: that may lie below what 64 bits hold. */
static inline int64_t number_floor_remainder(int64_t a, int64_t b)
{
    int64_t remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

/* The greatest that divides both, which is not below 0; of 0 and a number, that number. */
static inline int64_t number_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Of a power of two, as float64 (`wide`) or float32, the one by which a product is each quotient to the bit;
 * 0: it is none that has one. */
static inline uint64_t number_inverse_bits(uint64_t bits, bool wide)
{
    int digits = wide ? 52 : 23, ones = wide ? 2046 : 254;
    uint64_t sign = bits & (uint64_t)1 << (wide ? 63 : 31), mantissa = bits & (((uint64_t)1 << digits) - 1);
    int64_t exponent = (int64_t)((bits ^ sign) >> digits);
    if (mantissa || exponent < 1 || exponent >= ones)
        return 0;
    return sign | (uint64_t)(ones - exponent) << digits;
}

#endif
