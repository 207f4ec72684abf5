/*
 * vector_x86_gather.c: elements that are loaded from where the lanes say (vector_gather.c), and the tests of
 * indices.
 *
 * Consumes indices in lanes, as elements behind the address of a stream; appends a gather, whose mask is a
 * register of its own with AVX-512, and a vector with AVX2. Lanes that the mask leaves out are neither tested
 * nor read. Where there is no mask, AVX2 loads lane by lane, which is faster: by a fifth for eight elements
 * of 32 bits, by more for four of 64 (Zen 3). Elements of 8 and 16 bits it loads so in any case, and for
 * lanes that are left out, where others are not, the stream's first one, which is there if any is. With
 * AVX-512 elements side by side come together (vector_x86_neighbours.c); where the processor gathers slowly
 * (vector_options.slow_gathers) lanes of 4 and 8 bytes come one after the other there, too: 16 floats in 4.9
 * ns for 8.8, eight doubles in 2.8 for 8.6 (Ice Lake). Indices come from where the loop loads them, if they
 * are as they lie there, else through the frame.
 */
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum { SCRATCH = X86_R10 };

/* ---- lanes out of a vector --------------------------------------------------------------------------- */

void machine_parts(struct machine *machine, int vector, int bytes, int parts[MACHINE_PARTS])
{
    parts[0] = vector;
    for (int k = 1; k < bytes / 16; k++) {
        parts[k] = machine_new_vector(machine, 128);
        machine_add(machine, (struct x86_instruction){.form = machine_is_avx512(machine) ? X86_VEXTRACTF32X4
                                                                                         : X86_VEXTRACTF128,
                                                      .bits = bytes * 8,
                                                      .reg = vector,
                                                      .rm = parts[k],
                                                      .immediate = k});
    }
}

int machine_lane_number(struct machine *machine, const int parts[MACHINE_PARTS], int size, int lane, int pair,
                        int into)
{
    int reg = size == 8 ? into : pair, place = lane * size % 16;
    if (place % 8) {
        machine_add(machine, (struct x86_instruction){.form = X86_SHR_BY, .rm = reg, .immediate = 32});
        return reg;
    }
    machine_add(machine, (struct x86_instruction){.form = place ? X86_VPEXTRQ : X86_VMOVQ_FROM,
                                                  .bits = 128,
                                                  .reg = parts[lane * size / 16],
                                                  .rm = reg,
                                                  .immediate = 1});
    if (size == 4)
        machine_add(machine, (struct x86_instruction){.form = X86_MOV_DWORD, .reg = into, .rm = reg});
    return into;
}

/* ---- gathers ----------------------------------------------------------------------------------------- */

/* A copy, for the gather clears it. */
static int lanes_to_load(struct machine *machine, enum vector_type type, int mask)
{
    if (!mask)
        mask = machine_constant(machine, VECTOR_MASK, 1);
    if (machine_is_avx512(machine))
        return machine_rm(machine, X86_KMOVW, 128, mask);
    return machine_copy(machine, machine_bits(machine, type), machine_mask_for(machine, type, mask));
}

static enum x86_form gather_form(const struct machine *machine, bool far, bool wide)
{
    static const enum x86_form forms[2][2][2] = {
        {{X86_VGATHERDPS_MASK, X86_VGATHERDPD_MASK}, {X86_VGATHERQPS_MASK, X86_VGATHERQPD_MASK}},
        {{X86_VGATHERDPS, X86_VGATHERDPD}, {X86_VGATHERQPS, X86_VGATHERQPD}}};
    return forms[machine_is_avx512(machine)][far][wide];
}

static void load_lane(struct machine *machine, enum x86_form form, int result, struct x86_memory memory)
{
    machine_add(machine, (struct x86_instruction){
                             .form = form, .bits = 128, .reg = result, .has_memory = true, .memory = memory});
}

/* Of 32 bits. */
static int insert_lane(struct machine *machine, int part, struct x86_memory element, int lane)
{
    int result = machine_new_vector(machine, 128);
    machine_add(machine, (struct x86_instruction){.form = X86_VINSERTPS,
                                                  .bits = 128,
                                                  .reg = result,
                                                  .vvvv = part,
                                                  .has_memory = true,
                                                  .memory = element,
                                                  .immediate = lane << 4});
    return result;
}

/* Lanes from `first` on that fill 128 bits. */
static int gather_part(struct machine *machine, const int indices[MACHINE_PARTS], int index_size,
                       struct x86_memory element, int first)
{
    int part = machine_new_vector(machine, 128), count = 16 / element.scale;
    for (int lane = first; lane < first + count; lane++) {
        element.index = machine_lane_number(machine, indices, index_size, lane, X86_RAX, SCRATCH);
        if (lane == first) {
            load_lane(machine, element.scale == 8 ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD, part, element);
        } else if (element.scale == 8) {
            int second = machine_new_vector(machine, 128);
            load_lane(machine, X86_VMOVSD_LOAD, second, element);
            part = machine_rvm(machine, X86_VUNPCKLPD, 128, part, second);
        } else {
            part = insert_lane(machine, part, element, lane - first);
        }
    }
    return part;
}

/* Through general registers, of which nests and streams without one of their own leave too few. */
static bool can_gather_apart(const struct machine *machine, const struct vector_value *value, int mask)
{
    return !machine_is_avx512(machine) && !mask && machine->pointers[value->stream] >= 0 &&
           (!machine->loop->nest || vector_is_rows(machine->loop->nest));
}

static int gather_apart(struct machine *machine, const struct vector_value *value, int index, bool far)
{
    int size = dtype_table[value->dtype].size, index_size = far ? 8 : 4, indices[MACHINE_PARTS];
    struct x86_memory element = {machine->pointers[value->stream], X86_NONE, size, 0};
    machine_parts(machine, index, machine->lanes * index_size, indices);
    int low = gather_part(machine, indices, index_size, element, 0);
    if (machine->lanes * size == 16)
        return low;
    int high = gather_part(machine, indices, index_size, element, 16 / size);
    return machine_rvmi(machine, X86_VINSERTF128, 256, low, high, 1);
}

/* Elements of 8 and 16 bits, lane by lane, by indices that go through the frame: what is left out is what
 * lies where the stream begins, if any lane has an element there. */
static int gather_small(struct machine *machine, const struct vector_value *value, int index, bool far,
                        int mask)
{
    enum vector_type type = far ? VECTOR_I64 : VECTOR_I32;
    int size = dtype_table[value->dtype].size, bits = machine_bits(machine, type);
    int place = machine_frame(machine, bits / 8), raw = machine_constant(machine, VECTOR_I32, 0);
    if (mask)
        index = machine_rvm(machine, X86_VANDPS, bits, index, machine_mask_for(machine, type, mask));
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_STORE,
                                                  .bits = bits,
                                                  .reg = index,
                                                  .has_memory = true,
                                                  .memory = {X86_RSP, X86_NONE, 1, place}});
    struct x86_memory element = {machine_base(machine, value->stream), X86_NONE, 1, 0};
    if (mask)
        element = machine_readable(machine, element, mask);
    element.index = X86_RAX;
    element.scale = size;
    for (int lane = 0; lane < machine->lanes; lane++) {
        int more = machine_new_vector(machine, 128);
        machine_add(machine,
                    (struct x86_instruction){.form = far ? X86_MOV : X86_MOV_DWORD,
                                             .reg = X86_RAX,
                                             .has_memory = true,
                                             .memory = {X86_RSP, X86_NONE, 1, place + lane * (far ? 8 : 4)}});
        machine_add(machine, (struct x86_instruction){.form = size == 1 ? X86_VPINSRB : X86_VPINSRW,
                                                      .bits = 128,
                                                      .reg = more,
                                                      .vvvv = raw,
                                                      .has_memory = true,
                                                      .memory = element,
                                                      .immediate = lane});
        raw = more;
    }
    return machine_from_memory(machine, value->dtype, raw);
}

/* ---- lanes one after the other, with AVX-512 ----------------------------------------------------------- */

/* What is left out has index 0. */
static int clear_left_out(struct machine *machine, enum vector_type type, int vector, int mask)
{
    int bits = machine_bits(machine, type), result = machine_new_vector(machine, bits);
    machine_add(machine,
                (struct x86_instruction){.form = vector_type_is_wide(type) ? X86_VMOVAPD : X86_VMOVAPS,
                                         .bits = bits,
                                         .reg = result,
                                         .rm = vector,
                                         .mask = mask,
                                         .zeroing = true});
    return result;
}

/* Where no lane is in the mask, what is there in any case. */
static struct x86_memory readable(struct machine *machine, struct x86_memory memory, int mask)
{
    machine_add(machine, (struct x86_instruction){
                             .form = X86_LEA, .reg = SCRATCH, .has_memory = true, .memory = memory});
    machine_add(machine,
                (struct x86_instruction){.form = X86_KMOVW_FROM, .bits = 128, .reg = X86_RAX, .rm = mask});
    machine_add(machine, (struct x86_instruction){
                             .form = X86_AND_BY, .rm = X86_RAX, .immediate = (1 << machine->lanes) - 1});
    machine_add(machine, (struct x86_instruction){.form = X86_CMOVE, .reg = SCRATCH, .rm = machine->slots});
    return (struct x86_memory){SCRATCH, X86_NONE, memory.scale, 0};
}

/* By 256 bits: out of a store of 512 the processor passes lanes on half as fast. */
static void store_indices(struct machine *machine, int indices, int bits, int place)
{
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_STORE,
                                                  .bits = bits == 512 ? 256 : bits,
                                                  .reg = indices,
                                                  .has_memory = true,
                                                  .memory = {X86_RSP, X86_NONE, 1, place}});
    if (bits == 512)
        store_indices(machine, machine_upper_half(machine, indices, bits, false), 256, place + 32);
}

/* Indices side by side in memory, of `size` bytes. */
struct indices {
    struct x86_memory memory;
    int size;
};

static void load_index(struct machine *machine, const struct indices *indices, int lane)
{
    struct x86_memory memory = indices->memory;
    memory.displacement += lane * indices->size;
    machine_add(machine, (struct x86_instruction){.form = indices->size == 8 ? X86_MOV : X86_MOVSXD,
                                                  .reg = X86_RAX,
                                                  .has_memory = true,
                                                  .memory = memory});
}

/* Lanes that fill 128 bits, from `first` on. */
static int part_in_turn(struct machine *machine, struct x86_memory element, int size,
                        const struct indices *indices, int first)
{
    int part = 0;
    for (int lane = 0; lane < 16 / size; lane++) {
        load_index(machine, indices, first + lane);
        if (lane && size == 4) {
            part = insert_lane(machine, part, element, lane);
            continue;
        }
        int more = machine_new_vector(machine, 128);
        load_lane(machine, size == 8 ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD, more, element);
        part = lane ? machine_rvm(machine, X86_VUNPCKLPD, 128, part, more) : more;
    }
    return part;
}

static int gather_by(struct machine *machine, const struct vector_value *value, const struct indices *indices,
                     struct x86_memory element)
{
    int size = dtype_table[value->dtype].size, lanes = 16 / size;
    element.index = X86_RAX;
    int result = part_in_turn(machine, element, size, indices, 0);
    for (int k = 1; k < machine->lanes / lanes; k++)
        result = machine_rvmi(machine, X86_VINSERTF32X4, machine->lanes * size * 8, result,
                              part_in_turn(machine, element, size, indices, k * lanes), k);
    return result;
}

int machine_gather_in_turn(struct machine *machine, const struct vector_value *value, int index, bool far,
                           struct x86_memory element, int mask)
{
    enum vector_type type = far ? VECTOR_I64 : VECTOR_I32;
    int bits = machine_bits(machine, type), place = machine_frame(machine, bits / 8);
    const struct indices indices = {{X86_RSP, X86_NONE, 1, place}, far ? 8 : 4};
    if (mask) {
        index = clear_left_out(machine, type, index, mask);
        element = readable(machine, element, mask);
    }
    store_indices(machine, index, bits, place);
    int result = gather_by(machine, value, &indices, element);
    return mask ? clear_left_out(machine, value->type, result, mask) : result;
}

/* Whether an element of the stream may have been stored to since it was loaded. */
static bool may_change(const struct vector_loop *loop, const struct vector_stream *stream)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if ((value->kind == VECTOR_STORE || value->kind == VECTOR_SCATTER) &&
            loop->streams.items[value->stream].access->buffer == stream->access->buffer)
            return true;
    }
    return false;
}

/* Whether all lanes' indices are as they lie in memory, where they can be loaded from again. */
static bool find_indices(struct machine *machine, const struct vector_value *value, struct indices *indices)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_value *index = &loop->values.items[value->operands[0]];
    if (index->kind == VECTOR_OPERATION && index->operation == OP_CAST && index->dtype == AKG_INT64 &&
        index->from == AKG_INT32)
        index = &loop->values.items[index->operands[0]];
    if (index->kind != VECTOR_LOAD || index->mask >= 0 || (loop->nest && !vector_is_rows(loop->nest)) ||
        (index->dtype != AKG_INT32 && index->dtype != AKG_INT64))
        return false;
    const struct vector_stream *stream = &loop->streams.items[index->stream];
    if (stream->step_kind != VECTOR_UNIT || stream->dtype != index->dtype || stream->is_gathered ||
        may_change(loop, stream) || machine->pointers[index->stream] < 0)
        return false;
    *indices = (struct indices){machine_unit_memory(machine, index), dtype_table[index->dtype].size};
    return true;
}

bool machine_gathers_in_turn(const struct machine *machine, akg_dtype dtype)
{
    int size = dtype_table[dtype].size;
    return machine_is_avx512(machine) && machine->options->slow_gathers && size >= 4 &&
           machine->lanes * size >= 16;
}

/* Of one lane, which no mask leaves out. */
static int gather_one(struct machine *machine, const struct vector_value *value, int index, bool far)
{
    int size = dtype_table[value->dtype].size;
    if (value->mask >= 0)
        return machine_refuse(machine);
    struct x86_memory element = {machine_base(machine, value->stream), X86_RAX, size, 0};
    machine_add(machine,
                (struct x86_instruction){
                    .form = far ? X86_VMOVQ_FROM : X86_VMOVD_FROM, .bits = 128, .reg = index, .rm = X86_RAX});
    if (size < 4)
        return machine_load_one(machine, value, element, 0);
    int result = machine_new_vector(machine, 128);
    load_lane(machine, size == 8 ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD, result, element);
    return result;
}

/* Whether a vector of as many elements as there are in the row can be loaded as it is. */
static bool is_whole(int count)
{
    return count == 4 || count == 8 || count == 16;
}

static bool can_pick(const struct machine *machine, const struct vector_value *value, bool far, int mask)
{
    int bits = machine_bits(machine, value->type);
    return value->bits && !far && !mask && bits >= 256 && 32 * value->bits <= (uint64_t)bits &&
           (machine_is_avx512(machine) || is_whole((int)value->bits));
}

/* Out of a short row, which is loaded, and nothing behind it: tensors may end there. */
static int pick_from_row(struct machine *machine, const struct vector_value *value, int index)
{
    int count = (int)value->bits, bits = machine_bits(machine, value->type);
    int row = machine_new_vector(machine, bits), mask = 0;
    if (!is_whole(count))
        mask = machine_keep(machine, KEPT_MASK, VECTOR_MASK, 0, ((uint64_t)1 << count) - 1);
    machine_add(machine,
                (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                         .bits = mask ? bits : 32 * count,
                                         .reg = row,
                                         .mask = mask,
                                         .zeroing = mask != 0,
                                         .has_memory = true,
                                         .memory = {machine_base(machine, value->stream), X86_NONE, 1, 0}});
    return machine_rvm(machine, machine_is_avx512(machine) ? X86_VPERMPS_WIDE : X86_VPERMPS, bits, index,
                       row);
}

int machine_gather(struct machine *machine, const struct vector_value *value, int index, int mask)
{
    bool far = vector_type_is_wide(machine->loop->values.items[value->operands[0]].type);
    bool wide = vector_type_is_wide(value->type), own_mask = machine_is_avx512(machine);
    if (machine->lanes == 1)
        return gather_one(machine, value, index, far);
    if (value->bits > VECTOR_ROW && own_mask && machine->options->permutes)
        return machine_normal(machine, value->dtype, machine_lookup(machine, value, index));
    if (dtype_table[value->dtype].size < 4)
        return gather_small(machine, value, index, far, mask);
    if (can_pick(machine, value, far, mask))
        return pick_from_row(machine, value, index);
    if (can_gather_apart(machine, value, mask))
        return gather_apart(machine, value, index, far);
    int beside = mask ? 0 : machine_load_neighbours(machine, value, index);
    if (beside)
        return beside;
    if (machine_gathers_in_turn(machine, value->dtype)) {
        struct x86_memory element = {machine_base(machine, value->stream), X86_NONE,
                                     dtype_table[value->dtype].size, 0};
        struct indices indices;
        return !mask && find_indices(machine, value, &indices)
                   ? gather_by(machine, value, &indices, element)
                   : machine_gather_in_turn(machine, value, index, far, element, mask);
    }
    int result =
        machine_copy(machine, machine_bits(machine, value->type), machine_constant(machine, value->type, 0));
    int lanes = lanes_to_load(machine, value->type, mask), base = machine_base(machine, value->stream);
    machine_add(machine,
                (struct x86_instruction){.form = gather_form(machine, far, wide),
                                         .bits = machine_bits(machine, far || wide ? VECTOR_I64 : VECTOR_I32),
                                         .reg = result,
                                         .vvvv = own_mask ? 0 : lanes,
                                         .mask = own_mask ? lanes : 0,
                                         .has_memory = true,
                                         .memory = {base, index, dtype_table[value->dtype].size, 0}});
    return result;
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static bool is_extent(const struct machine *machine, const struct vector_value *limit)
{
    return limit->kind == VECTOR_SCALAR &&
           machine->loop->arguments.items[limit->slot].kind == VECTOR_ARGUMENT_EXTENT;
}

/* A vector whose lanes have their highest bit set where the index, taken without a sign, is not below the
 * limit; that of lanes that are left out is not. An extent is not negative. */
static int outside_avx2(struct machine *machine, enum vector_type type, int index, int limit, bool is_extent,
                        int mask)
{
    int bits = machine_bits(machine, type), outside;
    int lanes = mask ? machine_mask_for(machine, type, mask) : 0;
    if (type == VECTOR_I64 && is_extent) {
        int inside = machine_rvm(machine, X86_VPCMPGTQ, bits, limit, index);
        inside = machine_rvm(machine, X86_VANDNPD, bits, index, inside);
        return machine_rvm(machine, X86_VANDNPD, bits, inside,
                           lanes ? lanes : machine_constant(machine, type, UINT64_MAX));
    }
    if (type == VECTOR_I64)
        outside = machine_compare(machine, OP_GE, AKG_UINT64, index, limit);
    else
        outside = machine_rvm(machine, X86_VPCMPEQD, bits,
                              machine_rvm(machine, X86_VPMAXUD, bits, index, limit), index);
    return lanes ? machine_rvm(machine, X86_VANDPS, bits, outside, lanes) : outside;
}

/* The lanes that fill no 128 bits mean nothing. */
static void test_avx2(struct machine *machine, enum vector_type type, int outside)
{
    bool wide = vector_type_is_wide(type);
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VMOVMSKPD : X86_VMOVMSKPS,
                                                  .bits = machine_bits(machine, type),
                                                  .reg = X86_RAX,
                                                  .rm = outside});
    machine_add(machine, (struct x86_instruction){
                             .form = X86_AND_BY, .rm = X86_RAX, .immediate = (1 << machine->lanes) - 1});
}

static void test_avx512(struct machine *machine, enum vector_type type, int index, int limit, int mask)
{
    enum { NOT_LESS = 5 };
    int outside = machine_rvmi(machine, type == VECTOR_I64 ? X86_VPCMPUQ : X86_VPCMPUD,
                               machine_bits(machine, type), index, limit, NOT_LESS);
    if (mask)
        outside = machine_and(machine, outside, mask);
    machine_add(machine,
                (struct x86_instruction){.form = X86_KORTESTW, .bits = 128, .reg = outside, .rm = outside});
}

/* Behind a test, by which some lane is not to be computed, where it says so. */
static void jump_to_stop(struct machine *machine, enum x86_form jump)
{
    if (!machine->loop->nest || vector_is_rows(machine->loop->nest)) /* nests know what is left */
        machine_add(machine,
                    (struct x86_instruction){.form = X86_LEA,
                                             .reg = X86_RAX,
                                             .has_memory = true,
                                             .memory = {machine->index, X86_NONE, 1, machine->ahead}});
    machine_add(machine, (struct x86_instruction){.form = jump, .label = machine_stop(machine)});
}

/* Bits of a mask behind the lanes mean nothing. */
static void test_leaving(struct machine *machine, int leaving, int mask)
{
    enum vector_type type = machine->loop->wide ? VECTOR_I64 : VECTOR_I32;
    if (mask)
        leaving = machine_and(machine, leaving, mask);
    if (!machine_is_avx512(machine)) {
        test_avx2(machine, type, machine_mask_for(machine, type, leaving));
    } else if (machine->lanes == 16) {
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_KORTESTW, .bits = 128, .reg = leaving, .rm = leaving});
    } else {
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_KMOVW_FROM, .bits = 128, .reg = X86_RAX, .rm = leaving});
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_AND_BY, .rm = X86_RAX, .immediate = (1 << machine->lanes) - 1});
    }
}

void machine_test_below(struct machine *machine, enum vector_type type, int index, int limit, bool is_extent,
                        int mask)
{
    if (machine_is_avx512(machine))
        test_avx512(machine, type, index, limit, mask);
    else
        test_avx2(machine, type, outside_avx2(machine, type, index, limit, is_extent, mask));
    jump_to_stop(machine, X86_JNE);
}

void machine_test(struct machine *machine, const struct vector_value *value, const int *operands, int mask)
{
    if (value->slot >= 0) {
        machine_test_room(machine, value, mask ? machine_and(machine, operands[0], mask) : operands[0]);
        jump_to_stop(machine, X86_JA);
        return;
    }
    if (value->operands[1] < 0) {
        test_leaving(machine, operands[0], mask);
        jump_to_stop(machine, X86_JNE);
        return;
    }
    const struct vector_value *limit = &machine->loop->values.items[value->operands[1]];
    machine_test_below(machine, value->type, operands[0], operands[1], is_extent(machine, limit), mask);
}
