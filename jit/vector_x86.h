/*
 * vector_x86.h: what the files that turn vector values into x86-64 instructions share.
 *
 * Instructions are first written with virtual registers, section by section, a section being a straight line
 * (one vector's worth of iterations, say); then each section gets its registers. Virtual registers live
 * within a section, but for those that are kept: they hold their value from the setup to the end, in a
 * register where there is room, else in the frame.
 */
#ifndef JIT_VECTOR_X86_H
#define JIT_VECTOR_X86_H

#include "vector.h"
#include "x86_encode.h"

enum {
    MACHINE_VIRTUAL = 1000,
    MACHINE_VECTORS = 32,
    MACHINE_MASKS = 8,
    MACHINE_PARTIALS = 8,
    FEW_PIECES = 4
};

struct machine_register {
    bool is_mask;
    bool kept;
    int bits;   /* of a vector */
    int pinned; /* the register that a kept one has throughout; -1: none */
    int home;   /* its place in the frame; -1: none yet */
    int at;     /* the register it is in now; -1 */
    bool clean; /* its home holds the value */
    int last;   /* where it is last used in the section */
};

enum machine_kind {
    MACHINE_INSTRUCTION,
    MACHINE_CALL,  /* of a function of vectors */
    MACHINE_LANES, /* of a function of numbers, lane by lane */
    MACHINE_RARE   /* of a function of vectors, for the lanes of a mask, where there are any */
};

enum { MACHINE_GATE = 4 /* vectors at most that are looked at together for rare lanes */ };

/* The arguments of a function, y being -1 where there is one, by what they are told to be rare, and what
 * there is in place of the function's result. `is_quotient`, with AVX-512: the size comes of arithmetic and
 * may have a sign, which does not count. */
struct machine_rarity {
    int x, y, size, result;
    bool is_quotient;
};

struct machine_item {
    enum machine_kind kind;
    struct x86_instruction instruction;
    const void *function;
    int result, *arguments, count; /* virtual registers */
    int lanes;
    bool wide;
    struct machine_rarity *rarities; /* of MACHINE_RARE: of each vector */
    int vectors;
};

typedef LIST(struct machine_item) machine_section;

/* Code out of line, where a function of vectors is called for those lanes of some vectors whose size is above
 * the bound (vector_x86_rare.c). */
struct machine_rare {
    int label, back, line; /* where it begins, and where it goes on */
    const void *function;
    struct machine_rarity vectors[MACHINE_GATE]; /* with the machine's registers */
    int count, bound, bits;
    bool wide;
};

/* A kept register and how the setup makes it. */
enum kept_kind {
    KEPT_CONSTANT,     /* bits in every lane */
    KEPT_SCALAR,       /* what slot `number` holds, in every lane */
    KEPT_SLIM_SCALAR,  /* the same in lanes of `bits` bytes */
    KEPT_SLIM_PARTIAL, /* of accumulator `number` / 2 in such lanes, one of two; `bits`: what 32 of its begin
                          with */
    KEPT_RECIPROCAL,   /* of the divisor in the virtual register `number`, part `bits` of two: made before a
                          long loop */
    KEPT_STEPS,        /* 0, 1, 2, ... times `bits` */
    KEPT_LANES,        /* 0, 1, 2, ... as 32 or 64 bits */
    KEPT_MASK,         /* the lanes whose bits are set in `bits` */
    KEPT_INDICES,      /* of a stream with a step: distances in bytes, 32 bits wide */
    KEPT_PAIRS,        /* which elements of two vectors, by a number of those below */
    KEPT_THIRDS,       /* of eight elements, which lane each of every third has: `number` of a table */
    KEPT_ORDER,        /* which lane of two vectors of 16 each has, by a number of those below */
    KEPT_BYTES,        /* of halves of a vector, which byte each has: `number` of a table */
    KEPT_LOOKUP,       /* of the 256 bytes at stream `number`, quarter `bits` */
    KEPT_PERMUTATION,  /* a table of bytes that `bits` stands for (vector_x86_slim_step.c) */
    KEPT_BACKWARDS,    /* bytes of 128 bits, elements of `number` bytes backwards */
    KEPT_TABLE,        /* the 16 floats at the address `bits`, whatever the lanes of the loop */
    KEPT_PATTERN,      /* of rows side by side, which element each lane has: `bits` says how these lie */
    KEPT_NEEDED,       /* the mask of the elements that some lane has then */
    KEPT_PARTIAL,      /* partial result `bits` of accumulator `number` */
    KEPT_BESIDE,       /* beside a partial result, by `number`; `bits`: what each lane begins with */
    KEPT_EARLY,        /* of nests around a while: what value `number` loads for column `bits` of the tile */
    KEPT_PLACE,        /* of choices: the number of the round's first iteration, plus that of the lane */
    KEPT_TAIL,         /* which lanes of the last vector there are */
    KEPT_PASSED        /* of short parts: number `number` of what one hands to another */
};

enum {
    PAIRS_OVERLAP = -1, /* every other one, where the second vector begins at the first's last element */
    PAIRS_EVEN,
    PAIRS_ODD,
    PAIRS_IN_TURN, /* the first of each, the second of each, and so on; number + 1: the rest of them */
    PAIRS_REVERSED = PAIRS_IN_TURN + 2 /* those of the first, backwards */
};

enum {
    ORDER_LOAD,        /* elements 3 * j of three vectors in two steps; those behind these, two further on */
    ORDER_STORE = 6,   /* back, to the first of three vectors, and so on */
    ORDER_FOURTHS = 12 /* rows and columns of four by four lanes exchanged */
};

enum {
    BYTES_BY_THREE, /* three in each lane, of 12 in a row, which begin at byte 4 of the upper half */
    BYTES_IN_A_ROW  /* and back, both from byte 0 on */
};

struct machine_kept {
    enum kept_kind kind;
    enum vector_type type;
    int number;
    uint64_t bits;
    int virtual_register;
    bool is_shared; /* struct machine_shared has it, too */
};

/* What the short parts of a band (vector_x86_short.c) have in common: from before the first iteration to
 * behind the last constants, in vector registers from the last one down, and which lanes there are, in masks;
 * within an iteration what was stored and is loaded again.
 */
struct machine_shared {
    const struct vector_loop *band;
    LIST(struct machine_kept) constants;
    LIST(int) counts; /* of each mask, the slot of the iterations */
    struct {
        const struct vector_loop *part;
        const struct vector_value *store; /* NULL: nothing is passed */
    } passed[2];
};

/* Those that are left for each part; what is passed comes behind them. */
enum { MACHINE_OWN_VECTORS = 14, MACHINE_OWN_MASKS = 5, MACHINE_PASSED = 2 };

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
    int stream, epoch, low;
    int vectors[4]; /* from element `low` of an iteration on; 0: it is not loaded */
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

/* The least or greatest of several values, nan left out (vector_x86_extreme.c). */
struct machine_chain {
    const machine_section *section;
    int result;
    LIST(int) leaves;
};

/* Whether there was nan among what an accumulator was of (vector_x86_extreme.c). */
struct machine_nan {
    const machine_section *section;
    int accumulator, result;
};

/* A constant behind the code: of 4 or 8 bytes, or of 64, which are elsewhere. */
struct vector_datum {
    int label, size;
    uint64_t bits;
    const unsigned char *bytes;
};

typedef LIST(struct x86_instruction) machine_code; /* X86_NO_FORM: a label */
typedef LIST(struct vector_datum) machine_data;

struct vector_listing {
    machine_code items;
    machine_data data;
    int lanes;      /* at once, where they are all there */
    int slim_lanes; /* at once in the loop that comes first, of fewer than 32 bits each; 0: there is none */
};

struct machine_change;

struct machine {
    struct arena *arena;
    const struct vector_loop *loop;
    const struct vector_options *options;
    int lanes;      /* iterations at once in what is being built; 1: of a serial loop, or of a last piece */
    int steps;      /* vectors in one round of the main loop */
    bool in_halves; /* vectors are half as wide as the target has them */
    int slim_lanes; /* as of the listing */
    LIST(struct machine_register) registers;
    LIST(struct machine_kept) kept;
    machine_section *section; /* where instructions go */
    machine_code body;        /* with registers of the machine, in their order */
    machine_data data;
    int pointers[VECTOR_STREAMS]; /* the general register with the address; -1: it stays in its slot */
    int fetched[VECTOR_STREAMS];  /* in parts of bands: that of what is fetched ahead; 0: nothing is */
    int slots, count, index; /* general registers: the slots, iterations left, elements gone by (or none) */
    bool calls;              /* functions are called, here or in another part of the band */
    unsigned general;        /* the general registers that are written, as bits */
    int frame;               /* bytes of it used */
    int labels, line;
    LIST(struct machine_pairs) pairs;
    LIST(struct machine_waiting) waiting;
    LIST(struct machine_points) points;
    LIST(struct machine_neighbours) neighbours;
    LIST(struct machine_loaded) loaded;
    LIST(struct machine_chain) chains;
    struct machine_nan nan;
    int *users; /* by value, who uses it; NULL: nobody asked */
    int stop;   /* the label where the code ends early; -1: it does not */
    int head;   /* the label of the loop around all: over rows, or columns of a nest */
    LIST(struct machine_rare) rare;
    LIST(int) parts; /* of a band: where the instructions of each begin */
    int end;         /* in rows: the label behind the last one */
    int ahead;       /* elements from the index to the vector that the section is of */
    int vector_in[MACHINE_VECTORS], mask_in[MACHINE_MASKS]; /* the virtual register in each; -1 */
    LIST(struct machine_change *) changes;                  /* scatters that wait for others */
    struct machine_shared *shared;                          /* NULL: there is nothing of that kind */
    int *before;    /* by accumulator that is scanned: what it was before each lane of the vector */
    bool is_long;   /* what is being built is the main loop for many iterations */
    bool is_far;    /* it is the one for more than caches hold */
    bool is_short;  /* it is one vector (vector_x86_short.c) */
    int short_bits; /* of such a vector, of the widest lanes */
    bool is_late;   /* it is one lane behind the loop, whose lanes may be narrower: no constant is kept */
    bool refused;
};

static inline bool machine_is_avx512(const struct machine *machine)
{
    return machine->options->target == X86_TARGET_AVX512;
}

/* How many registers there are for vectors, and for masks. */
static inline int machine_vectors(const struct machine *machine)
{
    return machine->shared ? MACHINE_OWN_VECTORS : machine_is_avx512(machine) ? MACHINE_VECTORS : 16;
}

static inline int machine_masks(const struct machine *machine)
{
    return machine->shared ? MACHINE_OWN_MASKS : MACHINE_MASKS;
}

static inline int machine_vector_bits(const struct machine *machine)
{
    return machine_is_avx512(machine) ? 512 : 256;
}

/* Of a value of that type; masks of AVX2 are vectors with the width of the widest lanes. Fewer lanes than
 * fill 128 bits are the first ones of these, and the others mean nothing. */
int machine_bits(const struct machine *machine, enum vector_type type);

/* ---- vector_x86_build.c: instructions with virtual registers ---- */

int machine_new_vector(struct machine *machine, int bits);
int machine_new_mask(struct machine *machine);
int machine_refuse(struct machine *machine);
/* Appends it. */
void machine_add(struct machine *machine, struct x86_instruction instruction);
/* The common shapes; each gives the register of its result. */
int machine_rm(struct machine *machine, enum x86_form form, int bits, int a);
int machine_rvm(struct machine *machine, enum x86_form form, int bits, int a, int b);
int machine_rmi(struct machine *machine, enum x86_form form, int bits, int a, int immediate);
int machine_rvmi(struct machine *machine, enum x86_form form, int bits, int a, int b, int immediate);
/* a * b + c and its like. */
int machine_fused(struct machine *machine, enum x86_form form, int bits, int a, int b, int c);
int machine_copy(struct machine *machine, int bits, int a);
/* dst of the section's own = copy, then an operation into it. */
void machine_into(struct machine *machine, enum x86_form form, int bits, int target, int a, int b, int mask);
int machine_shift(struct machine *machine, enum x86_form form, enum x86_form wide_form, int bits, int a,
                  int count);
int machine_keep(struct machine *machine, enum kept_kind kind, enum vector_type type, int number,
                 uint64_t bits);
int machine_constant(struct machine *machine, enum vector_type type, uint64_t bits);
int machine_float(struct machine *machine, enum vector_type type, double number);
/* Sixteen floats that stay where they are, in a register of 512 bits. */
int machine_table(struct machine *machine, const float table[16]);
struct x86_memory machine_slot(const struct machine *machine, int slot);

/* Masks: registers of their own, or vectors whose lanes are all ones or zeros. */
int machine_and(struct machine *machine, int a, int b);
int machine_or(struct machine *machine, int a, int b);
int machine_xor(struct machine *machine, int a, int b);
int machine_and_not(struct machine *machine, int a, int b); /* b and not a */
int machine_not(struct machine *machine, int a);
int machine_select(struct machine *machine, enum vector_type type, int condition, int a, int b);
/* A comparison of floats by a predicate of vcmpps. */
int machine_compare_floats(struct machine *machine, enum vector_type type, int a, int b, int predicate);
int machine_compare(struct machine *machine, enum operation operation, akg_dtype dtype, int a, int b);
/* A mask of AVX2 as vectors of 32-bit lanes, and back. */
int machine_mask_for(struct machine *machine, enum vector_type type, int mask);
int machine_mask_of(struct machine *machine, enum vector_type type, int mask);

/* ---- vector_x86_convert.c ---- */

int machine_cast(struct machine *machine, akg_dtype to, akg_dtype from, int a);
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

/* ---- vector_x86_operation.c ---- */

int machine_operation(struct machine *machine, const struct vector_value *value, const int *operands);
/* An accumulator's operation on vectors of `bits`. */
void machine_accumulate(struct machine *machine, const struct vector_value *value, int accumulator,
                        const int *operands, int mask);
int machine_combine(struct machine *machine, enum operation operation, akg_dtype dtype, int bits, int a,
                    int b);
/* The value into an accumulator, where the mask (0: there is none) allows. */
void machine_put(struct machine *machine, enum vector_type type, int accumulator, int value, int mask);

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

/* ---- vector_x86_extreme.c ---- */

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

/* ---- vector_x86_math.c ---- */

/* One of the operations that vector_is_inline names, on float32 or float64. */
int machine_inline(struct machine *machine, enum operation operation, enum vector_type type,
                   const int *operands);
/* 1 / sqrt(x) of float32, with AVX-512. */
int machine_reciprocal_root(struct machine *machine, int x);
/* sqrt(x) of float32, with AVX-512; of_size: -0 and -infinity taken without their sign. */
int machine_estimated_root(struct machine *machine, int x, bool of_size);

/* ---- vector_x86_rare.c ---- */

/* The result, which is the function's in those lanes whose size is above the limit. */
int machine_rare(struct machine *machine, enum operation operation, enum vector_type type, double limit,
                 struct machine_rarity rarity);
/* Tests before the calls of the section, one for neighbours. */
void machine_gate(struct machine *machine, machine_section *section);
/* The jump to it, and back, whose operands are in registers. */
void machine_rare_jump(struct machine *machine, const struct machine_item *item, const int *registers);
/* Where the code between entry and exit ends: what it jumps to. */
void machine_place_rare(struct machine *machine);

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

/* ---- vector_x86_far.c ---- */

/* Whether there is a main loop for more than the near caches hold, besides one with such bodies. */
bool machine_has_far(const struct machine *machine, const machine_section *body);
/* Whether the main loop for many iterations, with quotients that are products, is the one that fetches what a
 * part of a band should. */
bool machine_fetches_long(const struct machine *machine);
/* Where what is fetched in a part of a band begins. */
void machine_place_fetched(struct machine *machine);
/* What its next vectors but some are loaded from and stored to. */
void machine_fetch_ahead(struct machine *machine);
/* The first stream that a long loop may store to past the caches; -1: it is not one that may. */
int vector_far_target(const struct vector_loop *loop);
/* The stream that a loop over rows which only turns squares stores to: of a small tensor it loads them in
 * another way. -1: it is no such loop. */
int vector_turned_target(const struct vector_loop *loop);
/* Whether what is being built stores so. */
bool machine_stores_past(const struct machine *machine);
/* Whole rounds of it, where there is so much; what is left goes to the main loop. `first`: one vector, for
 * what stores past the caches. */
void machine_place_far(struct machine *machine, machine_section *sections, machine_section *first);
/* Behind the last row of a loop over rows: what was stored past the caches is there for other processors. */
void machine_place_fence(struct machine *machine, const struct vector_loop *loop);
/* Whole rounds, of which there is at least one; `done`: the label behind them. */
void machine_place_rounds(struct machine *machine, machine_section *sections, int done);

/* ---- vector_x86_interleave.c ---- */

/* Merges neighbours of the sections where they are long and there are registers enough. */
void machine_interleave(struct machine *machine, machine_section *sections, int count);

/* ---- vector_x86_memory.c ---- */

/* `mask` 0: all lanes. */
int machine_load(struct machine *machine, const struct vector_value *value, int mask);
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
/* A store into one of two elements; false: not both are stored, and it is to be done by itself. */
/* Whether between the two stores of a stream something else is done with the tensor. */
bool machine_is_disturbed(const struct machine *machine, const struct vector_value *first,
                          const struct vector_value *last);
/* Both, of elements of 32 or 64 bits, from the address of the first one on, under the masks of the two
 * vectors.
 */
void machine_store_both(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                        const int operands[2], const int masks[2]);
bool machine_store_pair(struct machine *machine, const struct vector_value *value, int operand, int mask);

/* ---- vector_x86_choice.c ---- */

/* Of each choice, the result, which leaves the number of the iteration in rax, and what is computed from it;
 * behind these, what hangs on no choice. */
struct machine_choices {
    machine_section *results, *late;
};

/* The number of each lane's iteration in the round; moves it on; its start. */
int machine_place(struct machine *machine);
void machine_next_round(struct machine *machine);
void machine_setup_place(struct machine *machine, const struct machine_kept *kept);
/* What a place is that nothing was chosen for, in vector `step` of a round. */
uint64_t machine_no_place(const struct machine *machine, int step);
void machine_build_choices(struct machine *machine, struct machine_choices *choices);
void machine_place_choices(struct machine *machine, struct machine_choices *choices);

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

/* ---- vector_x86_small.c ---- */

/* Whether it is one of the elements of 8 or 16 bits that are seen to there. */
bool machine_is_small_step(const struct machine *machine, const struct vector_value *value);
int machine_load_small_step(struct machine *machine, const struct vector_value *value, int mask);
void machine_store_small_step(struct machine *machine, const struct vector_value *value, int operand,
                              int mask);

/* ---- vector_x86_points.c ---- */

/* Whether three or four elements of each iteration lie behind those of the one before (vector_x86_groups.c).
 */
bool vector_has_groups(const struct vector_stream *stream);
/* Whether several elements of each iteration lie side by side, and can be loaded together. */
bool machine_can_load_points(const struct machine *machine, const struct vector_value *value);
/* Whether they are, but under a mask, where each takes a gather of its own. */
bool machine_loads_points(const struct machine *machine, const struct vector_value *value);
int machine_load_points(struct machine *machine, const struct vector_value *value);
/* Of a store without a mask: it is made when the last of its neighbours is. False: it is none of these. */
bool machine_store_points(struct machine *machine, const struct vector_value *value, int operand);

/* ---- vector_x86_gather.c ---- */

int machine_gather(struct machine *machine, const struct vector_value *value, int index, int mask);

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
/* `far`: the index has 64 bits. */
void machine_change_row(struct machine *machine, const struct machine_row *row, int count,
                        const int operands[4], int index, bool far);
/* The one or two vectors of 128 bits in one of so many bytes. */
void machine_parts(struct machine *machine, int vector, int bytes, int parts[2]);
/* A lane's index, of `size` bytes, in a general register. Lanes come one after the other; of 32 bits they are
 * taken out by two, of which the register `pair` keeps the second one. */
int machine_lane_index(struct machine *machine, const int parts[2], int size, int lane, int pair);
/* Leaves the code, with the iterations that are done in rax, where a lane of the mask (0: all) does not hold
 * what is, taken without a sign, below the limit. `is_extent`: the limit is not negative. */
void machine_test_below(struct machine *machine, enum vector_type type, int index, int limit, bool is_extent,
                        int mask);
void machine_test(struct machine *machine, const struct vector_value *value, const int *operands, int mask);

/* ---- vector_x86_lookup.c ---- */

/* Of a GATHER whose index is a byte, in lanes of 8 bits or more; what is above the low 8 bits means nothing.
 */
int machine_lookup(struct machine *machine, const struct vector_value *value, int index);
/* Its table, or a part of it. */
void machine_setup_lookup(struct machine *machine, const struct machine_kept *kept);

/* ---- vector_x86_scan.c ---- */

/* A SCAN of what is in the lanes of the mask (0: all). `before`: what was there before each lane, where that
 * is asked for. */
int machine_scan(struct machine *machine, const struct vector_value *value, int term, int mask, int *before);
/* Back into its slot. */
void machine_scan_result(struct machine *machine, int accumulator);

/* ---- vector_x86_fold.c ---- */

/* Loads become operands of what uses them. */
void machine_fold(struct machine *machine, machine_section *section);

/* ---- vector_x86_allocate.c ---- */

/* Gives the section registers and appends it to `out`. */
void machine_allocate(struct machine *machine, machine_section *section);
/* Vector registers that live at once in the section, kept ones aside. */
int machine_pressure(struct machine *machine, const machine_section *section);
int machine_frame(struct machine *machine, int size);
/* Instructions whose result nothing in the section uses go away. */
void machine_drop_unused(struct machine *machine, machine_section *section);

/* ---- vector_x86.c ---- */

/* Instructions of the function that are in no section. */
void machine_emit(struct machine *machine, struct x86_instruction instruction);
void machine_emit_by(struct machine *machine, enum x86_form form, int reg, int64_t number);
void machine_emit_jump(struct machine *machine, enum x86_form form, int label);
void machine_emit_label(struct machine *machine, int label);
/* To so many iterations before the end of what is left. */
void machine_place_back(struct machine *machine, int lanes);
/* Which lanes there are: those below the count. */
void machine_tail(struct machine *machine, machine_section *section);
/* Registers for what is kept: so many for vectors, partial results first. */
void machine_pin(struct machine *machine, int free_vectors);
/* What is kept, and the streams: when all else is built. */
void machine_build_setup(struct machine *machine, machine_section *section);
/* The body of a loop. False where the target lacks something. */
bool machine_build_loop(struct machine *machine);
/* Of a serial one, or of straight code of one lane (vector_x86_serial.c). */
bool machine_build_serial(struct machine *machine);

/* ---- vector_x86_strided.c ---- */

bool machine_is_few_apart(const struct machine *machine, const struct vector_value *value);
/* Of all lanes. */
int machine_load_few_apart(struct machine *machine, const struct vector_value *value);

/* ---- vector_x86_general.c ---- */

/* Whether a value of straight code sets a slot to what general registers can compute. */
bool machine_is_general_set(const struct machine *machine, int number);
/* `lanes`: registers of the values that are computed in lanes. */
void machine_general_set(struct machine *machine, int number, const int *lanes);
/* Which values of straight code are computed in lanes. */
bool *machine_values_in_lanes(struct machine *machine);

/* Where to jump with the iterations that are done in rax, to end early. */
int machine_stop(struct machine *machine);
/* One vector's worth of iterations; `ahead`: elements from the index to it, `is_last`: those of the tail. */
void machine_build_step(struct machine *machine, machine_section *section, int step, int ahead, bool is_last);
/* Whether elements of 32 bits and more lie side by side, and all of them are there: then vectors may be of
 * any width, without masks. */
bool machine_is_plain(const struct vector_loop *loop);
/* Whether the last lanes may be had in vectors that are less wide: each must be reachable without a mask. */
bool machine_can_have_pieces(const struct vector_loop *loop);

/* ---- vector_x86_copies.c ---- */

/* General registers from bit 0 on, vectors behind them. */
typedef uint64_t machine_registers;
enum { MACHINE_GENERALS = 16 };

/* Takes out copies of registers that instructions can do without. */
void machine_drop_copies(struct machine *machine);
bool machine_is_jump(const struct x86_instruction *instruction);
/* All registers of which it may leave something else. */
machine_registers machine_written(const struct x86_instruction *instruction);
/* By label what is read from there on, if that is read behind the body's end; which is so of a band. */
machine_registers *machine_find_live(struct machine *machine, machine_registers end);
machine_registers machine_live_at_end(const struct machine *machine);
/* What is read from the instruction on, by what is read behind it, and behind labels. */
machine_registers machine_live_before(const struct x86_instruction *instruction, machine_registers live,
                                      machine_registers *at);

/* ---- vector_x86_constants.c ---- */

/* Constants that a band loads in each iteration, before all of them, as far as registers are free. */
void machine_hoist_constants(struct machine *machine);

/* ---- vector_x86_nest_fold.c ---- */

/* The values of what is kept for rows side by side. */
void machine_setup_pattern(struct machine *machine, const struct machine_kept *kept);

/* ---- vector_x86_few.c ---- */

/* Whether elements lie apart by what is known at run time alone: whole vectors of these are put together of
 * their lanes, and what a mask leaves of one is gathered, which takes several times as long. */
bool machine_lies_apart(const struct vector_loop *loop);

/* A loop of few iterations, straight on: vectors, then what combines their partial results. */
struct machine_few {
    machine_section vectors[MACHINE_PARTIALS + FEW_PIECES], tail, result;
    int count; /* vectors; 0: there is no such code */
    int known; /* iterations, which there always are; 0: not known, at most one vector's */
    int kept;  /* what is kept for these alone, of the first ones */
};

/* Chooses lanes and vectors of a loop whose iterations are known to be few; its sections. */
void machine_build_known(struct machine *machine, struct machine_few *few);
/* The sections of any other loop that accumulates for when it turns out to have as few as lanes. */
void machine_build_few(struct machine *machine, struct machine_few *few);
/* The iterations; of such as are not known with the results behind them. */
void machine_place_few(struct machine *machine, struct machine_few *few);

/* ---- vector_x86_entry.c ---- */

/* The general register of the slots; all others that a loop needs. */
void machine_choose_slots(struct machine *machine);
void machine_choose_general_registers(struct machine *machine);
/* The body with what stands before it and behind it. */
void machine_assemble(struct machine *machine, struct vector_listing *listing);

/* ---- vector_x86_setup.c ---- */

/* A constant in all lanes of a register. */
void machine_spread_constant(struct machine *machine, int target, enum vector_type type, uint64_t bits);
/* 0, 1, 2, ... */
void machine_spread_lanes(struct machine *machine, int target, enum vector_type type);
/* The values of what is kept, but for partial results of nests. */
void machine_setup_kept(struct machine *machine, const struct machine_kept *kept);
/* The setup of streams: addresses into registers; steps known at run time become bytes from vector to vector.
 */
void machine_setup_streams(struct machine *machine);
/* What leaves the other operand of an accumulation as it is. */
uint64_t machine_identity(enum operation operation, akg_dtype dtype);

/* ---- vector_x86_short.c ---- */

/* Whether the part of a band can be had as one vector, where it has so many iterations at most. */
bool machine_may_be_short(const struct vector_loop *band, const struct vector_loop *part);
int machine_short_lanes(int bits, const struct vector_loop *part);
/* Its body. */
bool machine_build_short(struct machine *machine);
/* Before the first iteration: what the parts share. */
void machine_emit_shared(struct machine *machine);
/* The vector that another part has stored there; 0: there is none. */
int machine_passed(struct machine *machine, const struct vector_value *load);
/* A vector that is stored, to parts that will load it. */
void machine_pass(struct machine *machine, const struct vector_value *store, int operand);
/* Of the tensors that the part stores into nothing is passed any more. */
void machine_pass_nothing(struct machine_shared *shared, const struct vector_loop *part);

/* ---- vector_x86_slots.c ---- */

/* Registers in the place of slots that the loop around all uses, for as many as there are free; when all code
 * is there but entry and exit. */
void machine_hold_slots(struct machine *machine);

/* ---- vector_x86_transpose.c ---- */

/* Rows that only turn what is loaded; false: it is something else. */
bool vector_x86_transpose(struct arena *arena, const struct vector_loop *loop,
                          const struct vector_options *options, struct vector_listing *listing);

/* ---- vector_x86_turn.c ---- */

/* Rows whose columns are loaded by a step, and lie side by side along the rows; stored, it is the other way.
 */
struct turning {
    struct machine *machine;
    const struct vector_value *load, *store;
    const struct vector_stream *from, *into;
    int lanes, size;
};

/* The body of the loop, for AVX2. */
void machine_turn(struct turning *turning);

/* ---- vector_x86_scatter.c ---- */

void machine_scatter(struct machine *machine, const struct vector_value *value, const int *operands,
                     int mask);

/* ---- vector_x86_rows.c ---- */

/* Before the setup: makes one of rows that lie one behind the other. */
void machine_flatten_rows(struct machine *machine);
/* What stands before the code of each row, and behind it. */
void machine_begin_rows(struct machine *machine);
void machine_end_rows(struct machine *machine);

/* The instructions of the loop as a function void(union slot *), or false where the target lacks something.
 */
bool vector_x86(struct arena *arena, const struct vector_loop *loop, const struct vector_options *options,
                struct vector_listing *listing);
/* The same for a nest (vector_x86_nest.c). */
struct machine *machine_build_nest(struct arena *arena, const struct vector_loop *loop,
                                   const struct vector_options *options);
bool vector_x86_nest(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing);
/* The same for a band (vector_x86_band.c). */
bool vector_x86_band(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing);
/* Appends their bytes and, behind them, those of the data. Returns the size of the former. */
size_t vector_x86_encode(struct x86_code *code, const struct vector_listing *listing);

#endif
