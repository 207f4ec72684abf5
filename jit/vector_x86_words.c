/*
 * vector_x86_words.c: elements of 8 and 16 bits that are a whole word of 4 or 8 bytes for each iteration, as
 * of pixels with an alpha channel, or eight bytes that become bits of one.
 *
 * Consumes loads of a stream all of whose elements are loaded, without conditions, for AVX-512; appends one
 * load of the words of all lanes, or two and what parts them, and shifts for each of the elements. Of lanes
 * under a mask those of 4 bytes.
 */
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum { LANES = 16, WORD = 4 /* bytes */, MOST = 2 * WORD, BITS = 512 };

bool machine_is_in_words(const struct machine *machine, const struct vector_value *value, int mask)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = dtype_table[stream->dtype].size, span = stream->high - stream->low + 1;
    return machine_is_avx512(machine) && machine->lanes == LANES && size < WORD &&
           stream->step_kind == VECTOR_CONSTANT_STEP && stream->step == span && !stream->is_masked &&
           (span * size == WORD || (span * size == MOST && !mask)) && machine->pointers[value->stream] >= 0;
}

/* The words, or their lower and their upper halves, loaded once for all elements. */
static const int *load_words(struct machine *machine, const struct vector_value *value, int mask)
{
    static const uint32_t halves[2][LANES] = {{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
                                              {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31}};
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    struct machine_loaded row = {machine->section, value->stream, stream->low, value->epoch, {mask, 0}};
    for (int k = 0; k < machine->loaded.count; k++) {
        const struct machine_loaded *other = &machine->loaded.items[k];
        if (other->section == row.section && other->stream == row.stream && other->offset == row.offset &&
            other->epoch == row.epoch && other->vectors[0] == mask)
            return other->vectors + 1;
    }
    struct vector_value lowest = *value;
    int vectors[2] = {0, 0}, bytes = (stream->high - stream->low + 1) * dtype_table[stream->dtype].size;
    lowest.offset = stream->low;
    for (int k = 0; k < bytes / WORD; k++) {
        struct x86_memory memory = machine_step_memory(machine, &lowest);
        memory.displacement += k * BITS / 8;
        vectors[k] = machine_new_vector(machine, BITS);
        machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                                      .bits = BITS,
                                                      .reg = vectors[k],
                                                      .mask = mask,
                                                      .zeroing = mask != 0,
                                                      .has_memory = true,
                                                      .memory = memory});
    }
    row.vectors[1] = vectors[0];
    for (int k = 0; k < 2 && vectors[1]; k++) {
        row.vectors[k + 1] = machine_copy(machine, BITS, vectors[0]);
        machine_into(machine, X86_VPERMT2PS, BITS, row.vectors[k + 1],
                     machine_table(machine, (const float *)halves[k]), vectors[1], 0);
    }
    list_push(machine->arena, &machine->loaded, row);
    return machine->loaded.items[machine->loaded.count - 1].vectors + 1;
}

int machine_load_in_words(struct machine *machine, const struct vector_value *value, int mask)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = dtype_table[stream->dtype].size, byte = (value->offset - stream->low) * size;
    int word = load_words(machine, value, mask)[byte / WORD], first = 8 * (byte % WORD), width = 8 * size;
    bool is_signed = dtype_is_integer(stream->dtype) && dtype_is_signed(stream->dtype);
    int above = 32 - first - width;
    if (above && (is_signed || first)) /* to the upper end, and down from there */
        word = machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, BITS, word, above);
    if (above && !is_signed && !first)
        word = machine_rvm(machine, X86_VANDPS, BITS, word,
                           machine_constant(machine, VECTOR_I32, ((uint64_t)1 << width) - 1));
    else
        word = machine_shift(machine, is_signed ? X86_VPSRAD_BY : X86_VPSRLD_BY,
                             is_signed ? X86_VPSRAD_BY_WIDE : X86_VPSRLD_BY_WIDE, BITS, word, 32 - width);
    if (stream->dtype == AKG_BOOL)
        return machine_compare(machine, OP_NE, AKG_INT32, word, machine_constant(machine, VECTOR_I32, 0));
    return dtype_is_half(stream->dtype) ? machine_half_of_bits(machine, stream->dtype, word) : word;
}
