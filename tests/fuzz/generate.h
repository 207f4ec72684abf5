/*
 * generate.h: random .akg programs that are right by construction.
 *
 * A program is one kernel `k`, with helper functions, and comment lines that say how to call it:
 *     #@ k SEED ARGUMENT...
 * An argument is DTYPE[EXTENT,...] (a tensor; `~` after it: of a layout that is not contiguous), @N (the
 * tensor of argument N again), tensors=DTYPE[...]+DTYPE[...] (for a variadic parameter), int=N, real=X,
 * bool=0 or 1, text=WORD, ints=N,N, or none. SEED decides what the tensors hold. So a program is complete in
 * itself: it can be cut down, mutated and sent around as text.
 */
#ifndef TESTS_FUZZ_GENERATE_H
#define TESTS_FUZZ_GENERATE_H

#include "../../base/text.h"

/* Appends the program of that seed. */
void generate_program(struct text *out, uint64_t seed);

#endif
