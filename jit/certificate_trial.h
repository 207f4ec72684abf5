/*
 * certificate_trial.h: one small call of a kernel, made of nothing but extents: memory for all buffers,
 * inputs filled.
 */
#ifndef JIT_CERTIFICATE_TRIAL_H
#define JIT_CERTIFICATE_TRIAL_H

#include "certificate.h"

struct certificate_trial {
    const struct ir_kernel *kernel;
    struct arena *arena;
    struct jit_frame frame;
    struct jit_trap trap;
    int64_t *extents;      /* of all buffers, one after the other */
    const int64_t **shape; /* by buffer->index: where its own begin */
    int64_t *counts;       /* by buffer->index: elements */
};

/* Makes the call ready to be run (interpreter.h), once. False when preconditions refuse it, or it is no small
 * one. What it needs comes from the arena. */
bool certificate_trial_make(struct certificate_trial *trial, struct arena *arena,
                            const struct ir_kernel *kernel, const struct certificate_call *call);

/* The place of an element of that buffer, in the order of memory. */
int64_t certificate_trial_place(const struct certificate_trial *trial, const struct ir_buffer *buffer,
                                const int64_t *index);

/* Whether the preconditions hold in a call of these dims and scalars. */
bool certificate_accepts(const struct ir_kernel *kernel, const int64_t *dims,
                         const union jit_scalar *scalars);

#endif
