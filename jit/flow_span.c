/*
 * flow_span.c: how many iterations a loop has at most, as a call can tell before.
 *
 * Consumes the bounds of a loop and the loops around it; produces two expressions over what a call comes
 * with, between which there are no fewer numbers than the loop has iterations. Where the bounds are alike, as
 * those of windows are (range(i * H // 5, (i + 1) * H // 5)), it is their difference that is told, else where
 * the lowest begins and the highest ends. No more than time hangs on the answer: sums are taken not to wrap.
 */
#include "flow_plan.h"
#include "pass.h"

enum { DEEPEST = 12, PRODUCTS = 12 };

/* ---- the difference of what is alike ----------------------------------------------------------- */

struct product {
    int64_t factor;
    const struct ir_symbol *symbols[2]; /* NULL: fewer */
};

struct polynomial {
    struct product items[PRODUCTS];
    int count;
};

static const struct ir_expr *value_of(const struct ir_expr *expr)
{
    for (int depth = 0; depth < DEEPEST && expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET &&
                        expr->symbol->value && expr->dtype == AKG_INT64;
         depth++)
        expr = expr->symbol->value;
    return expr;
}

static bool is_alike(const struct product *a, const struct product *b)
{
    bool same = a->symbols[0] == b->symbols[0] && a->symbols[1] == b->symbols[1],
         turned = a->symbols[0] == b->symbols[1] && a->symbols[1] == b->symbols[0];
    return same || turned;
}

static bool add_product(struct polynomial *sum, struct product product)
{
    for (int k = 0; k < sum->count; k++)
        if (is_alike(&sum->items[k], &product))
            return !__builtin_add_overflow(sum->items[k].factor, product.factor, &sum->items[k].factor);
    if (sum->count == PRODUCTS)
        return false;
    sum->items[sum->count++] = product;
    return true;
}

static bool add_multiplied(struct polynomial *sum, const struct polynomial *a, const struct polynomial *b,
                           int64_t factor)
{
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++) {
            const struct product *x = &a->items[i], *y = &b->items[j];
            struct product product = {.symbols = {x->symbols[0] ? x->symbols[0] : y->symbols[0],
                                                  x->symbols[0] ? y->symbols[0] : y->symbols[1]}};
            if ((x->symbols[0] != NULL) + (x->symbols[1] != NULL) + (y->symbols[0] != NULL) +
                        (y->symbols[1] != NULL) >
                    2 ||
                __builtin_mul_overflow(x->factor, y->factor, &product.factor) ||
                __builtin_mul_overflow(product.factor, factor, &product.factor))
                return false;
            if (x->symbols[1])
                product.symbols[1] = x->symbols[1];
            if (!add_product(sum, product))
                return false;
        }
    return true;
}

/* Adds `factor` times the expression; false: it is no sum of products of two. */
static bool add_expanded(struct polynomial *sum, const struct ir_expr *expr, int64_t factor, int depth)
{
    expr = value_of(expr);
    if (depth > DEEPEST || expr->dtype != AKG_INT64)
        return false;
    if (expr->kind == IR_INTEGER) {
        struct product number = {.factor = factor};
        return !__builtin_mul_overflow(factor, expr->integer, &number.factor) && add_product(sum, number);
    }
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind != IR_SYMBOL_VARIABLE &&
               add_product(sum, (struct product){factor, {expr->symbol, NULL}});
    if (expr->kind != IR_OPERATION || expr->count != 2)
        return false;
    if (expr->operation == OP_ADD || expr->operation == OP_SUB)
        return factor != INT64_MIN && add_expanded(sum, expr->operands[0], factor, depth + 1) &&
               add_expanded(sum, expr->operands[1], expr->operation == OP_SUB ? -factor : factor, depth + 1);
    struct polynomial a = {.count = 0}, b = {.count = 0};
    return expr->operation == OP_MUL && add_expanded(&a, expr->operands[0], 1, depth + 1) &&
           add_expanded(&b, expr->operands[1], 1, depth + 1) && add_multiplied(sum, &a, &b, factor);
}

static bool is_of_call(const struct ir_symbol *symbol)
{
    return !symbol || symbol->kind == IR_SYMBOL_DIM || symbol->kind == IR_SYMBOL_ATTRIBUTE;
}

/* The sum as an expression; NULL: loops are left in it. */
static struct ir_expr *expression_of(struct ir_kernel *kernel, const struct polynomial *sum)
{
    struct ir_expr *expr = ir_integer(kernel, AKG_INT64, 0);
    for (int k = 0; k < sum->count; k++) {
        const struct product *product = &sum->items[k];
        struct ir_expr *term = ir_integer(kernel, AKG_INT64, product->factor);
        if (!product->factor)
            continue;
        for (int j = 0; j < 2 && product->symbols[j]; j++) {
            if (!is_of_call(product->symbols[j]))
                return NULL;
            term = ir_operation(kernel, OP_MUL, term,
                                ir_symbol_use(kernel, (struct ir_symbol *)product->symbols[j]), NULL);
        }
        expr = ir_operation(kernel, OP_ADD, expr, term, NULL);
    }
    return expr;
}

static bool is_of(const struct ir_expr *expr, enum operation operation)
{
    return expr->kind == IR_OPERATION && expr->operation == operation && expr->dtype == AKG_INT64;
}

/* high - low is no more than that; NULL: nobody knows. */
static struct ir_expr *difference(struct ir_kernel *kernel, const struct ir_expr *high,
                                  const struct ir_expr *low, int depth)
{
    struct polynomial sum = {.count = 0};
    high = value_of(high);
    low = value_of(low);
    if (depth > DEEPEST)
        return NULL;
    if (is_of(high, OP_FLOORDIV) && is_of(low, OP_FLOORDIV)) {
        struct ir_expr *by = high->operands[1];
        if (by->kind != IR_INTEGER || by->integer < 1 || !ir_expr_equal(by, low->operands[1]))
            return NULL;
        struct ir_expr *found = difference(kernel, high->operands[0], low->operands[0], depth + 1);
        if (!found)
            return NULL;
        struct ir_expr *quotient = ir_operation(kernel, OP_FLOORDIV, found, by, NULL);
        if (quotient->kind == IR_OPERATION)
            quotient->checked = false;
        return ir_operation(kernel, OP_ADD, quotient, ir_integer(kernel, AKG_INT64, 1), NULL);
    }
    return add_expanded(&sum, high, 1, 0) && add_expanded(&sum, low, -1, 0) ? expression_of(kernel, &sum)
                                                                            : NULL;
}

/* ---- where others begin and end ------------------------------------------------------------------ */

struct reach {
    struct ir_kernel *kernel;
    const struct ir_stmt *const *loops; /* around the one in question */
    int count;
    int left; /* terms to look at */
};

static const struct ir_stmt *loop_of(const struct reach *reach, const struct ir_symbol *symbol)
{
    for (int k = 0; k < reach->count; k++)
        if (reach->loops[k]->symbol == symbol)
            return reach->loops[k];
    return NULL;
}

static struct ir_expr *farthest(struct reach *reach, struct ir_expr *expr, bool highest);

/* Of the less of two, or the greater: one of them limits it on one side. */
static struct ir_expr *farthest_of_two(struct reach *reach, const struct ir_expr *expr, bool highest)
{
    struct ir_expr *a = farthest(reach, expr->operands[0], highest),
                   *b = farthest(reach, expr->operands[1], highest);
    if (a && b)
        return ir_operation(reach->kernel, expr->operation, a, b, NULL);
    return highest == (expr->operation == OP_MIN) ? (a ? a : b) : NULL;
}

/* The highest value, or the lowest, that sums of what is of the call and of the variables of loops have, as
 * what is of the call; NULL: it is no such sum. */
static struct ir_expr *farthest(struct reach *reach, struct ir_expr *expr, bool highest)
{
    struct ir_kernel *kernel = reach->kernel;
    if (--reach->left < 0)
        return NULL;
    expr = (struct ir_expr *)value_of(expr);
    if (pass_is_of_call(expr))
        return expr;
    const struct ir_stmt *loop = expr->kind == IR_SYMBOL ? loop_of(reach, expr->symbol) : NULL;
    if (loop) {
        bool at_end = highest == (loop->step > 0);
        struct ir_expr *bound = farthest(reach, at_end ? loop->high : loop->low, highest);
        struct ir_expr *one = ir_integer(kernel, AKG_INT64, 1);
        return !bound || !at_end ? bound : ir_operation(kernel, highest ? OP_SUB : OP_ADD, bound, one, NULL);
    }
    if (is_of(expr, OP_MIN) || is_of(expr, OP_MAX))
        return farthest_of_two(reach, expr, highest);
    if (is_of(expr, OP_NEG)) {
        struct ir_expr *other = farthest(reach, expr->operands[0], !highest);
        return other ? ir_operation(kernel, OP_NEG, other, NULL, NULL) : NULL;
    }
    if (!is_of(expr, OP_ADD) && !is_of(expr, OP_SUB))
        return NULL;
    struct ir_expr *a = farthest(reach, expr->operands[0], highest);
    struct ir_expr *b = farthest(reach, expr->operands[1], highest == (expr->operation == OP_ADD));
    return a && b ? ir_operation(kernel, expr->operation, a, b, NULL) : NULL;
}

bool flow_span(struct ir_kernel *kernel, const struct ir_stmt *const *loops, int count,
               const struct ir_stmt *loop, struct flow_test *test)
{
    enum { MOST_TERMS = 20 };
    struct reach reach = {kernel, loops, count, MOST_TERMS};
    bool is_told = pass_is_of_call(loop->low) && pass_is_of_call(loop->high);
    struct ir_expr *found = is_told          ? NULL
                            : loop->step > 0 ? difference(kernel, loop->high, loop->low, 0)
                                             : difference(kernel, loop->low, loop->high, 0);
    bool is_up = loop->step > 0;
    test->begins =
        found ? ir_integer(kernel, AKG_INT64, 0) : farthest(&reach, is_up ? loop->low : loop->high, false);
    test->ends = found ? found : farthest(&reach, is_up ? loop->high : loop->low, true);
    return test->begins && test->ends;
}
