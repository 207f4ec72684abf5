/*
 * prover_private.h: what the files of the prover share and nobody else includes.
 */
#ifndef JIT_PROVER_PRIVATE_H
#define JIT_PROVER_PRIVATE_H

#include "prover.h"

enum {
    COLUMNS = 30,
    ROWS = 72, /* of a system as it is set up */
    ATOMS = 40 /* looked at for one goal */
};

/* constant + the sum of the columns, times their coefficients, >= 0 */
struct row {
    int64_t constant;
    uint64_t key; /* of the coefficients (prover_row_finish), once it is in a system */
    bool goal;    /* the negated goal, or a multiple of it */
    bool assumed;
    uint32_t used; /* bit k: c[k] is not 0 */
    int64_t c[COLUMNS];
};

struct system {
    struct prover *prover;
    int level;
    int columns, monomials[COLUMNS];
    int atom_count, atoms[ATOMS], atoms_done;
    int row_count;
    struct row rows[ROWS];
    uint64_t keys[ROWS]; /* of the rows, side by side */
    bool assumed;        /* something that was needed to set it up used a precondition */
};

/* Sets the key and `used` from the coefficients. Rows are compared with all others, and are long: those whose
 * keys differ differ. The key of a sum is the sum of the keys. */
void prover_row_finish(struct row *row, int columns);
/* Whether no integers satisfy all rows; false where that is not found out. `rounds`: dividing and rounding
 * may decide, also between rows that are no goal, which chains do not combine. */
bool prover_refute(struct system *system, bool rounds);

#endif
