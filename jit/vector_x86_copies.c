/*
 * vector_x86_copies.c: copies of registers that nobody needs.
 *
 * Consumes the instructions of a band whose slots have registers (vector_x86_slots.c): what was handed on
 * through memory is handed on by copies. Produces the same with instructions that take the original, as far
 * as both hold the same, or that give their result to where it is copied; copies that nothing reads then go.
 * Rows of a few elements are held up by the number of instructions, copies among them.
 */
#include "vector_x86_loop.h"

#include <string.h>

enum { REGISTERS = MACHINE_GENERALS + MACHINE_VECTORS, NOWHERE = -1 };

/* ---- what an instruction has to do with registers ---------------------------------------------------- */

/* The first register of a class, as a bit; masks are left alone. */
static const machine_registers first_of_class[] = {
    [X86_N] = 0,
    [X86_V] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_H] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_Q] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_E] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_X] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_Y] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_S] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_T] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_B] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_P] = (machine_registers)1 << MACHINE_GENERALS,
    [X86_K] = 0,
    [X86_D] = 1,
    [X86_G] = 1,
};

static inline machine_registers field(int class, int reg)
{
    return first_of_class[class] << (reg & 31);
}

static machine_registers of_memory(const struct x86_instruction *instruction)
{
    machine_registers result = 0;
    if (!instruction->has_memory)
        return 0;
    if (instruction->memory.base >= X86_RAX && instruction->memory.base <= X86_R15)
        result |= field(X86_G, instruction->memory.base);
    if (instruction->memory.index >= 0 && !x86_is_general(instruction->form) &&
        x86_rows[instruction->form].shape >= X86_GATHER)
        result |= field(X86_V, instruction->memory.index);
    else if (instruction->memory.index >= 0)
        result |= field(X86_G, instruction->memory.index);
    return result;
}

/* Where a register of the instruction stands. */
struct operands {
    machine_registers first, others, implied;
    bool is_written, is_read; /* the first one */
};

static bool is_load(enum x86_form form)
{
    switch (form) {
    case X86_MOV:
    case X86_MOV_DWORD:
    case X86_MOVZX_BYTE:
    case X86_MOVZX_WORD:
    case X86_MOVSX_BYTE:
    case X86_MOVSX_WORD:
    case X86_MOVSXD:
    case X86_LEA:
    case X86_MOV_IMMEDIATE:
        return true;
    default:
        return false;
    }
}

static struct operands general_operands(const struct x86_instruction *instruction)
{
    enum x86_form form = instruction->form;
    bool compares = form == X86_CMP || form == X86_CMP_DWORD || form == X86_CMP_BY ||
                    form == X86_CMP_DWORD_BY || form == X86_TEST_BY || form == X86_TEST_DWORD_BY;
    struct operands operands = {.is_written = !compares && form != X86_PUSH, .is_read = !is_load(form)};
    machine_registers reg = field(X86_G, instruction->reg),
                      rm = instruction->has_memory ? 0 : field(X86_G, instruction->rm);
    switch ((enum x86_general_shape)x86_general_rows[form - X86_GENERAL_FIRST].shape) {
    case X86_RM_R:
    case X86_RM_R32:
    case X86_RM_R16:
    case X86_RM_R8:
        operands.first = rm;
        operands.others = reg;
        break;
    case X86_RM_I:
    case X86_RM_I32:
    case X86_RM_I8:
    case X86_RM_ONLY:
    case X86_RM_CALL:
        operands.first = rm;
        break;
    case X86_R_I:
    case X86_R_IN_OPCODE:
        operands.first = reg;
        break;
    case X86_M_0F:
    case X86_ALONE:
    case X86_ALONE_VEX:
    case X86_ALONE_0F:
    case X86_JUMP:
        break;
    default:
        operands.first = reg;
        operands.others = rm;
    }
    if (form == X86_MUL || form == X86_DIV || form == X86_IDIV)
        operands.implied = field(X86_G, X86_RAX) | field(X86_G, X86_RDX);
    return operands;
}

static struct operands vector_operands(const struct x86_instruction *instruction)
{
    const struct x86_row *row = &x86_rows[instruction->form];
    struct operands operands = {.is_written = row->role != X86_R,
                                .is_read =
                                    row->role != X86_W || (instruction->mask && !instruction->zeroing)};
    machine_registers reg = field(row->reg, instruction->reg), vvvv = field(row->vvvv, instruction->vvvv),
                      rm = instruction->has_memory ? 0 : field(row->rm, instruction->rm);
    switch ((enum x86_shape)row->shape) {
    case X86_MR:
    case X86_MRI:
    case X86_MVR:
    case X86_SCATTER:
        operands.first = rm;
        operands.others = reg | vvvv;
        break;
    case X86_VMI:
        operands.first = vvvv;
        operands.others = rm;
        break;
    case X86_RVMR:
        operands.first = reg;
        operands.others = vvvv | rm | field(X86_V, instruction->fourth);
        break;
    case X86_GATHER_V: /* which leaves its mask empty */
        operands.first = reg;
        operands.implied = vvvv;
        break;
    default:
        operands.first = reg;
        operands.others = vvvv | rm;
    }
    return operands;
}

static struct operands operands_of(const struct x86_instruction *instruction)
{
    return x86_is_general(instruction->form) ? general_operands(instruction) : vector_operands(instruction);
}

static machine_registers written_of(const struct operands *operands)
{
    return (operands->is_written ? operands->first : 0) | operands->implied;
}

static machine_registers read_of(const struct operands *operands, const struct x86_instruction *instruction)
{
    return (operands->is_read || !operands->is_written ? operands->first : 0) | operands->others |
           operands->implied | of_memory(instruction);
}

/* What it leaves without what was there before. */
static machine_registers replaced_of(const struct operands *operands)
{
    return operands->is_written && !operands->is_read ? operands->first : 0;
}

/* All of what it may leave otherwise. */
machine_registers machine_written(const struct x86_instruction *instruction)
{
    struct operands operands = operands_of(instruction);
    return written_of(&operands);
}

machine_registers machine_read(const struct x86_instruction *instruction)
{
    struct operands operands = operands_of(instruction);
    return read_of(&operands, instruction);
}

static machine_registers replaced(const struct x86_instruction *instruction)
{
    struct operands operands = operands_of(instruction);
    return replaced_of(&operands);
}

static bool is_copy(const struct x86_instruction *instruction)
{
    return (instruction->form == X86_MOV || instruction->form == X86_VMOVAPS) && !instruction->has_memory &&
           !instruction->mask;
}

/* ---- the original in the place of the copy ------------------------------------------------------------- */

/* By register what it is a copy of, and how many bits of it; `concerned`: all copies and originals, and
 * perhaps what was one. */
struct copies {
    int of[REGISTERS], bits[REGISTERS];
    machine_registers concerned;
};

static void forget_all(struct copies *copies)
{
    for (int k = 0; k < REGISTERS; k++)
        copies->of[k] = NOWHERE;
    copies->concerned = 0;
}

static void forget(struct copies *copies, machine_registers gone)
{
    if (!(gone & copies->concerned))
        return;
    for (int k = 0; k < REGISTERS; k++)
        if (gone >> k & 1 || (copies->of[k] >= 0 && gone >> copies->of[k] & 1))
            copies->of[k] = NOWHERE;
}

static void take_general(const struct copies *copies, int *reg)
{
    if (*reg >= 0 && *reg < MACHINE_GENERALS && copies->of[*reg] >= 0)
        *reg = copies->of[*reg];
}

/* Instructions that have no EVEX form reach the first 16 alone. */
static void take_vector(const struct copies *copies, const struct x86_instruction *instruction, int class,
                        int *reg)
{
    const struct x86_row *row = &x86_rows[instruction->form];
    bool is_vector = class != X86_N && class != X86_K && class != X86_D && class != X86_G && class != X86_Y;
    int original = is_vector ? copies->of[MACHINE_GENERALS + *reg] : NOWHERE;
    bool reaches = original - MACHINE_GENERALS < 16 || row->prefix == X86_EVEX || row->prefix == X86_BOTH;
    if (original >= 0 && reaches && instruction->bits <= copies->bits[MACHINE_GENERALS + *reg])
        *reg = original - MACHINE_GENERALS;
}

static void take_originals(const struct copies *copies, struct x86_instruction *instruction)
{
    enum x86_form form = instruction->form;
    const struct x86_row *row = x86_is_general(form) ? NULL : &x86_rows[form];
    if (instruction->has_memory)
        take_general(copies, &instruction->memory.base);
    if (instruction->has_memory && (!row || row->shape < X86_GATHER))
        take_general(copies, &instruction->memory.index);
    if (form == X86_MOV || form == X86_ADD || form == X86_SUB || form == X86_CMP) {
        if (!instruction->has_memory)
            take_general(copies, &instruction->rm);
    } else if (form == X86_MOV_STORE && instruction->has_memory) {
        take_general(copies, &instruction->reg);
    } else if (row && (row->shape == X86_RM || row->shape == X86_RVM || row->shape == X86_RMI ||
                       row->shape == X86_RVMI)) {
        take_vector(copies, instruction, row->vvvv, &instruction->vvvv);
        if (!instruction->has_memory)
            take_vector(copies, instruction, row->rm, &instruction->rm);
    } else if (row && row->shape == X86_MR && instruction->has_memory) {
        take_vector(copies, instruction, row->reg, &instruction->reg);
    }
}

/* Registers of the copy and of what it is of. */
static void find_places(const struct x86_instruction *copy, int *to, int *from)
{
    int base = copy->form == X86_MOV ? 0 : MACHINE_GENERALS;
    *to = base + copy->reg;
    *from = base + copy->rm;
}

/* From each label that is jumped to on nothing is known. */
static void follow(struct machine *machine, const bool *is_reached)
{
    struct copies copies;
    forget_all(&copies);
    for (int k = 0; k < machine->body.count; k++) {
        struct x86_instruction *instruction = &machine->body.items[k];
        int to, from;
        if (instruction->form == X86_NO_FORM) {
            if (is_reached[instruction->label])
                forget_all(&copies);
            continue;
        }
        take_originals(&copies, instruction);
        forget(&copies, machine_written(instruction));
        if (!is_copy(instruction))
            continue;
        find_places(instruction, &to, &from);
        if (to != from) {
            copies.of[to] = from;
            copies.bits[to] = instruction->bits;
            copies.concerned |= (machine_registers)1 << to | (machine_registers)1 << from;
        }
    }
}

/* ---- what is read behind an instruction --------------------------------------------------------------- */

bool machine_is_jump(const struct x86_instruction *instruction)
{
    return instruction->form != X86_NO_FORM && x86_is_general(instruction->form) &&
           x86_general_rows[instruction->form - X86_GENERAL_FIRST].shape == X86_JUMP;
}

static struct machine_effect effect_of(const struct x86_instruction *instruction)
{
    if (instruction->form == X86_NO_FORM)
        return (struct machine_effect){0, ~(machine_registers)0, 0, instruction->label, true};
    struct operands operands = operands_of(instruction);
    if (machine_is_jump(instruction))
        return (struct machine_effect){0, instruction->form == X86_JMP ? 0 : ~(machine_registers)0,
                                       written_of(&operands), instruction->label, false};
    return (struct machine_effect){read_of(&operands, instruction), ~replaced_of(&operands),
                                   written_of(&operands), -1, false};
}

machine_registers machine_live_before(const struct machine_effect *effect, machine_registers live,
                                      const machine_registers *at)
{
    return (live & effect->kept) | effect->read | (effect->label >= 0 ? at[effect->label] : 0);
}

/* By label what is read from there on: as often as something changes. */
static void find_live(struct machine *machine, struct machine_liveness *liveness)
{
    machine_registers *at = arena_array(machine->arena, machine_registers, machine->labels + 1);
    struct machine_effect *effects =
        arena_array(machine->arena, struct machine_effect, machine->body.count + 1);
    for (int k = 0; k < machine->body.count; k++)
        effects[k] = effect_of(&machine->body.items[k]);
    for (bool again = true; again;) {
        machine_registers live = liveness->end;
        again = false;
        for (int k = machine->body.count - 1; k >= 0; k--) {
            live = machine_live_before(&effects[k], live, at);
            again |= effects[k].is_place && live != at[effects[k].label];
            if (effects[k].is_place)
                at[effects[k].label] = live;
        }
    }
    liveness->at = at;
    liveness->effects = effects;
}

/* Makes the instruction just before the copy, whose result nobody else reads, give it to the copy's register.
 */
static bool give(struct x86_instruction *maker, const struct x86_instruction *copy, machine_registers live)
{
    int to, from;
    find_places(copy, &to, &from);
    if (maker->form == X86_NO_FORM || machine_is_jump(maker) || live >> from & 1 ||
        replaced(maker) != (machine_registers)1 << from)
        return false;
    if (copy->form == X86_MOV) {
        if (!x86_is_general(maker->form) || !is_load(maker->form))
            return false;
        maker->reg = copy->reg;
        return true;
    }
    if (x86_is_general(maker->form))
        return false;
    const struct x86_row *row = &x86_rows[maker->form];
    bool reaches = copy->reg < 16 || row->prefix == X86_EVEX || row->prefix == X86_BOTH,
         is_first =
             row->shape == X86_RM || row->shape == X86_RVM || row->shape == X86_RMI || row->shape == X86_RVMI;
    if (!reaches || !is_first || maker->bits > copy->bits)
        return false;
    maker->reg = copy->reg;
    return true;
}

static void drop(struct machine *machine, struct machine_liveness *liveness)
{
    machine_registers live = liveness->end;
    int count = machine->body.count, kept = count;
    struct x86_instruction *items = machine->body.items;
    struct machine_effect *effects = liveness->effects;
    for (int k = count - 1; k >= 0; k--) {
        struct x86_instruction *instruction = &items[k];
        bool copies = instruction->form != X86_NO_FORM && is_copy(instruction);
        if (copies && (!(live & ~effects[k].kept) || instruction->reg == instruction->rm))
            continue;
        if (copies && k && give(&items[k - 1], instruction, live)) {
            effects[k - 1] = effect_of(&items[k - 1]);
            continue;
        }
        live = machine_live_before(&effects[k], live, liveness->at);
        items[--kept] = *instruction;
        effects[kept] = effects[k];
    }
    machine->body.count -= kept;
    liveness->effects += kept;
    memmove(items, items + kept, sizeof *items * (size_t)machine->body.count);
}

void machine_drop_copies(struct machine *machine, struct machine_liveness *liveness)
{
    bool *is_reached = arena_array(machine->arena, bool, machine->labels + 1);
    for (int k = 0; k < machine->body.count; k++)
        if (machine_is_jump(&machine->body.items[k]))
            is_reached[machine->body.items[k].label] = true;
    follow(machine, is_reached);
    liveness->end = field(X86_G, machine->slots) | field(X86_G, X86_RSP) | field(X86_G, X86_RBP);
    find_live(machine, liveness);
    drop(machine, liveness);
}
