/*
 * cuda_access.c: see cuda_access.h.
 */
#include "cuda_access.h"

#include "pass.h"

static bool is_plain(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN ||
           stmt->kind == IR_STORE || stmt->kind == IR_IF;
}

bool cuda_body_is_flat(const struct ir_stmt *body)
{
    return ir_block_walk((struct ir_stmt *)body, is_plain, NULL);
}

bool cuda_body_is_plain(const struct ir_stmt *body)
{
    return cuda_body_is_flat(body) && !pass_block_may_stop((struct ir_stmt *)body);
}

/* ---- what is known ------------------------------------------------------------------------- */

static bool is_known(struct ir_expr *expr, void *body)
{
    if (expr->kind == IR_LOAD || (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE))
        return false;
    for (const struct ir_stmt *stmt = body; stmt && expr->kind == IR_SYMBOL; stmt = stmt->next)
        if (stmt->kind == IR_LET && stmt->symbol == expr->symbol)
            return false;
    return true;
}

bool cuda_is_known_before(const struct ir_stmt *body, const struct ir_expr *expr)
{
    return ir_expr_walk((struct ir_expr *)expr, is_known, (void *)body);
}

static bool can_be_known(struct ir_expr *expr, void *body)
{
    return expr->kind == IR_LOAD ? cuda_uses_of(body, expr->access.buffer).stores == 0 : is_known(expr, body);
}

bool cuda_can_be_known_before(const struct ir_stmt *body, const struct ir_expr *expr)
{
    return ir_expr_walk((struct ir_expr *)expr, can_be_known, (void *)body);
}

bool cuda_place_is_known_before(const struct ir_stmt *body, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (!cuda_is_known_before(body, access->indices[axis]))
            return false;
    return true;
}

/* ---- loads ------------------------------------------------------------------------------------- */

static void visit_loads(const struct ir_expr *expr, void (*visit)(const struct ir_expr *load, void *context),
                        void *context)
{
    if (expr->kind == IR_LOAD)
        visit(expr, context);
    if (expr->kind != IR_OPERATION)
        return;
    bool lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
    for (int k = 0; k < (lazy ? 1 : expr->count); k++)
        visit_loads(expr->operands[k], visit, context);
}

void cuda_visit_loads(const struct ir_stmt *body, void (*visit)(const struct ir_expr *load, void *context),
                      void *context)
{
    for (const struct ir_stmt *stmt = body; stmt; stmt = stmt->next)
        visit_loads(stmt->value, visit, context);
}

/* ---- uses ---------------------------------------------------------------------------------------- */

struct counted {
    const struct ir_buffer *buffer;
    struct cuda_uses uses;
};

static bool count_load(struct ir_expr *expr, void *context)
{
    struct counted *counted = context;
    counted->uses.loads += expr->kind == IR_LOAD && expr->access.buffer == counted->buffer;
    return true;
}

static bool count_store(struct ir_stmt *stmt, void *context)
{
    struct counted *counted = context;
    counted->uses.stores += stmt->kind == IR_STORE && stmt->access.buffer == counted->buffer;
    return true;
}

struct cuda_uses cuda_uses_of(const struct ir_stmt *body, const struct ir_buffer *buffer)
{
    struct counted counted = {.buffer = buffer};
    ir_block_expressions((struct ir_stmt *)body, count_load, &counted);
    ir_block_walk((struct ir_stmt *)body, count_store, &counted);
    return counted.uses;
}
