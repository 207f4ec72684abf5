/*
 * vector_x86_rare.c: calls for the few lanes that code in line is not made for.
 *
 * Consumes a result in line and the arguments; appends a test, and a jump to code behind all other that saves
 * every register which a function may change, calls one, puts its results into the lanes of the mask and
 * comes back: of one argument the library's of vectors, of two one that goes lane by lane through what was
 * saved (vector_math.c). Where no lane asks for it, that costs a comparison.
 */
#include "vector_x86.h"

/* What a function may change, besides vectors and masks. */
static const int changed[] = {X86_RAX, X86_RCX, X86_RDX, X86_RSI, X86_RDI, X86_R8, X86_R9, X86_R10, X86_R11};
enum { CHANGED = sizeof changed / sizeof *changed };

int machine_rare(struct machine *machine, enum operation operation, enum vector_type type, double limit,
                 struct machine_rarity rarity, int result)
{
    enum { ABOVE = 30 /* and ordered */ };
    bool wide = type == VECTOR_F64, is_avx512 = machine_is_avx512(machine);
    int bits = machine_bits(machine, type), bound = machine_float(machine, type, limit);
    enum x86_form form = is_avx512 ? wide ? X86_VCMPPD_MASK : X86_VCMPPS_MASK
                         : wide    ? X86_VCMPPD
                                   : X86_VCMPPS;
    const void *function = rarity.y < 0 ? vector_function(operation, wide, bits == 512 ? 512 : 256)
                                        : vector_function_of_lanes(operation, wide);
    struct machine_item item = {.kind = MACHINE_RARE,
                                .instruction = {.line = machine->line},
                                .function = function,
                                .result = result,
                                .wide = wide};
    if (!function)
        return machine_refuse(machine);
    item.arguments[item.count++] = rarity.x;
    item.arguments[item.count++] = machine_rvmi(machine, form, bits, rarity.size, bound, ABOVE);
    if (rarity.y >= 0)
        item.arguments[item.count++] = rarity.y;
    item.arguments[item.count++] = result;
    list_push(machine->arena, machine->section, item);
    return result;
}

void machine_rare_jump(struct machine *machine, const struct machine_item *item, const int *registers)
{
    struct machine_rare rare = {.label = machine->labels,
                                .back = machine->labels + 1,
                                .line = item->instruction.line,
                                .function = item->function,
                                .argument = registers[0],
                                .mask = registers[1],
                                .second = item->count == 4 ? registers[2] : -1,
                                .result = registers[item->count - 1],
                                .wide = item->wide};
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

static void address(struct machine *machine, int reg, int place)
{
    in_frame(machine, X86_LEA, reg, place);
}

/* function(x, y, result, mask), the first three being vectors in the frame. */
static void call_for_lanes(struct machine *machine, const struct saved *saved,
                           const struct machine_rare *rare)
{
    enum { MASK = 1 };
    address(machine, X86_RDI, saved->vectors + 64 * rare->argument);
    address(machine, X86_RSI, saved->vectors + 64 * rare->second);
    address(machine, X86_RDX, saved->vectors + 64 * rare->result);
    if (machine_is_avx512(machine)) {
        in_frame(machine, X86_MOV, X86_RCX, saved->masks + 8 * rare->mask);
    } else {
        in_frame(machine, X86_VMOVUPS_LOAD, MASK, saved->vectors + 64 * rare->mask);
        machine_emit(machine, (struct x86_instruction){.form = rare->wide ? X86_VMOVMSKPD : X86_VMOVMSKPS,
                                                       .bits = 256,
                                                       .reg = X86_RCX,
                                                       .rm = MASK});
    }
    machine_emit(machine, (struct x86_instruction){.form = X86_VZEROUPPER});
}

static void place_one(struct machine *machine, const struct saved *saved, const struct machine_rare *rare)
{
    int first = machine->body.count;
    machine_emit_label(machine, rare->label);
    save(machine, saved);
    if (rare->second >= 0)
        call_for_lanes(machine, saved, rare);
    else
        in_frame(machine, X86_VMOVUPS_LOAD, 0, saved->vectors + 64 * rare->argument);
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                                   .reg = X86_RAX,
                                                   .immediate = (int64_t)(intptr_t)rare->function});
    machine_emit(machine, (struct x86_instruction){.form = X86_CALL, .rm = X86_RAX});
    if (rare->second < 0)
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
