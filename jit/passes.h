/*
 * passes.h: the optimising passes, in order.
 *
 * Consumes an analysed kernel that is not shared yet, sites not numbered; changes it in place. What a call of
 * it computes is the same to the bit, but for terms of sums of floats under `reorders`, and so is the first
 * thing that stops it: the passes move and drop only
 * what cannot stop the kernel past what can. Elements of outputs and of tensors written in place may differ
 * after a stop.
 */
#ifndef JIT_PASSES_H
#define JIT_PASSES_H

#include "../ir/ir.h"
#include "x86_cpu.h"

enum pass_id {
#define X(name, suits, about) PASS_##name,
#include "passes.def"
#undef X
    PASS_COUNT
};

/* The sizes of what pass_tile and pass_distribute make. */
struct pass_tiles {
    int64_t rows;    /* that are packed at a time */
    int64_t columns; /* in a panel of packed columns, at most */
    int64_t panel;   /* bytes of a row of such a panel, at most; 0: any */
    int64_t depths;  /* in a stretch of what is accumulated */
    int64_t large;   /* bytes of a factor: as many, and packing pays */
    int64_t apart;   /* the same where the terms of a sum are a row apart on both sides */
    int64_t few;     /* rows or columns: fewer, and it does not */
    int64_t stretch; /* of what few rows accumulate of a large factor, which is not packed; 0: all of it */
    int64_t huge;    /* bytes summed down columns: as many, and it goes by the next two; 0: never */
    int64_t lines;   /* of it whose elements are added at a time */
    int64_t run;     /* elements of such a line, at most */
    int64_t block;   /* rows or lanes whose temporaries are there at a time, at most; 0: the usual number */
    bool turns;      /* whether rows are packed one behind the other, even where they lie side by side */
};
/* Those that suit the target best. */
const struct pass_tiles *pass_usual_tiles(enum x86_target target);

struct passes_options {
    bool verify;               /* after each pass */
    bool trust_indices;        /* indices are not to be tested at all */
    bool for_threads;          /* for code whose loops are spread over threads: none is moved inwards */
    const enum pass_id *order; /* other than the usual one; NULL: that */
    int order_count;
    const struct pass_tiles *tiles; /* NULL: nothing is packed */
    enum x86_target target;         /* what vector loops are for; NONE: it is not known */
    bool reorders;     /* code will add sums of floats up in another order, where it can be had better so, and
                          what is added may be rounded otherwise (pass_factors.c) */
    struct text *dump; /* gets the kernel after each pass that changed it, with the time it took */
    const char *dump_only; /* after this pass only; NULL: after all of them */
};

/* The name of a row of passes.def; NULL: there are no more. */
const char *passes_name(int pass);

/* False when the verifier refuses what a pass made: `complaint` says which, and why. */
bool passes_run(struct ir_kernel *kernel, const struct passes_options *options, struct text *complaint);

#endif
