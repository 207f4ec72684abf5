/*
 * names.c: what every name means.
 *
 * Consumes the tree of parse.c. Gives each AST_NAME its binding (or builtin), each
 * function its slots, and reports names that mean nothing, or nothing any
 * more. A name assigned in a block lives to the end of that block; one that both
 * sides of an if assign lives after it too. Structure (returns, recursion,
 * decorators) is checked by structure.c, which runs at the end of this stage.
 */
#include "names.h"

#include <string.h>

#include "elaborate.h"
#include "foreign.h"
#include "names_private.h"
#include "parse.h"
#include "standard.h"

static void names_block(struct names *names, struct ast_stmt *first);
static void names_expr(struct names *names, struct ast_expr *expr);

/* Makes the one binding that a name declared on both sides of an if has after it. */
static struct ast_binding *names_join(struct names *names, struct ast_binding *pending)
{
    struct ast_stmt *at = pending->join_at;
    struct ast_binding *sides[2] = {pending->join_a, pending->join_b};
    struct ast_binding **hoisted;

    if (!at)
        return pending;
    pending->join_at = NULL;
    pending->hoisted = true;
    for (int i = 0; i < 2; i++) {
        struct ast_binding *side = names_join(names, sides[i]);
        pending->assignments += side->assignments;
        pending->uses += side->uses;
        pending->varies |= side->varies;
        side->joined = pending;
    }
    pending->declared_by = sides[0]->declared_by;
    hoisted = arena_array(names->arena, struct ast_binding *, at->hoisted_count + 1);
    if (at->hoisted_count)
        memcpy(hoisted, at->hoisted, sizeof *hoisted * (size_t)at->hoisted_count);
    hoisted[at->hoisted_count++] = pending;
    at->hoisted = hoisted;
    return pending;
}

/* ---- names that are not there --------------------------------------------- */

/* The names that mean something here; of what is called functions only, else all others. */
static struct names_candidates names_candidates(const struct names *names, bool called)
{
    struct names_candidates candidates = {0};

    for (const struct names *from = names; from; from = from->outer)
        for (int i = 0; i < from->bucket_count; i++)
            for (struct names_entry *entry = from->buckets[i]; entry; entry = entry->next)
                if (entry->current && (entry->current->kind == AST_BINDING_FUNCTION) == called &&
                    candidates.names.count < 2000)
                    list_push(names->arena, &candidates.names, entry->name);
    return candidates;
}

/* The one output that nothing was written to yet, if there is exactly one. */
static struct ast_binding *names_unwritten_output(struct names *names)
{
    struct ast_binding *found = NULL;
    for (struct names_scope *scope = names->scope; scope; scope = scope->outer)
        for (struct ast_binding *binding = scope->first; binding; binding = binding->next) {
            const struct ast_expr *value = binding->declared_by;
            if (!value || value->kind != AST_CALL || value->a->builtin != BUILTIN_OUTPUT_TENSOR ||
                binding->uses > 0)
                continue;
            if (found)
                return NULL;
            found = binding;
        }
    return found;
}

/* A statement that could not be read may have declared it. */
static bool names_is_damaged(const struct names *names, const char *name)
{
    for (int i = 0; i < names->module->damaged.count; i++)
        if (strcmp(names->module->damaged.items[i], name) == 0)
            return true;
    return false;
}

/* A keyword and a name that is known, without the space between them: returny. */
static bool names_propose_space(struct names *names, struct diagnostic_entry *message, const char *name)
{
    static const char *const keywords[] = {"return", "assert", "not"};

    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        size_t length = strlen(keywords[i]);
        if (strncmp(name, keywords[i], length) != 0 || !name[length] ||
            !(builtin_find(name + length) || names_entry(names, name + length)->current))
            continue;
        diagnostic_note(message, "help: did you mean '%s %s'?", keywords[i], name + length);
        diagnostic_fix(message, "%s %s", keywords[i], name + length);
        return true;
    }
    return false;
}

static void names_refuse_unknown(struct names *names, const struct ast_expr *expr)
{
    struct diagnostic_entry *message =
        diagnostic_add(names->diagnostics, MSG_UNDEFINED_NAME, expr->span, expr->text);
    bool called = expr == names->called;
    struct names_candidates candidates;
    struct ast_binding *output;

    if (!message)
        return; /* enough was said: a suggestion takes time */
    output = expr == names->written ? names_unwritten_output(names) : NULL;
    candidates = names_candidates(names, called);
    if (expr == names->updated) {
        diagnostic_note(message, "help: give it a first value before the loop: %s = 0", expr->text);
    } else if (names_propose_space(names, message, expr->text) ||
               names_propose(names->arena, message, expr->text, &candidates, called)) {
        return;
    } else if (output) {
        diagnostic_note(message, "help: did you mean the output '%s', declared on line %d?", output->name,
                        output->span.line);
    } else if (expr == names->stored) {
        diagnostic_note(message,
                        "help: make it first: %s = output_tensor(shape, dtype), or allocate(shape, dtype) "
                        "where it is not returned",
                        expr->text);
    } else if (names->annotates) {
        diagnostic_note(message,
                        "help: an extent is computed from those that parameters bind by name: a: T[%s]; "
                        "where none does, write T[N]",
                        expr->text);
    }
}

static void names_refuse(struct names *names, struct ast_expr *expr)
{
    struct names_entry *entry = names_entry(names, expr->text);
    struct diagnostic_entry *message;

    if (names->function)
        names->function->unresolved = true;
    if (entry->refused || names_is_damaged(names, expr->text))
        return;
    entry->refused = true;
    if (entry->ended) {
        names_refuse_ended(names->diagnostics, expr, entry->ended);
    } else if (entry->assigned.line) {
        message = diagnostic_add(names->diagnostics, MSG_USED_BEFORE_DECLARATION, expr->span, expr->text);
        diagnostic_note(message, "note: it is first assigned on line %d", entry->assigned.line);
        diagnostic_note(message, "help: move that statement up, before this one");
    } else {
        names_refuse_unknown(names, expr);
    }
}

/* ---- expressions ------------------------------------------------------------ */

/* At the top level anything may be assigned, as long as nobody needs it. */
static void names_refuse_constant(struct names *names, const struct ast_binding *constant)
{
    struct diagnostic_entry *message =
        diagnostic_add(names->diagnostics, MSG_BAD_CONSTANT, constant->value->span, constant->name);
    diagnostic_note(message, "help: a constant of the file is a number, a bool, a string or a tuple of them");
    if (names->function)
        names->function->broken = true;
}

/* Each use of a constant is elaborated anew, so that what one is built of must be bounded, in depth too. */
static void names_count_part(struct names *names, const struct ast_binding *constant)
{
    if (constant->parts > DSL_MAX_CONSTANT && names->function)
        names->function->unresolved = true; /* it has no value */
    names->parts += names->parts > DSL_MAX_CONSTANT ? 0 : constant->parts;
    if (constant->value->depth > names->levels)
        names->levels = constant->value->depth;
}

/* The value of a constant; a name without meaning, which says nothing more, where it is too large. */
static struct ast_expr *names_bound_constant(struct names *names, const struct ast_stmt *stmt)
{
    if (names->parts < DSL_MAX_CONSTANT && stmt->value->depth + names->levels <= DSL_MAX_DEPTH) {
        stmt->value->depth += names->levels;
        return stmt->value;
    }
    diagnostic_add(names->diagnostics, MSG_CONSTANT_SIZE, stmt->target->span, stmt->target->text);
    names->parts = DSL_MAX_CONSTANT;
    struct ast_expr *unknown = ast_expr_new(names->arena, AST_NAME, stmt->value->span);
    unknown->text = stmt->target->text;
    return unknown;
}

static void names_use(struct names *names, struct ast_expr *expr)
{
    struct names_entry *entry = names_entry(names, expr->text);

    if (entry->current && entry->current->kind == AST_BINDING_CONSTANT &&
        !names_is_constant(entry->current->value))
        names_refuse_constant(names, entry->current);
    if (entry->current) {
        expr->binding = names_join(names, entry->current);
        expr->binding->uses++;
        if (expr->binding->kind == AST_BINDING_CONSTANT)
            names_count_part(names, expr->binding);
        if (expr->binding->kind == AST_BINDING_FUNCTION)
            expr->builtin = builtin_find(expr->text); /* its name may be that of a scalar function too */
        return;
    }
    expr->builtin = builtin_find(expr->text);
    if (!expr->builtin)
        names_refuse(names, expr);
}

/* A call of a name that means nothing here: perhaps a function of the standard library. */
static bool names_standard(struct names *names, struct ast_expr *name)
{
    struct names_entry *entry = names_entry(names, name->text);
    struct ast_module *program = names->module->program ? names->module->program : names->module;
    struct ast_function *function;

    if (entry->current || entry->assigned.line || builtin_find(name->text) ||
        (!names->module->file && !standard_is_public(name->text)))
        return false;
    function = standard_load(names->arena, program, name->text);
    if (!function)
        return false;
    name->binding = arena_new(names->arena, struct ast_binding);
    name->binding->kind = AST_BINDING_FUNCTION;
    name->binding->name = name->text;
    name->binding->slot = -1;
    name->binding->function = function;
    return true;
}

static bool names_is_module_member(struct names *names, const struct ast_expr *expr)
{
    return expr->kind == AST_ATTRIBUTE && expr->a->kind == AST_NAME &&
           !names_entry(names, expr->a->text)->current && foreign_is_module(expr->a->text);
}

/* np.exp; `call` is what calls it, if it is called. */
static void names_module_member(struct names *names, const struct ast_expr *expr, const struct ast_expr *call)
{
    names_refuse_module(names->diagnostics, expr, call);
    if (names->function)
        names->function->unresolved = true;
}

static void names_call(struct names *names, struct ast_expr *call)
{
    bool named = call->a->kind == AST_NAME;
    enum operation operation;

    names->called = named ? call->a : NULL;
    if (names_is_module_member(names, call->a))
        names_module_member(names, call->a, call);
    else if (!named || !names_standard(names, call->a))
        names_expr(names, call->a);
    for (int i = 0; i < call->count; i++) {
        names_expr(names, call->items[i]);
        if (named && call->a->builtin == BUILTIN_LEN)
            names_parameter_use(call->items[i], NAMES_TENSOR);
        else if (named && !call->a->binding &&
                 (builtin_operation(call->a->builtin, &operation) || builtin_is_cast(call->a->builtin)))
            names_parameter_use(call->items[i], NAMES_OPERAND);
        else if (named && !call->a->binding)
            names_argument_use(call->items[i]);
    }
}

static void names_expr(struct names *names, struct ast_expr *expr)
{
    if (!expr)
        return;
    switch (expr->kind) {
    case AST_NAME:
        names_use(names, expr);
        return;
    case AST_CALL:
        names_call(names, expr);
        return;
    case AST_KEYWORD:
    case AST_STARRED:
        names_expr(names, expr->a);
        return;
    case AST_ATTRIBUTE:
        if (names_is_module_member(names, expr)) {
            names_module_member(names, expr, NULL);
            return;
        }
        names_expr(names, expr->a);
        names_parameter_use(expr->a, NAMES_TENSOR);
        return;
    case AST_SUBSCRIPT:
        names_expr(names, expr->a);
        names_parameter_use(expr->a, NAMES_TENSOR);
        for (int i = 0; i < expr->count; i++) {
            names_expr(names, expr->items[i]);
            names_parameter_use(expr->items[i], NAMES_NUMBER);
        }
        return;
    case AST_STRING:
        if (expr->is_format)
            names_refuse_format(names->diagnostics, expr);
        if (expr->is_format && names->function)
            names->function->unresolved = true;
        return;
    default:
        names_expr(names, expr->a);
        names_expr(names, expr->condition);
        names_expr(names, expr->b);
        break;
    }
    for (int i = 0; i < expr->count; i++)
        names_expr(names, expr->items[i]);
    if (expr->kind == AST_UNARY || expr->kind == AST_BINARY || expr->kind == AST_CONDITIONAL) {
        names_parameter_use(expr->a, NAMES_OPERAND);
        if (expr->b)
            names_parameter_use(expr->b, NAMES_OPERAND);
    }
    if (expr->kind == AST_COMPARE && expr->comparisons[0] != AST_IS && expr->comparisons[0] != AST_IS_NOT)
        for (int i = 0; i < expr->count; i++)
            names_parameter_use(expr->items[i], NAMES_OPERAND);
}

/* ---- statements -------------------------------------------------------------- */

static void names_note_varying(const struct names *names, struct ast_binding *binding)
{
    binding->varies |= names->executed > binding->executed;
}

static void names_assign_name(struct names *names, struct ast_stmt *stmt, struct ast_expr *target,
                              bool unpacked)
{
    struct names_entry *entry = names_entry(names, target->text);
    struct ast_binding *binding = entry->current;

    if (binding && binding->join_at)
        binding = names_join(names, binding);
    if (binding && binding->kind == AST_BINDING_LOOP) {
        struct diagnostic_entry *message =
            diagnostic_add(names->diagnostics, MSG_ASSIGN_LOOP_VARIABLE, target->span, target->text);
        diagnostic_note(message, "help: assign to another name");
        names->function->broken = true;
        return;
    }
    if (binding && binding->kind == AST_BINDING_PARAMETER && names->scope->depth > binding->depth + 1) {
        struct diagnostic_entry *message =
            diagnostic_add(names->diagnostics, MSG_ASSIGN_PARAMETER, target->span, target->text);
        diagnostic_note(message, "help: copy it to a name of its own first: %s_ = %s", target->text,
                        target->text);
        names->function->broken = true;
        return;
    }
    if (!binding || binding->kind != AST_BINDING_LOCAL) {
        binding = names_declare(names, AST_BINDING_LOCAL, target->text, target->span);
        binding->declared_by = unpacked ? NULL : stmt->value;
    }
    names_note_varying(names, binding);
    binding->assignments++;
    target->binding = binding;
}

static void names_assign(struct names *names, struct ast_stmt *stmt, struct ast_expr *target, bool unpacked)
{
    struct diagnostic_entry *message;

    switch (target->kind) {
    case AST_NAME:
        names_assign_name(names, stmt, target, unpacked);
        return;
    case AST_TUPLE:
    case AST_LIST_DISPLAY:
        if (stmt->kind == AST_AUGMENTED) {
            message = diagnostic_add(names->diagnostics, MSG_ASSIGN_TARGET, target->span);
            diagnostic_note(message, "help: write a statement for each: a += 1; b += 2");
            names->function->unresolved = true;
            return;
        }
        for (int i = 0; i < target->count; i++) {
            names_assign(names, stmt, target->items[i], true);
            struct ast_binding *binding =
                target->items[i]->kind == AST_NAME ? target->items[i]->binding : NULL;
            if (binding && binding->kind == AST_BINDING_LOCAL && binding->assignments == 1) {
                binding->unpacked = stmt->value;
                binding->item = i;
            }
        }
        return;
    case AST_SUBSCRIPT:
        names->written = names->stored = target->a;
        names_expr(names, target);
        names->written = names->stored = NULL;
        return;
    default:
        message = diagnostic_add(names->diagnostics, MSG_ASSIGN_TARGET, target->span);
        if (target->kind == AST_CALL)
            diagnostic_note(message, "help: elements are written with brackets: y[i] = ...");
        else
            diagnostic_note(message, "help: assign to a name or to an element: name = ... or y[i] = ...");
        names->function->unresolved = true;
    }
}

/* `v += 1` of a parameter is `v = v + 1`: what is assigned to is a name of its own from there on. */
static void names_update_parameter(struct names *names, struct ast_stmt *stmt)
{
    struct ast_expr *sum = ast_expr_new(names->arena, AST_BINARY, stmt->span);
    sum->operation = stmt->operation;
    sum->a = ast_expr_new(names->arena, AST_NAME, stmt->target->span);
    *sum->a = *stmt->target;
    sum->b = stmt->value;
    names_parameter_use(sum->a, NAMES_OPERAND);
    stmt->kind = AST_ASSIGN;
    stmt->value = sum;
}

static void names_augmented(struct names *names, struct ast_stmt *stmt)
{
    struct ast_binding *binding;

    names_expr(names, stmt->value);
    names_parameter_use(stmt->value, NAMES_OPERAND);
    if (stmt->target->kind != AST_NAME) {
        names_assign(names, stmt, stmt->target, false);
        return;
    }
    names->updated = stmt->target;
    names_use(names, stmt->target);
    names->updated = NULL;
    binding = stmt->target->binding;
    if (binding && binding->kind == AST_BINDING_LOCAL) {
        names_note_varying(names, binding);
        binding->assignments++;
    } else if (binding && binding->kind == AST_BINDING_CONSTANT) {
        names_refuse_update(names->diagnostics, stmt->target->span, binding);
        names->function->broken = true;
    } else if (binding || stmt->target->builtin) {
        if (binding && binding->kind == AST_BINDING_PARAMETER)
            names_update_parameter(names, stmt);
        names_assign_name(names, stmt, stmt->target, false);
    }
}

/* Loop variables live in the block of the body. */
static void names_loop_target(struct names *names, struct ast_expr *target)
{
    if (target->kind == AST_NAME) {
        target->binding = names_declare(names, AST_BINDING_LOOP, target->text, target->span);
        return;
    }
    if (target->kind == AST_TUPLE && target->count > 0) {
        for (int i = 0; i < target->count; i++)
            names_loop_target(names, target->items[i]);
        return;
    }
    names->function->broken = true;
    diagnostic_note(diagnostic_add(names->diagnostics, MSG_LOOP_TARGET, target->span),
                    "help: write for i in ..., and use i in the body");
}

/* Loops over ranges run; those over tuples and const_range are unrolled when compiling. */
static bool names_runs(const struct ast_expr *over)
{
    return over->kind == AST_CALL && over->a->kind == AST_NAME && !over->a->binding &&
           over->a->builtin >= BUILTIN_RANGE && over->a->builtin <= BUILTIN_REVERSED &&
           over->a->builtin != BUILTIN_CONST_RANGE;
}

static void names_for(struct names *names, struct ast_stmt *stmt)
{
    struct names_scope scope;

    names_expr(names, stmt->value);
    names_parameter_use(stmt->value, NAMES_TENSOR);
    names_enter(names, &scope);
    names_loop_target(names, stmt->target);
    if (stmt->target->kind == AST_NAME && stmt->target->binding)
        stmt->target->binding->declared_by = stmt->value;
    names->loops++;
    names->executed += names_runs(stmt->value);
    names_block(names, stmt->body);
    names->executed -= names_runs(stmt->value);
    names->loops--;
    names_leave(names);
}

static struct ast_binding *names_scope_find(const struct names_scope *scope, const char *name)
{
    for (struct ast_binding *binding = scope->first; binding; binding = binding->next)
        if (binding->kind == AST_BINDING_LOCAL && strcmp(binding->name, name) == 0)
            return binding;
    return NULL;
}

static void names_if(struct names *names, struct ast_stmt *stmt)
{
    struct names_scope then_scope, else_scope;

    names_expr(names, stmt->value);
    names_parameter_use(stmt->value, NAMES_NUMBER);
    names->executed++;
    names_enter(names, &then_scope);
    names_block(names, stmt->body);
    names_leave(names);
    names_enter(names, &else_scope);
    names_block(names, stmt->otherwise);
    names_leave(names);
    names->executed--;
    if (!stmt->otherwise)
        return;
    for (struct ast_binding *a = then_scope.first; a; a = a->next) {
        struct ast_binding *b = a->kind == AST_BINDING_LOCAL ? names_scope_find(&else_scope, a->name) : NULL;
        struct ast_binding *join;
        if (!b)
            continue;
        join = names_declare(names, AST_BINDING_LOCAL, a->name, a->span);
        join->join_at = stmt;
        join->join_a = a;
        join->join_b = b;
    }
}

static void names_statement(struct names *names, struct ast_stmt *stmt)
{
    struct names_scope scope;

    switch (stmt->kind) {
    case AST_EXPRESSION:
        names_expr(names, stmt->value);
        break;
    case AST_ASSIGN:
        names_expr(names, stmt->annotation);
        names_expr(names, stmt->value);
        if (stmt->target->kind == AST_SUBSCRIPT)
            names_parameter_use(stmt->value, NAMES_NUMBER);
        names_assign(names, stmt, stmt->target, false);
        break;
    case AST_AUGMENTED:
        names_augmented(names, stmt);
        break;
    case AST_FOR:
        names_for(names, stmt);
        break;
    case AST_WHILE:
        names_expr(names, stmt->value);
        names_enter(names, &scope);
        names->loops++;
        names->executed++;
        names_block(names, stmt->body);
        names->executed--;
        names->loops--;
        names_leave(names);
        break;
    case AST_IF:
        names_if(names, stmt);
        break;
    case AST_WITH:
        names_expr(names, stmt->value);
        names_block(names, stmt->body);
        break;
    case AST_ASSERT:
        names_expr(names, stmt->value);
        names_expr(names, stmt->message);
        break;
    case AST_RETURN:
        names->written = stmt->value;
        names_expr(names, stmt->value);
        names->written = NULL;
        break;
    case AST_BREAK:
    case AST_CONTINUE:
        if (names->loops == 0) {
            names->function->broken = true;
            diagnostic_note(diagnostic_add(names->diagnostics, MSG_BREAK_OUTSIDE, stmt->span,
                                           stmt->kind == AST_BREAK ? "break" : "continue"),
                            "help: it stands in the body of a for or while; remove it here");
        }
        break;
    case AST_PASS:
    case AST_IMPORT:
        break;
    }
}

static void names_block(struct names *names, struct ast_stmt *first)
{
    for (struct ast_stmt *stmt = first; stmt; stmt = stmt->next)
        names_statement(names, stmt);
}

/* Where each name is assigned first, anywhere: to tell "too early" from "unknown". */
static void names_note_assigned(struct names *names, const struct ast_expr *target)
{
    if (target->kind == AST_NAME) {
        struct names_entry *entry = names_entry(names, target->text);
        if (!entry->assigned.line)
            entry->assigned = target->span;
    } else if (target->kind == AST_TUPLE) {
        for (int i = 0; i < target->count; i++)
            names_note_assigned(names, target->items[i]);
    }
}

static void names_note_block(struct names *names, const struct ast_stmt *first)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind == AST_ASSIGN || stmt->kind == AST_FOR)
            names_note_assigned(names, stmt->target);
        names_note_block(names, stmt->body);
        names_note_block(names, stmt->otherwise);
    }
}

/* ---- functions ---------------------------------------------------------------- */

/* Plain names in the shape of an annotation declare dims; everything else in it is looked up afterwards. */
static void names_annotation_dims(struct names *names, struct ast_expr *annotation)
{
    if (annotation->kind == AST_BINARY) {
        names_annotation_dims(names, annotation->a);
        names_annotation_dims(names, annotation->b);
    }
    if (annotation->kind != AST_SUBSCRIPT)
        return;
    for (int i = 0; i < annotation->count; i++) {
        struct ast_expr *item = annotation->items[i];
        if (item->kind == AST_NAME && !names_entry(names, item->text)->current)
            names_declare(names, AST_BINDING_DIM, item->text, item->span);
    }
}

static bool names_is_type_variable(const char *name)
{
    return name[0] == 'T' && strspn(name + 1, "0123456789'") == strlen(name + 1);
}

static void names_annotation(struct names *names, struct ast_expr *annotation)
{
    struct ast_expr *base = annotation->kind == AST_SUBSCRIPT ? annotation->a : annotation;

    if (annotation->kind == AST_BINARY && annotation->operation == OP_BITOR) {
        names_annotation(names, annotation->a);
        names_annotation(names, annotation->b);
        return;
    }
    if (annotation->kind == AST_NONE)
        return;
    if (base->kind != AST_NAME || !names_is_type_variable(base->text)) {
        int builtin = base->kind == AST_NAME ? builtin_find(base->text) : BUILTIN_NONE;
        base->builtin = builtin;
        if (!builtin_is_dtype(builtin) && builtin != BUILTIN_INT && builtin != BUILTIN_FLOAT &&
            builtin != BUILTIN_STR && builtin != BUILTIN_TUPLE) {
            names_refuse_annotation(names->arena, names->diagnostics, base);
            names->function->broken = true;
        }
    }
    if (annotation->kind == AST_SUBSCRIPT && names_refuse_shape(names->diagnostics, annotation))
        names->function->broken = true;
    names->annotates = true;
    for (int i = 0; annotation->kind == AST_SUBSCRIPT && i < annotation->count; i++)
        names_expr(names, annotation->items[i]);
    names->annotates = false;
}

static void names_default(struct names *names, const struct ast_parameter *parameter)
{
    size_t errors = akg_diagnostics_error_count(names->diagnostics);
    struct diagnostic_entry *message;
    struct dsl_argument constant;

    names_expr(names, parameter->initial);
    if (elaborate_constant(names->arena, parameter->initial, &constant))
        return;
    names->function->broken = true; /* whether it is a tensor, nobody knows */
    if (names->function->damaged || akg_diagnostics_error_count(names->diagnostics) != errors)
        return;
    message = diagnostic_add(names->diagnostics, MSG_BAD_DEFAULT, parameter->initial->span, parameter->name);
    diagnostic_note(message, "help: write a number, True or False, a string, None, or a tuple of integers");
}

static void names_parameters(struct names *names, struct ast_function *function)
{
    bool defaults = false;

    for (int i = 0; i < function->parameter_count; i++) {
        struct ast_parameter *parameter = &function->parameters[i];
        if (parameter->initial)
            names_default(names, parameter);
        if (names_entry(names, parameter->name)->current &&
            names_entry(names, parameter->name)->current->kind == AST_BINDING_PARAMETER) {
            struct diagnostic_entry *message =
                diagnostic_add(names->diagnostics, MSG_DUPLICATE_PARAMETER, parameter->span, parameter->name);
            diagnostic_note(message, "help: rename one of them");
            function->broken = true;
        }
        if (defaults && !parameter->initial && !parameter->variadic) {
            struct diagnostic_entry *message =
                diagnostic_add(names->diagnostics, MSG_PARAMETER_ORDER, parameter->span, parameter->name);
            diagnostic_note(message, "help: move it before those with a default, or give it one");
            function->broken = true;
        }
        defaults |= parameter->initial != NULL;
        parameter->binding = names_declare(names, AST_BINDING_PARAMETER, parameter->name, parameter->span);
        parameter->binding->parameter = parameter;
    }
    for (int i = 0; i < function->parameter_count; i++)
        if (function->parameters[i].annotation)
            names_annotation_dims(names, function->parameters[i].annotation);
    for (int i = 0; i < function->parameter_count; i++)
        if (function->parameters[i].annotation) {
            names_annotation(names, function->parameters[i].annotation);
            function->broken |=
                names_refuse_default(names->arena, names->diagnostics, &function->parameters[i]);
        }
}

static void names_function(struct names *outer, struct ast_function *function)
{
    struct names names = *outer;
    struct names_scope parameters, body;

    names.function = function;
    names.outer = outer;
    names.buckets = NULL;
    names.bucket_count = names.entry_count = 0;
    names_enter(&names, &parameters);
    names_parameters(&names, function);
    names_note_block(&names, function->body);
    names_enter(&names, &body);
    names_block(&names, function->body);
    names_leave(&names);
    names_leave(&names);
}

static void names_top_statement(struct names *names, struct ast_stmt *stmt)
{
    struct ast_binding *binding;
    struct diagnostic_entry *message;

    if (stmt->kind == AST_IMPORT || stmt->kind == AST_PASS)
        return;
    if (stmt->kind == AST_EXPRESSION && stmt->value->kind == AST_STRING)
        return;
    if (stmt->kind == AST_ASSIGN && stmt->target->kind == AST_NAME) {
        names->parts = names->levels = 0;
        if (names_is_constant(stmt->value))
            names_expr(names, stmt->value);
        binding = names_declare(names, AST_BINDING_CONSTANT, stmt->target->text, stmt->target->span);
        binding->value = names_bound_constant(names, stmt);
        binding->parts = names->parts + 1;
        return;
    }
    message = diagnostic_add(names->diagnostics, MSG_STATEMENT_OUTSIDE, stmt->span);
    if (stmt->kind == AST_EXPRESSION && stmt->value->kind == AST_CALL)
        diagnostic_note(message,
                        "help: the file is not run from top to bottom; a kernel is called by akgrun run, or "
                        "from C");
    else
        diagnostic_note(message, "help: put the statement into a function: def name(...):");
}

void names_resolve(struct arena *arena, struct ast_module *module, akg_diagnostics *diagnostics)
{
    struct names names = {.arena = arena, .diagnostics = diagnostics, .module = module};
    struct names_scope top;

    for (struct ast_function *function = module->functions; function; function = function->next)
        function->module = module;
    names_enter(&names, &top);
    for (struct ast_stmt *stmt = module->statements; stmt; stmt = stmt->next)
        names_top_statement(&names, stmt);
    for (struct ast_function *function = module->functions; function; function = function->next) {
        struct names_entry *entry = names_entry(&names, function->name);
        if (entry->current && entry->current->kind == AST_BINDING_FUNCTION) {
            struct diagnostic_entry *message =
                diagnostic_add(diagnostics, MSG_DUPLICATE_FUNCTION, function->span, function->name);
            diagnostic_note(message, "note: the first is on line %d", entry->current->span.line);
            diagnostic_note(message, "help: rename one of them");
            function->broken = true;
            continue;
        }
        names_declare(&names, AST_BINDING_FUNCTION, function->name, function->span)->function = function;
    }
    for (struct ast_function *function = module->functions; function; function = function->next)
        names_function(&names, function);
    structure_check(arena, module, diagnostics);
    for (struct ast_function *function = module->functions; function; function = function->next)
        signature_infer(arena, function);
}
