/*
 * flow_steady.c: loads that are the same in all iterations of a loop.
 *
 * Consumes an access of a loop that is being built; says whether its element may be loaded once, where the
 * loop is entered: nothing in the loop stores to the tensor or allocates it, its index is the same throughout
 * and not tested, and the first iteration loads it in any case, before anything can stop the kernel or leave
 * the loop. Then it is there: code before a loop runs where there is an iteration.
 */
#include "flow_private.h"

#include "pass.h"

/* Whether the expression loads the element whatever comes of it. */
static bool loads(const struct ir_expr *expr, const struct ir_access *access, int *left)
{
    if (!expr || --*left < 0)
        return false;
    if (expr->kind == IR_LOAD && ir_access_equal(&expr->access, access))
        return true;
    bool is_lazy = expr->kind == IR_OPERATION &&
                   (expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT);
    struct ir_expr *const *parts = expr->kind == IR_LOAD ? expr->access.indices : expr->operands;
    int count = expr->kind == IR_LOAD        ? expr->access.buffer->rank
                : expr->kind == IR_OPERATION ? is_lazy ? 1 : expr->count
                                             : 0;
    for (int k = 0; k < count; k++)
        if (loads(parts[k], access, left))
            return true;
    return false;
}

static bool stmt_loads(const struct ir_stmt *stmt, const struct ir_access *access, int *left)
{
    if (stmt->kind == IR_STORE)
        for (int axis = 0; axis < stmt->access.buffer->rank; axis++)
            if (loads(stmt->access.indices[axis], access, left))
                return true;
    if (stmt->kind == IR_FOR)
        return loads(stmt->low, access, left) || loads(stmt->high, access, left);
    return loads(stmt->value, access, left);
}

/* Whether each iteration loads it, and the first one comes to that. */
static bool surely_loads(const struct ir_stmt *body, const struct ir_access *access)
{
    int left = 400; /* nodes that are looked at */
    for (const struct ir_stmt *stmt = body; stmt && left > 0; stmt = stmt->next) {
        if (stmt_loads(stmt, access, &left))
            return true;
        if (stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE || stmt->kind == IR_WHILE ||
            pass_stmt_may_stop((struct ir_stmt *)stmt) || pass_jumps_anywhere(stmt->body) ||
            pass_jumps_anywhere(stmt->otherwise))
            return false;
    }
    return false;
}

/* An allocation clears it. */
static bool leaves_alone(struct ir_stmt *stmt, void *buffer)
{
    return (stmt->kind != IR_STORE && stmt->kind != IR_ALLOCATE) || stmt->access.buffer != buffer;
}

static bool is_changed(const struct ir_stmt *body, const struct ir_buffer *buffer)
{
    return !ir_block_walk((struct ir_stmt *)body, leaves_alone, (void *)buffer);
}

bool flow_is_steady(struct flow_builder *builder, const struct ir_access *access)
{
    if (!builder->depth || builder->refused)
        return false;
    const struct flow_loop *loop = &builder->loops[builder->depth - 1];
    if (loop->leave == FLOW_NONE || is_changed(loop->stmt->body, access->buffer))
        return false;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        bool pure = true;
        if (access->checks[axis] == IR_CHECK_ELEMENT ||
            flow_depth_of(builder, access->indices[axis], &pure) == builder->depth || !pure)
            return false;
    }
    return surely_loads(loop->stmt->body, access);
}
