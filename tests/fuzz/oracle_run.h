/*
 * oracle_run.h: one call of one instance below the public interface: fresh memory filled with a pattern, no
 * precondition enforced, the trap kept.
 */
#ifndef TESTS_FUZZ_ORACLE_RUN_H
#define TESTS_FUZZ_ORACLE_RUN_H

#include "../../runtime/call.h"
#include "inputs.h"

struct oracle_run {
    const struct jit_instance *instance;
    struct inputs arguments; /* its own copy: inputs written in place change */
    akg_tensor **tensors;    /* per buffer */
    bool *owned;
    void **data;
    const int64_t **strides;
    int64_t *dims;
    union jit_scalar *scalars;
    struct jit_trap trap;
    bool stopped;
};

/* Takes the arguments (as bound: `places` says which is whose) and makes the rest. False when a shape cannot
 * be had. */
bool oracle_run_prepare(struct oracle_run *run, const struct jit_instance *instance,
                        const struct akg_kernel *kernel, const struct inputs *arguments,
                        unsigned char pattern);
void oracle_run_free(struct oracle_run *run);

/* The first precondition that does not hold, or NULL. False in *shapes where an annotation is not met. */
const struct ir_precondition *oracle_run_refusal(const struct oracle_run *run, bool *shapes);
/* Whether the kernel stops without the precondition: not where its numbers leave int64, for they would wrap.
 */
bool oracle_run_must_stop(const struct oracle_run *run, const struct ir_precondition *refusal);

/* What interpreter_run takes. */
struct jit_frame oracle_run_frame(struct oracle_run *run);
/* By the interpreter or, where the instance has it, by its code. */
void oracle_run_execute(struct oracle_run *run);

/* NaNs are equal to NaNs, everything else bit for bit. */
bool oracle_same_elements(const akg_tensor *a, const akg_tensor *b);
/* What inputs and outputs hold. With `partial` only inputs, which live on after a trap. */
bool oracle_run_same_memory(const struct oracle_run *a, const struct oracle_run *b, bool partial);
bool oracle_run_same_trap(const struct oracle_run *a, const struct oracle_run *b);

#endif
