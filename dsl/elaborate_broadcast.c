/*
 * elaborate_broadcast.c: the tensors that a @broadcast function is handed inside another function are brought
 * to one shape: aligned at their last axes, an axis of one element is repeated as often as the others ask.
 *
 * An operand that must be repeated becomes a view: a buffer that is in no kernel, whose loads are loads of
 * the operand with other indices. Which axes have one element decides what code comes out, so it must be
 * known when compiling: where it is not, elaboration asks for it (elaborate_result.needs_ones).
 */
#include <string.h>

#include "elaborate_private.h"

struct view {
    struct ir_buffer buffer;  /* as the function sees it */
    struct ir_buffer *source; /* NULL: of a number */
    struct value number;
};

static bool broadcast_is_of_ones(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind == IR_INTEGER || expr->kind == IR_OPERATION ||
           (expr->kind == IR_SYMBOL && expr->symbol->few == 1);
}

static bool broadcast_put_one(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_SYMBOL) {
        expr->kind = IR_INTEGER;
        expr->integer = 1;
    }
    return true;
}

/* Whether the extent comes to 1: it is that number, or made of dims that are 1 in all calls. */
static bool broadcast_is_one(struct elaborator *e, struct ir_expr *extent)
{
    if (extent->kind == IR_INTEGER)
        return extent->integer == 1;
    if (!e->evaluate || !ir_expr_walk(extent, broadcast_is_of_ones, NULL))
        return false;
    struct ir_expr *known = expr_copy(e, extent);
    ir_expr_walk(known, broadcast_put_one, NULL);
    known = e->evaluate(e->kernel, known);
    return known && known->integer == 1;
}

struct value elaborate_load_view(struct elaborator *e, struct ir_buffer *buffer, struct ir_expr **indices,
                                 struct span span)
{
    struct view *view = (struct view *)buffer;
    struct ir_expr **own, *number;

    if (!view->source) {
        number = value_coerce(e, value_copy(e, view->number), buffer->dtype, span);
        return number ? value_of(VALUE_SCALAR, number) : value_error();
    }
    own = arena_array(e->arena, struct ir_expr *, view->source->rank + 1);
    for (int k = 0; k < view->source->rank; k++) {
        bool repeated = broadcast_is_one(e, view->source->shape[k]);
        own[k] =
            repeated ? ir_integer(e->kernel, AKG_INT64, 0) : indices[k + buffer->rank - view->source->rank];
    }
    return elaborate_load(e, view->source, own, span);
}

struct broadcast {
    struct elaborator *e;
    const struct ast_function *callee;
    struct slot *slots;
    struct span span;
    int rank;
    struct ir_expr *shape[AKG_MAX_RANK];
};

/* The operand that a parameter was given, or NULL: an attribute, a missing tensor. */
static struct value *broadcast_operand(const struct broadcast *b, int index)
{
    const struct ast_parameter *parameter = &b->callee->parameters[index];
    struct value *value = &b->slots[parameter->binding->slot].value;
    return value->kind == VALUE_TENSOR || (value_is_number(value) && parameter->used_as_tensor) ? value
                                                                                                : NULL;
}

/* Two extents, neither known to be 1, of the same axis. */
static bool broadcast_match(struct broadcast *b, const struct ir_expr *first, const struct ir_expr *second)
{
    struct elaborator *e = b->e;
    struct ir_precondition precondition = {
        .kind = IR_PRECONDITION_ASSERT, .message = "the shapes cannot be broadcast to one", .span = b->span};

    if (ir_expr_equal(first, second))
        return true;
    if (first->kind == IR_INTEGER && second->kind == IR_INTEGER) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_BROADCAST, b->span, b->callee->name, elaborate_number(e, first->integer),
                            elaborate_number(e, second->integer));
        diagnostic_note(message,
                        "help: axes are matched from the last one; each pair must be equal, or one of "
                        "them 1");
        return false;
    }
    if (!e->few_known && !e->general) {
        e->result->needs_ones = e->result->retry = true;
        return true;
    }
    precondition.condition = ir_operation(e->kernel, OP_EQ, expr_copy(e, first), expr_copy(e, second), NULL);
    elaborate_require(e, &precondition);
    return true;
}

static bool broadcast_shape(struct broadcast *b)
{
    for (int i = 0; i < b->callee->parameter_count; i++) {
        const struct value *operand = broadcast_operand(b, i);
        if (operand && operand->kind == VALUE_TENSOR && operand->buffer->rank > b->rank)
            b->rank = operand->buffer->rank;
    }
    for (int i = 0; i < b->callee->parameter_count; i++) {
        const struct value *operand = broadcast_operand(b, i);
        int rank = operand && operand->kind == VALUE_TENSOR ? operand->buffer->rank : 0;
        for (int k = 0; k < rank; k++) {
            struct ir_expr **extent = &b->shape[k + b->rank - rank], *own = operand->buffer->shape[k];
            if (!*extent || broadcast_is_one(b->e, *extent))
                *extent = own;
            else if (!broadcast_is_one(b->e, own) && !broadcast_match(b, *extent, own))
                return false;
        }
    }
    return true;
}

static bool broadcast_fits(const struct broadcast *b, const struct ir_buffer *buffer)
{
    for (int k = 0; buffer->rank == b->rank && k < b->rank; k++)
        if (broadcast_is_one(b->e, buffer->shape[k]) && !broadcast_is_one(b->e, b->shape[k]))
            return false;
    return buffer->rank == b->rank;
}

static struct ir_buffer *broadcast_view(struct broadcast *b, const struct value *operand, const char *name)
{
    struct elaborator *e = b->e;
    struct view *view = arena_new(e->arena, struct view);
    bool tensor = operand->kind == VALUE_TENSOR;

    view->source = tensor ? operand->buffer : NULL;
    view->number = *operand;
    view->buffer.name = tensor ? operand->buffer->name : name;
    view->buffer.role = IR_INPUT;
    view->buffer.rank = b->rank;
    view->buffer.index = -1;
    view->buffer.span = b->span;
    view->buffer.dtype = tensor                          ? operand->buffer->dtype
                         : operand->kind == VALUE_SCALAR ? operand->expr->dtype
                         : operand->kind == VALUE_INT    ? type_fresh(&e->types, TYPES_NUMBER, false)
                                                         : type_fresh(&e->types, TYPES_FLOAT, false);
    view->buffer.shape = arena_array(e->arena, struct ir_expr *, b->rank + 1);
    for (int k = 0; k < b->rank; k++)
        view->buffer.shape[k] = expr_copy(e, b->shape[k]);
    return &view->buffer;
}

bool elaborate_broadcast(struct elaborator *e, const struct ast_function *callee, struct slot *slots,
                         struct span span)
{
    struct broadcast b = {.e = e, .callee = callee, .slots = slots, .span = span};

    if (!broadcast_shape(&b))
        return false;
    for (int i = 0; i < callee->parameter_count; i++) {
        struct value *operand = broadcast_operand(&b, i);
        if (operand && (operand->kind != VALUE_TENSOR || !broadcast_fits(&b, operand->buffer)))
            *operand = (struct value){.kind = VALUE_TENSOR,
                                      .buffer = broadcast_view(&b, operand, callee->parameters[i].name)};
    }
    return true;
}
