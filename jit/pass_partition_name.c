/*
 * pass_partition_name.c: what a loop's variable is compared with may come out of a tensor, `if j >= w[i]`.
 *
 * Consumes a loop of step 1; gives names, before it, to elements, of narrower integers too, that conditions
 * of its body compare its variable with in every iteration and that are the same in all of them: places where
 * the loop may be cut. They are loaded where the loop has an iteration, as the program does, and only where
 * the indices are known to be inside. Where it turns out that there is no cut, the elements are put back.
 */
#include "pass_partition.h"

/* ---- which elements ----------------------------------------------------------------------------------- */

/* Whether the expression is known before the loop, and the same in all its iterations. */
static bool is_steady(struct ir_expr *expr, void *context)
{
    const struct ir_stmt *loop = context;

    if (expr->kind == IR_LOAD)
        return !ir_block_stores_to(loop->body, expr->access.buffer);
    return expr->kind != IR_SYMBOL || (expr->symbol != loop->symbol && expr->symbol->kind != IR_SYMBOL_LET &&
                                       expr->symbol->kind != IR_SYMBOL_VARIABLE);
}

/* As int64, or a name that has been given to it. */
static bool is_element(struct ir_expr *expr, const struct ir_stmt *loop)
{
    const struct ir_expr *element = expr;
    bool is_cast = expr->kind == IR_OPERATION && expr->operation == OP_CAST && expr->dtype == AKG_INT64;
    if (is_cast && dtype_is_integer(expr->operands[0]->dtype))
        element = expr->operands[0];
    if (element->kind == IR_SYMBOL)
        return is_cast && element->symbol->kind == IR_SYMBOL_LET &&
               !ir_block_declares(loop->body, element->symbol);
    return element->kind == IR_LOAD && expr->dtype == AKG_INT64 && !pass_expr_may_stop(expr) &&
           ir_expr_walk(expr, is_steady, (void *)loop);
}

static bool is_comparison(enum operation operation)
{
    return operation == OP_LT || operation == OP_LE || operation == OP_GT || operation == OP_GE ||
           operation == OP_EQ || operation == OP_NE;
}

/* The element that the condition compares the variable with whatever else it asks; NULL: there is none. */
static struct ir_expr *element_of(const struct ir_expr *condition, const struct ir_stmt *loop)
{
    while (
        condition->kind == IR_OPERATION &&
        (condition->operation == OP_AND || condition->operation == OP_OR || condition->operation == OP_NOT))
        condition = condition->operands[0];
    if (condition->kind != IR_OPERATION || !is_comparison(condition->operation))
        return NULL;
    for (int k = 0; k < 2; k++) {
        struct pass_affine other;
        if (is_element(condition->operands[k], loop) && pass_affine_of(condition->operands[1 - k], &other) &&
            pass_affine_coefficient(&other, loop->symbol) != 0)
            return condition->operands[k];
    }
    return NULL;
}

/* ---- names -------------------------------------------------------------------------------------------- */

struct naming {
    const struct ir_expr *element;
    struct ir_symbol *name;
};

static struct ir_expr *put_name(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct naming *naming = context;

    if (ir_expr_equal(expr, naming->element))
        return ir_symbol_use(pass->kernel, naming->name);
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        expr->access.indices[k] = put_name(pass, expr->access.indices[k], context);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = put_name(pass, expr->operands[k], context);
    return expr;
}

static struct ir_expr *put_element(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct naming *naming = context;

    if (expr->kind == IR_SYMBOL && expr->symbol == naming->name)
        return pass_copy(pass, naming->element);
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        expr->access.indices[k] = put_element(pass, expr->access.indices[k], context);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = put_element(pass, expr->operands[k], context);
    return expr;
}

static void rewrite_block(struct pass *pass, struct ir_stmt *block, pass_rewriter *rewrite,
                          struct naming *naming)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        pass_rewrite(pass, stmt, rewrite, naming);
        rewrite_block(pass, stmt->body, rewrite, naming);
        rewrite_block(pass, stmt->otherwise, rewrite, naming);
    }
}

/* The element where the loop runs, else 0. The end of one that goes down may have wrapped: it is compared
 * with where that begins. */
static struct ir_stmt *declare(struct pass *pass, const struct ir_stmt *loop, const struct ir_expr *element,
                               bool is_downward)
{
    struct ir_kernel *kernel = pass->kernel;
    struct ir_expr *low = pass_copy(pass, loop->low), *high = pass_copy(pass, loop->high);
    if (is_downward) {
        low = ir_operation(kernel, OP_SUB, low, ir_integer(kernel, AKG_INT64, 1), NULL);
        high = ir_operation(kernel, OP_SUB, high, ir_integer(kernel, AKG_INT64, 1), NULL);
    }
    struct ir_expr *runs = ir_operation(kernel, OP_LT, low, high, NULL);
    struct ir_expr *value =
        ir_operation(kernel, OP_SELECT, runs, pass_copy(pass, element), ir_integer(kernel, AKG_INT64, 0));

    return pass_declare(pass, IR_SYMBOL_LET, "place", value, element->span);
}

struct ir_stmt **partition_name_elements(struct partition *partition, struct ir_stmt **place,
                                         bool is_downward)
{
    struct ir_stmt *loop = *place;
    struct ir_expr *element;

    for (struct ir_stmt *stmt = loop->step == 1 ? loop->body : NULL; stmt; stmt = stmt->next)
        while (stmt->kind == IR_IF && (element = element_of(stmt->value, loop)) != NULL) {
            struct naming naming = {pass_copy(partition->pass, element), NULL};
            struct ir_stmt *let = declare(partition->pass, loop, element, is_downward);
            naming.name = let->symbol;
            rewrite_block(partition->pass, loop->body, put_name, &naming);
            let->next = loop;
            *place = let;
            place = &let->next;
        }
    return place;
}

void partition_put_back(struct partition *partition, struct ir_stmt **first, struct ir_stmt *loop)
{
    while (*first != loop) {
        struct ir_expr *value = (*first)->value;
        struct naming naming = {
            value->kind == IR_OPERATION && value->operation == OP_SELECT ? value->operands[1] : value,
            (*first)->symbol};
        rewrite_block(partition->pass, loop->body, put_element, &naming);
        *first = (*first)->next;
    }
}
