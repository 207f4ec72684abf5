/*
 * vector_x86_slim.h: what a loop over lanes of 8 and 16 bits adds to one over lanes of 32 bits.
 */
#ifndef JIT_VECTOR_X86_SLIM_H
#define JIT_VECTOR_X86_SLIM_H

#include "vector_slim.h"
#include "vector_x86.h"

struct machine_slim {
    int lanes, steps; /* of a vector; vectors of a round */
    bool has_tail;    /* `last` is of what is left, under a mask */
    machine_section round[2], one, last, result;
};

/* The bodies; false: the loop has no such lanes. */
bool machine_build_slim(struct machine *machine, struct machine_slim *sections);
/* Before all other loops, which go on with the iterations that are left, by `index` and `count`.
 * `may_repeat`: iterations may be done twice, but for what they add up. */
void machine_place_slim(struct machine *machine, struct machine_slim *sections, bool may_repeat);

/* ---- what the files of it share ---- */

struct slim_body {
    struct machine *machine;
    const struct vector_slim *slim;
    const int *registers; /* of the values so far */
    int step;             /* of a round, which vector it is */
    int bits;             /* of a vector */
    int tail;             /* the mask of the lanes that there are; 0: all */
};

/* Of kept vectors as wide as the machine's. */
enum vector_type slim_vector_type(const struct machine *machine);
/* The 32 bits again and again; a number in all lanes. */
int slim_repeated(const struct slim_body *body, uint32_t bits);
int slim_number(const struct slim_body *body, int64_t number);
int slim_apply(const struct slim_body *body, enum x86_form form, int a, int b);
/* `form`: that of AVX2. */
int slim_shift_words(const struct slim_body *body, enum x86_form form, int a, int count);
/* a where the condition holds, else b; else 0. */
int slim_blend(const struct slim_body *body, int bits, int condition, int a, int b);
int slim_where(const struct slim_body *body, int condition, int a);
/* Which lanes are not 0. */
int slim_truth(const struct slim_body *body, int a);

/* ---- vector_x86_slim_memory.c ---- */

int slim_load(const struct slim_body *body, const struct vector_value *value);
void slim_store(const struct slim_body *body, const struct vector_value *value, int a);

/* ---- vector_x86_slim_step.c ---- */

/* Whether an element of 8 bits can be had so in lanes of 32. */
bool machine_can_permute(const struct machine *machine, const struct vector_value *value);
int machine_load_permuted(struct machine *machine, const struct vector_value *value);
/* Likewise stores of all elements of 8 bits that an iteration steps over, with the last of them. False: it is
 * none of these. */
bool machine_can_store_permuted(const struct vector_loop *loop, const struct vector_options *options,
                                const struct vector_value *value);
bool machine_store_permuted(struct machine *machine, const struct vector_value *value, const int *registers);
int slim_load_step(const struct slim_body *body, const struct vector_value *value);
/* Stores all elements of the iteration with the last of them. */
void slim_store_step(const struct slim_body *body, const struct vector_value *value);
/* The table that the bits stand for. */
void slim_permutation(uint64_t bits, unsigned char table[64]);

#endif
