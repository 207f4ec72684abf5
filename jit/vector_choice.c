/*
 * vector_choice.c: loops that choose an iteration: `if x[j] > best: best = x[j]; at = j`.
 *
 * Consumes the values of a loop whose iterations hand scalars on, as TOTALs at their beginning and what each
 * scalar has become at their end; produces choices. A scalar is one of a choice where it either stays or
 * becomes what hangs on no such scalar, and by the same condition as the others of the choice. The condition
 * may compare what one of them becomes, `best`, with what it is: then its outcome for a number that is less,
 * equal, greater, or nan is found for all such pairs, and where that is an order, each lane can choose among
 * its own iterations, and the lanes among theirs: the outcome for equal ones says whether the first or the
 * last is it. So `>`, `>=`, `not <=`, nan tested or not, and conditional expressions are one case. What more
 * the condition asks of the iteration alone changes nothing of that.
 *
 * What hangs on the number of the iteration alone (`at = j`) is not carried along in lanes but computed from
 * that number behind the loop. So is a counter, `n = n + 1`.
 *
 * Where nobody asks for the iteration, `if x[j] > best: best = x[j]` is no choice: the value is accumulated,
 * as the comparison has it, and each lane is one instruction. (Not where results are to be strict: of two
 * zeros it keeps the one of some lane.)
 *
 * It gives up on everything else; then the loop is one of one lane (vector_serial.c).
 */
#include "vector_build.h"

enum { MOST_CARRIED = 16, MOST_CHOICES = 4, MOST_LATE = 24, MOST_WORK = 2000 };

/* How two values may lie to each other: a new one, and the best so far. */
enum pairing { NEW_LESS, NEW_EQUAL, NEW_GREATER, NEW_NAN, BEST_NAN, BOTH_NAN, PAIRINGS };

struct carried {
    int total, condition, value; /* where the condition holds it becomes the value, else it stays */
    bool is_counter, is_truth;
    int64_t step; /* of a counter */
    int choice;
};

struct choosing {
    struct vector_builder *builder;
    struct carried carried[MOST_CARRIED]; /* by accumulator: they are the first ones */
    int count;
    unsigned *hangs; /* by value: on which of them, as bits; where what it is loaded under holds */
    unsigned *masks; /* likewise, but for that */
    int *work;       /* what is left of it, for conditions */
};

bool vector_may_choose(const struct dependence_loop *verdict)
{
    return verdict && verdict->verdict == DEPENDENCE_SERIAL && verdict->dependence < 0 &&
           verdict->scalar >= 0 && !verdict->leaves && !verdict->incomplete;
}

/* ---- before the statements --------------------------------------------------------------------- */

static int total_of(struct vector_builder *builder, int accumulator, akg_dtype dtype)
{
    struct vector_value total = vector_blank(VECTOR_TOTAL, dtype);
    total.slot = accumulator;
    return vector_add(builder, total);
}

void vector_begin_choices(struct vector_builder *builder)
{
    const struct dependences *dependences = builder->dependences;
    struct vector_loop *loop = builder->loop;
    for (int k = 0; k < dependences->scalars.count; k++) {
        const struct dependence_scalar *scalar = &dependences->scalars.items[k];
        if (dependences->loops.items[scalar->loop].stmt != builder->stmt ||
            (scalar->use != DEPENDENCE_CARRIED && scalar->use != DEPENDENCE_FINAL))
            continue;
        int number = loop->accumulators.count;
        if (scalar->use == DEPENDENCE_FINAL || number == MOST_CARRIED) {
            vector_refuse(builder);
            return;
        }
        struct vector_accumulator row = {.symbol = scalar->symbol,
                                         .operation = OPERATION_COUNT,
                                         .dtype = scalar->symbol->dtype,
                                         .type = vector_type_of(scalar->symbol->dtype),
                                         .role = VECTOR_CHOSEN};
        row.slot = vector_argument_new(
            builder, (struct vector_argument){VECTOR_ARGUMENT_ACCUMULATOR, -1, number, NULL, 0, NULL, NULL});
        list_push(builder->arena, &loop->accumulators, row);
        vector_declare(builder, scalar->symbol, total_of(builder, number, row.dtype));
    }
}

/* ---- what hangs on what ------------------------------------------------------------------------ */

static const struct vector_value *value_at(const struct choosing *choosing, int number)
{
    return &choosing->builder->loop->values.items[number];
}

static bool is_operation(const struct choosing *choosing, int number, enum operation operation)
{
    const struct vector_value *value = value_at(choosing, number);
    return value->kind == VECTOR_OPERATION && value->operation == operation;
}

static void find_hangs(struct choosing *choosing)
{
    const struct vector_loop *loop = choosing->builder->loop;
    choosing->hangs = arena_array(choosing->builder->arena, unsigned, loop->values.count);
    choosing->masks = arena_array(choosing->builder->arena, unsigned, loop->values.count);
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind == VECTOR_TOTAL)
            choosing->hangs[k] = choosing->masks[k] = 1u << value->slot;
        for (int operand = 0; operand < 3; operand++)
            if (value->operands[operand] >= 0) {
                choosing->hangs[k] |= choosing->hangs[value->operands[operand]];
                choosing->masks[k] |= choosing->masks[value->operands[operand]];
            }
        if (value->mask >= 0)
            choosing->masks[k] |= choosing->masks[value->mask];
    }
}

/* Only in the end there is a best one: nothing else may be done by it, or by a counter. */
static bool has_other_uses(const struct choosing *choosing)
{
    const struct vector_loop *loop = choosing->builder->loop;
    for (int k = 0; k < loop->values.count; k++)
        if (vector_has_effect(loop->values.items[k].kind) && choosing->masks[k])
            return true;
    return false;
}

/* ---- conditions -------------------------------------------------------------------------------- */

static int both(struct choosing *choosing, int a, int b)
{
    return a < 0 ? b : b < 0 ? a : vector_operation(choosing->builder, OP_AND, AKG_BOOL, AKG_BOOL, a, b, -1);
}

/* When the scalar becomes something else, and what; false where that is not to be seen. */
static bool find_change(struct choosing *choosing, struct carried *carried, int number)
{
    for (carried->condition = -1; is_operation(choosing, number, OP_SELECT);) {
        int condition = value_at(choosing, number)->operands[0];
        int then = value_at(choosing, number)->operands[1],
            otherwise = value_at(choosing, number)->operands[2];
        if (then != carried->total && otherwise != carried->total)
            break;
        if (then == carried->total)
            condition = vector_operation(choosing->builder, OP_NOT, AKG_BOOL, AKG_BOOL, condition, -1, -1);
        carried->condition = both(choosing, carried->condition, condition);
        number = then == carried->total ? otherwise : then;
    }
    carried->value = number;
    return carried->condition >= 0 && number != carried->total;
}

static int truth(struct choosing *choosing, bool value)
{
    union dtype_value number = {.i = value};
    return vector_constant(choosing->builder, AKG_BOOL, number);
}

/* Likewise of a truth value, which changes but once: `found or x[j] > 0` becomes true by x[j] > 0. What is
 * evaluated only until then does no harm after it, so all lanes go by what it was before the loop. */
static bool find_turn(struct choosing *choosing, struct carried *carried, int number)
{
    bool is_or = is_operation(choosing, number, OP_OR) || is_operation(choosing, number, OP_BITOR);
    bool is_and = is_operation(choosing, number, OP_AND) || is_operation(choosing, number, OP_BITAND);
    int first = value_at(choosing, number)->operands[0], second = value_at(choosing, number)->operands[1];
    if ((is_or || is_and) && (first == carried->total || second == carried->total)) {
        int other = first == carried->total ? second : first;
        carried->condition =
            is_or ? other : vector_operation(choosing->builder, OP_NOT, AKG_BOOL, AKG_BOOL, other, -1, -1);
        carried->value = truth(choosing, is_or);
        return true;
    }
    return find_change(choosing, carried, number) &&
           value_at(choosing, carried->value)->kind == VECTOR_CONSTANT;
}

/* n + 1 of the counter n. */
static bool find_step(const struct choosing *choosing, struct carried *carried, int number)
{
    const struct vector_value *value = value_at(choosing, number);
    if (value->kind != VECTOR_OPERATION || value->dtype != AKG_INT64 ||
        (value->operation != OP_ADD && value->operation != OP_SUB) || value->operands[0] != carried->total ||
        value_at(choosing, value->operands[1])->kind != VECTOR_CONSTANT)
        return false;
    int64_t step = (int64_t)value_at(choosing, value->operands[1])->bits;
    if (step > VECTOR_LARGEST_STEP || step < -VECTOR_LARGEST_STEP)
        return false;
    carried->is_counter = true;
    carried->step = value->operation == OP_SUB ? -step : step;
    return true;
}

/* ---- orders ------------------------------------------------------------------------------------ */

enum outcome { FALSE_OUTCOME, TRUE_OUTCOME, UNKNOWN_OUTCOME };

/* Whether both are the same wherever both are computed: what is loaded under another condition is. */
static bool is_same(const struct choosing *choosing, int a, int b, int *left)
{
    const struct vector_value *first = value_at(choosing, a), *second = value_at(choosing, b);
    if (a == b)
        return true;
    if (--*left < 0 || first->kind != second->kind || first->dtype != second->dtype ||
        first->from != second->from || first->operation != second->operation || first->slot != second->slot ||
        first->stream != second->stream || first->offset != second->offset || first->epoch != second->epoch ||
        first->bits != second->bits)
        return false;
    for (int k = 0; k < 3; k++) {
        int x = first->operands[k], y = second->operands[k];
        if (x != y && (x < 0 || y < 0 || !is_same(choosing, x, y, left)))
            return false;
    }
    return true;
}

/* Whether the value is what the scalar becomes. */
static bool is_new(const struct choosing *choosing, const struct carried *carried, int number)
{
    enum { MOST = 200 };
    int left = MOST;
    return number >= 0 && is_same(choosing, number, carried->value, &left);
}

/* -1, 0, 1: how a lies to b; 2: they do not compare. Each is the new value or the best so far. */
static int compare(bool a_is_new, bool b_is_new, enum pairing pairing)
{
    bool new_nan = pairing == NEW_NAN || pairing == BOTH_NAN;
    bool best_nan = pairing == BEST_NAN || pairing == BOTH_NAN;
    if (a_is_new == b_is_new)
        return (a_is_new ? new_nan : best_nan) ? 2 : 0;
    if (new_nan || best_nan)
        return 2;
    int order = pairing == NEW_LESS ? -1 : pairing == NEW_GREATER;
    return a_is_new ? order : -order;
}

static enum outcome comparison_outcome(enum operation operation, int order)
{
    switch (operation) {
    case OP_LT:
        return order == -1;
    case OP_LE:
        return order == -1 || order == 0;
    case OP_GT:
        return order == 1;
    case OP_GE:
        return order == 1 || order == 0;
    case OP_EQ:
        return order == 0;
    case OP_NE:
        return order != 0;
    case OP_ISNAN:
        return order == 2;
    default:
        return UNKNOWN_OUTCOME;
    }
}

/* What a value that hangs on nothing but how the two lie to each other comes to. */
static enum outcome outcome_of(const struct choosing *choosing, const struct carried *carried, int number,
                               enum pairing pairing)
{
    const struct vector_value *value = value_at(choosing, number);
    int a = value->operands[0], b = value->operation == OP_ISNAN ? a : value->operands[1];
    if (--*choosing->work < 0 || value->kind != VECTOR_OPERATION || value->dtype != AKG_BOOL)
        return UNKNOWN_OUTCOME;
    bool new_a = is_new(choosing, carried, a), new_b = is_new(choosing, carried, b);
    if ((new_a || a == carried->total) && (new_b || b == carried->total))
        return comparison_outcome(value->operation, compare(new_a, new_b, pairing));
    enum outcome first = value_at(choosing, a)->dtype == AKG_BOOL ? outcome_of(choosing, carried, a, pairing)
                                                                  : UNKNOWN_OUTCOME;
    if (value->operation == OP_NOT || value->operation == OP_BITNOT)
        return first == UNKNOWN_OUTCOME ? first : !first;
    bool conjunction = value->operation == OP_AND || value->operation == OP_BITAND;
    if (first == UNKNOWN_OUTCOME ||
        (!conjunction && value->operation != OP_OR && value->operation != OP_BITOR))
        return UNKNOWN_OUTCOME;
    enum outcome second = outcome_of(choosing, carried, b, pairing);
    if (second == UNKNOWN_OUTCOME)
        return UNKNOWN_OUTCOME;
    return conjunction ? first && second : first || second;
}

/* The condition's, where all that it asks of the iteration alone holds. */
static enum outcome condition_outcome(const struct choosing *choosing, const struct carried *carried,
                                      int number, enum pairing pairing)
{
    if (--*choosing->work < 0)
        return UNKNOWN_OUTCOME;
    if (!choosing->hangs[number])
        return TRUE_OUTCOME;
    if (!is_operation(choosing, number, OP_AND))
        return outcome_of(choosing, carried, number, pairing);
    enum outcome outcome = TRUE_OUTCOME;
    for (int k = 0; k < 2 && outcome != UNKNOWN_OUTCOME; k++) {
        enum outcome part =
            condition_outcome(choosing, carried, value_at(choosing, number)->operands[k], pairing);
        outcome = part == UNKNOWN_OUTCOME ? part : outcome && part;
    }
    return outcome;
}

/* False where the outcomes are those of no order: then it matters which iterations a lane has seen. */
static bool find_order(const struct choosing *choosing, const struct carried *carried,
                       struct vector_order *order)
{
    bool real = dtype_is_float(value_at(choosing, carried->value)->dtype), is[PAIRINGS] = {false};
    for (int pairing = 0; pairing < (real ? PAIRINGS : NEW_NAN); pairing++) {
        enum outcome outcome = condition_outcome(choosing, carried, carried->condition, pairing);
        if (outcome == UNKNOWN_OUTCOME)
            return false;
        is[pairing] = outcome;
    }
    *order = (struct vector_order){.greatest = is[NEW_GREATER],
                                   .last = is[NEW_EQUAL],
                                   .has_nan = is[NEW_NAN] || is[BEST_NAN] || is[BOTH_NAN],
                                   .nan_wins = is[NEW_NAN],
                                   .last_nan = is[BOTH_NAN]};
    return is[NEW_LESS] != is[NEW_GREATER] && (!order->has_nan || is[NEW_NAN] != is[BEST_NAN]);
}

/* ---- what is computed behind the loop ---------------------------------------------------------- */

/* A value of one lane. */
static int late_value(struct vector_builder *builder, struct vector_late *late, struct vector_value value)
{
    list_push(builder->arena, &late->values, value);
    return late->values.count - 1;
}

static int late_constant(struct vector_builder *builder, struct vector_late *late, int64_t number)
{
    struct vector_value value = vector_blank(VECTOR_CONSTANT, AKG_INT64);
    value.bits = (uint64_t)number;
    return late_value(builder, late, value);
}

static int late_operation(struct vector_builder *builder, struct vector_late *late, enum operation operation,
                          int a, int b)
{
    struct vector_value value = vector_blank(VECTOR_OPERATION, AKG_INT64);
    value.operation = operation;
    value.operands[0] = a;
    value.operands[1] = b;
    return late_value(builder, late, value);
}

static int late_cast(struct vector_builder *builder, struct vector_late *late, akg_dtype dtype, int a)
{
    struct vector_value value = vector_blank(VECTOR_OPERATION, dtype);
    value.operation = OP_CAST;
    value.from = AKG_INT64;
    value.operands[0] = a;
    return late_value(builder, late, value);
}

/* start + number * step; start -1: 0. */
static int late_linear(struct vector_builder *builder, struct vector_late *late, int start, int number,
                       int64_t step)
{
    if (step == -1 && start >= 0)
        return late_operation(builder, late, OP_SUB, start, number);
    if (step != 1)
        number = late_operation(builder, late, OP_MUL, number, late_constant(builder, late, step));
    return start < 0 ? number : late_operation(builder, late, OP_ADD, start, number);
}

static int late_total(struct vector_builder *builder, struct vector_late *late, int accumulator)
{
    struct vector_value value = vector_blank(VECTOR_TOTAL, AKG_INT64);
    value.slot = accumulator;
    return late_value(builder, late, value);
}

static bool is_late_kind(const struct choosing *choosing, const struct vector_value *value)
{
    switch (value->kind) {
    case VECTOR_INDEX:
    case VECTOR_CONSTANT:
        return true;
    case VECTOR_SCALAR:
        return value->type != VECTOR_MASK;
    case VECTOR_TOTAL:
        return choosing->carried[value->slot].is_counter;
    default:
        return value->kind == VECTOR_OPERATION && !vector_is_call(value->operation);
    }
}

/* The values that `number` is computed from, marked; false where some are not to be had behind the loop. */
static bool mark_late(const struct choosing *choosing, int number, bool *needed)
{
    int count = 0;
    needed[number] = true;
    for (int k = number; k >= 0; k--) {
        const struct vector_value *value = value_at(choosing, k);
        if (!needed[k])
            continue;
        if (!is_late_kind(choosing, value) || ++count > MOST_LATE)
            return false;
        for (int operand = 0; operand < 3; operand++)
            if (value->operands[operand] >= 0)
                needed[value->operands[operand]] = true;
    }
    return true;
}

/* One of these values, out of the number of the iteration, `place`. */
static int copy_late(struct choosing *choosing, struct vector_late *late, int number, const int *copies,
                     int place)
{
    struct vector_builder *builder = choosing->builder;
    struct vector_value value = *value_at(choosing, number);
    if (value.kind == VECTOR_TOTAL)
        return late_linear(builder, late, late_total(builder, late, value.slot), place,
                           choosing->carried[value.slot].step);
    if (value.kind == VECTOR_INDEX) {
        const struct ir_expr *low = builder->stmt->low;
        bool is_zero = low->kind == IR_INTEGER && low->integer == 0;
        int start =
            is_zero ? -1 : late_value(builder, late, *value_at(choosing, vector_expression(builder, low)));
        int index = late_linear(builder, late, start, place, builder->stmt->step);
        return value.dtype == AKG_INT32 ? late_cast(builder, late, AKG_INT32, index) : index;
    }
    for (int operand = 0; operand < 3; operand++)
        if (value.operands[operand] >= 0)
            value.operands[operand] = copies[value.operands[operand]];
    return late_value(builder, late, value);
}

/* The accumulator is computed behind the loop; false where that cannot be. */
static bool add_late(struct choosing *choosing, int accumulator)
{
    struct vector_builder *builder = choosing->builder;
    const struct carried *carried = &choosing->carried[accumulator];
    int count = carried->value + 1;
    bool *needed = arena_array(builder->arena, bool, count);
    int *copies = arena_array(builder->arena, int, count);
    struct vector_late late = {.accumulator = accumulator, .choice = carried->choice};
    if (!vector_is_invariant(builder, builder->stmt->low) || !mark_late(choosing, carried->value, needed))
        return false;
    int place = late_total(builder, &late, builder->loop->choices.items[carried->choice].place);
    for (int k = 0; k < count; k++)
        if (needed[k])
            copies[k] = copy_late(choosing, &late, k, copies, place);
    builder->loop->accumulators.items[accumulator].role = VECTOR_LATE;
    list_push(builder->arena, &builder->loop->late, late);
    return true;
}

/* What a truth value turns to; before that, lanes know it by what it was. */
static void add_truth(struct choosing *choosing, int accumulator)
{
    struct vector_builder *builder = choosing->builder;
    const struct carried *carried = &choosing->carried[accumulator];
    struct vector_late late = {.accumulator = accumulator, .choice = carried->choice};
    struct vector_value *total = &builder->loop->values.items[carried->total];
    late_constant(builder, &late, value_at(choosing, carried->value)->bits != 0);
    total->kind = VECTOR_SCALAR;
    total->slot = builder->loop->accumulators.items[accumulator].slot;
    builder->loop->accumulators.items[accumulator].role = VECTOR_LATE;
    list_push(builder->arena, &builder->loop->late, late);
}

/* What a counter is in the end; behind all that is computed from what it was. */
static void add_counter(struct choosing *choosing, int accumulator)
{
    struct vector_builder *builder = choosing->builder;
    struct vector_late late = {.accumulator = accumulator, .choice = -1};
    struct vector_value count = vector_blank(VECTOR_SCALAR, AKG_INT64);
    count.slot = builder->loop->count;
    int start = late_total(builder, &late, accumulator);
    late_linear(builder, &late, start, late_value(builder, &late, count),
                choosing->carried[accumulator].step);
    builder->loop->accumulators.items[accumulator].role = VECTOR_LATE;
    list_push(builder->arena, &builder->loop->late, late);
}

/* ---- choices ----------------------------------------------------------------------------------- */

static void set(struct choosing *choosing, int accumulator, akg_dtype dtype, int value, int condition)
{
    struct vector_value effect = vector_blank(VECTOR_SET, dtype);
    effect.slot = accumulator;
    effect.operands[0] = value;
    effect.mask = condition;
    vector_add(choosing->builder, effect);
}

/* The choice by the condition, made at its first use; its best is the one that the condition hangs on. */
static int choice_of(struct choosing *choosing, int condition)
{
    struct vector_builder *builder = choosing->builder;
    struct vector_loop *loop = builder->loop;
    struct vector_choice choice = {.best = -1, .place = loop->accumulators.count};
    for (int k = 0; k < choosing->count; k++)
        if (choosing->carried[k].choice >= 0 && choosing->carried[k].condition == condition)
            return choosing->carried[k].choice;
    for (int k = 0; k < choosing->count; k++)
        if (choosing->hangs[condition] == 1u << k)
            choice.best = k;
    const struct carried *best = choice.best < 0 ? NULL : &choosing->carried[choice.best];
    if (loop->choices.count == MOST_CHOICES || (choosing->hangs[condition] && !best) ||
        (best && (best->is_counter || best->is_truth || best->condition != condition ||
                  choosing->hangs[best->value] || !find_order(choosing, best, &choice.order))))
        return vector_refuse(builder), -1;
    struct vector_accumulator place = {.operation = OPERATION_COUNT,
                                       .dtype = AKG_INT32,
                                       .type = VECTOR_I32,
                                       .role = VECTOR_CHOSEN,
                                       .choice = loop->choices.count};
    place.slot = vector_argument_new(
        builder, (struct vector_argument){.kind = VECTOR_ARGUMENT_STATE, .stream = -1, .accumulator = -1});
    list_push(builder->arena, &loop->accumulators, place);
    list_push(builder->arena, &loop->choices, choice);
    return loop->choices.count - 1;
}

/* Other scalars are not there in lanes, not even for the condition of a load. */
static bool knows_only_best(const struct choosing *choosing, int number, int choice)
{
    int best = choosing->builder->loop->choices.items[choice].best;
    unsigned known = best < 0 ? 0 : 1u << best;
    for (int k = 0; k < choosing->count; k++)
        known |= choosing->carried[k].is_truth ? 1u << k : 0;
    return !(choosing->masks[number] & ~known);
}

/* Whether the scalar is but the greatest or the least of floats so far: nobody asks which iteration it is of.
 * Which of two zeros that is hangs on the lanes then. */
static bool is_extreme(struct choosing *choosing, int accumulator, struct vector_order *order)
{
    const struct carried *carried = &choosing->carried[accumulator];
    const struct vector_value *condition =
        carried->condition < 0 ? NULL : value_at(choosing, carried->condition);
    enum vector_type type = choosing->builder->loop->accumulators.items[accumulator].type;
    if (choosing->builder->options->strict || !condition || condition->kind != VECTOR_OPERATION ||
        condition->operation < OP_LT || condition->operation > OP_GE || carried->is_counter ||
        carried->is_truth || (type != VECTOR_F32 && type != VECTOR_F64) || choosing->hangs[carried->value] ||
        choosing->hangs[carried->condition] != 1u << accumulator)
        return false;
    for (int k = 0; k < choosing->count; k++)
        if (k != accumulator && choosing->carried[k].condition == carried->condition)
            return false;
    bool compares = (condition->operands[0] == carried->total && condition->operands[1] == carried->value) ||
                    (condition->operands[1] == carried->total && condition->operands[0] == carried->value);
    return compares && find_order(choosing, carried, order) && !order->has_nan;
}

static void add_extreme(struct choosing *choosing, int accumulator, const struct vector_order *order)
{
    struct vector_accumulator *row = &choosing->builder->loop->accumulators.items[accumulator];
    struct vector_value value = vector_blank(VECTOR_ACCUMULATE, row->dtype);
    row->role = VECTOR_REDUCED;
    row->operation = order->greatest ? OP_MAX : OP_MIN;
    row->is_quiet = true;
    value.operation = row->operation;
    value.operands[0] = choosing->carried[accumulator].value;
    value.slot = accumulator;
    vector_add(choosing->builder, value);
}

static void add_carried(struct choosing *choosing, int accumulator)
{
    struct carried *carried = &choosing->carried[accumulator];
    struct vector_loop *loop = choosing->builder->loop;
    struct vector_order order;
    if (is_extreme(choosing, accumulator, &order)) {
        add_extreme(choosing, accumulator, &order);
        return;
    }
    carried->choice = choice_of(choosing, carried->condition);
    if (choosing->builder->refused)
        return;
    if (!knows_only_best(choosing, carried->condition, carried->choice)) {
        vector_refuse(choosing->builder);
        return;
    }
    bool is_best = loop->choices.items[carried->choice].best == accumulator;
    loop->accumulators.items[accumulator].choice = carried->choice;
    if (carried->is_truth) {
        add_truth(choosing, accumulator);
        return;
    }
    if (!is_best && add_late(choosing, accumulator))
        return;
    if (choosing->hangs[carried->value] || !knows_only_best(choosing, carried->value, carried->choice))
        vector_refuse(choosing->builder);
    else
        set(choosing, accumulator, loop->accumulators.items[accumulator].dtype, carried->value,
            carried->condition);
}

/* What each scalar that is handed on becomes. */
static void find_changes(struct choosing *choosing)
{
    struct vector_builder *builder = choosing->builder;
    for (int k = 0; k < choosing->count && !builder->refused; k++) {
        struct carried *carried = &choosing->carried[k];
        int number = *vector_scalar(builder, builder->loop->accumulators.items[k].symbol);
        carried->is_truth = builder->loop->accumulators.items[k].type == VECTOR_MASK;
        if (carried->is_truth
                ? !find_turn(choosing, carried, number)
                : !find_step(choosing, carried, number) && !find_change(choosing, carried, number))
            vector_refuse(builder);
    }
}

void vector_end_choices(struct vector_builder *builder)
{
    struct vector_loop *loop = builder->loop;
    int work = MOST_WORK;
    struct choosing choosing = {.builder = builder, .work = &work};
    for (int k = 0; k < loop->accumulators.count; k++)
        if (loop->accumulators.items[k].role == VECTOR_CHOSEN)
            choosing.count = k + 1;
    for (int k = 0; k < choosing.count; k++)
        choosing.carried[k] =
            (struct carried){.total = total_of(builder, k, loop->accumulators.items[k].dtype), .choice = -1};
    find_changes(&choosing);
    find_hangs(&choosing);
    if (builder->refused || has_other_uses(&choosing)) {
        vector_refuse(builder);
        return;
    }
    for (int k = 0; k < choosing.count && !builder->refused; k++)
        if (!choosing.carried[k].is_counter)
            add_carried(&choosing, k);
    for (int k = 0; k < choosing.count && !builder->refused; k++)
        if (choosing.carried[k].is_counter)
            add_counter(&choosing, k);
    for (int k = 0; k < loop->choices.count && !builder->refused; k++) {
        int place = loop->choices.items[k].place, condition = -1;
        for (int c = 0; c < choosing.count; c++)
            condition = choosing.carried[c].choice == k ? choosing.carried[c].condition : condition;
        set(&choosing, place, AKG_INT32, -1, condition);
    }
    if (loop->stops && loop->late.count && loop->late.items[loop->late.count - 1].choice < 0)
        vector_refuse(builder);
}

/* Numbers of iterations are as wide as the widest lanes, for conditions to suit both. */
void vector_place_choices(struct vector_loop *loop)
{
    akg_dtype dtype = loop->wide ? AKG_INT64 : AKG_INT32;
    for (int k = 0; k < loop->choices.count; k++) {
        int place = loop->choices.items[k].place;
        loop->accumulators.items[place].dtype = dtype;
        loop->accumulators.items[place].type = vector_type_of(dtype);
        for (int v = 0; v < loop->values.count; v++) {
            struct vector_value *value = &loop->values.items[v];
            if (value->kind == VECTOR_SET && value->slot == place) {
                value->dtype = value->from = dtype;
                value->type = vector_type_of(dtype);
            }
        }
    }
}
