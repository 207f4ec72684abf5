/*
 * vector_x86_rows.c: the loop over rows around the code of a vector loop (vector_rows.c).
 *
 * Registers that nothing moves within a row go on from where they are. Of other streams, slots of their own
 * hold where the row begins; from there the addresses are taken anew for each row. (What is loaded from slots
 * while stores of the rows before are under way waits for those that lie at the same place of another page.)
 * Rows that are picked add their index to that, which is computed in rax, rcx, rdx and r10: what these hold
 * else is set behind. Rows that turn out to lie one behind the other are one.
 */
#include "vector_x86_loop.h"

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

static void registers(struct machine *machine, enum x86_form form, int reg, int rm)
{
    machine_emit(machine, (struct x86_instruction){.form = form, .reg = reg, .rm = rm});
}

/* rax modulo the divisor, with the sign of that, into rax. A division takes longer than a short row, and what
 * is not less than minus the divisor and below it, as indices mostly are, needs none. */
static void emit_modulo(struct machine *machine, int slot)
{
    int slow = machine->labels++, done = machine->labels++;
    move(machine, X86_MOV, X86_R10, slot);
    machine_emit_by(machine, X86_CMP_BY, X86_R10, 0);
    machine_emit_jump(machine, X86_JE, machine->end);
    machine_emit_jump(machine, X86_JL, slow);
    registers(machine, X86_MOV, X86_RCX, X86_RAX);
    machine_emit_by(machine, X86_SAR_BY, X86_RCX, 63);
    registers(machine, X86_AND, X86_RCX, X86_R10);
    registers(machine, X86_ADD, X86_RCX, X86_RAX);
    registers(machine, X86_CMP, X86_RCX, X86_R10);
    machine_emit_jump(machine, X86_JAE, slow);
    registers(machine, X86_MOV, X86_RAX, X86_RCX);
    machine_emit_jump(machine, X86_JMP, done);
    machine_emit_label(machine, slow);
    registers(machine, X86_MOV, X86_RDX, X86_RAX);
    machine_emit_by(machine, X86_SAR_BY, X86_RDX, 63);
    machine_emit(machine, (struct x86_instruction){.form = X86_IDIV, .rm = X86_R10});
    /* a remainder of the other sign gets the divisor added: times the sign of that it is negative */
    registers(machine, X86_MOV, X86_RCX, X86_R10);
    machine_emit_by(machine, X86_SAR_BY, X86_RCX, 63);
    registers(machine, X86_MOV, X86_RAX, X86_RDX);
    registers(machine, X86_XOR, X86_RAX, X86_RCX);
    registers(machine, X86_SUB, X86_RAX, X86_RCX);
    machine_emit_by(machine, X86_SAR_BY, X86_RAX, 63);
    registers(machine, X86_AND, X86_RAX, X86_R10);
    registers(machine, X86_ADD, X86_RAX, X86_RDX);
    machine_emit_label(machine, done);
}

/* How far it is to the row that is picked, in bytes, into rax. */
static void emit_pick(struct machine *machine, const struct vector_pick *pick)
{
    const struct vector_stream *from = &machine->loop->streams.items[pick->from];
    move(machine, X86_MOV, X86_RAX, from->state);
    machine_emit(machine, (struct x86_instruction){.form = from->dtype == AKG_INT64 ? X86_MOV : X86_MOV_DWORD,
                                                   .reg = X86_RAX,
                                                   .has_memory = true,
                                                   .memory = {X86_RAX, X86_NONE, 1, 0}});
    if (from->dtype != AKG_INT64) {
        machine_emit_by(machine, X86_SHL_BY, X86_RAX, 32);
        machine_emit_by(machine, X86_SAR_BY, X86_RAX, 32);
    }
    if (pick->divisor >= 0)
        emit_modulo(machine, pick->divisor);
    if (pick->extent >= 0) {
        move(machine, X86_CMP, X86_RAX, pick->extent);
        machine_emit_jump(machine, X86_JAE, machine->end);
    }
    move(machine, X86_IMUL, X86_RAX, pick->pitch);
}

/* Several axes of a stream may be picked. */
static void pick_rows(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->picks.count; k++) {
        const struct vector_pick *pick = &loop->picks.items[k];
        emit_pick(machine, pick);
        if (machine->pointers[pick->stream] >= 0)
            registers(machine, X86_ADD, machine->pointers[pick->stream], X86_RAX);
        else
            move(machine, X86_ADD_STORE, X86_RAX, loop->streams.items[pick->stream].slot);
    }
}

/* Whether the stream's register holds the same all through a row, and nothing else asks where that begins. */
static bool is_held(const struct machine *machine, int stream)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->picks.count; k++)
        if (loop->picks.items[k].stream == stream || loop->picks.items[k].from == stream)
            return false;
    return machine->pointers[stream] >= 0 && loop->streams.items[stream].step_kind == VECTOR_UNIT;
}

void machine_flatten_rows(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    int apart = machine->labels++;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        const struct vector_stride *stride = &stream->strides[VECTOR_ROWS];
        move(machine, X86_MOV, X86_RAX, loop->count);
        if (stream->step_kind == VECTOR_CONSTANT_STEP)
            machine_emit(machine, (struct x86_instruction){
                                      .form = X86_MOV_IMMEDIATE, .reg = X86_R10, .immediate = stream->step});
        if (stream->step_kind == VECTOR_CONSTANT_STEP)
            registers(machine, X86_IMUL, X86_RAX, X86_R10);
        machine_emit_by(machine, X86_SHL_BY, X86_RAX,
                        __builtin_ctz((unsigned)dtype_table[stream->dtype].size));
        if (stride->kind == VECTOR_STRIDE)
            machine_emit_by(machine, X86_CMP_BY, X86_RAX, stride->bytes);
        else
            move(machine, X86_CMP, X86_RAX, stride->slot);
        machine_emit_jump(machine, X86_JNE, apart);
    }
    move(machine, X86_MOV, X86_RAX, loop->count);
    move(machine, X86_IMUL, X86_RAX, loop->nest->state);
    move(machine, X86_MOV_STORE, X86_RAX, loop->count);
    machine_emit(machine,
                 (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = 1});
    move(machine, X86_MOV_STORE, X86_RAX, loop->nest->state);
    machine_emit_label(machine, apart);
}

void machine_begin_rows(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    int first = first_slot(loop);
    machine->head = machine->labels++;
    machine->end = machine->labels++;
    for (int k = 0; k < loop->streams.count; k++)
        if (!is_held(machine, k))
            copy_slot(machine, loop->streams.items[k].state, loop->streams.items[k].slot);
    if (first >= 0)
        copy_slot(machine, loop->nest->index, first);
    machine_emit_label(machine, machine->head);
    for (int k = 0; k < loop->streams.count; k++) {
        if (is_held(machine, k))
            continue;
        if (machine->pointers[k] >= 0)
            move(machine, X86_MOV, machine->pointers[k], loop->streams.items[k].state);
        else
            copy_slot(machine, loop->streams.items[k].slot, loop->streams.items[k].state);
    }
    if (first >= 0)
        copy_slot(machine, first, loop->nest->index);
    pick_rows(machine);
}

static void go_on(struct machine *machine, int stream)
{
    const struct vector_stride *stride = &machine->loop->streams.items[stream].strides[VECTOR_ROWS];
    int state = machine->loop->streams.items[stream].state;
    bool held = is_held(machine, stream);
    int reg = held ? machine->pointers[stream] : X86_RAX;
    if (stride->kind == VECTOR_STAYS)
        return;
    if (!held)
        move(machine, X86_MOV, reg, state);
    if (stride->kind == VECTOR_STRIDE)
        machine_emit_by(machine, X86_ADD_BY, reg, stride->bytes);
    else
        move(machine, X86_ADD, reg, stride->slot);
    if (!held)
        move(machine, X86_MOV_STORE, reg, state);
}

void machine_end_rows(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->streams.count; k++)
        go_on(machine, k);
    move(machine, X86_MOV, X86_RAX, loop->nest->state);
    machine_emit_by(machine, X86_SUB_BY, X86_RAX, 1);
    move(machine, X86_MOV_STORE, X86_RAX, loop->nest->state); /* leaves the flags */
    machine_emit_jump(machine, X86_JNE, machine->head);
    machine_emit_label(machine, machine->end);
}
