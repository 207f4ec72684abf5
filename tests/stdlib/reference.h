/*
 * reference.h: what each operator of the table is compared with: plain loops in double that append the
 * expected results to the trial. They share nothing with the .akg files but the names of the parameters.
 */
#ifndef TESTS_STDLIB_REFERENCE_H
#define TESTS_STDLIB_REFERENCE_H

#include "trial.h"

#define OPERATOR(name, dtypes, bound, gradient, cases, timed) void reference_##name(struct trial *trial);
#include "operators.def"
#undef OPERATOR

/* The first word of Philox4x32-10 for that counter and key. */
uint32_t reference_philox(uint64_t low, uint64_t high, uint64_t key);

#endif
