/*
 * vector_x86_memory.h: elements on their way between memory and registers, by how they lie there.
 *
 * One behind the other, by a step, in groups, or where an index says. What several loads or stores of a
 * section have in common is loaded or stored once: the machine has lists of the structs below.
 */
#ifndef JIT_VECTOR_X86_MEMORY_H
#define JIT_VECTOR_X86_MEMORY_H

#include "vector_x86.h"

/* Two vectors of elements, of which the lanes are every other one; where lanes are masked, their masks. */
struct machine_pairs {
    const machine_section *section; /* in which they are */
    int stream, offset, epoch;      /* stream -1: these are the masks of the elements that `mask` loads */
    int mask;
    bool whole; /* both of each two elements, so that the second vector begins behind the first */
    int first, second;
};

/* Elements of one vector of iterations, by their distance from the lowest (vector_x86_points.c). */
struct machine_points {
    const machine_section *section;
    int stream, epoch, low, mask;
    int vectors[4]; /* from element `low` of an iteration on; 0: it is not loaded */
    int span;
    int masks[4]; /* of vectors of as many elements each, which `mask` has become (vector_x86_groups.c) */
};

/* Elements of one vector of iterations, by their distance from that of the value less `low`
 * (vector_x86_neighbours.c). */
struct machine_neighbours {
    const machine_section *section;
    const struct vector_value *value;
    int low;
    int vectors[4]; /* 0: it is not loaded */
};

/* Vectors out of which several loads by a step take their elements (vector_x86_slim_step.c). */
struct machine_loaded {
    const machine_section *section;
    int stream, offset, epoch;
    int vectors[4];
};

/* What is stored when the other of two elements is (vector_x86_pairs.c). */
struct machine_waiting {
    const machine_section *section;
    const struct vector_value *value;
    int operand;
};

/* ---- vector_x86_memory.c ---- */

/* `mask` 0: all lanes. */
int machine_load(struct machine *machine, const struct vector_value *value, int mask);

/* With AVX2: all bits of the first lane, where the mask has a lane; and an element of 4 or 8 bytes into all
 * lanes, which is not read, and is 0, where those bits are not set. */
int machine_any_lane(struct machine *machine, enum vector_type type, int mask);
int machine_load_one_guarded(struct machine *machine, const struct vector_value *value,
                             struct x86_memory memory, int guard);

/* vector_x86_uncrossed.c: whether whole vectors of the loop have the lanes of each half in turn. */
bool machine_may_leave_uncrossed(const struct machine *machine);

/* What lies one behind the other, as lanes of the vector that is being built, or the other way. */
int machine_crossed(struct machine *machine, int operand);
void machine_store(struct machine *machine, const struct vector_value *value, int operand, int mask);
/* The same for elements one behind the other in memory. */
int machine_load_from(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                      int mask);
/* Likewise of every other element there. */
int machine_load_every_other(struct machine *machine, const struct vector_value *value,
                             struct x86_memory memory, int mask);
/* What was loaded of small elements, one behind the other, as lanes. */
int machine_from_memory(struct machine *machine, akg_dtype dtype, int raw);
/* One element in all lanes. */
int machine_load_one(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                     int mask);
void machine_store_to(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                      int operand, int mask);
/* With AVX2: the memory by a register of its own, which is the slots' where no lane is in the mask. */
struct x86_memory machine_readable(struct machine *machine, struct x86_memory memory, int mask);
/* The element of this iteration of a stream with a step. */
struct x86_memory machine_step_memory(struct machine *machine, const struct vector_value *value);
/* The elements of a vector that lie one after the other. */
struct x86_memory machine_unit_memory(struct machine *machine, const struct vector_value *value);
/* The general register with the address of the stream. */
int machine_base(struct machine *machine, int stream);
/* Under a mask of AVX2 for the type of the value: elements of 4 and 8 bytes. */
void machine_store_lanes(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                         int operand, int lanes);
/* Masks of the two vectors that hold both of each two elements of the lanes in `mask`; of AVX2 for the type.
 * 0, as `mask`: none are left out. Writes the register of machine_base. */
void machine_pair_masks(struct machine *machine, enum vector_type type, int mask, int masks[2]);
/* Masks of two vectors in which the lanes in `mask` (0: all) are every other element, the second of which
 * begins with the last element of the first; likewise. */
void machine_every_other_masks(struct machine *machine, enum vector_type type, int mask, int masks[2]);
/* The loop variable of each lane. */
int machine_index(struct machine *machine, const struct vector_value *value);
/* Moves the streams on that do not go by the index: after each vector. */
void machine_advance(struct machine *machine);

/* ---- vector_x86_saturate.c ---- */

/* A store into elements of 8 or 16 bits that need not be what a cast, or a minimum and a maximum, leave of
 * them: the store does it. False: it is another. */
bool machine_store_cut(struct machine *machine, const struct vector_value *value, const int *registers,
                       int mask);

/* ---- vector_x86_pairs.c ---- */

/* One of two elements of 8 or 16 bits; 0: not both are loaded. */
int machine_load_pair(struct machine *machine, const struct vector_value *value, int mask);
/* Whether between the two stores of a stream something else is done with the tensor. */
/* Whether nothing before it in the loop stores to what it loads, which lies one element apart from what it
 * stores itself. */
bool machine_is_unchanged(const struct machine *machine, const struct vector_value *value);
bool machine_is_disturbed(const struct machine *machine, const struct vector_value *first,
                          const struct vector_value *last);
/* Of a pair, the store of the other element, if what stands between the two does not tell whether it waits;
 * NULL. */
const struct vector_value *machine_other_store(const struct machine *machine,
                                               const struct vector_value *value);
/* Both, of elements of 32 or 64 bits, from the address of the first one on, under the masks of the two
 * vectors.
 */
void machine_store_both(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                        const int operands[2], const int masks[2]);
/* Every other element, of 32 or 64 bits, under the masks of two vectors (machine_every_other_masks). */
void machine_store_every_other(struct machine *machine, const struct vector_value *value,
                               struct x86_memory memory, int operand, const int masks[2]);
/* A store into one of two elements; false: not both are stored, and it is to be done by itself. */
bool machine_store_pair(struct machine *machine, const struct vector_value *value, int operand, int mask);

/* ---- vector_x86_apart.c ---- */

/* Whether the lanes of a stream with a step can be loaded one by one: as many as make 128 bits or more. For
 * AVX-512; with AVX2 all can be. */
bool machine_can_load_apart(const struct machine *machine, const struct vector_value *value);
/* With AVX2 lanes may be masked. */
int machine_load_apart(struct machine *machine, const struct vector_value *value, int mask);
void machine_store_apart(struct machine *machine, const struct vector_value *value, int operand, int mask);
/* With AVX2: small elements side by side, of which a mask leaves out some. */
int machine_load_in_turn(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                         int mask);
void machine_store_in_turn(struct machine *machine, const struct vector_value *value,
                           struct x86_memory memory, int operand, int mask);

/* ---- vector_x86_strided.c ---- */

bool machine_is_few_apart(const struct machine *machine, const struct vector_value *value);
/* Of all lanes. */
int machine_load_few_apart(struct machine *machine, const struct vector_value *value);
/* With AVX-512, elements of 4 and 8 bytes of a nest, by the step of its columns. */
int machine_load_by_step(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                         int mask);
void machine_store_by_step(struct machine *machine, const struct vector_value *value,
                           struct x86_memory memory, int operand, int mask);

/* ---- vector_x86_small.c ---- */

/* Whether it is one of the elements of 8 or 16 bits that are seen to there. */
/* vector_x86_words.c; `mask` 0: all lanes */
bool machine_is_in_words(const struct machine *machine, const struct vector_value *value, int mask);
int machine_load_in_words(struct machine *machine, const struct vector_value *value, int mask);
bool machine_is_small_step(const struct machine *machine, const struct vector_value *value);
int machine_load_small_step(struct machine *machine, const struct vector_value *value, int mask);
void machine_store_small_step(struct machine *machine, const struct vector_value *value, int operand,
                              int mask);

/* ---- vector_x86_points.c ---- */

/* Whether several elements of each iteration lie side by side, and can be loaded together; under a mask
 * groups alone can (vector_x86_groups.c). */
bool machine_can_load_points(const struct machine *machine, const struct vector_value *value, bool is_masked);
/* Whether they are, but under a mask, where each takes a gather of its own. */
bool machine_loads_points(const struct machine *machine, const struct vector_value *value);
int machine_load_points(struct machine *machine, const struct vector_value *value, int mask);
/* Of a store, under a mask of a group alone: it is made when the last of its neighbours is. False: it is none
 * of these. */
bool machine_store_points(struct machine *machine, const struct vector_value *value, int operand, int mask);

/* ---- vector_x86_groups.c ---- */

/* Whether three or four elements of each iteration lie behind those of the one before. */
bool vector_has_groups(const struct vector_stream *stream);

/* ---- vector_x86_gather.c ---- */

int machine_gather(struct machine *machine, const struct vector_value *value, int index, int mask);
/* Whether elements of the dtype are better loaded one after the other than gathered. */
bool machine_gathers_in_turn(const struct machine *machine, akg_dtype dtype);
/* As a gather would load them: from `element`, which has no index, at an index times its scale; the indices
 * are of 64 bits where they are `far`. Lanes that the mask (0: none) leaves out are 0. */
int machine_gather_in_turn(struct machine *machine, const struct vector_value *value, int index, bool far,
                           struct x86_memory element, int mask);
enum { MACHINE_PARTS = 4 };

/* The vectors of 128 bits in one of so many bytes. */
void machine_parts(struct machine *machine, int vector, int bytes, int parts[MACHINE_PARTS]);
/* A lane's number, of `size` bytes, in a general register, `into` or `pair`. Lanes come one after the other;
 * of 32 bits they are taken out by two, of which the register `pair` keeps the second one. */
int machine_lane_number(struct machine *machine, const int parts[MACHINE_PARTS], int size, int lane, int pair,
                        int into);
/* Leaves the code, with the iterations that are done in rax, where a lane of the mask (0: all) does not hold
 * what is, taken without a sign, below the limit. `is_extent`: the limit is not negative. */
void machine_test_below(struct machine *machine, enum vector_type type, int index, int limit, bool is_extent,
                        int mask);
/* Flags: above, where the counter has no room for the lanes of the mask (vector_x86_pack.c). */
void machine_test_room(struct machine *machine, const struct vector_value *value, int mask);
/* The mask's lanes of the operand are stored from where the counter is; without a stream it goes on. */
void machine_pack(struct machine *machine, const struct vector_value *value, int operand, int mask);
void machine_test(struct machine *machine, const struct vector_value *value, const int *operands, int mask);

/* ---- vector_x86_neighbours.c ---- */

/* Whether others' elements lie beside those that are gathered, and can be loaded together. */
bool machine_has_neighbours(const struct machine *machine, const struct vector_value *value);
/* As machine_gather, of all lanes; 0: it is to be gathered. */
int machine_load_neighbours(struct machine *machine, const struct vector_value *value, int index);
/* Elements side by side that are changed together, by their order in memory. */
struct machine_row {
    const struct vector_value *values[4];
};
/* How many there are, the value among them; 0: they are to be changed one by one. */
int machine_find_row(const struct machine *machine, const struct vector_value *value,
                     struct machine_row *row);
/* The lanes' indices are at that place of the frame. `far`: they have 64 bits; or they are addresses. */
void machine_change_row(struct machine *machine, const struct machine_row *row, int count,
                        const int operands[4], int place, bool far, bool are_addresses);

/* ---- vector_x86_lookup.c ---- */

/* Of a GATHER whose index is a byte, in lanes of 8 bits or more; what is above the low 8 bits means nothing.
 */
int machine_lookup(struct machine *machine, const struct vector_value *value, int index);
/* Its table, or a part of it. */
void machine_setup_lookup(struct machine *machine, const struct machine_kept *kept);

/* ---- vector_x86_scatter.c ---- */

void machine_scatter(struct machine *machine, const struct vector_value *value, const int *operands,
                     int mask);

#endif
