/*
 * vector_merge.c: whether two loops of a nest are one.
 *
 *     for i { for f { for j { ... x[c, i, j] * w[f, c] ... y[f, i, j] ... } } }
 *
 * Consumes a nest and the loop right around it. Where the columns run over whole axes of contiguous tensors,
 * of which the loop around runs over the axis before, the elements of all its iterations lie one behind the
 * other: the nest may be called once, with so many times the columns, instead of once for each. So may rows
 * (vector_rows.c) of one image after the other, and one batch after the other.
 */
#include "vector.h"

struct merge {
    const struct ir_symbol *outer, *column;
    const struct ir_expr *extent; /* of the columns */
    struct arena *arena;
    vector_equals *equals; /* gets what must be equal in a call; NULL: it must be known to be */
};

static bool access_merges(const struct merge *merge, const struct ir_access *access);

/* Neither variable, but in accesses where both stand side by side. */
static bool expr_merges(const struct merge *merge, const struct ir_expr *expr)
{
    if (ir_is_use_of(expr, merge->outer) || ir_is_use_of(expr, merge->column))
        return false;
    if (expr->kind == IR_LOAD)
        return access_merges(merge, &expr->access);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        if (!expr_merges(merge, expr->operands[k]))
            return false;
    return true;
}

/* Whether an axis has as many elements as there are columns, or will have. */
static bool has_extent(const struct merge *merge, const struct ir_expr *extent)
{
    struct vector_equal equal = {extent, merge->extent};
    if (ir_expr_equal(extent, merge->extent))
        return true;
    if (!merge->equals || extent->kind != IR_SYMBOL || merge->extent->kind != IR_SYMBOL)
        return false;
    for (int k = 0; k < merge->equals->count; k++)
        if (merge->equals->items[k].a == equal.a && merge->equals->items[k].b == equal.b)
            return true;
    list_push(merge->arena, merge->equals, equal);
    return true;
}

static bool access_merges(const struct merge *merge, const struct ir_access *access)
{
    const struct ir_buffer *buffer = access->buffer;
    bool found = false;
    for (int axis = 0; axis < buffer->rank; axis++) {
        bool is_pair = axis + 1 < buffer->rank && ir_is_use_of(access->indices[axis], merge->outer) &&
                       ir_is_use_of(access->indices[axis + 1], merge->column);
        if (!is_pair && !expr_merges(merge, access->indices[axis]))
            return false;
        if (!is_pair)
            continue;
        if (found || !buffer->contiguous || !has_extent(merge, buffer->shape[axis + 1]))
            return false;
        found = true;
        axis++;
    }
    return true;
}

static bool block_merges(const struct merge *merge, const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        bool is_known = stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE ||
                        stmt->kind == IR_ASSIGN || stmt->kind == IR_STORE || stmt->kind == IR_IF;
        if (!is_known || (stmt->kind == IR_STORE && !access_merges(merge, &stmt->access)) ||
            (stmt->kind == IR_FOR && (!expr_merges(merge, stmt->low) || !expr_merges(merge, stmt->high))) ||
            (stmt->kind != IR_FOR && stmt->value && !expr_merges(merge, stmt->value)) ||
            !block_merges(merge, stmt->body) || !block_merges(merge, stmt->otherwise))
            return false;
    }
    return true;
}

bool vector_nest_merges(const struct vector_nest *nest, const struct ir_stmt *outer)
{
    const struct ir_stmt *columns = nest->loops[VECTOR_COLUMNS];
    struct merge merge = {outer->symbol, columns->symbol, columns->high, NULL, NULL};
    return !nest->is_while && outer->step == 1 && columns->low->kind == IR_INTEGER &&
           columns->low->integer == 0 && block_merges(&merge, outer->body);
}

bool vector_loops_merge(struct arena *arena, const struct ir_stmt *outer, vector_equals *equals)
{
    const struct ir_stmt *inner = outer->body;
    if (outer->step != 1 || !inner || inner->kind != IR_FOR || inner->next || inner->step != 1 ||
        inner->low->kind != IR_INTEGER || inner->low->integer != 0)
        return false;
    struct merge merge = {outer->symbol, inner->symbol, inner->high, arena, equals};
    return block_merges(&merge, inner);
}
