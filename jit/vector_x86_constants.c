/*
 * vector_x86_constants.c: constants of a band in registers of their own.
 *
 * Consumes the instructions of a band, each part of which loads its constants before it begins: into
 * registers that another part has for other things. Produces the same with these loads before the loops, as
 * far as there are registers that nothing uses. Of short rows, an exponential loads as many constants as it
 * has operations. What is one number that only becomes one in every lane, as what each row of maxima begins
 * with, is that from the start: copies of registers take no time.
 */
#include "vector_x86_loop.h"

#include <string.h>

struct hoisting {
    struct machine *machine;
    const struct machine_liveness *liveness;
    machine_registers *live; /* by instruction what is read from it on */
    int *places;             /* of labels */
    int *first, *last;       /* by label: the jumps to it; first above last: there are none */
    unsigned free_vectors;
    machine_code hoisted;
};

/* A constant into a vector register. */
static bool is_constant(const struct x86_instruction *instruction)
{
    switch (instruction->form) {
    case X86_VBROADCASTSS:
    case X86_VBROADCASTSD:
    case X86_VPBROADCASTQ:
    case X86_VMOVSS_LOAD:
    case X86_VMOVSD_LOAD:
    case X86_VMOVUPS_LOAD:
        return instruction->has_memory && instruction->memory.base == X86_RIP && !instruction->mask;
    default:
        return false;
    }
}

static machine_registers bit_of(int vector)
{
    return (machine_registers)1 << (MACHINE_GENERALS + vector);
}

/* The field, if it is that vector, becomes another one; false: the instruction cannot have that. */
static bool rename_field(const struct x86_row *row, int class, int *reg, int from, int to)
{
    if (class == X86_N || class == X86_K || class == X86_D || class == X86_G || *reg != from)
        return true;
    *reg = to;
    return to < 16 || row->prefix == X86_EVEX || row->prefix == X86_BOTH;
}

/* The instruction with another register; false: it cannot have that. */
static bool rename_vector(struct x86_instruction *instruction, int from, int to)
{
    if (instruction->form == X86_NO_FORM || x86_is_general(instruction->form))
        return true;
    const struct x86_row *row = &x86_rows[instruction->form];
    bool reaches = rename_field(row, row->reg, &instruction->reg, from, to);
    reaches &= rename_field(row, row->vvvv, &instruction->vvvv, from, to);
    if (!instruction->has_memory)
        reaches &= rename_field(row, row->rm, &instruction->rm, from, to);
    if (row->shape == X86_RVMR)
        reaches &= rename_field(row, X86_V, &instruction->fourth, from, to);
    if (instruction->has_memory && row->shape >= X86_GATHER)
        reaches &= rename_field(row, X86_V, &instruction->memory.index, from, to);
    return reaches;
}

static void examine(struct hoisting *hoisting)
{
    struct machine *machine = hoisting->machine;
    const struct machine_effect *effects = hoisting->liveness->effects;
    machine_registers live = hoisting->liveness->end, used = 0;
    hoisting->live = arena_array(machine->arena, machine_registers, machine->body.count + 1);
    hoisting->places = arena_array(machine->arena, int, machine->labels + 1);
    hoisting->first = arena_array(machine->arena, int, machine->labels + 1);
    hoisting->last = arena_array(machine->arena, int, machine->labels + 1);
    for (int label = 0; label < machine->labels; label++) {
        hoisting->first[label] = machine->body.count;
        hoisting->last[label] = -1;
    }
    hoisting->live[machine->body.count] = live;
    for (int k = machine->body.count - 1; k >= 0; k--) {
        const struct x86_instruction *instruction = &machine->body.items[k];
        hoisting->live[k] = live = machine_live_before(&effects[k], live, hoisting->liveness->at);
        used |= live;
        if (instruction->form == X86_NO_FORM) {
            hoisting->places[instruction->label] = k;
            continue;
        }
        used |= effects[k].written;
        if (!machine_is_jump(instruction))
            continue;
        hoisting->first[instruction->label] = k;
        if (hoisting->last[instruction->label] < 0)
            hoisting->last[instruction->label] = k;
    }
    hoisting->free_vectors = (unsigned)~(used >> MACHINE_GENERALS);
    if (!machine_is_avx512(machine))
        hoisting->free_vectors &= 0xffff;
}

/* The last instruction that the constant at a place may reach before the register holds something else; -1:
 * something else is made of it. */
static int find_reach(const struct hoisting *hoisting, int at)
{
    const struct x86_instruction *items = hoisting->machine->body.items;
    machine_registers reg = bit_of(items[at].reg);
    int end = at;
    for (int k = at + 1; k < hoisting->machine->body.count; k++) {
        bool is_live = hoisting->live[k] & reg;
        end = is_live ? k : end;
        if (hoisting->liveness->effects[k].written & reg)
            return is_live ? -1 : end;
    }
    return end;
}

/* Likewise, where that is all that the register holds from there on to that one; else -1. */
static int find_end(const struct hoisting *hoisting, int at)
{
    const struct x86_instruction *items = hoisting->machine->body.items;
    machine_registers reg = bit_of(items[at].reg);
    int end = find_reach(hoisting, at);
    for (int k = at + 1; k <= end; k++) {
        int label = items[k].label;
        bool enters = items[k].form == X86_NO_FORM && hoisting->last[label] >= 0 &&
                      (hoisting->first[label] < at || hoisting->last[label] > end);
        bool leaves = items[k].form != X86_NO_FORM && machine_is_jump(&items[k]) &&
                      (hoisting->places[label] <= at || hoisting->places[label] > end);
        if ((enters || leaves) && (hoisting->liveness->at[label] & reg))
            return -1;
    }
    return end;
}

static bool is_number_load(const struct x86_instruction *instruction)
{
    return instruction->form == X86_VMOVSS_LOAD || instruction->form == X86_VMOVSD_LOAD;
}

/* Whether it puts what the load is of, in the same register, into all lanes. */
static bool spreads(const struct x86_instruction *instruction, const struct x86_instruction *load)
{
    return instruction->form == machine_spread_form(load->form == X86_VMOVSD_LOAD, instruction->bits) &&
           !instruction->has_memory && !instruction->mask && instruction->rm == load->reg;
}

/* Whether the instruction needs no more of the register than every lane of it as its first one. */
static bool takes_number(const struct x86_instruction *instruction, const struct x86_instruction *load)
{
    enum x86_form store = load->form == X86_VMOVSS_LOAD ? X86_VMOVSS_STORE : X86_VMOVSD_STORE;
    struct x86_instruction other = *instruction;
    if (spreads(instruction, load))
        return true;
    if (instruction->form == store && instruction->has_memory)
        return true;
    return rename_vector(&other, load->reg, -1) && other.reg == instruction->reg &&
           other.vvvv == instruction->vvvv && other.rm == instruction->rm &&
           other.fourth == instruction->fourth && other.memory.index == instruction->memory.index;
}

/* Whether the instruction has to do with the vector, or had before that was renamed. */
static bool concerns(const struct hoisting *hoisting, int at, int vector)
{
    const struct machine_effect *effect = &hoisting->liveness->effects[at];
    return (effect->read | effect->written) & bit_of(vector);
}

/* The number, just hoisted from a vector, in every lane of its own, where nothing but that is made of it. */
static void spread(struct hoisting *hoisting, struct x86_instruction *load, int vector, int from, int to)
{
    struct x86_instruction *items = hoisting->machine->body.items;
    if (!is_number_load(load))
        return;
    for (int k = from; k <= to; k++)
        if (concerns(hoisting, k, vector) && !takes_number(&items[k], load))
            return;
    for (int k = from; k <= to; k++)
        if (spreads(&items[k], load))
            items[k].form = X86_VMOVAPS;
    load->form = load->form == X86_VMOVSD_LOAD ? X86_VBROADCASTSD : X86_VBROADCASTSS;
    load->bits = machine_is_avx512(hoisting->machine) ? 512 : 256;
}

/* The constant at a place into a register of its own, which it has from before the loops on. */
static bool hoist(struct hoisting *hoisting, int at)
{
    struct x86_instruction *items = hoisting->machine->body.items;
    int end = find_end(hoisting, at), from = items[at].reg;
    if (end <= at || !hoisting->free_vectors)
        return false;
    int to = 31 - __builtin_clz(hoisting->free_vectors);
    for (int k = at; k <= end; k++) {
        struct x86_instruction trial = items[k];
        if (concerns(hoisting, k, from) && !rename_vector(&trial, from, to))
            return false;
    }
    for (int k = at; k <= end; k++)
        if (concerns(hoisting, k, from))
            rename_vector(&items[k], from, to);
    hoisting->free_vectors &= ~(1u << to);
    list_push(hoisting->machine->arena, &hoisting->hoisted, items[at]);
    spread(hoisting, &hoisting->hoisted.items[hoisting->hoisted.count - 1], from, at + 1, end);
    return true;
}

void machine_hoist_constants(struct machine *machine, const struct machine_liveness *liveness)
{
    struct hoisting hoisting = {.machine = machine, .liveness = liveness};
    machine_code *body = &machine->body;
    int head = 0, kept;
    examine(&hoisting);
    while (head < body->count && body->items[head].form != X86_NO_FORM)
        head++;
    kept = head;
    for (int k = head; k < body->count; k++)
        if (!is_constant(&body->items[k]) || !hoist(&hoisting, k))
            body->items[kept++] = body->items[k];
    machine_code rest = *body;
    rest.count = kept;
    machine->body = (machine_code){.count = 0};
    for (int k = 0; k < kept; k++) {
        for (int constant = 0; k == head && constant < hoisting.hoisted.count; constant++)
            machine_emit(machine, hoisting.hoisted.items[constant]);
        machine_emit(machine, rest.items[k]);
    }
}
