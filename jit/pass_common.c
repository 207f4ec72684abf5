/*
 * pass_common.c: a quotient or remainder of int64 that stands more than once is computed once: where it
 * stands first, in a LET, when that is executed before all others in any case.
 *
 * Only what has no load and no variable in it, so that it is the same everywhere. Sums and products are left:
 * they cost little, and later stages know them as parts of indices.
 */
#include "pass.h"

enum { KNOWN = 16 }; /* expressions at a time: the last ones */

/* An expression that has been evaluated on every way to here. */
struct known {
    struct ir_expr *expr;  /* the first one, or what its LET holds */
    struct ir_expr **slot; /* where that stands */
    struct ir_stmt *stmt;  /* in which statement */
    struct ir_stmt *let;   /* NULL: none yet */
};

struct finder {
    struct pass *pass;
    struct known known[KNOWN];
    int count;
    struct ir_stmt *stmt;
    bool changed;
};

static bool is_same_always(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind != IR_SYMBOL_VARIABLE;
    return expr->kind != IR_LOAD && !(expr->kind == IR_OPERATION && expr->checked);
}

static bool is_candidate(struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && expr->dtype == AKG_INT64 &&
           (expr->operation == OP_FLOORDIV || expr->operation == OP_MOD || expr->operation == OP_CEIL_DIV) &&
           ir_expr_walk(expr, is_same_always, NULL);
}

/* The LETs of a statement hang on its note, in order. A new one goes behind those that it uses. */
static void hang(struct ir_stmt *stmt, struct ir_stmt *let)
{
    struct ir_stmt *first = stmt->note, *after = NULL;

    for (struct ir_stmt *other = first; other; other = other->next)
        if (pass_mentions(let->value, other->symbol))
            after = other;
    let->next = after ? after->next : first;
    if (after)
        after->next = let;
    else
        stmt->note = let;
}

static struct ir_expr *use_of(struct finder *finder, const struct ir_stmt *let, struct span span)
{
    struct ir_expr *use = ir_symbol_use(finder->pass->kernel, let->symbol);

    use->span = span;
    return use;
}

/* Puts the LET's symbol in the place of the expression, which has been there before. */
static void reuse(struct finder *finder, struct known *known, struct ir_expr **slot)
{
    if (!known->let) {
        known->let = pass_declare(finder->pass, IR_SYMBOL_LET, "common", known->expr, known->expr->span);
        *known->slot = use_of(finder, known->let, known->expr->span);
        hang(known->stmt, known->let);
    }
    *slot = use_of(finder, known->let, (*slot)->span);
    finder->changed = true;
}

static void know(struct finder *finder, struct ir_expr **slot)
{
    if (finder->count == KNOWN)
        return;
    finder->known[finder->count++] = (struct known){*slot, slot, finder->stmt, NULL};
}

/* `surely`: the expression is evaluated whenever the statement is. What is inside comes first, so that the
 * rest still looks alike when that has been replaced. */
static void find_in(struct finder *finder, struct ir_expr **slot, bool surely)
{
    struct ir_expr *expr = *slot;

    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            find_in(finder, &expr->access.indices[k], surely);
    if (expr->kind != IR_OPERATION)
        return;
    bool lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
    for (int k = 0; k < expr->count; k++)
        find_in(finder, &expr->operands[k], surely && (k == 0 || !lazy));
    if (!is_candidate(expr))
        return;
    for (int k = 0; k < finder->count; k++)
        if (ir_expr_equal(finder->known[k].expr, expr)) {
            reuse(finder, &finder->known[k], slot);
            return;
        }
    if (surely)
        know(finder, slot);
}

static void find_in_stmt(struct finder *finder, struct ir_stmt *stmt)
{
    bool surely = stmt->kind != IR_WHILE; /* nothing goes before a loop that is part of it */

    finder->stmt = stmt;
    if (stmt->low)
        find_in(finder, &stmt->low, true);
    if (stmt->high)
        find_in(finder, &stmt->high, true);
    for (int k = 0; stmt->kind == IR_STORE && k < stmt->access.buffer->rank; k++)
        find_in(finder, &stmt->access.indices[k], true);
    if (stmt->value)
        find_in(finder, &stmt->value, surely);
}

static void find_in_block(struct finder *finder, struct ir_stmt *block)
{
    int count = finder->count;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        find_in_stmt(finder, stmt);
        find_in_block(finder, stmt->body);
        struct ir_stmt *otherwise = stmt->otherwise;
        for (; otherwise && otherwise->kind == IR_IF && !otherwise->next; otherwise = otherwise->otherwise)
            find_in_block(finder, otherwise->body); /* its condition is not evaluated in any case */
        find_in_block(finder, otherwise);
    }
    finder->count = count;
}

/* What hangs on statements is put before them. */
static void put_lets(struct ir_stmt **block)
{
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        *place = stmt->note ? stmt->note : stmt;
        stmt->note = NULL;
        while (*place && *place != stmt) {
            if (!(*place)->next)
                (*place)->next = stmt;
            place = &(*place)->next;
        }
        pass_set_value(stmt, stmt->value); /* of a LET it may be another expression now */
        put_lets(&stmt->body);
        for (; stmt->otherwise && stmt->otherwise->kind == IR_IF && !stmt->otherwise->next;
             stmt = stmt->otherwise)
            put_lets(&stmt->otherwise->body);
        put_lets(&stmt->otherwise);
    }
}

bool pass_common(struct pass *pass)
{
    struct finder finder = {.pass = pass};

    find_in_block(&finder, pass->kernel->body);
    put_lets(&pass->kernel->body);
    return finder.changed;
}
