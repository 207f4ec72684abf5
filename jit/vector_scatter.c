/*
 * vector_scatter.c: elements that are found by what is computed, and changed: `count[bin(x[i])] += 1`, or
 * overwritten: `y[place[i]] = x[i]`.
 *
 * Consumes a store of which some index is no linear function of the loop variable, into what the loop does
 * not mention but to accumulate into such elements; produces VECTOR_SCATTER: the indices and what is
 * accumulated are computed for all lanes at once, and then the elements changed lane by lane, in the order of
 * the program, so that lanes may meet in one element. Several statements may accumulate into one tensor by
 * one operation (`y[at] += x[i] * (1 - f); y[at + 1] += x[i] * f`): all but the last of these wait for it,
 * and then each lane does what they all say before the next one does.
 *
 * Where the index is to be tested it is tested for all lanes before any of them changes anything. If one of
 * them is outside, the code ends there, and the C loop does the rest and stops where the program does. That
 * takes that the loop has no other effect than what is done at the end of the lanes' turn: scatters into
 * several tensors (`sum[at[i]] += x[i]; count[at[i]] += 1`) wait for the last one.
 *
 * In straight code, which is one lane in the order of the program, any such store is one that overwrites.
 */
#include "vector_build.h"

/* The operand of what accumulates into the element; NULL: it is not `element = element op operand`. */
static const struct ir_expr *operand_of(const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;
    if (value->kind != IR_OPERATION || value->count != 2)
        return NULL;
    bool commutes = value->operation == OP_ADD || value->operation == OP_MUL ||
                    value->operation == OP_BITAND || value->operation == OP_BITOR ||
                    value->operation == OP_BITXOR;
    bool extreme = value->operation == OP_MIN || value->operation == OP_MAX;
    if ((commutes || extreme || value->operation == OP_SUB) && vector_is_target(stmt, value->operands[0]))
        return value->operands[1];
    return commutes && vector_is_target(stmt, value->operands[1]) ? value->operands[0] : NULL;
}

static bool is_known(const struct vector_builder *builder, const struct ir_access *access, int axis)
{
    return access->checks[axis] != IR_CHECK_ELEMENT || builder->options->trust_indices;
}

/* Whether all indices but the last are the same in all iterations, and not to be tested. */
static bool has_one_row(const struct vector_builder *builder, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank - 1; axis++)
        if (!is_known(builder, access, axis) || !vector_is_invariant(builder, access->indices[axis]))
            return false;
    return true;
}

/* Of iterations that may be run in any order, lanes that are masked must leave alone what others store. */
static bool overwrites(const struct vector_builder *builder, const struct ir_stmt *stmt)
{
    return !builder->is_parallel && !vector_mentions(builder, stmt);
}

/* By which operation it accumulates; differences are sums. */
static enum operation change_of(const struct ir_stmt *stmt)
{
    if (!operand_of(stmt))
        return OPERATION_COUNT;
    return stmt->value->operation == OP_SUB ? OP_ADD : stmt->value->operation;
}

/* Whether a branch of the block stores into the buffer. */
static bool branches_store_to(const struct ir_stmt *first, const struct ir_buffer *buffer)
{
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next)
        if (stmt->kind == IR_IF &&
            (ir_block_stores_to(stmt->body, buffer) || ir_block_stores_to(stmt->otherwise, buffer)))
            return true;
    return false;
}

static bool are_linear(const struct vector_builder *builder, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (!vector_is_linear(builder, access->indices[axis]))
            return false;
    return true;
}

/* Under a condition fewer indices are known before the loop, rows that are loaded say. The answer is one for
 * all that a loop does with a tensor: a scatter waits for the others. */
static bool is_linear(const struct vector_builder *builder, const struct ir_access *access)
{
    if (!are_linear(builder, access))
        return false;
    if (builder->mask >= 0 || !branches_store_to(builder->stmt->body, access->buffer))
        return true;
    struct vector_builder masked = *builder;
    masked.mask = 0;
    return are_linear(&masked, access);
}

/* How many statements of the block, in branches perhaps, accumulate by the operation into elements of the
 * buffer that are found by what is computed. */
static int count_changes(const struct vector_builder *builder, const struct ir_stmt *first,
                         const struct ir_buffer *buffer, enum operation operation)
{
    int count = 0;
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        count += stmt->kind == IR_STORE && stmt->access.buffer == buffer && change_of(stmt) == operation &&
                 !is_linear(builder, &stmt->access);
        count += count_changes(builder, stmt->body, buffer, operation) +
                 count_changes(builder, stmt->otherwise, buffer, operation);
    }
    return count;
}

/* Whether the loop does nothing else with the tensor. Each statement that changes it mentions it, and counts
 * twice for the others. */
static bool accumulates(const struct vector_builder *builder, const struct ir_stmt *stmt)
{
    enum operation operation = change_of(stmt);
    if (operation == OPERATION_COUNT)
        return false;
    int count = count_changes(builder, builder->stmt->body, stmt->access.buffer, operation);
    return vector_mentions(builder, stmt) == count + 2 * (count - 1);
}

bool vector_is_scatter(const struct vector_builder *builder, const struct ir_stmt *stmt)
{
    const struct ir_access *access = &stmt->access;
    if (stmt->kind != IR_STORE || builder->nest || (builder->is_serial && !builder->is_once) ||
        !access->buffer->rank || !access->buffer->contiguous || dtype_table[access->buffer->dtype].size < 4 ||
        is_linear(builder, access))
        return false;
    return builder->is_once ? builder->mask < 0 : accumulates(builder, stmt) || overwrites(builder, stmt);
}

/* `in_address`: axes whose index is the same for all lanes, and known before them. The row's first element,
 * which is not reached itself: the lanes test where they go. */
static int add_row(struct vector_builder *builder, const struct ir_access *access, const bool *in_address)
{
    struct vector_loop *loop = builder->loop;
    struct vector_stream stream = {.access = vector_origin(builder, access, in_address),
                                   .dtype = access->buffer->dtype};
    int number = loop->streams.count;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind == VECTOR_SCATTER &&
            ir_access_equal(loop->streams.items[value->stream].access, stream.access))
            return value->stream;
    }
    if (number >= VECTOR_STREAMS)
        return vector_refuse(builder);
    stream.slot = vector_argument_new(
        builder, (struct vector_argument){VECTOR_ARGUMENT_ADDRESS, number, -1, NULL, 0, NULL, NULL});
    stream.is_stored = stream.is_loaded = true;
    list_push(builder->arena, &loop->streams, stream);
    return number;
}

int vector_short_index(struct vector_builder *builder, const struct ir_expr *index)
{
    if (index->kind == IR_OPERATION && index->operation == OP_CAST &&
        !dtype_is_float(index->operands[0]->dtype) && index->operands[0]->dtype != AKG_UINT32 &&
        vector_type_of(index->operands[0]->dtype) == VECTOR_I32)
        index = index->operands[0];
    int quotient = index->dtype == AKG_INT64 && !vector_is_invariant(builder, index)
                       ? vector_small_quotient(builder, index)
                       : -1;
    return quotient < 0 ? vector_expression(builder, index) : quotient;
}

/* The index of the last axis, tested by the scatter itself. */
static void add_test(struct vector_builder *builder, const struct ir_access *access,
                     struct vector_value *value)
{
    bool wide = vector_type_is_wide(builder->loop->values.items[value->operands[1]].type);
    enum vector_argument_kind kind = wide ? VECTOR_ARGUMENT_EXTENT : VECTOR_ARGUMENT_EXTENT_32;
    value->slot =
        vector_argument_new(builder, (struct vector_argument){kind, value->stream, -1, NULL,
                                                              access->buffer->rank - 1, NULL, NULL});
}

/* The scatters so far into the buffer. */
static int count_placed(const struct vector_builder *builder, const struct ir_buffer *buffer)
{
    const struct vector_loop *loop = builder->loop;
    int count = 0;
    for (int k = 0; k < loop->values.count; k++)
        count += loop->values.items[k].kind == VECTOR_SCATTER &&
                 loop->streams.items[loop->values.items[k].stream].access->buffer == buffer;
    return count;
}

void vector_scatter(struct vector_builder *builder, const struct ir_stmt *stmt)
{
    const struct ir_access *access = &stmt->access;
    akg_dtype dtype = access->buffer->dtype;
    int last = access->buffer->rank - 1, indices[AKG_MAX_RANK];
    bool in_address[AKG_MAX_RANK], one_row = has_one_row(builder, access);
    struct vector_value value = vector_blank(VECTOR_SCATTER, dtype);
    const struct ir_expr *operand = !builder->is_once && accumulates(builder, stmt) ? operand_of(stmt) : NULL;
    if (operand)
        value.operation = stmt->value->operation;
    vector_lane_indices(builder, access, in_address, indices);
    if (builder->refused)
        return;
    for (int axis = 0; axis < last; axis++) /* the same in all lanes, and yet not there before the loop */
        one_row &= in_address[axis];
    for (int axis = 0; axis <= last; axis++) /* before what is tested in the operand */
        builder->loop->stops |= !is_known(builder, access, axis);
    value.operands[0] = vector_expression(builder, operand ? operand : stmt->value);
    if (builder->refused)
        return;
    if (value.operation == OP_SUB) {
        value.operation = OP_ADD;
        value.operands[0] = vector_operation(builder, OP_NEG, dtype, dtype, value.operands[0], -1, -1);
    }
    value.mask = builder->mask;
    value.stream = add_row(builder, access, in_address);
    value.operands[1] = one_row ? indices[last] : vector_distance(builder, access, value.stream, indices);
    if (builder->refused)
        return;
    if (one_row && !is_known(builder, access, last))
        add_test(builder, access, &value);
    value.waits = operand && count_placed(builder, access->buffer) + 1 <
                                 count_changes(builder, builder->stmt->body, access->buffer, change_of(stmt));
    vector_add(builder, value);
    builder->stores++;
}

/* Whether each scatter that waits is followed by one that does not. */
bool vector_scatters_end(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool ends = value->kind != VECTOR_SCATTER || !value->waits;
        for (int later = k + 1; later < loop->values.count && !ends; later++) {
            const struct vector_value *other = &loop->values.items[later];
            ends = other->kind == VECTOR_SCATTER && !other->waits &&
                   loop->streams.items[other->stream].access->buffer ==
                       loop->streams.items[value->stream].access->buffer;
        }
        if (!ends)
            return false;
    }
    return true;
}

/* Whether what may end early for a scatter has no effect before all is tested. Of scatters into several
 * tensors all but the last wait for it, then, for each of them tests its own indices. */
bool vector_scatters_late(struct vector_loop *loop)
{
    int effects = loop->accumulators.count, changes = 0;
    bool tests = false;
    struct vector_value *last = NULL;
    for (int k = 0; k < loop->values.count; k++) {
        struct vector_value *value = &loop->values.items[k];
        effects += value->kind == VECTOR_STORE;
        if (value->kind != VECTOR_SCATTER)
            continue;
        tests |= value->slot >= 0;
        changes += !value->waits;
        last = value;
    }
    if (!tests || effects + changes == 1)
        return true;
    for (int k = 0; k < loop->values.count && !effects; k++)
        if (loop->values.items[k].kind == VECTOR_SCATTER)
            loop->values.items[k].waits = &loop->values.items[k] != last;
    return !effects;
}
