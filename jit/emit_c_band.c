/*
 * emit_c_band.c: what the C that calls a band finds out of its extents, or of its first two iterations.
 *
 * Consumes the slots of a band; produces what those that move grow by from one iteration to the next, of each
 * loop whose iterations the machine code goes through: of an address an expression over extents where loops
 * inside begin at numbers and the indices tell it, else the difference of the second iteration and the first;
 * and the tests that bounds stay where they are near.
 */
#include "emit_c_vector.h"

/* The loops inside, as they begin in this iteration. Nothing is computed of what there may be no second one
 * of. */
void emit_inner_firsts(struct vector_emission *emission, const struct ir_stmt *first)
{
    struct emitter *emitter = emission->emitter;
    for (const struct ir_stmt *loop = first; loop; loop = loop->next) {
        if (vector_is_condition(loop)) {
            emit_inner_firsts(emission, loop->body);
            emit_inner_firsts(emission, loop->otherwise);
        }
        if (loop->kind != IR_FOR || !emit_begins(emission, loop))
            continue;
        const char *first = emit_first_of(emission, loop);
        if (!emit_begins_at_number(emission, loop)) {
            emit_lets(emission, loop->low);
            struct emit_value low = emit_first(emitter, loop);
            emit_line(emitter, "const long long %s = %s;", first, low.text);
        }
        emit_line(emitter, "const long long %s = %s;", emit_loop_name(emission, loop, ""), first);
        emit_inner_firsts(emission, loop->body);
    }
}

static void emit_delta(struct vector_emission *emission, int slot, const struct vector_argument *argument)
{
    struct emitter *emitter = emission->emitter;
    const struct vector_argument *of = &emission->loop->arguments.items[argument->level];
    const char *delta = emit_slot(emission, slot, "i"), *before;
    if (of->kind == VECTOR_ARGUMENT_ADDRESS) {
        before = emit_slot(emission, argument->level, "p");
        const char *text = emit_element(emission, of->access);
        emit_line(emitter, "%s = (const char *)&%s - (const char *)%s;", delta, text, before);
    } else {
        before = emit_slot(emission, argument->level, "i");
        const char *value = of->kind == VECTOR_ARGUMENT_COUNT ? emit_inner_count(emission, of->loop)
                            : of->loop == argument->loop      ? emit_loop_name(emission, of->loop, "")
                                                              : emit_first_of(emission, of->loop);
        emit_line(emitter, "%s = %s - %s;", delta, value, before);
    }
}

/* That of the band, and around it, which has the variable; NULL. */
static const struct ir_stmt *loop_of(const struct vector_emission *emission, const struct ir_symbol *variable)
{
    const struct vector_band *band = emission->loop->band;
    for (int k = 0; k < band->repeats.count; k++)
        if (band->repeats.items[k].stmt->symbol == variable)
            return band->repeats.items[k].stmt;
    return band->loop->symbol == variable ? band->loop : NULL;
}

/* Whether it stays far from where integers wrap: constants, extents, and the variables of a band between
 * such. */
static bool is_near(const struct vector_emission *emission, const struct ir_expr *expr)
{
    bool near = expr->kind == IR_OPERATION && (expr->operation == OP_ADD || expr->operation == OP_SUB ||
                                               expr->operation == OP_MIN || expr->operation == OP_MAX);
    if (expr->kind == IR_INTEGER)
        return expr->integer > INT32_MIN && expr->integer < INT32_MAX;
    const struct ir_stmt *loop = expr->kind == IR_SYMBOL ? loop_of(emission, expr->symbol) : NULL;
    if (loop)
        return is_near(emission, loop->low) && is_near(emission, loop->high);
    for (int k = 0; near && k < expr->count; k++)
        near = is_near(emission, expr->operands[k]);
    return near || (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_DIM);
}

/* Whether the slot is that of the iterations of a loop of a band whose bounds C finds, and these may be far.
 */
static bool may_wrap(const struct vector_emission *emission, const struct vector_argument *argument)
{
    const struct ir_stmt *loop = argument->loop;
    return emission->loop->band && argument->kind == VECTOR_ARGUMENT_COUNT && loop &&
           loop != emission->stmt && emit_begins(emission, loop) &&
           !(is_near(emission, loop->low) && is_near(emission, loop->high));
}

/* The next such slot from this one on whose loop has not been seen; that behind the last: there is none. */
static int next_far_loop(const struct vector_emission *emission, int slot)
{
    const struct vector_argument *arguments = emission->loop->arguments.items;
    for (; slot < emission->loop->arguments.count; slot++) {
        bool seen = !may_wrap(emission, &arguments[slot]);
        for (int k = 0; k < slot && !seen; k++)
            seen = arguments[k].loop == arguments[slot].loop && may_wrap(emission, &arguments[k]);
        if (!seen)
            break;
    }
    return slot;
}

static const char *is_between(struct vector_emission *emission, const char *number, int bits)
{
    long long limit = 1LL << bits;
    return arena_format(&emission->emitter->arena, "%s > -%lldLL && %s < %lldLL", number, limit, number,
                        limit);
}

/* Where such loops begin, kept beyond the block of the second iteration. */
static void emit_far_lows(struct vector_emission *emission)
{
    int count = emission->loop->arguments.count;
    for (int slot = next_far_loop(emission, 0); slot < count; slot = next_far_loop(emission, slot + 1)) {
        const struct ir_stmt *loop = emission->loop->arguments.items[slot].loop;
        emit_line(emission->emitter, "long long %s = %s;", emit_loop_name(emission, loop, "_low_"),
                  emit_first_of(emission, loop));
    }
}

/* Where they begin in the second iteration becomes how far that is from the first, if the first is near;
 * else it becomes far. */
static void emit_far_deltas(struct vector_emission *emission)
{
    int count = emission->loop->arguments.count;
    for (int slot = next_far_loop(emission, 0); slot < count; slot = next_far_loop(emission, slot + 1)) {
        const struct ir_stmt *loop = emission->loop->arguments.items[slot].loop;
        const char *low = emit_loop_name(emission, loop, "_low_");
        emit_line(emission->emitter, "%s = %s ? %s - %s : 1LL << 60;", low, is_between(emission, low, 60),
                  emit_first_of(emission, loop), low);
    }
}

/* Goes on as long as loops begin at numbers. */
static bool begins_at_number(struct ir_stmt *stmt, void *emission)
{
    return stmt->kind != IR_FOR || emit_begins_at_number(emission, stmt);
}

/* How far the address in the slot goes with the loop; NULL: that shows in its second iteration. */
static const char *distance_of(struct vector_emission *emission, const struct vector_argument *argument)
{
    const struct vector_argument *of = &emission->loop->arguments.items[argument->level];
    return of->kind == VECTOR_ARGUMENT_ADDRESS ? emit_distance(emission, of->access, argument->loop,
                                                               dtype_table[of->access->buffer->dtype].size)
                                               : NULL;
}

/* Those that extents tell; whether that is all. */
static bool emit_distances_of(struct vector_emission *emission, const struct ir_stmt *loop, bool *is_done)
{
    bool all = true;
    for (int slot = 0; slot < emission->loop->arguments.count; slot++) {
        const struct vector_argument *argument = &emission->loop->arguments.items[slot];
        if (argument->kind != VECTOR_ARGUMENT_DELTA || argument->loop != loop)
            continue;
        const char *distance = distance_of(emission, argument);
        if (distance)
            emit_line(emission->emitter, "%s = %s;", emit_slot(emission, slot, "i"), distance);
        is_done[slot] = distance != NULL;
        all &= is_done[slot];
    }
    return all;
}

/* What slots grow by with the iterations of one loop, those around being in their first one. */
static void emit_deltas_of(struct vector_emission *emission, const struct ir_stmt *loop)
{
    struct emitter *emitter = emission->emitter;
    struct vector_emission second = *emission;
    int count = emission->loop->arguments.count;
    bool *is_done = arena_array(&emitter->arena, bool, count + 1);
    /* bounds are the same in the iterations of those around */
    bool has_far = loop == emission->loop->band->loop && next_far_loop(emission, 0) < count;
    if (ir_block_walk(loop->body, begins_at_number, emission) && emit_distances_of(emission, loop, is_done) &&
        !has_far)
        return;
    second.lets.items = NULL;
    second.lets.count = second.lets.capacity = 0;
    emit_line(emitter, "{");
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s + %lld;", emit_loop_name(emission, loop, ""),
              emit_first_of(emission, loop), (long long)loop->step);
    emit_inner_firsts(&second, loop->body);
    if (has_far)
        emit_far_deltas(&second);
    for (int slot = 0; slot < count; slot++) {
        const struct vector_argument *argument = &emission->loop->arguments.items[slot];
        if (argument->kind == VECTOR_ARGUMENT_DELTA && argument->loop == loop && !is_done[slot])
            emit_delta(&second, slot, argument);
    }
    emitter->indent--;
    emit_line(emitter, "}");
}

void emit_deltas(struct vector_emission *emission)
{
    const struct vector_band *band = emission->loop->band;
    emit_far_lows(emission);
    emit_deltas_of(emission, band->loop);
    for (int k = 0; k < band->repeats.count; k++)
        emit_deltas_of(emission, band->repeats.items[k].stmt);
    for (int slot = 0; slot < emission->loop->arguments.count; slot++)
        if (emission->loop->arguments.items[slot].kind == VECTOR_ARGUMENT_AHEAD)
            emit_ahead(emission, slot, &emission->loop->arguments.items[slot]);
}

/* Bounds of loops of the band that the call hands in: near at first, and not to go far in the iterations
 * there are, so that their distance says in each of them whether the loop runs. */
const char *emit_test_bounds(struct vector_emission *emission, const char *tests)
{
    const struct vector_loop *loop = emission->loop;
    const char *all = emit_slot(emission, loop->count, "i");
    bool tested = false;
    for (int slot = 0; slot < loop->arguments.count; slot++) {
        const struct vector_argument *argument = &loop->arguments.items[slot];
        const char *number = emit_slot(emission, slot, "i");
        if (may_wrap(emission, argument)) {
            tests = emit_test_beside(emission, tests, is_between(emission, number, 60));
            tests = emit_test_beside(
                emission, tests, is_between(emission, emit_loop_name(emission, argument->loop, "_low_"), 29));
            tested = true;
        } else if (argument->kind == VECTOR_ARGUMENT_DELTA &&
                   may_wrap(emission, &loop->arguments.items[argument->level])) {
            tests = emit_test_beside(emission, tests, is_between(emission, number, 29));
        }
    }
    return tested ? emit_test_beside(emission, tests, is_between(emission, all, 31)) : tests;
}
