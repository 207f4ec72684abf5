/*
 * vector_x86_few.c: loops of few iterations, straight on.
 *
 * Consumes a vector loop; produces sections for as few iterations as there are. Where their number is known,
 * nothing is counted and nothing tested: whole vectors, and one for what is left, whose lanes are known, too.
 * Where it turns out to be no more than the lanes of a vector, a loop that accumulates is this one vector,
 * and only its partial results are made and combined: rows of a few elements would take longer for the others
 * than for all that they hold. Those are what they begin with, which changes nothing, so results are the
 * same.
 */
#include "vector_x86_loop.h"
#include "vector_x86_operation.h"

#include <limits.h>

int machine_known_count(const struct vector_loop *loop)
{
    const struct vector_nest *nest = loop->nest;
    bool has_rows = vector_is_rows(nest) && nest->loops[VECTOR_ROWS] == loop->stmt; /* which threads share */
    if ((loop->is_parted && !has_rows) || loop->is_even || loop->is_rest || loop->stops ||
        loop->choices.count || vector_has_scans(loop) ||
        (nest && (nest->inside || nest->merged || nest->is_flat)))
        return 0;
    for (int k = 0; k < loop->streams.count; k++)
        if (dtype_table[loop->streams.items[k].dtype].size < 4)
            return 0;
    return vector_extent_below(nest ? nest->loops[VECTOR_COLUMNS] : loop->stmt, INT_MAX);
}

static int whole_power(int number)
{
    int power = 1;
    while (power < number)
        power *= 2;
    return power;
}

/* All lanes that vectors of 128 bits have are worth it. */
static int narrow_lanes(const struct machine *machine, int known)
{
    int least = machine->loop->wide ? 2 : 4, lanes = whole_power(known < least ? least : known);
    return machine_is_plain(machine->loop) && !machine->calls && lanes < machine->lanes ? lanes
                                                                                        : machine->lanes;
}

/* What is left of whole vectors, in vectors that are less wide, or in one with a mask. */
static void build_left(struct machine *machine, struct machine_few *few, int done)
{
    int lanes = machine->lanes, left = few->known - done;
    if (!machine_can_have_pieces(machine)) {
        machine_build_step(machine, &few->vectors[few->count], few->count, done, true);
        few->count++;
        machine_tail(machine, &few->tail, 0);
        return;
    }
    for (int piece = lanes / 2; piece; piece /= 2) {
        machine->lanes = piece;
        if (left & piece) {
            machine_build_step(machine, &few->vectors[few->count++], 0, done, false);
            done += piece;
        }
    }
    machine->lanes = lanes;
}

/* Whether something is computed of how many iterations are done. */
static bool counts(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_INDEX)
            return true;
    return false;
}

void machine_build_known(struct machine *machine, struct machine_few *few)
{
    enum { MOST = 64, MOST_VALUES = 64 /* in all vectors */ };
    const struct vector_loop *loop = machine->loop;
    int count = machine_known_count(loop), known = count <= MOST ? count : 0;
    int lanes = known ? narrow_lanes(machine, known) : 1, whole = known / lanes,
        vectors = (known + lanes - 1) / lanes;
    if (!known || vectors > (loop->accumulators.count ? machine->steps : MACHINE_PARTIALS) ||
        (vectors > 1 && vectors * loop->values.count > MOST_VALUES))
        return;
    machine->lanes = lanes;
    if (loop->accumulators.count)
        machine->steps = whole_power(vectors);
    few->known = known;
    if (!counts(loop))
        machine->index = X86_NONE;
    for (; few->count < whole; few->count++)
        machine_build_step(machine, &few->vectors[few->count], few->count, few->count * lanes, false);
    if (known % lanes)
        build_left(machine, few, whole * lanes);
}

bool machine_lies_apart(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->streams.count; k++)
        if (loop->streams.items[k].step_kind == VECTOR_RUN_TIME_STEP && !loop->streams.items[k].is_gathered)
            return true;
    return false;
}

static bool can_be_few(const struct vector_loop *loop)
{
    enum { MOST_VALUES = 24 };
    for (int k = 0; k < loop->accumulators.count; k++)
        if (loop->accumulators.items[k].role != VECTOR_REDUCED)
            return false;
    return loop->accumulators.count && loop->values.count <= MOST_VALUES && !loop->nest && !loop->stops &&
           !loop->calls && !loop->is_even && !loop->is_rest && !loop->at_least && !vector_has_scans(loop);
}

void machine_build_few(struct machine *machine, struct machine_few *few)
{
    const struct vector_loop *loop = machine->loop;
    int steps = machine->steps;
    if (!can_be_few(loop) || machine_lies_apart(loop) || machine_known_count(loop) > machine->lanes)
        return;
    machine->steps = 1;
    machine_build_step(machine, &few->vectors[few->count++], 0, 0, true);
    machine_tail(machine, &few->tail, 0);
    machine->section = &few->result;
    for (int k = 0; k < loop->accumulators.count; k++)
        machine_build_result(machine, k);
    machine->steps = steps;
    few->kept = machine->kept.count;
}

void machine_place_few(struct machine *machine, struct machine_few *few)
{
    if (few->known && few->tail.count)
        machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                                       .reg = machine->count,
                                                       .immediate = few->known % machine->lanes});
    machine_allocate(machine, &few->tail);
    for (int k = 0; k < few->count; k++)
        machine_allocate(machine, &few->vectors[k]);
    machine_allocate(machine, &few->result);
}
