/*
 * context.h: a walk over a kernel that knows, at every place, what holds there.
 *
 * Consumes a verified kernel. Keeps the linear value of every integer scalar and the facts of the scopes
 * around (loop ranges, conditions, also those that guard a lazily evaluated operand, asserts, preconditions),
 * and calls a visitor at accesses, divisions, loops, branches and allocations, in the order of execution. The
 * analyses are visitors.
 *
 * A form F of an expression means: the machine's int64 value equals F modulo 2^64. Where more is needed (a
 * bound, a comparison, a division) the form is checked to fit, so that it is the value.
 */
#ifndef JIT_CONTEXT_H
#define JIT_CONTEXT_H

#include "prover.h"

struct context;
struct context_update;
struct context_trial;

enum context_event {
    CONTEXT_BEGIN, /* of a loop: facts and variables are those of any iteration */
    CONTEXT_END,   /* of a loop: the same, after the body */
    CONTEXT_THEN,  /* of an IF: before its body */
    CONTEXT_ELSE,  /* before its other side, which may be empty */
    CONTEXT_JOIN   /* after both; facts are those before the IF */
};

/* Any may be NULL. */
struct context_visitor {
    /* `load` is the expression, NULL for the store of the statement */
    void (*access)(struct context *context, struct ir_access *access, struct ir_expr *load);
    void (*division)(struct context *context, struct ir_expr *operation);
    void (*loop)(struct context *context, struct ir_stmt *stmt, enum context_event event);
    void (*branch)(struct context *context, struct ir_stmt *stmt, enum context_event event);
    void (*allocate)(struct context *context, struct ir_stmt *stmt);
    void (*scalar)(struct context *context, struct ir_symbol *symbol, struct span span, bool assigned);
    void (*begin)(struct context *context);  /* before the body; it may say what is around that */
    void (*finish)(struct context *context); /* facts are those of preconditions */
};

struct context_loop {
    struct ir_stmt *stmt;
    struct linear low, high; /* FOR: as written */
    int atom;                /* FOR: runs over first..last, going up by 1; -1 for WHILE */
    struct linear first, last;
    int facts;       /* number of facts before it */
    int inner_facts; /* and with those that hold at the start of every iteration */
    int conditions;  /* number of conditions around it */
    int first_atom;  /* atoms with at least this number were made inside */
    bool leaves;     /* holds a break of its own */
    bool skipped;    /* a continue of its own has been passed: what follows may not be executed */
    bool unclear;    /* and the conditions do not say when */
};

struct context_condition {
    struct ir_expr *expr;
    bool truth;
    int first_fact, fact_count; /* what it says, among the prover's facts */
    bool exact;                 /* these facts say all of it */
};

/* So many facts and rules of the prover, behind those of the preconditions before. */
struct context_assumed {
    int facts, rules;
};

/* An expression that has one value in its scope, as an atom. */
struct context_named {
    const struct ir_expr *expr;
    struct linear form;
};

struct context {
    struct ir_kernel *kernel;
    struct arena *arena; /* for what ends with the walk */
    struct linear_space space;
    struct prover prover;
    LIST(struct context_loop) loops;
    LIST(struct context_condition) conditions;
    LIST(struct ir_symbol *) bound;
    const struct context_visitor *visitor;
    void *client;
    struct ir_stmt *stmt; /* the one that is being executed */
    unsigned place;       /* changes with every loop, condition and jump: the same number, the same scope */
    int base_facts;       /* those of preconditions, at the bottom of the stack */
    LIST(struct context_assumed) assumed; /* what each precondition became, in their order */
    bool assigns;                         /* some integer scalar is assigned again */
    int names;                            /* LETs from around that are being looked into */
    LIST(struct ir_symbol *) telling;     /* scalars that indices and conditions may be made of, sorted */
    LIST(struct context_update *) ranges; /* of scalars, where they have one in the loops around */
    LIST(struct context_named) named;     /* what cannot be looked into, and may be met again */
    struct context_trial *trial; /* bodies are walked to see what is assigned (context_invariant.c) */
    int trials;                  /* of loops, in each other */
    int tried;                   /* statements walked in them, ever */
};

/* Walks the whole kernel. Its memory is freed also when an arena escapes; visitors must not escape otherwise
 * (so they report diagnostics afterwards). */
void context_run(struct ir_kernel *kernel, const struct context_visitor *visitor, void *client);

/* ---- for visitors -------------------------------------------------------- */

/* To be called when the walk begins, outermost loop first: all that is analysed is in one iteration of the
 * loop, whose variable lies between its bounds. */
void context_stand_inside(struct context *context, const struct ir_stmt *loop);

/* Always succeeds: what cannot be looked into becomes an opaque atom. */
void context_form(struct context *context, const struct ir_expr *expr, struct linear *out);
/* The same, and the machine's value is the form's. */
void context_value(struct context *context, const struct ir_expr *expr, struct linear *out);

enum { CONTEXT_FACTS = 12 };
struct context_facts {
    struct linear items[CONTEXT_FACTS];
    int count;
    int visited;
    bool exact; /* all of them together say as much as the condition; else only less */
};
/* What follows when `expr` is `truth`. */
void context_condition_facts(struct context *context, const struct ir_expr *expr, bool truth,
                             struct context_facts *facts);

/* What follows of it by now: `a != b` may be `a < b`, and of an `or` (where it is false: of an `and`) one
 * side is what remains where the other is known to be false (true). */
void context_remaining_facts(struct context *context, struct ir_expr *expr, bool truth,
                             struct context_facts *facts);

/* Whether control never comes out at the end of the block. */
bool context_always_jumps(const struct ir_stmt *block);

/* A copy over dims and attributes alone that cannot stop, or NULL when it is not such an expression. */
struct ir_expr *context_parameter_expr(struct context *context, const struct ir_expr *expr);

#endif
