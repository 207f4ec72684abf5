/*
 * pass_sink.c: a condition around loops that accumulate goes into the innermost of them:
 *
 *     for p, q: if inside(i + p, j + q) { for c: s += x[c, i + p, j + q] * w[c, p, q] }
 *     for p, q: for c: if inside(i + p, j + q) { s += x[c, i + p, j + q] * w[c, p, q] }
 *
 * so that the loops are a nest, whose lanes lie along a loop further outside and have masks: with the
 * condition outside, they could only lie along c, and there they stay where all that is loaded does. Consumes
 * conditions that compare by order and hang on loops alone, all that a loop does, around loops one in the
 * other that add to what is the same in all of the innermost.
 */
#include "pass.h"

enum { DEEPEST = 100, AROUND = 2 /* loops, besides the one that the condition is in */ };

/* The last statement of a block that has nothing but pure scalars before it; NULL: there is no such one. */
static struct ir_stmt *only_statement(struct ir_stmt *block)
{
    while (block && block->kind == IR_LET && block->next && pass_is_pure(block->value))
        block = block->next;
    return block && !block->next ? block : NULL;
}

/* Windows whose size is known are cut at borders. */
static bool is_of_call(const struct ir_stmt *loop)
{
    return loop->low->kind == IR_INTEGER && loop->high->kind != IR_INTEGER && pass_is_of_call(loop->high) &&
           loop->step == 1 && !loop->hint;
}

/* The innermost of loops one in the other; NULL: there are none, or others. */
static struct ir_stmt *innermost_of(struct ir_stmt *block)
{
    struct ir_stmt *found = NULL;
    for (struct ir_stmt *inner = only_statement(block); inner && inner->kind == IR_FOR;
         inner = only_statement(inner->body)) {
        if (!is_of_call(inner))
            return NULL;
        found = inner;
    }
    return found && !pass_has_for(found->body) ? found : NULL;
}

/* To scalars, or to an element that is the same in all of the innermost loop. */
static bool accumulates(struct ir_stmt *stmt, void *innermost)
{
    const struct ir_symbol *variable = ((struct ir_stmt *)innermost)->symbol;
    if (pass_stmt_may_stop(stmt))
        return false;
    return stmt->kind == IR_LET || stmt->kind == IR_ASSIGN || stmt->kind == IR_IF ||
           (stmt->kind == IR_STORE && !pass_access_mentions(&stmt->access, variable));
}

/* Comparisons of order, which leave out what is beside a border; others may leave out almost all. */
static bool is_of_borders(const struct ir_expr *condition)
{
    if (condition->kind != IR_OPERATION)
        return false;
    enum operation operation = condition->operation;
    if (operation == OP_AND || operation == OP_OR)
        return is_of_borders(condition->operands[0]) && is_of_borders(condition->operands[1]);
    return operation == OP_NOT ? is_of_borders(condition->operands[0])
                               : operation >= OP_LT && operation <= OP_GE;
}

static bool is_along(struct ir_expr *expr, void *variable)
{
    return expr->kind != IR_LOAD || !pass_access_mentions(&expr->access, variable) ||
           pass_is_unit(&expr->access, variable);
}

static bool sink(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_stmt *choice = only_statement(loop->body);
    if (!choice || choice->kind != IR_IF || choice->otherwise || !pass_is_pure(choice->value) ||
        !is_of_borders(choice->value))
        return false;
    struct ir_stmt *innermost = innermost_of(choice->body);
    if (!innermost || !ir_block_walk(innermost->body, accumulates, innermost) ||
        ir_block_expressions(innermost->body, is_along, innermost->symbol))
        return false;
    struct ir_stmt *inside = only_statement(innermost->body);
    struct ir_expr *condition = choice->value;
    if (inside && inside == innermost->body && inside->kind == IR_IF && !inside->otherwise) {
        pass_set_value(inside, ir_operation(pass->kernel, OP_AND, condition, inside->value, NULL));
    } else {
        struct ir_stmt *guard = ir_stmt_new(pass->kernel, IR_IF, choice->span);
        pass_set_value(guard, condition);
        guard->body = innermost->body;
        innermost->body = guard;
    }
    struct ir_stmt **place = &loop->body;
    while (*place != choice)
        place = &(*place)->next;
    *place = choice->body;
    return true;
}

static bool visit_block(struct pass *pass, struct ir_stmt *block, int loops, int depth)
{
    bool changed = false;
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        bool is_loop = stmt->kind == IR_FOR;
        changed |= visit_block(pass, stmt->body, loops + is_loop, depth + 1);
        changed |= visit_block(pass, stmt->otherwise, loops, depth + 1);
        changed |= is_loop && loops >= AROUND && sink(pass, stmt);
    }
    return changed;
}

bool pass_sink(struct pass *pass)
{
    return visit_block(pass, pass->kernel->body, 0, 0);
}
