/*
 * vector_x86_apart.c: elements that lie a step apart, loaded one by one into the lanes of a vector.
 *
 * Consumes a stream with a step, of elements of 4 and 8 bytes, of which all lanes are wanted; appends a load
 * for each lane. An instruction that gathers takes twice as long on the processor this was measured on (Intel
 * Xeon at 2.5 GHz with AVX-512: 0.77 ns an element against 0.37). Lanes that a mask leaves out are not to be
 * read, so that is left to gathers.
 */
#include "vector_x86.h"

enum { AT = X86_R10, STEP = X86_RAX, QUARTER = 128, FARTHEST = 1 << 24 /* bytes */ };

static void add(struct machine *machine, enum x86_form form, int reg, struct x86_memory memory)
{
    machine_add(machine,
                (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

bool machine_can_load_apart(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = dtype_table[stream->dtype].size;

    return machine_is_avx512(machine) && size >= 4 && size * machine->lanes * 8 >= QUARTER &&
           (stream->step_kind != VECTOR_CONSTANT_STEP ||
            (stream->step < FARTHEST / (size * machine->lanes) &&
             stream->step > -FARTHEST / (size * machine->lanes)));
}

/* Where the lanes are, one after the other. */
struct walk {
    struct x86_memory memory; /* of the last lane of an even number; without a step in STEP: of the first */
    bool in_register;         /* the bytes from lane to lane: in STEP */
    int constant;             /* else these */
    int lane;
};

static struct walk walk_begin(struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = dtype_table[stream->dtype].size;
    struct walk walk = {.memory = {machine_base(machine, value->stream), X86_NONE, 1, value->offset * size}};

    if (stream->step_kind == VECTOR_CONSTANT_STEP) {
        walk.constant = (int)stream->step * size;
        return walk;
    }
    walk.in_register = true;
    add(machine, X86_MOV, STEP, machine_slot(machine, stream->slot + 1)); /* of all lanes together */
    machine_add(machine, (struct x86_instruction){.form = X86_SAR_BY,
                                                  .rm = STEP,
                                                  .immediate = __builtin_ctz((unsigned)machine->lanes)});
    return walk;
}

/* The element of the next lane. Of two lanes one is a step behind the other. */
static struct x86_memory walk_next(struct machine *machine, struct walk *walk)
{
    struct x86_memory here = walk->memory;
    int lane = walk->lane++;

    if (!walk->in_register) {
        here.displacement += lane * walk->constant;
    } else if (lane % 2) {
        here.index = STEP;
    } else if (lane) {
        here.index = STEP;
        here.scale = 2;
        add(machine, X86_LEA, AT, here);
        here = walk->memory = (struct x86_memory){AT, X86_NONE, 1, 0};
    }
    return here;
}

static int load_lane(struct machine *machine, struct walk *walk, enum x86_form form)
{
    int result = machine_new_vector(machine, QUARTER);
    struct x86_memory memory = walk_next(machine, walk);
    machine_add(machine,
                (struct x86_instruction){
                    .form = form, .bits = QUARTER, .reg = result, .has_memory = true, .memory = memory});
    return result;
}

static int insert_lane(struct machine *machine, struct walk *walk, int into, int lane)
{
    int result = machine_new_vector(machine, QUARTER);
    struct x86_memory memory = walk_next(machine, walk);
    machine_add(machine, (struct x86_instruction){.form = X86_VINSERTPS,
                                                  .bits = QUARTER,
                                                  .reg = result,
                                                  .vvvv = into,
                                                  .has_memory = true,
                                                  .memory = memory,
                                                  .immediate = lane << 4});
    return result;
}

/* 128 bits of lanes. */
static int load_quarter(struct machine *machine, struct walk *walk, int size)
{
    if (size == 8) {
        int low = load_lane(machine, walk, X86_VMOVSD_LOAD);
        return machine_rvm(machine, X86_VUNPCKLPD, QUARTER, low, load_lane(machine, walk, X86_VMOVSD_LOAD));
    }
    int result = load_lane(machine, walk, X86_VMOVSS_LOAD);
    for (int lane = 1; lane < 4; lane++)
        result = insert_lane(machine, walk, result, lane);
    return result;
}

int machine_load_apart(struct machine *machine, const struct vector_value *value)
{
    int size = dtype_table[value->dtype].size, bits = machine->lanes * size * 8;
    struct walk walk = walk_begin(machine, value);
    int result = load_quarter(machine, &walk, size);

    for (int quarter = 1; quarter < bits / QUARTER; quarter++)
        result = machine_rvmi(machine, X86_VINSERTF32X4, bits, result, load_quarter(machine, &walk, size),
                              quarter);
    return result;
}
