/*
 * pass_overwrite.c: a store to an element that a later statement of the same block overwrites goes, when
 * nothing in between loads it. What is stored when the kernel is stopped in between may differ.
 *
 * Goes through each block from its end and keeps, for each buffer, the last few elements that will be
 * overwritten.
 */
#include "pass.h"

enum { ELEMENTS = 8 };

struct buffer_targets {
    const struct ir_access *items[ELEMENTS];
    int count;
    struct buffer_targets *next; /* that are not empty */
    bool listed;
};

struct overwriter {
    struct pass *pass;
    struct buffer_targets *buffers; /* by index */
    struct buffer_targets *known;
    bool changed;
};

static void overwrite_block(struct overwriter *overwriter, struct ir_stmt *block);

static void forget_at(struct buffer_targets *targets, int at)
{
    targets->items[at] = targets->items[--targets->count];
}

static void forget_all(struct overwriter *overwriter)
{
    for (struct buffer_targets *targets = overwriter->known; targets; targets = targets->next) {
        targets->count = 0;
        targets->listed = false;
    }
    overwriter->known = NULL;
}

static bool forget_loaded(struct ir_expr *expr, void *context)
{
    struct overwriter *overwriter = context;

    if (expr->kind != IR_LOAD)
        return true;
    struct buffer_targets *targets = &overwriter->buffers[expr->access.buffer->index];
    for (int k = targets->count - 1; k >= 0; k--)
        if (pass_compare(targets->items[k], &expr->access) != PASS_DISTINCT)
            forget_at(targets, k);
    return true;
}

static void forget_assigned(struct overwriter *overwriter, const struct ir_symbol *symbol)
{
    for (struct buffer_targets *targets = overwriter->known; targets; targets = targets->next)
        for (int k = targets->count - 1; k >= 0; k--)
            if (pass_access_mentions(targets->items[k], symbol))
                forget_at(targets, k);
}

/* Of a loop or branch: its loads are of any iteration, so only the buffer counts. */
static bool forget_buffer(struct ir_expr *expr, void *context)
{
    struct overwriter *overwriter = context;

    if (expr->kind == IR_LOAD)
        overwriter->buffers[expr->access.buffer->index].count = 0;
    return true;
}

static bool forget_inside(struct ir_stmt *stmt, void *context)
{
    struct overwriter *overwriter = context;

    if (stmt->kind == IR_ASSIGN)
        forget_assigned(overwriter, stmt->symbol);
    if (stmt->kind == IR_ALLOCATE)
        overwriter->buffers[stmt->access.buffer->index].count = 0;
    return ir_stmt_expressions(stmt, forget_buffer, overwriter);
}

/* True when the store is one too many. */
static bool is_overwritten(struct overwriter *overwriter, const struct ir_stmt *stmt)
{
    const struct buffer_targets *targets = &overwriter->buffers[stmt->access.buffer->index];

    for (int k = 0; k < targets->count; k++)
        if (pass_compare(targets->items[k], &stmt->access) == PASS_SAME)
            return true;
    return false;
}

static void expect(struct overwriter *overwriter, const struct ir_stmt *stmt)
{
    struct buffer_targets *targets = &overwriter->buffers[stmt->access.buffer->index];

    if (targets->count == ELEMENTS)
        return;
    targets->items[targets->count++] = &stmt->access;
    if (!targets->listed) {
        targets->listed = true;
        targets->next = overwriter->known;
        overwriter->known = targets;
    }
}

static void overwrite_stmt(struct overwriter *overwriter, struct ir_stmt *stmt)
{
    switch (stmt->kind) {
    case IR_FOR:
    case IR_WHILE:
    case IR_IF: {
        struct ir_stmt *next = stmt->next;
        stmt->next = NULL; /* the walk is of this statement alone */
        ir_block_walk(stmt, forget_inside, overwriter);
        stmt->next = next;
        if (stmt->kind == IR_IF && (pass_jumps(stmt->body) || pass_jumps(stmt->otherwise)))
            forget_all(overwriter);
        return;
    }
    case IR_BREAK:
    case IR_CONTINUE:
        forget_all(overwriter);
        return;
    case IR_STORE:
        if (is_overwritten(overwriter, stmt) && !pass_stmt_may_stop(stmt)) {
            pass_remove(stmt);
            overwriter->changed = true;
            return;
        }
        expect(overwriter, stmt);
        break;
    case IR_ASSIGN:
        forget_assigned(overwriter, stmt->symbol);
        break;
    case IR_ALLOCATE:
        overwriter->buffers[stmt->access.buffer->index].count = 0;
        break;
    default:
        break;
    }
    ir_stmt_expressions(stmt, forget_loaded, overwriter);
}

/* The blocks inside, each by itself. */
static bool overwrite_inside(struct ir_stmt *stmt, void *context)
{
    overwrite_block(context, stmt->body);
    if (stmt->otherwise && (stmt->otherwise->kind != IR_IF || stmt->otherwise->next))
        overwrite_block(context, stmt->otherwise);
    return true;
}

static void overwrite_block(struct overwriter *overwriter, struct ir_stmt *block)
{
    struct arena *arena = overwriter->pass->arena;
    LIST(struct ir_stmt *) stmts = {0};

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        list_push(arena, &stmts, stmt);
    for (int k = stmts.count - 1; k >= 0; k--)
        overwrite_stmt(overwriter, stmts.items[k]);
    forget_all(overwriter);
}

bool pass_overwrite(struct pass *pass)
{
    struct overwriter overwriter = {.pass = pass};

    overwriter.buffers = arena_array(pass->arena, struct buffer_targets, pass->kernel->buffers.count);
    overwrite_block(&overwriter, pass->kernel->body);
    ir_block_walk(pass->kernel->body, overwrite_inside, &overwriter);
    pass_sweep(&pass->kernel->body);
    return overwriter.changed;
}
