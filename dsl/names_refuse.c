/*
 * names_refuse.c: what stands where a name of the language should, and cannot: members of
 * Python modules, annotations of other libraries, constants that Python would compute.
 */
#include "names_private.h"

#include "builtins.h"
#include "foreign.h"

/* np.exp: the member alone is often what is meant. */
void names_refuse_module(akg_diagnostics *diagnostics, const struct ast_expr *member)
{
    struct diagnostic_entry *message =
        diagnostic_add(diagnostics, MSG_MODULE_NAME, member->span, member->a->text);
    const struct foreign_name *foreign = foreign_find(member->text);
    const char *right = builtin_find(member->text) ? member->text : foreign ? foreign->right : NULL;

    if (right) {
        diagnostic_note(message, "help: write '%s'", right);
        diagnostic_fix(message, "%s", right);
    } else if (foreign)
        diagnostic_note(message, "help: %s", foreign->help);
    else
        diagnostic_note(message,
                        "help: scalar functions are called by name: exp(x[i]); all else is written as loops");
}

void names_refuse_annotation(struct arena *arena, akg_diagnostics *diagnostics, const struct ast_expr *base)
{
    struct diagnostic_entry *message;
    const char *dtypes[AKG_DTYPE_COUNT], *nearest = NULL, *shown = "this annotation";

    if (base->kind == AST_NAME)
        shown = arena_format(arena, "'%s'", base->text);
    for (int i = 0; i < AKG_DTYPE_COUNT; i++)
        dtypes[i] = dtype_table[i].name;
    if (base->kind == AST_NAME)
        nearest = spelling_nearest(base->text, dtypes, AKG_DTYPE_COUNT);
    message = diagnostic_add(diagnostics, MSG_BAD_ANNOTATION, base->span, shown);
    if (nearest) {
        diagnostic_note(message, "help: did you mean '%s'?", nearest);
        diagnostic_fix(message, "%s", nearest);
    } else {
        diagnostic_note(message,
                        "help: write a dtype (float32), a dtype with dims (float32[M, N]), or int, float, "
                        "bool, str, tuple for an attribute; or nothing, for any tensor");
    }
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
