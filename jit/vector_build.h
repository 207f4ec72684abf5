/*
 * vector_build.h: what the files that turn loops into vector values share.
 */
#ifndef JIT_VECTOR_BUILD_H
#define JIT_VECTOR_BUILD_H

#include "vector.h"

struct vector_scalar {
    const struct ir_symbol *symbol; /* declared in the body */
    int value;
};

/* Symbols, by their addresses. */
struct vector_table {
    struct vector_entry {
        const struct ir_symbol *symbol; /* NULL: none */
        int place;
    } * entries;
    size_t slots, count; /* 0, or a power of two */
};

/* Answers that are asked for again and again of bodies that are long; all zero at first. Asked for by one
 * builder (vector_memo.c). */
enum { VECTOR_ANSWERS = 8 };

struct vector_memo {
    struct {
        const struct ir_stmt *stmt;
        const struct ir_buffer *buffer;
        bool stores;           /* whether the one stores into the other */
    } answers[VECTOR_ANSWERS]; /* the last ones */
    int answered;
    int *heads;                     /* 1 + the newest value of each chain; NULL: there are none yet */
    LIST(int) next;                 /* 1 + the one before each value in its chain */
    int first, chained;             /* values from here to there are in chains */
    struct vector_table scalars;    /* places among the builder's */
    const struct ir_stmt *declarer; /* what its body declares */
    struct vector_table declared;
};

struct vector_builder {
    struct arena *arena;
    const struct ir_stmt *stmt; /* the loop */
    const struct vector_options *options;
    const struct dependences *dependences;
    struct vector_loop *loop;
    LIST(struct vector_scalar) scalars;
    int mask; /* the condition of what is being built, -1: none */
    int line;
    int stores;               /* so far */
    int first, section;       /* the first value of it */
    struct vector_nest *nest; /* NULL: a loop alone */
    bool is_parallel;         /* a loop alone, no iteration of which depends on another one */
    bool is_serial;           /* one lane: the order of the program is kept */
    bool is_once;             /* one iteration of that, straight on: a part of a band */
    bool after_test;          /* C has tested the index of the element that is accumulated into */
    bool is_guarded;          /* what may be left out: nothing is loaded before it */
    int index;                /* of a serial loop: 1 + the accumulator with its variable; 0: there is none */
    bool wants_depth;         /* of a nest: the variable of its only depth is used as a number, */
    int depth;                /* statements and expressions inside each other */
    int number;               /* and that is this value; -1: it is not there */
    bool leaves;              /* IFs of nothing are conditions that end it (vector_leave.c) */
    const struct vector_packs *packs; /* NULL: there are none */
    struct vector_memo *memo;         /* NULL: answers are not kept */
    bool refused;
};

/* ---- vector_memo.c ----------------------------------------------------------------------------- */

/* An earlier value of the section that is the same; -1. */
int vector_memo_value(struct vector_builder *builder, const struct vector_value *value);
/* The place among the scalars; -1. */
int vector_memo_scalar(const struct vector_builder *builder, const struct ir_symbol *symbol);
/* The last one of them was added. */
void vector_memo_add_scalar(struct vector_builder *builder, const struct ir_symbol *symbol);
/* Whether the body of the loop declares it, at whatever depth. */
bool vector_memo_declares(const struct vector_builder *builder, const struct ir_symbol *symbol);

/* ---- vector_build.c ---------------------------------------------------------------------------- */

/* Marks the loop as one that stays C. Values made after that mean nothing. */
int vector_refuse(struct vector_builder *builder);
/* A value, or the earlier one that is the same. */
int vector_add(struct vector_builder *builder, struct vector_value value);
/* One of an earlier list of values, whose operands now are where `moved` says. */
int vector_add_again(struct vector_builder *builder, struct vector_value value, const int *moved);
/* Nobody uses it any more: the sweep takes it out. */
void vector_forget(struct vector_builder *builder, int number);
/* Whether it is there for more than its result. */
bool vector_has_effect(enum vector_kind kind);
struct vector_value vector_blank(enum vector_kind kind, akg_dtype dtype);
int vector_constant(struct vector_builder *builder, akg_dtype dtype, union dtype_value number);
int vector_operation(struct vector_builder *builder, enum operation operation, akg_dtype dtype,
                     akg_dtype from, int a, int b, int c);
/* a * b + c, - c (OP_SUB) or c - a * b (OP_NEG), rounded once. */
int vector_fused(struct vector_builder *builder, enum operation operation, akg_dtype dtype, int a, int b,
                 int c);
int vector_argument_new(struct vector_builder *builder, struct vector_argument argument);
/* The value that a scalar of the body has now; NULL: it is declared outside. */
int *vector_scalar(struct vector_builder *builder, const struct ir_symbol *symbol);
void vector_declare(struct vector_builder *builder, const struct ir_symbol *symbol, int value);
void vector_statement(struct vector_builder *builder, const struct ir_stmt *stmt);
/* The statements of a block. */
void vector_statements(struct vector_builder *builder, const struct ir_stmt *first);
/* How many there are, counted as far as the limit. */
int vector_count_statements(const struct ir_stmt *first, int limit);
/* Whether the loop is known to have so few iterations that a call costs more. */
bool vector_is_short(const struct ir_stmt *stmt);
/* As vector_build, of loops of few iterations too. */
struct vector_loop *vector_build_any(struct arena *arena, const struct ir_stmt *stmt,
                                     const struct dependence_loop *verdict,
                                     const struct dependences *dependences,
                                     const struct vector_options *options);
/* Whether what the loop advances by, in all lanes, may be too large for an instruction, or the number of its
 * iterations be computed wrongly. */
static inline bool vector_step_is_large(const struct ir_stmt *stmt)
{
    return stmt->step > VECTOR_LARGEST_STEP || stmt->step < -VECTOR_LARGEST_STEP;
}
/* Products that are only added to something are not rounded. */
void vector_fuse(struct vector_builder *builder);

/* ---- vector_await.c ---- */

/* Whether the loop accumulates elements that the band stores, as a triangular system does, or adds to the
 * same ones in each iteration of the band, to more and more of them: where the last of them was stored just
 * before, or under a mask, a vector that holds it cannot be loaded until it has reached memory, but it alone
 * can. */
bool vector_awaits_element(const struct vector_builder *outer, const struct vector_loop *loop);

/* ---- vector_fetch.c ---- */

/* Gives streams of a band's parts slots with how far ahead they fetch, and parts that with the elements of
 * what they store past the caches. */
void vector_fetch_plan(struct arena *arena, struct vector_loop *band, const struct vector_options *options);

/* Drops values that nothing uses. */
void vector_sweep(struct vector_builder *builder);

/* ---- vector_expression.c ---- */

int vector_expression(struct vector_builder *builder, const struct ir_expr *expr);
/* An operation on expressions of the program, NULL where it has fewer operands, for C to compute. */
struct ir_expr *vector_expr(struct vector_builder *builder, enum operation operation, akg_dtype dtype,
                            const struct ir_expr *a, const struct ir_expr *b, const struct ir_expr *c);
/* The slot of what is the same in all iterations. */
int vector_invariant_slot(struct vector_builder *builder, const struct ir_expr *expr);
/* What log2 of the expression, float64 and the same in all iterations, is above the number nearest to it. */
int vector_logarithm_rest(struct vector_builder *builder, const struct ir_expr *expr);
/* The loop whose iterations are the lanes. */
const struct ir_stmt *vector_lanes(const struct vector_builder *builder);
/* Its variable, as int64, or the low bits of that as int32. */
int vector_index(struct vector_builder *builder, akg_dtype dtype);
/* A test that is made before the loop comes to the same as one in its first iteration when nothing can happen
 * before it there. */
bool vector_may_test_first(const struct vector_builder *builder);
/* The same in every iteration, and computed before the first one to the same effect. */
bool vector_is_invariant(const struct vector_builder *builder, const struct ir_expr *expr);
/* What follows is evaluated where the condition holds too; the mask that was, to be put back. */
int vector_begin_guarded(struct vector_builder *builder, int condition);
/* A quotient or a remainder of integers, with the dtype of the expression. */
int vector_quotient(struct vector_builder *builder, const struct ir_expr *expr, int a, int b);

/* Whether the bounds of all loops of the nest are the same all the time, and may be looked at before. */
bool vector_bounds_stay(const struct vector_builder *builder);
/* ---- vector_join.c ---- */

/* Behind both branches of the condition, whose values begin at `first` and `middle` and have these masks:
 * what both store becomes one store under the mask of the builder. */
void vector_join_branches(struct vector_builder *builder, int condition, int first, int middle,
                          const int masks[2]);
/* Likewise: what both load is loaded once, under the mask of the builder. */
void vector_share_loads(struct vector_builder *builder, int first, int middle, const int masks[2]);
/* Adds a store under a mask to the one before it into the same element; false: there is none. */
bool vector_join_store(struct vector_builder *builder, struct vector_value store);
/* Behind a condition whose values begin at `first`, with no other around it: masked stores into elements that
 * the iteration has loaded get along without masks. */
void vector_join_loads(struct vector_builder *builder, int first);

/* ---- vector_serial.c ---- */

/* The loop variable of a serial loop. */
int vector_serial_index(struct vector_builder *builder);

/* ---- vector_narrow.c ---- */

/* The low 32 bits of an int64 that hangs on the loop variable, as int32; -1: there is no such value. */
int vector_low_bits(struct vector_builder *builder, const struct ir_expr *expr);
/* The number itself, where that is one; -1: it may be larger. */
int vector_small(struct vector_builder *builder, const struct ir_expr *expr);
/* Notes that the int64 is to be less than 2^30 away from 0, which C looks at before the loop; false where it
 * cannot, or it is not. */
bool vector_must_be_small(struct vector_builder *builder, const struct ir_expr *expr);
/* Of a quotient or a remainder; -1: it is none of these, too. */
int vector_small_quotient(struct vector_builder *builder, const struct ir_expr *expr);
/* A comparison of two such numbers; -1: one may be larger. */
int vector_compare_small(struct vector_builder *builder, const struct ir_expr *expr);

/* ---- vector_hoist.c ---- */

/* Of a loop whose iterations are independent: loads go ahead of stores to other elements. */
void vector_hoist_loads(struct vector_builder *builder);
/* Tests come as early as what they test, so that loads of neighbours can be one behind them. */
void vector_hoist_tests(struct vector_builder *builder);

/* ---- vector_recurrence.c ---- */

/* Brings what each iteration of a serial loop hands on closer to what the next one does. */
void vector_shorten(struct vector_builder *builder);

/* Whether operands of the operation may be taken together in another order. */
bool vector_reorders(enum operation operation, akg_dtype dtype);
/* `x` in `x = x + y`: the element or the variable that the statement changes. */
bool vector_is_target(const struct ir_stmt *stmt, const struct ir_expr *expr);
/* How often the loop mentions what the statement changes, itself aside. */
int vector_mentions(const struct vector_builder *builder, const struct ir_stmt *stmt);

/* ---- vector_choice.c ---- */

/* Before the statements: scalars that are handed on become accumulators. */
void vector_begin_choices(struct vector_builder *builder);
/* Behind them: these become choices, or the loop is refused. */
void vector_end_choices(struct vector_builder *builder);
/* When it is known how wide the lanes are. */
void vector_place_choices(struct vector_loop *loop);

/* ---- vector_scan.c ---- */

/* Likewise: they become scans, or the loop is refused. False: they are for choices. */
bool vector_build_scans(struct vector_builder *builder);
/* Whether they take less than one iteration after the other does. */
bool vector_scans_pay(const struct vector_loop *loop);
/* Whether each vector waits for what the one before has come to. */
bool vector_waits_for_scans(const struct vector_loop *loop);

/* The loop around the vector loop that counts with the symbol; NULL: none is known. */
const struct ir_stmt *vector_loop_around(const struct vector_builder *builder,
                                         const struct ir_symbol *symbol);

/* ---- vector_power.c ---- */

/* a ^ b, of that dtype; -1: it is left to a function. */
int vector_power(struct vector_builder *builder, akg_dtype dtype, int a, int b);

/* ---- vector_whole_power.c ---- */

enum { VECTOR_MOST_WHOLE = 256 };

/* x ^ exponent of float32 or float64, within 2 units; the exponent is at least 3 and at most
 * VECTOR_MOST_WHOLE, or as much below 0. */
int vector_whole_power(struct vector_builder *builder, akg_dtype real, int x, int exponent);

/* ---- vector_trim.c ---- */

/* A cast, without what stands before it and it does anyway. */
int vector_cast(struct vector_builder *builder, akg_dtype dtype, akg_dtype from, int operand);

/* ---- vector_divide.c ---- */

/* A quotient or a remainder of integers, by no power of two. */
int vector_divide(struct vector_builder *builder, const struct ir_expr *expr, int a, int b);

/* ---- vector_pack.c ---- */

/* What puts elements behind each other, or counts them; false: the statement does something else. */
bool vector_pack(struct vector_builder *builder, const struct ir_stmt *stmt);

/* ---- vector_leave.c ---- */

/* Ends the loop before a lane for which the condition holds. */
void vector_leave(struct vector_builder *builder, const struct ir_expr *condition);

/* ---- vector_gather.c ---- */

/* Whether something before has an effect, tests aside. */
bool vector_has_effects(const struct vector_loop *loop);
/* Ends the loop before a lane whose number, taken without a sign, is not below the limit. */
void vector_test(struct vector_builder *builder, int number, int limit);
/* Of an access whose elements lie where the lanes say: per axis, whether the index is the same for all lanes
 * and not to be tested; else its value. To be asked before anything of the access becomes a value: a test
 * among those changes what C may do before the loop. */
void vector_lane_indices(struct vector_builder *builder, const struct ir_access *access, bool *in_address,
                         int *indices);
/* The access with 0 for the indices that hang on the lanes. */
const struct ir_access *vector_origin(struct vector_builder *builder, const struct ir_access *access,
                                      const bool *in_address);
/* How many elements a lane's lies behind that of the stream, which is the origin's, with the tests of indices
 * that are needed; -1: all indices are the same for all lanes. */
int vector_distance(struct vector_builder *builder, const struct ir_access *access, int stream,
                    const int *indices);
/* The element, wherever it is; `epoch`: stores to the buffer so far. */
int vector_gather(struct vector_builder *builder, const struct ir_access *access, int epoch);

/* ---- vector_scatter.c ---- */

/* An index in lanes, without the cast of a narrower integer to int64: fewer bits are more lanes. */
int vector_short_index(struct vector_builder *builder, const struct ir_expr *index);

/* Whether the store can be taken for one that accumulates, in the order of the program, wherever its elements
 * are. */
bool vector_is_scatter(const struct vector_builder *builder, const struct ir_stmt *stmt);
void vector_scatter(struct vector_builder *builder, const struct ir_stmt *stmt);
bool vector_scatters_end(const struct vector_loop *loop);
bool vector_scatters_late(struct vector_loop *loop);

/* ---- vector_nest.c ---- */

/* As vector_is_harmless, of the expression itself, whatever its operands are. */
bool vector_is_harmless_node(const struct ir_expr *expr);
/* Whether the loop has statements that a band has not, or that may stop the kernel (vector_band_shape.c). */
bool vector_body_may_stop(const struct ir_stmt *stmt, const struct vector_options *options);
/* Whether the expression may stop it. */
bool vector_may_stop(struct ir_expr *expr, const struct vector_options *options);
/* The same of LETs among the block's statements: of a nest's loops nothing computes those that nothing uses.
 */
bool vector_lets_may_stop(const struct ir_stmt *first, const struct vector_options *options);
/* Whether it is the variable of the only depth of a nest, in the section of that. */
bool vector_is_depth(const struct vector_builder *builder, const struct ir_symbol *symbol);
/* Whether rows, which lie one behind the other in one axis, are stored where the next one's vectors are
 * loaded: these have to wait until all has reached memory. `row`: the variable of the loop around
 * (vector_rows.c). */
bool vector_stores_beside(const struct vector_loop *loop, const struct ir_symbol *row);

/* ---- vector_pick.c ---- */

/* Notes that the stream's row hangs on an index out of a tensor; false where it is not that. */
bool vector_pick(struct vector_builder *rows, int stream, int axis);
/* Whether the statements stop nothing but by indices that are picked. */
bool vector_goes_on(const struct vector_builder *rows, const struct ir_stmt *first);

/* ---- vector_stream.c ---- */

/* What an expression grows by from one value of a loop's variable to the next. */
struct vector_slope {
    bool linear;
    bool constant; /* it is `value`; else it is not known before the loop is reached */
    int64_t value;
};

/* By the loop of the builder. The variables of loops right inside, where it is a band, are what they begin
 * with. */
struct vector_slope vector_slope_of(const struct vector_builder *builder, const struct ir_expr *expr);
/* How far it is along one loop of the nest; false where the access does not go along with it. */
bool vector_stride(const struct vector_builder *builder, const struct ir_access *access, int level,
                   struct vector_stride *stride);

/* ---- vector_reach.c ---- */

/* Of an index that is linear, or computed in fewer bits than an index has, where that is the same in
 * iterations that C has looked at. */
struct vector_slope vector_index_slope(const struct vector_builder *builder, const struct ir_expr *index);
/* Whether the index is as it seems in all iterations where C finds the first and the last one so. */
bool vector_is_reach(const struct vector_builder *builder, const struct ir_access *access, int axis);
/* Whether what is loaded may lie in each iteration where later ones store, as far as C can find out. */
bool vector_may_be_ahead(const struct vector_builder *builder, const struct ir_access *load,
                         const struct ir_access *store);
/* C is to find that out. */
void vector_demand_ahead(struct vector_builder *builder, const struct ir_access *load,
                         const struct ir_access *store);
/* The access without the tests of these indices, which are noted. */
const struct ir_access *vector_without_reaches(struct vector_builder *builder,
                                               const struct ir_access *access);

/* ---- vector_stream.c ---- */

/* Whether the address changes with the loop. */
bool vector_is_moving(const struct vector_builder *builder, const struct ir_access *access);
/* Whether the index grows by the same from each iteration to the next. */
bool vector_is_linear(const struct vector_builder *builder, const struct ir_expr *index);
int vector_load(struct vector_builder *builder, const struct ir_expr *load);
void vector_store(struct vector_builder *builder, const struct ir_access *access,
                  const struct ir_expr *value);
/* Stores in the loop into that buffer. */
bool vector_stores_into(const struct vector_builder *builder, const struct ir_buffer *buffer);

#endif
