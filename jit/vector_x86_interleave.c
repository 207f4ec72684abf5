/*
 * vector_x86_interleave.c: bodies of several vectors, one instruction of each in turn.
 *
 * Consumes the sections of one round of the main loop, a vector's each; merges neighbours. Some hundred
 * instructions can wait for others in a processor: where each waits for the one before, as in a polynomial,
 * these are a few vectors' at most, and fill half of the time (exp, erf and gelu of bench/suite take 0.80 to
 * 0.71 of what they took one after the other). Assumes that vectors of a round do not depend on each other
 * but through what is kept, of which each has its own; leaves alone what uses general registers, calls,
 * labels, and lanes that are gone through one by one. Short bodies overlap by themselves, but those that look
 * for rare lanes come together to look once, and so do those of vector_x86_wrap.c.
 */
#include "vector_x86_loop.h"

enum { LONG = 16 /* instructions; shorter ones overlap by themselves */ };

static bool uses_general_registers(enum x86_form form)
{
    if (x86_is_general(form))
        return true;
    const struct x86_row *row = &x86_rows[form];
    return row->reg >= X86_D || row->vvvv >= X86_D || row->rm >= X86_D;
}

/* What is fetched ahead may come in any order. */
static bool is_fetch(const struct machine_item *item)
{
    return !item->call && item->instruction.form == X86_PREFETCH;
}

/* Lines that are fetched may be longer than vectors, and then not each vector fetches. */
static int count_without_fetches(const machine_section *section)
{
    int count = section->count;
    for (int k = 0; k < section->count; k++)
        count -= is_fetch(&section->items[k]);
    return count;
}

static bool is_straight(const machine_section *section)
{
    for (int k = 0; k < section->count; k++) {
        const struct machine_item *item = &section->items[k];
        if (machine_kind_of(item) == MACHINE_RARE || is_fetch(item))
            continue;
        if (item->call || item->instruction.form == X86_NO_FORM ||
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
        if (loop->values.items[k].kind == VECTOR_SCATTER || loop->values.items[k].kind == VECTOR_SCAN)
            return false;
    return true;
}

/* One division goes on at a time, and what waits for it had better not hold up that of two others. */
static bool divides(const machine_section *section)
{
    for (int k = 0; k < section->count; k++) {
        enum x86_form form = section->items[k].instruction.form;
        if (form == X86_VDIVPS || form == X86_VDIVPD || form == X86_VSQRTPS || form == X86_VSQRTPD)
            return true;
    }
    return false;
}

static bool looks_for_rare_lanes(const machine_section *section)
{
    for (int k = 0; k < section->count; k++)
        if (machine_kind_of(&section->items[k]) == MACHINE_RARE)
            return true;
    return false;
}

/* An instruction of each section in turn. */
static machine_section merged(struct machine *machine, const machine_section *sections, int count)
{
    machine_section result = {NULL, 0, 0};
    int most = 0, all = 0;
    for (int s = 0; s < count; s++) {
        most = sections[s].count > most ? sections[s].count : most;
        all += sections[s].count;
    }
    list_reserve(machine->arena, &result, all);
    for (int k = 0; k < most; k++)
        for (int s = 0; s < count; s++)
            if (k < sections[s].count)
                list_push(machine->arena, &result, sections[s].items[k]);
    return result;
}

/* With 16 registers as many values again may go home in between: that costs less than it takes to wait (mish,
 * softplus, sine and gelu by tanh take 0.63 to 0.8 of what they took where all had to stay in registers). */
static int most_pressure(const struct machine *machine)
{
    int free = machine_is_avx512(machine) ? MACHINE_VECTORS : 2 * 16;
    for (int k = 0; k < machine->kept.count; k++)
        free -= machine->kept.items[k].kind == KEPT_PARTIAL || machine->kept.items[k].kind == KEPT_BESIDE;
    return free;
}

void machine_interleave(struct machine *machine, machine_section *sections, int count)
{
    int wanted = count_without_fetches(&sections[0]), free = most_pressure(machine);
    bool is_short = wanted < LONG && !looks_for_rare_lanes(&sections[0]) && !machine->wrap;
    if (count < 2 || is_short || !may_interleave(machine->loop))
        return;
    for (int k = 0; k < count; k++)
        if (!is_straight(&sections[k]) || count_without_fetches(&sections[k]) != wanted)
            return;
    for (int group = count % 4 == 0 && !divides(&sections[0]) ? 4 : 2; group >= 2; group /= 2) {
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
