/*
 * pass_ample.c: nests that were cut at borders stand twice, where that tells more of the borders: for extents
 * no smaller than these, and as they are.
 *
 *     for j in 0, min(1, W): for s in max(0, 1 - j), min(3, W - j + 1): m = max(m, x[j + s - 1])
 *     if W < 2: ... else: m = max(m, x[0]); m = max(m, x[1])
 *
 * Consumes what partition and tighten left: bounds that are the least or the greatest of numbers and extents.
 * In a copy of the nest, each is what it is for large extents; loops of one iteration and the windows inside
 * of them are written out. So the first and the last column of an image are a few straight lines, which its
 * rows have in one piece of machine code with the columns between. Where no window is written out, the nest
 * stays as it was. What it was is for small extents only, and its code is made when one comes.
 */
#include "pass_partition.h"

#include <string.h>

enum {
    LARGEST_LEAST = 16, /* extents that are called small */
    LARGEST = 160,      /* statements of a nest */
    WINDOW = 40,        /* and of a window that is written out */
    DEEPEST = 100
};

struct ample {
    struct pass *pass;
    int64_t *least; /* of each dim, by its number, where the copy is right; 0: any */
    int written;    /* windows */
};

/* ---- bounds --------------------------------------------------------------------------------------- */

/* Whether the difference is at least 0 for large extents, of which there is one; then it is no small one. */
static bool is_positive(struct ample *ample, const struct pass_affine *difference, bool *answer)
{
    int64_t constant = difference->constant, factor, least;

    if (difference->count == 0) {
        *answer = constant >= 0;
        return true;
    }
    factor = difference->terms[0].coefficient;
    if (difference->count > 1 || difference->terms[0].symbol->kind != IR_SYMBOL_DIM ||
        constant < -LARGEST_LEAST || constant > LARGEST_LEAST || factor < -LARGEST_LEAST ||
        factor > LARGEST_LEAST)
        return false;
    *answer = factor > 0;
    least = factor > 0 ? (factor - 1 - constant) / factor : (constant - factor - 1) / -factor;
    if (least > ample->least[difference->terms[0].symbol->index])
        ample->least[difference->terms[0].symbol->index] = least;
    return true;
}

static bool is_extreme(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && expr->dtype == AKG_INT64 &&
           (expr->operation == OP_MIN || expr->operation == OP_MAX);
}

static bool is_of_extents(struct ir_expr *expr, void *unused)
{
    if (expr->kind != IR_SYMBOL)
        return expr->kind == IR_INTEGER || expr->kind == IR_OPERATION;
    if (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return ir_expr_walk(expr->symbol->value, is_of_extents, unused);
    return expr->symbol->kind == IR_SYMBOL_DIM;
}

/* A name of such a bound, or of a sum with one. */
static bool is_named_bound(const struct ir_expr *expr)
{
    return expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value &&
           expr->dtype == AKG_INT64 && ir_expr_walk(expr->symbol->value, is_of_extents, NULL);
}

/* Sums as such, and the least and the greatest of two that large extents tell apart. */
static struct ir_expr *settled(struct ample *ample, const struct ir_expr *expr)
{
    struct ir_expr *operands[3] = {NULL, NULL, NULL};
    struct pass_affine a, b;
    bool is_second;

    if (is_named_bound(expr))
        return settled(ample, expr->symbol->value);
    if (expr->dtype != AKG_INT64 || expr->kind != IR_OPERATION)
        return pass_copy(ample->pass, expr);
    if (!is_extreme(expr) && expr->operation != OP_ADD && expr->operation != OP_SUB &&
        expr->operation != OP_MUL)
        return pass_copy(ample->pass, expr);
    for (int k = 0; k < expr->count; k++)
        operands[k] = settled(ample, expr->operands[k]);
    if (is_extreme(expr) && pass_affine_of(operands[0], &a) && pass_affine_of(operands[1], &b) &&
        pass_affine_add(&b, -1, &a) && is_positive(ample, &b, &is_second))
        return operands[is_second == (expr->operation == OP_MAX)];
    struct ir_expr *result =
        ir_operation(ample->pass->kernel, expr->operation, operands[0], operands[1], operands[2]);
    struct place place = {.divisor = 1};
    result->span = expr->span;
    return pass_affine_of(result, &place.at) ? partition_expr(ample->pass, &place) : result;
}

static struct ir_expr *settle(struct pass *pass, struct ir_expr *expr, void *ample)
{
    (void)pass;
    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = settled(ample, expr->access.indices[k]);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = settle(pass, expr->operands[k], ample);
    return expr;
}

/* ---- loops ---------------------------------------------------------------------------------------- */

static bool is_one_iteration(const struct ir_stmt *loop)
{
    struct pass_affine low, distance;

    return loop->step == 1 && pass_affine_of(loop->low, &low) && pass_affine_of(loop->high, &distance) &&
           pass_affine_add(&distance, -1, &low) && distance.count == 0 && distance.constant == 1;
}

static void settle_block(struct ample *ample, struct ir_stmt **place, int depth);

/* The body of a loop of one iteration in its place. Gives the place behind. */
static struct ir_stmt **put_body(struct ample *ample, struct ir_stmt **place, int depth)
{
    struct ir_stmt *loop = *place, *body;

    loop->symbol->note = loop->low;
    body = pass_copy_block(ample->pass, loop->body);
    loop->symbol->note = NULL;
    settle_block(ample, &body, depth + 1);
    ample->written += pass_write_out(ample->pass, &body, WINDOW);
    *place = body;
    while (*place)
        place = &(*place)->next;
    *place = loop->next;
    return place;
}

static void settle_block(struct ample *ample, struct ir_stmt **place, int depth)
{
    while (*place && depth < DEEPEST) {
        struct ir_stmt *stmt = *place;
        pass_rewrite(ample->pass, stmt, settle, ample);
        if (stmt->kind == IR_FOR) {
            stmt->low = settled(ample, stmt->low);
            stmt->high = settled(ample, stmt->high);
            if (is_one_iteration(stmt)) {
                place = put_body(ample, place, depth);
                continue;
            }
        }
        settle_block(ample, &stmt->body, depth + 1);
        settle_block(ample, &stmt->otherwise, depth + 1);
        place = &stmt->next;
    }
}

/* ---- the nest --------------------------------------------------------------------------------------- */

static bool may_stand_twice(struct ir_stmt *stmt, void *count)
{
    return stmt->kind != IR_ALLOCATE && stmt->kind != IR_WHILE && stmt->kind != IR_BREAK &&
           stmt->kind != IR_CONTINUE && ++*(int *)count <= LARGEST;
}

static bool has_extremes(struct ir_expr *expr, void *unused)
{
    (void)unused;
    return !is_extreme(expr) && !(is_named_bound(expr) && is_extreme(expr->symbol->value));
}

static bool has_no_such_loop(struct ir_stmt *stmt, void *unused)
{
    (void)unused;
    return stmt->kind != IR_FOR ||
           (ir_expr_walk(stmt->low, has_extremes, NULL) && ir_expr_walk(stmt->high, has_extremes, NULL));
}

static bool is_candidate(struct ir_stmt *loop)
{
    int count = 0;

    return ir_block_walk(loop->body, may_stand_twice, &count) &&
           !ir_block_walk(loop->body, has_no_such_loop, NULL) && !pass_block_may_stop(loop->body);
}

/* Whether some extent is small. */
static struct ir_expr *is_small(const struct ample *ample)
{
    struct ir_kernel *kernel = ample->pass->kernel;
    struct ir_expr *any = NULL;

    for (int k = 0; k < kernel->dims.count; k++) {
        if (ample->least[k] <= 0)
            continue;
        struct ir_expr *dim = ir_symbol_use(kernel, kernel->dims.items[k]);
        struct ir_expr *is_less =
            ir_operation(kernel, OP_LT, dim, ir_integer(kernel, AKG_INT64, ample->least[k]), NULL);
        any = any ? ir_operation(kernel, OP_OR, any, is_less, NULL) : is_less;
    }
    return any;
}

/* The loop alone. False: it stays as it is. */
static bool make_ample(struct ample *ample, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, *next = loop->next, *copy, *choice;
    struct ir_expr *small;

    memset(ample->least, 0, sizeof *ample->least * (size_t)ample->pass->kernel->dims.count);
    ample->written = 0;
    loop->next = NULL;
    copy = pass_copy_block(ample->pass, loop);
    settle_block(ample, &copy, 0);
    small = is_small(ample);
    loop->next = next;
    if (!ample->written)
        return false;
    if (!small) {
        *place = copy;
        while (*place)
            place = &(*place)->next;
        *place = next;
        return true;
    }
    loop->next = NULL;
    choice = ir_stmt_new(ample->pass->kernel, IR_IF, loop->span);
    pass_set_value(choice, small);
    choice->body = loop;
    choice->otherwise = copy;
    choice->deferred = true;
    choice->next = next;
    *place = choice;
    return true;
}

bool pass_ample(struct pass *pass)
{
    struct ample ample = {.pass = pass};
    bool changed = false;

    ample.least = arena_array(pass->arena, int64_t, pass->kernel->dims.count);
    for (struct ir_stmt **place = &pass->kernel->body; *place; place = &(*place)->next)
        if ((*place)->kind == IR_FOR && is_candidate(*place))
            changed |= make_ample(&ample, place);
    if (changed) {
        pass_simplify(pass);
        pass_hoist(pass);
    }
    return changed;
}
