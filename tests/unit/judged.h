/*
 * judged.h: whether dependence_judge tells of a kernel what dependence_analyse does, as far as it is to.
 */
#ifndef TESTS_UNIT_JUDGED_H
#define TESTS_UNIT_JUDGED_H

#include "../../jit/dependence.h"

/* Checks that both give each loop the same verdict, and the same dependences: sources, sinks, kinds and the
 * loops that carry them; those of one iteration of all loops aside, of which it owes none between an access
 * and itself. `analysed` is of the same kernel. */
bool is_judged_alike(struct ir_kernel *kernel, const struct dependences *analysed);

#endif
