/*
 * lives.c: see lives.h.
 *
 * Consumes a kernel as it will run, after all passes. What a temporary holds does not outlive its use in one
 * statement at the top of the body unless a later one uses it too: statements run once, in order, and a loop
 * is one of them.
 */
#include "lives.h"

#include <limits.h>

struct living {
    struct life *lives;
    int stmt; /* the number of the statement at the top */
};

static void use(struct living *living, const struct ir_buffer *buffer)
{
    struct life *life = &living->lives[buffer->index];

    if (life->first > living->stmt)
        life->first = living->stmt;
    life->last = living->stmt;
}

static bool use_loaded(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        use(context, expr->access.buffer);
    return true;
}

static bool use_of_stmt(struct ir_stmt *stmt, void *context)
{
    if (stmt->kind == IR_STORE || stmt->kind == IR_ALLOCATE)
        use(context, stmt->access.buffer);
    return ir_stmt_expressions(stmt, use_loaded, context);
}

static bool is_laid(const struct ir_buffer *buffer)
{
    return buffer->role == IR_TEMPORARY && !buffer->unused;
}

/* Whether two of them could share memory. */
static bool lives_differ(const struct ir_kernel *kernel, const struct life *lives)
{
    int last_first = -1, first_last = INT_MAX;

    for (int i = 0; i < kernel->buffers.count; i++) {
        if (!is_laid(kernel->buffers.items[i]) || lives[i].first > lives[i].last)
            continue;
        if (lives[i].first > last_first)
            last_first = lives[i].first;
        if (lives[i].last < first_last)
            first_last = lives[i].last;
    }
    return first_last < last_first;
}

const struct life *lives_find(struct arena *arena, const struct ir_kernel *kernel)
{
    struct living living = {arena_array(arena, struct life, kernel->buffers.count + 1), 0};

    for (int i = 0; i < kernel->buffers.count; i++)
        living.lives[i] = (struct life){INT_MAX, -1};
    for (struct ir_stmt *stmt = kernel->body, *next; stmt; stmt = next, living.stmt++) {
        next = stmt->next;
        stmt->next = NULL; /* so that the walk ends with it */
        ir_block_walk(stmt, use_of_stmt, &living);
        stmt->next = next;
    }
    return lives_differ(kernel, living.lives) ? living.lives : NULL;
}
