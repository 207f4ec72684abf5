/*
 * vector_rows.c: a loop around a vector loop, as part of it: for images of short rows the call of each row
 * costs more than the row. So does putting partial results together: what columns accumulate goes on from row
 * to row.
 *
 *     for rows { lets; for columns { ... } }
 *
 * Consumes such a loop of an analysed kernel, whose columns vector_build.c turns into values; produces the
 * same values with the distances of the streams from row to row. The machine code goes through the rows in
 * their order, so nothing is asked of them but that whatever the columns are handed is the same for all rows,
 * but for the addresses, which are linear in the row. Rows, or columns, may be those of several loops that
 * vector_merge.c found to be one: the distances are those of the innermost.
 */
#include "vector_build.h"

bool vector_rows_shape(const struct ir_stmt *rows, struct vector_nest *nest)
{
    const struct ir_stmt *columns = rows->body;
    while (columns && columns->kind == IR_LET)
        columns = columns->next;
    *nest = (struct vector_nest){.loops = {rows, columns}, .depth = VECTOR_DEPTHS};
    return columns && columns->kind == IR_FOR && !columns->next && rows->step == 1 && columns->step == 1 &&
           !ir_block_has_loop(columns->body);
}

static bool values_stay(const struct vector_builder *rows, const struct vector_loop *loop)
{
    for (int k = 0; k < loop->arguments.count; k++) {
        const struct vector_argument *argument = &loop->arguments.items[k];
        if (argument->kind == VECTOR_ARGUMENT_ALIGNMENT ||
            ((argument->kind == VECTOR_ARGUMENT_VALUE || argument->kind == VECTOR_ARGUMENT_LOGARITHM_REST) &&
             !vector_is_invariant(rows, argument->value)))
            return false;
    }
    return true;
}

static int add_argument(struct vector_builder *rows, enum vector_argument_kind kind, int stream)
{
    return vector_argument_new(rows,
                               (struct vector_argument){kind, stream, -1, NULL, VECTOR_ROWS, NULL, NULL});
}

/* Indices that are no linear function of the row must be picked. */
static bool pick_rows(struct vector_builder *rows, int stream)
{
    const struct ir_access *access = rows->loop->streams.items[stream].access;
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (!vector_is_linear(rows, access->indices[axis]) && !vector_pick(rows, stream, axis))
            return false;
    return true;
}

static bool is_zero(struct vector_slope slope)
{
    return slope.linear && slope.constant && slope.value == 0;
}

/* Whether an index hangs on the row, and on the column not. */
static bool is_apart(const struct vector_builder *rows, const struct ir_access *access)
{
    struct vector_builder columns = *rows;
    columns.stmt = rows->nest->loops[VECTOR_COLUMNS];
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct vector_slope slope = vector_slope_of(rows, access->indices[axis]);
        if (slope.linear && slope.constant && slope.value &&
            is_zero(vector_slope_of(&columns, access->indices[axis])))
            return true;
    }
    return false;
}

/* Where the row of each stream begins, and how far it is to the next one. Those that rows are picked by come
 * along behind the others. */
static bool add_streams(struct vector_builder *rows)
{
    struct vector_loop *loop = rows->loop;
    for (int k = 0; k < loop->streams.count; k++) {
        if (!pick_rows(rows, k))
            return false;
        struct vector_stream *stream = &loop->streams.items[k];
        struct vector_stride *strides = stream->strides;
        if (!vector_stride(rows, stream->access, VECTOR_ROWS, &strides[VECTOR_ROWS]) ||
            !vector_stride(rows, stream->access, VECTOR_COLUMNS, &strides[VECTOR_COLUMNS]))
            return false;
        /* along the last axis too the elements of a tensor with strides may lie apart */
        if (strides[VECTOR_ROWS].kind == VECTOR_STRIDE && !stream->access->buffer->contiguous)
            strides[VECTOR_ROWS].kind = VECTOR_RUN_TIME_STRIDE;
        if (strides[VECTOR_ROWS].kind == VECTOR_RUN_TIME_STRIDE)
            strides[VECTOR_ROWS].slot = add_argument(rows, VECTOR_ARGUMENT_STRIDE, k);
        stream->is_apart = is_apart(rows, stream->access);
        stream->state = add_argument(rows, VECTOR_ARGUMENT_STATE, k);
    }
    return vector_goes_on(rows, rows->stmt->body);
}

/* What columns accumulate, rows do: nothing else is between them that could ask for it. */
static bool only_accumulates(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->accumulators.count; k++)
        if (loop->accumulators.items[k].role != VECTOR_REDUCED || !loop->accumulators.items[k].symbol)
            return false;
    return true;
}

static bool scatters(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_SCATTER)
            return true;
    return false;
}

/* Whether it is one index from row to row, or it is not known: where it is more, elements between are left
 * out. */
static bool goes_by_one(const struct vector_builder *rows, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct vector_slope slope = vector_slope_of(rows, access->indices[axis]);
        if (slope.linear && slope.constant && (slope.value > 1 || slope.value < -1))
            return false;
    }
    return true;
}

/* Whether columns of several rows may be columns of one: each element is where the one before it ends, or a
 * step behind it (lanes that say where theirs is count from the beginning of the row), and nothing hangs on
 * the number of the column. `in_any_order`: no row asks for what another one stored. */
static bool is_flat(const struct vector_builder *rows, bool in_any_order)
{
    const struct vector_loop *loop = rows->loop;
    if (scatters(loop))
        return false;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        bool is_known = stream->step_kind == VECTOR_UNIT || stream->step_kind == VECTOR_CONSTANT_STEP;
        if (!is_known || stream->is_gathered || (stream->is_stored && !in_any_order) ||
            stream->strides[VECTOR_ROWS].kind == VECTOR_STAYS || !goes_by_one(rows, stream->access))
            return false;
    }
    for (int k = 0; k < loop->arguments.count; k++)
        if (loop->arguments.items[k].kind == VECTOR_ARGUMENT_FIRST)
            return false;
    return !loop->picks.count;
}

/* ---- rows beside each other -------------------------------------------------------------------------- */

struct search {
    const struct ir_symbol *symbol;
    int depth;
};

static bool is_other(struct ir_expr *expr, void *context)
{
    enum { DEEPEST = 8 };
    struct search *search = context, inside = {search->symbol, search->depth + 1};
    if (expr->kind != IR_SYMBOL)
        return true;
    bool is_name = expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value && search->depth < DEEPEST;
    return expr->symbol != search->symbol &&
           !(is_name && !ir_expr_walk(expr->symbol->value, is_other, &inside));
}

/* Whether rows lie one behind the other in one axis, as the butterflies of a transform do. */
static bool lies_in_line(const struct ir_access *access, const struct ir_symbol *row)
{
    struct search search = {row, 0};
    return access->buffer->rank &&
           !ir_expr_walk(access->indices[access->buffer->rank - 1], is_other, &search);
}

bool vector_stores_beside(const struct vector_loop *loop, const struct ir_symbol *row)
{
    for (int store = 0; store < loop->streams.count; store++)
        for (int load = 0; load < loop->streams.count; load++) {
            const struct vector_stream *stored = &loop->streams.items[store],
                                       *loaded = &loop->streams.items[load];
            if (stored->is_stored && loaded->is_loaded && stored != loaded && !loaded->is_gathered &&
                stored->access->buffer == loaded->access->buffer && lies_in_line(stored->access, row))
                return true;
        }
    return false;
}

/* ---- all --------------------------------------------------------------------------------------------- */

struct vector_loop *vector_rows_build(struct arena *arena, struct vector_nest *nest, bool in_any_order,
                                      const struct dependence_loop *verdict,
                                      const struct dependences *dependences,
                                      const struct vector_options *options)
{
    struct vector_builder rows = {
        .arena = arena, .stmt = nest->loops[VECTOR_ROWS], .options = options, .mask = -1, .nest = nest};
    if (vector_lets_may_stop(nest->loops[VECTOR_ROWS]->body, options))
        return NULL;
    const struct ir_stmt *columns = nest->loops[VECTOR_COLUMNS];
    /* a few columns are worth it where rows of them are one */
    bool is_worth_it = !vector_is_short(columns) || vector_loops_merge(arena, rows.stmt, NULL);
    rows.loop = is_worth_it ? vector_build_any(arena, columns, verdict, dependences, options) : NULL;
    if (!rows.loop || !only_accumulates(rows.loop) || rows.loop->stops || rows.loop->reaches.count ||
        (!vector_foreseen_extent(columns) && vector_stores_beside(rows.loop, rows.stmt->symbol)) ||
        !vector_bounds_stay(&rows) || !values_stay(&rows, rows.loop) || !add_streams(&rows))
        return NULL;
    rows.loop->stmt = rows.stmt;
    rows.loop->nest = nest;
    rows.loop->arguments.items[0].level = VECTOR_COLUMNS;
    nest->state = add_argument(&rows, VECTOR_ARGUMENT_COUNT, -1);
    for (int k = 0; k < rows.loop->arguments.count; k++)
        if (rows.loop->arguments.items[k].kind == VECTOR_ARGUMENT_FIRST)
            rows.loop->arguments.items[k].level = VECTOR_COLUMNS;
    nest->index = add_argument(&rows, VECTOR_ARGUMENT_STATE, -1);
    nest->is_flat = is_flat(&rows, in_any_order);
    return rows.loop;
}
