/*
 * pass_recall.c: a scalar that an iteration leaves to the next one is computed by that one itself, where it
 * is as good as loaded and nothing else hangs on the order of the iterations:
 *
 *     prev = 0, for j: y[j] = x[j] - prev, prev = x[j]            becomes
 *     for j: let p = (x[j - 1] if j > 0 else prev), y[j] = x[j] - p
 *
 * Sums that the loop accumulates need no order. The condition is one on the loop's variable, at which
 * pass_partition cuts the first iteration off. It must be assigned once in each iteration, behind all its
 * uses, something small that no iteration changes. What follows the loop gets what the last iteration would
 * have left.
 */
#include "pass.h"

/* Operations that are computed twice. */
enum { MOST_OPERATIONS = 8, MOST_LOADS = 2 /* of other elements each */ };

struct recaller {
    struct pass *pass;
    struct ir_stmt *loop;
    struct ir_stmt *assign;  /* of the scalar, in the loop */
    struct ir_expr *value;   /* of it, without what the loop names */
    struct ir_symbol *other; /* looked for */
    int count, loads, operations;
    const struct ir_access *loaded[MOST_LOADS];
};

/* ---- what the value is made of ------------------------------------------------------------------- */

static bool count_assignments(struct ir_stmt *stmt, void *context)
{
    struct recaller *recaller = context;

    recaller->count += stmt->kind == IR_ASSIGN && stmt->symbol == recaller->other;
    return true;
}

static bool is_assigned(struct recaller *recaller, struct ir_symbol *symbol)
{
    recaller->other = symbol;
    recaller->count = 0;
    ir_block_walk(recaller->loop->body, count_assignments, recaller);
    return recaller->count > 0;
}

static bool is_from_outside(struct recaller *recaller, struct ir_symbol *symbol)
{
    return symbol != recaller->loop->symbol && !ir_block_declares(recaller->loop->body, symbol);
}

static void note_load(struct recaller *recaller, const struct ir_access *access)
{
    for (int k = 0; k < recaller->loads && k < MOST_LOADS; k++)
        if (ir_access_equal(recaller->loaded[k], access))
            return;
    if (recaller->loads < MOST_LOADS)
        recaller->loaded[recaller->loads] = access;
    recaller->loads++;
}

static bool is_steady(struct ir_expr *expr, void *context)
{
    struct recaller *recaller = context;

    recaller->operations += expr->kind == IR_OPERATION && expr->operation != OP_CAST;
    if (expr->kind == IR_LOAD) {
        note_load(recaller, &expr->access);
        return !ir_block_stores_to(recaller->loop->body, expr->access.buffer);
    }
    if (expr->kind != IR_SYMBOL || expr->symbol == recaller->loop->symbol)
        return true;
    return is_from_outside(recaller, expr->symbol) &&
           !(expr->symbol->kind == IR_SYMBOL_VARIABLE && is_assigned(recaller, expr->symbol));
}

/* The value with `variable` in the place of the loop's; NULL: the loop names something that is no value. */
static struct ir_expr *value_at(struct recaller *recaller, struct ir_expr *variable)
{
    struct ir_kernel *kernel = recaller->pass->kernel;

    recaller->loop->symbol->note = variable;
    for (struct ir_stmt *stmt = recaller->loop->body; stmt != recaller->assign; stmt = stmt->next)
        if (stmt->kind == IR_LET)
            stmt->symbol->note = ir_expr_substitute(kernel, stmt->value);
    struct ir_expr *value = ir_expr_substitute(kernel, recaller->assign->value);
    for (struct ir_stmt *stmt = recaller->loop->body; stmt != recaller->assign; stmt = stmt->next)
        if (stmt->kind == IR_LET)
            stmt->symbol->note = NULL;
    recaller->loop->symbol->note = NULL;
    return value;
}

static bool is_small(struct recaller *recaller)
{
    recaller->operations = recaller->loads = 0;
    recaller->value = value_at(recaller, ir_symbol_use(recaller->pass->kernel, recaller->loop->symbol));
    return ir_expr_walk(recaller->value, is_steady, recaller) && recaller->operations <= MOST_OPERATIONS &&
           recaller->loads <= MOST_LOADS && !pass_expr_may_stop(recaller->value);
}

/* ---- where the scalar is used ------------------------------------------------------------------- */

static bool is_left_to_next(struct recaller *recaller)
{
    struct ir_symbol *symbol = recaller->assign->symbol;

    return symbol->kind == IR_SYMBOL_VARIABLE && !dtype_is_half(symbol->dtype) &&
           is_from_outside(recaller, symbol) && is_assigned(recaller, symbol) && recaller->count == 1 &&
           pass_block_mentions(recaller->loop->body, symbol) &&
           !pass_block_mentions(recaller->assign->next, symbol) &&
           !pass_mentions(recaller->assign->value, symbol) && is_small(recaller);
}

/* ---- the change --------------------------------------------------------------------------------- */

static struct ir_expr *one_before(const struct recaller *recaller, struct ir_expr *end)
{
    return pass_apply(recaller->pass, OP_SUB, end, ir_integer(recaller->pass->kernel, AKG_INT64, 1));
}

/* What the iteration before left, or what was there before the loop. */
static struct ir_stmt *recall(struct recaller *recaller)
{
    struct pass *pass = recaller->pass;
    struct ir_stmt *loop = recaller->loop;
    struct ir_expr *variable = ir_symbol_use(pass->kernel, loop->symbol);
    struct ir_expr *is_later = pass_apply(recaller->pass, OP_GT, variable, pass_copy(pass, loop->low));
    struct ir_expr *before =
        value_at(recaller, one_before(recaller, ir_symbol_use(pass->kernel, loop->symbol)));
    struct ir_expr *value = ir_operation(pass->kernel, OP_SELECT, is_later, before,
                                         ir_symbol_use(pass->kernel, recaller->assign->symbol));

    return pass_declare(pass, IR_SYMBOL_LET, recaller->assign->symbol->name, value, loop->span);
}

/* What the last iteration leaves. */
static struct ir_stmt *leave(struct recaller *recaller)
{
    struct pass *pass = recaller->pass;
    struct ir_stmt *loop = recaller->loop, *choice = ir_stmt_new(pass->kernel, IR_IF, loop->span),
                   *assign = ir_stmt_new(pass->kernel, IR_ASSIGN, loop->span);

    pass_set_value(
        choice, pass_apply(recaller->pass, OP_LT, pass_copy(pass, loop->low), pass_copy(pass, loop->high)));
    assign->symbol = recaller->assign->symbol;
    pass_set_value(assign, value_at(recaller, one_before(recaller, pass_copy(pass, loop->high))));
    choice->body = assign;
    return choice;
}

static struct ir_stmt **place_of(struct ir_stmt **block, const struct ir_stmt *stmt)
{
    while (*block != stmt)
        block = &(*block)->next;
    return block;
}

/* Whether no iteration waits for another one, but to add to what is accumulated. */
static bool has_no_order(struct recaller *recaller)
{
    const struct dependences *dependences = pass_dependences(recaller->pass, recaller->loop);
    const struct dependence_loop *verdict =
        dependences ? dependence_loop_is_parallel(dependences, recaller->loop) : NULL;
    return verdict && !verdict->leaves && !verdict->incomplete &&
           (verdict->verdict == DEPENDENCE_PARALLEL || verdict->verdict == DEPENDENCE_ACCUMULATES);
}

/* Whether the iterations need no order any more: else all is as it was. */
static bool try_scalar(struct recaller *recaller, bool is_forgotten)
{
    struct ir_stmt *loop = recaller->loop, *assign = recaller->assign, *next = assign->next,
                   *let = recall(recaller), *last = leave(recaller);

    *place_of(&loop->body, assign) = next;
    pass_rename(loop->body, assign->symbol, let->symbol);
    let->next = loop->body;
    loop->body = let;
    if (has_no_order(recaller)) {
        last->next = loop->next;
        loop->next = is_forgotten ? loop->next : last;
        return true;
    }
    loop->body = let->next;
    pass_rename(loop->body, let->symbol, assign->symbol);
    struct ir_stmt **end = next ? place_of(&loop->body, next) : NULL;
    for (end = end ? end : &loop->body; *end != next;)
        end = &(*end)->next;
    *end = assign;
    return false;
}

/* The same before, in and behind the loop. */
static bool is_fixed(struct ir_expr *bound)
{
    return pass_is_pure(bound) && !ir_expr_has_variable(bound);
}

/* Whether nothing behind the loop asks for the scalar. */
static bool is_forgotten(struct ir_stmt *block, const struct recaller *recaller)
{
    struct ir_stmt *stmt = block;

    while (stmt != recaller->loop && !(stmt->kind == IR_VARIABLE && stmt->symbol == recaller->assign->symbol))
        stmt = stmt->next;
    return stmt != recaller->loop && !pass_block_mentions(recaller->loop->next, recaller->assign->symbol);
}

static bool recall_in(struct pass *pass, struct ir_stmt *block, struct ir_stmt *loop)
{
    struct recaller recaller = {.pass = pass, .loop = loop};

    if (loop->step != 1 || loop->hint || pass_jumps(loop->body) || !is_fixed(loop->low) ||
        !is_fixed(loop->high))
        return false;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        recaller.assign = stmt;
        if (stmt->kind == IR_ASSIGN && is_left_to_next(&recaller))
            return try_scalar(&recaller, is_forgotten(block, &recaller));
    }
    return false;
}

static bool recall_in_block(struct pass *pass, struct ir_stmt *block, int depth)
{
    enum { DEEPEST = 100 };
    bool changed = false;

    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        if (stmt->kind == IR_FOR)
            changed |= recall_in(pass, block, stmt);
        changed |= recall_in_block(pass, stmt->body, depth + 1);
        changed |= recall_in_block(pass, stmt->otherwise, depth + 1);
    }
    return changed;
}

bool pass_recall(struct pass *pass)
{
    return recall_in_block(pass, pass->kernel->body, 0);
}
