/*
 * pass_choose.c: a variable that conditions change right behind its declaration is declared as what they
 * choose:
 *
 *     var c = abs(j - p); if c >= W { c = 2 * W - 2 - c }
 *     let c = select(abs(j - p) >= W, ..., abs(j - p))
 *
 * Consumes any kernel. What declares or chooses something else may stand between. What is chosen from loads
 * nothing, so both sides may be computed, and is small, for it stands there once for each time the variable
 * was used. Where nothing else changes it the variable becomes a scalar, which other passes look through.
 */
#include "pass.h"

enum { NODES = 64 /* of what is declared */ };

static bool count_node(struct ir_expr *expr, void *count)
{
    (void)expr;
    ++*(int *)count;
    return true;
}

static bool is_small(struct ir_expr *expr)
{
    int count = 0;
    ir_expr_walk(expr, count_node, &count);
    return count <= NODES;
}

/* What the symbol is behind the block, where it was what its note says; NULL: the block does more than to
 * choose that. */
static struct ir_expr *value_behind(struct pass *pass, const struct ir_stmt *block,
                                    const struct ir_symbol *symbol, int depth)
{
    enum { DEEPEST = 8 };
    if (!block)
        return pass_copy(pass, symbol->note);
    if (block->next || depth > DEEPEST || !block->value || !pass_is_pure(block->value))
        return NULL;
    if (block->kind == IR_ASSIGN && block->symbol == symbol)
        return pass_copy(pass, block->value);
    if (block->kind != IR_IF)
        return NULL;
    struct ir_expr *then = value_behind(pass, block->body, symbol, depth + 1);
    struct ir_expr *other = then ? value_behind(pass, block->otherwise, symbol, depth + 1) : NULL;
    return other ? ir_operation(pass->kernel, OP_SELECT, pass_copy(pass, block->value), then, other) : NULL;
}

/* The value behind the condition that stands right behind the declaration; NULL: there is none that does but
 * choose it. */
static struct ir_expr *choice_of(struct pass *pass, const struct ir_stmt *declaration,
                                 struct ir_stmt *condition)
{
    struct ir_symbol *symbol = declaration->symbol;
    if (!condition || condition->kind != IR_IF)
        return NULL;
    struct ir_stmt *behind = condition->next;
    condition->next = NULL;
    symbol->note = declaration->value;
    struct ir_expr *choice = value_behind(pass, condition, symbol, 0);
    symbol->note = NULL;
    condition->next = behind;
    return choice && is_small(choice) ? choice : NULL;
}

/* ---- what stands between ------------------------------------------------------------------------------ */

static bool does_not_use(struct ir_expr *expr, void *symbol)
{
    return expr->kind != IR_SYMBOL || expr->symbol != symbol;
}

/* Whether the statement has nothing to do with the symbol. */
static bool leaves_alone(struct ir_stmt *stmt, struct ir_symbol *symbol)
{
    struct ir_stmt *behind = stmt->next;
    stmt->next = NULL;
    bool leaves = ir_block_expressions(stmt, does_not_use, symbol) && !ir_block_assigns(stmt, symbol);
    stmt->next = behind;
    return leaves;
}

static bool is_other_choice(struct ir_stmt *stmt, void *condition)
{
    return stmt->kind == IR_IF || (stmt->kind == IR_ASSIGN && leaves_alone(condition, stmt->symbol));
}

/* Whether the condition, which loads nothing, may as well stand before the statement: that declares something
 * else, or chooses it. */
static bool may_pass(struct ir_stmt *condition, struct ir_stmt *stmt)
{
    if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE)
        return leaves_alone(condition, stmt->symbol);
    return stmt->kind == IR_IF && ir_block_walk(stmt->body, is_other_choice, condition) &&
           ir_block_walk(stmt->otherwise, is_other_choice, condition);
}

/* Two indices are often named, and then corrected: a condition that changes what is declared comes right
 * behind that, where it may. */
static void bring_condition(struct pass *pass, struct ir_stmt *declaration)
{
    enum { FARTHEST = 8 };
    struct ir_stmt **place = &declaration->next, *condition;
    int passed = 0;
    while (*place && passed <= FARTHEST && leaves_alone(*place, declaration->symbol)) {
        place = &(*place)->next;
        passed++;
    }
    condition = *place;
    if (!passed || passed > FARTHEST || !choice_of(pass, declaration, condition))
        return;
    for (struct ir_stmt *stmt = declaration->next; stmt != condition; stmt = stmt->next)
        if (!may_pass(condition, stmt))
            return;
    *place = condition->next;
    condition->next = declaration->next;
    declaration->next = condition;
}

bool pass_choose_value(struct pass *pass, struct ir_stmt *declaration)
{
    bool changed = false;
    while (pass_is_pure(declaration->value)) {
        bring_condition(pass, declaration);
        struct ir_expr *choice = choice_of(pass, declaration, declaration->next);
        if (!choice)
            break;
        pass_set_value(declaration, choice);
        declaration->next = declaration->next->next;
        changed = true;
    }
    if (changed && !ir_block_assigns(declaration->next, declaration->symbol)) {
        declaration->kind = IR_LET;
        declaration->symbol->kind = IR_SYMBOL_LET;
        pass_set_value(declaration, declaration->value);
    }
    return changed;
}

static bool choose_block(struct pass *pass, struct ir_stmt *block)
{
    bool changed = false;
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        changed |= stmt->kind == IR_VARIABLE && pass_choose_value(pass, stmt);
        changed |= choose_block(pass, stmt->body);
        changed |= choose_block(pass, stmt->otherwise);
    }
    return changed;
}

bool pass_choose(struct pass *pass)
{
    return choose_block(pass, pass->kernel->body);
}
