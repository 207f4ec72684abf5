/*
 * vector_x86_rare.c: calls for the few lanes that code in line is not made for.
 *
 * Consumes a result in line and the argument; appends a test, and a jump to code behind all other that saves
 * every register which the library may change, calls it, puts its results into the lanes of the mask and
 * comes back. Where no lane asks for it, that costs a comparison.
 */
#include "vector_x86.h"

/* What a function may change, besides vectors and masks. */
static const int changed[] = {X86_RAX, X86_RCX, X86_RDX, X86_RSI, X86_RDI, X86_R8, X86_R9, X86_R10, X86_R11};
enum { CHANGED = sizeof changed / sizeof *changed };

int machine_rare(struct machine *machine, enum operation operation, enum vector_type type, double limit,
                 int x, int size, int result)
{
    enum { ABOVE = 30 /* and ordered */ };
    bool wide = type == VECTOR_F64, is_avx512 = machine_is_avx512(machine);
    int bits = machine_bits(machine, type), bound = machine_float(machine, type, limit);
    enum x86_form form = is_avx512 ? wide ? X86_VCMPPD_MASK : X86_VCMPPS_MASK
                         : wide    ? X86_VCMPPD
                                   : X86_VCMPPS;
    struct machine_item item = {.kind = MACHINE_RARE,
                                .instruction = {.line = machine->line},
                                .function = vector_function(operation, wide, bits == 512 ? 512 : 256),
                                .result = result,
                                .count = 3,
                                .wide = wide};
    if (!item.function)
        return machine_refuse(machine);
    item.arguments[0] = x;
    item.arguments[1] = machine_rvmi(machine, form, bits, size, bound, ABOVE);
    item.arguments[2] = result;
    list_push(machine->arena, machine->section, item);
    return result;
}

void machine_rare_jump(struct machine *machine, const struct machine_item *item, const int *registers)
{
    struct machine_rare rare = {machine->labels, machine->labels + 1, item->instruction.line, item->function,
                                registers[0],    registers[1],        registers[2],           item->wide};
    bool is_avx512 = machine_is_avx512(machine);
    machine->labels += 2;
    machine_emit(machine, (struct x86_instruction){.form = is_avx512 ? X86_KORTESTW : X86_VTESTPS,
                                                   .bits = is_avx512 ? 128 : 256,
                                                   .reg = rare.mask,
                                                   .rm = rare.mask,
                                                   .line = rare.line});
    machine_emit(machine, (struct x86_instruction){.form = X86_JNE, .label = rare.label, .line = rare.line});
    machine_emit_label(machine, rare.back);
    list_push(machine->arena, &machine->rare, rare);
}

/* ---- out of line ------------------------------------------------------------------------- */

static void in_frame(struct machine *machine, enum x86_form form, int reg, int place)
{
    machine_emit(machine, (struct x86_instruction){.form = form,
                                                   .bits = machine_vector_bits(machine),
                                                   .reg = reg,
                                                   .has_memory = true,
                                                   .memory = {X86_RSP, X86_NONE, 1, place}});
}

/* Where in the frame what kind of registers is. */
struct saved {
    int vectors, masks, general, vector_count;
};

static void save(struct machine *machine, const struct saved *saved)
{
    for (int k = 0; k < CHANGED; k++)
        in_frame(machine, X86_MOV_STORE, changed[k], saved->general + 8 * k);
    for (int k = 0; k < saved->vector_count; k++)
        in_frame(machine, X86_VMOVUPS_STORE, k, saved->vectors + 64 * k);
    for (int k = 1; k < MACHINE_MASKS && machine_is_avx512(machine); k++) {
        machine_emit(machine, (struct x86_instruction){.form = X86_KMOVW_FROM, .reg = X86_RAX, .rm = k});
        in_frame(machine, X86_MOV_STORE, X86_RAX, saved->masks + 8 * k);
    }
}

static void restore(struct machine *machine, const struct saved *saved)
{
    for (int k = 1; k < MACHINE_MASKS && machine_is_avx512(machine); k++) {
        in_frame(machine, X86_MOV, X86_RAX, saved->masks + 8 * k);
        machine_emit(machine, (struct x86_instruction){.form = X86_KMOVW_TO, .reg = k, .rm = X86_RAX});
    }
    for (int k = 0; k < saved->vector_count; k++)
        in_frame(machine, X86_VMOVUPS_LOAD, k, saved->vectors + 64 * k);
    for (int k = 0; k < CHANGED; k++)
        in_frame(machine, X86_MOV, changed[k], saved->general + 8 * k);
}

/* The library's result is in the first register. */
static void merge(struct machine *machine, const struct saved *saved, const struct machine_rare *rare)
{
    enum { FUNCTIONS, RESULT, MASK };
    bool is_avx512 = machine_is_avx512(machine);
    struct x86_instruction blend = {.bits = machine_vector_bits(machine), .reg = RESULT, .rm = FUNCTIONS};
    in_frame(machine, X86_VMOVUPS_LOAD, RESULT, saved->vectors + 64 * rare->result);
    if (is_avx512) {
        in_frame(machine, X86_MOV, X86_RAX, saved->masks + 8 * rare->mask);
        machine_emit(machine, (struct x86_instruction){.form = X86_KMOVW_TO, .reg = MASK, .rm = X86_RAX});
        blend.form = rare->wide ? X86_VMOVAPD : X86_VMOVAPS;
        blend.mask = MASK;
    } else {
        in_frame(machine, X86_VMOVUPS_LOAD, MASK, saved->vectors + 64 * rare->mask);
        blend.form = X86_VBLENDVPS;
        blend.vvvv = RESULT;
        blend.fourth = MASK;
    }
    machine_emit(machine, blend);
    in_frame(machine, X86_VMOVUPS_STORE, RESULT, saved->vectors + 64 * rare->result);
}

static void place_one(struct machine *machine, const struct saved *saved, const struct machine_rare *rare)
{
    int first = machine->body.count;
    machine_emit_label(machine, rare->label);
    save(machine, saved);
    in_frame(machine, X86_VMOVUPS_LOAD, 0, saved->vectors + 64 * rare->argument);
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                                   .reg = X86_RAX,
                                                   .immediate = (int64_t)(intptr_t)rare->function});
    machine_emit(machine, (struct x86_instruction){.form = X86_CALL, .rm = X86_RAX});
    merge(machine, saved, rare);
    restore(machine, saved);
    machine_emit_jump(machine, X86_JMP, rare->back);
    for (int k = first; k < machine->body.count; k++)
        machine->body.items[k].line = rare->line;
}

void machine_place_rare(struct machine *machine)
{
    int end = machine->labels++;
    struct saved saved = {.vector_count = machine_is_avx512(machine) ? MACHINE_VECTORS : 16};
    if (!machine->rare.count)
        return;
    saved.vectors = machine_frame(machine, 64 * saved.vector_count);
    saved.masks = machine_frame(machine, 8 * MACHINE_MASKS);
    saved.general = machine_frame(machine, 8 * CHANGED);
    machine_emit_jump(machine, X86_JMP, end);
    for (int k = 0; k < machine->rare.count; k++)
        place_one(machine, &saved, &machine->rare.items[k]);
    machine_emit_label(machine, end);
}
