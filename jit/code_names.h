/*
 * code_names.h: names for generated code, for profilers and debuggers.
 */
#ifndef JIT_CODE_NAMES_H
#define JIT_CODE_NAMES_H

#include "backend_tcc.h"
#include "vector_plan.h"

/* C of a function that stands behind all others, so that it is known where these end. */
#define CODE_NAMES_END "void akg_end(void) {}\n"

/* Names the code and the vector loops of the plan, whose pages are still its own: "akg:KERNEL", and for parts
 * of it "akg:KERNEL:PART". They go when the pages are freed. What memory does not suffice for stays without.
 */
void code_names_add(const char *kernel, struct backend_code *code, struct vector_plan *plan);

#endif
