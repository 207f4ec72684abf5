/*
 * vector_build.c: a loop of the IR as values over vectors.
 *
 * Consumes an innermost loop of an analysed kernel and the verdict of the dependence analysis; produces the
 * values of its body in order, conditions turned into masks. It gives up, and the loop stays C, on whatever
 * it does not know: a place that may stop the kernel in some iteration, a loop or jump inside, a scalar
 * carried from one iteration to the next other than by accumulation (for which there are vector_choice.c,
 * vector_scan.c and vector_serial.c).
 * Expressions are in vector_expression.c, accesses in vector_stream.c.
 */
#include "vector_build.h"

#include <string.h>

enum vector_type vector_type_of(akg_dtype dtype)
{
    if (dtype == AKG_BOOL)
        return VECTOR_MASK;
    if (dtype_is_float(dtype))
        return dtype == AKG_FLOAT64 ? VECTOR_F64 : VECTOR_F32;
    return dtype_table[dtype].size == 8 ? VECTOR_I64 : VECTOR_I32;
}

int vector_refuse(struct vector_builder *builder)
{
    builder->refused = true;
    return 0;
}

/* ---- values ------------------------------------------------------------------------------ */

bool vector_has_effect(enum vector_kind kind)
{
    return kind == VECTOR_STORE || kind == VECTOR_TEST || kind == VECTOR_SCATTER ||
           kind == VECTOR_ACCUMULATE || kind == VECTOR_SET || kind == VECTOR_SCAN || kind == VECTOR_PACK ||
           kind == VECTOR_REPEAT;
}

int vector_add(struct vector_builder *builder, struct vector_value value)
{
    struct vector_loop *loop = builder->loop;
    value.line = builder->line;
    value.section = builder->section;
    int same = vector_has_effect(value.kind) ? -1 : vector_memo_value(builder, &value);
    if (same >= 0)
        return same;
    if (loop->values.count >= VECTOR_VALUES)
        return vector_refuse(builder);
    loop->wide |= vector_type_is_wide(value.type);
    list_push(builder->arena, &loop->values, value);
    return loop->values.count - 1;
}

int vector_add_again(struct vector_builder *builder, struct vector_value value, const int *moved)
{
    builder->line = value.line;
    for (int operand = 0; operand < 3; operand++)
        if (value.operands[operand] >= 0)
            value.operands[operand] = moved[value.operands[operand]];
    if (value.mask >= 0)
        value.mask = moved[value.mask];
    return vector_add(builder, value);
}

void vector_forget(struct vector_builder *builder, int number)
{
    struct vector_value *value = &builder->loop->values.items[number], constant;
    constant = vector_blank(VECTOR_CONSTANT, value->dtype);
    constant.section = value->section;
    constant.line = value->line;
    *value = constant;
}

struct vector_value vector_blank(enum vector_kind kind, akg_dtype dtype)
{
    return (struct vector_value){.kind = kind,
                                 .type = vector_type_of(dtype),
                                 .dtype = dtype,
                                 .from = dtype,
                                 .operation = OPERATION_COUNT,
                                 .operands = {-1, -1, -1},
                                 .mask = -1,
                                 .slot = -1,
                                 .stream = -1};
}

int vector_constant(struct vector_builder *builder, akg_dtype dtype, union dtype_value number)
{
    struct vector_value value = vector_blank(VECTOR_CONSTANT, dtype);
    value.bits = (uint64_t)number.i;
    if (value.type == VECTOR_F32 || value.type == VECTOR_I32)
        value.bits &= UINT32_MAX;
    return vector_add(builder, value);
}

int vector_operation(struct vector_builder *builder, enum operation operation, akg_dtype dtype,
                     akg_dtype from, int a, int b, int c)
{
    struct vector_value value = vector_blank(VECTOR_OPERATION, dtype);
    value.operation = operation;
    value.from = from;
    value.operands[0] = a;
    value.operands[1] = b;
    value.operands[2] = c;
    return vector_add(builder, value);
}

int vector_fused(struct vector_builder *builder, enum operation operation, akg_dtype dtype, int a, int b,
                 int c)
{
    struct vector_value value = vector_blank(VECTOR_FUSED, dtype);
    value.operation = operation;
    value.operands[0] = a;
    value.operands[1] = b;
    value.operands[2] = c;
    return vector_add(builder, value);
}

int vector_argument_new(struct vector_builder *builder, struct vector_argument argument)
{
    list_push(builder->arena, &builder->loop->arguments, argument);
    return builder->loop->arguments.count - 1;
}

/* ---- scalars of the body -------------------------------------------------------------------- */

int *vector_scalar(struct vector_builder *builder, const struct ir_symbol *symbol)
{
    int place = vector_memo_scalar(builder, symbol);
    return place < 0 ? NULL : &builder->scalars.items[place].value;
}

void vector_declare(struct vector_builder *builder, const struct ir_symbol *symbol, int value)
{
    struct vector_scalar scalar = {symbol, value};
    int *known = vector_scalar(builder, symbol);
    if (known) {
        *known = value; /* in the other branch, or unrolled */
        return;
    }
    list_push(builder->arena, &builder->scalars, scalar);
    vector_memo_add_scalar(builder, symbol);
}

/* ---- accumulators ---------------------------------------------------------------------------- */

bool vector_is_target(const struct ir_stmt *stmt, const struct ir_expr *expr)
{
    if (stmt->kind == IR_ASSIGN)
        return expr->kind == IR_SYMBOL && expr->symbol == stmt->symbol;
    return expr->kind == IR_LOAD && ir_access_equal(&expr->access, &stmt->access);
}

struct mentions {
    const struct ir_stmt *stmt;
    int count;
};

/* Of the symbol, or of the whole buffer. */
static bool count_mention(struct ir_expr *expr, void *context)
{
    struct mentions *mentions = context;
    bool symbol = mentions->stmt->kind == IR_ASSIGN;
    mentions->count += symbol ? expr->kind == IR_SYMBOL && expr->symbol == mentions->stmt->symbol
                              : expr->kind == IR_LOAD && expr->access.buffer == mentions->stmt->access.buffer;
    return true;
}

static void count_in_block(struct ir_stmt *first, struct mentions *mentions)
{
    for (struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        ir_stmt_expressions(stmt, count_mention, mentions);
        if (stmt != mentions->stmt && stmt->kind == IR_STORE && mentions->stmt->kind == IR_STORE &&
            stmt->access.buffer == mentions->stmt->access.buffer)
            mentions->count += 2;
        if (stmt != mentions->stmt && stmt->kind == IR_ASSIGN && mentions->stmt->kind == IR_ASSIGN &&
            stmt->symbol == mentions->stmt->symbol)
            mentions->count += 2;
        count_in_block(stmt->body, mentions);
        count_in_block(stmt->otherwise, mentions);
    }
}

int vector_mentions(const struct vector_builder *builder, const struct ir_stmt *stmt)
{
    struct mentions mentions = {stmt, 0};
    count_in_block(builder->stmt->body, &mentions);
    return mentions.count;
}

bool vector_reorders(enum operation operation, akg_dtype dtype)
{
    switch (operation) {
    case OP_ADD:
    case OP_MUL:
    case OP_MIN:
    case OP_MAX:
        return true;
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
        return dtype != AKG_BOOL;
    default:
        return false;
    }
}

/* The accumulator's number, made at its first use. */
static int accumulator_of(struct vector_builder *builder, const struct ir_stmt *stmt,
                          enum operation operation)
{
    struct vector_loop *loop = builder->loop;
    bool symbol = stmt->kind == IR_ASSIGN;
    akg_dtype dtype = symbol ? stmt->symbol->dtype : stmt->access.buffer->dtype;
    struct vector_accumulator row = {.symbol = symbol ? stmt->symbol : NULL,
                                     .access = symbol ? NULL : &stmt->access,
                                     .operation = operation,
                                     .dtype = dtype,
                                     .type = vector_type_of(dtype)};
    struct vector_argument argument = {
        VECTOR_ARGUMENT_ACCUMULATOR, -1, loop->accumulators.count, NULL, 0, NULL, NULL};
    for (int k = 0; k < loop->accumulators.count; k++)
        if (symbol ? loop->accumulators.items[k].symbol == stmt->symbol
                   : loop->accumulators.items[k].access &&
                         ir_access_equal(loop->accumulators.items[k].access, &stmt->access))
            return k; /* in another branch */
    row.slot = vector_argument_new(builder, argument);
    loop->wide |= vector_type_is_wide(row.type);
    list_push(builder->arena, &loop->accumulators, row);
    return loop->accumulators.count - 1;
}

static void accumulate(struct vector_builder *builder, const struct ir_stmt *stmt, enum operation operation,
                       int operand)
{
    akg_dtype dtype = stmt->kind == IR_ASSIGN ? stmt->symbol->dtype : stmt->access.buffer->dtype;
    struct vector_value value = vector_blank(VECTOR_ACCUMULATE, dtype);
    value.operation = operation;
    value.operands[0] = operand;
    value.mask = builder->mask;
    value.slot = accumulator_of(builder, stmt, operation);
    vector_add(builder, value);
    builder->stores += stmt->kind == IR_STORE;
}

/* What a chain such as acc + a - b adds, as one value: a - b. */
static int rest_of_chain(struct vector_builder *builder, const struct ir_stmt *stmt,
                         const struct ir_expr *expr, enum operation operation)
{
    const struct ir_expr *left = expr->operands[0], *right = expr->operands[1];
    bool negative = expr->operation == OP_SUB;
    if (!negative && vector_is_target(stmt, right))
        return vector_expression(builder, left);
    int last = vector_expression(builder, right);
    if (vector_is_target(stmt, left))
        return negative ? vector_operation(builder, OP_NEG, expr->dtype, expr->dtype, last, -1, -1) : last;
    int first = rest_of_chain(builder, stmt, left, operation);
    return builder->refused
               ? 0
               : vector_operation(builder, expr->operation, expr->dtype, expr->dtype, first, last, -1);
}

/* x + y of which x is the target, at the left end of a chain or at the right of its end. */
static bool is_chain(const struct ir_stmt *stmt, const struct ir_expr *expr, enum operation operation)
{
    while (expr->kind == IR_OPERATION &&
           (expr->operation == operation || (operation == OP_ADD && expr->operation == OP_SUB))) {
        if (vector_is_target(stmt, expr->operands[0]) ||
            (expr->operation == operation && vector_is_target(stmt, expr->operands[1])))
            return true;
        expr = expr->operands[0];
    }
    return false;
}

static bool is_tested_target(const struct vector_builder *builder, const struct ir_stmt *stmt)
{
    for (int axis = 0; stmt->kind == IR_STORE && axis < stmt->access.buffer->rank; axis++)
        if (stmt->access.checks[axis] == IR_CHECK_ELEMENT && !builder->options->trust_indices)
            return true;
    return false;
}

static enum operation operation_of(const struct ir_expr *value)
{
    return value->operation == OP_SUB || value->operation == OP_FMA ? OP_ADD : value->operation;
}

static bool is_fused(const struct ir_stmt *stmt, const struct ir_expr *value)
{
    return value->operation == OP_FMA && vector_is_target(stmt, value->operands[2]);
}

/* How many statements of the block, in branches perhaps, accumulate into what `stmt` does by the operation.
 */
static int count_accumulations(const struct ir_stmt *first, const struct ir_stmt *stmt,
                               enum operation operation)
{
    int count = 0;
    for (const struct ir_stmt *other = first; other; other = other->next) {
        bool same = other->kind == stmt->kind &&
                    (stmt->kind == IR_ASSIGN ? other->symbol == stmt->symbol
                                             : ir_access_equal(&other->access, &stmt->access));
        count += same && other->value->kind == IR_OPERATION && operation_of(other->value) == operation &&
                 (is_fused(stmt, other->value) || is_chain(stmt, other->value, operation));
        count += count_accumulations(other->body, stmt, operation) +
                 count_accumulations(other->otherwise, stmt, operation);
    }
    return count;
}

/* Whether the loop does nothing else with what the statement accumulates into. Each statement that changes it
 * mentions it, and counts twice for the others. */
static bool only_accumulates(const struct vector_builder *builder, const struct ir_stmt *stmt,
                             enum operation operation)
{
    int count = count_accumulations(builder->stmt->body, stmt, operation);
    return vector_mentions(builder, stmt) == count + 2 * (count - 1);
}

/* False when the statement accumulates nothing, or something that may not be. */
static bool build_accumulation(struct vector_builder *builder, const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;
    akg_dtype dtype = value->dtype;
    if (value->kind != IR_OPERATION)
        return false;
    enum operation operation = operation_of(value);
    bool fused = is_fused(stmt, value), floating = dtype_is_float(dtype);
    if (!vector_reorders(operation, dtype) || (!fused && !is_chain(stmt, value, operation)))
        return false;
    if (builder->options->strict && floating && (operation == OP_ADD || operation == OP_MUL))
        return false;
    if (!only_accumulates(builder, stmt, operation))
        return false;
    builder->after_test = is_tested_target(builder, stmt);
    if (fused) {
        int a = vector_expression(builder, value->operands[0]);
        int b = vector_expression(builder, value->operands[1]);
        accumulate(builder, stmt, OP_ADD, vector_operation(builder, OP_MUL, dtype, dtype, a, b, -1));
    } else {
        accumulate(builder, stmt, operation, rest_of_chain(builder, stmt, value, operation));
    }
    builder->after_test = false;
    return true;
}

/* ---- statements ------------------------------------------------------------------------------ */

static int both(struct vector_builder *builder, int mask, int condition)
{
    return mask < 0 ? condition : vector_operation(builder, OP_AND, AKG_BOOL, AKG_BOOL, mask, condition, -1);
}

/* Scalars that were assigned under the condition become choices. */
static void merge(struct vector_builder *builder, int condition, const int *then, int count)
{
    for (int k = 0; k < count; k++) {
        struct vector_scalar *scalar = &builder->scalars.items[k];
        akg_dtype dtype = scalar->symbol->dtype;
        if (scalar->value != then[k])
            scalar->value =
                vector_operation(builder, OP_SELECT, dtype, dtype, condition, then[k], scalar->value);
    }
    builder->scalars.count = count;
}

static int *copy_scalars(struct vector_builder *builder, int count)
{
    int *copy = arena_array(builder->arena, int, count);
    for (int k = 0; k < count; k++)
        copy[k] = builder->scalars.items[k].value;
    return copy;
}

static void build_if(struct vector_builder *builder, const struct ir_stmt *stmt)
{
    int condition = vector_expression(builder, stmt->value), mask = builder->mask;
    if (builder->refused)
        return;
    int count = builder->scalars.count, masks[2], middle, first = builder->loop->values.count;
    int *before = copy_scalars(builder, count);
    builder->mask = masks[0] = both(builder, mask, condition);
    vector_statements(builder, stmt->body);
    middle = builder->loop->values.count;
    int *then = copy_scalars(builder, count);
    for (int k = 0; k < count; k++)
        builder->scalars.items[k].value = before[k];
    builder->scalars.count = count;
    if (stmt->otherwise && !builder->refused) {
        int otherwise = vector_operation(builder, OP_NOT, AKG_BOOL, AKG_BOOL, condition, -1, -1);
        builder->mask = masks[1] = both(builder, mask, otherwise);
        vector_statements(builder, stmt->otherwise);
        builder->mask = mask;
        vector_share_loads(builder, first, middle, masks);
        vector_join_branches(builder, condition, first, middle, masks);
    }
    builder->mask = mask;
    if (mask < 0 && !builder->refused)
        vector_join_loads(builder, first);
    if (!builder->refused)
        merge(builder, condition, then, count);
}

void vector_statement(struct vector_builder *builder, const struct ir_stmt *stmt)
{
    if (stmt->span.line)
        builder->line = stmt->span.line;
    if (vector_pack(builder, stmt))
        return;
    switch (stmt->kind) {
    case IR_LET:
    case IR_VARIABLE:
        vector_declare(builder, stmt->symbol, vector_expression(builder, stmt->value));
        break;
    case IR_ASSIGN:
        if (vector_scalar(builder, stmt->symbol))
            vector_declare(builder, stmt->symbol, vector_expression(builder, stmt->value));
        else if (builder->nest || !build_accumulation(builder, stmt)) /* those of a nest are declared in it */
            vector_refuse(builder);
        break;
    case IR_STORE:
        if (!builder->is_serial && !vector_is_moving(builder, &stmt->access)) {
            if (builder->mask >= 0 || !build_accumulation(builder, stmt))
                vector_refuse(builder);
        } else if (vector_is_scatter(builder, stmt)) {
            vector_scatter(builder, stmt);
        } else {
            vector_store(builder, &stmt->access, stmt->value);
        }
        break;
    case IR_IF:
        if (builder->leaves && !stmt->body && !stmt->otherwise)
            vector_leave(builder, stmt->value);
        else
            build_if(builder, stmt);
        break;
    default:
        vector_refuse(builder);
    }
}

void vector_statements(struct vector_builder *builder, const struct ir_stmt *first)
{
    if (++builder->depth > 20)
        vector_refuse(builder);
    for (const struct ir_stmt *stmt = first; stmt && !builder->refused; stmt = stmt->next)
        vector_statement(builder, stmt);
    builder->depth--;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Whether the value is a function's that is really called. */
static bool is_real_call(const struct vector_builder *builder, const struct vector_value *value)
{
    if (value->kind != VECTOR_OPERATION || !dtype_is_float(value->from) ||
        !vector_is_call(value->operation) || vector_is_cube_root(value))
        return false;
    return builder->options->strict || !vector_is_inline(value->operation, value->from);
}

/* Values that nothing uses go away; the rest is renumbered. */
void vector_sweep(struct vector_builder *builder)
{
    struct vector_loop *loop = builder->loop;
    int *number = arena_array(builder->arena, int, loop->values.count), count = 0;
    for (int k = loop->values.count - 1; k >= 0; k--) {
        struct vector_value *value = &loop->values.items[k];
        if (!number[k] && !vector_has_effect(value->kind))
            continue;
        number[k] = 1;
        for (int operand = 0; operand < 3; operand++)
            if (value->operands[operand] >= 0)
                number[value->operands[operand]] = 1;
        if (value->mask >= 0)
            number[value->mask] = 1;
    }
    loop->wide = false;
    for (int k = 0; k < loop->values.count; k++) {
        struct vector_value value = loop->values.items[k];
        if (!number[k])
            continue;
        for (int operand = 0; operand < 3; operand++)
            if (value.operands[operand] >= 0)
                value.operands[operand] = number[value.operands[operand]];
        if (value.mask >= 0)
            value.mask = number[value.mask];
        loop->wide |= vector_type_is_wide(value.type);
        loop->calls |= is_real_call(builder, &value);
        number[k] = count;
        loop->values.items[count++] = value;
    }
    loop->values.count = count;
}

/* What elements accumulate is the same element in all iterations, or the order is kept. */
static bool reductions_stay(const struct vector_builder *builder, const struct dependence_loop *verdict)
{
    const struct dependences *dependences = builder->dependences;
    if (verdict->reduction < 0)
        return true;
    for (int k = 0; k < dependences->items.count; k++) {
        const struct dependence *item = &dependences->items.items[k];
        const struct dependence_access *source = &dependences->accesses.items[item->source];
        if (item->reduction && dependences->loops.items[source->loop].stmt == builder->stmt &&
            vector_is_moving(builder, source->access) && !vector_is_scatter(builder, source->stmt))
            return false;
    }
    return true;
}

typedef bool allows_dependence(const struct vector_builder *builder, const struct dependence *item,
                               const struct dependence_access *source, const struct dependence_access *sink);

/* Whether all that iterations of the loop hang on each other by is allowed, scalars aside. */
static bool elements_allowed(const struct vector_builder *builder, const struct dependence_loop *verdict,
                             allows_dependence *allows)
{
    const struct dependences *dependences = builder->dependences;
    int loop = (int)(verdict - dependences->loops.items);
    for (int k = 0; k < dependences->items.count; k++) {
        const struct dependence *item = &dependences->items.items[k];
        const struct dependence_access *source = &dependences->accesses.items[item->source];
        const struct dependence_access *sink = &dependences->accesses.items[item->sink];
        if ((source->loop == loop || sink->loop == loop) && item->level == verdict->depth &&
            !allows(builder, item, source, sink))
            return false;
    }
    return true;
}

/* Likewise, and no scalar is handed on. */
static bool all_allowed(const struct vector_builder *builder, const struct dependence_loop *verdict,
                        allows_dependence *allows)
{
    return verdict->scalar < 0 && elements_allowed(builder, verdict, allows);
}

/* A load of an element that a later iteration stores, as in `v[i] = (v[i] + v[i + 1]) / 2`: a vector is
 * loaded before any of it is stored. */
static bool looks_ahead(const struct vector_builder *builder, const struct dependence *item,
                        const struct dependence_access *source, const struct dependence_access *sink)
{
    (void)builder;
    return item->kind == DEPENDENCE_ANTI && !item->reduction &&
           (item->source <= item->sink || source->stmt == sink->stmt);
}

/* The same, if C finds it to be so. */
static bool may_look_ahead(const struct vector_builder *builder, const struct dependence *item,
                           const struct dependence_access *source, const struct dependence_access *sink)
{
    bool is_anti = item->kind == DEPENDENCE_ANTI;
    const struct dependence_access *load = is_anti ? source : sink, *store = is_anti ? sink : source;
    if (looks_ahead(builder, item, source, sink))
        return true;
    return item->kind != DEPENDENCE_OUTPUT && !item->reduction && load->load &&
           (load < store || load->stmt == store->stmt) &&
           vector_may_be_ahead(builder, load->access, store->access);
}

/* C is to find out what the analysis could not. */
static void demand_ahead(struct vector_builder *builder, const struct dependence_loop *verdict)
{
    const struct dependences *dependences = builder->dependences;
    int loop = (int)(verdict - dependences->loops.items);
    for (int k = 0; k < dependences->items.count; k++) {
        const struct dependence *item = &dependences->items.items[k];
        const struct dependence_access *source = &dependences->accesses.items[item->source];
        const struct dependence_access *sink = &dependences->accesses.items[item->sink];
        bool is_anti = item->kind == DEPENDENCE_ANTI;
        if (source->loop == loop && sink->loop == loop && item->level == verdict->depth &&
            !looks_ahead(builder, item, source, sink))
            vector_demand_ahead(builder, (is_anti ? source : sink)->access,
                                (is_anti ? sink : source)->access);
    }
}

/* Which iteration is the last to store into an element that is found by data, or what comes before of those
 * that accumulate into one. */
static bool is_overwritten(const struct vector_builder *builder, const struct dependence *item,
                           const struct dependence_access *source, const struct dependence_access *sink)
{
    return (item->reduction || (item->kind == DEPENDENCE_OUTPUT && source->stmt == sink->stmt)) &&
           vector_is_scatter(builder, source->stmt) && vector_is_scatter(builder, sink->stmt);
}

/* Whether scalars are handed on in a loop that looks ahead: where they are scanned, its lanes are as good. */
static bool may_scan_ahead(const struct vector_builder *builder, const struct dependence_loop *verdict)
{
    return verdict && verdict->verdict == DEPENDENCE_SERIAL && verdict->dependence >= 0 &&
           verdict->scalar >= 0 && !verdict->leaves && !verdict->incomplete &&
           elements_allowed(builder, verdict, looks_ahead);
}

static bool verdict_allows(const struct vector_builder *builder, const struct dependence_loop *verdict)
{
    if (!verdict || verdict->leaves || verdict->incomplete)
        return false;
    if (verdict->verdict != DEPENDENCE_PARALLEL && verdict->verdict != DEPENDENCE_ACCUMULATES &&
        !vector_may_choose(verdict) && !may_scan_ahead(builder, verdict) &&
        !(verdict->verdict == DEPENDENCE_SERIAL && all_allowed(builder, verdict, looks_ahead)) &&
        !all_allowed(builder, verdict, is_overwritten))
        return false;
    return reductions_stay(builder, verdict);
}

bool vector_is_short(const struct ir_stmt *stmt)
{
    int64_t distance;
    return !stmt->open && stmt->low->kind == IR_INTEGER && stmt->high->kind == IR_INTEGER &&
           !__builtin_sub_overflow(stmt->high->integer, stmt->low->integer, &distance) &&
           distance != INT64_MIN && distance / stmt->step < VECTOR_SHORTEST;
}

/* Statements of a block, counted as far as the limit: scalars are looked up by going through all of them. */
int vector_count_statements(const struct ir_stmt *first, int limit)
{
    int count = 0;
    for (const struct ir_stmt *stmt = first; stmt && count <= limit; stmt = stmt->next)
        count += 1 + vector_count_statements(stmt->body, limit - count) +
                 vector_count_statements(stmt->otherwise, limit - count);
    return count;
}

struct vector_loop *vector_build(struct arena *arena, const struct ir_stmt *stmt,
                                 const struct dependence_loop *verdict, const struct dependences *dependences,
                                 const struct vector_options *options)
{
    return vector_is_short(stmt) ? NULL : vector_build_any(arena, stmt, verdict, dependences, options);
}

static struct vector_loop *build(struct arena *arena, const struct ir_stmt *stmt, bool leaves,
                                 const struct vector_packs *packs, const struct dependence_loop *verdict,
                                 const struct dependences *dependences, const struct vector_options *options)
{
    struct vector_memo memo = {.answered = 0};
    struct vector_builder builder = {.arena = arena,
                                     .stmt = stmt,
                                     .options = options,
                                     .dependences = dependences,
                                     .mask = -1,
                                     .leaves = leaves,
                                     .packs = packs,
                                     .memo = &memo};
    if (vector_count_statements(stmt->body, VECTOR_STATEMENTS) > VECTOR_STATEMENTS ||
        vector_step_is_large(stmt))
        return NULL;
    bool allows = verdict_allows(&builder, verdict);
    if (!allows && !(verdict && dependences && !verdict->leaves && !verdict->incomplete &&
                     all_allowed(&builder, verdict, may_look_ahead)))
        return NULL;
    builder.is_parallel = verdict->verdict == DEPENDENCE_PARALLEL;
    builder.loop = arena_new(arena, struct vector_loop);
    builder.loop->stmt = stmt;
    builder.loop->count = vector_argument_new(
        &builder, (struct vector_argument){VECTOR_ARGUMENT_COUNT, -1, -1, NULL, 0, NULL, NULL});
    bool scans = allows && may_scan_ahead(&builder, verdict),
         chooses = allows && (scans || vector_may_choose(verdict));
    if (chooses)
        vector_begin_choices(&builder);
    if (!allows)
        demand_ahead(&builder, verdict);
    vector_statements(&builder, stmt->body);
    if (chooses && !builder.refused && !vector_build_scans(&builder)) {
        if (scans)
            return NULL;
        vector_end_choices(&builder);
    }
    if (!builder.refused)
        vector_hoist_tests(&builder);
    if (builder.refused)
        return NULL;
    if (builder.is_parallel)
        vector_hoist_loads(&builder);
    if (!options->strict)
        vector_fuse(&builder);
    vector_sweep(&builder);
    vector_place_choices(builder.loop);
    return builder.loop->values.count && vector_scatters_end(builder.loop) &&
                   vector_scatters_late(builder.loop) && vector_scans_pay(builder.loop)
               ? builder.loop
               : NULL;
}

struct vector_loop *vector_build_any(struct arena *arena, const struct ir_stmt *stmt,
                                     const struct dependence_loop *verdict,
                                     const struct dependences *dependences,
                                     const struct vector_options *options)
{
    return build(arena, stmt, false, NULL, verdict, dependences, options);
}

struct vector_loop *vector_build_leaving(struct arena *arena, const struct ir_stmt *stmt,
                                         const struct dependence_loop *verdict,
                                         const struct dependences *dependences,
                                         const struct vector_options *options)
{
    return vector_is_short(stmt) ? NULL : build(arena, stmt, true, NULL, verdict, dependences, options);
}

struct vector_loop *vector_build_packing(struct arena *arena, const struct ir_stmt *stmt,
                                         const struct vector_packs *packs,
                                         const struct dependence_loop *verdict,
                                         const struct dependences *dependences,
                                         const struct vector_options *options)
{
    bool is_other = !verdict || verdict->reduction >= 0 || vector_is_short(stmt);
    return is_other ? NULL : build(arena, stmt, false, packs, verdict, dependences, options);
}

int vector_latency(const struct vector_value *value)
{
    if (value->kind != VECTOR_OPERATION)
        return 1;
    if (vector_is_inline(value->operation, value->from) || vector_is_cube_root(value))
        return 20;
    return value->operation == OP_TRUEDIV || value->operation == OP_SQRT || value->operation == OP_RSQRT ? 5
                                                                                                         : 1;
}

int vector_work(const struct vector_loop *loop)
{
    int work = 0;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        work += value->kind == VECTOR_CONSTANT || value->kind == VECTOR_SCALAR ? 0 : vector_latency(value);
    }
    return work;
}

/* How long the value that waits longest takes, in sums; of those of a long loop, the first. */
static int longest_chain(const struct vector_loop *loop)
{
    enum { LOOKED_AT = 1600 };
    int lengths[LOOKED_AT], longest = 0;
    for (int k = 0; k < loop->values.count && k < LOOKED_AT; k++) {
        const struct vector_value *value = &loop->values.items[k];
        lengths[k] = 0;
        for (int operand = 0; operand < 3; operand++)
            if (value->operands[operand] >= 0 && lengths[value->operands[operand]] > lengths[k])
                lengths[k] = lengths[value->operands[operand]];
        lengths[k] += vector_latency(value);
        longest = lengths[k] > longest ? lengths[k] : longest;
    }
    return longest;
}

int vector_partials(const struct vector_loop *loop)
{
    int lanes = loop->is_even ? loop->group : vector_group(loop->wide),
        accumulators = loop->accumulators.count;
    int most = loop->values.count <= 10 && accumulators <= 2   ? 4
               : loop->values.count <= 24 && accumulators <= 3 ? 2
                                                               : 1;
    if (most < 4 && !loop->accumulators.count)
        most = longest_chain(loop) > 144 ? 4 : longest_chain(loop) > 48 ? 2 : most;
    if (most > 2 && vector_has_scans(loop)) /* what these keep for each of the vectors is made for each row */
        most = loop->is_part ? 1 : 2;
    bool only_one = loop->calls || (loop->stops && !loop->nest) || vector_waits_for_scans(loop);
    return only_one ? lanes : lanes * most;
}
