/*
 * vector_x86_width.c: how wide the vectors of a loop are.
 *
 * Consumes a loop, and what the processor is good at; says whether vectors of half the width are better, or
 * those of AVX2 all that has code for it.
 */
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_slim.h"

bool machine_is_plain(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        if (stream->step_kind != VECTOR_UNIT || stream->is_masked || stream->is_gathered ||
            dtype_table[stream->dtype].size < 4)
            return false;
    }
    return true;
}

/* A float that becomes an integer is compared twice for that. */
static bool saturates(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && value->operation == OP_CAST && dtype_is_float(value->from) &&
           dtype_is_integer(value->dtype);
}

/* Whether a loop that hardly does more than load, and store or accumulate, is better off with vectors of 256
 * bits, by its processor.
 *
 * Where 512 bits are computed by halves, a store of as many takes more than two of 256, and caches, at times,
 * longer to come by the next line; a body of few instructions is not held up by twice as many. Zen 4,
 * 2026-11-25: a * x + y of 2,048 elements 105 -> 84 ns, sums of 6,144 127 -> 120, of 16M 0.92 to 0.96; of
 * eight instructions and more it is the other way.
 *
 * Where they lower the clock (3.4 to 2.8 GHz), and stores one after the other wait, loops that store gain
 * that compute no more often than they load and store; sums, which only load, do not. Ice Lake, 2026-11-29:
 * squares of 3,072 171 -> 97 ns, of 131,072 16.7 -> 11.3 us, three points of 60,000 10.6 -> 7.0; but three
 * products and sums of one element of 2,048 99 -> 137 ns, sums of 262,144 11.5 -> 13.1 us. */
static bool is_light(const struct vector_loop *loop, const struct vector_options *options)
{
    enum { MOST = 6 };
    int work = vector_work(loop), moved = 0;
    for (int k = 0; k < loop->values.count; k++) {
        enum vector_kind kind = loop->values.items[k].kind;
        moved += kind == VECTOR_LOAD || kind == VECTOR_STORE;
    }
    return options->splits ? loop->accumulators.count <= 1 && work <= MOST
                           : options->slows && !loop->accumulators.count && work - moved <= moved;
}

/* Whether a loop by itself has vectors of half the width. */
bool machine_goes_by_halves(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    struct vector_slim slim; /* has whole vectors, and shares partial results */
    bool may_have_rows = machine->options->slows && vector_is_rows(loop->nest);
    if (!machine_is_avx512(machine) || loop->is_serial || (loop->nest && !may_have_rows) || loop->calls ||
        loop->stops || loop->is_even || loop->choices.count || vector_has_scans(loop) ||
        !machine_is_plain(loop))
        return false;
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].mask >= 0 || saturates(&loop->values.items[k]))
            return false; /* conditions take as many instructions for fewer lanes */
    return is_light(loop, machine->options) && !vector_is_slim(machine->arena, loop, machine->options, &slim);
}

/* What is left of the groups is done one by one, which takes longer than the vectors: groups are of as many
 * as half a vector of AVX-512 has. Triangular systems of 80, 200 and 500 rows, 663, 1990 and 8750 ns with
 * groups of 16, with groups of 8 605, 1770 and 8000; by AVX2 625, 2780 and 12870, and 605, 1770 and 11570
 * (Zen 4, 2026-11-30). */
int vector_even_group(const struct vector_loop *loop)
{
    int lanes = vector_group(loop->wide);
    if (loop->calls || loop->stops || loop->choices.count || vector_has_scans(loop) ||
        !machine_is_plain(loop))
        return lanes;
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].mask >= 0 || saturates(&loop->values.items[k]))
            return lanes;
    return lanes / 2;
}

/* Bytes in groups that AVX-512 has no code for: to load them it is enough that bytes are permuted. */
static bool has_groups_of_bytes(const struct vector_loop *loop, const struct vector_options *options)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if ((value->kind != VECTOR_LOAD && value->kind != VECTOR_STORE) ||
            dtype_table[value->dtype].size != 1 || !vector_has_groups(&loop->streams.items[value->stream]))
            continue;
        if (value->kind == VECTOR_LOAD ? !options->permutes
                                       : !machine_can_store_permuted(loop, options, value))
            return true;
    }
    return false;
}

/* Whether it is only with vectors of 256 bits that the loop has code that suits it: running sums, bytes in
 * groups. */
bool vector_suits_avx2(struct arena *arena, const struct vector_loop *loop,
                       const struct vector_options *options)
{
    struct vector_slim slim;
    return vector_has_scans(loop) ||
           (has_groups_of_bytes(loop, options) && !vector_is_slim(arena, loop, options, &slim));
}
