/*
 * vector_nest.c: a nest of the IR as values over vectors: two parallel loops around loops that accumulate, or
 * one of them.
 *
 *     for rows { for columns { start; for depths { step }; result } }
 *                for columns { start; for depths { step }; result }
 *                for columns { start; while condition { step }; result }
 *
 * Consumes such a nest of an analysed kernel; produces the values of one iteration of rows and columns in
 * three sections, and says of each value whether it differs from row to row and from column to column: what
 * does not is computed once for a rectangle of iterations, whose accumulators stay in registers while the
 * depths run. Each iteration computes what it does in the IR, in the same order. Elements lie one behind the
 * other along the columns, or every other one does (what is stored perhaps a third or fourth), or they are
 * the same for all of them. A while goes on for all as long as its condition holds for some; those for which
 * it does not keep what they have. Where there are no rows the loops inside may store, too, and what takes
 * long to compute before the depths (a quotient, a function) is held for them like an accumulator.
 *
 * It gives up on what vector_build.c gives up on; then the loops inside are looked at alone.
 */
#include "vector_build.h"

/* ---- the shape ------------------------------------------------------------------------------- */

/* The only loop of a block, with anything that is none around it but temporaries, which no nest has; NULL:
 * there are none, or several. */
static const struct ir_stmt *loop_of(const struct ir_stmt *first, bool among_lets)
{
    const struct ir_stmt *found = NULL;
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && !found)
            found = stmt;
        else if (stmt->kind == IR_FOR || stmt->kind == IR_ALLOCATE ||
                 (among_lets && (stmt->kind != IR_LET || found)))
            return NULL;
    }
    return found;
}

static bool add_level(struct vector_nest *nest, const struct ir_stmt *loop)
{
    if (!loop || nest->depth == VECTOR_LEVELS || vector_step_is_large(loop) ||
        (loop->step != 1 && nest->depth < VECTOR_DEPTHS))
        return false;
    nest->loops[nest->depth++] = loop;
    return true;
}

/* The only loop of a block, where it is a while without another loop; NULL: there is none. */
static const struct ir_stmt *while_of(const struct ir_stmt *first)
{
    const struct ir_stmt *found = NULL;
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR || (stmt->kind == IR_WHILE && found))
            return NULL;
        found = stmt->kind == IR_WHILE ? stmt : found;
    }
    return found;
}

bool vector_nest_shape(const struct ir_stmt *outermost, int first, struct vector_nest *nest)
{
    *nest = (struct vector_nest){.first = first, .depth = first, .index = -1};
    if (!add_level(nest, outermost))
        return false;
    if (first == VECTOR_COLUMNS && while_of(outermost->body)) {
        nest->loops[VECTOR_DEPTHS] = while_of(outermost->body);
        nest->is_while = true;
        return true;
    }
    if ((first == VECTOR_ROWS && !add_level(nest, loop_of(outermost->body, true))) ||
        !add_level(nest, loop_of(nest->loops[VECTOR_COLUMNS]->body, false)))
        return false;
    for (const struct ir_stmt *inner = nest->loops[VECTOR_DEPTHS]; (inner = loop_of(inner->body, true));)
        if (!add_level(nest, inner))
            return false;
    return true;
}

int vector_extent_below(const struct ir_stmt *loop, int limit)
{
    if (!loop || loop->step != 1 || loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER ||
        loop->low->integer >= loop->high->integer ||
        (uint64_t)loop->high->integer - (uint64_t)loop->low->integer >= (uint64_t)limit)
        return 0;
    return (int)(loop->high->integer - loop->low->integer);
}

int vector_known_extent(const struct ir_stmt *loop)
{
    enum { FEW = 64 };
    return vector_extent_below(loop, FEW + 1);
}

bool vector_nest_is_small(const struct vector_loop *loop)
{
    const struct vector_nest *nest = loop->nest;
    if (nest->first != VECTOR_ROWS || nest->merged || nest->inside || nest->is_while || nest->equals.count)
        return false;
    for (int level = 0; level < nest->depth; level++)
        if (!vector_foreseen_extent(nest->loops[level]))
            return false;
    return true;
}

bool vector_is_harmless_node(const struct ir_expr *expr)
{
    if (expr->kind != IR_OPERATION)
        return expr->kind != IR_LOAD;
    return !expr->checked && (!ir_can_divide_by_zero(expr->operation, expr->operands[0]->dtype) ||
                              ir_is_positive(expr->operands[1]));
}

static bool is_harmless(struct ir_expr *expr, void *context)
{
    (void)context;
    return vector_is_harmless_node(expr);
}

bool vector_is_harmless(struct ir_expr *expr)
{
    return ir_expr_walk(expr, is_harmless, NULL);
}

bool vector_lets_may_stop(const struct ir_stmt *first, const struct vector_options *options)
{
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET && vector_may_stop(stmt->value, options))
            return true;
    return false;
}

/* A bound that is the same all the time, and may be looked at before the loops around are known to run. */
static bool stays(const struct vector_builder *builder, struct ir_expr *bound)
{
    return vector_is_invariant(builder, bound) && vector_is_harmless(bound);
}

bool vector_bounds_stay(const struct vector_builder *builder)
{
    const struct vector_nest *nest = builder->nest;
    for (int level = nest->first; level < nest->depth; level++)
        if (!stays(builder, nest->loops[level]->low) || !stays(builder, nest->loops[level]->high))
            return false;
    return true;
}

/* ---- accumulators ---------------------------------------------------------------------------- */

static void set(struct vector_builder *builder, int accumulator, int value)
{
    const struct vector_accumulator *row = &builder->loop->accumulators.items[accumulator];
    struct vector_value effect = vector_blank(VECTOR_SET, row->dtype);
    effect.slot = accumulator;
    effect.operands[0] = value;
    vector_add(builder, effect);
}

static void add_accumulator(struct vector_builder *builder, struct ir_symbol *symbol, bool is_held)
{
    struct vector_accumulator row = {.symbol = symbol,
                                     .dtype = symbol->dtype,
                                     .type = vector_type_of(symbol->dtype),
                                     .is_held = is_held,
                                     .slot = -1};
    if (row.type == VECTOR_MASK)
        vector_refuse(builder);
    list_push(builder->arena, &builder->loop->accumulators, row);
    set(builder, builder->loop->accumulators.count - 1, *vector_scalar(builder, symbol));
}

struct mention {
    const struct ir_symbol *symbol;
    int left; /* nodes that are looked at */
};

/* Scalars stand for their values. */
static bool mentions_not(struct ir_expr *expr, void *context)
{
    struct mention *mention = context;
    if (--mention->left < 0 || expr->kind != IR_SYMBOL)
        return mention->left >= 0;
    return expr->symbol != mention->symbol &&
           (expr->symbol->kind != IR_SYMBOL_LET || ir_expr_walk(expr->symbol->value, mentions_not, context));
}

static bool is_quick(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind != IR_OPERATION || !dtype_is_float(expr->dtype))
        return true;
    bool divides = expr->operation == OP_TRUEDIV && expr->operands[1]->kind != IR_REAL;
    return !divides && expr->operation != OP_SQRT && expr->operation != OP_RSQRT &&
           !vector_is_call(expr->operation);
}

/* Whether it takes long to compute, and the depths use it: then lanes hold it all the time. */
static bool is_to_be_held(const struct vector_builder *builder, const struct ir_stmt *let)
{
    enum { MOST = 200 };
    const struct vector_nest *nest = builder->nest;
    struct mention mention = {let->symbol, MOST};
    return let->kind == IR_LET && nest->first == VECTOR_COLUMNS && !nest->is_along && !nest->fold &&
           vector_type_of(let->symbol->dtype) != VECTOR_MASK && !vector_is_invariant(builder, let->value) &&
           !ir_expr_walk(let->value, is_quick, NULL) &&
           !ir_block_expressions(nest->loops[VECTOR_DEPTHS]->body, mentions_not, &mention) &&
           mention.left >= 0;
}

/* The variables that the depths change, and what they are before. */
static void find_accumulators(struct vector_builder *builder)
{
    enum { HELD = 3 };
    const struct vector_nest *nest = builder->nest;
    const struct ir_stmt *depths = nest->loops[VECTOR_DEPTHS], *first = nest->loops[VECTOR_COLUMNS]->body;
    int held = 0;
    for (const struct ir_stmt *stmt = first; stmt != depths; stmt = stmt->next)
        if (stmt->kind == IR_VARIABLE && ir_block_assigns(depths, stmt->symbol))
            add_accumulator(builder, stmt->symbol, false);
    if (!builder->loop->accumulators.count)
        vector_refuse(builder);
    for (const struct ir_stmt *stmt = first; stmt != depths && held < HELD && !builder->refused;
         stmt = stmt->next)
        if (is_to_be_held(builder, stmt)) {
            add_accumulator(builder, stmt->symbol, true);
            held++;
        }
}

bool vector_is_depth(const struct vector_builder *builder, const struct ir_symbol *symbol)
{
    const struct vector_nest *nest = builder->nest;
    return builder->section == 1 && !nest->is_while && nest->depth == VECTOR_DEPTHS + 1 &&
           nest->loops[VECTOR_DEPTHS]->symbol == symbol;
}

/* The variable of the depths counts in an accumulator, one for all rows and columns: before each iteration.
 */
static void add_depth(struct vector_builder *builder)
{
    struct vector_accumulator row = {.dtype = AKG_INT64, .type = VECTOR_I64, .slot = -1};
    const struct ir_stmt *loop = builder->nest->loops[VECTOR_DEPTHS];
    union dtype_value step = {.i = loop->step};
    int low = vector_expression(builder, loop->low);
    list_push(builder->arena, &builder->loop->accumulators, row);
    set(builder, builder->loop->accumulators.count - 1,
        vector_operation(builder, OP_SUB, AKG_INT64, AKG_INT64, low,
                         vector_constant(builder, AKG_INT64, step), -1));
}

static void count_depth(struct vector_builder *builder)
{
    int accumulator = builder->loop->accumulators.count - 1;
    struct vector_value total = vector_blank(VECTOR_TOTAL, AKG_INT64);
    union dtype_value step = {.i = builder->nest->loops[VECTOR_DEPTHS]->step};
    total.slot = accumulator;
    int before = vector_add(builder, total);
    builder->number = vector_operation(builder, OP_ADD, AKG_INT64, AKG_INT64, before,
                                       vector_constant(builder, AKG_INT64, step), -1);
    set(builder, accumulator, builder->number);
}

static bool counts_depths(const struct vector_accumulator *row)
{
    return !row->symbol;
}

/* A new section, which knows of nothing but the accumulators. */
static void begin_section(struct vector_builder *builder)
{
    builder->section++;
    builder->first = builder->loop->values.count;
    builder->scalars.count = 0;
    for (int k = 0; k < builder->loop->accumulators.count; k++) {
        const struct vector_accumulator *row = &builder->loop->accumulators.items[k];
        struct vector_value total = vector_blank(VECTOR_TOTAL, row->dtype);
        total.slot = k;
        if (!counts_depths(row))
            vector_declare(builder, row->symbol, vector_add(builder, total));
    }
}

/* `accumulator` -1: of any that changes. */
static bool is_total(const struct vector_builder *builder, int number, int accumulator)
{
    const struct vector_value *value = number < 0 ? NULL : &builder->loop->values.items[number];
    if (!value || value->kind != VECTOR_TOTAL)
        return false;
    return accumulator < 0 ? !builder->loop->accumulators.items[value->slot].is_held
                           : value->slot == accumulator;
}

static bool accumulates_in_place(enum operation operation)
{
    return operation == OP_ADD || operation == OP_MUL || operation == OP_MIN || operation == OP_MAX;
}

static bool is_used(const struct vector_builder *builder, int number)
{
    const struct vector_loop *loop = builder->loop;
    for (int k = number + 1; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->operands[0] == number || value->operands[1] == number || value->operands[2] == number ||
            value->mask == number)
            return true;
    }
    for (int k = 0; k < loop->accumulators.count; k++)
        if (!counts_depths(&loop->accumulators.items[k]) &&
            *vector_scalar((struct vector_builder *)builder, loop->accumulators.items[k].symbol) == number)
            return true;
    return false;
}

/* The sum is computed into the accumulator, in lanes where the mask (-1: always) holds. */
static void accumulate(struct vector_builder *builder, int accumulator, int number, int mask)
{
    struct vector_value value = builder->loop->values.items[number];
    struct vector_value effect = vector_blank(VECTOR_ACCUMULATE, value.dtype);
    effect.operation = value.operation;
    effect.operands[0] = value.operands[is_total(builder, value.operands[0], accumulator)];
    effect.slot = accumulator;
    effect.mask = mask;
    vector_forget(builder, number);
    vector_add(builder, effect);
}

/* Whether the value is what the accumulator was, and something that is no accumulator, in one operation. */
static bool is_step(const struct vector_builder *builder, int accumulator, int number)
{
    const struct vector_accumulator *row = &builder->loop->accumulators.items[accumulator];
    const struct vector_value *value = &builder->loop->values.items[number];
    int a = value->operands[0], b = value->operands[1];
    bool rounds = builder->options->strict && dtype_is_half(row->dtype);
    return value->kind == VECTOR_OPERATION && !is_used(builder, number) &&
           accumulates_in_place(value->operation) && !rounds &&
           (is_total(builder, a, accumulator) || is_total(builder, b, accumulator)) &&
           !is_total(builder, a, -1) + !is_total(builder, b, -1) == 1;
}

/* What is chosen where the condition of a choice holds, the accumulator staying what it was where it does
 * not, or the other way round; the condition joins the mask. -1: it is no such choice. */
static int chosen(struct vector_builder *builder, int accumulator, int number, int *mask)
{
    struct vector_value value = builder->loop->values.items[number];
    int condition = value.operands[0];
    if (value.kind != VECTOR_OPERATION || value.operation != OP_SELECT || is_used(builder, number))
        return -1;
    bool otherwise = is_total(builder, value.operands[1], accumulator);
    if (!otherwise && !is_total(builder, value.operands[2], accumulator))
        return -1;
    if (otherwise)
        condition = vector_operation(builder, OP_NOT, AKG_BOOL, AKG_BOOL, condition, -1, -1);
    *mask =
        *mask < 0 ? condition : vector_operation(builder, OP_AND, AKG_BOOL, AKG_BOOL, *mask, condition, -1);
    return value.operands[1 + otherwise];
}

/* What the depths make of the accumulator: a sum into it where it is one, perhaps under conditions, or any
 * other value. */
static void finish_accumulator(struct vector_builder *builder, int accumulator)
{
    enum { CHOICES = 4 }; /* conditions inside one another */
    struct vector_loop *loop = builder->loop;
    const struct vector_accumulator *row = &loop->accumulators.items[accumulator];
    int *place = vector_scalar(builder, row->symbol), number = *place, mask = -1;
    *place = -1;
    if (is_total(builder, number, accumulator) || builder->refused)
        return;
    if (is_total(builder, number, -1)) {
        vector_refuse(builder);
        return;
    }
    struct vector_value choices[CHOICES];
    int numbers[CHOICES], count = 0, step = number, inner;
    while (count < CHOICES && !is_step(builder, accumulator, step) &&
           (inner = chosen(builder, accumulator, step, &mask)) >= 0 && !builder->refused) {
        choices[count] = loop->values.items[step];
        numbers[count++] = step;
        vector_forget(builder, step);
        step = inner;
    }
    if (builder->refused)
        return;
    if (is_step(builder, accumulator, step)) {
        accumulate(builder, accumulator, step, mask);
        return;
    }
    while (count--)
        loop->values.items[numbers[count]] = choices[count];
    set(builder, accumulator, number);
}

/* The lanes for which the condition holds go on, and only theirs changes. */
static void build_while(struct vector_builder *builder, const struct ir_stmt *stmt)
{
    struct vector_loop *loop = builder->loop;
    int condition = vector_expression(builder, stmt->value), count = loop->accumulators.count;
    int *changed = arena_array(builder->arena, int, count);
    struct vector_value repeat = vector_blank(VECTOR_REPEAT, AKG_BOOL);
    repeat.operands[0] = condition;
    builder->mask = condition;
    vector_statements(builder, stmt->body);
    builder->mask = -1;
    for (int k = 0; k < count && !builder->refused; k++) {
        akg_dtype dtype = loop->accumulators.items[k].dtype;
        int value = *vector_scalar(builder, loop->accumulators.items[k].symbol), total = k;
        while (total >= 0 && !is_total(builder, total, k))
            total = total + 1 < loop->values.count ? total + 1 : -1;
        changed[k] =
            value == total ? -1 : vector_operation(builder, OP_SELECT, dtype, dtype, condition, value, total);
    }
    for (int k = 0; k < count && !builder->refused; k++)
        if (changed[k] >= 0)
            set(builder, k, changed[k]);
    vector_add(builder, repeat);
}

/* ---- rows and columns ------------------------------------------------------------------------ */

/* A value that is the same for all rows, or for all columns, is computed once for them. */
static void find_directions(const struct vector_nest *nest, struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++) {
        struct vector_value *value = &loop->values.items[k];
        bool all = value->kind == VECTOR_TOTAL || value->kind == VECTOR_SET ||
                   value->kind == VECTOR_ACCUMULATE || value->kind == VECTOR_STORE ||
                   value->kind == VECTOR_REPEAT;
        if (value->kind == VECTOR_TOTAL || value->kind == VECTOR_SET)
            all = !counts_depths(&loop->accumulators.items[value->slot]);
        value->by_row = all;
        value->by_column = all || value->kind == VECTOR_INDEX;
        if (value->stream >= 0) {
            const struct vector_stream *stream = &loop->streams.items[value->stream];
            value->by_row |= stream->strides[VECTOR_ROWS].kind != VECTOR_STAYS;
            value->by_column |= stream->strides[VECTOR_COLUMNS].kind != VECTOR_STAYS;
        }
        for (int operand = 0; operand < 4; operand++) {
            int number = operand < 3 ? value->operands[operand] : value->mask;
            if (number < 0)
                continue;
            value->by_row |= loop->values.items[number].by_row;
            value->by_column |= loop->values.items[number].by_column;
        }
        value->by_row |= nest->first == VECTOR_COLUMNS && value->by_column;
    }
}

/* Along every parallel loop that there is. */
static bool stream_moves(const struct vector_nest *nest, const struct vector_stream *stream)
{
    return (nest->first == VECTOR_COLUMNS || stream->strides[VECTOR_ROWS].kind != VECTOR_STAYS) &&
           stream->strides[VECTOR_COLUMNS].kind != VECTOR_STAYS;
}

/* Several stores beside each other with a larger step are put together where the loops are no nest. */
static bool is_alone(const struct vector_loop *loop, const struct vector_value *store)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_STORE && loop->values.items[k].stream == store->stream &&
            &loop->values.items[k] != store)
            return false;
    return true;
}

/* Side by side, by themselves or together with those of another store, or a few apart; not that where
 * rows lie side by side in vectors. */
static bool lie_in_a_line(const struct vector_nest *nest, const struct vector_loop *loop,
                          const struct vector_value *store)
{
    enum { WHOLE = 4 /* bytes */ };
    const struct vector_value *other = vector_other_store(loop, store);
    int64_t step = loop->streams.items[store->stream].step;
    if (step > 2)
        return !nest->fold && is_alone(loop, store);
    return step == 1 || (step == 2 && dtype_table[store->dtype].size >= WHOLE &&
                         (!nest->fold || (other && other->section == store->section)));
}

/* Elements that are stored differ, and lie in a line; where there are rows, something that is loaded serves
 * several iterations, or there is no other way.
 */
static bool is_worthwhile(const struct vector_nest *nest, const struct vector_loop *loop)
{
    bool reuse = nest->first == VECTOR_COLUMNS || nest->is_alone;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        const struct vector_stream *stream = value->stream < 0 ? NULL : &loop->streams.items[value->stream];
        if (value->kind == VECTOR_STORE && (!stream_moves(nest, stream) || !lie_in_a_line(nest, loop, value)))
            return false;
        reuse |= value->kind == VECTOR_LOAD && value->section == 1 &&
                 !stream_moves(nest, &loop->streams.items[value->stream]);
    }
    return reuse;
}

/* Before the innermost loop, in it and behind it, what is the same for all rows, or columns, is computed
 * ahead of what is stored for each: an iteration, which may be the only one, must not load what it has
 * stored. */
static bool loads_may_lag(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *load = &loop->values.items[k];
        for (int n = 0; load->kind == VECTOR_LOAD && !load->by_row && n < k; n++) {
            const struct vector_value *store = &loop->values.items[n];
            if (store->kind == VECTOR_STORE && store->section == load->section &&
                loop->streams.items[store->stream].access->buffer ==
                    loop->streams.items[load->stream].access->buffer)
                return true;
        }
    }
    return false;
}

/* What changes an accumulator must not be another one, which may have been changed before. */
static bool accumulators_mix(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        for (int operand = 0; operand < 3; operand++)
            if ((value->kind == VECTOR_SET || value->kind == VECTOR_ACCUMULATE) &&
                value->operands[operand] >= 0 &&
                loop->values.items[value->operands[operand]].kind == VECTOR_TOTAL &&
                !loop->accumulators.items[loop->values.items[value->operands[operand]].slot].is_held)
                return true;
    }
    return false;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void build_sections(struct vector_builder *builder, bool with_depth)
{
    const struct vector_nest *nest = builder->nest;
    struct ir_stmt *depths = (struct ir_stmt *)nest->loops[VECTOR_DEPTHS], *rest = depths->next;
    for (const struct ir_stmt *stmt = nest->loops[VECTOR_COLUMNS]->body; stmt != depths && !builder->refused;
         stmt = stmt->next)
        vector_statement(builder, stmt);
    if (builder->refused)
        return;
    find_accumulators(builder);
    if (with_depth)
        add_depth(builder);
    begin_section(builder);
    if (with_depth)
        count_depth(builder);
    if (nest->is_while) {
        build_while(builder, depths);
    } else {
        vector_statements(builder, nest->loops[nest->depth - 1]->body);
        for (int k = 0; k < builder->loop->accumulators.count && !builder->refused; k++)
            if (!counts_depths(&builder->loop->accumulators.items[k]))
                finish_accumulator(builder, k);
    }
    if (builder->refused || (builder->stores && (nest->first != VECTOR_COLUMNS || nest->is_while)))
        vector_refuse(builder);
    else
        begin_section(builder);
    if (!builder->refused)
        vector_statements(builder, rest);
}

static int add_state(struct vector_builder *builder, int count)
{
    int first = builder->loop->arguments.count;
    for (int k = 0; k < count; k++)
        vector_argument_new(builder,
                            (struct vector_argument){VECTOR_ARGUMENT_STATE, -1, -1, NULL, 0, NULL, NULL});
    return first;
}

/* Where the sections begin; slots for where the machine code is. */
static void finish(struct vector_builder *builder)
{
    struct vector_loop *loop = builder->loop;
    struct vector_nest *nest = builder->nest;
    nest->body = nest->result = loop->values.count;
    for (int k = loop->values.count - 1; k >= 0; k--) {
        nest->result = loop->values.items[k].section == 2 ? k : nest->result;
        nest->body = loop->values.items[k].section >= 1 ? k : nest->body;
    }
    for (int k = 0; k < loop->values.count && nest->index < 0; k++)
        if (loop->values.items[k].kind == VECTOR_INDEX)
            nest->index = add_state(builder, 1);
    nest->state = add_state(builder, nest->depth);
    nest->rest = nest->is_along ? add_state(builder, 1) : -1;
    for (int k = 0; k < loop->streams.count; k++)
        loop->streams.items[k].state = add_state(builder, nest->depth);
    loop->nest = nest;
}

/* `wants_depth`: whether the variable of the depths is to be kept; and, where it is not, whether that is why
 * there is no nest. */
static struct vector_loop *build_nest(struct arena *arena, struct vector_nest *nest,
                                      const struct vector_options *options, bool *wants_depth)
{
    const struct ir_stmt *stmt = nest->loops[nest->first];
    struct vector_memo memo = {.answered = 0};
    struct vector_builder builder = {.arena = arena,
                                     .stmt = stmt,
                                     .options = options,
                                     .mask = -1,
                                     .nest = nest,
                                     .number = -1,
                                     .memo = &memo};
    if (vector_count_statements(stmt->body, VECTOR_STATEMENTS) > VECTOR_STATEMENTS ||
        !vector_bounds_stay(&builder))
        return NULL;
    builder.loop = arena_new(arena, struct vector_loop);
    builder.loop->stmt = stmt;
    for (int level = 0; level < nest->depth; level++)
        vector_argument_new(&builder,
                            (struct vector_argument){VECTOR_ARGUMENT_COUNT, -1, -1, NULL, level, NULL, NULL});
    build_sections(&builder, *wants_depth);
    *wants_depth = builder.wants_depth;
    if (builder.refused)
        return NULL;
    if (!options->strict)
        vector_fuse(&builder);
    vector_sweep(&builder);
    find_directions(nest, builder.loop);
    if (builder.loop->calls || accumulators_mix(builder.loop) || loads_may_lag(builder.loop) ||
        !is_worthwhile(nest, builder.loop))
        return NULL;
    finish(&builder);
    return builder.loop;
}

/* With rows side by side in vectors; NULL: they cannot be. */
static struct vector_loop *build_folded(struct arena *arena, struct vector_nest *nest,
                                        const struct vector_options *options)
{
    bool wants_depth = false;
    if (!vector_may_fold(nest, options))
        return NULL;
    nest->fold = 1;
    struct vector_loop *loop = build_nest(arena, nest, options, &wants_depth);
    nest->fold = loop ? vector_find_fold(nest, loop) : 0;
    if (!nest->fold)
        nest->index = -1;
    return nest->fold ? loop : NULL;
}

struct vector_loop *vector_nest_build(struct arena *arena, struct vector_nest *nest,
                                      const struct vector_options *options)
{
    bool wants_depth = false;
    for (int level = nest->first; level < nest->depth; level++)
        if (vector_lets_may_stop(nest->loops[level]->body, options))
            return NULL;
    if (nest->is_along) {
        struct vector_loop *along = build_nest(arena, nest, options, &wants_depth);
        return along && vector_goes_along(nest, along, options) ? along : NULL;
    }
    struct vector_loop *loop = build_folded(arena, nest, options);
    if (loop)
        return loop;
    loop = build_nest(arena, nest, options, &wants_depth);
    return loop || !wants_depth ? loop : build_nest(arena, nest, options, &wants_depth);
}
