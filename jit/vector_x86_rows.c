/*
 * vector_x86_rows.c: the loop over rows around the code of a vector loop (vector_rows.c).
 *
 * Slots of its own hold where each stream's row begins; from there the addresses are taken anew for each row.
 */
#include "vector_x86.h"

static void move(struct machine *machine, enum x86_form form, int reg, int slot)
{
    machine_emit(machine,
                 (struct x86_instruction){
                     .form = form, .reg = reg, .has_memory = true, .memory = machine_slot(machine, slot)});
}

static void copy_slot(struct machine *machine, int to, int from)
{
    move(machine, X86_MOV, X86_RAX, from);
    move(machine, X86_MOV_STORE, X86_RAX, to);
}

/* The slot with the loop variable, which the columns count up; -1: they have no use of it. */
static int first_slot(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->arguments.count; k++)
        if (loop->arguments.items[k].kind == VECTOR_ARGUMENT_FIRST)
            return k;
    return -1;
}

int machine_begin_rows(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    int head = machine->labels++, first = first_slot(loop);
    for (int k = 0; k < loop->streams.count; k++)
        copy_slot(machine, loop->streams.items[k].state, loop->streams.items[k].slot);
    if (first >= 0)
        copy_slot(machine, loop->nest->index, first);
    machine_emit_label(machine, head);
    for (int k = 0; k < loop->streams.count; k++) {
        if (machine->pointers[k] >= 0)
            move(machine, X86_MOV, machine->pointers[k], loop->streams.items[k].state);
        else
            copy_slot(machine, loop->streams.items[k].slot, loop->streams.items[k].state);
    }
    if (first >= 0)
        copy_slot(machine, first, loop->nest->index);
    return head;
}

void machine_end_rows(struct machine *machine, int head)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stride *stride = &loop->streams.items[k].strides[VECTOR_ROWS];
        if (stride->kind == VECTOR_STAYS)
            continue;
        move(machine, X86_MOV, X86_RAX, loop->streams.items[k].state);
        if (stride->kind == VECTOR_STRIDE)
            machine_emit_by(machine, X86_ADD_BY, X86_RAX, stride->bytes);
        else
            move(machine, X86_ADD, X86_RAX, stride->slot);
        move(machine, X86_MOV_STORE, X86_RAX, loop->streams.items[k].state);
    }
    move(machine, X86_MOV, X86_RAX, loop->nest->state);
    machine_emit_by(machine, X86_SUB_BY, X86_RAX, 1);
    move(machine, X86_MOV_STORE, X86_RAX, loop->nest->state); /* leaves the flags */
    machine_emit_jump(machine, X86_JNE, head);
}
