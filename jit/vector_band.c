/*
 * vector_band.c: a loop around innermost loops, and the statements between them, as one piece.
 *
 *     for i { acc = b[i]; for k { acc = acc - l[i, k] * x[k] }; x[i] = acc / l[i, i] }
 *
 * Consumes a loop of an analysed kernel and the loops right inside as values; produces a band: these loops
 * and the stretches between them, as straight code of one lane, in the order of the program, all out of one
 * array of slots. So an iteration needs no C. Counts and addresses grow by the same distance from each
 * iteration to the next, by what C finds between the first two; scalars that one part hands to another, or
 * one iteration to the next, have a slot each.
 *
 * A small nest (vector_nest.c) whose extents are known is a part like a loop: it needs no guard.
 *
 * What is not linear in the loop variable, as of rows that an index out of a tensor picks and of loops whose
 * bounds are such, straight code before the loop computes.
 *
 * A condition around loops, as of rows that are left out or are others, is a jump over these.
 *
 * It gives up where some place may stop the kernel, and on what vector_serial.c gives up on.
 */
#include "pass.h"
#include "vector_build.h"

#include <limits.h>
#include <string.h>

enum { PARTS = 16, CELLS = 40 };

/* A scalar with a slot. */
struct cell {
    struct ir_symbol *symbol;
    int slot;
};

struct band_builder {
    struct arena *arena;
    const struct vector_options *options;
    struct vector_builder outer; /* for questions about expressions: of the loop around */
    struct vector_loop *loop;    /* the band; its arguments are those of all parts */
    struct vector_band *band;
    LIST(struct cell) cells;
    bool refused;
};

static void refuse(struct band_builder *builder)
{
    builder->refused = true;
}

/* ---- scalars ---------------------------------------------------------------------------------------- */

static const struct cell *cell_of(const struct band_builder *builder, const struct ir_symbol *symbol)
{
    for (int k = 0; k < builder->cells.count; k++)
        if (builder->cells.items[k].symbol == symbol)
            return &builder->cells.items[k];
    return NULL;
}

static int add_argument(struct band_builder *builder, struct vector_argument argument)
{
    list_push(builder->arena, &builder->loop->arguments, argument);
    return builder->loop->arguments.count - 1;
}

static int add_state(struct band_builder *builder)
{
    return add_argument(builder, (struct vector_argument){.kind = VECTOR_ARGUMENT_STATE});
}

static void add_cell(struct band_builder *builder, struct ir_symbol *symbol, bool is_carried)
{
    struct cell cell = {symbol, -1};
    if (cell_of(builder, symbol))
        return;
    if (builder->cells.count == CELLS || vector_type_of(symbol->dtype) == VECTOR_MASK) {
        refuse(builder);
        return;
    }
    if (is_carried) {
        struct vector_accumulator row = {.symbol = symbol,
                                         .operation = OPERATION_COUNT,
                                         .dtype = symbol->dtype,
                                         .type = vector_type_of(symbol->dtype)};
        row.slot = cell.slot =
            add_argument(builder, (struct vector_argument){.kind = VECTOR_ARGUMENT_ACCUMULATOR,
                                                           .accumulator = builder->loop->accumulators.count});
        list_push(builder->arena, &builder->loop->accumulators, row);
    } else {
        cell.slot = add_state(builder);
    }
    list_push(builder->arena, &builder->cells, cell);
}

static bool note_assignment(struct ir_stmt *stmt, void *context)
{
    struct band_builder *builder = context;
    if (stmt->kind == IR_ASSIGN && !vector_is_declared(builder->outer.stmt, stmt->symbol))
        add_cell(builder, stmt->symbol, true);
    return true;
}

struct mention {
    const struct ir_symbol *symbol;
    bool found;
};

static bool note_mention(struct ir_expr *expr, void *context)
{
    struct mention *mention = context;
    mention->found |= expr->kind == IR_SYMBOL && expr->symbol == mention->symbol;
    return !mention->found;
}

static bool note_assigned(struct ir_stmt *stmt, void *context)
{
    struct mention *mention = context;
    mention->found |= stmt->kind == IR_ASSIGN && stmt->symbol == mention->symbol;
    return !mention->found;
}

/* Whether what stands in another part than the declaration has to do with the symbol. */
static bool is_handed_on(const struct ir_stmt *declaration)
{
    struct mention mention = {declaration->symbol, false};
    const struct ir_stmt *loop = declaration;
    while (loop && loop->kind != IR_FOR && !vector_is_condition(loop))
        loop = loop->next;
    ir_block_expressions((struct ir_stmt *)loop, note_mention, &mention);
    ir_block_walk((struct ir_stmt *)loop, note_assigned, &mention);
    return mention.found;
}

static void find_handed_on(struct band_builder *builder, const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt && !builder->refused; stmt = stmt->next) {
        if ((stmt->kind == IR_LET || stmt->kind == IR_VARIABLE) && is_handed_on(stmt))
            add_cell(builder, stmt->symbol, false);
        if (vector_is_condition(stmt)) {
            find_handed_on(builder, stmt->body);
            find_handed_on(builder, stmt->otherwise);
        }
    }
}

static void find_cells(struct band_builder *builder)
{
    struct ir_stmt *body = builder->outer.stmt->body;
    ir_block_walk(body, note_assignment, builder);
    find_handed_on(builder, body);
}

/* ---- slots that move ----------------------------------------------------------------------------------- */

static bool is_constant(struct vector_slope slope)
{
    return slope.linear && slope.constant && slope.value == 0;
}

/* What all iterations have in common. */
static bool is_fixed(enum vector_argument_kind kind)
{
    return kind == VECTOR_ARGUMENT_STEP || kind == VECTOR_ARGUMENT_STRIDE || kind == VECTOR_ARGUMENT_PITCH ||
           kind == VECTOR_ARGUMENT_SPACING;
}

/* Whether the slot's value changes with the loop around; refuses where it is not linear in its variable. */
static bool changes(struct band_builder *builder, const struct vector_argument *argument)
{
    bool constant = true, linear = true;
    if (is_fixed(argument->kind))
        return false;
    if (argument->loop == builder->outer.stmt && !argument->access)
        return true; /* its variable */
    if (argument->access) {
        for (int axis = 0; axis < argument->access->buffer->rank; axis++) {
            struct vector_slope slope = vector_slope_of(&builder->outer, argument->access->indices[axis]);
            linear &= slope.linear;
            constant &= is_constant(slope);
        }
    } else {
        struct vector_slope low = vector_slope_of(&builder->outer, argument->loop->low);
        struct vector_slope high = vector_slope_of(&builder->outer, argument->loop->high);
        linear = low.linear && high.linear;
        constant = is_constant(low) && is_constant(high);
        if (!constant && argument->kind == VECTOR_ARGUMENT_COUNT && argument->loop->step != 1 &&
            argument->loop->step != -1)
            refuse(builder);
    }
    if (!linear)
        refuse(builder);
    return !constant;
}

static bool is_harmless_there(struct ir_expr *expr, void *loop_pointer)
{
    const struct ir_stmt *loop = loop_pointer;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET &&
        vector_is_declared(loop, expr->symbol))
        return ir_expr_walk(expr->symbol->value, is_harmless_there, loop_pointer);
    return vector_is_harmless_node(expr);
}

/* Whether C may compute the numbers though the iteration may not run what they are for. */
static bool are_harmless(const struct band_builder *builder, const struct vector_argument *argument)
{
    const struct ir_stmt *around = builder->outer.stmt, *loop = argument->loop;
    int rank = argument->access ? argument->access->buffer->rank : 0;
    for (int axis = 0; axis < rank; axis++)
        if (!ir_expr_walk(argument->access->indices[axis], is_harmless_there, (void *)around))
            return false;
    return loop == around || (ir_expr_walk(loop->low, is_harmless_there, (void *)around) &&
                              ir_expr_walk(loop->high, is_harmless_there, (void *)around));
}

/* The slot `at` holds what the argument says in each iteration; where the part overwrites it, out of another
 * slot. */
static void place_argument(struct band_builder *builder, int at, struct vector_argument argument,
                           bool is_overwritten)
{
    struct vector_moving moving = {at, -1, -1};
    int holder = at;
    bool moves = changes(builder, &argument);
    if (builder->band->conditions.count && !are_harmless(builder, &argument))
        refuse(builder);
    builder->loop->arguments.items[at] = argument;
    if (!moves && !is_overwritten)
        return;
    if (is_overwritten) {
        builder->loop->arguments.items[at].kind = VECTOR_ARGUMENT_STATE;
        moving.origin = holder = add_argument(builder, argument);
    }
    if (moves) {
        argument.kind = VECTOR_ARGUMENT_DELTA;
        argument.level = holder;
        argument.loop = builder->outer.stmt;
        moving.delta = add_argument(builder, argument);
    }
    list_push(builder->arena, &builder->band->moving, moving);
}

/* ---- straight code ------------------------------------------------------------------------------------- */

/* A builder whose slots are those of the band. */
static struct vector_builder begin_straight(struct band_builder *builder, bool is_guarded)
{
    struct vector_builder straight = builder->outer;
    straight.is_serial = straight.is_once = true;
    straight.is_guarded = is_guarded || builder->band->conditions.count;
    straight.loop = arena_new(builder->arena, struct vector_loop);
    straight.loop->stmt = builder->outer.stmt;
    straight.loop->is_serial = straight.loop->is_once = true;
    memcpy(&straight.loop->arguments, &builder->loop->arguments, sizeof straight.loop->arguments);
    for (int k = 0; k < builder->cells.count; k++) {
        const struct cell *cell = &builder->cells.items[k];
        struct vector_accumulator row = {.symbol = cell->symbol,
                                         .operation = OPERATION_COUNT,
                                         .dtype = cell->symbol->dtype,
                                         .type = vector_type_of(cell->symbol->dtype),
                                         .slot = cell->slot};
        struct vector_value total = vector_blank(VECTOR_TOTAL, row.dtype);
        total.slot = k;
        list_push(builder->arena, &straight.loop->accumulators, row);
        vector_declare(&straight, cell->symbol, vector_add(&straight, total));
    }
    return straight;
}

/* The value into a slot. */
static void set_slot(struct vector_builder *straight, int accumulator, int value)
{
    struct vector_value effect =
        vector_blank(VECTOR_SET, straight->loop->accumulators.items[accumulator].dtype);
    effect.slot = accumulator;
    effect.operands[0] = value;
    vector_add(straight, effect);
}

static bool is_total(const struct vector_builder *straight, int value, int accumulator)
{
    const struct vector_value *row = &straight->loop->values.items[value];
    return row->kind == VECTOR_TOTAL && row->slot == accumulator;
}

/* The part, unless nothing is left of it; `guard` as in struct vector_part. */
static void end_straight(struct band_builder *builder, struct vector_builder *straight, int guard)
{
    struct vector_loop *loop = straight->loop;
    int first = builder->loop->arguments.count;
    if (straight->refused) {
        refuse(builder);
        return;
    }
    if (!straight->options->strict)
        vector_fuse(straight);
    vector_sweep(straight);
    if (!loop->values.count)
        return;
    memcpy(&builder->loop->arguments, &loop->arguments, sizeof loop->arguments);
    for (int end = loop->arguments.count; first < end; first++) {
        struct vector_argument argument = loop->arguments.items[first];
        argument.loop = builder->outer.stmt;
        if (argument.stream >= 0)
            argument.access = loop->streams.items[argument.stream].access;
        if (argument.kind == VECTOR_ARGUMENT_ADDRESS || argument.kind == VECTOR_ARGUMENT_FIRST ||
            is_fixed(argument.kind))
            place_argument(builder, first, argument, false);
    }
    struct vector_part part = {loop, guard};
    list_push(builder->arena, &builder->band->parts, part);
}

/* The slot that the part sets. */
static void set_argument(struct vector_builder *straight, int at, akg_dtype dtype, int value)
{
    struct vector_accumulator row = {.dtype = dtype, .type = vector_type_of(dtype), .slot = at};
    int accumulator = straight->loop->accumulators.count;
    list_push(straight->arena, &straight->loop->accumulators, row);
    set_slot(straight, accumulator, value);
}

/* Into the slot whether the condition holds. */
static void set_condition(struct vector_builder *straight, int slot, const struct ir_expr *condition)
{
    int numbers[2], holds = vector_expression(straight, condition);
    for (int k = 0; k < 2; k++)
        numbers[k] = vector_constant(straight, AKG_INT64, (union dtype_value){.i = k});
    set_argument(straight, slot, AKG_INT64,
                 vector_operation(straight, OP_SELECT, AKG_INT64, AKG_INT64, holds, numbers[1], numbers[0]));
}

/* The statements up to the next loop, or condition around loops, which it gives; of a condition *slot tells
 * whether it holds. */
static const struct ir_stmt *add_stretch(struct band_builder *builder, const struct ir_stmt *stmt, int *slot)
{
    const struct ir_stmt *end = stmt;
    while (end && end->kind != IR_FOR && !vector_is_condition(end))
        end = end->next;
    *slot = end && vector_is_condition(end) ? add_state(builder) : -1;
    struct vector_builder straight = begin_straight(builder, false);
    for (; stmt != end && !straight.refused; stmt = stmt->next)
        if (stmt->kind != IR_ALLOCATE) /* there is nothing to clear */
            vector_statement(&straight, stmt);
    for (int k = 0; k < builder->cells.count && !straight.refused; k++) {
        int value = *vector_scalar(&straight, builder->cells.items[k].symbol);
        if (!is_total(&straight, value, k))
            set_slot(&straight, k, value);
    }
    if (*slot >= 0 && !straight.refused)
        set_condition(&straight, *slot, end->value);
    end_straight(builder, &straight, -1);
    return end;
}

/* ---- loops --------------------------------------------------------------------------------------------- */

static void renumber_nest(struct arena *arena, struct vector_loop *loop, int base)
{
    struct vector_nest *nest = arena_new(arena, struct vector_nest);
    *nest = *loop->nest;
    nest->counts += base;
    nest->state += base;
    nest->index += nest->index < 0 ? 0 : base;
    loop->nest = nest;
    for (int k = 0; k < loop->streams.count; k++) {
        struct vector_stream *stream = &loop->streams.items[k];
        stream->state += base;
        for (int level = 0; level < nest->depth; level++)
            stream->strides[level].slot += base;
    }
}

/* Its slots are numbered from `base` on. */
static void renumber(struct vector_loop *loop, int base)
{
    loop->count += base;
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_SCALAR || loop->values.items[k].kind == VECTOR_INDEX)
            loop->values.items[k].slot += base;
    for (int k = 0; k < loop->streams.count; k++)
        loop->streams.items[k].slot += base;
    for (int k = 0; k < loop->accumulators.count; k++)
        loop->accumulators.items[k].slot += base;
    for (int k = 0; k < loop->late.count; k++)
        for (int v = 0; v < loop->late.items[k].values.count; v++)
            if (loop->late.items[k].values.items[v].kind == VECTOR_SCALAR)
                loop->late.items[k].values.items[v].slot += base;
}

/* Scalars that the loop accumulates into are those of the band. */
static void share_accumulators(struct band_builder *builder, struct vector_loop *loop)
{
    for (int k = 0; k < loop->accumulators.count; k++) {
        struct vector_accumulator *row = &loop->accumulators.items[k];
        const struct cell *cell = row->symbol ? cell_of(builder, row->symbol) : NULL;
        if (row->access || (row->symbol && !cell))
            refuse(builder);
        else if (cell)
            row->slot = cell->slot;
    }
}

/* A value that the loop has to be given: C computes it where it is the same in all iterations and can be
 * computed though the loop may not run; else a part before the loop does, whose accumulators are the slots.
 */
static void place_value(struct band_builder *builder, struct vector_builder *straight, int at,
                        const struct vector_argument *argument)
{
    struct ir_expr *value = (struct ir_expr *)argument->value;
    if (vector_is_invariant(&builder->outer, value) && vector_is_harmless(value))
        builder->loop->arguments.items[at] = straight->loop->arguments.items[at] = *argument;
    else if (vector_type_of(value->dtype) == VECTOR_MASK)
        refuse(builder);
    else
        set_argument(straight, at, value->dtype, vector_expression(straight, value));
}

static bool is_overwritten(const struct vector_loop *loop, const struct vector_argument *argument)
{
    if (loop->nest)
        return false;
    return argument->kind == VECTOR_ARGUMENT_FIRST || argument->kind == VECTOR_ARGUMENT_STEP ||
           (argument->kind == VECTOR_ARGUMENT_ADDRESS &&
            loop->streams.items[argument->stream].step_kind != VECTOR_UNIT);
}

/* Whether it may end early or not be run, or has slots that nobody here knows of. */
static bool is_strange(const struct vector_loop *loop)
{
    bool scatters = false;
    for (int k = 0; k < loop->values.count; k++)
        scatters |= loop->values.items[k].kind == VECTOR_SCATTER;
    for (int k = 0; k < loop->arguments.count; k++)
        scatters |= loop->arguments.items[k].kind == VECTOR_ARGUMENT_ALIGNMENT ||
                    loop->arguments.items[k].kind == VECTOR_ARGUMENT_LOGARITHM_REST;
    return loop->stops || loop->reaches.count || scatters;
}

/* ---- slots that straight code computes ------------------------------------------------------------------
 */

/* Whether C cannot tell the index of each iteration of the band before these: it is not linear, or may not be
 * computed where the loop inside does not run (`p[3 % n]` of a loop over n elements). */
static bool is_computed(const struct band_builder *builder, const struct vector_loop *loop,
                        struct ir_expr *index)
{
    return !vector_slope_of(&builder->outer, index).linear ||
           !ir_expr_walk(index, is_harmless_there, (void *)loop->stmt);
}

static bool is_computed_slot(const struct band_builder *builder, const struct vector_loop *loop,
                             const struct vector_argument *argument)
{
    bool computed = false;
    switch (argument->kind) {
    case VECTOR_ARGUMENT_COUNT:
        return !vector_slope_of(&builder->outer, loop->stmt->low).linear ||
               !vector_slope_of(&builder->outer, loop->stmt->high).linear;
    case VECTOR_ARGUMENT_FIRST:
        return !vector_slope_of(&builder->outer, loop->stmt->low).linear;
    case VECTOR_ARGUMENT_ADDRESS:
    case VECTOR_ARGUMENT_STEP:
    case VECTOR_ARGUMENT_STRIDE:
        for (int axis = 0; axis < argument->access->buffer->rank; axis++)
            computed |= is_computed(builder, loop, argument->access->indices[axis]);
        return computed;
    default:
        return false;
    }
}

struct inner_lets {
    struct vector_builder *straight;
    const struct vector_loop *loop;
};

/* Scalars of the loop inside that an index uses, as its first iteration finds them. */
static bool declare_let(struct ir_expr *expr, void *context)
{
    struct inner_lets *lets = context;
    const struct ir_symbol *symbol = expr->symbol;
    if (expr->kind != IR_SYMBOL || symbol->kind != IR_SYMBOL_LET ||
        !vector_is_declared(lets->loop->stmt, symbol) || vector_scalar(lets->straight, symbol))
        return true;
    ir_expr_walk(symbol->value, declare_let, context);
    vector_declare(lets->straight, symbol, vector_expression(lets->straight, symbol->value));
    return true;
}

static int index_value(struct vector_builder *straight, const struct vector_loop *loop, struct ir_expr *index)
{
    struct inner_lets lets = {straight, loop};
    ir_expr_walk(index, declare_let, &lets);
    return vector_expression(straight, index);
}

static int add_numbers(struct vector_builder *straight, enum operation operation, int a, int b)
{
    return vector_operation(straight, operation, AKG_INT64, AKG_INT64, a, b, -1);
}

static int number_in_slot(struct vector_builder *straight, struct vector_argument argument)
{
    struct vector_value value = vector_blank(VECTOR_SCALAR, AKG_INT64);
    value.slot = vector_argument_new(straight, argument);
    return vector_add(straight, value);
}

/* The access with 0 for what the part computes. */
static const struct ir_access *origin_of(const struct band_builder *builder, struct vector_builder *straight,
                                         const struct vector_loop *loop, const struct ir_access *access)
{
    bool in_address[AKG_MAX_RANK];
    for (int axis = 0; axis < access->buffer->rank; axis++)
        in_address[axis] = !is_computed(builder, loop, access->indices[axis]);
    return vector_origin(straight, access, in_address);
}

/* Bytes from one index to the next of the axis. */
static int pitch_of(struct vector_builder *straight, const struct ir_access *access, int axis)
{
    const struct ir_buffer *buffer = access->buffer;
    if (buffer->contiguous && axis == buffer->rank - 1)
        return vector_constant(straight, AKG_INT64,
                               (union dtype_value){.i = dtype_table[buffer->dtype].size});
    return number_in_slot(straight,
                          (struct vector_argument){
                              .kind = VECTOR_ARGUMENT_PITCH, .stream = -1, .level = axis, .access = access});
}

static void compute_address(struct band_builder *builder, struct vector_builder *straight, int at,
                            const struct vector_loop *loop, const struct ir_access *access)
{
    const struct ir_access *origin = origin_of(builder, straight, loop, access);
    int address = number_in_slot(
        straight, (struct vector_argument){.kind = VECTOR_ARGUMENT_ADDRESS, .stream = -1, .access = origin});
    for (int axis = 0; axis < access->buffer->rank && !straight->refused; axis++) {
        if (!is_computed(builder, loop, access->indices[axis]))
            continue;
        int index = index_value(straight, loop, access->indices[axis]);
        int bytes = add_numbers(straight, OP_MUL, index, pitch_of(straight, access, axis));
        address = add_numbers(straight, OP_ADD, address, bytes);
    }
    set_argument(straight, at, AKG_INT64, address);
}

static void compute_slot(struct band_builder *builder, struct vector_builder *straight, int at,
                         const struct vector_loop *loop, const struct vector_argument *argument)
{
    if (argument->kind == VECTOR_ARGUMENT_ADDRESS)
        compute_address(builder, straight, at, loop, argument->access);
    else if (argument->kind == VECTOR_ARGUMENT_FIRST)
        set_argument(straight, at, AKG_INT64, vector_expression(straight, loop->stmt->low));
    else
        vector_refuse(straight);
}

/* The loop's iterations, where its bounds are not known before. */
static void compute_count(struct band_builder *builder, struct vector_loop *loop)
{
    const struct ir_stmt *stmt = loop->stmt;
    struct vector_builder straight = begin_straight(builder, false);
    if (loop->choices.count || (stmt->step != 1 && stmt->step != -1)) {
        refuse(builder);
        return;
    }
    int low = vector_expression(&straight, stmt->low), high = vector_expression(&straight, stmt->high);
    int from = stmt->step > 0 ? low : high, to = stmt->step > 0 ? high : low;
    /* none, where the difference would wrap */
    to = add_numbers(&straight, OP_MAX, to, from);
    set_argument(&straight, loop->count, AKG_INT64, add_numbers(&straight, OP_SUB, to, from));
    end_straight(builder, &straight, -1);
}

/* All slots of the loop that are to be there before it, and do not move. */
static void compute_slots(struct band_builder *builder, struct vector_loop *loop, int base)
{
    struct vector_argument count = {.kind = VECTOR_ARGUMENT_COUNT};
    if (is_computed_slot(builder, loop, &count))
        compute_count(builder, loop);
    struct vector_builder straight = begin_straight(builder, true);
    const struct ir_stmt *stmt = loop->stmt;
    if (!vector_slope_of(&builder->outer, stmt->low).linear)
        loop->begins_anew = true;
    vector_declare(&straight, stmt->symbol, vector_expression(&straight, stmt->low));
    for (int k = 0; k < loop->arguments.count && !builder->refused && !straight.refused; k++) {
        const struct vector_argument *argument = &loop->arguments.items[k];
        if (argument->kind == VECTOR_ARGUMENT_VALUE)
            place_value(builder, &straight, base + k, argument);
        else if (argument->kind != VECTOR_ARGUMENT_COUNT && is_computed_slot(builder, loop, argument))
            compute_slot(builder, &straight, base + k, loop, argument);
    }
    end_straight(builder, &straight, loop->nest ? -1 : loop->count);
}

static bool is_placed(const struct vector_argument *argument)
{
    return argument->kind != VECTOR_ARGUMENT_VALUE && argument->kind != VECTOR_ARGUMENT_ACCUMULATOR &&
           argument->kind != VECTOR_ARGUMENT_STATE;
}

/* The one that the slot is for. */
static const struct ir_stmt *loop_of(const struct vector_loop *loop, const struct vector_argument *argument)
{
    bool has_level = argument->kind == VECTOR_ARGUMENT_COUNT || argument->kind == VECTOR_ARGUMENT_STRIDE;
    if (loop->nest && argument->kind == VECTOR_ARGUMENT_FIRST)
        return loop->nest->loops[VECTOR_COLUMNS];
    return loop->nest && has_level ? loop->nest->loops[argument->level] : loop->stmt;
}

static void add_loop(struct band_builder *builder, struct vector_loop *loop)
{
    if (is_strange(loop))
        refuse(builder);
    int base = builder->loop->arguments.count, count = loop->arguments.count;
    for (int k = 0; k < count; k++)
        add_state(builder);
    renumber(loop, base);
    if (loop->nest)
        renumber_nest(builder->arena, loop, base);
    if (!loop->nest)
        share_accumulators(builder, loop); /* those of a nest are its own */
    for (int k = 0; k < count && !builder->refused; k++) {
        struct vector_argument *argument = &loop->arguments.items[k];
        argument->loop = loop_of(loop, argument);
        argument->access = argument->stream < 0 ? NULL : loop->streams.items[argument->stream].access;
        if (is_placed(argument) && !is_computed_slot(builder, loop, argument))
            place_argument(builder, base + k, *argument, is_overwritten(loop, argument));
    }
    compute_slots(builder, loop, base);
    struct vector_part part = {loop, loop->nest ? -1 : loop->count}; /* a small nest has iterations */
    list_push(builder->arena, &builder->band->parts, part);
}

/* Whether a few iterations take less one after the other: each waits for the one before, but rows overlap. */
static bool is_slow_at_first(const struct vector_loop *loop)
{
    bool calls = false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        calls |= value->kind == VECTOR_OPERATION && dtype_is_float(value->from) &&
                 vector_is_call(value->operation);
    }
    return loop->choices.count > 0 || (vector_has_scans(loop) && !calls);
}

/* Whether lanes compute what one lane does, to the bit: no functions, and no quotient. */
static bool is_same_in_one_lane(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (vector_latency(&loop->values.items[k]) > 1)
            return false;
    return !loop->calls && !loop->stops && !loop->accumulators.count && !loop->choices.count;
}

/* Of how many iterations a loop has to be for vectors; fewer are run one by one. 0: of any number. */
static int large_enough(const struct band_builder *builder, const struct vector_loop *loop)
{
    enum { FEW = 12 /* a transform of 1024 points 15.5 us with 6, 11.2 with 12, 11.6 with 20 (Zen 4) */ };
    if (is_slow_at_first(loop))
        return VECTOR_LARGE;
    return is_same_in_one_lane(loop) && vector_stores_beside(loop, builder->outer.stmt->symbol) ? FEW : 0;
}

/* Whether its iterations are known to be whole vectors, of either width, or one that is less wide. */
static bool is_whole(const struct vector_loop *loop)
{
    enum { LEAST = 4 };
    int group = vector_group(loop->wide), extent = vector_extent_below(loop->stmt, INT_MAX);
    return extent >= LEAST && (extent % group == 0 || (extent < group && (extent & (extent - 1)) == 0));
}

/* Such a loop as two: whole groups in vectors, and what is left one by one. One that chooses or scans is two
 * as well, of which one is run. */
static void add_split_loop(struct band_builder *builder, struct vector_loop *loop)
{
    if (loop->nest) {
        add_loop(builder, loop);
        return;
    }
    int large = large_enough(builder, loop);
    struct vector_loop *rest = vector_serial_build(builder->arena, loop->stmt, builder->options);
    bool is_split = large || (vector_awaits_element(&builder->outer, loop) && !is_whole(loop));
    if (!rest || !is_split || (!large && rest->wide != loop->wide)) {
        add_loop(builder, loop);
        return;
    }
    loop->is_even = rest->is_rest = !large;
    loop->group = rest->group = vector_even_group(loop);
    loop->at_least = rest->below = large;
    add_loop(builder, loop);
    add_loop(builder, rest);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* The streams of all parts, for questions about strides; whether functions are called. */
static void gather_parts(struct arena *arena, struct vector_loop *loop)
{
    for (int k = 0; k < loop->band->parts.count; k++) {
        const struct vector_loop *part = loop->band->parts.items[k].loop;
        for (int stream = 0; stream < part->streams.count; stream++)
            list_push(arena, &loop->streams, part->streams.items[stream]);
        loop->calls |= part->calls;
    }
}

static void add_block(struct band_builder *builder, const struct ir_stmt *first,
                      struct vector_loop *const **loops);

/* A branch of the condition that the slot is for. */
static void add_branch(struct band_builder *builder, const struct ir_stmt *branch, int slot, bool is_negated,
                       struct vector_loop *const **loops)
{
    struct vector_condition condition = {slot, builder->band->parts.count, 0, is_negated};
    int number = builder->band->conditions.count;
    if (!branch || builder->refused)
        return;
    list_push(builder->arena, &builder->band->conditions, condition);
    add_block(builder, branch, loops);
    builder->band->conditions.items[number].last = builder->band->parts.count;
}

/* The statements one after the other; `loops`: what the loops among them are, in order, which it goes past.
 */
static void add_block(struct band_builder *builder, const struct ir_stmt *first,
                      struct vector_loop *const **loops)
{
    for (const struct ir_stmt *next = first; next && !builder->refused;) {
        int slot;
        next = add_stretch(builder, next, &slot);
        if (!next || builder->refused)
            break;
        if (next->kind == IR_FOR) {
            add_split_loop(builder, *(*loops)++);
        } else {
            add_branch(builder, next->body, slot, false, loops);
            add_branch(builder, next->otherwise, slot, true, loops);
        }
        next = next->next;
        if (builder->band->parts.count > PARTS)
            refuse(builder);
    }
}

struct vector_loop *vector_band_build(struct arena *arena, const struct ir_stmt *stmt,
                                      struct vector_loop *const *loops, const struct vector_options *options)
{
    struct band_builder builder = {
        .arena = arena, .options = options, .outer = {.arena = arena, .stmt = stmt, .options = options}};
    builder.outer.mask = -1;
    if (vector_count_statements(stmt->body, VECTOR_STATEMENTS) > VECTOR_STATEMENTS ||
        vector_step_is_large(stmt) || vector_body_may_stop(stmt, options))
        return NULL;
    builder.loop = arena_new(arena, struct vector_loop);
    builder.band = arena_new(arena, struct vector_band);
    builder.loop->stmt = stmt;
    builder.loop->band = builder.band;
    builder.band->loop = stmt;
    builder.loop->count =
        add_argument(&builder, (struct vector_argument){.kind = VECTOR_ARGUMENT_COUNT, .loop = stmt});
    find_cells(&builder);
    add_block(&builder, stmt->body, &loops);
    if (builder.refused)
        return NULL;
    vector_fetch_plan(arena, builder.loop, options);
    gather_parts(arena, builder.loop);
    return builder.loop;
}
