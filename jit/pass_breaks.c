/*
 * pass_breaks.c: a loop that a condition on its variable breaks out of ends where the condition begins to
 * hold:
 *
 *     for k = 0 to K: { if i + k >= L: break; ... }  ->  for k = 0 to min(K, L - i): ...
 *
 * Consumes loops that go upwards and begin with such a choice: of two sums that cannot wrap, over extents and
 * the variables of loops, whose difference goes up by one with the variable, so that it holds from some
 * iteration on. Before it nothing is run but what notes scalars, goes on with the next iteration, or breaks.
 */
#include "pass.h"

enum { DEEPEST = 100, BITS = 60, PARTS = 60 };

struct breaks {
    struct pass *pass;
    struct pass_ranges around;
    bool changed;
};

/* How often the variable is in a sum, all else of which is the same in each iteration of its loop; false: it
 * is no such sum. `left`: parts that may still be looked at, for notes may be made of each other. */
static bool count_in(const struct ir_expr *expr, const struct ir_symbol *variable, int *left, int64_t *count)
{
    int64_t other = 0;

    *count = 0;
    if (--*left < 0 || expr->dtype != AKG_INT64)
        return false;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return count_in(expr->symbol->value, variable, left, count);
    if (expr->kind == IR_SYMBOL) {
        *count = expr->symbol == variable;
        return expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_LOOP;
    }
    if (expr->kind == IR_INTEGER)
        return true;
    if (expr->kind != IR_OPERATION || expr->count != 2 ||
        !count_in(expr->operands[0], variable, left, count) ||
        !count_in(expr->operands[1], variable, left, &other))
        return false;
    if (expr->operation == OP_ADD)
        return !__builtin_add_overflow(*count, other, count);
    if (expr->operation == OP_SUB)
        return !__builtin_sub_overflow(*count, other, count);
    return *count == 0 && other == 0;
}

/* A copy, of which the variable is 0. */
static struct ir_expr *at_zero(struct breaks *breaks, const struct ir_expr *expr,
                               const struct ir_symbol *variable)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return at_zero(breaks, expr->symbol->value, variable);
    if (expr->kind == IR_SYMBOL && expr->symbol == variable)
        return ir_integer(breaks->pass->kernel, AKG_INT64, 0);
    struct ir_expr *copy = pass_copy(breaks->pass, expr);
    for (int k = 0; copy->kind == IR_OPERATION && k < copy->count; k++)
        copy->operands[k] = at_zero(breaks, expr->operands[k], variable);
    return copy;
}

/* Whether an iteration that does not come past the statement has run nothing by then. */
static bool does_nothing(const struct ir_stmt *stmt)
{
    if (stmt->kind == IR_LET)
        return pass_is_pure(stmt->value);
    return stmt->kind == IR_IF && pass_is_pure(stmt->value) && !stmt->otherwise && stmt->body &&
           (stmt->body->kind == IR_BREAK || stmt->body->kind == IR_CONTINUE);
}

/* The condition is a >= b, or a > b, one way or the other: from b - a on, each without the variable. */
static bool end_at(struct breaks *breaks, struct ir_stmt *loop, const struct ir_expr *condition)
{
    struct ir_kernel *kernel = breaks->pass->kernel;
    int64_t more, less;
    int left = PARTS;

    if (condition->kind != IR_OPERATION || condition->operation < OP_LT || condition->operation > OP_GE)
        return false;
    bool is_turned = condition->operation == OP_LT || condition->operation == OP_LE;
    bool is_strict = condition->operation == OP_LT || condition->operation == OP_GT;
    const struct ir_expr *a = condition->operands[is_turned], *b = condition->operands[!is_turned];
    if (!count_in(a, loop->symbol, &left, &more) || !count_in(b, loop->symbol, &left, &less) ||
        more != less + 1 || pass_bits_of(&breaks->around, a) > BITS ||
        pass_bits_of(&breaks->around, b) > BITS)
        return false;
    struct ir_expr *end = ir_operation(kernel, OP_SUB, at_zero(breaks, b, loop->symbol),
                                       at_zero(breaks, a, loop->symbol), NULL);
    if (is_strict)
        end = ir_operation(kernel, OP_ADD, end, ir_integer(kernel, AKG_INT64, 1), NULL);
    loop->high = ir_operation(kernel, OP_MIN, loop->high, end, NULL);
    return true;
}

static void end_early(struct breaks *breaks, struct ir_stmt *loop)
{
    for (struct ir_stmt *stmt = loop->body; stmt && does_nothing(stmt); stmt = stmt->next)
        if (stmt->kind == IR_IF && stmt->body->kind == IR_BREAK && end_at(breaks, loop, stmt->value)) {
            pass_remove(stmt);
            breaks->changed = true;
        }
}

static void visit_block(struct breaks *breaks, struct ir_stmt *block, int depth)
{
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&breaks->around, stmt);
        if (is_known && stmt->step > 0)
            end_early(breaks, stmt);
        visit_block(breaks, stmt->body, depth + 1);
        breaks->around.count -= is_known;
        visit_block(breaks, stmt->otherwise, depth + 1);
    }
}

bool pass_breaks(struct pass *pass)
{
    struct breaks breaks = {.pass = pass};

    visit_block(&breaks, pass->kernel->body, 0);
    pass_sweep(&pass->kernel->body);
    return breaks.changed;
}
