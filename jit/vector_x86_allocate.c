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

/* The fields that may hold virtual registers: other numbers in them are small, whatever they mean. */
enum { FIELD_REG, FIELD_VVVV, FIELD_RM, FIELD_FOURTH, FIELD_MASK, FIELD_INDEX, FIELDS, NO_FIELD = FIELDS };

static const unsigned char field_places[FIELDS] = {
    [FIELD_REG] = offsetof(struct x86_instruction, reg),
    [FIELD_VVVV] = offsetof(struct x86_instruction, vvvv),
    [FIELD_RM] = offsetof(struct x86_instruction, rm),
    [FIELD_FOURTH] = offsetof(struct x86_instruction, fourth),
    [FIELD_MASK] = offsetof(struct x86_instruction, mask),
    [FIELD_INDEX] = offsetof(struct x86_instruction, memory.index),
};

static inline int *field_at(struct x86_instruction *instruction, int field)
{
    return (int *)(void *)((char *)instruction + field_places[field]);
}

static inline int number_at(const struct x86_instruction *instruction, int field)
{
    return *(const int *)(const void *)((const char *)instruction + field_places[field]);
}

/* The fields with virtual registers, as bits: whoever goes through them takes the lowest and drops it. */
static inline unsigned operands_of(const struct x86_instruction *instruction)
{
    return (unsigned)(instruction->reg >= MACHINE_VIRTUAL) << FIELD_REG |
           (unsigned)(instruction->vvvv >= MACHINE_VIRTUAL) << FIELD_VVVV |
           (unsigned)((instruction->rm >= MACHINE_VIRTUAL) & !instruction->has_memory) << FIELD_RM |
           (unsigned)(instruction->fourth >= MACHINE_VIRTUAL) << FIELD_FOURTH |
           (unsigned)(instruction->mask >= MACHINE_VIRTUAL) << FIELD_MASK |
           (unsigned)(instruction->memory.index >= MACHINE_VIRTUAL) << FIELD_INDEX;
}

/* The field with the virtual register that the instruction writes, or NO_FIELD. */
static inline int target_of(const struct x86_instruction *instruction, unsigned operands)
{
    static const unsigned char fields[] = {[X86_WRITES_REG] = FIELD_REG,
                                           [X86_WRITES_VVVV] = FIELD_VVVV,
                                           [X86_WRITES_RM] = FIELD_RM,
                                           [X86_WRITES_NOTHING] = NO_FIELD};
    if (x86_is_general(instruction->form))
        return NO_FIELD;
    int field = fields[x86_rows[instruction->form].writes];
    return operands >> field & 1 ? field : NO_FIELD;
}

/* Whether what such an instruction writes is read before, as lanes that a mask leaves as they are. */
static inline bool reads_target(const struct x86_instruction *instruction)
{
    const struct x86_row *row = &x86_rows[instruction->form];
    return row->role == X86_RW || (instruction->mask && !instruction->zeroing && row->reg != X86_K &&
                                   instruction->form != X86_VBLENDMPS && instruction->form != X86_VBLENDMPD &&
                                   instruction->form != X86_VPBLENDMB && instruction->form != X86_VPBLENDMW);
}

static inline unsigned without(unsigned operands, int target)
{
    return operands & ~(1u << target);
}

static inline struct machine_register *register_of(struct machine *machine, int number)
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
        if (!item->call) {
            note_use(registers, instruction->reg, k);
            note_use(registers, instruction->vvvv, k);
            if (!instruction->has_memory)
                note_use(registers, instruction->rm, k);
            note_use(registers, instruction->fourth, k);
            note_use(registers, instruction->memory.index, k);
            note_use(registers, instruction->mask, k);
        } else {
            for (int argument = 0; argument < item->call->count; argument++)
                note_use(registers, item->call->arguments[argument], k);
            note_use(registers, item->call->result, k);
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
    if (!section->count)
        return 0;
    find_last_uses(machine, section);
    for (int k = 0; k < section->count; k++) {
        const struct machine_call *call = section->items[k].call;
        if (call && call->kind == MACHINE_RARE) {
            most = live + GATE > most ? live + GATE : most;
            live -= ends_here(machine, call->arguments, call->count, k);
            continue;
        }
        if (call) {
            most = MACHINE_VECTORS; /* nothing lives through a call */
            break;
        }
        const struct x86_instruction *instruction = &section->items[k].instruction;
        unsigned operands = operands_of(instruction);
        int field = target_of(instruction, operands);
        struct machine_register *target =
            field == NO_FIELD ? NULL : register_of(machine, number_at(instruction, field));
        if (target && !target->kept && !target->is_mask && target->at < 0) {
            target->at = 0; /* seen */
            live++;
        }
        most = live > most ? live : most;
        for (; operands; operands &= operands - 1) {
            int number = number_at(instruction, __builtin_ctz(operands));
            live -= ends_here(machine, &number, 1, k);
        }
    }
    for (int k = 0; k < section->count; k++) {
        const struct x86_instruction *instruction = &section->items[k].instruction;
        int field = target_of(instruction, operands_of(instruction));
        if (!section->items[k].call && field != NO_FIELD)
            register_of(machine, number_at(instruction, field))->at = -1;
    }
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

static void note_operands(const struct x86_instruction *instruction, bool *used)
{
    unsigned operands = operands_of(instruction);
    int target = target_of(instruction, operands);
    if (target != NO_FIELD && !reads_target(instruction))
        operands = without(operands, target);
    for (; operands; operands &= operands - 1)
        used[number_at(instruction, __builtin_ctz(operands)) - MACHINE_VIRTUAL] = true;
}

static bool is_unused(struct machine *machine, const struct x86_instruction *instruction, const bool *used)
{
    int target = target_of(instruction, operands_of(instruction));
    if (target == NO_FIELD)
        return false;
    int written = number_at(instruction, target);
    return !used[written - MACHINE_VIRTUAL] && !register_of(machine, written)->kept;
}

void machine_drop_unused(struct machine *machine, machine_section *section)
{
    bool *used = arena_array(machine->arena, bool, machine->registers.count);
    int first = section->count;
    for (int k = section->count - 1; k >= 0; k--) {
        struct machine_item *item = &section->items[k];
        if (!item->call && is_unused(machine, &item->instruction, used))
            continue;
        if (!item->call)
            note_operands(&item->instruction, used);
        for (int argument = 0; item->call && argument < item->call->count; argument++)
            used[item->call->arguments[argument] - MACHINE_VIRTUAL] = true;
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

static inline struct machine_file *file_of(struct machine *machine, const struct machine_register *entry)
{
    return entry->is_mask ? &machine->mask_file : &machine->vector_file;
}

static inline void enter(struct machine_file *file, struct machine_register *entry, int number, int place)
{
    file->taken |= 1u << place;
    file->in[place] = number;
    entry->at = place;
}

static inline void leave(struct machine *machine, struct machine_register *entry)
{
    if (entry->at < 0 || entry->at == entry->pinned)
        return;
    file_of(machine, entry)->taken &= ~(1u << entry->at);
    entry->at = -1;
}

/* Where each register is used in the section: made when one has to go first. Those that it does not name have
 * the number of an earlier section, or none. */
struct machine_uses {
    int number;
    int *positions; /* of items, register by register, rising */
};

enum { USES_BEGIN, USES_COUNT, USES_PLACE };

static void note_named(struct machine *machine, struct machine_uses *uses, int register_number, int *total,
                       int turn, int position)
{
    struct machine_register *entry = register_of(machine, register_number);
    if (turn == USES_BEGIN) {
        entry->uses_of = uses->number;
        entry->use = -1;
        entry->uses_end = 0;
    } else if (turn == USES_COUNT) {
        entry->uses_end++;
        ++*total;
    } else {
        if (entry->use < 0) {
            entry->use = *total;
            *total += entry->uses_end;
            entry->uses_end = entry->use;
        }
        uses->positions[entry->uses_end++] = position;
    }
}

static int note_uses(struct machine *machine, struct machine_uses *uses, const machine_section *section,
                     int turn)
{
    int total = 0;
    for (int k = 0; k < section->count; k++) {
        const struct machine_item *item = &section->items[k];
        if (item->call) {
            for (int argument = 0; argument < item->call->count; argument++)
                note_named(machine, uses, item->call->arguments[argument], &total, turn, k);
            continue;
        }
        for (unsigned left = operands_of(&item->instruction); left; left &= left - 1)
            note_named(machine, uses, number_at(&item->instruction, __builtin_ctz(left)), &total, turn, k);
    }
    return total;
}

static struct machine_uses *find_uses(struct machine *machine, const machine_section *section)
{
    struct machine_uses *uses = arena_new(machine->arena, struct machine_uses);
    uses->number = ++machine->uses_number;
    note_uses(machine, uses, section, USES_BEGIN);
    uses->positions = arena_array(machine->arena, int, note_uses(machine, uses, section, USES_COUNT) + 1);
    note_uses(machine, uses, section, USES_PLACE);
    return uses;
}

/* Where the value is next used, from a position on, which never falls from one question to the next. */
static int next_use(struct machine *machine, const machine_section *section, int number, int from)
{
    if (!machine->uses)
        machine->uses = find_uses(machine, section);
    struct machine_uses *uses = machine->uses;
    struct machine_register *entry = register_of(machine, number);
    if (entry->uses_of != uses->number)
        return section->count + 1;
    while (entry->use < entry->uses_end && uses->positions[entry->use] < from)
        entry->use++;
    return entry->use < entry->uses_end ? uses->positions[entry->use] : section->count + 1;
}

static bool is_locked(const int *locked, int count, int number)
{
    for (int k = 0; k < count; k++)
        if (locked[k] == number)
            return true;
    return false;
}

/* Frees one of these registers, whose value is needed last. */
static int evict(struct machine *machine, const machine_section *section, int position,
                 const struct machine_file *file, unsigned among, const int *locked, int locked_count)
{
    int best = -1, farthest = -1;
    for (; among; among &= among - 1) {
        int place = __builtin_ctz(among), number = file->in[place];
        if (is_locked(locked, locked_count, number) || register_of(machine, number)->pinned >= 0)
            continue;
        int next = next_use(machine, section, number, position);
        if (next > farthest) {
            farthest = next;
            best = place;
        }
    }
    if (best < 0)
        return -1;
    struct machine_register *victim = register_of(machine, file->in[best]);
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
    struct machine_file *file = file_of(machine, entry);
    int count = entry->is_mask ? machine_masks(machine) : machine_vectors(machine);
    unsigned all = (unsigned)(((uint64_t)1 << count) - 1) & ~(unsigned)entry->is_mask; /* k0 is no mask */
    unsigned free_ones = all & ~file->taken;
    int place = free_ones ? __builtin_ctz(free_ones)
                          : evict(machine, section, position, file, all, locked, locked_count);
    if (place < 0) {
        machine_refuse(machine);
        place = __builtin_ctz(all);
    }
    enter(file, entry, number, place);
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

static inline void drop_if_last(struct machine *machine, int number, int position)
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
    enter(file_of(machine, to), to, instruction->reg, from->at);
    to->clean = false;
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
                          unsigned operands, const int *places)
{
    list_push(machine->arena, &machine->body, *instruction);
    struct x86_instruction *last = &machine->body.items[machine->body.count - 1];
    for (; operands; operands &= operands - 1) {
        int field = __builtin_ctz(operands);
        *field_at(last, field) = places[field];
    }
    if (!last->line)
        last->line = machine->line;
}

static void place_instruction(struct machine *machine, const machine_section *section, int position)
{
    const struct x86_instruction *instruction = &section->items[position].instruction;
    struct x86_instruction from_home;
    int numbers[FIELDS], places[FIELDS], count = 0;
    machine->line = instruction->line;
    if (is_copy(instruction) && rename_copy(machine, instruction, position))
        return;
    if (is_read_at_home(machine, instruction)) {
        from_home = *instruction;
        from_home.has_memory = true;
        from_home.memory = home_of(machine, register_of(machine, instruction->rm));
        instruction = &from_home;
    }
    unsigned operands = operands_of(instruction), read = operands;
    int field = target_of(instruction, operands);
    int target = field == NO_FIELD ? -1 : number_at(instruction, field);
    if (target >= 0 && !reads_target(instruction))
        read = without(read, field);
    for (unsigned left = read; left; left &= left - 1)
        numbers[count++] = number_at(instruction, __builtin_ctz(left));
    for (int k = 0; k < count; k++)
        bring(machine, section, position, numbers[k], numbers, count);
    for (unsigned left = read; left; left &= left - 1) {
        int at = __builtin_ctz(left);
        places[at] = register_of(machine, number_at(instruction, at))->at;
    }
    for (int k = 0; k < count; k++)
        if (numbers[k] != target)
            drop_if_last(machine, numbers[k], position);
    if (target >= 0) {
        struct machine_register *entry = register_of(machine, target);
        if (entry->at < 0)
            settle(machine, section, position + 1, target, numbers, count);
        places[field] = entry->at;
    }
    append_placed(machine, instruction, operands, places);
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
        const struct machine_file *file = side ? &machine->mask_file : &machine->vector_file;
        for (unsigned left = file->taken; left; left &= left - 1) {
            int number = file->in[__builtin_ctz(left)];
            struct machine_register *entry = register_of(machine, number);
            if (!entry->clean && next_use(machine, section, number, position) <= section->count)
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
    const struct machine_call *call = section->items[position].call;
    machine->line = call->line;
    empty_registers(machine, section, position);
    for (int k = 0; k < call->count; k++) {
        struct machine_register *entry = register_of(machine, call->arguments[k]);
        append_load(machine, X86_VMOVUPS_LOAD, entry->bits, k, entry->home);
    }
    append_call(machine, call->function);
    enter(&machine->vector_file, register_of(machine, call->result), call->result, 0);
    written(machine, call->result);
    drop_if_last(machine, call->result, position);
}

/* The homes of the arguments are arrays of their lanes. */
static void place_lanes(struct machine *machine, const machine_section *section, int position)
{
    const struct machine_call *call = section->items[position].call;
    struct machine_register *result = register_of(machine, call->result);
    int size = call->wide ? 8 : 4, place;
    machine->line = call->line;
    empty_registers(machine, section, position);
    home_of(machine, result);
    place = result->home;
    append(machine, (struct x86_instruction){.form = X86_VZEROUPPER});
    for (int lane = 0; lane < call->lanes; lane++) {
        for (int k = 0; k < call->count; k++)
            append_load(machine, call->wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD, 128, k,
                        register_of(machine, call->arguments[k])->home + lane * size);
        append_call(machine, call->function);
        append_load(machine, call->wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE, 128, 0, place + lane * size);
    }
    result->clean = true;
}

/* The code out of line keeps all registers but those of the results, which are among the arguments. */
static void place_rare(struct machine *machine, const machine_section *section, int position)
{
    const struct machine_call *call = section->items[position].call;
    int *registers = arena_array(machine->arena, int, call->count);
    machine->line = call->line;
    for (int k = 0; k < call->count; k++)
        bring(machine, section, position, call->arguments[k], call->arguments, call->count);
    for (int k = 0; k < call->count; k++)
        registers[k] = register_of(machine, call->arguments[k])->at;
    machine_rare_jump(machine, call, registers);
    for (int k = 0; k < call->vectors; k++)
        written(machine, call->rarities[k].result);
    for (int k = 0; k < call->count; k++)
        drop_if_last(machine, call->arguments[k], position);
}

/* ---- the section --------------------------------------------------------------------------------- */

/* Forgets what the last section left there. */
static void vacate(struct machine *machine, struct machine_file *file)
{
    for (; file->taken; file->taken &= file->taken - 1)
        register_of(machine, file->in[__builtin_ctz(file->taken)])->at = -1;
}

static void begin(struct machine *machine)
{
    vacate(machine, &machine->vector_file);
    vacate(machine, &machine->mask_file);
    for (int k = 0; k < machine->kept.count; k++) {
        int number = machine->kept.items[k].virtual_register;
        struct machine_register *entry = register_of(machine, number);
        entry->at = -1;
        entry->clean = entry->pinned < 0;
        bool is_gone = machine->is_without_partials && machine->kept.items[k].kind == KEPT_PARTIAL;
        if (entry->pinned >= 0 && !is_gone)
            enter(file_of(machine, entry), entry, number, entry->pinned);
    }
}

void machine_allocate(struct machine *machine, machine_section *section)
{
    machine_fold(machine, section);
    machine_gate(machine, section);
    find_last_uses(machine, section);
    machine->uses = NULL; /* those of the section before */
    begin(machine);
    list_reserve(machine->arena, &machine->body, section->count);
    for (int k = 0; k < section->count && !machine->refused; k++) {
        switch (machine_kind_of(&section->items[k])) {
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
