/*
 * pass_pointed.h: between pass_pointed.c, where the best index is a loop's variable, and
 * pass_pointed_window.c, where it is an element of a window.
 */
#ifndef JIT_PASS_POINTED_H
#define JIT_PASS_POINTED_H

#include "pass.h"

/* ---- pass_pointed.c ---- */

/* The expression with what the block gives the index before the loop in its place, where that is a number or
 * hangs on what does not change; else as it is. */
struct ir_expr *pointed_begin(struct pass *pass, struct ir_stmt *block, const struct ir_stmt *loop,
                              struct ir_symbol *index, struct ir_expr *expr);

/* ---- pass_pointed_window.c ---- */

/* The loop in the block becomes the scalar and the loop; false: it is none of these. */
bool pointed_window(struct pass *pass, struct ir_stmt *block, struct ir_stmt **place);

#endif
