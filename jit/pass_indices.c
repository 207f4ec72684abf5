/*
 * pass_indices.c: sums that were given a name, written out where they are indices; what is no sum, but the
 * same all through the call, given a name there.
 *
 * row = i + p and x[row, j] becomes x[i + p, j], and x[i, j - D // 2] becomes x[i, j - same], so that the
 * passes and back ends behind see how an access moves with each loop. An element that picks a row, k =
 * label[i] in front of a loop over y[k, j], becomes y[label[i], j] if nothing else stands there: then the
 * loops are rows and columns. Consumes any kernel; changes indices, and comparisons of int64, and leaves the
 * names of sums to pass_dead.
 */
#include "pass.h"

enum { MOST_LEAVES = 8, VISITS = 200 };

/* Looks at no more than `left` nodes: names that are made of each other stand for many. */
static int leaves_within(const struct ir_expr *expr, int *left)
{
    int leaves = 0;

    if (expr->dtype != AKG_INT64 || --*left < 0)
        return MOST_LEAVES + 1;
    if (expr->kind == IR_INTEGER)
        return 1;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET) {
        leaves = leaves_within(expr->symbol->value, left);
        return leaves <= MOST_LEAVES ? leaves : 1; /* itself */
    }
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind == IR_SYMBOL_VARIABLE ? MOST_LEAVES + 1 : 1;
    if (expr->kind != IR_OPERATION || (expr->operation != OP_ADD && expr->operation != OP_SUB &&
                                       expr->operation != OP_MUL && expr->operation != OP_NEG))
        return MOST_LEAVES + 1;
    for (int k = 0; k < expr->count && leaves <= MOST_LEAVES; k++)
        leaves += leaves_within(expr->operands[k], left);
    return leaves;
}

/* Leaves of a sum of multiples that is the same wherever its symbols are known, names written out; more than
 * MOST_LEAVES where it is none, or too long. */
static int leaves_of(const struct ir_expr *expr)
{
    int left = VISITS;

    return leaves_within(expr, &left);
}

/* ---- what is the same all through the call ---------------------------------------------------------- */

static bool is_sum(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && (expr->operation == OP_ADD || expr->operation == OP_SUB ||
                                          expr->operation == OP_MUL || expr->operation == OP_NEG);
}

/* A use of the scalar that has the value of the expression; NULL: there are too many. */
static struct ir_expr *name_of(struct pass_names *names, struct ir_expr *expr)
{
    struct ir_stmt *let = NULL;

    for (int k = 0; k < names->count && !let; k++)
        if (ir_expr_equal(names->lets[k]->value, expr))
            let = names->lets[k];
    if (!let) {
        if (names->count == PASS_NAMES)
            return NULL;
        let = pass_declare(names->pass, IR_SYMBOL_LET, "same", expr, expr->span);
        names->lets[names->count++] = let;
    }
    struct ir_expr *use = ir_symbol_use(names->pass->kernel, let->symbol);
    use->span = expr->span;
    return use;
}

struct ir_expr *pass_give_names(struct pass_names *names, struct ir_expr *expr)
{
    struct ir_expr *use;

    if (expr->kind != IR_OPERATION || expr->dtype != AKG_INT64)
        return expr;
    if (!is_sum(expr) && pass_is_of_call(expr)) {
        use = name_of(names, expr);
        names->changed |= use != NULL;
        return use ? use : expr;
    }
    for (int k = 0; k < expr->count; k++)
        expr->operands[k] = pass_give_names(names, expr->operands[k]);
    return expr;
}

void pass_put_names(struct pass_names *names)
{
    while (names->count > 0) {
        struct ir_stmt *let = names->lets[--names->count];
        let->next = names->pass->kernel->body;
        names->pass->kernel->body = let;
    }
}

/* ---- sums ------------------------------------------------------------------------------------------- */

static struct ir_expr *write_out(struct pass_names *names, struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET &&
        leaves_of(expr->symbol->value) <= MOST_LEAVES) {
        names->changed = true;
        return write_out(names, pass_copy(names->pass, expr->symbol->value));
    }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = write_out(names, expr->operands[k]);
    return expr;
}

static void write_indices(struct pass_names *names, struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (leaves_of(access->indices[axis]) <= MOST_LEAVES)
            access->indices[axis] = write_out(names, access->indices[axis]);
    for (int axis = 0; axis < access->buffer->rank; axis++)
        access->indices[axis] = pass_give_names(names, access->indices[axis]);
}

static bool see_expr(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        write_indices(context, &expr->access);
    if (expr->kind == IR_OPERATION && operation_table[expr->operation].rule == RULE_COMPARE)
        for (int k = 0; k < expr->count; k++)
            expr->operands[k] = pass_give_names(context, expr->operands[k]);
    return true;
}

static bool see_stmt(struct ir_stmt *stmt, void *context)
{
    if (stmt->kind == IR_LET && is_sum(stmt->value))
        pass_set_value(stmt, pass_give_names(context, stmt->value));
    if (stmt->kind == IR_STORE)
        write_indices(context, &stmt->access);
    ir_stmt_expressions(stmt, see_expr, context);
    return true;
}

/* ---- elements that pick rows ------------------------------------------------------------------------ */

/* `int64(label[i])`, or without the cast, of what the kernel never writes and no test guards; or modulo what
 * is the same all through the call, which back ends pick rows by too. */
static bool is_element(const struct ir_expr *expr)
{
    if (expr->kind == IR_OPERATION && expr->operation == OP_CAST)
        expr = expr->operands[0];
    if (expr->kind == IR_OPERATION && expr->operation == OP_MOD && expr->dtype == AKG_INT32 &&
        !expr->checked && pass_is_of_call(expr->operands[1]))
        expr = expr->operands[0];
    if (expr->kind != IR_LOAD || !dtype_is_integer(expr->dtype) || expr->access.buffer->role != IR_INPUT)
        return false;
    for (int axis = 0; axis < expr->access.buffer->rank; axis++)
        if (expr->access.checks[axis] == IR_CHECK_ELEMENT || !pass_is_pure(expr->access.indices[axis]))
            return false;
    return true;
}

/* Whether it is more than a part of indices. */
static bool is_value(const struct ir_expr *expr, const struct ir_symbol *symbol)
{
    if (expr->kind == IR_SYMBOL)
        return expr->symbol == symbol;
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        if (is_value(expr->operands[k], symbol))
            return true;
    return false;
}

static bool only_picks(struct ir_stmt *stmt, void *symbol)
{
    return !(stmt->value && is_value(stmt->value, symbol)) && !(stmt->low && is_value(stmt->low, symbol)) &&
           !(stmt->high && is_value(stmt->high, symbol));
}

static struct ir_expr *put_element(struct pass *pass, struct ir_expr *expr, const struct ir_symbol *symbol)
{
    if (expr->kind == IR_SYMBOL && expr->symbol == symbol)
        return pass_copy(pass, symbol->value);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = put_element(pass, expr->operands[k], symbol);
    return expr;
}

struct element {
    struct pass *pass;
    const struct ir_symbol *symbol;
};

static void put_into(const struct element *element, struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        access->indices[axis] = put_element(element->pass, access->indices[axis], element->symbol);
}

static bool put_into_load(struct ir_expr *expr, void *element)
{
    if (expr->kind == IR_LOAD)
        put_into(element, &expr->access);
    return true;
}

static bool put_into_store(struct ir_stmt *stmt, void *element)
{
    if (stmt->kind == IR_STORE)
        put_into(element, &stmt->access);
    return true;
}

/* The loop that all of the body is, but for names in front of it. */
static struct ir_stmt *loop_behind_names(struct ir_stmt *body)
{
    while (body && body->kind == IR_LET)
        body = body->next;
    return body && body->kind == IR_FOR && !body->next ? body : NULL;
}

static bool pick_rows(struct ir_stmt *stmt, void *context)
{
    struct pass_names *names = context;
    struct ir_stmt *inner = stmt->kind == IR_FOR ? loop_behind_names(stmt->body) : NULL;

    for (struct ir_stmt *let = inner ? stmt->body : NULL; let && let != inner; let = let->next) {
        struct element element = {names->pass, let->symbol};
        if (!is_element(let->value) || !ir_block_walk(let->next, only_picks, let->symbol))
            continue;
        ir_block_walk(let->next, put_into_store, &element);
        ir_block_expressions(let->next, put_into_load, &element);
        pass_remove(let); /* or pass_forward would bring it back */
        names->changed = true;
    }
    return true;
}

bool pass_indices(struct pass *pass)
{
    struct pass_names names = {.pass = pass};

    ir_block_walk(pass->kernel->body, pick_rows, &names);
    pass_sweep(&pass->kernel->body);
    ir_block_walk(pass->kernel->body, see_stmt, &names);
    pass_put_names(&names);
    return names.changed;
}
