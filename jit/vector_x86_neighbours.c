/*
 * vector_x86_neighbours.c: gathers of elements that lie side by side, `p[j[i], 0]`, `p[j[i], 1]`, or `t[k]`,
 * `t[k + 1]`: up to four of them come by one load for each lane; and such elements that lanes change,
 * `f[j[i], 0] += x; f[j[i], 1] += y`, which go as they came.
 *
 * Consumes gathers of a loop (vector_gather.c) of elements of 4 bytes, all lanes and without conditions,
 * whose distances differ by constants; appends for each lane a load into a part of a vector, under a mask
 * that leaves out what nobody asked for, and what turns the vectors, as vector_x86_points.c does. For
 * AVX-512: a gather there takes as long as some twenty loads (Zen 5), whatever the lanes load. Indices go
 * through the frame into a general register. Nothing is loaded before a test of the others' indices.
 */
#include "vector_x86_points.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

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
        return find_difference(loop, a, rest, depth + 1, difference) &&
               !__builtin_add_overflow(*difference, constant, difference);
    }
    rest = without_constant(loop, first, &constant);
    if (rest >= 0) {
        return find_difference(loop, rest, b, depth + 1, difference) &&
               !__builtin_sub_overflow(*difference, constant, difference);
    }
    if (is_integer_cast(first) && is_integer_cast(second) && first->from == second->from &&
        first->dtype == second->dtype)
        return find_difference(loop, first->operands[0], second->operands[0], depth + 1, difference);
    if (first->kind != VECTOR_OPERATION || second->kind != VECTOR_OPERATION || first->operation != OP_ADD ||
        second->operation != OP_ADD)
        return false;
    return find_difference(loop, first->operands[0], second->operands[0], depth + 1, difference) &&
           find_difference(loop, first->operands[1], second->operands[1], depth + 1, &more) &&
           !__builtin_add_overflow(*difference, more, difference);
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
    return !__builtin_sub_overflow(second->indices[last]->integer, first->indices[last]->integer, distance);
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

/* Looked for among the values around it: those far off need not be asked in each of a very long loop. */
static struct group group_of(const struct machine *machine, const struct vector_value *value)
{
    enum { AROUND = 256 };
    const struct vector_loop *loop = machine->loop;
    struct group group = {.low = 0};
    int at = (int)(value - loop->values.items), elements;
    int from = at > AROUND ? at - AROUND : 0,
        to = loop->values.count - at > AROUND ? at + AROUND : loop->values.count;
    for (int k = from; k < to; k++)
        if (are_near(loop, value, value_of(loop, k), &elements) && elements < group.low)
            group.low = elements;
    group.low += -group.low / MOST * MOST;
    for (int k = from; k < to; k++) {
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
    enum { LATEST = 64 };
    int elements, count = machine->neighbours.count;
    for (int k = count - 1; k >= 0 && k >= count - LATEST; k--) {
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

/* ---- elements that are changed ------------------------------------------------------------------------- */

static bool is_change_of(const struct vector_loop *loop, const struct vector_value *value,
                         const struct ir_buffer *buffer)
{
    return value->kind == VECTOR_SCATTER && loop->streams.items[value->stream].access->buffer == buffer;
}

/* Those that are done together with the value, in their order; how many, 0: more than there may be. */
static int find_together(const struct vector_loop *loop, const struct vector_value *value,
                         const struct vector_value *all[MOST])
{
    const struct ir_buffer *buffer = loop->streams.items[value->stream].access->buffer;
    int count = 0;
    bool found = false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *other = value_of(loop, k);
        if (!is_change_of(loop, other, buffer))
            continue;
        if (count == MOST)
            return 0;
        all[count++] = other;
        found |= other == value;
        if (!other->waits && found)
            return count;
        count = other->waits ? count : 0;
    }
    return 0;
}

int machine_find_row(const struct machine *machine, const struct vector_value *value, struct machine_row *row)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_value *all[MOST];
    int count = machine_is_avx512(machine) && machine->lanes >= 8 ? find_together(loop, value, all) : 0;
    int64_t distances[MOST], low = 0;
    for (int k = 0; k < count; k++) {
        if (all[k]->operation != all[0]->operation || all[k]->dtype != AKG_FLOAT32 || all[k]->mask >= 0 ||
            all[k]->operands[1] != all[0]->operands[1] || !find_distance(loop, all[0], all[k], &distances[k]))
            return 0;
        low = distances[k] < low ? distances[k] : low;
    }
    unsigned places = 0;
    for (int k = 0; k < count; k++) {
        if (distances[k] - low >= count)
            return 0;
        places |= 1u << (distances[k] - low);
        row->values[distances[k] - low] = all[k];
    }
    bool is_row = count > 1 && places == (1u << count) - 1 && all[0]->operation != OPERATION_COUNT;
    return is_row && machine->pointers[row->values[0]->stream] >= 0 ? count : 0;
}

/* Lane after lane, as a lane that is masked has it: something that changes nothing. */
void machine_change_row(struct machine *machine, const struct machine_row *row, int count,
                        const int operands[4], int place, bool far, bool are_addresses)
{
    const struct vector_value *first = row->values[0];
    struct points points = {
        .machine = machine, .value = first, .size = 4, .bits = machine->lanes * 32, .span = count};
    int size = far ? 8 : 4;
    points_turn_back(&points, operands);
    for (int lane = 0; lane < machine->lanes; lane++) {
        struct x86_memory memory = {machine->pointers[first->stream], AT, points.size, 0};
        if (are_addresses)
            memory = (struct x86_memory){AT, X86_NONE, 1, 0};
        int change = points.vectors[lane % 4];
        machine_add(machine, (struct x86_instruction){.form = far ? X86_MOV : X86_MOVSXD,
                                                      .reg = AT,
                                                      .has_memory = true,
                                                      .memory = {X86_RSP, X86_NONE, 1, place + lane * size}});
        int before = points_load_point(&points, memory);
        if (lane >= 4) {
            int part = machine_new_vector(machine, 128);
            machine_add(machine, (struct x86_instruction){.form = X86_VEXTRACTF32X4,
                                                          .bits = points.bits,
                                                          .reg = change,
                                                          .rm = part,
                                                          .immediate = lane / 4});
            change = part;
        }
        points_store_point(
            &points, machine_combine(machine, first->operation, first->dtype, 128, before, change), memory);
    }
}
