/*
 * vector_x86_loop.h: what stands around the vectors of iterations: which loops there are and when each is
 * gone to, and what is done with their code when all of it is there.
 */
#ifndef JIT_VECTOR_X86_LOOP_H
#define JIT_VECTOR_X86_LOOP_H

#include "vector_x86.h"

/* ---- vector_x86.c ---- */

/* To so many iterations before the end of what is left. */
void machine_place_back(struct machine *machine, int lanes);
/* Which lanes there are, in the mask of that number: those below the count. */
void machine_tail(struct machine *machine, machine_section *section, int number);
/* Registers for what is kept: so many for vectors, partial results first. */
void machine_pin(struct machine *machine, int free_vectors);
/* What is kept, and the streams: when all else is built. */
void machine_build_setup(struct machine *machine, machine_section *section);
/* The body of a loop. False where the target lacks something. */
bool machine_build_loop(struct machine *machine);
/* Of a serial one, or of straight code of one lane (vector_x86_serial.c). */
bool machine_build_serial(struct machine *machine);
/* Where to jump with the iterations that are done in rax, to end early. */
int machine_stop(struct machine *machine);
/* One vector's worth of iterations; `ahead`: elements from the index to it, `is_last`: those of the tail. */
void machine_build_step(struct machine *machine, machine_section *section, int step, int ahead, bool is_last);
/* Whether the last lanes may be had in vectors that are less wide: each must be reachable without a mask. */
bool machine_can_have_pieces(const struct machine *machine);
/* Whether iterations may be done again, but for what they accumulate, for nothing that they load is stored.
 */
bool machine_may_repeat(const struct machine *machine);
/* The vectors of a round of a main loop. */
void machine_build_round(struct machine *machine, machine_section *sections);

/* ---- vector_x86_width.c ---- */

/* Whether elements of 32 bits and more lie side by side, and all of them are there: then vectors may be of
 * any width, without masks. */
bool machine_is_plain(const struct vector_loop *loop);
/* Whether a loop by itself has vectors of half the width. */
bool machine_goes_by_halves(const struct machine *machine);
/* Whether it is only with vectors of 256 bits that the loop has code that suits it. */
bool vector_suits_avx2(struct arena *arena, const struct vector_loop *loop,
                       const struct vector_options *options);

/* ---- vector_x86_wrap.c ---- */

enum { MACHINE_WRAPS = 2, MACHINE_WRAP_STEPS = 16 /* vectors of a round */ };

/* The main loops for remainders of what is off by one divisor at most. */
struct machine_wrapped {
    machine_section probe[MACHINE_WRAPS], main[MACHINE_WRAPS][MACHINE_WRAP_STEPS];
    bool is_there;
};

/* When the main loop is built. */
void machine_build_wrapped(struct machine *machine, struct machine_wrapped *wrapped);
/* Whole rounds of them; what is left, or not for them, goes to the main loop. */
void machine_place_wrapped(struct machine *machine, struct machine_wrapped *wrapped);

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
/* Whether the tensor of the stream is used at two places or more. */
bool machine_loads_around(const struct vector_loop *loop, int number);
/* Whether what is being built stores past the caches. */
bool machine_stores_past(const struct machine *machine);
/* The loop for more than caches hold. */
struct machine_far {
    machine_section main[MACHINE_PARTIALS];
    /* where it stores past the caches: one vector, so that the next one begins where a line does; what stands
     * before and behind the rounds */
    machine_section first, setup, leave;
};

/* Whole rounds of it, where there is so much; what is left goes to the main loop. */
void machine_place_far(struct machine *machine, struct machine_far *far);
/* rax: the address of what the value is stored to, which is at hand. */
void machine_emit_place(struct machine *machine, const struct vector_value *value);
/* Behind the last row of a loop over rows: what was stored past the caches is there for other processors. */
void machine_place_fence(struct machine *machine, const struct vector_loop *loop);
/* Whole rounds, of which there is at least one, as long as `ahead` iterations are left behind; `done`: the
 * label behind them. */
void machine_place_rounds(struct machine *machine, machine_section *sections, int ahead, int done);

/* ---- vector_x86_realign.c ---- */

/* Plans which loads of the loop that stores past the caches come out of whole lines of memory. */
void machine_plan_realigned(struct machine *machine);
/* Iterations behind a round that must be left, since their elements may be read. */
int machine_realigned_ahead(const struct machine *machine);
/* Before that loop, in each row: what it begins with; behind it: pointers are what they were. */
void machine_setup_realigned(struct machine *machine, machine_section *section);
void machine_leave_realigned(struct machine *machine, machine_section *section);
/* The vector; 0: it does not come so. */
int machine_load_realigned(struct machine *machine, const struct vector_value *value);
/* Behind the last load of a vector: the next one begins a line further on. */
void machine_advance_realigned(struct machine *machine);

/* ---- vector_x86_align.c ---- */

/* The vector before the first line that is stored whole. */
struct machine_aligned {
    const struct vector_value *store; /* whose lines these are; NULL: there is no such vector */
    machine_section tail, vector;
};

void machine_build_aligned(struct machine *machine, struct machine_aligned *aligned);
/* Where no iteration is done, or few are left. */
void machine_place_aligned(struct machine *machine, struct machine_aligned *aligned);

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

/* The iterations, as often as they are run; 0: they are not known, or something has to be found out of them.
 */
int machine_known_count(const struct vector_loop *loop);
/* Chooses lanes and vectors of a loop whose iterations are known to be few; its sections. */
void machine_build_known(struct machine *machine, struct machine_few *few);
/* The sections of any other loop that accumulates for when it turns out to have as few as lanes. */
void machine_build_few(struct machine *machine, struct machine_few *few);
/* The iterations; of such as are not known with the results behind them. */
void machine_place_few(struct machine *machine, struct machine_few *few);

/* ---- vector_x86_first.c ---- */

/* The first round of the main loop of a row that adds up; false: there is none. */
bool machine_build_first(struct machine *machine, machine_section *sections);

/* ---- vector_x86_short.c ---- */

struct machine_count {
    int slot, before;
};

/* What the short parts of a band have in common: from before the first iteration to
 * behind the last constants, in vector registers from the last one down, and which lanes there are, in masks;
 * within an iteration what was stored and is loaded again.
 */
struct machine_shared {
    const struct vector_loop *band;
    LIST(struct machine_kept) constants;
    /* of each mask: the slot of the iterations, and how many of them are in vectors before */
    LIST(struct machine_count) counts;
    struct {
        const struct vector_loop *part;
        const struct vector_value *store; /* NULL: nothing is passed */
    } passed[2];
};

/* Whether the part of a band can be had as one vector, where it has so many iterations at most. */
bool machine_may_be_short(const struct vector_loop *band, const struct vector_loop *part);
int machine_short_lanes(int bits, const struct vector_loop *part);
/* Whether parts hand to others what they store, as one vector. */
bool machine_hands_on(const struct vector_loop *band);
/* Its body: `short_count` vectors of `short_bits` for the widest lanes. */
bool machine_build_short(struct machine *machine);
/* Before the first iteration: what the parts share. */
void machine_emit_shared(struct machine *machine);
/* The vector that another part has stored there; 0: there is none. */
int machine_passed(struct machine *machine, const struct vector_value *load);
/* A vector that is stored, to parts that will load it. */
void machine_pass(struct machine *machine, const struct vector_value *store, int operand);
/* Of the tensors that the part stores into nothing is passed any more. */
void machine_pass_nothing(struct machine_shared *shared, const struct vector_loop *part);

/* ---- vector_x86_general.c ---- */

/* Whether a value of straight code sets a slot to what general registers can compute. */
bool machine_is_general_set(const struct machine *machine, int number);
/* `lanes`: registers of the values that are computed in lanes. */
void machine_general_set(struct machine *machine, int number, const int *lanes);
/* Which values of straight code are computed in lanes. */
bool *machine_values_in_lanes(struct machine *machine);

/* ---- vector_x86_rows.c ---- */

/* Before the setup: makes one of rows that lie one behind the other. */
void machine_flatten_rows(struct machine *machine);
/* What stands before the code of each row, and behind it. */
void machine_begin_rows(struct machine *machine);
void machine_end_rows(struct machine *machine);

/* ---- vector_x86_interleave.c ---- */

/* Merges neighbours of the sections where they are long and there are registers enough. */
void machine_interleave(struct machine *machine, machine_section *sections, int count);

/* ---- vector_x86_entry.c ---- */

/* The general register of the slots; all others that a loop needs. */
void machine_choose_slots(struct machine *machine);
void machine_choose_general_registers(struct machine *machine);
/* The body with what stands before it and behind it. */
void machine_assemble(struct machine *machine, struct vector_listing *listing);

/* ---- vector_x86_slots.c ---- */

/* Registers in the place of slots that the loop around all uses, for as many as there are free; when all code
 * is there but entry and exit. */
void machine_hold_slots(struct machine *machine);

/* ---- vector_x86_copies.c ---- */

/* General registers from bit 0 on, vectors behind them. */
typedef uint64_t machine_registers;
enum { MACHINE_GENERALS = 16 };

bool machine_is_jump(const struct x86_instruction *instruction);
/* All registers of which it may leave something else. */
machine_registers machine_written(const struct x86_instruction *instruction);
machine_registers machine_read(const struct x86_instruction *instruction);
/* What liveness asks of an instruction, found out once: rounds are several. */
struct machine_effect {
    machine_registers read, kept; /* `kept`: what is read behind it may be what was there before it */
    machine_registers written;
    int label; /* where it is or jumps to; -1: neither */
    bool is_place;
};

/* Which registers' values are still read, in the body of a band. */
struct machine_liveness {
    machine_registers end;          /* behind all of it */
    machine_registers *at;          /* by label, from there on */
    struct machine_effect *effects; /* of each instruction */
};

/* What is read from the instruction on, by what is read behind it, and behind labels. */
machine_registers machine_live_before(const struct machine_effect *effect, machine_registers live,
                                      const machine_registers *at);
/* Takes out copies of registers that instructions can do without; the liveness of what is left. */
void machine_drop_copies(struct machine *machine, struct machine_liveness *liveness);

/* ---- vector_x86_constants.c ---- */

/* Constants that a band loads in each iteration, before all of them, as far as registers are free. */
void machine_hoist_constants(struct machine *machine, const struct machine_liveness *liveness);

/* ---- vector_x86_nest_fold.c ---- */

/* The values of what is kept for rows side by side. */
void machine_setup_pattern(struct machine *machine, const struct machine_kept *kept);

/* ---- vector_x86_nest.c ---- */

/* A nest, as a part of a band. NULL where the target lacks something. */
struct machine *machine_build_nest(struct arena *arena, const struct vector_loop *loop,
                                   const struct vector_options *options);

#endif
