/*
 * pass_narrow.c: what is cut to 32 bits or fewer is computed in 32 where that gives the same bits:
 *
 *     v = (1 if x[i - 1] >= x[i] else 0) << 7 | ...      numbers without a dtype: 64 bits
 *     y[i] = uint8(v)                                    in 32, or as few as vectors know to be enough
 *
 * Sums, differences, products, bits, and shifts to the left by less than 32 are the same modulo 2^32.
 * Consumes casts of such; names are looked through where nothing that they are made of can have changed by
 * then. They have no other parts of 64 bits than variables of loops, and are not made of these alone.
 */
#include "pass.h"

enum { NODES = 300, DEEPEST = 60 };

struct narrower {
    struct pass *pass;
    int left;     /* nodes */
    int changes;  /* operations that are in fewer bits */
    int data;     /* parts that are no numbers and no variables of loops */
    bool refused; /* a part has 64 bits of its own */
    bool changed;
};

/* ---- what may stand elsewhere ------------------------------------------------------------------------- */

/* Whether it is the same wherever its names are: nothing it loads is stored to, and no test may stop. */
static bool may_stand_elsewhere(struct ir_expr *expr)
{
    return ir_expr_is_stable(expr) && !pass_expr_may_stop(expr);
}

/* ---- in 32 bits ---------------------------------------------------------------------------------------- */

static struct ir_expr *narrowed(struct narrower *narrower, const struct ir_expr *expr, int depth);

static struct ir_expr *as_cast(struct narrower *narrower, const struct ir_expr *expr)
{
    return ir_cast(narrower->pass->kernel, AKG_INT32, pass_copy(narrower->pass, expr));
}

static bool is_modular(const struct ir_expr *expr)
{
    switch (expr->operation) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
    case OP_BITNOT:
        return true;
    case OP_SHL:
        return expr->operands[1]->kind == IR_INTEGER && expr->operands[1]->integer >= 0 &&
               expr->operands[1]->integer < 32;
    default:
        return false;
    }
}

static struct ir_expr *narrow_operation(struct narrower *narrower, const struct ir_expr *expr, int depth)
{
    struct ir_expr *operands[3] = {NULL, NULL, NULL};
    bool is_choice = expr->operation == OP_SELECT;

    if (expr->operation == OP_CAST && !dtype_is_float(expr->operands[0]->dtype) &&
        dtype_table[expr->operands[0]->dtype].size <= 4) {
        narrower->data++;
        return as_cast(narrower, expr->operands[0]);
    }
    narrower->refused |= !is_choice && !is_modular(expr);
    narrower->changes++;
    narrower->data += is_choice;
    for (int k = 0; k < expr->count && !narrower->refused; k++)
        operands[k] = is_choice && k == 0 ? pass_copy(narrower->pass, expr->operands[k])
                                          : narrowed(narrower, expr->operands[k], depth + 1);
    return narrower->refused
               ? NULL
               : ir_operation(narrower->pass->kernel, expr->operation, operands[0], operands[1], operands[2]);
}

/* Of an int64; NULL where it is refused. */
static struct ir_expr *narrowed(struct narrower *narrower, const struct ir_expr *expr, int depth)
{
    const struct ir_symbol *symbol = expr->symbol;

    narrower->refused |= --narrower->left < 0 || depth > DEEPEST;
    if (narrower->refused)
        return NULL;
    if (expr->kind == IR_INTEGER)
        return ir_integer(narrower->pass->kernel, AKG_INT32, dtype_wrap(AKG_INT32, expr->integer));
    if (expr->kind == IR_OPERATION)
        return narrow_operation(narrower, expr, depth);
    if (expr->kind == IR_SYMBOL && symbol->kind == IR_SYMBOL_LOOP)
        return as_cast(narrower, expr);
    if (expr->kind == IR_SYMBOL && symbol->kind == IR_SYMBOL_LET && symbol->value &&
        may_stand_elsewhere(symbol->value))
        return narrowed(narrower, symbol->value, depth + 1);
    narrower->refused = true;
    return NULL;
}

/* ---- casts --------------------------------------------------------------------------------------------- */

static struct ir_expr *narrow_cast(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct narrower *all = context, narrower = {.pass = pass, .left = NODES};

    if (expr->operation != OP_CAST || expr->operands[0]->dtype != AKG_INT64 ||
        !dtype_is_integer(expr->dtype) || dtype_table[expr->dtype].size > 4)
        return expr;
    struct ir_expr *value = narrowed(&narrower, expr->operands[0], 0);
    if (!value || !narrower.changes || !narrower.data)
        return expr;
    all->changed = true;
    return ir_cast(pass->kernel, expr->dtype, value);
}

static bool narrow_in(struct ir_stmt *stmt, void *context)
{
    struct narrower *narrower = context;
    pass_rewrite_operations(narrower->pass, stmt, narrow_cast, narrower);
    return true;
}

bool pass_narrow(struct pass *pass)
{
    struct narrower narrower = {.pass = pass};

    ir_block_walk(pass->kernel->body, narrow_in, &narrower);
    return narrower.changed;
}
