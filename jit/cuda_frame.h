/*
 * cuda_frame.h: what is to be zeroed of an output of which a box is written anyway.
 *
 * Consumes an optimised kernel; asks the analysis of initialisation (analysis.h) for a box of the output that
 * is written, whatever the data. What lies outside of it falls into one region for each axis: in front of the
 * box and behind it on this axis, inside of it on those before, anywhere on those behind. On CPUs a pass does
 * this, with loops (pass_frame.c); here a launch has a thread for each element outside.
 */
#ifndef JIT_CUDA_FRAME_H
#define JIT_CUDA_FRAME_H

#include "../ir/ir.h"

/* On each axis `inside` indices from `low` on are those of the box: int64 over dims and attributes, so that
 * 0 <= low, 0 <= inside, low + inside <= extent. */
struct cuda_frame {
    struct ir_expr **low, **inside;
    bool *open; /* there may be anything outside on this axis */
};

/* The frame of the output; NULL: all of it is to be zeroed. Expressions are made in the kernel's arena. */
const struct cuda_frame *cuda_frame_of(struct ir_kernel *kernel, const struct ir_buffer *buffer);
/* Whether it has no elements, whatever the call. */
bool cuda_frame_is_empty(const struct cuda_frame *frame, const struct ir_buffer *buffer);
/* The number of its elements: int64 over dims and attributes. */
const struct ir_expr *cuda_frame_work(struct ir_kernel *kernel, const struct cuda_frame *frame,
                                      const struct ir_buffer *buffer);

#endif
