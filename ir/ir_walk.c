/*
 * ir_walk.c: going over statements and expressions; copying and comparing expressions.
 *
 * Recursive: callers bound the depth of what they build (about a thousand levels).
 */
#include "ir_private.h"

#include <string.h>

static bool walk_all(struct ir_expr **exprs, int count, bool (*visit)(struct ir_expr *, void *),
                     void *context)
{
    for (int k = 0; k < count; k++)
        if (!ir_expr_walk(exprs[k], visit, context))
            return false;
    return true;
}

/* The last operand is gone on with here: half of all nodes are one. */
bool ir_expr_walk(struct ir_expr *expr, bool (*visit)(struct ir_expr *expr, void *context), void *context)
{
    for (;;) {
        if (!visit(expr, context))
            return false;
        bool is_load = expr->kind == IR_LOAD;
        if (!is_load && expr->kind != IR_OPERATION)
            return true;
        struct ir_expr **exprs = is_load ? expr->access.indices : expr->operands;
        int last = (is_load ? expr->access.buffer->rank : expr->count) - 1;
        if (last < 0)
            return true;
        for (int k = 0; k < last; k++)
            if (!ir_expr_walk(exprs[k], visit, context))
                return false;
        expr = exprs[last];
    }
}

bool ir_stmt_expressions(struct ir_stmt *stmt, bool (*visit)(struct ir_expr *expr, void *context),
                         void *context)
{
    if (stmt->low && !ir_expr_walk(stmt->low, visit, context))
        return false;
    if (stmt->high && !ir_expr_walk(stmt->high, visit, context))
        return false;
    if (stmt->kind == IR_STORE && !walk_all(stmt->access.indices, stmt->access.buffer->rank, visit, context))
        return false;
    return !stmt->value || ir_expr_walk(stmt->value, visit, context);
}

bool ir_block_walk(struct ir_stmt *block, bool (*visit)(struct ir_stmt *stmt, void *context), void *context)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (!visit(stmt, context) || (stmt->body && !ir_block_walk(stmt->body, visit, context)))
            return false;
        struct ir_stmt *otherwise = stmt->otherwise;
        if (!otherwise)
            continue;
        for (; otherwise && otherwise->kind == IR_IF && !otherwise->next; otherwise = otherwise->otherwise)
            if (!visit(otherwise, context) || !ir_block_walk(otherwise->body, visit, context))
                return false;
        if (!ir_block_walk(otherwise, visit, context))
            return false;
    }
    return true;
}

static bool stores_elsewhere(struct ir_stmt *stmt, void *buffer)
{
    return !(stmt->kind == IR_STORE && stmt->access.buffer == buffer);
}

bool ir_block_stores_to(const struct ir_stmt *block, const struct ir_buffer *buffer)
{
    return !ir_block_walk((struct ir_stmt *)block, stores_elsewhere, (void *)buffer);
}

struct expression_visit {
    bool (*visit)(struct ir_expr *expr, void *context);
    void *context;
};

static bool visit_expressions(struct ir_stmt *stmt, void *context)
{
    struct expression_visit *inner = context;
    return ir_stmt_expressions(stmt, inner->visit, inner->context);
}

bool ir_block_expressions(struct ir_stmt *block, bool (*visit)(struct ir_expr *expr, void *context),
                          void *context)
{
    struct expression_visit inner = {visit, context};
    return ir_block_walk(block, visit_expressions, &inner);
}

static bool is_no_load(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD;
}

bool ir_expr_loads(const struct ir_expr *expr)
{
    return !ir_expr_walk((struct ir_expr *)expr, is_no_load, NULL);
}

static bool is_no_load_but_of_input(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD || expr->access.buffer->role == IR_INPUT;
}

bool ir_expr_loads_only_inputs(const struct ir_expr *expr)
{
    return ir_expr_walk((struct ir_expr *)expr, is_no_load_but_of_input, NULL);
}

static bool is_no_variable(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_VARIABLE;
}

bool ir_expr_has_variable(const struct ir_expr *expr)
{
    return !ir_expr_walk((struct ir_expr *)expr, is_no_variable, NULL);
}

static bool is_stable(struct ir_expr *expr, void *context)
{
    return is_no_load_but_of_input(expr, context) && is_no_variable(expr, context);
}

bool ir_expr_is_stable(const struct ir_expr *expr)
{
    return ir_expr_walk((struct ir_expr *)expr, is_stable, NULL);
}

static bool count_load(struct ir_expr *expr, void *count)
{
    *(int *)count += expr->kind == IR_LOAD;
    return true;
}

int ir_block_count_loads(const struct ir_stmt *block)
{
    int count = 0;
    ir_block_expressions((struct ir_stmt *)block, count_load, &count);
    return count;
}

static bool evaluates_all(struct ir_expr *expr, void *context)
{
    (void)context;
    return !ir_is_choosing(expr);
}

bool ir_expr_chooses(const struct ir_expr *expr)
{
    return !ir_expr_walk((struct ir_expr *)expr, evaluates_all, NULL);
}

static bool loads_elsewhere(struct ir_expr *expr, void *buffer)
{
    return expr->kind != IR_LOAD || expr->access.buffer != buffer;
}

bool ir_expr_loads_from(const struct ir_expr *expr, const struct ir_buffer *buffer)
{
    return !ir_expr_walk((struct ir_expr *)expr, loads_elsewhere, (void *)buffer);
}

bool ir_block_loads_from(const struct ir_stmt *block, const struct ir_buffer *buffer)
{
    return !ir_block_expressions((struct ir_stmt *)block, loads_elsewhere, (void *)buffer);
}

bool ir_stmt_accesses(const struct ir_stmt *stmt, const struct ir_buffer *buffer)
{
    struct ir_stmt alone = *stmt;
    alone.next = NULL;
    return ir_block_stores_to(&alone, buffer) || ir_block_loads_from(&alone, buffer);
}

static struct ir_expr *copy_expr(struct ir_kernel *kernel, const struct ir_expr *expr, bool substitute)
{
    if (expr->kind == IR_SYMBOL && substitute && expr->symbol->note)
        return copy_expr(kernel, expr->symbol->note, false);

    struct ir_expr *copy = arena_new(kernel->arena, struct ir_expr);
    *copy = *expr;
    if (expr->kind == IR_LOAD) {
        int rank = expr->access.buffer->rank;
        copy->access.indices = arena_array(kernel->arena, struct ir_expr *, rank);
        copy->access.checks = arena_array(kernel->arena, enum ir_check, rank);
        for (int k = 0; k < rank; k++) {
            copy->access.indices[k] = copy_expr(kernel, expr->access.indices[k], substitute);
            copy->access.checks[k] = expr->access.checks[k];
        }
    } else if (expr->kind == IR_OPERATION) {
        copy->operands = arena_array(kernel->arena, struct ir_expr *, expr->count);
        for (int k = 0; k < expr->count; k++)
            copy->operands[k] = copy_expr(kernel, expr->operands[k], substitute);
    }
    return copy;
}

struct ir_expr *ir_expr_substitute(struct ir_kernel *kernel, const struct ir_expr *expr)
{
    return copy_expr(kernel, expr, true);
}

static bool equal_all(struct ir_expr *const *a, struct ir_expr *const *b, int count)
{
    for (int k = 0; k < count; k++)
        if (!ir_expr_equal(a[k], b[k]))
            return false;
    return true;
}

bool ir_access_equal(const struct ir_access *a, const struct ir_access *b)
{
    return a->buffer == b->buffer && equal_all(a->indices, b->indices, a->buffer->rank);
}

bool ir_expr_equal(const struct ir_expr *a, const struct ir_expr *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->dtype != b->dtype)
        return false;
    switch (a->kind) {
    case IR_INTEGER:
        return a->integer == b->integer;
    case IR_REAL: /* by bits: 0.0 and -0.0 differ, a NaN equals itself */
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case IR_SYMBOL:
        return a->symbol == b->symbol;
    case IR_LOAD:
        return ir_access_equal(&a->access, &b->access);
    case IR_OPERATION:
        return a->operation == b->operation && a->count == b->count &&
               equal_all(a->operands, b->operands, a->count);
    }
    return false;
}

int ir_block_depth(const struct ir_stmt *block, int limit)
{
    int most = 0;

    for (const struct ir_stmt *stmt = block; stmt && most < limit; stmt = stmt->next) {
        int own = stmt->kind == IR_FOR || stmt->kind == IR_WHILE,
            body = ir_block_depth(stmt->body, limit - own);
        int otherwise = ir_block_depth(stmt->otherwise, limit);
        most = own + body > most ? own + body : most;
        most = otherwise > most ? otherwise : most;
    }
    return most;
}

static bool note_declared(struct ir_stmt *stmt, void *note)
{
    if (stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE)
        stmt->symbol->note = note;
    return true;
}

void ir_block_note_declared(struct ir_stmt *block, void *note)
{
    ir_block_walk(block, note_declared, note);
}

static bool is_no_store(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_STORE;
}

bool ir_block_stores(const struct ir_stmt *block)
{
    return !ir_block_walk((struct ir_stmt *)block, is_no_store, NULL);
}

static bool is_no_allocation(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_ALLOCATE;
}

bool ir_block_allocates(const struct ir_stmt *block)
{
    return !ir_block_walk((struct ir_stmt *)block, is_no_allocation, NULL);
}

static bool takes_no_memory(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_ALLOCATE || stmt->access.buffer->unused;
}

bool ir_block_takes_memory(const struct ir_stmt *block)
{
    return !ir_block_walk((struct ir_stmt *)block, takes_no_memory, NULL);
}

static bool is_no_loop(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR && stmt->kind != IR_WHILE;
}

bool ir_block_has_loop(const struct ir_stmt *block)
{
    return !ir_block_walk((struct ir_stmt *)block, is_no_loop, NULL);
}

static bool declares_other(struct ir_stmt *stmt, void *symbol)
{
    return (stmt->kind != IR_FOR && stmt->kind != IR_LET && stmt->kind != IR_VARIABLE) ||
           stmt->symbol != symbol;
}

bool ir_block_declares(const struct ir_stmt *block, const struct ir_symbol *symbol)
{
    return !ir_block_walk((struct ir_stmt *)block, declares_other, (void *)symbol);
}

static bool assigns_other(struct ir_stmt *stmt, void *symbol)
{
    return stmt->kind != IR_ASSIGN || stmt->symbol != symbol;
}

bool ir_block_assigns(const struct ir_stmt *block, const struct ir_symbol *symbol)
{
    return !ir_block_walk((struct ir_stmt *)block, assigns_other, (void *)symbol);
}

bool ir_stmt_assigns(const struct ir_stmt *stmt, const struct ir_symbol *symbol)
{
    return (stmt->kind == IR_ASSIGN && stmt->symbol == symbol) || ir_block_assigns(stmt->body, symbol) ||
           ir_block_assigns(stmt->otherwise, symbol);
}

static bool is_unchanged(struct ir_expr *expr, void *block)
{
    if (expr->kind == IR_LOAD)
        return !ir_block_stores_to(block, expr->access.buffer);
    return expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_VARIABLE ||
           !ir_block_assigns(block, expr->symbol);
}

bool ir_block_changes(struct ir_stmt *block, struct ir_expr *expr)
{
    return !ir_expr_walk(expr, is_unchanged, block);
}
