/*
 * split.c: see split.h.
 *
 * Consumes the dependences of an optimised kernel. A loop that is parallel may still not be split: a variable
 * of the outside would be written by all threads. A temporary that its body makes has one place for all
 * iterations, so that each thread needs a place of its own.
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

bool split_has_own(const struct ir_stmt *loop)
{
    return ir_block_takes_memory(loop->body);
}

/* Assigns only what is declared inside. */
static bool keeps_to_itself(struct ir_stmt *stmt, void *context)
{
    struct inside inside = *(struct inside *)context;

    if (stmt->kind != IR_ASSIGN)
        return true;
    inside.symbol = stmt->symbol;
    ir_block_walk(inside.loop->body, find_declaration, &inside);
    return inside.found;
}

bool split_is_closed(const struct ir_stmt *loop)
{
    struct inside inside = {.loop = loop};

    return loop->step > 0 && ir_block_walk(loop->body, keeps_to_itself, &inside);
}

bool split_is_possible(const struct dependences *dependences, const struct ir_stmt *loop)
{
    const struct dependence_loop *row = dependence_loop_is_parallel(dependences, loop);

    return row && row->verdict == DEPENDENCE_PARALLEL && !row->accumulates && !row->leaves;
}

static bool may_be_combined(const struct ir_reduction *reduction, bool strict)
{
    akg_dtype dtype = reduction->symbol->dtype;

    switch (reduction->kind) {
    case IR_REDUCTION_SUM:
    case IR_REDUCTION_DOT:
    case IR_REDUCTION_PRODUCT:
        return !dtype_is_float(dtype) || (!strict && !dtype_is_half(dtype));
    case IR_REDUCTION_MAX:
    case IR_REDUCTION_MIN:
        return true;
    default:
        return false;
    }
}

struct accumulating {
    struct inside inside;
    bool strict;
};

/* As keeps_to_itself, but for what is accumulated. */
static bool keeps_or_accumulates(struct ir_stmt *stmt, void *context)
{
    struct accumulating *accumulating = context;
    const struct ir_stmt *loop = accumulating->inside.loop;

    if (keeps_to_itself(stmt, &accumulating->inside))
        return true;
    for (int k = 0; stmt->kind == IR_ASSIGN && k < loop->reductions.count; k++)
        if (loop->reductions.items[k].symbol == stmt->symbol)
            return may_be_combined(&loop->reductions.items[k], accumulating->strict);
    return false;
}

bool split_only_accumulates(const struct dependences *dependences, const struct ir_stmt *loop, bool strict)
{
    enum { MOST = 8 };
    struct accumulating accumulating = {.inside = {.loop = loop}, .strict = strict};
    const struct dependence_loop *row = dependence_loop_is_parallel(dependences, loop);

    return row && row->verdict == DEPENDENCE_ACCUMULATES && row->reduction < 0 && !row->leaves &&
           loop->step > 0 && loop->reductions.count > 0 && loop->reductions.count <= MOST &&
           !split_has_own(loop) && ir_block_walk(loop->body, keeps_or_accumulates, &accumulating);
}

int64_t split_unit(int64_t grain)
{
    return grain < 2 ? 1 : grain % 16 == 0 ? grain : 2;
}

/* In which order passes leave operands is theirs. */
static bool is_end_of_strip(const struct ir_expr *end, const struct ir_stmt *loop)
{
    for (int k = 0; k < 2 && end->kind == IR_OPERATION && end->operation == OP_MIN; k++) {
        const struct ir_expr *next = end->operands[1 - k];
        if (ir_expr_equal(end->operands[k], loop->high) && next->kind == IR_OPERATION &&
            next->operation == OP_ADD && ir_is_use_of(next->operands[0], loop->symbol) &&
            next->operands[1]->kind == IR_INTEGER && next->operands[1]->integer == loop->step)
            return true;
    }
    return false;
}

/* Uses of where a strip begins and ends, and those of them that any stretch of its rows has as well. */
struct strip {
    const struct ir_symbol *top, *end;
    int uses, allowed;
};

static bool count_use(struct ir_expr *expr, void *context)
{
    struct strip *strip = context;

    strip->uses += ir_is_use_of(expr, strip->top) || ir_is_use_of(expr, strip->end);
    strip->allowed += expr->kind == IR_OPERATION && expr->operation == OP_SUB &&
                      ir_is_use_of(expr->operands[1], strip->top) && expr->operands[0]->kind == IR_SYMBOL &&
                      expr->operands[0]->symbol->kind == IR_SYMBOL_LOOP;
    return true;
}

static bool count_uses(struct ir_stmt *stmt, void *context)
{
    struct strip *strip = context;

    bool is_loop = stmt->kind == IR_FOR && stmt->step == 1;

    strip->allowed += is_loop && ir_is_use_of(stmt->low, strip->top);
    strip->allowed += is_loop && ir_is_use_of(stmt->high, strip->end);
    return true;
}

/* Whether the strip is but what loops inside go from and to, and what rows are counted from: what is made of
 * a strip as a whole is something else of a stretch of it. */
static bool is_of_rows(const struct ir_stmt *loop, const struct ir_stmt *end)
{
    struct strip strip = {.top = loop->symbol, .end = end->symbol};

    ir_block_walk(end->next, count_uses, &strip);
    ir_block_expressions(end->next, count_use, &strip);
    return strip.uses == strip.allowed;
}

const struct ir_stmt *split_end_of_strips(const struct ir_stmt *loop)
{
    const struct ir_stmt *first = loop->body;

    return loop->independent && loop->step > 1 && first && first->kind == IR_LET &&
                   is_end_of_strip(first->value, loop) && is_of_rows(loop, first)
               ? first
               : NULL;
}

/* What is in vectors goes on in whole vectors: no target has more lanes than this, unrolled. The loop around
 * blocks of registers goes on in whole blocks; one around such loops, over panels or images, piece by piece.
 */
int split_grain(const struct ir_stmt *loop)
{
    int depth = ir_block_depth(loop->body, 3);

    return depth == 0 ? SPLIT_GRAIN_VECTORS : depth < 3 ? 14 : 1;
}
