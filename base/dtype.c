/*
 * dtype.c: the table of element types and the conversions between them, which
 * are the language's definition of a cast (dtype.h). Needs IEEE binary32 and binary64,
 * two's complement, little endian.
 */
#include "dtype.h"

#include <math.h>
#include <string.h>

const struct dtype_info dtype_table[AKG_DTYPE_COUNT] = {
#define X(dtype, name, size, class, storage, dlpack, npy) [dtype] = {name, size, class, storage, dlpack, npy},
    DTYPE_TABLE(X)
#undef X
};

const char *akg_dtype_name(akg_dtype dtype)
{
    return (unsigned)dtype < AKG_DTYPE_COUNT ? dtype_table[dtype].name : NULL;
}

akg_dtype akg_dtype_from_name(const char *name)
{
    int dtype = 0;
    while (dtype < AKG_DTYPE_COUNT && !(name && strcmp(name, dtype_table[dtype].name) == 0))
        dtype++;
    return (akg_dtype)dtype;
}

size_t akg_dtype_size(akg_dtype dtype)
{
    return (unsigned)dtype < AKG_DTYPE_COUNT ? (size_t)dtype_table[dtype].size : 0;
}

/* ---- halves -------------------------------------------------------------- */

/* The bits of `value` in a 16-bit format with that many bits of fraction, rounded once, to nearest even.
 * A NaN stays one, quiet, with what fits of its payload. */
static uint16_t narrow(double value, int fraction_width)
{
    const int exponent_width = 15 - fraction_width;
    const int bias = (1 << (exponent_width - 1)) - 1;
    const uint64_t infinity = (uint64_t)((1 << exponent_width) - 1) << fraction_width;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << 15;
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7ff) {
        uint64_t quiet = UINT64_C(1) << (fraction_width - 1);
        return (uint16_t)(sign | infinity | (fraction ? quiet | fraction >> (52 - fraction_width) : 0));
    }
    if (exponent == 0)
        return (uint16_t)sign; /* zero, or a subnormal far below the format's range */
    uint64_t significand = fraction | UINT64_C(1) << 52;
    int shift = 52 - fraction_width;
    int target = exponent - 1023 + bias;
    if (target < 1) { /* subnormal there: fewer bits are kept */
        shift += 1 - target;
        target = 1;
    }
    if (shift > 53)
        return (uint16_t)sign; /* less than half of the smallest subnormal */
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    /* the leading bit of `kept`, where there is one, adds the last unit of the exponent; so does a carry */
    kept += (uint64_t)(target - 1) << fraction_width;
    return (uint16_t)(sign | (kept < infinity ? kept : infinity));
}

static float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t half_from_double(double value)
{
    return narrow(value, 10);
}

uint16_t half_from_float(float value)
{
    return narrow((double)value, 10);
}

float half_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits >> 15) << 31;
    uint32_t exponent = bits >> 10 & 0x1f;
    uint32_t fraction = bits & 0x3ff;
    if (exponent == 0) {
        float magnitude = (float)fraction * 0x1p-24f; /* exact: at most 10 bits */
        return sign ? -magnitude : magnitude;
    }
    uint32_t wide = exponent == 0x1f ? 0xff : exponent - 15 + 127;
    return float_from_bits(sign | wide << 23 | fraction << 13);
}

uint16_t bfloat_from_double(double value)
{
    return narrow(value, 7);
}

uint16_t bfloat_from_float(float value)
{
    return narrow((double)value, 7);
}

float bfloat_to_float(uint16_t bits)
{
    return float_from_bits((uint32_t)bits << 16);
}

/* ---- values -------------------------------------------------------------- */

int64_t dtype_wrap(akg_dtype dtype, int64_t value)
{
    switch (dtype) {
    case AKG_BOOL:
        return value != 0;
    case AKG_INT8:
        return (int8_t)value;
    case AKG_INT16:
        return (int16_t)value;
    case AKG_INT32:
        return (int32_t)value;
    case AKG_UINT8:
        return (uint8_t)value;
    case AKG_UINT16:
        return (uint16_t)value;
    case AKG_UINT32:
        return (uint32_t)value;
    default: /* 64 bits: the value itself, or the bits of a uint64 */
        return value;
    }
}

union dtype_value dtype_load(akg_dtype dtype, const void *address)
{
    union dtype_value value = {.i = 0};
    uint16_t half;
    switch (dtype) {
    case AKG_FLOAT16:
        memcpy(&half, address, sizeof half);
        value.f = half_to_float(half);
        break;
    case AKG_BFLOAT16:
        memcpy(&half, address, sizeof half);
        value.f = bfloat_to_float(half);
        break;
    case AKG_FLOAT32:
        memcpy(&value.f, address, sizeof value.f);
        break;
    case AKG_FLOAT64:
        memcpy(&value.d, address, sizeof value.d);
        break;
    default: /* little endian: the low bytes, then extended */
        memcpy(&value.i, address, (size_t)dtype_table[dtype].size);
        value.i = dtype_wrap(dtype, value.i);
    }
    return value;
}

void dtype_store(akg_dtype dtype, void *address, union dtype_value value)
{
    uint16_t half;
    switch (dtype) {
    case AKG_BOOL:
        *(unsigned char *)address = value.i != 0;
        break;
    case AKG_FLOAT16:
        half = half_from_float(value.f);
        memcpy(address, &half, sizeof half);
        break;
    case AKG_BFLOAT16:
        half = bfloat_from_float(value.f);
        memcpy(address, &half, sizeof half);
        break;
    case AKG_FLOAT32:
        memcpy(address, &value.f, sizeof value.f);
        break;
    case AKG_FLOAT64:
        memcpy(address, &value.d, sizeof value.d);
        break;
    default:
        memcpy(address, &value.i, (size_t)dtype_table[dtype].size);
    }
}

/* Truncates and saturates; NaN gives 0, bool is "not zero". */
static int64_t integer_from_double(akg_dtype to, double value)
{
    if (to == AKG_BOOL)
        return value != 0;
    if (isnan(value))
        return 0;
    int width = dtype_table[to].size * 8;
    double limit = ldexp(1.0, dtype_is_signed(to) ? width - 1 : width); /* first value too large */
    uint64_t largest = UINT64_MAX >> (64 - width + (dtype_is_signed(to) ? 1 : 0));
    if (value >= limit)
        return (int64_t)largest;
    if (dtype_is_signed(to))
        return value <= -limit ? -(int64_t)largest - 1 : (int64_t)value;
    return value > 0 ? (int64_t)(uint64_t)value : 0;
}

/* A double that rounds to a half as the integer itself would: from 2^53 on the bits that do not
 * fit are gathered in the last one, so that a tie is told from what lies beside it. */
static double integer_for_half(akg_dtype from, int64_t value)
{
    bool negative = from != AKG_UINT64 && value < 0;
    uint64_t magnitude = negative ? 0 - (uint64_t)value : (uint64_t)value;
    if (magnitude >> 53)
        magnitude = (magnitude | ((magnitude & 2047) ? 2048 : 0)) & ~UINT64_C(2047);
    return negative ? -(double)magnitude : (double)magnitude;
}

static union dtype_value cast_integer(akg_dtype to, akg_dtype from, int64_t value)
{
    union dtype_value result = {.i = 0};
    bool wide = from == AKG_UINT64;
    if (to == AKG_FLOAT64)
        result.d = wide ? (double)(uint64_t)value : (double)value;
    else if (to == AKG_FLOAT32)
        result.f = wide ? (float)(uint64_t)value : (float)value;
    else if (to == AKG_FLOAT16)
        result.f = half_to_float(half_from_double(integer_for_half(from, value)));
    else if (to == AKG_BFLOAT16)
        result.f = bfloat_to_float(bfloat_from_double(integer_for_half(from, value)));
    else
        result.i = dtype_wrap(to, value);
    return result;
}

union dtype_value dtype_cast(akg_dtype to, akg_dtype from, union dtype_value value)
{
    if (to == from)
        return value;
    if (!dtype_is_float(from))
        return cast_integer(to, from, value.i);
    return dtype_from_double(to, from == AKG_FLOAT64 ? value.d : (double)value.f);
}

double dtype_to_double(akg_dtype dtype, union dtype_value value)
{
    return dtype_cast(AKG_FLOAT64, dtype, value).d;
}

union dtype_value dtype_from_double(akg_dtype dtype, double value)
{
    union dtype_value result = {.i = 0};
    if (dtype == AKG_FLOAT64)
        result.d = value;
    else if (dtype == AKG_FLOAT32)
        result.f = (float)value;
    else if (dtype == AKG_FLOAT16)
        result.f = half_to_float(half_from_double(value));
    else if (dtype == AKG_BFLOAT16)
        result.f = bfloat_to_float(bfloat_from_double(value));
    else
        result.i = integer_from_double(dtype, value);
    return result;
}
