/*
 * vector_hoist.c: loads go ahead of stores to other elements, and tests of indices ahead of loads.
 *
 *     y[2 * i] += a; y[2 * i + 1] += b
 *
 * Consumes the values of a loop, for stores one whose iterations are independent; changes their order. Then
 * loads of neighbours can be one, and so can their stores. Elements of one stream at different offsets are
 * different ones, in an iteration, and in any two of a loop like that; what another stream stores may be any
 * element.
 */
#include "vector_build.h"

#include <string.h>

static const struct ir_buffer *buffer_of(const struct vector_loop *loop, const struct vector_value *value)
{
    return value->stream < 0 ? NULL : loop->streams.items[value->stream].access->buffer;
}

static bool is_plain_load(const struct vector_value *value)
{
    return value->kind == VECTOR_LOAD && value->mask < 0;
}

/* Whether value number `load` may come before the store, and all stores up to its own place. */
static bool may_hoist(const struct vector_loop *loop, const struct vector_value *values, int store, int load)
{
    const struct vector_value *wanted = &values[load];
    if (!is_plain_load(wanted) || wanted->stream != values[store].stream)
        return false;
    for (int k = store; k < load; k++)
        if (values[k].kind == VECTOR_STORE && buffer_of(loop, &values[k]) == buffer_of(loop, wanted) &&
            (values[k].stream != wanted->stream || values[k].offset == wanted->offset))
            return false;
    return true;
}

static bool has_any(const struct vector_loop *loop)
{
    bool any = false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind == VECTOR_TEST || value->kind == VECTOR_SCATTER)
            return false;
        for (int n = k + 1; value->kind == VECTOR_STORE && n < loop->values.count && !any; n++)
            any = may_hoist(loop, loop->values.items, k, n);
    }
    return any;
}

static void add(struct vector_builder *builder, const struct vector_value *old, int number, int *moved)
{
    struct vector_loop *loop = builder->loop;
    struct vector_value value = old[number];
    if (moved[number] >= 0)
        return;
    value.epoch = 0;
    for (int k = 0; k < loop->values.count; k++)
        value.epoch += loop->values.items[k].kind == VECTOR_STORE &&
                       buffer_of(loop, &loop->values.items[k]) == buffer_of(loop, &value);
    moved[number] = vector_add_again(builder, value, moved);
}

void vector_hoist_loads(struct vector_builder *builder)
{
    struct vector_loop *loop = builder->loop;
    int count = loop->values.count, *moved = arena_array(builder->arena, int, count);
    const struct vector_value *old = loop->values.items;
    if (!has_any(loop))
        return;
    memset(moved, -1, (size_t)count * sizeof *moved);
    memset(&loop->values, 0, sizeof loop->values);
    for (int k = 0; k < count; k++) {
        for (int n = k + 1; old[k].kind == VECTOR_STORE && n < count; n++)
            if (may_hoist(loop, old, k, n))
                add(builder, old, n, moved);
        add(builder, old, k, moved);
    }
}

/* ---- tests --------------------------------------------------------------------------------------- */

static bool tests_come_first(const struct vector_loop *loop)
{
    bool has_effect = false;
    for (int k = 0; k < loop->values.count; k++) {
        enum vector_kind kind = loop->values.items[k].kind;
        if (kind == VECTOR_TEST && has_effect)
            return false;
        has_effect |= kind != VECTOR_TEST && vector_has_effect(kind);
    }
    return true;
}

/* Of a loop that packs, whose tests stand beside what they are for: whether what they ask for is the same
 * before anything has an effect. */
static bool may_test_first(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++) {
        enum vector_kind kind = loop->values.items[k].kind;
        if (kind == VECTOR_STORE || kind == VECTOR_SCATTER || kind == VECTOR_SCAN)
            return false;
    }
    return true;
}

static void add_with_operands(struct vector_builder *builder, const struct vector_value *old, int number,
                              int *moved)
{
    if (moved[number] >= 0)
        return;
    for (int operand = 0; operand < 3; operand++)
        if (old[number].operands[operand] >= 0)
            add_with_operands(builder, old, old[number].operands[operand], moved);
    if (old[number].mask >= 0)
        add_with_operands(builder, old, old[number].mask, moved);
    moved[number] = vector_add_again(builder, old[number], moved);
}

void vector_hoist_tests(struct vector_builder *builder)
{
    struct vector_loop *loop = builder->loop;
    int count = loop->values.count, *moved = arena_array(builder->arena, int, count);
    const struct vector_value *old = loop->values.items;
    if (loop->counters.count && !may_test_first(loop)) {
        vector_refuse(builder);
        return;
    }
    if (!loop->stops || (!loop->counters.count && !tests_come_first(loop)))
        return;
    memset(moved, -1, (size_t)count * sizeof *moved);
    memset(&loop->values, 0, sizeof loop->values);
    for (int k = 0; k < count; k++)
        if (old[k].kind == VECTOR_TEST)
            add_with_operands(builder, old, k, moved);
    for (int k = 0; k < count; k++)
        add_with_operands(builder, old, k, moved);
}
