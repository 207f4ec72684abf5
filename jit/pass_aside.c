/*
 * pass_aside.c: sums that are stored a few elements apart, where vectors of a nest cannot be, are collected
 * side by side in a row of their own.
 *
 *     for j { s = y[2 * j]; for q: s = s + x[j + q] * w[q]; y[2 * j] = s }
 *
 * becomes, of elements of 8 or 16 bits, or with a larger step,
 *
 *     for j: row[j] = y[2 * j]
 *     for j { s = row[j]; for q: s = s + x[j + q] * w[q]; row[j] = s }
 *     for j: y[2 * j] = row[j]
 *
 * so that the iterations become lanes (vector_nest.c asks for elements that are neighbours, or wide ones a
 * few apart), and the loops that copy are simple. Consumes loops whose iterations are independent, in which
 * nothing may stop, with one store, behind loops whose loads lie along the columns or stay. Nothing is
 * computed in another order.
 */
#include "pass.h"

enum { DEEPEST = 100, STATEMENTS = 40, LARGEST = 1 << 20 };

/* A loop that accumulates, and the store behind. */
struct columns {
    struct pass *pass;
    struct ir_stmt *loop, *store;
    int along, across;     /* loads that lie along the columns, and others that move with them */
    int own, others;       /* loads of what is stored, and of others of its tensor */
    int64_t step;          /* of the elements */
    struct ir_buffer *row; /* NULL: there is none yet */
};

/* ---- the shape ----------------------------------------------------------------------------------- */

static bool has_no_effect(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_FOR || stmt->kind == IR_IF || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE ||
           stmt->kind == IR_ASSIGN;
}

/* Loops among statements that only compute, and the store as the last one. */
static bool find_store(struct columns *columns)
{
    bool has_loop = false;
    int count = 0;

    for (struct ir_stmt *stmt = columns->loop->body; stmt; stmt = stmt->next) {
        if (!stmt->next && stmt->kind == IR_STORE)
            columns->store = stmt;
        else if ((stmt->kind == IR_IF && !pass_has_for(stmt->body)) || !has_no_effect(stmt, NULL) ||
                 !ir_block_walk(stmt->body, has_no_effect, NULL) ||
                 !ir_block_walk(stmt->otherwise, has_no_effect, NULL) || ++count > STATEMENTS)
            return false;
        has_loop |= stmt->kind == IR_FOR;
    }
    return has_loop && columns->store;
}

/* Whether the elements lie apart so that a nest does not store them (vector_stream.c). */
static bool lies_apart(struct columns *columns)
{
    const struct ir_access *access = &columns->store->access;
    int last = access->buffer->rank - 1, size = dtype_table[access->buffer->dtype].size;
    int64_t widest = size < 4 ? 1 : columns->pass->target == X86_TARGET_AVX512 ? 4 : 2;

    for (int axis = 0; axis <= last; axis++) {
        struct pass_affine sum;
        if (!pass_affine_of(access->indices[axis], &sum))
            return false;
        columns->step = pass_affine_coefficient(&sum, columns->loop->symbol);
        if (axis < last && columns->step)
            return false;
    }
    return access->buffer->dtype != AKG_BOOL && columns->step > widest && columns->step <= LARGEST;
}

static bool note_load(struct ir_expr *expr, void *context)
{
    struct columns *columns = context;

    if (expr->kind != IR_LOAD)
        return true;
    if (expr->access.buffer == columns->store->access.buffer)
        *(pass_compare(&expr->access, &columns->store->access) == PASS_SAME ? &columns->own
                                                                            : &columns->others) += 1;
    else if (pass_access_mentions(&expr->access, columns->loop->symbol))
        *(pass_is_unit(&expr->access, columns->loop->symbol) ? &columns->along : &columns->across) += 1;
    return true;
}

static bool is_of_outside(struct ir_expr *expr, void *context)
{
    const struct columns *columns = context;

    for (const struct ir_stmt *stmt = columns->loop->body; stmt; stmt = stmt->next)
        if (expr->kind == IR_SYMBOL && stmt->symbol == expr->symbol)
            return false;
    return expr->kind != IR_LOAD;
}

static bool is_candidate(struct columns *columns)
{
    const struct ir_stmt *loop = columns->loop;

    if (loop->kind != IR_FOR || loop->hint || loop->step != 1 || !find_store(columns) ||
        !columns->store->access.buffer->rank || !lies_apart(columns) || !pass_is_pure(loop->low) ||
        !pass_is_pure(loop->high))
        return false;
    for (int axis = 0; axis < columns->store->access.buffer->rank; axis++)
        if (!ir_expr_walk(columns->store->access.indices[axis], is_of_outside, columns))
            return false;
    ir_block_expressions(loop->body, note_load, columns);
    return columns->along && !columns->across && !columns->others && !pass_jumps(loop->body) &&
           !pass_block_may_stop(loop->body) && pass_is_parallel(columns->pass, columns->loop);
}

/* ---- the change ---------------------------------------------------------------------------------- */

static struct ir_expr *distance(struct columns *columns, struct ir_expr *to)
{
    struct ir_expr *low = columns->loop->low;

    if (low->kind == IR_INTEGER && low->integer == 0)
        return to;
    return ir_operation(columns->pass->kernel, OP_SUB, to, pass_copy(columns->pass, low), NULL);
}

/* No longer than there are elements with the step between them: bounds that no iteration of the loops around
 * is asked for may be anything. */
static struct ir_expr *extent_of_row(struct columns *columns)
{
    struct ir_kernel *kernel = columns->pass->kernel;
    const struct ir_buffer *stored = columns->store->access.buffer;
    struct ir_expr *all =
        ir_operation(kernel, OP_ADD, pass_copy(columns->pass, stored->shape[stored->rank - 1]),
                     ir_integer(kernel, AKG_INT64, columns->step - 1), NULL);
    struct ir_expr *elements =
        ir_operation(kernel, OP_FLOORDIV, all, ir_integer(kernel, AKG_INT64, columns->step), NULL);

    if (!pass_is_of_call(columns->loop->low) || !pass_is_of_call(columns->loop->high))
        return elements;
    struct ir_expr *iterations = distance(columns, pass_copy(columns->pass, columns->loop->high));
    return ir_operation(kernel, OP_MIN, elements,
                        ir_operation(kernel, OP_MAX, ir_integer(kernel, AKG_INT64, 0), iterations, NULL),
                        NULL);
}

static void add_row(struct columns *columns)
{
    const struct ir_buffer *stored = columns->store->access.buffer;

    columns->row = ir_buffer_new(columns->pass->kernel, "row", IR_TEMPORARY, stored->dtype, 1);
    columns->row->span = columns->loop->span;
    columns->row->shape[0] = extent_of_row(columns);
}

/* What the row has for the iteration. */
static struct ir_access place_in_row(struct columns *columns)
{
    struct ir_expr *index = distance(columns, ir_symbol_use(columns->pass->kernel, columns->loop->symbol));
    struct ir_expr *load = ir_load(columns->pass->kernel, columns->row, &index);

    load->access.checks[0] = IR_CHECK_PROVED;
    return load->access;
}

static bool take_from_row(struct ir_expr *expr, void *context)
{
    struct columns *columns = context;

    if (expr->kind == IR_LOAD && expr->access.buffer == columns->store->access.buffer)
        expr->access = place_in_row(columns);
    return true;
}

/* A loop like the columns that moves one element of each. */
static struct ir_stmt *copies(struct columns *columns, const struct ir_access *to,
                              const struct ir_access *from)
{
    struct ir_stmt *store = ir_stmt_new(columns->pass->kernel, IR_STORE, columns->store->span);

    store->access = *to;
    pass_set_value(store, pass_load(columns->pass, from, columns->store->span));
    return pass_new_loop(columns->pass, columns->loop, store);
}

/* The row, filled if anything loads it, stands before the loop, and what empties it behind. */
static struct ir_stmt *put_aside(struct columns *columns)
{
    struct pass *pass = columns->pass;
    struct ir_stmt *allocate = ir_stmt_new(pass->kernel, IR_ALLOCATE, columns->loop->span);
    struct ir_stmt *loop = columns->loop, *store = columns->store, **end = &allocate->next;
    struct ir_access apart = store->access, place;

    add_row(columns);
    allocate->access.buffer = columns->row;
    ir_block_expressions(loop->body, take_from_row, columns);
    if (columns->own) {
        struct ir_expr *element = pass_load(pass, &apart, store->span);
        place = place_in_row(columns);
        *end = copies(columns, &place, &element->access);
        end = &(*end)->next;
    }
    *end = loop;
    place = store->access = place_in_row(columns);
    struct ir_stmt *behind = copies(columns, &apart, &place);
    behind->next = loop->next;
    loop->next = behind;
    return allocate;
}

static bool visit_block(struct pass *pass, struct ir_stmt **place, int depth)
{
    bool changed = false;

    for (; *place && depth < DEEPEST; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        struct columns columns = {.pass = pass, .loop = stmt};
        changed |= visit_block(pass, &stmt->body, depth + 1);
        changed |= visit_block(pass, &stmt->otherwise, depth + 1);
        if (!is_candidate(&columns))
            continue;
        *place = put_aside(&columns);
        place = &stmt->next; /* what empties the row */
        changed = true;
    }
    return changed;
}

bool pass_aside(struct pass *pass)
{
    return pass->target != X86_TARGET_NONE && visit_block(pass, &pass->kernel->body, 0);
}
