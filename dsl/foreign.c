/*
 * foreign.c: tables for people who come from Python, numpy and PyTorch. Used for advice only: no name
 * here means anything to the compiler.
 */
#include "foreign.h"

#include <stddef.h>
#include <string.h>

static const char *const modules[] = {
    "np",        "numpy", "math", "torch", "tf",  "tensorflow", "jnp",   "jax", "lax",    "tl",    "cp",
    "mindspore", "ms",    "F",    "nn",    "ops", "random",     "scipy", "tir", "triton", "numba", "ti"};

#define LOOP "write the loop: s = 0.0 before it, s += x[i] in it"
#define ELEMENTS "write the loop over its elements"
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
    {"floor_divide", NULL, "write //"},
    {"mod", NULL, "write %"},
    {"fmod", NULL, "write %"},
    {"double", "float64", NULL},
    {"single", "float32", NULL},
    {"half", "float16", NULL},
    {"long", "int64", NULL},
    {"short", "int16", NULL},
    {"bool_", "bool", NULL},
    {"float_", "float64", NULL},
    {"int_", "int64", NULL},
    {"uint", "uint32", NULL},
    {"float8", NULL, "the floats are float16, bfloat16, float32 and float64"},
};

static const struct foreign_name members[] = {
    {"numel", "size", NULL},
    {"T", NULL, "swap the indices where it is read: x[j, i]"},
    {"transpose", NULL, "swap the indices where it is read: x[j, i]"},
    {"sum", NULL, LOOP},
    {"mean", NULL, LOOP},
    {"max", NULL, "write the loop: m = x[0] before it, m = max(m, x[i]) in it"},
    {"min", NULL, "write the loop: m = x[0] before it, m = min(m, x[i]) in it"},
    {"dot", NULL, LOOP},
    {"item", NULL, "read the element: x[0]"},
    {"copy", NULL, ELEMENTS},
    {"clone", NULL, ELEMENTS},
    {"fill", NULL, ELEMENTS},
    {"reshape", NULL, "compute the indices where it is read: x[k // n, k % n]"},
    {"view", NULL, "compute the indices where it is read: x[k // n, k % n]"},
    {"flatten", NULL, "compute the indices where it is read: x[k // n, k % n]"},
    {"append", NULL, "a shape is fixed; make a tensor that is large enough"},
    {"astype", NULL, "convert element by element: float32(x[i])"},
    {"to", NULL, "convert element by element: float32(x[i])"},
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

bool foreign_is_module(const char *name)
{
    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++)
        if (strcmp(modules[i], name) == 0)
            return true;
    return false;
}

const struct foreign_name *foreign_find(const char *name)
{
    return foreign_search(names, sizeof names / sizeof names[0], name);
}

const struct foreign_name *foreign_find_member(const char *name)
{
    return foreign_search(members, sizeof members / sizeof members[0], name);
}
