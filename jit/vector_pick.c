/*
 * vector_pick.c: rows that are picked by an index from a tensor: `y[k, d] = x[index[k] % n, d]`.
 *
 * Consumes the streams of columns (vector_rows.c) whose address is no linear function of the row; produces,
 * for each of them, where its index comes from: an element of a tensor that goes along with the rows, perhaps
 * modulo what is the same for all rows. The index is tested before anything of its row is done; where it is
 * outside, the code ends before the row, and the loop in C goes on from there and stops where the program
 * does.
 */
#include "vector_build.h"

/* ---- what stops -------------------------------------------------------------------------------- */

static bool is_picked(const struct vector_loop *loop, const struct ir_access *access, int axis)
{
    for (int k = 0; k < loop->picks.count; k++) {
        const struct vector_pick *pick = &loop->picks.items[k];
        if (pick->axis == axis && loop->streams.items[pick->stream].access->buffer == access->buffer &&
            ir_expr_equal(pick->index, access->indices[axis]))
            return true;
    }
    return false;
}

static bool goes_on(const struct vector_builder *rows, const struct ir_expr *expr);

static bool access_goes_on(const struct vector_builder *rows, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        bool tested = access->checks[axis] == IR_CHECK_ELEMENT && !rows->options->trust_indices;
        if (!is_picked(rows->loop, access, axis) && (tested || !goes_on(rows, access->indices[axis])))
            return false;
    }
    return true;
}

/* Whether it stops nothing but by an index that is picked. */
static bool goes_on(const struct vector_builder *rows, const struct ir_expr *expr)
{
    if (expr->kind == IR_LOAD)
        return access_goes_on(rows, &expr->access);
    if (expr->kind != IR_OPERATION)
        return true;
    for (int k = 0; k < expr->count; k++)
        if (!goes_on(rows, expr->operands[k]))
            return false;
    return !expr->checked;
}

bool vector_goes_on(const struct vector_builder *rows, const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        if ((stmt->value && !goes_on(rows, stmt->value)) ||
            (stmt->kind == IR_STORE && !access_goes_on(rows, &stmt->access)) ||
            (stmt->kind == IR_FOR && (!goes_on(rows, stmt->low) || !goes_on(rows, stmt->high))) ||
            stmt->kind == IR_ASSERT || !vector_goes_on(rows, stmt->body) ||
            !vector_goes_on(rows, stmt->otherwise))
            return false;
    }
    return true;
}

/* ---- what is picked ---------------------------------------------------------------------------- */

static const struct ir_expr *without_cast(const struct ir_expr *expr, akg_dtype from, akg_dtype to)
{
    bool cast = expr->kind == IR_OPERATION && expr->operation == OP_CAST && expr->dtype == to &&
                expr->operands[0]->dtype == from;
    return cast ? expr->operands[0] : expr;
}

/* The load of what the index is made of, and its divisor or NULL; NULL: it is something else. */
static const struct ir_expr *find_load(const struct vector_builder *rows, const struct ir_expr *index,
                                       const struct ir_expr **divisor)
{
    const struct ir_expr *load = without_cast(index, AKG_INT32, AKG_INT64);
    *divisor = NULL;
    if (load->kind == IR_OPERATION && load->operation == OP_MOD && load->dtype == AKG_INT32) {
        *divisor = load->operands[1];
        load = load->operands[0];
    }
    if (load->kind != IR_LOAD || (load->dtype != AKG_INT32 && load->dtype != AKG_INT64) ||
        vector_stores_into(rows, load->access.buffer) || !access_goes_on(rows, &load->access) ||
        (*divisor && !vector_is_invariant(rows, *divisor)))
        return NULL;
    return load;
}

/* The stream of what is loaded for each row. */
static int add_source(struct vector_builder *rows, const struct ir_access *access)
{
    struct vector_loop *loop = rows->loop;
    struct vector_stream stream = {.access = access, .dtype = access->buffer->dtype, .is_loaded = true};
    int number = loop->streams.count;
    struct vector_stride columns;
    if (number >= VECTOR_STREAMS || !vector_stride(rows, access, VECTOR_COLUMNS, &columns) ||
        columns.kind != VECTOR_STAYS)
        return -1;
    stream.slot = vector_argument_new(
        rows, (struct vector_argument){VECTOR_ARGUMENT_ADDRESS, number, -1, NULL, 0, NULL, NULL});
    list_push(rows->arena, &loop->streams, stream);
    return number;
}

/* The access with 0 for the index. */
static const struct ir_access *without_index(struct vector_builder *rows, const struct ir_access *access,
                                             int axis)
{
    struct ir_access *copy = arena_new(rows->arena, struct ir_access);
    int rank = access->buffer->rank;
    *copy = *access;
    copy->indices = arena_array(rows->arena, struct ir_expr *, rank);
    copy->checks = arena_array(rows->arena, enum ir_check, rank);
    for (int k = 0; k < rank; k++) {
        copy->indices[k] = access->indices[k];
        copy->checks[k] = k == axis ? IR_CHECK_PROVED : access->checks[k];
    }
    copy->indices[axis] = arena_new(rows->arena, struct ir_expr);
    *copy->indices[axis] = (struct ir_expr){.kind = IR_INTEGER, .dtype = AKG_INT64};
    return copy;
}

static int add_argument(struct vector_builder *rows, enum vector_argument_kind kind, int stream,
                        const struct ir_expr *value, int level)
{
    return vector_argument_new(rows, (struct vector_argument){kind, stream, -1, value, level, NULL, NULL});
}

bool vector_pick(struct vector_builder *rows, int number, int axis)
{
    struct vector_loop *loop = rows->loop;
    const struct ir_access *access = loop->streams.items[number].access;
    const struct ir_expr *divisor, *load = find_load(rows, access->indices[axis], &divisor);
    struct vector_pick pick = {
        .stream = number, .axis = axis, .index = access->indices[axis], .divisor = -1, .extent = -1};
    /* the columns go along the last axis, and rows lie behind each other */
    if (!load || axis == access->buffer->rank - 1 || !access->buffer->contiguous)
        return false;
    pick.from = add_source(rows, &load->access);
    if (pick.from < 0)
        return false;
    if (divisor)
        pick.divisor = add_argument(rows, VECTOR_ARGUMENT_VALUE, -1, divisor, 0);
    if (access->checks[axis] == IR_CHECK_ELEMENT && !rows->options->trust_indices)
        pick.extent = add_argument(rows, VECTOR_ARGUMENT_EXTENT, number, NULL, axis);
    pick.pitch = add_argument(rows, VECTOR_ARGUMENT_PITCH, number, NULL, axis);
    loop->streams.items[number].access = without_index(rows, access, axis);
    list_push(rows->arena, &loop->picks, pick);
    loop->stops = true;
    return true;
}
