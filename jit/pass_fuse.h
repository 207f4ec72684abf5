/*
 * pass_fuse.h: between pass_fuse.c, which moves loops, and pass_fuse_legal.c, which says what may be moved.
 */
#ifndef JIT_PASS_FUSE_H
#define JIT_PASS_FUSE_H

#include "pass.h"

struct fuse_access {
    struct ir_access *access; /* without indices: an ALLOCATE */
    bool store;
};

struct fuse_scalar {
    struct ir_symbol *symbol; /* LET or VARIABLE */
    bool assigned;            /* or declared, by the statement itself */
};

/* What a statement does, with all that is inside it. */
struct fuse_facts {
    LIST(struct fuse_access) accesses;
    LIST(struct fuse_scalar) scalars; /* those declared inside are left out */
    bool may_stop;
    bool jumps;  /* FOR: leaves, or skips parts of an iteration */
    bool reuses; /* FOR: loops inside use the same elements, of two of their variables, in each iteration */
    /* FOR: where elements of an iteration lie that loops inside access: side by side; each beside that of the
     * next iteration. */
    bool has_rows, has_columns;
};

struct fuse_facts *fuse_facts_of(struct pass *pass, struct ir_stmt *stmt);
/* Adds those of what has become part of the statement. */
void fuse_facts_add(struct pass *pass, struct fuse_facts *facts, const struct fuse_facts *more);

/* Whether the two may change places. */
bool fuse_independent(const struct fuse_facts *a, const struct fuse_facts *b);

/* Whether two loops run over the same values, whatever happens between them that is no part of their own. */
bool fuse_same_range(const struct ir_stmt *first, const struct ir_stmt *second);

enum fuse_verdict { FUSE_NO, FUSE_YES, FUSE_ASK };

/* Of two neighbours over the same range. FUSE_ASK: only the dependence analysis can tell. */
enum fuse_verdict fuse_is_legal(const struct ir_stmt *first, const struct fuse_facts *first_facts,
                                const struct ir_stmt *second, const struct fuse_facts *second_facts);
/* Of loops that have been joined, for a trial: `part` is what came from the second. */
bool fuse_is_legal_exactly(struct pass *pass, struct ir_stmt *loop, const struct fuse_facts *first,
                           struct ir_stmt *part, const struct fuse_facts *second);

#endif
