/*
 * perf_map.h: the names of generated code for profilers.
 */
#ifndef JIT_PERF_MAP_H
#define JIT_PERF_MAP_H

#include "unwind.h"

/* Where AKG_PERF_MAP is set: a line in /tmp/perf-PID.map, where `perf report` looks for the names of code
 * that lies in no file. */
void perf_map_add(const struct code_function *function);

#endif
