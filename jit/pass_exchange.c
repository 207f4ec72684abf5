/*
 * pass_exchange.c: elements that a comparison with them decides about are stored in any case. Two that change
 * places under a condition on them:
 *
 *     if y[i] > y[j] { let t = y[i]; y[i] = y[j]; y[j] = t }
 *
 *     let a = y[i]; let b = y[j]; y[i] = select(a > b, b, a); y[j] = select(a > b, a, b)
 *
 * Which way it goes in a sort nobody can foresee, a processor least of all; a choice between two numbers
 * takes no jump, and what is stored in any case an iteration can hand on to the next one (pass_carry.c).
 *
 * And one that is replaced by what it was compared with, where the innermost loop goes along it:
 *
 *     for d { if x[i, d] > y[k[i], d] { y[k[i], d] = x[i, d] } }
 *
 *     for d { y[k[i], d] = select(x[i, d] > y[k[i], d], x[i, d], y[k[i], d]) }       (of integers: their max)
 *
 * A vector that is stored whole needs no mask, and a row that an index picks is tested once for what loads it
 * and what stores it (vector_pick.c).
 *
 * The elements were loaded for the condition, whatever it says, so they may be stored: the iteration that
 * works on them is the only one to do so, or the loop keeps its order.
 */
#include "pass.h"

static bool is_load_of(const struct ir_expr *expr, const struct ir_access *access)
{
    return expr->kind == IR_LOAD && ir_access_equal(&expr->access, access);
}

/* The two stores of the exchange; false: it is none. */
static bool find_stores(const struct ir_stmt *stmt, struct ir_stmt **first, struct ir_stmt **second)
{
    const struct ir_stmt *kept = stmt->body;
    *first = kept ? kept->next : NULL;
    *second = *first ? (*first)->next : NULL;
    return *second && !(*second)->next && !stmt->otherwise && kept->kind == IR_LET &&
           (*first)->kind == IR_STORE && (*second)->kind == IR_STORE &&
           is_load_of(kept->value, &(*first)->access) && is_load_of((*first)->value, &(*second)->access) &&
           (*second)->value->kind == IR_SYMBOL && (*second)->value->symbol == kept->symbol;
}

static bool is_comparison_of(const struct ir_expr *expr, const struct ir_access *a, const struct ir_access *b)
{
    return expr->kind == IR_OPERATION && operation_table[expr->operation].rule == RULE_COMPARE &&
           is_load_of(expr->operands[0], a) && is_load_of(expr->operands[1], b);
}

/* What stands in the place of the condition; the elements are loaded in its order. */
static struct ir_stmt *exchange(struct pass *pass, const struct ir_stmt *stmt, struct ir_stmt *first,
                                struct ir_stmt *second, bool is_turned)
{
    struct ir_kernel *kernel = pass->kernel;
    const struct ir_expr *test = stmt->value;
    struct ir_stmt *left = pass_declare(pass, IR_SYMBOL_LET, "left", test->operands[0], stmt->span),
                   *right = pass_declare(pass, IR_SYMBOL_LET, "right", test->operands[1], stmt->span);
    struct ir_symbol *a = is_turned ? right->symbol : left->symbol,
                     *b = is_turned ? left->symbol : right->symbol;
    struct ir_stmt *stores[] = {first, second};
    for (int k = 0; k < 2; k++) {
        struct ir_expr *condition = ir_operation(kernel, test->operation, ir_symbol_use(kernel, left->symbol),
                                                 ir_symbol_use(kernel, right->symbol), NULL);
        stores[k]->value = ir_operation(kernel, OP_SELECT, condition, ir_symbol_use(kernel, k ? a : b),
                                        ir_symbol_use(kernel, k ? b : a));
    }
    left->next = right;
    right->next = first;
    second->next = stmt->next;
    return left;
}

/* Whether the loop goes along the last axis, whatever the other indices are that stay. */
static bool goes_along(const struct ir_access *access, const struct ir_symbol *variable)
{
    int last = access->buffer->rank - 1;
    struct pass_affine affine;
    for (int axis = 0; axis < last; axis++)
        if (pass_mentions(access->indices[axis], variable))
            return false;
    return last >= 0 && pass_affine_of(access->indices[last], &affine) &&
           pass_affine_coefficient(&affine, variable) == 1;
}

/* Which operand of the comparison the element along the loop is that the other one replaces; -1: it is
 * nothing of that kind. */
static int find_kept(const struct ir_stmt *stmt, const struct ir_stmt *loop)
{
    const struct ir_stmt *store = stmt->body;
    const struct ir_expr *test = stmt->value;
    if (!loop || loop->kind != IR_FOR || stmt->otherwise || !store || store->next ||
        store->kind != IR_STORE || test->kind != IR_OPERATION || test->operation < OP_LT ||
        test->operation > OP_GE || dtype_is_half(store->access.buffer->dtype) ||
        !goes_along(&store->access, loop->symbol))
        return -1;
    for (int side = 0; side < 2; side++)
        if (is_load_of(test->operands[side], &store->access) &&
            ir_expr_equal(test->operands[1 - side], store->value))
            return side;
    return -1;
}

/* What stands in the place of the condition: loads come before the store, and stop before it does. */
static struct ir_stmt *keep(struct pass *pass, const struct ir_stmt *stmt, int side)
{
    struct ir_kernel *kernel = pass->kernel;
    struct ir_stmt *store = stmt->body;
    struct ir_expr *test = stmt->value;
    bool is_greater = (test->operation == OP_GT || test->operation == OP_GE) == (side == 1);
    struct ir_stmt *left = pass_declare(pass, IR_SYMBOL_LET, "left", test->operands[0], stmt->span),
                   *right = pass_declare(pass, IR_SYMBOL_LET, "right", test->operands[1], stmt->span);
    struct ir_expr *a = ir_symbol_use(kernel, left->symbol), *b = ir_symbol_use(kernel, right->symbol);
    if (dtype_is_integer(a->dtype)) {
        pass_set_value(store, ir_operation(kernel, is_greater ? OP_MAX : OP_MIN, a, b, NULL));
    } else {
        test = ir_operation(kernel, test->operation, a, b, NULL);
        a = ir_symbol_use(kernel, side ? left->symbol : right->symbol);
        b = ir_symbol_use(kernel, side ? right->symbol : left->symbol);
        pass_set_value(store, ir_operation(kernel, OP_SELECT, test, a, b));
    }
    left->next = right;
    right->next = store;
    store->next = stmt->next;
    return left;
}

static bool exchange_in_block(struct pass *pass, struct ir_stmt **block, const struct ir_stmt *loop)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place, *first, *second;
        bool loops = stmt->kind == IR_FOR || stmt->kind == IR_WHILE;
        changed |= exchange_in_block(pass, &stmt->body, loops ? stmt : loop);
        changed |= exchange_in_block(pass, &stmt->otherwise, loop);
        if (stmt->kind != IR_IF)
            continue;
        int kept = find_kept(stmt, loop);
        if (kept >= 0) {
            struct ir_stmt *store = stmt->body;
            *place = keep(pass, stmt, kept);
            while (*place != store)
                place = &(*place)->next;
            changed = true;
            continue;
        }
        if (!find_stores(stmt, &first, &second))
            continue;
        bool is_turned = is_comparison_of(stmt->value, &second->access, &first->access);
        if (!is_turned && !is_comparison_of(stmt->value, &first->access, &second->access))
            continue;
        *place = exchange(pass, stmt, first, second, is_turned);
        while (*place != second)
            place = &(*place)->next;
        changed = true;
    }
    return changed;
}

bool pass_exchange(struct pass *pass)
{
    return exchange_in_block(pass, &pass->kernel->body, NULL);
}
