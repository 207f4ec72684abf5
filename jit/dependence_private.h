/*
 * dependence_private.h: what the files of the dependence analysis share and nobody else includes.
 */
#ifndef JIT_DEPENDENCE_PRIVATE_H
#define JIT_DEPENDENCE_PRIVATE_H

#include "context.h"
#include "dependence.h"
#include "integer_system.h"

/* What holds at a place, shared by the accesses there. */
struct dependence_place {
    unsigned place;
    int all; /* facts there */
    int count;
    struct linear *facts, *mapped; /* mapped: in the second iteration; made when first needed */
    bool *kept;                    /* of mapped: could be represented */
    bool whole;                    /* the facts say as much as the program does */
    struct context_condition *conditions;
    int condition_count;
    const struct dependence_scope *scopes;
    int depth;
};

/* A loop as seen from inside. */
struct dependence_scope {
    int loop; /* its row */
    int atom; /* -1: a while */
    int first_atom;
    int conditions; /* around it */
    bool down;      /* the atom counts down */
};

/* What is kept of an access until all pairs are tested. */
struct dependence_use {
    int number;    /* its row */
    int allocated; /* loops around the allocation of its buffer */
    struct dependence_place *place;
    struct linear *indices, *mapped;
    bool *unmapped; /* of mapped: could not be represented */
    struct linear *extents;
};

/* What is known of a scalar in a loop while it is walked. That of NO_LOOP is where the others are found from.
 */
enum { NO_LOOP = -1 };

struct dependence_scalar_entry {
    struct ir_symbol *symbol;
    int loop;
    bool assigned, local, set_first, accumulates;
    bool seen;  /* a use in the loop sees what an iteration before left, or the code before the loop */
    bool kept;  /* a use behind the loop sees what the loop left */
    int before; /* of the scalar: the entry before it that may still become kept, + 1; 0: none */
    enum operation reduction;
    struct span span;
};

struct dependence_builder {
    struct context *context;
    struct dependences *result;
    LIST(struct dependence_use) uses;
    LIST(int) active; /* rows of the loops around */
    struct dependence_place *place;
    int *allocated; /* by buffer->index: loops around its allocation */
    LIST(struct dependence_scalar_entry) entries;
    int *slots; /* hash table over symbol and loop: entry + 1 */
    int slot_count;
    struct ir_stmt *reduction_stmt; /* the last one asked about */
    const struct ir_expr *reduction_operand;
    enum operation reduction;
    struct integer_solver solver;
    struct dependence_pair *pair;           /* the one in work */
    const struct dependence_around *around; /* NULL: nothing is */
    bool judges;                            /* verdicts are wanted, and not all there is to say */
    bool partial;                           /* something that is demanded of calls is not among the facts */
    int *names;                             /* the second iteration's atoms + 1, by atom */
    int name_count;
    bool *carries;     /* by row of a loop: it is known to carry what is no reduction, or to be undecided */
    int first_atom;    /* atoms from here on change in the loops at hand */
    int tries, proved; /* what the prover was asked */
};

enum {
    DEPENDENCE_ATOMS = 48,    /* in one system */
    DEPENDENCE_CHOICES = 4,   /* of them are taken case by case */
    DEPENDENCE_RULES = 4,     /* guarded preconditions taken into a system, at most */
    DEPENDENCE_VECTORS = 729, /* 3 to the power of DEPENDENCE_LOOPS */
    DEPENDENCE_WORK = 1000000 /* of the solver, for one kernel, after which all is assumed */
};

/* A box of directions from the first access to the second. */
struct dependence_box {
    unsigned char directions[DEPENDENCE_LOOPS];
    bool exact;
};

struct dependence_shared {
    int depth; /* it is the same in both when these loops are in the same iteration */
    struct linear difference;
};

/* How much of a system there is. */
struct dependence_extent {
    bool whole; /* it says all that is known of the program */
    bool loose; /* it has products */
    int columns, atoms, atoms_done, choices;
};

/* Where to go back to: rows, and the columns and atoms that only they speak of. */
struct dependence_mark {
    int rows;
    struct dependence_extent extent;
};

/* The two accesses in work, and their system. */
struct dependence_pair {
    struct dependence_builder *builder;
    struct dependence_use *a, *b;
    int depth;     /* common loops that are looked at */
    int exclusive; /* never both within one iteration of this many loops; more than `depth`: they may be */
    int allocated; /* within these loops only */
    struct dependence_extent now;
    int monomials[INTEGER_VARIABLES]; /* of the columns */
    int atoms[DEPENDENCE_ATOMS];
    int choices[DEPENDENCE_CHOICES];
    int shared_count;
    struct dependence_shared shared[INTEGER_VARIABLES];
    struct linear forms[INTEGER_ROWS]; /* of the rows, for the prover */
    struct integer_system system;
    unsigned char vector[DEPENDENCE_LOOPS];
    int box_count;
    struct dependence_box boxes[DEPENDENCE_VECTORS];
};

/* A kernel of which the prover was asked in vain is one of divisions that no rule knows: it is asked no more.
 * Nor is it where there are too many pairs of accesses to ask about each. */
bool dependence_is_hopeless(const struct dependence_builder *builder);
void dependence_note_answer(struct dependence_builder *builder, bool proved);

enum dependence_possibility {
    DEPENDENCE_NEVER,
    DEPENDENCE_PERHAPS,
    DEPENDENCE_LOOSELY, /* solved, with products and rules left out that the solution does not fit */
    DEPENDENCE_FITTING, /* solved by what fits products and rules too, but the system leaves something out */
    DEPENDENCE_SURELY
};

/* ---- dependence_system.c --------------------------------------------------- */

/* Makes the system; `builder` and `depth` are set. */
void dependence_system_begin(struct dependence_pair *pair, struct dependence_use *a,
                             struct dependence_use *b);
struct dependence_mark dependence_mark_set(const struct dependence_pair *pair);
void dependence_mark_return(struct dependence_pair *pair, const struct dependence_mark *mark);

/* form >= 0, or form == 0. What cannot be represented is left out. */
void dependence_add_row(struct dependence_pair *pair, const struct linear *form, bool equality);
/* a + offset <= b */
void dependence_add_less(struct dependence_pair *pair, const struct linear *a, int64_t offset,
                         const struct linear *b);
/* Adds what is known of the atoms that rows speak of: to be called before solving. */
void dependence_define_atoms(struct dependence_pair *pair);

enum dependence_possibility dependence_solve(struct dependence_pair *pair);
/* The form's value in the solution found last. */
bool dependence_form_value(const struct dependence_pair *pair, const struct linear *form, __int128 *out);
/* The form as of the second iteration. */
bool dependence_map_form(struct dependence_builder *builder, const struct dependence_place *place,
                         const struct linear *form, struct linear *out);

/* ---- dependence_pair.c ----------------------------------------------------- */

/* Appends what there is between two uses (or one and itself) of one buffer, the first in the order of the
 * text being `a`. False when there are too many already. */
bool dependence_test_pair(struct dependence_builder *builder, struct dependence_use *a,
                          struct dependence_use *b);

#endif
