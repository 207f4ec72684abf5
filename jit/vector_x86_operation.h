/*
 * vector_x86_operation.h: from values in registers to others: operations, casts, what there is no instruction
 * for, what is accumulated. Registers are virtual; what it appends goes into the section of the machine.
 */
#ifndef JIT_VECTOR_X86_OPERATION_H
#define JIT_VECTOR_X86_OPERATION_H

#include "vector_x86.h"

/* ---- vector_x86_operation.c ---- */

int machine_operation(struct machine *machine, const struct vector_value *value, const int *operands);
/* An accumulator's operation on vectors of `bits`. */
void machine_accumulate(struct machine *machine, const struct vector_value *value, int accumulator,
                        const int *operands, int mask);
int machine_combine(struct machine *machine, enum operation operation, akg_dtype dtype, int bits, int a,
                    int b);
/* The value into an accumulator, where the mask (0: there is none) allows. */
void machine_put(struct machine *machine, enum vector_type type, int accumulator, int value, int mask);

/* ---- vector_x86_convert.c ---- */

int machine_cast(struct machine *machine, akg_dtype to, akg_dtype from, int a);
/* The halves whose bits are the low ones of lanes of 32 bits (AVX-512). */
int machine_half_of_bits(struct machine *machine, akg_dtype dtype, int a);
/* Of a float rounded to the nearest whole number, to an integer of 8 or 16 bits. */
int machine_cast_rounded(struct machine *machine, akg_dtype to, int a);
/* Of float32 to an integer of 8 or 16 bits, as a number of 32 bits whose nearest one of those it is: with
 * AVX-512. */
int machine_cast_to_cut(struct machine *machine, const struct vector_value *value, int a);
/* Of a whole float, by AVX2. */
int machine_cast_whole(struct machine *machine, const struct vector_value *value, int a);
/* Integers in 32-bit lanes as their dtype extends them; halves rounded. */
int machine_normal(struct machine *machine, akg_dtype dtype, int a);

/* ---- vector_x86_wide.c: what AVX2 has no instruction for ---- */

int machine_wide_product(struct machine *machine, int bits, int a, int b);
int machine_wide_extreme(struct machine *machine, bool least, bool is_signed, int bits, int a, int b);
int machine_wide_magnitude(struct machine *machine, int bits, int a);
int machine_wide_shift_right(struct machine *machine, int bits, int a, int count); /* of signed ones */
int machine_wide_to_double(struct machine *machine, bool is_signed, int bits, int a);
int machine_wide_to_single(struct machine *machine, bool is_signed, int bits, int a);
int machine_natural_to_single(struct machine *machine, int bits, int a); /* from uint32 */
int machine_natural_to_double(struct machine *machine, int bits, int a);
int machine_single_to_signed(struct machine *machine, int bits, int a); /* to int32 */
int machine_double_to_signed(struct machine *machine, int bits, int a);
int machine_single_to_natural(struct machine *machine, int bits, int a); /* to uint32 */
int machine_double_to_natural(struct machine *machine, int bits, int a); /* to the low halves of lanes */
int machine_double_to_wide(struct machine *machine, bool is_signed, int bits, int a);
int machine_whole_to_wide(struct machine *machine, bool is_short, int bits, int a); /* of up to 51 bits */

/* ---- vector_x86_divide.c ---- */

/* A quotient by what is the same all the time; -1: it takes a division. */
int machine_quotient(struct machine *machine, const struct vector_value *value, const int *operands);
/* Of integers, by a constant above 1. */
int machine_floor_quotient(struct machine *machine, akg_dtype dtype, int a, uint32_t divisor);
/* Whether there are divisors that are known only when the loop is reached. */
bool machine_has_quotients(const struct machine *machine);
/* Goes to a label where the exponent of one is too small or too large. */
void machine_test_divisors(struct machine *machine, int otherwise);
/* What the main loop for many iterations needs, besides what all need. */
void machine_setup_reciprocals(struct machine *machine, machine_section *section);

/* ---- vector_x86_extreme.c ---- */

/* The least or greatest of several values, nan left out. */
struct machine_chain {
    const machine_section *section;
    int result;
    LIST(int) leaves;
};

int machine_extreme(struct machine *machine, enum operation operation, akg_dtype dtype, int bits, int a,
                    int b);
/* Of an operation MIN or MAX. */
int machine_extreme_value(struct machine *machine, const struct vector_value *value, const int *operands);
/* What a choice that is the greater or the lesser of two floats gives; 0: it is none. */
int machine_chosen_extreme(struct machine *machine, const struct vector_value *value, const int *operands);

/* Whether partial results of this accumulator, of MIN or MAX, leave nan to others beside them. */
bool machine_has_nan_apart(const struct machine *machine, int number);
/* The better one, for an accumulator that is quiet. */
int machine_quiet_extreme(struct machine *machine, const struct vector_accumulator *row, int bits, int best,
                          int other);
void machine_accumulate_extreme(struct machine *machine, const struct vector_value *value, int step,
                                int operand, int mask);
/* Whether partial results, and what looks for nan, begin with what was there before the loop, so that nothing
 * is combined behind it: of short parts, whose next ones wait for that. */
bool machine_begins_with_start(const struct machine *machine, int number);
/* In one lane; otherwise without what was there before the loop. */
int machine_result_of_extreme(struct machine *machine, int number);

/* ---- vector_x86_result.c ---- */

/* How many vectors a round of the main loop has, each with partial results of its own. */
int machine_steps(const struct machine *machine);
/* The upper half of what is left of a vector, to be combined with the lower one. */
int machine_upper_half(struct machine *machine, int a, int left, bool wide);
/* Of partial results or lanes a and b. */
typedef int machine_combiner(struct machine *machine, const struct vector_accumulator *row, int bits, int a,
                             int b);
/* All partial results of an accumulator as one, in one lane. */
int machine_reduce(struct machine *machine, int number, machine_combiner *combine);
/* That, combined with what was there before the loop, to where it is taken from. */
void machine_build_result(struct machine *machine, int number);

/* ---- vector_x86_scan.c ---- */

/* KEPT_SCANNED. */
void machine_setup_scanned(struct machine *machine, const struct machine_kept *kept);
/* A SCAN of what is in the lanes of the mask (0: all). `before`: what was there before each lane, where that
 * is asked for. */
int machine_scan(struct machine *machine, const struct vector_value *value, int term, int mask, int step,
                 int *before);
/* Back into its slot. */
void machine_scan_result(struct machine *machine, int accumulator);

/* ---- vector_x86_math.c ---- */

/* One of the operations that vector_is_inline names, on float32 or float64. */
int machine_inline(struct machine *machine, const struct vector_value *value, const int *operands);
/* 1 / sqrt(x) of float32, with AVX-512. */
int machine_reciprocal_root(struct machine *machine, int x);
/* sqrt(x) of float32, with AVX-512; of_size: -0 and -infinity taken without their sign. */
int machine_estimated_root(struct machine *machine, int x, bool of_size);

/* ---- vector_x86_rare.c ---- */

enum { MACHINE_GATE = 4 /* vectors at most that are looked at together for rare lanes */ };

/* What tells the rare lanes of a vector. */
enum rarity {
    RARITY_SIZE,     /* a size that has no sign, above the limit */
    RARITY_QUOTIENT, /* with AVX-512: one that comes of arithmetic, whose sign does not count */
    RARITY_REST,     /* the result itself, a remainder, which is not from 0 to below y */
    RARITY_WRAP      /* likewise the greatest of all, and then the round is another loop's */
};

/* The arguments of a function, y being -1 where there is one, by what they are told to be rare, and what
 * there is in place of the function's result. */
struct machine_rarity {
    enum rarity kind;
    int x, y, size, result;
};

/* Code out of line, where a function of vectors is called for the rare lanes of some vectors: those whose
 * size is above the bound, or whose rest is none by it, looked at again. */
struct machine_rare {
    int label, back, line; /* where it begins, and where it goes on */
    const void *function;
    struct machine_rarity vectors[MACHINE_GATE]; /* with the machine's registers */
    int count, bound, mask, bits;                /* `mask`: what the test found */
    bool wide;
};

/* The result, which is the function's in those lanes whose size is above the limit, or that are rare
 * otherwise. */
int machine_rare(struct machine *machine, enum operation operation, enum vector_type type, double limit,
                 struct machine_rarity rarity);
/* Tests the greatest of all remainders so far, in a loop for what is off by one divisor at most: where one is
 * none, jumps to another loop. */
void machine_test_wrapped(struct machine *machine);
/* Tests before the calls of the section, one for neighbours. */
void machine_gate(struct machine *machine, machine_section *section);
/* The jump to it, and back, whose operands are in registers. */
void machine_rare_jump(struct machine *machine, const struct machine_call *call, const int *registers);
/* Where the code between entry and exit ends: what it jumps to. */
void machine_place_rare(struct machine *machine);

#endif
