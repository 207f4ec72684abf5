/*
 * elaborate_graph.c: graph functions, call by call.
 *
 * The same elaboration as of kernels, with every shape and attribute a constant, so that nothing is left to
 * be done but calls; those are handed to the owner (elaborate_calls), who knows what they give. No IR comes
 * of it: the kernel under construction only numbers the tensors.
 */
#include <string.h>

#include "elaborate_private.h"

/* ---- what is known ---------------------------------------------------------------------------- */

static const char *graph_shape_text(struct elaborator *e, const int64_t *shape, int rank)
{
    const char *text = "(";

    for (int k = 0; k < rank; k++)
        text = arena_format(e->arena, "%s%s%s", text, k ? ", " : "", elaborate_number(e, shape[k]));
    return arena_format(e->arena, rank == 1 ? "%s,)" : "%s)", text);
}

void elaborate_known_shape(struct elaborator *e, struct ir_buffer *buffer, const struct ast_expr *annotation,
                           const int64_t *shape)
{
    for (int k = 0; k < buffer->rank; k++) {
        const struct ast_expr *item = annotation ? annotation->items[k] : NULL;
        struct ast_binding *binding = item && item->kind == AST_NAME ? ast_binding_of(item) : NULL;
        struct slot *slot = binding && binding->kind == AST_BINDING_DIM ? elaborate_slot(e, binding) : NULL;
        buffer->shape[k] = ir_integer(e->kernel, AKG_INT64, shape[k]);
        if (slot && slot->value.kind == VALUE_UNSET)
            slot->value = value_int(e, shape[k]);
    }
}

/* What an item of an annotation makes of the dims that are bound; -1 after a message, or where only a call
 * tells. */
static int64_t graph_wanted_dim(struct elaborator *e, const struct ast_expr *item)
{
    struct ir_expr *wanted = value_index(e, elaborate_expr(e, item), item->span);

    if (wanted && wanted->kind != IR_INTEGER)
        wanted = e->evaluate(e->kernel, wanted);
    return wanted && wanted->kind == IR_INTEGER ? wanted->integer : -1;
}

void elaborate_check_known(struct elaborator *e, int parameter, const struct value *value)
{
    const struct ast_parameter *row = &e->function->parameters[parameter];
    const struct ast_expr *annotation = ast_annotation_shape(row->annotation);
    int64_t wanted[AKG_MAX_RANK], given[AKG_MAX_RANK];
    int errors = e->errors;
    bool fits = true;

    for (int k = 0; value->kind == VALUE_TUPLE && k < value->count; k++)
        elaborate_check_known(e, parameter, &value->items[k]);
    if (value->kind != VALUE_TENSOR)
        return;
    for (int k = 0; k < value->buffer->rank; k++) {
        given[k] = value->buffer->shape[k]->integer;
        wanted[k] =
            ast_is_any_extent(annotation->items[k]) ? given[k] : graph_wanted_dim(e, annotation->items[k]);
        fits &= wanted[k] == given[k];
    }
    if (!fits && e->errors == errors)
        elaborate_error(e, MSG_CALL_SHAPE, row->span, value->buffer->name,
                        graph_shape_text(e, given, value->buffer->rank),
                        graph_shape_text(e, wanted, value->buffer->rank));
}

struct ir_expr *elaborate_known_value(struct elaborator *e, struct ir_expr *expr, struct span span)
{
    struct ir_expr *value;

    if (expr->kind == IR_INTEGER || expr->kind == IR_REAL)
        return expr;
    value = e->evaluate(e->kernel, expr);
    if (value) {
        value->span = span;
        return value;
    }
    elaborate_error(e, MSG_GRAPH_VALUE, span);
    return ir_integer(e->kernel, AKG_BOOL, 0);
}

void elaborate_refuse_choice(struct elaborator *e, struct span span)
{
    struct diagnostic_entry *message = elaborate_error(e, MSG_GRAPH_VALUE, span);

    diagnostic_note(message, "note: which tensor this is would hang on an element");
    diagnostic_note(message, "help: compute both and choose element by element: where(condition, a, b)");
}

/* ---- operands ------------------------------------------------------------------------------------ */

static bool graph_operand(struct elaborator *e, const struct value *value, struct span span,
                          struct elaborate_operand *operand);

static bool graph_tuple(struct elaborator *e, const struct value *value, struct span span,
                        struct elaborate_operand *operand)
{
    bool ints = value->count > 0;

    for (int i = 0; i < value->count; i++)
        ints &= value->items[i].kind == VALUE_INT;
    operand->count = value->count;
    if (ints || value->count == 0) {
        int64_t *items = arena_array(e->arena, int64_t, value->count + 1);
        for (int i = 0; i < value->count; i++)
            items[i] = elaborate_known_value(e, value->items[i].expr, span)->integer;
        operand->kind = DSL_INTS;
        operand->ints = items;
        return true;
    }
    struct elaborate_operand *items = arena_array(e->arena, struct elaborate_operand, value->count);
    for (int i = 0; i < value->count; i++)
        if (!graph_operand(e, &value->items[i], span, &items[i]))
            return false;
    operand->kind = DSL_TENSORS;
    operand->items = items;
    return true;
}

/* False after a message. */
static bool graph_operand(struct elaborator *e, const struct value *value, struct span span,
                          struct elaborate_operand *operand)
{
    *operand = (struct elaborate_operand){.kind = DSL_NONE};
    switch (value->kind) {
    case VALUE_NONE:
        return true;
    case VALUE_TENSOR:
        operand->kind = DSL_TENSOR;
        operand->tensor = value->buffer->index;
        return true;
    case VALUE_INT:
    case VALUE_FLOAT:
    case VALUE_SCALAR:
        operand->number = elaborate_known_value(e, value->expr, span);
        operand->kind = operand->number->kind == IR_REAL     ? DSL_FLOAT
                        : operand->number->dtype == AKG_BOOL ? DSL_BOOL
                                                             : DSL_INT;
        return true;
    case VALUE_STRING:
        operand->kind = DSL_STRING;
        operand->string = value->string;
        return true;
    case VALUE_DTYPE:
        operand->kind = DSL_STRING;
        operand->string = dtype_table[type_decide(&e->types, value->type)].name;
        return true;
    case VALUE_TUPLE:
        return graph_tuple(e, value, span, operand);
    case VALUE_ERROR:
    case VALUE_UNSET:
        break;
    }
    return false;
}

/* ---- calls ----------------------------------------------------------------------------------------- */

bool elaborate_is_call(const struct elaborator *e, const struct ast_function *callee)
{
    return e->calls && (callee->bprop || (!callee->is_pure && !callee->is_helper));
}

static struct value graph_tensor(struct elaborator *e, const struct elaborate_tensor *tensor,
                                 const char *name)
{
    struct ir_buffer *buffer = ir_buffer_new(e->kernel, name, IR_TEMPORARY, tensor->dtype, tensor->rank);

    for (int k = 0; k < tensor->rank; k++)
        buffer->shape[k] = ir_integer(e->kernel, AKG_INT64, tensor->shape[k]);
    return (struct value){.kind = VALUE_TENSOR, .buffer = buffer};
}

struct value elaborate_hand_over(struct elaborator *e, const struct ast_function *callee,
                                 const struct slot *slots, struct span span)
{
    struct elaborate_operand *operands =
        arena_array(e->arena, struct elaborate_operand, callee->parameter_count + 1);
    const struct ast_expr *result = callee->result;
    const struct elaborate_tensor *tensors;
    struct value tuple = {.kind = VALUE_TUPLE};
    int count, next = 0;

    for (int i = 0; i < callee->parameter_count; i++) {
        const struct ast_parameter *parameter = &callee->parameters[i];
        if (!graph_operand(e, &slots[parameter->binding->slot].value, span, &operands[i]))
            return value_error();
        if (operands[i].kind == DSL_INTS && (parameter->variadic || parameter->tuple))
            operands[i].kind = DSL_TENSORS; /* an empty tuple */
    }
    if (e->errors || !e->calls->call(e->calls->owner, callee, operands, span, &tensors, &count)) {
        e->stopped = true;
        e->errors++;
        return value_error();
    }
    if (callee->tuple == 0 && count <= 1)
        return count ? graph_tensor(e, &tensors[0], callee->name) : (struct value){.kind = VALUE_NONE};
    tuple.count = callee->tuple > count ? callee->tuple : count;
    tuple.items = arena_array(e->arena, struct value, tuple.count + 1);
    for (int i = 0; i < tuple.count; i++) {
        bool none = result->kind == AST_TUPLE && result->items[i]->kind == AST_NONE;
        tuple.items[i] = none || next >= count ? (struct value){.kind = VALUE_NONE}
                                               : graph_tensor(e, &tensors[next++], callee->name);
    }
    return tuple;
}

/* ---- the entry --------------------------------------------------------------------------------------- */

/* What is returned, with the numbers refused that no tensor holds. */
static bool graph_result(struct elaborator *e, struct elaborate_operand *result)
{
    struct value *value = &e->frame->result, tuple = {.kind = VALUE_TUPLE, .items = value, .count = 1};
    struct elaborate_operand *items;

    if (value->kind != VALUE_TUPLE)
        value = &tuple;
    items = arena_array(e->arena, struct elaborate_operand, value->count + 1);
    for (int i = 0; i < value->count; i++) {
        if (!graph_operand(e, &value->items[i], e->frame->result_span, &items[i]))
            return false;
        if (items[i].kind != DSL_TENSOR && items[i].kind != DSL_NONE && items[i].kind != DSL_TENSORS) {
            diagnostic_note(elaborate_error(e, MSG_RETURN_VALUE, e->frame->result_span), "note: this is %s",
                            value_text(e, &value->items[i]));
            return false;
        }
    }
    *result = (struct elaborate_operand){.kind = DSL_TENSORS, .items = items, .count = value->count};
    return true;
}

bool elaborate_graph(struct arena *arena, const struct ast_module *module,
                     const struct ast_function *function, const struct dsl_argument *arguments,
                     const struct elaborate_calls *calls, struct elaborate_operand *result,
                     akg_diagnostics *diagnostics)
{
    struct elaborate_result unused;
    struct elaborator *e = elaborate_start(arena, module, function, arguments, calls, &unused, diagnostics);

    if (e->errors == 0)
        elaborate_block(e, function->body);
    return e->errors == 0 && graph_result(e, result) && e->errors == 0;
}
