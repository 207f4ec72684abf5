/*
 * vector_x86_entry.c: general registers, and what stands before the body of a function and behind it.
 *
 * Consumes a body and what it took: the streams, the frame, registers that a function must preserve; appends
 * the entry, which comes first, and the way out.
 */
#include "vector_x86_loop.h"
#include "vector_x86_operation.h"

#include <string.h>

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
    for (int k = 0, next = machine->loop->streams.count; k < machine->loop->streams.count; k++)
        if (machine->loop->streams.items[k].ahead && next < count) {
            machine->general |= 1u << free_ones[next];
            machine->fetched[k] = free_ones[next++];
        }
    machine->general |= 1u << machine->count | 1u << machine->index;
}

static void emit_move(struct machine *machine, int to, int from)
{
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV, .reg = to, .rm = from});
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
    machine_place_rare(machine);
    bool has_frame = machine->frame > 0 || machine->calls;
    int count = machine->body.count;
    enter(machine, has_frame);
    move_to_front(machine, count);
    leave(machine, has_frame);
    *listing = (struct vector_listing){.items = machine->body,
                                       .data = machine->data,
                                       .lanes = machine->lanes,
                                       .slim_lanes = machine->slim_lanes};
}
