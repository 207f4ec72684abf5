/*
 * pass_partition.h: what the files of pass_partition share.
 */
#ifndef JIT_PASS_PARTITION_H
#define JIT_PASS_PARTITION_H

#include "pass.h"

enum {
    PARTITION_CUTS = 4,   /* of one loop at most */
    PARTITION_FOUND = 12, /* places looked at */
    PARTITION_LOOPS = 16, /* around what is looked at */
    PARTITION_SHORT = 8,  /* iterations: two such parts side by side are one */
    PARTITION_FEW = 16    /* iterations: no such loop is cut */
};

struct partition {
    struct pass *pass;
    const struct ir_stmt *loops[PARTITION_LOOPS]; /* around what is looked at, outermost first */
    bool near_zero[PARTITION_LOOPS];              /* the variable begins near 0 and goes up */
    int count;
    int64_t *least; /* of each dim, by its number: what it is at least while these loops have iterations */
    int left;       /* statements that copies may still have */
    bool changed;
};

/* Conditions change between the iteration before it and this one: `at`, over `divisor` and rounded up. */
struct place {
    struct pass_affine at;
    int64_t divisor; /* 1: of what the loop's variable has no factor to; what is_far has none */
    bool is_far;     /* it may be anything; it is what the program computes, without what could overflow */
    bool is_after;   /* is_far: it is one more than what the program computes */
    bool differs;    /* from row to row */
};

enum question_kind {
    QUESTION_SIDE,     /* the answer is 0 before `from`, and 1 from there on */
    QUESTION_EQUAL,    /* 1 at `from`, else 0 */
    QUESTION_REMAINDER /* how often the divisor is to be taken off: -1, 0 or 1 */
};

/* What a comparison with the loop's variable, or a remainder of it, asks. */
struct question {
    enum question_kind kind;
    bool is_not; /* a condition: it holds where the answer is 0 */
    struct place from;
    struct pass_affine divisor; /* REMAINDER */
    int64_t sign;               /* REMAINDER: -1: it goes down with the variable */
};

/* A loop, while it is cut. */
struct cutter {
    const struct ir_expr *only; /* the condition of all that the loop does; NULL: there is none */
    struct partition *partition;
    const struct ir_symbol *variable;
    struct place low, high, found[PARTITION_FOUND], cuts[PARTITION_CUTS];
    int found_count, count;
    int part;          /* that is looked at: from cut part - 1 to cut part */
    bool decides;      /* a condition that needs no cut */
    bool is_downward;  /* it is looked at from its last iteration to its first */
    bool has_loop;     /* in it */
    bool is_tied;      /* iterations use what others store */
    bool is_plain;     /* loops inside accumulate nothing */
    int first_meeting; /* of the places found: where what is stored is used */
    bool looks_ahead;  /* at what is asked where the questions inside have been answered */
};

/* ---- pass_partition_name.c: what is compared with ------------------------------------------------------ */

/* Gives names, in front of the loop, to elements that its variable is compared with; the place of the loop,
 * which has been turned if it is downward. */
struct ir_stmt **partition_name_elements(struct partition *partition, struct ir_stmt **place,
                                         bool is_downward);
/* Takes the names from `first` to the loop away again. */
void partition_put_back(struct partition *partition, struct ir_stmt **first, struct ir_stmt *loop);

/* ---- pass_partition_place.c: places, and what is known of them ------------------------------------- */

/* Whether sums of it and its like are the same in the integers as in the machine. */
bool partition_is_near(const struct partition *partition, const struct pass_affine *sum);

/* That a loop has an iteration tells what its dim is at least; gives what was known before, and the dim, for
 * partition_forget_least at the end of the loop. */
int64_t partition_note_least(struct partition *partition, const struct ir_stmt *loop, int *dim);
void partition_forget_least(struct partition *partition, int dim, int64_t before);

/* The loop is one of those around, or inside, whose ranges are looked at: for `count` of them. */
void partition_know(struct partition *partition, const struct ir_stmt *loop);

/* Where a loop begins or ends: a sum, or the quotient of one by a number. */
bool partition_bound(const struct partition *partition, const struct ir_expr *bound, struct place *place);

/* Where the loop ends if it has an iteration. */
bool partition_end(const struct partition *partition, const struct ir_stmt *loop, struct place *place);

bool partition_are_equal(const struct place *a, const struct place *b);
/* a <= b, as far as that is known. */
bool partition_is_at_most(const struct partition *partition, const struct place *a, const struct place *b);
/* a's divisor times b's sum less b's divisor times a's: its sign is that of the distance; false: it is too
 * large. */
bool partition_distance(const struct place *a, const struct place *b, struct pass_affine *distance);
/* Whether it is known, and small, how many iterations are from a to b. */
bool partition_is_short(const struct place *a, const struct place *b);

/* Whether it is known that the loop has few iterations, as windows have and parts of other loops. */
bool partition_has_few_iterations(const struct partition *partition, const struct ir_stmt *loop);
/* The place as the program would compute it: of what is not far. */
struct ir_expr *partition_expr(struct pass *pass, const struct place *place);

/* Whether the expression asks something of the loop's variable. */
bool partition_ask(const struct cutter *cutter, const struct ir_expr *expr, struct question *question);
/* Where the answer changes: place k of the question; false: it has no more. */
bool partition_place_of(const struct question *question, int k, struct place *place);
/* The place for the values of inner loops at which it is first, or last. False: that is not known. */
bool partition_end_of(const struct partition *partition, bool last, struct place *place);
/* The answer in the part that is looked at; false: it changes there, or nobody knows. */
bool partition_is_answered(const struct cutter *cutter, const struct question *question, int *answer);

#endif
