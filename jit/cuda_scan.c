/*
 * cuda_scan.c: see cuda_scan.h.
 */
#include "cuda_scan.h"

#include "cuda_access.h"
#include "pass.h"

/* ---- values that hang on no other iteration ---------------------------------------------- */

struct value {
    const struct ir_stmt *body, *end; /* what stands before it in the body: up to `end` */
    const struct ir_symbol *let;      /* that is looked for */
    bool found;
};

struct assignments {
    const struct ir_symbol *symbol;
    int count;
};

static bool count_assignment(struct ir_stmt *stmt, void *context)
{
    struct assignments *assignments = context;
    assignments->count +=
        (stmt->kind == IR_ASSIGN || stmt->kind == IR_VARIABLE) && stmt->symbol == assignments->symbol;
    return true;
}

static int assignments_in(const struct ir_stmt *body, const struct ir_symbol *symbol)
{
    struct assignments assignments = {.symbol = symbol};
    ir_block_walk((struct ir_stmt *)body, count_assignment, &assignments);
    return assignments.count;
}

static bool is_let_of(const struct ir_stmt *body, const struct ir_stmt *end, const struct ir_symbol *symbol)
{
    for (; body != end; body = body->next)
        if (body->kind == IR_LET && body->symbol == symbol)
            return true;
    return false;
}

/* No scalar that the body assigns, and no element that it stores before. */
static bool is_own(struct ir_expr *expr, void *context)
{
    struct value *value = context;
    if (expr->kind == IR_LOAD) {
        for (const struct ir_stmt *stmt = value->body; stmt != value->end; stmt = stmt->next)
            if ((stmt->kind == IR_STORE && stmt->access.buffer == expr->access.buffer) ||
                cuda_uses_of(stmt->body, expr->access.buffer).stores ||
                cuda_uses_of(stmt->otherwise, expr->access.buffer).stores)
                return false;
        return true;
    }
    if (expr->kind != IR_SYMBOL)
        return true;
    if (is_let_of(value->body, value->end, expr->symbol))
        return ir_expr_walk(expr->symbol->value, is_own, value);
    return expr->symbol->kind != IR_SYMBOL_VARIABLE || assignments_in(value->body, expr->symbol) == 0;
}

static bool is_not_let(struct ir_expr *expr, void *context)
{
    const struct value *value = context;
    if (expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_LET)
        return true;
    return expr->symbol != value->let && ir_expr_walk(expr->symbol->value, is_not_let, context);
}

bool cuda_scan_needs(const struct ir_expr *value, const struct ir_symbol *let)
{
    struct value wanted = {.let = let};
    return !ir_expr_walk((struct ir_expr *)value, is_not_let, &wanted);
}

/* ---- what is accumulated -------------------------------------------------------------------- */

static bool is_use(const struct ir_expr *expr, const struct ir_symbol *symbol)
{
    return expr->kind == IR_SYMBOL && expr->symbol == symbol;
}

static bool scanned_of(const struct ir_stmt *loop, const struct ir_stmt *stmt, struct cuda_scanned *scanned)
{
    const struct ir_expr *value = stmt->value;
    struct value inside = {.body = loop->body, .end = stmt};
    if (value->kind != IR_OPERATION || value->count != 2)
        return false;
    bool negative = value->operation == OP_SUB;
    int side = is_use(value->operands[0], stmt->symbol) ? 0 : 1;
    if (!is_use(value->operands[side], stmt->symbol) || (negative && side == 1))
        return false;
    *scanned = (struct cuda_scanned){stmt, negative ? OP_ADD : value->operation, value->operands[1 - side],
                                     negative};
    return cuda_combines(scanned->operation) && value->dtype == stmt->symbol->dtype &&
           assignments_in(loop->body, stmt->symbol) == 1 &&
           ir_expr_walk((struct ir_expr *)scanned->value, is_own, &inside);
}

static const struct ir_stmt *assignment_of(const struct ir_stmt *body, const struct ir_symbol *symbol)
{
    while (body && (body->kind != IR_ASSIGN || body->symbol != symbol))
        body = body->next;
    return body;
}

static bool add_scalar(const struct cuda_plan *plan, const struct dependence_scalar *scalar,
                       const struct ir_stmt *loop, struct cuda_scan *scan)
{
    const struct ir_stmt *stmt = assignment_of(loop->body, scalar->symbol);
    if (scalar->use == DEPENDENCE_PRIVATE)
        return cuda_lives_inside(plan, loop, scalar->symbol);
    return scalar->use != DEPENDENCE_FINAL && stmt && scan->count < CUDA_SCANS &&
           scanned_of(loop, stmt, &scan->items[scan->count++]);
}

bool cuda_scan_of(const struct cuda_plan *plan, const struct ir_stmt *loop, struct cuda_scan *scan)
{
    const struct dependences *all = plan->dependences;
    const struct dependence_loop *row = loop->kind == IR_FOR ? dependence_loop_is_parallel(all, loop) : NULL;
    bool carried = false;
    scan->count = 0;
    if (!row || row->leaves || row->incomplete || row->dependence >= 0 || row->reduction >= 0 ||
        !cuda_body_is_plain(loop->body))
        return false;
    for (int k = 0; k < all->scalars.count; k++) {
        const struct dependence_scalar *scalar = &all->scalars.items[k];
        if (&all->loops.items[scalar->loop] != row)
            continue;
        carried |= scalar->use == DEPENDENCE_CARRIED;
        if (!add_scalar(plan, scalar, loop, scan))
            return false;
    }
    return carried;
}
