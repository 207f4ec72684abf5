/*
 * elaborate.h: a function of the tree and the arguments of a call -> a kernel of the loop IR.
 *
 * Consumes a tree whose names are bound. Checks dtypes, ranks and shapes, inlines
 * calls, unrolls what is known when compiling, turns grids and slices into loops. The
 * result still has every access unproved: jit/analysis.h goes on from there.
 */
#ifndef DSL_ELABORATE_H
#define DSL_ELABORATE_H

#include "ast.h"

enum dsl_argument_kind {
    DSL_NONE,
    DSL_TENSOR,
    DSL_INT,
    DSL_FLOAT,
    DSL_BOOL,
    DSL_STRING,
    DSL_INTS,
    DSL_TENSORS /* of a variadic parameter */
};

/* What is known of one argument when compiling. */
struct dsl_argument {
    enum dsl_argument_kind kind;
    akg_dtype dtype;            /* TENSOR; AKG_DTYPE_COUNT: left open */
    int rank;                   /* TENSOR; -1: left open */
    bool contiguous;            /* TENSOR */
    const unsigned char *order; /* TENSOR that is not contiguous: as of ir_buffer; NULL: unknown */
    uint64_t few;               /* TENSOR: extents of few elements (elaborate_few). Only where few_known */
    bool few_known;             /* TENSOR */
    const int64_t *shape;       /* TENSOR: its extents, to be compiled in; NULL: symbols */
    const int64_t *extents; /* TENSOR: those of the call, on which the kernel does not hang; NULL: unknown */
    bool is_constant;       /* INT, FLOAT, BOOL: compiled in; else a run-time scalar. Of tensors a call's key
                               then has the extents */
    struct ir_known known;  /* INT, a run-time scalar: what holds in every call of the signature */
    int64_t integer;        /* INT, BOOL */
    double real;            /* FLOAT */
    const char *string;
    const int64_t *ints;
    const struct dsl_argument *items; /* TENSORS */
    int count;                        /* of INTS (-1: left open), TENSORS */
};

/* Extents that calls are told apart by, and that are compiled in: 1 alone, where a broadcast asks for it, or
 * up to MOST, the channels of an image, the components of a point. */
enum { ELABORATE_FEW_ONE = 1, ELABORATE_FEW_MOST = 4, ELABORATE_FEW_BITS = 4 };

/* Of one axis, in `few`; 0: it has another extent, or may have one. */
static inline int elaborate_few(uint64_t few, int axis)
{
    return (int)(few >> (ELABORATE_FEW_BITS * axis) & ((1 << ELABORATE_FEW_BITS) - 1));
}

struct elaborate_result {
    struct ir_kernel *kernel; /* NULL: there are errors, or constants are missing */
    /* Per parameter: the value must be compiled in (is_constant), for a shape, a rank or a branch
     * hangs on it; of a tensor, its extents (shape). When this grew, kernel is NULL and the caller elaborates
     * again with those constant. */
    bool *needs_constant;
    bool retry;
    bool needs_ones; /* a broadcast hangs on which axes have one element: few_known must be set */
    bool is_open;    /* what is called hangs on extents that the general signature leaves open: the kernel is
                        of some of them, and no other call need do the same */
    /* For reports of a general signature: */
    akg_dtype *type_class; /* per buffer of the kernel: a variable number where the dtype stayed open,
                              else AKG_DTYPE_COUNT; equal numbers are one dtype */
    unsigned *allowed;     /* per buffer: the dtypes it can have */
};

/* The value of an operation on constants, as a node of the kernel, or NULL where it has none. */
typedef struct ir_expr *elaborate_evaluate(struct ir_kernel *kernel, const struct ir_expr *expr);

/* `arguments`: one per parameter of the function. Errors go to `diagnostics`. `general` is true for
 * a signature that stands for all calls (defaults and open dtypes), as for reports. */
void elaborate(struct arena *arena, const struct ast_module *module, const struct ast_function *function,
               const struct dsl_argument *arguments, bool general, elaborate_evaluate *evaluate,
               struct elaborate_result *result, akg_diagnostics *diagnostics);

/* ---- graph functions, call by call --------------------------------------------------------------------- */

/* What is handed to a called kernel, or returned. */
struct elaborate_operand {
    enum dsl_argument_kind kind;
    int tensor; /* TENSOR: its number: those of the arguments come first, in order, then results of calls */
    struct ir_expr *number; /* INT, FLOAT, BOOL: made of constants only */
    const char *string;
    const int64_t *ints;
    const struct elaborate_operand *items; /* TENSORS; a tuple of results may hold NONE */
    int count;                             /* of INTS, TENSORS */
};

/* A tensor that a call will give. */
struct elaborate_tensor {
    akg_dtype dtype;
    int rank;
    const int64_t *shape;
};

struct elaborate_calls {
    void *owner;
    /* A call of `callee` with one operand per parameter: says what it gives. False: stop, the owner knows
     * why. */
    bool (*call)(void *owner, const struct ast_function *callee, const struct elaborate_operand *operands,
                 struct span span, const struct elaborate_tensor **results, int *count);
    elaborate_evaluate *evaluate;
};

/*
 * Goes through a graph function with arguments whose shapes and values are all known, and hands each call of
 * a kernel (and of a graph function that has a bprop) to the owner instead of making IR of it. What the
 * function returns comes back in `result`, a TENSORS operand, NONE where there is nothing. False after a
 * message, or when the owner stopped.
 */
bool elaborate_graph(struct arena *arena, const struct ast_module *module,
                     const struct ast_function *function, const struct dsl_argument *arguments,
                     const struct elaborate_calls *calls, struct elaborate_operand *result,
                     akg_diagnostics *diagnostics);

/* The general signature: for every parameter what its annotation, default and uses tell (signature.c). */
struct dsl_argument *elaborate_general(struct arena *arena, const struct ast_function *function);

/* The constant value of a default (number, string, bool, None, tuple of ints). False when it is none. */
bool elaborate_constant(struct arena *arena, const struct ast_expr *expr, struct dsl_argument *value);

/* The builtin that a parameter's annotation names (BUILTIN_INT ...), or BUILTIN_NONE. */
int elaborate_attribute_builtin(const struct ast_parameter *parameter);

/* Whether its annotation asks for an integer. */
bool elaborate_takes_integer(const struct ast_parameter *parameter);

/* Whether an integer that is handed to it becomes a number with a fraction: by its annotation, else its
 * default. */
bool elaborate_takes_float(struct arena *arena, const struct ast_parameter *parameter);

/* The dtypes an annotation allows (TYPES_ANY where it says nothing) and the rank it gives, or -1. */
unsigned elaborate_annotation(const struct ast_expr *annotation, int *rank);

#endif
