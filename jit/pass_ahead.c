/*
 * pass_ahead.c: a sum of products that about half of a square asks for is computed for all of it:
 *
 *     for i: for j: if j > i: y[i, j] = -1e9 else: { s = 0; for e: s += q[i, e] * k[j, e]; y[i, j] = s }
 *
 * becomes, where the extents tell that all of it is inside,
 *
 *     for i: for j: { s = 0; for e: s += q[i, e] * k[j, e]; y[i, j] = select(j > i, -1e9, s) }
 *
 * which is a product of matrices: twice the work takes a fifth of the time of sums that are each by
 * themselves. So does `s = 0; if j <= i: for e: s += ...`, with select(j <= i, s, 0) behind it. Consumes
 * loops one in the other around nothing but such a choice, whose condition compares the variables of two of
 * them, so that neither side is rare. What is computed besides is of no consequence: it loads what is there,
 * and is stored nowhere.
 */
#include "pass_extents.h"

enum { DEEPEST = 100, NESTED = 8, STATEMENTS = 30 /* of a nest, which there will be twice */ };

struct square {
    struct ir_stmt *loops[NESTED]; /* outermost first */
    int depth;
    struct ir_stmt *choice;
    struct ir_stmt **branch; /* of it: the one that sums up */
    struct ir_stmt *sum;     /* the loop */
    struct ir_stmt *total; /* declared in front of the choice, of which nothing else is left then; or NULL */
};

/* ---- what is looked for ------------------------------------------------------------------------------ */

/* The last statement of a block that has nothing but scalars before it; NULL: there is no such one. */
static struct ir_stmt *only_statement(struct ir_stmt *block)
{
    while (block && block->kind == IR_LET && block->next && !pass_stmt_may_stop(block))
        block = block->next;
    return block && !block->next ? block : NULL;
}

static bool is_counted(const struct ir_stmt *loop)
{
    return loop->kind == IR_FOR && !loop->hint && loop->step == 1 && pass_is_of_call(loop->low) &&
           pass_is_of_call(loop->high);
}

static bool is_of_nest(const struct square *square, const struct ir_symbol *symbol)
{
    for (int k = 0; k < square->depth; k++)
        if (square->loops[k]->symbol == symbol)
            return true;
    return false;
}

/* One variable of the nest against another one, and a small number. */
static bool parts_square(const struct square *square, const struct ir_expr *condition)
{
    enum { FARTHEST = 64 };
    struct pass_affine left, right;

    if (condition->kind != IR_OPERATION || condition->operation < OP_LT || condition->operation > OP_GE ||
        condition->operands[0]->dtype != AKG_INT64 || !pass_affine_of(condition->operands[0], &left) ||
        !pass_affine_of(condition->operands[1], &right) || !pass_affine_add(&left, -1, &right))
        return false;
    return left.count == 2 && left.constant >= -FARTHEST && left.constant <= FARTHEST &&
           left.terms[0].coefficient == -left.terms[1].coefficient &&
           (left.terms[0].coefficient == 1 || left.terms[0].coefficient == -1) &&
           is_of_nest(square, left.terms[0].symbol) && is_of_nest(square, left.terms[1].symbol);
}

/* Of the loads in a sum: how many hang on the innermost variable of the nest, and how many do not. */
struct loads {
    const struct ir_symbol *variable;
    int with, without;
};

static bool count_load(struct ir_expr *expr, void *context)
{
    struct loads *loads = context;

    if (expr->kind == IR_LOAD && pass_access_mentions(&expr->access, loads->variable))
        loads->with++;
    else if (expr->kind == IR_LOAD)
        loads->without++;
    return expr->kind != IR_OPERATION || expr->dtype == AKG_INT64 || expr->operation == OP_ADD ||
           expr->operation == OP_SUB || expr->operation == OP_MUL;
}

/* `for e: s = s + a[i, e] * b[j, e]` behind the declaration of s, which begins as a number. */
static bool sums_products(const struct square *square, const struct ir_stmt *variable,
                          const struct ir_stmt *loop)
{
    const struct ir_stmt *add = loop->body;
    struct loads loads = {.variable = square->loops[square->depth - 1]->symbol};

    if (!is_counted(loop) || !add || add->next || add->kind != IR_ASSIGN || add->symbol != variable->symbol ||
        !dtype_is_float(add->symbol->dtype) || !pass_is_pure(variable->value))
        return false;
    return ir_expr_walk(add->value, count_load, &loads) && loads.with && loads.without;
}

/* The block, from its beginning to a sum, and what is behind that has no loop. */
static bool find_sum(struct square *square, struct ir_stmt **branch)
{
    struct ir_stmt *stmt = *branch;

    while (stmt && stmt->kind == IR_LET && pass_is_pure(stmt->value))
        stmt = stmt->next;
    if (!stmt || stmt->kind != IR_VARIABLE || !stmt->next || !sums_products(square, stmt, stmt->next) ||
        !stmt->next->next || pass_has_for(stmt->next->next))
        return false;
    square->branch = branch;
    square->sum = stmt->next;
    return true;
}

/* A declaration, the choice, which only adds to that, and what is behind. */
static bool find_total(struct square *square, struct ir_stmt *block)
{
    while (block && block->kind == IR_LET && !pass_stmt_may_stop(block))
        block = block->next;
    struct ir_stmt *choice = block && block->kind == IR_VARIABLE ? block->next : NULL;
    if (!choice || choice->kind != IR_IF || choice->otherwise || !choice->next || !choice->body ||
        choice->body->next || !parts_square(square, choice->value) ||
        !sums_products(square, block, choice->body) || pass_has_for(choice->next) ||
        ir_block_assigns(choice->next, block->symbol))
        return false;
    square->total = block;
    square->choice = choice;
    square->branch = &choice->body;
    square->sum = choice->body;
    return true;
}

static bool find_square(struct ir_stmt *loop, struct square *square)
{
    struct ir_stmt *stmt = loop;

    *square = (struct square){.depth = 0};
    for (; stmt && stmt->kind == IR_FOR && square->depth < NESTED; stmt = only_statement(stmt->body)) {
        if (!is_counted(stmt))
            return false;
        square->loops[square->depth++] = stmt;
    }
    if (square->depth < 2)
        return false;
    if (!stmt)
        return find_total(square, square->loops[square->depth - 1]->body);
    if (stmt->kind != IR_IF || !parts_square(square, stmt->value))
        return false;
    square->choice = stmt;
    return find_sum(square, &stmt->body) ? !pass_has_for(stmt->otherwise)
                                         : find_sum(square, &stmt->otherwise) && !pass_has_for(stmt->body);
}

/* ---- the change ---- */

static bool trust_load(struct ir_expr *expr, void *asker)
{
    return expr->kind != IR_LOAD || extents_trust_access(asker, &expr->access);
}

/* Asks for all that the sum loads in all iterations to be there. */
static bool ask_for_all(struct asker *asker, const struct square *square)
{
    for (int k = 0; k < square->depth; k++)
        asker->loops[asker->depth++] = square->loops[k];
    asker->loops[asker->depth++] = square->sum;
    return ir_stmt_expressions(square->sum->body, trust_load, asker);
}

/* What stands before the choice in its loop gets what is in front of the branch, up to the sum. */
static void move_ahead(const struct square *square)
{
    struct ir_stmt **place = &square->loops[square->depth - 1]->body, *first = *square->branch;

    while (*place != square->choice)
        place = &(*place)->next;
    *square->branch = square->sum->next;
    square->sum->next = square->choice;
    *place = first;
}

/* The sum, and behind it a name for that or what it began with, which is what the rest works with. */
static void choose_total(struct pass *pass, const struct square *square)
{
    struct ir_stmt *total = square->total, *choice = square->choice, *rest = choice->next;
    struct ir_expr *value =
        ir_operation(pass->kernel, OP_SELECT, choice->value, ir_symbol_use(pass->kernel, total->symbol),
                     pass_copy(pass, total->value));
    value->span = total->span;
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, "chosen", value, total->span);

    pass_rename(rest, total->symbol, let->symbol);
    total->next = square->sum;
    square->sum->next = let;
    let->next = rest;
}

/* Where either side is a store of the same element, a choice between values. */
static void join_stores(struct pass *pass, struct square *square)
{
    struct ir_stmt *choice = square->choice, *a = choice->body, *b = choice->otherwise;

    if (!a || !b || a->next || b->next || a->kind != IR_STORE || b->kind != IR_STORE ||
        !ir_access_equal(&a->access, &b->access))
        return;
    struct ir_expr *value = ir_operation(pass->kernel, OP_SELECT, choice->value, a->value, b->value);
    value->span = a->value->span;
    pass_set_value(a, value);
    struct ir_stmt **place = &square->loops[square->depth - 1]->body;
    while (*place != choice)
        place = &(*place)->next;
    a->next = choice->next;
    *place = a;
}

static bool compute_ahead(struct pass *pass, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, *next = loop->next;
    struct asker asker = {.pass = pass};
    struct square square;
    int left = STATEMENTS;

    if (!find_square(loop, &square) || !ir_block_walk(loop->body, pass_can_be_copied, &left))
        return false;
    loop->next = NULL;
    struct ir_stmt *copy = pass_copy_block(pass, loop);
    loop->next = next;
    if (!find_square(copy, &square) || !ask_for_all(&asker, &square))
        return false;
    if (square.total) {
        choose_total(pass, &square);
    } else {
        move_ahead(&square);
        join_stores(pass, &square);
    }
    struct ir_expr *all = extents_all(&asker);
    if (!all) {
        copy->next = next;
        *place = copy;
        return true;
    }
    struct ir_stmt *both = ir_stmt_new(pass->kernel, IR_IF, loop->span);
    pass_set_value(both, all);
    both->body = copy;
    both->otherwise = loop;
    loop->next = NULL;
    both->next = next;
    *place = both;
    return true;
}

static bool visit_block(struct pass *pass, struct ir_stmt **block, int depth)
{
    bool changed = false;

    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        if ((*place)->kind == IR_FOR && compute_ahead(pass, place)) {
            changed = true;
            continue;
        }
        changed |= visit_block(pass, &(*place)->body, depth + 1);
        changed |= visit_block(pass, &(*place)->otherwise, depth + 1);
    }
    return changed;
}

bool pass_ahead(struct pass *pass)
{
    return visit_block(pass, &pass->kernel->body, 0);
}
