/*
 * pass_indices.c: sums that were given a name, written out where they are indices; what is no sum, but the
 * same all through the call, given a name there.
 *
 * row = i + p and x[row, j] becomes x[i + p, j], and x[i, j - D // 2] becomes x[i, j - same], so that the
 * passes and back ends behind see how an access moves with each loop. Consumes any kernel; changes indices,
 * and comparisons of int64, and leaves the names of sums to pass_dead.
 */
#include "pass.h"

enum { MOST_LEAVES = 8, MOST_NAMES = 16 };

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
    struct ir_stmt *names[MOST_NAMES]; /* LETs for the beginning of the kernel */
    int name_count;
    bool changed;
};

/* ---- what is the same all through the call ---------------------------------------------------------- */

static bool is_sum(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && (expr->operation == OP_ADD || expr->operation == OP_SUB ||
                                          expr->operation == OP_MUL || expr->operation == OP_NEG);
}

/* A use of the scalar that has the value of the expression; NULL: there are too many. */
static struct ir_expr *name_of(struct writer *writer, struct ir_expr *expr)
{
    struct ir_stmt *let = NULL;

    for (int k = 0; k < writer->name_count && !let; k++)
        if (ir_expr_equal(writer->names[k]->value, expr))
            let = writer->names[k];
    if (!let) {
        if (writer->name_count == MOST_NAMES)
            return NULL;
        let = pass_declare(writer->pass, IR_SYMBOL_LET, "same", expr, expr->span);
        writer->names[writer->name_count++] = let;
    }
    struct ir_expr *use = ir_symbol_use(writer->pass->kernel, let->symbol);
    use->span = expr->span;
    return use;
}

/* The terms of a sum that are none, and have no constant value, get names. */
static struct ir_expr *give_names(struct writer *writer, struct ir_expr *expr)
{
    struct ir_expr *use;

    if (expr->kind != IR_OPERATION || expr->dtype != AKG_INT64)
        return expr;
    if (!is_sum(expr) && pass_is_of_call(expr)) {
        use = name_of(writer, expr);
        writer->changed |= use != NULL;
        return use ? use : expr;
    }
    for (int k = 0; k < expr->count; k++)
        expr->operands[k] = give_names(writer, expr->operands[k]);
    return expr;
}

/* ---- sums ------------------------------------------------------------------------------------------- */

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
    for (int axis = 0; axis < access->buffer->rank; axis++)
        access->indices[axis] = give_names(writer, access->indices[axis]);
}

static bool see_expr(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        write_indices(context, &expr->access);
    if (expr->kind == IR_OPERATION && operation_table[expr->operation].rule == RULE_COMPARE)
        for (int k = 0; k < expr->count; k++)
            expr->operands[k] = give_names(context, expr->operands[k]);
    return true;
}

static bool see_stmt(struct ir_stmt *stmt, void *context)
{
    if (stmt->kind == IR_LET && is_sum(stmt->value))
        pass_set_value(stmt, give_names(context, stmt->value));
    if (stmt->kind == IR_STORE)
        write_indices(context, &stmt->access);
    ir_stmt_expressions(stmt, see_expr, context);
    return true;
}

bool pass_indices(struct pass *pass)
{
    struct writer writer = {.pass = pass};

    ir_block_walk(pass->kernel->body, see_stmt, &writer);
    while (writer.name_count > 0) {
        struct ir_stmt *let = writer.names[--writer.name_count];
        let->next = pass->kernel->body;
        pass->kernel->body = let;
    }
    return writer.changed;
}
