/*
 * elaborate.c: the entry. Parameters become buffers, dims and attributes; the body is
 * elaborated; what is returned becomes outputs.
 */
#include "elaborate.h"

#include <string.h>

#include "elaborate_private.h"

/* ---- annotations and defaults ------------------------------------------------------- */

unsigned elaborate_annotation(const struct ast_expr *annotation, int *rank)
{
    const struct ast_expr *base = annotation;
    int left = -1, right = -1;

    if (annotation->kind == AST_BINARY && annotation->operation == OP_BITOR) {
        unsigned allowed =
            elaborate_annotation(annotation->a, &left) | elaborate_annotation(annotation->b, &right);
        *rank = left >= 0 ? left : right;
        return allowed;
    }
    if (annotation->kind == AST_NONE)
        return 0;
    if (annotation->kind == AST_SUBSCRIPT) {
        base = annotation->a;
        *rank = annotation->count;
    }
    return base->kind == AST_NAME && builtin_is_dtype(base->builtin) ? 1u << (base->builtin - BUILTIN_DTYPE)
                                                                     : TYPES_ANY;
}

static bool elaborate_constant_ints(struct arena *arena, const struct ast_expr *expr,
                                    struct dsl_argument *value)
{
    int64_t *ints = arena_array(arena, int64_t, expr->count + 1);

    for (int i = 0; i < expr->count; i++) {
        struct dsl_argument item = {0};
        if (!elaborate_constant(arena, expr->items[i], &item) || item.kind != DSL_INT)
            return false;
        ints[i] = item.integer;
    }
    value->kind = DSL_INTS;
    value->ints = ints;
    value->count = expr->count;
    return true;
}

bool elaborate_constant(struct arena *arena, const struct ast_expr *expr, struct dsl_argument *value)
{
    const struct ast_binding *binding = expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;

    value->is_constant = true;
    switch (expr->kind) {
    case AST_INTEGER:
        value->kind = DSL_INT;
        value->integer = expr->integer;
        return !expr->is_large;
    case AST_REAL:
        value->kind = DSL_FLOAT;
        value->real = expr->real;
        return true;
    case AST_TRUE:
    case AST_FALSE:
        value->kind = DSL_BOOL;
        value->integer = expr->kind == AST_TRUE;
        return true;
    case AST_STRING:
        value->kind = DSL_STRING;
        value->string = expr->text;
        return true;
    case AST_NONE:
        value->kind = DSL_NONE;
        return true;
    case AST_UNARY:
        if (expr->operation != OP_NEG || !elaborate_constant(arena, expr->a, value))
            return false;
        /* the field of another kind is perhaps not there */
        if (value->kind == DSL_INT)
            value->integer = -value->integer;
        else if (value->kind == DSL_FLOAT)
            value->real = -value->real;
        else
            return false;
        return true;
    case AST_TUPLE:
    case AST_LIST_DISPLAY:
        return elaborate_constant_ints(arena, expr, value);
    case AST_NAME:
        return binding && binding->kind == AST_BINDING_CONSTANT &&
               elaborate_constant(arena, binding->value, value);
    default:
        return false;
    }
}

int elaborate_attribute_builtin(const struct ast_parameter *parameter)
{
    const struct ast_expr *annotation = parameter->annotation;
    return annotation && annotation->kind == AST_NAME ? annotation->builtin : BUILTIN_NONE;
}

bool elaborate_takes_integer(const struct ast_parameter *parameter)
{
    int builtin = elaborate_attribute_builtin(parameter);

    return builtin == BUILTIN_INT || (!parameter->used_as_tensor && builtin_is_dtype(builtin) &&
                                      dtype_is_integer((akg_dtype)(builtin - BUILTIN_DTYPE)));
}

bool elaborate_takes_float(struct arena *arena, const struct ast_parameter *parameter)
{
    struct dsl_argument initial;

    if (parameter->annotation)
        return elaborate_attribute_builtin(parameter) == BUILTIN_FLOAT;
    return parameter->initial && elaborate_constant(arena, parameter->initial, &initial) &&
           initial.kind == DSL_FLOAT;
}

struct dsl_argument *elaborate_general(struct arena *arena, const struct ast_function *function)
{
    struct dsl_argument *arguments = arena_array(arena, struct dsl_argument, function->parameter_count + 1);

    for (int i = 0; i < function->parameter_count; i++) {
        const struct ast_parameter *parameter = &function->parameters[i];
        struct dsl_argument *argument = &arguments[i];
        int builtin = elaborate_attribute_builtin(parameter), rank = -1;
        struct dsl_argument tensor = {
            .kind = DSL_TENSOR, .dtype = AKG_DTYPE_COUNT, .rank = -1, .contiguous = true};
        bool scalar = parameter->used_as_scalar && !parameter->used_as_tensor;

        tensor.rank = function->signature ? function->signature->ranks[i] : -1;
        if (parameter->annotation) {
            elaborate_annotation(parameter->annotation, &rank);
            scalar &= rank < 0;
        }
        if (parameter->variadic || parameter->tuple) {
            int count = parameter->tuple ? parameter->tuple : 2;
            struct dsl_argument *items = arena_array(arena, struct dsl_argument, count);
            for (int k = 0; k < count; k++)
                items[k] = tensor;
            argument->kind = DSL_TENSORS;
            argument->items = items;
            argument->count = count;
        } else if (parameter->initial && elaborate_constant(arena, parameter->initial, argument) &&
                   argument->kind != DSL_NONE) {
            argument->is_constant = false;
        } else if (builtin == BUILTIN_STR) {
            argument->kind = DSL_STRING;
            argument->string = "";
        } else if (builtin == BUILTIN_TUPLE) {
            argument->kind = DSL_INTS;
            argument->count = -1;
        } else if (builtin == BUILTIN_FLOAT) {
            argument->kind = DSL_FLOAT;
            argument->real = 1;
        } else if (builtin == BUILTIN_INT || (scalar && !parameter->initial)) {
            argument->kind = DSL_INT;
            argument->integer = 1;
        } else if (builtin == BUILTIN_DTYPE + AKG_BOOL && scalar) {
            argument->kind = DSL_BOOL;
        } else {
            *argument = tensor;
        }
    }
    return arguments;
}

/* ---- parameters ------------------------------------------------------------------------ */

static const char *elaborate_dim_name(struct elaborator *e, int parameter, int axis, int rank)
{
    const struct signature *signature = e->function->signature;
    if (signature && axis < AKG_MAX_RANK && signature->labels[parameter][axis])
        return signature->labels[parameter][axis];
    if (axis == rank - 1)
        return "N";
    if (axis == rank - 2)
        return "M";
    return arena_format(e->arena, "D%d", axis);
}

/* An extent that no annotation tells: `known`, or a symbol where that is -1. */
static struct ir_expr *elaborate_new_dim(struct elaborator *e, struct ir_buffer *buffer, int parameter,
                                         int axis, int64_t known)
{
    struct ir_symbol *dim;

    if (known >= 0)
        return ir_integer(e->kernel, AKG_INT64, known);
    dim = ir_symbol_new(e->kernel, IR_SYMBOL_DIM, elaborate_dim_name(e, parameter, axis, buffer->rank),
                        AKG_INT64);
    dim->buffer = buffer;
    dim->axis = axis;
    return ir_symbol_use(e->kernel, dim);
}

/* The extent of one axis as its annotation wants it; NULL: leave it for the second round. */
static struct ir_expr *elaborate_annotated_dim(struct elaborator *e, const struct ast_expr *item,
                                               struct ir_buffer *buffer, int parameter, int axis,
                                               int64_t known)
{
    struct ast_binding *binding = item->kind == AST_NAME ? ast_binding_of(item) : NULL;
    struct slot *slot;

    if (item->kind == AST_INTEGER)
        return ir_integer(e->kernel, AKG_INT64, item->integer);
    if (ast_is_any_extent(item))
        return elaborate_new_dim(e, buffer, parameter, axis, known);
    if (!binding || binding->kind != AST_BINDING_DIM)
        return NULL;
    slot = elaborate_slot(e, binding);
    if (slot->value.kind == VALUE_UNSET) {
        struct ir_expr *extent = elaborate_new_dim(e, buffer, parameter, axis, known);
        slot->value = value_extent(extent);
    }
    return expr_copy(e, slot->value.expr);
}

static akg_dtype elaborate_parameter_type(struct elaborator *e, const struct ast_parameter *parameter,
                                          const struct dsl_argument *argument, unsigned allowed)
{
    const struct ast_expr *base = parameter->annotation;
    struct diagnostic_entry *message;
    akg_dtype type = argument->dtype;
    const char *takes = "";

    if (base && base->kind == AST_SUBSCRIPT)
        base = base->a;
    if (type == AKG_DTYPE_COUNT)
        type = type_fresh(&e->types, allowed ? allowed : TYPES_ANY, true);
    else if (!(allowed & 1u << type)) {
        for (int i = 0; i < AKG_DTYPE_COUNT; i++)
            if (allowed & 1u << i)
                takes = arena_format(e->arena, "%s%s%s", takes, *takes ? " or " : "", dtype_table[i].name);
        message = elaborate_error(e, MSG_CALL_DTYPE, parameter->span, parameter->name, dtype_table[type].name,
                                  takes);
        diagnostic_note(message, "note: the annotation says so");
    }
    if (base && base->kind == AST_NAME && !base->builtin) { /* a type variable: T */
        for (int i = 0; i < e->type_name_count; i++)
            if (strcmp(e->type_names[i].name, base->text) == 0) {
                if (!type_unify(&e->types, e->type_names[i].type, type))
                    elaborate_error(e, MSG_CALL_DTYPE, parameter->span, parameter->name,
                                    type_text(&e->types, type), type_text(&e->types, e->type_names[i].type));
                return type;
            }
        if (e->type_name_count < 16) {
            e->type_names[e->type_name_count].name = base->text;
            e->type_names[e->type_name_count++].type = type;
        }
    }
    return type;
}

/* The tensors of a @broadcast function have one shape when it starts: that of the first. What an annotation
 * of the first computes is not known at once. */
static bool elaborate_shares_shape(struct elaborator *e, struct ir_buffer *buffer)
{
    if (!e->function->is_broadcast)
        return false;
    if (!e->broadcast_first)
        e->broadcast_first = buffer;
    if (e->broadcast_first == buffer || e->broadcast_first->rank != buffer->rank)
        return false;
    for (int k = 0; k < buffer->rank; k++)
        if (!buffer->shape[k] && e->broadcast_first->shape[k])
            buffer->shape[k] = expr_copy(e, e->broadcast_first->shape[k]);
    return true;
}

/* The axis has so many elements in all calls: passes put the number there (jit/pass_few.c). */
static void elaborate_note_few(const struct ir_buffer *buffer, int axis, int few)
{
    const struct ir_expr *extent = buffer->shape[axis];
    if (extent && extent->kind == IR_SYMBOL && extent->symbol->buffer == buffer &&
        extent->symbol->axis == axis)
        extent->symbol->few = few;
}

static struct value elaborate_tensor_parameter(struct elaborator *e, int index, const char *name,
                                               const struct dsl_argument *argument)
{
    const struct ast_parameter *parameter = &e->function->parameters[index];
    const struct ast_expr *annotation = parameter->annotation;
    const struct ast_expr *shape = ast_annotation_shape(annotation);
    int rank = -1;
    unsigned allowed = annotation ? elaborate_annotation(annotation, &rank) : TYPES_ANY;
    struct ir_parameter row = {.name = name};
    struct ir_buffer *buffer;

    if (rank >= 0 && argument->rank != rank) {
        elaborate_error(e, MSG_CALL_RANK, parameter->span, name,
                        elaborate_counted(e, argument->rank, "axis", "axes"), elaborate_number(e, rank));
        return value_error();
    }
    buffer = ir_buffer_new(e->kernel, name, IR_INPUT,
                           elaborate_parameter_type(e, parameter, argument, allowed), argument->rank);
    buffer->contiguous = argument->contiguous;
    if (argument->order)
        buffer->order = (const unsigned char *)arena_copy(e->arena, (const char *)argument->order,
                                                          (size_t)argument->rank);
    buffer->span = parameter->span;
    row.buffer = buffer;
    list_push(e->arena, &e->kernel->parameters, row);
    list_push(e->arena, &e->input_parameter, index);
    if (e->calls)
        elaborate_known_shape(e, buffer, shape, argument->shape);
    else if (elaborate_shares_shape(e, buffer))
        return (struct value){.kind = VALUE_TENSOR, .buffer = buffer};
    for (int k = 0; k < buffer->rank && !e->calls; k++) {
        int64_t known = argument->shape ? argument->shape[k] : -1;
        if (shape)
            buffer->shape[k] = elaborate_annotated_dim(e, shape->items[k], buffer, index, k, known);
        else
            buffer->shape[k] = elaborate_new_dim(e, buffer, index, k, known);
        if (argument->few_known)
            elaborate_note_few(buffer, k, elaborate_few(argument->few, k));
    }
    return (struct value){.kind = VALUE_TENSOR, .buffer = buffer};
}

static void elaborate_computed_shape(struct elaborator *e, int index, const struct ast_expr *shape,
                                     const struct value *value)
{
    for (int k = 0; value->kind == VALUE_TUPLE && k < value->count; k++)
        elaborate_computed_shape(e, index, shape, &value->items[k]);
    for (int k = 0; value->kind == VALUE_TENSOR && k < value->buffer->rank; k++) {
        const struct ast_expr *item = shape->items[k];
        if (!value->buffer->shape[k])
            value->buffer->shape[k] = value_index(e, elaborate_expr(e, item), item->span);
        if (!value->buffer->shape[k])
            value->buffer->shape[k] = elaborate_new_dim(e, value->buffer, index, k, -1);
    }
}

/* Dims that an annotation computes from others (2 * N), once those are known. */
static void elaborate_computed_dims(struct elaborator *e)
{
    for (int i = 0; i < e->function->parameter_count; i++) {
        const struct ast_parameter *parameter = &e->function->parameters[i];
        const struct ast_expr *shape = ast_annotation_shape(parameter->annotation);
        const struct value *value = &e->frame->slots[parameter->binding->slot].value;
        if (shape && e->calls)
            elaborate_check_known(e, i, value);
        else if (!e->calls && value->kind == VALUE_TENSOR && elaborate_shares_shape(e, value->buffer))
            continue;
        else if (shape)
            elaborate_computed_shape(e, i, shape, value);
    }
}

static struct value elaborate_scalar_parameter(struct elaborator *e, int index,
                                               const struct dsl_argument *argument)
{
    const struct ast_parameter *parameter = &e->function->parameters[index];
    int builtin = elaborate_attribute_builtin(parameter);
    struct dsl_argument given = *argument;
    struct ir_parameter row = {.name = parameter->name};
    struct value value;

    if (given.kind == DSL_INT && elaborate_takes_float(e->arena, parameter)) {
        given.kind = DSL_FLOAT;
        given.real = (double)given.integer;
        given.known = (struct ir_known){0, IR_ANY_SIGN};
    }
    if (given.is_constant) {
        value = given.kind == DSL_INT    ? value_int(e, given.integer)
                : given.kind == DSL_BOOL ? value_bool(e, given.integer != 0)
                                         : value_of(VALUE_FLOAT, ir_real(e->kernel, AKG_FLOAT64, given.real));
        value.is_given = given.kind == DSL_INT;
    } else {
        akg_dtype dtype = given.kind == DSL_INT ? AKG_INT64 : given.kind == DSL_BOOL ? AKG_BOOL : AKG_FLOAT64;
        row.attribute = ir_symbol_new(e->kernel, IR_SYMBOL_ATTRIBUTE, parameter->name, dtype);
        row.attribute->span = parameter->span;
        row.attribute->known = given.known;
        e->attribute_parameter[row.attribute->index] = index;
        value = value_of(given.kind == DSL_INT    ? VALUE_INT
                         : given.kind == DSL_BOOL ? VALUE_SCALAR
                                                  : VALUE_FLOAT,
                         ir_symbol_use(e->kernel, row.attribute));
    }
    list_push(e->arena, &e->kernel->parameters, row);
    if (builtin_is_dtype(builtin) && given.kind != DSL_BOOL)
        value = value_cast(e, value, (akg_dtype)(builtin - BUILTIN_DTYPE), parameter->span);
    return value;
}

static struct value elaborate_parameter(struct elaborator *e, int index, const struct dsl_argument *argument)
{
    const char *name = e->function->parameters[index].name;
    struct ir_parameter absent = {.name = name};
    struct value value = {.kind = VALUE_TUPLE};

    switch (argument->kind) {
    case DSL_TENSOR:
        return elaborate_tensor_parameter(e, index, name, argument);
    case DSL_TENSORS:
        value.items = arena_array(e->arena, struct value, argument->count + 1);
        value.count = argument->count;
        for (int i = 0; i < argument->count; i++)
            value.items[i] = elaborate_tensor_parameter(e, index, arena_format(e->arena, "%s_%d", name, i),
                                                        &argument->items[i]);
        return value;
    case DSL_INT:
    case DSL_FLOAT:
    case DSL_BOOL:
        return elaborate_scalar_parameter(e, index, argument);
    case DSL_STRING:
        list_push(e->arena, &e->kernel->parameters, absent);
        return (struct value){.kind = VALUE_STRING, .string = argument->string};
    case DSL_INTS:
        list_push(e->arena, &e->kernel->parameters, absent);
        value.items = arena_array(e->arena, struct value, argument->count + 1);
        value.count = argument->count;
        for (int i = 0; i < argument->count; i++)
            value.items[i] = value_int(e, argument->ints[i]);
        return value;
    case DSL_NONE:
        list_push(e->arena, &e->kernel->parameters, absent);
        return (struct value){.kind = VALUE_NONE};
    }
    return value_error();
}

/* ---- results ------------------------------------------------------------------------------- */

/* An output lives for the whole call: its IR_ALLOCATE goes. False when that stands inside a block. */
static bool elaborate_promote(struct elaborator *e, struct ir_buffer *buffer)
{
    for (struct ir_stmt **at = &e->kernel->body; *at; at = &(*at)->next)
        if ((*at)->kind == IR_ALLOCATE && (*at)->access.buffer == buffer) {
            *at = (*at)->next;
            buffer->role = IR_OUTPUT;
            return true;
        }
    return false;
}

static void elaborate_result_item(struct elaborator *e, const struct value *value, int item,
                                  const struct ast_expr *place, struct span span)
{
    struct ir_result result = {.item = item};
    struct diagnostic_entry *message;

    if (value->kind == VALUE_NONE)
        return;                                                /* a bprop's missing gradient */
    if (value->kind == VALUE_TUPLE && e->function->bprop_of) { /* of a variadic input */
        for (int i = 0; i < value->count; i++)
            elaborate_result_item(e, &value->items[i], item, place, span);
        return;
    }
    if (value->kind != VALUE_TENSOR) {
        if (value->kind == VALUE_ERROR)
            return;
        message = elaborate_error(e, MSG_RETURN_VALUE, place ? place->span : span);
        diagnostic_note(message, "note: this is %s", value_text(e, value));
        diagnostic_note(message,
                        "help: write it into a tensor and return that: s = output_tensor((1,), dtype), "
                        "s[0] = ...");
        if (value_is_number(value) && !e->function->is_called)
            diagnostic_note(message,
                            "note: a function that returns a number serves others, and none calls '%s'",
                            e->function->name);
        return;
    }
    result.buffer = value->buffer;
    result.name = place && place->kind == AST_NAME ? place->text : value->buffer->name;
    if (result.buffer->role == IR_INPUT)
        result.buffer->role = IR_INOUT;
    else if (result.buffer->role == IR_TEMPORARY && !elaborate_promote(e, result.buffer)) {
        message = elaborate_error(e, MSG_OUTPUT_IN_LOOP, span);
        diagnostic_note(message, "help: make it at the top of the kernel");
        return;
    }
    list_push(e->arena, &e->kernel->results, result);
}

static void elaborate_written(struct elaborator *e, const struct written_input *written)
{
    const char *name = written->buffer->name;
    struct diagnostic_entry *message;

    if (written->buffer->role != IR_INPUT)
        return;
    written->buffer->role = IR_INOUT;
    message = diagnostic_add(e->diagnostics, MSG_WRITTEN_NOT_RETURNED, written->span, name);
    if (written->callee && written->callee->module->file)
        diagnostic_note(message, "note: '%s' of the standard library writes it", written->callee->name);
    else if (written->callee)
        diagnostic_note(message, "note: in the call of '%s', on line %d", written->callee->name,
                        written->line);
    diagnostic_note(message,
                    "help: the caller's tensor is changed; return '%s' to say so, or write a copy: "
                    "y = output_tensor(%s.shape, %s.dtype)",
                    name, name, name);
}

static void elaborate_results(struct elaborator *e)
{
    const struct value value = elaborate_result(e, e->frame), *result = &value;
    const struct ast_expr *place = e->function->result;
    struct span span = e->frame->result_span;
    bool listed = place && place->kind == AST_TUPLE && place->count == result->count;

    if (e->errors || e->result->retry)
        return;
    if (result->kind == VALUE_TUPLE)
        for (int i = 0; i < result->count; i++)
            elaborate_result_item(e, &result->items[i], i, listed ? place->items[i] : NULL, span);
    else
        elaborate_result_item(e, result, 0, e->frame->result_variables ? NULL : place, span);
    for (int i = 0; i < e->written_inputs.count; i++)
        elaborate_written(e, &e->written_inputs.items[i]);
}

/* ---- the entry --------------------------------------------------------------------------------- */

/* Whether it is known of every tensor which axes have one element. */
static bool elaborate_few_known(const struct ast_function *function, const struct dsl_argument *arguments)
{
    for (int i = 0; i < function->parameter_count; i++) {
        const struct dsl_argument *argument = &arguments[i];
        if (argument->kind == DSL_TENSOR && !argument->few_known)
            return false;
        for (int k = 0; argument->kind == DSL_TENSORS && k < argument->count; k++)
            if (!argument->items[k].few_known)
                return false;
    }
    return true;
}

struct elaborator *elaborate_start(struct arena *arena, const struct ast_module *module,
                                   const struct ast_function *function, const struct dsl_argument *arguments,
                                   const struct elaborate_calls *calls, struct elaborate_result *result,
                                   akg_diagnostics *diagnostics)
{
    struct elaborator *e = arena_new(arena, struct elaborator);
    struct frame *frame = arena_new(arena, struct frame);

    e->arena = arena;
    e->diagnostics = diagnostics;
    e->module = module;
    e->function = function;
    e->types.arena = arena;
    e->calls = calls;
    e->evaluate = calls ? calls->evaluate : NULL;
    e->few_known = elaborate_few_known(function, arguments);
    e->errors = function->unresolved; /* was told already; no kernel can come of it */
    e->result = result;
    e->kernel = ir_kernel_new(arena, function->name);
    e->attribute_parameter = arena_array(arena, int, function->parameter_count + 1);
    e->tail = &e->kernel->body;
    e->frame = frame;
    frame->function = function;
    frame->graph = function->is_graph;
    frame->entry = e->tail;
    frame->result.kind = VALUE_NONE;
    frame->slots = arena_array(arena, struct slot, function->slot_count + 1);
    for (int i = 0; i < function->slot_count; i++)
        frame->slots[i].value.kind = VALUE_UNSET;
    *result =
        (struct elaborate_result){.needs_constant = arena_array(arena, bool, function->parameter_count + 1)};
    for (int i = 0; i < function->parameter_count; i++)
        frame->slots[function->parameters[i].binding->slot].value = elaborate_parameter(e, i, &arguments[i]);
    elaborate_computed_dims(e);
    return e;
}

void elaborate(struct arena *arena, const struct ast_module *module, const struct ast_function *function,
               const struct dsl_argument *arguments, bool general, elaborate_evaluate *evaluate,
               struct elaborate_result *result, akg_diagnostics *diagnostics)
{
    struct elaborator *e = elaborate_start(arena, module, function, arguments, NULL, result, diagnostics);
    int capacity;

    e->general = general;
    e->evaluate = evaluate;
    if (e->errors == function->unresolved)
        elaborate_block(e, function->body);
    elaborate_results(e);
    if (e->errors || result->retry)
        return;
    capacity = e->kernel->buffers.count + 1;
    result->type_class = arena_array(arena, akg_dtype, capacity);
    result->allowed = arena_array(arena, unsigned, capacity);
    elaborate_finish(e);
    if (e->errors == 0)
        result->kernel = e->kernel;
}
