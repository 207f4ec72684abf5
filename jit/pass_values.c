/*
 * pass_values.c: the values that an integer variable takes one after the other have names of their own.
 *
 *     var p = i - k                              let p = i - k
 *     if p % 2 == 0 { p = p // 2; ... x[p] }     if p % 2 == 0 { let p_1 = p // 2; ... x[p_1] }
 *
 * so that other passes look through them. What conditions right behind a declaration choose is its value
 * (pass choose). Consumes any kernel. An assignment becomes a declaration where nothing but conditions lies
 * between it and that of its variable, and nobody behind the block it stands in mentions the variable: what
 * it gave then ends with the block.
 */
#include "pass.h"

enum { STEPS = 1 << 18 /* statements and nodes that are looked at, in one kernel */ };

struct values {
    struct pass *pass;
    const struct ir_symbol *symbol; /* looked for */
    int left;                       /* of STEPS; below 0: enough */
};

static bool is_other(struct ir_expr *expr, void *context)
{
    struct values *values = context;
    values->left--;
    return expr->kind != IR_SYMBOL || expr->symbol != values->symbol;
}

static bool is_no_assignment(struct ir_stmt *stmt, void *context)
{
    struct values *values = context;
    values->left--;
    return stmt->kind != IR_ASSIGN || stmt->symbol != values->symbol;
}

static bool is_assigned(struct values *values, struct ir_stmt *block)
{
    return !ir_block_walk(block, is_no_assignment, values);
}

static bool is_mentioned(struct values *values, struct ir_stmt *block)
{
    return is_assigned(values, block) || !ir_block_expressions(block, is_other, values);
}

/* The first assignment in the block, or under conditions in it, that may become a declaration; NULL: none. */
static struct ir_stmt *find_assignment(struct values *values, struct ir_stmt *block, int depth)
{
    enum { DEEPEST = 32 };
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST && values->left >= 0; stmt = stmt->next) {
        if (!is_no_assignment(stmt, values))
            return stmt;
        if (stmt->kind != IR_IF || is_mentioned(values, stmt->next))
            continue;
        struct ir_stmt *found = find_assignment(values, stmt->body, depth + 1);
        if (!found)
            found = find_assignment(values, stmt->otherwise, depth + 1);
        if (found)
            return found;
    }
    return NULL;
}

static void rename_assignments(struct ir_stmt *block, const struct ir_symbol *from, struct ir_symbol *to)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_ASSIGN && stmt->symbol == from)
            stmt->symbol = to;
        rename_assignments(stmt->body, from, to);
        rename_assignments(stmt->otherwise, from, to);
    }
}

/* Makes a declaration of the assignment, for what stands behind it in its block. */
static void declare(struct values *values, struct ir_stmt *assignment)
{
    struct ir_symbol *old = assignment->symbol;
    struct ir_symbol *symbol = ir_symbol_new(values->pass->kernel, IR_SYMBOL_VARIABLE, old->name, old->dtype);
    symbol->label = old->label ? old->label : old->name;
    symbol->span = old->span;
    assignment->kind = IR_VARIABLE;
    assignment->symbol = symbol;
    if (!is_mentioned(values, assignment->next)) /* which counts what is looked at, too */
        return;
    pass_rename(assignment->next, old, symbol);
    rename_assignments(assignment->next, old, symbol);
}

/* `variable`: a declaration. */
static bool name_values(struct values *values, struct ir_stmt *variable)
{
    struct ir_stmt *assignment;
    bool changed = pass_choose_value(values->pass, variable);
    if (variable->kind != IR_VARIABLE)
        return changed;
    values->symbol = variable->symbol;
    while ((assignment = find_assignment(values, variable->next, 0)) != NULL) {
        declare(values, assignment);
        changed = true;
    }
    if (values->left < 0 || is_assigned(values, variable->next))
        return changed;
    variable->kind = IR_LET;
    variable->symbol->kind = IR_SYMBOL_LET;
    pass_set_value(variable, variable->value);
    return true;
}

static bool visit_block(struct values *values, struct ir_stmt *block, int depth)
{
    enum { DEEPEST = 100 };
    bool changed = false;
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST && values->left >= 0; stmt = stmt->next) {
        if (stmt->kind == IR_VARIABLE && stmt->symbol->dtype == AKG_INT64)
            changed |= name_values(values, stmt);
        changed |= visit_block(values, stmt->body, depth + 1);
        changed |= visit_block(values, stmt->otherwise, depth + 1);
    }
    return changed;
}

bool pass_values(struct pass *pass)
{
    struct values values = {.pass = pass, .left = STEPS};
    return visit_block(&values, pass->kernel->body, 0);
}
