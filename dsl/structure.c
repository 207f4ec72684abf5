/*
 * structure.c: what holds of whole functions, once names are bound.
 *
 * Where returns stand, that outputs are returned, that no function calls itself,
 * what decorators mean, which functions are kernels, helpers (they give a scalar) or
 * graph functions (they compute with whole tensors), and the calling convention of bprops. For those it has
 * the functions of the standard library read that their operators stand for.
 */
#include <string.h>

#include "standard.h"
#include "structure_private.h"

struct structure {
    struct arena *arena;
    struct ast_module *module;
    akg_diagnostics *diagnostics;
    bool changed; /* structure_pass_tensors learnt something */
};

static const char *structure_number(struct structure *s, int number)
{
    return arena_format(s->arena, "%d", number);
}

/* ---- returns ------------------------------------------------------------------ */

static bool structure_ends_in_return(const struct ast_stmt *first)
{
    const struct ast_stmt *last = first;
    while (last && last->next)
        last = last->next;
    if (!last)
        return false;
    if (last->kind == AST_RETURN)
        return true;
    return last->kind == AST_IF && structure_ends_in_return(last->body) &&
           structure_ends_in_return(last->otherwise);
}

/* The statement behind which the function may end without having returned; NULL: it does not. */
static const struct ast_stmt *structure_open_end(const struct ast_stmt *first)
{
    const struct ast_stmt *last = first;
    while (last->next)
        last = last->next;
    if (last->kind == AST_RETURN || (last->kind == AST_ASSERT && last->value->kind == AST_FALSE))
        return NULL;
    if (last->kind == AST_WITH && last->body)
        return structure_open_end(last->body);
    if (last->kind == AST_IF && last->body && last->value->kind == AST_TRUE)
        return structure_open_end(last->body);
    if (last->kind != AST_IF || !last->body || !last->otherwise)
        return last;
    const struct ast_stmt *open = structure_open_end(last->body);
    return open ? open : structure_open_end(last->otherwise);
}

/* The last `if` of a chain of elifs without an else, all of whose bodies return; or NULL. */
static struct ast_stmt *structure_open_chain(struct ast_stmt *branch)
{
    while (branch && branch->kind == AST_IF && structure_ends_in_return(branch->body)) {
        if (!branch->otherwise)
            return branch;
        branch = branch->otherwise->next ? NULL : branch->otherwise;
    }
    return NULL;
}

/* How many tensors a return statement gives, as far as the text tells: `return y, None` gives one. */
static int structure_given(const struct ast_expr *result)
{
    int count = 0;

    if (!result || result->kind != AST_TUPLE)
        return result && result->kind != AST_NONE;
    for (int i = 0; i < result->count; i++)
        count += result->items[i]->kind != AST_NONE;
    return count;
}

/* `tail`: nothing that is executed follows this block. */
static void structure_returns(struct structure *s, struct ast_function *function, struct ast_stmt *first,
                              bool tail)
{
    for (struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        bool last = stmt->next == NULL;
        if (stmt->kind == AST_RETURN && tail && last) {
            if (!function->result_at || structure_given(stmt->value) >= structure_given(function->result)) {
                function->result = stmt->value;
                function->result_at = stmt;
            }
        } else if (stmt->kind == AST_RETURN) {
            struct diagnostic_entry *message = diagnostic_add(s->diagnostics, MSG_RETURN_PLACE, stmt->span);
            if (stmt->next)
                diagnostic_note(message, "note: the statement on line %d would never be reached",
                                stmt->next->span.line);
            diagnostic_note(message,
                            last ? "help: indent it as the body of the function; to leave a loop, write break"
                                 : "help: move it behind the statements that follow it");
            function->broken = true;
        } else if (stmt->kind == AST_IF) {
            /* `if c: return a` with more behind it: that is the other side */
            struct ast_stmt *open = tail && !last && stmt->otherwise ? structure_open_chain(stmt) : NULL;
            bool early = tail && !last && structure_ends_in_return(stmt->body);
            if (open) {
                open->otherwise = stmt->next;
                stmt->next = NULL;
                last = true;
            }
            structure_returns(s, function, stmt->body, early || (tail && last));
            structure_returns(s, function, stmt->otherwise, tail && last);
        } else {
            structure_returns(s, function, stmt->body, tail && last && stmt->kind == AST_WITH);
        }
    }
}

/* ---- walking calls --------------------------------------------------------------- */

typedef void structure_visit(struct structure *s, struct ast_function *function, struct ast_expr *call);

static void structure_calls_expr(struct structure *s, struct ast_function *function, struct ast_expr *expr,
                                 structure_visit *visit)
{
    if (!expr)
        return;
    if (structure_callee(expr))
        visit(s, function, expr);
    structure_calls_expr(s, function, expr->a, visit);
    structure_calls_expr(s, function, expr->b, visit);
    structure_calls_expr(s, function, expr->condition, visit);
    for (int i = 0; i < expr->count; i++)
        structure_calls_expr(s, function, expr->items[i], visit);
}

static void structure_calls(struct structure *s, struct ast_function *function, struct ast_stmt *first,
                            structure_visit *visit)
{
    for (struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        structure_calls_expr(s, function, stmt->target, visit);
        structure_calls_expr(s, function, stmt->value, visit);
        structure_calls(s, function, stmt->body, visit);
        structure_calls(s, function, stmt->otherwise, visit);
    }
}

/* A parameter handed to a tensor parameter of another function is a tensor too. */
static void structure_pass_tensors(struct structure *s, struct ast_function *function, struct ast_expr *call)
{
    struct ast_function *callee = structure_callee(call);
    for (int i = 0; i < call->count; i++) {
        struct ast_expr *argument = call->items[i];
        struct ast_parameter *parameter = i < callee->parameter_count ? &callee->parameters[i] : NULL;
        struct ast_binding *binding;
        if (argument->kind == AST_KEYWORD) {
            parameter = NULL;
            for (int k = 0; k < callee->parameter_count; k++)
                if (strcmp(callee->parameters[k].name, argument->text) == 0)
                    parameter = &callee->parameters[k];
            argument = argument->a;
        }
        int left = 100;
        if (parameter && !parameter->is_handed_scalar && structure_is_scalar(function, argument, &left))
            parameter->is_handed_scalar = s->changed = true;
        binding = argument->kind == AST_NAME ? ast_binding_of(argument) : NULL;
        if (!parameter || !binding || binding->kind != AST_BINDING_PARAMETER)
            continue;
        if (parameter->used_as_tensor && !binding->parameter->used_as_tensor) {
            binding->parameter->used_as_tensor = true;
            s->changed = true;
        }
        if (parameter->used_as_scalar && !parameter->used_as_tensor)
            binding->parameter->used_as_scalar = true;
    }
}

/* Depth-first: 1 on the path, 2 done. */
static void structure_recursion(struct structure *s, struct ast_function *function, struct ast_expr *call)
{
    struct ast_function *callee = structure_callee(call);

    if (call->a->builtin)
        return; /* perhaps the scalar function of that name is called: elaboration will see */
    if (callee->mark == 1) {
        struct diagnostic_entry *message =
            diagnostic_add(s->diagnostics, MSG_RECURSION, call->span, callee->name);
        diagnostic_note(message, "note: functions are inlined where they are called, so a call must end");
        diagnostic_note(message, "help: write a loop (for or while)");
        function->broken = callee->broken = true;
        return;
    }
    if (callee->mark == 2)
        return;
    callee->mark = 1;
    structure_calls(s, callee, callee->body, structure_recursion);
    callee->mark = 2;
}

static void structure_mark_called(struct structure *s, struct ast_function *function, struct ast_expr *call)
{
    (void)s;
    (void)function;
    structure_callee(call)->is_called = true;
}

/* ---- one function ------------------------------------------------------------------ */

/* Marks what stands in a result of a function. */
static void structure_mark_result(const struct ast_expr *expr)
{
    struct ast_binding *binding = expr && expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;

    if (!expr)
        return;
    if (binding)
        binding->returned = true;
    for (int i = 0; i < expr->count; i++)
        structure_mark_result(expr->items[i]);
    structure_mark_result(expr->a);
    structure_mark_result(expr->b);
    structure_mark_result(expr->condition);
}

/* An attribute may decide which tensors are returned, so what one return statement gives is enough. */
static void structure_mark_returned(const struct ast_stmt *first)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind == AST_RETURN)
            structure_mark_result(stmt->value);
        structure_mark_returned(stmt->body);
        structure_mark_returned(stmt->otherwise);
    }
}

static bool structure_makes_outputs(const struct ast_stmt *first)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next)
        if ((stmt->kind == AST_ASSIGN && structure_is_call_of(stmt->value, BUILTIN_OUTPUT_TENSOR)) ||
            structure_makes_outputs(stmt->body) || structure_makes_outputs(stmt->otherwise))
            return true;
    return false;
}

/* A function that gives no tensor is a helper, unless it was surely meant to be a kernel: then it is
 * elaborated as one, which says what is wrong with it. */
static void structure_helper(struct ast_function *function, bool kernels)
{
    bool tensors = false;

    for (int i = 0; i < function->parameter_count; i++)
        tensors |= function->parameters[i].used_as_tensor;
    if (structure_makes_outputs(function->body) || (!function->is_called && (tensors || !kernels)))
        function->is_helper = false;
}

static void structure_outputs(struct structure *s, struct ast_function *function,
                              const struct ast_stmt *first)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        const struct ast_binding *binding;

        structure_outputs(s, function, stmt->body);
        structure_outputs(s, function, stmt->otherwise);
        if (stmt->kind != AST_ASSIGN || stmt->target->kind != AST_NAME ||
            !structure_is_call_of(stmt->value, BUILTIN_OUTPUT_TENSOR))
            continue;
        binding = ast_binding_of(stmt->target);
        if (function->result && binding && !binding->returned) {
            struct diagnostic_entry *message =
                diagnostic_add(s->diagnostics, MSG_OUTPUT_NOT_RETURNED, stmt->target->span, binding->name);
            diagnostic_note(message,
                            "help: add it to the return on line %d, or make it a temporary: allocate(...)",
                            function->result_at->span.line);
            function->broken = true;
        }
    }
}

/* ---- graph functions --------------------------------------------------------------- */

/* Whether an expression reads no element and makes no tensor of its own; notes whether it computes. */
/* What a pure function does: it computes something; it hands something to what is of tensors alone, or asks
 * for what numbers have not (`x.shape`, or a method that there is none of). */
struct structure_uses {
    bool computes, tensors;
};

static bool structure_is_pure_expr(const struct ast_function *function, const struct ast_expr *expr,
                                   struct structure_uses *uses)
{
    if (!expr)
        return true;
    if (structure_is_call_of(expr, BUILTIN_OUTPUT_TENSOR) || structure_is_call_of(expr, BUILTIN_ALLOCATE) ||
        structure_is_element(function, expr))
        return false;
    uses->computes |= structure_is_operation(expr) || structure_callee(expr);
    uses->tensors |=
        (structure_callee(expr) && structure_gives_tensor(expr, 0)) || expr->kind == AST_ATTRIBUTE;
    for (int i = 0; i < expr->count; i++)
        if (!structure_is_pure_expr(function, expr->items[i], uses))
            return false;
    return structure_is_pure_expr(function, expr->a, uses) &&
           structure_is_pure_expr(function, expr->b, uses) &&
           structure_is_pure_expr(function, expr->condition, uses);
}

/* Loops over tuples and ranges are unrolled in a graph function; all others run. */
static bool structure_is_unrolled(const struct ast_expr *over)
{
    return over->kind != AST_CALL || structure_is_call_of(over, BUILTIN_CONST_RANGE) ||
           structure_is_call_of(over, BUILTIN_RANGE) || structure_is_call_of(over, BUILTIN_REVERSED) ||
           structure_is_call_of(over, BUILTIN_ENUMERATE);
}

static bool structure_is_pure(const struct ast_function *function, const struct ast_stmt *first,
                              struct structure_uses *uses)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        struct structure_uses ignored = {false, false};
        switch (stmt->kind) {
        case AST_ASSIGN:
            if (stmt->target->kind != AST_NAME && stmt->target->kind != AST_TUPLE)
                return false;
            break;
        case AST_AUGMENTED:
            if (stmt->target->kind != AST_NAME)
                return false;
            uses->computes = true;
            break;
        case AST_FOR:
            if (!structure_is_unrolled(stmt->value))
                return false;
            break;
        case AST_ASSERT:
            if (!structure_is_pure_expr(function, stmt->value, &ignored))
                return false;
            continue;
        case AST_EXPRESSION: /* a docstring */
        case AST_IF:
        case AST_RETURN:
        case AST_PASS:
        case AST_IMPORT:
            break;
        default:
            return false;
        }
        if (!structure_is_pure_expr(function, stmt->value, uses) ||
            !structure_is_pure(function, stmt->body, uses) ||
            !structure_is_pure(function, stmt->otherwise, uses))
            return false;
    }
    return true;
}

/* A parameter that nothing in a graph function keeps from being a tensor. */
static bool structure_may_be_tensor(const struct ast_parameter *parameter)
{
    const struct ast_expr *annotation = parameter->annotation;

    if (parameter->initial && parameter->initial->kind != AST_NONE)
        return false;
    if (annotation && annotation->kind == AST_NAME && annotation->builtin &&
        !builtin_is_dtype(annotation->builtin))
        return false;
    return parameter->used_as_tensor || (annotation && annotation->kind != AST_NAME) ||
           !parameter->used_as_number;
}

static struct ast_module *structure_program(const struct structure *s)
{
    return s->module->program ? s->module->program : s->module;
}

/* False where the library has no function for an operation. */
static bool structure_operator(struct structure *s, enum operation operation)
{
    struct ast_module *program = structure_program(s);
    const char *name = standard_operation_name(operation);

    if (name && !program->operators[operation])
        program->operators[operation] = standard_load(s->arena, program, name);
    return name != NULL;
}

static bool structure_operators_expr(struct structure *s, const struct ast_expr *expr)
{
    static const enum operation comparisons[] = {OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE};
    enum operation operation;
    bool all = true;

    if (!expr)
        return true;
    if (expr->kind == AST_BINARY || (expr->kind == AST_UNARY && expr->operation != OP_NOT))
        all &= structure_operator(s, expr->operation);
    for (int i = 1; expr->kind == AST_COMPARE && i < expr->count; i++)
        if (expr->comparisons[i - 1] < sizeof comparisons / sizeof *comparisons)
            all &= structure_operator(s, comparisons[expr->comparisons[i - 1]]);
    if (expr->kind == AST_CALL && structure_is_operation(expr)) {
        all &= structure_operator(s, builtin_operation(expr->a->builtin, &operation) ? operation : OP_CAST);
        standard_load(s->arena, structure_program(s), expr->a->text); /* max(x, axis=1) is no maximum */
    }
    all &= structure_operators_expr(s, expr->a);
    all &= structure_operators_expr(s, expr->b);
    all &= structure_operators_expr(s, expr->condition);
    for (int i = 0; i < expr->count; i++)
        all &= structure_operators_expr(s, expr->items[i]);
    return all;
}

/* Reads the functions of the library that operations on tensors stand for; false where one is missing. */
static bool structure_operators(struct structure *s, const struct ast_stmt *first)
{
    bool all = true;

    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind == AST_AUGMENTED)
            all &= structure_operator(s, stmt->operation);
        if (stmt->kind != AST_ASSERT)
            all &= structure_operators_expr(s, stmt->value);
        all &= structure_operators(s, stmt->body);
        all &= structure_operators(s, stmt->otherwise);
    }
    return all;
}

/*
 * A pure function is a graph function if it surely computes with tensors: it is a bprop, or what it calls
 * gives them. One of which only `a * b + c` is known is one too, unless other functions call it: then it is
 * whatever they hand in, or the library has no function for what it does.
 */
static bool structure_is_composition(struct structure *s, struct ast_function *function,
                                     const struct structure_uses *uses)
{
    if (function->bprop_of || (uses->computes && structure_gives_tensor(function->result, 0)))
        return true;
    if (function->is_called || !uses->computes)
        return false;
    if (uses->tensors)
        return structure_operators(s, function->body);
    for (int i = 0; i < function->parameter_count && !function->is_guess; i++)
        function->is_guess = structure_may_be_tensor(&function->parameters[i]);
    return function->is_guess && structure_operators(s, function->body);
}

/* Its operands are tensors then, and of a function that has a bprop. Those of a bprop are what they are in
 * the forward. */
static void structure_graph_parameters(struct ast_function *function)
{
    for (int i = 0; i < function->parameter_count; i++) {
        struct ast_parameter *parameter = &function->parameters[i];
        const struct ast_parameter *own = NULL;
        for (int k = 0; function->bprop_of && k < function->bprop_of->parameter_count; k++)
            if (strcmp(function->bprop_of->parameters[k].name, parameter->name) == 0)
                own = &function->bprop_of->parameters[k];
        if (structure_may_be_tensor(parameter) && !(own && structure_is_attribute(own)))
            parameter->used_as_tensor = true;
    }
}

/* What has a gradient computes with tensors. */
static void structure_differentiable(struct ast_function *function)
{
    struct structure_uses uses = {false, false};

    if (function->bprop && structure_is_pure(function, function->body, &uses))
        structure_graph_parameters(function);
}

static void structure_function(struct structure *s, struct ast_function *function)
{
    const struct ast_expr *tuple;
    struct structure_uses uses = {false, false};

    if (function->broken)
        return;
    if (!function->result_at || !function->result || function->result->kind == AST_NONE) {
        structure_refuse_no_return(s->arena, s->diagnostics, function);
        function->broken = true;
        return;
    }
    const struct ast_stmt *open = function->unresolved ? NULL : structure_open_end(function->body);
    if (open) {
        structure_refuse_open_end(s->diagnostics, function, open);
        function->broken = true;
        return;
    }
    tuple = structure_tuple(function->result, 0);
    function->tuple = tuple ? tuple->count : 0;
    function->is_pure = structure_is_pure(function, function->body, &uses);
    function->is_graph = function->is_pure && structure_is_composition(s, function, &uses);
    if (function->is_graph)
        structure_graph_parameters(function);
    function->is_helper =
        !structure_gives_tensor(function->result, 0) && !function->bprop_of && !function->unresolved;
    if (!function->unresolved) {
        structure_mark_returned(function->body);
        structure_outputs(s, function, function->body);
    }
}

/* ---- decorators --------------------------------------------------------------------- */

static int structure_tensor_inputs(const struct ast_function *function)
{
    int count = 0;
    for (int i = 0; i < function->parameter_count; i++)
        count += !structure_is_attribute(&function->parameters[i]);
    return count;
}

static bool structure_has_parameter(const struct ast_function *function, const char *name)
{
    for (int i = 0; i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0)
            return true;
    return false;
}

/* Behind the gradients a bprop may only name attributes of its forward. */
static void structure_note_attribute(struct diagnostic_entry *message, const struct ast_function *forward,
                                     const char *name)
{
    const char *names[64] = {NULL}, *nearest;
    int count = 0;

    for (int i = 0; i < forward->parameter_count && count < 64; i++)
        if (structure_is_attribute(&forward->parameters[i]))
            names[count++] = forward->parameters[i].name;
    if (count == 0)
        return;
    diagnostic_note(message, "note: behind these may stand attributes of '%s', and '%s' is none of them",
                    forward->name, name);
    nearest = spelling_nearest(name, names, count);
    if (nearest)
        diagnostic_note(message, "help: did you mean '%s'?", nearest);
}

/* (inputs..., outputs, output gradients, then attributes of the forward by name) -> one gradient per input */
static void structure_bprop(struct structure *s, struct ast_function *function)
{
    struct ast_function *forward = function->bprop_of;
    int inputs = structure_tensor_inputs(forward), given = function->parameter_count;
    struct diagnostic_entry *message;

    while (given > inputs + 2 && structure_has_parameter(forward, function->parameters[given - 1].name))
        given--;
    if (given != inputs + 2) {
        message = diagnostic_add(s->diagnostics, MSG_BPROP_ARITY, function->span, forward->name,
                                 structure_number(s, given), structure_number(s, inputs + 2));
        diagnostic_note(message, "note: the %d input%s of '%s', its output, the gradient of its output",
                        inputs, inputs == 1 ? "" : "s", forward->name);
        diagnostic_note(message, "help: several outputs, and their gradients, are one tuple each");
        if (given > inputs + 2)
            structure_note_attribute(message, forward, function->parameters[given - 1].name);
        function->broken = true;
    }
    if (given == inputs + 2 &&
        forward->tuple) /* a None among the results is no output, and has no gradient */
        function->parameters[inputs].tuple = function->parameters[inputs + 1].tuple =
            structure_given(structure_tuple(forward->result, 0));
    if (function->tuple != inputs || inputs == 0) {
        struct span span = function->result ? function->result->span : function->span;
        message = diagnostic_add(s->diagnostics, MSG_BPROP_RESULT, span, forward->name,
                                 arena_format(s->arena, "%d gradient%s", inputs, inputs == 1 ? "" : "s"));
        diagnostic_note(message, inputs == 1 ? "help: a tuple of one is written (dx,)"
                                             : "help: write None where an input has no gradient");
        function->broken = true;
    }
}

static void structure_suggest_function(struct structure *s, struct diagnostic_entry *message,
                                       const struct ast_expr *decorator)
{
    LIST(const char *) names = {0};
    const char *nearest;

    for (const struct ast_function *function = s->module->functions; function; function = function->next)
        list_push(s->arena, &names, function->name);
    if (decorator->kind != AST_CALL || decorator->count != 1 || decorator->items[0]->kind != AST_NAME)
        return;
    nearest = spelling_nearest(decorator->items[0]->text, names.items, names.count);
    if (nearest)
        diagnostic_note(message, "help: did you mean '%s'?", nearest);
}

static void structure_decorator(struct structure *s, struct ast_function *function,
                                struct ast_expr *decorator)
{
    struct ast_expr *name = decorator->kind == AST_CALL ? decorator->a : decorator;
    int builtin = name->kind == AST_NAME ? builtin_find(name->text) : BUILTIN_NONE;
    struct diagnostic_entry *message;
    struct ast_function *forward;

    if (builtin == BUILTIN_KERNEL || builtin == BUILTIN_MS_KERNEL || builtin == BUILTIN_MS_HYBRID ||
        builtin == BUILTIN_SCRIPT || builtin == BUILTIN_CUSTOM_INFO_REGISTER ||
        builtin == BUILTIN_CUSTOM_OP_INFO_REGISTER)
        return;
    if (builtin == BUILTIN_BROADCAST) {
        function->is_broadcast = true;
        return;
    }
    if (builtin != BUILTIN_BPROP) {
        message = diagnostic_add(s->diagnostics, MSG_UNKNOWN_DECORATOR, decorator->span);
        diagnostic_note(message,
                        "help: known are @kernel, @ms_kernel, @ms_hybrid, @script, @broadcast and @bprop(f)");
        function->broken = true;
        return;
    }
    forward = decorator->kind == AST_CALL && decorator->count == 1 && decorator->items[0]->kind == AST_NAME
                  ? ast_module_function(s->module, decorator->items[0]->text)
                  : NULL;
    if (!forward || forward == function) {
        message = diagnostic_add(s->diagnostics, MSG_BPROP_TARGET, decorator->span);
        structure_suggest_function(s, message, decorator);
        diagnostic_note(message, "help: write @bprop(name) with the function whose gradient this is");
        function->broken = true;
        return;
    }
    for (struct ast_function *other = s->module->functions; other != function; other = other->next)
        if (other->bprop_of == forward) {
            message = diagnostic_add(s->diagnostics, MSG_DUPLICATE_BPROP, decorator->span, forward->name);
            diagnostic_note(message, "note: the first is '%s' on line %d", other->name, other->span.line);
            function->broken = true;
        }
    function->bprop_of = forward;
    if (!function->broken)
        forward->bprop = function;
}

/* A parameter of a bprop that has the name of one of the forward's has its default and its kind too, if it
 * does not say otherwise: `slope` is the attribute that it is there, `bias` may be None. */
static void structure_inherit(const struct ast_function *function)
{
    const struct ast_function *forward = function->bprop_of;

    for (int i = 0; i < function->parameter_count; i++)
        for (int k = 0; k < forward->parameter_count; k++) {
            struct ast_parameter *own = &function->parameters[i];
            const struct ast_parameter *from = &forward->parameters[k];
            if (strcmp(own->name, from->name) != 0 || own->annotation || own->initial)
                continue;
            own->initial = from->initial;
            own->variadic = from->variadic;
            if (structure_is_attribute(from))
                own->annotation = from->annotation;
        }
}

void structure_check(struct arena *arena, struct ast_module *module, akg_diagnostics *diagnostics)
{
    struct structure s = {arena, module, diagnostics, false};
    struct ast_function *function;
    bool kernels = false, graphs = false;

    for (function = module->functions; function; function = function->next) {
        for (int i = 0; i < function->decorator_count; i++)
            structure_decorator(&s, function, function->decorators[i]);
        if (function->bprop_of)
            structure_inherit(function);
        if (!function->damaged)
            structure_returns(&s, function, function->body, true);
    }
    for (function = module->functions; function; function = function->next)
        if (function->mark == 0) {
            function->mark = 1;
            structure_calls(&s, function, function->body, structure_recursion);
            function->mark = 2;
        }
    for (function = module->functions; function; function = function->next)
        structure_differentiable(function);
    do {
        s.changed = false;
        for (function = module->functions; function; function = function->next)
            structure_calls(&s, function, function->body, structure_pass_tensors);
    } while (s.changed);
    for (function = module->functions; function; function = function->next)
        structure_calls(&s, function, function->body, structure_mark_called);
    for (int bprops = 0; bprops < 2; bprops++) /* after what they belong to */
        for (function = module->functions; function; function = function->next)
            if ((function->bprop_of != NULL) == bprops) {
                structure_function(&s, function);
                kernels |= !function->is_helper || function->broken;
                graphs |= function->is_graph;
            }
    for (function = module->functions; graphs && function; function = function->next)
        if (function->is_pure)
            structure_operators(&s, function->body);
    for (function = module->functions; function; function = function->next)
        if (function->is_helper && !function->broken)
            structure_helper(function, kernels);
    for (function = module->functions; function; function = function->next)
        if (function->bprop_of && !function->broken)
            structure_bprop(&s, function);
}
