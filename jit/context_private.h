/*
 * context_private.h: what context.c, context_form.c and context_scalar.c share and nobody else includes.
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

/* What one pass over a body may do to a scalar. */
struct context_update {
    struct ir_symbol *symbol;
    struct linear before; /* its value when the loop, or the branch, was entered */
    struct linear then;   /* BRANCH: its value after the first side */
    int64_t least,
        most;      /* all additions of a negative and of a positive constant; both 0 when it is not known */
    bool additive; /* only constants are added */
    bool nested;   /* some in a loop inside */
    bool conditional; /* some are not executed in every iteration */
};

struct context_updates {
    LIST(struct context_update) items;
    struct context_when *when; /* BRANCH: what its condition says */
};

/* The integer scalars that statements of the block assign, and that were declared before. */
void context_updates_find(struct context *context, struct ir_stmt *block, struct context_updates *updates);
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

#endif
