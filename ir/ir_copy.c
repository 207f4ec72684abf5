/*
 * ir_copy.c: copies of statements, and of kernels for extents that are known.
 *
 * A copy declares symbols of its own, which the notes of the originals stand for while it is made; all notes
 * of what is copied are NULL before and after. The copy of a kernel shares nothing with it that a pass
 * changes.
 */
#include "ir_private.h"

/* ---- statements ------------------------------------------------------------------------------------- */

static void copy_access(struct ir_kernel *kernel, struct ir_access *to, const struct ir_access *from)
{
    int rank = from->buffer->rank;

    *to = *from;
    to->indices = arena_array(kernel->arena, struct ir_expr *, rank);
    to->checks = arena_array(kernel->arena, enum ir_check, rank);
    for (int k = 0; k < rank; k++) {
        to->indices[k] = ir_expr_substitute(kernel, from->indices[k]);
        to->checks[k] = from->checks[k];
    }
}

static struct ir_expr *copy_operand(struct ir_kernel *kernel, const struct ir_expr *expr)
{
    return expr ? ir_expr_substitute(kernel, expr) : NULL;
}

/* The symbol that stands for it in the copy; itself where it is declared outside. */
static struct ir_symbol *copied(struct ir_symbol *symbol)
{
    return symbol && symbol->note ? ((struct ir_expr *)symbol->note)->symbol : symbol;
}

static bool declares(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE;
}

static struct ir_symbol *copy_symbol(struct ir_kernel *kernel, struct ir_symbol *symbol)
{
    struct ir_symbol *copy = ir_symbol_new(kernel, symbol->kind, symbol->name, symbol->dtype);

    copy->span = symbol->span;
    copy->label = symbol->label ? symbol->label : symbol->name;
    copy->known = symbol->known;
    copy->weight = symbol->weight;
    symbol->note = ir_symbol_use(kernel, copy);
    return copy;
}

static struct ir_stmt *copy_block(struct ir_kernel *kernel, const struct ir_stmt *block);

static struct ir_stmt *copy_stmt(struct ir_kernel *kernel, const struct ir_stmt *stmt)
{
    struct ir_stmt *copy = ir_stmt_new(kernel, stmt->kind, stmt->span);

    *copy = *stmt;
    copy->next = NULL;
    copy->note = NULL;
    copy->low = copy_operand(kernel, stmt->low);
    copy->high = copy_operand(kernel, stmt->high);
    copy->value = copy_operand(kernel, stmt->value);
    if (stmt->kind == IR_STORE)
        copy_access(kernel, &copy->access, &stmt->access);
    if (declares(stmt)) {
        copy->symbol = copy_symbol(kernel, stmt->symbol);
        copy->symbol->value = stmt->kind == IR_LET ? copy->value : NULL;
    } else {
        copy->symbol = copied(stmt->symbol);
    }
    copy->reductions.items = NULL;
    copy->reductions.count = copy->reductions.capacity = 0;
    for (int k = 0; k < stmt->reductions.count; k++) {
        struct ir_reduction reduction = stmt->reductions.items[k];
        reduction.symbol = copied(reduction.symbol);
        reduction.place = copied(reduction.place);
        list_push(kernel->arena, &copy->reductions, reduction);
    }
    copy->body = copy_block(kernel, stmt->body);
    copy->otherwise = copy_block(kernel, stmt->otherwise);
    return copy;
}

static struct ir_stmt *copy_block(struct ir_kernel *kernel, const struct ir_stmt *block)
{
    struct ir_stmt *first = NULL, **end = &first;

    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next, end = &(*end)->next)
        *end = copy_stmt(kernel, stmt);
    return first;
}

struct ir_stmt *ir_block_copy(struct ir_kernel *kernel, const struct ir_stmt *block)
{
    struct ir_stmt *copy = copy_block(kernel, block);

    ir_block_note_declared((struct ir_stmt *)block, NULL);
    return copy;
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

static struct ir_expr **copy_extents(struct ir_kernel *kernel, struct ir_expr *const *extents, int rank)
{
    struct ir_expr **copies = arena_array(kernel->arena, struct ir_expr *, rank);

    for (int k = 0; k < rank; k++)
        copies[k] = ir_expr_substitute(kernel, extents[k]);
    return copies;
}

static struct ir_buffer *copy_buffer(struct ir_kernel *kernel, struct ir_buffer *buffer)
{
    struct ir_buffer *copy = ir_buffer_new(kernel, buffer->name, buffer->role, buffer->dtype, buffer->rank);
    const char *name = copy->name;

    *copy = *buffer;
    copy->name = name;
    copy->shape = copy_extents(kernel, buffer->shape, buffer->rank);
    for (int axis = 1; axis < buffer->rank; axis++)
        copy->open = buffer->shape[axis]->kind != IR_INTEGER ? axis : copy->open;
    copy->extents = buffer->extents ? copy_extents(kernel, buffer->extents, buffer->rank) : NULL;
    return copy;
}

static struct ir_buffer *buffer_of(const struct ir_kernel *kernel, const struct ir_buffer *original)
{
    return original ? kernel->buffers.items[original->index] : NULL;
}

static bool take_own_loads(struct ir_expr *expr, void *kernel)
{
    if (expr->kind == IR_LOAD)
        expr->access.buffer = buffer_of(kernel, expr->access.buffer);
    return true;
}

static bool take_own_buffer(struct ir_stmt *stmt, void *kernel)
{
    if (stmt->kind == IR_STORE || stmt->kind == IR_ALLOCATE)
        stmt->access.buffer = buffer_of(kernel, stmt->access.buffer);
    return true;
}

static void copy_interface(struct ir_kernel *copy, const struct ir_kernel *kernel)
{
    for (int k = 0; k < kernel->parameters.count; k++) {
        struct ir_parameter row = kernel->parameters.items[k];
        row.buffer = buffer_of(copy, row.buffer);
        row.attribute = copied(row.attribute);
        list_push(copy->arena, &copy->parameters, row);
    }
    for (int k = 0; k < kernel->results.count; k++) {
        struct ir_result row = kernel->results.items[k];
        row.buffer = buffer_of(copy, row.buffer);
        list_push(copy->arena, &copy->results, row);
    }
    for (int k = 0; k < kernel->preconditions.count; k++) {
        struct ir_precondition row = kernel->preconditions.items[k];
        row.guard = copy_operand(copy, row.guard);
        row.condition = copy_operand(copy, row.condition);
        row.index = copy_operand(copy, row.index);
        row.extent = copy_operand(copy, row.extent);
        row.buffer = buffer_of(copy, row.buffer);
        list_push(copy->arena, &copy->preconditions, row);
    }
}

/* Of loops whose bounds may be numbers in the copy alone. */
static void note_open(struct ir_stmt *copy, const struct ir_stmt *stmt)
{
    for (; stmt; stmt = stmt->next, copy = copy->next) {
        if (stmt->kind == IR_FOR)
            copy->open = stmt->low->kind != IR_INTEGER || stmt->high->kind != IR_INTEGER;
        note_open(copy->body, stmt->body);
        note_open(copy->otherwise, stmt->otherwise);
    }
}

static void copy_dim(struct ir_kernel *copy, struct ir_symbol *dim)
{
    struct ir_symbol *own = copy_symbol(copy, dim);

    own->number = dim->number;
    own->buffer = dim->buffer;
    own->axis = dim->axis;
    own->few = dim->few;
}

struct ir_kernel *ir_kernel_at(struct ir_kernel *kernel, const int64_t *extents, const bool *known)
{
    struct ir_kernel *copy = ir_kernel_new(kernel->arena, kernel->name);

    for (int k = 0; k < kernel->dims.count; k++)
        if (known[k])
            kernel->dims.items[k]->note = ir_integer(copy, AKG_INT64, extents[k]);
        else
            copy_dim(copy, kernel->dims.items[k]);
    for (int k = 0; k < kernel->attributes.count; k++)
        copy_symbol(copy, kernel->attributes.items[k]);
    for (int k = 0; k < kernel->buffers.count; k++)
        copy_buffer(copy, kernel->buffers.items[k]);
    for (int k = 0; k < copy->dims.count; k++)
        copy->dims.items[k]->buffer = buffer_of(copy, copy->dims.items[k]->buffer);
    copy_interface(copy, kernel);
    copy->body = ir_block_copy(copy, kernel->body);
    note_open(copy->body, kernel->body);
    ir_block_walk(copy->body, take_own_buffer, copy);
    ir_block_expressions(copy->body, take_own_loads, copy);
    for (int k = 0; k < kernel->dims.count; k++)
        kernel->dims.items[k]->note = NULL;
    for (int k = 0; k < kernel->attributes.count; k++)
        kernel->attributes.items[k]->note = NULL;
    return copy;
}
