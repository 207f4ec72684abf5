/*
 * pass_pointed_window.c: likewise of windows of known extents, whose best place is kept in one index that
 * hangs on their loops in any linear way, or in several:
 *
 *     bp = 0; bq = 0
 *     for p in range(2): for q in range(2):
 *         if x[2 * i + p, 2 * j + q] > x[2 * i + bp, 2 * j + bq]: bp = p; bq = q
 *
 * becomes
 *
 *     bp = 0; bq = 0; top = x[2 * i, 2 * j]
 *     for p in range(2): for q in range(2):
 *         if x[2 * i + p, 2 * j + q] > top: bp = p; bq = q; top = x[2 * i + p, 2 * j + q]
 *
 * Consumes loops with nothing between them, between numbers, of which there is an iteration, around names and
 * one such condition. What is kept is what is compared with it where each index is what the condition makes
 * of it, and nothing else in it changes with the loops, so that the scalar is the element that the indices
 * point to at any time. Nothing in it may stop, and the loops do not write the tensor.
 */
#include "pass_pointed.h"

enum { INDICES = 4 };

struct window {
    struct ir_stmt *loop; /* the outermost */
    struct ir_stmt *condition;
    struct ir_stmt *indices[INDICES]; /* what gives them their values */
    int count;
};

/* ---- the form ----------------------------------------------------------------------------------- */

static bool has_iterations(const struct ir_stmt *loop)
{
    return loop->step == 1 && !loop->hint && loop->low->kind == IR_INTEGER &&
           loop->high->kind == IR_INTEGER && loop->low->integer < loop->high->integer;
}

/* The only condition in the loops; NULL: they are none of these. */
static struct ir_stmt *condition_in(struct ir_stmt *loop)
{
    struct ir_stmt *body = loop;
    while (body && body->kind == IR_FOR && has_iterations(body) && (body == loop || !body->next))
        body = body->body;
    while (body && body->kind == IR_LET && !pass_expr_may_stop(body->value))
        body = body->next;
    bool is_one = body && body->kind == IR_IF && !body->otherwise && !body->next;
    return is_one && body->value->kind == IR_OPERATION && body->value->operation >= OP_LT &&
                   body->value->operation <= OP_GE
               ? body
               : NULL;
}

static const struct ir_stmt *index_of(const struct window *window, const struct ir_symbol *symbol)
{
    for (int k = 0; k < window->count; k++)
        if (window->indices[k]->symbol == symbol)
            return window->indices[k];
    return NULL;
}

static bool is_no_index(struct ir_expr *expr, void *context)
{
    const struct window *window = context;
    return expr->kind != IR_SYMBOL || !index_of(window, expr->symbol);
}

/* Whether the condition does nothing but to give scalars values; notes the indices, none of which hangs on
 * another one. */
static bool find_indices(struct window *window)
{
    for (struct ir_stmt *stmt = window->condition->body; stmt; stmt = stmt->next) {
        if (stmt->kind != IR_ASSIGN || pass_expr_may_stop(stmt->value))
            return false;
        if (stmt->symbol->dtype != AKG_INT64)
            continue;
        if (window->count == INDICES || index_of(window, stmt->symbol))
            return false;
        window->indices[window->count++] = stmt;
    }
    for (int k = 0; k < window->count; k++)
        if (!ir_expr_walk(window->indices[k]->value, is_no_index, window))
            return false;
    return window->count > 0;
}

/* ---- what is kept -------------------------------------------------------------------------------- */

/* The sum with what the condition makes of the indices in their places. */
static bool follow(const struct window *window, const struct pass_affine *kept, struct pass_affine *sum)
{
    *sum = (struct pass_affine){.constant = kept->constant};
    for (int k = 0; k < kept->count; k++) {
        const struct ir_stmt *index = index_of(window, kept->terms[k].symbol);
        struct pass_affine term = {.count = 1, .terms = {{kept->terms[k].symbol, 1}}};
        if ((index && !pass_affine_of(index->value, &term)) ||
            !pass_affine_add(sum, kept->terms[k].coefficient, &term))
            return false;
    }
    return true;
}

static bool is_same_place(const struct window *window, struct ir_expr *there, struct ir_expr *kept)
{
    struct pass_affine a, b, sum;
    return pass_affine_of(there, &a) && pass_affine_of(kept, &b) && follow(window, &b, &sum) &&
           pass_affine_add(&a, -1, &sum) && !a.count && !a.constant;
}

static struct ir_expr *of_let(struct ir_expr *expr)
{
    bool is_let = expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value;
    return is_let ? expr->symbol->value : expr;
}

/* Whether one is what the other would be after the condition. */
static bool follows(const struct window *window, struct ir_expr *there, struct ir_expr *kept)
{
    there = of_let(there);
    kept = of_let(kept);
    if (there->kind != kept->kind || there->dtype != kept->dtype)
        return false;
    if (there->kind == IR_LOAD) {
        if (there->access.buffer != kept->access.buffer ||
            ir_block_stores_to(window->loop->body, there->access.buffer))
            return false;
        for (int axis = 0; axis < there->access.buffer->rank; axis++)
            if (!is_same_place(window, there->access.indices[axis], kept->access.indices[axis]))
                return false;
        return true;
    }
    if (there->kind != IR_OPERATION)
        return (there->kind != IR_SYMBOL || there->symbol->kind == IR_SYMBOL_DIM) &&
               ir_expr_equal(there, kept);
    if (there->operation != kept->operation || there->count != kept->count || there->checked)
        return false;
    for (int k = 0; k < there->count; k++)
        if (!follows(window, there->operands[k], kept->operands[k]))
            return false;
    return true;
}

static bool is_other_symbol(struct ir_stmt *stmt, void *symbol)
{
    return stmt->symbol != symbol;
}

/* Whether the loops give the symbol a value only where they give the indices theirs. */
static bool is_steady(struct ir_expr *expr, void *context)
{
    const struct window *window = context;
    return expr->kind != IR_SYMBOL || index_of(window, expr->symbol) ||
           (window->loop->symbol != expr->symbol &&
            ir_block_walk(window->loop->body, is_other_symbol, expr->symbol));
}

/* ---- the change ---------------------------------------------------------------------------------- */

bool pointed_window(struct pass *pass, struct ir_stmt *block, struct ir_stmt **place)
{
    struct window window = {.loop = *place, .condition = condition_in(*place)};
    if (!window.condition || !find_indices(&window))
        return false;
    for (int side = 0; side < 2; side++) {
        struct ir_expr **kept = &window.condition->value->operands[side],
                       *there = window.condition->value->operands[1 - side];
        if (ir_expr_walk(*kept, is_no_index, &window) || pass_expr_may_stop(*kept) ||
            !ir_expr_walk(*kept, is_steady, &window) || pass_expr_may_stop(there) ||
            !follows(&window, there, *kept))
            continue;
        for (int k = 0; k < window.count; k++)
            *kept = pointed_begin(pass, block, window.loop, window.indices[k]->symbol, *kept);
        struct ir_stmt *top = pass_declare(pass, IR_SYMBOL_VARIABLE, "top", *kept, (*kept)->span);
        struct ir_stmt *next = ir_stmt_new(pass->kernel, IR_ASSIGN, window.indices[0]->span);
        *kept = ir_symbol_use(pass->kernel, top->symbol);
        next->symbol = top->symbol;
        next->value = pass_copy(pass, there);
        next->next = window.condition->body;
        window.condition->body = next;
        top->next = window.loop;
        *place = top;
        return true;
    }
    return false;
}
