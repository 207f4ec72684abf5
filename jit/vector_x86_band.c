/*
 * vector_x86_band.c: a band as a function of machine code.
 *
 * Consumes the parts of a band (vector_band.c); produces the code of one after the other, as if each were a
 * function of its own but for entry and exit, in a loop that moves slots on, and loops around that. Between
 * two parts nothing is in registers but the address of the slots, until vector_x86_slots.c has put slots into
 * those that are free.
 *
 * Where loops may turn out to be no longer than half a vector, one, two or four, that code is there once
 * more, with each of them as so many vectors (vector_x86_short.c); where it is known that they are, it is
 * there alone.
 */
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

#include <limits.h>
#include <string.h>

struct band_code {
    struct machine *machine; /* of the whole function */
    const struct vector_loop *loop;
    int short_bits;  /* loops that may be a few vectors of so many are; 0: they are loops */
    int short_count; /* vectors of each */
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
    int count = part->body.count;
    list_reserve(machine->arena, &machine->body, count);
    struct x86_instruction *items = machine->body.items + machine->body.count;
    if (count)
        memcpy(items, part->body.items, (size_t)count * sizeof *items);
    for (int k = 0; k < count; k++)
        items[k].label += machine->labels;
    machine->body.count += count;
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
    return loop->at_least ? loop->at_least : loop->is_even ? loop->group : 1;
}

/* Whether there may be fewer iterations than that: the guard holds how many there are of a loop. */
static bool is_guarded(const struct band_code *code, const struct vector_part *row)
{
    const struct vector_argument *guard = row->guard < 0 ? NULL : &code->loop->arguments.items[row->guard];
    bool is_known =
        guard && guard->kind == VECTOR_ARGUMENT_COUNT && vector_extent_below(guard->loop, INT_MAX);
    return guard && !(is_known && least_count(row->loop) == 1);
}

static bool is_short(const struct band_code *code, const struct vector_loop *part)
{
    return code->short_bits && machine_may_be_short(code->loop, part);
}

static bool is_only_loop(const struct vector_loop *band)
{
    int loops = 0;
    for (int k = 0; k < band->band->parts.count; k++)
        loops += !band->band->parts.items[k].loop->is_serial;
    return loops == 1;
}

/* The code of a part; NULL where the target lacks something. */
static struct machine *build_part(const struct band_code *code, const struct vector_loop *loop)
{
    struct machine *machine = code->machine, *part = arena_new(machine->arena, struct machine);
    if (loop->nest)
        return machine->calls ? NULL : machine_build_nest(machine->arena, loop, machine->options);
    *part = (struct machine){.arena = machine->arena,
                             .loop = loop,
                             .options = machine->options,
                             .calls = machine->calls,
                             .is_row = true,
                             .is_alone = code->loop->band->parts.count == 1,
                             .is_only_loop = is_only_loop(code->loop),
                             .short_bits = code->short_bits,
                             .short_count = code->short_count,
                             .shared = machine->shared};
    part->in_halves = machine_is_avx512(part) && loop->is_even && loop->group < vector_group(loop->wide);
    bool good = is_short(code, loop) ? machine_build_short(part)
                : loop->is_serial    ? machine_build_serial(part)
                                     : machine_build_loop(part);
    if (good && machine->shared && loop->is_serial)
        machine_pass_nothing(machine->shared, loop);
    return good ? part : NULL;
}

/* Whether the slot is the count of a loop that is one vector, which has iterations. */
static bool is_short_count(const struct band_code *code, int slot)
{
    for (int k = 0; k < code->loop->band->parts.count; k++) {
        const struct vector_loop *part = code->loop->band->parts.items[k].loop;
        if (!part->nest && part->count == slot && is_short(code, part))
            return true;
    }
    return false;
}

static void place_part(struct band_code *code, const struct vector_part *row, const struct machine *part)
{
    struct machine *machine = code->machine;
    int next = machine->labels++;
    list_push(machine->arena, &machine->parts, machine->body.count);
    if (is_guarded(code, row) && !is_short_count(code, row->guard)) {
        slot(machine, X86_MOV, row->guard);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, least_count(row->loop));
        machine_emit_jump(machine, X86_JL, next);
    }
    if (row->loop->below) {
        slot(machine, X86_MOV, row->guard);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, row->loop->below);
        machine_emit_jump(machine, X86_JGE, next);
    }
    append(machine, part);
    machine_emit_label(machine, next);
}

/* Before an iteration: slots that parts overwrite, or loops inside. */
static void fill_slots(struct band_code *code, const struct vector_moving *moving, int count)
{
    for (int k = 0; k < count; k++)
        if (moving[k].origin >= 0) {
            slot(code->machine, X86_MOV, moving[k].origin);
            slot(code->machine, X86_MOV_STORE, moving[k].slot);
        }
}

/* Behind it. */
static void move_slots(struct band_code *code, const struct vector_moving *all, int count)
{
    for (int k = 0; k < count; k++) {
        const struct vector_moving *moving = &all[k];
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

/* Behind all iterations but the last one to the head. */
static void place_next(struct band_code *code, int count, int head)
{
    slot(code->machine, X86_MOV, count);
    machine_emit_by(code->machine, X86_SUB_BY, X86_RAX, 1);
    slot(code->machine, X86_MOV_STORE, count); /* leaves the flags */
    machine_emit_jump(code->machine, X86_JNE, head);
}

/* Before the part of that number: ends of conditions, and tests of those that begin here. `labels`: of the
 * conditions' ends. */
static void place_conditions(struct band_code *code, int part, const int *labels)
{
    const struct vector_band *band = code->loop->band;
    for (int k = 0; k < band->conditions.count; k++)
        if (band->conditions.items[k].last == part)
            machine_emit_label(code->machine, labels[k]);
    for (int k = 0; k < band->conditions.count; k++) {
        const struct vector_condition *condition = &band->conditions.items[k];
        if (condition->first != part || condition->last == part)
            continue;
        slot(code->machine, X86_MOV, condition->slot);
        machine_emit_by(code->machine, X86_CMP_BY, X86_RAX, 1);
        machine_emit_jump(code->machine, condition->is_negated ? X86_JGE : X86_JL, labels[k]);
    }
}

static void place_band(struct band_code *code, struct machine *const *parts)
{
    const struct vector_band *band = code->loop->band;
    struct machine *machine = code->machine;
    int *labels = arena_array(machine->arena, int, band->conditions.count + 1);
    machine->head = machine->labels++;
    machine_emit_label(machine, machine->head);
    fill_slots(code, band->moving.items, band->moving.count);
    for (int k = 0; k < band->conditions.count; k++)
        labels[k] = machine->labels++;
    for (int k = 0; k < band->parts.count; k++) {
        place_conditions(code, k, labels);
        place_part(code, &band->parts.items[k], parts[k]);
    }
    place_conditions(code, band->parts.count, labels);
    move_slots(code, band->moving.items, band->moving.count);
    place_next(code, code->loop->count, machine->head);
}

/* The loops around the band from one on: that inside may have no iterations. */
static void place_repeats(struct band_code *code, struct machine *const *parts, int number)
{
    const struct vector_band *band = code->loop->band;
    const struct vector_repeat *repeat = number >= 0 ? &band->repeats.items[number] : NULL;
    struct machine *machine = code->machine;
    int head, none;
    if (!repeat) {
        place_band(code, parts);
        return;
    }
    head = machine->labels++;
    none = machine->labels++;
    machine_emit_label(machine, head);
    fill_slots(code, repeat->moving.items, repeat->moving.count);
    slot(machine, X86_MOV, number ? band->repeats.items[number - 1].count : code->loop->count);
    machine_emit_by(machine, X86_CMP_BY, X86_RAX, 1);
    machine_emit_jump(machine, X86_JL, none);
    place_repeats(code, parts, number - 1);
    machine_emit_label(machine, none);
    move_slots(code, repeat->moving.items, repeat->moving.count);
    place_next(code, repeat->count, head);
}

/* Whether each part leaves alone what the short ones share, and what one hands on is there for all behind it.
 */
static bool may_share(const struct band_code *code)
{
    const struct vector_band *band = code->loop->band;
    for (int k = 0; k < band->conditions.count; k++)
        if (band->conditions.items[k].is_negated || band->conditions.items[k].last != band->parts.count)
            return false;
    for (int k = 0; k < code->loop->band->parts.count; k++) {
        const struct vector_loop *part = code->loop->band->parts.items[k].loop;
        if (part->nest || (!part->is_serial && !is_short(code, part)))
            return false;
    }
    return code->short_bits;
}

static void build_body(struct band_code *code, struct machine *const *parts)
{
    struct machine *machine = code->machine;
    machine_emit_shared(machine);
    place_repeats(code, parts, code->loop->band->repeats.count - 1);
    place_fence(code);
}

/* All iterations, with slots in registers; NULL where the target lacks something. */
static struct machine *build_iterations(struct arena *arena, const struct vector_loop *loop,
                                        const struct vector_options *options, int short_bits, int short_count)
{
    struct machine *machine = arena_new(arena, struct machine);
    struct machine **parts = arena_array(arena, struct machine *, loop->band->parts.count);
    struct band_code code = {machine, loop, short_bits, short_count};
    *machine =
        (struct machine){.arena = arena, .loop = loop, .options = options, .calls = loop->calls, .lanes = 1};
    machine->short_count = short_count;
    machine_choose_slots(machine);
    if (may_share(&code)) {
        machine->shared = arena_new(arena, struct machine_shared);
        machine->shared->band = loop;
    } else if (short_count > 1) {
        return NULL;
    }
    for (int k = 0; k < loop->band->parts.count; k++) {
        parts[k] = build_part(&code, loop->band->parts.items[k].loop);
        if (!parts[k])
            return NULL;
    }
    build_body(&code, parts);
    machine_hold_slots(machine);
    return machine->refused ? NULL : machine;
}

/* What the part does with the tensor: nothing, else whether it loads some of it. */
static bool accesses(const struct vector_loop *part, const struct ir_buffer *buffer, bool *loads)
{
    bool found = false;
    for (int k = 0; k < part->streams.count; k++) {
        const struct vector_stream *stream = &part->streams.items[k];
        found |= stream->access->buffer == buffer;
        *loads |= stream->access->buffer == buffer && (stream->is_loaded || stream->is_gathered);
    }
    return found;
}

/* Whether an iteration begins with loads of what the one before has stored into: behind what a mask leaves
 * out of a store they wait until that is done. */
static bool waits_for_store(const struct vector_loop *band, const struct ir_buffer *buffer)
{
    bool loads = false;
    for (int k = 0; k < band->band->parts.count; k++)
        if (accesses(band->band->parts.items[k].loop, buffer, &loads))
            break;
    return loads;
}

static bool waits_for_stores(const struct vector_loop *band)
{
    for (int k = 0; k < band->streams.count; k++)
        if (band->streams.items[k].is_stored && waits_for_store(band, band->streams.items[k].access->buffer))
            return true;
    return false;
}

/* Whether there is a loop that may be one vector, which passes did not know of it, and none whose code hangs
 * on what is left of another. */
static bool has_short(const struct vector_loop *loop, const struct vector_options *options)
{
    bool found = false;
    if (options->target != X86_TARGET_AVX512 || loop->calls)
        return false;
    for (int k = 0; k < loop->band->parts.count; k++) {
        const struct vector_loop *part = loop->band->parts.items[k].loop;
        found |= machine_may_be_short(loop, part) && !vector_foreseen_extent(part->stmt);
        if (part->is_even)
            return false;
    }
    return found;
}

/* -1: not known. */
static int64_t iterations_of(const struct ir_stmt *loop)
{
    int64_t distance;
    if (loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER || loop->step <= 0 ||
        __builtin_sub_overflow(loop->high->integer, loop->low->integer, &distance))
        return -1;
    return distance <= 0 ? 0 : (distance - 1) / loop->step + 1;
}

enum fit { FITS_NEVER, FITS_SOMETIMES, FITS_ALWAYS };

/* How many iterations the code for loops that are so many vectors is for, of one of them. */
static void find_counts(const struct vector_loop *part, int bits, int count, int *least, int *most)
{
    int lanes = machine_short_lanes(bits, part);
    *least = count > 1 ? lanes + 1 : 1;
    *most = count * lanes;
}

static enum fit fit_of(const struct vector_loop *loop, int bits, int count)
{
    enum fit fit = FITS_ALWAYS;
    for (int k = 0; k < loop->band->parts.count; k++) {
        const struct vector_loop *part = loop->band->parts.items[k].loop;
        int64_t iterations = iterations_of(part->stmt);
        int least, most;
        if (!machine_may_be_short(loop, part))
            continue;
        find_counts(part, bits, count, &least, &most);
        if (iterations < 0)
            fit = FITS_SOMETIMES;
        else if (iterations < least || iterations > most)
            return FITS_NEVER;
    }
    return fit;
}

/* Goes to the label where one of the loops is none, or no more than one vector of so many bits where there
 * are several, or more than all of them. */
static void test_counts(struct machine *machine, int bits, int count, int otherwise)
{
    for (int k = 0; k < machine->loop->band->parts.count; k++) {
        const struct vector_loop *part = machine->loop->band->parts.items[k].loop;
        if (!machine_may_be_short(machine->loop, part))
            continue;
        int least, most;
        find_counts(part, bits, count, &least, &most);
        slot(machine, X86_MOV, part->count);
        machine_emit_by(machine, X86_SUB_BY, X86_RAX, least);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, most - least + 1);
        machine_emit_jump(machine, X86_JAE, otherwise); /* without a sign: of fewer too */
    }
}

/* Whether groups of elements are loaded, of which half the lanes take half as many whole vectors. */
static bool has_groups(const struct vector_loop *band)
{
    for (int k = 0; k < band->band->parts.count; k++) {
        const struct vector_loop *part = band->band->parts.items[k].loop;
        for (int n = 0; n < part->streams.count; n++)
            if (vector_has_groups(&part->streams.items[n]))
                return true;
    }
    return false;
}

/* Fewer instructions, which rows of a few elements wait for; long ones do not, and it takes its time. */
static void tidy(struct machine *machine)
{
    if (machine->calls || machine->rare.count)
        return; /* code out of line has to do with registers, too */
    struct machine_liveness liveness;
    machine_drop_copies(machine, &liveness);
    machine_hoist_constants(machine, &liveness);
}

/* Code for loops that are so many vectors. */
struct version {
    int bits, count;
    enum fit fit;
    struct machine *machine; /* NULL: there is none */
};

static void append_short(struct machine *all, const struct version *version, int end)
{
    int longer = all->labels++;
    if (!version->machine)
        return;
    tidy(version->machine);
    test_counts(all, version->bits, version->count, longer);
    append(all, version->machine);
    machine_emit_jump(all, X86_JMP, end);
    machine_emit_label(all, longer);
}

enum { HALF, ONE, TWO, FOUR, VERSIONS };

static void build_version(struct arena *arena, const struct vector_loop *loop,
                          const struct vector_options *options, struct version *version)
{
    if (version->fit != FITS_NEVER)
        version->machine = build_iterations(arena, loop, options, version->bits, version->count);
}

/* Those that are worth their time, of those that may be wanted. */
static void build_versions(struct arena *arena, const struct vector_loop *loop,
                           const struct vector_options *options, struct version *versions)
{
    enum { FEW = 128 /* instructions: more take their time to make */ };
    bool waits = waits_for_stores(loop), any = false;
    for (int k = 0; k < VERSIONS; k++) {
        versions[k].fit = fit_of(loop, versions[k].bits, versions[k].count);
        any |= versions[k].fit != FITS_NEVER;
    }
    struct machine *brief =
        any && !waits ? build_iterations(arena, loop, options, versions[ONE].bits, 1) : NULL;
    bool is_few = brief && brief->body.count <= FEW;
    if (versions[ONE].fit != FITS_NEVER)
        versions[ONE].machine = brief;
    if (is_few || waits || has_groups(loop))
        build_version(arena, loop, options, &versions[HALF]);
    if (is_few && !machine_hands_on(loop)) {
        build_version(arena, loop, options, &versions[TWO]);
        build_version(arena, loop, options, &versions[FOUR]);
    }
}

/* Short code shares registers among its parts; what is around it, and what it calls out of line, has all. */
static struct machine *new_whole(struct arena *arena, const struct vector_loop *loop,
                                 const struct vector_options *options)
{
    struct machine *all = arena_new(arena, struct machine);
    *all = (struct machine){.arena = arena, .loop = loop, .options = options, .lanes = 1};
    machine_choose_slots(all);
    return all;
}

/* The one that fits always, alone; NULL: there is none. */
static struct machine *take_only(struct machine *all, const struct version *versions)
{
    for (int k = 0; k < VERSIONS; k++) {
        if (!versions[k].machine || versions[k].fit != FITS_ALWAYS)
            continue;
        tidy(versions[k].machine);
        append(all, versions[k].machine);
        return all;
    }
    return NULL;
}

/* The short ones, each where it fits, the first one first; then the code for all. */
static struct machine *join_versions(struct machine *all, const struct version *versions,
                                     const struct machine *machine)
{
    int end = all->labels++;
    for (int k = 0; k < VERSIONS; k++)
        append_short(all, &versions[k], end);
    append(all, machine);
    machine_emit_label(all, end);
    return all;
}

bool vector_x86_band(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing)
{
    struct version versions[VERSIONS] = {[HALF] = {.bits = 256, .count = 1},
                                         [ONE] = {.bits = 512, .count = 1},
                                         [TWO] = {.bits = 512, .count = MACHINE_SEVERAL / 2},
                                         [FOUR] = {.bits = 512, .count = MACHINE_SEVERAL}};
    if (has_short(loop, options))
        build_versions(arena, loop, options, versions);
    struct machine *all = new_whole(arena, loop, options), *machine = take_only(all, versions);
    if (!machine) {
        machine = build_iterations(arena, loop, options, 0, 0);
        if (!machine)
            return false;
        if (versions[HALF].machine || versions[ONE].machine)
            machine = join_versions(all, versions, machine);
        else
            tidy(machine);
    }
    machine_assemble(machine, listing);
    return !machine->refused;
}
