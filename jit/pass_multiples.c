/*
 * pass_multiples.c: a quotient by a constant that is compared becomes what is divided, compared with a
 * multiple:
 *
 *     if j // 8 <= i // 8: ...      ->      if j < i // 8 * 8 + 8: ...
 *     if j // 8 == b: ...           ->      if j >= b * 8 and j < b * 8 + 8: ...
 *
 * so that pass partition cuts the loop over j there. Consumes comparisons of int64 inside of loops, of which
 * the variable of the innermost loop is on the side of the quotient; what it is compared with is so small
 * that the multiple does not wrap.
 */
#include "pass.h"

enum { LARGEST = 1 << 20 /* of a divisor */, BITS = 40, VISITS = 64, DEEPEST = 100 };

struct multiples {
    struct pass *pass;
    struct pass_ranges around;
    bool changed;
};

static const struct ir_expr *named_value(const struct ir_expr *expr)
{
    for (int k = 0;
         k < DEEPEST && expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value;
         k++)
        expr = expr->symbol->value;
    return expr;
}

/* Which of the loops around the value hangs on, the innermost of them: 1 + its place; 0: none. `left`: parts
 * that may still be looked at; it may hang on any where there are more. */
static int loop_of(const struct multiples *multiples, const struct ir_expr *expr, int *left)
{
    int found = 0;
    if (--*left < 0)
        return PASS_RANGES + 1;
    expr = named_value(expr);
    for (int k = 0; expr->kind == IR_SYMBOL && k < multiples->around.count; k++)
        if (multiples->around.loops[k].symbol == expr->symbol)
            found = k + 1;
    if (expr->kind == IR_LOAD || (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE))
        return PASS_RANGES + 1;
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++) {
        int inside = loop_of(multiples, expr->operands[k], left);
        found = inside > found ? inside : found;
    }
    return found;
}

/* The quotient by a constant that the operand is; NULL. */
static const struct ir_expr *quotient_of(const struct ir_expr *expr)
{
    expr = named_value(expr);
    bool is_quotient = expr->kind == IR_OPERATION && expr->operation == OP_FLOORDIV && !expr->checked &&
                       expr->dtype == AKG_INT64 && expr->operands[1]->kind == IR_INTEGER;
    return is_quotient && expr->operands[1]->integer > 1 && expr->operands[1]->integer <= LARGEST ? expr
                                                                                                  : NULL;
}

/* quotient operation other */
static struct ir_expr *compare(struct multiples *multiples, enum operation operation,
                               const struct ir_expr *quotient, const struct ir_expr *other)
{
    struct pass *pass = multiples->pass;
    struct ir_expr *by = ir_integer(pass->kernel, AKG_INT64, quotient->operands[1]->integer);
    struct ir_expr *first = pass_combine(pass, OP_MUL, pass_copy(pass, other), by);
    struct ir_expr *behind = pass_combine(pass, OP_ADD, pass_copy(pass, first), pass_copy(pass, by));
    struct ir_expr *divided = pass_copy(pass, quotient->operands[0]);
    struct ir_expr *again = pass_copy(pass, quotient->operands[0]);
    switch (operation) {
    case OP_LT:
        return pass_combine(pass, OP_LT, divided, first);
    case OP_LE:
        return pass_combine(pass, OP_LT, divided, behind);
    case OP_GT:
        return pass_combine(pass, OP_GE, divided, behind);
    case OP_GE:
        return pass_combine(pass, OP_GE, divided, first);
    case OP_EQ:
        return pass_combine(pass, OP_AND, pass_combine(pass, OP_GE, divided, first),
                            pass_combine(pass, OP_LT, again, behind));
    default:
        return pass_combine(pass, OP_OR, pass_combine(pass, OP_LT, divided, first),
                            pass_combine(pass, OP_GE, again, behind));
    }
}

static struct ir_expr *rewrite(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct multiples *multiples = context;
    (void)pass;
    if (expr->kind != IR_OPERATION || operation_table[expr->operation].rule != RULE_COMPARE ||
        expr->count != 2 || expr->operands[0]->dtype != AKG_INT64)
        return expr;
    for (int side = 0; side < 2; side++) {
        const struct ir_expr *quotient = quotient_of(expr->operands[side]), *other = expr->operands[1 - side];
        int left = VISITS;
        if (!quotient)
            continue;
        int here = loop_of(multiples, quotient, &left), there = loop_of(multiples, other, &left);
        if (here > PASS_RANGES || here <= there || pass_bits_of(&multiples->around, other) > BITS)
            continue;
        multiples->changed = true;
        return compare(multiples, side ? ir_comparison_mirrored(expr->operation) : expr->operation, quotient,
                       other);
    }
    return expr;
}

static void visit_block(struct multiples *multiples, struct ir_stmt *block, int depth)
{
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        if (multiples->around.count)
            pass_rewrite_operations(multiples->pass, stmt, rewrite, multiples);
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&multiples->around, stmt);
        visit_block(multiples, stmt->body, depth + 1);
        multiples->around.count -= is_known;
        visit_block(multiples, stmt->otherwise, depth + 1);
    }
}

bool pass_multiples(struct pass *pass)
{
    struct multiples multiples = {.pass = pass};
    visit_block(&multiples, pass->kernel->body, 0);
    return multiples.changed;
}
