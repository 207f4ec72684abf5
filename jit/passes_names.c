/*
 * passes_names.c: how much a name stands for, once it is written out.
 *
 * Names that are made of each other, `b = a + a; c = b + b`, stand for twice as much with each of them, and
 * analyses look through names. Consumes a kernel between two passes; produces one in which no name stands for
 * more than a limit: what does is a variable that nothing assigns to, which they do not look through.
 */
#include "pass.h"

enum { MOST = 1000 /* nodes; what people write, and what unrolled loops make of it, is less */ };

/* Of a walk: whether no more than `left` nodes, an int, come up. */
static bool is_within(struct ir_expr *expr, void *left)
{
    bool is_name = expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET;
    *(int *)left -= is_name ? expr->symbol->weight : 1;
    return *(int *)left >= 0;
}

static bool weigh(struct ir_stmt *stmt, void *context)
{
    int left = MOST;
    (void)context;
    if (stmt->kind != IR_LET)
        return true;
    if (ir_expr_walk(stmt->value, is_within, &left)) {
        stmt->symbol->weight = MOST - left;
        return true;
    }
    stmt->kind = IR_VARIABLE;
    stmt->symbol->kind = IR_SYMBOL_VARIABLE;
    stmt->symbol->value = NULL;
    return true;
}

void passes_limit_names(struct ir_kernel *kernel)
{
    ir_block_walk(kernel->body, weigh, NULL);
}
