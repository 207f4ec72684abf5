/*
 * interpreter.h: the oracle. Runs a verified kernel directly, every access and every integer
 * division checked whatever the analyses said, so that it can contradict them.
 *
 * What it defines, and every backend must follow:
 *   - Operands are evaluated left to right; AND, OR and SELECT evaluate only the side they need.
 *   - An access evaluates all of its indices, left to right, and then tests them, left to right.
 *   - A STORE evaluates its indices and tests them before its value (so a bad target is told first).
 *   - A FOR evaluates low, then high, once. Its variable never wraps: the loop ends where the next
 *     value would leave int64. Scalars declared in a body are new in each iteration.
 *   - What came before a trap has happened; what comes after has not.
 */
#ifndef JIT_INTERPRETER_H
#define JIT_INTERPRETER_H

#include "../ir/ir.h"
#include "frame.h"

/*
 * 0; or 1 with frame->trap filled. Sites must be numbered (sites_number). The kernel is not written to, so
 * threads may run it at once. Uses frame->strides of every buffer. All buffers' memory, temporaries too,
 * comes with the frame and is taken as it is, but for what is flagged `clear`: such outputs are zeroed at the
 * start, such temporaries at their IR_ALLOCATE.
 */
int interpreter_run(const struct ir_kernel *kernel, const struct jit_frame *frame);

/*
 * What a run tells of itself, and how it may differ from the plain one: for certificates, and for the tests
 * of what they claim. Functions may be NULL.
 */
struct interpreter_run; /* one that is going on */

struct interpreter_watch {
    void *context;
    /* A STORE, a LET, a VARIABLE or an ASSIGN is about to keep its value. False: the run stops, with a trap
     * of site 0. */
    bool (*keep)(void *context, const struct interpreter_run *run, const struct ir_stmt *stmt);
    /* An element is about to be read or written; the value to be stored has been computed. */
    void (*access)(void *context, const struct ir_access *access, const int64_t *indices, bool store);
    /* An index is outside. True: the run goes on, as if the load gave zero or the store were not there. */
    bool (*outside)(void *context, const struct ir_access *access, int axis, int64_t index, int64_t extent);
    void (*allocate)(void *context, const struct ir_buffer *buffer); /* a temporary's life begins */
    void (*iteration)(void *context, const struct ir_stmt *loop, int64_t value); /* of a FOR begins */
    const struct ir_stmt *reordered; /* a FOR whose iterations run in another order; or NULL */
    uint64_t seed;                   /* 0: in reverse; else one that it decides */
    bool limited; /* stop, with a trap of site 0, after `steps` statements and iterations */
    int64_t steps;
    bool exhausted; /* set when that happened */
};

int interpreter_run_watched(const struct ir_kernel *kernel, const struct jit_frame *frame,
                            struct interpreter_watch *watch);

/* For `keep`: the value of an expression; the place of an element, counted in elements from the buffer's
 * first. False where the run would trap. */
bool interpreter_value(const struct interpreter_run *run, const struct ir_expr *expr,
                       union dtype_value *value);
bool interpreter_place(const struct interpreter_run *run, const struct ir_access *access, int64_t *place);

#endif
