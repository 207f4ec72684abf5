/*
 * pass_simplify.c: constants are folded (by the very functions that compute at run time), scalars that are
 * only another name are looked through, conditions that are known are decided, loops of no or one iteration
 * dissolved. Extents that preconditions make equal become one symbol, so that what runs over them looks
 * alike.
 */
#include "pass.h"
#include "scalar.h"

struct simplifier {
    struct ir_expr **extents; /* by number of the dim: what to write instead; NULL: itself */
    bool changed;
};

/* ---- extents that are equal ----------------------------------------------------------------------- */

/* a <= b among dims, as some unconditional precondition says */
struct order {
    const struct ir_symbol *a, *b;
};

enum { ORDERS = 64 };

struct extents {
    struct pass *pass;
    struct simplifier *simplifier;
    struct order orders[ORDERS];
    int count;
};

static struct ir_expr *extent_of(struct extents *extents, struct ir_expr *expr)
{
    while (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_DIM &&
           extents->simplifier->extents[expr->symbol->index])
        expr = extents->simplifier->extents[expr->symbol->index];
    return expr;
}

/* A constant stands for a dim, and the first dim for a later one. */
static void make_equal(struct extents *extents, struct ir_expr *a, struct ir_expr *b)
{
    a = extent_of(extents, a);
    b = extent_of(extents, b);
    if (ir_is_dim(a) && ir_is_dim(b) && a->symbol->index < b->symbol->index)
        extents->simplifier->extents[b->symbol->index] = a;
    else if (ir_is_dim(a) && (b->kind == IR_INTEGER || (ir_is_dim(b) && a->symbol != b->symbol)))
        extents->simplifier->extents[a->symbol->index] = b;
    else if (ir_is_dim(b) && a->kind == IR_INTEGER)
        extents->simplifier->extents[b->symbol->index] = a;
}

static void note_order(struct extents *extents, struct ir_expr *a, struct ir_expr *b)
{
    if (!ir_is_dim(a) || !ir_is_dim(b))
        return;
    for (int k = 0; k < extents->count; k++)
        if (extents->orders[k].a == b->symbol && extents->orders[k].b == a->symbol)
            make_equal(extents, a, b);
    if (extents->count < ORDERS)
        extents->orders[extents->count++] = (struct order){a->symbol, b->symbol};
}

static void note_condition(struct extents *extents, struct ir_expr *condition)
{
    struct ir_expr **operands = condition->operands;

    if (condition->kind != IR_OPERATION)
        return;
    switch (condition->operation) {
    case OP_AND:
        note_condition(extents, operands[0]);
        note_condition(extents, operands[1]);
        break;
    case OP_EQ:
        make_equal(extents, operands[0], operands[1]);
        break;
    case OP_LE:
        note_order(extents, operands[0], operands[1]);
        break;
    case OP_GE:
        note_order(extents, operands[1], operands[0]);
        break;
    default:
        break;
    }
}

static void find_extents(struct pass *pass, struct simplifier *simplifier)
{
    struct extents extents = {.pass = pass, .simplifier = simplifier};
    const struct ir_kernel *kernel = pass->kernel;

    simplifier->extents = arena_array(pass->arena, struct ir_expr *, kernel->dims.count);
    for (int k = 0; k < kernel->preconditions.count; k++)
        if (!kernel->preconditions.items[k].guard)
            note_condition(&extents, kernel->preconditions.items[k].condition);
    for (int k = 0; k < kernel->dims.count; k++)
        if (simplifier->extents[k])
            simplifier->extents[k] = extent_of(&extents, simplifier->extents[k]);
}

/* ---- expressions ----------------------------------------------------------------------------------- */

static struct ir_expr *simplify_expr(struct pass *pass, struct ir_expr *expr, void *context);

static struct ir_expr *stand_in(struct pass *pass, struct simplifier *simplifier, const struct ir_expr *value,
                                const struct ir_expr *expr)
{
    struct ir_expr *copy = pass_copy(pass, value);

    simplifier->changed = true;
    copy->span = expr->span;
    return copy;
}

static struct ir_expr *simplify_symbol(struct pass *pass, struct simplifier *simplifier, struct ir_expr *expr)
{
    const struct ir_symbol *symbol = expr->symbol;
    const struct ir_expr *value = symbol->value;

    if (symbol->kind == IR_SYMBOL_DIM && simplifier->extents[symbol->index])
        return stand_in(pass, simplifier, simplifier->extents[symbol->index], expr);
    if (symbol->kind != IR_SYMBOL_LET || !value)
        return expr;
    if (value->kind == IR_INTEGER || value->kind == IR_REAL ||
        (value->kind == IR_SYMBOL && value->symbol->kind != IR_SYMBOL_VARIABLE))
        return stand_in(pass, simplifier, value, expr);
    return expr;
}

static bool is_constant(const struct ir_expr *expr)
{
    return expr->kind == IR_INTEGER || expr->kind == IR_REAL;
}

/* All operands are constants. */
static struct ir_expr *compute(struct pass *pass, const struct ir_expr *expr)
{
    union dtype_value values[3], result;

    for (int k = 0; k < expr->count; k++) {
        if (!is_constant(expr->operands[k]))
            return NULL;
        values[k] = scalar_constant(expr->operands[k]);
    }
    if (!scalar_apply(expr->operation, expr->dtype, expr->operands[0]->dtype, values, &result))
        return NULL;
    if (dtype_is_float(expr->dtype))
        return ir_real(pass->kernel, expr->dtype, dtype_to_double(expr->dtype, result));
    return ir_integer(pass->kernel, expr->dtype, result.i);
}

/* A cast of one of two constants is one of two others: `float32(1 if x[i] > 0 else 0)`. */
static void cast_inside(struct pass *pass, struct simplifier *simplifier, struct ir_expr *expr)
{
    struct ir_expr *choice = expr->operands[0];
    if (expr->operation != OP_CAST || choice->kind != IR_OPERATION || choice->operation != OP_SELECT ||
        !is_constant(choice->operands[1]) || !is_constant(choice->operands[2]))
        return;
    struct ir_expr *sides[2];
    for (int k = 0; k < 2; k++) {
        struct ir_expr *cast = ir_cast(pass->kernel, expr->dtype, choice->operands[1 + k]);
        sides[k] = is_constant(cast) ? cast : compute(pass, cast);
        if (!sides[k])
            return;
        sides[k]->span = choice->operands[1 + k]->span;
    }
    struct ir_expr *condition = choice->operands[0];
    struct ir_expr *result = ir_operation(pass->kernel, OP_SELECT, condition, sides[0], sides[1]);
    result->span = expr->span;
    *expr = *result;
    simplifier->changed = true;
}

static struct ir_expr *simplify_operation(struct pass *pass, struct simplifier *simplifier,
                                          struct ir_expr *expr)
{
    struct ir_expr *operands[3] = {NULL, NULL, NULL}, *simpler;

    for (int k = 0; k < expr->count; k++)
        operands[k] = expr->operands[k] = simplify_expr(pass, expr->operands[k], simplifier);
    simpler = expr->operation == OP_SELECT ? NULL : compute(pass, expr);
    if (!simpler)
        simpler = ir_fold(pass->kernel, expr->operation, operands);
    if (simpler) {
        simplifier->changed = true;
        if (!simpler->span.line) /* an operand has its own, for what it tests */
            simpler->span = expr->span;
        return simpler;
    }
    if (expr->checked && operands[1]->kind == IR_INTEGER &&
        (expr->operation == OP_POW ? operands[1]->integer >= 0 : operands[1]->integer != 0))
        expr->checked = false;
    cast_inside(pass, simplifier, expr);
    return expr;
}

static struct ir_expr *simplify_expr(struct pass *pass, struct ir_expr *expr, void *context)
{
    switch (expr->kind) {
    case IR_SYMBOL:
        return simplify_symbol(pass, context, expr);
    case IR_LOAD:
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = simplify_expr(pass, expr->access.indices[k], context);
        return expr;
    case IR_OPERATION:
        return simplify_operation(pass, context, expr);
    default:
        return expr;
    }
}

/* ---- statements -------------------------------------------------------------------------------------- */

static void simplify_block(struct pass *pass, struct simplifier *simplifier, struct ir_stmt **place);

static bool decided(const struct ir_expr *condition, bool *truth)
{
    *truth = condition->kind == IR_INTEGER && condition->integer;
    return condition->kind == IR_INTEGER;
}

/* Puts a block in the place of a statement; gives the place behind it, where the walk goes on: at what was
 * put there. */
static void replace_by_block(struct simplifier *simplifier, struct ir_stmt **place, struct ir_stmt *block)
{
    struct ir_stmt *next = (*place)->next;

    simplifier->changed = true;
    *place = block;
    while (*place)
        place = &(*place)->next;
    *place = next;
}

/* The chain of else-ifs that begins at *place; false when it is gone and what stands there now is to be
 * looked at. */
static bool simplify_if(struct pass *pass, struct simplifier *simplifier, struct ir_stmt **place)
{
    struct ir_stmt **chain = place;
    bool truth;

    for (;;) {
        struct ir_stmt *stmt = *chain;
        pass_rewrite(pass, stmt, simplify_expr, simplifier);
        if (decided(stmt->value, &truth)) {
            replace_by_block(simplifier, chain, truth ? stmt->body : stmt->otherwise);
            if (chain == place)
                return false;
            if (*chain && (*chain)->kind == IR_IF && !(*chain)->next)
                continue;
            simplify_block(pass, simplifier, chain);
            return true;
        }
        simplify_block(pass, simplifier, &stmt->body);
        chain = &stmt->otherwise;
        if (!*chain || (*chain)->kind != IR_IF || (*chain)->next) {
            simplify_block(pass, simplifier, chain);
            return true;
        }
    }
}

/* 0, 1, or 2 for any other number. */
static int iterations(const struct ir_stmt *stmt)
{
    int64_t distance;

    if (stmt->low->kind != IR_INTEGER || stmt->high->kind != IR_INTEGER)
        return 2;
    if (stmt->step > 0 ? stmt->low->integer >= stmt->high->integer
                       : stmt->low->integer <= stmt->high->integer)
        return 0;
    if (__builtin_sub_overflow(stmt->high->integer, stmt->low->integer, &distance))
        return 2;
    return (stmt->step > 0 ? distance <= stmt->step : distance >= stmt->step) ? 1 : 2;
}

/* False when the loop is gone. A loop whose body may stop stays: messages tell its iteration. */
static bool simplify_for(struct pass *pass, struct simplifier *simplifier, struct ir_stmt **place)
{
    struct ir_stmt *stmt = *place;
    int count;

    pass_rewrite(pass, stmt, simplify_expr, simplifier);
    count = iterations(stmt);
    if (count == 0) {
        replace_by_block(simplifier, place, NULL);
        return false;
    }
    if (count == 1 && !pass_jumps(stmt->body) && !pass_block_may_stop(stmt->body)) {
        struct ir_stmt *let = ir_stmt_new(pass->kernel, IR_LET, stmt->span);
        let->symbol = stmt->symbol;
        let->symbol->kind = IR_SYMBOL_LET;
        pass_set_value(let, stmt->low);
        let->next = stmt->body;
        replace_by_block(simplifier, place, let);
        return false;
    }
    simplify_block(pass, simplifier, &stmt->body);
    return true;
}

/* False when *place is another statement now. */
static bool simplify_stmt(struct pass *pass, struct simplifier *simplifier, struct ir_stmt **place)
{
    struct ir_stmt *stmt = *place;
    bool truth;

    switch (stmt->kind) {
    case IR_IF:
        return simplify_if(pass, simplifier, place);
    case IR_FOR:
        return simplify_for(pass, simplifier, place);
    default:
        break;
    }
    pass_rewrite(pass, stmt, simplify_expr, simplifier);
    if ((stmt->kind == IR_WHILE && decided(stmt->value, &truth) && !truth) ||
        (stmt->kind == IR_ASSERT && decided(stmt->value, &truth) && truth)) {
        replace_by_block(simplifier, place, NULL);
        return false;
    }
    if (stmt->kind == IR_WHILE)
        simplify_block(pass, simplifier, &stmt->body);
    if (stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE)
        stmt->next = NULL; /* it is never reached */
    return true;
}

static void simplify_block(struct pass *pass, struct simplifier *simplifier, struct ir_stmt **place)
{
    while (*place)
        if (simplify_stmt(pass, simplifier, place))
            place = &(*place)->next;
}

bool pass_simplify(struct pass *pass)
{
    struct simplifier simplifier = {.changed = false};

    find_extents(pass, &simplifier);
    simplify_block(pass, &simplifier, &pass->kernel->body);
    pass_sweep(&pass->kernel->body);
    return simplifier.changed;
}

void pass_simplify_block(struct pass *pass, struct ir_stmt **block)
{
    struct simplifier simplifier = {.changed = false};

    find_extents(pass, &simplifier);
    simplify_block(pass, &simplifier, block);
}
