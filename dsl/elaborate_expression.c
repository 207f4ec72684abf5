/*
 * elaborate_expression.c: names, comparisons, conditions and tuples to values.
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

/* ---- comparisons -------------------------------------------------------------------------- */

/* An element that is compared with None: true after a message. */
static bool elaborate_refuse_missing(struct elaborator *e, const struct value *value,
                                     const struct value *none, const struct ast_expr *place,
                                     const char *comparison, struct span span)
{
    struct diagnostic_entry *message;

    if (place->kind != AST_SUBSCRIPT || none->kind != VALUE_NONE || value->kind != VALUE_SCALAR ||
        value->expr->kind != IR_LOAD)
        return false;
    message = elaborate_error(e, MSG_OPERAND_KIND, span, "an element", comparison);
    diagnostic_note(message, "note: every element is a number; only a parameter can be None");
    diagnostic_note(message, "help: where nan stands for what is missing: isnan(%s)",
                    elaborate_source(e, place));
    return true;
}

static struct value elaborate_is(struct elaborator *e, enum ast_comparison comparison, struct value a,
                                 struct value b, const struct ast_expr *left, struct span span)
{
    bool same;

    if (a.kind == VALUE_ERROR || b.kind == VALUE_ERROR)
        return value_error();
    if (elaborate_refuse_missing(e, &a, &b, left, "is", span))
        return value_error();
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
        (elaborate_refuse_missing(e, &a, &b, left, comparison == AST_EQ ? "==" : "!=", span) ||
         elaborate_refuse_missing(e, &b, &a, right, comparison == AST_EQ ? "==" : "!=", span)))
        return value_error();
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

static struct value elaborate_any(struct elaborator *e, const struct ast_expr *expr)
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

bool elaborate_may_nest(struct elaborator *e, bool is_block, struct span span)
{
    bool fits = !is_block || e->blocks < ELABORATE_MAX_BLOCKS;
    if (fits && e->nesting < ELABORATE_MAX_NESTING)
        return true;
    if (e->is_too_deep) /* which is said once */
        return false;
    e->is_too_deep = true;
    diagnostic_note(elaborate_error(e, MSG_NESTING, span,
                                    elaborate_number(e, fits ? ELABORATE_MAX_NESTING : ELABORATE_MAX_BLOCKS)),
                    "note: what is called is part of the expression and the blocks that it is called in");
    return false;
}

struct value elaborate_expr(struct elaborator *e, const struct ast_expr *expr)
{
    struct value value = value_error();

    if (elaborate_may_nest(e, false, expr->span)) {
        e->nesting++;
        value = elaborate_any(e, expr);
        e->nesting--;
    }
    return value;
}
