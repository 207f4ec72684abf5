/*
 * vector_math.c: the functions of vectors that loops call, and those that are computed in line.
 *
 * The former are SLEEF's, of the kind that is off by at most 1 unit in the last place and
 * gives the same bits with AVX2 and AVX-512 ("finz"). The library is opened when a loop first needs it.
 * Operations without a row, and all of them where it is not installed, are computed lane by lane, by the
 * function that the interpreter calls.
 */
#include "scalar_library.h"
#include "vector.h"

#include <dlfcn.h>
#include <stdio.h>

bool vector_is_call(enum operation operation)
{
    static const bool calls[OPERATION_COUNT] = {
        [OP_FLOORDIV] = true, [OP_MOD] = true,   [OP_POW] = true,    [OP_EXP] = true,  [OP_EXP2] = true,
        [OP_EXPM1] = true,    [OP_LOG] = true,   [OP_LOG1P] = true,  [OP_LOG2] = true, [OP_LOG10] = true,
        [OP_SIN] = true,      [OP_COS] = true,   [OP_TAN] = true,    [OP_ASIN] = true, [OP_ACOS] = true,
        [OP_ATAN] = true,     [OP_ATAN2] = true, [OP_SINH] = true,   [OP_COSH] = true, [OP_TANH] = true,
        [OP_ERF] = true,      [OP_ERFC] = true,  [OP_SIGMOID] = true};
    return calls[operation];
}

struct function_row {
    const char *name, *accuracy;
};

static const struct function_row rows[OPERATION_COUNT] = {[OP_POW] = {"pow", "u10"},
                                                          [OP_SIN] = {"sin", "u10"},
                                                          [OP_COS] = {"cos", "u10"},
                                                          [OP_TAN] = {"tan", "u10"},
                                                          [OP_ERFC] = {"erfc", "u15"}};

const void *vector_function(enum operation operation, bool wide, int bits)
{
    const struct function_row *row = &rows[operation];
    void *library = row->name ? dlopen("libsleef.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    char name[64];
    if (!library)
        return NULL;
    snprintf(name, sizeof name, "Sleef_finz_%s%c%d_%s%s", row->name, wide ? 'd' : 'f',
             bits / (wide ? 64 : 32), row->accuracy, bits == 512 ? "avx512f" : "avx2");
    const void *function = dlsym(library, name);
    dlclose(library); /* it stays (RTLD_NODELETE): code that calls it may live as long as the process */
    return function;
}

/* For the lanes of the mask, by the function that the interpreter calls. */
#define OF_LANES(name, real, function)                                                                       \
    static void name(const real *x, const real *y, real *result, unsigned mask)                              \
    {                                                                                                        \
        for (int lane = 0; mask >> lane && lane < 16; lane++)                                                \
            if (mask >> lane & 1)                                                                            \
                result[lane] = function(x[lane], y[lane]);                                                   \
    }
OF_LANES(modulo_of_floats, float, akg_modf)
OF_LANES(modulo_of_doubles, double, akg_mod)
OF_LANES(quotients_of_floats, float, akg_floordivf)
OF_LANES(quotients_of_doubles, double, akg_floordiv)
#undef OF_LANES

const void *vector_function_of_lanes(enum operation operation, bool wide)
{
    if (operation == OP_MOD)
        return wide ? (const void *)modulo_of_doubles : (const void *)modulo_of_floats;
    if (operation == OP_FLOORDIV)
        return wide ? (const void *)quotients_of_doubles : (const void *)quotients_of_floats;
    return NULL;
}

/* Those of angles ask the library for large ones. */
bool vector_is_inline(enum operation operation, akg_dtype dtype)
{
    switch (operation) {
    case OP_SIN:
    case OP_COS:
    case OP_TAN:
        return dtype_is_float(dtype) && vector_function(operation, dtype == AKG_FLOAT64, 256);
    case OP_POW:
    case OP_SIGMOID:
        return false;
    default:
        return dtype_is_float(dtype) && vector_is_call(operation);
    }
}
