/*
 * emit_c_vector.c: the C that calls a vector loop, or a nest.
 *
 * Consumes a loop of the vector plan; produces an array of slots filled with addresses, scalars and what is
 * accumulated, the call, and assignments of what comes back. Where the loop suits only some strides, which
 * are known when it runs, the C loop stands behind it for the others. A nest is called where each of its
 * loops has an iteration (emit_c_nest.c); a band is told also what changes from its first iteration to the
 * second.
 *
 * The slots are filled in another order than the statements have, so where one of them cannot be, as behind a
 * division by 0, the C loop stops, at what stops it first.
 */
#include "emit_c_vector.h"
#include "pass.h"
#include "vector_plan.h"

#include <stdlib.h>
#include <string.h>

/* Bytes between lanes are counted in 32 bits. */
enum { LARGEST_STEP = 1 << 24 };

const char *emit_slot(struct vector_emission *emission, int slot, const char *member)
{
    return arena_format(&emission->emitter->arena, "%s[%d].%s", emission->slots, slot, member);
}

/* The loop that runs along the lanes, and the first value of its variable. */
static const struct ir_stmt *lanes_of(const struct vector_emission *emission)
{
    return emission->loop->nest ? emission->loop->nest->loops[VECTOR_COLUMNS] : emission->stmt;
}

static const char *first_of_lanes(const struct vector_emission *emission)
{
    return emission->loop->nest ? emission->firsts[VECTOR_COLUMNS] : emission->first;
}

static const char *member_of(akg_dtype dtype)
{
    if (!dtype_is_float(dtype))
        return "i";
    return dtype == AKG_FLOAT64 ? "d" : "f";
}

/* ---- scalars of the body that indices use --------------------------------------------------------- */

static void emit_let(struct vector_emission *emission, const struct ir_symbol *symbol);

void emit_lets(struct vector_emission *emission, const struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET &&
        vector_is_declared(emission->stmt, expr->symbol)) {
        emit_let(emission, expr->symbol);
    } else if (expr->kind == IR_OPERATION) {
        for (int k = 0; k < expr->count; k++)
            emit_lets(emission, expr->operands[k]);
    } else if (expr->kind == IR_LOAD) {
        for (int axis = 0; axis < expr->access.buffer->rank; axis++)
            emit_lets(emission, expr->access.indices[axis]);
    }
}

static void emit_let(struct vector_emission *emission, const struct ir_symbol *symbol)
{
    struct emitter *emitter = emission->emitter;
    struct emit_symbol *entry = &emitter->symbols[symbol->slot];
    for (int k = 0; k < emission->lets.count; k++)
        if (emission->lets.items[k] == symbol)
            return;
    emit_lets(emission, symbol->value);
    struct emit_value value = emit_index(emitter, symbol->value);
    entry->bits = value.bits;
    entry->nonnegative = value.nonnegative;
    emit_line(emitter, "const %s %s = %s;", emit_type(symbol->dtype), entry->name, value.text);
    list_push(&emitter->arena, &emission->lets, symbol);
}

/* "x[i]" with what its indices use declared before. */
const char *emit_element(struct vector_emission *emission, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        emit_lets(emission, access->indices[axis]);
    return emit_access(emission->emitter, access).text;
}

/* ---- before the call ------------------------------------------------------------------------ */

const char *emit_loop_name(struct vector_emission *emission, const struct ir_stmt *loop, const char *suffix)
{
    struct emitter *emitter = emission->emitter;
    return arena_format(&emitter->arena, "%s%s", emitter->symbols[loop->symbol->slot].name, suffix);
}

bool emit_begins_at_number(const struct vector_emission *emission, const struct ir_stmt *loop)
{
    const struct ir_expr *low = loop->low;
    return loop != emission->stmt && low->kind == IR_INTEGER && low->integer >= 0 && low->integer < INT32_MAX;
}

const char *emit_first_of(struct vector_emission *emission, const struct ir_stmt *loop)
{
    return emit_begins_at_number(emission, loop)
               ? arena_format(&emission->emitter->arena, "%lld", (long long)loop->low->integer)
               : emit_loop_name(emission, loop, "_first_");
}

/* The first value of the variable of a loop of a band; NULL: of the loop that the lanes are of. */
static const char *first_of_loop(struct vector_emission *emission, const struct ir_stmt *loop)
{
    return loop ? emit_first_of(emission, loop) : first_of_lanes(emission);
}

/* Iterations from the distance of the bounds; none, or less, where it is not above 0. */
static const char *count_of(struct vector_emission *emission, const char *distance, int64_t step)
{
    long long size = step > 0 ? step : -step;
    return size == 1
               ? distance
               : arena_format(&emission->emitter->arena, "(%s + %lld) / %lld", distance, size - 1, size);
}

/* The number of the last iteration of a loop that has one, without a sign: its bounds may be farther apart
 * than an int64 tells. */
static const char *last_iteration(struct vector_emission *emission)
{
    long long step = emission->stmt->step;
    return arena_format(&emission->emitter->arena,
                        "((unsigned long long)(%s) - (unsigned long long)(%s) - 1) / %lld",
                        step > 0 ? emission->high : emission->first,
                        step > 0 ? emission->first : emission->high, step > 0 ? step : -step);
}

static void emit_count(struct vector_emission *emission, int slot, int level)
{
    struct emitter *emitter = emission->emitter;
    int64_t step = emission->stmt->step;
    if (emission->loop->nest && level < emission->loop->nest->first) {
        emit_line(emitter, "%s = 1;", emit_slot(emission, slot, "i"));
        return;
    }
    if (emission->loop->nest) {
        step = emission->loop->nest->loops[level]->step;
        const char *distance =
            arena_format(&emitter->arena, "%s - %s", emission->highs[level], emission->firsts[level]);
        if (step < 0)
            distance =
                arena_format(&emitter->arena, "%s - (%s)", emission->firsts[level], emission->highs[level]);
        emit_line(emitter, "%s = %s;", emit_slot(emission, slot, "i"), count_of(emission, distance, step));
        if (emission->times[level])
            emit_line(emitter, "%s *= %s;", emit_slot(emission, slot, "i"), emission->times[level]);
        return;
    }
    const char *larger = step > 0 ? emission->high : emission->first,
               *less = step > 0 ? emission->first : emission->high, *count = emit_slot(emission, slot, "i");
    if (step != 1 && step != -1) {
        emit_line(emitter, "%s = (long long)(%s + 1);", count, last_iteration(emission));
    } else if (emission->loop->leaves) { /* as far apart; those left over are C's */
        emit_line(emitter, "%s = (long long)((unsigned long long)(%s) - (unsigned long long)(%s));", count,
                  larger, less);
        emit_line(emitter, "if (%s < 0) %s = 1LL << 62;", count, count);
    } else {
        emit_line(emitter, "%s = %s - %s;", count, larger, less);
    }
}

/* The iterations of a loop of a band, in its first iteration or its second. */
const char *emit_inner_count(struct vector_emission *emission, const struct ir_stmt *loop)
{
    struct arena *arena = &emission->emitter->arena;
    const char *first = emit_first_of(emission, loop);
    emit_lets(emission, loop->high);
    const char *high = emit_index(emission->emitter, loop->high).text;
    if (loop->step == 1 && emit_begins_at_number(emission, loop) && loop->low->integer == 0)
        return high;
    return count_of(emission,
                    loop->step > 0 ? arena_format(arena, "(%s) - %s", high, first)
                                   : arena_format(arena, "%s - (%s)", first, high),
                    loop->step);
}

static const struct ir_access *access_of(struct vector_emission *emission,
                                         const struct vector_argument *argument)
{
    return emission->loop->band ? argument->access : emission->loop->streams.items[argument->stream].access;
}

static void emit_address(struct vector_emission *emission, int slot, const struct ir_access *access)
{
    emit_line(emission->emitter, "%s = &%s;", emit_slot(emission, slot, "p"), emit_element(emission, access));
}

/* Whether C knows where the loop of the band begins. */
bool emit_begins(const struct vector_emission *emission, const struct ir_stmt *loop)
{
    const struct vector_band *band = emission->loop->band;
    for (int k = 0; k < band->parts.count; k++)
        if (band->parts.items[k].loop->stmt == loop && band->parts.items[k].loop->begins_anew)
            return false;
    return true;
}

/* What lies between one index of the axis and the next, times `factor`. */
static const char *spacing_of(struct vector_emission *emission, const struct ir_buffer *buffer, int axis,
                              int64_t factor)
{
    struct emitter *emitter = emission->emitter;
    const char *text = arena_format(&emitter->arena, "%lldLL", (long long)factor);
    if (!buffer->contiguous)
        return arena_format(&emitter->arena, "%s * %s_stride%d_", text, emitter->buffers[buffer->index],
                            axis);
    for (axis++; axis < buffer->rank; axis++)
        text = arena_format(&emitter->arena, "%s * %s", text,
                            emit_operand(emitter, emit_extent(emitter, buffer, axis), EMIT_UNARY));
    return text;
}

const char *emit_distance(struct vector_emission *emission, const struct ir_access *access,
                          const struct ir_stmt *loop, int unit)
{
    enum { FAR = 1 << 28 }; /* the product of two such and the bytes of an element is an int64 */
    const char *text = NULL;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        int64_t step;
        if (!pass_step_of(access->indices[axis], loop->symbol, &step) || step <= -FAR || step >= FAR ||
            loop->step <= -FAR || loop->step >= FAR)
            return NULL;
        if (!step)
            continue;
        const char *term = spacing_of(emission, access->buffer, axis, step * loop->step * unit);
        text = text ? arena_format(&emission->emitter->arena, "%s + %s", text, term) : term;
    }
    return text ? text : "0";
}

/* From the address of the first iteration, which the slot holds in between, to that of the second. Where
 * straight code finds out where the loop begins, C has steps of accesses alone that do not mention its
 * variable. */
static void emit_step(struct vector_emission *emission, int slot, const struct vector_argument *argument)
{
    struct emitter *emitter = emission->emitter;
    const struct ir_access *access = access_of(emission, argument);
    const struct ir_stmt *loop = argument->loop ? argument->loop : lanes_of(emission);
    if (emission->loop->band && argument->loop && !emit_begins(emission, loop)) {
        emit_line(emitter, "%s = 0;", emit_slot(emission, slot, "i"));
        return;
    }
    const char *distance = emit_distance(emission, access, loop, 1);
    if (distance) {
        emit_line(emitter, "%s = %s;", emit_slot(emission, slot, "i"), distance);
        return;
    }
    emit_address(emission, slot, access);
    emit_line(emitter, "{");
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s + %lld;", emit_loop_name(emission, loop, ""),
              first_of_loop(emission, argument->loop), (long long)loop->step);
    struct vector_emission inner = *emission;
    inner.lets.items = NULL;
    inner.lets.count = inner.lets.capacity = 0;
    const char *text = emit_element(&inner, access);
    emit_line(emitter, "%s = &%s - (const %s *)%s;", emit_slot(emission, slot, "i"), text,
              dtype_table[access->buffer->dtype].c_storage, emit_slot(emission, slot, "p"));
    emitter->indent--;
    emit_line(emitter, "}");
}

/* The bytes from the first element to that of the second iteration of one loop of a nest. */
static void emit_stride(struct vector_emission *emission, int slot, const struct vector_argument *argument)
{
    struct emitter *emitter = emission->emitter;
    const struct ir_access *access = access_of(emission, argument);
    struct vector_emission inner = *emission;
    bool in_band = emission->loop->band != NULL;
    int address = in_band ? slot : emission->loop->streams.items[argument->stream].slot;
    const struct ir_stmt *loop = in_band ? argument->loop : emission->loop->nest->loops[argument->level];
    const char *distance = emit_distance(emission, access, loop, dtype_table[access->buffer->dtype].size);
    if (distance) {
        emit_line(emitter, "%s = %s;", emit_slot(emission, slot, "i"), distance);
        return;
    }
    if (in_band)
        emit_address(emission, address, access);
    emit_line(emitter, "{");
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s + %lld;", emit_loop_name(emission, loop, ""),
              in_band ? first_of_loop(emission, loop) : emission->firsts[argument->level],
              (long long)loop->step);
    inner.lets.items = NULL;
    inner.lets.count = inner.lets.capacity = 0;
    const char *text = emit_element(&inner, access);
    emit_line(emitter, "%s = (const char *)&%s - (const char *)%s;", emit_slot(emission, slot, "i"), text,
              emit_slot(emission, address, "p"));
    emitter->indent--;
    emit_line(emitter, "}");
}

/* Compared with 32 bits without a sign, no more than these can be counts. */
static void emit_extent_of(struct vector_emission *emission, int slot, const struct vector_argument *argument)
{
    struct emitter *emitter = emission->emitter;
    const struct ir_buffer *buffer = emission->loop->streams.items[argument->stream].access->buffer;
    const char *member = emit_slot(emission, slot, "i");
    emit_line(emitter, "%s = %s;", member, emit_extent(emitter, buffer, argument->level).text);
    if (argument->kind == VECTOR_ARGUMENT_EXTENT_32)
        emit_line(emitter, "if (%s > 2147483648LL) %s = 2147483648LL;", member, member);
}

/* The elements of a tensor, times `unit`. */
static const char *size_of(struct vector_emission *emission, const struct ir_buffer *buffer, int unit)
{
    struct emitter *emitter = emission->emitter;
    const char *text = arena_format(&emitter->arena, "%dLL", unit);
    for (int axis = 0; axis < buffer->rank; axis++)
        text = arena_format(&emitter->arena, "%s * %s", text,
                            emit_operand(emitter, emit_extent(emitter, buffer, axis), EMIT_UNARY));
    return text;
}

static void emit_elements(struct vector_emission *emission, int slot, const struct vector_argument *argument)
{
    const struct ir_buffer *buffer = access_of(emission, argument)->buffer;
    emit_line(emission->emitter, "%s = %s;", emit_slot(emission, slot, "i"), size_of(emission, buffer, 1));
}

void emit_ahead(struct vector_emission *emission, int slot, const struct vector_argument *argument)
{
    const struct ir_buffer *buffer = argument->access->buffer;
    emit_line(emission->emitter, "%s = akg_ahead(%s, %s);", emit_slot(emission, slot, "i"),
              emit_slot(emission, argument->level, "i"),
              size_of(emission, buffer, dtype_table[buffer->dtype].size));
}

/* From one index of the axis to the next: elements, of a pitch bytes. */
static void emit_spacing(struct vector_emission *emission, int slot, const struct vector_argument *argument)
{
    const struct ir_buffer *buffer = access_of(emission, argument)->buffer;
    int unit = argument->kind == VECTOR_ARGUMENT_PITCH ? dtype_table[buffer->dtype].size : 1;
    emit_line(emission->emitter, "%s = %s;", emit_slot(emission, slot, "i"),
              spacing_of(emission, buffer, argument->level, unit));
}

static void emit_alignment(struct vector_emission *emission, int slot, const struct vector_argument *argument)
{
    struct emitter *emitter = emission->emitter;
    const char *rest = emit_slot(emission, slot, "i");
    const char *address = emit_slot(emission, emission->loop->streams.items[argument->stream].slot, "p");
    emit_line(emitter, "%s = (long long)%s & 3;", rest, address);
    emit_line(emitter, "%s = (const char *)%s - %s;", address, address, rest);
}

static struct emit_value accumulated(struct vector_emission *emission, const struct vector_accumulator *row)
{
    struct emitter *emitter = emission->emitter;
    struct ir_expr expr = {.dtype = row->dtype};
    if (row->symbol) {
        expr.kind = IR_SYMBOL;
        expr.symbol = row->symbol;
    } else {
        expr.kind = IR_LOAD;
        expr.access = *row->access;
        emit_element(emission, row->access);
    }
    return emit_expression(emitter, &expr);
}

static void emit_argument(struct vector_emission *emission, int slot)
{
    struct emitter *emitter = emission->emitter;
    const struct vector_argument *argument = &emission->loop->arguments.items[slot];
    const struct vector_accumulator *row;
    const struct ir_symbol *symbol;
    switch (argument->kind) {
    case VECTOR_ARGUMENT_COUNT:
        if (argument->loop && argument->loop != emission->stmt)
            emit_line(emitter, "%s = %s;", emit_slot(emission, slot, "i"),
                      emit_inner_count(emission, argument->loop));
        else
            emit_count(emission, slot, argument->level);
        break;
    case VECTOR_ARGUMENT_ADDRESS:
        emit_address(emission, slot, access_of(emission, argument));
        break;
    case VECTOR_ARGUMENT_STEP:
        emit_step(emission, slot, argument);
        break;
    case VECTOR_ARGUMENT_VALUE:
        emit_line(emitter, "%s = %s;", emit_slot(emission, slot, member_of(argument->value->dtype)),
                  emit_shallow(emitter, argument->value).text);
        break;
    case VECTOR_ARGUMENT_LOGARITHM_REST:
        emit_line(emitter, "%s = akg_log2_rest(%s);", emit_slot(emission, slot, "d"),
                  emit_shallow(emitter, argument->value).text);
        break;
    case VECTOR_ARGUMENT_FIRST:
        emit_line(emitter, "%s = %s;", emit_slot(emission, slot, "i"),
                  first_of_loop(emission, argument->loop));
        break;
    case VECTOR_ARGUMENT_ACCUMULATOR:
        row = &emission->loop->accumulators.items[argument->accumulator];
        emit_line(emitter, "%s = %s;", emit_slot(emission, slot, member_of(row->dtype)),
                  accumulated(emission, row).text);
        break;
    case VECTOR_ARGUMENT_COUNTER:
        symbol = emission->loop->counters.items[argument->accumulator].symbol;
        emit_line(emitter, "%s = %s;", emit_slot(emission, slot, "i"), emitter->symbols[symbol->slot].name);
        break;
    case VECTOR_ARGUMENT_PITCH:
    case VECTOR_ARGUMENT_SPACING:
        emit_spacing(emission, slot, argument);
        break;
    case VECTOR_ARGUMENT_ALIGNMENT:
        emit_alignment(emission, slot, argument);
        break;
    case VECTOR_ARGUMENT_EXTENT:
    case VECTOR_ARGUMENT_EXTENT_32:
        emit_extent_of(emission, slot, argument);
        break;
    case VECTOR_ARGUMENT_STRIDE:
        emit_stride(emission, slot, argument);
        break;
    case VECTOR_ARGUMENT_ELEMENTS:
        emit_elements(emission, slot, argument);
        break;
    case VECTOR_ARGUMENT_DELTA:
    case VECTOR_ARGUMENT_AHEAD:
    case VECTOR_ARGUMENT_STATE:
        break;
    }
}

void emit_slots(struct vector_emission *emission)
{
    for (int slot = 0; slot < emission->loop->arguments.count; slot++)
        emit_argument(emission, slot);
}

/* ---- behind it ---------------------------------------------------------------------------------- */

static void emit_result(struct vector_emission *emission, const struct vector_accumulator *row)
{
    struct emitter *emitter = emission->emitter;
    akg_dtype dtype = row->dtype;
    const char *text = emit_slot(emission, row->slot, member_of(dtype));
    struct emit_value value = emit_made(0, text, EMIT_PRIMARY);
    if (dtype_is_half(dtype))
        value = emit_cast(emitter, dtype, AKG_FLOAT32, value);
    else if (!dtype_is_float(dtype))
        value = emit_made(1, arena_format(&emitter->arena, "(%s)%s", dtype_table[dtype].c_storage, text),
                          EMIT_UNARY);
    if (row->symbol) {
        struct emit_symbol *entry = &emitter->symbols[row->symbol->slot];
        entry->assignments++;
        emit_line(emitter, "%s = %s;", entry->name, value.text);
    } else {
        emit_line(emitter, "%s = %s;", emit_element(emission, row->access),
                  emit_stored(emitter, dtype, value));
    }
}

static void emit_counter(struct vector_emission *emission, const struct vector_counter *row)
{
    struct emit_symbol *entry = &emission->emitter->symbols[row->symbol->slot];
    entry->assignments++;
    emit_line(emission->emitter, "%s = (%s)%s;", entry->name, dtype_table[row->symbol->dtype].c_storage,
              emit_slot(emission, row->slot, "i"));
}

/* ---- what is known when it runs -------------------------------------------------------------------- */

/* What is so in the calls that the code is for: " && x_stride1_ == 1" for each stream that was taken to lie
 * so, and extents that were taken to be equal. */
static const char *call_tests(struct vector_emission *emission)
{
    struct emitter *emitter = emission->emitter;
    const char *tests = "";
    for (int k = 0; k < emission->loop->streams.count; k++) {
        const struct vector_stream *stream = &emission->loop->streams.items[k];
        const struct ir_buffer *buffer = stream->access->buffer;
        if (stream->assumed)
            tests = arena_format(&emitter->arena, "%s && %s_stride%d_ == 1", tests,
                                 emitter->buffers[buffer->index], buffer->rank - 1);
    }
    const vector_equals *equals = emission->loop->nest ? &emission->loop->nest->equals : NULL;
    for (int k = 0; equals && k < equals->count; k++)
        tests = arena_format(&emitter->arena, "%s && %s == %s", tests,
                             emit_index(emitter, equals->items[k].a).text,
                             emit_index(emitter, equals->items[k].b).text);
    return tests;
}

const char *emit_test_beside(struct vector_emission *emission, const char *tests, const char *test)
{
    return tests ? arena_format(&emission->emitter->arena, "%s && %s", tests, test) : test;
}

/* Numbers of iterations that are kept in lanes of 32 bits. */
static const char *test_count(struct vector_emission *emission, const char *tests,
                              const struct vector_loop *loop)
{
    enum { LARGEST_COUNT = 0x7fffff00 };
    struct arena *arena = &emission->emitter->arena;
    const char *count = emit_slot(emission, loop->count, "i");
    if (!loop->choices.count || loop->wide)
        return tests;
    tests = emit_test_beside(emission, tests, arena_format(arena, "%s < %d", count, LARGEST_COUNT));
    for (int slot = 0; slot < emission->loop->arguments.count; slot++) {
        const struct vector_argument *argument = &emission->loop->arguments.items[slot];
        if (argument->kind == VECTOR_ARGUMENT_DELTA && argument->level == loop->count)
            tests = emit_test_beside(
                emission, tests,
                arena_format(arena, "%s + %s * (%s - 1) < %d", count, emit_slot(emission, slot, "i"),
                             emit_slot(emission, emission->loop->count, "i"), LARGEST_COUNT));
    }
    return tests;
}

/* Whether the index is ahead of the one that is stored at. */
static void emit_ahead_of(struct vector_emission *emission, const struct vector_reach *reach,
                          const char *inside, const char *name)
{
    const struct ir_expr *stored = reach->stored->indices[reach->axis];
    emit_lets(emission, stored);
    const char *text = emit_operand(emission->emitter, emit_index(emission->emitter, stored), EMIT_SHIFT);
    emit_line(emission->emitter, "%s = %s && %s %s %s;", inside, inside, name,
              emission->stmt->step > 0 ? ">=" : "<=", text);
}

/* Whether the index of this iteration is inside, if that is to be tested, and, where `from` is its name in
 * the first one, as far from that as there are iterations. Returns its name. */
static const char *emit_reach(struct vector_emission *emission, int number, const char *inside,
                              const char *from)
{
    struct emitter *emitter = emission->emitter;
    const struct vector_reach *reach = &emission->loop->reaches.items[number];
    const struct ir_expr *index = reach->access->indices[reach->axis];
    const char *name =
        arena_format(&emitter->arena, "%s_%s%d_", emission->variable, from ? "last" : "reach", number);
    emit_lets(emission, index);
    emit_line(emitter, "const long long %s = %s;", name, emit_index(emitter, index).text);
    if (reach->is_tested)
        emit_line(
            emitter, "%s = %s && (unsigned long long)%s < (unsigned long long)%s;", inside, inside, name,
            emit_operand(emitter, emit_extent(emitter, reach->access->buffer, reach->axis), EMIT_UNARY));
    if (!from && reach->stored)
        emit_ahead_of(emission, reach, inside, name);
    if (from && reach->grows)
        emit_line(emitter, "%s = %s && %s - %s == %s - 1;", inside, inside, reach->grows > 0 ? name : from,
                  reach->grows > 0 ? from : name, emit_slot(emission, emission->loop->count, "i"));
    return name;
}

/* A variable that says whether the indices are inside in the first and in the last iteration; NULL: there are
 * none. */
static const char *emit_reaches(struct vector_emission *emission)
{
    struct emitter *emitter = emission->emitter;
    const struct vector_loop *loop = emission->loop;
    if (!loop->reaches.count)
        return NULL;
    struct vector_emission last = *emission;
    const char *inside = arena_format(&emitter->arena, "%s_inside_", emission->variable),
               *count = emit_slot(emission, loop->count, "i");
    last.lets.items = NULL;
    last.lets.count = last.lets.capacity = 0;
    const char **first = arena_array(&emitter->arena, const char *, loop->reaches.count);
    emit_line(emitter, "int %s = %s > 0;", inside, count); /* as large as it is, too */
    for (int k = 0; k < loop->reaches.count; k++)
        first[k] = emit_reach(emission, k, inside, NULL);
    emit_line(emitter, "if (%s) {", inside);
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s %c (%s - 1);", emission->variable, emission->first,
              emission->stmt->step > 0 ? '+' : '-', count);
    for (int k = 0; k < loop->reaches.count; k++)
        emit_reach(&last, k, inside, first[k]);
    emitter->indent--;
    emit_line(emitter, "}");
    return inside;
}

/* Numbers of the call that are kept in lanes of 32 bits, and what is computed from them (vector_narrow.c). */
static const char *test_small(struct vector_emission *emission, const char *tests,
                              const struct vector_loop *loop)
{
    struct emitter *emitter = emission->emitter;
    for (int k = 0; k < loop->small.count; k++) {
        const char *number = emit_operand(emitter, emit_index(emitter, loop->small.items[k]), EMIT_SHIFT);
        tests = emit_test_beside(
            emission, tests,
            arena_format(&emitter->arena, "%s > -%d && %s < %d", number, 1 << 30, number, 1 << 30));
    }
    return tests;
}

static const char *test_loop(struct vector_emission *emission, const char *tests,
                             const struct vector_loop *loop)
{
    return test_small(emission, test_count(emission, tests, loop), loop);
}

/* What the slots must hold for the call; NULL: anything. */
static const char *slot_tests(struct vector_emission *emission)
{
    struct arena *arena = &emission->emitter->arena;
    const struct vector_loop *loop = emission->loop;
    const char *tests = emit_test_bounds(emission, test_loop(emission, NULL, loop));
    if (loop->most)
        tests = emit_test_beside(
            emission, tests,
            arena_format(arena, "%s <= %d", emit_slot(emission, loop->nest->depth - 1, "i"), loop->most));
    for (int k = 0; loop->band && k < loop->band->parts.count; k++)
        tests = test_loop(emission, tests, loop->band->parts.items[k].loop);
    for (int k = 0; k < loop->counters.count; k++)
        tests = emit_test_beside(
            emission, tests,
            arena_format(arena, "%s >= 0", emit_slot(emission, loop->counters.items[k].slot, "i")));
    for (int slot = 0; slot < loop->arguments.count; slot++) {
        if (loop->arguments.items[slot].kind != VECTOR_ARGUMENT_STEP)
            continue;
        const char *step = emit_slot(emission, slot, "i");
        tests = emit_test_beside(
            emission, tests,
            arena_format(arena, "%s > -%d && %s < %d", step, LARGEST_STEP, step, LARGEST_STEP));
    }
    return tests;
}

/* ---- all --------------------------------------------------------------------------------------------- */

/* Where C goes on behind the iterations that are done. All of them are done at the end of the loop: the next
 * value of its variable may be none of an int64. */
static void emit_progress(struct vector_emission *emission, const char *done)
{
    struct emitter *emitter = emission->emitter;
    long long step = emission->stmt->step;
    const char *count = emit_slot(emission, 0, "i"), *all = "";
    if (step != 1 && step != -1)
        all = arena_format(&emitter->arena, "(unsigned long long)%s > %s ? %s : ", count,
                           last_iteration(emission), emission->high);
    emit_line(emitter, "%s = %s%s + %s * %lld;", done, all, done, count, step);
}

/* Of a nest that stopped: the iteration of its outermost loop that C goes on with. The slot counts those of
 * all loops that are merged with it: one that is done in part is begun anew. */
static void emit_nest_progress(struct vector_emission *emission, const char *done)
{
    struct emitter *emitter = emission->emitter;
    const struct vector_nest *nest = emission->loop->nest;
    int level = nest->is_while ? VECTOR_COLUMNS : VECTOR_ROWS;
    const char *left = emit_slot(emission, nest->state + level, "i");
    if (!nest->merged) {
        emit_line(emitter, "%s = %s - %s;", done, emission->high, left);
        return;
    }
    const char *each =
        arena_format(&emitter->arena, "((%s) / (%s - %s) * (%s - %s))", emission->times[level],
                     emission->high, emission->first, emission->highs[level], emission->firsts[level]);
    emit_line(emitter, "%s = %s - (%s + %s - 1) / %s;", done, emission->high, left, each, each);
}

void emit_vector_call(struct vector_emission *emission, int number, const char *done)
{
    struct emitter *emitter = emission->emitter;
    const struct vector_nest *nest = emission->loop->nest;
    const char *inside = emit_reaches(emission), *tests = slot_tests(emission);
    if (inside)
        tests = emit_test_beside(emission, tests, inside);
    bool takes_back = !nest || vector_is_rows(nest); /* nests store what they accumulate themselves */
    if (tests) {
        emit_line(emitter, "if (%s) {", tests);
        emitter->indent++;
    }
    emit_line(emitter, "akg_vector_%d(%s);", number, emission->slots);
    for (int k = 0; takes_back && k < emission->loop->accumulators.count; k++) {
        const struct vector_accumulator *row = &emission->loop->accumulators.items[k];
        if (row->symbol || row->access)
            emit_result(emission, row);
    }
    for (int k = 0; k < emission->loop->counters.count; k++)
        emit_counter(emission, &emission->loop->counters.items[k]);
    if (emission->loop->stops && nest)
        emit_nest_progress(emission, done);
    else if (emission->loop->stops)
        emit_progress(emission, done);
    else if (done)
        emit_line(emitter, "%s = 1;", done);
    if (tests) {
        emitter->indent--;
        emit_line(emitter, "}");
    }
}

/* Names what the loop begins with. 0 is a constant of C: libtcc keeps no variable in a register. */
static void emit_begin(const struct vector_emission *emission, const char *name, const char *value)
{
    if (emission->is_from_zero)
        emit_line(emission->emitter, "enum { %s = 0 };", name);
    else
        emit_line(emission->emitter, "const long long %s = %s;", name, value);
}

/* The block of the call; the loop variable in it is that of the first iteration. */
static void emit_block_of(struct vector_emission *emission, int number, const char *strides, const char *done)
{
    struct emitter *emitter = emission->emitter;
    emit_line(emitter, "if (%s %s %s%s) {", emission->first, emission->stmt->step > 0 ? "<" : ">",
              emission->high, strides);
    emitter->indent++;
    emit_line(emitter, "union akg_slot %s[%d];", emission->slots, emission->loop->arguments.count);
    emit_begin(emission, emission->variable, emission->first);
    if (emitter->loop_count < JIT_TRAP_LOOPS)
        emitter->loops[emitter->loop_count] = emission->stmt->symbol;
    emitter->loop_count++;
    if (emission->loop->band)
        emit_inner_firsts(emission, emission->stmt->body);
    emit_slots(emission);
    if (emission->loop->band)
        emit_deltas(emission);
    emit_vector_call(emission, number, done);
    emitter->loop_count--;
    emitter->indent--;
    emit_line(emitter, "}");
}

/* The call with all around it, and the place behind it for what cannot be computed before it. */
static void emit_whole(struct vector_emission *emission, int number, const char *strides, const char *done)
{
    struct emitter *emitter = emission->emitter;
    emitter->leave = done ? arena_format(&emitter->arena, "akg_left_%d", emitter->labels++) : NULL;
    emitter->left = false;
    if (emission->loop->nest)
        emit_nest(emission, number, strides, done);
    else
        emit_block_of(emission, number, strides, done);
    if (emitter->left)
        emit_line(emitter, "%s:;", emitter->leave);
    emitter->leave = NULL;
}

/* The loop of that number, whose variable begins and ends there. */
static struct vector_emission begin_emission(struct emitter *emitter, const struct ir_stmt *stmt, int number,
                                             struct emit_value low, struct emit_value high)
{
    const char *name = emitter->symbols[stmt->symbol->slot].name;
    return (struct vector_emission){.emitter = emitter,
                                    .stmt = stmt,
                                    .loop = emitter->options->plan->loops.items[number],
                                    .first = arena_format(&emitter->arena, "%s_first_", name),
                                    .is_from_zero = strcmp(low.text, "0") == 0,
                                    .slots = arena_format(&emitter->arena, "%s_slots_", name),
                                    .high = emit_operand(emitter, high, EMIT_SHIFT),
                                    .variable = name};
}

bool emit_copy(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
               struct emit_value high, const char **copied)
{
    int number = vector_plan_find_beside(emitter->options->plan, stmt);
    *copied = NULL;
    if (number < 0)
        return false;
    struct vector_emission emission = begin_emission(emitter, stmt, number, low, high);
    const char *strides = call_tests(&emission);
    bool always = !*strides && !emission.loop->most && emission.loop->copies;
    if (!always) {
        *copied = arena_format(&emitter->arena, "%s_copied_", emission.variable);
        emit_line(emitter, "int %s = 0;", *copied);
    }
    emit_line(emitter, "{");
    emitter->indent++;
    emit_begin(&emission, emission.first, low.text);
    emit_whole(&emission, number, strides, *copied);
    emitter->indent--;
    emit_line(emitter, "}");
    return always;
}

enum emit_vector emit_vector_loop(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                                  struct emit_value high, const char **done)
{
    int number = vector_plan_find(emitter->options->plan, stmt);
    if (number < 0 || emitter->options->plan->loops.items[number]->flow)
        return EMIT_VECTOR_NONE;
    struct vector_emission emission = begin_emission(emitter, stmt, number, low, high);
    const char *strides = call_tests(&emission);
    bool outside =
        emission.loop->nest && !vector_is_rows(emission.loop->nest); /* of the depths there is more */
    bool always = !*strides && !slot_tests(&emission) && !outside && !emission.loop->stops &&
                  !emission.loop->reaches.count && !pass_block_may_stop(stmt->body);
    *done = always ? NULL : arena_format(&emitter->arena, "%s_done_", emission.variable);
    emit_begin(&emission, emission.first, low.text);
    if (emission.loop->stops)
        emit_line(emitter, "long long %s = %s;", *done, emission.first);
    else if (*done)
        emit_line(emitter, "int %s = 0;", *done);
    emit_whole(&emission, number, strides, *done);
    if (emission.loop->stops)
        return EMIT_VECTOR_PARTLY;
    return always ? EMIT_VECTOR_ALWAYS : EMIT_VECTOR_SOMETIMES;
}
