/*
 * vector_x86_rare.c: calls for the few lanes that code in line is not made for.
 *
 * Consumes a result in line and the arguments; appends a test, and a jump to code behind all other that saves
 * every register which a function may change, calls one, puts its results into the lanes whose size is above
 * a bound and comes back: of one argument the library's of vectors, of two one that goes lane by lane through
 * what was saved (vector_math.c). Where several vectors are ready for the test at once, as in a round of a
 * main loop (vector_x86_interleave.c), one test does for all: finding out for each takes up to half of the
 * time of a remainder. Which vectors have such lanes is then found out of line. Where the round is another
 * loop's then (vector_x86_wrap.c), the jump goes there.
 */
#include "vector_x86_operation.h"

enum { ABOVE = 30 /* and ordered */, NOT_BELOW = 5, NEAREST = 8 };
enum { NOT_BELOW_NUMBER = 21, NOT_ABOVE_NUMBER = 26 /* or not ordered */ };
enum { MAGNITUDE = 11 /* of vrangeps: the greater one, a number before nan */ };

/* What a function may change, besides vectors and masks. */
static const int changed[] = {X86_RAX, X86_RCX, X86_RDX, X86_RSI, X86_RDI, X86_R8, X86_R9, X86_R10, X86_R11};
enum { CHANGED = sizeof changed / sizeof *changed };

/* Each vector's arguments and, last, the bound. */
static void set_arguments(struct machine *machine, struct machine_call *call, int bound)
{
    call->arguments = arena_array(machine->arena, int, 4 * call->vectors + 2);
    call->count = 0;
    for (int k = 0; k < call->vectors; k++) {
        const struct machine_rarity *rarity = &call->rarities[k];
        call->arguments[call->count++] = rarity->x;
        if (rarity->y >= 0)
            call->arguments[call->count++] = rarity->y;
        call->arguments[call->count++] = rarity->size;
        call->arguments[call->count++] = rarity->result;
    }
    call->arguments[call->count++] = bound;
}

int machine_rare(struct machine *machine, enum operation operation, enum vector_type type, double limit,
                 struct machine_rarity rarity)
{
    bool wide = type == VECTOR_F64;
    int bits = machine_bits(machine, type);
    struct machine_call call = {.kind = MACHINE_RARE,
                                .bits = bits,
                                .function = rarity.y < 0
                                                ? vector_function(operation, wide, bits == 512 ? 512 : 256)
                                                : vector_function_of_lanes(operation, wide),
                                .result = rarity.result,
                                .wide = wide,
                                .vectors = 1};
    if (!call.function)
        return machine_refuse(machine);
    call.rarities = arena_array(machine->arena, struct machine_rarity, 1);
    *call.rarities = rarity;
    set_arguments(machine, &call,
                  rarity.kind == RARITY_REST ? rarity.y : machine_float(machine, type, limit));
    machine_add_call(machine, call);
    return rarity.result;
}

void machine_test_wrapped(struct machine *machine)
{
    int count = machine->kept.count;
    for (int k = 0; k < count; k++) {
        const struct machine_kept *kept = &machine->kept.items[k];
        int rest = kept->virtual_register;
        struct machine_call call = {.kind = MACHINE_RARE,
                                    .bits = machine_bits(machine, kept->type),
                                    .result = rest,
                                    .wide = kept->type == VECTOR_F64,
                                    .vectors = 1};
        if (kept->kind != KEPT_WRAPPED)
            continue;
        call.rarities = arena_array(machine->arena, struct machine_rarity, 1);
        *call.rarities =
            (struct machine_rarity){RARITY_WRAP, .x = rest, .y = -1, .size = rest, .result = rest};
        set_arguments(machine, &call, kept->number);
        machine_add_call(machine, call);
    }
}

/* ---- the test ----------------------------------------------------------------------------- */

static enum x86_form comparison(const struct machine *machine, bool wide)
{
    if (machine_is_avx512(machine))
        return wide ? X86_VCMPPD_MASK : X86_VCMPPS_MASK;
    return wide ? X86_VCMPPD : X86_VCMPPS;
}

static int above(struct machine *machine, const struct machine_call *call, int size, int bound)
{
    return machine_rvmi(machine, comparison(machine, call->wide), call->bits, size, bound, ABOVE);
}

/* The greater magnitude in each lane. Arithmetic leaves no nan that signals, which would hide the other. */
static int greater(struct machine *machine, const struct machine_call *call, int a, int b)
{
    return machine_rvmi(machine, call->wide ? X86_VRANGEPD : X86_VRANGEPS, call->bits, a, b, MAGNITUDE);
}

/* Of neighbouring vectors first, so that they wait for each other as little as they can. */
static int greatest(struct machine *machine, const struct machine_call *call, int first, int count)
{
    if (count == 1)
        return call->rarities[first].size;
    return greater(machine, call, greatest(machine, call, first, count / 2),
                   greatest(machine, call, first + count / 2, count - count / 2));
}

/* Without a sign, as which what is below 0 comes last, and nan. */
static int greatest_rest(struct machine *machine, const struct machine_call *call, int first, int count)
{
    if (count == 1)
        return call->rarities[first].result;
    return machine_rvm(machine, call->wide ? X86_VPMAXUQ : X86_VPMAXUD, call->bits,
                       greatest_rest(machine, call, first, count / 2),
                       greatest_rest(machine, call, first + count / 2, count - count / 2));
}

/* Whose rest is not below the bound, or is below 0. With AVX2 there are no long integers without a sign; the
 * test there looks at signs, which those below 0 have. */
static int rest_lanes(struct machine *machine, const struct machine_call *call, int bound)
{
    int bits = call->bits, lanes = -1;
    if (machine_is_avx512(machine))
        return machine_rvmi(machine, call->wide ? X86_VPCMPUQ : X86_VPCMPUD, bits,
                            greatest_rest(machine, call, 0, call->vectors), bound, NOT_BELOW);
    if (!call->wide) {
        int rest = greatest_rest(machine, call, 0, call->vectors);
        return machine_rvm(machine, X86_VPCMPEQD, bits, rest,
                           machine_rvm(machine, X86_VPMAXUD, bits, rest, bound));
    }
    for (int k = 0; k < call->vectors; k++) {
        int rest = call->rarities[k].result;
        int mask =
            machine_or(machine, rest, machine_rvmi(machine, X86_VCMPPD, bits, rest, bound, NOT_BELOW_NUMBER));
        lanes = lanes < 0 ? mask : machine_or(machine, lanes, mask);
    }
    return lanes;
}

/* The lanes in which some vector has a rare one. */
static int rare_lanes(struct machine *machine, const struct machine_call *call, int bound)
{
    int lanes = -1;
    if (call->rarities->kind == RARITY_REST || call->rarities->kind == RARITY_WRAP)
        return rest_lanes(machine, call, bound);
    if (call->rarities->kind == RARITY_QUOTIENT) {
        int size = greatest(machine, call, 0, call->vectors);
        return above(machine, call, call->vectors > 1 ? size : greater(machine, call, size, size), bound);
    }
    for (int k = 0; k < call->vectors; k++) {
        int mask = above(machine, call, call->rarities[k].size, bound);
        lanes = lanes < 0 ? mask : machine_or(machine, lanes, mask);
    }
    return lanes;
}

static bool have_one_test(const struct machine_call *a, const struct machine_call *b)
{
    return b && b->kind == MACHINE_RARE && a->function == b->function &&
           a->rarities->kind == b->rarities->kind && a->arguments[a->count - 1] == b->arguments[b->count - 1];
}

/* How many items from here on go through one test. */
static int neighbours(const machine_section *section, int first)
{
    int count = 1;
    while (count < MACHINE_GATE && first + count < section->count &&
           have_one_test(section->items[first].call, section->items[first + count].call))
        count++;
    return count;
}

void machine_gate(struct machine *machine, machine_section *section)
{
    machine_section result = {NULL, 0, 0}, *before = machine->section;
    int rare = 0;
    for (int k = 0; k < section->count; k++)
        rare += machine_kind_of(&section->items[k]) == MACHINE_RARE;
    if (!rare)
        return;
    machine->section = &result;
    for (int k = 0, count = 1; k < section->count; k += count) {
        const struct machine_item *item = &section->items[k];
        count = 1;
        if (machine_kind_of(item) == MACHINE_RARE) {
            struct machine_call call = *item->call;
            int bound = call.arguments[call.count - 1];
            count = call.vectors = neighbours(section, k);
            call.rarities = arena_array(machine->arena, struct machine_rarity, count);
            for (int vector = 0; vector < count; vector++)
                call.rarities[vector] = *section->items[k + vector].call->rarities;
            set_arguments(machine, &call, bound);
            machine->line = call.line;
            call.arguments[call.count++] = rare_lanes(machine, &call, bound);
            machine_add_call(machine, call);
        } else {
            list_push(machine->arena, &result, *item);
        }
    }
    machine->section = before;
    *section = result;
}

static void jump_if_any(struct machine *machine, const struct machine_rare *rare, int label)
{
    bool is_avx512 = machine_is_avx512(machine);
    enum x86_form signs = rare->wide ? X86_VTESTPD : X86_VTESTPS;
    machine_emit(machine, (struct x86_instruction){.form = is_avx512 ? X86_KORTESTW : signs,
                                                   .bits = is_avx512 ? 128 : 256,
                                                   .reg = rare->mask,
                                                   .rm = rare->mask,
                                                   .line = rare->line});
    machine_emit(machine, (struct x86_instruction){.form = X86_JNE, .label = label, .line = rare->line});
}

/* The registers come in the order of the arguments. */
void machine_rare_jump(struct machine *machine, const struct machine_call *call, const int *registers)
{
    struct machine_rare rare = {.label = machine->labels,
                                .back = machine->labels + 1,
                                .line = call->line,
                                .function = call->function,
                                .count = call->vectors,
                                .bits = call->bits,
                                .wide = call->wide};
    for (int k = 0; k < call->vectors; k++) {
        rare.vectors[k] = call->rarities[k];
        rare.vectors[k].x = *registers++;
        if (rare.vectors[k].y >= 0)
            rare.vectors[k].y = *registers++;
        rare.vectors[k].size = *registers++;
        rare.vectors[k].result = *registers++;
    }
    rare.bound = registers[0];
    rare.mask = registers[1];
    if (call->rarities->kind == RARITY_WRAP) {
        jump_if_any(machine, &rare, machine->unwrapped);
        return;
    }
    machine->labels += 2;
    jump_if_any(machine, &rare, rare.label);
    machine_emit_label(machine, rare.back);
    list_push(machine->arena, &machine->rare, rare);
}

/* ---- out of line ------------------------------------------------------------------------- */

static void in_frame(struct machine *machine, enum x86_form form, int reg, int place)
{
    machine_emit(machine, (struct x86_instruction){.form = form,
                                                   .bits = machine_vector_bits(machine),
                                                   .reg = reg,
                                                   .has_memory = true,
                                                   .memory = {X86_RSP, X86_NONE, 1, place}});
}

/* Where in the frame what kind of registers is. */
struct saved {
    int vectors, masks, general, mask, vector_count;
};

static void save(struct machine *machine, const struct saved *saved)
{
    for (int k = 0; k < CHANGED; k++)
        in_frame(machine, X86_MOV_STORE, changed[k], saved->general + 8 * k);
    for (int k = 0; k < saved->vector_count; k++)
        in_frame(machine, X86_VMOVUPS_STORE, k, saved->vectors + 64 * k);
    for (int k = 1; k < MACHINE_MASKS && machine_is_avx512(machine); k++) {
        machine_emit(machine, (struct x86_instruction){.form = X86_KMOVW_FROM, .reg = X86_RAX, .rm = k});
        in_frame(machine, X86_MOV_STORE, X86_RAX, saved->masks + 8 * k);
    }
}

static void restore(struct machine *machine, const struct saved *saved)
{
    for (int k = 1; k < MACHINE_MASKS && machine_is_avx512(machine); k++) {
        in_frame(machine, X86_MOV, X86_RAX, saved->masks + 8 * k);
        machine_emit(machine, (struct x86_instruction){.form = X86_KMOVW_TO, .reg = k, .rm = X86_RAX});
    }
    for (int k = 0; k < saved->vector_count; k++)
        in_frame(machine, X86_VMOVUPS_LOAD, k, saved->vectors + 64 * k);
    for (int k = 0; k < CHANGED; k++)
        in_frame(machine, X86_MOV, changed[k], saved->general + 8 * k);
}

/* ---- a second look at remainders ------------------------------------------------------------ */

/* The registers of one. `at` and `over` are spare, as is the mask: of the lanes that still are rare. */
struct look {
    int x, y, result, at, over, mask;
};

static void look_emit(struct machine *machine, const struct machine_rare *rare, enum x86_form single,
                      enum x86_form wide, struct x86_instruction instruction)
{
    instruction.form = rare->wide ? wide : single;
    instruction.bits = rare->bits;
    machine_emit(machine, instruction);
}

/* From the rest and the rest with y added to the result, and to whether the rest is not below y to either
 * side, or no number. */
static void look_avx512(struct machine *machine, const struct machine_rare *rare, struct look look)
{
    look_emit(machine, rare, X86_VPMINUD, X86_VPMINUQ,
              (struct x86_instruction){.reg = look.result, .vvvv = look.at, .rm = look.over});
    look_emit(
        machine, rare, X86_VRANGEPS, X86_VRANGEPD,
        (struct x86_instruction){.reg = look.at, .vvvv = look.at, .rm = look.at, .immediate = MAGNITUDE});
    look_emit(machine, rare, X86_VCMPPS_MASK, X86_VCMPPD_MASK,
              (struct x86_instruction){
                  .reg = look.mask, .vvvv = look.at, .rm = look.y, .immediate = NOT_BELOW_NUMBER});
}

/* No register is left for more: `at` turns into 0, above which the rest with y added has to be. */
static void look_avx2(struct machine *machine, const struct machine_rare *rare, struct look look)
{
    look_emit(
        machine, rare, X86_VBLENDVPS, X86_VBLENDVPD,
        (struct x86_instruction){.reg = look.result, .vvvv = look.at, .rm = look.over, .fourth = look.at});
    look_emit(machine, rare, X86_VCMPPS, X86_VCMPPD,
              (struct x86_instruction){
                  .reg = look.mask, .vvvv = look.at, .rm = look.y, .immediate = NOT_BELOW_NUMBER});
    look_emit(machine, rare, X86_VXORPS, X86_VXORPS,
              (struct x86_instruction){.reg = look.at, .vvvv = look.at, .rm = look.at});
    look_emit(machine, rare, X86_VCMPPS, X86_VCMPPD,
              (struct x86_instruction){
                  .reg = look.over, .vvvv = look.over, .rm = look.at, .immediate = NOT_ABOVE_NUMBER});
    look_emit(machine, rare, X86_VORPS, X86_VORPS,
              (struct x86_instruction){.reg = look.mask, .vvvv = look.mask, .rm = look.over});
}

/* What was taken to be below x / y may be a whole number less where x is a multiple of y, below 0 or close
 * above. From the whole number nearest to the rounded quotient the rest is less than y to either side, and so
 * exact, or the quotient is too large: vector_x86_modulo.c. */
static void look_again(struct machine *machine, const struct machine_rare *rare, struct look look)
{
    bool is_avx512 = machine_is_avx512(machine);
    look_emit(machine, rare, X86_VDIVPS, X86_VDIVPD,
              (struct x86_instruction){.reg = look.at, .vvvv = look.x, .rm = look.y});
    look_emit(machine, rare, is_avx512 ? X86_VRNDSCALEPS : X86_VROUNDPS,
              is_avx512 ? X86_VRNDSCALEPD : X86_VROUNDPD,
              (struct x86_instruction){.reg = look.at, .rm = look.at, .immediate = NEAREST});
    look_emit(machine, rare, X86_VFNMADD213PS, X86_VFNMADD213PD,
              (struct x86_instruction){.reg = look.at, .vvvv = look.y, .rm = look.x});
    look_emit(machine, rare, X86_VADDPS, X86_VADDPD,
              (struct x86_instruction){.reg = look.over, .vvvv = look.at, .rm = look.y});
    if (is_avx512)
        look_avx512(machine, rare, look);
    else
        look_avx2(machine, rare, look);
}

/* One that no vector of these is in, nor, with AVX2, the mask; `other` neither. */
static int spare_register(const struct machine *machine, const struct machine_rare *rare, int other)
{
    for (int spare = machine_vectors(machine) - 1;; spare--) {
        bool is_taken = spare == other || (!machine_is_avx512(machine) && spare == rare->mask);
        for (int k = 0; k < rare->count; k++)
            is_taken |= spare == rare->vectors[k].x || spare == rare->vectors[k].y ||
                        spare == rare->vectors[k].result;
        if (!is_taken)
            return spare;
    }
}

/* Goes on where the test was if no lane is rare any more. All but the results is as it was then. */
static void look_at_all(struct machine *machine, const struct saved *saved, const struct machine_rare *rare)
{
    int still = machine->labels++, at = spare_register(machine, rare, -1),
        over = spare_register(machine, rare, at);
    in_frame(machine, X86_VMOVUPS_STORE, at, saved->vectors + 64 * at);
    in_frame(machine, X86_VMOVUPS_STORE, over, saved->vectors + 64 * over);
    for (int k = 0; k < rare->count; k++) {
        const struct machine_rarity *vector = &rare->vectors[k];
        look_again(machine, rare, (struct look){vector->x, vector->y, vector->result, at, over, rare->mask});
        jump_if_any(machine, rare, still);
    }
    for (int pass = 0; pass < 2; pass++) {
        in_frame(machine, X86_VMOVUPS_LOAD, at, saved->vectors + 64 * at);
        in_frame(machine, X86_VMOVUPS_LOAD, over, saved->vectors + 64 * over);
        if (pass == 0) {
            machine_emit_jump(machine, X86_JMP, rare->back);
            machine_emit_label(machine, still);
        }
    }
}

/* ---- which lanes ------------------------------------------------------------------------------ */

enum { FIRST, SECOND, MASK, THIRD, FOURTH, FIFTH /* registers, once all are saved */ };

static void look_at_saved(struct machine *machine, const struct saved *saved, const struct machine_rare *rare,
                          const struct machine_rarity *vector)
{
    in_frame(machine, X86_VMOVUPS_LOAD, FIRST, saved->vectors + 64 * vector->x);
    in_frame(machine, X86_VMOVUPS_LOAD, SECOND, saved->vectors + 64 * vector->y);
    look_again(machine, rare, (struct look){FIRST, SECOND, THIRD, FOURTH, FIFTH, MASK});
    in_frame(machine, X86_VMOVUPS_STORE, THIRD, saved->vectors + 64 * vector->result);
}

static void compare_saved(struct machine *machine, const struct saved *saved, const struct machine_rare *rare,
                          const struct machine_rarity *vector)
{
    in_frame(machine, X86_VMOVUPS_LOAD, FIRST, saved->vectors + 64 * vector->size);
    in_frame(machine, X86_VMOVUPS_LOAD, SECOND, saved->vectors + 64 * rare->bound);
    if (vector->kind == RARITY_QUOTIENT)
        machine_emit(machine, (struct x86_instruction){.form = rare->wide ? X86_VRANGEPD : X86_VRANGEPS,
                                                       .bits = rare->bits,
                                                       .reg = FIRST,
                                                       .vvvv = FIRST,
                                                       .rm = FIRST,
                                                       .immediate = MAGNITUDE});
    machine_emit(machine, (struct x86_instruction){.form = comparison(machine, rare->wide),
                                                   .bits = rare->bits,
                                                   .reg = MASK,
                                                   .vvvv = FIRST,
                                                   .rm = SECOND,
                                                   .immediate = ABOVE});
}

/* Which lanes are rare: as bits in rcx, and as a mask in its place of the frame. */
static void find_lanes(struct machine *machine, const struct saved *saved, const struct machine_rare *rare,
                       const struct machine_rarity *vector)
{
    if (vector->kind == RARITY_REST)
        look_at_saved(machine, saved, rare, vector);
    else
        compare_saved(machine, saved, rare, vector);
    if (machine_is_avx512(machine)) {
        machine_emit(machine, (struct x86_instruction){.form = X86_KMOVW_FROM, .reg = X86_RCX, .rm = MASK});
        in_frame(machine, X86_MOV_STORE, X86_RCX, saved->mask);
    } else {
        machine_emit(machine, (struct x86_instruction){.form = rare->wide ? X86_VMOVMSKPD : X86_VMOVMSKPS,
                                                       .bits = 256,
                                                       .reg = X86_RCX,
                                                       .rm = MASK});
        in_frame(machine, X86_VMOVUPS_STORE, MASK, saved->mask);
    }
}

/* The library's result is in the first register. */
static void merge(struct machine *machine, const struct saved *saved, const struct machine_rarity *vector,
                  bool wide)
{
    enum { FUNCTIONS, RESULT };
    struct x86_instruction blend = {.bits = machine_vector_bits(machine), .reg = RESULT, .rm = FUNCTIONS};
    in_frame(machine, X86_VMOVUPS_LOAD, RESULT, saved->vectors + 64 * vector->result);
    if (machine_is_avx512(machine)) {
        in_frame(machine, X86_MOV, X86_RAX, saved->mask);
        machine_emit(machine, (struct x86_instruction){.form = X86_KMOVW_TO, .reg = MASK, .rm = X86_RAX});
        blend.form = wide ? X86_VMOVAPD : X86_VMOVAPS;
        blend.mask = MASK;
    } else {
        in_frame(machine, X86_VMOVUPS_LOAD, MASK, saved->mask);
        blend.form = X86_VBLENDVPS;
        blend.vvvv = RESULT;
        blend.fourth = MASK;
    }
    machine_emit(machine, blend);
    in_frame(machine, X86_VMOVUPS_STORE, RESULT, saved->vectors + 64 * vector->result);
}

/* Of two arguments: function(x, y, result, mask), the first three being vectors in the frame. */
static void call(struct machine *machine, const struct saved *saved, const struct machine_rare *rare,
                 const struct machine_rarity *vector)
{
    if (vector->y >= 0) {
        in_frame(machine, X86_LEA, X86_RDI, saved->vectors + 64 * vector->x);
        in_frame(machine, X86_LEA, X86_RSI, saved->vectors + 64 * vector->y);
        in_frame(machine, X86_LEA, X86_RDX, saved->vectors + 64 * vector->result);
        machine_emit(machine, (struct x86_instruction){.form = X86_VZEROUPPER});
    } else {
        in_frame(machine, X86_VMOVUPS_LOAD, 0, saved->vectors + 64 * vector->x);
    }
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                                   .reg = X86_RAX,
                                                   .immediate = (int64_t)(intptr_t)rare->function});
    machine_emit(machine, (struct x86_instruction){.form = X86_CALL, .rm = X86_RAX});
    if (vector->y < 0)
        merge(machine, saved, vector, rare->wide);
}

static void place_one(struct machine *machine, const struct saved *saved, const struct machine_rare *rare)
{
    int first = machine->body.count;
    machine_emit_label(machine, rare->label);
    if (rare->vectors->kind == RARITY_REST)
        look_at_all(machine, saved, rare);
    save(machine, saved);
    for (int k = 0; k < rare->count; k++) {
        int next = machine->labels++;
        find_lanes(machine, saved, rare, &rare->vectors[k]);
        machine_emit_by(machine, X86_CMP_BY, X86_RCX, 0);
        machine_emit_jump(machine, X86_JE, next);
        call(machine, saved, rare, &rare->vectors[k]);
        machine_emit_label(machine, next);
    }
    restore(machine, saved);
    machine_emit_jump(machine, X86_JMP, rare->back);
    for (int k = first; k < machine->body.count; k++)
        machine->body.items[k].line = rare->line;
}

void machine_place_rare(struct machine *machine)
{
    int end = machine->labels++;
    struct saved saved = {.vector_count = machine_vectors(machine)};
    if (!machine->rare.count)
        return;
    saved.vectors = machine_frame(machine, 64 * saved.vector_count);
    saved.masks = machine_frame(machine, 8 * MACHINE_MASKS);
    saved.general = machine_frame(machine, 8 * CHANGED);
    saved.mask = machine_frame(machine, 64);
    machine_emit_jump(machine, X86_JMP, end);
    for (int k = 0; k < machine->rare.count; k++)
        place_one(machine, &saved, &machine->rare.items[k]);
    machine_emit_label(machine, end);
}
