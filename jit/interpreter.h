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

#endif
