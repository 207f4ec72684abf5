/*
 * frame.h: how compiled code is called. The C that emit_c.c prints declares the
 * same struct by hand, so the two must change together (a test compares offsets).
 */
#ifndef JIT_FRAME_H
#define JIT_FRAME_H

#include "../base/dtype.h"

/* A scalar argument as passed: integers and bools in i, floats in d. */
union jit_scalar {
    int64_t i;
    double d;
};

#define JIT_TRAP_LOOPS 16

/* Where and why a kernel stopped. `site` numbers the trapping places of a kernel from 1
 * (sites.h), 0 when the interpreter ran out of memory; `axis`, `index` and `extent` are for
 * an index outside its axis; loops holds the values of the loop variables around the site, outermost first.
 */
struct jit_trap {
    int64_t site;
    int64_t axis, index, extent;
    int64_t loops[JIT_TRAP_LOOPS];
};

struct jit_frame;

/* A range of the iterations of a loop of the kernel; `kept`: values of variables around it. As jit_entry. */
typedef int jit_part(const struct jit_frame *frame, int64_t from, int64_t to, const union jit_scalar *kept);

/* A temporary that iterations make anew: pieces that run at the same time need places of their own for it. */
struct jit_own {
    int64_t buffer, bytes; /* the list ends with -1 and the number of all buffers of the kernel */
};

/* Runs all iterations from `low` to below `high`, in pieces of a multiple of `grain` iterations (but the last
 * one of each thread, split_unit), which may run at the same time. `work`: operations in one iteration,
 * about. `own`: NULL, there are no such temporaries; one piece may use the places of the frame. 1 with the
 * trap of the first iteration that has one. */
typedef int jit_split(const struct jit_frame *frame, jit_part *part, int64_t low, int64_t high, int64_t step,
                      int grain, double work, const union jit_scalar *kept, const struct jit_own *own);

struct jit_frame {
    void **data;                   /* per buffer of the kernel, in order: address of element 0 */
    const int64_t *dims;           /* per DIM symbol, in order */
    const int64_t *const *strides; /* per buffer: its strides in elements (used where it is not contiguous) */
    const union jit_scalar *scalars; /* per ATTRIBUTE symbol, in order */
    struct jit_trap *trap;
    jit_split *split; /* NULL: one thread does it all */
    /* The body of a deferred branch (deferred.h), by its number: 0 or 1 as jit_entry, or less than 0: there
     * is no code for it. NULL: there is none for any. */
    int (*reach)(const struct jit_frame *frame, int number);
    struct deferred *deferred; /* what `reach` knows of */
    int64_t threads;           /* how many may share a loop, where there is `split` */
};

/* 0, or 1 with the trap filled. */
typedef int (*jit_entry)(const struct jit_frame *frame);

#endif
