/*
 * pass_breaks.h: between pass_breaks.c, which ends loops where they break, and pass_breaks_few.c, which lets
 * short ones go on.
 */
#ifndef JIT_PASS_BREAKS_H
#define JIT_PASS_BREAKS_H

#include "pass.h"

/* What holds where the condition does not; of its own nodes. */
struct ir_expr *breaks_negated(struct pass *pass, struct ir_expr *expr);

/* In the block and in choices of it; `made`: nests that have two versions. Whether anything changed. */
bool breaks_of_few(struct pass *pass, struct ir_stmt **block, int *made, int depth);

#endif
