/*
 * pass_choose.c: a variable that conditions change right behind its declaration is declared as what they
 * choose:
 *
 *     var c = abs(j - p); if c >= W { c = 2 * W - 2 - c }
 *     let c = select(abs(j - p) >= W, ..., abs(j - p))
 *
 * Consumes any kernel. What is chosen from loads nothing, so both sides may be computed, and is small, for it
 * stands there once for each time the variable was used. Where nothing else changes it the variable becomes a
 * scalar, which other passes look through.
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

bool pass_choose_value(struct pass *pass, struct ir_stmt *declaration)
{
    bool changed = false;
    struct ir_expr *choice;
    while (pass_is_pure(declaration->value) &&
           (choice = choice_of(pass, declaration, declaration->next)) != NULL) {
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
