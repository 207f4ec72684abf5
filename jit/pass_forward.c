/*
 * pass_forward.c: a load of an element that was stored, or loaded into a scalar, before becomes the value.
 *
 * Walks the kernel in the order of execution and keeps, for each buffer, the last few elements whose value is
 * known. A value is one as long as nothing that may be the same element is stored and no variable of its
 * index changes; what a loop does anywhere in it ends it before the loop, what a branch does ends it behind.
 * A load of an element that was accessed cannot stop the kernel: the access before it has been tested.
 */
#include "pass.h"

enum { ELEMENTS = 8 }; /* known of one buffer at a time */

struct element {
    struct ir_access *access;
    struct ir_stmt *store;    /* that wrote it; NULL: it was loaded */
    struct ir_symbol *symbol; /* LET that holds it, or NULL as long as none is needed */
    int depth;                /* of the block that knows it */
};

struct buffer_elements {
    struct element items[ELEMENTS]; /* the oldest first */
    int count;
};

struct forwarder {
    struct pass *pass;
    struct buffer_elements **buffers;      /* by index; NULL: nothing was ever known */
    LIST(struct buffer_elements *) learnt; /* the buffer of each element that came to be known, in order */
    int varying;                           /* elements ever known whose index has a variable in it */
    int depth;
    bool changed;
};

/* ---- what is known -------------------------------------------------------------------------------- */

static struct buffer_elements *elements_of(struct forwarder *forwarder, const struct ir_buffer *buffer)
{
    struct buffer_elements **place = &forwarder->buffers[buffer->index];

    if (!*place)
        *place = arena_new(forwarder->pass->arena, struct buffer_elements);
    return *place;
}

static void forget_at(struct buffer_elements *elements, int at)
{
    elements->count--;
    for (int k = at; k < elements->count; k++)
        elements->items[k] = elements->items[k + 1];
}

static void know(struct forwarder *forwarder, struct ir_access *access, struct ir_stmt *store,
                 struct ir_symbol *symbol)
{
    struct buffer_elements *elements = elements_of(forwarder, access->buffer);

    if (elements->count == ELEMENTS)
        forget_at(elements, 0);
    elements->items[elements->count++] = (struct element){access, store, symbol, forwarder->depth};
    list_push(forwarder->pass->arena, &forwarder->learnt, elements);
    for (int k = 0; k < access->buffer->rank; k++)
        forwarder->varying += ir_expr_has_variable(access->indices[k]);
}

static void forget_stored(struct forwarder *forwarder, const struct ir_access *access)
{
    struct buffer_elements *elements = forwarder->buffers[access->buffer->index];

    for (int k = elements ? elements->count - 1 : -1; k >= 0; k--)
        if (pass_compare(elements->items[k].access, access) != PASS_DISTINCT)
            forget_at(elements, k);
}

static void forget_buffer(struct forwarder *forwarder, const struct ir_buffer *buffer)
{
    if (forwarder->buffers[buffer->index])
        forwarder->buffers[buffer->index]->count = 0;
}

static void forget_assigned(struct forwarder *forwarder, const struct ir_symbol *symbol)
{
    for (int b = 0; forwarder->varying && b < forwarder->learnt.count; b++) {
        struct buffer_elements *elements = forwarder->learnt.items[b];
        for (int k = elements->count - 1; k >= 0; k--)
            if (pass_access_mentions(elements->items[k].access, symbol))
                forget_at(elements, k);
    }
}

static bool forget_changed_by(struct ir_stmt *stmt, void *context)
{
    struct forwarder *forwarder = context;

    if (stmt->kind == IR_STORE)
        forget_stored(forwarder, &stmt->access);
    else if (stmt->kind == IR_ALLOCATE)
        forget_buffer(forwarder, stmt->access.buffer);
    else if (stmt->kind == IR_ASSIGN)
        forget_assigned(forwarder, stmt->symbol);
    return true;
}

/* What was learnt in a block that is over: all since there were `count` of them. */
static void leave(struct forwarder *forwarder, int count)
{
    forwarder->depth--;
    while (forwarder->learnt.count > count) {
        struct buffer_elements *elements = forwarder->learnt.items[--forwarder->learnt.count];
        while (elements->count && elements->items[elements->count - 1].depth > forwarder->depth)
            elements->count--;
    }
}

/* ---- loads ------------------------------------------------------------------------------------------ */

static bool may_be_repeated(const struct ir_expr *value)
{
    return value->kind == IR_INTEGER || value->kind == IR_REAL ||
           (value->kind == IR_SYMBOL && value->symbol->kind != IR_SYMBOL_VARIABLE);
}

/* The value of the element; NULL when it cannot be had without changing what stops first. The stored value
 * gets a LET of its own before the store when it is needed. */
static struct ir_expr *value_of(struct forwarder *forwarder, struct element *element)
{
    struct pass *pass = forwarder->pass;
    struct ir_stmt *let = element->store, *store;

    if (element->symbol)
        return ir_symbol_use(pass->kernel, element->symbol);
    if (may_be_repeated(let->value))
        return pass_copy(pass, let->value);
    if (pass_access_may_stop(&let->access) && pass_expr_may_stop(let->value))
        return NULL;
    store = ir_stmt_new(pass->kernel, IR_STORE, let->span);
    store->access = let->access;
    store->next = let->next;
    let->kind = IR_LET;
    let->symbol = ir_symbol_new(pass->kernel, IR_SYMBOL_LET, let->access.buffer->name, let->value->dtype);
    let->symbol->value = let->value;
    let->symbol->span = let->span;
    let->next = store;
    let->access = (struct ir_access){0};
    store->value = ir_symbol_use(pass->kernel, let->symbol);
    *element = (struct element){&store->access, store, let->symbol, element->depth};
    return ir_symbol_use(pass->kernel, let->symbol);
}

static struct ir_expr *forward_load(struct forwarder *forwarder, struct ir_expr *load)
{
    struct buffer_elements *elements = forwarder->buffers[load->access.buffer->index];

    for (int k = elements ? elements->count - 1 : -1; k >= 0; k--) {
        if (pass_compare(elements->items[k].access, &load->access) != PASS_SAME)
            continue;
        struct ir_expr *value = value_of(forwarder, &elements->items[k]);
        if (!value)
            return load;
        forwarder->changed = true;
        value->span = load->span;
        return value;
    }
    return load;
}

static struct ir_expr *forward_expr(struct pass *pass, struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_OPERATION) {
        for (int k = 0; k < expr->count; k++)
            expr->operands[k] = forward_expr(pass, expr->operands[k], context);
    } else if (expr->kind == IR_LOAD) {
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = forward_expr(pass, expr->access.indices[k], context);
        return forward_load(context, expr);
    }
    return expr;
}

/* ---- statements --------------------------------------------------------------------------------------- */

static void forward_block(struct forwarder *forwarder, struct ir_stmt *block);

static void forward_inside(struct forwarder *forwarder, struct ir_stmt *block)
{
    int count = forwarder->learnt.count;

    forwarder->depth++;
    forward_block(forwarder, block);
    leave(forwarder, count);
}

/* What a side forgets stays forgotten for the other side too, and behind. */
static void forward_if(struct forwarder *forwarder, struct ir_stmt *stmt)
{
    for (;;) {
        pass_rewrite(forwarder->pass, stmt, forward_expr, forwarder);
        forward_inside(forwarder, stmt->body);
        if (!stmt->otherwise || stmt->otherwise->kind != IR_IF || stmt->otherwise->next)
            break;
        stmt = stmt->otherwise;
    }
    forward_inside(forwarder, stmt->otherwise);
}

static void forward_loop(struct forwarder *forwarder, struct ir_stmt *stmt)
{
    if (stmt->kind == IR_FOR) /* its bounds are computed once, before */
        pass_rewrite(forwarder->pass, stmt, forward_expr, forwarder);
    ir_block_walk(stmt->body, forget_changed_by, forwarder);
    if (stmt->kind == IR_WHILE)
        pass_rewrite(forwarder->pass, stmt, forward_expr, forwarder);
    forward_inside(forwarder, stmt->body);
}

static void forward_block(struct forwarder *forwarder, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR || stmt->kind == IR_WHILE) {
            forward_loop(forwarder, stmt);
            continue;
        }
        if (stmt->kind == IR_IF) {
            forward_if(forwarder, stmt);
            continue;
        }
        pass_rewrite(forwarder->pass, stmt, forward_expr, forwarder);
        forget_changed_by(stmt, forwarder);
        if (stmt->kind == IR_STORE)
            know(forwarder, &stmt->access, stmt, NULL);
        else if (stmt->kind == IR_LET && stmt->value->kind == IR_LOAD)
            know(forwarder, &stmt->value->access, NULL, stmt->symbol);
    }
}

bool pass_forward(struct pass *pass)
{
    struct forwarder forwarder = {.pass = pass};

    forwarder.buffers = arena_array(pass->arena, struct buffer_elements *, pass->kernel->buffers.count);
    forward_block(&forwarder, pass->kernel->body);
    return forwarder.changed;
}
