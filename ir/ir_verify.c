/*
 * ir_verify.c: what holds of every kernel between two passes.
 *
 * Consumes any kernel whose pointers are sound; changes nothing of it. Stops at the first rule
 * that is broken and says where, for whoever wrote the pass. What it needs to remember lives in an arena of
 * its own.
 */
#include "ir_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Deeper trees are a pass gone wild; walking them would exhaust the stack. */
#define DEPTH_LIMIT 5000

enum { NAME_UNSEEN, NAME_IN_SCOPE, NAME_OUT_OF_SCOPE };

struct verifier {
    const struct ir_kernel *kernel;
    struct text *complaint;
    struct arena *arena;
    struct ir_names *names;
    LIST(struct ir_name *) scope; /* declared by the body and visible now */
    struct span place;            /* of the statement or declaration looked at */
    int depth, loops;
    bool in_header; /* only dims and attributes have values */
};

static bool complain(struct verifier *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool complain(struct verifier *v, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    const char *message = arena_format_list(v->arena, format, list);
    va_end(list);
    text_format(v->complaint, "kernel '%s'", v->kernel->name ? v->kernel->name : "");
    if (v->place.line)
        text_format(v->complaint, ", %d:%d", v->place.line, v->place.column);
    text_format(v->complaint, ": %s", message);
    return false;
}

static const char *dtype_text(akg_dtype dtype)
{
    const char *name = akg_dtype_name(dtype);
    return name ? name : "no dtype";
}

static bool deeper(struct verifier *v)
{
    return ++v->depth <= DEPTH_LIMIT || complain(v, "nested too deeply (more than %d levels)", DEPTH_LIMIT);
}

/* ---- names and scopes --------------------------------------------------- */

static struct ir_name *name_new(struct verifier *v, const char *name)
{
    if (!name || ir_names_find(v->names, name)) {
        complain(v, name ? "the name '%s' is used twice" : "a name is missing", name);
        return NULL;
    }
    return ir_names_add(v->names, name);
}

static bool buffer_is_known(const struct verifier *v, const struct ir_buffer *buffer)
{
    return buffer && buffer->index >= 0 && buffer->index < v->kernel->buffers.count &&
           v->kernel->buffers.items[buffer->index] == buffer;
}

static bool declare(struct verifier *v, struct ir_symbol *symbol)
{
    struct ir_name *entry = symbol->name ? ir_names_find(v->names, symbol->name) : NULL;

    if (entry && entry->symbol == symbol)
        return complain(v, "'%s' is declared twice", symbol->name);
    entry = name_new(v, symbol->name);
    if (!entry)
        return false;
    entry->symbol = symbol;
    entry->state = NAME_IN_SCOPE;
    list_push(v->arena, &v->scope, entry);
    return true;
}

static void close_scope(struct verifier *v, int count)
{
    while (v->scope.count > count)
        v->scope.items[--v->scope.count]->state = NAME_OUT_OF_SCOPE;
}

static bool verify_in_scope(struct verifier *v, const struct ir_symbol *symbol)
{
    const struct ir_name *entry;

    if (!symbol || !symbol->name)
        return complain(v, "a symbol is missing");
    entry = ir_names_find(v->names, symbol->name);
    if (v->in_header && symbol->kind != IR_SYMBOL_DIM && symbol->kind != IR_SYMBOL_ATTRIBUTE)
        return complain(v, "'%s' is neither dim nor attribute, so it has no value before the body",
                        symbol->name);
    if (!entry || entry->symbol != symbol)
        return complain(v, "'%s' is used before it is declared", symbol->name);
    if (entry->state != NAME_IN_SCOPE)
        return complain(v, "'%s' is used outside its scope", symbol->name);
    return true;
}

/* ---- expressions -------------------------------------------------------- */

static bool verify_expr(struct verifier *v, const struct ir_expr *expr);

/* An expression of that dtype; `what` names it in the complaint. */
static bool verify_typed(struct verifier *v, const struct ir_expr *expr, akg_dtype dtype, const char *what)
{
    if (!expr)
        return complain(v, "%s is missing", what);
    if (!verify_expr(v, expr))
        return false;
    if (expr->dtype != dtype)
        return complain(v, "%s is %s, should be %s", what, dtype_text(expr->dtype), dtype_text(dtype));
    return true;
}

static bool verify_constant(struct verifier *v, const struct ir_expr *expr)
{
    if (expr->kind == IR_INTEGER) {
        if (dtype_is_float(expr->dtype))
            return complain(v, "an integer constant is %s", dtype_text(expr->dtype));
        if (dtype_wrap(expr->dtype, expr->integer) != expr->integer)
            return complain(v, "the constant %" PRId64 " does not fit %s", expr->integer,
                            dtype_text(expr->dtype));
        return true;
    }
    if (!dtype_is_float(expr->dtype))
        return complain(v, "a real constant is %s", dtype_text(expr->dtype));
    if (!isnan(expr->real) &&
        dtype_to_double(expr->dtype, dtype_from_double(expr->dtype, expr->real)) != expr->real)
        return complain(v, "the constant %.17g is not rounded to %s", expr->real, dtype_text(expr->dtype));
    return true;
}

static bool verify_buffer_use(struct verifier *v, const struct ir_buffer *buffer)
{
    if (!buffer_is_known(v, buffer))
        return complain(v, "an access is to no buffer of the kernel");
    const struct ir_name *entry = ir_names_find(v->names, buffer->name);
    if (v->in_header)
        return complain(v, "'%s' is read outside the body", buffer->name);
    if (buffer->role == IR_TEMPORARY && entry->state != NAME_IN_SCOPE)
        return complain(v, "temporary '%s' is used where it is not allocated", buffer->name);
    if (buffer->unused)
        return complain(v, "'%s' is marked unused, and is used", buffer->name);
    return true;
}

static bool verify_access(struct verifier *v, const struct ir_access *access)
{
    if (!verify_buffer_use(v, access->buffer))
        return false;
    if (access->buffer->rank && (!access->indices || !access->checks))
        return complain(v, "an access to '%s' has no indices", access->buffer->name);
    for (int k = 0; k < access->buffer->rank; k++) {
        if (access->checks[k] != IR_CHECK_ELEMENT && access->checks[k] != IR_CHECK_PROVED &&
            access->checks[k] != IR_CHECK_PRECONDITION)
            return complain(v, "index %d of '%s' has an unknown check", k, access->buffer->name);
        if (!verify_typed(v, access->indices[k], AKG_INT64, "an index"))
            return false;
    }
    return true;
}

static bool verify_checked(struct verifier *v, const struct ir_expr *expr)
{
    const struct ir_expr *divisor = expr->count == 2 ? expr->operands[1] : NULL;

    if (expr->checked && !ir_can_divide_by_zero(expr->operation, expr->operands[0]->dtype))
        return complain(v, "'%s' of %s is checked, and cannot divide by zero",
                        operation_table[expr->operation].text, dtype_text(expr->operands[0]->dtype));
    if (!expr->checked && divisor && expr->operation != OP_POW && divisor->kind == IR_INTEGER &&
        divisor->integer == 0 && ir_can_divide_by_zero(expr->operation, divisor->dtype))
        return complain(v, "'%s' by the constant 0 is not checked", operation_table[expr->operation].text);
    return true;
}

static bool verify_operation(struct verifier *v, const struct ir_expr *expr)
{
    akg_dtype dtypes[3] = {AKG_BOOL, AKG_BOOL, AKG_BOOL};

    if ((unsigned)expr->operation >= OPERATION_COUNT)
        return complain(v, "operation %d does not exist", (int)expr->operation);
    const struct operation_row *row = &operation_table[expr->operation];
    if (expr->count != row->arity)
        return complain(v, "'%s' has %d operands, should have %d", row->text, expr->count, row->arity);
    for (int k = 0; k < expr->count; k++) {
        if (!expr->operands[k])
            return complain(v, "operand %d of '%s' is missing", k, row->text);
        if (!verify_expr(v, expr->operands[k]))
            return false;
        dtypes[k] = expr->operands[k]->dtype;
    }
    if (!ir_operands_fit(expr->operation, dtypes))
        return complain(v, "'%s' does not take %s%s%s", row->text, dtype_text(dtypes[0]),
                        row->arity > 1 ? ", " : "", row->arity > 1 ? dtype_text(dtypes[1]) : "");
    if (row->rule != RULE_CONVERT && expr->dtype != ir_result_dtype(expr->operation, dtypes))
        return complain(v, "'%s' gives %s, is marked %s", row->text,
                        dtype_text(ir_result_dtype(expr->operation, dtypes)), dtype_text(expr->dtype));
    return verify_checked(v, expr);
}

static bool verify_expr_kind(struct verifier *v, const struct ir_expr *expr)
{
    switch (expr->kind) {
    case IR_INTEGER:
    case IR_REAL:
        return verify_constant(v, expr);
    case IR_SYMBOL:
        if (!verify_in_scope(v, expr->symbol))
            return false;
        return expr->dtype == expr->symbol->dtype ||
               complain(v, "a use of '%s' is %s, the symbol %s", expr->symbol->name, dtype_text(expr->dtype),
                        dtype_text(expr->symbol->dtype));
    case IR_LOAD:
        if (!verify_access(v, &expr->access))
            return false;
        return expr->dtype == expr->access.buffer->dtype ||
               complain(v, "a load of '%s' is %s, the buffer %s", expr->access.buffer->name,
                        dtype_text(expr->dtype), dtype_text(expr->access.buffer->dtype));
    case IR_OPERATION:
        return verify_operation(v, expr);
    }
    return complain(v, "expression kind %d does not exist", (int)expr->kind);
}

static bool verify_expr(struct verifier *v, const struct ir_expr *expr)
{
    if ((unsigned)expr->dtype >= AKG_DTYPE_COUNT)
        return complain(v, "an expression has no dtype");
    if (!deeper(v) || !verify_expr_kind(v, expr))
        return false;
    v->depth--;
    return true;
}

/* ---- statements --------------------------------------------------------- */

static bool verify_block(struct verifier *v, const struct ir_stmt *stmt);

static bool verify_loop_body(struct verifier *v, const struct ir_stmt *body)
{
    v->loops++;
    if (!verify_block(v, body))
        return false;
    v->loops--;
    return true;
}

static bool verify_reductions(struct verifier *v, const struct ir_stmt *stmt)
{
    for (int k = 0; k < stmt->reductions.count; k++) {
        const struct ir_reduction *reduction = &stmt->reductions.items[k];
        bool is_choice = reduction->kind == IR_REDUCTION_ARGMAX || reduction->kind == IR_REDUCTION_ARGMIN;
        if ((unsigned)reduction->kind >= IR_REDUCTION_COUNT)
            return complain(v, "reduction kind %d does not exist", (int)reduction->kind);
        if (reduction->place && !is_choice)
            return complain(v, "a reduction that chooses nothing has a place");
        if (!verify_in_scope(v, reduction->symbol) ||
            (reduction->place && !verify_in_scope(v, reduction->place)))
            return false;
        if (reduction->symbol->kind != IR_SYMBOL_VARIABLE ||
            (reduction->place && reduction->place->kind != IR_SYMBOL_VARIABLE))
            return complain(v, "a reduction is of '%s', which is no variable", reduction->symbol->name);
    }
    return true;
}

static bool verify_for(struct verifier *v, const struct ir_stmt *stmt)
{
    int scope = v->scope.count;

    if (!verify_typed(v, stmt->low, AKG_INT64, "a loop's low bound") ||
        !verify_typed(v, stmt->high, AKG_INT64, "a loop's high bound"))
        return false;
    if (stmt->step == 0)
        return complain(v, "a loop's step is 0");
    if (stmt->step == INT64_MIN)
        return complain(v, "a loop's step is the least int64");
    if (ir_block_changes(stmt->body, stmt->low) || ir_block_changes(stmt->body, stmt->high))
        return complain(v, "a loop changes what its own bounds are made of");
    if (stmt->hint >= IR_HINT_UNROLL * 2)
        return complain(v, "a loop has an unknown hint");
    if (!stmt->symbol || stmt->symbol->kind != IR_SYMBOL_LOOP || stmt->symbol->dtype != AKG_INT64)
        return complain(v, "a loop's symbol is no int64 loop variable");
    if (!verify_reductions(v, stmt))
        return false;
    if (!declare(v, stmt->symbol) || !verify_loop_body(v, stmt->body))
        return false;
    close_scope(v, scope);
    return true;
}

static bool verify_store(struct verifier *v, const struct ir_stmt *stmt)
{
    if (!verify_access(v, &stmt->access))
        return false;
    if (stmt->access.buffer->role == IR_INPUT)
        return complain(v, "a store to the input '%s'", stmt->access.buffer->name);
    return verify_typed(v, stmt->value, stmt->access.buffer->dtype, "a stored value");
}

/* The value is looked at first: it cannot use what it defines. */
static bool verify_declaration(struct verifier *v, const struct ir_stmt *stmt)
{
    const struct ir_symbol *symbol = stmt->symbol;
    bool is_let = stmt->kind == IR_LET;

    if (!symbol || symbol->kind != (is_let ? IR_SYMBOL_LET : IR_SYMBOL_VARIABLE))
        return complain(v, "a %s's symbol is none", is_let ? "let" : "var");
    if (!verify_typed(v, stmt->value, symbol->dtype, "a scalar's value"))
        return false;
    if (is_let && symbol->value && !ir_expr_equal(symbol->value, stmt->value))
        return complain(v, "the value noted with '%s' is not that of its let", symbol->name);
    return declare(v, stmt->symbol);
}

static bool verify_assign(struct verifier *v, const struct ir_stmt *stmt)
{
    if (!verify_in_scope(v, stmt->symbol))
        return false;
    if (stmt->symbol->kind != IR_SYMBOL_VARIABLE)
        return complain(v, "'%s' is assigned and no variable", stmt->symbol->name);
    return verify_typed(v, stmt->value, stmt->symbol->dtype, "an assigned value");
}

static bool verify_allocate(struct verifier *v, const struct ir_stmt *stmt)
{
    const struct ir_buffer *buffer = stmt->access.buffer;

    if (!buffer_is_known(v, buffer) || buffer->role != IR_TEMPORARY)
        return complain(v, "what is allocated is no temporary");
    if (buffer->unused)
        return complain(v, "'%s' is marked unused, and is allocated", buffer->name);
    struct ir_name *entry = ir_names_find(v->names, buffer->name);
    if (entry->state == NAME_IN_SCOPE)
        return complain(v, "temporary '%s' is allocated while it lives", buffer->name);
    entry->state = NAME_IN_SCOPE;
    list_push(v->arena, &v->scope, entry);
    return true;
}

static bool verify_stmt(struct verifier *v, const struct ir_stmt *stmt)
{
    switch (stmt->kind) {
    case IR_FOR:
        return verify_for(v, stmt);
    case IR_WHILE:
        return verify_typed(v, stmt->value, AKG_BOOL, "a loop's condition") &&
               verify_loop_body(v, stmt->body);
    case IR_IF:
        return verify_typed(v, stmt->value, AKG_BOOL, "a condition") && verify_block(v, stmt->body) &&
               verify_block(v, stmt->otherwise);
    case IR_STORE:
        return verify_store(v, stmt);
    case IR_LET:
    case IR_VARIABLE:
        return verify_declaration(v, stmt);
    case IR_ASSIGN:
        return verify_assign(v, stmt);
    case IR_ALLOCATE:
        return verify_allocate(v, stmt);
    case IR_BREAK:
    case IR_CONTINUE:
        return v->loops > 0 ||
               complain(v, "a %s outside a loop", stmt->kind == IR_BREAK ? "break" : "continue");
    case IR_ASSERT:
        return verify_typed(v, stmt->value, AKG_BOOL, "an assert's condition");
    }
    return complain(v, "statement kind %d does not exist", (int)stmt->kind);
}

static bool verify_block(struct verifier *v, const struct ir_stmt *stmt)
{
    int scope = v->scope.count;

    if (!deeper(v))
        return false;
    for (; stmt; stmt = stmt->next) {
        v->place = stmt->span;
        if (!verify_stmt(v, stmt))
            return false;
    }
    close_scope(v, scope);
    v->depth--;
    return true;
}

/* ---- kernel ------------------------------------------------------------- */

/* Names first, since shapes may use the dims of any input. */
static bool verify_symbols(struct verifier *v, struct ir_symbol *const *symbols, int count,
                           enum ir_symbol_kind kind)
{
    for (int k = 0; k < count; k++) {
        struct ir_symbol *symbol = symbols[k];
        if (!symbol)
            return complain(v, "a symbol is missing");
        v->place = symbol->span;
        struct ir_name *entry = name_new(v, symbol->name);
        if (!entry)
            return false;
        entry->symbol = symbol;
        entry->state = NAME_IN_SCOPE;
        if (symbol->kind != kind || symbol->index != k)
            return complain(v, "'%s' is not number %d of its kind", symbol->name, k);
        if (symbol->dtype != AKG_INT64 &&
            (kind == IR_SYMBOL_DIM || (symbol->dtype != AKG_FLOAT64 && symbol->dtype != AKG_BOOL)))
            return complain(v, "'%s' is %s", symbol->name, dtype_text(symbol->dtype));
    }
    return true;
}

static bool verify_dim(struct verifier *v, const struct ir_symbol *dim)
{
    const struct ir_buffer *buffer = dim->buffer;

    v->place = dim->span;
    if (!buffer_is_known(v, buffer) || !ir_buffer_is_input(buffer))
        return complain(v, "dim '%s' is of no input", dim->name);
    if (dim->axis < 0 || dim->axis >= buffer->rank)
        return complain(v, "dim '%s' is of axis %d of '%s', which has %d", dim->name, dim->axis, buffer->name,
                        buffer->rank);
    const struct ir_expr *extent = ir_buffer_extents(buffer)[dim->axis];
    if (extent->kind != IR_SYMBOL || extent->symbol != dim)
        return complain(v, "axis %d of '%s' is not the dim '%s' that is read from it", dim->axis,
                        buffer->name, dim->name);
    return true;
}

static bool verify_order(struct verifier *v, const struct ir_buffer *buffer)
{
    unsigned met = 0;

    if (!ir_buffer_is_input(buffer) && (buffer->order || buffer->extents))
        return complain(v, "'%s' is no input, and has an order, or extents of its own", buffer->name);
    if (!buffer->order)
        return true;
    for (int k = 0; k < buffer->rank; k++)
        met |= 1u << (buffer->order[k] & ~IR_AXIS_REPEATED);
    if (met != (1u << buffer->rank) - 1)
        return complain(v, "the order of '%s' does not have each axis once", buffer->name);
    return !buffer->contiguous || buffer->extents ||
           complain(v, "'%s' is contiguous by an order that nothing made use of", buffer->name);
}

static bool verify_buffer(struct verifier *v, const struct ir_buffer *buffer)
{
    v->place = buffer->span;
    if ((unsigned)buffer->role > IR_TEMPORARY || (unsigned)buffer->dtype >= AKG_DTYPE_COUNT)
        return complain(v, "'%s' has no role or no dtype", buffer->name);
    if (buffer->rank < 0 || buffer->rank > AKG_MAX_RANK)
        return complain(v, "'%s' has rank %d", buffer->name, buffer->rank);
    if (buffer->clear && ir_buffer_is_input(buffer))
        return complain(v, "the input '%s' is to be cleared", buffer->name);
    if (buffer->unused && buffer->role != IR_TEMPORARY)
        return complain(v, "'%s' is marked unused, and is no temporary", buffer->name);
    if (buffer->role == IR_TEMPORARY && !buffer->contiguous)
        return complain(v, "the temporary '%s' has strides", buffer->name);
    for (int k = 0; k < buffer->rank; k++)
        if (!verify_typed(v, buffer->shape[k], AKG_INT64, "an extent") ||
            (buffer->extents && !verify_typed(v, buffer->extents[k], AKG_INT64, "an extent")))
            return false;
    return verify_order(v, buffer);
}

static bool verify_buffers(struct verifier *v)
{
    for (int k = 0; k < v->kernel->buffers.count; k++) {
        struct ir_buffer *buffer = v->kernel->buffers.items[k];
        if (!buffer)
            return complain(v, "a buffer is missing");
        struct ir_name *entry = name_new(v, buffer->name);
        if (!entry)
            return false;
        entry->buffer = buffer;
        if (buffer->index != k)
            return complain(v, "'%s' is not buffer number %d", buffer->name, buffer->index);
    }
    for (int k = 0; k < v->kernel->buffers.count; k++)
        if (!verify_buffer(v, v->kernel->buffers.items[k]))
            return false;
    for (int k = 0; k < v->kernel->dims.count; k++)
        if (!verify_dim(v, v->kernel->dims.items[k]))
            return false;
    return true;
}

static bool verify_parameter(struct verifier *v, const struct ir_parameter *parameter)
{
    const struct ir_symbol *attribute = parameter->attribute;
    const struct ir_name *entry;

    if (!parameter->name)
        return complain(v, "a parameter has no name");
    if (parameter->buffer && attribute)
        return complain(v, "parameter '%s' is tensor and attribute", parameter->name);
    if (parameter->buffer &&
        (!buffer_is_known(v, parameter->buffer) || !ir_buffer_is_input(parameter->buffer)))
        return complain(v, "parameter '%s' is no input", parameter->name);
    if (!attribute)
        return true;
    entry = ir_names_find(v->names, attribute->name);
    return (entry && entry->symbol == attribute && attribute->kind == IR_SYMBOL_ATTRIBUTE) ||
           complain(v, "parameter '%s' is no attribute of the kernel", parameter->name);
}

/* A kernel built for a test may do without parameters or results; one that has some has all. */
static bool verify_all_bound(struct verifier *v)
{
    const struct ir_kernel *kernel = v->kernel;

    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        int parameters = 0, results = 0;
        for (int n = 0; n < kernel->parameters.count; n++)
            parameters += kernel->parameters.items[n].buffer == buffer;
        for (int n = 0; n < kernel->results.count; n++)
            results += kernel->results.items[n].buffer == buffer;
        if (ir_buffer_is_input(buffer) && kernel->parameters.count && parameters != 1)
            return complain(v, "input '%s' is bound by %d parameters", buffer->name, parameters);
        if (buffer->role == IR_OUTPUT && kernel->results.count && !results)
            return complain(v, "output '%s' is no result", buffer->name);
    }
    return true;
}

static bool verify_interface(struct verifier *v)
{
    for (int k = 0; k < v->kernel->parameters.count; k++)
        if (!verify_parameter(v, &v->kernel->parameters.items[k]))
            return false;
    for (int k = 0; k < v->kernel->results.count; k++) {
        const struct ir_result *result = &v->kernel->results.items[k];
        if (!result->name || !buffer_is_known(v, result->buffer))
            return complain(v, "a result is no buffer of the kernel");
        if (result->buffer->role != IR_OUTPUT && result->buffer->role != IR_INOUT)
            return complain(v, "result '%s' is neither output nor written in place", result->name);
    }
    return verify_all_bound(v);
}

static bool verify_precondition(struct verifier *v, const struct ir_precondition *precondition)
{
    bool is_bounds = precondition->kind == IR_PRECONDITION_BOUNDS;

    v->place = precondition->span;
    if ((unsigned)precondition->kind > IR_PRECONDITION_ASSERT)
        return complain(v, "precondition kind %d does not exist", (int)precondition->kind);
    if (precondition->guard && !verify_typed(v, precondition->guard, AKG_BOOL, "a precondition's guard"))
        return false;
    if (!verify_typed(v, precondition->condition, AKG_BOOL, "a precondition"))
        return false;
    if ((is_bounds || precondition->index) &&
        !verify_typed(v, precondition->index, AKG_INT64, "a precondition's index"))
        return false;
    if ((is_bounds || precondition->extent) &&
        !verify_typed(v, precondition->extent, AKG_INT64, "a precondition's extent"))
        return false;
    if (!is_bounds && !precondition->buffer)
        return true;
    if (!buffer_is_known(v, precondition->buffer))
        return complain(v, "a precondition is on no buffer of the kernel");
    return (precondition->axis >= 0 && precondition->axis < precondition->buffer->rank) ||
           complain(v, "a precondition is on axis %d of '%s'", precondition->axis,
                    precondition->buffer->name);
}

static bool verify_header(struct verifier *v)
{
    const struct ir_kernel *kernel = v->kernel;

    if (!kernel->name)
        return complain(v, "it has no name");
    v->in_header = true;
    if (!verify_symbols(v, kernel->dims.items, kernel->dims.count, IR_SYMBOL_DIM) ||
        !verify_symbols(v, kernel->attributes.items, kernel->attributes.count, IR_SYMBOL_ATTRIBUTE) ||
        !verify_buffers(v) || !verify_interface(v))
        return false;
    for (int k = 0; k < kernel->preconditions.count; k++)
        if (!verify_precondition(v, &kernel->preconditions.items[k]))
            return false;
    v->in_header = false;
    return true;
}

static bool verify_with(struct arena *arena, jmp_buf *escape, const struct ir_kernel *kernel,
                        struct text *complaint)
{
    if (setjmp(*escape)) {
        complaint->failed = true;
        return false;
    }
    struct verifier v = {
        .kernel = kernel, .complaint = complaint, .arena = arena, .names = ir_names_new(arena)};
    return verify_header(&v) && verify_block(&v, kernel->body);
}

bool ir_verify(const struct ir_kernel *kernel, struct text *complaint)
{
    struct arena arena;
    jmp_buf escape;

    arena_init(&arena, &escape);
    bool holds = verify_with(&arena, &escape, kernel, complaint);
    arena_free(&arena);
    return holds;
}
