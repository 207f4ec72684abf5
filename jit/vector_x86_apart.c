/*
 * vector_x86_apart.c: elements one by one, into the lanes of a vector and out of them.
 *
 * Consumes a stream with a step; appends a load for each lane, or a store. With AVX-512 that is for elements
 * of 4 and 8 bytes that are loaded, all of them: an instruction that gathers takes twice as long on the
 * processor this was measured on (Intel Xeon at 2.5 GHz with AVX-512: 0.77 ns an element against 0.37), and
 * lanes that a mask leaves out are not to be read, so that is left to gathers. AVX2 has nothing that
 * scatters, or masks small elements: there it is for all of these, and what is not to be touched is jumped
 * over. What is jumped over brings no register in and out, so that registers hold the same on both ways.
 */
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum { AT = X86_R10, STEP = X86_RAX, QUARTER = 128, FARTHEST = 1 << 24 /* bytes */ };

static void add(struct machine *machine, enum x86_form form, int reg, struct x86_memory memory)
{
    machine_add(machine,
                (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

bool machine_can_load_apart(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = dtype_table[stream->dtype].size;

    return machine_is_avx512(machine) && size >= 4 && size * machine->lanes * 8 >= QUARTER &&
           (stream->step_kind != VECTOR_CONSTANT_STEP ||
            (stream->step < FARTHEST / (size * machine->lanes) &&
             stream->step > -FARTHEST / (size * machine->lanes)));
}

/* Where the lanes are, one after the other. */
struct walk {
    struct x86_memory memory; /* of the last lane of an even number; without a step in STEP: of the first */
    bool in_register;         /* the bytes from lane to lane: in STEP */
    int constant;             /* else these */
    int lane;
    int place;    /* where masks are in STEP: of these bytes in the frame */
    int mask;     /* 0: none */
    bool is_tail; /* it leaves out the last lanes, and no others */
    int end;      /* the label behind the last lane, or behind this one */
};

static struct walk walk_begin(struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = dtype_table[stream->dtype].size;
    struct walk walk = {.memory = {machine_base(machine, value->stream), X86_NONE, 1, value->offset * size}};

    if (stream->step_kind == VECTOR_CONSTANT_STEP) {
        walk.constant = (int)stream->step * size;
        return walk;
    }
    walk.in_register = true;
    add(machine, X86_MOV, STEP, machine_slot(machine, stream->slot + 1)); /* of all lanes together */
    machine_add(machine, (struct x86_instruction){.form = X86_SAR_BY,
                                                  .rm = STEP,
                                                  .immediate = __builtin_ctz((unsigned)machine->lanes)});
    return walk;
}

/* The element of the next lane. Of two lanes one is a step behind the other. */
static struct x86_memory walk_next(struct machine *machine, struct walk *walk)
{
    struct x86_memory here = walk->memory;
    int lane = walk->lane++;

    if (!walk->in_register) {
        here.displacement += lane * walk->constant;
    } else if (lane % 2) {
        here.index = STEP;
    } else if (lane) {
        here.index = STEP;
        here.scale = 2;
        add(machine, X86_LEA, AT, here);
        here = walk->memory = (struct x86_memory){AT, X86_NONE, 1, 0};
    }
    return here;
}

static int load_lane(struct machine *machine, struct walk *walk, enum x86_form form)
{
    int result = machine_new_vector(machine, QUARTER);
    struct x86_memory memory = walk_next(machine, walk);
    machine_add(machine,
                (struct x86_instruction){
                    .form = form, .bits = QUARTER, .reg = result, .has_memory = true, .memory = memory});
    return result;
}

static int insert_lane(struct machine *machine, struct walk *walk, int into, int lane)
{
    int result = machine_new_vector(machine, QUARTER);
    struct x86_memory memory = walk_next(machine, walk);
    machine_add(machine, (struct x86_instruction){.form = X86_VINSERTPS,
                                                  .bits = QUARTER,
                                                  .reg = result,
                                                  .vvvv = into,
                                                  .has_memory = true,
                                                  .memory = memory,
                                                  .immediate = lane << 4});
    return result;
}

/* 128 bits of lanes. */
static int load_quarter(struct machine *machine, struct walk *walk, int size)
{
    if (size == 8) {
        int low = load_lane(machine, walk, X86_VMOVSD_LOAD);
        return machine_rvm(machine, X86_VUNPCKLPD, QUARTER, low, load_lane(machine, walk, X86_VMOVSD_LOAD));
    }
    int result = load_lane(machine, walk, X86_VMOVSS_LOAD);
    for (int lane = 1; lane < 4; lane++)
        result = insert_lane(machine, walk, result, lane);
    return result;
}

static int load_all(struct machine *machine, const struct vector_value *value)
{
    int size = dtype_table[value->dtype].size, bits = machine->lanes * size * 8;
    struct walk walk = walk_begin(machine, value);
    int result = load_quarter(machine, &walk, size);

    for (int quarter = 1; quarter < bits / QUARTER; quarter++)
        result = machine_rvmi(machine, X86_VINSERTF32X4, bits, result, load_quarter(machine, &walk, size),
                              quarter);
    return result;
}

/* ---- AVX2 ------------------------------------------------------------------------------------- */

/* The mask's bits into STEP, which is in the frame if it is needed. The first lane is always there, so that
 * where there is but one a mask that no condition made leaves out nothing. */
static void walk_mask(struct machine *machine, struct walk *walk, const struct vector_value *value, int mask)
{
    bool wide = machine->loop->wide;

    walk->is_tail = value->mask < 0;
    if (!mask || (walk->is_tail && machine->lanes == 1))
        return;
    walk->mask = mask;
    if (walk->in_register) {
        walk->place = machine_frame(machine, 8);
        add(machine, X86_MOV_STORE, STEP, (struct x86_memory){X86_RSP, X86_NONE, 1, walk->place});
        add(machine, X86_LEA, AT, walk->memory);
        walk->memory = (struct x86_memory){AT, X86_NONE, 1, 0};
    }
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VMOVMSKPD : X86_VMOVMSKPS,
                                                  .bits = machine_bits(machine, VECTOR_MASK),
                                                  .reg = STEP,
                                                  .rm = mask});
    walk->end = machine->labels++;
}

static struct x86_memory masked_next(struct machine *machine, struct walk *walk)
{
    if (!walk->mask || !walk->in_register)
        return walk_next(machine, walk);
    if (walk->lane++)
        add(machine, X86_ADD, AT, (struct x86_memory){X86_RSP, X86_NONE, 1, walk->place});
    return walk->memory;
}

static void place_label(struct machine *machine, int label)
{
    machine_add(machine, (struct x86_instruction){.form = X86_NO_FORM, .label = label});
}

/* An access of the next lane, if it is in the mask. */
static void walk_lane(struct machine *machine, struct walk *walk, struct x86_instruction access)
{
    bool jumps_once = walk->is_tail;

    access.bits = QUARTER;
    access.has_memory = true;
    access.memory = masked_next(machine, walk);
    if (walk->mask) {
        if (!jumps_once)
            walk->end = machine->labels++;
        machine_add(machine, (struct x86_instruction){.form = X86_SHR_BY, .rm = STEP, .immediate = 1});
        machine_add(machine, (struct x86_instruction){.form = X86_JAE, .label = walk->end});
    }
    machine_add(machine, access);
    if (walk->mask && !jumps_once)
        place_label(machine, walk->end);
}

static void walk_end(struct machine *machine, const struct walk *walk)
{
    if (walk->mask && walk->is_tail)
        place_label(machine, walk->end);
}

/* The load of a lane into part of a register that holds others; of the first of all these when there is no
 * mask: whatever else was in it is gone. */
static struct x86_instruction lane_load(int size, int into, int lane, bool is_first)
{
    static const enum x86_form first[] = {
        [1] = X86_VPBROADCASTB, [2] = X86_VPBROADCASTW, [4] = X86_VMOVSS_LOAD, [8] = X86_VMOVSD_LOAD};
    static const enum x86_form other[] = {
        [1] = X86_VPINSRB, [2] = X86_VPINSRW, [4] = X86_VINSERTPS, [8] = X86_VMOVHPD_LOAD};

    if (is_first || (size == 8 && lane == 0)) /* above it nothing was loaded yet */
        return (struct x86_instruction){.form = first[size], .reg = into};
    return (struct x86_instruction){
        .form = other[size], .reg = into, .vvvv = into, .immediate = size == 4 ? lane << 4 : lane};
}

static int load_walk(struct machine *machine, const struct vector_value *value, struct walk *walk)
{
    int size = dtype_table[value->dtype].size, lanes = size < 4 ? machine->lanes : QUARTER / 8 / size;
    int count = machine->lanes > lanes ? 2 : 1, quarters[2];

    for (int k = 0; k < count; k++)
        quarters[k] = walk->mask ? machine_rvm(machine, X86_VXORPS, QUARTER, walk->mask, walk->mask)
                                 : machine_new_vector(machine, QUARTER);
    for (int lane = 0; lane < machine->lanes; lane++)
        walk_lane(machine, walk,
                  lane_load(size, quarters[lane / lanes], lane % lanes, !walk->mask && lane % lanes == 0));
    walk_end(machine, walk);
    if (count == 2)
        quarters[0] = machine_rvmi(machine, X86_VINSERTF128, 2 * QUARTER, quarters[0], quarters[1], 1);
    return size < 4 ? machine_from_memory(machine, value->dtype, quarters[0]) : quarters[0];
}

/* The store of a lane of a quarter: small elements have 32 bits each, but float16, which lie in a row. */
static struct x86_instruction lane_store(akg_dtype dtype, int from, int lane)
{
    static const enum x86_form forms[] = {
        [1] = X86_VPEXTRB, [2] = X86_VPEXTRW, [4] = X86_VEXTRACTPS, [8] = X86_VMOVHPD_STORE};
    int size = dtype_table[dtype].size;

    if (size >= 4 && lane == 0)
        return (struct x86_instruction){.form = size == 4 ? X86_VMOVSS_STORE : X86_VMOVSD_STORE, .reg = from};
    return (struct x86_instruction){.form = forms[size],
                                    .reg = from,
                                    .immediate =
                                        size >= 4 || dtype == AKG_FLOAT16 ? lane : lane * (4 / size)};
}

/* What is in memory of the value in the lower bits of lanes; of float16 side by side. */
static int to_memory(struct machine *machine, akg_dtype dtype, int operand)
{
    int bits = machine_bits(machine, VECTOR_I32);

    if (dtype == AKG_BOOL)
        return machine_cast(machine, AKG_INT32, AKG_BOOL, operand);
    if (dtype == AKG_BFLOAT16)
        return machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, operand, 16);
    if (dtype != AKG_FLOAT16)
        return operand;
    int halves = machine_new_vector(machine, QUARTER);
    machine_add(machine,
                (struct x86_instruction){.form = X86_VCVTPS2PH, .bits = bits, .reg = operand, .rm = halves});
    return halves;
}

static void store_walk(struct machine *machine, const struct vector_value *value, struct walk *walk,
                       int operand)
{
    int size = dtype_table[value->dtype].size, quarters[2];
    int lanes = value->dtype == AKG_FLOAT16 ? machine->lanes : size == 8 ? 2 : 4;

    quarters[0] = quarters[1] = operand;
    if (machine->lanes > lanes)
        quarters[1] = machine_upper_half(machine, operand, 2 * QUARTER, false);
    if (walk->mask) /* a register of its own, which is there when it is jumped over */
        quarters[0] = machine_copy(machine, QUARTER, operand);
    for (int lane = 0; lane < machine->lanes; lane++)
        walk_lane(machine, walk, lane_store(value->dtype, quarters[lane / lanes], lane % lanes));
    walk_end(machine, walk);
}

int machine_load_apart(struct machine *machine, const struct vector_value *value, int mask)
{
    if (machine_is_avx512(machine))
        return load_all(machine, value);
    struct walk walk = walk_begin(machine, value);
    walk_mask(machine, &walk, value, mask);
    return load_walk(machine, value, &walk);
}

void machine_store_apart(struct machine *machine, const struct vector_value *value, int operand, int mask)
{
    operand = to_memory(machine, value->dtype, operand);
    struct walk walk = walk_begin(machine, value);
    walk_mask(machine, &walk, value, mask);
    store_walk(machine, value, &walk, operand);
}

static struct walk walk_in_turn(struct machine *machine, const struct vector_value *value,
                                struct x86_memory memory, int mask)
{
    struct walk walk = {.memory = memory, .constant = dtype_table[value->dtype].size};
    walk_mask(machine, &walk, value, mask);
    return walk;
}

int machine_load_in_turn(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                         int mask)
{
    struct walk walk = walk_in_turn(machine, value, memory, mask);
    return load_walk(machine, value, &walk);
}

void machine_store_in_turn(struct machine *machine, const struct vector_value *value,
                           struct x86_memory memory, int operand, int mask)
{
    operand = to_memory(machine, value->dtype, operand);
    struct walk walk = walk_in_turn(machine, value, memory, mask);
    store_walk(machine, value, &walk, operand);
}
