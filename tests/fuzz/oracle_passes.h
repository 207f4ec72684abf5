/*
 * oracle_passes.h: a kernel as the analyses leave it against itself after optimising passes in random order:
 * both are interpreted, and must stop at the same place or give the same bits.
 */
#ifndef TESTS_FUZZ_ORACLE_PASSES_H
#define TESTS_FUZZ_ORACLE_PASSES_H

#include "oracle_run.h"

/* Of one call. What is wrong is appended to `detail`. */
bool oracle_passes_agree(const struct jit_instance *instance, const struct akg_kernel *kernel,
                         const struct inputs *arguments, uint64_t seed, struct text *detail);

#endif
