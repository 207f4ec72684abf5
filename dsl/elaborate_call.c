/*
 * elaborate_call.c: calls of builtins and casts; calls of functions go on to elaborate_inline.c.
 */
#include <string.h>

#include "elaborate_private.h"

static bool elaborate_check_count(struct elaborator *e, const struct ast_expr *call, int least, int most)
{
    const char *takes;

    for (int i = 0; i < call->count; i++)
        if (call->items[i]->kind == AST_KEYWORD || call->items[i]->kind == AST_STARRED) {
            struct diagnostic_entry *message =
                elaborate_error(e, MSG_ARGUMENT_NAME, call->items[i]->span,
                                arena_format(e->arena, "'%s'", call->a->text ? call->a->text : "this"),
                                call->items[i]->text ? call->items[i]->text : "*");
            if (call->items[i]->text)
                diagnostic_note(message, "help: what it takes is given by place, without names");
            return false;
        }
    if (call->count >= least && call->count <= most)
        return true;
    takes = least == most ? arena_format(e->arena, "%d argument%s", least, least == 1 ? "" : "s")
            : most > 1000 ? arena_format(e->arena, "at least %d arguments", least)
                          : arena_format(e->arena, "%d to %d arguments", least, most);
    elaborate_error(e, MSG_ARGUMENT_COUNT, call->span,
                    arena_format(e->arena, "'%s'", call->a->text ? call->a->text : "this"), takes,
                    arena_format(e->arena, "%d %s", call->count, call->count == 1 ? "is" : "are"));
    return false;
}

static struct value elaborate_cast(struct elaborator *e, struct value value, const struct ast_expr *operand,
                                   akg_dtype type, struct span span)
{
    if (elaborate_is_standard(e, &value, 1)) {
        struct value operands[2] = {value, {.kind = VALUE_DTYPE, .type = type}};
        return elaborate_standard(e, OP_CAST, operands, 2, span);
    }
    if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
        value = elaborate_load(e, value.buffer, NULL, operand->span);
    if (value.kind == VALUE_TENSOR) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_TENSOR_ARITHMETIC, operand->span, value.buffer->name);
        diagnostic_note(message, "help: convert element by element: y[i] = %s(x[i])",
                        type_is_variable(type) ? "float32" : dtype_table[type].name);
        return value_error();
    }
    return value_cast(e, value, type, span);
}

/* min(a, b, ...) of two or more, or of one tuple. */
static struct value elaborate_extreme(struct elaborator *e, const struct ast_expr *call,
                                      const struct arguments *arguments, enum operation operation)
{
    const struct ast_expr *places[2] = {call->items[0], NULL};
    const struct value *first = &arguments->items[0].value;
    bool tuple = arguments->count == 1 && first->kind == VALUE_TUPLE && first->count > 0;
    int count = tuple ? first->count : arguments->count;
    struct value result = tuple ? first->items[0] : *first;

    if (count == 1 && first->kind == VALUE_TENSOR && first->buffer->rank > 0) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_TENSOR_ARITHMETIC, call->items[0]->span, first->buffer->name);
        diagnostic_note(message, "help: go over its elements: m = %s(m, %s[i])",
                        operation == OP_MIN ? "min" : "max", first->buffer->name);
        return value_error();
    }
    if (count == 1 && !tuple) {
        elaborate_check_count(e, call, 2, 1 << 20);
        return value_error();
    }
    for (int i = 1; i < count; i++) {
        struct value operands[2] = {result, tuple ? first->items[i] : arguments->items[i].value};
        places[1] = call->items[tuple ? 0 : i];
        result = elaborate_operation(e, operation, operands, 2, places, call->span);
    }
    return result;
}

static bool elaborate_check_arity(struct elaborator *e, const struct ast_expr *call, enum operation operation)
{
    bool any = operation == OP_MIN || operation == OP_MAX;
    int arity = operation_table[operation].arity;

    return elaborate_check_count(e, call, any ? 1 : arity, any ? 1 << 20 : arity);
}

/* A scalar function of the language, on values. */
static struct value elaborate_named_operation(struct elaborator *e, const struct ast_expr *call,
                                              const struct arguments *arguments, enum operation operation)
{
    struct value operands[3];

    if (!elaborate_check_arity(e, call, operation))
        return value_error();
    if (operation == OP_MIN || operation == OP_MAX)
        return elaborate_extreme(e, call, arguments, operation);
    for (int i = 0; i < arguments->count; i++)
        operands[i] = arguments->items[i].value;
    return elaborate_operation(e, operation, operands, arguments->count,
                               (const struct ast_expr *const *)call->items, call->span);
}

static bool arguments_have_tensor(const struct arguments *arguments)
{
    for (int i = 0; i < arguments->count; i++) {
        const struct value *value = &arguments->items[i].value;
        if (value->kind == VALUE_TENSOR ||
            (value->kind == VALUE_TUPLE && value->count && value->items[0].kind == VALUE_TENSOR))
            return true;
    }
    return false;
}

/* max(x), max(x, axes=(1,)) and max(x, (1,), True) are no maximum of two: the library's function of that name
 * is meant. */
static bool elaborate_means_named(const struct ast_expr *call, enum operation operation,
                                  const struct arguments *arguments)
{
    bool extreme = operation == OP_MIN || operation == OP_MAX, named = extreme && arguments->count == 1;

    for (int i = 0; i < arguments->count; i++)
        named |=
            arguments->items[i].name || (extreme && i > 0 && arguments->items[i].value.kind == VALUE_TUPLE);
    return named && call->a->text && arguments_have_tensor(arguments);
}

/* A call of a name that a scalar function has, and perhaps a function of the file or the library too. */
static struct value elaborate_operation_call(struct elaborator *e, const struct ast_expr *call,
                                             enum operation operation, const struct ast_function *callee)
{
    struct arguments arguments = {0};
    const struct ast_function *named;

    if (!callee && !e->frame->graph && !elaborate_check_arity(e, call, operation))
        return value_error();
    if (!elaborate_arguments(e, call, &arguments))
        return value_error();
    if (callee && (callee->is_helper || arguments_have_tensor(&arguments)))
        return elaborate_inline(e, callee, &arguments);
    named = e->frame->graph && elaborate_means_named(call, operation, &arguments)
                ? elaborate_standard_named(e, call->a->text)
                : NULL;
    return named ? elaborate_inline(e, named, &arguments)
                 : elaborate_named_operation(e, call, &arguments, operation);
}

static struct value elaborate_len(struct elaborator *e, const struct ast_expr *call)
{
    struct value value = elaborate_expr(e, call->items[0]);

    if (value.kind == VALUE_TUPLE)
        return value_int(e, value.count);
    if (value.kind == VALUE_TENSOR && value.buffer->rank > 0)
        return value_of(VALUE_INT, expr_copy(e, value.buffer->shape[0]));
    if (value.kind != VALUE_ERROR) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_OPERAND_KIND, call->items[0]->span, value_text(e, &value), "len");
        if (value.kind == VALUE_TENSOR)
            diagnostic_note(message, "note: '%s' has no axes: a list, [3], has one", value.buffer->name);
        diagnostic_note(
            message,
            "help: len is of a tensor or a tuple; a tensor's extents are x.shape[0], x.shape[1], ...");
    }
    return value_error();
}

static bool elaborate_is_half(const struct elaborator *e, akg_dtype type)
{
    akg_dtype dtype = type_decide(&e->types, type);
    return dtype == AKG_FLOAT16 || dtype == AKG_BFLOAT16;
}

/* wide(v): what formulas of several steps are computed in, and sums are made in. */
static struct value elaborate_wide(struct elaborator *e, const struct ast_expr *operand)
{
    struct value value = elaborate_expr(e, operand);

    if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
        value = elaborate_load(e, value.buffer, NULL, operand->span);
    if (value.kind == VALUE_DTYPE && elaborate_is_half(e, value.type))
        value.type = AKG_FLOAT32;
    if (value.kind == VALUE_SCALAR && elaborate_is_half(e, value.expr->dtype))
        return value_cast(e, value, AKG_FLOAT32, operand->span);
    if (value.kind != VALUE_DTYPE && value.kind != VALUE_ERROR && !value_is_number(&value)) {
        elaborate_error(e, MSG_OPERAND_KIND, operand->span, value_text(e, &value), "wide");
        return value_error();
    }
    return value;
}

static struct value elaborate_builtin(struct elaborator *e, const struct ast_expr *call, int builtin)
{
    struct diagnostic_entry *message;
    struct value value;
    akg_dtype type;

    switch (builtin) {
    case BUILTIN_LEN:
        return elaborate_check_count(e, call, 1, 1) ? elaborate_len(e, call) : value_error();
    case BUILTIN_CAST:
        if (!elaborate_check_count(e, call, 2, 2) || !elaborate_dtype(e, call->items[1], &type))
            return value_error();
        return elaborate_cast(e, elaborate_expr(e, call->items[0]), call->items[0], type, call->span);
    case BUILTIN_INT:
        if (!elaborate_check_count(e, call, 1, 1))
            return value_error();
        value = elaborate_expr(e, call->items[0]);
        return value.kind == VALUE_INT ? value : value_cast(e, value, AKG_INT32, call->span);
    case BUILTIN_FLOAT:
        if (!elaborate_check_count(e, call, 1, 1))
            return value_error();
        value = elaborate_expr(e, call->items[0]);
        if (value.kind == VALUE_STRING && strcmp(value.string, "inf") == 0)
            return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, __builtin_inf()));
        if (value.kind == VALUE_STRING && strcmp(value.string, "-inf") == 0)
            return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, -__builtin_inf()));
        if (value.kind == VALUE_STRING && strcmp(value.string, "nan") == 0)
            return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, __builtin_nan("")));
        if (value.kind == VALUE_FLOAT)
            return value;
        if (value.kind == VALUE_INT)
            return value_with_fraction(e, value, call->span);
        return value_cast(e, value, AKG_FLOAT32, call->span);
    case BUILTIN_WIDE:
        return elaborate_check_count(e, call, 1, 1) ? elaborate_wide(e, call->items[0]) : value_error();
    case BUILTIN_LIKELY:
        return elaborate_check_count(e, call, 1, 1) ? elaborate_expr(e, call->items[0]) : value_error();
    case BUILTIN_OUTPUT_TENSOR:
    case BUILTIN_ALLOCATE:
        message = elaborate_error(e, MSG_VALUE_UNUSABLE, call->span, "a new tensor");
        diagnostic_note(message, "help: give it a name: y = %s(...)", call->a->text);
        return value_error();
    default:
        message = elaborate_error(e, MSG_VALUE_UNUSABLE, call->span,
                                  arena_format(e->arena, "'%s(...)'", call->a->text));
        if (builtin == BUILTIN_REVERSED)
            diagnostic_note(message, "help: it takes a range: for i in reversed(range(n)):");
        else if (builtin <= BUILTIN_ENUMERATE)
            diagnostic_note(message, "help: loop over it: for i in %s(...):", call->a->text);
        return value_error();
    }
}

/* `x(i)` as indices between brackets; NULL where it is no call with plain arguments. `plain` says whether
 * they are names and numbers, of which nothing is lost when they are printed. */
static const char *elaborate_as_indices(struct elaborator *e, const struct ast_expr *call, bool *plain)
{
    const char *text = "";

    *plain = call->count > 0;
    for (int i = 0; i < call->count; i++) {
        const struct ast_expr *item = call->items[i];
        *plain &= item->kind == AST_NAME || item->kind == AST_INTEGER;
        text = arena_format(e->arena, "%s%s%s", text, i ? ", " : "", elaborate_source(e, item));
    }
    return call->count ? text : "i";
}

/* A call of what is no function. */
static void elaborate_refuse_called(struct elaborator *e, const struct ast_expr *call,
                                    const struct value *callee)
{
    const char *name = elaborate_source(e, call->a), *indices;
    struct diagnostic_entry *message = elaborate_error(e, MSG_NOT_CALLABLE, call->span, name);
    const struct ast_binding *binding = call->a->kind == AST_NAME ? ast_binding_of(call->a) : NULL;
    bool plain;

    indices = elaborate_as_indices(e, call, &plain);
    if (call->a->kind == AST_ATTRIBUTE && call->count == 0) {
        diagnostic_note(message, "help: it is no function: write %s", name);
        diagnostic_fix(message, "%s", name);
    } else if (call->a->kind == AST_ATTRIBUTE && call->count == 1 && strcmp(call->a->text, "size") == 0) {
        diagnostic_note(message, "help: write %s.shape[%s]", elaborate_source(e, call->a->a), indices);
        if (plain)
            diagnostic_fix(message, "%s.shape[%s]", elaborate_source(e, call->a->a), indices);
    } else if (callee->kind == VALUE_TENSOR || callee->kind == VALUE_TUPLE) {
        diagnostic_note(message, "help: elements are read with brackets: %s[%s]", name, indices);
        if (plain)
            diagnostic_fix(message, "%s[%s]", name, indices);
    } else {
        diagnostic_note(message, "note: it is %s, no function", value_text(e, callee));
    }
    if (binding && builtin_find(binding->name))
        diagnostic_note(message, "help: line %d gives the name of a function to a value: use another there",
                        binding->span.line);
}

struct value elaborate_call(struct elaborator *e, const struct ast_expr *expr)
{
    struct ast_binding *binding = expr->a->kind == AST_NAME ? ast_binding_of(expr->a) : NULL;
    struct arguments arguments = {0};
    enum operation operation;
    struct value callee;
    akg_dtype type;

    if (expr->a->kind == AST_NAME && builtin_operation(expr->a->builtin, &operation))
        return elaborate_operation_call(e, expr, operation, binding ? binding->function : NULL);
    if (binding && binding->kind == AST_BINDING_FUNCTION) {
        if (!elaborate_arguments(e, expr, &arguments))
            return value_error();
        if (expr->a->builtin == BUILTIN_CAST && !binding->function->is_helper && expr->count == 2 &&
            !arguments_have_tensor(&arguments)) /* the library's cast is of tensors */
            return elaborate_dtype(e, expr->items[1], &type)
                       ? elaborate_cast(e, arguments.items[0].value, expr->items[0], type, expr->span)
                       : value_error();
        return elaborate_inline(e, binding->function, &arguments);
    }
    if (expr->a->kind == AST_NAME && !binding) {
        int builtin = expr->a->builtin;
        if (builtin_is_dtype(builtin))
            return elaborate_check_count(e, expr, 1, 1)
                       ? elaborate_cast(e, elaborate_expr(e, expr->items[0]), expr->items[0],
                                        (akg_dtype)(builtin - BUILTIN_DTYPE), expr->span)
                       : value_error();
        if (builtin)
            return elaborate_builtin(e, expr, builtin);
        return value_error();
    }
    callee = elaborate_expr(e, expr->a);
    if (callee.kind == VALUE_DTYPE)
        return elaborate_check_count(e, expr, 1, 1) ? elaborate_cast(e, elaborate_expr(e, expr->items[0]),
                                                                     expr->items[0], callee.type, expr->span)
                                                    : value_error();
    if (callee.kind != VALUE_ERROR)
        elaborate_refuse_called(e, expr, &callee);
    return value_error();
}
