/*
 * structure_refuse.c: what a function that returns nothing was probably meant to return.
 *
 * Consumes functions whose names are bound, some perhaps to nothing.
 */
#include "structure_private.h"

#include <string.h>

typedef LIST(const struct ast_binding *) written_list;

static bool written_has(const written_list *written, const struct ast_binding *binding)
{
    for (int i = 0; i < written->count; i++)
        if (written->items[i] == binding)
            return true;
    return false;
}

/* A tensor that is made here and only serves this function, as far as its text tells. */
static bool written_is_temporary(const struct ast_binding *binding)
{
    return binding->kind == AST_BINDING_LOCAL && structure_is_call_of(binding->declared_by, BUILTIN_ALLOCATE);
}

static void written_collect(struct arena *arena, const struct ast_stmt *first, bool temporaries,
                            written_list *written)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        const struct ast_expr *base = stmt->target;
        const struct ast_binding *binding = NULL;
        while (base && base->kind == AST_SUBSCRIPT)
            base = base->a;
        if (base && base->kind == AST_NAME &&
            (base != stmt->target || structure_is_call_of(stmt->value, BUILTIN_OUTPUT_TENSOR)))
            binding = ast_binding_of(base);
        if (binding && written_is_temporary(binding) == temporaries && !written_has(written, binding))
            list_push(arena, written, binding);
        written_collect(arena, stmt->body, temporaries, written);
        written_collect(arena, stmt->otherwise, temporaries, written);
    }
}

/* What the last assignment of the function gives a name to. */
static const char *last_assigned(const struct ast_stmt *first)
{
    const char *name = NULL;

    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next)
        if (stmt->kind == AST_ASSIGN && stmt->target->kind == AST_NAME)
            name = stmt->target->text;
    return name;
}

/* Whether the function ends in what was told to be no name, and is a return without the space behind it. */
static bool ends_in_misspelt_return(const struct ast_stmt *last)
{
    const struct ast_expr *expr;

    while (last && last->next)
        last = last->next;
    expr = last && last->kind == AST_EXPRESSION ? last->value : NULL;
    while (expr && expr->kind != AST_NAME)
        expr = expr->a ? expr->a : expr->count ? expr->items[0] : NULL;
    return expr && !expr->binding && !expr->builtin && strncmp(expr->text, "return", 6) == 0;
}

void structure_refuse_no_return(struct arena *arena, akg_diagnostics *diagnostics,
                                const struct ast_function *function)
{
    const char *assigned = last_assigned(function->body), *list = "";
    struct diagnostic_entry *message;
    written_list written = {0};

    if (ends_in_misspelt_return(function->body))
        return;
    message = diagnostic_add(diagnostics, MSG_NO_RETURN, function->span, function->name);
    written_collect(arena, function->body, false, &written);
    if (written.count == 0)
        written_collect(arena, function->body, true, &written);
    for (int i = 0; i < written.count; i++)
        list = arena_format(arena, "%s%s%s", list, i ? ", " : "", written.items[i]->name);
    if (written.count)
        diagnostic_note(message, "help: return the tensor%s it writes: return %s",
                        written.count > 1 ? "s" : "", list);
    else if (assigned)
        diagnostic_note(message, "help: return what it computes: return %s", assigned);
    else
        diagnostic_note(
            message, "help: make a tensor, y = output_tensor(shape, dtype), write it, and end with return y");
}

void structure_refuse_open_end(akg_diagnostics *diagnostics, const struct ast_function *function,
                               const struct ast_stmt *last)
{
    struct diagnostic_entry *message =
        diagnostic_add(diagnostics, MSG_NO_RETURN, function->span, function->name);

    if (last->kind == AST_IF) {
        diagnostic_note(message, "note: it does where the condition on line %d does not hold",
                        last->span.line);
        diagnostic_note(message, "help: return there too: behind the if, or in an else");
    } else {
        diagnostic_note(message, "note: it does where line %d is the last one", last->span.line);
        diagnostic_note(message, "help: return behind that");
    }
}
