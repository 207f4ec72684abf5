/*
 * vector_x86_slots.c: slots of a band, of a loop over rows or of a nest in registers.
 *
 * Consumes the instructions between entry and exit: of a band, whose parts hand one another what they know
 * through slots, or of loops around loops, which keep in slots where they are; produces the same with
 * registers in the place of slots, as many as nothing else uses: loaded before, and stored behind where C
 * takes them back. What one part of a band hands to another may have a register for just that long. In short
 * loops the way through memory takes longer than what is computed.
 *
 * A slot has a register where all that reads or writes it does so whole, as an address or a number of 64
 * bits, or as one lane of a vector. A number of 64 bits that is used in both ways is in a general register,
 * from where it comes into a vector, and back. Slots that are written come first.
 */
#include "vector_x86_loop.h"

#include <string.h>

/* SLOT_NUMBER: of 64 bits, by itself in a vector: it may as well be in a general register. */
enum slot_class { SLOT_UNUSED, SLOT_GENERAL, SLOT_SINGLE, SLOT_NUMBER, SLOT_DOUBLE, SLOT_STAYS };

struct slot_use {
    enum slot_class class;
    int count; /* uses in the loop around all */
    bool is_written, is_considered, begins_written;
    int first, last; /* the instructions between which it means anything, if it begins written */
    bool is_brief;   /* has its register for these alone */
    int reg;         /* -1: it stays in memory */
};

struct inner_loop {
    int first, last; /* instructions */
};

struct slots {
    struct machine *machine;
    LIST(struct inner_loop) loops;
    struct slot_use *uses; /* one per argument */
    int count;
    unsigned general, vectors; /* the registers that are free, as bits */
    unsigned held;             /* vector registers that hold slots, or constants, all the time */
};

/* ---- what is used ---------------------------------------------------------------------------------- */

static bool is_slot(const struct slots *slots, const struct x86_instruction *instruction)
{
    return instruction->form != X86_NO_FORM && instruction->has_memory &&
           instruction->memory.base == slots->machine->slots;
}

static enum slot_class class_of(enum x86_form form)
{
    switch (form) {
    case X86_VMOVSS_LOAD:
    case X86_VMOVSS_STORE:
    case X86_VBROADCASTSS:
    case X86_VPBROADCASTB:
    case X86_VPBROADCASTW:
        return SLOT_SINGLE;
    case X86_VMOVSD_LOAD:
    case X86_VMOVSD_STORE:
        return SLOT_NUMBER;
    case X86_VBROADCASTSD:
    case X86_VPBROADCASTQ:
        return SLOT_DOUBLE;
    case X86_MOV:
    case X86_MOV_STORE:
    case X86_ADD:
    case X86_SUB:
    case X86_CMP:
    case X86_IMUL:
    case X86_CMOVA:
    case X86_CMOVAE:
    case X86_CMOVE:
    case X86_CMOVNE:
    case X86_CMOVL:
    case X86_CMOVLE:
    case X86_CMOVG:
    case X86_CMOVGE:
        return SLOT_GENERAL;
    default:
        break;
    }
    int bytes = machine_lane_bytes(form); /* of what it is an operand of */
    return bytes == 4 ? SLOT_SINGLE : bytes == 8 ? SLOT_DOUBLE : SLOT_STAYS;
}

/* Of what is used in both ways. */
static enum slot_class both(enum slot_class one, enum slot_class other)
{
    if (one == SLOT_UNUSED || one == other)
        return other;
    if (one == SLOT_NUMBER && (other == SLOT_GENERAL || other == SLOT_DOUBLE))
        return other;
    return other == SLOT_NUMBER && (one == SLOT_GENERAL || one == SLOT_DOUBLE) ? one : SLOT_STAYS;
}

static bool is_store(enum x86_form form)
{
    return form == X86_MOV_STORE || form == X86_VMOVSS_STORE || form == X86_VMOVSD_STORE;
}

static void note_slot(struct slots *slots, int at, bool is_inside)
{
    const struct x86_instruction *instruction = &slots->machine->body.items[at];
    const struct x86_memory *memory = &instruction->memory;
    struct slot_use *use = &slots->uses[memory->displacement / 8];
    enum slot_class class = both(use->class, class_of(instruction->form));
    if (memory->index != X86_NONE || memory->displacement % 8 != 0 || instruction->mask)
        class = SLOT_STAYS;
    if (use->class == SLOT_UNUSED) {
        use->first = at;
        use->begins_written = is_store(instruction->form);
    }
    use->last = at;
    use->class = class;
    use->count += is_inside;
    use->is_written |= is_store(instruction->form);
}

static void note_general(struct slots *slots, int reg)
{
    if (reg >= X86_RAX && reg <= X86_R15)
        slots->general &= ~(1u << reg);
}

static void note_field(struct slots *slots, int class, int reg)
{
    if (class == X86_D || class == X86_G)
        note_general(slots, reg);
    else
        slots->vectors &= ~(1u << reg);
}

/* Registers of an instruction are not free: fields that mean nothing are 0, whose registers are taken anyway.
 */
static void note_registers(struct slots *slots, const struct x86_instruction *instruction)
{
    int rm = instruction->has_memory ? 0 : instruction->rm;
    if (instruction->has_memory) {
        note_general(slots, instruction->memory.base);
        note_general(slots, instruction->memory.index);
        if (instruction->memory.index >= 0)
            slots->vectors &= ~(1u << instruction->memory.index);
    }
    if (x86_is_general(instruction->form)) {
        note_general(slots, instruction->reg);
        note_general(slots, rm);
        return;
    }
    const struct x86_row *row = &x86_rows[instruction->form];
    if (row->has_general) {
        note_field(slots, row->reg, instruction->reg);
        note_field(slots, row->vvvv, instruction->vvvv);
        note_field(slots, row->rm, rm);
        return;
    }
    slots->vectors &=
        ~(1u << instruction->reg | 1u << instruction->vvvv | 1u << rm | 1u << instruction->fourth);
}

static bool is_jump(enum x86_form form)
{
    return x86_is_general(form) && x86_general_rows[form - X86_GENERAL_FIRST].shape == X86_JUMP;
}

/* Whether it is where the loop around all goes on, behind which are the loops around that. */
static bool is_last(const struct machine *machine, const struct x86_instruction *instruction)
{
    return instruction->form != X86_NO_FORM && is_jump(instruction->form) &&
           instruction->label == machine->head;
}

static void note_all(struct slots *slots)
{
    const struct machine *machine = slots->machine;
    bool is_inside = false;
    for (int k = 0; k < machine->body.count; k++) {
        const struct x86_instruction *instruction = &machine->body.items[k];
        is_inside |= instruction->form == X86_NO_FORM && instruction->label == machine->head;
        is_inside &= !is_last(machine, instruction);
        if (instruction->form == X86_NO_FORM)
            continue;
        note_registers(slots, instruction);
        if (is_slot(slots, instruction))
            note_slot(slots, k, is_inside);
    }
    for (int k = 0; k < slots->count; k++)
        if (slots->uses[k].class == SLOT_NUMBER)
            slots->uses[k].class = SLOT_DOUBLE;
}

/* ---- registers ------------------------------------------------------------------------------------- */

/* Those that need not be preserved first; -1: none is left. */
static int take_register(struct slots *slots, enum slot_class class)
{
    static const int order[] = {X86_RSI, X86_R8,  X86_R9,  X86_R10, X86_R11, X86_RCX,
                                X86_RDX, X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
    enum { COUNT = sizeof order / sizeof *order };
    unsigned *free_ones = class == SLOT_GENERAL ? &slots->general : &slots->vectors;
    for (int k = 0; k < (class == SLOT_GENERAL ? COUNT : MACHINE_VECTORS); k++) {
        int reg = class == SLOT_GENERAL ? order[k] : k;
        if (*free_ones >> reg & 1) {
            *free_ones &= ~(1u << reg);
            return reg;
        }
    }
    return -1;
}

static bool comes_before(const struct slot_use *a, const struct slot_use *b)
{
    return a->is_written != b->is_written ? a->is_written : a->count > b->count;
}

/* The next slot to have a register; NULL: all had their turn. */
static struct slot_use *next_slot(struct slots *slots)
{
    struct slot_use *best = NULL;
    for (int k = 0; k < slots->count; k++) {
        struct slot_use *use = &slots->uses[k];
        bool may = use->class != SLOT_UNUSED && use->class != SLOT_STAYS && use->count && !use->is_considered;
        if (may && (!best || comes_before(use, best)))
            best = use;
    }
    return best;
}

static void choose_registers(struct slots *slots)
{
    for (struct slot_use *use; (use = next_slot(slots)) != NULL;) {
        use->is_considered = true;
        use->reg = take_register(slots, use->class);
        if (use->reg >= 0 && use->class == SLOT_GENERAL)
            slots->machine->general |= 1u << use->reg;
        else if (use->reg >= 0)
            slots->held |= 1u << use->reg;
    }
}

/* ---- registers for a while ------------------------------------------------------------------------- */

/* Jumps back, but for that of the loop around all, and of loops around that. */
static void find_loops(struct slots *slots)
{
    const struct machine *machine = slots->machine;
    int *places = arena_array(machine->arena, int, machine->labels); /* of labels; 0: not there yet */
    for (int k = 0; k < machine->body.count; k++) {
        const struct x86_instruction *instruction = &machine->body.items[k];
        int label = instruction->label;
        if (instruction->form == X86_NO_FORM)
            places[label] = k + 1;
        else if (is_jump(instruction->form) && label != machine->head &&
                 places[label] > places[machine->head])
            list_push(machine->arena, &slots->loops, ((struct inner_loop){places[label] - 1, k}));
    }
}

/* A loop inside that the slot's time reaches into belongs to it as a whole. */
static void widen(const struct slots *slots, struct slot_use *use)
{
    for (bool again = true; again;) {
        again = false;
        for (int k = 0; k < slots->loops.count; k++) {
            struct inner_loop loop = slots->loops.items[k];
            if (loop.last < use->first || loop.first > use->last)
                continue;
            again |= loop.first < use->first || loop.last > use->last;
            use->first = loop.first < use->first ? loop.first : use->first;
            use->last = loop.last > use->last ? loop.last : use->last;
        }
    }
}

/* Whether another part begins in between. What is in registers within one part need not be used there. */
static bool spans_parts(const struct slots *slots, const struct slot_use *use)
{
    bool spans = false;
    for (int k = 0; k < slots->machine->parts.count; k++)
        spans |= slots->machine->parts.items[k] > use->first && slots->machine->parts.items[k] <= use->last;
    return spans;
}

static unsigned free_meanwhile(const struct slots *slots, const struct slot_use *use)
{
    struct slots trial = {.machine = slots->machine, .vectors = ~slots->held & ~1u};
    trial.vectors &= machine_is_avx512(slots->machine) ? ~0u : 0xffff;
    for (int k = use->first; k <= use->last; k++)
        if (slots->machine->body.items[k].form != X86_NO_FORM)
            note_registers(&trial, &slots->machine->body.items[k]);
    for (int k = 0; k < slots->count; k++) {
        const struct slot_use *other = &slots->uses[k];
        if (other->is_brief && other->first <= use->last && use->first <= other->last)
            trial.vectors &= ~(1u << other->reg);
    }
    return trial.vectors;
}

/* A scalar that one part hands to the next, or to itself, has a register from the one to the other. */
static void choose_brief(struct slots *slots)
{
    bool knows_loops = false;
    for (int k = 0; k < slots->count; k++) {
        struct slot_use *use = &slots->uses[k];
        if (use->reg >= 0 || (use->class != SLOT_SINGLE && use->class != SLOT_DOUBLE) ||
            !use->begins_written || slots->machine->loop->arguments.items[k].kind != VECTOR_ARGUMENT_STATE)
            continue;
        if (!knows_loops)
            find_loops(slots);
        knows_loops = true;
        widen(slots, use);
        unsigned free_ones = spans_parts(slots, use) ? free_meanwhile(slots, use) : 0;
        if (!free_ones)
            continue;
        use->reg = __builtin_ctz(free_ones);
        use->is_brief = true;
    }
}

/* ---- the code -------------------------------------------------------------------------------------- */

static struct x86_instruction move_of(const struct slots *slots, int number, bool is_load)
{
    const struct slot_use *use = &slots->uses[number];
    struct x86_instruction move = {.form = is_load ? X86_MOV : X86_MOV_STORE,
                                   .bits = 128,
                                   .reg = use->reg,
                                   .has_memory = true,
                                   .memory = machine_slot(slots->machine, number)};
    if (use->class == SLOT_SINGLE)
        move.form = is_load ? X86_VMOVSS_LOAD : X86_VMOVSS_STORE;
    else if (use->class == SLOT_DOUBLE)
        move.form = is_load ? X86_VMOVSD_LOAD : X86_VMOVSD_STORE;
    return move;
}

/* Only one lane of a vector means anything: it is moved whole, which takes no time. */
static void use_register(struct x86_instruction *instruction, const struct slot_use *use)
{
    int reg = use->reg;
    instruction->has_memory = false;
    instruction->rm = reg;
    if (use->class == SLOT_GENERAL && class_of(instruction->form) == SLOT_NUMBER) {
        instruction->form = is_store(instruction->form) ? X86_VMOVQ_FROM : X86_VMOVQ_TO;
        return;
    }
    switch (instruction->form) {
    case X86_VMOVSS_LOAD:
    case X86_VMOVSD_LOAD:
        instruction->form = X86_VMOVAPS;
        break;
    case X86_MOV_STORE:
        instruction->form = X86_MOV;
        instruction->rm = instruction->reg;
        instruction->reg = reg;
        break;
    case X86_VMOVSS_STORE:
    case X86_VMOVSD_STORE:
        instruction->form = X86_VMOVAPS;
        instruction->rm = instruction->reg;
        instruction->reg = reg;
        break;
    default:
        break;
    }
}

/* The slot in a register that the instruction has to do with; NULL: there is none. */
static const struct slot_use *held_by(const struct slots *slots, const struct x86_instruction *instruction)
{
    const struct slot_use *use =
        is_slot(slots, instruction) ? &slots->uses[instruction->memory.displacement / 8] : NULL;
    return use && use->reg >= 0 ? use : NULL;
}

static bool is_of_rax(const struct x86_instruction *instruction, enum x86_form form)
{
    return instruction->form == form && instruction->reg == X86_RAX;
}

/* A slot that is compared or moved on by way of rax, of which nothing is used afterwards: by itself, at
 * `to`, which may be where these instructions are. Gives how many they are; 0: none of that. */
static int shorten(struct slots *slots, const struct x86_instruction *items, int left,
                   struct x86_instruction *to)
{
    const struct slot_use *use = left > 2 && is_of_rax(&items[0], X86_MOV) ? held_by(slots, &items[0]) : NULL;
    if (!use)
        return 0;
    struct x86_instruction short_form = items[1];
    bool is_rax = short_form.rm == X86_RAX && !short_form.has_memory; /* else it is what stands in memory */
    bool by_number = (short_form.form == X86_SUB_BY || short_form.form == X86_ADD_BY) && is_rax,
         moves = (by_number || is_of_rax(&short_form, X86_ADD)) && is_of_rax(&items[2], X86_MOV_STORE) &&
                 held_by(slots, &items[2]) == use;
    if (!moves && !(short_form.form == X86_CMP_BY && is_rax))
        return 0;
    if (short_form.form == X86_ADD) {
        const struct slot_use *other = held_by(slots, &short_form);
        if (other)
            use_register(&short_form, other);
        short_form.reg = use->reg;
    } else {
        short_form.rm = use->reg;
    }
    *to = short_form;
    return moves ? 3 : 2;
}

/* Results, and how many rows are left, or columns, where one may stop. */
static bool is_taken_back(const struct vector_loop *loop, int slot)
{
    const struct vector_nest *nest = loop->nest;
    enum vector_argument_kind kind = loop->arguments.items[slot].kind;
    return kind == VECTOR_ARGUMENT_ACCUMULATOR || kind == VECTOR_ARGUMENT_COUNTER ||
           (nest && slot == nest->state + (nest->is_while ? VECTOR_COLUMNS : 0));
}

/* Loads of what is held all the time, before the first instruction. */
static void load_held(struct slots *slots)
{
    machine_code *body = &slots->machine->body;
    int loads = 0;
    for (int k = 0; k < slots->count; k++)
        loads += slots->uses[k].reg >= 0 && !slots->uses[k].is_brief;
    list_reserve(slots->machine->arena, body, loads);
    memmove(body->items + loads, body->items, (size_t)body->count * sizeof *body->items);
    body->count += loads;
    for (int k = slots->count - 1; k >= 0; k--)
        if (slots->uses[k].reg >= 0 && !slots->uses[k].is_brief)
            body->items[--loads] = move_of(slots, k, true);
}

/* In place: the code does not get longer. */
static void rewrite(struct slots *slots)
{
    machine_code *body = &slots->machine->body;
    int written = 0;
    for (int k = 0, length; k < body->count; k += length) {
        length = shorten(slots, &body->items[k], body->count - k, &body->items[written]);
        if (!length) {
            const struct slot_use *use = held_by(slots, &body->items[k]);
            if (written != k)
                body->items[written] = body->items[k];
            if (use)
                use_register(&body->items[written], use);
            length = 1;
        }
        written++;
    }
    body->count = written;
}

void machine_hold_slots(struct machine *machine)
{
    struct slots slots = {.machine = machine, .count = machine->loop->arguments.count};
    if (machine->calls)
        return;
    slots.uses = arena_array(machine->arena, struct slot_use, slots.count);
    slots.general = ~(1u << X86_RAX | 1u << X86_RSP | 1u << X86_RBP | 1u << machine->slots) & 0xffff;
    slots.vectors = machine_is_avx512(machine) ? ~1u : 0xfffe;
    for (int k = 0; machine->shared && k < machine->shared->constants.count; k++)
        slots.held |= 1u << (MACHINE_VECTORS - 1 - k);
    for (int k = 0; machine->shared && k < MACHINE_PASSED; k++)
        slots.held |= 1u << (MACHINE_OWN_VECTORS + k);
    for (int k = 0; k < slots.count; k++)
        slots.uses[k].reg = -1;
    note_all(&slots);
    choose_registers(&slots);
    choose_brief(&slots);
    rewrite(&slots);
    load_held(&slots);
    for (int k = 0; k < slots.count; k++)
        if (slots.uses[k].reg >= 0 && is_taken_back(machine->loop, k))
            machine_emit(machine, move_of(&slots, k, false));
}
