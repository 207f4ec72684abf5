/*
 * elaborate_inline.c: calls of functions of the file. A call becomes a copy of the callee's
 * body in place, with its parameters standing for the arguments; recursion was refused before.
 */
#include <string.h>

#include "elaborate_private.h"

/* Which argument goes to parameter `index`; -1: none, the default; -2 after a message. */
static int elaborate_argument_for(struct elaborator *e, const struct ast_function *callee, int index,
                                  const struct arguments *arguments)
{
    int found = -1;

    for (int i = 0; i < arguments->count; i++) {
        const struct argument *argument = &arguments->items[i];
        bool here = argument->name ? strcmp(argument->name, callee->parameters[index].name) == 0
                                   : i == index && !callee->parameters[index].variadic;
        if (here && found >= 0) {
            elaborate_error(
                e, MSG_ARGUMENT_COUNT, argument->span,
                arena_format(e->arena, "'%s' of '%s'", callee->parameters[index].name, callee->name),
                "one value", "two are");
            return -2;
        }
        if (here)
            found = i;
    }
    return found;
}

static void elaborate_refuse_name(struct elaborator *e, const struct ast_function *callee,
                                  const struct argument *argument)
{
    const char *names[64], *nearest;
    int count = callee->parameter_count < 64 ? callee->parameter_count : 64;
    struct diagnostic_entry *message = elaborate_error(
        e, MSG_ARGUMENT_NAME, argument->span, arena_format(e->arena, "'%s'", callee->name), argument->name);

    for (int k = 0; k < count; k++)
        names[k] = callee->parameters[k].name;
    nearest = spelling_nearest(argument->name, names, count);
    if (nearest) {
        diagnostic_note(message, "help: did you mean '%s'?", nearest);
    } else if (count > 0) {
        const char *list = names[0];
        for (int k = 1; k < count; k++)
            list = arena_format(e->arena, "%s, %s", list, names[k]);
        diagnostic_note(message, "note: its parameters are %s", list);
    }
}

static bool elaborate_check_arguments(struct elaborator *e, const struct ast_function *callee,
                                      const struct arguments *arguments)
{
    bool variadic = callee->parameter_count > 0 && callee->parameters[callee->parameter_count - 1].variadic;

    for (int i = 0; i < arguments->count; i++) {
        const struct argument *argument = &arguments->items[i];
        bool known = !argument->name && (i < callee->parameter_count || variadic);
        for (int k = 0; argument->name && k < callee->parameter_count; k++)
            known |= strcmp(callee->parameters[k].name, argument->name) == 0;
        if (known)
            continue;
        if (argument->name)
            elaborate_refuse_name(e, callee, argument);
        else
            elaborate_error(
                e, MSG_ARGUMENT_COUNT, arguments->span, arena_format(e->arena, "'%s'", callee->name),
                arena_format(e->arena, "%d argument%s", callee->parameter_count,
                             callee->parameter_count == 1 ? "" : "s"),
                arena_format(e->arena, "%d %s", arguments->count, arguments->count == 1 ? "is" : "are"));
        return false;
    }
    return true;
}

/* False after a message. */
static bool elaborate_check_annotation(struct elaborator *e, const struct ast_parameter *parameter,
                                       const struct value *value, struct span span)
{
    int rank = -1;
    unsigned allowed;
    bool fits = true;

    for (int i = 0; parameter->variadic && value->kind == VALUE_TUPLE && i < value->count && fits; i++)
        fits = elaborate_check_annotation(e, parameter, &value->items[i], span);
    if (!parameter->annotation || value->kind != VALUE_TENSOR)
        return fits;
    allowed = elaborate_annotation(parameter->annotation, &rank);
    fits =
        type_restrict(&e->types, value->buffer->dtype, allowed) && (rank < 0 || rank == value->buffer->rank);
    if (!fits) {
        struct diagnostic_entry *message = elaborate_error(
            e, MSG_BAD_ARGUMENT, span,
            arena_format(e->arena, "a tensor of %s with %s", type_text(&e->types, value->buffer->dtype),
                         elaborate_counted(e, value->buffer->rank, "axis", "axes")),
            parameter->name);
        diagnostic_note(message, "note: '%s' is annotated %s on line %d", parameter->name,
                        elaborate_source(e, parameter->annotation), parameter->span.line);
    }
    return fits;
}

/* False after a message: a parameter that says it is a number takes one, and one for many tensors takes these
 * one by one. */
static bool elaborate_check_kind(struct elaborator *e, const struct ast_function *callee,
                                 const struct ast_parameter *parameter, const struct value *value,
                                 struct span span)
{
    int builtin = elaborate_attribute_builtin(parameter);
    bool is_number = builtin == BUILTIN_INT || builtin == BUILTIN_FLOAT;
    bool takes_tensors = parameter->variadic && callee->module->file;
    const struct value *wrong = NULL;

    bool is_whole = value->kind == VALUE_TENSOR && value->buffer->rank > 0 && !parameter->used_as_tensor &&
                    !callee->is_graph && !callee->is_broadcast && !(callee->is_pure && e->frame->graph);

    if (is_number &&
        (value->kind == VALUE_TUPLE || value->kind == VALUE_STRING || value->kind == VALUE_DTYPE || is_whole))
        wrong = value;
    for (int i = 0; takes_tensors && i < value->count && !wrong; i++)
        if (value->items[i].kind == VALUE_TUPLE)
            wrong = &value->items[i];
    if (!wrong)
        return true;
    struct diagnostic_entry *message = elaborate_error(e, MSG_CALL_KIND, span, parameter->name,
                                                       takes_tensors              ? "tensors"
                                                       : builtin == BUILTIN_FLOAT ? "a number"
                                                                                  : "an integer",
                                                       value_text(e, wrong));
    if (!takes_tensors)
        diagnostic_note(message, "note: it is annotated %s in '%s'",
                        elaborate_source(e, parameter->annotation), callee->name);
    else
        diagnostic_note(message, "help: hand in its items one by one, %s(..., a, b), or all: %s(..., *items)",
                        callee->name, callee->name);
    return false;
}

/* False after a message: functions of the library take whole tensors, as those of numpy do, but no elements.
 */
static bool elaborate_check_element(struct elaborator *e, const struct ast_function *callee,
                                    const struct ast_parameter *parameter, const struct value *value,
                                    struct span span)
{
    struct diagnostic_entry *message;

    if (!callee->module->file || e->in_standard || callee->is_helper || callee->is_broadcast ||
        !parameter->used_as_tensor || !value_is_number(value))
        return true;
    message = elaborate_error(e, MSG_BAD_ARGUMENT, span, value_text(e, value), parameter->name);
    if (elaborate_attribute_builtin(parameter) == BUILTIN_TUPLE) {
        if (value->kind == VALUE_INT && value->expr->kind == IR_INTEGER)
            diagnostic_note(message, "help: write a tuple: (%lld,)", (long long)value->expr->integer);
        else
            diagnostic_note(message, "help: write a tuple: (n,)");
        return false;
    }
    diagnostic_note(message, "note: '%s' of the standard library takes whole tensors", callee->name);
    diagnostic_note(message, "help: call it before the loop, t = %s(x), and read t[i] in it", callee->name);
    return false;
}

/* An extent of an argument is the one that its annotation wants: known, or demanded of the call. False after
 * a message. */
static bool elaborate_match_dim(struct elaborator *e, const struct ast_function *callee, int number, int axis,
                                const struct ir_buffer *buffer, const struct ir_expr *wanted,
                                struct span span)
{
    const struct ast_parameter *parameter = &callee->parameters[number];
    const struct ast_expr *annotation = ast_annotation_shape(parameter->annotation);
    const struct ir_expr *extent = buffer->shape[axis];
    struct ir_precondition precondition = {.kind = IR_PRECONDITION_ASSERT, .span = span};
    struct diagnostic_entry *message;
    struct ir_stmt *check;

    if (ir_expr_equal(extent, wanted))
        return true;
    if (extent->kind == IR_INTEGER && wanted->kind == IR_INTEGER) {
        message =
            elaborate_error(e, MSG_BAD_ARGUMENT, span,
                            arena_format(e->arena, "a tensor with %s along axis %d",
                                         elaborate_counted(e, extent->integer, "element", "elements"), axis),
                            parameter->name);
        diagnostic_note(message, "note: '%s' is annotated %s on line %d, which makes them %lld",
                        parameter->name, elaborate_source(e, parameter->annotation), parameter->span.line,
                        (long long)wanted->integer);
        return false;
    }
    precondition.condition = ir_operation(e->kernel, OP_EQ, expr_copy(e, wanted), expr_copy(e, extent), NULL);
    precondition.message =
        arena_format(e->arena, "axis %d of '%s' of '%s' must have %s elements", axis, parameter->name,
                     callee->name, elaborate_source(e, annotation->items[axis]));
    if (e->loops == 0 && e->conditions == 0) {
        elaborate_require(e, &precondition);
        return true;
    }
    check = elaborate_emit(e, IR_ASSERT, span);
    check->value = precondition.condition;
    check->message = precondition.message;
    return true;
}

/* What the annotation wants an axis to be; NULL where it has no say: any extent, a dim that stands for this
 * very extent, or one that is computed, in the first round, or a message. The frame is the callee's. */
static struct ir_expr *elaborate_wanted_dim(struct elaborator *e, const struct ast_expr *item,
                                            const struct ir_expr *extent, bool computed)
{
    struct ast_binding *dim = item->kind == AST_NAME ? ast_binding_of(item) : NULL;
    struct slot *slot = dim && dim->kind == AST_BINDING_DIM ? &e->frame->slots[dim->slot] : NULL;

    if (ast_is_any_extent(item) || computed != (!slot && item->kind != AST_INTEGER))
        return NULL;
    if (computed)
        return value_index(e, elaborate_expr(e, item), item->span);
    if (!slot)
        return ir_integer(e->kernel, AKG_INT64, item->integer);
    if (slot->value.kind != VALUE_UNSET)
        return slot->value.expr;
    slot->value = value_extent(expr_copy(e, extent));
    return NULL;
}

/* The axes of one tensor, or of each of a variadic parameter. False after a message. */
static bool elaborate_bind_axes(struct elaborator *e, int number, const struct value *value, bool computed,
                                struct span span)
{
    const struct ast_function *callee = e->frame->function;
    const struct ast_expr *shape = ast_annotation_shape(callee->parameters[number].annotation);
    bool good = true;

    for (int i = 0; value->kind == VALUE_TUPLE && i < value->count && good; i++)
        good = elaborate_bind_axes(e, number, &value->items[i], computed, span);
    for (int k = 0; value->kind == VALUE_TENSOR && k < shape->count && good; k++) {
        int errors = e->errors;
        const struct ir_expr *wanted =
            elaborate_wanted_dim(e, shape->items[k], value->buffer->shape[k], computed);
        good =
            e->errors == errors && (!wanted || callee->is_broadcast ||
                                    elaborate_match_dim(e, callee, number, k, value->buffer, wanted, span));
    }
    return good;
}

/* Dims of annotations stand for the extents of the tensors that were handed in, which must agree; others are
 * computed from these (2 * N). False after a message. */
static bool elaborate_bind_dims(struct elaborator *e, const struct ast_function *callee, struct slot *slots,
                                const struct span *spans)
{
    struct frame frame = {
        .function = callee, .caller = e->frame, .slots = slots, .depth = e->frame->depth + 1};
    bool good = true;

    e->frame = &frame;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < callee->parameter_count && good; i++) {
            const struct ast_parameter *parameter = &callee->parameters[i];
            if (ast_annotation_shape(parameter->annotation))
                good =
                    elaborate_bind_axes(e, i, &slots[parameter->binding->slot].value, round == 1, spans[i]);
        }
    e->frame = frame.caller;
    return good;
}

/* The arguments from `first` on that have no name. */
static struct value elaborate_variadic(struct elaborator *e, const struct arguments *arguments, int first)
{
    struct value tuple = {.kind = VALUE_TUPLE};

    tuple.items = arena_array(e->arena, struct value, arguments->count + 1);
    for (int i = first; i < arguments->count; i++)
        if (!arguments->items[i].name)
            tuple.items[tuple.count++] = arguments->items[i].value;
    return tuple;
}

/* A scalar that is handed in is computed once, before the copy. */
static void elaborate_settle_argument(struct elaborator *e, struct value *value, const char *name,
                                      struct span span)
{
    struct ir_symbol *symbol;
    struct ir_stmt *let;

    if (value->kind != VALUE_SCALAR || expr_is_invariant(value->expr))
        return;
    symbol = ir_symbol_new(e->kernel, IR_SYMBOL_LET, name, value->expr->dtype);
    let = elaborate_emit(e, IR_LET, span);
    symbol->value = let->value = value->expr;
    let->symbol = symbol;
    value->expr = ir_symbol_use(e->kernel, symbol);
}

bool elaborate_bind_arguments(struct elaborator *e, const struct ast_function *callee,
                              const struct arguments *arguments, struct slot *slots)
{
    struct span *spans = arena_array(e->arena, struct span, callee->parameter_count + 1);

    for (int i = 0; i < callee->parameter_count; i++) {
        struct ast_parameter *parameter = &callee->parameters[i];
        struct slot *slot = &slots[parameter->binding->slot];
        int at = elaborate_argument_for(e, callee, i, arguments);

        if (at == -2)
            return false;
        spans[i] = at >= 0 ? arguments->items[at].span : arguments->span;
        if (parameter->variadic && at < 0) {
            slot->value = elaborate_variadic(e, arguments, i);
            if (!elaborate_check_annotation(e, parameter, &slot->value, spans[i]) ||
                !elaborate_check_kind(e, callee, parameter, &slot->value, spans[i]))
                return false;
        } else if (at >= 0) {
            slot->value = arguments->items[at].value;
            if (slot->value.kind == VALUE_INT && elaborate_takes_float(e->arena, parameter))
                slot->value = value_with_fraction(e, slot->value, arguments->items[at].span);
            elaborate_settle_argument(e, &slot->value, parameter->name, arguments->items[at].span);
            if (!elaborate_check_annotation(e, parameter, &slot->value, arguments->items[at].span) ||
                !elaborate_check_kind(e, callee, parameter, &slot->value, arguments->items[at].span) ||
                !elaborate_check_element(e, callee, parameter, &slot->value, arguments->items[at].span))
                return false;
        } else if (parameter->initial) {
            slot->value = elaborate_expr(e, parameter->initial);
        } else {
            struct diagnostic_entry *message = elaborate_error(
                e, MSG_ARGUMENT_COUNT, arguments->span, arena_format(e->arena, "'%s'", callee->name),
                elaborate_counted(e, callee->parameter_count, "argument", "arguments"),
                elaborate_counted(e, arguments->count, "is", "are"));
            diagnostic_note(message, "note: '%s' is missing", parameter->name);
            return false;
        }
    }
    return elaborate_bind_dims(e, callee, slots, spans);
}

bool elaborate_arguments(struct elaborator *e, const struct ast_expr *call, struct arguments *arguments)
{
    arguments->span = call->span;
    for (int i = 0; i < call->count; i++) {
        const struct ast_expr *item = call->items[i];
        struct argument argument = {.name = item->kind == AST_KEYWORD ? item->text : NULL,
                                    .span = item->span};
        argument.value = elaborate_expr(e, argument.name || item->kind == AST_STARRED ? item->a : item);
        if (argument.value.kind == VALUE_ERROR)
            return false;
        if (item->kind == AST_STARRED && argument.value.kind != VALUE_TUPLE) {
            elaborate_error(e, MSG_OPERAND_KIND, item->span, value_text(e, &argument.value), "*");
            return false;
        }
        if (item->kind != AST_STARRED) {
            list_push(e->arena, arguments, argument);
            continue;
        }
        for (int k = 0; k < argument.value.count; k++)
            list_push(e->arena, arguments,
                      ((struct argument){.value = argument.value.items[k], .span = item->span}));
    }
    return true;
}

void elaborate_refuse_copies(struct elaborator *e, struct span span)
{
    diagnostic_note(
        elaborate_error(e, MSG_UNROLL_LIMIT, span, arena_format(e->arena, "%d", ELABORATE_MAX_UNROLLED)),
        "help: a loop over range runs; const_range, tuples and calls are copied each time");
}

/* False after a message: the copy would be one too many. */
static bool elaborate_may_inline(struct elaborator *e, const struct ast_function *callee, struct span span)
{
    if (callee->broken) {
        e->errors++;
        return false;
    }
    e->errors += callee->unresolved;
    if (++e->unrolled > ELABORATE_MAX_UNROLLED) {
        elaborate_refuse_copies(e, span);
        return false;
    }
    if (e->frame->depth >= ELABORATE_MAX_CALLS) {
        elaborate_error(e, MSG_CALL_DEPTH, span, arena_format(e->arena, "%d", ELABORATE_MAX_CALLS));
        return false;
    }
    return true;
}

/* The body, with the frame's slots filled. */
static struct value elaborate_copy(struct elaborator *e, struct frame *frame, struct span span)
{
    struct slice_loop *slices = e->slices;
    struct value result;
    int errors = e->errors;

    frame->entry = e->tail;
    frame->result.kind = VALUE_NONE;
    e->slices = NULL;
    e->frame = frame;
    elaborate_block(e, frame->function->body);
    e->frame = frame->caller;
    e->slices = slices;
    if (e->errors != errors || e->result->retry)
        return value_error();
    result = elaborate_result(e, frame);
    /* What the copy computed must not change when its caller's variables do. */
    if (result.kind == VALUE_SCALAR && result.expr->kind != IR_SYMBOL)
        elaborate_settle_argument(e, &result, frame->function->name, span);
    return result;
}

struct value elaborate_inline(struct elaborator *e, const struct ast_function *callee,
                              const struct arguments *arguments)
{
    struct frame frame = {
        .function = callee, .caller = e->frame, .call = arguments->span, .depth = e->frame->depth + 1};
    struct elaborate_place place;
    struct value result = value_error();

    if (!elaborate_may_inline(e, callee, arguments->span) || !elaborate_check_arguments(e, callee, arguments))
        return result;
    frame.graph = callee->is_graph || (callee->is_pure && e->frame->graph);
    frame.slots = arena_array(e->arena, struct slot, callee->slot_count + 1);
    for (int i = 0; i < callee->slot_count; i++)
        frame.slots[i].value.kind = VALUE_UNSET;
    if (!elaborate_bind_arguments(e, callee, arguments, frame.slots))
        return result;
    if (elaborate_is_call(e, callee))
        return elaborate_hand_over(e, callee, frame.slots, arguments->span);
    if (callee->is_broadcast && !elaborate_broadcast(e, callee, frame.slots, arguments->span))
        return result;
    elaborate_enter_standard(e, callee, arguments->span, &place);
    result = elaborate_copy(e, &frame, arguments->span);
    elaborate_leave_standard(e, &place);
    return result;
}

/* ---- returns ---------------------------------------------------------------------------- */

/* How many scalars a value has, as a tuple; 0: it is one; -1: it has something else. */
static int elaborate_scalars_of(const struct value *value)
{
    if (value->kind != VALUE_TUPLE)
        return value_is_number(value) ? 0 : -1;
    for (int i = 0; i < value->count; i++)
        if (!value_is_number(&value->items[i]))
            return -1;
    return value->count ? value->count : -1;
}

struct value elaborate_result(struct elaborator *e, const struct frame *frame)
{
    struct value result = {.kind = VALUE_TUPLE, .count = frame->result_count};

    if (!frame->result_variables)
        return frame->result;
    if (!frame->result_count)
        return value_of(VALUE_SCALAR, ir_symbol_use(e->kernel, frame->result_variables[0]));
    result.items = arena_array(e->arena, struct value, result.count);
    for (int i = 0; i < result.count; i++)
        result.items[i] = value_of(VALUE_SCALAR, ir_symbol_use(e->kernel, frame->result_variables[i]));
    return result;
}

static void elaborate_return_variable(struct elaborator *e, struct ir_symbol **variable, struct value value,
                                      struct span span)
{
    struct frame *frame = e->frame;
    struct ir_stmt *assign;
    struct ir_expr *expr;

    if (!*variable) {
        /* declared where the copy starts, so that every branch can reach it */
        struct ir_stmt **tail = e->tail, *rest = *frame->entry;
        bool at_entry = tail == frame->entry;
        e->tail = frame->entry;
        *variable = elaborate_variable(
            e, frame->function->name,
            value.kind == VALUE_SCALAR
                ? value.expr->dtype
                : type_fresh(&e->types, value.kind == VALUE_INT ? TYPES_NUMBER : TYPES_FLOAT, false),
            span);
        *e->tail = rest;
        if (!at_entry)
            e->tail = tail;
    }
    expr = value_coerce(e, value, (*variable)->dtype, span);
    if (!expr)
        return;
    assign = elaborate_emit(e, IR_ASSIGN, span);
    assign->symbol = *variable;
    assign->value = expr;
}

/* One scalar, or `count` of them, which wait in variables for what the other returns give. */
static void elaborate_return_scalars(struct elaborator *e, const struct value *value, int count,
                                     struct span span)
{
    struct frame *frame = e->frame;

    if (!frame->result_variables) {
        frame->result_variables = arena_array(e->arena, struct ir_symbol *, count ? count : 1);
        frame->result_count = count;
    }
    if (count != frame->result_count) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_RETURN_PLACE, span);
        diagnostic_note(message, "note: another return gives %d scalar%s, and this one %d",
                        frame->result_count ? frame->result_count : 1, frame->result_count > 1 ? "s" : "",
                        count ? count : 1);
        diagnostic_note(message, "help: let all of them give as many");
        return;
    }
    for (int i = 0; i < (count ? count : 1); i++)
        elaborate_return_variable(e, &frame->result_variables[i], count ? value->items[i] : *value, span);
}

static bool elaborate_same_tensors(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == VALUE_TENSOR)
        return a->buffer == b->buffer;
    for (int i = 0; i < a->count; i++)
        if (!elaborate_same_tensors(&a->items[i], &b->items[i]))
            return false;
    return a->kind == VALUE_TUPLE;
}

/* Remembers the first conditional result that is made of tensors; true when this one is the same. */
static bool elaborate_same_result(struct frame *frame, const struct value *value)
{
    if (frame->result.kind == VALUE_NONE && elaborate_same_tensors(value, value))
        frame->result = *value;
    return elaborate_same_tensors(&frame->result, value);
}

void elaborate_return(struct elaborator *e, const struct ast_stmt *stmt)
{
    struct frame *frame = e->frame;
    struct value value = {.kind = VALUE_NONE};

    if (stmt->value)
        value = elaborate_expr(e, stmt->value);
    if (value.kind == VALUE_ERROR)
        return;
    frame->result_span = stmt->value ? stmt->value->span : stmt->span;
    int scalars = elaborate_scalars_of(&value);
    if (frame->conditions == 0 && !frame->result_variables && frame->result.kind == VALUE_NONE) {
        frame->result = value;
        frame->done = true;
        return;
    }
    if (scalars < 0 && elaborate_same_result(frame, &value))
        return; /* whichever way it goes, these tensors are the result */
    if (frame->graph && value.kind == VALUE_TENSOR) {
        elaborate_refuse_choice(e, frame->result_span);
        return;
    }
    if (scalars < 0 && elaborate_decide_branches(e))
        return;
    if (scalars < 0) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_RETURN_PLACE, stmt->span);
        diagnostic_note(message,
                        "note: which tensor is returned would depend on a value known only in the run");
        return;
    }
    elaborate_return_scalars(e, &value, scalars, frame->result_span);
}
