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

/* The call of a nest with the tests that it has iterations; `strides`: further ones, each behind "&&". */
void emit_nest(struct vector_emission *emission, int number, const char *strides, const char *done);

#endif
