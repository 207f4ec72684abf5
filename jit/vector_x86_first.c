/*
 * vector_x86_first.c: the first round of a sum in a row of a band.
 *
 * Consumes a loop that only adds up, products perhaps; produces a round of its main loop whose vectors become
 * the partial results instead of being added to zeros: in a row of a few rounds additions are what takes its
 * time, and there is one less for each of the partial results. These begin with -0.0, or 0 of integers, to
 * which adding changes nothing.
 */
#include "vector_x86_loop.h"
#include "vector_x86_operation.h"

/* Whether the value adds to an accumulator that nothing else reads or changes. */
static bool only_adds(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    int count = 0;
    for (int k = 0; k < loop->values.count; k++)
        count += loop->values.items[k].kind == VECTOR_ACCUMULATE && loop->values.items[k].slot == value->slot;
    return count == 1 && value->mask < 0 && (value->operation == OP_ADD || value->operation == OP_FMA) &&
           loop->accumulators.items[value->slot].role == VECTOR_REDUCED;
}

static bool may_begin(const struct machine *machine)
{
    enum { MOST_VALUES = 8, MOST_WORK = 16 };
    const struct vector_loop *loop = machine->loop;
    if (!machine->is_row || !loop->accumulators.count || loop->calls || loop->choices.count ||
        loop->values.count > MOST_VALUES || vector_work(loop) > MOST_WORK)
        return false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind == VECTOR_ACCUMULATE
                ? !only_adds(machine, value)
                : value->kind == VECTOR_STORE || value->kind == VECTOR_SCATTER ||
                      value->kind == VECTOR_TEST || value->kind == VECTOR_TOTAL ||
                      value->kind == VECTOR_SET || value->kind == VECTOR_SCAN)
            return false;
    }
    return true;
}

static bool is_partial(const struct machine *machine, int reg)
{
    for (int k = 0; k < machine->kept.count; k++)
        if (machine->kept.items[k].kind == KEPT_PARTIAL && machine->kept.items[k].virtual_register == reg)
            return true;
    return false;
}

/* What is added goes where the sum went; false: that is no instruction which adds. */
static bool set_instead(struct x86_instruction *instruction)
{
    if (instruction->mask || instruction->broadcast)
        return false;
    switch (instruction->form) {
    case X86_VADDPS:
    case X86_VADDPD:
    case X86_VPADDD:
    case X86_VPADDQ:
        if (instruction->vvvv != instruction->reg)
            return false;
        instruction->form = instruction->has_memory ? X86_VMOVUPS_LOAD : X86_VMOVAPS;
        instruction->vvvv = 0;
        return true;
    case X86_VFMADD231PS:
        instruction->form = X86_VMULPS;
        return true;
    case X86_VFMADD231PD:
        instruction->form = X86_VMULPD;
        return true;
    default:
        return false;
    }
}

bool machine_build_first(struct machine *machine, machine_section *sections)
{
    if (!may_begin(machine))
        return false;
    for (int step = 0; step < machine->steps; step++) {
        machine_build_step(machine, &sections[step], step, step * machine->lanes, false);
        for (int k = 0; k < sections[step].count; k++) {
            struct machine_item *item = &sections[step].items[k];
            if (item->call ||
                (is_partial(machine, item->instruction.reg) && !set_instead(&item->instruction)))
                return false;
        }
    }
    return true;
}
