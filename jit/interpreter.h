/*
 * interpreter.h: the oracle. Runs a verified kernel directly, every access
 * checked whatever the analyses said, so that it can contradict them.
 */
#ifndef JIT_INTERPRETER_H
#define JIT_INTERPRETER_H

#include "../ir/ir.h"
#include "frame.h"

/* 0; or 1 with frame->trap filled. Sites must be numbered. Uses frame->strides of every buffer. Outputs flagged
 * `clear` are cleared here; all buffers' memory (temporaries too) comes with the frame. */
int interpreter_run(const struct ir_kernel *kernel, const struct jit_frame *frame);

#endif
