/*
 * vector_x86_strided.c: every third to sixth element of 4 bytes, or of as many words of which elements of 2
 * bytes are the first, as whole vectors that are permuted; elements of a nest with a step, one by one.
 *
 * Consumes a load of all lanes of a stream with such a step; appends loads of all vectors from the first
 * lane's element to the last one's. Of a nest, whose elements lie apart only where it stores them
 * (vector_stream.c), appends a gather, or loads one after the other where that is slow, or a scatter. For
 * AVX-512.
 */
#include "vector_x86_points.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

static int count_loads(const struct vector_loop *loop, int stream)
{
    int count = 0;
    for (int k = 0; k < loop->values.count; k++)
        count += loop->values.items[k].kind == VECTOR_LOAD && loop->values.items[k].stream == stream;
    return count;
}

/* Words of 4 bytes from one lane's element to the next one's; 0: elements do not begin at words. */
static int words_apart(const struct vector_stream *stream)
{
    int size = dtype_table[stream->dtype].size;
    return size == 4 ? (int)stream->step : size == 2 && stream->step % 2 == 0 ? (int)stream->step / 2 : 0;
}

/* Every third to sixth element of 4 bytes, every fourth to twelfth of 2, with AVX-512: to bring them one by
 * one takes longer than to load all. Three of a group of 4 bytes and more are better turned
 * (vector_x86_points.c). */
bool machine_is_few_apart(const struct machine *machine, const struct vector_value *value)
{
    enum { MOST_STEP = 12, MOST = 6, LANES = 16, MOST_LOADS = 2 };
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    if (!machine_is_avx512(machine) || stream->step_kind != VECTOR_CONSTANT_STEP || stream->step < 0 ||
        stream->step > MOST_STEP || machine->lanes != LANES || machine_bits(machine, value->type) != 512)
        return false;
    int words = words_apart(stream);
    bool is_whole = dtype_table[stream->dtype].size == 4;
    return words >= (is_whole ? 3 : 2) && words <= MOST &&
           (!is_whole ||
            (!vector_has_groups(stream) && count_loads(machine->loop, value->stream) <= MOST_LOADS));
}

static int mask_of_lanes(struct machine *machine, uint64_t lanes)
{
    return machine_keep(machine, KEPT_MASK, VECTOR_MASK, 0, lanes);
}

/* The lanes whose elements are in the vector number k of those that begin with the first lane's one. */
static int mask_of_part(struct machine *machine, int64_t step, int k)
{
    uint64_t lanes = 0;
    for (int lane = 0; lane < machine->lanes; lane++)
        lanes |= (uint64_t)(lane * step / machine->lanes == k) << lane;
    return mask_of_lanes(machine, lanes);
}

/* The elements of 2 bytes that are the low ones of words, as their dtype is kept in lanes. */
static int out_of_words(struct machine *machine, akg_dtype dtype, int words)
{
    return dtype_is_half(dtype) ? machine_half_of_bits(machine, dtype, words)
                                : machine_normal(machine, dtype, words);
}

/* One vector after the other, each permuted into the lanes that it has elements for: by the low bits of
 * lane * step, which are the place in the vector. Of the last one only what is before the last lane's element
 * is loaded, behind which the tensor may end. */
int machine_load_few_apart(struct machine *machine, const struct vector_value *value)
{
    enum { BITS = 512, VECTOR = BITS / 8 };
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int step = words_apart(stream), size = dtype_table[stream->dtype].size,
        result = machine_new_vector(machine, BITS);
    int places = machine_keep(machine, KEPT_STEPS, VECTOR_I32, 0, (uint64_t)step);
    struct x86_memory memory = machine_step_memory(machine, value);
    for (int k = 0; k < step - 1; k++, memory.displacement += VECTOR) {
        machine_add(machine, (struct x86_instruction){.form = X86_VPERMPS_WIDE,
                                                      .bits = BITS,
                                                      .reg = result,
                                                      .vvvv = places,
                                                      .mask = k ? mask_of_part(machine, step, k) : 0,
                                                      .has_memory = true,
                                                      .memory = memory});
    }
    int last = machine_new_vector(machine, BITS), bytes = (machine->lanes - step) * 4 + size;
    machine_add(machine,
                (struct x86_instruction){.form = size == 4 ? X86_VMOVUPS_LOAD : X86_VMOVDQU16_LOAD,
                                         .bits = BITS,
                                         .reg = last,
                                         .mask = mask_of_lanes(machine, ((uint64_t)1 << bytes / size) - 1),
                                         .zeroing = true,
                                         .has_memory = true,
                                         .memory = memory});
    machine_into(machine, X86_VPERMPS_WIDE, BITS, result, places, last,
                 mask_of_part(machine, step, step - 1));
    return size == 4 ? result : out_of_words(machine, value->dtype, result);
}

/* Gathers and scatters of a nest, whose mask is gone afterwards. */
static void at_steps(struct machine *machine, const struct vector_value *value, enum x86_form form,
                     struct x86_memory memory, int reg, int mask)
{
    int step = (int)machine->loop->streams.items[value->stream].step;
    if (memory.index != X86_NONE) {
        machine_refuse(machine);
        return;
    }
    memory.index = machine_keep(machine, KEPT_STEPS, VECTOR_I32, 0, (uint64_t)step);
    memory.scale = dtype_table[value->dtype].size;
    int lanes = mask ? mask : machine_constant(machine, VECTOR_MASK, 1);
    machine_add(machine, (struct x86_instruction){.form = form,
                                                  .bits = machine_bits(machine, value->type),
                                                  .reg = reg,
                                                  .mask = machine_rm(machine, X86_KMOVW, 128, lanes),
                                                  .has_memory = true,
                                                  .memory = memory});
}

int machine_load_by_step(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                         int mask)
{
    bool wide = vector_type_is_wide(value->type);
    if (!mask && memory.index == X86_NONE && machine_gathers_in_turn(machine, value->dtype)) {
        int step = (int)machine->loop->streams.items[value->stream].step;
        int indices = machine_keep(machine, KEPT_STEPS, VECTOR_I32, 0, (uint64_t)step);
        memory.scale = dtype_table[value->dtype].size;
        return machine_gather_in_turn(machine, value, indices, false, memory, 0);
    }
    int result =
        machine_copy(machine, machine_bits(machine, value->type), machine_constant(machine, value->type, 0));
    at_steps(machine, value, wide ? X86_VGATHERDPD : X86_VGATHERDPS, memory, result, mask);
    return result;
}

void machine_store_by_step(struct machine *machine, const struct vector_value *value,
                           struct x86_memory memory, int operand, int mask)
{
    bool wide = vector_type_is_wide(value->type);
    at_steps(machine, value, wide ? X86_VSCATTERDPD : X86_VSCATTERDPS, memory, operand, mask);
}
