/*
 * ir_build.c: constructors of the IR's nodes.
 *
 * Everything is allocated in the kernel's arena. Nothing is checked here (ir_verify.c does), but names
 * come out unique and constants as their dtype holds them.
 */
#include "ir_private.h"

#include <string.h>

struct ir_kernel *ir_kernel_new(struct arena *arena, const char *name)
{
    struct ir_kernel *kernel = arena_new(arena, struct ir_kernel);

    kernel->arena = arena;
    kernel->name = arena_copy(arena, name, strlen(name));
    kernel->names = ir_names_new(arena);
    return kernel;
}

struct ir_buffer *ir_buffer_new(struct ir_kernel *kernel, const char *name, enum ir_role role,
                                akg_dtype dtype, int rank)
{
    struct ir_buffer *buffer = arena_new(kernel->arena, struct ir_buffer);
    struct ir_name *entry = ir_names_fresh(kernel->names, name);

    entry->buffer = buffer;
    buffer->name = entry->name;
    buffer->role = role;
    buffer->dtype = dtype;
    buffer->rank = rank;
    buffer->index = kernel->buffers.count;
    buffer->shape = arena_array(kernel->arena, struct ir_expr *, rank);
    buffer->contiguous = role == IR_OUTPUT || role == IR_TEMPORARY;
    list_push(kernel->arena, &kernel->buffers, buffer);
    return buffer;
}

struct ir_kernel ir_kernel_beside(const struct ir_kernel *kernel, struct arena *arena)
{
    struct ir_kernel beside = *kernel;
    beside.arena = arena;
    beside.names = ir_names_new(arena);
    return beside;
}

struct ir_symbol *ir_symbol_new(struct ir_kernel *kernel, enum ir_symbol_kind kind, const char *name,
                                akg_dtype dtype)
{
    struct ir_symbol *symbol = arena_new(kernel->arena, struct ir_symbol);
    struct ir_name *entry = ir_names_fresh(kernel->names, name);

    entry->symbol = symbol;
    symbol->name = entry->name;
    symbol->kind = kind;
    symbol->dtype = dtype;
    if (kind == IR_SYMBOL_DIM) {
        symbol->index = symbol->number = kernel->dims.count;
        list_push(kernel->arena, &kernel->dims, symbol);
    } else if (kind == IR_SYMBOL_ATTRIBUTE) {
        symbol->index = kernel->attributes.count;
        list_push(kernel->arena, &kernel->attributes, symbol);
    }
    kernel->symbol_count++;
    return symbol;
}

static struct ir_expr *expr_new(struct ir_kernel *kernel, enum ir_expr_kind kind, akg_dtype dtype)
{
    struct ir_expr *expr = arena_new(kernel->arena, struct ir_expr);

    expr->kind = kind;
    expr->dtype = dtype;
    return expr;
}

struct ir_expr *ir_integer(struct ir_kernel *kernel, akg_dtype dtype, int64_t value)
{
    struct ir_expr *expr = expr_new(kernel, IR_INTEGER, dtype);

    expr->integer = dtype_wrap(dtype, value);
    return expr;
}

struct ir_expr *ir_real(struct ir_kernel *kernel, akg_dtype dtype, double value)
{
    struct ir_expr *expr = expr_new(kernel, IR_REAL, dtype);

    expr->real = dtype_to_double(dtype, dtype_from_double(dtype, value));
    return expr;
}

struct ir_expr *ir_symbol_use(struct ir_kernel *kernel, struct ir_symbol *symbol)
{
    struct ir_expr *expr = expr_new(kernel, IR_SYMBOL, symbol->dtype);

    expr->symbol = symbol;
    return expr;
}

struct ir_expr *ir_load(struct ir_kernel *kernel, struct ir_buffer *buffer, struct ir_expr **indices)
{
    struct ir_expr *expr = expr_new(kernel, IR_LOAD, buffer->dtype);

    expr->access.buffer = buffer;
    expr->access.indices = arena_array(kernel->arena, struct ir_expr *, buffer->rank);
    expr->access.checks = arena_array(kernel->arena, enum ir_check, buffer->rank);
    for (int k = 0; k < buffer->rank; k++)
        expr->access.indices[k] = indices[k];
    return expr;
}

struct ir_expr *ir_operation_node(struct ir_kernel *kernel, enum operation operation, akg_dtype dtype,
                                  struct ir_expr *const *operands)
{
    struct ir_expr *expr = expr_new(kernel, IR_OPERATION, dtype);

    expr->operation = operation;
    expr->count = operation_table[operation].arity;
    expr->operands = arena_array(kernel->arena, struct ir_expr *, expr->count);
    for (int k = 0; k < expr->count; k++)
        expr->operands[k] = operands[k];
    if (operands[0]->span.line && operands[expr->count - 1]->span.line)
        expr->span = span_join(operands[0]->span, operands[expr->count - 1]->span);
    return expr;
}

bool ir_is_positive(const struct ir_expr *expr)
{
    if (expr->kind == IR_INTEGER)
        return expr->integer > 0;
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->known.sign == IR_POSITIVE;
    if (expr->kind != IR_OPERATION || expr->operation != OP_MAX || !dtype_is_signed(expr->dtype))
        return false;
    for (int k = 0; k < 2; k++)
        if (expr->operands[k]->kind == IR_INTEGER && expr->operands[k]->integer > 0)
            return true;
    return false;
}

/* Whether a division whose divisor nobody has looked at could trap. */
static bool may_trap(enum operation operation, akg_dtype dtype, const struct ir_expr *divisor)
{
    if (!ir_can_divide_by_zero(operation, dtype) || ir_is_positive(divisor))
        return false;
    if (divisor->kind != IR_INTEGER)
        return true;
    return operation == OP_POW ? divisor->integer < 0 : divisor->integer == 0;
}

struct ir_expr *ir_operation(struct ir_kernel *kernel, enum operation operation, struct ir_expr *a,
                             struct ir_expr *b, struct ir_expr *c)
{
    struct ir_expr *operands[] = {a, b, c};
    struct ir_expr *expr = ir_fold(kernel, operation, operands);
    akg_dtype dtypes[3] = {AKG_BOOL, AKG_BOOL, AKG_BOOL};

    if (expr)
        return expr;
    for (int k = 0; k < operation_table[operation].arity; k++)
        dtypes[k] = operands[k]->dtype;
    expr = ir_operation_node(kernel, operation, ir_result_dtype(operation, dtypes), operands);
    expr->checked = b && may_trap(operation, dtypes[0], b);
    return expr;
}

struct ir_expr *ir_cast(struct ir_kernel *kernel, akg_dtype dtype, struct ir_expr *value)
{
    if (value->dtype == dtype)
        return value;
    if (value->kind == IR_INTEGER && ((value->dtype == AKG_INT64 && dtype == AKG_BOOL) ||
                                      (value->dtype == AKG_BOOL && dtype == AKG_INT64))) {
        struct ir_expr *constant = ir_integer(kernel, dtype, value->integer);
        constant->span = value->span;
        return constant;
    }
    return ir_operation_node(kernel, OP_CAST, dtype, &value);
}

struct ir_stmt *ir_stmt_new(struct ir_kernel *kernel, enum ir_stmt_kind kind, struct span span)
{
    struct ir_stmt *stmt = arena_new(kernel->arena, struct ir_stmt);

    stmt->kind = kind;
    stmt->span = span;
    return stmt;
}
