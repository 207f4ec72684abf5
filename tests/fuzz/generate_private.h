/*
 * generate_private.h: the state of the generator. generate.c makes the program, generate_signature.c the
 * parameters of its kernel and the calls, generate_function.c what the kernel calls, generate_statement.c and
 * generate_whole.c blocks, generate_expression.c what stands in them.
 *
 * Right by construction: an expression is made for a dtype, and what it is made of has that dtype or none
 * (literals, loop variables, attributes). A literal always meets something typed, so that it is never folded
 * with another one into a number that does not fit.
 */
#ifndef TESTS_FUZZ_GENERATE_PRIVATE_H
#define TESTS_FUZZ_GENERATE_PRIVATE_H

#include <stdio.h>

#include "../../base/dtype.h"
#include "generate.h"
#include "random.h"

enum {
    GENERATE_EXTENTS = 4,
    GENERATE_TENSORS = 24,
    GENERATE_VARIABLES = 48,
    GENERATE_RANK = 3,
    GENERATE_HELPERS = 3,
    GENERATE_CALLEES = 2,
    GENERATE_GRIDS = 4,
    GENERATE_PARAMETERS = 12
};

/* A number that axes of several tensors share, and the text that stands for it in the kernel. */
struct generate_extent {
    char text[24];
    int constant; /* the number itself, or -1: it comes with the call */
    bool known;   /* some tensor tells it */
};

struct generate_tensor {
    char name[12];
    akg_dtype dtype;
    int rank;
    int axes[GENERATE_RANK]; /* numbers of extents */
    bool writable;
};

enum generate_kind {
    GENERATE_LOOP,    /* untyped integer in 0 .. extent - 1, or of no known range (extent -1) */
    GENERATE_INTEGER, /* untyped integer that is the same throughout the call */
    GENERATE_REAL,    /* untyped float, likewise */
    GENERATE_SCALAR   /* typed, may be assigned */
};

struct generate_variable {
    char name[12];
    enum generate_kind kind;
    akg_dtype dtype;
    int extent;
    bool fixed; /* SCALAR that must not be assigned: it ends a loop, or is an attribute */
};

struct generate_helper {
    char name[16];
    int count;     /* of parameters, all of one dtype */
    bool floating; /* takes floats only */
    bool used;
    size_t start, end; /* its text */
};

/* A kernel that is called with one tensor. */
enum generate_callee {
    GENERATE_FRESH,
    GENERATE_TWO,
    GENERATE_ROWS,
    GENERATE_IN_PLACE,
    GENERATE_CALLEE_KINDS
};

/* for p in grid(shape): p stands for all the indices of a tensor with those axes. */
struct generate_grid {
    char name[12];
    int rank;
    int axes[GENERATE_RANK];
};

enum generate_parameter_kind {
    GENERATE_TENSOR,
    GENERATE_OPTIONAL, /* a tensor or None */
    GENERATE_VARIADIC, /* at least one tensor, or (`least` 0) none */
    GENERATE_NUMBER,   /* `dtype` INT64, FLOAT64 or BOOL */
    GENERATE_MODE,     /* a string: one, two or three */
    GENERATE_PAIR      /* a tuple of two ints */
};

/* What a parameter is, for the calls, and for blocks that look at it. */
struct generate_parameter {
    enum generate_parameter_kind kind;
    char name[12];
    struct generate_tensor tensor;
    akg_dtype dtype;
    int least;
};

struct generator {
    struct random random;
    struct text *out;
    struct generate_extent extents[GENERATE_EXTENTS];
    struct generate_tensor tensors[GENERATE_TENSORS];
    int tensor_count;
    struct generate_variable variables[GENERATE_VARIABLES];
    int variable_count;
    struct generate_helper helpers[GENERATE_HELPERS];
    int helper_count;
    enum generate_callee callees[GENERATE_CALLEES];
    int callee_count;
    struct generate_grid grids[GENERATE_GRIDS];
    int grid_count;
    struct generate_parameter parameters[GENERATE_PARAMETERS];
    int parameter_count;
    int names;     /* taken */
    int budget;    /* statements that may still be made */
    int loops;     /* around the statement */
    bool leavable; /* the innermost of them may hold break and continue */
    int wild;      /* percent of the indices that may miss their axis */
};

#define PICK(g, array) ((array)[random_below(&(g)->random, (int)(sizeof(array) / sizeof *(array)))])

static inline int generate_below(struct generator *g, int count)
{
    return random_below(&g->random, count);
}
static inline bool generate_chance(struct generator *g, int percent)
{
    return random_chance(&g->random, percent);
}

struct generate_variable *generate_declare(struct generator *g, const char *prefix, enum generate_kind kind,
                                           akg_dtype dtype, int extent);
/* A variable in scope, or NULL. With AKG_DTYPE_COUNT: of any dtype; `assignable`: no fixed ones. */
struct generate_variable *generate_scalar(struct generator *g, akg_dtype dtype, bool assignable);
/* Of the untyped integers: one that runs over that extent if there is one and `extent` is not -1. */
struct generate_variable *generate_untyped(struct generator *g, int extent);
/* A tensor in scope, or NULL. */
struct generate_tensor *generate_tensor(struct generator *g, akg_dtype dtype, bool writable);

/* A number among those that programs like to use, as text that is a literal of that dtype. */
void generate_literal(struct generator *g, akg_dtype dtype);
/* A typed expression. */
void generate_expression(struct generator *g, akg_dtype dtype, int depth);
/* An expression or a literal: for a place whose other side is typed. */
void generate_operand(struct generator *g, akg_dtype dtype, int depth);
void generate_condition(struct generator *g, int depth);
void generate_index(struct generator *g, int extent, int depth);
/* name[index, ...] */
void generate_access(struct generator *g, const struct generate_tensor *tensor, int depth);
akg_dtype generate_dtype(struct generator *g);

void generate_block(struct generator *g, int indent, int count);
void generate_line(struct generator *g, int indent);
/* "+=" and the like. */
const char *generate_update(struct generator *g, akg_dtype dtype);

/* generate_whole.c: tensors, tuples and parameters as a whole. Those that give a bool made nothing when it is
 * false. */
void generate_allocation(struct generator *g, int indent);
bool generate_slice(struct generator *g, int indent);
bool generate_kernel_call(struct generator *g, int indent);
bool generate_tuple(struct generator *g, int indent);
bool generate_optional(struct generator *g, int indent);
bool generate_variadic(struct generator *g, int indent);
bool generate_mode(struct generator *g, int indent);

/* generate_function.c: what stands before the kernel. */
void generate_constants(struct generator *g);
void generate_helper(struct generator *g);
/* Those that nothing calls go: of their parameters nothing is known. */
void generate_drop_helpers(struct generator *g);
void generate_callee(struct generator *g);

/* generate_signature.c: the parameters, between the parentheses; then, in the body, names for the extents and
 * uses that show the ranks; and a line that calls the kernel. */
void generate_parameters(struct generator *g, int outputs);
void generate_prologue(struct generator *g);
void generate_call_line(struct generator *g);
/* "dtype" or dtype, or that of a tensor that has it. */
void generate_dtype_text(struct generator *g, akg_dtype dtype);

#endif
