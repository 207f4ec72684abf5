/*
 * vector_x86_wrap.c: main loops for remainders of what is off by one divisor at most.
 *
 * Consumes the body of a loop with remainders of floats by known numbers above 0; produces two more main
 * loops, which come first: one for what is not below 0 and below twice the divisor, as of a sum that is
 * wrapped around, one for what is less than a divisor to either side, as of a difference. There a remainder
 * takes a sum and a choice instead of a product, a rounding and another product (vector_x86_modulo.c). One
 * vector tells whether a loop is tried; the greatest of its remainders then tells, behind each round, whether
 * all of them are any. A round in which some are not is done again, and all behind it, by the next loop; the
 * main loop comes last.
 * Assumes that a round may be done again: nothing that the loop loads is stored by it, it accumulates
 * nothing, and pointers move only with the index.
 */
#include "vector_x86_loop.h"
#include "vector_x86_operation.h"

enum { ROUNDS = 2 /* of fewer the main loop does as well */ };

/* Where more than remainders takes the time, another loop is not worth its code. */
static bool is_small(const struct vector_loop *loop)
{
    enum { MOST_VALUES = 16, MOST_WORK = 16 };
    int work = vector_work(loop);
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind == VECTOR_OPERATION && value->operation == OP_MOD)
            work -= vector_latency(value);
    }
    return loop->values.count <= MOST_VALUES && work <= MOST_WORK;
}

/* Before all rounds, a vector by itself. */
static void build_probe(struct machine *machine, machine_section *section)
{
    machine->section = section;
    for (int k = 0; k < machine->kept.count; k++) {
        const struct machine_kept *kept = &machine->kept.items[k];
        int greatest = kept->virtual_register;
        if (kept->kind == KEPT_WRAPPED)
            machine_into(machine, X86_VXORPS, machine_bits(machine, kept->type), greatest, greatest, greatest,
                         0);
    }
    machine_build_step(machine, section, 0, 0, false);
    machine_test_wrapped(machine);
}

/* A round. The test stands behind all stores, and the greatest remainder is that of all rounds before, too: a
 * store behind a test, and a chain that begins anew, upset how Zen 4 hands operations to its pipes (the loop
 * takes up to a tenth more). */
static void build_round(struct machine *machine, machine_section *sections)
{
    machine_build_round(machine, sections);
    machine_interleave(machine, sections, machine->steps);
    machine->section = &sections[machine->steps - 1];
    machine_test_wrapped(machine);
}

void machine_build_wrapped(struct machine *machine, struct machine_wrapped *wrapped)
{
    const struct vector_loop *loop = machine->loop;
    int steps = machine->steps;
    wrapped->is_there = machine->has_remainders && !loop->accumulators.count && !loop->choices.count &&
                        is_small(loop) && machine_is_plain(loop) && machine_may_repeat(machine);
    machine->steps = MACHINE_WRAP_STEPS;
    for (int k = 0; k < MACHINE_WRAPS && wrapped->is_there; k++) {
        machine->wrap = MACHINE_WRAP_ABOVE + k;
        build_round(machine, wrapped->main[k]); /* which tells what is kept */
        build_probe(machine, &wrapped->probe[k]);
    }
    machine->wrap = MACHINE_WRAP_NOT;
    machine->steps = steps;
}

void machine_place_wrapped(struct machine *machine, struct machine_wrapped *wrapped)
{
    int done = machine->labels++, steps = machine->steps;
    machine->steps = MACHINE_WRAP_STEPS;
    for (int k = 0; k < MACHINE_WRAPS; k++) {
        machine->unwrapped = machine->labels++;
        machine_emit_by(machine, X86_CMP_BY, machine->count, ROUNDS * machine->lanes * machine->steps);
        machine_emit_jump(machine, X86_JL, done);
        machine_allocate(machine, &wrapped->probe[k]);
        machine_place_rounds(machine, wrapped->main[k], 0, machine->unwrapped);
    }
    machine->steps = steps;
    machine_emit_label(machine, done);
}
