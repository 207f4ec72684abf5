/*
 * vector_x86_neighbours.c: gathers of elements that lie side by side, `p[j[i], 0]`, `p[j[i], 1]`, or `t[k]`,
 * `t[k + 1]`: up to four of them come by one load for each lane.
 *
 * Consumes gathers of a loop (vector_gather.c) of elements of 4 bytes, all lanes and without conditions,
 * whose distances differ by constants; appends for each lane a load into a part of a vector, under a mask
 * that leaves out what nobody asked for, and what turns the vectors, as vector_x86_points.c does. For
 * AVX-512: a gather there takes as long as some twenty loads (Zen 5), whatever the lanes load. Indices go
 * through the frame into a general register. Nothing is loaded before a test of the others' indices.
 */
#include "vector_x86_points.h"

enum { AT = X86_R10, MOST = 4 /* elements */, DEEPEST = 8, FARTHEST = 64 };

/* ---- which lie side by side ---------------------------------------------------------------------------- */

static const struct vector_value *value_of(const struct vector_loop *loop, int number)
{
    return &loop->values.items[number];
}

static bool is_integer_cast(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && value->operation == OP_CAST && dtype_is_integer(value->dtype) &&
           dtype_is_integer(value->from);
}

/* What the sum has besides a constant; -1: it is no such sum. */
static int without_constant(const struct vector_loop *loop, const struct vector_value *sum, int64_t *constant)
{
    if (sum->kind != VECTOR_OPERATION || sum->operation != OP_ADD)
        return -1;
    for (int k = 0; k < 2; k++) {
        const struct vector_value *other = value_of(loop, sum->operands[1 - k]);
        if (other->kind != VECTOR_CONSTANT)
            continue;
        *constant = other->type == VECTOR_I32 ? (int32_t)(uint32_t)other->bits : (int64_t)other->bits;
        return sum->operands[k];
    }
    return -1;
}

/* Whether b is a and a constant. As indices both are inside, so neither wraps where the other does not. */
static bool find_difference(const struct vector_loop *loop, int a, int b, int depth, int64_t *difference)
{
    const struct vector_value *first = value_of(loop, a), *second = value_of(loop, b);
    int64_t constant, more;
    *difference = 0;
    if (a == b)
        return true;
    if (depth > DEEPEST || first->type != second->type)
        return false;
    int rest = without_constant(loop, second, &constant);
    if (rest >= 0) {
        bool found = find_difference(loop, a, rest, depth + 1, difference);
        *difference += constant;
        return found;
    }
    rest = without_constant(loop, first, &constant);
    if (rest >= 0) {
        bool found = find_difference(loop, rest, b, depth + 1, difference);
        *difference -= constant;
        return found;
    }
    if (is_integer_cast(first) && is_integer_cast(second) && first->from == second->from &&
        first->dtype == second->dtype)
        return find_difference(loop, first->operands[0], second->operands[0], depth + 1, difference);
    if (first->kind != VECTOR_OPERATION || second->kind != VECTOR_OPERATION || first->operation != OP_ADD ||
        second->operation != OP_ADD)
        return false;
    bool found = find_difference(loop, first->operands[0], second->operands[0], depth + 1, difference) &&
                 find_difference(loop, first->operands[1], second->operands[1], depth + 1, &more);
    *difference += found ? more : 0;
    return found;
}

/* How many elements the second stream lies behind the first. */
static bool find_distance(const struct vector_loop *loop, const struct vector_value *a,
                          const struct vector_value *b, int64_t *distance)
{
    const struct ir_access *first = loop->streams.items[a->stream].access,
                           *second = loop->streams.items[b->stream].access;
    int last = first->buffer->rank - 1;
    *distance = 0;
    if (a->stream == b->stream)
        return true;
    if (first->buffer != second->buffer || !first->buffer->contiguous)
        return false;
    for (int axis = 0; axis < last; axis++)
        if (!ir_expr_equal(first->indices[axis], second->indices[axis]))
            return false;
    if (first->indices[last]->kind != IR_INTEGER || second->indices[last]->kind != IR_INTEGER)
        return false;
    *distance = second->indices[last]->integer - first->indices[last]->integer;
    return true;
}

/* Elements from one to the other, if they are few. */
static bool are_near(const struct vector_loop *loop, const struct vector_value *a,
                     const struct vector_value *b, int *elements)
{
    int64_t apart, difference;
    if (b->kind != VECTOR_GATHER || b->mask >= 0 || b->bits || b->epoch != a->epoch || b->dtype != a->dtype ||
        !find_distance(loop, a, b, &apart) ||
        !find_difference(loop, a->operands[0], b->operands[0], 0, &difference) || apart < -FARTHEST ||
        apart > FARTHEST || difference < -FARTHEST || difference > FARTHEST)
        return false;
    *elements = (int)(apart + difference);
    return true;
}

/* Those that come together with a value: elements from it, a bit each from `low` on. */
struct group {
    int low;
    unsigned offsets;
    const struct vector_value *last;
};

static struct group group_of(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    struct group group = {.low = 0};
    int elements;
    for (int k = 0; k < loop->values.count; k++)
        if (are_near(loop, value, value_of(loop, k), &elements) && elements < group.low)
            group.low = elements;
    group.low += -group.low / MOST * MOST;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *other = value_of(loop, k);
        if (!are_near(loop, value, other, &elements) || elements < group.low || elements >= group.low + MOST)
            continue;
        group.offsets |= 1u << (elements - group.low);
        group.last = other;
    }
    return group;
}

static bool is_tested_between(const struct vector_value *first, const struct vector_value *last)
{
    for (const struct vector_value *value = first; value < last; value++)
        if (value->kind == VECTOR_TEST)
            return true;
    return false;
}

static const struct machine_neighbours *find_neighbours(const struct machine *machine,
                                                        const struct vector_value *value, int *place)
{
    int elements;
    for (int k = 0; k < machine->neighbours.count; k++) {
        const struct machine_neighbours *row = &machine->neighbours.items[k];
        if (row->section != machine->section || !are_near(machine->loop, row->value, value, &elements) ||
            elements < row->low || elements >= row->low + MOST || !row->vectors[elements - row->low])
            continue;
        *place = elements - row->low;
        return row;
    }
    return NULL;
}

static bool may_have_neighbours(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    return machine_is_avx512(machine) && machine->lanes >= 8 && value->kind == VECTOR_GATHER &&
           value->mask < 0 && !value->bits && dtype_table[value->dtype].size == 4 &&
           (!loop->nest || vector_is_rows(loop->nest));
}

bool machine_has_neighbours(const struct machine *machine, const struct vector_value *value)
{
    if (!may_have_neighbours(machine, value))
        return false;
    struct group group = group_of(machine, value);
    return (group.offsets & (group.offsets - 1)) && !is_tested_between(value, group.last);
}

/* ---- loads --------------------------------------------------------------------------------------------- */

static void to_frame(struct machine *machine, int bits, int vector, int place)
{
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_STORE,
                                                  .bits = bits,
                                                  .reg = vector,
                                                  .has_memory = true,
                                                  .memory = {X86_RSP, X86_NONE, 1, place}});
}

/* The addresses of 8 lanes' elements. */
static int addresses_of(struct machine *machine, const struct vector_value *value, int index)
{
    int slot = machine->loop->streams.items[value->stream].slot;
    int bytes = machine_shift(machine, X86_VPSLLQ_BY, X86_VPSLLQ_BY_WIDE, 512, index, 2);
    return machine_rvm(machine, X86_VPADDQ, 512, bytes,
                       machine_keep(machine, KEPT_SCALAR, VECTOR_I64, slot, 0));
}

/* Each lane's elements. Masks go through rax where they have no register, so addresses do not. */
static void load_lanes(struct points *points, int index, bool far)
{
    struct machine *machine = points->machine;
    int base = machine->pointers[points->value->stream], size = far ? 8 : 4;
    int place = machine_frame(machine, machine->lanes * size);
    if (base < 0)
        index = addresses_of(machine, points->value, index);
    to_frame(machine, machine->lanes * size * 8, index, place);
    for (int lane = 0; lane < machine->lanes; lane++) {
        struct x86_memory memory = {base < 0 ? AT : base, base < 0 ? X86_NONE : AT,
                                    base < 0 ? 1 : points->size, points->low * points->size};
        machine_add(machine, (struct x86_instruction){.form = far ? X86_MOV : X86_MOVSXD,
                                                      .reg = AT,
                                                      .has_memory = true,
                                                      .memory = {X86_RSP, X86_NONE, 1, place + lane * size}});
        points_load_row(points, lane, memory);
    }
}

int machine_load_neighbours(struct machine *machine, const struct vector_value *value, int index)
{
    bool far = vector_type_is_wide(value_of(machine->loop, value->operands[0])->type);
    int place;
    const struct machine_neighbours *known = find_neighbours(machine, value, &place);
    if (known)
        return known->vectors[place];
    bool has_base = machine->pointers[value->stream] >= 0 || (far && !machine->loop->nest);
    if (!has_base || !machine_has_neighbours(machine, value))
        return 0;
    struct group group = group_of(machine, value);
    struct points points = {.machine = machine,
                            .value = value,
                            .stream = &machine->loop->streams.items[value->stream],
                            .size = 4,
                            .bits = machine->lanes * 32,
                            .low = group.low,
                            .span = 32 - __builtin_clz(group.offsets)};
    struct machine_neighbours made = {.section = machine->section, .value = value, .low = group.low};
    points_make_masks(&points);
    load_lanes(&points, index, far);
    points_turn(&points, group.offsets, made.vectors);
    list_push(machine->arena, &machine->neighbours, made);
    return made.vectors[-group.low];
}
