/*
 * pass_breaks.c: a loop that a condition on its variable breaks out of ends where the condition begins to
 * hold:
 *
 *     for k = 0 to K: { if i + k >= L: break; ... }  ->  for k = 0 to min(K, L - i): ...
 *
 * Consumes loops that begin with such a choice, or end with one: of two sums that cannot wrap, over extents
 * and the variables of loops, whose difference grows or falls by one with the variable, so that it holds
 * from some iteration on, or at first or never. Before it nothing is run but what notes scalars, goes on with
 * the next iteration, or breaks; or everything, if no iteration goes on without asking. `if a or b: break`
 * are two of them, and so is `if not (c and d): break`; `if c: ... else: break` begins with one. What the
 * variable is compared with may be an element, `if k >= length[i]: break`. (pass_breaks_few.c has the rest.)
 */
#include "pass_breaks.h"

enum { DEEPEST = 100, BITS = 60, PARTS = 60 };

struct breaks {
    struct pass *pass;
    struct pass_ranges around;
    bool changed;
};

/* Bits of a sum or product, and whether there are attributes in it: of extents alone, none wraps. `left`: as
 * below. */
static int bits_with_attributes(const struct ir_expr *expr, int *left, bool *found)
{
    enum { EXTENT = 40, SMALL = 6, WIDE = 64 };
    if (--*left < 0)
        return WIDE;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return bits_with_attributes(expr->symbol->value, left, found);
    if (expr->kind == IR_INTEGER)
        return expr->integer > -(1 << SMALL) && expr->integer < 1 << SMALL ? SMALL : EXTENT;
    if (expr->kind != IR_OPERATION) {
        bool is_attribute = expr->kind == IR_SYMBOL && expr->symbol->known.bits;
        *found |= is_attribute;
        return is_attribute ? expr->symbol->known.bits : EXTENT;
    }
    int a = bits_with_attributes(expr->operands[0], left, found);
    int b = expr->count > 1 ? bits_with_attributes(expr->operands[1], left, found) : 0;
    return expr->operation == OP_MUL ? a + b : (a > b ? a : b) + 1;
}

static bool may_wrap(const struct ir_expr *product, int *left)
{
    enum { MOST = 62 };
    bool found = false;
    return bits_with_attributes(product, left, &found) > MOST && found;
}

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
        return expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_LOOP ||
               expr->symbol->known.bits;
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
    for (int k = 0; expr->operation == OP_MUL && k < 2; k++)
        if (expr->operands[k]->kind == IR_INTEGER)
            return !__builtin_mul_overflow(k ? *count : other, expr->operands[k]->integer, count);
    return *count == 0 && other == 0 && !may_wrap(expr, left);
}

/* A copy, of which the variable is that. */
static struct ir_expr *at_place(struct breaks *breaks, const struct ir_expr *expr,
                                const struct ir_symbol *variable, const struct ir_expr *place)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return at_place(breaks, expr->symbol->value, variable, place);
    if (expr->kind == IR_SYMBOL && expr->symbol == variable)
        return pass_copy(breaks->pass, place);
    struct ir_expr *copy = pass_copy(breaks->pass, expr);
    for (int k = 0; copy->kind == IR_OPERATION && k < copy->count; k++)
        copy->operands[k] = at_place(breaks, expr->operands[k], variable, place);
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

/* Where a condition is asked: by each iteration before it does anything, by those that do something, or by
 * each behind all else. */
enum place { FIRST, SECOND, LAST };

/* The condition is a >= b, or a > b, one way or the other. */
static bool end_at(struct breaks *breaks, struct ir_stmt *loop, const struct ir_expr *condition,
                   enum place place)
{
    int64_t more, less, step;
    int left = PARTS;

    if (condition->kind != IR_OPERATION || condition->operation < OP_LT || condition->operation > OP_GE)
        return false;
    bool is_turned = condition->operation == OP_LT || condition->operation == OP_LE;
    bool is_strict = condition->operation == OP_LT || condition->operation == OP_GT;
    const struct ir_expr *a = condition->operands[is_turned], *b = condition->operands[!is_turned];
    if (!count_in(a, loop->symbol, &left, &more) || !count_in(b, loop->symbol, &left, &less) ||
        __builtin_sub_overflow(more, less, &step) || (step != 1 && step != -1) ||
        pass_bits_of(&breaks->around, a) > BITS || pass_bits_of(&breaks->around, b) > BITS)
        return false;
    if ((step > 0) != (loop->step > 0)) { /* it holds at first, or never */
        struct ir_expr *holds = at_place(breaks, condition, loop->symbol, loop->low);
        if (place != FIRST)
            return false;
        loop->high = ir_operation(breaks->pass->kernel, OP_SELECT, holds, pass_copy(breaks->pass, loop->low),
                                  loop->high);
        return true;
    }
    const struct ir_expr *zero = pass_number(breaks->pass, 0);
    struct ir_expr *at[] = {at_place(breaks, a, loop->symbol, zero), at_place(breaks, b, loop->symbol, zero)};
    struct ir_expr *end = pass_combine(breaks->pass, OP_SUB, at[step > 0], at[step < 0]);
    if (is_strict)
        end = pass_combine(breaks->pass, OP_ADD, end, pass_number(breaks->pass, step));
    enum operation nearer = step > 0 ? OP_MIN : OP_MAX, farther = step > 0 ? OP_MAX : OP_MIN;
    if (place == LAST) { /* the iteration that breaks is run, and the first one is in any case */
        end = pass_combine(breaks->pass, farther, end, pass_copy(breaks->pass, loop->low));
        end = pass_combine(breaks->pass, OP_ADD, end, pass_number(breaks->pass, step > 0 ? 1 : -1));
    }
    loop->high = pass_combine(breaks->pass, nearer, loop->high, end);
    return true;
}

/* ---- ends that are loaded ---------------------------------------------------------------------------- */

/* An element of an input, of an integer that one more of still is one of int64. */
static bool is_element(const struct ir_stmt *loop, const struct ir_expr *expr)
{
    if (expr->kind == IR_OPERATION && expr->operation == OP_CAST && expr->dtype == AKG_INT64)
        expr = expr->operands[0];
    if (expr->kind != IR_LOAD || expr->access.buffer->role != IR_INPUT || !dtype_is_integer(expr->dtype) ||
        dtype_table[expr->dtype].size > 4 || pass_access_may_stop((struct ir_access *)&expr->access) ||
        pass_access_mentions(&expr->access, loop->symbol))
        return false;
    for (int axis = 0; axis < expr->access.buffer->rank; axis++)
        if (!pass_is_pure(expr->access.indices[axis]))
            return false;
    return true;
}

/* k >= m[i] or k > m[i], one way or the other: what the loop ends at; NULL: it is no such condition. */
static struct ir_expr *element_end(struct breaks *breaks, const struct ir_stmt *loop,
                                   const struct ir_expr *condition)
{
    if (loop->step != 1 || condition->kind != IR_OPERATION || condition->operation < OP_LT ||
        condition->operation > OP_GE)
        return NULL;
    bool is_turned = condition->operation == OP_LT || condition->operation == OP_LE;
    bool is_strict = condition->operation == OP_LT || condition->operation == OP_GT;
    const struct ir_expr *variable = condition->operands[is_turned], *end = condition->operands[!is_turned];
    if (variable->kind != IR_SYMBOL || variable->symbol != loop->symbol || !is_element(loop, end))
        return NULL;
    return pass_combine(breaks->pass, OP_ADD, pass_copy(breaks->pass, end),
                        pass_number(breaks->pass, is_strict));
}

/* The element may be there only for those who run the loop. */
static void end_at_element(struct breaks *breaks, struct ir_stmt *loop, struct ir_expr *end)
{
    struct ir_stmt *inside = ir_stmt_new(breaks->pass->kernel, IR_FOR, loop->span);
    *inside = *loop;
    inside->next = NULL;
    inside->high = pass_combine(breaks->pass, OP_MIN, loop->high, end);
    loop->kind = IR_IF;
    loop->otherwise = NULL;
    loop->symbol = NULL;
    loop->body = inside;
    pass_set_value(loop, pass_combine(breaks->pass, OP_LT, pass_copy(breaks->pass, inside->low),
                                      pass_copy(breaks->pass, loop->high)));
    loop->low = loop->high = NULL;
}

/* ---- choices ------------------------------------------------------------------------------------------- */

struct ir_expr *breaks_negated(struct pass *pass, struct ir_expr *expr)
{
    enum operation operation = expr->operation;

    if (expr->kind != IR_OPERATION)
        return ir_operation(pass->kernel, OP_NOT, expr, NULL, NULL);
    if (operation == OP_NOT)
        return expr->operands[0];
    if (operation == OP_AND || operation == OP_OR)
        return ir_operation(pass->kernel, operation == OP_AND ? OP_OR : OP_AND,
                            breaks_negated(pass, expr->operands[0]), breaks_negated(pass, expr->operands[1]),
                            NULL);
    if ((operation == OP_LT || operation == OP_GE || operation == OP_GT || operation == OP_LE) &&
        dtype_is_integer(expr->operands[0]->dtype)) /* of floats there is nan */
        return ir_operation(pass->kernel, ir_comparison_negated(operation), expr->operands[0],
                            expr->operands[1], NULL);
    return ir_operation(pass->kernel, OP_NOT, expr, NULL, NULL);
}

static bool is_break(const struct ir_stmt *block)
{
    return block && block->kind == IR_BREAK;
}

static void insert_behind(struct ir_stmt *stmt, struct ir_stmt *block)
{
    struct ir_stmt *last = block;

    if (!block)
        return;
    while (last->next)
        last = last->next;
    last->next = stmt->next;
    stmt->next = block;
}

/* Makes `if c: break`, with simple conditions, of what a loop begins with. */
static void simplify_choice(struct breaks *breaks, struct ir_stmt *stmt)
{
    struct ir_stmt *body = stmt->body;

    if (stmt->kind != IR_IF || !pass_is_pure(stmt->value) || (!is_break(body) && !is_break(stmt->otherwise)))
        return;
    if (!is_break(body)) {
        pass_set_value(stmt, breaks_negated(breaks->pass, stmt->value));
        stmt->body = stmt->otherwise;
        stmt->otherwise = body;
    }
    breaks->changed = true;
    insert_behind(stmt, stmt->otherwise);
    stmt->otherwise = NULL;
    if (stmt->value->kind == IR_OPERATION && stmt->value->operation == OP_NOT)
        pass_set_value(stmt, breaks_negated(breaks->pass, stmt->value->operands[0]));
    while (stmt->value->kind == IR_OPERATION && stmt->value->operation == OP_OR) {
        struct ir_stmt *second = ir_stmt_new(breaks->pass->kernel, IR_IF, stmt->span);
        pass_set_value(second, stmt->value->operands[1]);
        second->body = ir_stmt_new(breaks->pass->kernel, IR_BREAK, stmt->body->span);
        pass_set_value(stmt, stmt->value->operands[0]);
        insert_behind(stmt, second);
    }
}

static void end_early(struct breaks *breaks, struct ir_stmt *loop)
{
    enum place place = FIRST;
    struct ir_expr *end = NULL;
    bool is_left = false; /* the loop may be left before */

    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (pass_is_removed(stmt)) /* the loop is inside of a choice by now */
            continue;
        simplify_choice(breaks, stmt);
        bool breaks_out = stmt->kind == IR_IF && is_break(stmt->body) && !stmt->otherwise;
        if (breaks_out && !end && !is_left && place == FIRST &&
            (end = element_end(breaks, loop, stmt->value))) {
            pass_remove(stmt);
            continue;
        }
        if (!does_nothing(stmt))
            break;
        if (breaks_out && end_at(breaks, loop, stmt->value, place)) {
            pass_remove(stmt);
            breaks->changed = true;
        } else {
            is_left |= breaks_out;
        }
        if (stmt->kind == IR_IF && !is_break(stmt->body))
            place = SECOND;
    }
    if (end) {
        end_at_element(breaks, loop, end);
        breaks->changed = true;
    }
}

/* A choice behind all else, which each iteration comes to. */
static void end_late(struct breaks *breaks, struct ir_stmt *loop)
{
    struct ir_stmt **place = &loop->body;

    if (!*place || loop->step < -1 || loop->step > 1)
        return;
    while ((*place)->next)
        place = &(*place)->next;
    struct ir_stmt *last = *place;
    if (last->kind != IR_IF || !is_break(last->body) || last->otherwise || !pass_is_pure(last->value) ||
        pass_is_removed(last))
        return;
    *place = NULL;
    bool jumps = pass_jumps(loop->body);
    *place = last;
    if (!jumps && end_at(breaks, loop, last->value, LAST)) {
        pass_remove(last);
        breaks->changed = true;
    }
}

static void visit_block(struct breaks *breaks, struct ir_stmt *block, int depth)
{
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&breaks->around, stmt);
        if (is_known) {
            end_early(breaks, stmt);
            end_late(breaks, stmt);
        }
        visit_block(breaks, stmt->body, depth + 1);
        breaks->around.count -= is_known;
        visit_block(breaks, stmt->otherwise, depth + 1);
    }
}

bool pass_breaks(struct pass *pass)
{
    struct breaks breaks = {.pass = pass};
    int nests = 0;

    visit_block(&breaks, pass->kernel->body, 0);
    pass_sweep(&pass->kernel->body);
    return breaks_of_few(pass, &pass->kernel->body, &nests, 0) || breaks.changed;
}
