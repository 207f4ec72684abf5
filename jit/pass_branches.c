/*
 * pass_branches.c: what a program leaves out by `continue`, and what it keeps by a choice, is put under
 * conditions, which later passes and back ends know:
 *
 *     for i: { if x[i] < 0: continue; y[i] = sqrt(x[i]) }  ->  for i: if not x[i] < 0: y[i] = sqrt(x[i])
 *     top = x[i] if x[i] > top else top                    ->  if x[i] > top: top = x[i]
 *     n += 1 if x[i] > 0 else 0                            ->  if x[i] > 0: n += 1
 *
 * Consumes any kernel; nothing is computed that was not, nor in another order.
 */
#include "pass.h"

enum { DEEPEST = 100 };

static struct ir_stmt **end_of(struct ir_stmt **block)
{
    while (*block)
        block = &(*block)->next;
    return block;
}

/* ---- continue ------------------------------------------------------------------------------- */

/* Takes a continue of the block away, and what is never come to behind it. */
static bool take_continue(struct ir_stmt **block)
{
    while (*block && (*block)->kind != IR_CONTINUE)
        block = &(*block)->next;
    bool found = *block != NULL;
    *block = NULL;
    return found;
}

static bool has_continue(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_CONTINUE ||
            (stmt->kind == IR_IF && (has_continue(stmt->body) || has_continue(stmt->otherwise))))
            return true;
    return false;
}

static void negate(struct pass *pass, struct ir_stmt *choice)
{
    struct ir_expr *negated = ir_operation(pass->kernel, OP_NOT, choice->value, NULL, NULL);
    if (!negated->span.line)
        negated->span = choice->value->span;
    pass_set_value(choice, negated);
    choice->body = choice->otherwise;
    choice->otherwise = NULL;
}

/* `block` ends an iteration: a continue in it leaves out what follows it there. */
static bool straighten(struct pass *pass, struct ir_stmt **block, int depth)
{
    bool changed = take_continue(block);
    for (struct ir_stmt *stmt = *block; stmt && depth < DEEPEST; stmt = stmt->next) {
        if (stmt->kind != IR_IF || (!has_continue(stmt->body) && !has_continue(stmt->otherwise)))
            continue;
        struct ir_stmt *rest = stmt->next;
        if (take_continue(&stmt->body))
            *end_of(&stmt->otherwise) = rest;
        else if (take_continue(&stmt->otherwise))
            *end_of(&stmt->body) = rest;
        else if (rest)
            return changed;
        stmt->next = NULL;
        straighten(pass, &stmt->body, depth + 1);
        straighten(pass, &stmt->otherwise, depth + 1);
        if (!stmt->body && stmt->otherwise)
            negate(pass, stmt);
        if (!stmt->body && pass_expr_may_stop(stmt->value)) /* it is asked, whatever for */
            stmt->body = ir_stmt_new(pass->kernel, IR_CONTINUE, stmt->span);
        else if (!stmt->body)
            pass_remove(stmt);
        return true;
    }
    return changed;
}

/* ---- choices ------------------------------------------------------------------------------------ */

static void assign_if(struct pass *pass, struct ir_stmt *stmt, struct ir_expr *condition,
                      struct ir_expr *value)
{
    struct ir_stmt *assignment = ir_stmt_new(pass->kernel, IR_ASSIGN, stmt->span);
    assignment->symbol = stmt->symbol;
    assignment->value = value;
    stmt->kind = IR_IF;
    stmt->symbol = NULL;
    stmt->body = assignment;
    pass_set_value(stmt, condition);
}

/* An integer is added to, or nothing is. */
static bool unfold_count(struct ir_stmt *stmt, struct pass *pass)
{
    struct ir_expr *sum = stmt->value;
    if (stmt->kind != IR_ASSIGN || !dtype_is_integer(stmt->symbol->dtype) || sum->kind != IR_OPERATION ||
        sum->operation != OP_ADD)
        return false;
    for (int side = 0; side < 2; side++) {
        struct ir_expr *choice = sum->operands[1 - side];
        if (!ir_is_use_of(sum->operands[side], stmt->symbol) || choice->kind != IR_OPERATION ||
            choice->operation != OP_SELECT || choice->operands[2]->kind != IR_INTEGER ||
            choice->operands[2]->integer != 0)
            continue;
        sum->operands[1 - side] = choice->operands[1];
        assign_if(pass, stmt, choice->operands[0], sum);
        return true;
    }
    return false;
}

/* The scalar keeps its value, or takes another one where that compares so with it. */
static bool unfold_choice(struct ir_stmt *stmt, struct pass *pass)
{
    struct ir_expr *choice = stmt->value;
    if (stmt->kind != IR_ASSIGN || choice->kind != IR_OPERATION || choice->operation != OP_SELECT ||
        !ir_is_use_of(choice->operands[2], stmt->symbol))
        return false;
    struct ir_expr *condition = choice->operands[0];
    if (condition->kind != IR_OPERATION || condition->operation < OP_LT || condition->operation > OP_GE ||
        (!ir_is_use_of(condition->operands[0], stmt->symbol) &&
         !ir_is_use_of(condition->operands[1], stmt->symbol)))
        return false;
    assign_if(pass, stmt, condition, choice->operands[1]);
    return true;
}

struct visit {
    struct pass *pass;
    bool changed;
};

static bool visit(struct ir_stmt *stmt, void *context)
{
    struct visit *visit = context;
    visit->changed |= unfold_choice(stmt, visit->pass) || unfold_count(stmt, visit->pass);
    if (stmt->kind == IR_FOR)
        visit->changed |= straighten(visit->pass, &stmt->body, 0);
    return true;
}

bool pass_branches(struct pass *pass)
{
    struct visit state = {pass, false};
    ir_block_walk(pass->kernel->body, visit, &state);
    pass_sweep(&pass->kernel->body);
    return state.changed;
}
