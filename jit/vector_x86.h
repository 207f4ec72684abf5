/*
 * vector_x86.h: what the files that turn vector values into x86-64 instructions share.
 *
 * Instructions are first written with virtual registers, section by section, a section being a straight line
 * (one vector's worth of iterations, say); then each section gets its registers. Virtual registers live
 * within a section, but for those that are kept: they hold their value from the setup to the end, in a
 * register where there is room, else in the frame.
 *
 * Here are the machine that all of them write to, its instructions, and how a section gets its registers;
 * beside it, what computes (vector_x86_operation.h), what loads and stores (vector_x86_memory.h), and the
 * loops around that (vector_x86_loop.h).
 */
#ifndef JIT_VECTOR_X86_H
#define JIT_VECTOR_X86_H

#include "vector_listing.h"

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
    int bits;                   /* of a vector */
    int pinned;                 /* the register that a kept one has throughout; -1: none */
    int home;                   /* its place in the frame; -1: none yet */
    int at;                     /* the register it is in now; -1 */
    bool clean;                 /* its home holds the value */
    int last;                   /* where it is last used in the section */
    int items;                  /* of the section, that mention it: while loads are folded */
    int uses_of, use, uses_end; /* of which section it is known where it is used; these, from the next one on
                                   (vector_x86_allocate.c) */
};

/* The registers of a kind, while a section is given them. */
struct machine_file {
    unsigned taken;          /* those with a value, as bits */
    int in[MACHINE_VECTORS]; /* its virtual register */
};

/* What the remainders of a main loop are of (vector_x86_wrap.c). */
enum machine_wrap {
    MACHINE_WRAP_NOT,
    MACHINE_WRAP_ABOVE, /* from 0 to below twice the divisor */
    MACHINE_WRAP_BELOW  /* less than the divisor to either side */
};

enum machine_kind {
    MACHINE_INSTRUCTION,
    MACHINE_CALL,  /* of a function of vectors */
    MACHINE_LANES, /* of a function of numbers, lane by lane */
    MACHINE_RARE   /* of a function of vectors, for the lanes of a mask, where there are any */
};

struct machine_call {
    enum machine_kind kind;
    const void *function;
    int result, *arguments, count; /* virtual registers */
    int lanes;
    bool wide;
    struct machine_rarity *rarities; /* of MACHINE_RARE: of each vector */
    int vectors;
    int bits, line; /* as of instructions */
};

struct machine_item {
    struct x86_instruction instruction;
    struct machine_call *call; /* NULL: it is an instruction */
};

static inline enum machine_kind machine_kind_of(const struct machine_item *item)
{
    return item->call ? item->call->kind : MACHINE_INSTRUCTION;
}

typedef LIST(struct machine_item) machine_section;

/* A kept register and how the setup makes it. */
enum kept_kind {
    KEPT_CONSTANT,     /* bits in every lane */
    KEPT_SCALAR,       /* what slot `number` holds, in every lane */
    KEPT_SLIM_SCALAR,  /* the same in lanes of `bits` bytes */
    KEPT_SLIM_PARTIAL, /* of accumulator `number` / 2 in such lanes, one of two; `bits`: what 32 of its begin
                          with */
    KEPT_RECIPROCAL,   /* of the divisor in the virtual register `number`, part `bits` of two: made before a
                          long loop */
    KEPT_SCANNED,      /* what a scan's term in the virtual register `number` comes to, which stays the same:
                          vector_x86_scan.c */
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
    KEPT_WINDOW,       /* of lines of which several loads have their lanes (vector_x86_realign.c) */
    KEPT_WRAPPED, /* the greatest remainder by what is in the virtual register `number` (vector_x86_wrap.c) */
    KEPT_PASSED   /* of short parts: number `number` of what one hands to another */
};

enum {
    PAIRS_OVERLAP = -1, /* every other one, where the second vector begins at the first's last element */
    PAIRS_EVEN,
    PAIRS_ODD,
    PAIRS_IN_TURN, /* the first of each, the second of each, and so on; number + 1: the rest of them */
    PAIRS_REVERSED = PAIRS_IN_TURN + 2 /* those of the first, backwards */
};

enum {
    ORDER_LOAD,         /* elements 3 * j of three vectors in two steps; those behind these, two further on */
    ORDER_STORE = 6,    /* back, to the first of three vectors, and so on */
    ORDER_FOURTHS = 12, /* rows and columns of four by four lanes exchanged */
    ORDER_TWO = 13,     /* elements 4 * j of two vectors; those behind these, one further on */
    ORDER_COUNT = 17
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
    bool is_set;    /* by the first code that uses it: there is nothing before */
    int before;     /* 1 + the one before with the same hash; 0: none */
};

enum { MACHINE_KEPT_HEADS = 256 };

/* Whether there was nan among what an accumulator was of (vector_x86_extreme.c). */
struct machine_nan {
    const machine_section *section;
    int accumulator, result;
};

/* Registers that are left for each of the short parts of a band (vector_x86_short.c); what is passed comes
 * behind them. */
enum { MACHINE_OWN_VECTORS = 14, MACHINE_OWN_MASKS = 5, MACHINE_PASSED = 2 };
/* Where they are several vectors each, of which nothing is passed. */
enum { MACHINE_SEVERAL = 4, MACHINE_OWN_OF_SEVERAL = 20 };
/* Where there is but one part, and nothing is passed. */
enum { MACHINE_OWN_ALONE = 24 };

struct machine_change;
struct machine_realigned;

struct machine {
    struct arena *arena;
    const struct vector_loop *loop;
    const struct vector_options *options;
    int lanes;      /* iterations at once in what is being built; 1: of a serial loop, or of a last piece */
    int steps;      /* vectors in one round of the main loop */
    int round;      /* vectors in the round that is being built, which are all there; 1: one at a time */
    bool in_halves; /* vectors are half as wide as the target has them */
    int slim_lanes; /* as of the listing */
    LIST(struct machine_register) registers;
    LIST(struct machine_kept) kept;
    int kept_heads[MACHINE_KEPT_HEADS]; /* 1 + the last one with that hash */
    machine_section *section;           /* where instructions go */
    machine_code body;                  /* with registers of the machine, in their order */
    machine_data data;
    int pointers[VECTOR_STREAMS]; /* the general register with the address; -1: it stays in its slot */
    int fetched[VECTOR_STREAMS];  /* in parts of bands: that of what is fetched ahead; 0: nothing is */
    int slots, count, index;  /* general registers: the slots, iterations left, elements gone by (or none) */
    bool calls;               /* functions are called, here or in another part of the band */
    bool is_without_partials; /* what is given registers needs no accumulators, and may have theirs */
    unsigned general;         /* the general registers that are written, as bits */
    int frame;                /* bytes of it used */
    int labels, line;
    /* What sections have loaded or computed, or wait to store (vector_x86_memory.h, vector_x86_operation.h).
     */
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
    struct machine_file vector_file, mask_file;
    struct machine_uses *uses;             /* vector_x86_allocate.c */
    int uses_number;                       /* of the last such */
    LIST(struct machine_change *) changes; /* scatters that wait for others */
    struct machine_shared *shared;         /* NULL: there is nothing of that kind */
    int *before; /* by accumulator that is scanned: what it was before each lane of the vector */
    struct machine_realigned *realigned; /* loads out of whole lines of memory; NULL: there are none */
    bool is_long;                        /* what is being built is the main loop for many iterations */
    bool is_far;                         /* it is the one for more than caches hold */
    enum machine_wrap wrap;              /* it is the one for remainders of such */
    bool has_remainders;                 /* some might be */
    int unwrapped;                       /* the label of the loop for others */
    bool may_leave_uncrossed;            /* as machine_may_leave_uncrossed says of the loop, */
    bool is_uncrossed;                   /* and so it is in the vector that is being built */
    bool is_row;                         /* all of it is run once for each iteration of a band */
    bool is_short;                       /* it is one vector, or a few (vector_x86_short.c) */
    bool is_alone;                       /* the only part of a band */
    bool is_only_loop;                   /* likewise, but for parts of one lane */
    int short_bits;                      /* of such a vector, of the widest lanes */
    int short_count;                     /* vectors of a short part; 0: it is not short */
    int short_at;                        /* that one of them which is being built */
    bool is_late; /* it is one lane behind the loop, whose lanes may be narrower, or before it: no constant is
                     kept */
    bool refused;
};

static inline bool machine_is_avx512(const struct machine *machine)
{
    return machine->options->target == X86_TARGET_AVX512;
}

/* How many registers there are for vectors, and for masks. */
static inline int machine_vectors(const struct machine *machine)
{
    if (machine->shared)
        return machine->is_alone          ? MACHINE_OWN_ALONE
               : machine->short_count > 1 ? MACHINE_OWN_OF_SEVERAL
                                          : MACHINE_OWN_VECTORS;
    return machine_is_avx512(machine) ? MACHINE_VECTORS : 16;
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
/* Where the section's next instruction goes, to be written there: what is written in single fields elsewhere
 * and then copied waits until these are stored. */
static inline struct x86_instruction *machine_next(struct machine *machine)
{
    machine_section *section = machine->section;
    list_reserve(machine->arena, section, 1);
    struct machine_item *item = &section->items[section->count++];
    item->call = NULL;
    return &item->instruction;
}

/* Appends it to the section, with the line it is of. */
void machine_add_call(struct machine *machine, struct machine_call call);
static inline void machine_add(struct machine *machine, struct x86_instruction instruction)
{
    struct x86_instruction *next = machine_next(machine);
    *next = instruction;
    next->line = machine->line;
}

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

/* ---- vector_x86.c ---- */

/* What puts a float or an integer of that width into all lanes of a vector: vbroadcastsd has no form of 128
 * bits. */
static inline enum x86_form machine_spread_form(bool wide, int bits)
{
    return !wide ? X86_VBROADCASTSS : bits == 128 ? X86_VPBROADCASTQ : X86_VBROADCASTSD;
}

/* Instructions of the function that are in no section. */
static inline void machine_emit(struct machine *machine, struct x86_instruction instruction)
{
    list_push(machine->arena, &machine->body, instruction);
}

void machine_emit_by(struct machine *machine, enum x86_form form, int reg, int64_t number);
void machine_emit_jump(struct machine *machine, enum x86_form form, int label);
void machine_emit_label(struct machine *machine, int label);

/* ---- vector_x86_fold.c ---- */

/* Loads become operands of what uses them. */
void machine_fold(struct machine *machine, machine_section *section);
/* The bytes of the operand in memory that such an instruction of one lane has, or had; 0: it is none. */
int machine_lane_bytes(enum x86_form form);

/* ---- vector_x86_allocate.c ---- */

/* Gives the section registers and appends it to `out`. */
void machine_allocate(struct machine *machine, machine_section *section);
/* Vector registers that live at once in the section, kept ones aside. */
int machine_pressure(struct machine *machine, const machine_section *section);
int machine_frame(struct machine *machine, int size);
/* Instructions whose result nothing in the section uses go away. */
void machine_drop_unused(struct machine *machine, machine_section *section);

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

#endif
