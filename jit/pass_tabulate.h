/*
 * pass_tabulate.h: what an expression of a nest hangs on, and whether a table of it is worth it.
 *
 * Shared by pass_tabulate.c, which makes the tables, and pass_tabulate_axes.c, which looks at expressions.
 */
#ifndef JIT_PASS_TABULATE_H
#define JIT_PASS_TABULATE_H

#include "pass.h"

enum {
    AXES = 3,
    LOOPS = 16,
    DEEPEST = 40,
    VISITS = 1000, /* of expressions, with what scalars stand for */
    MOST = 1 << 26 /* elements of a table that grows with several loops: 256 MiB */
};

struct tabulator {
    struct pass *pass;
    const struct ir_stmt *loops[LOOPS]; /* around what is looked at, outermost first */
    int count, nest;                    /* of which those from `nest` on belong to the nest */
    const struct ir_stmt *columns; /* of the nest: what it loads lies one behind the other along these, */
    bool is_along;                 /* which are its innermost loop (vector_along.c) */
    bool only_functions;
    struct ir_stmt *tables; /* statements that fill the tables of the nest */
    struct ir_stmt **end;
    const struct ir_buffer *first_table; /* of the kernel; NULL: there is none yet */
    struct ir_stmt *top;                 /* the kernel's own statement around all */
    struct ir_stmt *small; /* what that was, where it is a choice by the sizes of tables now; NULL */
    struct ir_expr
        *large; /* whether a table of the nest has more elements than it may; NULL: none can have */
};

/* The loops whose variables an expression has, columns last, and for each the variable of a loop that fills
 * its table. */
struct axes {
    const struct ir_stmt *loops[AXES];
    struct ir_symbol *fillers[AXES];
    int count, visited;
    bool is_of_nest;
};

/* ---- pass_tabulate_axes.c ---- */

/* The number of the symbol's loop among the axes, or -1. */
int tabulate_axis_of(const struct axes *axes, const struct ir_symbol *symbol);
/* The least number that the loop's variable does not reach in the call. */
struct ir_expr *tabulate_end_of_axis(const struct tabulator *tabulator, const struct ir_stmt *loop);
/* Whether the expression hangs on few loops and nothing else; which these are. */
bool tabulate_is_tabular(const struct tabulator *tabulator, struct ir_expr *expr, struct axes *axes);
/* Whether the loop has so many iterations at most, known by number. */
bool tabulate_has_known_length(const struct ir_stmt *loop, int64_t most);
/* Whether a table grows with one loop alone, or as much as tensors do. */
bool tabulate_is_moderate(const struct tabulator *tabulator, const struct axes *axes);
/* Whether some loop repeats what the expression computes, and a table is worth it. */
bool tabulate_is_repeated(const struct tabulator *tabulator, struct ir_expr *expr, const struct axes *axes);
/* Whether both sides of an `and` or `or` are better apart. */
bool tabulate_comes_apart(const struct tabulator *tabulator, struct ir_expr *expr);

#endif
