/*
 * pass_indices.c: sums that were given a name, written out where they are indices.
 *
 * row = i + p and x[row, j] becomes x[i + p, j], so that the passes and back ends behind see how an access
 * moves with each loop. Consumes any kernel; changes indices only, and leaves the names to pass_dead.
 */
#include "pass.h"

enum { MOST_LEAVES = 8 };

/* Leaves of a sum of multiples that is the same wherever its symbols are known, names written out; more than
 * MOST_LEAVES where it is none, or too long. */
static int leaves_of(const struct ir_expr *expr)
{
    int leaves = 0;

    if (expr->dtype != AKG_INT64)
        return MOST_LEAVES + 1;
    if (expr->kind == IR_INTEGER)
        return 1;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET) {
        leaves = leaves_of(expr->symbol->value);
        return leaves <= MOST_LEAVES ? leaves : 1; /* itself */
    }
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind == IR_SYMBOL_VARIABLE ? MOST_LEAVES + 1 : 1;
    if (expr->kind != IR_OPERATION || (expr->operation != OP_ADD && expr->operation != OP_SUB &&
                                       expr->operation != OP_MUL && expr->operation != OP_NEG))
        return MOST_LEAVES + 1;
    for (int k = 0; k < expr->count && leaves <= MOST_LEAVES; k++)
        leaves += leaves_of(expr->operands[k]);
    return leaves;
}

struct writer {
    struct pass *pass;
    bool changed;
};

static struct ir_expr *write_out(struct writer *writer, struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET &&
        leaves_of(expr->symbol->value) <= MOST_LEAVES) {
        writer->changed = true;
        return write_out(writer, pass_copy(writer->pass, expr->symbol->value));
    }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = write_out(writer, expr->operands[k]);
    return expr;
}

static void write_indices(struct writer *writer, struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (leaves_of(access->indices[axis]) <= MOST_LEAVES)
            access->indices[axis] = write_out(writer, access->indices[axis]);
}

static bool see_expr(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        write_indices(context, &expr->access);
    return true;
}

static bool see_stmt(struct ir_stmt *stmt, void *context)
{
    if (stmt->kind == IR_STORE)
        write_indices(context, &stmt->access);
    ir_stmt_expressions(stmt, see_expr, context);
    return true;
}

bool pass_indices(struct pass *pass)
{
    struct writer writer = {pass, false};

    ir_block_walk(pass->kernel->body, see_stmt, &writer);
    return writer.changed;
}
