/*
 * vector_x86_slim_memory.c: loads and stores of lanes of 8 and 16 bits.
 *
 * Consumes streams whose elements lie one behind the other, forwards or backwards, or of which both of each
 * two are loaded; appends instructions that turn elements in memory into lanes and back. With AVX-512 what a
 * mask leaves out is neither read nor written; with AVX2 it is read, and stored as it was.
 */
#include "vector_x86_slim.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

static bool widens(const struct slim_body *body, const struct vector_value *value)
{
    return dtype_table[value->dtype].size < body->slim->size;
}

/* Of the elements of a vector. */
static int bits_in_memory(const struct slim_body *body, const struct vector_value *value)
{
    return widens(body, value) ? body->bits / 2 : body->bits;
}

/* Lanes that the value and what is left of the loop ask for; 0: all. */
static int mask_of(const struct slim_body *body, const struct vector_value *value)
{
    int mask = value->mask >= 0 ? body->registers[value->mask] : 0;
    return !body->tail ? mask : mask ? machine_and(body->machine, body->tail, mask) : body->tail;
}

static enum x86_form widening_form(akg_dtype dtype)
{
    return dtype_is_signed(dtype) ? X86_VPMOVSXBW : X86_VPMOVZXBW;
}

static int load_from(const struct slim_body *body, enum x86_form form, int bits, struct x86_memory memory,
                     int mask)
{
    int result = machine_new_vector(body->machine, bits);
    machine_add(body->machine, (struct x86_instruction){.form = form,
                                                        .bits = bits,
                                                        .reg = result,
                                                        .mask = mask,
                                                        .zeroing = mask != 0,
                                                        .has_memory = true,
                                                        .memory = memory});
    return result;
}

static int load_whole(const struct slim_body *body, struct x86_memory memory, int bytes)
{
    memory.displacement += bytes;
    return load_from(body, X86_VMOVUPS_LOAD, body->bits, memory, 0);
}

/* ---- every other element ----------------------------------------------------------------------------- */

/* The low halves of lanes twice as wide. */
static int low_halves(const struct slim_body *body, bool bytes, const int vectors[2])
{
    enum { BY_LANES = 0xd8 /* packing goes by halves */ };
    struct machine *machine = body->machine;
    if (!machine_is_avx512(machine))
        return machine_rmi(machine, X86_VPERMPD_BY, body->bits,
                           slim_apply(body, bytes ? X86_VPACKUSWB : X86_VPACKUSDW, vectors[0], vectors[1]),
                           BY_LANES);
    int halves[2];
    for (int k = 0; k < 2; k++) {
        halves[k] = machine_new_vector(machine, body->bits / 2);
        machine_add(machine, (struct x86_instruction){.form = bytes ? X86_VPMOVWB : X86_VPMOVDW,
                                                      .bits = body->bits,
                                                      .reg = vectors[k],
                                                      .rm = halves[k]});
    }
    return machine_rvmi(machine, X86_VINSERTF64X4, body->bits, halves[0], halves[1], 1);
}

/* One element of each two: the low or the high half of a word or of 32 bits, and what is left of two vectors
 * in one. */
static int half_of(const struct slim_body *body, const struct vector_value *value, struct x86_memory memory,
                   bool is_second)
{
    struct machine *machine = body->machine;
    bool bytes = dtype_table[value->dtype].size == 1;
    int low_half = slim_repeated(body, bytes ? 0x00ff00ff : 0x0000ffff), halves[2];
    for (int k = 0; k < 2; k++) {
        int all = load_whole(body, memory, k * body->bits / 8);
        halves[k] = !is_second
                        ? machine_is_avx512(machine) ? all : slim_apply(body, X86_VANDPS, all, low_half)
                    : bytes ? slim_shift_words(body, X86_VPSRLW_BY, all, 8)
                            : machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, body->bits, all, 16);
    }
    return low_halves(body, bytes, halves);
}

/* Bytes that become words where they are. */
static int byte_of_word(const struct slim_body *body, const struct vector_value *value,
                        struct x86_memory memory, bool is_second)
{
    int all = load_whole(body, memory, 0);
    bool is_signed = dtype_is_signed(value->dtype);
    if (!is_signed)
        return is_second ? slim_shift_words(body, X86_VPSRLW_BY, all, 8)
                         : slim_apply(body, X86_VANDPS, all, slim_number(body, 0xff));
    return slim_shift_words(body, X86_VPSRAW_BY,
                            is_second ? all : slim_shift_words(body, X86_VPSLLW_BY, all, 8), 8);
}

static int load_of_pair(const struct slim_body *body, const struct vector_value *value)
{
    struct vector_value first = *value;
    first.offset = slim_pair(body->machine->loop, value);
    struct x86_memory memory = machine_step_memory(body->machine, &first);
    bool is_second = value->offset != first.offset;
    return (widens(body, value) ? byte_of_word : half_of)(body, value, memory, is_second);
}

/* ---- backwards ----------------------------------------------------------------------------------------- */

/* The last lane's element comes first: it is turned within each 128 bits, and these are. */
static int load_backwards(const struct slim_body *body, const struct vector_value *value)
{
    enum { HALVES = 0x4e, QUARTERS = 0x1b };
    struct machine *machine = body->machine;
    int size = dtype_table[value->dtype].size, bits = bits_in_memory(body, value);
    struct x86_memory memory = machine_step_memory(machine, value);
    memory.displacement -= bits / 8 - size;
    int a = load_from(body, X86_VMOVUPS_LOAD, bits, memory, 0);
    a = machine_rvm(machine, X86_VPSHUFB, bits, a,
                    machine_keep(machine, KEPT_BACKWARDS, slim_vector_type(machine), size, 0));
    if (bits == 256)
        a = machine_rmi(machine, X86_VPERMPD_BY, bits, a, HALVES);
    else if (bits == 512)
        a = machine_rvmi(machine, X86_VSHUFF64X2, bits, a, a, QUARTERS);
    return widens(body, value) ? machine_rm(machine, widening_form(value->dtype), body->bits, a) : a;
}

/* ---- side by side -------------------------------------------------------------------------------------- */

static int load_unit(const struct slim_body *body, const struct vector_value *value)
{
    int mask = machine_is_avx512(body->machine) ? mask_of(body, value) : 0;
    enum x86_form form = widens(body, value)     ? widening_form(value->dtype)
                         : !mask                 ? X86_VMOVUPS_LOAD
                         : body->slim->size == 1 ? X86_VMOVDQU8_LOAD
                                                 : X86_VMOVDQU16_LOAD;
    return load_from(body, form, body->bits, machine_unit_memory(body->machine, value), mask);
}

int slim_load(const struct slim_body *body, const struct vector_value *value)
{
    const struct vector_stream *stream = &body->machine->loop->streams.items[value->stream];
    int result = stream->step_kind == VECTOR_UNIT ? load_unit(body, value)
                 : body->slim->permutes           ? slim_load_step(body, value)
                 : stream->step == -1             ? load_backwards(body, value)
                                                  : load_of_pair(body, value);
    return value->dtype == AKG_BOOL ? slim_truth(body, result) : result;
}

static void store_to(const struct slim_body *body, const struct vector_value *value, enum x86_form form,
                     int bits, int a, int mask)
{
    machine_add(body->machine, (struct x86_instruction){.form = form,
                                                        .bits = bits,
                                                        .reg = a,
                                                        .mask = mask,
                                                        .has_memory = true,
                                                        .memory = machine_unit_memory(body->machine, value)});
}

/* Words as bytes. */
static int packed(const struct slim_body *body, enum x86_form form, int a)
{
    int high = machine_upper_half(body->machine, a, body->bits, false);
    return machine_rvm(body->machine, form, body->bits / 2, a, high);
}

/* What a mask leaves out is stored as it is there: it was loaded (vector_slim.c). */
static void store_avx2(const struct slim_body *body, const struct vector_value *value, int a)
{
    int mask = mask_of(body, value), bits = bits_in_memory(body, value);
    if (value->dtype == AKG_BOOL)
        a = slim_where(body, a, slim_number(body, 1));
    if (widens(body, value))
        a = packed(body, dtype_is_signed(value->dtype) ? X86_VPACKSSWB : X86_VPACKUSWB, a);
    if (mask) {
        int before = load_from(body, X86_VMOVUPS_LOAD, bits, machine_unit_memory(body->machine, value), 0);
        if (widens(body, value))
            mask = packed(body, X86_VPACKSSWB, mask);
        a = slim_blend(body, bits, mask, a, before);
    }
    store_to(body, value, X86_VMOVUPS_STORE, bits, a, 0);
}

void slim_store(const struct slim_body *body, const struct vector_value *value, int a)
{
    if (body->machine->loop->streams.items[value->stream].step_kind != VECTOR_UNIT) {
        slim_store_step(body, value);
        return;
    }
    if (!machine_is_avx512(body->machine)) {
        store_avx2(body, value, a);
        return;
    }
    int mask = mask_of(body, value);
    if (value->dtype == AKG_BOOL)
        a = slim_where(body, a, slim_number(body, 1));
    store_to(body, value,
             widens(body, value)     ? X86_VPMOVWB
             : !mask                 ? X86_VMOVUPS_STORE
             : body->slim->size == 1 ? X86_VMOVDQU8_STORE
                                     : X86_VMOVDQU16_STORE,
             body->bits, a, mask);
}
