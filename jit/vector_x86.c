/*
 * vector_x86.c: a vector loop as a function of machine code.
 *
 * Consumes a vector loop; produces instructions in order: what is kept is made, then a main loop of several
 * vectors a round, then vectors of which only the first lanes count, then the partial results are combined,
 * in the same order whatever the width of a vector. Small loops that only store end with vectors of half the
 * width, a quarter and so on instead: what a mask leaves out of a store would keep loads behind it, of the
 * next row say, waiting until the store is done. The function takes the address of the slots in rdi and
 * keeps to the System V convention.
 */
#include "vector_x86.h"

#include <string.h>

/* ---- general registers ------------------------------------------------------------------ */

/* What a function must preserve: pushed in this order. */
static const int preserved[] = {X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
enum { PRESERVED = sizeof preserved / sizeof *preserved };

void machine_choose_slots(struct machine *machine)
{
    machine->slots = machine->calls ? X86_RBX : X86_RDI;
    machine->general |= 1u << machine->slots;
}

void machine_choose_general_registers(struct machine *machine)
{
    static const int leaf[] = {X86_RSI, X86_R8, X86_R9, X86_R11, X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
    static const int calling[] = {X86_R14, X86_R15};
    bool calls = machine->calls;
    const int *free_ones = calls ? calling : leaf;
    int count = calls ? 2 : 9;
    machine_choose_slots(machine);
    machine->count = calls ? X86_R12 : X86_RCX;
    machine->index = calls ? X86_R13 : X86_RDX;
    for (int k = 0; k < machine->loop->streams.count; k++) {
        machine->pointers[k] = k < count ? free_ones[k] : -1;
        machine->general |= k < count ? 1u << free_ones[k] : 0;
    }
    machine->general |= 1u << machine->count | 1u << machine->index;
}

void machine_emit(struct machine *machine, struct x86_instruction instruction)
{
    list_push(machine->arena, &machine->body, instruction);
}

void machine_emit_by(struct machine *machine, enum x86_form form, int reg, int64_t number)
{
    machine_emit(machine, (struct x86_instruction){.form = form, .rm = reg, .immediate = number});
}

static void emit_move(struct machine *machine, int to, int from)
{
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV, .reg = to, .rm = from});
}

void machine_emit_jump(struct machine *machine, enum x86_form form, int label)
{
    machine_emit(machine, (struct x86_instruction){.form = form, .label = label});
}

int machine_stop(struct machine *machine)
{
    if (machine->stop < 0)
        machine->stop = machine->labels++;
    return machine->stop;
}

/* Iterations that are done, where the code ends early. */
static void place_stop(struct machine *machine)
{
    int end = machine->labels++;
    if (machine->stop < 0)
        return;
    machine_emit_jump(machine, X86_JMP, end);
    machine_emit_label(machine, machine->stop);
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_STORE,
                                                   .reg = X86_RAX,
                                                   .has_memory = true,
                                                   .memory = machine_slot(machine, 0)});
    machine_emit_label(machine, end);
}

void machine_emit_label(struct machine *machine, int label)
{
    machine_emit(machine, (struct x86_instruction){.form = X86_NO_FORM, .label = label});
}

/* ---- one vector's worth of iterations ------------------------------------------------------- */

/* The condition and the end of the loop as one mask; 0: all lanes. */
static int mask_of(struct machine *machine, const int *registers, int mask, bool is_last)
{
    int tail = is_last ? machine_keep(machine, KEPT_TAIL, VECTOR_MASK, 0, 0) : 0;
    if (mask < 0)
        return tail;
    return tail ? machine_and(machine, registers[mask], tail) : registers[mask];
}

static int index_value(struct machine *machine, const struct vector_value *value)
{
    int bits = machine_bits(machine, VECTOR_I64), first = machine_new_vector(machine, bits);
    machine_add(machine, (struct x86_instruction){.form = X86_VPBROADCASTQ,
                                                  .bits = bits,
                                                  .reg = first,
                                                  .has_memory = true,
                                                  .memory = machine_slot(machine, value->slot)});
    return machine_rvm(machine, X86_VPADDQ, bits, first,
                       machine_keep(machine, KEPT_STEPS, VECTOR_I64, 0, value->bits));
}

static int build_value(struct machine *machine, const struct vector_value *value, const int *registers,
                       int step, bool is_last)
{
    int operands[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        if (value->operands[k] >= 0)
            operands[k] = registers[value->operands[k]];
    switch (value->kind) {
    case VECTOR_CONSTANT:
        return machine_constant(machine, value->type, value->bits);
    case VECTOR_SCALAR:
        return machine_keep(machine, KEPT_SCALAR, value->type, value->slot, 0);
    case VECTOR_INDEX:
        return index_value(machine, value);
    case VECTOR_LOAD:
        return machine_load(machine, value, mask_of(machine, registers, value->mask, is_last));
    case VECTOR_GATHER:
        return machine_gather(machine, value, operands[0], mask_of(machine, registers, value->mask, is_last));
    case VECTOR_TEST:
        machine_test(machine, value, operands, mask_of(machine, registers, value->mask, is_last));
        return 0;
    case VECTOR_STORE:
        machine_store(machine, value, operands[0], mask_of(machine, registers, value->mask, is_last));
        return 0;
    case VECTOR_SCATTER:
        machine_scatter(machine, value, operands, mask_of(machine, registers, value->mask, is_last));
        return 0;
    case VECTOR_ACCUMULATE: {
        int partial = machine_keep(machine, KEPT_PARTIAL, value->type, value->slot, (uint64_t)step);
        machine_accumulate(machine, value, partial, operands,
                           mask_of(machine, registers, value->mask, is_last));
        return 0;
    }
    default:
        return machine_operation(machine, value, operands);
    }
}

/* `ahead`: elements from the index to it. */
static void build_step(struct machine *machine, machine_section *section, int step, int ahead, bool is_last)
{
    const struct vector_loop *loop = machine->loop;
    int *registers = arena_array(machine->arena, int, loop->values.count);
    machine->section = section;
    machine->ahead = ahead;
    for (int k = 0; k < loop->values.count && !machine->refused; k++) {
        machine->line = loop->values.items[k].line;
        registers[k] = build_value(machine, &loop->values.items[k], registers, step, is_last);
    }
    machine->line = 0;
    machine_advance(machine);
}

/* Which lanes there are: those below the count. */
void machine_tail(struct machine *machine, machine_section *section)
{
    int tail = machine_keep(machine, KEPT_TAIL, VECTOR_MASK, 0, 0);
    machine->section = section;
    if (machine_is_avx512(machine)) {
        machine_add(machine,
                    (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = -1});
        machine_add(
            machine,
            (struct x86_instruction){
                .form = X86_BZHI, .bits = 128, .reg = X86_RAX, .rm = X86_RAX, .vvvv = machine->count});
        machine_add(machine,
                    (struct x86_instruction){.form = X86_KMOVW_TO, .bits = 128, .reg = tail, .rm = X86_RAX});
        return;
    }
    bool wide = machine->loop->wide;
    int count = machine_new_vector(machine, 128), all = machine_new_vector(machine, 256);
    int lanes = machine_keep(machine, KEPT_LANES, wide ? VECTOR_I64 : VECTOR_I32, 0, 0);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_VMOVQ_TO, .bits = 128, .reg = count, .rm = machine->count});
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VBROADCASTSD : X86_VBROADCASTSS,
                                                  .bits = 256,
                                                  .reg = all,
                                                  .rm = count});
    machine_add(
        machine,
        (struct x86_instruction){
            .form = wide ? X86_VPCMPGTQ : X86_VPCMPGTD, .bits = 256, .reg = tail, .vvvv = all, .rm = lanes});
}

/* ---- the setup -------------------------------------------------------------------------------- */

static void set_general(struct machine *machine, uint64_t bits)
{
    machine_add(machine, (struct x86_instruction){
                             .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = (int64_t)bits});
}

/* rax in all lanes. */
static void spread(struct machine *machine, int target, enum vector_type type)
{
    bool wide = vector_type_is_wide(type) || type == VECTOR_MASK;
    if (type == VECTOR_MASK && machine_is_avx512(machine)) {
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_KMOVW_TO, .bits = 128, .reg = target, .rm = X86_RAX});
        return;
    }
    int one = machine->lanes == 1 ? target : machine_new_vector(machine, 128);
    machine_add(machine,
                (struct x86_instruction){
                    .form = wide ? X86_VMOVQ_TO : X86_VMOVD_TO, .bits = 128, .reg = one, .rm = X86_RAX});
    if (one == target)
        return;
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VBROADCASTSD : X86_VBROADCASTSS,
                                                  .bits = machine_bits(machine, type),
                                                  .reg = target,
                                                  .rm = one});
}

/* The element in memory in all lanes. */
static void spread_memory(struct machine *machine, int target, enum vector_type type,
                          struct x86_memory memory, int label)
{
    bool wide = vector_type_is_wide(type);
    enum x86_form form = machine->lanes == 1 ? wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD
                         : wide              ? X86_VBROADCASTSD
                                             : X86_VBROADCASTSS;
    machine_add(machine, (struct x86_instruction){.form = form,
                                                  .bits = machine_bits(machine, type),
                                                  .reg = target,
                                                  .has_memory = true,
                                                  .memory = memory,
                                                  .label = label});
}

/* Bits out of the data behind the code in all lanes. */
void machine_spread_constant(struct machine *machine, int target, enum vector_type type, uint64_t bits)
{
    bool wide = vector_type_is_wide(type);
    int label = -1;
    if (type == VECTOR_MASK) {
        set_general(machine, bits ? UINT64_MAX : 0);
        spread(machine, target, type);
        return;
    }
    for (int k = 0; k < machine->data.count && label < 0; k++)
        if (machine->data.items[k].bits == bits && machine->data.items[k].size == (wide ? 8 : 4))
            label = machine->data.items[k].label;
    if (label < 0) {
        struct vector_datum datum = {machine->labels++, wide ? 8 : 4, bits};
        list_push(machine->arena, &machine->data, datum);
        label = datum.label;
    }
    spread_memory(machine, target, type, (struct x86_memory){X86_RIP, X86_NONE, 1, 0}, label);
}

static void setup_scalar(struct machine *machine, const struct machine_kept *kept)
{
    struct x86_memory slot = machine_slot(machine, kept->number);
    if (kept->type == VECTOR_MASK) {
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_MOV, .reg = X86_RAX, .has_memory = true, .memory = slot});
        machine_add(machine, (struct x86_instruction){.form = X86_NEG, .rm = X86_RAX});
        spread(machine, kept->virtual_register, VECTOR_MASK);
        return;
    }
    spread_memory(machine, kept->virtual_register, kept->type, slot, 0);
}

/* 0, 1, 2, ... */
static void load_table(struct machine *machine, int target, enum vector_type type, const void *table)
{
    set_general(machine, (uint64_t)(uintptr_t)table);
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                                  .bits = machine_bits(machine, type),
                                                  .reg = target,
                                                  .has_memory = true,
                                                  .memory = {X86_RAX, X86_NONE, 1, 0}});
}

static void load_lanes(struct machine *machine, int target, enum vector_type type)
{
    static const int64_t wide[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int32_t narrow[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    bool is_wide = vector_type_is_wide(type);
    load_table(machine, target, type, is_wide ? (const void *)wide : (const void *)narrow);
}

/* By number, from PAIRS_OVERLAP on. */
static void load_pairs(struct machine *machine, int target, enum vector_type type, int number)
{
    static const int64_t wide[5][8] = {{0, 2, 4, 6, 9, 11, 13, 15},
                                       {0, 2, 4, 6, 8, 10, 12, 14},
                                       {1, 3, 5, 7, 9, 11, 13, 15},
                                       {0, 8, 1, 9, 2, 10, 3, 11},
                                       {4, 12, 5, 13, 6, 14, 7, 15}};
    static const int32_t eight[5][8] = {{0, 2, 4, 6, 9, 11, 13, 15},
                                        {0, 2, 4, 6, 8, 10, 12, 14},
                                        {1, 3, 5, 7, 9, 11, 13, 15},
                                        {0, 8, 1, 9, 2, 10, 3, 11},
                                        {4, 12, 5, 13, 6, 14, 7, 15}};
    static const int32_t sixteen[5][16] = {{0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31},
                                           {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
                                           {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31},
                                           {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23},
                                           {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31}};
    int row = number - PAIRS_OVERLAP;
    const void *table = machine->lanes == 16 ? (const void *)sixteen[row] : eight[row];
    load_table(machine, target, type, vector_type_is_wide(type) ? (const void *)wide[row] : table);
}

static void setup_steps(struct machine *machine, const struct machine_kept *kept)
{
    int bits = machine_bits(machine, VECTOR_I64), target = kept->virtual_register;
    if (kept->bits == 1) {
        load_lanes(machine, target, VECTOR_I64);
        return;
    }
    if (!machine_is_avx512(machine) && kept->bits > INT32_MAX) {
        machine_refuse(machine);
        return;
    }
    int lanes = machine_new_vector(machine, bits), step = machine_new_vector(machine, bits);
    load_lanes(machine, lanes, VECTOR_I64);
    set_general(machine, kept->bits);
    spread(machine, step, VECTOR_I64);
    machine_into(machine, machine_is_avx512(machine) ? X86_VPMULLQ : X86_VPMULUDQ, bits, target, lanes, step,
                 0);
}

/* The distance from the first element of each lane, in bytes. */
static void setup_indices(struct machine *machine, const struct machine_kept *kept)
{
    const struct vector_stream *stream = &machine->loop->streams.items[kept->number];
    int bits = machine_bits(machine, VECTOR_I32), size = dtype_table[stream->dtype].size;
    int lanes = machine_new_vector(machine, bits), step = machine_new_vector(machine, bits);
    load_lanes(machine, lanes, VECTOR_I32);
    if (stream->step_kind == VECTOR_CONSTANT_STEP) {
        set_general(machine, (uint64_t)(uint32_t)stream->step);
        spread(machine, step, VECTOR_I32);
    } else {
        machine_add(machine, (struct x86_instruction){.form = X86_VBROADCASTSS,
                                                      .bits = bits,
                                                      .reg = step,
                                                      .has_memory = true,
                                                      .memory = machine_slot(machine, stream->slot + 1)});
    }
    int product = machine_rvm(machine, X86_VPMULLD, bits, lanes, step);
    machine_add(machine, (struct x86_instruction){.form = X86_VPSLLD_BY_WIDE,
                                                  .bits = bits,
                                                  .vvvv = kept->virtual_register,
                                                  .rm = product,
                                                  .immediate = size == 8 ? 3 : 2});
}

uint64_t machine_identity(enum operation operation, akg_dtype dtype)
{
    bool wide = vector_type_is_wide(vector_type_of(dtype)), real = dtype_is_float(dtype);
    uint64_t sign = wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31, ones = wide ? UINT64_MAX : UINT32_MAX;
    uint64_t infinity = wide ? (uint64_t)0x7ff << 52 : (uint64_t)0xff << 23;
    bool is_signed = dtype_is_signed(dtype);
    switch (operation) {
    case OP_MUL:
        return real ? wide ? (uint64_t)0x3ff << 52 : (uint64_t)0x7f << 23 : 1;
    case OP_MIN:
        return real ? infinity : is_signed ? ~sign & ones : ones;
    case OP_MAX:
        return real ? infinity | sign : is_signed ? sign : 0;
    case OP_BITAND:
        return ones;
    case OP_ADD:
        return real ? sign : 0; /* -0.0: 0.0 would make a 0.0 of it */
    default:
        return 0;
    }
}

void machine_setup_kept(struct machine *machine, const struct machine_kept *kept)
{
    const struct vector_accumulator *accumulator;
    switch (kept->kind) {
    case KEPT_CONSTANT:
        machine_spread_constant(machine, kept->virtual_register, kept->type, kept->bits);
        break;
    case KEPT_SCALAR:
        setup_scalar(machine, kept);
        break;
    case KEPT_STEPS:
        setup_steps(machine, kept);
        break;
    case KEPT_LANES:
        load_lanes(machine, kept->virtual_register, kept->type);
        break;
    case KEPT_INDICES:
        setup_indices(machine, kept);
        break;
    case KEPT_PAIRS:
        load_pairs(machine, kept->virtual_register, kept->type, kept->number);
        break;
    case KEPT_PARTIAL:
        accumulator = &machine->loop->accumulators.items[kept->number];
        machine_spread_constant(machine, kept->virtual_register, kept->type,
                                machine_identity(accumulator->operation, accumulator->dtype));
        break;
    case KEPT_TAIL:
    case KEPT_RECIPROCAL:
        break;
    }
}

void machine_setup_streams(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        struct x86_instruction move = {.form = X86_MOV, .reg = machine->pointers[k], .has_memory = true};
        move.memory = machine_slot(machine, stream->slot);
        if (machine->pointers[k] >= 0)
            machine_add(machine, move);
        if (stream->step_kind != VECTOR_RUN_TIME_STEP)
            continue;
        move.reg = X86_RAX;
        move.memory = machine_slot(machine, stream->slot + 1);
        machine_add(machine, move);
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_SHL_BY,
                                 .rm = X86_RAX,
                                 .immediate = __builtin_ctz(
                                     (unsigned)(dtype_table[stream->dtype].size * machine->lanes))});
        move.form = X86_MOV_STORE;
        machine_add(machine, move);
    }
}

static void build_setup(struct machine *machine, machine_section *section)
{
    machine->section = section;
    for (int k = 0; k < machine->kept.count; k++)
        machine_setup_kept(machine, &machine->kept.items[k]);
    machine_setup_streams(machine);
}

/* ---- the end ------------------------------------------------------------------------------------ */

/* The upper half of what is left of a vector, to be combined with the lower one. */
static int upper_half(struct machine *machine, int a, int left, bool wide)
{
    if (left >= 256) {
        int high = machine_new_vector(machine, left / 2);
        enum x86_form form = left == 512                  ? X86_VEXTRACTF64X4
                             : machine_is_avx512(machine) ? X86_VEXTRACTF32X4
                                                          : X86_VEXTRACTF128;
        machine_add(machine, (struct x86_instruction){
                                 .form = form, .bits = left, .reg = a, .rm = high, .immediate = 1});
        return high;
    }
    if (wide)
        return machine_rvmi(machine, X86_VSHUFPD, 128, a, a, 1);
    return machine_rvmi(machine, X86_VSHUFPS, 128, a, a, left == 128 ? 0x4e : 0xb1);
}

static void build_result(struct machine *machine, int number)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), partials[MACHINE_PARTIALS];
    for (int k = 0; k < machine->steps; k++)
        partials[k] = machine_keep(machine, KEPT_PARTIAL, row->type, number, (uint64_t)k);
    for (int count = machine->steps / 2; count >= 1; count /= 2)
        for (int k = 0; k < count; k++)
            partials[k] =
                machine_combine(machine, row->operation, row->dtype, bits, partials[k], partials[k + count]);
    int sum = partials[0];
    for (int left = bits; left > (wide ? 64 : 32); left /= 2) {
        int half = left > 128 ? left / 2 : 128;
        sum = machine_combine(machine, row->operation, row->dtype, half, sum,
                              upper_half(machine, sum, left, wide));
    }
    int start = machine_new_vector(machine, 128);
    struct x86_instruction move = {.form = wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD,
                                   .bits = 128,
                                   .reg = start,
                                   .has_memory = true,
                                   .memory = machine_slot(machine, row->slot)};
    machine_add(machine, move);
    move.form = wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE;
    sum = machine_combine(machine, row->operation, row->dtype, 128, start, sum);
    move.reg = dtype_table[row->dtype].size < 4 ? machine_normal(machine, row->dtype, sum) : sum;
    machine_add(machine, move);
}

/* ---- registers for what is kept ------------------------------------------------------------------ */

/* Partial results first: they are read and written in every iteration. */
void machine_pin(struct machine *machine, int free_vectors)
{
    int next = machine_is_avx512(machine) ? MACHINE_VECTORS - 1 : 15, next_mask = MACHINE_MASKS - 1;
    enum { MASKS_LEFT = 5 };
    for (int round = 0; round < 2; round++)
        for (int k = 0; k < machine->kept.count; k++) {
            const struct machine_kept *kept = &machine->kept.items[k];
            struct machine_register *entry =
                &machine->registers.items[kept->virtual_register - MACHINE_VIRTUAL];
            if ((kept->kind == KEPT_PARTIAL) != (round == 0) || machine->loop->calls)
                continue;
            if (entry->is_mask && next_mask >= MASKS_LEFT)
                entry->pinned = next_mask--;
            else if (!entry->is_mask && free_vectors-- > 0)
                entry->pinned = next--;
        }
}

/* ---- all ------------------------------------------------------------------------------------------- */

enum { PIECES = 5 }; /* 16 lanes are 8, 4, 2, 1 and whole ones */

struct sections {
    machine_section setup, main[MACHINE_PARTIALS], last[MACHINE_PARTIALS], tail, result;
    int last_count;
    machine_section pieces[PIECES];
    bool has_pieces; /* instead of `last` */
    machine_section long_setup, long_main[MACHINE_PARTIALS];
    bool has_long; /* a main loop for many iterations */
};

/* Whether the last lanes may be had in vectors that are less wide: each must be reachable without a mask. */
static bool can_have_pieces(const struct vector_loop *loop)
{
    enum { MOST_VALUES = 12 };
    if (loop->accumulators.count || loop->calls || loop->values.count > MOST_VALUES)
        return false;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        if (stream->step_kind != VECTOR_UNIT || stream->is_masked || stream->is_gathered ||
            dtype_table[stream->dtype].size < 4)
            return false;
    }
    return true;
}

static void build_pieces(struct machine *machine, struct sections *sections)
{
    int lanes = machine->lanes;
    for (int k = 0; k < PIECES && machine->lanes; k++, machine->lanes /= 2) {
        build_step(machine, &sections->pieces[k], 0, 0, false);
    }
    machine->lanes = lanes;
}

static int most_pressure(struct machine *machine, const struct sections *sections)
{
    int most = machine_pressure(machine, &sections->result);
    for (int k = 0; k < machine->steps; k++) {
        int pressure = machine_pressure(machine, &sections->main[k]);
        most = pressure > most ? pressure : most;
        pressure = machine_pressure(machine, &sections->long_main[k]);
        most = pressure > most ? pressure : most;
    }
    for (int k = 0; k < sections->last_count; k++) {
        int pressure = machine_pressure(machine, &sections->last[k]);
        most = pressure > most ? pressure : most;
    }
    return most; /* pieces need no more than main */
}

static void build_sections(struct machine *machine, struct sections *sections)
{
    sections->has_pieces = can_have_pieces(machine->loop);
    sections->last_count = sections->has_pieces ? 0 : machine->loop->accumulators.count ? machine->steps : 1;
    for (int k = 0; k < machine->steps; k++)
        build_step(machine, &sections->main[k], k, k * machine->lanes, false);
    machine->is_long = sections->has_long = machine_has_quotients(machine);
    for (int k = 0; k < machine->steps && machine->is_long; k++)
        build_step(machine, &sections->long_main[k], k, k * machine->lanes, false);
    machine->is_long = false;
    for (int k = 0; k < sections->last_count; k++)
        build_step(machine, &sections->last[k], k, 0, !machine->loop->is_even);
    if (sections->has_pieces)
        build_pieces(machine, sections);
    else if (!machine->loop->is_even)
        machine_tail(machine, &sections->tail);
    machine->section = &sections->result;
    for (int k = 0; k < machine->loop->accumulators.count; k++)
        build_result(machine, k);
    machine_interleave(machine, sections->main, machine->steps);
    machine_interleave(machine, sections->long_main, machine->steps);
    int most = most_pressure(machine, sections),
        registers = machine_is_avx512(machine) ? MACHINE_VECTORS : 16;
    machine_pin(machine, registers - most);
    build_setup(machine, &sections->setup);
    machine_setup_reciprocals(machine, &sections->long_setup);
}

/* The frame pointer and a frame only where something lives there, or is called. */
static void enter(struct machine *machine, bool has_frame)
{
    if (has_frame) {
        machine_emit(machine, (struct x86_instruction){.form = X86_PUSH, .reg = X86_RBP});
        emit_move(machine, X86_RBP, X86_RSP);
    }
    for (int k = 0; k < PRESERVED; k++)
        if (machine->general >> preserved[k] & 1)
            machine_emit(machine, (struct x86_instruction){.form = X86_PUSH, .reg = preserved[k]});
    if (has_frame) {
        machine_emit_by(machine, X86_SUB_BY, X86_RSP, machine->frame);
        machine_emit_by(machine, X86_AND_BY, X86_RSP, -64);
    }
    if (machine->slots != X86_RDI)
        emit_move(machine, machine->slots, X86_RDI);
}

static void leave(struct machine *machine, bool has_frame)
{
    int pushed = 0;
    for (int k = 0; k < PRESERVED; k++)
        pushed += machine->general >> preserved[k] & 1;
    if (has_frame)
        machine_emit(machine, (struct x86_instruction){.form = X86_LEA,
                                                       .reg = X86_RSP,
                                                       .has_memory = true,
                                                       .memory = {X86_RBP, X86_NONE, 1, -8 * pushed}});
    for (int k = PRESERVED - 1; k >= 0; k--)
        if (machine->general >> preserved[k] & 1)
            machine_emit(machine, (struct x86_instruction){.form = X86_POP, .reg = preserved[k]});
    if (has_frame)
        machine_emit(machine, (struct x86_instruction){.form = X86_POP, .reg = X86_RBP});
    machine_emit(machine, (struct x86_instruction){.form = X86_VZEROUPPER});
    machine_emit(machine, (struct x86_instruction){.form = X86_RET});
}

/* Whole vectors as long as there are some, then each of the others once. */
static void place_pieces(struct machine *machine, struct sections *sections)
{
    int head = machine->labels++;
    machine_emit_label(machine, head);
    for (int k = 0, lanes = machine->lanes; lanes; k++, lanes /= 2) {
        int next = machine->labels++;
        machine_emit_by(machine, X86_CMP_BY, machine->count, lanes);
        machine_emit_jump(machine, X86_JL, next);
        machine_allocate(machine, &sections->pieces[k]);
        machine_emit_by(machine, X86_ADD_BY, machine->index, lanes);
        machine_emit_by(machine, X86_SUB_BY, machine->count, lanes);
        if (k == 0)
            machine_emit_jump(machine, X86_JMP, head);
        machine_emit_label(machine, next);
    }
}

/* Whole rounds of many: what is left goes to the main loop. */
static void place_long(struct machine *machine, struct sections *sections)
{
    enum { ROUNDS = 4 /* from so many on it is worth its setup */ };
    int round = machine->lanes * machine->steps, head = machine->labels++, done = machine->labels++;
    machine_emit_by(machine, X86_CMP_BY, machine->count, ROUNDS * round);
    machine_emit_jump(machine, X86_JL, done);
    machine_test_divisors(machine, done);
    machine_allocate(machine, &sections->long_setup);
    machine_emit_label(machine, head);
    for (int k = 0; k < machine->steps; k++)
        machine_allocate(machine, &sections->long_main[k]);
    machine_emit_by(machine, X86_ADD_BY, machine->index, round);
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_by(machine, X86_CMP_BY, machine->count, round);
    machine_emit_jump(machine, X86_JGE, head);
    machine_emit_label(machine, done);
}

static void place_loops(struct machine *machine, struct sections *sections)
{
    int round = machine->lanes * machine->steps, head = machine->labels++, rest = machine->labels++,
        last = machine->labels++, done = machine->labels++;
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_jump(machine, X86_JL, rest);
    machine_emit_label(machine, head);
    for (int k = 0; k < machine->steps; k++)
        machine_allocate(machine, &sections->main[k]);
    machine_emit_by(machine, X86_ADD_BY, machine->index, round);
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_jump(machine, X86_JGE, head);
    machine_emit_label(machine, rest);
    machine_emit_by(machine, X86_ADD_BY, machine->count, round);
    machine_emit_jump(machine, X86_JE, done);
    if (sections->has_pieces)
        place_pieces(machine, sections);
    machine_emit_label(machine, last);
    for (int k = 0; k < sections->last_count; k++) {
        machine_allocate(machine, &sections->tail);
        machine_allocate(machine, &sections->last[k]);
        machine_emit_by(machine, X86_ADD_BY, machine->index, machine->lanes);
        machine_emit_by(machine, X86_SUB_BY, machine->count, machine->lanes);
        if (sections->last_count > 1)
            machine_emit_jump(machine, X86_JLE, done);
        else
            machine_emit_jump(machine, X86_JG, last);
    }
    machine_emit_label(machine, done);
}

/* The instructions from `first` on, before all others. */
static void move_to_front(struct machine *machine, int first)
{
    size_t size = sizeof *machine->body.items;
    int moved = machine->body.count - first;
    struct x86_instruction *items = machine->body.items,
                           *copy = arena_array(machine->arena, struct x86_instruction, moved);
    memcpy(copy, items + first, size * (size_t)moved);
    memmove(items + moved, items, size * (size_t)first);
    memcpy(items, copy, size * (size_t)moved);
}

/* What stands before the body and behind it hangs on the frame that the body took. */
void machine_assemble(struct machine *machine, struct vector_listing *listing)
{
    bool has_frame = machine->frame > 0 || machine->calls;
    int count = machine->body.count;
    enter(machine, has_frame);
    move_to_front(machine, count);
    leave(machine, has_frame);
    *listing = (struct vector_listing){.items = machine->body, .data = machine->data};
}

bool machine_build_loop(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    struct sections *sections = arena_new(machine->arena, struct sections);
    bool rows = vector_is_rows(loop->nest);
    machine->stop = -1;
    machine->lanes = machine_vector_bits(machine) / (loop->wide ? 64 : 32);
    machine->steps = vector_partials(loop) / machine->lanes;
    machine_choose_general_registers(machine);
    build_sections(machine, sections);
    if (machine->refused)
        return false;
    machine_allocate(machine, &sections->setup);
    int head = rows ? machine_begin_rows(machine) : -1;
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV,
                                                   .reg = machine->count,
                                                   .has_memory = true,
                                                   .memory = machine_slot(machine, loop->count)});
    if (loop->is_even)
        machine_emit_by(machine, X86_AND_BY, machine->count, -vector_group(loop->wide));
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = machine->index});
    if (sections->has_long)
        place_long(machine, sections);
    place_loops(machine, sections);
    if (rows)
        machine_end_rows(machine, head);
    place_stop(machine);
    machine_allocate(machine, &sections->result);
    return !machine->refused;
}

bool vector_x86(struct arena *arena, const struct vector_loop *loop, const struct vector_options *options,
                struct vector_listing *listing)
{
    if (loop->nest && !vector_is_rows(loop->nest))
        return vector_x86_nest(arena, loop, options, listing);
    if (loop->band)
        return vector_x86_band(arena, loop, options, listing);
    if (loop->nest && vector_x86_transpose(arena, loop, options, listing))
        return true;
    struct machine *machine = arena_new(arena, struct machine);
    *machine = (struct machine){.arena = arena, .loop = loop, .options = options, .calls = loop->calls};
    if (!(loop->is_serial ? machine_build_serial(machine) : machine_build_loop(machine)))
        return false;
    machine_assemble(machine, listing);
    return !machine->refused;
}

size_t vector_x86_encode(struct x86_code *code, const struct vector_listing *listing)
{
    int first = code->labels.count, start = code->bytes.count;
    for (int k = 0; k < listing->items.count; k++)
        while (first + listing->items.items[k].label >= code->labels.count)
            x86_new_label(code);
    for (int k = 0; k < listing->items.count; k++) {
        struct x86_instruction instruction = listing->items.items[k];
        instruction.label += first;
        if (instruction.form == X86_NO_FORM)
            x86_place_label(code, instruction.label);
        else
            x86_encode(code, &instruction);
    }
    size_t size = (size_t)(code->bytes.count - start);
    for (int k = 0; k < listing->data.count; k++) {
        const struct vector_datum *datum = &listing->data.items[k];
        x86_place_data(code, first + datum->label, &datum->bits, (size_t)datum->size);
    }
    return size;
}
