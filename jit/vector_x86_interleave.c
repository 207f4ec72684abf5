/*
 * vector_x86_interleave.c: long bodies of several vectors, one instruction of each in turn.
 *
 * Consumes the sections of one round of the main loop, a vector's each; merges neighbours. A processor looks
 * some hundred instructions ahead: where a body is longer than that and each instruction waits for the one
 * before, the next vector's would come too late to fill the time. Assumes that vectors of a round do not
 * depend on each other but through what is kept, of which each has its own; leaves alone what uses general
 * registers, calls, labels, and lanes that are gone through one by one.
 */
#include "vector_x86.h"

enum { LONG = 100 /* instructions; shorter ones overlap by themselves */, LONGER = 200 };

static bool uses_general_registers(enum x86_form form)
{
    if (x86_is_general(form))
        return true;
    const struct x86_row *row = &x86_rows[form];
    return row->reg >= X86_D || row->vvvv >= X86_D || row->rm >= X86_D;
}

static bool is_straight(const machine_section *section)
{
    for (int k = 0; k < section->count; k++) {
        const struct machine_item *item = &section->items[k];
        if (item->kind != MACHINE_INSTRUCTION || item->instruction.form == X86_NO_FORM ||
            uses_general_registers(item->instruction.form))
            return false;
    }
    return true;
}

static bool may_interleave(const struct vector_loop *loop)
{
    if (loop->calls || loop->stops || loop->picks.count)
        return false;
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_SCATTER)
            return false;
    return true;
}

/* An instruction of each section in turn. */
static machine_section merged(struct machine *machine, const machine_section *sections, int count)
{
    machine_section result = {NULL, 0, 0};
    for (int k = 0; k < sections[0].count; k++)
        for (int s = 0; s < count; s++)
            if (k < sections[s].count)
                list_push(machine->arena, &result, sections[s].items[k]);
    return result;
}

void machine_interleave(struct machine *machine, machine_section *sections, int count)
{
    int free = machine_is_avx512(machine) ? MACHINE_VECTORS : 16;
    if (count < 2 || sections[0].count < LONG || !may_interleave(machine->loop))
        return;
    for (int k = 0; k < machine->kept.count; k++)
        free -= machine->kept.items[k].kind == KEPT_PARTIAL;
    for (int k = 0; k < count; k++)
        if (!is_straight(&sections[k]) || sections[k].count != sections[0].count)
            return;
    for (int group = sections[0].count > LONGER && count % 4 == 0 ? 4 : 2; group >= 2; group /= 2) {
        machine_section first = merged(machine, sections, group);
        if (machine_pressure(machine, &first) > free)
            continue;
        for (int k = 0; k + group <= count; k += group) {
            sections[k] = k ? merged(machine, sections + k, group) : first;
            for (int s = 1; s < group; s++)
                sections[k + s].count = 0;
        }
        return;
    }
}
