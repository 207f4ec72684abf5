/*
 * compose.c: see compose.h. Consumes analysed kernels, which stay as they are but for the notes of their
 * symbols; produces one that the passes and back ends take as any other.
 */
#include "compose.h"

#include <string.h>

/* ---- what is pointwise ------------------------------------------------------------------------- */

/* The loops of a kernel that is one nest. */
struct nest {
    const struct ir_symbol *loops[AKG_MAX_RANK], *extents[AKG_MAX_RANK];
    int depth;
    struct ir_stmt *body;
};

static bool is_integer(const struct ir_expr *expr, int64_t value)
{
    return expr->kind == IR_INTEGER && expr->integer == value;
}

static bool nest_find(const struct ir_kernel *kernel, struct nest *nest)
{
    nest->depth = 0;
    nest->body = kernel->body;
    while (nest->body && nest->body->kind == IR_FOR) {
        const struct ir_stmt *loop = nest->body;
        if (loop->next || nest->depth == AKG_MAX_RANK || loop->step != 1 || !is_integer(loop->low, 0) ||
            loop->high->kind != IR_SYMBOL)
            return false;
        nest->extents[nest->depth] = loop->high->symbol;
        nest->loops[nest->depth++] = loop->symbol;
        nest->body = loop->body;
    }
    return nest->body;
}

static bool is_at_place(const struct nest *nest, const struct ir_access *access)
{
    if (access->buffer->rank != nest->depth)
        return false;
    for (int k = 0; k < nest->depth; k++)
        if (access->indices[k]->kind != IR_SYMBOL || access->indices[k]->symbol != nest->loops[k])
            return false;
    return true;
}

/* A value that hangs on nothing but elements at this place, attributes and scalars of the iteration. */
static bool is_pointwise_value(const struct nest *nest, const struct ir_expr *expr)
{
    switch (expr->kind) {
    case IR_INTEGER:
    case IR_REAL:
        return true;
    case IR_SYMBOL:
        return expr->symbol->kind != IR_SYMBOL_DIM && expr->symbol->kind != IR_SYMBOL_LOOP;
    case IR_LOAD:
        return expr->access.buffer->role == IR_INPUT &&
               (expr->access.buffer->rank == 0 || is_at_place(nest, &expr->access));
    case IR_OPERATION:
        for (int k = 0; k < expr->count; k++)
            if (!is_pointwise_value(nest, expr->operands[k]))
                return false;
        return !expr->checked;
    }
    return false;
}

/* `stores` counts those of the outputs, which must stand in no condition. */
static bool is_pointwise_block(const struct nest *nest, const struct ir_stmt *stmt, bool inside, int *stores)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->value && !is_pointwise_value(nest, stmt->value))
            return false;
        switch (stmt->kind) {
        case IR_LET:
        case IR_VARIABLE:
        case IR_ASSIGN:
            break;
        case IR_IF:
            if (!is_pointwise_block(nest, stmt->body, true, stores) ||
                !is_pointwise_block(nest, stmt->otherwise, true, stores))
                return false;
            break;
        case IR_STORE:
            if (inside || stmt->access.buffer->role != IR_OUTPUT || !is_at_place(nest, &stmt->access))
                return false;
            ++*stores;
            break;
        default:
            return false;
        }
    }
    return true;
}

/* Whether the iterations are the elements of the output, and each stores its own once. */
static bool is_pointwise_result(const struct nest *nest, const struct ir_buffer *buffer)
{
    int stores = 0;

    if (buffer->role != IR_OUTPUT || buffer->clear || buffer->rank != nest->depth)
        return false;
    for (int k = 0; k < nest->depth; k++)
        if (buffer->shape[k]->kind != IR_SYMBOL || buffer->shape[k]->symbol != nest->extents[k])
            return false;
    for (const struct ir_stmt *stmt = nest->body; stmt; stmt = stmt->next)
        stores += stmt->kind == IR_STORE && stmt->access.buffer == buffer;
    return stores == 1;
}

bool compose_is_pointwise(const struct ir_kernel *kernel)
{
    struct nest nest;
    int stores = 0;

    if (!nest_find(kernel, &nest) || !is_pointwise_block(&nest, nest.body, false, &stores))
        return false;
    for (int i = 0; i < kernel->results.count; i++)
        if (!is_pointwise_result(&nest, kernel->results.items[i].buffer))
            return false;
    return stores == kernel->results.count;
}

/* ---- composing ------------------------------------------------------------------------------------- */

struct composer {
    const struct compose_request *request;
    struct ir_kernel *kernel;
    struct ir_symbol *extents[AKG_MAX_RANK], *loops[AKG_MAX_RANK];
    struct ir_buffer **inputs;
    struct ir_symbol ***results; /* per member and result: the scalar that it is */
    const struct compose_member *member;
    struct ir_stmt **end; /* where the next statement goes */
};

static struct ir_expr *extent_of(struct composer *c, int axis)
{
    return ir_symbol_use(c->kernel, c->extents[axis]);
}

static struct ir_buffer *buffer_of_shape(struct composer *c, enum ir_role role, akg_dtype dtype)
{
    struct ir_buffer *buffer = ir_buffer_new(c->kernel, "y", role, dtype, c->request->rank);

    for (int k = 0; k < buffer->rank; k++)
        buffer->shape[k] = extent_of(c, k);
    return buffer;
}

static void compose_inputs(struct composer *c)
{
    c->inputs = arena_array(c->kernel->arena, struct ir_buffer *, c->request->input_count + 1);
    for (int i = 0; i < c->request->input_count; i++) {
        const struct compose_input *input = &c->request->inputs[i];
        struct ir_buffer *buffer = ir_buffer_new(c->kernel, "x", IR_INPUT, input->dtype, input->rank);
        struct ir_parameter parameter = {buffer->name, buffer, NULL};
        for (int k = 0; k < input->rank; k++)
            buffer->shape[k] = input->repeated >> k & 1 ? ir_integer(c->kernel, AKG_INT64, 1)
                                                        : extent_of(c, c->request->rank - input->rank + k);
        buffer->contiguous = input->contiguous;
        c->inputs[i] = buffer;
        list_push(c->kernel->arena, &c->kernel->parameters, parameter);
    }
}

static struct ir_symbol *compose_attribute(struct composer *c, const char *name, akg_dtype dtype)
{
    struct ir_symbol *symbol = ir_symbol_new(c->kernel, IR_SYMBOL_ATTRIBUTE, name, dtype);
    struct ir_parameter parameter = {symbol->name, NULL, symbol};

    list_push(c->kernel->arena, &c->kernel->parameters, parameter);
    return symbol;
}

/* `repeated`: as of an input. */
static void compose_access(struct composer *c, struct ir_access *access, struct ir_buffer *buffer,
                           unsigned repeated)
{
    int first = c->request->rank - buffer->rank;

    *access = (struct ir_access){.buffer = buffer};
    access->indices = arena_array(c->kernel->arena, struct ir_expr *, buffer->rank + 1);
    access->checks = arena_array(c->kernel->arena, enum ir_check, buffer->rank + 1);
    for (int k = 0; k < buffer->rank; k++) {
        access->indices[k] = repeated >> k & 1 ? ir_integer(c->kernel, AKG_INT64, 0)
                                               : ir_symbol_use(c->kernel, c->loops[first + k]);
        access->checks[k] = IR_CHECK_PROVED;
    }
}

/* The parameter of the member that is this buffer. */
static const struct compose_source *source_of(const struct composer *c, const struct ir_buffer *buffer)
{
    for (int i = 0; i < c->member->kernel->parameters.count; i++)
        if (c->member->kernel->parameters.items[i].buffer == buffer)
            return &c->member->sources[i];
    return NULL;
}

static struct ir_expr *compose_load(struct composer *c, const struct ir_expr *expr)
{
    const struct compose_source *source = source_of(c, expr->access.buffer);
    struct ir_expr *load;

    if (source->input < 0)
        return ir_symbol_use(c->kernel, c->results[source->member][source->result]);
    load = arena_new(c->kernel->arena, struct ir_expr);
    *load = (struct ir_expr){.kind = IR_LOAD, .dtype = expr->dtype, .span = expr->span};
    compose_access(c, &load->access, c->inputs[source->input], c->request->inputs[source->input].repeated);
    return load;
}

static struct ir_expr *compose_value(struct composer *c, const struct ir_expr *expr)
{
    struct ir_expr *copy;

    if (expr->kind == IR_LOAD)
        return compose_load(c, expr);
    if (expr->kind == IR_SYMBOL)
        return ir_symbol_use(c->kernel, expr->symbol->note);
    copy = arena_new(c->kernel->arena, struct ir_expr);
    *copy = *expr;
    if (expr->kind != IR_OPERATION)
        return copy;
    copy->operands = arena_array(c->kernel->arena, struct ir_expr *, expr->count + 1);
    for (int k = 0; k < expr->count; k++)
        copy->operands[k] = compose_value(c, expr->operands[k]);
    return copy;
}

/* A cast to its own dtype: a product that is stored is rounded, and what is added to it may not undo that. */
static struct ir_expr *compose_rounded(struct composer *c, struct ir_expr *value)
{
    if (!dtype_is_float(value->dtype))
        return value;
    struct ir_expr *cast = arena_new(c->kernel->arena, struct ir_expr);

    *cast = (struct ir_expr){
        .kind = IR_OPERATION, .dtype = value->dtype, .span = value->span, .operation = OP_CAST, .count = 1};
    cast->operands = arena_array(c->kernel->arena, struct ir_expr *, 1);
    cast->operands[0] = value;
    return cast;
}

static struct ir_stmt *compose_put(struct composer *c, enum ir_stmt_kind kind, struct span span)
{
    struct ir_stmt *stmt = ir_stmt_new(c->kernel, kind, span);

    *c->end = stmt;
    c->end = &stmt->next;
    return stmt;
}

static struct ir_symbol *compose_let(struct composer *c, enum ir_stmt_kind kind, const char *name,
                                     struct ir_expr *value)
{
    struct ir_stmt *stmt = compose_put(c, kind, value->span);

    stmt->symbol =
        ir_symbol_new(c->kernel, kind == IR_LET ? IR_SYMBOL_LET : IR_SYMBOL_VARIABLE, name, value->dtype);
    stmt->value = value;
    if (kind == IR_LET)
        stmt->symbol->value = value;
    return stmt->symbol;
}

static void compose_store(struct composer *c, const struct ir_stmt *stmt)
{
    const struct ir_kernel *kernel = c->member->kernel;
    long member = c->member - c->request->members;
    struct ir_symbol *value = compose_let(c, IR_LET, "v", compose_rounded(c, compose_value(c, stmt->value)));

    for (int i = 0; i < kernel->results.count; i++) {
        struct ir_result result;
        struct ir_stmt *store;
        if (kernel->results.items[i].buffer != stmt->access.buffer)
            continue;
        c->results[member][i] = value;
        if (!c->member->stored[i])
            continue;
        result.buffer = kernel->results.items[i].buffer->note;
        result.name = result.buffer->name;
        store = compose_put(c, IR_STORE, stmt->span);
        compose_access(c, &store->access, result.buffer, 0);
        store->value = ir_symbol_use(c->kernel, value);
    }
}

static void compose_block(struct composer *c, const struct ir_stmt *stmt)
{
    struct ir_stmt *copy, **end;

    for (; stmt; stmt = stmt->next)
        switch (stmt->kind) {
        case IR_LET:
        case IR_VARIABLE:
            stmt->symbol->note =
                compose_let(c, stmt->kind, stmt->symbol->name, compose_value(c, stmt->value));
            break;
        case IR_ASSIGN:
            copy = compose_put(c, IR_ASSIGN, stmt->span);
            copy->symbol = stmt->symbol->note;
            copy->value = compose_value(c, stmt->value);
            break;
        case IR_IF:
            copy = compose_put(c, IR_IF, stmt->span);
            copy->value = compose_value(c, stmt->value);
            end = c->end;
            c->end = &copy->body;
            compose_block(c, stmt->body);
            c->end = &copy->otherwise;
            compose_block(c, stmt->otherwise);
            c->end = end;
            break;
        case IR_STORE:
            compose_store(c, stmt);
            break;
        default: /* compose_is_pointwise saw to that */
            break;
        }
}

/* The outputs, in the notes of the members' results. */
static void compose_outputs(struct composer *c)
{
    for (int m = 0; m < c->request->member_count; m++) {
        const struct compose_member *member = &c->request->members[m];
        for (int i = 0; i < member->kernel->results.count; i++) {
            struct ir_buffer *result = member->kernel->results.items[i].buffer;
            struct ir_result row;
            if (!member->stored[i])
                continue;
            row.buffer = buffer_of_shape(c, IR_OUTPUT, result->dtype);
            row.name = row.buffer->name;
            row.item = c->kernel->results.count;
            result->note = row.buffer;
            list_push(c->kernel->arena, &c->kernel->results, row);
        }
    }
}

static void compose_member(struct composer *c, int number)
{
    const struct ir_kernel *kernel = c->request->members[number].kernel;
    struct nest nest;

    c->member = &c->request->members[number];
    c->results[number] = arena_array(c->kernel->arena, struct ir_symbol *, kernel->results.count + 1);
    if (nest_find(kernel, &nest))
        compose_block(c, nest.body);
}

struct ir_kernel *compose(struct arena *arena, const struct compose_request *request)
{
    struct composer c = {.request = request, .kernel = ir_kernel_new(arena, "composed")};

    for (int k = 0; k < request->rank; k++)
        c.extents[k] = compose_attribute(&c, "n", AKG_INT64);
    compose_inputs(&c);
    for (int m = 0; m < request->member_count; m++)
        for (int i = 0; i < request->members[m].kernel->attributes.count; i++) {
            struct ir_symbol *attribute = request->members[m].kernel->attributes.items[i];
            struct ir_symbol *symbol = compose_attribute(&c, attribute->name, attribute->dtype);
            symbol->known = attribute->known; /* members are instances, each for such calls alone */
            attribute->note = symbol;
        }
    compose_outputs(&c);
    c.end = &c.kernel->body;
    for (int k = 0; k < request->rank; k++) {
        struct ir_stmt *loop = compose_put(&c, IR_FOR, (struct span){0});
        loop->symbol = c.loops[k] = ir_symbol_new(c.kernel, IR_SYMBOL_LOOP, "p", AKG_INT64);
        loop->low = ir_integer(c.kernel, AKG_INT64, 0);
        loop->high = extent_of(&c, k);
        loop->step = 1;
        c.end = &loop->body;
    }
    c.results = arena_array(arena, struct ir_symbol **, request->member_count + 1);
    for (int m = 0; m < request->member_count; m++)
        compose_member(&c, m);
    return c.kernel;
}
