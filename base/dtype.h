/*
 * dtype.h: one row per element type, and what an element of each type is worth.
 *
 * The conversions here define the language's cast: integers wrap, float to
 * integer truncates and saturates with NaN giving 0, halves round to nearest even.
 */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include "../include/akg.h"

enum dtype_class { DTYPE_BOOL, DTYPE_SIGNED, DTYPE_UNSIGNED, DTYPE_FLOAT };

/*  enumerator    name      bytes class           C storage type        DLPack code  npy */
#define DTYPE_TABLE(X)                                                                                       \
    X(AKG_BOOL, "bool", 1, DTYPE_BOOL, "unsigned char", 6, "|b1")                                            \
    X(AKG_INT8, "int8", 1, DTYPE_SIGNED, "signed char", 0, "|i1")                                            \
    X(AKG_INT16, "int16", 2, DTYPE_SIGNED, "short", 0, "<i2")                                                \
    X(AKG_INT32, "int32", 4, DTYPE_SIGNED, "int", 0, "<i4")                                                  \
    X(AKG_INT64, "int64", 8, DTYPE_SIGNED, "long long", 0, "<i8")                                            \
    X(AKG_UINT8, "uint8", 1, DTYPE_UNSIGNED, "unsigned char", 1, "|u1")                                      \
    X(AKG_UINT16, "uint16", 2, DTYPE_UNSIGNED, "unsigned short", 1, "<u2")                                   \
    X(AKG_UINT32, "uint32", 4, DTYPE_UNSIGNED, "unsigned int", 1, "<u4")                                     \
    X(AKG_UINT64, "uint64", 8, DTYPE_UNSIGNED, "unsigned long long", 1, "<u8")                               \
    X(AKG_FLOAT16, "float16", 2, DTYPE_FLOAT, "unsigned short", 2, "<f2")                                    \
    X(AKG_BFLOAT16, "bfloat16", 2, DTYPE_FLOAT, "unsigned short", 4, "<V2")                                  \
    X(AKG_FLOAT32, "float32", 4, DTYPE_FLOAT, "float", 2, "<f4")                                             \
    X(AKG_FLOAT64, "float64", 8, DTYPE_FLOAT, "double", 2, "<f8")

struct dtype_info {
    const char *name;
    int size;
    enum dtype_class class;
    const char *c_storage;
    int dlpack_code;
    const char *npy;
};

extern const struct dtype_info dtype_table[AKG_DTYPE_COUNT];

static inline bool dtype_is_float(akg_dtype dtype)
{
    return dtype >= AKG_FLOAT16 && dtype <= AKG_FLOAT64;
}
static inline bool dtype_is_half(akg_dtype dtype)
{
    return dtype == AKG_FLOAT16 || dtype == AKG_BFLOAT16;
}
static inline bool dtype_is_integer(akg_dtype dtype)
{
    return dtype >= AKG_INT8 && dtype <= AKG_UINT64;
}
static inline bool dtype_is_signed(akg_dtype dtype)
{
    return dtype >= AKG_INT8 && dtype <= AKG_INT64;
}

/* One value in a register: bool and integers in `i` (sign- or zero-extended from
 * their width), float32 and the halves (already rounded to their type) in `f`, float64 in `d`. */
union dtype_value {
    int64_t i;
    float f;
    double d;
};

uint16_t half_from_float(float value);
/* directly from double, rounded once */
uint16_t half_from_double(double value);
float half_to_float(uint16_t bits);
uint16_t bfloat_from_float(float value);
uint16_t bfloat_from_double(double value);
float bfloat_to_float(uint16_t bits);

union dtype_value dtype_load(akg_dtype dtype, const void *address);
void dtype_store(akg_dtype dtype, void *address, union dtype_value value);
union dtype_value dtype_cast(akg_dtype to, akg_dtype from, union dtype_value value);
double dtype_to_double(akg_dtype dtype, union dtype_value value);
union dtype_value dtype_from_double(akg_dtype dtype, double value);
/* An int64 wrapped to an integer or bool dtype's width (bool: value != 0). */
int64_t dtype_wrap(akg_dtype dtype, int64_t value);

#endif
