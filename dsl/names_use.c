/*
 * names_use.c: what parameters are used as, which decides whether they are tensors or scalars.
 *
 * Consumes expressions whose names are bound, in the order of the text: a name that was given a parameter is
 * that parameter until it is assigned again.
 */
#include "names_private.h"

/* The parameter that the name is, or is a copy of until it is assigned again. */
static struct ast_binding *names_parameter_of(const struct ast_expr *expr)
{
    enum { COPIES = 50 };
    struct ast_binding *binding = NULL;
    for (int k = 0; k < COPIES && expr && expr->kind == AST_NAME; k++) {
        binding = ast_binding_of(expr);
        bool is_copy = binding && binding->kind == AST_BINDING_LOCAL && binding->assignments == 1;
        expr = is_copy ? binding->declared_by : NULL;
    }
    return binding && binding->kind == AST_BINDING_PARAMETER ? binding : NULL;
}

void names_parameter_use(const struct ast_expr *expr, enum names_use use)
{
    struct ast_binding *binding = names_parameter_of(expr);
    if (!binding)
        return;
    if (use == NAMES_TENSOR)
        binding->parameter->used_as_tensor = true;
    else
        binding->parameter->used_as_scalar = true;
    binding->parameter->used_as_number |= use == NAMES_NUMBER;
}

void names_argument_use(const struct ast_expr *expr)
{
    names_parameter_use(expr, NAMES_NUMBER);
    if (expr->kind == AST_BINARY) {
        names_argument_use(expr->a);
        names_argument_use(expr->b);
    }
    for (int i = 0; expr->kind == AST_TUPLE && i < expr->count; i++)
        names_argument_use(expr->items[i]);
}
