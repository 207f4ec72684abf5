/*
 * vector_x86_pack.c: lanes that a condition chooses, put one behind the other (vector_pack.c).
 *
 * Consumes the condition as a mask, and what is to be stored; appends instructions. The counter stays in its
 * slot. The lanes are moved to the front of a vector, of which as many are stored as there are: vpcompress
 * to memory would do both, but is microcode on Zen 4.
 *
 * Assumes AVX-512.
 */
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

/* X86_RAX may be needed for a mask that comes from the frame. */
enum { LANES = X86_R10 };

static void add_general(struct machine *machine, enum x86_form form, int reg, int rm)
{
    machine_add(machine, (struct x86_instruction){.form = form, .reg = reg, .rm = rm});
}

static void add_slot(struct machine *machine, enum x86_form form, int reg, int slot)
{
    machine_add(machine,
                (struct x86_instruction){
                    .form = form, .reg = reg, .has_memory = true, .memory = machine_slot(machine, slot)});
}

/* How many lanes the mask has; what it has behind them means nothing. */
static void count_lanes(struct machine *machine, int mask)
{
    machine_add(machine,
                (struct x86_instruction){.form = X86_KMOVW_FROM, .bits = 128, .reg = LANES, .rm = mask});
    if (machine->lanes < 16)
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_AND_BY, .rm = LANES, .immediate = (1 << machine->lanes) - 1});
    add_general(machine, X86_POPCNT, LANES, LANES);
}

static int counter_slot(const struct machine *machine, const struct vector_value *value)
{
    return machine->loop->counters.items[value->slot].slot;
}

void machine_test_room(struct machine *machine, const struct vector_value *value, int mask)
{
    count_lanes(machine, mask);
    add_slot(machine, X86_ADD, LANES, counter_slot(machine, value));
    if (value->offset)
        machine_add(machine,
                    (struct x86_instruction){.form = X86_ADD_BY, .rm = LANES, .immediate = value->offset});
    add_slot(machine, X86_CMP, LANES, (int)value->bits);
}

/* As many lanes, from the first one on. */
static int first_lanes(struct machine *machine)
{
    int result = machine_new_mask(machine);
    machine_add(machine,
                (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = -1});
    machine_add(machine, (struct x86_instruction){
                             .form = X86_BZHI, .bits = 128, .reg = LANES, .rm = X86_RAX, .vvvv = LANES});
    machine_add(machine,
                (struct x86_instruction){.form = X86_KMOVW_TO, .bits = 128, .reg = result, .rm = LANES});
    return result;
}

void machine_pack(struct machine *machine, const struct vector_value *value, int operand, int mask)
{
    bool wide = vector_type_is_wide(value->type);
    int bits = machine_bits(machine, value->type), size = dtype_table[value->dtype].size, pointer;
    count_lanes(machine, mask);
    if (value->stream < 0) {
        add_slot(machine, X86_ADD_STORE, LANES, counter_slot(machine, value));
        return;
    }
    int first = first_lanes(machine), packed = machine_new_vector(machine, bits);
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VPCOMPRESSQ : X86_VPCOMPRESSD,
                                                  .bits = bits,
                                                  .reg = operand,
                                                  .rm = packed,
                                                  .mask = mask,
                                                  .zeroing = true});
    pointer = machine->pointers[value->stream];
    if (!machine_is_avx512(machine) || pointer < 0) {
        machine->refused = true;
        return;
    }
    add_slot(machine, X86_MOV, LANES, counter_slot(machine, value));
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VMOVUPD_STORE : X86_VMOVUPS_STORE,
                                                  .bits = bits,
                                                  .reg = packed,
                                                  .mask = first,
                                                  .has_memory = true,
                                                  .memory = {pointer, LANES, size, value->offset * size}});
}
