/*
 * report_private.h: what the files of the report share and nobody else includes.
 */
#ifndef JIT_REPORT_PRIVATE_H
#define JIT_REPORT_PRIVATE_H

#include "certificate.h"
#include "module.h"

struct report {
    const struct akg_kernel *kernel;
    const struct ir_kernel *ir;
    struct certificate *certificate; /* or NULL: not asked for */
    struct text out;
    akg_dtype *classes; /* type variables in order of appearance; room for one per buffer */
    int class_count;
    const char **shown; /* dims, in the order in which they were shown */
    int shown_count, shown_capacity;
};

/* ---- report_expr.c --------------------------------------------------------- */

/* As the program would write it, with the dims of the signature; `outer` is how tightly what is around it
 * binds, 0 for not at all. */
void report_put_expr(struct report *report, const struct ir_expr *expr, int outer);
/* y[i - 1] */
void report_put_access(struct report *report, const struct ir_access *access);
/* y[2] */
void report_put_element(struct report *report, const struct ir_buffer *buffer, const int64_t *index);
/* What the program calls it. */
const char *report_label(const struct ir_symbol *symbol);
/* The name of a loop's variable, or "while". */
const char *report_loop_name(const struct ir_stmt *loop);
/* "K <= K'", for the line of the signature: what it hangs on is left out, unless the loop that demands it
 * must not run at all ("not 0 < N"). */
void report_put_demand(struct report *report, const struct ir_precondition *precondition);
/* "K <= K', where M > 0" */
void report_put_precondition(struct report *report, const struct ir_precondition *precondition);

/* What a loop accumulates into: a scalar, or elements. */
struct report_reduction {
    const struct dependence_scalar *scalar; /* or NULL */
    const struct dependence_access *access; /* or NULL */
    enum operation operation;
    int next; /* where to look for another one; 0 at first */
};

/* The next one of the loop; false when there is none. */
bool report_next_reduction(const struct dependences *dependences, const struct dependence_loop *loop,
                           struct report_reduction *reduction);
/* acc, or y[j] */
void report_put_reduced(struct report *report, const struct report_reduction *reduction);
/* The element or scalar that two iterations were seen to use. */
void report_put_clashing(struct report *report, const struct certificate_loop *loop);

/* What is printed from here on comes in a string of its own; then it is put into what was there before as a
 * JSON string. */
struct text report_json_begin(struct report *report);
void report_json_end(struct report *report, struct text saved);

/* ---- report_proof.c: for people ---------------------------------------------- */

/* One line. */
void report_put_summary(struct report *report);
/* A block for each access, buffer and loop. */
void report_put_proof(struct report *report);

/* ---- report_json.c ------------------------------------------------------------- */

/* The whole certificate, as docs/certificate.md tells. */
void report_put_json(struct report *report);

#endif
