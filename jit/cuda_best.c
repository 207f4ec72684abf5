/*
 * cuda_best.c: see cuda_best.h.
 */
#include "cuda_best.h"

#include "cuda_access.h"
#include "pass.h"

/* ---- conditions -------------------------------------------------------------------------- */

static bool is_operation(const struct ir_expr *expr, enum operation operation)
{
    return expr->kind == IR_OPERATION && expr->operation == operation;
}

/* The value is compared with the best, the one way or the other. */
static bool compares(const struct ir_expr *expr, const struct cuda_best *best)
{
    if (!is_operation(expr, OP_GT) && !is_operation(expr, OP_GE) && !is_operation(expr, OP_LT) &&
        !is_operation(expr, OP_LE))
        return false;
    return (ir_is_use_of(expr->operands[0], best->symbol) && ir_expr_equal(expr->operands[1], best->value)) ||
           (ir_is_use_of(expr->operands[1], best->symbol) && ir_expr_equal(expr->operands[0], best->value));
}

static bool is_best_twice(const struct ir_expr *expr, const struct cuda_best *best)
{
    return is_operation(expr, OP_EQ) && ir_is_use_of(expr->operands[0], best->symbol) &&
           ir_is_use_of(expr->operands[1], best->symbol);
}

/* Not a number. */
static bool is_value_none(const struct ir_expr *expr, const struct cuda_best *best)
{
    return (is_operation(expr, OP_NE) && ir_expr_equal(expr->operands[0], best->value) &&
            ir_expr_equal(expr->operands[1], best->value)) ||
           (is_operation(expr, OP_ISNAN) && ir_expr_equal(expr->operands[0], best->value));
}

/* Better than the best; or that, or no number, if the best is one. All are orders: which of several values is
 * left hangs on what they are, and of equal ones on which comes first. */
static bool is_order(const struct ir_expr *condition, const struct cuda_best *best)
{
    if (compares(condition, best))
        return true;
    for (int k = 0; k < 2; k++) {
        const struct ir_expr *one =
            condition->kind == IR_OPERATION && condition->count == 2 ? condition->operands[k] : condition;
        const struct ir_expr *other = one == condition ? condition : condition->operands[1 - k];
        if (is_operation(condition, OP_AND) && is_best_twice(one, best) && is_operation(other, OP_NOT) &&
            compares(other->operands[0], best))
            return true;
        if (is_operation(condition, OP_OR) && is_value_none(one, best) && compares(other, best))
            return true;
    }
    return false;
}

/* ---- what else is in the loop ------------------------------------------------------------------ */

struct used {
    const struct ir_stmt *body;
    const struct cuda_best *best;
    bool counters; /* may be used */
    bool good;
};

static bool is_assigned(const struct ir_stmt *block, const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if ((stmt->kind == IR_ASSIGN && stmt->symbol == symbol) || is_assigned(stmt->body, symbol))
            return true;
    return false;
}

static bool is_counter(const struct cuda_best *best, const struct ir_symbol *symbol)
{
    for (int k = 0; k < best->counter_count; k++)
        if (best->counters[k].stmt->symbol == symbol)
            return true;
    return false;
}

static bool check_use(struct ir_expr *expr, void *context)
{
    struct used *used = context;
    if (expr->kind == IR_SYMBOL && is_assigned(used->body, expr->symbol) &&
        !(used->counters && is_counter(used->best, expr->symbol)))
        used->good = false;
    return true;
}

/* It uses nothing that the loop assigns, unless these are counters. */
static bool is_of_iteration(const struct ir_stmt *body, const struct cuda_best *best,
                            const struct ir_expr *expr, bool counters)
{
    struct used used = {body, best, counters, true};
    ir_expr_walk((struct ir_expr *)expr, check_use, &used);
    return used.good;
}

static bool note_counter(struct cuda_best *best, const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;
    if (best->counter_count == CUDA_COUNTERS || !is_operation(value, OP_ADD) ||
        dtype_is_float(value->dtype) || !ir_is_use_of(value->operands[0], stmt->symbol) ||
        value->operands[1]->kind != IR_INTEGER || is_counter(best, stmt->symbol))
        return false;
    best->counters[best->counter_count++] =
        (struct cuda_counter){.stmt = stmt, .amount = value->operands[1]->integer, .early = !best->choice};
    return true;
}

/* The assignment to what the condition is about. */
static bool note_choice(struct cuda_best *best, const struct ir_stmt *stmt)
{
    if (best->choice || stmt->otherwise)
        return false;
    best->choice = stmt;
    bool found = false;
    for (const struct ir_stmt *one = stmt->body; one; one = one->next) {
        if (one->kind != IR_ASSIGN)
            return false;
        struct cuda_best tried = *best;
        tried.symbol = one->symbol;
        tried.value = one->value;
        if (!found && is_order(stmt->value, &tried)) {
            *best = tried;
            found = true;
        }
    }
    return found;
}

static bool is_known_assign(const struct cuda_best *best, const struct ir_stmt *body)
{
    for (const struct ir_stmt *one = best->choice->body; one; one = one->next) {
        bool is_best = one->symbol == best->symbol;
        if ((is_best && one->value != best->value) || is_counter(best, one->symbol) ||
            !is_of_iteration(body, best, one->value, !is_best))
            return false;
    }
    for (const struct ir_stmt *stmt = body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET && !is_of_iteration(body, best, stmt->value, false))
            return false;
    return true;
}

/* The innermost of loops that hold nothing else, and are known before; NULL where they are not so. */
static const struct ir_stmt *innermost(const struct ir_stmt *loop)
{
    int depth = 1;
    while (loop->body && loop->body->kind == IR_FOR && !loop->body->next) {
        const struct ir_stmt *inner = loop->body;
        if (loop->step != 1 || ++depth > CUDA_CHAIN || !cuda_is_of_call(inner->low) ||
            !cuda_is_of_call(inner->high) || pass_expr_may_stop(inner->low) ||
            pass_expr_may_stop(inner->high))
            return NULL;
        loop = inner;
    }
    return loop->step == 1 ? loop : NULL;
}

bool cuda_best_of(const struct ir_stmt *loop, struct cuda_best *best)
{
    const struct ir_stmt *inner = innermost(loop);
    *best = (struct cuda_best){.counter_count = 0};
    if (!inner || !cuda_body_is_plain(inner->body) || pass_expr_may_stop(loop->low) ||
        pass_expr_may_stop(loop->high))
        return false;
    for (const struct ir_stmt *stmt = inner->body; stmt; stmt = stmt->next) {
        bool good = stmt->kind == IR_LET || (stmt->kind == IR_ASSIGN && note_counter(best, stmt)) ||
                    (stmt->kind == IR_IF && note_choice(best, stmt));
        if (!good)
            return false;
    }
    return best->choice && is_known_assign(best, inner->body);
}
