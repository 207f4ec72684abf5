/*
 * context_private.h: what context.c and the other files of its name share and nobody else includes.
 */
#ifndef JIT_CONTEXT_PRIVATE_H
#define JIT_CONTEXT_PRIVATE_H

#include "context.h"

/* ---- context_form.c ------------------------------------------------------- */

/* A fresh atom with the range of the dtype. */
void context_opaque(struct context *context, akg_dtype dtype, struct linear *out);
/* From here on the symbol stands for this form. */
void context_bind(struct context *context, struct ir_symbol *symbol, const struct linear *value);

/* What holds when a condition is false, and when it is true; perhaps not all of it. */
enum { CONTEXT_WHEN = 3 };
struct context_when {
    struct linear facts[2][CONTEXT_WHEN];
    int count[2];
};
/* `then` where the condition is true, else `otherwise`; both are values. False when that nests too deeply. */
bool context_choose(struct context *context, const struct linear *then, const struct linear *otherwise,
                    const struct context_when *when, struct linear *out);

/* ---- context_scalar.c: scalars that are assigned again -------------------- */

enum context_side { CONTEXT_LEAST, CONTEXT_MOST };

/* What a trial finds of a scalar that a loop assigns. */
struct context_guess {
    bool steady;        /* every iteration adds `step`, which is the same in all of them */
    bool ranges;        /* its range is looked for */
    struct linear head; /* its value at the start of the iteration that is tried */
    struct linear step;
    bool bounded[2]; /* by context_side: where an iteration begins it never lies beyond `bound` */
    struct linear bound[2];
    bool throughout; /* nor does it anywhere within an iteration */
    bool small;      /* both are, and it was so before: see linear_atom */
    bool assumed;    /* preconditions had a part in it */
    bool leaves[2];  /* in this round: something that lies beyond is assigned */
    bool fails[2];   /* and that is what an iteration may end with */
    bool widens[2];  /* `wider` would do for what was seen so far */
    struct linear wider[2];
    int failures[2];
};

/* What one pass over a body may do to a scalar. */
struct context_update {
    struct ir_symbol *symbol;
    struct linear before; /* its value when the loop, or the branch, was entered */
    struct linear then;   /* BRANCH: its value after the first side */
    int64_t least,
        most;      /* all additions of a negative and of a positive constant; both 0 when it is not known */
    bool additive; /* only constants are added */
    bool sums;     /* it is only assigned sums of itself and something */
    bool nested;   /* some in a loop inside */
    bool conditional;            /* some are not executed in every iteration */
    struct context_guess *guess; /* LOOP: or NULL */
};

struct context_updates {
    LIST(struct context_update) items;
    struct context_when *when; /* BRANCH: what its condition says */
    int ranges;                /* LOOP: number of the context's before */
};

/* The integer scalars that statements of the block assign, and that were declared before. */
void context_updates_find(struct context *context, struct ir_stmt *block, struct context_updates *updates);
/* Adds what is known of the scalar's value in all of the loops around; where an iteration begins, or within.
 */
void context_updates_assume(struct context *context, struct ir_symbol *symbol, bool within);
/* Their values at the start of any iteration of the innermost loop (whose atom is made). */
void context_updates_enter(struct context *context, struct context_updates *updates);
/* Their values after the loop, which is popped already. */
void context_updates_leave(struct context *context, struct context_updates *updates,
                           const struct context_loop *loop);
/* After a branch's condition was entered. */
void context_updates_when(struct context *context, struct context_updates *updates, bool truth);
/* Between the sides of a branch, and after both. */
void context_updates_swap(struct context *context, struct context_updates *updates);
/* Before the join: back to what they were when the condition was computed. */
void context_updates_rewind(struct context *context, const struct context_updates *updates);
void context_updates_join(struct context *context, struct context_updates *updates, bool then_leaves,
                          bool otherwise_leaves);

/* ---- context_invariant.c -------------------------------------------------- */

/* Collects the scalars of which more is worth knowing. */
void context_find_telling(struct context *context);
bool context_is_telling(const struct context *context, struct ir_symbol *symbol);
/* Before context_updates_enter: what holds of the scalars in all iterations of the innermost loop. */
void context_updates_guess(struct context *context, struct context_updates *updates);
/* In a trial: the scalar is assigned. */
void context_trial_assign(struct context *context, const struct ir_symbol *symbol,
                          const struct linear *value);
/* An iteration of some loop ends here, by a jump or not. */
void context_trial_end(struct context *context);
/* The larger of two forms, or the smaller; known to be one of them where that is proved. */
bool context_join(struct context *context, enum context_side side, const struct linear *a,
                  const struct linear *b, struct linear *out);

/* ---- context.c ------------------------------------------------------------ */

/* The body of a loop, from what holds at the start of an iteration, without a word to the visitor. */
void context_walk_silently(struct context *context, struct ir_stmt *loop);

#endif
