/*
 * elaborate_expression.c: names, operators and conditions to values.
 */
#include <string.h>

#include "elaborate_private.h"

static const struct value *elaborate_slot_value(struct elaborator *e, struct ast_binding *binding)
{
    return &elaborate_slot(e, binding)->value;
}

/* ---- names ------------------------------------------------------------------------ */

/* An annotation may name tensors whose own extents are found later. */
static bool has_extents(const struct value *value)
{
    bool has = true;

    for (int k = 0; value->kind == VALUE_TUPLE && k < value->count; k++)
        has &= has_extents(&value->items[k]);
    for (int k = 0; value->kind == VALUE_TENSOR && k < value->buffer->rank; k++)
        has &= value->buffer->shape[k] != NULL;
    return has;
}

static struct value elaborate_name(struct elaborator *e, const struct ast_expr *expr)
{
    struct ast_binding *binding = ast_binding_of(expr);
    struct slot *slot;

    if (!binding) {
        if (builtin_is_dtype(expr->builtin))
            return (struct value){.kind = VALUE_DTYPE, .type = (akg_dtype)(expr->builtin - BUILTIN_DTYPE)};
        if (expr->builtin) {
            struct diagnostic_entry *message = elaborate_error(
                e, MSG_VALUE_UNUSABLE, expr->span, arena_format(e->arena, "the function '%s'", expr->text));
            diagnostic_note(message, "help: call it: %s(...)", expr->text);
        }
        return value_error();
    }
    if (binding->kind == AST_BINDING_CONSTANT)
        return elaborate_expr(e, binding->value);
    if (binding->kind == AST_BINDING_FUNCTION) {
        struct diagnostic_entry *message = elaborate_error(
            e, MSG_VALUE_UNUSABLE, expr->span, arena_format(e->arena, "the function '%s'", expr->text));
        diagnostic_note(message, "help: call it: %s(...)", expr->text);
        return value_error();
    }
    slot = elaborate_slot(e, binding);
    if (slot->variable) {
        struct ir_expr *use = ir_symbol_use(e->kernel, slot->variable);
        use->span = expr->span;
        return value_of(VALUE_SCALAR, use);
    }
    if (slot->value.kind == VALUE_UNSET) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_USED_BEFORE_DECLARATION, expr->span, binding->name);
        diagnostic_note(message, binding->kind == AST_BINDING_DIM
                                     ? "note: no tensor that was handed in has an axis of that name"
                                     : "note: no statement that ran before gives it a value");
        return value_error();
    }
    if (!has_extents(&slot->value)) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_USED_BEFORE_DECLARATION, expr->span, binding->name);
        diagnostic_note(message, "note: not all of its extents are known in this annotation");
        diagnostic_note(message, "help: give the extent a name where it is: %s: T[N]; and write N here",
                        binding->name);
        return value_error();
    }
    return value_copy(e, *elaborate_slot_value(e, binding));
}

/* ---- operators ----------------------------------------------------------------------- */

/* The load of a 0-d tensor that stands as a value. */
static struct value elaborate_scalar_tensor(struct elaborator *e, struct value value, struct span span)
{
    if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
        return elaborate_load(e, value.buffer, NULL, span);
    return value;
}

static bool elaborate_operand_fits(struct elaborator *e, const struct value *value, enum operation operation,
                                   const struct ast_expr *place)
{
    struct span span = place ? place->span : (struct span){0};
    const struct ast_binding *binding;
    struct diagnostic_entry *message;

    if (value_is_number(value))
        return true;
    if (value->kind == VALUE_ERROR)
        return false;
    if (value->kind == VALUE_TENSOR) {
        const char *name = place && place->kind == AST_NAME ? place->text : "x";
        const char *text = operation_table[operation].text;
        bool named = text[0] >= 'a' && text[0] <= 'z';
        message = elaborate_error(e, MSG_TENSOR_ARITHMETIC, span,
                                  place ? elaborate_source(e, place) : value->buffer->name);
        diagnostic_note(message,
                        named ? "help: write the loop: for i in grid(%s.shape): y[i] = %s(%s[i])"
                              : "help: write the loop: for i in grid(%s.shape): y[i] = %s[i] %s ...",
                        name, named ? text : name, named ? name : text);
        return false;
    }
    message =
        elaborate_error(e, MSG_OPERAND_KIND, span, value_text(e, value), operation_table[operation].text);
    binding = place && place->kind == AST_NAME ? ast_binding_of(place) : NULL;
    if (value->kind == VALUE_NONE)
        diagnostic_note(message, "help: test it first: if %s is not None:", binding ? place->text : "x");
    else if (value->kind == VALUE_TUPLE && binding && binding->kind == AST_BINDING_PARAMETER &&
             !binding->parameter->annotation && !binding->parameter->initial)
        diagnostic_note(
            message, "help: where it is to be a tensor, say so: %s: T[N], or %s: T[()] for one without axes",
            place->text, place->text);
    return false;
}

static enum value_kind elaborate_common_kind(const struct value *operands, int count)
{
    enum value_kind kind = VALUE_INT;
    for (int i = 0; i < count; i++) {
        if (operands[i].kind == VALUE_SCALAR)
            return VALUE_SCALAR;
        if (operands[i].kind == VALUE_FLOAT)
            kind = VALUE_FLOAT;
    }
    return kind;
}

/* The set of dtypes the operation's row takes, and how a message names it. */
static unsigned elaborate_rule_set(enum operation operation)
{
    switch (operation_table[operation].rule) {
    case RULE_FLOATING:
    case RULE_CLASSIFY:
        return TYPES_FLOAT;
    case RULE_INTEGRAL:
        return TYPES_INTEGER;
    case RULE_BITWISE:
        return TYPES_INTEGER | TYPES_BOOL;
    case RULE_COMPARE:
        return operation == OP_EQ || operation == OP_NE ? TYPES_ANY : TYPES_NUMBER;
    default:
        return TYPES_NUMBER;
    }
}

static void elaborate_rule_error(struct elaborator *e, enum operation operation, akg_dtype type,
                                 struct span span)
{
    const char *text = operation_table[operation].text, *found = type_text(&e->types, type);
    struct diagnostic_entry *message;

    switch (elaborate_rule_set(operation)) {
    case TYPES_FLOAT:
        if (operation == OP_TRUEDIV) {
            message = elaborate_error(e, MSG_INT_DIVISION, span);
            diagnostic_note(message, "help: write // for the floor of the quotient, or convert both sides: "
                                     "float32(a) / float32(b)");
            return;
        }
        message = elaborate_error(e, MSG_NEEDS_FLOAT, span, text, found);
        diagnostic_note(message, "help: convert the argument: float32(...)");
        return;
    case TYPES_INTEGER:
        message = elaborate_error(e, MSG_NEEDS_INTEGER, span, text, found);
        diagnostic_note(message, "help: convert the argument: int32(...)");
        return;
    case TYPES_INTEGER | TYPES_BOOL:
        message = elaborate_error(e, MSG_NEEDS_BITS, span, text, found);
        diagnostic_note(message, operation == OP_BITXOR
                                     ? "help: a power is written **: x ** 2"
                                     : "help: to combine conditions, write and, or, not: a > 0 and b < 1");
        return;
    default:
        message = elaborate_error(e, MSG_NEEDS_NUMBER, span, text, found);
        diagnostic_note(message, "help: convert it: int32(...)");
    }
}

/* All operands untyped integers: computed in int64. */
static struct value elaborate_untyped_int(struct elaborator *e, enum operation operation, struct value *v,
                                          int count, struct span span)
{
    enum operation_rule rule = operation_table[operation].rule;
    struct value result;
    bool is_given = false;

    for (int i = 0; i < count; i++)
        is_given |= v[i].is_given;
    if (operation == OP_POW && v[1].expr->kind == IR_INTEGER && v[1].expr->integer < 0 && !is_given) {
        diagnostic_note(
            elaborate_error(e, MSG_NEEDS_FLOAT, span, "**", "integers, where the exponent is negative"),
            "help: write the base as a float: 2.0 ** -1");
        return value_error();
    }
    if ((operation == OP_FLOORDIV || operation == OP_MOD || operation == OP_CEIL_DIV) &&
        v[1].expr->kind == IR_INTEGER && v[1].expr->integer == 0 && !v[1].is_given) {
        elaborate_error(e, MSG_DIVISION_BY_ZERO, span);
        return value_error();
    }
    result = value_of(rule == RULE_COMPARE ? VALUE_SCALAR : VALUE_INT,
                      expr_node(e, operation, rule == RULE_COMPARE ? AKG_BOOL : AKG_INT64, v[0].expr,
                                count > 1 ? v[1].expr : NULL, count > 2 ? v[2].expr : NULL, span));
    result.is_given = is_given && rule != RULE_COMPARE;
    return result;
}

/* Untyped numbers, one with a fraction at least: computed in float64 until they meet a dtype. */
static struct value elaborate_untyped_float(struct elaborator *e, enum operation operation, struct value *v,
                                            int count, struct span span)
{
    enum operation_rule rule = operation_table[operation].rule;
    struct ir_expr *operands[3] = {NULL, NULL, NULL}, *expr;
    bool constant = true;

    for (int i = 0; i < count; i++) {
        operands[i] = v[i].expr;
        if (v[i].kind == VALUE_INT)
            operands[i] = v[i].expr->kind == IR_INTEGER
                              ? ir_real(e->kernel, AKG_FLOAT64,
                                        v[i].is_large ? (double)(uint64_t)v[i].expr->integer
                                                      : (double)v[i].expr->integer)
                              : expr_node(e, OP_CAST, AKG_FLOAT64, v[i].expr, NULL, NULL, span);
        constant &= operands[i]->kind == IR_REAL;
    }
    if (constant && count <= 2) {
        double a = operands[0]->real, b = count > 1 ? operands[1]->real : 0;
        switch (operation) {
        case OP_ADD:
            return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, a + b));
        case OP_SUB:
            return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, a - b));
        case OP_MUL:
            return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, a * b));
        case OP_TRUEDIV:
            if (b != 0)
                return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, a / b));
            break;
        case OP_NEG:
            return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, -a));
        default:
            break;
        }
    }
    expr = expr_node(e, operation, rule == RULE_COMPARE || rule == RULE_CLASSIFY ? AKG_BOOL : AKG_FLOAT64,
                     operands[0], operands[1], operands[2], span);
    return value_of(rule == RULE_COMPARE || rule == RULE_CLASSIFY ? VALUE_SCALAR : VALUE_FLOAT, expr);
}

/* A typed operand at least: all take its type. */
static struct value elaborate_typed(struct elaborator *e, enum operation operation, struct value *v,
                                    int count, const struct ast_expr *const *places, struct span span)
{
    enum operation_rule rule = operation_table[operation].rule;
    struct ir_expr *operands[3] = {NULL, NULL, NULL}, *expr;
    akg_dtype type = AKG_DTYPE_COUNT;
    const struct ast_expr *typed_place = NULL;

    for (int i = 0; i < count; i++) {
        if (v[i].kind != VALUE_SCALAR)
            continue;
        if (type == AKG_DTYPE_COUNT) {
            type = v[i].expr->dtype;
            typed_place = places ? places[i] : NULL;
        } else if (!type_unify(&e->types, type, v[i].expr->dtype)) {
            struct diagnostic_entry *message =
                elaborate_error(e, MSG_MIXED_DTYPES, span, type_text(&e->types, type),
                                type_text(&e->types, v[i].expr->dtype));
            akg_dtype to = type_find(&e->types, type), from = type_find(&e->types, v[i].expr->dtype);
            diagnostic_note(message, "note: no conversion is silent here");
            if (from == AKG_BOOL || to == AKG_BOOL) {
                const struct ast_expr *truth = from == AKG_BOOL && places ? places[i] : typed_place;
                if (truth)
                    diagnostic_note(message, "help: as a number it is 1 if %s else 0",
                                    elaborate_source(e, truth));
                return value_error();
            }
            if (e->in_standard && !type_is_variable(to))
                diagnostic_note(message, "help: convert one of the two: cast(x, %s)", dtype_table[to].name);
            else if (places && places[i] && !type_is_variable(to) &&
                     (dtype_is_float(to) || type_is_variable(from) || !dtype_is_float(from)))
                diagnostic_note(message, "help: write %s(%s)", dtype_table[to].name,
                                elaborate_source(e, places[i]));
            else if (typed_place && !type_is_variable(from))
                diagnostic_note(message, "help: write %s(%s)", dtype_table[from].name,
                                elaborate_source(e, typed_place));
            return value_error();
        }
    }
    if (!type_restrict(&e->types, type, elaborate_rule_set(operation))) {
        for (int i = 0; i < count; i++) /* 0.5 / k is not a quotient of integers */
            if (v[i].kind == VALUE_FLOAT &&
                !value_coerce(e, v[i], type, places && places[i] ? places[i]->span : span))
                return value_error();
        elaborate_rule_error(e, operation, type, span);
        return value_error();
    }
    type = type_find(&e->types, type);
    if (rule == RULE_COMPARE && (elaborate_may_not_fit(&v[0], type) || elaborate_may_not_fit(&v[1], type)))
        return elaborate_compare_exact(e, operation, v, type, span);
    for (int i = 0; i < count; i++) {
        if ((operation == OP_MIN || operation == OP_MAX) && elaborate_may_not_fit(&v[i], type))
            elaborate_take_nearest(e, &v[i], type);
        operands[i] = value_coerce(e, v[i], type, places && places[i] ? places[i]->span : span);
        if (!operands[i])
            return value_error();
    }
    type = type_find(&e->types, type);
    if ((operation == OP_FLOORDIV || operation == OP_MOD || operation == OP_CEIL_DIV) &&
        operands[1]->kind == IR_INTEGER && operands[1]->integer == 0 && !v[1].is_given &&
        !type_is_variable(type) && !dtype_is_float(type)) {
        elaborate_error(e, MSG_DIVISION_BY_ZERO, span);
        return value_error();
    }
    expr = expr_node(e, operation, rule == RULE_COMPARE || rule == RULE_CLASSIFY ? AKG_BOOL : type,
                     operands[0], operands[1], operands[2], span);
    return value_of(VALUE_SCALAR, expr);
}

struct value elaborate_operation(struct elaborator *e, enum operation operation, struct value *v, int count,
                                 const struct ast_expr *const *places, struct span span)
{
    enum value_kind kind;
    bool fits = true;

    if (elaborate_is_standard(e, v, count))
        return elaborate_standard(e, operation, v, count, span);
    for (int i = 0; i < count; i++) {
        v[i] = elaborate_scalar_tensor(e, v[i], span);
        fits = fits && elaborate_operand_fits(e, &v[i], operation, places ? places[i] : NULL);
    }
    if (!fits)
        return value_error();
    kind = elaborate_common_kind(v, count);
    if (kind == VALUE_SCALAR)
        return elaborate_typed(e, operation, v, count, places, span);
    if (kind == VALUE_INT && operation == OP_TRUEDIV) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_INT_DIVISION, span);
        diagnostic_note(
            message,
            "help: write // for the floor of the quotient, or float(%s) / ... for one with a fraction",
            places && places[0] ? elaborate_source(e, places[0]) : "a");
        return value_error();
    }
    if (kind == VALUE_FLOAT || elaborate_rule_set(operation) == TYPES_FLOAT) {
        if (!(elaborate_rule_set(operation) & TYPES_FLOAT)) {
            elaborate_rule_error(e, operation, AKG_FLOAT32, span);
            return value_error();
        }
        return elaborate_untyped_float(e, operation, v, count, span);
    }
    return elaborate_untyped_int(e, operation, v, count, span);
}

static struct value elaborate_join_tuples(struct elaborator *e, struct value a, struct value b,
                                          struct span span)
{
    if (a.count + b.count > ELABORATE_MAX_TUPLE) {
        elaborate_error(e, MSG_VALUE_UNUSABLE, span,
                        arena_format(e->arena, "a tuple of more than %d items", ELABORATE_MAX_TUPLE));
        return value_error();
    }
    struct value tuple = {.kind = VALUE_TUPLE, .count = a.count + b.count};

    tuple.items = arena_array(e->arena, struct value, tuple.count + 1);
    for (int i = 0; i < a.count; i++)
        tuple.items[i] = a.items[i];
    for (int i = 0; i < b.count; i++)
        tuple.items[a.count + i] = b.items[i];
    return tuple;
}

struct value elaborate_binary(struct elaborator *e, enum operation operation, struct value a, struct value b,
                              const struct ast_expr *left, const struct ast_expr *right, struct span span)
{
    const struct ast_expr *places[2] = {left, right};
    struct value operands[2] = {a, b};
    int64_t times;

    if (e->result->retry)
        return value_error();
    if (a.kind == VALUE_TUPLE && b.kind == VALUE_TUPLE && operation == OP_ADD)
        return elaborate_join_tuples(e, a, b, span);
    if (a.kind == VALUE_TUPLE && operation == OP_MUL && value_constant(&b, &times) && times >= 0 &&
        times <= ELABORATE_MAX_TUPLE && times * a.count <= ELABORATE_MAX_TUPLE) {
        struct value tuple = {.kind = VALUE_TUPLE};
        while (times-- > 0)
            tuple = elaborate_join_tuples(e, tuple, a, span);
        return tuple;
    }
    return elaborate_operation(e, operation, operands, 2, places, span);
}

static struct value elaborate_unary(struct elaborator *e, const struct ast_expr *expr)
{
    const struct ast_expr *places[1] = {expr->a};
    struct value value = elaborate_expr(e, expr->a);
    struct ir_expr *condition;

    if (expr->operation == OP_NOT) {
        value = elaborate_scalar_tensor(e, value, expr->span);
        condition = value_condition(e, value, expr->a->span);
        return condition
                   ? value_of(VALUE_SCALAR, expr_node(e, OP_NOT, AKG_BOOL, condition, NULL, NULL, expr->span))
                   : value_error();
    }
    if (expr->operation == OP_ADD) {
        value = elaborate_scalar_tensor(e, value, expr->span);
        return elaborate_operand_fits(e, &value, OP_ADD, expr->a) ? value : value_error();
    }
    return elaborate_operation(e, expr->operation, &value, 1, places, expr->span);
}

/* ---- comparisons -------------------------------------------------------------------------- */

static struct value elaborate_is(struct elaborator *e, enum ast_comparison comparison, struct value a,
                                 struct value b, const struct ast_expr *left, struct span span)
{
    bool same;

    if (a.kind == VALUE_ERROR || b.kind == VALUE_ERROR)
        return value_error();
    if (left->kind == AST_SUBSCRIPT && b.kind == VALUE_NONE && a.kind == VALUE_SCALAR &&
        a.expr->kind == IR_LOAD) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_OPERAND_KIND, span, "an element", "is");
        diagnostic_note(message, "note: every element is a number; only a parameter can be None");
        diagnostic_note(message, "help: where nan stands for what is missing: isnan(%s)",
                        elaborate_source(e, left));
        return value_error();
    }
    if (a.kind != VALUE_NONE && b.kind != VALUE_NONE) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_OPERAND_KIND, span, value_text(e, &b), "is");
        diagnostic_note(message, "help: 'is' compares with None only; write ==");
        return value_error();
    }
    same = a.kind == VALUE_NONE && b.kind == VALUE_NONE;
    return value_bool(e, comparison == AST_IS ? same : !same);
}

/* Strings, dtypes and tuples compare when compiling. */
static bool elaborate_static_equal(struct elaborator *e, struct value *a, struct value *b, bool *equal)
{
    if (a->kind == VALUE_STRING && b->kind == VALUE_STRING) {
        *equal = strcmp(a->string, b->string) == 0;
        return true;
    }
    for (int i = 0; i < 2; i++) {
        struct value *value = i ? b : a;
        if (value->kind == VALUE_STRING && akg_dtype_from_name(value->string) != AKG_DTYPE_COUNT)
            *value = (struct value){.kind = VALUE_DTYPE, .type = akg_dtype_from_name(value->string)};
    }
    if (a->kind == VALUE_DTYPE && b->kind == VALUE_DTYPE) {
        *equal = type_decide(&e->types, a->type) == type_decide(&e->types, b->type);
        return true;
    }
    if (a->kind == VALUE_NONE || b->kind == VALUE_NONE) {
        *equal = a->kind == b->kind;
        return true;
    }
    return false;
}

static struct value elaborate_and(struct elaborator *e, struct value a, struct value b, struct span span)
{
    if (a.kind == VALUE_ERROR || b.kind == VALUE_ERROR)
        return value_error();
    return value_of(VALUE_SCALAR, expr_node(e, OP_AND, AKG_BOOL, a.expr, b.expr, NULL, span));
}

static struct value elaborate_compare_pair(struct elaborator *e, enum ast_comparison comparison,
                                           struct value a, struct value b, const struct ast_expr *left,
                                           const struct ast_expr *right, struct span span)
{
    static const enum operation operations[] = {OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE};
    const struct ast_expr *places[2] = {left, right};
    struct value operands[2] = {a, b};
    bool equal;

    if (comparison == AST_IS || comparison == AST_IS_NOT)
        return elaborate_is(e, comparison, a, b, left, span);
    if ((comparison == AST_EQ || comparison == AST_NE) &&
        elaborate_static_equal(e, &operands[0], &operands[1], &equal))
        return value_bool(e, equal == (comparison == AST_EQ));
    if (operands[0].kind == VALUE_DTYPE && operands[1].kind == VALUE_STRING) {
        akg_dtype type; /* a string that is none: that is told of */
        elaborate_dtype(e, right, &type);
        return value_error();
    }
    if ((comparison == AST_EQ || comparison == AST_NE) && a.kind == VALUE_TUPLE && b.kind == VALUE_TUPLE) {
        struct value all = value_bool(e, a.count == b.count);
        for (int i = 0; i < a.count && a.count == b.count; i++)
            all = elaborate_and(
                e, all, elaborate_compare_pair(e, AST_EQ, a.items[i], b.items[i], left, right, span), span);
        if (comparison == AST_NE && all.kind == VALUE_SCALAR)
            all.expr = expr_node(e, OP_NOT, AKG_BOOL, all.expr, NULL, NULL, span);
        return all;
    }
    return elaborate_operation(e, operations[comparison], operands, 2, places, span);
}

static struct value elaborate_in(struct elaborator *e, bool negated, struct value a, struct value b,
                                 const struct ast_expr *left, const struct ast_expr *right, struct span span)
{
    struct value any = value_bool(e, false);

    if (a.kind == VALUE_ERROR || b.kind == VALUE_ERROR)
        return value_error();
    if (b.kind != VALUE_TUPLE) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_OPERAND_KIND, span, value_text(e, &b), "in");
        diagnostic_note(message, "help: the right side of 'in' is a tuple: x in (1, 2, 3)");
        return value_error();
    }
    for (int i = 0; i < b.count; i++) {
        struct value one = elaborate_compare_pair(e, AST_EQ, value_copy(e, a), b.items[i], left, right, span);
        if (one.kind == VALUE_ERROR)
            return one;
        any.expr = expr_node(e, OP_OR, AKG_BOOL, any.expr, one.expr, NULL, span);
    }
    if (negated)
        any.expr = expr_node(e, OP_NOT, AKG_BOOL, any.expr, NULL, NULL, span);
    return any;
}

static struct value elaborate_compare(struct elaborator *e, const struct ast_expr *expr)
{
    struct value result = {.kind = VALUE_UNSET}, left = elaborate_expr(e, expr->items[0]);

    for (int i = 1; i < expr->count; i++) {
        enum ast_comparison comparison = expr->comparisons[i - 1];
        struct value right = elaborate_expr(e, expr->items[i]), one;
        if (comparison == AST_IN || comparison == AST_NOT_IN)
            one = elaborate_in(e, comparison == AST_NOT_IN, left, right, expr->items[i - 1], expr->items[i],
                               expr->span);
        else
            one = elaborate_compare_pair(e, comparison, left, right, expr->items[i - 1], expr->items[i],
                                         expr->span);
        result = result.kind == VALUE_UNSET ? one : elaborate_and(e, result, one, expr->span);
        left = value_copy(e, right);
    }
    return result;
}

/* ---- lazy operands ----------------------------------------------------------------------------- */

/* An operand that is evaluated only sometimes; what it needs as statements (inlined calls) is gathered apart.
 */
struct lazy {
    struct value value;
    struct ir_stmt *first;
};

static struct lazy elaborate_lazy(struct elaborator *e, const struct ast_expr *expr)
{
    struct lazy lazy = {0};
    struct ir_stmt **before = elaborate_redirect(e, &lazy.first);

    e->conditions++;
    e->frame->conditions++;
    lazy.value = elaborate_expr(e, expr);
    e->conditions--;
    e->frame->conditions--;
    e->tail = before;
    return lazy;
}

static struct value elaborate_logic(struct elaborator *e, const struct ast_expr *expr)
{
    bool is_and = expr->kind == AST_AND;
    struct value a = elaborate_expr(e, expr->a);
    struct ir_expr *left = value_condition(e, elaborate_scalar_tensor(e, a, expr->a->span), expr->a->span);
    struct ir_expr *right;
    struct lazy b;

    if (!left)
        return value_error();
    if (left->kind == IR_INTEGER && (left->integer != 0) != is_and)
        return value_of(VALUE_SCALAR, left);
    b = elaborate_lazy(e, expr->b);
    right = value_condition(e, elaborate_scalar_tensor(e, b.value, expr->b->span), expr->b->span);
    if (!right)
        return value_error();
    if (b.first) {
        struct ir_symbol *result = elaborate_variable(e, "both", AKG_BOOL, expr->span);
        struct ir_stmt *assign = elaborate_emit(e, IR_ASSIGN, expr->span), *branch, **before;
        assign->symbol = result;
        assign->value = left;
        branch = elaborate_emit(e, IR_IF, expr->span);
        branch->value = ir_symbol_use(e->kernel, result);
        if (!is_and)
            branch->value = expr_node(e, OP_NOT, AKG_BOOL, branch->value, NULL, NULL, expr->span);
        branch->body = b.first;
        before = elaborate_redirect(e, &branch->body);
        while (*e->tail)
            e->tail = &(*e->tail)->next;
        assign = elaborate_emit(e, IR_ASSIGN, expr->span);
        assign->symbol = result;
        assign->value = right;
        e->tail = before;
        return value_of(VALUE_SCALAR, ir_symbol_use(e->kernel, result));
    }
    return value_of(VALUE_SCALAR,
                    expr_node(e, is_and ? OP_AND : OP_OR, AKG_BOOL, left, right, NULL, expr->span));
}

/* Makes the two sides of a choice one type. */
static bool elaborate_unify_sides(struct elaborator *e, struct value *a, struct value *b,
                                  const struct ast_expr *expr)
{
    struct value sides[2] = {*a, *b};
    enum value_kind kind;
    akg_dtype type;

    if (!elaborate_operand_fits(e, a, OP_SELECT, expr->a) ||
        !elaborate_operand_fits(e, b, OP_SELECT, expr->b))
        return false;
    kind = elaborate_common_kind(sides, 2);
    if (kind == VALUE_INT)
        return true;
    if (kind == VALUE_FLOAT) {
        for (int i = 0; i < 2; i++)
            if (sides[i].kind == VALUE_INT)
                sides[i] = value_with_fraction(e, sides[i], expr->span);
        *a = sides[0];
        *b = sides[1];
        return true;
    }
    type = a->kind == VALUE_SCALAR ? a->expr->dtype : b->expr->dtype;
    a->expr = value_coerce(e, *a, type, expr->a->span);
    b->expr = a->expr ? value_coerce(e, *b, type, expr->b->span) : NULL;
    a->kind = b->kind = VALUE_SCALAR;
    return a->expr && b->expr;
}

static bool elaborate_is_static(const struct value *value)
{
    return value->kind == VALUE_TUPLE || value->kind == VALUE_DTYPE || value->kind == VALUE_STRING ||
           value->kind == VALUE_TENSOR;
}

static struct value elaborate_conditional(struct elaborator *e, const struct ast_expr *expr)
{
    struct value test = elaborate_scalar_tensor(e, elaborate_expr(e, expr->condition), expr->condition->span);
    struct ir_expr *condition = value_condition(e, test, expr->condition->span);
    struct lazy sides[2];
    akg_dtype dtype;

    if (condition && e->frame->graph)
        condition = expr_decide(e, condition, 1);
    if (!condition)
        return value_error();
    if (condition->kind == IR_INTEGER)
        return elaborate_expr(e, condition->integer ? expr->a : expr->b);
    sides[0] = elaborate_lazy(e, expr->a);
    sides[1] = elaborate_lazy(e, expr->b);
    for (int i = 0; i < 2; i++)
        sides[i].value = elaborate_scalar_tensor(e, sides[i].value, expr->span);
    /* what exists only when compiling is chosen then: elaborated again with the attributes known */
    if (elaborate_is_static(&sides[0].value) && elaborate_is_static(&sides[1].value) &&
        expr_is_invariant(condition))
        expr_demand_constants(e, condition);
    if (e->result->retry)
        return value_error();
    if (e->frame->graph && (sides[0].value.kind == VALUE_TENSOR || sides[1].value.kind == VALUE_TENSOR)) {
        elaborate_refuse_choice(e, expr->condition->span);
        return value_error();
    }
    if (!elaborate_unify_sides(e, &sides[0].value, &sides[1].value, expr))
        return value_error();
    dtype = type_find(&e->types, sides[0].value.expr->dtype);
    if (sides[0].first || sides[1].first) {
        struct ir_symbol *result = elaborate_variable(e, "chosen", dtype, expr->span);
        struct ir_stmt *branch = elaborate_emit(e, IR_IF, expr->span);
        branch->value = condition;
        for (int i = 0; i < 2; i++) {
            struct ir_stmt **block = i ? &branch->otherwise : &branch->body, *assign, **before;
            *block = sides[i].first;
            before = elaborate_redirect(e, block);
            while (*e->tail)
                e->tail = &(*e->tail)->next;
            assign = elaborate_emit(e, IR_ASSIGN, expr->span);
            assign->symbol = result;
            assign->value = sides[i].value.expr;
            e->tail = before;
        }
        return value_of(sides[0].value.kind, ir_symbol_use(e->kernel, result));
    }
    return value_of(sides[0].value.kind, expr_node(e, OP_SELECT, dtype, condition, sides[0].value.expr,
                                                   sides[1].value.expr, expr->span));
}

static struct value elaborate_tuple(struct elaborator *e, const struct ast_expr *expr)
{
    struct value tuple = {.kind = VALUE_TUPLE};
    tuple.items = arena_array(e->arena, struct value, expr->count + 1);

    for (int i = 0; i < expr->count; i++) {
        struct value item =
            elaborate_expr(e, expr->items[i]->kind == AST_STARRED ? expr->items[i]->a : expr->items[i]);
        if (item.kind == VALUE_ERROR)
            return item;
        if (expr->items[i]->kind == AST_STARRED && item.kind != VALUE_TUPLE) {
            elaborate_error(e, MSG_OPERAND_KIND, expr->items[i]->span, value_text(e, &item), "*");
            return value_error();
        }
        if (expr->items[i]->kind == AST_STARRED) {
            struct value whole = elaborate_join_tuples(e, tuple, item, expr->items[i]->span);
            if (whole.kind == VALUE_ERROR)
                return whole;
            struct value *items = arena_array(e->arena, struct value, whole.count + expr->count + 1);
            if (whole.count)
                memcpy(items, whole.items, sizeof *items * (size_t)whole.count);
            tuple.items = items;
            tuple.count = whole.count;
        } else {
            tuple.items[tuple.count++] = item;
        }
    }
    return tuple;
}

struct value elaborate_expr(struct elaborator *e, const struct ast_expr *expr)
{
    struct value value;

    switch (expr->kind) {
    case AST_NAME:
        return elaborate_name(e, expr);
    case AST_INTEGER:
        value = value_int(e, expr->integer);
        value.is_large = expr->is_large;
        return value;
    case AST_REAL:
        return value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, expr->real));
    case AST_STRING:
        return (struct value){.kind = VALUE_STRING, .string = expr->text};
    case AST_TRUE:
        return value_bool(e, true);
    case AST_FALSE:
        return value_bool(e, false);
    case AST_NONE:
        return (struct value){.kind = VALUE_NONE};
    case AST_UNARY:
        return elaborate_unary(e, expr);
    case AST_BINARY: {
        struct value left = elaborate_expr(e, expr->a), right = elaborate_expr(e, expr->b);
        return elaborate_binary(e, expr->operation, left, right, expr->a, expr->b, expr->span);
    }
    case AST_COMPARE:
        return elaborate_compare(e, expr);
    case AST_AND:
    case AST_OR:
        return elaborate_logic(e, expr);
    case AST_CONDITIONAL:
        return elaborate_conditional(e, expr);
    case AST_CALL:
        return elaborate_call(e, expr);
    case AST_SUBSCRIPT:
        return elaborate_subscript(e, expr);
    case AST_ATTRIBUTE:
        return elaborate_member(e, expr);
    case AST_TUPLE:
    case AST_LIST_DISPLAY:
        return elaborate_tuple(e, expr);
    case AST_DICT: {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_NOT_IN_LANGUAGE, expr->span, "a dict or set");
        diagnostic_note(message, "help: scalars, tuples and tensors are all there is");
        return value_error();
    }
    case AST_SLICE:
        elaborate_error(e, MSG_SLICE_PLACE, expr->span);
        return value_error();
    case AST_STARRED:
        elaborate_error(e, MSG_VALUE_UNUSABLE, expr->span, "an unpacked tuple");
        return value_error();
    case AST_KEYWORD:
        elaborate_error(e, MSG_ARGUMENT_NAME, expr->span, "what is called", expr->text);
        return value_error();
    }
    return value_error();
}
