/*
 * emit_c_nest.c: the C that calls a nest, or the rows of a vector loop.
 *
 * Consumes such a loop of the vector plan; produces the bounds of all its loops, a test that each has an
 * iteration, and the call. How often a level iterates is the product of what its loop and those that are
 * merged with it (vector_merge.c) do.
 */
#include "emit_c_vector.h"

static void push_loop(struct emitter *emitter, const struct ir_stmt *loop)
{
    if (emitter->loop_count < JIT_TRAP_LOOPS)
        emitter->loops[emitter->loop_count] = loop->symbol;
    emitter->loop_count++;
}

/* The bounds of a loop inside, and a test that it has an iteration. */
static const char *inner_bound(struct vector_emission *emission, const struct ir_stmt *loop, const char **low,
                               const char **high)
{
    struct emitter *emitter = emission->emitter;
    struct emit_value from, to;
    emit_bounds(emitter, loop, &from, &to);
    *low = emit_first_of(emission, loop);
    if (!emit_begins_at_number(emission, loop))
        emit_line(emitter, "const long long %s = %s;", *low, from.text);
    *high = emit_operand(emitter, to, EMIT_SHIFT);
    return arena_format(&emitter->arena, "%s %s %s", *low, loop->step > 0 ? "<" : ">", *high);
}

/* Those of loops that are merged with the one of a level, from the first to that; their iterations. */
static const char *merged_bounds(struct vector_emission *emission, const struct ir_stmt *first, int level,
                                 const char *tests)
{
    struct arena *arena = &emission->emitter->arena;
    for (const struct ir_stmt *loop = first; loop != emission->loop->nest->loops[level]; loop = loop->body) {
        const char *low, *high, *times = emission->times[level];
        tests = emit_test_beside(emission, tests, inner_bound(emission, loop, &low, &high));
        emission->times[level] =
            arena_format(arena, "%s%s(%s - %s)", times ? times : "", times ? " * " : "", high, low);
    }
    return tests;
}

/* Those of all of them; a test that each has an iteration. */
static const char *inner_bounds(struct vector_emission *emission)
{
    const struct vector_nest *nest = emission->loop->nest;
    const char *tests = nest->is_while ? "1" : NULL;
    int around = vector_is_rows(nest) ? VECTOR_ROWS : VECTOR_COLUMNS;
    if (!nest->merged) {
        emission->firsts[nest->first] = emission->first;
        emission->highs[nest->first] = emission->high;
    } else {
        emission->times[around] =
            arena_format(&emission->emitter->arena, "(%s - %s)", emission->high, emission->first);
        if (vector_is_rows(nest))
            tests = merged_bounds(emission, nest->merged->body, around, tests);
    }
    for (int level = nest->first + !nest->merged; level < nest->depth; level++) {
        if (nest->inside && level == VECTOR_COLUMNS)
            tests = merged_bounds(emission, nest->inside, level, tests);
        tests = emit_test_beside(
            emission, tests,
            inner_bound(emission, nest->loops[level], &emission->firsts[level], &emission->highs[level]));
    }
    return tests;
}

/* Whether lanes are better along the innermost loop of a nest that stands beside other code than along its
 * columns: vectors of the one loop, for each column, take less than those of the columns for each of its
 * iterations. Without rows each iteration waits for the one before, and there are fewer that way. Threads may
 * have fewer columns than there are, for which the program says. */
static const char *test_along(struct vector_emission *emission, const char *tests)
{
    struct emitter *emitter = emission->emitter;
    const struct vector_nest *nest = emission->loop->nest;
    const struct ir_stmt *columns = nest->loops[VECTOR_COLUMNS];
    int inner = nest->depth - 1, lanes = nest->lanes;
    const char *count = arena_format(&emitter->arena, "(%s - %s)", emission->highs[VECTOR_COLUMNS],
                                     emission->firsts[VECTOR_COLUMNS]);
    const char *depths =
        arena_format(&emitter->arena, "(%s - %s)", emission->highs[inner], emission->firsts[inner]);
    if (nest->first == VECTOR_COLUMNS)
        count = arena_format(&emitter->arena, "(%s - %s)",
                             emit_operand(emitter, emit_index(emitter, columns->high), EMIT_SHIFT),
                             emit_operand(emitter, emit_index(emitter, columns->low), EMIT_SHIFT));
    if (nest->is_alone)
        return emit_test_beside(emission, tests,
                                arena_format(&emitter->arena, "%s >= %d", depths, VECTOR_ALONE_DEPTHS));
    tests = emit_test_beside(emission, tests,
                             arena_format(&emitter->arena, "%s <= %d && %s >= %d", count,
                                          VECTOR_ALONG_COLUMNS, depths, VECTOR_ALONG_DEPTHS));
    if (nest->first == VECTOR_COLUMNS)
        return tests;
    return emit_test_beside(emission, tests,
                            arena_format(&emitter->arena,
                                         "%d * %s * ((%s + %d) / %d) <= %d * %s * ((%s + %d) / %d)",
                                         VECTOR_ALONG_TIMES, count, depths, lanes - 1, lanes,
                                         VECTOR_ALONG_TIMES - 1, depths, count, lanes - 1, lanes));
}

static void begin_first(struct vector_emission *emission, const struct ir_stmt *loop, const char *first)
{
    struct emitter *emitter = emission->emitter;
    const char *name = emitter->symbols[loop->symbol->slot].name;
    emit_line(emitter, "const long long %s = %s;", name, first);
    push_loop(emitter, loop);
}

static void begin_merged(struct vector_emission *emission, const struct ir_stmt *first,
                         const struct ir_stmt *end)
{
    for (const struct ir_stmt *loop = first; loop != end; loop = loop->body)
        begin_first(emission, loop, emit_first_of(emission, loop));
}

/* The call, in the block in which each loop's variable is that of its first iteration. */
static void emit_nest_call(struct vector_emission *emission, int number, const char *done)
{
    struct emitter *emitter = emission->emitter;
    const struct vector_nest *nest = emission->loop->nest;
    emit_line(emitter, "union akg_slot %s[%d];", emission->slots, emission->loop->arguments.count);
    int loops = emitter->loop_count;
    if (nest->merged)
        begin_first(emission, nest->merged, emission->first);
    if (nest->merged && vector_is_rows(nest))
        begin_merged(emission, nest->merged->body, nest->loops[VECTOR_ROWS]);
    for (int level = nest->first; level < nest->depth; level++) {
        if (nest->inside && level == VECTOR_COLUMNS)
            begin_merged(emission, nest->inside, nest->loops[level]);
        begin_first(emission, nest->loops[level], emission->firsts[level]);
    }
    emit_slots(emission);
    emit_vector_call(emission, number, done);
    emitter->loop_count = loops;
}

void emit_nest(struct vector_emission *emission, int number, const char *strides, const char *done)
{
    struct emitter *emitter = emission->emitter;
    emit_line(emitter, "if (%s < %s%s) {", emission->first, emission->high, strides);
    emitter->indent++;
    const char *tests = inner_bounds(emission);
    if (emission->loop->nest->is_along && emission->loop->is_beside)
        tests = test_along(emission, tests);
    emit_line(emitter, "if (%s) {", tests);
    emitter->indent++;
    emit_nest_call(emission, number, done);
    emitter->indent--;
    emit_line(emitter, "}");
    emitter->indent--;
    emit_line(emitter, "}");
}
