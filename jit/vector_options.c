/*
 * vector_options.c: what vector code is made for on this processor.
 *
 * Consumes what x86_cpu.h says of it; a module and `emit --stage asm` begin with the same options, so that
 * the latter shows what a call runs.
 */
#include "vector.h"

struct vector_options vector_options_here(enum x86_target target)
{
    return (struct vector_options){.target = target,
                                   .stream_bytes = x86_cpu_stream_bytes(),
                                   .permutes = x86_cpu_permutes_bytes(),
                                   .counts_bits = x86_cpu_counts_bits(),
                                   .splits = x86_cpu_splits_vectors(),
                                   .slow_gathers = x86_cpu_gathers_slowly(),
                                   .slows = x86_cpu_slows_for_vectors()};
}

bool vector_options_same(const struct vector_options *a, const struct vector_options *b)
{
    return a->target == b->target && a->strict == b->strict && a->trust_indices == b->trust_indices;
}
