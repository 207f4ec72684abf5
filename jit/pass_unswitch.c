/*
 * pass_unswitch.c: an innermost loop that goes one of two ways, by a condition that is the same in all its
 * iterations, becomes two loops:
 *
 *     for j: if i % 2 == 0: y[i, j] = x[i, j] else: y[i, j] = x[i, N - 1 - j]
 *     for j: y[i, j] = x[i, select(i % 2 == 0, j, N - 1 - j)]
 *
 * become
 *
 *     if i % 2 == 0: for j: y[i, j] = x[i, j]
 *     else: for j: y[i, j] = x[i, N - 1 - j]
 *
 * and so do loops around it that hold nothing else. Lanes would do both, and gather where an index is chosen.
 * Consumes loops that only store, of more than a few iterations: what accumulates is part of a nest whose
 * lanes lie elsewhere. It runs behind partition, which cuts loops where such a condition changes only once.
 */
#include "pass.h"

enum { STATEMENTS = 24 /* of a loop */, LEAST = 17 /* iterations, where they are known */ };

struct choice {
    struct pass *pass;
    const struct ir_stmt *loop;
    const struct ir_expr *condition; /* NULL: none was found */
};

/* ---- which loops ---- */

static bool only_stores(struct ir_stmt *stmt, void *left)
{
    return stmt->kind != IR_FOR && stmt->kind != IR_ASSIGN && pass_can_be_copied(stmt, left);
}

static bool may_be_two(const struct ir_stmt *loop)
{
    int left = STATEMENTS;
    bool is_known = loop->kind == IR_FOR && loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER;

    return loop->kind == IR_FOR && !loop->hint && ir_block_walk(loop->body, only_stores, &left) &&
           !(is_known && loop->high->integer - loop->low->integer < LEAST * loop->step);
}

/* A number that one of two is, which is an index or part of one. */
static bool is_no_choice(struct ir_expr *expr, void *context)
{
    struct choice *choice = context;

    if (expr->kind != IR_OPERATION || expr->operation != OP_SELECT || expr->dtype != AKG_INT64 ||
        !pass_is_same_in_all(choice->loop, expr->operands[0]))
        return true;
    choice->condition = expr->operands[0];
    return false;
}

static bool indices_choose(struct ir_expr *expr, void *choice)
{
    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            if (!ir_expr_walk(expr->access.indices[k], is_no_choice, choice))
                return false;
    return true;
}

static bool stmt_chooses(struct ir_stmt *stmt, void *choice)
{
    if (stmt->kind == IR_LET && stmt->value->dtype == AKG_INT64 &&
        !ir_expr_walk(stmt->value, is_no_choice, choice))
        return false;
    for (int k = 0; stmt->kind == IR_STORE && k < stmt->access.buffer->rank; k++)
        if (!ir_expr_walk(stmt->access.indices[k], is_no_choice, choice))
            return false;
    return ir_stmt_expressions(stmt, indices_choose, choice);
}

static void find_condition(struct choice *choice)
{
    struct ir_stmt *body = choice->loop->body;

    if (!body->next && body->kind == IR_IF && body->body && body->otherwise &&
        pass_is_same_in_all(choice->loop, body->value))
        choice->condition = body->value;
    else
        ir_block_walk(body, stmt_chooses, choice);
}

/* ---- two loops --------------------------------------------------------------------------------------- */

struct known {
    struct pass *pass;
    const struct ir_expr *condition;
    bool holds;
};

static struct ir_expr *put_known(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct known *known = context;

    return ir_expr_equal(expr, known->condition) ? ir_integer(pass->kernel, AKG_BOOL, known->holds) : expr;
}

static bool put_in_stmt(struct ir_stmt *stmt, void *context)
{
    pass_rewrite_operations(((struct known *)context)->pass, stmt, put_known, context);
    return true;
}

/* The loop under the condition, and its copy under the opposite one. */
static struct ir_stmt *make_two(struct choice *choice, struct ir_stmt *loop)
{
    struct pass *pass = choice->pass;
    struct ir_stmt *both = ir_stmt_new(pass->kernel, IR_IF, loop->span);
    struct known known = {pass, pass_copy(pass, choice->condition), true};

    pass_set_value(both, pass_copy(pass, known.condition));
    both->next = loop->next;
    loop->next = NULL;
    both->body = loop;
    both->otherwise = pass_new_loop(pass, loop, pass_copy_block(pass, loop->body));
    ir_block_walk(both->body, put_in_stmt, &known);
    known.holds = false;
    ir_block_walk(both->otherwise, put_in_stmt, &known);
    pass_simplify_block(pass, &both->body);
    pass_simplify_block(pass, &both->otherwise);
    return both;
}

/* What holds nothing but a choice between loops, which hangs on nothing in it, becomes two loops as well. */
static struct ir_stmt *lift(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_stmt *both = loop->body;

    both->next = loop->next;
    loop->next = NULL;
    both->otherwise = pass_new_loop(pass, loop, both->otherwise);
    loop->body = both->body;
    both->body = loop;
    return both;
}

/* Gives the choice that the statement became, which is all that was in it; NULL: it stays as it is. */
static struct ir_stmt *unswitch(struct pass *pass, struct ir_stmt **place, const struct ir_stmt *inside)
{
    struct ir_stmt *loop = *place;
    struct choice choice = {.pass = pass, .loop = loop};

    if (inside && loop->kind == IR_FOR && !loop->hint && loop->body == inside && !inside->next &&
        pass_is_same_in_all(loop, inside->value))
        return *place = lift(pass, loop);
    if (may_be_two(loop) && loop->body)
        find_condition(&choice);
    return choice.condition ? *place = make_two(&choice, loop) : NULL;
}

/* Gives the last choice that was made. */
static struct ir_stmt *unswitch_block(struct pass *pass, struct ir_stmt **block, int depth, bool *changed)
{
    enum { DEEPEST = 100 };
    struct ir_stmt *last = NULL;

    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        struct ir_stmt *inside = unswitch_block(pass, &(*place)->body, depth + 1, changed);
        unswitch_block(pass, &(*place)->otherwise, depth + 1, changed);
        last = unswitch(pass, place, inside);
        *changed |= last != NULL;
    }
    return last;
}

bool pass_unswitch(struct pass *pass)
{
    bool changed = false;

    unswitch_block(pass, &pass->kernel->body, 0, &changed);
    return changed;
}
