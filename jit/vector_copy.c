/*
 * vector_copy.c: loops around short rows that are copied from one tensor to another.
 *
 *     for i { for j { for u { for v in 0..8 { y[i, j, u, v] = x[i * 8 + u, j * 8 + v] } } } }
 *
 * Consumes such loops of an analysed kernel, which hold nothing else; produces a nest without values, whose
 * slots are what copy_nest.h asks for. Of a row of a few elements more time goes into finding its place than
 * into copying it; there the places of all rows are known by two distances for each loop. The order is that
 * of the program, and rows lie in two tensors, so nothing is asked of dependences.
 */
#include "copy_nest.h"
#include "vector_build.h"

/* Bytes of rows that are short: others are better off as vector loops, which look ahead in memory. */
enum { SHORT_BYTES = 256 };

/* The only loop or store of the block, behind names; NULL: there is more. */
static const struct ir_stmt *only_statement(const struct ir_stmt *first)
{
    while (first && first->kind == IR_LET)
        first = first->next;
    return first && !first->next ? first : NULL;
}

/* The loops, and the store in them; NULL: they are none of those. */
static const struct ir_stmt *find_shape(const struct ir_stmt *stmt, struct vector_nest *nest)
{
    int depth = 0;
    for (; stmt && stmt->kind == IR_FOR; stmt = only_statement(stmt->body)) {
        if (depth == VECTOR_LEVELS || stmt->step < 1 || stmt->step > VECTOR_LARGEST_STEP)
            return NULL;
        nest->loops[depth++] = stmt;
    }
    nest->depth = depth;
    bool copies = stmt && stmt->kind == IR_STORE && stmt->value->kind == IR_LOAD && depth > 1 &&
                  nest->loops[depth - 1]->step == 1;
    if (!copies)
        return NULL;
    const struct ir_buffer *to = stmt->access.buffer, *from = stmt->value->access.buffer;
    /* halves and bools are converted when they are stored */
    bool is_plain = to->dtype == from->dtype && !dtype_is_half(to->dtype) && to->dtype != AKG_BOOL;
    return is_plain && to != from && to->contiguous && to->rank && from->rank ? stmt : NULL;
}

/* Whether nothing of the access is tested, and the innermost loop goes along its last axis. */
static bool is_row(const struct vector_builder *builder, const struct ir_access *access)
{
    struct vector_builder row = *builder;
    row.stmt = builder->nest->loops[builder->nest->depth - 1];
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct vector_slope slope = vector_slope_of(&row, access->indices[axis]);
        bool tested = access->checks[axis] == IR_CHECK_ELEMENT && !builder->options->trust_indices;
        if (tested || vector_may_stop(access->indices[axis], builder->options) || !slope.linear ||
            !slope.constant || slope.value != (axis == access->buffer->rank - 1))
            return false;
    }
    return true;
}

static bool names_go_on(const struct vector_builder *builder)
{
    for (int level = 0; level < builder->nest->depth; level++)
        if (vector_lets_may_stop(builder->nest->loops[level]->body, builder->options))
            return false;
    return true;
}

static int add_argument(struct vector_builder *builder, enum vector_argument_kind kind, int stream, int level)
{
    return vector_argument_new(builder, (struct vector_argument){kind, stream, -1, NULL, level, NULL, NULL});
}

static void add_stream(struct vector_builder *builder, const struct ir_access *access, bool is_stored)
{
    struct vector_stream stream = {.access = access,
                                   .dtype = access->buffer->dtype,
                                   .step_kind = VECTOR_UNIT,
                                   .assumed = !access->buffer->contiguous,
                                   .is_stored = is_stored,
                                   .is_loaded = !is_stored};
    stream.slot = add_argument(builder, VECTOR_ARGUMENT_ADDRESS, builder->loop->streams.count, 0);
    list_push(builder->arena, &builder->loop->streams, stream);
}

/* How far it is from one iteration of each loop to the next; false where that is not the same for all. */
static bool add_strides(struct vector_builder *builder)
{
    struct vector_stride stride;
    for (int level = 0; level < builder->nest->depth - 1; level++)
        for (int stream = 0; stream < 2; stream++) {
            if (!vector_stride(builder, builder->loop->streams.items[stream].access, level, &stride))
                return false;
            add_argument(builder, VECTOR_ARGUMENT_STRIDE, stream, level);
        }
    return true;
}

/* Whether all loops are one row, from element to element, or may turn out to be in a call. */
static bool is_one_row(const struct vector_builder *builder)
{
    const struct vector_nest *nest = builder->nest;
    vector_equals equals = {.count = 0};
    for (int level = 0; level < nest->depth - 1; level++)
        if (!vector_loops_merge(builder->arena, nest->loops[level], &equals))
            return false;
    return true;
}

struct vector_loop *vector_copy_build(struct arena *arena, const struct ir_stmt *stmt,
                                      const struct vector_options *options)
{
    struct vector_nest *nest = arena_new(arena, struct vector_nest);
    *nest = (struct vector_nest){.index = -1};
    struct vector_builder builder = {
        .arena = arena, .stmt = stmt, .options = options, .mask = -1, .nest = nest};
    const struct ir_stmt *store = find_shape(stmt, nest);
    if (!store)
        return NULL;
    const struct ir_stmt *row = nest->loops[nest->depth - 1];
    int known = vector_foreseen_extent(row), size = dtype_table[store->access.buffer->dtype].size;
    bool is_known = !row->open && row->low->kind == IR_INTEGER && row->high->kind == IR_INTEGER;
    if ((is_known && (!known || known * size > SHORT_BYTES)) || is_one_row(&builder) ||
        !is_row(&builder, &store->access) || !is_row(&builder, &store->value->access) ||
        !names_go_on(&builder) || !vector_bounds_stay(&builder))
        return NULL;
    builder.loop = arena_new(arena, struct vector_loop);
    builder.loop->stmt = stmt;
    builder.loop->nest = nest;
    builder.loop->copies = builder.loop->is_beside = true;
    builder.loop->most = is_known ? 0 : SHORT_BYTES / size;
    for (int level = 0; level < nest->depth; level++)
        add_argument(&builder, VECTOR_ARGUMENT_COUNT, -1, level);
    add_stream(&builder, &store->access, true);
    add_stream(&builder, &store->value->access, false);
    return add_strides(&builder) ? builder.loop : NULL;
}

/* What the last index of the access grows by with the loop of that level; -1: that is not known. */
static int64_t along_level(const struct vector_builder *builder, const struct ir_access *access, int level)
{
    struct vector_builder loop = *builder;
    loop.stmt = builder->nest->loops[level];
    struct vector_slope slope = vector_slope_of(&loop, access->indices[access->buffer->rank - 1]);
    return slope.linear && slope.constant ? slope.value : -1;
}

bool vector_copy_suits(struct arena *arena, const struct ir_stmt *stmt, const struct vector_options *options)
{
    /* elements of a row, and of each iteration: vectors of these are put in order for the lanes */
    enum { FEW = 4, FEW_TOGETHER = 16 };
    const struct vector_loop *copy = vector_copy_build(arena, stmt, options);
    if (!copy)
        return false;
    struct vector_nest nest = *copy->nest;
    struct vector_builder builder = {.arena = arena, .options = options, .mask = -1, .nest = &nest};
    int64_t apart = along_level(&builder, copy->streams.items[1].access, 0), together = 1;
    for (int level = nest.depth - 1; level > 0; level--) {
        if (along_level(&builder, copy->streams.items[0].access, level) != together)
            break;
        together *= vector_foreseen_extent(nest.loops[level]);
    }
    int row = vector_foreseen_extent(nest.loops[nest.depth - 1]);
    return apart < 1 || apart > FEW || row == 0 || row > FEW || together == 0 || together > FEW_TOGETHER;
}
