/*
 * vector_x86_band.c: a band as a function of machine code.
 *
 * Consumes the parts of a band (vector_band.c); produces the code of one after the other, as if each were a
 * function of its own but for entry and exit, in a loop that moves slots on. Between two parts nothing is in
 * registers but the address of the slots, until vector_x86_slots.c has put slots into those that are free.
 */
#include "vector_x86.h"

struct band_code {
    struct machine *machine; /* of the whole function */
    const struct vector_loop *loop;
};

static void slot(struct machine *machine, enum x86_form form, int number)
{
    machine_emit(machine, (struct x86_instruction){.form = form,
                                                   .reg = X86_RAX,
                                                   .has_memory = true,
                                                   .memory = machine_slot(machine, number)});
}

/* The code of the part, with its labels behind those there are. */
static void append(struct machine *machine, const struct machine *part)
{
    for (int k = 0; k < part->body.count; k++) {
        struct x86_instruction instruction = part->body.items[k];
        instruction.label += machine->labels;
        machine_emit(machine, instruction);
    }
    for (int k = 0; k < part->data.count; k++) {
        struct vector_datum datum = part->data.items[k];
        datum.label += machine->labels;
        list_push(machine->arena, &machine->data, datum);
    }
    for (int k = 0; k < part->rare.count; k++) {
        struct machine_rare rare = part->rare.items[k];
        rare.label += machine->labels;
        rare.back += machine->labels;
        list_push(machine->arena, &machine->rare, rare);
    }
    machine->labels += part->labels;
    machine->general |= part->general;
    machine->frame = part->frame > machine->frame ? part->frame : machine->frame;
}

/* Below it the part is left out. */
static int least_count(const struct vector_loop *loop)
{
    return loop->is_large ? VECTOR_LARGE : loop->is_even ? vector_group(loop->wide) : 1;
}

static bool place_part(struct band_code *code, const struct vector_part *row)
{
    struct machine *machine = code->machine, *part = arena_new(machine->arena, struct machine);
    int next = machine->labels++;
    *part = (struct machine){
        .arena = machine->arena, .loop = row->loop, .options = machine->options, .calls = machine->calls};
    if (row->loop->nest && !machine->calls)
        part = machine_build_nest(machine->arena, row->loop, machine->options);
    else if (row->loop->nest ||
             !(row->loop->is_serial ? machine_build_serial(part) : machine_build_loop(part)))
        return false;
    if (!part)
        return false;
    list_push(machine->arena, &machine->parts, machine->body.count);
    if (row->guard >= 0) {
        slot(machine, X86_MOV, row->guard);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, least_count(row->loop));
        machine_emit_jump(machine, X86_JL, next);
    }
    if (row->loop->is_small) {
        slot(machine, X86_MOV, row->guard);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, VECTOR_LARGE);
        machine_emit_jump(machine, X86_JGE, next);
    }
    append(machine, part);
    machine_emit_label(machine, next);
    return true;
}

/* Before an iteration: slots that parts overwrite. */
static void fill_slots(struct band_code *code)
{
    const struct vector_band *band = code->loop->band;
    for (int k = 0; k < band->moving.count; k++)
        if (band->moving.items[k].origin >= 0) {
            slot(code->machine, X86_MOV, band->moving.items[k].origin);
            slot(code->machine, X86_MOV_STORE, band->moving.items[k].slot);
        }
}

/* Behind it. */
static void move_slots(struct band_code *code)
{
    const struct vector_band *band = code->loop->band;
    for (int k = 0; k < band->moving.count; k++) {
        const struct vector_moving *moving = &band->moving.items[k];
        int holder = moving->origin >= 0 ? moving->origin : moving->slot;
        if (moving->delta < 0)
            continue;
        slot(code->machine, X86_MOV, holder);
        slot(code->machine, X86_ADD, moving->delta);
        slot(code->machine, X86_MOV_STORE, holder);
    }
}

/* Behind all of them, where a part stores past the caches. */
static void place_fence(struct band_code *code)
{
    const struct vector_band *band = code->loop->band;
    for (int k = 0; k < band->parts.count; k++)
        if (band->parts.items[k].loop->elements) {
            machine_place_fence(code->machine, band->parts.items[k].loop);
            return;
        }
}

bool vector_x86_band(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing)
{
    struct machine *machine = arena_new(arena, struct machine);
    struct band_code code = {machine, loop};
    *machine =
        (struct machine){.arena = arena, .loop = loop, .options = options, .calls = loop->calls, .lanes = 1};
    machine_choose_slots(machine);
    machine->head = machine->labels++;
    machine_emit_label(machine, machine->head);
    fill_slots(&code);
    for (int k = 0; k < loop->band->parts.count; k++)
        if (!place_part(&code, &loop->band->parts.items[k]))
            return false;
    move_slots(&code);
    slot(machine, X86_MOV, loop->count);
    machine_emit_by(machine, X86_SUB_BY, X86_RAX, 1);
    slot(machine, X86_MOV_STORE, loop->count); /* leaves the flags */
    machine_emit_jump(machine, X86_JNE, machine->head);
    place_fence(&code);
    machine_hold_slots(machine);
    machine_assemble(machine, listing);
    return !machine->refused;
}
