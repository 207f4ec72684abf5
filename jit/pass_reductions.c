/*
 * pass_reductions.c: notes with each FOR what it accumulates (ir_reduction in ir.h says what each kind
 * promises). Changes nothing else; whatever changes the kernel afterwards makes the notes void.
 *
 * A variable counts when it is declared outside the loop, and every use of it in the loop is in statements
 * that accumulate into it in the same way.
 */
#include "pass.h"

/* A variable in the loop at hand. */
struct accumulator {
    struct ir_symbol *symbol, *place;
    enum ir_reduction_kind kind; /* COUNT: none yet */
    bool declared;               /* in the loop */
    bool fails;                  /* is used otherwise */
};

struct recognizer {
    struct pass *pass;
    const struct ir_symbol *accumulated; /* by that, in a place that is right */
    LIST(struct accumulator *) found;    /* their symbols' notes are set */
    bool changed;
};

static struct accumulator *accumulator_of(struct recognizer *recognizer, struct ir_symbol *symbol)
{
    if (!symbol->note) {
        struct accumulator *made = arena_new(recognizer->pass->arena, struct accumulator);
        *made = (struct accumulator){.symbol = symbol, .kind = IR_REDUCTION_COUNT};
        list_push(recognizer->pass->arena, &recognizer->found, made);
        symbol->note = made;
    }
    return symbol->note;
}

static bool count_use(struct ir_expr *expr, void *context)
{
    struct recognizer *recognizer = context;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE &&
        expr->symbol != recognizer->accumulated)
        accumulator_of(recognizer, expr->symbol)->fails = true;
    return true;
}

/* ---- x = x + e -------------------------------------------------------------------------------------------
 */

static enum ir_reduction_kind kind_of(const struct ir_expr *value)
{
    switch (value->operation) {
    case OP_ADD:
    case OP_SUB:
        return IR_REDUCTION_SUM;
    case OP_FMA:
        return IR_REDUCTION_DOT;
    case OP_MUL:
        return IR_REDUCTION_PRODUCT;
    case OP_MAX:
        return IR_REDUCTION_MAX;
    case OP_MIN:
        return IR_REDUCTION_MIN;
    case OP_AND:
        return IR_REDUCTION_ALL;
    case OP_OR:
        return IR_REDUCTION_ANY;
    default:
        return IR_REDUCTION_COUNT;
    }
}

/* x + a + b leans to the left: x is the leftmost term, or the right one of the last addition. */
static bool is_term(const struct ir_expr *value, const struct ir_symbol *symbol, bool *products)
{
    const struct ir_expr *left = value->operands[0], *right = value->operands[1];
    bool right_is_product = right->kind == IR_OPERATION && right->operation == OP_MUL;
    bool left_is_product = left->kind == IR_OPERATION && left->operation == OP_MUL;

    if (ir_is_use_of(left, symbol)) {
        *products &= right_is_product;
        return true;
    }
    if (value->operation == OP_ADD && ir_is_use_of(right, symbol)) {
        *products &= left_is_product;
        return true;
    }
    *products &= right_is_product;
    return left->kind == IR_OPERATION && (left->operation == OP_ADD || left->operation == OP_SUB) &&
           is_term(left, symbol, products);
}

/* What the assignment accumulates, as if it were the only one; COUNT: nothing. */
static enum ir_reduction_kind kind_of_assign(struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;
    enum ir_reduction_kind kind;
    bool products = true;

    if (value->kind != IR_OPERATION)
        return IR_REDUCTION_COUNT;
    kind = kind_of(value);
    if (kind == IR_REDUCTION_SUM)
        return !is_term(value, stmt->symbol, &products) ? IR_REDUCTION_COUNT
               : products                               ? IR_REDUCTION_DOT
                                                        : IR_REDUCTION_SUM;
    if (kind == IR_REDUCTION_DOT)
        return ir_is_use_of(value->operands[2], stmt->symbol) ? kind : IR_REDUCTION_COUNT;
    if (kind == IR_REDUCTION_COUNT || ir_is_use_of(value->operands[0], stmt->symbol) ||
        ir_is_use_of(value->operands[1], stmt->symbol))
        return kind;
    return IR_REDUCTION_COUNT;
}

struct counting {
    const struct ir_symbol *symbol;
    int count;
};

static bool count_symbol(struct ir_expr *expr, void *context)
{
    struct counting *counting = context;
    counting->count += ir_is_use_of(expr, counting->symbol);
    return true;
}

static void merge(struct accumulator *accumulator, enum ir_reduction_kind kind)
{
    if (accumulator->kind == IR_REDUCTION_COUNT)
        accumulator->kind = kind;
    else if ((accumulator->kind == IR_REDUCTION_SUM && kind == IR_REDUCTION_DOT) ||
             (accumulator->kind == IR_REDUCTION_DOT && kind == IR_REDUCTION_SUM))
        accumulator->kind = IR_REDUCTION_SUM;
    else if (accumulator->kind != kind)
        accumulator->fails = true;
}

static void visit_assign(struct recognizer *recognizer, struct ir_stmt *stmt)
{
    struct accumulator *accumulator = accumulator_of(recognizer, stmt->symbol);
    enum ir_reduction_kind kind = kind_of_assign(stmt);
    struct counting counting = {stmt->symbol, 0};

    ir_expr_walk(stmt->value, count_symbol, &counting);
    if (kind == IR_REDUCTION_COUNT || counting.count != 1)
        accumulator->fails = true;
    else
        merge(accumulator, kind);
    recognizer->accumulated = stmt->symbol;
    ir_stmt_expressions(stmt, count_use, recognizer);
    recognizer->accumulated = NULL;
}

/* ---- if e > x: x = e; place = ... -------------------------------------------------------------------------
 */

/* e of the condition, when it compares that with x: > and >= give ARGMAX. */
static const struct ir_expr *compared(const struct ir_expr *condition, const struct ir_symbol *symbol,
                                      enum ir_reduction_kind *kind)
{
    bool greater, left;

    if (condition->kind != IR_OPERATION || (condition->operation != OP_GT && condition->operation != OP_GE &&
                                            condition->operation != OP_LT && condition->operation != OP_LE))
        return NULL;
    greater = condition->operation == OP_GT || condition->operation == OP_GE;
    left = ir_is_use_of(condition->operands[0], symbol);
    if (!left && !ir_is_use_of(condition->operands[1], symbol))
        return NULL;
    *kind = greater != left ? IR_REDUCTION_ARGMAX : IR_REDUCTION_ARGMIN;
    return condition->operands[left ? 1 : 0];
}

/* The assignment of the block to the variable that the condition is of, and the other one, if any. */
static bool find_best(const struct ir_stmt *stmt, struct ir_stmt **best, struct ir_stmt **place,
                      enum ir_reduction_kind *kind)
{
    struct ir_stmt *first = stmt->body, *second = first ? first->next : NULL;

    if (stmt->otherwise || !first || first->kind != IR_ASSIGN ||
        (second && (second->kind != IR_ASSIGN || second->next)))
        return false;
    *best = first;
    *place = second;
    if (!compared(stmt->value, first->symbol, kind) && second) {
        *best = second;
        *place = first;
    }
    const struct ir_expr *value = compared(stmt->value, (*best)->symbol, kind);
    return value && ir_expr_equal(value, (*best)->value) && !pass_mentions((*best)->value, (*best)->symbol) &&
           (!*place ||
            ((*place)->symbol != (*best)->symbol && !pass_mentions((*best)->value, (*place)->symbol) &&
             !pass_mentions((*place)->value, (*place)->symbol) &&
             !pass_mentions((*place)->value, (*best)->symbol)));
}

/* False when it is no such statement. */
static bool visit_choice(struct recognizer *recognizer, struct ir_stmt *stmt)
{
    struct ir_stmt *best, *place;
    enum ir_reduction_kind kind;
    struct accumulator *accumulator;

    if (stmt->kind != IR_IF || !find_best(stmt, &best, &place, &kind))
        return false;
    accumulator = accumulator_of(recognizer, best->symbol);
    if (accumulator->kind != IR_REDUCTION_COUNT)
        accumulator->fails = true;
    accumulator->kind = kind;
    if (place) {
        struct accumulator *other = accumulator_of(recognizer, place->symbol);
        accumulator->place = place->symbol;
        if (other->kind != IR_REDUCTION_COUNT)
            other->fails = true;
        other->kind = kind;
        other->place = place->symbol; /* its own: it is no reduction by itself */
    }
    recognizer->accumulated = best->symbol;
    ir_stmt_expressions(stmt, count_use, recognizer);
    ir_stmt_expressions(best, count_use, recognizer);
    if (place)
        ir_stmt_expressions(place, count_use, recognizer);
    recognizer->accumulated = NULL;
    return true;
}

/* ---- loops
 * ---------------------------------------------------------------------------------------------------- */

static void visit_block(struct recognizer *recognizer, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (visit_choice(recognizer, stmt))
            continue;
        if (stmt->kind == IR_ASSIGN) {
            visit_assign(recognizer, stmt);
            continue;
        }
        ir_stmt_expressions(stmt, count_use, recognizer);
        if (stmt->kind == IR_VARIABLE)
            accumulator_of(recognizer, stmt->symbol)->declared = true;
        visit_block(recognizer, stmt->body);
        struct ir_stmt *otherwise = stmt->otherwise;
        for (; otherwise && otherwise->kind == IR_IF && !otherwise->next; otherwise = otherwise->otherwise) {
            ir_stmt_expressions(otherwise, count_use, recognizer);
            visit_block(recognizer, otherwise->body);
        }
        visit_block(recognizer, otherwise);
    }
}

static bool is_reduction(const struct accumulator *accumulator)
{
    bool is_choice = accumulator->kind == IR_REDUCTION_ARGMAX || accumulator->kind == IR_REDUCTION_ARGMIN;

    if (accumulator->fails || accumulator->declared || accumulator->kind == IR_REDUCTION_COUNT ||
        accumulator->place == accumulator->symbol)
        return false;
    if (!is_choice || !accumulator->place)
        return true;
    const struct accumulator *place = accumulator->place->note;
    return !place->fails && !place->declared && place->place == place->symbol;
}

static bool visit_loop(struct ir_stmt *stmt, void *context)
{
    struct recognizer *recognizer = context;

    if (stmt->kind != IR_FOR)
        return true;
    stmt->reductions.count = 0;
    visit_block(recognizer, stmt->body);
    for (int k = 0; k < recognizer->found.count; k++) {
        const struct accumulator *accumulator = recognizer->found.items[k];
        struct ir_reduction reduction = {accumulator->kind, accumulator->symbol, accumulator->place};
        if (!is_reduction(accumulator))
            continue;
        list_push(recognizer->pass->kernel->arena, &stmt->reductions, reduction);
        recognizer->changed = true;
    }
    for (int k = 0; k < recognizer->found.count; k++)
        recognizer->found.items[k]->symbol->note = NULL;
    recognizer->found.count = 0;
    return true;
}

bool pass_reductions(struct pass *pass)
{
    struct recognizer recognizer = {.pass = pass};

    ir_block_walk(pass->kernel->body, visit_loop, &recognizer);
    return recognizer.changed;
}
