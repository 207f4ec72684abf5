/*
 * split.c: see split.h.
 *
 * Consumes the dependences of an optimised kernel. A loop that is parallel may still not be split: a
 * temporary that its body makes is one for all iterations, and a variable of the outside would be written by
 * all threads.
 */
#include "split.h"

struct inside {
    const struct ir_stmt *loop;
    const struct ir_symbol *symbol;
    bool found;
};

static bool find_declaration(struct ir_stmt *stmt, void *context)
{
    struct inside *inside = context;

    inside->found |= stmt->kind == IR_VARIABLE && stmt->symbol == inside->symbol;
    return !inside->found;
}

/* Makes no temporary, and assigns only what is declared inside. */
static bool keeps_to_itself(struct ir_stmt *stmt, void *context)
{
    struct inside inside = *(struct inside *)context;

    if (stmt->kind == IR_ALLOCATE)
        return stmt->access.buffer->unused;
    if (stmt->kind != IR_ASSIGN)
        return true;
    inside.symbol = stmt->symbol;
    ir_block_walk(inside.loop->body, find_declaration, &inside);
    return inside.found;
}

bool split_is_possible(const struct dependences *dependences, const struct ir_stmt *loop)
{
    const struct dependence_loop *row = dependence_loop_is_parallel(dependences, loop);
    struct inside inside = {.loop = loop};

    return row && row->verdict == DEPENDENCE_PARALLEL && !row->accumulates && !row->leaves &&
           loop->step > 0 && ir_block_walk(loop->body, keeps_to_itself, &inside);
}

static bool is_no_loop(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR && stmt->kind != IR_WHILE;
}

/* What is in vectors goes on in whole vectors: no target has more lanes than this, unrolled. The loop around
 * blocks of registers goes on in whole blocks. */
int split_grain(const struct ir_stmt *loop)
{
    return ir_block_walk(loop->body, is_no_loop, NULL) ? 256 : 28;
}
