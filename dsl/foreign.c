/*
 * foreign.c: tables for people who come from Python, numpy and PyTorch. Used for advice only: no name
 * here means anything to the compiler.
 */
#include "foreign.h"

#include "../base/diagnostic.h"

#include <stddef.h>
#include <string.h>

static const char *const modules[] = {
    "np",        "numpy", "math", "torch", "tf",  "tensorflow", "jnp",   "jax", "lax",    "tl",    "cp",
    "mindspore", "ms",    "F",    "nn",    "ops", "random",     "scipy", "tir", "triton", "numba", "ti"};

#define CONVERTED "convert element by element: float32(x[i])"
#define LOOP "write the loop: s = 0.0 before it, s += x[i] in it"
#define ELEMENTS "write the loop over its elements"
#define CLIPPED "write min(max(x, low), high)"
#define RESHAPED                                                                                             \
    "call reshape(x, shape), or in a kernel compute the indices where it is read: x[k // n, k % n]"
#define FILLED "make it with output_tensor or allocate (its elements are zero), and fill it in a loop"

static const struct foreign_name names[] = {
    {"print", NULL, "a kernel cannot print; return the value in a tensor"},
    {"sum", NULL, LOOP},
    {"mean", NULL, LOOP},
    {"prod", NULL, "write the loop: p = 1.0 before it, p *= x[i] in it"},
    {"dot", NULL, LOOP},
    {"matmul", NULL, "write the loops of the matrix product"},
    {"zeros", NULL, FILLED},
    {"ones", NULL, FILLED},
    {"full", NULL, FILLED},
    {"empty", NULL, FILLED},
    {"zeros_like", NULL, FILLED},
    {"ones_like", NULL, FILLED},
    {"where", NULL, "a choice is written: a if condition else b"},
    {"select", NULL, "a choice is written: a if condition else b"},
    {"relu", NULL, "write max(x[i], 0)"},
    {"any", NULL, ELEMENTS},
    {"all", NULL, ELEMENTS},
    {"zip", NULL, "loop over the index: for i in range(len(x)):"},
    {"map", NULL, ELEMENTS},
    {"filter", NULL, ELEMENTS},
    {"sorted", NULL, ELEMENTS},
    {"list", NULL, "scalars, tuples and tensors are all there is"},
    {"dict", NULL, "scalars, tuples and tensors are all there is"},
    {"set", NULL, "scalars, tuples and tensors are all there is"},
    {"isinstance", NULL, "compare dtypes: x.dtype == float32"},
    {"type", NULL, "a tensor's dtype is x.dtype"},
    {"open", NULL, "a kernel reads its arguments only"},
    {"input", NULL, "a kernel reads its arguments only"},
    {"end", NULL, "a block ends where the indentation does"},
    {"self", NULL, "functions are no methods: write the name of the parameter alone"},
    {"true", "True", NULL},
    {"false", "False", NULL},
    {"none", "None", NULL},
    {"null", "None", NULL},
    {"NULL", "None", NULL},
    {"nil", "None", NULL},
    {"inf", "float(\"inf\")", NULL},
    {"nan", "float(\"nan\")", NULL},
    {"pi", "3.141592653589793", NULL},
    {"xrange", "range", NULL},
    {"prange", "parallel", NULL},
    {"ndrange", "grid", NULL},
    {"maximum", "max", NULL},
    {"minimum", "min", NULL},
    {"fmax", "max", NULL},
    {"fmin", "min", NULL},
    {"fabs", "abs", NULL},
    {"absolute", "abs", NULL},
    {"ln", "log", NULL},
    {"arcsin", "asin", NULL},
    {"arccos", "acos", NULL},
    {"arctan", "atan", NULL},
    {"arctan2", "atan2", NULL},
    {"arcsinh", NULL, "write log(x + sqrt(x * x + 1.0))"},
    {"arccosh", NULL, "write log(x + sqrt(x * x - 1.0))"},
    {"arctanh", NULL, "write 0.5 * log((1.0 + x) / (1.0 - x))"},
    {"asinh", NULL, "write log(x + sqrt(x * x + 1.0))"},
    {"acosh", NULL, "write log(x + sqrt(x * x - 1.0))"},
    {"atanh", NULL, "write 0.5 * log((1.0 + x) / (1.0 - x))"},
    {"clip", NULL, CLIPPED},
    {"clamp", NULL, CLIPPED},
    {"square", NULL, "write x * x"},
    {"sqr", NULL, "write x * x for the square, sqrt(x) for its root"},
    {"cbrt", NULL, "write x ** (1.0 / 3.0), where x is not negative"},
    {"hypot", NULL, "write sqrt(x * x + y * y)"},
    {"exp10", NULL, "write 10.0 ** x"},
    {"reciprocal", NULL, "write 1.0 / x"},
    {"inv", NULL, "write 1.0 / x"},
    {"rint", "round", NULL},
    {"nearbyint", "round", NULL},
    {"fix", "trunc", NULL},
    {"ceiling", "ceil", NULL},
    {"sgn", "sign", NULL},
    {"signum", "sign", NULL},
    {"expit", "sigmoid", NULL},
    {"logistic", "sigmoid", NULL},
    {"lerp", NULL, "write a + t * (b - a)"},
    {"add", NULL, "write a + b"},
    {"subtract", NULL, "write a - b"},
    {"multiply", NULL, "write a * b"},
    {"mul", NULL, "write a * b"},
    {"divide", NULL, "write a / b"},
    {"true_divide", NULL, "write a / b"},
    {"div", NULL, "write a / b, or a // b for integers"},
    {"negative", NULL, "write -x"},
    {"cdiv", "ceil_div", NULL},
    {"logical_and", NULL, "write a and b"},
    {"logical_or", NULL, "write a or b"},
    {"logical_not", NULL, "write not a"},
    {"argmax", NULL, "write the loop: k = 0 before it, if x[i] > x[k]: k = i in it"},
    {"argmin", NULL, "write the loop: k = 0 before it, if x[i] < x[k]: k = i in it"},
    {"load", NULL, "elements are read with brackets: x[i]"},
    {"store", NULL, "elements are written with brackets: y[i] = ..."},
    {"arange", "range", NULL},
    {"length", "len", NULL},
    {"numel", NULL, "the number of elements is x.size"},
    {"floor_divide", NULL, "write //"},
    {"mod", NULL, "write %"},
    {"fmod", NULL, "write %"},
    {"remainder", NULL, "write %"},
    {"double", "float64", NULL},
    {"single", "float32", NULL},
    {"half", "float16", NULL},
    {"fp16", "float16", NULL},
    {"fp32", "float32", NULL},
    {"fp64", "float64", NULL},
    {"bf16", "bfloat16", NULL},
    {"long", "int64", NULL},
    {"short", "int16", NULL},
    {"bool_", "bool", NULL},
    {"float_", "float64", NULL},
    {"int_", "int64", NULL},
    {"uint", "uint32", NULL},
    {"float8", NULL, "the floats are float16, bfloat16, float32 and float64"},
};

/* Dtypes as other languages call them: so short that a misspelt name is near to them by chance. */
static const struct foreign_name dtypes[] = {
    {"f16", "float16", NULL},     {"f32", "float32", NULL},     {"f64", "float64", NULL},
    {"i8", "int8", NULL},         {"i16", "int16", NULL},       {"i32", "int32", NULL},
    {"i64", "int64", NULL},       {"u8", "uint8", NULL},        {"u16", "uint16", NULL},
    {"u32", "uint32", NULL},      {"u64", "uint64", NULL},      {"int8_t", "int8", NULL},
    {"int16_t", "int16", NULL},   {"int32_t", "int32", NULL},   {"int64_t", "int64", NULL},
    {"uint8_t", "uint8", NULL},   {"uint16_t", "uint16", NULL}, {"uint32_t", "uint32", NULL},
    {"uint64_t", "uint64", NULL}, {"size_t", "uint64", NULL},   {"byte", "uint8", NULL},
    {"ubyte", "uint8", NULL},     {"char", "int8", NULL},       {"ushort", "uint16", NULL},
    {"ulong", "uint64", NULL},    {"int1", "bool", NULL},       {"boolean", "bool", NULL},
    {"integer", "int", NULL},
};

static const struct foreign_name members[] = {
    {"numel", "size", NULL},
    {"T", NULL, "swap the indices where it is read, x[j, i], or call transpose(x)"},
    {"transpose", NULL, "swap the indices where it is read, x[j, i], or call transpose(x)"},
    {"sum", NULL, "call sum(x), or " LOOP},
    {"mean", NULL, "call mean(x), or " LOOP},
    {"max", NULL, "write the loop: m = x[0] before it, m = max(m, x[i]) in it"},
    {"min", NULL, "write the loop: m = x[0] before it, m = min(m, x[i]) in it"},
    {"dot", NULL, "call matmul(x, y), or " LOOP},
    {"item", NULL, "read the element: x[0]"},
    {"copy", NULL, ELEMENTS},
    {"clone", NULL, ELEMENTS},
    {"fill", NULL, ELEMENTS},
    {"reshape", NULL, RESHAPED},
    {"view", NULL, RESHAPED},
    {"flatten", NULL, RESHAPED},
    {"append", NULL, "a shape is fixed; make a tensor that is large enough"},
    {"astype", NULL, CONVERTED},
    {"to", NULL, CONVERTED},
    {"data", NULL, "index it directly: x[i]"},
    {"dim", "ndim", NULL},
    {"rank", "ndim", NULL},
    {"dtypes", "dtype", NULL},
    {"type", "dtype", NULL},
    {"strides", NULL, "index it: the compiler knows the strides"},
};

static const struct foreign_name *foreign_search(const struct foreign_name *rows, size_t count,
                                                 const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

bool foreign_is_conversion(const char *name)
{
    const struct foreign_name *member = foreign_find_member(name);

    return member && member->help && strcmp(member->help, CONVERTED) == 0;
}

bool foreign_is_module(const char *name)
{
    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++)
        if (strcmp(modules[i], name) == 0)
            return true;
    return false;
}

const struct foreign_name *foreign_find(const char *name)
{
    const struct foreign_name *found = foreign_search(names, sizeof names / sizeof names[0], name);

    return found ? found : foreign_search(dtypes, sizeof dtypes / sizeof dtypes[0], name);
}

const struct foreign_name *foreign_find_near(const char *name)
{
    enum { COUNT = sizeof names / sizeof names[0] };
    const char *spelt[COUNT], *nearest;

    for (int i = 0; i < COUNT; i++)
        spelt[i] = names[i].name;
    nearest = spelling_nearest(name, spelt, COUNT);
    return nearest ? foreign_find(nearest) : NULL;
}

const struct foreign_name *foreign_find_member(const char *name)
{
    return foreign_search(members, sizeof members / sizeof members[0], name);
}
