/*
 * vector_x86_uncrossed.c: lanes that stay in their half of a vector, with AVX2.
 *
 * Consumes a loop; says whether whole vectors of it hold their iterations in the order 0 1 4 5 2 3 6 7. That
 * is how two vectors of elements side by side fall apart into every other one within halves, and how two
 * vectors come together again. What brings lanes to the other half takes processors longer: three cycles, or
 * several operations. So where elements lie in pairs (pooling, complex numbers), it is rather what lies one
 * behind the other that changes halves, if that is less of it. Assumes that the lanes of a vector know
 * nothing of each other; vectors of which lanes are left out have the order of memory.
 */
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"

static bool stays(const struct vector_stream *stream)
{
    return stream->step_kind == VECTOR_CONSTANT_STEP && stream->step == 0;
}

/* What crosses now, less what would. */
static int crossings_saved(const struct vector_loop *loop, const struct vector_value *value)
{
    const struct vector_stream *stream = &loop->streams.items[value->stream];
    return stays(stream) ? 0 : stream->step_kind == VECTOR_UNIT ? -1 : 1;
}

/* Elements of 32 bits, none of which is masked: all of one place, side by side, or both of each two,
 * which are stored together. */
static bool is_known(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    if (dtype_table[stream->dtype].size != 4 || stream->is_gathered || stream->is_masked || value->mask >= 0)
        return false;
    if (stream->step_kind == VECTOR_UNIT)
        return true;
    if (stream->step_kind != VECTOR_CONSTANT_STEP)
        return false;
    if (value->kind == VECTOR_STORE)
        return stream->step == 2 && machine_other_store(machine, value);
    int even = (value->offset - stream->low) & ~1;
    return stream->step == 0 || (stream->step == 2 && stream->low + even < stream->high);
}

static bool is_lane_by_lane(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    switch (value->kind) {
    case VECTOR_CONSTANT:
    case VECTOR_SCALAR:
    case VECTOR_FUSED:
        return true;
    case VECTOR_OPERATION:
        return dtype_table[value->dtype].size <= 4 && dtype_table[value->from].size <= 4;
    case VECTOR_ACCUMULATE:
        return loop->accumulators.items[value->slot].role == VECTOR_REDUCED && value->mask < 0;
    case VECTOR_LOAD:
    case VECTOR_STORE:
        return is_known(machine, value);
    default:
        return false;
    }
}

bool machine_may_leave_uncrossed(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    int saved = 0;
    if (machine_is_avx512(machine) || machine->lanes != 8 || machine->is_short || machine->shared ||
        loop->wide || loop->calls || loop->stops || loop->is_serial || loop->is_even || loop->band ||
        loop->is_part || loop->choices.count || loop->picks.count ||
        (loop->nest && !vector_is_rows(loop->nest)))
        return false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (!is_lane_by_lane(machine, value))
            return false;
        if (value->kind == VECTOR_LOAD || value->kind == VECTOR_STORE)
            saved += crossings_saved(loop, value);
    }
    return saved > 0;
}

int machine_crossed(struct machine *machine, int operand)
{
    enum { INNER = 0xd8 /* of four pairs of lanes the second and the third change places */ };
    return machine->is_uncrossed ? machine_rmi(machine, X86_VPERMPD_BY, 256, operand, INNER) : operand;
}
