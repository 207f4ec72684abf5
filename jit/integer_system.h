/*
 * integer_system.h: whether a system of linear equalities and inequalities has an integer solution.
 *
 * Consumes dense rows over numbered variables; answers exactly, with a solution when there is one, or says
 * that it would take more work or larger numbers than it is allowed. Every step is an equivalence over the
 * integers: equalities are solved by unimodular changes of variables (which is the GCD test and more),
 * variables that are bounded with coefficients of one are projected out, and for the others the real shadow,
 * the dark shadow and splinters are tried, as in the Omega test.
 */
#ifndef JIT_INTEGER_SYSTEM_H
#define JIT_INTEGER_SYSTEM_H

#include "../base/memory.h"

#include <stdbool.h>
#include <stdint.h>

enum { INTEGER_VARIABLES = 40, INTEGER_ROWS = 192, INTEGER_RECENT = 8 };

enum integer_answer { INTEGER_NONE, INTEGER_SOME, INTEGER_UNKNOWN };

/* constant + sum of c[k] * variable k, which is 0 (equality) or at least 0. Most are 0. */
struct integer_row {
    bool equality;
    bool settled, merged; /* the solver's: tidied and compared with the others; changed by that */
    uint64_t key;         /* the solver's: of the coefficients */
    uint64_t used;        /* bit k: c[k] is not 0 (integer_row_set) */
    int64_t constant;
    int64_t c[INTEGER_VARIABLES];
};

struct integer_system {
    int variables;
    int count;
    struct integer_row rows[INTEGER_ROWS];
};

struct integer_solver {
    uint64_t weights[INTEGER_VARIABLES]; /* of the coefficients, in keys */
    struct integer_row *pool;
    uint64_t *keys; /* one per row of the pool */
    int used;
    int variables;
    long steps;                        /* rows that the solution now going on may still make */
    long work;                         /* rows made by all solutions so far, and compared: 16 for one made */
    int64_t values[INTEGER_VARIABLES]; /* after INTEGER_SOME: a solution */
    int64_t recent[INTEGER_RECENT][INTEGER_VARIABLES]; /* solutions before it: tried first */
    int next;                                          /* of these: the oldest */
};

static inline void integer_row_set(struct integer_row *row, int variable, int64_t coefficient)
{
    uint64_t bit = UINT64_C(1) << variable;

    row->c[variable] = coefficient;
    row->used = coefficient ? row->used | bit : row->used & ~bit;
}

void integer_solver_init(struct integer_solver *solver, struct arena *arena);

/* Leaves the system as it is. */
enum integer_answer integer_solve(struct integer_solver *solver, const struct integer_system *system);
/* One value per variable, of the moderate sizes that solutions have. */
bool integer_is_solution(const struct integer_system *system, const int64_t *values);

#endif
