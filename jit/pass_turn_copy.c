/*
 * pass_turn_copy.c: copies of tensors with their axes in another order, and loops that use them.
 *
 * Consumes a loop of which pass_turn.c says what is to be turned and when that pays; puts in its place a
 * choice between the copies with a loop that uses them, and the loop as it was.
 */
#include "pass_turn.h"

struct uses {
    struct turning *turning;
    const struct ir_stmt *columns; /* NULL: what is stored to is used elsewhere, too */
};

/* What there is for each axis of the tensor, in the order of the copy's axes. */
static void put_last(const struct turned *turned, struct ir_expr *const *from, struct ir_expr **to)
{
    for (int k = 0; k < turned->from->rank; k++)
        if (k != turned->axis)
            *to++ = from[k];
    *to = from[turned->axis];
}

static struct ir_expr *load_copy(const struct turning *turning, const struct turned *turned,
                                 struct ir_expr *const *from, struct span span)
{
    struct ir_expr *indices[AKG_MAX_RANK], *load;
    put_last(turned, from, indices);
    load = ir_load(turning->pass->kernel, turned->copy, indices);
    for (int k = 0; k < turned->from->rank; k++)
        load->access.checks[k] = IR_CHECK_PROVED;
    load->span = span;
    return load;
}

/* NULL: the access is to the tensor. */
static const struct turned *copy_of(const struct uses *uses, struct ir_access *access)
{
    const struct turned *stored = turn_find_stored(uses->turning, access->buffer);
    if (stored)
        return stored;
    if (!uses->columns || !turn_is_across(uses->turning, access, uses->columns->symbol))
        return NULL;
    return turn_find_copy(uses->turning, access->buffer, turn_axis_of(access, uses->columns->symbol));
}

static struct ir_expr *use_copies(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct uses *uses = context;
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = use_copies(pass, expr->operands[k], context);
    if (expr->kind != IR_LOAD)
        return expr;
    for (int k = 0; k < expr->access.buffer->rank; k++)
        expr->access.indices[k] = use_copies(pass, expr->access.indices[k], context);
    const struct turned *turned = copy_of(uses, &expr->access);
    return turned ? load_copy(uses->turning, turned, expr->access.indices, expr->span) : expr;
}

static bool use_copies_in(struct ir_stmt *stmt, void *context)
{
    const struct uses *uses = context;
    pass_rewrite(uses->turning->pass, stmt, use_copies, context);
    const struct turned *turned = stmt->kind == IR_STORE ? copy_of(uses, &stmt->access) : NULL;
    if (turned)
        stmt->access = load_copy(uses->turning, turned, stmt->access.indices, stmt->span)->access;
    return true;
}

static bool use_copies_below(struct ir_stmt *stmt, void *context)
{
    struct uses uses = {context, stmt};
    if (stmt->note)
        ir_block_walk(stmt->body, use_copies_in, &uses);
    stmt->note = NULL;
    return true;
}

static struct ir_stmt *loop_over(const struct turning *turning, struct ir_expr *index, struct ir_expr *extent,
                                 struct ir_stmt *body)
{
    struct ir_stmt *loop = ir_stmt_new(turning->pass->kernel, IR_FOR, turning->around->span);
    loop->symbol = index->symbol;
    loop->low = pass_number(turning->pass, 0);
    loop->high = pass_copy(turning->pass, extent);
    loop->step = 1;
    loop->body = body;
    return loop;
}

/* Loops that fill the copy from the tensor, or the tensor from it: those over what lies side by side in what
 * is filled inside. */
static struct ir_stmt *move_elements(const struct turning *turning, const struct turned *turned, bool back)
{
    struct ir_kernel *kernel = turning->pass->kernel;
    struct ir_expr *at[AKG_MAX_RANK] = {NULL}, *indices[AKG_MAX_RANK], *extents[AKG_MAX_RANK];
    int rank = turned->from->rank;
    for (int k = 0; k < rank; k++)
        at[k] = ir_symbol_use(kernel, ir_symbol_new(kernel, IR_SYMBOL_LOOP, "at", AKG_INT64));
    struct ir_expr *of_copy = load_copy(turning, turned, at, turning->around->span);
    for (int k = 0; k < rank; k++)
        indices[k] = pass_copy(turning->pass, at[k]);
    struct ir_expr *of_tensor = ir_load(kernel, turned->from, indices);
    for (int k = 0; k < rank; k++)
        of_tensor->access.checks[k] = IR_CHECK_PROVED;
    struct ir_stmt *fill = ir_stmt_new(kernel, IR_STORE, turning->around->span);
    fill->access = back ? of_tensor->access : of_copy->access;
    fill->value = back ? of_copy : of_tensor;
    for (int k = 0; k < rank; k++)
        extents[k] = turned->from->shape[k];
    if (!back)
        put_last(turned, turned->from->shape, extents);
    struct ir_expr **filled = fill->access.indices;
    for (int k = rank - 1; k >= 0; k--)
        fill = loop_over(turning, filled[k], extents[k], fill);
    return fill;
}

/* The memory of the copy, which is none where it is not made, and what fills it. */
static struct ir_stmt *make_copy(const struct turning *turning, struct turned *turned)
{
    struct pass *pass = turning->pass;
    const struct ir_buffer *from = turned->from;
    struct ir_buffer *copy = ir_buffer_new(pass->kernel, "turned", IR_TEMPORARY, from->dtype, from->rank);
    copy->span = turning->around->span;
    put_last(turned, from->shape, copy->shape);
    for (int k = 0; k < from->rank; k++)
        copy->shape[k] = pass_copy(pass, copy->shape[k]);
    copy->shape[0] = ir_operation(pass->kernel, OP_SELECT, pass_copy(pass, turning->pays), copy->shape[0],
                                  pass_number(pass, 0));
    turned->copy = copy;
    struct ir_stmt *allocate = ir_stmt_new(pass->kernel, IR_ALLOCATE, copy->span);
    allocate->access.buffer = copy;
    allocate->next = turned->is_whole ? NULL : move_elements(turning, turned, false);
    return allocate;
}

/* `if it pays: the copies and what uses them, else: what was there` */
static struct ir_stmt *choose(const struct turning *turning, struct ir_stmt *turned, struct ir_stmt *plain)
{
    struct ir_stmt *choice = ir_stmt_new(turning->pass->kernel, IR_IF, plain->span);
    choice->value = turning->pays;
    choice->body = turned;
    choice->otherwise = plain;
    choice->deferred = true;
    return choice;
}

/* In the place of the statement. */
void turn_loop(struct turning *turning, struct ir_stmt *stmt)
{
    struct pass *pass = turning->pass;
    struct ir_stmt *next = stmt->next, *moved = ir_stmt_new(pass->kernel, stmt->kind, stmt->span);
    struct ir_stmt *first = NULL, **end = &first;
    stmt->next = NULL;
    *moved = *stmt;
    turning->around = moved;
    struct ir_stmt *plain = turning->pays->kind == IR_INTEGER ? NULL : pass_copy_block(pass, moved);
    for (int k = 0; k < turning->count; k++) {
        *end = make_copy(turning, &turning->copies[k]);
        while (*end)
            end = &(*end)->next;
    }
    *end = moved;
    ir_block_walk(moved, use_copies_below, turning);
    ir_block_walk(moved, use_copies_in, &(struct uses){turning, NULL});
    end = &moved->next;
    for (int k = 0; k < turning->count; k++) {
        if (!turning->copies[k].is_stored)
            continue;
        *end = move_elements(turning, &turning->copies[k], true);
        end = &(*end)->next;
    }
    if (plain)
        first = choose(turning, first, plain);
    *(plain ? &first->next : end) = next;
    *stmt = *first;
}
