/*
 * flow.h: loops with branches in them as machine code of our own, one number at a time.
 *
 *     while lo < hi {
 *         let mid = (lo + hi) // 2
 *         if x[mid] < key: lo = mid + 1 else: hi = mid
 *     }
 *
 * What leaves early, branches around stores, goes on while something holds, or hangs on itself through memory
 * is no vector code, and libtcc keeps each of its variables on the stack. Here such a loop, with all that is
 * in it, is a function of its own, whose variables are in registers: flow.c turns its statements into items
 * with as many registers as it likes, flow_expression.c expressions, flow_address.c addresses;
 * flow_fuse.c adds products without rounding them, flow_layout.c has them go on rather than jump,
 * flow_allocate.c gives them the processor's registers, and flow_x86.c makes instructions of them. The C
 * around it (emit_c_flow.c) fills an array of slots, calls, and takes variables back.
 *
 * Of what it is made a copy that is better for one lane is made first, where results are not strict, or loops
 * of a few iterations are written out (flow_written.c); short loops over neighbours are vectors in its midst
 * (flow_packed.c). Strict code computes what the C text computes, to the bit: the same functions of the
 * library are called.
 */
#ifndef JIT_FLOW_H
#define JIT_FLOW_H

#include "vector.h"

enum flow_argument_kind {
    FLOW_LOW, /* where the loop begins, and ends; none of a while */
    FLOW_HIGH,
    FLOW_DATA,   /* the address of the buffer's first element */
    FLOW_STRIDE, /* in elements, of its `axis` */
    FLOW_EXTENT,
    FLOW_SCALAR /* what a symbol of the outside is when the loop begins */
};

struct flow_argument {
    enum flow_argument_kind kind;
    const struct ir_buffer *buffer;
    int axis;
    const struct ir_symbol *symbol;
    bool comes_back; /* the loop assigns it */
    int value;       /* where it is in the code */
};

/* What the first slots hold where the loop stopped the kernel: as struct jit_trap. 0 in the first one: it did
 * not. They are followed by the loops' variables, and these by the arguments. */
enum { FLOW_SITE, FLOW_AXIS, FLOW_INDEX, FLOW_BEYOND, FLOW_LOOPS };

/* Of loops that are vector code as well: this is to run where all tests say so. A loop inside begins and ends
 * there, and has fewer iterations than `few`. */
struct flow_test {
    const struct ir_expr *begins, *ends;
    int few;
    bool in_iterations; /* they may only be looked at where the loop around has an iteration, */
    bool adjoin;        /* and are of its first and its last, so that all between are counted together */
};

struct flow_code;

struct flow {
    LIST(struct flow_argument) arguments;
    int loops;  /* within it, itself among them, at most in one another (JIT_TRAP_LOOPS are noted) */
    bool stops; /* it may stop the kernel */
    LIST(struct flow_test) tests; /* none: there is no other code */
    struct flow_code *code;
};

static inline int flow_first_argument(const struct flow *flow)
{
    return FLOW_LOOPS + flow->loops;
}

struct vector_listing;

/* The FOR or WHILE as code, or NULL where it is not one of those. Everything goes into the arena. */
struct vector_loop *flow_build(struct arena *arena, const struct ir_stmt *stmt,
                               const struct vector_options *options);
/* Instructions; false where there are none. */
bool flow_x86(struct arena *arena, const struct vector_loop *loop, const struct vector_options *options,
              struct vector_listing *listing);

#endif
