/*
 * emit_c_vector.h: the call of a vector loop while it is emitted (emit_c_vector.c), and what the call of a
 * nest (emit_c_nest.c) has in common with it.
 */
#ifndef JIT_EMIT_C_VECTOR_H
#define JIT_EMIT_C_VECTOR_H

#include "emit_c_private.h"
#include "vector_plan.h"

struct vector_emission {
    struct emitter *emitter;
    const struct ir_stmt *stmt;
    const struct vector_loop *loop;
    const char *slots, *first, *high, *variable;
    bool is_from_zero;                                        /* `first` is 0 */
    LIST(const struct ir_symbol *) lets;                      /* declared in the current block */
    const char *firsts[VECTOR_LEVELS], *highs[VECTOR_LEVELS]; /* of the loops of a nest */
    const char
        *times[VECTOR_LEVELS]; /* the iterations of the loops that are merged with one of these; NULL */
};

/* A test that is to hold beside those there are (NULL: none). */
const char *emit_test_beside(struct vector_emission *emission, const char *tests, const char *test);
/* What the slots begin with, in the block in which each loop's variable is that of its first iteration. */
void emit_slots(struct vector_emission *emission);
/* The call of the loop of that number, and what comes back. */
void emit_vector_call(struct vector_emission *emission, int number, const char *done);

/* A member of a slot; the name of a loop's variable with something behind it. */
const char *emit_slot(struct vector_emission *emission, int slot, const char *member);
const char *emit_loop_name(struct vector_emission *emission, const struct ir_stmt *loop, const char *suffix);
/* Whether a loop inside begins at a number; the first value of the variable of a loop: that number, or the
 * name of what holds it. */
bool emit_begins_at_number(const struct vector_emission *emission, const struct ir_stmt *loop);
const char *emit_first_of(struct vector_emission *emission, const struct ir_stmt *loop);
/* How far the access goes with each iteration of the loop, those inside it beginning where they did, in
 * elements times `unit`; NULL: that hangs on more than extents. */
const char *emit_distance(struct vector_emission *emission, const struct ir_access *access,
                          const struct ir_stmt *loop, int unit);
/* "x[i]" with what its indices use declared before; that alone. */
const char *emit_element(struct vector_emission *emission, const struct ir_access *access);
void emit_lets(struct vector_emission *emission, const struct ir_expr *expr);
/* The iterations of a loop of a band, in its first iteration or its second. */
const char *emit_inner_count(struct vector_emission *emission, const struct ir_stmt *loop);
/* Whether C knows where the loop of the band begins. */
bool emit_begins(const struct vector_emission *emission, const struct ir_stmt *loop);
void emit_ahead(struct vector_emission *emission, int slot, const struct vector_argument *argument);

/* ---- emit_c_band.c ---- */

/* The loops inside of a band, as they begin in this iteration. Nothing is computed of what there may be no
 * second one of. */
void emit_inner_firsts(struct vector_emission *emission, const struct ir_stmt *first);
/* What slots grow by: the difference of what they are in the second iteration, whether there is one or not.
 */
void emit_deltas(struct vector_emission *emission);
/* Bounds of loops of the band that the call hands in: near at first, and not to go far in the iterations
 * there are, so that their distance says in each of them whether the loop runs. */
const char *emit_test_bounds(struct vector_emission *emission, const char *tests);

/* ---- emit_c_nest.c ---- */

/* The call of a nest with the tests that it has iterations; `strides`: further ones, each behind "&&". */
void emit_nest(struct vector_emission *emission, int number, const char *strides, const char *done);

#endif
