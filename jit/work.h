/*
 * work.h: how much work statements are.
 *
 * An operation is what a lane of four bytes takes for an addition: bytes take a quarter of that, functions
 * several, as bench/suite has them.
 */
#ifndef JIT_WORK_H
#define JIT_WORK_H

#include "../ir/ir.h"

/* Operations of a statement, without what stands inside. */
double work_of_statement(const struct ir_stmt *stmt);

/* Those of all iterations of a FOR, at most: of conditions both sides count; HUGE_VAL where how often it, or
 * a loop in it, runs is no number. */
double work_at_most(const struct ir_stmt *loop);

#endif
