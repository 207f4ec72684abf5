/*
 * vector_await.c: whether an innermost loop of a band waits for what the band has just stored.
 *
 * Consumes the loop as values, and the loop around; says whether its vectors would hold elements that were
 * stored one by one, or under a mask, shortly before: these cannot be loaded together until they have reached
 * memory, so such a loop goes by whole groups, and one by one at its end (vector_band.c).
 */
#include "pass.h"
#include "vector_build.h"

/* Whether the access never comes to the element that is stored: along some axis it ends before it. (Both are
 * the same in all iterations of the band.) */
static bool ends_before(const struct vector_builder *outer, const struct ir_stmt *loop,
                        const struct ir_access *access, const struct ir_access *stored)
{
    const struct ir_symbol *symbol = outer->stmt->symbol;
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (access->indices[axis]->kind == IR_SYMBOL && access->indices[axis]->symbol == loop->symbol &&
            loop->step == 1 && ir_expr_equal(stored->indices[axis], loop->high) && pass_is_pure(loop->high) &&
            !pass_mentions(loop->high, symbol))
            return true;
    return false;
}

/* Whether both are in the row of the iteration, which is another one in each: what is stored there was not
 * stored just before by another iteration. */
static bool is_in_own_row(const struct vector_builder *outer, const struct ir_access *access,
                          const struct ir_access *stored)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (ir_expr_equal(access->indices[axis], stored->indices[axis]) &&
            vector_slope_of(outer, access->indices[axis]).linear &&
            pass_mentions(access->indices[axis], outer->stmt->symbol))
            return true;
    return false;
}

/* Whether the block stores into elements that the access may come to. */
static bool stores_there(const struct vector_builder *outer, const struct ir_stmt *loop,
                         const struct ir_access *access, const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if ((stmt->kind == IR_STORE && stmt->access.buffer == access->buffer &&
             !is_in_own_row(outer, access, &stmt->access) &&
             !ends_before(outer, loop, access, &stmt->access)) ||
            stores_there(outer, loop, access, stmt->body) ||
            stores_there(outer, loop, access, stmt->otherwise))
            return true;
    return false;
}

bool vector_awaits_element(const struct vector_builder *outer, const struct vector_loop *loop)
{
    bool awaits = false, is_ragged = pass_mentions(loop->stmt->high, outer->stmt->symbol) ||
                                     pass_mentions(loop->stmt->low, outer->stmt->symbol);
    if (loop->is_serial || (!loop->accumulators.count && !is_ragged) || loop->calls || outer->options->strict)
        return false;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        if (stream->step_kind != VECTOR_UNIT)
            return false;
        bool counts = loop->accumulators.count || (stream->is_stored && stream->is_loaded);
        awaits |= counts && stores_there(outer, loop->stmt, stream->access, outer->stmt->body);
    }
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_INDEX)
            return false;
    return awaits;
}
