/*
 * decode.c: see decode.h. The interface of the kernel and its statements.
 */
#include "decode.h"

#include <stdint.h>

enum { DECODE_STATEMENTS = 40, DECODE_NODES = 700, DECODE_NESTING = 3, DECODE_TRIPS = 4 };

static void decode_block(struct decoder *d, struct ir_stmt **into, int count);

int decode_pick(struct decoder *d, int count)
{
    int byte = d->at < d->size ? d->data[d->at++] : 0;

    return byte % count;
}

static struct ir_stmt *decode_new(struct decoder *d, enum ir_stmt_kind kind)
{
    return ir_stmt_new(d->kernel, kind, (struct span){++d->line, 1, d->line, 2});
}

static void decode_append(struct ir_stmt ***end, struct ir_stmt *stmt)
{
    **end = stmt;
    *end = &stmt->next;
}

/* ---- the interface --------------------------------------------------------------------------- */

/* An extent: a dim, a constant, something computed of them; never negative, for no dim or attribute is. */
static struct ir_expr *decode_extent(struct decoder *d)
{
    struct ir_kernel *kernel = d->kernel;
    int kind = kernel->dims.count ? decode_pick(d, 8) : 7;
    int64_t extent;
    struct ir_symbol *dim = kind < 7 ? kernel->dims.items[decode_pick(d, kernel->dims.count)] : NULL;

    switch (kind) {
    case 4:
        return ir_operation(kernel, OP_ADD, ir_symbol_use(kernel, dim), ir_integer(kernel, AKG_INT64, 1),
                            NULL);
    case 5:
        return ir_operation(kernel, OP_CEIL_DIV, ir_symbol_use(kernel, dim), ir_integer(kernel, AKG_INT64, 2),
                            NULL);
    case 6:
        return ir_operation(kernel, OP_ADD, ir_symbol_use(kernel, dim),
                            ir_symbol_use(kernel, kernel->attributes.items[0]), NULL);
    case 7:
        extent = decode_number(d, decode_pick(d, 7));
        return ir_integer(kernel, AKG_INT64, extent < 0 ? 3 : extent);
    default:
        return ir_symbol_use(kernel, dim);
    }
}

static void decode_attribute(struct decoder *d, const char *name, akg_dtype dtype)
{
    struct ir_symbol *symbol = ir_symbol_new(d->kernel, IR_SYMBOL_ATTRIBUTE, name, dtype);

    list_push(d->kernel->arena, &d->kernel->parameters, ((struct ir_parameter){symbol->name, NULL, symbol}));
}

/* An axis of an input is a dim of its own, or must be what another one says. */
static void decode_input(struct decoder *d, enum ir_role role)
{
    struct ir_kernel *kernel = d->kernel;
    akg_dtype dtype = decode_dtype(d);
    struct ir_buffer *buffer = ir_buffer_new(kernel, "a", role, dtype, decode_pick(d, 4));

    buffer->contiguous = decode_pick(d, 4) != 0;
    for (int axis = 0; axis < buffer->rank; axis++) {
        if (kernel->dims.count < 4 && (!kernel->dims.count || decode_pick(d, 2))) {
            struct ir_symbol *dim = ir_symbol_new(kernel, IR_SYMBOL_DIM, "N", AKG_INT64);
            dim->buffer = buffer;
            dim->axis = axis;
            buffer->shape[axis] = ir_symbol_use(kernel, dim);
        } else {
            buffer->shape[axis] = decode_extent(d);
        }
    }
    list_push(kernel->arena, &kernel->parameters, ((struct ir_parameter){buffer->name, buffer, NULL}));
    if (role == IR_INOUT)
        list_push(kernel->arena, &kernel->results,
                  ((struct ir_result){buffer->name, buffer, kernel->results.count}));
}

static struct ir_buffer *decode_made(struct decoder *d, const char *name, enum ir_role role)
{
    akg_dtype dtype = decode_dtype(d);
    struct ir_buffer *buffer = ir_buffer_new(d->kernel, name, role, dtype, decode_pick(d, 3));

    for (int axis = 0; axis < buffer->rank; axis++)
        buffer->shape[axis] = decode_extent(d);
    return buffer;
}

static void decode_interface(struct decoder *d)
{
    struct ir_buffer *output;

    decode_attribute(d, "n", AKG_INT64);
    decode_attribute(d, "b", AKG_BOOL);
    decode_attribute(d, "r", AKG_FLOAT64);
    for (int inputs = 1 + decode_pick(d, 4); inputs > 0; inputs--)
        decode_input(d, decode_pick(d, 4) == 0 ? IR_INOUT : IR_INPUT);
    for (int outputs = 1 + decode_pick(d, 3); outputs > 0; outputs--) {
        output = decode_made(d, "y", IR_OUTPUT);
        list_push(d->kernel->arena, &d->kernel->results,
                  ((struct ir_result){output->name, output, d->kernel->results.count}));
    }
}

/* ---- loops ------------------------------------------------------------------------------------- */

/* The bounds: small ones, clipped where data could make them large, or the last few of int64. */
static void decode_bounds(struct decoder *d, struct ir_stmt *loop)
{
    struct ir_kernel *kernel = d->kernel;
    bool down = decode_pick(d, 4) == 0;

    loop->step = decode_number(d, (1 + decode_pick(d, 3)) * (down ? -1 : 1));
    if (d->is_far && decode_pick(d, 8) == 7) {
        loop->low = ir_integer(kernel, AKG_INT64, decode_number(d, decode_pick(d, 3)));
        loop->high = ir_integer(kernel, AKG_INT64, decode_number(d, 6));
        return;
    }
    if (decode_pick(d, 24) == 23) {
        int64_t edge = down ? INT64_MIN : INT64_MAX, trips = decode_pick(d, DECODE_TRIPS);
        loop->low = ir_integer(kernel, AKG_INT64, down ? edge + trips : edge - trips);
        loop->high = ir_integer(kernel, AKG_INT64, edge);
        return;
    }
    loop->low = ir_integer(kernel, AKG_INT64, decode_pick(d, 2));
    loop->high = decode_small(d);
    if (down) {
        loop->low = ir_operation(kernel, OP_SUB, ir_expr_substitute(kernel, loop->high),
                                 ir_integer(kernel, AKG_INT64, 1), NULL);
        loop->high = ir_integer(kernel, AKG_INT64, -1);
    } else if (decode_pick(d, 3) == 2) { /* the variable of a loop at an end of int64 is no small number */
        loop->low = ir_operation(kernel, OP_MAX, decode_small(d), ir_integer(kernel, AKG_INT64, -8), NULL);
    }
}

static struct ir_stmt *decode_for(struct decoder *d)
{
    struct ir_stmt *loop = decode_new(d, IR_FOR);
    int loops = d->loop_count;

    decode_bounds(d, loop);
    loop->hint = decode_pick(d, 4) ? 0 : 1u << decode_pick(d, 5);
    loop->symbol = ir_symbol_new(d->kernel, IR_SYMBOL_LOOP, "i", AKG_INT64);
    d->loops[d->loop_count++] = loop->symbol;
    d->nesting++;
    decode_block(d, &loop->body, 1 + decode_pick(d, 4));
    d->nesting--;
    d->loop_count = loops;
    return loop;
}

/* var w = 0; while w < TRIPS and CONDITION: w = w + 1; ... The counter is nobody else's. */
static void decode_while(struct decoder *d, struct ir_stmt ***end)
{
    struct ir_kernel *kernel = d->kernel;
    struct ir_stmt *counter = decode_new(d, IR_VARIABLE);
    struct ir_stmt *loop = decode_new(d, IR_WHILE);
    struct ir_stmt *count = decode_new(d, IR_ASSIGN);
    struct ir_expr *least;

    counter->symbol = count->symbol = ir_symbol_new(kernel, IR_SYMBOL_VARIABLE, "w", AKG_INT64);
    counter->value = ir_integer(kernel, AKG_INT64, 0);
    least = ir_operation(kernel, OP_LT, ir_symbol_use(kernel, counter->symbol),
                         ir_integer(kernel, AKG_INT64, decode_pick(d, DECODE_TRIPS)), NULL);
    loop->value = ir_operation(kernel, OP_AND, least, decode_expression(d, AKG_BOOL, 2), NULL);
    count->value = ir_operation(kernel, OP_ADD, ir_symbol_use(kernel, counter->symbol),
                                ir_integer(kernel, AKG_INT64, 1), NULL);
    loop->body = count;
    d->nesting++;
    decode_block(d, &count->next, 1 + decode_pick(d, 3));
    d->nesting--;
    decode_append(end, counter);
    decode_append(end, loop);
}

/* ---- statements -------------------------------------------------------------------------------- */

static struct ir_stmt *decode_store(struct decoder *d)
{
    struct ir_stmt *stmt = decode_new(d, IR_STORE);
    struct ir_buffer *buffer = decode_buffer(d, true);

    stmt->access = decode_load(d, buffer, 3)->access;
    stmt->value = decode_expression(d, buffer->dtype, 4);
    return stmt;
}

static struct ir_stmt *decode_scalar(struct decoder *d, enum ir_stmt_kind kind)
{
    struct ir_stmt *stmt = decode_new(d, kind);
    akg_dtype dtype = decode_dtype(d);

    stmt->value = decode_expression(d, dtype, 3);
    stmt->symbol = ir_symbol_new(d->kernel, kind == IR_LET ? IR_SYMBOL_LET : IR_SYMBOL_VARIABLE, "s", dtype);
    if (kind == IR_LET)
        stmt->symbol->value = stmt->value;
    if (d->scalar_count < (int)(sizeof d->scalars / sizeof *d->scalars))
        d->scalars[d->scalar_count++] = stmt->symbol;
    return stmt;
}

static struct ir_stmt *decode_assign(struct decoder *d)
{
    int first = d->scalar_count ? decode_pick(d, d->scalar_count) : 0;

    for (int k = 0; k < d->scalar_count; k++) {
        struct ir_symbol *symbol = d->scalars[(first + k) % d->scalar_count];
        if (symbol->kind == IR_SYMBOL_VARIABLE) {
            struct ir_stmt *stmt = decode_new(d, IR_ASSIGN);
            stmt->symbol = symbol;
            stmt->value = decode_expression(d, symbol->dtype, 3);
            return stmt;
        }
    }
    return decode_store(d);
}

static struct ir_stmt *decode_if(struct decoder *d)
{
    struct ir_stmt *stmt = decode_new(d, IR_IF);

    stmt->value = decode_expression(d, AKG_BOOL, 3);
    decode_block(d, &stmt->body, 1 + decode_pick(d, 2));
    if (decode_pick(d, 2))
        decode_block(d, &stmt->otherwise, 1 + decode_pick(d, 2));
    return stmt;
}

static struct ir_stmt *decode_allocate(struct decoder *d)
{
    struct ir_stmt *stmt;

    if (d->temporary_count == (int)(sizeof d->temporaries / sizeof *d->temporaries))
        return decode_store(d);
    stmt = decode_new(d, IR_ALLOCATE);
    stmt->access.buffer = decode_made(d, "t", IR_TEMPORARY);
    d->temporaries[d->temporary_count++] = stmt->access.buffer;
    return stmt;
}

static struct ir_stmt *decode_assert(struct decoder *d)
{
    struct ir_stmt *stmt = decode_new(d, IR_ASSERT);

    stmt->value = decode_expression(d, AKG_BOOL, 2);
    stmt->message = "it must";
    return stmt;
}

static void decode_statement(struct decoder *d, struct ir_stmt ***end)
{
    int kind = decode_pick(d, 24);

    if (kind < 6 && d->nesting < DECODE_NESTING)
        decode_append(end, decode_for(d));
    else if (kind == 6 && d->nesting < DECODE_NESTING)
        decode_while(d, end);
    else if (kind < 9)
        decode_append(end, decode_if(d));
    else if (kind < 11)
        decode_append(end, decode_scalar(d, IR_LET));
    else if (kind < 13)
        decode_append(end, decode_scalar(d, IR_VARIABLE));
    else if (kind < 15)
        decode_append(end, decode_assign(d));
    else if (kind == 15)
        decode_append(end, decode_allocate(d));
    else if (kind == 16 && d->nesting > 0)
        decode_append(end, decode_new(d, decode_pick(d, 2) ? IR_BREAK : IR_CONTINUE));
    else if (kind == 17)
        decode_append(end, decode_assert(d));
    else
        decode_append(end, decode_store(d));
}

/* Appends to *into; what it declares goes out of scope. */
static void decode_block(struct decoder *d, struct ir_stmt **into, int count)
{
    int scalars = d->scalar_count, temporaries = d->temporary_count;

    while (count-- > 0 && d->statements-- > 0)
        decode_statement(d, &into);
    d->scalar_count = scalars;
    d->temporary_count = temporaries;
}

static struct ir_kernel *decode_whole(struct decoder *d, struct arena *arena)
{
    d->statements = DECODE_STATEMENTS;
    d->nodes = DECODE_NODES;
    d->kernel = ir_kernel_new(arena, "k");
    decode_interface(d);
    decode_block(d, &d->kernel->body, 2 + decode_pick(d, 8));
    return d->kernel;
}

struct ir_kernel *decode_kernel(struct decoder *d, struct arena *arena, const uint8_t *data, size_t size)
{
    *d = (struct decoder){.data = data, .size = size};
    return decode_whole(d, arena);
}

struct ir_kernel *decode_far_kernel(struct decoder *d, struct arena *arena, const uint8_t *data, size_t size)
{
    *d = (struct decoder){.data = data, .size = size, .is_far = true};
    return decode_whole(d, arena);
}
