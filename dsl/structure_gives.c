/*
 * structure_gives.c: what expressions give, as far as the text tells: tensors, tuples, numbers.
 *
 * Consumes functions whose names are bound; what calls hand in is noted with parameters (structure.c).
 * Nothing is evaluated: where the text does not tell, a parameter is a tensor.
 */
#include "structure_private.h"

bool structure_is_call_of(const struct ast_expr *expr, int builtin)
{
    return expr && expr->kind == AST_CALL && expr->a->kind == AST_NAME && !expr->a->binding &&
           expr->a->builtin == builtin;
}

struct ast_function *structure_callee(const struct ast_expr *expr)
{
    struct ast_binding *binding;
    if (!expr || expr->kind != AST_CALL || expr->a->kind != AST_NAME)
        return NULL;
    binding = ast_binding_of(expr->a);
    return binding && binding->kind == AST_BINDING_FUNCTION ? binding->function : NULL;
}

bool structure_is_operation(const struct ast_expr *expr)
{
    enum operation operation;

    switch (expr->kind) {
    case AST_UNARY:
    case AST_BINARY:
    case AST_COMPARE:
        return true;
    case AST_CALL:
        return expr->a->kind == AST_NAME && !expr->a->binding &&
               (builtin_operation(expr->a->builtin, &operation) || builtin_is_cast(expr->a->builtin));
    default:
        return false;
    }
}

bool structure_has_value(const struct ast_parameter *parameter)
{
    const struct ast_expr *annotation = parameter->annotation;

    return (parameter->initial && parameter->initial->kind != AST_NONE) ||
           (annotation && annotation->kind == AST_NAME && annotation->builtin &&
            !builtin_is_dtype(annotation->builtin));
}

bool structure_is_attribute(const struct ast_parameter *parameter)
{
    return (parameter->used_as_scalar && !parameter->used_as_tensor) || structure_has_value(parameter);
}

static bool structure_takes_tensor(const struct ast_expr *expr, int depth)
{
    if (expr->kind == AST_BINARY || expr->kind == AST_UNARY)
        return structure_gives_tensor(expr->a, depth) || structure_gives_tensor(expr->b, depth);
    for (int i = 0; i < expr->count; i++)
        if (structure_gives_tensor(expr->items[i], depth))
            return true;
    return false;
}

/* Whether its annotation has a shape of one axis or more. */
static bool structure_has_axes(const struct ast_parameter *parameter)
{
    const struct ast_expr *shape = ast_annotation_shape(parameter->annotation);

    return shape && shape->count > 0;
}

/* Of a name that is unpacked from a tuple: of tensors, as far as the text does not tell. */
static bool structure_is_tensor_item(const struct ast_binding *binding, int depth)
{
    const struct ast_expr *tuple = binding->unpacked ? structure_tuple(binding->unpacked, depth + 1) : NULL;

    if (binding->assignments != 1)
        return false;
    return !tuple || binding->item >= tuple->count ||
           structure_gives_tensor(tuple->items[binding->item], depth + 1);
}

bool structure_gives_tensor(const struct ast_expr *expr, int depth)
{
    struct ast_function *callee = structure_callee(expr);
    struct ast_binding *binding;

    if (!expr || depth > 50)
        return false;
    if (callee && !callee->is_told) { /* told once: calls within calls would double the work */
        callee->gives_tensor = structure_gives_tensor(callee->result, depth + 1);
        callee->is_told = true;
    }
    if (callee)
        return callee->gives_tensor;
    if (structure_is_operation(expr))
        return structure_takes_tensor(expr, depth + 1);
    if (structure_is_call_of(expr, BUILTIN_OUTPUT_TENSOR) || structure_is_call_of(expr, BUILTIN_ALLOCATE))
        return true;
    if (expr->kind == AST_TUPLE || expr->kind == AST_LIST_DISPLAY) {
        for (int i = 0; i < expr->count; i++)
            if (expr->items[i]->kind != AST_NONE && !structure_gives_tensor(expr->items[i], depth + 1))
                return false;
        return expr->count > 0;
    }
    if (expr->kind != AST_NAME)
        return false;
    binding = ast_binding_of(expr);
    if (binding && binding->kind == AST_BINDING_PARAMETER)
        return binding->parameter->used_as_tensor || structure_has_axes(binding->parameter) ||
               (!binding->parameter->used_as_scalar && !binding->parameter->is_handed_scalar &&
                !structure_has_value(binding->parameter));
    if (binding && binding->kind == AST_BINDING_LOCAL && !binding->declared_by)
        return structure_is_tensor_item(binding, depth);
    return binding && binding->kind == AST_BINDING_LOCAL &&
           structure_gives_tensor(binding->declared_by, depth + 1);
}

const struct ast_expr *structure_tuple(const struct ast_expr *expr, int depth)
{
    const struct ast_function *callee = structure_callee(expr);
    const struct ast_binding *binding;

    if (!expr || depth > 50)
        return NULL;
    if (expr->kind == AST_TUPLE)
        return expr;
    if (callee)
        return structure_tuple(callee->result, depth + 1);
    if (expr->kind == AST_CONDITIONAL)
        return structure_tuple(expr->a, depth + 1);
    binding = expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;
    return binding && binding->kind == AST_BINDING_LOCAL && binding->assignments == 1
               ? structure_tuple(binding->declared_by, depth + 1)
               : NULL;
}

bool structure_is_element(const struct ast_function *function, const struct ast_expr *expr)
{
    const struct ast_binding *binding =
        expr->kind == AST_SUBSCRIPT && expr->a->kind == AST_NAME ? ast_binding_of(expr->a) : NULL;

    if (!binding || binding->kind != AST_BINDING_PARAMETER || function->bprop_of)
        return false;
    return !binding->parameter->variadic && !binding->parameter->initial &&
           (!binding->parameter->annotation || binding->parameter->annotation->kind == AST_SUBSCRIPT);
}

static bool structure_is_tensor_name(const struct ast_expr *expr)
{
    const struct ast_binding *binding = expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;

    return binding && binding->kind == AST_BINDING_LOCAL &&
           (structure_is_call_of(binding->declared_by, BUILTIN_OUTPUT_TENSOR) ||
            structure_is_call_of(binding->declared_by, BUILTIN_ALLOCATE));
}

static bool structure_has_slice(const struct ast_expr *subscript)
{
    for (int i = 0; i < subscript->count; i++)
        if (subscript->items[i]->kind == AST_SLICE)
            return true;
    return false;
}

static bool structure_is_scalar_name(const struct ast_function *function, const struct ast_binding *binding,
                                     int *left)
{
    if (binding->kind == AST_BINDING_PARAMETER)
        return !binding->parameter->used_as_tensor &&
               (binding->parameter->is_handed_scalar || structure_has_value(binding->parameter));
    if (binding->kind == AST_BINDING_LOOP) /* else perhaps over tensors */
        return structure_is_call_of(binding->declared_by, BUILTIN_RANGE) ||
               structure_is_call_of(binding->declared_by, BUILTIN_CONST_RANGE);
    if (binding->kind != AST_BINDING_LOCAL)
        return false;
    if (binding->declared_by)
        return structure_is_scalar(function, binding->declared_by, left);
    const struct ast_expr *tuple = binding->unpacked ? structure_tuple(binding->unpacked, 0) : NULL;
    const struct ast_function *callee = tuple ? structure_callee(binding->unpacked) : NULL;
    return tuple && binding->item < tuple->count &&
           structure_is_scalar(callee ? callee : function, tuple->items[binding->item], left);
}

bool structure_is_scalar(const struct ast_function *function, const struct ast_expr *expr, int *left)
{
    const struct ast_function *callee = structure_callee(expr);
    const struct ast_binding *binding = expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;

    if (--*left < 0)
        return false;
    if (expr->kind == AST_SUBSCRIPT)
        return !structure_has_slice(expr) &&
               (structure_is_element(function, expr) || structure_is_tensor_name(expr->a));
    if (binding)
        return structure_is_scalar_name(function, binding, left);
    if (callee)
        return callee->result && structure_is_scalar(callee, callee->result, left);
    if (!structure_is_operation(expr))
        return false;
    for (int i = 0; i < expr->count; i++)
        if (structure_is_scalar(function, expr->items[i], left))
            return true;
    return (expr->a && expr->kind != AST_CALL && structure_is_scalar(function, expr->a, left)) ||
           (expr->b && structure_is_scalar(function, expr->b, left));
}
