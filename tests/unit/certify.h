/*
 * certify.h: holds what certificates claim (jit/certificate.h) against runs of the interpreter.
 *
 *     struct certify certify;
 *     if (certify_begin(&certify, kernel))          // NOT const: analysed, and numbered by sites_number
 *         for each call: certify_call(&certify, &frame, &message);
 *     certify_end(&certify);
 *
 * or, for one call of it, certify_kernel. What is wrong is appended to `message`, a line each, beginning with
 * a word that tells the kind of claim: bounds, precondition, initialisation, witness, race. The kernel is
 * written to (its arena grows); nobody else may use it meanwhile. Memory that runs out makes it true: nothing
 * was found wrong.
 */
#ifndef TESTS_UNIT_CERTIFY_H
#define TESTS_UNIT_CERTIFY_H

#include "../../base/text.h"
#include "../../jit/certificate.h"

/* How often claims of each kind were put to the test; shows whether calls are worth running. */
struct certify_counts {
    long calls, inside, refused, loads, outputs, orders, witnesses, clashes;
};

struct certify {
    struct ir_kernel *kernel;
    struct certificate *certificate;
    struct certify_counts counts;
};

/* False when memory ran out. */
bool certify_begin(struct certify *certify, struct ir_kernel *kernel);
void certify_end(struct certify *certify);

/*
 * The claims that hold for every call, in this one. The frame is what interpreter_run takes (frame->trap may
 * be NULL): memory of all buffers, of the shapes that the kernel gives them, with its strides; inputs hold
 * values. The memory is as before when it returns. Calls that the preconditions refuse are run as well: they
 * must do what the preconditions say.
 */
bool certify_call(struct certify *certify, const struct jit_frame *frame, struct text *message);

/* The claims that name a call: each witness is one, in a run of its own. */
bool certify_witnesses(struct certify *certify, struct text *message);

/* All of it, for one call. */
bool certify_kernel(struct ir_kernel *kernel, const struct jit_frame *frame, struct text *message);

#endif
