/*
 * names_refuse.c: what stands where a name of the language should, and cannot: members of
 * Python modules, annotations of other libraries, constants that Python would compute, names
 * whose block is over, defaults of another kind than their annotations.
 */
#include "names_private.h"

#include <math.h>
#include <string.h>

#include "builtins.h"
#include "elaborate.h"
#include "foreign.h"
#include "standard.h"

/* What is a function, or else a value, wherever it stands. */
static void names_add_builtins(struct arena *arena, struct names_candidates *candidates, bool called)
{
    static const char *const values[] = {"True", "False", "None"};
    struct standard_operator row;

    for (int i = BUILTIN_NONE + 1; i < BUILTIN_END; i++)
        if (builtin_name(i) && (called ? builtin_is_called(i) : builtin_is_dtype(i)))
            list_push(arena, &candidates->names, builtin_name(i));
    for (size_t i = 0; !called && i < sizeof values / sizeof values[0]; i++)
        list_push(arena, &candidates->names, values[i]);
    for (size_t i = 0; called && standard_at(i, &row); i++)
        if (row.is_public && !builtin_find(row.name))
            list_push(arena, &candidates->names, row.name);
}

/* The last of the candidates that are nearest: another than the first where several are equally near. */
static const char *names_last_nearest(const char *name, const struct names_candidates *candidates)
{
    int count = candidates->names.count;

    for (int i = 0; i < count - 1 - i; i++) {
        const char *swapped = candidates->names.items[i];
        candidates->names.items[i] = candidates->names.items[count - 1 - i];
        candidates->names.items[count - 1 - i] = swapped;
    }
    return spelling_nearest(name, candidates->names.items, count);
}

bool names_propose(struct arena *arena, struct diagnostic_entry *message, const char *name,
                   struct names_candidates *candidates, bool called)
{
    const struct foreign_name *foreign = foreign_find(name);
    const char *nearest = foreign ? foreign->right : NULL, *other = nearest;

    if (!foreign) {
        names_add_builtins(arena, candidates, called);
        nearest = spelling_nearest(name, candidates->names.items, candidates->names.count);
        other = nearest ? names_last_nearest(name, candidates) : NULL;
    }
    if (!nearest && !foreign && called) {
        foreign = foreign_find_near(name);
        nearest = other = foreign ? foreign->right : NULL;
    }
    if (foreign && !nearest && foreign->help)
        diagnostic_note(message, "help: %s", foreign->help);
    else if (!nearest)
        return false;
    else if (strcmp(nearest, other) != 0)
        diagnostic_note(message, "help: did you mean '%s' or '%s'?", nearest, other);
    else {
        diagnostic_note(message, "help: did you mean '%s'?", nearest);
        diagnostic_fix(message, "%s", nearest);
    }
    return true;
}

/* Whether that name, called like that, is likely to be what is meant: a scalar function with as many
 * operands, or an operator of whole tensors. */
static bool names_is_repair(const char *right, const struct ast_expr *call)
{
    int builtin = builtin_find(right);
    enum operation operation;

    if (builtin_operation(builtin, &operation))
        return operation == OP_MIN || operation == OP_MAX || operation_table[operation].arity == call->count;
    for (int i = 0; !builtin && i < call->count; i++)
        if (call->items[i]->kind == AST_SUBSCRIPT)
            return false;
    return true;
}

/* np.exp: the member alone is often what is meant. */
void names_refuse_module(akg_diagnostics *diagnostics, const struct ast_expr *member,
                         const struct ast_expr *call)
{
    struct diagnostic_entry *message =
        diagnostic_add(diagnostics, MSG_MODULE_NAME, member->span, member->a->text);
    const struct foreign_name *foreign = foreign_find(member->text);
    const char *right = builtin_find(member->text) ? member->text : foreign ? foreign->right : NULL;

    if (!right && standard_is_public(member->text))
        right = member->text;

    if (right && (!call || names_is_repair(right, call))) {
        diagnostic_note(message, "help: write '%s'", right);
        diagnostic_fix(message, "%s", right);
    } else if (foreign && foreign->help)
        diagnostic_note(message, "help: %s", foreign->help);
    else
        diagnostic_note(message,
                        "help: scalar functions are called by name: exp(x[i]); all else is written as loops");
}

void names_refuse_ended(akg_diagnostics *diagnostics, const struct ast_expr *expr,
                        const struct ast_binding *ended)
{
    struct diagnostic_entry *message = diagnostic_add(diagnostics, MSG_OUT_OF_SCOPE, expr->span, expr->text);
    diagnostic_note(message, "note: it was declared on line %d, in a block that is over", ended->span.line);
    if (ended->kind == AST_BINDING_LOOP)
        diagnostic_note(message,
                        "help: a loop's variable is the loop's alone: assign a name of your own before the "
                        "loop, last = 0, and in it last = %s",
                        expr->text);
    else
        diagnostic_note(message, "help: assign '%s' before that block starts", expr->text);
}

/* Nothing is put into strings, since nothing is printed. */
void names_refuse_format(akg_diagnostics *diagnostics, const struct ast_expr *string)
{
    struct diagnostic_entry *message =
        diagnostic_add(diagnostics, MSG_NOT_IN_LANGUAGE, string->span, "an f-string");

    diagnostic_note(message,
                    "help: write a plain string: what fails tells the extents and the iteration by itself");
}

void names_refuse_update(akg_diagnostics *diagnostics, struct span span, const struct ast_binding *constant)
{
    struct diagnostic_entry *message = diagnostic_add(diagnostics, MSG_ASSIGN_TARGET, span);

    diagnostic_note(message, "note: '%s' is a constant of the file, on line %d", constant->name,
                    constant->span.line);
    diagnostic_note(message, "help: count in a name of the function: n = %s before it", constant->name);
}

/* What can stand in an annotation and is probably meant by a name, or a member or string of that name; or
 * NULL. */
static const char *names_annotation_meant(const char *name)
{
    static const char *const attributes[] = {"int", "float", "str", "tuple"};
    enum { OTHERS = sizeof attributes / sizeof attributes[0] };
    const struct foreign_name *foreign = foreign_find(name);
    const char *known[AKG_DTYPE_COUNT + OTHERS];

    for (int i = 0; i < AKG_DTYPE_COUNT; i++)
        known[i] = dtype_table[i].name;
    for (int i = 0; i < OTHERS; i++)
        known[AKG_DTYPE_COUNT + i] = attributes[i];
    for (int i = 0; i < AKG_DTYPE_COUNT + OTHERS; i++)
        if (strcmp(name, known[i]) == 0 ||
            (foreign && foreign->right && strcmp(foreign->right, known[i]) == 0))
            return known[i];
    return spelling_nearest(name, known, AKG_DTYPE_COUNT + OTHERS);
}

void names_refuse_annotation(struct arena *arena, akg_diagnostics *diagnostics, const struct ast_expr *base)
{
    bool spelt = base->kind == AST_NAME || base->kind == AST_ATTRIBUTE || base->kind == AST_STRING;
    const char *meant = spelt ? names_annotation_meant(base->text) : NULL, *shown = "this annotation";
    struct diagnostic_entry *message;

    if (base->kind == AST_NAME)
        shown = arena_format(arena, "'%s'", base->text);
    message = diagnostic_add(diagnostics, MSG_BAD_ANNOTATION, base->span, shown);
    if (meant) {
        diagnostic_note(message, "help: did you mean '%s'?", meant);
        diagnostic_fix(message, "%s", meant);
    } else {
        diagnostic_note(message,
                        "help: write a dtype (float32), a dtype with dims (float32[M, N]), or int, float, "
                        "bool, str, tuple for an attribute; or nothing, for any tensor");
    }
}

bool names_refuse_shape(akg_diagnostics *diagnostics, const struct ast_expr *annotation)
{
    bool refused = annotation->count > AKG_MAX_RANK;

    if (refused)
        diagnostic_note(diagnostic_add(diagnostics, MSG_BAD_ANNOTATION, annotation->span, "this annotation"),
                        "note: a tensor has at most %d axes", AKG_MAX_RANK);
    for (int i = 0; i < annotation->count; i++) {
        const struct ast_expr *item = annotation->items[i];
        if (item->kind != AST_SLICE || ast_is_any_extent(item))
            continue;
        diagnostic_note(diagnostic_add(diagnostics, MSG_SLICE_PLACE, item->span),
                        "help: an annotation names an extent, gives its number, or leaves it open by ':'");
        refused = true;
    }
    return refused;
}

bool names_is_constant(const struct ast_expr *expr)
{
    int builtin =
        expr->kind == AST_CALL && expr->a->kind == AST_NAME ? builtin_find(expr->a->text) : BUILTIN_NONE;

    switch (expr->kind) {
    case AST_CALL:
        if (!builtin_is_dtype(builtin) && !builtin_is_operation(builtin) && builtin != BUILTIN_INT &&
            builtin != BUILTIN_FLOAT)
            return false;
        break;
    case AST_SUBSCRIPT:
    case AST_ATTRIBUTE:
    case AST_SLICE:
    case AST_STARRED:
    case AST_KEYWORD:
        return false;
    default:
        if ((expr->a && !names_is_constant(expr->a)) || (expr->b && !names_is_constant(expr->b)) ||
            (expr->condition && !names_is_constant(expr->condition)))
            return false;
    }
    for (int i = 0; i < expr->count; i++)
        if (!names_is_constant(expr->items[i]))
            return false;
    return true;
}

/* ---- defaults -------------------------------------------------------------------------------------- */

static const char *kind_text(enum dsl_argument_kind kind)
{
    static const char *const texts[] = {
        [DSL_NONE] = "None",          [DSL_INT] = "an integer",  [DSL_FLOAT] = "a number with a fraction",
        [DSL_BOOL] = "a truth value", [DSL_STRING] = "a string", [DSL_INTS] = "a tuple"};
    return texts[kind];
}

/* Whether a number that is written as such is none of the dtype's. */
static bool is_out_of_range(akg_dtype dtype, const struct dsl_argument *constant)
{
    if (dtype_is_integer(dtype) && constant->kind == DSL_INT)
        return dtype_wrap(dtype, constant->integer) != constant->integer ||
               (dtype == AKG_UINT64 && constant->integer < 0);
    if (!dtype_is_float(dtype) || constant->kind != DSL_FLOAT || !isfinite(constant->real))
        return false;
    return isinf(
        dtype_to_double(dtype, dtype_cast(dtype, AKG_FLOAT64, (union dtype_value){.d = constant->real})));
}

/* What an annotation by one word takes; NULL: the default may be any. */
static const char *kind_wanted(int builtin, enum dsl_argument_kind given)
{
    bool is_number = given == DSL_INT || given == DSL_BOOL;

    if (builtin == BUILTIN_STR)
        return given == DSL_STRING ? NULL : "a string";
    if (builtin == BUILTIN_TUPLE)
        return given == DSL_INTS ? NULL : "a tuple of ints";
    if (builtin == BUILTIN_INT)
        return is_number ? NULL : "an integer";
    if (builtin == BUILTIN_FLOAT)
        return is_number || given == DSL_FLOAT ? NULL : "a number";
    if (!builtin_is_dtype(builtin) || given == DSL_NONE) /* an optional tensor */
        return NULL;
    akg_dtype dtype = (akg_dtype)(builtin - BUILTIN_DTYPE);
    if (dtype_is_float(dtype) || dtype == AKG_BOOL)
        return is_number || (given == DSL_FLOAT && dtype != AKG_BOOL) ? NULL
               : dtype == AKG_BOOL                                    ? "a truth value"
                                                                      : "a number";
    return is_number ? NULL : "an integer";
}

bool names_refuse_default(struct arena *arena, akg_diagnostics *diagnostics,
                          const struct ast_parameter *parameter)
{
    const struct ast_expr *annotation = parameter->annotation;
    int builtin = annotation->kind == AST_NAME ? annotation->builtin : BUILTIN_NONE;
    struct dsl_argument constant;

    if (!parameter->initial || builtin == BUILTIN_NONE ||
        !elaborate_constant(arena, parameter->initial, &constant))
        return false;
    const char *wanted = kind_wanted(builtin, constant.kind);
    if (wanted) {
        diagnostic_note(diagnostic_add(diagnostics, MSG_CALL_KIND, parameter->initial->span, parameter->name,
                                       wanted, kind_text(constant.kind)),
                        "note: it is annotated %s", annotation->text);
        return true;
    }
    if (!builtin_is_dtype(builtin) || !is_out_of_range((akg_dtype)(builtin - BUILTIN_DTYPE), &constant))
        return false;
    diagnostic_note(diagnostic_add(diagnostics, MSG_NUMBER_RANGE, parameter->initial->span,
                                   constant.kind == DSL_INT
                                       ? arena_format(arena, "%lld", (long long)constant.integer)
                                       : arena_format(arena, "%g", constant.real),
                                   annotation->text),
                    "note: it is the default of '%s'", parameter->name);
    return true;
}
