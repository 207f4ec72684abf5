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

struct jit_frame {
    void **data;                   /* per buffer of the kernel, in order: address of element 0 */
    const int64_t *dims;           /* per DIM symbol, in order */
    const int64_t *const *strides; /* per buffer: its strides in elements (used where it is not contiguous) */
    const union jit_scalar *scalars; /* per ATTRIBUTE symbol, in order */
    struct jit_trap *trap;
};

/* 0, or 1 with the trap filled. */
typedef int (*jit_entry)(const struct jit_frame *frame);

#endif
