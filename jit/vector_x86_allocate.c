/*
 * vector_x86_allocate.c: registers for a section.
 *
 * Consumes a straight line of instructions with virtual registers; appends it with the machine's. Goes along
 * the line once: an operand is brought into a register, a register whose value is not needed any more is
 * free, and where none is free the value that is needed last goes to its home in the frame. A copy of what is
 * not needed any more costs nothing. What is kept and has no register of its own lives in its home.
 */
#include "vector_x86_operation.h"

#include <stddef.h>

/* ---- operands ------------------------------------------------------------------------- */

enum { OPERANDS = 6 };

/* A field that holds a virtual register: the others' numbers are small, whatever they mean. */
struct operand {
    int number;
    int place; /* in bytes, in the instruction */
};

#define NOTE_OPERAND(field, is_one)                                                                          \
    operands[count] = (struct operand){instruction->field, offsetof(struct x86_instruction, field)};         \
    count += instruction->field >= MACHINE_VIRTUAL && (is_one)

static inline int operands_of(const struct x86_instruction *instruction, struct operand operands[OPERANDS])
{
    int count = 0;
    NOTE_OPERAND(reg, true);
    NOTE_OPERAND(vvvv, true);
    NOTE_OPERAND(rm, !instruction->has_memory);
    NOTE_OPERAND(fourth, true);
    NOTE_OPERAND(memory.index, true);
    NOTE_OPERAND(mask, true);
    return count;
}

/* Where the field is that the instruction writes, or -1. `is_read`: what is written is read before. */
static int target_of(const struct x86_instruction *instruction, bool *is_read)
{
    *is_read = false;
    if (x86_is_general(instruction->form))
        return -1;
    const struct x86_row *row = &x86_rows[instruction->form];
    bool merges = instruction->mask && !instruction->zeroing && row->reg != X86_K &&
                  instruction->form != X86_VBLENDMPS && instruction->form != X86_VBLENDMPD &&
                  instruction->form != X86_VPBLENDMB && instruction->form != X86_VPBLENDMW;
    *is_read = row->role == X86_RW || merges;
    if (row->role == X86_R)
        return -1;
    if (row->shape == X86_VMI)
        return instruction->vvvv >= MACHINE_VIRTUAL ? (int)offsetof(struct x86_instruction, vvvv) : -1;
    if (row->shape != X86_MR && row->shape != X86_MRI)
        return instruction->reg >= MACHINE_VIRTUAL ? (int)offsetof(struct x86_instruction, reg) : -1;
    bool is_register = instruction->rm >= MACHINE_VIRTUAL && !instruction->has_memory;
    return is_register ? (int)offsetof(struct x86_instruction, rm) : -1;
}

static int *field_at(struct x86_instruction *instruction, int place)
{
    return (int *)(void *)((char *)instruction + place);
}

/* The register that it writes, or -1. */
static int written_by(const struct x86_instruction *instruction, bool *is_read)
{
    int place = target_of(instruction, is_read);
    return place < 0 ? -1 : *(const int *)(const void *)((const char *)instruction + place);
}

static struct machine_register *register_of(struct machine *machine, int number)
{
    return &machine->registers.items[number - MACHINE_VIRTUAL];
}

/* ---- lives ------------------------------------------------------------------------------ */

static void note_use(struct machine_register *registers, int number, int position)
{
    if (number >= MACHINE_VIRTUAL)
        registers[number - MACHINE_VIRTUAL].last = position;
}

static void find_last_uses(struct machine *machine, const machine_section *section)
{
    struct machine_register *registers = machine->registers.items;
    for (int k = 0; k < section->count; k++) {
        const struct machine_item *item = &section->items[k];
        const struct x86_instruction *instruction = &item->instruction;
        if (item->kind == MACHINE_INSTRUCTION) {
            note_use(registers, instruction->reg, k);
            note_use(registers, instruction->vvvv, k);
            if (!instruction->has_memory)
                note_use(registers, instruction->rm, k);
            note_use(registers, instruction->fourth, k);
            note_use(registers, instruction->memory.index, k);
            note_use(registers, instruction->mask, k);
        } else {
            for (int argument = 0; argument < item->count; argument++)
                note_use(registers, item->arguments[argument], k);
            note_use(registers, item->result, k);
        }
    }
}

/* How many vectors of these are not used behind here; `at` 0: it was counted. */
static int ends_here(struct machine *machine, const int *numbers, int count, int position)
{
    int ended = 0;
    for (int k = 0; k < count; k++) {
        struct machine_register *entry = register_of(machine, numbers[k]);
        if (!entry->kept && !entry->is_mask && entry->last == position && entry->at == 0) {
            entry->at = -1;
            ended++;
        }
    }
    return ended;
}

enum { GATE = 2 /* registers that a test for rare lanes takes */ };

int machine_pressure(struct machine *machine, const machine_section *section)
{
    int live = 0, most = 0;
    find_last_uses(machine, section);
    for (int k = 0; k < section->count; k++) {
        if (section->items[k].kind == MACHINE_RARE) {
            most = live + GATE > most ? live + GATE : most;
            live -= ends_here(machine, section->items[k].arguments, section->items[k].count, k);
            continue;
        }
        if (section->items[k].kind != MACHINE_INSTRUCTION) {
            most = MACHINE_VECTORS; /* nothing lives through a call */
            break;
        }
        const struct x86_instruction *instruction = &section->items[k].instruction;
        bool is_read;
        struct operand operands[OPERANDS];
        int count = operands_of(instruction, operands), written = written_by(instruction, &is_read);
        struct machine_register *target = written >= 0 ? register_of(machine, written) : NULL;
        if (target && !target->kept && !target->is_mask && target->at < 0) {
            target->at = 0; /* seen */
            live++;
        }
        most = live > most ? live : most;
        for (int operand = 0; operand < count; operand++)
            live -= ends_here(machine, &operands[operand].number, 1, k);
    }
    for (int k = 0; k < machine->registers.count; k++)
        machine->registers.items[k].at = -1;
    return most;
}

/* ---- the frame ---------------------------------------------------------------------------- */

int machine_frame(struct machine *machine, int size)
{
    int place = machine->frame;
    machine->frame += (size + 63) / 64 * 64;
    return place;
}

static void append(struct machine *machine, struct x86_instruction instruction)
{
    list_push(machine->arena, &machine->body, instruction);
    struct x86_instruction *last = &machine->body.items[machine->body.count - 1];
    if (!last->line)
        last->line = machine->line;
}

static struct x86_memory home_of(struct machine *machine, struct machine_register *entry)
{
    if (entry->home < 0)
        entry->home = machine_frame(machine, entry->is_mask ? 8 : entry->bits / 8);
    return (struct x86_memory){X86_RSP, X86_NONE, 1, entry->home};
}

/* A mask goes through rax. */
static void store_home(struct machine *machine, struct machine_register *entry)
{
    struct x86_memory home = home_of(machine, entry);
    if (entry->is_mask) {
        append(machine, (struct x86_instruction){.form = X86_KMOVQ_FROM, .reg = X86_RAX, .rm = entry->at});
        append(machine, (struct x86_instruction){
                            .form = X86_MOV_STORE, .reg = X86_RAX, .has_memory = true, .memory = home});
    } else {
        append(machine, (struct x86_instruction){.form = X86_VMOVUPS_STORE,
                                                 .bits = entry->bits,
                                                 .reg = entry->at,
                                                 .has_memory = true,
                                                 .memory = home});
    }
    entry->clean = true;
}

static void load_home(struct machine *machine, struct machine_register *entry)
{
    struct x86_memory home = home_of(machine, entry);
    if (entry->is_mask) {
        append(machine,
               (struct x86_instruction){.form = X86_MOV, .reg = X86_RAX, .has_memory = true, .memory = home});
        append(machine, (struct x86_instruction){.form = X86_KMOVQ_TO, .reg = entry->at, .rm = X86_RAX});
    } else {
        append(machine, (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                                 .bits = entry->bits,
                                                 .reg = entry->at,
                                                 .has_memory = true,
                                                 .memory = home});
    }
    entry->clean = true;
}

/* ---- what nothing uses ---------------------------------------------------------------------------- */

static void note_operands(const struct machine_item *item, bool *used)
{
    bool is_read;
    struct operand operands[OPERANDS];
    int count = operands_of(&item->instruction, operands), target = target_of(&item->instruction, &is_read);
    for (int k = 0; k < count; k++)
        if (operands[k].place != target || is_read)
            used[operands[k].number - MACHINE_VIRTUAL] = true;
}

static bool is_unused(struct machine *machine, const struct machine_item *item, const bool *used)
{
    bool is_read;
    int written = item->kind == MACHINE_INSTRUCTION ? written_by(&item->instruction, &is_read) : -1;
    return written >= 0 && !register_of(machine, written)->kept && !used[written - MACHINE_VIRTUAL];
}

void machine_drop_unused(struct machine *machine, machine_section *section)
{
    bool *used = arena_array(machine->arena, bool, machine->registers.count);
    int first = section->count;
    for (int k = section->count - 1; k >= 0; k--) {
        struct machine_item *item = &section->items[k];
        if (is_unused(machine, item, used))
            continue;
        if (item->kind == MACHINE_INSTRUCTION)
            note_operands(item, used);
        for (int argument = 0; item->kind != MACHINE_INSTRUCTION && argument < item->count; argument++)
            used[item->arguments[argument] - MACHINE_VIRTUAL] = true;
        if (--first != k)
            section->items[first] = *item;
    }
    if (!first)
        return;
    section->items += first; /* before which there is room that is left alone */
    section->count -= first;
    section->capacity -= first;
}

/* ---- registers ------------------------------------------------------------------------------ */

static int *occupants(struct machine *machine, const struct machine_register *entry)
{
    return entry->is_mask ? machine->mask_in : machine->vector_in;
}

static void leave(struct machine *machine, struct machine_register *entry)
{
    if (entry->at < 0 || entry->at == entry->pinned)
        return;
    occupants(machine, entry)[entry->at] = -1;
    entry->at = -1;
}

/* Where the value is next used, from a position on. */
static int next_use(struct machine *machine, const machine_section *section, int number, int from)
{
    int last = register_of(machine, number)->last;
    for (int k = from; k <= last && k < section->count; k++) {
        const struct machine_item *item = &section->items[k];
        if (item->kind == MACHINE_INSTRUCTION) {
            struct operand operands[OPERANDS];
            int count = operands_of(&item->instruction, operands);
            for (int operand = 0; operand < count; operand++)
                if (operands[operand].number == number)
                    return k;
        } else {
            for (int argument = 0; argument < item->count; argument++)
                if (item->arguments[argument] == number)
                    return k;
        }
    }
    return section->count + 1;
}

static bool is_locked(const int *locked, int count, int number)
{
    for (int k = 0; k < count; k++)
        if (locked[k] == number)
            return true;
    return false;
}

/* Frees the register whose value is needed last. */
static int evict(struct machine *machine, const machine_section *section, int position, const int *in,
                 int first, int end, const int *locked, int locked_count)
{
    int best = -1, farthest = -1;
    for (int k = first; k < end; k++) {
        if (in[k] < 0 || is_locked(locked, locked_count, in[k]) || register_of(machine, in[k])->pinned >= 0)
            continue;
        int next = next_use(machine, section, in[k], position);
        if (next > farthest) {
            farthest = next;
            best = k;
        }
    }
    if (best < 0) {
        machine_refuse(machine);
        return first;
    }
    struct machine_register *victim = register_of(machine, in[best]);
    if (!victim->clean && farthest <= section->count)
        store_home(machine, victim);
    leave(machine, victim);
    return best;
}

/* A free register for the value, others making room. */
static void settle(struct machine *machine, const machine_section *section, int position, int number,
                   const int *locked, int locked_count)
{
    struct machine_register *entry = register_of(machine, number);
    int *in = occupants(machine, entry);
    int first = entry->is_mask ? 1 : 0;
    int end = entry->is_mask ? machine_masks(machine) : machine_vectors(machine);
    int place = -1;
    for (int k = first; k < end && place < 0; k++)
        if (in[k] < 0)
            place = k;
    if (place < 0)
        place = evict(machine, section, position, in, first, end, locked, locked_count);
    in[place] = number;
    entry->at = place;
}

static void bring(struct machine *machine, const machine_section *section, int position, int number,
                  const int *locked, int locked_count)
{
    struct machine_register *entry = register_of(machine, number);
    if (entry->at >= 0)
        return;
    settle(machine, section, position, number, locked, locked_count);
    if (!machine->refused)
        load_home(machine, entry);
}

static void drop_if_last(struct machine *machine, int number, int position)
{
    struct machine_register *entry = register_of(machine, number);
    if (!entry->kept && entry->last <= position)
        leave(machine, entry);
}

/* ---- instructions ----------------------------------------------------------------------------- */

static bool is_copy(const struct x86_instruction *instruction)
{
    return (instruction->form == X86_VMOVAPS || instruction->form == X86_KMOVW) && !instruction->mask &&
           !instruction->has_memory && instruction->rm >= MACHINE_VIRTUAL &&
           instruction->reg >= MACHINE_VIRTUAL;
}

/* A copy of a value that ends here: only the name changes. */
static bool rename_copy(struct machine *machine, const struct x86_instruction *instruction, int position)
{
    struct machine_register *from = register_of(machine, instruction->rm);
    struct machine_register *to = register_of(machine, instruction->reg);
    if (from->kept || to->kept || from->last > position || from->at < 0 || to->at >= 0)
        return false;
    to->at = from->at;
    to->clean = false;
    occupants(machine, to)[to->at] = instruction->reg;
    from->at = -1;
    return true;
}

/* The value now in the register is another one than the home's. */
static void written(struct machine *machine, int number)
{
    struct machine_register *entry = register_of(machine, number);
    entry->clean = false;
    if (entry->kept && entry->pinned < 0)
        store_home(machine, entry);
}

/* What is kept at home and is the last operand is read there, and takes no register; but signs go into
 * general registers from vectors alone. */
static bool is_read_at_home(struct machine *machine, const struct x86_instruction *instruction)
{
    if (x86_is_general(instruction->form) || instruction->has_memory || instruction->rm < MACHINE_VIRTUAL)
        return false;
    const struct x86_row *row = &x86_rows[instruction->form];
    bool is_last =
        row->shape == X86_RM || row->shape == X86_RVM || row->shape == X86_RMI || row->shape == X86_RVMI;
    if (!is_last || row->rm != X86_V || row->reg == X86_D) /* vmovmskps has no form of memory */
        return false;
    const struct machine_register *entry = register_of(machine, instruction->rm);
    return entry->kept && !entry->is_mask && entry->pinned < 0 && entry->at < 0 && entry->home >= 0;
}

/* Copied once, and then changed where it stands: a copy of what has just been changed waits for that. */
static void append_placed(struct machine *machine, const struct x86_instruction *instruction,
                          const struct operand *operands, const int *places, int count)
{
    list_push(machine->arena, &machine->body, *instruction);
    struct x86_instruction *last = &machine->body.items[machine->body.count - 1];
    for (int k = 0; k < count; k++)
        *field_at(last, operands[k].place) = places[k];
    if (!last->line)
        last->line = machine->line;
}

static void place_instruction(struct machine *machine, const machine_section *section, int position)
{
    const struct x86_instruction *instruction = &section->items[position].instruction;
    struct x86_instruction from_home;
    struct operand operands[OPERANDS];
    int numbers[OPERANDS], places[OPERANDS], count = 0;
    bool is_read;
    machine->line = instruction->line;
    if (is_copy(instruction) && rename_copy(machine, instruction, position))
        return;
    if (is_read_at_home(machine, instruction)) {
        from_home = *instruction;
        from_home.has_memory = true;
        from_home.memory = home_of(machine, register_of(machine, instruction->rm));
        instruction = &from_home;
    }
    int operand_count = operands_of(instruction, operands), target_place = target_of(instruction, &is_read);
    int target = written_by(instruction, &is_read);
    for (int k = 0; k < operand_count; k++)
        if (operands[k].place != target_place || is_read)
            numbers[count++] = operands[k].number;
    for (int k = 0; k < count; k++)
        bring(machine, section, position, numbers[k], numbers, count);
    for (int k = 0; k < operand_count; k++)
        places[k] = register_of(machine, operands[k].number)->at;
    for (int k = 0; k < count; k++)
        if (numbers[k] != target)
            drop_if_last(machine, numbers[k], position);
    if (target >= 0 && register_of(machine, target)->at < 0)
        settle(machine, section, position + 1, target, numbers, count);
    for (int k = 0; k < operand_count; k++)
        if (operands[k].place == target_place)
            places[k] = register_of(machine, target)->at;
    append_placed(machine, instruction, operands, places, operand_count);
    if (target >= 0) {
        written(machine, target);
        drop_if_last(machine, target, position);
    }
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* All registers are the function's: what is needed later goes home. */
static void empty_registers(struct machine *machine, const machine_section *section, int position)
{
    for (int side = 0; side < 2; side++) {
        int *in = side ? machine->mask_in : machine->vector_in;
        for (int k = 0; k < (side ? MACHINE_MASKS : MACHINE_VECTORS); k++) {
            if (in[k] < 0)
                continue;
            struct machine_register *entry = register_of(machine, in[k]);
            if (!entry->clean && next_use(machine, section, in[k], position) <= section->count)
                store_home(machine, entry);
            leave(machine, entry);
        }
    }
}

static void append_call(struct machine *machine, const void *function)
{
    append(machine, (struct x86_instruction){
                        .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = (int64_t)(intptr_t)function});
    append(machine, (struct x86_instruction){.form = X86_CALL, .rm = X86_RAX});
}

static void append_load(struct machine *machine, enum x86_form form, int bits, int reg, int place)
{
    append(machine, (struct x86_instruction){.form = form,
                                             .bits = bits,
                                             .reg = reg,
                                             .has_memory = true,
                                             .memory = {X86_RSP, X86_NONE, 1, place}});
}

static void place_call(struct machine *machine, const machine_section *section, int position)
{
    const struct machine_item *item = &section->items[position];
    machine->line = item->instruction.line;
    empty_registers(machine, section, position);
    for (int k = 0; k < item->count; k++) {
        struct machine_register *entry = register_of(machine, item->arguments[k]);
        append_load(machine, X86_VMOVUPS_LOAD, entry->bits, k, entry->home);
    }
    append_call(machine, item->function);
    register_of(machine, item->result)->at = 0;
    machine->vector_in[0] = item->result;
    written(machine, item->result);
    drop_if_last(machine, item->result, position);
}

/* The homes of the arguments are arrays of their lanes. */
static void place_lanes(struct machine *machine, const machine_section *section, int position)
{
    const struct machine_item *item = &section->items[position];
    struct machine_register *result = register_of(machine, item->result);
    int size = item->wide ? 8 : 4, place;
    machine->line = item->instruction.line;
    empty_registers(machine, section, position);
    home_of(machine, result);
    place = result->home;
    append(machine, (struct x86_instruction){.form = X86_VZEROUPPER});
    for (int lane = 0; lane < item->lanes; lane++) {
        for (int k = 0; k < item->count; k++)
            append_load(machine, item->wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD, 128, k,
                        register_of(machine, item->arguments[k])->home + lane * size);
        append_call(machine, item->function);
        append_load(machine, item->wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE, 128, 0, place + lane * size);
    }
    result->clean = true;
}

/* The code out of line keeps all registers but those of the results, which are among the arguments. */
static void place_rare(struct machine *machine, const machine_section *section, int position)
{
    const struct machine_item *item = &section->items[position];
    int *registers = arena_array(machine->arena, int, item->count);
    machine->line = item->instruction.line;
    for (int k = 0; k < item->count; k++)
        bring(machine, section, position, item->arguments[k], item->arguments, item->count);
    for (int k = 0; k < item->count; k++)
        registers[k] = register_of(machine, item->arguments[k])->at;
    machine_rare_jump(machine, item, registers);
    for (int k = 0; k < item->vectors; k++)
        written(machine, item->rarities[k].result);
    for (int k = 0; k < item->count; k++)
        drop_if_last(machine, item->arguments[k], position);
}

/* ---- the section --------------------------------------------------------------------------------- */

/* Forgets what the last section left there. */
static void vacate(struct machine *machine, int *in, int count)
{
    for (int k = 0; k < count; k++) {
        if (in[k] >= MACHINE_VIRTUAL)
            register_of(machine, in[k])->at = -1;
        in[k] = -1;
    }
}

static void begin(struct machine *machine)
{
    vacate(machine, machine->vector_in, MACHINE_VECTORS);
    vacate(machine, machine->mask_in, MACHINE_MASKS);
    for (int k = 0; k < machine->kept.count; k++) {
        int number = machine->kept.items[k].virtual_register;
        struct machine_register *entry = register_of(machine, number);
        entry->at = entry->pinned;
        entry->clean = entry->pinned < 0;
        if (entry->at >= 0)
            occupants(machine, entry)[entry->at] = number;
    }
}

void machine_allocate(struct machine *machine, machine_section *section)
{
    machine_fold(machine, section);
    machine_gate(machine, section);
    find_last_uses(machine, section);
    begin(machine);
    for (int k = 0; k < section->count && !machine->refused; k++) {
        switch (section->items[k].kind) {
        case MACHINE_INSTRUCTION:
            place_instruction(machine, section, k);
            break;
        case MACHINE_CALL:
            place_call(machine, section, k);
            break;
        case MACHINE_LANES:
            place_lanes(machine, section, k);
            break;
        case MACHINE_RARE:
            place_rare(machine, section, k);
            break;
        }
    }
    machine->line = 0;
}
