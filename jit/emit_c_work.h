/*
 * emit_c_work.h: how much work a loop is that threads may share, as C that the call computes.
 */
#ifndef JIT_EMIT_C_WORK_H
#define JIT_EMIT_C_WORK_H

#include "emit_c_private.h"

/* Operations in an iteration of the loop, about, as an expression of type double in parentheses. `inside`, by
 * slot: what the loop declares. */
const char *emit_work(struct emitter *emitter, const struct ir_stmt *loop, const bool *inside,
                      struct emit_value low, struct emit_value high);
/* The same as a number, where nothing stands inside of others; else 0. */
double emit_work_alone(const struct ir_stmt *loop);

#endif
