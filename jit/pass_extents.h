/*
 * pass_extents.h: what the files of the pass that asks extents share.
 */
#ifndef JIT_PASS_EXTENTS_H
#define JIT_PASS_EXTENTS_H

#include "pass.h"

enum {
    EXTENTS_LOOPS = 16,      /* around an access */
    EXTENTS_GUARDS = 16,     /* likewise */
    EXTENTS_CONDITIONS = 32, /* of a nest */
};

/* A comparison of int64 that holds: a < b, <=, > or >=. */
struct guard {
    enum operation comparison;
    const struct ir_expr *a, *b;
};

struct asker {
    struct pass *pass;
    const struct ir_stmt *loops[EXTENTS_LOOPS]; /* around what is looked at, outermost first */
    int depth;
    struct guard guards[EXTENTS_GUARDS]; /* that it stands under */
    int guard_count;
    struct ir_expr *conditions[EXTENTS_CONDITIONS]; /* each may rely on those before it */
    int count;
    int nodes;    /* of the index that is looked at */
    bool divides; /* there was a test of a divisor */
    bool stops;   /* there is a test of an index that must stay */
    bool refused;
};

/* Values between which an int64 is, neither of which hangs on a loop. */
struct ends {
    const struct ir_expr *least, *greatest; /* to be copied where they are used */
    int bits; /* of the magnitude of both, and of all that is computed for them */
};

/* What is so where the condition holds, or where it does not, is known from here on, until the count of
 * guards is set back. */
void extents_know(struct asker *asker, const struct ir_expr *condition, bool truth);
/* The ends of the expression, where asker's conditions hold, of which there may be more now. False: they are
 * not known. */
bool extents_ends_of(struct asker *asker, const struct ir_expr *expr, struct ends *out);
/* Asks for a divisor of an integer's dtype, which the call says, to be above 0: the divisor, without tests;
 * NULL: the call does not say it. */
struct ir_expr *extents_divisor(struct asker *asker, const struct ir_expr *divisor);
/* One more condition: `a` compares so with `b`, which are copied. False: that never holds, or there are too
 * many. */
bool extents_ask(struct asker *asker, enum operation comparison, const struct ir_expr *a,
                 const struct ir_expr *b);
/* Asks for all indices of an access to be inside, whatever is known of them, and trusts them then. False: the
 * call does not say it. */
bool extents_trust_access(struct asker *asker, struct ir_access *access);
struct ir_expr *extents_number(struct asker *asker, akg_dtype dtype, int64_t value);
/* All conditions; NULL: there are none. */
struct ir_expr *extents_all(struct asker *asker);

#endif
