/*
 * machine.h: what this machine can do at most: its memory and its fused multiply-adds, measured once.
 */
#ifndef TOOLS_MACHINE_H
#define TOOLS_MACHINE_H

#include "support.h"

#include <stdio.h>

struct machine {
    char cpu[96];
    char vectors[16];      /* "avx512", "avx2" or "none": what was measured with */
    int processors;        /* of the machine */
    int threads;           /* that measured at once */
    double read;           /* bytes per second, summing what memory holds */
    double triad;          /* the same of a = b + s * c */
    double peak32, peak64; /* operations on float32 and float64 per second; a fused one is two */
};

/* Pins this thread, and those it makes, to `threads` processors, so that a system does not move them around.
 */
bool machine_restrict(int threads, struct problem *problem);

/* The path of the file in the cache directory, for free(); its folders are made. NULL: none is to be kept. */
char *machine_file(void);

/* Reads what was measured before, on this machine with so many threads, from that file, or measures, which
 * takes a second, and keeps it there where that can be done. `path` may be NULL. */
bool machine_know(const char *path, int threads, struct machine *machine, struct problem *problem);

/* Least seconds for so many bytes in memory: by the bandwidths of reading and of the triad. */
double machine_memory_seconds(const struct machine *machine, double bytes_read, double bytes_written);

/* The member "machine" of a report, without the brace at its end. */
void machine_print_json(const struct machine *machine, FILE *stream);

/* machine_probe.c: `seconds` of each; 0 where memory ran out. */
double machine_probe_read(int threads);
double machine_probe_triad(int threads);
double machine_probe_peak(int threads, bool is_float64);
/* "avx512", "avx2", "none". */
const char *machine_probe_vectors(void);

#endif
