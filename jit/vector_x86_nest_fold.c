/*
 * vector_x86_nest_fold.c: loads of nests in which some rows lie side by side in one vector (vector_fold.c).
 *
 * Consumes where a row and a column are from the next one; appends loads of what some lane needs, within
 * 128 bytes, and a permutation that brings it to its lanes. Where the lanes lie as the elements do, or each
 * row has the same ones, the load does it alone. What iterations that are written out need is loaded once for
 * all of them, if it lies within as many: loads that begin anywhere mostly go over the end of a line.
 */
#include "vector_x86_nest.h"
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"

enum { UNITS = 16 /* of 32 bits, of a vector */, MOST_UNITS = 2 * UNITS };

/* How elements lie; as the bits of what is kept. */
struct pattern {
    int first;       /* the element of the first row and column */
    int row, column; /* elements from one to the next */
    int columns, units /* of an element */;
};

static uint64_t bits_of(struct pattern pattern)
{
    return (uint64_t)pattern.row | (uint64_t)pattern.column << 8 | (uint64_t)pattern.columns << 16 |
           (uint64_t)pattern.units << 24 | (uint64_t)pattern.first << 32;
}

static struct pattern pattern_of(uint64_t bits)
{
    return (struct pattern){(int)(bits >> 32), bits & 0xff, bits >> 8 & 0xff, bits >> 16 & 0xff,
                            bits >> 24 & 0xff};
}

/* The unit that one of the vector's is. */
static int source(struct pattern pattern, int unit)
{
    int lane = unit / pattern.units, element = pattern.first + lane / pattern.columns * pattern.row +
                                               lane % pattern.columns * pattern.column;
    return element * pattern.units + unit % pattern.units;
}

static uint32_t needed_units(struct pattern pattern)
{
    uint32_t mask = 0;
    for (int unit = 0; unit < UNITS; unit++)
        mask |= 1u << source(pattern, unit);
    return mask;
}

static void setup_needed(struct machine *machine, const struct machine_kept *kept)
{
    machine_add(machine, (struct x86_instruction){
                             .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = (int64_t)kept->bits});
    machine_add(machine,
                (struct x86_instruction){
                    .form = X86_KMOVW_TO, .bits = 128, .reg = kept->virtual_register, .rm = X86_RAX});
}

void machine_setup_pattern(struct machine *machine, const struct machine_kept *kept)
{
    if (kept->kind == KEPT_NEEDED) {
        setup_needed(machine, kept);
        return;
    }
    unsigned char *bytes = arena_array(machine->arena, unsigned char, 4 * UNITS);
    struct vector_datum datum = {machine->labels++, 4 * UNITS, 0, bytes};
    for (int unit = 0; unit < UNITS; unit++)
        bytes[4 * unit] = (unsigned char)source(pattern_of(kept->bits), unit);
    list_push(machine->arena, &machine->data, datum);
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                                  .bits = 512,
                                                  .reg = kept->virtual_register,
                                                  .has_memory = true,
                                                  .memory = {X86_RIP, X86_NONE, 1, 0},
                                                  .label = datum.label});
}

static int load(struct machine *machine, enum x86_form form, struct x86_memory memory, int mask)
{
    int result = machine_new_vector(machine, 512);
    machine_add(machine, (struct x86_instruction){.form = form,
                                                  .bits = 512,
                                                  .reg = result,
                                                  .has_memory = true,
                                                  .memory = memory,
                                                  .mask = mask,
                                                  .zeroing = mask != 0});
    return result;
}

/* Elements from one iteration that is written out to the next; -1: they are not among the others. */
static int distance(const struct nest_code *code, const struct vector_stream *stream, struct pattern pattern)
{
    const struct vector_stride *depths = &stream->strides[code->nest->depth - 1];
    int size = dtype_table[stream->dtype].size;
    if (depths->kind == VECTOR_STAYS)
        return 0;
    if (depths->kind != VECTOR_STRIDE || depths->bytes < 0 || depths->bytes >= MOST_UNITS * size)
        return -1;
    pattern.first = (int)depths->bytes / size * (code->written_out - 1);
    return source(pattern, UNITS - 1) < MOST_UNITS ? (int)depths->bytes / size : -1;
}

/* The units that any iteration needs. */
static uint32_t needed_ever(const struct nest_code *code, struct pattern pattern, int each)
{
    uint32_t needed = needed_units(pattern);
    for (int k = 0; k < code->written_out && each >= 0; k++) {
        pattern.first = k * each;
        needed |= needed_units(pattern);
    }
    return needed;
}

/* The units of the mask, from the place of the first one on: once for all iterations. */
static int load_needed(struct nest_code *code, int stream, uint32_t needed, struct x86_memory memory)
{
    struct machine *machine = code->machine;
    for (int k = 0; k < machine->loaded.count; k++) {
        const struct machine_loaded *row = &machine->loaded.items[k];
        if (row->section == machine->section && row->stream == stream && row->offset == memory.displacement)
            return row->vectors[0];
    }
    int mask = needed == (1u << UNITS) - 1 ? 0 : machine_keep(machine, KEPT_NEEDED, VECTOR_MASK, 0, needed);
    struct machine_loaded row = {
        .section = machine->section, .stream = stream, .offset = memory.displacement};
    row.vectors[0] = load(machine, X86_VMOVUPS_LOAD, memory, mask);
    list_push(machine->arena, &machine->loaded, row);
    return row.vectors[0];
}

/* To its lanes: within 128 bits, where each of these has what its lanes need. */
static int permute(struct machine *machine, struct pattern pattern, int from)
{
    enum { QUARTER = 4 };
    if (pattern.units == 1 && pattern.columns == QUARTER && pattern.row == QUARTER && pattern.column == 0 &&
        pattern.first < QUARTER)
        return machine_rvmi(machine, X86_VSHUFPS, 512, from, from, pattern.first * 0x55);
    int places = machine_keep(machine, KEPT_PATTERN, VECTOR_I32, 0, bits_of(pattern));
    return machine_rvm(machine, X86_VPERMPS_WIDE, 512, places, from);
}

static int load_pattern(struct nest_code *code, int stream, struct pattern pattern, int each,
                        struct x86_memory memory)
{
    struct machine *machine = code->machine;
    uint32_t needed = needed_ever(code, pattern, each);
    uint32_t lower = needed & ((1u << UNITS) - 1), upper = needed >> UNITS;
    pattern.first = each < 0 ? 0 : each * code->written;
    int from = load_needed(code, stream, lower, memory);
    if (!upper)
        return permute(machine, pattern, from);
    memory.displacement += 4 * UNITS;
    int places = machine_keep(machine, KEPT_PATTERN, VECTOR_I32, 0, bits_of(pattern));
    int rest = load_needed(code, stream, upper, memory), result = machine_copy(machine, 512, from);
    machine_into(machine, X86_VPERMT2PS, 512, result, places, rest, 0);
    return result;
}

int machine_load_folded(struct nest_code *code, const struct vector_value *value, struct x86_memory memory)
{
    enum { HALF_OF_A_VECTOR = 8, FOURTH = 4 /* units */ };
    struct machine *machine = code->machine;
    const struct vector_stream *stream = &code->loop->streams.items[value->stream];
    int size = dtype_table[value->dtype].size, columns = machine->lanes / code->nest->fold;
    struct pattern pattern = {.row = (int)stream->strides[VECTOR_ROWS].bytes / size,
                              .column = (int)stream->strides[VECTOR_COLUMNS].bytes / size,
                              .columns = columns,
                              .units = size / 4};
    if (pattern.column == 1 && pattern.row == columns)
        return machine_load_from(machine, value, memory, 0);
    if (pattern.column == 1 && pattern.row == 0 && columns * pattern.units == FOURTH)
        return load(machine, X86_VBROADCASTF32X4, memory, 0);
    if (pattern.column == 1 && pattern.row == 0 && columns * pattern.units == HALF_OF_A_VECTOR)
        return load(machine, X86_VBROADCASTF64X4, memory, 0);
    int each = distance(code, stream, pattern);
    if (each >= 0)
        memory.displacement -= each * size * code->written;
    return load_pattern(code, value->stream, pattern, each, memory);
}
