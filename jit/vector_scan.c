/*
 * vector_scan.c: loops that store what they accumulate: `s = s + x[j]; y[j] = s`.
 *
 * Consumes the values of a loop whose iterations hand scalars on, as TOTALs at their beginning and what each
 * scalar has become at their end. A scalar that becomes itself and a term, by an operation that may be done
 * in another order, is scanned: all lanes of the term are there at once, and so is what they come to from the
 * first one on. The term hangs on no scalar that is handed on, unless that one has been scanned itself; the
 * condition of it likewise. So is one that becomes what is better (`if x[j] > top: top = x[j]`), where nan is
 * as bad as can be. Produces SCANs, which are what the scalars become, and BEFOREs, which are what
 * they were, in the place of the TOTALs.
 *
 * It gives up on everything else; then the loop is one of one lane (vector_serial.c). Loops in which nothing
 * is done with such a scalar but to change it are for vector_choice.c.
 */
#include "vector_build.h"

#include <math.h>
#include <string.h>

enum { NONE = -1 };

struct scanning {
    struct vector_builder *builder;
    int *becomes; /* by accumulator: the value at the end of the iteration */
    int count;    /* of accumulators; scalars that are handed on are the first ones */
    bool *hangs;  /* by value: on a TOTAL */
};

/* What the scalar is taken together with, where the mask (NONE: always) holds. */
struct term {
    enum operation operation;
    int value, mask;
    bool is_quiet; /* as in struct vector_accumulator */
};

static const struct vector_value *value_at(const struct scanning *scanning, int number)
{
    return &scanning->builder->loop->values.items[number];
}

static bool uses(const struct vector_value *value, int number)
{
    return value->operands[0] == number || value->operands[1] == number || value->operands[2] == number ||
           value->mask == number;
}

static void find_hangs(struct scanning *scanning)
{
    const struct vector_loop *loop = scanning->builder->loop;
    scanning->hangs = arena_array(scanning->builder->arena, bool, loop->values.count);
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        scanning->hangs[k] =
            value->kind == VECTOR_TOTAL || (value->mask >= 0 && scanning->hangs[value->mask]);
        for (int operand = 0; operand < 3; operand++)
            scanning->hangs[k] |= value->operands[operand] >= 0 && scanning->hangs[value->operands[operand]];
    }
}

static bool is_used(const struct scanning *scanning)
{
    const struct vector_loop *loop = scanning->builder->loop;
    for (int k = 0; k < loop->values.count; k++)
        if (vector_has_effect(loop->values.items[k].kind) && scanning->hangs[k])
            return true;
    return false;
}

/* ---- terms ------------------------------------------------------------------------------------------- */

static bool find_term(struct scanning *scanning, int total, int number, struct term *term);

/* Values that are made here hang on no scalar. */
static int apply(struct scanning *scanning, enum operation operation, akg_dtype dtype, int a, int b)
{
    return vector_operation(scanning->builder, operation, dtype, dtype, a, b, -1);
}

static bool hangs(const struct scanning *scanning, int number)
{
    return scanning->hangs[number];
}

/* It becomes another value that is better: `if x > top: top = x`. Of two that are equal, zeros, the first one
 * stays; `>=` takes the last, which is as good where results are not strict. */
static bool find_better(struct scanning *scanning, int total, int condition, int then, struct term *term)
{
    const struct vector_value *value = value_at(scanning, condition);
    akg_dtype dtype = value_at(scanning, total)->dtype;
    enum operation operation = value->operation;
    int left = value->operands[0], right = value->operands[1];
    if (value->kind != VECTOR_OPERATION || operation < OP_LT || operation > OP_GE || value->from != dtype ||
        (dtype != AKG_FLOAT32 && dtype != AKG_FLOAT64) || hangs(scanning, then))
        return false;
    if (left == total && right == then)
        operation = ir_comparison_mirrored(operation);
    else if (left != then || right != total)
        return false;
    if ((operation == OP_GE || operation == OP_LE) && scanning->builder->options->strict)
        return false;
    *term = (struct term){operation == OP_GT || operation == OP_GE ? OP_MAX : OP_MIN, then, NONE, true};
    return true;
}

/* Likewise, where another condition holds, too. */
static bool find_better_of_some(struct scanning *scanning, int total, int condition, int then,
                                struct term *term)
{
    const struct vector_value both = *value_at(scanning, condition);
    for (int side = 0; side < 2 && both.kind == VECTOR_OPERATION && both.operation == OP_AND; side++)
        if (!hangs(scanning, both.operands[side]) &&
            find_better(scanning, total, both.operands[1 - side], then, term)) {
            term->mask = both.operands[side];
            return true;
        }
    return find_better(scanning, total, condition, then, term);
}

/* It stays what it was, or changes: the condition of that. */
static bool find_choice(struct scanning *scanning, int total, const struct vector_value *value,
                        struct term *term)
{
    int condition = value->operands[0], then = value->operands[1], otherwise = value->operands[2];
    if (otherwise == total && find_better_of_some(scanning, total, condition, then, term))
        return true;
    if (hangs(scanning, condition) || (then == total) == (otherwise == total) ||
        !find_term(scanning, total, then == total ? otherwise : then, term))
        return false;
    if (then == total)
        condition = apply(scanning, OP_NOT, AKG_BOOL, condition, -1);
    term->mask = term->mask < 0 ? condition : apply(scanning, OP_AND, AKG_BOOL, condition, term->mask);
    return true;
}

/* The operand that hangs on nothing, put to what is found in the other one. The product of two factors of
 * floats may be infinite, or 0, where what is handed on is neither. */
static bool join_term(struct scanning *scanning, int total, struct vector_value value, bool is_left,
                      struct term *term)
{
    int other = value.operands[is_left ? 1 : 0], inner = value.operands[is_left ? 0 : 1];
    if (hangs(scanning, other))
        return false;
    if (inner == total) {
        term->value = value.operation == OP_SUB ? apply(scanning, OP_NEG, value.dtype, other, -1) : other;
        return true;
    }
    enum operation operation = term->operation;
    if (operation == OP_MUL && dtype_is_float(value.dtype))
        return false;
    if (!find_term(scanning, total, inner, term) || term->operation != operation || term->mask >= 0)
        return false;
    term->value = is_left ? apply(scanning, value.operation, value.dtype, term->value, other)
                          : apply(scanning, value.operation, value.dtype, other, term->value);
    return true;
}

static bool is_scanned(const struct scanning *scanning, enum operation operation, akg_dtype dtype)
{
    bool sums = operation == OP_ADD || operation == OP_MUL;
    return vector_reorders(operation, dtype) && dtype != AKG_BOOL &&
           !(scanning->builder->options->strict && dtype_is_float(dtype) && sums);
}

/* What takes value number `total` to value number `number`. */
static bool find_term(struct scanning *scanning, int total, int number, struct term *term)
{
    struct vector_value value = *value_at(scanning, number); /* others are added */
    if (value.kind != VECTOR_OPERATION || value.dtype != value_at(scanning, total)->dtype)
        return false;
    if (value.operation == OP_SELECT)
        return find_choice(scanning, total, &value, term);
    *term = (struct term){value.operation == OP_SUB || value.operation == OP_FMA ? OP_ADD : value.operation,
                          NONE, NONE, false};
    if (value.from != value.dtype || !is_scanned(scanning, term->operation, value.dtype))
        return false;
    if (value.operation == OP_FMA) {
        if (value.operands[2] != total || hangs(scanning, value.operands[0]) ||
            hangs(scanning, value.operands[1]))
            return false;
        term->value = apply(scanning, OP_MUL, value.dtype, value.operands[0], value.operands[1]);
        return true;
    }
    bool is_left = hangs(scanning, value.operands[0]);
    return (is_left || value.operation != OP_SUB) && join_term(scanning, total, value, is_left, term);
}

/* ---- the change -------------------------------------------------------------------------------------- */

struct change {
    struct scanning *scanning;
    const struct vector_value *old;
    const struct vector_stream *streams;
    int *moved; /* by old value; NONE: it is not there yet */
    int trigger;
};

/* Whether a load that comes earlier than it did would go ahead of a store into its tensor. */
static bool passes_store(const struct change *change, int load)
{
    const struct vector_value *value = &change->old[load];
    if (value->kind != VECTOR_LOAD && value->kind != VECTOR_GATHER)
        return false;
    for (int k = change->trigger; k < load; k++) {
        const struct vector_value *store = &change->old[k];
        if ((store->kind == VECTOR_STORE || store->kind == VECTOR_SCATTER) &&
            change->streams[store->stream].access->buffer == change->streams[value->stream].access->buffer)
            return true;
    }
    return false;
}

/* The value, behind all that it needs. */
static int place(struct change *change, int number)
{
    const struct vector_value *value = &change->old[number];
    if (number < 0 || change->moved[number] >= 0)
        return number < 0 ? NONE : change->moved[number];
    for (int operand = 0; operand < 3; operand++)
        place(change, value->operands[operand]);
    place(change, value->mask);
    if (passes_store(change, number))
        vector_refuse(change->scanning->builder);
    return change->moved[number] = vector_add_again(change->scanning->builder, *value, change->moved);
}

static void place_scan(struct change *change, int accumulator, int total, const struct term *term)
{
    struct vector_builder *builder = change->scanning->builder;
    akg_dtype dtype = builder->loop->accumulators.items[accumulator].dtype;
    struct vector_value scan = vector_blank(VECTOR_SCAN, dtype), before = vector_blank(VECTOR_BEFORE, dtype);
    scan.operands[0] = place(change, term->value);
    scan.mask = place(change, term->mask);
    scan.operation = term->operation;
    scan.slot = before.slot = accumulator;
    change->moved[change->scanning->becomes[accumulator]] = before.operands[0] = vector_add(builder, scan);
    change->moved[total] = vector_add(builder, before);
}

/* All values once more, those of the program in their order, but for what the term needs before the first use
 * of the scalar. `count`: of the program; what is behind them was made for the term. */
static void rebuild(struct scanning *scanning, int accumulator, int total, int count, const struct term *term)
{
    struct vector_builder *builder = scanning->builder;
    struct vector_loop *loop = builder->loop;
    struct change change = {.scanning = scanning, .old = loop->values.items, .streams = loop->streams.items};
    change.moved = arena_array(builder->arena, int, loop->values.count);
    memset(change.moved, NONE, (size_t)loop->values.count * sizeof *change.moved);
    memset(&loop->values, 0, sizeof loop->values);
    while (!uses(&change.old[change.trigger], total))
        change.trigger++;
    for (int k = 0; k < count && !builder->refused; k++) {
        if (k == change.trigger)
            place_scan(&change, accumulator, total, term);
        if (k != total && !builder->refused)
            place(&change, k);
    }
    for (int k = 0; k < scanning->count && !builder->refused; k++)
        scanning->becomes[k] = change.moved[scanning->becomes[k]];
}

static int total_of(const struct vector_loop *loop, int accumulator)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_TOTAL && loop->values.items[k].slot == accumulator)
            return k;
    return NONE;
}

/* ---- whether it is worth while ----------------------------------------------------------------------- */

/* Cycles from one element to the next where they are gone through one by one, and instructions on a vector of
 * AVX2, of the operation of a scan. (Of Zen 3; sums and products of floats take longer elsewhere.) */
struct cost {
    int latency, instructions;
};

static struct cost cost_of(const struct vector_loop *loop, const struct vector_value *scan)
{
    bool wide = vector_type_is_wide(scan->type),
         is_extreme = scan->operation == OP_MIN || scan->operation == OP_MAX;
    struct cost cost = {1, 1};
    if (loop->accumulators.items[scan->slot].is_quiet)
        cost = (struct cost){2, 1};
    else if (dtype_is_float(scan->dtype))
        cost = (struct cost){3, scan->operation == OP_MAX ? 5 : scan->operation == OP_MIN ? 3 : 1};
    else if (scan->operation == OP_MUL)
        cost = wide ? (struct cost){8, 8} : (struct cost){3, 1};
    else if (wide && is_extreme)
        cost = (struct cost){4, 2};
    cost.latency += (scan->mask >= 0 ? 2 : 0) + (dtype_table[scan->dtype].size < 4 ? 2 : 0);
    return cost;
}

/* What machine_scan makes of it. */
static int instructions_of(const struct vector_loop *loop, const struct vector_value *scan)
{
    bool wide = vector_type_is_wide(scan->type), is_half = loop->wide && !wide;
    int each = cost_of(loop, scan).instructions, steps = wide || is_half ? 2 : 3, before = 0;
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_BEFORE && loop->values.items[k].slot == scan->slot)
            before = wide || is_half ? 2 : 5;
    int small = dtype_table[scan->dtype].size < 4 ? 4 : 0;
    return steps * (2 + each) + 2 * each + 4 + before + small + (scan->mask >= 0);
}

bool vector_scans_pay(const struct vector_loop *loop)
{
    enum { PER_CYCLE = 3 };
    int lanes = loop->wide ? 4 : 8, serial = loop->values.count, vector = loop->values.count;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind != VECTOR_SCAN)
            continue;
        int latency = PER_CYCLE * cost_of(loop, value).latency;
        serial = serial > latency ? serial : latency;
        vector += instructions_of(loop, value);
    }
    return !vector_has_scans(loop) || vector <= serial * lanes;
}

/* What floats are multiplied by is known, and so near to 1 that its power of as many as a round has lanes is
 * a number, of which what is handed on is no less a number: 0 stays 0. */
static bool is_moderate(const struct vector_value *term)
{
    enum { LARGEST = 8 };
    union dtype_value bits = {.i = (int64_t)term->bits};
    double factor = fabs(dtype_to_double(term->dtype, bits));
    return term->kind == VECTOR_CONSTANT && factor >= 1.0 / LARGEST && factor <= LARGEST;
}

bool vector_scan_stays(const struct vector_loop *loop, const struct vector_value *scan)
{
    const struct vector_value *term = &loop->values.items[scan->operands[0]];
    if ((term->kind != VECTOR_CONSTANT && term->kind != VECTOR_SCALAR) || scan->mask >= 0 ||
        loop->accumulators.items[scan->slot].is_quiet)
        return false;
    return scan->operation != OP_MUL || !dtype_is_float(scan->dtype) || is_moderate(term);
}

bool vector_waits_for_scans(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_SCAN && !vector_scan_stays(loop, &loop->values.items[k]))
            return true;
    for (int k = 0; loop->band && k < loop->band->parts.count; k++)
        if (vector_waits_for_scans(loop->band->parts.items[k].loop))
            return true;
    return false;
}

bool vector_has_scans(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->accumulators.count; k++)
        if (loop->accumulators.items[k].role == VECTOR_SCANNED)
            return true;
    for (int k = 0; loop->band && k < loop->band->parts.count; k++)
        if (vector_has_scans(loop->band->parts.items[k].loop))
            return true;
    return false;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* One of the scalars; false: none can be scanned. */
static bool scan_one(struct scanning *scanning)
{
    struct vector_loop *loop = scanning->builder->loop;
    for (int k = 0; k < scanning->count; k++) {
        struct vector_accumulator *row = &loop->accumulators.items[k];
        int total = total_of(loop, k), count = loop->values.count;
        struct term term;
        if (row->role != VECTOR_CHOSEN || !find_term(scanning, total, scanning->becomes[k], &term))
            continue;
        row->role = VECTOR_SCANNED;
        row->operation = term.operation;
        row->is_quiet = term.is_quiet;
        rebuild(scanning, k, total, count, &term);
        return true;
    }
    return false;
}

bool vector_build_scans(struct vector_builder *builder)
{
    struct vector_loop *loop = builder->loop;
    struct scanning scanning = {.builder = builder};
    while (scanning.count < loop->accumulators.count &&
           loop->accumulators.items[scanning.count].role == VECTOR_CHOSEN)
        scanning.count++;
    find_hangs(&scanning);
    if (!is_used(&scanning) || loop->stops)
        return false;
    scanning.becomes = arena_array(builder->arena, int, scanning.count);
    for (int k = 0; k < scanning.count; k++)
        scanning.becomes[k] = *vector_scalar(builder, loop->accumulators.items[k].symbol);
    for (int left = scanning.count; left > 0 && !builder->refused; left--) {
        if (!scan_one(&scanning))
            vector_refuse(builder);
        else if (!builder->refused)
            find_hangs(&scanning);
    }
    return true;
}
