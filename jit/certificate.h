/*
 * certificate.h: what is proved of a kernel, with the reasons: bounds of each access, initialisation of each
 * output and temporary, dependences of each loop.
 *
 * Consumes a kernel that is analysed (analysis.h) and numbered (sites.h) and that nobody else uses meanwhile.
 * Verdicts are those in the IR and of dependence.h; what is added here are reasons and witnesses. A witness
 * was seen in a run of the interpreter. Everything lives as long as the kernel.
 */
#ifndef JIT_CERTIFICATE_H
#define JIT_CERTIFICATE_H

#include "analysis.h"
#include "dependence.h"
#include "frame.h"
#include "hints_witness.h"

/* ---- calls that were tried ----------------------------------------------- */

/* What the inputs of a call held. */
enum certificate_fill {
    CERTIFICATE_ZEROS,
    CERTIFICATE_ONES,
    CERTIFICATE_SERIES, /* 0, 1, 2, 0, 1, 2, ... in memory order */
    CERTIFICATE_FILLS
};

struct certificate_call {
    const int64_t *dims;             /* by symbol->index */
    const union jit_scalar *scalars; /* likewise */
    enum certificate_fill fill;
};

/* An element that is read before it is written, never written, or written twice in that call. */
struct certificate_witness {
    const struct certificate_call *call; /* NULL: none was found */
    int64_t index[AKG_MAX_RANK];
};

/* ---- bounds -------------------------------------------------------------- */

/* Why 0 <= index, or index < extent. */
struct certificate_side {
    struct ir_expr *bound; /* over dims and attributes: it lies between, inclusive; NULL: none was found */
    LIST(struct ir_expr *) facts; /* with it NULL: what holds at the access and suffices; none: not known */
};

struct certificate_index {
    struct ir_expr *index, *extent;
    enum ir_check check;
    struct certificate_side low, high; /* where it is not tested per element */
    LIST(int) preconditions;           /* PRECONDITION: numbers of those that the proof needs */
    LIST(struct ir_expr *) data;       /* ELEMENT: loads and scalars that the index depends on */
    LIST(struct ir_expr *) control;    /* and those that decide whether it is executed at all */
};

struct certificate_access {
    struct ir_access *access;
    struct ir_expr *load; /* NULL: the store of stmt */
    struct ir_stmt *stmt;
    struct span span;
    int depth;                         /* loops around it */
    struct certificate_index *indices; /* one per axis */
    /* A load of an output or temporary: */
    bool tracked;
    bool written; /* it is proved to come after a write */
    struct certificate_witness unwritten;
};

/* ---- initialisation ------------------------------------------------------- */

enum certificate_writes { CERTIFICATE_ONCE, CERTIFICATE_SEVERAL, CERTIFICATE_UNDECIDED };

/* An output or a temporary. */
struct certificate_buffer {
    struct ir_buffer *buffer;
    bool complete;                /* OUTPUT: every element is written */
    enum certificate_writes most; /* how often an element is written, at most (in one life of a temporary) */
    bool nests_apart;             /* of two stores that share no loop none writes an element of the other */
    struct certificate_witness twice, missing; /* of `most` SEVERAL; of an output that is not complete */
    const struct analysis_gap *gap;
};

/* ---- loops ------------------------------------------------------------------ */

struct certificate_loop {
    const struct dependence_loop *row;
    enum dependence_verdict verdict; /* the row's; SERIAL where it was undecided and iterations clash */
    bool clashes;                    /* two iterations were seen to use one element or scalar */
    struct witness_use uses[2];
    /* The call in which they were: extents by dim, integer attributes by attribute. */
    const struct certificate_call *call;
};

struct certificate {
    struct ir_kernel *kernel;
    const struct dependences *dependences;
    LIST(struct certificate_access) accesses; /* in the order of execution */
    int *by_site;                             /* by access->site: row in accesses + 1 */
    LIST(struct certificate_buffer) buffers;
    LIST(struct certificate_loop) loops; /* in the order of the text */
};

/* `reasons`: also why the bounds hold, which takes longest. */
struct certificate *certificate_make(struct ir_kernel *kernel, bool reasons);

/* The row of an access; NULL where the walk found it to be dead. */
struct certificate_access *certificate_access_of(struct certificate *certificate,
                                                 const struct ir_access *access);
/* The row of an output or temporary. */
struct certificate_buffer *certificate_buffer_of(struct certificate *certificate,
                                                 const struct ir_buffer *buffer);

/* ---- certificate_bounds.c -------------------------------------------------- */

/* Fills `accesses`, but for what initialisation finds. */
void certificate_find_bounds(struct certificate *certificate, bool reasons);

/* ---- certificate_writes.c --------------------------------------------------- */

/* Fills nests_apart of `buffers`. */
void certificate_find_nests_apart(struct certificate *certificate);

/* ---- certificate_witness.c --------------------------------------------------- */

/* Runs the kernel for a few small calls and notes what is seen of elements. */
void certificate_find_witnesses(struct certificate *certificate);

#endif
