/*
 * pass_vouch_rows.c: which nests test nothing but which rows they work on.
 *
 * Consumes a loop of the kernel; changes nothing.
 */
#include "pass_vouch.h"

static bool hangs_on(struct ir_expr *expr, struct ir_symbol *symbol);

static bool note_hang(struct ir_expr *expr, void *symbol)
{
    return expr->kind != IR_SYMBOL || (expr->symbol != symbol && (expr->symbol->kind != IR_SYMBOL_LET ||
                                                                  !hangs_on(expr->symbol->value, symbol)));
}

/* Scalars stand for their values. */
static bool hangs_on(struct ir_expr *expr, struct ir_symbol *symbol)
{
    return !ir_expr_walk(expr, note_hang, symbol);
}

static bool access_hangs_on(const struct ir_access *access, struct ir_symbol *symbol, bool tested)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if ((!tested || access->checks[axis] == IR_CHECK_ELEMENT) && hangs_on(access->indices[axis], symbol))
            return true;
    return false;
}

static bool is_fixed_load(struct ir_expr *expr, void *column)
{
    return expr->kind != IR_LOAD || !access_hangs_on(&expr->access, column, true);
}

/* Whether the columns are handed a number that is another one in each row, out of a tensor or as it is. */
static bool is_of_row(const struct ir_expr *expr, struct ir_symbol *row, struct ir_symbol *column)
{
    if (expr->kind == IR_LOAD)
        return !access_hangs_on(&expr->access, column, false) && access_hangs_on(&expr->access, row, false);
    if (expr->kind == IR_SYMBOL)
        return expr->symbol == row ||
               (expr->symbol->kind == IR_SYMBOL_LET && is_of_row(expr->symbol->value, row, column));
    for (int k = 0; k < expr->count && expr->kind == IR_OPERATION; k++)
        if (is_of_row(expr->operands[k], row, column))
            return true;
    return false;
}

static bool is_tested_by_row(struct ir_expr *expr, void *row)
{
    bool tested = false;
    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++)
        tested |= expr->access.checks[axis] == IR_CHECK_ELEMENT;
    return !tested || access_hangs_on(&expr->access, row, true);
}

bool vouch_only_picks_rows(const struct ir_stmt *loop)
{
    struct ir_stmt *inner = loop->body;
    while (inner->kind == IR_LET && !pass_stmt_may_stop(inner) && inner->next)
        inner = inner->next;
    if (inner->kind != IR_FOR || inner->next)
        return false;
    if (pass_has_for(inner->body))
        return vouch_only_picks_rows(inner);
    if (inner->low->kind == IR_INTEGER && inner->high->kind == IR_INTEGER)
        return false; /* perhaps too short for that */
    bool stores = false;
    for (struct ir_stmt *stmt = inner->body; stmt; stmt = stmt->next) {
        if ((stmt->kind != IR_STORE && stmt->kind != IR_LET) ||
            !ir_stmt_expressions(stmt, is_fixed_load, inner->symbol) ||
            !ir_stmt_expressions(stmt, is_tested_by_row, loop->symbol) ||
            (stmt->kind == IR_STORE && (access_hangs_on(&stmt->access, inner->symbol, true) ||
                                        !access_hangs_on(&stmt->access, loop->symbol, false) ||
                                        is_of_row(stmt->value, loop->symbol, inner->symbol))) ||
            (stores && pass_stmt_may_stop(stmt)))
            return false;
        stores |= stmt->kind == IR_STORE;
    }
    return true;
}
