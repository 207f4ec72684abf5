/*
 * vector.h: innermost loops as straight-line code over vectors, and as machine code.
 *
 * vector_build.c turns a loop of the IR into a struct vector_loop: values in the order of their computation,
 * each of them for all lanes at once, and what the caller must hand in: addresses, invariant scalars, the
 * start of what is accumulated. vector_nest.c does the same with a nest of two parallel loops around loops
 * that accumulate, a product of matrices say, whose iterations are computed a rectangle at a time, or of one
 * (sums of columns), whose iterations are computed several vectors at a time; vector_rows.c with a loop
 * around one that vector_build.c knows. vector_serial.c does it with a loop whose iterations hang on each
 * other, a filter say: one lane, one iteration after the other. vector_band.c makes one of a loop around
 * such loops and the statements between them. vector_x86*.c makes machine code of it. The C around it
 * (emit_c_vector.c) fills an array of slots, calls, and takes the accumulated values back.
 *
 * What a lane computes is what the interpreter computes, to the bit, but for what `strict` switches off: sums
 * and products of floats are accumulated in a fixed number of partial results, or, where each so far is used,
 * within vectors first (vector_scan.c), a product that is only added to something is not rounded (fma), what
 * a serial loop hands on is added last (vector_recurrence.c), and functions such as exp come from SLEEF,
 * which errs by 1 unit in the last place. None of it depends on which vector instructions there are, so their
 * results are the same.
 */
#ifndef JIT_VECTOR_H
#define JIT_VECTOR_H

#include "../ir/ir.h"
#include "dependence.h"
#include "x86_cpu.h"

/* How a value is kept in lanes. Integers narrower than 32 bits are kept extended (but for loops that are
 * slim, vector_slim.h), halves as float. */
enum vector_type { VECTOR_F32, VECTOR_F64, VECTOR_I32, VECTOR_I64, VECTOR_MASK };

enum vector_type vector_type_of(akg_dtype dtype);
static inline bool vector_type_is_wide(enum vector_type type)
{
    return type == VECTOR_F64 || type == VECTOR_I64;
}

/* The float that a constant's bits are. */
static inline double vector_number(enum vector_type type, uint64_t bits)
{
    union dtype_value value = {.i = (int64_t)bits};

    return type == VECTOR_F64 ? value.d : (double)value.f;
}

enum vector_kind {
    VECTOR_CONSTANT, /* bits */
    VECTOR_SCALAR,   /* slot: the same in all iterations */
    VECTOR_INDEX,    /* slot holds the first value of the loop variable (int64); the next are `bits` apart;
                        of dtype int32: their low bits */
    VECTOR_LOAD,     /* element of a stream; where the mask is false: 0, and nothing is read */
    VECTOR_GATHER,   /* element as far behind the stream's as operand 0 says; where the mask is false: 0.
                        Where `bits` is not 0, so many elements are there: up to VECTOR_ROW, of 32 bits;
                        or bytes, and operand 0 is one of uint8 */
    VECTOR_TEST,     /* the loop ends before this group where operand 0, taken without a sign, is not below
                        operand 1; where that is -1: where operand 0, a mask, is true,
                        or, where there is a slot, the counter `slot` and how many lanes that mask has are above
                        what the slot `bits` holds */
    VECTOR_STORE,
    VECTOR_SCATTER,   /* operand 0 is accumulated into the element operand 1 of the row at the stream, lane by
                         lane; without an operation it is stored there. Lanes that are masked touch none */
    VECTOR_OPERATION, /* of the IR, on operands of dtype `from`. OP_CAST of a float, where `bits` is not 0:
                         the operand is whole, so many bits hold it, and what does not fit may wrap; where
                         `rounds`, it is rounded to nearest, not cut. Of a uint32 to a half, where `bits` is
                        not 0: of the bits of the half, which are its low ones. OP_ABS of a float, where
                        `bits` is not 0: of -0 and of -infinity alone; OP_SQRT: likewise, of what that makes;
                        OP_MIN and OP_MAX: that operand, counted from 1, hangs on what is handed on, and is
                        what is left of two zeros. OP_FLOORDIV: of integers of 32 bits or fewer, by a constant
                        above 1. OP_EXP2: of the sum of its operands, the second of which, if there, is below
                        1; where `bits` is not 0, it becomes a float32, and OP_LOG2, then, is of one and loses
                        as much. OP_POW, where `bits` is not 0: operand 0 ^ (1 / 3), this rounded to the dtype
                      */
    VECTOR_FUSED,     /* operands 0 * 1 + 2, or - 2 (OP_SUB), or 2 - 0 * 1 (OP_NEG), rounded once */
    VECTOR_ACCUMULATE, /* into accumulator `slot`: operand 0, by the operation; OP_FMA: operand 0 * operand 1;
                          OP_NEG: less that */
    VECTOR_TOTAL,      /* in nests, serial loops and choices: what accumulator `slot` holds */
    VECTOR_SET,    /* in those: accumulator `slot` becomes operand 0; the place of a choice: the iteration */
    VECTOR_SCAN,   /* what accumulator `slot` becomes by the operation on it and operand 0, lane after lane;
                      where   the mask is false it stays */
    VECTOR_BEFORE, /* what that was before each lane; operand 0: the SCAN */
    VECTOR_PACK,  /* of the lanes for which the mask holds, operand 0 goes one after the other to the elements
                     of  the stream from what the counter `slot` holds on; without a stream: it goes on by as
                     many */
    VECTOR_REPEAT /* in nests around a while: the lanes where operand 0 is true go on */
};

enum { VECTOR_ROW = 16 }; /* elements of 32 bits that a vector register holds */

struct vector_value {
    enum vector_kind kind;
    enum vector_type type;
    akg_dtype dtype, from;
    enum operation operation;
    int operands[3]; /* values; -1 where there is none */
    int mask;        /* LOAD, GATHER, TEST, STORE, ACCUMULATE, SET, SCAN: the condition, -1: always */
    int slot;
    int stream,
        offset; /* LOAD, STORE, PACK: which, and elements ahead; TEST of a counter: so much is added */
    int epoch;  /* LOAD, GATHER: stores to the buffer before it, scattered ones, too */
    uint64_t bits;
    bool rounds;
    bool waits; /* SCATTER: it is done together with the next one into its tensor */
    int line;
    int section;            /* in nests: 0, 1, 2 */
    bool by_row, by_column; /* in nests: it differs from row to row, from column to column */
};

/* Whether it is that power which is computed in line. */
static inline bool vector_is_cube_root(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && value->operation == OP_POW && value->bits &&
           dtype_is_float(value->dtype);
}

/* In nests: how far it is from one iteration of a loop to the next. */
enum vector_stride_kind { VECTOR_STAYS, VECTOR_STRIDE, VECTOR_RUN_TIME_STRIDE };

struct vector_stride {
    enum vector_stride_kind kind;
    int64_t bytes; /* STRIDE */
    int slot;      /* RUN_TIME_STRIDE: of the bytes */
};

/* Loops of a nest, outermost first: rows, columns, and at least one that accumulates. */
enum { VECTOR_ROWS, VECTOR_COLUMNS, VECTOR_DEPTHS, VECTOR_LEVELS = 6 };

enum vector_step {
    VECTOR_UNIT, /* from one iteration to the next one element on */
    VECTOR_CONSTANT_STEP,
    VECTOR_RUN_TIME_STEP /* in the slot behind the address */
};

/* Accesses of one buffer that go along together. */
struct vector_stream {
    const struct ir_access *access; /* the first one */
    akg_dtype dtype;
    enum vector_step step_kind;
    int64_t step;                                /* CONSTANT_STEP, in elements */
    int slot;                                    /* of the address in the first iteration */
    struct vector_stride strides[VECTOR_LEVELS]; /* in nests */
    int state;     /* in nests: the first of its slots for the machine code's own use */
    int low, high; /* the least and the largest offset */
    bool assumed;  /* UNIT only if the stride of the tensor is 1, which the caller tests */
    bool is_stored, is_loaded, is_masked;
    bool is_apart;    /* in rows: no two rows have an element in common */
    bool is_gathered; /* the address from which lanes count their elements: it does not move */
    bool is_table; /* likewise, by bytes: it is where the tensor begins, also where others gather words from
                      it */
    int ahead;     /* in a part of a band: the slot with how far what is to be fetched lies; 0: nothing is */
};

/* In rows: the row of a stream is found by an element of another one, which has one for each row:
 * x[index[k] % count]. */
struct vector_pick {
    int stream, axis;
    const struct ir_expr *index; /* of the axis, as it stands in the program */
    int from;                    /* the stream of what is loaded: int32 or int64 */
    int divisor, extent, pitch;  /* slots; -1: there is none, it is not tested; bytes from index to index */
};

enum vector_role {
    VECTOR_REDUCED, /* partial results are combined by the operation */
    VECTOR_CHOSEN,  /* each lane has one of its own, that of the iteration that it chose */
    VECTOR_SCANNED, /* each lane goes on with what the one before came to: one partial result, for all vectors
                     */
    VECTOR_LATE     /* computed behind the loop (struct vector_late) */
};

struct vector_accumulator {
    struct ir_symbol *symbol; /* NULL: the element of `access`; both NULL: of the machine code's own */
    const struct ir_access *access;
    enum operation operation;
    akg_dtype dtype;
    enum vector_type type;
    enum vector_role role; /* not of nests and serial loops */
    int choice;            /* CHOSEN: the number of it */
    bool is_quiet; /* MAX or MIN of floats as a comparison has it: nan is no better than anything, and of
                      two zeros one stays */
    bool is_held;  /* of nests: none, but a scalar that is computed before the depths, and stays */
    int slot;      /* handed in, taken back */
};

/* Which of two iterations is chosen: by their values, and of equal ones by which comes first. */
struct vector_order {
    bool greatest; /* the greater value; else the less */
    bool last;     /* of equal ones the last */
    bool has_nan;  /* nan may be chosen: */
    bool nan_wins; /* before all numbers, or behind them */
    bool last_nan; /* of several the last */
};

/* Accumulators of role CHOSEN, VECTOR_MEMBERS at most, that change together, in iterations that a condition
 * chooses by comparing with the value of the one chosen before (vector_choice.c). `place` is the number of
 * that iteration, -1: none. */
struct vector_choice {
    int best, place; /* accumulators; best -1: the last iteration is chosen for which the condition holds */
    struct vector_order order;
};

/* What hangs on nothing but the iteration that was chosen, or, choice -1, on how many there were: the last of
 * the values, which are of one lane. In these, TOTAL is what the accumulator's slot holds. */
struct vector_late {
    int accumulator, choice;
    LIST(struct vector_value) values;
};

enum vector_argument_kind {
    VECTOR_ARGUMENT_COUNT,   /* iterations, more than 0; in nests slot `level` */
    VECTOR_ARGUMENT_ADDRESS, /* of the access in the first iteration */
    VECTOR_ARGUMENT_STEP,    /* elements to the next iteration, of the stream before */
    VECTOR_ARGUMENT_VALUE,
    VECTOR_ARGUMENT_LOGARITHM_REST, /* what log2 of the value, float64, is above the nearest one */
    VECTOR_ARGUMENT_COUNTER,        /* in and out */
    VECTOR_ARGUMENT_FIRST,          /* the loop variable */
    VECTOR_ARGUMENT_ACCUMULATOR,    /* in and out */
    VECTOR_ARGUMENT_EXTENT,         /* of the axis `level` of the stream */
    VECTOR_ARGUMENT_EXTENT_32,      /* the same, at most 2^31 */
    VECTOR_ARGUMENT_PITCH,          /* bytes from one index of the axis `level` to the next */
    VECTOR_ARGUMENT_SPACING,        /* elements from one index of the axis `level` to the next */
    VECTOR_ARGUMENT_ALIGNMENT, /* bytes that the address of the stream lay behind a multiple of 4, which it
                                  becomes */
    VECTOR_ARGUMENT_STRIDE,    /* bytes to the next iteration of the loop `level` of a nest */
    VECTOR_ARGUMENT_ELEMENTS,  /* of the tensor that the stream is of, all of them */
    VECTOR_ARGUMENT_DELTA,     /* of a band: what the slot `level` grows by with each iteration */
    VECTOR_ARGUMENT_AHEAD,     /* of a band: bytes to what is to be fetched, of what grows by slot `level` */
    VECTOR_ARGUMENT_STATE      /* for the machine code's own use */
};

struct vector_argument {
    enum vector_argument_kind kind;
    int stream, accumulator;
    const struct ir_expr *value;
    int level;
    const struct ir_access *access; /* in bands: of the stream, which is that of a part; */
    const struct ir_stmt *loop; /* the loop that the slot is for; of a DELTA: by whose iterations it grows */
};

/* Extents that the code takes to be equal. */
struct vector_equal {
    const struct ir_expr *a, *b;
};

typedef LIST(struct vector_equal) vector_equals;

/* What makes a loop a nest, or, where there are no depths, the rows of a vector loop: then the values are
 * those of the columns alone, and `state` is the slot with how many rows there are. A nest's values come in
 * three sections: before the loops that accumulate, in the innermost of them, behind them. No value is used
 * in another section than its own, but for accumulators, and scalars that are held like them. A nest without
 * rows begins with its columns: loops[VECTOR_ROWS] is NULL, and stands for one row. Such a one may have a
 * while, loops[VECTOR_DEPTHS], in place of the loops that accumulate; it counts as no level. */
struct vector_nest {
    const struct ir_stmt *loops[VECTOR_LEVELS];
    /* loops around that are one with loops of these (vector_merge.c): the outermost of those whose iterations
     * are columns too, or rows, of rows; in rows, of those around the columns; NULL */
    const struct ir_stmt *merged, *inside;
    vector_equals equals; /* only where these are so in a call */
    int first;            /* the level of the outermost loop: VECTOR_ROWS or VECTOR_COLUMNS */
    int depth;            /* levels */
    bool is_while;
    int body, result; /* the first value of the second section, and of the third */
    int counts;       /* the first of the slots of the iterations: one per loop; not of rows */
    int state;        /* the first of the slots for the machine code's own use: one per loop */
    int index;        /* the slot of the columns' variable: in rows it keeps the first one, else that of the
                         first column of a tile, where values ask for it; -1: none does */
    bool is_flat;     /* in rows: where they lie one behind the other they may be one */
    int fold; /* rows whose columns are side by side in one vector (vector_fold.c); 0: each has its own */
    bool is_along; /* lanes are iterations of the innermost loop, not columns (vector_along.c), */
    bool is_alone; /* which cannot be lanes */
    int lanes;     /* then: of a vector, */
    int rest;      /* and the slot of how many iterations are left behind whole ones */
};

/* A slot that grows by what the slot `delta` holds from one iteration of a band to the next. */
struct vector_moving {
    int slot;
    int delta;  /* -1: it does not grow */
    int origin; /* the slot that grows, out of which `slot`, which the part overwrites, is filled; -1: itself
                 */
};

/* A loop around a band that holds nothing else: in each of its iterations the band is run anew. */
struct vector_repeat {
    const struct ir_stmt *stmt;
    int count; /* the slot of its iterations */
    LIST(struct vector_moving) moving;
};

/* What makes a loop a band: parts that are run one after the other in each of its iterations, out of one
 * array of slots. A part is a loop, or straight code of one lane (is_once); what is handed from one to the
 * next goes through slots. */
struct vector_part {
    struct vector_loop *loop;
    int guard; /* the slot of a count: where it is not above 0, the part is left out. -1: there is none */
};

/* Parts from `first` to before `last` that an iteration runs only where a slot is 1; negated: where it is 0.
 */
struct vector_condition {
    int slot, first, last;
    bool is_negated;
};

struct vector_band {
    const struct ir_stmt *loop; /* in each iteration of which the parts are run */
    LIST(struct vector_part) parts;
    LIST(struct vector_condition) conditions; /* in the order in which they begin */
    LIST(struct vector_moving) moving;
    LIST(struct vector_repeat) repeats; /* innermost first */
};

/* An index that goes on by one from iteration to iteration, and is to be tested or may wrap: the code runs
 * only where C finds the first and the last as they must be. */
struct vector_reach {
    const struct ir_access *access;
    int axis;
    bool is_tested;
    int grows; /* by 1 or -1 in each iteration; computed in 32 bits, unless the last index is not that far
                  from the first; 0: in 64 bits */
    const struct ir_access *stored; /* it must not come to an element before this does; NULL: none */
};

/* A scalar that counts what is put behind each other (vector_pack.c); it is not negative. */
struct vector_counter {
    struct ir_symbol *symbol;
    int slot; /* handed in, taken back */
};

struct vector_loop {
    const struct ir_stmt *stmt;
    LIST(struct vector_value) values;
    LIST(struct vector_stream) streams;
    LIST(struct vector_accumulator) accumulators;
    LIST(struct vector_argument) arguments; /* one per slot */
    LIST(struct vector_counter) counters;
    LIST(struct vector_choice) choices;
    LIST(struct vector_late) late;
    LIST(struct vector_reach) reaches;
    LIST(const struct ir_expr *) small; /* of the call: the code runs only where they are within 2^30 of 0 */
    bool wide;                          /* some lane has 64 bits */
    bool calls;                         /* a function of values is called */
    LIST(struct vector_pick) picks;     /* in rows */
    bool stops;  /* it may end early: slot 0 says how many iterations are done, or `state` how many rows are
                    left */
    bool leaves; /* it may end early by a condition of its own */
    bool is_serial;        /* one lane; accumulators are what iterations hand on */
    bool is_once;          /* one iteration of that, straight on */
    bool is_even, is_rest; /* only whole groups of iterations, or only what is left of one */
    int group;             /* of either: iterations of a group, no more than a vector's */
    int at_least, below;   /* of a band: only where it has so many iterations, or fewer; 0: any number */
    bool begins_anew;      /* likewise: where it begins is found out in each iteration of that */
    bool is_parted;        /* threads may share it: how many of its iterations come at a time is not known */
    bool is_part;          /* likewise: it is a part that goes over the rows of tensors */
    bool has_some_rows;    /* threads may share a loop around it, and with that the rows of a nest */
    bool is_beside;        /* other code may stand beside it; it is asked first: */
    bool copies;           /* it is a nest that copies short rows (vector_copy.c) */
    int most;              /* it is for rows of so many elements; 0: of any */
    int count;             /* the slot of the iterations; not of nests */
    int elements;          /* the slot of how many there are of what is stored to; 0: nobody asks */
    int nearby; /* likewise of a tensor that is loaded at several places, where stores go no way of their own
                 */
    const struct vector_nest *nest; /* NULL: none */
    const struct vector_band *band; /* NULL: none */
    struct flow *flow;              /* it is one with branches, of which nothing else is here (flow.h) */
    const void *code;
    size_t size; /* of the code, in bytes */
};

/* The store of the other one of each two elements side by side, under the same condition; NULL: there is
 * none, or not just one of each. */
const struct vector_value *vector_other_store(const struct vector_loop *loop,
                                              const struct vector_value *value);

/* Of one loop; larger ones are left to C. */
enum {
    VECTOR_VALUES = 32000,
    VECTOR_MEMBERS = 20,
    VECTOR_STREAMS = 24,
    VECTOR_STATEMENTS = 16000,
    VECTOR_LARGEST_STEP = 1000000
};

/* Loops known to be of fewer iterations stay C: a call costs more. */
enum { VECTOR_SHORTEST = 8 };

/* From so many on it is worth while to choose among lanes behind the loop, where a short loop is no call. */
enum { VECTOR_LARGE = 28 };

struct vector_options {
    enum x86_target target;
    bool strict;        /* bitwise what the interpreter computes */
    bool trust_indices; /* indices that were to be tested are not */
    int stream_bytes;   /* loops over so many bytes store past the caches; 0: none does (x86_cpu.h) */
    bool permutes;      /* any bytes out of two vectors are picked at once (x86_cpu.h) */
    bool counts_bits;   /* those that are set in a lane, by one instruction (x86_cpu.h) */
    bool splits;        /* vectors of 512 bits are computed in two halves (x86_cpu.h) */
    bool slow_gathers;  /* lanes one by one are faster (x86_cpu.h) */
    bool slows;         /* such vectors lower the clock, and are stored slowly (x86_cpu.h) */
    bool is_apart; /* only to see what comes of it: the loops around, which are not known, stay on axes */
};

/* What is asked for by default: for this processor's sort of the target, not strict. */
struct vector_options vector_options_here(enum x86_target target);
/* Whether two of them, which began as vector_options_here, ask for the same. */
bool vector_options_same(const struct vector_options *a, const struct vector_options *b);

/* Whether the loop's iterations hang on each other by nothing but scalars. */
bool vector_may_choose(const struct dependence_loop *verdict);

/* The loop as values, or NULL where it is not one of those. Everything goes into the arena. */
struct vector_loop *vector_build(struct arena *arena, const struct ir_stmt *stmt,
                                 const struct dependence_loop *verdict, const struct dependences *dependences,
                                 const struct vector_options *options);
/* The loop with conditions that leave it as IFs of nothing; NULL: none does, or it jumps elsewhere, too. */
const struct ir_stmt *vector_without_leaving(struct arena *arena, const struct ir_kernel *kernel,
                                             const struct ir_stmt *stmt);
/* That as values, whose code ends before the first of these: it may stand for the loop. NULL where it is not
 * one of those. */
struct vector_loop *vector_build_leaving(struct arena *arena, const struct ir_stmt *stmt,
                                         const struct dependence_loop *verdict,
                                         const struct dependences *dependences,
                                         const struct vector_options *options);
/* The counters of a loop; its number of them is limited. */
enum { VECTOR_PACKS = 4 };
struct vector_packs {
    int count;
    const struct ir_symbol *symbols[VECTOR_PACKS];
};

/* The loop without what puts elements behind each other, for the analysis of what else it does; NULL: there
 * is nothing like that. */
const struct ir_stmt *vector_without_packs(struct arena *arena, const struct ir_stmt *stmt,
                                           struct vector_packs *packs);
/* The loop with that as values, by the verdict on the one without; NULL where it is not one of those. */
struct vector_loop *vector_build_packing(struct arena *arena, const struct ir_stmt *stmt,
                                         const struct vector_packs *packs,
                                         const struct dependence_loop *verdict,
                                         const struct dependences *dependences,
                                         const struct vector_options *options);
/* Whether it can be computed where the program does not: it loads nothing, and divides by nothing that was
 * proved for its place alone. */
bool vector_is_harmless(struct ir_expr *expr);
/* Whether the loop is the outermost of loops that have the shape of a nest, and which these are. `first`: the
 * level that it is of. */
bool vector_nest_shape(const struct ir_stmt *outermost, int first, struct vector_nest *nest);
/* Whether the columns of all iterations of `outer`, which holds nothing but the nest, are one row of columns.
 */
bool vector_nest_merges(const struct vector_nest *nest, const struct ir_stmt *outer);
/* Whether a loop and the only one in it are one, from element to element; where it hangs on that, `equals`
 * gets extents that must be equal in a call. */
bool vector_loops_merge(struct arena *arena, const struct ir_stmt *outer, vector_equals *equals);
/* The iterations of a loop from one number to another; 0: they are not known, or as many as the limit. */
int vector_extent_below(const struct ir_stmt *loop, int limit);
/* The same of up to 64. */
int vector_known_extent(const struct ir_stmt *loop);
/* The same of what passes knew (ir_stmt.open): the form of the code hangs on this, so that it is the one that
 * calls with other extents have, too. */
static inline int vector_foreseen_extent(const struct ir_stmt *loop)
{
    return loop && loop->open ? 0 : vector_known_extent(loop);
}
/* Whether each of its loops has such a number, so that a loop around it may be a band with it. */
bool vector_nest_is_small(const struct vector_loop *loop);
/* Whether rows of the nest may be side by side in one vector, if what they load and store suits that. */
bool vector_may_fold(const struct vector_nest *nest, const struct vector_options *options);
/* How many are, of the nest as values; 0: none. */
int vector_find_fold(const struct vector_nest *nest, const struct vector_loop *loop);
/* Of a nest: whether its lanes may be iterations of its innermost loop; never, where the call says for how
 * many of these and of columns it pays, or always. */
enum vector_along { VECTOR_NEVER_ALONG, VECTOR_SOMETIMES_ALONG, VECTOR_ALWAYS_ALONG };
enum vector_along vector_may_go_along(const struct vector_nest *nest, const struct vector_options *options);
/* Whether the values of the nest, which is to be one of those, can be had so; finds its lanes. */
bool vector_goes_along(struct vector_nest *nest, struct vector_loop *loop,
                       const struct vector_options *options);
/* Whether columns are so few that they may lie apart by what is known at run time alone. */
bool vector_may_lie_apart_along(const struct vector_nest *nest);
/* For how many columns it pays at most, and for how many iterations of the innermost loop at least; what the
 * vectors of these are multiplied by, for each column, and those of the columns, for each iteration, by one
 * less, where there are rows: the former must not be above the latter. */
enum { VECTOR_ALONG_COLUMNS = 8, VECTOR_ALONG_DEPTHS = 8, VECTOR_ALONG_TIMES = 4 };
/* For how many iterations at least it pays where columns cannot be lanes. */
enum { VECTOR_ALONE_DEPTHS = 3 };

/* The nest, whose rows and columns are parallel, as values; NULL where it is not one of those. */
struct vector_loop *vector_nest_build(struct arena *arena, struct vector_nest *nest,
                                      const struct vector_options *options);
/* Whether the loop has nothing but an innermost one in it, and LETs. */
bool vector_rows_shape(const struct ir_stmt *rows, struct vector_nest *nest);
/* The columns, of which there is a verdict, with their rows; NULL where these need more of C. */
struct vector_loop *vector_rows_build(struct arena *arena, struct vector_nest *nest, bool in_any_order,
                                      const struct dependence_loop *verdict,
                                      const struct dependences *dependences,
                                      const struct vector_options *options);
/* The loops, which hold nothing but short rows that are copied, as one call; NULL where they are not that. */
struct vector_loop *vector_copy_build(struct arena *arena, const struct ir_stmt *stmt,
                                      const struct vector_options *options);
/* Whether they are, and better stay so than be lanes: rows are of more elements than a few, or what is
 * loaded for the iterations lies apart. */
bool vector_copy_suits(struct arena *arena, const struct ir_stmt *stmt, const struct vector_options *options);
static inline bool vector_is_rows(const struct vector_nest *nest)
{
    return nest && nest->depth == VECTOR_DEPTHS && !nest->is_while;
}
/* Whether a loop does little but to load and store elements that lie apart: lanes are only in the way of
 * that. */
bool vector_goes_down_columns(const struct vector_loop *loop);
/* The loop, whatever its iterations hang on, as values of one lane; NULL where it is not one of those. */
struct vector_loop *vector_serial_build(struct arena *arena, const struct ir_stmt *stmt,
                                        const struct vector_options *options);
/* The loop, around the loops given in order and statements that hold none, as a band; NULL where it is none.
 * The loops become its parts. */
struct vector_loop *vector_band_build(struct arena *arena, const struct ir_stmt *stmt,
                                      struct vector_loop *const *loops, const struct vector_options *options);

/* Whether the statement is a condition around loops, whose branches are parts of a band. */
bool vector_is_condition(const struct ir_stmt *stmt);
/* Makes the loop, which holds nothing but that of the band, one of the band's own; false where addresses or
 * bounds forbid it. */
bool vector_band_repeat(struct arena *arena, const struct ir_stmt *stmt, struct vector_loop *band,
                        const struct vector_options *options);
/* Whether the scalar is declared in the loop's body. */
bool vector_is_declared(const struct ir_stmt *stmt, const struct ir_symbol *symbol);
/* How many sums, about, take as long as the value. */
int vector_latency(const struct vector_value *value);
/* The same of all values of an iteration, but for what is there before the loop. */
int vector_work(const struct vector_loop *loop);
/* Whether it accumulates what it loads of one tensor, and makes so much of it that fewer loads are on their
 * way than memory could bring (Zen 5: both extremes of 64 MiB 1.77 ms, and 1.27 with what lies two pages
 * ahead fetched; a plain sum gains nothing). */
bool vector_is_slow_sum(const struct vector_loop *loop);
/* Whether an earlier stream is of the same tensor. */
bool vector_stream_is_again(const struct vector_loop *loop, int number);
/* Whether it does nothing but load tensors, each at one place in an iteration, and accumulate, on a processor
 * that asks for too little of memory by itself then. */
bool vector_is_plain_sum(const struct vector_loop *loop, const struct vector_options *options);
/* Iterations between two that are accumulated into the same partial result: the same for every target. */
int vector_partials(const struct vector_loop *loop);
/* Whether the loop, or a part of the band that it is, has SCANs. */
bool vector_has_scans(const struct vector_loop *loop);
/* Whether the term of a SCAN is the same in all iterations (`s = s * g`): all vectors go on by the same then.
 */
bool vector_scan_stays(const struct vector_loop *loop, const struct vector_value *scan);
/* The least there may be: a group. */
static inline int vector_group(bool wide)
{
    return wide ? 8 : 16;
}

/* ---- vector_x86_width.c ---- */

/* Of how many iterations a group of a loop of whole groups is; the same for all targets, as the order of
 * sums. */
int vector_even_group(const struct vector_loop *loop);

/* ---- vector_math.c ---- */

/* Whether an operation on floats is a call of a function. */
bool vector_is_call(enum operation operation);
/* Whether, unless strict, it is computed in line. */
bool vector_is_inline(enum operation operation, akg_dtype dtype);
/* The function of SLEEF for vectors of so many bits, or NULL. Floats: 256 and 512 bits. */
const void *vector_function(enum operation operation, bool wide, int bits);
/* void (x, y, result, mask), which computes the lanes of the mask of vectors in memory; NULL: there is none.
 */
const void *vector_function_of_lanes(enum operation operation, bool wide);

#endif
