/*
 * elaborate_assign.c: declarations, assignments, stores, slices, returns.
 */
#include <string.h>

#include "elaborate_private.h"

struct ir_symbol *elaborate_variable(struct elaborator *e, const char *name, akg_dtype type, struct span span)
{
    struct ir_symbol *symbol = ir_symbol_new(e->kernel, IR_SYMBOL_VARIABLE, name, type);
    struct ir_stmt *stmt = elaborate_emit(e, IR_VARIABLE, span);

    symbol->span = span;
    stmt->symbol = symbol;
    stmt->value = ir_integer(e->kernel, AKG_INT64, 0);
    stmt->value->dtype = type;
    return symbol;
}

/* A number of a graph function, whose loops are unrolled: it takes a new value each time. One that would grow
 * without end is decided. */
static struct value elaborate_known(struct elaborator *e, struct value value)
{
    if (expr_size(value.expr, 40) >= 40)
        value.expr = expr_decide(e, value.expr, 1);
    return value.expr ? value : value_error();
}

/* A name that is assigned once: stands for its value. Untyped values stay untyped; what would be
 * computed at each use is computed once. */
static struct value elaborate_let(struct elaborator *e, struct value value, const char *name,
                                  struct span span)
{
    struct ir_symbol *symbol;
    struct ir_stmt *stmt;
    bool simple;

    if (!value_is_number(&value))
        return value;
    simple = value.expr->kind == IR_INTEGER || value.expr->kind == IR_REAL ||
             (value.expr->kind == IR_SYMBOL && value.expr->symbol->kind != IR_SYMBOL_VARIABLE);
    if (simple ||
        (value.kind == VALUE_FLOAT && expr_is_stable(value.expr) && expr_size(value.expr, 20) < 20) ||
        (value.kind == VALUE_INT && expr_is_invariant(value.expr) && expr_size(value.expr, 40) < 40))
        return value;
    if (value.kind == VALUE_INT && e->function->is_graph && expr_is_invariant(value.expr))
        return elaborate_known(e,
                               value); /* an extent, maybe, of what other kernels gave: it has to be known */
    if (value.kind == VALUE_FLOAT) {
        value.expr = value_settle(e, value, span);
        value.kind = VALUE_SCALAR;
        if (!value.expr)
            return value_error();
    }
    symbol = ir_symbol_new(e->kernel, IR_SYMBOL_LET, name, value.expr->dtype);
    symbol->span = span;
    symbol->value = value.expr;
    stmt = elaborate_emit(e, IR_LET, span);
    stmt->symbol = symbol;
    stmt->value = value.expr;
    return value_of(value.kind, ir_symbol_use(e->kernel, symbol));
}

/* A typed scalar keeps its dtype; false after a message. */
static bool elaborate_same_dtype(struct elaborator *e, akg_dtype dtype, const char *name, int declared,
                                 const struct value *value, struct span span)
{
    struct diagnostic_entry *message;

    if (value->kind != VALUE_SCALAR || type_unify(&e->types, dtype, value->expr->dtype))
        return true;
    message =
        elaborate_error(e, MSG_VARIABLE_DTYPE, span, name, type_text(&e->types, dtype), value_text(e, value));
    diagnostic_note(message, "note: a scalar has one dtype; '%s' was declared on line %d", name, declared);
    if (!type_is_variable(type_find(&e->types, dtype)))
        diagnostic_note(message, "help: convert the value: %s(...)",
                        dtype_table[type_find(&e->types, dtype)].name);
    return false;
}

static void elaborate_assign_variable(struct elaborator *e, struct slot *slot, const char *name,
                                      struct value value, struct span span)
{
    struct ir_stmt *stmt;
    struct ir_expr *expr;

    if (!elaborate_same_dtype(e, slot->variable->dtype, name, slot->variable->span.line, &value, span)) {
        slot->variable = NULL; /* what is done with it from here on is no mistake of its own */
        slot->value = value_error();
        return;
    }
    expr = value_coerce(e, value, slot->variable->dtype, span);
    if (!expr)
        return;
    stmt = elaborate_emit(e, IR_ASSIGN, span);
    stmt->symbol = slot->variable;
    stmt->value = expr;
}

/* Declares the binding with a value. */
void elaborate_bind(struct elaborator *e, struct ast_binding *binding, struct value value, struct span span)
{
    struct slot *slot = elaborate_slot(e, binding);
    struct ir_symbol *symbol;
    struct ir_stmt *stmt;
    struct ir_expr *expr;

    slot->variable = NULL;
    slot->value = value;
    if (binding->kind != AST_BINDING_LOCAL || value.kind == VALUE_ERROR)
        return;
    if (!value_is_number(&value))
        return;
    if (e->frame->graph && expr_is_invariant(value.expr)) {
        slot->value = elaborate_known(e, value);
        return;
    }
    if (!binding->varies) {
        slot->value = elaborate_let(e, value, binding->name, span);
        return;
    }
    expr = value_settle(e, value, span);
    if (!expr) {
        slot->value = value_error();
        return;
    }
    symbol = ir_symbol_new(e->kernel, IR_SYMBOL_VARIABLE, binding->name, expr->dtype);
    symbol->span = span;
    stmt = elaborate_emit(e, IR_VARIABLE, span);
    stmt->symbol = symbol;
    stmt->value = expr;
    slot->variable = symbol;
}

/* An input that is written is told of where the function in question does it, or calls what does it. */
static void elaborate_note_written(struct elaborator *e, struct ir_buffer *buffer, struct span span)
{
    struct written_input row = {.buffer = buffer, .span = span, .line = span.line};

    for (int i = 0; i < e->written_inputs.count; i++)
        if (e->written_inputs.items[i].buffer == buffer)
            return;
    for (const struct frame *frame = e->frame; frame->caller; frame = frame->caller) {
        row.callee = frame->function;
        row.span = frame->call;
    }
    list_push(e->arena, &e->written_inputs, row);
}

void elaborate_store(struct elaborator *e, struct ir_buffer *buffer, struct ir_expr **indices,
                     struct value value, const struct ast_expr *place, struct span span)
{
    struct ir_stmt *stmt;
    struct ir_expr *expr;

    if (buffer->role == IR_INPUT)
        elaborate_note_written(e, buffer, span);
    if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
        value = elaborate_load(e, value.buffer, NULL, place->span);
    if (value.kind == VALUE_TENSOR) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_TENSOR_ARITHMETIC, place->span, elaborate_source(e, place));
        const char *whole = ":";
        for (int axis = 1; axis < value.buffer->rank; axis++)
            whole = arena_format(e->arena, "%s, :", whole);
        if (place->kind == AST_NAME && e->slices)
            diagnostic_note(message, "help: take a slice of it, too: %s[%s]", place->text, whole);
        else if (place->kind == AST_NAME)
            diagnostic_note(message, "help: copy element by element: for i in grid(%s.shape): %s[i] = %s[i]",
                            buffer->name, buffer->name, place->text);
        else
            diagnostic_note(message,
                            "help: give it a name before the loop, t = %s, and read its elements, t[i]",
                            elaborate_source(e, place));
        return;
    }
    if (value.kind == VALUE_SCALAR && !type_unify(&e->types, buffer->dtype, value.expr->dtype)) {
        akg_dtype to = type_find(&e->types, buffer->dtype);
        struct diagnostic_entry *message = elaborate_error(e, MSG_STORE_DTYPE, place->span, buffer->name,
                                                           type_text(&e->types, to), value_text(e, &value));
        if (!type_is_variable(to)) {
            const char *source = elaborate_source(e, place);
            diagnostic_note(message, "help: convert it: %s(%s)", dtype_table[to].name, source);
            diagnostic_fix_around(message, arena_format(e->arena, "%s(", dtype_table[to].name), ")");
        } else if (type_find(&e->types, value.expr->dtype) == AKG_BOOL) {
            diagnostic_note(message, "help: write 1 if %s else 0", elaborate_source(e, place));
        }
        return;
    }
    expr = value_coerce(e, value, buffer->dtype, place->span);
    if (!expr)
        return;
    stmt = elaborate_emit(e, IR_STORE, span);
    stmt->access.buffer = buffer;
    stmt->access.indices = indices;
    stmt->access.checks = arena_array(e->arena, enum ir_check, buffer->rank + 1);
    stmt->value = expr;
}

/* ---- slices -------------------------------------------------------------------------- */

static int elaborate_count_slices(const struct ast_expr *target)
{
    int count = 0;
    for (int i = 0; i < target->count; i++)
        count += target->items[i]->kind == AST_SLICE;
    return count;
}

struct slice_reads {
    const struct ir_buffer *buffer;
    struct ir_expr **indices;
    int rank;
};

static bool elaborate_slice_reads(struct ir_expr *expr, void *context)
{
    struct slice_reads *reads = context;
    if (expr->kind != IR_LOAD || expr->access.buffer != reads->buffer)
        return true;
    for (int i = 0; i < reads->rank; i++)
        if (!ir_expr_equal(expr->access.indices[i], reads->indices[i]))
            return false;
    return true;
}

/* Whether extents, and numbers above 0, are all that it is made of. */
static bool elaborate_is_extent(const struct ir_expr *expr)
{
    if (expr->kind == IR_INTEGER)
        return expr->integer >= 0;
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind == IR_SYMBOL_DIM;
    return expr->kind == IR_OPERATION &&
           (expr->operation == OP_ADD || expr->operation == OP_MUL || expr->operation == OP_MAX) &&
           elaborate_is_extent(expr->operands[0]) && elaborate_is_extent(expr->operands[1]);
}

/* The extent of a tensor that need not come to be: memory is made before anything runs, and where the block
 * is not entered because x has two elements, x.shape[0] - 3 is no mistake. */
static struct ir_expr *elaborate_extent_or_none(struct elaborator *e, struct ir_expr *extent)
{
    extent = expr_copy(e, extent);
    return elaborate_is_extent(extent)
               ? extent
               : ir_operation(e->kernel, OP_MAX, ir_integer(e->kernel, AKG_INT64, 0), extent, NULL);
}

static struct ir_expr **slice_indices(struct elaborator *e, struct ir_buffer *buffer,
                                      const struct ast_expr *target)
{
    struct ir_expr **indices = elaborate_indices(e, buffer, target);

    for (int axis = 0; indices && axis < buffer->rank; axis++)
        indices[axis] = elaborate_slice_fixed(e, indices[axis]);
    return indices;
}

/* The loops of the target's slices, outermost first; the body goes to e->tail afterwards. */
static bool elaborate_slice_loops(struct elaborator *e, struct ir_buffer *buffer,
                                  const struct ast_expr *target, int count)
{
    struct slice_loop *slices = arena_array(e->arena, struct slice_loop, count);
    int axis = 0, number = 0;

    e->slices = NULL; /* no expression takes one of the loops before all are there */
    for (int i = 0; i < target->count; i++) {
        const struct ast_expr *item = target->items[i];
        struct ir_expr *low, *length;
        struct ir_stmt *loop;
        int64_t step;

        if (item->kind != AST_SLICE) {
            struct value value = elaborate_expr(e, item->kind == AST_STARRED ? item->a : item);
            axis += value.kind == VALUE_TUPLE ? value.count : 1;
            continue;
        }
        if (axis >= buffer->rank) {
            elaborate_error(e, MSG_RANK_MISMATCH, target->span, buffer->name,
                            elaborate_counted(e, buffer->rank, "axis", "axes"),
                            elaborate_counted(e, target->count, "index is", "indices are"));
            return false;
        }
        if (!elaborate_slice(e, item, buffer->shape[axis], &low, &length, &step))
            return false;
        slices[number].symbol =
            ir_symbol_new(e->kernel, IR_SYMBOL_LOOP, arena_format(e->arena, "s%d", number), AKG_INT64);
        slices[number].symbol->label = "the slice's place";
        slices[number].length = length = elaborate_slice_fixed(e, length);
        loop = elaborate_emit(e, IR_FOR, target->span);
        loop->symbol = slices[number].symbol;
        loop->low = ir_integer(e->kernel, AKG_INT64, 0);
        loop->high = expr_copy(e, length);
        loop->step = 1;
        e->tail = &loop->body;
        number++;
        axis++;
    }
    e->slices = slices;
    e->slice_count = count;
    return true;
}

/* A temporary with the extents of the slices. */
static struct ir_buffer *slice_copy(struct elaborator *e, const struct ir_buffer *buffer,
                                    const struct ast_stmt *stmt, int count)
{
    struct ir_buffer *copy = ir_buffer_new(e->kernel, "slice", IR_TEMPORARY, buffer->dtype, count);
    bool invariant = true;

    copy->contiguous = true;
    copy->span = stmt->span;
    for (int i = 0; i < count; i++) {
        copy->shape[i] = elaborate_extent_or_none(e, e->slices[i].length);
        invariant &= expr_is_invariant(copy->shape[i]);
    }
    if (!invariant) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_SHAPE_VALUE, stmt->span);
        diagnostic_note(message, "note: both sides touch '%s', so the right side must be kept apart",
                        buffer->name);
        diagnostic_note(message, "help: write the loop in the order you mean");
    }
    return copy;
}

/* The element of the iteration in it. */
static struct ir_expr **slice_places(struct elaborator *e, int count)
{
    struct ir_expr **at = arena_array(e->arena, struct ir_expr *, count + 1);

    for (int i = 0; i < count; i++)
        at[i] = ir_symbol_use(e->kernel, e->slices[i].symbol);
    return at;
}

/* The value into a temporary, in the loops that begin at *first; behind these, loops that store it. */
static void store_through_copy(struct elaborator *e, struct ir_buffer *buffer, const struct ast_stmt *stmt,
                               int count, struct value value, struct ir_stmt **first)
{
    struct ir_buffer *copy = slice_copy(e, buffer, stmt, count);
    struct ir_stmt *allocate = arena_new(e->arena, struct ir_stmt), *loops = *first, *last;
    struct ir_expr **indices;

    elaborate_store(e, copy, slice_places(e, count), value, stmt->value, stmt->span);
    allocate->kind = IR_ALLOCATE;
    allocate->span = stmt->span;
    allocate->access.buffer = copy;
    allocate->next = loops;
    *first = allocate;
    for (last = loops; last->next; last = last->next)
        ;
    e->tail = &last->next;
    if (elaborate_slice_loops(e, buffer, stmt->target, count) &&
        (indices = slice_indices(e, buffer, stmt->target)) != NULL)
        elaborate_store(e, buffer, indices, elaborate_load(e, copy, slice_places(e, count), stmt->span),
                        stmt->value, stmt->span);
}

/* The right side, of `+=` with the element that is there. */
static struct value slice_value(struct elaborator *e, struct ir_buffer *buffer, const struct ast_stmt *stmt)
{
    struct value value = elaborate_expr(e, stmt->value);
    struct ir_expr **again;

    if (stmt->kind != AST_AUGMENTED || !(again = slice_indices(e, buffer, stmt->target)))
        return value;
    return elaborate_binary(e, stmt->operation, elaborate_load(e, buffer, again, stmt->target->span), value,
                            stmt->target, stmt->value, stmt->span);
}

/* buffer[slices] = value: loops; through a temporary when the right side reads other elements of the same
 * tensor, since the right side is evaluated first. */
static void elaborate_slice_store(struct elaborator *e, struct ir_buffer *buffer, const struct ast_stmt *stmt,
                                  int count)
{
    struct ir_stmt **outside = e->tail, *first = NULL, *outer_checks = e->before_slices;
    struct slice_loop *outer_slices = e->slices;
    const struct ir_buffer *outer_buffer = e->sliced;
    int outer_count = e->slice_count;
    struct ir_expr **indices;

    e->tail = &first;
    e->sliced = buffer;
    e->before_slices = NULL;
    e->loops++;
    if (elaborate_slice_loops(e, buffer, stmt->target, count) &&
        (indices = slice_indices(e, buffer, stmt->target)) != NULL) {
        struct value value = slice_value(e, buffer, stmt);
        struct slice_reads reads = {buffer, indices, buffer->rank};
        if (value_is_number(&value) && !ir_expr_walk(value.expr, elaborate_slice_reads, &reads))
            store_through_copy(e, buffer, stmt, count, value, &first);
        else
            elaborate_store(e, buffer, indices, value, stmt->value, stmt->span);
    }
    e->loops--;
    e->slices = outer_slices;
    e->sliced = outer_buffer;
    e->slice_count = outer_count;
    *outside = e->before_slices;
    e->before_slices = outer_checks;
    for (e->tail = outside; *e->tail;)
        e->tail = &(*e->tail)->next;
    *e->tail = first;
    e->tail = outside;
    while (*e->tail)
        e->tail = &(*e->tail)->next;
}

/* ---- assignment statements -------------------------------------------------------------- */

/* The shape, the dtype and the scope of a new tensor, by place or by name; false after a message. */
static bool elaborate_allocation_items(struct elaborator *e, const struct ast_expr *call,
                                       const struct ast_expr *items[3])
{
    static const char *const names[] = {"shape", "dtype", "scope"};

    for (int i = 0; i < call->count; i++) {
        const struct ast_expr *item = call->items[i];
        int at;
        for (at = item->kind == AST_KEYWORD ? 0 : i; item->kind == AST_KEYWORD && at < 3; at++)
            if (strcmp(names[at], item->text) == 0)
                break;
        if (at == 3) {
            struct diagnostic_entry *message = elaborate_error(
                e, MSG_ARGUMENT_NAME, item->span, arena_format(e->arena, "'%s'", call->a->text), item->text);
            const char *nearest = spelling_nearest(item->text, names, 3);
            if (nearest)
                diagnostic_note(message, "help: did you mean '%s'?", nearest);
            return false;
        }
        items[at] = item->kind == AST_KEYWORD ? item->a : item;
    }
    return true;
}

struct ir_buffer *elaborate_allocate(struct elaborator *e, const struct ast_expr *call, const char *name)
{
    bool output = call->a->builtin == BUILTIN_OUTPUT_TENSOR;
    const struct ast_expr *items[3] = {call, call, call}; /* what is named twice leaves one out */
    struct ir_buffer *buffer;
    struct ir_expr **shape;
    struct ir_stmt *stmt;
    akg_dtype dtype;
    int rank;

    if (call->count < 2 || call->count > (output ? 2 : 3)) {
        struct diagnostic_entry *message =
            elaborate_error(e, MSG_ARGUMENT_COUNT, call->span, arena_format(e->arena, "'%s'", call->a->text),
                            "a shape and a dtype",
                            arena_format(e->arena, "%d %s", call->count, call->count == 1 ? "is" : "are"));
        if (call->count > 2)
            diagnostic_note(message, "help: the shape is one tuple: %s((m, n), x.dtype)", call->a->text);
        else
            diagnostic_note(message, "help: write %s(x.shape, x.dtype)", call->a->text);
        return NULL;
    }
    if (!elaborate_allocation_items(e, call, items) || !elaborate_shape(e, items[0], &shape, &rank) ||
        !elaborate_dtype(e, items[1], &dtype))
        return NULL;
    if (output && (e->loops || e->conditions) && !e->frame->caller && !e->function->unresolved) {
        if (!e->loops && elaborate_decide_branches(e))
            return NULL;
        struct diagnostic_entry *message = elaborate_error(e, MSG_OUTPUT_IN_LOOP, call->span);
        diagnostic_note(message, "help: make outputs at the top of the kernel; inside, use allocate");
        return NULL;
    }
    buffer = ir_buffer_new(e->kernel, name, IR_TEMPORARY, dtype, rank);
    buffer->contiguous = true;
    buffer->span = call->span;
    for (int i = 0; i < rank; i++)
        buffer->shape[i] = e->loops || e->conditions ? elaborate_extent_or_none(e, shape[i]) : shape[i];
    stmt = elaborate_emit(e, IR_ALLOCATE, call->span);
    stmt->access.buffer = buffer;
    return buffer;
}

static bool elaborate_is_allocation(const struct ast_expr *expr)
{
    return expr->kind == AST_CALL && expr->a->kind == AST_NAME && !ast_binding_of(expr->a) &&
           (expr->a->builtin == BUILTIN_OUTPUT_TENSOR || expr->a->builtin == BUILTIN_ALLOCATE);
}

/* In a graph function a name may go from tensor to tensor: x = relu(x). */
static bool elaborate_renames_tensor(const struct elaborator *e, const struct slot *slot,
                                     const struct value *value)
{
    return e->frame->function->is_pure && e->frame->conditions == 0 && !slot->variable &&
           (value->kind == VALUE_TENSOR || value->kind == VALUE_TUPLE) && slot->value.kind == value->kind;
}

/* Whether a name may go from one value to the other: numbers and tuples may; a tensor stays what it is. */
static bool elaborate_is_alike(const struct value *before, const struct value *after)
{
    return (value_is_number(before) && value_is_number(after)) ||
           (before->kind == after->kind && before->kind != VALUE_TENSOR && before->kind != VALUE_ERROR);
}

static void elaborate_assign_name(struct elaborator *e, const struct ast_expr *target, struct value value,
                                  struct span span)
{
    struct ast_binding *binding = ast_binding_of(target);
    struct slot *slot;
    bool declares;

    if (!binding)
        return;
    slot = elaborate_slot(e, binding);
    declares = target->binding->span.line == target->span.line &&
               target->binding->span.column == target->span.column && !slot->predeclared;
    if (value.kind == VALUE_ERROR && (declares || slot->predeclared)) {
        slot->variable = NULL;
        slot->value = value;
        return;
    }
    /* what does not depend on the run takes a new meaning from here on */
    if (declares || elaborate_renames_tensor(e, slot, &value) ||
        (!slot->variable && (!binding->varies || e->frame->graph) &&
         elaborate_is_alike(&slot->value, &value))) {
        if (!declares && slot->value.kind == VALUE_SCALAR &&
            !elaborate_same_dtype(e, slot->value.expr->dtype, binding->name, binding->span.line, &value,
                                  span)) {
            slot->value = value_error();
            return;
        }
        elaborate_bind(e, binding, value, span);
        return;
    }
    if (slot->variable && value_is_number(&value)) {
        elaborate_assign_variable(e, slot, binding->name, value, span);
    } else if (value.kind != VALUE_ERROR && slot->value.kind != VALUE_ERROR) {
        struct diagnostic_entry *message;
        if (e->frame->graph && value.kind == VALUE_TENSOR && e->frame->conditions > 0) {
            elaborate_refuse_choice(e, span);
            return;
        }
        message = elaborate_error(e, MSG_REASSIGNED, span, binding->name);
        if (slot->value.kind == VALUE_TENSOR && value_is_number(&value) && slot->value.buffer->rank == 0)
            diagnostic_note(message, "help: the element of a tensor without axes is written %s[()]",
                            binding->name);
        else if (slot->value.kind == VALUE_TENSOR && value_is_number(&value))
            diagnostic_note(message,
                            "help: to fill the tensor, write the loop: for i in grid(%s.shape): %s[i] = ...",
                            binding->name, binding->name);
        else
            diagnostic_note(message, "help: give the new value a name of its own");
    }
}

static void elaborate_refuse_target(struct elaborator *e, const struct ast_expr *target,
                                    const struct value *into)
{
    struct diagnostic_entry *message;

    if (into->kind == VALUE_ERROR)
        return;
    message = elaborate_error(e, MSG_STORE_TARGET, target->span, value_text(e, into));
    if (into->kind == VALUE_TUPLE)
        diagnostic_note(message, "help: build a new tuple: (n,) + x.shape[1:]");
    else
        diagnostic_note(message, "help: only tensors have elements: t = allocate((n,), dtype)");
}

static void elaborate_assign_value(struct elaborator *e, const struct ast_expr *target, struct value value,
                                   const struct ast_expr *place, struct span span)
{
    struct ir_expr **indices;
    struct value into;

    if (target->kind == AST_NAME) {
        elaborate_assign_name(e, target, value, span);
        return;
    }
    if (target->kind == AST_TUPLE || target->kind == AST_LIST_DISPLAY) {
        if (value.kind == VALUE_ERROR)
            value.count = -1;
        else if ((value.kind != VALUE_TUPLE || value.count != target->count) &&
                 !elaborate_refuse_rank(e, &value, target->count, false, span))
            elaborate_error(e, MSG_UNPACK_COUNT, span,
                            value.kind == VALUE_TUPLE
                                ? elaborate_counted(e, value.count, "value is", "values are")
                                : arena_format(e->arena, "%s is", value_text(e, &value)),
                            arena_format(e->arena, "%d", target->count));
        for (int i = 0; i < target->count; i++)
            elaborate_assign_value(e, target->items[i],
                                   value.kind == VALUE_TUPLE && value.count == target->count ? value.items[i]
                                                                                             : value_error(),
                                   place, span);
        return;
    }
    if (target->kind != AST_SUBSCRIPT || elaborate_refuse_chain(e, target))
        return; /* names.c refused what is no target at all */
    into = elaborate_expr(e, target->a);
    if (into.kind != VALUE_TENSOR) {
        elaborate_refuse_target(e, target, &into);
        return;
    }
    indices = elaborate_indices(e, into.buffer, target);
    if (indices && value.kind != VALUE_ERROR)
        elaborate_store(e, into.buffer, indices, value, place, span);
}

static bool elaborate_mentions(const struct ast_expr *expr, const struct ast_binding *binding)
{
    if (!expr)
        return false;
    bool found = (expr->kind == AST_NAME && expr->binding == binding) ||
                 elaborate_mentions(expr->a, binding) || elaborate_mentions(expr->b, binding) ||
                 elaborate_mentions(expr->condition, binding);
    for (int k = 0; k < expr->count && !found; k++)
        found = elaborate_mentions(expr->items[k], binding);
    return found;
}

/* Whether one of the first so many targets may change what the expression gives. */
static bool elaborate_is_changed(struct ast_expr *const *targets, int count, const struct ast_expr *expr)
{
    for (int k = 0; k < count; k++) {
        const struct ast_expr *target = targets[k];
        while (target->kind == AST_SUBSCRIPT)
            target = target->a;
        if (target->kind != AST_NAME || elaborate_mentions(expr, target->binding))
            return true;
    }
    return false;
}

/* a, b = b, a: the right side is evaluated before anything is assigned. */
static struct value elaborate_freeze(struct elaborator *e, struct value value, struct span span)
{
    if (value.kind == VALUE_TUPLE) {
        struct value *items = arena_array(e->arena, struct value, value.count + 1);
        for (int i = 0; i < value.count; i++)
            items[i] = elaborate_freeze(e, value.items[i], span);
        value.items = items;
        return value;
    }
    if (value_is_number(&value) && (value.kind == VALUE_SCALAR || !expr_is_invariant(value.expr))) {
        struct ir_symbol *symbol;
        struct ir_stmt *stmt;
        if (value.kind == VALUE_FLOAT && expr_is_stable(value.expr))
            return value;
        if (value.kind == VALUE_FLOAT)
            value = value_of(VALUE_SCALAR, value_settle(e, value, span));
        symbol = ir_symbol_new(e->kernel, IR_SYMBOL_LET, "before", value.expr->dtype);
        symbol->value = value.expr;
        stmt = elaborate_emit(e, IR_LET, span);
        stmt->symbol = symbol;
        stmt->value = value.expr;
        value.expr = ir_symbol_use(e->kernel, symbol);
    }
    return value;
}

/* What no assignment before its own changes needs no name: best, at = r, j. */
static struct value elaborate_freeze_items(struct elaborator *e, struct value value,
                                           const struct ast_stmt *stmt)
{
    if (value.kind != VALUE_TUPLE || value.count != stmt->target->count)
        return elaborate_freeze(e, value, stmt->span);
    struct value *items = arena_array(e->arena, struct value, value.count + 1);
    for (int i = 0; i < value.count; i++)
        items[i] = elaborate_is_changed(stmt->target->items, i, stmt->value->items[i])
                       ? elaborate_freeze(e, value.items[i], stmt->span)
                       : value.items[i];
    value.items = items;
    return value;
}

void elaborate_assign(struct elaborator *e, const struct ast_stmt *stmt)
{
    struct value value, into;
    int slices;

    if (stmt->target->kind == AST_NAME && elaborate_is_allocation(stmt->value)) {
        struct ir_buffer *buffer = elaborate_allocate(e, stmt->value, stmt->target->text);
        value = (struct value){.kind = buffer ? VALUE_TENSOR : VALUE_ERROR, .buffer = buffer};
        elaborate_assign_name(e, stmt->target, value, stmt->span);
        return;
    }
    slices = stmt->target->kind == AST_SUBSCRIPT ? elaborate_count_slices(stmt->target) : 0;
    if (slices) {
        into = elaborate_expr(e, stmt->target->a);
        if (into.kind == VALUE_TENSOR)
            elaborate_slice_store(e, into.buffer, stmt, slices);
        else
            elaborate_refuse_target(e, stmt->target, &into);
        return;
    }
    value = elaborate_expr(e, stmt->value);
    if (stmt->annotation) {
        akg_dtype type;
        if (!elaborate_dtype(e, stmt->annotation, &type))
            return;
        if (value.kind == VALUE_INT || value.kind == VALUE_FLOAT) {
            struct ir_expr *expr = value_coerce(e, value, type, stmt->value->span);
            value = expr ? value_of(VALUE_SCALAR, expr) : value_error();
        } else if (value.kind == VALUE_SCALAR && !value_coerce(e, value, type, stmt->value->span)) {
            value = value_error();
        }
    }
    if (stmt->target->kind == AST_TUPLE && stmt->value->kind == AST_TUPLE)
        value = elaborate_freeze_items(e, value, stmt);
    elaborate_assign_value(e, stmt->target, value, stmt->value, stmt->span);
}

void elaborate_augmented(struct elaborator *e, const struct ast_stmt *stmt)
{
    struct value into, left, right;
    struct ir_expr **indices;
    int slices = stmt->target->kind == AST_SUBSCRIPT ? elaborate_count_slices(stmt->target) : 0;

    if (stmt->target->kind == AST_NAME) {
        left = elaborate_expr(e, stmt->target);
        right = elaborate_expr(e, stmt->value);
        right = elaborate_binary(e, stmt->operation, left, right, stmt->target, stmt->value, stmt->span);
        if (right.kind != VALUE_ERROR)
            elaborate_assign_name(e, stmt->target, right, stmt->span);
        return;
    }
    if (stmt->target->kind != AST_SUBSCRIPT)
        return;
    if (elaborate_refuse_chain(e, stmt->target))
        return;
    into = elaborate_expr(e, stmt->target->a);
    if (into.kind != VALUE_TENSOR) {
        elaborate_refuse_target(e, stmt->target, &into);
        return;
    }
    if (slices) {
        elaborate_slice_store(e, into.buffer, stmt, slices);
        return;
    }
    right = elaborate_expr(e, stmt->value);
    indices = elaborate_indices(e, into.buffer, stmt->target);
    if (!indices)
        return;
    left = elaborate_load(e, into.buffer, indices, stmt->target->span);
    indices = arena_array(e->arena, struct ir_expr *, into.buffer->rank + 1);
    for (int i = 0; i < into.buffer->rank; i++)
        indices[i] = expr_copy(e, left.expr->access.indices[i]);
    right = elaborate_binary(e, stmt->operation, left, right, stmt->target, stmt->value, stmt->span);
    if (right.kind != VALUE_ERROR)
        elaborate_store(e, into.buffer, indices, right, stmt->value, stmt->span);
}
