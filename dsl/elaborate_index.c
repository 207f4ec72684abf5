/*
 * elaborate_index.c: subscripts of tensors and tuples, members, shapes, slices.
 */
#include <string.h>

#include "build.h"
#include "elaborate_private.h"
#include "foreign.h"

struct value elaborate_shape_of(struct elaborator *e, struct ir_buffer *buffer)
{
    struct value shape = {.kind = VALUE_TUPLE, .count = buffer->rank, .buffer = buffer};

    shape.items = arena_array(e->arena, struct value, buffer->rank + 1);
    for (int i = 0; i < buffer->rank; i++)
        shape.items[i] = value_extent(expr_copy(e, buffer->shape[i]));
    return shape;
}

/* The axes that the text gives the parameter whose tensor it is, -1 where any will do. False where the tensor
 * is none of the call, or has as many. */
static bool elaborate_misranked(const struct elaborator *e, const struct ir_buffer *buffer, int *rank)
{
    int parameter;

    if (e->general || !buffer || buffer->role != IR_INPUT || buffer->index >= e->input_parameter.count)
        return false;
    parameter = e->input_parameter.items[buffer->index];
    if (e->function->parameters[parameter].variadic || e->function->parameters[parameter].tuple)
        return false;
    *rank = e->function->signature ? e->function->signature->ranks[parameter] : -1;
    return *rank != buffer->rank;
}

/* All that follows from a wrong number of axes would be told at each use. */
static void elaborate_give_up(struct elaborator *e)
{
    e->misranked = true;
    for (struct frame *frame = e->frame; frame; frame = frame->caller)
        frame->done = true;
}

bool elaborate_refuse_rank(struct elaborator *e, const struct value *shape, int64_t count, bool least,
                           struct span span)
{
    const struct ir_buffer *buffer = shape->buffer;
    int rank;

    if (shape->kind != VALUE_TUPLE || !elaborate_misranked(e, buffer, &rank))
        return false;
    if (!e->misranked) {
        const char *takes = elaborate_number(e, rank < 0 || (least && rank < count) ? count : rank);
        if (least && rank < count)
            takes = arena_format(e->arena, "%s or more", takes);
        elaborate_error(e, MSG_CALL_RANK, span, buffer->name,
                        elaborate_counted(e, buffer->rank, "axis", "axes"), takes);
        elaborate_give_up(e);
    }
    return true;
}

/* How many elements a tensor has. */
static struct value elaborate_size_of(struct elaborator *e, const struct ir_buffer *buffer)
{
    struct ir_expr *size = ir_integer(e->kernel, AKG_INT64, 1);

    for (int k = 0; k < buffer->rank; k++)
        size = ir_operation(e->kernel, OP_MUL, size, expr_copy(e, buffer->shape[k]), NULL);
    return value_extent(size);
}

struct value elaborate_member(struct elaborator *e, const struct ast_expr *expr)
{
    static const char *const members[] = {"shape", "size", "dtype", "ndim"};
    struct value value = elaborate_expr(e, expr->a);
    const struct foreign_name *foreign;
    struct diagnostic_entry *message;
    const char *nearest;

    if (value.kind == VALUE_ERROR)
        return value;
    if (expr->a->kind == AST_REAL && expr->a->ends_in_point) {
        message = elaborate_error(e, MSG_NOT_IN_LANGUAGE, expr->span, "'..'");
        diagnostic_note(message, "help: " BUILD_INTERVAL_HELP);
        return value_error();
    }
    if (value.kind == VALUE_TENSOR && strcmp(expr->text, "shape") == 0)
        return elaborate_shape_of(e, value.buffer);
    if (value.kind == VALUE_TENSOR && strcmp(expr->text, "size") == 0)
        return elaborate_size_of(e, value.buffer);
    if (value.kind == VALUE_TENSOR && strcmp(expr->text, "dtype") == 0)
        return (struct value){.kind = VALUE_DTYPE, .type = value.buffer->dtype};
    if (value.kind == VALUE_TENSOR && strcmp(expr->text, "ndim") == 0)
        return value_int(e, value.buffer->rank);
    if (value.kind == VALUE_SCALAR && strcmp(expr->text, "dtype") == 0)
        return (struct value){.kind = VALUE_DTYPE, .type = value.expr->dtype};
    if (value.kind == VALUE_NONE) {
        message = elaborate_error(e, MSG_NONE_VALUE, expr->a->span,
                                  expr->a->kind == AST_NAME ? expr->a->text : "this");
        diagnostic_note(message, "help: test it first: if %s is not None:",
                        expr->a->kind == AST_NAME ? expr->a->text : "x");
        return value_error();
    }
    message = elaborate_error(e, MSG_UNKNOWN_MEMBER, expr->span, value_text(e, &value), expr->text);
    foreign =
        value.kind == VALUE_TENSOR || value.kind == VALUE_TUPLE ? foreign_find_member(expr->text) : NULL;
    nearest = foreign ? foreign->right : spelling_nearest(expr->text, members, 4);
    if (value.kind == VALUE_SCALAR && foreign_is_conversion(expr->text))
        diagnostic_note(message, "help: convert it: float32(%s)", elaborate_source(e, expr->a));
    else if (value.kind == VALUE_SCALAR && strcmp(expr->text, "item") == 0)
        diagnostic_note(message, "help: leave it out: %s is a number", elaborate_source(e, expr->a));
    else if (value.kind != VALUE_TENSOR && value.kind != VALUE_TUPLE && builtin_find(expr->text))
        diagnostic_note(message, "help: it is a function: %s(%s, ...)", expr->text,
                        elaborate_source(e, expr->a));
    else if (nearest) {
        diagnostic_note(message, "help: did you mean '%s'?", nearest);
        if (expr->a->kind == AST_NAME)
            diagnostic_fix(message, "%s.%s", expr->a->text, nearest);
    } else if (foreign)
        diagnostic_note(message, "help: %s", foreign->help);
    else if (value.kind == VALUE_TENSOR)
        diagnostic_note(message, "help: a tensor has shape, size, dtype and ndim");
    return value_error();
}

/* ---- slices ------------------------------------------------------------------------ */

/* A negative constant does, as in Python; not what hangs on an extent or attribute, which may be compiled in
 * for some calls and not for others. */
static bool counts_from_end(const struct value *value, const struct ir_expr *index)
{
    return index->kind == IR_INTEGER && index->integer < 0 && !value->is_given;
}

static struct ir_expr *elaborate_slice_end(struct elaborator *e, const struct ast_expr *end,
                                           struct ir_expr *extent, struct ir_expr *initial)
{
    struct ir_expr *index;
    struct value value;

    if (!end)
        return initial;
    value = elaborate_expr(e, end);
    index = value_index(e, value, end->span);
    if (index && counts_from_end(&value, index))
        index = ir_operation(e->kernel, OP_ADD, expr_copy(e, extent), index, NULL);
    return index;
}

static bool elaborate_slice_ends(struct elaborator *e, const struct ast_expr *slice, struct ir_expr *extent,
                                 struct ir_expr **low, struct ir_expr **length, int64_t *step)
{
    struct value step_value;
    struct ir_expr *high, *span;

    *step = 1;
    if (slice->condition) {
        step_value = elaborate_expr(e, slice->condition);
        if (step_value.kind == VALUE_ERROR)
            return false;
        if (!value_constant(&step_value, step) || *step == 0 || *step == INT64_MIN) {
            struct diagnostic_entry *message =
                elaborate_error(e, MSG_NOT_CONSTANT, slice->condition->span, "the step of a slice");
            diagnostic_note(message, "help: write a number other than 0, -1 to go backwards");
            return false;
        }
    }
    bool back = *step < 0; /* from the last one to before the first */
    *low = elaborate_slice_end(e, slice->a, extent,
                               back ? ir_operation(e->kernel, OP_SUB, expr_copy(e, extent),
                                                   ir_integer(e->kernel, AKG_INT64, 1), NULL)
                                    : ir_integer(e->kernel, AKG_INT64, 0));
    high = elaborate_slice_end(e, slice->b, extent,
                               back ? ir_integer(e->kernel, AKG_INT64, -1) : expr_copy(e, extent));
    if (!*low || !high)
        return false;
    span = back ? ir_operation(e->kernel, OP_SUB, expr_copy(e, *low), high, NULL)
                : ir_operation(e->kernel, OP_SUB, high, expr_copy(e, *low), NULL);
    int64_t by = back ? -*step : *step;
    if (by > 1)
        span = ir_operation(
            e->kernel, OP_FLOORDIV,
            ir_operation(e->kernel, OP_ADD, span, ir_integer(e->kernel, AKG_INT64, by - 1), NULL),
            ir_integer(e->kernel, AKG_INT64, by), NULL);
    *length = span;
    return true;
}

/* Its ends are the same for all elements: no slice in them takes a loop of the assignment. */
bool elaborate_slice(struct elaborator *e, const struct ast_expr *slice, struct ir_expr *extent,
                     struct ir_expr **low, struct ir_expr **length, int64_t *step)
{
    struct slice_loop *outer = e->slices;

    e->slices = NULL;
    bool is_right = elaborate_slice_ends(e, slice, extent, low, length, step);
    e->slices = outer;
    return is_right;
}

/* A constant that stands in a subscript of a tuple; `initial` where nothing is written. */
static bool elaborate_tuple_constant(struct elaborator *e, const struct ast_expr *expr, int64_t initial,
                                     int64_t *constant)
{
    struct value value;

    *constant = initial;
    if (!expr)
        return true;
    value = elaborate_expr(e, expr);
    if (value.kind == VALUE_INT && value.expr->kind != IR_INTEGER)
        expr_demand_constants(e, value.expr);
    if (value_constant(&value, constant))
        return true;
    if (value.kind != VALUE_ERROR && !e->result->retry)
        elaborate_error(e, MSG_NOT_CONSTANT, expr->span, "an index of a tuple");
    return false;
}

/* An end of a slice: counted from the end where it is negative, cut to first..last. */
static bool elaborate_tuple_end(struct elaborator *e, const struct ast_expr *end, int64_t initial,
                                int64_t count, int64_t first, int64_t last, int64_t *at)
{
    if (!elaborate_tuple_constant(e, end, initial, at))
        return false;
    if (end && *at < 0)
        *at += count;
    *at = *at < first ? first : *at > last ? last : *at;
    return true;
}

static struct value elaborate_tuple_slice(struct elaborator *e, struct value tuple,
                                          const struct ast_expr *slice)
{
    struct value part = {.kind = VALUE_TUPLE};
    int64_t low, high, step, count = tuple.count;
    bool down;

    if (!elaborate_tuple_constant(e, slice->condition, 1, &step))
        return value_error();
    if (step == 0) {
        elaborate_error(e, MSG_STEP_ZERO, slice->condition->span);
        return value_error();
    }
    down = step < 0;
    if (!elaborate_tuple_end(e, slice->a, down ? count - 1 : 0, count, down ? -1 : 0,
                             down ? count - 1 : count, &low) ||
        !elaborate_tuple_end(e, slice->b, down ? -1 : count, count, down ? -1 : 0, down ? count - 1 : count,
                             &high))
        return value_error();
    part.items = arena_array(e->arena, struct value, tuple.count + 1);
    for (int64_t i = low; down ? i > high : i < high; i += step) {
        part.items[part.count++] = value_copy(e, tuple.items[i]);
        if (step > count || step < -count)
            break; /* one is all there can be, and i must not run over */
    }
    return part;
}

static struct value elaborate_tuple_item(struct elaborator *e, struct value tuple,
                                         const struct ast_expr *subscript)
{
    const struct ast_expr *item = subscript->items[0];
    struct value index;
    int64_t at;

    if (subscript->count == 1 && item->kind == AST_SLICE)
        return elaborate_tuple_slice(e, tuple, item);
    index = elaborate_expr(e, item);
    if (index.kind == VALUE_ERROR)
        return index;
    if (index.kind == VALUE_INT && index.expr->kind != IR_INTEGER && expr_demand_constants(e, index.expr))
        return value_error();
    if (subscript->count != 1 || !value_constant(&index, &at)) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_NOT_CONSTANT, item->span, "an index of a tuple");
        diagnostic_note(message,
                        "help: a loop over a tuple is unrolled: for d in x.shape:, or use const_range");
        return value_error();
    }
    if (at < -tuple.count || at >= tuple.count) {
        if (elaborate_refuse_rank(e, &tuple, at < 0 ? -at : at + 1, true, item->span))
            return value_error();
        struct diagnostic_entry *message = elaborate_error(
            e, MSG_TUPLE_INDEX, item->span, elaborate_number(e, at), elaborate_number(e, tuple.count));
        if (tuple.count)
            diagnostic_note(message, "help: its items are numbered 0 to %d, or -1 from the end",
                            tuple.count - 1);
        return value_error();
    }
    return value_copy(e, tuple.items[at < 0 ? at + tuple.count : at]);
}

/* ---- tensors ------------------------------------------------------------------------- */

struct index_list {
    struct ir_expr *items[AKG_MAX_RANK];
    int count; /* may run past AKG_MAX_RANK; the rest is not stored */
};

/* x[-4] where x has three elements in every call: told as it is written, not as the index -1 that it comes
 * to. */
static bool elaborate_refuse_before(struct elaborator *e, const struct index_list *list,
                                    const struct ir_buffer *buffer, const struct ir_expr *index,
                                    struct span span)
{
    const struct ir_expr *extent = list->count < buffer->rank ? buffer->shape[list->count] : NULL;
    struct diagnostic_entry *message;

    if (!e->general || !extent || extent->kind != IR_INTEGER || index->kind != IR_INTEGER ||
        index->integer >= -extent->integer || index->integer >= 0)
        return false;
    message = elaborate_error(e, MSG_IMPOSSIBLE_INDEX, span, elaborate_number(e, index->integer),
                              elaborate_number(e, list->count), buffer->name,
                              elaborate_counted(e, extent->integer, "element", "elements"));
    diagnostic_note(message, "note: a negative constant counts from the end: -1 is the last element");
    return true;
}

static bool elaborate_push_index(struct elaborator *e, struct index_list *list, struct ir_buffer *buffer,
                                 struct value value, struct span span)
{
    struct ir_expr *index;

    if (value.kind == VALUE_TUPLE) {
        for (int i = 0; i < value.count; i++)
            if (!elaborate_push_index(e, list, buffer, value_copy(e, value.items[i]), span))
                return false;
        return true;
    }
    if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
        value = elaborate_load(e, value.buffer, NULL, span);
    index = value_index(e, value, span);
    if (!index)
        return false;
    if (elaborate_refuse_before(e, list, buffer, index, span))
        return false;
    if (counts_from_end(&value, index) && list->count < buffer->rank)
        index = ir_operation(e->kernel, OP_ADD, expr_copy(e, buffer->shape[list->count]), index, NULL);
    if (list->count < AKG_MAX_RANK)
        list->items[list->count] = index;
    list->count++;
    return true;
}

static bool stands_outside(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD && !(expr->kind == IR_OPERATION && expr->checked) &&
           (expr->kind != IR_SYMBOL || expr->symbol->kind == IR_SYMBOL_DIM ||
            expr->symbol->kind == IR_SYMBOL_ATTRIBUTE || expr->symbol->kind == IR_SYMBOL_LOOP);
}

/* Two slices of a statement have one length: before the call where that is known then, else before the loops
 * that they are, whose bounds hang on none of them; else, where it hangs on what is computed there, inside.
 */
static void require_length(struct elaborator *e, struct ir_expr *condition, struct span span)
{
    const char *message = "the slices have different lengths";
    struct ir_stmt *check;

    if (e->loops == 1 && e->conditions == 0 && expr_is_invariant(condition)) {
        elaborate_require(
            e, &(struct ir_precondition){
                   .kind = IR_PRECONDITION_ASSERT, .condition = condition, .message = message, .span = span});
        return;
    }
    if (ir_expr_walk(condition, stands_outside, NULL)) {
        check = arena_new(e->arena, struct ir_stmt);
        check->kind = IR_ASSERT;
        check->span = span;
        check->next = e->before_slices;
        e->before_slices = check;
    } else {
        check = elaborate_emit(e, IR_ASSERT, span);
    }
    check->value = condition;
    check->message = message;
}

struct ir_expr *elaborate_slice_fixed(struct elaborator *e, struct ir_expr *expr)
{
    struct ir_symbol *symbol;
    struct ir_stmt *let;
    /* what may not be loaded at all goes before the loops with its condition */
    bool is_whole = expr->kind == IR_LOAD ||
                    (expr->kind == IR_OPERATION &&
                     (expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT));

    for (int k = 0; !is_whole && expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = elaborate_slice_fixed(e, expr->operands[k]);
    if (!is_whole || !ir_expr_loads_from(expr, e->sliced))
        return expr;
    for (let = e->before_slices; let; let = let->next)
        if (let->kind == IR_LET && ir_expr_equal(let->value, expr))
            return ir_symbol_use(e->kernel, let->symbol);
    symbol = ir_symbol_new(e->kernel, IR_SYMBOL_LET, "bound", expr->dtype);
    symbol->value = expr;
    let = ir_stmt_new(e->kernel, IR_LET, expr->span);
    let->symbol = symbol;
    let->value = expr;
    let->next = e->before_slices; /* where checks may use it */
    e->before_slices = let;
    return ir_symbol_use(e->kernel, symbol);
}

/* A slice on the right side of an assignment: takes the next loop of the assignment, from the left. */
static bool elaborate_slice_index(struct elaborator *e, struct index_list *list, struct ir_buffer *buffer,
                                  const struct ast_expr *slice, int number, int slices)
{
    struct ir_expr *low, *length, *index;
    struct slice_loop *loop;
    int64_t step;
    int at = e->slice_count - slices + number;

    if (!e->slices) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_SLICE_PLACE, slice->span);
        diagnostic_note(message, "help: assign to a slice, y[0:n] = ..., or write the loop");
        return false;
    }
    if (at < 0) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_SLICE_COUNT, slice->span);
        diagnostic_note(message, "note: %s on this side, %s on the left",
                        elaborate_counted(e, slices, "slice", "slices"),
                        elaborate_counted(e, e->slice_count, "slice", "slices"));
        return false;
    }
    if (list->count >= buffer->rank || list->count >= AKG_MAX_RANK) {
        list->count++;
        return true;
    }
    if (!elaborate_slice(e, slice, buffer->shape[list->count], &low, &length, &step))
        return false;
    low = elaborate_slice_fixed(e, low);
    length = elaborate_slice_fixed(e, length);
    loop = &e->slices[at];
    if (!ir_expr_equal(length, loop->length) &&
        !(length->kind == IR_INTEGER && loop->length->kind == IR_INTEGER)) {
        require_length(e, ir_operation(e->kernel, OP_EQ, length, expr_copy(e, loop->length), NULL),
                       slice->span);
    } else if (!ir_expr_equal(length, loop->length)) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_SLICE_COUNT, slice->span);
        diagnostic_note(message, "note: %lld elements on this side, %lld on the left",
                        (long long)length->integer, (long long)loop->length->integer);
        return false;
    }
    index = ir_symbol_use(e->kernel, loop->symbol);
    if (step != 1)
        index = ir_operation(e->kernel, OP_MUL, index, ir_integer(e->kernel, AKG_INT64, step), NULL);
    list->items[list->count++] = ir_operation(e->kernel, OP_ADD, low, index, NULL);
    return true;
}

struct ir_expr **elaborate_indices(struct elaborator *e, struct ir_buffer *buffer,
                                   const struct ast_expr *subscript)
{
    struct index_list list = {.count = 0};
    struct ir_expr **indices;
    int slices = 0, number = 0, rank;

    for (int i = 0; i < subscript->count; i++)
        slices += subscript->items[i]->kind == AST_SLICE;
    for (int i = 0; i < subscript->count; i++) {
        const struct ast_expr *item = subscript->items[i];
        if (item->kind == AST_SLICE) {
            if (!elaborate_slice_index(e, &list, buffer, item, number++, slices))
                return NULL;
            continue;
        }
        if (item->kind == AST_STARRED)
            item = item->a;
        if (!elaborate_push_index(e, &list, buffer, elaborate_expr(e, item), item->span))
            return NULL;
    }
    if (list.count != buffer->rank && e->misranked)
        return NULL;
    if (list.count != buffer->rank) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_RANK_MISMATCH, subscript->span, buffer->name,
                            elaborate_counted(e, buffer->rank, "axis", "axes"),
                            elaborate_counted(e, list.count, "index is", "indices are"));
        if (buffer->rank == 0)
            diagnostic_note(message, "help: its one element is %s[()]", buffer->name);
        else
            diagnostic_note(message, "help: give one index for each axis");
        if (elaborate_misranked(e, buffer, &rank))
            elaborate_give_up(e);
        return NULL;
    }
    indices = arena_array(e->arena, struct ir_expr *, list.count + 1);
    if (list.count)
        memcpy(indices, list.items, sizeof *indices * (size_t)list.count);
    return indices;
}

struct value elaborate_load(struct elaborator *e, struct ir_buffer *buffer, struct ir_expr **indices,
                            struct span span)
{
    struct ir_expr *load;

    if (e->calls) {
        diagnostic_note(elaborate_error(e, MSG_GRAPH_VALUE, span), "note: this is an element of '%s'",
                        buffer->name);
        return value_error();
    }
    if (buffer_is_view(buffer))
        return elaborate_load_view(e, buffer, indices, span);
    load = arena_new(e->arena, struct ir_expr);
    load->kind = IR_LOAD;
    load->dtype = buffer->dtype;
    load->span = span;
    load->access.buffer = buffer;
    load->access.indices = indices ? indices : arena_array(e->arena, struct ir_expr *, 1);
    load->access.checks = arena_array(e->arena, enum ir_check, buffer->rank + 1);
    return value_of(VALUE_SCALAR, load);
}

bool elaborate_refuse_chain(struct elaborator *e, const struct ast_expr *expr)
{
    const struct ast_expr *inner = expr->a, *root = expr->a;
    struct ast_binding *binding;
    struct value tensor;
    struct diagnostic_entry *message;
    const char *indices = "";
    int count = 0;

    while (root->kind == AST_SUBSCRIPT)
        root = root->a;
    binding = inner->kind == AST_SUBSCRIPT && root->kind == AST_NAME ? ast_binding_of(root) : NULL;
    if (!binding || binding->slot < 0 || elaborate_slot(e, binding)->variable)
        return false;
    tensor = elaborate_slot(e, binding)->value;
    if (tensor.kind != VALUE_TENSOR)
        return false;
    for (const struct ast_expr *part = expr; part != root; part = part->a)
        for (int i = part->count - 1; i >= 0; i--, count++)
            indices = arena_format(e->arena, "%s%s%s", elaborate_source(e, part->items[i]),
                                   *indices ? ", " : "", indices);
    message = elaborate_error(e, MSG_CHAINED_INDEX, expr->span, root->text);
    if (count == tensor.buffer->rank) {
        diagnostic_note(message, "help: write %s[%s]", root->text, indices);
        diagnostic_fix(message, "%s[%s]", root->text, indices);
    } else {
        diagnostic_note(message, "note: '%s' has %s, but %d are indexed", root->text,
                        elaborate_counted(e, tensor.buffer->rank, "axis", "axes"), count);
    }
    return true;
}

struct value elaborate_subscript(struct elaborator *e, const struct ast_expr *expr)
{
    struct value value;
    struct ir_expr **indices;

    if (elaborate_refuse_chain(e, expr))
        return value_error();
    value = elaborate_expr(e, expr->a);

    switch (value.kind) {
    case VALUE_ERROR:
        return value;
    case VALUE_TUPLE:
        return expr->count ? elaborate_tuple_item(e, value, expr) : value_error();
    case VALUE_TENSOR:
        indices = elaborate_indices(e, value.buffer, expr);
        return indices ? elaborate_load(e, value.buffer, indices, expr->span) : value_error();
    case VALUE_NONE: {
        struct diagnostic_entry *message = elaborate_error(
            e, MSG_NONE_VALUE, expr->a->span, expr->a->kind == AST_NAME ? expr->a->text : "this");
        diagnostic_note(message, "help: test it first: if %s is not None:",
                        expr->a->kind == AST_NAME ? expr->a->text : "x");
        return value_error();
    }
    default:
        if (value.kind == VALUE_SCALAR)
            diagnostic_note(elaborate_error(e, MSG_NOT_A_TENSOR, expr->a->span, value_text(e, &value)),
                            "note: this is one element already");
        else
            elaborate_error(e, MSG_NOT_A_TENSOR, expr->a->span, value_text(e, &value));
        return value_error();
    }
}

/* ---- shapes and dtypes as arguments ------------------------------------------------------ */

/* The attribute whose annotation gives it a dtype, or a fraction, in what an extent is computed of; or NULL.
 */
static const struct ast_parameter *shape_typed_attribute(const struct ast_expr *expr, int depth)
{
    const struct ast_binding *binding = expr && expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;
    const struct ast_parameter *found = NULL;

    if (!expr || depth > 8 || expr->kind == AST_SUBSCRIPT || expr->kind == AST_ATTRIBUTE)
        return NULL;
    if (binding && binding->kind == AST_BINDING_LOCAL)
        return shape_typed_attribute(binding->declared_by, depth + 1);
    if (binding && binding->kind == AST_BINDING_PARAMETER) {
        int builtin = elaborate_attribute_builtin(binding->parameter);
        return builtin == BUILTIN_FLOAT || builtin_is_dtype(builtin) ? binding->parameter : NULL;
    }
    for (int i = 0; !found && i < expr->count; i++)
        found = shape_typed_attribute(expr->items[i], depth + 1);
    found = found ? found : shape_typed_attribute(expr->a, depth + 1);
    return found ? found : shape_typed_attribute(expr->b, depth + 1);
}

static void shape_refuse_extent(struct elaborator *e, const struct ast_expr *shape, int axis,
                                const struct value *extent)
{
    struct diagnostic_entry *message = elaborate_error(e, MSG_SHAPE_VALUE, shape->span);
    const struct ast_expr *item =
        shape->kind == AST_TUPLE && axis < shape->count ? shape->items[axis] : shape;
    const struct ast_parameter *typed =
        extent->kind == VALUE_SCALAR || extent->kind == VALUE_FLOAT ? shape_typed_attribute(item, 0) : NULL;

    if (typed) {
        diagnostic_note(message, "note: '%s' is annotated as %s, and an extent is a plain integer",
                        typed->name, typed->annotation->text);
        diagnostic_note(message, "help: write %s: int", typed->name);
    } else {
        diagnostic_note(message, "help: a shape is known before the kernel runs: x.shape, (n, 4), "
                                 "(x.shape[0],) + y.shape[1:]");
    }
}

bool elaborate_shape(struct elaborator *e, const struct ast_expr *expr, struct ir_expr ***shape, int *rank)
{
    struct value value = elaborate_expr(e, expr), *items = &value;
    struct diagnostic_entry *message;

    if (value.kind == VALUE_ERROR)
        return false;
    *rank = 1;
    if (value.kind == VALUE_TUPLE) {
        items = value.items;
        *rank = value.count;
    }
    if (*rank > AKG_MAX_RANK) {
        message = elaborate_error(e, MSG_SHAPE_VALUE, expr->span);
        diagnostic_note(message, "note: at most %d axes", AKG_MAX_RANK);
        return false;
    }
    *shape = arena_array(e->arena, struct ir_expr *, *rank + 1);
    for (int i = 0; i < *rank; i++) {
        struct ir_expr *extent = items[i].kind == VALUE_INT ? expr_copy(e, items[i].expr) : NULL;
        if (!extent && items[i].kind == VALUE_ERROR)
            return false;
        if (extent && !e->general && !expr_is_invariant(extent) && expr_demand_constants(e, extent))
            return false;
        if (!extent || !expr_is_invariant(extent)) {
            shape_refuse_extent(e, expr, i, &items[i]);
            return false;
        }
        if (extent->kind == IR_INTEGER && extent->integer < 0) {
            message =
                elaborate_error(e, MSG_NEGATIVE_EXTENT, expr->span, elaborate_number(e, extent->integer));
            if (extent->integer == -1)
                diagnostic_note(message, "help: write the extent itself; none is computed from the others");
            return false;
        }
        if (!e->general && expr_demand_constants(e, extent))
            return false;
        (*shape)[i] = extent;
    }
    return true;
}

/* "float" and "int" are dtypes as names, and others are so elsewhere. */
static const char *elaborate_dtype_meant(const char *string, const char *const *names)
{
    const struct foreign_name *foreign = foreign_find(string);

    if (strcmp(string, "float") == 0)
        return dtype_table[AKG_FLOAT32].name;
    if (strcmp(string, "int") == 0)
        return dtype_table[AKG_INT32].name;
    if (foreign && foreign->right && akg_dtype_from_name(foreign->right) != AKG_DTYPE_COUNT)
        return foreign->right;
    return spelling_nearest(string, names, AKG_DTYPE_COUNT);
}

bool elaborate_dtype(struct elaborator *e, const struct ast_expr *expr, akg_dtype *type)
{
    struct value value;
    struct diagnostic_entry *message;
    const char *names[AKG_DTYPE_COUNT], *nearest;

    if (expr->kind == AST_NAME && (expr->builtin == BUILTIN_FLOAT || expr->builtin == BUILTIN_INT)) {
        *type = expr->builtin == BUILTIN_FLOAT ? AKG_FLOAT32 : AKG_INT32;
        return true;
    }
    value = elaborate_expr(e, expr);
    if (value.kind == VALUE_STRING && akg_dtype_from_name(value.string) != AKG_DTYPE_COUNT)
        value = (struct value){.kind = VALUE_DTYPE, .type = akg_dtype_from_name(value.string)};
    if (value.kind == VALUE_DTYPE) {
        *type = value.type;
        return true;
    }
    if (value.kind == VALUE_ERROR)
        return false;
    message = elaborate_error(e, MSG_UNKNOWN_DTYPE, expr->span, elaborate_source(e, expr));
    for (int i = 0; i < AKG_DTYPE_COUNT; i++)
        names[i] = dtype_table[i].name;
    nearest = value.kind == VALUE_STRING ? elaborate_dtype_meant(value.string, names) : NULL;
    if (nearest) {
        diagnostic_note(message, "help: did you mean '%s'?", nearest);
        diagnostic_fix(message, "\"%s\"", nearest);
    } else {
        diagnostic_note(message, "help: write a name (float32), a string (\"float32\") or x.dtype");
    }
    return false;
}
