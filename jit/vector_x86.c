/*
 * vector_x86.c: a vector loop as a function of machine code.
 *
 * Consumes a vector loop; produces instructions in order: what is kept is made, then a main loop of several
 * vectors a round, then vectors of which only the first lanes count, then the partial results are combined,
 * in the same order whatever the width of a vector. Small loops that only store end with vectors of half the
 * width, a quarter and so on instead: what a mask leaves out of a store would keep loads behind it, of the
 * next row say, waiting until the store is done. What accumulates masks its last vector alone. With AVX2,
 * where masks cost more, what may be done twice ends with a whole vector that begins earlier. Short loops
 * have vectors of half the width where the processor works by halves, and loops that have other code for 256
 * bits alone have that with AVX-512, too (vector_x86_width.c). The function takes the address of the slots in
 * rdi and keeps to the System V convention.
 */
#include "flow.h"
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"
#include "vector_x86_turn.h"
#include "vector_x86_slim.h"

#include <string.h>

enum { BACK = X86_R10 };

/* ---- instructions in no section ---------------------------------------------------------- */

void machine_emit_by(struct machine *machine, enum x86_form form, int reg, int64_t number)
{
    machine_emit(machine, (struct x86_instruction){.form = form, .rm = reg, .immediate = number});
}

void machine_emit_jump(struct machine *machine, enum x86_form form, int label)
{
    machine_emit(machine, (struct x86_instruction){.form = form, .label = label});
}

int machine_stop(struct machine *machine)
{
    if (machine->stop < 0)
        machine->stop = machine->labels++;
    return machine->stop;
}

/* Iterations that are done, where the code ends early. */
static void place_stop(struct machine *machine)
{
    int end = machine->labels++;
    if (machine->stop < 0)
        return;
    machine_emit_jump(machine, X86_JMP, end);
    machine_emit_label(machine, machine->stop);
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_STORE,
                                                   .reg = X86_RAX,
                                                   .has_memory = true,
                                                   .memory = machine_slot(machine, 0)});
    machine_emit_label(machine, end);
}

void machine_emit_label(struct machine *machine, int label)
{
    machine_emit(machine, (struct x86_instruction){.form = X86_NO_FORM, .label = label});
}

/* ---- one vector's worth of iterations ------------------------------------------------------- */

/* The condition and the end of the loop as one mask; 0: all lanes. */
static int mask_of(struct machine *machine, const int *registers, int mask, bool is_last)
{
    int tail = is_last ? machine_keep(machine, KEPT_TAIL, VECTOR_MASK, machine->short_at, 0) : 0;
    if (mask < 0)
        return tail;
    return tail ? machine_and(machine, registers[mask], tail) : registers[mask];
}

static void store(struct machine *machine, const struct vector_value *value, const int *registers, int mask)
{
    if (!machine_store_cut(machine, value, registers, mask) &&
        (mask || !machine_store_permuted(machine, value, registers)))
        machine_store(machine, value, registers[value->operands[0]], mask);
    if (machine->shared)
        machine_pass(machine, value, registers[value->operands[0]]);
}

static int load(struct machine *machine, const struct vector_value *value, int mask)
{
    int loaded = machine->shared ? machine_passed(machine, value) : machine_load_realigned(machine, value);
    return loaded ? loaded : machine_load(machine, value, mask);
}

static int build_value(struct machine *machine, const struct vector_value *value, const int *registers,
                       int step, bool is_last)
{
    int operands[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        if (value->operands[k] >= 0)
            operands[k] = registers[value->operands[k]];
    switch (value->kind) {
    case VECTOR_CONSTANT:
        return machine_constant(machine, value->type, value->bits);
    case VECTOR_SCALAR:
        return machine_keep(machine, KEPT_SCALAR, value->type, value->slot, 0);
    case VECTOR_INDEX:
        return machine_index(machine, value);
    case VECTOR_LOAD:
        return load(machine, value, mask_of(machine, registers, value->mask, is_last));
    case VECTOR_GATHER:
        return machine_gather(machine, value, operands[0], mask_of(machine, registers, value->mask, is_last));
    case VECTOR_TEST:
        machine_test(machine, value, operands, mask_of(machine, registers, value->mask, is_last));
        return 0;
    case VECTOR_STORE:
        store(machine, value, registers, mask_of(machine, registers, value->mask, is_last));
        return 0;
    case VECTOR_PACK:
        machine_pack(machine, value, operands[0], mask_of(machine, registers, value->mask, is_last));
        return 0;
    case VECTOR_SCATTER:
        machine_scatter(machine, value, operands, mask_of(machine, registers, value->mask, is_last));
        return 0;
    case VECTOR_ACCUMULATE: {
        int mask = mask_of(machine, registers, value->mask, is_last);
        if (machine_has_nan_apart(machine, value->slot)) {
            machine_accumulate_extreme(machine, value, step, operands[0], mask);
            return 0;
        }
        int partial = machine_keep(machine, KEPT_PARTIAL, value->type, value->slot, (uint64_t)step);
        machine_accumulate(machine, value, partial, operands, mask);
        return 0;
    }
    case VECTOR_TOTAL:
        return machine_keep(machine, KEPT_PARTIAL, value->type, value->slot, (uint64_t)step);
    case VECTOR_SET: {
        int partial = machine_keep(machine, KEPT_PARTIAL, value->type, value->slot, (uint64_t)step);
        machine_put(machine, value->type, partial,
                    value->operands[0] < 0 ? machine_place(machine) : operands[0],
                    mask_of(machine, registers, value->mask, is_last));
        return 0;
    }
    case VECTOR_SCAN:
        return machine_scan(machine, value, operands[0], mask_of(machine, registers, value->mask, is_last),
                            step, &machine->before[value->slot]);
    case VECTOR_BEFORE:
        return machine->before[value->slot];
    default:
        return machine_operation(machine, value, operands);
    }
}

void machine_build_step(struct machine *machine, machine_section *section, int step, int ahead, bool is_last)
{
    const struct vector_loop *loop = machine->loop;
    int *registers = arena_array(machine->arena, int, loop->values.count);
    list_reserve(machine->arena, section, loop->values.count);
    machine->section = section;
    machine->ahead = ahead;
    machine->is_uncrossed = machine->may_leave_uncrossed && !is_last && machine->lanes == 8;
    if (step == 0 && loop->choices.count)
        machine_next_round(machine);
    for (int k = 0; k < loop->values.count && !machine->refused; k++) {
        machine->line = loop->values.items[k].line;
        registers[k] = build_value(machine, &loop->values.items[k], registers, step, is_last);
    }
    machine->line = 0;
    if (machine->is_far) {
        machine_advance_realigned(machine);
        machine_fetch_ahead(machine);
    }
    machine_drop_unused(machine, section);
    machine_advance(machine);
}

/* Which lanes there are: those below the count. */
void machine_tail(struct machine *machine, machine_section *section, int number)
{
    int tail = machine_keep(machine, KEPT_TAIL, VECTOR_MASK, number, 0);
    machine->section = section;
    if (machine_is_avx512(machine)) {
        machine_add(machine,
                    (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = -1});
        machine_add(
            machine,
            (struct x86_instruction){
                .form = X86_BZHI, .bits = 128, .reg = X86_RAX, .rm = X86_RAX, .vvvv = machine->count});
        machine_add(machine,
                    (struct x86_instruction){.form = X86_KMOVW_TO, .bits = 128, .reg = tail, .rm = X86_RAX});
        return;
    }
    bool wide = machine->loop->wide;
    int count = machine_new_vector(machine, 128), all = machine_new_vector(machine, 256);
    int lanes = machine_keep(machine, KEPT_LANES, wide ? VECTOR_I64 : VECTOR_I32, 0, 0);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_VMOVQ_TO, .bits = 128, .reg = count, .rm = machine->count});
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VBROADCASTSD : X86_VBROADCASTSS,
                                                  .bits = 256,
                                                  .reg = all,
                                                  .rm = count});
    machine_add(
        machine,
        (struct x86_instruction){
            .form = wide ? X86_VPCMPGTQ : X86_VPCMPGTD, .bits = 256, .reg = tail, .vvvv = all, .rm = lanes});
}

/* ---- the setup -------------------------------------------------------------------------------- */

/* Of what is kept, that from one on up to another one. */
static void build_kept(struct machine *machine, machine_section *section, int from, int to)
{
    machine->section = section;
    for (int k = from; k < to; k++)
        if (!machine->kept.items[k].is_shared && !machine->kept.items[k].is_set)
            machine_setup_kept(machine, &machine->kept.items[k]);
}

void machine_build_setup(struct machine *machine, machine_section *section)
{
    build_kept(machine, section, 0, machine->kept.count);
    machine_setup_streams(machine);
}

/* ---- registers for what is kept ------------------------------------------------------------------ */

/* Partial results first: they are read and written in every iteration. */
void machine_pin(struct machine *machine, int free_vectors)
{
    int next = machine_vectors(machine) - 1, next_mask = machine_masks(machine) - 1;
    enum { MASKS_LEFT = 5 };
    for (int round = 0; round < 2; round++)
        for (int k = 0; k < machine->kept.count; k++) {
            const struct machine_kept *kept = &machine->kept.items[k];
            struct machine_register *entry =
                &machine->registers.items[kept->virtual_register - MACHINE_VIRTUAL];
            bool first = kept->kind == KEPT_PARTIAL || kept->kind == KEPT_BESIDE ||
                         kept->kind == KEPT_PLACE || kept->kind == KEPT_SLIM_PARTIAL ||
                         kept->kind == KEPT_WRAPPED;
            if (first != (round == 0) || machine->loop->calls || kept->is_shared)
                continue;
            if (entry->is_mask && next_mask >= MASKS_LEFT)
                entry->pinned = next_mask--;
            else if (!entry->is_mask && free_vectors-- > 0)
                entry->pinned = next--;
        }
}

/* ---- all ------------------------------------------------------------------------------------------- */

enum { PIECES = 5 }; /* 16 lanes are 8, 4, 2, 1 and whole ones */

struct sections {
    machine_section setup, main[MACHINE_PARTIALS], last[MACHINE_PARTIALS], tail, result;
    int last_count;
    machine_section first[MACHINE_PARTIALS];
    bool has_first; /* the main loop's first round is another one */
    machine_section full[MACHINE_PARTIALS];
    bool has_full; /* the last vectors also as those of which no lane is left out */
    machine_section pieces[PIECES];
    bool has_pieces; /* instead of `last` */
    machine_section whole;
    bool has_whole;  /* a vector of which no lane is left out, for what is left of the main loop */
    bool may_repeat; /* the last lanes may be had in a vector that begins before what is left */
    machine_section long_setup, long_main[MACHINE_PARTIALS];
    bool has_long; /* a main loop for many iterations */
    struct machine_far far;
    bool has_far; /* a main loop for more than caches hold */
    struct machine_aligned aligned;
    struct machine_wrapped wrapped;
    struct machine_slim slim;
    bool has_slim; /* loops over lanes of fewer bits come first */
    struct machine_choices choices;
    struct machine_few few;
    machine_section many_setup; /* of what is kept for more than few */
};

/* To do five times what takes long takes longer than a mask, but for those of AVX2. */
bool machine_can_have_pieces(const struct machine *machine)
{
    enum { MOST_VALUES = 12, MOST_WORK = 20 };
    const struct vector_loop *loop = machine->loop;
    return !loop->accumulators.count && !loop->calls && loop->values.count <= MOST_VALUES &&
           machine_is_plain(loop) && (!machine_is_avx512(machine) || vector_work(loop) <= MOST_WORK);
}

/* Whether what is left of a short body's main loop is gone through without masks as far as it can be: to make
 * one takes as long as some vectors. */
static bool can_have_full(const struct machine *machine)
{
    enum { MOST_VALUES = 12, MOST_WORK = 20 };
    const struct vector_loop *loop = machine->loop;
    return loop->accumulators.count && !loop->calls && !loop->is_even && loop->values.count <= MOST_VALUES &&
           vector_work(loop) <= MOST_WORK;
}

bool machine_may_repeat(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    if (loop->stops || loop->calls || loop->is_even || loop->is_rest)
        return false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool counts = value->bits == 1 || value->bits == UINT64_MAX;
        if (value->kind == VECTOR_SCATTER || value->kind == VECTOR_TEST ||
            (value->kind == VECTOR_INDEX && !counts))
            return false;
    }
    for (int k = 0; k < loop->streams.count; k++)
        for (int other = 0; other < loop->streams.count; other++) {
            const struct vector_stream *stored = &loop->streams.items[k],
                                       *stream = &loop->streams.items[other];
            if (stored->is_stored && stored->access->buffer == stream->access->buffer &&
                (stream->is_loaded || stream->is_gathered))
                return false;
        }
    return true;
}

static bool has_points(const struct machine *machine)
{
    for (int k = 0; k < machine->loop->values.count; k++) {
        const struct vector_value *value = &machine->loop->values.items[k];
        if ((value->kind == VECTOR_LOAD && value->mask < 0 && machine_loads_points(machine, value)) ||
            machine_has_neighbours(machine, value))
            return machine->index != X86_NONE;
    }
    return false;
}

static void build_pieces(struct machine *machine, struct sections *sections)
{
    int lanes = machine->lanes;
    for (int k = 0; k < PIECES && machine->lanes; k++, machine->lanes /= 2) {
        machine_build_step(machine, &sections->pieces[k], 0, 0, false);
    }
    machine->lanes = lanes;
}

static int most_pressure(struct machine *machine, const struct sections *sections)
{
    int most = machine_pressure(machine, &sections->result);
    for (int k = 0; k < machine->loop->choices.count; k++) {
        int pressure = machine_pressure(machine, &sections->choices.results[k]);
        most = pressure > most ? pressure : most;
    }
    for (int k = 0; k < machine->steps; k++) {
        int pressure = machine_pressure(machine, &sections->main[k]);
        most = pressure > most ? pressure : most;
        pressure = machine_pressure(machine, &sections->long_main[k]);
        most = pressure > most ? pressure : most;
    }
    for (int k = 0; k < MACHINE_WRAPS; k++) {
        int pressure = machine_pressure(machine, &sections->wrapped.main[k][0]);
        most = pressure > most ? pressure : most;
    }
    for (int k = 0; k < sections->last_count; k++) {
        int pressure = machine_pressure(machine, &sections->last[k]);
        most = pressure > most ? pressure : most;
    }
    int pressure_of_first = machine_pressure(machine, &sections->aligned.vector);
    most = pressure_of_first > most ? pressure_of_first : most;
    for (int k = 0; k < sections->slim.steps; k++) {
        int pressure = machine_pressure(machine, &sections->slim.round[k]);
        most = pressure > most ? pressure : most;
    }
    for (int k = 0; k < sections->few.count; k++) {
        int pressure = machine_pressure(machine, &sections->few.vectors[k]);
        most = pressure > most ? pressure : most;
    }
    return most; /* pieces need no more than main */
}

void machine_build_round(struct machine *machine, machine_section *sections)
{
    machine->round = machine->steps;
    for (int k = 0; k < machine->steps; k++) {
        if (k)
            list_reserve(machine->arena, &sections[k], sections[k - 1].count);
        machine_build_step(machine, &sections[k], k, k * machine->lanes, false);
    }
    machine->round = 1;
}

static void build_far(struct machine *machine, struct machine_far *far)
{
    bool begins_aligned = machine_stores_past(machine);
    machine_plan_realigned(machine);
    machine_build_round(machine, far->main);
    if (machine->realigned) {
        machine_setup_realigned(machine, &far->setup);
        machine_leave_realigned(machine, &far->leave);
    }
    machine->is_far = false;
    if (begins_aligned)
        machine_build_step(machine, &far->first, 0, 0, false);
}

/* Whether nothing is left of the rounds of the main loop. */
static bool is_rounds(const struct machine *machine, const struct sections *sections)
{
    return !sections->has_slim && !sections->has_far && !sections->aligned.store &&
           machine_known_count(machine->loop) &&
           machine_known_count(machine->loop) % (machine->lanes * machine->steps) == 0;
}

/* The loops over iterations of which it is not known how many there are, or which are many. */
static void build_loops(struct machine *machine, struct sections *sections)
{
    sections->has_slim = machine_build_slim(machine, &sections->slim);
    if (!sections->has_slim)
        machine_build_few(machine, &sections->few);
    sections->has_pieces = machine_can_have_pieces(machine);
    sections->last_count = sections->has_pieces ? 0 : machine->loop->accumulators.count ? machine->steps : 1;
    machine_build_round(machine, sections->main);
    sections->has_first = !sections->has_slim && machine_build_first(machine, sections->first);
    if (!sections->has_slim)
        machine_build_wrapped(machine, &sections->wrapped);
    machine->is_long = sections->has_long = machine_has_quotients(machine);
    machine->is_far = machine_fetches_long(machine);
    if (machine->is_long)
        machine_build_round(machine, sections->long_main);
    machine->is_long = false;
    machine->is_far = sections->has_far = !sections->has_slim && machine_has_far(machine, &sections->main[0]);
    if (machine->is_far)
        build_far(machine, &sections->far);
    if (!sections->has_slim)
        machine_build_aligned(machine, &sections->aligned);
    if (is_rounds(machine, sections)) {
        sections->has_pieces = false;
        sections->last_count = 0;
        return;
    }
    for (int k = 0; k < sections->last_count; k++)
        machine_build_step(machine, &sections->last[k], k, 0, !machine->loop->is_even);
    sections->has_whole = sections->last_count == 1 && !machine->loop->is_even;
    /* where masks cost more than the lanes that are done twice */
    sections->may_repeat = (!machine_is_avx512(machine) || has_points(machine)) &&
                           !machine->loop->accumulators.count && machine_may_repeat(machine);
    sections->has_full = can_have_full(machine);
    for (int k = 0; sections->has_full && k < machine->steps; k++)
        machine_build_step(machine, &sections->full[k], k, 0, false);
    if (sections->has_whole)
        machine_build_step(machine, &sections->whole, 0, 0, false);
    if (sections->has_pieces)
        build_pieces(machine, sections);
    else if (!machine->loop->is_even)
        machine_tail(machine, &sections->tail, 0);
}

static void build_sections(struct machine *machine, struct sections *sections)
{
    struct machine_few *few = &sections->few;
    machine_build_known(machine, few);
    if (!few->known)
        build_loops(machine, sections);
    machine->section = &sections->result;
    for (int k = 0; k < machine->loop->accumulators.count; k++)
        if (machine->loop->accumulators.items[k].role == VECTOR_REDUCED)
            machine_build_result(machine, k);
        else if (machine->loop->accumulators.items[k].role == VECTOR_SCANNED)
            machine_scan_result(machine, k);
    machine_build_choices(machine, &sections->choices);
    machine_interleave(machine, sections->main, machine->steps);
    machine_interleave(machine, sections->long_main, machine->steps);
    if (!machine->realigned) /* else one vector hands lines to the next */
        machine_interleave(machine, sections->far.main, machine->steps);
    machine_pin(machine, machine_vectors(machine) - most_pressure(machine, sections));
    int first = few->kept ? few->kept : machine->kept.count;
    build_kept(machine, &sections->setup, 0, first);
    machine_setup_streams(machine);
    build_kept(machine, &sections->many_setup, first, machine->kept.count);
    machine_setup_reciprocals(machine, &sections->long_setup);
}

/* A stream with a step back by as many iterations as BACK says. */
static void stream_back(struct machine *machine, int number)
{
    const struct vector_stream *stream = &machine->loop->streams.items[number];
    int size = dtype_table[stream->dtype].size, reg = machine->pointers[number];
    struct x86_instruction slot = {.form = X86_ADD_STORE,
                                   .reg = X86_RAX,
                                   .has_memory = true,
                                   .memory = machine_slot(machine, stream->slot)};
    if (stream->step_kind == VECTOR_CONSTANT_STEP) {
        machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                                       .reg = X86_RAX,
                                                       .immediate = -stream->step * size});
    } else {
        struct x86_instruction step = {.form = X86_MOV, .reg = X86_RAX, .has_memory = true};
        step.memory = machine_slot(machine, stream->slot + 1); /* of all lanes together */
        machine_emit(machine, step);
        machine_emit_by(machine, X86_SAR_BY, X86_RAX, __builtin_ctz((unsigned)machine->lanes));
        machine_emit(machine, (struct x86_instruction){.form = X86_NEG, .rm = X86_RAX});
    }
    machine_emit(machine, (struct x86_instruction){.form = X86_IMUL, .reg = X86_RAX, .rm = BACK});
    if (reg >= 0) {
        machine_emit(machine, (struct x86_instruction){.form = X86_ADD, .reg = reg, .rm = X86_RAX});
        return;
    }
    machine_emit(machine, slot);
}

void machine_place_back(struct machine *machine, int lanes)
{
    const struct vector_loop *loop = machine->loop;
    machine_emit(machine,
                 (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = BACK, .immediate = lanes});
    machine_emit(machine, (struct x86_instruction){.form = X86_SUB, .reg = BACK, .rm = machine->count});
    machine_emit(machine, (struct x86_instruction){.form = X86_SUB, .reg = machine->index, .rm = BACK});
    for (int k = 0; k < loop->streams.count; k++)
        if (loop->streams.items[k].step_kind != VECTOR_UNIT)
            stream_back(machine, k);
}

/* What is left is less than a vector: where one was done before, a whole one that begins so much earlier. */
static void place_repeat(struct machine *machine, int few, int whole)
{
    machine_emit_by(machine, X86_CMP_BY, machine->index, machine->lanes);
    machine_emit_jump(machine, X86_JL, few);
    machine_place_back(machine, machine->lanes);
    machine_emit(machine, (struct x86_instruction){
                              .form = X86_MOV_IMMEDIATE, .reg = machine->count, .immediate = machine->lanes});
    machine_emit_jump(machine, X86_JMP, whole);
}

/* Whole vectors as long as there are some, then each of the others once, of what is left: something is. */
static void place_pieces(struct machine *machine, struct sections *sections, int done)
{
    int head = machine->labels++;
    for (int k = 0, lanes = machine->lanes; lanes; k++, lanes /= 2) {
        int next = machine->labels++;
        machine_emit_by(machine, X86_CMP_BY, machine->count, lanes);
        machine_emit_jump(machine, X86_JL, next);
        if (k == 0)
            machine_emit_label(machine, head);
        machine_allocate(machine, &sections->pieces[k]);
        machine_emit_by(machine, X86_ADD_BY, machine->index, lanes);
        machine_emit_by(machine, X86_SUB_BY, machine->count, lanes);
        if (lanes > 1)
            machine_emit_jump(machine, X86_JE, done);
        if (k == 0) {
            machine_emit_by(machine, X86_CMP_BY, machine->count, lanes);
            machine_emit_jump(machine, X86_JGE, head);
        }
        machine_emit_label(machine, next);
        if (k == 0 && sections->may_repeat) {
            int pieces = machine->labels++;
            place_repeat(machine, pieces, head);
            machine_emit_label(machine, pieces);
        }
    }
}

/* Whole rounds of many: what is left goes to the main loop. From some rounds on it is worth its setup, for
 * which each row of a band waits, and longer where the row has just come to the divisor; the pieces that
 * threads take are not shorter than a whole loop's limit. */
static void place_long(struct machine *machine, struct sections *sections)
{
    enum { ROUNDS = 4, ROUNDS_OF_ROW = 3, ROUNDS_OF_ONLY = 1 };
    int rounds = machine->loop->is_parted ? ROUNDS : machine->is_only_loop ? ROUNDS_OF_ONLY : ROUNDS_OF_ROW;
    int round = machine->lanes * machine->steps, done = machine->labels++;
    machine_emit_by(machine, X86_CMP_BY, machine->count, round * rounds);
    machine_emit_jump(machine, X86_JL, done);
    machine_test_divisors(machine, done);
    machine_allocate(machine, &sections->long_setup);
    machine_place_fetched(machine);
    machine_place_rounds(machine, sections->long_main, 0, done);
}

/* Whole vectors as long as there are some. */
static void place_whole(struct machine *machine, struct sections *sections, int last, int done)
{
    int head = machine->labels++, none = sections->may_repeat ? machine->labels++ : last;
    machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes);
    machine_emit_jump(machine, X86_JL, none);
    machine_emit_label(machine, head);
    machine_allocate(machine, &sections->whole);
    machine_emit_by(machine, X86_ADD_BY, machine->index, machine->lanes);
    machine_emit_by(machine, X86_SUB_BY, machine->count, machine->lanes);
    machine_emit_jump(machine, X86_JE, done);
    machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes);
    machine_emit_jump(machine, X86_JGE, head);
    if (sections->may_repeat) {
        machine_emit_label(machine, none);
        place_repeat(machine, last, head);
    }
}

/* Whole vectors for each of the partial results as long as there are some, then the lanes that are left. */
static void place_full(struct machine *machine, struct sections *sections, int done)
{
    int masked[MACHINE_PARTIALS];
    for (int k = 0; k < machine->steps; k++) {
        masked[k] = machine->labels++;
        machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes);
        machine_emit_jump(machine, X86_JL, masked[k]);
        machine_allocate(machine, &sections->full[k]);
        machine_emit_by(machine, X86_ADD_BY, machine->index, machine->lanes);
        machine_emit_by(machine, X86_SUB_BY, machine->count, machine->lanes);
        machine_emit_jump(machine, X86_JE, done);
    }
    for (int k = 0; k < machine->steps; k++) {
        machine_emit_label(machine, masked[k]);
        machine_allocate(machine, &sections->tail);
        machine_allocate(machine, &sections->last[k]);
        machine_emit_jump(machine, X86_JMP, done);
    }
}

static void place_loops(struct machine *machine, struct sections *sections)
{
    int round = machine->lanes * machine->steps, head = machine->labels++, rest = machine->labels++,
        last = machine->labels++, done = machine->labels++;
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_jump(machine, X86_JL, rest);
    if (sections->has_first) {
        for (int k = 0; k < machine->steps; k++)
            machine_allocate(machine, &sections->first[k]);
        machine_emit_by(machine, X86_ADD_BY, machine->index, round);
        machine_emit_by(machine, X86_SUB_BY, machine->count, round);
        machine_emit_jump(machine, X86_JL, rest);
    }
    machine_emit_label(machine, head);
    for (int k = 0; k < machine->steps; k++)
        machine_allocate(machine, &sections->main[k]);
    machine_emit_by(machine, X86_ADD_BY, machine->index, round);
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_jump(machine, X86_JGE, head);
    machine_emit_label(machine, rest);
    machine_emit_by(machine, X86_ADD_BY, machine->count, round);
    machine_emit_jump(machine, X86_JE, done);
    if (sections->has_pieces)
        place_pieces(machine, sections, done);
    if (sections->has_whole)
        place_whole(machine, sections, last, done);
    machine_emit_label(machine, last);
    if (sections->has_full)
        place_full(machine, sections, done);
    for (int k = 0; k < sections->last_count && !sections->has_full; k++) {
        machine_allocate(machine, &sections->tail);
        machine_allocate(machine, &sections->last[k]);
        machine_emit_by(machine, X86_ADD_BY, machine->index, machine->lanes);
        machine_emit_by(machine, X86_SUB_BY, machine->count, machine->lanes);
        if (sections->last_count > 1)
            machine_emit_jump(machine, X86_JLE, done);
        else
            machine_emit_jump(machine, X86_JG, last);
    }
    machine_emit_label(machine, done);
}

/* As many iterations as the count says. Where few have results of their own, they are at the end. */
static void place_many(struct machine *machine, struct sections *sections, int end)
{
    int many = machine->labels++;
    if (sections->few.count) {
        machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes);
        machine_emit_jump(machine, X86_JG, many);
        machine_place_few(machine, &sections->few);
        machine_emit_jump(machine, X86_JMP, end);
        machine_emit_label(machine, many);
        machine_allocate(machine, &sections->many_setup);
    }
    if (sections->has_slim)
        machine_place_slim(machine, &sections->slim, machine_may_repeat(machine));
    if (sections->has_far)
        machine_place_far(machine, &sections->far);
    if (sections->aligned.store)
        machine_place_aligned(machine, &sections->aligned);
    if (sections->has_long)
        place_long(machine, sections);
    if (sections->wrapped.is_there)
        machine_place_wrapped(machine, &sections->wrapped);
    place_loops(machine, sections);
}

bool machine_build_loop(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    struct sections *sections = arena_new(machine->arena, struct sections);
    bool rows = vector_is_rows(loop->nest);
    int end = machine->labels++;
    machine->stop = -1;
    machine->lanes = machine_vector_bits(machine) / (loop->wide ? 64 : 32);
    machine->steps = machine_steps(machine);
    machine->round = 1;
    if (machine->in_halves)
        machine->lanes /= 2;
    machine->may_leave_uncrossed = machine_may_leave_uncrossed(machine);
    machine->before = arena_array(machine->arena, int, loop->accumulators.count + 1);
    machine_choose_general_registers(machine);
    build_sections(machine, sections);
    if (machine->refused)
        return false;
    if (rows && loop->nest->is_flat)
        machine_flatten_rows(machine);
    machine_allocate(machine, &sections->setup);
    if (rows)
        machine_begin_rows(machine);
    if (!sections->few.known)
        machine_emit(machine, (struct x86_instruction){.form = X86_MOV,
                                                       .reg = machine->count,
                                                       .has_memory = true,
                                                       .memory = machine_slot(machine, loop->count)});
    if (loop->is_even)
        machine_emit_by(machine, X86_AND_BY, machine->count, -loop->group);
    if (machine->index != X86_NONE)
        machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = machine->index});
    if (sections->few.known)
        machine_place_few(machine, &sections->few);
    else
        place_many(machine, sections, end);
    if (rows)
        machine_end_rows(machine);
    if (rows && sections->has_far && machine->options->stream_bytes)
        machine_place_fence(machine, loop);
    place_stop(machine);
    machine_allocate(machine, &sections->result);
    machine_place_choices(machine, &sections->choices);
    machine_emit_label(machine, end);
    return !machine->refused;
}

/* The same, but for AVX2 alone. */
static const struct vector_options *narrower(struct arena *arena, const struct vector_options *options)
{
    struct vector_options *narrow = arena_new(arena, struct vector_options);
    *narrow = *options;
    narrow->target = X86_TARGET_AVX2;
    return narrow;
}

bool vector_x86(struct arena *arena, const struct vector_loop *loop, const struct vector_options *options,
                struct vector_listing *listing)
{
    if (loop->flow)
        return flow_x86(arena, loop, options, listing);
    if (loop->copies)
        return vector_x86_copy(arena, loop, options, listing);
    if (options->target == X86_TARGET_AVX512 && vector_suits_avx2(arena, loop, options))
        options = narrower(arena, options);
    if (loop->nest && !vector_is_rows(loop->nest))
        return vector_x86_nest(arena, loop, options, listing);
    if (loop->band)
        return vector_x86_band(arena, loop, options, listing);
    if (loop->nest && vector_x86_transpose(arena, loop, options, listing))
        return true;
    struct machine *machine = arena_new(arena, struct machine);
    *machine = (struct machine){.arena = arena, .loop = loop, .options = options, .calls = loop->calls};
    machine->in_halves = machine_goes_by_halves(machine);
    if (!(loop->is_serial ? machine_build_serial(machine) : machine_build_loop(machine)))
        return machine_is_avx512(machine) && !loop->is_serial &&
               vector_x86(arena, loop, narrower(arena, options), listing); /* small elements with steps */
    if (vector_is_rows(loop->nest))
        machine_hold_slots(machine);
    machine_assemble(machine, listing);
    return !machine->refused;
}

size_t vector_x86_encode(struct x86_code *code, const struct vector_listing *listing)
{
    int first = code->labels.count, start = code->bytes.count, last = 0;
    for (int k = 0; k < listing->items.count; k++)
        last = listing->items.items[k].label > last ? listing->items.items[k].label : last;
    while (first + last >= code->labels.count)
        x86_new_label(code);
    code->first_label = first;
    for (int k = 0; k < listing->items.count; k++) {
        const struct x86_instruction *instruction = &listing->items.items[k];
        if (instruction->form == X86_NO_FORM)
            x86_place_label(code, first + instruction->label);
        else
            x86_encode(code, instruction);
    }
    size_t size = (size_t)(code->bytes.count - start);
    for (int k = 0; k < listing->data.count; k++) {
        const struct vector_datum *datum = &listing->data.items[k];
        x86_place_data(code, first + datum->label,
                       datum->bytes ? (const void *)datum->bytes : (const void *)&datum->bits,
                       (size_t)datum->size);
    }
    return size;
}
