/*
 * vector_serial.c: a loop whose iterations hang on each other, as values of one lane.
 *
 *     for i { acc = acc * a + x[i]; y[i] = acc }
 *
 * Consumes an innermost loop of an analysed kernel; produces the values of one iteration in the order of the
 * program. What an iteration hands on to the next one, scalars declared outside and the loop variable where
 * its value counts, are accumulators: VECTOR_TOTAL is what one holds when the iteration begins, VECTOR_SET
 * what it holds for the next. Loads and stores keep their order, so elements may be handed on too.
 *
 * It gives up on what vector_build.c gives up on, but for dependences.
 */
#include "vector_build.h"

/* ---- what is handed on ------------------------------------------------------------------------- */

static int add_accumulator(struct vector_builder *builder, struct vector_accumulator row,
                           enum vector_argument_kind kind)
{
    struct vector_loop *loop = builder->loop;
    struct vector_argument argument = {kind, -1, loop->accumulators.count, NULL, 0, NULL, NULL};
    struct vector_value total = vector_blank(VECTOR_TOTAL, row.dtype);
    row.type = vector_type_of(row.dtype);
    if (row.type == VECTOR_MASK)
        return vector_refuse(builder);
    total.slot = loop->accumulators.count;
    row.slot = vector_argument_new(builder, argument);
    list_push(builder->arena, &loop->accumulators, row);
    return vector_add(builder, total);
}

/* The scalars of the outside that the block assigns. */
static void find_carried(struct vector_builder *builder, const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt && !builder->refused; stmt = stmt->next) {
        if (stmt->kind == IR_ASSIGN && !vector_scalar(builder, stmt->symbol) &&
            !vector_is_declared(builder->stmt, stmt->symbol)) {
            struct vector_accumulator row = {
                .symbol = stmt->symbol, .dtype = stmt->symbol->dtype, .operation = OPERATION_COUNT};
            vector_declare(builder, stmt->symbol, add_accumulator(builder, row, VECTOR_ARGUMENT_ACCUMULATOR));
        }
        find_carried(builder, stmt->body);
        find_carried(builder, stmt->otherwise);
    }
}

int vector_serial_index(struct vector_builder *builder)
{
    struct vector_value total = vector_blank(VECTOR_TOTAL, AKG_INT64);
    total.slot = builder->index - 1;
    if (builder->index)
        return vector_add(builder, total);
    builder->index = builder->loop->accumulators.count + 1;
    struct vector_accumulator row = {.dtype = AKG_INT64, .operation = OPERATION_COUNT};
    return add_accumulator(builder, row, VECTOR_ARGUMENT_FIRST);
}

/* What the next iteration finds. */
static void hand_on(struct vector_builder *builder)
{
    struct vector_loop *loop = builder->loop;
    for (int k = 0; k < loop->accumulators.count; k++) {
        const struct vector_accumulator *row = &loop->accumulators.items[k];
        struct vector_value effect = vector_blank(VECTOR_SET, row->dtype);
        effect.slot = k;
        if (k == builder->index - 1) {
            union dtype_value step = {.i = builder->stmt->step};
            effect.operands[0] =
                vector_operation(builder, OP_ADD, AKG_INT64, AKG_INT64, vector_serial_index(builder),
                                 vector_constant(builder, AKG_INT64, step), -1);
        } else {
            effect.operands[0] = *vector_scalar(builder, row->symbol);
        }
        vector_add(builder, effect);
    }
}

/* ---- all ----------------------------------------------------------------------------------------- */

bool vector_goes_down_columns(const struct vector_loop *loop)
{
    enum { LITTLE = 2 /* operations for each of them */ };
    int apart = 0, operations = 0;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool is_element = value->kind == VECTOR_LOAD || value->kind == VECTOR_STORE;
        if (vector_latency(value) > 1 || vector_has_effect(value->kind) != (value->kind == VECTOR_STORE))
            return false;
        if (is_element && loop->streams.items[value->stream].step_kind != VECTOR_RUN_TIME_STEP)
            return false;
        apart += is_element;
        operations += value->kind == VECTOR_OPERATION;
    }
    return apart > 0 && operations <= LITTLE * apart && !loop->accumulators.count && !loop->calls;
}

struct vector_loop *vector_serial_build(struct arena *arena, const struct ir_stmt *stmt,
                                        const struct vector_options *options)
{
    struct vector_memo memo = {.answered = 0};
    struct vector_builder builder = {
        .arena = arena, .stmt = stmt, .options = options, .mask = -1, .is_serial = true, .memo = &memo};
    if (vector_count_statements(stmt->body, VECTOR_STATEMENTS) > VECTOR_STATEMENTS || vector_is_short(stmt) ||
        vector_step_is_large(stmt))
        return NULL;
    builder.loop = arena_new(arena, struct vector_loop);
    builder.loop->stmt = stmt;
    builder.loop->is_serial = true;
    builder.loop->count = vector_argument_new(
        &builder, (struct vector_argument){VECTOR_ARGUMENT_COUNT, -1, -1, NULL, 0, NULL, NULL});
    find_carried(&builder, stmt->body);
    vector_statements(&builder, stmt->body);
    if (!builder.refused)
        hand_on(&builder);
    if (!builder.refused)
        vector_shorten(&builder);
    if (builder.refused)
        return NULL;
    if (!options->strict)
        vector_fuse(&builder);
    vector_sweep(&builder);
    return builder.loop->values.count ? builder.loop : NULL;
}
