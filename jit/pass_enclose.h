/*
 * pass_enclose.h: which loops a temporary may move into; for pass_enclose.c and pass_own.c.
 */
#ifndef JIT_PASS_ENCLOSE_H
#define JIT_PASS_ENCLOSE_H

#include "pass.h"

enum { ENCLOSE_LOOPS = 6 };

/* The loops, outermost first, in which all uses are that the block has: ENCLOSE_LOOPS at most. */
int enclose_find_loops(struct ir_stmt *block, struct ir_buffer *buffer, struct ir_stmt **loops);
/* Whether each iteration of the loop, whose body allocates the temporary first, writes what it reads. */
bool enclose_writes_first(struct pass *pass, struct ir_stmt *loop, const struct ir_buffer *buffer);

#endif
