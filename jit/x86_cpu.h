/*
 * x86_cpu.h: which vector instructions there are, and which of them this processor is slow at.
 *
 * Asks the processor, and the operating system whether it keeps the registers (xgetbv). A target may be asked
 * for by name, so that what a better processor would not choose can be tested on it.
 */
#ifndef JIT_X86_CPU_H
#define JIT_X86_CPU_H

#include <stdbool.h>

/* Each one includes those before it. */
enum x86_target {
    X86_TARGET_NONE,  /* no vector code */
    X86_TARGET_AVX2,  /* AVX2, FMA, F16C, BMI2 */
    X86_TARGET_AVX512 /* AVX-512 F, BW, DQ, VL */
};

/* The best one of this processor. */
enum x86_target x86_cpu_target(void);
/* The bytes of all that a loop goes over from which on its stores are to pass by the caches, on this
 * processor; 0: lines are to be fetched ahead of them instead. */
int x86_cpu_stream_bytes(void);
/* The bytes of the cache that is nearest to a core; 32 KiB where that is not known. */
int x86_cpu_nearest_bytes(void);
/* Whether this processor computes, loads and stores vectors of 512 bits in two halves. */
bool x86_cpu_splits_vectors(void);
/* Whether its clock is lower while it computes floats by vectors of 512 bits. */
bool x86_cpu_slows_for_vectors(void);
/* Whether a gather takes it longer than loads of as many lanes one by one. */
bool x86_cpu_gathers_slowly(void);
/* Whether it has AVX-512 VBMI. */
bool x86_cpu_permutes_bytes(void);
/* Whether it has AVX-512 VPOPCNTDQ. */
bool x86_cpu_counts_bits(void);
const char *x86_target_name(enum x86_target target);
/* False when there is none of that name. */
bool x86_target_from_name(const char *name, enum x86_target *target);

#endif
