/*
 * vector_band_shape.c: what loops and statements may be parts of a band (vector_band.c).
 *
 * Consumes a loop, or an expression, of an analysed kernel; tells whether it may stop the kernel or has
 * statements that a band has not, and which statements are conditions around parts.
 */
#include "pass.h"
#include "vector_build.h"

struct stops {
    bool trust_indices, found;
};

static bool note_stop(struct ir_expr *expr, void *context)
{
    struct stops *stops = context;
    stops->found |= expr->kind == IR_OPERATION && expr->checked;
    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++)
        stops->found |= expr->access.checks[axis] == IR_CHECK_ELEMENT && !stops->trust_indices;
    return !stops->found;
}

bool vector_may_stop(struct ir_expr *expr, const struct vector_options *options)
{
    struct stops stops = {options->trust_indices, false};
    ir_expr_walk(expr, note_stop, &stops);
    return stops.found;
}

/* Stores that are tested, and statements that a band has not. */
static bool note_statement(struct ir_stmt *stmt, void *context)
{
    struct stops *stops = context;
    stops->found |= stmt->kind == IR_WHILE || stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE ||
                    stmt->kind == IR_ASSERT || (stmt->kind == IR_ALLOCATE && stmt->access.buffer->clear);
    for (int axis = 0; stmt->kind == IR_STORE && axis < stmt->access.buffer->rank; axis++)
        stops->found |= stmt->access.checks[axis] == IR_CHECK_ELEMENT && !stops->trust_indices;
    return !stops->found;
}

bool vector_body_may_stop(const struct ir_stmt *stmt, const struct vector_options *options)
{
    struct stops stops = {options->trust_indices, false};
    ir_block_walk(stmt->body, note_statement, &stops);
    ir_block_expressions(stmt->body, note_stop, &stops);
    return stops.found;
}

bool vector_is_condition(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_IF && (pass_has_for(stmt->body) || pass_has_for(stmt->otherwise));
}
