/*
 * exact_settle.c: tests of indices that extents which are known decide.
 *
 * Consumes the copy of a kernel for the extents of one call; an index that is tested, for no precondition
 * could say that it is inside (it is used under a condition alone), and that is made of loops between
 * numbers, is proved where the least and the greatest number it can be are inside the extent.
 */
#include "exact.h"

enum { DEEPEST = 100, NODES = 200 /* of an index, those of scalars each time they are used */ };

/* From the least to the greatest, both included. */
struct interval {
    int64_t least, greatest;
    bool known;
};

struct settling {
    int left; /* nodes to be looked at */
};

static const struct interval unknown = {0, 0, false};

static struct interval interval_of(struct settling *settling, const struct ir_expr *expr);

static struct interval of_ends(bool good, int64_t least, int64_t greatest)
{
    return good ? (struct interval){least, greatest, true} : unknown;
}

static struct interval of_product(struct interval a, struct interval b)
{
    const int64_t ends[4][2] = {
        {a.least, b.least}, {a.least, b.greatest}, {a.greatest, b.least}, {a.greatest, b.greatest}};
    struct interval all = unknown;
    for (int k = 0; k < 4; k++) {
        int64_t end;
        if (__builtin_mul_overflow(ends[k][0], ends[k][1], &end))
            return unknown;
        all.least = all.known && all.least < end ? all.least : end;
        all.greatest = all.known && all.greatest > end ? all.greatest : end;
        all.known = true;
    }
    return all;
}

static struct interval of_operation(struct settling *settling, const struct ir_expr *expr)
{
    if (expr->count != 2)
        return unknown;
    struct interval a = interval_of(settling, expr->operands[0]),
                    b = interval_of(settling, expr->operands[1]);
    int64_t least, greatest;
    bool good;
    if (!a.known || !b.known)
        return unknown;
    switch (expr->operation) {
    case OP_ADD:
        good = !__builtin_add_overflow(a.least, b.least, &least);
        good &= !__builtin_add_overflow(a.greatest, b.greatest, &greatest);
        return of_ends(good, least, greatest);
    case OP_SUB:
        good = !__builtin_sub_overflow(a.least, b.greatest, &least);
        good &= !__builtin_sub_overflow(a.greatest, b.least, &greatest);
        return of_ends(good, least, greatest);
    case OP_MUL:
        return of_product(a, b);
    case OP_MIN:
        return of_ends(true, a.least < b.least ? a.least : b.least,
                       a.greatest < b.greatest ? a.greatest : b.greatest);
    case OP_MAX:
        return of_ends(true, a.least > b.least ? a.least : b.least,
                       a.greatest > b.greatest ? a.greatest : b.greatest);
    default:
        return unknown;
    }
}

/* Of int64 alone: what has fewer bits wraps. */
static struct interval interval_of(struct settling *settling, const struct ir_expr *expr)
{
    struct interval result = unknown;
    if (expr->dtype != AKG_INT64 || --settling->left < 0)
        return unknown;
    if (expr->kind == IR_INTEGER)
        result = of_ends(true, expr->integer, expr->integer);
    else if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LOOP)
        result = expr->symbol->note ? *(const struct interval *)expr->symbol->note : unknown;
    else if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        result = interval_of(settling, expr->symbol->value);
    else if (expr->kind == IR_OPERATION)
        result = of_operation(settling, expr);
    return result;
}

static void settle_access(struct settling *settling, struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        const struct ir_expr *extent = access->buffer->shape[axis];
        if (access->checks[axis] != IR_CHECK_ELEMENT || extent->kind != IR_INTEGER)
            continue;
        settling->left = NODES;
        struct interval index = interval_of(settling, access->indices[axis]);
        if (index.known && index.least >= 0 && index.greatest < extent->integer)
            access->checks[axis] = IR_CHECK_PROVED;
    }
}

static bool settle_load(struct ir_expr *expr, void *settling)
{
    if (expr->kind == IR_LOAD)
        settle_access(settling, &expr->access);
    return true;
}

/* The variable, as long as it is in the loop. */
static struct interval interval_of_loop(struct settling *settling, const struct ir_stmt *loop)
{
    settling->left = NODES;
    struct interval low = interval_of(settling, loop->low), high = interval_of(settling, loop->high);
    if (!low.known || !high.known || high.greatest == INT64_MIN || high.least == INT64_MAX)
        return unknown;
    return loop->step > 0 ? of_ends(true, low.least, high.greatest - 1)
                          : of_ends(true, high.least + 1, low.greatest);
}

static void settle_block(struct settling *settling, struct ir_stmt *first, int depth)
{
    for (struct ir_stmt *stmt = first; stmt && depth < DEEPEST; stmt = stmt->next) {
        ir_stmt_expressions(stmt, settle_load, settling);
        if (stmt->kind == IR_STORE)
            settle_access(settling, &stmt->access);
        struct interval of_loop = stmt->kind == IR_FOR ? interval_of_loop(settling, stmt) : unknown;
        if (of_loop.known)
            stmt->symbol->note = &of_loop;
        settle_block(settling, stmt->body, depth + 1);
        settle_block(settling, stmt->otherwise, depth + 1);
        if (of_loop.known)
            stmt->symbol->note = NULL;
    }
}

static bool link_value(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->kind == IR_LET)
        stmt->symbol->value = stmt->value;
    return true;
}

void exact_settle(struct ir_kernel *exact)
{
    struct settling settling = {.left = NODES};
    ir_block_walk(exact->body, link_value, NULL);
    settle_block(&settling, exact->body, 0);
}
