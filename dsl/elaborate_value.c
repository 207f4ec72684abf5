/*
 * elaborate_value.c: values, and how untyped numbers become typed.
 *
 * Literals, loop variables, dims and attributes have no dtype: they take that of what they
 * meet. An untyped integer is computed in int64 and converted once; an untyped
 * number with a fraction is computed in float64 where it is the same throughout a call (and
 * rounded once), else in the dtype it takes.
 */
#include "elaborate_private.h"

#include <math.h>

const char *elaborate_number(struct elaborator *e, int64_t number)
{
    return arena_format(e->arena, "%lld", (long long)number);
}

const char *elaborate_counted(struct elaborator *e, int64_t number, const char *one, const char *many)
{
    return arena_format(e->arena, "%lld %s", (long long)number, number == 1 ? one : many);
}

const char *elaborate_source(struct elaborator *e, const struct ast_expr *expr)
{
    struct text text;

    text_init(&text);
    ast_print_expr(&text, expr);
    return text_into_arena(&text, e->arena);
}

struct value value_int(struct elaborator *e, int64_t integer)
{
    return value_of(VALUE_INT, ir_integer(e->kernel, AKG_INT64, integer));
}

struct value value_extent(struct ir_expr *extent)
{
    struct value value = value_of(VALUE_INT, extent);

    value.is_given = extent->kind == IR_INTEGER;
    return value;
}

struct value value_bool(struct elaborator *e, bool boolean)
{
    return value_of(VALUE_SCALAR, ir_integer(e->kernel, AKG_BOOL, boolean));
}

bool value_constant(const struct value *value, int64_t *integer)
{
    bool untyped = value->kind == VALUE_INT && !value->is_large;
    bool boolean = value->kind == VALUE_SCALAR && value->expr->dtype == AKG_BOOL;
    if ((!untyped && !boolean) || value->expr->kind != IR_INTEGER)
        return false;
    *integer = value->expr->integer;
    return true;
}

struct ir_expr *expr_copy(struct elaborator *e, const struct ir_expr *expr)
{
    return ir_expr_substitute(e->kernel, expr);
}

struct value value_copy(struct elaborator *e, struct value value)
{
    if (value.expr)
        value.expr = expr_copy(e, value.expr);
    return value;
}

const char *value_text(struct elaborator *e, const struct value *value)
{
    switch (value->kind) {
    case VALUE_SCALAR:
        return type_allowed(&e->types, value->expr->dtype) == TYPES_ANY
                   ? "a scalar"
                   : type_text(&e->types, value->expr->dtype);
    case VALUE_INT:
        return "an integer";
    case VALUE_FLOAT:
        return "a number with a fraction";
    case VALUE_NONE:
        return "None";
    case VALUE_STRING:
        return "a string";
    case VALUE_TUPLE:
        return "a tuple";
    case VALUE_DTYPE:
        return "a dtype";
    case VALUE_TENSOR:
        return "a tensor";
    default:
        return "nothing";
    }
}

static bool expr_variant_visit(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_LOAD)
        return false;
    return expr->kind != IR_SYMBOL || expr->symbol->kind == IR_SYMBOL_DIM ||
           expr->symbol->kind == IR_SYMBOL_ATTRIBUTE;
}

static bool expr_stable_visit(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD && !(expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE);
}

bool expr_is_stable(struct ir_expr *expr)
{
    return ir_expr_walk(expr, expr_stable_visit, NULL);
}

bool expr_is_invariant(struct ir_expr *expr)
{
    return ir_expr_walk(expr, expr_variant_visit, NULL);
}

struct expr_size_count {
    int size, limit;
};

static bool expr_size_visit(struct ir_expr *expr, void *context)
{
    struct expr_size_count *count = context;
    (void)expr;
    return ++count->size < count->limit;
}

int expr_size(struct ir_expr *expr, int limit)
{
    struct expr_size_count count = {0, limit};
    ir_expr_walk(expr, expr_size_visit, &count);
    return count.size;
}

static bool expr_constants_visit(struct ir_expr *expr, void *context)
{
    struct elaborator *e = context;
    const struct ir_symbol *symbol = expr->kind == IR_SYMBOL ? expr->symbol : NULL;
    bool decides = e->frame->graph || e->decides;
    int parameter = -1;

    if (symbol && symbol->kind == IR_SYMBOL_ATTRIBUTE && (symbol->dtype != AKG_FLOAT64 || decides))
        parameter = e->attribute_parameter[symbol->index];
    if (symbol && symbol->kind == IR_SYMBOL_DIM && decides && !e->general)
        parameter = e->input_parameter.items[symbol->buffer->index];
    if (parameter >= 0)
        e->result->needs_constant[parameter] = e->result->retry = true;
    return true;
}

bool expr_demand_constants(struct elaborator *e, struct ir_expr *expr)
{
    ir_expr_walk(expr, expr_constants_visit, e);
    return e->result->retry;
}

static bool expr_evaluated_visit(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL && !type_is_variable(expr->dtype);
}

struct ir_expr *expr_decide(struct elaborator *e, struct ir_expr *expr, int64_t usual)
{
    struct ir_expr *value;

    if (expr->kind == IR_INTEGER || expr->kind == IR_REAL || !expr_is_invariant(expr))
        return expr;
    e->decides = true;
    expr_demand_constants(e, expr);
    e->decides = false;
    if (e->result->retry)
        return NULL;
    /* whole-number comparisons are folded already, others not */
    value = ir_expr_walk(expr, expr_evaluated_visit, NULL) ? e->evaluate(e->kernel, expr) : NULL;
    if (value || !e->general)
        return value ? value : expr;
    e->result->is_open = true;
    return dtype_is_float(expr->dtype) ? ir_real(e->kernel, expr->dtype, (double)usual)
                                       : ir_integer(e->kernel, expr->dtype, usual);
}

struct ir_expr *expr_node(struct elaborator *e, enum operation operation, akg_dtype dtype, struct ir_expr *a,
                          struct ir_expr *b, struct ir_expr *c, struct span span)
{
    struct ir_expr *expr;

    if (dtype == AKG_INT64 && a->dtype == AKG_INT64 && operation != OP_CAST && operation != OP_SELECT) {
        expr = ir_operation(e->kernel, operation, a, b, c);
    } else if (dtype == AKG_BOOL && (a->dtype == AKG_INT64 || a->dtype == AKG_BOOL) && operation != OP_CAST &&
               (!b || b->dtype == a->dtype)) {
        expr = ir_operation(e->kernel, operation, a, b, c);
    } else {
        expr = arena_new(e->arena, struct ir_expr);
        expr->kind = IR_OPERATION;
        expr->dtype = dtype;
        expr->operation = operation;
        expr->count = c ? 3 : b ? 2 : 1;
        expr->operands = arena_array(e->arena, struct ir_expr *, expr->count);
        expr->operands[0] = a;
        if (b)
            expr->operands[1] = b;
        if (c)
            expr->operands[2] = c;
    }
    if (expr->kind == IR_OPERATION && expr->span.line == 0)
        expr->span = span;
    if (expr->kind == IR_OPERATION && expr->operation == operation)
        expr->checked = operation == OP_FLOORDIV || operation == OP_MOD || operation == OP_CEIL_DIV ||
                        (operation == OP_POW && !(b && b->kind == IR_INTEGER && b->integer >= 0));
    return e->calls ? elaborate_known_value(e, expr, span) : expr;
}

/* Re-types a tree of untyped float arithmetic. */
static struct ir_expr *expr_retype(struct elaborator *e, struct ir_expr *expr, akg_dtype type)
{
    struct ir_expr *copy, *operands[3] = {NULL, NULL, NULL};

    if (expr->dtype != AKG_FLOAT64)
        return expr_copy(e, expr); /* the condition of a choice */
    if (expr->kind == IR_REAL) {
        copy = expr_copy(e, expr);
        copy->dtype = type;
        return copy;
    }
    if (expr->kind != IR_OPERATION || expr_is_invariant(expr))
        return expr_node(e, OP_CAST, type, expr_copy(e, expr), NULL, NULL, expr->span);
    if (expr->operation == OP_CAST)
        return expr_node(e, OP_CAST, type, expr_copy(e, expr->operands[0]), NULL, NULL, expr->span);
    for (int i = 0; i < expr->count; i++)
        operands[i] = expr_retype(e, expr->operands[i], type);
    return expr_node(e, expr->operation, type, operands[0], operands[1], operands[2], expr->span);
}

static struct ir_expr *value_coerce_int(struct elaborator *e, struct value value, akg_dtype type,
                                        struct span span)
{
    struct ir_expr *expr = value.expr;

    if (!type_restrict(&e->types, type, TYPES_NUMBER)) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_MIXED_DTYPES, span, "bool", "an integer");
        diagnostic_note(message, "help: write True or False, or compare: x != 0");
        return NULL;
    }
    type = type_find(&e->types, type);
    if (expr->kind != IR_INTEGER)
        return type == AKG_INT64 ? expr_copy(e, expr)
                                 : expr_node(e, OP_CAST, type, expr_copy(e, expr), NULL, NULL, span);
    if (!type_is_variable(type) && dtype_is_integer(type)) {
        bool fits = value.is_large ? type == AKG_UINT64
                                   : dtype_wrap(type, expr->integer) == expr->integer &&
                                         (type != AKG_UINT64 || expr->integer >= 0);
        if (!fits && !value.is_given) {
            struct diagnostic_entry *message = elaborate_error(
                e, MSG_NUMBER_RANGE, span,
                value.is_large ? arena_format(e->arena, "%llu", (unsigned long long)expr->integer)
                               : elaborate_number(e, expr->integer),
                dtype_table[type].name);
            diagnostic_note(message, "help: to wrap it on purpose, cast a value that fits: %s(int64(%lld))",
                            dtype_table[type].name, (long long)expr->integer);
            return NULL;
        }
    }
    expr = expr_copy(e, expr);
    if (value.is_given && !type_is_variable(type) && dtype_is_integer(type))
        expr->integer = dtype_wrap(type, expr->integer);
    if (value.is_large && (type_is_variable(type) || dtype_is_float(type)))
        expr->integer = INT64_MAX;
    expr->dtype = type; /* elaborate_finish makes it a real where the type is a float */
    return expr;
}

struct ir_expr *value_coerce(struct elaborator *e, struct value value, akg_dtype type, struct span span)
{
    struct diagnostic_entry *message;

    switch (value.kind) {
    case VALUE_ERROR:
        return NULL;
    case VALUE_INT:
        return value_coerce_int(e, value, type, span);
    case VALUE_FLOAT:
        if (type_restrict(&e->types, type, TYPES_FLOAT))
            return expr_retype(e, value.expr, type_find(&e->types, type));
        if (value.expr->kind == IR_REAL) {
            struct text number;
            const char *shown;
            text_init(&number);
            text_double(&number, value.expr->real);
            shown = text_into_arena(&number, e->arena);
            message = elaborate_error(e, MSG_FLOAT_TO_INT, span, shown, type_text(&e->types, type));
        } else {
            message = elaborate_error(e, MSG_FLOAT_TO_INT, span, "this number", type_text(&e->types, type));
        }
        diagnostic_note(message, "help: convert the other side to a float, float32(...), or this one to the "
                                 "integer dtype");
        return NULL;
    case VALUE_SCALAR:
        if (type_unify(&e->types, value.expr->dtype, type))
            return value.expr;
        message =
            elaborate_error(e, MSG_MIXED_DTYPES, span, type_text(&e->types, type), value_text(e, &value));
        diagnostic_note(message, "note: no conversion is silent here");
        diagnostic_note(message, "help: convert one side, for example %s(...)",
                        type_is_variable(type_find(&e->types, type))
                            ? "float32"
                            : dtype_table[type_find(&e->types, type)].name);
        return NULL;
    default:
        elaborate_error(e, MSG_VALUE_UNUSABLE, span, value_text(e, &value));
        return NULL;
    }
}

struct value value_cast(struct elaborator *e, struct value value, akg_dtype type, struct span span)
{
    struct ir_expr *expr;

    if (value.kind == VALUE_ERROR)
        return value;
    if (!value_is_number(&value)) {
        elaborate_error(e, MSG_VALUE_UNUSABLE, span, value_text(e, &value));
        return value_error();
    }
    if (value.kind == VALUE_INT && value.is_large) {
        expr = value_coerce(e, value, type, span);
        return expr ? value_of(VALUE_SCALAR, expr) : value_error();
    }
    if (value.kind == VALUE_FLOAT && !(type_allowed(&e->types, type) & ~TYPES_FLOAT))
        return value_of(VALUE_SCALAR, expr_retype(e, value.expr, type));
    expr = expr_node(e, OP_CAST, type, expr_copy(e, value.expr), NULL, NULL, span);
    return value_of(VALUE_SCALAR, expr);
}

struct ir_expr *value_settle(struct elaborator *e, struct value value, struct span span)
{
    if (value.kind == VALUE_INT)
        return value_coerce(e, value, type_fresh(&e->types, TYPES_NUMBER, false), span);
    if (value.kind == VALUE_FLOAT)
        return value_coerce(e, value, type_fresh(&e->types, TYPES_FLOAT, false), span);
    if (value.kind == VALUE_SCALAR)
        return value.expr;
    if (value.kind != VALUE_ERROR)
        elaborate_error(e, MSG_VALUE_UNUSABLE, span, value_text(e, &value));
    return NULL;
}

/* A graph function beside others that none of them calls may be a helper that is not used yet: what its text
 * does not tell of its parameters would follow from the calls. */
static void value_note_uncalled(const struct elaborator *e, struct diagnostic_entry *message)
{
    const struct ast_function *function = e->function;

    if (e->frame->caller || function->is_called || !function->is_graph || function->bprop_of ||
        function->module->function_count == 1)
        return;
    for (int i = 0; i < function->parameter_count; i++) {
        const struct ast_parameter *parameter = &function->parameters[i];
        if (parameter->annotation || parameter->initial || !parameter->used_as_scalar)
            continue;
        diagnostic_note(
            message,
            "note: no function calls '%s', so its parameters are taken for tensors; of a number say "
            "so: %s: float",
            function->name, parameter->name);
        return;
    }
}

struct ir_expr *value_condition(struct elaborator *e, struct value value, struct span span)
{
    struct ir_expr *zero;

    if (value.kind == VALUE_ERROR)
        return NULL;
    if (!value_is_number(&value)) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_CONDITION_TYPE, span, value_text(e, &value));
        if (value.kind == VALUE_TENSOR) {
            value_note_uncalled(e, message);
            diagnostic_note(
                message, e->frame->graph
                             ? "help: whole tensors are joined by &, | and ~, (a > 0) & (b > 0), and one of "
                               "two is chosen by where(condition, a, b)"
                             : "help: test an element, x[i] > 0, or whether it was given: x is not None");
        } else
            diagnostic_note(message, "help: write a comparison: n > 0");
        return NULL;
    }
    if (value.kind == VALUE_FLOAT) {
        zero = ir_real(e->kernel, AKG_FLOAT64, 0.0);
        return expr_node(e, OP_NE, AKG_BOOL, value.expr, zero, NULL, span);
    }
    if (type_find(&e->types, value.expr->dtype) == AKG_BOOL)
        return value.expr;
    if (value.kind == VALUE_SCALAR && (type_allowed(&e->types, value.expr->dtype) & TYPES_BOOL))
        return expr_node(e, OP_CAST, AKG_BOOL, value.expr, NULL, NULL,
                         span); /* a bool or a number: open still */
    if (value.kind == VALUE_SCALAR && !type_restrict(&e->types, value.expr->dtype, TYPES_NUMBER))
        return NULL;
    zero = ir_integer(e->kernel, AKG_INT64, 0);
    zero->dtype = value.expr->dtype;
    return expr_node(e, OP_NE, AKG_BOOL, value.expr, zero, NULL, span);
}

struct ir_expr *value_index(struct elaborator *e, struct value value, struct span span)
{
    if (value.kind == VALUE_INT)
        return expr_copy(e, value.expr);
    if (value.kind == VALUE_SCALAR && type_restrict(&e->types, value.expr->dtype, TYPES_INTEGER)) {
        type_mark_index(&e->types, value.expr->dtype);
        return type_find(&e->types, value.expr->dtype) == AKG_INT64
                   ? value.expr
                   : expr_node(e, OP_CAST, AKG_INT64, value.expr, NULL, NULL, span);
    }
    if (value.kind != VALUE_ERROR) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_INDEX_DTYPE, span, value_text(e, &value));
        if (value.kind == VALUE_SCALAR && type_find(&e->types, value.expr->dtype) != AKG_BOOL)
            diagnostic_note(message, "help: convert it: int64(...)");
        else if (value.kind == VALUE_FLOAT)
            diagnostic_note(message, "help: compute it with integers; // divides them");
        else if (value.kind == VALUE_TUPLE || value.kind == VALUE_TENSOR)
            diagnostic_note(message, "help: the extent of the first axis is x.shape[0]");
    }
    return NULL;
}

struct value value_with_fraction(struct elaborator *e, struct value value, struct span span)
{
    return value_of(VALUE_FLOAT, value.expr->kind == IR_INTEGER
                                     ? ir_real(e->kernel, AKG_FLOAT64, (double)value.expr->integer)
                                     : expr_node(e, OP_CAST, AKG_FLOAT64, value.expr, NULL, NULL, span));
}
