/*
 * elaborate_operation.c: operators to values: which type the operands take.
 *
 * Consumes the operands' values and the rules of operations.def. Untyped numbers are computed with as such,
 * until they meet a typed one; what is known is folded (elaborate_value.c). An operand that no operation
 * takes is refused with what would have been right there.
 */
#include "elaborate_private.h"

struct value elaborate_scalar_tensor(struct elaborator *e, struct value value, struct span span)
{
    if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
        return elaborate_load(e, value.buffer, NULL, span);
    return value;
}

/* A tuple where one of its items is needed. */
static void elaborate_note_tuple(struct elaborator *e, struct diagnostic_entry *message,
                                 const struct value *tuple, enum operation operation,
                                 const struct ast_expr *place)
{
    bool named = place && (place->kind == AST_NAME || place->kind == AST_ATTRIBUTE);
    const char *text = named ? elaborate_source(e, place) : NULL;

    if (operation == OP_ADD)
        diagnostic_note(message, "note: '+' joins two tuples: %s + (1,) is one item longer",
                        named ? text : "p");
    if (named && tuple->count > 0)
        diagnostic_note(message, "help: compute with its items: %s[0]", text);
}

bool elaborate_operand_fits(struct elaborator *e, const struct value *value, enum operation operation,
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
             !binding->parameter->annotation && !binding->parameter->initial && !binding->parameter->variadic)
        diagnostic_note(
            message, "help: where it is to be a tensor, say so: %s: T[N], or %s: T[()] for one without axes",
            place->text, place->text);
    else if (value->kind == VALUE_TUPLE)
        elaborate_note_tuple(e, message, value, operation, place);
    return false;
}

enum value_kind elaborate_common_kind(const struct value *operands, int count)
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

/* A float whose dtype the call decides. */
static bool is_any_float(struct elaborator *e, akg_dtype type)
{
    return type_is_variable(type) && !(type_allowed(&e->types, type) & ~TYPES_FLOAT);
}

/* Whether the first dtype holds more than the other one: a conversion to it loses less. */
static bool is_wider(akg_dtype type, akg_dtype than)
{
    if (type_is_variable(type) || type_is_variable(than))
        return false;
    if (dtype_is_float(type) != dtype_is_float(than))
        return dtype_is_float(type);
    return dtype_table[type].size > dtype_table[than].size;
}

/* The operand of one type beside one of another. `typed_place`, `place`: of the two, NULL where they are not
 * known. */
static void refuse_mixed(struct elaborator *e, akg_dtype type, akg_dtype other,
                         const struct ast_expr *typed_place, const struct ast_expr *place, struct span span)
{
    struct diagnostic_entry *message =
        elaborate_error(e, MSG_MIXED_DTYPES, span, type_text(&e->types, type), type_text(&e->types, other));
    akg_dtype to = type_find(&e->types, type), from = type_find(&e->types, other);

    diagnostic_note(message, "note: no conversion is silent here");
    if (from == AKG_BOOL || to == AKG_BOOL) {
        const struct ast_expr *truth = from == AKG_BOOL ? place : typed_place;
        if (truth)
            diagnostic_note(message, "help: as a number it is 1 if %s else 0", elaborate_source(e, truth));
    } else if (e->in_standard && !type_is_variable(to)) {
        diagnostic_note(message, "help: convert one of the two: cast(x, %s)", dtype_table[to].name);
    } else if ((place && is_any_float(e, to) && !type_is_variable(from)) ||
               (typed_place && is_any_float(e, from) && !type_is_variable(to))) {
        diagnostic_note(message, "help: write T.dtype(%s), T being a tensor whose dtype the float has",
                        elaborate_source(e, is_any_float(e, to) ? place : typed_place));
    } else if (typed_place && is_wider(from, to)) {
        diagnostic_note(message, "help: write %s(%s)", dtype_table[from].name,
                        elaborate_source(e, typed_place));
    } else if (place && !type_is_variable(to) &&
               (dtype_is_float(to) || type_is_variable(from) || !dtype_is_float(from))) {
        diagnostic_note(message, "help: write %s(%s)", dtype_table[to].name, elaborate_source(e, place));
    } else if (typed_place && !type_is_variable(from)) {
        diagnostic_note(message, "help: write %s(%s)", dtype_table[from].name,
                        elaborate_source(e, typed_place));
    }
}

/* The type that all operands with one have; AKG_DTYPE_COUNT, with a message: they have several. */
static akg_dtype common_type(struct elaborator *e, const struct value *v, int count,
                             const struct ast_expr *const *places, struct span span)
{
    const struct ast_expr *typed_place = NULL;
    akg_dtype type = AKG_DTYPE_COUNT;

    for (int i = 0; i < count; i++) {
        const struct ast_expr *place = places ? places[i] : NULL;
        if (v[i].kind != VALUE_SCALAR)
            continue;
        if (type == AKG_DTYPE_COUNT) {
            type = v[i].expr->dtype;
            typed_place = place;
        } else if (!type_unify(&e->types, type, v[i].expr->dtype)) {
            refuse_mixed(e, type, v[i].expr->dtype, typed_place, place, span);
            return AKG_DTYPE_COUNT;
        }
    }
    return type;
}

/* A typed operand at least: all take its type. */
static struct value elaborate_typed(struct elaborator *e, enum operation operation, struct value *v,
                                    int count, const struct ast_expr *const *places, struct span span)
{
    enum operation_rule rule = operation_table[operation].rule;
    struct ir_expr *operands[3] = {NULL, NULL, NULL}, *expr;
    akg_dtype type = common_type(e, v, count, places, span);

    if (type == AKG_DTYPE_COUNT)
        return value_error();
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

struct value elaborate_join_tuples(struct elaborator *e, struct value a, struct value b, struct span span)
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
    if (a.kind == VALUE_ERROR || b.kind == VALUE_ERROR) /* it was told */
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

struct value elaborate_unary(struct elaborator *e, const struct ast_expr *expr)
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
