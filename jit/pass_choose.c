/*
 * pass_choose.c: a variable that conditions change right behind its declaration is declared as what they
 * choose:
 *
 *     var c = abs(j - p); if c >= W { c = 2 * W - 2 - c }  ->  let c = select(abs(j - p) >= W, ..., abs(j -
 * p))
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

static bool is_unchanged(struct ir_stmt *stmt, void *symbol)
{
    return stmt->kind != IR_ASSIGN || stmt->symbol != symbol;
}

/* The value behind the condition and what the declaration says until then; NULL: it is no such condition. */
static struct ir_expr *choice_of(struct pass *pass, const struct ir_stmt *declaration,
                                 const struct ir_stmt *condition)
{
    const struct ir_stmt *assign = condition ? condition->body : NULL;
    struct ir_symbol *symbol = declaration->symbol;
    if (!condition || condition->kind != IR_IF || condition->otherwise || !assign || assign->next ||
        assign->kind != IR_ASSIGN || assign->symbol != symbol || !pass_is_pure(condition->value) ||
        !pass_is_pure(assign->value))
        return NULL;
    symbol->note = declaration->value;
    struct ir_expr *when = pass_copy(pass, condition->value), *then = pass_copy(pass, assign->value);
    symbol->note = NULL;
    struct ir_expr *choice = ir_operation(pass->kernel, OP_SELECT, when, then, declaration->value);
    return is_small(choice) ? choice : NULL;
}

static bool choose(struct pass *pass, struct ir_stmt *declaration)
{
    bool changed = false;
    struct ir_expr *choice;
    while (pass_is_pure(declaration->value) &&
           (choice = choice_of(pass, declaration, declaration->next)) != NULL) {
        pass_set_value(declaration, choice);
        declaration->next = declaration->next->next;
        changed = true;
    }
    if (changed && ir_block_walk(declaration->next, is_unchanged, declaration->symbol)) {
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
        changed |= stmt->kind == IR_VARIABLE && choose(pass, stmt);
        changed |= choose_block(pass, stmt->body);
        changed |= choose_block(pass, stmt->otherwise);
    }
    return changed;
}

bool pass_choose(struct pass *pass)
{
    return choose_block(pass, pass->kernel->body);
}
