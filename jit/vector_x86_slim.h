/*
 * vector_x86_slim.h: what a loop over lanes of 8 and 16 bits adds to one over lanes of 32 bits.
 */
#ifndef JIT_VECTOR_X86_SLIM_H
#define JIT_VECTOR_X86_SLIM_H

#include "vector_slim.h"
#include "vector_x86.h"

struct machine_slim {
    int lanes, steps; /* of a vector; vectors of a round */
    machine_section round[2], one, last, result;
};

/* The bodies; false: the loop has no such lanes. */
bool machine_build_slim(struct machine *machine, struct machine_slim *sections);
/* Before all other loops, which go on with the iterations that are left, by `index` and `count`.
 * `may_repeat`: iterations may be done twice. */
void machine_place_slim(struct machine *machine, struct machine_slim *sections, bool may_repeat);

#endif
