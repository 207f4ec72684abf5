/*
 * elaborate_standard.c: operations on whole tensors, in graph functions, as calls of the standard library's
 * functions; and where messages and IR that come from the library's text are placed.
 */
#include <string.h>

#include "elaborate_private.h"

bool elaborate_is_standard(const struct elaborator *e, const struct value *values, int count)
{
    for (int i = 0; e->frame->graph && i < count; i++)
        if (values[i].kind == VALUE_TENSOR)
            return true;
    return false;
}

struct value elaborate_standard(struct elaborator *e, enum operation operation, const struct value *values,
                                int count, struct span span)
{
    const struct ast_function *callee = e->module->operators[operation];
    struct arguments arguments = {.span = span};

    if (!callee) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_NO_OPERATOR, span, operation_table[operation].text);
        diagnostic_note(message, "help: write a kernel for it: a loop over the elements");
        return value_error();
    }
    for (int i = 0; i < count; i++) {
        struct argument argument = {.value = values[i], .span = span};
        if (values[i].kind == VALUE_ERROR)
            return value_error();
        list_push(e->arena, &arguments, argument);
    }
    return elaborate_inline(e, callee, &arguments);
}

const struct ast_function *elaborate_standard_named(const struct elaborator *e, const char *name)
{
    for (const struct ast_module *module = e->module->library; module; module = module->next) {
        const struct ast_function *function = ast_module_function(module, name);
        if (function)
            return function;
    }
    return NULL;
}

/* ---- places ------------------------------------------------------------------------------ */

void elaborate_enter_standard(struct elaborator *e, const struct ast_function *callee, struct span span,
                              struct elaborate_place *place)
{
    *place = (struct elaborate_place){.entered = callee->module->file && !e->in_standard};
    if (!place->entered)
        return;
    place->span = span;
    place->first = e->tail;
    place->buffers = e->kernel->buffers.count;
    place->preconditions = e->kernel->preconditions.count;
    e->in_standard = true;
    diagnostics_set_place(
        e->diagnostics, &span,
        arena_format(e->arena, DIAGNOSTIC_PLACE "%s' of the standard library", callee->name));
}

static bool elaborate_place_expr(struct ir_expr *expr, void *context)
{
    expr->span = *(const struct span *)context;
    return true;
}

static void elaborate_place_block(struct ir_stmt *stmt, struct span *span)
{
    for (; stmt; stmt = stmt->next) {
        stmt->span = *span;
        ir_stmt_expressions(stmt, elaborate_place_expr, span);
        elaborate_place_block(stmt->body, span);
        elaborate_place_block(stmt->otherwise, span);
    }
}

void elaborate_leave_standard(struct elaborator *e, const struct elaborate_place *place)
{
    struct span span = place->span;

    if (!place->entered)
        return;
    e->in_standard = false;
    diagnostics_set_place(e->diagnostics, NULL, NULL);
    elaborate_place_block(*place->first, &span);
    for (int i = place->buffers; i < e->kernel->buffers.count; i++)
        e->kernel->buffers.items[i]->span = span;
    for (int i = place->preconditions; i < e->kernel->preconditions.count; i++)
        e->kernel->preconditions.items[i].span = span;
}
