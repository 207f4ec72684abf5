/*
 * call_message.c: why a call was refused or stopped, in the words of the program.
 */
#include <stdio.h>

#include "call.h"

#include "../jit/scalar.h"

akg_diagnostics *call_list(struct call_messages *messages)
{
    if (!messages->list) {
        messages->list =
            diagnostics_create(messages->source->name, messages->source->text, messages->source->length);
        if (messages->list)
            diagnostics_silence_warnings(messages->list); /* jit_compile told them, those that are wanted */
    }
    return messages->list;
}

static void message_append_shape(struct text *text, const int64_t *shape, int rank)
{
    text_char(text, '(');
    for (int i = 0; i < rank; i++)
        text_format(text, i ? ", %lld" : "%lld", (long long)shape[i]);
    text_string(text, rank == 1 ? ",)" : ")");
}

static bool message_evaluate(const struct ir_expr *expr, const int64_t *dims, const union jit_scalar *scalars,
                             int64_t *value)
{
    union dtype_value result;
    if (!expr || !scalar_evaluate(expr, dims, scalars, &result))
        return false;
    *value = result.i;
    return true;
}

void call_refuse_shape(akg_diagnostics *diagnostics, const struct ir_buffer *buffer, const akg_tensor *tensor,
                       const int64_t *dims, const union jit_scalar *scalars)
{
    int64_t needed[AKG_MAX_RANK];
    struct text is, must;

    text_init(&is);
    text_init(&must);
    for (int k = 0; k < buffer->rank; k++)
        if (!message_evaluate(ir_buffer_extents(buffer)[k], dims, scalars, &needed[k]))
            needed[k] = -1;
    message_append_shape(&is, tensor_shape(tensor), tensor->rank);
    message_append_shape(&must, needed, buffer->rank);
    diagnostic_add(diagnostics, MSG_CALL_SHAPE, buffer->span, buffer->name, is.data ? is.data : "?",
                   must.data ? must.data : "?");
    text_free(&is);
    text_free(&must);
}

void call_refuse_size(akg_diagnostics *diagnostics, const struct ir_buffer *buffer, const int64_t *shape)
{
    struct diagnostic_entry *entry = diagnostic_add(diagnostics, MSG_CALL_SIZE, buffer->span, buffer->name);
    struct text is;

    text_init(&is);
    message_append_shape(&is, shape, buffer->rank);
    diagnostic_note(entry, "note: %s is more than memory can hold", is.data ? is.data : "its shape");
    text_free(&is);
}

void call_refuse_broadcast(const struct call_binding *binding, int parameter, int rank, const int64_t *shape,
                           const akg_tensor *tensor, akg_diagnostics *diagnostics)
{
    const struct ast_parameter *row = &binding->kernel->function->parameters[parameter];
    struct text is, others;

    text_init(&is);
    text_init(&others);
    message_append_shape(&is, tensor_shape(tensor), tensor->rank);
    message_append_shape(&others, shape, rank);
    diagnostic_add(diagnostics, MSG_CALL_BROADCAST, row->span, row->name, is.data ? is.data : "?",
                   others.data ? others.data : "?");
    text_free(&is);
    text_free(&others);
}

/* Whether some divisor of integers in an expression is 0. */
struct message_divisor {
    const int64_t *dims;
    const union jit_scalar *scalars;
    bool is_zero;
};

static bool message_divisor_visit(struct ir_expr *expr, void *context)
{
    struct message_divisor *divisor = context;
    int64_t value;

    if (expr->kind == IR_OPERATION && expr->count == 2 &&
        ir_can_divide_by_zero(expr->operation, expr->operands[0]->dtype) && expr->operation != OP_POW &&
        message_evaluate(expr->operands[1], divisor->dims, divisor->scalars, &value))
        divisor->is_zero |= value == 0;
    return true;
}

/* "M = 3, K = 2": the dims and attributes that an expression hangs on. */
struct message_symbols {
    struct text *text;
    const int64_t *dims;
    const union jit_scalar *scalars;
    const struct ir_symbol *seen[16];
    int count;
};

static bool message_symbol_visit(struct ir_expr *expr, void *context)
{
    struct message_symbols *symbols = context;
    const struct ir_symbol *symbol = expr->kind == IR_SYMBOL ? expr->symbol : NULL;

    if (!symbol || (symbol->kind != IR_SYMBOL_DIM && symbol->kind != IR_SYMBOL_ATTRIBUTE) ||
        symbols->count == 16)
        return true;
    for (int i = 0; i < symbols->count; i++)
        if (symbols->seen[i] == symbol)
            return true;
    if (symbols->count)
        text_string(symbols->text, ", ");
    if (symbol->kind == IR_SYMBOL_DIM)
        text_format(symbols->text, "%s.shape[%d] = %lld", symbol->buffer->name, symbol->axis,
                    (long long)symbols->dims[symbol->index]);
    else if (symbol->dtype == AKG_FLOAT64)
        text_format(symbols->text, "%s = %g", symbol->name, symbols->scalars[symbol->index].d);
    else
        text_format(symbols->text, "%s = %lld", symbol->name, (long long)symbols->scalars[symbol->index].i);
    symbols->seen[symbols->count++] = symbol;
    return true;
}

/* An axis whose extent is compiled in, as that of one element may be, is no symbol. */
static void message_append_fixed(struct text *text, const struct ir_precondition *precondition)
{
    const struct ir_buffer *buffer = precondition->buffer;

    if (buffer && (buffer->role == IR_INPUT || buffer->role == IR_INOUT) && precondition->index &&
        ir_buffer_extents(buffer)[precondition->axis]->kind == IR_INTEGER)
        text_format(text, "%s%s.shape[%d] = %lld", text->length ? ", " : "", buffer->name, precondition->axis,
                    (long long)ir_buffer_extents(buffer)[precondition->axis]->integer);
}

/* The extent of an axis that no tensor can have. */
void call_refuse_extent(akg_diagnostics *diagnostics, const struct ir_buffer *buffer, int axis,
                        const int64_t *dims, const union jit_scalar *scalars)
{
    struct diagnostic_entry *entry = diagnostic_add(diagnostics, MSG_CALL_SIZE, buffer->span, buffer->name);
    struct message_divisor divisor = {.dims = dims, .scalars = scalars};
    struct text text;
    struct message_symbols symbols = {.text = &text, .dims = dims, .scalars = scalars};
    int64_t extent;

    text_init(&text);
    ir_expr_walk(buffer->shape[axis], message_divisor_visit, &divisor);
    if (message_evaluate(buffer->shape[axis], dims, scalars, &extent) && extent < 0)
        diagnostic_note(entry, "note: axis %d would have %lld elements", axis, (long long)extent);
    else if (divisor.is_zero)
        diagnostic_note(entry, "note: a divisor in the extent of axis %d is 0", axis);
    else
        diagnostic_note(entry, "note: the extent of axis %d does not fit in an int64", axis);
    ir_expr_walk(buffer->shape[axis], message_symbol_visit, &symbols);
    if (text.data && text.length)
        diagnostic_note(entry, "note: %s", text.data);
    text_free(&text);
}

static void message_note_symbols(struct diagnostic_entry *entry, const struct ir_precondition *precondition,
                                 const int64_t *dims, const union jit_scalar *scalars)
{
    struct text text;
    struct message_symbols symbols = {.text = &text, .dims = dims, .scalars = scalars};

    text_init(&text);
    ir_expr_walk(precondition->condition, message_symbol_visit, &symbols);
    message_append_fixed(&text, precondition);
    if (text.data && text.length)
        diagnostic_note(entry, "note: %s", text.data);
    text_free(&text);
}

/* x[-4] stands for x[x.shape[0] - 4]: the 4, of such an index that is negative for this call; else 0. */
static int64_t message_before_end(const struct ir_precondition *precondition, int64_t index)
{
    const struct ir_expr *expr = precondition->index;

    if (index < 0 && expr->kind == IR_OPERATION && expr->operation == OP_SUB &&
        expr->operands[1]->kind == IR_INTEGER && ir_expr_equal(expr->operands[0], precondition->extent))
        return expr->operands[1]->integer;
    return 0;
}

static void message_note_index(struct diagnostic_entry *entry, const struct ir_precondition *precondition,
                               int64_t index, int64_t extent)
{
    int64_t before_end = message_before_end(precondition, index);
    char place[48] = "";

    if (before_end)
        snprintf(place, sizeof place, ", %lld before the end,", (long long)before_end);
    diagnostic_note(entry, "note: index %lld%s would be reached on axis %d, which has %lld element%s",
                    (long long)index, place, precondition->axis, (long long)extent, extent == 1 ? "" : "s");
}

/* Proofs are of numbers that do not wrap: where one would, nothing is known of what the kernel does. */
static void message_refuse_overflow(akg_diagnostics *diagnostics, const struct ir_precondition *precondition,
                                    const int64_t *dims, const union jit_scalar *scalars)
{
    struct diagnostic_entry *entry =
        diagnostic_add(diagnostics, MSG_CALL_OVERFLOW, precondition->span,
                       precondition->buffer ? precondition->buffer->name : "a tensor");

    diagnostic_note(entry, "note: a number on the way does not fit in an int64, or a divisor is 0");
    message_note_symbols(entry, precondition, dims, scalars);
    diagnostic_note(entry, "help: nothing was computed; hand in smaller numbers");
}

void call_refuse_precondition(akg_diagnostics *diagnostics, const struct ir_precondition *precondition,
                              const int64_t *dims, const union jit_scalar *scalars)
{
    struct diagnostic_entry *entry;
    int64_t index, extent;

    if (precondition->kind == IR_PRECONDITION_ASSERT) {
        entry = diagnostic_add(diagnostics, MSG_CALL_ASSERT, precondition->span, precondition->message);
        message_note_symbols(entry, precondition, dims, scalars);
        return;
    }
    if (!message_evaluate(precondition->condition, dims, scalars, &index) ||
        (precondition->index && !message_evaluate(precondition->index, dims, scalars, &index))) {
        message_refuse_overflow(diagnostics, precondition, dims, scalars);
        return;
    }
    entry = diagnostic_add(diagnostics, MSG_CALL_BOUNDS, precondition->span,
                           precondition->buffer ? precondition->buffer->name : "a tensor");
    if (message_evaluate(precondition->index, dims, scalars, &index) &&
        message_evaluate(precondition->extent, dims, scalars, &extent))
        message_note_index(entry, precondition, index, extent);
    message_note_symbols(entry, precondition, dims, scalars);
    diagnostic_note(entry, "help: nothing was computed; %s",
                    index < 0 && !message_before_end(precondition, index)
                        ? "test the index before, or begin the loop later"
                        : "hand in tensors whose shapes agree");
}

static void message_note_loops(struct diagnostic_entry *entry, const struct jit_site *site,
                               const struct jit_trap *trap)
{
    struct text text;

    text_init(&text);
    for (int i = 0; i < site->loop_count; i++) {
        const struct ir_symbol *loop = site->loops[i];
        text_format(&text, "%s%s = %lld", i ? ", " : "", loop->label ? loop->label : loop->name,
                    (long long)trap->loops[i]);
    }
    if (text.data && text.length)
        diagnostic_note(entry, "note: in the iteration %s", text.data);
    text_free(&text);
}

void call_refuse_results(akg_diagnostics *diagnostics, const struct akg_kernel *kernel, int count)
{
    char returned[24], expected[24];
    struct diagnostic_entry *entry;

    snprintf(returned, sizeof returned, "%d tensor%s", count, count == 1 ? "" : "s");
    snprintf(expected, sizeof expected, "%zu", akg_kernel_output_count(kernel));
    entry = diagnostic_add(diagnostics, MSG_CALL_RESULTS, kernel->function->span, kernel->function->name,
                           returned, expected);
    diagnostic_note(entry,
                    "note: a caller has room for what a return statement lists, or the defaults of the "
                    "attributes give");
    diagnostic_note(entry,
                    "help: list each tensor in a return statement, and None for one that is not there");
}

void call_refuse_trap(akg_diagnostics *diagnostics, const struct jit_instance *instance,
                      const struct jit_trap *trap)
{
    const struct jit_site *site;
    struct diagnostic_entry *entry = NULL;
    char index[32], axis[32], extent[40];

    if (trap->site < 1 || trap->site > instance->sites.rows.count) {
        diagnostic_add(diagnostics, MSG_MEMORY, (struct span){0});
        return;
    }
    site = &instance->sites.rows.items[trap->site - 1];
    switch (site->kind) {
    case JIT_SITE_INDEX:
        if (site->wide >> trap->axis & 1)
            snprintf(index, sizeof index, "%llu", (unsigned long long)trap->index);
        else
            snprintf(index, sizeof index, "%lld", (long long)trap->index);
        snprintf(axis, sizeof axis, "%lld", (long long)trap->axis);
        snprintf(extent, sizeof extent, "%lld element%s", (long long)trap->extent,
                 trap->extent == 1 ? "" : "s");
        entry =
            diagnostic_add(diagnostics, MSG_CALL_INDEX, site->span, index, axis, site->buffer->name, extent);
        break;
    case JIT_SITE_DIVISION:
        entry = diagnostic_add(diagnostics, MSG_CALL_DIVISION, site->span);
        break;
    case JIT_SITE_ASSERT:
        entry = diagnostic_add(diagnostics, MSG_CALL_ASSERT, site->span, site->message);
        break;
    }
    message_note_loops(entry, site, trap);
}
