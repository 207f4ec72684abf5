/*
 * prover.h: shows that a linear form is never negative, given facts of the same kind.
 *
 * Consumes facts `form >= 0`, kept as a stack that follows the scopes of a kernel, and rules `guards => form
 * >= 0` that hold everywhere. A goal is proved by refuting its negation over the integers: chains of
 * combinations first, Fourier-Motzkin elimination where these branch too much; products of facts with factors
 * that are not negative are added when monomials of a degree above one are involved, and min, max and select
 * are taken case by case. The work per goal is bounded: "not proved" is always a possible answer and never
 * wrong; "proved" is right for every value of the atoms that satisfies the facts.
 */
#ifndef JIT_PROVER_H
#define JIT_PROVER_H

#include "linear.h"

struct prover_fact {
    struct linear form;
    bool assumed; /* holds because a precondition is tested, not by itself */
};

struct prover_rule {
    struct linear *guards;
    int guard_count;
    struct linear form;
};

/* An answer, good as long as facts and rules are the same. */
struct prover_answer {
    unsigned generation; /* 0: none */
    int facts, first_fact;
    int level; /* 1: for the sake of another goal */
    bool proved, assumed;
    struct linear form;
};

enum { PROVER_ANSWERS = 32 };

struct prover {
    struct linear_space *space;
    unsigned generation; /* goes up whenever a fact or rule is added or changed */
    struct prover_answer answers[PROVER_ANSWERS];
    LIST(struct prover_fact) facts;
    LIST(struct prover_rule) rules;
    int first_fact; /* those below it are not used */
    bool assumed;   /* whether the last proof used a precondition */
    bool relied;    /* and whether one did since this was set to false */
};

void prover_init(struct prover *prover, struct linear_space *space);

/* Facts are dropped by setting facts.count back to what it was. */
void prover_add(struct prover *prover, const struct linear *form, bool assumed);
void prover_add_rule(struct prover *prover, const struct linear *guards, int count,
                     const struct linear *form);

/* Puts another form in the place of a rule's. */
void prover_change_rule(struct prover *prover, int rule, const struct linear *form);

/* form >= 0 */
bool prover_prove(struct prover *prover, const struct linear *form);
/* a + offset <= b */
bool prover_less(struct prover *prover, const struct linear *a, int64_t offset, const struct linear *b);
/* Likewise where it takes no combination of facts: a quick answer. It does not say what that relied on. */
bool prover_is_evident(const struct prover *prover, const struct linear *form);
/* 1: >= 0, -1: <= 0, 0: neither is proved */
int prover_sign(struct prover *prover, const struct linear *form);

#endif
