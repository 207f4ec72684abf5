/*
 * pass_vouch.h: what the files of the pass that vouches for indices share.
 */
#ifndef JIT_PASS_VOUCH_H
#define JIT_PASS_VOUCH_H

#include "pass.h"

/* Of iterations and slopes where ends are tested: their product does not wrap. */
#define VOUCH_SPAN (1LL << 31)

/* What is known of an index when its phase is over: as uint32 the greatest, or the least and the greatest. */
struct bound {
    struct ir_expr *index; /* in the nest */
    struct ir_symbol *least, *greatest;
    struct ir_symbol *total; /* of the variable of a loop from row[i] to row[i + 1]: all its iterations */
    LIST(const struct ir_expr *) extents;
};

struct voucher {
    struct pass *pass;
    struct ir_stmt *nest;
    bool is_for_compilers;
    LIST(struct bound) bounds; /* of the phase that is being made */
    LIST(struct bound) ranges; /* of earlier phases, of variables of loops whose bounds come out of tensors */
    struct ir_stmt *flat;      /* loops over all of such a range, which stand for nests of loops */
    struct ir_expr *dense;     /* bool: the ranges are not much longer than what they stand for; or NULL */
    LIST(struct ir_stmt *) declarations;
    LIST(const struct ir_expr *) brief; /* bool: loops that must not be long are not; */
    struct ir_expr *brevity;            /* all of these; NULL: there are none */
    const struct ir_symbol *range; /* of the loop right around whose bounds come out of tensors; NULL: none */
    int range_context;             /* what its bounds hang on */
    int phase, last_phase, nodes;
    bool is_measured, is_measured_inside; /* an index tells how long it is; one in a loop inside does */
    bool refused;
};

/* Statements being written. */
struct block {
    struct ir_stmt *first, **end;
};

static inline bool vouch_is_cast(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && expr->operation == OP_CAST;
}

/* ---- pass_vouch.c ---- */

/* A copy for the loops that test, in which earlier phases answer for what it loads. */
struct ir_expr *vouch_copy(struct voucher *voucher, const struct ir_expr *expr);
struct ir_stmt *vouch_if(struct voucher *voucher, struct ir_expr *condition, struct ir_stmt *body,
                         struct ir_stmt *otherwise, struct span span);
/* A variable of int64, bool or uint32 before all phases. */
struct ir_symbol *vouch_declare(struct voucher *voucher, const char *name, struct ir_expr *value);
/* symbol = extreme(symbol, value), where that is not there yet. */
void vouch_extreme(struct voucher *voucher, struct block *out, struct ir_symbol *symbol,
                   enum operation extreme, struct ir_expr *value);
/* Whether the call says the bounds of the loop; whether all is under a condition of which it says so. */
bool vouch_is_of_call(const struct ir_stmt *loop);
bool vouch_is_choice_of_call(const struct ir_stmt *block);

/* ---- pass_vouch_phase.c ---- */

/* What of a condition hangs on nothing that the nest changes: all of it, those of its terms that are joined
 * by `and`, or nothing, NULL. */
struct ir_expr *vouch_steady_part(struct voucher *voucher, struct ir_expr *truth);
/* The phase behind which it may be evaluated; 0: at once. `context`: that behind which it is known that the
 * program comes here. Refuses what may not be evaluated ahead. */
int vouch_phase_of(struct voucher *voucher, const struct ir_expr *expr, int context);
/* That in which the access is tested; else that behind which its indices may be evaluated. */
int vouch_phase_of_access(struct voucher *voucher, const struct ir_access *access, int context);
/* Whether it grows by as much with each value of the symbol, and cannot come back from outside. */
bool vouch_is_linear(struct ir_expr *expr, const struct ir_symbol *symbol);
/* Whether the truth comes out of tensors, so that it is none that keeps indices inside, most likely; and
 * whether what is tested of the block under it may as well be tested in any case, where it is evaluated. */
bool vouch_is_of_data(struct ir_expr *truth);
bool vouch_is_of_anyone(struct voucher *voucher, struct ir_stmt *block, struct ir_expr *truth);

static inline int vouch_later(int a, int b)
{
    return a > b ? a : b;
}

/* ---- pass_vouch_rows.c ---- */

/* Whether nothing is tested but which rows the innermost loop works on, those that it stores being others in
 * each iteration around: loops over rows test that themselves, where nothing else changes from row to row,
 * nothing is stored before a test, and each row asks for another. */
bool vouch_only_picks_rows(const struct ir_stmt *loop);

/* ---- pass_vouch_wide.c ---- */

/* An index that is an int32 sum along a loop as one of int64, which is the same where it is not negative and
 * below 2^31; NULL: it is none. */
struct ir_expr *vouch_widened(struct pass *pass, const struct ir_expr *index);
/* Has such indices where they were tested. */
void vouch_widen(struct pass *pass, struct ir_stmt *block);

/* ---- pass_vouch_range.c ---- */

/* Counts the iterations of a loop from row[i] to row[i + 1], where its variable is tested. `stmt`: that of
 * the nest; `loop`: that of the loops that test. */
void vouch_count_range(struct voucher *voucher, const struct ir_stmt *stmt, const struct ir_stmt *loop,
                       struct block *out);
/* What is tested for each element of rows that are parts of one range is tested for all of that, which takes
 * one long loop; false: it cannot be. */
bool vouch_append_flat(struct voucher *voucher, const struct ir_stmt *stmt, struct ir_stmt *loop);
/* Drops what is tested twice, or under conditions of the call and in any case, or under the same one before.
 */
void vouch_drop_repeated(struct ir_stmt *loop);
/* Whether the statements, the same in all iterations of a loop whose bounds come out of tensors, load
 * nothing: then they are tested though there may be no iteration. */
bool vouch_may_ask_anyway(const struct ir_stmt *loop, struct ir_stmt *fixed);
/* Takes what is under a condition of the call out of the loop, one at a time; NULL: nothing is. */
struct ir_stmt *vouch_take_choice(struct ir_stmt *loop);

#endif
