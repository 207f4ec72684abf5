/*
 * builtins.h: the names every program knows besides scalar operations and dtypes.
 */
#ifndef DSL_BUILTINS_H
#define DSL_BUILTINS_H

#include "../ir/ir.h"

/*  identifier    name             kind */
#define BUILTIN_TABLE(X)                                                                                     \
    X(RANGE, "range")                                                                                        \
    X(GRID, "grid")                                                                                          \
    X(SERIAL, "serial")                                                                                      \
    X(VECTORIZE, "vectorize")                                                                                \
    X(PARALLEL, "parallel")                                                                                  \
    X(REDUCE, "reduce")                                                                                      \
    X(UNROLL, "unroll")                                                                                      \
    X(CONST_RANGE, "const_range")                                                                            \
    X(REVERSED, "reversed")                                                                                  \
    X(ENUMERATE, "enumerate")                                                                                \
    X(OUTPUT_TENSOR, "output_tensor")                                                                        \
    X(ALLOCATE, "allocate")                                                                                  \
    X(ATTR, "attr")                                                                                          \
    X(BLOCK_REALIZE, "block_realize")                                                                        \
    X(LEN, "len")                                                                                            \
    X(CAST, "cast")                                                                                          \
    X(WIDE, "wide")                                                                                          \
    X(LIKELY, "likely")                                                                                      \
    X(POWER, "power")                                                                                        \
    X(POW, "pow")                                                                                            \
    X(INT, "int")                                                                                            \
    X(FLOAT, "float")                                                                                        \
    X(STR, "str")                                                                                            \
    X(TUPLE, "tuple")                                                                                        \
    X(KERNEL, "kernel")                                                                                      \
    X(MS_KERNEL, "ms_kernel")                                                                                \
    X(MS_HYBRID, "ms_hybrid")                                                                                \
    X(SCRIPT, "script")                                                                                      \
    X(CUSTOM_INFO_REGISTER, "custom_info_register")                                                          \
    X(CUSTOM_OP_INFO_REGISTER, "custom_op_info_register")                                                    \
    X(BPROP, "bprop")                                                                                        \
    X(BROADCAST, "broadcast")

/* 0: no builtin. Then the rows above; then dtypes; then operations that are called by name. */
enum builtin {
    BUILTIN_NONE,
#define X(id, name) BUILTIN_##id,
    BUILTIN_TABLE(X)
#undef X
        BUILTIN_DTYPE,
    BUILTIN_OPERATION = BUILTIN_DTYPE + AKG_DTYPE_COUNT,
    BUILTIN_END = BUILTIN_OPERATION + OPERATION_COUNT
};

int builtin_find(const char *name);
/* Name of builtin number `builtin`, NULL where it has no name in programs. */
const char *builtin_name(int builtin);

static inline bool builtin_is_dtype(int builtin)
{
    return builtin >= BUILTIN_DTYPE && builtin < BUILTIN_OPERATION;
}
static inline bool builtin_is_operation(int builtin)
{
    return builtin >= BUILTIN_OPERATION && builtin < BUILTIN_END;
}
/* True, with the operation, for what is called by name and computes one. */
static inline bool builtin_operation(int builtin, enum operation *operation)
{
    bool power = builtin == BUILTIN_POWER || builtin == BUILTIN_POW;
    *operation = power ? OP_POW : (enum operation)(builtin - BUILTIN_OPERATION);
    return power || builtin_is_operation(builtin);
}
/* True for what an expression or a loop calls: no annotation, no decorator. */
static inline bool builtin_is_called(int builtin)
{
    return builtin != BUILTIN_NONE && (builtin < BUILTIN_STR || builtin >= BUILTIN_DTYPE);
}
/* True for a cast: float32(...), cast(..., dtype). */
static inline bool builtin_is_cast(int builtin)
{
    return builtin_is_dtype(builtin) || builtin == BUILTIN_CAST;
}

#endif
