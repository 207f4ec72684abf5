/*
 * pass_windows.c: a loop over a few places around another loop's is counted from 0 on:
 *
 *     for u = i - 1 to i + 2: ... x[u] ...      ->      for k = 0 to 3: ... x[(i - 1) + k] ...
 *
 * so that passes that ask for few iterations see them, and that its bounds hang on nothing. Consumes loops of
 * step 1 whose ends lie a constant apart.
 */
#include "pass.h"

enum { MOST = 16 /* iterations */, DEEPEST = 100 };

static bool may_be_copied(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_ALLOCATE && stmt->kind != IR_WHILE && stmt->kind != IR_ASSERT &&
           stmt->kind != IR_BREAK && stmt->kind != IR_CONTINUE;
}

/* How many iterations there are, if few; -1. */
static int64_t few_iterations(const struct ir_stmt *loop)
{
    struct pass_affine low, span;
    if (loop->kind != IR_FOR || loop->step != 1 || loop->hint || loop->low->kind == IR_INTEGER ||
        !pass_affine_of(loop->low, &low) || !pass_affine_of(loop->high, &span) ||
        !pass_affine_add(&span, -1, &low) || span.count || span.constant < 1 || span.constant > MOST)
        return -1;
    for (int k = 0; k < low.count; k++)
        if (low.terms[k].symbol->kind != IR_SYMBOL_LOOP && low.terms[k].symbol->kind != IR_SYMBOL_DIM)
            return -1; /* a sum of others might wrap */
    return span.constant;
}

/* Messages name the variable: nothing in the loop may stop. */
static bool count_from_zero(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_kernel *kernel = pass->kernel;
    int64_t count = few_iterations(loop);
    if (count < 0 || pass_block_may_stop(loop->body) || !ir_block_walk(loop->body, may_be_copied, NULL))
        return false;
    struct ir_symbol *place = ir_symbol_new(kernel, IR_SYMBOL_LOOP, loop->symbol->name, AKG_INT64);
    place->label = loop->symbol->label;
    place->span = loop->symbol->span;
    loop->symbol->note =
        ir_operation(kernel, OP_ADD, pass_copy(pass, loop->low), ir_symbol_use(kernel, place), NULL);
    struct ir_stmt *body = pass_copy_block(pass, loop->body);
    loop->symbol->note = NULL;
    loop->symbol = place;
    loop->low = ir_integer(kernel, AKG_INT64, 0);
    loop->high = ir_integer(kernel, AKG_INT64, count);
    loop->body = body;
    return true;
}

/* Loops inside last: the bounds of these are sums of what is known then. */
static bool visit_block(struct pass *pass, struct ir_stmt *block, int depth)
{
    bool changed = false;
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        changed |= count_from_zero(pass, stmt);
        changed |= visit_block(pass, stmt->body, depth + 1);
        changed |= visit_block(pass, stmt->otherwise, depth + 1);
    }
    return changed;
}

bool pass_windows(struct pass *pass)
{
    return visit_block(pass, pass->kernel->body, 0);
}
