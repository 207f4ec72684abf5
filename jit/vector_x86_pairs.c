/*
 * vector_x86_pairs.c: two elements side by side for each iteration, `y[2 * i] = a; y[2 * i + 1] = b`, as
 * whole vectors in memory; and elements of 8 and 16 bits that are loaded so.
 *
 * Consumes streams of step 2, of which both of each two elements are stored, or loaded, in each iteration.
 * Lanes of 8 and 16 bits are 32 bits wide in registers: there, two elements are one lane of twice
 * the size. Larger ones are brought into turn. A store waits for the other one, which nothing between the two
 * can tell: nothing there loads from the buffer, or stores to it elsewhere.
 */
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

#include <stdlib.h>

static const struct vector_stream *stream_of(const struct machine *machine, const struct vector_value *value)
{
    return &machine->loop->streams.items[value->stream];
}

static bool is_in_pairs(const struct machine *machine, const struct vector_stream *stream)
{
    return machine->lanes > 1 && stream->step_kind == VECTOR_CONSTANT_STEP && stream->step == 2;
}

/* With AVX2, what is masked are elements of 4 bytes, or 8. */
static bool can_be_masked(const struct machine *machine, int size)
{
    return machine_is_avx512(machine) || size >= 4;
}

/* Of the two elements: 0 or 1. */
static int half_of(const struct vector_stream *stream, const struct vector_value *value)
{
    return (value->offset - stream->low) & 1;
}

static struct x86_memory pair_memory(struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = stream_of(machine, value);
    return (struct x86_memory){machine_base(machine, value->stream), X86_NONE, 1,
                               (value->offset - half_of(stream, value)) * dtype_table[stream->dtype].size};
}

/* ---- stores --------------------------------------------------------------------------------- */

bool machine_is_unchanged(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = stream_of(machine, value);
    if (stream->step_kind != VECTOR_CONSTANT_STEP || stream->high - stream->low >= llabs(stream->step))
        return false;
    for (const struct vector_value *other = machine->loop->values.items; other < value; other++) {
        bool stores = other->kind == VECTOR_STORE || other->kind == VECTOR_SCATTER;
        if (stores && stream_of(machine, other)->access->buffer == stream->access->buffer &&
            (other->kind != VECTOR_STORE || other->stream != value->stream || other->offset == value->offset))
            return false;
    }
    return true;
}

bool machine_is_disturbed(const struct machine *machine, const struct vector_value *first,
                          const struct vector_value *last)
{
    const struct vector_stream *stream = stream_of(machine, first);
    for (const struct vector_value *value = first + 1; value < last; value++) {
        bool accesses =
            value->stream >= 0 && stream_of(machine, value)->access->buffer == stream->access->buffer;
        bool is_same = accesses && value->stream == first->stream;
        if (accesses && (!is_same || (value->kind != VECTOR_STORE &&
                                      (value->kind != VECTOR_LOAD || !machine_is_unchanged(machine, value)))))
            return true;
    }
    return false;
}

const struct vector_value *machine_other_store(const struct machine *machine,
                                               const struct vector_value *value)
{
    const struct vector_value *other = machine->lanes > 1 ? vector_other_store(machine->loop, value) : NULL;
    if (!other)
        return NULL;
    return machine_is_disturbed(machine, other < value ? other : value, other < value ? value : other)
               ? NULL
               : other;
}

/* What waits in the section for the other store; 0: nothing does. */
static int waiting(const struct machine *machine, const struct vector_value *value)
{
    for (int k = machine->waiting.count - 1; k >= 0; k--)
        if (machine->waiting.items[k].section == machine->section && machine->waiting.items[k].value == value)
            return machine->waiting.items[k].operand;
    return 0;
}

/* The bits of an element of 8 or 16 in the lower part of a lane. */
static int lower_bits(struct machine *machine, akg_dtype dtype, int operand)
{
    int bits = machine_bits(machine, VECTOR_I32), half = machine_new_vector(machine, bits / 2);
    if (dtype == AKG_BOOL)
        return machine_cast(machine, AKG_INT32, AKG_BOOL, operand);
    if (dtype == AKG_BFLOAT16)
        return machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, operand, 16);
    if (dtype != AKG_FLOAT16)
        return operand;
    machine_add(machine,
                (struct x86_instruction){.form = X86_VCVTPS2PH, .bits = bits, .reg = operand, .rm = half});
    return machine_rm(machine, X86_VPMOVZXWD, bits, half);
}

/* Lanes that are both elements: of 16 bits, or of 32. */
static void store_lanes_avx2(struct machine *machine, const struct vector_value *value, int both, int mask)
{
    struct vector_value pair = *value;
    pair.dtype = dtype_table[value->dtype].size == 1 ? AKG_UINT16 : AKG_INT32;
    pair.type = VECTOR_I32;
    machine_store_to(machine, &pair, pair_memory(machine, value), both, mask);
}

/* As lanes of twice the size. What is above the bits of the second one is not stored. */
static void store_small(struct machine *machine, const struct vector_value *value, int first, int second,
                        int mask)
{
    int bits = machine_bits(machine, VECTOR_I32), size = dtype_table[value->dtype].size;
    first = lower_bits(machine, value->dtype, first);
    if (dtype_is_signed(value->dtype) && dtype_is_integer(value->dtype))
        first = machine_normal(machine, size == 1 ? AKG_UINT8 : AKG_UINT16, first);
    second = machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits,
                           lower_bits(machine, value->dtype, second), 8 * size);
    int both = machine_rvm(machine, X86_VORPS, bits, first, second);
    if (!machine_is_avx512(machine)) {
        store_lanes_avx2(machine, value, both, mask);
        return;
    }
    struct x86_instruction store = {.form = size == 1 ? X86_VPMOVDW : X86_VMOVUPS_STORE,
                                    .bits = bits,
                                    .reg = both,
                                    .mask = mask,
                                    .has_memory = true,
                                    .memory = pair_memory(machine, value)};
    machine_add(machine, store);
}

/* The first elements of both in turn, and the others. */
static void turns_avx2(struct machine *machine, bool wide, int bits, int first, int second, int results[2])
{
    enum { LOWER = 0x20, UPPER = 0x31 };
    results[0] = machine_rvm(machine, wide ? X86_VUNPCKLPD : X86_VUNPCKLPS, bits, first, second);
    results[1] = machine_rvm(machine, wide ? X86_VUNPCKHPD : X86_VUNPCKHPS, bits, first, second);
    if (bits == 128 || machine->is_uncrossed)
        return;
    int low = machine_rvmi(machine, X86_VPERM2F128, bits, results[0], results[1], LOWER);
    results[1] = machine_rvmi(machine, X86_VPERM2F128, bits, results[0], results[1], UPPER);
    results[0] = low;
}

/* As two vectors that lie one behind the other. */
static void bring_in_turn(struct machine *machine, const struct vector_value *value, int first, int second,
                          int results[2])
{
    bool wide = vector_type_is_wide(value->type);
    int bits = machine_bits(machine, value->type);
    if (!machine_is_avx512(machine)) {
        turns_avx2(machine, wide, bits, first, second, results);
        return;
    }
    for (int k = 0; k < 2; k++) {
        int turns = machine_keep(machine, KEPT_PAIRS, wide ? VECTOR_I64 : VECTOR_I32, PAIRS_IN_TURN + k, 0);
        results[k] = machine_copy(machine, bits, first);
        machine_into(machine, wide ? X86_VPERMT2PD : X86_VPERMT2PS, bits, results[k], turns, second, 0);
    }
}

void machine_store_both(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                        const int operands[2], const int masks[2])
{
    int results[2];
    bring_in_turn(machine, value, operands[0], operands[1], results);
    for (int k = 0; k < 2; k++) {
        if (masks[k] && !machine_is_avx512(machine))
            machine_store_lanes(machine, value, memory, results[k], masks[k]);
        else
            machine_store_to(machine, value, memory, results[k], masks[k]);
        memory.displacement += machine->lanes * dtype_table[value->dtype].size;
    }
}

/* Each element is brought to where it lies, and to the place behind it, which the masks leave out. */
void machine_store_every_other(struct machine *machine, const struct vector_value *value,
                               struct x86_memory memory, int operand, const int masks[2])
{
    int results[2];
    bring_in_turn(machine, value, operand, operand, results);
    for (int k = 0; k < 2; k++) {
        if (machine_is_avx512(machine))
            machine_store_to(machine, value, memory, results[k], masks[k]);
        else
            machine_store_lanes(machine, value, memory, results[k], masks[k]);
        memory.displacement += (machine->lanes - 1) * dtype_table[value->dtype].size;
    }
}

bool machine_store_pair(struct machine *machine, const struct vector_value *value, int operand, int mask)
{
    const struct vector_value *other = machine_other_store(machine, value);
    if (!other || (mask && !can_be_masked(machine, 2 * dtype_table[value->dtype].size)))
        return false;
    int before = waiting(machine, other);
    bool is_second = half_of(stream_of(machine, value), value);
    int first = is_second ? before : operand, second = is_second ? operand : before;
    if (!before) {
        struct machine_waiting row = {machine->section, value, operand};
        list_push(machine->arena, &machine->waiting, row);
        return true;
    }
    if (dtype_table[value->dtype].size < 4) {
        store_small(machine, value, first, second, mask);
        return true;
    }
    int masks[2];
    machine_pair_masks(machine, value->type, mask,
                       masks); /* before the address, whose register it may take */
    machine_store_both(machine, value, pair_memory(machine, value), (const int[]){first, second}, masks);
    return true;
}

/* ---- loads ---------------------------------------------------------------------------------- */

/* Of float16: what the lower parts of lanes are. */
static int halves_avx2(struct machine *machine, int pair)
{
    int bits = machine_bits(machine, VECTOR_I32), low = machine_normal(machine, AKG_UINT16, pair);
    int high = bits == 256 ? machine_upper_half(machine, low, bits, false) : low;
    return machine_rm(machine, X86_VCVTPH2PS, bits, machine_rvm(machine, X86_VPACKUSDW, 128, low, high));
}

/* The element of a lane of twice its size. */
static int take_half(struct machine *machine, akg_dtype dtype, int pair, int half)
{
    int bits = machine_bits(machine, VECTOR_I32), size = dtype_table[dtype].size;
    if (dtype == AKG_BFLOAT16 && half)
        return machine_rvm(machine, X86_VANDPS, bits, pair,
                           machine_constant(machine, VECTOR_I32, 0xffff0000));
    if (dtype == AKG_BFLOAT16)
        return machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits, pair, 16);
    if (half)
        pair = machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, pair, 8 * size);
    if (dtype == AKG_BOOL)
        return machine_compare(machine, OP_NE, AKG_INT32, machine_normal(machine, AKG_UINT8, pair),
                               machine_constant(machine, VECTOR_I32, 0));
    if (dtype != AKG_FLOAT16)
        return machine_normal(machine, dtype, pair);
    if (!machine_is_avx512(machine))
        return halves_avx2(machine, pair);
    int narrow = machine_new_vector(machine, bits / 2);
    machine_add(machine,
                (struct x86_instruction){.form = X86_VPMOVDW, .bits = bits, .reg = pair, .rm = narrow});
    return machine_rm(machine, X86_VCVTPH2PS, bits, narrow);
}

int machine_load_pair(struct machine *machine, const struct vector_value *value, int mask)
{
    const struct vector_stream *stream = stream_of(machine, value);
    int size = dtype_table[stream->dtype].size, half = half_of(stream, value);
    int bits = machine_bits(machine, VECTOR_I32);
    if (size >= 4 || !is_in_pairs(machine, stream) || stream->is_masked ||
        value->offset - half >= stream->high || (mask && !machine_is_avx512(machine)))
        return 0;
    int pair = machine_new_vector(machine, bits);
    machine_add(machine, (struct x86_instruction){.form = size == 1 ? X86_VPMOVZXWD : X86_VMOVUPS_LOAD,
                                                  .bits = bits,
                                                  .reg = pair,
                                                  .mask = mask,
                                                  .zeroing = mask != 0,
                                                  .has_memory = true,
                                                  .memory = pair_memory(machine, value)});
    return take_half(machine, stream->dtype, pair, half);
}
