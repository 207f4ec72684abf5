/*
 * vector_x86_choice.c: choices of a vector loop (vector_choice.c) as instructions.
 *
 * Consumes choices, whose accumulators hold in each lane of each partial result the value that it chose and
 * the number of its iteration; produces what is kept for that, and behind the loop one choice out of all
 * lanes, and what is computed from its number. That number is counted from -1 for what stood in the slots
 * before, which all lanes begin with: so it is one of those that are compared.
 *
 * A lane keeps the number of the first iteration of its vector's round, plus its own; the place of the vector
 * in the round is added behind the loop. So all vectors of a round share one register that counts.
 */
#include "vector_x86_loop.h"
#include "vector_x86_operation.h"

struct choosing {
    struct machine *machine;
    const struct vector_choice *choice;
    int members[VECTOR_MEMBERS], count; /* accumulators: the place, the best, the others */
};

static enum vector_type place_type(const struct machine *machine)
{
    return machine->loop->wide ? VECTOR_I64 : VECTOR_I32;
}

static int add_numbers(struct machine *machine, int a, int64_t number)
{
    enum vector_type type = place_type(machine);
    int bits = machine_bits(machine, type), other = machine_new_vector(machine, bits);
    machine_spread_constant(machine, other, type, type == VECTOR_I64 ? (uint64_t)number : (uint32_t)number);
    return machine_rvm(machine, type == VECTOR_I64 ? X86_VPADDQ : X86_VPADDD, bits, a, other);
}

/* ---- in the loop --------------------------------------------------------------------------------- */

int machine_place(struct machine *machine)
{
    return machine_keep(machine, KEPT_PLACE, place_type(machine), 0, 0);
}

void machine_next_round(struct machine *machine)
{
    enum vector_type type = place_type(machine);
    int place = machine_place(machine), round = machine->lanes * machine->steps;
    machine_into(machine, type == VECTOR_I64 ? X86_VPADDQ : X86_VPADDD, machine_bits(machine, type), place,
                 place, machine_constant(machine, type, (uint64_t)round), 0);
}

void machine_setup_place(struct machine *machine, const struct machine_kept *kept)
{
    machine_spread_lanes(machine, kept->virtual_register, kept->type);
    int first = add_numbers(machine, kept->virtual_register, -machine->lanes * machine->steps);
    machine_into(machine, X86_VMOVAPS, machine_bits(machine, kept->type), kept->virtual_register, 0, first,
                 0);
}

uint64_t machine_no_place(const struct machine *machine, int step)
{
    int64_t none = -1 - (int64_t)step * machine->lanes;
    return machine->loop->wide ? (uint64_t)none : (uint32_t)none;
}

/* ---- one out of two ------------------------------------------------------------------------------ */

static int either(struct machine *machine, int a, int b)
{
    return a ? machine_or(machine, a, b) : b;
}

/* Lanes where `a` is nan and `b` none, or both are. */
static int nan_lanes(struct machine *machine, enum vector_type type, int a, int b, bool both)
{
    enum { UNORDERED = 3, ORDERED = 7 };
    return machine_and(machine, machine_compare_floats(machine, type, a, a, UNORDERED),
                       machine_compare_floats(machine, type, b, b, both ? UNORDERED : ORDERED));
}

/* Where the one of `b` is chosen and not that of `a`. */
static int second_is_chosen(const struct choosing *choosing, const int *a, const int *b)
{
    struct machine *machine = choosing->machine;
    const struct vector_order *order = &choosing->choice->order;
    akg_dtype place = machine->loop->wide ? AKG_INT64 : AKG_INT32;
    if (choosing->choice->best < 0)
        return machine_compare(machine, OP_GT, place, b[0], a[0]);
    const struct vector_accumulator *row = &machine->loop->accumulators.items[choosing->choice->best];
    int chosen = machine_compare(machine, order->greatest ? OP_GT : OP_LT, row->dtype, b[1], a[1]);
    int same = machine_compare(machine, OP_EQ, row->dtype, b[1], a[1]), same_nan = 0;
    if (order->has_nan) {
        int winner = order->nan_wins ? b[1] : a[1], loser = order->nan_wins ? a[1] : b[1];
        chosen = either(machine, chosen, nan_lanes(machine, row->type, winner, loser, false));
        same_nan = nan_lanes(machine, row->type, a[1], b[1], true);
    }
    if (same_nan && order->last_nan != order->last) {
        int turn = machine_compare(machine, order->last_nan ? OP_GT : OP_LT, place, b[0], a[0]);
        chosen = either(machine, chosen, machine_and(machine, same_nan, turn));
    } else {
        same = either(machine, same_nan, same);
    }
    int turn = machine_compare(machine, order->last ? OP_GT : OP_LT, place, b[0], a[0]);
    return either(machine, chosen, machine_and(machine, same, turn));
}

/* Into `a`. */
static void choose(const struct choosing *choosing, const int *a, const int *b)
{
    struct machine *machine = choosing->machine;
    int mask = second_is_chosen(choosing, a, b);
    for (int k = 0; k < choosing->count; k++)
        machine_put(machine, machine->loop->accumulators.items[choosing->members[k]].type, a[k], b[k], mask);
}

/* ---- one out of all ------------------------------------------------------------------------------ */

static void add_member(struct choosing *choosing, int accumulator)
{
    if (choosing->count < VECTOR_MEMBERS)
        choosing->members[choosing->count++] = accumulator;
    else
        machine_refuse(choosing->machine);
}

static void find_members(struct choosing *choosing, int number)
{
    const struct vector_loop *loop = choosing->machine->loop;
    add_member(choosing, choosing->choice->place);
    if (choosing->choice->best >= 0)
        add_member(choosing, choosing->choice->best);
    for (int k = 0; k < loop->accumulators.count; k++) {
        const struct vector_accumulator *row = &loop->accumulators.items[k];
        if (row->role == VECTOR_CHOSEN && row->choice == number && k != choosing->choice->place &&
            k != choosing->choice->best)
            add_member(choosing, k);
    }
}

/* What the partial results of one vector of the round hold, with whole numbers of iterations. */
static void take_partials(const struct choosing *choosing, int step, int *registers)
{
    struct machine *machine = choosing->machine;
    for (int k = 0; k < choosing->count; k++)
        registers[k] =
            machine_keep(machine, KEPT_PARTIAL, machine->loop->accumulators.items[choosing->members[k]].type,
                         choosing->members[k], (uint64_t)step);
    if (step)
        registers[0] = add_numbers(machine, registers[0], (int64_t)step * machine->lanes);
}

static struct choosing begin(struct machine *machine, int number)
{
    struct choosing choosing = {.machine = machine, .choice = &machine->loop->choices.items[number]};
    find_members(&choosing, number);
    return choosing;
}

/* The vectors of a round among themselves, into the first one. */
static void choose_vector(struct machine *machine, int number)
{
    struct choosing choosing = begin(machine, number);
    int registers[MACHINE_PARTIALS][VECTOR_MEMBERS];
    for (int k = 0; k < machine->steps; k++)
        take_partials(&choosing, k, registers[k]);
    for (int count = machine->steps / 2; count >= 1; count /= 2)
        for (int k = 0; k < count; k++)
            choose(&choosing, registers[k], registers[k + count]);
}

/* The lanes of a vector among themselves. */
static void choose_lane(const struct choosing *choosing, const int *registers)
{
    struct machine *machine = choosing->machine;
    int lanes = machine->lanes, halves[VECTOR_MEMBERS];
    for (; machine->lanes > 1; choose(choosing, registers, halves)) {
        machine->lanes /= 2;
        for (int k = 0; k < choosing->count; k++) {
            enum vector_type type = machine->loop->accumulators.items[choosing->members[k]].type;
            bool wide = vector_type_is_wide(type);
            halves[k] =
                machine_upper_half(machine, registers[k], 2 * machine->lanes * (wide ? 64 : 32), wide);
        }
    }
    machine->lanes = lanes;
}

static void store_slot(struct machine *machine, int slot, int value, bool wide)
{
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE,
                                                  .bits = 128,
                                                  .reg = value,
                                                  .has_memory = true,
                                                  .memory = machine_slot(machine, slot)});
}

/* Into the slots; the number of the iteration into rax. */
static void build_result(struct machine *machine, int number)
{
    const struct vector_loop *loop = machine->loop;
    struct choosing choosing = begin(machine, number);
    int registers[VECTOR_MEMBERS];
    take_partials(&choosing, 0, registers);
    choose_lane(&choosing, registers);
    for (int k = 1; k < choosing.count; k++) {
        const struct vector_accumulator *row = &loop->accumulators.items[choosing.members[k]];
        store_slot(machine, row->slot, registers[k], vector_type_is_wide(row->type));
    }
    int place = registers[0];
    if (!loop->wide)
        place = machine_rm(machine, X86_VPMOVSXDQ, 128, place);
    store_slot(machine, loop->accumulators.items[choosing.choice->place].slot, place, true);
    machine_add(machine,
                (struct x86_instruction){.form = X86_VMOVQ_FROM, .bits = 128, .reg = place, .rm = X86_RAX});
}

/* ---- what hangs on its number -------------------------------------------------------------------- */

static int from_slot(struct machine *machine, int slot, enum vector_type type)
{
    int result = machine_new_vector(machine, 128);
    machine_add(machine, (struct x86_instruction){.form = vector_type_is_wide(type) ? X86_VMOVSD_LOAD
                                                                                    : X86_VMOVSS_LOAD,
                                                  .bits = 128,
                                                  .reg = result,
                                                  .has_memory = true,
                                                  .memory = machine_slot(machine, slot)});
    return result;
}

static int late_value(struct machine *machine, const struct vector_value *value, const int *registers)
{
    int operands[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        if (value->operands[k] >= 0)
            operands[k] = registers[value->operands[k]];
    switch (value->kind) {
    case VECTOR_CONSTANT:
        return machine_constant(machine, value->type, value->bits);
    case VECTOR_SCALAR:
        return from_slot(machine, value->slot, value->type);
    case VECTOR_TOTAL:
        return from_slot(machine, machine->loop->accumulators.items[value->slot].slot, value->type);
    default:
        return machine_operation(machine, value, operands);
    }
}

/* In one lane of 64 bits, as serial loops are. */
static void build_late(struct machine *machine, const struct vector_late *late)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_accumulator *row = &loop->accumulators.items[late->accumulator];
    struct vector_loop *single = arena_new(machine->arena, struct vector_loop);
    int lanes = machine->lanes, *registers = arena_array(machine->arena, int, late->values.count);
    *single = *loop;
    single->wide = true;
    single->values.items = late->values.items;
    single->values.count = late->values.count;
    machine->loop = single;
    machine->lanes = 1;
    machine->is_late = true;
    for (int k = 0; k < late->values.count && !machine->refused; k++)
        registers[k] = late_value(machine, &late->values.items[k], registers);
    store_slot(machine, row->slot, registers[late->values.count - 1],
               vector_type_is_wide(late->values.items[late->values.count - 1].type));
    machine->is_late = false;
    machine->lanes = lanes;
    machine->loop = loop;
}

static void build_all_late(struct machine *machine, machine_section *section, int choice)
{
    machine->section = section;
    for (int k = 0; k < machine->loop->late.count; k++)
        if (machine->loop->late.items[k].choice == choice)
            build_late(machine, &machine->loop->late.items[k]);
}

/* ---- all ----------------------------------------------------------------------------------------- */

void machine_build_choices(struct machine *machine, struct machine_choices *choices)
{
    int count = machine->loop->choices.count;
    choices->results = arena_array(machine->arena, machine_section, count);
    choices->late = arena_array(machine->arena, machine_section, count + 1);
    for (int k = 0; k < count; k++) {
        machine->section = &choices->results[k];
        choose_vector(machine, k);
        build_result(machine, k);
        build_all_late(machine, &choices->late[k], k);
    }
    build_all_late(machine, &choices->late[count], -1);
}

void machine_place_choices(struct machine *machine, struct machine_choices *choices)
{
    int count = machine->loop->choices.count;
    for (int k = 0; k < count; k++) {
        int none = machine->labels++;
        machine_allocate(machine, &choices->results[k]);
        if (!choices->late[k].count)
            continue;
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, 0);
        machine_emit_jump(machine, X86_JL, none);
        machine_allocate(machine, &choices->late[k]);
        machine_emit_label(machine, none);
    }
    machine_allocate(machine, &choices->late[count]);
}
