/*
 * pass_affine.c: indices as sums of symbols: how they grow with a loop, whether two of them are the same one.
 *
 * Consumes expressions of int64 of an analysed kernel; LETs are looked into, as far as a bound on the work
 * allows. What it cannot tell it says so of: none of it is a guess.
 */
#include "pass.h"

bool pass_affine_add(struct pass_affine *a, int64_t factor, const struct pass_affine *b)
{
    int64_t product;

    if (__builtin_mul_overflow(factor, b->constant, &product) ||
        __builtin_add_overflow(a->constant, product, &a->constant))
        return false;
    for (int k = 0; k < b->count; k++) {
        int at = 0;
        while (at < a->count && a->terms[at].symbol != b->terms[k].symbol)
            at++;
        if (at == PASS_TERMS || __builtin_mul_overflow(factor, b->terms[k].coefficient, &product))
            return false;
        if (at == a->count) {
            a->terms[a->count].symbol = b->terms[k].symbol;
            a->terms[a->count++].coefficient = 0;
        }
        if (__builtin_add_overflow(a->terms[at].coefficient, product, &a->terms[at].coefficient))
            return false;
        if (a->terms[at].coefficient == 0)
            a->terms[at] = a->terms[--a->count];
    }
    return true;
}

struct ir_expr *pass_sum(struct pass *pass, const struct pass_affine *sum)
{
    struct ir_kernel *kernel = pass->kernel;
    struct ir_expr *expr = ir_integer(kernel, AKG_INT64, 0);

    for (int sign = 1; sign >= -1; sign -= 2)
        for (int k = 0; k < sum->count; k++) {
            int64_t factor = sum->terms[k].coefficient;
            if ((factor > 0) != (sign > 0))
                continue;
            struct ir_expr *term = ir_symbol_use(kernel, (struct ir_symbol *)sum->terms[k].symbol);
            term = ir_operation(kernel, OP_MUL,
                                ir_integer(kernel, AKG_INT64, (int64_t)((uint64_t)sign * (uint64_t)factor)),
                                term, NULL);
            expr = ir_operation(kernel, sign > 0 ? OP_ADD : OP_SUB, expr, term, NULL);
        }
    if (sum->constant < 0 && sum->constant != INT64_MIN)
        return ir_operation(kernel, OP_SUB, expr, ir_integer(kernel, AKG_INT64, -sum->constant), NULL);
    return ir_operation(kernel, OP_ADD, expr, ir_integer(kernel, AKG_INT64, sum->constant), NULL);
}

int64_t pass_affine_coefficient(const struct pass_affine *affine, const struct ir_symbol *symbol)
{
    for (int k = 0; k < affine->count; k++)
        if (affine->terms[k].symbol == symbol)
            return affine->terms[k].coefficient;
    return 0;
}

/* A variable may have changed since a LET was made of it, so the LET is looked into only without; and not
 * where `left` says that enough has been visited: LETs may be made of each other several times each. */
static bool affine_of(const struct ir_expr *expr, bool in_let, int *left, struct pass_affine *out);

static bool affine_of_symbol(const struct ir_symbol *symbol, bool in_let, int *left, struct pass_affine *out)
{
    if (symbol->kind == IR_SYMBOL_LET && symbol->value && *left > 0 &&
        affine_of(symbol->value, true, left, out))
        return true;
    if (in_let && symbol->kind == IR_SYMBOL_VARIABLE)
        return false;
    *out = (struct pass_affine){.count = 1};
    out->terms[0].symbol = symbol;
    out->terms[0].coefficient = 1;
    return true;
}

static bool affine_of_operation(const struct ir_expr *expr, bool in_let, int *left, struct pass_affine *out)
{
    struct pass_affine a, b;

    if (expr->operation == OP_NEG) {
        *out = (struct pass_affine){.count = 0};
        return affine_of(expr->operands[0], in_let, left, &a) && pass_affine_add(out, -1, &a);
    }
    if (expr->operation != OP_ADD && expr->operation != OP_SUB && expr->operation != OP_MUL)
        return false;
    if (!affine_of(expr->operands[0], in_let, left, &a) || !affine_of(expr->operands[1], in_let, left, &b))
        return false;
    if (expr->operation != OP_MUL) {
        *out = a;
        return pass_affine_add(out, expr->operation == OP_ADD ? 1 : -1, &b);
    }
    *out = (struct pass_affine){.count = 0};
    if (a.count == 0)
        return pass_affine_add(out, a.constant, &b);
    return b.count == 0 && pass_affine_add(out, b.constant, &a);
}

static bool affine_of(const struct ir_expr *expr, bool in_let, int *left, struct pass_affine *out)
{
    --*left;
    if (expr->dtype != AKG_INT64)
        return false;
    switch (expr->kind) {
    case IR_INTEGER:
        *out = (struct pass_affine){.constant = expr->integer};
        return true;
    case IR_SYMBOL:
        return affine_of_symbol(expr->symbol, in_let, left, out);
    case IR_OPERATION:
        return affine_of_operation(expr, in_let, left, out);
    default:
        return false;
    }
}

bool pass_affine_of(const struct ir_expr *expr, struct pass_affine *out)
{
    enum { VISITS = 1000 };
    int left = VISITS;

    return affine_of(expr, false, &left, out);
}

static bool step_of(const struct ir_expr *expr, const struct ir_symbol *variable, int *left, int64_t *step)
{
    int64_t steps[3] = {0, 0, 0};
    bool moves = false;
    *step = 0;
    if (--*left < 0)
        return false;
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        if (!step_of(expr->access.indices[k], variable, left, &steps[0]) || steps[0] != 0)
            return false;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return step_of(expr->symbol->value, variable, left, step);
    if (expr->kind != IR_OPERATION) {
        *step = expr->kind == IR_SYMBOL && expr->symbol == variable;
        return true;
    }
    for (int k = 0; k < expr->count; k++) {
        if (!step_of(expr->operands[k], variable, left, &steps[k]))
            return false;
        moves |= steps[k] != 0;
    }
    if (!moves)
        return true;
    switch (expr->operation) {
    case OP_NEG:
        return !__builtin_sub_overflow(0, steps[0], step);
    case OP_ADD:
        return !__builtin_add_overflow(steps[0], steps[1], step);
    case OP_SUB:
        return !__builtin_sub_overflow(steps[0], steps[1], step);
    case OP_MUL:
        for (int k = 0; k < 2; k++)
            if (expr->operands[k]->kind == IR_INTEGER)
                return !__builtin_mul_overflow(expr->operands[k]->integer, steps[1 - k], step);
        return false;
    default:
        return false;
    }
}

bool pass_step_of(const struct ir_expr *expr, const struct ir_symbol *variable, int64_t *step)
{
    enum { VISITS = 1000 };
    int left = VISITS;

    return step_of(expr, variable, &left, step);
}

bool pass_is_unit(const struct ir_access *access, const struct ir_symbol *variable)
{
    int last = access->buffer->rank - 1;

    for (int axis = 0; axis <= last; axis++) {
        int64_t step;
        if (!pass_step_of(access->indices[axis], variable, &step) || step != (axis == last))
            return false;
    }
    return last >= 0;
}

enum pass_relation pass_compare(const struct ir_access *a, const struct ir_access *b)
{
    enum pass_relation relation = PASS_SAME;

    for (int k = 0; k < a->buffer->rank; k++) {
        struct pass_affine x, y;
        if (ir_expr_equal(a->indices[k], b->indices[k])) {
            if (!ir_expr_loads_only_inputs(a->indices[k]))
                relation = PASS_UNKNOWN;
            continue;
        }
        if (!pass_affine_of(a->indices[k], &x) || !pass_affine_of(b->indices[k], &y) ||
            !pass_affine_add(&x, -1, &y) || x.count)
            relation = PASS_UNKNOWN;
        else if (x.constant != 0)
            return PASS_DISTINCT;
    }
    return relation;
}
