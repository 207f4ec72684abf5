/*
 * pass_exchange.c: two elements that change places under a condition on them are stored in any case:
 *
 *     if y[i] > y[j] { let t = y[i]; y[i] = y[j]; y[j] = t }
 *
 *     let a = y[i]; let b = y[j]; y[i] = select(a > b, b, a); y[j] = select(a > b, a, b)
 *
 * Which way it goes in a sort nobody can foresee, a processor least of all; a choice between two numbers
 * takes no jump, and what is stored in any case an iteration can hand on to the next one (pass_carry.c).
 *
 * Both elements were loaded for the condition, whatever it says, so they may be stored: the iteration that
 * exchanges them is the only one that works on them, or the loop keeps its order.
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

static bool exchange_in_block(struct pass *pass, struct ir_stmt **block)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place, *first, *second;
        changed |= exchange_in_block(pass, &stmt->body);
        changed |= exchange_in_block(pass, &stmt->otherwise);
        if (stmt->kind != IR_IF || !find_stores(stmt, &first, &second))
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
    return exchange_in_block(pass, &pass->kernel->body);
}
