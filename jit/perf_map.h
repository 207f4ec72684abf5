/*
 * perf_map.h: the names of generated code for profilers.
 */
#ifndef JIT_PERF_MAP_H
#define JIT_PERF_MAP_H

#include <stddef.h>

/* Where AKG_PERF_MAP is set: a line in /tmp/perf-PID.map, where `perf report` looks for the names of code
 * that lies in no file. `part` is which code of the kernel: "" or "akg_vector_0". */
void perf_map_add(const char *kernel, const char *part, const void *code, size_t size);

#endif
